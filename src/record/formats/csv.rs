//! Tables whose cells may be quoted: CSV with commas, semicolons or tabs.
//!
//! HOT: once per row. Price: one pass up to the last column that is read; no allocation.

use std::cmp::Reverse;
use std::sync::Arc;

use memchr::memchr;

use crate::bytes::Lines;
use crate::error::Result;
use crate::limits::COLUMNS_MAX;
use crate::record::field_map::{Field, FieldMap};
use crate::record::quoted::{QuotedRows, Row};
use crate::record::table::cell::is_url;
use crate::record::table::first_row::FirstRow;
use crate::record::table::{Table, put, told_delimiter, without_preamble};
use crate::record::{Escapes, Found, Headerless, LineFormat, Parsed, Uneven};
use crate::reject::Reject;

/// A table of values separated by commas, semicolons or tabs.
///
/// - Shape: a cell that starts with a quote ends at the next one that is not doubled; delimiters
///   and line ends in it are text. In other cells a quote is text. `-` means empty.
///   A table of one column has no delimiter, so that URLs may contain any of them.
/// - Source: RFC 4180 section 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Csv {
    table: Table,
    delimiter: u8,
}

/// The delimiters of tables, the most usual first.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// The delimiter of a table with one column: a byte that does not occur outside quotes in a row.
const NO_DELIMITER: u8 = b'\n';

impl Csv {
    /// The table that begins with `lines`, with the columns that the user has chosen. Of the
    /// possible delimiters it is the one with which the table begins earliest, and of several the
    /// one that is most frequent in its first row.
    ///
    /// Failure: that of [`Table::with_fields`].
    fn with_fields(lines: &[&[u8]], fields: &FieldMap) -> Result<Csv> {
        let text = Text::of(without_preamble(lines));
        let first = |delimiter: u8| {
            let rows = text.rows(delimiter);
            (FirstRow::find(&rows, |row| split(row, delimiter), fields), delimiter)
        };
        let (first, delimiter) = DELIMITERS
            .map(first)
            .into_iter()
            .filter(|(row, _)| row.cells.len() > 1)
            .min_by_key(|(row, _)| (!row.has_columns, row.at, Reverse(row.cells.len())))
            .unwrap_or_else(|| first(NO_DELIMITER));
        let table = Table::with_fields(&first, fields)?.trimmed();
        Ok(Csv { table, delimiter })
    }
}

/// The table that begins with `lines`, with the columns that the user has chosen.
///
/// Failure: that of [`Table::with_fields`].
pub(crate) fn with_fields(lines: &[&[u8]], fields: &FieldMap) -> Result<Arc<dyn LineFormat>> {
    Ok(Arc::new(Csv::with_fields(lines, fields)?))
}

/// The table of `lines`, if a header names a column of URLs or one column has nothing but URLs.
/// With tabs only if cells are quoted: otherwise it is a TSV file. A delimiter that gives a header
/// is preferred: commas may be those of numbers (`https://a.test/;1,5`).
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    let told = lines.first().and_then(|line| told_delimiter(line));
    let lines = without_preamble(lines);
    let (is_quoted, text) = (quotes_tabs(lines), Text::of(lines));
    let may_be = |byte: &u8| told.map_or(*byte != b'\t' || is_quoted, |told| told == *byte);
    let mut headerless = None;
    for delimiter in DELIMITERS.into_iter().filter(may_be) {
        let table = Table::recognize(&text.rows(delimiter), |row| split(row, delimiter));
        let Some(table) = table.filter(|table| !table.is_single()) else { continue };
        let (has_header, table) = (table.has_header(), table.trimmed());
        let csv = Csv { table, delimiter };
        if has_header {
            return Some(Arc::new(csv));
        }
        headerless = headerless.or(Some(csv));
    }
    if let Some(csv) = headerless {
        return Some(Arc::new(csv));
    }
    // One column with a name, and at least one row: a single line may be a list.
    if lines.len() == 1 {
        return None;
    }
    let table = Table::recognize(&[text.first_row(NO_DELIMITER)], |row| split(row, NO_DELIMITER))?;
    Some(Arc::new(Csv { table, delimiter: NO_DELIMITER }))
}

