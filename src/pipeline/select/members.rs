//! Gathers the lines of whole clusters, and the dropped lines, while the input is read.
//!
//! ```text
//! reading    the lines of wanted clusters          --> spellings.rs
//!                                                  \-> Gathered (cluster/gathered.rs)
//! at the end partition by partition: clusters, and lines with the one that stands for them
//!            --> format.rs
//! ```

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::SelectPlan;
use super::spellings::{SpellingFiles, SpellingWriter, Spellings};
use crate::cluster::{
    Census, ChunkLines, Clusters, Flags, Gathered, KeepBitmap, Member, OtherLines, PARTITIONS,
    Scattered, Settled, Wanted,
};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::input::Mapped;
use crate::pipeline::scan::layouts::Parcel;
use crate::pipeline::scan::walk::{Worker, each_entry_again, walk};
use crate::pipeline::scan::{BatchChunk, Pass, RECORD_BYTES, Scan, WasRead, input_changed};
use crate::pipeline::threads::pool::{Pool, Stage, try_each_partition};
use crate::pipeline::{InputFile, Job, RunContext, temp};
use crate::record::Entry;
use crate::report::Tally;

/// A text of more bytes than this is long.
const LONG_BYTES: u64 = 4 << 10;

/// Bytes that a text of `bytes` may take in a row: as many, but in JSON up to six for one. Only
/// long texts matter.
pub(super) fn text_bytes(bytes: u64) -> u64 {
    if bytes > LONG_BYTES { 6 * bytes } else { bytes }
}

/// What was gathered: lines by cluster, and their spellings.
pub(super) struct GatheredClusters {
    pub(super) clusters: Clusters,
    pub(super) others: OtherLines,
    /// The list of members that do not stand for their cluster; `None` if it is empty.
    pub(super) list: Option<Mapped>,
    pub(super) spellings: Spellings,
    /// How many of the gathered clusters there are.
    pub(super) count: u64,
    /// Bytes written to files.
    pub(super) bytes: u64,
    /// The input files, if this was the only reading.
    pub(super) files: Vec<InputFile>,
}

/// Which reading of the input this is.
pub(super) enum GatherPass<'a> {
    /// The only one, which also counts lines.
    Only(&'a mut Tally),
    /// The second. The input may have changed since the first.
    Second {
        /// What the first reading has read.
        first: &'a WasRead,
        /// How many clusters the first reading has found.
        clusters: u64,
        /// The clusters, if there was room for all: then only lines of wanted clusters are
        /// gathered.
        census: Option<Census>,
    },
}

/// Gathers the lines of the clusters that `plan` wants, and with `has_dropped` the dropped lines.
pub(super) fn gather(
    run: RunContext,
    plan: &SelectPlan,
    has_dropped: bool,
    reading: GatherPass,
) -> Result<GatheredClusters> {
    let RunContext { job, pool } = run;
    let (folder, budget) = (&job.memory.temp_dir, job.budget());
    let failed = |error| temp::failed(folder, error);
    let wanted = |lines: u64| Wanted {
        whole: plan.writes_spellings() && plan.filter.wants(lines),
        others: has_dropped && lines > 1,
    };
    let (lines, files) = (temp::open_some(folder)?, temp::open_some(folder)?);
    let gathered = Gathered::new(lines, files, budget.spill_buffer_bytes());
    let spellings = SpellingFiles::new(folder)?;
    let gathering = Gathering { job, pool, gathered: &gathered, spellings: &spellings };
    let (mut files, mut expected) = (Vec::new(), None);
    match reading {
        GatherPass::Only(tally) => {
            let read =
                gathering.gather_all(Pass::first("gathering"), |counts| job.add(tally, counts))?;
            files = read.files;
        }
        GatherPass::Second { first, clusters, census: None } => {
            gathering.gather_all(Pass::again("gathering", first), |_| Ok(()))?;
            expected = Some(clusters);
        }
        // This arm owns the census, so that its memory is freed before the lines are sorted.
        GatherPass::Second { first, census: Some(mut census), .. } => {
            gathering.gather_wanted(first, &census.settled(), |lines| {
                let Wanted { whole, others } = wanted(lines);
                whole || others
            })?;
        }
    }
    gathered.finish().map_err(failed)?;
    let capacity = budget.sort_capacity(Gathered::LINE_BYTES);
    let count = AtomicU64::new(0);
    let sorting = job.begin_pass("sorting out", None);
    try_each_partition(run, |partition| {
        let more = gathered.resolve(partition, capacity, plan.keep, text_bytes, wanted)?;
        count.fetch_add(more, Ordering::Relaxed);
        Ok(())
    })?;
    drop(sorting);
    let count = count.into_inner();
    if expected.is_some_and(|expected| expected != count) {
        return Err(input_changed());
    }
    let bytes = spellings.bytes() + gathered.spilled_bytes();
    let (clusters, others, list) = gathered.merge(budget.merge_capacity(Gathered::ROW_BYTES));
    let list = temp::map(folder, list)?.map(Mapped::for_random_reads);
    let spellings = spellings.finish()?;
    Ok(GatheredClusters { clusters, others, list, spellings, count, bytes, files })
}

