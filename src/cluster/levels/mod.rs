//! At which level of a profile records merge, and the clusters that they are of.

mod ladder_records;
mod ladders;
mod places;
mod unplaced;

pub use ladders::{Ladders, LaddersBuilder, Placed, UNMERGED};
pub use places::Places;
pub use unplaced::{PageTotals, Unplaced};

use std::cmp::Reverse;

use super::census::Cluster;
use super::fingerprint_map::FingerprintMap;
use super::partitions::Partitions;
use super::scatter::PARTITIONS;
use crate::fingerprint::Fingerprint;
use ladders::{ASTRAY, LEVELS_MAX, Ladder};

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

/// Forms of some pages.
#[derive(Debug, Default)]
pub(super) struct Forms {
    /// By the form at the last level.
    pages: FingerprintMap<Page>,
    /// The levels at which other forms were seen.
    others: FingerprintMap<u32>,
}

/// What is known of a cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Page {
    pub(super) cluster: Cluster,
    /// The first form of the first record; half of its fingerprint.
    pub(super) first: u64,
    /// The levels at which the form at the last level was seen.
    pub(super) levels: u32,
}

impl Forms {
    /// Finds out what became of a record; there are `count` levels. Of its forms only those count
    /// that this `has`: what several say of a record, of other forms each, is
    /// [put together](together).
    #[inline(always)]
    pub(super) fn place(
        &mut self,
        Ladder { line, last, rungs }: Ladder,
        count: u8,
        has: impl Fn(Fingerprint) -> bool,
    ) -> u8 {
        let Forms { pages, others } = self;
        let range = |from: u8, to: u8| (u32::MAX >> (32 - u32::from(to))) & (u32::MAX << from);
        let rungs = if rungs.is_empty() { &[(0, last)] } else { rungs };
        let first = rungs[0].1.0 as u64;
        let new = || {
            let cluster = Cluster { lines: 0, representative: line };
            Page { cluster, first, levels: 0 }
        };
        let mut page = has(last).then(|| pages.entry(last, new));
        let mut astray = 0;
        if let Some(page) = &mut page {
            page.cluster.lines += 1;
            astray = if first == page.first { 0 } else { ASTRAY };
        }
        let mut merged = UNMERGED;
        let tops = rungs[1..].iter().map(|(from, _)| *from).chain([count]);
        for ((from, form), to) in rungs.iter().zip(tops) {
            let levels = range(*from, to);
            let seen = match &mut page {
                _ if !has(*form) => continue,
                Some(page) if *form == last => &mut page.levels,
                _ => others.entry(*form, || 0),
            };
            let common = *seen & levels;
            if common != 0 {
                merged = merged.min(common.trailing_zeros() as u8);
            }
            *seen |= levels;
        }
        merged | astray
    }

    /// Takes in what others know of a page, whose form at the last level is `last`.
    pub(super) fn add_page(&mut self, last: Fingerprint, page: Page) {
        self.pages.entry(last, || page);
    }

    /// Takes in at which `levels` others have seen a form that is not the last one of its page.
    pub(super) fn add_other(&mut self, form: Fingerprint, levels: u32) {
        *self.others.entry(form, || 0) |= levels;
    }

    /// The pages.
    pub(super) fn pages(&self) -> impl Iterator<Item = (Fingerprint, &Page)> {
        self.pages.iter()
    }

    /// Forms that are not the last one of their page, and the levels at which they were seen.
    pub(super) fn others(&self) -> impl Iterator<Item = (Fingerprint, u32)> {
        self.others.iter().map(|(form, levels)| (form, *levels))
    }

    /// How many pages.
    pub(super) fn len(&self) -> u64 {
        self.pages.len() as u64
    }

    /// Bytes of memory that it takes; `ahead` once there is an eighth more.
    pub(super) fn memory_bytes(&self, ahead: bool) -> u64 {
        self.pages.memory_bytes(ahead) + self.others.memory_bytes(ahead)
    }

    /// Adds its clusters to the `count` largest ones.
    pub(super) fn add_largest(&self, count: usize, largest: &mut Largest) {
        for (fingerprint, page) in self.pages().filter(|(_, page)| page.cluster.lines > 1) {
            // Not all of them at once, of which there may be many.
            if largest.len() >= 2 * count + 64 {
                keep_largest(count, largest);
            }
            largest.push((fingerprint, page.cluster));
        }
        keep_largest(count, largest);
    }
}

/// Clusters, largest first; among equals the one whose representative is first.
pub type Largest = Vec<(Fingerprint, Cluster)>;

/// Sorts clusters, and keeps the first `count` of them.
pub(super) fn keep_largest(count: usize, clusters: &mut Largest) {
    clusters.sort_unstable_by_key(|(_, one)| (Reverse(one.lines), one.representative));
    clusters.truncate(count);
}

/// What `one` and `other` say of a record, of other forms each.
pub(super) fn together(one: u8, other: u8) -> u8 {
    (one & !ASTRAY).min(other & !ASTRAY) | (one | other) & ASTRAY
}

impl Levels {
    /// For forms at the levels 0 to `count - 1`, at least one and at most 32 of them.
    pub fn new(count: usize) -> Self {
        assert!((1..=usize::from(LEVELS_MAX)).contains(&count), "{count} levels");
        let count = count as u8;
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
        (0..PARTITIONS).map(|partition| self.partition(partition).memory_bytes(ahead)).sum()
    }

    /// How many levels there are.
    pub(super) fn count(&self) -> u8 {
        self.count
    }

    /// Finds out at which level the records of `partition` merge. Batches and chunks in order, each
    /// with the number of its first line, from 0 over all inputs.
    pub fn place<'a>(&self, partition: usize, chunks: impl Iterator<Item = (&'a Ladders, u64)>) {
        let forms = &mut *self.partition(partition);
        for (ladders, first_line) in chunks {
            for (place, ladder) in ladders.of(partition, first_line) {
                ladders.set(place, forms.place(ladder, self.count, |_| true));
            }
        }
    }

    /// How many clusters.
    pub fn len(&self) -> u64 {
        (0..PARTITIONS).map(|partition| self.partition(partition).len()).sum()
    }

    /// No cluster?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `count` largest clusters.
    pub fn largest(&self, count: usize) -> Largest {
        let mut all = Vec::new();
        for partition in 0..PARTITIONS {
            self.partition(partition).add_largest(count, &mut all);
        }
        all
    }

    /// Takes the forms of `partition` out.
    pub(super) fn take(&self, partition: usize) -> Forms {
        std::mem::take(&mut *self.partition(partition))
    }

    fn partition(&self, partition: usize) -> std::sync::MutexGuard<'_, Forms> {
        self.partitions.lock(partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::LaddersBuilder;

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
