//! One opened file: mapped or read, plain or compressed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::chunk::Chunk;
use super::containers::{Container, Containers, parser_of};
use super::cut::{Sizes, cut};
use super::decode::Compression;
use super::decode::reader::Reader;
use super::decode::zstd::{DecompressOptions, dictionary};
use super::disk::Disk;
use super::disk::file_state::{Before, FileState, input_changed};
use super::disk::files;
use super::disk::mapped::{Mapped, Origin};
use super::disk::read_ahead::ReadAhead;
use super::stream::Stream;
use super::{CHECKED_BYTES, InputPlan};
use crate::bytes::show_input;
use crate::error::{Error, Result};

/// Bytes of a mapped file, beyond those cut into chunks, that the system is asked to read ahead.
/// Reason: cutting touches only the end of a chunk; so the disk always has as much to do as it
/// takes at once, and a batch can grow.
const AHEAD_BYTES_MAPPED: u64 = 32 << 20;

/// What is known of a file that was read, or is being read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSummary {
    /// Its name to show: as in [`Input::files`](super::Input::files), or the one that
    /// [`InputPlan::names`] has instead.
    pub path: PathBuf,
    /// Detected from its first bytes.
    pub compression: Compression,
    /// The kind of container, or `None` if its records are its lines. Detected from the first
    /// decompressed bytes, before the first chunk. Chunks of a container hold rows, whose layout
    /// is in [`container_rows`](crate::record::formats::container_rows).
    pub container: Option<Container>,
    /// Was it mapped into memory instead of read?
    pub mapped: bool,
    /// Bytes read from the disk or the pipe.
    pub disk_bytes: u64,
    /// Decoded bytes in the chunks so far, overlong lines included; of a container, bytes of rows.
    pub bytes: u64,
    /// Is it larger now than when it was opened? What was added is not read.
    pub grew: bool,
    /// Its state when it was opened; `None` if the system does not know.
    pub(super) state: Option<FileState>,
}

impl FileSummary {
    /// The state of the file when it was read, to read it again.
    pub(super) fn as_read(&self) -> Before {
        Before::new(self.state.clone(), self.disk_bytes)
    }
}

/// One file, from opening to its last chunk.
pub(super) struct Source {
    summary: FileSummary,
    file: usize,
    origin: Arc<Origin>,
    /// Bytes from where reading began to the end that the file had when it was read first, if
    /// that is known.
    rest_bytes: Option<u64>,
    body: Body,
    progress: Arc<AtomicU64>,
    /// What `progress` was before this file.
    progress_start: u64,
}

enum Body {
    Mapped {
        map: Arc<Mapped>,
        /// How many bytes of it were delivered.
        done: usize,
        ahead: ReadAhead,
    },
    Stream(Stream),
}

