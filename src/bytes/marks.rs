//! HOT: once per byte. Marks where the bytes of some sets stand in a text: a bit for every byte.
//!
//! ```text
//! text        h t t p : / / a . b / c ? d = e
//! set "/"     0 0 0 0 0 1 1 0 0 0 1 0 0 0 0 0     the first byte is bit 0 of the first block
//! set "?#"    0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0
//! ```
//!
//! Price: with AVX-512, three instructions for a set and 64 bytes; with AVX2, four for 32; without,
//! a table look-up for each byte and about four instructions for a set and eight bytes. Guard:
//! `benches/canonical.rs`, groups `marks` and `fused`. Twin: [`Marker::portable`]; the test below
//! compares all that the machine has.
//!
//! Unsafe: two calls of functions that are compiled for wider vectors than every x86-64 has, where
//! the processor was asked before; and loads of vectors, each from an array of its length.

/// Bytes in a block: as many as a word has bits.
const BLOCK: usize = 64;

/// Finds the bytes of `N` sets in texts.
#[derive(Clone, Debug)]
pub struct Marker<const N: usize> {
    /// For each byte, a bit for every set that it is in.
    classes: Box<[u8; 256]>,
    /// For each set and low half of a byte, a bit for every high half below 8 with which it makes a
    /// byte of the set; four times over, for wide vectors.
    rows: [[u8; BLOCK]; N],
    /// For each set, all bits if it holds the bytes from 0x80 on.
    high: [u64; N],
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
    blocks: &'a [[u64; N]],
    len: usize,
}

impl<const N: usize> Marker<N> {
    /// A marker for the sets of bytes for which `sets` say so.
    ///
    /// Limits: at most eight sets; each has either all bytes from 0x80 on, or none of them.
    pub fn new(sets: [&dyn Fn(u8) -> bool; N]) -> Self {
        Marker { vectors: widest(), ..Self::portable(sets) }
    }

    /// The same without vectors that not every machine has.
    pub fn portable(sets: [&dyn Fn(u8) -> bool; N]) -> Self {
        assert!(N <= 8, "the classes of a byte are the bits of a byte");
        let mut classes = Box::new([0; 256]);
        let mut rows = [[0; BLOCK]; N];
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
        Marker { classes, rows, high, vectors: Vectors::Portable }
    }

    /// Marks `text`. `blocks` is memory that is used again and again; it grows to the longest text.
    #[inline]
    pub fn mark<'a>(&self, text: &[u8], blocks: &'a mut Vec<[u64; N]>) -> Marks<'a, N> {
        let count = text.len().div_ceil(BLOCK);
        if blocks.len() < count {
            blocks.resize(count, [0; N]);
        }
        let blocks = &mut blocks[..count];
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
            Vectors::Portable => fill(text, blocks, |block| self.block(block)),
        }
        Marks { blocks, len: text.len() }
    }

    /// The marks of one block, eight bytes at a time.
    fn block(&self, block: &[u8; BLOCK]) -> [u64; N] {
        let mut marks = [0; N];
        for (number, bytes) in block.chunks_exact(8).enumerate() {
            let classes: [u8; 8] = std::array::from_fn(|at| self.classes[usize::from(bytes[at])]);
            let classes = u64::from_le_bytes(classes);
            for (set, marks) in marks.iter_mut().enumerate() {
                // The lowest bit of each of eight bytes, gathered in the highest byte.
                let bits = (classes >> set) & 0x0101_0101_0101_0101;
                *marks |= (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * number);
            }
        }
        marks
    }
}

/// Gives every block of `text` to `mark`. The last one, if it is no whole block, ends with whatever
/// there is; its marks are cut off.
#[inline(always)]
fn fill<const N: usize>(
    text: &[u8],
    marks: &mut [[u64; N]],
    mark: impl Fn(&[u8; BLOCK]) -> [u64; N],
) {
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    for (block, marks) in blocks.iter().zip(marks.iter_mut()) {
        *marks = mark(block);
    }
    let Some(last) = marks.get_mut(blocks.len()) else { return };
    *last = match text.last_chunk::<BLOCK>() {
        // The bytes before are marked once more, and shifted out.
        Some(block) => mark(block).map(|bits| bits >> (BLOCK - rest.len())),
        None => {
            let mut block = [0; BLOCK];
            copy_short(rest, &mut block);
            mark(&block).map(|bits| bits & (u64::MAX >> (BLOCK - rest.len())))
        }
    };
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
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
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

    use super::{BLOCK, Marker, fill};

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

    impl<const N: usize> Marker<N> {
        #[target_feature(enable = "avx2")]
        pub(super) fn mark_avx2(&self, text: &[u8], marks: &mut [[u64; N]]) {
            let bits = _mm256_broadcastsi128_si256(load_128(&BITS));
            let nibble = _mm256_set1_epi8(15);
            let zero = _mm256_setzero_si256();
            fill(text, marks, |block| {
                let (halves, _) = block.as_chunks::<32>();
                let mut found = [0; N];
                for (number, half) in halves.iter().enumerate() {
                    let bytes = load_256(half);
                    // A shuffle gives zero for an index from 0x80 on, whatever its low half is.
                    let high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble);
                    let bit = _mm256_shuffle_epi8(bits, high);
                    let beyond = u64::from(_mm256_movemask_epi8(bytes) as u32);
                    let sets = self.rows.iter().zip(&self.high);
                    for (found, (rows, high)) in found.iter_mut().zip(sets) {
                        let (rows, _) = rows.as_chunks::<32>();
                        let row = _mm256_shuffle_epi8(load_256(&rows[0]), bytes);
                        let none = _mm256_cmpeq_epi8(_mm256_and_si256(row, bit), zero);
                        let some = u64::from(!(_mm256_movemask_epi8(none) as u32));
                        *found |= (some | beyond & high) << (32 * number);
                    }
                }
                found
            });
        }

        #[target_feature(enable = "avx512f,avx512bw")]
        pub(super) fn mark_avx512(&self, text: &[u8], marks: &mut [[u64; N]]) {
            let bits = _mm512_broadcast_i32x4(load_128(&BITS));
            let nibble = _mm512_set1_epi8(15);
            fill(text, marks, |block| {
                let bytes = load_512(block);
                let high = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), nibble);
                let bit = _mm512_shuffle_epi8(bits, high);
                let beyond = _mm512_movepi8_mask(bytes);
                std::array::from_fn(|set| {
                    let row = _mm512_shuffle_epi8(load_512(&self.rows[set]), bytes);
                    _mm512_test_epi8_mask(row, bit) | beyond & self.high[set]
                })
            });
        }
    }
}

