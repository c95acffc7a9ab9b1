//! The workers of a job, and how long they and the threads beside them were busy with each stage.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use super::permits::{CpuPermit, CpuPermits};
use crate::cluster::PARTITIONS;
use crate::error::{Error, Result, Setting};
use crate::pipeline::{RunContext, temp};

/// What a thread may be busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Reading and decoding, on a thread of its own.
    Reading,
    /// Walking lines, canonical forms, fingerprints: the first half of a batch, on the workers.
    Canonicalizing,
    /// Finding first occurrences, or counting, and with many workers copying out what is kept: the
    /// second half of a batch, on the workers.
    Clustering,
    /// Mining the rules of sites, on the workers.
    Mining,
    /// Copying out and writing, on a thread of its own, or between batches.
    Writing,
    /// Decompressing frames of zstd files in the background.
    Decompressing,
    /// Compressing frames of zstd output in the background.
    Compressing,
}

impl Stage {
    /// The stages of the workers, and of the threads that read and write for them, in the order in
    /// which a chunk passes through them.
    const OF_POOL: [Stage; 5] =
        [Stage::Reading, Stage::Canonicalizing, Stage::Clustering, Stage::Mining, Stage::Writing];

    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Reading => "reading",
            Stage::Canonicalizing => "canonicalizing",
            Stage::Clustering => "clustering",
            Stage::Mining => "mining",
            Stage::Writing => "writing",
            Stage::Decompressing => "decompressing",
            Stage::Compressing => "compressing",
        }
    }
}

// Busy times are indexed by the number of the stage.
const _: () = {
    let mut number = 0;
    while number < Stage::OF_POOL.len() {
        assert!(Stage::OF_POOL[number] as usize == number);
        number += 1;
    }
};

/// Seconds that each thread was busy with a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageSeconds {
    /// The stage.
    pub stage: Stage,
    /// For each thread that takes part in it. A thread that waits for the system to schedule it
    /// counts as busy; one that has given up its permit does not.
    pub threads: Vec<f64>,
}

/// The workers of a job.
pub(crate) struct Pool {
    threads: rayon::ThreadPool,
    permits: CpuPermits,
    /// Nanoseconds, by the stages of [`Stage::OF_POOL`], then by thread.
    busy: [Vec<AtomicU64>; 5],
}

impl Pool {
    /// Starts `workers` threads.
    pub(crate) fn start(workers: usize) -> Result<Pool> {
        let threads = start(workers).map_err(|error| {
            Error::limit(match workers {
                1 => format!("cannot start a thread: {error}; raise ulimit -u or -v"),
                _ => {
                    format!(
                        "cannot start {workers} threads: {error}; lower {}, or raise ulimit -u or -v",
                        Setting::Threads
                    )
                }
            })
        })?;
        let busy = Stage::OF_POOL.map(|stage| {
            let own = matches!(stage, Stage::Reading | Stage::Writing);
            (0..if own { 1 } else { workers }).map(|_| AtomicU64::new(0)).collect()
        });
        // The thread that reads and a single worker do not wait for each other.
        Ok(Pool { threads, permits: CpuPermits::new(workers.max(2)), busy })
    }

    /// Takes a permit from the workers, for a thread that they wait for, until it is dropped.
    pub(crate) fn acquire_permit(&self) -> CpuPermit<'_> {
        self.permits.acquire_with_priority()
    }

    /// Calls `each` with the numbers below `count`, which the workers take from one cursor.
    pub(super) fn each<W>(
        &self,
        stage: Stage,
        count: usize,
        new_worker: impl Fn() -> W + Sync,
        each: impl Fn(&mut W, usize) + Sync,
    ) {
        let cursor = AtomicUsize::new(0);
        self.threads.broadcast(|context| {
            let mut permit = self.permits.acquire();
            let mut started = Instant::now();
            let mut worker = new_worker();
            loop {
                let number = cursor.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    break;
                }
                each(&mut worker, number);
                if self.permits.is_requested() {
                    self.add(stage, context.index(), started);
                    drop(permit);
                    permit = self.permits.acquire();
                    started = Instant::now();
                }
            }
            self.add(stage, context.index(), started);
        });
    }

    /// Returns what `each` makes of the numbers below `count`, in their order.
    pub(crate) fn map<T: Send + Sync>(
        &self,
        stage: Stage,
        count: usize,
        each: impl Fn(usize) -> T + Sync,
    ) -> Vec<T> {
        self.map_with(stage, count, || (), |(), number| each(number))
    }

    /// Returns what `each` makes of the numbers below `count`, as [`map`](Self::map) does, with a
    /// value per thread that `new_worker` makes.
    pub(crate) fn map_with<W, T: Send + Sync>(
        &self,
        stage: Stage,
        count: usize,
        new_worker: impl Fn() -> W + Sync,
        each: impl Fn(&mut W, usize) -> T + Sync,
    ) -> Vec<T> {
        let slots: Vec<OnceLock<T>> = (0..count).map(|_| OnceLock::new()).collect();
        self.each(stage, count, new_worker, |worker, number| {
            let once = slots[number].set(each(worker, number));
            debug_assert!(once.is_ok());
        });
        let take = |slot: OnceLock<T>| slot.into_inner().expect("every number was worked off");
        slots.into_iter().map(take).collect()
    }

    /// Calls `each` with every partition. Those that are worked on at the same time are far apart,
    /// and so is what they write: threads that write to one cache line wait for each other.
    pub(crate) fn each_partition(&self, each: impl Fn(usize) + Sync) {
        self.each_partition_with(|| (), |(), partition| each(partition));
    }

    /// Calls `each` with every partition, as [`each_partition`](Self::each_partition) does, with a
    /// value per thread that `new_worker` makes.
    fn each_partition_with<W>(
        &self,
        new_worker: impl Fn() -> W + Sync,
        each: impl Fn(&mut W, usize) + Sync,
    ) {
        self.each(Stage::Clustering, PARTITIONS, new_worker, |worker, number| {
            each(worker, number.reverse_bits() >> (PARTITIONS as u64 - 1).leading_zeros());
        });
    }

    /// Does `work` on this thread, and counts the time for `stage`.
    pub(crate) fn time<T>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = work();
        self.add(stage, 0, started);
        result
    }

    fn add(&self, stage: Stage, thread: usize, started: Instant) {
        let nanoseconds = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.busy[stage as usize][thread].fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// Returns how long every thread was busy so far.
    pub(crate) fn seconds(&self) -> Vec<StageSeconds> {
        let seconds = |busy: &AtomicU64| busy.load(Ordering::Relaxed) as f64 / 1e9;
        let of = |stage| StageSeconds {
            stage,
            threads: self.busy[stage as usize].iter().map(seconds).collect(),
        };
        Stage::OF_POOL.map(of).to_vec()
    }
}

