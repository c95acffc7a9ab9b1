//! What is counted of each name of a facet, over all records, and the tables made of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use hashbrown::HashTable;

use super::names::hash_of;
use super::spilled::Spilled;
use super::{Column, FacetCounts, Facets};
use crate::cluster::Placed;
use crate::error::{Error, Result};
use crate::pipeline::Job;
use crate::pipeline::pool::{Pool, Stage};
use crate::record::time;
use crate::report::{Breakdown, BreakdownRow, Counts, Facet};

/// Names of a facet that are told apart; records with one that comes later are counted together,
/// and hours by their days. Hosts are all told apart.
///
/// Reason: sections and parameters are written by strangers, who have no end of them.
const NAMES_MAX: usize = 1 << 16;

/// Days of hours beyond that which are told apart. Reason: 179 years.
const DAYS_MAX: usize = 1 << 16;

/// The sums over all chunks.
#[derive(Debug)]
pub(in crate::pipeline) struct Sums {
    of: [Sum; Facet::ALL.len()],
    /// The hosts that had no room in memory; the others are with the other facets.
    spilled_hosts: Option<Spilled>,
    /// Bytes of memory that hosts may take before they go there.
    hosts_bytes_max: u64,
    folder: PathBuf,
}

/// The sums of one facet.
#[derive(Debug, Default)]
struct Sum {
    names: HashTable<NameCounts>,
    /// Of the records with a name beyond those that are told apart, each of them once.
    others: Counts,
    /// Bytes of memory that the texts of the names take.
    text_bytes: u64,
}

/// A name, and what is counted of it.
#[derive(Clone, Debug)]
struct NameCounts {
    hash: u64,
    name: Box<[u8]>,
    counts: Counts,
}

impl Sums {
    /// No names yet.
    pub(in crate::pipeline) fn new(job: &Job) -> Sums {
        Sums {
            of: Default::default(),
            spilled_hosts: None,
            hosts_bytes_max: job.budget().table_bytes() / 4,
            folder: job.memory.temp_dir.clone(),
        }
    }

    /// Bytes of memory that the sums may take after another batch, which is small beside them.
    pub(in crate::pipeline) fn memory_bytes_ahead(&self) -> u64 {
        let bytes: u64 = self.of.iter().map(Sum::memory_bytes_ahead).sum();
        let hosts = self.of[Facet::Host as usize].memory_bytes_ahead();
        // Room is kept for those to come, where some were spilled: pages must not take it.
        let missing =
            self.spilled_hosts.as_ref().map_or(0, |_| self.hosts_bytes_max.saturating_sub(hosts));
        bytes + missing
    }

    /// Adds the records of some `chunks`, which have been placed.
    pub(in crate::pipeline) fn add(
        &mut self,
        pool: &Pool,
        chunks: &[(&Facets, &Placed)],
    ) -> Result<()> {
        let count = |(): &mut (), chunk: usize| chunks[chunk].0.count(chunks[chunk].1);
        let counts = pool.map(Stage::Clustering, chunks.len(), || (), count);
        self.each(pool, |sum, facet| {
            for ((facets, placed), counts) in chunks.iter().zip(&counts) {
                sum.add_column(facet, &facets.columns[facet as usize], placed, counts);
            }
        });
        if self.are_hosts_full() { self.spill_hosts() } else { Ok(()) }
    }

    /// Do hosts take more memory than they may?
    fn are_hosts_full(&self) -> bool {
        self.of[Facet::Host as usize].memory_bytes_ahead() > self.hosts_bytes_max
    }

    /// Puts the hosts into a temporary file.
    fn spill_hosts(&mut self) -> Result<()> {
        let hosts = std::mem::take(&mut self.of[Facet::Host as usize]);
        let spilled = match &mut self.spilled_hosts {
            Some(spilled) => spilled,
            none => none.insert(Spilled::new(self.folder.clone())?),
        };
        spilled.push(hosts.names.iter().map(|one| (&one.name[..], &one.counts)))
    }

    /// Does `work` with the sums of every facet, on all workers. Those of one facet are one
    /// worker's, so that chunks come in order.
    fn each(&mut self, pool: &Pool, work: impl Fn(&mut Sum, Facet) + Sync) {
        let sums = self.of.each_mut().map(Mutex::new);
        let with = |(): &mut (), at: usize| {
            let mut sum = sums[at].lock().expect("nobody else has this one");
            work(&mut sum, Facet::ALL[at]);
        };
        pool.each(Stage::Clustering, sums.len(), || (), with);
    }

