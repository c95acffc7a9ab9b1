//! The totals of a report for people: what the input was, and what became of its lines.

use super::place_of_line::{FileLines, place_of_line, shown_file};
use super::{Facet, Survey};

/// One total.
#[derive(Clone, Debug)]
pub(super) struct Total {
    /// What is counted, in a word or two.
    pub(super) name: &'static str,
    pub(super) count: u64,
    /// The count of which it is a part.
    pub(super) of: Option<u64>,
    /// More about it; may be empty.
    pub(super) note: &'static str,
    /// Of lines that were rejected, the first: its place, and how it starts.
    pub(super) first: Option<(String, Vec<u8>)>,
}

/// Said where nobody knows the hosts of the records.
pub(super) const HOSTLESS: &str =
    "Lines name no host: pages are distinguished by their path alone (--base-url)";

impl Survey {
    /// What was read, for titles: the name of the file, or how many there are.
    pub(super) fn files_in_words(&self) -> String {
        match self.input.as_slice() {
            [only] => shown_file(only.path.as_bytes()),
            more => format!("{} files", more.len()),
        }
    }

    /// The formats of the files that are no lists, in the order of the files.
    pub(super) fn formats_in_words(&self) -> Option<String> {
        let mut formats: Vec<&str> = self.input.iter().map(|row| row.format.as_str()).collect();
        formats.dedup();
        match formats.as_slice() {
            // Of a folder without files there are none.
            [] | ["lines"] => None,
            more => Some(more.join(", ")),
        }
    }

    /// Are the records requests, and not lines of a list?
    pub(super) fn has_requests(&self) -> bool {
        let by_status = self.breakdowns.iter().find(|one| one.facet == Facet::Status);
        by_status.is_some_and(|one| one.names > 0)
    }

    /// The place of `line`, counted from 1 over all the input.
    pub(super) fn place_of(&self, line: u64) -> String {
        let files = self.input.iter();
        let files = files.map(|row| FileLines { name: row.path.as_bytes(), lines: row.lines });
        place_of_line(line, self.input.len() > 1, files)
    }

    /// The totals that say something, in the order of the report.
    pub(super) fn totals(&self) -> Vec<Total> {
        let tally = &self.tally;
        let total = |name, count, of, note| Total { name, count, of, note, first: None };
        let (of_lines, of_records) = (Some(tally.lines), Some(tally.records));
        let mut all = vec![
            total("lines", tally.lines, None, ""),
            total("empty", tally.empty, of_lines, "nothing but blanks"),
        ];
        for (kind, count) in tally.rejected.seen() {
            let first = tally.first_rejects().find(|(one, ..)| *one == kind);
            let first = first.map(|(_, line, text)| (self.place_of(line), text.into_owned()));
            all.push(Total { first, ..total("rejected", count, of_lines, kind.explain()) });
        }
        all.extend([
            total("headers", tally.comments, of_lines, "and comments of the format"),
            total("filtered", tally.filtered, of_lines, "left out, as asked for"),
        ]);
        let other = if self.has_requests() {
            all.extend([
                total("requests", tally.records, None, ""),
                total("URLs", self.counts.urls, of_records, "different, byte for byte"),
                total("pages", tally.unique, of_records, "different, by the profile"),
                total("duplicate", tally.duplicate, of_records, "of a page seen before"),
            ]);
            "asked for a page by another spelling than its first"
        } else {
            all.extend([
                total("unique", tally.unique, of_records, ""),
                total("duplicate", tally.duplicate, of_records, ""),
            ]);
            "spell their page another way"
        };
        all.extend([
            total("other sp.", self.counts.astray, of_records, other),
            total("no scheme", tally.scheme_added, of_records, "were given one"),
        ]);
        for (kind, count) in tally.unparsed.seen() {
            all.push(total("unparsed", count, of_records, kind.explain()));
        }
        // What every report says, be it nothing.
        let is_basic =
            |name| ["lines", "requests", "URLs", "pages", "unique", "duplicate"].contains(&name);
        all.retain(|one| one.count > 0 || is_basic(one.name));
        all
    }
}
