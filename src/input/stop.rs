//! Ends the waiting for a stream that may be silent for long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells readers that nobody wants what they read any more. All clones are one.
///
/// A stream that is silent is given up within a tenth of a second, as if it could not be read;
/// whatever has something to give is read on.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks for it.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Asks for it when the answer is dropped.
    pub fn at_end(&self) -> StopAtEnd {
        StopAtEnd(self.clone())
    }

    /// Has anybody asked?
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
