//! JSON responses of the Wayback Machine's CDX server: an array of arrays, one per line.
//!
//! ```text
//! [["urlkey","timestamp","original","mimetype","statuscode","digest","length"],
//! ["org,example)/","20140126200624","http://example.org/","text/html","200","QQKD","2258"],
//! ["org,example)/a","20150302111213","http://example.org/a","text/html","200","HQZP","512"]]
//! ```
//!
//! HOT: once per line. Price: one pass; no allocation.

use std::sync::Arc;

use memchr::memchr2;

use super::cdx::{Slot, describe};
use super::json;
use crate::record::{Escapes, Found, LineFormat, Parsed};
use crate::reject::Reject;

/// How the line starts that names the columns of those that follow.
const HEADER: &[u8] = b"[[";

/// The header of a response with all columns, which stands in for that of an empty response.
const USUAL: &[u8] =
    br#"[["urlkey","timestamp","original","mimetype","statuscode","digest","length"],"#;

/// Columns by their names.
const NAMES: [(&[u8], Slot); 7] = [
    (b"original", Slot::Url),
    (b"timestamp", Slot::Time),
    (b"mimetype", Slot::Mime),
    (b"statuscode", Slot::Status),
    (b"digest", Slot::Digest),
    (b"redirect", Slot::Redirect),
    (b"length", Slot::Size),
];

/// A response with the columns that its first line names.
///
/// - Shape: one array of strings on each line, followed by a comma, or by a bracket after the last
///   one. `-` means empty. After an empty array comes the key to resume with, not a record.
/// - Source: Internet Archive, "Wayback CDX Server API", `output=json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CdxJson {
    slots: Vec<Slot>,
}

impl CdxJson {
    /// The format of the lines after `header`; `None` if it names no column with URLs.
    fn new(header: &[u8]) -> Option<CdxJson> {
        let mut slots = Vec::new();
        header.starts_with(HEADER).then_some(())?;
        each_string(header, |name| {
            let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, slot)| *slot);
            // Of a repeated column only the first is read.
            slots.push(known.filter(|slot| !slots.contains(slot)).unwrap_or(Slot::Skip));
        })?;
        slots.contains(&Slot::Url).then_some(CdxJson { slots })
    }
}

/// The columns that the first line names.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    let named = lines.iter().find_map(|line| CdxJson::new(line));
    // A response without records names no columns.
    let is_empty = || lines.iter().all(|line| matches!(line.trim_ascii(), b"[]" | b"[[]]"));
    let format = named.or_else(|| is_empty().then(|| CdxJson::new(USUAL)).flatten());
    format.map(|format| Arc::new(format) as _)
}

impl LineFormat for CdxJson {
    fn name(&self) -> &'static str {
        "cdx-json"
    }

    fn describe(&self) -> String {
        describe(&self.slots)
    }

    #[inline]
    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        // The start of the outer array; the empty array before the key to resume with.
        if line.starts_with(HEADER) && CdxJson::new(line).is_some()
            || matches!(line, b"[" | b"]" | b"[]" | b"[]," | b"[]]" | b"[[]]")
        {
            return Parsed::Comment;
        }
        let mut count = 0;
        let whole = each_string(line, |value| {
            let place = self.slots.get(count).and_then(|slot| slot.place(found));
            if let Some(place) = place.filter(|_| value != b"-") {
                *place = value;
            }
            count += 1;
        });
        if whole.is_none() {
            return Parsed::Reject(Reject::Format);
        }
        if count == 1 && self.slots.len() > 1 {
            return Parsed::Comment;
        }
        if count != self.slots.len() {
            return Parsed::Reject(Reject::Format);
        }
        found.escapes = Escapes::Json;
        found.fields.escapes = Escapes::Json;
        if found.target.is_empty() { Parsed::Reject(Reject::NoUrl) } else { Parsed::Record }
    }

    fn unescaped_lines(&self, chunk: &[u8], separator: u8, out: &mut Vec<u8>) -> bool {
        json::unescaped_lines(chunk, separator, out)
    }

    fn with_header(&self, line: &[u8]) -> Option<Arc<dyn LineFormat>> {
        CdxJson::new(line).map(|format| Arc::new(format) as _)
    }

    fn header_prefix(&self) -> &'static [u8] {
        HEADER
    }
}

