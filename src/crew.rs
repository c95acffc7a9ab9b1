//! Threads that somebody else owns, as those see them who have work for them.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::task::Poll;

/// A piece of work.
pub type Task = Box<dyn FnOnce() + Send>;

/// Takes tasks and has them done by its hands, some at a time, in any order.
///
/// The floors below `pipeline` start no threads. What they can do aside they give to a crew, and
/// never more of it at once than [`Crew::hands`] and a few, so that memory stays bounded. Cheap to
/// clone: all clones are one crew.
#[derive(Clone)]
pub struct Crew {
    hands: usize,
    give: Arc<dyn Fn(Task) + Send + Sync>,
}

impl Crew {
    /// A crew of `hands` threads, at least one. `give` has a task done, now or later; it must not
    /// drop one.
    pub fn new(hands: usize, give: impl Fn(Task) + Send + Sync + 'static) -> Crew {
        Crew { hands: hands.max(1), give: Arc::new(give) }
    }

    /// How many tasks are worked on at a time.
    pub fn hands(&self) -> usize {
        self.hands
    }

    /// Has `work` done aside.
    pub fn give<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Promise<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        (self.give)(Box::new(move || {
            // Nobody waits for it any more after an error somewhere else.
            let _ = sender.send(work());
        }));
        Promise(receiver)
    }
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crew").field("hands", &self.hands).finish_non_exhaustive()
    }
}

/// What will come of a task.
#[derive(Debug)]
pub struct Promise<T>(Receiver<T>);

impl<T> Promise<T> {
    /// Waits until the task is done. `None` if it panicked.
    pub fn wait(self) -> Option<T> {
        self.0.recv().ok()
    }

    /// The same without waiting. Ready once: what has come of the task is taken.
    pub fn poll(&self) -> Poll<Option<T>> {
        match self.0.try_recv() {
            Ok(done) => Poll::Ready(Some(done)),
            Err(TryRecvError::Empty) => Poll::Pending,
            Err(TryRecvError::Disconnected) => Poll::Ready(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_kept_or_broken() {
        let threads = Crew::new(0, |task| drop(std::thread::spawn(task)));
        let promises: Vec<_> = (0..9).map(|number| threads.give(move || number * 2)).collect();
        let kept: Vec<_> = promises.into_iter().map(Promise::wait).collect();
        assert_eq!(kept, (0..9).map(|number| Some(number * 2)).collect::<Vec<_>>());
        assert_eq!(threads.hands(), 1);
        let broken = threads.give(|| std::panic::resume_unwind(Box::new("as asked for")));
        assert_eq!(broken.wait(), None::<()>);
        drop(Crew::new(1, |task| task()).give(|| "nobody waits"));
    }
}
