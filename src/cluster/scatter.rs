//! The fingerprints of a chunk, sorted by partition.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::bytes::prefetch::prefetch_all;
use crate::fingerprint::Fingerprint;

pub(super) const PARTITION_BITS: u32 = 8;

/// Number of radix partitions: the top bits of a fingerprint.
///
/// Reason: 256 tables are small enough to stay in the second-level cache up to some ten million
/// URLs, and enough to divide among any number of threads.
pub const PARTITIONS: usize = 1 << PARTITION_BITS;

/// The partition that `fingerprint` belongs to.
#[inline]
pub fn partition_of(fingerprint: Fingerprint) -> usize {
    (fingerprint.0 >> (u128::BITS - PARTITION_BITS)) as usize
}

/// The least and the greatest possible fingerprint of `partition`.
pub(super) fn bounds_of(partition: usize) -> (Fingerprint, Fingerprint) {
    let first = (partition as u128) << (u128::BITS - PARTITION_BITS);
    (Fingerprint(first), Fingerprint(first | u128::MAX >> PARTITION_BITS))
}

/// The fingerprints of one chunk's records, by partition, and in line order within each.
#[derive(Debug)]
pub struct Scattered {
    fingerprints: Vec<Fingerprint>,
    /// The number of each fingerprint's record in the chunk.
    records: Vec<u32>,
    /// Where each partition starts, and the end.
    bounds: Box<[u32]>,
}

impl Scattered {
    /// Sorts the fingerprints of the records 0, 1, 2, … by partition, in linear time.
    ///
    /// Limits: a chunk holds fewer than 2³² records; it is a bug if there are more.
    pub fn new(in_line_order: &[Fingerprint]) -> Self {
        assert!(u32::try_from(in_line_order.len()).is_ok(), "records have numbers of 32 bits");
        let mut bounds = vec![0u32; PARTITIONS + 1].into_boxed_slice();
        for fingerprint in in_line_order {
            bounds[partition_of(*fingerprint) + 1] += 1;
        }
        for partition in 0..PARTITIONS {
            bounds[partition + 1] += bounds[partition];
        }
        let mut next = bounds.clone();
        let mut records = vec![0; in_line_order.len()];
        for (record, fingerprint) in (0u32..).zip(in_line_order) {
            let slot = &mut next[partition_of(*fingerprint)];
            records[*slot as usize] = record;
            *slot += 1;
        }
        let fingerprints = records.iter().map(|record| in_line_order[*record as usize]).collect();
        Scattered { fingerprints, records, bounds }
    }

    /// Returns the records of `partition`, in line order: their numbers in the chunk, and their
    /// fingerprints.
    pub fn pairs(&self, partition: usize) -> impl Iterator<Item = (u32, Fingerprint)> + '_ {
        let range = self.range(partition);
        let records = self.records[range.clone()].iter().copied();
        records.zip(self.fingerprints[range].iter().copied())
    }

    /// Returns the records of `partition`, in line order: their places in the order of the
    /// partitions, and their fingerprints.
    #[inline]
    pub fn places(&self, partition: usize) -> impl Iterator<Item = (u32, Fingerprint)> + '_ {
        let range = self.range(partition);
        (range.start as u32..).zip(self.fingerprints[range].iter().copied())
    }

    /// Returns the fingerprints of `partition`, in line order.
    #[inline]
    pub fn fingerprints(&self, partition: usize) -> &[Fingerprint] {
        &self.fingerprints[self.range(partition)]
    }

    /// Prefetches the fingerprints of `partition`, so that cache misses of several chunks overlap.
    #[inline]
    pub(super) fn prefetch(&self, partition: usize) {
        prefetch_all(self.fingerprints(partition));
    }

    /// Returns the number in the chunk of the record at `place`.
    pub fn record(&self, place: u32) -> u32 {
        self.records[place as usize]
    }

    fn range(&self, partition: usize) -> Range<usize> {
        self.bounds[partition] as usize..self.bounds[partition + 1] as usize
    }

    /// How many records.
    pub fn len(&self) -> usize {
        self.fingerprints.len()
    }

    /// No record?
    pub fn is_empty(&self) -> bool {
        self.fingerprints.is_empty()
    }
}

/// Which records of a [`Scattered`] are the first of their cluster, or may be, or are wanted: a
/// byte for each, in its order.
///
/// Threads that work on different partitions set flags at the same time. The flags are in the order
/// of partitions, not in line order, where every second write would wait for a cache line that
/// another thread has just written.
#[derive(Debug)]
pub struct Flags(Box<[AtomicU8]>);

impl Flags {
    /// Makes a flag for each record of `scattered`, none of them set.
    pub fn new(scattered: &Scattered) -> Self {
        Flags(scattered.records.iter().map(|_| AtomicU8::new(0)).collect())
    }

