//! HOT: once per line. Iterates over lines in memory, or finds where those of a stretch end.
//!
//! Price: one `memchr` per line, no allocation; or for stretches three instructions and a store for
//! every 64 bytes (with AVX-512), and no branch that cannot be predicted where lines are longer
//! than that. Guard: `benches/extract.rs`, group `lines`. Twin: each is the other's.

use super::marks::mark_byte;

/// `line` without all carriage returns at its end, so that a line that is written and read again is
/// the same.
pub fn without_carriage_returns(mut line: &[u8]) -> &[u8] {
    while let Some(rest) = line.strip_suffix(b"\r") {
        line = rest;
    }
    line
}

/// Iterates over the pieces of `bytes` that end at `separator`; the last one may lack it.
///
/// Shape: the separator is not part of a piece. `b"a\n\nb"` gives `a`, the empty piece, `b`;
/// `b"a\n"` gives only `a`.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    rest: &'a [u8],
    separator: u8,
}

impl<'a> Lines<'a> {
    /// The lines of `bytes`, ended by `separator`: a newline, or NUL.
    pub fn new(bytes: &'a [u8], separator: u8) -> Self {
        Lines { rest: bytes, separator }
    }

    /// What was not returned yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the first `bytes` bytes of the rest, which may hold separators, and skips the
    /// separator after them.
    #[inline]
    pub fn take_bytes(&mut self, bytes: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest.get(1..).unwrap_or_default();
        taken
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        match memchr::memchr(self.separator, self.rest) {
            Some(end) => {
                let (line, rest) = self.rest.split_at(end);
                self.rest = &rest[1..];
                Some(line)
            }
            None => Some(std::mem::take(&mut self.rest)),
        }
    }
}

/// Bytes of a stretch. Reason: with its marks it stays in a first-level cache of 32 KiB until its
/// lines have been read; and it usually has several lines, so that marking the last one again costs
/// little.
pub const STRETCH_BYTES: usize = 8 << 10;

/// The ends of the lines of a stretch of memory, in order.
#[derive(Debug, Default)]
pub struct LineEnds {
    /// In order, up to [`NO_END`]; then what is left of earlier stretches.
    ends: Vec<u32>,
    next: usize,
}

/// No more lines end in the stretch.
const NO_END: u32 = u32::MAX;

impl LineEnds {
    /// Forgets the stretch.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.next = 0;
    }

    /// Begins the next stretch, at the start of `rest`, whose lines end at `separator`. Returns it;
    /// `None` if no line ends in it.
    #[inline]
    pub fn find<'a>(&mut self, separator: u8, rest: &'a [u8]) -> Option<&'a [u8]> {
        let stretch = &rest[..rest.len().min(STRETCH_BYTES)];
        let mut words = [0; STRETCH_BYTES / 64];
        mark_byte(separator, stretch, &mut words);
        let count = self.put(words.into_iter().take(stretch.len().div_ceil(64)));
        (count > 0).then_some(stretch)
    }

    /// Stores the ends of lines that are marked in `words`; the first byte is the lowest bit of the
    /// first word. Returns how many there are.
    #[inline]
    pub fn put(&mut self, words: impl Iterator<Item = u64>) -> usize {
        let mut count = 0;
        for (number, mut marks) in words.enumerate() {
            if self.ends.len() < count + 66 {
                self.ends.resize(2 * (count + 66), 0);
            }
            // Bet: at most two lines end in a block. Whether any does cannot be predicted, so there
            // is no branch on it: if none does, what is stored is overwritten.
            for _ in 0..2 {
                self.ends[count] = 64 * number as u32 + marks.trailing_zeros();
                count += usize::from(marks != 0);
                marks &= marks.wrapping_sub(1);
            }
            while marks != 0 {
                self.ends[count] = 64 * number as u32 + marks.trailing_zeros();
                count += 1;
                marks &= marks - 1;
            }
        }
        match self.ends.get_mut(count) {
            Some(end) => *end = NO_END,
            None => self.ends.push(NO_END),
        }
        self.next = 0;
        count
    }

    /// Returns where the next line ends in the stretch, without passing over it; `None` if no more
    /// lines end there.
    #[inline(always)]
    pub fn peek(&self) -> Option<usize> {
        self.ends.get(self.next).filter(|end| **end != NO_END).map(|end| *end as usize)
    }

    /// Skips the next line, if there is one.
    #[inline(always)]
    pub fn pass(&mut self) {
        self.next += 1;
    }

    /// Returns where the next line ends in the stretch, and skips it; `None` if no more lines end
    /// there.
    #[inline(always)]
    #[allow(clippy::should_implement_trait)] // its owner is no iterator
    pub fn next(&mut self) -> Option<usize> {
        let end = self.peek()?;
        self.pass();
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ends_agree_with_lines(
            lengths in prop::collection::vec(prop_oneof![
                8 => 0..4usize,
                8 => 0..300usize,
                1 => 0..STRETCH_BYTES,
            ], 0..200),
            separator in prop_oneof![Just(b'\n'), Just(0)],
        ) {
            let mut text = Vec::new();
            for (length, filler) in lengths.into_iter().zip(1u8..) {
                let filler = if filler == separator { 0x8a } else { filler };
                text.resize(text.len() + length, filler);
                text.push(separator);
            }
            let (mut found, mut at, mut ends) = (Vec::new(), 0, LineEnds::default());
            while let Some(stretch) = ends.find(separator, &text[at..]) {
                let mut start = 0;
                while let Some(end) = ends.next() {
                    found.push(&stretch[start..end]);
                    start = end + 1;
                }
                at += start;
            }
            prop_assert_eq!(at, text.len());
            prop_assert_eq!(found, Lines::new(&text, separator).collect::<Vec<_>>());
        }
    }

    #[test]
    fn ends_of_little() {
        let mut ends = LineEnds::default();
        assert_eq!(ends.next(), None);
        assert_eq!(ends.find(b'\n', b"a\nb"), Some(&b"a\nb"[..]));
        assert_eq!((ends.next(), ends.next(), ends.next()), (Some(1), None, None));
        assert_eq!(ends.find(b'\n', b""), None);
        assert_eq!(ends.find(b'\n', &[b'x'; 2 * STRETCH_BYTES]), None);
        assert!(ends.find(b'\n', b"\n").is_some());
        ends.clear();
        assert_eq!(ends.next(), None);
    }

    #[test]
    fn tables() {
        for (given, expected) in [
            (&b""[..], &[][..]),
            (b"\n", &[&b""[..]][..]),
            (b"a", &[b"a"]),
            (b"a\n", &[b"a"]),
            (b"a\n\nb", &[b"a", b"", b"b"]),
            (b"a\r\nb\r\n", &[b"a\r", b"b\r"]),
        ] {
            assert_eq!(Lines::new(given, b'\n').collect::<Vec<_>>(), expected);
        }
        let mut lines = Lines::new(b"a\nb\nc", b'\n');
        assert_eq!((lines.take_bytes(3), lines.rest()), (&b"a\nb"[..], &b"c"[..]));
        assert_eq!((lines.take_bytes(1), lines.rest()), (&b"c"[..], &b""[..]));
        assert_eq!(Lines::new(b"a\nb\0c", 0).collect::<Vec<_>>(), [&b"a\nb"[..], b"c"]);
    }
}
