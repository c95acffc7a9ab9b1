//! The second pass of a report: the spellings of the largest clusters, and better examples.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::ControlFlow;

use super::findings::Findings;
use super::record_bytes;
use super::unchanged_examples::Looked;
use crate::cluster::Cluster;
use crate::error::{Error, Result, Setting};
use crate::fingerprint::Fingerprint;
use crate::pipeline::Job;
use crate::pipeline::scan::layouts::Parcel;
use crate::pipeline::scan::walk::{Worker, walk_with_fields};
use crate::pipeline::scan::{BatchChunk, Pass, Scan, WasRead, input_changed};
use crate::pipeline::threads::pool::Pool;
use crate::record::without_no_host;
use crate::report::ClusterRow;

type Map<K, V> = HashMap<K, V, ahash::RandomState>;

/// Spellings shown for each cluster.
const SPELLINGS: usize = 5;

/// A line of a cluster that is described.
struct Member {
    /// Its number in the chunk.
    line: u32,
    /// The row of its cluster.
    row: usize,
    spelling: Vec<u8>,
    /// The canonical form, for the first such line in a chunk.
    canonical: Option<Vec<u8>>,
}

/// A cluster whose records are looked at.
#[derive(Default)]
struct Wanted {
    /// Its row, if it is described.
    row: Option<usize>,
    /// The examples in it that their step left unchanged.
    unchanged: Vec<usize>,
}

/// The second pass: finds the spellings of the largest clusters, and replaces examples that their
/// step left unchanged.
pub(super) fn describe_clusters(
    job: &Job,
    pool: &Pool,
    read: &WasRead,
    largest: &[(Fingerprint, Cluster)],
    findings: &mut Findings,
) -> Result<Vec<ClusterRow>> {
    let unchanged = findings.examples.take_unchanged(&findings.levels);
    let mut wanted: Map<u128, Wanted> = Map::default();
    for (row, (fingerprint, _)) in largest.iter().enumerate() {
        wanted.entry(fingerprint.0).or_default().row = Some(row);
    }
    for (at, one) in unchanged.iter().enumerate() {
        wanted.entry(one.canonical.0).or_default().unchanged.push(at);
    }
    let work = |worker: &mut Worker, chunk: &Parcel| {
        let mut members: Vec<Member> = Vec::new();
        let mut has_form = vec![false; largest.len()];
        let mut looked = vec![Looked::default(); unchanged.len()];
        let tally = walk_with_fields(chunk, job, worker, |line, record, canonical| {
            let fingerprint = job.key.fingerprint(canonical.form);
            let Some(cluster) = wanted.get(&fingerprint.0) else { return };
            for at in &cluster.unchanged {
                let line = u64::from(line) + 1;
                unchanged[*at].look(job.canonicalizer, line, &record, &mut looked[*at]);
            }
            if let Some(row) = cluster.row {
                let form = (!has_form[row]).then(|| without_no_host(canonical.form).to_vec());
                has_form[row] = true;
                let spelling = record.spelling.to_vec();
                members.push(Member { line, row, spelling, canonical: form });
            }
        });
        (tally.lines, (members, looked))
    };
    let mut described = DescribedClusters::new(largest);
    let mut examples = vec![Looked::default(); unchanged.len()];
    let pass = Pass::again("describing clusters", read);
    Scan::new(job, pool, pass).with_record_bytes(record_bytes).run(
        Worker::default,
        work,
        |batch| {
            for BatchChunk { first_line, made: (members, looked), .. } in batch.chunks {
                for ((one, all), looked) in unchanged.iter().zip(&mut examples).zip(looked) {
                    one.add(all, first_line, looked);
                }
                members.into_iter().for_each(|member| described.add(member, first_line));
            }
            match described.bytes > job.budget().listing_bytes() {
                true => Err(too_many(job, described.bytes)),
                false => Ok(ControlFlow::Continue(())),
            }
        },
    )?;
    for (one, looked) in unchanged.iter().zip(examples) {
        one.replace(&mut findings.levels, looked);
    }
    described.into_rows()
}

/// The clusters that are described, with all their spellings.
struct DescribedClusters {
    rows: Vec<ClusterRow>,
    /// For each row and spelling how many lines have it, and the first of them.
    counts: Vec<Map<Vec<u8>, (u64, u64)>>,
    /// What both take in memory.
    bytes: u64,
}

impl DescribedClusters {
    fn new(largest: &[(Fingerprint, Cluster)]) -> DescribedClusters {
        let row = |(_, cluster): &(Fingerprint, Cluster)| ClusterRow {
            canonical: Vec::new(),
            lines: cluster.lines,
            spellings: Vec::new(),
            spellings_total: 0,
        };
        let rows: Vec<ClusterRow> = largest.iter().map(row).collect();
        DescribedClusters { counts: vec![Map::default(); rows.len()], rows, bytes: 0 }
    }

    /// Adds a line of a chunk that begins after `first_line` lines.
    fn add(&mut self, member: Member, first_line: u64) {
        let canonical = &mut self.rows[member.row].canonical;
        if let (true, Some(form)) = (canonical.is_empty(), member.canonical) {
            // Three copies: here, in the report, and in its output.
            self.bytes += 3 * form.len() as u64;
            *canonical = form;
        }
        let first = first_line + u64::from(member.line);
        let length = member.spelling.len() as u64;
        let (count, _) = self.counts[member.row].entry(member.spelling).or_insert((0, first));
        *count += 1;
        if *count == 1 {
            // The spelling, and its entries in a map that may double, and later in a list.
            self.bytes += length + 16 + 150;
        }
    }

    /// Returns the rows, each with its most frequent spellings; of equally frequent ones, the
    /// earlier one first.
    ///
    /// Failure: an input error if the lines are not those of the first pass.
    fn into_rows(mut self) -> Result<Vec<ClusterRow>> {
        for (row, counts) in self.rows.iter_mut().zip(self.counts) {
            let lines: u64 = counts.values().map(|(count, _)| count).sum();
            if lines != row.lines {
                return Err(input_changed());
            }
            let mut spellings: Vec<(Vec<u8>, (u64, u64))> = counts.into_iter().collect();
            row.spellings_total = spellings.len() as u64;
            spellings.sort_unstable_by_key(|(_, (count, first))| (Reverse(*count), *first));
            spellings.truncate(SPELLINGS);
            row.spellings = spellings.into_iter().map(|(url, (count, _))| (url, count)).collect();
        }
        Ok(self.rows)
    }
}

/// The error for spellings of the largest clusters that take more than `bytes`.
#[cold]
fn too_many(job: &Job, bytes: u64) -> Error {
    Error::limit(format!(
        "the spellings of the largest clusters take more than {} MiB, which is too much for a memory \
         of {} MiB; raise {}, or lower {}",
        bytes >> 20,
        job.memory.bytes >> 20,
        Setting::Memory,
        Setting::Top
    ))
}
