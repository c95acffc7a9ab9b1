//! HOT: once per byte. Marks where the bytes of some sets stand in a text: a bit for every byte.
//!
//! ```text
//! text        h t t p : / / a . b / c ? d = e
//! set "/"     0 0 0 0 0 1 1 0 0 0 1 0 0 0 0 0     the first byte is bit 0 of the first block
//! set "?#"    0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0
//! ```
//!
//! Price: with AVX-512 VBMI and GFNI, some ten instructions for eight sets and 64 bytes; with AVX2,
//! four for a set and 32; without, a table look-up for each byte and about four instructions for a
//! set and eight bytes.
//! Guard: `benches/canonical.rs`, group `fused`. Twin: [`Marker::portable`]; the test below
//! compares all that the machine has.
//!
//! Unsafe: two calls of functions that are compiled for wider vectors than every x86-64 has, where
//! the processor was asked before; loads of vectors, each from an array of its length or under
//! a mask that ends with the text; and a store to an array of its length.

use std::ops::Range;

use super::hex;

/// Bytes in a block: as many as a word has bits.
const BLOCK: usize = 64;

/// Finds the bytes of `N` sets in texts. With `NEIGHBORS`, those beside a byte count as well: one of
/// the second set right behind one of the first is marked in the third, too; and see
/// [`Marker::with_doubles`] and [`Marker::without_escapes`].
// Only vectors of x86-64 look at `tables`, `rows` and `high`.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[derive(Clone, Debug)]
pub struct Marker<const N: usize, const NEIGHBORS: bool = false> {
    /// For each byte, a bit for every set that it is in.
    classes: Box<[u16; 256]>,
    /// The lower and the upper half of the classes of the bytes below 0x80, by byte.
    tables: [[u8; 128]; 2],
    /// For each set and low half of a byte, a bit for every high half below 8 with which it makes a
    /// byte of the set; twice, for wide vectors.
    rows: [[u8; 32]; N],
    /// For each set, all bits if it holds the bytes from 0x80 on.
    high: [u64; N],
    /// For `NEIGHBORS`: all bits if so is a byte of the first set behind another of it.
    doubles: u64,
    /// For `NEIGHBORS`: the escapes whose percent signs are not marked.
    escapes: Escapes,
    vectors: Vectors,
}

/// The widest vectors that the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vectors {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

/// Where the bytes of some sets stand in one text.
#[derive(Clone, Copy, Debug)]
pub struct Marks<'a, const N: usize> {
    /// One more than are marked, the last without marks.
    blocks: &'a [[u64; N]],
    /// Where the text starts in the blocks.
    start: usize,
    len: usize,
}

impl<const N: usize, const NEIGHBORS: bool> Marker<N, NEIGHBORS> {
    /// A marker for the sets of bytes for which `sets` say so.
    ///
    /// Limits: at most 16 sets; each has either all bytes from 0x80 on, or none of them.
    pub fn new(sets: [&dyn Fn(u8) -> bool; N]) -> Self {
        Marker { vectors: widest(), ..Self::portable(sets) }
    }

    /// The same without vectors that not every machine has.
    pub fn portable(sets: [&dyn Fn(u8) -> bool; N]) -> Self {
        assert!(N <= 16, "the classes of a byte are the bits of 16");
        let mut classes = Box::new([0u16; 256]);
        let mut rows = [[0; 32]; N];
        let mut high = [0; N];
        for (set, holds) in sets.iter().enumerate() {
            high[set] = if holds(0x80) { u64::MAX } else { 0 };
            for byte in (0..=255u8).filter(|byte| holds(*byte)) {
                classes[usize::from(byte)] |= 1 << set;
                let (low, high) = (usize::from(byte & 15), byte >> 4);
                if high < 8 {
                    rows[set].iter_mut().skip(low).step_by(16).for_each(|row| *row |= 1 << high);
                }
            }
            let uniform = (0x80..=255).all(|byte| holds(byte) == holds(0x80));
            assert!(uniform, "a set has all bytes from 0x80 on, or none");
        }
        let half = |shift: u32| std::array::from_fn(|byte| (classes[byte] >> shift) as u8);
        let tables = [half(0), half(8)];
        let (doubles, escapes) = (0, Escapes::default());
        Marker { classes, tables, rows, high, doubles, escapes, vectors: Vectors::Portable }
    }

