//! WARC files: web archives.
//!
//! ```text
//! WARC/1.0\r\n                 version
//! WARC-Type: response\r\n ...  named fields; a line that begins with a blank goes on
//! Content-Length: 9\r\n
//! \r\n
//! 9 bytes                      the block: for a response, head and body of HTTP
//! \r\n\r\n
//! ```
//!
//! Source: ISO 28500:2017; <https://iipc.github.io/warc-specifications/>.

use super::archive::{Head, Heads};
use super::decoded::Decoded;
use super::http_head::{self, set};
use super::rows::{Flaw, Row};
use crate::bytes::show;
use crate::error::Error;

/// Reads the heads of WARC files. A row for each record of type `response`, `resource`, `revisit`
/// or `conversion`; the others say nothing about a page, or say it twice.
pub(super) struct Warc {
    /// Longest field in bytes that is kept whole.
    field_bytes_max: usize,
    /// Are canonical links looked for in pages?
    reads_pages: bool,
    line: Vec<u8>,
    header: Header,
}

impl Warc {
    /// A field longer than `field_bytes_max` bytes is cut after `field_bytes_max + 1`.
    pub(super) fn new(field_bytes_max: usize, reads_pages: bool) -> Self {
        Warc { field_bytes_max, reads_pages, line: Vec::new(), header: Header::default() }
    }
}

/// The fields of a record that matter here, in the order of [`NAMES`].
#[derive(Default)]
struct Header([Vec<u8>; 6]);

const NAMES: [&[u8]; 6] = [
    b"WARC-Type",
    b"WARC-Target-URI",
    b"WARC-Date",
    b"Content-Type",
    b"Content-Length",
    b"WARC-Payload-Digest",
];

impl Header {
    /// Where the value of the field `name` goes, if it matters.
    fn place_of(name: &[u8]) -> Option<usize> {
        NAMES.iter().position(|known| known.eq_ignore_ascii_case(name))
    }

    fn content_length(&self) -> Option<u64> {
        std::str::from_utf8(&self.0[4]).ok()?.parse().ok()
    }

    /// Fills `row`, and returns whether the record becomes one: see [`Warc`].
    fn fill(&self, row: &mut Row) -> bool {
        let [kind, uri, date, _, length, digest] = &self.0;
        let is = |name: &[u8]| kind.eq_ignore_ascii_case(name);
        let is_revisit = is(b"revisit");
        if !is_revisit && !is(b"response") && !is(b"resource") && !is(b"conversion") {
            return false;
        }
        // WARC 1.0 put the URI in angle brackets, in its grammar if not in its examples.
        let bare = uri.strip_prefix(b"<").and_then(|uri| uri.strip_suffix(b">")).unwrap_or(uri);
        row.url.extend_from_slice(bare);
        row.time.extend_from_slice(date);
        row.digest.extend_from_slice(digest);
        // The block of a revisit is not the whole response.
        if !is_revisit {
            row.size.extend_from_slice(length);
        }
        true
    }

    /// Is the block an HTTP response? Then its head says more.
    fn is_http(&self) -> bool {
        let [kind, _, _, content_type, ..] = &self.0;
        let is_answer = |name: &[u8]| kind.eq_ignore_ascii_case(name);
        let media = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
        (is_answer(b"response") || is_answer(b"revisit"))
            && (media.is_empty() || media.trim_ascii().eq_ignore_ascii_case(b"application/http"))
    }
}

impl Heads for Warc {
    fn read(&mut self, from: &mut Decoded, at: u64, row: &mut Row) -> Result<Head, Flaw> {
        self.read_header(from, at)?;
        let Some(length) = self.header.content_length() else {
            let found = &self.header.0[4];
            return Err(Flaw::Shape(Error::input(format!(
                "WARC record at byte {at}: expected a number as Content-Length, found \"{}\"; the file \
                 is damaged, get it again",
                show(&found[..found.len().min(80)])
            ))));
        };
        let is_row = self.header.fill(row);
        if is_row && self.header.is_http() {
            http_head::look_at(from, length, row, self.reads_pages);
        } else if is_row {
            set(&mut row.mime, &self.header.0[3]);
        }
        Ok(Head { length, is_row })
    }

    fn unit(&self) -> &'static str {
        "WARC record"
    }
}

