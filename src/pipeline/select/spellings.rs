//! The spellings of lines that are written with their cluster, in files that are mapped in the end.
//!
//! ```text
//! files   = file{8}                     unnamed, in the folder for temporary files
//! file    = spelling*                   bytes as they were read, without separators between them
//! member  = place length                kept elsewhere, with the member's cluster (`gathered.rs`)
//! place   = u64                         alone << 63 | file << 56 | where the spelling starts in it
//! alone   = 1 bit                       is it a path whose host is unknown?
//! ```

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::bytes::prefetch::prefetch_all;
use crate::cluster::Member;
use crate::error::{Error, Result};
use crate::input::Mapped;
use crate::pipeline::temp;
use crate::record::{Record, url_of};

/// How many files. Reason: threads that write to one file wait for each other.
const FILES: usize = 8;

/// The bits of a place above these name the file; these are the position in it.
const FILE_SHIFT: u32 = 56;

/// The bit of a place whose spelling is a path alone (see [`Record::is_path_alone`]).
const PATH_ALONE: u64 = 1 << 63;

/// Bytes that are written at once. Reason: long writes, and little of the least memory of a thread.
const PIECE_BYTES: usize = 64 << 10;

/// The files while spellings come, from any thread.
#[derive(Debug)]
pub(super) struct SpellingFiles {
    folder: PathBuf,
    /// The files, each with its length so far.
    files: [(File, AtomicU64); FILES],
    /// How many writers have been made.
    writers: AtomicUsize,
}

impl SpellingFiles {
    /// Empty files in `folder`.
    pub(super) fn new(folder: &Path) -> Result<SpellingFiles> {
        let files = temp::open_some::<FILES>(folder)?.map(|file| (file, AtomicU64::new(0)));
        Ok(SpellingFiles { folder: folder.to_path_buf(), files, writers: AtomicUsize::new(0) })
    }

    /// Makes a writer, for one thread.
    pub(super) fn writer(&self) -> SpellingWriter<'_> {
        let number = self.writers.fetch_add(1, Ordering::Relaxed) % FILES;
        SpellingWriter { files: self, number, piece: Vec::new(), unplaced: 0 }
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes.load(Ordering::Relaxed)).sum()
    }

    /// All spellings are written: maps the files, to be read.
    pub(super) fn finish(self) -> Result<Spellings> {
        let map = |file| {
            let map = temp::map(&self.folder, file)?;
            Ok(map.map(Mapped::for_random_reads))
        };
        let maps = self.files.into_iter().map(|(file, _)| map(file)).collect::<Result<_>>()?;
        Ok(Spellings { folder: self.folder, maps })
    }
}

/// Appends spellings to one of the files.
#[derive(Debug)]
pub(super) struct SpellingWriter<'a> {
    files: &'a SpellingFiles,
    /// The number of the file.
    number: usize,
    piece: Vec<u8>,
    /// How many of the last members have places that are relative to the start of the piece.
    unplaced: usize,
}

impl SpellingWriter<'_> {
    /// Begins a new list of members. What a failed one may have left is discarded.
    pub(super) fn begin(&mut self) {
        self.piece.clear();
        self.unplaced = 0;
    }

    /// Adds the spelling of `record`, which is in line `line`, and appends its member to `members`.
    /// The member's place is final after [`SpellingWriter::flush`].
    pub(super) fn push(
        &mut self,
        record: &Record,
        line: u64,
        members: &mut Vec<Member>,
    ) -> Result<()> {
        let spelling = record.spelling;
        let path_alone = if record.is_path_alone() { PATH_ALONE } else { 0 };
        if self.piece.len() + spelling.len() > PIECE_BYTES {
            self.flush(members)?;
        }
        let bytes = spelling.len() as u64;
        if spelling.len() > PIECE_BYTES {
            // Written without a copy.
            let place = self.write(spelling)? | path_alone;
            members.push(Member { line, place, bytes });
            return Ok(());
        }
        let place = self.piece.len() as u64 | path_alone;
        members.push(Member { line, place, bytes });
        self.unplaced += 1;
        self.piece.extend_from_slice(spelling);
        Ok(())
    }

    /// Writes the rest of the piece, and makes the places of the last of `members` final.
    pub(super) fn flush(&mut self, members: &mut [Member]) -> Result<()> {
        let start = self.write(&self.piece)?;
        let placed = members.len() - self.unplaced;
        members[placed..].iter_mut().for_each(|member| member.place += start);
        self.piece.clear();
        self.unplaced = 0;
        Ok(())
    }

    /// Appends `text` to the file, and returns its place.
    fn write(&self, text: &[u8]) -> Result<u64> {
        let (file, end) = &self.files.files[self.number];
        let start = end.fetch_add(text.len() as u64, Ordering::Relaxed);
        file.write_all_at(text, start).map_err(|error| temp::failed(&self.files.folder, error))?;
        Ok((self.number as u64) << FILE_SHIFT | start)
    }
}

