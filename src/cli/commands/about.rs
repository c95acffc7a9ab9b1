//! What prints about the program: formats, completions, manual pages.

use std::path::Path;

use clap::builder::PossibleValuesParser;

use crate::bytes::show_path;
use crate::canonical::{PROFILES, RuleId};
use crate::cli::Status;
use crate::cli::words::print;
use crate::error::{Error, Result};
use crate::input::Container;
use crate::record::formats;

pub(crate) fn formats() -> Result<Status> {
    let mut text = String::new();
    let containers = Container::ALL.map(|container| (container.name(), container.about()));
    for (name, about) in formats::names().chain(containers) {
        text.push_str(&format!("{name:<12} {about}\n"));
    }
    print(text.as_bytes())
}

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Status> {
    let mut text = Vec::new();
    // Completions would offer what is hidden.
    let mut command = crate::cli::command().mut_subcommand("rules", |rules| {
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

pub(crate) fn man(folder: Option<&Path>) -> Result<Status> {
    let command = crate::cli::command();
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
        let name = show_path(folder);
        return Err(Error::output(format!(
            "{name}: cannot write: there is no folder {name}; make it first"
        )));
    }
    clap_mangen::generate_to(command, folder)
        .map_err(|error| Error::writing(show_path(folder), error))?;
    Ok(Status::Done)
}
