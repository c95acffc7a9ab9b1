//! The registry of a run's paths: no output is written over an input, and no two outputs go to one
//! place.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::Output;
use super::encoder::Encoder;
use super::pending::folder_of;
use super::place::{is_open_file, open_number, place_of};
use super::threads::OutputThreads;
use crate::bytes::show_path;
use crate::error::{Error, Result};

/// The paths that one run has claimed, for inputs and outputs. Opens the outputs: none is written
/// over an input, and no two go to one place.
#[derive(Debug, Default)]
pub struct ClaimedPaths {
    inputs: Vec<PathBuf>,
    outputs: Vec<Place>,
    /// The names, safe to print, of those results that are files.
    files: Vec<String>,
    threads: OutputThreads,
}

impl ClaimedPaths {
    /// Begins without outputs. `inputs` are the files that are read.
    pub fn new(inputs: &[PathBuf]) -> ClaimedPaths {
        ClaimedPaths { inputs: inputs.to_vec(), ..ClaimedPaths::default() }
    }

    /// Adds `files` to the inputs.
    pub fn protect(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        self.inputs.extend(files);
    }

    /// Makes the outputs that are opened from now on use `threads`. The bytes stay the same.
    pub fn set_threads(&mut self, threads: OutputThreads) {
        self.threads = threads;
    }

    /// Returns the names of the outputs so far that are files, safe to print, in the order in which
    /// they were opened. These appear complete or not at all; devices, pipes and standard output
    /// are not among them.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Opens `path` for a result that only later runs read. A new file is not readable by other
    /// users.
    ///
    /// Failure: as [`ClaimedPaths::open`] and [`ClaimedPaths::check_private`].
    pub fn open_private(&mut self, path: &Path) -> Result<Output> {
        ClaimedPaths::check_private(path)?;
        self.open_with(path, Some(0o600))
    }

    /// Checks, without opening it, that `path` can be read, and replaced as a whole later: it is a
    /// regular file, or does not exist yet.
    ///
    /// Failure: a configuration error if it is something else, a name for an open file, or has the
    /// suffix of a compressed file.
    pub fn check_private(path: &Path) -> Result<()> {
        // Such a name stands for an open file, which is appended to, not replaced.
        let is_stream = path.as_os_str() == "-" || is_open_file(path);
        let found = match fs::metadata(path) {
            _ if is_stream => Some("a standard stream, or another that is open already"),
            Ok(meta) => what_is_no_file(&meta),
            // Does not exist, or cannot be examined: opening it will report that.
            Err(_) => None,
        };
        if let Some(found) = found {
            return Err(Error::config(format!(
                "{}: expected a regular file, or a name for a new one, found {found}, which cannot be \
                 replaced when the run is done; name a file",
                show_path(path)
            )));
        }
        if Encoder::compresses(path) {
            return Err(Error::config(format!(
                "{}: such a file is not compressed; name it without {}",
                show_path(path),
                Encoder::SUFFIXES
            )));
        }
        Ok(())
    }

    /// Opens `path` for a result; without a path, or if it is `-`, standard output. (A file of that
    /// name is `./-`.)
    ///
    /// Failure: a configuration error if it is an input, or another result goes there.
    pub fn open(&mut self, path: Option<&Path>) -> Result<Output> {
        self.open_with(path.unwrap_or(Path::new("-")), None)
    }

    /// Opens `path` for a result, as [`ClaimedPaths::open`] does; a new file gets the permissions
    /// `new_mode`, if given.
    fn open_with(&mut self, path: &Path, new_mode: Option<u32>) -> Result<Output> {
        let name = show_path(path);
        let is_stdout = path.as_os_str() == "-" || open_number(path) == Some(1);
        let place = if is_stdout { Place::stdout() } else { Place::of(place_of(path)) };
        let written = if is_stdout { Path::new("/dev/stdout") } else { path };
        if self.inputs.iter().any(|input| is_same_file(input, written)) {
            return Err(Error::config(format!(
                "{}: is an input as well; write to another file and rename it",
                if is_stdout { "standard output".to_string() } else { name.to_string() }
            )));
        }
        // A device may take several results.
        let is_device = fs::metadata(path).is_ok_and(|meta| !meta.is_file());
        if self.outputs.contains(&place) && (is_stdout || !is_device) {
            return Err(Error::config(format!(
                "{}: two results would go there; name another file for one of them",
                if is_stdout { "standard output".to_string() } else { name.to_string() }
            )));
        }
        // An open file may be appended to by both (`> log 2>&1`).
        let is_replaced = !is_stdout && !is_open_file(path);
        if is_replaced && place.file.is_some() && place.file == regular_file(io::stderr()) {
            return Err(Error::config(format!(
                "{name}: standard error goes there as well; name another file for one of them"
            )));
        }
        self.outputs.push(place);
        if path.as_os_str() != "-" && !is_device {
            self.files.push(name.to_string());
        }
        match is_stdout {
            true => Output::stdout(),
            false => Output::file(path, new_mode, self.threads.clone()),
        }
    }
}

