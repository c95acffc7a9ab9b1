//! `canon`: the canonical form of every line, line for line, or of every record, row by row.

use super::scan::layouts::Parcel;
use super::scan::walk::{LineVisitor, Worker, count_lines, push_form, walk_lines};
use super::scan::{Batch, BatchChunk, FORM_BYTES, Pass, Scan, WasRead};
use super::threads::consumer::{Consumer, with_consumer};
use super::threads::pool::{Pool, Stage};
use super::{Job, Outcome, line_place};
use crate::bytes::show;
use crate::canonical::{Canonical, Notation};
use crate::error::{Error, Result, Setting};
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
    let made_by = Provenance::of(job.canonicalizer.profile());
    let separator = job.input.separator;
    let mut writer =
        ListingWriter::new(output, Listed::Canonical, separator, plan.shape, &made_by)?;
    let rewriter = Rewriter { job, plan, blank: writer.part() };
    let write = |parts| pool.time(Stage::Writing, || write(parts, &mut writer));
    let (stop, mut bad) = (job.input.stop.part(), None);
    let (read, end) = with_consumer(1, &stop, write, |to_writer| {
        let scan = Scan::new(job, &pool, Pass::first("canonicalizing")).with_stop(&stop);
        let collector = Collector { job, tally: &mut outcome.tally, bad: &mut bad, to_writer };
        match plan.shape {
            None => canon_lines(scan, &rewriter, collector),
            Some(_) => canon_rows(scan, &pool, &rewriter, collector),
        }
    })?;
    if let Some((number, line)) = bad {
        return Err(line.error(&line_place(&read.files, read.files_in_all, number), plan));
    }
    writer.finish()?;
    end?;
    outcome.end(read.files, &pool)
}

/// Canonical forms as lines: written while the lines are read.
fn canon_lines(
    scan: Scan,
    rewriter: &Rewriter,
    mut collector: Collector,
) -> Result<(WasRead, Result<()>)> {
    scan.with_record_bytes(|chunk, _| form_bytes(chunk)).run_to_end(
        Worker::default,
        |worker, chunk| {
            let rewritten = rewriter.rewrite(0, chunk, worker);
            (rewritten.tally.lines, rewritten)
        },
        |Batch { chunks, .. }| {
            let chunk = |chunk: BatchChunk<_>| (chunk.parcel, chunk.first_line, chunk.made);
            collector.add(chunks.into_iter().map(chunk))
        },
    )
}

/// Canonical forms as rows. Each has the number of its line, which is known once the lines of the
/// chunks before it are counted.
fn canon_rows(
    scan: Scan,
    pool: &Pool,
    rewriter: &Rewriter,
    mut collector: Collector,
) -> Result<(WasRead, Result<()>)> {
    let job = rewriter.job;
    let record_bytes = |chunk: &Parcel, _| {
        let rows = 1 + memchr::memchr_iter(job.input.separator, chunk.bytes()).count() as u64;
        rows * ROW_BYTES + COPIES_OF_ROWS * form_bytes(chunk)
    };
    scan.with_record_bytes(record_bytes).run_to_end(
        Worker::default,
        |worker, chunk| (count_lines(chunk, job, &mut worker.workspace), ()),
        |Batch { chunks, .. }| {
            let stage = Stage::Canonicalizing;
            let rewritten = pool.map_with(stage, chunks.len(), Worker::default, |worker, at| {
                rewriter.rewrite(chunks[at].first_line, &chunks[at].parcel, worker)
            });
            let chunk = |(chunk, made): (BatchChunk<()>, _)| (chunk.parcel, chunk.first_line, made);
            collector.add(chunks.into_iter().zip(rewritten).map(chunk))
        },
    )
}

/// Most bytes of the canonical forms of `chunk`.
fn form_bytes(chunk: &Parcel) -> u64 {
    FORM_BYTES * chunk.bytes().len() as u64
}

/// Sends what was made of chunks to the writer, up to the first line that cannot be written.
struct Collector<'a> {
    job: &'a Job<'a>,
    tally: &'a mut Tally,
    /// The first line that cannot be written, with its number from 1 over all inputs.
    bad: &'a mut Option<(u64, BadLine)>,
    to_writer: Consumer<Vec<(Parcel, Listing)>>,
}

impl Collector<'_> {
    /// Adds the chunks of a batch, each with the number of its first line.
    fn add(
        &mut self,
        chunks: impl Iterator<Item = (Parcel, u64, Rewritten)>,
    ) -> Result<ControlFlow<()>> {
        let mut parts = Vec::with_capacity(chunks.size_hint().0);
        for (parcel, first_line, made) in chunks {
            parts.push((parcel, made.listing));
            if let Some(line) = made.bad {
                *self.bad = Some((first_line + u64::from(line.number) + 1, line));
                break;
            }
            self.job.add(self.tally, &made.tally)?;
        }
        self.to_writer.send(parts)?;
        let is_bad = self.bad.is_some();
        Ok(if is_bad { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
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
    writer.flush_if_streaming()
}

impl BadLine {
    /// The error for this line, which is at `place`.
    #[cold]
    fn error(&self, place: &str, plan: &CanonPlan) -> Error {
        let start = show(&self.start);
        let (line_limit, on_bad) = (Setting::LineLimit, Setting::OnBad);
        match self.reject {
            Reject::LineTooLong if plan.shape.is_none() => Error::limit(format!(
                "{place}: longer than the line limit: \"{start}…\"; raise {line_limit}, or write an \
                 empty line for it with {on_bad} empty"
            )),
            Reject::LineTooLong => Error::limit(format!(
                "{place}: longer than the line limit: \"{start}…\"; raise {line_limit}, or leave it out \
                 with {on_bad} keep or {on_bad} empty"
            )),
            Reject::Format
            | Reject::NoRequest
            | Reject::BadRequest
            | Reject::NoPage
            | Reject::NoUrl => Error::input(format!(
                "{place}: {}: \"{start}\"; {on_bad} keep and {on_bad} empty {} lines without a URL",
                self.reject.explain(),
                match plan.shape {
                    None => "write an empty line for",
                    Some(_) => "leave out",
                }
            )),
            _ => Error::input(format!(
                "{place}: {}: \"{start}\"; keep such lines with {on_bad} keep",
                self.reject.explain()
            )),
        }
    }
}

/// What workers rewrite chunks with.
struct Rewriter<'a> {
    job: &'a Job<'a>,
    plan: &'a CanonPlan,
    /// An empty part of the listing.
    blank: Listing,
}

impl Rewriter<'_> {
    /// Returns what is written for `chunk`, whose first line has the number `first_line`, from 0
    /// over all inputs. Only rows depend on the number.
    fn rewrite(&self, first_line: u64, chunk: &Parcel, worker: &mut Worker) -> Rewritten {
        let (job, plan) = (self.job, self.plan);
        let options = ReadOptions { fields: false, ..job.read_options() };
        let (listing, mut tally, end) = match self.blank.clone() {
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
