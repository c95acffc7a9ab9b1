//! Temporary files: without a name, so they vanish with the process, however it ends.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::bytes::show_path;
pub(super) use crate::cluster::damaged;
use crate::error::{Error, Result, Setting, is_file_too_large, is_too_many_files};
use crate::input::Mapped;

/// Makes a file in `folder`, to be written and read.
pub(super) fn open(folder: &Path) -> Result<File> {
    tempfile::tempfile_in(folder).map_err(|error| {
        let advice = match is_too_many_files(&error) {
            true => "; allow the process more of them (ulimit -n)".to_string(),
            false => format!("; name another folder with {}", Setting::TempDir),
        };
        Error::output(format!(
            "{}: cannot make a temporary file: {error}{advice}",
            show_path(folder)
        ))
    })
}

/// Makes some files in `folder`.
pub(super) fn open_some<const FILES: usize>(folder: &Path) -> Result<[File; FILES]> {
    let files = (0..FILES).map(|_| open(folder)).collect::<Result<Vec<File>>>()?;
    Ok(files.try_into().expect("so many were opened"))
}

/// Maps `file`, one of those in `folder`, which is not written any more. `None` if it is empty.
pub(super) fn map(folder: &Path, file: File) -> Result<Option<Mapped>> {
    let name = format!("a temporary file in {}", show_path(folder));
    Mapped::temporary(file, name).map_err(|error| {
        Error::output(format!(
            "{}: cannot map a temporary file into memory: {error}; name another folder with {}, or allow the \
             process more address space (ulimit -v)",
            show_path(folder),
            Setting::TempDir
        ))
    })
}

/// The error for a temporary file in `folder` that failed with `error`.
#[cold]
pub(super) fn failed(folder: &Path, error: io::Error) -> Error {
    // An error of our own, passed through `io`, has nothing to do with the folder.
    let error = match error.downcast::<Error>() {
        Ok(known) => return known,
        Err(error) => error,
    };
    let folder = show_path(folder);
    Error::output(match error.kind() {
        // More room on the disk would not help.
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => format!(
            "{folder}: cannot read a temporary file: it is not as it was written; name another folder \
             with {}, or raise {}",
            Setting::TempDir,
            Setting::Memory
        ),
        _ => format!(
            "{folder}: cannot write or read a temporary file: {error}; {}, or raise {}",
            match is_file_too_large(&error) {
                true => "allow the process larger files (ulimit -f)".to_string(),
                false => format!("make room there, name another folder with {}", Setting::TempDir),
            },
            Setting::Memory
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_what_went_wrong() {
        let told = |error: io::Error| failed(Path::new("t"), error).to_string();
        assert!(told(io::ErrorKind::StorageFull.into()).contains("; make room there, "));
        for error in [damaged(), io::ErrorKind::UnexpectedEof.into()] {
            let told = told(error);
            assert!(told.starts_with("t: cannot read a temporary file: it is not as"), "{told}");
            assert!(!told.contains("room"), "{told}");
        }
        assert_eq!(told(io::Error::other(Error::input("known"))), "known");
    }
}
