//! What a spilled partition comes down to: one record for each fingerprint, in order; or the records
//! of one fingerprint after the other.

use std::io;

use super::spill::{Spill, fingerprint_of};
use crate::fingerprint::Fingerprint;

/// The fingerprints of one pass over a partition: from the first to before the second, or to the
/// end.
pub(super) type Range = (Fingerprint, Option<Fingerprint>);

/// Brings the records of `partition` down to one for each fingerprint, with at most `capacity` of
/// them in memory at once.
///
/// - Shape: `merge` adds the second of two records with one fingerprint to the first, the one that
///   sorts before. `pass` gets what came out, sorted, with the range of fingerprints it covers;
///   ranges follow each other and cover all there are. It may do with the records what it likes.
/// - Price: one pass over the file for every `capacity / 2` to `capacity` different fingerprints.
///   Records with equal fingerprints, however many, take the room of one.
/// - Failure: the first error of reading or of `pass`.
pub(super) fn resolve<const WORDS: usize>(
    spill: &Spill<WORDS>,
    partition: usize,
    capacity: usize,
    merge: impl Fn(&mut [u64; WORDS], &[u64; WORDS]),
    mut pass: impl FnMut(&mut Vec<[u64; WORDS]>, Range) -> io::Result<()>,
) -> io::Result<()> {
    let capacity = capacity.max(2);
    let room = usize::try_from(spill.records(partition)).map_or(capacity, |all| all.min(capacity));
    let mut records: Vec<[u64; WORDS]> = Vec::with_capacity(room);
    let mut from = Fingerprint(0);
    loop {
        records.clear();
        let mut end: Option<Fingerprint> = None;
        spill.read(partition, |record| {
            let fingerprint = fingerprint_of(&record);
            let is_outside = |end: Option<Fingerprint>| end.is_some_and(|end| fingerprint >= end);
            if fingerprint < from || is_outside(end) {
                return;
            }
            if records.len() == capacity {
                reduce(&mut records, &merge);
                // Still too many: the upper half has to wait for another pass.
                if records.len() > capacity / 2 {
                    let middle = records.len() / 2;
                    end = Some(fingerprint_of(&records[middle]));
                    records.truncate(middle);
                    if is_outside(end) {
                        return;
                    }
                }
            }
            records.push(record);
        })?;
        reduce(&mut records, &merge);
        pass(&mut records, (from, end))?;
        match end {
            Some(end) => from = end,
            None => return Ok(()),
        }
    }
}

/// Gives `each` the records of `partition` that have one fingerprint in common, for one fingerprint
/// after the other in ascending order, with at most `capacity` of them in memory at once.
///
/// - Shape: a group has its records in the order of their words, or, where it does not fit, in the
///   order in which they came.
/// - Price: one pass over the file for every `capacity / 2` to `capacity` records, and those that
///   `each` makes over a group that does not fit.
/// - Failure: the first error of reading or of `each`.
pub(super) fn groups<const WORDS: usize>(
    spill: &Spill<WORDS>,
    partition: usize,
    capacity: usize,
    mut each: impl FnMut(Group<WORDS>) -> io::Result<()>,
) -> io::Result<()> {
    let capacity = capacity.max(2);
    let room = usize::try_from(spill.records(partition)).map_or(capacity, |all| all.min(capacity));
    let mut records: Vec<[u64; WORDS]> = Vec::with_capacity(room);
    let mut from = Fingerprint(0);
    loop {
        records.clear();
        let mut end: Option<Fingerprint> = None;
        let mut long: Option<Fingerprint> = None;
        spill.read(partition, |record| {
            let fingerprint = fingerprint_of(&record);
            if fingerprint < from || end.is_some_and(|end| fingerprint >= end) {
                return;
            }
            if records.len() == capacity {
                records.sort_unstable();
                let first = fingerprint_of(&records[0]);
                // Whole groups, half of what there is if possible; what is cut off waits for another
                // pass.
                let middle = fingerprint_of(&records[capacity / 2]);
                let cut = match middle > first {
                    true => records.partition_point(|record| fingerprint_of(record) < middle),
                    false => records.partition_point(|record| fingerprint_of(record) == first),
                };
                end = match records.get(cut) {
                    Some(record) => Some(fingerprint_of(record)),
                    None => {
                        long = Some(first);
                        Some(first)
                    }
                };
                records.truncate(if long.is_some() { 0 } else { cut });
                if end.is_some_and(|end| fingerprint >= end) {
                    return;
                }
            }
            // Others come first: it waits for another pass.
            long = None;
            records.push(record);
        })?;
        records.sort_unstable();
        for group in records.chunk_by(|a, b| a[..2] == b[..2]) {
            each(Group::Held(group))?;
        }
        if let Some(fingerprint) = long {
            each(Group::Long { spill, partition, fingerprint })?;
            end = fingerprint.0.checked_add(1).map(Fingerprint);
        }
        match end {
            Some(end) => from = end,
            None => return Ok(()),
        }
    }
}

