//! Finds some values in the pairs of a line of logfmt, in one pass.
//!
//! HOT: once per line. Price: each byte is read once; a table look-up for each name. No allocation.

use memchr::{memchr2, memchr2_iter};

use super::scan::{Places, Value};

/// Reads the pairs of `text` and calls `found` for every value at one of `places`, with its number.
///
/// - Shape: see [`Pairs`].
/// - Limits: linear.
/// - Failure: `false` for a quote that is never closed; the values are then to be discarded.
#[inline]
pub(super) fn scan<'a>(
    text: &'a [u8],
    places: &Places,
    mut found: impl FnMut(u16, Value<'a>),
) -> bool {
    let mut pairs = Pairs::of(text);
    for (name, value) in pairs.by_ref() {
        if let Some(number) = places.member(name) {
            found(number, value);
        }
    }
    !pairs.is_open
}

/// The pairs of a line: names and values.
///
/// - Shape: `name=value` and `name="value"`, separated by blanks; anything else between them is
///   skipped. Within quotes a backslash escapes the byte after it.
/// - Source: <https://brandur.org/logfmt>; there is no standard.
#[derive(Debug)]
pub(super) struct Pairs<'a> {
    rest: &'a [u8],
    /// Did it end at a quote that is never closed?
    is_open: bool,
}

impl<'a> Pairs<'a> {
    pub(super) fn of(text: &'a [u8]) -> Pairs<'a> {
        Pairs { rest: text, is_open: false }
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let start = self.rest.iter().position(|byte| *byte > b' ')?;
            let word = &self.rest[start..];
            let name_end = word.iter().position(|byte| !is_of_name(*byte)).unwrap_or(word.len());
            let (name, behind) = word.split_at(name_end);
            match behind {
                [b'=', b'"', quoted @ ..] if !name.is_empty() => {
                    let Some((end, is_escaped)) = quote_end(quoted) else {
                        (self.rest, self.is_open) = (b"", true);
                        return None;
                    };
                    self.rest = &quoted[end + 1..];
                    return Some((name, Value::Text(&quoted[..end], is_escaped)));
                }
                [b'=', bare @ ..] if !name.is_empty() => {
                    let (value, rest) = bare.split_at(blank_at(bare));
                    self.rest = rest;
                    let is_number = !value.is_empty()
                        && value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
                    let value =
                        if is_number { Value::Number(value) } else { Value::Text(value, false) };
                    return Some((name, value));
                }
                _ => self.rest = &word[blank_at(word)..],
            }
        }
    }
}

/// The time that `text` begins with, as the collector of a log writes it; empty if it does not.
pub(super) fn time_in_front(text: &[u8]) -> &[u8] {
    let word = &text[..blank_at(text)];
    // `2026-11-30T09:30:00`
    if word.len() >= 19 && word[4] == b'-' && word[10] == b'T' { word } else { b"" }
}

/// Where the first blank of `text` is, or its end.
#[inline]
fn blank_at(text: &[u8]) -> usize {
    memchr2(b' ', b'\t', text).unwrap_or(text.len())
}

/// Where the quote is that ends the text before it, and whether there are escapes in that.
#[inline]
fn quote_end(text: &[u8]) -> Option<(usize, bool)> {
    let mut escaped_at = None;
    for at in memchr2_iter(b'"', b'\\', text) {
        match text[at] {
            _ if escaped_at == Some(at) => {}
            b'"' => return Some((at, escaped_at.is_some())),
            _ => escaped_at = Some(at + 1),
        }
    }
    None
}

/// May `byte` be part of a name?
#[inline]
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'@')
}

#[cfg(test)]
mod tests {
    use crate::bytes::show;
    use crate::record::formats::json::{Json, recognize_logfmt};
    use crate::record::formats::samples::{check_hostile, sample, sample_urls};
    use crate::record::{Escapes, Found, LineFormat, Parsed};

    /// Status, method, scheme, host and target of a line, or what it is instead.
    fn shown(line: &str) -> String {
        let mut found = Found::default();
        match Json::usual_logfmt().parse(line.as_bytes(), &mut found) {
            Parsed::Record => {
                let Found { target, host, scheme, fields, escapes, .. } = found;
                let mut buffer = Vec::new();
                let target = escapes.undo(target, &mut buffer);
                let parts = [fields.status, fields.method, scheme, host, target];
                parts.map(|part| show(part).to_string()).join("|")
            }
            Parsed::Comment => "comment".to_string(),
            Parsed::Reject(reject) => reject.to_string(),
        }
    }

