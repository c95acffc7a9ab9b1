//! Reads the input, and moves batches of chunks through the workers in order.

mod batch;
mod delivery;
pub(super) mod flow;
pub(super) mod layouts;
mod pass;
pub(super) mod walk;

pub use layouts::{FormatChoice, FormatPlan};

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use super::budget::Budget;
use super::threads::crew::spawn;
use super::threads::pool::Pool;
use super::{InputFile, Job};
use crate::bytes::show_input;
use crate::error::{Error, Result};
use crate::input::{Input, InputPlan, Stop};
use crate::limits::BATCH_CHUNKS;
use crate::record::Layout;
use batch::Batches;
use delivery::Delivery;
use layouts::{Layouts, Parcel};

pub(super) use batch::{Batch, BatchChunk};
pub use pass::{NoProgress, ProgressListener};
pub(super) use pass::{Pass, PassProgress, WasRead, input_changed};

/// A pass over all of a job's input.
pub(super) struct Scan<'a, K = fn(&Parcel, u64) -> u64> {
    job: &'a Job<'a>,
    pool: &'a Pool,
    pass: Pass<'a>,
    record_bytes: K,
    reads_pages: bool,
    stop: Stop,
}

impl<'a> Scan<'a> {
    /// Makes a pass that keeps [`RECORD_BYTES`] of each record.
    pub(super) fn new(job: &'a Job, pool: &'a Pool, pass: Pass<'a>) -> Self {
        let record_bytes: fn(&Parcel, u64) -> u64 = |_, records| records * RECORD_BYTES;
        let stop = job.input.stop.part();
        Scan { job, pool, pass, record_bytes, reads_pages: false, stop }
    }

    /// Makes the pass stop waiting for streams when `stop` is requested.
    pub(super) fn with_stop(self, stop: &Stop) -> Self {
        Scan { stop: stop.clone(), ..self }
    }

    /// Makes the pass look for canonical links in pages as well.
    pub(super) fn with_pages(self) -> Self {
        Scan { reads_pages: true, ..self }
    }
}

impl<'a, K: Fn(&Parcel, u64) -> u64 + Send> Scan<'a, K> {
    /// Makes the pass use `record_bytes` to estimate the bytes of memory that are kept of a chunk,
    /// with this many records, while its batch is processed.
    pub(super) fn with_record_bytes<L: Fn(&Parcel, u64) -> u64 + Send>(
        self,
        record_bytes: L,
    ) -> Scan<'a, L> {
        let Scan { job, pool, pass, reads_pages, stop, .. } = self;
        Scan { job, pool, pass, record_bytes, reads_pages, stop }
    }

    /// Reads the input. `work` is called by some worker for each chunk, and returns how many lines
    /// the chunk has and what was made of them, a `T`. `done` gets the batches in input order,
    /// until it returns a break.
    ///
    /// Failure: the first error of `done`, or else of reading; `done` has got all that could be
    /// read before a damaged place. A second pass also fails if it does not read what the first has
    /// read.
    pub(super) fn run<W, T: Send + Sync>(
        self,
        new_worker: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, &Parcel) -> (u64, T) + Sync,
        done: impl FnMut(Batch<T>) -> Result<ControlFlow<()>>,
    ) -> Result<WasRead> {
        let (read, end) = self.run_to_end(new_worker, work, done)?;
        end.map(|()| read)
    }

    /// Reads the input as [`Scan::run`] does, for jobs that go on with what could be read before a
    /// damaged place: how reading has ended is returned beside what was read.
    pub(super) fn run_to_end<W, T: Send + Sync>(
        self,
        new_worker: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, &Parcel) -> (u64, T) + Sync,
        mut done: impl FnMut(Batch<T>) -> Result<ControlFlow<()>>,
    ) -> Result<(WasRead, Result<()>)> {
        let Scan { job, pool, pass, record_bytes, reads_pages, stop } = self;
        let budget = job.budget();
        let plan = InputPlan { reads_pages, stop: stop.clone(), ..plan_within(job) };
        let mut input = pass.open(&plan)?;
        let files_in_all = input.files().len();
        // Frees the list of files, which may be long.
        drop(plan);
        if let Some(crew) = job.decompressors() {
            input.decompress_with(crew);
        }
        let progress = Progress::begin(job, pass.name, &input);
        std::thread::scope(|scope| {
            // Releases a reader that still waits when this scope ends.
            let at_end = stop.at_end();
            let (sender, receiver) = mpsc::sync_channel(BATCH_CHUNKS);
            let delivery = Delivery::new(budget.flow_bytes(), sender, pool);
            let reader = spawn(scope, move || {
                read(input, Layouts::new(job), delivery, |parcel| {
                    let lines = lines_max(parcel, job.input.separator, budget) as u64;
                    record_bytes(parcel, lines) + CHUNK_OVERHEAD_BYTES
                })
            })?;
            let mut batches = Batches::new(&receiver, budget.batch_bytes());
            let (mut end, mut is_whole) = (Ok(()), true);
            let is_cancelled = || job.input.stop.is_asked();
            while end.is_ok() && is_whole && !batches.is_over() && !is_cancelled() {
                let batch;
                (batch, end) = batches.next(pool, &new_worker, &work)?;
                if !batch.chunks.is_empty() {
                    is_whole = done(batch)?.is_continue();
                    progress.advance(&batches);
                }
            }
            let (lines, lines_by_file) = (batches.lines(), batches.into_lines_by_file());
            drop((receiver, at_end));
            // What was read may end anywhere.
            job.check_stop()?;
            let mut files: Vec<InputFile> =
                reader.join().map_err(|_| Error::internal("the reader has panicked"))?;
            for (file, lines) in files.iter_mut().zip(lines_by_file) {
                file.lines = lines;
            }
            match pass.first {
                Some(first) if end.is_ok() && is_whole && first.lines != lines => {
                    Err(input_changed())
                }
                _ => Ok((WasRead { files, files_in_all, lines }, end)),
            }
        })
    }
}

