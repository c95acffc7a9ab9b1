//! Writes files of results to the disk: whole pages bypass the page cache of the system.
//!
//! Results are large, have to be durable before they get their name, and are seldom read at once. A
//! copy of them in the page cache costs more than all else that is done to write them, and has to
//! be written back anyway. Where a file system does not support direct writes, or the data does not
//! fill pages (compressed results, the end of a file), the cached copy is written back early.

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU64;

use rustix::fs::{Advice, OFlags};
use rustix::io::Errno;

use super::early_sync::EarlySync;
use crate::bytes::pages::{LARGE_PAGE_BYTES, prefer_large_pages};
use crate::crew::Crew;

/// Bytes of a page, in memory and on the disk. Reason: the unit of file systems on Linux. One that
/// needs larger units refuses direct writes, and gets copies.
const PAGE_BYTES: usize = 4096;

/// A buffer that is aligned to pages of memory.
pub(super) struct Pages {
    /// The pages, and room to align the first of them.
    room: Vec<u8>,
    start: usize,
    len: usize,
    len_max: usize,
    is_large: bool,
}

impl Pages {
    /// Room for `len_max` bytes, a multiple of [`PAGE_BYTES`].
    pub(super) fn new(len_max: usize) -> Pages {
        assert!(len_max.is_multiple_of(PAGE_BYTES), "{len_max} bytes are not whole pages");
        // The system clears each page when it is first touched.
        let room = vec![0; len_max + PAGE_BYTES];
        let start = room.as_ptr().addr().next_multiple_of(PAGE_BYTES) - room.as_ptr().addr();
        Pages { room, start, len: 0, len_max, is_large: false }
    }

    /// Changes to large pages, if the buffer is empty. Reason: adjacent pages are one segment for
    /// the disk, which takes some 250 segments at once, fewer than a mebibyte has small pages. Not
    /// from the start: a large page is cleared as a whole when it is first touched, which would
    /// delay short results.
    pub(super) fn enlarge(&mut self) {
        if self.is_large || self.len > 0 {
            return;
        }
        let len = self.len_max.next_multiple_of(LARGE_PAGE_BYTES);
        self.room = vec![0; len + LARGE_PAGE_BYTES];
        let address = self.room.as_ptr().addr();
        self.start = address.next_multiple_of(LARGE_PAGE_BYTES) - address;
        prefer_large_pages(&mut self.room[self.start..self.start + len]);
        self.is_large = true;
    }

    /// Bytes that the buffer still has room for.
    #[inline]
    pub(super) fn left(&self) -> usize {
        self.len_max - self.len
    }

    /// Appends `bytes`, at most [`Pages::left`] of them.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let at = self.start + self.len;
        self.room[at..at + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.room[self.start..self.start + self.len]
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }
}

/// A new file whose bytes are written to the disk early, so that the final sync takes little time.
pub(super) struct DiskFile {
    file: File,
    /// Bytes written, and for how many of them writing to the disk has begun.
    written: u64,
    under_way: u64,
    /// Does the file system support direct writes, as far as is known?
    takes_pages: bool,
    /// The mode that the file is set to.
    way: Way,
    early_sync: EarlySync,
}

/// How bytes go to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By a copy in the page cache.
    ThroughCache,
    /// Directly (`O_DIRECT`): whole pages only.
    PastCache,
}

/// Bytes of the cached copy that are written back at once. Reason: long writes, and still early.
const WRITE_BACK_BYTES: u64 = 8 << 20;

impl DiskFile {
    /// `file` is empty, and written only here. `syncer` makes it durable meanwhile.
    pub(super) fn new(file: File, syncer: Option<Crew>) -> Self {
        let early_sync = EarlySync::by(syncer);
        DiskFile {
            file,
            written: 0,
            under_way: 0,
            takes_pages: true,
            way: Way::ThroughCache,
            early_sync,
        }
    }

    /// Sets the file to be written as `way` says.
    fn set_way(&mut self, way: Way) -> io::Result<()> {
        if self.way != way {
            let mut flags = rustix::fs::fcntl_getfl(&self.file)?;
            flags.set(OFlags::DIRECT, way == Way::PastCache);
            rustix::fs::fcntl_setfl(&self.file, flags)?;
            self.way = way;
        }
        Ok(())
    }

    /// Writes `bytes`, directly if they are whole pages and the file system supports that.
    fn write_any(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.takes_pages && are_pages(bytes) && self.written.is_multiple_of(PAGE_BYTES as u64) {
            if let Some(written) = self.write_pages(bytes) {
                let len = written?;
                self.under_way = self.written + len as u64;
                return Ok(len);
            }
            self.takes_pages = false;
        }
        self.write_copy(bytes)
    }

