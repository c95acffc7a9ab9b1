//! What is counted of each name of a facet, over all records, and the tables made of it.

use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::Mutex;

use hashbrown::HashTable;

use super::Facets;
use super::names::Names;
use super::periods::Periods;
use super::spilled::Spilled;
use crate::cluster::Placed;
use crate::error::{Error, Result};
use crate::pipeline::Job;
use crate::pipeline::pool::{Pool, Stage};
use crate::report::{Breakdown, BreakdownRow, Counts, Facet};

/// The sums over all chunks, by facet.
#[derive(Debug)]
pub(in crate::pipeline) struct Sums([Sum; Facet::ALL.len()]);

/// The sums of one facet. All names are told apart, however many there are: sections and parameters
/// are written by strangers, who have no end of them.
#[derive(Debug)]
struct Sum {
    facet: Facet,
    names: HashTable<NameCounts>,
    /// Bytes of memory that the texts of the names take.
    text_bytes: u64,
    /// Bytes of memory that all of it may take; then it goes to a temporary file.
    bytes_max: u64,
    /// The names that had no room in memory, some of them with other counts than those there.
    spilled: Option<Spilled>,
    /// The folder for that file.
    folder: PathBuf,
}

/// A name, and what is counted of it.
#[derive(Clone, Debug)]
struct NameCounts {
    hash: u64,
    name: Box<[u8]>,
    counts: Counts,
}

impl Sums {
    /// No names yet. All facets together take half of the memory for clusters at most.
    pub(in crate::pipeline) fn new(job: &Job) -> Sums {
        let bytes_max = job.budget().table_bytes() / (2 * Facet::ALL.len() as u64);
        Sums(Facet::ALL.map(|facet| Sum::new(facet, bytes_max, job.memory.temp_dir.clone())))
    }

    /// Bytes of memory that the sums may take after another batch, which is small beside them.
    pub(in crate::pipeline) fn memory_bytes_ahead(&self) -> u64 {
        let bytes = |sum: &Sum| match sum.spilled {
            // Room is kept for those to come: forms must not take it.
            Some(_) => sum.bytes_max,
            None => sum.memory_bytes_ahead(),
        };
        self.0.iter().map(bytes).sum()
    }

    /// Adds the records of some `chunks`, which have been placed.
    pub(in crate::pipeline) fn add(
        &mut self,
        pool: &Pool,
        chunks: &[(&Facets, &Placed)],
    ) -> Result<()> {
        let count = |(): &mut (), chunk: usize| chunks[chunk].0.count(chunks[chunk].1);
        let counts = pool.map(Stage::Clustering, chunks.len(), || (), count);
        // Those of one facet are one worker's, so that chunks come in order.
        let sums = self.0.each_mut().map(Mutex::new);
        let add = |(): &mut (), at: usize| -> Result<()> {
            let mut sum = sums[at].lock().expect("nobody else has this one");
            for ((facets, _), counts) in chunks.iter().zip(&counts) {
                sum.add(&facets.columns[at].names, &counts[at])?;
            }
            Ok(())
        };
        pool.map(Stage::Clustering, sums.len(), || (), add).into_iter().collect()
    }

    /// The tables, with `top` rows each: by duplicates; where records are requests, by those that
    /// asked for a page by another spelling than its first. And how many bytes were written to
    /// temporary files.
    ///
    /// Failure: names that were spilled are to be shown, and take too much memory.
    pub(in crate::pipeline) fn breakdowns(self, top: usize) -> Result<(Vec<Breakdown>, u64)> {
        let has_requests = self.0[Facet::Status as usize].has_names();
        let weight = |counts: &Counts| {
            let first = if has_requests { counts.astray } else { counts.duplicate() };
            (first, counts.records)
        };
        let mut spilled_bytes = 0;
        let tables = self.0.into_iter().map(|mut sum| {
            sum.spill_the_rest()?;
            spilled_bytes += sum.spilled.as_ref().map_or(0, Spilled::bytes);
            sum.breakdown(weight, top)
        });
        let tables = tables.collect::<Result<_>>()?;
        Ok((tables, spilled_bytes))
    }
}

impl Sum {
    fn new(facet: Facet, bytes_max: u64, folder: PathBuf) -> Sum {
        Sum { facet, names: HashTable::new(), text_bytes: 0, bytes_max, spilled: None, folder }
    }

    fn has_names(&self) -> bool {
        !self.names.is_empty() || self.spilled.is_some()
    }

