//! The most anonymous memory that a run has had, by samples.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Time between two samples. Reason: it is shorter than a batch takes, and asking the system takes
/// some 50 µs.
const SAMPLED_EVERY: Duration = Duration::from_millis(20);

/// A thread that looks now and then how much anonymous memory the process has.
pub(super) struct AnonymousPeak {
    thread: JoinHandle<Option<u64>>,
    stop: Sender<()>,
}

impl AnonymousPeak {
    /// Begins to look; `None` where there is no thread for it.
    pub(super) fn watch() -> Option<Self> {
        let (stop, stopped) = channel();
        let look = move || {
            let mut peak = anonymous_bytes();
            while stopped.recv_timeout(SAMPLED_EVERY) == Err(RecvTimeoutError::Timeout) {
                peak = peak.max(anonymous_bytes());
            }
            peak.max(anonymous_bytes())
        };
        let thread = Builder::new().spawn(look).ok()?;
        Some(AnonymousPeak { thread, stop })
    }

    /// The most that was seen, in bytes; `None` where the system does not tell.
    pub(super) fn bytes(self) -> Option<u64> {
        drop(self.stop);
        self.thread.join().ok().flatten()
    }
}

/// The anonymous memory of the process: all but the pages of files.
fn anonymous_bytes() -> Option<u64> {
    process_bytes("RssAnon:")
}

/// The bytes that the system says of this process in the line `name` of its status.
pub(super) fn process_bytes(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_has_what_is_there() {
        if anonymous_bytes().is_none() {
            return;
        }
        let watched = AnonymousPeak::watch().unwrap();
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(watched.bytes() >= Some(60 << 20));
        drop(block);
    }
}
