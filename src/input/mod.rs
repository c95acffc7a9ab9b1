//! Turns paths into chunks of whole lines.
//!
//! ```text
//! InputPlan --files--> paths --source--> bytes --decode: zstd, …--> decoded bytes --cut--> Chunk
//!                                  \--mapped (see sigbus), not decoded--/    /
//!                                     decoded bytes --warc, arc, sitemap--> rows
//! ```
//!
//! The records of other files than lists and logs (`containers/`) are turned into lines: rows.
//!
//! Everything happens on the thread that calls [`Input::next`], except what is given to the crew of
//! [`Input::decompress_with`]: no thread is started here, nothing is printed, no clock is read. The
//! signal handler of `sigbus` does print: it has no caller to return an error to.

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
use decode::zstd::DecompressOptions;
use disk::Sample;
use disk::file_state::{Before, input_changed};
use disk::{files, sigbus};
use source::Source;

/// Checks the start of a file: takes its first bytes, decompressed ([`CHECKED_BYTES`] or more, or
/// the whole file), and the byte that ends its lines. An error is returned as one of the file.
pub type CheckHead = fn(&[u8], u8) -> Result<()>;

/// Fewest bytes that a [`CheckHead`] gets of a longer file. Reason: the header of a file of
/// `--seen` has fewer.
pub const CHECKED_BYTES: usize = 128;

/// What is to be read, and how.
#[derive(Clone, Debug)]
pub struct InputPlan {
    // Which files.
    /// The files, in order. `-` is standard input. Without any file there are no chunks.
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
    /// Names to show in place of some of the paths: the path, and its name.
    pub names: Vec<(PathBuf, PathBuf)>,

    // How they are read.
    /// Maps plain regular files into memory instead of reading them.
    ///
    /// This installs a handler for SIGBUS, once per process. When another process truncates a
    /// mapped file, the handler writes one line to standard error and exits with status 2. Only a
    /// program should ask for that, not a library; where files are read (the default), the same
    /// event is an error.
    pub map: bool,
    /// Smaller files, in bytes, are read all the same.
    pub map_bytes_min: u64,
    /// Largest zstd window, or xz dictionary, that is accepted, in bytes. Clamped to 1 KiB to
    /// 2 GiB.
    pub zstd_window_bytes_max: u64,
    /// Checks the start of each file.
    pub check_head: Option<CheckHead>,

    // How their lines are cut into chunks.
    /// What ends a line: a newline, or NUL.
    pub separator: u8,
    /// Longest line in bytes, without its separator, that has to fit in a chunk.
    /// Zero counts as one. More than [`LINE_BYTES_CEILING`](limits::LINE_BYTES_CEILING) is an
    /// error.
    pub line_bytes_max: usize,
    /// About how many bytes a chunk holds. Zero counts as one.
    pub chunk_bytes: usize,

    // What are containers, and what is read from them.
    /// Which files are containers, whose records are not lines.
    pub containers: Containers,
    /// Fields of records (`url`, `status`, …), each with its column in Parquet files, by name or by
    /// number from 1. Other fields are read from the columns with usual names.
    pub columns: Vec<(String, String)>,
    /// Looks for canonical links in the HTML pages of web archives, too, not only in HTTP headers.
    /// That takes some 80 µs for a page that has one.
    pub reads_pages: bool,

    // How long streams are waited for.
    /// Bytes of a stream to wait for before its first chunk is cut, so that its format is detected
    /// from as much of it as of a file. Zero: lines are delivered as they arrive.
    pub sample_bytes: usize,
    /// How long a stream may be silent meanwhile. After a longer silence, or several shorter ones,
    /// lines are delivered as they arrive.
    pub sample_silence: Duration,
    /// Stops the reading before its end. A job that reads by this plan ends with
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled) after the batch that it works on, some 100
    /// MB at most, and publishes nothing. Nor is a silent stream waited for any longer.
    pub stop: Stop,
}

impl InputPlan {
    /// Replaces `paths` by all files of the plan: those below directories, those that lists name.
    /// Checks that each exists and may be read.
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
            names: Vec::new(),
            map: false,
            map_bytes_min: limits::MAP_BYTES_MIN,
            zstd_window_bytes_max: 1 << limits::ZSTD_WINDOW_LOG_MAX,
            check_head: None,
            separator: b'\n',
            line_bytes_max: limits::LINE_BYTES_MAX,
            chunk_bytes: limits::CHUNK_BYTES,
            containers: Containers::Detect,
            columns: Vec::new(),
            reads_pages: false,
            sample_bytes: 0,
            sample_silence: limits::SAMPLE_SILENCE,
            stop: Stop::default(),
        }
    }
}

/// All files of a plan, as one sequence of chunks.
///
/// - Shape: the chunks of the first file in order, then those of the second, and so on. A line
///   never spans two chunks, hence never two files. [`Chunk`] says how long lines are treated.
/// - Failure: what could be read before the failure is delivered first, as whole lines and perhaps
///   the beginning of a line. Then comes one error, and nothing after it.
/// - Sizes: a file is read up to the size it had when it was opened. Growth is noted in its
///   [`FileSummary`]; a file that became shorter is an error.
#[derive(Debug)]
pub struct Input {
    plan: InputPlan,
    files: Vec<PathBuf>,
    bytes_total: Option<u64>,
    progress: Arc<AtomicU64>,
    /// The states of the files in an earlier reading, if there was one.
    first: Vec<Before>,
    summaries: Vec<FileSummary>,
    current: Option<Source>,
    sizes: Sizes,
    decompress_options: DecompressOptions,
    /// Was everything read, or an error returned?
    ended: bool,
}

impl Input {
    /// Finds all files of `plan` and checks that each exists, is no directory and may be read.
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
        // Without a guard a truncated file would kill the process, so files are read instead.
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
            decompress_options: DecompressOptions::default(),
            ended: false,
        })
    }

    /// Opens the files of `plan` to read once more what an earlier reading of the same plan,
    /// [resolved](InputPlan::resolve), has read to its end: each file up to the size it had
    /// `first`.
    ///
    /// Failure: an input error if the number of files differs; later, if one of them has changed.
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

    /// Decompresses the frames of zstd files with the help of `crew`: the same chunks, sooner.
    ///
    /// Memory: some tens of megabytes for each of its threads, and the same amount again.
    pub fn decompress_with(&mut self, crew: Crew) {
        self.decompress_options.crew = Some(crew);
    }

    /// Bytes of all files as they are on disk, or `None` if one of them is a pipe or a device.
    pub fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    /// How many of [`Input::bytes_total`] were read; other threads may watch it.
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
    /// The last one may not have been read to its end.
    pub fn summaries(&self) -> &[FileSummary] {
        &self.summaries
    }

    /// Returns what is known of the files that were opened. Nothing more can be read then.
    pub fn into_summaries(self) -> Vec<FileSummary> {
        self.summaries
    }

    /// Returns the next chunk: of the open file, or of the next one that is not empty.
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
                        &self.decompress_options,
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
