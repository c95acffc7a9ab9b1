//! Delivers chunks from the thread that reads to the workers, within the memory that they may take.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

use super::flow::{Flow, Ticket};
use super::layouts::Parcel;
use crate::error::Result;
use crate::limits::CHUNK_BYTES;
use crate::pipeline::budget::AHEAD_BYTES;
use crate::pipeline::threads::permits::CpuPermit;
use crate::pipeline::threads::pool::{Pool, Stage};

/// Delivers chunks from the reader to the workers, within the memory that they may take.
pub(super) struct Delivery<'a> {
    /// Bounds the chunks and what is kept of them, until they are written.
    flow: Arc<Flow>,
    /// Bounds the chunks until the workers take them.
    queue: Arc<Flow>,
    sender: SyncSender<Result<Message>>,
    pool: &'a Pool,
    /// Was the last chunk one of a file, and read or decompressed by the reader itself?
    was_own: bool,
    /// Was that so for the last two chunks? A single such chunk may only join two pieces that other
    /// threads have decompressed.
    is_decompressing: bool,
    /// The permit for the processor that decompressing takes.
    permit: Option<CpuPermit<'a>>,
}

impl<'a> Delivery<'a> {
    /// Begins a delivery by `sender`. Chunks in flight take `flow_bytes` at most.
    pub(super) fn new(
        flow_bytes: u64,
        sender: SyncSender<Result<Message>>,
        pool: &'a Pool,
    ) -> Self {
        Delivery {
            flow: Flow::new(flow_bytes),
            queue: Flow::new(AHEAD_BYTES as u64),
            sender,
            pool,
            was_own: false,
            is_decompressing: false,
            permit: None,
        }
    }

    /// Takes a permit from the workers if the next chunk is likely to be decompressed by this
    /// thread, which they will wait for. Otherwise returns it to them.
    pub(super) fn acquire_permit(&mut self) {
        if !self.is_decompressing {
            self.permit = None;
        } else if self.permit.is_none() {
            self.permit = Some(self.pool.acquire_permit());
        }
    }

    /// Calls `read`, and counts the time as [`Stage::Reading`].
    pub(super) fn time_reading<T>(&self, read: impl FnOnce() -> T) -> T {
        self.pool.time(Stage::Reading, read)
    }

    /// Delivers `parcel`, of which `bytes_kept` will be kept beside its own. `false` if nobody
    /// takes it any more.
    pub(super) fn deliver(&mut self, mut parcel: Parcel, bytes_kept: u64) -> bool {
        let is_own = parcel.decoded_on_reader_thread() && parcel.fraction_read.is_some();
        self.is_decompressing = is_own && self.was_own;
        self.was_own = is_own;
        let own_bytes = parcel.memory_bytes() as u64;
        // The first chunk of each mapped file counts as well, so that few files are open at once.
        let queued_bytes =
            if parcel.is_mapped() && parcel.starts_file() { CHUNK_BYTES as u64 } else { own_bytes };
        let bytes = own_bytes + bytes_kept;
        let ticket = self.flow.try_enter(bytes).unwrap_or_else(|| {
            self.permit = None;
            let flow = Arc::clone(&self.flow);
            flow.enter_reporting(bytes, |bytes_inside| {
                // An error can be ignored: if nobody receives any more, sending the chunk fails,
                // too.
                let _ = self.send(Ok(Message::NoRoom { bytes_inside }));
            })
        });
        parcel.hold(ticket);
        let queued = self.queue.try_enter(queued_bytes).unwrap_or_else(|| {
            self.permit = None;
            self.queue.enter(queued_bytes)
        });
        self.send(Ok(Message::Chunk(Delivered { parcel, bytes, queued })))
    }

    /// Sends `one`. `false` if nobody takes it any more.
    pub(super) fn send(&mut self, one: Result<Message>) -> bool {
        match self.sender.try_send(one) {
            Err(TrySendError::Full(one)) => {
                self.permit = None;
                self.sender.send(one).is_ok()
            }
            sent => sent.is_ok(),
        }
    }
}

/// What the thread that reads sends.
pub(super) enum Message {
    /// A chunk.
    Chunk(Delivered),
    /// One more chunk has no room beside those in flight, which take this many bytes.
    NoRoom { bytes_inside: u64 },
}

/// A chunk that is sent to the workers.
pub(super) struct Delivered {
    pub(super) parcel: Parcel,
    /// Bytes that the chunk takes, with what will be kept of it.
    pub(super) bytes: u64,
    /// The ticket for the queue, until the chunk is taken.
    pub(super) queued: Ticket,
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::input::{Chunk, Input, InputPlan};
    use crate::limits::BATCH_CHUNKS;

    /// Of one mapped file a whole batch may wait; of chunks in memory, and of several mapped files,
    /// as many as [`AHEAD_BYTES`] allows.
    #[test]
    fn what_waits_for_the_workers_is_bounded() {
        let chunks_of = |text: &[u8], map: bool, files: usize| -> Vec<Chunk> {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(text).unwrap();
            let plan = InputPlan {
                paths: vec![file.path().to_path_buf(); files],
                chunk_bytes: 1,
                map,
                map_bytes_min: 0,
                ..InputPlan::default()
            };
            Input::open(&plan).unwrap().map(Result::unwrap).collect()
        };
        let many = b"http://a.test/\n".repeat(200);
        let own = |chunks: &[Chunk]| (0..40).map(|_| Chunk::joined(chunks).unwrap()).collect();
        let long = chunks_of(&vec![b'a'; CHUNK_BYTES / 2], true, 2);
        for (chunks, expected) in [
            (chunks_of(&many, true, 1), BATCH_CHUNKS),
            (chunks_of(&many, false, 1), BATCH_CHUNKS),
            (own(&long), AHEAD_BYTES / CHUNK_BYTES),
            (chunks_of(b"http://a.test/\n", true, 40), AHEAD_BYTES / CHUNK_BYTES),
        ] {
            let all = chunks.len();
            assert!(all > expected);
            let pool = Pool::start(1).unwrap();
            let (sender, receiver) = mpsc::sync_channel(BATCH_CHUNKS);
            let sent = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                let (pool, sent) = (&pool, &sent);
                scope.spawn(move || {
                    let mut delivery = Delivery::new(u64::MAX, sender, pool);
                    for chunk in chunks {
                        assert!(delivery.deliver(Parcel::of_lines(chunk, Some(0.5)), 1));
                        sent.fetch_add(1, Ordering::SeqCst);
                    }
                });
                while sent.load(Ordering::SeqCst) < expected {
                    std::thread::yield_now();
                }
                // Nothing more is let in, whatever time it has.
                std::thread::sleep(Duration::from_millis(20));
                assert_eq!(sent.load(Ordering::SeqCst), expected);
                assert_eq!(receiver.iter().count(), all);
            });
        }
    }
}
