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

/// Makes writing past the file size limit an error that is told, instead of the end of the process.
#[allow(unsafe_code)]
pub(super) fn ignore_signal_of_file_size() {
    // SAFETY: `signal` with SIG_IGN installs no handler, so no code of ours can run at a bad
    // moment; it is called before any thread is started.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
