//! Records whose forms do not fit in memory, in files.
//!
//! ```text
//! reading     what Levels knew, then ladders --> Spill (`ladder_records.rs`), by partition
//! at the end  partition by partition: the steps --> what became of each record
//! reading     that, record by record in the same order --> Ladders (`places.rs`)
//! ```
//!
//! A partition whose forms do not fit in memory is processed in parts, by the forms' fingerprints.
//! Each part reads all steps of the partition, and updates all places. So there is no limit to the
//! records and forms of a partition, nor to those of one page.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ladder_records::Step;
use super::ladders::{Ladder, Ladders};
use super::places::{PlaceWriter, Places};
use super::{Forms, Largest, Levels, Page, keep_largest};
use crate::cluster::census::Cluster;
use crate::cluster::on_disk::extents::{Extent, Extents, damaged};
use crate::cluster::on_disk::spill::{Spill, SpillFiles};
use crate::cluster::partitions::Partitions;
use crate::cluster::scatter::PARTITION_BITS;
use crate::fingerprint::Fingerprint;

/// After this many steps, whether the forms still fit is checked: some kilobytes of steps.
const STEPS_BETWEEN: u64 = 128;

/// Most parts of a partition. Reason: all its steps are read for each part.
const PARTS_MAX: u64 = 1 << 16;

/// Records that wait for the end of the input.
#[derive(Debug)]
pub struct Unplaced {
    spill: Spill<Step>,
    /// How many records each partition has.
    records: Partitions<u64>,
    /// How many levels there are.
    levels: u8,
    /// How many steps of a partition fitted the last time that not all of them did.
    steps: AtomicU64,
    places: Extents,
    /// The extents of the places of each partition.
    extents: Partitions<Option<Extent>>,
}

/// The number of pages, and the largest of them.
#[derive(Debug, Default)]
pub struct PageTotals {
    /// How many pages there are.
    pub pages: u64,
    /// The largest of the pages.
    pub largest: Largest,
}

impl PageTotals {
    /// Adds other pages; the `count` largest are kept.
    pub fn add(&mut self, more: PageTotals, count: usize) {
        let PageTotals { pages, largest } = more;
        self.pages += pages;
        self.largest.extend(largest);
        keep_largest(count, &mut self.largest);
    }
}

impl Unplaced {
    /// Begins without records. What `levels` knows goes to `files`, through buffers of
    /// `buffer_bytes`, and so do records; their places go to `places`. All files are empty.
    pub fn new(levels: &Levels, files: SpillFiles, places: File, buffer_bytes: usize) -> Self {
        Unplaced {
            spill: Spill::new(files, buffer_bytes),
            records: Partitions::default(),
            levels: levels.count(),
            steps: AtomicU64::new(u64::MAX),
            places: Extents::new(places),
            extents: Partitions::default(),
        }
    }

    /// Moves what `levels` knows of `partition` to the files. To be called before any record is
    /// added.
    pub fn take(&self, partition: usize, levels: &Levels) -> io::Result<()> {
        let forms = levels.take(partition);
        let pages = forms.pages().flat_map(|(last, page)| Step::of_page(last, page));
        let others = forms.others().map(|(form, levels)| Step::Other { form, levels });
        self.spill.append(partition, pages.chain(others))
    }

    /// Adds the records of `partition` in `chunks`, each with the number of its first line, from 0
    /// over all inputs. Batches and chunks come in order.
    pub fn add<'a>(
        &self,
        partition: usize,
        chunks: impl Iterator<Item = (&'a Ladders, u64)>,
    ) -> io::Result<()> {
        let mut steps = self.spill.appender(partition);
        let mut records = self.records.lock(partition);
        for (ladders, first_line) in chunks {
            for (_, ladder) in ladders.of(partition, first_line) {
                Step::of_ladder(ladder).try_for_each(|step| steps.push(step))?;
                *records += 1;
            }
        }
        Ok(())
    }

    /// To be called after the last record: writes what is still in the buffers.
    pub fn finish(&self) -> io::Result<()> {
        self.spill.finish()
    }

