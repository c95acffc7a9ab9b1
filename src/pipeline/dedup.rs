//! `dedup`, streaming: the first spelling of every cluster, in input order, while the input is
//! read.

use std::sync::mpsc;

use super::scan::{scan, share};
use super::walk::{entries, walk};
use super::{Job, Outcome};
use crate::canonical::Scratch;
use crate::cluster::{ClusterSet, Marks, PARTITIONS, Scattered};
use crate::error::{Error, Result};
use crate::input::Chunk;
use crate::record::Entry;
use crate::report::Output;
use crate::report::Tally;

/// What is written for a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Print {
    /// The line as it was read.
    Original,
    /// The canonical form.
    Canonical,
}

/// What to write, and which URLs to leave out.
pub struct DedupPlan<'a> {
    /// What is written for a cluster.
    pub print: Print,
    /// The clusters of earlier runs; those of this run are added.
    pub seen: &'a ClusterSet,
}

/// What a worker makes of a chunk.
struct Sifted {
    scattered: Scattered,
    tally: Tally,
}

/// Writes the first line of every cluster to `output`, in input order. Does not publish it.
///
/// Memory: the fingerprints of all clusters (see [`ClusterSet`]) and three batches of chunks.
pub fn dedup(job: &Job, plan: &DedupPlan, output: &mut Output) -> Result<Outcome> {
    let pool = job.pool()?;
    let mut outcome = Outcome::default();
    let seen_before = plan.seen.len();
    let written = std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel::<Vec<(Chunk, Marks)>>(1);
        let writer = scope.spawn(move || {
            let mut scratch = Scratch::default();
            for batch in receiver {
                for (chunk, marks) in batch {
                    write_kept(job, plan.print, &chunk, &marks, &mut scratch, output)?;
                    chunk.verify()?;
                }
                output.pass_on()?;
            }
            Ok(())
        });
        let tally = &mut outcome.tally;
        let files = scan(
            job,
            &pool,
            "deduplicating",
            Scratch::default,
            |scratch, chunk| sift(job, chunk, scratch),
            |batch| {
                let (kept, lines) = keep_first(plan.seen, &pool, batch, tally);
                // The writer only goes away with an error of its own, which comes first below.
                sender.send(kept).map_err(|_| Error::internal("the writer is gone"))?;
                Ok(Some(lines))
            },
        );
        drop(sender);
        let written: Result<()> =
            writer.join().map_err(|_| Error::internal("the writer has panicked"))?;
        written.and(files)
    });
    outcome.files = written?;
    debug_assert_eq!(plan.seen.len(), seen_before + outcome.tally.unique);
    outcome.tally.check()?;
    Ok(outcome)
}

fn sift(job: &Job, chunk: &Chunk, scratch: &mut Scratch) -> Sifted {
    let mut fingerprints = Vec::with_capacity(chunk.bytes().len() / 64);
    let tally = walk(chunk, job, scratch, |_, _, canonical| {
        fingerprints.push(job.key.fingerprint(canonical.form));
    });
    Sifted { scattered: Scattered::new(&fingerprints), tally }
}

/// Marks the first records of a batch, and counts.
fn keep_first(
    set: &ClusterSet,
    pool: &rayon::ThreadPool,
    batch: Vec<(Chunk, Sifted)>,
    tally: &mut Tally,
) -> (Vec<(Chunk, Marks)>, u64) {
    let mut lines = 0;
    let (chunks, pairs): (Vec<Chunk>, Vec<(Scattered, Marks)>) = batch
        .into_iter()
        .map(|(chunk, sifted)| {
            tally.merge(&sifted.tally);
            lines += sifted.tally.lines;
            let marks = Marks::new(sifted.scattered.len());
            (chunk, (sifted.scattered, marks))
        })
        .unzip();
    share(pool, PARTITIONS, || (), |(), partition| set.mark_first(partition, &pairs));
    let kept = chunks.into_iter().zip(pairs).map(|(chunk, (scattered, marks))| {
        let unique = marks.count();
        tally.unique += unique;
        tally.duplicate += scattered.len() as u64 - unique;
        (chunk, marks)
    });
    (kept.collect(), lines)
}

/// Writes the marked records of `chunk`.
fn write_kept(
    job: &Job,
    print: Print,
    chunk: &Chunk,
    marks: &Marks,
    scratch: &mut Scratch,
    output: &mut Output,
) -> Result<()> {
    let mut record = 0;
    for entry in entries(chunk, job.reading()) {
        let Entry::Record(found) = entry else { continue };
        if marks.contains(record) {
            let text = match print {
                Print::Original => found.line,
                Print::Canonical => job.canonicalizer.canonical(found.url, scratch).form,
            };
            output.line(text, job.input.separator)?;
        }
        record += 1;
    }
    Ok(())
}

/// The first line that is a duplicate, as its number from 1 over all inputs and its text; reads no
/// further than the batch it is in.
pub fn check(job: &Job) -> Result<Option<(u64, Vec<u8>)>> {
    let pool = job.pool()?;
    let set = ClusterSet::default();
    let mut found = None;
    let mut lines_before = 0;
    let mut tally = Tally::default();
    scan(
        job,
        &pool,
        "checking",
        Scratch::default,
        |scratch, chunk| sift(job, chunk, scratch),
        |batch| {
            let (kept, lines) = keep_first(&set, &pool, batch, &mut tally);
            for (chunk, marks) in kept {
                let mut record = 0;
                for entry in entries(&chunk, job.reading()) {
                    lines_before += 1;
                    let Entry::Record(line) = entry else { continue };
                    if !marks.contains(record) {
                        found = Some((lines_before, line.line.to_vec()));
                        return Ok(None);
                    }
                    record += 1;
                }
            }
            Ok(Some(lines))
        },
    )?;
    Ok(found)
}
