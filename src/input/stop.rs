//! Stops waiting for a stream that may be silent for a long time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells readers that their data is no longer needed. All clones share one state.
///
/// Reading a silent stream then fails within a tenth of a second; a stream that has data is read
/// on.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks to stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Asks to stop when the returned value is dropped.
    pub fn at_end(&self) -> StopAtEnd {
        StopAtEnd(self.clone())
    }

    /// Has anybody asked to stop?
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
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
