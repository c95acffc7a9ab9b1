//! The closing summary, and the counts as JSON.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use memchr::memmem;
use serde_json::{Value, json};

use super::args::{FormatArgs, RunArgs};
use super::memory::process_bytes;
use super::words::{is_watched, say};
use crate::bytes::{printable, show};
use crate::canonical::Profile;
use crate::error::{Error, Result};
use crate::input::Compression;
use crate::pipeline::{InputFile, MemoryUse, Outcome, StageSeconds, line_place};
use crate::record::Layout;
use crate::reject::Reject;
use crate::report::{Claims, Output, Tally, number};

/// Share of the first lines, in percent, below which a list may be something else.
const LIST_SHARE_MIN_PERCENT: usize = 50;

/// The same where another format understands [a part of them](RIVAL_SHARE_MIN_PERCENT).
const LIST_SHARE_MIN_WITH_RIVAL_PERCENT: usize = 90;
const RIVAL_SHARE_MIN_PERCENT: usize = 10;

/// Fewest lines that say anything of that where there are URLs.
const LIST_LINES_MIN: usize = 10;

/// Says what looks wrong: filters that let nothing through or that match nothing; records of which
/// most are no URLs; files that were taken for lists for want of anything better; and files that
/// are not compressed though their names say so.
pub(super) fn doubt(outcome: &Outcome, given: &FormatArgs) {
    let tally = &outcome.tally;
    doubt_filters(outcome, given);
    for InputFile { summary, layout, .. } in &outcome.files {
        let packing = Compression::of_name(&summary.path);
        let is_packed = summary.compression != Compression::None;
        if packing != Compression::None && !is_packed && !is_like_its_format(layout) {
            say(format_args!(
                "{}: named as {packing} files are, though it does not begin as they do: read as it is; \
                 get it again if it is cut short or damaged",
                show(summary.path.as_os_str().as_encoded_bytes())
            ));
        }
    }
    for file in outcome.files.iter().filter(|file| file.layout.has_nuls) {
        say(format_args!(
            "{}: has NUL bytes; if lines end with them, say so by -0; if it is UTF-16, convert it: \
             iconv -f UTF-16LE -t UTF-8",
            show(file.summary.path.as_os_str().as_encoded_bytes())
        ));
    }
    let has_urls = tally.unparsed.total() < tally.records;
    let doubted = outcome.files.iter().filter(|file| doubt_list(file, has_urls)).count();
    if doubted == 0 && given.format.is_none() {
        doubt_urls(outcome, given);
    }
}

/// Says of a file that was taken for a list, for want of anything better, that it was. Did it?
/// `has_urls`: are there URLs at all?
fn doubt_list(file: &InputFile, has_urls: bool) -> bool {
    let Some(votes) = file.layout.votes.as_ref().filter(|_| file.layout.is_list()) else {
        return false;
    };
    let is_list = |name: &str| name == file.layout.name();
    let has_rival = votes
        .shares
        .iter()
        .any(|(name, share)| !is_list(name) && *share >= RIVAL_SHARE_MIN_PERCENT);
    let share_min = match has_rival {
        true => LIST_SHARE_MIN_WITH_RIVAL_PERCENT,
        false => LIST_SHARE_MIN_PERCENT,
    };
    let share = votes.shares.iter().find(|(name, _)| is_list(name));
    let Some((_, share)) = share.filter(|(_, share)| *share < share_min) else { return false };
    if votes.lines < LIST_LINES_MIN && has_urls {
        return false;
    }
    say(format_args!(
        "{}: taken for a list, though {share} % of its first {} lines look like URLs; --format or \
         --log-format say what it is",
        show(file.summary.path.as_os_str().as_encoded_bytes()),
        number(votes.lines as u64)
    ));
    true
}

/// Says where most of the records are not URLs.
fn doubt_urls(outcome: &Outcome, given: &FormatArgs) {
    let Tally { unparsed, records, .. } = &outcome.tally;
    if *records < LIST_LINES_MIN as u64 || unparsed.total() * 2 <= *records {
        return;
    }
    let kinds: Vec<String> =
        unparsed.seen().map(|(kind, count)| format!("{} {kind}", number(count))).collect();
    let are_relative =
        unparsed.seen().any(|(kind, count)| kind == Reject::Relative && count * 2 > *records);
    let is_list = outcome.files.iter().any(|file| file.layout.is_list());
    let advice = match are_relative && is_list && given.base_url.is_none() {
        true => "; if they are paths, --base-url says on which host",
        false => "",
    };
    say(format_args!(
        "{} of {} records are not URLs, and were compared byte for byte ({}){advice}",
        number(unparsed.total()),
        number(*records),
        kinds.join(", ")
    ));
}

