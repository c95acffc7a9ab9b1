//! HOT: once per block. Marks made by vectors of x86-64 (SSE4.1, AVX2, AVX-512).
//!
//! Unsafe: loads of vectors, each from an array of its length or under a mask that ends with the
//! text; and a store to an array of its length.

use std::arch::x86_64::*;

use super::escapes::Escapes;
use super::words::fill_words;
use super::{BATCH, BLOCK, GATHERED, Marker, Row, SETS_MAX};

/// Bytes of a vector of SSE.
const QUARTER: usize = BLOCK / 4;

/// Bytes of a vector of AVX2.
const HALF: usize = BLOCK / 2;

/// The bit of each high half of a byte below 8.
const BITS: [u8; HALF] = twice([1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0]);

/// The bit of a table's entry that marks a hexadecimal digit; its value is in the bits below.
const DIGIT: u8 = 0x10;

/// The decimal digits, by the low half of their byte.
const DECIMALS: [u8; HALF] = twice(digits(0, 10, 0));

/// The hexadecimal digits from A to F, by the low half of their byte.
const LETTERS: [u8; HALF] = twice(digits(1, 7, 9));

/// Makes a table with a digit for each low half of a byte from `from` up to `end`: its value is the
/// low half and `more`.
const fn digits(from: usize, end: usize, more: usize) -> [u8; 16] {
    let mut digits = [0; 16];
    let mut half = from;
    while half < end {
        digits[half] = (half + more) as u8 | DIGIT;
        half += 1;
    }
    digits
}

/// Makes a table for both halves of a vector, which are shuffled alone.
const fn twice(table: [u8; 16]) -> [u8; HALF] {
    let mut both = [0; HALF];
    let mut at = 0;
    while at < HALF {
        both[at] = table[at % 16];
        at += 1;
    }
    both
}

/// Most sets, and blocks in a batch.
const EIGHT: usize = SETS_MAX;

