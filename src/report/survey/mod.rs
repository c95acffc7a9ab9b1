//! The report on duplicates: totals, rules, hosts, clusters; as tables for people and as JSON.

mod breakdown;
pub(super) mod totals;

pub use breakdown::{Breakdown, BreakdownRow, Counts, Facet};

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use super::rows::cells::readable;
use super::rows::tables::REPORT;
use super::{Cell, Output, Provenance, RowWriter, Shape, Tally};
use crate::bytes::decimal::{count_of, with_commas};
use crate::bytes::show;
use crate::canonical::Profile;
use crate::error::Result;
use totals::{HOSTLESS, Total};

/// The content of a report.
#[derive(Debug)]
pub struct Survey {
    /// The profile in force.
    pub profile: Profile,
    /// The counts.
    pub tally: Tally,
    /// The files that were read.
    pub input: Vec<InputRow>,
    /// The waterfall: identical lines first, then parsing, then every rule in the order of
    /// application. `merged` sums up to `tally.duplicate`.
    pub levels: Vec<LevelRow>,
    /// Rules of single sites that changed something, by the number of records, most first.
    pub site_rules: Vec<SiteRuleRow>,
    /// The rules of sites that are in force and changed nothing, by number from 1, in order.
    pub idle_site_rules: Vec<usize>,
    /// The counts by host, section and so on.
    pub breakdowns: Vec<Breakdown>,
    /// Records, different URLs, different pages.
    pub counts: Counts,
    /// The largest clusters, largest first.
    pub clusters: Vec<ClusterRow>,
}

/// How many of the rules that changed nothing are named. Reason: a rule file may be for many more
/// sites than occur in the input.
const IDLE_SHOWN: usize = 10;

/// One input.
#[derive(Clone, Debug, Serialize)]
pub struct InputRow {
    /// The path as the user named it.
    pub path: String,
    /// The name of the format.
    pub format: String,
    /// The name of the compression.
    pub compression: String,
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
}

/// One step of the waterfall.
#[derive(Clone, Debug, Default)]
pub struct LevelRow {
    /// `identical`, `parse`, or the rule's name.
    pub name: String,
    /// Records that merge with an earlier one here, and not before.
    pub merged: u64,
    /// Records that the step changed, merged or not.
    pub changed: u64,
    /// Records that merge here, or that the step changed to one that does; those first that it
    /// changed.
    pub examples: Vec<Example>,
}

impl LevelRow {
    fn to_json(&self) -> Value {
        json!({
            "rule": self.name,
            "merged": self.merged,
            "changed": self.changed,
            "examples": self.examples.iter().map(Example::to_json).collect::<Vec<_>>(),
        })
    }
}

/// A rule of a rule file.
#[derive(Clone, Debug)]
pub struct SiteRuleRow {
    /// The number of the rule in the file, from 1.
    pub rule: usize,
    /// The rule in one line.
    pub title: String,
    /// Records that it changed.
    pub changed: u64,
    /// Records that it changed and that merge with an earlier one only by rules of sites.
    pub merged: u64,
}

impl SiteRuleRow {
    fn to_json(&self) -> Value {
        json!({
            "rule": self.rule,
            "title": self.title,
            "changed": self.changed,
            "merged": self.merged,
        })
    }
}

/// A record that merges at a step, or that the step changed to a form that merges there.
#[derive(Clone, Debug)]
pub struct Example {
    /// The number of its line, from 1.
    pub line: u64,
    /// Its form before the step.
    pub before: Vec<u8>,
    /// Its form after the step; another record has the same.
    pub after: Vec<u8>,
}

impl Example {
    fn to_json(&self) -> Value {
        json!({
            "line": self.line,
            "before": readable(&self.before),
            "after": readable(&self.after),
        })
    }
}

