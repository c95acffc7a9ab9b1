//! A temporary file that several threads write to, each in an extent reserved for it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::retry::retry_interrupted;

/// Bytes written at once.
const BUFFER_BYTES: usize = 64 << 10;

/// The file.
#[derive(Debug)]
pub(crate) struct Extents {
    file: File,
    /// Where the next extent begins.
    end: AtomicU64,
}

/// What is left of an extent: its start and end in the file, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) at: u64,
    pub(crate) end: u64,
}

impl Extents {
    /// Begins with no extents; `file` is empty.
    pub(crate) fn new(file: File) -> Self {
        Extents { file, end: AtomicU64::new(0) }
    }

    /// Reserves an extent of this many bytes, to be written from its start.
    pub(crate) fn set_aside(&self, bytes: u64) -> ExtentWriter<'_> {
        let start = self.end.fetch_add(bytes, Ordering::Relaxed);
        let buffer = Vec::with_capacity(BUFFER_BYTES.min(bytes as usize));
        ExtentWriter { file: &self.file, start, at: start, buffer }
    }

    /// Bytes of all extents.
    pub(crate) fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// The file, to be read.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The file, after the last write.
    pub(crate) fn into_file(self) -> File {
        self.file
    }
}

/// Writes to an extent, a buffer at a time.
#[derive(Debug)]
pub(crate) struct ExtentWriter<'a> {
    file: &'a File,
    start: u64,
    /// Where the buffer goes.
    at: u64,
    buffer: Vec<u8>,
}

impl ExtentWriter<'_> {
    /// The buffer, to append to; it has room for `bytes` more, at most [`BUFFER_BYTES`].
    #[inline]
    pub(crate) fn room_for(&mut self, bytes: usize) -> io::Result<&mut Vec<u8>> {
        if self.buffer.len() + bytes > BUFFER_BYTES {
            self.flush()?;
        }
        Ok(&mut self.buffer)
    }

    /// Where in the file the next byte goes.
    #[inline]
    pub(crate) fn next_at(&self) -> u64 {
        self.at + self.buffer.len() as u64
    }

    /// Writes what is still in the buffer; returns the extent that was written.
    pub(crate) fn finish(mut self) -> io::Result<Extent> {
        self.flush()?;
        Ok(Extent { at: self.start, end: self.at })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.buffer, self.at)?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

impl Extent {
    /// Was all of it read?
    pub(crate) fn is_over(&self) -> bool {
        self.at >= self.end
    }

    /// Reads the front of the extent into `buffer`, up to its end, without consuming it.
    ///
    /// Failure: besides those of reading, an error if `file` is too short.
    pub(super) fn peek<'a>(&self, file: &File, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let bytes = self.end.saturating_sub(self.at).min(buffer.len() as u64) as usize;
        let front = &mut buffer[..bytes];
        if read_up_to(file, front, self.at)? < bytes { Err(damaged()) } else { Ok(front) }
    }
}

/// Fills `buffer` from position `at` on, or up to the end of the file; returns how many bytes.
pub(super) fn read_up_to(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        let rest = &mut buffer[filled..];
        match retry_interrupted(|| file.read_at(rest, at + filled as u64))? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// The error for a temporary file whose content is not what was written.
#[cold]
pub(crate) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not as it was written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_side_by_side_is_read_back() {
        let extents = Extents::new(tempfile::tempfile().unwrap());
        let lengths = [0, 1, 7, 4 * BUFFER_BYTES + 3];
        let mut writers = lengths.map(|bytes| extents.set_aside(bytes as u64));
        for (number, (writer, bytes)) in (0u8..).zip(writers.iter_mut().zip(lengths)) {
            let start = writer.next_at();
            for piece in vec![number; bytes].chunks(1000) {
                writer.room_for(piece.len()).unwrap().extend_from_slice(piece);
                assert!(writer.buffer.len() <= BUFFER_BYTES);
            }
            assert_eq!(writer.next_at(), start + bytes as u64);
        }
        let written = writers.map(|writer| writer.finish().unwrap());
        assert_eq!(extents.bytes(), lengths.iter().sum::<usize>() as u64);
        for (number, (mut extent, bytes)) in (0u8..).zip(written.into_iter().zip(lengths)) {
            let mut read = 0;
            while !extent.is_over() {
                let mut buffer = [9; 5000];
                let front = extent.peek(extents.file(), &mut buffer).unwrap();
                assert!(!front.is_empty() && front.iter().all(|byte| *byte == number));
                read += front.len();
                extent.at += front.len() as u64;
            }
            assert_eq!(read, bytes);
        }
        let file = extents.into_file();
        let past = Extent { at: file.metadata().unwrap().len() - 1, end: u64::MAX };
        let error = past.peek(&file, &mut [0; 2]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
