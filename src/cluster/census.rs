//! Whole clusters: how many lines each has, and which line stands for it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::scatter::{Flags, PARTITIONS, Scattered};

use crate::fingerprint::Fingerprint;

/// Which line of a cluster stands for it.
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
    /// Which line of a cluster stands for it: the one with the least rank, and of those the first.
    pub(super) fn rank(self, line: u64, line_bytes: u32) -> u64 {
        match self {
            Keep::First => 0,
            Keep::Last => u64::MAX - line,
            Keep::Shortest => u64::from(line_bytes),
        }
    }
}

/// One cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// How many lines.
    pub lines: u64,
    /// The number of the line that stands for it, from 0 over all inputs.
    pub representative: u64,
    /// Length of that line in bytes.
    line_bytes: u32,
}

/// A cluster as those see it who write it: the number of the line that represents it, and how many lines
/// it has.
pub type Counted = [u64; 2];

impl Cluster {
    /// Counts one more line, which comes after all others.
    fn add(&mut self, keep: Keep, line: u64, line_bytes: u32) {
        self.lines += 1;
        let replaces = match keep {
            Keep::First => false,
            Keep::Last => true,
            Keep::Shortest => line_bytes < self.line_bytes,
        };
        if replaces {
            self.representative = line;
            self.line_bytes = line_bytes;
        }
    }
}

/// A chunk's records, for the census.
#[derive(Debug)]
pub struct Occurrence {
    /// The fingerprints.
    pub scattered: Scattered,
    /// The length of each record's line in bytes.
    pub line_bytes: Vec<u32>,
    /// The number of each record's line in the chunk.
    pub lines: Vec<u32>,
    /// The number of the chunk's first line, from 0 over all inputs.
    pub first_line: u64,
}

/// A fingerprint is its own hash; the partition's bits are the same for all, so the low half
/// serves.
#[derive(Default)]
struct OwnHash(u64);

impl Hasher for OwnHash {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("only u128 keys are hashed")
    }
    fn write_u128(&mut self, value: u128) {
        self.0 = value as u64;
    }
}

type Map<V> = HashMap<u128, V, BuildHasherDefault<OwnHash>>;

/// Bytes of memory that `map` takes: seven of eight slots may be used, and each has a byte of its
/// own beside key and value. `ahead` counts it as twice as large if an eighth more in it would make
/// it so.
fn map_bytes<V>(map: &Map<V>, ahead: bool) -> u64 {
    let capacity = map.capacity() as u64;
    let grows = ahead && map.len() + map.len() / 8 >= map.capacity();
    let bytes = capacity.div_ceil(7) * 8 * (size_of::<(u128, V)>() as u64 + 1);
    if grows { 2 * bytes } else { bytes }
}

/// Every cluster of a job.
#[derive(Debug)]
pub struct Census {
    keep: Keep,
    partitions: Box<[Mutex<Map<Cluster>>]>,
}

impl Census {
    /// An empty census whose clusters are represented as `keep` says.
    pub fn new(keep: Keep) -> Self {
        Census { keep, partitions: (0..PARTITIONS).map(|_| Mutex::default()).collect() }
    }