    /// Returns the flags of the records of `partition`, in the order of `scattered`, for which
    /// these flags were made.
    #[inline]
    pub(super) fn of(&self, scattered: &Scattered, partition: usize) -> &[AtomicU8] {
        &self.0[scattered.range(partition)]
    }

    /// Sets the flag of the record at `place` in the order of the [`Scattered`].
    #[inline]
    pub fn set(&self, place: u32) {
        self.0[place as usize].store(1, Ordering::Relaxed);
    }
}

/// One bit for every record of a chunk, in line order.
#[derive(Debug)]
pub struct KeepBitmap(Box<[u64]>);

impl KeepBitmap {
    /// Makes a bitmap of the records of `scattered` whose flags are set.
    pub fn new(scattered: &Scattered, flags: &Flags) -> Self {
        let mut words = vec![0; scattered.len().div_ceil(64)].into_boxed_slice();
        for (record, flag) in scattered.records.iter().zip(&flags.0) {
            words[*record as usize / 64] |=
                u64::from(flag.load(Ordering::Relaxed)) << (record % 64);
        }
        KeepBitmap(words)
    }

    /// Is the bit of `record` set?
    #[inline]
    pub fn contains(&self, record: u32) -> bool {
        self.0[record as usize / 64] >> (record % 64) & 1 == 1
    }

    /// The runs of records whose bits are set.
    pub fn runs(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next(at, true)?;
            let end = self.next(start, false).unwrap_or(64 * self.0.len() as u32);
            at = end;
            Some(start..end)
        })
    }

    /// The first record from `from` on whose bit is `set`.
    fn next(&self, from: u32, set: bool) -> Option<u32> {
        let flip = if set { 0 } else { u64::MAX };
        let mut shift = from % 64;
        for (number, word) in self.0.iter().enumerate().skip(from as usize / 64) {
            let bits = (word ^ flip) >> shift << shift;
            if bits != 0 {
                return Some(64 * number as u32 + bits.trailing_zeros());
            }
            shift = 0;
        }
        None
    }

    /// How many bits are set.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_hold_everything_in_order() {
        let spread =
            |n: u128| Fingerprint(n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
        let fingerprints: Vec<Fingerprint> = (0..10_000).map(spread).collect();
        let scattered = Scattered::new(&fingerprints);
        let mut seen = 0;
        for partition in 0..PARTITIONS {
            let mut last = None;
            for (record, fingerprint) in scattered.pairs(partition) {
                assert_eq!(fingerprint, fingerprints[record as usize]);
                assert_eq!(partition_of(fingerprint), partition);
                assert!(last < Some(record));
                last = Some(record);
                seen += 1;
            }
        }
        assert_eq!(seen, 10_000);
    }

    #[test]
    fn bounds_of_partitions() {
        let mut next = 0;
        for partition in 0..PARTITIONS {
            let (first, last) = bounds_of(partition);
            assert_eq!(
                (first.0, partition_of(first), partition_of(last)),
                (next, partition, partition)
            );
            next = last.0.wrapping_add(1);
        }
        assert_eq!(next, 0);
    }

    /// Marks of `records` records, of which `set` are marked; in line order and scattered.
    fn marked(records: u32, set: &[u32]) -> KeepBitmap {
        let fingerprint = |record| Fingerprint(u128::from(record * 77 % 256) << 120);
        let all: Vec<Fingerprint> = (0..records).map(fingerprint).collect();
        let scattered = Scattered::new(&all);
        let flags = Flags::new(&scattered);
        for (place, _) in (0..PARTITIONS).flat_map(|partition| scattered.places(partition)) {
            if set.contains(&scattered.record(place)) {
                flags.set(place);
            }
        }
        KeepBitmap::new(&scattered, &flags)
    }

    #[test]
    fn marks() {
        let marks = marked(130, &[0, 63, 64, 129]);
        for record in 0..130 {
            assert_eq!(marks.contains(record), [0, 63, 64, 129].contains(&record));
        }
        assert_eq!(marks.count(), 4);
        assert_eq!(marked(0, &[]).count(), 0);
    }

    #[test]
    fn runs_of_marks() {
        for set in [&[][..], &[0], &[0, 1, 2, 63, 64, 65, 199], &[5, 6, 130, 131, 132]] {
            let marks = marked(200, set);
            let found: Vec<u32> = marks.runs().flatten().collect();
            assert_eq!(found, set);
            assert!(marks.runs().zip(marks.runs().skip(1)).all(|(a, b)| a.end < b.start));
        }
        let all: Vec<u32> = (0..128).collect();
        assert_eq!(marked(128, &all).runs().next(), Some(0..128));
    }
}