/// All spellings.
#[derive(Debug)]
pub(super) struct Spellings {
    folder: PathBuf,
    /// The files; `None` where one is empty.
    maps: Vec<Option<Mapped>>,
}

impl Spellings {
    /// Returns the spelling of `member`.
    #[inline]
    pub(super) fn get(&self, member: Member) -> Result<&[u8]> {
        let file = ((member.place & !PATH_ALONE) >> FILE_SHIFT) as usize;
        let start = member.place & ((1 << FILE_SHIFT) - 1);
        let end = start.checked_add(member.bytes).and_then(|end| usize::try_from(end).ok());
        let range = usize::try_from(start).ok().zip(end);
        let map = self.maps.get(file).and_then(Option::as_ref).map_or(&[][..], Mapped::bytes);
        range.and_then(|(start, end)| map.get(start..end)).ok_or_else(|| self.damaged())
    }

    /// Returns the URL that `spelling`, which is that of `member`, was read from.
    pub(super) fn url<'a>(&self, member: Member, spelling: &'a [u8]) -> Cow<'a, [u8]> {
        url_of(spelling, member.place & PATH_ALONE != 0)
    }

    /// Prefetches the spelling of `member`.
    #[inline]
    pub(super) fn prefetch(&self, member: Member) {
        self.get(member).into_iter().for_each(prefetch_all);
    }

    #[cold]
    fn damaged(&self) -> Error {
        temp::failed(&self.folder, temp::damaged())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Fields;

    #[test]
    fn what_threads_have_written_is_read() {
        let files = SpellingFiles::new(&std::env::temp_dir()).unwrap();
        let spelling = |line: u64| {
            let count = if line % 1000 == 7 { PIECE_BYTES as u64 / 4 } else { line * 7919 % 500 };
            format!("/{line}").repeat(count as usize)
        };
        fn record<'a>(spelling: &'a [u8], url: &'a [u8]) -> Record<'a> {
            Record { line: spelling, spelling, url, fields: &Fields::NONE }
        }
        // Every third has no host.
        let url_of_line =
            |line: u64, spelling: &[u8]| url_of(spelling, line.is_multiple_of(3)).into_owned();
        let mut all: Vec<Member> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..11u64)
                .map(|thread| {
                    let files = &files;
                    scope.spawn(move || {
                        let (mut writer, mut all) = (files.writer(), Vec::new());
                        for chunk in 0..3 {
                            let mut members = Vec::new();
                            let first = 10_000 * thread + 1000 * chunk;
                            for line in first..first + 900 {
                                let text = spelling(line);
                                let url = url_of_line(line, text.as_bytes());
                                writer
                                    .push(&record(text.as_bytes(), &url), line, &mut members)
                                    .unwrap();
                            }
                            writer.flush(&mut members).unwrap();
                            all.extend(members);
                        }
                        all
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let bytes: u64 = all.iter().map(|member| member.bytes).sum();
        assert_eq!((all.len(), files.bytes()), (11 * 3 * 900, bytes));
        let spellings = files.finish().unwrap();
        all.iter().for_each(|one| {
            let expected = spelling(one.line);
            let found = spellings.get(*one).unwrap();
            assert!(found == expected.as_bytes(), "{one:?}");
            let has_text = !expected.is_empty();
            let url = url_of_line(one.line, expected.as_bytes());
            assert!(!has_text || *spellings.url(*one, found) == *url, "{one:?}");
        });
        all[0].place += 1 << 50;
        assert!(spellings.get(all[0]).unwrap_err().is_output());
        all[0].bytes = u64::MAX;
        assert!(spellings.get(all[0]).unwrap_err().is_output());
        // None at all.
        let spellings = SpellingFiles::new(&std::env::temp_dir()).unwrap().finish().unwrap();
        assert_eq!(spellings.get(Member { line: 5, place: 0, bytes: 0 }).unwrap(), b"");
    }
}
