//! The counts of each name of a facet, over all records, and the tables made of them.

use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::Mutex;

use hashbrown::HashTable;

use super::Facets;
use super::names::NameTable;
use super::periods::Periods;
use super::spilled::Spilled;
use crate::cluster::Placed;
use crate::error::{Error, Result, Setting};
use crate::pipeline::Job;
use crate::pipeline::threads::pool::{Pool, Stage};
use crate::report::{Breakdown, BreakdownRow, Counts, Facet};

/// Parts of the names of a facet; one worker at a time has a part. Reason: two or three facets have
/// most of the names.
const PARTS: usize = 8;

/// The sums over all chunks: the parts of all facets.
#[derive(Debug)]
pub(crate) struct Sums(Vec<Sum>);

/// The sums of a part of the names of a facet. Every name is counted separately, however many there
/// are: sections and parameters are foreign text, of which there may be any number.
#[derive(Debug)]
struct Sum {
    names: HashTable<NameCounts>,
    /// Their texts, one after the other, so that a new one takes no memory of its own.
    texts: Vec<u8>,
    /// Bytes of memory that the part may take; beyond, it goes to a temporary file.
    bytes_max: u64,
    /// The names that did not fit in memory. Those in memory may be among them, with other counts.
    spilled: Option<Spilled>,
    /// The folder for that file.
    folder: PathBuf,
}

/// A name, and what is counted of it.
#[derive(Clone, Debug)]
struct NameCounts {
    hash: u64,
    /// Where its text starts, and how long it is.
    start: usize,
    length: u32,
    counts: Counts,
}

impl NameCounts {
    fn text<'a>(&self, texts: &'a [u8]) -> &'a [u8] {
        &texts[self.start..self.start + self.length as usize]
    }
}

impl Sums {
    /// No names yet. All facets together take half of the memory for clusters at most.
    pub(crate) fn new(job: &Job) -> Sums {
        let parts = PARTS * Facet::ALL.len();
        let bytes_max = job.budget().table_bytes() / (2 * parts as u64);
        Sums((0..parts).map(|_| Sum::new(bytes_max, job.memory.temp_dir.clone())).collect())
    }

    /// Bytes of memory that the sums may take after another batch, which is small in comparison.
    pub(crate) fn memory_bytes_ahead(&self) -> u64 {
        let bytes = |sum: &Sum| match sum.spilled {
            // Room is reserved for later names: forms must not take it.
            Some(_) => sum.bytes_max,
            None => sum.memory_bytes_ahead(),
        };
        self.0.iter().map(bytes).sum()
    }

    /// Adds the records of some `chunks`, which have been placed.
    pub(crate) fn add(&mut self, pool: &Pool, chunks: &[(&Facets, &Placed)]) -> Result<()> {
        let count = |chunk: usize| chunks[chunk].0.count(chunks[chunk].1);
        let counts = pool.map(Stage::Clustering, chunks.len(), count);
        let sums: Vec<_> = self.0.iter_mut().map(Mutex::new).collect();
        let add = |at: usize| -> Result<()> {
            let mut sum = sums[at].lock().expect("nobody else has this one");
            let (facet, part) = (at / PARTS, at % PARTS);
            for ((facets, _), counts) in chunks.iter().zip(&counts) {
                sum.add(part, &facets.columns[facet].names, &counts[facet])?;
            }
            Ok(())
        };
        pool.map(Stage::Clustering, sums.len(), add).into_iter().collect()
    }

    /// Returns the tables, with `top` rows each: by duplicates; if records are requests, by those
    /// for a page under another spelling than its first. And how many bytes were written to
    /// temporary files.
    ///
    /// Failure: a limit error if the names to be shown take too much memory.
    pub(crate) fn breakdowns(mut self, top: usize) -> Result<(Vec<Breakdown>, u64)> {
        let statuses = &self.0[PARTS * Facet::Status as usize..][..PARTS];
        let has_requests = statuses.iter().any(Sum::has_names);
        let weight = |counts: &Counts| {
            let first = if has_requests { counts.astray } else { counts.duplicate() };
            (first, counts.records)
        };
        self.0.iter_mut().try_for_each(Sum::spill_the_rest)?;
        let spilled = self.0.iter().filter_map(|sum| sum.spilled.as_ref());
        let spilled_bytes = spilled.map(Spilled::bytes).sum();
        let mut sums = self.0.into_iter();
        let tables = Facet::ALL.into_iter().map(|facet| {
            let parts = sums.by_ref().take(PARTS).collect();
            breakdown(facet, parts, weight, top)
        });
        Ok((tables.collect::<Result<_>>()?, spilled_bytes))
    }
}

