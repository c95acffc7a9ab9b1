//! `--not-in`: what is known, and is left out.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::seen::open_seen;
use crate::bytes::show_path;
use crate::cli::args::DedupArgs;
use crate::cli::session::Session;
use crate::cluster::Seen;
use crate::error::{Error, Result};
use crate::input::{Containers, InputPlan};
use crate::pipeline::{self, FormatPlan, Job, Outcome};

/// What `--not-in` names.
pub(super) enum Known {
    Nothing,
    /// A file of `--seen`, which stays as it is.
    SeenFile(PathBuf),
    /// Lists, logs and indexes.
    Lists(InputPlan),
}

impl Known {
    /// What is named beside `input`.
    ///
    /// Failure: an error if one of the files is not there, or if one stream is to be both.
    pub(super) fn of(args: &DedupArgs, input: &InputPlan) -> Result<Known> {
        let is_stdin = |path: &Path| path.as_os_str() == "-";
        let reads_stdin = args.input.files_from.as_deref().is_some_and(is_stdin)
            || input.paths.iter().any(|path| is_stdin(path));
        if reads_stdin && args.not_in.iter().any(|path| is_stdin(path)) {
            return Err(Error::config(
                "--not-in -: standard input is to be read already; name a FILE for one of both",
            ));
        }
        match args.not_in.as_slice() {
            [] => return Ok(Known::Nothing),
            [path] if is_seen_file(path) => return Ok(Known::SeenFile(path.clone())),
            _ => {}
        }
        let mut lists = InputPlan {
            paths: args.not_in.clone(),
            recursive: args.input.recursive,
            containers: Containers::Detect,
            check_head: Some(Seen::check_list),
            names: Vec::new(),
            ..input.clone()
        };
        lists.resolve().map_err(of_flag)?;
        Ok(Known::Lists(lists))
    }

    /// The files, which no result may replace.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        match self {
            Known::Nothing => Vec::new(),
            Known::SeenFile(path) => vec![path.clone()],
            Known::Lists(lists) => lists.paths.clone(),
        }
    }

    /// Reads it for the job of `session`, which gets its key. Says what was read of lists.
    pub(super) fn read(self, session: &mut Session) -> Result<(Seen, Option<Box<Outcome>>)> {
        match self {
            Known::Nothing => Ok((Seen::default(), None)),
            Known::SeenFile(path) => {
                let (seen, _) = open_seen(&path, &session.job).map_err(of_flag)?;
                let no_key = || Error::internal("a seen file has no key");
                session.job.key = seen.key().ok_or_else(no_key)?;
                Ok((seen.read_only(), None))
            }
            Known::Lists(input) => {
                let job = &session.job;
                let format = FormatPlan { filter: None, content_first: true, ..job.format.clone() };
                let job = Job { input, format, ..job.with_canonicalizer(job.canonicalizer) };
                let (seen, known) = pipeline::known(&job).map_err(of_flag)?;
                let first = known.files.first().map(|file| file.summary.path.clone());
                let checked = session.check_format(&known);
                checked
                    .map_err(|error| of_flag(error.at(show_path(&first.unwrap_or_default()))))?;
                Ok((seen, Some(Box::new(known))))
            }
        }
    }
}

/// `error` as one of what the flag names.
fn of_flag(error: Error) -> Error {
    error.at("--not-in")
}

/// Is there a seen file at `path`? A stream is none, since to look would be to read; what cannot be
/// looked at is told where it is read.
fn is_seen_file(path: &Path) -> bool {
    let mut start = Vec::new();
    let is_file = std::fs::metadata(path).is_ok_and(|meta| meta.is_file());
    is_file
        && File::open(path).is_ok_and(|file| file.take(64).read_to_end(&mut start).is_ok())
        && Seen::is_announced_by(&start)
}
