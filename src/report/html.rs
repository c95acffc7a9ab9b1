//! The report as one self-contained HTML page: no network, no other file, readable without scripts.
//!
//! The page may be sent by mail, and its URLs are untrusted. So all text goes through [`markup`],
//! and a content security policy allows nothing but the style and the script of the page, by their
//! hashes.

mod chart;
mod markup;
mod tables;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::Path;

use super::survey::percent;
use super::survey::totals::{HOSTLESS, Total};
use super::{Facet, InputRow, Survey};
use crate::bytes::decimal::with_commas;
use crate::bytes::show_input;
use markup::{Escaped, foreign};
use tables::{ROWS_END, begin_section, begin_table, write_breakdown_html};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Hashes of [`STYLE`] and [`SCRIPT`] as a policy names them; a test has the true ones.
const STYLE_HASH: &str = "sha256-V5kqCgph4enV3ZlJAUCc+V/HDZ2oYNIHK7wcNwHIJcw=";
const SCRIPT_HASH: &str = "sha256-C0q/1qNzqWEe+nRNNulHFbC42PZQslLW6xaw4yh86o0=";

/// A longer list of files is folded. Reason: the numbers are what the page is for.
const FILES_SHOWN: usize = 8;

/// A part of the page: its id and its name.
type Part = (&'static str, &'static str);

impl Survey {
    /// The report as a page: the same bytes for the same input, rules and `top`.
    pub fn to_html(&self) -> String {
        let mut body = String::new();
        let mut parts: Vec<Part> = vec![("totals", "Totals")];
        let mut part = |is_there: bool, id, name| {
            if is_there {
                parts.push((id, name));
            }
        };
        self.write_totals_html(&mut body);
        part(self.write_rules_html(&mut body), "rules", "Rules");
        part(self.write_site_rules_html(&mut body), "site-rules", "Rules of sites");
        for breakdown in &self.breakdowns {
            let is_there = write_breakdown_html(&mut body, breakdown, self.has_requests());
            part(is_there, breakdown.facet.name(), breakdown.facet.rows_name());
        }
        part(self.write_clusters_html(&mut body), "clusters", "Clusters");
        self.write_terms(&mut body, &parts);

        let mut out = String::new();
        self.write_head(&mut out);
        self.write_header(&mut out);
        write_nav(&mut out, &parts);
        out.push_str("<main>\n");
        out.push_str(&body);
        out.push_str("</main>\n");
        self.write_footer(&mut out);
        let _ = writeln!(out, "<script>{SCRIPT}</script>\n</body>\n</html>");
        out
    }