    /// The same marker; it marks bytes of the first set behind others of it in the third set, too.
    pub fn with_doubles(self) -> Self {
        assert!(NEIGHBORS, "a marker of pairs");
        Marker { doubles: u64::MAX, ..self }
    }

    /// The same marker; the third and the fourth set leave out the percent signs of escapes in upper
    /// case of bytes for which `is_left` says so. What is behind a text may end an escape of it:
    /// [`ends_amid_escape`] tells where.
    ///
    /// Limits: it says so for all bytes from 0x80 on.
    pub fn without_escapes(self, is_left: impl Fn(u8) -> bool) -> Self {
        assert!(NEIGHBORS, "a marker of pairs");
        assert!((0x80..=255).all(&is_left), "escapes of bytes from 0x80 on are left out");
        let low = std::array::from_fn(|byte| u8::from(is_left(byte as u8)));
        Marker { escapes: Escapes { are_left: true, low, ..Escapes::default() }, ..self }
    }

    /// Marks `text`. `blocks` is memory that is used again and again; it grows to the longest text.
    #[inline]
    pub fn mark<'a>(&self, text: &[u8], blocks: &'a mut Vec<[u64; N]>) -> Marks<'a, N> {
        let count = text.len().div_ceil(BLOCK);
        if blocks.len() <= count {
            grow(blocks, count + 1);
        }
        let blocks = &mut blocks[..=count];
        match self.vectors {
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx512 => {
                // SAFETY: `widest` has found these features on this machine.
                unsafe { self.mark_avx512(text, blocks) }
            }
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx2 => {
                // SAFETY: `widest` has found these features on this machine.
                unsafe { self.mark_avx2(text, blocks) }
            }
            Vectors::Portable => {
                self.fill(text, blocks, |block| (self.block(block), percent_signs(block)));
            }
        }
        Marks { blocks, start: 0, len: text.len() }
    }

    /// Gives every block of `text` to `mark`, which tells percent signs, too. The last one, if it is
    /// no whole block, ends with whatever there is; its marks are cut off. Beyond it are none.
    #[inline(always)]
    fn fill(
        &self,
        text: &[u8],
        marks: &mut [[u64; N]],
        mark: impl Fn(&[u8; BLOCK]) -> ([u64; N], u64),
    ) {
        let (blocks, rest) = text.as_chunks::<BLOCK>();
        let mut before = 0;
        let mut marks = marks.iter_mut();
        for (number, (block, marks)) in blocks.iter().zip(&mut marks).enumerate() {
            let percents;
            (*marks, percents) = mark(block);
            self.add_pairs(marks, &mut before);
            self.leave_escapes(marks, percents, |percents| {
                self.escapes.of(&text[number * BLOCK..], percents)
            });
        }
        if !rest.is_empty()
            && let Some(last) = marks.next()
        {
            let percents;
            (*last, percents) = match text.last_chunk::<BLOCK>() {
                // The bytes before are marked once more, and shifted out.
                Some(block) => {
                    let before = BLOCK - rest.len();
                    let (marks, percents) = mark(block);
                    (marks.map(|bits| bits >> before), percents >> before)
                }
                None => {
                    let mut block = [0; BLOCK];
                    copy_short(rest, &mut block);
                    let there = u64::MAX >> (BLOCK - rest.len());
                    let (marks, percents) = mark(&block);
                    (marks.map(|bits| bits & there), percents & there)
                }
            };
            self.add_pairs(last, &mut before);
            self.leave_escapes(last, percents, |percents| self.escapes.of(rest, percents));
        }
        if let Some(beyond) = marks.next() {
            *beyond = [0; N];
        }
    }

    /// Marks what is behind a byte of the first set. `before` is whether the block before ends with
    /// one.
    #[inline(always)]
    fn add_pairs(&self, marks: &mut [u64; N], before: &mut u64) {
        if NEIGHBORS && let [first, second, into, ..] = &mut marks[..] {
            let behind = *first << 1 | *before;
            *before = *first >> (BLOCK - 1);
            *into |= behind & (*second | *first & self.doubles);
        }
    }

    /// Takes the marks of escapes that are left out away. `escapes` says which of the `percents` start
    /// such ones.
    #[inline(always)]
    fn leave_escapes(&self, marks: &mut [u64; N], percents: u64, escapes: impl FnOnce(u64) -> u64) {
        // Bet: most blocks have none.
        if NEIGHBORS
            && percents != 0
            && self.escapes.are_left
            && let [_, _, third, fourth, ..] = &mut marks[..]
        {
            let escapes = escapes(percents);
            *third &= !escapes;
            *fourth &= !escapes;
        }
    }

    /// The marks of one block, eight bytes at a time.
    fn block(&self, block: &[u8; BLOCK]) -> [u64; N] {
        let mut marks = [0; N];
        for (number, bytes) in block.chunks_exact(8).enumerate() {
            for (half, marks) in marks.chunks_mut(8).enumerate() {
                let classes: [u8; 8] = std::array::from_fn(|at| {
                    (self.classes[usize::from(bytes[at])] >> (8 * half)) as u8
                });
                let classes = u64::from_le_bytes(classes);
                for (set, marks) in marks.iter_mut().enumerate() {
                    // The lowest bit of each of eight bytes, gathered in the highest byte.
                    let bits = (classes >> set) & 0x0101_0101_0101_0101;
                    *marks |= (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * number);
                }
            }
        }
        marks
    }
}

