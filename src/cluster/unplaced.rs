//! Records whose forms have no room in memory, in files.
//!
//! ```text
//! reading     what Levels knew, then ladders --> Spill of steps, by partition
//! at the end  partition by partition: the steps --> what became of each record
//! reading     that, record by record in the same order --> Ladders
//!
//! steps  = page* other* ladder*   of one partition; what each is: `Step`
//! page   = Page PageEnd
//! other  = Other
//! ladder = Rung* Last
//!
//! places = place{records}*        the partitions in any order; a byte for each record, in order
//! ```
//!
//! A partition whose forms have no room is worked off in parts, by the forms' fingerprints, each of
//! which goes through all of its steps. So there is no limit to the forms of a partition, nor to
//! those of one page.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::census::Cluster;
use super::extents::{Extent, Extents, damaged};
use super::ladders::{EARLIER, Ladder, Ladders, UNMERGED};
use super::levels::{Forms, Largest, Levels, Page, keep_largest, together};
use super::partitions::Partitions;
use super::records::{Halves, Record};
use super::scatter::PARTITION_BITS;
use super::spill::{Spill, SpillFiles};
use crate::fingerprint::Fingerprint;

/// Records after which it is asked whether forms still have room: some kilobytes of them.
const RECORDS_BETWEEN: u64 = 128;

/// Parts that a partition is worked off in at most. Reason: each takes a reading of its steps.
const PARTS_MAX: usize = 1 << 12;

/// Records that wait for the end of the input.
#[derive(Debug)]
pub struct Unplaced {
    spill: Spill<Step>,
    /// How many records each partition has.
    records: Partitions<u64>,
    /// How many levels there are.
    levels: u8,
    /// How many parts were enough for the partitions so far, which are about equally large.
    parts: AtomicUsize,
    places: Extents,
    /// Where those of each partition are.
    extents: Partitions<Option<Extent>>,
}

/// What was found out about pages.
#[derive(Debug, Default)]
pub struct Found {
    /// How many there are.
    pub pages: u64,
    /// The largest of them.
    pub largest: Largest,
}

impl Found {
    /// Adds what was found out about others; the `count` largest stay.
    pub fn add(&mut self, more: Found, count: usize) {
        self.pages += more.pages;
        self.largest.extend(more.largest);
        keep_largest(count, &mut self.largest);
    }
}

impl Unplaced {
    /// None yet. What `levels` knows goes to `files`, by way of buffers of `buffer_bytes`, and so do
    /// records; `places` is for what becomes of them. All files are empty.
    pub fn new(levels: &Levels, files: SpillFiles, places: File, buffer_bytes: usize) -> Self {
        Unplaced {
            spill: Spill::new(files, buffer_bytes),
            records: Partitions::default(),
            levels: levels.count(),
            parts: AtomicUsize::new(1),
            places: Extents::new(places),
            extents: Partitions::default(),
        }
    }

    /// Takes what `levels` knows of `partition`, where nothing stays. Before any record.
    pub fn take(&self, partition: usize, levels: &Levels) -> io::Result<()> {
        let forms = levels.take(partition);
        let pages = forms.pages().flat_map(|(last, page)| Step::of_page(last, page));
        let others = forms.others().map(|(form, levels)| Step::Other { form, levels });
        self.spill.append(partition, pages.chain(others))
    }

    /// Adds the records of `partition`: of chunks, each with the number of its first line, from 0
    /// over all inputs. Batches and chunks in order.
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

    /// No more will come: writes what is still in the buffers.
    pub fn finish(&self) -> io::Result<()> {
        self.spill.finish()
    }

