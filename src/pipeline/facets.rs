//! The sides from which a report looks at records: host, section, parameter, status, time, agent.

mod names;

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use super::pool::{Pool, Stage};
use crate::cluster::{Placed, UNMERGED};
use crate::parts;
use crate::record::{Record, agent, is_status, time};
use crate::report::{Breakdown, BreakdownRow, Counts, Facet};
use names::Names;

type Map<K, V> = HashMap<K, V, ahash::RandomState>;

/// Names of a facet that are told apart; what comes later is counted under [`OTHERS`], and hours by
/// their days. Hosts are all told apart.
///
/// Reason: sections and parameters are written by strangers, who have no end of them.
const NAMES_MAX: usize = 1 << 16;

/// Days of hours beyond that which are told apart. Reason: 179 years.
const DAYS_MAX: usize = 1 << 16;

/// Where the names beyond that are counted.
const OTHERS: &[u8] = b"(others)";

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
            of.push((record, names.number(name)));
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

/// The sums over all chunks.
#[derive(Debug, Default)]
pub(super) struct Sums([Sum; Facet::ALL.len()]);

/// The sums of one facet.
#[derive(Debug, Default)]
struct Sum {
    counts: Map<Box<[u8]>, Counts>,
    /// Bytes of memory that the texts of the names take.
    text_bytes: u64,
}

impl Sums {
    /// Bytes of memory that the sums may take after another batch, which is small beside them.
    pub(super) fn memory_bytes_ahead(&self) -> u64 {
        let slot_bytes = size_of::<(Box<[u8]>, Counts)>() as u64 + 1;
        let sums = self.0.iter().map(|Sum { counts, text_bytes }| {
            // Seven of eight slots may be used.
            let bytes = counts.capacity().div_ceil(7) as u64 * 8 * slot_bytes;
            let grows = counts.len() + counts.len() / 8 >= counts.capacity();
            text_bytes + if grows { 2 * bytes } else { bytes }
        });
        sums.sum()
    }

    /// Adds the records of some `chunks`, which have been placed.
    pub(super) fn add(&mut self, pool: &Pool, chunks: &[(&Facets, &Placed)]) {
        let count = |(): &mut (), chunk: usize| chunks[chunk].0.count(chunks[chunk].1);
        let counts = pool.map(Stage::Clustering, chunks.len(), || (), count);
        self.each(pool, |sum, facet| {
            for ((facets, _), counts) in chunks.iter().zip(&counts) {
                let names = facets.columns[facet as usize].names.iter();
                names.zip(&counts[facet as usize]).for_each(|(name, counts)| {
                    sum.add(facet, name, counts);
                });
            }
        });
    }

    /// The same, but counts nothing: later records find their names.
    pub(super) fn add_names(&mut self, pool: &Pool, chunks: &[&Facets]) {
        self.each(pool, |sum, facet| {
            let names = chunks.iter().flat_map(|chunk| chunk.columns[facet as usize].names.iter());
            names.for_each(|name| sum.add(facet, name, &Counts::default()));
        });
    }

    /// Does `work` with the sums of every facet, on all workers. Those of one facet are one
    /// worker's, so that chunks come in order.
    fn each(&mut self, pool: &Pool, work: impl Fn(&mut Sum, Facet) + Sync) {
        let sums = self.0.each_mut().map(Mutex::new);
        let with = |(): &mut (), at: usize| {
            let mut sum = sums[at].lock().expect("nobody else has this one");
            work(&mut sum, Facet::ALL[at]);
        };
        pool.each(Stage::Clustering, sums.len(), || (), with);
    }

    /// Sets all counts to zero.
    pub(super) fn forget_counts(&mut self) {
        let sums = self.0.iter_mut().flat_map(|sum| sum.counts.values_mut());
        sums.for_each(|counts| *counts = Counts::default());
    }

    /// The tables, with `top` rows each: by duplicates; where records are requests, by those that
    /// asked for a page by another spelling than its first.
    pub(super) fn breakdowns(self, top: usize) -> Vec<Breakdown> {
        let has_requests = !self.0[Facet::Status as usize].counts.is_empty();
        let weight = |counts: &Counts| {
            let first = if has_requests { counts.astray } else { counts.duplicate() };
            (first, counts.records)
        };
        let tables = Facet::ALL.into_iter().zip(self.0);
        tables.map(|(facet, sum)| breakdown(facet, sum.counts, weight, top)).collect()
    }
}

