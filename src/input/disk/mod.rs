//! Reads the bytes of a file from the disk or a pipe.

pub(super) mod file_state;
pub(super) mod files;
#[allow(unsafe_code)]
pub(super) mod mapped;
pub(super) mod read_ahead;
#[allow(unsafe_code)]
pub(super) mod sigbus;

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::stop::Stop;
use crate::bytes::without_bom;
use crate::limits::SAMPLE_SILENCES_MAX;
use crate::retry::retry_interrupted;
use mapped::Origin;
use read_ahead::ReadAhead;

/// Bytes at the beginning of a file from which its kind is detected. Reason: a tar archive has its
/// magic within the first 512, an XML file mostly its root within the first KiB.
pub(super) const HEAD_BYTES: usize = 1024;

/// Bytes from which other kinds are detected. Reason: the magic of bzip2 has this many.
const MAGIC_BYTES: usize = 10;

/// Bytes read from a stream at once. Reason: as much as a pipe holds by default.
const STREAM_READ_BYTES: usize = 64 << 10;

/// Bytes of a file that the system is asked to read ahead. Reason: some hundredths of a second of
/// decoding, and more than disks with high latency have in flight by themselves.
const AHEAD_BYTES: u64 = 4 << 20;

/// How often, while a stream is silent, [`Stop`] is checked.
const STOP_POLL: Duration = Duration::from_millis(50);

/// The start of a stream, from which its format is to be detected.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// Bytes to wait for.
    pub(super) bytes: usize,
    /// The longest silence before the stream is assumed to have no more for a while.
    pub(super) silence: Duration,
}

/// The bytes of a file, counted, up to the size it had.
#[derive(Debug)]
pub(super) struct Disk {
    origin: Arc<Origin>,
    /// Bytes left of the size at opening, or `None` if that was not known.
    left: Option<u64>,
    ahead: ReadAhead,
    progress: Arc<AtomicU64>,
    stop: Stop,
}

impl Disk {
    /// Reads `rest_bytes` from the current position, or to the end of the file. After `stop`,
    /// waiting for a stream ends with an error.
    pub(super) fn new(
        origin: &Arc<Origin>,
        rest_bytes: Option<u64>,
        progress: &Arc<AtomicU64>,
        stop: &Stop,
    ) -> Self {
        Disk {
            origin: Arc::clone(origin),
            left: rest_bytes,
            ahead: ReadAhead::by(AHEAD_BYTES),
            progress: Arc::clone(progress),
            stop: stop.clone(),
        }
    }

