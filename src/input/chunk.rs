//! A piece of one file that holds whole lines.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::disk::mapped::Mapped;
use crate::error::Result;

/// Whole lines of one file, or the beginning of a line that is too long.
///
/// ```text
/// decoded file   line\n line\n line\n | one line that is too long\n   | line\n line
/// chunks         bytes() = all of it    overlong() = Some(length)       only here may the last
///                                       bytes() = its beginning         separator be missing
/// ```
///
/// - Shape: about `chunk_bytes` of whole lines, each with its separator; fewer where a piece of a
///   compressed file ends. A chunk is larger only when it holds a single line, and is never larger
///   than `line_bytes_max + chunk_bytes`.
/// - Long lines: only a line longer than both `chunk_bytes` and `line_bytes_max` is overlong. A
///   line longer than only `line_bytes_max` stays in its chunk; readers of lines check for it.
/// - Which lines are overlong depends on the plan only, not on mapping, reading or compression.
///
/// Cheap to move: it owns a buffer, or a part of a larger one or of a mapped file.
pub struct Chunk {
    data: Data,
    file: usize,
    at: u64,
    overlong: Option<u64>,
    /// Dropped with the chunk.
    held: Option<Box<dyn Send + Sync>>,
}

/// A part of a buffer of decoded bytes, which other chunks share.
pub(super) struct Slice {
    pub(super) buffer: Arc<Vec<u8>>,
    pub(super) range: Range<usize>,
    /// Was it decoded by the thread that cuts chunks, not by the crew?
    pub(super) decoded_on_reader_thread: bool,
}

/// Most bytes of two chunks that are joined by copying. Reason: much more than a `Chunk` itself
/// takes, and little to copy now and then.
const SHORT_BYTES: usize = 16 << 10;

enum Data {
    Owned(Vec<u8>),
    Shared(Slice),
    Mapped(Arc<Mapped>, Range<usize>),
}

impl Chunk {
    /// How many bytes of an overlong line [`Chunk::bytes`] shows at most.
    pub const OVERLONG_BYTES_SHOWN: usize = 1024;

    pub(super) fn owned(bytes: Vec<u8>, file: usize, at: u64, overlong: Option<u64>) -> Self {
        Chunk { data: Data::Owned(bytes), file, at, overlong, held: None }
    }

    /// The lines in `slice`, which begins at byte `at` of the decoded file.
    pub(super) fn shared(slice: Slice, file: usize, at: u64) -> Self {
        Chunk { data: Data::Shared(slice), file, at, overlong: None, held: None }
    }

    /// The bytes `range` of `mapped`. Panics later, in [`Chunk::bytes`], if the range is outside.
    pub(super) fn mapped(
        mapped: &Arc<Mapped>,
        range: Range<usize>,
        file: usize,
        overlong: Option<u64>,
    ) -> Self {
        let at = range.start as u64;
        Chunk { data: Data::Mapped(Arc::clone(mapped), range), file, at, overlong, held: None }
    }

    /// Splits the chunk after `bytes` bytes, without copying; an empty part is `None`. The parts
    /// hold no ticket. The chunk must not be an overlong line.
    #[must_use]
    pub fn split(self, bytes: usize) -> [Option<Chunk>; 2] {
        let length = self.bytes().len();
        if bytes == 0 {
            return [None, Some(self)];
        } else if bytes >= length {
            return [Some(self), None];
        }
        let Chunk { file, at, .. } = self;
        let decoded_on_reader_thread = self.decoded_on_reader_thread();
        let of = |data, at| Some(Chunk { data, file, at, overlong: None, held: None });
        let [first, second] = match self.data {
            Data::Mapped(mapped, Range { start, end }) => {
                let middle = start + bytes;
                [start..middle, middle..end].map(|range| Data::Mapped(Arc::clone(&mapped), range))
            }
            data => {
                let (buffer, Range { start, end }) = match data {
                    Data::Shared(slice) => (slice.buffer, slice.range),
                    Data::Owned(bytes) => (Arc::new(bytes), 0..length),
                    Data::Mapped(..) => unreachable!("it was the other arm"),
                };
                let middle = start + bytes;
                [start..middle, middle..end].map(|range| {
                    Data::Shared(Slice {
                        buffer: Arc::clone(&buffer),
                        range,
                        decoded_on_reader_thread,
                    })
                })
            }
        };
        [of(first, at), of(second, at + bytes as u64)]
    }

    /// Copies the lines of `pieces`, which follow each other in a file, into one chunk. It holds no
    /// ticket. There must be at least one piece, and none that is overlong.
    ///
    /// Failure: as [`Chunk::verify`].
    pub fn joined(pieces: &[Chunk]) -> Result<Chunk> {
        let length = pieces.iter().map(|piece| piece.bytes().len()).sum();
        let mut bytes = Vec::with_capacity(length);
        pieces.iter().for_each(|piece| bytes.extend_from_slice(piece.bytes()));
        // The copy cannot be verified later.
        pieces.iter().try_for_each(Chunk::verify)?;
        Ok(Chunk::owned(bytes, pieces[0].file, pieces[0].at, None))
    }