    #[test]
    fn lines() {
        for (given, expected) in [
            ("method=GET path=/a status=200", "200|GET|||/a"),
            ("status=200 path=\"/a b\" host=a.test:81", "200|||a.test:81|/a b"),
            (r#"path="/a\"b\\" method=GET"#, r#"|GET|||/a"b\\"#),
            ("web: [x] path=/a?b=c&d=e flag  method=PUT", "|PUT|||/a?b=c&d=e"),
            ("path=/a protocol=https", "||https||/a"),
            ("path=/a protocol=http1.1 tls=true", "||https||/a"),
            ("path=/a protocol=HTTP/1.1 tls=false", "||||/a"),
            ("url=https://a.test/b path=/a", "||||https://a.test/b"),
            ("request=\"GET /a HTTP/1.1\" status=200", "200|GET|||/a"),
            ("path=\"/a\"host=a.test", "|||a.test|/a"),
            ("path= method=GET", "no-url"),
            ("path=\"\" method=GET", "no-url"),
            ("level=info msg=\"path=/a\"", "no-url"),
            ("Started GET \"/a\" for 192.0.2.1", "no-url"),
            ("method=CONNECT path=a.test:443", "no-page"),
            ("path=\"/cut-of", "not-format"),
            (r#"path="/cut-of\""#, "not-format"),
            ("=/a path==/b", "||||=/b"),
            ("", "no-url"),
        ] {
            assert_eq!(shown(given), expected, "{given}");
        }
    }

    #[test]
    fn times() {
        let time = |line: &'static str| {
            let mut found = Found::default();
            let parsed = Json::usual_logfmt().parse(line.as_bytes(), &mut found);
            assert_eq!(parsed, Parsed::Record, "{line}");
            String::from_utf8_lossy(found.fields.time).into_owned()
        };
        for (line, expected) in [
            ("2026-11-30T09:30:00.1+00:00 app: path=/a", "2026-11-30T09:30:00.1+00:00"),
            ("2026-11-30T09:30:00Z path=/a time=2026-11-30T09:31:00Z", "2026-11-30T09:31:00Z"),
            ("path=/a ts=1796000000.25", "1796000000.25"),
            ("path=/a time=12 timestamp=120ms", ""),
            ("path=/2026-11-30T09:30:00Z", ""),
        ] {
            assert_eq!(time(line), expected, "{line}");
        }
    }

    #[test]
    fn escapes_are_undone_where_there_are_some() {
        for (line, expected) in
            [(r#"path="/a\"" a=b"#, Escapes::Json), (r#"path="/a" a="\"""#, Escapes::None)]
        {
            let mut found = Found::default();
            Json::usual_logfmt().parse(line.as_bytes(), &mut found);
            assert_eq!(found.escapes, expected, "{line}");
        }
    }

    #[test]
    fn recognized_by_requests() {
        for (lines, expected) in [
            (&["path=/a status=200"][..], Some("url path, status status")),
            (&["url=http://a.test/ status=200", "started"], Some("url url, status status")),
            (&["path=/a status=200", "started", "stopped"], None),
            (&["path=/a user=7"], None),
            (&["http://a.test/?path=/a&status=200"], None),
            (&["http://a.test/ path=/a"], None),
            (&[], None),
        ] {
            let bytes: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
            let found = recognize_logfmt(&bytes).map(|format| format.describe());
            assert_eq!(found.as_deref(), expected, "{lines:?}");
        }
    }

    #[test]
    fn samples() {
        assert_eq!(
            sample_urls(&sample("logfmt.log"), recognize_logfmt),
            [
                "GET https://shop.example.com /a?b=1&a=2&utm_source=mail ? 200",
                "GET https://shop.example.com /a?a=2&b=1 ? 200",
                "GET http://shop.example.com /find?q=\"x\" ? 503",
                "GET shop.example.com /jobs/7.json ? 200",
                "no-url",
                "GET https://www.example.com/b ? 200",
            ]
        );
    }

    #[test]
    fn hostile_lines_are_linear() {
        let units = ["a=", "path=\"", "\\", "\"", "=", "a=\"\" ", "a b=", " ", "path=/ status=1 "];
        check_hostile(&["", "path=/a status=200 ", "a=\""], &units, |line| {
            recognize_logfmt(&[line]);
            shown(&String::from_utf8_lossy(line));
        });
    }
}
