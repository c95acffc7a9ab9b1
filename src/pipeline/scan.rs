//! Batches of chunks through the workers, in order, while the next batch is read.

mod batch;
mod delivery;
mod pass;

use std::sync::atomic::Ordering;
use std::sync::{Mutex, mpsc};

use super::budget::Budget;
use super::layouts::{Layouts, Parcel};
use super::pool::{Pool, Stage};
use super::{InputFile, Job};
use crate::bytes::show;
use crate::error::{Error, Result};
use crate::input::{Input, InputPlan};
use crate::limits::BATCH_CHUNKS;
use crate::record::Layout;
use batch::{BatchSoFar, Part, next_part};
use delivery::Delivery;

pub(super) use delivery::AHEAD_BYTES;
pub use pass::{NoWatch, Watch};
pub(super) use pass::{Pass, WasRead, changed};

/// Reads all of the job's input: `work` turns each chunk into a `T` on some worker, `done` gets the
/// batches in input order and says how many lines they had, or `None` if it has seen enough.
///
/// Failure: the first error of `done`, or else of reading. What could be read before a damaged
/// place has gone through `done` by then. Another pass fails if it has not read what the first has, too.
pub(super) fn scan<W, T: Send + Sync>(
    job: &Job,
    pool: &Pool,
    pass: Pass,
    new_worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, &Parcel) -> T + Sync,
    done: impl FnMut(Vec<(Parcel, T)>) -> Result<Option<u64>>,
) -> Result<WasRead> {
    scan_heavy(job, pool, pass, |_, records| records * RECORD_BYTES, new_worker, work, done)
}

/// The same for jobs that know more of a chunk with so many records, or less: `known` bytes.
pub(super) fn scan_heavy<W, T: Send + Sync>(
    job: &Job,
    pool: &Pool,
    pass: Pass,
    known: impl Fn(&Parcel, u64) -> u64 + Send,
    new_worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, &Parcel) -> T + Sync,
    done: impl FnMut(Vec<(Parcel, T)>) -> Result<Option<u64>>,
) -> Result<WasRead> {
    let (read, end) = scan_to_end(job, pool, pass, known, new_worker, work, done)?;
    end.map(|()| read)
}

/// The same for jobs that have something to do with what could be read before a damaged place: how reading has
/// ended is told by itself.
pub(super) fn scan_to_end<W, T: Send + Sync>(
    job: &Job,
    pool: &Pool,
    pass: Pass,
    known: impl Fn(&Parcel, u64) -> u64 + Send,
    new_worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, &Parcel) -> T + Sync,
    mut done: impl FnMut(Vec<(Parcel, T)>) -> Result<Option<u64>>,
) -> Result<(WasRead, Result<()>)> {
    let budget = job.budget();
    let mut plan = job.input.clone();
    plan.chunk_bytes = plan.chunk_bytes.min(budget.chunk_bytes());
    plan.zstd_window_log_max = plan.zstd_window_log_max.min(budget.zstd_window_log_max());
    plan.sample_bytes = plan.sample_bytes.max(job.format.sample_bytes());
    let mut input = match pass.first {
        None => Input::open(&plan)?,
        Some(first) => Input::open_again(&plan, first.files.iter().map(|file| &file.summary))?,
    };
    // There may be many.
    plan.paths = Vec::new();
    if !budget.is_tight() {
        input.unpack_with(job.crew());
    }
    job.watch.begin(pass.name, input.bytes_total());
    let progress = input.progress();
    let bytes_total = bytes_of(&input);
    let result = std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(BATCH_CHUNKS);
        let delivery = Delivery::new(budget.flow_bytes(), sender, pool);
        let reader = scope.spawn(move || {
            read(input, &plan, Layouts::new(job), delivery, |parcel| {
                let lines = count_lines(parcel, plan.separator, budget) as u64;
                known(parcel, lines) + CHUNK_OVERHEAD_BYTES
            })
        });
        let (mut lines, mut chunks) = (0, 0);
        let (mut end, mut is_whole) = (Ok(()), true);
        let mut gathered = BatchSoFar::default();
        let mut results = Vec::new();
        // How much of the input has been worked off.
        let mut share = None;
        while end.is_ok() {
            let Part { parcels, is_unpacking, is_over, reading } =
                next_part(&receiver, &mut gathered, budget.batch_bytes(), chunks);
            end = reading;
            share = parcels.last().and_then(|parcel| parcel.share_read).or(share);
            let worked_off = work_off(pool, &parcels, &new_worker, &work)?;
            results.extend(parcels.into_iter().zip(worked_off));
            // The batch goes on.
            if is_unpacking {
                continue;
            }
            chunks += gathered.chunks;
            gathered = BatchSoFar::default();
            if !results.is_empty() {
                match done(std::mem::take(&mut results))? {
                    Some(more) => lines += more,
                    None => {
                        is_whole = false;
                        break;
                    }
                }
                // What has been read since is ahead of the work.
                let worked_off = bytes_total.zip(share).filter(|_| !is_over);
                let bytes = worked_off.map(|(total, share)| (total as f64 * share) as u64);
                job.watch.advance(bytes.unwrap_or_else(|| progress.load(Ordering::Relaxed)), lines);
            }
            if is_over {
                break;
            }
        }
        drop(receiver);
        let files = reader.join().map_err(|_| Error::internal("the reader has panicked"))?;
        match pass.first {
            Some(first) if end.is_ok() && is_whole && first.lines != lines => Err(changed()),
            _ => Ok((WasRead { files, lines }, end)),
        }
    });
    job.watch.end();
    result
}

