//! Crawl logs of Heritrix: a fetched URL on each line, columns aligned with blanks.
//!
//! HOT: once per line. Price: one pass; no allocation.

use std::sync::Arc;

use crate::record::fields::cut::{Cut, is_number, value};
use crate::record::{Found, LineFormat, Parsed};
use crate::reject::Reject;

/// The format's name.
pub(crate) const NAME: &str = "crawllog";

/// A crawl log of Heritrix 1 to 3.
///
/// - Shape: time, status, bytes, URL, how it was found, the page with the link, media type, thread,
///   start and duration of the fetch, digest, source, annotations, and sometimes more. `-` and
///   `no-type` mean empty. Statuses are those of HTTP, or of Heritrix: 1 for host names that
///   were resolved, negative for URLs that were not fetched.
/// - Source: Heritrix, `UriProcessingFormatter`, and its user guide, "crawl.log".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CrawlLog;

/// A crawl log, if one of the first lines looks like one.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    let is_record = |line: &&[u8]| CrawlLog.parse(line, &mut Found::default()) == Parsed::Record;
    lines.iter().any(is_record).then(|| Arc::new(CrawlLog) as _)
}

impl LineFormat for CrawlLog {
    fn name(&self) -> &'static str {
        NAME
    }

    #[inline]
    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        columns(line, found).unwrap_or_else(|| {
            // In an archive the log is a record, whose head comes first.
            match line.starts_with(b"metadata://") || line.starts_with(b"filedesc://") {
                true => Parsed::Comment,
                false => Parsed::Reject(Reject::Format),
            }
        })
    }
}

