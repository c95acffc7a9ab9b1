//! Batches of chunks through the workers, in order, while the next batch is read.

use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver};

use super::Job;
use super::budget::Budget;
use super::flow::Flow;
use super::pool::{Pool, Stage};
use crate::error::{Error, Result};
use crate::input::{Chunk, FileSummary, Input};
use crate::limits::{BATCH_CHUNKS, BATCH_OWN_BYTES};

/// Is told how far a job is.
pub trait Watch: Sync {
    /// A pass over the input begins: `bytes` to be read from disk, if that is known.
    fn begin(&self, pass: &str, bytes: Option<u64>);
    /// So many bytes were read from disk, and so many lines worked off, in this pass.
    fn advance(&self, bytes: u64, lines: u64);
    /// The pass is over.
    fn end(&self);
}

/// Nobody.
pub struct NoWatch;

impl Watch for NoWatch {
    fn begin(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64, _: u64) {}
    fn end(&self) {}
}

/// Reads all of the job's input: `work` turns each chunk into a `T` on some worker, `done` gets the
/// batches in input order and says how many lines they had, or `None` if it has seen enough.
///
/// Failure: the first error of `done`, or else of reading. What could be read before a damaged
/// place has gone through `done` by then.
pub(super) fn scan<W, T: Send + Sync>(
    job: &Job,
    pool: &Pool,
    pass: &str,
    new_worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, &Chunk) -> T + Sync,
    done: impl FnMut(Vec<(Chunk, T)>) -> Result<Option<u64>>,
) -> Result<Vec<FileSummary>> {
    scan_heavy(job, pool, pass, RECORD_BYTES, new_worker, work, done)
}

/// The same for jobs that know more of each record: so many bytes.
pub(super) fn scan_heavy<W, T: Send + Sync>(
    job: &Job,
    pool: &Pool,
    pass: &str,
    record_bytes: u64,
    new_worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, &Chunk) -> T + Sync,
    mut done: impl FnMut(Vec<(Chunk, T)>) -> Result<Option<u64>>,
) -> Result<Vec<FileSummary>> {
    let budget = job.budget();
    let mut plan = job.input.clone();
    plan.chunk_bytes = plan.chunk_bytes.min(budget.chunk_bytes());
    plan.zstd_window_log_max = plan.zstd_window_log_max.min(budget.zstd_window_log_max());
    let mut input = Input::open(&plan)?;
    if !budget.is_tight() {
        input.unpack_with(job.crew());
    }
    job.watch.begin(pass, input.bytes_total());
    let progress = input.progress();
    let result = std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(CHUNKS_AHEAD);
        let reader = scope.spawn(move || {
            let flow = Flow::new(budget.flow_bytes());
            while let Some(chunk) = pool.time(Stage::Reading, || input.next()) {
                let chunk = chunk.map(|mut chunk| {
                    let lines = count_lines(&chunk, plan.separator, budget);
                    let known = record_bytes * lines as u64 + CHUNK_OVERHEAD_BYTES;
                    let bytes = chunk.memory_bytes() as u64 + known;
                    chunk.hold(flow.enter(bytes));
                    (chunk, bytes)
                });
                // A closed channel means that the job has failed and said why.
                if sender.send(chunk).is_err() {
                    break;
                }
            }
            input.summaries().to_vec()
        });
        let mut lines = 0;
        let mut end = Ok(());
        while end.is_ok() {
            let (batch, reading) = next_batch(&receiver, budget.batch_bytes());
            end = reading;
            if batch.is_empty() {
                break;
            }
            let results = work_off(pool, &batch, &new_worker, &work)?;
            match done(batch.into_iter().zip(results).collect())? {
                Some(more) => lines += more,
                None => break,
            }
            job.watch.advance(progress.load(Ordering::Relaxed), lines);
        }
        drop(receiver);
        let files = reader.join().map_err(|_| Error::internal("the reader has panicked"))?;
        end.map(|()| files)
    });
    job.watch.end();
    result
}

/// Chunks that may be read before the workers take them.
const CHUNKS_AHEAD: usize = 64;

/// What is known of each record while its batch is worked off: fingerprints and places, with some
/// room to grow.
const RECORD_BYTES: u64 = 64;

/// What is known of each chunk, however short it is.
const CHUNK_OVERHEAD_BYTES: u64 = 4 << 10;

/// How many lines `chunk` has, or may have if there is memory enough.
fn count_lines(chunk: &Chunk, separator: u8, budget: Budget) -> usize {
    if budget.is_tight() {
        1 + memchr::memchr_iter(separator, chunk.bytes()).count()
    } else {
        chunk.bytes().len() / 8
    }
}

/// The chunks that are there, at least one unless the input has ended; and how reading goes.
///
/// Not waiting for a full batch lets a slow pipe's lines through as they come.
fn next_batch(
    receiver: &Receiver<Result<(Chunk, u64)>>,
    bytes_max: u64,
) -> (Vec<Chunk>, Result<()>) {
    let (mut batch, mut bytes, mut own_bytes) = (Vec::new(), 0, 0);
    let mut next = receiver.recv().ok();
    while let Some(chunk) = next {
        match chunk {
            Ok((chunk, more)) => {
                own_bytes += chunk.memory_bytes();
                bytes += more;
                batch.push(chunk);
            }
            Err(error) => return (batch, Err(error)),
        }
        if batch.len() == BATCH_CHUNKS || own_bytes >= BATCH_OWN_BYTES || bytes >= bytes_max {
            break;
        }
        next = receiver.try_recv().ok();
    }
    (batch, Ok(()))
}

/// Gives every chunk to a worker; nobody gets a fixed share. Results in the order of the chunks.
fn work_off<W, T: Send + Sync>(
    pool: &Pool,
    batch: &[Chunk],
    new_worker: &(impl Fn() -> W + Sync),
    work: &(impl Fn(&mut W, &Chunk) -> T + Sync),
) -> Result<Vec<T>> {
    let changed = Mutex::new(Ok(()));
    let results = pool.map(Stage::Canonicalizing, batch.len(), new_worker, |worker, number| {
        let result = work(worker, &batch[number]);
        // A mapped file that was cut short meanwhile shows zeros: then this chunk is void.
        if let Err(error) = batch[number].verify() {
            *changed.lock().expect("no thread panics while it holds the lock") = Err(error);
        }
        result
    });
    changed.into_inner().expect("no thread panics while it holds the lock")?;
    Ok(results)
}
