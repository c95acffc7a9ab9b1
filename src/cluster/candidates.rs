//! Records of which a full set cannot say whether they are the first of their cluster.

use std::fs::File;
use std::io;
use std::sync::Mutex;

use super::resolve::resolve;
use super::runs::Runs;
use super::scatter::{Flags, PARTITIONS, Scattered};
use super::seen::Seen;
use super::set::ClusterSet;
use super::sorted::Sorted;
use super::spill::{Spill, fingerprint_of, halves};

/// Records that wait for the end of the input, because the set that would know them is full.
///
/// What is in the set is a duplicate at once. The rest is spilled, save what was spilled just
/// before; at the end every partition is sorted, and the first record of each cluster is kept.
///
/// Records have numbers here, in input order, from wherever the job begins to count.
#[derive(Debug)]
pub struct Candidates {
    /// Fingerprint, number.
    spill: Spill<3>,
    /// The latest candidate in each slot: a URL that comes again and again is spilled once, or now
    /// and then. A mutex each, as in [`ClusterSet`].
    recent: Box<[Mutex<Box<[u128]>>]>,
}

/// A slot of `recent` without a fingerprint.
const EMPTY: u128 = 0;

impl Candidates {
    /// No candidates yet. They will go to `file`, by way of buffers of `buffer_bytes`; the latest
    /// of them take `recent_bytes`.
    pub fn new(file: File, buffer_bytes: usize, recent_bytes: usize) -> Self {
        let slots = (recent_bytes / 16 / PARTITIONS).max(1);
        let table = || Mutex::new(vec![EMPTY; slots].into_boxed_slice());
        Candidates {
            spill: Spill::new(file, buffer_bytes),
            recent: (0..PARTITIONS).map(|_| table()).collect(),
        }
    }

    /// Flags the records of `partition` that are candidates, over the chunks of a batch in order.
    /// The records of the chunk `n` have the numbers from `numbers[n]` on.
    pub fn mark(
        &self,
        set: &ClusterSet,
        partition: usize,
        chunks: &[(Scattered, Flags)],
        numbers: &[u64],
    ) -> io::Result<()> {
        let mut recent =
            self.recent[partition].lock().expect("no thread panics while it holds a partition");
        let mut found = Vec::new();
        for ((scattered, flags), first) in chunks.iter().zip(numbers) {
            set.absent(partition, scattered, |place, fingerprint| {
                // The bits of the partition are the same for all.
                let at = ((fingerprint.0 >> 56) as u64 as u128 * recent.len() as u128) >> 64;
                let latest = &mut recent[at as usize];
                if *latest == fingerprint.0 && fingerprint.0 != EMPTY {
                    return;
                }
                *latest = fingerprint.0;
                flags.set(place);
                let [high, low] = halves(fingerprint);
                found.push([high, low, first + u64::from(scattered.record(place))]);
            });
        }
        self.spill.append(partition, found.into_iter())
    }

    /// No more will come: writes what is still in the buffers.
    pub fn finish(&mut self) -> io::Result<()> {
        self.recent = Box::default();
        self.spill.finish()
    }

    /// Adds the numbers of those of `partition` that are the first of their cluster, and not in the
    /// seen file, to `kept`, and their fingerprints to `fresh`; says how many they are. Holds at
    /// most `capacity` records in memory.
    pub fn resolve(
        &self,
        partition: usize,
        capacity: usize,
        seen: &Seen,
        kept: &Runs<1>,
        fresh: Option<&Sorted>,
    ) -> io::Result<u64> {
        let mut count = 0;
        resolve(
            &self.spill,
            partition,
            capacity,
            |_, _| (),
            |records, range| {
                seen.retain_new(partition, range, records)?;
                if let Some(fresh) = fresh {
                    fresh.append(partition, records.iter().map(fingerprint_of))?;
                }
                records.sort_unstable_by_key(|record| record[2]);
                count += records.len() as u64;
                kept.add(records.iter().map(|record| [record[2]]))
            },
        )?;
        Ok(count)
    }

    /// Bytes of the file.
    pub fn spilled_bytes(&self) -> u64 {
        self.spill.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Marks;
    use crate::fingerprint::{Fingerprint, FingerprintKey};

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
        for (recent_bytes, capacity) in [(0, 2), (1 << 20, 7), (0, 1000)] {
            let file = || tempfile::tempfile().unwrap();
            let mut candidates = Candidates::new(file(), 0, recent_bytes);
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
                for partition in 0..PARTITIONS {
                    candidates.mark(&set, partition, &chunks, &numbers).unwrap();
                }
                marked += chunks
                    .iter()
                    .map(|(scattered, flags)| Marks::new(scattered, flags).count())
                    .sum::<u64>();
            }
            candidates.finish().unwrap();
            let kept = Runs::new(file());
            let count: u64 = (0..PARTITIONS)
                .map(|partition| {
                    candidates.resolve(partition, capacity, &Seen::default(), &kept, None).unwrap()
                })
                .sum();
            assert!(count <= marked);
            let mut known = std::collections::HashSet::from([0, 1, 2]);
            let expected: Vec<u64> = (0u64..)
                .zip(&names)
                .filter_map(|(number, name)| known.insert(*name).then_some(number))
                .collect();
            assert_eq!(count, expected.len() as u64);
            let mut merged = kept.merge(100);
            for number in expected {
                assert_eq!(merged.next_if(number).unwrap(), Some([number]));
            }
            assert_eq!(merged.peek().unwrap(), None);
        }
    }
}
