//! Threads beside the workers: for what lower floors do in the background (decompressing the input,
//! compressing the output, waiting for the disk), and for reading and writing.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Instant;

use super::pool::{Stage, StageSeconds};
use crate::crew::{Crew, Task};
use crate::error::{Error, Result, Setting};
use crate::pipeline::threads_or_processors;
use crate::report::{OutputThreads, Syncing};

/// Most threads of a crew. Reason: this many decompress faster than any disk reads, and each may
/// hold some tens of megabytes.
const CREW_THREADS_MAX: usize = 16;

/// How long the background threads of a job were busy with each stage. Clones share their counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Background {
    pub(crate) decompressing: BusyThreads,
    pub(crate) compressing: BusyThreads,
}

impl Background {
    /// How long every thread was busy so far; a stage for which none was started has no threads.
    pub(crate) fn seconds(&self) -> [StageSeconds; 2] {
        [(Stage::Decompressing, &self.decompressing), (Stage::Compressing, &self.compressing)]
            .map(|(stage, busy)| StageSeconds { stage, threads: busy.seconds() })
    }
}

/// Nanoseconds that each thread of a crew was busy, and how many threads were started. Clones
/// share their counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct BusyThreads(Arc<([AtomicU64; CREW_THREADS_MAX], AtomicUsize)>);

impl BusyThreads {
    /// Runs `task`, and counts its time for this thread of a crew.
    fn time(&self, task: Task) {
        let started = Instant::now();
        task();
        let nanoseconds = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let (busy, _) = &*self.0;
        let thread = rayon::current_thread_index().unwrap_or(0);
        busy[thread].fetch_add(nanoseconds, Ordering::Relaxed);
    }

    fn seconds(&self) -> Vec<f64> {
        let (busy, started) = &*self.0;
        let busy = busy.iter().take(started.load(Ordering::Relaxed));
        busy.map(|busy| busy.load(Ordering::Relaxed) as f64 / 1e9).collect()
    }
}

/// A crew of this many `threads`, which are started with the first task; 0: as many as the machine
/// has processors. The time of tasks is counted in `busy`.
///
/// These are not the workers of a job: workers wait for each other at the end of a batch, and a
/// task must not wait for work that waits for the task. Where no thread can be started, each task
/// is run by its caller, and its time is not counted here.
pub(crate) fn crew(threads: usize, busy: &BusyThreads) -> Crew {
    let threads = threads_or_processors(threads).clamp(1, CREW_THREADS_MAX);
    let (pool, busy) = (OnceLock::new(), busy.clone());
    Crew::new(threads, move |task: Task| {
        match pool.get_or_init(|| {
            let pool = start(threads)?;
            busy.0.1.fetch_max(threads, Ordering::Relaxed);
            Some(pool)
        }) {
            Some(pool) => {
                let busy = busy.clone();
                pool.spawn(move || busy.time(task));
            }
            None => task(),
        }
    })
}

/// Threads that help to write results: compressors for all processors, and one that waits for the
/// disk.
pub fn output_threads() -> OutputThreads {
    let of = |threads| crew(threads, &BusyThreads::default());
    OutputThreads { compressors: Some(of(0)), syncing: Syncing::Meanwhile(of(1)) }
}

/// Starts a thread of `scope` for `work`. Failure: a limit error, if the system refuses one more.
pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    thread::Builder::new().spawn_scoped(scope, work).map_err(|error| {
        Error::limit(format!(
            "cannot start another thread: {error}; lower {}, or raise ulimit -u or -v",
            Setting::Threads
        ))
    })
}

fn start(threads: usize) -> Option<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("undust-crew-{number}"))
        // The panic is already printed; the code that waits for the task sees a broken promise.
        .panic_handler(|_| ())
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_done() {
        let background = Background::default();
        let crew = crew(3, &background.compressing);
        assert_eq!(crew.threads(), 3);
        assert!(background.seconds().iter().all(|stage| stage.threads.is_empty()));
        let promises: Vec<_> = (0..100u64).map(|number| crew.spawn(move || number)).collect();
        let sum: u64 = promises.into_iter().filter_map(|promise| promise.wait()).sum();
        assert_eq!(sum, 4950);
        let [decompressing, compressing] = background.seconds();
        assert!(decompressing.threads.is_empty() && compressing.stage == Stage::Compressing);
        assert_eq!(compressing.threads.len(), 3);
        assert!(compressing.threads.iter().sum::<f64>() > 0.0);
    }

    #[test]
    fn a_panic_breaks_its_promise_only() {
        let crew = crew(1, &BusyThreads::default());
        let broken = crew.spawn(|| std::panic::resume_unwind(Box::new("as asked for")));
        assert_eq!(broken.wait(), None::<()>);
        assert_eq!(crew.spawn(|| 7).wait(), Some(7));
    }
}
