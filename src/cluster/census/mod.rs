//! Whole clusters: how many lines each has, and which line represents it.

pub(super) mod uncounted;

pub use uncounted::Uncounted;

use super::fingerprint_map::FingerprintMap;
use super::on_disk::records::{Keyed, Record};
use super::partitions::Partitions;
use super::scatter::{Flags, PARTITIONS, Scattered};
use crate::fingerprint::Fingerprint;

/// Which line of a cluster represents it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The first in input order.
    First,
    /// The last in input order.
    Last,
    /// The shortest in bytes; among those the first.
    Shortest,
}

impl Keep {
    /// The rank of a line: the one with the least rank represents its cluster, of several the
    /// first. Twin: `Group::add`, for lines that come in order.
    pub(super) fn rank(self, line: Line) -> u64 {
        match self {
            Keep::First => 0,
            Keep::Last => u64::MAX - line.number,
            Keep::Shortest => u64::from(line.bytes),
        }
    }
}

/// One cluster. Clusters sort by representative; these are distinct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cluster {
    /// The number of the line that represents it, from 0 over all inputs.
    pub representative: u64,
    /// How many lines.
    pub lines: u64,
}

impl Record for Cluster {
    type Words = [u64; 2];

    #[inline]
    fn to_words(self) -> [u64; 2] {
        [self.representative, self.lines]
    }

    #[inline]
    fn from_words([representative, lines]: [u64; 2]) -> Self {
        Cluster { representative, lines }
    }
}

impl Keyed for Cluster {
    #[inline]
    fn key(&self) -> u64 {
        self.representative
    }
}

/// A cluster as the census counts it.
#[derive(Debug)]
struct Group {
    cluster: Cluster,
    /// Length of the line that represents it, if that is the shortest one.
    line_bytes: u32,
}

impl Group {
    /// Makes a group without lines, for which `line` will be the first to be counted.
    fn new(line: Line) -> Group {
        let cluster = Cluster { lines: 0, representative: line.number };
        Group { cluster, line_bytes: line.bytes }
    }

    /// Counts one more line, which comes after all others. For lines in any order, see
    /// [`Keep::rank`].
    fn add(&mut self, keep: Keep, line: Line) {
        self.cluster.lines += 1;
        let replaces = match keep {
            Keep::First => false,
            Keep::Last => true,
            Keep::Shortest => line.bytes < self.line_bytes,
        };
        if replaces {
            self.cluster.representative = line.number;
            self.line_bytes = line.bytes;
        }
    }
}

/// A chunk's records, for the census.
#[derive(Debug)]
pub struct Occurrence {
    /// The fingerprints.
    pub scattered: Scattered,
    /// The [length](line_length) of each record's line, if the shortest represents a cluster; else
    /// empty.
    pub line_bytes: Vec<u32>,
    /// The number of each record's line in the chunk.
    pub lines: Vec<u32>,
    /// The number of the chunk's first line, from 0 over all inputs.
    pub first_line: u64,
}

impl Occurrence {
    /// The records of `partition`, in line order.
    fn lines(&self, partition: usize) -> impl Iterator<Item = (Fingerprint, Line)> + '_ {
        self.scattered.pairs(partition).map(|(record, fingerprint)| {
            let number = self.first_line + u64::from(self.lines[record as usize]);
            let bytes = self.line_bytes.get(record as usize).copied().unwrap_or(0);
            (fingerprint, Line { number, bytes })
        })
    }
}

/// A record's line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// From 0 over all inputs.
    pub(super) number: u64,
    /// Its [length](line_length), or 0 if it is not needed.
    pub(super) bytes: u32,
}

