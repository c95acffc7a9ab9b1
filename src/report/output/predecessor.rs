//! The file that a result continues, and whether it is still in its place.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::error::{Error, Result};

/// What was in the place of a result when it was read: a file, or none.
#[derive(Debug, PartialEq, Eq)]
pub struct Predecessor(Option<Identity>);

/// Identifies a file and its content: another file, or the same one after a write, differs.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl Identity {
    fn of(meta: &Metadata) -> Identity {
        let modified = (meta.mtime(), meta.mtime_nsec());
        Identity { device: meta.dev(), inode: meta.ino(), bytes: meta.len(), modified }
    }
}

impl Predecessor {
    /// No file.
    pub fn none() -> Predecessor {
        Predecessor(None)
    }

    /// What `path` leads to.
    pub(super) fn at(path: &Path) -> io::Result<Predecessor> {
        match fs::metadata(path) {
            Ok(meta) => Ok(Predecessor(Some(Identity::of(&meta)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Predecessor(None)),
            Err(error) => Err(error),
        }
    }

    /// `file`, which is about to be read.
    pub fn of(file: &File) -> io::Result<Predecessor> {
        Ok(Predecessor(Some(Identity::of(&file.metadata()?))))
    }

    /// Checks that this is what is there `now`. Otherwise another run has published there, and what
    /// it has added would be lost.
    pub(super) fn check(&self, now: &Predecessor) -> Result<()> {
        if now == self {
            return Ok(());
        }
        Err(Error::output(format!(
            "expected {} as when this run began, found {}: another run has changed it; run again",
            if self.0.is_some() { "the file" } else { "no file" },
            if now.0.is_some() { "another" } else { "none" }
        )))
    }
}