/// The columns of `line`; `None` if it does not have the shape.
#[inline]
fn columns<'a>(line: &'a [u8], found: &mut Found<'a>) -> Option<Parsed> {
    let fields = &mut found.fields;
    let mut cut = Cut::new(line);
    let time = cut.word()?;
    let is_iso = time.len() >= 19 && time[4] == b'-' && time[10] == b'T';
    let is_compact = time.len() == 17 && time.iter().all(u8::is_ascii_digit);
    if !(is_iso || is_compact) || !time[0].is_ascii_digit() {
        return None;
    }
    fields.time = time;
    let status = cut.padded_word()?;
    if !is_number(status.strip_prefix(b"-").unwrap_or(status)) {
        return None;
    }
    fields.status = status;
    let size = cut.padded_word()?;
    if size != b"-" {
        if !is_number(size) {
            return None;
        }
        fields.size = size;
    }
    let url = cut.padded_word()?;
    let path = cut.padded_word()?;
    if path != b"-" && !path.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'+') {
        return None;
    }
    fields.referrer = value(cut.padded_word()?);
    // The last hop was a redirect, from the URL in the column of the link.
    if path.ends_with(b"R") {
        fields.redirected_from = fields.referrer;
    }
    fields.mime = value(cut.padded_word()?);
    if fields.mime == b"no-type" {
        fields.mime = b"";
    }
    if cut.padded_word()?[0] != b'#' {
        return None;
    }
    // When and how long; then the digest. Old logs end earlier.
    let _ = cut.padded_word();
    fields.digest = value(cut.padded_word().unwrap_or_default());
    found.target = value(url);
    Some(if found.target.is_empty() { Parsed::Reject(Reject::NoUrl) } else { Parsed::Record })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::show;
    use crate::record::formats::samples;

    fn parse(line: &[u8]) -> (Parsed, Found<'_>) {
        let mut found = Found::default();
        (CrawlLog.parse(line, &mut found), found)
    }

    #[test]
    fn records() {
        let line = b"2012-05-23T15:06:29.072Z   200        262 http://a.test/robots.txt LP \
            http://a.test/ text/plain #043 20120523150629017+51 \
            sha1:MNK2X5P6VE42DLOQ76JJFAT5BNPTBIVK http://a.test/ content-size:569,3t";
        let (parsed, found) = parse(line);
        assert_eq!((parsed, found.target), (Parsed::Record, &b"http://a.test/robots.txt"[..]));
        let fields = found.fields;
        assert_eq!((fields.status, fields.size), (&b"200"[..], &b"262"[..]));
        assert_eq!((fields.referrer, fields.mime), (&b"http://a.test/"[..], &b"text/plain"[..]));
        assert_eq!(fields.digest, b"sha1:MNK2X5P6VE42DLOQ76JJFAT5BNPTBIVK");
        assert_eq!(crate::record::fields::time::parse(fields.time, b""), Some(1_337_785_589));
    }

    #[test]
    fn the_last_hop_may_be_a_redirect() {
        for (path, expected) in
            [("R", "http://a.test/"), ("LLR", "http://a.test/"), ("LRL", ""), ("P", ""), ("-", "")]
        {
            let line = format!(
                "2012-05-23T15:06:29.072Z 200 262 http://www.a.test/ {path} http://a.test/ text/html #043 \
                 20120523150629017+51 sha1:MNK2X5P6VE42DLOQ76JJFAT5BNPTBIVK - -"
            );
            let fields = parse(line.as_bytes()).1.fields;
            assert_eq!(fields.referrer, b"http://a.test/");
            assert_eq!(fields.redirected_from, expected.as_bytes(), "{path}");
        }
    }

    #[test]
    fn what_is_not_said_is_empty() {
        let line = b"20060223105243207 -5003          - http://a.test/ - - no-type #002 - - - -";
        let (parsed, found) = parse(line);
        assert_eq!((parsed, found.target), (Parsed::Record, &b"http://a.test/"[..]));
        let fields = found.fields;
        assert_eq!((fields.status, fields.size, fields.mime), (&b"-5003"[..], &b""[..], &b""[..]));
        assert_eq!((fields.referrer, fields.digest), (&b""[..], &b""[..]));
    }

    #[test]
    fn lines() {
        const NOT: Parsed = Parsed::Reject(Reject::Format);
        for (line, expected, why) in [
            (
                &b"metadata://a.test/crawl.log 192.0.2.1 20120523150916 text/plain 412905"[..],
                Parsed::Comment,
                "the head of a record",
            ),
            (
                b"2006-02-23T10:52:43.207Z 1 55 dns:a.test P http://a.test/ text/dns #049",
                Parsed::Record,
                "a name, and a line that ends early",
            ),
            (
                b"2006-02-23T10:52:43.207Z 200 55 - P http://a.test/ text/html #049 x d - -",
                Parsed::Reject(Reject::NoUrl),
                "no URL",
            ),
            (b"", NOT, "nothing"),
            (b"http://a.test/", NOT, "a list"),
            (b"2006-02-23T10:52:43.207Z 1 55 dns:a.test P http://a.test/ text/dns", NOT, "short"),
            (b"2006-02-23T10:52:43.207Z GET 55 http://a.test/ P - - #1", NOT, "no status"),
            (b"2006-02-23T10:52:43.207Z - 55 http://a.test/ P - - #1", NOT, "no status"),
            (b"2006-02-23T10:52:43.207Z 200 -5 http://a.test/ P - - #1", NOT, "no size"),
            (b"2006-02-23T10:52:43.207Z 200 5 http://a.test/ P - - 1", NOT, "no thread"),
            (b"2006-02-23T10:52:43.207Z 200 5 http://a.test/ \"x\" - - #1", NOT, "no path"),
            (b"test,a)/ 20140126200624 http://a.test/ text/html 200 D - 1 f", NOT, "an index"),
        ] {
            assert_eq!(parse(line).0, expected, "{why}: {}", show(line));
        }
    }

    #[test]
    fn the_sample() {
        let urls = samples::sample_urls(&samples::sample("crawl.log"), recognize);
        assert_eq!(
            urls,
            [
                "dns:example.org ? 1",
                "http://example.org/robots.txt ? 404",
                "http://example.org/ ? 200",
                "http://example.org/?sid=8f14e45f ? 200",
                "http://example.org/img/logo.png ? 200",
                "http://nowhere.example/ ? -6",
            ]
        );
    }

    #[test]
    fn hostile_lines_are_linear() {
        const TIME: &str = "2006-02-23T10:52:43.207Z";
        let blanks = " ".repeat(1 << 20);
        let fronts = ["", &format!("{TIME} "), &format!("{TIME}{blanks}1{blanks}1{blanks}a:b")];
        samples::check_hostile(&fronts, &[" ", "a ", &format!("{TIME} "), "1"], |line| {
            assert_eq!(parse(line).0, Parsed::Reject(Reject::Format));
        });
    }
}
