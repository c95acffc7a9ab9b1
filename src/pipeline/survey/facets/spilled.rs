//! Counts of names that do not fit in memory: sorted runs in a temporary file, which are merged.
//!
//! ```text
//! file  = run*                 where each begins and ends is kept in memory
//! run   = count*               in ascending order of the names, none of them twice
//! count = length name records urls pages astray
//! name  = byte{length}
//! ```
//!
//! Numbers are those of `varint.rs`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use crate::bytes::varint;
use crate::error::{Error, Result};
use crate::input::Mapped;
use crate::pipeline::temp;
use crate::report::Counts;

/// Bytes written at once.
const PIECE_BYTES: usize = 64 << 10;

/// The file.
#[derive(Debug)]
pub(super) struct Spilled {
    folder: PathBuf,
    file: File,
    /// Where each run ends.
    ends: Vec<u64>,
}

impl Spilled {
    /// Makes a file in `folder`, without runs.
    pub(crate) fn new(folder: PathBuf) -> Result<Spilled> {
        let file = temp::open(&folder)?;
        Ok(Spilled { folder, file, ends: Vec::new() })
    }

    /// Bytes of all runs.
    pub(crate) fn bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Writes a run of `counts`, which has no name twice. Sorting takes 24 bytes for each, of the
    /// memory that is left to malloc.
    pub(crate) fn push<'a>(
        &mut self,
        counts: impl Iterator<Item = (&'a [u8], &'a Counts)>,
    ) -> Result<()> {
        let mut sorted: Vec<_> = counts.collect();
        sorted.sort_unstable_by_key(|(name, _)| *name);
        let (mut piece, mut end) = (Vec::with_capacity(PIECE_BYTES), self.bytes());
        for (name, counts) in sorted {
            varint::push(&mut piece, name.len() as u64);
            piece.extend_from_slice(name);
            let Counts { records, urls, pages, astray } = *counts;
            [records, urls, pages, astray]
                .into_iter()
                .for_each(|number| varint::push(&mut piece, number));
            if piece.len() >= PIECE_BYTES {
                end += self.write(&mut piece)?;
            }
        }
        end += self.write(&mut piece)?;
        self.ends.push(end);
        Ok(())
    }

    /// Writes `piece` and clears it; returns its length in bytes.
    fn write(&mut self, piece: &mut Vec<u8>) -> Result<u64> {
        self.file.write_all(piece).map_err(|error| temp::failed(&self.folder, error))?;
        let bytes = piece.len() as u64;
        piece.clear();
        Ok(bytes)
    }

    /// Calls `each` with every name once, in ascending order, with the sum of its counts.
    pub(crate) fn merge(self, mut each: impl FnMut(&[u8], Counts) -> Result<()>) -> Result<()> {
        let Spilled { folder, file, ends, .. } = self;
        let map = temp::map(&folder, file)?;
        let bytes = map.as_ref().map_or(&[][..], Mapped::bytes);
        let mut start = 0;
        let mut heads = BinaryHeap::with_capacity(ends.len());
        for end in ends {
            let mut run = bytes.get(start..end as usize).ok_or_else(|| damaged(&folder))?;
            start = end as usize;
            if !run.is_empty() {
                let (name, counts) = take(&mut run).ok_or_else(|| damaged(&folder))?;
                heads.push(Head { name: Reverse(name), counts, rest: run });
            }
        }
        let mut sum: Option<(&[u8], Counts)> = None;
        while let Some(mut head) = heads.peek_mut() {
            match &mut sum {
                Some((name, counts)) if *name == head.name.0 => counts.add(&head.counts),
                _ => {
                    let done = sum.replace((head.name.0, head.counts));
                    done.map_or(Ok(()), |(name, counts)| each(name, counts))?;
                }
            }
            if head.rest.is_empty() {
                PeekMut::pop(head);
                continue;
            }
            let mut rest = head.rest;
            let (name, counts) = take(&mut rest).ok_or_else(|| damaged(&folder))?;
            *head = Head { name: Reverse(name), counts, rest };
        }
        sum.map_or(Ok(()), |(name, counts)| each(name, counts))
    }
}

/// What is left of a run.
struct Head<'a> {
    /// Reversed, so that the heap has the least name on top.
    name: Reverse<&'a [u8]>,
    counts: Counts,
    rest: &'a [u8],
}

impl Ord for Head<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.name.cmp(&other.name)
    }
}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Head<'_> {}

/// Takes a name and its counts from the front of `run`; `None` if they are not complete.
fn take<'a>(run: &mut &'a [u8]) -> Option<(&'a [u8], Counts)> {
    let (length, rest) = varint::take(run)?;
    let (name, mut rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    let mut number = || -> Option<u64> {
        let (number, behind) = varint::take(rest)?;
        rest = behind;
        Some(number)
    };
    // In the order of the file.
    let (records, urls, pages, astray) = (number()?, number()?, number()?, number()?);
    *run = rest;
    Some((name, Counts { records, urls, pages, astray }))
}

#[cold]
fn damaged(folder: &std::path::Path) -> Error {
    temp::failed(folder, temp::damaged())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn runs_merge_into_one_sequence() {
        let mut spilled = Spilled::new(std::env::temp_dir()).unwrap();
        let mut twin: BTreeMap<Vec<u8>, Counts> = BTreeMap::new();
        for run in 0..40u64 {
            // Some of them empty, one of several pieces.
            let names = [0, 1, 30, 500, 9000][run as usize % 5];
            let counts: BTreeMap<Vec<u8>, Counts> = (0..names)
                .map(|number| {
                    let number = number * 7919 % 10_007 + run % 3;
                    let name = "n".repeat(number as usize % 200) + &number.to_string();
                    let pages = u64::MAX >> (number % 60 + 4);
                    let counts = Counts { records: run, urls: number, pages, astray: 1 };
                    (name.into_bytes(), counts)
                })
                .collect();
            counts.iter().for_each(|(name, counts)| {
                twin.entry(name.clone()).or_default().add(counts);
            });
            let in_no_order = counts.iter().rev().map(|(name, counts)| (&name[..], counts));
            spilled.push(in_no_order).unwrap();
        }
        let mut merged = Vec::new();
        let merge = |name: &[u8], counts| {
            merged.push((name.to_vec(), counts));
            Ok(())
        };
        spilled.merge(merge).unwrap();
        assert!(merged.len() > 9000);
        assert!(merged == twin.into_iter().collect::<Vec<_>>());
        let none = Spilled::new(std::env::temp_dir()).unwrap();
        none.merge(|_, _| panic!("there is none")).unwrap();
    }

    #[test]
    fn damage_is_told() {
        let mut spilled = Spilled::new(std::env::temp_dir()).unwrap();
        spilled.push([(&b"a.test"[..], &Counts::default())].into_iter()).unwrap();
        spilled.file.set_len(spilled.bytes() - 1).unwrap();
        let error = spilled.merge(|_, _| Ok(())).unwrap_err().to_string();
        assert!(error.contains("it is not as it was written"), "{error}");
    }
}
