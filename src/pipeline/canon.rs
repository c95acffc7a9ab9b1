//! `canon`: the canonical form of every line, line for line, or of every record, row by row.

use super::scan::layouts::Parcel;
use super::scan::walk::{LineVisitor, Worker, count_lines, push_form, walk_lines};
use super::scan::{Batch, BatchChunk, FORM_BYTES, Pass, Scan, input_changed};
use super::threads::aside::aside;
use super::threads::pool::Stage;
use super::{Job, Outcome, line_place};
use crate::bytes::show;
use crate::canonical::{Canonical, Notation};
use crate::error::{Error, Result};
use crate::input::Stop;
use crate::parts;
use crate::record::{Entry, ReadOptions, Record, without_no_host};
use crate::reject::Reject;
use crate::report::{
    Cell, Listed, Listing, ListingWriter, Output, Provenance, Rows, SHOWN_BYTES, Shape, Tally,
};
use std::ops::ControlFlow;

/// What to write for a line whose URL does not parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBad {
    /// The line as it is.
    Keep,
    /// An empty line.
    Empty,
    /// Nothing more: the job ends with an error that names the line.
    Fail,
}

/// What to write for every line, or for every record.
#[derive(Clone, Copy, Debug)]
pub struct CanonPlan {
    /// For a URL that does not parse.
    pub on_bad: OnBad,
    /// For one that does.
    pub notation: Notation,
    /// Rows of this shape, one for each record, in place of lines.
    pub shape: Option<Shape>,
}

/// What a worker makes of a chunk.
struct Rewritten {
    listing: Listing,
    tally: Tally,
    bad: Option<BadLine>,
}

/// The first line that cannot be written.
struct BadLine {
    /// Its number in the chunk, from 0.
    number: u32,
    reject: Reject,
    /// How it starts, without user and password.
    start: Vec<u8>,
}

impl BadLine {
    fn new(number: u32, reject: Reject, line: &[u8]) -> BadLine {
        let text = parts::without_userinfo(line);
        BadLine { number, reject, start: text[..text.len().min(SHOWN_BYTES)].to_vec() }
    }
}

/// Writes the canonical form of every line to `output`: as many lines as were read, in order.
///
/// Empty lines stay empty, and so do lines of a format that have no URL; there is no row for
/// either. All URLs count as unique: nothing is compared.
pub fn canon(job: &Job, plan: &CanonPlan, output: &mut Output) -> Result<Outcome> {
    let pool = job.pool()?;
    let mut outcome = Outcome { compared: false, ..Outcome::begin(job) };
    let (tally, mut bad) = (&mut outcome.tally, None);
    let made_by = Provenance::of(job.canonicalizer.profile());
    let separator = job.input.separator;
    let mut writer =
        ListingWriter::new(output, Listed::Canonical, separator, plan.shape, &made_by)?;
    let blank = writer.part();
    let rewrite = |first_line, chunk: &Parcel, worker: &mut Worker| {
        rewrite(job, plan, first_line, chunk, blank.clone(), worker)
    };
    let write = |parts| pool.time(Stage::Writing, || write(parts, &mut writer));
    let record_bytes = |chunk: &Parcel, _| {
        let form_bytes = FORM_BYTES * chunk.bytes().len() as u64;
        match plan.shape {
            None => form_bytes,
            Some(_) => {
                let rows = 1 + memchr::memchr_iter(separator, chunk.bytes()).count() as u64;
                rows * ROW_BYTES + COPIES_OF_ROWS * form_bytes
            }
        }
    };
    let stop = Stop::default();
    let (read, end) = aside(1, &stop, write, |rewritten| {
        let scan = Scan::new(job, &pool, Pass::first("canonicalizing")).with_stop(&stop);
        scan.with_record_bytes(record_bytes).run_to_end(
            Worker::default,
            |worker, chunk| match plan.shape {
                None => {
                    let rewritten = rewrite(0, chunk, worker);
                    (rewritten.tally.lines, Some(rewritten))
                }
                // Rows have the numbers of lines, which are not known yet.
                Some(_) => (count_lines(chunk, job, &mut worker.workspace), None),
            },
            |Batch { chunks, .. }| {
                let count = if plan.shape.is_some() { chunks.len() } else { 0 };
                let rows =
                    pool.map_with(Stage::Canonicalizing, count, Worker::default, |worker, at| {
                        rewrite(chunks[at].first_line, &chunks[at].parcel, worker)
                    });
                let mut rows = rows.into_iter();
                let mut parts = Vec::with_capacity(chunks.len());
                for BatchChunk { parcel, first_line, made, .. } in chunks {
                    let made = made.or_else(|| rows.next()).ok_or_else(input_changed)?;
                    parts.push((parcel, made.listing));
                    if let Some(line) = made.bad {
                        bad = Some((first_line + u64::from(line.number) + 1, line));
                        break;
                    }
                    job.add(tally, &made.tally)?;
                }
                rewritten.send(parts)?;
                Ok(if bad.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            },
        )
    })?;
    if let Some((number, line)) = bad {
        return Err(line.error(&line_place(&read.files, read.files_in_all, number), plan));
    }
    writer.finish()?;
    end?;
    outcome.end(read.files, &pool)
}

/// How many texts of a row may be as long as a canonical form: the URL, the form and its SURT, and
/// what escapes add.
const COPIES_OF_ROWS: u64 = 4;

/// Bytes of a row beside its texts, at most: the names of its members, the number, the kind.
const ROW_BYTES: u64 = 192;

/// Writes what was made of some chunks, while the next ones are processed.
fn write(parts: Vec<(Parcel, Listing)>, writer: &mut ListingWriter) -> Result<()> {
    for (parcel, listing) in parts {
        writer.write(&listing)?;
        parcel.release();
    }
    writer.pass_on()
}

impl BadLine {
    /// The error for this line, which is at `place`.
    #[cold]
    fn error(&self, place: &str, plan: &CanonPlan) -> Error {
        let start = show(&self.start);
        match self.reject {
            Reject::LineTooLong if plan.shape.is_none() => Error::limit(format!(
                "{place}: longer than the line limit: \"{start}…\"; raise --line-limit, or write an \
                 empty line for it with --on-bad empty"
            )),
            Reject::LineTooLong => Error::limit(format!(
                "{place}: longer than the line limit: \"{start}…\"; raise --line-limit, or leave it out \
                 with --on-bad keep or --on-bad empty"
            )),
            Reject::Format
            | Reject::NoRequest
            | Reject::BadRequest
            | Reject::NoPage
            | Reject::NoUrl => Error::input(format!(
                "{place}: {}: \"{start}\"; --on-bad keep and --on-bad empty {} lines without a URL",
                self.reject.explain(),
                match plan.shape {
                    None => "write an empty line for",
                    Some(_) => "leave out",
                }
            )),
            _ => Error::input(format!(
                "{place}: {}: \"{start}\"; keep such lines with --on-bad keep",
                self.reject.explain()
            )),
        }
    }
}

/// What is written for `chunk`, whose first line has the number `first_line`, from 0 over all
/// inputs.
fn rewrite(
    job: &Job,
    plan: &CanonPlan,
    first_line: u64,
    chunk: &Parcel,
    listing: Listing,
    worker: &mut Worker,
) -> Rewritten {
    let options = ReadOptions { fields: false, ..job.read_options() };
    let (listing, mut tally, end) = match listing {
        Listing::Lines(mut text, separator) => {
            text.reserve(chunk.bytes().len() + 64);
            let mut lines = Lines { plan, text, separator };
            let (tally, end) = walk_lines(options, chunk, job, worker, &mut lines);
            (Listing::Lines(lines.text, separator), tally, end)
        }
        Listing::Rows(rows) => {
            let mut table = Table { plan, first_line, rows, surt: Vec::new() };
            let (tally, end) = walk_lines(options, chunk, job, worker, &mut table);
            (Listing::Rows(table.rows), tally, end)
        }
    };
    tally.set_unique(tally.records);
    Rewritten { listing, tally, bad: end.err() }
}

/// Canonical forms, line for line.
struct Lines<'a> {
    plan: &'a CanonPlan,
    text: Vec<u8>,
    separator: u8,
}

