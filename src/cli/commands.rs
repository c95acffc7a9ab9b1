//! The commands that need few words: `canon`, `report`, and what prints about the program.

use std::path::Path;

use clap::builder::PossibleValuesParser;

use super::DONE;
use super::args::{CanonArgs, NotationArg, OnBadArg, ReportArgs, ReportToArg, ToArg};
use super::progress::Progress;
use super::session::Session;
use crate::canonical::{Notation, PROFILES, RuleId};
use crate::error::{Error, Result};
use crate::input::Container;
use crate::pipeline::{self, CanonPlan, OnBad, Spooled};
use crate::record::formats;
use crate::report::{Output, RowFormat, Shape};

impl ToArg {
    pub(super) fn format(self) -> Option<RowFormat> {
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
pub(super) fn shape(format: Option<RowFormat>, excel: bool) -> Result<Option<Shape>> {
    if excel && !matches!(format, Some(RowFormat::Tsv | RowFormat::Csv)) {
        return Err(Error::config(
            "--excel: guards what a spreadsheet opens; give --to csv or --to tsv with it",
        ));
    }
    Ok(format.map(|format| Shape { format, guards_formulas: excel }))
}

pub(super) fn canon(args: &CanonArgs) -> Result<u8> {
    let progress = Progress::new(args.run.quiet);
    let shape = shape(args.to.format(), args.excel)?;
    if shape.is_some() && args.print != NotationArg::Canonical {
        return Err(Error::config(
            "--print: chooses what a line of text is, and a row has all forms: leave out --print or --to",
        ));
    }
    let canonicalizer = args.profile.canonicalizer(args.run.quiet)?;
    let mut session = Session::begin(&args.input, &canonicalizer, &args.run, &progress)?;
    session.protect(args.profile.files());
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
    session.takes_rejects = plan.on_bad == OnBad::Empty;
    let mut output = session.open_output(shape)?;
    let outcome = pipeline::canon(&session.job, &plan, &mut output)?;
    session.results.finish(output)?;
    session.close(&outcome)?;
    Ok(DONE)
}

pub(super) fn report(args: &ReportArgs) -> Result<u8> {
    let progress = Progress::new(args.run.quiet);
    let shape = shape(args.to.format(), args.excel)?;
    let canonicalizer = args.profile.canonicalizer(args.run.quiet)?;
    let mut session = Session::begin(&args.input, &canonicalizer, &args.run, &progress)?;
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
        (None, _) => output.write(survey.to_text().as_bytes())?,
    }
    session.results.finish(output)?;
    session.close(&outcome)?;
    Ok(DONE)
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
    // Completions would offer what is hidden.
    let mut command = super::command().mut_subcommand("rules", |rules| {
        let shown = rules.get_subcommands().filter(|one| !one.is_hide_set()).cloned();
        clap::Command::new("rules")
            .about(rules.get_about().cloned().unwrap_or_default())
            .subcommands(shown)
    });
    command = with_bare_form(with_names(command));
    clap_complete::generate(shell, &mut command, "undust", &mut text);
    print(&text)
}

/// `command` with the flags and files of the bare form at its root.
fn with_bare_form(command: clap::Command) -> clap::Command {
    let dedup = command.find_subcommand("dedup");
    let args = dedup.into_iter().flat_map(clap::Command::get_arguments);
    let args: Vec<clap::Arg> = args.cloned().collect();
    command.args(args).subcommand_required(false)
}

/// `command` with the names that its flags take, and those of its subcommands: of profiles, rules
/// and formats. `--only` of a command without a profile is about something else.
fn with_names(command: clap::Command) -> clap::Command {
    let has_profile = command.get_arguments().any(|arg| arg.get_long() == Some("profile"));
    let command = command.mut_args(|arg| match arg.get_long() {
        Some("profile") => arg.value_parser(PROFILES),
        Some("enable" | "disable" | "only") if has_profile => {
            arg.value_parser(RuleId::ALL.map(RuleId::name))
        }
        Some("format") => {
            let names = formats::names().map(|(name, _)| name);
            let names = names.chain(Container::ALL.map(Container::name));
            arg.value_parser(PossibleValuesParser::new(names))
        }
        _ => arg,
    });
    command.mut_subcommands(with_names)
}

pub(super) fn man(folder: Option<&Path>) -> Result<u8> {
    let command = super::command();
    let Some(folder) = folder else {
        let mut text = Vec::new();
        // As `generate_to` has it.
        let mut command = command.disable_help_subcommand(true);
        command.build();
        let page = clap_mangen::Man::new(command);
        page.render(&mut text).map_err(|error| Error::writing("memory", error))?;
        return print(&text);
    };
    if !folder.exists() {
        let name = folder.display();
        return Err(Error::output(format!(
            "{name}: cannot write: there is no folder {name}; make it first"
        )));
    }
    clap_mangen::generate_to(command, folder)
        .map_err(|error| Error::writing(folder.display(), error))?;
    Ok(DONE)
}

/// Writes `text` to standard output.
pub(super) fn print(text: &[u8]) -> Result<u8> {
    let mut output = Output::stdout()?;
    output.write(text)?;
    output.publish()?;
    Ok(DONE)
}
