//! A pool of threads, as seen by code that gives it tasks and does not own it.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::task::Poll;

/// A piece of work.
pub type Task = Box<dyn FnOnce() + Send>;

/// Runs tasks in the background, several at a time, in any order.
///
/// The floors below `pipeline` start no threads. They give background tasks to a crew, never many
/// more at a time than [`Crew::threads`], so that memory stays bounded. Cheap to clone: all clones
/// are handles to one crew.
#[derive(Clone)]
pub struct Crew {
    threads: usize,
    spawn: Arc<dyn Fn(Task) + Send + Sync>,
}

impl Crew {
    /// Makes a crew of this many `threads`, at least one. `spawn` runs a task, now or later; it
    /// must not drop one.
    pub fn new(threads: usize, spawn: impl Fn(Task) + Send + Sync + 'static) -> Crew {
        Crew { threads: threads.max(1), spawn: Arc::new(spawn) }
    }

    /// Returns how many tasks run at a time.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work` in the background.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Promise<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        (self.spawn)(Box::new(move || {
            // After an error elsewhere, nothing waits for the result any more.
            let _ = sender.send(work());
        }));
        Promise(receiver)
    }
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crew").field("threads", &self.threads).finish_non_exhaustive()
    }
}

/// The future result of a task.
#[derive(Debug)]
pub struct Promise<T>(Receiver<T>);

impl<T> Promise<T> {
    /// Waits until the task is done. `None` if it panicked.
    pub fn wait(self) -> Option<T> {
        self.0.recv().ok()
    }

    /// Returns the result, if there is one yet; `None` if the task panicked. Ready only once, since
    /// it takes the result.
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
        let crew = Crew::new(0, |task| drop(std::thread::spawn(task)));
        let promises: Vec<_> = (0..9).map(|number| crew.spawn(move || number * 2)).collect();
        let kept: Vec<_> = promises.into_iter().map(Promise::wait).collect();
        assert_eq!(kept, (0..9).map(|number| Some(number * 2)).collect::<Vec<_>>());
        assert_eq!(crew.threads(), 1);
        let broken = crew.spawn(|| std::panic::resume_unwind(Box::new("as asked for")));
        assert_eq!(broken.wait(), None::<()>);
        drop(Crew::new(1, |task| task()).spawn(|| "nobody waits"));
    }
}
