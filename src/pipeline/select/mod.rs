//! `dedup` with a second look: counts, other representatives, whole clusters, the dropped lines.
//!
//! The first pass takes the census; the second copies out what was selected, or gathers it
//! (`members.rs`) to be formatted (`format.rs`). Streams are spooled first (see `spool.rs`), so
//! that they can be read twice. Where all clusters are written whole, one pass gathers everything.

mod format;
mod lister;
mod members;
mod representatives;
mod spellings;

use std::ops::{ControlFlow, Range};

use super::scan::layouts::Parcel;
use super::scan::walk;
use super::scan::walk::{Worker, count_lines, each_entry_again, walk};
use super::scan::{BatchChunk, Pass, RECORD_BYTES, Scan, WasRead, input_changed};
use super::threads::pool::Stage;
use super::{Job, Outcome, Print, RunContext};
use crate::bytes::decimal::push_number_to;
use crate::cluster::{Census, Keep, Occurrence, Scattered, line_length};
use crate::error::Result;
use crate::record::{Entry, Record, Workspace, without_no_host};
use crate::report::{Cell, Listed, Listing, ListingWriter, Output, Provenance, Shape};
use lister::{Ahead, list};
use members::text_bytes;
use members::{GatherPass, gather};
use representatives::{Represented, Rest, Selected};

/// Which clusters are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterFilter {
    /// All clusters.
    All,
    /// The clusters of more than one line.
    Duplicated,
    /// The clusters of one line.
    Single,
}

impl ClusterFilter {
    /// Tells whether a cluster of this many lines is written.
    pub(super) fn wants(self, lines: u64) -> bool {
        match self {
            ClusterFilter::All => true,
            ClusterFilter::Duplicated => lines > 1,
            ClusterFilter::Single => lines == 1,
        }
    }
}

/// What is written of a cluster. Dropped lines are rows where clusters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterOutput {
    /// Its representative, for people.
    Lines {
        /// What is written for the representative.
        print: Print,
        /// Writes the number of the cluster's lines before it, as `uniq -c` does.
        counts: bool,
    },
    /// Its representative as a row for programs, with its count and its canonical form.
    Rows(Shape),
    /// All its spellings with their counts: for people, or as rows for programs of this shape.
    Spellings(Option<Shape>),
}

/// What to select, and how to write it.
#[derive(Clone, Copy, Debug)]
pub struct SelectPlan {
    /// Which line stands for its cluster.
    pub keep: Keep,
    /// Which clusters.
    pub filter: ClusterFilter,
    /// What is written of each.
    pub written: ClusterOutput,
}

impl SelectPlan {
    /// Is one reading of the input enough? Otherwise streams have to be spooled first.
    pub fn reads_once(&self) -> bool {
        self.writes_spellings() && self.filter == ClusterFilter::All
    }

    /// Are clusters written with all their spellings?
    pub(super) fn writes_spellings(&self) -> bool {
        matches!(self.written, ClusterOutput::Spellings(_))
    }

    /// The shape of rows for programs; `None`: lines for people.
    pub(super) fn shape(&self) -> Option<Shape> {
        match self.written {
            ClusterOutput::Lines { .. } => None,
            ClusterOutput::Rows(shape) => Some(shape),
            ClusterOutput::Spellings(shape) => shape,
        }
    }

    /// Does the output of a table need its header? Not with counts, which shift the columns.
    fn has_header(&self) -> bool {
        self.written == ClusterOutput::Lines { print: Print::Line, counts: false }
    }

    /// Begins the listing of `listed` in `output`.
    pub(super) fn writer<'a>(
        &self,
        job: &Job,
        listed: Listed,
        output: &'a mut Output,
    ) -> Result<ListingWriter<'a>> {
        let made_by = Provenance::of(job.canonicalizer.profile());
        ListingWriter::new(output, listed, job.input.separator, self.shape(), &made_by)
    }
}

/// Writes what `plan` selects to `output`, and the dropped lines to `dropped`. Publishes neither.
pub fn select(
    job: &Job,
    plan: &SelectPlan,
    output: &mut Output,
    dropped: Option<&mut Output>,
) -> Result<Outcome> {
    let run = RunContext { job, pool: &job.pool()? };
    if plan.reads_once() {
        select_in_one_pass(run, plan, output, dropped)
    } else {
        select_in_two_passes(run, plan, output, dropped)
    }
}

/// For plans that write all clusters whole: everything is gathered while it is counted.
fn select_in_one_pass(
    run: RunContext,
    plan: &SelectPlan,
    output: &mut Output,
    dropped: Option<&mut Output>,
) -> Result<Outcome> {
    let mut outcome = Outcome::begin(run.job);
    let reading = GatherPass::Only(&mut outcome.tally);
    let mut gathered = gather(run, plan, dropped.is_some(), reading)?;
    let files = std::mem::take(&mut gathered.files);
    outcome.tally.set_unique(gathered.count);
    gathered.write(run, plan, output, dropped)?;
    outcome.end(files, run.pool)
}

