//! `undust dedup`: one spelling of each page.

use std::path::{Path, PathBuf};

use super::known::Known;
use super::seen::open_seen;
use crate::bytes::{show, show_path};
use crate::canonical::Notation;
use crate::cli::Status;
use crate::cli::args::{DedupArgs, InputArgs, KeepArg, PrintArg, ToArg};
use crate::cli::session::progress::Progress;
use crate::cli::session::{Session, Wanted};
use crate::cli::shape::shape;
use crate::cli::words::{say, told};
use crate::cluster::Keep;
use crate::error::{Error, Result};
use crate::parts;
use crate::pipeline::{
    self, Checked, ClusterFilter, ClusterOutput, DedupPlan, DuplicateLine, InputFile, Outcome,
    Print, SelectPlan, Spooled,
};
use crate::report::{ClaimedPaths, Output, Shape};

pub(crate) fn run(args: &DedupArgs, claims: &mut ClaimedPaths) -> Result<Status> {
    let progress = Progress::new(args.run.quiet);
    let shape = shape(args.to.format(), args.excel)?;
    if shape.is_some() && Print::from(args.print) != Print::Original {
        return Err(Error::config(
            "--print: chooses what a line of text is; rows of --to have the URL as it was read and its canonical \
             form (those of canon --to its SURT, too): leave out --print or --to",
        ));
    }
    // Checked first: opening a pipe blocks until somebody writes to it.
    let checked = args.seen.as_deref().map_or(Ok(()), |seen| {
        ClaimedPaths::check_private(seen).and_then(|()| check_outside(seen, &args.input))
    });
    checked.map_err(|error| error.at("--seen"))?;
    let canonicalizer = told(args.profile.canonicalizer()?, args.run.quiet);
    let mut session =
        Session::begin(&args.input, &canonicalizer, &args.run, &progress, Wanted::Urls, claims)?;
    session.protect(args.profile.files());
    if args.check {
        return check(&session);
    }
    let of_first_only = [("--seen", args.seen.is_some()), ("--not-in", !args.not_in.is_empty())];
    for (flag, _) in of_first_only.into_iter().filter(|(_, is_given)| *is_given) {
        if args.needs_all_lines() {
            return Err(Error::config(format!(
                "{flag} works with the first spelling only: leave out --keep and --to, or run undust twice",
            )));
        }
    }
    let known = Known::of(args, &session.job.input)?;
    session.protect(known.files());
    let output = session.open_output(shape)?;
    let outcome = if args.needs_all_lines() {
        select(args, shape, &mut session, output)?
    } else {
        keep_first(args, known, &mut session, output)?
    };
    if args.print == PrintArg::Line && !session.is_quiet() {
        doubt_headers(&outcome);
    }
    session.close(&outcome)?;
    Ok(Status::Done)
}

/// Says where the header of the first file, which is written before all lines, is not that of
/// lines after it, or of another one.
fn doubt_headers(outcome: &Outcome) {
    let Some(first) = outcome.files.first().filter(|_| outcome.tally.comments > 0) else { return };
    if let Some(file) = outcome.files.iter().find(|file| file.columns_change) {
        say(format_args!(
            "{}: the columns change; the header that is written before all lines, of {}, is not that of all of them",
            file.shown(),
            first.shown()
        ));
        return;
    }
    let same_columns = |file: &&InputFile| match (&file.layout.format, &first.layout.format) {
        (Some(format), Some(first)) => format.same_columns(&**first),
        (format, first) => format.is_none() && first.is_none(),
    };
    if let Some(other) = outcome.files.iter().find(|file| !same_columns(file)) {
        say(format_args!(
            "{}: not the columns of {}, whose header is written before all lines",
            other.shown(),
            first.shown()
        ));
    }
}

/// Keeps the first spelling of each page that is not `known`, which needs no more than one look at
/// the lines. The results of `session` are finished, not published.
fn keep_first(
    args: &DedupArgs,
    known: Known,
    session: &mut Session,
    mut output: Output,
) -> Result<Outcome> {
    let (seen, known, seen_file) = match &args.seen {
        Some(path) => {
            let (seen, predecessor) = open_seen(path, &session.job)?;
            if let Some(key) = seen.key() {
                session.job.key = key;
            }
            (seen, None, Some((session.open_private(path)?, predecessor)))
        }
        None => {
            let (seen, known) = known.read(session)?;
            (seen, known, None)
        }
    };
    let plan = DedupPlan { print: args.print.into(), seen: &seen };
    let outcome = pipeline::dedup(&session.job, &plan, &mut output)?;
    let outcome = Outcome { known, ..outcome };
    session.results.finish(output)?;
    if let Some((mut file, predecessor)) = seen_file {
        seen.write(|bytes| file.write(bytes))?;
        // Behind all others: what was not published has not been seen.
        session.results.finish_last(file, predecessor)?;
    }
    Ok(outcome)
}