/// One cluster.
#[derive(Clone, Debug)]
pub struct ClusterRow {
    /// The canonical form.
    pub canonical: Vec<u8>,
    /// Lines in it.
    pub lines: u64,
    /// The first spellings, with how often each was seen.
    pub spellings: Vec<(Vec<u8>, u64)>,
    /// How many spellings there are.
    pub spellings_total: u64,
}

impl ClusterRow {
    fn to_json(&self) -> Value {
        let spelling =
            |(url, lines): &(Vec<u8>, u64)| json!({ "url": readable(url), "lines": lines });
        json!({
            "canonical": readable(&self.canonical),
            "lines": self.lines,
            "spellings_total": self.spellings_total,
            "spellings": self.spellings.iter().map(spelling).collect::<Vec<_>>(),
        })
    }
}

impl Survey {
    /// The report as JSON, as `data/schema/report.schema.json` describes it. Bytes that are not
    /// UTF-8 are percent-escaped.
    pub fn to_json(&self) -> Value {
        let tally = &self.tally;
        json!({
            "undust": env!("CARGO_PKG_VERSION"),
            "profile": {
                "name": self.profile.title(),
                "digest": self.profile.digest(),
                "rules": self.profile.rules.iter().map(|rule| rule.name()).collect::<Vec<_>>(),
            },
            "totals": {
                "lines": tally.lines,
                "bytes": tally.bytes,
                "records": tally.records,
                "rejected": tally.rejected.total(),
                "empty": tally.empty,
                "unique": tally.unique,
                "duplicate": tally.duplicate,
                "ratio": tally.duplicate_ratio(),
                "unparsed": tally.unparsed.total(),
                "scheme_added": tally.scheme_added,
                "urls": self.counts.urls,
                "respelled": self.counts.astray,
                "comments": tally.comments,
                "filtered": tally.filtered,
            },
            "rejected_by_kind": tally.rejected,
            "first_rejected": tally.first_rejects_json(),
            "unparsed_by_kind": tally.unparsed,
            "input": self.input,
            "rules": self.levels.iter().map(LevelRow::to_json).collect::<Vec<_>>(),
            "site_rules": self.site_rules.iter().map(SiteRuleRow::to_json).collect::<Vec<_>>(),
            "idle_site_rules": self.idle_site_rules,
            "by": self.by(),
            "clusters": self.clusters.iter().map(ClusterRow::to_json).collect::<Vec<_>>(),
        })
    }

    /// Writes the report as rows of the table [`REPORT`]; without examples and without the
    /// spellings of clusters.
    pub fn write_rows(&self, output: &mut Output, shape: Shape) -> Result<()> {
        let made_by = Provenance::of(&self.profile);
        let mut writer = RowWriter::new(output, shape, &REPORT, &made_by)?;
        // The numbers from `of` on; those that are missing at the end are not known.
        let mut row = |part: &str, name: &[u8], count: u64, more: &[Option<u64>]| {
            let mut cells = [Cell::Null; 8];
            cells[0] = Cell::Text(part.as_bytes());
            cells[1] = Cell::Text(name);
            cells[2] = Cell::Number(count);
            for (cell, number) in cells[3..].iter_mut().zip(more) {
                *cell = number.map_or(Cell::Null, Cell::Number);
            }
            writer.row(&cells)
        };
        let tally = &self.tally;
        let (lines, records) = (Some(tally.lines), Some(tally.records));
        for (name, count, of) in [
            ("lines", tally.lines, None),
            ("bytes", tally.bytes, None),
            ("records", tally.records, lines),
            ("rejected", tally.rejected.total(), lines),
            ("empty", tally.empty, lines),
            ("comments", tally.comments, lines),
            ("filtered", tally.filtered, lines),
            ("urls", self.counts.urls, records),
            ("unique", tally.unique, records),
            ("duplicate", tally.duplicate, records),
            ("respelled", self.counts.astray, records),
            ("unparsed", tally.unparsed.total(), records),
            ("scheme_added", tally.scheme_added, records),
        ] {
            row("total", name.as_bytes(), count, &[of])?;
        }
        for (kind, count) in tally.rejected.seen() {
            row("rejected", kind.name().as_bytes(), count, &[lines])?;
        }
        for (kind, count) in tally.unparsed.seen() {
            row("unparsed", kind.name().as_bytes(), count, &[records])?;
        }
        for level in &self.levels {
            let more = [Some(tally.duplicate), Some(level.changed)];
            row("rule", level.name.as_bytes(), level.merged, &more)?;
        }
        for rule in &self.site_rules {
            let more = [Some(tally.duplicate), Some(rule.changed)];
            row("site-rule", rule.title.as_bytes(), rule.merged, &more)?;
        }
        for cluster in &self.clusters {
            row("cluster", &cluster.canonical, cluster.lines, &[records])?;
        }
        for breakdown in &self.breakdowns {
            let part = breakdown.facet.name();
            for BreakdownRow { name, counts } in &breakdown.rows {
                let Counts { records, urls, pages, astray } = *counts;
                let more = [Some(records), None, Some(urls), Some(pages), Some(astray)];
                row(part, name, counts.duplicate(), &more)?;
            }
        }
        writer.finish()
    }

