//! `canon`: the canonical form of every line, line for line.

use super::aside::aside;
use super::layouts::Parcel;
use super::pool::Stage;
use super::scan::{Batch, BatchChunk, FORM_BYTES, Pass, Scan};
use super::walk::{Worker, count_other, each_entry};
use super::{Job, Outcome, line_place};
use crate::bytes::show;
use crate::error::{Error, Result};
use crate::input::Stop;
use crate::parts;
use crate::record::{Entry, without_no_host};
use crate::reject::Reject;
use crate::report::Output;
use crate::report::Tally;
use std::ops::ControlFlow;

/// What to write for a line whose URL does not parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBad {
    /// The line as it is.
    Keep,
    /// An empty line.
    Empty,
    /// Nothing more: the job ends with an error that names the line.
    Fail,
}

/// What a worker makes of a chunk.
struct Rewritten {
    text: Vec<u8>,
    tally: Tally,
    /// The first line that cannot be written: its number in the chunk from 0, why, how it starts.
    bad: Option<(u64, Reject, Vec<u8>)>,
}

/// Writes the canonical form of every line to `output`: as many lines as were read, in order.
///
/// Empty lines stay empty, and so do lines of a format that have no URL. All URLs count as unique:
/// nothing is compared.
pub fn canon(job: &Job, on_bad: OnBad, output: &mut Output) -> Result<Outcome> {
    let pool = job.pool()?;
    let mut outcome = Outcome::default();
    outcome.memory.budget_bytes = job.memory.bytes;
    let (tally, mut bad) = (&mut outcome.tally, None);
    let write = |batch| pool.time(Stage::Writing, || write(batch, output));
    let record_bytes = |chunk: &Parcel, _| FORM_BYTES * chunk.bytes().len() as u64;
    let stop = Stop::default();
    let (read, end) = aside(1, &stop, write, |rewritten| {
        let scan = Scan::new(job, &pool, Pass::first("canonicalizing")).with_stop(&stop);
        scan.with_record_bytes(record_bytes).run_to_end(
            Worker::default,
            |worker, chunk| {
                let rewritten = rewrite(job, on_bad, chunk, worker);
                (rewritten.tally.lines, rewritten)
            },
            |mut batch| {
                let end = batch.chunks.iter().position(|chunk| chunk.made.bad.is_some());
                batch.chunks.truncate(end.map_or(usize::MAX, |at| at + 1));
                for BatchChunk { first_line, made, .. } in &mut batch.chunks {
                    match made.bad.take() {
                        Some((line, reject, text)) => {
                            bad = Some((*first_line + line + 1, reject, text));
                        }
                        None => job.add(tally, &made.tally)?,
                    }
                }
                rewritten.send(batch)?;
                Ok(if bad.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            },
        )
    })?;
    if let Some((line, reject, text)) = bad {
        return Err(bad_line(&line_place(&read.files, read.files_in_all, line), reject, &text));
    }
    end?;
    outcome.files = read.files;
    outcome.stages = pool.seconds();
    outcome.tally.check()?;
    Ok(outcome)
}

/// Writes what was made of a `batch`, while the next one is worked on.
fn write(batch: Batch<Rewritten>, output: &mut Output) -> Result<()> {
    for BatchChunk { parcel, made, .. } in batch.chunks {
        output.write_large(&made.text)?;
        parcel.release();
    }
    output.pass_on()
}

fn bad_line(place: &str, reject: Reject, text: &[u8]) -> Error {
    let text = parts::without_userinfo(text);
    let start = show(&text[..text.len().min(200)]);
    match reject {
        Reject::LineTooLong => Error::limit(format!(
            "{place}: longer than the line limit: \"{start}…\"; raise --line-limit, or write an \
             empty line for it with --on-bad empty"
        )),
        Reject::Format
        | Reject::NoRequest
        | Reject::BadRequest
        | Reject::NoPage
        | Reject::NoUrl => Error::input(format!(
            "{place}: {}: \"{start}\"; --on-bad keep and --on-bad empty write an empty line for \
                 lines without a URL",
            reject.explain()
        )),
        _ => Error::input(format!(
            "{place}: {}: \"{start}\"; keep such lines with --on-bad keep",
            reject.explain()
        )),
    }
}

fn rewrite(job: &Job, on_bad: OnBad, chunk: &Parcel, worker: &mut Worker) -> Rewritten {
    let mut text = Vec::with_capacity(chunk.bytes().len() + 64);
    let mut tally = Tally::default();
    let Worker { scratch, workspace } = worker;
    let mut urls = job.canonicalizer.lines_of(chunk.bytes(), scratch);
    let all = each_entry(chunk, job, workspace, |entry| {
        tally.lines += 1;
        match entry {
            Entry::Record(record) => {
                tally.records += 1;
                tally.bytes += record.line.len() as u64;
                let canonical = urls.canonical(record.url);
                tally.scheme_added += u64::from(canonical.scheme_added);
                if let Some(reject) = canonical.reject {
                    if on_bad == OnBad::Fail {
                        return Err((tally.lines - 1, reject, record.line.to_vec()));
                    }
                    tally.unparsed.add(reject);
                }
                if canonical.reject.is_none() || on_bad == OnBad::Keep {
                    text.extend_from_slice(without_no_host(canonical.form));
                }
            }
            other => {
                count_other(&mut tally, &other, chunk, job);
                // A line that is too long cannot be kept, so this is an error unless an empty one
                // will do.
                if let Entry::Reject(reject, line) = other
                    && (on_bad == OnBad::Fail
                        || on_bad == OnBad::Keep && reject == Reject::LineTooLong)
                {
                    let start = &line[..line.len().min(200)];
                    return Err((tally.lines - 1, reject, start.to_vec()));
                }
            }
        }
        text.push(job.input.separator);
        Ok(())
    });
    tally.set_unique(tally.records);
    Rewritten { text, tally, bad: all.err() }
}
