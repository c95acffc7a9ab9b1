//! Lines of which nobody knows yet whether they will be written, in a file.
//!
//! ```text
//! file   = line*                     in input order
//! line   = skipped length text
//! skipped, length = LEB128           records between the line before and this one; bytes of text
//! text   = what will be written for the record, without separator
//! ```

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::temp;
use crate::error::{Error, Result};

/// Bytes written and read at once.
const BUFFER_BYTES: usize = 128 << 10;

/// The file while lines are put in.
#[derive(Debug)]
pub(super) struct Backlog {
    folder: PathBuf,
    writer: BufWriter<File>,
    /// The number of the record after the last line.
    next: u64,
    bytes: u64,
}

impl Backlog {
    /// An empty one, in `folder`.
    pub(super) fn new(folder: &Path) -> Result<Backlog> {
        let writer = BufWriter::with_capacity(BUFFER_BYTES, temp::open(folder)?);
        Ok(Backlog { folder: folder.to_path_buf(), writer, next: 0, bytes: 0 })
    }

    /// Puts in the record with this number, which is larger than those before.
    pub(super) fn push(&mut self, number: u64, text: &[u8]) -> Result<()> {
        let mut head = [0; 20];
        let mut length = 0;
        for mut rest in [number - self.next, text.len() as u64] {
            while rest >= 0x80 {
                head[length] = rest as u8 | 0x80;
                rest >>= 7;
                length += 1;
            }
            head[length] = rest as u8;
            length += 1;
        }
        self.next = number + 1;
        self.bytes += (length + text.len()) as u64;
        let mut write = || {
            self.writer.write_all(&head[..length])?;
            self.writer.write_all(text)
        };
        write().map_err(|error| temp::failed(&self.folder, error))
    }

    /// Bytes of the file.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives `each` the records, with their numbers, in order, until it has seen enough.
    pub(super) fn read(
        self,
        mut each: impl FnMut(u64, &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let folder = self.folder;
        let failed = |error| temp::failed(&folder, error);
        let mut file = self.writer.into_inner().map_err(|error| failed(error.into_error()))?;
        file.rewind().map_err(failed)?;
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut text = Vec::new();
        let mut next = 0;
        let mut left = self.bytes;
        while left > 0 {
            let skipped = read_number(&mut reader, &mut left).map_err(failed)?;
            let number = u64::checked_add(next, skipped).ok_or_else(|| failed(damaged()))?;
            let length = read_number(&mut reader, &mut left).map_err(failed)?;
            left = left.checked_sub(length).ok_or_else(|| failed(damaged()))?;
            next = number.wrapping_add(1);
            let here = reader.buffer();
            let flow = match usize::try_from(length).ok().filter(|length| *length <= here.len()) {
                Some(length) => {
                    let flow = each(number, &here[..length])?;
                    reader.consume(length);
                    flow
                }
                None => {
                    text.clear();
                    let read = (&mut reader).take(length).read_to_end(&mut text).map_err(failed)?;
                    if read as u64 != length {
                        return Err(failed(damaged()));
                    }
                    each(number, &text)?
                }
            };
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn read_number(reader: &mut BufReader<File>, left: &mut u64) -> io::Result<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = match reader.buffer().first() {
            Some(byte) => *byte,
            None => *reader.fill_buf()?.first().ok_or_else(damaged)?,
        };
        reader.consume(1);
        *left = left.checked_sub(1).ok_or_else(damaged)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(damaged())
}

#[cold]
fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not as it was written")
}

/// The promise that [`Backlog::read`] meets every record it should.
#[cold]
pub(super) fn lost() -> Error {
    Error::internal("a line that is to be kept is not in the backlog")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let mut backlog = Backlog::new(folder.path()).unwrap();
        let long = vec![b'x'; 3 * BUFFER_BYTES];
        let mut expected: Vec<(u64, Vec<u8>)> = vec![
            (0, b"a".to_vec()),
            (1, Vec::new()),
            (200, b"with a\nnewline".to_vec()),
            (1 << 40, long.clone()),
            ((1 << 40) + 1, b"b".to_vec()),
        ];
        expected.extend((0..10_000).map(|n| ((1 << 41) + n * 3, format!("line {n}").into_bytes())));
        expected.push((u64::MAX - 1, long));
        for (number, text) in &expected {
            backlog.push(*number, text).unwrap();
        }
        let mut found = Vec::new();
        backlog
            .read(|number, text| {
                found.push((number, text.to_vec()));
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        assert!(found == expected);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
