//! W3C extended logs, as IIS and proxies write them: a header names the columns.
//!
//! HOT: once per line. Price: one pass; no allocation.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::record::{Escapes, Found, LineFormat, Parsed};
use crate::reject::Reject;

/// How the line starts that names the columns of those that follow.
pub(super) const HEADER: &[u8] = b"#Fields:";

/// A W3C extended log with the columns of its last header.
///
/// - Shape: columns are parted by one blank; a value with blanks is in quotes. `-` is nothing. In
///   values of IIS a `+` is a blank; it stays.
/// - Source: W3C working draft "Extended Log File Format" (WD-logfile); the manual of IIS.
#[derive(Clone, Debug)]
pub(crate) struct W3c(Columns);

impl W3c {
    /// The format of the lines behind `header`, which starts with `#Fields:`; `None` if it does
    /// not.
    pub(crate) fn new(header: &[u8]) -> Option<W3c> {
        Columns::read(header, b' ', Escapes::None).map(W3c)
    }
}

/// The format of the first header in `lines` that names a column with a URL, if it is one of these
/// logs.
pub(crate) fn recognize(lines: &[&[u8]]) -> Option<Arc<dyn LineFormat>> {
    let header = lines.iter().find(|line| line.starts_with(HEADER))?;
    let format = W3c::new(header)?;
    let is_cloudfront = super::cloudfront::recognize(lines).is_some();
    (format.0.has_target() && !is_cloudfront).then(|| Arc::new(format) as _)
}

impl LineFormat for W3c {
    fn name(&self) -> &'static str {
        "w3c"
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    #[inline]
    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        self.0.parse(line, found)
    }

    fn after(&self, line: &[u8]) -> Option<Arc<dyn LineFormat>> {
        W3c::new(line).map(|format| Arc::new(format) as _)
    }

    fn header_prefix(&self) -> &'static [u8] {
        HEADER
    }
}

/// What a column says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Skip,
    /// A whole URL, or a path with its query.
    Uri,
    Stem,
    Query,
    Scheme,
    Host,
    /// A host that is of use where the first is missing: that of the distribution, say.
    InnerHost,
    Port,
    Method,
    Status,
    Size,
    Mime,
    Time,
    Clock,
    Redirect,
    Referrer,
    Agent,
}

/// Columns by their names in headers; names are compared without case.
const NAMES: [(&str, Slot); 29] = [
    ("cs-uri", Slot::Uri),
    ("cs-uri-stem", Slot::Stem),
    ("cs-uri-path", Slot::Stem),
    ("cs-uri-query", Slot::Query),
    ("cs-uri-scheme", Slot::Scheme),
    ("cs-protocol", Slot::Scheme),
    ("x-host-header", Slot::Host),
    ("cs-host", Slot::Host),
    ("cs-uri-host", Slot::Host),
    ("cs(Host)", Slot::InnerHost),
    ("s-port", Slot::Port),
    ("cs-uri-port", Slot::Port),
    ("cs-method", Slot::Method),
    ("sc-status", Slot::Status),
    ("sc-bytes", Slot::Size),
    ("sc-content-type", Slot::Mime),
    ("rs(Content-Type)", Slot::Mime),
    ("sc(Content-Type)", Slot::Mime),
    ("date", Slot::Time),
    ("timestamp", Slot::Time),
    ("x-timestamp", Slot::Time),
    ("time", Slot::Clock),
    ("rs(Location)", Slot::Redirect),
    ("sc(Location)", Slot::Redirect),
    ("cs(Referer)", Slot::Referrer),
    ("cs(Referrer)", Slot::Referrer),
    ("cs(User-Agent)", Slot::Agent),
    ("cs-user-agent", Slot::Agent),
    ("c-agent", Slot::Agent),
];

/// The columns that a header names, for all formats with such headers.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    slots: Vec<Slot>,
    separator: u8,
    /// How values that are no URLs are escaped.
    escapes: Escapes,
    /// The names of the columns that are read, and their numbers, for people.
    description: String,
}

