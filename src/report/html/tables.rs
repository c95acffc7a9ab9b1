//! The tables of the HTML report: rules, rules of sites, hosts and the like, clusters.

use std::fmt::Write as _;

use super::chart::write_chart;
use super::markup::{Escaped, bar, foreign, url, url_beside};
use crate::bytes::decimal::{count_of, plural, with_commas};
use crate::canonical::RuleId;
use crate::report::survey::percent;
use crate::report::{Breakdown, BreakdownRow, ClusterRow, Example, Facet, LevelRow, Survey};

/// A column: its heading, and whether it holds numbers.
struct Column<'a>(&'a str, Kind);

/// What a column holds; the script sorts by texts and by numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    /// Something without an order.
    Plain,
}

/// Begins the table of a section whose rows can be sorted and filtered.
fn begin_rows(out: &mut String, id: &str, is_cards: bool, columns: &[Column]) {
    begin_table(out, id, if is_cards { "rows cards" } else { "rows" });
    out.push_str("<thead><tr>");
    for Column(heading, kind) in columns {
        let class = match kind {
            Kind::Text => "",
            Kind::Number => " class=\"n\"",
            Kind::Plain => " class=\"plain\"",
        };
        let _ = write!(out, "<th scope=\"col\"{class}>{heading}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
}

/// Begins the table of a section. It is named by the heading, and so is the box around it, which
/// keyboards reach to scroll it.
pub(super) fn begin_table(out: &mut String, id: &str, class: &str) {
    let _ = writeln!(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{id}-heading\">\
         <table class=\"{class}\" aria-labelledby=\"{id}-heading\">"
    );
}

pub(super) const ROWS_END: &str = "</tbody></table></div>\n";
const SECTION_END: &str = "</section>\n";

/// A longer table over time is folded. Reason: the chart above it shows most of it.
const PERIODS_SHOWN: usize = 31;

/// Begins a section; `more` follows its heading.
pub(super) fn begin_section(out: &mut String, id: &str, heading: &str, more: &str) {
    let more = match more {
        "" => String::new(),
        more => format!(" <small>{more}</small>"),
    };
    let _ = writeln!(out, "<section id=\"{id}\">\n<h2 id=\"{id}-heading\">{heading}{more}</h2>");
}

/// What a step of the waterfall does, in words.
fn summary_of(step: &str) -> &'static str {
    match step {
        "identical" => "the same URL, byte for byte",
        "parse" => {
            "blanks around it, a missing scheme, backslashes: read away before the first rule"
        }
        rule => RuleId::named(rule).map_or("", |rule| rule.info().summary),
    }
}

impl Survey {
    /// The waterfall. Returns whether there is one.
    pub(super) fn write_rules_html(&self, out: &mut String) -> bool {
        let levels: Vec<&LevelRow> = self.levels.iter().filter(|level| level.merged > 0).collect();
        if levels.is_empty() {
            return false;
        }
        begin_section(out, "rules", "What makes them equal", "");
        out.push_str(
            "<p>Each duplicate counts once, at the first rule that makes it equal to an earlier line. \
             What a rule changes is marked.</p>\n",
        );
        let columns = [
            Column("rule", Kind::Text),
            Column("duplicates", Kind::Number),
            Column("share", Kind::Number),
            Column("changed", Kind::Number),
            Column("examples", Kind::Plain),
        ];
        begin_rows(out, "rules", true, &columns);
        for level in levels {
            let (name, duplicate) = (level.name.as_str(), self.tally.duplicate);
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}<small>{}</small></th><td class=\"n\" data-unit=\"{}\">{}\
                 </td><td class=\"n share\">{}{}</td><td class=\"n\" data-unit=\"changed\">{}</td><td>",
                Escaped(name),
                Escaped(summary_of(name)),
                plural(level.merged, "duplicate"),
                with_commas(level.merged),
                bar(level.merged, duplicate),
                percent(level.merged, duplicate),
                with_commas(level.changed),
            );
            self.write_examples(out, &level.examples);
            out.push_str("</td></tr>\n");
        }
        out.push_str(ROWS_END);
        let idle = |level: &&LevelRow| level.merged == 0 && level.changed > 0;
        let idle: Vec<String> = self.levels.iter().filter(idle).map(changed_in_words).collect();
        if !idle.is_empty() {
            let _ = writeln!(
                out,
                "<p>Changed lines, but made none equal to an earlier one: {}.</p>",
                idle.join(", ")
            );
        }
        out.push_str(SECTION_END);
        true
    }

    /// The first example; the others are folded.
    fn write_examples(&self, out: &mut String, examples: &[Example]) {
        let Some((first, more)) = examples.split_first() else { return };
        self.write_example(out, first);
        if more.is_empty() {
            return;
        }
        let _ = write!(out, "<details><summary>{} more</summary>", more.len());
        more.iter().for_each(|example| self.write_example(out, example));
        out.push_str("</details>");
    }

    fn write_example(&self, out: &mut String, example: &Example) {
        let Example { line, before, after } = example;
        let place = Escaped(&self.place_of(*line)).to_string();
        let _ = if before == after {
            write!(out, "<div class=\"pair\">{} <small>{place}</small></div>", url(after))
        } else {
            write!(
                out,
                "<div class=\"pair\">{} <small>{place}</small><br><span class=\"to\">→&#160;</span>{}</div>",
                url_beside(before, after),
                url_beside(after, before),
            )
        };
    }

    /// What the rules of a rule file did. Returns whether there are any.
    pub(super) fn write_site_rules_html(&self, out: &mut String) -> bool {
        if self.site_rules.is_empty() && self.idle_site_rules.is_empty() {
            return false;
        }
        begin_section(out, "site-rules", "Rules of sites", "");
        out.push_str(
            "<p>Lines that each rule changed, and duplicates among them that no other rule finds.</p>\n",
        );
        if !self.site_rules.is_empty() {
            let columns = [
                Column("no.", Kind::Number),
                Column("rule", Kind::Text),
                Column("changed", Kind::Number),
                Column("duplicates", Kind::Number),
            ];
            begin_rows(out, "site-rules", false, &columns);
            for row in &self.site_rules {
                let _ = writeln!(
                    out,
                    "<tr><td class=\"n\">{}</td><th scope=\"row\" class=\"u\">{}</th>\
                     <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
                    row.rule,
                    foreign(row.title.as_bytes()),
                    with_commas(row.changed),
                    with_commas(row.merged),
                );
            }
            out.push_str(ROWS_END);
        }
        if let Some((count, idle)) = self.idle_in_words() {
            let _ = writeln!(out, "<p>{count} {idle}</p>");
        }
        out.push_str(SECTION_END);
        true
    }

    /// The largest clusters. Returns whether there are any.
    pub(super) fn write_clusters_html(&self, out: &mut String) -> bool {
        if self.clusters.is_empty() {
            return false;
        }
        begin_section(out, "clusters", "Largest clusters", "");
        out.push_str(
            "<p>A cluster is all lines of one page: its canonical form, then the most common spellings \
             with their lines.</p>\n",
        );
        let columns = [
            Column("lines", Kind::Number),
            Column("spellings", Kind::Number),
            Column("page", Kind::Text),
        ];
        begin_rows(out, "clusters", true, &columns);
        for row in &self.clusters {
            let _ = write!(
                out,
                "<tr><td class=\"n\" data-unit=\"{}\">{}</td>\
                 <td class=\"n\" data-unit=\"{}\">{}</td><td>{}",
                plural(row.lines, "line"),
                with_commas(row.lines),
                plural(row.spellings_total, "spelling"),
                with_commas(row.spellings_total),
                url(&row.canonical)
            );
            write_spellings(out, row);
            out.push_str("</td></tr>\n");
        }
        out.push_str(ROWS_END);
        out.push_str(SECTION_END);
        true
    }
}

