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

use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::mem;
use std::sync::Arc;

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::DParameter;

use super::{Compression, explain};
use crate::crew::{Crew, Promise};
use crate::error::Error;
use crate::input::chunk::Slice;
use crate::input::disk::Disk;
use crate::limits::{
    UNPACKED_FRAME_BYTES_MAX, UNPACKING_BYTES, ZSTD_WINDOW_LOG_MAX, ZSTD_WINDOW_PARTS,
};
use blocks::Blocks;
use frames::{FrameBounds, Header, Walk, WalkResult};

/// Who decodes frames, and how much at once.
#[derive(Clone, Debug)]
pub(crate) struct Unpacking {
    /// Who decodes whole frames. Without a crew, nothing is read ahead, and all is
    /// decoded as a stream.
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

impl Default for Unpacking {
    fn default() -> Self {
        Unpacking {
            crew: None,
            read_bytes: 1 << 20,
            // Small enough that all threads get some, large enough that starting a task costs
            // little.
            piece_bytes: 4 << 20,
            frame_bytes_max: UNPACKED_FRAME_BYTES_MAX,
            thread_bytes: UNPACKING_BYTES,
            // Some chunks, the last of which is short; and some large pages.
            part_bytes: 8 << 20,
            dictionary: None,
        }
    }
}

/// Most bytes read at once of a frame that is decoded here. Reason: two blocks or so, which are
/// still in a cache when it is their turn, and leave room there for what blocks refer to.
const HERE_READ_BYTES: usize = 128 << 10;

/// Bytes asked of a pipe at once. Reason: as much as a pipe holds by default.
const PIPE_READ_BYTES: usize = 64 << 10;

/// Bytes to begin a frame with. Reason: magic and descriptor, which tell how long the header is.
const FRAME_START_BYTES: usize = 5;

/// Source: RFC 8878 3.1.1.2.
const BLOCK_HEADER_BYTES: usize = 3;

/// Most bytes given to the decoder at once. Reason: a block and its header; of a skippable frame it
/// would ask for the whole.
const WANTED_BYTES_MAX: usize = 256 << 10;

/// Largest window of a frame that is decoded to pieces, which are larger.
const WINDOW_BYTES_MAX: u64 = 16 << 20;

/// Most bytes of a line that begins in one piece of a frame and ends in the next: these are
/// copied to the start of the next piece. Reason: hardly any line is longer, and each piece has
/// room for them beside the window.
const BEGUN_BYTES_MAX: usize = 64 << 10;

/// Pieces under way beyond one for each thread: one that is waited for, one that waits.
const SPARE_PIECES: usize = 2;

/// The decoded bytes of a zstd file. An end of file inside a frame is an error, never a quiet end.
pub(crate) struct Unpacker {
    disk: Disk,
    /// Read and not yet decoded, from `used` on.
    packed: Vec<u8>,
    used: usize,
    /// Nothing more will come from the disk.
    disk_ended: bool,
    /// Why, unless it was the end of the file.
    disk_error: Option<io::Error>,
    /// For frames that are decoded here, block by block.
    decoder: Decoder<'static>,
    /// Has the decoder seen a part of a frame?
    in_frame: bool,
    /// What the decoder has seen of the header of a frame, until that tells how large the window
    /// is.
    header: Option<Vec<u8>>,
    /// The window that is too large.
    refused_window_bytes: Option<u64>,
    /// How many packed bytes the decoder asks for: what is left of a block.
    wanted: usize,
    /// Has the decoder something left to give?
    is_full: bool,
    /// For a frame that is decoded here, piece by piece, as long as it goes on.
    blocks: Option<Blocks>,
    /// Why that frame does not go on, to be returned after its last piece.
    blocks_error: Option<io::Error>,
    bounds: FrameBounds,
    how: Unpacking,
    /// Pieces under way, in order.
    ahead: VecDeque<Piece>,
    /// Up to here, frames are not for the crew.
    here_until: usize,
    /// The piece that is being delivered, and how much of it was.
    piece: Arc<Vec<u8>>,
    delivered: usize,
    /// Was it decoded here?
    piece_is_ours: bool,
}

/// Some whole frames.
struct Piece {
    packed: Arc<Vec<u8>>,
    decoded: Promise<io::Result<Vec<u8>>>,
    content_bytes_max: u64,
}

impl Unpacker {
    /// Goes on after `head`, the first bytes of the file. Frames may have windows of at most
    /// `window_bytes_max` bytes, [clamped](window_bytes_within) to what zstd accepts.
    pub(crate) fn new(
        head: Vec<u8>,
        disk: Disk,
        window_bytes_max: u64,
        mut how: Unpacking,
    ) -> io::Result<Self> {
        let window_bytes_max = window_bytes_within(window_bytes_max);
        let dictionary = how.dictionary.take();
        if dictionary.is_some() {
            how.crew = None;
        }
        let mut decoder = Decoder::with_dictionary(&dictionary.unwrap_or_default())?;
        // The decoder knows powers of two alone; what is between them is up to us.
        let window_log_max = window_bytes_max.next_power_of_two().ilog2();
        decoder.set_parameter(DParameter::WindowLogMax(window_log_max))?;
        let bounds = FrameBounds { window_bytes_max, frame_bytes_max: how.frame_bytes_max };
        Ok(Unpacker {
            disk,
            packed: head,
            used: 0,
            disk_ended: false,
            disk_error: None,
            decoder,
            in_frame: false,
            header: Some(Vec::new()),
            refused_window_bytes: None,
            wanted: FRAME_START_BYTES,
            is_full: false,
            blocks: None,
            blocks_error: None,
            bounds,
            how,
            ahead: VecDeque::new(),
            here_until: 0,
            piece: Arc::default(),
            delivered: 0,
            piece_is_ours: false,
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
            } else if !self.next_piece()? && !self.decode_here(buffer)? {
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
        Slice { buffer: Arc::clone(&self.piece), range, by_caller: self.piece_is_ours }
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
        if let Some(window_bytes) = self.refused_window_bytes {
            let memory = match window_bytes <= 1 << ZSTD_WINDOW_LOG_MAX {
                true => {
                    let least = window_bytes * ZSTD_WINDOW_PARTS;
                    format!("give it a memory of -S {}M or more, or ", least.div_ceil(1 << 20))
                }
                false => String::new(),
            };
            return Error::limit(format!(
                "{shown}: expected a zstd window of at most {} KiB, found a frame after {decoded} \
                 decoded bytes that wants {} KiB; {memory}decompress the file first",
                self.bounds.window_bytes_max >> 10,
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
            // Nothing comes behind the error.
            self.packed.clear();
            (self.used, self.disk_ended, self.in_frame) = (0, true, true);
            return Err(error);
        }
        if let Some(blocks) = self.blocks.take() {
            self.decode_piece(blocks, b"");
            return Ok(true);
        }
        if self.in_frame || self.how.crew.is_none() || self.used < self.here_until {
            return Ok(false);
        }
        self.drop_used();
        self.plan_ahead(true);
        let Some(Piece { packed, decoded, .. }) = self.ahead.pop_front() else {
            if self.here_until > 0 {
                return Ok(false);
            }
            let window_bytes_max = WINDOW_BYTES_MAX.min(self.bounds.window_bytes_max);
            let header = Header::of(&self.packed);
            let Some(header) = header.filter(|header| header.window_bytes <= window_bytes_max)
            else {
                return Ok(false);
            };
            self.decode_piece(Blocks::begin(&header, self.how.part_bytes)?, b"");
            return Ok(true);
        };
        // The crew gets more to do before this piece is waited for.
        self.plan_ahead(false);
        match decoded.wait() {
            Some(Ok(decoded)) => {
                self.deliver(Arc::new(decoded), false);
                Ok(true)
            }
            // Once more, here, to see how far it goes. No thread and no memory are errors, too.
            Some(Err(_)) | None => {
                let mut again = packed.to_vec();
                for piece in self.ahead.drain(..) {
                    again.extend_from_slice(&piece.packed);
                }
                again.append(&mut self.packed);
                self.packed = again;
                self.how.crew = None;
                Ok(false)
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
            while self.packed.len() - self.used < wanted && self.read_more(HERE_READ_BYTES) {}
            let rest = &self.packed[self.used..];
            let decoded = match rest.get(..wanted) {
                Some(packed) => blocks.decode(packed),
                None => {
                    // The beginning of a block that is stored uncompressed is good; zstd refuses
                    // that of any other.
                    let _ = blocks.decode(rest);
                    Err(self.disk_error.take().unwrap_or(io::ErrorKind::UnexpectedEof.into()))
                }
            };
            match decoded {
                Ok(()) => self.used += wanted,
                Err(error) => self.blocks_error = Some(error),
            }
            goes_on = self.blocks_error.is_none() && blocks.wanted() > 0;
        }
        self.deliver(blocks.take(), true);
        self.blocks = goes_on.then_some(blocks);
    }

    /// Makes `piece` the one that is delivered.
    fn deliver(&mut self, piece: Arc<Vec<u8>>, is_ours: bool) {
        self.piece = piece;
        self.delivered = 0;
        self.piece_is_ours = is_ours;
    }

    /// Gives the crew as much to do as it may have under way. Cuts `packed` where it begins: at a
    /// frame, with nothing used.
    fn plan_ahead(&mut self, is_idle: bool) {
        let Some(crew) = self.how.crew.clone() else { return };
        let pieces_max = crew.threads() + SPARE_PIECES;
        let bytes_max = pieces_max as u64 * self.how.thread_bytes;
        let mut bytes: u64 = self.ahead.iter().map(|piece| piece.content_bytes_max).sum();
        while self.ahead.len() < pieces_max && bytes < bytes_max {
            let (end, content_bytes_max) = self.find_piece();
            let is_last = self.disk_ended && end == self.packed.len();
            if end == 0 {
                break;
            }
            // Handing over the only piece there is would help nobody.
            if is_idle && is_last && self.ahead.is_empty() {
                self.here_until = end;
                break;
            }
            let rest = self.packed.split_off(end);
            let packed = Arc::new(mem::replace(&mut self.packed, rest));
            let decoded = crew.spawn({
                let packed = Arc::clone(&packed);
                move || decode_frames(&packed, content_bytes_max)
            });
            self.ahead.push_back(Piece { packed, decoded, content_bytes_max });
            bytes += content_bytes_max;
        }
    }

    /// Where the piece ends that begins `packed`, and the most that can come out of it. Reads what
    /// it needs to know that. Zero if it does not begin with a frame for the crew.
    fn find_piece(&mut self) -> (usize, u64) {
        let (mut end, mut content_bytes_max, mut content_bytes) = (0, 0, 0);
        let mut walk = Walk::default();
        while content_bytes < self.how.piece_bytes {
            match walk.step(&self.packed[end..], &self.bounds) {
                WalkResult::Frame { packed_bytes, content_bytes_max: more } => {
                    if content_bytes_max + more > self.how.frame_bytes_max {
                        break;
                    }
                    end += packed_bytes;
                    content_bytes_max += more;
                    // Small frames without a content size look far too large. Reason for the
                    // factor: more than any list packs by.
                    content_bytes += more.min(packed_bytes as u64 * 32);
                    walk = Walk::default();
                }
                WalkResult::More if self.read_more(usize::MAX) => {}
                WalkResult::More | WalkResult::Other => break,
            }
            if end as u64 >= self.how.frame_bytes_max {
                break;
            }
        }
        (end, content_bytes_max)
    }

    /// Decodes a block or so into the room that `buffer` has. `false` at the end of the file.
    ///
    /// Room must be left. Frame by frame, so that there may be a piece next.
    fn decode_here(&mut self, buffer: &mut Vec<u8>) -> io::Result<bool> {
        if !self.is_full {
            // Of a stream, one byte is enough: more may come late. A file gives what is asked for,
            // so that the outcome does not depend on how it is read.
            let wanted = if self.disk.is_stream() { 1 } else { self.wanted };
            while self.packed.len() - self.used < wanted && self.read_more(HERE_READ_BYTES) {}
            if self.used == self.packed.len() {
                return match self.disk_error.take() {
                    Some(error) => Err(error),
                    None if self.in_frame => Err(io::ErrorKind::UnexpectedEof.into()),
                    None => Ok(false),
                };
            }
        }
        // No more than a block: a call that fails takes back whatever it has decoded. The decoder
        // asks for the header of the next block as well, where that may be what is damaged.
        let rest = &self.packed[self.used..];
        let block = self.wanted.checked_sub(BLOCK_HEADER_BYTES).filter(|block| *block > 0);
        let given = rest.len().min(block.unwrap_or(self.wanted));
        self.check_window(given)?;
        let rest = &self.packed[self.used..];
        let mut input = InBuffer::around(&rest[..given]);
        let start = buffer.len();
        let mut output = OutBuffer::around_pos(buffer, start);
        let wanted = self.decoder.run(&mut input, &mut output)?;
        self.used += input.pos();
        self.is_full = output.pos() == output.capacity();
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

    /// Refuses a window that is too large, if the `given` bytes that the decoder gets next tell of
    /// one. It takes all of what it is given of a header.
    fn check_window(&mut self, given: usize) -> io::Result<()> {
        let Some(seen) = &mut self.header else { return Ok(()) };
        seen.extend_from_slice(&self.packed[self.used..self.used + given]);
        let Some(header) = Header::of_any(seen) else { return Ok(()) };
        let window_bytes = header.map_or(0, |header| header.window_bytes);
        if window_bytes <= self.bounds.window_bytes_max {
            self.header = None;
            return Ok(());
        }
        self.refused_window_bytes = Some(window_bytes);
        Err(io::Error::other("the window is too large"))
    }

    /// Reads more packed bytes, at most `bytes_max` of them. `false` if there are none.
    fn read_more(&mut self, bytes_max: usize) -> bool {
        if self.disk_ended {
            return false;
        }
        self.drop_used();
        let before = self.packed.len();
        let result = if self.disk.is_stream() {
            // What there is may be all for a while.
            self.packed.resize(before + PIPE_READ_BYTES.min(self.how.read_bytes), 0);
            let read = self.disk.read(&mut self.packed[before..]);
            self.packed.truncate(before + *read.as_ref().unwrap_or(&0));
            read.map(drop)
        } else {
            let bytes = self.how.read_bytes.min(bytes_max);
            self.packed.reserve(bytes);
            self.disk.fill(&mut self.packed, bytes)
        };
        self.disk_error = result.err();
        self.disk_ended = self.disk_error.is_some() || self.packed.len() == before;
        self.packed.len() > before
    }

    fn drop_used(&mut self) {
        self.packed.drain(..self.used);
        self.here_until = self.here_until.saturating_sub(self.used);
        self.used = 0;
    }
}

/// `bytes`, clamped to the bounds of zstd itself on 64-bit machines: `ZSTD_WINDOWLOG_MIN` and
/// `_MAX`.
pub(crate) fn window_bytes_within(bytes: u64) -> u64 {
    bytes.clamp(1 << 10, 1 << ZSTD_WINDOW_LOG_MAX)
}

/// What the `packed` frames hold: at most `content_bytes_max` bytes, or they are no good.
fn decode_frames(packed: &[u8], content_bytes_max: u64) -> io::Result<Vec<u8>> {
    let room = usize::try_from(content_bytes_max).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut decoded = Vec::with_capacity(room);
    zstd::bulk::Decompressor::new()?.decompress_to_buffer(packed, &mut decoded)?;
    if decoded.len() < room / 2 {
        decoded.shrink_to_fit();
    }
    Ok(decoded)
}

#[allow(unsafe_code)]
mod blocks;
pub(crate) mod dictionary;
mod frames;
#[cfg(test)]
mod tests;
