//! The commands that run jobs.

use std::fs::File;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use super::args::{
    CanonArgs, DedupArgs, GenerateArgs, GenerateCommand, GenerateListArgs, InputArgs, KeepArg,
    OnBadArg, PrintArg, ReportArgs, ReportToArg, RunArgs, ToArg,
};
use super::memory;
use super::progress::Progress;
use super::stats::Stats;
use super::turn::Turn;
use super::words::say;
use super::{DONE, NO, signals, stats};
use crate::bytes::show;
use crate::canonical::Canonicalizer;
use crate::cluster::{Keep, Seen};
use crate::error::{Error, Result};
use crate::fingerprint::FingerprintKey;
use crate::generate::{List, ListPlan, TRUTH_HEADER, write_truth};
use crate::input::Container;
use crate::parts;
use crate::pipeline::{
    self, Checked, ClusterFilter, DedupPlan, DuplicateLine, Job, OnBad, Outcome, Print,
    ProgressListener, SelectPlan, Spooled,
};
use crate::record::formats;
use crate::report::{Claims, Output, Predecessor, Results, RowFormat, Shape};

pub(super) fn job<'a>(
    input: &InputArgs,
    canonicalizer: &'a Canonicalizer,
    run: &RunArgs,
    progress: &'a dyn ProgressListener,
) -> Result<Job<'a>> {
    let job = Job {
        input: input.plan()?,
        format: input.format.plan()?,
        rejects: None,
        canonicalizer,
        key: FingerprintKey::random(),
        threads: run.threads,
        memory: run.memory(),
        progress,
    };
    if let Some(folder) = run.temp_dir.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Error::config(format!(
            "--temp-dir {}: expected a folder, found {}; name another one with -T",
            folder.display(),
            if folder.exists() { "a file" } else { "nothing of this name" }
        )));
    }
    job.check_memory()?;
    memory::spare(job.memory.bytes);
    Ok(job)
}

impl InputArgs {
    /// Opens the file for rejected lines, if one is asked for.
    pub(super) fn open_rejects(&self, claims: &mut Claims) -> Result<Option<Mutex<Output>>> {
        let path = self.format.rejects.as_deref();
        path.map(|path| claims.open(Some(path)).map(Mutex::new)).transpose()
    }
}

/// The end of a job that is done: finishes what there is beside its `results`, publishes all of
/// them, and says the closing words.
pub(super) fn close(
    mut results: Results,
    outcome: &Outcome,
    job: &mut Job,
    run: &RunArgs,
    stats: Option<Stats>,
    started: Instant,
) -> Result<()> {
    if let Some(rejects) = job.rejects.take() {
        let file = rejects.into_inner();
        let file = file.map_err(|_| Error::internal("a thread has panicked while it wrote"))?;
        results.finish(file)?;
    }
    let profile = job.canonicalizer.profile();
    let elapsed = started.elapsed();
    let counts = || stats::to_json(outcome, profile, elapsed, job.workers());
    let counts_to_say = match stats {
        None => None,
        Some(Stats::Said) => Some(counts()),
        Some(Stats::File(mut file)) => {
            file.line(counts().to_string().as_bytes(), b'\n')?;
            results.finish(*file)?;
            None
        }
    };
    // Before anything is published: a run without the counts that were asked for has failed.
    if let Some(counts) = counts_to_say {
        stats::say_counts(&counts)?;
    }
    publish(results)?;
    tell(outcome, job, run, started);
    Ok(())
}

/// Tells people what a run has seen.
fn tell(outcome: &Outcome, job: &Job, run: &RunArgs, started: Instant) {
    if run.quiet {
        return;
    }
    let profile = job.canonicalizer.profile();
    if profile.parses {
        stats::doubt(outcome);
    }
    stats::summarize(outcome, profile, started.elapsed(), run.verbose);
}

