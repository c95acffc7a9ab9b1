//! `dedup` with a second look: counts, other representatives, whole clusters, the lines that were
//! dropped.
//!
//! The first pass takes the census; the second copies out what it selects. Streams are spooled
//! before (see `spool.rs`), so that they can be read twice.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;

use super::budget::too_many;
use super::pool::Pool;
use super::scan::scan;
use super::selected::{Rest, Selected};
use super::walk::{Hand, each_entry, walk};
use super::{Job, Outcome, Print, temp};
use crate::canonical::Scratch;
use crate::cluster::{Census, Keep, Occurrence, Scattered};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::record::{Entry, Workspace, full_url, without_no_host};
use crate::report::tables::KEPT;
use crate::report::{Cell, ClusterWriter, DroppedWriter, Output, Provenance, RowWriter, Shape};

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
    fn wants(self, lines: u64) -> bool {
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

/// Writes what `plan` selects to `output`, and the lines that were dropped to `dropped`. Publishes
/// neither.
pub fn select(
    job: &Job,
    plan: &SelectPlan,
    output: &mut Output,
    dropped: Option<&mut Output>,
) -> Result<Outcome> {
    let pool = job.pool()?;
    let needs_all = plan.clusters || dropped.is_some();
    let (census, rest, mut outcome) = take_census(job, &pool, plan.keep, needs_all)?;
    let (selected, unique) = match &rest {
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
        let members = gather(job, &pool, &census, plan, dropped.is_some())?;
        if plan.clusters {
            write_clusters(&members, plan, output, job)?;
        }
        if let Some(dropped) = dropped {
            write_dropped(&members, job, plan, dropped)?;
        }
    }
    outcome.stages = pool.seconds();
    outcome.tally.unique = unique;
    outcome.tally.duplicate = outcome.tally.records - unique;
    outcome.tally.check()?;
    Ok(outcome)
}

/// The first pass: every cluster, with its representative. Lines of clusters for which there is no
/// memory are told apart; if the census `needs_all`, that is an error.
fn take_census(
    job: &Job,
    pool: &Pool,
    keep: Keep,
    needs_all: bool,
) -> Result<(Census, Option<Rest>, Outcome)> {
    let census = Census::new(keep);
    let budget = job.budget();
    let mut rest: Option<Rest> = None;
    let mut outcome = Outcome::default();
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
                if needs_all {
                    let what = "--clusters and --dropped have";
                    return Err(too_many(job, what, census.memory_bytes_ahead()));
                }
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

/// The lines of clusters, spooled, in the order of the clusters.
struct Members {
    rows: Vec<Member>,
    spool: File,
}

/// One line of a cluster.
struct Member {
    /// The number of the cluster's representative; its own number if it is the one.
    cluster: u64,
    line: u64,
    /// Where its text is in the spool.
    at: u64,
    line_bytes: u32,
}

/// Bytes of memory for each member: a row, room to grow, and a place in the order of lines.
const MEMBER_BYTES: u64 = (2 * size_of::<Member>() + size_of::<(u64, &Member, &Member)>()) as u64;

impl Members {
    /// The rows of each cluster, by representative; within one the representative comes first.
    fn clusters(&self) -> impl Iterator<Item = &[Member]> {
        self.rows.chunk_by(|a, b| a.cluster == b.cluster)
    }

    fn text(&self, member: &Member) -> Result<Vec<u8>> {
        let mut text = vec![0; member.line_bytes as usize];
        self.spool
            .read_exact_at(&mut text, member.at)
            .map_err(|error| Error::reading("temporary file", error))?;
        Ok(text)
    }
}

/// The second pass for whole clusters: spools the lines of those that are wanted.
fn gather(
    job: &Job,
    pool: &Pool,
    census: &Census,
    plan: &SelectPlan,
    all_duplicates: bool,
) -> Result<Members> {
    let folder = &job.memory.temp_dir;
    let spool = temp::open(folder)?;
    let mut writer = BufWriter::with_capacity(1 << 20, spool);
    let spool_error = |error| temp::failed(folder, error);
    let rows_max = job.budget().members_bytes(census.memory_bytes()) / MEMBER_BYTES;
    let mut rows = Vec::new();
    let (mut line, mut at) = (0u64, 0u64);
    let mut workspace = Workspace::default();
    scan(
        job,
        pool,
        "gathering",
        Hand::default,
        |hand, chunk| {
            let mut fingerprints: Vec<Fingerprint> = Vec::new();
            walk(chunk, job, hand, |_, _, canonical| {
                fingerprints.push(job.key.fingerprint(canonical.form));
            });
            fingerprints
        },
        |batch| {
            let before = line;
            for (chunk, fingerprints) in batch {
                let mut fingerprints = fingerprints.into_iter();
                each_entry(&chunk, job, &mut workspace, |entry| {
                    let number = line;
                    line += 1;
                    let Entry::Record(record) = entry else { return Ok(()) };
                    let cluster = fingerprints.next().and_then(|one| census.get(one));
                    let cluster = cluster.ok_or_else(|| {
                        Error::input(
                            "the input has changed between the first and the second reading",
                        )
                    })?;
                    let in_list = plan.clusters && plan.filter.wants(cluster.lines);
                    if in_list || all_duplicates && cluster.lines > 1 {
                        writer.write_all(record.spelling).map_err(spool_error)?;
                        let line_bytes = u32::try_from(record.spelling.len()).unwrap_or(u32::MAX);
                        let cluster = cluster.representative;
                        if rows.len() as u64 >= rows_max {
                            let bytes = census.memory_bytes() + rows_max * MEMBER_BYTES;
                            return Err(too_many(job, "--clusters and --dropped have", bytes));
                        }
                        rows.push(Member { cluster, line: number, at, line_bytes });
                        at += u64::from(line_bytes);
                    }
                    Ok(())
                })?;
            }
            Ok(Some(line - before))
        },
    )?;
    let spool = writer.into_inner().map_err(|error| spool_error(error.into_error()))?;
    rows.sort_unstable_by_key(|row| (row.cluster, row.line != row.cluster, row.line));
    Ok(Members { rows, spool })
}

fn write_clusters(
    members: &Members,
    plan: &SelectPlan,
    output: &mut Output,
    job: &Job,
) -> Result<()> {
    let bytes_max = job.budget().told_bytes();
    let filter = plan.filter;
    let mut scratch = Scratch::default();
    let mut writer = match plan.shape {
        None => ClusterWriter::new(output, job.input.separator)?,
        Some(shape) => ClusterWriter::shaped(output, shape, &made_by(job))?,
    };
    for cluster in members.clusters() {
        let is_single = cluster.len() == 1;
        if filter == Filter::Duplicated && is_single || filter == Filter::Single && !is_single {
            continue;
        }
        let mut spellings: Vec<(Vec<u8>, u64)> = Vec::new();
        let mut bytes = 0;
        let mut known: HashMap<Vec<u8>, usize, ahash::RandomState> = HashMap::default();
        for member in cluster {
            let text = members.text(member)?;
            match known.get(&text) {
                Some(at) => spellings[*at].1 += 1,
                None => {
                    // Twice, in a list and in a map that have room to grow.
                    bytes += 2 * (text.len() as u64 + 80);
                    if bytes > bytes_max {
                        return Err(too_many(job, "--clusters has", bytes));
                    }
                    known.insert(text.clone(), spellings.len());
                    spellings.push((text, 1));
                }
            }
        }
        let url = match (plan.shape, spellings.first()) {
            (Some(_), Some((spelling, _))) => full_url(spelling),
            _ => (&[][..]).into(),
        };
        let canonical = job.canonicalizer.canonical(&url, &mut scratch).form;
        writer.cluster(&spellings, without_no_host(canonical))?;
    }
    writer.finish()
}

/// What the first line of an output says.
fn made_by(job: &Job) -> Provenance {
    Provenance::of(job.canonicalizer.profile())
}

fn write_dropped(
    members: &Members,
    job: &Job,
    plan: &SelectPlan,
    output: &mut Output,
) -> Result<()> {
    // By line, not by cluster: the order in which they were dropped.
    let mut rows: Vec<(u64, &Member, &Member)> = Vec::with_capacity(members.rows.len());
    for cluster in members.clusters() {
        let (representative, rest) = cluster.split_first().expect("a chunk has a first element");
        rows.extend(rest.iter().map(|member| (member.line, member, representative)));
    }
    rows.sort_unstable_by_key(|(line, _, _)| *line);
    let mut writer = match plan.shape {
        None => DroppedWriter::new(output, job.input.separator)?,
        Some(shape) => DroppedWriter::shaped(output, shape, &made_by(job))?,
    };
    for (line, member, representative) in rows {
        let (dropped, kept) = (members.text(member)?, members.text(representative)?);
        let reason = job.canonicalizer.compare(&full_url(&dropped), &full_url(&kept)).reason();
        writer.row(line + 1, representative.line + 1, &reason, &dropped, &kept)?;
    }
    writer.finish()
}
