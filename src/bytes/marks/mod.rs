//! HOT: once per byte. Marks where the bytes of some sets stand in a text: a bit for every byte.
//!
//! ```text
//! text        h t t p : / / a . b / c ? d = e
//! row "/"     0 0 0 0 0 1 1 0 0 0 1 0 0 0 0 0     the first byte is the lowest bit of the row
//! row "?#"    0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0
//! ```
//!
//! A row can be read from any byte on, so a query costs a load and a shift.
//!
//! Price: with AVX-512 VBMI and GFNI, some fifteen instructions for eight sets and 64 bytes; with
//! AVX2, some sixty for eight sets and 32; with SSE4.1, as many for 16; with NEON, some hundred and
//! twenty for 64; without any, a table look-up for each byte and about four instructions for a set
//! and eight bytes. Guard: `benches/canonical.rs`, group `fused`. Twin: [`Marker::portable`];
//! `tests.rs` compares all variants that the machine supports.
//!
//! Unsafe: calls of functions that are compiled for vectors that not every processor has, after
//! checking for them; and the loads and stores of `x86.rs` and `neon.rs`.

mod byte;
mod escapes;
#[cfg(target_arch = "aarch64")]
mod neon;
mod words;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::limits::URL_BYTES_MAX;
pub use byte::mark_byte;
use escapes::Escapes;
pub use escapes::{ends_amid_escape, percents};

/// Bytes in a block: as many as a word has bits.
pub const BLOCK: usize = 64;

/// Bytes of a text whose marks are stored in rows together: as many as a vector has bits.
#[cfg(target_arch = "x86_64")]
const BATCH: usize = 8 * BLOCK;

/// A shuffle that gathers the first bytes of all words of a block, then the second ones, and so on.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const GATHERED: [u8; BLOCK] = {
    let mut from = [0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        from[at] = (8 * (at % 8) + at / 8) as u8;
        at += 1;
    }
    from
};

/// Most sets of a marker: as many as a byte has bits.
const SETS_MAX: usize = 8;

/// The longest text that is marked.
const TEXT_BYTES_MAX: usize = URL_BYTES_MAX;

/// Bytes of a row: a bit for every byte of a text, and padding. Reason: one batch of padding would
/// be enough, but with this row length the marks of the first 4 KiB of a text are in different
/// cache sets for each row.
const ROW_BYTES: usize = TEXT_BYTES_MAX / 8 + 512;

/// How many marks [`Marks::near`] returns at least.
pub const NEAR: usize = u64::BITS as usize - 7;

/// The marks of one set.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Row([u8; ROW_BYTES]);

impl Row {
    /// The marks of a block.
    #[inline(always)]
    fn word(&mut self, block: usize) -> &mut [u8; 8] {
        &mut self.0.as_chunks_mut().0[block]
    }

    #[inline(always)]
    fn set(&mut self, block: usize, marks: u64) {
        *self.word(block) = marks.to_le_bytes();
    }

    /// The marks of half a block.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn half(&self, half: usize) -> u32 {
        u32::from_le_bytes(self.0.as_chunks().0[half])
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn set_half(&mut self, half: usize, marks: u32) {
        self.0.as_chunks_mut().0[half] = marks.to_le_bytes();
    }

    /// Clears the marks of this block and the next one.
    #[inline(always)]
    fn end(&mut self, block: usize) {
        self.set(block, 0);
        self.set(block + 1, 0);
    }

    #[inline(always)]
    fn clear(&mut self, block: usize, marks: u64) {
        let word = self.word(block);
        *word = (u64::from_le_bytes(*word) & !marks).to_le_bytes();
    }
}

/// Memory for the marks of a text, which is used again for the next one.
#[derive(Debug, Default)]
pub struct MarkRows<const N: usize> {
    /// `N` rows, or none before the first text.
    rows: Vec<Row>,
}

impl<const N: usize> MarkRows<N> {
    /// All rows, to be written.
    #[inline(always)]
    fn all(&mut self) -> &mut [Row; N] {
        if self.rows.len() != N {
            self.make();
        }
        self.rows.first_chunk_mut().expect("made above")
    }

    #[cold]
    fn make(&mut self) {
        self.rows = vec![Row([0; ROW_BYTES]); N];
    }

