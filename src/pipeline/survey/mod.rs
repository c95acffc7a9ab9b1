//! `report`: how much is duplicate, on which hosts, by which rules.
//!
//! ```text
//! reading    lines --> forms at every level --> Levels: what became of each record
//!            \-> facets, with that --> Sums
//! if forms do not fit in memory, from there on
//! reading    lines --> forms at every level --> files
//! at the end the files, partition by partition --> what became of each record
//! reading    lines --> facets, with that --> Sums
//! at last    reading: lines of the largest clusters --> their spellings
//!            \-> of clusters whose examples show nothing --> better ones
//! ```
//!
//! The report is the same either way.

mod clusters;
mod examples;
mod facets;
mod findings;
mod look;
mod unchanged_examples;
mod waiting;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use super::scan::layouts::Parcel;
use super::scan::{BatchChunk, FORM_BYTES, Pass, Scan, WasRead, input_changed};
use super::threads::pool::Pool;
use super::{InputFile, Job, MemoryUse, Outcome};
use crate::cluster::{Ladders, Levels, PageTotals};
use crate::error::Result;
use crate::report::{InputRow, Survey, Tally};
use clusters::describe_clusters;
use facets::Sums;
use findings::Findings;
use look::{LEVELS_BEFORE_RULES, Look, Surveyed, Surveyor, look_at};
use waiting::Waiting;

/// Bytes kept of each record while its batch is processed: fingerprints and places, its host, and
/// its forms at some levels.
const SURVEYED_BYTES: u64 = 300;

/// Bytes kept of a chunk with this many records. The names of its facets are parts of its forms.
fn record_bytes(chunk: &Parcel, records: u64) -> u64 {
    records * SURVEYED_BYTES + FORM_BYTES * chunk.bytes().len() as u64
}

/// Surveys the job's input. The report has `top` rows of hosts and clusters. The input is read more
/// than once, so its streams have to be spooled (see `spool.rs`).
///
/// Memory: within the job's budget. Forms and names that do not fit go to temporary files; if what
/// is shown does not fit, that is an error.
pub fn survey(job: &Job, top: usize) -> Result<(Survey, Outcome)> {
    let pool = job.pool()?;
    let mut tally = Tally::default();
    let mut surveying = Surveying::new(job, &pool);
    let is_full = AtomicBool::new(false);
    let work = |surveyor: &mut Surveyor, chunk: &Parcel| {
        let look = if is_full.load(Ordering::Relaxed) { Look::Forms } else { Look::All };
        look_at(job, chunk, surveyor, look)
    };
    let scan = Scan::new(job, &pool, Pass::first("surveying")).with_record_bytes(record_bytes);
    let read = scan.run(Surveyor::default, work, |batch| {
        for BatchChunk { made: surveyed, .. } in &batch.chunks {
            job.add(&mut tally, &surveyed.tally)?;
        }
        surveying.take(batch.first_line, &batch.chunks)?;
        is_full.store(surveying.waiting.is_some(), Ordering::Relaxed);
        Ok(ControlFlow::Continue(()))
    })?;
    let (mut findings, sums, pages, mut memory) = surveying.finish(&read, top)?;
    if findings.counts.records != tally.records {
        return Err(input_changed());
    }
    tally.set_unique(pages.pages);
    tally.check()?;
    let clusters = match pages.largest.as_slice() {
        [] => Vec::new(),
        largest => describe_clusters(job, &pool, &read, largest, &mut findings)?,
    };
    let (breakdowns, spilled_bytes) = sums.breakdowns(top)?;
    memory.spilled_bytes += spilled_bytes;
    let survey = Survey {
        profile: job.canonicalizer.profile().clone(),
        tally: tally.clone(),
        input: read.files.iter().map(input_row).collect(),
        site_rules: findings.top_site_rules(job, top),
        idle_site_rules: findings.idle_site_rules(job),
        levels: findings.levels,
        breakdowns,
        counts: findings.counts,
        clusters,
    };
    let stages = pool.seconds();
    let outcome = Outcome { tally, compared: true, files: read.files, memory, stages, known: None };
    Ok((survey, outcome))
}

