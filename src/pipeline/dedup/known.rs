//! `dedup --not-in`: the clusters of known URLs, before the input is read.
//!
//! ```text
//! reading    fingerprints --> the set of a Seen, and Candidates once that is full
//! at the end the set, and if there are candidates a seen file without a name --> dedup
//! ```

use std::io::{self, Seek as _, Write as _};
use std::ops::ControlFlow;

use super::marking::{Sifted, mark};
use super::overflow::Overflow;
use super::texts::Texts;
use crate::bytes::show_path;
use crate::cluster::Seen;
use crate::error::Result;
use crate::pipeline::scan::layouts::Parcel;
use crate::pipeline::scan::walk::{Worker, walk};
use crate::pipeline::scan::{Pass, Scan};
use crate::pipeline::{Job, Outcome, RunContext, temp};

/// Returns the clusters of all that `job` reads, for a run with the same key and profile that
/// leaves them out; and what was read.
///
/// Memory: within the job's budget. Fingerprints that do not fit go to a file in its folder for
/// temporary files.
///
/// Failure: an error if a file is damaged, since the known URLs would be incomplete.
pub fn known(job: &Job) -> Result<(Seen, Outcome)> {
    let pool = job.pool()?;
    let run = RunContext { job, pool: &pool };
    let budget = job.budget();
    let seen = Seen::new(job.key.clone(), &job.canonicalizer.profile().digest());
    let mut overflow: Option<Overflow> = None;
    let mut outcome = Outcome::begin(job);
    let Outcome { tally, memory, .. } = &mut outcome;
    let read = Scan::new(job, &pool, Pass::first("reading what is known")).run(
        Worker::default,
        |worker, chunk| fingerprints(job, chunk, worker),
        |batch| {
            if overflow.is_none() && seen.set().may_exceed(budget.table_bytes()) {
                overflow = Some(Overflow::new(job, budget)?);
                memory.spilled_after_lines = Some(batch.first_line);
            }
            for marked in mark(run, seen.set(), overflow.as_mut(), batch, tally)? {
                marked.verify_and_release()?;
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    memory.table_bytes = seen.set().memory_bytes();
    let seen = match overflow.filter(|overflow| overflow.count > 0) {
        None => seen,
        Some(mut overflow) => {
            let (_, unique) = overflow.first_of_each(run, seen.set(), &seen)?;
            memory.spilled_bytes = overflow.spilled_bytes();
            tally.unique += unique;
            tally.duplicate += overflow.count - unique;
            drop(overflow);
            let (seen, bytes) = on_disk(job, seen)?;
            memory.spilled_bytes += bytes;
            seen
        }
    };
    Ok((seen.read_only(), outcome.end(read.files, &pool)?))
}

/// Returns how many lines `chunk` has, and their fingerprints, without texts: nothing is written.
fn fingerprints(job: &Job, chunk: &Parcel, worker: &mut Worker) -> (u64, Sifted) {
    let mut fingerprints = Vec::with_capacity(chunk.bytes().len() / 64);
    let tally = walk(chunk, job, worker, |_, _, canonical| {
        fingerprints.push(job.key.fingerprint(canonical.form));
    });
    let texts = Texts::own(Vec::new(), Vec::new());
    (tally.lines, Sifted::new(&fingerprints, texts, tally))
}

/// Moves the clusters to a temporary file, where they stay. Returns them, and the size of the file
/// in bytes.
fn on_disk(job: &Job, seen: Seen) -> Result<(Seen, u64)> {
    let folder = &job.memory.temp_dir;
    let failed = |error: io::Error| temp::failed(folder, error);
    let mut file = io::BufWriter::with_capacity(256 << 10, temp::open(folder)?);
    let mut written = 0;
    seen.write(|bytes| {
        written += bytes.len() as u64;
        file.write_all(bytes).map_err(failed)
    })?;
    let mut file = file.into_inner().map_err(|error| failed(error.into_error()))?;
    file.rewind().map_err(failed)?;
    let digest = job.canonicalizer.profile().digest();
    let name = format!("a temporary file in {}", show_path(folder));
    Ok((Seen::open(file, &name, &digest, 0)?, written))
}
