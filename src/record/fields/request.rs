//! HOT: once per line of a log. Splits the first line of a request.
//!
//! Price: a check of each byte of the method and of the last nine of the line; a search for the
//! last blank if these are not a protocol. Guard: `tests::agrees_with_words`, which splits at every
//! blank instead.

use memchr::{memchr, memrchr};

use crate::reject::Reject;

/// The parts of `METHOD target PROTOCOL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    /// The method as it was sent, in any case.
    pub(crate) method: &'a [u8],
    /// A path with its query, an absolute URL, or `*`. Never empty; blanks in it are kept.
    pub(crate) target: &'a [u8],
    /// `HTTP/` and a version; empty in HTTP/0.9, whose requests name none.
    pub(crate) protocol: &'a [u8],
}

/// Splits the first line of a request, as servers log it between quotes.
///
/// - Shape: the method ends at the first blank, the protocol starts after the last one. Between
///   them is the target, which may have blanks. Escapes of the log are left alone.
/// - Limits: linear in `request.len()`; no allocation.
/// - Failure: [`Reject::NoRequest`] if it is empty, `-`, or has `-` for its method;
///   [`Reject::NoPage`] for the method `CONNECT`; [`Reject::BadRequest`] for everything else that
///   does not have the shape, such as bytes of TLS (`\x16\x03`, raw or as the escape), or a target
///   that is neither a path nor an absolute URL nor `*`; and for the preface of HTTP/2, `PRI *`.
/// - Source: RFC 9112 sections 3 and 3.2; RFC 9110 section 5.6.2 for the bytes of a method; RFC
///   1945 section 4.1 for requests without a protocol.
#[inline]
pub(crate) fn split(request: &[u8]) -> Result<Request<'_>, Reject> {
    let Some(method_end) = request.iter().position(|byte| !IS_TOKEN[usize::from(*byte)]) else {
        return Err(if matches!(request, b"" | b"-") {
            Reject::NoRequest
        } else {
            Reject::BadRequest
        });
    };
    if method_end == 0 || request[method_end] != b' ' {
        return Err(no_method(request));
    }
    let (method, rest) = (&request[..method_end], &request[method_end + 1..]);
    let (target, protocol) = match rest.split_last_chunk::<9>() {
        // Bet: one digit, a dot, another digit, then the end, and no second blank.
        Some((target, last)) if last.starts_with(b" HTTP/") && is_plain(target) => {
            (target, &last[1..])
        }
        _ => split_slowly(rest),
    };
    if let Some(reject) = refusal(method, target) {
        return Err(reject);
    }
    if method == b"-" {
        return Err(Reject::NoRequest);
    }
    if target.is_empty() || !is_path_or_url(target) {
        return Err(Reject::BadRequest);
    }
    Ok(Request { method, target, protocol })
}

/// Why a request with this `method` and `target` is not for a page; `None` if it may be. `OPTIONS
/// *` is a request; `PRI *` is not, but the preface of HTTP/2 clients (RFC 9113 section 3.4), as
/// logged by servers that do not speak HTTP/2.
#[inline]
pub(crate) fn refusal(method: &[u8], target: &[u8]) -> Option<Reject> {
    match method {
        b"CONNECT" => Some(Reject::NoPage),
        b"PRI" if target == b"*" => Some(Reject::BadRequest),
        _ => None,
    }
}

/// Does `target` neither begin nor end with a blank?
#[inline]
fn is_plain(target: &[u8]) -> bool {
    matches!(target, [first, .., last] if *first > b' ' && *last > b' ')
        || matches!(target, [only] if *only > b' ')
}

/// Target and protocol of what follows a method.
#[cold]
fn split_slowly(rest: &[u8]) -> (&[u8], &[u8]) {
    let rest = rest.trim_ascii();
    if let Some(blank) = memrchr(b' ', rest) {
        let protocol = &rest[blank + 1..];
        if protocol.len() >= 5 && protocol[..5].eq_ignore_ascii_case(b"HTTP/") {
            return (rest[..blank].trim_ascii_end(), protocol);
        }
    }
    (rest, b"")
}

/// Why a line that does not start with a method is not a request.
#[cold]
fn no_method(request: &[u8]) -> Reject {
    if request.trim_ascii().is_empty() { Reject::NoRequest } else { Reject::BadRequest }
}

fn is_path_or_url(target: &[u8]) -> bool {
    target[0] == b'/'
        || target == b"*"
        || memchr(b':', target).is_some_and(|colon| {
            colon > 0
                && target[colon..].starts_with(b"://")
                && target[..colon].iter().all(u8::is_ascii_alphanumeric)
        })
}

