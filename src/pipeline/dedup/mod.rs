//! `dedup`, streaming: the first spelling of every cluster, in input order, while the input is
//! read. What the memory cannot hold is decided at the end (see `overflow.rs`).

mod backlog;
mod check;
mod copies;
mod known;
mod marking;
mod overflow;
mod texts;

pub use check::{Checked, DuplicateLine, check};
pub use known::known;

use std::ops::ControlFlow;

use super::budget::Budget;
use super::scan::layouts::Parcel;
use super::scan::walk;
use super::scan::walk::Worker;
use super::scan::{Batch, FORM_BYTES, Pass, RECORD_BYTES, Scan, WasRead};
use super::threads::consumer::{Consumer, with_consumer};
use super::threads::pool::{Pool, Stage};
use super::{Job, Outcome, RunContext};
use crate::canonical::{Canonical, Notation};
use crate::cluster::Seen;
use crate::error::Result;
use crate::input::Stop;
use crate::record::Record;
use crate::report::Output;
use backlog::Backlog;
use copies::{COPYING_WORKERS, Copies};
use marking::{MarkedChunk, RECORDS_ALONE, Sifted, mark, sift};
use overflow::Overflow;

/// What is written for a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Print {
    /// The URL as it was read; in a list, the whole line.
    Original,
    /// The canonical form, or a key made of it.
    Canonical(Notation),
    /// The whole line, as it was read.
    Line,
}

impl Print {
    /// Returns what is written for the records of `chunk`: in a list, where the URL as it was read
    /// is the whole line, [`Print::Line`] in place of [`Print::Original`]; otherwise `self`.
    pub(super) fn of(self, chunk: &Parcel) -> Print {
        let is_line = self == Print::Original && chunk.layout.format.is_none();
        if is_line { Print::Line } else { self }
    }

    /// Appends what is written for `record`. `canonical` is called if the canonical form is needed.
    pub(super) fn push<'a>(
        self,
        record: &Record<'a>,
        canonical: impl FnOnce() -> Canonical<'a>,
        out: &mut Vec<u8>,
    ) {
        match self {
            Print::Original => out.extend_from_slice(record.spelling),
            Print::Canonical(notation) => {
                walk::push_form(notation, record.url, &canonical(), out);
            }
            Print::Line => out.extend_from_slice(record.line),
        }
    }
}

/// What to write, and which URLs to leave out.
#[derive(Debug)]
pub struct DedupPlan<'a> {
    /// What is written for a cluster.
    pub print: Print,
    /// The clusters of earlier runs, made with the [key](Seen::key) that the job has as well. If
    /// they will be written, those of this run are added; otherwise nothing is left in the set.
    pub seen: &'a Seen,
}

/// What the writer gets of a batch.
struct MarkedBatch {
    /// What is written before the lines.
    header: Vec<u8>,
    lines: BatchLines,
}

/// Lines that are sent to the writer.
enum BatchLines {
    /// Chunks whose marked lines are written.
    Kept(Vec<MarkedChunk>),
    /// The lines of each chunk that are written, already copied out.
    Copied(Vec<Result<Vec<u8>>>),
    /// Chunks whose marked lines are candidates, which go to the backlog.
    Candidates(Vec<MarkedChunk>),
}

/// Writes the first line of every cluster to `output`, in input order. Does not publish it.
///
/// Memory: within the job's budget. When the fingerprints of all clusters (see
/// [`ClusterSet`](crate::cluster::ClusterSet)) no longer fit, lines with new ones wait in a file
/// until the end.
///
/// Failure: if a file is damaged, what could be read before the damage has been deduplicated and
/// written. A configuration error if the key or the profile of the job is not that of
/// [`DedupPlan::seen`].
pub fn dedup(job: &Job, plan: &DedupPlan, output: &mut Output) -> Result<Outcome> {
    plan.seen.check_fits(&job.key, &job.canonicalizer.profile().digest())?;
    let pool = job.pool()?;
    let copies = Copies::default();
    let mut deduping = Deduping {
        job,
        pool: &pool,
        plan,
        budget: job.budget(),
        copies: &copies,
        workers_copy: job.workers() >= COPYING_WORKERS && !output.is_null(),
        overflow: None,
        outcome: Outcome::begin(job),
    };
    let mut writer =
        Writer { job, output: &mut *output, copies: &copies, backlog: None, records: 0 };
    let write = |batch| pool.time(Stage::Writing, || writer.write(batch));
    let stop = job.input.stop.part();
    let (read, end) = with_consumer(1, &stop, write, |to_writer| deduping.read(&stop, to_writer))?;
    let backlog = writer.backlog;
    deduping.finish(read, end, backlog, output)
}

