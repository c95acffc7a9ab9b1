//! Batches of chunks through the workers, in order, while the next batch is read.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::budget::Budget;
use super::flow::{Flow, Ticket};
use super::layouts::{Layouts, Parcel};
use super::pool::{Pool, Stage};
use super::seats::Seat;
use super::{InputFile, Job};
use crate::bytes::show;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::{
    BATCH_CHUNKS, BATCH_CHUNKS_LAST, BATCH_OWN_BYTES, BATCH_OWN_BYTES_MIN, CHUNK_BYTES,
};
use crate::record::Layout;

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

/// A pass over the input.
pub(super) struct Pass<'a> {
    /// What is done, for people.
    name: &'a str,
    /// What an earlier pass has read.
    first: Option<&'a WasRead>,
}

impl<'a> Pass<'a> {
    /// The first one.
    pub(super) fn first(name: &'a str) -> Self {
        Pass { name, first: None }
    }

    /// Another one, of what the `first` has read: files that have grown are read up to the size they had, and
    /// anything else that has changed is an error.
    pub(super) fn again(name: &'a str, first: &'a WasRead) -> Self {
        Pass { name, first: Some(first) }
    }
}

/// What a pass has read.
#[derive(Debug, Default)]
pub(super) struct WasRead {
    /// The files.
    pub(super) files: Vec<InputFile>,
    /// How many lines they have.
    pub(super) lines: u64,
}

