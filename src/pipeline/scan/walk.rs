//! Walks the lines of one chunk, and makes canonical forms: what every worker does first.

use std::convert::Infallible;

use super::layouts::Parcel;
use crate::canonical::{Canonical, Notation, Scratch};
use crate::error;
use crate::input::Chunk;
use crate::pipeline::Job;
use crate::record::{Entries, Entry, NO_HOST, ReadOptions, Record, Workspace, without_no_host};
use crate::reject::Reject;
use crate::report::Tally;

/// What a worker keeps from chunk to chunk.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    pub(crate) scratch: Scratch,
    pub(crate) workspace: Workspace,
}

/// Calls `each` with the entries of `parcel`, until it fails: lines with their URLs, perhaps
/// without other fields. A line that did not fit is one reject.
pub(super) fn each_entry<E>(
    parcel: &Parcel,
    job: &Job,
    workspace: &mut Workspace,
    mut each: impl FnMut(Entry) -> Result<(), E>,
) -> Result<(), E> {
    let options = ReadOptions { fields: false, ..job.read_options() };
    let mut entries = entries_of(parcel, options, workspace);
    loop {
        // Bet: it is a list, and one more URL.
        match entries.next_plain() {
            Some(record) => each(Entry::Record(record))?,
            None => match entries.next() {
                Some(entry) => each(entry)?,
                None => return Ok(()),
            },
        }
    }
}

/// Returns how many lines `parcel` has; a row over several lines is one.
pub(crate) fn count_lines(parcel: &Parcel, job: &Job, workspace: &mut Workspace) -> u64 {
    let mut lines = 0;
    let counted = each_entry::<Infallible>(parcel, job, workspace, |_| {
        lines += 1;
        Ok(())
    });
    let Ok(()) = counted;
    lines
}

/// Calls `each` with the entries of `parcel`, as [`each_entry`] does, in a second look at its
/// lines. `Err` if a mapped file was cut short since the first: it then reads as zeros, so the
/// results and errors of `each` are invalid.
pub(crate) fn each_entry_again<E>(
    parcel: &Parcel,
    job: &Job,
    workspace: &mut Workspace,
    each: impl FnMut(Entry) -> Result<(), E>,
) -> error::Result<Result<(), E>> {
    let all = each_entry(parcel, job, workspace, each);
    parcel.verify()?;
    Ok(all)
}

/// Returns the header of the file that `parcel` begins: the lines before the first record, if the
/// format knows them as headers, each with its separator; or that of the format. Empty if the
/// parcel does not begin a file.
pub(crate) fn header(parcel: &Parcel, job: &Job) -> Vec<u8> {
    let mut header = Vec::new();
    if !parcel.starts_file() {
        return header;
    }
    if let Some(line) = parcel.layout.format.as_ref().and_then(|format| format.header_of_its_own())
    {
        header.extend_from_slice(line);
        header.push(job.input.separator);
        return header;
    }
    // The first entry that is not a header ends the walk.
    let _ = each_entry(parcel, job, &mut Workspace::default(), |entry| match entry {
        Entry::Comment(line) => {
            header.extend_from_slice(line);
            header.push(job.input.separator);
            Ok(())
        }
        Entry::Empty(_) => Ok(()),
        _ => Err(()),
    });
    header
}

/// The entries of `parcel`.
fn entries_of<'a>(
    parcel: &'a Parcel,
    options: ReadOptions,
    workspace: &'a mut Workspace,
) -> Entries<'a> {
    let (bytes, starts_file) = (parcel.bytes(), parcel.starts_file());
    match parcel.overlong() {
        Some(_) => Entries::overlong(bytes, options, workspace),
        None => Entries::new(bytes, starts_file, options, &parcel.layout, workspace),
    }
}

/// Calls `each` with every record of `parcel`, perhaps with its URL only, and the number of its
/// line in the parcel; counts all lines.
#[inline(always)]
pub(crate) fn walk(
    parcel: &Parcel,
    job: &Job,
    worker: &mut Worker,
    each: impl FnMut(u32, Record, Canonical),
) -> Tally {
    walk_with(ReadOptions { fields: false, ..job.read_options() }, parcel, job, worker, each)
}

/// Calls `each` with every record of `parcel` with all of its fields, and the number of its line in
/// the parcel; counts all lines.
pub(crate) fn walk_with_fields(
    parcel: &Parcel,
    job: &Job,
    worker: &mut Worker,
    each: impl FnMut(u32, Record, Canonical),
) -> Tally {
    walk_with(job.read_options(), parcel, job, worker, each)
}

#[inline(always)]
fn walk_with(
    options: ReadOptions,
    parcel: &Parcel,
    job: &Job,
    worker: &mut Worker,
    each: impl FnMut(u32, Record, Canonical),
) -> Tally {
    let (tally, end) = walk_lines(options, parcel, job, worker, &mut RecordsOnly(each));
    let Ok(()) = end;
    tally
}