/// The escapes that a marker leaves out.
#[derive(Clone, Debug)]
// Only vectors of x86-64 look at `values`.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
struct Escapes {
    are_left: bool,
    /// The value of each byte below 0x80 as a hexadecimal digit in upper case; [`NO_DIGIT`] for
    /// bytes that are none.
    values: [u8; 128],
    /// For each byte below 0x80, 1 if its escape is left out.
    low: [u8; 128],
}

/// No value of a digit.
const NO_DIGIT: u8 = 0x80;

impl Default for Escapes {
    fn default() -> Self {
        let values = std::array::from_fn(|byte| match byte as u8 {
            byte @ (b'0'..=b'9' | b'A'..=b'F') => hex::VALUE[usize::from(byte)],
            _ => NO_DIGIT,
        });
        Escapes { are_left: false, values, low: [0; 128] }
    }
}

impl Escapes {
    /// Which of the `percents`, bits for the first bytes of `text`, start escapes that are left out.
    #[inline]
    fn of(&self, text: &[u8], percents: u64) -> u64 {
        let (mut rest, mut found) = (percents, 0);
        while rest != 0 {
            let at = rest.trailing_zeros() as usize;
            if let Some(&[high, low]) = text.get(at + 1..at + 3)
                && !(high.is_ascii_lowercase() | low.is_ascii_lowercase())
                && let Some(byte) = hex::pair(high, low)
            {
                let is_left = self.low.get(usize::from(byte)).is_none_or(|left| *left != 0);
                found |= u64::from(is_left) << at;
            }
            rest &= rest - 1;
        }
        found
    }
}

/// Is there a percent sign among the last two bytes of `text`? Then what is behind it may make it
/// start an escape.
#[inline(always)]
pub fn ends_amid_escape(text: &[u8]) -> bool {
    matches!(text, [.., b'%'] | [.., b'%', _])
}