    /// Counts the records of `partition` over the chunks of a batch. Batches and chunks in order.
    pub fn count<'a>(&self, partition: usize, chunks: impl Iterator<Item = &'a Occurrence>) {
        let mut clusters = self.partition(partition);
        for chunk in chunks {
            for (record, fingerprint) in chunk.scattered.pairs(partition) {
                let line_bytes = chunk.line_bytes[record as usize];
                let line = chunk.first_line + u64::from(chunk.lines[record as usize]);
                let cluster = clusters.entry(fingerprint.0).or_insert(Cluster {
                    lines: 0,
                    representative: line,
                    line_bytes,
                });
                cluster.add(self.keep, line, line_bytes);
            }
        }
    }

    /// The same, but takes no new clusters in: their lines go to `unknown`, with fingerprint,
    /// number and length in bytes.
    pub(super) fn count_known<'a>(
        &self,
        partition: usize,
        chunks: impl Iterator<Item = &'a Occurrence>,
        mut unknown: impl FnMut(Fingerprint, u64, u32),
    ) {
        let mut clusters = self.partition(partition);
        for chunk in chunks {
            for (record, fingerprint) in chunk.scattered.pairs(partition) {
                let line_bytes = chunk.line_bytes[record as usize];
                let line = chunk.first_line + u64::from(chunk.lines[record as usize]);
                match clusters.get_mut(&fingerprint.0) {
                    Some(cluster) => cluster.add(self.keep, line, line_bytes),
                    None => unknown(fingerprint, line, line_bytes),
                }
            }
        }
    }

    /// Takes the clusters of `partition` out, in no order.
    pub(super) fn take(&self, partition: usize) -> impl Iterator<Item = Cluster> + use<> {
        std::mem::take(&mut *self.partition(partition)).into_values()
    }

    /// Which line represents a cluster.
    pub(super) fn keep(&self) -> Keep {
        self.keep
    }

    /// Bytes of memory that the clusters take.
    pub fn memory_bytes(&self) -> u64 {
        (0..PARTITIONS).map(|partition| map_bytes(&self.partition(partition), false)).sum()
    }

    /// Bytes of memory that they may take after another batch, which is small beside them.
    pub fn memory_bytes_ahead(&self) -> u64 {
        (0..PARTITIONS).map(|partition| map_bytes(&self.partition(partition), true)).sum()
    }

    /// To be asked, from any thread, now that it has been taken.
    pub fn settled(&mut self) -> Settled<'_> {
        let partitions = self.partitions.iter_mut().map(Mutex::get_mut);
        let why = "no thread panics while it holds a partition";
        Settled(partitions.map(|clusters| &*clusters.expect(why)).collect())
    }

    /// How many clusters.
    pub fn len(&self) -> u64 {
        (0..PARTITIONS).map(|partition| self.partition(partition).len() as u64).sum()
    }

    /// No cluster?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The clusters of `partition` whose number of lines is `wanted`, in no order: the line that
    /// represents each, and how many lines it has.
    pub fn select(&self, partition: usize, wanted: impl Fn(u64) -> bool) -> Vec<Counted> {
        let clusters = self.partition(partition);
        let selected = || clusters.values().filter(|cluster| wanted(cluster.lines));
        // Grown step by step it would take twice as much, or more.
        let mut counted = Vec::with_capacity(selected().count());
        counted.extend(selected().map(|cluster| [cluster.representative, cluster.lines]));
        counted
    }

    /// The `count` largest clusters, largest first; among equals the one whose representative is
    /// first.
    pub fn largest(&self, count: usize) -> Vec<(Fingerprint, Cluster)> {
        let mut all: Vec<(Fingerprint, Cluster)> = Vec::new();
        for partition in 0..PARTITIONS {
            let clusters = self.partition(partition);
            let pairs = clusters.iter().map(|(key, cluster)| (Fingerprint(*key), *cluster));
            all.extend(pairs.filter(|(_, cluster)| cluster.lines > 1));
            all.sort_unstable_by_key(|(_, one)| (std::cmp::Reverse(one.lines), one.representative));
            all.truncate(count);
        }
        all
    }

    fn partition(&self, partition: usize) -> std::sync::MutexGuard<'_, Map<Cluster>> {
        self.partitions[partition].lock().expect("no thread panics while it holds a partition")
    }
}

/// A census that takes no more lines.
#[derive(Debug)]
pub struct Settled<'a>(Box<[&'a Map<Cluster>]>);

impl Settled<'_> {
    /// Sets the flags of those records of `partition` whose clusters are `wanted`. `false` if one of a
    /// record is not in the census.
    pub fn mark<'a>(
        &self,
        partition: usize,
        chunks: impl Iterator<Item = (&'a Scattered, &'a Flags)>,
        wanted: impl Fn(&Cluster) -> bool,
    ) -> bool {
        let clusters = self.0[partition];
        let mut is_known = true;
        for (scattered, flags) in chunks {
            for (place, fingerprint) in scattered.places(partition) {
                match clusters.get(&fingerprint.0) {
                    Some(cluster) if wanted(cluster) => flags.set(place),
                    Some(_) => {}
                    None => is_known = false,
                }
            }
        }
        is_known
    }
}

/// The forms of a chunk's records at each level of a profile (see `canonical/reference.rs`), as
/// fingerprints, and what became of them.
#[derive(Debug)]
pub struct Ladders {
    /// From which level on, and which form, for all records in line order.
    rungs: Vec<(u8, Fingerprint)>,
    /// Where each record starts in `rungs`, and the end.
    starts: Vec<u32>,
    /// The level at which each record merges with an earlier one, or [`UNMERGED`].
    merged: Box<[AtomicU8]>,
    /// Whether each record's first form is another than that of its cluster's first record.
    astray: Box<[AtomicBool]>,
}

/// A record that merges with no earlier one.
pub const UNMERGED: u8 = u8::MAX;

impl Ladders {
    /// The forms in `rungs`; record `n` has those from `starts[n]` to `starts[n + 1]`, by level
    /// from 0.
    pub fn new(rungs: Vec<(u8, Fingerprint)>, starts: Vec<u32>) -> Self {
        let records = starts.len().saturating_sub(1);
        let merged = (0..records).map(|_| AtomicU8::new(UNMERGED)).collect();
        let astray = (0..records).map(|_| AtomicBool::new(false)).collect();
        Ladders { rungs, starts, merged, astray }
    }