/// Says where filters have let nothing through, or everything.
fn doubt_filters(outcome: &Outcome, given: &FormatArgs) {
    let tally = &outcome.tally;
    let is_for_hosts = |pattern: &&String| !pattern.contains(['/', '?']);
    let host_pattern = given.include.iter().chain(&given.exclude).find(is_for_hosts);
    let advice = host_pattern.map_or(String::new(), |pattern| {
        format!("; {pattern} is a pattern for hosts, one for paths begins with a slash: /{pattern}")
    });
    let asks_for_fields = !(given.status.is_empty() && given.method.is_empty())
        || given.since.is_some()
        || given.until.is_some();
    let are_lists = outcome.files.iter().all(|file| file.layout.is_list());
    if tally.filtered > 0 && tally.records == 0 {
        say(format_args!(
            "nothing is left: all {} records were filtered out{}",
            number(tally.filtered),
            match advice.is_empty() || given.include.is_empty() {
                true if asks_for_fields && are_lists => {
                    "; they are lines of a list, which has no status, method or time"
                }
                true => "; -v says how the files were read",
                false => &advice,
            }
        ));
    }
    if tally.filtered == 0 && tally.records > 0 && !given.exclude.is_empty() {
        say(format_args!("--exclude {}: no record matches{advice}", given.exclude.join(", ")));
    }
    if tally.rejected.total() > 0 && tally.records + tally.filtered == 0 {
        say(format_args!(
            "nothing is left: all {} lines with anything in them were rejected",
            number(tally.rejected.total())
        ));
    }
}

/// Fails where no line at all is what the flags say the files are: the results are not those that
/// were asked for, and must not replace others.
pub(super) fn refuse_format(outcome: &Outcome, given: &FormatArgs) -> Result<()> {
    let Tally { records, filtered, rejected, .. } = &outcome.tally;
    let flags = [
        ("--format", &given.format),
        ("--field", &given.field),
        ("--log-format", &given.log_format),
    ];
    let flag = flags.iter().find_map(|(flag, value)| Some((flag, value.as_ref()?)));
    let speaks_of_it = |(kind, _)| matches!(kind, Reject::Format | Reject::NoUrl);
    let (Some((flag, value)), 0) = (flag, *records + *filtered) else { return Ok(()) };
    if rejected.total() == 0 || !rejected.seen().all(speaks_of_it) {
        return Ok(());
    }
    let first = outcome.tally.first_rejects().next();
    let first = first.map_or(String::new(), |(kind, line, text)| {
        let place = line_place(&outcome.files, outcome.files.len(), line);
        format!("; the first: {place}: {}: \"{}\"", kind.explain(), show(&text))
    });
    Err(Error::input(format!(
        "{flag} {value}: expected records of that kind, found none in {} lines; no file is \
         written{first}",
        number(rejected.total())
    )))
}

/// Have most of the first lines the shape that all were taken for? Where nobody had to vote, they
/// have.
fn is_like_its_format(layout: &Layout) -> bool {
    let Some(votes) = &layout.votes else { return true };
    votes.shares.iter().any(|(name, share)| *name == layout.name() && *share >= 50)
}

/// Says what became of the job's memory, if it was used up.
fn tell_memory(memory: &MemoryUse) {
    let budget = memory.budget_bytes >> 20;
    let spilled = memory.spilled_bytes.div_ceil(1 << 20);
    let to_files = format!("{} MiB went to temporary files", number(spilled));
    let Some(lines) = memory.spilled_after_lines else {
        if spilled > 0 {
            say(format_args!("of the memory of {budget} MiB some parts were used up; {to_files}"));
        }
        return;
    };
    let then = match (memory.read_in_shares, spilled) {
        (true, 0) => "the input was read again for each share of the pages".to_string(),
        (true, _) => {
            format!("the input was read again for each share of the pages, and {to_files}")
        }
        (false, 0) => {
            "nothing had to go to temporary files, since later lines were known".to_string()
        }
        (false, _) => to_files,
    };
    say(format_args!(
        "the memory of {budget} MiB was used up after {} lines; {then}",
        number(lines)
    ));
}

