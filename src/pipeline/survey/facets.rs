//! The facets by which a report groups records: host, section, parameter, status, time, agent.

mod names;
mod periods;
mod spilled;
mod sums;

use crate::cluster::{Placed, UNMERGED};
use crate::parts;
use crate::record::fields::{agent, time};
use crate::record::formats::crawllog;
use crate::record::{Record, is_status};
use crate::report::{Counts, Facet};
use names::NameTable;
pub(super) use sums::Sums;

/// Most parameters of one URL that are counted.
const PARAMETERS_MAX: usize = 64;

/// The facets of the records of a chunk.
#[derive(Debug, Default)]
pub(super) struct Facets {
    /// Are the records of a crawler, which has statuses of its own? Heritrix has -5003 and 1.
    are_of_crawler: bool,
    columns: [Column; Facet::ALL.len()],
    /// The agents seen so far, and the numbers of their families.
    agents: NameTable,
    families: Vec<u32>,
}

/// One facet: names, and which records have them.
#[derive(Debug, Default)]
struct Column {
    names: NameTable,
    /// A record, and the number of its name; the pairs of one record are adjacent.
    of: Vec<(u32, u32)>,
}

/// The counts of each name, by facet and by number.
type FacetCounts = [Vec<Counts>; Facet::ALL.len()];

impl Facets {
    /// Begins with no records. `format` is that of the chunk.
    pub(super) fn new(format: &str) -> Facets {
        Facets { are_of_crawler: format == crawllog::NAME, ..Facets::default() }
    }

    /// Adds the record with the number `record`, whose canonical form is shown as `canonical`.
    pub(super) fn add(&mut self, record: u32, line: &Record, canonical: &[u8]) {
        let are_of_crawler = self.are_of_crawler;
        let host = parts::host_of(canonical).unwrap_or(b"");
        let mut add = |facet: Facet, name: &[u8]| {
            let Column { names, of } = &mut self.columns[facet as usize];
            let name = names.number(name);
            // Once for each name, however often the URL has the parameter.
            let mut of_record = of.iter().rev().take_while(|(other, _)| *other == record);
            if !of_record.any(|(_, other)| *other == name) {
                of.push((record, name));
            }
        };
        add(Facet::Host, host);
        let host_at = host.as_ptr().addr().wrapping_sub(canonical.as_ptr().addr());
        // The URL from its host on; all of it where it has none.
        let rest = if host.is_empty() { canonical } else { &canonical[host_at..] };
        add(Facet::Section, section(rest, !host.is_empty()));
        let mut pairs = 0;
        // Of the URL as it was read: the canonical form lacks the parameters that make duplicates.
        for name in parameters(line.url).take(PARAMETERS_MAX) {
            add(Facet::Parameter, name);
            pairs += 1;
        }
        if pairs == 0 {
            add(Facet::Parameter, b"");
        }
        let fields = line.fields;
        match fields.status {
            // A status that `--status` can name.
            [first @ b'1'..=b'9', ..] if is_status(fields.status) => {
                add(Facet::Status, &[*first, b'x', b'x']);
            }
            [_, ..] if are_of_crawler => add(Facet::Status, fields.status),
            // Empty, or not a status: the column of the table may hold something else.
            _ => {}
        }
        if let Some(seconds) = time::parse(fields.time, fields.clock) {
            add(Facet::Time, &periods::name_of(seconds.div_euclid(3600)));
        }
        if !fields.agent.is_empty() {
            let agents = &mut self.columns[Facet::Agent as usize];
            let agent = self.agents.number(fields.agent) as usize;
            if agent == self.families.len() {
                let family = agent::family(fields.escapes.undo(fields.agent, &mut Vec::new()));
                self.families.push(agents.names.number(family.as_bytes()));
            }
            agents.of.push((record, self.families[agent]));
        }
    }

    /// Returns the counts of all names, once the chunk's records were `placed`.
    fn count(&self, placed: &Placed) -> FacetCounts {
        self.columns.each_ref().map(|column| {
            let mut all = vec![Counts::default(); column.names.len()];
            for (record, name) in &column.of {
                count(&mut all[*name as usize], placed, *record);
            }
            all
        })
    }
}

/// Counts `record`, which was `placed`, unless that was in an earlier reading.
pub(super) fn count(counts: &mut Counts, placed: &Placed, record: u32) {
    if placed.is_earlier(record) {
        return;
    }
    let merged = placed.merged(record);
    counts.records += 1;
    counts.pages += u64::from(merged == UNMERGED);
    counts.urls += u64::from(merged != 0);
    counts.astray += u64::from(placed.is_astray(record));
}

