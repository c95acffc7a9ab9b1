//! Fingerprints that do not fit in memory, in some files, by partition.
//!
//! ```text
//! file   = slot*                      of some partitions; all of one size, so that slot n begins
//!                                     at n * size
//! slot   = next count record{count}   records of one partition, in the order in which they came
//! next   = u64                        the slot in which the partition goes on; its own number at
//!                                     the end
//! count  = u64                        what follows the last record of a slot means nothing
//! record = records.rs                 with a fingerprint, and what the job has to know of it
//! ```
//!
//! All numbers are little-endian. The slot in which a partition goes on is set aside when the one
//! before is written. So nothing has to be kept in memory but the first slot of each partition and
//! the one that is being filled, however long the files are.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, Ordering};

use super::extents::{damaged, read_up_to};
use super::records::{Record, words_of};
use crate::cluster::partitions::Partitions;
use crate::cluster::scatter::PARTITIONS;

/// Bytes of `next` and `count`.
const HEAD_BYTES: usize = 16;

/// Slots are whole pages if possible. Reason: the system caches files by pages, and a slot that
/// begins inside a page touches one more.
const PAGE_BYTES: usize = 4096;

/// How many files. Reason: threads that write to one file wait for each other. Partitions that are
/// processed at the same time are far apart, so that up to eight threads use different files.
const SPILL_FILES: usize = 8;

/// Empty files for the records of all partitions.
pub type SpillFiles = [File; SPILL_FILES];

/// The records of every partition.
#[derive(Debug)]
pub(crate) struct Spill<R> {
    files: [Slots; SPILL_FILES],
    slot_bytes: usize,
    /// Never contended, since a partition is one thread's at a time.
    partitions: Partitions<Tail>,
    records: PhantomData<R>,
}

/// A file of slots.
#[derive(Debug)]
struct Slots {
    file: File,
    /// How many are set aside.
    count: AtomicU64,
}

/// Where a partition begins, and the part of it that is not written yet.
#[derive(Debug, Default)]
struct Tail {
    first: u64,
    /// The slot that is being filled.
    current: u64,
    buffer: Vec<u8>,
    /// Bytes of records that still fit in the buffer.
    room: usize,
    records: u64,
}

/// The end of a partition.
pub(crate) struct Appender<'a, R> {
    spill: &'a Spill<R>,
    partition: usize,
    tail: MutexGuard<'a, Tail>,
}

impl<R: Record> Appender<'_, R> {
    /// Appends `record`.
    #[inline]
    pub(crate) fn push(&mut self, record: R) -> io::Result<()> {
        // A buffer that was never filled does not have its head yet.
        if self.tail.room < R::BYTES {
            self.make_room()?;
        }
        let tail = &mut *self.tail;
        record.push_to(&mut tail.buffer);
        tail.room -= R::BYTES;
        tail.records += 1;
        Ok(())
    }

    #[cold]
    fn make_room(&mut self) -> io::Result<()> {
        let next = self.spill.slots(self.partition).count.fetch_add(1, Ordering::Relaxed);
        let tail = &mut *self.tail;
        if tail.records == 0 {
            (tail.first, tail.current) = (next, next);
            tail.buffer = vec![0; HEAD_BYTES];
            tail.buffer.reserve_exact(self.spill.slot_bytes - HEAD_BYTES);
        } else {
            self.spill.write(self.partition, tail, next)?;
        }
        tail.room = self.spill.slot_bytes - HEAD_BYTES;
        Ok(())
    }
}

impl<R: Record> Spill<R> {
    /// An empty spill in `files`. Its buffers will take up to `buffer_bytes`, or
    /// 256 slots of 16 records if that is more.
    pub(crate) fn new(files: SpillFiles, buffer_bytes: usize) -> Self {
        let bytes = buffer_bytes / PARTITIONS;
        let bytes = if bytes < PAGE_BYTES { bytes } else { bytes / PAGE_BYTES * PAGE_BYTES };
        let slot_bytes = bytes.max(HEAD_BYTES + 16 * R::BYTES);
        let files = files.map(|file| Slots { file, count: AtomicU64::new(0) });
        Spill { files, slot_bytes, partitions: Partitions::default(), records: PhantomData }
    }

    /// Appends `records` to `partition`.
    pub(crate) fn append(
        &self,
        partition: usize,
        mut records: impl Iterator<Item = R>,
    ) -> io::Result<()> {
        let mut appender = self.appender(partition);
        records.try_for_each(|record| appender.push(record))
    }

