//! What the program says: messages on standard error, texts on standard output.

use std::fmt;
use std::io::Write as _;

use super::DONE;
use crate::error::Result;
use crate::report::Output;

/// Says a line, or some, on standard error, with control characters but newlines escaped. That
/// nobody listens is no failure.
pub(super) fn say(line: fmt::Arguments<'_>) {
    let line = crate::bytes::printable(&line.to_string());
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Writes `text` to standard output.
pub(super) fn print(text: &[u8]) -> Result<u8> {
    let mut output = Output::stdout()?;
    output.write(text)?;
    output.publish()?;
    Ok(DONE)
}

/// Is somebody watching standard error?
pub(super) fn is_watched() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr())
}
