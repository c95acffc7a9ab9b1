//! CDX indexes of web archives: a capture on each line, columns separated by blanks.
//!
//! HOT: once per line. Price: one pass; no allocation.

use std::fmt::Write as _;
use std::sync::Arc;

use memchr::memchr_iter;

use crate::record::fields::time;
use crate::record::table::cell;
use crate::record::{Found, LineFormat, Parsed, is_status};
use crate::reject::Reject;

/// How the line starts that names the columns of those that follow.
const HEADER: &[u8] = b" CDX ";

/// Share of the lines in which a column must have the same form, in percent, where there is no
/// header.
const SHARE_MIN_PERCENT: usize = 90;

/// A CDX index with its columns.
///
/// - Shape: a header names each column by a letter; without one, the columns are those of the
///   Wayback Machine's server (7, or 8 with a count), of its indexes (9, 10, 11), or of these with
///   three more for the original of a repeated capture (12, 13, 14). `-` means empty.
/// - Size: of the compressed record (letter `S`), or of the document in its file (`n`).
/// - Source: Internet Archive, "CDX File Format" and "CDX and DAT Legend"; pywb, `cdxobject.py`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cdx {
    slots: Vec<Slot>,
}

/// The field of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Skip,
    Url,
    Time,
    Mime,
    Status,
    Digest,
    Redirect,
    Size,
}

impl Slot {
    /// The part of `found` for its value, if there is one.
    #[inline(always)]
    pub(super) fn place<'f, 'a>(self, found: &'f mut Found<'a>) -> Option<&'f mut &'a [u8]> {
        let fields = &mut found.fields;
        match self {
            Slot::Skip => None,
            Slot::Url => Some(&mut found.target),
            Slot::Time => Some(&mut fields.time),
            Slot::Mime => Some(&mut fields.mime),
            Slot::Status => Some(&mut fields.status),
            Slot::Digest => Some(&mut fields.digest),
            Slot::Redirect => Some(&mut fields.redirect),
            Slot::Size => Some(&mut fields.size),
        }
    }
}

/// The columns that are read, in words.
pub(super) fn describe(slots: &[Slot]) -> String {
    let mut text = format!("{} columns", slots.len());
    for (at, slot) in slots.iter().enumerate() {
        if *slot != Slot::Skip {
            let _ = write!(text, ", {} {}", format!("{slot:?}").to_lowercase(), at + 1);
        }
    }
    text
}

/// Tells whether a value has the form of a column.
type Form = fn(&[u8]) -> bool;

/// The columns that every index without a header starts with: `N b a m s k r`.
const USUAL: [Slot; 7] =
    [Slot::Skip, Slot::Time, Slot::Url, Slot::Mime, Slot::Status, Slot::Digest, Slot::Redirect];

impl Cdx {
    /// The format of the lines after `header`, which starts with ` CDX `; `None` if it does not, or
    /// names no column with URLs.
    pub(crate) fn new(header: &[u8]) -> Option<Cdx> {
        let letters = header.strip_prefix(HEADER)?.split(|byte| *byte == b' ');
        let letters: Vec<&[u8]> = letters.filter(|letter| !letter.is_empty()).collect();
        let has = |letter: &[u8]| letters.contains(&letter);
        let (has_size, has_digest) = (has(b"S"), has(b"k"));
        let mut slots: Vec<Slot> = Vec::with_capacity(letters.len());
        for letter in &letters {
            let slot = match *letter {
                b"a" => Slot::Url,
                b"b" => Slot::Time,
                b"m" => Slot::Mime,
                b"s" => Slot::Status,
                b"k" => Slot::Digest,
                b"c" if !has_digest => Slot::Digest,
                b"r" => Slot::Redirect,
                b"S" => Slot::Size,
                b"n" if !has_size => Slot::Size,
                _ => Slot::Skip,
            };
            slots.push(if slots.contains(&slot) { Slot::Skip } else { slot });
        }
        slots.contains(&Slot::Url).then_some(Cdx { slots })
    }

