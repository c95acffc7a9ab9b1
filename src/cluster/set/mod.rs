//! HOT: once per record. The set of all fingerprints seen so far, in partitions.
//!
//! Price: one probe of a [`Table`] that is in the cache or nearly. Guard: `benches/cluster.rs`.

#[allow(unsafe_code)]
mod probe;
mod table;

pub use table::Outlook;

use super::partitions::Partitions;
use super::scatter::{Flags, PARTITIONS, Scattered, partition_of};
use crate::fingerprint::Fingerprint;
use probe::Probe;
use table::Table;

/// The first occurrences of a job's clusters.
///
/// ```text
/// fingerprint: | partition (8 bits) | home slot and tag (120 bits) |
///
/// partition 0:  [ 03.. | ---- | 11.. | 12.. | ---- ]   one table each; a thread takes a partition,
/// partition 1:  [ ---- | 07.. | ---- | ---- | 2f.. ]   walks its records in chunk order, and marks
///    ...                                               those it has not seen
/// ```
#[derive(Debug)]
pub struct ClusterSet {
    /// Never contended, since a partition is one thread's at a time.
    partitions: Partitions<Table>,
    probe: Probe,
}

impl Default for ClusterSet {
    fn default() -> Self {
        ClusterSet { partitions: Partitions::default(), probe: Probe::fastest() }
    }
}

impl ClusterSet {
    /// Bytes of memory that a fingerprint takes at most, in a set of many.
    pub const BYTES_PER_FINGERPRINT_MAX: u64 = 24;

    /// Marks the records of `partition` that are the first of their cluster, over the chunks of a
    /// batch in order. Batches have to come in order, too. The `outlook`, if there is one, saves
    /// work and changes nothing else.
    pub fn mark_first(
        &self,
        partition: usize,
        chunks: &[(Scattered, Flags)],
        outlook: Option<Outlook>,
    ) {
        let mut table = self.partition(partition);
        let runs = chunks.iter().map(|(scattered, flags)| {
            (scattered.fingerprints(partition), flags.of(scattered, partition))
        });
        table.expect(runs.clone().map(|(fingerprints, _)| fingerprints.len()).sum(), outlook);
        self.probe.insert_all(&mut table, runs);
    }

    /// Could the tables take more than `bytes` after another batch?
    ///
    /// Bet: a batch is small compared with a set that is nearly full, so every partition grows at
    /// most once, by three tenths. It grows by more only within these bounds (see [`Outlook`]).
    pub fn may_exceed(&self, bytes: u64) -> bool {
        let now = self.memory_bytes();
        now + now / 10 * 3 > bytes
    }

    /// Inserts `fingerprint`; returns whether it is new.
    pub fn insert(&self, fingerprint: Fingerprint) -> bool {
        self.partition(partition_of(fingerprint)).insert(fingerprint)
    }

    /// Fills `partition`, which is empty, with the fingerprints of another run: `sorted`, in
    /// ascending order, without duplicates.
    pub(super) fn load(&self, partition: usize, sorted: &[Fingerprint]) {
        self.partition(partition).load(sorted);
    }

    /// Removes the fingerprints of `partition`, and frees their pages. Several threads may do so at
    /// the same time.
    pub fn forget(&self, partition: usize) {
        self.partition(partition).forget();
    }

    /// How many different fingerprints.
    pub fn len(&self) -> u64 {
        (0..PARTITIONS).map(|partition| self.partition(partition).len() as u64).sum()
    }

    /// No fingerprint?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that the tables take.
    pub fn memory_bytes(&self) -> u64 {
        (0..PARTITIONS).map(|partition| self.partition(partition).memory_bytes()).sum()
    }

    /// The fingerprints of `partition`, sorted.
    pub fn sorted(&self, partition: usize) -> Vec<Fingerprint> {
        self.partition(partition).sorted().map(Fingerprint).collect()
    }

    /// The table of `partition`, which is one thread's at a time.
    pub(super) fn partition(&self, partition: usize) -> std::sync::MutexGuard<'_, Table> {
        self.partitions.lock(partition)
    }
}

#[cfg(test)]
mod tests {
    use super::table::EMPTY;
    use super::*;
    use crate::fingerprint::FingerprintKey;
    use std::collections::HashSet;

    #[test]
    fn agrees_with_a_hash_set() {
        let key = FingerprintKey::from_bytes([7; 16]);
        let set = ClusterSet::default();
        let mut twin = HashSet::new();
        for number in 0..200_000u32 {
            let fingerprint = key.fingerprint(&(number % 150_000).to_le_bytes());
            assert_eq!(set.insert(fingerprint), twin.insert(fingerprint.0));
        }
        let all: Vec<Fingerprint> =
            (100_000..250_000u32).map(|number| key.fingerprint(&number.to_le_bytes())).collect();
        for (record, fingerprint) in all.iter().enumerate() {
            let is_there = set.partition(partition_of(*fingerprint)).contains(*fingerprint);
            assert_eq!(is_there, record < 50_000);
        }
        assert_eq!(set.len(), 150_000);
        let all: Vec<Fingerprint> = (0..PARTITIONS).flat_map(|p| set.sorted(p)).collect();
        assert_eq!(all.len(), 150_000);
        assert!(all.is_sorted());
        (1..PARTITIONS).for_each(|partition| set.forget(partition));
        assert_eq!(set.len(), set.sorted(0).len() as u64);
        assert!(set.memory_bytes() < 1 << 20 && !set.insert(set.sorted(0)[0]));
        let forgotten = all.iter().find(|fingerprint| partition_of(**fingerprint) > 0).unwrap();
        assert!(set.insert(*forgotten) && !set.insert(*forgotten));
    }

    #[test]
    fn memory_stays_within_its_bound() {
        let key = FingerprintKey::from_bytes([1; 16]);
        let set = ClusterSet::default();
        for number in 0..1_000_000u32 {
            set.insert(key.fingerprint(&number.to_le_bytes()));
        }
        let each = set.memory_bytes() as f64 / set.len() as f64;
        assert!(each <= 24.0, "{each} bytes for each fingerprint");
    }

    #[test]
    fn the_empty_value_is_a_fingerprint_like_any_other() {
        let set = ClusterSet::default();
        assert!(set.insert(Fingerprint(EMPTY)));
        assert!(!set.insert(Fingerprint(EMPTY)));
        assert_eq!((set.len(), set.sorted(0)), (1, vec![Fingerprint(EMPTY)]));
    }

    #[test]
    fn crowded_home_slots() {
        let set = ClusterSet::default();
        for low in 1..1000u128 {
            assert!(set.insert(Fingerprint(low)));
            assert!(set.insert(Fingerprint(u128::MAX - low)));
        }
        assert!(!set.insert(Fingerprint(500)) && !set.insert(Fingerprint(u128::MAX - 500)));
        assert_eq!(set.len(), 1998);
    }
}