/// A bit for every percent sign.
#[inline(always)]
fn percent_signs(block: &[u8; BLOCK]) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let (words, _) = block.as_chunks();
    let mut found = 0;
    for (number, word) in words.iter().enumerate() {
        let other = u64::from_le_bytes(*word) ^ u64::from_le_bytes([b'%'; 8]);
        // The highest bit of every byte that is zero.
        let zeros = !(((other & LOW) + LOW) | other | LOW);
        found |= ((zeros >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * number);
    }
    found
}

#[cold]
fn grow<const N: usize>(blocks: &mut Vec<[u64; N]>, count: usize) {
    blocks.resize(count, [0; N]);
}

/// Copies a `text` that is shorter than a block, by two copies of fixed length where that is
/// possible: faster than one of any length.
#[inline(always)]
fn copy_short(text: &[u8], block: &mut [u8; BLOCK]) {
    if let (Some(head), Some(tail)) = (text.first_chunk::<32>(), text.last_chunk::<32>()) {
        block[..32].copy_from_slice(head);
        block[text.len() - 32..text.len()].copy_from_slice(tail);
    } else {
        block[..text.len()].copy_from_slice(text);
    }
}

#[cfg(target_arch = "x86_64")]
fn widest() -> Vectors {
    if is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("gfni")
    {
        Vectors::Avx512
    } else if is_x86_feature_detected!("avx2") {
        Vectors::Avx2
    } else {
        Vectors::Portable
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn widest() -> Vectors {
    Vectors::Portable
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{BLOCK, Escapes, Marker};

    /// For the high half of a byte, its bit in a row; none for bytes from 0x80 on.
    const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load_128(bytes: &[u8; 16]) -> __m128i {
        // SAFETY: the reference says that there are 16 bytes to read; they need no alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx")]
    fn load_256(bytes: &[u8; 32]) -> __m256i {
        // SAFETY: the reference says that there are 32 bytes to read; they need no alignment.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load_512(bytes: &[u8; BLOCK]) -> __m512i {
        // SAFETY: the reference says that there are 64 bytes to read; they need no alignment.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    /// The first bytes of `text`, and a bit for each that there is. Empty texts have none.
    #[inline]
    #[target_feature(enable = "bmi2,avx512f,avx512bw")]
    fn load_up_to_512(text: &[u8]) -> (__m512i, __mmask64) {
        let there = _bzhi_u64(u64::MAX, text.len().min(BLOCK) as u32);
        // SAFETY: the mask has bits only for bytes of the text; no others are read.
        (unsafe { _mm512_maskz_loadu_epi8(there, text.as_ptr().cast()) }, there)
    }

    impl<const N: usize, const NEIGHBORS: bool> Marker<N, NEIGHBORS> {
        #[target_feature(enable = "avx2")]
        pub(super) fn mark_avx2(&self, text: &[u8], marks: &mut [[u64; N]]) {
            let bits = _mm256_broadcastsi128_si256(load_128(&BITS));
            let nibble = _mm256_set1_epi8(15);
            let zero = _mm256_setzero_si256();
            self.fill(text, marks, |block| {
                let (halves, _) = block.as_chunks::<32>();
                let (mut found, mut percents) = ([0; N], 0);
                for (number, half) in halves.iter().enumerate() {
                    let bytes = load_256(half);
                    // A shuffle gives zero for an index from 0x80 on, whatever its low half is.
                    let high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble);
                    let bit = _mm256_shuffle_epi8(bits, high);
                    let beyond = u64::from(_mm256_movemask_epi8(bytes) as u32);
                    let percent = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'%' as i8));
                    percents |= u64::from(_mm256_movemask_epi8(percent) as u32) << (32 * number);
                    let sets = self.rows.iter().zip(&self.high);
                    for (found, (rows, high)) in found.iter_mut().zip(sets) {
                        let (rows, _) = rows.as_chunks::<32>();
                        let row = _mm256_shuffle_epi8(load_256(&rows[0]), bytes);
                        let none = _mm256_cmpeq_epi8(_mm256_and_si256(row, bit), zero);
                        let some = u64::from(!(_mm256_movemask_epi8(none) as u32));
                        *found |= (some | beyond & high) << (32 * number);
                    }
                }
                (found, percents)
            });
        }

        #[target_feature(enable = "bmi2,avx512f,avx512bw,avx512vbmi,gfni")]
        pub(super) fn mark_avx512(&self, text: &[u8], marks: &mut [[u64; N]]) {
            let halves = self.tables.map(|table| {
                let (halves, _) = table.as_chunks::<BLOCK>();
                (load_512(&halves[0]), load_512(&halves[1]))
            });
            let high: [__m512i; 2] = std::array::from_fn(|half| {
                _mm512_set1_epi8((self.classes[0x80] >> (8 * half)) as i8)
            });
            let Some((beyond, marks)) = marks.split_last_mut() else { return };
            let mut before = 0;
            for (number, marks) in marks.iter_mut().enumerate() {
                let (bytes, there) = load_up_to_512(&text[number * BLOCK..]);
                let beyond = _mm512_movepi8_mask(bytes);
                // The look-up takes the lower seven bits of a byte for its index.
                let classes = |half: usize| {
                    let (first, second) = halves[half];
                    let class = _mm512_maskz_permutex2var_epi8(there, first, bytes, second);
                    _mm512_mask_mov_epi8(class, beyond, high[half])
                };
                let (eights, rest) = marks.as_chunks_mut();
                for (half, eight) in eights.iter_mut().enumerate() {
                    store_512(eight, transposed(classes(half)));
                }
                if !rest.is_empty() {
                    let classes = classes(eights.len());
                    for (set, marks) in rest.iter_mut().enumerate() {
                        let bit = _mm512_set1_epi8((1u8 << set) as i8);
                        *marks = _mm512_test_epi8_mask(classes, bit);
                    }
                }
                self.add_pairs(marks, &mut before);
                let percents = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'%' as i8));
                self.leave_escapes(marks, percents, |percents| {
                    self.escapes.of_512(&text[number * BLOCK..], percents)
                });
            }
            *beyond = [0; N];
        }
    }

    impl Escapes {
        /// The same as [`Escapes::of`].
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
            // Invariant: NO_DIGIT is the highest bit, which bytes from 0x80 on have, too.
            let any =
                _mm512_or_si512(_mm512_or_si512(high, low), _mm512_or_si512(high_value, low_value));
            let upper_half = _mm512_and_si512(
                _mm512_slli_epi16::<4>(high_value),
                _mm512_set1_epi8(0xf0_u8 as i8),
            );
            let byte = _mm512_or_si512(upper_half, low_value);
            let is_left = look_up(&self.low, byte);
            let left = _mm512_test_epi8_mask(is_left, is_left) | _mm512_movepi8_mask(byte);
            percents & left & !_mm512_movepi8_mask(any)
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

    /// The first byte of every word, then the second of every word, and so on.
    const GATHERED: [u8; BLOCK] = {
        let mut from = [0; BLOCK];
        let mut at = 0;
        while at < BLOCK {
            from[at] = (8 * (at % 8) + at / 8) as u8;
            at += 1;
        }
        from
    };

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store_512(words: &mut [u64; 8], value: __m512i) {
        // SAFETY: the reference says that there are 64 bytes to write; they need no alignment.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), value) }
    }
}

