//! A regular file mapped into memory: an input, or a temporary file.
//!
//! Unsafe: one call of `mmap`, and one of `madvise`. The safe twin is `stream`;
//! `tests.rs` compares the two.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use memmap2::{Advice, Mmap, MmapOptions, UncheckedAdvice};

use super::sigbus::{self, GuardedMapping, Whose};
use crate::error::{Error, Result};

/// Bytes of a page. Where pages are larger, slightly more or less is released.
const PAGE_BYTES: usize = 4096;

/// Bytes that are released at once. Reason: each time, all processors that run this program are
/// interrupted.
const RELEASE_BYTES: usize = 16 << 20;

/// The bytes of a file, at the size it had when it was opened.
#[derive(Debug)]
pub(crate) struct Mapped {
    // Fields are dropped in order: the guard ends before the mapping does.
    _watch: Option<GuardedMapping>,
    map: Mmap,
    origin: Arc<Origin>,
    /// Bytes still to be released, together with those that follow.
    to_release: Mutex<Range<usize>>,
}

/// An open file and the size it is expected to keep.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) file: File,
    /// The name in messages, safe to print.
    pub(crate) shown: String,
    /// Size in bytes when it was opened, or `None` if the system does not know.
    pub(crate) size: Option<u64>,
}

impl Origin {
    /// Checks that the file is at least as large as when it was opened. Returns whether it grew.
    pub(crate) fn verify(&self) -> Result<bool> {
        let Some(old) = self.size else { return Ok(false) };
        let new = self.file.metadata().map_err(|error| Error::reading(&self.shown, error))?.len();
        if new < old {
            return Err(Error::input(format!(
                "{}: expected {old} bytes as when it was opened, found {new}: the file was cut \
                 short while it was read; run again when nothing writes to it",
                self.shown
            )));
        }
        Ok(new > old)
    }
}

impl Mapped {
    /// Maps the first `size` bytes of the file.
    ///
    /// - Shape: `size` is not zero, and the guard of `sigbus` is installed.
    /// - Failure: if the system cannot map it, or too many mappings are guarded already. The caller
    ///   then reads the file instead.
    pub(crate) fn new(origin: &Arc<Origin>, size: u64) -> io::Result<Self> {
        let map = Mapped::map(origin, size)?;
        // If the advice is ignored, only speed is lost.
        let _ = map.advise(Advice::Sequential);
        let watch = GuardedMapping::new(&map, &origin.shown, Whose::Others)
            .ok_or_else(|| io::Error::other("too many mapped files"))?;
        let origin = Arc::clone(origin);
        Ok(Mapped { _watch: Some(watch), map, origin, to_release: Mutex::default() })
    }

    /// Maps the whole of a temporary file, for random reads; nothing writes to it any more.
    /// `shown` is its name in messages. `None` if it is empty.
    ///
    /// Failure: if the system cannot map it.
    pub(crate) fn temporary(file: File, shown: String) -> io::Result<Option<Self>> {
        let size = file.metadata()?.len();
        if size == 0 {
            return Ok(None);
        }
        let origin = Arc::new(Origin { file, shown, size: Some(size) });
        let map = Mapped::map(&origin, size)?;
        // No other process can truncate it, but the disk may fail. Without a guard, that would end
        // the process without a message.
        let watch = if sigbus::guard() {
            GuardedMapping::new(&map, &origin.shown, Whose::Ours)
        } else {
            None
        };
        Ok(Some(Mapped { _watch: watch, map, origin, to_release: Mutex::default() }))
    }

    /// Tells the system that it will be read at random places, so that it reads single pages from
    /// the disk, not a hundred kilobytes around each.
    pub(crate) fn for_random_reads(self) -> Self {
        // If the advice is ignored, only speed is lost.
        let _ = self.map.advise(Advice::Random);
        self
    }

    fn map(origin: &Origin, size: u64) -> io::Result<Mmap> {
        let len = usize::try_from(size).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let mut options = MmapOptions::new();
        options.len(len);
        // SAFETY: `map` asks that the bytes do not change while they are borrowed. Nothing in this
        // process writes to them: the mapping is read-only; an input was opened for reading; a
        // temporary file has no name, and the one handle to it goes into `origin`, which only
        // reads. That nobody else does so cannot be proved, and is not true of a log that is
        // written to. What can happen then: a byte has one value now and another later. No code
        // here or above concludes from bytes it has seen which bytes it will see: every index is
        // checked against the length of the slice, which is fixed. What is taken for UTF-8 where it
        // stands is a number that is parsed, or text that is copied, byte by byte; URLs are copied
        // before. If the file is cut short, pages beyond its new end raise SIGBUS, which `sigbus`
        // turns into a message and an exit.
        unsafe { options.map(&origin.file) }
    }

    /// The whole file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Releases the pages in `range`, now or a little later, together with the following ones. They
    /// are read from the file again when they are accessed.
    ///
    /// Otherwise one thread would release all pages of the file at the end, while all others wait.
    pub(crate) fn release(&self, range: Range<usize>) {
        let mut waiting = self.to_release.lock().expect("no thread panics while it holds the lock");
        if range.start != waiting.end {
            self.let_go(waiting.clone());
            waiting.start = range.start;
        }
        waiting.end = range.end;
        if waiting.len() >= RELEASE_BYTES {
            waiting.start = self.let_go(waiting.clone());
        }
    }

    /// Releases the whole pages in `range`. Returns where the rest, which is less than a page,
    /// begins.
    fn let_go(&self, range: Range<usize>) -> usize {
        let page = PAGE_BYTES;
        let (start, end) = (range.start.next_multiple_of(page), range.end / page * page);
        if start >= end {
            return range.start;
        }
        // SAFETY: the mapping is shared and read-only, so a page that is accessed again is read
        // from the file, as after the system itself has taken it back. If the advice is ignored,
        // only memory is lost.
        let _ = unsafe {
            self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start)
        };
        end
    }

    /// The name in messages, safe to print.
    pub(crate) fn shown(&self) -> &str {
        &self.origin.shown
    }

    /// Checks that the file was not truncated.
    pub(crate) fn verify(&self) -> Result<()> {
        self.origin.verify().map(drop)
    }
}