/// What all workers share while lines are gathered.
struct Gathering<'a> {
    job: &'a Job<'a>,
    pool: &'a Pool,
    gathered: &'a Gathered,
    spellings: &'a SpellingFiles,
}

/// What one worker gathers lines with.
struct Gatherer<'a> {
    worker: Worker,
    writer: SpellingWriter<'a>,
}

/// Bytes kept of each record of a batch: its fingerprint, and its member, in a list that has room
/// to grow.
const MEMBER_RECORD_BYTES: u64 = RECORD_BYTES + 2 * size_of::<Member>() as u64;

impl<'a> Gathering<'a> {
    /// Gathers all lines. `count` gets the counts of each chunk.
    fn gather_all(
        &self,
        pass: Pass,
        mut count: impl FnMut(&Tally) -> Result<()>,
    ) -> Result<WasRead> {
        let record_bytes = |_: &Parcel, records| records * MEMBER_RECORD_BYTES;
        Scan::new(self.job, self.pool, pass).with_record_bytes(record_bytes).run(
            || self.gatherer(),
            |gatherer, chunk| {
                let (lines, counts) = self.lines_of(chunk, gatherer);
                (counts.lines, (lines, counts))
            },
            |batch| {
                let mut chunks = Vec::with_capacity(batch.chunks.len());
                for BatchChunk { first_line, made: (lines, counts), .. } in batch.chunks {
                    chunks.push((first_line, lines?));
                    count(&counts)?;
                }
                self.add(&chunks)?;
                Ok(ControlFlow::Continue(()))
            },
        )
    }

