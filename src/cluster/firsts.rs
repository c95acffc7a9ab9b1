//! HOT: once per spilled record. The first record of every fingerprint of a spilled partition.
//!
//! Price: one probe of an index that is in the cache or nearly; nothing is sorted. Guard: the runs
//! with `-S` of docs/performance.md. Twin: [`resolve`](super::on_disk::resolve), which sorts.

use std::io;

use super::on_disk::records::{Fingerprinted, Halves, Record};
use super::on_disk::resolve::FingerprintRange;
use super::on_disk::spill::Spill;
use super::scatter::bounds_of;
use crate::fingerprint::Fingerprint;

/// A spilled record that consists of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Numbered {
    pub(super) fingerprint: Halves,
    /// In input order.
    pub(super) number: u64,
}

impl Record for Numbered {
    type Words = [u64; 3];

    #[inline]
    fn to_words(self) -> [u64; 3] {
        let Numbered { fingerprint: Halves { high, low }, number } = self;
        [high, low, number]
    }

    #[inline]
    fn from_words([high, low, number]: [u64; 3]) -> Self {
        Numbered { fingerprint: Halves { high, low }, number }
    }
}

impl Fingerprinted for Numbered {
    #[inline]
    fn halves(&self) -> Halves {
        self.fingerprint
    }
}

/// The memory of one thread, which is used again for each partition.
///
/// ```text
/// index:    [ 0 | tag 2 | 0 | 0 | tag 1 | tag 3 | 0 | ... ]   1 + place in `records`, or 0; tag:
///                                                             what is left of 32 bits, of the
///                                                             fingerprint
/// records:  [ first record | second | third | ... ]           in the order in which they came
/// ```
#[derive(Debug, Default)]
pub struct Firsts {
    records: Vec<Numbered>,
    /// Open addressing, linear probing. The lower half of a fingerprint gives its home slot, since
    /// the upper halves of a pass may all be similar.
    index: Vec<u32>,
    /// How many bits a place has.
    place_mask: u32,
}

/// The number that marks fingerprints known before; no record has it.
const KNOWN: u64 = u64::MAX;

/// Home slots for every four records. Reason: probes stay short and local.
const HOMES_PER_FOUR: usize = 6;

impl Firsts {
    /// Bytes of memory for each record that is held.
    pub const BYTES_PER_RECORD: usize = size_of::<Numbered>() + 4 * HOMES_PER_FOUR / 4;

    /// Reduces the records of `partition` to the first of each fingerprint that is not `known`,
    /// with at most `capacity` of them in memory at a time.
    ///
    /// - Shape: `known` are fingerprints of the partition, ascending. `pass` gets the results of
    ///   each pass, in the order in which records came, with the range of fingerprints that they
    ///   cover; ranges are consecutive and cover all fingerprints. It may change the records.
    /// - Price: one pass over the file for every `capacity / 2` to `capacity` different
    ///   fingerprints, if they are uniform, as hashes are. Results are right for any others, too.
    /// - Failure: the first error of reading or of `pass`.
    pub(super) fn of_partition(
        &mut self,
        spill: &Spill<Numbered>,
        partition: usize,
        capacity: usize,
        known: impl Iterator<Item = u128> + Clone,
        mut pass: impl FnMut(&mut Vec<Numbered>, FingerprintRange) -> io::Result<()>,
    ) -> io::Result<()> {
        // A place plus one has to fit in 32 bits.
        let capacity = capacity.clamp(2, u32::MAX as usize / 2);
        let all = usize::try_from(spill.records(partition)).unwrap_or(capacity);
        self.make_room(all.saturating_add(known.clone().count()).min(capacity));
        let (Fingerprint(lowest), Fingerprint(highest)) = bounds_of(partition);
        let (mut from, mut width) = (0, None);
        loop {
            let start = lowest.max(from);
            let guess = width.and_then(|width| start.checked_add(width));
            let mut end: Option<u128> = guess.filter(|end| *end <= highest);
            self.clear();
            let mut take = |record: Numbered| {
                let fingerprint = record.fingerprint().0;
                if fingerprint < from || end.is_some_and(|end| fingerprint >= end) {
                    return;
                }
                let Err(mut slot) = self.find(&record) else { return };
                // Too many: the upper half of the range is left to another pass.
                while self.records.len() == capacity {
                    let past = end.unwrap_or(highest);
                    let middle = start + (past - start).div_ceil(2);
                    end = Some(middle);
                    self.keep_below(middle);
                    if fingerprint >= middle {
                        return;
                    }
                    slot = self.find(&record).expect_err("it was not there before");
                }
                self.insert(slot, record);
            };
            for fingerprint in known.clone() {
                let fingerprint = Halves::of(Fingerprint(fingerprint));
                take(Numbered { fingerprint, number: KNOWN });
            }
            spill.read(partition, take)?;
            let held = self.records.len();
            let known = self.records.iter().take_while(|record| record.number == KNOWN).count();
            self.records.drain(..known);
            pass(&mut self.records, (Fingerprint(from), end.map(Fingerprint)))?;
            let Some(end) = end else { return Ok(()) };
            // Bet: the next range has about as many. If this one had few, they are not uniform.
            let is_even = held > capacity / 4;
            let fitting = 0.9 * capacity as f64 / held as f64 * (end - start) as f64;
            (from, width) = (end, is_even.then_some(fitting as u128));
        }
    }

