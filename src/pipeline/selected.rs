//! The clusters that a job with a second look writes, by representative.

use std::iter::Peekable;
use std::sync::atomic::{AtomicU64, Ordering};
use std::vec;

use super::budget::Budget;
use super::overflow::each_partition;
use super::pool::{Pool, Stage};
use super::{Job, temp};
use crate::cluster::{Census, Counted, Merged, Occurrence, PARTITIONS, Runs, Uncounted};
use crate::error::Result;

/// The lines that a census has no room for.
pub(super) struct Rest {
    budget: Budget,
    uncounted: Uncounted,
}

impl Rest {
    /// None yet. From now on the census takes no new clusters in.
    pub(super) fn new(job: &Job, budget: Budget) -> Result<Rest> {
        let files = temp::open_some(&job.memory.temp_dir)?;
        Ok(Rest { budget, uncounted: Uncounted::new(files, budget.spill_buffer_bytes()) })
    }

    /// Counts a batch.
    pub(super) fn count(
        &self,
        job: &Job,
        pool: &Pool,
        census: &Census,
        batch: &[Occurrence],
    ) -> Result<()> {
        each_partition(&job.memory.temp_dir, pool, |partition| {
            self.uncounted.count(census, partition, batch.iter())
        })
    }

    /// All lines were counted: the clusters whose number of lines is `wanted`, of those spilled and
    /// of those of `census`, and how many there are in all.
    pub(super) fn select(
        &self,
        job: &Job,
        pool: &Pool,
        census: &Census,
        wanted: impl Fn(u64) -> bool + Sync,
    ) -> Result<(Selected, u64)> {
        let folder = &job.memory.temp_dir;
        self.uncounted.finish().map_err(|error| temp::failed(folder, error))?;
        let selected = Runs::new(temp::open(folder)?);
        let capacity = self.budget.sort_capacity(5 * 8);
        let clusters = AtomicU64::new(0);
        job.watch.begin("sorting out", None);
        each_partition(&job.memory.temp_dir, pool, |partition| {
            let more = self.uncounted.resolve(census, partition, capacity, &wanted, &selected)?;
            clusters.fetch_add(more, Ordering::Relaxed);
            Ok(())
        })?;
        job.watch.end();
        let merged = selected.merge(self.budget.merge_capacity(2 * 8));
        Ok((Selected::Merged(merged), clusters.into_inner()))
    }

    /// Bytes that went to files.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.uncounted.spilled_bytes()
    }
}

/// Clusters by representative.
pub(super) enum Selected {
    /// In memory.
    Listed(Peekable<vec::IntoIter<Counted>>),
    /// In files.
    Merged(Merged<2>),
}

impl Selected {
    /// The clusters of `census` whose number of lines is `wanted`.
    pub(super) fn listed(
        pool: &Pool,
        census: &Census,
        wanted: impl Fn(u64) -> bool + Sync,
    ) -> Selected {
        let select = |(): &mut (), partition| census.select(partition, &wanted);
        let selected = pool.map(Stage::Clustering, PARTITIONS, || (), select);
        let mut all = Vec::with_capacity(selected.iter().map(Vec::len).sum());
        selected.into_iter().for_each(|some| all.extend(some));
        pool.sort(&mut all);
        Selected::Listed(all.into_iter().peekable())
    }

    /// The next cluster, if the line that represents it is before `end`: its number, and how many lines
    /// the cluster has.
    pub(super) fn next_before(&mut self, job: &Job, end: u64) -> Result<Option<Counted>> {
        match self {
            Selected::Listed(clusters) => Ok(clusters.next_if(|[line, _]| *line < end)),
            Selected::Merged(merged) => {
                let mut next = || match merged.peek()? {
                    Some([line, _]) if line < end => merged.next_if(line),
                    _ => Ok(None),
                };
                next().map_err(|error| temp::failed(&job.memory.temp_dir, error))
            }
        }
    }
}
