//! The sides from which a report looks at records: host, section, parameter, status, time, agent.

mod names;
mod spilled;
mod sums;

use crate::cluster::{Placed, UNMERGED};
use crate::parts;
use crate::record::{Record, agent, is_status, time};
use crate::report::{Counts, Facet};
use names::Names;
pub(super) use sums::Sums;

/// Parameters of one URL that are looked at.
const PARAMETERS_MAX: usize = 64;

/// The facets of the records of a chunk.
#[derive(Debug, Default)]
pub(super) struct Facets {
    columns: [Column; Facet::ALL.len()],
    /// The agents that were seen, and the numbers of their families.
    agents: Names,
    families: Vec<u32>,
}

/// One facet: names, and which records have them.
#[derive(Debug, Default)]
struct Column {
    names: Names,
    /// A record, and the number of its name.
    of: Vec<(u32, u32)>,
}

/// The counts of each name, by facet and by number.
type FacetCounts = [Vec<Counts>; Facet::ALL.len()];

impl Facets {
    /// Adds the record with the number `record`, whose canonical form is to be shown as
    /// `canonical`.
    pub(super) fn add(&mut self, record: u32, line: &Record, canonical: &[u8]) {
        let host = parts::host_of(canonical).unwrap_or(b"");
        let mut add = |facet: Facet, name: &[u8]| {
            let Column { names, of } = &mut self.columns[facet as usize];
            let name = names.number(name);
            // Once for each of them, however often its URL has the parameter.
            let mut of_record = of.iter().rev().take_while(|(other, _)| *other == record);
            if !of_record.any(|(_, other)| *other == name) {
                of.push((record, name));
            }
        };
        add(Facet::Host, host);
        let host_at = host.as_ptr().addr().wrapping_sub(canonical.as_ptr().addr());
        // From the host on, or from the path where there is none.
        let rest = if host.is_empty() { canonical } else { &canonical[host_at..] };
        add(Facet::Section, section(rest));
        let mut pairs = 0;
        for name in parameters(rest).take(PARAMETERS_MAX) {
            add(Facet::Parameter, name);
            pairs += 1;
        }
        if pairs == 0 {
            add(Facet::Parameter, b"");
        }
        let fields = line.fields;
        if let Some(first) = fields.status.first() {
            // Crawlers have statuses of their own: Heritrix has -5003 and 1.
            let is_http = is_status(fields.status) && *first != b'0';
            let class = [*first, b'x', b'x'];
            add(Facet::Status, if is_http { &class } else { fields.status });
        }
        if let Some(seconds) = time::parse(fields.time, fields.clock) {
            add(Facet::Time, &seconds.div_euclid(3600).to_be_bytes());
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

    /// The counts of all names; the chunk's records have been `placed`.
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

/// Counts `record`, which has been `placed`.
pub(super) fn count(counts: &mut Counts, placed: &Placed, record: u32) {
    let merged = placed.merged(record);
    counts.records += 1;
    counts.pages += u64::from(merged == UNMERGED);
    counts.urls += u64::from(merged != 0);
    counts.astray += u64::from(placed.is_astray(record));
}

/// Host and first segment of the path, as in `a.test/shop/`, of what follows a scheme.
fn section(rest: &[u8]) -> &[u8] {
    let path_end = memchr::memchr2(b'?', b'#', rest).unwrap_or(rest.len());
    let path = &rest[..path_end];
    let Some(first) = memchr::memchr(b'/', path) else { return path };
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

    #[test]
    fn sections() {
        for (given, expected) in [
            ("a.test/shop/x?y=/z/", "a.test/shop/"),
            ("a.test/x", "a.test/"),
            ("a.test/", "a.test/"),
            ("/shop/x", "/shop/"),
            ("/", "/"),
            ("urn:x", "urn:x"),
        ] {
            assert_eq!(section(given.as_bytes()), expected.as_bytes(), "{given}");
        }
    }

    #[test]
    fn a_record_counts_once_for_each_of_its_parameters() {
        let (mut facets, fields) = (Facets::default(), Default::default());
        for (record, url) in (0..).zip(["http://a.test/?a=1&b&a=2", "http://a.test/?a=3"]) {
            let text = url.as_bytes();
            let line = Record { line: text, spelling: text, url: text, fields: &fields };
            facets.add(record, &line, text);
        }
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
