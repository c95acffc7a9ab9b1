//! Where results go: standard output, or a file that is there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};

use crate::error::{Error, Result};

/// Results on their way out, in large writes.
///
/// A file is written without a name, in the folder where it will be, and gets its name in
/// [`Output::publish`] alone: until then the old file is untouched, and nothing is left behind
/// however the process ends. A name that ends in `.zst` or `.gz` is written compressed.
pub struct Output {
    name: String,
    buffer: Vec<u8>,
    encoder: Encoder,
    /// The file that has yet to get its name.
    pending: Option<Pending>,
}

/// Bytes that are handed on at once.
const BUFFER_BYTES: usize = 1 << 20;

enum Encoder {
    Plain(Box<dyn Write + Send>),
    Zstd(zstd::stream::write::Encoder<'static, Box<dyn Write + Send>>),
    Gzip(flate2::write::GzEncoder<Box<dyn Write + Send>>),
}

struct Pending {
    file: File,
    path: PathBuf,
    /// The name the file has meanwhile, where the system has no unnamed files.
    temporary: Option<tempfile::TempPath>,
}

impl Output {
    /// Standard output.
    pub fn stdout() -> Output {
        Output::to("standard output".to_string(), Encoder::Plain(Box::new(io::stdout())), None)
    }

    /// Memory that nobody looks at: for jobs that only count.
    pub fn sink() -> Output {
        Output::to("nowhere".to_string(), Encoder::Plain(Box::new(io::sink())), None)
    }

    /// The file `path`, which must not be one of `inputs`; `-` is standard output.
    pub fn file(path: &Path, inputs: &[PathBuf]) -> Result<Output> {
        let name = path.display().to_string();
        // Opened again, these would have a position of their own.
        match name.as_str() {
            "-" | "/dev/stdout" => return Ok(Output::stdout()),
            "/dev/stderr" => {
                return Ok(Output::to(name, Encoder::Plain(Box::new(io::stderr())), None));
            }
            _ => {}
        }
        // A link stays a link: what it leads to is replaced.
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let is_special = name.starts_with("/dev/") || name.starts_with("/proc/");
        let existing = fs::metadata(path).ok();
        if let Some(existing) = &existing {
            let is_same = |input: &PathBuf| {
                fs::metadata(input)
                    .is_ok_and(|meta| (meta.dev(), meta.ino()) == (existing.dev(), existing.ino()))
            };
            if existing.is_file() && inputs.iter().any(is_same) {
                return Err(Error::config(format!(
                    "{name}: is an input as well; write to another file and rename it"
                )));
            }
            if existing.is_dir() {
                return Err(Error::config(format!("{name}: is a folder; name a file in it")));
            }
        }
        let (file, pending) = match existing {
            // A device or a pipe has no content to protect.
            Some(existing) if is_special || !existing.is_file() => {
                let file = OpenOptions::new().append(true).open(&name);
                (file.map_err(|error| Error::writing(&name, error))?, None)
            }
            existing => open_unnamed(path, existing.map(|meta| meta.mode()))
                .map(|pending| pending.file.try_clone().map(|file| (file, Some(pending))))
                .and_then(|result| result)
                .map_err(|error| Error::writing(&name, error))?,
        };
        let plain: Box<dyn Write + Send> = Box::new(file);
        let encoder = match path.extension().and_then(|suffix| suffix.to_str()) {
            Some("zst") => Encoder::Zstd(
                zstd::stream::write::Encoder::new(plain, 0)
                    .map_err(|error| Error::writing(&name, error))?,
            ),
            Some("gz") => {
                Encoder::Gzip(flate2::write::GzEncoder::new(plain, flate2::Compression::default()))
            }
            _ => Encoder::Plain(plain),
        };
        Ok(Output::to(name, encoder, pending))
    }

    fn to(name: String, encoder: Encoder, pending: Option<Pending>) -> Output {
        Output { name, buffer: Vec::with_capacity(BUFFER_BYTES), encoder, pending }
    }

    /// Writes `bytes`.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.empty_buffer()?;
            if bytes.len() > BUFFER_BYTES {
                return self.write_through(bytes);
            }
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes `text` and `separator`.
    #[inline]
    pub fn line(&mut self, text: &[u8], separator: u8) -> Result<()> {
        self.write(text)?;
        self.write(&[separator])
    }