    /// Finds out what became of the records of `partition`. Takes `bytes_max` of memory; a byte for
    /// each record has to fit in half of that, and their forms in [`PARTS_MAX`] times the rest,
    /// otherwise it returns `None`. The `count` largest clusters are told.
    pub fn resolve(
        &self,
        partition: usize,
        bytes_max: u64,
        count: usize,
    ) -> io::Result<Option<Found>> {
        let records = *self.records.lock(partition);
        if records > bytes_max / 2 {
            return Ok(None);
        }
        let mut parts = self.parts.load(Ordering::Relaxed);
        let (found, places) = loop {
            let all = self.resolve_in(parts, partition, bytes_max - records, count)?;
            if let Some(all) = all {
                break all;
            }
            parts *= 2;
            if parts > PARTS_MAX {
                return Ok(None);
            }
            self.parts.fetch_max(parts, Ordering::Relaxed);
        };
        let mut writer = self.places.set_aside(records);
        for piece in places.chunks(4096) {
            writer.room_for(piece.len())?.extend_from_slice(piece);
        }
        *self.extents.lock(partition) = Some(writer.finish()?);
        Ok(Some(found))
    }

    /// The same in so many parts; `None` if one of them takes more than `bytes_max`.
    fn resolve_in(
        &self,
        parts: usize,
        partition: usize,
        bytes_max: u64,
        count: usize,
    ) -> io::Result<Option<(Found, Vec<u8>)>> {
        let records = *self.records.lock(partition);
        let records = usize::try_from(records).map_err(io::Error::other)?;
        let mut places = vec![UNMERGED; records];
        let mut found = Found::default();
        for part in 0..parts {
            let forms = self.part_of(partition, (part, parts), bytes_max, &mut places)?;
            let Some(forms) = forms else { return Ok(None) };
            found.pages += forms.len();
            forms.add_largest(count, &mut found.largest);
        }
        Ok(Some((found, places)))
    }

    /// The forms of part `part` of so many parts, when all steps were gone through; `places` of the
    /// records are put together with what they say.
    fn part_of(
        &self,
        partition: usize,
        (part, parts): (usize, usize),
        bytes_max: u64,
        places: &mut [u8],
    ) -> io::Result<Option<Forms>> {
        let has = |form: Fingerprint| {
            let bits = (form.0 << PARTITION_BITS >> 64) * parts as u128;
            (bits >> 64) as usize == part
        };
        let mut forms = Forms::default();
        let (mut rungs, mut page): (Vec<(u8, Fingerprint)>, _) = (Vec::new(), None);
        let (mut places, mut step_number, mut is_whole, mut has_room) =
            (places.iter_mut(), 0u64, true, true);
        self.spill.read(partition, |step| {
            step_number += 1;
            if step_number.is_multiple_of(RECORDS_BETWEEN) {
                has_room &= forms.memory_bytes(true) <= bytes_max;
            }
            if !has_room || !is_whole {
                return;
            }
            match step {
                Step::Page { last, lines } => page = Some((last, lines)),
                Step::PageEnd { representative, first, levels } => match page.take() {
                    Some((last, lines)) if has(last) => {
                        let cluster = Cluster { lines, representative };
                        forms.add_page(last, Page { cluster, first, levels });
                    }
                    Some(_) => {}
                    None => is_whole = false,
                },
                Step::Other { form, levels } if has(form) => forms.add_other(form, levels),
                Step::Other { .. } => {}
                Step::Rung { form, from } => rungs.push((from, form)),
                Step::Last { form, from, line } => {
                    rungs.extend(from.map(|from| (from, form)));
                    let ladder = Ladder { line, last: form, rungs: &rungs };
                    let placed = forms.place(ladder, self.levels, has);
                    rungs.clear();
                    match places.next() {
                        Some(place) => *place = together(*place, placed),
                        None => is_whole = false,
                    }
                }
                Step::Unknown => is_whole = false,
            }
        })?;
        if !has_room {
            return Ok(None);
        }
        let is_whole = is_whole && page.is_none() && rungs.is_empty() && places.next().is_none();
        if is_whole { Ok(Some(forms)) } else { Err(damaged()) }
    }

    /// Bytes of the files.
    pub fn spilled_bytes(&self) -> u64 {
        self.spill.bytes() + self.places.bytes()
    }

    /// All partitions are resolved: the file of the places, and where in it they are.
    pub fn into_places(self) -> (File, Places) {
        let Unplaced { places, mut extents, .. } = self;
        let left = extents.all_mut().map(|extent| extent.take()).collect::<Vec<_>>();
        let mut left = left.into_iter();
        let left = Partitions::new(|| left.next().flatten());
        (places.into_file(), Places { left })
    }
}