impl Warc {
    /// Reads version and fields of the record at byte `at`.
    fn read_header(&mut self, from: &mut Decoded, at: u64) -> Result<(), Flaw> {
        self.header.0.iter_mut().for_each(Vec::clear);
        let start = from.ahead(5);
        let start = &start[..start.len().min(5)];
        if start != b"WARC/" && (start.len() == 5 || !b"WARC/".starts_with(start)) {
            return Err(Flaw::Shape(Error::input(format!(
                "expected a WARC record at byte {at}, found \"{}\"; the file is damaged, get it again",
                show(start)
            ))));
        }
        // Room for the name and blanks besides the longest value.
        let line_bytes_max = self.field_bytes_max.saturating_add(100);
        let mut is_version = true;
        let mut place = None;
        loop {
            self.line.clear();
            if !from.take_until(b"\n", &mut self.line, line_bytes_max) {
                return Err(Flaw::Cut(at));
            }
            let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
            if std::mem::take(&mut is_version) {
                continue;
            }
            let value = match line {
                [] => return Ok(()),
                // A continuation of the line before, joined by a blank: RFC 2616 2.2.
                [b' ' | b'\t', ..] => line,
                _ => {
                    let Some(colon) = memchr::memchr(b':', line) else { continue };
                    place = Header::place_of(line[..colon].trim_ascii());
                    // Of fields that are repeated the first counts.
                    place = place.filter(|place| self.header.0[*place].is_empty());
                    &line[colon + 1..]
                }
            };
            let Some(place) = place else { continue };
            let field = &mut self.header.0[place];
            if !field.is_empty() {
                field.push(b' ');
            }
            let value = value.trim_ascii();
            let room = self.field_bytes_max.saturating_add(1).saturating_sub(field.len());
            field.extend_from_slice(&value[..value.len().min(room)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::archive::Archive;
    use super::super::rows::tests::rows;
    use super::*;

    /// A record with these fields, in order, and a length.
    fn record(fields: &[(&str, &str)], block: &str) -> String {
        let fields: String =
            fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!("WARC/1.0\r\n{fields}Content-Length: {}\r\n\r\n{block}\r\n\r\n", block.len())
    }

    fn response(uri: &str, block: &str) -> String {
        let date = ("WARC-Date", "2026-11-21T10:00:00Z");
        let kind = ("Content-Type", "application/http; msgtype=response");
        record(&[("WARC-Type", "response"), ("WARC-Target-URI", uri), date, kind], block)
    }

    const PAGE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>WARC/1.0\r\n";
    const DATE: &str = "2026-11-21T10:00:00Z";

    #[track_caller]
    fn check(bytes: &str, expected: &[&str], error: Option<&str>) {
        let (found, told) = rows(Box::new(Archive(Warc::new(100, true))), bytes.as_bytes());
        assert_eq!(found, expected);
        match (&told, error) {
            (None, None) => {}
            (Some(told), Some(part)) if told.contains(part) => {}
            _ => panic!("expected {error:?}, found {told:?}"),
        }
    }

    #[test]
    fn records() {
        let length = PAGE.len();
        let row = format!("http://a.test/|{DATE}|200||text/html|{length}");
        let (plain, angled) =
            (response("http://a.test/", PAGE), response("<http://a.test/>", PAGE));
        check(&plain, &[&row], None);
        check(&[&plain[..], &angled].concat(), &[&row, &row], None);
        check(
            &angled.replace("\r\n", "\n").replace(&format!("{length}"), &format!("{}", length - 4)),
            &[&row.replace(&format!("{length}"), &format!("{}", length - 4))],
            None,
        );
        check("", &[], None);
        check("\r\n\r\n", &[], None);
        let others: String = ["warcinfo", "request", "metadata", "continuation", "x-own"]
            .iter()
            .map(|kind| {
                record(&[("WARC-Type", kind), ("WARC-Target-URI", "http://b.test/")], "GET")
            })
            .collect();
        check(&format!("{others}{plain}{others}"), &[&row], None);
    }

    #[test]
    fn kinds_of_rows() {
        let uri = ("WARC-Target-URI", "http://a.test/");
        let digest = ("WARC-Payload-Digest", "sha1:ABC");
        let http = ("Content-Type", "application/http;msgtype=response");
        let kind = |kind| ("WARC-Type", kind);
        for (fields, block, expected) in [
            (
                &[kind("revisit"), uri, digest, http][..],
                "HTTP/1.1 301 X\r\nLocation: /b\r\n\r\n",
                "http://a.test/||301||||sha1:ABC|/b",
            ),
            (
                &[kind("resource"), uri, ("content-type", "image/png"), digest],
                "12345",
                "http://a.test/||||image/png|5|sha1:ABC",
            ),
            (
                &[kind("conversion"), uri, ("Content-Type", "text/plain")],
                "",
                "http://a.test/||||text/plain|0",
            ),
            (&[kind("Response"), uri], "HTTP/1.0 404 No\r\n\r\n", "http://a.test/||404|||19"),
            (
                &[
                    kind("response"),
                    ("WARC-Target-URI", "dns:a.test"),
                    ("Content-Type", "text/dns"),
                ],
                "1",
                "dns:a.test||||text/dns|1",
            ),
            (&[kind("response"), http], "HTTP/1.1 200 OK\r\n\r\n", "||200|||19"),
            (
                &[kind("resource"), uri, ("WARC-Target-URI", "http://b.test/")],
                "",
                "http://a.test/|||||0",
            ),
            (
                &[
                    kind("resource"),
                    ("WARC-Target-URI", "http://a.test/b\r\n c\r\n\td"),
                    ("X", "y\r\n z"),
                ],
                "",
                "http://a.test/b c d|||||0",
            ),
        ] {
            check(&record(fields, block), &[expected], None);
        }
    }

    #[test]
    fn canonical_links_of_pages() {
        let html = |filling: usize| format!("{}<link rel=canonical href=/b>", " ".repeat(filling));
        let answer = |status: &str, fields: &str, body: &str| {
            format!("HTTP/1.1 {status} X\r\n{fields}\r\n\r\n{body}")
        };
        let limit = crate::limits::HTML_HEAD_BYTES_MAX;
        for (block, link, why) in [
            (
                answer("200", "Content-Type: text/html; charset=utf-8", &html(0)),
                "|||||/b",
                "of HTML",
            ),
            (answer("200", "content-type: APPLICATION/xhtml+xml", &html(0)), "|||||/b", "of XHTML"),
            (answer("200", "Content-Type: text/html", &html(limit - 40)), "|||||/b", "far behind"),
            (answer("200", "Content-Type: text/html", &html(limit)), "", "too far behind"),
            (
                answer("200", "Link: </c>; rel=canonical\r\nContent-Type: text/html", &html(0)),
                "|||||/c",
                "the header comes first",
            ),
            (answer("404", "Content-Type: text/html", &html(0)), "", "not of the page asked for"),
            (answer("200", "Content-Type: text/plain", &html(0)), "", "text"),
            (answer("200", "X: y", &html(0)), "", "no type"),
        ] {
            let (found, told) = rows(
                Box::new(Archive(Warc::new(100, true))),
                [response("http://a.test/", &block), response("http://b.test/", PAGE)]
                    .concat()
                    .as_bytes(),
            );
            let found_link = found[0].split_once(&format!("|{}", block.len())).unwrap().1;
            assert_eq!((found_link, found.len(), told), (link, 2, None), "{why}");
        }
        let page = response("http://a.test/", &answer("200", "Content-Type: text/html", &html(0)));
        let (found, _) = rows(Box::new(Archive(Warc::new(100, false))), page.as_bytes());
        assert!(!found[0].contains("/b"), "nobody has asked for it: {found:?}");
    }

    #[test]
    fn damage_comes_after_the_rows_before_it() {
        let one = response("http://a.test/", PAGE);
        let row = format!("http://a.test/|{DATE}|200||text/html|{}", PAGE.len());
        for end in 1..one.len() - 4 {
            let cut = format!("{one}{}", &one[..end]);
            check(&cut, &[&row], Some("expected the end of the WARC record that begins at byte"));
        }
        check(&one[..one.len() - 4], &[&row], None);
        check(
            &format!("{one}junk"),
            &[&row],
            Some(&format!("expected a WARC record at byte {}, found \"junk\"", one.len())),
        );
        check(&one.replace("Length: 5", "Length: x"), &[], Some("found \"x"));
        check(
            &one.replace("Content-Length", "X-Length"),
            &[],
            Some("expected a number as Content-Length"),
        );
    }

    #[test]
    fn long_fields_are_cut() {
        let uri = format!("http://a.test/{}", "x".repeat(5000));
        let (found, error) =
            rows(Box::new(Archive(Warc::new(100, true))), response(&uri, PAGE).as_bytes());
        assert!(error.is_none());
        // One byte more than is allowed, so that the line is rejected as too long.
        assert_eq!(found[0].find('|'), Some(101));
    }
}
