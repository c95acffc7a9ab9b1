//! The report on duplicates: totals, rules, hosts, clusters; as tables for people and as JSON.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use super::Tally;
use crate::bytes::show;
use crate::canonical::Profile;

/// Everything a report says.
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
    /// Hosts with the most duplicates, most first.
    pub hosts: Vec<HostRow>,
    /// How many hosts there are in all.
    pub hosts_total: u64,
    /// The largest clusters, largest first.
    pub clusters: Vec<ClusterRow>,
}

/// One input.
#[derive(Clone, Debug, Serialize)]
pub struct InputRow {
    /// As the user named it.
    pub path: String,
    /// Name of the format.
    pub format: String,
    /// Name of the compression.
    pub compression: String,
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Bytes after decompression.
    pub bytes: u64,
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
    /// Records that merge here, those first that the step changed.
    pub examples: Vec<Example>,
    /// How many records were looked at for examples.
    pub looks: u32,
}

/// A rule of a rule file.
#[derive(Clone, Debug)]
pub struct SiteRuleRow {
    /// Its number in the file, from 1.
    pub rule: usize,
    /// The rule in one line.
    pub title: String,
    /// Records that it changed.
    pub changed: u64,
    /// Those among them that merge with an earlier one by rules of sites, and not before.
    pub merged: u64,
}

/// A record that merges at a step.
#[derive(Clone, Debug)]
pub struct Example {
    /// The number of its line, from 1.
    pub line: u64,
    /// Its form before the step.
    pub before: Vec<u8>,
    /// Its form after the step; an earlier record has the same.
    pub after: Vec<u8>,
}

