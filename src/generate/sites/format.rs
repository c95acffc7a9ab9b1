//! Captures as lines of the formats that crawlers and servers write, and the table of the truth.

use std::io::{self, Write};

use super::capture::{Capture, Method};

/// A format that captures are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrawlFormat {
    /// An index of captures: key, time, JSON. In the order of time, not sorted by key.
    Cdxj,
    /// The `crawl.log` of Heritrix. It knows no HEAD: such captures are left out.
    CrawlLog,
    /// The log of a web server, "combined". Scheme, host, digest and redirect target are lost.
    Combined,
    /// The log of a web server, "combined", with the host and the port first. Digest and redirect
    /// target are lost.
    VhostCombined,
    /// All that is known but the truth: a table with a header.
    Tsv,
}

impl CrawlFormat {
    /// The line that comes before all others, without its newline.
    pub fn header(self) -> Option<&'static str> {
        (self == CrawlFormat::Tsv)
            .then_some("url\ttime\tstatus\tmime\tsize\tdigest\tredirect\tmethod")
    }

    /// Can the format say what this capture is? Others are left out.
    pub fn holds(self, capture: &Capture) -> bool {
        self != CrawlFormat::CrawlLog || capture.method == Method::Get
    }
}

/// Writes `capture` as one line with its newline, if the format [holds](CrawlFormat::holds) it.
///
/// Failure: that of `out`. Buffer it; this function makes several small writes.
pub fn write_capture(
    out: &mut impl Write,
    format: CrawlFormat,
    capture: &Capture,
) -> io::Result<()> {
    if !format.holds(capture) {
        return Ok(());
    }
    match format {
        CrawlFormat::Cdxj => write_cdxj(out, capture),
        CrawlFormat::CrawlLog => write_crawl_log(out, capture),
        CrawlFormat::Combined => write_combined(out, capture),
        CrawlFormat::VhostCombined => {
            let port = if capture.url.starts_with("https:") { 443 } else { 80 };
            write!(out, "{}:{port} ", capture.host())?;
            write_combined(out, capture)
        }
        CrawlFormat::Tsv => writeln!(
            out,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            capture.url,
            capture.time,
            capture.status,
            capture.mime,
            capture.size,
            capture.digest,
            capture.redirect.as_deref().unwrap_or("-"),
            capture.method.name(),
        ),
    }
}

/// URLs hold no quote and no backslash, so that JSON needs no escapes; a test sees to it.
fn write_cdxj(out: &mut impl Write, capture: &Capture) -> io::Result<()> {
    write!(
        out,
        "{} {} {{\"url\": \"{}\", \"mime\": \"{}\", \"status\": \"{}\", \"digest\": \"{}\", \
         \"length\": \"{}\"",
        surt(capture),
        Moment::of(capture.time).digits(),
        capture.url,
        capture.mime,
        capture.status,
        capture.digest,
        capture.size,
    )?;
    if let Some(redirect) = &capture.redirect {
        write!(out, ", \"redirect\": \"{redirect}\"")?;
    }
    if capture.method != Method::Get {
        write!(out, ", \"method\": \"{}\"", capture.method.name())?;
    }
    out.write_all(b"}\n")
}

fn write_crawl_log(out: &mut impl Write, capture: &Capture) -> io::Result<()> {
    let moment = Moment::of(capture.time);
    let (path, via) = match &capture.via {
        Some(via) => ("LR", via.as_str()),
        None => ("L", "-"),
    };
    writeln!(
        out,
        "{}.000Z {:>5} {:>10} {} {path} {via} {} #001 {}000+250 sha1:{} - -",
        moment.iso(),
        capture.status,
        capture.size,
        capture.url,
        capture.mime,
        moment.digits(),
        capture.digest,
    )
}

fn write_combined(out: &mut impl Write, capture: &Capture) -> io::Result<()> {
    // Addresses that are reserved for documentation (RFC 5737).
    let client = capture.time / 3_600 % 254 + 1;
    write!(
        out,
        "192.0.2.{client} - - [{}] \"{} {} HTTP/1.1\" {} ",
        Moment::of(capture.time).apache(),
        capture.method.name(),
        capture.target(),
        capture.status,
    )?;
    match capture.size {
        0 => out.write_all(b"-")?,
        size => write!(out, "{size}")?,
    }
    out.write_all(b" \"-\" \"undust-generate\"\n")
}

/// The key of a CDXJ line: the host from its last label to its first, then path and query in lower
/// case. Archives normalize more; a reader takes the URL from the JSON.
fn surt(capture: &Capture) -> String {
    let host = capture.host();
    let host = host.strip_prefix("www.").unwrap_or(host);
    let labels: Vec<&str> = host.rsplit('.').collect();
    format!("{}){}", labels.join(","), capture.target().to_ascii_lowercase())
}

/// First line of a truth table, without its newline.
pub const SITE_TRUTH_HEADER: &str = "site\tpage\tfeatures";