/// Where it says what became of the records of each partition.
#[derive(Debug)]
pub struct Places {
    /// What has not been told yet.
    left: Partitions<Option<Extent>>,
}

impl Places {
    /// Says what became of the records of `partition`: of chunks, each with the number of its first
    /// line. They are those that were added, in the same order, and others before `first_line`.
    /// `file` is what the file holds.
    ///
    /// Of other records, which there are if the input has changed, it says the same as of those
    /// before: that they were placed earlier.
    pub fn place<'a>(
        &self,
        partition: usize,
        file: &[u8],
        first_line: u64,
        chunks: impl Iterator<Item = (&'a Ladders, u64)>,
    ) {
        let left = &mut *self.left.lock(partition);
        let Extent { at, end } = left.unwrap_or(Extent { at: 0, end: 0 });
        let range = usize::try_from(at).ok().zip(usize::try_from(end).ok());
        let places = range.and_then(|(at, end)| file.get(at..end)).unwrap_or_default();
        let mut told = 0;
        for (ladders, first_of_chunk) in chunks {
            for (place, ladder) in ladders.of(partition, first_of_chunk) {
                let mut placed = EARLIER;
                if ladder.line >= first_line {
                    placed = places.get(told).copied().unwrap_or(EARLIER);
                    told += 1;
                }
                ladders.set(place, placed);
            }
        }
        *left = Some(Extent { at: at + told.min(places.len()) as u64, end });
    }
}

/// What is spilled, one behind the other: first what was known of pages and other forms, then the
/// ladders of records.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// A page with so many lines, whose form at the last level is `last`; its end follows.
    Page { last: Fingerprint, lines: u64 },
    /// What else is known of it.
    PageEnd { representative: u64, first: u64, levels: u32 },
    /// The levels at which a form was seen that is not the last one of its page.
    Other { form: Fingerprint, levels: u32 },
    /// A form of a record, and from which level on; others follow.
    Rung { form: Fingerprint, from: u8 },
    /// The form of a record at the last level, the number of its line, and from which level on it
    /// has this form, if that is none of its rungs.
    Last { form: Fingerprint, from: Option<u8>, line: u64 },
    /// Was not written like this.
    Unknown,
}

impl Step {
    fn of_page(last: Fingerprint, page: &Page) -> [Step; 2] {
        let Page { cluster: Cluster { lines, representative }, first, levels } = *page;
        [Step::Page { last, lines }, Step::PageEnd { representative, first, levels }]
    }

    fn of_ladder(Ladder { line, last, rungs }: Ladder) -> impl Iterator<Item = Step> {
        // As a rule the last rung is the form at the last level.
        let (rungs, from) = match rungs {
            [] => (rungs, Some(0)),
            [before @ .., (from, form)] if *form == last => (before, Some(*from)),
            _ => (rungs, None),
        };
        let rungs = rungs.iter().map(|(from, form)| Step::Rung { form: *form, from: *from });
        rungs.chain([Step::Last { form: last, from, line }])
    }
}

/// Two words of a fingerprint, and one whose lowest byte says what it is: a level for the end of a
/// ladder, plus [`RUNG`] for what comes before, or one of the others.
impl Record for Step {
    type Words = [u64; 3];

    #[inline]
    fn to_words(self) -> [u64; 3] {
        let words = |form: Fingerprint, kind: u8, value: u64| {
            let Halves { high, low } = Halves::of(form);
            [high, low, value << 8 | u64::from(kind)]
        };
        match self {
            Step::Page { last, lines } => words(last, PAGE, lines),
            Step::PageEnd { representative, first, levels } => {
                [representative, first, u64::from(levels) << 8 | u64::from(PAGE_END)]
            }
            Step::Other { form, levels } => words(form, OTHER, levels.into()),
            Step::Rung { form, from } => words(form, RUNG + from, 0),
            Step::Last { form, from, line } => words(form, from.unwrap_or(NO_LEVEL), line),
            Step::Unknown => words(Fingerprint(0), UNKNOWN, 0),
        }
    }

