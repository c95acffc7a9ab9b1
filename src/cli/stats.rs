//! The closing summary, and the counts as JSON.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::words::{is_watched, say};
use crate::bytes::show;
use crate::canonical::Profile;
use crate::error::Result;
use crate::pipeline::Outcome;
use crate::record::Format;
use crate::reject::RejectCounts;
use crate::report::{Output, number};

/// Says on a terminal, or when asked, what was done.
pub(super) fn summarize(outcome: &Outcome, profile: &Profile, elapsed: Duration, verbose: bool) {
    if !verbose && !is_watched() {
        return;
    }
    let tally = &outcome.tally;
    if verbose {
        say(format_args!("profile {} (digest {})", profile.title(), profile.digest()));
        for file in &outcome.files {
            say(format_args!(
                "{}: {}, {}{}{}",
                show(file.path.as_os_str().as_encoded_bytes()),
                Format::Lines.name(),
                file.compression.name(),
                if file.mapped { ", mapped" } else { "" },
                if file.grew { ", read up to the size it had; it has grown since" } else { "" }
            ));
        }
    }
    let mut line = format!(
        "{} lines: {} unique, {} duplicate ({:.1} %)",
        number(tally.lines),
        number(tally.unique),
        number(tally.duplicate),
        100.0 * tally.duplicate_ratio()
    );
    let mut also = |count: u64, what: &str| {
        if count > 0 {
            line.push_str(&format!(", {} {what}", number(count)));
        }
    };
    also(tally.empty, "empty");
    for (kind, count) in tally.rejected.seen() {
        also(count, &format!("rejected ({kind})"));
    }
    also(tally.unparsed.total(), "taken as they are");
    let rate = tally.lines as f64 / elapsed.as_secs_f64().max(1e-9);
    say(format_args!("{line}; {:.1} s, {} lines/s", elapsed.as_secs_f64(), number(rate as u64)));
}

/// Writes the counts as JSON to `path`, or to standard error for `-`.
pub(super) fn write(
    path: &Path,
    outcome: &Outcome,
    profile: &Profile,
    elapsed: Duration,
    threads: usize,
) -> Result<()> {
    let text = to_json(outcome, profile, elapsed, threads).to_string();
    if path.as_os_str() == "-" {
        say(format_args!("{text}"));
        return Ok(());
    }
    let mut file = Output::file(path, &[])?;
    file.line(text.as_bytes(), b'\n')?;
    file.publish()
}

fn to_json(outcome: &Outcome, profile: &Profile, elapsed: Duration, threads: usize) -> Value {
    let tally = &outcome.tally;
    let kinds = |counts: &RejectCounts| -> Value {
        Value::Object(counts.seen().map(|(kind, n)| (kind.name().to_string(), json!(n))).collect())
    };
    let files: Vec<Value> = outcome
        .files
        .iter()
        .map(|file| {
            json!({
                "path": file.path.display().to_string(),
                "format": Format::Lines.name(),
                "compression": file.compression.name(),
                "mapped": file.mapped,
                "disk_bytes": file.disk_bytes,
                "bytes": file.bytes,
            })
        })
        .collect();
    let seconds = elapsed.as_secs_f64();
    json!({
        "undust": env!("CARGO_PKG_VERSION"),
        "profile": { "name": profile.title(), "digest": profile.digest() },
        "totals": {
            "lines": tally.lines,
            "bytes": tally.bytes,
            "records": tally.records,
            "rejected": tally.rejected.total(),
            "empty": tally.empty,
            "unique": tally.unique,
            "duplicate": tally.duplicate,
            "unparsed": tally.unparsed.total(),
            "scheme_added": tally.scheme_added,
        },
        "rejected_by_kind": kinds(&tally.rejected),
        "unparsed_by_kind": kinds(&tally.unparsed),
        "input": files,
        "threads": threads,
        "elapsed_seconds": seconds,
        "lines_per_second": tally.lines as f64 / seconds.max(1e-9),
    })
}
