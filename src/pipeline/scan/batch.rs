//! Batches: which chunks are processed together, and how long the next chunk is awaited.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::delivery::{Delivered, Message};
use super::layouts::Parcel;
use crate::error::{Error, Result};
use crate::limits::BATCH_CHUNKS;
use crate::pipeline::budget::BATCH_OWN_BYTES;
use crate::pipeline::threads::pool::{Pool, Stage};

/// Fewest chunks in a batch that is cut short because the input ends soon.
///
/// Reason: they take a hundredth of a second to write, and many threads get some chunks each.
const BATCH_CHUNKS_LAST: usize = 16;

/// Bytes of lines outside mapped files that are awaited before the workers are woken, where the
/// lines come from files.
///
/// Reason: waking the workers takes as long as processing some lines. With one mebibyte instead of
/// four, runs took as long (benches/record/performance-log.md, packed lists).
const BATCH_OWN_BYTES_MIN: usize = 4 << 20;

/// How long the next chunk of a mapped file is awaited. Reason: it is there within some
/// microseconds, unless the disk has yet to read it, or the file ends and a slow pipe follows.
const CUTTING_MAX: Duration = Duration::from_millis(2);

/// How long the next chunk is awaited while there are few, if all input is files, some of them
/// compressed. Reason: most formats take some milliseconds to decompress a chunk; where it takes
/// longer, processing few chunks at once does not slow reading down.
const DECOMPRESSING_MAX: Duration = Duration::from_millis(20);

/// How long gathered chunks wait for more. Reason: a full batch does not save as much time as a
/// slower disk would cost.
const GATHERING_MAX: Duration = Duration::from_millis(200);

/// Consecutive chunks, all of them processed.
pub(crate) struct Batch<T> {
    /// The number of its first line, from 0 over all inputs.
    pub(crate) first_line: u64,
    pub(crate) chunks: Vec<BatchChunk<T>>,
}

/// A chunk, and what a worker made of it.
pub(crate) struct BatchChunk<T> {
    pub(crate) parcel: Parcel,
    /// The number of its first line, from 0 over all inputs.
    pub(crate) first_line: u64,
    pub(crate) lines: u64,
    pub(crate) made: T,
}

/// The batches of a pass.
pub(super) struct Batches<'a> {
    receiver: &'a Receiver<Result<Message>>,
    /// Most bytes of memory for one batch.
    bytes_max: u64,
    chunks: usize,
    lines: u64,
    /// How many lines of each file were processed, by the file's index. Files that have not been
    /// reached may be missing.
    lines_by_file: Vec<u64>,
    fraction_read: Option<f64>,
    is_over: bool,
}

impl<'a> Batches<'a> {
    /// Begins with the chunks that come by `receiver`, with `bytes_max` bytes of memory for each
    /// batch.
    pub(super) fn new(receiver: &'a Receiver<Result<Message>>, bytes_max: u64) -> Self {
        Batches {
            receiver,
            bytes_max,
            chunks: 0,
            lines: 0,
            lines_by_file: Vec::new(),
            fraction_read: None,
            is_over: false,
        }
    }

    /// Returns how many lines were processed.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns how many lines of each file were processed, by the file's index; the last ones may
    /// be missing.
    pub(super) fn into_lines_by_file(self) -> Vec<u64> {
        self.lines_by_file
    }

    /// Returns how much of the input was read, if that is known.
    pub(super) fn fraction_read(&self) -> Option<f64> {
        self.fraction_read
    }

    /// Tells whether the input has ended.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the next batch, processed by the threads of `pool`, and whether reading has failed.
    /// It may be empty when the input has ended, or when the reader waits for room.
    pub(super) fn next<W, T: Send + Sync>(
        &mut self,
        pool: &Pool,
        new_worker: &(impl Fn() -> W + Sync),
        work: &(impl Fn(&mut W, &Parcel) -> (u64, T) + Sync),
    ) -> Result<(Batch<T>, Result<()>)> {
        let mut batch = Batch { first_line: self.lines, chunks: Vec::new() };
        let mut so_far = BatchSoFar::default();
        loop {
            let Arrivals { parcels, goes_on, is_over, reading } =
                next_arrivals(self.receiver, &mut so_far, self.bytes_max, self.chunks);
            self.is_over = is_over;
            let fraction_read = parcels.last().and_then(|parcel| parcel.fraction_read);
            self.fraction_read = fraction_read.or(self.fraction_read);
            let made = process(pool, &parcels, new_worker, work)?;
            for (parcel, (lines, made)) in parcels.into_iter().zip(made) {
                let files = self.lines_by_file.len().max(parcel.file() + 1);
                self.lines_by_file.resize(files, 0);
                self.lines_by_file[parcel.file()] += lines;
                batch.chunks.push(BatchChunk { parcel, first_line: self.lines, lines, made });
                self.lines += lines;
            }
            if !goes_on {
                self.chunks += so_far.chunks;
                return Ok((batch, reading));
            }
        }
    }
}