impl Sum {
    fn new(bytes_max: u64, folder: PathBuf) -> Sum {
        Sum { names: HashTable::new(), texts: Vec::new(), bytes_max, spilled: None, folder }
    }

    fn has_names(&self) -> bool {
        !self.names.is_empty() || self.spilled.is_some()
    }

    /// Bytes of memory that the part may take after another batch.
    fn memory_bytes_ahead(&self) -> u64 {
        let slot_bytes = size_of::<NameCounts>() as u64 + 1;
        // Seven of eight slots may be used.
        let bytes = self.names.capacity().div_ceil(7) as u64 * 8 * slot_bytes;
        let ahead = |bytes: u64, len: usize, capacity: usize| {
            if len + len / 8 >= capacity { 2 * bytes } else { bytes }
        };
        let Sum { names, texts, .. } = self;
        let text_bytes = ahead(texts.capacity() as u64, texts.len(), texts.capacity());
        text_bytes + ahead(bytes, names.len(), names.capacity())
    }

    /// Adds the `counts` of the names of a chunk that belong to this `part`.
    fn add(&mut self, part: usize, names: &NameTable, counts: &[Counts]) -> Result<()> {
        // Neither the lowest bits, by which a table finds the slot of a name, nor the highest, by
        // which it distinguishes names in one slot.
        let part_of = |hash: u64| (hash >> 40) as usize % PARTS;
        for ((hash, name), counts) in names.iter().zip(counts) {
            if part_of(hash) == part {
                self.add_name(hash, name, counts);
            }
        }
        if self.memory_bytes_ahead() > self.bytes_max { self.spill() } else { Ok(()) }
    }

    /// Adds `counts` to those of `name`, which has this hash.
    fn add_name(&mut self, hash: u64, name: &[u8], counts: &Counts) {
        let Sum { names, texts, .. } = self;
        let is_it = |one: &NameCounts| one.hash == hash && one.text(texts) == name;
        if let Some(one) = names.find_mut(hash, is_it) {
            return one.counts.add(counts);
        }
        // The length fits in 32 bits: a name is a part of the form of a line.
        let (start, length) = (texts.len(), name.len() as u32);
        texts.extend_from_slice(name);
        let one = NameCounts { hash, start, length, counts: *counts };
        names.insert_unique(hash, one, |one| one.hash);
    }

    /// Writes the names to the temporary file, and clears them.
    fn spill(&mut self) -> Result<()> {
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            none => none.insert(Spilled::new(self.folder.clone())?),
        };
        spilled.push(self.names.iter().map(|one| (one.text(&self.texts), &one.counts)))?;
        (self.names, self.texts) = (HashTable::new(), Vec::new());
        Ok(())
    }

    /// If some names were spilled, spills those that are left.
    fn spill_the_rest(&mut self) -> Result<()> {
        if self.spilled.is_some() { self.spill() } else { Ok(()) }
    }

    /// Calls `each` with every name once, in no order.
    fn each(self, mut each: impl FnMut(&[u8], Counts) -> Result<()>) -> Result<()> {
        match self.spilled {
            None => self.names.iter().try_for_each(|one| each(one.text(&self.texts), one.counts)),
            Some(spilled) => spilled.merge(each),
        }
    }
}

/// Makes the table of a facet whose names are in `parts`: the first `top` of them by `weight`;
/// statuses by name, and periods of time in place of hours.
fn breakdown(
    facet: Facet,
    parts: Vec<Sum>,
    weight: impl Fn(&Counts) -> (u64, u64),
    top: usize,
) -> Result<Breakdown> {
    if facet == Facet::Time {
        let mut periods = Periods::default();
        for part in parts {
            part.each(|name, counts| {
                periods.add(name, &counts);
                Ok(())
            })?;
        }
        return Ok(periods.breakdown());
    }
    let order = |(a, a_counts): Named, (b, b_counts): Named| {
        // By weight, the largest first; then by name.
        let by_weight = || weight(b_counts).cmp(&weight(a_counts));
        let first = if facet == Facet::Status { Ordering::Equal } else { by_weight() };
        first.then_with(|| a.cmp(b))
    };
    let bytes_max = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.bytes_max));
    let mut first = FirstRows::new(order, top, bytes_max);
    let mut names = 0;
    for part in parts {
        part.each(|name, counts| {
            names += 1;
            first.push(name, counts)
        })?;
    }
    Ok(Breakdown { facet, names, rows: first.finish() })
}

/// A name, and what is counted of it.
type Named<'a> = (&'a [u8], &'a Counts);

