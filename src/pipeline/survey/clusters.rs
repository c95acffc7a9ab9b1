//! The second look of a report: the spellings of the largest clusters, with better examples.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::changed::Looked;
use super::findings::Findings;
use super::record_bytes;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::pipeline::Job;
use crate::pipeline::layouts::Parcel;
use crate::pipeline::pool::Pool;
use crate::pipeline::scan::{BatchChunk, Pass, Scan, WasRead, changed};
use crate::pipeline::walk::{Worker, walk_with_fields};
use crate::record::without_no_host;
use crate::report::ClusterRow;

type Map<K, V> = HashMap<K, V, ahash::RandomState>;

/// Spellings shown for each cluster.
const SPELLINGS: usize = 5;

/// A line of a cluster that is told: its number in the chunk, the cluster's row, its text, and the
/// first time in a chunk the canonical form.
type Spelling = (u32, usize, Vec<u8>, Option<Vec<u8>>);

/// A cluster that is looked at.
#[derive(Default)]
struct Wanted {
    /// Its row, if it is told.
    row: Option<usize>,
    /// Which examples are in it that their step left as they were.
    unchanged: Vec<usize>,
}

/// The second pass: the spellings of the largest clusters. Examples that their step left as they
/// were make room for the records that it changed to them.
pub(super) fn describe_clusters(
    job: &Job,
    pool: &Pool,
    read: &WasRead,
    largest: &[(Fingerprint, Cluster)],
    findings: &mut Findings,
) -> Result<Vec<ClusterRow>> {
    let unchanged = findings.take_unchanged();
    let mut wanted: Map<u128, Wanted> = Map::default();
    for (row, (fingerprint, _)) in largest.iter().enumerate() {
        wanted.entry(fingerprint.0).or_default().row = Some(row);
    }
    for (at, one) in unchanged.iter().enumerate() {
        wanted.entry(one.canonical.0).or_default().unchanged.push(at);
    }
    let mut rows: Vec<ClusterRow> = largest
        .iter()
        .map(|(_, cluster)| ClusterRow {
            canonical: Vec::new(),
            lines: cluster.lines,
            spellings: Vec::new(),
            spellings_total: 0,
        })
        .collect();
    let mut counts: Vec<Map<Vec<u8>, (u64, u64)>> = vec![Map::default(); rows.len()];
    let mut bytes = 0;
    let mut examples = vec![Looked::default(); unchanged.len()];
    let work = |worker: &mut Worker, chunk: &Parcel| {
        let mut found: Vec<Spelling> = Vec::new();
        let mut has_form = vec![false; largest.len()];
        let mut looked = vec![Looked::default(); unchanged.len()];
        let tally = walk_with_fields(chunk, job, worker, |line, record, canonical| {
            let fingerprint = job.key.fingerprint(canonical.form);
            let Some(cluster) = wanted.get(&fingerprint.0) else { return };
            for at in &cluster.unchanged {
                let line = u64::from(line) + 1;
                unchanged[*at].look(job.canonicalizer, line, &record, &mut looked[*at]);
            }
            if let Some(row) = &cluster.row {
                let form = (!has_form[*row]).then(|| without_no_host(canonical.form).to_vec());
                has_form[*row] = true;
                found.push((line, *row, record.spelling.to_vec(), form));
            }
        });
        (tally.lines, (found, looked))
    };
    let pass = Pass::again("describing clusters", read);
    Scan::new(job, pool, pass).with_record_bytes(record_bytes).run(
        Worker::default,
        work,
        |batch| {
            for BatchChunk { first_line, made: (found, looked), .. } in batch.chunks {
                for ((one, all), looked) in unchanged.iter().zip(&mut examples).zip(looked) {
                    one.add(all, first_line, looked);
                }
                for (number, row, spelling, form) in found {
                    if let (true, Some(form)) = (rows[row].canonical.is_empty(), form) {
                        // Here, in the report, and in its text.
                        bytes += 3 * form.len() as u64;
                        rows[row].canonical = form;
                    }
                    let first = first_line + u64::from(number);
                    let length = spelling.len() as u64;
                    let count = counts[row].entry(spelling).or_insert((0, first));
                    count.0 += 1;
                    if count.0 == 1 {
                        // In a map that may double, and then in a list.
                        bytes += length + 16 + 150;
                    }
                }
            }
            if bytes > job.budget().told_bytes() {
                return Err(too_many(job, bytes));
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    for (one, looked) in unchanged.iter().zip(examples) {
        one.replace(&mut findings.levels, looked);
    }
    for (row, counts) in rows.iter_mut().zip(counts) {
        let lines: u64 = counts.values().map(|(count, _)| count).sum();
        if lines != row.lines {
            return Err(changed());
        }
        let mut spellings: Vec<(Vec<u8>, (u64, u64))> = counts.into_iter().collect();
        row.spellings_total = spellings.len() as u64;
        spellings.sort_unstable_by_key(|(_, (count, first))| (std::cmp::Reverse(*count), *first));
        spellings.truncate(SPELLINGS);
        row.spellings = spellings.into_iter().map(|(url, (count, _))| (url, count)).collect();
    }
    Ok(rows)
}

/// The spellings of the largest clusters take more than `bytes`.
#[cold]
fn too_many(job: &Job, bytes: u64) -> Error {
    Error::limit(format!(
        "the spellings of the largest clusters take more than {} MiB, which is too much for a memory \
         of {} MiB; raise -S, or lower --top",
        bytes >> 20,
        job.memory.bytes >> 20
    ))
}
