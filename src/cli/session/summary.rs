//! The closing summary: what was read, and what became of it.

use std::time::Duration;

use crate::bytes::decimal::with_commas;
use crate::bytes::show;
use crate::canonical::Profile;
use crate::cli::words::{is_watched, say};
use crate::input::Compression;
use crate::pipeline::{MemoryUse, Outcome, line_place};
use crate::reject::Reject;

/// Says what became of the job's memory, if it was used up.
fn tell_memory(memory: &MemoryUse) {
    let budget = memory.budget_bytes >> 20;
    let spilled = memory.spilled_bytes.div_ceil(1 << 20);
    let to_files = format!("{} MiB went to temporary files", with_commas(spilled));
    let Some(lines) = memory.spilled_after_lines else {
        if spilled > 0 {
            say(format_args!("of the memory of {budget} MiB some parts were used up; {to_files}"));
        }
        return;
    };
    let then = match spilled {
        0 => "nothing had to go to temporary files, since later lines were known".to_string(),
        _ => to_files,
    };
    say(format_args!(
        "the memory of {budget} MiB was used up after {} lines; {then}",
        with_commas(lines)
    ));
}

/// Says which files were read, and how.
fn tell_files(outcome: &Outcome) {
    for file in &outcome.files {
        let format = file.layout.format.as_ref();
        let columns = format.map_or(String::new(), |format| format.describe());
        say(format_args!(
            "{}: {}{}{}, {}{}{}",
            file.shown(),
            file.layout.name(),
            if columns.is_empty() { "" } else { " " },
            columns,
            match file.summary.compression {
                Compression::None => "not compressed",
                packed => packed.name(),
            },
            if file.summary.mapped { ", mapped" } else { "" },
            if file.summary.grew { ", read up to the size it had; it has grown since" } else { "" }
        ));
        if let Some(votes) = &file.layout.first_lines.votes {
            say(format_args!("  detected from {} lines: {votes}", with_commas(votes.lines as u64)));
        }
    }
}

/// Says where the first lines of each kind are that were rejected, after `whose` they are.
fn tell_rejects(outcome: &Outcome, whose: &str, verbose: bool) {
    // The others are usual in logs.
    let speaks_of_format =
        |kind| matches!(kind, Reject::Format | Reject::NoUrl | Reject::LineTooLong);
    for (kind, line, text) in outcome.tally.first_rejects() {
        if verbose || speaks_of_format(kind) {
            let place = line_place(&outcome.files, outcome.files.len(), line);
            say(format_args!("{whose}first {kind}: {place}: \"{}\"", show(text)));
        }
    }
}

/// What became of the lines of `outcome`, in words.
fn counts(outcome: &Outcome) -> String {
    let tally = &outcome.tally;
    let mut line = format!("{} lines: ", with_commas(tally.lines));
    line += &match outcome.compared {
        false => format!("{} records", with_commas(tally.records)),
        true => format!(
            "{} unique, {} duplicate ({:.1} %)",
            with_commas(tally.unique),
            with_commas(tally.duplicate),
            100.0 * tally.duplicate_ratio()
        ),
    };
    let mut also = |count: u64, what: &str| {
        if count > 0 {
            line.push_str(&format!(", {} {what}", with_commas(count)));
        }
    };
    also(tally.empty, "empty");
    also(tally.comments, "headers and comments");
    also(tally.filtered, "filtered");
    for (kind, count) in tally.rejected.seen() {
        also(count, &format!("rejected ({kind})"));
    }
    also(tally.unparsed.total(), "kept unparsed");
    line
}

/// Says on a terminal, when asked, or when lines were rejected, what was done.
pub(super) fn summarize(outcome: &Outcome, profile: &Profile, elapsed: Duration, verbose: bool) {
    let tally = &outcome.tally;
    let known = outcome.known.as_deref();
    let rejected = tally.rejected.total() + known.map_or(0, |it| it.tally.rejected.total());
    // Lines that are gone are told in any case.
    if !verbose && !is_watched() && rejected == 0 {
        return;
    }
    if verbose {
        say(format_args!("profile {} (digest {})", profile.title(), profile.digest()));
        tell_files(outcome);
    }
    if let Some(known) = known {
        if verbose {
            tell_files(known);
        }
        tell_rejects(known, "known: ", verbose);
        if verbose {
            tell_memory(&known.memory);
        }
        say(format_args!("known: {}", counts(known)));
    }
    tell_rejects(outcome, "", verbose);
    if verbose {
        tell_memory(&outcome.memory);
    }
    let line = counts(outcome);
    let rate = tally.lines as f64 / elapsed.as_secs_f64().max(1e-9);
    say(format_args!(
        "{line}; {:.1} s, {} lines/s",
        elapsed.as_secs_f64(),
        with_commas(rate as u64)
    ));
}
