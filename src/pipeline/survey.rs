//! `report`: how much is duplicate, on which hosts, by which rules.
//!
//! What is to be known of every page is held in memory. Where that has no room for all pages, the
//! input is read once more for each of some shares of them, and what is found out about the shares
//! is added up: the report is the same.

mod clusters;
mod examples;
mod findings;
mod look;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use super::facets::Sums;
use super::layouts::Parcel;
use super::pool::Pool;
use super::scan::{BatchChunk, FORM_BYTES, Pass, Scan, WasRead, changed};
use super::walk::Worker;
use super::{InputFile, Job, MemoryUse, Outcome};
use crate::cluster::PARTITIONS;
use crate::error::{Error, Result};
use crate::report::{InputRow, Survey, Tally};
use clusters::describe_clusters;
use examples::settle_examples;
use findings::{Findings, Surveying};
use look::{LEVELS_BEFORE_RULES, Share, look_at};

/// Bytes kept of each record while its batch is processed: beside fingerprints and places its
/// host, and its forms at some levels.
const SURVEYED_BYTES: u64 = 300;

/// Bytes kept of a chunk with so many records: the names of its facets are parts of its forms.
fn record_bytes(chunk: &Parcel, records: u64) -> u64 {
    records * SURVEYED_BYTES + FORM_BYTES * chunk.bytes().len() as u64
}

/// Pages have no room in memory.
struct Full {
    /// The records that had been read by then.
    records: u64,
    /// The lines.
    lines: u64,
    /// What the pages would have taken after another batch.
    bytes: u64,
}

