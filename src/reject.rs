//! Why a line or a URL could not be given the full treatment, as one byte.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::limits::URL_BYTES_MAX;

/// A line without a record, or a URL that stays as it is. Counted by kind, never silent.
///
/// The kinds up to [`Reject::NoUrl`] lose the line (there is nothing to print); the others only
/// lose the normalization: the line passes verbatim and merges with byte-equal lines only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Reject {
    /// The line is longer than the line limit.
    LineTooLong,
    /// The line does not have the shape of its format.
    Format,
    /// The request is empty, as a server writes it when a client hangs up.
    NoRequest,
    /// The request is no `METHOD target PROTOCOL`: bytes of TLS, say, or the preface of HTTP/2.
    BadRequest,
    /// The request is for a tunnel, not for a page: `CONNECT`.
    NoPage,
    /// The field of the URL is missing or empty.
    NoUrl,
    /// The target is `*`, which stands for the server and for no page of it (RFC
    /// 9112 section 3.2.4).
    Asterisk,
    /// No scheme, and nothing that looks like a host in front.
    Relative,
    /// The host is missing where the scheme needs one.
    NoHost,
    /// The host holds a forbidden character, is not valid IDNA, or is no address where it must be
    /// one.
    Host,
    /// The port is not a number from 0 to 65,535.
    Port,
    /// The URL is longer than [`URL_BYTES_MAX`].
    UrlTooLong,
    /// The URL did not settle within [`RULE_STEPS_MAX`](crate::limits::RULE_STEPS_MAX) rule
    /// applications.
    Unstable,
}

impl Reject {
    /// Every kind, in the order of the counters.
    pub const ALL: [Reject; 13] = [
        Reject::LineTooLong,
        Reject::Format,
        Reject::NoRequest,
        Reject::BadRequest,
        Reject::NoPage,
        Reject::NoUrl,
        Reject::Asterisk,
        Reject::Relative,
        Reject::NoHost,
        Reject::Host,
        Reject::Port,
        Reject::UrlTooLong,
        Reject::Unstable,
    ];

    /// The name in reports: lower case, joined by hyphens.
    pub fn name(self) -> &'static str {
        match self {
            Reject::LineTooLong => "line-too-long",
            Reject::Format => "not-format",
            Reject::NoRequest => "no-request",
            Reject::BadRequest => "bad-request",
            Reject::NoPage => "no-page",
            Reject::NoUrl => "no-url",
            Reject::Asterisk => "asterisk",
            Reject::Relative => "relative",
            Reject::NoHost => "no-host",
            Reject::Host => "bad-host",
            Reject::Port => "bad-port",
            Reject::UrlTooLong => "url-too-long",
            Reject::Unstable => "unstable",
        }
    }

    /// One sentence for people, without a final period.
    pub fn explain(self) -> &'static str {
        match self {
            Reject::LineTooLong => "the line is longer than the line limit",
            Reject::Format => "the line does not have the shape of its format",
            Reject::NoRequest => "the request is empty",
            Reject::BadRequest => {
                "the request is not one for a page: a method, a target and a protocol"
            }
            Reject::NoPage => "the request is for a tunnel, not for a page, as in CONNECT",
            Reject::NoUrl => "the field of the URL is missing or empty",
            Reject::Asterisk => {
                "the target is *, which stands for the server and for no page of it"
            }
            Reject::Relative => {
                "there is no scheme, and none is added: there is no host in front, or the profile adds \
                 none (default-scheme)"
            }
            Reject::NoHost => "the host is missing",
            Reject::Host => "the host is neither a valid name nor a valid address",
            Reject::Port => "the port is not a number from 0 to 65535",
            Reject::UrlTooLong => {
                const { assert!(URL_BYTES_MAX == 65536, "the text below names it") };
                "the URL is longer than 65536 bytes, so it is taken as it is"
            }
            Reject::Unstable => "the rules did not settle on one spelling",
        }
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::error::Error for Reject {}

/// How often each kind of [`Reject`] was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectCounts([u64; Reject::ALL.len()]);

impl RejectCounts {
    /// Counts one more of `kind`.
    pub fn add(&mut self, kind: Reject) {
        self.0[kind as usize] += 1;
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &RejectCounts) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// How many of `kind`.
    pub fn of(&self, kind: Reject) -> u64 {
        self.0[kind as usize]
    }

    /// Returns how many there are of any kind.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the kinds that were seen, with their counts, in the order of [`Reject::ALL`].
    pub fn seen(&self) -> impl Iterator<Item = (Reject, u64)> + '_ {
        Reject::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }
}

/// Writes a map of the kinds that were seen, by name.
impl Serialize for RejectCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.seen().map(|(kind, count)| (kind.name(), count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_in_counter_order() {
        for (at, kind) in Reject::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, at, "{kind}");
        }
    }
}
