//! Standard logs of Amazon CloudFront: the header of W3C logs, columns separated by tabs.

use std::sync::Arc;

use super::extended::{Dialect, Extended, HEADER};
use crate::record::{Escapes, LineFormat};

/// Logs of CloudFront.
///
/// - Shape: `-` means empty. The host is that of the viewer's request (`x-host-header`), or that of
///   the distribution in old logs without it. User agents are escaped with percent signs,
///   once or twice. In URLs each percent sign of the request is written `%25`.
/// - Source: Amazon CloudFront Developer Guide, "Standard logging reference", and "Standard log
///   file format" for the escapes.
static CLOUDFRONT: Dialect = Dialect {
    name: "cloudfront",
    separator: b'\t',
    url_escapes: Escapes::PercentSign,
    text_escapes: Escapes::PercentText,
};

/// The columns of a standard log, to which later years have only added.
///
/// Source: Amazon CloudFront Developer Guide, "Standard logging reference".
const COLUMNS: [&str; 33] = [
    "date",
    "time",
    "x-edge-location",
    "sc-bytes",
    "c-ip",
    "cs-method",
    "cs(Host)",
    "cs-uri-stem",
    "sc-status",
    "cs(Referer)",
    "cs(User-Agent)",
    "cs-uri-query",
    "cs(Cookie)",
    "x-edge-result-type",
    "x-edge-request-id",
    "x-host-header",
    "cs-protocol",
    "cs-bytes",
    "time-taken",
    "x-forwarded-for",
    "ssl-protocol",
    "ssl-cipher",
    "x-edge-response-result-type",
    "cs-protocol-version",
    "fle-status",
    "fle-encrypted-fields",
    "c-port",
    "time-to-first-byte",
    "x-edge-detailed-result-type",
    "sc-content-type",
    "sc-content-len",
    "sc-range-start",
    "sc-range-end",
];

/// Fewest columns of a log without its header: the first that CloudFront wrote.
const COLUMNS_MIN: usize = 12;

/// The format of a log without its header, such as a part of a file, if `row` is a line of a
/// standard log.
fn recognize_row(row: &[u8]) -> Option<Extended> {
    let cells: Vec<&[u8]> = row.split(|byte| *byte == b'\t').collect();
    let has_form = |cell: &[u8], form: &[u8]| {
        cell.len() == form.len()
            && cell.iter().zip(form).all(|(byte, of)| match of {
                b'0' => byte.is_ascii_digit(),
                _ => byte == of,
            })
    };
    let is_row = (COLUMNS_MIN..=COLUMNS.len()).contains(&cells.len())
        && has_form(cells[0], b"0000-00-00")
        && has_form(cells[1], b"00:00:00")
        && cells[3].iter().all(u8::is_ascii_digit)
        && cells[5].iter().all(u8::is_ascii_uppercase)
        && cells[7].starts_with(b"/")
        && has_form(cells[8], b"000");
    let header = || format!("#Fields: {}", COLUMNS[..cells.len()].join(" "));
    is_row.then(|| Extended::new(header().as_bytes(), &CLOUDFRONT)).flatten()
}