/// For plans whose output depends on the whole input: a census, and then a second pass over what
/// it has selected.
fn select_in_two_passes(
    run: RunContext,
    plan: &SelectPlan,
    output: &mut Output,
    dropped: Option<&mut Output>,
) -> Result<Outcome> {
    let FirstPass { census, mut rest, read, mut outcome } = take_census(run, plan.keep)?;
    let writes_spellings = plan.writes_spellings();
    // For whole clusters, only their number is needed here.
    let wanted = |lines| !writes_spellings && plan.filter.wants(lines);
    let (selected, unique) = match &mut rest {
        None => {
            let forgets = !writes_spellings && dropped.is_none();
            Selected::listed(run.pool, &census, forgets, wanted)
        }
        Some(rest) => rest.select(run, &census, wanted)?,
    };
    outcome.memory.spilled_bytes = rest.as_ref().map_or(0, Rest::spilled_bytes);
    drop(rest);
    if !writes_spellings {
        write_representatives(run, plan, &read, selected, output)?;
    }
    if writes_spellings || dropped.is_some() {
        // A census that has spilled does not know all clusters.
        let has_spilled = outcome.memory.spilled_after_lines.is_some();
        let census = (!has_spilled).then_some(census);
        let reading = GatherPass::Second { first: &read, clusters: unique, census };
        let gathered = gather(run, plan, dropped.is_some(), reading)?;
        if has_spilled {
            outcome.memory.spilled_bytes += gathered.bytes;
        }
        gathered.write(run, plan, output, dropped)?;
    }
    outcome.tally.set_unique(unique);
    outcome.end(read.files, run.pool)
}

/// What is known after the first of two passes.
struct FirstPass {
    /// Every cluster that had room in memory, with its representative.
    census: Census,
    /// The lines of the others, if there are any.
    rest: Option<Rest>,
    read: WasRead,
    /// Without the number of clusters, which is not known yet.
    outcome: Outcome,
}

