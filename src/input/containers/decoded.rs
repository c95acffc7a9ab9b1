//! The decoded bytes of a container, with as much lookahead as its parser asks for.

use std::io;

use crate::error::Error;
use crate::input::decode::reader::Reader;

/// Bytes read at once. Reason: several pages of a web archive, and little memory.
const READ_BYTES: usize = 256 << 10;

/// A reader, and the bytes that were read but not used.
pub(crate) struct Decoded {
    reader: Reader,
    buffer: Vec<u8>,
    used: usize,
    /// Position of the first unused byte in the decoded file.
    at: u64,
    ended: bool,
    /// Why it ended, unless it was the end of the file.
    error: Option<io::Error>,
}

impl Decoded {
    /// Goes on after `buffer`, which came from `reader`; `error` if reading ended with one.
    pub(crate) fn new(
        reader: Reader,
        buffer: Vec<u8>,
        ended: bool,
        error: Option<io::Error>,
    ) -> Self {
        Decoded { reader, buffer, used: 0, at: 0, ended, error }
    }

    /// Position of the next byte in the decoded file.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// The next `bytes` bytes or more, or all that are left. Does not consume them.
    pub(super) fn ahead(&mut self, bytes: usize) -> &[u8] {
        while self.buffer.len() - self.used < bytes && !self.ended {
            self.buffer.drain(..self.used);
            self.used = 0;
            let more = READ_BYTES.max(bytes);
            let goal = self.buffer.len() + more;
            self.error = self.reader.fill(&mut self.buffer, more).err();
            self.ended = self.error.is_some() || self.buffer.len() < goal;
        }
        &self.buffer[self.used..]
    }

