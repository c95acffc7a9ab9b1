//! HOT: once per canonical URL. Carry-less products by the instructions of x86-64.
//!
//! Unsafe: loads of vectors, each from an array of its length, or under a mask that ends with the
//! text.

use std::arch::x86_64::*;

use super::{BLOCK, Keys, Rest, joined, last_pair, last_word, words};

#[target_feature(enable = "bmi2,avx512f,avx512bw,avx512vl,vpclmulqdq")]
pub(super) fn sums_avx512(keys: &Keys, block: &[u8; BLOCK]) -> [u128; 2] {
    numbers(rows_avx512(keys, block))
}

#[target_feature(enable = "avx2,vpclmulqdq")]
pub(super) fn sums_vpclmulqdq(keys: &Keys, block: &[u8; BLOCK]) -> [u128; 2] {
    let mut rows = [_mm256_setzero_si256(); 2];
    let (pairs, _) = block.as_chunks();
    for (number, pairs) in pairs.iter().enumerate() {
        add_products(keys, &mut rows, number, load_bytes_256(pairs), _mm256_set1_epi64x(-1));
    }
    numbers(one_behind_the_other(rows))
}

#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) fn sums_pclmulqdq(keys: &Keys, block: &[u8; BLOCK]) -> [u128; 2] {
    rows_pclmulqdq(keys, block).map(|row| number(row))
}

/// Computes the two halves of a [`Rest`] in one number, the first the upper, for processors with
/// vectors of 512 bits.
#[target_feature(enable = "bmi2,avx512f,avx512bw,avx512vl,vpclmulqdq")]
pub(super) fn halves_avx512(
    keys: &Keys,
    text: &[u8],
    length: usize,
    polynomial: Option<&[u64; 2]>,
) -> u128 {
    halves_of_rows(keys, rows_avx512(keys, text), length, polynomial)
}

/// Computes the two halves of a [`Rest`] in one number, the first the upper, for processors with
/// vectors of 256 bits.
#[target_feature(enable = "avx2,vpclmulqdq")]
pub(super) fn halves_vpclmulqdq(
    keys: &Keys,
    text: &[u8],
    length: usize,
    polynomial: Option<&[u64; 2]>,
) -> u128 {
    halves_of_rows(keys, rows_vpclmulqdq(keys, text), length, polynomial)
}

/// Computes the two halves of a URL from the rows of its rest.
#[inline]
#[target_feature(enable = "avx2,vpclmulqdq")]
fn halves_of_rows(
    keys: &Keys,
    rows: __m256i,
    length: usize,
    polynomial: Option<&[u64; 2]>,
) -> u128 {
    let dot = |words: __m256i, keys: &[[u64; 2]; 2]| {
        let keys = load_256(keys);
        let low = _mm256_clmulepi64_epi128::<0x00>(words, keys);
        _mm256_xor_si256(low, _mm256_clmulepi64_epi128::<0x11>(words, keys))
    };
    let length_keys = load_256(&keys.length);
    let length = _mm256_set1_epi64x(length as i64);
    let length = _mm256_clmulepi64_epi128::<0x00>(length, length_keys);
    // The constant, which 1 would be multiplied by.
    let length = _mm256_xor_si256(length, _mm256_bsrli_epi128::<8>(length_keys));
    let mut all = _mm256_xor_si256(dot(rows, &keys.sums), length);
    if let Some(polynomial) = polynomial {
        let polynomial = _mm256_broadcastsi128_si256(vector(*polynomial));
        all = _mm256_xor_si256(all, dot(polynomial, &keys.polynomial));
    }
    // What is above 64 bits folds down to at most four bits above, and those once more:
    // products of four bits are looked up.
    let once = _mm256_clmulepi64_epi128::<0x01>(all, _mm256_set1_epi64x(0b11011));
    let again = _mm256_broadcastsi128_si256(load(&OF_FOUR_BITS));
    let again = _mm256_shuffle_epi8(again, _mm256_bsrli_epi128::<8>(once));
    let all = _mm256_xor_si256(all, _mm256_xor_si256(once, again));
    let halves = [_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all)];
    let [first, second] = halves.map(|half| _mm_cvtsi128_si64(half) as u64);
    joined(first, second)
}

/// The products of all words of four bits with x⁴ + x³ + x + 1.
const OF_FOUR_BITS: [u8; 16] = {
    let mut products = [0; 16];
    let mut bits = 0;
    while bits < 16 {
        products[bits as usize] = bits << 4 ^ bits << 3 ^ bits << 1 ^ bits;
        bits += 1;
    }
    products
};

#[target_feature(enable = "pclmulqdq,sse4.1")]
pub(super) fn halves_pclmulqdq(keys: &Keys, rest: Rest) -> [u64; 2] {
    halves(keys, rows_pclmulqdq(keys, rest.text), rest)
}

