//! How much memory a job takes, and how it is divided.

use std::path::PathBuf;

use super::Job;
use crate::error::{Error, Result, Setting};
use crate::limits::{CHUNK_BYTES, MEMORY_BYTES_MIN, MEMORY_BYTES_PER_THREAD, ZSTD_WINDOW_PARTS};

/// Most bytes of lines in a batch that are in the process's own memory and not in a mapped file.
///
/// Reason: several batches are in flight, each in memory that the system has to clear first; with
/// shorter ones looking up records takes longer (benches/record/performance-log.md, packed lists).
pub(super) const BATCH_OWN_BYTES: usize = 24 << 20;

/// Bytes of chunks in the process's own memory that may wait until the workers take them.
///
/// Reason: as many as a batch of a compressed file has if memory is ample, so that decompressing
/// goes on while a batch is looked up; more would take memory that the system has to clear. The
/// chunks of a mapped file take none, and a whole batch of them may wait; only the first one of
/// each file counts, like a chunk in memory.
pub(super) const AHEAD_BYTES: usize = BATCH_OWN_BYTES;

/// The most memory that a job takes, and where it continues when that is used up.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Bytes of anonymous memory. Mapped files are not counted: the system takes those pages back
    /// when it needs them. Below what [`Job::check_memory`] asks for a job works, slowly, and takes
    /// more. What an allocator keeps for itself is not counted either: that of glibc, with its
    /// arena for each thread, took 11 MiB beside 64 on 16 threads, and 215 with long lines; the
    /// program allows it one arena (`mallopt`).
    pub bytes: u64,
    /// Folder for temporary files, which have no name. They take
    ///
    /// - some 30 bytes for each line that cannot be decided in memory, and the length of the line
    ///   unless it is in a mapped file;
    /// - some 64 to 112 bytes and its length for each line that is listed with its cluster;
    /// - 25 bytes for each record of a report whose forms do not fit in memory, 24 for each of its
    ///   other forms, and the names of hosts that do not fit.
    pub temp_dir: PathBuf,
}

impl Default for Memory {
    /// A gibibyte, and the system's folder for temporary files.
    fn default() -> Self {
        Memory { bytes: 1 << 30, temp_dir: std::env::temp_dir() }
    }
}

/// What became of a job's memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryUse {
    /// The bytes that the job was given.
    pub budget_bytes: u64,
    /// The bytes that its clusters took in memory at the end of the input, or when memory was used
    /// up.
    pub table_bytes: u64,
    /// The bytes written to temporary files because memory was used up.
    pub spilled_bytes: u64,
    /// The lines that were read before memory was used up.
    pub spilled_after_lines: Option<u64>,
}

/// The parts of a job's memory. Results do not depend on them.
///
/// ```text
/// while reading   | clusters 9/20 | chunks 1/4 | spill 1/12 | recent 1/16 | left to malloc: 3/20
/// when all read   | clusters 9/20 | records being sorted out 2/5, then a window of 1/16 |
/// when written    | census 9/20, of representatives only | windows 1/8 | listings, spellings 1/4 |
/// of a report     | forms and names 9/20, when all is read too | chunks 1/4 | spill 1/12 |
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    bytes: u64,
    workers: u64,
}

impl Budget {
    /// Bytes of the clusters in memory.
    pub(super) fn table_bytes(self) -> u64 {
        self.bytes / 20 * 9
    }

    /// Bytes of all chunks between the reader and the writer, with what is known of their records.
    pub(super) fn flow_bytes(self) -> u64 {
        self.bytes / 4
    }

    /// Bytes of the buffers of spilled records.
    pub(super) fn spill_buffer_bytes(self) -> usize {
        // Larger writes gain nothing.
        self.part(12).min(64 << 20)
    }

    /// Bytes of the latest candidates.
    pub(super) fn recent_bytes(self) -> usize {
        self.part(16).min(64 << 20)
    }

