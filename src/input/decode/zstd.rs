//! Zstd files decoded, several frames of a file at the same time where there is a crew for it.
//!
//! ```text
//! disk --> compressed | frame | frame | frame || frame | frame || the next frame, not all of it
//!                     \---- one piece -------/\---- piece ----/
//!                       a task for the crew      another task     more has to be read, or
//!                             |                        |          one block after the other
//!                             v                        v          is decoded here, to a piece
//!                       decoded, whole          decoded, whole    (blocks.rs) or as a stream
//!                       (ahead.rs)                                (stream_decoder.rs)
//! ```
//!
//! Pieces are delivered in order. A piece that cannot be decoded goes back to the compressed bytes,
//! and from there on everything is decoded here. So what can be read, and the error, are the same
//! either way, with two exceptions, both for damaged frames:
//!
//! - Where a frame holds more than its header says, the stream decoder may deliver one block more,
//!   or a part of one: if it still has the room of a larger frame before it, or is given less at
//!   once.
//! - Blocks that refer to more than the window are detected by the stream decoder alone.

mod ahead;
#[allow(unsafe_code)]
mod blocks;
mod compressed;
pub(crate) mod dictionary;
mod frames;
mod stream_decoder;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use self::ahead::{Ahead, Next};
use self::blocks::Blocks;
use self::compressed::Compressed;
use self::frames::{FrameBounds, Header};
use self::stream_decoder::StreamDecoder;
use super::{Compression, explain};
use crate::crew::Crew;
use crate::error::{Error, Setting};
use crate::input::chunk::Slice;
use crate::input::disk::Disk;
use crate::limits::{
    DECOMPRESS_IN_FLIGHT_BYTES, DECOMPRESSED_FRAME_BYTES_MAX, ZSTD_WINDOW_LOG_MAX,
    ZSTD_WINDOW_PARTS,
};

/// Who decodes frames, and how much at once.
#[derive(Clone, Debug)]
pub(crate) struct DecompressOptions {
    /// Who decodes whole frames. Without a crew, nothing is read ahead, and everything is decoded
    /// as a stream.
    pub(crate) crew: Option<Crew>,
    /// Bytes read from a file at once.
    pub(crate) read_bytes: usize,
    /// Decoded bytes that make a piece, about. Small frames share one.
    pub(crate) piece_bytes: u64,
    /// Largest frame that is decoded as a whole, in bytes, compressed or not; also the largest
    /// piece.
    pub(crate) frame_bytes_max: u64,
    /// Decoded bytes under way per thread, about.
    pub(crate) thread_bytes: u64,
    /// Fewest decoded bytes that make a piece of a larger frame. The first piece is as short as the
    /// window allows, so that there is something to do soon.
    pub(crate) part_bytes: usize,
    /// What frames may refer to. With a dictionary, all frames are decoded as a stream.
    pub(crate) dictionary: Option<Vec<u8>>,
}

impl Default for DecompressOptions {
    fn default() -> Self {
        DecompressOptions {
            crew: None,
            read_bytes: 1 << 20,
            // Small enough that all threads get some, large enough that starting a task costs
            // little.
            piece_bytes: 4 << 20,
            frame_bytes_max: DECOMPRESSED_FRAME_BYTES_MAX,
            thread_bytes: DECOMPRESS_IN_FLIGHT_BYTES,
            // Several chunks, of which only the last is short; and several large pages.
            part_bytes: 8 << 20,
            dictionary: None,
        }
    }
}

/// Largest window of a frame that is decoded to pieces, which are larger.
const WINDOW_BYTES_MAX: u64 = 16 << 20;

/// Most bytes of a line that begins in one piece of a frame and ends in the next: these are
/// copied to the start of the next piece. Reason: hardly any line is longer, and each piece has
/// room for them beside the window.
const BEGUN_BYTES_MAX: usize = 64 << 10;

