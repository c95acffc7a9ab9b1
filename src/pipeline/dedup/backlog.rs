//! Lines whose fate is not decided yet, in a file; of lines in a mapped file, only their positions.
//!
//! ```text
//! file   = block*                    in input order
//! block  = source size run* text*
//! source = 0 | n at                  0: the texts are in this block, one after the other. n: they
//!                                    are in the mapped file n - 1, from the byte `at`
//! size   = bytes of the runs
//! run    = skipped gap count length{count}     lines of records that follow each other
//! skipped = records between the previous line and the first of the run
//! gap    = in a mapped file, bytes between the previous text (or `at`) and its text; else absent
//! count  = how many lines, 1 or more
//! length = bytes of a text
//! text   = what will be written for a record
//! ```
//!
//! All numbers are varints (`bytes/varint.rs`).

use std::fs::File;
use std::io::{BufWriter, Seek as _, Write as _};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

mod reader;

use reader::{Reader, pinned_texts, split_number, split_run};

use super::texts::RecordTexts;
use crate::bytes::varint;
use crate::error::{Error, Result};
use crate::input::PinnedMap;
use crate::pipeline::temp;
use crate::pipeline::temp::damaged;

/// Bytes written and read at once.
const BUFFER_BYTES: usize = 128 << 10;

/// Most lines of a block. Reason: their lengths are held in memory.
const BLOCK_LINES_MAX: usize = 4096;

/// Most bytes that a line takes among the runs: that of a run of one line.
const LINE_HEAD_BYTES_MAX: usize = 4 * varint::BYTES_MAX;

/// Most mapped files that are kept open. Reason: a quarter of those that can be mapped at a time.
/// The lines of other files are copied.
const PINNED_MAX: usize = 64;

/// The file while it is written.
#[derive(Debug)]
pub(super) struct Backlog {
    folder: PathBuf,
    writer: BufWriter<File>,
    /// The mapped files that lines are in.
    pinned: Vec<PinnedMap>,
    /// The number of the record after the last line.
    next: u64,
    bytes: u64,
    /// Memory for the runs of a block.
    heads: Vec<u8>,
}

impl Backlog {
    /// Makes an empty backlog, in `folder`.
    pub(super) fn new(folder: &Path) -> Result<Backlog> {
        let writer = BufWriter::with_capacity(BUFFER_BYTES, temp::open(folder)?);
        let folder = folder.to_path_buf();
        let (pinned, heads) = (Vec::new(), Vec::new());
        Ok(Backlog { folder, writer, pinned, next: 0, bytes: 0, heads })
    }

    /// Adds a record with this number, which is larger than those before.
    pub(super) fn push(&mut self, number: u64, text: &[u8]) -> Result<()> {
        let starts = &[0, text.len() as u32];
        self.push_runs(number, &RecordTexts::new(text, starts, None), std::iter::once(0..1))
    }

    /// Adds the records of `lines` that are in `runs`, which are in order. The first record of
    /// `lines` has the number `first`.
    pub(super) fn push_runs(
        &mut self,
        first: u64,
        lines: &RecordTexts,
        runs: impl Iterator<Item = Range<u32>>,
    ) -> Result<()> {
        let source =
            lines.pinned.as_ref().and_then(|(pinned, at)| Some((self.number_of(pinned)?, *at)));
        let mut block = Vec::new();
        let mut count = 0;
        for mut run in runs.flat_map(|run| lines.parts(run)) {
            // Long runs are split.
            while !run.is_empty() {
                let room = (BLOCK_LINES_MAX - count) as u32;
                let part = run.start..run.end.min(run.start.saturating_add(room));
                run.start = part.end;
                count += part.len();
                block.push(part);
                if count == BLOCK_LINES_MAX {
                    self.push_block(first, lines, source, &block)?;
                    block.clear();
                    count = 0;
                }
            }
        }
        if count > 0 { self.push_block(first, lines, source, &block) } else { Ok(()) }
    }

    /// The number of `pinned` among the mapped files, from 1; `None` if there is no room for it.
    fn number_of(&mut self, pinned: &PinnedMap) -> Option<u64> {
        if !self.pinned.last().is_some_and(|last| last.is_same(pinned)) {
            if self.pinned.len() == PINNED_MAX {
                return None;
            }
            self.pinned.push(pinned.clone());
        }
        Some(self.pinned.len() as u64)
    }