    /// Records of `record_bytes` each that every worker may hold while it sorts.
    pub(super) fn sort_capacity(self, record_bytes: usize) -> usize {
        let each = self.bytes / 5 * 2 / self.workers;
        usize::try_from(each).unwrap_or(usize::MAX) / record_bytes
    }

    /// Records of `record_bytes` each that may be held while runs are merged.
    pub(super) fn merge_capacity(self, record_bytes: usize) -> usize {
        self.window_bytes() / record_bytes
    }

    /// Bytes of the window on runs that are merged.
    pub(super) fn window_bytes(self) -> usize {
        // Larger windows gain nothing.
        self.part(16).min(16 << 20)
    }

    /// Bytes of what is known of the sites that are mined together.
    pub(super) fn sites_bytes(self) -> u64 {
        self.bytes / 10 * 7
    }

    /// Bytes of listings in flight, and of spellings that have to be in memory at the same time.
    pub(super) fn listing_bytes(self) -> u64 {
        self.bytes / 4
    }

    /// About how many bytes of lines a chunk holds.
    pub(super) fn chunk_bytes(self) -> usize {
        // Three batches at a time, of four chunks for each worker.
        let part = self.flow_bytes() / (12 * self.workers);
        usize::try_from(part).unwrap_or(CHUNK_BYTES).clamp(16 << 10, CHUNK_BYTES)
    }

    /// Bytes of the largest zstd window, which comes on top of the memory.
    pub(super) fn zstd_window_bytes_max(self) -> u64 {
        self.bytes / ZSTD_WINDOW_PARTS
    }

    /// Bytes that the chunks of a batch may take in memory: one batch is read while one is
    /// processed and one is written.
    pub(super) fn batch_bytes(self) -> u64 {
        self.flow_bytes() / 3
    }

    /// Is there so little memory that chunks of short lines could exceed it?
    pub(super) fn is_tight(self) -> bool {
        // With lines of eight bytes, what is kept of a chunk in memory makes it nine times as
        // large; there are four batches beside the chunks that wait for the workers.
        self.flow_bytes() < 9 * (AHEAD_BYTES + 4 * BATCH_OWN_BYTES) as u64
    }

    fn part(self, divisor: u64) -> usize {
        usize::try_from(self.bytes / divisor).unwrap_or(usize::MAX)
    }
}

/// `bytes` with their unit, as exactly as the user has given them.
fn in_words(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

impl Job<'_> {
    /// Checks that the job's memory is enough for its threads and its lines. With less memory a job
    /// works, but exceeds it.
    ///
    /// Failure: a configuration error that says how much is needed.
    pub fn check_memory(&self) -> Result<()> {
        let (bytes, workers) = (self.memory.bytes, self.workers() as u64);
        let least = MEMORY_BYTES_MIN + workers * MEMORY_BYTES_PER_THREAD;
        if bytes < least {
            return Err(Error::config(format!(
                "a memory of {} is too little: {} {} MiB; raise {}{}",
                in_words(bytes),
                if workers == 1 {
                    "one thread needs".into()
                } else {
                    format!("{workers} threads need")
                },
                least.div_ceil(1 << 20),
                Setting::Memory,
                match workers {
                    1 => String::new(),
                    _ => format!(" or lower {}", Setting::Threads),
                }
            )));
        }
        let line_bytes = self.input.line_bytes_max as u64;
        if line_bytes > bytes / 8 {
            return Err(Error::config(format!(
                "a memory of {} is too little for lines of {}: one may take an eighth of it; raise {} or lower \
                 {}",
                in_words(bytes),
                in_words(line_bytes),
                Setting::Memory,
                Setting::LineLimit
            )));
        }
        Ok(())
    }

    /// The part of this job's memory that clusters may take.
    pub fn table_bytes(&self) -> u64 {
        self.budget().table_bytes()
    }

    /// The parts of this job's memory.
    pub(super) fn budget(&self) -> Budget {
        Budget { bytes: self.memory.bytes, workers: self.workers() as u64 }
    }
}
