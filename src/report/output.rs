//! Where results go: standard output, or a file that is there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::disk::{DiskFile, Pages};
use super::encoder::Encoder;
use super::pending::{Pending, folder_of};
use super::results::Results;
use crate::crew::Crew;
use crate::error::{Error, Result};

/// The files of one run: nothing is written over an input, and no two results go to one place.
#[derive(Debug, Default)]
pub struct Claims {
    inputs: Vec<PathBuf>,
    outputs: Vec<PathBuf>,
    crew: Option<Crew>,
}

impl Claims {
    /// No results yet; `inputs` are all the files that are read.
    pub fn new(inputs: &[PathBuf]) -> Claims {
        Claims { inputs: inputs.to_vec(), outputs: Vec::new(), crew: None }
    }

    /// Packs zstd output with the help of `crew`: the same bytes, sooner.
    #[must_use]
    pub fn pack_with(mut self, crew: impl Into<Option<Crew>>) -> Claims {
        self.crew = crew.into();
        self
    }

    /// Opens `path` for a result that a later run reads as it is, and nobody else: if it is new, others may not
    /// read it.
    ///
    /// Failure: as [`Claims::open`], and a configuration error if it is named as packed files are.
    pub fn open_private(&mut self, path: &Path) -> Result<Output> {
        if Encoder::packs(path) {
            return Err(Error::config(format!(
                "{}: such a file is not packed; name it without {}",
                path.display(),
                Encoder::SUFFIXES
            )));
        }
        self.open_with(path, Some(0o600))
    }

    /// Opens `path` for a result; without a path, standard output.
    ///
    /// Failure: a configuration error if it is an input, or another result goes there.
    pub fn open(&mut self, path: Option<&Path>) -> Result<Output> {
        self.open_with(path.unwrap_or(Path::new("-")), None)
    }

    /// The same, where a new file gets the permissions `new_mode` if there are any.
    fn open_with(&mut self, path: &Path, new_mode: Option<u32>) -> Result<Output> {
        let name = path.display();
        let is_stdout = path == "-" || open_number(path) == Some(1);
        let place = if is_stdout { PathBuf::from("-") } else { place_of(path) };
        if !is_stdout && self.inputs.iter().any(|input| is_same_file(input, path)) {
            return Err(Error::config(format!(
                "{name}: is an input as well; write to another file and rename it"
            )));
        }
        // Devices take any number of results.
        let is_device = fs::metadata(path).is_ok_and(|meta| !meta.is_file());
        if self.outputs.contains(&place) && (is_stdout || !is_device) {
            return Err(Error::config(format!(
                "{}: two results would go there; name another file for one of them",
                if is_stdout { "standard output".to_string() } else { name.to_string() }
            )));
        }
        self.outputs.push(place);
        match is_stdout {
            true => Ok(Output::stdout()),
            false => Output::file(path, new_mode, self.crew.clone()),
        }
    }
}

/// Where a file of this name is, or would be: links are followed, also those that lead to nothing yet.
fn place_of(path: &Path) -> PathBuf {
    if let Ok(there) = fs::canonicalize(path) {
        return there;
    }
    let mut path = path.to_path_buf();
    // As many as the system follows. The link of an open pipe leads to no name, and yet to something.
    for _ in 0..40 {
        if fs::metadata(&path).is_ok() {
            break;
        }
        let Ok(target) = fs::read_link(&path) else { break };
        path = folder_of(&path).join(target);
    }
    let folder = fs::canonicalize(folder_of(&path)).unwrap_or_else(|_| folder_of(&path).into());
    path.file_name().map_or(folder.clone(), |name| folder.join(name))
}

