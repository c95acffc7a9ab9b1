//! What the parser of a format finds in a line.

use super::fields::request;
use crate::reject::Reject;

/// The parts of a record, as they stand in its line: slices of it, escapes and all. What is empty
/// is not there; a format's own sign for that (`-`, mostly) is not handed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found<'a> {
    /// The URL, or the target of a request: absolute (`http://a.test/b`) or a path (`/b?c`).
    pub target: &'a [u8],
    /// What a target is that is a path.
    pub path: PathKind,
    /// The query without its `?`, where it stands apart from the target.
    pub query: &'a [u8],
    /// `http` or `https`, where a path needs one.
    pub scheme: &'a [u8],
    /// The host, with its port where it stands with it, for targets that are paths.
    pub host: &'a [u8],
    /// The port, where it stands apart from the host.
    pub port: &'a [u8],
    /// How these and the fields below are escaped.
    pub escapes: Escapes,
    /// What is known beside the URL.
    pub fields: Fields<'a>,
}

impl<'a> Found<'a> {
    /// Adds `query`, which stands apart from the target, with its `?` or without one. The target is
    /// a path alone then. Behind another query, or behind the fragment of a URL, stands none.
    #[inline]
    pub(super) fn add_query(&mut self, query: &'a [u8]) {
        let is_path = self.target.first() == Some(&b'/');
        let is_whole = self.target.contains(&b'?') || !is_path && self.target.contains(&b'#');
        if !is_whole {
            self.add_query_to_stem(query);
        }
    }

    /// The same, where the target is a path without its query, whatever is in it.
    #[inline]
    pub(super) fn add_query_to_stem(&mut self, query: &'a [u8]) {
        self.query = query.strip_prefix(b"?").unwrap_or(query);
        self.path = PathKind::Alone;
    }
}

/// What stands where the path of a request is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathKind {
    /// The path as it was requested, maybe with its query.
    #[default]
    Requested,
    /// The path alone: no `?` in it begins a query, and no `#` a fragment.
    Alone,
    /// The path alone, as a server has decoded it: nor does a percent sign begin an escape.
    Decoded,
}

/// What a record says beside its URL; empty where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a> {
    /// The method of the request, `GET`.
    pub method: &'a [u8],
    /// The status of the answer, three digits.
    pub status: &'a [u8],
    /// Bytes of the answer, in decimal digits.
    pub size: &'a [u8],
    /// What stands for the content: a digest, with or without its algorithm in front.
    pub digest: &'a [u8],
    /// The media type, with or without parameters.
    pub mime: &'a [u8],
    /// When, in one of the spellings of `time::parse`.
    pub time: &'a [u8],
    /// The time of day, where `time` is a date alone.
    pub clock: &'a [u8],
    /// Where the answer leads to.
    pub redirect: &'a [u8],
    /// The URL whose answer has led here, where this line is about the answer behind it.
    pub redirected_from: &'a [u8],
    /// What the page says is its URL: its link of the relation `canonical` (RFC 6596).
    pub canonical_link: &'a [u8],
    /// The page that has led here.
    pub referrer: &'a [u8],
    /// The user agent.
    pub agent: &'a [u8],
    /// How the text fields are escaped; see `Escapes::undo`.
    pub escapes: Escapes,
}

impl Fields<'_> {
    /// Nothing is known.
    pub const NONE: Fields<'static> = Fields {
        method: b"",
        status: b"",
        size: b"",
        digest: b"",
        mime: b"",
        time: b"",
        clock: b"",
        redirect: b"",
        redirected_from: b"",
        canonical_link: b"",
        referrer: b"",
        agent: b"",
        escapes: Escapes::None,
    };
}

impl<'a> Fields<'a> {
    /// Adds `day`, a date that stands apart from the time: it counts where that is a time of day
    /// alone, or missing.
    #[inline]
    pub(super) fn add_day(&mut self, day: &'a [u8]) {
        if self.time.is_empty() {
            self.time = day;
        } else if !day.is_empty() && self.time.get(2) == Some(&b':') {
            self.clock = self.time;
            self.time = day;
        }
    }
}

/// How text is escaped in the fields of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Escapes {
    /// No escapes.
    #[default]
    None,
    /// The escapes of Apache and nginx in quotes: `\"`, `\\`, `\xHH`, `\t` and other letters of C.
    Backslash,
    /// The escapes of JSON strings (RFC 8259 section 7).
    Json,
    /// The escapes of HAProxy: `#` and two hex digits.
    Hash,
    /// Two quotes for one, as in CSV (RFC 4180).
    Quotes,
    /// The escapes of CloudFront in user agents: percent and two hex digits, the percent sign
    /// escaped once more or not; in no URL.
    PercentText,
    /// The escapes of CloudFront in URLs: `%25` for each percent sign, so `%2520` for `%20`. A
    /// `%25` that no two hex digits follow stays, since a percent sign alone is none of a URL.
    PercentSign,
}

/// What a line is to the parser of its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A record; its parts have been found.
    Record,
    /// A header, a directive or a comment of the format.
    Comment,
    /// No record, and why.
    Reject(Reject),
}

impl Parsed {
    /// Returns what a line is whose `method` and `target`, which is not empty, stand apart.
    #[inline]
    pub(crate) fn of_request(method: &[u8], target: &[u8]) -> Parsed {
        request::refusal(method, target).map_or(Parsed::Record, Parsed::Reject)
    }
}
