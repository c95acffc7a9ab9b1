//! The forms of every record from its spelling to its canonical form: a ladder, whose rungs are the
//! levels of a profile that change the form (see `canonical/reference.rs`).

use std::sync::atomic::{AtomicU8, Ordering};

use crate::cluster::scatter::Scattered;
use crate::fingerprint::Fingerprint;

/// Most levels of a profile. Reason: those at which a form was seen are the bits of a `u32`, and
/// what is spilled has one byte for a level and for what it is of.
pub(super) const LEVELS_MAX: u8 = u32::BITS as u8;

/// A record that merges with no earlier one.
pub const UNMERGED: u8 = ASTRAY - 1;

/// The bit of a record whose first form differs from that of its cluster's first record.
pub(super) const ASTRAY: u8 = 1 << 7;

/// A record that was placed in an earlier reading.
pub(super) const EARLIER: u8 = UNMERGED - 1;

/// The forms of a chunk's records at each level of a profile, as fingerprints, and the places of
/// the records.
#[derive(Debug)]
pub struct Ladders {
    /// The forms at the last level.
    scattered: Scattered,
    /// The rungs of all records, in line order: the level from which on a record has a form, and
    /// the form.
    rungs: Vec<(u8, Fingerprint)>,
    /// Where each record starts in `rungs`, and the end.
    starts: Vec<u32>,
    /// The number of each record's line in the chunk.
    lines: Vec<u32>,
    /// The place of each record, in the order of `scattered`: several threads write it at the same
    /// time (see [`Flags`](crate::cluster::Flags)).
    placed: Box<[AtomicU8]>,
}

/// The places of a chunk's records, in line order.
#[derive(Debug)]
pub struct Placed(Vec<u8>);

impl Placed {
    /// The level at which `record` merges with an earlier one, or [`UNMERGED`].
    pub fn merged(&self, record: u32) -> u8 {
        self.0[record as usize] & !ASTRAY
    }

    /// Does the first form of `record` differ from that of the first record of its cluster?
    pub fn is_astray(&self, record: u32) -> bool {
        self.0[record as usize] & ASTRAY != 0
    }

    /// Was `record` placed in an earlier reading, so that its place is not known here?
    pub fn is_earlier(&self, record: u32) -> bool {
        self.0[record as usize] == EARLIER
    }

    /// How many records.
    pub fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// No record?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Collects the [`Ladders`] of a chunk, record by record.
#[derive(Debug)]
pub struct LaddersBuilder {
    last: Vec<Fingerprint>,
    rungs: Vec<(u8, Fingerprint)>,
    starts: Vec<u32>,
    lines: Vec<u32>,
}

impl Default for LaddersBuilder {
    fn default() -> Self {
        LaddersBuilder { last: vec![], rungs: vec![], starts: vec![0], lines: vec![] }
    }
}

impl LaddersBuilder {
    /// How many records there are: the number of the next one.
    pub fn len(&self) -> u32 {
        self.last.len() as u32
    }

    /// No record?
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// Adds the record of line `line` of the chunk, with its form at the `last` level. `rungs`
    /// appends the rungs: from which level on, and which form. None, if the form is the same at all
    /// levels.
    pub fn push<T>(
        &mut self,
        line: u32,
        last: Fingerprint,
        rungs: impl FnOnce(&mut Vec<(u8, Fingerprint)>) -> T,
    ) -> T {
        let result = rungs(&mut self.rungs);
        self.last.push(last);
        let rungs = u32::try_from(self.rungs.len());
        self.starts.push(rungs.expect("a chunk has fewer than 2^32 forms at all levels"));
        self.lines.push(line);
        result
    }

    /// The ladders, to be placed.
    pub fn finish(self) -> Ladders {
        let LaddersBuilder { last, rungs, starts, lines } = self;
        let placed = last.iter().map(|_| AtomicU8::new(UNMERGED)).collect();
        Ladders { scattered: Scattered::new(&last), rungs, starts, lines, placed }
    }
}

impl Ladders {
    /// Returns the places of the records, once they are placed.
    pub fn placed(&self) -> Placed {
        let mut in_line_order = vec![0; self.placed.len()];
        for (place, placed) in (0..).zip(&self.placed) {
            let record = self.scattered.record(place) as usize;
            in_line_order[record] = placed.load(Ordering::Relaxed);
        }
        Placed(in_line_order)
    }

    /// Returns the ladders of the records of `partition` in line order, each with its place.
    /// `first_line` is the number of the chunk's first line, from 0 over all inputs.
    pub(super) fn of(
        &self,
        partition: usize,
        first_line: u64,
    ) -> impl Iterator<Item = (u32, Ladder<'_>)> {
        self.scattered.places(partition).map(move |(place, last)| {
            let record = self.scattered.record(place) as usize;
            let line = first_line + u64::from(self.lines[record]);
            let rungs = &self.rungs[self.starts[record] as usize..self.starts[record + 1] as usize];
            (place, Ladder { line, last, rungs })
        })
    }

    /// Sets the place of the record at `place` to `placed`.
    #[inline]
    pub(super) fn set(&self, place: u32, placed: u8) {
        self.placed[place as usize].store(placed, Ordering::Relaxed);
    }
}

/// The forms of one record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ladder<'a> {
    /// The number of its line, from 0 over all inputs.
    pub(super) line: u64,
    /// Its form at the last level.
    pub(super) last: Fingerprint,
    /// The rungs: from which level on, and which form. Empty, if the form is the same at all
    /// levels.
    pub(super) rungs: &'a [(u8, Fingerprint)],
}