/// The state of a survey while the input is read.
struct Surveying<'a> {
    job: &'a Job<'a>,
    pool: &'a Pool,
    findings: Findings,
    sums: Sums,
    /// The forms in memory; none once records wait.
    forms: Levels,
    /// The records that wait, once forms do not fit.
    waiting: Option<Waiting<'a>>,
}

impl<'a> Surveying<'a> {
    fn new(job: &'a Job, pool: &'a Pool) -> Surveying<'a> {
        let forms = Levels::new(levels_of(job));
        let (findings, sums) = (Findings::none(job), Sums::new(job));
        Surveying { job, pool, findings, sums, forms, waiting: None }
    }

    /// Adds a batch of the first reading, which begins at line `first_line`.
    fn take(&mut self, first_line: u64, batch: &[BatchChunk<Surveyed>]) -> Result<()> {
        let Surveying { job, pool, findings, sums, forms, waiting } = self;
        if waiting.is_none() && !has_room(job, forms.memory_bytes_ahead(), sums) {
            *waiting = Some(Waiting::begin(job, pool, forms, first_line)?);
        }
        findings.add_changed(batch);
        if let Some(waiting) = waiting {
            return waiting.add(batch);
        }
        pool.each_partition(|partition| forms.place(partition, ladders_of(batch)));
        self.add(batch)
    }

    /// Adds a batch whose records were placed.
    fn add(&mut self, batch: &[BatchChunk<Surveyed>]) -> Result<()> {
        let Surveying { job, pool, findings, sums, .. } = self;
        findings.add(job, pool, batch, sums)
    }

    /// To be called when all was `read`: reads it again for records that wait. Returns the `top`
    /// largest clusters.
    fn finish(
        mut self,
        read: &WasRead,
        top: usize,
    ) -> Result<(Findings, Sums, PageTotals, MemoryUse)> {
        let (job, pool) = (self.job, self.pool);
        let mut memory = MemoryUse { budget_bytes: job.memory.bytes, ..MemoryUse::default() };
        let Some(waiting) = self.waiting.take() else {
            memory.table_bytes = self.forms.memory_bytes();
            let found = PageTotals { pages: self.forms.len(), largest: self.forms.largest(top) };
            return Ok((self.findings, self.sums, found, memory));
        };
        memory.table_bytes = waiting.forms_bytes;
        memory.spilled_after_lines = Some(waiting.first_line);
        let room = job.budget().table_bytes().saturating_sub(self.sums.memory_bytes_ahead());
        let (found, settled) = waiting.settle(room, top)?;
        memory.spilled_bytes = settled.spilled_bytes;
        let work =
            |surveyor: &mut Surveyor, chunk: &Parcel| look_at(job, chunk, surveyor, Look::Facets);
        let pass = Pass::again("surveying again", read);
        let scan = Scan::new(job, pool, pass).with_record_bytes(record_bytes);
        scan.run(Surveyor::default, work, |batch| {
            settled.place(pool, &batch.chunks);
            self.add(&batch.chunks)?;
            Ok(ControlFlow::Continue(()))
        })?;
        if !settled.are_over() {
            return Err(input_changed());
        }
        Ok((self.findings, self.sums, found, memory))
    }
}

/// The ladders of the chunks of a batch, each with the number of its first line.
fn ladders_of(batch: &[BatchChunk<Surveyed>]) -> impl Iterator<Item = (&Ladders, u64)> {
    batch.iter().map(|chunk| (&chunk.made.ladders, chunk.first_line))
}

/// Is there memory for forms that take `bytes`, beside the sums?
fn has_room(job: &Job, bytes: u64, sums: &Sums) -> bool {
    bytes + sums.memory_bytes_ahead() <= job.budget().table_bytes()
}

fn levels_of(job: &Job) -> usize {
    LEVELS_BEFORE_RULES + job.canonicalizer.profile().rules.len()
}

fn input_row(InputFile { summary, layout, lines, .. }: &InputFile) -> InputRow {
    InputRow {
        path: summary.path.to_string_lossy().into_owned(),
        format: layout.name().to_string(),
        compression: summary.compression.name().to_string(),
        disk_bytes: summary.disk_bytes,
        bytes: summary.bytes,
        lines: *lines,
    }
}
