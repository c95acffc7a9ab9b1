//! The texts of a chunk's records, which are written if the records are kept.

use std::ops::Range;

use crate::input::{Chunk, PinnedMap};
use crate::pipeline::scan::layouts::Parcel;

/// What is written for each record of a chunk if it is kept: consecutive texts, each with its
/// separator, which the last one of a file may lack.
#[derive(Debug)]
pub(super) struct Texts {
    /// The texts, unless they are slices of the chunk.
    own: Option<Vec<u8>>,
    /// Where the text of each record starts, and the end of the last one.
    starts: Vec<u32>,
    gaps: Vec<Gap>,
}

/// Other lines of the chunk come before the text of `record`. The text before them ends at `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    record: u32,
    end: u32,
}

impl Texts {
    /// `own`, in which the texts start at `starts`.
    pub(super) fn own(own: Vec<u8>, mut starts: Vec<u32>) -> Texts {
        debug_assert!(u32::try_from(own.len()).is_ok(), "positions are 32 bits");
        starts.push(own.len() as u32);
        Texts { own: Some(own), starts, gaps: Vec::new() }
    }

    /// How many records.
    pub(super) fn len(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// The texts of the records of `chunk`.
    pub(super) fn lines<'a>(&'a self, chunk: &'a Chunk) -> RecordTexts<'a> {
        let pinned = || Some((chunk.pin()?, chunk.at()));
        let (texts, pinned) = match &self.own {
            Some(own) => (own.as_slice(), None),
            None => (chunk.bytes(), pinned()),
        };
        RecordTexts { texts, starts: &self.starts, gaps: &self.gaps, pinned }
    }
}

/// Builds [`Texts`] from the lines of a chunk's records, in order.
#[derive(Debug)]
pub(super) struct TextsBuilder {
    starts: Vec<u32>,
    gaps: Vec<Gap>,
    end: u32,
    /// Did each line end with a separator, or with the chunk?
    is_regular: bool,
}

impl TextsBuilder {
    /// Begins without texts, with room for `capacity`.
    pub(super) fn new(capacity: usize) -> TextsBuilder {
        let starts = Vec::with_capacity(capacity);
        TextsBuilder { starts, gaps: Vec::new(), end: 0, is_regular: true }
    }

    /// Adds the next record's `line`, which is a part of `chunk`.
    #[inline]
    pub(super) fn push(&mut self, chunk: &[u8], line: &[u8], separator: u8) {
        let start = line.as_ptr().addr() - chunk.as_ptr().addr();
        let end = start + line.len();
        if start as u32 != self.end && !self.starts.is_empty() {
            self.gaps.push(Gap { record: self.starts.len() as u32, end: self.end });
        }
        self.starts.push(start as u32);
        self.is_regular &= chunk.get(end).is_none_or(|byte| *byte == separator);
        self.end = (end + 1).min(chunk.len()) as u32;
    }

    /// Returns the texts as slices of `parcel`; with `is_all`, all of its lines are records. `None`
    /// if some line ends otherwise than with a separator, so that its text has to be copied.
    pub(super) fn texts(mut self, parcel: &Parcel, is_all: bool) -> Option<Texts> {
        debug_assert!(u32::try_from(parcel.bytes().len()).is_ok(), "positions are 32 bits");
        if is_all && self.starts.first().is_none_or(|first| *first == 0) {
            // Whatever is between two texts belongs to the first.
            self.gaps.clear();
            self.end = parcel.bytes().len() as u32;
        } else if !self.is_regular {
            return None;
        }
        self.starts.push(self.end);
        Some(Texts { own: None, starts: self.starts, gaps: self.gaps })
    }
}

/// Texts of consecutive records.
#[derive(Debug)]
pub(super) struct RecordTexts<'a> {
    texts: &'a [u8],
    starts: &'a [u32],
    gaps: &'a [Gap],
    /// The mapped file that the texts are in, and where they begin there.
    pub(super) pinned: Option<(PinnedMap, u64)>,
}

