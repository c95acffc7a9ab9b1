//! Columns of texts as Arrow has them: where each ends, and all bytes one after the other.
//!
//! ```text
//! ends   0 | 15 | 15 | 22          of rows + 1 numbers
//! bytes  http://a.test/b.test/c
//! ```

use std::ops::Range;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;

/// Rows that a thread takes at a time.
const PIECE_ROWS: usize = 1 << 14;

/// A column that Python has lent, in memory of our own: whoever has lent it may write to it while
/// other threads read.
pub(crate) struct Column {
    ends: Vec<i64>,
    bytes: Vec<u8>,
}

impl Column {
    /// The column of `ends`, the first of which is where the first row starts: at the first of
    /// `bytes`, whatever number that has.
    ///
    /// Failure: `ends` that do not ascend, or are not those of as many bytes.
    pub(crate) fn read(py: Python, ends: &PyBuffer<i64>, bytes: &PyBuffer<u8>) -> PyResult<Column> {
        let mut column = Column { ends: ends.to_vec(py)?, bytes: bytes.to_vec(py)? };
        let first = column.ends.first().copied().unwrap_or(-1);
        let last = column.ends.last().copied().unwrap_or_default();
        let fits = last.checked_sub(first) == Some(column.bytes.len() as i64);
        if first < 0 || !column.ends.is_sorted() || !fits {
            return Err(PyValueError::new_err(format!(
                "expected ends of rows that ascend by {} bytes, found others",
                column.bytes.len()
            )));
        }
        column.ends.iter_mut().for_each(|end| *end -= first);
        Ok(column)
    }

    pub(crate) fn rows(&self) -> usize {
        self.ends.len() - 1
    }

    /// The bytes of all rows.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn row(&self, row: usize) -> &[u8] {
        // `read` has made sure that these are positions.
        &self.bytes[self.ends[row] as usize..self.ends[row + 1] as usize]
    }

    /// How many bytes the rows take.
    pub(crate) fn bytes_of(&self, rows: Range<usize>) -> usize {
        (self.ends[rows.end] - self.ends[rows.start]) as usize
    }

    /// What `work` makes of the rows, by pieces, in order; by so many threads.
    pub(crate) fn by_pieces<Made: Send>(
        &self,
        threads: usize,
        work: impl Fn(Range<usize>) -> Made + Sync,
    ) -> PyResult<Vec<Made>> {
        let rows = self.rows();
        let piece = |number| {
            let start = number * PIECE_ROWS;
            work(start..rows.min(start + PIECE_ROWS))
        };
        let pieces = rows.div_ceil(PIECE_ROWS);
        let threads = threads.min(pieces);
        if threads < 2 {
            return Ok((0..pieces).map(piece).collect());
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| {
            PyValueError::new_err(format!("cannot start {threads} threads ({error}); take fewer"))
        })?;
        Ok(pool.install(|| (0..pieces).into_par_iter().map(piece).collect()))
    }
}

/// A column that is made, row by row.
#[derive(Default)]
pub(crate) struct Made {
    ends: Vec<i64>,
    bytes: Vec<u8>,
}

impl Made {
    /// One with room for `rows` of about `bytes` in all.
    pub(crate) fn with_room(rows: usize, bytes: usize) -> Made {
        Made { ends: Vec::with_capacity(rows), bytes: Vec::with_capacity(bytes) }
    }

    pub(crate) fn push(&mut self, row: &[u8]) {
        self.bytes.extend_from_slice(row);
        self.end_row();
    }

    /// The next row, which `write` appends.
    pub(crate) fn push_written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.end_row();
    }

    fn end_row(&mut self) {
        self.ends.push(self.bytes.len() as i64);
    }

    /// The pieces one behind the other, as `ends` and `bytes` for Arrow.
    pub(crate) fn joined<'py>(
        py: Python<'py>,
        pieces: &[Made],
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let rows: usize = pieces.iter().map(|piece| piece.ends.len()).sum();
        let bytes = pieces.iter().map(|piece| piece.bytes.len()).sum();
        let ends = PyBytes::new_with(py, (rows + 1) * size_of::<i64>(), |out| {
            let mut out = out.as_chunks_mut().0.iter_mut();
            let mut put = |end: i64| {
                if let Some(out) = out.next() {
                    *out = end.to_ne_bytes();
                }
            };
            put(0);
            let mut start = 0;
            for piece in pieces {
                piece.ends.iter().for_each(|end| put(start + end));
                start += piece.bytes.len() as i64;
            }
            Ok(())
        })?;
        let bytes = PyBytes::new_with(py, bytes, |mut out| {
            for piece in pieces {
                let (here, rest) = out.split_at_mut(piece.bytes.len());
                here.copy_from_slice(&piece.bytes);
                out = rest;
            }
            Ok(())
        })?;
        Ok((ends, bytes))
    }
}
