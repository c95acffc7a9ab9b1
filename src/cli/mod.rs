//! Words for people: arguments, progress, messages, exit status. Data goes to standard output,
//! words to standard error.

mod args;
mod commands;
mod flags;
mod memory;
mod plan;
mod quantity;
mod session;
mod shape;
mod signals;
mod words;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::error::ContextValue;
use clap::{CommandFactory as _, Parser as _};

use crate::bytes::printable;
use crate::error::Error;
use crate::report::ClaimedPaths;
use args::{Args, Command, GenerateCommand, bare, tips};
use commands::{about, canon, dedup, explain, generate_list, generate_site, learn, report, rules};
use flags::flag;
use words::say;

/// How a run ends: its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Done.
    Done = 0,
    /// A question was answered no.
    No = 1,
    /// Not done.
    Failed = 2,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status as u8)
    }
}

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    signals::ignore_file_size();
    let given: Vec<OsString> = std::env::args_os().collect();
    let (given, is_bare) = bare::with_command(given);
    let args = match Args::try_parse_from(&given) {
        Ok(args) => args,
        Err(error) => {
            let late = bare::late_command(&given).filter(|_| is_bare && error.use_stderr());
            let status = print_words_of(&tips::with_tip(escaped(error, &given), &given));
            if let Some(name) = late {
                say(format_args!("undust: {name} is a command and comes first: undust {name} …"));
            }
            return ExitCode::from(status);
        }
    };
    // All that the command opens to write to, for the last words.
    let mut claims = ClaimedPaths::default();
    let result = match args.command {
        Command::Dedup(args) => {
            bare::check(is_bare, &args.input).and_then(|()| dedup::run(&args, &mut claims))
        }
        Command::Canon(args) => canon::run(&args, &mut claims),
        Command::Explain(args) => explain::run(&args),
        Command::Report(args) => report::run(&args, &mut claims),
        Command::Learn(args) => learn::run(&args, &mut claims),
        Command::Rules(args) => rules::run(&args),
        Command::Formats => about::formats(),
        Command::Generate(args) => match args.command {
            GenerateCommand::List(args) => generate_list::run(&args, &mut claims),
            GenerateCommand::Site(args) => generate_site::run(&args, &mut claims),
        },
        Command::Completions { shell } => about::completions(shell),
        Command::Man { folder } => about::man(folder.as_deref()),
    };
    ExitCode::from(match result {
        Ok(status) => status,
        // Whoever reads the pipe has enough; whoever waits for a file has nothing.
        Err(error) if error.is_closed_pipe() && claims.files().is_empty() => Status::Done,
        Err(error) if error.is_closed_pipe() => {
            let files = claims.files().join(", ");
            let error = error.in_words(flag);
            say(format_args!("undust: {error}, so nothing was written to {files}"));
            Status::Failed
        }
        Err(error) => {
            say(format_args!("undust: {}", error.in_words(flag)));
            Status::Failed
        }
    })
}

/// `error` with the `given` words escaped where it repeats them, as they are in other messages.
fn escaped(mut error: clap::Error, given: &[OsString]) -> clap::Error {
    let escape = |text: &str| printable(text).replace('\n', "\\n");
    let is_plain = |word: &OsString| word.to_str().is_some_and(|word| escape(word) == word);
    if given.iter().all(is_plain) {
        return error;
    }
    let context = error.context().filter_map(|(kind, value)| match value {
        ContextValue::String(text) => Some((kind, ContextValue::String(escape(text)))),
        // Tips, without their styles.
        ContextValue::StyledStrs(tips) => {
            let tips = tips.iter().map(|tip| escape(&tip.to_string()).into());
            Some((kind, ContextValue::StyledStrs(tips.collect())))
        }
        _ => None,
    });
    for (kind, value) in context.collect::<Vec<_>>() {
        error.insert(kind, value);
    }
    error
}

/// Prints what reading the arguments came to instead of a job, and returns the exit status: help
/// and the version are answers, all else are failures.
fn print_words_of(error: &clap::Error) -> Status {
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    match printed {
        _ if error.use_stderr() => Status::Failed,
        Err(failure) if failure.kind() != std::io::ErrorKind::BrokenPipe => {
            say(format_args!("undust: {}", Error::writing("standard output", failure)));
            Status::Failed
        }
        _ => Status::Done,
    }
}

/// The whole command line, for printing pages from it.
fn command() -> clap::Command {
    Args::command()
}