/// Are both there, and the same regular file?
fn is_same_file(a: &Path, b: &Path) -> bool {
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

/// Results on their way out, in large writes.
///
/// A file is written without a name, in the folder where it will be, and gets its name when it is published
/// (`pending.rs`). The suffix of the name says whether it is packed, and by what (`encoder.rs`).
pub struct Output {
    name: String,
    buffer: Pages,
    encoder: Encoder,
    /// The file that has yet to get its name.
    pending: Option<Pending>,
    /// Is it the null device? Then nothing is gathered or handed on.
    is_null: bool,
    /// Are there other things to be done while the disk writes?
    leaves_writing: bool,
}

/// Bytes that are handed on at once.
const BUFFER_BYTES: usize = 1 << 20;

impl Output {
    /// Standard output.
    pub fn stdout() -> Output {
        let stdout = io::stdout();
        let encoder = if io::IsTerminal::is_terminal(&stdout) {
            Encoder::Terminal(stdout)
        } else {
            Encoder::Plain(Box::new(stdout))
        };
        let is_null = rustix::fs::fstat(io::stdout()).is_ok_and(|stat| is_null(&stat));
        Output { is_null, ..Output::to("standard output".to_string(), encoder, None) }
    }

    /// The file `path`, with the permissions `new_mode` if it is new and there are any. `crew` may pack it.
    fn file(path: &Path, new_mode: Option<u32>, crew: Option<Crew>) -> Result<Output> {
        let name = path.display().to_string();
        if open_number(path) == Some(2) {
            return Ok(Output::to(name, Encoder::Plain(Box::new(io::stderr())), None));
        }
        // A link stays a link: what it leads to is replaced.
        let given = path;
        let path = &place_of(path);
        let existing = fs::metadata(path).ok();
        if existing.is_none() && fs::symlink_metadata(path).is_ok() {
            return Err(Error::writing(&name, Errno::LOOP.into()));
        }
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(Error::config(format!("{name}: is a folder; name a file in it")));
        }
        let (file, pending) = match existing {
            // A device or a pipe has no content to protect, and an open file is gone on with.
            Some(existing) if is_open_file(&name) || !existing.is_file() => {
                let file = match open_number(given).and_then(duplicate) {
                    Some(file) => Ok(file),
                    None => OpenOptions::new().append(true).open(given),
                };
                let file = file.map_err(|error| Error::writing(&name, error))?;
                if rustix::fs::fstat(&file).is_ok_and(|stat| is_null(&stat)) {
                    let output = Output::to(name, Encoder::Plain(Box::new(file)), None);
                    return Ok(Output { is_null: true, ..output });
                }
                (file, None)
            }
            existing => Pending::open(path, existing.map(|meta| meta.mode()).or(new_mode))
                .and_then(|pending| Ok((pending.file()?, Some(pending))))
                .map_err(|error| Error::writing(&name, error))?,
        };
        let plain: Box<dyn Write + Send> = match pending {
            Some(_) => Box::new(DiskFile::new(file)),
            None => Box::new(file),
        };
        let encoder = Encoder::of(path, plain, crew);
        Ok(Output::to(name, encoder, pending))
    }

    fn to(name: String, encoder: Encoder, pending: Option<Pending>) -> Output {
        let buffer = Pages::new(BUFFER_BYTES);
        Output { name, buffer, encoder, pending, is_null: false, leaves_writing: false }
    }

    /// Checks that bytes can go out as they are: no text for a terminal, not packed on their way.
    /// `what` asks for it.
    pub(super) fn check_binary(&self, what: &str) -> Result<()> {
        match self.encoder {
            Encoder::Plain(_) => Ok(()),
            Encoder::Terminal(_) => Err(Error::config(format!(
                "{what}: is nothing for a terminal; name a file with -o"
            ))),
            _ => Err(Error::config(format!(
                "{}: {what} is packed by itself; leave {} out of the name",
                self.name,
                Encoder::SUFFIXES
            ))),
        }
    }

    /// Does all that is written go nowhere? Then it need not be.
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
                // More is to come.
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

    /// Writes `bytes`, which are many, as they are: nothing is gathered but for a disk.
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

    /// Does the file take whole buffers, cut wherever, better than whole lines?
    fn goes_by_pages(&self) -> bool {
        !self.leaves_writing && self.pending.is_some() && matches!(self.encoder, Encoder::Plain(_))
    }

    /// Leaves it to the system to write what comes from now on: for somebody who has to read files
    /// in between, and would wait for the disk twice.
    pub fn leave_writing(&mut self) {
        self.leaves_writing = true;
    }

    /// Writes `text` and `separator`.
    #[inline]
    pub fn line(&mut self, text: &[u8], separator: u8) -> Result<()> {
        self.write(text)?;
        self.write(&[separator])
    }

    /// Hands on what has been written so far, if somebody may be waiting for it.
    pub fn pass_on(&mut self) -> Result<()> {
        if self.pending.is_some() {
            return Ok(());
        }
        self.empty_buffer()?;
        self.encoder.pass_on().map_err(|error| Error::writing(&self.name, error))
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
    /// For a run with one result; those of others are gathered in [`Results`].
    pub fn publish(self) -> Result<()> {
        let mut results = Results::default();
        results.finish(self)?;
        results.publish()
    }

    /// Writes the rest. Returns the file that has yet to get its name, if it is one, and what errors call it.
    pub(super) fn finish(mut self) -> Result<Option<(String, Pending)>> {
        self.empty_buffer()?;
        let finished = self.encoder.finish();
        let finished =
            finished.and_then(|()| self.pending.as_ref().map_or(Ok(()), Pending::finish));
        finished.map_err(|error| Error::writing(&self.name, error))?;
        Ok(self.pending.map(|pending| (self.name, pending)))
    }
}

/// Is `name` one that the system has for a file that is open already?
fn is_open_file(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    matches!(
        parts[..],
        ["", "dev", "stdout" | "stderr"] | ["", "dev", "fd", _] | ["", "proc", _, "fd", _]
    )
}

/// The number by which this process has the file open, if `path` is a name for that.
fn open_number(path: &Path) -> Option<u32> {
    match path.to_str()? {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        name => {
            let number = name.strip_prefix("/dev/fd/").or(name.strip_prefix("/proc/self/fd/"))?;
            number.parse().ok()
        }
    }
}

/// Another handle to the open file of this `number`, if it can be written to: opened again by its name, it
/// would have a position of its own, and write over what others write. `None` where the system cannot.
fn duplicate(number: u32) -> Option<File> {
    let process = pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).ok()?;
    let number = i32::try_from(number).ok()?;
    let file = pidfd_getfd(process, number, PidfdGetfdFlags::empty()).ok()?;
    let flags = rustix::fs::fcntl_getfl(&file).ok()?;
    flags.intersects(OFlags::WRONLY | OFlags::RDWR).then(|| File::from(file))
}

