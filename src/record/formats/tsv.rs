//! Tables whose columns are separated by tabs, without quotes.
//!
//! HOT: once per line. Price: one pass up to the last column that is read; no allocation.

use std::sync::Arc;

use crate::error::Result;
use crate::limits::COLUMNS_MAX;
use crate::record::field_map::FieldMap;
use crate::record::table::first_row::FirstRow;
use crate::record::table::{Table, is_origin, put, without_preamble};
use crate::record::{Escapes, Found, LineFormat, Parsed, Uneven};
use crate::reject::Reject;

/// A table with tabs between its columns.
///
/// - Shape: a row on each line; cells hold neither tabs nor line ends, and quotes are text. `-`
///   means empty.
/// - Escapes: none, except in tables of undust's own, which begin with their origin: there a tab, a
///   newline, a carriage return and a backslash are `\t`, `\n`, `\r` and `\\` (`report/rows/`).
/// - Source: IANA media type `text/tab-separated-values`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tsv {
    table: Table,
    is_escaped: bool,
}

impl Tsv {
    /// The table that begins with `lines`, with the columns that the user has chosen.
    ///
    /// Failure: that of [`Table::with_fields`].
    fn with_fields(lines: &[&[u8]], fields: &FieldMap) -> Result<Tsv> {
        let first = FirstRow::find(without_preamble(lines), split, fields);
        Ok(Tsv::of(Table::with_fields(&first, fields)?, lines))
    }

    /// The format of `table`, which begins with `lines`.
    fn of(table: Table, lines: &[&[u8]]) -> Tsv {
        let is_escaped = lines.first().is_some_and(|line| is_origin(line));
        Tsv { table: table.trimmed(), is_escaped }
    }
}

/// The table that begins with `lines`, with the columns that the user has chosen.
///
/// Failure: that of [`Table::with_fields`].
pub(crate) fn with_fields(lines: &[&[u8]], fields: &FieldMap) -> Result<Arc<dyn LineFormat>> {
    Ok(Arc::new(Tsv::with_fields(lines, fields)?))
}

/// The table of `lines`, if a header names a column of URLs or one column has nothing but URLs.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    // A list whose lines end in tabs is a list.
    let has_text = |cell: &[u8]| cell.iter().any(|byte| *byte > b' ');
    let is_table =
        |line: &&[u8]| line.split(|byte| *byte == b'\t').filter(|cell| has_text(cell)).count() > 1;
    if !lines.iter().any(is_table) || super::csv::quotes_tabs(lines) {
        return None;
    }
    let table = Table::recognize(lines, split)?;
    (!table.is_single()).then(|| Arc::new(Tsv::of(table, lines)) as _)
}

/// The cells of `line`; `None` if there are more than [`COLUMNS_MAX`].
fn split(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let cells = || line.split(|byte| *byte == b'\t');
    (cells().count() <= COLUMNS_MAX).then(|| cells().map(<[u8]>::to_vec).collect())
}

