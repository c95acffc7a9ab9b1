//! The records of one chunk with their canonical forms: what every worker does first.

use super::Job;
use crate::canonical::{Canonical, Scratch};
use crate::input::Chunk;
use crate::record::{Entry, Reading, Record};
use crate::reject::Reject;
use crate::report::Tally;

/// The entries of `chunk`. A line that did not fit is one reject.
pub(super) fn entries(chunk: &Chunk, reading: Reading) -> impl Iterator<Item = Entry<'_>> {
    let overlong = chunk.overlong().map(|_| Entry::Reject(Reject::LineTooLong, chunk.bytes()));
    let bytes = if overlong.is_some() { &[] } else { chunk.bytes() };
    overlong.into_iter().chain(reading.entries(bytes, chunk.starts_file()))
}

/// Gives `each` every record of `chunk` with the number of its line in the chunk, and counts all
/// lines.
pub(super) fn walk(
    chunk: &Chunk,
    job: &Job,
    scratch: &mut Scratch,
    mut each: impl FnMut(u32, Record, Canonical),
) -> Tally {
    let mut tally = Tally::default();
    for (line, entry) in (0u32..).zip(entries(chunk, job.reading())) {
        tally.lines += 1;
        match entry {
            Entry::Record(record) => {
                tally.records += 1;
                tally.bytes += record.line.len() as u64;
                let canonical = job.canonicalizer.canonical(record.url, scratch);
                if let Some(reject) = canonical.reject {
                    tally.unparsed.add(reject);
                }
                tally.scheme_added += u64::from(canonical.scheme_added);
                each(line, record, canonical);
            }
            Entry::Empty(line) => {
                tally.empty += 1;
                tally.bytes += line.len() as u64;
            }
            Entry::Reject(reject, line) => {
                tally.rejected.add(reject);
                tally.bytes += chunk.overlong().unwrap_or(line.len() as u64);
            }
        }
    }
    tally
}