/// Both rows of `text`, one after the other; 64 bytes at once.
#[inline]
#[target_feature(enable = "bmi2,avx512f,avx512bw,avx512vl,vpclmulqdq")]
fn rows_avx512(keys: &Keys, text: &[u8]) -> __m256i {
    let mut rows = [_mm512_setzero_si512(); 2];
    // The 64 bytes of this `number`. There are bits for the words of its pairs.
    let mut add = |number: usize, there: u32| {
        let bytes = load_from_512(text, 64 * number);
        for (row, words) in rows.iter_mut().zip(&keys.rows) {
            let (words, _) = words.as_chunks();
            let keyed = _mm512_maskz_xor_epi64(there as __mmask8, bytes, load_512(&words[number]));
            // The upper word of each pair by the lower.
            let products = _mm512_clmulepi64_epi128::<0x01>(keyed, keyed);
            *row = _mm512_xor_si512(*row, products);
        }
    };
    let words = _bzhi_u32(u32::MAX, 2 * text.len().div_ceil(16) as u32);
    // Bet: a text is no longer than 128 bytes. No branch tells whether it is longer than 64.
    add(0, words);
    add(1, words >> 8);
    if text.len() > 128 {
        add(2, words >> 16);
        add(3, words >> 24);
    }
    let [first, second] = rows;
    let low = _mm512_shuffle_i64x2::<0b01_00_01_00>(first, second);
    let high = _mm512_shuffle_i64x2::<0b11_10_11_10>(first, second);
    // Two quarters of the first row, then of the second.
    let quarters = _mm512_xor_si512(low, high);
    let others = _mm512_shuffle_i64x2::<0b10_11_00_01>(quarters, quarters);
    let rows = _mm512_xor_si512(quarters, others);
    _mm512_castsi512_si256(_mm512_shuffle_i64x2::<0b00_00_10_00>(rows, rows))
}

