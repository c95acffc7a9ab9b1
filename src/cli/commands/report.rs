//! `report`: what makes the duplicates of a list or a log.

use clap::ValueEnum as _;

use crate::bytes::show_path;
use crate::cli::Status;
use crate::cli::args::{ReportArgs, ReportToArg};
use crate::cli::session::progress::Progress;
use crate::cli::session::{Session, Wanted};
use crate::cli::shape::shape;
use crate::cli::words::{say, told};
use crate::error::Result;
use crate::pipeline::{self, Spooled};
use crate::report::ClaimedPaths;

pub(crate) fn run(args: &ReportArgs, claims: &mut ClaimedPaths) -> Result<Status> {
    let progress = Progress::new(args.run.quiet);
    let shape = shape(args.to.format(), args.excel)?;
    let canonicalizer = told(args.profile.canonicalizer()?, args.run.quiet);
    let mut session =
        Session::begin(&args.input, &canonicalizer, &args.run, &progress, Wanted::Fields, claims)?;
    session.protect(args.profile.files());
    let mut output = session.open_output(shape)?;
    let job = &mut session.job;
    let _spooled = Spooled::replace(&mut job.input, &job.memory.temp_dir)?;
    let (survey, outcome) = pipeline::survey(job, args.top)?;
    match (shape, args.to) {
        (Some(shape), _) => survey.write_rows(&mut output, shape)?,
        (None, ReportToArg::Json) => {
            output.write(format!("{:#}\n", survey.to_json()).as_bytes())?;
        }
        (None, ReportToArg::Html) => output.write(survey.to_html().as_bytes())?,
        (None, _) => output.write(survey.to_text().as_bytes())?,
    }
    session.results.finish(output)?;
    session.close(&outcome)?;
    doubt_name(args);
    Ok(Status::Done)
}

/// Says where a report is text and its file has the name of another kind.
fn doubt_name(args: &ReportArgs) {
    let suffix = args.run.output.as_ref().and_then(|path| path.extension()?.to_str());
    let kinds = ReportToArg::value_variants().iter().filter(|kind| **kind != ReportToArg::Text);
    let kind = kinds
        .filter_map(|kind| Some(kind.to_possible_value()?.get_name().to_string()))
        .find(|name| suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(name)));
    if let (Some(kind), Some(path), ReportToArg::Text, false) =
        (kind, &args.run.output, args.to, args.run.quiet)
    {
        say(format_args!(
            "{}: written as text; --to {kind} writes what its name says",
            show_path(path)
        ));
    }
}
