//! What is on the page: nothing foreign as markup, the numbers of the JSON, the terms of its parts.

use sha2::{Digest as _, Sha256};

use super::*;
use crate::canonical::Profile;
use crate::reject::Reject;
use crate::report::rows::cells::push_base64;
use crate::report::{
    Breakdown, BreakdownRow, ClusterRow, Counts, Example, LevelRow, SiteRuleRow, Tally,
};

/// What strangers write, one of each kind.
const HOSTILE: &[u8] = b"javascript:\"'<img src=x onerror=alert(1)>&</td>\x1b\0\xff\xe2\x80\xae";

/// Makes a report of a log in which every text is hostile.
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
        !body.contains("<img") && !body.contains("href=\"javascript") && body.contains("&lt;img")
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

/// Makes a report of a list in which every text is hostile; a list has no status.
fn survey_of_list() -> Survey {
    let mut survey = survey();
    survey.breakdowns.retain(|one| one.facet != Facet::Status);
    survey
}

#[test]
fn terms_are_those_of_the_page() {
    let terms = |survey: &Survey| {
        let page = survey.to_html();
        let (_, terms) = page.split_once("<section id=\"terms\">").unwrap();
        let names = terms.split("<dt>").skip(1).map(|term| term.split_once("</dt>").unwrap().0);
        names.map(String::from).collect::<Vec<_>>()
    };
    let always = ["page", "duplicate", "respelled"];
    let with = |more: &[&'static str]| [&always[..], more].concat();
    let mut survey = survey();
    assert_eq!(terms(&survey), with(&["section", "redundant URLs", "new URLs, new pages"]));
    survey = survey_of_list();
    assert_eq!(terms(&survey), with(&["section", "new URLs, new pages"]));
    survey.breakdowns.retain(|one| one.facet.is_of_url());
    assert_eq!(terms(&survey), with(&["section"]));
    survey.breakdowns.retain(|one| one.facet == Facet::Host);
    assert_eq!(terms(&survey), always);
}

#[test]
fn tiles_are_of_records() {
    let page = survey_of_list().to_html();
    let (_, tiles) = page.split_once("<ul class=\"tiles\">\n").unwrap();
    assert!(
        tiles.starts_with("<li><b>1,000</b> <span>URLs read</span>"),
        "1,003 lines, but shares are of what they are shares of: {tiles:.200}"
    );
    assert_eq!(cells(&page, "totals")[0][..2], ["lines", "1,003"]);
}

#[test]
fn its_numbers_are_those_of_the_json() {
    numbers_are_those_of_the_json(&survey(), true);
    numbers_are_those_of_the_json(&survey_of_list(), false);
}

fn numbers_are_those_of_the_json(survey: &Survey, requests: bool) {
    let (page, json) = (survey.to_html(), survey.to_json());
    let shown = |value: &serde_json::Value| with_commas(value.as_u64().unwrap());
    let totals = cells(&page, "totals");
    let names = match requests {
        true => &[("requests", "records"), ("URLs", "urls"), ("pages", "unique")][..],
        false => &[("unique", "unique")],
    };
    for &(name, member) in names.iter().chain(&[
        ("lines", "lines"),
        ("rejected", "rejected"),
        ("headers", "comments"),
        ("duplicate", "duplicate"),
        ("respelled", "respelled"),
        ("no scheme", "scheme_added"),
        ("unparsed", "unparsed"),
    ]) {
        let row = totals.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(row[1], shown(&json["totals"][member]), "{name}");
    }
    for facet in survey.breakdowns.iter().map(|one| one.facet.name()) {
        let rows = json["by"][facet]["rows"].as_array().unwrap();
        let found = cells(&page, facet);
        assert_eq!(found.len(), rows.len());
        for (found, row) in found.iter().zip(rows) {
            let member = |name: &str| row[name].as_u64().unwrap();
            let (spare, of) = match requests {
                true => (member("urls") - member("unique"), member("urls")),
                false => (member("duplicate"), member("records")),
            };
            let expected = [
                shown(&row["records"]),
                shown(&row["urls"]),
                shown(&row["unique"]),
                with_commas(spare),
                percent(spare, of),
                shown(&row["respelled"]),
                percent(member("respelled"), member("records")),
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
