//! What the system is asked to read before it is needed, so that the disk works meanwhile.

use std::io::IoSliceMut;
use std::num::NonZeroU64;
use std::ops::Range;

use rustix::fs::{Advice, fadvise};
use rustix::io::{ReadWriteFlags, preadv2};

use super::mapped::Origin;

/// Bytes that it is asked for at once. Reason: of more than a disk takes at once, Linux reads
/// no more than that.
const ASKED_BYTES: u64 = 256 << 10;

/// Bytes that are in memory if the last of them is, as far as it matters here. Reason: to look
/// takes less than to ask for what is there already.
const WINDOW_BYTES: u64 = 4 * ASKED_BYTES;

/// How far ahead of a reader the system was asked to read.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    bytes: u64,
    asked: u64,
}

impl ReadAhead {
    /// Sets how far ahead the system is asked to read: `bytes` bytes.
    pub(crate) const fn by(bytes: u64) -> ReadAhead {
        ReadAhead { bytes, asked: 0 }
    }

    /// Asks for what comes behind `needed` bytes of the file at `origin`, and was not asked for. Of
    /// a file whose size is unknown, asks for nothing.
    pub(crate) fn ask(&mut self, origin: &Origin, needed: u64) {
        let Some(size) = origin.size else { return };
        for Range { start, end } in self.windows(needed, size) {
            if is_in_memory(origin, end - 1) {
                continue;
            }
            for at in (start..end).step_by(ASKED_BYTES as usize) {
                // Advice that is not taken costs speed only.
                let length = NonZeroU64::new(ASKED_BYTES);
                let _ = fadvise(&origin.file, at, length, Advice::WillNeed);
            }
        }
    }

    /// What to ask for now.
    fn windows(&mut self, needed: u64, size: u64) -> impl Iterator<Item = Range<u64>> {
        let end = size.min(needed.saturating_add(self.bytes));
        let start = self.asked.max(needed);
        let count = end.saturating_sub(start).div_ceil(WINDOW_BYTES);
        self.asked = start + count * WINDOW_BYTES;
        (0..count).map(move |number| {
            let at = start + number * WINDOW_BYTES;
            at..size.min(at + WINDOW_BYTES)
        })
    }
}

/// Does the system have the byte at `at` in memory? `false` if it does not tell.
fn is_in_memory(origin: &Origin, at: u64) -> bool {
    let mut byte = [0];
    let mut bytes = [IoSliceMut::new(&mut byte)];
    preadv2(&origin.file, &mut bytes, at, ReadWriteFlags::NOWAIT).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_asked_for_once_and_ahead_of_need() {
        let size = 100 * WINDOW_BYTES + 5;
        for (bytes, step) in [(4 << 20, 1 << 20), (32 << 20, 1 << 20), (1 << 20, 3 << 20)] {
            let mut ahead = ReadAhead::by(bytes);
            let mut asked_end = 0;
            for needed in (0..size).step_by(step) {
                for Range { start, end } in ahead.windows(needed, size) {
                    // What is needed by now is read without being asked for.
                    assert!(start == asked_end.max(needed) && end <= size && end > start);
                    asked_end = end;
                }
                assert!(asked_end >= size.min(needed + bytes), "{bytes} {needed}");
                assert!(asked_end < needed + bytes + WINDOW_BYTES, "{bytes} {needed}");
                assert_eq!(ahead.windows(needed, size).count(), 0);
            }
        }
        // A file that was cut short meanwhile.
        assert_eq!(ReadAhead::by(9).windows(70, 50).count(), 0);
    }
}
