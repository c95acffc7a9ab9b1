//! Fingerprints in a file, sorted within each partition.
//!
//! ```text
//! file  = piece*        the pieces in any order; where each begins and ends is kept in memory
//! piece = u128*         fingerprints of one partition, ascending; numbers are little-endian
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::scatter::PARTITIONS;
use super::spill::{damaged, read_up_to};
use crate::fingerprint::Fingerprint;

/// Bytes of a fingerprint in a file.
pub(super) const RECORD_BYTES: u64 = 16;

/// Bytes written and read at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Where a piece begins, and where it ends.
pub(super) type Piece = (u64, u64);

/// The file.
#[derive(Debug)]
pub struct Sorted {
    file: File,
    /// Where the next piece begins.
    end: AtomicU64,
    /// The pieces of each partition, which follow each other in order.
    pieces: Box<[Mutex<Vec<Piece>>]>,
}

impl Sorted {
    /// Nothing yet; `file` is empty.
    pub fn new(file: File) -> Self {
        let pieces = (0..PARTITIONS).map(|_| Mutex::default()).collect();
        Sorted { file, end: AtomicU64::new(0), pieces }
    }

    /// Puts fingerprints behind those that `partition` has, all of them larger and ascending.
    /// Threads may do so at once, with a partition each.
    pub(super) fn append(
        &self,
        partition: usize,
        fingerprints: impl ExactSizeIterator<Item = Fingerprint>,
    ) -> io::Result<()> {
        let bytes = fingerprints.len() as u64 * RECORD_BYTES;
        let start = self.end.fetch_add(bytes, Ordering::Relaxed);
        let mut at = start;
        let mut buffer = Vec::with_capacity(BUFFER_BYTES.min(bytes as usize));
        for fingerprint in fingerprints {
            if buffer.len() == BUFFER_BYTES {
                self.file.write_all_at(&buffer, at)?;
                at += buffer.len() as u64;
                buffer.clear();
            }
            buffer.extend_from_slice(&fingerprint.0.to_le_bytes());
        }
        self.file.write_all_at(&buffer, at)?;
        self.pieces_of(partition).push((start, start + bytes));
        Ok(())
    }

    /// How many fingerprints.
    pub(super) fn len(&self) -> u64 {
        self.end.load(Ordering::Relaxed) / RECORD_BYTES
    }

    /// Those of `partition`, ascending.
    pub(super) fn of(&self, partition: usize) -> Ascending<'_> {
        Ascending::new(&self.file, self.pieces_of(partition).clone())
    }

    fn pieces_of(&self, partition: usize) -> std::sync::MutexGuard<'_, Vec<Piece>> {
        self.pieces[partition].lock().expect("no thread panics while it holds a partition")
    }
}

/// Fingerprints read from pieces of a file, one after the other.
#[derive(Debug)]
pub(super) struct Ascending<'a> {
    file: &'a File,
    /// From where to where, the next one last.
    pieces: Vec<Piece>,
    buffer: Vec<u8>,
    /// How much of the buffer was used.
    used: usize,
    last: Option<Fingerprint>,
}

impl<'a> Ascending<'a> {
    /// Those in `pieces` of `file`, which begin and end there.
    pub(super) fn new(file: &'a File, mut pieces: Vec<Piece>) -> Self {
        pieces.reverse();
        Ascending { file, pieces, buffer: Vec::new(), used: 0, last: None }
    }

    /// The next one.
    ///
    /// Failure: besides those of reading, an error if it is not larger than the one before, or if
    /// the file is too short.
    pub(super) fn next(&mut self) -> io::Result<Option<Fingerprint>> {
        if self.used == self.buffer.len() && !self.fill()? {
            return Ok(None);
        }
        let bytes = self.buffer[self.used..].first_chunk().expect("whole records were read");
        let fingerprint = Fingerprint(u128::from_le_bytes(*bytes));
        self.used += RECORD_BYTES as usize;
        if self.last >= Some(fingerprint) {
            return Err(damaged());
        }
        self.last = Some(fingerprint);
        Ok(Some(fingerprint))
    }

    fn fill(&mut self) -> io::Result<bool> {
        while let Some((at, end)) = self.pieces.pop() {
            if at == end {
                continue;
            }
            let bytes = (end - at).min(BUFFER_BYTES as u64);
            self.pieces.push((at + bytes, end));
            self.buffer.resize(bytes as usize, 0);
            self.used = 0;
            return match read_up_to(self.file, &mut self.buffer, at)? {
                read if read as u64 == bytes => Ok(true),
                _ => Err(damaged()),
            };
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let sorted = Sorted::new(tempfile::tempfile().unwrap());
        let pieces: [&[u128]; 4] = [&[1, 2, 3], &[], &[10], &[u128::MAX]];
        let long: Vec<Fingerprint> = (20_000..50_000).map(Fingerprint).collect();
        sorted.append(9, long.iter().copied()).unwrap();
        for piece in pieces {
            sorted.append(7, piece.iter().copied().map(Fingerprint)).unwrap();
        }
        let read = |partition| {
            let (mut found, mut ascending) = (Vec::new(), sorted.of(partition));
            while let Some(fingerprint) = ascending.next().unwrap() {
                found.push(fingerprint);
            }
            found
        };
        assert_eq!(read(7), pieces.concat().into_iter().map(Fingerprint).collect::<Vec<_>>());
        assert!(read(9) == long);
        assert_eq!(read(8), []);
        assert_eq!(sorted.len(), 30_005);
        sorted.append(8, [5, 5].map(Fingerprint).into_iter()).unwrap();
        let mut unsorted = sorted.of(8);
        assert!(unsorted.next().is_ok() && unsorted.next().is_err());
    }
}
