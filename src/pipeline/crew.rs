//! Threads beside the workers: for what lower floors do in the background (decompressing the input,
//! compressing the output, waiting for the disk), and for reading and writing.

use std::sync::OnceLock;
use std::thread::{self, Scope, ScopedJoinHandle};

use super::threads_or_processors;
use crate::crew::{Crew, Task};
use crate::error::{Error, Result};
use crate::report::{Helpers, Syncing};

/// Most threads of a crew. Reason: that many decompress faster than any disk reads; each may hold
/// some tens of megabytes.
const THREADS_MAX: usize = 16;

/// A crew of so many `threads`, which are started with the first task; 0: as many as the machine
/// has processors.
///
/// They are not the workers of a job: those wait for each other at the end of a batch, and a task
/// must not wait for work that waits for the task. Where no thread can be started, each task is
/// done by its caller.
pub(super) fn crew(threads: usize) -> Crew {
    let threads = threads_or_processors(threads).clamp(1, THREADS_MAX);
    let pool = OnceLock::new();
    Crew::new(threads, move |task: Task| match pool.get_or_init(|| start(threads)) {
        Some(pool) => pool.spawn(task),
        None => task(),
    })
}

/// Threads that help to write results: packers for all processors, and one that waits for the disk.
pub fn helpers() -> Helpers {
    Helpers { packers: Some(crew(0)), syncing: Syncing::Meanwhile(crew(1)) }
}

/// Starts a thread of `scope` for `work`. Failure: a limit, where the system has no more of them.
pub(super) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    thread::Builder::new().spawn_scoped(scope, work).map_err(|error| {
        Error::limit(format!("cannot start another thread: {error}; lower -j, or raise ulimit -u"))
    })
}

fn start(threads: usize) -> Option<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("undust-aside-{number}"))
        // The panic is printed already; whoever waits for the task sees a broken promise.
        .panic_handler(|_| ())
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_done() {
        let crew = crew(3);
        assert_eq!(crew.threads(), 3);
        let promises: Vec<_> = (0..100u64).map(|number| crew.spawn(move || number)).collect();
        let sum: u64 = promises.into_iter().filter_map(|promise| promise.wait()).sum();
        assert_eq!(sum, 4950);
    }

    #[test]
    fn a_panic_breaks_its_promise_only() {
        let crew = crew(1);
        let broken = crew.spawn(|| std::panic::resume_unwind(Box::new("as asked for")));
        assert_eq!(broken.wait(), None::<()>);
        assert_eq!(crew.spawn(|| 7).wait(), Some(7));
    }
}