impl Source {
    /// Opens the file `path`, number `file` of its input, and looks at its first bytes.
    ///
    /// Adds the bytes read from the disk to `progress`. Maps only if `plan.map`, and then only
    /// regular files that are not compressed; a file that cannot be mapped is read. Zstd files are
    /// decompressed with `options`.
    ///
    /// A file that was read before, in the state `first`, is read up to the size it had then.
    /// Failure: if it has changed since.
    pub(super) fn open(
        path: &Path,
        file: usize,
        plan: &InputPlan,
        progress: &Arc<AtomicU64>,
        options: &DecompressOptions,
        first: Option<&Before>,
    ) -> Result<Self> {
        let opened = Opened::new(path, plan, first)?;
        let Opened { origin, rest_bytes, .. } = &opened;
        let at_origin = |error: Error| error.at(&origin.shown);
        let progress_start = progress.load(Ordering::Relaxed);
        let mut disk = Disk::new(origin, *rest_bytes, progress, &plan.stop);
        let bytes_min = if plan.check_head.is_some() { CHECKED_BYTES } else { 0 };
        let head = disk.head(bytes_min).map_err(|error| Error::reading(&origin.shown, error))?;
        let compression = Compression::sniff(&head).map_err(at_origin)?;
        let is_plain = compression == Compression::None;
        let container = if is_plain { container_of(&head, plan).map_err(at_origin)? } else { None };
        // Standard input is never mapped: another process may have read a part of it before.
        let is_mappable = is_plain && container.is_none() && !files::is_stdin(path);
        let (body, container) = match is_mappable.then(|| opened.map(plan)).flatten() {
            Some(map) => {
                // Undoes the count of the head: mapped bytes count when they are delivered.
                progress.store(progress_start, Ordering::Relaxed);
                let ahead = ReadAhead::by(AHEAD_BYTES_MAPPED);
                (Body::Mapped { map: Arc::new(map), done: 0, ahead }, None)
            }
            None => {
                let (stream, container) =
                    opened.stream(disk, head, compression, container, plan, options)?;
                (Body::Stream(stream), container)
            }
        };
        let summary = FileSummary {
            path: plan.name_of(path).to_owned(),
            compression,
            container,
            mapped: matches!(body, Body::Mapped { .. }),
            disk_bytes: 0,
            bytes: 0,
            grew: false,
            state: opened.state,
        };
        let (origin, rest_bytes) = (opened.origin, opened.rest_bytes);
        let progress = Arc::clone(progress);
        Ok(Source { summary, file, origin, rest_bytes, body, progress, progress_start })
    }

    /// What is known so far.
    pub(super) fn summary(&self) -> &FileSummary {
        &self.summary
    }