impl<const N: usize> Marks<'_, N> {
    /// The first position from `from` on where a byte of `set` stands, or the text's length.
    #[inline(always)]
    pub fn next(&self, set: usize, from: usize) -> usize {
        let mut number = from / BLOCK;
        let Some(block) = self.blocks.get(number) else { return self.len };
        let bits = block[set] >> (from % BLOCK);
        if bits != 0 {
            return from + bits.trailing_zeros() as usize;
        }
        loop {
            number += 1;
            let Some(block) = self.blocks.get(number) else { return self.len };
            if block[set] != 0 {
                return number * BLOCK + block[set].trailing_zeros() as usize;
            }
        }
    }

    /// Does a byte of `set` stand in `text[from..to]`?
    #[inline(always)]
    pub fn has(&self, set: usize, from: usize, to: usize) -> bool {
        self.any(from, to, |number| self.blocks[number][set])
    }

    /// Does a byte of `second` stand right behind one of `first`, both in `text[from..to]`?
    #[inline(always)]
    pub fn has_pair(&self, first: usize, second: usize, from: usize, to: usize) -> bool {
        self.any(from + 1, to, |number| {
            let before = if number == 0 { 0 } else { self.blocks[number - 1][first] >> 63 };
            (self.blocks[number][first] << 1 | before) & self.blocks[number][second]
        })
    }

    /// The last position in `text[from..to]` where a byte of `set` stands.
    #[inline(always)]
    pub fn last(&self, set: usize, from: usize, to: usize) -> Option<usize> {
        if from >= to {
            return None;
        }
        let mut number = (to - 1) / BLOCK;
        let mut bits = self.blocks[number][set] & (u64::MAX >> (63 - (to - 1) % BLOCK));
        while bits == 0 && number > from / BLOCK {
            number -= 1;
            bits = self.blocks[number][set];
        }
        let at = number * BLOCK + bits.checked_ilog2()? as usize;
        (at >= from).then_some(at)
    }

    /// Is a bit set among those of `text[from..to]` in the blocks that `bits` gives by number?
    #[inline(always)]
    fn any(&self, from: usize, to: usize, bits: impl Fn(usize) -> u64) -> bool {
        if from >= to {
            return false;
        }
        let (first, last) = (from / BLOCK, (to - 1) / BLOCK);
        let (head, tail) = (u64::MAX << (from % BLOCK), u64::MAX >> (63 - (to - 1) % BLOCK));
        if first == last {
            return bits(first) & head & tail != 0;
        }
        bits(first) & head != 0
            || bits(last) & tail != 0
            || (first + 1..last).any(|number| bits(number) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets() -> [&'static dyn Fn(u8) -> bool; 3] {
        [&|byte| byte == b'/', &|byte| !byte.is_ascii_alphanumeric(), &|byte| byte < 0x80]
    }

    fn markers() -> Vec<Marker<3>> {
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
                    for from in [0, 1, length / 2, length.saturating_sub(1), length] {
                        let expected = (from..length).find(|at| holds(text[*at])).unwrap_or(length);
                        let found = marks.next(set, from);
                        assert_eq!(found, expected, "{:?} {length} {from}", marker.vectors);
                        for to in [from, from + 1, from + 65, length] {
                            let to = to.min(length);
                            let last = (from..to).rfind(|at| holds(text[*at]));
                            assert_eq!(marks.last(set, from, to), last, "{length} {from} {to}");
                            assert_eq!(marks.has(set, from, to), last.is_some());
                            let is_pair = |at: &usize| text[*at] == b'/' && holds(text[*at + 1]);
                            let pair = (from..to.saturating_sub(1)).any(|at| is_pair(&at));
                            assert_eq!(marks.has_pair(0, set, from, to), pair);
                        }
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
                        let is_pair = holds(byte) && length > 1;
                        assert_eq!(marks.has_pair(set, set, 0, length), is_pair);
                    }
                }
            }
        }
    }

    #[test]
    fn pairs() {
        let mut blocks = Vec::new();
        let marker = Marker::new(sets());
        let text = [&[b'a'; 63][..], b"//b/c/"].concat();
        let marks = marker.mark(&text, &mut blocks);
        assert!(marks.has_pair(0, 0, 0, text.len()) && marks.has_pair(0, 0, 63, 65));
        assert!(!marks.has_pair(0, 0, 0, 64) && !marks.has_pair(0, 0, 64, text.len()));
    }
}