/// Lets the workers process all chunks; none has a fixed share. Returns the results in the order of
/// the chunks.
fn process<W, T: Send + Sync>(
    pool: &Pool,
    batch: &[Parcel],
    new_worker: &(impl Fn() -> W + Sync),
    work: &(impl Fn(&mut W, &Parcel) -> T + Sync),
) -> Result<Vec<T>> {
    // The error of the first chunk that has changed.
    let changed: Mutex<Option<(usize, Error)>> = Mutex::default();
    let results =
        pool.map_with(Stage::Canonicalizing, batch.len(), new_worker, |worker, number| {
            let result = work(worker, &batch[number]);
            // A mapped file that was cut short meanwhile reads as zeros: then the result is
            // invalid.
            if let Err(error) = batch[number].verify() {
                let mut changed = changed.lock().expect(NO_PANIC);
                if changed.as_ref().is_none_or(|(first, _)| number < *first) {
                    *changed = Some((number, error));
                }
            }
            result
        });
    match changed.into_inner().expect(NO_PANIC) {
        Some((_, error)) => Err(error),
        None => Ok(results),
    }
}

const NO_PANIC: &str = "no thread panics while it holds the lock";

/// The chunks of a batch so far.
#[derive(Default)]
struct BatchSoFar {
    chunks: usize,
    /// Bytes of memory that the chunks take, with what is kept of them.
    bytes: u64,
    /// Bytes of lines outside mapped files.
    own_bytes: usize,
}

/// Chunks that have arrived for a batch. Workers walk them and compute fingerprints at once;
/// finding clusters waits until the batch is complete.
struct Arrivals {
    parcels: Vec<Parcel>,
    /// Have all chunks been taken, while the thread that reads is decompressing more, or reading
    /// them from the disk? Then the batch goes on.
    goes_on: bool,
    /// Has the input ended?
    is_over: bool,
    reading: Result<()>,
}

/// Returns the chunks that are there, at least one unless the input has ended or those gathered so
/// far have waited long enough; and whether reading has failed.
///
/// - Pipe: chunks are taken as they come; there is no waiting for a full batch.
/// - Mapped file: the next chunk is awaited, because it only has to be cut. A batch of one chunk
///   would say little about the memory that the rest of the input needs.
/// - Compressed file, or a mapped one that the disk has yet to read: hash chunks as they arrive,
///   but probe the set only with a full batch (probing costs more per chunk in short batches).
fn next_arrivals(
    receiver: &Receiver<Result<Message>>,
    gathered: &mut BatchSoFar,
    bytes_max: u64,
    before: usize,
) -> Arrivals {
    let mut arrivals =
        Arrivals { parcels: Vec::new(), goes_on: false, is_over: false, reading: Ok(()) };
    let mut own_bytes = 0;
    let mut wait = (gathered.chunks > 0).then_some(GATHERING_MAX);
    loop {
        let next = match wait {
            None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(most) => receiver.recv_timeout(most),
        };
        let Delivered { parcel: chunk, bytes, queued } = match next {
            Ok(Ok(Message::Chunk(delivered))) => delivered,
            // The next chunk waits for the room that the chunks gathered here take.
            Ok(Ok(Message::NoRoom { bytes_inside })) if bytes_inside <= gathered.bytes => {
                return arrivals;
            }
            Ok(Ok(Message::NoRoom { .. })) => continue,
            Ok(Err(error)) => return Arrivals { reading: Err(error), ..arrivals },
            Err(why) => {
                let is_awaited = arrivals.parcels.last().is_some_and(|chunk| {
                    let is_by_reader = chunk.decoded_on_reader_thread() || chunk.is_mapped();
                    is_by_reader && chunk.fraction_read.is_some()
                });
                arrivals.goes_on = why == RecvTimeoutError::Timeout && is_awaited;
                arrivals.is_over = why == RecvTimeoutError::Disconnected;
                return arrivals;
            }
        };
        drop(queued);
        let is_mapped = chunk.is_mapped();
        own_bytes += chunk.memory_bytes();
        gathered.own_bytes += chunk.memory_bytes();
        gathered.bytes += bytes;
        gathered.chunks += 1;
        let fraction_read = chunk.fraction_read;
        arrivals.parcels.push(chunk);
        let is_full = gathered.own_bytes >= BATCH_OWN_BYTES || gathered.bytes >= bytes_max;
        if is_full || gathered.chunks >= chunks_max(before + gathered.chunks, fraction_read) {
            return arrivals;
        }
        let is_compressed = fraction_read.is_some() && !is_mapped;
        wait = Some(patience(is_mapped, is_compressed, own_bytes, before));
    }
}

