//! `dedup` where the clusters do not fit in memory.
//!
//! ```text
//! reading    records the set does not know --> Candidates (fingerprint, number), by partition
//!                                          \-> Backlog    (number, line), in input order
//! at the end partition by partition: the first record of each cluster --> Numbers
//!            Numbers, in order, side by side with the Backlog --> report::Output
//! ```

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::backlog::{self, Backlog};
use crate::cluster::{
    Candidates, ClusterSet, Firsts, Flags, Ledger, NumberLookup, Numbers, PartitionRecords,
    Scattered, Seen, Sorted,
};
use crate::error::Result;
use crate::pipeline::budget::Budget;
use crate::pipeline::threads::background_writer::write_in_background;
use crate::pipeline::threads::pool::try_each_partition_with;
use crate::pipeline::{Job, RunContext, temp};
use crate::report::Output;

/// The records that wait for the end of the input.
pub(super) struct Overflow {
    budget: Budget,
    folder: PathBuf,
    candidates: Candidates,
    /// Records since it began: the number of the next one.
    records: u64,
    /// How many records are candidates.
    pub(super) count: u64,
    /// Bytes of the files of first records.
    found_bytes: u64,
}

impl Overflow {
    /// Begins without records. From now on the set does not change.
    pub(super) fn new(job: &Job, budget: Budget) -> Result<Overflow> {
        let folder = job.memory.temp_dir.clone();
        let files = temp::open_some(&folder)?;
        let candidates = Candidates::new(files, budget.spill_buffer_bytes(), budget.recent_bytes());
        Ok(Overflow { budget, folder, candidates, records: 0, count: 0, found_bytes: 0 })
    }

    /// Flags the candidates of a batch.
    pub(super) fn mark(
        &mut self,
        run: RunContext,
        set: &ClusterSet,
        chunks: &[(Scattered, Flags)],
    ) -> Result<()> {
        let mut numbers = Vec::with_capacity(chunks.len());
        for (scattered, _) in chunks {
            numbers.push(self.records);
            self.records += scattered.len() as u64;
        }
        self.candidates.next_batch();
        try_each_partition_with(run, PartitionRecords::default, |gathered, partition| {
            self.candidates.mark(set, partition, chunks, &numbers, gathered)
        })
    }

    /// To be called at the end of the input: writes the records of `backlog` that are the first of
    /// their cluster, and returns how many.
    pub(super) fn finish(
        &mut self,
        run: RunContext,
        seen: &Seen,
        backlog: Backlog,
        output: &mut Output,
    ) -> Result<u64> {
        let (mut first, count) = self.first_of_each(run, seen.set(), seen)?;
        let separator = run.job.input.separator;
        let keeps = |number| self.is_next(&mut first, number);
        write_in_background(run.pool, output, |writer| {
            backlog.read(separator, keeps, |text, is_end| {
                run.job.check_stop()?;
                writer.write(text)?;
                // The last line of a file may lack its separator.
                if is_end && text.last() != Some(&separator) {
                    writer.write(&[separator])?;
                }
                Ok(ControlFlow::Continue(()))
            })
        })?;
        if first.is_done() { Ok(count) } else { Err(backlog::lost()) }
    }

    /// To be called at the end of the input: returns the numbers of the records that are the first
    /// of their cluster, and in neither `set` nor `seen`; and how many there are.
    pub(super) fn first_of_each(
        &mut self,
        run: RunContext,
        set: &ClusterSet,
        seen: &Seen,
    ) -> Result<(NumberLookup, u64)> {
        self.candidates.finish().map_err(|error| temp::failed(&self.folder, error))?;
        let kept = Numbers::new(temp::open(&self.folder)?);
        let fresh = match seen.is_to_be_written() {
            true => Some(Sorted::new(temp::open(&self.folder)?)),
            false => None,
        };
        let capacity = self.budget.sort_capacity(Firsts::BYTES_PER_RECORD);
        let ledger = Ledger { set, seen, kept: &kept, fresh: fresh.as_ref() };
        let _sorting = run.job.begin_pass("sorting out", None);
        try_each_partition_with(run, Firsts::default, |firsts, partition| {
            self.candidates.resolve(firsts, partition, capacity, ledger)
        })?;
        self.found_bytes = kept.bytes() + fresh.as_ref().map_or(0, Sorted::bytes);
        seen.check()?;
        if let Some(fresh) = fresh {
            seen.remember(fresh);
        }
        let count = kept.count();
        Ok((kept.ask(self.budget.window_bytes()), count))
    }

    /// Is the record `number` in `first`? To be asked in ascending order.
    pub(super) fn is_next(&self, first: &mut NumberLookup, number: u64) -> Result<bool> {
        first.contains(number).map_err(|error| temp::failed(&self.folder, error))
    }

    /// Bytes of the files of candidates, and of first records so far.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.candidates.spilled_bytes() + self.found_bytes
    }
}