    /// The first bytes of the file: [`HEAD_BYTES`], or fewer at its end. Of a stream only as many
    /// as show its kind, `bytes_min` at least: more may come late.
    pub(super) fn head(&mut self, bytes_min: usize) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        if !self.is_stream() {
            self.fill(&mut head, HEAD_BYTES)?;
            return Ok(head);
        }
        let bytes_min = bytes_min.max(MAGIC_BYTES);
        while head.len() < HEAD_BYTES && (head.len() < bytes_min || is_telling(&head)) {
            let before = head.len();
            head.resize(HEAD_BYTES, 0);
            let read = self.read(&mut head[before..])?;
            head.truncate(before + read);
            if read == 0 {
                break;
            }
        }
        Ok(head)
    }

    /// Appends `bytes` bytes to `buffer`, or fewer at the end. What comes before an error is kept.
    pub(super) fn fill(&mut self, buffer: &mut Vec<u8>, bytes: usize) -> io::Result<()> {
        let before = buffer.len();
        if self.is_stream() {
            while buffer.len() < before + bytes && self.read_some(buffer, before + bytes)? > 0 {}
            return Ok(());
        }
        let bytes = self.left.map_or(bytes as u64, |left| left.min(bytes as u64));
        // A caller that reads only the beginning may not want the rest.
        if bytes > HEAD_BYTES as u64 {
            self.ask_ahead(bytes);
        }
        // Straight from the file: unlike `Read` for `Disk`, this fills memory that was not cleared.
        let result = (&self.origin.file).take(bytes).read_to_end(buffer);
        self.count(buffer.len() - before);
        result.map(drop)
    }

    /// Appends `bytes` bytes to `buffer`, or fewer at the end, but does not wait for more of a
    /// stream once a whole line has arrived: more may come late. If `buffer` does not hold the
    /// bytes of a `sample` yet, waits for them as long as that says. Returns whether the stream has
    /// ended.
    pub(super) fn fill_with_lines(
        &mut self,
        buffer: &mut Vec<u8>,
        bytes: usize,
        separator: u8,
        sample: Sample,
    ) -> io::Result<bool> {
        let mut patience = Patience::new(sample.silence);
        let start = buffer.len();
        let mut scanned = start;
        let mut has_line = memchr::memchr(separator, buffer).is_some();
        // Before the first read as well: what was read to detect the kind may be all for a while.
        while buffer.len() < start + bytes
            && (!has_line
                || is_ready(&self.origin.file, Duration::ZERO)
                || buffer.len() < sample.bytes && patience.waits_for(&self.origin.file))
        {
            if self.read_some(buffer, start + bytes)? == 0 {
                return Ok(true);
            }
            has_line |= memchr::memchr(separator, &buffer[scanned..]).is_some();
            scanned = buffer.len();
        }
        Ok(false)
    }

    /// Appends what has arrived of a stream to `buffer`, up to a length of `most`, and returns how
    /// many bytes that is: zero at its end.
    fn read_some(&mut self, buffer: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        let before = buffer.len();
        buffer.resize(most.min(before + STREAM_READ_BYTES), 0);
        let read = self.read(&mut buffer[before..]);
        buffer.truncate(before + *read.as_ref().unwrap_or(&0));
        read
    }

    /// Waits until reading a stream would not block.
    ///
    /// Failure: if [`Stop`] was asked for.
    fn await_stream(&self) -> io::Result<()> {
        while !is_ready(&self.origin.file, STOP_POLL) {
            if self.stop.is_asked() {
                return Err(io::Error::other("nobody reads it any more"));
            }
        }
        Ok(())
    }

    /// How many bytes are left, if that is known.
    pub(super) fn left(&self) -> Option<u64> {
        self.left
    }

    /// Is it a stream, whose end is not known and whose bytes may come late?
    pub(super) fn is_stream(&self) -> bool {
        self.left.is_none()
    }

    /// Counts `bytes` bytes as read, or all that are left.
    #[cfg(feature = "parquet")]
    pub(super) fn count_elsewhere(&mut self, bytes: u64) {
        let bytes = bytes.min(self.left.unwrap_or(0));
        self.left = self.left.map(|left| left - bytes);
        self.progress.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Asks the system to read what follows the next `bytes`, so that the disk works while those
    /// are decoded.
    fn ask_ahead(&mut self, bytes: u64) {
        let (Some(size), Some(left)) = (self.origin.size, self.left) else { return };
        self.ahead.ask(&self.origin, size - left + bytes);
    }

    fn count(&mut self, bytes: usize) {
        self.left = self.left.map(|left| left.saturating_sub(bytes as u64));
        self.progress.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Do these first bytes of a stream look like those of a container or an archive?
fn is_telling(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    let text = without_bom(text).trim_ascii_start();
    text.starts_with(b"<") || head.starts_with(b"filedesc:") || head.contains(&0)
}

/// Would reading from `file` not block, within `time`?
fn is_ready(file: &std::fs::File, time: Duration) -> bool {
    let mut polled = [PollFd::new(file, PollFlags::IN)];
    let time = Timespec::try_from(time).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
    match poll(&mut polled, Some(&time)) {
        Ok(ready) => ready > 0,
        Err(error) if error == Errno::INTR => false,
        // If that cannot be found out, reading is tried.
        Err(_) => true,
    }
}

/// How much longer to wait for a stream. Counts steps in which nothing has arrived, not a clock.
struct Patience {
    step: Duration,
    steps_left: u32,
}

/// Steps of the longest silence.
const SILENCE_STEPS: u32 = 10;

impl Patience {
    /// For silences of up to `silence`, and [`SAMPLE_SILENCES_MAX`] times that in all.
    fn new(silence: Duration) -> Patience {
        Patience { step: silence / SILENCE_STEPS, steps_left: SAMPLE_SILENCES_MAX * SILENCE_STEPS }
    }

    /// Waits until reading from `file` would not block. `false` if it is silent for too long; later
    /// calls then do not wait.
    fn waits_for(&mut self, file: &std::fs::File) -> bool {
        let steps = self.steps_left.min(SILENCE_STEPS);
        let silent = (0..steps).take_while(|_| !is_ready(file, self.step)).count() as u32;
        self.steps_left = if silent == steps { 0 } else { self.steps_left - silent };
        silent < steps
    }
}

impl Read for Disk {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.and_then(|left| usize::try_from(left).ok()).unwrap_or(usize::MAX);
        let bytes = buffer.len().min(left);
        self.ask_ahead(bytes as u64);
        if self.is_stream() {
            self.await_stream()?;
        }
        let read = retry_interrupted(|| (&self.origin.file).read(&mut buffer[..bytes]))?;
        self.count(read);
        Ok(read)
    }
}
