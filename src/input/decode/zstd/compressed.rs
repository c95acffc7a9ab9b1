//! The compressed bytes of a file, read from the disk as they are needed.

use std::io::{self, Read as _};
use std::mem;

use crate::input::disk::Disk;

/// Most bytes read at once of a frame that the reader thread decodes. Reason: about two blocks,
/// which are still in a cache when they are decoded, and leave room there for what they refer to.
const HERE_READ_BYTES: usize = 128 << 10;

/// Bytes asked of a pipe at once. Reason: as much as a pipe holds by default.
const PIPE_READ_BYTES: usize = 64 << 10;

/// The compressed bytes of a file that were read and not yet decoded, and the disk with the rest.
pub(super) struct Compressed {
    disk: Disk,
    /// Bytes read from a file at once.
    read_bytes: usize,
    /// Not yet decoded from `used` on.
    bytes: Vec<u8>,
    used: usize,
    /// Where `bytes` begins in the file.
    start: u64,
    /// Nothing more will come from the disk.
    is_ended: bool,
    /// Why, unless it was the end of the file.
    error: Option<io::Error>,
}

impl Compressed {
    /// The bytes of a file that begins with `head` and goes on with `disk`.
    pub(super) fn new(head: Vec<u8>, disk: Disk, read_bytes: usize) -> Self {
        let (used, start, is_ended, error) = (0, 0, false, None);
        Compressed { disk, read_bytes, bytes: head, used, start, is_ended, error }
    }

    /// The bytes that were read and not yet decoded.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    /// Where [`rest`](Self::rest) begins in the file.
    pub(super) fn position(&self) -> u64 {
        self.start + self.used as u64
    }

    /// The first `bytes` bytes of the rest were decoded.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.used += bytes;
    }

    /// Is the rest all that will come?
    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Is the file a pipe or the like, whose bytes may come late?
    pub(super) fn is_stream(&self) -> bool {
        self.disk.is_stream()
    }

    /// Why the bytes ended, unless it was the end of the file; once.
    pub(super) fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Forgets the rest, and what is on the disk.
    pub(super) fn end(&mut self) {
        self.advance(self.bytes.len() - self.used);
        self.drop_used();
        self.is_ended = true;
    }

    /// Reads, a little at a time, until the rest has `bytes` bytes or the file ends.
    pub(super) fn read_until(&mut self, bytes: usize) {
        while self.bytes.len() - self.used < bytes && self.read_more(HERE_READ_BYTES) {}
    }

    /// Reads more bytes, at most `bytes_max`. `false` if there are none.
    pub(super) fn read_more(&mut self, bytes_max: usize) -> bool {
        if self.is_ended {
            return false;
        }
        self.drop_used();
        let before = self.bytes.len();
        let result = if self.disk.is_stream() {
            // What is there now may be all for a while.
            self.bytes.resize(before + PIPE_READ_BYTES.min(self.read_bytes), 0);
            let read = self.disk.read(&mut self.bytes[before..]);
            self.bytes.truncate(before + *read.as_ref().unwrap_or(&0));
            read.map(drop)
        } else {
            let bytes = self.read_bytes.min(bytes_max);
            self.bytes.reserve(bytes);
            self.disk.fill(&mut self.bytes, bytes)
        };
        self.error = result.err();
        self.is_ended = self.error.is_some() || self.bytes.len() == before;
        self.bytes.len() > before
    }

    /// Frees the memory of what was decoded.
    pub(super) fn drop_used(&mut self) {
        self.bytes.drain(..self.used);
        self.start += self.used as u64;
        self.used = 0;
    }

    /// Takes the first `bytes` bytes of the rest out of it, for another thread to decode.
    pub(super) fn take(&mut self, bytes: usize) -> Vec<u8> {
        self.drop_used();
        let rest = self.bytes.split_off(bytes);
        self.start += bytes as u64;
        mem::replace(&mut self.bytes, rest)
    }

    /// Puts `bytes`, which were [taken](Self::take), before the rest again.
    pub(super) fn put_back(&mut self, mut bytes: Vec<u8>) {
        self.drop_used();
        self.start -= bytes.len() as u64;
        bytes.append(&mut self.bytes);
        self.bytes = bytes;
    }
}
