//! Records that a full set does not know, so that they may be the first of their cluster.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::firsts::{Firsts, Numbered};
use super::on_disk::numbers::Numbers;
use super::on_disk::records::{Fingerprinted, Halves};
use super::on_disk::sorted::Sorted;
use super::on_disk::spill::{Spill, SpillFiles};
use super::partitions::Partitions;
use super::scatter::{Flags, PARTITIONS, Scattered};
use super::seen::Seen;
use super::set::ClusterSet;
use crate::bytes::prefetch::prefetch;
use crate::fingerprint::Fingerprint;

/// Records that wait for the end of the input, because the set that would know them is full.
///
/// A record in the set is a duplicate, and so is one that was spilled recently. The others are
/// spilled. If hardly any record of the last batch that was looked up was known, the next batches
/// are spilled without looking them up. At the end the first record of each cluster is found,
/// partition by partition.
///
/// Records have numbers here, in input order, from wherever the job begins to count.
#[derive(Debug)]
pub struct Candidates {
    spill: Spill<Numbered>,
    /// The latest candidate in each slot: a URL that is repeated often is spilled once, or now and
    /// then.
    recent: Partitions<Box<[u128]>>,
    looks: Looks,
}

/// What was known when the records were spilled, and where the new ones go.
#[derive(Clone, Copy, Debug)]
pub struct Ledger<'a> {
    /// The set, as it was at every batch.
    pub set: &'a ClusterSet,
    /// The clusters of earlier runs that are not in the set.
    pub seen: &'a Seen,
    /// Gets the numbers of the new records.
    pub kept: &'a Numbers,
    /// Gets their fingerprints, if a seen file will be written.
    pub fresh: Option<&'a Sorted>,
}

/// Decides whether records are looked up before they are spilled.
///
/// Reason: a look-up waits for memory twice, and costs little at the end, when a partition has the
/// caches to itself. A duplicate that is spilled takes room in files, so there should be few.
#[derive(Debug, Default)]
struct Looks {
    /// Is the batch spilled without looking it up?
    is_off: bool,
    /// Was any batch spilled without looking it up?
    was_off: bool,
    /// Batches that are still to be spilled whole.
    batches_off: u32,
    /// Records that were looked up in the previous batch, and how many of them were known.
    asked: AtomicU64,
    known: AtomicU64,
}

/// The next batches are spilled whole if the number of new records is more than this multiple of
/// the known ones.
const NEW_TIMES_MIN: u64 = 8;

/// Batches that are spilled whole after one that was looked up.
const BATCHES_OFF: u32 = 7;

impl Looks {
    fn next_batch(&mut self) {
        let (asked, known) = (*self.asked.get_mut(), *self.known.get_mut());
        if !self.is_off && known * (NEW_TIMES_MIN + 1) < asked {
            self.batches_off = BATCHES_OFF;
        }
        self.is_off = self.batches_off > 0;
        self.was_off |= self.is_off;
        self.batches_off -= u32::from(self.is_off);
        (*self.asked.get_mut(), *self.known.get_mut()) = (0, 0);
    }
}

/// A slot of `recent` without a fingerprint.
const EMPTY: u128 = 0;

/// The records of one partition, over the chunks of a batch, in order.
#[derive(Debug, Default)]
pub struct PartitionRecords {
    records: Vec<PendingRecord>,
}

#[derive(Clone, Copy, Debug)]
struct PendingRecord {
    fingerprint: Fingerprint,
    number: u64,
    chunk: u32,
    /// Its place in the chunk's [`Scattered`].
    place: u32,
}

/// How many records are looked up at once.
const GROUP: usize = 32;

impl PartitionRecords {
    fn gather(&mut self, partition: usize, chunks: &[(Scattered, Flags)], numbers: &[u64]) {
        self.records.clear();
        for ((chunk, (scattered, _)), first) in (0u32..).zip(chunks).zip(numbers) {
            let records = scattered.places(partition).zip(scattered.pairs(partition));
            self.records.extend(records.map(|((place, fingerprint), (record, _))| PendingRecord {
                fingerprint,
                number: first + u64::from(record),
                chunk,
                place,
            }));
        }
    }
}

