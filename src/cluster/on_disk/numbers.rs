//! Numbers of records, in a file: written in sorted runs, looked up in order.
//!
//! ```text
//! file   = run*                the runs in any order; where each begins and ends is kept in memory
//! run    = gap*                one for each number, in ascending order; no number twice in a file
//! gap    = bytes/varint.rs     by how much the number is larger than the one before; the first
//!                              of a run: than zero
//! ```

use std::fs::File;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::extents::{Extent, Extents, damaged};
use crate::bytes::varint;

/// Bytes read at once. Reason: a window takes little from each of hundreds of runs.
const READ_BYTES: usize = 16 << 10;

/// Sorted runs of numbers.
#[derive(Debug)]
pub struct Numbers {
    file: Extents,
    /// How many numbers.
    count: AtomicU64,
    runs: Mutex<Vec<Run>>,
}

/// What is left of a run.
#[derive(Clone, Copy, Debug)]
struct Run {
    extent: Extent,
    /// The number before.
    last: u64,
}

impl Numbers {
    /// Begins with no numbers; `file` is empty.
    pub fn new(file: File) -> Self {
        let (file, count) = (Extents::new(file), AtomicU64::new(0));
        Numbers { file, count, runs: Mutex::default() }
    }

    /// Writes a run of ascending numbers. Several threads may do so at the same time.
    pub(crate) fn add(&self, ascending: impl Iterator<Item = u64> + Clone) -> io::Result<()> {
        let (mut last, mut count, mut bytes) = (0, 0, 0);
        for number in ascending.clone() {
            bytes += varint::len(number - last);
            count += 1;
            last = number;
        }
        if count == 0 {
            return Ok(());
        }
        let (mut writer, mut last) = (self.file.set_aside(bytes as u64), 0);
        for number in ascending {
            varint::push(writer.room_for(varint::BYTES_MAX)?, number - last);
            last = number;
        }
        self.count.fetch_add(count, Ordering::Relaxed);
        let run = Run { extent: writer.finish()?, last: 0 };
        self.runs.lock().expect("no thread panics while it holds the list").push(run);
        Ok(())
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// Makes a look-up for ascending numbers, with about `window_bytes` of memory.
    pub fn ask(self, window_bytes: usize) -> NumberLookup {
        let count = self.count();
        let runs = self.runs.into_inner().expect("no thread panics while it holds the list");
        let window = vec![0; (window_bytes / 8).max(1)];
        NumberLookup { file: self.file.into_file(), runs, window, start: 0, end: 0, count, met: 0 }
    }
}

/// The numbers, of which a window is in memory, as a bitmap.
#[derive(Debug)]
pub struct NumberLookup {
    file: File,
    runs: Vec<Run>,
    window: Vec<u64>,
    /// The first number of the window, and the one after the last.
    start: u64,
    end: u64,
    count: u64,
    /// How many were asked for.
    met: u64,
}

impl NumberLookup {
    /// Is `number` one of them? Each may be asked for once, in ascending order.
    #[inline]
    pub fn contains(&mut self, number: u64) -> io::Result<bool> {
        if number >= self.end {
            self.fill(number)?;
        }
        let place = number.checked_sub(self.start).ok_or_else(damaged)?;
        let is_there = self.window[place as usize / 64] >> (place % 64) & 1 == 1;
        self.met += u64::from(is_there);
        Ok(is_there)
    }

    /// Has every one of them been asked for?
    pub fn is_done(&self) -> bool {
        self.met == self.count
    }

