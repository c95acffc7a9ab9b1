//! Reads a backlog: numbers, runs, and the texts that are kept.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::ops::{ControlFlow, Range};
use std::path::Path;

use super::{BLOCK_LINES_MAX, BUFFER_BYTES, LINE_HEAD_BYTES_MAX};
use crate::bytes::{BOM, varint};
use crate::error::{Error, Result};
use crate::input::PinnedMap;
use crate::pipeline::temp::{self, damaged};
use crate::retry::RetryInterrupted;

/// Calls `each` with the texts at `kept` in `pinned`; `None` if it has no such positions.
pub(super) fn pinned_texts(
    pinned: &PinnedMap,
    kept: &[Range<u64>],
    separator: u8,
    each: &mut impl FnMut(&[u8], bool) -> Result<ControlFlow<()>>,
) -> Result<Option<ControlFlow<()>>> {
    let bytes = pinned.bytes();
    for text in kept {
        let (start, end) = (text.start as usize, text.end as usize);
        let Some(text) = bytes.get(start..end) else { return Ok(None) };
        let begins = start == 0
            || bytes[start - 1] == separator
            || start == BOM.len() && bytes.starts_with(BOM);
        let ends = end == bytes.len() || text.last() == Some(&separator);
        if !(begins && ends) {
            pinned.verify()?;
            return Err(Error::input(format!(
                "{}: lines are not where they were: the file has changed between the first and the \
                 second reading",
                pinned.shown()
            )));
        }
        if each(text, true)?.is_break() {
            return Ok(Some(ControlFlow::Break(())));
        }
    }
    pinned.verify()?;
    Ok(Some(ControlFlow::Continue(())))
}

/// What precedes the lengths of a run.
pub(super) struct Run {
    pub(super) skipped: u64,
    pub(crate) gap: u64,
    pub(crate) count: u64,
}

pub(super) fn split_run(heads: &mut &[u8], is_lent: bool) -> Option<Run> {
    let skipped = split_number(heads)?;
    let gap = if is_lent { split_number(heads)? } else { 0 };
    let count = split_number(heads)?;
    Some(Run { skipped, gap, count })
}

/// Splits the number off the front of `bytes`.
#[inline]
pub(super) fn split_number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = varint::take(bytes)?;
    *bytes = rest;
    Some(number)
}

/// The file while it is read.
pub(super) struct Reader {
    file: BufReader<RetryInterrupted<File>>,
    /// Bytes that are left.
    left: u64,
    /// Memory for the runs of a block.
    runs: Vec<u8>,
}

impl Reader {
    /// The first `bytes` of `file`, from its position on.
    pub(crate) fn new(file: File, bytes: u64) -> Reader {
        let file = BufReader::with_capacity(BUFFER_BYTES, RetryInterrupted(file));
        Reader { file, left: bytes, runs: Vec::new() }
    }

    /// Has all been read?
    pub(crate) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Reads a number.
    pub(crate) fn number(&mut self) -> io::Result<u64> {
        // Bet: it is in the buffer as a whole.
        if let Some((number, rest)) = varint::take(self.file.buffer()) {
            self.skip((self.file.buffer().len() - rest.len()) as u64)?;
            return Ok(number);
        }
        let (mut bytes, mut count) = ([0; varint::BYTES_MAX], 0);
        while let Some(byte) = bytes.get_mut(count) {
            *byte = *self.file.fill_buf()?.first().ok_or_else(damaged)?;
            count += 1;
            self.skip(1)?;
            if let Some((number, _)) = varint::take(&bytes[..count]) {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    /// Reads the next `size` bytes, which are runs.
    pub(crate) fn bytes(&mut self, size: u64) -> io::Result<&[u8]> {
        self.left = self.left.checked_sub(size).ok_or_else(damaged)?;
        if size > (BLOCK_LINES_MAX * LINE_HEAD_BYTES_MAX) as u64 {
            return Err(damaged());
        }
        self.runs.resize(size as usize, 0);
        self.file.read_exact(&mut self.runs)?;
        Ok(&self.runs)
    }

    /// Calls `each` with the texts at `kept`, relative to this position; all texts end at `end`.
    pub(crate) fn texts(
        &mut self,
        folder: &Path,
        kept: &[Range<u64>],
        end: u64,
        each: &mut impl FnMut(&[u8], bool) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let failed = |error| temp::failed(folder, error);
        let mut at = 0;
        for text in kept {
            self.skip(text.start - at).map_err(failed)?;
            at = text.start;
            loop {
                let piece = self.piece(text.end - at).map_err(failed)?;
                let length = piece.len() as u64;
                at += length;
                if each(piece, at == text.end)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                self.skip(length).map_err(failed)?;
                if at == text.end {
                    break;
                }
            }
        }
        self.skip(end - at).map_err(failed)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Reads the next bytes, at most `most`; none only if `most` is 0.
    fn piece(&mut self, most: u64) -> io::Result<&[u8]> {
        if most == 0 {
            return Ok(&[]);
        }
        let bytes = self.file.fill_buf()?;
        if bytes.is_empty() {
            return Err(damaged());
        }
        Ok(&bytes[..usize::try_from(most).unwrap_or(usize::MAX).min(bytes.len())])
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(damaged)?;
        if bytes <= self.file.buffer().len() as u64 {
            self.file.consume(bytes as usize);
            return Ok(());
        }
        self.file.seek_relative(i64::try_from(bytes).map_err(|_| damaged())?)
    }
}