/// The input is not what it was.
#[cold]
pub(super) fn changed() -> Error {
    Error::input(
        "the input has changed between the first and the second reading; run again when nothing writes \
         to it",
    )
}

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
    let bytes_total = input.bytes_total().filter(|bytes| *bytes > 0);
    let result = std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(BATCH_CHUNKS);
        let mut layouts = Layouts::new(job);
        let bytes_read = Arc::clone(&progress);
        let reader = scope.spawn(move || {
            let mut delivery = Delivery {
                flow: Flow::new(budget.flow_bytes()),
                queue: Flow::new(AHEAD_BYTES as u64),
                sender,
                pool,
                was_own: false,
                is_unpacking: false,
                seat: None,
            };
            let mut formats: Vec<Layout> = Vec::new();
            let mut is_over = false;
            while !is_over {
                delivery.take_seat();
                let (chunk, error) = match pool.time(Stage::Reading, || input.next()) {
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
                let share_read = bytes_total
                    .map(|total| bytes_read.load(Ordering::Relaxed) as f64 / total as f64);
                // Where nobody takes it any more, the job has failed and said why.
                is_over |= !parcels.into_iter().all(|mut parcel| {
                    parcel.share_read = share_read;
                    let lines = count_lines(&parcel, plan.separator, budget);
                    let known = known(&parcel, lines as u64) + CHUNK_OVERHEAD_BYTES;
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
        });
        let (mut lines, mut chunks) = (0, 0);
        let (mut end, mut is_whole) = (Ok(()), true);
        let mut gathered = Gathered::default();
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
            gathered = Gathered::default();
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

/// The way of chunks from the reader to the workers, within the memory that they may take.
struct Delivery<'a> {
    /// For chunks and what is known of them, until they are done with.
    flow: Arc<Flow>,
    /// For chunks until the workers take them.
    queue: Arc<Flow>,
    sender: SyncSender<Result<Delivered>>,
    pool: &'a Pool,
    /// Was the last chunk that of a file, read or unpacked by the reader itself?
    was_own: bool,
    /// And the one before, too? One alone stands where two pieces meet that others have unpacked.
    is_unpacking: bool,
    /// For the processor that unpacking takes.
    seat: Option<Seat<'a>>,
}

impl Delivery<'_> {
    /// Takes a processor from the workers, if the next chunk is likely to need one: who is waited for
    /// has it alone. Otherwise leaves it to them.
    fn take_seat(&mut self) {
        if !self.is_unpacking {
            self.seat = None;
        } else if self.seat.is_none() {
            self.seat = Some(self.pool.take_seat());
        }
    }

    /// Delivers `parcel`, of which `known` bytes will be known. `false` if nobody takes it any more.
    fn deliver(&mut self, mut parcel: Parcel, known: u64) -> bool {
        let is_own = parcel.is_by_caller() && parcel.share_read.is_some();
        self.is_unpacking = is_own && self.was_own;
        self.was_own = is_own;
        let own_bytes = parcel.memory_bytes() as u64;
        let is_mapped = own_bytes == 0;
        // Many files are not to be open at once.
        let queued_bytes =
            if is_mapped && parcel.starts_file() { CHUNK_BYTES as u64 } else { own_bytes };
        let mut enter = |flow: &Arc<Flow>, bytes| {
            flow.try_enter(bytes).unwrap_or_else(|| {
                self.seat = None;
                flow.enter(bytes)
            })
        };
        let bytes = own_bytes + known;
        parcel.hold(enter(&self.flow, bytes));
        let queued = enter(&self.queue, queued_bytes);
        self.send(Ok(Delivered { parcel, bytes, queued }))
    }

    /// Sends `one`. `false` if nobody takes it any more.
    fn send(&mut self, one: Result<Delivered>) -> bool {
        match self.sender.try_send(one) {
            Err(TrySendError::Full(one)) => {
                self.seat = None;
                self.sender.send(one).is_ok()
            }
            sent => sent.is_ok(),
        }
    }
}

/// A chunk on its way to the workers.
struct Delivered {
    parcel: Parcel,
    /// That it takes, with what will be known of it.
    bytes: u64,
    /// Until it is taken.
    queued: Ticket,
}

/// Bytes of chunks in the process's own memory that may wait until the workers take them. Reason: as many as a batch
/// of a packed file has where memory is ample, so that unpacking goes on while one is looked up; those further ahead
/// take memory that the system has to clear. Of a mapped file, whose chunks take none, a whole batch may wait: it is cut
/// while the one before is worked on. Only its first chunk counts, as any other.
pub(super) const AHEAD_BYTES: usize = BATCH_OWN_BYTES;

/// How long the next chunk of a mapped file is awaited. Reason: it is there within some
/// microseconds, unless the file ends and a slow pipe follows.
const CUTTING_MAX: Duration = Duration::from_millis(2);

/// How long the next chunk is awaited while few are there, where all input is files, some of them
/// packed. Reason: most packings take some milliseconds for one, and what takes longer is not held
/// up by working on few at once.
const UNPACKING_MAX: Duration = Duration::from_millis(20);

/// How long those that were gathered wait for more. Reason: a long line may be waiting for the room
/// that they take.
const GATHERING_MAX: Duration = Duration::from_millis(200);

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

/// The chunks of a batch so far.
#[derive(Default)]
struct Gathered {
    chunks: usize,
    /// Bytes of memory that they take, with what is known of them.
    bytes: u64,
    own_bytes: usize,
}

/// Some chunks of a batch, whose first half is worked off together.
struct Part {
    parcels: Vec<Parcel>,
    /// Is that all there is, and more is being unpacked, by the thread that reads? Then the batch goes
    /// on.
    is_unpacking: bool,
    /// Has the input ended?
    is_over: bool,
    reading: Result<()>,
}

/// The chunks that are there, at least one unless the input has ended or what was gathered has waited
/// long enough; and how reading goes.
///
/// Not waiting for a full batch lets a slow pipe's lines through as they come. Mapped files have
/// only to be cut, which is awaited: what is learned from a batch of one chunk says little of the
/// rest. Of packed files some chunks are awaited, whose first half is done while more are unpacked; the
/// second half, which takes longer for each chunk the fewer there are of them, waits for a full batch.
fn next_part(
    receiver: &Receiver<Result<Delivered>>,
    gathered: &mut Gathered,
    bytes_max: u64,
    before: usize,
) -> Part {
    let mut part =
        Part { parcels: Vec::new(), is_unpacking: false, is_over: false, reading: Ok(()) };
    let mut own_bytes = 0;
    let mut next = match gathered.chunks {
        0 => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
        _ => receiver.recv_timeout(GATHERING_MAX),
    };
    loop {
        let Delivered { parcel: chunk, bytes, queued } = match next {
            Ok(Ok(delivered)) => delivered,
            Ok(Err(error)) => return Part { reading: Err(error), ..part },
            Err(why) => {
                let is_file = |chunk: &Parcel| chunk.is_by_caller() && chunk.share_read.is_some();
                part.is_unpacking =
                    why == RecvTimeoutError::Timeout && part.parcels.last().is_some_and(is_file);
                part.is_over = why == RecvTimeoutError::Disconnected;
                return part;
            }
        };
        drop(queued);
        let is_mapped = chunk.memory_bytes() == 0;
        own_bytes += chunk.memory_bytes();
        gathered.own_bytes += chunk.memory_bytes();
        gathered.bytes += bytes;
        gathered.chunks += 1;
        let share_read = chunk.share_read;
        part.parcels.push(chunk);
        let is_full = gathered.own_bytes >= BATCH_OWN_BYTES || gathered.bytes >= bytes_max;
        if is_full || gathered.chunks >= chunks_max(before + gathered.chunks, share_read) {
            return part;
        }
        let is_packed = share_read.is_some() && !is_mapped;
        next = receiver.recv_timeout(patience(is_mapped, is_packed, own_bytes, before));
    }
}

/// How long one more chunk is awaited behind a mapped one, or one of a packed file, when there are
/// `own_bytes` to be worked on, and were `before` chunks in earlier batches.
fn patience(is_mapped: bool, is_packed: bool, own_bytes: usize, before: usize) -> Duration {
    // In the first batch nothing else is done meanwhile.
    let is_awaited = is_packed && before > 0 && own_bytes < BATCH_OWN_BYTES_MIN;
    match (is_mapped, is_awaited) {
        (true, _) => CUTTING_MAX,
        (_, true) => UNPACKING_MAX,
        _ => Duration::ZERO,
    }
}

/// How many chunks are a batch, when so many chunks were this share of the input: towards its end
/// no more than are left, since nothing else is done while the last batch is written.
fn chunks_max(chunks: usize, share_read: Option<f64>) -> usize {
    let left = share_read.map_or(f64::INFINITY, |share| chunks as f64 * (1.0 / share - 1.0));
    (left as usize).clamp(BATCH_CHUNKS_LAST, BATCH_CHUNKS)
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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::input::{Chunk, InputPlan};

    /// The chunks of a file that is read, not mapped.
    fn parcels(share_read: Option<f64>) -> Vec<Parcel> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"http://a.test/\nhttp://b.test/\nhttp://c.test/\n").unwrap();
        let paths = vec![file.path().to_path_buf()];
        let plan = InputPlan { paths, chunk_bytes: 20, map: false, ..InputPlan::default() };
        let mut input = Input::open(&plan).unwrap();
        let chunks = std::iter::from_fn(|| input.next().transpose().unwrap());
        chunks.map(|chunk| Parcel::of_lines(chunk, share_read)).collect()
    }

    fn delivered(parcel: Parcel, bytes: u64) -> Delivered {
        Delivered { parcel, bytes, queued: Flow::new(0).enter(0) }
    }

    #[test]
    fn chunks_that_are_awaited_are_gathered() {
        let mut gathered = Gathered::default();
        let (sender, receiver) = mpsc::sync_channel(9);
        for (number, parcel) in parcels(Some(0.1)).into_iter().enumerate() {
            sender.send(Ok(delivered(parcel, 100))).unwrap();
            let part = next_part(&receiver, &mut gathered, u64::MAX, 0);
            // The batch goes on: more is being unpacked.
            assert!(part.is_unpacking && part.parcels.len() == 1);
            assert_eq!((gathered.chunks, gathered.bytes), (number + 1, 100 * (number as u64 + 1)));
        }
        assert!(gathered.chunks == 3 && gathered.own_bytes > 0);
        sender.send(Err(Error::internal("damaged"))).unwrap();
        let part = next_part(&receiver, &mut gathered, u64::MAX, 0);
        assert!(part.parcels.is_empty() && !part.is_unpacking && part.reading.is_err());
        // Nobody knows whether more comes in time.
        let part = next_part(&receiver, &mut gathered, u64::MAX, 0);
        assert!(part.parcels.is_empty() && !part.is_unpacking && !part.is_over);
        drop(sender);
        let part = next_part(&receiver, &mut gathered, u64::MAX, 0);
        assert!(part.parcels.is_empty() && part.is_over && part.reading.is_ok());
    }

    /// Of one mapped file a whole batch; of chunks in memory, and of mapped files, as many as that is to be.
    #[test]
    fn so_much_waits_for_the_workers() {
        let chunks_of = |text: &[u8], map: bool, files: usize| -> Vec<Chunk> {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(text).unwrap();
            let plan = InputPlan {
                paths: vec![file.path().to_path_buf(); files],
                chunk_bytes: 1,
                map,
                map_bytes_min: 0,
                ..InputPlan::default()
            };
            Input::open(&plan).unwrap().map(Result::unwrap).collect()
        };
        let many = b"http://a.test/\n".repeat(200);
        let own = |chunks: &[Chunk]| (0..40).map(|_| Chunk::joined(chunks).unwrap()).collect();
        let long = chunks_of(&vec![b'a'; CHUNK_BYTES / 2], true, 2);
        for (chunks, expected) in [
            (chunks_of(&many, true, 1), BATCH_CHUNKS),
            (chunks_of(&many, false, 1), BATCH_CHUNKS),
            (own(&long), AHEAD_BYTES / CHUNK_BYTES),
            (chunks_of(b"http://a.test/\n", true, 40), AHEAD_BYTES / CHUNK_BYTES),
        ] {
            let all = chunks.len();
            assert!(all > expected);
            let pool = Pool::start(1).unwrap();
            let (sender, receiver) = mpsc::sync_channel(BATCH_CHUNKS);
            let sent = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                let (pool, sent) = (&pool, &sent);
                scope.spawn(move || {
                    let mut delivery = Delivery {
                        flow: Flow::new(u64::MAX),
                        queue: Flow::new(AHEAD_BYTES as u64),
                        sender,
                        pool,
                        was_own: false,
                        is_unpacking: false,
                        seat: None,
                    };
                    for chunk in chunks {
                        assert!(delivery.deliver(Parcel::of_lines(chunk, Some(0.5)), 1));
                        sent.fetch_add(1, Ordering::SeqCst);
                    }
                });
                while sent.load(Ordering::SeqCst) < expected {
                    std::thread::yield_now();
                }
                // Nothing more is let in, whatever time it has.
                std::thread::sleep(Duration::from_millis(20));
                assert_eq!(sent.load(Ordering::SeqCst), expected);
                assert_eq!(receiver.iter().count(), all);
            });
        }
    }

    #[test]
    fn few_chunks_of_a_packed_file_wait_for_more() {
        for (is_mapped, is_packed, own_bytes, before, expected, why) in [
            (true, false, 0, 0, CUTTING_MAX, "it has only to be cut"),
            (false, true, 1 << 20, 0, Duration::ZERO, "the first batch"),
            (false, true, 1 << 20, 1, UNPACKING_MAX, "few"),
            (false, true, BATCH_OWN_BYTES_MIN, 1, Duration::ZERO, "enough"),
            (false, false, 1 << 20, 1, Duration::ZERO, "a pipe"),
        ] {
            assert_eq!(patience(is_mapped, is_packed, own_bytes, before), expected, "{why}");
        }
    }

    #[test]
    fn batches_end_when_they_are_full_or_nobody_knows_what_comes() {
        // Of a pipe, which may have no more for a while.
        let (sender, receiver) = mpsc::sync_channel(9);
        for parcel in parcels(None) {
            sender.send(Ok(delivered(parcel, 100))).unwrap();
        }
        let part = next_part(&receiver, &mut Gathered::default(), u64::MAX, 0);
        assert!(part.parcels.len() == 3 && !part.is_unpacking);
        // What was gathered counts.
        for parcel in parcels(Some(0.1)) {
            sender.send(Ok(delivered(parcel, 100))).unwrap();
        }
        let mut gathered = Gathered { chunks: 5, bytes: 500, ..Gathered::default() };
        let part = next_part(&receiver, &mut gathered, 700, 0);
        assert!(part.parcels.len() == 2 && !part.is_unpacking);
    }

    #[test]
    fn batches_grow_shorter_towards_the_end() {
        // Chunks as long as each other, and where the batches of so many end.
        for (all, expected) in [
            (1000, &[128, 256, 384, 512, 640, 768, 884, 942, 971, 987, 1000][..]),
            (40, &[20, 36, 40]),
            (10, &[10]),
        ] {
            let (mut ends, mut before) = (Vec::new(), 0);
            for read in 1..=all {
                let share = read as f64 / all as f64;
                if read - before >= chunks_max(read, Some(share)) || read == all {
                    ends.push(read);
                    before = read;
                }
            }
            assert_eq!(ends, expected, "{all}");
        }
        assert_eq!(chunks_max(1, None), BATCH_CHUNKS);
        assert_eq!(chunks_max(1, Some(0.0)), BATCH_CHUNKS);
    }
}
