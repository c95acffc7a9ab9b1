//! Syncs a file while it is written.
//!
//! A disk may keep written data in a cache of its own, or of the host of a virtual machine, until
//! it is asked to make it durable. Asked only at the end of a run, it takes up to a second for half
//! a gigabyte; asked every now and then, it is nearly done when the last bytes come.

use std::fs::File;
use std::io;
use std::task::Poll;

use crate::crew::{Crew, Promise};

/// Bytes that are synced at once. Reason: of 16 to 128 MiB tried, up to 32 leave little for the
/// end, and fewer calls disturb the disk less.
const SYNC_BYTES: u64 = 32 << 20;

/// Syncs a file as far as it has been written, by one call at a time.
#[derive(Default)]
pub(super) struct EarlySync {
    /// The thread that makes the calls. `None`: syncing is left to the end.
    syncer: Option<Crew>,
    /// Bytes of the file when the last call was made.
    asked: u64,
    call: Option<Promise<io::Result<()>>>,
}

impl EarlySync {
    pub(super) fn by(syncer: Option<Crew>) -> Self {
        EarlySync { syncer, ..EarlySync::default() }
    }

    /// To be called for `file` with the number of bytes `written` so far: makes another call if
    /// there is enough to sync and the last call has returned.
    ///
    /// Failure: the error of the last call. The system reports it only once, so it must not be
    /// lost.
    pub(super) fn go_on(&mut self, file: &File, written: u64) -> io::Result<()> {
        let Some(syncer) = &self.syncer else { return Ok(()) };
        if written - self.asked < SYNC_BYTES {
            return Ok(());
        }
        if let Some(call) = &self.call {
            let Poll::Ready(done) = call.poll() else { return Ok(()) };
            self.call = None;
            // After a panic, the last call syncs that part as well.
            done.unwrap_or(Ok(()))?;
        }
        if let Ok(file) = file.try_clone() {
            self.asked = written;
            self.call = Some(syncer.spawn(move || file.sync_data()));
        }
        Ok(())
    }

    /// Waits for the last call. Failure: as [`EarlySync::go_on`].
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.call.take().and_then(Promise::wait).unwrap_or(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::crew::Task;

    #[test]
    fn one_call_is_made_at_a_time_and_its_error_is_returned() {
        let (give, given) = mpsc::channel::<Task>();
        let mut sync = EarlySync::by(Some(Crew::new(1, move |task| give.send(task).unwrap())));
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("out")).unwrap();
        sync.go_on(&file, SYNC_BYTES - 1).unwrap();
        assert!(given.try_recv().is_err());
        sync.go_on(&file, SYNC_BYTES).unwrap();
        let first = given.try_recv().unwrap();
        sync.go_on(&file, 5 * SYNC_BYTES).unwrap();
        assert!(given.try_recv().is_err());
        first();
        sync.go_on(&file, 5 * SYNC_BYTES).unwrap();
        given.try_recv().unwrap()();
        // What cannot be made durable.
        let (_reader, pipe) = io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        sync.go_on(&pipe, 6 * SYNC_BYTES).unwrap();
        given.try_recv().unwrap()();
        sync.go_on(&file, 7 * SYNC_BYTES).unwrap_err();
        sync.go_on(&pipe, 7 * SYNC_BYTES).unwrap();
        given.try_recv().unwrap()();
        sync.finish().unwrap_err();
        sync.finish().unwrap();
        // Nobody makes the call.
        sync.go_on(&file, 8 * SYNC_BYTES).unwrap();
        drop(given);
        sync.finish().unwrap();
        EarlySync::by(None).go_on(&file, u64::MAX).unwrap();
    }
}