    /// Writes whole pages directly. `None`: this file system does not support it.
    fn write_pages(&mut self, pages: &[u8]) -> Option<io::Result<usize>> {
        if self.set_way(Way::PastCache).is_ok() {
            match self.file.write(pages) {
                Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {}
                written => return Some(written),
            }
        }
        None
    }

    /// Writes through the page cache, and starts writing back now and then.
    fn write_copy(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.set_way(Way::ThroughCache)?;
        let len = self.file.write(bytes)?;
        let length = self.written + len as u64 - self.under_way;
        if let Some(length) = NonZeroU64::new(length).filter(|len| len.get() >= WRITE_BACK_BYTES) {
            // Linux starts to write such pages back, and does not wait for it. The result does not
            // depend on this advice: the file is made durable before it gets its name.
            let from = self.under_way;
            let _ = rustix::fs::fadvise(&self.file, from, Some(length), Advice::DontNeed);
            self.under_way = self.written + len as u64;
        }
        Ok(len)
    }
}

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // First, so that after an error nothing of `bytes` is written.
        self.early_sync.go_on(&self.file, self.written)?;
        let len = self.write_any(bytes)?;
        self.written += len as u64;
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.early_sync.finish()?;
        self.file.flush()
    }
}

/// Are these whole pages of memory?
fn are_pages(bytes: &[u8]) -> bool {
    bytes.as_ptr().addr().is_multiple_of(PAGE_BYTES) && bytes.len().is_multiple_of(PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Writes `pieces` in turn, each from pages of its own; says whether any went past the cache.
    fn written(folder: &Path, pieces: &[&[u8]]) -> (Vec<u8>, bool) {
        let path = folder.join("out");
        let mut disk = DiskFile::new(File::create(&path).unwrap(), None);
        let mut any_direct = false;
        for piece in pieces {
            let mut pages = Pages::new(piece.len().next_multiple_of(PAGE_BYTES));
            pages.push(piece);
            disk.write_all(pages.bytes()).unwrap();
            any_direct |= disk.way == Way::PastCache;
        }
        disk.file.sync_all().unwrap();
        (fs::read(&path).unwrap(), any_direct)
    }

    #[test]
    fn pages_and_pieces_of_them_come_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = [vec![b'a'; 8 * PAGE_BYTES], vec![b'b'; 3 * PAGE_BYTES]];
        let whole: &[&[u8]] = &[&a, &b, b"the end"];
        assert_eq!(written(folder.path(), whole).0, whole.concat());
        // After a write that ends inside a page, later pages are not aligned with those on the
        // disk.
        let broken: &[&[u8]] = &[&a, b"no page", &b, &a];
        assert_eq!(written(folder.path(), broken).0, broken.concat());
        let (_, any_direct) = written(folder.path(), &[b"no page", &b, &a]);
        assert!(!any_direct);
    }

    #[test]
    fn large_pages_are_begun_with_nothing_in_them() {
        let mut pages = Pages::new(2 * PAGE_BYTES);
        pages.push(b"first");
        pages.enlarge();
        assert!(pages.bytes() == b"first" && !pages.is_large);
        pages.clear();
        pages.enlarge();
        assert!(pages.bytes().as_ptr().addr().is_multiple_of(LARGE_PAGE_BYTES));
        let full = [b'x'; 2 * PAGE_BYTES];
        pages.push(&full);
        assert!(pages.bytes() == full && pages.left() == 0);
    }

    #[test]
    fn what_is_written_is_made_durable_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let syncer = Crew::new(1, move |task| {
            count.fetch_add(1, Ordering::SeqCst);
            task();
        });
        let mut disk = DiskFile::new(File::create(&path).unwrap(), Some(syncer));
        let mut pages = Pages::new(1 << 20);
        pages.push(&[b'x'; 1 << 20]);
        for mebibyte in 1..=65 {
            disk.write_all(pages.bytes()).unwrap();
            assert_eq!(calls.load(Ordering::SeqCst), (mebibyte - 1) / 32);
        }
        disk.flush().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 65 << 20);
    }

    #[test]
    fn copies_are_written_where_pages_are_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut disk = DiskFile::new(File::create(&path).unwrap(), None);
        let mut pages = Pages::new(2 * PAGE_BYTES);
        pages.push(&[b'x'; 2 * PAGE_BYTES]);
        assert_eq!(pages.left(), 0);
        disk.takes_pages = false;
        for _ in 0..=WRITE_BACK_BYTES as usize / (2 * PAGE_BYTES) {
            disk.write_all(pages.bytes()).unwrap();
            assert_eq!(disk.way, Way::ThroughCache);
        }
        assert!(disk.under_way >= WRITE_BACK_BYTES && disk.under_way <= disk.written);
        let content = fs::read(&path).unwrap();
        assert!(content.len() as u64 == disk.written && content.iter().all(|&byte| byte == b'x'));
    }
}
