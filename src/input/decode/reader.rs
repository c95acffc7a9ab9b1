//! The decoded bytes of a file, whatever its compression.

use std::io::{self, BufReader, Read};

use super::bzip2_xz::{self, Bzip2, Xz};
use super::gzip::Gzip;
use super::lz4::Lz4;
use super::zstd::{DecompressOptions, Decompressor, window_bytes_within};
use super::{Compression, explain};
use crate::error::{Error, Setting};
use crate::input::disk::Disk;

/// Memory in bytes that the xz decoder takes besides its dictionary, rounded up generously.
const XZ_BYTES_BESIDE: u64 = 1 << 20;

/// Bytes read from a compressed file at once. Reason: several windows of gzip, which have 32 KiB.
const COMPRESSED_BUFFER_BYTES: usize = 128 << 10;

/// What the decoders read: the first bytes, which were read before, then the rest.
type Compressed = BufReader<io::Chain<io::Cursor<Vec<u8>>, Disk>>;

/// A buffered reader for a decoder. `head` was read from `disk` before.
fn compressed(head: Vec<u8>, disk: Disk) -> Compressed {
    BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, io::Cursor::new(head).chain(disk))
}

/// Where decoded bytes come from.
pub(crate) enum Reader {
    Plain(Disk),
    Gzip(Box<Gzip<Compressed>>),
    Zstd(Box<Decompressor>),
    Bzip2(Box<Bzip2<Compressed>>),
    /// With the most memory that the decoder may take, in bytes.
    Xz(Box<Xz<Compressed>>, u64),
    Lz4(Box<Lz4<Compressed>>),
    #[cfg(test)]
    Test(Box<dyn Read + Send>),
}

impl Reader {
    /// A reader of the file that begins with `head` and goes on with `disk`; and its first decoded
    /// bytes, if it is not compressed. The window of a decoder takes at most `window_bytes_max`.
    pub(crate) fn new(
        compression: Compression,
        head: Vec<u8>,
        disk: Disk,
        window_bytes_max: u64,
        options: DecompressOptions,
    ) -> io::Result<(Reader, Vec<u8>)> {
        let reader = match compression {
            Compression::None => return Ok((Reader::Plain(disk), head)),
            Compression::Zstd => {
                Reader::Zstd(Box::new(Decompressor::new(head, disk, window_bytes_max, options)?))
            }
            Compression::Gzip => Reader::Gzip(Box::new(Gzip::new(compressed(head, disk)))),
            Compression::Bzip2 => Reader::Bzip2(Box::new(bzip2_xz::bzip2(compressed(head, disk)))),
            Compression::Xz => {
                let bytes_max = window_bytes_within(window_bytes_max) + XZ_BYTES_BESIDE;
                Reader::Xz(Box::new(bzip2_xz::xz(compressed(head, disk), bytes_max)?), bytes_max)
            }
            Compression::Lz4 => Reader::Lz4(Box::new(Lz4::new(compressed(head, disk)))),
        };
        Ok((reader, Vec::new()))
    }

    /// Appends `bytes` bytes to `buffer`, or somewhat more, or fewer at the end. What comes before
    /// an error is kept.
    pub(crate) fn fill(&mut self, buffer: &mut Vec<u8>, bytes: usize) -> io::Result<()> {
        match self {
            Reader::Plain(disk) => {
                let left = disk.left().and_then(|left| usize::try_from(left).ok());
                buffer.reserve(left.map_or(bytes, |left| left.min(bytes)));
                disk.fill(buffer, bytes)
            }
            Reader::Zstd(decompressor) => decompressor.fill(buffer, bytes),
            Reader::Gzip(decoder) => read_into(decoder, buffer, bytes),
            Reader::Bzip2(decoder) => read_into(decoder, buffer, bytes),
            Reader::Xz(decoder, _) => read_into(decoder, buffer, bytes),
            Reader::Lz4(decoder) => read_into(decoder, buffer, bytes),
            #[cfg(test)]
            Reader::Test(reader) => read_into(reader, buffer, bytes),
        }
    }

    /// The message for `error`, which [`Reader::fill`] has returned after `decoded` bytes in all.
    ///
    /// `shown` is the name of the file in messages.
    pub(crate) fn explain(&mut self, error: io::Error, shown: &str, decoded: u64) -> Error {
        match self {
            Reader::Zstd(decompressor) => decompressor.explain(error, shown, decoded),
            Reader::Gzip(_) => explain(Compression::Gzip, error, shown, decoded),
            Reader::Bzip2(_) => explain(Compression::Bzip2, error, shown, decoded),
            Reader::Xz(_, memory_bytes_max) if bzip2_xz::is_xz_memory_limit(&error) => {
                Error::limit(format!(
                    "{shown}: expected an xz file that takes at most {} KiB to unpack, found one \
                     that takes more, after {decoded} decoded bytes; give it more memory with {}, \
                     or decompress the file first",
                    *memory_bytes_max >> 10,
                    Setting::Memory,
                ))
            }
            Reader::Xz(..) => explain(Compression::Xz, error, shown, decoded),
            Reader::Lz4(_) => explain(Compression::Lz4, error, shown, decoded),
            _ => Error::reading(format_args!("{shown}: after {decoded} bytes"), error),
        }
    }
}

fn read_into(reader: &mut impl Read, buffer: &mut Vec<u8>, bytes: usize) -> io::Result<()> {
    buffer.reserve(bytes);
    reader.take(bytes as u64).read_to_end(buffer).map(drop)
}
