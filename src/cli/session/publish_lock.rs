//! An advisory lock on the folder of a `--seen` file, held while a run publishes its results there.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// While it is held, no other run publishes its results in that folder, or rolls them back.
///
/// Without it, of three runs at a time with one seen file, one could roll back what another has
/// published: a run sees by itself that another one has been there meanwhile, but not which of two
/// others was the first.
#[derive(Debug)]
pub(super) struct PublishLock {
    /// Locked until it is closed; `None` where the run goes on without a lock.
    _folder: Option<File>,
}

/// How long a run waits. Reason: publishing takes as long as the disk needs for a name, and whoever
/// holds the folder for longer may have started this run (`flock FOLDER undust …`).
const PATIENCE: Duration = Duration::from_secs(5);

/// How long until it looks again.
const PAUSE: Duration = Duration::from_millis(2);

impl PublishLock {
    /// Waits for the lock on `folder`, for [`PATIENCE`] at most. Goes on without it after that, and
    /// where the file system has no locks.
    pub(super) fn acquire(folder: &Path) -> PublishLock {
        let start = Instant::now();
        let Ok(file) = File::open(folder) else { return PublishLock { _folder: None } };
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return PublishLock { _folder: Some(file) },
                Err(Errno::WOULDBLOCK | Errno::INTR) if start.elapsed() < PATIENCE => {
                    thread::sleep(PAUSE);
                }
                Err(_) => return PublishLock { _folder: None },
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
        let first = PublishLock::acquire(folder.path());
        assert!(first._folder.is_some());
        let other = File::open(folder.path()).unwrap();
        let lock_other = || flock(&other, FlockOperation::NonBlockingLockExclusive);
        assert_eq!(lock_other(), Err(Errno::WOULDBLOCK));
        let (sender, receiver) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let second = PublishLock::acquire(folder.path());
                sender.send("second").unwrap();
                assert!(second._folder.is_some());
            });
            sender.send("first").unwrap();
            drop(first);
        });
        assert_eq!(receiver.iter().take(2).collect::<Vec<_>>(), ["first", "second"]);
        assert_eq!(lock_other(), Ok(()));
        assert!(PublishLock::acquire(&folder.path().join("missing"))._folder.is_none());
    }
}