    /// Bytes of memory that it may take after another batch.
    fn memory_bytes_ahead(&self) -> u64 {
        let slot_bytes = size_of::<NameCounts>() as u64 + 1;
        // Seven of eight slots may be used.
        let bytes = self.names.capacity().div_ceil(7) as u64 * 8 * slot_bytes;
        let grows = self.names.len() + self.names.len() / 8 >= self.names.capacity();
        self.text_bytes + if grows { 2 * bytes } else { bytes }
    }

    /// Adds the `counts` of the names of a chunk.
    fn add(&mut self, names: &Names, counts: &[Counts]) -> Result<()> {
        for ((hash, name), counts) in names.iter().zip(counts) {
            self.add_name(hash, name, counts);
        }
        if self.memory_bytes_ahead() > self.bytes_max { self.spill() } else { Ok(()) }
    }

    /// Adds `counts` to those of `name`, which has this hash.
    fn add_name(&mut self, hash: u64, name: &[u8], counts: &Counts) {
        let is_it = |one: &NameCounts| one.hash == hash && *one.name == *name;
        if let Some(one) = self.names.find_mut(hash, is_it) {
            return one.counts.add(counts);
        }
        self.text_bytes += name.len() as u64 + 16;
        let one = NameCounts { hash, name: name.into(), counts: *counts };
        self.names.insert_unique(hash, one, |one| one.hash);
    }

    /// Puts the names into the temporary file.
    fn spill(&mut self) -> Result<()> {
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            none => none.insert(Spilled::new(self.folder.clone())?),
        };
        spilled.push(self.names.iter().map(|one| (&one.name[..], &one.counts)))?;
        self.names = HashTable::new();
        self.text_bytes = 0;
        Ok(())
    }

    /// If some names were spilled, spills those that are left.
    fn spill_the_rest(&mut self) -> Result<()> {
        if self.spilled.is_some() { self.spill() } else { Ok(()) }
    }

    /// Gives `each` all names, none of them twice, in no order.
    fn each(self, mut each: impl FnMut(&[u8], Counts) -> Result<()>) -> Result<()> {
        match self.spilled {
            None => self.names.iter().try_for_each(|one| each(&one.name, one.counts)),
            Some(spilled) => spilled.merge(each),
        }
    }

    /// The table: the first `top` names by `weight`; statuses by name, and periods of time in
    /// place of hours.
    fn breakdown(self, weight: impl Fn(&Counts) -> (u64, u64), top: usize) -> Result<Breakdown> {
        let facet = self.facet;
        if facet == Facet::Time {
            let mut periods = Periods::default();
            self.each(|name, counts| {
                periods.add(name, &counts);
                Ok(())
            })?;
            return Ok(periods.breakdown());
        }
        let mut first = FirstRows { rows: Vec::new(), bytes: 0, top, bytes_max: self.bytes_max };
        // By weight, the largest first; by name where that is the same.
        let sort = |rows: &mut Vec<BreakdownRow>| {
            rows.sort_unstable_by(|a, b| {
                let by_weight = || weight(&b.counts).cmp(&weight(&a.counts));
                let order = if facet == Facet::Status { Ordering::Equal } else { by_weight() };
                order.then_with(|| a.name.cmp(&b.name))
            });
        };
        let mut names = 0;
        self.each(|name, counts| {
            names += 1;
            first.push(BreakdownRow { name: name.to_vec(), counts }, sort)
        })?;
        Ok(Breakdown { facet, names, rows: first.finish(sort) })
    }
}

/// The rows of a table that are to be shown, while not all names have been seen.
struct FirstRows {
    rows: Vec<BreakdownRow>,
    /// Bytes of memory that they take.
    bytes: u64,
    /// How many are to be shown.
    top: usize,
    /// Bytes of memory for rows. Those that are shown may take half of it where names were spilled;
    /// all names take less where none were.
    bytes_max: u64,
}

impl FirstRows {
    /// Adds a row, and leaves those out that come behind the `top` first ones in the order of
    /// `sort`, if they take too much memory.
    fn push(&mut self, row: BreakdownRow, sort: impl Fn(&mut Vec<BreakdownRow>)) -> Result<()> {
        let bytes_of = |row: &BreakdownRow| (row.name.len() + size_of::<BreakdownRow>()) as u64;
        self.bytes += bytes_of(&row);
        self.rows.push(row);
        if self.bytes <= self.bytes_max {
            return Ok(());
        }
        sort(&mut self.rows);
        self.rows.truncate(self.top);
        self.bytes = self.rows.iter().map(bytes_of).sum();
        if self.bytes > self.bytes_max / 2 { Err(too_much(self.bytes_max / 2)) } else { Ok(()) }
    }

