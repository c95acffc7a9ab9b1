//! How a file is compressed, told from its first bytes.

use std::fmt;
use std::io;

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

/// What `error` of a decoder, returned after `decoded` bytes, means to a person.
///
/// `shown` is the name of the file in messages.
pub(super) fn explain(
    compression: Compression,
    error: io::Error,
    shown: &str,
    decoded: u64,
) -> Error {
    let name = compression.name();
    let unit = if compression == Compression::Gzip { "member" } else { "frame" };
    let text = error.to_string();
    if error.raw_os_error().is_some() {
        // Not the decoder's: the disk's.
        return Error::reading(format_args!("{shown}: after {decoded} decoded bytes"), error);
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::input(format!(
            "{shown}: expected the end of a {name} {unit}, found the end of the file after \
             {decoded} decoded bytes; the file is cut short, get it again"
        )),
        _ => Error::input(format!(
            "{shown}: expected {name}, found damaged data or something else after {decoded} \
             decoded bytes ({}); get the file again, or decompress it first",
            show(text.as_bytes())
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
