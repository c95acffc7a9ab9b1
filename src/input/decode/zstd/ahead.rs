//! Whole frames, decoded by other threads before it is their turn.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use super::compressed::Compressed;
use super::frames::{FrameBounds, Walk, WalkResult};
use crate::crew::{Crew, Promise};

/// Pieces being decoded beyond one for each thread: one that is waited for, one that waits.
const SPARE_PIECES: usize = 2;

/// The pieces of a file that a crew decodes, in order.
pub(super) struct Ahead {
    /// Who decodes them. Nobody without one, or once a piece was damaged.
    crew: Option<Crew>,
    bounds: FrameBounds,
    /// Decoded bytes that make a piece, about.
    piece_bytes: u64,
    /// Decoded bytes under way per thread, about.
    thread_bytes: u64,
    pub(super) pieces: VecDeque<Piece>,
    /// Up to this position of the compressed file, frames are not for the crew.
    here_until: u64,
}

/// Some whole frames.
pub(super) struct Piece {
    compressed: Arc<Vec<u8>>,
    decoded: Promise<io::Result<Vec<u8>>>,
    content_bytes_max: u64,
}

/// What comes next of a file.
pub(super) enum Next {
    /// A piece that the crew has decoded.
    Decoded(Vec<u8>),
    /// A frame that the crew does not decode whole: one too large, or one that is none.
    Other,
    /// Frames that the reader thread decodes as a stream: the last ones of a small file, or those
    /// of a piece that could not be decoded.
    Here,
}

impl Ahead {
    /// Nothing so far. `bounds` are those of frames for `crew`; a piece is about `piece_bytes`,
    /// what is decoded at the same time about `thread_bytes` per thread.
    pub(super) fn new(
        crew: Option<Crew>,
        bounds: FrameBounds,
        piece_bytes: u64,
        thread_bytes: u64,
    ) -> Self {
        let pieces = VecDeque::new();
        Ahead { crew, bounds, piece_bytes, thread_bytes, pieces, here_until: 0 }
    }

    /// May what follows in `compressed` be for the crew, if it begins with a frame?
    pub(super) fn is_possible(&self, compressed: &Compressed) -> bool {
        self.crew.is_some() && compressed.position() >= self.here_until
    }

    /// Waits for the next piece, and gives the crew what comes after it. `compressed` goes on with
    /// a frame.
    ///
    /// After a piece that could not be decoded, the frames from there on are in `compressed` again,
    /// and the crew gets nothing more.
    pub(super) fn next(&mut self, compressed: &mut Compressed) -> Next {
        self.plan(compressed, true);
        let Some(Piece { compressed: bytes, decoded, .. }) = self.pieces.pop_front() else {
            return if self.is_possible(compressed) { Next::Other } else { Next::Here };
        };
        // The crew gets more to do before this piece is waited for.
        self.plan(compressed, false);
        match decoded.wait() {
            Some(Ok(decoded)) => Next::Decoded(decoded),
            // Once more, here, to see how far it goes. That there was no thread or no memory counts
            // as an error, too.
            Some(Err(_)) | None => {
                let mut again = bytes.to_vec();
                for piece in self.pieces.drain(..) {
                    again.extend_from_slice(&piece.compressed);
                }
                compressed.put_back(again);
                self.crew = None;
                Next::Here
            }
        }
    }

    /// Gives the crew as much to do as it may have under way. `compressed` goes on with a frame.
    fn plan(&mut self, compressed: &mut Compressed, is_idle: bool) {
        let Some(crew) = &self.crew else { return };
        compressed.drop_used();
        let pieces_max = crew.threads() + SPARE_PIECES;
        let bytes_max = pieces_max as u64 * self.thread_bytes;
        let mut bytes: u64 = self.pieces.iter().map(|piece| piece.content_bytes_max).sum();
        while self.pieces.len() < pieces_max && bytes < bytes_max {
            let (end, content_bytes_max) = self.find_piece(compressed);
            let is_last = compressed.is_ended() && end == compressed.rest().len();
            if end == 0 {
                break;
            }
            // Handing over the only piece there is would help nobody.
            if is_idle && is_last && self.pieces.is_empty() {
                self.here_until = compressed.position() + end as u64;
                break;
            }
            let frames = Arc::new(compressed.take(end));
            let decoded = crew.spawn({
                let frames = Arc::clone(&frames);
                move || decode_frames(&frames, content_bytes_max)
            });
            self.pieces.push_back(Piece { compressed: frames, decoded, content_bytes_max });
            bytes += content_bytes_max;
        }
    }

    /// How many bytes of `compressed` the piece has that begins it, and the most that it can hold.
    /// Reads what it needs to know that. Zero if it does not begin with a frame for the crew.
    fn find_piece(&self, compressed: &mut Compressed) -> (usize, u64) {
        let (mut end, mut content_bytes_max, mut content_bytes) = (0, 0, 0);
        let mut walk = Walk::default();
        while content_bytes < self.piece_bytes {
            match walk.step(&compressed.rest()[end..], &self.bounds) {
                WalkResult::Frame { compressed_bytes, content_bytes_max: more } => {
                    if content_bytes_max + more > self.bounds.frame_bytes_max {
                        break;
                    }
                    end += compressed_bytes;
                    content_bytes_max += more;
                    // Small frames without a content size look far too large. Reason for the
                    // factor: no list is compressed better than that.
                    content_bytes += more.min(compressed_bytes as u64 * 32);
                    walk = Walk::default();
                }
                WalkResult::More if compressed.read_more(usize::MAX) => {}
                WalkResult::More | WalkResult::Other => break,
            }
            if end as u64 >= self.bounds.frame_bytes_max {
                break;
            }
        }
        (end, content_bytes_max)
    }
}

/// What the `compressed` frames hold. Fails if they are damaged or hold more than
/// `content_bytes_max` bytes.
fn decode_frames(compressed: &[u8], content_bytes_max: u64) -> io::Result<Vec<u8>> {
    let room = usize::try_from(content_bytes_max).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut decoded = Vec::with_capacity(room);
    zstd::bulk::Decompressor::new()?.decompress_to_buffer(compressed, &mut decoded)?;
    if decoded.len() < room / 2 {
        decoded.shrink_to_fit();
    }
    Ok(decoded)
}
