//! Where results go: standard output, or a file that appears complete or not at all.

mod claims;
mod disk;
mod early_sync;
mod encoder;
mod frames;
mod gzip;
mod pending;
mod place;
mod predecessor;
mod results;
#[cfg(test)]
#[path = "../../../tests/it/skipped.rs"]
mod skipped;
mod threads;

pub use claims::ClaimedPaths;
pub use predecessor::Predecessor;
pub use results::Results;
pub use threads::{OutputThreads, Syncing};

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, IsTerminal as _, Write};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{FileType, Stat};

use crate::bytes::show_path;
use crate::error::{Error, Result};
use crate::retry::RetryInterrupted;
use disk::{DiskFile, Pages};
use encoder::Encoder;
use pending::{Pending, folder_of};
use place::{duplicate, is_open_file, names_folder, open_number, place_of};

/// A result that is being written, in large writes.
///
/// A file is written without a name, in the folder where it will be, and gets its name when it is
/// published (`pending.rs`). The suffix of the name selects the compression (`encoder.rs`).
pub struct Output {
    name: String,
    buffer: Pages,
    encoder: Encoder,
    /// The file that has yet to get its name.
    pending: Option<Pending>,
    /// Is it the null device? Then nothing is buffered or written.
    is_null: bool,
    /// Is it written through the page cache, even where that could be bypassed?
    relies_on_page_cache: bool,
    /// Is syncing the file left to the system?
    leaves_syncing: bool,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Bytes that are written at once.
const BUFFER_BYTES: usize = 1 << 20;

impl Output {
    /// Standard output.
    pub fn stdout() -> Result<Output> {
        Output::stream("standard output", io::stdout().as_fd())
    }

    /// A stream of the caller, called `name` in messages. It gets large pieces, is flushed where a
    /// reader may wait for them, and is not closed before the output is published or dropped. What
    /// it has got cannot be taken back.
    pub fn to_writer(name: impl Into<String>, writer: impl Write + Send + 'static) -> Output {
        let writer = RetryInterrupted(Box::new(writer) as Box<dyn Write + Send>);
        Output::to(name.into(), Encoder::Plain(Box::new(writer)), None)
    }

    /// The open stream `file`. It is duplicated, because the handles of `std` ignore writes to a
    /// closed standard stream.
    fn stream(name: &str, file: BorrowedFd) -> Result<Output> {
        let file = file.try_clone_to_owned().map_err(|error| Error::writing(name, error))?;
        let is_null = rustix::fs::fstat(&file).is_ok_and(|stat| is_null(&stat));
        let encoder = Encoder::plain(File::from(file));
        Ok(Output { is_null, ..Output::to(name.to_string(), encoder, None) })
    }

