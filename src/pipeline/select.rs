//! `dedup` with a second look: counts, other representatives, whole clusters, the lines that were
//! dropped.
//!
//! The first pass takes the census; the second copies out what it selects, or gathers it (`members.rs`)
//! to be told (`tell.rs`). Streams are spooled before (see `spool.rs`), so that they can be read twice.
//! Where all clusters are told whole, one pass gathers everything.

use super::members::{Reading, gather};
use super::pool::Pool;
use super::scan::scan;
use super::selected::{Rest, Selected};
use super::walk::{Hand, each_entry, walk};
use super::{Job, Outcome, Print};
use crate::cluster::{Census, Keep, Occurrence, Scattered};
use crate::error::{Error, Result};
use crate::record::{Entry, without_no_host};
use crate::report::tables::KEPT;
use crate::report::{Cell, Output, Provenance, RowWriter, Shape};

/// Which clusters are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// All of them.
    All,
    /// Those of more than one line.
    Duplicated,
    /// Those of one line.
    Single,
}

impl Filter {
    /// Is a cluster of so many lines written?
    pub(super) fn wants(self, lines: u64) -> bool {
        match self {
            Filter::All => true,
            Filter::Duplicated => lines > 1,
            Filter::Single => lines == 1,
        }
    }
}

/// What to select, and how to write it.
pub struct SelectPlan {
    /// Which line stands for its cluster.
    pub keep: Keep,
    /// Which clusters.
    pub filter: Filter,
    /// Puts the number of lines in front of each representative, as `uniq -c` does.
    pub counts: bool,
    /// Writes every cluster with all its spellings instead of its representative alone.
    pub clusters: bool,
    /// What is written for a representative.
    pub print: Print,
    /// How rows for programs are written, with counts and canonical forms; `None`: for people, as
    /// the fields above say.
    pub shape: Option<Shape>,
}

impl SelectPlan {
    /// Is one reading of the input enough? Otherwise streams have to be spooled before.
    pub fn reads_once(&self) -> bool {
        self.clusters && self.filter == Filter::All
    }
}

/// Writes what `plan` selects to `output`, and the lines that were dropped to `dropped`. Publishes
/// neither.
pub fn select(
    job: &Job,
    plan: &SelectPlan,
    output: &mut Output,
    dropped: Option<&mut Output>,
) -> Result<Outcome> {
    let pool = job.pool()?;
    let (unique, mut outcome);
    if plan.reads_once() {
        outcome = Outcome { compared: true, ..Outcome::default() };
        let reading = Reading::Only(&mut outcome.tally);
        let mut told = gather(job, &pool, plan, dropped.is_some(), reading)?;
        unique = told.count;
        outcome.files = std::mem::take(&mut told.files);
        outcome.memory.budget_bytes = job.memory.bytes;
        told.write(job, &pool, plan, output, dropped)?;
    } else {
        let (mut census, rest);
        (census, rest, outcome) = take_census(job, &pool, plan.keep)?;
        let selected;
        (selected, unique) = match &rest {
            None => {
                let selected = census.select(|cluster| plan.filter.wants(cluster.lines));
                (Selected::Listed(selected.into_iter().peekable()), census.len())
            }
            Some(rest) => rest.select(job, &pool, &census, |lines| plan.filter.wants(lines))?,
        };
        drop(rest);
        if !plan.clusters {
            write_representatives(job, &pool, plan, selected, output)?;
        }
        if plan.clusters || dropped.is_some() {
            // What the census has no room for cannot be judged by it.
            let has_spilled = outcome.memory.spilled_after_lines.is_some();
            let reading = Reading::Second((!has_spilled).then(|| census.settled()));
            let told = gather(job, &pool, plan, dropped.is_some(), reading)?;
            if has_spilled {
                outcome.memory.spilled_bytes += told.bytes;
            }
            told.write(job, &pool, plan, output, dropped)?;
        }
    }
    outcome.stages = pool.seconds();
    outcome.tally.unique = unique;
    outcome.tally.duplicate = outcome.tally.records - unique;
    outcome.tally.check()?;
    Ok(outcome)
}

