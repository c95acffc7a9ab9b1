//! At which level of a profile records merge: the way of every record's form from its spelling to
//! the canonical form.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU8, Ordering};

use super::census::Cluster;
use super::known::Known;
use super::partitions::Partitions;
use super::scatter::{PARTITIONS, Scattered};
use crate::fingerprint::Fingerprint;

/// The forms of a chunk's records at each level of a profile (see `canonical/reference.rs`), as
/// fingerprints, and what became of them.
#[derive(Debug)]
pub struct Ladders {
    /// The forms at the last level.
    scattered: Scattered,
    /// From which level on, and which form, for all records in line order.
    rungs: Vec<(u8, Fingerprint)>,
    /// Where each record starts in `rungs`, and the end.
    starts: Vec<u32>,
    /// The number of each record's line in the chunk.
    lines: Vec<u32>,
    /// What became of each record, in the order of `scattered`: threads write to it at once (see
    /// [`Flags`](super::Flags)).
    placed: Box<[AtomicU8]>,
}

/// A record that merges with no earlier one.
pub const UNMERGED: u8 = ASTRAY - 1;

/// The bit of a record whose first form is another than that of its cluster's first record.
const ASTRAY: u8 = 1 << 7;

/// What became of a chunk's records, in line order.
#[derive(Debug)]
pub struct Placed(Vec<u8>);

impl Placed {
    /// The level at which `record` merges with an earlier one, or [`UNMERGED`].
    pub fn merged(&self, record: u32) -> u8 {
        self.0[record as usize] & !ASTRAY
    }

