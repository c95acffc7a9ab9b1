//! `undust generate list`.

use std::path::Path;

use crate::cli::Status;
use crate::cli::args::{GenerateListArgs, SyncArgs};
use crate::cli::session::publish;
use crate::error::Result;
use crate::generate::{List, ListPlan, TRUTH_HEADER};
use crate::pipeline;
use crate::report::{ClaimedPaths, Output, Results};

pub(crate) fn run(args: &GenerateListArgs, claims: &mut ClaimedPaths) -> Result<Status> {
    let plan = ListPlan {
        lines: args.lines,
        seed: args.seed,
        exact_share: args.exact,
        variant_share: args.variants,
    };
    let list = List::new(&plan)?;
    let (output, truth) = (args.output.as_deref(), args.truth.as_deref());
    let (mut output, mut truth_file) =
        open_with_truth(claims, output, truth, &args.sync, TRUTH_HEADER.trim_end())?;
    pipeline::generate_list(list, &mut output, truth_file.as_mut())?;
    publish_with_truth(output, truth_file)?;
    Ok(Status::Done)
}

/// Opens what is to be generated and, if it is asked for, what is known of it, which begins with
/// `header`. Both will be among `claims`.
pub(super) fn open_with_truth(
    claims: &mut ClaimedPaths,
    output: Option<&Path>,
    truth: Option<&Path>,
    sync: &SyncArgs,
    header: &str,
) -> Result<(Output, Option<Output>)> {
    claims.set_threads(sync.threads(pipeline::output_threads()));
    let output = claims.open(output)?;
    let mut truth = truth.map(|path| claims.open(Some(path))).transpose()?;
    if let Some(file) = &mut truth {
        file.write_line(header.as_bytes(), b'\n')?;
    }
    Ok((output, truth))
}

/// Publishes what was generated and what is known of it.
pub(super) fn publish_with_truth(output: Output, truth: Option<Output>) -> Result<()> {
    let mut results = Results::default();
    // A list without its truth is a list; a truth without its list is nothing.
    [output].into_iter().chain(truth).try_for_each(|output| results.finish(output))?;
    publish(results)
}
