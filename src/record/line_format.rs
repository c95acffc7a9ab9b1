//! What every format has: a parser of its lines.

use std::fmt;
use std::sync::Arc;

use super::formats::access::CommonLine;
use super::found::{Found, Parsed};

/// A format whose records are lines, with all that is known of a file of it (columns, say).
pub trait LineFormat: fmt::Debug + Send + Sync {
    /// The name on the command line and in reports, such as `combined`.
    fn name(&self) -> &'static str;

    /// What is known of this file, for people: columns and where they are; empty if the name says
    /// it all.
    fn describe(&self) -> String {
        String::new()
    }

    /// The names of all columns of this file that may hold the URL and do hold URLs, the one that
    /// is read first; empty unless there are several, none of which a user has chosen.
    fn url_names(&self) -> &[Vec<u8>] {
        &[]
    }

    /// Finds the parts of the record in `line`, which has neither its separator nor a carriage
    /// return before it. `found` is empty before.
    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed;

    /// How to read the lines that are written as most are, by marks; `None` if there is no such
    /// way. Whatever it reads, `parse` reads the same way.
    fn common_line(&self) -> Option<CommonLine> {
        None
    }

    /// Is a line of blanks alone none of its lines?
    fn has_empty_lines(&self) -> bool {
        true
    }

    /// The format of the lines that follow `line`, if that is a header that changes it.
    fn with_header(&self, _line: &[u8]) -> Option<Arc<dyn LineFormat>> {
        None
    }

    /// How lines with such a header start; empty if there are none. Whoever cuts a file into chunks
    /// looks for them.
    fn header_prefix(&self) -> &'static [u8] {
        b""
    }

    /// The header by which its lines are read again as they are, where files have none in them.
    fn header_of_its_own(&self) -> Option<&'static [u8]> {
        None
    }

    /// Writes the lines of `chunk` to `out`, one for one, in a spelling with fewer escapes that
    /// `parse` is to get in their place. `false` if they are to be read as they are; then what is
    /// in `out` is of no use.
    fn unescaped_lines(&self, _chunk: &[u8], _separator: u8, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// What is known of a table without a header.
    fn headerless(&self) -> Option<Headerless> {
        None
    }

    /// The widths of the header and of the rows of a table, where they differ and nothing says
    /// which name is that of which column.
    fn uneven(&self) -> Option<Uneven> {
        None
    }

    /// The delimiter of fields that may stand in quotes, separators of lines and all (RFC 4180):
    /// then a record may go over several lines, and `parse` gets all of them.
    fn quoted_rows(&self) -> Option<u8> {
        None
    }
}

/// A table whose columns are known by their cells alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headerless {
    /// The column of the URL, from 1.
    pub url_column: usize,
    /// Are there cells that are hardly parts of URLs: in quotes, or statuses, times, numbers or
    /// nothing in the column behind the URL?
    pub has_evidence: bool,
}

/// A table of which no row, as far as the sample goes, has as many cells as its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uneven {
    /// How many cells the header has.
    pub header_cells: usize,
    /// How many the first row has.
    pub row_cells: usize,
}

/// What a format says to a sample: the format with all that the sample shows of the file, if it may
/// be one of its files.
///
/// `lines` are the first whole lines, at least one, without separators, carriage returns and byte
/// order mark. The answer is voted on by parsing them: see `detect`.
pub type Recognize = fn(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>>;
