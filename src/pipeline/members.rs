//! The second reading of a job that tells whole clusters, or the lines that were dropped.
//!
//! ```text
//! reading    the lines of clusters that are wanted --> spool of their texts
//!                                                  \-> Gathered (cluster/gathered.rs)
//! at the end partition by partition: clusters, and lines with the one that stands for them
//!            cluster by cluster --> spellings, counted --> ClusterWriter
//!            line by line                              --> DroppedWriter
//! ```

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use super::overflow::each_partition;
use super::pool::Pool;
use super::scan::scan;
use super::select::{SelectPlan, made_by};
use super::walk::{Hand, each_entry, walk};
use super::{Job, temp};
use crate::canonical::Scratch;
use crate::cluster::{
    Census, Clusters, Gathered, Keep, Member, Others, Runs, Uncounted, Wanted, Whole,
};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::record::{Entry, Workspace, full_url, without_no_host};
use crate::report::{ClusterWriter, DroppedWriter, Output};

/// Bytes of texts written at once.
const SPOOL_BYTES: usize = 128 << 10;

/// Bytes of texts read ahead.
const AHEAD_BYTES: usize = 32 << 10;

/// What was gathered: lines by cluster, and their texts.
pub(super) struct Told {
    clusters: Clusters,
    others: Others,
    texts: Texts,
    /// Bytes that went to files.
    pub(super) bytes: u64,
}

/// A spelling, and how many lines have it.
type Spelling = (Vec<u8>, u64);

/// The texts of members: one behind the other in a file.
struct Texts {
    file: File,
    folder: PathBuf,
    /// What was read ahead, and where that is.
    ahead: Vec<u8>,
    ahead_at: u64,
}

impl Texts {
    /// Reads the text of `member` into `text`.
    fn read(&self, member: Member, text: &mut Vec<u8>) -> Result<()> {
        text.resize(usize::try_from(member.bytes).unwrap_or(usize::MAX), 0);
        self.file
            .read_exact_at(text, member.place)
            .map_err(|error| temp::failed(&self.folder, error))
    }

    /// The same for members that come in the order of their lines.
    fn read_next(&mut self, member: Member, text: &mut Vec<u8>) -> Result<()> {
        // Before what was read it is far behind.
        let start = member.place.wrapping_sub(self.ahead_at);
        let range = start as usize..start.wrapping_add(member.bytes) as usize;
        if let Some(bytes) = self.ahead.get(range) {
            text.clear();
            text.extend_from_slice(bytes);
            return Ok(());
        }
        self.read(member, text)?;
        self.ahead.resize(AHEAD_BYTES, 0);
        self.ahead_at = member.place + member.bytes;
        let read = self.file.read_at(&mut self.ahead, self.ahead_at);
        self.ahead.truncate(read.map_err(|error| temp::failed(&self.folder, error))?);
        Ok(())
    }
}

/// The second reading: gathers the lines of the clusters that `plan` wants, and those that were
/// dropped if `has_dropped`. A `census` of all clusters spares the lines of others.
pub(super) fn gather(
    job: &Job,
    pool: &Pool,
    plan: &SelectPlan,
    has_dropped: bool,
    census: Option<&Census>,
) -> Result<Told> {
    let (folder, budget) = (&job.memory.temp_dir, job.budget());
    let failed = |error| temp::failed(folder, error);
    let wanted = |lines: u64| Wanted {
        whole: plan.clusters && plan.filter.wants(lines),
        others: has_dropped && lines > 1,
    };
    let (lines, files) = (temp::open_some(folder)?, temp::open_some(folder)?);
    let gathered = Gathered::new(lines, files, budget.spill_buffer_bytes());
    let mut texts = BufWriter::with_capacity(SPOOL_BYTES, temp::open(folder)?);
    let (mut line, mut place) = (0u64, 0u64);
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
                    let fingerprint = fingerprints.next().ok_or_else(changed)?;
                    if let Some(census) = census {
                        let cluster = census.get(fingerprint).ok_or_else(changed)?;
                        let Wanted { whole, others } = wanted(cluster.lines);
                        if !whole && !others {
                            return Ok(());
                        }
                    }
                    let bytes = record.spelling.len() as u64;
                    texts.write_all(record.spelling).map_err(failed)?;
                    gathered
                        .add(fingerprint, Member { line: number, place, bytes })
                        .map_err(failed)?;
                    place += bytes;
                    Ok(())
                })?;
            }
            Ok(Some(line - before))
        },
    )?;
    let file = texts.into_inner().map_err(|error| failed(error.into_error()))?;
    gathered.finish().map_err(failed)?;
    let capacity = budget.sort_capacity(Gathered::LINE_BYTES);
    job.watch.begin("sorting out", None);
    each_partition(folder, pool, |partition| {
        gathered.resolve(partition, capacity, plan.keep, wanted)
    })?;
    job.watch.end();
    let bytes = place + gathered.spilled_bytes();
    let (clusters, others) = gathered.merge(budget.merge_capacity(4 * 8));
    let texts = Texts { file, folder: folder.clone(), ahead: Vec::new(), ahead_at: 0 };
    Ok(Told { clusters, others, texts, bytes })
}

/// The input is not what it was.
#[cold]
fn changed() -> Error {
    Error::input("the input has changed between the first and the second reading")
}