    /// The marks of `set` in the text that was marked last, in words; there may be more than the
    /// text has.
    pub fn words(&self, set: usize) -> impl Iterator<Item = u64> {
        let bytes = self.rows.get(set).map_or(&[][..], |row| &row.0[..]);
        bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word))
    }

    /// The marks of a part of the text that was marked last: `len` bytes from `start` on.
    #[inline(always)]
    pub fn part(&self, start: usize, len: usize) -> Marks<'_, N> {
        let rows = self.rows.first_chunk().expect("a text was marked");
        Marks { rows, start, len }
    }
}

/// Finds the bytes of `N` sets in texts. With `NEIGHBORS`, neighbors count as well: a byte of the
/// second set directly after one of the first is also marked in the third, and one of the sixth
/// after another of the sixth is also marked in the fifth. See also [`Marker::with_doubles`] and
/// [`Marker::without_escapes`].
// Only vectors of x86-64 look at `changes`.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[derive(Clone, Debug)]
pub struct Marker<const N: usize, const NEIGHBORS: bool = false> {
    /// For each byte, a bit for every set that it is in.
    classes: [u8; 256],
    /// For each high half of a byte below 8, and each low half: the bits in which its class differs
    /// from that of the byte 16 below; twice, for wide vectors.
    changes: [[u8; 32]; 8],
    /// For `NEIGHBORS`: all bits, if a byte of the first set after another of the first is also
    /// marked in the third; else 0.
    doubles: u64,
    /// For `NEIGHBORS`: the escapes whose percent signs are not marked.
    escapes: Escapes,
    vectors: Vectors,
}

/// The kind of vectors that marks are computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vectors {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Sse,
    #[cfg(target_arch = "aarch64")]
    Neon,
    Portable,
}

impl Vectors {
    /// The widest first.
    #[cfg(target_arch = "x86_64")]
    const ALL: [Vectors; 4] = [Vectors::Avx512, Vectors::Avx2, Vectors::Sse, Vectors::Portable];
    #[cfg(target_arch = "aarch64")]
    const ALL: [Vectors; 2] = [Vectors::Neon, Vectors::Portable];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    const ALL: [Vectors; 1] = [Vectors::Portable];

    /// Does the machine support what their functions are compiled for?
    fn are_there(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx512 => {
                is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("gfni")
            }
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Vectors::Sse => is_x86_feature_detected!("sse4.1"),
            #[cfg(target_arch = "aarch64")]
            Vectors::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            Vectors::Portable => true,
        }
    }

    /// All that the machine supports.
    fn all() -> impl Iterator<Item = Vectors> {
        Self::ALL.into_iter().filter(|vectors| vectors.are_there())
    }

    fn widest() -> Vectors {
        Self::all().next().unwrap_or(Vectors::Portable)
    }
}

/// Where the bytes of some sets stand in one text.
#[derive(Clone, Copy, Debug)]
pub struct Marks<'a, const N: usize> {
    rows: &'a [Row; N],
    /// Where the text starts in the rows.
    start: usize,
    len: usize,
}

impl<const N: usize, const NEIGHBORS: bool> Marker<N, NEIGHBORS> {
    /// Makes a marker for the sets of bytes for which `sets` return true, with the widest vectors
    /// that the machine supports.
    ///
    /// Limits: at most 8 sets; each has either all bytes from 0x80 on, or none of them.
    pub fn new(sets: [&dyn Fn(u8) -> bool; N]) -> Self {
        Marker { vectors: Vectors::widest(), ..Self::portable(sets) }
    }

    /// Makes a marker for the sets of bytes for which `sets` return true, as [`Marker::new`] does,
    /// without vectors that not every machine has.
    pub fn portable(sets: [&dyn Fn(u8) -> bool; N]) -> Self {
        assert!(N <= SETS_MAX, "the classes of a byte are the bits of one");
        let mut classes = [0; 256];
        for (set, holds) in sets.iter().enumerate() {
            for byte in (0..=255u8).filter(|byte| holds(*byte)) {
                classes[usize::from(byte)] |= 1 << set;
            }
        }
        let uniform = classes[0x80..].iter().all(|class| *class == classes[0x80]);
        assert!(uniform, "a set has all bytes from 0x80 on, or none");
        let changes = std::array::from_fn(|high| {
            std::array::from_fn(|low| {
                let byte = 16 * high + low % 16;
                classes[byte] ^ byte.checked_sub(16).map_or(0, |before| classes[before])
            })
        });
        let (doubles, escapes) = (0, Escapes::default());
        Marker { classes, changes, doubles, escapes, vectors: Vectors::Portable }
    }