/// The decoded bytes of a zstd file. An end of file inside a frame is an error, never a quiet end.
pub(crate) struct Decompressor {
    compressed: Compressed,
    /// For frames that are decoded here, block by block.
    stream: StreamDecoder,
    /// For frames that the crew decodes.
    ahead: Ahead,
    /// For a frame that is decoded here, piece by piece, until it ends.
    blocks: Option<Blocks>,
    /// Why that frame does not go on, to be returned after its last piece.
    blocks_error: Option<io::Error>,
    window_bytes_max: u64,
    /// As in [`DecompressOptions`].
    part_bytes: usize,
    /// The piece that is being delivered, and how much of it was.
    piece: Arc<Vec<u8>>,
    delivered: usize,
    /// Was it decoded by the thread that reads the file?
    decoded_here: bool,
}

impl Decompressor {
    /// Goes on after `head`, the first bytes of the file. Frames may have windows of at most
    /// `window_bytes_max` bytes, [clamped](window_bytes_within) to what zstd accepts.
    pub(crate) fn new(
        head: Vec<u8>,
        disk: Disk,
        window_bytes_max: u64,
        options: DecompressOptions,
    ) -> io::Result<Self> {
        let window_bytes_max = window_bytes_within(window_bytes_max);
        let DecompressOptions {
            crew,
            read_bytes,
            piece_bytes,
            frame_bytes_max,
            thread_bytes,
            part_bytes,
            dictionary,
        } = options;
        let crew = crew.filter(|_| dictionary.is_none());
        let bounds = FrameBounds { window_bytes_max, frame_bytes_max };
        Ok(Decompressor {
            compressed: Compressed::new(head, disk, read_bytes),
            stream: StreamDecoder::new(&dictionary.unwrap_or_default(), window_bytes_max)?,
            ahead: Ahead::new(crew, bounds, piece_bytes, thread_bytes),
            blocks: None,
            blocks_error: None,
            window_bytes_max,
            part_bytes,
            piece: Arc::default(),
            delivered: 0,
            decoded_here: false,
        })
    }

    /// Appends `bytes` decoded bytes to `buffer`, or more if that has room for them, or fewer at
    /// the end. What comes before an error is kept.
    pub(crate) fn fill(&mut self, buffer: &mut Vec<u8>, bytes: usize) -> io::Result<()> {
        let goal = buffer.len() + bytes;
        buffer.reserve(bytes);
        while buffer.len() < goal {
            let rest = &self.piece[self.delivered..];
            if !rest.is_empty() {
                let taken = rest.len().min(goal - buffer.len());
                buffer.extend_from_slice(&rest[..taken]);
                self.delivered += taken;
            } else if !self.next_piece()? && !self.stream.decode(&mut self.compressed, buffer)? {
                break;
            }
        }
        Ok(())
    }

    /// Decoded bytes that can be had without copying, if there are any: see
    /// [`Decompressor::slice`].
    pub(crate) fn at_hand(&self) -> &[u8] {
        &self.piece[self.delivered..]
    }

    /// Takes the first `bytes` bytes of those at hand, as a part of a larger buffer.
    pub(crate) fn slice(&mut self, bytes: usize) -> Slice {
        let range = self.delivered..self.delivered + bytes;
        self.delivered = range.end;
        Slice {
            buffer: Arc::clone(&self.piece),
            range,
            decoded_on_reader_thread: self.decoded_here,
        }
    }

    /// Will another piece of the same frame follow the bytes at hand?
    pub(crate) fn goes_on(&self) -> bool {
        self.blocks.is_some()
    }

    /// Puts the bytes at hand, the beginning of a line, before the next piece of the frame. `false`
    /// if the frame has no more pieces, or if these are too many bytes.
    pub(crate) fn join(&mut self) -> bool {
        if self.at_hand().len() > BEGUN_BYTES_MAX {
            return false;
        }
        let Some(blocks) = self.blocks.take() else { return false };
        let piece = Arc::clone(&self.piece);
        self.decode_piece(blocks, &piece[self.delivered..]);
        true
    }

    /// Takes back the last `bytes` bytes that [`Decompressor::fill`] gave: they are at hand again.
    /// `false` if that is not possible any more.
    pub(crate) fn take_back(&mut self, bytes: usize) -> bool {
        let start = self.delivered.checked_sub(bytes);
        self.delivered = start.unwrap_or(self.delivered);
        start.is_some()
    }