impl Sum {
    /// Adds `counts` to those of `name`; where there are too many names, to those of the day of an
    /// hour, or of all others.
    fn add(&mut self, facet: Facet, name: &[u8], counts: &Counts) {
        if let Some(sum) = self.counts.get_mut(name) {
            return sum.add(counts);
        }
        let is_full = self.counts.len() >= NAMES_MAX;
        let day;
        let name = match facet {
            Facet::Time if is_full && self.counts.len() < NAMES_MAX + DAYS_MAX => {
                day = (hour_of(name).div_euclid(24) * 24).to_be_bytes();
                &day
            }
            Facet::Host => name,
            _ if is_full => OTHERS,
            _ => name,
        };
        if let Some(sum) = self.counts.get_mut(name) {
            return sum.add(counts);
        }
        self.text_bytes += name.len() as u64 + 16;
        self.counts.insert(name.into(), *counts);
    }
}

/// Hours from the first to the last of which each may have a row.
const HOURS_MAX: i64 = 72;

/// Rows that a period may take. Reason: so many can be read.
const PERIODS_MAX: usize = 120;

/// How long the names of periods are: those of hours, `2026-11-21T09`; those of longer ones,
/// `2026-11-21`, `2026-11` and `2026`.
const HOUR_BYTES: usize = 13;
const PERIOD_BYTES: [usize; 3] = [10, 7, 4];

fn breakdown(
    facet: Facet,
    sums: Map<Box<[u8]>, Counts>,
    weight: impl Fn(&Counts) -> (u64, u64),
    top: usize,
) -> Breakdown {
    let names = sums.len() as u64;
    let mut rows: Vec<BreakdownRow> =
        sums.into_iter().map(|(name, counts)| BreakdownRow { name: name.into(), counts }).collect();
    match facet {
        Facet::Time => return by_time(rows),
        Facet::Status => rows.sort_unstable_by(|a, b| a.name.cmp(&b.name)),
        _ => rows.sort_unstable_by(|a, b| {
            let order = weight(&b.counts).cmp(&weight(&a.counts));
            order.then_with(|| a.name.cmp(&b.name))
        }),
    }
    rows.truncate(top);
    Breakdown { facet, names, rows }
}

/// The hour that has this name.
fn hour_of(name: &[u8]) -> i64 {
    name.try_into().map_or(0, i64::from_be_bytes)
}