/// The rows of a table to be shown, while names are added.
struct FirstRows<F> {
    /// What comes first.
    order: F,
    rows: Vec<BreakdownRow>,
    /// How many rows are shown. Once that many are `known` to come before all rows that were left
    /// out, they are the first of `rows`, in order.
    top: usize,
    known: bool,
    /// Bytes of memory that the rows take.
    bytes: u64,
    /// Bytes of memory for rows. The rows that are shown may take half of it if names were spilled;
    /// otherwise all names take less.
    bytes_max: u64,
}

/// Rows that are held, beyond twice those that are shown, before they are sorted. Reason: so few
/// take hardly any time, and each row is sorted some ten times at most.
const ROWS_AHEAD: usize = 1024;

impl<F: Fn(Named, Named) -> Ordering> FirstRows<F> {
    fn new(order: F, top: usize, bytes_max: u64) -> Self {
        FirstRows { order, rows: Vec::new(), top, known: false, bytes: 0, bytes_max }
    }

    /// Adds a row, unless it comes after those that are shown.
    fn push(&mut self, name: &[u8], counts: Counts) -> Result<()> {
        if self.known {
            let last = self.top.checked_sub(1).map(|last| &self.rows[last]);
            let is_before =
                |last: &BreakdownRow| (self.order)((name, &counts), (&last.name, &last.counts));
            if last.is_none_or(|last| is_before(last) != Ordering::Less) {
                return Ok(());
            }
        }
        self.rows.push(BreakdownRow { name: name.to_vec(), counts });
        self.bytes += bytes_of(&self.rows[self.rows.len() - 1]);
        let is_too_large = self.bytes > self.bytes_max;
        if is_too_large || self.rows.len() >= self.top.saturating_mul(2).saturating_add(ROWS_AHEAD)
        {
            self.cut();
        }
        let shown_max = self.bytes_max / 2;
        if is_too_large && self.bytes > shown_max { Err(too_much(shown_max)) } else { Ok(()) }
    }

    /// Drops all rows after those that are shown.
    fn cut(&mut self) {
        let FirstRows { order, rows, top, .. } = self;
        rows.sort_unstable_by(|a, b| order((&a.name, &a.counts), (&b.name, &b.counts)));
        rows.truncate(*top);
        self.known = rows.len() == *top;
        self.bytes = rows.iter().map(bytes_of).sum();
    }

    fn finish(mut self) -> Vec<BreakdownRow> {
        self.cut();
        self.rows
    }
}

/// Bytes of memory that a row takes.
fn bytes_of(row: &BreakdownRow) -> u64 {
    (row.name.len() + size_of::<BreakdownRow>()) as u64
}

/// The error for names to be shown that take more than `bytes`.
#[cold]
fn too_much(bytes: u64) -> Error {
    Error::limit(format!(
        "the names that are shown of one table take more than {} KiB, which is too much where they \
         have no room in memory; raise {}, or lower {}",
        bytes >> 10,
        Setting::Memory,
        Setting::Top
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of rows with these counts, in chunks of `chunk`; all may take `bytes_max`.
    fn sums_of(rows: &[BreakdownRow], chunk: usize, bytes_max: u64) -> Vec<Sum> {
        let new = |_| Sum::new(bytes_max / PARTS as u64, std::env::temp_dir());
        let mut sums: Vec<Sum> = (0..PARTS).map(new).collect();
        for rows in rows.chunks(chunk) {
            let mut names = NameTable::default();
            rows.iter()
                .for_each(|row| assert!(names.number(&row.name) as usize + 1 == names.len()));
            let counts: Vec<Counts> = rows.iter().map(|row| row.counts).collect();
            for (part, sum) in sums.iter_mut().enumerate() {
                sum.add(part, &names, &counts).unwrap();
            }
        }
        sums
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
                let mut sums = sums_of(&rows, 1000, bytes_max);
                for sum in &mut sums {
                    assert_eq!(sum.spilled.is_some(), bytes_max == 1 << 20);
                    assert!(sum.has_names());
                    sum.spill_the_rest().unwrap();
                }
                let breakdown = breakdown(facet, sums, weight, 2).unwrap();
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
        let sums = sums_of(&rows, 2, u64::MAX);
        let breakdown = breakdown(Facet::Status, sums, weight, 9).unwrap();
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
            let mut sums = sums_of(&rows, 100, bytes_max);
            sums.iter_mut().try_for_each(Sum::spill_the_rest)?;
            breakdown(Facet::Host, sums, weight, top)
        };
        for top in [0, 1, 20, 100] {
            let (spilled, all) = (of(20_000, top).unwrap(), of(u64::MAX, top).unwrap());
            assert_eq!((spilled.names, all.names), (5000, 5000));
            assert_eq!(shown(&spilled), shown(&all), "{top}");
        }
        let error = of(20_000, 200).unwrap_err().to_string();
        assert!(error.contains("names that are shown") && error.contains("lower top"), "{error}");
    }
}