/// Starts this many threads.
fn start(workers: usize) -> std::result::Result<rayon::ThreadPool, rayon::ThreadPoolBuildError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(workers)
        .thread_name(|number| format!("undust-{number}"))
        .build()
}

/// Calls `work` with every partition, on all threads of the pool, until one call fails, or the job
/// is asked to stop. An error of `work` is one of temporary files.
pub(crate) fn try_each_partition(
    run: RunContext,
    work: impl Fn(usize) -> io::Result<()> + Sync,
) -> Result<()> {
    try_each_partition_with(run, || (), |(), partition| work(partition))
}

/// Calls `work` with every partition, as [`try_each_partition`] does, with a value per thread that
/// `new_worker` makes.
pub(crate) fn try_each_partition_with<W>(
    RunContext { job, pool }: RunContext,
    new_worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, usize) -> io::Result<()> + Sync,
) -> Result<()> {
    let has_failed = AtomicBool::new(false);
    let first = Mutex::new(None);
    pool.each_partition_with(new_worker, |worker, partition| {
        if has_failed.load(Ordering::Relaxed) || job.input.stop.is_asked() {
            return;
        }
        if let Err(error) = work(worker, partition) {
            has_failed.store(true, Ordering::Relaxed);
            first.lock().expect("no thread panics while it holds the lock").get_or_insert(error);
        }
    });
    match first.into_inner().expect("no thread panics while it holds the lock") {
        Some(error) => Err(temp::failed(&job.memory.temp_dir, error)),
        None => job.check_stop(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_worked_off_once() {
        let pool = Pool::start(3).unwrap();
        let counts: Vec<AtomicU64> = (0..1000).map(|_| AtomicU64::new(0)).collect();
        pool.each(
            Stage::Clustering,
            counts.len(),
            || (),
            |(), number| {
                counts[number].fetch_add(1, Ordering::Relaxed);
            },
        );
        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        assert_eq!(pool.time(Stage::Writing, || 7), 7);
        let squares = pool.map(Stage::Clustering, 99, |number| number * number);
        assert!(squares.iter().enumerate().all(|(number, square)| *square == number * number));
        let partitions: Vec<AtomicU64> = (0..PARTITIONS).map(|_| AtomicU64::new(0)).collect();
        pool.each_partition(|partition| {
            partitions[partition].fetch_add(1, Ordering::Relaxed);
        });
        assert!(partitions.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        let seconds = pool.seconds();
        let threads: Vec<usize> = seconds.iter().map(|stage| stage.threads.len()).collect();
        assert_eq!(threads, [1, 3, 3, 3, 1]);
        assert_eq!(seconds[1].threads, [0.0; 3]);
        assert!(seconds[2].threads.iter().any(|seconds| *seconds > 0.0));
    }

    #[test]
    fn a_permit_is_given_up_when_it_is_requested() {
        use std::thread::yield_now;
        use std::time::Duration;

        // As many workers as permits.
        let pool = Pool::start(3).unwrap();
        let [running, got, late, count] = [(); 4].map(|()| AtomicUsize::new(0));
        let has_got = || got.load(Ordering::SeqCst) > 0;
        std::thread::scope(|scope| {
            let (ask, asked) = std::sync::mpsc::channel();
            let (pool, got) = (&pool, &got);
            scope.spawn(move || {
                asked.recv().unwrap();
                let _permit = pool.acquire_permit();
                got.store(1, Ordering::SeqCst);
            });
            pool.each(
                Stage::Clustering,
                9,
                || {
                    running.fetch_add(1, Ordering::SeqCst);
                    ask.clone()
                },
                |ask, number| {
                    if number == 0 {
                        while running.load(Ordering::SeqCst) < 3 {
                            yield_now();
                        }
                        ask.send(()).unwrap();
                    }
                    while !pool.permits.is_requested() && !has_got() {
                        yield_now();
                    }
                    // Three workers that have not given up theirs would be here at once.
                    let started = Instant::now();
                    while number >= 6 && !has_got() {
                        if started.elapsed() > Duration::from_secs(20) {
                            late.fetch_add(1, Ordering::SeqCst);
                            break;
                        }
                        yield_now();
                    }
                    count.fetch_add(1, Ordering::SeqCst);
                },
            );
        });
        assert_eq!((count.into_inner(), late.into_inner(), got.into_inner()), (9, 0, 1));
        // The thread that reads and a single worker do not wait for each other.
        let alone = Pool::start(1).unwrap();
        let _permit = alone.acquire_permit();
        assert_eq!(alone.map(Stage::Clustering, 3, |number| number), [0, 1, 2]);
    }
}