    /// The message for `error`, which [`Decompressor::fill`] has returned after `decoded` bytes.
    pub(crate) fn explain(&self, error: io::Error, shown: &str, decoded: u64) -> Error {
        if let Some(window_bytes) = self.stream.refused_window_bytes {
            let memory = match window_bytes <= 1 << ZSTD_WINDOW_LOG_MAX {
                true => {
                    let least = window_bytes * ZSTD_WINDOW_PARTS;
                    format!(
                        "give it a memory of {} {}M or more, or ",
                        Setting::Memory,
                        least.div_ceil(1 << 20)
                    )
                }
                false => String::new(),
            };
            return Error::limit(format!(
                "{shown}: expected a zstd window of at most {} KiB, found a frame after {decoded} \
                 decoded bytes that wants {} KiB; {memory}decompress the file first",
                self.window_bytes_max >> 10,
                window_bytes.div_ceil(1 << 10)
            ));
        }
        explain(Compression::Zstd, error, shown, decoded)
    }

    /// Begins to deliver the next piece. `false` if the next frame is to be decoded as a stream, or
    /// if there is none. The last piece must have been delivered.
    fn next_piece(&mut self) -> io::Result<bool> {
        // Nothing of the last piece is taken back after an error, and its memory may be used again.
        self.deliver(Arc::default(), true);
        if let Some(error) = self.blocks_error.take() {
            // From here on the file looks as if it had ended within the frame.
            self.compressed.end();
            self.stream.in_frame = true;
            return Err(error);
        }
        if let Some(blocks) = self.blocks.take() {
            self.decode_piece(blocks, b"");
            return Ok(true);
        }
        if self.stream.in_frame || !self.ahead.is_possible(&self.compressed) {
            return Ok(false);
        }
        match self.ahead.next(&mut self.compressed) {
            Next::Decoded(decoded) => {
                self.deliver(Arc::new(decoded), false);
                Ok(true)
            }
            Next::Here => Ok(false),
            Next::Other => {
                let window_bytes_max = WINDOW_BYTES_MAX.min(self.window_bytes_max);
                let header = Header::of(self.compressed.rest());
                let Some(header) = header.filter(|header| header.window_bytes <= window_bytes_max)
                else {
                    return Ok(false);
                };
                self.decode_piece(Blocks::begin(&header, self.part_bytes)?, b"");
                Ok(true)
            }
        }
    }

    /// Decodes as many blocks as make a piece, or are left of the frame, after `begun`, the
    /// beginning of a line, and begins to deliver the piece. What comes before an error is
    /// delivered, too.
    fn decode_piece(&mut self, mut blocks: Blocks, begun: &[u8]) {
        blocks.begin_piece(begun);
        let mut goes_on = true;
        while goes_on && blocks.has_room() {
            let wanted = blocks.wanted();
            self.compressed.read_until(wanted);
            let rest = self.compressed.rest();
            let decoded = match rest.get(..wanted) {
                Some(block) => blocks.decode(block),
                None => {
                    // The beginning of a block that is stored uncompressed is good; zstd refuses
                    // that of any other.
                    let _ = blocks.decode(rest);
                    let error = self.compressed.take_error();
                    Err(error.unwrap_or(io::ErrorKind::UnexpectedEof.into()))
                }
            };
            match decoded {
                Ok(()) => self.compressed.advance(wanted),
                Err(error) => self.blocks_error = Some(error),
            }
            goes_on = self.blocks_error.is_none() && blocks.wanted() > 0;
        }
        self.deliver(blocks.take(), true);
        self.blocks = goes_on.then_some(blocks);
    }

    /// Begins to deliver `piece`.
    fn deliver(&mut self, piece: Arc<Vec<u8>>, decoded_here: bool) {
        self.piece = piece;
        self.delivered = 0;
        self.decoded_here = decoded_here;
    }
}

/// `bytes`, clamped to the bounds of zstd itself on 64-bit machines: `ZSTD_WINDOWLOG_MIN` and
/// `_MAX`.
pub(crate) fn window_bytes_within(bytes: u64) -> u64 {
    bytes.clamp(1 << 10, 1 << ZSTD_WINDOW_LOG_MAX)
}
