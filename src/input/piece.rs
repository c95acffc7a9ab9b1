//! Memory that one thread fills from front to back, while others read what is there already.
//!
//! ```text
//! memory   [ part | part | part | what comes next - - - ]
//!            \---- shared, never     \---- written by who has the `Piece`, and read by
//!                  changed                 nobody until it is there as a whole
//! ```
//!
//! Unsafe: memory that has two owners, who never touch the same bytes, one of which writes.

use std::mem::ManuallyDrop;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

/// Is being filled. What is there is never changed, and stays where it is.
#[derive(Debug)]
pub(super) struct Piece {
    memory: Arc<Memory>,
    /// How many bytes are there.
    len: usize,
}

/// Some bytes of a [`Piece`], which stay as they are.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Those of `range` are there.
    memory: Arc<Memory>,
    range: Range<usize>,
}

/// The memory of a vector; whoever shares it keeps account of what is there.
#[derive(Debug)]
struct Memory {
    start: NonNull<u8>,
    capacity: usize,
}

// SAFETY: it is the memory of a vector of bytes, which may be given back by any thread.
unsafe impl Send for Memory {}

// SAFETY: by a shared `Memory` alone nothing is read or written. A `Part` reads bytes that were there when it
// was made, which nobody writes to again while there is a `Part`; the `Piece` of this memory, of which there
// is one, writes behind all of them, by `&mut`.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: from the vector that `Piece::new` has taken apart, and nobody else has it any more.
        drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), 0, self.capacity) });
    }
}

impl Piece {
    /// Goes on behind the bytes of `vector`, in the room that it has.
    pub(super) fn new(vector: Vec<u8>) -> Piece {
        let mut vector = ManuallyDrop::new(vector);
        let start = NonNull::new(vector.as_mut_ptr()).expect("vectors have no null pointers");
        let memory = Memory { start, capacity: vector.capacity() };
        Piece { memory: Arc::new(memory), len: vector.len() }
    }

    /// How many bytes are there.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How many more there is room for.
    pub(super) fn room(&self) -> usize {
        self.memory.capacity - self.len
    }

    /// Where the next byte goes. What is before it may be read from there, too.
    pub(super) fn end(&mut self) -> *mut u8 {
        self.memory.start.as_ptr().wrapping_add(self.len)
    }

    /// Counts `bytes` bytes as there.
    ///
    /// # Safety
    ///
    /// They were written from [`Piece::end`] on, within the [room](Piece::room).
    pub(super) unsafe fn advance(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.room());
        self.len += bytes;
    }

    /// Appends `bytes`, for which there has to be room.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.room(), "a piece does not grow beyond its room");
        // SAFETY: there is room for them, which no `Part` has a share of, so `bytes` are not there.
        unsafe { self.end().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.len += bytes.len();
    }

    /// All that is there so far.
    pub(super) fn all(&self) -> Part {
        Part { memory: Arc::clone(&self.memory), range: 0..self.len }
    }

    /// Forgets what is there, if nobody has a share of it. Says whether that was so.
    pub(super) fn clear(&mut self) -> bool {
        let is_alone = Arc::get_mut(&mut self.memory).is_some();
        if is_alone {
            self.len = 0;
        }
        is_alone
    }
}

impl Part {
    /// The bytes `range` of these. Panics if they are not among them.
    pub(super) fn part(&self, range: Range<usize>) -> Part {
        assert!(range.start <= range.end && range.end <= self.range.len(), "a part of the part");
        let start = self.range.start;
        Part { memory: Arc::clone(&self.memory), range: start + range.start..start + range.end }
    }
}

impl Default for Part {
    /// No bytes.
    fn default() -> Part {
        Part::from(Vec::new())
    }
}

impl From<Vec<u8>> for Part {
    fn from(bytes: Vec<u8>) -> Part {
        Piece::new(bytes).all()
    }
}

impl Deref for Part {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: these bytes are there, in memory that is kept, and nobody writes to them: see `Memory`.
        unsafe {
            slice::from_raw_parts(
                self.memory.start.as_ptr().wrapping_add(self.range.start),
                self.range.len(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stay_while_the_piece_grows() {
        let mut piece = Piece::new(Vec::with_capacity(1000));
        piece.push(b"begun ");
        let mut parts = Vec::new();
        std::thread::scope(|scope| {
            for number in 0..90u8 {
                let start = piece.len();
                piece.push(&[number; 11]);
                let part = piece.all().part(start..piece.len());
                parts.push(part.clone());
                scope.spawn(move || assert_eq!(*part, [number; 11]));
            }
        });
        assert_eq!((piece.len(), &piece.all()[..7]), (6 + 990, &b"begun \0"[..]));
        assert!(piece.room() >= 4 && !piece.clear());
        drop(piece);
        assert!((0u8..).zip(&parts).all(|(number, part)| **part == [number; 11]));
        assert_eq!(*parts[7].part(3..5), [7; 2]);
    }

    #[test]
    fn memory_is_used_again() {
        let mut piece = Piece::new(b"some".to_vec());
        let (all, start) = (piece.all(), piece.end().addr() - 4);
        assert!(!piece.clear() && *all == *b"some");
        drop(all);
        assert!(piece.clear() && piece.len() == 0 && piece.end().addr() == start);
        piece.push(b"else");
        assert_eq!(*piece.all(), *b"else");
        assert!(Part::default().is_empty() && Part::from(vec![7; 3]).to_vec() == [7; 3]);
    }

    #[test]
    #[should_panic(expected = "beyond its room")]
    fn there_is_no_more_than_there_is_room_for() {
        let mut piece = Piece::new(Vec::with_capacity(8));
        let room = piece.room();
        piece.push(&vec![1; room + 1]);
    }

    #[test]
    #[should_panic(expected = "a part of the part")]
    fn a_part_has_no_more_than_its_bytes() {
        let mut piece = Piece::new(Vec::with_capacity(8));
        piece.push(b"abcd");
        let part = piece.all().part(1..3);
        piece.push(b"efg");
        let _ = part.part(0..3);
    }
}
