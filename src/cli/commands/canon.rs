//! `canon`: the canonical form of every line.

use crate::canonical::Notation;
use crate::cli::Status;
use crate::cli::args::{CanonArgs, NotationArg, OnBadArg};
use crate::cli::session::progress::Progress;
use crate::cli::session::{Session, Wanted};
use crate::cli::shape::shape;
use crate::cli::words::told;
use crate::error::{Error, Result};
use crate::pipeline::{self, CanonPlan, OnBad};
use crate::report::ClaimedPaths;

pub(crate) fn run(args: &CanonArgs, claims: &mut ClaimedPaths) -> Result<Status> {
    let progress = Progress::new(args.run.quiet);
    let shape = shape(args.to.format(), args.excel)?;
    if shape.is_some() && args.print != NotationArg::Canonical {
        return Err(Error::config(
            "--print: chooses what a line of text is, and a row has all forms: leave out --print or --to",
        ));
    }
    let canonicalizer = told(args.profile.canonicalizer()?, args.run.quiet);
    let plan = CanonPlan {
        on_bad: match args.on_bad {
            OnBadArg::Keep => OnBad::Keep,
            OnBadArg::Empty => OnBad::Empty,
            OnBadArg::Fail => OnBad::Fail,
        },
        notation: match args.print {
            NotationArg::Canonical => Notation::Url,
            NotationArg::Surt => Notation::Surt,
            NotationArg::Urlkey => Notation::Urlkey,
        },
        shape,
    };
    let wanted = match plan.on_bad {
        OnBad::Empty => Wanted::EveryLine,
        OnBad::Keep | OnBad::Fail => Wanted::Urls,
    };
    let mut session =
        Session::begin(&args.input, &canonicalizer, &args.run, &progress, wanted, claims)?;
    session.protect(args.profile.files());
    let mut output = session.open_output(shape)?;
    let outcome = pipeline::canon(&session.job, &plan, &mut output)?;
    session.results.finish(output)?;
    session.close(&outcome)?;
    Ok(Status::Done)
}
