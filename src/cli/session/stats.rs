//! The counts of a run as JSON.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use memchr::memmem;
use serde_json::{Value, json};

use crate::bytes::{printable, show};
use crate::canonical::Profile;
use crate::cli::args::RunArgs;
use crate::cli::memory::process_bytes;
use crate::error::{Error, Result};
use crate::pipeline::{InputFile, MemoryUse, Outcome, StageSeconds};
use crate::report::{ClaimedPaths, Output, Tally};

/// Where the counts go.
pub(super) enum Stats {
    /// To standard error.
    Said,
    /// To a file.
    File(Box<Output>),
}

impl RunArgs {
    /// Checks that no file was given after a blank, as in `--stats FILE`, where it is one of the
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
    pub(super) fn open_stats(&self, claims: &mut ClaimedPaths) -> Result<Option<Stats>> {
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

/// The files of `outcome` as JSON.
fn files_json(outcome: &Outcome) -> Value {
    let file = |InputFile { summary: file, layout, lines, .. }: &InputFile| {
        json!({
            "path": file.path.to_string_lossy(),
            "format": layout.name(),
            "compression": file.compression.name(),
            "mapped": file.mapped,
            "disk_bytes": file.disk_bytes,
            "bytes": file.bytes,
            "lines": lines,
        })
    };
    outcome.files.iter().map(file).collect()
}

/// The totals of a tally as JSON.
fn totals_json(tally: &Tally) -> Value {
    json!({
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
    })
}

/// What became of a job's memory, as JSON.
fn memory_json(memory: &MemoryUse) -> Value {
    json!({
        "budget_bytes": memory.budget_bytes,
        "table_bytes": memory.table_bytes,
        "spilled_bytes": memory.spilled_bytes,
        "spilled_after_lines": memory.spilled_after_lines,
    })
}

/// The seconds of stages as JSON.
fn stages_json<'a>(stages: impl Iterator<Item = &'a StageSeconds>) -> Value {
    let stages = stages.map(|one| {
        // The sum of no numbers would be written as -0.0.
        let sum = one.threads.iter().fold(0.0, |sum, seconds| sum + seconds);
        (one.stage.name().to_string(), json!({ "seconds": sum, "by_thread": one.threads }))
    });
    stages.collect()
}

/// The counts as JSON.
pub(super) fn to_json(outcome: &Outcome, profile: &Profile, costs: &RunCosts) -> Value {
    let tally = &outcome.tally;
    let seconds = costs.elapsed.as_secs_f64();
    json!({
        "undust": env!("CARGO_PKG_VERSION"),
        "profile": { "name": profile.title(), "digest": profile.digest() },
        "totals": totals_json(tally),
        "rejected_by_kind": tally.rejected,
        "first_rejected": tally.first_rejects_json(),
        "unparsed_by_kind": tally.unparsed,
        "input": files_json(outcome),
        "known": outcome.known.as_ref().map(|known| {
            json!({
                "totals": totals_json(&known.tally),
                "rejected_by_kind": known.tally.rejected,
                "input": files_json(known),
                "memory": memory_json(&known.memory),
                "stages": stages_json(known.stages.iter()),
            })
        }),
        "memory": memory_json(&outcome.memory),
        "peak_resident_bytes": process_bytes("VmHWM:"),
        "peak_anonymous_bytes": costs.peak_anonymous_bytes,
        "threads": costs.threads,
        "stages": stages_json(outcome.stages.iter().chain(&costs.background)),
        "elapsed_seconds": seconds,
        "urls_per_second": tally.records as f64 / seconds.max(1e-9),
        "lines_per_second": tally.lines as f64 / seconds.max(1e-9),
        "bytes_per_second": tally.bytes as f64 / seconds.max(1e-9),
    })
}
