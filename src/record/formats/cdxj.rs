//! CDXJ indexes of web archives: a key, a time and a JSON object on each line.

use std::sync::Arc;

use memchr::memchr;

use super::cdx;
use super::json::{self, Json, Part};
use crate::record::field_map::Field;
use crate::record::{Found, LineFormat, Parsed};
use crate::reject::Reject;

/// A CDXJ index.
///
/// - Shape: `KEY TIME {"url": ...}`, separated by one blank; a word for the kind of record may
///   precede the object. The time is 14 digits, or as in RFC 3339. Lines that start with `!` or `@`
///   are comments.
/// - Source: pywb, "CDXJ Index"; OpenWayback, "CDXJ 1.0".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cdxj(Json);

impl Cdxj {
    pub(crate) fn new() -> Cdxj {
        let places = [
            ("/url", Part::Target),
            ("/uri", Part::Target),
            ("/original", Part::Target),
            ("/digest", Part::Field(Field::Digest)),
            ("/sha", Part::Field(Field::Digest)),
            ("/length", Part::Field(Field::Size)),
            ("/status", Part::Field(Field::Status)),
            ("/hsc", Part::Field(Field::Status)),
            ("/mime", Part::Field(Field::Mime)),
            ("/mct", Part::Field(Field::Mime)),
            ("/redirect", Part::Field(Field::Redirect)),
        ];
        let places = places.map(|(pointer, part)| (pointer.to_string(), part));
        Cdxj(Json::of_places("cdxj", places.to_vec()))
    }
}

/// Words that an index may begin with, but no list.
const HEADERS: [&[u8]; 5] = [b"!OpenWayback-CDXJ", b"!context", b"!id", b"!keys", b"!meta"];

/// An index, if one of the first lines looks like one, or the very first is its header.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    let format = Cdxj::new();
    let is_record = |line: &&[u8]| format.parse(line, &mut Found::default()) == Parsed::Record;
    let is_header = lines.first().is_some_and(|line| {
        HEADERS
            .iter()
            .any(|word| line.strip_prefix(*word).is_some_and(|rest| rest.starts_with(b" ")))
    });
    (is_header || lines.iter().any(is_record)).then(|| Arc::new(format.clone()) as _)
}

impl LineFormat for Cdxj {
    fn name(&self) -> &'static str {
        "cdxj"
    }

    #[inline]
    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        if let Some(b'!' | b'@') = line.first() {
            return Parsed::Comment;
        }
        match parts(line) {
            Some((time, object)) => {
                let parsed = self.0.parse_object(object, found);
                found.fields.time = time;
                parsed
            }
            None => Parsed::Reject(Reject::Format),
        }
    }

    fn unescaped_lines(&self, chunk: &[u8], separator: u8, out: &mut Vec<u8>) -> bool {
        json::unescaped_lines(chunk, separator, out)
    }
}

/// The time and the object of `line`.
#[inline]
fn parts(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let behind_key = &line[memchr(b' ', line)? + 1..];
    let time_end = memchr(b' ', behind_key)?;
    let (time, rest) = (&behind_key[..time_end], &behind_key[time_end + 1..]);
    let object = match rest.first()? {
        b'{' => rest,
        _ => &rest[memchr(b' ', rest)? + 1..],
    };
    let is_rfc_3339 = time.len() >= 19 && time[4] == b'-' && time[10] == b'T';
    (object.first() == Some(&b'{') && (is_rfc_3339 || cdx::is_time(time))).then_some((time, object))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::formats::samples;

    fn parse(line: &[u8]) -> (Parsed, Found<'_>) {
        let mut found = Found::default();
        (Cdxj::new().parse(line, &mut found), found)
    }

    #[test]
    fn records() {
        let line = br#"test,a)/ 20140126200624 {"url": "http://a.test/", "mime": "text/html",
            "status": "200", "digest": "X", "length": "2258", "offset": "334", "timestamp": "1"}"#;
        let (parsed, found) = parse(line);
        assert_eq!((parsed, found.target), (Parsed::Record, &b"http://a.test/"[..]));
        let fields = found.fields;
        assert_eq!((fields.time, fields.mime), (&b"20140126200624"[..], &b"text/html"[..]));
        assert_eq!((fields.status, fields.size), (&b"200"[..], &b"2258"[..]));
        assert_eq!(fields.digest, b"X");
        let line =
            br#"(test,a,)/ 2015-11-01T00:00:00Z response {"uri":"http://a.test/","hsc":200}"#;
        let (parsed, found) = parse(line);
        assert_eq!((parsed, found.target), (Parsed::Record, &b"http://a.test/"[..]));
        assert_eq!(found.fields.status, b"200");
    }

    #[test]
    fn lines() {
        const NOT: Parsed = Parsed::Reject(Reject::Format);
        for (line, expected) in [
            (&b"!OpenWayback-CDXJ 1.0"[..], Parsed::Comment),
            (br#"@context ["http://oduwsdl.github.io/contexts/cdxj"]"#, Parsed::Comment),
            (br#"a 20140126200624 {"status": "200"}"#, Parsed::Reject(Reject::NoUrl)),
            (br#"a 20140126200624 {"url": "http://a.test/""#, NOT),
            (br#"a 20140126200624 "http://a.test/""#, NOT),
            (br#"a 2014012x200624 {"url": "http://a.test/"}"#, NOT),
            (br#"{"url": "http://a.test/"}"#, NOT),
            (b"a 20140126200624 http://a.test/ text/html 200 X - 1 f", NOT),
            (b"a 20140126200624 ", NOT),
            (b"a", NOT),
            (b"", NOT),
        ] {
            assert_eq!(parse(line).0, expected, "{}", line.escape_ascii());
        }
    }

    #[test]
    fn the_sample() {
        let urls = samples::sample_urls(&samples::sample("captures.cdxj"), recognize);
        assert_eq!(
            urls,
            [
                "http://www.example.org/ ? 200",
                "https://example.org/ ? 301",
                "http://example.org/about?ref=nav&lang=en ?",
            ]
        );
    }

    #[test]
    fn hostile_lines_are_linear() {
        let units = [" ", "a ", "{", "a 20140126200624 {"];
        samples::check_hostile(&["", "a 20140126200624 {"], &units, |line| {
            assert_eq!(parse(line).0, Parsed::Reject(Reject::Format));
        });
    }
}