/// Surveys the job's input. `top` rows of hosts and clusters are told. The input may be read more
/// than once, so its streams have to be spooled (see `spool.rs`).
///
/// Memory: within the job's budget. Hosts that have no room go to a temporary file; if names of
/// other facets have none, or what is shown, that is an error.
pub fn survey(job: &Job, top: usize) -> Result<(Survey, Outcome)> {
    let pool = job.pool()?;
    let (mut tally, mut sums, mut lacks_host) = (Tally::default(), Sums::new(job), false);
    let mut pass = Ok(Surveying::new(job, &pool));
    let is_full = AtomicBool::new(false);
    let work = |worker: &mut Worker, chunk: &Parcel| {
        let share = if is_full.load(Ordering::Relaxed) { Share::Names } else { Share::All };
        look_at(job, chunk, worker, share)
    };
    let scan = Scan::new(job, &pool, Pass::first("surveying")).with_record_bytes(record_bytes);
    let read = scan.run(Worker::default, work, |batch| {
        let bytes = pass.as_ref().map_or(0, Surveying::memory_bytes_ahead);
        if pass.is_ok() && !has_room(job, bytes, &sums) {
            pass = Err(Full { records: tally.records, lines: tally.lines, bytes });
            is_full.store(true, Ordering::Relaxed);
        }
        for BatchChunk { made: surveyed, .. } in &batch.chunks {
            lacks_host |= surveyed.lacks_host;
            job.add(&mut tally, &surveyed.tally)?;
        }
        match &mut pass {
            Ok(pass) => pass.take(&batch.chunks, &mut sums)?,
            Err(_) => {
                let facets: Vec<_> = batch.chunks.iter().map(|chunk| &chunk.made.facets).collect();
                sums.add_names(&pool, &facets)?;
            }
        }
        if !has_room(job, 0, &sums) {
            return Err(too_much(job, "the names of sections, parameters and agents"));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let mut memory = MemoryUse { budget_bytes: job.memory.bytes, ..MemoryUse::default() };
    let mut found = match pass {
        Ok(pass) => pass.finish(top),
        Err(full) => {
            memory.spilled_after_lines = Some(full.lines);
            memory.read_in_shares = true;
            in_shares(job, &pool, &read, &full, tally.records, &mut sums, top)?
        }
    };
    memory.table_bytes = found.pages_bytes;
    if found.counts.records != tally.records {
        return Err(changed());
    }
    settle_examples(&mut found.levels);
    tally.set_unique(found.unique);
    tally.check()?;
    let clusters = match found.largest.as_slice() {
        [] => Vec::new(),
        largest => describe_clusters(job, &pool, &read, largest)?,
    };
    let (breakdowns, spilled_bytes) = sums.breakdowns(top)?;
    memory.spilled_bytes = spilled_bytes;
    let survey = Survey {
        profile: job.canonicalizer.profile().clone(),
        tally: tally.clone(),
        input: read.files.iter().map(input_row).collect(),
        site_rules: found.top_site_rules(job, top),
        levels: found.levels,
        breakdowns,
        counts: found.counts,
        lacks_host,
        clusters,
    };
    let stages = pool.seconds();
    let outcome = Outcome { tally, compared: true, files: read.files, memory, stages, known: None };
    Ok((survey, outcome))
}

/// Is there memory for pages that take `bytes`, beside the sums?
fn has_room(job: &Job, bytes: u64, sums: &Sums) -> bool {
    bytes + sums.memory_bytes_ahead() <= job.budget().table_bytes()
}

/// Reads the input once for each of as many shares of the pages as memory asks for. But for hosts
/// that go to a file, the names in `sums` are all there will be.
fn in_shares(
    job: &Job,
    pool: &Pool,
    read: &WasRead,
    full: &Full,
    records: u64,
    sums: &mut Sums,
    top: usize,
) -> Result<Findings> {
    // A guess: half of the next power of two, since they were counted with room to grow. If it is
    // too little, there are twice as many shares.
    let growth = records.div_ceil(full.records.max(1)).next_power_of_two();
    let bytes = full.bytes.saturating_mul(growth) / 2;
    let room = job.budget().table_bytes().saturating_sub(sums.memory_bytes_ahead());
    let count = bytes.div_ceil(room.max(1)).next_power_of_two().max(2);
    let mut count = usize::try_from(count).unwrap_or(usize::MAX);
    while count <= PARTITIONS {
        match survey_shares(job, pool, read, count, sums, top)? {
            Ok(found) => return Ok(found),
            // There are more pages than it seemed at first.
            Err(number) => count = enough_shares(job, pool, read, (number, count), sums)?,
        }
    }
    let what = format!("the spellings of one of {PARTITIONS} shares of the pages, or of one page,");
    Err(too_much(job, &what))
}

/// How many shares it takes for those that share `number` of `count` is divided into to
/// have room, which it has not; more than there may be if one page has none. The other
/// shares are not looked at.
fn enough_shares(
    job: &Job,
    pool: &Pool,
    read: &WasRead,
    (mut number, mut count): (usize, usize),
    sums: &mut Sums,
) -> Result<usize> {
    loop {
        count *= 2;
        let mut full = None;
        for half in [2 * number, 2 * number + 1] {
            let share = Share::Part { number: half, count };
            sums.forget_counts()?;
            if count <= PARTITIONS && survey_share(job, pool, read, share, sums, 0)?.is_none() {
                full = Some(half);
                break;
            }
        }
        match full {
            None => return Ok(count),
            Some(half) => number = half,
        }
    }
}

/// What is found out about all of `count` shares, or the number of one that has no room in memory.
fn survey_shares(
    job: &Job,
    pool: &Pool,
    read: &WasRead,
    count: usize,
    sums: &mut Sums,
    top: usize,
) -> Result<std::result::Result<Findings, usize>> {
    sums.forget_counts()?;
    let mut found = Findings::none(job);
    for number in 0..count {
        let share = Share::Part { number, count };
        let Some(more) = survey_share(job, pool, read, share, sums, top)? else {
            return Ok(Err(number));
        };
        found.add(more, top);
    }
    Ok(Ok(found))
}

/// The error of a report that cannot do with the job's memory.
#[cold]
fn too_much(job: &Job, what: &str) -> Error {
    Error::limit(format!(
        "{what} take more memory than clusters may, {} of {} MiB; raise -S",
        job.budget().table_bytes() >> 20,
        job.memory.bytes >> 20
    ))
}

/// What a reading finds out about the pages of `share`; `None` if they have no room in memory.
fn survey_share(
    job: &Job,
    pool: &Pool,
    read: &WasRead,
    share: Share,
    sums: &mut Sums,
    top: usize,
) -> Result<Option<Findings>> {
    let mut pass = Some(Surveying::new(job, pool));
    let work = |worker: &mut Worker, chunk: &Parcel| look_at(job, chunk, worker, share);
    let name = match share {
        Share::Part { number, count } => format!("surveying, part {} of {count}", number + 1),
        Share::All | Share::Names => "surveying".to_string(),
    };
    let scan = Scan::new(job, pool, Pass::again(&name, read)).with_record_bytes(record_bytes);
    scan.run(Worker::default, work, |batch| {
        pass = pass.take().filter(|pass| has_room(job, pass.memory_bytes_ahead(), sums));
        let Some(pass) = &mut pass else { return Ok(ControlFlow::Break(())) };
        pass.take(&batch.chunks, sums)?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(pass.map(|pass| pass.finish(top)))
}

fn levels_of(job: &Job) -> usize {
    LEVELS_BEFORE_RULES + job.canonicalizer.profile().rules.len()
}

fn input_row(InputFile { summary, layout, lines, .. }: &InputFile) -> InputRow {
    InputRow {
        path: summary.path.display().to_string(),
        format: layout.name().to_string(),
        compression: summary.compression.name().to_string(),
        disk_bytes: summary.disk_bytes,
        bytes: summary.bytes,
        lines: *lines,
    }
}
