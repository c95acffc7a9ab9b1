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
        self.enter_telling(bytes, |_| ())
    }

    /// Waits until there is room for `bytes` more. Before it waits, and whenever others have left
    /// and there is still no room, `tell` gets to know how much is inside.
    pub(super) fn enter_telling(self: &Arc<Flow>, bytes: u64, mut tell: impl FnMut(u64)) -> Ticket {
        let mut told = None;
        loop {
            let mut inside = self.lock();
            if let Some(ticket) = self.let_in(&mut inside, bytes) {
                return ticket;
            }
            if told == Some(*inside) {
                let left = self.left.wait(inside);
                drop(left.expect("no thread panics while it counts"));
                continue;
            }
            // Not under the lock: who is told may take time, in which others leave.
            told = Some(*inside);
            drop(inside);
            told.into_iter().for_each(&mut tell);
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
    fn who_waits_tells_how_much_is_inside() {
        let flow = Flow::new(10);
        let mut inside: Vec<Ticket> = [3, 3, 4].map(|bytes| flow.try_enter(bytes).unwrap()).into();
        let mut told = Vec::new();
        drop(flow.enter_telling(8, |bytes| {
            told.push(bytes);
            inside.pop();
        }));
        assert_eq!(told, [10, 6, 3]);
        assert_eq!(*flow.lock(), 0);
    }
}