    /// The tables, with `top` rows each: by duplicates; where records are requests, by those that
    /// asked for a page by another spelling than its first. And how many bytes were written to
    /// temporary files.
    ///
    /// Failure: hosts that were spilled are to be shown, and take too much memory.
    pub(in crate::pipeline) fn breakdowns(mut self, top: usize) -> Result<(Vec<Breakdown>, u64)> {
        let has_requests = !self.of[Facet::Status as usize].names.is_empty();
        let weight = |counts: &Counts| {
            let first = if has_requests { counts.astray } else { counts.duplicate() };
            (first, counts.records)
        };
        if self.spilled_hosts.is_some() {
            self.spill_hosts()?;
        }
        let spilled_bytes = self.spilled_hosts.as_ref().map_or(0, Spilled::bytes);
        let tables = Facet::ALL.into_iter().zip(self.of);
        let mut tables: Vec<Breakdown> =
            tables.map(|(facet, sum)| breakdown(facet, sum.rows(), weight, top)).collect();
        if let Some(spilled) = self.spilled_hosts {
            tables[Facet::Host as usize] =
                breakdown_of_spilled(spilled, weight, top, self.hosts_bytes_max)?;
        }
        Ok((tables, spilled_bytes))
    }
}

impl Sum {
    /// Bytes of memory that it may take after another batch.
    fn memory_bytes_ahead(&self) -> u64 {
        let slot_bytes = size_of::<NameCounts>() as u64 + 1;
        // Seven of eight slots may be used.
        let bytes = self.names.capacity().div_ceil(7) as u64 * 8 * slot_bytes;
        let grows = self.names.len() + self.names.len() / 8 >= self.names.capacity();
        self.text_bytes + if grows { 2 * bytes } else { bytes }
    }

    /// Adds the records of a chunk, which have been `placed`: its `column` of this facet, whose
    /// names have the counts of `facet` in `counts`.
    fn add_column(&mut self, facet: Facet, column: &Column, placed: &Placed, counts: &FacetCounts) {
        let (mut others, mut has_others) = (Vec::new(), false);
        for ((name, counts), number) in column.names.iter().zip(&counts[facet as usize]).zip(0..) {
            if !self.add_hashed(facet, name, counts) {
                if !has_others {
                    (others, has_others) = (vec![false; column.names.len()], true);
                }
                others[number] = true;
            }
        }
        // A record with several of these names is one record still.
        if has_others {
            self.others.add(&column.count_any(placed, &others));
        }
    }

    /// Adds `counts` to those of `name`, which comes with its hash; where there are too many names,
    /// to those of the day of an hour. Returns false where `name` is one of those beyond that.
    fn add_hashed(&mut self, facet: Facet, (hash, name): (u64, &[u8]), counts: &Counts) -> bool {
        if let Some(sum) = self.counts_of(hash, name) {
            sum.add(counts);
            return true;
        }
        let is_full = self.names.len() >= NAMES_MAX && facet != Facet::Host;
        if !is_full {
            self.add_new(hash, name, counts);
        } else if facet == Facet::Time {
            return self.add_day((hour_of(name).div_euclid(24) * 24).to_be_bytes(), counts);
        }
        !is_full
    }

    /// Adds `counts` to those of a day, which has the name of its first hour; returns false where
    /// there are too many of them, and this is none of those.
    fn add_day(&mut self, day: [u8; 8], counts: &Counts) -> bool {
        let hash = hash_of(&day);
        if let Some(sum) = self.counts_of(hash, &day) {
            sum.add(counts);
            return true;
        }
        let has_room = self.names.len() < NAMES_MAX + DAYS_MAX;
        if has_room {
            self.add_new(hash, &day, counts);
        }
        has_room
    }

    fn add_new(&mut self, hash: u64, name: &[u8], counts: &Counts) {
        self.text_bytes += name.len() as u64 + 16;
        let one = NameCounts { hash, name: name.into(), counts: *counts };
        self.names.insert_unique(hash, one, |one| one.hash);
    }

