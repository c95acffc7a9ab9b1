//! What the first lines of a file show besides its format: what `detect` finds, for messages.

use std::fmt;

/// What the first lines of a file show besides its format.
#[derive(Clone, Debug, Default)]
pub struct FirstLines {
    /// The votes by which the format was detected; `None` if it was given.
    pub votes: Option<FormatVotes>,
    /// Is it a list that begins with more NUL bytes than lines, although lines do not end with NUL?
    pub has_nuls: bool,
    /// What a list may be instead, unless the user has said that it is a list.
    pub seeming: Option<Seeming>,
    /// The columns of a table most of whose values cannot be parsed.
    pub odd_fields: Vec<OddField>,
}

/// A field most of whose values in the first lines cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OddField {
    /// Its name on the command line.
    pub field: &'static str,
    /// How many values cannot be parsed.
    pub odd: usize,
    /// How many values there are.
    pub values: usize,
    /// The first that cannot be parsed, shortened and safe to print.
    pub first: String,
}

/// What a list may be instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seeming {
    /// A table.
    Table {
        /// Do most lines have several URLs? Otherwise they have the same number of cells.
        has_several_urls: bool,
        /// The delimiter of its cells.
        delimiter: u8,
        /// Its columns, as the header names them; empty without a header.
        columns: String,
    },
    /// JSON lines: where the URL may be, as JSON pointers, the best first.
    Json(Vec<String>),
    /// JSON lines, each of which contains a line of a log.
    JsonAroundLog {
        /// Where that line is, as a JSON pointer.
        place: String,
        /// Is it only a request line (`GET /a HTTP/1.1`)?
        is_request: bool,
    },
    /// A JSON document, with URLs in arrays, or of several lines.
    JsonDocument,
    /// JSON objects of several lines each, with the URL in a usual place.
    JsonOverLines,
    /// JSON lines with text before each object, such as that of syslog.
    JsonBehindWords,
    /// A list with terminal color codes.
    Colored,
}

/// The votes over the first lines of a file: the share that each format understands of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatVotes {
    /// How many lines were voted on, without empty ones.
    pub lines: usize,
    /// The candidates, the best first, each with its share in percent.
    pub shares: Vec<(&'static str, usize)>,
}

impl FormatVotes {
    /// The share in percent that means half of the lines.
    pub const HALF_PERCENT: usize = 50;

    /// The share in percent of the format `name`, if it was a candidate.
    pub fn share_of(&self, name: &str) -> Option<usize> {
        self.shares.iter().find(|(other, _)| *other == name).map(|(_, percent)| *percent)
    }
}

impl fmt::Display for FormatVotes {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        for (at, (name, percent)) in self.shares.iter().enumerate() {
            write!(out, "{}{name} {percent} %", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