impl<'a, const N: usize> Marks<'a, N> {
    /// The marks of a text of `len` bytes that [`Marker::mark`] has left in `blocks`.
    #[inline(always)]
    pub fn again(blocks: &'a [[u64; N]], len: usize) -> Self {
        Marks::part(blocks, 0..len)
    }

    /// The marks of a `part` of a text that [`Marker::mark`] has left in `blocks`.
    #[inline(always)]
    pub fn part(blocks: &'a [[u64; N]], part: Range<usize>) -> Self {
        Marks { blocks: &blocks[..=part.end.div_ceil(BLOCK)], start: part.start, len: part.len() }
    }

    /// The marks of `set` for the 64 bytes from `from` on; the first byte is the lowest bit.
    #[inline(always)]
    pub fn window(&self, set: usize, from: usize) -> u64 {
        let left = self.len.saturating_sub(from);
        let there = if left < BLOCK { !(u64::MAX << left) } else { u64::MAX };
        self.window_beyond(set, from) & there
    }

    /// The same, with marks of what is behind the text, if any.
    #[inline(always)]
    pub fn window_beyond(&self, set: usize, from: usize) -> u64 {
        let from = self.start + from;
        let (number, shift) = (from / BLOCK, from % BLOCK);
        match self.blocks.get(number..number + 2) {
            Some([block, next]) => block[set] >> shift | next[set] << 1 << (63 - shift),
            _ => 0,
        }
    }