/// The records of one fingerprint.
pub(super) enum Group<'a, const WORDS: usize> {
    /// In memory.
    Held(&'a [[u64; WORDS]]),
    /// Too many: in the files.
    Long {
        /// The files.
        spill: &'a Spill<WORDS>,
        /// The partition.
        partition: usize,
        /// The fingerprint.
        fingerprint: Fingerprint,
    },
}

impl<const WORDS: usize> Group<'_, WORDS> {
    /// Gives `each` the records until it fails, the same at every call.
    pub(super) fn read(
        &self,
        mut each: impl FnMut(&[u64; WORDS]) -> io::Result<()>,
    ) -> io::Result<()> {
        match self {
            Group::Held(records) => records.iter().try_for_each(each),
            Group::Long { spill, partition, fingerprint } => {
                let mut outcome = Ok(());
                spill.read(*partition, |record| {
                    if outcome.is_ok() && fingerprint_of(&record) == *fingerprint {
                        outcome = each(&record);
                    }
                })?;
                outcome
            }
        }
    }
}

/// Sorts `records` and merges those with one fingerprint.
fn reduce<const WORDS: usize>(
    records: &mut Vec<[u64; WORDS]>,
    merge: impl Fn(&mut [u64; WORDS], &[u64; WORDS]),
) {
    records.sort_unstable();
    records.dedup_by(|later, earlier| {
        let is_same = later[..2] == earlier[..2];
        if is_same {
            merge(earlier, later);
        }
        is_same
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cluster::spill::{halves, temporary};
    use crate::fingerprint::FingerprintKey;

    #[test]
    fn agrees_with_a_map_however_little_fits() {
        let key = FingerprintKey::from_bytes([5; 16]);
        let spill = Spill::<4>::new(temporary(), 0);
        let mut twin: BTreeMap<[u64; 2], (u64, u64)> = BTreeMap::new();
        for number in 0..3000u64 {
            // Every third one is the same.
            let name = if number % 3 == 0 { 0 } else { number % 700 };
            let halves = halves(key.fingerprint(&name.to_le_bytes()));
            spill.append(9, [[halves[0], halves[1], number, 1]].into_iter()).unwrap();
            twin.entry(halves).or_insert((number, 0)).1 += 1;
        }
        spill.finish().unwrap();
        let expected: Vec<[u64; 4]> = twin
            .into_iter()
            .map(|(halves, (first, count))| [halves[0], halves[1], first, count])
            .collect();
        for capacity in [0, 2, 3, 10, 100, 699, 5000] {
            let mut found = Vec::new();
            let mut reached = Some(Fingerprint(0));
            let merge = |earlier: &mut [u64; 4], later: &[u64; 4]| earlier[3] += later[3];
            resolve(&spill, 9, capacity, merge, |records, (from, end)| {
                assert_eq!(Some(from), reached);
                assert!(records.len() <= capacity.max(2));
                reached = end;
                found.append(records);
                Ok(())
            })
            .unwrap();
            assert_eq!(reached, None);
            assert!(found == expected, "capacity {capacity}");
        }
    }

    #[test]
    fn groups_agree_with_a_map_however_little_fits() {
        let key = FingerprintKey::from_bytes([5; 16]);
        let spill = Spill::<3>::new(temporary(), 0);
        let mut twin: BTreeMap<[u64; 2], Vec<u64>> = BTreeMap::new();
        for number in 0..3000u64 {
            // Two long groups, some of two records, and many of one.
            let name = if number % 3 == 0 { number % 2 } else { number % 1500 };
            let halves = halves(key.fingerprint(&name.to_le_bytes()));
            spill.append(9, [[halves[0], halves[1], number]].into_iter()).unwrap();
            twin.entry(halves).or_default().push(number);
        }
        spill.finish().unwrap();
        for capacity in [0, 2, 3, 10, 499, 600, 5000] {
            let mut found = Vec::new();
            groups(&spill, 9, capacity, |group| {
                let mut numbers = Vec::new();
                let mut halves = [0; 2];
                for _ in 0..2 {
                    numbers.clear();
                    group.read(|record| {
                        halves = [record[0], record[1]];
                        numbers.push(record[2]);
                        Ok(())
                    })?;
                }
                assert!(matches!(group, Group::Long { .. }) || numbers.len() <= capacity.max(2));
                found.push((halves, numbers));
                Ok(())
            })
            .unwrap();
            assert!(found == twin.clone().into_iter().collect::<Vec<_>>(), "capacity {capacity}");
        }
    }

    #[test]
    fn errors_of_a_pass_are_told() {
        let spill = Spill::<2>::new(temporary(), 0);
        spill.append(0, [[0, 1]].into_iter()).unwrap();
        spill.finish().unwrap();
        let full = |_: &mut Vec<[u64; 2]>, _| Err(io::ErrorKind::StorageFull.into());
        let error = resolve(&spill, 0, 10, |_, _| (), full).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
