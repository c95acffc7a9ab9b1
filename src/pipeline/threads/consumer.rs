//! A consumer: a thread of its own that takes pieces of work in order, while more are produced.

use std::sync::mpsc::{self, SyncSender};

use super::crew::spawn;
use crate::error::{Error, Result};
use crate::input::Stop;

/// The consumer, as its producer sees it.
pub(crate) struct Consumer<W>(SyncSender<W>);

impl<W> Consumer<W> {
    /// Sends `work`, after what was sent before; waits until there is room for it.
    pub(crate) fn send(&self, work: W) -> Result<()> {
        self.0.send(work).map_err(|_| gone())
    }
}

/// The error for a consumer that has ended early. It only does so with an error of its own, which
/// is reported instead.
pub(super) fn gone() -> Error {
    Error::internal("the writer is gone")
}

/// Calls `each` with what `fill` sends, in order, on a thread of its own. At most `ahead` pieces of
/// work wait for it.
///
/// Failure: the first error of `each`, or else of `fill`. After an error of `each`, `stop` is
/// requested, so that reading for `fill` ends early.
pub(crate) fn with_consumer<W: Send, T>(
    ahead: usize,
    stop: &Stop,
    mut each: impl FnMut(W) -> Result<()> + Send,
    fill: impl FnOnce(Consumer<W>) -> Result<T>,
) -> Result<T> {
    std::thread::scope(|scope| {
        let (sender, work) = mpsc::sync_channel(ahead);
        let writer = spawn(scope, move || {
            let done = work.into_iter().try_for_each(&mut each);
            if done.is_err() {
                stop.ask();
            }
            done
        })?;
        let result = fill(Consumer(sender));
        writer.join().map_err(|_| Error::internal("the writer has panicked"))??;
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_in_order() {
        for ahead in [0, 1, 100] {
            let mut done = Vec::new();
            let each = |number| {
                done.push(number);
                Ok(())
            };
            let given = with_consumer(ahead, &Stop::default(), each, |work| {
                (0..50).try_for_each(|number| work.send(number))?;
                Ok(7)
            });
            assert_eq!(given.unwrap(), 7);
            assert!(done.into_iter().eq(0..50), "{ahead}");
        }
    }

    #[test]
    fn errors_are_returned() {
        let each = |number| if number < 3 { Ok(()) } else { Err(Error::input("theirs")) };
        let stop = Stop::default();
        let error =
            with_consumer(1, &stop, |()| Ok(()), |_| -> Result<()> { Err(Error::input("mine")) });
        assert_eq!(error.unwrap_err().to_string(), "mine");
        assert!(!stop.is_asked());
        let error =
            with_consumer(1, &stop, each, |work| (0..50).try_for_each(|number| work.send(number)));
        assert_eq!(error.unwrap_err().to_string(), "theirs");
        assert!(stop.is_asked());
    }
}
