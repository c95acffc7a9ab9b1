//! HOT: once per line. Computes marks ahead, for the lines of a text in order.
//!
//! ```text
//! text      line\n line\n line\n li|ne\n line\n ...
//! stretch   [------- marked -------]             the next one starts with the first line that is
//!                                                not whole in this one
//! ```
//!
//! Marking line by line would wait for memory, and for each step of the computation. In a stretch
//! these overlap.
//!
//! Price: that of its marks (see `marks/mod.rs`), and a comparison for each line. Guard:
//! `benches/canonical.rs`, group `fused`. Twin: [`Marker::mark`] of each line.

use std::ops::Range;

use super::marks::{MarkRows, Marker, Marks};

/// Most bytes of a stretch, unless a line is longer. Reason: with its marks it takes no more than
/// half of a first-level cache of 32 KiB.
const BYTES_MAX: usize = 4 << 10;

/// Marks of a stretch of a text.
#[derive(Debug)]
pub struct Ahead<const N: usize> {
    rows: MarkRows<N>,
    /// Where the stretch starts and ends; if there is none, it starts after all texts.
    start: usize,
    end: usize,
    /// How many bytes of the stretch were used.
    used: usize,
}

impl<const N: usize> Default for Ahead<N> {
    fn default() -> Self {
        Ahead { rows: MarkRows::default(), start: usize::MAX, end: 0, used: 0 }
    }
}

impl<const N: usize> Ahead<N> {
    /// Discards the stretch, before another text.
    pub fn clear(&mut self) {
        (self.start, self.end) = (usize::MAX, 0);
    }

    /// The marks of the line of `len` bytes that starts at `start` in `text`. Lines should come in
    /// order; otherwise this costs more.
    #[inline(always)]
    pub fn marks<const NEIGHBORS: bool>(
        &mut self,
        marker: &Marker<N, NEIGHBORS>,
        text: &[u8],
        start: usize,
        len: usize,
    ) -> Marks<'_, N> {
        if start < self.start || start + len > self.end {
            self.go_on(marker, text, &(start..start + len));
        }
        self.used += len;
        self.rows.part(start - self.start, len)
    }

    /// Begins a new stretch at `line`.
    #[inline(never)]
    fn go_on<const NEIGHBORS: bool>(
        &mut self,
        marker: &Marker<N, NEIGHBORS>,
        text: &[u8],
        line: &Range<usize>,
    ) {
        // Bet: as much is used of the next stretch as of this one. If there are few lines among
        // other data, every second one is marked alone.
        let marked = self.end.saturating_sub(self.start);
        let is_used = 2 * self.used >= marked;
        let bytes = if is_used { (2 * marked).clamp(BYTES_MAX / 8, BYTES_MAX) } else { 0 };
        self.start = line.start;
        self.end = text.len().min(line.start + bytes).max(line.end);
        self.used = 0;
        marker.mark(&text[self.start..self.end], &mut self.rows);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_marks_of_each_line(
            lines in prop::collection::vec((prop_oneof![
                8 => 0..200usize,
                1 => 0..3 * BYTES_MAX,
            ], 0..300usize), 1..60),
            backwards: bool,
        ) {
            let (mut text, mut places) = (Vec::new(), Vec::new());
            for (length, gap) in lines {
                places.push(text.len()..text.len() + length);
                text.extend((0..length + gap).map(|at| (at * 37 + length * 11) as u8));
            }
            if backwards {
                places.reverse();
            }
            let sets: [&dyn Fn(u8) -> bool; 3] =
                [&|byte| byte == b'/', &|byte| byte < 100, &|byte| byte >= 0x80];
            let marker = Marker::<3>::new(sets);
            let (mut ahead, mut rows) = (Ahead::default(), MarkRows::default());
            for place in places {
                let line = &text[place.clone()];
                let length = line.len();
                let alone = marker.mark(line, &mut rows);
                let marks = ahead.marks(&marker, &text, place.start, length);
                for set in 0..3 {
                    for from in [0, 1, 60, length / 2, length.saturating_sub(1), length] {
                        prop_assert_eq!(marks.window(set, from), alone.window(set, from));
                        prop_assert_eq!(marks.next(set, from), alone.next(set, from));
                        if from < length {
                            for to in [from + 1, length] {
                                let is_clear = alone.next(set, from) >= to;
                                prop_assert_eq!(marks.is_clear(set, from, to), is_clear);
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn another_text_has_other_marks() {
        let sets: [&dyn Fn(u8) -> bool; 1] = [&|byte| byte == b'/'];
        let marker = Marker::<1>::new(sets);
        let mut ahead = Ahead::default();
        assert_eq!(ahead.marks(&marker, b"abc/", 0, 4).next(0, 0), 3);
        ahead.clear();
        assert_eq!(ahead.marks(&marker, b"/abc", 0, 4).next(0, 0), 0);
    }
}