    /// Is no byte of `set` in the text from `from` to `to`?
    #[inline(always)]
    pub fn is_clear(&self, set: usize, from: usize, to: usize) -> bool {
        match to.wrapping_sub(from) {
            length @ 1..=BLOCK => self.window_beyond(set, from) << (BLOCK - length) == 0,
            _ => self.next(set, from) >= to,
        }
    }

    /// The first position from `from` on where a byte of `set` stands, or the text's length.
    #[inline(always)]
    pub fn next(&self, set: usize, from: usize) -> usize {
        let window = self.window_beyond(set, from);
        if window != 0 {
            return self.len.min(from + window.trailing_zeros() as usize);
        }
        if from + BLOCK >= self.len {
            return self.len;
        }
        self.next_far(set, from)
    }

    /// The same where it is further away than a block.
    #[inline(always)]
    fn next_far(&self, set: usize, from: usize) -> usize {
        let from = self.start + from;
        let mut start = from - from % BLOCK;
        for block in self.blocks.get(from / BLOCK + 1..).unwrap_or(&[]) {
            start += BLOCK;
            if block[set] != 0 {
                let at = start + block[set].trailing_zeros() as usize;
                return self.len.min(at - self.start);
            }
        }
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets() -> [&'static dyn Fn(u8) -> bool; 10] {
        [
            &|byte| byte == b'/',
            &|byte| !byte.is_ascii_alphanumeric(),
            &|byte| byte < 0x80,
            &|byte| byte == b'a',
            &|byte| byte == b'b',
            &|byte| byte == b'c',
            &|byte| byte == b'd',
            &|byte| byte >= 0x80,
            &|byte| byte == 0,
            &|byte| byte >= 0x80 || byte.is_ascii_punctuation(),
        ]
    }

    fn markers() -> Vec<Marker<10>> {
        let portable = Marker::portable(sets());
        let mut all = vec![Marker::new(sets())];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            all.push(Marker { vectors: Vectors::Avx2, ..portable.clone() });
        }
        all.push(portable);
        all
    }

