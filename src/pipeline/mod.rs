//! Jobs: the only place that owns their threads and connects the steps.
//!
//! ```text
//!            reader thread            worker threads                       writer thread
//! files --> input --> Chunk --> record --> canonical --> fingerprint  -->  report::Output
//!                                    \--> scatter --> cluster --> marks --/
//! ```
//!
//! `budget.rs` divides the memory; `scan/flow.rs` bounds what is in flight, and what does not fit
//! goes to `dedup/overflow.rs`. `threads/permits.rs` bounds how many threads run at a time: a
//! reader that decompresses takes a permit from the workers, and returns it while it waits.
//!
//! `scan/` reads the input and moves batches of chunks through the workers; each job says what a
//! worker does with a chunk, and what happens with a batch once all its chunks are done.

mod budget;
mod canon;
mod dedup;
mod generate;
mod learn;
mod named_format;
mod scan;
mod select;
mod spool;
mod survey;
mod temp;
mod threads;
mod visit;

pub use budget::{Memory, MemoryUse};
pub use canon::{CanonPlan, OnBad, canon};
pub use dedup::{Checked, DedupPlan, DuplicateLine, Print, check, dedup, known};
pub use generate::generate_list;
pub use learn::{BASE_PROFILE, Learned, LearnedRules, Truth, evaluate, learn};
pub use named_format::NamedFormat;
pub use scan::{FormatChoice, FormatPlan, NoProgress, ProgressListener};
pub use select::{ClusterFilter, ClusterOutput, SelectPlan, select};
pub use spool::Spooled;
pub use survey::survey;
pub use threads::{Stage, StageSeconds, output_threads};
pub use visit::visit;

use std::fmt;
use std::sync::{Mutex, OnceLock};

use crate::bytes::show_input;
use crate::canonical::Canonicalizer;
use crate::crew::Crew;
use crate::error::{Error, Result};
use crate::fingerprint::FingerprintKey;
use crate::input::{FileSummary, InputPlan};
use crate::limits::{
    DECOMPRESS_BYTES_PER_THREAD, DECOMPRESS_BYTES_SHARED, MEMORY_BYTES_MIN,
    MEMORY_BYTES_PER_THREAD, THREADS_MAX,
};
use crate::record::{Layout, ReadOptions};
use crate::report::{FileLines, Output, OutputThreads, Tally, place_of_line};
use scan::PassProgress;
use threads::crew::{Background, BusyThreads, crew};
use threads::pool::Pool;

/// Bytes of memory for each thread that compresses output: a frame of zstd of 4 MiB, and the
/// encoder. A piece of gzip takes less.
const COMPRESS_BYTES_PER_THREAD: u64 = 12 << 20;

/// A job that runs, and its workers.
#[derive(Clone, Copy)]
struct RunContext<'a> {
    job: &'a Job<'a>,
    pool: &'a Pool,
}

/// What every job needs. [`Job::new`] makes one with defaults; change its fields for anything else.
pub struct Job<'a> {
    /// What to read.
    pub input: InputPlan,
    /// How its records are found.
    pub format: FormatPlan,
    /// Where rejected lines are written, each with its kind; `None`: nowhere.
    pub rejects: Option<Mutex<Output>>,
    /// The profile in force.
    pub canonicalizer: &'a Canonicalizer,
    /// The key of this job's fingerprints.
    pub key: FingerprintKey,
    /// How many workers; 0: as many as the machine has processors.
    pub threads: usize,
    /// How much memory it may take.
    pub memory: Memory,
    /// Receives the progress.
    pub progress: &'a dyn ProgressListener,
    /// How long its background threads have been busy, together with those of the jobs made
    /// [like it](Job::with_canonicalizer).
    pub(crate) background: Background,
}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("input", &self.input)
            .field("format", &self.format)
            .field("threads", &self.threads)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

/// What a job has done.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The counts.
    pub tally: Tally,
    /// Were records compared with each other? If not, each counts as unique.
    pub compared: bool,
    /// The files that were read.
    pub files: Vec<InputFile>,
    /// The job that read the known URLs, which were left out here.
    pub known: Option<Box<Outcome>>,
    /// What became of its memory.
    pub memory: MemoryUse,
    /// What its threads were busy with.
    pub stages: Vec<StageSeconds>,
}

impl Outcome {
    /// The outcome of a job that begins, and compares records.
    fn begin(job: &Job) -> Outcome {
        let memory = MemoryUse { budget_bytes: job.memory.bytes, ..MemoryUse::default() };
        Outcome { compared: true, memory, ..Outcome::default() }
    }

    /// The outcome of a job that ends: it has read `files` on the threads of `pool`.
    ///
    /// Failure: counts that do not add up.
    fn end(self, files: Vec<InputFile>, pool: &Pool) -> Result<Outcome> {
        self.tally.check()?;
        Ok(Outcome { files, stages: pool.seconds(), ..self })
    }
}

/// A file that was read.
#[derive(Clone, Debug, Default)]
pub struct InputFile {
    /// The name of the file, its compression, and how much of it was read.
    pub summary: FileSummary,
    /// How its lines hold URLs.
    pub layout: Layout,
    /// Do the columns change somewhere in the file?
    pub columns_change: bool,
    /// How many lines of it were processed.
    pub lines: u64,
}

impl InputFile {
    /// Returns the name of the file in messages, safe to print.
    pub fn shown(&self) -> String {
        show_input(&self.summary.path)
    }
}

