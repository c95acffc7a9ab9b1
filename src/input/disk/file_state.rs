//! How a file was when it was opened, to tell whether it is still the same.

use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::time::SystemTime;

use ahash::RandomState;

use crate::error::Error;

/// Bytes before the end of a file that are to be the same when it is read again. Reason: a
/// file that was emptied and has grown beyond its size since, as logs are rotated, is not told
/// by sizes and times.
const END_BYTES: u64 = 4096;

/// How a regular file was when it was opened: to tell whether it is still the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: Option<SystemTime>,
    /// When the file was made, where the file system tells: a new file may get the number of one
    /// that is gone.
    made: Option<SystemTime>,
    /// A hash of the last [`END_BYTES`] of the file, or of all it has, when it had been read;
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

    /// Returns how long the file was, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns what [`FileState::end`] of `file`, whose state this is, is by now.
    fn end_of(&self, file: &File) -> Option<u64> {
        let mut end = [0; END_BYTES as usize];
        let end = &mut end[..self.bytes.min(END_BYTES) as usize];
        file.read_exact_at(end, self.bytes - end.len() as u64).ok()?;
        Some(RandomState::with_seeds(1, 2, 3, 4).hash_one(&*end))
    }

    /// Checks that a file of state `now` begins with what it had in this one, as far as the system
    /// knows: it may have grown. Otherwise says what is different.
    fn check(&self, now: &FileState) -> std::result::Result<(), String> {
        let is_same_number = (self.device, self.inode) == (now.device, now.inode);
        // Some file systems number their files anew now and then.
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

    /// Notes what `file` ends with, now that it was read, or checks that it still is what an
    /// earlier reading has noted. Failure: what is different.
    pub(crate) fn finish(&mut self, file: &File) -> std::result::Result<(), String> {
        if self.end.is_none() {
            self.end = self.end_of(file);
            return Ok(());
        }
        self.check_end(file)
    }

    /// Checks that `file` still has the end that it had when it was read.
    pub(crate) fn check_end(&self, file: &File) -> std::result::Result<(), String> {
        // What cannot be read, or is cut short in this moment, will be told when it is to be read.
        match self.end.zip(self.end_of(file)) {
            Some((then, now)) if then != now => {
                Err(format!("other bytes than before end at byte {}", self.bytes))
            }
            _ => Ok(()),
        }
    }
}

/// What is known of an earlier reading of a file, to ask for it again.
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

    /// Tells whether nothing was read.
    pub(crate) fn was_empty(&self) -> bool {
        self.disk_bytes == 0
    }

    /// Returns the state by which a file that is in state `now` is to be read once more: as it was
    /// then. Failure: what is different.
    pub(crate) fn state_again(
        &self,
        now: Option<FileState>,
    ) -> std::result::Result<Option<FileState>, String> {
        match (&self.state, now) {
            // Made up while it is read.
            (Some(then), Some(_)) if then.bytes == 0 && self.disk_bytes > 0 => Ok(None),
            (Some(then), Some(now)) => then.check(&now).map(|()| Some(then.clone())),
            (None, None) => Ok(None),
            _ => Err("another file has taken its place".to_owned()),
        }
    }
}

/// The error of an input that is not what it was when it was read first.
pub(crate) fn input_changed(shown: &str, why: &str) -> Error {
    Error::input(format!(
        "{shown}: the input has changed between the first and the second reading: {why}; run again \
         when nothing writes to it"
    ))
}

/// Is `file` on a file system whose files are made up while they are read?
///
/// Their sizes mean nothing: 0 in `/proc`, 4096 in `/sys`.
#[cfg(target_os = "linux")]
fn is_made_up(file: &File) -> bool {
    // From linux/magic.h: PROC_SUPER_MAGIC and SYSFS_MAGIC.
    rustix::fs::fstatfs(file).is_ok_and(|found| matches!(found.f_type, 0x9fa0 | 0x6265_6572))
}

/// Is `file` on a file system whose files are made up while they are read?
#[cfg(not(target_os = "linux"))]
fn is_made_up(_: &File) -> bool {
    false
}
