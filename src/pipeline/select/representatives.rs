//! The clusters that are written by their representatives, after a census.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cluster::{Census, Cluster, Merged, Occurrence, PARTITIONS, Runs, Uncounted};
use crate::error::Result;
use crate::pipeline::budget::Budget;
use crate::pipeline::threads::pool::{Pool, Stage, try_each_partition};
use crate::pipeline::{Job, RunContext, temp};

/// The lines that do not fit in a census.
pub(super) struct Rest {
    budget: Budget,
    uncounted: Uncounted,
    /// Bytes of the file of the clusters that were selected.
    selected_bytes: u64,
}

impl Rest {
    /// Begins with no lines. From now on the census takes no new clusters.
    pub(super) fn new(job: &Job, budget: Budget) -> Result<Rest> {
        let files = temp::open_some(&job.memory.temp_dir)?;
        let uncounted = Uncounted::new(files, budget.spill_buffer_bytes());
        Ok(Rest { budget, uncounted, selected_bytes: 0 })
    }

    /// Counts a batch.
    pub(super) fn count(
        &self,
        run: RunContext,
        census: &Census,
        batch: &[Occurrence],
    ) -> Result<()> {
        try_each_partition(run, |partition| self.uncounted.count(census, partition, batch.iter()))
    }

    /// Returns the clusters whose number of lines is `wanted`, of those spilled and of those in
    /// `census`, and how many clusters there are in all. To be called when all lines are counted.
    pub(super) fn select(
        &mut self,
        run: RunContext,
        census: &Census,
        wanted: impl Fn(u64) -> bool + Sync,
    ) -> Result<(Selected, u64)> {
        let RunContext { job, .. } = run;
        let folder = &job.memory.temp_dir;
        self.uncounted.finish().map_err(|error| temp::failed(folder, error))?;
        let selected = Runs::new(temp::open(folder)?);
        let capacity = self.budget.sort_capacity(Uncounted::CLUSTER_BYTES);
        let clusters = AtomicU64::new(0);
        let _sorting = job.begin_pass("sorting out", None);
        try_each_partition(run, |partition| {
            let (counted, count) = census.select(partition, &wanted);
            census.forget(partition);
            selected.add(counted.into_iter())?;
            let more = self.uncounted.resolve(partition, capacity, &wanted, &selected)?;
            clusters.fetch_add(count + more, Ordering::Relaxed);
            Ok(())
        })?;
        self.selected_bytes = selected.bytes();
        let merged = selected.merge(self.budget.merge_capacity(size_of::<Cluster>()));
        Ok((Selected::Merged(merged), clusters.into_inner()))
    }

    /// Bytes written to files so far.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.uncounted.spilled_bytes() + self.selected_bytes
    }
}

/// For each line of a range: how many lines the cluster has that it represents; 0 if it represents
/// no wanted cluster.
pub(super) type Represented = Vec<u64>;

/// Clusters by representative.
pub(super) enum Selected {
    /// In memory, by partition, in order.
    Listed(Vec<Vec<Cluster>>),
    /// In files.
    Merged(Merged<Cluster>),
}

impl Selected {
    /// Returns the clusters of `census` whose number of lines is `wanted`, and how many clusters
    /// there are in all. With `forgets`, the memory of the census is freed.
    pub(super) fn listed(
        pool: &Pool,
        census: &Census,
        forgets: bool,
        wanted: impl Fn(u64) -> bool + Sync,
    ) -> (Selected, u64) {
        let clusters = AtomicU64::new(0);
        let selected = pool.map(Stage::Clustering, PARTITIONS, |partition| {
            let (listed, count) = census.select(partition, &wanted);
            if forgets {
                census.forget(partition);
            }
            clusters.fetch_add(count, Ordering::Relaxed);
            listed
        });
        (Selected::Listed(selected), clusters.into_inner())
    }

    /// What the files say about the lines in `range`; ranges come in order. `None` if the clusters
    /// are in memory.
    pub(super) fn read(&mut self, job: &Job, range: Range<u64>) -> Result<Option<Represented>> {
        let Selected::Merged(merged) = self else { return Ok(None) };
        let mut represented = none_of(&range);
        let mut next = || match merged.peek()? {
            Some(cluster) if cluster.representative < range.end => merged.next_record(),
            _ => Ok(None),
        };
        while let Some(cluster) =
            next().map_err(|error| temp::failed(&job.memory.temp_dir, error))?
        {
            represented[(cluster.representative - range.start) as usize] = cluster.lines;
        }
        Ok(Some(represented))
    }

    /// What memory says about the lines in `range`; nothing if the clusters are in files.
    pub(super) fn look_up(&self, range: Range<u64>) -> Represented {
        let mut represented = none_of(&range);
        let partitions =
            if let Selected::Listed(partitions) = self { &partitions[..] } else { &[] };
        for clusters in partitions {
            let first = clusters.partition_point(|one| one.representative < range.start);
            let those = clusters[first..].iter().take_while(|one| one.representative < range.end);
            those.for_each(|one| {
                represented[(one.representative - range.start) as usize] = one.lines;
            });
        }
        represented
    }

    /// Are all representatives among the first `lines` lines? Those in files must have been read up
    /// to there.
    pub(super) fn end_before(&mut self, job: &Job, lines: u64) -> Result<bool> {
        match self {
            Selected::Listed(partitions) => {
                let mut last = partitions.iter().filter_map(|clusters| clusters.last());
                Ok(last.all(|cluster| cluster.representative < lines))
            }
            Selected::Merged(merged) => {
                let next = merged.peek().map_err(|error| temp::failed(&job.memory.temp_dir, error));
                Ok(next?.is_none())
            }
        }
    }
}

fn none_of(range: &Range<u64>) -> Represented {
    vec![0; (range.end - range.start) as usize]
}