impl Told {
    /// Writes the clusters that were wanted, by the line that stands for each.
    pub(super) fn write_clusters(
        &mut self,
        job: &Job,
        pool: &Pool,
        plan: &SelectPlan,
        output: &mut Output,
    ) -> Result<()> {
        let folder = &job.memory.temp_dir;
        let failed = |error| temp::failed(folder, error);
        let (mut scratch, mut text) = (Scratch::default(), Vec::new());
        let mut writer = match plan.shape {
            None => ClusterWriter::new(output, job.input.separator)?,
            Some(shape) => ClusterWriter::shaped(output, shape, &made_by(job))?,
        };
        let bytes_max = job.budget().told_bytes();
        while let Some(cluster) = self.clusters.next_cluster().map_err(failed)? {
            self.texts.read_next(cluster.standing, &mut text)?;
            if plan.shape.is_some() {
                let url = full_url(&text);
                let form = job.canonicalizer.canonical(&url, &mut scratch).form;
                writer.begin(&text, without_no_host(form));
            } else {
                writer.begin(b"", b"");
            }
            match self.spellings(cluster, &text, bytes_max)? {
                Some(spellings) => {
                    spellings.iter().try_for_each(|(text, lines)| writer.spelling(text, *lines))?;
                }
                None => self.write_many(job, pool, cluster, &mut writer)?,
            }
        }
        writer.finish()
    }

    /// The spellings of a cluster and how many lines each has, in the order of their first lines but
    /// for `standing`, the text of the line that stands for it; `None` if they take more than
    /// `bytes_max` of memory.
    fn spellings(
        &self,
        cluster: Whole,
        standing: &[u8],
        bytes_max: u64,
    ) -> Result<Option<Vec<Spelling>>> {
        let mut spellings: Vec<Spelling> = vec![(standing.to_vec(), 1)];
        if cluster.others == 0 {
            return Ok(Some(spellings));
        }
        // Twice, in a list and in a map that have room to grow.
        let taken = |text: &[u8]| 2 * (text.len() as u64 + 80);
        let mut bytes = taken(standing);
        let mut known: HashMap<Vec<u8>, usize, ahash::RandomState> = HashMap::default();
        known.insert(standing.to_vec(), 0);
        let mut text = Vec::new();
        let mut reader = self.clusters.others(cluster);
        while let Some(member) = reader.next_member().map_err(|error| self.failed(error))? {
            self.texts.read(member, &mut text)?;
            if let Some(at) = known.get(&text) {
                spellings[*at].1 += 1;
                continue;
            }
            bytes += taken(&text);
            if bytes > bytes_max {
                return Ok(None);
            }
            known.insert(text.clone(), spellings.len());
            spellings.push((text.clone(), 1));
        }
        Ok(Some(spellings))
    }

    /// Writes the spellings of a cluster that has more of them than memory, counted in files.
    #[cold]
    fn write_many(
        &self,
        job: &Job,
        pool: &Pool,
        cluster: Whole,
        writer: &mut ClusterWriter,
    ) -> Result<()> {
        let (folder, budget) = (&job.memory.temp_dir, job.budget());
        let failed = |error| temp::failed(folder, error);
        let mut text = Vec::new();
        let uncounted = Uncounted::new(temp::open_some(folder)?, budget.spill_buffer_bytes());
        let mut reader = self.clusters.others(cluster);
        let (mut next, mut number) = (Some(cluster.standing), 0);
        while let Some(member) = next {
            self.texts.read(member, &mut text)?;
            uncounted.add(job.key.fingerprint(&text), number).map_err(failed)?;
            number += 1;
            next = reader.next_member().map_err(failed)?;
        }
        uncounted.finish().map_err(failed)?;
        let spellings = Runs::new(temp::open(folder)?);
        let (none, capacity) = (Census::new(Keep::First), budget.sort_capacity(5 * 8));
        each_partition(folder, pool, |partition| {
            uncounted.resolve(&none, partition, capacity, |_| true, &spellings).map(drop)
        })?;
        let mut spellings = spellings.merge(budget.merge_capacity(2 * 8));
        while let Some([number, lines]) = spellings.peek().map_err(failed)? {
            spellings.next_if(number).map_err(failed)?;
            let member = self.clusters.member(cluster, number).map_err(failed)?;
            self.texts.read(member, &mut text)?;
            writer.spelling(&text, lines)?;
        }
        Ok(())
    }

    /// Writes the lines that were dropped, in input order.
    pub(super) fn write_dropped(
        &mut self,
        job: &Job,
        plan: &SelectPlan,
        output: &mut Output,
    ) -> Result<()> {
        let (mut dropped, mut kept) = (Vec::new(), Vec::new());
        let mut writer = match plan.shape {
            None => DroppedWriter::new(output, job.input.separator)?,
            Some(shape) => DroppedWriter::shaped(output, shape, &made_by(job))?,
        };
        while let Some([line, standing]) =
            self.others.next_line().map_err(|error| self.failed(error))?
        {
            self.texts.read_next(line, &mut dropped)?;
            self.texts.read(standing, &mut kept)?;
            let reason = job.canonicalizer.compare(&full_url(&dropped), &full_url(&kept)).reason();
            writer.row(line.line + 1, standing.line + 1, &reason, &dropped, &kept)?;
        }
        writer.finish()
    }

    #[cold]
    fn failed(&self, error: io::Error) -> Error {
        temp::failed(&self.texts.folder, error)
    }
}