    /// The report as tables.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write_totals(&mut out);
        self.write_rules(&mut out);
        self.write_site_rules(&mut out);
        for breakdown in &self.breakdowns {
            breakdown.write(&mut out, self.has_requests());
        }
        self.write_clusters(&mut out);
        out
    }

    /// The tables by name of their facet.
    fn by(&self) -> Value {
        let tables = self.breakdowns.iter();
        tables.map(|one| (one.facet.name().to_string(), one.to_json())).collect()
    }

    fn write_totals(&self, out: &mut String) {
        let files = self.files_in_words();
        let formats = self.formats_in_words().map_or(String::new(), |it| format!(" ({it})"));
        let profile = self.profile.title();
        let _ = writeln!(out, "Duplicates in {files}{formats}, by profile {profile}");
        if self.tally.hostless > 0 {
            let _ = writeln!(out, "{HOSTLESS}");
        }
        out.push('\n');
        for Total { what, count, of, note, first } in self.totals() {
            let name = what.name();
            let share = of.map_or(String::new(), |of| percent(count, of));
            let line = format!("  {name:<12}{:>14}  {share:>7}  {note}", with_commas(count));
            let _ = writeln!(out, "{}", line.trim_end());
            if let Some((place, text)) = first {
                let _ = writeln!(out, "      {place}: {}", short(&text));
            }
        }
    }

    fn write_rules(&self, out: &mut String) {
        let levels: Vec<&LevelRow> = self.levels.iter().filter(|level| level.merged > 0).collect();
        if levels.is_empty() {
            return;
        }
        out.push_str(
            "\nWhat makes them equal: each duplicate counts once, at the first rule that makes it equal\n\
             to an earlier line\n\n  rule                   duplicates    share\n",
        );
        for level in levels {
            let share = percent(level.merged, self.tally.duplicate);
            let _ =
                writeln!(out, "  {:<18}{:>15}  {share:>7}", level.name, with_commas(level.merged));
            if let Some(example) = level.examples.first() {
                if example.before != example.after {
                    let _ = writeln!(out, "      {}", short(&example.before));
                    let _ = writeln!(out, "   => {}", short(&example.after));
                } else {
                    let _ = writeln!(out, "      {}", short(&example.after));
                }
            }
        }
    }

    fn write_site_rules(&self, out: &mut String) {
        if self.site_rules.is_empty() && self.idle_site_rules.is_empty() {
            return;
        }
        out.push_str(
            "\nRules of sites: lines that each changed, and duplicates among them that no other rule finds\n\n",
        );
        if !self.site_rules.is_empty() {
            out.push_str("      changed   duplicates  rule\n");
        }
        for row in &self.site_rules {
            let _ = writeln!(
                out,
                "{:>13} {:>12}  {:>4}  {}",
                with_commas(row.changed),
                with_commas(row.merged),
                row.rule,
                short(row.title.as_bytes())
            );
        }
        if let Some((count, idle)) = self.idle_in_words() {
            let _ = writeln!(out, "{count:>13} {idle}");
        }
    }

    /// How many rules of sites are idle, if any are, and the first of them.
    pub(super) fn idle_in_words(&self) -> Option<(String, String)> {
        let idle = &self.idle_site_rules;
        let shown: Vec<_> = idle.iter().take(IDLE_SHOWN).map(ToString::to_string).collect();
        let more = if idle.len() > shown.len() { ", …" } else { "" };
        let words = format!("of the rules in force changed nothing: {}{more}", shown.join(", "));
        (!idle.is_empty()).then(|| (with_commas(idle.len() as u64), words))
    }

    fn write_clusters(&self, out: &mut String) {
        if self.clusters.is_empty() {
            return;
        }
        out.push_str("\nLargest clusters\n\n       lines  spelling\n");
        for row in &self.clusters {
            let _ = writeln!(out, "{:>12}  {}", with_commas(row.lines), short(&row.canonical));
            if let [(only, _)] = row.spellings.as_slice()
                && *only == row.canonical
            {
                continue;
            }
            for (url, count) in &row.spellings {
                let _ = writeln!(out, "{:>12}    {}", with_commas(*count), short(url));
            }
            let more = row.spellings_total.saturating_sub(row.spellings.len() as u64);
            if more > 0 {
                let more = count_of(more, "more spelling");
                let _ = writeln!(out, "{:>12}    and {more}", "");
            }
        }
    }
}

pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

pub(super) fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * ratio(part, whole))
}

/// A URL for a table of text: as [`cut`] to 110 characters.
pub(super) fn short(url: &[u8]) -> String {
    cut(url, 110)
}

/// A URL for people: safe to print, and cut in the middle if it has more `characters`.
pub(super) fn cut(url: &[u8], characters: usize) -> String {
    // A character has four bytes at most, so those that are shown are whole.
    let bytes = url.len().min(4 * characters);
    let shown = |part: &[u8]| show(part).to_string().chars().collect::<Vec<char>>();
    let start = shown(&url[..bytes]);
    if bytes == url.len() && start.len() <= characters {
        return start.into_iter().collect();
    }
    let end = shown(&url[url.len() - bytes..]);
    let (head, tail) = (characters * 2 / 3, characters / 3 - 1);
    start[..head].iter().chain(&['…']).chain(&end[end.len() - tail..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(0, 0), "0.0 %");
    }

    #[test]
    fn long_urls_are_cut_in_the_middle() {
        let url = format!("http://a.test/{}/end", "x".repeat(500));
        let cut = short(url.as_bytes());
        assert_eq!(cut.chars().count(), 109);
        assert!(cut.starts_with("http://a.test/x") && cut.ends_with("/end"));
        assert_eq!(short(b"\x1b[0m"), "\\x1b[0m");
        // Whatever its length and bytes: the end is shown.
        for middle in ["x", "\u{1f600}", "\u{e9}", "\0"] {
            for count in 90..130 {
                let url = format!("http://a.test/{}/end", middle.repeat(count));
                let cut = short(url.as_bytes());
                let whole = show(url.as_bytes()).to_string();
                assert_eq!(cut == whole, whole.chars().count() <= 110, "{cut}");
                assert!(cut.chars().count() <= 110);
                assert!(cut.ends_with("/end") && !cut.contains("\\xf0"), "{cut}");
            }
            let url = format!("http://a.test/{}/end", middle.repeat(100_000));
            assert!(short(url.as_bytes()).ends_with("/end"));
        }
        assert!(short(&[b'\xff'; 500]).ends_with("\\xff"));
    }
}