#[inline]
#[target_feature(enable = "sse2")]
fn load_128(bytes: &[u8; QUARTER]) -> __m128i {
    // SAFETY: the reference says that there are 16 bytes to read; they need no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx")]
fn load_256(bytes: &[u8; HALF]) -> __m256i {
    // SAFETY: the reference says that there are 32 bytes to read; they need no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx")]
fn store_256(bytes: &mut [u8; HALF], value: __m256i) {
    // SAFETY: the reference says that there are 32 bytes to write; they need no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_512(bytes: &[u8; BLOCK]) -> __m512i {
    // SAFETY: the reference says that there are 64 bytes to read; they need no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Loads the first bytes of `text`, with a mask of those that exist. An empty text has none.
#[inline]
#[target_feature(enable = "bmi2,avx512f,avx512bw")]
fn load_up_to_512(text: &[u8]) -> (__m512i, __mmask64) {
    let there = _bzhi_u64(u64::MAX, text.len().min(BLOCK) as u32);
    // SAFETY: the mask has bits only for bytes of the text; no others are read.
    (unsafe { _mm512_maskz_loadu_epi8(there, text.as_ptr().cast()) }, there)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_512(bytes: &mut [u8; BLOCK], value: __m512i) {
    // SAFETY: the reference says that there are 64 bytes to write; they need no alignment.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), value) }
}

#[target_feature(enable = "sse2")]
pub(super) fn mark_byte_sse(byte: u8, text: &[u8], words: &mut [u64]) {
    fill_words(text, words, |block| byte_in_block(byte, block));
}

/// A bit for each of the bytes of `block` that is `byte`.
#[inline]
#[target_feature(enable = "sse2")]
fn byte_in_block(byte: u8, block: &[u8; BLOCK]) -> u64 {
    let byte = _mm_set1_epi8(byte as i8);
    let (quarters, _) = block.as_chunks::<QUARTER>();
    quarters.iter().rev().fold(0, |marks, quarter| {
        let found = _mm_cmpeq_epi8(load_128(quarter), byte);
        marks << 16 | u64::from(_mm_movemask_epi8(found) as u32)
    })
}

#[target_feature(enable = "avx2")]
pub(super) fn mark_byte_avx2(byte: u8, text: &[u8], words: &mut [u64]) {
    let byte = _mm256_set1_epi8(byte as i8);
    fill_words(text, words, |block| {
        let (halves, _) = block.as_chunks::<HALF>();
        halves.iter().rev().fold(0, |marks, half| {
            let found = _mm256_cmpeq_epi8(load_256(half), byte);
            marks << 32 | u64::from(_mm256_movemask_epi8(found) as u32)
        })
    });
}

#[target_feature(enable = "bmi2,avx512f,avx512bw")]
pub(super) fn mark_byte_avx512(byte: u8, text: &[u8], words: &mut [u64]) {
    let byte = _mm512_set1_epi8(byte as i8);
    fill_words(text, words, |block| _mm512_cmpeq_epi8_mask(load_512(block), byte));
}

impl<const N: usize, const NEIGHBORS: bool> Marker<N, NEIGHBORS> {
    #[target_feature(enable = "sse4.1")]
    pub(super) fn mark_sse(&self, text: &[u8], rows: &mut [Row; N]) {
        let changes: [__m128i; 8] = std::array::from_fn(|high| {
            let (halves, _) = self.changes[high].as_chunks();
            load_128(&halves[0])
        });
        let beyond = _mm_set1_epi8(self.classes[0x80] as i8);
        let marks_of = |block: &[u8; BLOCK]| {
            let mut marks = [0; N];
            let (quarters, _) = block.as_chunks();
            for (number, quarter) in quarters.iter().enumerate() {
                let bytes = load_128(quarter);
                // As in `mark_avx2`.
                let (mut index, mut classes) = (bytes, _mm_setzero_si128());
                for change in &changes {
                    classes = _mm_xor_si128(classes, _mm_shuffle_epi8(*change, index));
                    index = _mm_subs_epi8(index, _mm_set1_epi8(16));
                }
                classes = _mm_blendv_epi8(classes, beyond, bytes);
                if N < EIGHT {
                    classes = _mm_sll_epi16(classes, _mm_cvtsi32_si128((EIGHT - N) as i32));
                }
                for marks in marks.iter_mut().rev() {
                    let found = u64::from(_mm_movemask_epi8(classes) as u32);
                    *marks |= found << (QUARTER * number);
                    classes = _mm_add_epi8(classes, classes);
                }
            }
            marks
        };
        self.mark_blocks(text, rows, marks_of, |block| byte_in_block(b'%', block));
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn mark_avx2(&self, text: &[u8], rows: &mut [Row; N]) {
        let changes: [__m256i; 8] = std::array::from_fn(|high| load_256(&self.changes[high]));
        let beyond = _mm256_set1_epi8(self.classes[0x80] as i8);
        let (halves, rest) = text.as_chunks();
        let mut last = [0; HALF];
        last[..rest.len()].copy_from_slice(rest);
        let end = text.len().div_ceil(HALF);
        for number in 0..end {
            let bytes = load_256(halves.get(number).unwrap_or(&last));
            // The class of a byte is what has changed up to its high half. A shuffle takes the low
            // half for its index, and gives zero for an index from 0x80 on.
            let (mut index, mut classes) = (bytes, _mm256_setzero_si256());
            for change in &changes {
                classes = _mm256_xor_si256(classes, _mm256_shuffle_epi8(*change, index));
                index = _mm256_subs_epi8(index, _mm256_set1_epi8(16));
            }
            classes = _mm256_blendv_epi8(classes, beyond, bytes);
            if N < EIGHT {
                classes = _mm256_sll_epi16(classes, _mm_cvtsi32_si128((EIGHT - N) as i32));
            }
            for row in rows.iter_mut().rev() {
                row.set_half(number, _mm256_movemask_epi8(classes) as u32);
                classes = _mm256_add_epi8(classes, classes);
            }
            let percents = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'%' as i8));
            // Bet: most halves have none.
            if NEIGHBORS && self.escapes.are_left && _mm256_movemask_epi8(percents) != 0 {
                self.leave_escapes_256(text, number, rows);
            }
        }
        for row in &mut *rows {
            if !rest.is_empty() {
                row.set_half(end - 1, row.half(end - 1) & !(u32::MAX << rest.len()));
            }
            row.set_half(end, 0);
            row.end(end.div_ceil(2));
        }
        if NEIGHBORS {
            self.add_pairs_256(end, rows);
        }
    }

    /// Adds the marks of pairs to the first `halves` halves of blocks, as [`Marker::add_pairs`]
    /// does to a block.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn add_pairs_256(&self, halves: usize, rows: &mut [Row; N]) {
        let behind = |set: __m256i, before: __m256i| {
            let middle = _mm256_permute2x128_si256::<0x21>(before, set);
            let last_bits = _mm256_srli_epi64::<63>(_mm256_alignr_epi8::<8>(set, middle));
            _mm256_or_si256(_mm256_slli_epi64::<1>(set), last_bits)
        };
        let doubles = _mm256_set1_epi64x(self.doubles as i64);
        let mut before = [_mm256_setzero_si256(); 2];
        for at in 0..halves.div_ceil(EIGHT) {
            let words = |row: &Row| load_256(&row.0.as_chunks().0[at]);
            let put = |row: &mut Row, marks: __m256i| {
                let words = &mut row.0.as_chunks_mut().0[at];
                store_256(words, _mm256_or_si256(load_256(words), marks));
            };
            if let [first, second, into, ..] = &mut rows[..] {
                let first = words(first);
                let either = _mm256_or_si256(words(second), _mm256_and_si256(first, doubles));
                put(into, _mm256_and_si256(behind(first, before[0]), either));
                before[0] = first;
            }
            if let [_, _, _, _, into, sixth, ..] = &mut rows[..] {
                let sixth = words(sixth);
                put(into, _mm256_and_si256(behind(sixth, before[1]), sixth));
                before[1] = sixth;
            }
        }
    }

    /// Removes the marks of escapes that are left out, in the half block with this `number`.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    fn leave_escapes_256(&self, text: &[u8], number: usize, rows: &mut [Row; N]) {
        let left = self.escapes.of_256(&text[number * HALF..]);
        for row in &mut rows[2..4] {
            row.set_half(number, row.half(number) & !left);
        }
    }

    #[target_feature(enable = "bmi2,avx512f,avx512bw,avx512vbmi,gfni")]
    pub(super) fn mark_avx512(&self, text: &[u8], rows: &mut [Row; N]) {
        let (halves, _) = self.classes.as_chunks::<BLOCK>();
        let (first, second) = (load_512(&halves[0]), load_512(&halves[1]));
        let high = _mm512_set1_epi8(self.classes[0x80] as i8);
        // The look-up uses the lower seven bits of a byte as index.
        let classes = |bytes: __m512i, there: __mmask64| {
            let class = _mm512_maskz_permutex2var_epi8(there, first, bytes, second);
            _mm512_mask_mov_epi8(class, _mm512_movepi8_mask(bytes), high)
        };
        let mut before = [_mm512_setzero_si512(); 2];
        // With at least two blocks without marks.
        for batch in 0..=(text.len() + 2 * BLOCK) / BATCH {
            let rest = text.get(batch * BATCH..).unwrap_or(&[]);
            let mut blocks = [_mm512_setzero_si512(); EIGHT];
            let mut percents = [0; EIGHT];
            let mut mark = |number: usize, bytes: __m512i, there: __mmask64| {
                blocks[number] = transposed(classes(bytes, there));
                percents[number] = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'%' as i8));
            };
            // Bet: it is not the last batch.
            if let Some(all) = rest.first_chunk::<BATCH>() {
                let (all, _) = all.as_chunks::<BLOCK>();
                for (number, block) in all.iter().enumerate() {
                    mark(number, load_512(block), __mmask64::MAX);
                }
            } else {
                for (number, block) in rest.chunks(BLOCK).enumerate() {
                    let (bytes, there) = load_up_to_512(block);
                    mark(number, bytes, there);
                }
            }
            let mut sets = by_set(&blocks);
            if NEIGHBORS {
                self.add_pairs_512(&mut sets, &mut before);
            }
            for (row, set) in rows.iter_mut().zip(sets) {
                store_512(&mut row.0.as_chunks_mut().0[batch], set);
            }
            if NEIGHBORS && self.escapes.are_left {
                self.leave_escapes_512(rest, &percents, batch, rows);
            }
        }
    }

    /// Marks what is after a byte of the first set, or of the sixth, in the marks of a batch.
    /// `before` are those of the two sets in the batch before.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add_pairs_512(&self, sets: &mut [__m512i; EIGHT], before: &mut [__m512i; 2]) {
        let behind = |set: __m512i, before: __m512i| {
            let last_bits = _mm512_srli_epi64::<63>(_mm512_alignr_epi64::<7>(set, before));
            _mm512_or_si512(_mm512_slli_epi64::<1>(set), last_bits)
        };
        let [first, second, third, _, fifth, sixth, ..] = sets;
        let doubles = _mm512_and_si512(*first, _mm512_set1_epi64(self.doubles as i64));
        let either = _mm512_or_si512(*second, doubles);
        let pairs = _mm512_and_si512(behind(*first, before[0]), either);
        *third = _mm512_or_si512(*third, pairs);
        let pairs = _mm512_and_si512(behind(*sixth, before[1]), *sixth);
        *fifth = _mm512_or_si512(*fifth, pairs);
        *before = [*first, *sixth];
    }

    /// Removes the marks of escapes that are left out, in the `batch` that `text` starts with.
    #[inline]
    #[target_feature(enable = "bmi2,avx512f,avx512bw,avx512vbmi")]
    fn leave_escapes_512(
        &self,
        text: &[u8],
        percents: &[u64; EIGHT],
        batch: usize,
        rows: &mut [Row; N],
    ) {
        // Bet: most blocks have none.
        let words: [i64; EIGHT] = percents.map(|word| word as i64);
        let [a, b, c, d, e, f, g, h] = words;
        let words = _mm512_set_epi64(h, g, f, e, d, c, b, a);
        let mut some = _mm512_test_epi64_mask(words, words);
        while some != 0 {
            let number = some.trailing_zeros() as usize;
            let left = self.escapes.of_512(&text[number * BLOCK..], percents[number]);
            rows[2].clear(batch * EIGHT + number, left);
            rows[3].clear(batch * EIGHT + number, left);
            some &= some - 1;
        }
    }
}

