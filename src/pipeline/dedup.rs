//! `dedup`, streaming: the first spelling of every cluster, in input order, while the input is
//! read. What the memory cannot hold is decided at the end (see `overflow.rs`).

use std::ops::Range;
use std::sync::mpsc;

use super::backlog::Backlog;
use super::budget::too_many;
use super::overflow::Overflow;
use super::pool::{Pool, Stage};
use super::scan::scan;
use super::walk::{entries, walk};
use super::{Job, Outcome};
use crate::canonical::Scratch;
use crate::cluster::{ClusterSet, Flags, Marks, Scattered, Seen, SortedRecords};
use crate::error::{Error, Result};
use crate::input::Chunk;
use crate::record::Entry;
use crate::report::Output;
use crate::report::Tally;

/// What is written for a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Print {
    /// The line as it was read.
    Original,
    /// The canonical form.
    Canonical,
}

/// What to write, and which URLs to leave out.
pub struct DedupPlan<'a> {
    /// What is written for a cluster.
    pub print: Print,
    /// The clusters of earlier runs; those of this run are added.
    pub seen: &'a Seen,
}

/// What a worker makes of a chunk.
struct Sifted {
    scattered: Scattered,
    lines: LineStarts,
    tally: Tally,
}

/// Where the line of each record of a chunk starts, and the end; nothing if there are other lines
/// between them.
struct LineStarts(Vec<u32>);

impl LineStarts {
    /// Do the lines of the records follow each other?
    fn has_all(&self) -> bool {
        !self.0.is_empty()
    }

    /// The bytes of the lines of the records in `run`, with their separators.
    fn of<'a>(&self, chunk: &'a [u8], run: &Range<u32>) -> &'a [u8] {
        &chunk[self.0[run.start as usize] as usize..self.0[run.end as usize] as usize]
    }
}

/// A chunk whose records are marked.
struct MarkedChunk {
    chunk: Chunk,
    lines: LineStarts,
    marks: Marks,
}

/// What the writer gets.
struct Marked {
    chunks: Vec<MarkedChunk>,
    /// Are the marks those of candidates, which have to wait?
    waits: bool,
}

/// Writes the first line of every cluster to `output`, in input order. Does not publish it.
///
/// Memory: within the job's budget. When the fingerprints of all clusters (see [`ClusterSet`])
/// have no room any more, lines with new ones wait in a file until the end.
pub fn dedup(job: &Job, plan: &DedupPlan, output: &mut Output) -> Result<Outcome> {
    let pool = job.pool()?;
    let mut outcome = Outcome::default();
    let budget = job.budget();
    let mut overflow: Option<Overflow> = None;
    let Outcome { tally, memory, .. } = &mut outcome;
    memory.budget_bytes = job.memory.bytes;
    let written = std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel::<Marked>(1);
        let output = &mut *output;
        let mut writer = Writer::new(job, plan.print, output);
        let pool = &pool;
        let writer = scope.spawn(move || {
            for batch in receiver {
                pool.time(Stage::Writing, || writer.write(batch))?;
            }
            Ok(writer.backlog)
        });
        let files = scan(
            job,
            pool,
            "deduplicating",
            Scratch::default,
            |scratch, chunk| sift(job, chunk, scratch),
            |batch| {
                let set = plan.seen.set();
                let is_full = || !plan.seen.is_in_memory() || set.may_exceed(budget.table_bytes());
                if overflow.is_none() && is_full() {
                    overflow = Some(Overflow::new(job, budget)?);
                    memory.spilled_after_lines = Some(tally.lines);
                }
                let (chunks, lines) = mark(set, overflow.as_mut(), pool, batch, tally)?;
                // The writer only goes away with an error of its own, which comes first below.
                sender
                    .send(Marked { chunks, waits: overflow.is_some() })
                    .map_err(|_| Error::internal("the writer is gone"))?;
                Ok(Some(lines))
            },
        );
        drop(sender);
        let written: Result<Option<Backlog>> =
            writer.join().map_err(|_| Error::internal("the writer has panicked"))?;
        let backlog = written?;
        files.map(|files| (files, backlog))
    });
    let (files, backlog) = written?;
    memory.table_bytes = plan.seen.set().memory_bytes();
    if let (Some(mut overflow), Some(backlog)) = (overflow, backlog) {
        memory.spilled_bytes = backlog.bytes() + overflow.spilled_bytes();
        let unique = overflow.finish(job, &pool, plan.seen, backlog, output)?;
        tally.unique += unique;
        tally.duplicate += overflow.count - unique;
    }
    outcome.files = files;
    outcome.stages = pool.seconds();
    outcome.tally.check()?;
    Ok(outcome)
}

/// Writes kept lines while the next batch is worked on.
struct Writer<'a> {
    job: &'a Job<'a>,
    print: Print,
    output: &'a mut Output,
    /// Where the lines of candidates wait, once there are any.
    backlog: Option<Backlog>,
    /// The records that have come since then, candidates or not.
    records: u64,
    scratch: Scratch,
}

impl<'a> Writer<'a> {
    fn new(job: &'a Job<'a>, print: Print, output: &'a mut Output) -> Self {
        let scratch = Scratch::default();
        Writer { job, print, output, backlog: None, records: 0, scratch }
    }

