//! `learn --evaluate`: compares the canonical forms of a job with the truth.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use crate::bytes::{show, show_path};
use crate::error::{Error, Result, Setting};
use crate::input::{Chunk, Containers, Input, InputPlan};
use crate::pipeline::scan::walk::{Worker, walk};
use crate::pipeline::scan::{BatchChunk, Pass, Scan, WasRead};
use crate::pipeline::{Job, Outcome};
use crate::report::{Evaluation, Judged, SiteScore};

/// Compares the canonical forms of the job's records with `truth`: a table with a header, a row for
/// each record in input order, and columns `site` and `page` (numbers). The input is what was
/// `learned` from: files that have grown since are read up to their earlier size.
///
/// Failure: an input error that names the row, if there are more or fewer rows than records, or if
/// a row lacks these columns; also if the input has changed.
pub fn evaluate(job: &Job, learned: &Outcome, mut truth: Truth) -> Result<Evaluation> {
    let pool = job.pool()?;
    let mut sites: BTreeMap<u64, Vec<Judged>> = BTreeMap::new();
    let files = learned.files.clone();
    let first = WasRead { files_in_all: files.len(), files, lines: learned.tally.lines };
    Scan::new(job, &pool, Pass::again("judging", &first)).run(
        Worker::default,
        |worker, chunk| {
            let mut forms = Vec::new();
            let tally = walk(chunk, job, worker, |_, record, canonical| {
                let url = job.key.fingerprint(record.url);
                forms.push((url, job.key.fingerprint(canonical.form)));
            });
            (tally.lines, forms)
        },
        |batch| {
            for BatchChunk { made: forms, .. } in batch.chunks {
                for (url, canonical) in forms {
                    let (site, page) = truth.next()?.ok_or_else(|| truth.wrong("has no row"))?;
                    truth.row += 1;
                    sites.entry(site).or_default().push(Judged { url, page, canonical });
                }
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    if truth.next()?.is_some() {
        let why = match job.format.filter {
            Some(_) => format!(
                "the truth is that of all records, so leave out what filters them, as {} and {} do",
                Setting::Status,
                Setting::Include
            ),
            None => "is the truth that of this input?".to_string(),
        };
        return Err(truth.wrong(&format!("has a row, but the input has no record; {why}")));
    }
    let mut evaluation = Evaluation::default();
    for (_, mut rows) in sites {
        evaluation.add(SiteScore::of(&mut rows).map_err(|error| error.at(&truth.name))?);
    }
    Ok(evaluation)
}

/// Reads the rows of a truth table in order.
#[derive(Debug)]
pub struct Truth {
    chunks: Input,
    name: String,
    /// The current block of lines, and how far it was read.
    chunk: Option<Chunk>,
    at: usize,
    /// The columns of site and page.
    columns: [usize; 2],
    /// Rows before the next one.
    row: u64,
}

impl Truth {
    /// Opens a table, compressed or not, and reads its header. It is opened once for each set of
    /// rules that is evaluated, so a pipe is an error.
    pub fn open(path: &Path) -> Result<Truth> {
        let is_file = match std::fs::metadata(path) {
            Ok(metadata) => metadata.is_file(),
            // Standard input, if there is no file named `-`; any other name is a missing file.
            Err(_) => path.as_os_str() != "-",
        };
        if !is_file {
            return Err(Error::input(format!(
                "{}: the truth is read several times, so it has to be a file; write it to one first",
                show_path(path)
            )));
        }
        let plan = InputPlan {
            // Also a file named "-".
            paths: vec![Path::new(".").join(path)],
            names: vec![(Path::new(".").join(path), path.to_path_buf())],
            containers: Containers::None,
            ..InputPlan::default()
        };
        let mut truth = Truth {
            chunks: Input::open(&plan)?,
            name: show_path(path).to_string(),
            chunk: None,
            at: 0,
            columns: [0, 1],
            row: 0,
        };
        let header = truth.line()?.unwrap_or_default().to_vec();
        let column = |wanted: &[u8]| fields(&header).position(|column| column == wanted);
        match (column(b"site"), column(b"page")) {
            (Some(site), Some(page)) => truth.columns = [site, page],
            _ => {
                return Err(Error::input(format!(
                    "{}: expected a header with the columns \"site\" and \"page\", found \"{}\"",
                    truth.name,
                    show(&header)
                )));
            }
        }
        Ok(truth)
    }

    /// Reads the next line, without its line end.
    fn line(&mut self) -> Result<Option<&[u8]>> {
        while self.chunk.as_ref().is_none_or(|chunk| self.at >= chunk.bytes().len()) {
            match self.chunks.next() {
                None => return Ok(None),
                Some(chunk) => (self.chunk, self.at) = (Some(chunk?), 0),
            }
        }
        let rest = self.chunk.as_ref().map_or(&[][..], |chunk| &chunk.bytes()[self.at..]);
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.at += length + 1;
        let line = &rest[..length];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Reads site and page of the next row.
    fn next(&mut self) -> Result<Option<(u64, u64)>> {
        let [site, page] = self.columns;
        // Below the header.
        let line_number = self.row + 2;
        let Some(line) = self.line()? else { return Ok(None) };
        let number = |column: usize| {
            let field = fields(line).nth(column)?;
            std::str::from_utf8(field).ok()?.parse().ok()
        };
        match number(site).zip(number(page)) {
            Some(row) => Ok(Some(row)),
            None => {
                let found = show(&line[..line.len().min(80)]).to_string();
                Err(Error::input(format!(
                    "{}: line {line_number}: expected numbers for site and page, found \"{found}\"; take the \
                     truth as it was written",
                    self.name
                )))
            }
        }
    }

    fn wrong(&self, what: &str) -> Error {
        Error::input(format!("{}: record {}: {what}", self.name, self.row + 1))
    }
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b'\t')
}