impl LineVisitor for Lines<'_> {
    type Error = BadLine;

    #[inline(always)]
    fn record(&mut self, number: u32, record: Record, canonical: Canonical) -> Result<(), BadLine> {
        if self.plan.has_form(number, &record, &canonical)? {
            push_form(self.plan.notation, record.url, &canonical, &mut self.text);
        }
        self.text.push(self.separator);
        Ok(())
    }

    fn other(&mut self, number: u32, entry: Entry) -> Result<(), BadLine> {
        self.plan.allow(number, &entry)?;
        self.text.push(self.separator);
        Ok(())
    }
}

/// A row for each record.
struct Table<'a> {
    plan: &'a CanonPlan,
    first_line: u64,
    rows: Rows,
    surt: Vec<u8>,
}

impl LineVisitor for Table<'_> {
    type Error = BadLine;

    fn record(&mut self, number: u32, record: Record, canonical: Canonical) -> Result<(), BadLine> {
        let has_form = self.plan.has_form(number, &record, &canonical)?;
        let form = without_no_host(canonical.form);
        self.surt.clear();
        Notation::Surt.push(record.url, form, &mut self.surt);
        let unparsed = canonical.reject.map(|kind| Cell::Text(kind.name().as_bytes()));
        self.rows.row(&[
            Cell::Number(self.first_line + u64::from(number) + 1),
            Cell::Text(record.spelling),
            if has_form { Cell::Text(form) } else { Cell::Null },
            if unparsed.is_none() { Cell::Text(&self.surt) } else { Cell::Null },
            unparsed.unwrap_or(Cell::Null),
        ]);
        Ok(())
    }

    fn other(&mut self, number: u32, entry: Entry) -> Result<(), BadLine> {
        self.plan.allow(number, &entry)
    }
}

impl CanonPlan {
    /// Has the record a form to be written: the canonical one, or the URL in its place?
    ///
    /// Failure: such lines are an error.
    #[inline(always)]
    fn has_form(
        &self,
        number: u32,
        record: &Record,
        canonical: &Canonical,
    ) -> Result<bool, BadLine> {
        match (canonical.reject, self.on_bad) {
            (None, _) | (Some(_), OnBad::Keep) => Ok(true),
            (Some(_), OnBad::Empty) => Ok(false),
            (Some(reject), OnBad::Fail) => Err(BadLine::new(number, reject, record.line)),
        }
    }

    /// Checks that a line without a URL is no error.
    fn allow(&self, number: u32, entry: &Entry) -> Result<(), BadLine> {
        match (self.on_bad, entry) {
            // A line that is too long cannot be kept, so this is an error unless an empty one, or
            // no row, will do.
            (OnBad::Keep, Entry::Reject(reject @ Reject::LineTooLong, text))
                if self.shape.is_none() =>
            {
                Err(BadLine::new(number, *reject, text))
            }
            (OnBad::Fail, Entry::Reject(reject, text)) => Err(BadLine::new(number, *reject, text)),
            _ => Ok(()),
        }
    }
}