/// Where line `line` is, for messages: its file, unless `files_in_all` is one, and its number in
/// that file. Lines are counted from 1 over all of `files`.
pub fn line_place(files: &[InputFile], files_in_all: usize, line: u64) -> String {
    let files = files.iter().map(|file| FileLines { name: &file.summary.path, lines: file.lines });
    place_of_line(line, files_in_all > 1, files)
}

impl<'a> Job<'a> {
    /// Makes a job that reads `input` under the profile of `canonicalizer`: formats are detected,
    /// no rejected line is kept, the key is random, there is a worker for each processor, and the
    /// memory is that of [`Memory::default`]; progress is not reported.
    pub fn new(input: InputPlan, canonicalizer: &'a Canonicalizer) -> Job<'a> {
        Job {
            input,
            format: FormatPlan::default(),
            rejects: None,
            canonicalizer,
            key: FingerprintKey::random(),
            threads: 0,
            memory: Memory::default(),
            progress: &NoProgress,
            background: Background::default(),
        }
    }

    /// How long each background thread has been busy so far; a stage for which none was started
    /// has no threads. Threads that write the job's results count until the results are complete,
    /// which is after the job's end.
    pub fn background_seconds(&self) -> [StageSeconds; 2] {
        self.background.seconds()
    }

    /// Begins the pass `name`, over `bytes` bytes if that is known; it ends when the returned value
    /// is dropped.
    fn begin_pass(&self, name: &str, bytes: Option<u64>) -> PassProgress<'a> {
        PassProgress::begin(self.progress, name, bytes)
    }

    /// Was the job asked to stop?
    ///
    /// Failure: then the error that it ends with.
    fn check_stop(&self) -> Result<()> {
        if self.input.stop.is_asked() { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// How lines are read under the profile in force.
    pub(crate) fn read_options(&self) -> ReadOptions {
        ReadOptions {
            separator: self.input.separator,
            line_bytes_max: self.input.line_bytes_max,
            verbatim: !self.canonicalizer.profile().parses,
            fields: true,
        }
    }

    /// Adds `more` to `tally`, and writes its rejected lines. To be called in input order.
    pub(crate) fn add(&self, tally: &mut Tally, more: &Tally) -> Result<()> {
        tally.merge(more);
        if let Some(rejects) = &self.rejects {
            let mut file = rejects.lock().expect("no thread panics while it writes");
            for (kind, line) in &more.kept_rejects {
                file.write(kind.name().as_bytes())?;
                file.write(b"\t")?;
                // A quoted row may span several lines.
                let separator = self.input.separator;
                let escape: &[u8] = if separator == 0 { b"\\0" } else { b"\\n" };
                let lines: Vec<&[u8]> = line.split(|byte| *byte == separator).collect();
                file.write_line(&lines.join(escape), separator)?;
            }
        }
        Ok(())
    }

    /// Makes a job like this one, but with another `canonicalizer` and no file for rejects.
    pub fn with_canonicalizer<'b>(&'b self, canonicalizer: &'b Canonicalizer) -> Job<'b> {
        Job {
            input: self.input.clone(),
            format: self.format.clone(),
            rejects: None,
            canonicalizer,
            key: self.key.clone(),
            threads: self.threads,
            memory: self.memory.clone(),
            progress: self.progress,
            background: self.background.clone(),
        }
    }

    /// Returns how many worker threads the job has.
    pub fn workers(&self) -> usize {
        if self.threads > 0 {
            return self.threads.min(THREADS_MAX);
        }
        // No more than there is memory for, unless a number was asked for.
        let room = self.memory.bytes.saturating_sub(MEMORY_BYTES_MIN) / MEMORY_BYTES_PER_THREAD;
        let room = usize::try_from(room).unwrap_or(THREADS_MAX);
        processors().min(room).clamp(1, THREADS_MAX)
    }

    /// Threads beside the workers that decompress input: as many as there is room for in a tenth of
    /// the memory, perhaps none. None is started before the first task.
    fn decompressors(&self) -> Option<Crew> {
        let room = (self.memory.bytes / 10).saturating_sub(DECOMPRESS_BYTES_SHARED)
            / DECOMPRESS_BYTES_PER_THREAD;
        self.crew_within(room, &self.background.decompressing)
    }

    /// Makes the threads beside the workers that help to write results.
    pub fn output_threads(&self) -> OutputThreads {
        OutputThreads { compressors: self.compressors(), ..output_threads() }
    }

    /// Makes the threads that compress output: as many as there is room for in a sixteenth of the
    /// memory, perhaps none.
    fn compressors(&self) -> Option<Crew> {
        self.crew_within(
            self.memory.bytes / 16 / COMPRESS_BYTES_PER_THREAD,
            &self.background.compressing,
        )
    }

    /// Makes a crew of no more threads than there is `room` for, or workers; perhaps none.
    fn crew_within(&self, room: u64, busy: &BusyThreads) -> Option<Crew> {
        let threads = usize::try_from(room).unwrap_or(usize::MAX).min(self.workers());
        (threads > 0).then(|| crew(threads, busy))
    }

    /// Starts the job's own threads.
    fn pool(&self) -> Result<Pool> {
        Pool::start(self.workers())
    }
}

/// How many threads `threads` stands for; 0: as many as the machine has processors.
fn threads_or_processors(threads: usize) -> usize {
    if threads == 0 { processors() } else { threads }.min(THREADS_MAX)
}

/// How many processors the process may use. Asked for once, since the answer is read from files of
/// the system.
fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
