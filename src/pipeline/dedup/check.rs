//! `dedup --check`: the first line that is a duplicate, if there is one.

use std::ops::ControlFlow;

use super::Print;
use super::backlog::Backlog;
use super::marking::{MarkedChunk, mark, sift};
use super::overflow::Overflow;
use crate::cluster::{ClusterSet, Seen};
use crate::error::Result;
use crate::pipeline::scan::walk::{Worker, each_entry_again};
use crate::pipeline::scan::{Pass, Scan, input_changed};
use crate::pipeline::{Job, Outcome, RunContext, line_place};
use crate::record::{Entry, Record, Workspace};

/// A line that is a duplicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateLine {
    /// The number of the line, from 1 over all inputs.
    pub line: u64,
    /// Where the line is, for people.
    pub place: String,
    /// The URL of the line as it was read.
    pub url: Vec<u8>,
}

/// What [`check`] has found.
#[derive(Debug)]
pub enum Checked {
    /// The first line that is a duplicate.
    Duplicate(DuplicateLine),
    /// No line of all that was read is a duplicate.
    Unique(Box<Outcome>),
}

/// Returns the first line that is a duplicate; reads no further than the batch in which one is
/// found.
///
/// Memory: within the job's budget, as [`dedup`](crate::pipeline::dedup()).
pub fn check(job: &Job) -> Result<Checked> {
    let budget = job.budget();
    let pool = job.pool()?;
    let run = RunContext { job, pool: &pool };
    let set = ClusterSet::default();
    let mut found = None;
    // The records that a full set does not know.
    let mut rest: Option<Rest> = None;
    let mut workspace = Workspace::default();
    let mut outcome = Outcome::begin(job);
    let Outcome { tally, memory, .. } = &mut outcome;
    let (read, end) = Scan::new(job, &pool, Pass::first("checking")).run_to_end(
        Worker::default,
        |worker, chunk| sift(job, Print::Line, chunk, worker),
        |batch| {
            if rest.is_none() && set.may_exceed(budget.table_bytes()) {
                let backlog = Backlog::new(&job.memory.temp_dir)?;
                rest = Some(Rest { overflow: Overflow::new(job, budget)?, backlog, records: 0 });
                memory.spilled_after_lines = Some(batch.first_line);
            }
            let overflow = rest.as_mut().map(|rest| &mut rest.overflow);
            let mut line_number = batch.first_line;
            for marked in mark(run, &set, overflow, batch, tally)? {
                let rest = rest.as_mut();
                found = first_unmarked(job, &marked, &mut workspace, &mut line_number, rest)?;
                if found.is_some() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    memory.table_bytes = set.memory_bytes();
    if let Some(rest) = rest {
        memory.spilled_bytes = rest.backlog.bytes() + rest.overflow.spilled_bytes();
        // An earlier line may be a duplicate of another that the set does not know.
        found = rest.first_duplicate(run, &set)?.or(found);
    }
    // A duplicate before a damaged place is a valid answer.
    if found.is_none() {
        end?;
    }
    Ok(match found {
        Some((line, url)) => {
            let place = line_place(&read.files, read.files_in_all, line);
            Checked::Duplicate(DuplicateLine { line, place, url })
        }
        None => {
            (tally.unique, tally.duplicate) = (tally.records, 0);
            Checked::Unique(Box::new(outcome.end(read.files, &pool)?))
        }
    })
}

/// The number of a line, from 1 over all inputs, and its URL as it was read.
type NumberedUrl = (u64, Vec<u8>);

/// Returns the first line of a chunk that is not marked. The lines before it go to the `rest`, if
/// there is one.
///
/// `line_number` is that of the line before the chunk; it becomes that of the last line looked at.
fn first_unmarked(
    job: &Job,
    MarkedChunk { chunk, texts, marks }: &MarkedChunk,
    workspace: &mut Workspace,
    line_number: &mut u64,
    mut rest: Option<&mut Rest>,
) -> Result<Option<NumberedUrl>> {
    let (mut records, mut found) = (0u32, Ok(None));
    let _has_stopped = each_entry_again(chunk, job, workspace, |entry| {
        *line_number += 1;
        let Entry::Record(Record { spelling: url, .. }) = entry else { return Ok(()) };
        let record = records;
        records += 1;
        found = if u64::from(record) >= texts.len() {
            Err(input_changed())
        } else if !marks.contains(record) {
            Ok(Some((*line_number, url.to_vec())))
        } else {
            rest.as_mut().map_or(Ok(()), |rest| rest.push(*line_number, url)).map(|()| None)
        };
        if matches!(found, Ok(None)) { Ok(()) } else { Err(()) }
    })?;
    found
}

/// What is decided at the end: the lines that the set did not know once it was full.
struct Rest {
    overflow: Overflow,
    /// Their URLs, each after the number of its line.
    backlog: Backlog,
    /// How many lines there are.
    records: u64,
}

impl Rest {
    fn push(&mut self, line_number: u64, url: &[u8]) -> Result<()> {
        let text = [&u64::to_le_bytes(line_number), url].concat();
        let record = self.records;
        self.records += 1;
        self.backlog.push(record, &text)
    }

    /// Returns the first of the lines that is a duplicate.
    fn first_duplicate(mut self, run: RunContext, set: &ClusterSet) -> Result<Option<NumberedUrl>> {
        let (mut first, _) = self.overflow.first_of_each(run, set, &Seen::default())?;
        let mut text = Vec::new();
        let keeps = |number| Ok(!self.overflow.is_next(&mut first, number)?);
        self.backlog.read(run.job.input.separator, keeps, |piece, is_end| {
            text.extend_from_slice(piece);
            Ok(if is_end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        let numbered = text.split_first_chunk();
        Ok(numbered.map(|(line, url)| (u64::from_le_bytes(*line), url.to_vec())))
    }
}