/// Host and first segment of the path, as in `a.test/shop/`, of what follows a scheme. Empty if
/// there is neither, as for `mailto:` URLs, and for lines that are not URLs.
fn section(rest: &[u8], has_host: bool) -> &[u8] {
    let path_end = memchr::memchr2(b'?', b'#', rest).unwrap_or(rest.len());
    let path = &rest[..path_end];
    let Some(first) = memchr::memchr(b'/', path) else {
        return if has_host { path } else { b"" };
    };
    match memchr::memchr(b'/', &path[first + 1..]) {
        Some(second) => &path[..first + second + 2],
        None => &path[..=first],
    }
}

/// The names of the parameters of a URL.
fn parameters(url: &[u8]) -> impl Iterator<Item = &[u8]> {
    let before_fragment = &url[..memchr::memchr(b'#', url).unwrap_or(url.len())];
    let query = memchr::memchr(b'?', before_fragment);
    let query = query.map_or(&[][..], |at| &before_fragment[at + 1..]);
    query
        .split(|byte| *byte == b'&')
        .map(|pair| &pair[..memchr::memchr(b'=', pair).unwrap_or(pair.len())])
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Fields;

    /// Of URLs with their statuses.
    fn facets_of(format: &str, records: &[(&str, &str)]) -> Facets {
        let mut facets = Facets::new(format);
        for (record, (url, status)) in (0..).zip(records) {
            let text = url.as_bytes();
            let fields = Fields { status: status.as_bytes(), ..Fields::default() };
            let line = Record { line: text, spelling: text, url: text, fields: &fields };
            facets.add(record, &line, text);
        }
        facets
    }

    fn names(facets: &Facets, facet: Facet) -> Vec<&str> {
        let names = facets.columns[facet as usize].names.iter();
        names.map(|(_, name)| std::str::from_utf8(name).unwrap()).collect()
    }

    #[test]
    fn sections() {
        for (given, expected) in [
            ("http://a.test/shop/x?y=/z/", "a.test/shop/"),
            ("http://a.test/x", "a.test/"),
            ("http://a.test/", "a.test/"),
            ("http://a.test", "a.test"),
            ("/shop/x", "/shop/"),
            ("/", "/"),
            ("urn:x", ""),
            ("mailto:u@b.test", ""),
            ("u@b.test", ""),
            ("word?a=/b/", ""),
        ] {
            let facets = facets_of("lines", &[(given, "")]);
            assert_eq!(names(&facets, Facet::Section), [expected], "{given}");
        }
    }

    #[test]
    fn statuses_are_those_of_http_but_for_crawlers() {
        for (given, expected, of_crawler) in [
            ("100", "1xx", "1xx"),
            ("204", "2xx", "2xx"),
            // Not defined by HTTP, but sent by some servers, and accepted by `--status`.
            ("999", "9xx", "9xx"),
            ("099", "", "099"),
            ("-5003", "", "-5003"),
            ("1", "", "1"),
            ("2000", "", "2000"),
            ("#BeginTemplate", "", "#BeginTemplate"),
            ("20090101002210", "", "20090101002210"),
            ("", "", ""),
        ] {
            for (format, expected) in [("cdx", expected), ("crawllog", of_crawler)] {
                let facets = facets_of(format, &[("http://a.test/", given)]);
                assert_eq!(names(&facets, Facet::Status).concat(), expected, "{format}: {given}");
            }
        }
    }

    #[test]
    fn a_record_counts_once_for_each_of_its_parameters() {
        let urls = ["http://a.test/?a=1&b&a=2", "http://a.test/?a=3"];
        let facets = facets_of("lines", &urls.map(|url| (url, "")));
        assert_eq!(facets.columns[Facet::Parameter as usize].of, [(0, 0), (0, 1), (1, 0)]);
    }

    #[test]
    fn names_of_parameters() {
        let names: Vec<&[u8]> = parameters(b"/x?a=1&b&&=c&a=2#?d=1").collect();
        assert_eq!(names, [&b"a"[..], b"b", b"a"]);
        for without in ["/x", "/x#/y?a=1"] {
            assert_eq!(parameters(without.as_bytes()).count(), 0, "{without}");
        }
    }
}
