//! HOT: once per line. Marks of the lines of a chunk: their ends, quotes and brackets.
//!
//! ```text
//! chunk      line\n line\n line\n li|ne\n line\n ...
//! stretch    [-------- marked -------]            the next one starts with the first line that is
//! ends             ^     ^     ^                  not whole in this one
//! ```
//!
//! Price: one look at every byte for all sets together, and that of `LineEnds`. A stretch stays
//! in the first-level cache until its lines have been read. No allocation once the buffers have
//! grown. Guard: `benches/extract.rs`, group `logs`. Twin: `Lines`.

use crate::bytes::LineEnds;
use crate::bytes::lines::STRETCH_BYTES;
use crate::bytes::marks::{MarkRows, Marker, Marks};

/// The sets of bytes that are marked.
pub(super) mod set {
    pub(crate) const LINE_END: usize = 0;
    /// `[`
    pub(crate) const BRACKET: usize = 1;
    /// `"` and `\`
    pub(crate) const QUOTE: usize = 2;
    pub(crate) const COUNT: usize = 3;
}

/// The marks of a stretch.
pub(super) type LineMarks<'a> = Marks<'a, { set::COUNT }>;

/// Reusable memory for the marks of a stretch.
#[derive(Debug)]
pub(crate) struct MarkedLines {
    marker: Marker<{ set::COUNT }>,
    rows: MarkRows<{ set::COUNT }>,
    /// Where the lines of the stretch end.
    ends: LineEnds,
    /// Bytes of the stretch.
    bytes: usize,
}

impl Default for MarkedLines {
    fn default() -> Self {
        MarkedLines {
            marker: Marker::new([&|byte| byte == b'\n', &|byte| byte == b'[', &|byte| {
                matches!(byte, b'"' | b'\\')
            }]),
            rows: MarkRows::default(),
            ends: LineEnds::default(),
            bytes: 0,
        }
    }
}

impl MarkedLines {
    /// Forgets the stretch.
    pub(crate) fn clear(&mut self) {
        self.ends.clear();
    }

    /// Marks the next stretch: the start of `rest`, which begins with a line. Returns the stretch;
    /// `None` if no line ends in it.
    #[inline(never)]
    pub(crate) fn mark<'a>(&mut self, rest: &'a [u8]) -> Option<&'a [u8]> {
        let stretch = &rest[..rest.len().min(STRETCH_BYTES)];
        self.bytes = stretch.len();
        self.marker.mark(stretch, &mut self.rows);
        let words = self.rows.words(set::LINE_END).take(stretch.len().div_ceil(64));
        (self.ends.put(words) > 0).then_some(stretch)
    }

    /// Where the next line ends in the stretch; `None` if no more lines do.
    #[inline(always)]
    pub(crate) fn next_end(&mut self) -> Option<usize> {
        self.ends.next()
    }

    /// The marks of the stretch.
    #[inline(always)]
    pub(crate) fn marks(&self) -> LineMarks<'_> {
        self.rows.part(0, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bytes::Lines;

    /// The lines of `chunk` that end, stretch by stretch; and where the last of them ends.
    fn lines(chunk: &[u8]) -> (Vec<&[u8]>, usize) {
        let (mut lines, mut at, mut marked) = (Vec::new(), 0, MarkedLines::default());
        while let Some(stretch) = marked.mark(&chunk[at..]) {
            let mut start = 0;
            while let Some(end) = marked.next_end() {
                lines.push(&stretch[start..end]);
                start = end + 1;
            }
            at += start;
        }
        (lines, at)
    }

    proptest! {
        #[test]
        fn agrees_with_lines(
            lengths in prop::collection::vec(prop_oneof![
                8 => 0..4usize,
                8 => 0..300usize,
                1 => 0..STRETCH_BYTES,
            ], 0..200),
        ) {
            let mut chunk = Vec::new();
            for length in lengths {
                chunk.resize(chunk.len() + length, b'x');
                chunk.push(b'\n');
            }
            let (found, end) = lines(&chunk);
            prop_assert_eq!(end, chunk.len());
            prop_assert_eq!(found, Lines::new(&chunk, b'\n').collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_line_that_does_not_end_is_not_handed_out() {
        assert_eq!(lines(b"a\nb"), (vec![&b"a"[..]], 2));
        assert_eq!(lines(b""), (vec![], 0));
        let long = [b'x'; STRETCH_BYTES];
        assert_eq!(lines(&[&b"a\n"[..], &long, b"\n"].concat()).1, 2);
    }
}
