//! Stops waiting for a stream that may be silent for a long time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells readers that their data is no longer needed. All clones share one state.
///
/// Reading a silent stream then fails within a tenth of a second; a stream that has data is read
/// on.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Asked>);

#[derive(Debug, Default)]
struct Asked {
    is_asked: AtomicBool,
    /// What counts as asking for this as well.
    by: Option<Stop>,
}

impl Stop {
    /// Asks to stop.
    pub fn ask(&self) {
        self.0.is_asked.store(true, Ordering::Relaxed);
    }

    /// Another one, which is asked for whenever this one is, and can be by itself.
    pub(crate) fn part(&self) -> Stop {
        Stop(Arc::new(Asked { is_asked: AtomicBool::new(false), by: Some(self.clone()) }))
    }

    /// Asks to stop when the returned value is dropped.
    pub fn at_end(&self) -> StopAtEnd {
        StopAtEnd(self.clone())
    }

    /// Has anybody asked to stop?
    pub fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::Relaxed) || self.0.by.as_ref().is_some_and(Stop::is_asked)
    }
}

/// Asks to stop when it is dropped.
#[derive(Debug)]
pub struct StopAtEnd(Stop);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.ask();
    }
}