fn changed_in_words(level: &LevelRow) -> String {
    format!("{} ({})", Escaped(&level.name), with_commas(level.changed))
}

fn write_spellings(out: &mut String, row: &ClusterRow) {
    if let [(only, _)] = row.spellings.as_slice()
        && *only == row.canonical
    {
        return;
    }
    out.push_str("<ul>");
    for (spelling, count) in &row.spellings {
        let spelling = url_beside(spelling, &row.canonical);
        let _ = write!(out, "<li><span class=\"n\">{}</span> {spelling}</li>", with_commas(*count));
    }
    let more = row.spellings_total.saturating_sub(row.spellings.len() as u64);
    if more > 0 {
        let more = count_of(more, "more spelling");
        let _ = write!(out, "<li><span></span> and {more}</li>");
    }
    out.push_str("</ul>");
}

/// Writes a table of hosts, sections and so on; over time with a chart. Returns whether it is
/// informative, and was written.
pub(super) fn write_breakdown_html(
    out: &mut String,
    breakdown: &Breakdown,
    requests: bool,
) -> bool {
    let rows = breakdown.informative_rows(requests);
    if rows.is_empty() {
        return false;
    }
    let facet = breakdown.facet;
    let of = match facet.has_top() {
        true => format!("{} of {}", with_commas(rows.len() as u64), with_commas(breakdown.names)),
        false => String::new(),
    };
    begin_section(out, facet.name(), &facet.title(requests), &of);
    let record = if requests { "request" } else { "line" };
    if facet == Facet::Time {
        write_chart(out, &breakdown.rows, record);
    }
    let is_folded = facet == Facet::Time && rows.len() > PERIODS_SHOWN;
    if is_folded {
        let count = count_of(rows.len() as u64, "row");
        let _ = writeln!(out, "<details><summary>Table of {count}</summary>");
    }
    begin_rows(out, facet.name(), false, &breakdown_columns(facet, requests));
    rows.into_iter().for_each(|row| write_breakdown_row(out, facet, row, requests));
    out.push_str(ROWS_END);
    out.push_str(if is_folded { "</details>\n" } else { "" });
    out.push_str(SECTION_END);
    true
}