    /// Moves the window on to `start`.
    #[cold]
    fn fill(&mut self, start: u64) -> io::Result<()> {
        self.window.fill(0);
        self.start = start;
        self.end = start.saturating_add(64 * self.window.len() as u64);
        let mut buffer = vec![0; READ_BYTES];
        for run in &mut self.runs {
            while !run.extent.is_over() {
                let front = run.extent.peek(&self.file, &mut buffer)?;
                let mut rest = front;
                let mut is_over = false;
                while let Some((gap, after)) = varint::take(rest) {
                    let number = run.last.checked_add(gap).ok_or_else(damaged)?;
                    if number >= self.end {
                        is_over = true;
                        break;
                    }
                    if let Some(place) = number.checked_sub(start) {
                        self.window[place as usize / 64] |= 1 << (place % 64);
                    }
                    run.last = number;
                    rest = after;
                }
                run.extent.at += (front.len() - rest.len()) as u64;
                if is_over {
                    break;
                }
                // A gap that does not end in the buffer is read again as a whole.
                if rest.len() == front.len() {
                    return Err(damaged());
                }
            }
        }
        self.runs.retain(|run| !run.extent.is_over());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    /// The numbers below `asked` that are found in `runs`.
    fn found(runs: &[Vec<u64>], window_bytes: usize, asked: impl Iterator<Item = u64>) -> Vec<u64> {
        let numbers = Numbers::new(tempfile::tempfile().unwrap());
        for run in runs {
            numbers.add(run.iter().copied()).unwrap();
        }
        assert_eq!(numbers.count(), runs.iter().map(|run| run.len() as u64).sum::<u64>());
        let mut numbers = numbers.ask(window_bytes);
        let found = asked.filter(|number| numbers.contains(*number).unwrap()).collect();
        assert!(numbers.is_done());
        found
    }

    #[test]
    fn all_are_found_and_no_others() {
        let by_remainder =
            |n: u64| (0..n).map(|rest| (rest..50_000).step_by(n as usize + 1).collect()).collect();
        for (runs, why) in [
            (vec![], "no runs"),
            (vec![vec![], vec![]], "empty runs"),
            (vec![vec![0, 1, 2]], "one run"),
            (vec![vec![1, 3, 49_999], vec![0, 2, 40_000]], "far apart"),
            (by_remainder(1), "one long run"),
            (by_remainder(7), "seven runs"),
        ] {
            let mut expected: Vec<u64> = runs.concat();
            expected.sort_unstable();
            for window_bytes in [0, 8, 1000, 1 << 20] {
                let found = found(&runs, window_bytes, 0..50_000);
                assert!(found == expected, "{why}, {window_bytes}");
            }
        }
        let far: Vec<u64> = (0..64).map(|bit| 1 << bit).chain([u64::MAX - 1]).collect();
        assert!(found(std::slice::from_ref(&far), 8, far.iter().copied()) == far);
        let long: Vec<u64> = (0..100_000).map(|number| number * 1000).collect();
        assert!(found(std::slice::from_ref(&long), 1 << 10, long.iter().copied()) == long);
    }

    #[test]
    fn what_was_not_asked_for_is_told() {
        for asked in [&[][..], &[3], &[9, 10]] {
            let numbers = Numbers::new(tempfile::tempfile().unwrap());
            numbers.add([3, 9].into_iter()).unwrap();
            let mut numbers = numbers.ask(8);
            assert_eq!(
                asked.iter().filter(|n| numbers.contains(**n).unwrap()).count().min(1),
                asked.len().min(1)
            );
            assert!(!numbers.is_done());
        }
    }

    #[test]
    fn damage_is_told() {
        let file = tempfile::tempfile().unwrap();
        let numbers = Numbers::new(file.try_clone().unwrap());
        numbers.add((0..1000).map(|number| number * 1000)).unwrap();
        assert_eq!(numbers.bytes(), file.metadata().unwrap().len());
        // A gap that never ends.
        file.write_all_at(&[0xff; 11], 500).unwrap();
        let error = numbers.ask(1 << 20).contains(0).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let numbers = Numbers::new(file.try_clone().unwrap());
        numbers.add((0..1000).map(|number| number * 1000)).unwrap();
        file.set_len(100).unwrap();
        let error = numbers.ask(1 << 20).contains(0).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
