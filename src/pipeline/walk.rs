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
    each: impl FnMut(Entry) -> Result<(), E>,
) -> Result<(), E> {
    let reading = Reading { fields: false, ..job.reading() };
    each_entry_of(parcel, reading, workspace, each)
}

fn each_entry_of<E>(
    parcel: &Parcel,
    reading: Reading,
    workspace: &mut Workspace,
    mut each: impl FnMut(Entry) -> Result<(), E>,
) -> Result<(), E> {
    let (bytes, starts_file) = (parcel.bytes(), parcel.starts_file());
    let mut entries = match parcel.overlong() {
        Some(_) => Entries::overlong(bytes, reading, workspace),
        None => Entries::new(bytes, starts_file, reading, &parcel.layout, workspace),
    };
    while let Some(entry) = entries.next() {
        each(entry)?;
    }
    Ok(())
}

/// Gives `each` every record of `parcel`, perhaps with its URL alone, and the number of its line in
/// it; counts all lines.
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

fn walk_reading(
    reading: Reading,
    parcel: &Parcel,
    job: &Job,
    hand: &mut Hand,
    mut each: impl FnMut(u32, Record, Canonical),
) -> Tally {
    let mut tally = Tally::default();
    let mut number = 0;
    let Hand { scratch, workspace } = hand;
    let mut lines = job.canonicalizer.lines_of(parcel.bytes(), scratch);
    let counted: Result<(), std::convert::Infallible> =
        each_entry_of(parcel, reading, workspace, |entry| {
            tally.lines += 1;
            match entry {
                Entry::Record(record) => {
                    tally.records += 1;
                    tally.bytes += record.line.len() as u64;
                    let canonical = lines.canonical(record.url);
                    if let Some(reject) = canonical.reject {
                        tally.unparsed.add(reject);
                    }
                    tally.scheme_added += u64::from(canonical.scheme_added);
                    each(number, record, canonical);
                }
                Entry::Empty(line) => {
                    tally.empty += 1;
                    tally.bytes += line.len() as u64;
                }
                Entry::Filtered(line) => {
                    tally.filtered += 1;
                    tally.bytes += line.len() as u64;
                }
                Entry::Comment(line) => {
                    tally.comments += 1;
                    tally.bytes += line.len() as u64;
                }
                Entry::Reject(reject, line) => {
                    tally.reject(reject, line, job.rejects.is_some());
                    tally.bytes += parcel.overlong().unwrap_or(line.len() as u64);
                }
            }
            number += 1;
            Ok(())
        });
    let Ok(()) = counted;
    tally
}
