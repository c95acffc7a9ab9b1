//! ARC files: web archives in the format before WARC.
//!
//! ```text
//! filedesc://NAME 0.0.0.0 20260101000000 text/plain 73\n    the first record: what the file is
//! 1 0 Organization\n                                         version 1, or 2
//! URL IP-address Archive-date Content-type Archive-length\n\n
//! http://a.test/ 192.0.2.1 20260101000000 text/html 9\n
//! 9 bytes, \n                                                head and body of HTTP
//! ```
//!
//! Source: <https://archive.org/web/researcher/ArcFileFormat.php>.

use super::archive::{Head, Heads};
use super::decoded::Decoded;
use super::http_head::{self, set};
use super::rows::{Flaw, Row};
use crate::bytes::show;
use crate::error::Error;
use crate::parts;

/// Reads the heads of ARC files: a row for each record, except those that describe the file.
pub(super) struct ArcFile {
    /// Longest field in bytes that is kept whole.
    field_bytes_max: usize,
    /// Are canonical links looked for in pages?
    reads_pages: bool,
    line: Vec<u8>,
    /// Number of fields in a header: 5, or 10 in version 2.
    fields: usize,
}

/// Room for the fields of a header other than the URL. Reason: an address, a date, a media type,
/// numbers and a file name take a few hundred bytes.
const OTHER_FIELDS_BYTES_MAX: usize = 1000;

impl ArcFile {
    /// A URL longer than `field_bytes_max` bytes is cut in its middle, and stays longer than that.
    pub(super) fn new(field_bytes_max: usize, reads_pages: bool) -> Self {
        ArcFile { field_bytes_max, reads_pages, line: Vec::new(), fields: 5 }
    }
}

impl Heads for ArcFile {
    fn read(&mut self, from: &mut Decoded, at: u64, row: &mut Row) -> Result<Head, Flaw> {
        self.line.clear();
        // The start of a URL that is too long, then the other fields.
        let start_bytes = self.field_bytes_max.saturating_add(1);
        let end_bytes = self.field_bytes_max.saturating_add(OTHER_FIELDS_BYTES_MAX);
        if !from.take_line_ends(&mut self.line, start_bytes, end_bytes) {
            return Err(Flaw::Cut(at));
        }
        let line = self.line.trim_ascii_end();
        let is_file = line.starts_with(b"filedesc://");
        // Spaces in URLs are not escaped, so fields are counted from the end. The first record has
        // the fields of its version, which its block states.
        let count = match from.ahead(2) {
            version if is_file && version.starts_with(b"2 ") => 10,
            version if is_file && version.starts_with(b"1 ") => 5,
            _ => self.fields,
        };
        self.fields = count;
        let mut fields = line.rsplitn(count, |byte| *byte == b' ');
        let length = fields.next().and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
        let rest: Vec<&[u8]> = fields.collect();
        let is_head = rest.len() == count - 1 && (is_file || is_page(&rest));
        let (Some(length), true) = (length, is_head) else {
            let found = parts::without_userinfo(line);
            return Err(Flaw::Shape(Error::input(format!(
                "expected an ARC record of {count} fields, a URL and a date among them, at byte {at}, found \
                 \"{}\"; the file is damaged, get it again",
                show(&found[..found.len().min(80)])
            ))));
        };
        if !is_file {
            fill(&rest, length, from, row, self.reads_pages);
        }
        Ok(Head { length, is_row: !is_file })
    }

    fn unit(&self) -> &'static str {
        "ARC record"
    }
}

/// Do the fields of a head, given in reverse order, begin with a URL, an address and a date?
fn is_page(fields: &[&[u8]]) -> bool {
    let field = |number: usize| fields[fields.len() - 1 - number];
    let is_date = !field(2).is_empty() && field(2).iter().all(u8::is_ascii_digit);
    is_date && parts::scheme_length(field(0)).is_some()
}