    fn write_head(&self, out: &mut String) {
        let title = Escaped(&self.files_in_words()).to_string();
        let _ = writeln!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src '{STYLE_HASH}'; script-src '{SCRIPT_HASH}'; base-uri 'none'; \
             form-action 'none'\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"robots\" content=\"noindex\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"generator\" content=\"undust {}\">\n\
             <title>Duplicates in {title}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
            env!("CARGO_PKG_VERSION"),
        );
    }

    /// What was read, and by which rules.
    fn write_header(&self, out: &mut String) {
        let files = Escaped(&self.files_in_words()).to_string();
        let _ = writeln!(
            out,
            "<header>\n<h1>Duplicates in <span class=\"u\">{files}</span></h1>\n<dl>\n\
             <div><dt>profile</dt><dd>{}</dd></div>\n<div><dt>digest of the rules</dt><dd>{}</dd></div>\n\
             <div><dt>undust</dt><dd>{}</dd></div>\n</dl>",
            foreign(self.profile.title().as_bytes()),
            self.profile.digest(),
            env!("CARGO_PKG_VERSION"),
        );
        if self.tally.hostless > 0 {
            let _ = writeln!(out, "<p class=\"doubt\">{HOSTLESS}</p>");
        }
        let is_long = self.input.len() > FILES_SHOWN;
        if is_long {
            let count = with_commas(self.input.len() as u64);
            let _ = writeln!(out, "<details><summary>The {count} files</summary>");
        }
        if !self.input.is_empty() {
            out.push_str(
                "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Files\">\
                 <table id=\"input\" aria-label=\"Files\">\n<thead><tr><th scope=\"col\">file</th>\
                 <th scope=\"col\">format</th><th scope=\"col\">compression</th>\
                 <th scope=\"col\" class=\"n\">lines</th><th scope=\"col\" class=\"n\">bytes</th>\
                 <th scope=\"col\" class=\"n\">on disk</th></tr></thead>\n<tbody>\n",
            );
            self.input.iter().for_each(|row| write_input(out, row));
            out.push_str(ROWS_END);
        }
        out.push_str(if is_long { "</details>\n</header>\n" } else { "</header>\n" });
    }

    fn write_totals_html(&self, out: &mut String) {
        begin_section(out, "totals", "Totals", "");
        self.write_tiles(out);
        self.write_composition(out);
        begin_table(out, "totals", "totals");
        out.push_str("<tbody>\n");
        for Total { what, count, of, note, first } in self.totals() {
            let share = of.map_or(String::new(), |of| percent(count, of));
            let first = first.map_or(String::new(), |(place, text)| {
                let text = foreign(&text);
                format!("<div>{}: <span class=\"u\">{text}</span></div>", Escaped(&place))
            });
            let _ = writeln!(
                out,
                "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{share}</td>\
                 <td>{}{first}</td></tr>",
                what.name(),
                with_commas(count),
                Escaped(note)
            );
        }
        let _ = writeln!(out, "{ROWS_END}</section>");
    }

    /// The most important numbers: records, and parts of them.
    fn write_tiles(&self, out: &mut String) {
        let tally = &self.tally;
        let (records, other) = (tally.records, self.counts.astray);
        let mut tiles = match self.has_requests() {
            true => {
                vec![("requests", records), ("URLs", self.counts.urls), ("pages", tally.unique)]
            }
            false => vec![("URLs read", records), ("unique pages", tally.unique)],
        };
        tiles.extend([("duplicates", tally.duplicate), ("in another spelling", other)]);
        out.push_str("<ul class=\"tiles\">\n");
        for (at, (name, count)) in tiles.into_iter().enumerate() {
            let share = if at == 0 { String::new() } else { percent(count, records) };
            let _ = writeln!(
                out,
                "<li><b>{}</b> <span>{name}</span> <small>{share}</small></li>",
                with_commas(count)
            );
        }
        out.push_str("</ul>\n");
    }

    /// One bar for all records: pages, identical duplicates, other duplicates.
    fn write_composition(&self, out: &mut String) {
        let tally = &self.tally;
        if tally.records == 0 {
            return;
        }
        let identical = self.levels.iter().find(|level| level.name == "identical");
        let identical = identical.map_or(0, |level| level.merged);
        let parts = [
            ("unique", "first of their page", tally.unique),
            ("same", "identical to an earlier one", identical),
            ("other", "equal to an earlier one by a rule", tally.duplicate - identical),
        ];
        out.push_str(
            "<figure class=\"parts\">\n<svg viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" \
             aria-hidden=\"true\">",
        );
        let share = |count: u64| 100.0 * count as f64 / tally.records as f64;
        let mut start = 0;
        for (class, _, count) in parts {
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{:.2}\" width=\"{:.2}\" height=\"1\"/>",
                share(start),
                share(count)
            );
            start += count;
        }
        out.push_str("</svg>\n<figcaption>");
        for (class, name, count) in parts {
            let _ = write!(
                out,
                "<span class=\"key {class}\">{name}: {} ({})</span> ",
                with_commas(count),
                percent(count, tally.records)
            );
        }
        out.push_str("</figcaption>\n</figure>\n");
    }

    /// The words that a reader needs who does not know undust, of the parts that are there.
    fn write_terms(&self, out: &mut String, parts: &[Part]) {
        let has = |facet: &Facet| parts.iter().any(|(id, _)| *id == facet.name());
        let record = if self.has_requests() { "request" } else { "line" };
        begin_section(out, "terms", "Terms", "");
        let _ = write!(
            out,
            "<dl>\n\
             <div><dt>page</dt><dd>All URLs that are equal by the profile. Nothing was fetched.</dd></div>\n\
             <div><dt>duplicate</dt><dd>A {record} whose page was there before.</dd></div>\n\
             <div><dt>respelled</dt><dd>A {record} that spells its page another way than the \
             first one of that page.</dd></div>\n"
        );
        if has(&Facet::Section) {
            out.push_str(
                "<div><dt>section</dt><dd>Host and first segment of the path.</dd></div>\n",
            );
        }
        if self.has_requests() {
            out.push_str(
                "<div><dt>redundant URLs</dt><dd>URLs that are only another spelling of a page.</dd></div>\n",
            );
        }
        if Facet::ALL.iter().any(|facet| !facet.is_of_url() && has(facet)) {
            out.push_str(
                "<div><dt>new URLs, new pages</dt><dd>By status, time and agent, each counts where it \
                 is seen first.</dd></div>\n",
            );
        }
        out.push_str("</dl>\n</section>\n");
    }

    fn write_footer(&self, out: &mut String) {
        let rules: Vec<&str> = self.profile.rules.iter().map(|rule| rule.name()).collect();
        let rules = match rules.as_slice() {
            [] => "none".to_string(),
            rules => rules.join(", "),
        };
        let _ = writeln!(
            out,
            "<footer>\n<p>Rules, in the order of application: {rules}.</p>\n</footer>"
        );
    }
}

fn write_input(out: &mut String, row: &InputRow) {
    let _ = writeln!(
        out,
        "<tr><th scope=\"row\" class=\"u\">{}</th><td>{}</td><td>{}</td><td class=\"n\">{}</td>\
         <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
        Escaped(&show_input(Path::new(&row.path))),
        foreign(row.format.as_bytes()),
        foreign(row.compression.as_bytes()),
        with_commas(row.lines),
        with_commas(row.bytes),
        with_commas(row.disk_bytes),
    );
}

fn write_nav(out: &mut String, parts: &[Part]) {
    out.push_str("<nav>\n");
    for (id, name) in parts {
        let _ = writeln!(out, "<a href=\"#{id}\">{name}</a>");
    }
    out.push_str("</nav>\n");
}