/// Publishes `results`; nobody can stop it halfway.
fn publish(results: Results) -> Result<()> {
    let _turn = results.shared_folder().map(Turn::wait);
    signals::ignore_requests_to_end();
    for left in results.publish()? {
        say(format_args!("undust: {left}"));
    }
    Ok(())
}

pub(super) fn dedup(args: &DedupArgs) -> Result<u8> {
    let started = Instant::now();
    let shape = shape(args.to.format(), args.excel)?;
    if shape.is_some() && Print::from(args.print) != Print::Original {
        return Err(Error::config(
            "--print: chooses what a line of text is, and a row has both the URL and its canonical form: leave \
             out --print or --to",
        ));
    }
    let canonicalizer = args.profile.canonicalizer()?;
    let progress = Progress::new(args.run.quiet);
    let mut job = job(&args.input, &canonicalizer, &args.run, &progress)?;
    if args.check {
        return check(&job, &args.run, started);
    }
    if args.looks_twice() && args.seen.is_some() {
        return Err(Error::config(
            "--seen works with the first spelling only: leave out --keep and --to, or run undust twice",
        ));
    }
    let mut claims = Claims::new(&job.input.paths).helped_by(args.run.sync.helpers(job.helpers()));
    job.rejects = args.input.open_rejects(&mut claims)?;
    let mut output = claims.open(args.run.output.as_deref())?;
    shape.map_or(Ok(()), |shape| shape.check(&output))?;
    let stats = args.run.open_stats(&mut claims)?;
    let mut results = Results::default();
    let outcome = if args.looks_twice() {
        select(args, shape, &mut job, &mut claims, output, &mut results)?
    } else {
        let (seen, seen_file) = match &args.seen {
            Some(path) => {
                let (seen, predecessor) = open_seen(path, &job)?;
                (seen, Some((claims.open_private(path)?, predecessor)))
            }
            None => (Seen::default(), None),
        };
        job.key = seen.key().unwrap_or(job.key);
        let plan = DedupPlan { print: args.print.into(), seen: &seen };
        let outcome = pipeline::dedup(&job, &plan, &mut output)?;
        results.finish(output)?;
        if let Some((mut file, predecessor)) = seen_file {
            seen.write(|bytes| file.write(bytes))?;
            // Behind all others: what was not published has not been seen.
            results.finish_last(file, predecessor)?;
        }
        outcome
    };
    close(results, &outcome, &mut job, &args.run, stats, started)?;
    Ok(DONE)
}

/// `dedup` where the first spellings alone are not enough. Its `results` are
/// finished, not published.
fn select(
    args: &DedupArgs,
    shape: Option<Shape>,
    job: &mut Job,
    claims: &mut Claims,
    mut output: Output,
    results: &mut Results,
) -> Result<Outcome> {
    let mut dropped = match &args.dropped {
        Some(path) => Some(claims.open(Some(path))?),
        None => None,
    };
    if let (Some(shape), Some(dropped)) = (shape, &dropped) {
        shape.check(dropped)?;
    }
    let plan = SelectPlan {
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
        counts: args.count,
        clusters: args.clusters,
        print: args.print.into(),
        shape,
    };
    let _spooled = match plan.reads_once() {
        true => Spooled::default(),
        false => Spooled::replace(&mut job.input, &job.memory.temp_dir)?,
    };
    let outcome = pipeline::select(job, &plan, &mut output, dropped.as_mut())?;
    dropped.into_iter().chain([output]).try_for_each(|output| results.finish(output))?;
    Ok(outcome)
}

impl DedupArgs {
    /// Must the input be read twice?
    fn looks_twice(&self) -> bool {
        self.count
            || self.clusters
            || self.repeated
            || self.unique
            || self.keep != KeepArg::First
            || self.dropped.is_some()
            || self.to != ToArg::Text
    }
}

