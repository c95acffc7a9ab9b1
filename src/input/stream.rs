//! Cuts bytes whose end is not known into chunks.

use std::io;

use super::chunk::Chunk;
use super::containers::decoded::Decoded;
use super::containers::rows::{Parser, Rows};
use super::cut::Sizes;
use super::decode::reader::Reader;
use super::decode::zstd::Decompressor;
use super::disk::{HEAD_BYTES, Sample};
use crate::error::{Error, Result};

/// Where the bytes of a stream come from.
enum Origin {
    /// The decoded bytes of a file.
    Bytes(Reader),
    /// The records of a container, as rows.
    Rows(Box<Rows>),
}

impl Origin {
    /// Appends `bytes` bytes to `buffer`, or somewhat more, or fewer at the end. What comes before
    /// an error is kept.
    fn fill(&mut self, buffer: &mut Vec<u8>, bytes: usize) -> io::Result<()> {
        match self {
            Origin::Bytes(reader) => reader.fill(buffer, bytes),
            Origin::Rows(rows) => rows.fill(buffer, bytes),
        }
    }

    /// The message for `error`, which [`Origin::fill`] has returned after `bytes` bytes in all.
    ///
    /// `shown` is the name of the file in messages.
    fn explain(&mut self, error: io::Error, shown: &str, bytes: u64) -> Error {
        match self {
            Origin::Bytes(reader) => reader.explain(error, shown, bytes),
            Origin::Rows(rows) => rows.explain(shown),
        }
    }

    /// The zstd decoder, if it is one: its bytes need not be copied.
    fn zstd(&mut self) -> Option<&mut Decompressor> {
        match self {
            Origin::Bytes(Reader::Zstd(decompressor)) => Some(decompressor),
            _ => None,
        }
    }
}

/// A source of bytes, and those that were read but not delivered yet.
pub(super) struct Stream {
    from: Origin,
    /// Begins at a line.
    buffer: Vec<u8>,
    /// Decoded bytes from the start to the beginning of `buffer`.
    at: u64,
    /// Has the source ended?
    ended: bool,
    /// Why it ended, unless it was the end of the file.
    error: Option<io::Error>,
}

impl Stream {
    /// Goes on after `head`, the first bytes of the decoded file.
    pub(super) fn new(reader: Reader, head: Vec<u8>) -> Self {
        Stream::of(Origin::Bytes(reader), head)
    }

    fn of(from: Origin, head: Vec<u8>) -> Self {
        Stream { from, buffer: head, at: 0, ended: false, error: None }
    }

    /// The next chunk. `None` comes at the end of the file, and also after a failure: see
    /// [`Stream::finish`].
    ///
    /// Memory: at most twice `chunk_bytes`, or the longest line that is delivered whole.
    pub(super) fn next_chunk(&mut self, file: usize, sizes: &Sizes) -> Option<Chunk> {
        if let Some(chunk) = self.slice_chunk(file, sizes) {
            return Some(chunk);
        }
        // One byte more than a chunk tells whether the file ends with it.
        self.fill_for_chunk(sizes);
        if self.buffer.is_empty() {
            return None;
        }
        if self.buffer.len() <= sizes.chunk_bytes {
            // Part of a stream ends with its last whole line, of which there is at least one.
            let last = memchr::memrchr(sizes.separator, &self.buffer).filter(|_| !self.ended);
            return Some(self.take(last.map_or(self.buffer.len(), |at| at + 1), file));
        }
        match memchr::memrchr(sizes.separator, &self.buffer[..sizes.chunk_bytes]) {
            Some(last) => Some(self.take(last + 1, file)),
            None => Some(self.long_line(file, sizes)),
        }
    }

    /// Whether the file ended as it should. To be called after the last chunk.
    ///
    /// `shown` is the name of the file in messages.
    pub(super) fn finish(&mut self, shown: &str) -> Result<()> {
        match self.error.take() {
            None => Ok(()),
            Some(error) => Err(self.from.explain(error, shown, self.at)),
        }
    }

    /// The records that `parser` finds in it, as rows that end with `separator`. To be called
    /// before the first chunk.
    pub(super) fn into_rows(self, parser: Box<dyn Parser>, separator: u8) -> Stream {
        let Stream { from: Origin::Bytes(reader), buffer, ended, error, .. } = self else {
            return self;
        };
        let rows = Rows::new(Decoded::new(reader, buffer, ended, error), parser, separator);
        Stream::of(Origin::Rows(Box::new(rows)), Vec::new())
    }

    /// The first [`HEAD_BYTES`] bytes, or fewer at the end. To be called before the first chunk.
    pub(super) fn head(&mut self) -> &[u8] {
        self.fill(HEAD_BYTES);
        &self.buffer
    }

