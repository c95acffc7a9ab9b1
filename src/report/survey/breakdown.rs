//! The counts of a report by host, section, parameter, status, time and agent.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{percent, ratio, short};
use crate::bytes::decimal::with_commas;
use crate::report::rows::cells::readable;

/// A property by which a report groups records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Facet {
    /// The host in canonical form.
    Host,
    /// Host and first segment of the path.
    Section,
    /// The name of a parameter. A record counts for each of its parameters.
    Parameter,
    /// The class of the status, `2xx`; in crawl logs, a status that HTTP does not have is a row of
    /// its own: `-5003`. A text that is not a status has no row.
    Status,
    /// The hour, day, month, year or century (`20xx`), in UTC.
    Time,
    /// The family of the user agent.
    Agent,
}

impl Facet {
    /// All of them, in the order of the report.
    pub const ALL: [Facet; 6] =
        [Facet::Host, Facet::Section, Facet::Parameter, Facet::Status, Facet::Time, Facet::Agent];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Facet::Host => "host",
            Facet::Section => "section",
            Facet::Parameter => "parameter",
            Facet::Status => "status",
            Facet::Time => "time",
            Facet::Agent => "agent",
        }
    }

    /// Does the URL alone decide the row? If not, a URL counts where it is seen first.
    pub(crate) fn is_of_url(self) -> bool {
        matches!(self, Facet::Host | Facet::Section | Facet::Parameter)
    }

    /// What the rows are, in one word.
    pub(crate) fn rows_name(self) -> &'static str {
        match self {
            Facet::Host => "Hosts",
            Facet::Section => "Sections",
            Facet::Parameter => "Parameters",
            Facet::Status => "Status",
            Facet::Time => "Time",
            Facet::Agent => "Agents",
        }
    }

    pub(crate) fn title(self, requests: bool) -> String {
        match self {
            Facet::Status => return "By status".to_string(),
            Facet::Time => return "Over time, in UTC".to_string(),
            _ => {}
        }
        let most = if requests { "requests for other spellings" } else { "duplicates" };
        format!("{} with the most {most}", self.rows_name())
    }

    /// Has the table the first rows only, if there are many?
    pub(crate) fn has_top(self) -> bool {
        !matches!(self, Facet::Status | Facet::Time)
    }

    pub(crate) fn nameless(self) -> &'static str {
        match self {
            Facet::Parameter => "(no parameter)",
            _ => "(none)",
        }
    }
}

/// What is counted of a set of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records: lines, or requests.
    pub records: u64,
    /// Records whose URL was not seen before, byte for byte.
    pub urls: u64,
    /// Records whose page was not seen before.
    pub pages: u64,
    /// Records whose URL is another spelling than the first of its page.
    pub astray: u64,
}

impl Counts {
    /// Adds all of `other`.
    pub fn add(&mut self, other: &Counts) {
        let Counts { records, urls, pages, astray } = other;
        self.records += records;
        self.urls += urls;
        self.pages += pages;
        self.astray += astray;
    }

    /// Records whose page was seen before.
    pub fn duplicate(&self) -> u64 {
        self.records - self.pages
    }
}

/// One table.
#[derive(Clone, Debug)]
pub struct Breakdown {
    /// What the rows are.
    pub facet: Facet,
    /// How many names there are.
    pub names: u64,
    /// The first of them.
    pub rows: Vec<BreakdownRow>,
}

/// One row.
#[derive(Clone, Debug)]
pub struct BreakdownRow {
    /// The host, section, ...
    pub name: Vec<u8>,
    /// The counts.
    pub counts: Counts,
}

impl Breakdown {
    pub(super) fn to_json(&self) -> Value {
        let row = |BreakdownRow { name, counts }: &BreakdownRow| {
            json!({
                "name": readable(name),
                "records": counts.records,
                "urls": counts.urls,
                "unique": counts.pages,
                "duplicate": counts.duplicate(),
                "respelled": counts.astray,
                "ratio": ratio(counts.duplicate(), counts.records),
            })
        };
        let rows: Vec<Value> = self.rows.iter().map(row).collect();
        json!({ "names": self.names, "rows": rows })
    }

    /// The rows for people; none if the table is not informative: one of a single name, unless the
    /// records are `requests`. Over time, all rows are shown if any is informative, to show the
    /// course.
    pub(crate) fn informative_rows(&self, requests: bool) -> Vec<&BreakdownRow> {
        let any =
            self.facet == Facet::Time && self.rows.iter().any(|row| row.counts.duplicate() > 0);
        let says = |counts: &Counts| requests || any || counts.duplicate() > 0;
        let rows: Vec<&BreakdownRow> = self.rows.iter().filter(|row| says(&row.counts)).collect();
        let is_trivial = match self.facet {
            Facet::Host => rows.is_empty(),
            Facet::Parameter => rows.iter().all(|row| row.name.is_empty()),
            _ => rows.is_empty() || self.names < 2,
        };
        if is_trivial { Vec::new() } else { rows }
    }

    /// Writes the table, if it is informative.
    pub(super) fn write(&self, out: &mut String, requests: bool) {
        let rows = self.informative_rows(requests);
        if rows.is_empty() {
            return;
        }
        let of = match self.facet.has_top() {
            true => format!(", of {}", with_commas(self.names)),
            false => String::new(),
        };
        let _ = writeln!(
            out,
            "\n{}{of}\n\n  {:>10} {:>11} {:>11} {:>10} {:>10}  {}",
            self.facet.title(requests),
            if requests { "requests" } else { "lines" },
            if self.facet.is_of_url() { "URLs" } else { "new URLs" },
            if self.facet.is_of_url() { "pages" } else { "new pages" },
            if requests { "redundant" } else { "duplicate" },
            "respelled",
            self.facet.name()
        );
        for BreakdownRow { name, counts } in rows {
            let is_nameless = name.is_empty();
            let name = if is_nameless { self.facet.nameless().to_string() } else { short(name) };
            let share = if requests {
                percent(counts.urls - counts.pages, counts.urls)
            } else {
                percent(counts.duplicate(), counts.records)
            };
            let _ = writeln!(
                out,
                "{:>12} {:>11} {:>11} {share:>10} {:>10}  {name}",
                with_commas(counts.records),
                with_commas(counts.urls),
                with_commas(counts.pages),
                percent(counts.astray, counts.records),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_time_nothing_is_left_out() {
        let row = |name: &str, records| BreakdownRow {
            name: name.into(),
            counts: Counts { records, urls: 1, pages: 1, astray: 0 },
        };
        let rows = vec![row("2026-11-21", 1), row("2026-11-22", 2), row("2026-11-23", 1)];
        for (facet, expected) in [(Facet::Time, 3), (Facet::Host, 1), (Facet::Agent, 1)] {
            let breakdown = Breakdown { facet, names: 3, rows: rows.clone() };
            assert_eq!(breakdown.informative_rows(false).len(), expected);
            assert_eq!(breakdown.informative_rows(true).len(), 3);
        }
        let breakdown = Breakdown { facet: Facet::Time, names: 3, rows: vec![row("2026", 1); 3] };
        assert!(breakdown.informative_rows(false).is_empty());
    }
}
