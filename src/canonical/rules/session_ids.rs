//! # What it does
//!
//! Drops session ids: the path parameter `;jsessionid=…`, the segment `/(S(…))` of ASP.NET without
//! cookies, query parameters such as `PHPSESSID`. A parameter goes only if both its name is known
//! and its value has the shape of a session id: `sid=12345678` may be a story and stays. With the
//! last parameter its `?` goes, too, if nothing else is left of the query.
//!
//! # When it is safe
//!
//! Usually: a session id says who looks, not at what.
//!
//! # Example
//!
//! `http://example.com/p;jsessionid=0A1B2C3D4E5F60718293A4B5C6D7E8F9?id=7` becomes
//! `http://example.com/p?id=7`.
//!
//! # Options
//!
//! The list is `data/session_ids.toml`. Parameters that `--keep-param` names stay.
//!
//! # Source
//!
//! Jakarta Servlet specification 7.1.3 (URL rewriting); PHP manual, "Passing the session ID";
//! ASP.NET documentation, "cookieless sessions"; the others in `data/session_ids.toml`.

use super::{replace, retain_pieces, split_piece};
use crate::canonical::draft::{Draft, Parts};
use crate::canonical::names::SessionNames;
use crate::canonical::options::Options;

pub(super) const NAME: &str = "session-ids";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let in_path = may_have_sessions(&web.path) && {
        let path = without_sessions(&web.path, &options.sessions);
        replace(&mut web.path, path)
    };
    let kept = options.keep_params.at(&web.host, &web.path);
    let in_query = retain_pieces(&mut web.query, |name, value| {
        !options.sessions.matches_query(name, value) || kept.keeps(name)
    });
    in_path | in_query
}

/// Does `path` have what session parameters or session segments begin with?
fn may_have_sessions(path: &[u8]) -> bool {
    memchr::memchr2(b';', b'(', path).is_some()
}

/// `path` without session parameters and session segments.
fn without_sessions(path: &[u8], sessions: &SessionNames) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    for (number, segment) in path.split(|byte| *byte == b'/').enumerate() {
        if is_session_segment(segment) {
            continue;
        }
        if number > 0 {
            out.push(b'/');
        }
        for (number, parameter) in segment.split(|byte| *byte == b';').enumerate() {
            let (name, value) = split_piece(parameter);
            if number > 0 && sessions.matches_path(name, value) {
                continue;
            }
            if number > 0 {
                out.push(b';');
            }
            out.extend_from_slice(parameter);
        }
    }
    if out.is_empty() && !path.is_empty() {
        out.push(b'/');
    }
    out
}

/// Is `segment` what ASP.NET puts into a path without cookies: `(S(24 characters))`, also with the
/// parts `A` and `F` for anonymous id and ticket?
fn is_session_segment(segment: &[u8]) -> bool {
    let Some(mut rest) = segment.strip_prefix(b"(").and_then(|text| text.strip_suffix(b")")) else {
        return false;
    };
    let mut parts = 0;
    while !rest.is_empty() {
        let [b'A' | b'F' | b'S' | b'a' | b'f' | b's', b'(', inner @ ..] = rest else {
            return false;
        };
        let Some(end) = memchr::memchr(b')', inner) else { return false };
        let is_id = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if end < 20 || !inner[..end].iter().all(is_id) {
            return false;
        }
        rest = &inner[end + 1..];
        parts += 1;
    }
    parts > 0
}