impl Candidates {
    /// Begins without candidates. They go to `files`, through buffers of `buffer_bytes`; the latest
    /// of them take `recent_bytes`.
    pub fn new(files: SpillFiles, buffer_bytes: usize, recent_bytes: usize) -> Self {
        let slots = (recent_bytes / 16 / PARTITIONS).max(1);
        Candidates {
            spill: Spill::new(files, buffer_bytes),
            recent: Partitions::new(|| vec![EMPTY; slots].into_boxed_slice()),
            looks: Looks::default(),
        }
    }

    /// To be called before each batch.
    pub fn next_batch(&mut self) {
        self.looks.next_batch();
    }

    /// Flags the records of `partition` that are candidates, over the chunks of a batch in order.
    /// The records of the chunk `n` have the numbers from `numbers[n]` on. `gathered` is memory
    /// that is used again.
    pub fn mark(
        &self,
        set: &ClusterSet,
        partition: usize,
        chunks: &[(Scattered, Flags)],
        numbers: &[u64],
        gathered: &mut PartitionRecords,
    ) -> io::Result<()> {
        // Another thread may have scattered them: prefetch all of them.
        chunks.iter().for_each(|(scattered, _)| scattered.prefetch(partition));
        if self.looks.is_off {
            let mut spill = self.spill.appender(partition);
            for ((scattered, flags), first) in chunks.iter().zip(numbers) {
                let records = scattered.places(partition).zip(scattered.pairs(partition));
                for ((place, fingerprint), (record, _)) in records {
                    flags.set(place);
                    let fingerprint = Halves::of(fingerprint);
                    spill.push(Numbered { fingerprint, number: first + u64::from(record) })?;
                }
            }
            return Ok(());
        }
        let mut recent = self.recent.lock(partition);
        let table = set.partition(partition);
        let mut spill = self.spill.appender(partition);
        gathered.gather(partition, chunks, numbers);
        // The bits of the partition are the same for all.
        let slots = recent.len() as u128;
        let slot = |one: &PendingRecord| {
            (((one.fingerprint.0 >> 56) as u64 as u128 * slots) >> 64) as usize
        };
        // Bet: neither is in the cache, so the places of a group are prefetched first. There are
        // few records of a partition in one chunk, so groups go over all chunks.
        let mut known = 0;
        for group in gathered.records.chunks(GROUP) {
            for one in group {
                table.prefetch(one.fingerprint);
                prefetch(&recent[slot(one)]);
            }
            for one in group {
                let latest = &mut recent[slot(one)];
                let fingerprint = one.fingerprint;
                if table.contains(fingerprint) || *latest == fingerprint.0 && fingerprint.0 != EMPTY
                {
                    known += 1;
                    continue;
                }
                *latest = fingerprint.0;
                chunks[one.chunk as usize].1.set(one.place);
                let fingerprint = Halves::of(fingerprint);
                spill.push(Numbered { fingerprint, number: one.number })?;
            }
        }
        self.looks.asked.fetch_add(gathered.records.len() as u64, Ordering::Relaxed);
        self.looks.known.fetch_add(known, Ordering::Relaxed);
        Ok(())
    }

    /// To be called after the last record: writes what is still in the buffers.
    pub fn finish(&mut self) -> io::Result<()> {
        self.recent = Partitions::default();
        self.spill.finish()
    }

    /// Adds the records of `partition` that are the first of their cluster to the `ledger`. Holds
    /// at most `capacity` records in memory, in `firsts`.
    pub fn resolve(
        &self,
        firsts: &mut Firsts,
        partition: usize,
        capacity: usize,
        ledger: Ledger,
    ) -> io::Result<()> {
        let Ledger { set, seen, kept, fresh } = ledger;
        let table = set.partition(partition);
        // Candidates that were looked up are not in the set; records of batches that were not
        // looked up may be.
        let known = table.sorted().take(if self.looks.was_off { usize::MAX } else { 0 });
        firsts.of_partition(&self.spill, partition, capacity, known, |records, range| {
            if fresh.is_some() || !seen.is_in_memory() {
                records.sort_unstable();
                seen.retain_new(partition, range, records)?;
                if let Some(fresh) = fresh {
                    fresh.append(partition, records.iter().map(Numbered::fingerprint))?;
                }
                records.sort_unstable_by_key(|record| record.number);
            }
            kept.add(records.iter().map(|record| record.number))
        })
    }