    /// The file `path`; if it is new, with the permissions `new_mode`, if given. The `threads`
    /// compress it and make it durable.
    pub(super) fn file(
        path: &Path,
        new_mode: Option<u32>,
        threads: OutputThreads,
    ) -> Result<Output> {
        let name = show_path(path).to_string();
        if open_number(path) == Some(2) {
            return Output::stream(&name, io::stderr().as_fd());
        }
        // A link stays a link: its target is replaced.
        let given = path;
        let path = &place_of(path);
        let existing = match fs::metadata(path) {
            Ok(existing) => Some(existing),
            Err(_) if fs::symlink_metadata(path).is_err() => None,
            // A cycle of links, or an error of the disk.
            Err(error) => return Err(Error::writing(&name, error)),
        };
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) || names_folder(given) {
            return Err(Error::config(format!("{name}: is a folder; name a file in it")));
        }
        let (file, pending) = match existing {
            // A device or a pipe has no content to protect, and an open file is appended to.
            Some(existing) if is_open_file(given) || !existing.is_file() => {
                let file = match open_number(given).and_then(duplicate) {
                    Some(file) => Ok(file),
                    None => OpenOptions::new().append(true).open(given),
                };
                let file = file.map_err(|error| Error::writing(&name, error))?;
                if rustix::fs::fstat(&file).is_ok_and(|stat| is_null(&stat)) {
                    let output = Output::to(name, Encoder::plain(file), None);
                    return Ok(Output { is_null: true, ..output });
                }
                if file.is_terminal() {
                    return Ok(Output::to(name, Encoder::plain(file), None));
                }
                (file, None)
            }
            existing => Pending::open(path, existing.as_ref().map(Metadata::mode).or(new_mode))
                .and_then(|mut pending| {
                    existing.inspect(|old| pending.keep_owner(old));
                    Ok((pending.file()?, Some(pending)))
                })
                .map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound if !folder_of(path).exists() => Error::output(format!(
                        "{name}: cannot write: there is no folder {}; make it first",
                        show_path(folder_of(path))
                    )),
                    _ => Error::writing(&name, error),
                })?,
        };
        let is_left = pending.is_some() && matches!(threads.syncing, Syncing::LeftToSystem);
        let plain: Box<dyn Write + Send> = match (&pending, threads.syncing) {
            (Some(_), Syncing::AtEnd) => Box::new(DiskFile::new(file, None)),
            (Some(_), Syncing::Meanwhile(crew)) => Box::new(DiskFile::new(file, Some(crew))),
            (Some(_), Syncing::LeftToSystem) | (None, _) => Box::new(file),
        };
        let encoder = Encoder::of(path, plain, threads.compressors);
        let output = Output::to(name, encoder, pending);
        Ok(Output { relies_on_page_cache: is_left, leaves_syncing: is_left, ..output })
    }

    fn to(name: String, encoder: Encoder, pending: Option<Pending>) -> Output {
        let buffer = Pages::new(BUFFER_BYTES);
        Output {
            name,
            buffer,
            encoder,
            pending,
            is_null: false,
            relies_on_page_cache: false,
            leaves_syncing: false,
        }
    }

    /// Checks that binary data can be written here, as `what` requires: not to a terminal, and not
    /// compressed again.
    pub(super) fn check_binary(&self, what: &str) -> Result<()> {
        match self.encoder {
            Encoder::Plain(_) => Ok(()),
            Encoder::Terminal(_) => Err(Error::config(format!(
                "{what}: is nothing for a terminal; name a file with -o"
            ))),
            _ => Err(Error::config(format!(
                "{}: {what} is compressed by itself; leave {} out of the name",
                self.name,
                Encoder::SUFFIXES
            ))),
        }
    }

    /// Is everything that is written discarded? Then nothing needs to be written.
    pub fn is_null(&self) -> bool {
        self.is_null
    }

    /// Writes `bytes`.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.is_null {
            return Ok(());
        }
        if bytes.len() > self.buffer.left() {
            return self.write_past_buffer(bytes);
        }
        self.buffer.push(bytes);
        Ok(())
    }

    /// Writes `bytes`, for which the buffer has no room.
    #[cold]
    fn write_past_buffer(&mut self, mut bytes: &[u8]) -> Result<()> {
        if self.goes_by_pages() {
            while bytes.len() > self.buffer.left() {
                let (now, later) = bytes.split_at(self.buffer.left());
                self.buffer.push(now);
                self.empty_buffer()?;
                // More than one buffer: this is no short result.
                self.buffer.enlarge();
                bytes = later;
            }
        } else {
            self.empty_buffer()?;
            if bytes.len() > self.buffer.left() {
                return self.write_through(bytes);
            }
        }
        self.buffer.push(bytes);
        Ok(())
    }

    /// Writes `bytes`, of which there are many, past the buffer, unless the file takes whole pages.
    pub fn write_large(&mut self, bytes: &[u8]) -> Result<()> {
        if self.is_null {
            return Ok(());
        }
        if self.goes_by_pages() {
            return self.write(bytes);
        }
        self.empty_buffer()?;
        self.write_through(bytes)
    }

    /// Is it faster to write whole buffers, wherever they end, than whole lines?
    fn goes_by_pages(&self) -> bool {
        !self.relies_on_page_cache
            && self.pending.is_some()
            && matches!(self.encoder, Encoder::Plain(_))
    }

    /// From now on writes through the page cache, for a job that also reads files meanwhile, and
    /// would wait for the disk twice.
    pub fn rely_on_page_cache(&mut self) {
        self.relies_on_page_cache = true;
    }

    /// Writes `text` and `separator`.
    #[inline]
    pub fn write_line(&mut self, text: &[u8], separator: u8) -> Result<()> {
        self.write(text)?;
        self.write(&[separator])
    }

    /// Flushes what has been written so far, if a reader may be waiting for it: not for a file,
    /// which nobody sees before it is published.
    pub fn flush_if_streaming(&mut self) -> Result<()> {
        if self.pending.is_some() {
            return Ok(());
        }
        self.empty_buffer()?;
        self.encoder.flush_if_plain().map_err(|error| Error::writing(&self.name, error))
    }

    fn empty_buffer(&mut self) -> Result<()> {
        if !self.buffer.bytes().is_empty() {
            let written = self.encoder.write_all(self.buffer.bytes());
            self.buffer.clear();
            written.map_err(|error| Error::writing(&self.name, error))?;
        }
        Ok(())
    }

    fn write_through(&mut self, bytes: &[u8]) -> Result<()> {
        self.encoder.write_all(bytes).map_err(|error| Error::writing(&self.name, error))
    }

    /// Writes the rest and, for a file, gives it its name. Without this call there is no file.
    ///
    /// For a run with one result; [`Results`] publishes several together.
    pub fn publish(self) -> Result<()> {
        let mut results = Results::default();
        results.finish(self)?;
        results.publish().map(drop)
    }

    /// Writes the rest. For a file, returns its name in messages, and the file that has yet to get
    /// its name.
    pub(super) fn finish(mut self) -> Result<Option<(String, Pending)>> {
        self.empty_buffer()?;
        let finished = self.encoder.finish();
        let durable = self.pending.as_mut().filter(|_| !self.leaves_syncing);
        let finished = finished.and_then(|()| durable.map_or(Ok(()), Pending::finish));
        finished.map_err(|error| Error::writing(&self.name, error))?;
        Ok(self.pending.map(|pending| (self.name, pending)))
    }
}