impl Escapes {
    /// Returns which percent signs in the first half of a block start escapes that are left out, as
    /// [`Escapes::of`] does for given ones.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of_256(&self, text: &[u8]) -> u32 {
        let from = |start: usize| {
            let rest = text.get(start..).unwrap_or(&[]);
            let mut bytes = [0; HALF];
            load_256(rest.first_chunk().unwrap_or_else(|| {
                bytes[..rest.len()].copy_from_slice(rest);
                &bytes
            }))
        };
        let all = |byte: u8| _mm256_set1_epi8(byte as i8);
        let digits = |bytes: __m256i| {
            let high = _mm256_and_si256(bytes, all(0xf0));
            // A shuffle uses the low half of a byte below 0x80 as index.
            let those = |table: &[u8; HALF], with: u8| {
                let digits = _mm256_shuffle_epi8(load_256(table), bytes);
                _mm256_and_si256(digits, _mm256_cmpeq_epi8(high, all(with)))
            };
            _mm256_or_si256(those(&DECIMALS, 0x30), those(&LETTERS, 0x40))
        };
        let percents = _mm256_cmpeq_epi8(from(0), all(b'%'));
        let (high, low) = (digits(from(1)), digits(from(2)));
        let bits = _mm256_shuffle_epi8(load_256(&self.by_halves), low);
        let bit = _mm256_shuffle_epi8(load_256(&BITS), high);
        let is_kept = _mm256_cmpeq_epi8(_mm256_and_si256(bits, bit), _mm256_setzero_si256());
        // The highest bits: is the byte from 0x80 on; are both digits?
        let is_left =
            _mm256_or_si256(_mm256_slli_epi16::<4>(high), _mm256_andnot_si256(is_kept, all(0x80)));
        let are_digits = _mm256_slli_epi16::<3>(_mm256_and_si256(high, low));
        let left = _mm256_and_si256(_mm256_and_si256(is_left, are_digits), percents);
        _mm256_movemask_epi8(left) as u32
    }

    /// Returns which of the `percents`, bits for the first bytes of `text`, start escapes that are
    /// left out, as [`Escapes::of`] does.
    #[inline]
    #[target_feature(enable = "bmi2,avx512f,avx512bw,avx512vbmi")]
    fn of_512(&self, text: &[u8], percents: u64) -> u64 {
        let look_up = |table: &[u8; 128], index: __m512i| {
            let (halves, _) = table.as_chunks::<BLOCK>();
            _mm512_permutex2var_epi8(load_512(&halves[0]), index, load_512(&halves[1]))
        };
        let (high, _) = load_up_to_512(text.get(1..).unwrap_or(&[]));
        let (low, _) = load_up_to_512(text.get(2..).unwrap_or(&[]));
        let (high_value, low_value) = (look_up(&self.values, high), look_up(&self.values, low));
        // Invariant: no digit is the highest bit, which bytes from 0x80 on have, too.
        let values = _mm512_or_si512(high_value, low_value);
        let odd = _mm512_or_si512(_mm512_or_si512(high, low), values);
        let upper_half = _mm512_slli_epi16::<4>(high_value);
        let upper_half = _mm512_and_si512(upper_half, _mm512_set1_epi8(0xf0_u8 as i8));
        let byte = _mm512_or_si512(upper_half, low_value);
        let is_left = look_up(&self.low, byte);
        let left = _mm512_test_epi8_mask(is_left, is_left) | _mm512_movepi8_mask(byte);
        percents & left & !_mm512_movepi8_mask(odd)
    }
}