/// Checks that the file `seen` is in none of the folders of the `input` that are read as a whole:
/// there, the next run would take it for input.
fn check_outside(seen: &Path, input: &InputArgs) -> Result<()> {
    let folder = seen.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(folder) = folder.unwrap_or(Path::new(".")).canonicalize() else { return Ok(()) };
    let is_around = |path: &&PathBuf| {
        path.is_dir() && path.canonicalize().is_ok_and(|path| folder.starts_with(path))
    };
    match input.files.iter().filter(|_| input.recursive).find(is_around) {
        None => Ok(()),
        Some(read) => Err(Error::config(format!(
            "{}: expected a file outside of the folders that are read, found it in {}, where the next run would \
             read it; name one elsewhere",
            show_path(seen),
            show_path(read)
        ))),
    }
}

/// Where the first spellings alone are not enough. The results of `session` are finished, not
/// published.
fn select(
    args: &DedupArgs,
    shape: Option<Shape>,
    session: &mut Session,
    mut output: Output,
) -> Result<Outcome> {
    let mut dropped = args.dropped.as_deref().map(|path| session.open(path)).transpose()?;
    if let (Some(shape), Some(dropped)) = (shape, &dropped) {
        shape.check(dropped)?;
    }
    let plan = select_plan(args, shape);
    let job = &mut session.job;
    let _spooled = match plan.reads_once() {
        true => Spooled::default(),
        false => Spooled::replace(&mut job.input, &job.memory.temp_dir)?,
    };
    let outcome = pipeline::select(job, &plan, &mut output, dropped.as_mut())?;
    let mut finished = dropped.into_iter().chain([output]);
    finished.try_for_each(|output| session.results.finish(output))?;
    Ok(outcome)
}

fn select_plan(args: &DedupArgs, shape: Option<Shape>) -> SelectPlan {
    SelectPlan {
        keep: match args.keep {
            KeepArg::First => Keep::First,
            KeepArg::Last => Keep::Last,
            KeepArg::Shortest => Keep::Shortest,
        },
        filter: match (args.repeated, args.unique) {
            (true, _) => ClusterFilter::Duplicated,
            (_, true) => ClusterFilter::Single,
            _ => ClusterFilter::All,
        },
        written: match shape {
            _ if args.clusters => ClusterOutput::Spellings(shape),
            Some(shape) => ClusterOutput::Rows(shape),
            None => ClusterOutput::Lines { print: args.print.into(), counts: args.count },
        },
    }
}

/// Bytes of a duplicate that are shown. Reason: it is the answer, so all of it, but for the
/// longest.
const DUPLICATE_BYTES_SHOWN: usize = 2000;

/// `--check`: is any line a duplicate?
fn check(session: &Session) -> Result<Status> {
    match pipeline::check(&session.job)? {
        Checked::Unique(outcome) => {
            session.check_format(&outcome)?;
            session.tell(&outcome);
            Ok(Status::Done)
        }
        Checked::Duplicate(DuplicateLine { place, url, .. }) => {
            if !session.is_quiet() {
                let url = parts::without_userinfo(&url);
                let url = show(&url[..url.len().min(DUPLICATE_BYTES_SHOWN)]);
                say(format_args!("undust: {place} is a duplicate: {url}"));
            }
            Ok(Status::No)
        }
    }
}

impl DedupArgs {
    /// Does the output depend on lines that come later, so that it cannot be written at once?
    fn needs_all_lines(&self) -> bool {
        self.count
            || self.clusters
            || self.repeated
            || self.unique
            || self.keep != KeepArg::First
            || self.dropped.is_some()
            || self.to != ToArg::Text
    }
}

impl From<PrintArg> for Print {
    fn from(print: PrintArg) -> Self {
        match print {
            PrintArg::Original => Print::Original,
            PrintArg::Canonical => Print::Canonical(Notation::Url),
            PrintArg::Surt => Print::Canonical(Notation::Surt),
            PrintArg::Urlkey => Print::Canonical(Notation::Urlkey),
            PrintArg::Line => Print::Line,
        }
    }
}