/// The input plan of `job`, with chunks and windows that fit its budget.
fn plan_within(job: &Job) -> InputPlan {
    let budget = job.budget();
    let mut plan = job.input.clone();
    plan.chunk_bytes = plan.chunk_bytes.min(budget.chunk_bytes());
    plan.zstd_window_bytes_max = plan.zstd_window_bytes_max.min(budget.zstd_window_bytes_max());
    plan.sample_bytes = plan.sample_bytes.max(job.format.sample_bytes());
    plan
}

/// Reports the progress of a pass over the input to the job's listener, until this is dropped.
struct Progress<'a> {
    of_pass: PassProgress<'a>,
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
}

impl<'a> Progress<'a> {
    fn begin(job: &Job<'a>, name: &str, input: &Input) -> Self {
        let of_pass = job.begin_pass(name, input.bytes_total());
        Progress { of_pass, bytes_read: input.progress(), bytes_total: bytes_of(input) }
    }

    /// Reports that the `batches` so far were processed.
    fn advance(&self, batches: &Batches) {
        // The reader is ahead of what has been processed.
        let worked_off =
            self.bytes_total.zip(batches.fraction_read()).filter(|_| !batches.is_over());
        let bytes = match worked_off {
            Some((total, fraction)) => (total as f64 * fraction) as u64,
            None => self.bytes_read.load(Ordering::Relaxed),
        };
        self.of_pass.advance(bytes, batches.lines());
    }
}

/// Reads all of `input`, and delivers what `layouts` makes of its chunks, for each of which
/// `bytes_kept` will be kept beside its own. Returns its files, whose lines have yet to be
/// counted.
fn read(
    mut input: Input,
    mut layouts: Layouts,
    mut delivery: Delivery,
    bytes_kept: impl Fn(&Parcel) -> u64,
) -> Vec<InputFile> {
    let (bytes_read, bytes_total) = (input.progress(), bytes_of(&input));
    let mut formats: Vec<(Layout, bool)> = Vec::new();
    let mut is_over = false;
    while !is_over {
        delivery.acquire_permit();
        let (chunk, error) = match delivery.time_reading(|| input.next()) {
            None => (None, None),
            Some(Ok(chunk)) => (Some(chunk), None),
            Some(Err(error)) => (None, Some(error)),
        };
        is_over = chunk.is_none();
        let file = input.summaries().last().map(|file| &file.path);
        let container = input.summaries().last().and_then(|file| file.container);
        let parcels = layouts.lay_out(chunk, container).map_err(|error| match file {
            Some(name) => error.at(show_input(name)),
            None => error,
        });
        if let Some((file, layout, columns_change)) = layouts.current() {
            formats.resize(formats.len().max(file + 1), Default::default());
            formats[file].0.clone_from(layout);
            formats[file].1 = columns_change;
        }
        let (parcels, failed) = match parcels {
            Ok(parcels) => (parcels, error),
            // An error of reading is the cause of the error of the layout.
            Err(wrong) => (Vec::new(), error.or(Some(wrong))),
        };
        let fraction_read =
            bytes_total.map(|total| bytes_read.load(Ordering::Relaxed) as f64 / total as f64);
        // If nobody takes it any more, the job has failed, and reports its own error.
        is_over |= !parcels.into_iter().all(|mut parcel| {
            parcel.fraction_read = fraction_read;
            let bytes_kept = bytes_kept(&parcel);
            delivery.deliver(parcel, bytes_kept)
        });
        if let Some(error) = failed {
            is_over = true;
            delivery.send(Err(error));
        }
    }
    let formats = formats.into_iter().chain(std::iter::repeat(Default::default()));
    let files = input.into_summaries().into_iter().zip(formats);
    let file = |(summary, (layout, columns_change))| InputFile {
        summary,
        layout,
        columns_change,
        lines: 0,
    };
    files.map(file).collect()
}

/// How many bytes all of `input` has, if that is known and not 0, so that a fraction of them can be
/// computed.
fn bytes_of(input: &Input) -> Option<u64> {
    input.bytes_total().filter(|bytes| *bytes > 0)
}

/// Bytes kept of each record while its batch is processed: fingerprints and positions, with some
/// room to grow.
pub(super) const RECORD_BYTES: u64 = 64;

/// Most bytes of a canonical form for each byte of its line. Reason: a byte may become an escape.
pub(super) const FORM_BYTES: u64 = 3;

/// Bytes kept of each chunk, however short it is.
const CHUNK_OVERHEAD_BYTES: u64 = 4 << 10;

/// How many lines `chunk` has at most; with ample memory, an estimate.
fn lines_max(chunk: &Parcel, separator: u8, budget: Budget) -> usize {
    if budget.is_tight() {
        1 + memchr::memchr_iter(separator, chunk.bytes()).count()
    } else {
        chunk.bytes().len() / 8
    }
}
