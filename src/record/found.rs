//! What the parser of a format finds in a line.

use super::fields::escapes::Escapes;
use super::fields::request;
use crate::reject::Reject;

/// The parts of a record: slices of its line, with their escapes. Parts that the line does not have
/// are empty, also where the format has a sign for that (mostly `-`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found<'a> {
    /// The URL, or the target of a request: absolute (`http://a.test/b`) or a path (`/b?c`).
    pub target: &'a [u8],
    /// How to read a target that is a path.
    pub path: PathKind,
    /// The query without its `?`, where it is separate from the target.
    pub query: &'a [u8],
    /// `http` or `https`, for targets that are paths.
    pub scheme: &'a [u8],
    /// The host, with its port if that is in the same field, for targets that are paths.
    pub host: &'a [u8],
    /// The port, where it is separate from the host.
    pub port: &'a [u8],
    /// How these parts are escaped.
    pub escapes: Escapes,
    /// What is known besides the URL.
    pub fields: Fields<'a>,
}

impl<'a> Found<'a> {
    /// Adds `query`, which is separate from the target, with its `?` or without. The target then is
    /// the path alone. If the target has a query or a fragment already, nothing is added.
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

/// How the path of a request was logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathKind {
    /// The path as it was requested, maybe with its query.
    #[default]
    Requested,
    /// The path alone: no `?` in it begins a query, and no `#` a fragment.
    Alone,
    /// The path alone, as decoded by a server: a percent sign does not begin an escape either.
    Decoded,
}

/// What a record says besides its URL; empty where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields<'a> {
    /// The method of the request, `GET`.
    pub method: &'a [u8],
    /// The status of the response, three digits.
    pub status: &'a [u8],
    /// Bytes of the response, in decimal digits.
    pub size: &'a [u8],
    /// The digest of the content, with or without a prefix for its algorithm.
    pub digest: &'a [u8],
    /// The media type, with or without parameters.
    pub mime: &'a [u8],
    /// The time, in one of the spellings of `time::parse`.
    pub time: &'a [u8],
    /// The time of day, where `time` is a date alone.
    pub clock: &'a [u8],
    /// The target of the redirect.
    pub redirect: &'a [u8],
    /// The URL that redirected to this one, where the line is about the redirected request.
    pub redirected_from: &'a [u8],
    /// The page's own link of the relation `canonical` (RFC 6596).
    pub canonical_link: &'a [u8],
    /// The page that linked here.
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
    /// Adds `day`, a date that is separate from the time: it is used if the time is only a time of
    /// day, or missing.
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

/// What a line is to the parser of its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A record, whose parts were found.
    Record,
    /// A header, a directive or a comment of the format.
    Comment,
    /// No record, and why.
    Reject(Reject),
}

impl Parsed {
    /// Returns what a line is that has its `method` and `target` in separate fields. `target` is
    /// not empty.
    #[inline]
    pub(crate) fn of_request(method: &[u8], target: &[u8]) -> Parsed {
        request::refusal(method, target).map_or(Parsed::Record, Parsed::Reject)
    }
}