/// The first pass: every cluster, with its representative. Lines of clusters for which there is no
/// memory are told apart.
fn take_census(job: &Job, pool: &Pool, keep: Keep) -> Result<(Census, Option<Rest>, Outcome)> {
    let census = Census::new(keep);
    let budget = job.budget();
    let mut rest: Option<Rest> = None;
    let mut outcome = Outcome { compared: true, ..Outcome::default() };
    let Outcome { tally, memory, .. } = &mut outcome;
    memory.budget_bytes = job.memory.bytes;
    let files = scan(
        job,
        pool,
        "counting",
        Hand::default,
        |hand, chunk| {
            let (mut fingerprints, mut line_bytes, mut lines) = (vec![], vec![], vec![]);
            let tally = walk(chunk, job, hand, |line, record, canonical| {
                fingerprints.push(job.key.fingerprint(canonical.form));
                line_bytes.push(u32::try_from(record.spelling.len()).unwrap_or(u32::MAX));
                lines.push(line);
            });
            let scattered = Scattered::new(&fingerprints);
            (Occurrence { scattered, line_bytes, lines, first_line: 0 }, tally)
        },
        |batch| {
            let before = tally.lines;
            let mut occurrences = Vec::with_capacity(batch.len());
            for (_, (mut occurrence, counts)) in batch {
                occurrence.first_line = tally.lines;
                job.add(tally, &counts)?;
                occurrences.push(occurrence);
            }
            if rest.is_none() && census.memory_bytes_ahead() > budget.table_bytes() {
                rest = Some(Rest::new(job, budget)?);
                memory.spilled_after_lines = Some(before);
            }
            let count = |partition| census.count(partition, occurrences.iter());
            match &rest {
                Some(rest) => rest.count(job, pool, &census, &occurrences)?,
                None => pool.share_partitions(|| (), |(), partition| count(partition)),
            }
            Ok(Some(tally.lines - before))
        },
    )?;
    memory.table_bytes = census.memory_bytes();
    memory.spilled_bytes = rest.as_ref().map_or(0, Rest::spilled_bytes);
    outcome.files = files;
    Ok((census, rest, outcome))
}

/// Where representatives go: as lines for people, or as rows for programs.
enum Kept<'a> {
    Lines(&'a mut Output),
    Rows(RowWriter<'a>),
}

/// The second pass for representatives: `selected` comes by line, so both walk side by side.
fn write_representatives(
    job: &Job,
    pool: &Pool,
    plan: &SelectPlan,
    mut selected: Selected,
    output: &mut Output,
) -> Result<()> {
    let mut line = 0;
    let Hand { mut scratch, mut workspace } = Hand::default();
    let mut kept = match plan.shape {
        None => Kept::Lines(output),
        Some(shape) => Kept::Rows(RowWriter::new(output, shape, &KEPT, &made_by(job))?),
    };
    scan(
        job,
        pool,
        "writing",
        || (),
        |(), _| (),
        |batch| {
            let before = line;
            for (chunk, ()) in batch {
                each_entry(&chunk, job, &mut workspace, |entry| {
                    let wanted = selected.lines_of(job, line)?;
                    line += 1;
                    let (Some(lines), Entry::Record(record)) = (wanted, entry) else {
                        return Ok(());
                    };
                    let canonicalizer = job.canonicalizer;
                    match &mut kept {
                        Kept::Rows(writer) => {
                            let canonical = canonicalizer.canonical(record.url, &mut scratch);
                            writer.row(&[
                                Cell::Number(line),
                                Cell::Text(record.spelling),
                                Cell::Text(without_no_host(canonical.form)),
                                Cell::Number(lines),
                            ])
                        }
                        Kept::Lines(output) => {
                            if plan.counts {
                                output.write(format!("{lines:7} ").as_bytes())?;
                            }
                            let text = match plan.print {
                                Print::Original => record.spelling,
                                Print::Line => record.line,
                                Print::Canonical => {
                                    let canonical =
                                        canonicalizer.canonical(record.url, &mut scratch);
                                    without_no_host(canonical.form)
                                }
                            };
                            output.line(text, job.input.separator)
                        }
                    }
                })?;
            }
            if let Kept::Lines(output) = &mut kept {
                output.pass_on()?;
            }
            Ok(Some(line - before))
        },
    )?;
    if !selected.is_done(job)? {
        return Err(Error::input("the input has changed between the first and the second reading"));
    }
    match kept {
        Kept::Rows(writer) => writer.finish(),
        Kept::Lines(_) => Ok(()),
    }
}

/// What the first line of an output says.
pub(super) fn made_by(job: &Job) -> Provenance {
    Provenance::of(job.canonicalizer.profile())
}