    /// Hands on what has been written so far, if somebody may be waiting for it.
    pub fn pass_on(&mut self) -> Result<()> {
        if self.pending.is_none() { self.empty_buffer() } else { Ok(()) }
    }

    fn empty_buffer(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        self.write_through(&buffer)?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    fn write_through(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &mut self.encoder {
            Encoder::Plain(writer) => writer.write_all(bytes),
            Encoder::Zstd(writer) => writer.write_all(bytes),
            Encoder::Gzip(writer) => writer.write_all(bytes),
        };
        written.map_err(|error| Error::writing(&self.name, error))
    }

    /// Writes the rest and, for a file, gives it its name. Without this call there is no file.
    pub fn publish(mut self) -> Result<()> {
        self.empty_buffer()?;
        let name = self.name;
        let finish = || -> io::Result<()> {
            let mut writer = match self.encoder {
                Encoder::Plain(writer) => writer,
                Encoder::Zstd(writer) => writer.finish()?,
                Encoder::Gzip(writer) => writer.finish()?,
            };
            writer.flush()?;
            self.pending.map_or(Ok(()), Pending::publish)
        };
        finish().map_err(|error| Error::writing(name, error))
    }
}

/// A file without a name, in the folder of `path`.
fn open_unnamed(path: &Path, mode: Option<u32>) -> io::Result<Pending> {
    let folder = folder_of(path);
    let mode = Mode::from_raw_mode(mode.unwrap_or(0o666) & 0o777);
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, mode) {
        Ok(file) => Ok(Pending { file: file.into(), path: path.to_path_buf(), temporary: None }),
        // Some file systems have no unnamed files.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR | rustix::io::Errno::INVAL) => {
            let (file, temporary) = tempfile::NamedTempFile::new_in(folder)?.into_parts();
            Ok(Pending { file, path: path.to_path_buf(), temporary: Some(temporary) })
        }
        Err(error) => Err(error.into()),
    }
}

impl Pending {
    /// Makes the content durable, then puts the name on it.
    fn publish(self) -> io::Result<()> {
        self.file.sync_all()?;
        if let Some(temporary) = self.temporary {
            return temporary.persist(&self.path).map_err(io::Error::from);
        }
        let folder = folder_of(&self.path);
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        // A name of its own first: linking cannot replace a file, renaming can.
        for attempt in 0..100u32 {
            let name = format!(".undust-{}-{attempt}.tmp", std::process::id());
            let temporary = folder.join(name);
            let here = rustix::fs::CWD;
            match rustix::fs::linkat(here, own.as_str(), here, &temporary, AtFlags::SYMLINK_FOLLOW)
            {
                Ok(()) => {
                    return fs::rename(&temporary, &self.path).inspect_err(|_| {
                        // Best effort: the error that is told is the one of renaming.
                        let _ = fs::remove_file(&temporary);
                    });
                }
                Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        fs::write(&path, "old").unwrap();
        let mut output = Output::file(&path, &[]).unwrap();
        output.line(b"new", b'\n').unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(output);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let mut output = Output::file(&path, &[]).unwrap();
        let long = vec![b'x'; 3 * BUFFER_BYTES];
        output.line(b"new", b'\n').unwrap();
        output.write(&long).unwrap();
        output.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), [b"new\n", &long[..]].concat());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let mut output = Output::file(&link, &[]).unwrap();
        output.write(b"new").unwrap();
        output.publish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        Output::file(Path::new("/dev/null"), &[]).unwrap().publish().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn inputs_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.txt");
        fs::write(&path, "x").unwrap();
        let refused =
            |path: &Path| Output::file(path, &[folder.path().join("./in.txt")]).err().unwrap();
        assert!(refused(&path).is_config());
        assert!(refused(folder.path()).is_config());
        assert!(refused(&folder.path().join("missing/out.txt")).is_output());
    }

    #[test]
    fn suffixes_compress() {
        let folder = tempfile::tempdir().unwrap();
        for (name, magic) in [("a.zst", &[0x28, 0xb5][..]), ("a.gz", &[0x1f, 0x8b]), ("a", b"he")] {
            let path = folder.path().join(name);
            let mut output = Output::file(&path, &[]).unwrap();
            output.write(b"hello").unwrap();
            output.publish().unwrap();
            assert!(fs::read(&path).unwrap().starts_with(magic), "{name}");
        }
    }
}
