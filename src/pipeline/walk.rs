//! The records of one chunk with their canonical forms: what every worker does first.

use super::Job;
use super::layouts::Parcel;
use crate::canonical::{Canonical, Scratch};
use crate::record::{Entries, Entry, Reading, Record, Workspace};
use crate::report::Tally;

/// What a worker keeps from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct Hand {
    pub(super) scratch: Scratch,
    pub(super) workspace: Workspace,
}

/// Gives `each` the entries of `parcel`, until it fails: lines with their URLs, and perhaps nothing
/// beside those. A line that did not fit is one reject.
pub(super) fn each_entry<E>(
    parcel: &Parcel,
    job: &Job,
    workspace: &mut Workspace,
    mut each: impl FnMut(Entry) -> Result<(), E>,
) -> Result<(), E> {
    let reading = Reading { fields: false, ..job.reading() };
    let mut entries = entries_of(parcel, reading, workspace);
    while let Some(entry) = entries.next() {
        each(entry)?;
    }
    Ok(())
}

/// The entries of `parcel`.
fn entries_of<'a>(
    parcel: &'a Parcel,
    reading: Reading,
    workspace: &'a mut Workspace,
) -> Entries<'a> {
    let (bytes, starts_file) = (parcel.bytes(), parcel.starts_file());
    match parcel.overlong() {
        Some(_) => Entries::overlong(bytes, reading, workspace),
        None => Entries::new(bytes, starts_file, reading, &parcel.layout, workspace),
    }
}

/// Gives `each` every record of `parcel`, perhaps with its URL alone, and the number of its line in
/// it; counts all lines.
#[inline(always)]
pub(super) fn walk(
    parcel: &Parcel,
    job: &Job,
    hand: &mut Hand,
    each: impl FnMut(u32, Record, Canonical),
) -> Tally {
    walk_reading(Reading { fields: false, ..job.reading() }, parcel, job, hand, each)
}

/// The same with all that the line says.
pub(super) fn walk_with_fields(
    parcel: &Parcel,
    job: &Job,
    hand: &mut Hand,
    each: impl FnMut(u32, Record, Canonical),
) -> Tally {
    walk_reading(job.reading(), parcel, job, hand, each)
}

#[inline(always)]
fn walk_reading(
    reading: Reading,
    parcel: &Parcel,
    job: &Job,
    hand: &mut Hand,
    mut each: impl FnMut(u32, Record, Canonical),
) -> Tally {
    let mut tally = Tally::default();
    // Counts of every line: not in the tally, so that they need not be in memory.
    let (mut number, mut others, mut bytes) = (0, 0, 0);
    let Hand { scratch, workspace } = hand;
    let mut lines = job.canonicalizer.lines_of(parcel.bytes(), scratch);
    let mut entries = entries_of(parcel, reading, workspace);
    loop {
        // Bet: it is a list, and one more URL.
        let record = match entries.next_plain() {
            Some(record) => record,
            None => match entries.next() {
                None => break,
                Some(Entry::Record(record)) => record,
                Some(entry) => {
                    number += 1;
                    others += 1;
                    tally.lines = u64::from(number);
                    count_other(&mut tally, &entry, parcel, job);
                    continue;
                }
            },
        };
        bytes += record.line.len() as u64;
        let canonical = lines.canonical(record.url);
        if canonical.reject.is_some() | canonical.scheme_added {
            canonical.reject.into_iter().for_each(|reject| tally.unparsed.add(reject));
            tally.scheme_added += u64::from(canonical.scheme_added);
        }
        each(number, record, canonical);
        number += 1;
    }
    tally.lines = u64::from(number);
    tally.records = u64::from(number - others);
    tally.bytes += bytes;
    tally
}

/// Counts an `entry` that is no record, the latest of the lines of `tally`.
#[cold]
pub(super) fn count_other(tally: &mut Tally, entry: &Entry, parcel: &Parcel, job: &Job) {
    let line = match *entry {
        Entry::Record(Record { line, .. }) => line,
        Entry::Empty(line) => {
            tally.empty += 1;
            line
        }
        Entry::Filtered(line) => {
            tally.filtered += 1;
            line
        }
        Entry::Comment(line) => {
            tally.comments += 1;
            line
        }
        Entry::Reject(reject, line) => {
            tally.reject(reject, line, job.rejects.is_some());
            tally.bytes += parcel.overlong().unwrap_or(line.len() as u64);
            return;
        }
    };
    tally.bytes += line.len() as u64;
}
