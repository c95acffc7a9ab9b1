//! Jobs: the only place that owns threads and wires the stations together.
//!
//! ```text
//!            reader thread            worker threads                       writer thread
//! files --> input --> Chunk --> record --> canonical --> fingerprint  -->  report::Output
//!                                    \--> scatter --> cluster --> marks --/
//! ```
//!
//! `scan` moves batches of chunks through the workers; each job says what a worker does with a
//! chunk, and what happens with a batch once all its chunks are done.

mod canon;
mod crew;
mod dedup;
mod scan;
mod select;
mod spool;
mod survey;
mod walk;

pub use canon::{OnBad, canon};
pub use crew::crew;
pub use dedup::{DedupPlan, Print, check, dedup};
pub use scan::{NoWatch, Watch};
pub use select::{Filter, SelectPlan, select};
pub use spool::Spooled;
pub use survey::survey;

use crate::canonical::Canonicalizer;
use crate::crew::Crew;
use crate::error::{Error, Result};
use crate::fingerprint::FingerprintKey;
use crate::input::{FileSummary, InputPlan};
use crate::limits::THREADS_MAX;
use crate::record::Reading;
use crate::report::Tally;

/// What every job needs.
pub struct Job<'a> {
    /// What to read.
    pub input: InputPlan,
    /// The profile in force.
    pub canonicalizer: &'a Canonicalizer,
    /// The key of this job's fingerprints.
    pub key: FingerprintKey,
    /// How many workers; 0: as many as the machine has processors.
    pub threads: usize,
    /// Who is told about progress.
    pub watch: &'a dyn Watch,
}

/// What a job has done.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The counts.
    pub tally: Tally,
    /// The files that were read.
    pub files: Vec<FileSummary>,
}

impl Job<'_> {
    /// How lines are read under the profile in force.
    pub(crate) fn reading(&self) -> Reading {
        Reading {
            separator: self.input.separator,
            line_bytes_max: self.input.line_bytes_max,
            verbatim: !self.canonicalizer.profile().parses,
        }
    }

    /// How many worker threads the job has.
    pub fn workers(&self) -> usize {
        workers(self.threads)
    }

    /// Threads for what can be done aside, beside the workers; none are started before the first
    /// task.
    pub fn crew(&self) -> Crew {
        crew(self.threads)
    }

    /// The job's own threads.
    fn pool(&self) -> Result<rayon::ThreadPool> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(self.workers())
            .thread_name(|number| format!("undust-{number}"))
            .build()
            .map_err(|error| {
                Error::limit(format!("cannot start {} threads: {error}; lower -j", self.workers()))
            })
    }
}

/// How many threads are meant by `threads`; 0: as many as the machine has processors.
fn workers(threads: usize) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    if threads == 0 { processors() } else { threads }.min(THREADS_MAX)
}
