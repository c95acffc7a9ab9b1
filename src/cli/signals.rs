//! Signals that would end the process where an error, or nothing, is better.

use libc::c_int;

/// Makes writing past the file size limit an error that is told.
pub(super) fn ignore_file_size() {
    ignore(libc::SIGXFSZ);
}

/// Goes on to the end from here, which is near, though somebody asks for it (control-C, a
/// shutdown): the results of a run get their names together, and what is published is told as
/// done. Killing ends it.
pub(super) fn ignore_requests_to_end() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
        ignore(signal);
    }
}

#[allow(unsafe_code)]
fn ignore(signal: c_int) {
    // SAFETY: SIG_IGN installs no handler, so no code of ours can run at a bad moment; the action
    // that was there before is not used.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}