    /// Makes the third set also mark bytes of the first set that follow another of that set.
    pub fn with_doubles(self) -> Self {
        assert!(NEIGHBORS, "a marker of pairs");
        Marker { doubles: u64::MAX, ..self }
    }

    /// Makes the third and the fourth set leave out the percent signs of escapes in upper case of
    /// bytes for which `is_left` returns true. What follows a text may complete an escape at its
    /// end: see [`ends_amid_escape`].
    ///
    /// Limits: `is_left` returns true for all bytes from 0x80 on.
    pub fn without_escapes(self, is_left: impl Fn(u8) -> bool) -> Self {
        assert!(NEIGHBORS && N >= 4, "a marker of pairs, and the sets are there");
        Marker { escapes: Escapes::new(is_left), ..self }
    }

    /// Marks `text`, of at most [`URL_BYTES_MAX`] bytes, in `rows`.
    #[inline]
    pub fn mark<'a>(&self, text: &[u8], rows: &'a mut MarkRows<N>) -> Marks<'a, N> {
        assert!(text.len() <= TEXT_BYTES_MAX, "texts are no longer than URLs");
        let all = rows.all();
        match self.vectors {
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx512 => {
                // SAFETY: `Vectors::widest` has found these features on this machine.
                unsafe { self.mark_avx512(text, all) }
            }
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx2 => {
                // SAFETY: `Vectors::widest` has found these features on this machine.
                unsafe { self.mark_avx2(text, all) }
            }
            #[cfg(target_arch = "x86_64")]
            Vectors::Sse => {
                // SAFETY: `Vectors::widest` has found these features on this machine.
                unsafe { self.mark_sse(text, all) }
            }
            #[cfg(target_arch = "aarch64")]
            Vectors::Neon => {
                // SAFETY: `Vectors::widest` has found these features on this machine.
                unsafe { self.mark_neon(text, all) }
            }
            Vectors::Portable => self.mark_portable(text, all),
        }
        rows.part(0, text.len())
    }

    /// Marks `text` in `rows`, as [`Marker::mark`] does, without vectors that not every machine
    /// has.
    fn mark_portable(&self, text: &[u8], rows: &mut [Row; N]) {
        self.mark_blocks(text, rows, |block| self.block(block), escapes::percents);
    }

    /// Marks `text` block by block: `marks_of` are the marks of one, `percents_of` those of its
    /// percent signs.
    #[inline(always)]
    fn mark_blocks(
        &self,
        text: &[u8],
        rows: &mut [Row; N],
        marks_of: impl Fn(&[u8; BLOCK]) -> [u64; N],
        percents_of: impl Fn(&[u8; BLOCK]) -> u64,
    ) {
        let (blocks, rest) = text.as_chunks();
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let end = text.len().div_ceil(BLOCK);
        let mut before = [0; 2];
        for number in 0..end {
            let block = blocks.get(number).unwrap_or(&last);
            let there = u64::MAX >> BLOCK.saturating_sub(text.len() - number * BLOCK);
            let mut marks = marks_of(block).map(|marks| marks & there);
            self.add_pairs(&mut marks, &mut before);
            rows.iter_mut().zip(marks).for_each(|(row, marks)| row.set(number, marks));
            if NEIGHBORS && self.escapes.are_left {
                let percents = percents_of(block);
                // Bet: most blocks have none.
                if percents != 0 {
                    let left = self.escapes.of(&text[number * BLOCK..], percents);
                    rows[2].clear(number, left);
                    rows[3].clear(number, left);
                }
            }
        }
        rows.iter_mut().for_each(|row| row.end(end));
    }

    /// Marks what follows a byte of the first set, or of the sixth. `before` is whether the
    /// previous block ends with one of them.
    #[inline(always)]
    fn add_pairs(&self, marks: &mut [u64; N], before: &mut [u64; 2]) {
        if !NEIGHBORS {
            return;
        }
        if let [first, second, into, ..] = &mut marks[..] {
            let behind = *first << 1 | before[0];
            before[0] = *first >> (BLOCK - 1);
            *into |= behind & (*second | *first & self.doubles);
        }
        if let [_, _, _, _, into, sixth, ..] = &mut marks[..] {
            *into |= (*sixth << 1 | before[1]) & *sixth;
            before[1] = *sixth >> (BLOCK - 1);
        }
    }

    /// The marks of one block, eight bytes at a time.
    fn block(&self, block: &[u8; BLOCK]) -> [u64; N] {
        let mut marks = [0; N];
        for (number, bytes) in block.chunks_exact(8).enumerate() {
            let classes = std::array::from_fn(|at| self.classes[usize::from(bytes[at])]);
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

impl<'a, const N: usize> Marks<'a, N> {
    /// Returns the marks of `set` for the [`NEAR`] bytes from `from` on, and perhaps for some more;
    /// the first byte is the lowest bit. Marks of what is after the text are among them, if there
    /// are any.
    #[inline(always)]
    pub fn near(&self, set: usize, from: usize) -> u64 {
        let from = self.start + from;
        let bytes = self.rows[set].0.get(from / 8..from / 8 + 8);
        let word = bytes.and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word));
        word >> (from % 8)
    }

    /// Returns the marks of `set` for the 64 bytes from `from` on; the first byte is the lowest
    /// bit. Marks of what is after the text are among them, if there are any.
    #[inline(always)]
    pub fn window_beyond(&self, set: usize, from: usize) -> u64 {
        let from = self.start + from;
        let bytes = self.rows[set].0.get(from / 8..from / 8 + 9);
        match bytes.and_then(<[u8]>::first_chunk::<9>) {
            Some([word @ .., last]) => {
                let (word, shift) = (u64::from_le_bytes(*word), from % 8);
                word >> shift | u64::from(*last) << 1 << (63 - shift)
            }
            None => 0,
        }
    }

    /// Returns the marks of `set` for the 64 bytes from `from` on, without marks of what is after
    /// the text; the first byte is the lowest bit.
    #[inline(always)]
    pub fn window(&self, set: usize, from: usize) -> u64 {
        let left = self.len.saturating_sub(from);
        let there = if left < BLOCK { !(u64::MAX << left) } else { u64::MAX };
        self.window_beyond(set, from) & there
    }

    /// Tells whether no byte of `set` is in the text from `from` to `to`.
    #[inline(always)]
    pub fn is_clear(&self, set: usize, from: usize, to: usize) -> bool {
        match to.wrapping_sub(from) {
            length @ 1..=NEAR => self.near(set, from) << (BLOCK - length) == 0,
            _ => self.next(set, from) >= to,
        }
    }

    /// Returns the first position from `from` on where a byte of `set` stands, or the text's
    /// length, as [`Marks::next`] does. It is for bytes that are usually close: it looks at twice
    /// [`NEAR`] bytes without a branch.
    #[inline(always)]
    pub fn next_soon(&self, set: usize, from: usize) -> usize {
        let (near, far) = (self.near(set, from), self.near(set, from + NEAR));
        // Bet: one stands there, or the text ends.
        if (near | far == 0) & (self.len > from + 2 * NEAR) {
            return self.next(set, from + 2 * NEAR);
        }
        let far = NEAR + far.trailing_zeros() as usize;
        let at = if near == 0 { far } else { near.trailing_zeros() as usize };
        self.len.min(from + at)
    }

    /// Returns the first position from `from` on where a byte of `set` stands, if that is before
    /// `end`, or else `end`. No more of the text is looked at.
    #[inline(always)]
    pub fn next_before(&self, set: usize, mut from: usize, end: usize) -> usize {
        loop {
            let near = self.near(set, from);
            if near != 0 {
                return end.min(from + near.trailing_zeros() as usize);
            }
            from += NEAR;
            if from >= end {
                return end;
            }
        }
    }

    /// Returns the first position from `from` on where a byte of `set` stands, or the text's
    /// length.
    #[inline(always)]
    pub fn next(&self, set: usize, mut from: usize) -> usize {
        loop {
            let near = self.near(set, from);
            if near != 0 {
                return self.len.min(from + near.trailing_zeros() as usize);
            }
            from += NEAR;
            if from >= self.len {
                return self.len;
            }
        }
    }
}

#[cfg(test)]
mod tests;
