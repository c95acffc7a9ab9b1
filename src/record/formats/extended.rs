//! Logs whose header names the columns: shared by W3C logs and those of CloudFront.
//!
//! HOT: once per line. Price: one pass; no allocation.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::record::{Escapes, Found, LineFormat, Parsed, PathKind};
use crate::reject::Reject;

/// How a header starts: a line that names the columns of the following lines.
pub(crate) const HEADER: &[u8] = b"#Fields:";

/// The field of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Skip,
    /// A whole URL, or a path with its query.
    Uri,
    Stem,
    Query,
    Scheme,
    Host,
    /// A host to use if `Host` is missing, such as that of the distribution.
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

/// Fields of columns by their names in headers, which are compared without case.
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

/// How the formats with such headers differ.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// The name of the format.
    pub(crate) name: &'static str,
    /// The separator of columns.
    pub(crate) separator: u8,
    /// How URLs are escaped, beyond the percent signs of URLs.
    pub(crate) url_escapes: Escapes,
    /// How other values are escaped.
    pub(crate) text_escapes: Escapes,
}

/// A log of some dialect, with the columns of its last header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extended {
    dialect: &'static Dialect,
    slots: Vec<Slot>,
    /// How to read a stem.
    stem: PathKind,
    /// The names of the columns that are read, and their numbers, for people.
    description: String,
}

impl Extended {
    /// The format of the lines after `header`, which starts with [`HEADER`]; `None` if it does not.
    pub(crate) fn new(header: &[u8], dialect: &'static Dialect) -> Option<Extended> {
        let names = header.strip_prefix(HEADER)?;
        let mut description = String::new();
        let mut slots = Vec::new();
        for name in names.split(u8::is_ascii_whitespace).filter(|name| !name.is_empty()) {
            let known = NAMES.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
            // Of a repeated column only the first is read, so that a row does not overwrite itself.
            let known = known.filter(|(_, slot)| !slots.contains(slot));
            if let Some((name, _)) = known {
                let gap = if description.is_empty() { "" } else { ", " };
                let _ = write!(description, "{gap}{name} {}", slots.len() + 1);
            }
            slots.push(known.map_or(Slot::Skip, |(_, slot)| *slot));
        }
        let has_query = slots.contains(&Slot::Query);
        let stem = if has_query { PathKind::Alone } else { PathKind::Requested };
        Some(Extended { dialect, slots, stem, description })
    }

    /// Is there a column of URLs?
    pub(crate) fn has_target(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot, Slot::Uri | Slot::Stem))
    }

    /// The parts of `line`, in one pass. A quote that nothing closes, at `open`, is text.
    #[inline]
    fn columns<'a>(&self, line: &'a [u8], open: Option<usize>, found: &mut Found<'a>) -> Parsed {
        if line.first() == Some(&b'#') {
            return Parsed::Comment;
        }
        let line = line.strip_suffix(b" ").unwrap_or(line);
        let mut stem: &[u8] = b"";
        let mut inner_host: &[u8] = b"";
        let mut slots = self.slots.iter();
        let mut start = 0;
        let ends =
            memchr::memchr_iter(self.dialect.separator, line).chain(std::iter::once(line.len()));
        for end in ends {
            let mut value = &line[start..end];
            if let [b'"', rest @ ..] = value
                && Some(start) != open
            {
                // A closing quote is followed by a separator or the end of the line; two quotes
                // stand for one (WD-logfile, "string").
                match rest {
                    [inner @ .., b'"'] if !ends_with_half_a_pair(inner) => value = inner,
                    // The later ones are not closed either.
                    _ if open.is_some_and(|open| open < start) => {}
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
                // Some proxies log the query with its question mark.
                Slot::Query => found.query = value.strip_prefix(b"?").unwrap_or(value),
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
        if start <= line.len() && open.is_none() {
            *found = Found::default();
            return self.columns(line, Some(start), found);
        }
        if slots.next().is_some() || start <= line.len() {
            return Parsed::Reject(Reject::Format);
        }
        found.escapes = self.dialect.url_escapes;
        found.fields.escapes = self.dialect.text_escapes;
        self.finish(stem, inner_host, found)
    }

    /// Completes a record from all columns of its line.
    #[inline]
    fn finish<'a>(&self, stem: &'a [u8], inner_host: &'a [u8], found: &mut Found<'a>) -> Parsed {
        if found.target.is_empty() {
            found.target = stem;
            found.path = self.stem;
        } else {
            // A whole URL includes its query.
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
            (target, method) => Parsed::of_request(method, target),
        }
    }
}

impl LineFormat for Extended {
    fn name(&self) -> &'static str {
        self.dialect.name
    }

    fn describe(&self) -> String {
        self.description.clone()
    }

    #[inline]
    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        self.columns(line, None, found)
    }

    fn with_header(&self, line: &[u8]) -> Option<Arc<dyn LineFormat>> {
        Extended::new(line, self.dialect).map(|format| Arc::new(format) as _)
    }

    fn header_prefix(&self) -> &'static [u8] {
        HEADER
    }

    // Servers write one whenever they start, or are told to log other columns.
    fn columns_may_change(&self) -> bool {
        true
    }
}

/// Is the quote after `inner` the second of a pair? Adjacent quotes are paired from the left.
fn ends_with_half_a_pair(inner: &[u8]) -> bool {
    inner.iter().rev().take_while(|byte| **byte == b'"').count() % 2 == 1
}

/// The scheme of URLs for `protocol`: web sockets get that of pages.
fn scheme(protocol: &[u8]) -> &[u8] {
    match protocol {
        b"ws" => b"http",
        b"wss" => b"https",
        protocol => protocol,
    }
}
