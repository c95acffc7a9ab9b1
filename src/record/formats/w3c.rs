//! W3C extended logs, as IIS and proxies write them: a header names the columns.

use std::sync::Arc;

use super::extended::{Dialect, Extended, HEADER};
use crate::record::{Escapes, LineFormat};

/// W3C extended logs.
///
/// - Shape: columns are separated by one blank; a value with blanks is in quotes, within which two
///   quotes stand for one. A quote that is never closed is text. `-` means empty. In values of IIS
///   a `+` is a blank; it stays.
/// - Source: W3C working draft "Extended Log File Format" (WD-logfile); the manual of IIS.
static W3C: Dialect = Dialect {
    name: "w3c",
    separator: b' ',
    url_escapes: Escapes::None,
    text_escapes: Escapes::None,
};

/// W3C extended logs with tabs between columns, as some proxies have it.
static TABBED: Dialect = Dialect { separator: b'\t', ..W3C };

/// Recognizes these logs by the first header in `lines` that names a column with a URL, and returns
/// the format of that header.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    let at = lines.iter().position(|line| line.starts_with(HEADER))?;
    let row = lines[at + 1..].iter().find(|line| !line.starts_with(b"#"));
    let is_tabbed = row.is_some_and(|row| row.contains(&b'\t'));
    let format = Extended::new(lines[at], if is_tabbed { &TABBED } else { &W3C })?;
    let is_cloudfront = super::cloudfront::recognize(lines).is_some();
    (format.has_target() && !is_cloudfront).then(|| Arc::new(format) as _)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::show;
    use crate::record::formats::samples;
    use crate::record::{Found, Parsed, PathKind};
    use crate::reject::Reject;

    const FIELDS: &[u8] = b"#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port \
        cs-host cs(User-Agent) cs(Referer) sc-status sc-bytes";

    fn w3c(header: &[u8]) -> Option<Extended> {
        Extended::new(header, &W3C)
    }

    fn parse<'a>(format: &dyn LineFormat, line: &'a [u8]) -> (Parsed, Found<'a>) {
        let mut found = Found::default();
        (format.parse(line, &mut found), found)
    }

    #[test]
    fn records() {
        let format = w3c(FIELDS).unwrap();
        let line =
            b"2015-08-06 09:43:06 10.9.9.9 GET /a.aspx id=1&b=2 443 a.test Mozilla/5.0+(X11) \
            https://a.test/ 200 124";
        let (parsed, found) = parse(&format, line);
        assert_eq!(parsed, Parsed::Record);
        assert_eq!((found.target, found.query), (&b"/a.aspx"[..], &b"id=1&b=2"[..]));
        assert_eq!((found.scheme, found.host), (&b"https"[..], &b"a.test"[..]));
        assert_eq!(found.port, b"443");
        let fields = found.fields;
        assert_eq!((fields.time, fields.clock), (&b"2015-08-06"[..], &b"09:43:06"[..]));
        assert_eq!((fields.method, fields.status), (&b"GET"[..], &b"200"[..]));
        assert_eq!((fields.size, fields.agent), (&b"124"[..], &b"Mozilla/5.0+(X11)"[..]));
        assert_eq!(fields.referrer, b"https://a.test/");
        let time = crate::record::fields::time::parse(fields.time, fields.clock);
        assert_eq!(time, Some(1_438_854_186));
    }

    #[test]
    fn what_is_not_said_is_empty() {
        let format = w3c(FIELDS).unwrap();
        let (parsed, found) = parse(&format, b"- 09:43:06 - GET / - - - - - - -");
        let expected = Found {
            target: b"/",
            path: PathKind::Alone,
            fields: crate::record::Fields { method: b"GET", ..Default::default() },
            ..Default::default()
        };
        assert_eq!((parsed, found), (Parsed::Record, expected));
    }

    #[test]
    fn lines() {
        let format = w3c(b"#Fields: cs-method cs-uri-stem cs-uri-query sc-status ").unwrap();
        for (line, expected, why) in [
            (&b"GET / - 200"[..], Parsed::Record, "a page"),
            (b"GET / - 200 ", Parsed::Record, "a blank at the end"),
            (b"GET \"/a b\" - 200", Parsed::Record, "a value in quotes"),
            (b"#Date: 2015-08-01", Parsed::Comment, "a directive"),
            (FIELDS, Parsed::Comment, "a header"),
            (b"", Parsed::Reject(Reject::Format), "nothing"),
            (b"GET / -", Parsed::Reject(Reject::Format), "a column less"),
            (b"GET / - 200 1", Parsed::Reject(Reject::Format), "a column more"),
            (b"GET \"/a \"\"b c\"\" d\" - 200", Parsed::Record, "quotes in quotes"),
            (b"GET \"/a \"\"b\"\"\" - 200", Parsed::Record, "quotes at the end of quotes"),
            (b"GET \"/a \"\"b\"\" - 200", Parsed::Reject(Reject::Format), "a pair closes nothing"),
            (b"GET \"/a b - 200", Parsed::Reject(Reject::Format), "quotes that stay open"),
            (b"GET / - \"200", Parsed::Record, "a quote that nothing closes"),
            (b"GET /a \"q=1 200", Parsed::Record, "the same before others"),
            (b"GET \"/a b\" \"c 200", Parsed::Record, "one of both"),
            (b"GET \"/a b\" \"c d 200", Parsed::Reject(Reject::Format), "a column more"),
            (b"GET /a \"b 200\"", Parsed::Reject(Reject::Format), "a line that is cut short"),
            (b"GET \"/a \"b \"c", Parsed::Record, "several"),
            (b"- - - 400", Parsed::Reject(Reject::NoRequest), "no request"),
            (b"GET - - 400", Parsed::Reject(Reject::NoUrl), "no stem"),
            (b"OPTIONS * - 200", Parsed::Record, "the server as a whole"),
            (b"CONNECT a.test:443 - 200", Parsed::Reject(Reject::NoPage), "a tunnel"),
            (b"PRI * - 400", Parsed::Reject(Reject::BadRequest), "the preface of HTTP/2"),
        ] {
            assert_eq!(parse(&format, line).0, expected, "{why}: {}", show(line));
        }
        assert_eq!(parse(&format, b"GET \"/a b\" - 200").1.target, b"/a b");
        let found = parse(&format, b"GET \"/a\" \"q=1 200").1;
        assert_eq!((found.target, found.query), (&b"/a"[..], &b"\"q=1"[..]));
        assert_eq!(found.fields.status, b"200");
        assert_eq!(parse(&format, b"GET /a ?q=1 200").1.query, b"q=1");
    }

    #[test]
    fn whole_urls_and_other_names() {
        let format = w3c(b"#Fields: time CS-URI cs-uri-query x-a cs(host) cs-uri-scheme");
        let (parsed, found) = parse(&format.unwrap(), b"- http://a.test/?b b z b.test wss");
        assert_eq!(parsed, Parsed::Record);
        assert_eq!((found.target, found.query), (&b"http://a.test/?b"[..], &b""[..]));
        assert_eq!((found.host, found.scheme), (&b"b.test"[..], &b"https"[..]));
    }

    #[test]
    fn headers_change_the_columns() {
        let format = w3c(FIELDS).unwrap();
        assert!(format.with_header(b"#Date: 2015-08-01").is_none());
        assert!(FIELDS.starts_with(format.header_prefix()));
        let next = format.with_header(b"#Fields: cs-uri-stem sc-status").unwrap();
        let (parsed, found) = parse(&*next, b"/b 404");
        assert_eq!(
            (parsed, found.target, found.fields.status),
            (Parsed::Record, &b"/b"[..], &b"404"[..])
        );
        assert_eq!(next.describe(), "cs-uri-stem 1, sc-status 2");
    }

    #[test]
    fn recognizes() {
        let line = &b"GET / 200"[..];
        assert!(recognize(&[b"#Version: 1.0", b"#Fields: cs-method cs-uri-stem", line]).is_some());
        assert!(recognize(&[b"#Version: 1.0", b"#Fields: date time", line]).is_none());
        assert!(recognize(&[line]).is_none());
    }

    #[test]
    fn the_sample() {
        let sample = samples::sample("w3c.log");
        let urls = samples::sample_urls(&sample, recognize);
        assert_eq!(
            urls,
            [
                "GET /default.aspx ? 200",
                "GET /products.aspx ?id=17&ref=home 200",
                "GET /Products.aspx ?id=17 200",
                "POST /login.aspx ?returnUrl=%2fcart.aspx 302",
                "GET /cart.aspx ? 200",
                "GET /images/logo.png ? 304",
                "GET /old+page.asp ? 404",
            ]
        );
    }

    #[test]
    fn hostile_lines_are_linear() {
        let format = w3c(FIELDS).unwrap();
        samples::check_hostile(&["", "\"", "a "], &[" ", "\" ", "a ", "\"", "- "], |line| {
            assert_eq!(parse(&format, line).0, Parsed::Reject(Reject::Format));
        });
    }

    #[test]
    fn equal_formats_and_same_columns() {
        let of = |header: &[u8]| recognize(&[header]).unwrap();
        let format = of(b"#Fields: cs-uri-stem sc-status");
        for (other, is_equal, has_same_columns) in [
            (of(b"#Fields:  CS-uri-stem sc-status"), true, true),
            (of(b"#Fields: cs-uri-stem sc-status x-other"), false, true),
            (of(b"#Fields: sc-status cs-uri-stem"), false, false),
            (super::super::container_rows("w3c"), false, false),
        ] {
            assert_eq!(*format == *other, is_equal, "{other:?}");
            assert_eq!(format.same_columns(&*other), has_same_columns, "{other:?}");
        }
    }
}
