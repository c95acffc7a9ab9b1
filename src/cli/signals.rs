//! Signals that would end the process where an error, or nothing, is better.

use libc::c_int;

/// Makes writing past the file size limit an error that is told.
pub(crate) fn ignore_file_size() {
    ignore(libc::SIGXFSZ);
}

/// The usual signals that end a process which does not say what to do with them, but for those that
/// say that it has gone wrong.
const REQUESTS_TO_END: [c_int; 10] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGXCPU,
];

/// Goes on to the end from here, which is near, though somebody asks for it (control-C, a
/// shutdown): the results of a run get their names together, and what is published is told as
/// done. Killing ends it.
pub(super) fn ignore_requests_to_end() {
    REQUESTS_TO_END.into_iter().for_each(ignore);
}

#[allow(unsafe_code)]
fn ignore(signal: c_int) {
    // SAFETY: SIG_IGN installs no handler, so no code of ours can run at a bad moment; the action
    // that was there before is not used.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}