/// The rows of hours if they are near to each other, in order; or of days, or else of months, if
/// these are few; or of years.
fn by_time(rows: Vec<BreakdownRow>) -> Breakdown {
    let (others, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.name == OTHERS);
    let hours = || rows.iter().map(|row| hour_of(&row.name));
    let span =
        hours().max().zip(hours().min()).map_or(0, |(last, first)| last.saturating_sub(first));
    let sums_of = |name_bytes: usize| {
        let mut sums: BTreeMap<Vec<u8>, Counts> = BTreeMap::new();
        for row in &rows {
            let text = time::show(hour_of(&row.name).saturating_mul(3600));
            sums.entry(text.as_bytes()[..name_bytes].to_vec()).or_default().add(&row.counts);
        }
        sums
    };
    let sums = if span < HOURS_MAX {
        sums_of(HOUR_BYTES)
    } else {
        let [days, months, years] = PERIOD_BYTES;
        let is_short = |sums: &BTreeMap<_, _>| sums.len() <= PERIODS_MAX;
        let few = [days, months].into_iter().map(sums_of).find(is_short);
        few.unwrap_or_else(|| sums_of(years))
    };
    let names = sums.len() as u64;
    let rows = sums.into_iter().map(|(name, counts)| BreakdownRow { name, counts });
    Breakdown { facet: Facet::Time, names, rows: rows.chain(others).collect() }
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
    fn names_of_parameters() {
        let names: Vec<&[u8]> = parameters(b"/x?a=1&b&&=c&a=2#?d=1").collect();
        assert_eq!(names, [&b"a"[..], b"b", b"a"]);
        for without in ["/x", "/x#/y?a=1"] {
            assert_eq!(parameters(without.as_bytes()).count(), 0, "{without}");
        }
    }

    #[test]
    fn rows_of_time_are_as_fine_as_can_be_read() {
        let rows = |hours: &[i64]| -> Vec<(String, u64)> {
            let mut sum = Sum::default();
            let counts = Counts { records: 1, ..Counts::default() };
            hours.iter().for_each(|hour| sum.add(Facet::Time, &hour.to_be_bytes(), &counts));
            let rows = breakdown(Facet::Time, sum.counts, |_| (0, 0), 1).rows;
            let shown = |row: &BreakdownRow| String::from_utf8_lossy(&row.name).into_owned();
            rows.iter().map(|row| (shown(row), row.counts.records)).collect()
        };
        let row = |name: &str, records| (name.to_string(), records);
        assert_eq!(rows(&[]), []);
        assert_eq!(rows(&[9, 9 + 71]), [row("1970-01-01T09", 1), row("1970-01-04T08", 1)]);
        assert_eq!(
            rows(&[-1, 9, 71]),
            [row("1969-12-31", 1), row("1970-01-01", 1), row("1970-01-03", 1)]
        );
        // A time that is wrong, and a few that are far from each other, take no rows away.
        assert_eq!(rows(&[0, 500_000]), [row("1970-01-01", 1), row("2027-01-15", 1)]);
        let days = |count: i64| (0..count).map(|day| 24 * day).collect::<Vec<_>>();
        assert_eq!(rows(&days(120)).len(), 120);
        let months = rows(&days(121));
        assert_eq!((months.len(), &months[4]), (5, &row("1970-05", 1)));
        assert_eq!(rows(&days(3652)).len(), 120);
        let years = rows(&days(3653));
        assert_eq!((years.len(), &years[10]), (11, &row("1980", 1)));
        assert_eq!(rows(&[i64::MIN, i64::MAX]).len(), 2);
    }

    #[test]
    fn many_names() {
        let many = 2 * NAMES_MAX as i64;
        let counts = Counts { records: 1, ..Counts::default() };
        let rows = |facet| {
            let mut sum = Sum::default();
            (0..many).for_each(|number: i64| sum.add(facet, &number.to_be_bytes(), &counts));
            breakdown(facet, sum.counts, |counts| (0, counts.records), usize::MAX).rows
        };
        let mut sum = Sum::default();
        for day in 0..200_000i64 {
            sum.add(Facet::Time, &(24 * day).to_be_bytes(), &counts);
        }
        let years = breakdown(Facet::Time, sum.counts, |_| (0, 0), usize::MAX).rows;
        let last = years.last().unwrap();
        assert_eq!(years.iter().map(|year| year.counts.records).sum::<u64>(), 200_000);
        assert_eq!((&last.name[..], last.counts.records), (OTHERS, 200_000 - 2 * (1 << 16)));
        // Hours that were counted with their days, together those of fifteen years.
        let mut sum = Sum::default();
        (0..many).for_each(|hour: i64| sum.add(Facet::Time, &hour.to_be_bytes(), &counts));
        let of_days = sum.counts.iter().filter(|(_, counts)| counts.records > 1);
        assert!(of_days.clone().count() > NAMES_MAX / 25);
        assert!(of_days.clone().all(|(name, day)| hour_of(name) % 24 == 0 && day.records <= 24));
        let years = rows(Facet::Time);
        assert_eq!(years.iter().map(|year| year.counts.records).sum::<u64>(), many as u64);
        assert_eq!((&years[0].name[..], years[0].counts.records), (&b"1970"[..], 365 * 24));
        assert_eq!((&years[14].name[..], years.len()), (&b"1984"[..], 15));
        let parameters = rows(Facet::Parameter);
        assert_eq!(
            (&parameters[0].name[..], parameters[0].counts.records),
            (OTHERS, NAMES_MAX as u64)
        );
        assert_eq!(parameters.len(), NAMES_MAX + 1);
        assert_eq!(rows(Facet::Host).len() as i64, many);
    }

    #[test]
    fn times() {
        let row = |hour: i64| BreakdownRow {
            name: hour.to_be_bytes().to_vec(),
            counts: Counts { records: 1, ..Counts::default() },
        };
        let names = |rows: Vec<BreakdownRow>| -> Vec<String> {
            let rows = by_time(rows).rows;
            rows.iter().map(|row| String::from_utf8_lossy(&row.name).into_owned()).collect()
        };
        assert_eq!(names(vec![row(1), row(0)]), ["1970-01-01T00", "1970-01-01T01"]);
        assert_eq!(names(vec![row(1), row(0), row(72)]), ["1970-01-01", "1970-01-04"]);
        assert!(names(Vec::new()).is_empty());
    }
}