/// Says on a terminal, when asked, or when lines were rejected, what was done.
pub(super) fn summarize(outcome: &Outcome, profile: &Profile, elapsed: Duration, verbose: bool) {
    let tally = &outcome.tally;
    // Lines that are gone are told in any case.
    if !verbose && !is_watched() && tally.rejected.total() == 0 {
        return;
    }
    if verbose {
        say(format_args!("profile {} (digest {})", profile.title(), profile.digest()));
        for file in &outcome.files {
            let format = file.layout.format.as_ref();
            let columns = format.map_or(String::new(), |format| format.describe());
            say(format_args!(
                "{}: {}{}{}, {}{}{}",
                show(file.summary.path.as_os_str().as_encoded_bytes()),
                file.layout.name(),
                if columns.is_empty() { "" } else { " " },
                columns,
                file.summary.compression.name(),
                if file.summary.mapped { ", mapped" } else { "" },
                if file.summary.grew {
                    ", read up to the size it had; it has grown since"
                } else {
                    ""
                }
            ));
            if let Some(votes) = &file.layout.votes {
                say(format_args!("  detected from {} lines: {votes}", number(votes.lines as u64)));
            }
        }
    }
    // The others are usual in logs.
    let speaks_of_format =
        |kind| matches!(kind, Reject::Format | Reject::NoUrl | Reject::LineTooLong);
    for (kind, line, text) in tally.first_rejects() {
        if verbose || speaks_of_format(kind) {
            let place = line_place(&outcome.files, outcome.files.len(), line);
            say(format_args!("first {kind}: {place}: \"{}\"", show(&text)));
        }
    }
    if verbose {
        tell_memory(&outcome.memory);
    }
    let mut line = format!("{} lines: ", number(tally.lines));
    line += &match outcome.compared {
        false => format!("{} records", number(tally.records)),
        true => format!(
            "{} unique, {} duplicate ({:.1} %)",
            number(tally.unique),
            number(tally.duplicate),
            100.0 * tally.duplicate_ratio()
        ),
    };
    let mut also = |count: u64, what: &str| {
        if count > 0 {
            line.push_str(&format!(", {} {what}", number(count)));
        }
    };
    also(tally.empty, "empty");
    also(tally.comments, "headers and comments");
    also(tally.filtered, "filtered");
    for (kind, count) in tally.rejected.seen() {
        also(count, &format!("rejected ({kind})"));
    }
    also(tally.unparsed.total(), "taken as they are");
    let rate = tally.lines as f64 / elapsed.as_secs_f64().max(1e-9);
    say(format_args!("{line}; {:.1} s, {} lines/s", elapsed.as_secs_f64(), number(rate as u64)));
}

/// Where the counts go.
pub(super) enum Stats {
    /// To standard error.
    Said,
    /// To a file.
    File(Box<Output>),
}

impl RunArgs {
    /// Checks that no file was given behind a blank, as in `--stats FILE`, where it is one of the
    /// `files` to be read.
    ///
    /// Failure: a configuration error, if one of them cannot be meant to be read: there is none of
    /// its name, or it has the counts of another run.
    pub(super) fn check_stats(&self, files: &[PathBuf]) -> Result<()> {
        if self.stats.as_deref().is_none_or(|path| path.as_os_str() != "-") {
            return Ok(());
        }
        let cannot_be_read =
            |path: &&PathBuf| path.as_os_str() != "-" && (!path.exists() || has_counts(path));
        match files.iter().find(cannot_be_read) {
            None => Ok(()),
            Some(path) => Err(Error::config(format!(
                "{0}: expected a file to be read, found {1}; if the counts are to go there, write --stats={0}",
                show(path.as_os_str().as_encoded_bytes()),
                if path.exists() { "the counts of another run" } else { "none of this name" }
            ))),
        }
    }

