//! Who works, where there are more threads with something to do than processors for them.
//!
//! Left to the system, three threads on two processors slow each other down, and one of the
//! processors may idle for some hundredths of a second when one of them stops to wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

/// Seats for threads, as many as may work at a time. Workers leave theirs to the one thread that
/// goes first, as soon as it asks for one.
#[derive(Debug)]
pub(super) struct Seats {
    free: Mutex<usize>,
    /// Does the thread that goes first wait for a seat? Changed under the lock of `free`.
    is_asked: AtomicBool,
    for_first: Condvar,
    for_others: Condvar,
}

/// A seat that is taken, until this is dropped.
#[derive(Debug)]
pub(crate) struct Seat<'a>(&'a Seats);

impl Seats {
    /// Makes so many seats, all of them free.
    pub(super) fn new(seats: usize) -> Seats {
        Seats {
            free: Mutex::new(seats),
            is_asked: AtomicBool::new(false),
            for_first: Condvar::new(),
            for_others: Condvar::new(),
        }
    }

    /// Waits for a seat; whoever goes first comes first.
    pub(super) fn take(&self) -> Seat<'_> {
        let mut free = self.lock();
        while *free == 0 || self.is_asked() {
            free = self.for_others.wait(free).expect("no thread panics while it counts");
        }
        *free -= 1;
        Seat(self)
    }

    /// Asks for a seat and waits for it. One thread at a time may go first.
    pub(super) fn take_first(&self) -> Seat<'_> {
        let mut free = self.lock();
        while *free == 0 {
            self.is_asked.store(true, Ordering::Relaxed);
            free = self.for_first.wait(free).expect("no thread panics while it counts");
        }
        *free -= 1;
        if self.is_asked.swap(false, Ordering::Relaxed) && *free > 0 {
            self.for_others.notify_all();
        }
        Seat(self)
    }

    /// Is a seat to be left to the thread that goes first?
    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.free.lock().expect("no thread panics while it counts")
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let seats = self.0;
        *seats.lock() += 1;
        match seats.is_asked() {
            true => seats.for_first.notify_one(),
            false => seats.for_others.notify_one(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn never_more_than_there_are_seats() {
        let seats = Seats::new(2);
        let (inside, rounds) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for number in 0..5 {
                let (seats, inside, rounds) = (&seats, &inside, &rounds);
                scope.spawn(move || {
                    for _ in 0..200 {
                        let seat = if number == 0 { seats.take_first() } else { seats.take() };
                        assert!(inside.fetch_add(1, Ordering::SeqCst) < 2);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(seat);
                        rounds.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!((rounds.into_inner(), *seats.lock(), seats.is_asked()), (1000, 2, false));
    }

    #[test]
    fn who_goes_first_comes_first() {
        let seats = Seats::new(2);
        let (one, other) = (seats.take(), seats.take());
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let (seats, asks) = (&seats, sender.clone());
            let (leave, left) = mpsc::channel();
            scope.spawn(move || {
                let seat = seats.take_first();
                asks.send("first").unwrap();
                left.recv().unwrap();
                drop(seat);
            });
            while !seats.is_asked() {
                std::thread::yield_now();
            }
            scope.spawn(move || {
                let _seat = seats.take();
                sender.send("last").unwrap();
            });
            drop(one);
            assert_eq!(receiver.recv(), Ok("first"));
            assert!(!seats.is_asked() && receiver.try_recv().is_err());
            leave.send(()).unwrap();
            assert_eq!(receiver.recv(), Ok("last"));
        });
        drop(other);
        assert_eq!(*seats.lock(), 2);
    }
}
