//! Making durable what has been written, while more is.
//!
//! A disk may keep what it has got in a cache of its own, or in that of the host of a virtual
//! machine, until it is told to be sure of it. Told at the end of a run only, it takes up to a
//! second then for half a gigabyte; told every now and then, it is done when the last bytes come.

use std::fs::File;
use std::io;
use std::task::Poll;

use crate::crew::{Crew, Promise};

/// Bytes that are made durable at once. Reason: of 16 to 128 MiB tried, what is left at the end is
/// short with up to 32, and fewer calls disturb the disk less.
const SYNC_BYTES: u64 = 32 << 20;

/// One call at a time that makes a file durable as far as it has been written.
#[derive(Default)]
pub(super) struct EarlySync {
    /// Who makes the calls. Without anybody, all is left to the end.
    syncer: Option<Crew>,
    /// Bytes of the file when the last call was made.
    asked: u64,
    call: Option<Promise<io::Result<()>>>,
}

impl EarlySync {
    pub(super) fn by(syncer: Option<Crew>) -> Self {
        EarlySync { syncer, ..EarlySync::default() }
    }

    /// Goes on with `file`, of which there are `written` bytes: makes another call if there is
    /// enough for it and the last one has returned.
    ///
    /// Failure: what the last call has told. Nobody hears of it a second time, so
    /// it must not be lost.
    pub(super) fn go_on(&mut self, file: &File, written: u64) -> io::Result<()> {
        let Some(syncer) = &self.syncer else { return Ok(()) };
        if written - self.asked < SYNC_BYTES {
            return Ok(());
        }
        if let Some(call) = &self.call {
            let Poll::Ready(done) = call.poll() else { return Ok(()) };
            self.call = None;
            // A call whose thread has panicked leaves its part to the last one.
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
    fn one_call_is_made_at_a_time_and_its_error_is_told() {
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