/// The state of a job while the input is read.
///
/// ```text
/// read    chunks --sift, by workers--> batch --take--> MarkedBatch --> Writer
/// finish  candidates that are the first of their cluster --> output
/// ```
struct Deduping<'a> {
    job: &'a Job<'a>,
    pool: &'a Pool,
    plan: &'a DedupPlan<'a>,
    budget: Budget,
    copies: &'a Copies,
    /// Do workers copy out what is kept?
    workers_copy: bool,
    /// The candidates, once the set is full.
    overflow: Option<Overflow>,
    outcome: Outcome,
}

impl Deduping<'_> {
    /// Reads the input, and sends each batch `to_writer`. Returns what was read, and how reading
    /// has ended.
    fn read(
        &mut self,
        stop: &Stop,
        to_writer: Consumer<MarkedBatch>,
    ) -> Result<(WasRead, Result<()>)> {
        let (job, pool, print, workers_copy) =
            (self.job, self.pool, self.plan.print, self.workers_copy);
        let record_bytes = |chunk: &Parcel, records| {
            let copied = if workers_copy { chunk.bytes().len() as u64 } else { 0 };
            memory_bytes(print, chunk, records) + copied
        };
        let scan = Scan::new(job, pool, Pass::first("deduplicating")).with_stop(stop);
        let read = scan.with_record_bytes(record_bytes).run_to_end(
            Worker::default,
            |worker, chunk| sift(job, print, chunk, worker),
            |batch| {
                to_writer.send(self.take(batch)?)?;
                Ok(ControlFlow::Continue(()))
            },
        );
        drop(to_writer);
        let seen = self.plan.seen;
        self.outcome.memory.table_bytes = seen.set().memory_bytes();
        if self.overflow.is_none() && !seen.is_to_be_written() {
            // The fingerprints are no longer needed: freed while the last batch is written.
            pool.each_partition(|partition| seen.set().forget(partition));
        }
        read
    }

    /// Marks the records of a batch that are kept, or once the set is full, those that are
    /// candidates; returns what the writer gets.
    fn take(&mut self, batch: Batch<Sifted>) -> Result<MarkedBatch> {
        let (job, pool, seen) = (self.job, self.pool, self.plan.seen);
        let Outcome { tally, memory, .. } = &mut self.outcome;
        let set = seen.set();
        let is_full = || !seen.is_in_memory() || set.may_exceed(self.budget.table_bytes());
        if self.overflow.is_none() && is_full() {
            self.overflow = Some(Overflow::new(job, self.budget)?);
            memory.spilled_after_lines = Some(batch.first_line);
        }
        let first = batch.chunks.first().filter(|_| batch.first_line == 0);
        let header = match (self.plan.print, first) {
            (Print::Line, Some(first)) => walk::header(&first.parcel, job),
            _ => Vec::new(),
        };
        let chunks = mark(RunContext { job, pool }, set, self.overflow.as_mut(), batch, tally)?;
        let records = chunks.iter().map(|marked| marked.texts.len()).sum::<u64>();
        let lines = match self.overflow {
            Some(_) => BatchLines::Candidates(chunks),
            None if self.workers_copy && records >= RECORDS_ALONE => {
                BatchLines::Copied(self.copies.make(job, pool, chunks))
            }
            None => BatchLines::Kept(chunks),
        };
        Ok(MarkedBatch { header, lines })
    }

    /// To be called when the input was `read`, and everything is written but the candidates, which
    /// wait in the `backlog`: writes those of them that are kept. `end` is how reading has ended.
    fn finish(
        mut self,
        read: WasRead,
        end: Result<()>,
        backlog: Option<Backlog>,
        output: &mut Output,
    ) -> Result<Outcome> {
        let finished = match (self.overflow.take(), backlog) {
            (Some(overflow), Some(backlog)) => {
                let written = self.write_candidates(overflow, backlog, output);
                // The output of a run that fails is not finished, so flush it here.
                written
                    .and_then(|()| if end.is_err() { output.flush_if_streaming() } else { Ok(()) })
            }
            _ => Ok(()),
        };
        // A failure of reading came first, and is reported.
        end.and(finished)?;
        self.outcome.end(read.files, self.pool)
    }

    /// Writes and counts the candidates that are the first of their cluster.
    fn write_candidates(
        &mut self,
        mut overflow: Overflow,
        backlog: Backlog,
        output: &mut Output,
    ) -> Result<()> {
        let Outcome { tally, memory, .. } = &mut self.outcome;
        memory.spilled_bytes = backlog.bytes();
        output.rely_on_page_cache();
        let run = RunContext { job: self.job, pool: self.pool };
        let unique = overflow.finish(run, self.plan.seen, backlog, output)?;
        memory.spilled_bytes += overflow.spilled_bytes();
        tally.unique += unique;
        tally.duplicate += overflow.count - unique;
        Ok(())
    }
}

