//! Web archives: records of a head and a block, one after the other; what all formats of them have
//! in common.

use super::decoded::Decoded;
use super::rows::{Flaw, Parser, Row};

/// What the head of a record says to those who go on.
pub(super) struct Head {
    /// Bytes of the block.
    pub(super) length: u64,
    /// Is the record a row? Others say nothing of a page, or say it twice.
    pub(super) is_row: bool,
}

/// Reads the heads of one format.
pub(super) trait Heads: Send {
    /// Reads the head of the record at byte `at`, and puts what it says into `row` if it is one;
    /// it may look ahead into the block for more.
    fn read(&mut self, from: &mut Decoded, at: u64, row: &mut Row) -> Result<Head, Flaw>;

    /// What the format calls its records, in messages.
    fn unit(&self) -> &'static str;
}

/// Takes web archives apart: a row for each record that is one.
pub(super) struct Archive<H>(pub(super) H);

impl<H: Heads> Parser for Archive<H> {
    fn next(&mut self, from: &mut Decoded, row: &mut Row) -> Result<bool, Flaw> {
        loop {
            // Line ends after each block; some writers leave them out, others add more.
            from.skip_all_of(b"\r\n");
            let at = from.at();
            if from.ahead(1).is_empty() {
                return Ok(false);
            }
            let head = self.0.read(from, at, row)?;
            // A record whose end is missing says nothing.
            if !from.skip(head.length) {
                return Err(Flaw::Cut(at));
            }
            if head.is_row {
                return Ok(true);
            }
        }
    }

    fn unit(&self) -> &'static str {
        self.0.unit()
    }
}
