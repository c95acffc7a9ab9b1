//! One opened file: mapped or read, plain or packed.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use ahash::RandomState;

use super::InputPlan;
use super::arc::ArcFile;
use super::archive::Archive;
use super::chunk::Chunk;
#[cfg(feature = "parquet")]
use super::columns::Columns;
use super::compression::Compression;
use super::container::{Container, Containers};
use super::cut::{Sizes, cut};
use super::dictionary;
use super::files;
use super::gzip::Gzip;
use super::lz4::Lz4;
use super::mapped::{Mapped, Origin};
use super::rows::Parser;
use super::sitemap::Sitemap;
use super::steps;
use super::stream::{Disk, Reader, Stream, packed};
use super::unpack::{Unpacker, Unpacking};
use super::warc::Warc;
use crate::error::{Error, Result};

/// Memory in bytes that the decoder of xz takes beside its dictionary, with room to spare.
const XZ_BYTES_BESIDE: u64 = 1 << 20;

/// Least bytes of a field that are kept, whatever is asked for. Reason: lengths and kinds of records
/// are fields, too.
const FIELD_BYTES_MIN: usize = 1024;

/// What is known of a file that was read, or is being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSummary {
    /// As in [`Input::files`](super::Input::files).
    pub path: PathBuf,
    /// Told by its first bytes.
    pub compression: Compression,
    /// What its records were taken out of, or `None` if they are its lines. Told by the first bytes
    /// of what was unpacked, before the first chunk. Chunks of a container hold rows, whose layout
    /// is in [`record::formats::rows`](crate::record::formats::rows).
    pub container: Option<Container>,
    /// Was it mapped into memory, not read?
    pub mapped: bool,
    /// Bytes taken from the disk or the pipe.
    pub disk_bytes: u64,
    /// Decoded bytes in the chunks so far, overlong lines included; of a container, bytes of rows.
    pub bytes: u64,
    /// Is it larger now than when it was opened? What was added is not read.
    pub grew: bool,
    /// How it was when it was opened; `None` if the system does not know.
    pub(super) state: Option<FileState>,
}

/// Bytes before the end of a file that are to be the same when it is read again. Reason: a file that was
/// emptied and has grown beyond its size since, as logs are rotated, is not told by sizes and times.
const END_BYTES: u64 = 4096;

/// How a regular file was when it was opened: to tell whether it is still the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: Option<SystemTime>,
    /// When it was made, where the file system tells: a new file may get the number of one that is gone.
    made: Option<SystemTime>,
    /// A hash of its last [`END_BYTES`], or of all it has, when it had been read; `None` before, or if that
    /// failed.
    end: Option<u64>,
}

impl FileState {
    fn of(file: &File, metadata: &Metadata) -> Option<FileState> {
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

    /// What [`FileState::end`] is of `file` by now, whose state this is.
    fn end_of(&self, file: &File) -> Option<u64> {
        let mut end = [0; END_BYTES as usize];
        let end = &mut end[..self.bytes.min(END_BYTES) as usize];
        file.read_exact_at(end, self.bytes - end.len() as u64).ok()?;
        Some(RandomState::with_seeds(1, 2, 3, 4).hash_one(&*end))
    }

    /// Checks that a file of state `now` begins with what it had in this one, as far as the system knows: it may have
    /// grown. Otherwise says what is different.
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

    /// Checks that `file` still has the end that it had when it was read.
    fn check_end(&self, file: &File) -> std::result::Result<(), String> {
        // What cannot be read, or is cut short in this moment, will be told when it is to be read.
        match self.end.zip(self.end_of(file)) {
            Some((then, now)) if then != now => {
                Err(format!("other bytes than before end at byte {}", self.bytes))
            }
            _ => Ok(()),
        }
    }
}

/// What is asked of an earlier reading of a file.
#[derive(Debug)]
pub(super) struct Before {
    state: Option<FileState>,
    disk_bytes: u64,
}

impl Before {
    /// That of the file with this summary.
    pub(super) fn of(summary: &FileSummary) -> Before {
        Before { state: summary.state.clone(), disk_bytes: summary.disk_bytes }
    }