/// The bit `b` of all 64 bytes as the word `b`, the first byte the lowest bit.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn transposed(bytes: __m512i) -> __m512i {
    // Within each word: the product of the matrix of its bits, the rows from the last byte on,
    // with a vector of one bit is a column.
    let reversed = _mm512_shuffle_epi8(bytes, load_512(&REVERSED));
    let columns = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
    let columns = _mm512_gf2p8affine_epi64_epi8::<0>(columns, reversed);
    _mm512_permutexvar_epi8(load_512(&GATHERED), columns)
}

/// The bytes of each word in reverse, for a shuffle of 16 bytes at a time.
const REVERSED: [u8; BLOCK] = {
    let mut from = [0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        from[at] = (at as u8 % 16) ^ 7;
        at += 1;
    }
    from
};

/// Eight blocks of eight words, by the place of a word in its block: a matrix transposed.
#[inline]
#[target_feature(enable = "avx512f")]
fn by_set(blocks: &[__m512i; EIGHT]) -> [__m512i; EIGHT] {
    let [a, b, c, d, e, f, g, h] = *blocks;
    let (ab, cd) = (_mm512_unpacklo_epi64(a, b), _mm512_unpacklo_epi64(c, d));
    let (ef, gh) = (_mm512_unpacklo_epi64(e, f), _mm512_unpacklo_epi64(g, h));
    let [zero, two, four, six] = by_pair(ab, cd, ef, gh);
    let (ab, cd) = (_mm512_unpackhi_epi64(a, b), _mm512_unpackhi_epi64(c, d));
    let (ef, gh) = (_mm512_unpackhi_epi64(e, f), _mm512_unpackhi_epi64(g, h));
    let [one, three, five, seven] = by_pair(ab, cd, ef, gh);
    [zero, one, two, three, four, five, six, seven]
}

/// Four times four pairs of words, transposed.
#[inline]
#[target_feature(enable = "avx512f")]
fn by_pair(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> [__m512i; 4] {
    // Of each source two pairs: the first and second, or the others; then every other one.
    let (ab, cd) = (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0x44>(c, d));
    let (ab_end, cd_end) = (_mm512_shuffle_i64x2::<0xee>(a, b), _mm512_shuffle_i64x2::<0xee>(c, d));
    [
        _mm512_shuffle_i64x2::<0x88>(ab, cd),
        _mm512_shuffle_i64x2::<0xdd>(ab, cd),
        _mm512_shuffle_i64x2::<0x88>(ab_end, cd_end),
        _mm512_shuffle_i64x2::<0xdd>(ab_end, cd_end),
    ]
}