impl ToArg {
    fn format(self) -> Option<RowFormat> {
        match self {
            ToArg::Text => None,
            ToArg::Tsv => Some(RowFormat::Tsv),
            ToArg::Csv => Some(RowFormat::Csv),
            ToArg::Jsonl => Some(RowFormat::Jsonl),
            ToArg::Parquet => Some(RowFormat::Parquet),
        }
    }
}

impl ReportToArg {
    fn format(self) -> Option<RowFormat> {
        match self {
            ReportToArg::Text | ReportToArg::Json => None,
            ReportToArg::Tsv => Some(RowFormat::Tsv),
            ReportToArg::Csv => Some(RowFormat::Csv),
            ReportToArg::Jsonl => Some(RowFormat::Jsonl),
            ReportToArg::Parquet => Some(RowFormat::Parquet),
        }
    }
}

/// How rows are written, if they are asked for.
fn shape(format: Option<RowFormat>, excel: bool) -> Result<Option<Shape>> {
    if excel && !matches!(format, Some(RowFormat::Tsv | RowFormat::Csv)) {
        return Err(Error::config(
            "--excel: guards what a spreadsheet opens; give --to csv or --to tsv with it",
        ));
    }
    Ok(format.map(|format| Shape { format, guards_formulas: excel }))
}

impl From<PrintArg> for Print {
    fn from(print: PrintArg) -> Self {
        match print {
            PrintArg::Original => Print::Original,
            PrintArg::Canonical => Print::Canonical,
            PrintArg::Line => Print::Line,
        }
    }
}

fn check(job: &Job, run: &RunArgs, started: Instant) -> Result<u8> {
    match pipeline::check(job)? {
        Checked::Unique(outcome) => {
            tell(&outcome, job, run, started);
            Ok(DONE)
        }
        Checked::Duplicate(DuplicateLine { place, text, .. }) => {
            if !run.quiet {
                let text = parts::without_userinfo(&text);
                let text = show(&text[..text.len().min(2000)]);
                say(format_args!("undust: {place} is a duplicate: {text}"));
            }
            Ok(NO)
        }
    }
}

/// The clusters in a seen file, or none if it is not there yet; and what was there.
fn open_seen(path: &Path, job: &Job) -> Result<(Seen, Predecessor)> {
    let digest = job.canonicalizer.profile().digest();
    let reading = |error| Error::reading(path.display(), error);
    match File::open(path) {
        Ok(file) => {
            let predecessor = Predecessor::of(&file).map_err(reading)?;
            let name = path.display().to_string();
            Ok((Seen::open(file, &name, &digest, job.table_bytes())?, predecessor))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok((Seen::new(FingerprintKey::random(), &digest), Predecessor::none()))
        }
        Err(error) => Err(reading(error)),
    }
}

pub(super) fn canon(args: &CanonArgs) -> Result<u8> {
    let started = Instant::now();
    let canonicalizer = args.profile.canonicalizer()?;
    let progress = Progress::new(args.run.quiet);
    let mut job = job(&args.input, &canonicalizer, &args.run, &progress)?;
    let on_bad = match args.on_bad {
        OnBadArg::Keep => OnBad::Keep,
        OnBadArg::Empty => OnBad::Empty,
        OnBadArg::Fail => OnBad::Fail,
    };
    let mut claims = Claims::new(&job.input.paths).helped_by(args.run.sync.helpers(job.helpers()));
    job.rejects = args.input.open_rejects(&mut claims)?;
    let mut output = claims.open(args.run.output.as_deref())?;
    let stats = args.run.open_stats(&mut claims)?;
    let outcome = pipeline::canon(&job, on_bad, &mut output)?;
    let mut results = Results::default();
    results.finish(output)?;
    close(results, &outcome, &mut job, &args.run, stats, started)?;
    Ok(DONE)
}