    /// The format of an index without a header, one of whose lines is `line`.
    fn of_line(line: &[u8]) -> Option<Cdx> {
        let columns: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let mut slots = USUAL.to_vec();
        match columns.len() {
            // The server may add a column with the count of repeated captures.
            7 | 8 => slots[6] = Slot::Size,
            11 | 14 => slots.extend([Slot::Skip, Slot::Size]),
            9 | 10 | 12 | 13 => {}
            _ => return None,
        }
        slots.resize(columns.len(), Slot::Skip);
        let is_time = is_time(columns[1]);
        let url = columns[2];
        let is_url = (url.contains(&b':') || url.contains(&b'/')) && url[0] != b'{';
        (is_time && is_url).then_some(Cdx { slots })
    }

    /// The format of a response with some of the columns (`fl=`), in any order: a URL, a time or
    /// both status and digest, and other columns of a recognizable form. Nearly all of `lines` must
    /// have these.
    fn of_some_columns(lines: &[&[u8]]) -> Option<Cdx> {
        let rows: Vec<Vec<&[u8]>> =
            lines.iter().map(|line| line.split(|byte| *byte == b' ').collect()).collect();
        let columns = rows.last()?.len();
        let are_most = |count: usize| 100 * count >= SHARE_MIN_PERCENT * lines.len();
        let rows: Vec<_> = rows.into_iter().filter(|row| row.len() == columns).collect();
        if !(2..=8).contains(&columns) || !are_most(rows.len()) {
            return None;
        }
        let is_of = |at: usize, has_form: Form| {
            let fits = |row: &&Vec<&[u8]>| has_form(row[at]) || is_missing(row[at]);
            are_most(rows.iter().filter(fits).count()) && rows.iter().any(|row| has_form(row[at]))
        };
        let forms: [(Slot, Form); 4] = [
            (Slot::Url, cell::is_url),
            (Slot::Time, |value| is_time(value) && time::parse(value, b"").is_some()),
            (Slot::Status, is_status),
            (Slot::Digest, is_digest),
        ];
        let slot_of = |at| forms.iter().find(|(_, form)| is_of(at, *form)).map(|(slot, _)| *slot);
        let slots: Vec<Slot> = (0..columns).map(|at| slot_of(at).unwrap_or(Slot::Skip)).collect();
        let count = |slot: Slot| slots.iter().filter(|one| **one == slot).count();
        let (statuses, digests) = (count(Slot::Status), count(Slot::Digest));
        let is_clear = statuses.max(digests) < 2;
        let says_when_or_what = count(Slot::Time) == 1 || statuses + digests == 2;
        (count(Slot::Url) == 1 && says_when_or_what && is_clear).then_some(Cdx { slots })
    }
}

/// The columns of the header, or else those of most lines.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    if let Some(format) = lines.iter().find_map(|line| Cdx::new(line)) {
        return Some(Arc::new(format));
    }
    let all: Vec<Cdx> = lines.iter().filter_map(|line| Cdx::of_line(line)).collect();
    let count =
        |format: &Cdx| all.iter().filter(|one| one.slots.len() == format.slots.len()).count();
    // Of equally common ones the first.
    let Some(mut best) = all.first() else {
        return Cdx::of_some_columns(lines).map(|format| Arc::new(format) as _);
    };
    for columns in 7..=14 {
        let other = all.iter().find(|one| one.slots.len() == columns);
        if let Some(other) = other.filter(|other| count(other) > count(best)) {
            best = other;
        }
    }
    Some(Arc::new(best.clone()))
}

impl LineFormat for Cdx {
    fn name(&self) -> &'static str {
        "cdx"
    }

    fn describe(&self) -> String {
        describe(&self.slots)
    }

    #[inline]
    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        if line.first() == Some(&b' ') && line.starts_with(HEADER) {
            return Parsed::Comment;
        }
        let mut slots = self.slots.iter();
        let mut start = 0;
        for end in memchr_iter(b' ', line).chain(std::iter::once(line.len())) {
            let value = &line[start..end];
            start = end + 1;
            let Some(slot) = slots.next() else { return Parsed::Reject(Reject::Format) };
            let is_odd = match slot {
                Slot::Time => !is_time(value) && !is_missing(value),
                // That is a CDXJ index.
                Slot::Url => value.first() == Some(&b'{'),
                _ => false,
            };
            if is_odd {
                return Parsed::Reject(Reject::Format);
            }
            let Some(place) = slot.place(found) else { continue };
            *place = if is_missing(value) { b"" } else { value };
        }
        if slots.next().is_some() {
            return Parsed::Reject(Reject::Format);
        }
        if found.target.is_empty() { Parsed::Reject(Reject::NoUrl) } else { Parsed::Record }
    }

    fn with_header(&self, line: &[u8]) -> Option<Arc<dyn LineFormat>> {
        Cdx::new(line).map(|format| Arc::new(format) as _)
    }

    fn header_prefix(&self) -> &'static [u8] {
        HEADER
    }
}

