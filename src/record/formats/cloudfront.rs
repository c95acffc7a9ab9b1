//! Standard logs of Amazon CloudFront: the header of W3C logs, columns parted by tabs.

use std::sync::Arc;

use super::extended::{Dialect, Extended, HEADER};
use crate::record::{Escapes, LineFormat};

/// Logs of CloudFront.
///
/// - Shape: `-` is nothing. The host is that of the viewer's request (`x-host-header`), or that of
///   the distribution where the log is too old for it. User agents are escaped with percent signs,
///   once or twice. In URLs each percent sign of the request is written `%25`.
/// - Source: Amazon CloudFront Developer Guide, "Standard logging reference", and "Standard log
///   file format" for the escapes.
static CLOUDFRONT: Dialect = Dialect {
    name: "cloudfront",
    separator: b'\t',
    url_escapes: Escapes::PercentSign,
    text_escapes: Escapes::PercentText,
};

/// The format of the first header in `lines`, if it names a column of CloudFront's own or tabs are
/// in the line behind it.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    let at = lines.iter().position(|line| line.starts_with(HEADER))?;
    let header = lines[at];
    let has_own = [&b"x-edge-"[..], b"x-host-header"]
        .iter()
        .any(|name| memchr::memmem::find(header, name).is_some());
    let is_tabbed = match lines[at + 1..].iter().find(|line| !line.starts_with(b"#")) {
        Some(line) => line.contains(&b'\t'),
        None => has_own,
    };
    let format = Extended::new(header, &CLOUDFRONT)?;
    (is_tabbed && format.has_target()).then(|| Arc::new(format) as _)
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