    fn finish(mut self, sort: impl Fn(&mut Vec<BreakdownRow>)) -> Vec<BreakdownRow> {
        sort(&mut self.rows);
        self.rows.truncate(self.top);
        self.rows
    }
}

/// The names that are to be shown take more than `bytes`.
#[cold]
fn too_much(bytes: u64) -> Error {
    Error::limit(format!(
        "the names that are shown of one table take more than {} KiB, which is too much where they \
         have no room in memory; raise -S, or lower --top",
        bytes >> 10
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of rows with these counts, in chunks of `chunk`, which may take `bytes_max`.
    fn sum_of(facet: Facet, rows: &[BreakdownRow], chunk: usize, bytes_max: u64) -> Sum {
        let mut sum = Sum::new(facet, bytes_max, std::env::temp_dir());
        for rows in rows.chunks(chunk) {
            let mut names = Names::default();
            rows.iter()
                .for_each(|row| assert!(names.number(&row.name) as usize + 1 == names.len()));
            let counts: Vec<Counts> = rows.iter().map(|row| row.counts).collect();
            sum.add(&names, &counts).unwrap();
        }
        sum
    }

    fn weight(counts: &Counts) -> (u64, u64) {
        (counts.astray, counts.records)
    }

    /// The name of each row, and its records.
    fn shown(breakdown: &Breakdown) -> Vec<(String, u64)> {
        let row =
            |row: &BreakdownRow| (String::from_utf8(row.name.clone()).unwrap(), row.counts.records);
        breakdown.rows.iter().map(row).collect()
    }

    #[test]
    fn all_names_are_told_apart_with_room_and_without() {
        // Each name in six chunks, the last ones with the most records.
        let rows: Vec<BreakdownRow> = (0..6 * 30_000u64)
            .map(|number| BreakdownRow {
                name: (number % 30_000).to_string().into_bytes(),
                counts: Counts { records: number % 30_000, ..Counts::default() },
            })
            .collect();
        for facet in [Facet::Host, Facet::Section, Facet::Parameter, Facet::Agent] {
            for bytes_max in [u64::MAX, 1 << 20] {
                let mut sum = sum_of(facet, &rows, 1000, bytes_max);
                assert_eq!(sum.spilled.is_some(), bytes_max == 1 << 20);
                assert!(sum.has_names());
                sum.spill_the_rest().unwrap();
                let breakdown = sum.breakdown(weight, 2).unwrap();
                assert_eq!(breakdown.names, 30_000);
                let first = [29_999, 29_998].map(|number: u64| (number.to_string(), 6 * number));
                assert_eq!(shown(&breakdown), first);
            }
        }
    }

    #[test]
    fn statuses_are_in_order() {
        let rows = ["5xx", "2xx", "-5003"].map(|name| BreakdownRow {
            name: name.into(),
            counts: Counts { records: name.len() as u64, ..Counts::default() },
        });
        let breakdown = sum_of(Facet::Status, &rows, 2, u64::MAX).breakdown(weight, 9).unwrap();
        assert_eq!(
            shown(&breakdown),
            [("-5003", 5), ("2xx", 3), ("5xx", 3)].map(|(a, b)| (a.into(), b))
        );
    }

    #[test]
    fn what_is_shown_of_spilled_names_is_bounded() {
        let rows: Vec<BreakdownRow> = (0..5000u64)
            .map(|number| BreakdownRow {
                name: format!("h{number}.test").into_bytes(),
                counts: Counts { records: number * 7919 % 997, ..Counts::default() },
            })
            .collect();
        let of = |bytes_max, top| {
            let mut sum = sum_of(Facet::Host, &rows, 100, bytes_max);
            sum.spill_the_rest()?;
            sum.breakdown(weight, top)
        };
        for top in [0, 1, 20, 100] {
            let (spilled, all) = (of(20_000, top).unwrap(), of(u64::MAX, top).unwrap());
            assert_eq!((spilled.names, all.names), (5000, 5000));
            assert_eq!(shown(&spilled), shown(&all), "{top}");
        }
        let error = of(20_000, 200).unwrap_err().to_string();
        assert!(error.contains("names that are shown") && error.contains("--top"), "{error}");
    }
}