    /// Finds the places of the records of `partition`, with its forms in `bytes_max` of memory.
    /// `None` if the forms take more than 65,536 times that. Returns the `count` largest clusters.
    pub fn resolve(
        &self,
        partition: usize,
        bytes_max: u64,
        count: usize,
    ) -> io::Result<Option<PageTotals>> {
        let records = *self.records.lock(partition);
        let at = self.places.set_aside(records).next_at();
        let extent = Extent { at, end: at + records };
        *self.extents.lock(partition) = Some(extent);
        // A guess from the steps of earlier partitions, not from their number of parts: partitions
        // are equally large only if no page has many records.
        let steps = self.spill.records(partition);
        let mut parts = steps.div_ceil(self.steps.load(Ordering::Relaxed)).max(1);
        while parts <= PARTS_MAX {
            let had_room = match self.resolve_in(parts, partition, extent, bytes_max, count)? {
                ControlFlow::Continue(found) => return Ok(Some(found)),
                ControlFlow::Break(steps) => steps,
            };
            self.steps.store((had_room / parts / 8 * 7).max(1), Ordering::Relaxed);
            parts = (2 * parts).max(parts * steps.div_ceil(had_room.max(1)));
        }
        Ok(None)
    }

    /// Finds the places of the records of `partition` in this many parts, as [`Unplaced::resolve`]
    /// does; they go to `extent`. Breaks with the number of steps after which the forms exceeded
    /// `bytes_max`.
    fn resolve_in(
        &self,
        parts: u64,
        partition: usize,
        extent: Extent,
        bytes_max: u64,
        count: usize,
    ) -> io::Result<ControlFlow<u64, PageTotals>> {
        let mut found = PageTotals::default();
        for part in 0..parts {
            let places = PlaceWriter::new(self.places.file(), extent, part > 0);
            let forms = match self.part_of(partition, (part, parts), bytes_max, places)? {
                ControlFlow::Continue(forms) => forms,
                ControlFlow::Break(steps) => return Ok(ControlFlow::Break(steps)),
            };
            found.pages += forms.len();
            forms.add_largest(count, &mut found.largest);
        }
        Ok(ControlFlow::Continue(found))
    }

