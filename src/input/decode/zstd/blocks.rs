//! HOT: once per block. Decodes a frame block by block, straight to where its bytes stay.
//!
//! ```text
//! pieces   [ block | block | block | - ] [ line | block | block | - - -
//!            full: shared by chunks        being filled, after what the last one has of a line;
//!                                          its blocks refer to the window, all of which is in
//!                                          this piece and the one before
//! ```
//!
//! The streaming decoder keeps a window of its own, and copies all its output: that takes a tenth
//! of its time, and memory bandwidth.
//!
//! Unsafe: calls of those functions of zstd that have no buffers of their own. Zstd keeps pointers
//! into the previous piece, so that is kept alive, and the current piece is never moved. The
//! functions are available only where zstd is linked statically, and its authors plan to remove
//! them (2026-11-25, zstd 1.5.7): then this file goes, and all frames are decoded by the streaming
//! decoder. Twin: the streaming decoder, in `tests.rs`.

use std::io;
use std::mem;
use std::ptr::NonNull;
use std::sync::Arc;

use zstd::zstd_safe::{get_error_name, zstd_sys as sys};

use super::BEGUN_BYTES_MAX;
use super::frames::{BLOCK_BYTES_MAX, Header};
use crate::bytes::pages::prefer_large_pages;

/// A decoder of one frame.
pub(super) struct Blocks {
    context: NonNull<sys::ZSTD_DCtx>,
    /// The piece being filled. It never grows, so its bytes stay where they are, also when it is
    /// shared.
    piece: Vec<u8>,
    /// Bytes of new pieces, except the first one.
    piece_bytes: usize,
    /// Bytes of the first piece, and the least of any: a piece may be used again as a later one.
    first_bytes: usize,
    /// How many bytes of the content are missing, if the header states its length.
    missing: Option<u64>,
    /// Earlier pieces that were not used again. Blocks refer to the last of them.
    before: Vec<Arc<Vec<u8>>>,
}

// SAFETY: a context is not bound to a thread; it is used through `&mut` only.
unsafe impl Send for Blocks {}

impl Drop for Blocks {
    fn drop(&mut self) {
        // SAFETY: it was created in `begin`, and this is its only owner.
        unsafe { sys::ZSTD_freeDCtx(self.context.as_ptr()) };
    }
}

impl Blocks {
    /// Begins the frame with this `header`. Pieces have room for `piece_bytes` or more, the first
    /// one for a window.
    pub(crate) fn begin(header: &Header, piece_bytes: usize) -> io::Result<Blocks> {
        // SAFETY: has no precondition.
        let context =
            NonNull::new(unsafe { sys::ZSTD_createDCtx() }).ok_or(io::ErrorKind::OutOfMemory)?;
        // A piece that has no room for another block holds a window.
        let least = header.window_bytes.saturating_add(BLOCK_BYTES_MAX);
        let least = usize::try_from(least).unwrap_or(usize::MAX).saturating_add(BEGUN_BYTES_MAX);
        let (piece_bytes, first_bytes) = (piece_bytes.max(least), least);
        let (piece, missing, before) = (Vec::new(), header.content_bytes, Vec::new());
        let blocks = Blocks { context, piece, piece_bytes, first_bytes, missing, before };
        // SAFETY: the context is valid.
        checked(unsafe { sys::ZSTD_decompressBegin(blocks.context.as_ptr()) })?;
        Ok(blocks)
    }

    /// How many compressed bytes zstd expects next: a header, a block, or a checksum. Zero: the
    /// frame has ended.
    pub(crate) fn wanted(&self) -> usize {
        // SAFETY: the context is valid; it is not changed.
        unsafe { sys::ZSTD_nextSrcSizeToDecompress(self.context.as_ptr()) }
    }

    /// Begins a piece, with the beginning of a line of at most [`BEGUN_BYTES_MAX`]
    /// before its blocks.
    pub(super) fn begin_piece(&mut self, begun: &[u8]) {
        // Zstd may refer to the last piece, which is in `before`, and to no other.
        assert!(self.piece.capacity() == 0 && begun.len() <= BEGUN_BYTES_MAX, "one at a time");
        // Memory that is no longer shared, since the system would have to clear new memory. The
        // latest such piece, which is mostly in a cache; but not the last one, to which blocks
        // refer.
        let others = self.before.len().saturating_sub(1);
        let is_free = |piece: &Arc<Vec<u8>>| Arc::strong_count(piece) == 1;
        let free = self.before[..others].iter().rposition(is_free);
        let free = free.and_then(|at| Arc::into_inner(self.before.remove(at)));
        // One byte more: the last block ends before its memory does, so the next one never starts
        // there, and zstd always sees that another piece has begun.
        let is_first = self.before.is_empty();
        let bytes = if is_first { self.first_bytes } else { self.piece_bytes };
        self.piece = free.unwrap_or_else(|| large_pages(bytes + 1));
        self.piece.clear();
        self.piece.extend_from_slice(begun);
    }

    /// Has the piece room for another block?
    pub(super) fn has_room(&self) -> bool {
        self.room() >= BLOCK_BYTES_MAX as usize
    }

    fn room(&self) -> usize {
        (self.piece.capacity() - self.piece.len()).saturating_sub(1)
    }

    /// Decodes `compressed`: exactly the [wanted](Self::wanted) bytes, or the beginning of a block
    /// that is stored uncompressed. After an error, nothing of it is in the piece.
    pub(crate) fn decode(&mut self, compressed: &[u8]) -> io::Result<()> {
        let length = self.piece.len();
        let room = self.room();
        // Not by a slice of the room: zstd reads what is before it by this pointer, too.
        let end = self.piece.as_mut_ptr().wrapping_add(length);
        // SAFETY: zstd writes at most `room` bytes after the `length` that the piece has, which
        // are its own, and reads those and `compressed`. Beyond that it reads what it has written
        // since `begin`, so far as that is in this piece, or in the one before if it is another
        // one: it knows where they start and end, and refuses what refers to more. Both are where
        // they were: this one has not grown, that one is the last in `before`, from which no memory
        // is given back, and all who share it only read.
        let written = checked(unsafe {
            sys::ZSTD_decompressContinue(
                self.context.as_ptr(),
                end.cast(),
                room,
                compressed.as_ptr().cast(),
                compressed.len(),
            )
        })?;
        assert!(written <= room, "zstd was told how much room there is");
        if let Some(missing) = &mut self.missing {
            let too_much = || io::Error::other("More content than the header tells of");
            *missing = missing.checked_sub(written as u64).ok_or_else(too_much)?;
        }
        // SAFETY: there is room, and this many bytes were written.
        unsafe { self.piece.set_len(length + written) };
        Ok(())
    }

    /// The piece, to be shared.
    pub(crate) fn take(&mut self) -> Arc<Vec<u8>> {
        assert!(self.piece.capacity() > 0, "it was begun");
        let piece = Arc::new(mem::take(&mut self.piece));
        // At the end, since the next blocks refer to it.
        self.before.push(Arc::clone(&piece));
        piece
    }
}

/// Room for `bytes` bytes, in large pages if the system has any: blocks refer to places all over
/// the window.
fn large_pages(bytes: usize) -> Vec<u8> {
    let mut room = Vec::with_capacity(bytes);
    prefer_large_pages(room.spare_capacity_mut());
    room
}

/// The result of a function of zstd, or its error.
fn checked(code: usize) -> io::Result<usize> {
    // SAFETY: has no precondition.
    match unsafe { sys::ZSTD_isError(code) } {
        0 => Ok(code),
        _ => Err(io::Error::other(get_error_name(code))),
    }
}