    /// Gathers the lines of those clusters of `census` whose number of lines is `wanted`.
    fn gather_wanted(
        &self,
        first: &WasRead,
        census: &Settled,
        wanted: impl Fn(u64) -> bool + Sync,
    ) -> Result<()> {
        let (job, pool) = (self.job, self.pool);
        let mut marked = 0;
        let record_bytes = |_: &Parcel, records| records * MEMBER_RECORD_BYTES;
        Scan::new(job, pool, Pass::again("gathering", first)).with_record_bytes(record_bytes).run(
            Worker::default,
            |worker, chunk| {
                let mut fingerprints = Vec::new();
                let tally = walk(chunk, job, worker, |_, _, canonical| {
                    fingerprints.push(job.key.fingerprint(canonical.form));
                });
                let scattered = Scattered::new(&fingerprints);
                let flags = Flags::new(&scattered);
                (tally.lines, (fingerprints, scattered, flags))
            },
            |batch| {
                let is_known = AtomicBool::new(true);
                pool.each_partition(|partition| {
                    let chunks = batch
                        .chunks
                        .iter()
                        .map(|BatchChunk { made: (_, scattered, flags), .. }| (scattered, flags));
                    if !census.mark(partition, chunks, |cluster| wanted(cluster.lines)) {
                        is_known.store(false, Ordering::Relaxed);
                    }
                });
                if !is_known.into_inner() {
                    return Err(input_changed());
                }
                let count = batch.chunks.len();
                let lines = pool.map_with(
                    Stage::Clustering,
                    count,
                    || self.gatherer(),
                    |gatherer, at| {
                        let BatchChunk { parcel, lines, made, .. } = &batch.chunks[at];
                        let (fingerprints, scattered, flags) = made;
                        let marks = KeepBitmap::new(scattered, flags);
                        let those = self.marked_of(parcel, *lines, fingerprints, &marks, gatherer);
                        those.map(|those| (those, marks.count()))
                    },
                );
                let mut chunks = Vec::with_capacity(count);
                for (chunk, lines) in batch.chunks.iter().zip(lines) {
                    let (lines, count) = lines?;
                    chunks.push((chunk.first_line, lines));
                    marked += count;
                }
                self.add(&chunks)?;
                Ok(ControlFlow::Continue(()))
            },
        )?;
        let count = |partition| census.lines(partition, &wanted);
        let expected: u64 = pool.map(Stage::Clustering, PARTITIONS, count).into_iter().sum();
        if marked == expected { Ok(()) } else { Err(input_changed()) }
    }

    fn gatherer(&self) -> Gatherer<'a> {
        Gatherer { worker: Worker::default(), writer: self.spellings.writer() }
    }

    /// The lines of `chunk` that are records, and the counts of all its lines.
    fn lines_of(&self, chunk: &Parcel, gatherer: &mut Gatherer) -> (Result<ChunkLines>, Tally) {
        let (job, Gatherer { worker, writer }) = (self.job, gatherer);
        writer.begin();
        let (mut fingerprints, mut members) = (Vec::new(), Vec::new());
        let mut result = Ok(());
        let tally = walk(chunk, job, worker, |line, record, canonical| {
            if result.is_ok() {
                fingerprints.push(job.key.fingerprint(canonical.form));
                result = writer.push(&record, u64::from(line), &mut members);
            }
        });
        let result = result.and_then(|()| writer.flush(&mut members));
        (result.map(|()| ChunkLines::new(&fingerprints, members)), tally)
    }

    /// The lines of `chunk` whose records are in `marks`. `fingerprints` are those of all its
    /// records, and it has `lines` lines.
    ///
    /// Failure: an input error if the chunk has other records or lines.
    fn marked_of(
        &self,
        chunk: &Parcel,
        lines: u64,
        fingerprints: &[Fingerprint],
        marks: &KeepBitmap,
        gatherer: &mut Gatherer,
    ) -> Result<ChunkLines> {
        let Gatherer { worker: Worker { workspace, .. }, writer } = gatherer;
        writer.begin();
        let (mut marked, mut members) = (Vec::new(), Vec::new());
        let (mut line, mut record_at) = (0, 0);
        each_entry_again(chunk, self.job, workspace, |entry| {
            if let Entry::Record(record) = entry {
                let fingerprint =
                    *fingerprints.get(record_at as usize).ok_or_else(input_changed)?;
                if marks.contains(record_at) {
                    marked.push(fingerprint);
                    writer.push(&record, line, &mut members)?;
                }
                record_at += 1;
            }
            line += 1;
            Ok(())
        })??;
        if record_at as usize != fingerprints.len() || line != lines {
            return Err(input_changed());
        }
        writer.flush(&mut members)?;
        Ok(ChunkLines::new(&marked, members))
    }

    /// Adds the gathered lines of chunks, each chunk with the number of its first line.
    fn add(&self, chunks: &[(u64, ChunkLines)]) -> Result<()> {
        let run = RunContext { job: self.job, pool: self.pool };
        try_each_partition(run, |partition| {
            self.gathered.add(partition, chunks.iter().map(|(line, chunk)| (*line, chunk)))
        })
    }
}
