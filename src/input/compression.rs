//! How a file is compressed, told from its first bytes.

use std::fmt;
use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use zstd::stream::read::Decoder as ZstdDecoder;

use crate::bytes::show;
use crate::error::{Error, Result};

/// How the bytes of a file are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// Zstandard frames (RFC 8878), any number of them, with skippable ones in between.
    Zstd,
    /// Gzip members (RFC 1952), any number of them.
    Gzip,
}

impl Compression {
    /// Bytes that [`Compression::sniff`] wants to see, if the file has as many.
    pub(super) const HEAD_BYTES: usize = 10;

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Zstd => "zstd",
            Compression::Gzip => "gzip",
        }
    }

    /// Tells the compression of a file by its first bytes. Names of files are not looked at.
    ///
    /// - Shape: `head` is the first [`Compression::HEAD_BYTES`] of the file, or the whole file.
    ///   Fewer than 4 bytes are never compressed.
    /// - Failure: an input error for a packed file that cannot be unpacked here.
    pub(super) fn sniff(head: &[u8]) -> Result<Self> {
        if head.len() < 4 {
            return Ok(Compression::None);
        }
        let (found, tool) = match head {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => return Ok(Compression::Zstd),
            // A skippable frame, RFC 8878 3.1.2: pzstd and the seekable format begin with one.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => return Ok(Compression::Zstd),
            [0x1f, 0x8b, ..] => return Ok(Compression::Gzip),
            // "BZh" could begin an innocent line, so the marker of the first block, or of the end
            // of an empty file, is asked for as well.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => {
                ("bzip2 (42 5a 68)", "bzip2 -d")
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => ("xz (fd 37 7a 58 5a 00)", "xz -d"),
            [0x04, 0x22, 0x4d, 0x18, ..] => ("lz4 (04 22 4d 18)", "lz4 -d"),
            [b'P', b'K', 3, 4, ..] => ("a zip archive (50 4b 03 04)", "unzip -p"),
            _ => return Ok(Compression::None),
        };
        Err(Error::input(format!(
            "expected plain text, zstd or gzip, found {found}; decompress it first, with `{tool}`"
        )))
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is read from a file on its way to plain bytes.
///
/// Reads honestly: an end of file inside a frame or member is an error, never a quiet end.
pub(super) enum Decoder<R: BufRead> {
    /// Frames, and the largest window they may have, as a power of two.
    Zstd(Box<ZstdDecoder<'static, R>>, u32),
    Gzip(Box<Gzip<R>>),
}

impl<R: BufRead> Decoder<R> {
    /// A decoder for zstd frames with windows of at most `2^window_log_max` bytes.
    pub(super) fn zstd(reader: R, window_log_max: u32) -> io::Result<Self> {
        let mut decoder = ZstdDecoder::with_buffer(reader)?;
        // The bounds that zstd itself accepts on 64-bit machines: ZSTD_WINDOWLOG_MIN and _MAX.
        let window_log_max = window_log_max.clamp(10, 31);
        decoder.window_log_max(window_log_max)?;
        Ok(Decoder::Zstd(Box::new(decoder), window_log_max))
    }

    /// A decoder for gzip members.
    pub(super) fn gzip(reader: R) -> Self {
        Decoder::Gzip(Box::new(Gzip(GzDecoder::new(Slot(Some(reader))))))
    }

    /// What `error`, returned by this decoder after `decoded` bytes, means to a person.
    ///
    /// `shown` is the name of the file in messages.
    pub(super) fn explain(&self, error: io::Error, shown: &str, decoded: u64) -> Error {
        let (name, unit) = match self {
            Decoder::Gzip(_) => ("gzip", "member"),
            Decoder::Zstd(..) => ("zstd", "frame"),
        };
        let text = error.to_string();
        if error.raw_os_error().is_some() {
            // Not the decoder's: the disk's.
            return Error::reading(format_args!("{shown}: after {decoded} decoded bytes"), error);
        }
        match (error.kind(), self) {
            (io::ErrorKind::UnexpectedEof, _) => Error::input(format!(
                "{shown}: expected the end of a {name} {unit}, found the end of the file after \
                 {decoded} decoded bytes; the file is cut short, get it again"
            )),
            // 2026-11-20: zstd 1.5.7 has a code for this, but the crate hands on its text alone.
            (_, Decoder::Zstd(_, log)) if text.contains("too much memory") => {
                Error::limit(format!(
                    "{shown}: expected a zstd window of at most {} KiB, found a frame after \
                     {decoded} decoded bytes that wants a larger one; give it more memory with -S, or \
                     decompress the file first",
                    (1u64 << log) >> 10,
                ))
            }
            _ => Error::input(format!(
                "{shown}: expected {name}, found damaged data or something else after {decoded} \
                 decoded bytes ({}); get the file again, or decompress it first",
                show(text.as_bytes())
            )),
        }
    }
}

impl<R: BufRead> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Decoder::Zstd(decoder, _) => decoder.read(buffer),
            Decoder::Gzip(decoder) => decoder.read(buffer),
        }
    }
}

