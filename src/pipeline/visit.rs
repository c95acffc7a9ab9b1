//! Records one by one, in input order, for callers who have a use of their own for them.

use std::ops::ControlFlow;

use super::scan::walk::{LineVisitor, Worker, count_lines, walk_lines};
use super::scan::{Batch, BatchChunk, Pass, Scan};
use super::{Job, Outcome};
use crate::canonical::Canonical;
use crate::error::{Error, Result};
use crate::record::{Entry, Record};

/// Shows every record of the input to `each`, in input order, with all that its line says and its
/// canonical form, until `each` breaks off or fails.
///
/// `each` runs on the caller's thread; files are read, decompressed and cut into lines on others.
/// Nothing is compared: every record counts as unique. What is read is counted up to the record
/// after which `each` has broken off.
///
/// Failure: the first error of `each`, or else of reading; what could be read before a damaged
/// place has been shown by then.
pub fn visit(
    job: &Job,
    each: impl FnMut(&Record, &Canonical) -> Result<ControlFlow<()>>,
) -> Result<Outcome> {
    let pool = job.pool()?;
    let mut outcome = Outcome { compared: false, ..Outcome::begin(job) };
    let tally = &mut outcome.tally;
    let (mut visitor, mut worker) = (Visitor(each), Worker::default());
    let read = Scan::new(job, &pool, Pass::first("reading")).run(
        Worker::default,
        |worker, chunk| (count_lines(chunk, job, &mut worker.workspace), ()),
        |Batch { chunks, .. }| {
            for BatchChunk { parcel, .. } in chunks {
                let (mut seen, end) =
                    walk_lines(job.read_options(), &parcel, job, &mut worker, &mut visitor);
                parcel.verify()?;
                seen.set_unique(seen.records);
                job.add(tally, &seen)?;
                match end {
                    Ok(()) => {}
                    Err(End::BrokenOff) => return Ok(ControlFlow::Break(())),
                    Err(End::Failed(error)) => return Err(error),
                }
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    outcome.end(read.files, &pool)
}

/// Hands records on to who asked for them.
struct Visitor<F>(F);

/// Why no more records are asked for.
enum End {
    BrokenOff,
    Failed(Error),
}

impl<F: FnMut(&Record, &Canonical) -> Result<ControlFlow<()>>> LineVisitor for Visitor<F> {
    type Error = End;

    fn record(&mut self, _: u32, record: Record, canonical: Canonical) -> Result<(), End> {
        match self.0(&record, &canonical) {
            Ok(ControlFlow::Continue(())) => Ok(()),
            Ok(ControlFlow::Break(())) => Err(End::BrokenOff),
            Err(error) => Err(End::Failed(error)),
        }
    }

    fn other(&mut self, _: u32, _: Entry) -> Result<(), End> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::canonical::{Canonicalizer, Profile};
    use crate::error::ErrorKind;
    use crate::input::InputPlan;

    /// A log whose columns change, in two files, one of them empty; read by short chunks.
    fn visited(mut each: impl FnMut(&str) -> Result<ControlFlow<()>>) -> Result<Outcome> {
        let folder = tempfile::tempdir().unwrap();
        let [log, empty] = ["log", "empty"].map(|name| folder.path().join(name));
        let text = "#Fields: cs-method cs-uri-stem sc-status\nGET /a 200\nGET /b/../c 404\n\
                    #Fields: sc-status cs-uri-stem\n301 /d\n\n302 /e\n";
        fs::write(&log, text).unwrap();
        fs::write(&empty, "").unwrap();
        let pages = Canonicalizer::new(Profile::named("crawl").unwrap());
        let input = InputPlan { paths: vec![empty, log], chunk_bytes: 16, ..InputPlan::default() };
        visit(&Job::new(input, &pages), |record, canonical| {
            let [url, status, form] = [record.spelling, record.fields.status, canonical.form]
                .map(|text| String::from_utf8_lossy(text));
            each(&format!("{url} {status} {}", form.trim_start_matches("http://-")))
        })
    }

    #[test]
    fn records_come_in_order_with_what_their_lines_say() {
        let mut seen = Vec::new();
        let outcome = visited(|text| {
            seen.push(text.to_string());
            Ok(ControlFlow::Continue(()))
        });
        let tally = outcome.unwrap().tally;
        assert_eq!(seen.len(), 4, "{seen:?}");
        assert!(seen[1].starts_with("/b/../c 404 ") && seen[1].ends_with("/c"), "{seen:?}");
        assert!(seen[3].starts_with("/e 302 "), "{seen:?}");
        assert_eq!((tally.lines, tally.unique, tally.comments, tally.empty), (7, 4, 2, 1));
    }

    #[test]
    fn who_has_seen_enough_breaks_off() {
        let mut count = 0;
        let outcome = visited(|_| {
            count += 1;
            Ok(if count == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        });
        assert_eq!((count, outcome.unwrap().tally.records), (2, 2));
        let error = visited(|_| Err(Error::input("mine"))).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Input, "mine".to_string()));
    }
}
