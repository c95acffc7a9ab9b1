//! HOT: once per line. The native access log of Squid.
//!
//! ```text
//! 1438854186.003      3 10.0.0.1 TCP_MISS/304 124 GET http://a.test/b - HIER_DIRECT/10.9.9.9 text/html
//! time          elapsed client   action/code size method URL     user hierarchy/from         type
//! ```
//!
//! The URL is absolute. Squid writes bytes that cannot be parts of a URL as `%hh`, so there are no
//! other escapes. With `log_mime_hdrs` two fields in brackets follow.
//!
//! Price: a search for the end of each field. No allocation.
//! Source: <https://www.squid-cache.org/Doc/config/logformat/>, the built-in format `squid`.

use std::sync::Arc;

use memchr::{memchr, memrchr};

use crate::record::fields::cut::{Cut, is_number, is_status, value};
use crate::record::found::{Found, Parsed};
use crate::record::line_format::LineFormat;
use crate::reject::Reject;

/// A native access log of Squid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Squid;

/// Squid's format, if at least half of `lines` could be lines of it.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    let understood = lines.iter().filter(|line| find(line, &mut Found::default()).is_some());
    (understood.count() * 2 >= lines.len()).then(|| Arc::new(Squid) as Arc<dyn LineFormat>)
}

impl LineFormat for Squid {
    fn name(&self) -> &'static str {
        "squid"
    }

    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        find(line, found).unwrap_or(Parsed::Reject(Reject::Format))
    }
}

/// The parts of `line`; `None` if it does not have the shape.
fn find<'a>(line: &'a [u8], found: &mut Found<'a>) -> Option<Parsed> {
    let mut cut = Cut::new(line);
    let time = cut.padded_word()?;
    if !is_time(time) {
        return None;
    }
    let elapsed = cut.padded_word()?;
    if !is_number(elapsed.strip_prefix(b"-").unwrap_or(elapsed)) {
        return None;
    }
    let _client = cut.padded_word()?;
    let action = cut.padded_word()?;
    let status = &action[memchr(b'/', action)? + 1..];
    if !is_status(status) {
        return None;
    }
    let size = cut.padded_word()?;
    if !is_number(size) && size != b"-" {
        return None;
    }
    let method = cut.padded_word()?;
    let (url, mime) = url_and_type(cut.rest())?;
    found.fields.time = time;
    // Requests that were aborted before a response have the status 000.
    found.fields.status = if status == b"000" { b"" } else { status };
    found.fields.size = value(size);
    found.fields.method = value(method);
    found.fields.mime = value(mime);
    found.target = value(url);
    Some(match (method, url) {
        // Squid writes these for connections without a request, or with an invalid one.
        (_, b"error:invalid-request") => Parsed::Reject(Reject::BadRequest),
        (_, url) if url.starts_with(b"error:") => Parsed::Reject(Reject::NoRequest),
        (_, b"" | b"-") => Parsed::Reject(Reject::NoUrl),
        (b"CONNECT", _) => Parsed::Reject(Reject::NoPage),
        _ => Parsed::Record,
    })
}

/// The URL and the media type of `URL user hierarchy/from type`.
fn url_and_type(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut cut = Cut::new(rest);
    let (url, _user) = (cut.word()?, cut.word()?);
    let hierarchy = cut.word()?;
    let mime = cut.word()?;
    // Bet: no blanks in the URL.
    if is_hierarchy(hierarchy) && (cut.rest().is_empty() || cut.rest()[0] == b'[') {
        return Some((url, mime));
    }
    let mut left = rest.trim_ascii_end();
    let mut last = || {
        let blank = memrchr(b' ', left)?;
        let word = &left[blank + 1..];
        left = &left[..blank];
        Some(word)
    };
    let (mime, hierarchy, _user) = (last()?, last()?, last()?);
    is_hierarchy(hierarchy).then_some((left, mime))
}

/// Is `text` like `1438854186.003`?
fn is_time(text: &[u8]) -> bool {
    text.len() >= 5 && text[text.len() - 4] == b'.' && {
        let (seconds, fraction) = (&text[..text.len() - 4], &text[text.len() - 3..]);
        is_number(seconds) && is_number(fraction)
    }
}

