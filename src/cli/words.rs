//! What the program says: messages on standard error, texts on standard output.

use std::fmt;
use std::io::Write as _;

use super::Status;
use super::plan::Noted;
use crate::error::Result;
use crate::report::Output;

/// Says a line, or some, on standard error, with control characters but newlines escaped. That
/// nobody listens is no failure.
pub(super) fn say(line: fmt::Arguments<'_>) {
    let line = crate::bytes::printable(&line.to_string());
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Says the notes of a plan, unless it `is_quiet`, and returns the plan.
pub(super) fn told<T>(noted: Noted<T>, is_quiet: bool) -> T {
    let Noted { plan, notes } = noted;
    for note in notes.iter().filter(|_| !is_quiet) {
        say(format_args!("{note}"));
    }
    plan
}

/// Writes `text` to standard output.
pub(super) fn print(text: &[u8]) -> Result<Status> {
    let mut output = Output::stdout()?;
    output.write(text)?;
    output.publish()?;
    Ok(Status::Done)
}

/// Is somebody watching standard error?
pub(super) fn is_watched() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr())
}
