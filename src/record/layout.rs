//! How the lines of a file are read, and hold URLs.

use std::sync::Arc;

use super::assemble::BaseUrl;
use super::filter::RecordFilter;
use super::first_lines::{FirstLines, FormatVotes};
use super::line_format::{Headerless, LineFormat};

/// How to read lines.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// What ends a line: a newline, or NUL.
    pub separator: u8,
    /// Longest line in bytes.
    pub line_bytes_max: usize,
    /// In lists, every byte of a line is part of the URL, even a byte order mark or a carriage
    /// return, and no line is empty.
    pub verbatim: bool,
    /// Are [`Record::fields`](super::Record::fields) needed?
    pub fields: bool,
}

/// How the lines of a file hold URLs, from some line on.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The format; without one the file is a list, one URL on each line.
    pub format: Option<Arc<dyn LineFormat>>,
    /// The host of paths that have none in their line.
    pub base: Option<Arc<BaseUrl>>,
    /// Which records count; without one all do.
    pub filter: Option<Arc<RecordFilter>>,
    /// What else the first lines of the file show.
    pub first_lines: Arc<FirstLines>,
}

impl Layout {
    /// The name of the format of lists.
    pub const LINES: &'static str = "lines";

    /// The format's name on the command line and in reports.
    pub fn name(&self) -> &'static str {
        self.format.as_ref().map_or(Self::LINES, |format| format.name())
    }

    /// Is the file read as a list only because no other format fits: do less than half of its first
    /// lines look like URLs?
    pub fn is_last_resort(&self) -> bool {
        let votes = self.first_lines.votes.as_ref().filter(|_| self.is_list());
        let Some(votes) = votes else { return false };
        votes.share_of(self.name()).is_some_and(|percent| percent < FormatVotes::HALF_PERCENT)
    }

    /// What is known of a table without a header.
    pub fn headerless(&self) -> Option<Headerless> {
        self.format.as_ref()?.headerless()
    }

    /// Is the file a list, of URLs or of paths?
    pub fn is_list(&self) -> bool {
        self.name() == Self::LINES
    }
}
