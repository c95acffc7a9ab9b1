//! What is meant by flags that other programs have.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{Command, CommandFactory as _, Error};

use super::Args;

/// A flag of other programs, the flag that is meant, and its value.
type Meant = (&'static str, &'static str, Option<&'static str>);

/// Where a command does not take what is meant, the next one counts.
const MEANT: [Meant; 9] = [
    ("--csv", "to", Some("csv")),
    ("--exclude-from", "not-in", None),
    ("--html", "to", Some("html")),
    ("--jobs", "threads", None),
    ("--json", "to", Some("json")),
    ("--json", "to", Some("jsonl")),
    ("--jsonl", "to", Some("jsonl")),
    ("--parquet", "to", Some("parquet")),
    ("--tsv", "to", Some("tsv")),
];

/// The `error` of reading the `given` words, with the flag that is meant as its tip, if one is.
pub(crate) fn with_tip(mut error: Error, given: &[OsString]) -> Error {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return error };
    let command = command_of(given);
    let mut meant = MEANT.into_iter().filter(|(other, ..)| other == flag);
    let own = meant.clone().find(|one| takes(&command, one.1, one.2)).map(written);
    let other = |meant: Meant| takes(&command, meant.1, None).then(|| of_the_only_command(meant));
    let tip = own.or_else(|| meant.find_map(|meant| other(meant).flatten()));
    let Some(tip) = tip else { return error };
    error.remove(ContextKind::Suggested);
    error.insert(ContextKind::SuggestedArg, ContextValue::String(tip));
    error
}

/// The flag that is meant, with its value.
fn written((_, name, value): Meant) -> String {
    value.map_or(format!("--{name}"), |value| format!("--{name} {value}"))
}

/// The same after the command that takes it, if only one does: who gives a command that has the
/// flag a value that is none of its own means that other command.
fn of_the_only_command(meant: Meant) -> Option<String> {
    let all = Args::command();
    let mut takers = all.get_subcommands().filter(|command| takes(command, meant.1, meant.2));
    let (only, None) = (takers.next()?, takers.next()) else { return None };
    Some(format!("{} {}", only.get_name(), written(meant)))
}

/// The command that the `given` words begin with, after the name of the program.
fn command_of(given: &[OsString]) -> Command {
    let words = given.iter().skip(1).map_while(|word| word.to_str());
    let mut command = Args::command();
    for word in words {
        let Some(under) = command.find_subcommand(word).cloned() else { break };
        command = under;
    }
    command
}

/// Does the `command` take the flag, with this value if there is one?
fn takes(command: &Command, flag: &str, value: Option<&str>) -> bool {
    command.get_arguments().filter(|one| one.get_long() == Some(flag)).any(|one| {
        let values = one.get_possible_values();
        value.is_none_or(|value| values.iter().any(|one| one.get_name() == value))
    })
}