    /// How the file is to be read once more that is in state `now`: as it was then. Failure: what is different.
    fn state_again(
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
pub(super) fn changed(shown: &str, why: &str) -> Error {
    Error::input(format!(
        "{shown}: the input has changed between the first and the second reading: {why}; run again \
         when nothing writes to it"
    ))
}

/// One file, from opening to its last chunk.
pub(super) struct Source {
    summary: FileSummary,
    file: usize,
    origin: Arc<Origin>,
    /// Bytes from where reading began to the end that the file had then, if that is known.
    rest_bytes: Option<u64>,
    body: Body,
    progress: Arc<AtomicU64>,
    /// What `progress` was before this file.
    progress_start: u64,
}

enum Body {
    /// The mapping, and how much of it was delivered.
    Mapped(Arc<Mapped>, usize),
    Stream(Stream),
}

impl Source {
    /// Opens the file `path`, number `file` of its input, and looks at its first bytes.
    ///
    /// Adds to `progress` what is taken from the disk. Maps only if `plan.map`, and then only plain
    /// regular files; whatever stands in the way of mapping means reading. Zstd files are
    /// unpacked as `how` says.
    ///
    /// A file that was read before, as `first` says, is read up to the size it had then. Failure: if it is not
    /// what it was.
    pub(super) fn open(
        path: &Path,
        file: usize,
        plan: &InputPlan,
        progress: &Arc<AtomicU64>,
        how: &Unpacking,
        first: Option<&Before>,
    ) -> Result<Self> {
        let shown = files::shown(plan.name_of(path));
        let reading = |error| Error::reading(&shown, error);
        let (handle, metadata) = files::open(path).map_err(reading)?;
        if metadata.is_dir() {
            return Err(Error::input(format!("{shown}: expected a file, found a directory")));
        }
        let bytes = metadata.len();
        let state = FileState::of(&handle, &metadata);
        let state = match first {
            Some(first) => first.state_again(state).map_err(|why| changed(&shown, &why))?,
            None => state,
        };
        // Where files are made up while they are read, an empty one may be none.
        let is_empty = first.is_some_and(|first| first.disk_bytes == 0);
        let size = state.as_ref().map(|state| state.bytes).filter(|size| *size > 0 || is_empty);
        let rest_bytes = match size {
            Some(size) => Some(files::rest_bytes(&handle, size).map_err(reading)?),
            None => None,
        };
        let origin = Arc::new(Origin { file: handle, shown, size });
        if let Some(state) = &state {
            state.check_end(&origin.file).map_err(|why| changed(&origin.shown, &why))?;
        }
        let reading = |error| Error::reading(&origin.shown, error);

        let progress_start = progress.load(Ordering::Relaxed);
        let mut disk = Disk::new(&origin, rest_bytes, progress);
        let head = disk.head().map_err(reading)?;
        let at_origin = |error: Error| error.at(&origin.shown);
        let compression = Compression::sniff(&head).map_err(at_origin)?;
        let is_packed = compression != Compression::None;
        let mut container = None;
        if !is_packed {
            container = container_of(&head, plan).map_err(at_origin)?;
        }
        // Standard input is never mapped: somebody else may have read a part of it before.
        let is_mappable = plan.map && !is_packed && container.is_none() && !files::is_stdin(path);
        let size_mapped = size.filter(|size| is_mappable && *size >= plan.map_bytes_min.max(1));
        let map = size_mapped.and_then(|size| Mapped::new(&origin, size).ok());
        let body = match map {
            Some(map) => {
                // Every byte is counted when it is delivered, these as well.
                progress.store(progress_start, Ordering::Relaxed);
                Body::Mapped(Arc::new(map), 0)
            }
            None => {
                // Of a stream, nothing is read that is not decoded at once: more may come late.
                let crew = how.crew.clone().filter(|_| rest_bytes.is_some());
                let mut how = Unpacking { crew, ..how.clone() };
                let mut head = head;
                if compression == Compression::Zstd {
                    how.dictionary = dictionary::read(&mut head, &mut disk).map_err(at_origin)?;
                }
                let mut stream = unpack(compression, head, disk, plan, how).map_err(reading)?;
                if is_packed {
                    let head = stream.head();
                    compression.check_content(head).map_err(at_origin)?;
                    container = container_of(head, plan).map_err(at_origin)?;
                }
                // It is read from its end.
                if container == Some(Container::Parquet) && size.is_some_and(|size| size < bytes) {
                    return Err(changed(&origin.shown, "it has grown"));
                }
                if let Some(container) = container {
                    let parser =
                        parser_of(container, plan, (&origin, is_packed)).map_err(at_origin)?;
                    stream = stream.into_rows(parser, plan.separator);
                }
                Body::Stream(stream)
            }
        };
        let summary = FileSummary {
            path: plan.name_of(path).to_owned(),
            compression,
            container,
            mapped: matches!(body, Body::Mapped(..)),
            disk_bytes: 0,
            bytes: 0,
            grew: false,
            state,
        };
        let progress = Arc::clone(progress);
        Ok(Source { summary, file, origin, rest_bytes, body, progress, progress_start })
    }

    /// What is known by now.
    pub(super) fn summary(&self) -> &FileSummary {
        &self.summary
    }

    /// The next chunk, or `None` when the file came to a good end.
    pub(super) fn next_chunk(&mut self, sizes: &Sizes) -> Result<Option<Chunk>> {
        let chunk = match &mut self.body {
            Body::Mapped(mapped, done) => {
                // Before the bytes are touched: an error is better than the signal.
                mapped.verify()?;
                let rest = &mapped.bytes()[*done..];
                (!rest.is_empty()).then(|| {
                    let cut = cut(rest, sizes);
                    let range = *done..*done + cut.shown();
                    let consumed = cut.consumed(rest.len());
                    *done += consumed;
                    self.summary.bytes = *done as u64;
                    self.progress.fetch_add(consumed as u64, Ordering::Relaxed);
                    Chunk::mapped(mapped, range, self.file, cut.overlong())
                })
            }
            Body::Stream(stream) => {
                let chunk = stream.next_chunk(self.file, sizes);
                self.summary.bytes = stream.at();
                chunk
            }
        };
        self.summary.disk_bytes = self.progress.load(Ordering::Relaxed) - self.progress_start;
        if chunk.is_none() {
            self.finish()?;
        }
        Ok(chunk)
    }

    fn finish(&mut self) -> Result<()> {
        // First the size: a file that was cut short explains whatever the decoder complains about.
        self.summary.grew = self.origin.verify()?;
        if let Body::Stream(stream) = &mut self.body {
            stream.finish(&self.origin.shown)?;
        }
        match self.rest_bytes {
            // Cut short and filled up again in between, or read by somebody else through the same
            // handle.
            Some(expected) if self.summary.disk_bytes < expected => Err(Error::input(format!(
                "{}: expected {expected} bytes as when it was opened, found only {}; run again \
                 when nothing writes to it",
                self.origin.shown, self.summary.disk_bytes
            ))),
            _ => self.finish_state(),
        }
    }

    /// Notes what the file ends with, or checks that it still is what an earlier reading has noted.
    fn finish_state(&mut self) -> Result<()> {
        let Some(state) = &mut self.summary.state else { return Ok(()) };
        if state.end.is_none() {
            state.end = state.end_of(&self.origin.file);
            return Ok(());
        }
        state.check_end(&self.origin.file).map_err(|why| changed(&self.origin.shown, &why))
    }
}

/// The decoded bytes of a file that begins with `head` and goes on with `disk`.
fn unpack(
    compression: Compression,
    head: Vec<u8>,
    disk: Disk,
    plan: &InputPlan,
    how: Unpacking,
) -> io::Result<Stream> {
    let reader = match compression {
        Compression::None => return Ok(Stream::new(Reader::Plain(disk), head)),
        Compression::Zstd => {
            Reader::Zstd(Box::new(Unpacker::new(head, disk, plan.zstd_window_log_max, how)?))
        }
        Compression::Gzip => Reader::Gzip(Box::new(Gzip::new(packed(head, disk)))),
        Compression::Bzip2 => Reader::Bzip2(Box::new(steps::bzip2(packed(head, disk)))),
        Compression::Xz => {
            // What is for the window, and what the decoder takes beside it.
            let bytes_max = (1 << plan.zstd_window_log_max.clamp(10, 31)) + XZ_BYTES_BESIDE;
            Reader::Xz(Box::new(steps::xz(packed(head, disk), bytes_max)?), bytes_max)
        }
        Compression::Lz4 => Reader::Lz4(Box::new(Lz4::new(packed(head, disk)))),
    };
    Ok(Stream::new(reader, Vec::new()))
}

/// What kind of container a file is that begins, unpacked, with `head`; `None` if it is lines.
fn container_of(head: &[u8], plan: &InputPlan) -> Result<Option<Container>> {
    match plan.containers {
        Containers::None => Ok(None),
        // No records, of whatever kind: such as the mark that a folder is complete.
        Containers::Only(_) if head.is_empty() => Ok(None),
        Containers::Only(container) => Ok(Some(container)),
        Containers::Detect => Container::sniff(head),
    }
}

/// What takes a container apart.
fn parser_of(
    container: Container,
    plan: &InputPlan,
    #[cfg_attr(not(feature = "parquet"), allow(unused_variables))] (origin, is_packed): (
        &Origin,
        bool,
    ),
) -> Result<Box<dyn Parser>> {
    // What is longer makes its row too long for who walks the lines, as it would be on its own.
    let field_bytes_max = plan.chunk_bytes.max(plan.line_bytes_max).max(FIELD_BYTES_MIN);
    if container != Container::Parquet && !plan.columns.is_empty() {
        return Err(Error::input(format!(
            "expected a file with columns, since --field names some, found {}; leave --field out",
            container.about()
        )));
    }
    match container {
        Container::Warc => Ok(Box::new(Archive(Warc::new(field_bytes_max)))),
        Container::Arc => Ok(Box::new(Archive(ArcFile::new(field_bytes_max)))),
        Container::Sitemap => Ok(Box::new(Sitemap::new(field_bytes_max))),
        #[cfg(feature = "parquet")]
        Container::Parquet if is_packed || origin.size.is_none() => Err(Error::input(
            "expected a file that can be read from its end, as Parquet must be, found a stream; give \
             the unpacked file itself",
        )),
        #[cfg(feature = "parquet")]
        Container::Parquet => {
            let file = origin.file.try_clone().map_err(|error| Error::reading("Parquet", error))?;
            Ok(Box::new(Columns::new(file, &plan.columns, field_bytes_max)?))
        }
        #[cfg(not(feature = "parquet"))]
        Container::Parquet => Err(Error::input(
            "expected a list, a log or a web archive, found Parquet (50 41 52 31), which this build \
             cannot read; build it with `--features parquet`, or write the column of URLs as CSV",
        )),
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("summary", &self.summary).finish_non_exhaustive()
    }
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
