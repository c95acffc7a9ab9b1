//! Output that is written on a thread of its own, while more is put together.

use std::sync::mpsc::{self, Receiver};

use super::aside::{Aside, aside, gone};
use super::pool::{Pool, Stage};
use crate::error::Result;
use crate::input::Stop;
use crate::report::Output;

/// Bytes of a piece. Reason: long writes; three of them take little beside the
/// least memory of a job.
const PIECE_BYTES: usize = 256 << 10;

/// Pieces on their way: one that is filled, one that waits, one that is written.
const PIECES: usize = 3;

/// Where the bytes go.
pub(crate) struct Relay {
    piece: Vec<u8>,
    full: Aside<Vec<u8>>,
    /// Back from the writer, to be filled again.
    empty: Receiver<Vec<u8>>,
}

/// Writes to `output` what `fill` puts in, in order. The time is counted as [`Stage::Writing`].
///
/// Failure: the first error of writing, or else of `fill`.
pub(crate) fn relay<T>(
    pool: &Pool,
    output: &mut Output,
    fill: impl FnOnce(&mut Relay) -> Result<T>,
) -> Result<T> {
    let (back, empty) = mpsc::channel();
    for _ in 1..PIECES {
        back.send(Vec::with_capacity(PIECE_BYTES)).expect("the other end is here");
    }
    let write = move |mut piece: Vec<u8>| {
        pool.time(Stage::Writing, || output.write_large(&piece))?;
        piece.clear();
        // Nobody needs it any more at the end.
        let _ = back.send(piece);
        Ok(())
    };
    aside(1, &Stop::default(), write, |full| {
        let mut relay = Relay { piece: Vec::with_capacity(PIECE_BYTES), full, empty };
        let result = fill(&mut relay)?;
        relay.pass_on()?;
        Ok(result)
    })
}

impl Relay {
    /// Puts `bytes` behind the others.
    #[inline]
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while self.piece.len() + bytes.len() > PIECE_BYTES {
            let (now, later) = bytes.split_at(PIECE_BYTES - self.piece.len());
            self.piece.extend_from_slice(now);
            bytes = later;
            self.pass_on()?;
        }
        self.piece.extend_from_slice(bytes);
        Ok(())
    }

    /// Hands the piece to the writer.
    fn pass_on(&mut self) -> Result<()> {
        self.full.send(std::mem::take(&mut self.piece))?;
        self.piece = self.empty.recv().map_err(|_| gone())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::report::Claims;

    #[test]
    fn bytes_come_out_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let pool = Pool::start(1).unwrap();
        let mut output = Claims::new(&[]).open(Some(&path)).unwrap();
        output.write(b"before ").unwrap();
        let lengths = [0, 1, PIECE_BYTES, 3 * PIECE_BYTES + 5, PIECE_BYTES - 6, 0, 70_000, 200_000];
        let mut expected = b"before ".to_vec();
        let given = relay(&pool, &mut output, |relay| {
            for (at, length) in (0u8..).zip(lengths) {
                relay.write(&vec![at; length])?;
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
    fn errors_are_told() {
        let pool = Pool::start(1).unwrap();
        let full = std::path::Path::new("/dev/full");
        let mut output = Claims::new(&[]).open(Some(full)).unwrap();
        let error = relay(&pool, &mut output, |relay| {
            (0..100).try_for_each(|_| relay.write(&[0; 100_000]))
        });
        assert!(error.unwrap_err().to_string().contains("/dev/full"));
        let mut output = Claims::new(&[]).open(Some(std::path::Path::new("/dev/null"))).unwrap();
        let error = relay(&pool, &mut output, |_| -> Result<()> { Err(Error::input("mine")) });
        assert_eq!(error.unwrap_err().to_string(), "mine");
    }
}
