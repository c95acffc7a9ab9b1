//! The totals of a report for people: what the input was, and what became of its lines.

use std::path::Path;

use crate::bytes::show_input;
use crate::report::place_of_line::{FileLines, place_of_line};
use crate::report::{Facet, Survey};

/// What a total counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Lines,
    Empty,
    Rejected,
    Headers,
    Filtered,
    Requests,
    Urls,
    Pages,
    Unique,
    Duplicate,
    Respelled,
    NoScheme,
    Unparsed,
}

impl Counted {
    /// Returns what is counted in a word or two.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Counted::Lines => "lines",
            Counted::Empty => "empty",
            Counted::Rejected => "rejected",
            Counted::Headers => "headers",
            Counted::Filtered => "filtered",
            Counted::Requests => "requests",
            Counted::Urls => "URLs",
            Counted::Pages => "pages",
            Counted::Unique => "unique",
            Counted::Duplicate => "duplicate",
            Counted::Respelled => "respelled",
            Counted::NoScheme => "no scheme",
            Counted::Unparsed => "unparsed",
        }
    }

    /// Tells whether every report shows it, even if it is 0.
    fn is_basic(self) -> bool {
        use Counted::{Duplicate, Lines, Pages, Requests, Unique, Urls};
        matches!(self, Lines | Requests | Urls | Pages | Unique | Duplicate)
    }
}

/// One total.
#[derive(Clone, Debug)]
pub(crate) struct Total {
    pub(crate) what: Counted,
    pub(crate) count: u64,
    /// The count of which it is a part.
    pub(crate) of: Option<u64>,
    /// More about it; may be empty.
    pub(crate) note: &'static str,
    /// The first rejected line: its place, and how it starts.
    pub(crate) first: Option<(String, Vec<u8>)>,
}

/// Shown if the hosts of the records are unknown.
pub(crate) const HOSTLESS: &str =
    "Lines name no host: pages are distinguished by their path alone (base-url)";

impl Survey {
    /// What was read, for titles: the name of the file, or how many there are.
    pub(crate) fn files_in_words(&self) -> String {
        match self.input.as_slice() {
            [only] => show_input(Path::new(&only.path)),
            more => format!("{} files", more.len()),
        }
    }

    /// The formats of the files that are no lists, in the order of the files.
    pub(super) fn formats_in_words(&self) -> Option<String> {
        let mut formats: Vec<&str> = self.input.iter().map(|row| row.format.as_str()).collect();
        formats.dedup();
        match formats.as_slice() {
            // A folder without files has no formats.
            [] | ["lines"] => None,
            more => Some(more.join(", ")),
        }
    }

    /// Are the records requests, and not lines of a list?
    pub(crate) fn has_requests(&self) -> bool {
        let by_status = self.breakdowns.iter().find(|one| one.facet == Facet::Status);
        by_status.is_some_and(|one| one.names > 0)
    }

    /// The place of `line`, counted from 1 over all the input.
    pub(crate) fn place_of(&self, line: u64) -> String {
        let files = self.input.iter();
        let files = files.map(|row| FileLines { name: Path::new(&row.path), lines: row.lines });
        place_of_line(line, self.input.len() > 1, files)
    }

    /// The totals that are shown, in the order of the report.
    pub(crate) fn totals(&self) -> Vec<Total> {
        let tally = &self.tally;
        let total = |what, count, of, note| Total { what, count, of, note, first: None };
        let (of_lines, of_records) = (Some(tally.lines), Some(tally.records));
        let mut all = vec![
            total(Counted::Lines, tally.lines, None, ""),
            total(Counted::Empty, tally.empty, of_lines, "nothing but blanks"),
        ];
        for (kind, count) in tally.rejected.seen() {
            let first = tally.first_rejects().find(|(one, ..)| *one == kind);
            let first = first.map(|(_, line, text)| (self.place_of(line), text.to_vec()));
            all.push(Total { first, ..total(Counted::Rejected, count, of_lines, kind.explain()) });
        }
        all.extend([
            total(Counted::Headers, tally.comments, of_lines, "and comments of the format"),
            total(Counted::Filtered, tally.filtered, of_lines, "left out, as asked for"),
        ]);
        let other = if self.has_requests() {
            all.extend([
                total(Counted::Requests, tally.records, None, ""),
                total(Counted::Urls, self.counts.urls, of_records, "different, byte for byte"),
                total(Counted::Pages, tally.unique, of_records, "different, by the profile"),
                total(Counted::Duplicate, tally.duplicate, of_records, "of a page seen before"),
            ]);
            "asked for a page by another spelling than its first"
        } else {
            all.extend([
                total(Counted::Unique, tally.unique, of_records, ""),
                total(Counted::Duplicate, tally.duplicate, of_records, ""),
            ]);
            "spell their page another way"
        };
        all.extend([
            total(Counted::Respelled, self.counts.astray, of_records, other),
            total(Counted::NoScheme, tally.scheme_added, of_records, "were given one"),
        ]);
        for (kind, count) in tally.unparsed.seen() {
            all.push(total(Counted::Unparsed, count, of_records, kind.explain()));
        }
        all.retain(|one| one.count > 0 || one.what.is_basic());
        all
    }
}
