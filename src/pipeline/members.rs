//! The reading of a job that tells whole clusters, or the lines that were dropped: gathers them.
//!
//! ```text
//! reading    the lines of clusters that are wanted --> spellings.rs
//!                                                  \-> Gathered (cluster/gathered.rs)
//! at the end partition by partition: clusters, and lines with the one that stands for them
//!            --> tell.rs
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

use super::layouts::Parcel;
use super::overflow::each_partition;
use super::pool::Pool;
use super::scan::{RECORD_BYTES, scan_heavy};
use super::select::SelectPlan;
use super::spellings::{SpellingFiles, SpellingWriter, Spellings};
use super::walk::{Hand, walk};
use super::{InputFile, Job, temp};
use crate::cluster::{ChunkLines, Clusters, Gathered, Member, Others, Settled, Wanted};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::input::Mapped;
use crate::report::Tally;

/// What was gathered: lines by cluster, and their spellings.
pub(super) struct Told {
    pub(super) clusters: Clusters,
    pub(super) others: Others,
    /// The list of members that do not stand for their cluster; `None` if it is empty.
    pub(super) list: Option<Mapped>,
    pub(super) spellings: Spellings,
    /// How many clusters there are, of those that were gathered.
    pub(super) count: u64,
    /// Bytes that went to files.
    pub(super) bytes: u64,
    pub(super) files: Vec<InputFile>,
}

/// Which reading of the input it is.
pub(super) enum Reading<'a> {
    /// The only one: what is met is counted.
    Only(&'a mut Tally),
    /// The second, by which the input may have changed. A census of all clusters spares the lines of
    /// those that are not wanted.
    Second(Option<Settled<'a>>),
}

/// What a worker has for gathering.
struct Gatherer<'a> {
    hand: Hand,
    writer: SpellingWriter<'a>,
}

/// Gathers the lines of the clusters that `plan` wants, and those that were dropped if `has_dropped`.
pub(super) fn gather(
    job: &Job,
    pool: &Pool,
    plan: &SelectPlan,
    has_dropped: bool,
    reading: Reading,
) -> Result<Told> {
    let (folder, budget) = (&job.memory.temp_dir, job.budget());
    let failed = |error| temp::failed(folder, error);
    let wanted = |lines: u64| Wanted {
        whole: plan.clusters && plan.filter.wants(lines),
        others: has_dropped && lines > 1,
    };
    let (census, mut tally) = match reading {
        Reading::Only(tally) => (None, Some(tally)),
        Reading::Second(census) => (census, None),
    };
    let is_wanted = |fingerprint| -> Result<bool> {
        let Some(census) = &census else { return Ok(true) };
        let Wanted { whole, others } = wanted(census.get(fingerprint).ok_or_else(changed)?.lines);
        Ok(whole || others)
    };
    let (lines, files) = (temp::open_some(folder)?, temp::open_some(folder)?);
    let gathered = Gathered::new(lines, files, budget.spill_buffer_bytes());
    let spellings = SpellingFiles::new(folder)?;
    let mut first_line = 0;
    let files = scan_heavy(
        job,
        pool,
        "gathering",
        |_, records| records * (RECORD_BYTES + size_of::<Member>() as u64),
        || Gatherer { hand: Hand::default(), writer: spellings.writer() },
        |gatherer, chunk| gather_chunk(job, chunk, gatherer, is_wanted),
        |batch| {
            let before = first_line;
            let mut chunks = Vec::with_capacity(batch.len());
            for (_, (lines, counts)) in batch {
                chunks.push((first_line, lines?));
                first_line += counts.lines;
                tally.as_mut().map_or(Ok(()), |tally| job.add(tally, &counts))?;
            }
            each_partition(folder, pool, |partition| {
                gathered.add(partition, chunks.iter().map(|(line, chunk)| (*line, chunk)))
            })?;
            Ok(Some(first_line - before))
        },
    )?;
    gathered.finish().map_err(failed)?;
    let capacity = budget.sort_capacity(Gathered::LINE_BYTES);
    let count = AtomicU64::new(0);
    job.watch.begin("sorting out", None);
    each_partition(folder, pool, |partition| {
        let more = gathered.resolve(partition, capacity, plan.keep, wanted)?;
        count.fetch_add(more, Ordering::Relaxed);
        Ok(())
    })?;
    job.watch.end();
    let bytes = spellings.bytes() + gathered.spilled_bytes();
    let (clusters, others, list) = gathered.merge(budget.merge_capacity(6 * 8));
    let list = temp::map(folder, list)?;
    let spellings = spellings.finish()?;
    Ok(Told { clusters, others, list, spellings, count: count.into_inner(), bytes, files })
}

/// The lines of `chunk` whose clusters are wanted; and what it has of all.
fn gather_chunk(
    job: &Job,
    chunk: &Parcel,
    gatherer: &mut Gatherer,
    is_wanted: impl Fn(Fingerprint) -> Result<bool>,
) -> (Result<ChunkLines>, Tally) {
    let Gatherer { hand, writer } = gatherer;
    let (mut fingerprints, mut members) = (Vec::new(), Vec::new());
    let mut result = Ok(());
    let tally = walk(chunk, job, hand, |line, record, canonical| {
        if result.is_err() {
            return;
        }
        let fingerprint = job.key.fingerprint(canonical.form);
        match is_wanted(fingerprint) {
            Ok(true) => {
                fingerprints.push(fingerprint);
                result = writer.push(record.spelling, u64::from(line), &mut members);
            }
            Ok(false) => {}
            Err(error) => result = Err(error),
        }
    });
    // What does not fit any more is written all the same, so that nothing of it is left.
    let written = writer.flush(&mut members);
    (result.and(written).map(|()| ChunkLines::new(&fingerprints, members)), tally)
}

/// The input is not what it was.
#[cold]
fn changed() -> Error {
    Error::input("the input has changed between the first and the second reading")
}