    /// Locks `partition`, to append records to it.
    pub(crate) fn appender(&self, partition: usize) -> Appender<'_, R> {
        Appender { spill: self, partition, tail: self.tail(partition) }
    }

    /// Writes what is still in the buffers, and frees their memory. Nothing may be appended
    /// afterwards.
    pub(crate) fn finish(&self) -> io::Result<()> {
        for partition in 0..PARTITIONS {
            let mut tail = self.tail(partition);
            if tail.records > 0 {
                let last = tail.current;
                self.write(partition, &mut tail, last)?;
                tail.buffer = Vec::new();
            }
        }
        Ok(())
    }

    fn write(&self, partition: usize, tail: &mut Tail, next: u64) -> io::Result<()> {
        let count = (tail.buffer.len() - HEAD_BYTES) / R::BYTES;
        tail.buffer[..8].copy_from_slice(&next.to_le_bytes());
        tail.buffer[8..16].copy_from_slice(&(count as u64).to_le_bytes());
        let at = tail.current * self.slot_bytes as u64;
        self.slots(partition).file.write_all_at(&tail.buffer, at)?;
        tail.buffer.truncate(HEAD_BYTES);
        tail.current = next;
        Ok(())
    }

    /// Calls `each` with the records of `partition`, in the order in which they came. To be called
    /// after [`Spill::finish`].
    ///
    /// Failure: an error of reading, or one for a file whose content is not what was written.
    pub(crate) fn read(&self, partition: usize, mut each: impl FnMut(R)) -> io::Result<()> {
        let all = self.read_while(partition, |record| {
            each(record);
            Ok(ControlFlow::Continue(()))
        });
        all.map(|_: ControlFlow<()>| ())
    }

    /// Calls `each` with the records of `partition`, as [`Spill::read`] does, until `each` returns
    /// a break, or fails.
    pub(crate) fn read_while<B>(
        &self,
        partition: usize,
        mut each: impl FnMut(R) -> io::Result<ControlFlow<B>>,
    ) -> io::Result<ControlFlow<B>> {
        let (mut slot, records) = {
            let tail = self.tail(partition);
            (tail.first, tail.records)
        };
        let file = &self.slots(partition).file;
        let mut buffer = vec![0; self.slot_bytes];
        let mut left = records;
        while left > 0 {
            let at = slot.checked_mul(self.slot_bytes as u64).ok_or_else(damaged)?;
            let filled = read_up_to(file, &mut buffer, at)?;
            let mut words = words_of(&buffer[..filled]);
            let (next, count) = (words.next(), words.next());
            let (Some(next), Some(count)) = (next, count) else { return Err(damaged()) };
            let bytes = count.checked_mul(R::BYTES as u64).ok_or_else(damaged)?;
            if count == 0 || count > left || bytes > (filled - HEAD_BYTES) as u64 {
                return Err(damaged());
            }
            for record in buffer[HEAD_BYTES..HEAD_BYTES + bytes as usize].chunks_exact(R::BYTES) {
                if let ControlFlow::Break(enough) = each(R::from_bytes(record))? {
                    return Ok(ControlFlow::Break(enough));
                }
            }
            left -= count;
            slot = next;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// How many records `partition` has.
    pub(crate) fn records(&self, partition: usize) -> u64 {
        self.tail(partition).records
    }

    /// Bytes of the files.
    pub(crate) fn bytes(&self) -> u64 {
        let slots = self.files.iter().map(|slots| slots.count.load(Ordering::Relaxed));
        slots.sum::<u64>() * self.slot_bytes as u64
    }

    /// Where `partition` is.
    fn slots(&self, partition: usize) -> &Slots {
        &self.files[partition * SPILL_FILES / PARTITIONS]
    }

    fn tail(&self, partition: usize) -> MutexGuard<'_, Tail> {
        self.partitions.lock(partition)
    }
}

/// Files for a test.
#[cfg(test)]
pub(crate) fn temporary() -> SpillFiles {
    std::array::from_fn(|_| tempfile::tempfile().unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::firsts::Numbered;
    use crate::cluster::on_disk::records::Halves;

    fn record(partition: usize, number: u64) -> Numbered {
        let high = (partition as u64) << 56 | number;
        Numbered { fingerprint: Halves { high, low: !number }, number: number * 7 }
    }

    #[test]
    fn round_trip() {
        for (buffer_bytes, slot_bytes) in [(0, 400), (400_000, 1562), (2_500_000, 8192)] {
            let spill = Spill::<Numbered>::new(temporary(), buffer_bytes);
            assert_eq!(spill.slot_bytes, slot_bytes);
            let counts = [0u64, 1, 15, 16, 17, 32, 1000];
            let partitions = [0, 1, 31, 32, 100, 224, 255].into_iter();
            let is_beside = |a, b| std::ptr::eq(spill.slots(a), spill.slots(b));
            assert!(is_beside(0, 31) && !is_beside(31, 32) && is_beside(224, 255));
            for round in 0..10 {
                for (partition, count) in partitions.clone().zip(counts) {
                    let numbers = round * count..(round + 1) * count;
                    let records = numbers.map(|number| record(partition, number));
                    spill.append(partition, records).unwrap();
                }
            }
            spill.finish().unwrap();
            for (partition, count) in partitions.zip(counts) {
                let mut found = Vec::new();
                spill.read(partition, |record| found.push(record)).unwrap();
                let expected: Vec<_> =
                    (0..10 * count).map(|number| record(partition, number)).collect();
                assert!(found == expected, "{count} records a round");
                assert_eq!(spill.records(partition), 10 * count);
            }
            spill.read(200, |_| panic!("nothing was put in")).unwrap();
        }
    }

    #[test]
    fn damage_is_told() {
        let spill = Spill::<Numbered>::new(temporary(), 0);
        let file = spill.slots(0).file.try_clone().unwrap();
        spill.append(0, (0..100).map(|number| record(0, number))).unwrap();
        spill.finish().unwrap();
        let read = |spill: &Spill<Numbered>| spill.read(0, |_| ()).map_err(|error| error.kind());
        assert_eq!(read(&spill), Ok(()));
        for at in [0u64, 7, 8, 9, 15] {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 0x80], at).unwrap();
            assert_eq!(read(&spill), Err(io::ErrorKind::InvalidData), "byte {at}");
            file.write_all_at(&byte, at).unwrap();
        }
        file.set_len(100).unwrap();
        assert_eq!(read(&spill), Err(io::ErrorKind::InvalidData));
    }
}