impl<'a> RecordTexts<'a> {
    /// Consecutive texts: that of record `n` goes from `starts[n]` to `starts[n + 1]`.
    pub(super) fn new(
        texts: &'a [u8],
        starts: &'a [u32],
        pinned: Option<(PinnedMap, u64)>,
    ) -> RecordTexts<'a> {
        RecordTexts { texts, starts, gaps: &[], pinned }
    }

    /// The parts of `run` whose texts are contiguous.
    #[inline]
    pub(super) fn parts(&self, run: Range<u32>) -> impl Iterator<Item = Range<u32>> + use<'a> {
        let gaps = self.gaps;
        let mut start = run.start;
        let mut next = gaps.partition_point(|gap| gap.record <= start);
        std::iter::from_fn(move || {
            if start >= run.end {
                return None;
            }
            let end = gaps.get(next).map_or(run.end, |gap| gap.record.min(run.end));
            next += 1;
            Some(std::mem::replace(&mut start, end)..end)
        })
    }

    /// The range of the texts of `part`, which is one of [`RecordTexts::parts`], or inside one.
    #[inline]
    pub(super) fn place(&self, part: &Range<u32>) -> Range<u32> {
        let end = match self.gaps.binary_search_by_key(&part.end, |gap| gap.record) {
            Ok(at) => self.gaps[at].end,
            Err(_) => self.starts[part.end as usize],
        };
        self.starts[part.start as usize]..end
    }

    /// The texts of `part`.
    #[inline]
    pub(super) fn of(&self, part: &Range<u32>) -> &'a [u8] {
        let place = self.place(part);
        &self.texts[place.start as usize..place.end as usize]
    }

    /// The length of each text of `part`, in bytes.
    #[inline]
    pub(super) fn lengths(&self, part: &Range<u32>) -> impl Iterator<Item = u32> + '_ {
        let end = self.place(part).end;
        let starts = &self.starts[part.start as usize..part.end as usize];
        let ends = starts.iter().copied().skip(1).chain(std::iter::once(end));
        starts.iter().zip(ends).map(|(start, end)| end - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_others_between_them() {
        let chunk = b"#\na\n\n\nbb\nccc\n#\ndd\n#\n";
        let mut texts_builder = TextsBuilder::new(4);
        for line in [2..3, 6..8, 9..12, 15..17] {
            texts_builder.push(chunk, &chunk[line], b'\n');
        }
        assert!(texts_builder.is_regular);
        assert_eq!(texts_builder.gaps, [Gap { record: 1, end: 4 }, Gap { record: 3, end: 13 }]);
        texts_builder.starts.push(texts_builder.end);
        let lines = RecordTexts {
            texts: chunk,
            starts: &texts_builder.starts,
            gaps: &texts_builder.gaps,
            pinned: None,
        };
        let of = |run: Range<u32>| -> Vec<&[u8]> {
            lines.parts(run).map(|part| lines.of(&part)).collect()
        };
        assert_eq!(of(0..4), [&b"a\n"[..], b"bb\nccc\n", b"dd\n"]);
        assert_eq!(of(1..2), [b"bb\n"]);
        assert_eq!(of(2..4), [&b"ccc\n"[..], b"dd\n"]);
        assert_eq!(of(2..2), [b""; 0]);
        assert_eq!(lines.lengths(&(1..3)).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(lines.lengths(&(0..1)).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn lines_that_end_otherwise_are_noticed() {
        let chunk = b"a\r\nb";
        let mut texts_builder = TextsBuilder::new(2);
        texts_builder.push(chunk, &chunk[3..4], b'\n');
        assert!(texts_builder.is_regular && texts_builder.end == 4);
        texts_builder.push(chunk, &chunk[0..1], b'\n');
        assert!(!texts_builder.is_regular);
    }
}