    fn counts_of(&mut self, hash: u64, name: &[u8]) -> Option<&mut Counts> {
        let one = self.names.find_mut(hash, |one| one.hash == hash && *one.name == *name)?;
        Some(&mut one.counts)
    }

    /// A row for each name, in no order, and the counts of all others, if there are any.
    fn rows(self) -> (Vec<BreakdownRow>, Option<Counts>) {
        let row = |one: NameCounts| BreakdownRow { name: one.name.into(), counts: one.counts };
        let has_others = self.others.records > 0;
        (self.names.into_iter().map(row).collect(), has_others.then_some(self.others))
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
    (mut rows, others): (Vec<BreakdownRow>, Option<Counts>),
    weight: impl Fn(&Counts) -> (u64, u64),
    top: usize,
) -> Breakdown {
    if facet == Facet::Time {
        return by_time(rows, others);
    }
    let names = rows.len() as u64;
    match facet {
        Facet::Status => rows.sort_unstable_by(|a, b| a.name.cmp(&b.name)),
        _ => sort(&mut rows, weight),
    }
    rows.truncate(top);
    Breakdown { facet, names, rows, others }
}

/// The same of the hosts that were `spilled`. Those that are shown may take half of `bytes_max`.
fn breakdown_of_spilled(
    spilled: Spilled,
    weight: impl Fn(&Counts) -> (u64, u64),
    top: usize,
    bytes_max: u64,
) -> Result<Breakdown> {
    let bytes_of = |row: &BreakdownRow| (row.name.len() + size_of::<BreakdownRow>()) as u64;
    let (mut names, mut rows, mut bytes) = (0, Vec::new(), 0);
    spilled.merge(|name, counts| {
        names += 1;
        rows.push(BreakdownRow { name: name.to_vec(), counts });
        bytes += bytes_of(&rows[rows.len() - 1]);
        if bytes > bytes_max {
            sort(&mut rows, &weight);
            rows.truncate(top);
            bytes = rows.iter().map(bytes_of).sum();
            if bytes > bytes_max / 2 {
                return Err(too_much(bytes_max / 2));
            }
        }
        Ok(())
    })?;
    sort(&mut rows, &weight);
    rows.truncate(top);
    Ok(Breakdown { facet: Facet::Host, names, rows, others: None })
}

/// The hosts that are to be shown take more than `bytes`.
#[cold]
fn too_much(bytes: u64) -> Error {
    Error::limit(format!(
        "the hosts that are shown take more than {} KiB, which is too much where they have no room \
         in memory; raise -S, or lower --top",
        bytes >> 10
    ))
}

/// By weight, the largest first; by name where that is the same.
fn sort(rows: &mut [BreakdownRow], weight: impl Fn(&Counts) -> (u64, u64)) {
    rows.sort_unstable_by(|a, b| {
        let order = weight(&b.counts).cmp(&weight(&a.counts));
        order.then_with(|| a.name.cmp(&b.name))
    });
}

/// The hour that has this name.
fn hour_of(name: &[u8]) -> i64 {
    name.try_into().map_or(0, i64::from_be_bytes)
}

/// The rows of hours if they are near to each other, in order; or of days, or else of months, if
/// these are few; or of years.
fn by_time(rows: Vec<BreakdownRow>, others: Option<Counts>) -> Breakdown {
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
    Breakdown { facet: Facet::Time, names, rows: rows.collect(), others }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds the counts of a record that has this name alone.
    fn add(sum: &mut Sum, facet: Facet, name: &[u8], counts: &Counts) {
        if !sum.add_hashed(facet, (hash_of(name), name), counts) {
            sum.others.add(counts);
        }
    }

    #[test]
    fn rows_of_time_are_as_fine_as_can_be_read() {
        let rows = |hours: &[i64]| -> Vec<(String, u64)> {
            let mut sum = Sum::default();
            let counts = Counts { records: 1, ..Counts::default() };
            hours.iter().for_each(|hour| add(&mut sum, Facet::Time, &hour.to_be_bytes(), &counts));
            let rows = breakdown(Facet::Time, sum.rows(), |_| (0, 0), 1).rows;
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
        let table = |facet| {
            let mut sum = Sum::default();
            (0..many).for_each(|number: i64| add(&mut sum, facet, &number.to_be_bytes(), &counts));
            breakdown(facet, sum.rows(), |counts| (0, counts.records), usize::MAX)
        };
        let mut sum = Sum::default();
        for day in 0..200_000i64 {
            add(&mut sum, Facet::Time, &(24 * day).to_be_bytes(), &counts);
        }
        // Of days that have a row, however many there are: hours that have none.
        let hours: [i64; 2] = [24 * 7 + 5, 24 * (1 << 17) - 1];
        hours.iter().for_each(|hour| add(&mut sum, Facet::Time, &hour.to_be_bytes(), &counts));
        let years = breakdown(Facet::Time, sum.rows(), |_| (0, 0), usize::MAX);
        let told: u64 = years.rows.iter().map(|year| year.counts.records).sum();
        assert_eq!((told, years.names), (2 * (1 << 16) + 2, years.rows.len() as u64));
        assert_eq!(years.others.unwrap().records, 200_002 - told);
        // Hours that were counted with their days, together those of fifteen years.
        let mut sum = Sum::default();
        (0..many).for_each(|hour: i64| add(&mut sum, Facet::Time, &hour.to_be_bytes(), &counts));
        let of_days = sum.names.iter().filter(|day| day.counts.records > 1);
        assert!(of_days.clone().count() > NAMES_MAX / 25);
        assert!(
            of_days.clone().all(|day| hour_of(&day.name) % 24 == 0 && day.counts.records <= 24)
        );
        let years = table(Facet::Time).rows;
        assert_eq!(years.iter().map(|year| year.counts.records).sum::<u64>(), many as u64);
        assert_eq!((&years[0].name[..], years[0].counts.records), (&b"1970"[..], 365 * 24));
        assert_eq!((&years[14].name[..], years.len()), (&b"1984"[..], 15));
        let parameters = table(Facet::Parameter);
        assert_eq!(parameters.others.unwrap().records, NAMES_MAX as u64);
        assert_eq!((parameters.names, parameters.rows.len()), (NAMES_MAX as u64, NAMES_MAX));
        let hosts = table(Facet::Host);
        assert_eq!((hosts.rows.len() as i64, hosts.others), (many, None));
    }

    #[test]
    fn what_is_shown_of_spilled_hosts_is_bounded() {
        let counts = |number: u64| Counts { records: number * 7919 % 997, ..Counts::default() };
        let rows: Vec<BreakdownRow> = (0..5000u64)
            .map(|number| BreakdownRow {
                name: format!("h{number}.test").into_bytes(),
                counts: counts(number),
            })
            .collect();
        let weight = |counts: &Counts| (0, counts.records);
        let shown = |top| {
            let mut spilled = Spilled::new(std::env::temp_dir())?;
            spilled.push(rows.iter().map(|row| (&row.name[..], &row.counts)))?;
            breakdown_of_spilled(spilled, weight, top, 20_000)
        };
        for top in [0, 1, 20, 100] {
            let expected = breakdown(Facet::Host, (rows.clone(), None), weight, top);
            let breakdown = shown(top).unwrap();
            assert_eq!(breakdown.names, 5000);
            let shown = |one: Breakdown| -> Vec<(Vec<u8>, Counts)> {
                one.rows.into_iter().map(|row| (row.name, row.counts)).collect()
            };
            assert_eq!(shown(breakdown), shown(expected), "{top}");
        }
        let error = shown(200).unwrap_err().to_string();
        assert!(error.contains("the hosts that are shown") && error.contains("--top"), "{error}");
    }

    #[test]
    fn times() {
        let row = |hour: i64| BreakdownRow {
            name: hour.to_be_bytes().to_vec(),
            counts: Counts { records: 1, ..Counts::default() },
        };
        let names = |rows: Vec<BreakdownRow>| -> Vec<String> {
            let rows = by_time(rows, None).rows;
            rows.iter().map(|row| String::from_utf8_lossy(&row.name).into_owned()).collect()
        };
        assert_eq!(names(vec![row(1), row(0)]), ["1970-01-01T00", "1970-01-01T01"]);
        assert_eq!(names(vec![row(1), row(0), row(72)]), ["1970-01-01", "1970-01-04"]);
        assert!(names(Vec::new()).is_empty());
    }
}
