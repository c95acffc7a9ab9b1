//! Gzip output: one member, whose pieces are compressed independently.
//!
//! ```text
//! file   = header piece* final crc length
//! header = 1f 8b 08 00 00 00 00 00 00 ff   no name, no time, no system
//! piece  = deflate blocks that refer to no earlier piece; an empty stored one at the end, so that
//!          the next piece starts at a byte
//! final  = 03 00                           an empty last block
//! ```
//!
//! Any program can read it; with several members, some would stop after the first. Source: RFC 1952
//! 2.2 and 2.3, RFC 1951 3.2; `pigz -i` makes such files, too.

use std::io::{self, Write};
use std::mem;

use flate2::{Compress, Compression, Crc, FlushCompress};

use super::frames::Format;

const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

const FINAL_BLOCK: [u8; 2] = [3, 0];

/// Room for the end of a piece, with some to spare. The buffer has this, the length of the piece,
/// and a 128th of it: what does not get shorter is stored, with 5 bytes for each block (RFC 1951
/// 3.2.4) of 16 KiB or more.
const FLUSH_BYTES: usize = 64;

/// A member while it is written.
#[derive(Debug, Default)]
pub(super) struct Gzip {
    is_begun: bool,
    crc: Crc,
}

/// A compressed piece, and the checksum of its content.
#[derive(Debug)]
pub(super) struct Piece {
    compressed: Vec<u8>,
    crc: Crc,
}

impl Format for Gzip {
    /// Reason: 32 times the window, so that little is lost at the start of each piece.
    const FRAME_BYTES: usize = 1 << 20;

    type Compressed = Piece;

    fn compress(piece: &[u8]) -> io::Result<Piece> {
        let mut crc = Crc::new();
        crc.update(piece);
        let mut deflate = Compress::new(Compression::default(), false);
        let mut compressed = Vec::with_capacity(piece.len() + piece.len() / 128 + FLUSH_BYTES);
        deflate.compress_vec(piece, &mut compressed, FlushCompress::Sync)?;
        // If there is room left, deflate has written everything.
        if compressed.len() == compressed.capacity() {
            return Err(io::Error::other("a piece has become longer than deflate makes it"));
        }
        Ok(Piece { compressed, crc })
    }

    fn write(
        &mut self,
        Piece { compressed, crc }: Piece,
        writer: &mut impl Write,
    ) -> io::Result<()> {
        if !mem::replace(&mut self.is_begun, true) {
            writer.write_all(&HEADER)?;
        }
        self.crc.combine(&crc);
        writer.write_all(&compressed)
    }

    fn end(&mut self, writer: &mut impl Write) -> io::Result<()> {
        writer.write_all(&FINAL_BLOCK)?;
        writer.write_all(&self.crc.sum().to_le_bytes())?;
        // The lowest 32 bits of the length (RFC 1952).
        writer.write_all(&self.crc.amount().to_le_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::crew::Crew;
    use crate::report::output::frames::FrameWriter;

    fn written(bytes: &[u8], piece_bytes: usize, crew: Option<Crew>) -> Vec<u8> {
        let mut writer = FrameWriter::<Vec<u8>, Gzip>::new(Vec::new(), crew);
        bytes.chunks(piece_bytes).try_for_each(|part| writer.write_all(part)).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn all_is_one_member() {
        let mut noise = 1u32;
        let noise = std::iter::repeat_with(|| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 24) as u8
        });
        let noise: Vec<u8> = noise.take(2 * Gzip::FRAME_BYTES).collect();
        let text = b"http://a.test/\n".repeat(3 * Gzip::FRAME_BYTES / 15);
        for bytes in [b"", &b"a line\n"[..], &text[..Gzip::FRAME_BYTES], &text, &noise] {
            let compressed = written(bytes, 100_000, None);
            let crew = Crew::new(3, |task| drop(std::thread::spawn(task)));
            assert!(compressed == written(bytes, 1 << 20, Some(crew)), "{} bytes", bytes.len());
            let mut reader = flate2::bufread::GzDecoder::new(&compressed[..]);
            let mut all = Vec::new();
            reader.read_to_end(&mut all).unwrap();
            assert!(all == bytes, "{} bytes", bytes.len());
            assert!(reader.into_inner().is_empty(), "one member");
        }
        // Short pieces end with one sync marker, too.
        for length in 1..400 {
            let compressed = written(&noise[..length], 400, None);
            let mut text = Vec::new();
            flate2::bufread::GzDecoder::new(&compressed[..]).read_to_end(&mut text).unwrap();
            assert!(text == noise[..length], "{length} bytes");
            let marks = compressed.windows(4).filter(|bytes| *bytes == [0, 0, 0xff, 0xff]).count();
            assert_eq!(marks, 1, "{length} bytes");
        }
    }

    #[test]
    fn damage_is_found() {
        let compressed = written(b"http://a.test/\n", 99, None);
        for at in [compressed.len() - 8, compressed.len() - 4] {
            let mut damaged = compressed.clone();
            damaged[at] ^= 1;
            let read = io::read_to_string(flate2::bufread::GzDecoder::new(&damaged[..]));
            assert!(read.is_err(), "{at}");
        }
    }
}
