//! Records of a report that wait for the end of the input, because their forms do not fit in
//! memory.

use std::io;
use std::sync::Mutex;

use super::ladders_of;
use super::look::Surveyed;
use crate::cluster::{Levels, PageTotals, Places, Unplaced};
use crate::error::{Error, Result, Setting};
use crate::input::Mapped;
use crate::pipeline::scan::BatchChunk;
use crate::pipeline::threads::pool::{Pool, try_each_partition};
use crate::pipeline::{Job, RunContext, temp};

/// The records.
pub(super) struct Waiting<'a> {
    job: &'a Job<'a>,
    pool: &'a Pool,
    unplaced: Unplaced,
    /// The number of the line at which the records begin.
    pub(super) first_line: u64,
    /// Bytes of memory that the forms took then.
    pub(super) forms_bytes: u64,
}

impl<'a> Waiting<'a> {
    /// Begins without records, and moves the `forms` from memory to files. Records from
    /// `first_line` on will wait.
    pub(super) fn begin(
        job: &'a Job,
        pool: &'a Pool,
        forms: &Levels,
        first_line: u64,
    ) -> Result<Waiting<'a>> {
        let folder = &job.memory.temp_dir;
        let (files, places) = (temp::open_some(folder)?, temp::open(folder)?);
        let forms_bytes = forms.memory_bytes();
        let buffer_bytes = job.budget().spill_buffer_bytes();
        let unplaced = Unplaced::new(forms, files, places, buffer_bytes);
        let run = RunContext { job, pool };
        try_each_partition(run, |partition| unplaced.take(partition, forms))?;
        Ok(Waiting { job, pool, unplaced, first_line, forms_bytes })
    }

    /// Adds the records of a batch. Batches have to come in order.
    pub(super) fn add(&self, batch: &[BatchChunk<Surveyed>]) -> Result<()> {
        let run = RunContext { job: self.job, pool: self.pool };
        try_each_partition(run, |partition| self.unplaced.add(partition, ladders_of(batch)))
    }

    /// To be called when all records were added: finds out at which level each of them merges, in
    /// `bytes_max` of memory, and returns the `top` largest clusters.
    pub(super) fn settle(self, bytes_max: u64, top: usize) -> Result<(PageTotals, Settled)> {
        let Waiting { job, pool, unplaced, first_line, .. } = self;
        let folder = &job.memory.temp_dir;
        unplaced.finish().map_err(|error| temp::failed(folder, error))?;
        let found = Mutex::new(PageTotals::default());
        // Two thirds, since a table of forms that grows is in memory twice for a while.
        let bytes_each = bytes_max / 3 * 2 / job.workers() as u64;
        let sorting = job.begin_pass("sorting out", None);
        try_each_partition(RunContext { job, pool }, |partition| {
            let more = unplaced.resolve(partition, bytes_each, top)?;
            let more = more.ok_or_else(|| io::Error::other(too_little(job)))?;
            found.lock().expect("no thread panics while it holds the lock").add(more, top);
            Ok(())
        })?;
        drop(sorting);
        let found = found.into_inner().expect("no thread panics while it holds the lock");
        let spilled_bytes = unplaced.spilled_bytes();
        let (file, places) = unplaced.into_places();
        let map = temp::map(folder, file)?;
        Ok((found, Settled { map, places, first_line, spilled_bytes }))
    }
}

/// What became of the records.
pub(super) struct Settled {
    map: Option<Mapped>,
    places: Places,
    first_line: u64,
    /// Bytes that went to files.
    pub(super) spilled_bytes: u64,
}

impl Settled {
    /// Places the records of a batch of another reading. Batches have to come in order.
    pub(super) fn place(&self, pool: &Pool, batch: &[BatchChunk<Surveyed>]) {
        let file = self.map.as_ref().map_or(&[][..], Mapped::bytes);
        pool.each_partition(|partition| {
            self.places.place(partition, file, self.first_line, ladders_of(batch));
        });
    }

    /// Were exactly the records that waited placed?
    pub(super) fn are_over(mut self) -> bool {
        self.places.are_over()
    }
}

/// The error for a report with hardly any memory for its forms.
#[cold]
fn too_little(job: &Job) -> Error {
    Error::limit(format!(
        "the names of sections, parameters and agents leave too little of the memory that clusters may \
         take, {} of {} MiB; raise {}, or lower {}",
        job.budget().table_bytes() >> 20,
        job.memory.bytes >> 20,
        Setting::Memory,
        Setting::Threads
    ))
}