/// The first of two passes: counts the lines of each cluster.
fn take_census(run: RunContext, keep: Keep) -> Result<FirstPass> {
    let RunContext { job, pool } = run;
    let census = Census::new(keep);
    let budget = job.budget();
    let mut rest: Option<Rest> = None;
    let mut outcome = Outcome::begin(job);
    let Outcome { tally, memory, .. } = &mut outcome;
    let read = Scan::new(job, pool, Pass::first("counting")).run(
        Worker::default,
        |worker, chunk| {
            let (mut fingerprints, mut line_bytes, mut lines) = (vec![], vec![], vec![]);
            let asks_for_bytes = keep == Keep::Shortest;
            let tally = walk(chunk, job, worker, |line, record, canonical| {
                fingerprints.push(job.key.fingerprint(canonical.form));
                if asks_for_bytes {
                    line_bytes.push(line_length(record.spelling.len() as u64));
                }
                lines.push(line);
            });
            (tally.lines, (Scattered::new(&fingerprints), line_bytes, lines, tally))
        },
        |batch| {
            let mut occurrences = Vec::with_capacity(batch.chunks.len());
            for BatchChunk { first_line, made, .. } in batch.chunks {
                let (scattered, line_bytes, lines, counts) = made;
                job.add(tally, &counts)?;
                occurrences.push(Occurrence { scattered, line_bytes, lines, first_line });
            }
            if rest.is_none() && census.memory_bytes_ahead() > budget.table_bytes() {
                rest = Some(Rest::new(job, budget)?);
                memory.spilled_after_lines = Some(batch.first_line);
            }
            let count = |partition| census.count(partition, occurrences.iter());
            match &rest {
                Some(rest) => rest.count(run, &census, &occurrences)?,
                None => pool.each_partition(count),
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    memory.table_bytes = census.memory_bytes();
    Ok(FirstPass { census, rest, read, outcome })
}

/// The second pass for representatives: `selected` is in the order of lines, so both are read side
/// by side.
fn write_representatives(
    RunContext { job, pool }: RunContext,
    plan: &SelectPlan,
    read: &WasRead,
    mut selected: Selected,
    output: &mut Output,
) -> Result<()> {
    let mut writer = plan.writer(job, Listed::Kept, output)?;
    let ahead = Ahead {
        parts: PARTS_AHEAD,
        // The other half is for what is formatted meanwhile.
        bytes: job.budget().listing_bytes() / 2,
        part_bytes: 2 * job.budget().chunk_bytes(),
    };
    let is_for_programs = plan.shape().is_some();
    let read = list(pool, &mut writer, ahead, |lister| {
        // A row has a record's URL, its canonical form, and the names of its members.
        let record_bytes = |chunk: &Parcel, records: u64| {
            let bytes = chunk.bytes().len() as u64;
            let texts = text_bytes(bytes / records.max(1)) * records;
            records * RECORD_BYTES + if is_for_programs { bytes + 2 * texts } else { bytes }
        };
        Scan::new(job, pool, Pass::again("writing", read)).with_record_bytes(record_bytes).run(
            Worker::default,
            |worker, chunk| (count_lines(chunk, job, &mut worker.workspace), ()),
            |batch| {
                let mut chunks = Vec::with_capacity(batch.chunks.len());
                for BatchChunk { parcel, first_line, lines, .. } in &batch.chunks {
                    let range = *first_line..first_line + lines;
                    let represented = selected.read(job, range.clone())?;
                    chunks.push(SelectedChunk { chunk: parcel, range, represented });
                }
                let first = batch.chunks.first().filter(|_| batch.first_line == 0);
                if let Some(first) = first.filter(|_| plan.has_header()) {
                    let mut part = lister.part();
                    if let Listing::Lines(out, _) = &mut part {
                        out.extend_from_slice(&walk::header(&first.parcel, job));
                    }
                    lister.write(part)?;
                }
                for chunks in chunks.chunks(PARTS_AHEAD) {
                    let stage = Stage::Canonicalizing;
                    let parts =
                        pool.map_with(stage, chunks.len(), Worker::default, |worker, at| {
                            let mut part = lister.part();
                            chunks[at].list(job, plan, &selected, worker, &mut part).map(|()| part)
                        });
                    parts.into_iter().try_for_each(|part| lister.write(part?))?;
                }
                lister.flush_if_streaming()?;
                Ok(ControlFlow::Continue(()))
            },
        )
    })?;
    if selected.end_before(job, read.lines)? { writer.finish() } else { Err(input_changed()) }
}

/// How many parts of the listing, of a chunk each, are formatted at a time, while as many wait to
/// be written. Reason: some for each worker.
const PARTS_AHEAD: usize = 16;

/// A chunk, and which of its lines are written.
struct SelectedChunk<'a> {
    chunk: &'a Parcel,
    /// The numbers of its lines, from 0.
    range: Range<u64>,
    /// What is known of the lines; `None` if it has to be looked up.
    represented: Option<Represented>,
}

impl SelectedChunk<'_> {
    /// Formats those of its lines that represent clusters which are `selected`.
    fn list(
        &self,
        job: &Job,
        plan: &SelectPlan,
        selected: &Selected,
        worker: &mut Worker,
        listing: &mut Listing,
    ) -> Result<()> {
        let (Worker { scratch, workspace }, canonicalizer) = (worker, job.canonicalizer);
        match (listing, plan.written) {
            (Listing::Lines(out, separator), ClusterOutput::Lines { print, counts }) => {
                let print = print.of(self.chunk);
                self.each_selected(job, selected, workspace, |_, record, lines| {
                    if counts {
                        // As `uniq -c` does.
                        push_number_to(out, lines, 7);
                        out.push(b' ');
                    }
                    print.push(record, || canonicalizer.canonical(record.url, scratch), out);
                    out.push(*separator);
                })
            }
            (Listing::Rows(rows), ClusterOutput::Rows(_)) => {
                self.each_selected(job, selected, workspace, |number, record, lines| {
                    let canonical = canonicalizer.canonical(record.url, scratch);
                    rows.row(&[
                        Cell::Number(number),
                        Cell::Text(record.spelling),
                        Cell::Text(without_no_host(canonical.form)),
                        Cell::Number(lines),
                    ]);
                })
            }
            _ => unreachable!("the part is of the kind that the plan asks for"),
        }
    }

    /// Calls `each` for those of its lines that represent clusters which are `selected`, with the
    /// number of the line, its record, and how many lines the cluster has.
    fn each_selected(
        &self,
        job: &Job,
        selected: &Selected,
        workspace: &mut Workspace,
        mut each: impl FnMut(u64, &Record, u64),
    ) -> Result<()> {
        let looked_up;
        let represented = match &self.represented {
            Some(represented) => represented,
            None => {
                looked_up = selected.look_up(self.range.clone());
                &looked_up
            }
        };
        let mut entries = represented.iter().zip(self.range.start + 1..);
        each_entry_again(self.chunk, job, workspace, |entry| {
            let (lines, number) = entries.next().ok_or_else(input_changed)?;
            if *lines == 0 {
                return Ok(());
            }
            let Entry::Record(record) = entry else { return Err(input_changed()) };
            each(number, &record, *lines);
            Ok(())
        })??;
        if entries.next().is_some() { Err(input_changed()) } else { Ok(()) }
    }
}
