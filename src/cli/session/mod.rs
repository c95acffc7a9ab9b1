//! A run of a command that has a job: from the arguments to the job and its files, and to the end
//! of all of them.

mod doubts;
mod memory_peak;
pub(super) mod progress;
mod publish_lock;
mod stats;
mod summary;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use super::args::{FormatArgs, InputArgs, RunArgs};
use super::memory;
use super::signals;
use super::words::say;
use crate::bytes::show_path;
use crate::canonical::{Canonicalizer, RuleId};
use crate::error::{Error, Result};
use crate::pipeline::{Job, Outcome};
use crate::report::{ClaimedPaths, Output, Results, Shape};
use memory_peak::MemoryPeak;
use progress::Progress;
use publish_lock::PublishLock;
use stats::{RunCosts, Stats};

/// What a command wants of what is read. This decides what is refused or doubted at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The URLs of records.
    Urls,
    /// Status and time of every record as well: if nobody understands them, that is told.
    Fields,
    /// Something for each line, whatever it is: a result of rejects alone is what was asked for.
    EveryLine,
}

/// A run: its job, and the results that it has so far.
pub(super) struct Session<'a> {
    pub(super) job: Job<'a>,
    pub(super) results: Results,
    wanted: Wanted,
    claims: &'a mut ClaimedPaths,
    format: &'a FormatArgs,
    stats: Option<Stats>,
    /// For the counts.
    memory_peak: Option<MemoryPeak>,
    run: &'a RunArgs,
    started: Instant,
}

impl<'a> Session<'a> {
    /// The job that the arguments describe, for a command that wants this of it. No result is
    /// opened yet; all will be among `claims`.
    pub(super) fn begin(
        input: &'a InputArgs,
        canonicalizer: &'a Canonicalizer,
        run: &'a RunArgs,
        progress: &'a Progress,
        wanted: Wanted,
        claims: &'a mut ClaimedPaths,
    ) -> Result<Self> {
        run.check_stats(&input.files)?;
        let plan = input.plan()?;
        let job = Job {
            format: input.format.plan()?,
            threads: run.threads,
            memory: run.memory(),
            progress,
            ..Job::new(plan, canonicalizer)
        };
        if let Some(folder) = run.temp_dir.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(Error::config(format!(
                "--temp-dir {}: expected a folder, found {}; name another one with -T",
                show_path(folder),
                if folder.exists() { "a file" } else { "nothing of this name" }
            )));
        }
        job.check_memory()?;
        memory::limit_allocator(job.memory.bytes, job.workers(), job.input.line_bytes_max);
        claims.protect(job.input.paths.iter().chain(&input.files_from).cloned());
        claims.set_threads(run.sync.threads(job.output_threads()));
        Ok(Session {
            claims,
            job,
            results: Results::default(),
            wanted,
            format: &input.format,
            stats: None,
            memory_peak: run.stats.as_ref().and_then(|_| MemoryPeak::watch()),
            run,
            started: progress.started(),
        })
    }

    /// Takes `files` for inputs as well, which no result may replace.
    pub(super) fn protect(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        self.claims.protect(files);
    }

    /// Opens what every job writes: its output, for rows of `shape` if it writes rows, and the
    /// files for rejected lines and counts that were asked for.
    pub(super) fn open_output(&mut self, shape: Option<Shape>) -> Result<Output> {
        let rejects = self.format.rejects.as_deref();
        let rejects = rejects.map(|path| self.claims.open(Some(path))).transpose()?;
        self.job.rejects = rejects.map(Mutex::new);
        let output = self.claims.open(self.run.output.as_deref())?;
        shape.map_or(Ok(()), |shape| shape.check(&output))?;
        self.stats = self.run.open_stats(self.claims)?;
        Ok(output)
    }

    /// Opens one more result.
    pub(super) fn open(&mut self, path: &Path) -> Result<Output> {
        self.claims.open(Some(path))
    }

    /// Opens one more result that nobody but a later run reads.
    pub(super) fn open_private(&mut self, path: &Path) -> Result<Output> {
        self.claims.open_private(path)
    }

    /// The end of a job that is done: finishes what there is beside the results, publishes all of
    /// them, and says the closing words.
    pub(super) fn close(mut self, outcome: &Outcome) -> Result<()> {
        if self.wanted != Wanted::EveryLine {
            self.check_format(outcome)?;
        }
        if let Some(rejects) = self.job.rejects.take() {
            let file = rejects.into_inner();
            let file = file.map_err(|_| Error::internal("a thread has panicked while it wrote"))?;
            self.results.finish(file)?;
        }
        let profile = self.job.canonicalizer.profile();
        let costs = RunCosts {
            elapsed: self.started.elapsed(),
            threads: self.job.workers(),
            background: self.job.background_seconds().to_vec(),
            peak_anonymous_bytes: self.memory_peak.take().and_then(MemoryPeak::bytes),
        };
        let counts = || stats::to_json(outcome, profile, &costs);
        let counts_to_say = match self.stats.take() {
            None => None,
            Some(Stats::Said) => Some(counts()),
            Some(Stats::File(mut file)) => {
                file.write_line(counts().to_string().as_bytes(), b'\n')?;
                self.results.finish(*file)?;
                None
            }
        };
        // Before anything is published: a run without the counts that were asked for has failed.
        if let Some(counts) = counts_to_say {
            stats::say_counts(&counts)?;
        }
        publish(std::mem::take(&mut self.results))?;
        self.tell(outcome);
        Ok(())
    }

    /// Checks that the files were what the flags say.
    pub(super) fn check_format(&self, outcome: &Outcome) -> Result<()> {
        doubts::refuse_format(outcome, self.format)
    }

    /// Tells people what the run has seen.
    pub(super) fn tell(&self, outcome: &Outcome) {
        if self.run.quiet {
            return;
        }
        if outcome.files.is_empty() {
            say(format_args!("nothing was read: no file was found in what was named"));
        }
        let profile = self.job.canonicalizer.profile();
        if profile.parses {
            let needs_fields = self.wanted == Wanted::Fields;
            let has_rules =
                profile.rules.contains(RuleId::Dust) && !profile.options.dust.is_empty();
            for doubt in doubts::doubts(outcome, self.format, needs_fields, has_rules) {
                say(format_args!("{doubt}"));
            }
        }
        summary::summarize(outcome, profile, self.started.elapsed(), self.run.verbose);
    }

    /// Is the run to say nothing but why it failed?
    pub(super) fn is_quiet(&self) -> bool {
        self.run.quiet
    }
}

/// Publishes `results`; nobody can stop it halfway.
pub(super) fn publish(results: Results) -> Result<()> {
    let _lock = results.shared_folder().map(PublishLock::acquire);
    signals::ignore_requests_to_end();
    for left in results.publish()? {
        say(format_args!("undust: {left}"));
    }
    Ok(())
}