/// Is `text` like `HIER_DIRECT/10.9.9.9` or `NONE/-`?
fn is_hierarchy(text: &[u8]) -> bool {
    memchr(b'/', text).is_some_and(|slash| {
        let is_letter = |byte: &u8| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'0'..=b'9');
        slash > 0 && text[..slash].iter().all(is_letter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::show;
    use crate::record::formats::samples::{check_hostile, sample, sample_urls};

    fn shown(line: &[u8]) -> String {
        let mut found = Found::default();
        match Squid.parse(line, &mut found) {
            Parsed::Record => {
                let Found { target, fields, .. } = found;
                let parts =
                    [fields.time, fields.status, fields.size, fields.method, target, fields.mime];
                parts.map(|part| show(part).to_string()).join("|")
            }
            Parsed::Comment => "comment".to_string(),
            Parsed::Reject(reject) => reject.to_string(),
        }
    }

    #[test]
    fn lines() {
        for (given, expected, why) in [
            (
                "1438854186.003      3 10.0.0.1 TCP_MISS/304 124 GET http://a.test/b - HIER_DIRECT/10.9.9.9 text/html",
                "1438854186.003|304|124|GET|http://a.test/b|text/html",
                "as it is",
            ),
            (
                "1438854186.003 3 ::1 TCP_HIT/200 124 GET http://a.test/b bob NONE/- -",
                "1438854186.003|200|124|GET|http://a.test/b|",
                "of older versions; no type",
            ),
            (
                "1438854186.003 3 ::1 TCP_MISS_ABORTED/000 0 GET http://a.test/b - HIER_NONE/- -",
                "1438854186.003||0|GET|http://a.test/b|",
                "given up: no status",
            ),
            (
                "1438854186.003 3 ::1 TCP_MISS/200 1 GET http://a.test/b c d - HIER_DIRECT/a.test text/html",
                "1438854186.003|200|1|GET|http://a.test/b c d|text/html",
                "blanks in the URL",
            ),
            (
                "1438854186.003 3 ::1 TCP_MISS/200 1 GET http://a.test/b - HIER_DIRECT/::1 text/html [Host: a.test] [X: y]",
                "1438854186.003|200|1|GET|http://a.test/b|text/html",
                "headers behind",
            ),
            (
                "1438854186.003 3 ::1 TCP_TUNNEL/200 1 CONNECT a.test:443 - HIER_DIRECT/::1 -",
                "no-page",
                "a tunnel",
            ),
            (
                "1438854186.003 3 ::1 NONE/400 1 NONE error:invalid-request - HIER_NONE/- text/html",
                "bad-request",
                "not HTTP",
            ),
            (
                "1438854186.003 0 ::1 NONE_NONE/000 0 - error:transaction-end-before-headers - HIER_NONE/- -",
                "no-request",
                "hung up",
            ),
            ("1438854186.003 3 ::1 TCP_DENIED/403 1 GET - - HIER_NONE/- -", "no-url", "no URL"),
            (
                "1438854186.003 3 ::1 TCP_MISS/200 1 OPTIONS * - HIER_NONE/- -",
                "1438854186.003|200|1|OPTIONS|*|",
                "the server",
            ),
            ("1438854186.003 3 ::1 TCP_MISS/200 1 GET http://a.test/b -", "not-format", "cut off"),
            (
                "1438854186.003 3 ::1 TCP_MISS/x 1 GET http://a.test/b - A/- -",
                "not-format",
                "no status",
            ),
            (
                "1438854186.003 3 ::1 TCP_MISS 1 GET http://a.test/b - A/- -",
                "not-format",
                "no slash",
            ),
            (
                "1438854186 3 ::1 TCP_MISS/200 1 GET http://a.test/b - A/- -",
                "not-format",
                "no fraction",
            ),
            (
                "1438854186.003 x ::1 TCP_MISS/200 1 GET http://a.test/b - A/- -",
                "not-format",
                "elapsed",
            ),
            (
                "1438854186.003 3 ::1 TCP_MISS/200 x GET http://a.test/b - A/- -",
                "not-format",
                "size",
            ),
            (
                "1438854186.003 3 ::1 TCP_MISS/200 1 GET http://a.test/b - a/- -",
                "not-format",
                "hierarchy",
            ),
            ("h - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 1", "not-format", "CLF"),
            ("http://a.test/", "not-format", "a list"),
            ("", "not-format", "nothing"),
            ("   ", "not-format", "blanks"),
        ] {
            assert_eq!(shown(given.as_bytes()), expected, "{given}: {why}");
        }
    }

    #[test]
    fn samples() {
        assert_eq!(
            sample_urls(&sample("squid.log"), recognize),
            [
                "GET http://www.example.com/a?b=1&a=2 ? 200",
                "GET http://www.example.com:80/a?a=2&b=1 ? 200",
                "GET http://blocked.example/ ? 403",
                "no-page",
                "no-request",
                "bad-request",
                "GET http://www.example.com/slow ?",
            ]
        );
    }

    #[test]
    fn half_of_the_lines_decide() {
        let line: &[u8] = b"1438854186.003 3 ::1 TCP_HIT/200 124 GET http://a.test/b - NONE/- -";
        assert!(recognize(&[line, b"x"]).is_some());
        assert!(recognize(&[line, b"x", b""]).is_none());
    }

    #[test]
    fn hostile_lines_are_linear() {
        let front = "1438854186.003 3 ::1 TCP_HIT/200 124 GET ";
        check_hostile(&["", front], &[" ", "a ", "A/- ", "/", "\0", "1"], |line| {
            shown(line);
        });
    }
}