/// Fills `row` from a head: `rest` has all fields but the last, in reverse order; `length` is that.
fn fill(rest: &[&[u8]], length: u64, from: &mut Decoded, row: &mut Row, reads_pages: bool) {
    // URL, address, date, type, and in version 2 status, checksum, redirect, ...
    let field = |number: usize| rest[rest.len() - 1 - number];
    set(&mut row.url, field(0));
    set(&mut row.time, field(2));
    http_head::look_at(from, length, row, reads_pages);
    if field(3) != b"no-type" {
        set(&mut row.mime, field(3));
    }
    if rest.len() == 9 {
        for (place, field) in [
            (&mut row.status, field(4)),
            (&mut row.digest, field(5)),
            (&mut row.redirect, field(6)),
        ] {
            if field != b"-" {
                set(place, field);
            }
        }
    }
    row.size.extend_from_slice(length.to_string().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::super::archive::Archive;
    use super::super::rows::tests::rows;
    use super::*;

    const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>\n";

    fn file(version: u8, records: &[(&str, &str)]) -> String {
        let about = match version {
            1 => "1 0 Own\nURL IP-address Archive-date Content-type Archive-length\n",
            _ => {
                "2 0 Own\nURL IP-address Archive-date Content-type Result-code Checksum Location Offset \
                  Filename Archive-length\n"
            }
        };
        let more = if version == 1 { "" } else { "200 - - 0 a.arc " };
        let first = format!(
            "filedesc://a.arc 0.0.0.0 20261121100000 text/plain {more}{}\n{about}\n",
            about.len()
        );
        let rest: String = records
            .iter()
            .map(|(header, block)| format!("{header} {}\n{block}\n", block.len()))
            .collect();
        first + &rest
    }

    fn check(bytes: &str, expected: &[&str], error: Option<&str>) {
        let (found, told) = rows(Box::new(Archive(ArcFile::new(1000, true))), bytes.as_bytes());
        assert_eq!(found, expected);
        match (&told, error) {
            (None, None) => {}
            (Some(told), Some(part)) if told.contains(part) => {}
            _ => panic!("expected {error:?}, found {told:?}"),
        }
    }

    #[test]
    fn versions() {
        let page = ("http://a.test/ 192.0.2.1 20261121100000 text/plain", PAGE);
        let blank = ("http://a.test/b c 192.0.2.1 20261121100000 no-type", "x");
        let one = file(1, &[page, blank]);
        let length = PAGE.len();
        let row = format!("http://a.test/|20261121100000|200||text/html|{length}");
        check(&one, &[&row, "http://a.test/b c|20261121100000||||1"], None);
        let two = (
            "http://a.test/ 192.0.2.1 20261121100000 text/plain 301 ABC http://b.test/ 5 a.arc",
            "",
        );
        let two = file(2, &[two]);
        let row_two = "http://a.test/|20261121100000|301||text/plain|0|ABC|http://b.test/";
        check(&two, &[row_two], None);
        check(
            &[&two[..], &one, &two].concat(),
            &[row_two, &row, "http://a.test/b c|20261121100000||||1", row_two],
            None,
        );
        check(
            &one[..one.len() - 3],
            &[&row],
            Some("expected the end of the ARC record that begins at"),
        );
        check(
            &format!("{one}junk\n"),
            &[&row, "http://a.test/b c|20261121100000||||1"],
            Some("found \"junk\""),
        );
        // A URL that is too long stays longer than any may be, and the next record is read.
        for (bytes, expected) in [(900, 914), (1000, 1014), (5000, 2966), (1 << 20, 2966)] {
            let long =
                format!("http://a.test/{} 192.0.2.1 20261121100000 no-type", "x".repeat(bytes));
            let long = file(1, &[page, (&long, "x"), blank]);
            let (found, told) = rows(Box::new(Archive(ArcFile::new(1000, true))), long.as_bytes());
            let url_bytes = found.get(1).and_then(|row| row.find('|'));
            assert_eq!((found.len(), url_bytes, told), (3, Some(expected), None), "{bytes}");
        }
        let damaged = format!("{one}http://u:pw@a.test/ x\n");
        let first_two = [&row[..], "http://a.test/b c|20261121100000||||1"];
        check(&damaged, &first_two, Some("found \"http://\u{2026}@a.test/ x\""));
        // A length that reaches into the next head.
        let wrong = one.replacen(&format!("{length}\n"), &format!("{}\n", length + 5), 1);
        let row = format!("http://a.test/|20261121100000|200||text/html|{}", length + 5);
        check(&wrong, &[&row], Some("found \"://a.test/b c"));
    }
}
