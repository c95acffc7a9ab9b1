//! The clusters that a job with a second look writes, by representative.

use std::iter::Peekable;
use std::sync::atomic::{AtomicU64, Ordering};
use std::vec;

use super::budget::Budget;
use super::overflow::each_partition;
use super::pool::Pool;
use super::{Job, temp};
use crate::cluster::{Census, Cluster, Merged, Occurrence, Runs, Uncounted};
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
    Listed(Peekable<vec::IntoIter<Cluster>>),
    /// In files.
    Merged(Merged<2>),
}

impl Selected {
    /// How many lines the cluster has that `line` represents, if it does. Lines in order.
    pub(super) fn lines_of(&mut self, job: &Job, line: u64) -> Result<Option<u64>> {
        match self {
            Selected::Listed(clusters) => {
                let cluster = clusters.next_if(|cluster| cluster.representative == line);
                Ok(cluster.map(|cluster| cluster.lines))
            }
            Selected::Merged(merged) => {
                let counted =
                    merged.next_if(line).map_err(|e| temp::failed(&job.memory.temp_dir, e))?;
                Ok(counted.map(|[_, lines]| lines))
            }
        }
    }

    /// Have all of them been asked for?
    pub(super) fn is_done(&mut self, job: &Job) -> Result<bool> {
        match self {
            Selected::Listed(clusters) => Ok(clusters.peek().is_none()),
            Selected::Merged(merged) => match merged.peek() {
                Ok(next) => Ok(next.is_none()),
                Err(error) => Err(temp::failed(&job.memory.temp_dir, error)),
            },
        }
    }
}
