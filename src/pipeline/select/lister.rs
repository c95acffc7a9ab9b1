//! Writes what workers have formatted, in order, on a thread of its own.

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};

use crate::error::Result;
use crate::input::Stop;
use crate::pipeline::scan::flow::{Flow, Ticket};
use crate::pipeline::threads::consumer::{Consumer, with_consumer};
use crate::pipeline::threads::pool::{Pool, Stage};
use crate::report::{Listing, ListingWriter};

/// The workers' end of the thread that writes a listing.
pub(super) struct Lister {
    /// To the writer: a part with the ticket for its memory, or `None` to flush what was written.
    full: Consumer<Option<(Listing, Ticket)>>,
    flow: Arc<Flow>,
    /// Written parts, to be filled again.
    empty: Mutex<Receiver<Listing>>,
    blank: Listing,
}

/// How much may wait to be written: this many parts, with this many bytes, or one part that is
/// larger than that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    pub(super) parts: usize,
    pub(super) bytes: u64,
    /// The memory of parts that are longer than this is not used again.
    pub(super) part_bytes: usize,
}

/// Writes to `writer` the parts that `fill` sends, in order. The time is counted as
/// [`Stage::Writing`].
///
/// Failure: the first error of writing, or else of `fill`.
pub(super) fn list<T>(
    pool: &Pool,
    writer: &mut ListingWriter,
    ahead: Ahead,
    fill: impl FnOnce(&Lister) -> Result<T>,
) -> Result<T> {
    let (back, empty) = mpsc::channel();
    let (blank, empty) = (writer.part(), Mutex::new(empty));
    let write = move |part: Option<(Listing, Ticket)>| {
        let Some((mut part, _ticket)) = part else { return writer.flush_if_streaming() };
        pool.time(Stage::Writing, || writer.write(&part))?;
        if part.bytes() <= ahead.part_bytes {
            part.clear();
            // At the end nobody takes it any more.
            let _ = back.send(part);
        }
        Ok(())
    };
    with_consumer(ahead.parts, &Stop::default(), write, |full| {
        fill(&Lister { full, flow: Flow::new(ahead.bytes), empty, blank })
    })
}

impl Lister {
    /// Returns an empty part, to be filled by any thread.
    pub(super) fn part(&self) -> Listing {
        let empty = self.empty.lock().expect("no thread panics while it takes one");
        empty.try_recv().unwrap_or_else(|_| self.blank.clone())
    }

    /// Sends `part`, after those sent before; waits until there is room for it.
    pub(super) fn write(&self, part: Listing) -> Result<()> {
        let ticket = self.flow.enter(part.bytes() as u64);
        self.full.send(Some((part, ticket)))
    }

    /// Flushes what has been written so far, if a reader may be waiting for it.
    pub(super) fn flush_if_streaming(&self) -> Result<()> {
        self.full.send(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::Profile;
    use crate::error::Error;
    use crate::report::{ClaimedPaths, Listed, Provenance};

    fn made_by() -> Provenance {
        Provenance::of(&Profile::named("crawl").unwrap())
    }

    /// A part takes some 20 bytes.
    const AHEAD: Ahead = Ahead { parts: 3, bytes: 50, part_bytes: 100 };

    #[test]
    fn parts_come_out_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let pool = Pool::start(1).unwrap();
        let longest = Ahead { part_bytes: 0, ..AHEAD };
        let alone = Ahead { bytes: 1, ..AHEAD };
        for ahead in [AHEAD, alone, longest, Ahead { parts: 0, ..AHEAD }] {
            let mut output = ClaimedPaths::new(&[]).open(Some(&path)).unwrap();
            let mut writer =
                ListingWriter::new(&mut output, Listed::Dropped, b'\n', None, &made_by()).unwrap();
            let given = list(&pool, &mut writer, ahead, |lister| {
                for number in 1..100 {
                    let mut part = lister.part();
                    assert_eq!(part.bytes(), 0);
                    part.dropped(number, 1, "case", b"A\t", b"a");
                    lister.write(part)?;
                    lister.flush_if_streaming()?;
                }
                Ok(7)
            });
            assert_eq!(given.unwrap(), 7);
            writer.finish().unwrap();
            output.publish().unwrap();
            let row = |line: u64| format!("{line}\t1\tcase\tA\\t\ta\n");
            let rows: String = (1..100).map(row).collect();
            let expected = format!("line\tkept_line\trules\tdropped\tkept\n{rows}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), expected, "{ahead:?}");
        }
    }

    #[test]
    fn what_waits_is_bounded() {
        let pool = Pool::start(1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        // Both ends are open, and nobody reads.
        let _reader = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        let mut output = ClaimedPaths::new(&[]).open(Some(&pipe)).unwrap();
        let mut writer =
            ListingWriter::new(&mut output, Listed::Dropped, b'\n', None, &made_by()).unwrap();
        let ahead = Ahead { parts: 100, bytes: 10 << 20, part_bytes: 0 };
        let text = vec![b'x'; 1 << 20];
        let given = list(&pool, &mut writer, ahead, |lister| {
            // The writer holds one, whose room is taken as well.
            for _ in 0..9 {
                let mut part = lister.part();
                part.dropped(1, 1, "case", &text, b"");
                lister.write(part)?;
            }
            let is_full = lister.flow.try_enter(2 << 20).is_none();
            // Now somebody reads.
            let mut pipe = std::fs::File::open(&pipe).unwrap();
            std::thread::spawn(move || std::io::copy(&mut pipe, &mut std::io::sink()));
            lister.flush_if_streaming()?;
            Ok(is_full)
        });
        assert!(given.unwrap());
    }

    #[test]
    fn errors_are_returned() {
        let pool = Pool::start(1).unwrap();
        let full = std::path::Path::new("/dev/full");
        let mut output = ClaimedPaths::new(&[]).open(Some(full)).unwrap();
        let mut writer =
            ListingWriter::new(&mut output, Listed::Dropped, b'\n', None, &made_by()).unwrap();
        let error = list(&pool, &mut writer, AHEAD, |lister| {
            (0..100).try_for_each(|line| {
                let mut part = lister.part();
                part.dropped(line, 1, "case", &[b'x'; 100_000], b"");
                lister.write(part)
            })
        });
        assert!(error.unwrap_err().to_string().contains("/dev/full"));
        let error =
            list(&pool, &mut writer, AHEAD, |_| -> Result<()> { Err(Error::input("mine")) });
        assert_eq!(error.unwrap_err().to_string(), "mine");
    }
}
