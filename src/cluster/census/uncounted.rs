//! Lines whose clusters do not fit in a census.

use std::io;

use super::{Census, Cluster, Keep, Line, Occurrence};
use crate::cluster::on_disk::records::{Fingerprinted, Halves, Record};
use crate::cluster::on_disk::resolve::resolve;
use crate::cluster::on_disk::runs::Runs;
use crate::cluster::on_disk::spill::{Spill, SpillFiles};
use crate::cluster::scatter::partition_of;
use crate::fingerprint::Fingerprint;

/// Lines that wait for the end of the input, because the census that would count them is full.
///
/// The census still counts lines of the clusters that it has. Lines of others are spilled by
/// partition, and reduced to clusters at the end, partition by partition.
#[derive(Debug)]
pub struct Uncounted {
    spill: Spill<RankedLines>,
}

/// Some lines of a cluster. Groups of one cluster sort by the line that represents them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RankedLines {
    pub(crate) fingerprint: Halves,
    /// Rank and number of the line that represents them; the least of all represents the cluster.
    pub(crate) rank: u64,
    pub(crate) line: u64,
    /// How many lines there are.
    pub(crate) lines: u64,
}

impl Record for RankedLines {
    type Words = [u64; 5];

    #[inline]
    fn to_words(self) -> [u64; 5] {
        let RankedLines { fingerprint: Halves { high, low }, rank, line, lines } = self;
        [high, low, rank, line, lines]
    }

    #[inline]
    fn from_words([high, low, rank, line, lines]: [u64; 5]) -> Self {
        RankedLines { fingerprint: Halves { high, low }, rank, line, lines }
    }
}

impl Fingerprinted for RankedLines {
    #[inline]
    fn halves(&self) -> Halves {
        self.fingerprint
    }
}

impl Uncounted {
    /// Bytes of memory that a cluster takes in [`Uncounted::resolve`].
    pub const CLUSTER_BYTES: usize = size_of::<RankedLines>();

    /// Begins without lines. They go to `files`, through buffers of `buffer_bytes`.
    pub fn new(files: SpillFiles, buffer_bytes: usize) -> Self {
        Uncounted { spill: Spill::new(files, buffer_bytes) }
    }

    /// Counts the records of `partition` whose cluster `census` has, and spills the others. Batches
    /// and chunks come in order.
    pub fn count<'a>(
        &self,
        census: &Census,
        partition: usize,
        chunks: impl Iterator<Item = &'a Occurrence>,
    ) -> io::Result<()> {
        let mut found = Vec::new();
        census.count_known(partition, chunks, |fingerprint, line| {
            found.push(RankedLines {
                fingerprint: Halves::of(fingerprint),
                rank: census.keep().rank(line),
                line: line.number,
                lines: 1,
            });
        });
        self.spill.append(partition, found.into_iter())
    }

    /// Spills the line with this number. Of lines with one fingerprint, the first represents all.
    /// Lines come in order.
    pub fn add(&self, fingerprint: Fingerprint, line: u64) -> io::Result<()> {
        let rank = Keep::First.rank(Line { number: line, bytes: 0 });
        let one = RankedLines { fingerprint: Halves::of(fingerprint), rank, line, lines: 1 };
        self.spill.append(partition_of(fingerprint), std::iter::once(one))
    }

    /// To be called after the last line: writes what is still in the buffers.
    pub fn finish(&self) -> io::Result<()> {
        self.spill.finish()
    }

    /// Adds those of the spilled clusters of `partition` whose number of lines is `wanted` to
    /// `selected`. Returns how many clusters were spilled. Holds at most `capacity` of them in
    /// memory.
    pub fn resolve(
        &self,
        partition: usize,
        capacity: usize,
        wanted: impl Fn(u64) -> bool,
        selected: &Runs<Cluster>,
    ) -> io::Result<u64> {
        let mut clusters = 0;
        let merge = |earlier: &mut RankedLines, later: &RankedLines| earlier.lines += later.lines;
        resolve(&self.spill, partition, capacity, merge, |records, _| {
            clusters += records.len() as u64;
            records.retain(|record| wanted(record.lines));
            records.sort_unstable_by_key(|record| record.line);
            let cluster =
                |record: &RankedLines| Cluster { representative: record.line, lines: record.lines };
            selected.add(records.iter().map(cluster))
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
    use crate::cluster::on_disk::spill::temporary;
    use crate::cluster::{PARTITIONS, Scattered};
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
                        let (counted, count) = census.select(partition, wanted);
                        selected.add(counted.into_iter()).unwrap();
                        count + spill.resolve(partition, capacity, wanted, &selected).unwrap()
                    })
                    .sum();
                assert_eq!(clusters, whole.len());
                let mut merged = selected.merge(100);
                let select = |partition| whole.select(partition, |lines| lines >= least).0;
                let mut expected: Vec<Cluster> = (0..PARTITIONS).flat_map(select).collect();
                expected.sort_unstable();
                for cluster in expected {
                    let found = merged.next_if(cluster.representative).unwrap();
                    assert_eq!(found, Some(cluster));
                }
                assert_eq!(merged.peek().unwrap(), None, "{keep:?} {full_after}");
            }
        }
    }
}
