//! `dedup` where the clusters do not fit in memory.
//!
//! ```text
//! reading    records the set does not know --> Candidates (fingerprint, number), by partition
//!                                          \-> Backlog    (number, line), in input order
//! at the end partition by partition: sorted, the first record of each cluster --> Runs of numbers
//!            Runs, merged, side by side with the Backlog --> report::Output
//! ```

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::backlog::{self, Backlog};
use super::budget::Budget;
use super::scan::share;
use super::{Job, temp};
use crate::cluster::{Candidates, ClusterSet, Marks, PARTITIONS, Runs, Scattered, Seen, Sorted};
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

    /// Marks the candidates of a batch.
    pub(super) fn mark(
        &mut self,
        set: &ClusterSet,
        pool: &rayon::ThreadPool,
        chunks: &[(Scattered, Marks)],
    ) -> Result<()> {
        let mut numbers = Vec::with_capacity(chunks.len());
        for (scattered, _) in chunks {
            numbers.push(self.records);
            self.records += scattered.len() as u64;
        }
        let failure = Mutex::new(None);
        share(
            pool,
            PARTITIONS,
            || (),
            |(), partition| {
                if let Err(error) = self.candidates.mark(set, partition, chunks, &numbers) {
                    keep(&failure, error);
                }
            },
        );
        self.count += chunks.iter().map(|(_, marks)| marks.count()).sum::<u64>();
        self.check(failure)
    }

    /// All has been read: writes the records of `backlog` that are the first of their cluster.
    /// Returns how many.
    pub(super) fn finish(
        &mut self,
        job: &Job,
        pool: &rayon::ThreadPool,
        seen: &Seen,
        backlog: Backlog,
        output: &mut Output,
    ) -> Result<u64> {
        self.candidates.finish().map_err(|error| temp::failed(&self.folder, error))?;
        let kept = Runs::new(temp::open(&self.folder)?);
        let fresh = match seen.key() {
            Some(_) => Some(Sorted::new(temp::open(&self.folder)?)),
            None => None,
        };
        let capacity = self.budget.sort_capacity(3 * 8);
        let resolve =
            |partition| self.candidates.resolve(partition, capacity, seen, &kept, fresh.as_ref());
        let failure = Mutex::new(None);
        let count = AtomicU64::new(0);
        job.watch.begin("sorting out", None);
        share(
            pool,
            PARTITIONS,
            || (),
            |(), partition| {
                // Once one has failed the others need not go on.
                let is_fine = || failure.lock().is_ok_and(|failure| failure.is_none());
                match is_fine().then(|| resolve(partition)) {
                    Some(Ok(more)) => drop(count.fetch_add(more, Ordering::Relaxed)),
                    Some(Err(error)) => keep(&failure, error),
                    None => {}
                }
            },
        );
        self.check(failure)?;
        seen.check()?;
        if let Some(fresh) = fresh {
            seen.remember(fresh);
        }
        let mut kept = kept.merge(self.budget.merge_capacity(8));
        let failed = |error| temp::failed(&self.folder, error);
        backlog.read(|number, text| match kept.next_if(number).map_err(failed)? {
            Some(_) => output.line(text, job.input.separator),
            None => Ok(()),
        })?;
        job.watch.end();
        match kept.peek().map_err(failed)? {
            None => Ok(count.into_inner()),
            Some(_) => Err(backlog::lost()),
        }
    }

    /// Bytes of the file of candidates.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.candidates.spilled_bytes()
    }

    fn check(&self, failure: Mutex<Option<std::io::Error>>) -> Result<()> {
        match failure.into_inner().expect("no thread panics while it holds the lock") {
            None => Ok(()),
            Some(error) => Err(temp::failed(&self.folder, error)),
        }
    }
}

/// Keeps the first of several errors.
fn keep(failure: &Mutex<Option<std::io::Error>>, error: std::io::Error) {
    failure.lock().expect("no thread panics while it holds the lock").get_or_insert(error);
}