pub(super) fn report(args: &ReportArgs) -> Result<u8> {
    let started = Instant::now();
    let shape = shape(args.to.format(), args.excel)?;
    let canonicalizer = args.profile.canonicalizer()?;
    let progress = Progress::new(args.run.quiet);
    let mut job = job(&args.input, &canonicalizer, &args.run, &progress)?;
    let mut claims = Claims::new(&job.input.paths).helped_by(args.run.sync.helpers(job.helpers()));
    job.rejects = args.input.open_rejects(&mut claims)?;
    let mut output = claims.open(args.run.output.as_deref())?;
    shape.map_or(Ok(()), |shape| shape.check(&output))?;
    let stats = args.run.open_stats(&mut claims)?;
    let _spooled = Spooled::replace(&mut job.input, &job.memory.temp_dir)?;
    let (survey, outcome) = pipeline::survey(&job, args.top)?;
    match (shape, args.to) {
        (Some(shape), _) => survey.write_rows(&mut output, shape)?,
        (None, ReportToArg::Json) => {
            output.write(format!("{:#}\n", survey.to_json()).as_bytes())?;
        }
        (None, _) => output.write(survey.to_text().as_bytes())?,
    }
    let mut results = Results::default();
    results.finish(output)?;
    close(results, &outcome, &mut job, &args.run, stats, started)?;
    Ok(DONE)
}

pub(super) fn generate(args: &GenerateArgs) -> Result<u8> {
    match &args.command {
        GenerateCommand::List(args) => generate_list(args),
        GenerateCommand::Site(args) => super::generate_site::run(args),
    }
}

fn generate_list(args: &GenerateListArgs) -> Result<u8> {
    let plan = ListPlan {
        lines: args.lines,
        seed: args.seed,
        exact_share: args.exact,
        variant_share: args.variants,
    };
    let mut list = List::new(&plan)?;
    let mut claims = Claims::new(&[]).helped_by(args.sync.helpers(pipeline::helpers()));
    let mut output = claims.open(args.output.as_deref())?;
    let mut truth_file = match &args.truth {
        None => None,
        Some(path) => Some(claims.open(Some(path))?),
    };
    if let Some(file) = &mut truth_file {
        file.line(TRUTH_HEADER.trim_end().as_bytes(), b'\n')?;
    }
    let (mut line, mut row) = (Vec::new(), Vec::new());
    while let Some(truth) = list.next_line(&mut line) {
        output.line(&line, b'\n')?;
        if let Some(file) = &mut truth_file {
            row.clear();
            write_truth(&mut row, &truth).map_err(|error| Error::writing("memory", error))?;
            file.write(&row)?;
        }
    }
    publish_with_truth(output, truth_file)?;
    Ok(DONE)
}

/// Publishes what was generated and what is known of it.
pub(super) fn publish_with_truth(output: Output, truth: Option<Output>) -> Result<()> {
    let mut results = Results::default();
    // A list without its truth is a list; a truth without its list is nothing.
    [output].into_iter().chain(truth).try_for_each(|output| results.finish(output))?;
    publish(results)
}

pub(super) fn formats() -> Result<u8> {
    let mut text = String::new();
    let containers = Container::ALL.map(|container| (container.name(), container.about()));
    for (name, about) in formats::names().chain(containers) {
        text.push_str(&format!("{name:<12} {about}\n"));
    }
    print(text.as_bytes())
}

pub(super) fn completions(shell: clap_complete::Shell) -> Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut super::command(), "undust", &mut text);
    print(&text)
}

pub(super) fn man(folder: Option<&Path>) -> Result<u8> {
    let command = super::command();
    let Some(folder) = folder else {
        let mut text = Vec::new();
        let page = clap_mangen::Man::new(command);
        page.render(&mut text).map_err(|error| Error::writing("memory", error))?;
        return print(&text);
    };
    clap_mangen::generate_to(command, folder)
        .map_err(|error| Error::writing(folder.display(), error))?;
    Ok(DONE)
}

/// Writes `text` to standard output.
pub(super) fn print(text: &[u8]) -> Result<u8> {
    let mut output = Output::stdout();
    output.write(text)?;
    output.publish()?;
    Ok(DONE)
}
