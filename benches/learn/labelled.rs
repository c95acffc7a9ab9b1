//! Labelled sites: files whose truth is the digest of a text, and tables of redirects.

use std::collections::{BTreeMap, HashMap};

use undust::mine::site_of;

use crate::Row;

/// The rows of a file by site.
pub(crate) type Sites = BTreeMap<String, Vec<Row>>;

/// Reads a file with named columns in its first line: `#url` and digests, or `#old_url` and where
/// it was sent. With `text`, digests of texts are the signal too.
pub(crate) fn read(path: &str, text: bool) -> Sites {
    let file = std::fs::read_to_string(path).expect("the file can be read");
    let mut lines = file.lines();
    let header: Vec<&str> =
        lines.next().unwrap_or("").trim_start_matches('#').split('\t').collect();
    if header.first() == Some(&"old_url") {
        return mappings(lines);
    }
    pages(&file, &header, text)
}

fn site_of_url(url: &str) -> String {
    let host = url.split('/').nth(2).unwrap_or("").split(':').next().unwrap_or("");
    String::from_utf8_lossy(site_of(host.as_bytes())).into_owned()
}

/// Old URLs and where they were sent: one page if they were sent to one URL. Nothing else was seen
/// of them; a URL that is gone has no truth.
fn mappings<'a>(lines: impl Iterator<Item = &'a str>) -> Sites {
    let mut sites = Sites::new();
    let mut pages: HashMap<String, u64> = HashMap::new();
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let [url, to, status, ..] = cells[..] else { continue };
        let next = pages.len() as u64;
        let page = (!to.is_empty() && to != "-" && status == "301")
            .then(|| *pages.entry(to.to_string()).or_insert(next));
        let row = Row { url: url.to_string(), page, method: "GET", ..Row::default() };
        let row = Row { status: status.parse().ok(), ..row };
        let row = Row { redirect: page.map(|_| to.to_string()), ..row };
        sites.entry(site_of_url(url)).or_default().push(row);
    }
    sites
}

fn pages(file: &str, header: &[&str], text: bool) -> Sites {
    let at = |name: &str| header.iter().position(|column| *column == name);
    let columns = ["url", "timestamp", "status", "mime", "bytes", "payload_sha1_b32"].map(at);
    let truth = at("text_sha1_b32");
    // Where a file has digests of texts, pages without one are not scored: a digest of the payload
    // is another measure, and two measures in one table merge and part what they like.
    let has_texts = truth.is_some_and(|at| {
        let cells = file.lines().skip(1).filter_map(|line| line.split('\t').nth(at));
        cells.into_iter().any(|cell| cell.len() > 1)
    });
    let mut sites = Sites::new();
    let mut pages: HashMap<String, u64> = HashMap::new();
    for line in file.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let cell = |column: Option<usize>| {
            column
                .and_then(|at| cells.get(at))
                .copied()
                .filter(|cell| !cell.is_empty() && *cell != "-")
        };
        let Some(url) = cell(columns[0]) else { continue };
        let label = if has_texts { cell(truth) } else { cell(columns[5]) };
        let page = label.map(|label| {
            let next = pages.len() as u64;
            *pages.entry(label.to_string()).or_insert(next)
        });
        sites.entry(site_of_url(url)).or_default().push(Row {
            url: url.to_string(),
            time: cell(columns[1]).and_then(seconds),
            status: cell(columns[2]).and_then(|text| text.parse().ok()),
            size: cell(columns[4]).and_then(|text| text.parse().ok()),
            digest: cell(if text { truth } else { columns[5] }).map(str::to_string),
            mime: cell(columns[3]).map(str::to_string),
            method: "GET",
            redirect: None,
            page,
            tags: Vec::new(),
        });
    }
    sites
}

/// Seconds since 1970 of `YYYYMMDDhhmmss`.
fn seconds(text: &str) -> Option<i64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
    let years = if month <= 2 { year - 1 } else { year };
    let days = 365 * years + years / 4 - years / 100
        + years / 400
        + (153 * ((month + 9) % 12) + 2) / 5
        + day
        - 719_469;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}
