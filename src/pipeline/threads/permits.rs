//! Which threads run when more of them have work than there are processors.
//!
//! Left to the system, three threads on two processors slow each other down, and one of the
//! processors may idle for some hundredths of a second when one of the threads stops to wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

/// A counting semaphore: as many permits as threads may work at a time. Workers give theirs up to
/// the one thread that has priority, as soon as it requests one.
#[derive(Debug)]
pub(super) struct CpuPermits {
    free: Mutex<usize>,
    /// Does the thread with priority wait for a permit? Changed under the lock of `free`.
    is_requested: AtomicBool,
    for_priority: Condvar,
    for_workers: Condvar,
}

/// A permit that a thread holds until this is dropped.
#[derive(Debug)]
pub(crate) struct CpuPermit<'a>(&'a CpuPermits);

impl CpuPermits {
    /// Makes this many permits, all of them free.
    pub(super) fn new(count: usize) -> CpuPermits {
        CpuPermits {
            free: Mutex::new(count),
            is_requested: AtomicBool::new(false),
            for_priority: Condvar::new(),
            for_workers: Condvar::new(),
        }
    }

    /// Waits for a permit. The thread with priority is served before workers.
    pub(super) fn acquire(&self) -> CpuPermit<'_> {
        let mut free = self.lock();
        while *free == 0 || self.is_requested() {
            free = self.for_workers.wait(free).expect("no thread panics while it counts");
        }
        *free -= 1;
        CpuPermit(self)
    }

    /// Requests a permit from the workers and waits for it. One thread at a time may have priority.
    pub(super) fn acquire_with_priority(&self) -> CpuPermit<'_> {
        let mut free = self.lock();
        while *free == 0 {
            self.is_requested.store(true, Ordering::Relaxed);
            free = self.for_priority.wait(free).expect("no thread panics while it counts");
        }
        *free -= 1;
        if self.is_requested.swap(false, Ordering::Relaxed) && *free > 0 {
            self.for_workers.notify_all();
        }
        CpuPermit(self)
    }

    /// Should a worker give up its permit to the thread with priority?
    #[inline]
    pub(super) fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.free.lock().expect("no thread panics while it counts")
    }
}

impl Drop for CpuPermit<'_> {
    fn drop(&mut self) {
        let permits = self.0;
        *permits.lock() += 1;
        match permits.is_requested() {
            true => permits.for_priority.notify_one(),
            false => permits.for_workers.notify_one(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn never_more_than_there_are_permits() {
        let permits = CpuPermits::new(2);
        let (inside, rounds) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for number in 0..5 {
                let (permits, inside, rounds) = (&permits, &inside, &rounds);
                scope.spawn(move || {
                    for _ in 0..200 {
                        let permit = if number == 0 {
                            permits.acquire_with_priority()
                        } else {
                            permits.acquire()
                        };
                        assert!(inside.fetch_add(1, Ordering::SeqCst) < 2);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(permit);
                        rounds.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(
            (rounds.into_inner(), *permits.lock(), permits.is_requested()),
            (1000, 2, false)
        );
    }

    #[test]
    fn priority_is_served_first() {
        let permits = CpuPermits::new(2);
        let (one, other) = (permits.acquire(), permits.acquire());
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let (permits, asks) = (&permits, sender.clone());
            let (leave, left) = mpsc::channel();
            scope.spawn(move || {
                let permit = permits.acquire_with_priority();
                asks.send("first").unwrap();
                left.recv().unwrap();
                drop(permit);
            });
            while !permits.is_requested() {
                std::thread::yield_now();
            }
            scope.spawn(move || {
                let _permit = permits.acquire();
                sender.send("last").unwrap();
            });
            drop(one);
            assert_eq!(receiver.recv(), Ok("first"));
            assert!(!permits.is_requested() && receiver.try_recv().is_err());
            leave.send(()).unwrap();
            assert_eq!(receiver.recv(), Ok("last"));
        });
        drop(other);
        assert_eq!(*permits.lock(), 2);
    }
}