/// Does `value` mean that it is not known?
#[inline]
fn is_missing(value: &[u8]) -> bool {
    matches!(value, b"-" | b"null")
}

/// Are these the 14 digits of a capture's time, or 17 with milliseconds, or 12 without seconds?
#[inline]
pub(super) fn is_time(value: &[u8]) -> bool {
    matches!(value.len(), 14 | 12 | 17) && value.iter().all(u8::is_ascii_digit)
}

/// Is this a digest as indexes have it: SHA-1 in base32, with the name of the algorithm or without?
fn is_digest(value: &[u8]) -> bool {
    value.starts_with(b"sha1:")
        || value.len() == 32 && value.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::formats::samples;

    const LINE: &[u8] = b"test,a)/b 20140126200624 http://a.test/b text/html 302 \
        QQKD4765WPKOYVPVCKEDNHGDNKCCJ5GE http://a.test/c - 2258 334 a.warc.gz";

    fn parse<'a>(format: &dyn LineFormat, line: &'a [u8]) -> (Parsed, Found<'a>) {
        let mut found = Found::default();
        (format.parse(line, &mut found), found)
    }

    #[test]
    fn records() {
        for format in [Cdx::new(b" CDX N b a m s k r M S V g"), Cdx::of_line(LINE)] {
            let format = format.unwrap();
            let (parsed, found) = parse(&format, LINE);
            assert_eq!((parsed, found.target), (Parsed::Record, &b"http://a.test/b"[..]));
            let fields = found.fields;
            assert_eq!((fields.time, fields.mime), (&b"20140126200624"[..], &b"text/html"[..]));
            assert_eq!((fields.status, fields.size), (&b"302"[..], &b"2258"[..]));
            assert_eq!(fields.digest, b"QQKD4765WPKOYVPVCKEDNHGDNKCCJ5GE");
            assert_eq!(fields.redirect, b"http://a.test/c");
        }
    }

    #[test]
    fn columns_without_a_header() {
        let start = "k 20140126200624 http://a.test/ text/html 200 D";
        for (rest, size) in [
            ("17", "17"),
            ("17 3", "17"),
            ("- 9 f", ""),
            ("- - 9 f", ""),
            ("- - 17 9 f", "17"),
            ("- 9 f 1 2 g", ""),
            ("- - 9 f 1 2 g", ""),
            ("- - 17 9 f 1 2 g", "17"),
        ] {
            let line = format!("{start} {rest}");
            let format = recognize(&[b"?", line.as_bytes()]).expect(&line);
            let (parsed, found) = parse(&*format, line.as_bytes());
            assert_eq!((parsed, found.fields.size), (Parsed::Record, size.as_bytes()), "{line}");
            assert_eq!(found.fields.redirect, b"", "{line}");
        }
        for line in [
            "k 20140126200624 http://a.test/ text/html 200 D - -  17 9 f 1 2 g 3",
            "k 2014012620062x http://a.test/ text/html 200 D - 9 f",
            "k 20140126200624 a text/html 200 D - 9 f",
            "k 20140126200624 {\"url\": \"http://a.test/\", \"mime\": \"text/html\", \"a\": 1}",
            "http://a.test/",
        ] {
            assert!(recognize(&[line.as_bytes()]).is_none(), "{line}");
        }
    }

    #[test]
    fn some_columns() {
        let digest = "QQKD4765WPKOYVPVCKEDNHGDNKCCJ5GE";
        for (line, expected) in [
            ("http://a.test/ 20140126200624 200 D", "4 columns, url 1, time 2, status 3"),
            (
                &format!("{digest} 201401262006 http://a.test/"),
                "3 columns, digest 1, time 2, url 3",
            ),
            ("http://a.test/ sha1:X 20140126200624", "3 columns, url 1, digest 2, time 3"),
            ("test,a)/ 20140126200624 http://a.test/", "3 columns, time 2, url 3"),
            ("20140126200624 http://a.test/", "2 columns, time 1, url 2"),
            ("http://a.test/ 20149926200624", ""),
            ("http://a.test/ 20140126200624 http://b.test/", ""),
            ("http://a.test/ 20140126200624 20140126200625", ""),
            ("http://a.test/ 20140126200624 200 404", ""),
            ("http://a.test/ text/html 200 sha1:X", "4 columns, url 1, status 3, digest 4"),
            ("http://a.test/ 200", ""),
            ("20140126200624 200", ""),
        ] {
            let gap = line.replace("200 D", "- -");
            let mut lines = [line.as_bytes(); 10];
            lines[3] = gap.as_bytes();
            let told = |lines: &[&[u8]]| recognize(lines).map_or("".into(), |one| one.describe());
            assert_eq!(told(&lines), expected, "{line}");
            lines[4] = b"no-capture";
            assert_eq!(told(&lines), expected, "{line}");
            lines[5] = b"no-capture";
            assert_eq!(told(&lines), "", "{line}");
        }
    }

    #[test]
    fn other_columns() {
        let format = Cdx::new(b" CDX A b e a m s c v n g").unwrap();
        let line = b"a.test/ 20060101000000 192.0.2.1 http://a.test/ text/html 200 C 1 99 f";
        let (parsed, found) = parse(&format, line);
        assert_eq!((parsed, found.target), (Parsed::Record, &b"http://a.test/"[..]));
        assert_eq!((found.fields.digest, found.fields.size), (&b"C"[..], &b"99"[..]));
        assert!(Cdx::new(b" CDX N b m s").is_none(), "no URLs");
        assert_eq!(
            format.describe(),
            "10 columns, time 2, url 4, mime 5, status 6, digest 7, size 9"
        );
    }

    #[test]
    fn lines() {
        let format = Cdx::of_line(LINE).unwrap();
        for (line, expected, why) in [
            (&b" CDX N b a m s k r M S V g"[..], Parsed::Comment, "a header"),
            (b"", Parsed::Reject(Reject::Format), "nothing"),
            (b"http://a.test/", Parsed::Reject(Reject::Format), "a list"),
            (b"k 20140126200624 u m 200 d - - 1 2", Parsed::Reject(Reject::Format), "ten"),
            (b"k 20140126200624 u m 200 d - - 1 2 f f", Parsed::Reject(Reject::Format), "twelve"),
            (b"k x u m 200 d - - 1 2 f", Parsed::Reject(Reject::Format), "no time"),
            (b"k null u m 200 d - - 1 2 f", Parsed::Record, "a time that nobody knows"),
            (b"k 20140126200624 - m 200 d - - 1 2 f", Parsed::Reject(Reject::NoUrl), "no URL"),
            (b"- 20140126200624 u - - - - - - - -", Parsed::Record, "nothing else"),
        ] {
            assert_eq!(parse(&format, line).0, expected, "{why}");
        }
    }

    #[test]
    fn headers_change_the_columns() {
        let format = Cdx::of_line(LINE).unwrap();
        assert!(format.with_header(LINE).is_none());
        let next = format.with_header(b" CDX a b").unwrap();
        assert_eq!(parse(&*next, b"http://a.test/ 20140126200624").0, Parsed::Record);
    }

    #[test]
    fn the_sample() {
        let urls = samples::sample_urls(&samples::sample("captures.cdx"), recognize);
        assert_eq!(
            urls,
            [
                "http://www.example.org:80/ ? 200",
                "https://example.org/ ? 301",
                "http://example.org/about?lang=en&ref=nav ? 200",
                "http://example.org/about?ref=nav&lang=en ?",
                "http://example.org/img/logo.png ? 404",
            ]
        );
    }

    #[test]
    fn hostile_lines_are_linear() {
        let format = Cdx::of_line(LINE).unwrap();
        samples::check_hostile(&["", "a "], &[" ", "a ", "a"], |line| {
            assert_eq!(parse(&format, line).0, Parsed::Reject(Reject::Format));
        });
    }
}
