//! # What it does
//!
//! Resolves the segments `.` and `..` of the path, also where the dot is spelled `%2e`.
//!
//! # When it is safe
//!
//! Always: preserves semantics. A `..` above the root is dropped. Empty segments count: `/a//../b`
//! is `/a/b`.
//!
//! # Example
//!
//! `http://example.com/a/./b/../c/%2e%2E/d` becomes `http://example.com/a/d`.
//!
//! # Options
//!
//! None.
//!
//! # Source
//!
//! RFC 3986 5.2.4 and 6.2.2.3; WHATWG URL standard 4.4, path state.

use crate::canonical::draft::{Draft, Parts};
use crate::canonical::options::Options;

pub(super) const NAME: &str = "dot-segments";

pub(super) fn apply(draft: &mut Draft, _: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    if web.path.is_empty() {
        return false;
    }
    let len = remove_dot_segments(&mut web.path);
    let changed = len < web.path.len();
    web.path.truncate(len);
    changed
}

/// Removes the `.` and `..` segments of `path`, in place, and returns the new length in bytes.
///
/// - Shape: `path` is the path part alone. It starts with `/` and holds no `?` and no `#`. Bytes,
///   not text.
/// - Limits: never grows, so `returned <= path.len()`. Linear in `path.len()`; no allocation.
/// - Failure: none. A `..` above the root is dropped, as the RFC does.
/// - Source: RFC 3986 5.2.4 and 6.2.2.3; `%2e` counts as a dot (WHATWG URL standard 4.4). Class:
///   preserves semantics.
///
/// ```
/// let mut path = *b"/a/b/../c/./%2e%2E/d";
/// let len = undust::canonical::remove_dot_segments(&mut path);
/// assert_eq!(&path[..len], b"/a/d");
/// ```
pub fn remove_dot_segments(path: &mut [u8]) -> usize {
    let mut read = 0;
    let mut written = 0;
    while read < path.len() {
        // Invariant: path[read] is the slash before the next segment; path[..written] is resolved.
        let segment = read + 1;
        let end = memchr::memchr(b'/', &path[segment..]).map_or(path.len(), |at| segment + at);
        let is_last = end == path.len();
        match dots(&path[segment..end]) {
            1 => {}
            2 => written = memchr::memrchr(b'/', &path[..written]).unwrap_or(0),
            _ => {
                path.copy_within(read..end, written);
                written += end - read;
                read = end;
                continue;
            }
        }
        if is_last {
            path[written] = b'/';
            written += 1;
        }
        read = end;
    }
    written
}

/// 1 if `segment` is a dot, 2 if it is two, 0 if it is something else.
fn dots(mut segment: &[u8]) -> usize {
    let mut dots = 0;
    while !segment.is_empty() && dots < 3 {
        segment = match segment {
            [b'.', rest @ ..] | [b'%', b'2', b'e' | b'E', rest @ ..] => rest,
            _ => return 0,
        };
        dots += 1;
    }
    if dots < 3 { dots } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for (given, expected) in [
            ("/", "/"),
            ("/a", "/a"),
            ("/a/", "/a/"),
            ("/.", "/"),
            ("/..", "/"),
            ("/a/.", "/a/"),
            ("/a/..", "/"),
            ("/a/b/..", "/a/"),
            ("/a/b/../..", "/"),
            ("/a/b/c/./../../g", "/a/g"),
            ("/../a", "/a"),
            ("/a//../b", "/a/b"),
            ("/a/..//b", "//b"),
            ("//..", "/"),
            ("/...", "/..."),
            ("/a/%2e/b", "/a/b"),
            ("/a/.%2E/b", "/b"),
            ("/a/%2e%2e%2e/b", "/a/%2e%2e%2e/b"),
            ("/a/.b/..c/d.", "/a/.b/..c/d."),
        ] {
            let mut path = given.as_bytes().to_vec();
            let len = remove_dot_segments(&mut path);
            assert_eq!(std::str::from_utf8(&path[..len]).unwrap(), expected, "{given}");
        }
    }
}
