//! What is meant by flags that other programs have.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Error};

use super::args::Args;

/// A flag of other programs, the flag that is meant, and its value. Where a command does not take
/// it, the next one counts.
const MEANT: [(&str, &str, Option<&str>); 7] = [
    ("--csv", "to", Some("csv")),
    ("--jobs", "threads", None),
    ("--json", "to", Some("json")),
    ("--json", "to", Some("jsonl")),
    ("--jsonl", "to", Some("jsonl")),
    ("--parquet", "to", Some("parquet")),
    ("--tsv", "to", Some("tsv")),
];

/// The `error` of reading the `given` words, with the flag that is meant as its tip, if one is.
pub(super) fn with_tip(mut error: Error, given: &[OsString]) -> Error {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return error };
    let command = given.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    let meant = MEANT.into_iter().filter(|(other, ..)| other == flag);
    let Some((_, name, value)) = meant.into_iter().find(|one| takes(command, one.1, one.2)) else {
        return error;
    };
    error.remove(ContextKind::Suggested);
    let tip = value.map_or(format!("--{name}"), |value| format!("--{name} {value}"));
    error.insert(ContextKind::SuggestedArg, ContextValue::String(tip));
    error
}

/// Does the command with this name take the flag, with this value if there is one?
fn takes(command: &str, flag: &str, value: Option<&str>) -> bool {
    let args = Args::command();
    let flags = args.find_subcommand(command).map(clap::Command::get_arguments);
    flags.into_iter().flatten().filter(|one| one.get_long() == Some(flag)).any(|one| {
        let values = one.get_possible_values();
        value.is_none_or(|value| values.iter().any(|one| one.get_name() == value))
    })
}