/// Is this the device that takes everything and keeps nothing?
fn is_null(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
        && rustix::fs::stat("/dev/null").is_ok_and(|null| null.st_rdev == stat.st_rdev)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        fs::write(&path, "old").unwrap();
        let mut output = Output::file(&path, None, None).unwrap();
        output.line(b"new", b'\n').unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(output);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let mut output = Output::file(&path, None, None).unwrap();
        let long = vec![b'x'; 3 * BUFFER_BYTES];
        output.line(b"new", b'\n').unwrap();
        output.write(&long).unwrap();
        output.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), [b"new\n", &long[..]].concat());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_left_to_the_system_comes_behind_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let mut output = Output::file(&path, None, None).unwrap();
        let [first, second] = [vec![b'a'; BUFFER_BYTES + 9], vec![b'b'; 2 * BUFFER_BYTES]];
        output.write(&first).unwrap();
        assert!(output.goes_by_pages());
        output.leave_writing();
        assert!(!output.goes_by_pages());
        output.line(b"a line", b'\n').unwrap();
        output.write(&second).unwrap();
        output.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), [&first[..], b"a line\n", &second].concat());
    }

    #[test]
    fn a_file_in_memory_is_replaced() {
        // Not every system has such a folder.
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
        let path = folder.path().join("out.txt");
        for text in [&b"old and long"[..], b"new"] {
            let mut output = Output::file(&path, None, None).unwrap();
            output.write(text).unwrap();
            output.publish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), text);
        }
    }

    #[test]
    fn what_is_open_already_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        fs::write(&path, "old ").unwrap();
        let open = File::open(&path).unwrap();
        let number = open.as_raw_fd();
        for name in [format!("/dev/fd/{number}"), format!("/proc/self/fd/{number}")] {
            let mut output = Output::file(Path::new(&name), None, None).unwrap();
            output.write(b"new ").unwrap();
            output.publish().unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), b"old new new ");
        let mut open = File::create(&path).unwrap();
        let name = format!("/dev/fd/{}", open.as_raw_fd());
        for text in [&b"before "[..], b"after "] {
            open.write_all(text).unwrap();
            let mut output = Output::file(Path::new(&name), None, None).unwrap();
            output.write(b"result ").unwrap();
            output.publish().unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), b"before result after result ");
        let (mut reader, writer) = io::pipe().unwrap();
        let name = format!("/dev/fd/{}", writer.as_raw_fd());
        let mut output = Claims::new(&[]).open(Some(Path::new(&name))).unwrap();
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
        let mut output = Output::file(&link, None, None).unwrap();
        output.write(b"new").unwrap();
        output.publish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        let round = folder.path().join("round");
        std::os::unix::fs::symlink("round", &round).unwrap();
        assert!(Claims::new(&[]).open(Some(&round)).err().unwrap().is_output());
        // Nor is one replaced that leads to no file yet.
        let (later, link) = (folder.path().join("later"), folder.path().join("link to later"));
        std::os::unix::fs::symlink("later", &link).unwrap();
        let mut claims = Claims::new(&[]);
        claims.open(Some(&link)).unwrap().publish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && later.is_file());
        assert!(claims.open(Some(&later)).err().unwrap().is_config());
        let mut null = Output::file(Path::new("/dev/null"), None, None).unwrap();
        null.write(b"nothing of this is gathered").unwrap();
        assert!(null.is_null && null.buffer.bytes().is_empty());
        null.publish().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn inputs_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.txt");
        fs::write(&path, "x").unwrap();
        let inputs = [folder.path().join("./in.txt")];
        let refused = |path: &Path| Claims::new(&inputs).open(Some(path)).err().unwrap();
        assert!(refused(&path).is_config());
        assert!(refused(folder.path()).is_config());
        assert!(refused(&folder.path().join("missing/out.txt")).is_output());
    }

    #[test]
    fn two_results_need_two_places() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        let mut claims = Claims::new(&[]);
        let _first = claims.open(Some(&path)).unwrap();
        assert!(claims.open(Some(&folder.path().join("./out.txt"))).err().unwrap().is_config());
        let _stdout = claims.open(None).unwrap();
        assert!(claims.open(Some(Path::new("-"))).err().unwrap().is_config());
        let null = Path::new("/dev/null");
        assert!(claims.open(Some(null)).is_ok() && claims.open(Some(null)).is_ok());
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
            let mut output = Output::file(&path, None, None).unwrap();
            output.write(b"hello").unwrap();
            output.publish().unwrap();
            assert!(fs::read(&path).unwrap().starts_with(magic), "{name}");
        }
    }
}
