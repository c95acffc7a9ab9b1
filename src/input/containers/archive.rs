//! What all formats of web archives have in common: records that consist of a head and a block.

use super::decoded::Decoded;
use super::rows::{Flaw, Parser, Row};

/// What the head of a record says about its block.
pub(super) struct Head {
    /// Bytes of the block.
    pub(super) length: u64,
    /// Does the record become a row? Others say nothing about a page, or say it twice.
    pub(super) is_row: bool,
}

/// Reads the heads of one format.
pub(super) trait Heads: Send {
    /// Reads the head of the record at byte `at`. Fills `row` if the record becomes one, also from
    /// the start of the block, which it does not consume.
    fn read(&mut self, from: &mut Decoded, at: u64, row: &mut Row) -> Result<Head, Flaw>;

    /// What the format calls its records, in messages.
    fn unit(&self) -> &'static str;
}

/// The parser of web archives.
pub(super) struct Archive<H>(pub(super) H);

impl<H: Heads> Parser for Archive<H> {
    fn next(&mut self, from: &mut Decoded, row: &mut Row) -> Result<bool, Flaw> {
        loop {
            // Line ends follow each block; some writers leave them out, others add more.
            from.skip_all_of(b"\r\n");
            let at = from.at();
            if from.ahead(1).is_empty() {
                return Ok(false);
            }
            let head = self.0.read(from, at, row)?;
            // A record whose end is missing is no row.
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
