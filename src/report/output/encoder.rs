//! Compresses results as the suffix of the file's name says.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use super::frames::{FrameWriter, Zstd};
use super::gzip::Gzip;
use crate::bytes::printable;
use crate::crew::Crew;
use crate::input::Compression;
use crate::retry::RetryInterrupted;

type Writer = Box<dyn Write + Send>;

/// Strength of xz, from 0 to 9. Reason: its own default; 94 MiB of memory.
const XZ_LEVEL: u32 = 6;

/// A file or a stream, and how its bytes are compressed.
pub(super) enum Encoder {
    Plain(Writer),
    Terminal(Terminal),
    Zstd(FrameWriter<Writer, Zstd>),
    Gzip(FrameWriter<Writer, Gzip>),
    Bzip2(bzip2::write::BzEncoder<Writer>),
    Xz(liblzma::write::XzEncoder<Writer>),
    Lz4(Box<lz4_flex::frame::FrameEncoder<Writer>>),
}

impl Encoder {
    /// The suffixes that are known, for messages.
    pub(super) const SUFFIXES: &'static str = ".zst, .gz, .bz2, .xz or .lz4";

    /// Does the name of `path` ask for a compressed file?
    pub(super) fn compresses(path: &Path) -> bool {
        Compression::of_name(path) != Compression::None
    }

    /// Writes to `file` as it is.
    pub(super) fn plain(file: File) -> Encoder {
        if file.is_terminal() {
            Encoder::Terminal(Terminal { file, character: Vec::new() })
        } else {
            Encoder::Plain(Box::new(file))
        }
    }

    /// Writes to `writer`, compressed as the name of `path` says. `crew` may help.
    pub(super) fn of(path: &Path, writer: Writer, crew: Option<Crew>) -> Encoder {
        let writer: Writer = Box::new(RetryInterrupted(writer));
        match Compression::of_name(path) {
            Compression::None => Encoder::Plain(writer),
            Compression::Zstd => Encoder::Zstd(FrameWriter::new(writer, crew)),
            Compression::Gzip => Encoder::Gzip(FrameWriter::new(writer, crew)),
            Compression::Bzip2 => {
                Encoder::Bzip2(bzip2::write::BzEncoder::new(writer, bzip2::Compression::best()))
            }
            Compression::Xz => Encoder::Xz(liblzma::write::XzEncoder::new(writer, XZ_LEVEL)),
            Compression::Lz4 => {
                Encoder::Lz4(Box::new(lz4_flex::frame::FrameEncoder::with_frame_info(
                    lz4_flex::frame::FrameInfo::new().content_checksum(true),
                    writer,
                )))
            }
        }
    }

    /// Writes all of `bytes`.
    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Encoder::Plain(writer) => writer.write_all(bytes),
            Encoder::Terminal(terminal) => terminal.show(bytes),
            Encoder::Zstd(writer) => writer.write_all(bytes),
            Encoder::Gzip(writer) => writer.write_all(bytes),
            Encoder::Bzip2(writer) => writer.write_all(bytes),
            Encoder::Xz(writer) => writer.write_all(bytes),
            Encoder::Lz4(writer) => writer.write_all(bytes),
        }
    }

    /// Flushes what has been written, unless it is compressed: a decompressor waits for whole
    /// blocks anyway.
    pub(super) fn flush_if_plain(&mut self) -> io::Result<()> {
        match self {
            Encoder::Plain(writer) => writer.flush(),
            _ => Ok(()),
        }
    }

    /// Writes the end of the compressed data, and flushes.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut writer: Writer = match self {
            Encoder::Plain(writer) => writer,
            Encoder::Terminal(terminal) => return terminal.finish(),
            Encoder::Zstd(writer) => writer.finish()?,
            Encoder::Gzip(writer) => writer.finish()?,
            Encoder::Bzip2(writer) => writer.finish()?,
            Encoder::Xz(writer) => writer.finish()?,
            Encoder::Lz4(writer) => writer.finish()?,
        };
        writer.flush()
    }
}

/// A terminal, which must not be steered by what is shown on it.
pub(super) struct Terminal {
    file: File,
    /// The bytes of a character whose last ones have yet to come.
    character: Vec<u8>,
}

impl Terminal {
    /// Shows `bytes`, which may end amid a character.
    fn show(&mut self, bytes: &[u8]) -> io::Result<()> {
        let bytes = [&std::mem::take(&mut self.character)[..], bytes].concat();
        let (whole, rest) = bytes.split_at(bytes.len() - begun_character(&bytes));
        self.character = rest.to_vec();
        self.file.write_all(printable(&String::from_utf8_lossy(whole)).as_bytes())
    }

    /// Shows what is left.
    fn finish(mut self) -> io::Result<()> {
        self.file.write_all(printable(&String::from_utf8_lossy(&self.character)).as_bytes())
    }
}

/// How many bytes at the end of `bytes` are a character that more may complete.
fn begun_character(bytes: &[u8]) -> usize {
    let is_begun = |length: &usize| {
        let end = &bytes[bytes.len() - length..];
        std::str::from_utf8(end)
            .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=3.min(bytes.len())).find(is_begun).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_have_begun() {
        for (text, expected) in [
            (&b""[..], 0),
            (b"a", 0),
            ("a\u{65e5}".as_bytes(), 0),
            (b"a\xe6", 1),
            (b"a\xe6\x97", 2),
            (b"\xf0\x9f\x98", 3),
            (b"a\x97", 0),
            (b"\xe6a", 0),
        ] {
            assert_eq!(begun_character(text), expected, "{text:?}");
        }
    }
}