impl Columns {
    /// What `header` says, if it is one.
    pub(super) fn read(header: &[u8], separator: u8, escapes: Escapes) -> Option<Columns> {
        let names = header.strip_prefix(HEADER)?;
        let mut description = String::new();
        let mut slots = Vec::new();
        for name in names.split(u8::is_ascii_whitespace).filter(|name| !name.is_empty()) {
            let known = NAMES.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
            // A column that comes twice is read once: a row shall not overwrite itself.
            let known = known.filter(|(_, slot)| !slots.contains(slot));
            if let Some((name, _)) = known {
                let gap = if description.is_empty() { "" } else { ", " };
                let _ = write!(description, "{gap}{name} {}", slots.len() + 1);
            }
            slots.push(known.map_or(Slot::Skip, |(_, slot)| *slot));
        }
        Some(Columns { slots, separator, escapes, description })
    }

    /// Does a column have URLs?
    pub(super) fn has_target(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot, Slot::Uri | Slot::Stem))
    }

    /// The columns that are read, for people.
    pub(super) fn describe(&self) -> String {
        self.description.clone()
    }

    #[inline]
    pub(super) fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        if line.first() == Some(&b'#') {
            return Parsed::Comment;
        }
        let line = line.strip_suffix(b" ").unwrap_or(line);
        let mut stem: &[u8] = b"";
        let mut inner_host: &[u8] = b"";
        let mut slots = self.slots.iter();
        let mut start = 0;
        let ends = memchr::memchr_iter(self.separator, line).chain(std::iter::once(line.len()));
        for end in ends {
            let mut value = &line[start..end];
            if let [b'"', rest @ ..] = value {
                // Quotes end where a separator follows, or the line.
                match rest {
                    [inner @ .., b'"'] => value = inner,
                    _ => continue,
                }
            }
            start = end + 1;
            let Some(slot) = slots.next() else { return Parsed::Reject(Reject::Format) };
            if *slot == Slot::Skip || value == b"-" {
                continue;
            }
            let fields = &mut found.fields;
            match slot {
                Slot::Skip => continue,
                Slot::Uri => found.target = value,
                Slot::Stem => stem = value,
                Slot::Query => found.query = value,
                Slot::Scheme => found.scheme = scheme(value),
                Slot::Host => found.host = value,
                Slot::InnerHost => inner_host = value,
                Slot::Port => found.port = value,
                Slot::Method => fields.method = value,
                Slot::Status => fields.status = value,
                Slot::Size => fields.size = value,
                Slot::Mime => fields.mime = value,
                Slot::Time => fields.time = value,
                Slot::Clock => fields.clock = value,
                Slot::Redirect => fields.redirect = value,
                Slot::Referrer => fields.referrer = value,
                Slot::Agent => fields.agent = value,
            }
        }
        if slots.next().is_some() || start <= line.len() {
            return Parsed::Reject(Reject::Format);
        }
        found.fields.escapes = self.escapes;
        self.finish(stem, inner_host, found)
    }

    /// What follows from all columns together.
    #[inline]
    fn finish<'a>(&self, stem: &'a [u8], inner_host: &'a [u8], found: &mut Found<'a>) -> Parsed {
        if found.target.is_empty() {
            found.target = stem;
        } else {
            // The whole URL has its query.
            found.query = b"";
        }
        if found.host.is_empty() {
            found.host = inner_host;
        }
        if found.scheme.is_empty() {
            found.scheme = match found.port {
                b"443" => b"https",
                b"80" => b"http",
                _ => b"",
            };
        }
        if found.fields.time.is_empty() {
            found.fields.clock = b"";
        }
        match (found.target, found.fields.method) {
            (b"", b"") => Parsed::Reject(Reject::NoRequest),
            (b"", _) => Parsed::Reject(Reject::NoUrl),
            (b"*", _) | (_, b"CONNECT") => Parsed::Reject(Reject::NoPage),
            _ => Parsed::Record,
        }
    }
}