/// Are `lines` separated by tabs and quoted: around cells in the first line or in all others,
/// around a URL, or such that rows are as wide as the header only if tabs and line ends in quotes
/// are text? In any other table with tabs a quote is text.
pub(super) fn quotes_tabs(lines: &[&[u8]]) -> bool {
    let has_quotes =
        |line: &[u8]| line.first() == Some(&b'"') || memchr::memmem::find(line, b"\t\"").is_some();
    let cells = |line: &[u8]| split(line, b'\t').map_or(0, |cells| cells.len());
    let Some((header, rows)) = lines.split_first() else { return false };
    let count = cells(header);
    let are_quoted = rows.iter().all(|row| has_quotes(row) && cells(row) == count);
    header.first() == Some(&b'"')
        || count > 1 && !rows.is_empty() && (are_quoted || has_quoted_cells(lines, count))
}

/// Do quotes in some of `lines`, which are separated by tabs, contain a URL? Or do they contain
/// tabs and line ends, such that every row has `count` cells only if these are text?
fn has_quoted_cells(lines: &[&[u8]], count: usize) -> bool {
    let plain_cells = |line: &[u8]| line.split(|byte| *byte == b'\t').count();
    let is_quoted_url = |cell: &[u8]| {
        let within = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\""));
        within.is_some_and(is_url)
    };
    if lines.iter().any(|line| line.split(|byte| *byte == b'\t').any(is_quoted_url)) {
        return true;
    }
    let text = Text::of(lines);
    let rows = text.rows(b'\t');
    // The sample may end within the last one.
    let whole = &rows[..rows.len() - 1];
    let is_even = |row: &&[u8]| split(row, b'\t').is_some_and(|cells| cells.len() == count);
    lines.iter().any(|line| plain_cells(line) != count)
        && whole.len() > 1
        && whole.iter().all(is_even)
        && whole.iter().any(|row| memchr(b'"', row).is_some())
}

/// The lines of a sample, joined again: a row has several lines if line ends are within quotes.
struct Text {
    bytes: Vec<u8>,
    separator: u8,
}

impl Text {
    fn of(lines: &[&[u8]]) -> Text {
        // Lines that end with NUL may contain newlines.
        let separator = if lines.iter().any(|line| line.contains(&b'\n')) { 0 } else { b'\n' };
        Text { bytes: lines.join(&separator), separator }
    }

    /// The rows with `delimiter` between cells; if the quotes of a row stay open, its lines.
    fn rows(&self, delimiter: u8) -> Vec<&[u8]> {
        let mut quoted = QuotedRows::new(delimiter, self.separator, usize::MAX);
        let mut lines = Lines::new(&self.bytes, self.separator);
        std::iter::from_fn(|| match quoted.row(lines.rest()) {
            Row::Whole(bytes) if !lines.rest().is_empty() => Some(lines.take_bytes(bytes)),
            _ => lines.next(),
        })
        .collect()
    }

    fn first_row(&self, delimiter: u8) -> &[u8] {
        self.rows(delimiter).first().copied().unwrap_or_default()
    }
}

/// The cells of `row`; `None` if a quote stays open or text follows one, or if there are more than
/// [`COLUMNS_MAX`].
fn split(row: &[u8], delimiter: u8) -> Option<Vec<Vec<u8>>> {
    let mut cells = Vec::new();
    let mut rest = Some(row);
    while let Some(text) = rest {
        if cells.len() == COLUMNS_MAX {
            return None;
        }
        let (cell, behind) = cell(text, delimiter)?;
        let mut buffer = Vec::new();
        let escapes = if cell.is_doubled { Escapes::Quotes } else { Escapes::None };
        cells.push(escapes.undo(cell.text, &mut buffer).to_vec());
        rest = behind;
    }
    Some(cells)
}

/// A cell without the quotes around it.
struct Cell<'a> {
    text: &'a [u8],
    /// Does it contain doubled quotes, each of which stands for one?
    is_doubled: bool,
}