/// The bytes of a token, RFC 9110 section 5.6.2.
static IS_TOKEN: [bool; 256] = {
    let mut is_token = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is_token[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let others = b"!#$%&'*+-.^_`|~";
    let mut at = 0;
    while at < others.len() {
        is_token[others[at] as usize] = true;
        at += 1;
    }
    is_token
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bytes::show;

    fn shown(request: &[u8]) -> String {
        match split(request) {
            Ok(Request { method, target, protocol }) => {
                format!("{}|{}|{}", show(method), show(target), show(protocol))
            }
            Err(reject) => reject.to_string(),
        }
    }

    #[test]
    fn table() {
        for (given, expected, why) in [
            (&b"GET /a?b HTTP/1.1"[..], "GET|/a?b|HTTP/1.1", "as it is sent"),
            (b"GET / HTTP/2", "GET|/|HTTP/2", "as some servers write it"),
            (b"GET / HTTP/1.10", "GET|/|HTTP/1.10", "two digits behind the dot"),
            (b"get / http/1.0", "get|/|http/1.0", "case is the client's"),
            (b"GET /a b c HTTP/1.1", "GET|/a b c|HTTP/1.1", "blanks belong to the target"),
            (
                b"GET /a HTTP/1.1 HTTP/1.1",
                "GET|/a HTTP/1.1|HTTP/1.1",
                "the last one is the protocol",
            ),
            (b"GET  /a  HTTP/1.1 ", "GET|/a|HTTP/1.1", "more blanks than there should be"),
            (b"GET /a", "GET|/a|", "HTTP/0.9"),
            (b"GET /a b", "GET|/a b|", "HTTP/0.9 with a blank"),
            (b"GET http://a.test/", "GET|http://a.test/|", "HTTP/0.9 by a proxy"),
            (b"GET http://a.test/b HTTP/1.1", "GET|http://a.test/b|HTTP/1.1", "absolute form"),
            (b"GET index.html HTTP/1.0", "bad-request", "neither a path nor a host"),
            (b"GET a.test:80 HTTP/1.0", "bad-request", "a host, and no tunnel"),
            (b"PROPFIND /dav/ HTTP/1.1", "PROPFIND|/dav/|HTTP/1.1", "any method"),
            (b"M-SEARCH /x HTTP/1.1", "M-SEARCH|/x|HTTP/1.1", "a hyphen is part of a token"),
            (b"", "no-request", "a client that hung up, by nginx"),
            (b"-", "no-request", "a client that hung up, by Apache"),
            (b"  ", "no-request", "blanks only"),
            (b"- - - ", "no-request", "TCP behind a load balancer"),
            (b"- http://a.test:80- -", "no-request", "what a load balancer could not read"),
            (b"OPTIONS * HTTP/1.0", "OPTIONS|*|HTTP/1.0", "the server as a whole"),
            (b"OPTIONS *", "OPTIONS|*|", "the server, without a protocol"),
            (b"CONNECT a.test:443 HTTP/1.1", "no-page", "a tunnel"),
            (b"CONNECT a.test:443", "no-page", "a tunnel without a protocol"),
            (b"\x16\x03\x01\x02", "bad-request", "TLS, raw"),
            (b"\\x16\\x03\\x01 x HTTP/1.1", "bad-request", "TLS, escaped"),
            (b"GET", "bad-request", "a method alone"),
            (b"GET ", "bad-request", "a method and a blank"),
            (b"GET  HTTP/1.1", "bad-request", "no target"),
            (b"GET HTTP/1.1", "bad-request", "no target, one blank"),
            (b" /a HTTP/1.1", "bad-request", "no method"),
            (b"t3 12.2.1", "bad-request", "another protocol"),
            (b"PRI * HTTP/2.0", "bad-request", "the preface of HTTP/2"),
            (b"PRI /a HTTP/1.1", "PRI|/a|HTTP/1.1", "a method, and nothing more"),
            (b"Gh0st\xad\x00", "bad-request", "another protocol, in bytes"),
            (b"http://a.test/ HTTP/1.1", "bad-request", "no method, but a URL"),
        ] {
            assert_eq!(shown(given), expected, "{}: {why}", show(given));
        }
    }

    /// Splits a request by words, for requests without odd blanks.
    fn by_words(request: &[u8]) -> Option<(Vec<u8>, Vec<u8>, Vec<u8>)> {
        let words: Vec<&[u8]> = request.split(|byte| *byte == b' ').collect();
        let (first, rest) = words.split_first()?;
        let (last, middle) = rest.split_last()?;
        let target = middle.join(&b' ');
        (last.to_ascii_uppercase().starts_with(b"HTTP/") && !target.is_empty())
            .then(|| (first.to_vec(), target, last.to_vec()))
    }

    proptest! {
        #[test]
        fn agrees_with_words(
            method in "[A-Z]{1,9}",
            target in "(a://|[/*])?[/a-z:?%*H]{0,4}( [/a-zHTP.1]{1,9}){0,3}",
            protocol in "(HTTP/[0-9.]{1,4}|http/1.1|[a-z]{1,5})",
        ) {
            let request = format!("{method} {target} {protocol}");
            prop_assume!(!request.contains("  "));
            let found = split(request.as_bytes());
            if let Some((method, target, protocol)) = by_words(request.as_bytes()) {
                let is_form = target.starts_with(b"/") || target == b"*" || {
                    let text = String::from_utf8_lossy(&target);
                    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
                    !scheme.is_empty() && scheme.chars().all(char::is_alphanumeric)
                };
                if let Some(reject) = refusal(&method, &target) {
                    prop_assert_eq!(found, Err(reject));
                } else if !is_form {
                    prop_assert_eq!(found, Err(Reject::BadRequest));
                } else {
                    let expected =
                        Request { method: &method, target: &target, protocol: &protocol };
                    prop_assert_eq!(found, Ok(expected));
                }
            } else if let Ok(found) = found {
                prop_assert!(found.protocol.is_empty(), "{}", request);
            }
        }

        #[test]
        fn parts_are_slices_of_any_bytes(request in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(found) = split(&request) {
                prop_assert!(!found.method.is_empty() && !found.target.is_empty());
                prop_assert!(request.starts_with(found.method));
            }
        }
    }
}