/// Appends to `out` what is written for `url` in this `notation`; the URL itself where it was not
/// parsed.
#[inline(always)]
pub(crate) fn push_form(notation: Notation, url: &[u8], canonical: &Canonical, out: &mut Vec<u8>) {
    let form = without_no_host(canonical.form);
    match canonical.reject {
        None => notation.push(without_no_host(url), form, out),
        Some(_) => out.extend_from_slice(form),
    }
}

/// Visits the lines of a chunk, with their numbers in it, from 0, until it fails.
pub(crate) trait LineVisitor {
    type Error;

    /// A line with a URL.
    fn record(
        &mut self,
        number: u32,
        record: Record,
        canonical: Canonical,
    ) -> Result<(), Self::Error>;

    /// Any other line.
    fn other(&mut self, number: u32, entry: Entry) -> Result<(), Self::Error>;
}

/// Visits records only, and never fails.
struct RecordsOnly<F>(F);

impl<F: FnMut(u32, Record, Canonical)> LineVisitor for RecordsOnly<F> {
    type Error = Infallible;

    #[inline(always)]
    fn record(
        &mut self,
        number: u32,
        record: Record,
        canonical: Canonical,
    ) -> Result<(), Infallible> {
        self.0(number, record, canonical);
        Ok(())
    }

    #[inline(always)]
    fn other(&mut self, _: u32, _: Entry) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Lets `visitor` visit every line of `parcel`, and counts them.
#[inline(always)]
pub(crate) fn walk_lines<V: LineVisitor>(
    options: ReadOptions,
    parcel: &Parcel,
    job: &Job,
    worker: &mut Worker,
    visitor: &mut V,
) -> (Tally, Result<(), V::Error>) {
    let mut tally = Tally::default();
    // Counts of every line: locals, not fields of `tally`, so that they stay in registers.
    let (mut number, mut others, mut bytes) = (0, 0, 0);
    let Worker { scratch, workspace } = worker;
    let mut lines = job.canonicalizer.lines_of(parcel.bytes(), scratch);
    let mut entries = entries_of(parcel, options, workspace);
    let end = loop {
        // Bet: it is a list, and one more URL.
        let record = match entries.next_plain() {
            Some(record) => record,
            None => match entries.next() {
                None => break Ok(()),
                Some(Entry::Record(record)) => {
                    tally.hostless += u64::from(record.url.starts_with(NO_HOST));
                    record
                }
                Some(entry) => {
                    number += 1;
                    others += 1;
                    tally.lines = u64::from(number);
                    count_other(&mut tally, &entry, parcel, job);
                    match visitor.other(number - 1, entry) {
                        Ok(()) => continue,
                        Err(error) => break Err(error),
                    }
                }
            },
        };
        bytes += record.line.len() as u64;
        let canonical = lines.canonical(record.url);
        if canonical.reject.is_some() | canonical.scheme_added {
            canonical.reject.into_iter().for_each(|reject| tally.unparsed.add(reject));
            tally.scheme_added += u64::from(canonical.scheme_added);
        }
        let seen = visitor.record(number, record, canonical);
        number += 1;
        if let Err(error) = seen {
            break Err(error);
        }
    };
    tally.lines = u64::from(number);
    tally.records = u64::from(number - others);
    tally.bytes += bytes;
    (tally, end)
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
            // The same length of each overlong line, whether all of it was in memory or not.
            let shown = match reject {
                Reject::LineTooLong => line.len().min(Chunk::OVERLONG_BYTES_SHOWN),
                _ => line.len(),
            };
            tally.reject(reject, &line[..shown], job.rejects.is_some());
            tally.bytes += parcel.overlong().unwrap_or(line.len() as u64);
            return;
        }
    };
    tally.bytes += line.len() as u64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::{Canonicalizer, Profile};
    use crate::input::{Input, InputPlan};

    #[test]
    fn a_file_that_is_cut_short_is_told_at_another_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        std::fs::write(&path, "http://a.test/\nhttp://b.test/\n").unwrap();
        let canonicalizer = Canonicalizer::new(Profile::named("crawl").unwrap());
        let plan = InputPlan {
            paths: vec![path.clone()],
            map: true,
            map_bytes_min: 0,
            ..InputPlan::default()
        };
        let job = Job::new(plan, &canonicalizer);
        let mut input = Input::open(&job.input).unwrap();
        let parcel = Parcel::of_lines(input.next().unwrap().unwrap(), None);
        assert!(input.summaries()[0].mapped);
        let look = || {
            let mut lines = Vec::new();
            let all = each_entry_again::<()>(&parcel, &job, &mut Workspace::default(), |entry| {
                let Entry::Record(record) = entry else { return Err(()) };
                lines.push(record.line.to_vec());
                Ok(())
            });
            (all, lines)
        };
        let (all, lines) = look();
        assert!(all.unwrap().is_ok() && lines == [b"http://a.test/", b"http://b.test/"]);
        // Cut inside its last page: it reads as zeros, without a signal.
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(20).unwrap();
        let (all, lines) = look();
        assert!(lines[1].ends_with(b"\0"), "{lines:?}");
        let told = all.unwrap_err().to_string();
        assert!(told.contains("the file was cut short while it was read"), "{told}");
    }
}
