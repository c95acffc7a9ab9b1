//! Decodes gzip files, member after member.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The members of a gzip file.
///
/// `MultiGzDecoder` would do, but it treats the zeros that tapes and block devices leave after the
/// last member as a damaged header (flate2 1.1.10). RFC 1952 does not mention them; gzip itself
/// skips them.
pub(crate) struct Gzip<R: BufRead>(GzDecoder<Slot<R>>);

impl<R: BufRead> Gzip<R> {
    pub(crate) fn new(reader: R) -> Self {
        Gzip(GzDecoder::new(Slot(Some(reader))))
    }

    /// Skips zeros after a member. Returns whether another member follows; anything else is an
    /// error, however short it is.
    fn next_member(&mut self) -> io::Result<bool> {
        let mut reader = self.0.get_mut().0.take().expect("only this function empties the slot");
        let more = skip_zeros(&mut reader).and_then(|more| {
            // The first byte of a member (RFC 1952, section 2.3.1).
            match more && reader.fill_buf()?.first() != Some(&0x1f) {
                true => Err(io::Error::new(io::ErrorKind::InvalidInput, "no gzip header")),
                false => Ok(more),
            }
        });
        // Also after an error: an interrupted read is retried.
        match more {
            Ok(true) => drop(self.0.reset(Slot(Some(reader)))),
            Ok(false) | Err(_) => self.0.get_mut().0 = Some(reader),
        }
        more
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            // A member has ended: the decoder has checked its length and checksum.
            let read = self.0.read(buffer)?;
            if read > 0 || !self.next_member()? {
                return Ok(read);
            }
        }
    }
}

/// Drops zeros from the front of `reader`. Returns whether anything is left.
pub(super) fn skip_zeros(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let buffer = reader.fill_buf()?;
        let zeros = buffer.iter().take_while(|&&byte| byte == 0).count();
        if zeros < buffer.len() {
            reader.consume(zeros);
            return Ok(true);
        }
        if zeros == 0 {
            return Ok(false);
        }
        reader.consume(zeros);
    }
}

/// A reader that can be taken out of a decoder, so that the decoder can be used again.
struct Slot<R>(Option<R>);

impl<R: BufRead> Read for Slot<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Some(reader) => reader.read(buffer),
            None => Ok(0),
        }
    }
}

impl<R: BufRead> BufRead for Slot<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &mut self.0 {
            Some(reader) => reader.fill_buf(),
            None => Ok(&[]),
        }
    }

    fn consume(&mut self, bytes: usize) {
        if let Some(reader) = &mut self.0 {
            reader.consume(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use super::*;
    use crate::bytes::show;
    use crate::error::Error;
    use crate::input::decode::{Compression, explain};

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// What came out before the end or the error.
    fn decode(compressed: &[u8], buffer_bytes: usize) -> (Vec<u8>, Option<Error>) {
        let mut bytes = Vec::new();
        let mut decoder = Gzip::new(BufReader::with_capacity(buffer_bytes, compressed));
        let error = decoder.read_to_end(&mut bytes).err();
        let decoded = bytes.len() as u64;
        (bytes, error.map(|error| explain(Compression::Gzip, error, "a", decoded)))
    }

    /// Checks with buffers of many sizes, because seams between buffers are where decoders break.
    fn check(compressed: &[u8], expected: &[u8], error: Option<&str>, why: &str) {
        for buffer_bytes in [1, 2, 3, 7, 64, 1 << 16] {
            let (bytes, found) = decode(compressed, buffer_bytes);
            assert_eq!(show(&bytes).to_string(), show(expected).to_string(), "{why}");
            match (&found, error) {
                (None, None) => {}
                (Some(found), Some(part)) if found.to_string().contains(part) => {
                    assert!(found.is_input());
                }
                _ => panic!("{why}: expected {error:?}, found {found:?}"),
            }
        }
    }

    #[test]
    fn gzip_members() {
        let (one, two) = (gzip(b"one\n"), gzip(b"two\n"));
        check(&one, b"one\n", None, "one member");
        check(&[&one[..], &two].concat(), b"one\ntwo\n", None, "two members");
        check(&[&one[..], &gzip(b""), &two].concat(), b"one\ntwo\n", None, "an empty one between");
        check(&[&one[..], &[0; 700]].concat(), b"one\n", None, "zeros at the end");
        check(&[&one[..], &[0; 9], &two].concat(), b"one\ntwo\n", None, "zeros between");
        let something_else = Some("damaged data or something else after 4 decoded bytes");
        check(&[&one[..], b"junk"].concat(), b"one\n", something_else, "junk");
        check(&[&one[..], b"\n"].concat(), b"one\n", something_else, "a line break");
        check(&[&one[..], b"\0j"].concat(), b"one\n", something_else, "late junk");
        let mut damaged = one.clone();
        let checksum = damaged.len() - 8;
        damaged[checksum] ^= 1;
        check(&damaged, b"one\n", Some("damaged"), "a wrong checksum");
    }

    #[test]
    fn gzip_cut_anywhere() {
        let (one, two) = (gzip(b"one\n"), gzip(b"two\n"));
        for end in 1..two.len() {
            let compressed = [&one[..], &two[..end]].concat();
            let (bytes, error) = decode(&compressed, 16);
            assert!(bytes.starts_with(b"one\n"), "{end}: {bytes:?}");
            let error = error.unwrap_or_else(|| panic!("{end} bytes: no error"));
            assert!(error.to_string().contains("cut short"), "{end}: {error}");
        }
    }
}