    fn push_block(
        &mut self,
        first: u64,
        lines: &RecordTexts,
        source: Option<(u64, u64)>,
        runs: &[Range<u32>],
    ) -> Result<()> {
        let mut heads = std::mem::take(&mut self.heads);
        heads.clear();
        let mut end = 0;
        for run in runs {
            let place = lines.place(run);
            varint::push(&mut heads, first + u64::from(run.start) - self.next);
            if source.is_some() {
                varint::push(&mut heads, u64::from(place.start - end));
            }
            varint::push(&mut heads, run.len() as u64);
            lines.lengths(run).for_each(|length| varint::push(&mut heads, u64::from(length)));
            end = place.end;
            self.next = first + u64::from(run.end);
        }
        let mut front = Vec::new();
        match source {
            Some((number, at)) => {
                varint::push(&mut front, number);
                varint::push(&mut front, at);
            }
            None => front.push(0),
        }
        varint::push(&mut front, heads.len() as u64);
        let mut written = front.len() + heads.len();
        let mut write = || {
            self.writer.write_all(&front)?;
            self.writer.write_all(&heads)?;
            for run in runs.iter().filter(|_| source.is_none()) {
                let texts = lines.of(run);
                self.writer.write_all(texts)?;
                written += texts.len();
            }
            Ok(())
        };
        write().map_err(|error| temp::failed(&self.folder, error))?;
        self.bytes += written as u64;
        self.heads = heads;
        Ok(())
    }

