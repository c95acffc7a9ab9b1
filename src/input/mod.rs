//! Turns paths into chunks of whole lines.
//!
//! ```text
//! InputPlan --files--> paths --source--> bytes --decode: zstd, …--> decoded bytes --cut--> Chunk
//!                                  \--mapped (see sigbus), not decoded--/    /
//!                                     decoded bytes --warc, arc, sitemap--> rows
//! ```
//!
//! Files whose records are no lines (`containers/`) become lines here, one for each record: rows.
//!
//! Everything happens on the thread that calls [`Input::next`], but for what is given to the crew
//! of [`Input::unpack_with`]: nothing is started here, nothing printed, no clock read. The
//! exception is the signal handler of `sigbus`, which has nobody left to return an error to.

mod chunk;
mod containers;
mod cut;
mod decode;
mod disk;
mod source;
mod stop;
mod stream;
#[cfg(test)]
mod tests;

use std::iter::FusedIterator;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

pub use chunk::{Chunk, PinnedMap};
pub use containers::{Container, Containers};
pub use decode::Compression;
pub(crate) use disk::mapped::Mapped;
pub use source::FileSummary;
pub use stop::Stop;

use crate::crew::Crew;
use crate::error::{Error, Result};
use crate::limits;
use cut::Sizes;
use decode::zstd::Unpacking;
use disk::Sample;
use disk::file_state::{Before, input_changed};
use disk::{files, sigbus};
use source::Source;

/// A look at the first bytes of a file, unpacked: [`CHECKED_BYTES`] at least, or all it has; and at
/// what ends its lines. The error is one of the file.
pub type CheckHead = fn(&[u8], u8) -> Result<()>;

/// Bytes that a look at the start of a file gets. Reason: the header of a file of `--seen` has
/// fewer.
pub const CHECKED_BYTES: usize = 128;

/// What is to be read, and how.
#[derive(Clone, Debug)]
pub struct InputPlan {
    /// The files, in order. `-` is standard input. None at all is fine: then there are no chunks.
    pub paths: Vec<PathBuf>,
    /// Reads all files below a directory, sorted by name; otherwise a directory is an error.
    ///
    /// Links to directories are not followed on the way down. What is neither a regular file nor a
    /// link to one is skipped.
    pub recursive: bool,
    /// A file with more paths, which come after `paths`. `-` is standard input.
    ///
    /// Empty entries are skipped. The list may hold at most
    /// [`CONFIG_BYTES_MAX`](limits::CONFIG_BYTES_MAX) bytes.
    pub files_from: Option<PathBuf>,
    /// What ends an entry of `files_from`: a newline, or NUL.
    pub files_from_separator: u8,
    /// What ends a line: a newline, or NUL.
    pub separator: u8,
    /// Longest line in bytes, without its separator, that has to fit in a chunk.
    /// Zero counts as one. More than [`LINE_BYTES_CEILING`](limits::LINE_BYTES_CEILING) is an
    /// error.
    pub line_bytes_max: usize,
    /// About how many bytes a chunk holds. Zero counts as one.
    pub chunk_bytes: usize,
    /// Largest zstd window, or xz dictionary, that is accepted, in bytes. Clamped to 1 KiB to
    /// 2 GiB.
    pub zstd_window_bytes_max: u64,
    /// Which files are taken apart into records, because their records are no lines.
    pub containers: Containers,
    /// A look at the start of each file, if one is wanted.
    pub check_head: Option<CheckHead>,
    /// Fields of records (`url`, `status`, …), and the columns of Parquet files that they are in,
    /// by name or by number from 1. Fields that are not told are in the columns that are called so.
    pub columns: Vec<(String, String)>,
    /// Looks for canonical links in the HTML pages of web archives, too, not in their headers
    /// alone. That takes some 80 µs for a page that has one.
    pub reads_pages: bool,
    /// Maps plain regular files into memory instead of reading them.
    ///
    /// This installs a handler for SIGBUS, once per process. When somebody cuts a mapped file short
    /// the handler writes one line to standard error and ends the process with status 2. That is
    /// for a program of its own to ask for; files that are read (the default) tell the same thing
    /// as an error.
    pub map: bool,
    /// Smaller files are read all the same.
    pub map_bytes_min: u64,
    /// Bytes of a stream that are awaited before its first chunk is cut: who tells by that what the
    /// stream is should see as much of it as of a file. Zero: its lines come as they are there.
    pub sample_bytes: usize,
    /// How long a stream may be silent meanwhile; if it is for longer, or some more often, its
    /// lines come as they are there.
    pub sample_silence: Duration,
    /// Names by which some of the paths are told to people: the path, and its name.
    pub names: Vec<(PathBuf, PathBuf)>,
    /// Ends the waiting for streams.
    pub stop: Stop,
}

impl InputPlan {
    /// Puts all files that the plan means into `paths`: what is below directories, what lists name.
    /// Checks that each is there and may be read.
    pub fn resolve(&mut self) -> Result<()> {
        self.paths = files::list(self)?.paths;
        self.recursive = false;
        self.files_from = None;
        Ok(())
    }

    /// The name of `path` for people.
    pub fn name_of<'a>(&'a self, path: &'a Path) -> &'a Path {
        let known = self.names.iter().find(|(known, _)| known == path);
        known.map_or(path, |(_, name)| name)
    }
}

impl Default for InputPlan {
    fn default() -> Self {
        InputPlan {
            paths: Vec::new(),
            recursive: false,
            files_from: None,
            files_from_separator: b'\n',
            separator: b'\n',
            line_bytes_max: limits::LINE_BYTES_MAX,
            chunk_bytes: limits::CHUNK_BYTES,
            zstd_window_bytes_max: 1 << limits::ZSTD_WINDOW_LOG_MAX,
            containers: Containers::Detect,
            check_head: None,
            columns: Vec::new(),
            reads_pages: false,
            map: false,
            map_bytes_min: limits::MAP_BYTES_MIN,
            sample_bytes: 0,
            sample_silence: limits::SAMPLE_SILENCE,
            names: Vec::new(),
            stop: Stop::default(),
        }
    }
}