    fn write(&mut self, batch: Marked) -> Result<()> {
        let (job, output) = (self.job, &mut *self.output);
        if batch.waits && self.backlog.is_none() {
            self.backlog = Some(Backlog::new(&job.memory.temp_dir)?);
        }
        for MarkedChunk { chunk, lines, marks } in batch.chunks {
            match &mut self.backlog {
                Some(backlog) => {
                    let before = self.records;
                    let each = |record, text: &[u8]| backlog.push(before + u64::from(record), text);
                    self.records +=
                        each_marked(job, self.print, &chunk, &marks, &mut self.scratch, each)?;
                }
                None if self.print == Print::Original && lines.has_all() => {
                    copy_marked(&chunk, &lines, &marks, job.input.separator, output)?;
                }
                None => {
                    let each = |_, text: &[u8]| output.line(text, job.input.separator);
                    each_marked(job, self.print, &chunk, &marks, &mut self.scratch, each)?;
                }
            }
            chunk.verify()?;
        }
        if self.backlog.is_none() { output.pass_on() } else { Ok(()) }
    }
}

fn sift(job: &Job, chunk: &Chunk, scratch: &mut Scratch) -> Sifted {
    let bytes = chunk.bytes();
    let mut fingerprints = Vec::with_capacity(bytes.len() / 64);
    let mut starts = Vec::with_capacity(bytes.len() / 64);
    let tally = walk(chunk, job, scratch, |_, record, canonical| {
        fingerprints.push(job.key.fingerprint(canonical.form));
        starts.push((record.line.as_ptr().addr() - bytes.as_ptr().addr()) as u32);
    });
    if tally.records == tally.lines && starts.first() == Some(&0) {
        starts.push(bytes.len() as u32);
    } else {
        starts.clear();
    }
    Sifted { scattered: Scattered::new(&fingerprints), lines: LineStarts(starts), tally }
}

/// Marks the first records of a batch, or those that may be, and counts.
fn mark(
    set: &ClusterSet,
    mut overflow: Option<&mut Overflow>,
    pool: &Pool,
    batch: Vec<(Chunk, Sifted)>,
    tally: &mut Tally,
) -> Result<(Vec<MarkedChunk>, u64)> {
    let mut lines = 0;
    let mut chunks = Vec::with_capacity(batch.len());
    let mut pairs = Vec::with_capacity(batch.len());
    for (chunk, sifted) in batch {
        tally.merge(&sifted.tally);
        lines += sifted.tally.lines;
        let flags = Flags::new(&sifted.scattered);
        chunks.push((chunk, sifted.lines));
        pairs.push((sifted.scattered, flags));
    }
    match &mut overflow {
        Some(overflow) => overflow.mark(set, pool, &pairs)?,
        None => pool.share_partitions(SortedRecords::default, |sorted, partition| {
            set.mark_first(partition, &pairs, sorted);
        }),
    }
    let in_line_order = |(): &mut (), chunk: usize| Marks::new(&pairs[chunk].0, &pairs[chunk].1);
    let marks = pool.map(Stage::Clustering, pairs.len(), || (), in_line_order);
    let marked = marks.iter().map(Marks::count).sum::<u64>();
    let records = pairs.iter().map(|(scattered, _)| scattered.len() as u64).sum::<u64>();
    tally.duplicate += records - marked;
    match overflow {
        Some(overflow) => overflow.count += marked,
        None => tally.unique += marked,
    }
    let marked = chunks.into_iter().zip(marks).map(|((chunk, lines), marks)| MarkedChunk {
        chunk,
        lines,
        marks,
    });
    Ok((marked.collect(), lines))
}

/// Writes the marked records of `chunk`, whole runs of them at once.
fn copy_marked(
    chunk: &Chunk,
    lines: &LineStarts,
    marks: &Marks,
    separator: u8,
    output: &mut Output,
) -> Result<()> {
    for run in marks.runs() {
        let text = lines.of(chunk.bytes(), &run);
        output.write(text)?;
        // The last line of a file may lack its separator.
        if text.last() != Some(&separator) {
            output.write(&[separator])?;
        }
    }
    Ok(())
}

/// Gives `each` the marked records of `chunk`: their numbers in it, and what is to be written.
/// Returns how many records there are, marked or not.
fn each_marked(
    job: &Job,
    print: Print,
    chunk: &Chunk,
    marks: &Marks,
    scratch: &mut Scratch,
    mut each: impl FnMut(u32, &[u8]) -> Result<()>,
) -> Result<u64> {
    let mut record = 0;
    for entry in entries(chunk, job.reading()) {
        let Entry::Record(found) = entry else { continue };
        if marks.contains(record) {
            let text = match print {
                Print::Original => found.line,
                Print::Canonical => job.canonicalizer.canonical(found.url, scratch).form,
            };
            each(record, text)?;
        }
        record += 1;
    }
    Ok(u64::from(record))
}

/// The first line that is a duplicate, as its number from 1 over all inputs and its text; reads no
/// further than the batch it is in.
pub fn check(job: &Job) -> Result<Option<(u64, Vec<u8>)>> {
    let budget = job.budget();
    let pool = job.pool()?;
    let set = ClusterSet::default();
    let mut found = None;
    let mut lines_before = 0;
    let mut tally = Tally::default();
    scan(
        job,
        &pool,
        "checking",
        Scratch::default,
        |scratch, chunk| sift(job, chunk, scratch),
        |batch| {
            if set.may_exceed(budget.table_bytes()) {
                return Err(too_many(job, "--check has", set.memory_bytes() / 10 * 13));
            }
            let (kept, lines) = mark(&set, None, &pool, batch, &mut tally)?;
            for MarkedChunk { chunk, marks, .. } in kept {
                let mut record = 0;
                for entry in entries(&chunk, job.reading()) {
                    lines_before += 1;
                    let Entry::Record(line) = entry else { continue };
                    if !marks.contains(record) {
                        found = Some((lines_before, line.line.to_vec()));
                        return Ok(None);
                    }
                    record += 1;
                }
            }
            Ok(Some(lines))
        },
    )?;
    Ok(found)
}