    /// Consumes `bytes` bytes, which [`Decoded::ahead`] has returned.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.used += bytes;
        self.at += bytes as u64;
    }

    /// Consumes `bytes` bytes. `false` if there are fewer.
    pub(super) fn skip(&mut self, bytes: u64) -> bool {
        let mut left = bytes;
        while left > 0 {
            let ahead = self.ahead(1).len();
            if ahead == 0 {
                return false;
            }
            let now = usize::try_from(left).unwrap_or(usize::MAX).min(ahead);
            self.consume(now);
            left -= now as u64;
        }
        true
    }

    /// Consumes all bytes before the first that is not one of `bytes`.
    pub(super) fn skip_all_of(&mut self, bytes: &[u8]) {
        loop {
            let ahead = self.ahead(1);
            let count = ahead.iter().take_while(|byte| bytes.contains(byte)).count();
            let is_done = count < ahead.len() || count == 0;
            self.consume(count);
            if is_done {
                return;
            }
        }
    }

    /// Consumes everything up to and including `mark`, and appends what is before it to `out`,
    /// which grows to at most `bytes_max + 1` bytes: the rest is dropped. `false` if no `mark`
    /// follows.
    pub(super) fn take_until(&mut self, mark: &[u8], out: &mut Vec<u8>, bytes_max: usize) -> bool {
        self.pass_until(mark, |piece| {
            let room = bytes_max.saturating_add(1).saturating_sub(out.len());
            out.extend_from_slice(&piece[..piece.len().min(room)]);
        })
    }

    /// Consumes the line with its end, and appends the line to `out`. Of a long line, only the
    /// first `start_bytes` and the last `end_bytes` are kept. `false` if no line end follows.
    pub(super) fn take_line_ends(
        &mut self,
        out: &mut Vec<u8>,
        start_bytes: usize,
        end_bytes: usize,
    ) -> bool {
        self.pass_until(b"\n", |piece| {
            out.extend_from_slice(piece);
            let end_start = out.len().saturating_sub(end_bytes);
            if end_start > start_bytes {
                out.drain(start_bytes..end_start);
            }
        })
    }

    /// Consumes everything up to and including `mark`, and passes what is before it to `each`,
    /// piece by piece. `false` if no `mark` follows.
    fn pass_until(&mut self, mark: &[u8], mut each: impl FnMut(&[u8])) -> bool {
        let wanted = mark.len();
        loop {
            let ahead = self.ahead(wanted);
            let found = match mark {
                [byte] => memchr::memchr(*byte, ahead),
                _ => memchr::memmem::find(ahead, mark),
            };
            // The last bytes may be the beginning of the mark.
            let keeps = mark.len() - 1;
            let before = found.unwrap_or(ahead.len().saturating_sub(keeps));
            each(&ahead[..before]);
            let is_short = ahead.len() < wanted;
            match found {
                Some(_) => {
                    self.consume(before + mark.len());
                    return true;
                }
                None if is_short => {
                    let rest = self.ahead(0).len();
                    self.consume(rest);
                    return false;
                }
                None => self.consume(before),
            }
        }
    }

    /// Counts `bytes` bytes of the file, or all that are left, as read: those read in another way.
    #[cfg(feature = "parquet")]
    pub(super) fn count(&mut self, bytes: u64) {
        if let Reader::Plain(disk) = &mut self.reader {
            disk.count_elsewhere(bytes);
        }
    }

    /// The error that ended reading, as a message; `shown` is the name of the file.
    pub(super) fn take_error(&mut self, shown: &str) -> Option<Error> {
        let error = self.error.take()?;
        let decoded = self.at + (self.buffer.len() - self.used) as u64;
        Some(self.reader.explain(error, shown, decoded))
    }

    /// Did reading end with an error?
    pub(super) fn is_damaged(&self) -> bool {
        self.error.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// Gives few bytes at a time.
    struct Slow(io::Cursor<Vec<u8>>);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let few = buffer.len().min(3);
            self.0.read(&mut buffer[..few])
        }
    }

    fn decoded(bytes: &[u8]) -> Decoded {
        let reader = Reader::Test(Box::new(Slow(io::Cursor::new(bytes.to_vec()))));
        Decoded::new(reader, Vec::new(), false, None)
    }

    #[test]
    fn what_is_ahead_stays() {
        let mut bytes = decoded(b"0123456789");
        assert_eq!(&bytes.ahead(4)[..4], b"0123");
        bytes.consume(3);
        assert_eq!(bytes.ahead(100), b"3456789");
        assert_eq!(bytes.at(), 3);
        assert!(bytes.skip(7) && !bytes.skip(1) && bytes.skip(0));
        assert_eq!((bytes.at(), bytes.ahead(1).len()), (10, 0));
    }

    #[test]
    fn marks_are_found_across_seams() {
        let filler = "-".repeat(READ_BYTES - 1);
        let text = format!("a]]b{filler}]]>c]]>]]>d]");
        let mut bytes = decoded(text.as_bytes());
        let mut out = Vec::new();
        assert!(bytes.take_until(b"]]>", &mut out, 1 << 20));
        assert_eq!(out, format!("a]]b{filler}").as_bytes());
        out.clear();
        assert!(bytes.take_until(b"]]>", &mut out, 10) && out == b"c");
        out.clear();
        assert!(bytes.take_until(b"]]>", &mut out, 10) && out.is_empty());
        assert!(!bytes.take_until(b"]]>", &mut out, 10));
        assert_eq!(bytes.at(), text.len() as u64);
        let mut out = Vec::new();
        assert!(decoded(b"0123456789\n").take_until(b"\n", &mut out, 4));
        assert_eq!(out, b"01234");
    }

    #[test]
    fn both_ends_of_a_line_are_taken() {
        let filler = "-".repeat(2 * READ_BYTES);
        for (line, expected) in [
            ("0123456789".to_string(), "01236789"),
            ("01234567".to_string(), "01234567"),
            (format!("0123{filler}6789"), "01236789"),
        ] {
            let (mut bytes, mut out) = (decoded(format!("{line}\nx").as_bytes()), Vec::new());
            assert!(bytes.take_line_ends(&mut out, 4, 4));
            assert_eq!((out, bytes.ahead(1)), (expected.as_bytes().to_vec(), &b"x"[..]));
        }
        assert!(!decoded(b"0123").take_line_ends(&mut Vec::new(), 4, 4));
    }
}
