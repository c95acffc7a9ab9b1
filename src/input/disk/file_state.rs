//! The state of a file when it was opened, to detect whether it has changed.

use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::time::SystemTime;

use ahash::RandomState;

use crate::error::Error;

/// Bytes at the end of a file that must be the same when it is read again. Reason: sizes and times
/// do not show that a file was emptied and has grown beyond its size since, as rotated logs do.
const END_BYTES: u64 = 4096;

/// The state of a regular file when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: Option<SystemTime>,
    /// When the file was created, where the file system knows: a new file may get the inode number
    /// of one that was deleted.
    made: Option<SystemTime>,
    /// A hash of the last [`END_BYTES`] of the file, or of the whole file, after it was read;
    /// `None` before, or if that failed.
    end: Option<u64>,
}

impl FileState {
    /// Returns the state of the open `file`; `None` if the system does not know it.
    pub(crate) fn of(file: &File, metadata: &Metadata) -> Option<FileState> {
        let is_known = metadata.is_file() && !is_made_up(file);
        is_known.then(|| FileState {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            made: metadata.created().ok(),
            end: None,
        })
    }

    /// Returns the size of the file, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the present value of [`FileState::end`] for `file`, whose state this is.
    fn end_of(&self, file: &File) -> Option<u64> {
        let mut end = [0; END_BYTES as usize];
        let end = &mut end[..self.bytes.min(END_BYTES) as usize];
        file.read_exact_at(end, self.bytes - end.len() as u64).ok()?;
        Some(RandomState::with_seeds(1, 2, 3, 4).hash_one(&*end))
    }

    /// Checks that a file of state `now` begins with what it had in this state, as far as the
    /// system knows: it may have grown. The error says what is different.
    fn check(&self, now: &FileState) -> std::result::Result<(), String> {
        let is_same_number = (self.device, self.inode) == (now.device, now.inode);
        // Some file systems renumber their files now and then.
        let is_as_old = self.made.is_some() && self.modified == now.modified;
        if self.made != now.made || !is_same_number && !is_as_old {
            return Err("another file has taken its place".to_owned());
        }
        if now.bytes < self.bytes {
            return Err(format!("expected {} bytes, found {}", self.bytes, now.bytes));
        }
        if now.bytes == self.bytes && now.modified != self.modified {
            return Err("it was written to".to_owned());
        }
        Ok(())
    }

    /// Records what `file` ends with, now that it was read, or checks it against what an earlier
    /// reading has recorded. The error says what is different.
    pub(crate) fn finish(&mut self, file: &File) -> std::result::Result<(), String> {
        if self.end.is_none() {
            self.end = self.end_of(file);
            return Ok(());
        }
        self.check_end(file)
    }

    /// Checks that `file` ends with the same bytes as when it was read.
    pub(crate) fn check_end(&self, file: &File) -> std::result::Result<(), String> {
        // If it cannot be read, or was just truncated, reading it will report that.
        match self.end.zip(self.end_of(file)) {
            Some((then, now)) if then != now => {
                Err(format!("other bytes than before end at byte {}", self.bytes))
            }
            _ => Ok(()),
        }
    }
}

/// What is known of an earlier reading of a file, to read the same again.
#[derive(Debug)]
pub(crate) struct Before {
    state: Option<FileState>,
    disk_bytes: u64,
}

impl Before {
    /// Describes a reading of a file in the state `state`, of which `disk_bytes` bytes were read.
    pub(crate) fn new(state: Option<FileState>, disk_bytes: u64) -> Before {
        Before { state, disk_bytes }
    }

    /// Was nothing read?
    pub(crate) fn was_empty(&self) -> bool {
        self.disk_bytes == 0
    }

    /// Returns the state with which to read a file once more that is in state `now`: its earlier
    /// one. The error says what is different.
    pub(crate) fn state_again(
        &self,
        now: Option<FileState>,
    ) -> std::result::Result<Option<FileState>, String> {
        match (&self.state, now) {
            // A file of /proc or the like.
            (Some(then), Some(_)) if then.bytes == 0 && self.disk_bytes > 0 => Ok(None),
            (Some(then), Some(now)) => then.check(&now).map(|()| Some(then.clone())),
            (None, None) => Ok(None),
            _ => Err("another file has taken its place".to_owned()),
        }
    }
}

/// The error for an input that has changed since it was read first.
pub(crate) fn input_changed(shown: &str, why: &str) -> Error {
    Error::input(format!(
        "{shown}: the input has changed between the first and the second reading: {why}; run again \
         when nothing writes to it"
    ))
}

/// Is `file` on a file system whose files are generated while they are read?
///
/// Their sizes mean nothing: 0 in `/proc`, 4096 in `/sys`.
#[cfg(target_os = "linux")]
fn is_made_up(file: &File) -> bool {
    // From linux/magic.h: PROC_SUPER_MAGIC and SYSFS_MAGIC.
    rustix::fs::fstatfs(file).is_ok_and(|found| matches!(found.f_type, 0x9fa0 | 0x6265_6572))
}

/// Is `file` on a file system whose files are generated while they are read?
#[cfg(not(target_os = "linux"))]
fn is_made_up(_: &File) -> bool {
    false
}
