//! Lines whose clusters have no room in a census.

use std::io;

use super::census::{Census, Keep, Line, Occurrence};
use super::resolve::resolve;
use super::runs::Runs;
use super::scatter::partition_of;
use super::spill::{Spill, SpillFiles, halves};
use crate::fingerprint::Fingerprint;

/// Lines that wait for the end of the input, because the census that would count them is full.
///
/// The census goes on to count the clusters it has. Lines of others are spilled by partition, and
/// brought down to clusters at the end, partition by partition.
#[derive(Debug)]
pub struct Uncounted {
    /// Fingerprint; rank and number of the line, which together say who represents the cluster; how
    /// many lines.
    spill: Spill<5>,
}

impl Uncounted {
    /// No lines yet. They will go to `files`, by way of buffers of `buffer_bytes`.
    pub fn new(files: SpillFiles, buffer_bytes: usize) -> Self {
        Uncounted { spill: Spill::new(files, buffer_bytes) }
    }

    /// Counts the records of `partition` in `census` where it has their cluster, and spills the
    /// others. Batches and chunks in order.
    pub fn count<'a>(
        &self,
        census: &Census,
        partition: usize,
        chunks: impl Iterator<Item = &'a Occurrence>,
    ) -> io::Result<()> {
        let mut found = Vec::new();
        census.count_known(partition, chunks, |fingerprint, line| {
            let [high, low] = halves(fingerprint);
            found.push([high, low, census.keep().rank(line), line.number, 1]);
        });
        self.spill.append(partition, found.into_iter())
    }

    /// Spills the line with this number, the first of those that are equal to it standing for all.
    /// Lines in order.
    pub fn add(&self, fingerprint: Fingerprint, line: u64) -> io::Result<()> {
        let [high, low] = halves(fingerprint);
        let rank = Keep::First.rank(Line { number: line, bytes: 0 });
        let record = [high, low, rank, line, 1];
        self.spill.append(partition_of(fingerprint), std::iter::once(record))
    }

    /// No more will come: writes what is still in the buffers.
    pub fn finish(&self) -> io::Result<()> {
        self.spill.finish()
    }

    /// Adds those clusters of `partition` whose number of lines is `wanted` to `selected`: those
    /// that were spilled, and those of `census`, which forgets them. Says how many clusters there
    /// are. Holds at most `capacity` spilled ones in memory.
    pub fn resolve(
        &self,
        census: &Census,
        partition: usize,
        capacity: usize,
        wanted: impl Fn(u64) -> bool,
        selected: &Runs<2>,
    ) -> io::Result<u64> {
        let (counted, mut clusters) = census.select(partition, &wanted);
        census.forget(partition);
        selected.add(counted.into_iter())?;
        let merge = |earlier: &mut [u64; 5], later: &[u64; 5]| earlier[4] += later[4];
        resolve(&self.spill, partition, capacity, merge, |records, _| {
            clusters += records.len() as u64;
            records.retain(|record| wanted(record[4]));
            records.sort_unstable_by_key(|record| record[3]);
            selected.add(records.iter().map(|record| [record[3], record[4]]))
        })?;
        Ok(clusters)
    }

    /// Bytes of the files.
    pub fn spilled_bytes(&self) -> u64 {
        self.spill.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::spill::temporary;
    use crate::cluster::{Counted, PARTITIONS, Scattered};
    use crate::fingerprint::FingerprintKey;

    #[test]
    fn agrees_with_a_census_that_has_room() {
        let key = FingerprintKey::from_bytes([4; 16]);
        let batches: Vec<Occurrence> = (0..20u64)
            .map(|batch| {
                let names = (0..500).map(|line| (batch * 500 + line) * 7919 % 3001);
                let forms: Vec<_> =
                    names.clone().map(|name| key.fingerprint(&name.to_le_bytes())).collect();
                Occurrence {
                    scattered: Scattered::new(&forms),
                    line_bytes: (0..500).map(|line| (line * 31 + batch as u32) % 17).collect(),
                    lines: (0..500).collect(),
                    first_line: 500 * batch,
                }
            })
            .collect();
        for keep in [Keep::First, Keep::Last, Keep::Shortest] {
            let whole = Census::new(keep);
            (0..PARTITIONS).for_each(|partition| whole.count(partition, batches.iter()));
            for (full_after, capacity, least) in [(0, 2, 0), (3, 5, 4), (19, 1000, 0)] {
                let census = Census::new(keep);
                let (before, after) = batches.split_at(full_after);
                let spill = Uncounted::new(temporary(), 0);
                for partition in 0..PARTITIONS {
                    census.count(partition, before.iter());
                    spill.count(&census, partition, after.iter()).unwrap();
                }
                spill.finish().unwrap();
                let selected = Runs::new(tempfile::tempfile().unwrap());
                let clusters: u64 = (0..PARTITIONS)
                    .map(|partition| {
                        let wanted = |lines| lines >= least;
                        spill.resolve(&census, partition, capacity, wanted, &selected).unwrap()
                    })
                    .sum();
                assert_eq!(clusters, whole.len());
                let mut merged = selected.merge(100);
                let select = |partition| whole.select(partition, |lines| lines >= least).0;
                let mut expected: Vec<Counted> = (0..PARTITIONS).flat_map(select).collect();
                expected.sort_unstable();
                for counted in expected {
                    assert_eq!(merged.next_if(counted[0]).unwrap(), Some(counted));
                }
                assert_eq!(merged.peek().unwrap(), None, "{keep:?} {full_after}");
            }
        }
    }
}