/// Passes the strings of the array on `line` to `each`, without quotes but with escapes; `None` if
/// `line` is not exactly an array of strings.
#[inline]
fn each_string<'a>(line: &'a [u8], mut each: impl FnMut(&'a [u8])) -> Option<()> {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"[")?;
    let mut rest = line.strip_prefix(b"[").unwrap_or(line).trim_ascii_start();
    loop {
        rest = rest.strip_prefix(b"\"")?;
        let mut end = 0;
        loop {
            end += memchr2(b'"', b'\\', &rest[end..])?;
            if rest[end] == b'"' {
                break;
            }
            // A backslash and what it escapes.
            end += 2;
            rest.get(end)?;
        }
        each(&rest[..end]);
        match rest[end + 1..].trim_ascii_start() {
            [b',', more @ ..] => rest = more.trim_ascii_start(),
            [b']'] | [b']', b',' | b']'] => return Some(()),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::formats::samples::{check_hostile, sample, sample_urls};

    const HEAD: &[u8] =
        br#"[["urlkey","timestamp","original","mimetype","statuscode","digest","length"],"#;

    fn parse<'a>(format: &dyn LineFormat, line: &'a [u8]) -> (Parsed, Found<'a>) {
        let mut found = Found::default();
        (format.parse(line, &mut found), found)
    }

    #[test]
    fn records() {
        let format = recognize(&[HEAD]).unwrap();
        let line =
            br#"["k","20140126200624", "http://a.test/\u0026","text/html","302","D","2258"],"#;
        let (parsed, found) = parse(&*format, line);
        assert_eq!((parsed, found.target), (Parsed::Record, &br"http://a.test/\u0026"[..]));
        let fields = found.fields;
        assert_eq!((found.escapes, fields.escapes), (Escapes::Json, Escapes::Json));
        assert_eq!((fields.time, fields.mime), (&b"20140126200624"[..], &b"text/html"[..]));
        assert_eq!((fields.status, fields.digest), (&b"302"[..], &b"D"[..]));
        assert_eq!((fields.size, fields.redirect), (&b"2258"[..], &b""[..]));
        assert_eq!(
            format.describe(),
            "7 columns, time 2, url 3, mime 4, status 5, digest 6, size 7"
        );
    }

    #[test]
    fn lines() {
        let format = recognize(&[HEAD]).unwrap();
        for (line, expected, why) in [
            (HEAD, Parsed::Comment, "the header"),
            (b"[],", Parsed::Comment, "in front of the key"),
            (br#"["org%2Cexample+2014"]]"#, Parsed::Comment, "the key to resume with"),
            (br#"["k","1","u","m","200","D","1"]]"#, Parsed::Record, "the last one"),
            (br#"["k","1","u","m","200","D","1"]"#, Parsed::Record, "no comma"),
            (br#"["k","1","-","m","200","D","1"],"#, Parsed::Reject(Reject::NoUrl), "no URL"),
            (br#"["k","1","u","m","200","D"],"#, Parsed::Reject(Reject::Format), "too few"),
            (br#"["k","1","u","m",200,"D","1"],"#, Parsed::Reject(Reject::Format), "a number"),
            (br#"["k","1","u","m","200","D","1\"],"#, Parsed::Reject(Reject::Format), "no end"),
            (br#"["k","1","u","m","200","D","1"],["#, Parsed::Reject(Reject::Format), "more"),
            (b"http://a.test/", Parsed::Reject(Reject::Format), "a list"),
        ] {
            assert_eq!(parse(&*format, line).0, expected, "{why}");
        }
        for line in [&b"[[]]"[..], b"[[", br#"[["urlkey","timestamp"]"#, br#"["original"],"#, b""] {
            assert!(CdxJson::new(line).is_none(), "{}", crate::bytes::show(line));
        }
    }

    #[test]
    fn samples() {
        assert_eq!(
            sample_urls(&sample("captures.cdx.json"), recognize),
            [
                "http://www.example.org:80/ ? 200",
                "https://example.org/ ? 301",
                "http://example.org/about?lang=en&ref=nav ? 200",
                "http://example.org/about?ref=nav&lang=en ?",
                "http://example.org/img/logo.png ? 200",
            ]
        );
    }

    #[test]
    fn hostile_lines_are_linear() {
        let format = recognize(&[HEAD]).unwrap();
        let units = ["\"", "\\", "[", "\"\",", "\\\"", ",", "]"];
        check_hostile(&["", "[", "[\"", "[["], &units, |line| {
            assert_eq!(parse(&*format, line).0, Parsed::Reject(Reject::Format));
        });
    }
}
