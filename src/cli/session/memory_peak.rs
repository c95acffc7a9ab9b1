//! The most anonymous memory that a run has had, by samples.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::cli::memory::process_bytes;

/// Time between two samples. Reason: tables grow for longer, and the system is not asked often.
const SAMPLED_EVERY: Duration = Duration::from_millis(20);

/// A thread that looks now and then how much anonymous memory the process has.
pub(super) struct MemoryPeak {
    thread: JoinHandle<()>,
    stop: Sender<()>,
    /// The most that was seen, in bytes; 0 where the system does not tell.
    bytes: Arc<AtomicU64>,
}

impl MemoryPeak {
    /// Begins to look; `None` where there is no thread for it.
    pub(super) fn watch() -> Option<Self> {
        let (stop, stopped) = channel();
        let bytes = Arc::new(AtomicU64::new(0));
        let peak = Arc::clone(&bytes);
        let look = move || {
            while stopped.recv_timeout(SAMPLED_EVERY) == Err(RecvTimeoutError::Timeout) {
                sample(&peak);
            }
            sample(&peak);
        };
        let thread = Builder::new().spawn(look).ok()?;
        Some(MemoryPeak { thread, stop, bytes })
    }

    /// The most that was seen, in bytes; `None` where the system does not tell.
    pub(super) fn bytes(self) -> Option<u64> {
        drop(self.stop);
        self.thread.join().ok()?;
        Some(self.bytes.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
    }
}

/// Raises `peak` to the anonymous memory of the process: all but the pages of files.
fn sample(peak: &AtomicU64) {
    peak.fetch_max(process_bytes("RssAnon:").unwrap_or(0), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_outlasts_what_it_was_made_of() {
        const BYTES: usize = 64 << 20;
        if process_bytes("RssAnon:").is_none() {
            return;
        }
        let watched = MemoryPeak::watch().unwrap();
        let block = std::hint::black_box(vec![1u8; BYTES]);
        while watched.bytes.load(Ordering::Relaxed) < BYTES as u64 {
            assert!(!watched.thread.is_finished());
            std::thread::yield_now();
        }
        drop(block);
        assert!(watched.bytes() >= Some(BYTES as u64));
    }
}