/// Reads all of `input`, by `plan`, and delivers what `layouts` makes of its chunks, of which so many bytes will be
/// `known`. Returns its files.
fn read(
    mut input: Input,
    plan: &InputPlan,
    mut layouts: Layouts,
    mut delivery: Delivery,
    known: impl Fn(&Parcel) -> u64,
) -> Vec<InputFile> {
    let (bytes_read, bytes_total) = (input.progress(), bytes_of(&input));
    let mut formats: Vec<Layout> = Vec::new();
    let mut is_over = false;
    while !is_over {
        delivery.take_seat();
        let (chunk, error) = match delivery.time_reading(|| input.next()) {
            None => (None, None),
            Some(Ok(chunk)) => (Some(chunk), None),
            Some(Err(error)) => (None, Some(error)),
        };
        is_over = chunk.is_none();
        let file = input.summaries().last().map(|file| plan.name_of(&file.path));
        let container = input.summaries().last().and_then(|file| file.container);
        let parcels = layouts.lay_out(chunk, container).map_err(|error| match file {
            Some(name) if name.as_os_str() == "-" => error.at("standard input"),
            Some(name) => error.at(show(name.as_os_str().as_encoded_bytes())),
            None => error,
        });
        if let Some((file, layout)) = layouts.current() {
            formats.resize(formats.len().max(file + 1), Layout::default());
            formats[file].clone_from(layout);
        }
        let (parcels, failed) = match parcels {
            Ok(parcels) => (parcels, error),
            Err(wrong) => (Vec::new(), Some(wrong)),
        };
        let share_read =
            bytes_total.map(|total| bytes_read.load(Ordering::Relaxed) as f64 / total as f64);
        // Where nobody takes it any more, the job has failed and said why.
        is_over |= !parcels.into_iter().all(|mut parcel| {
            parcel.share_read = share_read;
            let known = known(&parcel);
            delivery.deliver(parcel, known)
        });
        if let Some(error) = failed {
            is_over = true;
            delivery.send(Err(error));
        }
    }
    let formats = formats.into_iter().chain(std::iter::repeat(Layout::default()));
    let files = input.into_summaries().into_iter().zip(formats);
    files.map(|(summary, layout)| InputFile { summary, layout }).collect()
}

/// How many bytes all of `input` has, if that is known.
fn bytes_of(input: &Input) -> Option<u64> {
    input.bytes_total().filter(|bytes| *bytes > 0)
}

/// What is known of each record while its batch is worked off: fingerprints and places, with some
/// room to grow.
pub(super) const RECORD_BYTES: u64 = 64;

/// What is known of each chunk, however short it is.
const CHUNK_OVERHEAD_BYTES: u64 = 4 << 10;

/// How many lines `chunk` has, or may have if there is memory enough.
fn count_lines(chunk: &Parcel, separator: u8, budget: Budget) -> usize {
    if budget.is_tight() {
        1 + memchr::memchr_iter(separator, chunk.bytes()).count()
    } else {
        chunk.bytes().len() / 8
    }
}

/// Gives every chunk to a worker; nobody gets a fixed share. Results in the order of the chunks.
fn work_off<W, T: Send + Sync>(
    pool: &Pool,
    batch: &[Parcel],
    new_worker: &(impl Fn() -> W + Sync),
    work: &(impl Fn(&mut W, &Parcel) -> T + Sync),
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
