//! Output that is written on a thread of its own, while more is produced.

use std::sync::mpsc::{self, Receiver};

use super::consumer::{Consumer, gone, with_consumer};
use super::pool::{Pool, Stage};
use crate::error::Result;
use crate::input::Stop;
use crate::report::Output;

/// Bytes of a piece. Reason: long writes; three pieces take little of the least memory of a job.
const PIECE_BYTES: usize = 256 << 10;

/// Pieces in flight: one that is filled, one that waits, one that is written.
const PIECES: usize = 3;

/// The producer's end of the background writer.
pub(crate) struct BackgroundWriter {
    piece: Vec<u8>,
    full: Consumer<Vec<u8>>,
    /// Written pieces, to be filled again.
    empty: Receiver<Vec<u8>>,
}

/// Writes to `output` what `fill` writes, in order. The time is counted as [`Stage::Writing`].
///
/// Failure: the first error of writing, or else of `fill`.
pub(crate) fn write_in_background<T>(
    pool: &Pool,
    output: &mut Output,
    fill: impl FnOnce(&mut BackgroundWriter) -> Result<T>,
) -> Result<T> {
    let (back, empty) = mpsc::channel();
    for _ in 1..PIECES {
        back.send(Vec::with_capacity(PIECE_BYTES)).expect("the other end is here");
    }
    let write = move |mut piece: Vec<u8>| {
        pool.time(Stage::Writing, || output.write_large(&piece))?;
        piece.clear();
        // At the end nobody takes it any more.
        let _ = back.send(piece);
        Ok(())
    };
    with_consumer(1, &Stop::default(), write, |full| {
        let mut writer = BackgroundWriter { piece: Vec::with_capacity(PIECE_BYTES), full, empty };
        let result = fill(&mut writer)?;
        writer.send_piece()?;
        Ok(result)
    })
}

impl BackgroundWriter {
    /// Writes `bytes`.
    #[inline]
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while self.piece.len() + bytes.len() > PIECE_BYTES {
            let (now, later) = bytes.split_at(PIECE_BYTES - self.piece.len());
            self.piece.extend_from_slice(now);
            bytes = later;
            self.send_piece()?;
        }
        self.piece.extend_from_slice(bytes);
        Ok(())
    }

    /// Sends the piece to the thread that writes.
    fn send_piece(&mut self) -> Result<()> {
        self.full.send(std::mem::take(&mut self.piece))?;
        self.piece = self.empty.recv().map_err(|_| gone())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::report::ClaimedPaths;

    #[test]
    fn bytes_come_out_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let pool = Pool::start(1).unwrap();
        let mut output = ClaimedPaths::new(&[]).open(Some(&path)).unwrap();
        output.write(b"before ").unwrap();
        let lengths = [0, 1, PIECE_BYTES, 3 * PIECE_BYTES + 5, PIECE_BYTES - 6, 0, 70_000, 200_000];
        let mut expected = b"before ".to_vec();
        let given = write_in_background(&pool, &mut output, |writer| {
            for (at, length) in (0u8..).zip(lengths) {
                writer.write(&vec![at; length])?;
                expected.extend(vec![at; length]);
            }
            Ok(7)
        });
        assert_eq!(given.unwrap(), 7);
        output.write(b" after").unwrap();
        output.publish().unwrap();
        expected.extend(b" after");
        assert!(std::fs::read(path).unwrap() == expected);
    }

    #[test]
    fn errors_are_returned() {
        let pool = Pool::start(1).unwrap();
        let full = std::path::Path::new("/dev/full");
        let mut output = ClaimedPaths::new(&[]).open(Some(full)).unwrap();
        let error = write_in_background(&pool, &mut output, |writer| {
            (0..100).try_for_each(|_| writer.write(&[0; 100_000]))
        });
        assert!(error.unwrap_err().to_string().contains("/dev/full"));
        let mut output =
            ClaimedPaths::new(&[]).open(Some(std::path::Path::new("/dev/null"))).unwrap();
        let error = write_in_background(&pool, &mut output, |_| -> Result<()> {
            Err(Error::input("mine"))
        });
        assert_eq!(error.unwrap_err().to_string(), "mine");
    }
}