    /// Opens the file for the counts, if one is asked for.
    pub(super) fn open_stats(&self, claims: &mut Claims) -> Result<Option<Stats>> {
        Ok(match self.stats.as_deref() {
            None => None,
            Some(path) if path.as_os_str() == "-" => Some(Stats::Said),
            Some(path) => Some(Stats::File(Box::new(claims.open(Some(path))?))),
        })
    }
}

/// Does a file have the counts of a run, as JSON, and nothing else?
fn has_counts(path: &Path) -> bool {
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    // A pipe is not opened: whoever writes to it would lose its reader.
    if !is_json || !path.is_file() {
        return false;
    }
    let mut start = Vec::new();
    let file = File::open(path).ok();
    file.is_some_and(|file| file.take(COUNTS_BYTES_MAX).read_to_end(&mut start).is_ok())
        && start.starts_with(b"{")
        && memmem::find(&start, b"\"peak_resident_bytes\":").is_some()
}

/// Most bytes of counts that are looked at. Reason: the counts of a run over few files have less.
const COUNTS_BYTES_MAX: u64 = 64 << 10;

/// Writes `counts` to standard error, where they were asked for.
pub(super) fn say_counts(counts: &Value) -> Result<()> {
    let counts = printable(&counts.to_string());
    let said = writeln!(std::io::stderr().lock(), "{counts}");
    said.map_err(|error| Error::writing("standard error", error))
}

/// What a run took, beside what its stages say.
pub(super) struct RunCosts {
    pub(super) elapsed: Duration,
    pub(super) threads: usize,
    /// The seconds of what was done in the background.
    pub(super) background: Vec<StageSeconds>,
    pub(super) peak_anonymous_bytes: Option<u64>,
}

/// The counts as JSON.
pub(super) fn to_json(outcome: &Outcome, profile: &Profile, costs: &RunCosts) -> Value {
    let tally = &outcome.tally;
    let files: Vec<Value> = outcome
        .files
        .iter()
        .map(|InputFile { summary: file, layout, lines, .. }| {
            json!({
                "path": file.path.display().to_string(),
                "format": layout.name(),
                "compression": file.compression.name(),
                "mapped": file.mapped,
                "disk_bytes": file.disk_bytes,
                "bytes": file.bytes,
                "lines": lines,
            })
        })
        .collect();
    let stages: serde_json::Map<String, Value> = outcome
        .stages
        .iter()
        .chain(&costs.background)
        .map(|one| {
            // The sum of no numbers would be written as -0.0.
            let sum = one.threads.iter().fold(0.0, |sum, seconds| sum + seconds);
            let value = json!({ "seconds": sum, "by_thread": one.threads });
            (one.stage.name().to_string(), value)
        })
        .collect();
    let seconds = costs.elapsed.as_secs_f64();
    json!({
        "undust": env!("CARGO_PKG_VERSION"),
        "profile": { "name": profile.title(), "digest": profile.digest() },
        "totals": {
            "lines": tally.lines,
            "bytes": tally.bytes,
            "records": tally.records,
            "rejected": tally.rejected.total(),
            "empty": tally.empty,
            "comments": tally.comments,
            "filtered": tally.filtered,
            "unique": tally.unique,
            "duplicate": tally.duplicate,
            "unparsed": tally.unparsed.total(),
            "scheme_added": tally.scheme_added,
        },
        "rejected_by_kind": tally.rejected,
        "first_rejected": tally.first_rejects_json(),
        "unparsed_by_kind": tally.unparsed,
        "input": files,
        "memory": {
            "budget_bytes": outcome.memory.budget_bytes,
            "table_bytes": outcome.memory.table_bytes,
            "spilled_bytes": outcome.memory.spilled_bytes,
            "spilled_after_lines": outcome.memory.spilled_after_lines,
            "read_in_shares": outcome.memory.read_in_shares,
        },
        "peak_resident_bytes": process_bytes("VmHWM:"),
        "peak_anonymous_bytes": costs.peak_anonymous_bytes,
        "threads": costs.threads,
        "stages": stages,
        "elapsed_seconds": seconds,
        "urls_per_second": tally.records as f64 / seconds.max(1e-9),
        "lines_per_second": tally.lines as f64 / seconds.max(1e-9),
        "bytes_per_second": tally.bytes as f64 / seconds.max(1e-9),
    })
}