    /// Is the first form of `record` another than that of the first record of its cluster?
    pub fn is_astray(&self, record: u32) -> bool {
        self.0[record as usize] & ASTRAY != 0
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

    /// Adds the record of line `line` of the chunk, with its form at the `last` level. `rungs` puts
    /// the forms at all levels behind those that are there: from which level on, and which one.
    /// None of them: it is the same at all.
    pub fn push<T>(
        &mut self,
        line: u32,
        last: Fingerprint,
        rungs: impl FnOnce(&mut Vec<(u8, Fingerprint)>) -> T,
    ) -> T {
        let result = rungs(&mut self.rungs);
        self.last.push(last);
        self.starts.push(u32::try_from(self.rungs.len()).unwrap_or(u32::MAX));
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
    /// What became of the records, which have been placed.
    pub fn placed(&self) -> Placed {
        let mut in_line_order = vec![0; self.placed.len()];
        for (place, placed) in (0..).zip(&self.placed) {
            let record = self.scattered.record(place) as usize;
            in_line_order[record] = placed.load(Ordering::Relaxed);
        }
        Placed(in_line_order)
    }

    /// The number of the line of `record` in the chunk, if there is such a record.
    pub fn line(&self, record: u32) -> Option<u32> {
        self.lines.get(record as usize).copied()
    }

    fn rungs(&self, record: u32) -> &[(u8, Fingerprint)] {
        let record = record as usize;
        &self.rungs[self.starts[record] as usize..self.starts[record + 1] as usize]
    }
}

/// Every form that was seen, with the levels at which it was some record's form.
///
/// A record merges at the first level at which an earlier record had the same form. Records that
/// are equal at a level are equal at the last one, so they are in one partition: it is exact, and
/// in parallel.
#[derive(Debug)]
pub struct Levels {
    count: u8,
    partitions: Partitions<Forms>,
}

#[derive(Debug, Default)]
struct Forms {
    /// By the form at the last level.
    pages: Known<Page>,
    /// The levels at which other forms were seen.
    others: Known<u32>,
}

/// What is known of a cluster.
#[derive(Debug)]
struct Page {
    cluster: Cluster,
    /// The first form of the first record; half of its fingerprint.
    first: u64,
    /// The levels at which the form at the last level was seen.
    levels: u32,
}

impl Levels {
    /// For forms at the levels 0 to `count - 1`, at most 32 of them.
    pub fn new(count: usize) -> Self {
        let count = u8::try_from(count).expect("there are fewer rules than 32");
        Levels { count, partitions: Partitions::default() }
    }

    /// Bytes of memory that the forms take.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes(false)
    }

    /// Bytes of memory that they may take after another batch, which is small beside them.
    pub fn memory_bytes_ahead(&self) -> u64 {
        self.bytes(true)
    }

    fn bytes(&self, ahead: bool) -> u64 {
        let bytes = |partition| {
            let forms = self.partition(partition);
            forms.pages.memory_bytes(ahead) + forms.others.memory_bytes(ahead)
        };
        (0..PARTITIONS).map(bytes).sum()
    }

    /// Finds out at which level the records of `partition` merge. Batches and chunks in order, each
    /// with the number of its first line, from 0 over all inputs.
    pub fn place<'a>(&self, partition: usize, chunks: impl Iterator<Item = (&'a Ladders, u64)>) {
        let Forms { pages, others } = &mut *self.partition(partition);
        let range = |from: u8, to: u8| (u32::MAX >> (32 - u32::from(to))) & (u32::MAX << from);
        for (ladders, first_line) in chunks {
            for (place, last) in ladders.scattered.places(partition) {
                let record = ladders.scattered.record(place);
                let line = first_line + u64::from(ladders.lines[record as usize]);
                let rungs = match ladders.rungs(record) {
                    [] => &[(0, last)],
                    rungs => rungs,
                };
                let first = rungs[0].1.0 as u64;
                let page = pages.entry(last, || Page {
                    cluster: Cluster { lines: 0, representative: line },
                    first,
                    levels: 0,
                });
                page.cluster.lines += 1;
                let mut merged = UNMERGED;
                let tops = rungs[1..].iter().map(|(from, _)| *from).chain([self.count]);
                for ((from, form), to) in rungs.iter().zip(tops) {
                    let levels = range(*from, to);
                    let seen = match *form == last {
                        true => &mut page.levels,
                        false => others.entry(*form, || 0),
                    };
                    let common = *seen & levels;
                    if common != 0 {
                        merged = merged.min(common.trailing_zeros() as u8);
                    }
                    *seen |= levels;
                }
                let astray = if first == page.first { 0 } else { ASTRAY };
                ladders.placed[place as usize].store(merged | astray, Ordering::Relaxed);
            }
        }
    }

    /// How many clusters.
    pub fn len(&self) -> u64 {
        (0..PARTITIONS).map(|partition| self.partition(partition).pages.len() as u64).sum()
    }

    /// No cluster?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `count` largest clusters, largest first; among equals the one whose representative is
    /// first.
    pub fn largest(&self, count: usize) -> Vec<(Fingerprint, Cluster)> {
        let mut all: Vec<(Fingerprint, Cluster)> = Vec::new();
        for partition in 0..PARTITIONS {
            let forms = self.partition(partition);
            let clusters =
                forms.pages.iter().map(|(fingerprint, page)| (fingerprint, page.cluster));
            all.extend(clusters.filter(|(_, cluster)| cluster.lines > 1));
            all.sort_unstable_by_key(|(_, one)| (Reverse(one.lines), one.representative));
            all.truncate(count);
        }
        all
    }

    fn partition(&self, partition: usize) -> std::sync::MutexGuard<'_, Forms> {
        self.partitions.lock(partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(of: &str) -> Fingerprint {
        crate::fingerprint::FingerprintKey::from_bytes([0; 16]).fingerprint(of.as_bytes())
    }

    #[test]
    fn levels() {
        // Three levels: as it is, lower case, without the digit.
        let rows = [
            ("A1", UNMERGED),
            ("a1", 1),
            ("A1", 0),
            ("b1", UNMERGED),
            ("b2", 2),
            ("b2", 0),
            ("b", 2),
            ("c", UNMERGED),
            ("c", 0),
        ];
        let mut builder = LaddersBuilder::default();
        for (line, (row, _)) in (10..).zip(rows) {
            let forms = [row.to_string(), row.to_lowercase(), row.to_lowercase()[..1].to_string()];
            builder.push(line, fingerprint(&forms[2]), |rungs| {
                if forms[0] == forms[2] {
                    return;
                }
                for (level, form) in forms.iter().enumerate() {
                    if level == 0 || forms[level - 1] != *form {
                        rungs.push((level as u8, fingerprint(form)));
                    }
                }
            });
        }
        let ladders = builder.finish();
        let levels = Levels::new(3);
        for partition in 0..PARTITIONS {
            levels.place(partition, [(&ladders, 100)].into_iter());
        }
        let placed = ladders.placed();
        for (record, (row, expected)) in (0..).zip(rows) {
            assert_eq!(placed.merged(record), expected, "{row} ({record})");
            let is_astray = !["A1", "b1", "c"].contains(&row);
            assert_eq!(placed.is_astray(record), is_astray, "{row} ({record})");
        }
        assert_eq!((levels.len(), placed.len()), (3, 9));
        let cluster = |lines, representative| Cluster { lines, representative };
        let largest: Vec<Cluster> = levels.largest(2).into_iter().map(|(_, one)| one).collect();
        assert_eq!(largest, [cluster(4, 113), cluster(3, 110)]);
        assert_eq!(levels.largest(5).len(), 3);
    }
}