    /// The next chunk without copying, if its bytes are at hand. It is shorter where a piece of a
    /// frame ends.
    fn slice_chunk(&mut self, file: usize, sizes: &Sizes) -> Option<Chunk> {
        let decompressor = self.from.zstd()?;
        if !self.buffer.is_empty() {
            return None;
        }
        loop {
            let at_hand = decompressor.at_hand();
            let is_full = at_hand.len() > sizes.chunk_bytes;
            // If nothing follows, the file may end here: then the last line counts, too.
            if !is_full && !decompressor.goes_on() {
                return None;
            }
            let window = &at_hand[..at_hand.len().min(sizes.chunk_bytes)];
            match memchr::memrchr(sizes.separator, window) {
                Some(last) => {
                    let chunk = Chunk::shared(decompressor.slice(last + 1), file, self.at);
                    self.at += chunk.bytes().len() as u64;
                    return Some(chunk);
                }
                None if !is_full && decompressor.join() => {}
                None => return None,
            }
        }
    }

    /// How many decoded bytes were delivered so far.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Makes `buffer` hold a chunk and one byte more, or all that is left. Of a plain stream it may
    /// hold less: what has arrived, if that has a whole line and, at the start, a sample.
    fn fill_for_chunk(&mut self, sizes: &Sizes) {
        let bytes = sizes.chunk_bytes.saturating_add(1);
        let missing = bytes.saturating_sub(self.buffer.len());
        match &mut self.from {
            Origin::Bytes(Reader::Plain(disk))
                if disk.is_stream() && missing > 0 && !self.ended =>
            {
                let sample = if self.at == 0 { sizes.sample } else { Sample::default() };
                let filled =
                    disk.fill_with_lines(&mut self.buffer, missing, sizes.separator, sample);
                self.ended = *filled.as_ref().unwrap_or(&true);
                self.error = filled.err();
            }
            _ => self.fill(bytes),
        }
    }

    /// Makes `buffer` hold `bytes` bytes or somewhat more, or all that is left.
    fn fill(&mut self, bytes: usize) {
        let missing = bytes.saturating_sub(self.buffer.len());
        if missing == 0 || self.ended {
            return;
        }
        let result = self.from.fill(&mut self.buffer, missing);
        self.error = result.err();
        self.ended = self.error.is_some() || self.buffer.len() < bytes;
    }

    /// Takes the first `bytes` bytes of the buffer as a chunk.
    fn take(&mut self, bytes: usize, file: usize) -> Chunk {
        let rest = &self.buffer[bytes..];
        // Bytes that the decompressor takes back stay where they were, and need no copy.
        let taken_back =
            self.from.zstd().is_some_and(|decompressor| decompressor.take_back(rest.len()));
        let rest = if taken_back { Vec::new() } else { rest.to_vec() };
        self.buffer.truncate(bytes);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        let chunk = Chunk::owned(bytes, file, self.at, None);
        self.at += chunk.bytes().len() as u64;
        chunk
    }

    /// The next line, which does not end within `chunk_bytes`.
    #[cold]
    fn long_line(&mut self, file: usize, sizes: &Sizes) -> Chunk {
        // Invariant: no separator in buffer[..scanned].
        let mut scanned = sizes.chunk_bytes;
        loop {
            if let Some(found) = memchr::memchr(sizes.separator, &self.buffer[scanned..]) {
                let line = scanned + found;
                return if line > sizes.inline_bytes_max {
                    self.overlong_line(file, sizes)
                } else {
                    self.take(line + 1, file)
                };
            }
            scanned = self.buffer.len();
            if scanned > sizes.inline_bytes_max {
                return self.overlong_line(file, sizes);
            }
            if self.ended {
                return self.take(scanned, file);
            }
            // Step by step, so that little is left to be moved when the line does end.
            let next = scanned.saturating_add(sizes.chunk_bytes);
            self.fill(next.min(sizes.inline_bytes_max.saturating_add(1)));
        }
    }