/// Both rows of `text`, one after the other; 32 bytes at once.
#[inline]
#[target_feature(enable = "avx2,vpclmulqdq")]
fn rows_vpclmulqdq(keys: &Keys, text: &[u8]) -> __m256i {
    let mut rows = [_mm256_setzero_si256(); 2];
    // In words of 32 bits: how many there are, what is left after them, and where the last
    // pair ends.
    let words = _mm256_set1_epi32((text.len() / 4) as i32);
    let last = _mm256_set1_epi32(last_word(text) as i32);
    let pairs_end = _mm256_set1_epi32((4 * text.len().div_ceil(16)) as i32);
    // The 32 bytes of this `number`.
    let mut add = |number: usize| {
        let first = _mm256_set1_epi32(8 * number as i32);
        let places = _mm256_add_epi32(first, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        let whole = load_from_256(text, 32 * number, _mm256_cmpgt_epi32(words, places));
        let last = _mm256_and_si256(last, _mm256_cmpeq_epi32(words, places));
        let there = _mm256_cmpgt_epi32(pairs_end, places);
        add_products(keys, &mut rows, number, _mm256_or_si256(whole, last), there);
    };
    // Bet: a text is no longer than 128 bytes. No branch tells how long it is.
    (0..4).for_each(&mut add);
    if text.len() > 128 {
        (4..8).for_each(&mut add);
    }
    one_behind_the_other(rows)
}

/// Adds the products of two pairs, those of this `number`, to both `rows`; none of pairs that
/// are not `there`.
#[inline]
#[target_feature(enable = "avx2,vpclmulqdq")]
fn add_products(
    keys: &Keys,
    rows: &mut [__m256i; 2],
    number: usize,
    pairs: __m256i,
    there: __m256i,
) {
    for (row, words) in rows.iter_mut().zip(&keys.rows) {
        let (words, _) = words.as_chunks();
        let keyed = _mm256_and_si256(_mm256_xor_si256(pairs, load_four(&words[number])), there);
        // The upper word of each pair by the lower.
        let products = _mm256_clmulepi64_epi128::<0x01>(keyed, keyed);
        *row = _mm256_xor_si256(*row, products);
    }
}

/// Two rows of two sums each, of one sum each.
#[inline]
#[target_feature(enable = "avx2")]
fn one_behind_the_other([first, second]: [__m256i; 2]) -> __m256i {
    let low = _mm256_permute2x128_si256::<0x20>(first, second);
    _mm256_xor_si256(low, _mm256_permute2x128_si256::<0x31>(first, second))
}

/// Both rows of `text`, 16 bytes at once.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
fn rows_pclmulqdq(keys: &Keys, text: &[u8]) -> [__m128i; 2] {
    let mut rows = [_mm_setzero_si128(); 2];
    let mut add = |number: usize, pair: __m128i| {
        for (row, words) in rows.iter_mut().zip(&keys.rows) {
            let (words, _) = words.as_chunks();
            let keyed = _mm_xor_si128(pair, load_words(&words[number]));
            *row = _mm_xor_si128(*row, _mm_clmulepi64_si128::<0x01>(keyed, keyed));
        }
    };
    let (pairs, rest) = text.as_chunks::<16>();
    for (number, pair) in pairs.iter().enumerate() {
        add(number, load(pair));
    }
    if !rest.is_empty() {
        add(pairs.len(), vector(words(last_pair(text, rest))));
    }
    rows
}

/// The two halves of a URL whose rest has these rows.
#[inline]
#[target_feature(enable = "pclmulqdq,sse4.1")]
fn halves(keys: &Keys, rows: [__m128i; 2], rest: Rest) -> [u64; 2] {
    let dot = |words: __m128i, keys: &[u64; 2]| {
        let keys = load_words(keys);
        let low = _mm_clmulepi64_si128::<0x00>(words, keys);
        _mm_xor_si128(low, _mm_clmulepi64_si128::<0x11>(words, keys))
    };
    let length = vector([rest.length as u64, 1]);
    let tail = vector([0b11011, 0]);
    std::array::from_fn(|row| {
        let length = dot(length, &keys.length[row]);
        let mut all = _mm_xor_si128(dot(rows[row], &keys.sums[row]), length);
        if let Some(polynomial) = rest.polynomial {
            let polynomial = dot(vector(*polynomial), &keys.polynomial[row]);
            all = _mm_xor_si128(all, polynomial);
        }
        // What is above 64 bits folds down to at most four bits above, and those once more.
        let once = _mm_clmulepi64_si128::<0x01>(all, tail);
        let again = _mm_clmulepi64_si128::<0x01>(once, tail);
        _mm_cvtsi128_si64(_mm_xor_si128(all, _mm_xor_si128(once, again))) as u64
    })
}

/// 16 bytes.
#[inline]
#[target_feature(enable = "sse2")]
fn load(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the reference says that there are 16 bytes to read; they need no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// Two words, the first the lower.
#[inline]
#[target_feature(enable = "sse2")]
fn load_words(words: &[u64; 2]) -> __m128i {
    // SAFETY: the reference says that there are 16 bytes to read; they need no alignment.
    unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
}

/// Four words, the first the lowest.
#[inline]
#[target_feature(enable = "avx")]
fn load_four(words: &[u64; 4]) -> __m256i {
    // SAFETY: the reference says that there are 32 bytes to read; they need no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// 32 bytes.
#[inline]
#[target_feature(enable = "avx")]
fn load_bytes_256(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the reference says that there are 32 bytes to read; they need no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// Twice two words, the first the lowest.
#[inline]
#[target_feature(enable = "avx")]
fn load_256(words: &[[u64; 2]; 2]) -> __m256i {
    // SAFETY: the reference says that there are 32 bytes to read; they need no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// Eight words, the first the lowest.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_512(words: &[u64; 8]) -> __m512i {
    // SAFETY: the reference says that there are 64 bytes to read; they need no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// 64 bytes of `text` from `from` on, zeros where there are fewer.
#[inline]
#[target_feature(enable = "bmi2,avx512f,avx512bw")]
fn load_from_512(text: &[u8], from: usize) -> __m512i {
    let there = _bzhi_u64(u64::MAX, text.len().saturating_sub(from).min(64) as u32);
    let start = text.as_ptr().wrapping_add(from);
    // SAFETY: the mask has bits only for bytes of the text; no others are read.
    unsafe { _mm512_maskz_loadu_epi8(there, start.cast()) }
}

/// Of the 32 bytes of `text` from `from` on those words of 32 bits that are `there`.
#[inline]
#[target_feature(enable = "avx2")]
fn load_from_256(text: &[u8], from: usize, there: __m256i) -> __m256i {
    let start = text.as_ptr().wrapping_add(from);
    // SAFETY: the mask has bits only for words of the text; no others are read.
    unsafe { _mm256_maskload_epi32(start.cast(), there) }
}

/// The vector of two words, the first the lower.
#[inline]
#[target_feature(enable = "sse4.1")]
fn vector([low, high]: [u64; 2]) -> __m128i {
    _mm_set_epi64x(high as i64, low as i64)
}

/// The two numbers that a vector is.
#[inline]
#[target_feature(enable = "avx2")]
fn numbers(vector: __m256i) -> [u128; 2] {
    [_mm256_castsi256_si128(vector), _mm256_extracti128_si256::<1>(vector)]
        .map(|vector| number(vector))
}

/// The number that a vector is.
#[inline]
#[target_feature(enable = "sse4.1")]
fn number(vector: __m128i) -> u128 {
    let [low, high] = [_mm_cvtsi128_si64(vector), _mm_extract_epi64::<1>(vector)];
    joined(high as u64, low as u64)
}
