//! Bounds the memory of all chunks in flight.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Admits chunks while there is room for them.
#[derive(Debug)]
pub(crate) struct Flow {
    bytes_max: u64,
    bytes: Mutex<u64>,
    left: Condvar,
}

/// The room that a chunk takes, until this is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    flow: Arc<Flow>,
    bytes: u64,
}

impl Flow {
    /// Begins with nothing in flight; admits at most `bytes_max` bytes.
    pub(crate) fn new(bytes_max: u64) -> Arc<Flow> {
        Arc::new(Flow { bytes_max, bytes: Mutex::new(0), left: Condvar::new() })
    }

    /// Admits `bytes` more, if there is room for them. A single chunk always has room.
    pub(crate) fn try_enter(self: &Arc<Flow>, bytes: u64) -> Option<Ticket> {
        self.let_in(&mut self.lock(), bytes)
    }

    /// Waits until there is room for `bytes` more.
    pub(crate) fn enter(self: &Arc<Flow>, bytes: u64) -> Ticket {
        self.enter_reporting(bytes, |_| ())
    }

    /// Waits until there is room for `bytes` more. Before it waits, and whenever others have left
    /// and there is still no room, `report` is called with the bytes in flight.
    pub(super) fn enter_reporting(
        self: &Arc<Flow>,
        bytes: u64,
        mut report: impl FnMut(u64),
    ) -> Ticket {
        let mut reported = None;
        loop {
            let mut inside = self.lock();
            if let Some(ticket) = self.let_in(&mut inside, bytes) {
                return ticket;
            }
            if reported == Some(*inside) {
                let left = self.left.wait(inside);
                drop(left.expect("no thread panics while it counts"));
                continue;
            }
            // Without the lock: the call may take time, and others may leave meanwhile.
            reported = Some(*inside);
            drop(inside);
            reported.into_iter().for_each(&mut report);
        }
    }

    fn let_in(self: &Arc<Flow>, inside: &mut u64, bytes: u64) -> Option<Ticket> {
        if *inside > 0 && *inside + bytes > self.bytes_max {
            return None;
        }
        *inside += bytes;
        Some(Ticket { flow: Arc::clone(self), bytes })
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.bytes.lock().expect("no thread panics while it counts")
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        *self.flow.lock() -= self.bytes;
        self.flow.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_more_than_there_is_room_for() {
        let flow = Flow::new(10);
        let alone = flow.enter(100);
        assert!(flow.try_enter(1).is_none());
        drop(alone);
        let [four, six] = [4, 6].map(|bytes| flow.try_enter(bytes).unwrap());
        assert!(flow.try_enter(1).is_none());
        drop((four, six));
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let flow = &flow;
            scope.spawn(move || {
                for bytes in [4, 6, 1, 10, 100, 3] {
                    sender.send(flow.enter(bytes)).unwrap();
                }
            });
            for ticket in receiver {
                let inside = *flow.lock();
                assert!(inside <= 10 || inside == 100, "{inside}");
                drop(ticket);
            }
        });
        assert_eq!(*flow.lock(), 0);
    }

    #[test]
    fn bytes_in_flight_are_reported_while_waiting() {
        let flow = Flow::new(10);
        let mut inside: Vec<Ticket> = [3, 3, 4].map(|bytes| flow.try_enter(bytes).unwrap()).into();
        let mut reported = Vec::new();
        drop(flow.enter_reporting(8, |bytes| {
            reported.push(bytes);
            inside.pop();
        }));
        assert_eq!(reported, [10, 6, 3]);
        assert_eq!(*flow.lock(), 0);
    }
}