    /// Reads all steps, and returns the forms of part `part` of this many parts; the places of
    /// records by these forms go to `places`.
    fn part_of(
        &self,
        partition: usize,
        (part, parts): (u64, u64),
        bytes_max: u64,
        mut places: PlaceWriter,
    ) -> io::Result<ControlFlow<u64, Forms>> {
        let has = |form: Fingerprint| {
            let bits = (form.0 << PARTITION_BITS >> 64) * u128::from(parts);
            (bits >> 64) as u64 == part
        };
        let (mut forms, mut steps) = (Forms::default(), 0u64);
        let (mut rungs, mut page): (Vec<(u8, Fingerprint)>, _) = (Vec::new(), None);
        let is_above = |rungs: &[(u8, Fingerprint)], from: u8| {
            from < self.levels && rungs.last().is_none_or(|(before, _)| *before < from)
        };
        let all = self.spill.read_while(partition, |step| {
            steps += 1;
            if steps.is_multiple_of(STEPS_BETWEEN) && forms.memory_bytes(true) > bytes_max {
                return Ok(ControlFlow::Break(steps));
            }
            match step {
                Step::Page { last, lines } if page.is_none() => page = Some((last, lines)),
                Step::PageEnd { representative, first, levels } => {
                    let (last, lines) = page.take().ok_or_else(damaged)?;
                    if has(last) {
                        let cluster = Cluster { lines, representative };
                        forms.add_page(last, Page { cluster, first, levels });
                    }
                }
                Step::Other { form, levels } if has(form) => forms.add_other(form, levels),
                Step::Other { .. } => {}
                Step::Rung { form, from } if is_above(&rungs, from) => rungs.push((from, form)),
                Step::Last { form, from, line } => {
                    if !from.is_none_or(|from| is_above(&rungs, from)) {
                        return Err(damaged());
                    }
                    rungs.extend(from.map(|from| (from, form)));
                    let ladder = Ladder { line, last: form, rungs: &rungs };
                    places.push(forms.place(ladder, self.levels, has))?;
                    rungs.clear();
                }
                Step::Page { .. } | Step::Rung { .. } | Step::Unknown => return Err(damaged()),
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if let ControlFlow::Break(steps) = all {
            return Ok(ControlFlow::Break(steps));
        }
        places.finish()?;
        let is_whole = page.is_none() && rungs.is_empty();
        if is_whole { Ok(ControlFlow::Continue(forms)) } else { Err(damaged()) }
    }

    /// Bytes of the files.
    pub fn spilled_bytes(&self) -> u64 {
        self.spill.bytes() + self.places.bytes()
    }

    /// To be called when all partitions are resolved: returns the file of the places, and their
    /// extents.
    pub fn into_places(self) -> (File, Places) {
        let Unplaced { places, mut extents, .. } = self;
        let left = extents.all_mut().map(|extent| extent.take()).collect::<Vec<_>>();
        let mut left = left.into_iter();
        let left = Partitions::new(|| left.next().flatten());
        (places.into_file(), Places::new(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::levels::ladders::UNMERGED;
    use crate::cluster::on_disk::spill::temporary;
    use crate::cluster::{LaddersBuilder, PARTITIONS, partition_of};
    use crate::fingerprint::FingerprintKey;

    const LEVELS: usize = 4;

    fn fingerprint(of: (u64, &str)) -> Fingerprint {
        let key = FingerprintKey::from_bytes([8; 16]);
        key.fingerprint(format!("{}{}", of.0, of.1).as_bytes())
    }

    /// A chunk of the lines `from` to `to`, some of which are no records: numbers in some
    /// spellings, of which the last level leaves the number.
    fn chunk(from: u64, to: u64) -> (Ladders, u64) {
        let mut builder = LaddersBuilder::default();
        for line in (from..to).filter(|line| line % 9 != 5) {
            let page = if line % 3 == 0 { 0 } else { line * 7919 % 1201 };
            let last = fingerprint((page, ""));
            builder.push((line - from) as u32, last, |rungs| match line % 4 {
                0 => {}
                1 => rungs.extend([(0, fingerprint((page, " "))), (1, last)]),
                // Never as it is at the last level.
                2 => rungs.push((0, fingerprint((page, "never")))),
                _ => rungs.extend([
                    (0, fingerprint((page * 1000 + line % 700, "#"))),
                    (2, fingerprint((page, "?"))),
                    (3, last),
                ]),
            });
        }
        (builder.finish(), from)
    }

    fn chunks(cuts: &[u64]) -> Vec<(Ladders, u64)> {
        cuts.windows(2).map(|ends| chunk(ends[0], ends[1])).collect()
    }

    fn of(chunks: &[(Ladders, u64)]) -> impl Iterator<Item = (&Ladders, u64)> {
        chunks.iter().map(|(ladders, first_line)| (ladders, *first_line))
    }

    /// What became of all records, as two numbers for each.
    fn told(chunks: &[(Ladders, u64)]) -> Vec<(u8, bool)> {
        let placed = chunks.iter().map(|(ladders, _)| ladders.placed());
        placed
            .flat_map(|one| -> Vec<_> {
                (0..one.len()).map(|record| (one.merged(record), one.is_astray(record))).collect()
            })
            .collect()
    }

    /// The records of the chunks after the first `known` of them, which wait.
    fn unplaced(levels: &Levels, chunks: &[(Ladders, u64)], known: usize) -> Unplaced {
        let (before, after) = chunks.split_at(known);
        let unplaced = Unplaced::new(levels, temporary(), tempfile::tempfile().unwrap(), 0);
        for partition in 0..PARTITIONS {
            levels.place(partition, of(before));
            unplaced.take(partition, levels).unwrap();
            assert!(levels.take(partition).len() == 0);
            for chunk in after.chunks(2) {
                unplaced.add(partition, of(chunk)).unwrap();
            }
        }
        unplaced.finish().unwrap();
        unplaced
    }

    #[test]
    fn agrees_with_levels_that_have_room() {
        let cuts = [0, 1000, 1001, 1001, 2500, 4000, 6000];
        let expected = chunks(&cuts);
        let levels = Levels::new(LEVELS);
        (0..PARTITIONS).for_each(|partition| levels.place(partition, of(&expected)));
        let kinds: std::collections::BTreeSet<_> = told(&expected).into_iter().collect();
        assert!(kinds.len() >= 6, "{kinds:?}");
        for known in [0, 1, 3, 5, 6] {
            for (bytes_max, has_parts) in [(2000, true), (u64::MAX, false)] {
                let some = chunks(&cuts);
                let mut unplaced = unplaced(&Levels::new(LEVELS), &some, known);
                let mut found = PageTotals::default();
                for partition in 0..PARTITIONS {
                    found.add(unplaced.resolve(partition, bytes_max, 7).unwrap().unwrap(), 7);
                }
                assert_eq!(*unplaced.steps.get_mut() < u64::MAX, has_parts, "{known}");
                assert_eq!((found.pages, found.largest), (levels.len(), levels.largest(7)));
                let mut map = Vec::new();
                let (mut file, mut places) = unplaced.into_places();
                io::Read::read_to_end(&mut file, &mut map).unwrap();
                // The other reading may cut the lines into other chunks.
                let again = chunks(&[0, 500, 2000, 2000, 5900, 6000]);
                let first_line = cuts[known];
                for partition in 0..PARTITIONS {
                    let (first, others) = again.split_at(2);
                    for batch in [first, others] {
                        places.place(partition, &map, first_line, of(batch));
                    }
                }
                assert!(places.are_over());
                let is_earlier: Vec<bool> = again
                    .iter()
                    .flat_map(|(ladders, _)| {
                        let placed = ladders.placed();
                        let all = 0..placed.len();
                        all.map(|record| placed.is_earlier(record)).collect::<Vec<_>>()
                    })
                    .collect();
                let before = (0..first_line).filter(|line| line % 9 != 5).count();
                assert!(is_earlier.iter().enumerate().all(|(at, is)| *is == (at < before)));
                assert!(told(&again)[before..] == told(&expected)[before..], "{known}");
            }
        }
    }

    #[test]
    fn forms_that_have_no_room_are_told() {
        let some = chunks(&[0, 60_000]);
        let unplaced = unplaced(&Levels::new(LEVELS), &some, 0);
        let partition = partition_of(fingerprint((0, "")));
        assert!(*unplaced.records.lock(partition) > 17_000);
        // Room for one form; for none.
        assert!(unplaced.resolve(partition, 600, 1).unwrap().is_some());
        assert!(unplaced.resolve(partition, 10, 1).unwrap().is_none());
    }

    #[test]
    fn another_input_is_told() {
        let cuts = [0, 700, 900];
        for (again, is_same) in [(&cuts[..], true), (&[0, 899], false), (&[0, 901], false)] {
            let some = chunks(&cuts);
            let unplaced = unplaced(&Levels::new(LEVELS), &some, 1);
            for partition in 0..PARTITIONS {
                unplaced.resolve(partition, u64::MAX, 1).unwrap().unwrap();
            }
            let bytes = vec![UNMERGED; unplaced.places.bytes() as usize];
            let (_, mut places) = unplaced.into_places();
            let again = chunks(again);
            (0..PARTITIONS).for_each(|partition| places.place(partition, &bytes, 700, of(&again)));
            assert_eq!(places.are_over(), is_same);
        }
    }

    #[test]
    fn damage_is_told() {
        let some = chunks(&[0, 600]);
        let levels = Levels::new(LEVELS);
        let unplaced = unplaced(&levels, &some, 0);
        let partition = partition_of(fingerprint((0, "")));
        assert!(unplaced.resolve(partition, u64::MAX, 1).unwrap().is_some());
        // One record fewer than was added, and one more.
        for (more, less) in [(1, 0), (0, 2)] {
            let mut records = unplaced.records.lock(partition);
            *records = *records + more - less;
            drop(records);
            let error = unplaced.resolve(partition, u64::MAX, 1).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
        let form = Fingerprint(7);
        let last = Step::Last { form, from: Some(1), line: 0 };
        for (steps, is_whole) in [
            (vec![last], true),
            (vec![Step::Rung { form, from: 0 }, last], true),
            (vec![Step::Rung { form, from: 1 }, last], false),
            (vec![Step::Rung { form, from: LEVELS as u8 }], false),
            (vec![Step::Rung { form, from: 0 }], false),
            (vec![Step::Page { last: form, lines: 1 }], false),
            (vec![Step::PageEnd { representative: 0, first: 0, levels: 1 }], false),
            (vec![Step::Unknown], false),
        ] {
            let unplaced = Unplaced::new(&levels, temporary(), tempfile::tempfile().unwrap(), 0);
            *unplaced.records.lock(0) = steps.contains(&last).into();
            unplaced.spill.append(0, steps.iter().copied()).unwrap();
            unplaced.finish().unwrap();
            assert_eq!(unplaced.resolve(0, u64::MAX, 1).is_ok(), is_whole, "{steps:?}");
        }
    }
}