/// Returns the columns of a breakdown: the names, counts, redundant URLs or duplicates, other
/// spellings.
fn breakdown_columns(facet: Facet, requests: bool) -> [Column<'static>; 8] {
    let is_of_url = facet.is_of_url();
    // Sighted readers see which column precedes a share; for screen readers it is named.
    let (records, spare, spare_share, spelling_share) = match requests {
        true => (
            "requests",
            "redundant URLs",
            "<span class=\"heard\">redundant URLs, </span>of URLs",
            "<span class=\"heard\">respelled, </span>of requests",
        ),
        false => (
            "lines",
            "duplicates",
            "<span class=\"heard\">duplicates, </span>of lines",
            "<span class=\"heard\">respelled, </span>of lines",
        ),
    };
    [
        Column(facet.name(), Kind::Text),
        Column(records, Kind::Number),
        Column(if is_of_url { "URLs" } else { "new URLs" }, Kind::Number),
        Column(if is_of_url { "pages" } else { "new pages" }, Kind::Number),
        Column(spare, Kind::Number),
        Column(spare_share, Kind::Number),
        Column("respelled", Kind::Number),
        Column(spelling_share, Kind::Number),
    ]
}

/// Writes a row with the cells of [`breakdown_columns`].
fn write_breakdown_row(out: &mut String, facet: Facet, row: &BreakdownRow, requests: bool) {
    let BreakdownRow { name, counts } = row;
    let name = match name.as_slice() {
        b"" => format!("<i>{}</i>", facet.nameless()),
        name => foreign(name),
    };
    let (spare, of) = match requests {
        true => (counts.urls - counts.pages, counts.urls),
        false => (counts.duplicate(), counts.records),
    };
    let _ = write!(out, "<tr><th scope=\"row\" class=\"u\">{name}</th>");
    for count in [counts.records, counts.urls, counts.pages, spare] {
        let _ = write!(out, "<td class=\"n\">{}</td>", with_commas(count));
    }
    let _ = writeln!(
        out,
        "<td class=\"n share\">{}{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
        bar(spare, of),
        percent(spare, of),
        with_commas(counts.astray),
        percent(counts.astray, counts.records),
    );
}