/// Writes one row of the truth table with its newline.
///
/// - Shape: number of the site, number of the page, features joined by commas or `-`. Row `n` below
///   the header is about the `n`-th capture that was written.
/// - Failure: that of `out`. Buffer it; this function makes several small writes.
pub fn write_site_truth(out: &mut impl Write, capture: &Capture) -> io::Result<()> {
    write!(out, "{}\t{}\t", capture.page >> 32, capture.page)?;
    if capture.features.is_empty() {
        out.write_all(b"-")?;
    }
    for (place, feature) in capture.features.iter().enumerate() {
        if place > 0 {
            out.write_all(b",")?;
        }
        out.write_all(feature.name().as_bytes())?;
    }
    out.write_all(b"\n")
}

/// A point in time by calendar and clock, UTC.
struct Moment {
    date: (u64, u64, u64),
    clock: (u64, u64, u64),
}

impl Moment {
    fn of(seconds: u64) -> Moment {
        let (days, rest) = (seconds / 86_400, seconds % 86_400);
        Moment { date: civil_from_days(days), clock: (rest / 3_600, rest / 60 % 60, rest % 60) }
    }

    /// `20260101000000`
    fn digits(&self) -> String {
        let ((year, month, day), (hour, minute, second)) = (self.date, self.clock);
        format!("{year}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
    }

    /// `2026-01-01T00:00:00`
    fn iso(&self) -> String {
        let ((year, month, day), (hour, minute, second)) = (self.date, self.clock);
        format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }

    /// `01/Jan/2026:00:00:00 +0000`
    fn apache(&self) -> String {
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let ((year, month, day), (hour, minute, second)) = (self.date, self.clock);
        let month = MONTHS[month as usize - 1];
        format!("{day:02}/{month}/{year}:{hour:02}:{minute:02}:{second:02} +0000")
    }
}

/// Year, month and day of the date that is `days` days after 1970-01-01.
///
/// Source: Hinnant, "chrono-compatible low-level date algorithms", 2021. Years start in March, so
/// that the leap day is the last.
pub(super) fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::super::capture::Digest;
    use super::super::feature::{Feature, Features};
    use super::*;

    fn capture() -> Capture {
        Capture {
            url: "https://www.a-news.co.uk/List.php?cat=x&page=2".into(),
            time: 1_767_225_600 + 86_399,
            status: 301,
            mime: "text/html",
            size: 12,
            digest: Digest::EMPTY,
            redirect: Some("https://a-news.co.uk/list.php".into()),
            via: Some("http://a-news.co.uk/".into()),
            method: Method::Get,
            page: 3 << 32 | 7,
            features: Features::of(&[Feature::Www, Feature::Redirects]),
        }
    }

    fn line(format: CrawlFormat, capture: &Capture) -> String {
        let mut out = Vec::new();
        write_capture(&mut out, format, capture).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines() {
        let digest = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
        for (format, expected) in [
            (
                CrawlFormat::Cdxj,
                format!(
                    "uk,co,a-news)/list.php?cat=x&page=2 20260101235959 {{\"url\": \
                     \"https://www.a-news.co.uk/List.php?cat=x&page=2\", \"mime\": \"text/html\", \
                     \"status\": \"301\", \"digest\": \"{digest}\", \"length\": \"12\", \
                     \"redirect\": \"https://a-news.co.uk/list.php\"}}\n"
                ),
            ),
            (
                CrawlFormat::CrawlLog,
                format!(
                    "2026-01-01T23:59:59.000Z   301         12 \
                     https://www.a-news.co.uk/List.php?cat=x&page=2 LR http://a-news.co.uk/ \
                     text/html #001 20260101235959000+250 sha1:{digest} - -\n"
                ),
            ),
            (
                CrawlFormat::VhostCombined,
                "www.a-news.co.uk:443 192.0.2.192 - - [01/Jan/2026:23:59:59 +0000] \"GET \
                 /List.php?cat=x&page=2 HTTP/1.1\" 301 12 \"-\" \"undust-generate\"\n"
                    .into(),
            ),
            (
                CrawlFormat::Tsv,
                format!(
                    "https://www.a-news.co.uk/List.php?cat=x&page=2\t1767311999\t301\ttext/html\
                     \t12\t{digest}\thttps://a-news.co.uk/list.php\tGET\n"
                ),
            ),
        ] {
            assert_eq!(line(format, &capture()), expected);
        }
    }

    #[test]
    fn requests_without_a_body() {
        let capture = Capture { method: Method::Head, size: 0, redirect: None, ..capture() };
        assert!(line(CrawlFormat::Cdxj, &capture).ends_with(", \"method\": \"HEAD\"}\n"));
        assert_eq!(line(CrawlFormat::CrawlLog, &capture), "");
        assert!(line(CrawlFormat::Combined, &capture).contains("] \"HEAD /List.php"));
        assert!(line(CrawlFormat::Combined, &capture).contains(" 301 - \"-\""));
        assert!(line(CrawlFormat::Tsv, &capture).ends_with("\t-\tHEAD\n"));
    }

    #[test]
    fn truth() {
        let row = |capture: &Capture| {
            let mut out = Vec::new();
            write_site_truth(&mut out, capture).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(row(&capture()), "3\t12884901895\twww,redirects\n");
        let plain = Capture { features: Features::default(), page: 1, ..capture() };
        assert_eq!(row(&plain), "0\t1\t-\n");
    }

    #[test]
    fn calendar() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (18_262, (2020, 1, 1)),
            (20_454, (2026, 1, 1)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(civil_from_days(days), date, "{days}");
        }
    }
}