/// Where a result goes. One folder may have two names (bind mounts).
#[derive(Debug)]
struct Place {
    path: PathBuf,
    /// Device and inode of the folder.
    folder: Option<(u64, u64)>,
    /// Device and inode of the regular file that is there.
    file: Option<(u64, u64)>,
}

impl Place {
    fn of(path: PathBuf) -> Place {
        let folder = fs::metadata(folder_of(&path)).ok().map(|meta| (meta.dev(), meta.ino()));
        let file = fs::metadata(&path).ok().filter(fs::Metadata::is_file);
        Place { path, folder, file: file.map(|meta| (meta.dev(), meta.ino())) }
    }

    fn stdout() -> Place {
        Place { path: PathBuf::from("-"), folder: None, file: regular_file(io::stdout()) }
    }

    fn is_stdout(&self) -> bool {
        self.path.as_os_str() == "-"
    }
}

/// Describes what a file is, unless it is a regular file.
fn what_is_no_file(meta: &fs::Metadata) -> Option<&'static str> {
    match meta.file_type() {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a folder"),
        kind if kind.is_fifo() => Some("a pipe"),
        kind if kind.is_socket() => Some("a socket"),
        _ => Some("a device"),
    }
}

/// Device and inode of the open `file`, if it is a regular file.
fn regular_file(file: impl AsFd) -> Option<(u64, u64)> {
    let stat = rustix::fs::fstat(file).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
        .then_some((stat.st_dev, stat.st_ino))
}

impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        let is_same_folder = self.folder.is_some() && self.folder == other.folder;
        // Standard output is the file that it was redirected to, by whatever name.
        let is_same_file = self.file.is_some() && self.file == other.file;
        self.path == other.path
            || is_same_folder && self.path.file_name() == other.path.file_name()
            || is_same_file && (self.is_stdout() || other.is_stdout())
    }
}

/// Do both exist, and are they the same regular file? `-` is standard input.
fn is_same_file(input: &Path, b: &Path) -> bool {
    let a = if input.as_os_str() == "-" { Path::new("/dev/stdin") } else { input };
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.txt");
        fs::write(&path, "x").unwrap();
        let inputs = [folder.path().join("./in.txt")];
        let refused = |path: &Path| ClaimedPaths::new(&inputs).open(Some(path)).err().unwrap();
        assert!(refused(&path).is_config());
        assert!(refused(folder.path()).is_config());
        assert!(refused(&folder.path().join("missing/out.txt")).is_output());
    }

    #[test]
    fn two_results_need_two_places() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let mut claims = ClaimedPaths::new(&[]);
        let _first = claims.open(Some(&path)).unwrap();
        assert!(claims.open(Some(&folder.path().join("./out.txt"))).err().unwrap().is_config());
        let _stdout = claims.open(None).unwrap();
        assert!(claims.open(Some(Path::new("-"))).err().unwrap().is_config());
        // One folder by two names, as a bind mount gives it.
        let [one, other] = ["a/x", "b/x"].map(|path| Place::of(path.into()));
        assert_ne!(one, other);
        let folder = Some((1, 2));
        assert_eq!(Place { folder, ..one }, Place { folder, ..other });
        let null = Path::new("/dev/null");
        assert!(claims.open(Some(null)).is_ok() && claims.open(Some(null)).is_ok());
        assert_eq!(claims.files(), [path.to_str().unwrap()]);
    }
}