    /// The level at which `record` merges with an earlier one, or [`UNMERGED`].
    pub fn merged(&self, record: u32) -> u8 {
        self.merged[record as usize].load(Ordering::Relaxed)
    }

    /// Is the first form of `record` another than that of the first record of its cluster?
    pub fn is_astray(&self, record: u32) -> bool {
        self.astray[record as usize].load(Ordering::Relaxed)
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
    partitions: Box<[Mutex<Forms>]>,
}

#[derive(Debug, Default)]
struct Forms {
    /// The levels at which each form was seen.
    levels: Map<u32>,
    /// The first form of the first record of each cluster; half of its fingerprint.
    first: Map<u64>,
}

impl Levels {
    /// For forms at the levels 0 to `count - 1`, at most 32 of them.
    pub fn new(count: usize) -> Self {
        let count = u8::try_from(count).expect("there are fewer rules than 32");
        Levels { count, partitions: (0..PARTITIONS).map(|_| Mutex::default()).collect() }
    }

    /// Bytes of memory that the forms may take after another batch, which is small beside them.
    pub fn memory_bytes_ahead(&self) -> u64 {
        let bytes = |partition: &Mutex<Forms>| {
            let forms = partition.lock().expect("no thread panics while it holds a partition");
            map_bytes(&forms.levels, true) + map_bytes(&forms.first, true)
        };
        self.partitions.iter().map(bytes).sum()
    }

    /// Finds out at which level the records of `partition` merge. Batches and chunks in order.
    pub fn place<'a>(
        &self,
        partition: usize,
        chunks: impl Iterator<Item = (&'a Scattered, &'a Ladders)>,
    ) {
        let mut forms =
            self.partitions[partition].lock().expect("no thread panics while it holds a partition");
        for (scattered, ladders) in chunks {
            for (record, cluster) in scattered.pairs(partition) {
                let rungs = ladders.rungs(record);
                let form = rungs.first().map_or(0, |(_, form)| form.0 as u64);
                let first = *forms.first.entry(cluster.0).or_insert(form);
                ladders.astray[record as usize].store(form != first, Ordering::Relaxed);
                let mut merged = UNMERGED;
                for (number, (from, form)) in rungs.iter().enumerate() {
                    let to = rungs.get(number + 1).map_or(self.count, |(next, _)| *next);
                    let levels = (u32::MAX >> (32 - u32::from(to))) & (u32::MAX << from);
                    let seen = forms.levels.entry(form.0).or_default();
                    let common = *seen & levels;
                    if common != 0 {
                        merged = merged.min(common.trailing_zeros() as u8);
                    }
                    *seen |= levels;
                }
                ladders.merged[record as usize].store(merged, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scatter::Marks;
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
            let select = |lines| -> Vec<Counted> {
                (0..PARTITIONS).flat_map(|at| census.select(at, |found| found == lines)).collect()
            };
            assert_eq!(select(2), [[expected, 2]], "{keep:?}");
            assert_eq!(census.largest(5).len(), 1);
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
                let marks = Marks::new(&scattered, &flags);
                assert!(marks.runs().flatten().eq(marked.iter().copied()), "{lines:?}");
                assert_eq!(all_known, is_known, "{lines:?}");
            }
        }
    }

    #[test]
    fn levels() {
        // Three levels: as it is, lower case, without the digit.
        let rows = [("A1", UNMERGED), ("a1", 1), ("A1", 0), ("b1", UNMERGED), ("b2", 2), ("b2", 0)];
        let mut rungs = Vec::new();
        let mut starts = vec![0];
        let mut last = Vec::new();
        for (row, _) in rows {
            let forms = [row.to_string(), row.to_lowercase(), row.to_lowercase()[..1].to_string()];
            for (level, form) in forms.iter().enumerate() {
                if level == 0 || forms[level - 1] != *form {
                    rungs.push((level as u8, fingerprint(form)));
                }
            }
            starts.push(rungs.len() as u32);
            last.push(fingerprint(&forms[2]));
        }
        let scattered = Scattered::new(&last);
        let ladders = Ladders::new(rungs, starts);
        let levels = Levels::new(3);
        for partition in 0..PARTITIONS {
            levels.place(partition, [(&scattered, &ladders)].into_iter());
        }
        for (record, (row, expected)) in rows.into_iter().enumerate() {
            assert_eq!(ladders.merged(record as u32), expected, "{row} ({record})");
            let is_astray = !["A1", "b1"].contains(&row);
            assert_eq!(ladders.is_astray(record as u32), is_astray, "{row} ({record})");
        }
    }
}
