//! The places of the records of each partition, in a file: a byte for each record, in order.
//!
//! ```text
//! places = place{records}*        the partitions in any order; where each is, is kept in memory
//! place  = what `Forms::place` says, put together over all parts of the forms
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use super::ladders::{EARLIER, Ladders, UNMERGED};
use super::together;
use crate::cluster::on_disk::extents::{Extent, damaged};
use crate::cluster::partitions::Partitions;

/// How many places are read and written at once.
const PLACES_BYTES: usize = 64 << 10;

/// Writes places in order.
pub(super) struct PlaceWriter<'a> {
    file: &'a File,
    /// Where the buffer goes.
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    /// How many places of the buffer were set.
    done: usize,
    /// Does the file already have places from earlier parts of the forms?
    has_others: bool,
}

impl<'a> PlaceWriter<'a> {
    pub(super) fn new(file: &'a File, Extent { at, end }: Extent, has_others: bool) -> Self {
        PlaceWriter { file, at, end, buffer: Vec::new(), done: 0, has_others }
    }

    /// Combines the place of the next record with that from earlier parts.
    #[inline]
    pub(super) fn push(&mut self, placed: u8) -> io::Result<()> {
        if self.done == self.buffer.len() {
            self.next_buffer()?;
        }
        let place = &mut self.buffer[self.done];
        *place = together(*place, placed);
        self.done += 1;
        Ok(())
    }

    /// Failure: an error of reading or writing, or one if there are more records.
    fn next_buffer(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.buffer, self.at)?;
        self.at += self.buffer.len() as u64;
        let bytes = (self.end - self.at).min(PLACES_BYTES as u64) as usize;
        if bytes == 0 {
            return Err(damaged());
        }
        self.done = 0;
        self.buffer.clear();
        self.buffer.resize(bytes, UNMERGED);
        if self.has_others { self.file.read_exact_at(&mut self.buffer, self.at) } else { Ok(()) }
    }

    /// Failure: an error of writing, or one if there are fewer records.
    pub(super) fn finish(self) -> io::Result<()> {
        let is_whole = self.done == self.buffer.len() && self.at + self.done as u64 == self.end;
        if is_whole { self.file.write_all_at(&self.buffer, self.at) } else { Err(damaged()) }
    }
}

/// Reads the places of the records of each partition.
#[derive(Debug)]
pub struct Places {
    /// The places that were not read yet.
    left: Partitions<Option<Extent>>,
    /// Were there more records than places?
    has_more: AtomicBool,
}

impl Places {
    /// Begins with the places in these extents, one for each partition.
    pub(super) fn new(left: Partitions<Option<Extent>>) -> Places {
        Places { left, has_more: AtomicBool::new(false) }
    }

    /// Sets the places of the records of `partition` in `chunks`, each with the number of its first
    /// line. They are the records that were added, in the same order, and others before
    /// `first_line`. `file` is what the file holds.
    ///
    /// Additional records, which there are if the input has changed, are set as placed earlier,
    /// like those before `first_line`.
    pub fn place<'a>(
        &self,
        partition: usize,
        file: &[u8],
        first_line: u64,
        chunks: impl Iterator<Item = (&'a Ladders, u64)>,
    ) {
        let left = &mut *self.left.lock(partition);
        let Extent { at, end } = left.unwrap_or(Extent { at: 0, end: 0 });
        let range = usize::try_from(at).ok().zip(usize::try_from(end).ok());
        let places = range.and_then(|(at, end)| file.get(at..end)).unwrap_or_default();
        let mut done = 0;
        for (ladders, first_of_chunk) in chunks {
            for (place, ladder) in ladders.of(partition, first_of_chunk) {
                let mut placed = EARLIER;
                if ladder.line >= first_line {
                    placed = places.get(done).copied().unwrap_or(EARLIER);
                    done += 1;
                }
                ladders.set(place, placed);
            }
        }
        if done > places.len() {
            self.has_more.store(true, Ordering::Relaxed);
        }
        *left = Some(Extent { at: at + done.min(places.len()) as u64, end });
    }

    /// Were exactly the added records placed?
    pub fn are_over(&mut self) -> bool {
        let is_over = |left: &mut Option<Extent>| left.is_none_or(|left| left.is_over());
        !*self.has_more.get_mut() && self.left.all_mut().all(is_over)
    }
}
