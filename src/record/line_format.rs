//! The trait of all formats: a parser of lines.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::found::{Found, Parsed};
use super::marked::CommonLine;

/// A format whose records are lines, with everything known about one file in it (its columns, say).
///
/// Two formats are equal if they read every line in the same way.
pub trait LineFormat: Any + IsEqual + fmt::Debug + Send + Sync {
    /// The name on the command line and in reports, such as `combined`.
    fn name(&self) -> &'static str;

    /// For people: which columns of this file are read, and where each of them is; empty if the
    /// name says it all.
    fn describe(&self) -> String {
        String::new()
    }

    /// Does `other` read the same columns of the same format, in the same places? Unlike equal
    /// formats, the two may differ in what else their files have shown, such as the text of a
    /// header.
    fn same_columns(&self, other: &dyn LineFormat) -> bool {
        self.name() == other.name() && self.describe() == other.describe()
    }

    /// The names of all columns of this file that could be the one of URLs and hold URLs, the one
    /// that is read first; empty unless there are several and the user has chosen none.
    fn url_names(&self) -> &[Vec<u8>] {
        &[]
    }

    /// Finds the parts of the record in `line`, which is without its separator and a carriage
    /// return before that. `found` must be empty.
    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed;

    /// How to read the most common lines by marks; `None` if the format has no such lines. `parse`
    /// must give the same for every line that is read so.
    fn common_line(&self) -> Option<CommonLine> {
        None
    }

    /// Is a line of blanks an empty line, not a line of the format?
    fn has_empty_lines(&self) -> bool {
        true
    }

    /// The format of the lines that follow `line`, if that is a header that changes it.
    fn with_header(&self, _line: &[u8]) -> Option<Arc<dyn LineFormat>> {
        None
    }

    /// How lines with such a header start; empty if there are none. They are searched for where a
    /// file is cut into chunks.
    fn header_prefix(&self) -> &'static [u8] {
        b""
    }

    /// Do programs that write this format begin a new header, maybe with other columns, within a
    /// file? A line without its header then says nothing.
    fn columns_may_change(&self) -> bool {
        false
    }

    /// The header to write before lines of this format so that they can be read again, where files
    /// of it have none.
    fn header_of_its_own(&self) -> Option<&'static [u8]> {
        None
    }

    /// Writes the lines of `chunk` to `out`, one for one, with fewer escapes; `parse` then gets
    /// these instead. `false` if the lines are to be parsed as they are; `out` is then undefined.
    fn unescaped_lines(&self, _chunk: &[u8], _separator: u8, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// What is known of a table without a header.
    fn headerless(&self) -> Option<Headerless> {
        None
    }

    /// The widths of the header and of the rows of a table, if they differ and it is not clear
    /// which name belongs to which column.
    fn uneven(&self) -> Option<Uneven> {
        None
    }

    /// The delimiter of fields that may be quoted and contain line separators (RFC 4180): a record
    /// may then span several lines, and `parse` gets all of them.
    fn quoted_rows(&self) -> Option<u8> {
        None
    }
}

impl PartialEq for dyn LineFormat {
    fn eq(&self, other: &Self) -> bool {
        self.is_equal(other)
    }
}

/// Equality for formats whose types are not known: all types with `PartialEq` have it.
pub trait IsEqual {
    /// Is `other` of the same type and equal?
    fn is_equal(&self, other: &dyn LineFormat) -> bool;
}

impl<T: LineFormat + PartialEq> IsEqual for T {
    fn is_equal(&self, other: &dyn LineFormat) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }
}

/// A table whose columns are known by their cells alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headerless {
    /// The column of the URL, from 1.
    pub url_column: usize,
    /// Are there cells that are hardly parts of URLs: quoted ones, or statuses, times, numbers or
    /// empty cells in the column after the URL?
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

/// Recognizes a format by a sample: returns the format with all that the sample shows about the
/// file, or `None` if the file cannot be of this format.
///
/// `lines` are the first whole lines, at least one, without separators, carriage returns and byte
/// order mark. All formats that are returned then compete by parsing them: see `detect`.
pub type Recognize = fn(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>>;