    /// Makes room for `records` records.
    fn make_room(&mut self, records: usize) {
        self.records.clear();
        self.records.reserve_exact(records);
        self.index.resize(records / 4 * HOMES_PER_FOUR + HOMES_PER_FOUR, 0);
        self.place_mask = u32::MAX >> (records as u32 + 1).leading_zeros();
    }

    fn clear(&mut self) {
        self.records.clear();
        self.index.fill(0);
    }

    /// Drops the records from `end` on.
    #[cold]
    fn keep_below(&mut self, end: u128) {
        self.records.retain(|record| record.fingerprint().0 < end);
        self.index.fill(0);
        let records = std::mem::take(&mut self.records);
        for (place, record) in (0u32..).zip(&records) {
            let slot = self.find_in(&records, record).expect_err("each is there once");
            self.index[slot] = (place + 1) | self.tag(record);
        }
        self.records = records;
    }

    /// The slot of the index for a new record; `Ok` if its fingerprint is already there.
    #[inline]
    fn find(&self, record: &Numbered) -> Result<(), usize> {
        self.find_in(&self.records, record)
    }

    #[inline]
    fn find_in(&self, records: &[Numbered], record: &Numbered) -> Result<(), usize> {
        let tag = self.tag(record);
        let home = (u128::from(record.fingerprint.low) * self.index.len() as u128) >> 64;
        let mut slot = home as usize;
        // At least a third of the slots is free.
        loop {
            let found = self.index[slot];
            if found == 0 {
                return Err(slot);
            }
            if found & !self.place_mask == tag {
                let other = &records[(found & self.place_mask) as usize - 1];
                if other.fingerprint == record.fingerprint {
                    return Ok(());
                }
            }
            slot += 1;
            if slot == self.index.len() {
                slot = 0;
            }
        }
    }

    #[inline]
    fn insert(&mut self, slot: usize, record: Numbered) {
        self.records.push(record);
        self.index[slot] = self.records.len() as u32 | self.tag(&record);
    }

    /// Bits of the fingerprint that its home does not depend on.
    #[inline]
    fn tag(&self, record: &Numbered) -> u32 {
        record.fingerprint.high as u32 & !self.place_mask
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cluster::on_disk::spill::temporary;
    use crate::fingerprint::FingerprintKey;

    /// Checks the firsts of `fingerprints`, all of partition 255, with room for few and for all;
    /// and those of them that are not as every fourth one.
    fn check(fingerprints: &[u128], why: &str) {
        check_beside(&[], fingerprints, why);
        let mut known: Vec<u128> = fingerprints.iter().step_by(4).copied().collect();
        known.sort_unstable();
        known.dedup();
        check_beside(&known, fingerprints, why);
    }

    fn check_beside(known: &[u128], fingerprints: &[u128], why: &str) {
        let spill = Spill::<Numbered>::new(temporary(), 0);
        let mut twin = BTreeMap::new();
        for (number, fingerprint) in (0u64..).zip(fingerprints) {
            let halves = Halves::of(Fingerprint(*fingerprint));
            spill.append(255, [Numbered { fingerprint: halves, number }].into_iter()).unwrap();
            if known.binary_search(fingerprint).is_err() {
                twin.entry(*fingerprint).or_insert(number);
            }
        }
        spill.finish().unwrap();
        let mut firsts = Firsts::default();
        for capacity in [0, 2, 3, 10, 100, 699, 5000] {
            let mut found = BTreeMap::new();
            let mut reached = Some(Fingerprint(0));
            firsts
                .of_partition(
                    &spill,
                    255,
                    capacity,
                    known.iter().copied(),
                    |records, (from, end)| {
                        assert_eq!(Some(from), reached);
                        assert!(records.len() <= capacity.max(2));
                        assert!(records.is_sorted_by_key(|record| record.number));
                        reached = end;
                        for record in records.drain(..) {
                            let fingerprint = record.fingerprint();
                            assert!(fingerprint >= from && end.is_none_or(|end| fingerprint < end));
                            assert_eq!(found.insert(fingerprint.0, record.number), None);
                        }
                        Ok(())
                    },
                )
                .unwrap();
            assert_eq!(reached, None);
            assert!(found == twin, "{why}, {} known, capacity {capacity}", known.len());
        }
    }

    #[test]
    fn agrees_with_a_map_however_little_fits() {
        let key = FingerprintKey::from_bytes([5; 16]);
        let spread = |number: u64| key.fingerprint(&number.to_le_bytes()).0 | 0xff << 120;
        check(&[], "none");
        check(&(0..3000).map(|number| spread(number % 700)).collect::<Vec<_>>(), "spread");
        check(&(0..2000).map(|number| spread(number % 3)).collect::<Vec<_>>(), "three");
        check(&(0..300).map(|number| u128::MAX - number % 200).collect::<Vec<_>>(), "highest");
        check(&(0..300).map(|number| (0xff << 120) + number).collect::<Vec<_>>(), "lowest");
        check(&(0..300).map(|number| spread(number) | 0xffff).collect::<Vec<_>>(), "one home");
    }

    #[test]
    fn errors_of_a_pass_are_told() {
        let spill = Spill::<Numbered>::new(temporary(), 0);
        let fingerprint = Halves { high: 0, low: 1 };
        spill.append(0, [Numbered { fingerprint, number: 2 }].into_iter()).unwrap();
        spill.finish().unwrap();
        let full = |_: &mut Vec<Numbered>, _| Err(io::ErrorKind::StorageFull.into());
        let error =
            Firsts::default().of_partition(&spill, 0, 10, std::iter::empty(), full).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
