//! Sorted runs of records in a file, and merging them into one sequence.
//!
//! ```text
//! file   = run*                the runs in any order; where each begins and ends is kept in memory
//! run    = record*             in ascending order of the key; no two records of a file share one
//! record = records.rs
//! ```

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::sync::Mutex;

use super::extents::{Extent, Extents, damaged};
use super::records::Keyed;

/// Bytes read at once. Reason: a window takes little from each of hundreds of runs.
const READ_BYTES: usize = 4 << 10;

/// Sorted runs.
#[derive(Debug)]
pub struct Runs<R> {
    file: Extents,
    runs: Mutex<Vec<Run>>,
    records: PhantomData<R>,
}

/// What is left of a run.
#[derive(Clone, Copy, Debug)]
struct Run {
    extent: Extent,
    /// No record that is left in the run has a smaller key.
    key: u64,
}

impl<R: Keyed> Runs<R> {
    /// No runs yet; `file` is empty.
    pub fn new(file: File) -> Self {
        Runs { file: Extents::new(file), runs: Mutex::default(), records: PhantomData }
    }

    /// Writes a run of records that are sorted by their keys. Several threads may do so at the same
    /// time.
    pub fn add(&self, records: impl ExactSizeIterator<Item = R>) -> io::Result<()> {
        let bytes = (records.len() * R::BYTES) as u64;
        let (mut writer, mut key) = (self.file.set_aside(bytes), None);
        for record in records {
            key.get_or_insert(record.key());
            record.push_to(writer.room_for(R::BYTES)?);
        }
        let extent = writer.finish()?;
        if let Some(key) = key {
            let run = Run { extent, key };
            self.runs.lock().expect("no thread panics while it holds the list").push(run);
        }
        Ok(())
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// Merges all records by key; holds at most `capacity` of them in memory.
    pub fn merge(self, capacity: usize) -> Merged<R> {
        let runs = self.runs.into_inner().expect("no thread panics while it holds the list");
        let (file, width) = (self.file.into_file(), capacity.max(1) as u64);
        Merged { file, runs, width, window: Vec::new(), next: 0 }
    }
}

/// The records of all runs, by key.
///
/// Bet: the keys are dense. The records with keys in a window, of as many keys as records fit in
/// memory, are gathered from all runs and sorted. So no run needs a buffer of its own.
#[derive(Debug)]
pub struct Merged<R> {
    file: File,
    runs: Vec<Run>,
    /// Keys in a window.
    width: u64,
    window: Vec<R>,
    /// The next record in the window.
    next: usize,
}

impl<R: Keyed> Merged<R> {
    /// Returns the next record without consuming it.
    #[inline]
    pub fn peek(&mut self) -> io::Result<Option<R>> {
        if self.next == self.window.len() {
            self.fill()?;
        }
        Ok(self.window.get(self.next).copied())
    }

    /// The next record.
    #[inline]
    pub fn next_record(&mut self) -> io::Result<Option<R>> {
        let record = self.peek()?;
        self.next += usize::from(record.is_some());
        Ok(record)
    }

    /// The next record if its key is `key`.
    #[inline]
    pub fn next_if(&mut self, key: u64) -> io::Result<Option<R>> {
        let record = self.peek()?.filter(|record| record.key() == key);
        self.next += usize::from(record.is_some());
        Ok(record)
    }

    /// Gathers the next window in which there is a record.
    fn fill(&mut self) -> io::Result<()> {
        self.window.clear();
        self.next = 0;
        let Some(start) = self.runs.iter().map(|run| run.key).min() else { return Ok(()) };
        let last = start.saturating_add(self.width - 1);
        let mut buffer = [0; READ_BYTES];
        let room = READ_BYTES / R::BYTES * R::BYTES;
        for run in &mut self.runs {
            while run.key <= last && !run.extent.is_over() {
                let front = run.extent.peek(&self.file, &mut buffer[..room])?;
                for record in front.chunks_exact(R::BYTES) {
                    let record = R::from_bytes(record);
                    if record.key() < run.key {
                        return Err(damaged());
                    }
                    run.key = record.key();
                    if run.key > last {
                        break;
                    }
                    self.window.push(record);
                    run.extent.at += R::BYTES as u64;
                }
            }
        }
        self.runs.retain(|run| !run.extent.is_over());
        self.window.sort_unstable_by_key(R::key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Cluster;

    fn merged(runs: &[Vec<u64>], capacity: usize) -> Vec<u64> {
        let file = Runs::<Cluster>::new(tempfile::tempfile().unwrap());
        for run in runs {
            file.add(run.iter().map(|key| Cluster { representative: *key, lines: !key })).unwrap();
        }
        let mut merged = file.merge(capacity);
        let mut keys = Vec::new();
        while let Some(cluster) = merged.peek().unwrap() {
            let key = cluster.representative;
            assert_eq!(cluster.lines, !key);
            assert_eq!(merged.next_if(key.wrapping_add(1)).unwrap(), None);
            assert_eq!(merged.next_if(key).unwrap(), Some(cluster));
            keys.push(key);
        }
        keys
    }

    #[test]
    fn merges_in_order() {
        let far = u64::MAX;
        let by_remainder =
            |n: u64| (0..n).map(|rest| (rest..5000).step_by(n as usize).collect()).collect();
        for (runs, why) in [
            (vec![], "no runs"),
            (vec![vec![], vec![]], "empty runs"),
            (vec![vec![0, 1, 2]], "one run"),
            (vec![vec![1, 3, far], vec![0, 2, far - 1]], "far apart"),
            (by_remainder(1), "one long run"),
            (by_remainder(7), "seven runs"),
        ] {
            let mut expected: Vec<u64> = runs.concat();
            expected.sort_unstable();
            for capacity in [1, 2, 100, 1 << 20] {
                assert!(merged(&runs, capacity) == expected, "{why}, {capacity}");
            }
        }
    }
}