/// How long the next chunk is awaited after a mapped one, or after one of a compressed file, when
/// `own_bytes` bytes have arrived, and earlier batches had `before` chunks.
fn patience(is_mapped: bool, is_compressed: bool, own_bytes: usize, before: usize) -> Duration {
    // Not for the first batch: the workers have nothing else to do meanwhile.
    let is_awaited = is_compressed && before > 0 && own_bytes < BATCH_OWN_BYTES_MIN;
    match (is_mapped, is_awaited) {
        (true, _) => CUTTING_MAX,
        (_, true) => DECOMPRESSING_MAX,
        _ => Duration::ZERO,
    }
}

/// Most chunks of a batch, when `chunks` chunks were this fraction of the input. Towards the end,
/// batches have no more chunks than are left after them, since nothing else is done while the last
/// batch is written.
fn chunks_max(chunks: usize, fraction_read: Option<f64>) -> usize {
    let left =
        fraction_read.map_or(f64::INFINITY, |fraction| chunks as f64 * (1.0 / fraction - 1.0));
    (left as usize).clamp(BATCH_CHUNKS_LAST, BATCH_CHUNKS)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::mpsc;

    use super::*;
    use crate::input::{Input, InputPlan};
    use crate::pipeline::scan::flow::Flow;

    /// The chunks of a file that is read, not mapped.
    fn parcels(fraction_read: Option<f64>) -> Vec<Parcel> {
        parcels_of(false, fraction_read)
    }

    /// The chunks of a file, mapped if `map` says so.
    fn parcels_of(map: bool, fraction_read: Option<f64>) -> Vec<Parcel> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"http://a.test/\nhttp://b.test/\nhttp://c.test/\n").unwrap();
        let paths = vec![file.path().to_path_buf()];
        let plan =
            InputPlan { paths, chunk_bytes: 20, map, map_bytes_min: 0, ..InputPlan::default() };
        let mut input = Input::open(&plan).unwrap();
        let chunks = std::iter::from_fn(|| input.next().transpose().unwrap());
        chunks.map(|chunk| Parcel::of_lines(chunk, fraction_read)).collect()
    }

    fn delivered(parcel: Parcel, bytes: u64) -> Message {
        let queued = Flow::new(0).try_enter(0).unwrap();
        Message::Chunk(Delivered { parcel, bytes, queued })
    }

    #[test]
    fn chunks_that_are_awaited_are_gathered() {
        for map in [false, true] {
            chunks_are_gathered(map);
        }
    }

    fn chunks_are_gathered(map: bool) {
        let mut gathered = BatchSoFar::default();
        let (sender, receiver) = mpsc::sync_channel(9);
        for (number, parcel) in parcels_of(map, Some(0.1)).into_iter().enumerate() {
            assert_eq!(parcel.is_mapped(), map);
            sender.send(Ok(delivered(parcel, 100))).unwrap();
            let arrivals = next_arrivals(&receiver, &mut gathered, u64::MAX, 0);
            // The batch goes on: more is being decompressed, or read from the disk.
            assert!(arrivals.goes_on && arrivals.parcels.len() == 1);
            assert_eq!((gathered.chunks, gathered.bytes), (number + 1, 100 * (number as u64 + 1)));
        }
        assert!(gathered.chunks == 3 && (gathered.own_bytes > 0) != map);
        sender.send(Err(Error::internal("damaged"))).unwrap();
        let arrivals = next_arrivals(&receiver, &mut gathered, u64::MAX, 0);
        assert!(arrivals.parcels.is_empty() && !arrivals.goes_on && arrivals.reading.is_err());
        // Nobody knows whether more comes in time.
        let arrivals = next_arrivals(&receiver, &mut gathered, u64::MAX, 0);
        assert!(arrivals.parcels.is_empty() && !arrivals.goes_on && !arrivals.is_over);
        drop(sender);
        let arrivals = next_arrivals(&receiver, &mut gathered, u64::MAX, 0);
        assert!(arrivals.parcels.is_empty() && arrivals.is_over && arrivals.reading.is_ok());
    }

    #[test]
    fn a_batch_ends_when_the_next_chunk_waits_for_its_room() {
        let no_room = |bytes_inside| Ok(Message::NoRoom { bytes_inside });
        let mut gathered = BatchSoFar::default();
        let (sender, receiver) = mpsc::sync_channel(9);
        let mut parcels = parcels_of(true, Some(0.1)).into_iter();
        let mut send_chunk = || sender.send(Ok(delivered(parcels.next().unwrap(), 100))).unwrap();
        // Those of an earlier batch take all of it.
        sender.send(no_room(500)).unwrap();
        send_chunk();
        // They take some of it.
        sender.send(no_room(101)).unwrap();
        let arrivals = next_arrivals(&receiver, &mut gathered, u64::MAX, 0);
        assert!(arrivals.goes_on && arrivals.parcels.len() == 1);
        send_chunk();
        sender.send(no_room(200)).unwrap();
        send_chunk();
        let arrivals = next_arrivals(&receiver, &mut gathered, u64::MAX, 0);
        assert!(!arrivals.goes_on && !arrivals.is_over && arrivals.parcels.len() == 1);
        // Nor is any time lost if all was processed before the message comes.
        let mut gathered = BatchSoFar { chunks: 1, bytes: 100, ..BatchSoFar::default() };
        let arrivals = next_arrivals(&receiver, &mut gathered, u64::MAX, 0);
        assert!(arrivals.goes_on && arrivals.parcels.len() == 1);
        sender.send(no_room(200)).unwrap();
        let arrivals = next_arrivals(&receiver, &mut gathered, u64::MAX, 0);
        assert!(!arrivals.goes_on && !arrivals.is_over && arrivals.parcels.is_empty());
    }

    #[test]
    fn few_chunks_of_a_compressed_file_wait_for_more() {
        for (is_mapped, is_compressed, own_bytes, before, expected, why) in [
            (true, false, 0, 0, CUTTING_MAX, "it has only to be cut"),
            (false, true, 1 << 20, 0, Duration::ZERO, "the first batch"),
            (false, true, 1 << 20, 1, DECOMPRESSING_MAX, "few"),
            (false, true, BATCH_OWN_BYTES_MIN, 1, Duration::ZERO, "enough"),
            (false, false, 1 << 20, 1, Duration::ZERO, "a pipe"),
        ] {
            assert_eq!(patience(is_mapped, is_compressed, own_bytes, before), expected, "{why}");
        }
    }

    #[test]
    fn batches_end_when_they_are_full_or_nobody_knows_what_comes() {
        // Of a pipe, which may have no more for a while.
        let (sender, receiver) = mpsc::sync_channel(9);
        for parcel in parcels(None) {
            sender.send(Ok(delivered(parcel, 100))).unwrap();
        }
        let arrivals = next_arrivals(&receiver, &mut BatchSoFar::default(), u64::MAX, 0);
        assert!(arrivals.parcels.len() == 3 && !arrivals.goes_on);
        // What was gathered counts.
        for parcel in parcels(Some(0.1)) {
            sender.send(Ok(delivered(parcel, 100))).unwrap();
        }
        let mut gathered = BatchSoFar { chunks: 5, bytes: 500, ..BatchSoFar::default() };
        let arrivals = next_arrivals(&receiver, &mut gathered, 700, 0);
        assert!(arrivals.parcels.len() == 2 && !arrivals.goes_on);
    }

    #[test]
    fn batches_grow_shorter_towards_the_end() {
        // Chunks as long as each other, and where the batches of this many end.
        for (all, expected) in [
            (1000, &[128, 256, 384, 512, 640, 768, 884, 942, 971, 987, 1000][..]),
            (40, &[20, 36, 40]),
            (10, &[10]),
        ] {
            let (mut ends, mut before) = (Vec::new(), 0);
            for read in 1..=all {
                let fraction = read as f64 / all as f64;
                if read - before >= chunks_max(read, Some(fraction)) || read == all {
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