/// All files of a plan, as one sequence of chunks.
///
/// - Shape: the chunks of the first file in order, then those of the second, and so on. A line
///   never spans two chunks, hence never two files. [`Chunk`] says how long lines are treated.
/// - Failure: what could be read before the failure comes first, as whole lines and, at the end of
///   what was readable, the beginning of a line. Then comes one error, then nothing more.
/// - Sizes: a file is read up to the size it had when it was opened. Growth is noted in its
///   [`FileSummary`]; a file that became shorter is an error.
#[derive(Debug)]
pub struct Input {
    plan: InputPlan,
    files: Vec<PathBuf>,
    bytes_total: Option<u64>,
    progress: Arc<AtomicU64>,
    /// What is known of the files from an earlier reading; or nothing.
    first: Vec<Before>,
    summaries: Vec<FileSummary>,
    current: Option<Source>,
    sizes: Sizes,
    unpacking: Unpacking,
    /// Nothing comes any more: all is read, or an error was returned.
    ended: bool,
}

impl Input {
    /// Finds all files of `plan` and checks that each is there, is no directory and may be read.
    ///
    /// Opens none of them, but reads `files_from`.
    ///
    /// Failure: what is wrong with a file, and a configuration error if lines may be too long.
    pub fn open(plan: &InputPlan) -> Result<Self> {
        let ceiling = limits::LINE_BYTES_CEILING;
        if plan.line_bytes_max > ceiling {
            let found = plan.line_bytes_max;
            return Err(Error::config(format!(
                "expected a line limit of at most {ceiling} bytes, found {found}; lower it"
            )));
        }
        let list = files::list(plan)?;
        // Not the paths, which may be many.
        let mut plan = InputPlan { paths: Vec::new(), ..plan.clone() };
        // Without a guard a file that is cut short would kill the process, so it is read instead.
        plan.map = plan.map && list.any_regular && sigbus::guard();
        let sample = Sample { bytes: plan.sample_bytes, silence: plan.sample_silence };
        let sizes = Sizes::new(plan.separator, plan.chunk_bytes, plan.line_bytes_max);
        let sizes = Sizes { sample, ..sizes };
        Ok(Input {
            plan,
            files: list.paths,
            bytes_total: list.bytes_total,
            progress: Arc::default(),
            first: Vec::new(),
            summaries: Vec::new(),
            current: None,
            sizes,
            unpacking: Unpacking::default(),
            ended: false,
        })
    }

    /// Opens the files of `plan` to read once more what an earlier reading of the same plan,
    /// [resolved](InputPlan::resolve), has read to its end: each file up to the size it had
    /// `first`.
    ///
    /// Failure: an input error if there are more files or fewer; later, if one of them
    /// is not what it was.
    pub fn open_again<'a>(
        plan: &InputPlan,
        first: impl Iterator<Item = &'a FileSummary>,
    ) -> Result<Self> {
        let input = Input::open(plan)?;
        let first: Vec<Before> = first.map(FileSummary::as_read).collect();
        if input.files.len() != first.len() {
            let (then, now) = (first.len(), input.files.len());
            return Err(input_changed("input", &format!("expected {then} files, found {now}")));
        }
        Ok(Input { first, ..input })
    }

    /// Unpacks the frames of zstd files with the help of `crew`: the same chunks, sooner.
    ///
    /// Memory: some tens of megabytes for each of its threads, and as much again.
    pub fn unpack_with(&mut self, crew: Crew) {
        self.unpacking.crew = Some(crew);
    }

    /// Bytes of all files as they are on disk, or `None` if one of them is a pipe or a device.
    pub fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    /// How many of [`Input::bytes_total`] are done; other threads may watch it.
    pub fn progress(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.progress)
    }

    /// Returns the files, in the order in which they are read.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns what is known of the files that were opened so far, in the order of
    /// [`Input::files`].
    ///
    /// The last one may still be in the works.
    pub fn summaries(&self) -> &[FileSummary] {
        &self.summaries
    }

    /// Returns what is known of the files that were opened, now that nothing more is to be read.
    pub fn into_summaries(self) -> Vec<FileSummary> {
        self.summaries
    }

    /// Returns the next chunk of the file that is open, of the next one that has any, or `None`.
    fn advance(&mut self) -> Result<Option<Chunk>> {
        loop {
            let source = match &mut self.current {
                Some(source) => source,
                None => {
                    let at = self.summaries.len();
                    let Some(path) = self.files.get(at) else { return Ok(None) };
                    let source = Source::open(
                        path,
                        at,
                        &self.plan,
                        &self.progress,
                        &self.unpacking,
                        self.first.get(at),
                    )?;
                    self.summaries.push(source.summary().clone());
                    self.current.insert(source)
                }
            };
            let chunk = source.next_chunk(&self.sizes);
            if let Some(summary) = self.summaries.last_mut() {
                summary.clone_from(source.summary());
            }
            match chunk? {
                Some(chunk) => return Ok(Some(chunk)),
                None => self.current = None,
            }
        }
    }
}

impl Iterator for Input {
    type Item = Result<Chunk>;

    fn next(&mut self) -> Option<Result<Chunk>> {
        if self.ended {
            return None;
        }
        let item = self.advance().transpose();
        if !matches!(item, Some(Ok(_))) {
            self.ended = true;
            self.current = None;
        }
        item
    }
}

impl FusedIterator for Input {}