/// Is this the device that takes everything and keeps nothing?
fn is_null(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
        && rustix::fs::stat("/dev/null").is_ok_and(|null| null.st_rdev == stat.st_rdev)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd as _;

    use super::skipped::skip;
    use super::*;
    use crate::report::ClaimedPaths;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        fs::write(&path, "old").unwrap();
        let mut output = Output::file(&path, None, OutputThreads::default()).unwrap();
        output.write_line(b"new", b'\n').unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(output);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let mut output = Output::file(&path, None, OutputThreads::default()).unwrap();
        let long = vec![b'x'; 3 * BUFFER_BYTES];
        output.write_line(b"new", b'\n').unwrap();
        output.write(&long).unwrap();
        output.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), [b"new\n", &long[..]].concat());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// Gives what it gets to a channel, in the pieces in which it came.
    struct Sender(std::sync::mpsc::Sender<Vec<u8>>);

    impl Write for Sender {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_stream_of_the_caller_gets_all_and_its_errors_are_those_of_the_output() {
        let (sender, pieces) = std::sync::mpsc::channel();
        let mut output = Output::to_writer("theirs", Sender(sender));
        output.write(b"a").unwrap();
        assert!(pieces.try_recv().is_err());
        output.flush_if_streaming().unwrap();
        assert_eq!(pieces.try_recv().unwrap(), b"a");
        output.write(b"b").unwrap();
        output.publish().unwrap();
        assert!(pieces.iter().eq([b"b"]));
        let (sender, pieces) = std::sync::mpsc::channel();
        let mut output = Output::to_writer("theirs", Sender(sender));
        drop(pieces);
        output.write(b"a").unwrap();
        let error = output.publish().unwrap_err();
        assert!(error.is_closed_pipe() && error.to_string().starts_with("theirs"), "{error}");
    }

    #[test]
    fn what_is_left_to_the_system_comes_after_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let mut output = Output::file(&path, None, OutputThreads::default()).unwrap();
        let [first, second] = [vec![b'a'; BUFFER_BYTES + 9], vec![b'b'; 2 * BUFFER_BYTES]];
        output.write(&first).unwrap();
        assert!(output.goes_by_pages());
        output.rely_on_page_cache();
        assert!(!output.goes_by_pages());
        output.write_line(b"a line", b'\n').unwrap();
        output.write(&second).unwrap();
        output.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), [&first[..], b"a line\n", &second].concat());
    }

    #[test]
    fn what_is_left_to_the_system_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        for pieces in [&[9, 2 * BUFFER_BYTES, 7][..], &[0], &[3]] {
            let threads =
                OutputThreads { syncing: Syncing::LeftToSystem, ..OutputThreads::default() };
            let mut output = Output::file(&path, None, threads).unwrap();
            for piece in pieces {
                output.write_large(&vec![b'a'; *piece]).unwrap();
            }
            assert!(!output.goes_by_pages() && output.leaves_syncing);
            output.publish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), vec![b'a'; pieces.iter().sum()]);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_in_memory_is_replaced() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
            return skip("no folder can be made in /dev/shm");
        };
        let path = folder.path().join("out.txt");
        for text in [&b"old and long"[..], b"new"] {
            let mut output = Output::file(&path, None, OutputThreads::default()).unwrap();
            output.write(text).unwrap();
            output.publish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), text);
        }
    }

    #[test]
    fn an_open_file_is_appended_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        fs::write(&path, "old ").unwrap();
        let open = File::open(&path).unwrap();
        let number = open.as_raw_fd();
        for name in [format!("/dev/fd/{number}"), format!("/proc/self/fd/{number}")] {
            let mut output =
                Output::file(Path::new(&name), None, OutputThreads::default()).unwrap();
            output.write(b"new ").unwrap();
            output.publish().unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), b"old new new ");
        let mut open = File::create(&path).unwrap();
        let name = format!("/dev/fd/{}", open.as_raw_fd());
        for text in [&b"before "[..], b"after "] {
            open.write_all(text).unwrap();
            let mut output =
                Output::file(Path::new(&name), None, OutputThreads::default()).unwrap();
            output.write(b"result ").unwrap();
            output.publish().unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), b"before result after result ");
        let (mut reader, writer) = io::pipe().unwrap();
        let name = format!("/dev/fd/{}", writer.as_raw_fd());
        let mut output = ClaimedPaths::new(&[]).open(Some(Path::new(&name))).unwrap();
        drop(writer);
        output.write(b"result").unwrap();
        output.publish().unwrap();
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "result");
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let mut output = Output::file(&link, None, OutputThreads::default()).unwrap();
        output.write(b"new").unwrap();
        output.publish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        let round = folder.path().join("round");
        std::os::unix::fs::symlink("round", &round).unwrap();
        assert!(ClaimedPaths::new(&[]).open(Some(&round)).err().unwrap().is_output());
        // Nor is one replaced that leads to no file yet.
        let (later, link) = (folder.path().join("later"), folder.path().join("link to later"));
        std::os::unix::fs::symlink("later", &link).unwrap();
        let mut claims = ClaimedPaths::new(&[]);
        claims.open(Some(&link)).unwrap().publish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && later.is_file());
        assert!(claims.open(Some(&later)).err().unwrap().is_config());
        let mut null =
            Output::file(Path::new("/dev/null"), None, OutputThreads::default()).unwrap();
        null.write(b"nothing of this is gathered").unwrap();
        assert!(null.is_null && null.buffer.bytes().is_empty());
        null.publish().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn suffixes_compress() {
        let folder = tempfile::tempdir().unwrap();
        for (name, magic) in [
            ("a.zst", &[0x28, 0xb5][..]),
            ("a.gz", &[0x1f, 0x8b]),
            ("a.bz2", b"BZh"),
            ("a.xz", &[0xfd, 0x37]),
            ("a.lz4", &[0x04, 0x22]),
            ("a", b"he"),
        ] {
            let path = folder.path().join(name);
            let mut output = Output::file(&path, None, OutputThreads::default()).unwrap();
            output.write(b"hello").unwrap();
            output.publish().unwrap();
            assert!(fs::read(&path).unwrap().starts_with(magic), "{name}");
        }
    }
}
