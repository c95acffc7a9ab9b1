//! Work that is done in order on a thread of its own, while more is put together.

use std::sync::mpsc::{self, SyncSender};

use super::crew::spawn;
use crate::error::{Error, Result};
use crate::input::Stop;

/// Where the work goes.
pub(crate) struct Aside<W>(SyncSender<W>);

impl<W> Aside<W> {
    /// Puts `work` behind what was sent before, when there is room for it.
    pub(crate) fn send(&self, work: W) -> Result<()> {
        self.0.send(work).map_err(|_| gone())
    }
}

/// The thread only goes away with an error of its own, which comes first.
pub(super) fn gone() -> Error {
    Error::internal("the writer is gone")
}

/// Does with `each` what `fill` sends, in order, on a thread of its own. So many pieces of work may
/// wait as `ahead` says.
///
/// Failure: the first error of `each`, or else of `fill`. After one of `each`, who reads for `fill`
/// is asked to `stop`.
pub(crate) fn aside<W: Send, T>(
    ahead: usize,
    stop: &Stop,
    mut each: impl FnMut(W) -> Result<()> + Send,
    fill: impl FnOnce(Aside<W>) -> Result<T>,
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
        let result = fill(Aside(sender));
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
            let given = aside(ahead, &Stop::default(), each, |work| {
                (0..50).try_for_each(|number| work.send(number))?;
                Ok(7)
            });
            assert_eq!(given.unwrap(), 7);
            assert!(done.into_iter().eq(0..50), "{ahead}");
        }
    }

    #[test]
    fn errors_are_told() {
        let each = |number| if number < 3 { Ok(()) } else { Err(Error::input("theirs")) };
        let stop = Stop::default();
        let error = aside(1, &stop, |()| Ok(()), |_| -> Result<()> { Err(Error::input("mine")) });
        assert_eq!(error.unwrap_err().to_string(), "mine");
        assert!(!stop.is_asked());
        let error = aside(1, &stop, each, |work| (0..50).try_for_each(|number| work.send(number)));
        assert_eq!(error.unwrap_err().to_string(), "theirs");
        assert!(stop.is_asked());
    }
}
