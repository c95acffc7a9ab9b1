//! What results are packed with on their way out, as the suffix of the file's name says.

use std::io::{self, Write};
use std::path::Path;

use super::frames::FrameWriter;
use crate::bytes::printable;
use crate::crew::Crew;
use crate::input::Compression;
use crate::retry::RetryInterrupted;

type Writer = Box<dyn Write + Send>;

/// Strength of xz, from 0 to 9. Reason: its own default; 94 MiB of memory.
const XZ_LEVEL: u32 = 6;

/// A file or a stream, and how its bytes are packed.
pub(super) enum Encoder {
    Plain(Writer),
    /// A terminal, which must not be steered by what is shown on it.
    Terminal(io::Stdout),
    Zstd(FrameWriter<Writer>),
    Gzip(Blocks<flate2::write::GzEncoder<Writer>>),
    Bzip2(bzip2::write::BzEncoder<Writer>),
    Xz(liblzma::write::XzEncoder<Writer>),
    Lz4(Box<lz4_flex::frame::FrameEncoder<Writer>>),
}

impl Encoder {
    /// The suffixes that are known, for messages.
    pub(super) const SUFFIXES: &'static str = ".zst, .gz, .bz2, .xz or .lz4";

    /// Does the name of `path` ask for a packed file?
    pub(super) fn packs(path: &Path) -> bool {
        Compression::of_name(path) != Compression::None
    }

    /// Packs for `writer` as the name of `path` says. `crew` may help.
    pub(super) fn of(path: &Path, writer: Writer, crew: Option<Crew>) -> Encoder {
        let writer: Writer = Box::new(RetryInterrupted(writer));
        match Compression::of_name(path) {
            Compression::None => Encoder::Plain(writer),
            Compression::Zstd => Encoder::Zstd(FrameWriter::new(writer, crew)),
            Compression::Gzip => {
                let level = flate2::Compression::default();
                Encoder::Gzip(Blocks::of(flate2::write::GzEncoder::new(writer, level)))
            }
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
            Encoder::Terminal(writer) => {
                let text = printable(&String::from_utf8_lossy(bytes));
                writer.write_all(text.as_bytes())
            }
            Encoder::Zstd(writer) => writer.write_all(bytes),
            Encoder::Gzip(writer) => writer.write_all(bytes),
            Encoder::Bzip2(writer) => writer.write_all(bytes),
            Encoder::Xz(writer) => writer.write_all(bytes),
            Encoder::Lz4(writer) => writer.write_all(bytes),
        }
    }

    /// Hands on what has been written, where it is not packed: the readers of what is wait for
    /// whole blocks anyway.
    pub(super) fn pass_on(&mut self) -> io::Result<()> {
        match self {
            Encoder::Plain(writer) => writer.flush(),
            Encoder::Terminal(writer) => writer.flush(),
            _ => Ok(()),
        }
    }

    /// Writes the end of what is packed, and hands all of it on.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut writer: Writer = match self {
            Encoder::Plain(writer) => writer,
            Encoder::Terminal(writer) => Box::new(writer),
            Encoder::Zstd(writer) => writer.finish()?,
            Encoder::Gzip(blocks) => blocks.finish()?.finish()?,
            Encoder::Bzip2(writer) => writer.finish()?,
            Encoder::Xz(writer) => writer.finish()?,
            Encoder::Lz4(writer) => writer.finish()?,
        };
        writer.flush()
    }
}

/// How much a packer gets at once whose result depends on that.
const BLOCK_BYTES: usize = 128 << 10;

/// Hands bytes on in blocks of one length, however they come: then the same bytes are
/// packed in one way.
pub(super) struct Blocks<W> {
    writer: W,
    block: Vec<u8>,
}

impl<W: Write> Blocks<W> {
    fn of(writer: W) -> Self {
        Blocks { writer, block: Vec::with_capacity(BLOCK_BYTES) }
    }

    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (more, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.block.len()));
            self.block.extend_from_slice(more);
            bytes = rest;
            if self.block.len() == BLOCK_BYTES {
                self.writer.write_all(&self.block)?;
                self.block.clear();
            }
        }
        Ok(())
    }

    /// Hands on the rest; returns the writer.
    fn finish(mut self) -> io::Result<W> {
        self.writer.write_all(&self.block)?;
        Ok(self.writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_depend_on_how_bytes_come() {
        #[derive(Default)]
        struct Lengths(Vec<usize>);
        impl Write for Lengths {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.push(bytes.len());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let bytes = vec![7; 3 * BLOCK_BYTES + 5];
        for length in [1000, BLOCK_BYTES, BLOCK_BYTES + 1, bytes.len()] {
            let mut blocks = Blocks::of(Lengths::default());
            bytes.chunks(length).try_for_each(|part| blocks.write_all(part)).unwrap();
            let lengths = blocks.finish().unwrap().0;
            assert_eq!(lengths, [BLOCK_BYTES, BLOCK_BYTES, BLOCK_BYTES, 5], "by {length}");
        }
    }
}