    /// Bytes of the files.
    pub fn spilled_bytes(&self) -> u64 {
        self.spill.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::KeepBitmap;
    use crate::cluster::on_disk::spill::temporary;
    use crate::fingerprint::FingerprintKey;

    #[test]
    fn the_first_of_each_cluster_is_kept() {
        let key = FingerprintKey::from_bytes([2; 16]);
        let set = ClusterSet::default();
        let fingerprint = |name: u64| match name {
            3 => Fingerprint(EMPTY),
            name => key.fingerprint(&name.to_le_bytes()),
        };
        (0..3).for_each(|name| assert!(set.insert(fingerprint(name))));
        let names: Vec<u64> = (0..20_000).map(|number| number * number % 4099).collect();
        for (recent_bytes, capacity, is_off) in
            [(0, 2, false), (1 << 20, 7, false), (0, 1000, false), (1 << 20, 1000, true)]
        {
            let file = || tempfile::tempfile().unwrap();
            let mut candidates = Candidates::new(temporary(), 0, recent_bytes);
            if is_off {
                candidates.looks.batches_off = 2;
            }
            let mut marked = 0;
            for (batch, names) in names.chunks(6000).enumerate() {
                let chunks: Vec<(Scattered, Flags)> = names
                    .chunks(1000)
                    .map(|names| {
                        let all: Vec<_> = names.iter().map(|name| fingerprint(*name)).collect();
                        let scattered = Scattered::new(&all);
                        let flags = Flags::new(&scattered);
                        (scattered, flags)
                    })
                    .collect();
                let first = 6000 * batch as u64;
                let numbers: Vec<u64> =
                    (0..chunks.len() as u64).map(|chunk| first + 1000 * chunk).collect();
                candidates.next_batch();
                // With little room for the latest candidates, few records may be known, and batches
                // are skipped.
                if recent_bytes > 0 {
                    assert_eq!(candidates.looks.is_off, is_off && batch < 2);
                }
                let mut gathered = PartitionRecords::default();
                for partition in 0..PARTITIONS {
                    candidates.mark(&set, partition, &chunks, &numbers, &mut gathered).unwrap();
                }
                marked += chunks
                    .iter()
                    .map(|(scattered, flags)| KeepBitmap::new(scattered, flags).count())
                    .sum::<u64>();
            }
            candidates.finish().unwrap();
            let kept = Numbers::new(file());
            let mut firsts = Firsts::default();
            let seen = Seen::default();
            let ledger = Ledger { set: &set, seen: &seen, kept: &kept, fresh: None };
            for partition in 0..PARTITIONS {
                candidates.resolve(&mut firsts, partition, capacity, ledger).unwrap();
            }
            let count = kept.count();
            assert!(count <= marked);
            let mut known = std::collections::HashSet::from([0, 1, 2]);
            let expected: Vec<u64> = (0u64..)
                .zip(&names)
                .filter_map(|(number, name)| known.insert(*name).then_some(number))
                .collect();
            assert_eq!(count, expected.len() as u64);
            let mut kept = kept.ask(100);
            for number in 0..names.len() as u64 {
                let is_kept = kept.contains(number).unwrap();
                assert_eq!(is_kept, expected.binary_search(&number).is_ok());
            }
            assert!(kept.is_done());
        }
    }

    #[test]
    fn batches_are_spilled_whole_while_few_records_are_known() {
        let mut looks = Looks::default();
        let mut off = Vec::new();
        for known in [1, 0, 99, 99, 99, 99, 99, 99, 99, 99, 11, 99] {
            looks.next_batch();
            off.push(looks.is_off);
            if !looks.is_off {
                (*looks.asked.get_mut(), *looks.known.get_mut()) = (99, known);
            }
        }
        // The first was looked up, seven were not, and from then on too many were known.
        let expected: Vec<bool> = (0..12).map(|batch| (1..8).contains(&batch)).collect();
        assert_eq!(off, expected);
        assert!(looks.was_off);
        *looks.known.get_mut() = 10;
        looks.next_batch();
        assert!(looks.is_off);
    }
}