    /// Appends the lines of `next`, which follows it in the file, if both are short and neither is
    /// shared: so that many short chunks take no more memory than their lines. Otherwise returns
    /// `next`.
    pub fn take_in(&mut self, next: Chunk) -> Option<Chunk> {
        match (&mut self.data, &next.data) {
            (Data::Owned(bytes), Data::Owned(more)) if bytes.len() + more.len() <= SHORT_BYTES => {
                bytes.extend_from_slice(more);
                None
            }
            _ => Some(next),
        }
    }

    /// Makes the chunk hold `ticket`, which is dropped with it.
    pub fn hold(&mut self, ticket: impl Send + Sync + 'static) {
        self.held = Some(Box::new(ticket));
    }

    /// Bytes of memory that it takes; of a buffer that chunks share, only its part. A part of a
    /// mapped file takes none.
    pub fn memory_bytes(&self) -> usize {
        match &self.data {
            Data::Owned(bytes) => bytes.capacity(),
            Data::Shared(slice) => slice.range.len(),
            Data::Mapped(..) => 0,
        }
    }

    /// Is it a part of a mapped file?
    pub fn is_mapped(&self) -> bool {
        matches!(self.data, Data::Mapped(..))
    }

    /// Was it read or decoded by the thread that cut it? Not what the crew has decoded, nor a part
    /// of a mapped file.
    pub fn decoded_on_reader_thread(&self) -> bool {
        matches!(
            self.data,
            Data::Owned(_) | Data::Shared(Slice { decoded_on_reader_thread: true, .. })
        )
    }

    /// Is it a part of a buffer of decoded bytes, which was not copied?
    #[cfg(test)]
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.data, Data::Shared(_))
    }

    /// The lines, or the beginning of one: see [`Chunk::overlong`]. Never empty.
    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Owned(bytes) => bytes,
            Data::Shared(slice) => &slice.buffer[slice.range.clone()],
            Data::Mapped(mapped, range) => &mapped.bytes()[range.clone()],
        }
    }

    /// Which file it is from: an index into [`Input::files`](super::Input::files).
    pub fn file(&self) -> usize {
        self.file
    }

    /// Where it begins: bytes from the start of the decoded file.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Is it the first chunk of its file?
    pub fn starts_file(&self) -> bool {
        self.at == 0
    }

    /// The length of the line in bytes, without its separator, if it is an overlong one.
    ///
    /// Then [`Chunk::bytes`] holds only its first [`Chunk::OVERLONG_BYTES_SHOWN`] bytes, without a
    /// separator, and the line is the only one of the chunk.
    pub fn overlong(&self) -> Option<u64> {
        self.overlong
    }

    /// Releases a chunk whose lines will not be read again: the system may take back the pages of a
    /// mapped file, so that the process never appears as large as the file.
    pub fn release(self) {
        if let Data::Mapped(mapped, range) = &self.data {
            mapped.release(range.clone());
        }
    }

    /// Checks that a mapped file still has its size; to be called after the bytes were used.
    ///
    /// - Failure: an input error with file, old and new size. Some of the bytes may then have been
    ///   read as NUL: a file that is truncated within its last page raises no signal.
    /// - Cost: one `fstat` for a mapped chunk, nothing for others.
    pub fn verify(&self) -> Result<()> {
        match &self.data {
            Data::Owned(_) | Data::Shared(..) => Ok(()),
            Data::Mapped(mapped, _) => mapped.verify(),
        }
    }
}

/// A mapped file that is kept open, so that its bytes can be read again.
#[derive(Clone, Debug)]
pub struct PinnedMap {
    mapped: Arc<Mapped>,
}

impl Chunk {
    /// The file that the chunk is a part of, if it is mapped: [`Chunk::bytes`] begins there at
    /// [`Chunk::at`]. Each pinned file reduces the number of others that can be mapped.
    pub fn pin(&self) -> Option<PinnedMap> {
        match &self.data {
            Data::Mapped(mapped, _) => Some(PinnedMap { mapped: Arc::clone(mapped) }),
            Data::Owned(_) | Data::Shared(..) => None,
        }
    }
}

impl PinnedMap {
    /// The whole file, as large as it was when it was opened.
    pub fn bytes(&self) -> &[u8] {
        self.mapped.bytes()
    }

    /// Checks that the file still has its size, as [`Chunk::verify`] does.
    pub fn verify(&self) -> Result<()> {
        self.mapped.verify()
    }

    /// Its name in messages, safe to print.
    pub fn shown(&self) -> &str {
        self.mapped.shown()
    }

    /// Is it the same file, opened once?
    pub fn is_same(&self, other: &PinnedMap) -> bool {
        Arc::ptr_eq(&self.mapped, &other.mapped)
    }
}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk")
            .field("file", &self.file)
            .field("at", &self.at)
            .field("bytes", &self.bytes().len())
            .field("overlong", &self.overlong)
            .field("shared", &!matches!(self.data, Data::Owned(_)))
            .finish()
    }
}

const _: () = {
    const fn moves_between_threads<T: Send + Sync>() {}
    moves_between_threads::<Chunk>();
    moves_between_threads::<PinnedMap>();
};
