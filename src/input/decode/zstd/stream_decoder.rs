//! HOT: once per block. Frames decoded as a stream, block by block, by zstd's own streaming
//! decoder.

use std::io;

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::DParameter;

use super::compressed::Compressed;
use super::frames::Header;

/// Bytes to begin a frame with. Reason: magic and descriptor, which tell how long the header is.
const FRAME_START_BYTES: usize = 5;

/// Source: RFC 8878 3.1.1.2.
const BLOCK_HEADER_BYTES: usize = 3;

/// Most bytes given to the decoder at once. Reason: a block and its header; of a skippable frame it
/// would ask for the whole.
const WANTED_BYTES_MAX: usize = 256 << 10;

/// A decoder of frames, one after the other.
pub(super) struct StreamDecoder {
    decoder: Decoder<'static>,
    /// Largest window that is accepted.
    window_bytes_max: u64,
    /// Has the decoder seen a part of a frame?
    pub(super) in_frame: bool,
    /// What the decoder has seen of the header of a frame, until that tells how large the window
    /// is.
    header: Option<Vec<u8>>,
    /// The window that is too large.
    pub(super) refused_window_bytes: Option<u64>,
    /// How many compressed bytes the decoder asks for: what is left of a block.
    wanted: usize,
    /// Did the decoder fill the buffer, so that it may have more to give?
    is_full: bool,
}

impl StreamDecoder {
    /// A decoder for frames that may refer to `dictionary`, which may be empty.
    pub(super) fn new(dictionary: &[u8], window_bytes_max: u64) -> io::Result<Self> {
        let mut decoder = Decoder::with_dictionary(dictionary)?;
        // The decoder accepts limits that are powers of two; `check_window` does the rest.
        let window_log_max = window_bytes_max.next_power_of_two().ilog2();
        decoder.set_parameter(DParameter::WindowLogMax(window_log_max))?;
        Ok(StreamDecoder {
            decoder,
            window_bytes_max,
            in_frame: false,
            header: Some(Vec::new()),
            refused_window_bytes: None,
            wanted: FRAME_START_BYTES,
            is_full: false,
        })
    }

    /// Decodes about a block of `compressed` into the spare capacity of `buffer`, which must have
    /// some. `false` at the end of the file.
    ///
    /// Stops at the end of a frame, so that the next one may be decoded in another way.
    pub(super) fn decode(
        &mut self,
        compressed: &mut Compressed,
        buffer: &mut Vec<u8>,
    ) -> io::Result<bool> {
        if !self.is_full {
            // Of a stream, one byte is enough: more may come late. A file gives what is asked for,
            // so that the outcome does not depend on how it is read.
            compressed.read_until(if compressed.is_stream() { 1 } else { self.wanted });
            if compressed.rest().is_empty() {
                return match compressed.take_error() {
                    Some(error) => Err(error),
                    None if self.in_frame => Err(io::ErrorKind::UnexpectedEof.into()),
                    None => Ok(false),
                };
            }
        }
        // No more than a block: a call that fails takes back whatever it has decoded. The decoder
        // asks for the header of the next block as well, and that may be what is damaged.
        let block = self.wanted.checked_sub(BLOCK_HEADER_BYTES).filter(|block| *block > 0);
        let rest = compressed.rest();
        let given = &rest[..rest.len().min(block.unwrap_or(self.wanted))];
        self.check_window(given)?;
        let mut input = InBuffer::around(given);
        let start = buffer.len();
        let mut output = OutBuffer::around_pos(buffer, start);
        let wanted = self.decoder.run(&mut input, &mut output)?;
        self.is_full = output.pos() == output.capacity();
        let used = input.pos();
        compressed.advance(used);
        self.in_frame = wanted > 0;
        // Zero: the frame is complete.
        self.wanted = if wanted > 0 { wanted.min(WANTED_BYTES_MAX) } else { FRAME_START_BYTES };
        if !self.in_frame {
            self.is_full = false;
            self.header = Some(Vec::new());
            self.decoder.reinit()?;
        }
        Ok(true)
    }

    /// Refuses a window that is too large, if `given`, which the decoder gets next, tells of one.
    /// The decoder uses up all that it is given of a header.
    fn check_window(&mut self, given: &[u8]) -> io::Result<()> {
        let Some(seen) = &mut self.header else { return Ok(()) };
        seen.extend_from_slice(given);
        let Some(header) = Header::of_any(seen) else { return Ok(()) };
        let window_bytes = header.map_or(0, |header| header.window_bytes);
        if window_bytes <= self.window_bytes_max {
            self.header = None;
            return Ok(());
        }
        self.refused_window_bytes = Some(window_bytes);
        Err(io::Error::other("the window is too large"))
    }
}
