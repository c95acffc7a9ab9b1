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

use super::scan::layouts::Parcel;
use super::scan::walk;
use super::scan::walk::Worker;
use super::scan::{FORM_BYTES, Pass, RECORD_BYTES, Scan};
use super::threads::aside::aside;
use super::threads::pool::Stage;
use super::{Job, Outcome};
use crate::canonical::{Canonical, Notation};
use crate::cluster::Seen;
use crate::error::Result;
use crate::input::Stop;
use crate::record::Record;
use crate::report::Output;
use backlog::Backlog;
use copies::{COPYING_WORKERS, Copies};
use marking::{MarkedChunk, RECORDS_ALONE, mark, sift};
use overflow::Overflow;

/// What is written for a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Print {
    /// The URL as it was read; of a list the whole line.
    Original,
    /// The canonical form, or a key.
    Canonical(Notation),
    /// The whole line, as it was read.
    Line,
}

impl Print {
    /// Returns what is written for the records of `chunk`: in a list the whole line where the URL
    /// as it was read is asked for, since the two are the same; otherwise what was asked for.
    pub(super) fn of(self, chunk: &Parcel) -> Print {
        let is_line = self == Print::Original && chunk.layout.format.is_none();
        if is_line { Print::Line } else { self }
    }

    /// Appends what is written for `record`, whose canonical form is asked for if it is needed.
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
pub struct DedupPlan<'a> {
    /// What is written for a cluster.
    pub print: Print,
    /// The clusters of earlier runs. Those of this run are added if they are to be written;
    /// otherwise nothing is left in the set.
    pub seen: &'a Seen,
}

/// What the writer gets.
struct MarkedBatch {
    /// What is written before all lines.
    header: Vec<u8>,
    lines: BatchLines,
}

/// Lines on their way to the writer.
enum BatchLines {
    /// Lines of which those that are marked are written.
    Kept(Vec<MarkedChunk>),
    /// Lines that are written, of every chunk, put together already.
    Copied(Vec<Result<Vec<u8>>>),
    /// Lines of which those that are marked are candidates, which have to wait.
    Candidates(Vec<MarkedChunk>),
}

/// Writes the first line of every cluster to `output`, in input order. Does not publish it.
///
/// Memory: within the job's budget. When the fingerprints of all clusters (see
/// [`ClusterSet`](crate::cluster::ClusterSet)) have no room any more, lines with new ones wait in
/// a file until the end.
///
/// Failure: where a file is damaged, the first lines of what could be read before
/// are written by then.
pub fn dedup(job: &Job, plan: &DedupPlan, output: &mut Output) -> Result<Outcome> {
    let pool = job.pool()?;
    let mut outcome = Outcome::begin(job);
    let budget = job.budget();
    let mut overflow: Option<Overflow> = None;
    let Outcome { tally, memory, .. } = &mut outcome;
    let copies = Copies::default();
    let workers_copy = job.workers() >= COPYING_WORKERS && !output.is_null();
    let mut writer =
        Writer { job, output: &mut *output, copies: &copies, backlog: None, records: 0 };
    let write = |batch| pool.time(Stage::Writing, || writer.write(batch));
    let record_bytes = |chunk: &Parcel, records| {
        let copied = if workers_copy { chunk.bytes().len() as u64 } else { 0 };
        memory_bytes(plan.print, chunk, records) + copied
    };
    let stop = Stop::default();
    let (read, end) = aside(1, &stop, write, |marked| {
        let scan = Scan::new(job, &pool, Pass::first("deduplicating")).with_stop(&stop);
        let read = scan.with_record_bytes(record_bytes).run_to_end(
            Worker::default,
            |worker, chunk| sift(job, plan.print, chunk, worker),
            |batch| {
                let set = plan.seen.set();
                let is_full = || !plan.seen.is_in_memory() || set.may_exceed(budget.table_bytes());
                if overflow.is_none() && is_full() {
                    overflow = Some(Overflow::new(job, budget)?);
                    memory.spilled_after_lines = Some(batch.first_line);
                }
                let first = batch.chunks.first().filter(|_| batch.first_line == 0);
                let header = match (plan.print, first) {
                    (Print::Line, Some(first)) => walk::header(&first.parcel, job),
                    _ => Vec::new(),
                };
                let chunks = mark(job, set, overflow.as_mut(), &pool, batch, tally)?;
                let records = chunks.iter().map(|marked| marked.texts.len()).sum::<u64>();
                let lines = match overflow {
                    Some(_) => BatchLines::Candidates(chunks),
                    None if workers_copy && records >= RECORDS_ALONE => {
                        BatchLines::Copied(copies.make(job, &pool, chunks))
                    }
                    None => BatchLines::Kept(chunks),
                };
                marked.send(MarkedBatch { header, lines })?;
                Ok(ControlFlow::Continue(()))
            },
        );
        drop(marked);
        memory.table_bytes = plan.seen.set().memory_bytes();
        if overflow.is_none() && plan.seen.key().is_none() {
            // Nobody asks for them any more: given back while the last batch is written.
            pool.each_partition(|partition| plan.seen.set().forget(partition));
        }
        read
    })?;
    let backlog = writer.backlog;
    let mut finished = Ok(());
    if let (Some(mut overflow), Some(backlog)) = (overflow, backlog) {
        memory.spilled_bytes = backlog.bytes();
        output.rely_on_page_cache();
        finished = overflow.finish(job, &pool, plan.seen, backlog, output).and_then(|unique| {
            tally.unique += unique;
            tally.duplicate += overflow.count - unique;
            if end.is_err() { output.pass_on() } else { Ok(()) }
        });
        memory.spilled_bytes += overflow.spilled_bytes();
    }
    // What has happened first.
    end.and(finished)?;
    outcome.end(read.files, &pool)
}

/// Bytes kept of each record whose text is in a mapped file, on average over the three batches in
/// flight: one is not walked yet, one is being clustered, and of one only the positions of its
/// texts are left.
const RECORD_BYTES_MAPPED: u64 = 32;

/// Bytes that a chunk with so many records takes besides its own while it is on its way.
fn memory_bytes(print: Print, chunk: &Parcel, records: u64) -> u64 {
    match print.of(chunk) {
        Print::Line if chunk.is_mapped() => records * RECORD_BYTES_MAPPED,
        // Reading takes memory, too, where the file is not mapped: its batches are shorter.
        Print::Line => records * RECORD_BYTES,
        Print::Canonical(_) => records * RECORD_BYTES + FORM_BYTES * chunk.bytes().len() as u64,
        // Texts of their own are about as long as the lines.
        Print::Original => records * RECORD_BYTES + chunk.bytes().len() as u64,
    }
}

/// Writes kept lines while the next batch is worked on.
struct Writer<'a> {
    job: &'a Job<'a>,
    output: &'a mut Output,
    copies: &'a Copies,
    /// Where the lines of candidates wait, once there are any.
    backlog: Option<Backlog>,
    /// The records that have come since then, candidates or not.
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
                    marked.done()?;
                }
            }
            BatchLines::Copied(kept) => {
                for kept in kept {
                    let kept = kept?;
                    self.output.write_large(&kept)?;
                    self.copies.give_back(kept);
                }
            }
            BatchLines::Candidates(chunks) => return self.let_wait(&chunks),
        }
        self.output.pass_on()
    }

    /// Lets the marked lines wait.
    fn let_wait(&mut self, chunks: &[MarkedChunk]) -> Result<()> {
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