/// Bytes kept of each record whose text is in a mapped file, on average over the three batches in
/// flight: one is not walked yet, one is being clustered, and one only has the positions of its
/// texts left.
const RECORD_BYTES_MAPPED: u64 = 32;

/// Bytes that are kept of a chunk with this many records, beside its own, while it is in flight.
fn memory_bytes(print: Print, chunk: &Parcel, records: u64) -> u64 {
    match print.of(chunk) {
        Print::Line if chunk.is_mapped() => records * RECORD_BYTES_MAPPED,
        // A file that is not mapped takes memory to be read, too: its batches are shorter.
        Print::Line => records * RECORD_BYTES,
        Print::Canonical(_) => records * RECORD_BYTES + FORM_BYTES * chunk.bytes().len() as u64,
        // Copied texts are about as long as the lines.
        Print::Original => records * RECORD_BYTES + chunk.bytes().len() as u64,
    }
}

/// Writes kept lines while the next batch is processed.
struct Writer<'a> {
    job: &'a Job<'a>,
    output: &'a mut Output,
    copies: &'a Copies,
    /// Where the lines of candidates wait, once there are any.
    backlog: Option<Backlog>,
    /// The number of records that have come since then, candidates or not.
    records: u64,
}

impl Writer<'_> {
    fn write(&mut self, MarkedBatch { header, lines }: MarkedBatch) -> Result<()> {
        self.output.write(&header)?;
        match lines {
            BatchLines::Kept(chunks) => {
                let separator = self.job.input.separator;
                for marked in chunks {
                    if !self.output.is_null() {
                        marked.each_kept(separator, |text| self.output.write(text))?;
                    }
                    marked.verify_and_release()?;
                }
            }
            BatchLines::Copied(kept) => {
                for kept in kept {
                    let kept = kept?;
                    self.output.write_large(&kept)?;
                    self.copies.give_back(kept);
                }
            }
            BatchLines::Candidates(chunks) => return self.push_to_backlog(&chunks),
        }
        self.output.flush_if_streaming()
    }

    /// Adds the marked lines to the backlog.
    fn push_to_backlog(&mut self, chunks: &[MarkedChunk]) -> Result<()> {
        let backlog = match &mut self.backlog {
            Some(backlog) => backlog,
            backlog => {
                self.copies.forget();
                backlog.insert(Backlog::new(&self.job.memory.temp_dir)?)
            }
        };
        for MarkedChunk { chunk, texts, marks } in chunks {
            backlog.push_runs(self.records, &texts.lines(chunk), marks.runs())?;
            self.records += texts.len();
            chunk.verify()?;
        }
        Ok(())
    }
}
