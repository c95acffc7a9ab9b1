//! Asks the system to read ahead, so that the disk works meanwhile.

use std::io::IoSliceMut;
use std::num::NonZeroU64;
use std::ops::Range;

use rustix::fs::{Advice, fadvise};
use rustix::io::{ReadWriteFlags, preadv2};

use super::mapped::Origin;

/// Bytes of one request. Reason: of a larger one, Linux reads only as much as the disk takes at
/// once.
const ASKED_BYTES: u64 = 256 << 10;

/// If the last of this many bytes is in memory, all are assumed to be. Reason: that check is
/// cheaper than a request for what is there already.
const WINDOW_BYTES: u64 = 4 * ASKED_BYTES;

/// How far the system was asked to read ahead of a reader.
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

    /// Requests what follows the first `needed` bytes of the file at `origin` and was not requested
    /// yet. Does nothing for a file whose size is unknown.
    pub(crate) fn ask(&mut self, origin: &Origin, needed: u64) {
        let Some(size) = origin.size else { return };
        for Range { start, end } in self.windows(needed, size) {
            if is_in_memory(origin, end - 1) {
                continue;
            }
            for at in (start..end).step_by(ASKED_BYTES as usize) {
                // If the advice is ignored, only speed is lost.
                let length = NonZeroU64::new(ASKED_BYTES);
                let _ = fadvise(&origin.file, at, length, Advice::WillNeed);
            }
        }
    }

    /// What to request now.
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

/// Does the system have the byte at `at` in memory? `false` if it does not say.
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