/// The format of the first header in `lines`, if it names a column that only CloudFront has, or if
/// the line after it has tabs and all its names are those of a standard log; without a header, the
/// format of the first line.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    let Some(at) = lines.iter().position(|line| line.starts_with(HEADER)) else {
        let format = recognize_row(lines.iter().find(|line| !line.starts_with(b"#"))?)?;
        return Some(Arc::new(format));
    };
    let header = lines[at];
    let has_own = [&b"x-edge-"[..], b"x-host-header"]
        .iter()
        .any(|name| memchr::memmem::find(header, name).is_some());
    let is_known = |name: &[u8]| COLUMNS.iter().any(|known| known.as_bytes() == name);
    let mut names = header[HEADER.len()..].split(u8::is_ascii_whitespace);
    let has_no_other = names.all(|name| name.is_empty() || is_known(name));
    let is_cloudfront = match lines[at + 1..].iter().find(|line| !line.starts_with(b"#")) {
        Some(row) => row.contains(&b'\t') && (has_own || has_no_other),
        None => has_own,
    };
    let format = Extended::new(header, &CLOUDFRONT)?;
    (is_cloudfront && format.has_target()).then(|| Arc::new(format) as _)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::formats::samples;
    use crate::record::{Found, Parsed};
    use crate::reject::Reject;

    const FIELDS: &[u8] = b"#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) \
        cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query x-host-header cs-protocol";

    fn cloudfront(header: &[u8]) -> Option<Extended> {
        Extended::new(header, &CLOUDFRONT)
    }

    fn parse<'a>(format: &dyn LineFormat, line: &'a [u8]) -> (Parsed, Found<'a>) {
        let mut found = Found::default();
        (format.parse(line, &mut found), found)
    }

    #[test]
    fn records() {
        let format = cloudfront(FIELDS).unwrap();
        let line =
            b"2015-08-06\t09:43:06\tFRA2-C1\t124\t192.0.2.1\tGET\td1.cloudfront.test\t/a%2520b\
            \t200\t-\tMozilla/5.0%2520(X11)\tc=%25\twww.a.test\thttps";
        let (parsed, found) = parse(&format, line);
        assert_eq!(parsed, Parsed::Record);
        assert_eq!((found.target, found.query), (&b"/a%2520b"[..], &b"c=%25"[..]));
        assert_eq!((found.host, found.scheme), (&b"www.a.test"[..], &b"https"[..]));
        let mut buffer = Vec::new();
        assert_eq!(found.escapes.undo(found.target, &mut buffer), b"/a%20b", "as it was asked for");
        let fields = found.fields;
        assert_eq!((fields.status, fields.size), (&b"200"[..], &b"124"[..]));
        assert_eq!(fields.referrer, b"");
        assert_eq!(fields.escapes.undo(fields.agent, &mut buffer), b"Mozilla/5.0 (X11)");
    }

    #[test]
    fn lines() {
        let format = cloudfront(b"#Fields: cs-uri-stem cs(Host) cs-uri-query").unwrap();
        for (line, expected, host) in [
            (&b"/\td1.test\t-"[..], Parsed::Record, &b"d1.test"[..]),
            (b"/a b\td1.test\t-", Parsed::Record, b"d1.test"),
            (b"#Version: 1.0", Parsed::Comment, b""),
            (b"/ d1.test -", Parsed::Reject(Reject::Format), b""),
            (b"/\td1.test", Parsed::Reject(Reject::Format), b"d1.test"),
        ] {
            let (parsed, found) = parse(&format, line);
            let host_found = if parsed == Parsed::Record { found.host } else { host };
            assert_eq!((parsed, host_found), (expected, host), "{}", line.escape_ascii());
        }
    }

    #[test]
    fn recognizes() {
        let row = &b"a\tb"[..];
        assert!(recognize(&[b"#Version: 1.0", FIELDS, row]).is_some());
        assert!(recognize(&[b"#Version: 1.0", FIELDS]).is_some());
        assert!(recognize(&[FIELDS, b"a b"]).is_none(), "blanks between columns");
        assert!(super::super::w3c::recognize(&[FIELDS, row]).is_none());
        assert!(super::super::w3c::recognize(&[FIELDS, b"a b"]).is_some());
        let short: &[&[u8]] = &[b"#Fields: date time cs-method cs-uri-stem sc-status"];
        assert!(recognize(short).is_none() && super::super::w3c::recognize(short).is_some());
        let some: &[&[u8]] = &[b"#Fields: cs-uri-stem\tsc-status", b"/a%2520b\t200"];
        assert!(recognize(some).is_some(), "some of its columns");
        let other: &[&[u8]] = &[b"#Fields: cs-uri\tsc-status", b"/a%2520b\t200"];
        assert!(recognize(other).is_none(), "columns of others");
        let tabbed = super::super::w3c::recognize(other).unwrap();
        let (parsed, found) = parse(&*tabbed, other[1]);
        assert_eq!((parsed, found.target), (Parsed::Record, &b"/a%2520b"[..]));
        assert_eq!((found.escapes, found.fields.status), (Escapes::None, &b"200"[..]));
    }

    #[test]
    fn a_part_of_a_log_has_no_header() {
        let row = |columns: usize| {
            let cells = "2026-11-28 09:43:06 FRA2-C1 124 192.0.2.1 GET d1.cloudfront.test /a 200 \
                http://b.test/ Mozilla c=1 - Hit id== www.a.test https 9 0.1 - TLS AES Hit HTTP/2 - - \
                5 0.1 Hit text/html 1 - -";
            cells.split_whitespace().take(columns).collect::<Vec<_>>().join("\t")
        };
        for (columns, host) in [(12, "d1.cloudfront.test"), (24, "www.a.test"), (33, "www.a.test")]
        {
            let row = row(columns);
            let format = recognize(&[row.as_bytes()]).expect("a row of a standard log");
            let (parsed, found) = parse(&*format, row.as_bytes());
            assert_eq!(parsed, Parsed::Record);
            assert_eq!((found.host, found.target), (host.as_bytes(), &b"/a"[..]), "{columns}");
            assert_eq!((found.query, found.fields.status), (&b"c=1"[..], &b"200"[..]));
        }
        for wrong in [
            row(11),
            row(33) + "\tmore",
            row(33).replace("/a\t", "a\t"),
            row(33).replace("200", "-"),
            row(33).replace("09:", "9:"),
        ] {
            assert!(recognize(&[wrong.as_bytes()]).is_none(), "{wrong}");
        }
    }

    #[test]
    fn the_sample() {
        let sample = samples::sample("cloudfront.tsv");
        let urls = samples::sample_urls(&sample, recognize);
        assert_eq!(
            urls,
            [
                "GET https://www.a.test /index.html ? 200",
                "GET https://www.a.test /search ?q=red%20shoes&page=2 200",
                "GET https://www.a.test /search ?page=2&q=red%20shoes 200",
                "GET http://a.test /img/logo.png ? 304",
                "HEAD https://www.a.test /docs/a%20b.pdf ? 404",
            ]
        );
    }
}
