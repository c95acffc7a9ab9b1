//! Listings that workers have put together, written in order on a thread of its own.

use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, SyncSender};

use super::pool::{Pool, Stage};
use crate::error::{Error, Result};
use crate::report::{Listing, ListingWriter};

/// Where parts of a listing go.
pub(super) struct Lister {
    /// To the writer: a part, or `None` if what has been written is to be handed on.
    full: SyncSender<Option<Listing>>,
    /// Back from it, to be filled again.
    empty: Mutex<Receiver<Listing>>,
    blank: Listing,
}

/// Writes to `writer` what `fill` puts in, in order; at most `ahead` parts wait to be written. The time is
/// counted as [`Stage::Writing`].
///
/// Failure: the first error of writing, or else of `fill`.
pub(super) fn list<T>(
    pool: &Pool,
    writer: &mut ListingWriter,
    ahead: usize,
    fill: impl FnOnce(&Lister) -> Result<T>,
) -> Result<T> {
    std::thread::scope(|scope| {
        let (full, parts) = mpsc::sync_channel::<Option<Listing>>(ahead);
        let (back, empty) = mpsc::channel();
        let lister = Lister { full, empty: Mutex::new(empty), blank: writer.part() };
        let writing = scope.spawn(move || {
            for part in parts {
                let Some(mut part) = part else {
                    writer.pass_on()?;
                    continue;
                };
                pool.time(Stage::Writing, || writer.write(&part))?;
                part.clear();
                // Nobody needs it any more at the end.
                let _ = back.send(part);
            }
            Ok(())
        });
        let result = fill(&lister);
        drop(lister);
        writing.join().map_err(|_| Error::internal("the writer has panicked"))??;
        result
    })
}

impl Lister {
    /// An empty part to be filled, by any thread.
    pub(super) fn part(&self) -> Listing {
        let empty = self.empty.lock().expect("no thread panics while it takes one");
        empty.try_recv().unwrap_or_else(|_| self.blank.clone())
    }

    /// Puts `part` behind those before it.
    pub(super) fn write(&self, part: Listing) -> Result<()> {
        self.send(Some(part))
    }

    /// Hands on what has been written so far, if somebody may be waiting for it.
    pub(super) fn pass_on(&self) -> Result<()> {
        self.send(None)
    }

    fn send(&self, part: Option<Listing>) -> Result<()> {
        // The writer only goes away with an error of its own, which comes first.
        self.full.send(part).map_err(|_| Error::internal("the writer is gone"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::Profile;
    use crate::report::{Claims, Listed, Provenance};

    fn made_by() -> Provenance {
        Provenance::of(&Profile::named("crawl").unwrap())
    }

    #[test]
    fn parts_come_out_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let pool = Pool::start(1).unwrap();
        let mut output = Claims::new(&[]).open(Some(&path)).unwrap();
        let mut writer =
            ListingWriter::new(&mut output, Listed::Dropped, b'\n', None, &made_by()).unwrap();
        let given = list(&pool, &mut writer, 2, |lister| {
            for number in 1..100 {
                let mut part = lister.part();
                assert_eq!(part.bytes(), 0);
                part.dropped(number, 1, "case", b"A\t", b"a");
                lister.write(part)?;
                lister.pass_on()?;
            }
            Ok(7)
        });
        assert_eq!(given.unwrap(), 7);
        writer.finish().unwrap();
        output.publish().unwrap();
        let rows: String = (1..100).map(|line| format!("{line}\t1\tcase\tA\\t\ta\n")).collect();
        let expected = format!("line\tkept_line\trules\tdropped\tkept\n{rows}");
        assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
    }

    #[test]
    fn errors_are_told() {
        let pool = Pool::start(1).unwrap();
        let full = std::path::Path::new("/dev/full");
        let mut output = Claims::new(&[]).open(Some(full)).unwrap();
        let mut writer =
            ListingWriter::new(&mut output, Listed::Dropped, b'\n', None, &made_by()).unwrap();
        let error = list(&pool, &mut writer, 1, |lister| {
            (0..100).try_for_each(|line| {
                let mut part = lister.part();
                part.dropped(line, 1, "case", &[b'x'; 100_000], b"");
                lister.write(part)
            })
        });
        assert!(error.unwrap_err().to_string().contains("/dev/full"));
        let error = list(&pool, &mut writer, 1, |_| -> Result<()> { Err(Error::input("mine")) });
        assert_eq!(error.unwrap_err().to_string(), "mine");
    }
}
