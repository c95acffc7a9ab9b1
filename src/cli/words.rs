//! Messages on standard error.

use std::fmt;
use std::io::Write as _;

/// Says one line on standard error, with control characters escaped. That nobody listens is no
/// failure.
pub(super) fn say(line: fmt::Arguments<'_>) {
    let line = crate::bytes::printable(&line.to_string());
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Is somebody watching standard error?
pub(super) fn is_watched() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr())
}