    #[test]
    fn agrees_with_a_loop_at_every_length() {
        let mut blocks = Vec::new();
        for marker in markers() {
            for length in 0..300usize {
                let text: Vec<u8> = (0..length).map(|at| (at * 37 + length * 11) as u8).collect();
                let marks = marker.mark(&text, &mut blocks);
                for (set, holds) in sets().iter().enumerate() {
                    for from in [0, 1, length / 2, length.saturating_sub(1), length, length + 1] {
                        let expected = (from..length).find(|at| holds(text[*at])).unwrap_or(length);
                        let found = marks.next(set, from);
                        assert_eq!(found, expected, "{:?} {length} {from}", marker.vectors);
                        let bit = |at: &usize| text.get(from + at).is_some_and(|byte| holds(*byte));
                        let window = (0..64).filter(bit).fold(0, |bits, at| bits | 1u64 << at);
                        assert_eq!(marks.window(set, from), window, "{length} {from}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_byte_is_in_its_sets() {
        let mut blocks = Vec::new();
        for marker in markers() {
            for byte in 0..=255u8 {
                for length in [1, 40, 64, 65, 130] {
                    let text = vec![byte; length];
                    let marks = marker.mark(&text, &mut blocks);
                    for (set, holds) in sets().iter().enumerate() {
                        let expected = if holds(byte) { 0 } else { length };
                        assert_eq!(marks.next(set, 0), expected, "{:?}", marker.vectors);
                        let last = if holds(byte) { length - 1 } else { length };
                        assert_eq!(marks.next(set, length - 1), last, "{:?}", marker.vectors);
                    }
                }
            }
        }
    }

    #[test]
    fn escapes_that_are_left_out() {
        let percent = |byte| byte == b'%';
        let sets: [&dyn Fn(u8) -> bool; 4] = [&|byte| byte == b'/', &percent, &percent, &percent];
        let is_left = |byte: u8| byte >= 0x80 || matches!(byte, b' ' | b'O' | b'/' | 0);
        let pieces: [&[u8]; 12] = [
            b"%20", b"%4F", b"%4f", b"%2F", b"%00", b"%41", b"%D9", b"%dA", b"%F", b"%", b"\x82%8",
            b"a",
        ];
        let mut blocks = Vec::new();
        for vectors in markers().into_iter().map(|marker| marker.vectors) {
            let marker = Marker { vectors, ..Marker::<4, true>::portable(sets) };
            let marker = marker.without_escapes(is_left);
            for number in 0..pieces.len().pow(3) {
                let pick = |power: u32| pieces[number / pieces.len().pow(power) % pieces.len()];
                for filler in [0, 57, 62] {
                    let text = [&b"-".repeat(filler)[..], pick(0), pick(1), pick(2)].concat();
                    let starts = |at: &usize| {
                        let [high, low] = *text.get(at + 1..at + 3)? else { return None };
                        let is_upper = !high.is_ascii_lowercase() && !low.is_ascii_lowercase();
                        hex::pair(high, low).filter(|byte| is_upper && is_left(*byte))
                    };
                    let percents = (0..text.len()).filter(|at| text[*at] == b'%');
                    let all: Vec<usize> = percents.collect();
                    let some: Vec<usize> =
                        all.iter().copied().filter(|at| starts(at).is_none()).collect();
                    let marks = marker.mark(&text, &mut blocks);
                    for (set, expected) in [(1, &all), (2, &some), (3, &some)] {
                        let found = (0..text.len()).filter(|at| marks.next(set, *at) == *at);
                        let found: Vec<usize> = found.collect();
                        assert_eq!(found, *expected, "{vectors:?} {}", text.escape_ascii());
                    }
                    let with_more = [&text[..], b"20"].concat();
                    let (more, mut others) = (marker.mark(&with_more, &mut blocks), Vec::new());
                    let marks = marker.mark(&text, &mut others);
                    let same = |at| (more.next(2, at) == at) == (marks.next(2, at) == at);
                    assert!(ends_amid_escape(&text) || (0..text.len()).all(same));
                }
            }
        }
    }

    #[test]
    fn pairs() {
        let mut blocks = Vec::new();
        let sets: [&dyn Fn(u8) -> bool; 3] =
            [&|byte| byte == b'/', &|byte| byte == b'a', &|byte| byte == b'c'];
        let text = [&[b'x'; 63][..], b"//a/b/c"].concat();
        for vectors in markers().into_iter().map(|marker| marker.vectors) {
            let marker = Marker { vectors, ..Marker::<3, true>::portable(sets) };
            let mut found = |marker: &Marker<3, true>| {
                let marks = marker.mark(&text, &mut blocks);
                (0..text.len()).filter(|at| marks.next(2, *at) == *at).collect::<Vec<_>>()
            };
            // The a behind a slash, and the c that is in the set anyway.
            assert_eq!(found(&marker), [65, 69], "{vectors:?}");
            // The second slash, too.
            assert_eq!(found(&marker.with_doubles()), [64, 65, 69], "{vectors:?}");
        }
    }
}