/// One host.
#[derive(Clone, Debug)]
pub struct HostRow {
    /// The host in canonical form; empty for URLs without one.
    pub host: Vec<u8>,
    /// Records on it.
    pub records: u64,
    /// Those among them that are duplicates.
    pub duplicate: u64,
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

impl Survey {
    /// The report as JSON. Text that is not UTF-8 is shown with replacement characters.
    pub fn to_json(&self) -> Value {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let tally = &self.tally;
        let rules: Vec<Value> = self
            .levels
            .iter()
            .map(|level| {
                let examples: Vec<Value> = level
                    .examples
                    .iter()
                    .map(|one| {
                        json!({
                            "line": one.line,
                            "before": text(&one.before),
                            "after": text(&one.after),
                        })
                    })
                    .collect();
                json!({
                    "rule": level.name,
                    "merged": level.merged,
                    "changed": level.changed,
                    "examples": examples,
                })
            })
            .collect();
        let site_rules: Vec<Value> = self
            .site_rules
            .iter()
            .map(|row| {
                json!({
                    "rule": row.rule,
                    "title": row.title,
                    "changed": row.changed,
                    "merged": row.merged,
                })
            })
            .collect();
        let hosts: Vec<Value> = self
            .hosts
            .iter()
            .map(|row| {
                json!({
                    "host": text(&row.host),
                    "records": row.records,
                    "unique": row.records - row.duplicate,
                    "duplicate": row.duplicate,
                    "ratio": ratio(row.duplicate, row.records),
                })
            })
            .collect();
        let clusters: Vec<Value> = self
            .clusters
            .iter()
            .map(|row| {
                let spellings: Vec<Value> = row
                    .spellings
                    .iter()
                    .map(|(url, count)| json!({ "url": text(url), "lines": count }))
                    .collect();
                json!({
                    "canonical": text(&row.canonical),
                    "lines": row.lines,
                    "spellings_total": row.spellings_total,
                    "spellings": spellings,
                })
            })
            .collect();
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
                "hosts": self.hosts_total,
            },
            "rejected_by_kind": tally.rejected,
            "unparsed_by_kind": tally.unparsed,
            "input": self.input,
            "rules": rules,
            "site_rules": site_rules,
            "hosts": hosts,
            "clusters": clusters,
        })
    }

    /// The report as tables.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write_totals(&mut out);
        self.write_rules(&mut out);
        self.write_site_rules(&mut out);
        self.write_hosts(&mut out);
        self.write_clusters(&mut out);
        out
    }

    fn write_totals(&self, out: &mut String) {
        let tally = &self.tally;
        let files = match self.input.as_slice() {
            [only] if only.path == "-" => "standard input".to_string(),
            [only] => show(only.path.as_bytes()).to_string(),
            more => format!("{} files", more.len()),
        };
        let _ = writeln!(out, "Duplicates in {files}, by profile {}\n", self.profile.title());
        let mut row = |name: &str, count: u64, share: Option<u64>, note: &str| {
            let share = share.map_or(String::new(), |of| percent(count, of));
            let line = format!("  {name:<12}{:>14}  {share:>7}  {note}", number(count));
            out.push_str(line.trim_end());
            out.push('\n');
        };
        row("lines", tally.lines, None, "");
        if tally.empty > 0 {
            row("empty", tally.empty, Some(tally.lines), "nothing but blanks");
        }
        for (kind, count) in tally.rejected.seen() {
            row("rejected", count, Some(tally.lines), kind.explain());
        }
        row("unique", tally.unique, Some(tally.records), "");
        row("duplicate", tally.duplicate, Some(tally.records), "");
        if tally.scheme_added > 0 {
            row("no scheme", tally.scheme_added, Some(tally.records), "were given one");
        }
        for (kind, count) in tally.unparsed.seen() {
            row("unparsed", count, Some(tally.records), kind.explain());
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
            let _ = writeln!(out, "  {:<18}{:>15}  {share:>7}", level.name, number(level.merged));
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
        if self.site_rules.is_empty() {
            return;
        }
        out.push_str(
            "\nRules of sites: lines that each changed, and duplicates among them that no other rule finds\n\n  \
             \x20   changed   duplicates  rule\n",
        );
        for row in &self.site_rules {
            let _ = writeln!(
                out,
                "{:>13} {:>12}  {:>4}  {}",
                number(row.changed),
                number(row.merged),
                row.rule,
                short(row.title.as_bytes())
            );
        }
    }

    fn write_hosts(&self, out: &mut String) {
        let hosts: Vec<&HostRow> = self.hosts.iter().filter(|row| row.duplicate > 0).collect();
        if hosts.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "\nHosts with the most duplicates, of {}\n\n  duplicates        lines    ratio  host",
            number(self.hosts_total)
        );
        for row in hosts {
            let share = percent(row.duplicate, row.records);
            let host = if row.host.is_empty() { "(none)".to_string() } else { short(&row.host) };
            let _ = writeln!(
                out,
                "{:>12} {:>12}  {share:>7}  {host}",
                number(row.duplicate),
                number(row.records)
            );
        }
    }

    fn write_clusters(&self, out: &mut String) {
        if self.clusters.is_empty() {
            return;
        }
        out.push_str("\nLargest clusters\n\n       lines  spelling\n");
        for row in &self.clusters {
            let _ = writeln!(out, "{:>12}  {}", number(row.lines), short(&row.canonical));
            if let [(only, _)] = row.spellings.as_slice()
                && *only == row.canonical
            {
                continue;
            }
            for (url, count) in &row.spellings {
                let _ = writeln!(out, "{:>12}    {}", number(*count), short(url));
            }
            let more = row.spellings_total.saturating_sub(row.spellings.len() as u64);
            if more > 0 {
                let _ = writeln!(out, "{:>12}    and {} more spellings", "", number(more));
            }
        }
    }
}

/// `count` with commas between the thousands.
pub fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * ratio(part, whole))
}

/// A URL for a table: safe for a terminal, and cut in the middle if it is long.
fn short(url: &[u8]) -> String {
    const CHARACTERS: usize = 110;
    let text: Vec<char> = show(&url[..url.len().min(4096)]).to_string().chars().collect();
    if text.len() <= CHARACTERS {
        return text.into_iter().collect();
    }
    let (head, tail) = (CHARACTERS * 2 / 3, CHARACTERS / 3 - 1);
    text[..head].iter().chain(&['…']).chain(&text[text.len() - tail..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (given, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")] {
            assert_eq!(number(given), expected);
        }
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
    }
}
