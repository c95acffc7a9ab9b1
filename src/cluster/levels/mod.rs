//! At which level of a profile records merge, and their clusters.

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
/// are equal at a level are equal at the last one, so they are in one partition. Partitions are
/// thus independent: the result is exact, and computed in parallel.
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
    /// The other forms, with the levels at which they were seen.
    others: FingerprintMap<u32>,
}

/// What is known of a cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Page {
    pub(super) cluster: Cluster,
    /// The first form of the first record, as half of its fingerprint.
    pub(super) first: u64,
    /// The levels at which the form at the last level was seen.
    pub(super) levels: u32,
}

impl Forms {
    /// Finds the place of a record; there are `count` levels. Only the forms that this `has` count:
    /// the places from several parts of the forms are [combined](together).
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

    /// Merges what other forms know of a page, whose form at the last level is `last`.
    pub(super) fn add_page(&mut self, last: Fingerprint, page: Page) {
        self.pages.entry(last, || page);
    }

    /// Merges the `levels` at which a form was seen elsewhere that is not the last one of its page.
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

    /// Bytes of memory that the forms take; with `ahead`, with an eighth more of them.
    pub(super) fn memory_bytes(&self, ahead: bool) -> u64 {
        self.pages.memory_bytes(ahead) + self.others.memory_bytes(ahead)
    }

    /// Adds its clusters to the `count` largest ones.
    pub(super) fn add_largest(&self, count: usize, largest: &mut Largest) {
        for (fingerprint, page) in self.pages().filter(|(_, page)| page.cluster.lines > 1) {
            // In pieces, since there may be many clusters.
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

/// Combines the places of a record from two parts of the forms.
pub(super) fn together(one: u8, other: u8) -> u8 {
    (one & !ASTRAY).min(other & !ASTRAY) | (one | other) & ASTRAY
}

impl Levels {
    /// Begins without forms, for the levels 0 to `count - 1`; `count` is from 1 to 32.
    pub fn new(count: usize) -> Self {
        assert!((1..=usize::from(LEVELS_MAX)).contains(&count), "{count} levels");
        let count = count as u8;
        Levels { count, partitions: Partitions::default() }
    }

    /// Bytes of memory that the forms take.
    pub fn memory_bytes(&self) -> u64 {
        self.bytes(false)
    }

    /// Bytes of memory that the forms may take after another batch, which is small in comparison.
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

    /// Finds out at which level the records of `partition` merge. Batches and chunks come in order,
    /// each chunk with the number of its first line, from 0 over all inputs.
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

    /// Removes the forms of `partition`, and returns them.
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
