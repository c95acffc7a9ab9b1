//! `dedup --check`: the first line that is a duplicate, if there is one.

use std::ops::ControlFlow;

use super::backlog::Backlog;
use super::dedup::{MarkedChunk, Print, mark, sift};
use super::overflow::Overflow;
use super::scan::{Pass, Scan, changed};
use super::walk::{Worker, each_entry_again};
use super::{Job, Outcome, line_place};
use crate::cluster::{ClusterSet, Seen};
use crate::error::Result;
use crate::record::{Entry, Workspace};
use crate::report::Tally;

/// A line that is a duplicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateLine {
    /// Its number, from 1 over all inputs.
    pub line: u64,
    /// Where that is, for people.
    pub place: String,
    /// The line, without its separator.
    pub text: Vec<u8>,
}

/// What [`check`] has found.
#[derive(Debug)]
pub enum Checked {
    /// The first line that is a duplicate.
    Duplicate(DuplicateLine),
    /// None of all that was read.
    Unique(Box<Outcome>),
}

/// The first line that is a duplicate; reads no further than the batch in which one is known to be.
///
/// Memory: within the job's budget, as [`dedup`](super::dedup()).
pub fn check(job: &Job) -> Result<Checked> {
    let budget = job.budget();
    let pool = job.pool()?;
    let set = ClusterSet::default();
    let mut found = None;
    // Once the set is full: the lines that it does not know.
    let mut rest: Option<(Overflow, Backlog)> = None;
    let mut records_before = 0;
    let mut workspace = Workspace::default();
    let mut tally = Tally::default();
    let read = Scan::new(job, &pool, Pass::first("checking")).run(
        Worker::default,
        |worker, chunk| sift(job, Print::Line, chunk, worker),
        |batch| {
            if rest.is_none() && set.may_exceed(budget.table_bytes()) {
                let backlog = Backlog::new(&job.memory.temp_dir)?;
                rest = Some((Overflow::new(job, budget)?, backlog));
            }
            let overflow = rest.as_mut().map(|(overflow, _)| overflow);
            let mut line_number = batch.first_line;
            let kept = mark(job, &set, overflow, &pool, batch, &mut tally)?;
            for MarkedChunk { chunk, texts, marks } in kept {
                let mut record = 0u32;
                let mut stopped = Ok(());
                let walked = each_entry_again(&chunk, job, &mut workspace, |entry| {
                    line_number += 1;
                    let Entry::Record(line) = entry else { return Ok(()) };
                    record += 1;
                    if u64::from(record) > texts.len() {
                        stopped = Err(changed());
                    } else if !marks.contains(record - 1) {
                        found = Some((line_number, line.line.to_vec()));
                        return Err(());
                    }
                    if let Some((_, backlog)) = &mut rest {
                        let text = [&u64::to_le_bytes(line_number), line.line].concat();
                        stopped = backlog.push(records_before, &text);
                        records_before += 1;
                    }
                    if stopped.is_ok() { Ok(()) } else { Err(()) }
                })?;
                stopped?;
                if walked.is_err() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    if let Some((mut overflow, backlog)) = rest {
        // A line before the one that was found may be a duplicate of another that the
        // set does not know.
        let (mut first, _) = overflow.first_of_each(job, &pool, &set, &Seen::default())?;
        let mut text = Vec::new();
        let keeps = |number| Ok(!overflow.is_next(&mut first, number)?);
        backlog.read(job.input.separator, keeps, |piece, is_end| {
            text.extend_from_slice(piece);
            Ok(if is_end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        if !text.is_empty() {
            let (line, text) = text.split_first_chunk().expect("its number was put in front of it");
            found = Some((u64::from_le_bytes(*line), text.to_vec()));
        }
    }
    Ok(match found {
        Some((line, text)) => {
            let place = line_place(&read.files, read.files_in_all, line);
            Checked::Duplicate(DuplicateLine { line, place, text })
        }
        None => {
            (tally.unique, tally.duplicate) = (tally.records, 0);
            let outcome = Outcome { compared: true, files: read.files, ..Outcome::default() };
            Checked::Unique(Box::new(Outcome { tally, ..outcome }))
        }
    })
}
