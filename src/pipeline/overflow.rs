//! `dedup` where the clusters do not fit in memory.
//!
//! ```text
//! reading    records the set does not know --> Candidates (fingerprint, number), by partition
//!                                          \-> Backlog    (number, line), in input order
//! at the end partition by partition: sorted, the first record of each cluster --> Runs of numbers
//!            Runs, merged, side by side with the Backlog --> report::Output
//! ```

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::backlog::{self, Backlog};
use super::budget::Budget;
use super::pool::Pool;
use super::{Job, temp};
use crate::cluster::{Candidates, ClusterSet, Flags, Merged, Runs, Scattered, Seen, Sorted};
use crate::error::Result;
use crate::report::Output;

/// The records that wait for the end of the input.
pub(super) struct Overflow {
    budget: Budget,
    folder: PathBuf,
    candidates: Candidates,
    /// Records since it began: the number of the next one.
    records: u64,
    /// How many of them are candidates.
    pub(super) count: u64,
}

impl Overflow {
    /// Begins with nothing. From now on the set stays as it is.
    pub(super) fn new(job: &Job, budget: Budget) -> Result<Overflow> {
        let folder = job.memory.temp_dir.clone();
        let file = temp::open(&folder)?;
        let candidates = Candidates::new(file, budget.spill_buffer_bytes(), budget.recent_bytes());
        Ok(Overflow { budget, folder, candidates, records: 0, count: 0 })
    }

    /// Flags the candidates of a batch.
    pub(super) fn mark(
        &mut self,
        set: &ClusterSet,
        pool: &Pool,
        chunks: &[(Scattered, Flags)],
    ) -> Result<()> {
        let mut numbers = Vec::with_capacity(chunks.len());
        for (scattered, _) in chunks {
            numbers.push(self.records);
            self.records += scattered.len() as u64;
        }
        each_partition(&self.folder, pool, |partition| {
            self.candidates.mark(set, partition, chunks, &numbers)
        })
    }

    /// All has been read: writes the records of `backlog` that are the first of their cluster.
    /// Returns how many.
    pub(super) fn finish(
        &mut self,
        job: &Job,
        pool: &Pool,
        seen: &Seen,
        backlog: Backlog,
        output: &mut Output,
    ) -> Result<u64> {
        let (mut first, count) = self.first_of_each(job, pool, seen)?;
        backlog.read(|number, text| {
            if self.is_next(&mut first, number)? {
                output.line(text, job.input.separator)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        match first.peek().map_err(|error| temp::failed(&self.folder, error))? {
            None => Ok(count),
            Some(_) => Err(backlog::lost()),
        }
    }

    /// All has been read: the numbers of the records that are the first of their cluster, and how
    /// many they are.
    pub(super) fn first_of_each(
        &mut self,
        job: &Job,
        pool: &Pool,
        seen: &Seen,
    ) -> Result<(Merged<1>, u64)> {
        self.candidates.finish().map_err(|error| temp::failed(&self.folder, error))?;
        let kept = Runs::new(temp::open(&self.folder)?);
        let fresh = match seen.key() {
            Some(_) => Some(Sorted::new(temp::open(&self.folder)?)),
            None => None,
        };
        let capacity = self.budget.sort_capacity(3 * 8);
        let count = AtomicU64::new(0);
        job.watch.begin("sorting out", None);
        each_partition(&self.folder, pool, |partition| {
            let fresh = fresh.as_ref();
            let more = self.candidates.resolve(partition, capacity, seen, &kept, fresh)?;
            count.fetch_add(more, Ordering::Relaxed);
            Ok(())
        })?;
        job.watch.end();
        seen.check()?;
        if let Some(fresh) = fresh {
            seen.remember(fresh);
        }
        Ok((kept.merge(self.budget.merge_capacity(8)), count.into_inner()))
    }

    /// Is the record `number` one of those in `first`? Records in order.
    pub(super) fn is_next(&self, first: &mut Merged<1>, number: u64) -> Result<bool> {
        let found = first.next_if(number).map_err(|error| temp::failed(&self.folder, error))?;
        Ok(found.is_some())
    }

    /// Bytes of the file of candidates.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.candidates.spilled_bytes()
    }
}

/// Does `work` for every partition, on all threads, until one fails.
pub(super) fn each_partition(
    folder: &Path,
    pool: &Pool,
    work: impl Fn(usize) -> io::Result<()> + Sync,
) -> Result<()> {
    let first = Mutex::new(None);
    let lock = || first.lock().expect("no thread panics while it holds the lock");
    pool.share_partitions(
        || (),
        |(), partition| {
            if lock().is_some() {
                return;
            }
            if let Err(error) = work(partition) {
                lock().get_or_insert(error);
            }
        },
    );
    match first.into_inner().expect("no thread panics while it holds the lock") {
        None => Ok(()),
        Some(error) => Err(temp::failed(folder, error)),
    }
}