/// The first cell of `text`, and what follows its delimiter, if there is one.
#[inline]
fn cell(text: &[u8], delimiter: u8) -> Option<(Cell<'_>, Option<&[u8]>)> {
    let [b'"', quoted @ ..] = text else {
        return Some(match memchr(delimiter, text) {
            Some(end) => (Cell { text: &text[..end], is_doubled: false }, Some(&text[end + 1..])),
            None => (Cell { text, is_doubled: false }, None),
        });
    };
    let mut end = 0;
    let mut is_doubled = false;
    loop {
        end += memchr(b'"', &quoted[end..])?;
        if quoted.get(end + 1) != Some(&b'"') {
            break;
        }
        is_doubled = true;
        end += 2;
    }
    let cell = Cell { text: &quoted[..end], is_doubled };
    match &quoted[end + 1..] {
        [] => Some((cell, None)),
        [byte, behind @ ..] if *byte == delimiter => Some((cell, Some(behind))),
        _ => None,
    }
}

impl LineFormat for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn describe(&self) -> String {
        let parted = match self.delimiter {
            b',' => "parted by commas",
            b';' => "parted by semicolons",
            b'\t' => "parted by tabs",
            _ => "one column",
        };
        format!("{parted}; {}", self.table.describe())
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
        let mut rest = Some(line);
        let mut count = 0;
        while let Some(text) = rest {
            let Some((cell, behind)) = cell(text, self.delimiter) else {
                return Parsed::Reject(Reject::Format);
            };
            if let Some(field) = table.field(count) {
                put(field, cell.text, found);
                if cell.is_doubled {
                    match field {
                        Field::Url | Field::Host | Field::Query => found.escapes = Escapes::Quotes,
                        _ => found.fields.escapes = Escapes::Quotes,
                    }
                }
            }
            count += 1;
            rest = behind;
            if table.is_last(count - 1) {
                break;
            }
        }
        if !table.fits(count) {
            return Parsed::Reject(Reject::Format);
        }
        table.finish(found)
    }

    fn headerless(&self) -> Option<Headerless> {
        self.table.headerless()
    }

    fn quoted_rows(&self) -> Option<u8> {
        Some(self.delimiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::show;
    use crate::record::formats::samples;

    fn parse<'a>(format: &dyn LineFormat, line: &'a [u8]) -> (Parsed, Found<'a>) {
        let mut found = Found::default();
        (format.parse(line, &mut found), found)
    }

    fn url(format: &dyn LineFormat, line: &[u8]) -> String {
        let (parsed, found) = parse(format, line);
        match parsed {
            Parsed::Record => show(found.escapes.undo(found.target, &mut Vec::new())).to_string(),
            Parsed::Comment => "comment".to_string(),
            Parsed::Reject(kind) => kind.to_string(),
        }
    }

    #[test]
    fn rows() {
        let header = &b"id,\"url\",status,note"[..];
        let format = recognize(&[header]).unwrap();
        for (row, expected, why) in [
            (header, "comment", "the header"),
            (b"1,http://a.test/,200,x", "http://a.test/", "no quotes"),
            (b"1,\"http://a.test/,b\",200,x", "http://a.test/,b", "a comma"),
            (b"1,\"http://a.test/\"\"b\"\"\",200,x", "http://a.test/\"b\"", "doubled quotes"),
            (b"\"a\nb\",http://a.test/,200,\"c\nd\"", "http://a.test/", "line ends"),
            (b"1, http://a.test/ ,200,x", "http://a.test/", "blanks"),
            (b"1,http://a.test/\"\",200,x", "http://a.test/\"\"", "quotes in a bare cell"),
            (b"1,http://a.test/", "http://a.test/", "a row that ends early"),
            (b"1,,200,x", "no-url", "nothing"),
            (b"1,\"\",200,x", "no-url", "nothing, in quotes"),
            (b"1,-,200,x", "no-url", "nothing, said so"),
            (b"http://a.test/", "not-format", "a list"),
            (b"1,\"http://a.test/,200,x", "not-format", "a quote that stays open"),
            (b"1,\"http://a.test/\"b,200,x", "not-format", "text behind a quote"),
            (b"", "not-format", "nothing at all"),
        ] {
            assert_eq!(url(&*format, row), expected, "{why}: {}", show(row));
        }
        let (_, found) = parse(&*format, b"1,http://a.test/,\"2\"\"\",x");
        assert_eq!((found.escapes, found.fields.escapes), (Escapes::None, Escapes::Quotes));
    }

    #[test]
    fn delimiters() {
        let told = |lines: &[&str]| {
            let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
            recognize(&lines).map(|format| url(&*format, lines[lines.len() - 1]))
        };
        let (decimal, url) = ("https://a.test/;1;1,5", Some("https://a.test/".to_string()));
        let many = [&["URL;Clicks;CTR"][..], &[decimal; 20]].concat();
        assert_eq!(told(&many), url, "a header goes before commas in numbers");
        assert_eq!(told(&[&["sep=;"][..], &[decimal; 20]].concat()), url, "told by the file");
        let commas = [&["URL,Note"][..], &["https://a.test/,a;b"; 20]].concat();
        assert_eq!(told(&commas), url);
        let quoted = [
            "url\tnote",
            "http://a.test/\tx",
            "http://b.test/\t\"see",
            "more\"",
            "http://d.test/\ty",
            "http://a.test/\tz",
        ];
        assert_eq!(told(&quoted), Some("http://a.test/".to_string()), "a cell over two lines");
        assert_eq!(
            told(&["url\tx", "/a\t1", "\"http://a.test/\"\t2"]),
            Some("http://a.test/".to_string())
        );
        assert_eq!(told(&["url\tx", "/a\t\"b", "/c\td\""]), None, "quotes that are text");
        assert_eq!(told(&["url,x", "(not set),1"]).as_deref(), Some("no-url"), "a remark");
    }

    #[test]
    fn queries_and_dates() {
        let parts = |lines: &[&[u8]]| {
            let format = recognize(lines).unwrap();
            let (parsed, found) = parse(&*format, lines[lines.len() - 1]);
            assert_eq!(parsed, Parsed::Record);
            let Found { target, query, path, fields, .. } = found;
            let texts =
                [target, query, fields.time, fields.clock].map(|text| show(text).to_string());
            (texts.join(" "), path)
        };
        use crate::record::PathKind::{Alone, Requested};
        for (header, row, expected, path) in [
            ("host,uri,query_string,status", "h,/a,?x=1,200", "/a x=1  ", Alone),
            ("host,uri,query_string,status", "h,/a,-,200", "/a   ", Alone),
            ("host,uri,query_string,status", "h,/c#,x=1,200", "/c# x=1  ", Alone),
            ("host,uri,query_string,status", "h,/a?y=1,x=1,200", "/a?y=1   ", Requested),
            ("cs-uri-stem,cs-uri-query", "/a?y,x=1", "/a?y x=1  ", Alone),
            ("url,query_string", "http://a.test/,x=1", "http://a.test/ x=1  ", Alone),
            ("url,query_string", "http://a.test/#b,x=1", "http://a.test/#b   ", Requested),
            ("page,query,clicks", "http://a.test/,x=1,1", "http://a.test/   ", Requested),
            ("url,date,time", "/a,2026-11-20,10:00:00", "/a  2026-11-20 10:00:00", Requested),
            ("url,date,time", "/a,2026-11-20,-", "/a  2026-11-20 ", Requested),
            ("url,date,time", "/a,2026-11-20,1700000000", "/a  1700000000 ", Requested),
            ("url,date,time", "/a,,10:00:00", "/a  10:00:00 ", Requested),
            ("url,date", "/a,2026-11-20", "/a  2026-11-20 ", Requested),
        ] {
            let found = parts(&[header.as_bytes(), row.as_bytes()]);
            assert_eq!(found, (expected.to_string(), path), "{header}: {row}");
        }
        let format = recognize(&[b"uri,query_string", b"/a,x=1"]).unwrap();
        let (_, found) = parse(&*format, b"/a,\"x=\"\"1\"\"\"");
        assert_eq!(found.escapes.undo(found.query, &mut Vec::new()), b"x=\"1\"");
    }

    #[test]
    fn other_delimiters() {
        for (lines, expected) in [
            (&[&b"url;status"[..], b"http://a.test/,b;200"][..], "http://a.test/,b"),
            (&[b"\"status\"\t\"url\"", b"\"200\"\t\"http://a.test/\tb\""], "http://a.test/\\tb"),
            (&[b"url\tt", b"\"http://a.test/x\"\t\"1\""], "http://a.test/x"),
            (&[b"7,x", b"7,http://a.test/;b"], "http://a.test/;b"),
            (&[b"url", b"http://a.test/,b;c"], "http://a.test/,b;c"),
            (&[b"\"Url\"", b"\"http://a.test/\"\"b\""], "http://a.test/\"b"),
        ] {
            let format = recognize(lines).expect("a table");
            assert_eq!(url(&*format, lines[1]), expected);
        }
        for lines in [&[&b"http://a.test/a,b"[..], b"http://a.test/b,c"][..], &[b"url\tx"]] {
            assert!(recognize(lines).is_none_or(|format| format.name() != "csv" || {
                url(&*format, lines[0]) != "http://a.test/a,b"
            }));
        }
    }

    #[test]
    fn what_spreadsheets_write_first() {
        let lines = [&b"sep=;"[..], b"url;n", b"http://a.test/,b;1", b"http://a.test/c;2"];
        let format = recognize(&lines).expect("a table");
        assert_eq!(format.describe(), "parted by semicolons; url 1");
        let shown = lines.map(|line| url(&*format, line));
        assert_eq!(shown, ["comment", "comment", "http://a.test/,b", "http://a.test/c"]);
        let lines = [&b"sep=,"[..], b"url", b"http://a.test/,b"];
        let format = recognize(&lines).expect("a table of one column");
        let shown = lines.map(|line| url(&*format, line));
        assert_eq!(shown, ["comment", "comment", "http://a.test/,b"]);
    }

    #[test]
    fn told_columns() {
        let fields = |text: &str| FieldMap::parse(text).unwrap();
        let format = Csv::with_fields(&[b"a;\"b,c\";d"], &fields("url=2,digest=d")).unwrap();
        let (parsed, found) = parse(&format, b"x;/y,z;D");
        assert_eq!((parsed, found.target), (Parsed::Record, &b"/y,z"[..]));
        assert_eq!(found.fields.digest, b"D");
        assert_eq!(format.describe(), "parted by semicolons; url 2, digest 3");
        assert_eq!(format.quoted_rows(), Some(b';'));
        assert!(Csv::with_fields(&[b"a;b"], &fields("c")).unwrap_err().is_config());
        let single = Csv::with_fields(&[b"pages of us"], &fields("1")).unwrap();
        assert_eq!(url(&single, b"http://a.test/,b"), "http://a.test/,b");
    }

    #[test]
    fn headers_of_several_lines() {
        let lines = [&b"url,\"no"[..], b"te\"", b"http://a.test/1,x", b"http://a.test/2,y"];
        let told = Csv::with_fields(&lines, &FieldMap::parse("1").unwrap()).unwrap();
        assert_eq!(told.describe(), "parted by commas; url 1");
        let format = recognize(&lines).unwrap();
        assert_eq!(format.describe(), "parted by commas; url 1");
        for header in [&b"url,\"no\nte\""[..], b"url,\"no\r\nte\""] {
            assert_eq!(parse(&*format, header).0, Parsed::Comment);
        }
        assert_eq!(url(&*format, lines[2]), "http://a.test/1");
        // A quote that stays open is none of a header.
        assert!(recognize(&[b"url,\"no", b"http://a.test/1,x"]).is_none());
    }

    #[test]
    fn the_sample() {
        let sample = samples::sample("pages.csv");
        // Its last row spans two lines, which are joined where rows are cut.
        let sample = String::from_utf8(sample).unwrap().replace("over\ntwo", "over two");
        let urls = samples::sample_urls(sample.as_bytes(), recognize);
        assert_eq!(
            urls,
            [
                "https://example.org/ ? 200",
                "https://example.org/?utm_source=mail ? 200",
                "https://example.org/search?q=a,b ? 200",
                "https://example.org/say?text=\"hi\" ? 404",
                "https://example.org/long ? 200",
            ]
        );
    }

    #[test]
    fn hostile_rows_are_linear() {
        let format = recognize(&[b"x,url"]).unwrap();
        let units = [",", "\"", "\"\",", "a,", "\"a", "a\n"];
        samples::check_hostile(&["", "a,", "a,\""], &units, |line| {
            assert_ne!(parse(&*format, line).0, Parsed::Comment);
        });
    }
}