/// The length of a line of this many bytes, by which lines are compared. It saturates at the
/// maximum of `u32`, which no line of a job has.
pub fn line_length(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Every cluster of a job.
#[derive(Debug)]
pub struct Census {
    keep: Keep,
    partitions: Partitions<FingerprintMap<Group>>,
}

impl Census {
    /// Makes an empty census, whose clusters are represented by the line that `keep` selects.
    pub fn new(keep: Keep) -> Self {
        Census { keep, partitions: Partitions::default() }
    }

    /// Counts the records of `partition` over the chunks of a batch. Batches and chunks come in
    /// order.
    pub fn count<'a>(&self, partition: usize, chunks: impl Iterator<Item = &'a Occurrence>) {
        let mut groups = self.partition(partition);
        for (fingerprint, line) in chunks.flat_map(|chunk| chunk.lines(partition)) {
            groups.entry(fingerprint, || Group::new(line)).add(self.keep, line);
        }
    }

    /// Counts those records of `partition` over the chunks of a batch whose clusters are known, and
    /// calls `unknown` with the others: no new clusters are added. Batches and chunks come in
    /// order.
    pub(super) fn count_known<'a>(
        &self,
        partition: usize,
        chunks: impl Iterator<Item = &'a Occurrence>,
        mut unknown: impl FnMut(Fingerprint, Line),
    ) {
        let mut groups = self.partition(partition);
        for (fingerprint, line) in chunks.flat_map(|chunk| chunk.lines(partition)) {
            match groups.get_mut(fingerprint) {
                Some(group) => group.add(self.keep, line),
                None => unknown(fingerprint, line),
            }
        }
    }

    /// Returns the clusters of `partition` whose number of lines is `wanted`, by representative;
    /// and how many clusters it has.
    pub fn select(&self, partition: usize, wanted: impl Fn(u64) -> bool) -> (Vec<Cluster>, u64) {
        let groups = self.partition(partition);
        let selected = || {
            let clusters = groups.iter().map(|(_, group)| group.cluster);
            clusters.filter(|cluster| wanted(cluster.lines))
        };
        // A vector that grows step by step would take twice as much, or more.
        let mut clusters = Vec::with_capacity(selected().count());
        clusters.extend(selected());
        // If the first line represents a cluster, they are already in order.
        clusters.sort_unstable();
        (clusters, groups.len() as u64)
    }

    /// Forgets the clusters of `partition`.
    pub fn forget(&self, partition: usize) {
        *self.partition(partition) = FingerprintMap::default();
    }

    /// Which line represents a cluster.
    pub(super) fn keep(&self) -> Keep {
        self.keep
    }

    /// Bytes of memory that the clusters take.
    pub fn memory_bytes(&self) -> u64 {
        (0..PARTITIONS).map(|partition| self.partition(partition).memory_bytes(false)).sum()
    }

    /// Bytes of memory that the clusters may take after another batch, which is small in
    /// comparison.
    pub fn memory_bytes_ahead(&self) -> u64 {
        (0..PARTITIONS).map(|partition| self.partition(partition).memory_bytes(true)).sum()
    }

    /// Makes the census read-only, for look-ups from any thread.
    pub fn settled(&mut self) -> Settled<'_> {
        Settled(self.partitions.all_mut().map(|groups| &*groups).collect())
    }

    /// How many clusters.
    pub fn len(&self) -> u64 {
        (0..PARTITIONS).map(|partition| self.partition(partition).len() as u64).sum()
    }

    /// No cluster?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn partition(&self, partition: usize) -> std::sync::MutexGuard<'_, FingerprintMap<Group>> {
        self.partitions.lock(partition)
    }
}

/// A census that takes no more lines.
#[derive(Debug)]
pub struct Settled<'a>(Box<[&'a FingerprintMap<Group>]>);

impl Settled<'_> {
    /// How many lines there are in those clusters of `partition` whose number of lines is `wanted`.
    pub fn lines(&self, partition: usize, wanted: impl Fn(u64) -> bool) -> u64 {
        let lines = self.0[partition].iter().map(|(_, group)| group.cluster.lines);
        lines.filter(|lines| wanted(*lines)).sum()
    }

    /// Sets the flags of those records of `partition` whose clusters are `wanted`. `false` if the
    /// cluster of a record is not in the census.
    pub fn mark<'a>(
        &self,
        partition: usize,
        chunks: impl Iterator<Item = (&'a Scattered, &'a Flags)>,
        wanted: impl Fn(&Cluster) -> bool,
    ) -> bool {
        let groups = self.0[partition];
        let mut is_known = true;
        for (scattered, flags) in chunks {
            for (place, fingerprint) in scattered.places(partition) {
                match groups.get(fingerprint) {
                    Some(group) if wanted(&group.cluster) => flags.set(place),
                    Some(_) => {}
                    None => is_known = false,
                }
            }
        }
        is_known
    }
}

#[cfg(test)]
mod tests {
    use super::super::scatter::KeepBitmap;
    use super::*;

    fn fingerprint(of: &str) -> Fingerprint {
        crate::fingerprint::FingerprintKey::from_bytes([0; 16]).fingerprint(of.as_bytes())
    }

    fn occurrences(lines: &[&str], first_line: u64) -> Occurrence {
        let forms: Vec<Fingerprint> =
            lines.iter().map(|line| fingerprint(&line.to_lowercase())).collect();
        Occurrence {
            scattered: Scattered::new(&forms),
            line_bytes: lines.iter().map(|line| line.trim_end().len() as u32).collect(),
            lines: (0..lines.len() as u32).collect(),
            first_line,
        }
    }

    #[test]
    fn counts_and_representatives() {
        for (keep, expected) in [(Keep::First, 0), (Keep::Last, 11), (Keep::Shortest, 0)] {
            let mut census = Census::new(keep);
            let batch = [occurrences(&["a", "b"], 0), occurrences(&["c", "A"], 10)];
            (0..PARTITIONS).for_each(|partition| census.count(partition, batch.iter()));
            assert_eq!(census.len(), 3);
            let select = |lines| -> Vec<Cluster> {
                (0..PARTITIONS).flat_map(|at| census.select(at, |found| found == lines).0).collect()
            };
            assert_eq!(select(2), [Cluster { representative: expected, lines: 2 }], "{keep:?}");
            assert_eq!(select(1).len(), 2);
            let settled = census.settled();
            for (lines, marked, is_known) in
                [(&["a", "b", "A"][..], &[0, 2][..], true), (&["d", "c", "a", "b"], &[2], false)]
            {
                let scattered = occurrences(lines, 0).scattered;
                let flags = Flags::new(&scattered);
                let all_known = (0..PARTITIONS)
                    .map(|partition| {
                        let chunk = std::iter::once((&scattered, &flags));
                        settled.mark(partition, chunk, |cluster| cluster.lines == 2)
                    })
                    .fold(true, |all, one| all & one);
                let marks = KeepBitmap::new(&scattered, &flags);
                assert!(marks.runs().flatten().eq(marked.iter().copied()), "{lines:?}");
                assert_eq!(all_known, is_known, "{lines:?}");
            }
        }
    }
}