    /// The next line, which begins with the whole buffer and is too long to be delivered.
    ///
    /// Memory: one chunk beyond what is buffered already, however long the line is.
    fn overlong_line(&mut self, file: usize, sizes: &Sizes) -> Chunk {
        let at = self.at;
        let mut shown = Vec::with_capacity(Chunk::OVERLONG_BYTES_SHOWN);
        let mut length = 0;
        loop {
            let end = memchr::memchr(sizes.separator, &self.buffer);
            let piece = &self.buffer[..end.unwrap_or(self.buffer.len())];
            let missing = Chunk::OVERLONG_BYTES_SHOWN - shown.len();
            shown.extend_from_slice(&piece[..piece.len().min(missing)]);
            length += piece.len() as u64;
            if let Some(end) = end {
                self.buffer.drain(..=end);
                self.buffer.shrink_to(sizes.chunk_bytes);
                self.at = at + length + 1;
                break;
            }
            self.buffer.clear();
            self.buffer.shrink_to(sizes.chunk_bytes);
            self.at = at + length;
            if self.ended {
                break;
            }
            self.fill(sizes.chunk_bytes);
        }
        Chunk::owned(shown, file, at, Some(length))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::super::cut::cut;
    use super::*;

    /// Gives few bytes at a time, is interrupted now and then, and fails at the end if asked to.
    struct Reluctant {
        bytes: io::Cursor<Vec<u8>>,
        calls: usize,
        fails: bool,
    }

    impl Read for Reluctant {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.calls += 1;
            if self.calls.is_multiple_of(3) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let few = buffer.len().min(1 + self.calls % 5);
            match self.bytes.read(&mut buffer[..few])? {
                0 if self.fails => Err(io::Error::other("a bad sector")),
                read => Ok(read),
            }
        }
    }

    fn stream(bytes: &[u8], fails: bool) -> Stream {
        let bytes = io::Cursor::new(bytes.to_vec());
        Stream::new(Reader::Test(Box::new(Reluctant { bytes, calls: 0, fails })), Vec::new())
    }

    #[test]
    fn cuts_like_its_twin_for_memory() {
        let text = b"\na\nbc\n\n\ndefghijklmnop\nqr\nstuvwxyz\n0123456789abcdefghijklmnop\n!";
        for end in 0..=text.len() {
            for chunk_bytes in 1..20 {
                for line_bytes_max in [0, 5, 12, 13, 25, 26, 100] {
                    let sizes = Sizes::new(b'\n', chunk_bytes, line_bytes_max);
                    let mut stream = stream(&text[..end], false);
                    let mut rest = &text[..end];
                    while let Some(chunk) = stream.next_chunk(7, &sizes) {
                        let expected = cut(rest, &sizes);
                        let why = format!("{end} {chunk_bytes} {line_bytes_max} {expected:?}");
                        assert_eq!(chunk.bytes(), &rest[..expected.shown()], "{why}");
                        assert_eq!(chunk.overlong(), expected.overlong(), "{why}");
                        assert_eq!(chunk.at(), (end - rest.len()) as u64, "{why}");
                        rest = &rest[expected.consumed(rest.len())..];
                        assert_eq!(stream.at(), (end - rest.len()) as u64, "{why}");
                    }
                    assert!(rest.is_empty());
                    stream.finish("a").unwrap();
                }
            }
        }
    }

    #[test]
    fn what_comes_before_a_failure_is_delivered() {
        let sizes = Sizes::new(b'\n', 4, 6);
        for (given, expected, why) in [
            ("a\nb\nc", &["a\nb\n", "c"][..], "half a line"),
            ("a\nb\n", &["a\nb\n"], "whole lines"),
            ("abcdefghij", &["abcdefghij"], "half of an overlong line"),
            ("", &[], "nothing"),
        ] {
            let mut stream = stream(given.as_bytes(), true);
            for expected in expected {
                let chunk = stream.next_chunk(0, &sizes).unwrap();
                assert_eq!(chunk.bytes(), expected.as_bytes(), "{why}");
                assert_eq!(chunk.overlong(), (expected.len() > 6).then_some(10), "{why}");
            }
            assert!(stream.next_chunk(0, &sizes).is_none(), "{why}");
            let error = stream.finish("a").unwrap_err().to_string();
            let expected = format!("a: after {} bytes: cannot read: a bad sector", given.len());
            assert_eq!(error, expected, "{why}");
        }
    }

    #[test]
    fn memory_for_an_overlong_line_is_bounded() {
        let line = io::repeat(b'x').take(50 << 20);
        let reader = Reader::Test(Box::new(line.chain(&b"\nnext\n"[..])));
        let mut stream = Stream::new(reader, Vec::new());
        let sizes = Sizes::new(b'\n', 1 << 10, 1 << 12);
        let chunk = stream.next_chunk(0, &sizes).unwrap();
        assert_eq!(chunk.overlong(), Some(50 << 20));
        assert_eq!(chunk.bytes(), [b'x'; 1024]);
        assert!(stream.buffer.capacity() <= 1 << 14, "{}", stream.buffer.capacity());
        let chunk = stream.next_chunk(0, &sizes).unwrap();
        assert_eq!((chunk.bytes(), chunk.at()), (&b"next\n"[..], (50 << 20) + 1));
    }
}
