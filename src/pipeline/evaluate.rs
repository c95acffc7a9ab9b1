//! `learn --evaluate`: the canonical forms of a job, judged by the truth.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::scan::{Pass, WasRead, scan};
use super::walk::{Hand, walk};
use super::{Job, Outcome};
use crate::error::{Error, Result};
use crate::report::{Evaluation, Judged, SiteScore};

/// Judges the canonical forms of the job's records by `truth`: a table with a header, whose columns
/// `site` and `page` (numbers) tell of one record each, in input order. The input is what was `learned`
/// from: files that have grown since are read up to the size they had.
///
/// Failure: an input error if there are more rows than records, or fewer, or one has no such
/// columns; it names the row. And if the input is not what it was.
pub fn evaluate(
    job: &Job,
    learned: &Outcome,
    truth: &mut dyn BufRead,
    name: &str,
) -> Result<Evaluation> {
    let pool = job.pool()?;
    let mut outcome = Outcome::default();
    let tally = &mut outcome.tally;
    let mut truth = Truth::open(truth, name)?;
    let mut sites: BTreeMap<u64, Vec<Judged>> = BTreeMap::new();
    let first = WasRead { files: learned.files.clone(), lines: learned.tally.lines };
    scan(
        job,
        &pool,
        Pass::again("judging", &first),
        Hand::default,
        |hand, chunk| {
            let mut forms = Vec::new();
            let tally = walk(chunk, job, hand, |_, record, canonical| {
                let url = job.key.fingerprint(record.url);
                forms.push((url, job.key.fingerprint(canonical.form)));
            });
            (forms, tally)
        },
        |batch| {
            let before = tally.lines;
            for (_, (forms, counts)) in batch {
                tally.merge(&counts);
                for (url, canonical) in forms {
                    let (site, page) = truth.next()?.ok_or_else(|| truth.wrong("has no row"))?;
                    sites.entry(site).or_default().push(Judged { url, page, canonical });
                }
            }
            Ok(Some(tally.lines - before))
        },
    )?;
    if truth.next()?.is_some() {
        return Err(truth.wrong("has a row, but the input has no record"));
    }
    let mut evaluation = Evaluation::default();
    for (_, mut rows) in sites {
        evaluation.add(SiteScore::of(&mut rows).map_err(|error| error.at(name))?);
    }
    Ok(evaluation)
}

/// The rows of a truth table, one after the other.
struct Truth<'a> {
    lines: &'a mut dyn BufRead,
    name: &'a str,
    /// The columns of site and page.
    columns: [usize; 2],
    row: u64,
    line: String,
}

impl<'a> Truth<'a> {
    fn open(lines: &'a mut dyn BufRead, name: &'a str) -> Result<Truth<'a>> {
        let mut truth = Truth { lines, name, columns: [0, 1], row: 0, line: String::new() };
        truth.read()?;
        let header: Vec<&str> = truth.line.trim_end().split('\t').collect();
        let column = |wanted: &str| header.iter().position(|column| *column == wanted);
        match (column("site"), column("page")) {
            (Some(site), Some(page)) => truth.columns = [site, page],
            _ => {
                return Err(Error::input(format!(
                    "{name}: expected a header with the columns \"site\" and \"page\", found \"{}\"",
                    crate::bytes::show(truth.line.trim_end().as_bytes())
                )));
            }
        }
        Ok(truth)
    }

    fn read(&mut self) -> Result<bool> {
        self.line.clear();
        let read = self.lines.read_line(&mut self.line);
        read.map(|bytes| bytes > 0).map_err(|error| Error::reading(self.name, error))
    }

    /// Site and page of the next row.
    fn next(&mut self) -> Result<Option<(u64, u64)>> {
        if !self.read()? {
            return Ok(None);
        }
        self.row += 1;
        let fields: Vec<&str> = self.line.trim_end_matches(['\r', '\n']).split('\t').collect();
        let number = |column: usize| fields.get(column)?.parse().ok();
        match (number(self.columns[0]), number(self.columns[1])) {
            (Some(site), Some(page)) => Ok(Some((site, page))),
            _ => Err(self.wrong("expected numbers for site and page")),
        }
    }

    fn wrong(&self, what: &str) -> Error {
        Error::input(format!("{}: record {}: {what}", self.name, self.row + 1))
    }
}