impl LineFormat for Tsv {
    fn name(&self) -> &'static str {
        "tsv"
    }

    fn describe(&self) -> String {
        self.table.describe()
    }

    fn url_names(&self) -> &[Vec<u8>] {
        self.table.url_names()
    }

    fn uneven(&self) -> Option<Uneven> {
        self.table.uneven()
    }

    #[inline]
    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        let table = &self.table;
        if table.is_comment(line) {
            return Parsed::Comment;
        }
        let mut start = 0;
        let mut count = 0;
        for end in memchr::memchr_iter(b'\t', line).chain(std::iter::once(line.len())) {
            if let Some(field) = table.field(count) {
                put(field, &line[start..end], found);
            }
            start = end + 1;
            count += 1;
            if table.is_last(count - 1) {
                break;
            }
        }
        if !table.fits(count) {
            return Parsed::Reject(Reject::Format);
        }
        // Bet: most rows have no escapes.
        if self.is_escaped && memchr::memchr(b'\\', line).is_some() {
            (found.escapes, found.fields.escapes) = (Escapes::Backslash, Escapes::Backslash);
        }
        table.finish(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::formats::samples;

    fn parse<'a>(format: &dyn LineFormat, line: &'a [u8]) -> (Parsed, Found<'a>) {
        let mut found = Found::default();
        (format.parse(line, &mut found), found)
    }

    #[test]
    fn lines() {
        let header = &b"#url\ttimestamp\tstatus\tmime\tbytes\tsha1\ttitle"[..];
        let format = recognize(&[header]).unwrap();
        for (line, expected, why) in [
            (header, Parsed::Comment, "the header"),
            (b"# by hand", Parsed::Comment, "a comment, as the header is"),
            (b"http://a.test/\t20140126200624\t200\ttext/html\t9\tX\ta\"b\tc", Parsed::Record, ""),
            (b"http://a.test/\t-", Parsed::Record, "a row that ends early"),
            (b"\t20140126200624\t200", Parsed::Reject(Reject::NoUrl), "no URL"),
            (b"-\t20140126200624\t200", Parsed::Reject(Reject::NoUrl), "no URL"),
            (b"http://a.test/", Parsed::Reject(Reject::Format), "a list"),
            (b"", Parsed::Reject(Reject::Format), "nothing"),
        ] {
            assert_eq!(parse(&*format, line).0, expected, "{why}: {}", line.escape_ascii());
        }
        let line = b"http://a.test/\t20140126200624\t200\ttext/html\t9\tX\ttitle";
        let (_, found) = parse(&*format, line);
        assert_eq!((found.target, found.fields.status), (&b"http://a.test/"[..], &b"200"[..]));
        assert_eq!((found.fields.size, found.fields.digest), (&b"9"[..], &b"X"[..]));
    }

    #[test]
    fn without_a_header_rows_have_one_width() {
        let row = &b"1\thttp://a.test/\tx"[..];
        let format = recognize(&[row, row]).unwrap();
        assert_eq!(parse(&*format, row).1.target, b"http://a.test/");
        let longer = b"1\thttp://a.test/\tx\ty";
        assert_eq!(parse(&*format, longer).0, Parsed::Reject(Reject::Format));
        assert!(recognize(&[b"http://a.test/", b"http://b.test/"]).is_none(), "a list");
    }

    #[test]
    fn told_columns() {
        let fields = FieldMap::parse("url=2,redirect=1").unwrap();
        let format = Tsv::with_fields(&[b"/b\t/a"], &fields).unwrap();
        let (parsed, found) = parse(&format, b"/b\t/a");
        assert_eq!((parsed, found.target), (Parsed::Record, &b"/a"[..]));
        assert_eq!(found.fields.redirect, b"/b");
        assert!(Tsv::with_fields(&[b"/b\t/a"], &FieldMap::parse("3").unwrap()).is_err());
    }

    #[test]
    fn tables_of_its_own_are_escaped() {
        let origin = &b"# undust 0.1.0 table=canonical profile=crawl@1 rules=3c0e41fe56895b7a"[..];
        let row = &br"http://a.test/\\b\tc\n\r\\x41"[..];
        let told = |lines: &[&[u8]]| -> Arc<dyn LineFormat> {
            Arc::new(Tsv::with_fields(lines, &FieldMap::parse("url").unwrap()).unwrap())
        };
        let recognized = |lines: &[&[u8]]| recognize(lines).unwrap();
        let header = &b"url\tcanonical"[..];
        let row = [row, b"\thttp://a.test/"].concat();
        for (lines, expected) in [
            (&[origin, header, &row][..], &b"http://a.test/\\b\tc\n\r\\x41"[..]),
            (&[header, &row], br"http://a.test/\\b\tc\n\r\\x41"),
        ] {
            for format in [told(lines), recognized(lines)] {
                let (parsed, found) = parse(&*format, &row);
                assert_eq!(parsed, Parsed::Record);
                let mut buffer = Vec::new();
                assert_eq!(found.escapes.undo(found.target, &mut buffer), expected);
            }
        }
    }

    #[test]
    fn the_sample() {
        let urls = samples::sample_urls(&samples::sample("redirects.tsv"), recognize);
        assert_eq!(
            urls,
            [
                "http://www.example.org/index.php?id=1 ? 301",
                "http://www.example.org/index.php?id=2 ? 301",
                "http://www.example.org/old/\"news\".html ? 410",
            ]
        );
    }

    #[test]
    fn hostile_lines_are_linear() {
        let format = recognize(&[b"x\turl"]).unwrap();
        samples::check_hostile(&["", "a\t"], &["\t", "a\t", "\"", "a"], |line| {
            assert_ne!(parse(&*format, line).0, Parsed::Comment);
        });
    }
}