    #[inline]
    fn from_words([high, low, word]: [u64; 3]) -> Self {
        let form = Halves { high, low }.fingerprint();
        let value = word >> 8;
        match word as u8 {
            from @ ..NO_LEVEL => Step::Last { form, from: Some(from), line: value },
            NO_LEVEL => Step::Last { form, from: None, line: value },
            kind @ RUNG..PAGE => Step::Rung { form, from: kind - RUNG },
            PAGE => Step::Page { last: form, lines: value },
            PAGE_END => Step::PageEnd { representative: high, first: low, levels: value as u32 },
            OTHER => Step::Other { form, levels: value as u32 },
            _ => Step::Unknown,
        }
    }
}

/// Kinds of steps; below are levels, of which there are 32 at most.
const NO_LEVEL: u8 = 32;
const RUNG: u8 = 64;
const PAGE: u8 = RUNG + 32;
const PAGE_END: u8 = PAGE + 1;
const OTHER: u8 = PAGE + 2;
const UNKNOWN: u8 = u8::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::spill::temporary;
    use crate::cluster::{LaddersBuilder, PARTITIONS, partition_of};
    use crate::fingerprint::FingerprintKey;

    const LEVELS: usize = 4;

    fn fingerprint(of: (u64, &str)) -> Fingerprint {
        let key = FingerprintKey::from_bytes([8; 16]);
        key.fingerprint(format!("{}{}", of.0, of.1).as_bytes())
    }

    /// A chunk of the lines `from` to `to`, some of which are no records: numbers in some spellings,
    /// of which the last level leaves the number.
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

    /// The records of the chunks behind the first `known` of them, which wait.
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
            for (bytes_max, has_parts) in [(4100, true), (u64::MAX, false)] {
                let some = chunks(&cuts);
                let unplaced = unplaced(&Levels::new(LEVELS), &some, known);
                let mut found = Found::default();
                for partition in 0..PARTITIONS {
                    found.add(unplaced.resolve(partition, bytes_max, 7).unwrap().unwrap(), 7);
                }
                assert_eq!(unplaced.parts.load(Ordering::Relaxed) > 1, has_parts, "{known}");
                assert_eq!((found.pages, found.largest), (levels.len(), levels.largest(7)));
                let mut map = Vec::new();
                let (mut file, places) = unplaced.into_places();
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
    fn records_that_have_no_room_are_told() {
        let some = chunks(&[0, 60_000]);
        let unplaced = unplaced(&Levels::new(LEVELS), &some, 0);
        let partition = partition_of(fingerprint((0, "")));
        let records = *unplaced.records.lock(partition);
        assert!(records > 17_000);
        assert!(unplaced.resolve(partition, 2 * records - 1, 1).unwrap().is_none());
        assert!(unplaced.resolve(partition, 2 * records, 1).unwrap().is_some());
        // Room for records, and none for the forms of a single one.
        let other = (0..PARTITIONS).find(|at| (1..9).contains(&*unplaced.records.lock(*at)));
        let other = other.unwrap_or(partition);
        assert!(unplaced.resolve_in(1, other, 10, 1).unwrap().is_none());
    }

    #[test]
    fn damage_is_told() {
        let some = chunks(&[0, 600]);
        let unplaced = unplaced(&Levels::new(LEVELS), &some, 0);
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
    }

    #[test]
    fn steps_are_read_as_they_were_written() {
        let form = Fingerprint(u128::MAX / 7);
        let line = (1 << 56) - 1;
        let all = [
            Step::Page { last: form, lines: line },
            Step::PageEnd { representative: u64::MAX, first: 3, levels: u32::MAX },
            Step::Other { form, levels: u32::MAX },
            Step::Rung { form, from: 0 },
            Step::Rung { form, from: 31 },
            Step::Last { form, from: Some(0), line },
            Step::Last { form, from: Some(31), line },
            Step::Last { form, from: None, line },
            Step::Unknown,
        ];
        for step in all {
            let mut bytes = Vec::new();
            step.push_to(&mut bytes);
            let read = Step::from_bytes(&bytes);
            assert_eq!(read, step);
        }
        for kind in (NO_LEVEL + 1..RUNG).chain(OTHER + 1..=u8::MAX) {
            assert_eq!(Step::from_words([1, 2, kind.into()]), Step::Unknown);
        }
    }
}
