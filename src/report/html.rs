//! The report as one HTML page that needs nothing else: no network, no other file, no script to be
//! read.
//!
//! The page is for people who get it by mail, and its URLs were written by strangers. So all text
//! goes through [`markup`], and a policy forbids the browser everything but the style and the
//! script that are part of the page, by their hashes.

mod chart;
mod markup;
mod tables;

use std::fmt::Write as _;

use super::survey::{number, percent};
use super::totals::{HOSTLESS, Total};
use super::{InputRow, Survey};
use markup::{Escaped, foreign};
use tables::write_breakdown_html;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Hashes of [`STYLE`] and [`SCRIPT`] as a policy names them; a test has the true ones.
const STYLE_HASH: &str = "sha256-IPjldMt9qjrN9BhIE49CpnZZB526g4ZFfqNGR0kQb/s=";
const SCRIPT_HASH: &str = "sha256-WRPC0OUZQPfCUGRvBwCvQ5rOaLZOBrQWLncaqoY98Fg=";

/// Files beyond which the list of them is folded. Reason: the numbers are what the page is for.
const FILES_SHOWN: usize = 8;

/// Names of the parts of the page, by the order in which they stand there.
type Parts = Vec<(&'static str, &'static str)>;

impl Survey {
    /// The report as a page: the same bytes for the same input, rules and `top`.
    pub fn to_html(&self) -> String {
        let mut body = String::new();
        let mut parts: Parts = vec![("totals", "Totals")];
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
        self.write_terms(&mut body);

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
            let count = number(self.input.len() as u64);
            let _ = writeln!(out, "<details><summary>The {count} files</summary>");
        }
        if !self.input.is_empty() {
            out.push_str(
                "<div class=\"wide\"><table id=\"input\">\n<thead><tr><th scope=\"col\">file</th>\
                 <th scope=\"col\">format</th><th scope=\"col\">compression</th>\
                 <th scope=\"col\" class=\"n\">lines</th><th scope=\"col\" class=\"n\">bytes</th>\
                 <th scope=\"col\" class=\"n\">on disk</th></tr></thead>\n<tbody>\n",
            );
            self.input.iter().for_each(|row| write_input(out, row));
            out.push_str("</tbody></table></div>\n");
        }
        out.push_str(if is_long { "</details>\n</header>\n" } else { "</header>\n" });
    }

    fn write_totals_html(&self, out: &mut String) {
        out.push_str("<section id=\"totals\">\n<h2>Totals</h2>\n");
        self.write_tiles(out);
        self.write_composition(out);
        out.push_str("<div class=\"wide\"><table class=\"totals\">\n<tbody>\n");
        for Total { name, count, of, note, first } in self.totals() {
            // There is room for the whole word.
            let name = if name == "other sp." { "other spelling" } else { name };
            let share = of.map_or(String::new(), |of| percent(count, of));
            let first = first.map_or(String::new(), |(place, text)| {
                let text = foreign(&text);
                format!("<div>{}: <span class=\"u\">{text}</span></div>", Escaped(&place))
            });
            let _ = writeln!(
                out,
                "<tr><th scope=\"row\">{name}</th><td class=\"n\">{}</td><td class=\"n\">{share}</td>\
                 <td>{}{first}</td></tr>",
                number(count),
                Escaped(note)
            );
        }
        out.push_str("</tbody></table></div>\n</section>\n");
    }

    /// The numbers that are looked for first.
    fn write_tiles(&self, out: &mut String) {
        let tally = &self.tally;
        let (records, other) = (tally.records, self.counts.astray);
        let mut tiles = match self.has_requests() {
            true => {
                vec![("requests", records), ("URLs", self.counts.urls), ("pages", tally.unique)]
            }
            false => vec![("lines", tally.lines), ("unique pages", tally.unique)],
        };
        tiles.extend([("duplicates", tally.duplicate), ("in another spelling", other)]);
        out.push_str("<ul class=\"tiles\">\n");
        for (at, (name, count)) in tiles.into_iter().enumerate() {
            let share = if at == 0 { String::new() } else { percent(count, records) };
            let _ = writeln!(
                out,
                "<li><b>{}</b> <span>{name}</span> <small>{share}</small></li>",
                number(count)
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
                number(count),
                percent(count, tally.records)
            );
        }
        out.push_str("</figcaption>\n</figure>\n");
    }

    /// The words that a reader needs who does not know undust.
    fn write_terms(&self, out: &mut String) {
        let records = if self.has_requests() { "request" } else { "line" };
        let _ = write!(
            out,
            "<section id=\"terms\">\n<h2>Terms</h2>\n<dl>\n\
             <div><dt>page</dt><dd>All URLs that are equal by the profile. Nothing was fetched.</dd></div>\n\
             <div><dt>duplicate</dt><dd>A {records} whose page was there before.</dd></div>\n\
             <div><dt>other spelling</dt><dd>A {records} that spells its page another way than the \
             first one of that page.</dd></div>\n\
             <div><dt>section</dt><dd>Host and first segment of the path.</dd></div>\n"
        );
        if self.has_requests() {
            out.push_str(
                "<div><dt>spare URLs</dt><dd>URLs that are only another spelling of a page.</dd></div>\n\
                 <div><dt>new URLs, new pages</dt><dd>By status, time and agent, each counts where it \
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
        Escaped(&super::shown_file(row.path.as_bytes())),
        foreign(row.format.as_bytes()),
        foreign(row.compression.as_bytes()),
        number(row.lines),
        number(row.bytes),
        number(row.disk_bytes),
    );
}

fn write_nav(out: &mut String, parts: &Parts) {
    out.push_str("<nav>\n");
    for (id, name) in parts {
        let _ = writeln!(out, "<a href=\"#{id}\">{name}</a>");
    }
    out.push_str("</nav>\n");
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::canonical::Profile;
    use crate::reject::Reject;
    use crate::report::cells::push_base64;
    use crate::report::{
        Breakdown, BreakdownRow, ClusterRow, Counts, Example, Facet, LevelRow, SiteRuleRow, Tally,
    };

    /// What strangers write, one of each kind.
    const HOSTILE: &[u8] =
        b"javascript:\"'<img src=x onerror=alert(1)>&</td>\x1b\0\xff\xe2\x80\xae";

    /// A report of a log in which every text is hostile.
    fn survey() -> Survey {
        let counts = |records, urls, pages, astray| Counts { records, urls, pages, astray };
        let names = [HOSTILE, b"", b"2026-11-21"];
        let rows = names.iter().zip([(900, 30, 20, 7), (90, 5, 5, 0), (10, 9, 8, 1)]);
        let rows = rows.map(|(name, (records, urls, pages, astray))| BreakdownRow {
            name: name.to_vec(),
            counts: counts(records, urls, pages, astray),
        });
        let rows: Vec<BreakdownRow> = rows.collect();
        let example = |before: &[u8], after: &[u8]| Example {
            line: 7,
            before: before.to_vec(),
            after: after.to_vec(),
        };
        let examples = vec![example(HOSTILE, b"x"), example(HOSTILE, HOSTILE)];
        let level = |name: &str, merged, changed| LevelRow {
            name: name.to_string(),
            merged,
            changed,
            examples: examples.clone(),
        };
        let mut tally = Tally { lines: 1003, comments: 2, scheme_added: 4, ..Tally::default() };
        tally.reject(Reject::Format, HOSTILE, false);
        tally.records = 1000;
        tally.hostless = 1;
        tally.unparsed.add(Reject::Host);
        tally.set_unique(33);
        let text = String::from_utf8_lossy(HOSTILE).into_owned();
        Survey {
            profile: Profile::named("crawl").unwrap(),
            tally,
            input: vec![InputRow {
                path: text.clone(),
                format: text.clone(),
                compression: text.clone(),
                disk_bytes: 4_321,
                bytes: 54_321,
                lines: 1003,
            }],
            levels: vec![level("identical", 900, 0), level("case", 67, 80), level("params", 0, 3)],
            site_rules: vec![SiteRuleRow { rule: 3, title: text, changed: 12, merged: 11 }],
            idle_site_rules: vec![1, 2],
            breakdowns: Facet::ALL
                .map(|facet| Breakdown { facet, names: 1234, rows: rows.clone() })
                .to_vec(),
            counts: counts(1000, 44, 33, 8),
            clusters: vec![ClusterRow {
                canonical: HOSTILE.to_vec(),
                lines: 808,
                spellings: vec![(HOSTILE.to_vec(), 800), (b"x".to_vec(), 7)],
                spellings_total: 1_003,
            }],
        }
    }

    #[test]
    fn the_policy_has_the_hashes_of_the_page() {
        for (text, hash) in [(STYLE, STYLE_HASH), (SCRIPT, SCRIPT_HASH)] {
            let mut digest = Vec::new();
            push_base64(&mut digest, &Sha256::digest(text));
            let digest = String::from_utf8(digest).unwrap();
            assert_eq!(hash, format!("sha256-{digest}"), "of {:.60}", text);
            // Would end the element before its end.
            assert!(!text.contains("</"));
        }
        let page = survey().to_html();
        let element = |name: &str| {
            let (_, rest) = page.split_once(&format!("<{name}>")).unwrap();
            rest.split_once(&format!("</{name}>")).unwrap().0
        };
        // The hash is of every byte between the tags.
        assert!(element("style") == STYLE && element("script") == SCRIPT);
        assert_eq!(page.matches("<script").count(), 1);
        assert!(page.contains("default-src 'none'; style-src 'sha256-"));
    }

    #[test]
    fn nothing_foreign_becomes_markup() {
        let page = survey().to_html();
        let body = page.split_once("<body>").unwrap().1.split_once("<script>").unwrap().0;
        assert!(
            !body.contains("<img")
                && !body.contains("href=\"javascript")
                && body.contains("&lt;img")
        );
        // No styles and no handlers of single elements.
        for attribute in [" style=", " onerror=\"", " onclick=", " src=\""] {
            assert!(!body.contains(attribute), "{attribute}");
        }
        let is_plain = |character: char| character == '\n' || !character.is_control();
        assert!(body.chars().all(|one| is_plain(one) && one != '\u{202e}'), "{body}");
        let shown = "javascript:&quot;&#39;&lt;img src=x onerror=alert(1)&gt;&amp;&lt;/td&gt;\\x1b\\x00\\xff\\u{202e}";
        assert!(body.matches(shown).count() > 10, "{body}");
    }

    /// The texts of the cells of all rows of the section `id`.
    fn cells(page: &str, id: &str) -> Vec<Vec<String>> {
        let (_, section) = page.split_once(&format!("<section id=\"{id}\">")).unwrap();
        let (section, _) = section.split_once("</section>").unwrap();
        let (_, body) = section.split_once("<tbody>").unwrap();
        let (body, _) = body.split_once("</tbody>").unwrap();
        let text = |cell: &str| {
            let cell = cell.split_once('>').unwrap().1;
            let texts = cell.split('<').map(|part| part.rsplit('>').next().unwrap());
            texts.collect::<String>().trim().to_string()
        };
        let row = |row: &str| row.replace("<th", "<td").split("<td").skip(1).map(text).collect();
        body.split("<tr>").skip(1).map(row).collect()
    }

    #[test]
    fn its_numbers_are_those_of_the_json() {
        let survey = survey();
        let (page, json) = (survey.to_html(), survey.to_json());
        let shown = |value: &serde_json::Value| number(value.as_u64().unwrap());
        let totals = cells(&page, "totals");
        for (name, member) in [
            ("lines", "lines"),
            ("rejected", "rejected"),
            ("headers", "comments"),
            ("requests", "records"),
            ("URLs", "urls"),
            ("pages", "unique"),
            ("duplicate", "duplicate"),
            ("other spelling", "other_spelling"),
            ("no scheme", "scheme_added"),
            ("unparsed", "unparsed"),
        ] {
            let row = totals.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(row[1], shown(&json["totals"][member]), "{name}");
        }
        for facet in Facet::ALL.map(Facet::name) {
            let rows = json["by"][facet]["rows"].as_array().unwrap();
            let found = cells(&page, facet);
            assert_eq!(found.len(), rows.len());
            for (found, row) in found.iter().zip(rows) {
                let member = |name: &str| row[name].as_u64().unwrap();
                let (urls, pages) = (member("urls"), member("unique"));
                let expected = [
                    shown(&row["records"]),
                    number(urls),
                    number(pages),
                    number(urls - pages),
                    percent(urls - pages, urls),
                    shown(&row["other_spelling"]),
                    percent(member("other_spelling"), member("records")),
                ];
                assert_eq!(found[1..], expected, "{facet}");
            }
        }
        let rules = cells(&page, "rules");
        assert_eq!(rules.len(), 2, "a rule that makes nothing equal has no row");
        for (row, rule) in rules.iter().zip(json["rules"].as_array().unwrap()) {
            assert!(row[0].starts_with(rule["rule"].as_str().unwrap()));
            assert_eq!([&row[1], &row[3]], [&shown(&rule["merged"]), &shown(&rule["changed"])]);
        }
        assert!(page.contains("none equal to an earlier one: params (3)"));
        let cluster = &cells(&page, "clusters")[0];
        assert_eq!(cluster[..2], [shown(&json["clusters"][0]["lines"]), "1,003".to_string()]);
        assert!(cluster[2].contains("and 1,001 more spellings"), "{cluster:?}");
        let site_rule = &cells(&page, "site-rules")[0];
        assert_eq!([&site_rule[0], &site_rule[2], &site_rule[3]], ["3", "12", "11"]);
        for fact in [
            json["profile"]["digest"].as_str().unwrap(),
            json["profile"]["name"].as_str().unwrap(),
            env!("CARGO_PKG_VERSION"),
            "<td class=\"n\">54,321</td>",
            "2 of the rules in force changed nothing: 1, 2",
            HOSTLESS,
        ] {
            assert!(page.contains(fact), "{fact}");
        }
    }

    #[test]
    fn a_report_of_nothing_has_totals() {
        let mut survey = survey();
        survey.tally = Tally::default();
        (survey.levels, survey.breakdowns, survey.clusters) = Default::default();
        (survey.site_rules, survey.idle_site_rules, survey.input) = Default::default();
        survey.counts = Counts::default();
        let page = survey.to_html();
        assert_eq!(cells(&page, "totals")[0][..2], ["lines", "0"]);
        assert!(!page.contains("NaN") && !page.contains("id=\"rules\""), "{page}");
    }
}