    /// Bytes of the file.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Calls `each` with the texts of the records for whose numbers `keeps` returns true, in order,
    /// until it returns a break. Adjacent texts come together; long ones come in pieces, with a
    /// flag for the last piece.
    ///
    /// Failure: an error of reading, of `keeps` or of `each`; an input error if lines of a mapped
    /// file do not end where they did: with `separator`, or with the file.
    pub(super) fn read(
        self,
        separator: u8,
        mut keeps: impl FnMut(u64) -> Result<bool>,
        mut each: impl FnMut(&[u8], bool) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let folder = self.folder;
        let failed = |error| temp::failed(&folder, error);
        let mut file = self.writer.into_inner().map_err(|error| failed(error.into_error()))?;
        file.rewind().map_err(failed)?;
        let mut reader = Reader::new(file, self.bytes);
        let mut next = 0u64;
        // The texts of a block that are kept; adjacent ones are joined.
        let mut kept: Vec<Range<u64>> = Vec::new();
        while !reader.is_done() {
            let source = reader.number().map_err(failed)?;
            let mut end = if source > 0 { reader.number().map_err(failed)? } else { 0 };
            let size = reader.number().map_err(failed)?;
            let mut heads = reader.bytes(size).map_err(failed)?;
            kept.clear();
            while !heads.is_empty() {
                let run = split_run(&mut heads, source > 0).ok_or_else(|| failed(damaged()))?;
                next = next.checked_add(run.skipped).ok_or_else(|| failed(damaged()))?;
                end = end.checked_add(run.gap).ok_or_else(|| failed(damaged()))?;
                for _ in 0..run.count {
                    let length = split_number(&mut heads).ok_or_else(|| failed(damaged()))?;
                    let start = end;
                    end = start.checked_add(length).ok_or_else(|| failed(damaged()))?;
                    if keeps(next)? {
                        match kept.last_mut().filter(|last| last.end == start) {
                            Some(last) => last.end = end,
                            None => kept.push(start..end),
                        }
                    }
                    next = next.wrapping_add(1);
                }
            }
            let flow = if source == 0 {
                reader.texts(&folder, &kept, end, &mut each)?
            } else {
                let pinned = usize::try_from(source - 1).ok().and_then(|at| self.pinned.get(at));
                let pinned = pinned.ok_or_else(|| failed(damaged()))?;
                let texts = pinned_texts(pinned, &kept, separator, &mut each)?;
                texts.ok_or_else(|| failed(damaged()))?
            };
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The error for a line that should be kept and is not in the backlog: a bug.
#[cold]
pub(super) fn lost() -> Error {
    Error::internal("a line that is to be kept is not in the backlog")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Input, InputPlan};

    /// The texts in `backlog` of the records that are kept, concatenated.
    fn read(backlog: Backlog, keeps: impl Fn(u64) -> bool) -> Result<Vec<u8>> {
        let mut found = Vec::new();
        backlog.read(
            b'\n',
            |number| Ok(keeps(number)),
            |piece, _| {
                found.extend_from_slice(piece);
                Ok(ControlFlow::Continue(()))
            },
        )?;
        Ok(found)
    }

    #[test]
    fn round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let long = vec![b'x'; 3 * BUFFER_BYTES];
        let mut all: Vec<(u64, Vec<u8>)> = vec![
            (0, b"a".to_vec()),
            (1, Vec::new()),
            (200, b"with a\nnewline".to_vec()),
            (1 << 40, long.clone()),
            ((1 << 40) + 1, b"b".to_vec()),
        ];
        all.extend((0..10_000).map(|n| ((1 << 41) + n * 3, format!("line {n}").into_bytes())));
        all.push((u64::MAX - 1, long));
        let filled = || {
            let mut backlog = Backlog::new(folder.path()).unwrap();
            all.iter().for_each(|(number, text)| backlog.push(*number, text).unwrap());
            backlog
        };
        for modulus in [1, 2, 5] {
            let expected: Vec<u8> = all
                .iter()
                .filter(|(number, _)| number % modulus == 0)
                .flat_map(|(_, text)| text.clone())
                .collect();
            assert!(read(filled(), |number| number % modulus == 0).unwrap() == expected);
        }
        // It reads no further than necessary.
        let mut asked = 0;
        let mut found = Vec::new();
        let keeps = |number| {
            asked += 1;
            Ok(number == 1 << 40)
        };
        let each = |piece: &[u8], is_end| {
            found.extend_from_slice(piece);
            Ok(if is_end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        filled().read(b'\n', keeps, each).unwrap();
        assert!(found == all[3].1 && asked == 4);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// A backlog of a file, mapped or not, with all but every fifth line; and the lines that are
    /// kept of it if every third is not.
    fn lines_of_a_file(folder: &Path, map: bool) -> (Backlog, Vec<u8>) {
        let path = folder.join("list");
        let lines: Vec<String> = (0..20_000).map(|n| format!("line {n}\n")).collect();
        let text = lines.concat();
        // The last line lacks its separator.
        std::fs::write(&path, &text[..text.len() - 1]).unwrap();
        let plan = InputPlan {
            paths: vec![path],
            map,
            map_bytes_min: 0,
            chunk_bytes: 50_000,
            ..InputPlan::default()
        };
        let input = Input::open(&plan).unwrap();
        let mut backlog = Backlog::new(folder).unwrap();
        let mut first = 0;
        for chunk in input {
            let chunk = chunk.unwrap();
            let ends = memchr::memchr_iter(b'\n', chunk.bytes()).map(|at| at as u32 + 1);
            let mut starts: Vec<u32> = std::iter::once(0).chain(ends).collect();
            if starts.last() != Some(&(chunk.bytes().len() as u32)) {
                starts.push(chunk.bytes().len() as u32);
            }
            let records = starts.len() as u32 - 1;
            let pinned = chunk.pin().map(|pinned| (pinned, chunk.at()));
            assert_eq!(pinned.is_some(), map);
            let lines = RecordTexts::new(chunk.bytes(), &starts, pinned);
            let waiting = |record: &u32| (first + u64::from(*record)) % 5 != 0;
            let waiting: Vec<u32> = (0..records).filter(waiting).collect();
            let runs = waiting.chunk_by(|a, b| a + 1 == *b);
            let runs = runs.map(|run| run[0]..run[0] + run.len() as u32);
            backlog.push_runs(first, &lines, runs).unwrap();
            first += u64::from(records);
        }
        assert_eq!(first, 20_000);
        let kept = |n: &usize| !n.is_multiple_of(5) && !n.is_multiple_of(3);
        let mut expected = (0..20_000).filter(kept).map(|n| lines[n].as_str()).collect::<String>();
        expected.pop();
        (backlog, expected.into_bytes())
    }

    #[test]
    fn lines_of_mapped_files_are_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = Vec::new();
        for map in [false, true] {
            let (backlog, expected) = lines_of_a_file(folder.path(), map);
            bytes.push(backlog.bytes());
            assert!(read(backlog, |number| number % 3 != 0).unwrap() == expected, "{map}");
        }
        // 16,000 lines of 8 to 11 bytes; or little more than a byte for each.
        assert!(bytes[0] > 150_000 && bytes[1] < 32_000, "{bytes:?}");
    }

    #[test]
    fn a_change_of_a_mapped_file_is_reported() {
        use std::os::unix::fs::FileExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (backlog, _) = lines_of_a_file(folder.path(), true);
        let file = std::fs::OpenOptions::new().write(true).open(folder.path().join("list"));
        // The separator of line 1.
        file.unwrap().write_all_at(b"x", 13).unwrap();
        let error = read(backlog, |number| number % 2 != 0).unwrap_err().to_string();
        assert!(error.contains("list: lines are not where they were"), "{error}");
    }

    #[test]
    fn damage_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let (backlog, _) = lines_of_a_file(folder.path(), false);
        backlog.writer.get_ref().set_len(1000).unwrap();
        let error = read(backlog, |_| true).unwrap_err().to_string();
        assert!(error.contains("temporary file"), "{error}");
    }
}