/// The scheme of URLs behind `protocol`: that of pages for that of web sockets.
fn scheme(protocol: &[u8]) -> &[u8] {
    match protocol {
        b"ws" => b"http",
        b"wss" => b"https",
        protocol => protocol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::show;
    use crate::record::formats::samples;

    const FIELDS: &[u8] = b"#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port \
        cs-host cs(User-Agent) cs(Referer) sc-status sc-bytes";

    fn parse<'a>(format: &dyn LineFormat, line: &'a [u8]) -> (Parsed, Found<'a>) {
        let mut found = Found::default();
        (format.parse(line, &mut found), found)
    }

    #[test]
    fn records() {
        let format = W3c::new(FIELDS).unwrap();
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
        let time = crate::record::time::parse(fields.time, fields.clock);
        assert_eq!(time, Some(1_438_854_186));
    }

    #[test]
    fn what_is_not_said_is_empty() {
        let format = W3c::new(FIELDS).unwrap();
        let (parsed, found) = parse(&format, b"- 09:43:06 - GET / - - - - - - -");
        let expected = Found {
            target: b"/",
            fields: crate::record::Fields { method: b"GET", ..Default::default() },
            ..Default::default()
        };
        assert_eq!((parsed, found), (Parsed::Record, expected));
    }

    #[test]
    fn lines() {
        let format = W3c::new(b"#Fields: cs-method cs-uri-stem cs-uri-query sc-status ").unwrap();
        for (line, expected, why) in [
            (&b"GET / - 200"[..], Parsed::Record, "a page"),
            (b"GET / - 200 ", Parsed::Record, "a blank at the end"),
            (b"GET \"/a b\" - 200", Parsed::Record, "a value in quotes"),
            (b"#Date: 2015-08-01", Parsed::Comment, "a directive"),
            (FIELDS, Parsed::Comment, "a header"),
            (b"", Parsed::Reject(Reject::Format), "nothing"),
            (b"GET / -", Parsed::Reject(Reject::Format), "a column less"),
            (b"GET / - 200 1", Parsed::Reject(Reject::Format), "a column more"),
            (b"GET \"/a b - 200", Parsed::Reject(Reject::Format), "quotes that stay open"),
            (b"GET / - \"200", Parsed::Reject(Reject::Format), "quotes that stay open, at the end"),
            (b"- - - 400", Parsed::Reject(Reject::NoRequest), "no request"),
            (b"GET - - 400", Parsed::Reject(Reject::NoUrl), "no stem"),
            (b"OPTIONS * - 200", Parsed::Reject(Reject::NoPage), "no page"),
            (b"CONNECT a.test:443 - 200", Parsed::Reject(Reject::NoPage), "a tunnel"),
        ] {
            assert_eq!(parse(&format, line).0, expected, "{why}: {}", show(line));
        }
        assert_eq!(parse(&format, b"GET \"/a b\" - 200").1.target, b"/a b");
    }

    #[test]
    fn whole_urls_and_other_names() {
        let format = W3c::new(b"#Fields: time CS-URI cs-uri-query x-a cs(host) cs-uri-scheme");
        let (parsed, found) = parse(&format.unwrap(), b"- http://a.test/?b b z b.test wss");
        assert_eq!(parsed, Parsed::Record);
        assert_eq!((found.target, found.query), (&b"http://a.test/?b"[..], &b""[..]));
        assert_eq!((found.host, found.scheme), (&b"b.test"[..], &b"https"[..]));
    }

    #[test]
    fn headers_change_the_columns() {
        let format = W3c::new(FIELDS).unwrap();
        assert!(format.after(b"#Date: 2015-08-01").is_none());
        assert!(FIELDS.starts_with(format.header_prefix()));
        let next = format.after(b"#Fields: cs-uri-stem sc-status").unwrap();
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
        let format = W3c::new(FIELDS).unwrap();
        for unit in [&b" "[..], b"\" ", b"a ", b"\"", b"- "] {
            let line = unit.repeat(1 << 20);
            assert_eq!(parse(&format, &line).0, Parsed::Reject(Reject::Format));
        }
    }
}