    /// The next chunk, or `None` when the file has ended without an error.
    pub(super) fn next_chunk(&mut self, sizes: &Sizes) -> Result<Option<Chunk>> {
        let chunk = match &mut self.body {
            Body::Mapped { map, done, ahead } => {
                // Before the bytes are touched: an error is better than the signal.
                map.verify()?;
                ahead.ask(&self.origin, *done as u64);
                let rest = &map.bytes()[*done..];
                (!rest.is_empty()).then(|| {
                    let cut = cut(rest, sizes);
                    let range = *done..*done + cut.shown();
                    let consumed = cut.consumed(rest.len());
                    *done += consumed;
                    self.summary.bytes = *done as u64;
                    self.progress.fetch_add(consumed as u64, Ordering::Relaxed);
                    Chunk::mapped(map, range, self.file, cut.overlong())
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
        // The size first: truncation explains any error of the decoder.
        self.summary.grew = self.origin.verify()?;
        if let Body::Stream(stream) = &mut self.body {
            stream.finish(&self.origin.shown)?;
        }
        match self.rest_bytes {
            // Truncated and grown again in between, or read by another process through the same
            // handle.
            Some(expected) if self.summary.disk_bytes < expected => Err(Error::input(format!(
                "{}: expected {expected} bytes as when it was opened, found only {}; run again \
                 when nothing writes to it",
                self.origin.shown, self.summary.disk_bytes
            ))),
            _ => self.finish_state(),
        }
    }

    /// Records what the file ends with, or checks it against what an earlier reading has recorded.
    fn finish_state(&mut self) -> Result<()> {
        let Some(state) = &mut self.summary.state else { return Ok(()) };
        state.finish(&self.origin.file).map_err(|why| input_changed(&self.origin.shown, &why))
    }
}

/// A file of which nothing was read yet.
struct Opened {
    origin: Arc<Origin>,
    state: Option<FileState>,
    /// Bytes from where reading begins to the end of what is to be read, if that is known.
    rest_bytes: Option<u64>,
    /// Bytes that the file has now.
    bytes: u64,
}

impl Opened {
    /// Opens the file `path`. A file that was read before, in the state `first`, is read up to the
    /// size it had then. Failure: if it has changed since.
    fn new(path: &Path, plan: &InputPlan, first: Option<&Before>) -> Result<Opened> {
        let shown = show_input(plan.name_of(path));
        let reading = |error| Error::reading(&shown, error);
        let (handle, metadata) = files::open(path).map_err(reading)?;
        if metadata.is_dir() {
            return Err(Error::input(format!("{shown}: expected a file, found a folder")));
        }
        let state = FileState::of(&handle, &metadata);
        let state = match first {
            Some(first) => first.state_again(state).map_err(|why| input_changed(&shown, &why))?,
            None => state,
        };
        // Files of /proc and the like have no size until they are read.
        let is_empty = first.is_some_and(Before::was_empty);
        let size = state.as_ref().map(FileState::bytes).filter(|size| *size > 0 || is_empty);
        let rest_bytes = match size {
            Some(size) => Some(files::rest_bytes(&handle, size).map_err(reading)?),
            None => None,
        };
        if let Some(state) = &state {
            state.check_end(&handle).map_err(|why| input_changed(&shown, &why))?;
        }
        let origin = Arc::new(Origin { file: handle, shown, size });
        Ok(Opened { origin, state, rest_bytes, bytes: metadata.len() })
    }

    /// Maps it into memory, if `plan` asks for that and it is possible.
    fn map(&self, plan: &InputPlan) -> Option<Mapped> {
        let size = self.origin.size.filter(|size| *size >= plan.map_bytes_min.max(1))?;
        if plan.map { Mapped::new(&self.origin, size).ok() } else { None }
    }

    /// Its decompressed bytes, and which container they are; `container` if it is not compressed.
    /// The file begins with `head`, and goes on with `disk`.
    fn stream(
        &self,
        mut disk: Disk,
        mut head: Vec<u8>,
        compression: Compression,
        mut container: Option<Container>,
        plan: &InputPlan,
        options: &DecompressOptions,
    ) -> Result<(Stream, Option<Container>)> {
        let shown = &self.origin.shown;
        let at_origin = |error: Error| error.at(shown);
        // Of a stream, nothing is read that is not decoded at once: more may come late.
        let crew = options.crew.clone().filter(|_| self.rest_bytes.is_some());
        let mut options = DecompressOptions { crew, ..options.clone() };
        if compression == Compression::Zstd {
            options.dictionary = dictionary::read(&mut head, &mut disk).map_err(at_origin)?;
        }
        let (reader, head) =
            Reader::new(compression, head, disk, plan.zstd_window_bytes_max, options)
                .map_err(|error| Error::reading(shown, error))?;
        let mut stream = Stream::new(reader, head);
        let is_packed = compression != Compression::None;
        if is_packed {
            let head = stream.head();
            compression.check_content(head).map_err(at_origin)?;
            container = container_of(head, plan).map_err(at_origin)?;
        }
        let Some(container) = container else { return Ok((stream, None)) };
        // A Parquet file is read from its end.
        let has_grown = self.origin.size.is_some_and(|size| size < self.bytes);
        if container == Container::Parquet && has_grown {
            return Err(input_changed(shown, "it has grown"));
        }
        let parser = parser_of(container, plan, (&self.origin, is_packed)).map_err(at_origin)?;
        Ok((stream.into_rows(parser, plan.separator), Some(container)))
    }
}

/// Which container a file is whose decompressed bytes begin with `head`; `None` if it is lines.
/// Failure: an error of [`InputPlan::check_head`], or for a file that is known to be neither.
fn container_of(head: &[u8], plan: &InputPlan) -> Result<Option<Container>> {
    plan.check_head.map_or(Ok(()), |check| check(head, plan.separator))?;
    match plan.containers {
        Containers::None => Ok(None),
        // An empty file has no records of any kind; one may mark a folder as complete.
        Containers::Only(_) if head.is_empty() => Ok(None),
        Containers::Only(container) => Ok(Some(container)),
        Containers::Detect => Container::sniff(head),
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("summary", &self.summary).finish_non_exhaustive()
    }
}
