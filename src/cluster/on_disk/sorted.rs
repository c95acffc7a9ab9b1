//! Fingerprints in a file, sorted within each partition.
//!
//! ```text
//! file  = piece*        the pieces in any order; where each begins and ends is kept in memory
//! piece = u128*         fingerprints of one partition, ascending; numbers are little-endian
//! ```

use std::fs::File;
use std::io;

use super::extents::{Extent, Extents, damaged};
use crate::cluster::partitions::Partitions;
use crate::fingerprint::Fingerprint;

/// Bytes of a fingerprint in a file.
pub(crate) const RECORD_BYTES: u64 = 16;

/// Bytes read at once.
const BUFFER_BYTES: usize = 64 << 10;

/// The file.
#[derive(Debug)]
pub struct Sorted {
    file: Extents,
    /// The pieces of each partition, which follow each other in order.
    pieces: Partitions<Vec<Extent>>,
}

impl Sorted {
    /// Nothing yet; `file` is empty.
    pub fn new(file: File) -> Self {
        Sorted { file: Extents::new(file), pieces: Partitions::default() }
    }

    /// Appends fingerprints to `partition`, ascending, all of them larger than those before.
    /// Several threads may do so at the same time, for different partitions.
    pub(crate) fn append(
        &self,
        partition: usize,
        fingerprints: impl ExactSizeIterator<Item = Fingerprint>,
    ) -> io::Result<()> {
        let bytes = fingerprints.len() as u64 * RECORD_BYTES;
        let mut writer = self.file.set_aside(bytes);
        for fingerprint in fingerprints {
            let buffer = writer.room_for(RECORD_BYTES as usize)?;
            buffer.extend_from_slice(&fingerprint.0.to_le_bytes());
        }
        let piece = writer.finish()?;
        self.pieces.lock(partition).push(piece);
        Ok(())
    }

    /// Returns how many fingerprints there are.
    pub(crate) fn len(&self) -> u64 {
        self.bytes() / RECORD_BYTES
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// Returns the fingerprints of `partition`, ascending.
    pub(crate) fn of(&self, partition: usize) -> Ascending<'_> {
        Ascending::new(self.file.file(), self.pieces.lock(partition).clone())
    }
}

/// Fingerprints read from pieces of a file, one after the other.
#[derive(Debug)]
pub(crate) struct Ascending<'a> {
    file: &'a File,
    /// The pieces that are left, the next one last.
    pieces: Vec<Extent>,
    buffer: Vec<u8>,
    /// How much of the buffer was used.
    used: usize,
    last: Option<Fingerprint>,
}

impl<'a> Ascending<'a> {
    /// Begins with the fingerprints in `pieces` of `file`.
    pub(crate) fn new(file: &'a File, mut pieces: Vec<Extent>) -> Self {
        pieces.reverse();
        Ascending { file, pieces, buffer: Vec::new(), used: 0, last: None }
    }

    /// Returns the next fingerprint.
    ///
    /// Failure: an error of reading, or one if the fingerprint is not larger than the one before,
    /// or if the file is too short.
    pub(crate) fn next(&mut self) -> io::Result<Option<Fingerprint>> {
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
        while self.pieces.pop_if(|piece| piece.is_over()).is_some() {}
        let Some(piece) = self.pieces.last_mut() else { return Ok(false) };
        let bytes = (piece.end - piece.at).min(BUFFER_BYTES as u64);
        self.buffer.resize(bytes as usize, 0);
        piece.peek(self.file, &mut self.buffer)?;
        piece.at += bytes;
        self.used = 0;
        Ok(true)
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