/// Member after member of a gzip file.
///
/// `MultiGzDecoder` would do, but takes the zeros that tapes and block devices leave after the last
/// member for a damaged header (flate2 1.1.10). RFC 1952 is silent; gzip itself skips them.
pub(super) struct Gzip<R: BufRead>(GzDecoder<Slot<R>>);

impl<R: BufRead> Gzip<R> {
    /// Skips zeros after a member. Returns whether another member follows.
    fn next_member(&mut self) -> io::Result<bool> {
        let mut reader = self.0.get_mut().0.take().expect("only this function empties the slot");
        let more = skip_zeros(&mut reader);
        // Put back on failure, too: an interrupted read is tried again.
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
            // Zero bytes are the end of a member: the decoder has checked length and checksum.
            let read = self.0.read(buffer)?;
            if read > 0 || !self.next_member()? {
                return Ok(read);
            }
        }
    }
}

/// Drops zeros from the front of `reader`. Returns whether anything is left.
fn skip_zeros(reader: &mut impl BufRead) -> io::Result<bool> {
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

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(bytes, 1).unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// What came out before the end or the error.
    fn decode(packed: &[u8], buffer_bytes: usize) -> (Vec<u8>, Option<Error>) {
        let reader = BufReader::with_capacity(buffer_bytes, packed);
        let mut decoder = match Compression::sniff(&packed[..packed.len().min(10)]).unwrap() {
            Compression::Zstd => Decoder::zstd(reader, 31).unwrap(),
            Compression::Gzip => Decoder::gzip(reader),
            Compression::None => panic!("not packed: {packed:?}"),
        };
        let mut bytes = Vec::new();
        let error = decoder.read_to_end(&mut bytes).err();
        let decoded = bytes.len() as u64;
        (bytes, error.map(|error| decoder.explain(error, "a", decoded)))
    }

    /// Checks with buffers of many sizes, because seams between buffers are where decoders break.
    fn check(packed: &[u8], expected: &[u8], error: Option<&str>, why: &str) {
        for buffer_bytes in [1, 2, 3, 7, 64, 1 << 16] {
            let (bytes, found) = decode(packed, buffer_bytes);
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
    fn sniffs_magic_bytes_only() {
        for (given, expected, why) in [
            (&b""[..], Compression::None, "empty"),
            (b"\x1f\x8b\x08", Compression::None, "fewer than 4 bytes are plain"),
            (b"\x28\xb5\x2f\xfd", Compression::Zstd, "a frame"),
            (b"\x50\x2a\x4d\x18", Compression::Zstd, "a skippable frame"),
            (b"\x5f\x2a\x4d\x18rest", Compression::Zstd, "the last kind of skippable frame"),
            (b"\x60\x2a\x4d\x18", Compression::None, "no kind of skippable frame"),
            (b"\x1f\x8b\x08\x00", Compression::Gzip, "a member"),
            (b"BZh9.example.com/", Compression::None, "a line that begins like bzip2"),
            (b"BZh9", Compression::None, "nothing after the name"),
            (b"http://a.test/", Compression::None, "text"),
            (b"PK\x05\x06", Compression::None, "an archive without files"),
        ] {
            assert_eq!(Compression::sniff(given).unwrap(), expected, "{why}");
        }
        for (given, expected) in [
            (&b"BZh91AY&SY"[..], "bzip2"),
            (b"BZh1\x17\x72\x45\x38\x50\x90", "bzip2"),
            (b"\xfd7zXZ\0\0\x04", "xz"),
            (b"\x04\x22\x4d\x18\x64", "lz4"),
            (b"PK\x03\x04\x14", "zip"),
        ] {
            let error = Compression::sniff(given).unwrap_err();
            assert!(error.is_input());
            let error = error.to_string();
            assert!(error.contains(expected) && error.contains("decompress it first"), "{error}");
        }
    }

    #[test]
    fn zstd_frames() {
        let (one, two) = (zstd(b"one\n"), zstd(b"two\n"));
        let skippable = [&b"\x53\x2a\x4d\x18"[..], &3u32.to_le_bytes(), b"xyz"].concat();
        check(&one, b"one\n", None, "one frame");
        check(&[&one[..], &two].concat(), b"one\ntwo\n", None, "two frames");
        check(&[&skippable[..], &one].concat(), b"one\n", None, "skippable first");
        check(&[&one[..], &skippable, &two].concat(), b"one\ntwo\n", None, "skippable between");
        check(&[&one[..], &two, &skippable].concat(), b"one\ntwo\n", None, "skippable last");
        check(&skippable, b"", None, "skippable only");
        check(&zstd(b""), b"", None, "a frame of nothing");
        check(&[&one[..], b"junk"].concat(), b"one\n", Some("after 4 decoded bytes"), "junk");
        let cut = &skippable[..skippable.len() - 1];
        check(&[&one[..], cut].concat(), b"one\n", Some("cut short"), "skippable cut");
    }

    #[test]
    fn zstd_cut_anywhere() {
        let (one, two) = (zstd(b"one\n"), zstd(b"two\n"));
        for end in 1..two.len() {
            let packed = [&one[..], &two[..end]].concat();
            let (bytes, error) = decode(&packed, 16);
            assert!(bytes.starts_with(b"one\n"), "{end}: {bytes:?}");
            let error = error.unwrap_or_else(|| panic!("{end} bytes: no error"));
            assert!(error.to_string().contains("cut short"), "{end}: {error}");
        }
    }

    #[test]
    fn zstd_window_is_bounded() {
        // Not a single segment and no content size, so that the window is in the header.
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(20).unwrap();
        encoder.write_all(b"a line\n").unwrap();
        encoder.flush().unwrap();
        let packed = encoder.finish().unwrap();
        let mut bytes = Vec::new();
        let mut decoder = Decoder::zstd(&packed[..], 19).unwrap();
        let error = decoder.read_to_end(&mut bytes).unwrap_err();
        let error = decoder.explain(error, "a", 0);
        assert!(error.is_limit() && error.to_string().contains("at most 512 KiB"), "{error}");
        Decoder::zstd(&packed[..], 20).unwrap().read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"a line\n");
    }

    #[test]
    fn gzip_members() {
        let (one, two) = (gzip(b"one\n"), gzip(b"two\n"));
        check(&one, b"one\n", None, "one member");
        check(&[&one[..], &two].concat(), b"one\ntwo\n", None, "two members");
        check(&[&one[..], &gzip(b""), &two].concat(), b"one\ntwo\n", None, "an empty one between");
        check(&[&one[..], &[0; 700]].concat(), b"one\n", None, "zeros at the end");
        check(&[&one[..], &[0; 9], &two].concat(), b"one\ntwo\n", None, "zeros between");
        check(&[&one[..], b"junk"].concat(), b"one\n", Some("after 4 decoded bytes"), "junk");
        check(&[&one[..], b"\0j"].concat(), b"one\n", Some("after 4 decoded bytes"), "late junk");
        let mut damaged = one.clone();
        let checksum = damaged.len() - 8;
        damaged[checksum] ^= 1;
        check(&damaged, b"one\n", Some("damaged"), "a wrong checksum");
    }

    #[test]
    fn gzip_cut_anywhere() {
        let (one, two) = (gzip(b"one\n"), gzip(b"two\n"));
        for end in 1..two.len() {
            let packed = [&one[..], &two[..end]].concat();
            let (bytes, error) = decode(&packed, 16);
            assert!(bytes.starts_with(b"one\n"), "{end}: {bytes:?}");
            let error = error.unwrap_or_else(|| panic!("{end} bytes: no error"));
            assert!(error.to_string().contains("cut short"), "{end}: {error}");
        }
    }
}
