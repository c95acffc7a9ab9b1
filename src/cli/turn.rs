//! Turns of runs that put their results beside a file which all of them go on with.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// A run publishes, and takes back if it has to, while no other run does so in that folder.
///
/// Without it three runs at a time with one seen file could take back what was not theirs. A run
/// sees by itself that another one has been there in between; but not who of two others was there
/// first.
#[derive(Debug)]
pub(super) struct Turn {
    /// Locked until it is closed; `None`: it goes without.
    _folder: Option<File>,
}

/// How long a run waits. Reason: publishing takes as long as the disk needs for a name, and whoever
/// holds the folder for longer may have started this run (`flock FOLDER undust …`).
const PATIENCE: Duration = Duration::from_secs(5);

/// How long until it looks again.
const PAUSE: Duration = Duration::from_millis(2);

impl Turn {
    /// Waits for the turn in `folder`. Goes without where the file system has no locks, or patience
    /// is at its end.
    pub(super) fn wait(folder: &Path) -> Turn {
        let start = Instant::now();
        let Ok(file) = File::open(folder) else { return Turn { _folder: None } };
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Turn { _folder: Some(file) },
                Err(Errno::WOULDBLOCK | Errno::INTR) if start.elapsed() < PATIENCE => {
                    thread::sleep(PAUSE);
                }
                Err(_) => return Turn { _folder: None },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let first = Turn::wait(folder.path());
        assert!(first._folder.is_some());
        let (sender, receiver) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let second = Turn::wait(folder.path());
                sender.send("second").unwrap();
                assert!(second._folder.is_some());
            });
            sender.send("first").unwrap();
            drop(first);
        });
        assert_eq!(receiver.iter().take(2).collect::<Vec<_>>(), ["first", "second"]);
        assert!(Turn::wait(&folder.path().join("missing"))._folder.is_none());
    }
}
