//! Resolves a spilled partition: to one record for each fingerprint, in order; or to groups of
//! records with one fingerprint.

use std::io;

use super::records::Fingerprinted;
use super::spill::Spill;
use crate::fingerprint::Fingerprint;

/// The fingerprints of one pass over a partition: from the first, included, to the second,
/// excluded; without a second, to the end.
pub(crate) type FingerprintRange = (Fingerprint, Option<Fingerprint>);

/// Reduces the records of `partition` to one for each fingerprint, with at most `capacity` of them
/// in memory at a time.
///
/// - Shape: `merge` adds the second of two records with one fingerprint to the first, the one that
///   sorts before. `pass` gets the results of each pass, sorted, with the range of fingerprints
///   that they cover; ranges are consecutive and cover all fingerprints. It may change the records.
/// - Price: one pass over the file for every `capacity / 2` to `capacity` different fingerprints.
///   Records with equal fingerprints, however many, take the room of one.
/// - Failure: the first error of reading or of `pass`.
pub(crate) fn resolve<R: Fingerprinted>(
    spill: &Spill<R>,
    partition: usize,
    capacity: usize,
    merge: impl Fn(&mut R, &R),
    mut pass: impl FnMut(&mut Vec<R>, FingerprintRange) -> io::Result<()>,
) -> io::Result<()> {
    let capacity = capacity.max(2);
    let room = usize::try_from(spill.records(partition)).map_or(capacity, |all| all.min(capacity));
    let mut records: Vec<R> = Vec::with_capacity(room);
    let mut from = Fingerprint(0);
    loop {
        records.clear();
        let mut end: Option<Fingerprint> = None;
        spill.read(partition, |record| {
            let fingerprint = record.fingerprint();
            let is_outside = |end: Option<Fingerprint>| end.is_some_and(|end| fingerprint >= end);
            if fingerprint < from || is_outside(end) {
                return;
            }
            if records.len() == capacity {
                reduce(&mut records, &merge);
                // Still too many: the upper half is left to another pass.
                if records.len() > capacity / 2 {
                    let middle = records.len() / 2;
                    end = Some(records[middle].fingerprint());
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

/// Calls `each` with the groups of records of `partition` that have one fingerprint, in ascending
/// order of fingerprints, with at most `capacity` records in memory at a time.
///
/// - Shape: a group has its records in the order of their fields, or, where it does not fit, in the
///   order in which they came.
/// - Price: one pass over the file for every `capacity / 2` to `capacity` records, and those that
///   `each` makes over a group that does not fit.
/// - Failure: the first error of reading or of `each`.
pub(crate) fn groups<R: Fingerprinted>(
    spill: &Spill<R>,
    partition: usize,
    capacity: usize,
    mut each: impl FnMut(Group<R>) -> io::Result<()>,
) -> io::Result<()> {
    let capacity = capacity.max(2);
    let room = usize::try_from(spill.records(partition)).map_or(capacity, |all| all.min(capacity));
    let mut records: Vec<R> = Vec::with_capacity(room);
    let mut from = Fingerprint(0);
    loop {
        records.clear();
        let mut end: Option<Fingerprint> = None;
        let mut long: Option<Fingerprint> = None;
        spill.read(partition, |record| {
            let fingerprint = record.fingerprint();
            if fingerprint < from || end.is_some_and(|end| fingerprint >= end) {
                return;
            }
            if records.len() == capacity {
                records.sort_unstable();
                let first = records[0].fingerprint();
                // Keeps whole groups, half of the records if possible; the rest is left to another
                // pass.
                let middle = records[capacity / 2].fingerprint();
                let cut = match middle > first {
                    true => records.partition_point(|record| record.fingerprint() < middle),
                    false => records.partition_point(|record| record.fingerprint() == first),
                };
                end = match records.get(cut) {
                    Some(record) => Some(record.fingerprint()),
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
            // Other groups come first: this one is left to another pass.
            long = None;
            records.push(record);
        })?;
        records.sort_unstable();
        for group in records.chunk_by(|a, b| a.halves() == b.halves()) {
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
pub(crate) enum Group<'a, R> {
    /// In memory.
    Held(&'a [R]),
    /// Too many for memory: in the spill files.
    Long {
        /// The spill that holds the records.
        spill: &'a Spill<R>,
        /// The number of the partition, below 256.
        partition: usize,
        /// The fingerprint of all records of the group.
        fingerprint: Fingerprint,
    },
}

impl<R: Fingerprinted> Group<'_, R> {
    /// Calls `each` with the records until it fails; in the same order at every call.
    pub(crate) fn read(&self, mut each: impl FnMut(&R) -> io::Result<()>) -> io::Result<()> {
        match self {
            Group::Held(records) => records.iter().try_for_each(each),
            Group::Long { spill, partition, fingerprint } => {
                let mut outcome = Ok(());
                spill.read(*partition, |record| {
                    if outcome.is_ok() && record.fingerprint() == *fingerprint {
                        outcome = each(&record);
                    }
                })?;
                outcome
            }
        }
    }
}

/// Sorts `records` and merges those with one fingerprint.
fn reduce<R: Fingerprinted>(records: &mut Vec<R>, merge: impl Fn(&mut R, &R)) {
    records.sort_unstable();
    records.dedup_by(|later, earlier| {
        let is_same = later.halves() == earlier.halves();
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
    use crate::cluster::census::uncounted::RankedLines;
    use crate::cluster::firsts::Numbered;
    use crate::cluster::on_disk::records::Halves;
    use crate::cluster::on_disk::spill::temporary;
    use crate::fingerprint::FingerprintKey;

    #[test]
    fn agrees_with_a_map_however_little_fits() {
        let key = FingerprintKey::from_bytes([5; 16]);
        let spill = Spill::<RankedLines>::new(temporary(), 0);
        let mut twin: BTreeMap<Halves, RankedLines> = BTreeMap::new();
        for number in 0..3000u64 {
            // Every third one is the same.
            let name = if number % 3 == 0 { 0 } else { number % 700 };
            let fingerprint = Halves::of(key.fingerprint(&name.to_le_bytes()));
            let one = RankedLines { fingerprint, rank: 0, line: number, lines: 1 };
            spill.append(9, [one].into_iter()).unwrap();
            twin.entry(fingerprint).or_insert(RankedLines { lines: 0, ..one }).lines += 1;
        }
        spill.finish().unwrap();
        let expected: Vec<RankedLines> = twin.into_values().collect();
        for capacity in [0, 2, 3, 10, 100, 699, 5000] {
            let mut found = Vec::new();
            let mut reached = Some(Fingerprint(0));
            let merge =
                |earlier: &mut RankedLines, later: &RankedLines| earlier.lines += later.lines;
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
        let spill = Spill::<Numbered>::new(temporary(), 0);
        let mut twin: BTreeMap<Halves, Vec<u64>> = BTreeMap::new();
        for number in 0..3000u64 {
            // Two long groups, some of two records, and many of one.
            let name = if number % 3 == 0 { number % 2 } else { number % 1500 };
            let fingerprint = Halves::of(key.fingerprint(&name.to_le_bytes()));
            spill.append(9, [Numbered { fingerprint, number }].into_iter()).unwrap();
            twin.entry(fingerprint).or_default().push(number);
        }
        spill.finish().unwrap();
        for capacity in [0, 2, 3, 10, 499, 600, 5000] {
            let mut found = Vec::new();
            groups(&spill, 9, capacity, |group| {
                let mut numbers = Vec::new();
                let mut halves = None;
                for _ in 0..2 {
                    numbers.clear();
                    group.read(|record| {
                        halves = Some(record.fingerprint);
                        numbers.push(record.number);
                        Ok(())
                    })?;
                }
                assert!(matches!(group, Group::Long { .. }) || numbers.len() <= capacity.max(2));
                found.push((halves.unwrap(), numbers));
                Ok(())
            })
            .unwrap();
            assert!(found == twin.clone().into_iter().collect::<Vec<_>>(), "capacity {capacity}");
        }
    }

    #[test]
    fn errors_of_a_pass_are_told() {
        let spill = Spill::<Numbered>::new(temporary(), 0);
        let fingerprint = Halves { high: 0, low: 1 };
        spill.append(0, [Numbered { fingerprint, number: 2 }].into_iter()).unwrap();
        spill.finish().unwrap();
        let full = |_: &mut Vec<Numbered>, _| Err(io::ErrorKind::StorageFull.into());
        let error = resolve(&spill, 0, 10, |_, _| (), full).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
