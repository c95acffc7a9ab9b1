//! Assembles a URL from the parts that were found in a line.

use std::borrow::Cow;

use super::fields::escapes::Escapes;
use super::found::{Found, PathKind};
use crate::bytes::hex;
use crate::error::{Error, Result};
use crate::parts;
use crate::reject::Reject;

/// Scheme and host of a path whose host is not known. They are never shown.
///
/// Reason: a canonical form needs a host, and no host has this name (RFC 6761 section 6.4).
pub const NO_HOST: &[u8] = b"http://no-host.undust.invalid";

/// The scheme and the host of paths that have none in their line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    scheme: Vec<u8>,
    /// With its port, if it is given.
    host: Vec<u8>,
}

impl BaseUrl {
    /// Reads `text`, such as `https://example.com`.
    ///
    /// Failure: a configuration error for anything but scheme, host and port. It says what is
    /// wrong; the caller adds where `text` was given.
    pub fn parse(text: &str) -> Result<BaseUrl> {
        let wrong = |why: &str| {
            Error::config(format!("{why}; expected scheme and host, such as https://example.com"))
        };
        let (scheme, host) = text.split_once("://").ok_or_else(|| wrong("there is no scheme"))?;
        if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
            return Err(wrong("the scheme is neither http nor https"));
        }
        let host = host.strip_suffix('/').unwrap_or(host);
        if host.is_empty() || host.contains(['/', '?', '#', '@', ' ']) {
            return Err(wrong("what follows is not a host alone"));
        }
        Ok(BaseUrl { scheme: scheme.into(), host: host.into() })
    }

    /// The scheme, in lower case.
    pub(super) fn scheme(&self) -> &'static [u8] {
        if self.scheme.eq_ignore_ascii_case(b"https") { b"https" } else { b"http" }
    }

    /// Resolves `text`, a relative reference: a path gets scheme and host (`/a`), a host gets the
    /// scheme (`//b.test/a`). `None` if it is neither.
    pub fn resolve(&self, text: &[u8]) -> Option<Vec<u8>> {
        let text = text.trim_ascii();
        match text {
            [b'/', b'/', ..] => Some([self.scheme(), b":", text].concat()),
            [b'/', ..] => Some([&self.scheme[..], b"://", &self.host, text].concat()),
            _ => None,
        }
    }
}

/// Assembles the URL in `url`, and returns it as it is shown, and in full. `text` is memory for
/// unescaped texts.
///
/// - A target that is a path gets the host of its line, that of `base`, or [`NO_HOST`]; with the
///   last it is shown as a path.
/// - Any other target stays as it is.
/// - In a path that is logged alone, bytes that would begin a query or a fragment are escaped.
/// - Line separators are removed, since they would make a line of their own in the output. For line
///   breaks the URL standard (4.4) says so, too.
pub(super) fn assemble<'a>(
    found: &Found<'a>,
    base: Option<&BaseUrl>,
    separator: u8,
    url: &'a mut Vec<u8>,
    text: &'a mut Vec<u8>,
) -> std::result::Result<(&'a [u8], &'a [u8]), Reject> {
    if found.target.is_empty() {
        return Err(Reject::NoUrl);
    }
    let escapes = match found.escapes {
        Escapes::PercentText => Escapes::None,
        escapes => escapes,
    };
    let is_path = found.target[0] == b'/';
    if !is_path && found.query.is_empty() {
        let mut target = escapes.undo(found.target, text);
        if target.contains(&separator) {
            url.clear();
            url.extend_from_slice(target);
            drop_breaks(url, separator);
            target = url;
        }
        return if target.is_empty() { Err(Reject::NoUrl) } else { Ok((target, target)) };
    }
    url.clear();
    let shown_from = if is_path { push_origin(found, escapes, base, url, text) } else { 0 };
    let path_start = url.len();
    url.extend_from_slice(escapes.undo(found.target, text));
    if is_path {
        escape_marks(found.path, path_start, url);
    }
    if !found.query.is_empty() {
        url.push(b'?');
        url.extend_from_slice(escapes.undo(found.query, text));
    }
    if url.contains(&separator) {
        drop_breaks(url, separator);
    }
    Ok((&url[shown_from..], url))
}

/// Begins the URL of a path with the scheme and the host of its line, those of `base`, or with
/// [`NO_HOST`]. Returns where the part begins that is shown.
#[inline]
fn push_origin(
    found: &Found,
    escapes: Escapes,
    base: Option<&BaseUrl>,
    url: &mut Vec<u8>,
    text: &mut Vec<u8>,
) -> usize {
    let has_host = !found.host.is_empty();
    let scheme = match (found.scheme, base) {
        (b"", Some(base)) if !has_host || base.host.eq_ignore_ascii_case(found.host) => {
            &base.scheme[..]
        }
        (b"", _) if found.port == b"443" || found.host.ends_with(b":443") => b"https",
        (b"", _) => b"http",
        (scheme, _) => scheme,
    };
    if !has_host && base.is_none() {
        url.extend_from_slice(NO_HOST);
        return NO_HOST.len();
    }
    url.extend_from_slice(scheme);
    url.extend_from_slice(b"://");
    match base {
        Some(base) if !has_host => url.extend_from_slice(&base.host),
        _ => {
            url.extend_from_slice(escapes.undo(found.host, text));
            let has_port = parts::host_length(found.host) < found.host.len();
            if !found.port.is_empty() && !has_port {
                url.push(b':');
                url.extend_from_slice(found.port);
            }
        }
    }
    0
}

/// Removes line separators, and the carriage returns that belong to newlines.
fn drop_breaks(url: &mut Vec<u8>, separator: u8) {
    let mut kept = 0;
    for at in 0..url.len() {
        if url[at] != separator {
            url[kept] = url[at];
            kept += 1;
        } else if separator == b'\n' && url[..kept].ends_with(b"\r") {
            kept -= 1;
        }
    }
    url.truncate(kept);
}

/// Escapes the bytes of the path, `url[start..]`, that would not be read as parts of a path.
fn escape_marks(path: PathKind, start: usize, url: &mut Vec<u8>) {
    let is_decoded = match path {
        PathKind::Requested => return,
        PathKind::Alone => false,
        PathKind::Decoded => true,
    };
    // No client requests blanks or control characters unescaped: the URL standard (4.4) removes
    // some of them, and treats a backslash as a slash.
    let is_mark = |byte: &u8| match byte {
        b'#' | b'?' => true,
        b'%' | b'\\' | 0..=b' ' | 0x7f => is_decoded,
        _ => false,
    };
    if !url[start..].iter().any(is_mark) {
        return;
    }
    for byte in url.split_off(start) {
        if is_mark(&byte) {
            url.extend_from_slice(&hex::ESCAPES[usize::from(byte)][..3]);
        } else {
            url.push(byte);
        }
    }
}

/// Joins paths to a host that is the same for a whole chunk.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// Scheme and host, the latest path, and remains of earlier ones.
    bytes: Vec<u8>,
    prefix: usize,
    is_shown: bool,
}

impl Joined {
    /// Begins a chunk whose paths have the host of `base`.
    pub(super) fn begin(&mut self, base: Option<&BaseUrl>) {
        self.bytes.clear();
        match base {
            Some(BaseUrl { scheme, host }) => {
                [scheme, &b"://"[..], host]
                    .iter()
                    .for_each(|part| self.bytes.extend_from_slice(part));
            }
            None => self.bytes.extend_from_slice(NO_HOST),
        }
        self.prefix = self.bytes.len();
        self.is_shown = base.is_some();
    }

    /// The URL of `path` as it is shown, and in full: the same as [`assemble`] returns. `path` is
    /// in `text` at `start` and has no escapes.
    #[inline(always)]
    pub(super) fn join<'a>(
        &'a mut self,
        text: &[u8],
        start: usize,
        path: &'a [u8],
    ) -> (&'a [u8], &'a [u8]) {
        let end = self.prefix + path.len();
        // Bet: the path is no longer than a block, which is copied whole, whatever follows the
        // path: a copy of fixed length is faster than one of variable length.
        match text[start..].first_chunk::<64>() {
            Some(block) if path.len() <= 64 => {
                if self.bytes.len() < self.prefix + 64 {
                    self.bytes.resize(self.prefix + 64, 0);
                }
                self.bytes[self.prefix..self.prefix + 64].copy_from_slice(block);
            }
            _ => {
                self.bytes.truncate(self.prefix);
                self.bytes.extend_from_slice(path);
            }
        }
        let url = &self.bytes[..end];
        (if self.is_shown { url } else { path }, url)
    }
}

/// `canonical` without [`NO_HOST`], even if rules have changed its scheme or host.
#[inline]
pub fn without_no_host(canonical: &[u8]) -> &[u8] {
    let Some(rest) = canonical.strip_prefix(b"http") else { return canonical };
    let rest = rest.strip_prefix(b"s").unwrap_or(rest);
    let Some(rest) = rest.strip_prefix(b"://") else { return canonical };
    let rest = rest.strip_prefix(b"www.").unwrap_or(rest);
    // Bet: it has another host, as nearly every URL.
    if !rest.starts_with(b"no-") {
        return canonical;
    }
    rest.strip_prefix(&NO_HOST[b"http://".len()..]).unwrap_or(canonical)
}

/// The URL in full of a record that is shown as `spelling`; `is_path_alone` if that is a path whose
/// host is not known.
pub fn url_of(spelling: &[u8], is_path_alone: bool) -> Cow<'_, [u8]> {
    if is_path_alone { [NO_HOST, spelling].concat().into() } else { spelling.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_in_paths_that_stand_alone() {
        for (path, target, query, expected) in [
            (PathKind::Requested, "/a#b?%41", "", "http://a.test/a#b?%41"),
            (PathKind::Alone, "/a#b?%41", "", "http://a.test/a%23b%3F%41"),
            (PathKind::Alone, "/a#b?%41", "c#d", "http://a.test/a%23b%3F%41?c#d"),
            (PathKind::Decoded, "/a#b?%41", "", "http://a.test/a%23b%3F%2541"),
            (PathKind::Decoded, "/a \t\r\nb\\ ", "", "http://a.test/a%20%09%0D%0Ab%5C%20"),
            (PathKind::Alone, "/a \\b", "", "http://a.test/a \\b"),
            (PathKind::Decoded, "/a", "b=%41", "http://a.test/a?b=%41"),
            (PathKind::Decoded, "http://b.test/#%", "", "http://b.test/#%"),
        ] {
            let (target, query) = (target.as_bytes(), query.as_bytes());
            let found = Found { target, path, query, host: b"a.test", ..Found::default() };
            let (mut url, mut text) = (Vec::new(), Vec::new());
            let (_, full) = assemble(&found, None, b'\n', &mut url, &mut text).unwrap();
            assert_eq!(std::str::from_utf8(full).unwrap(), expected, "{path:?}");
        }
    }

    #[test]
    fn urls() {
        let base = BaseUrl::parse("https://a.test/").unwrap();
        let no_host = String::from_utf8_lossy(NO_HOST).into_owned();
        for (target, query, host, port, base, expected, shown) in [
            ("/x?y", "", "", "", None, format!("{no_host}/x?y"), "/x?y"),
            ("/x?y", "", "", "", Some(&base), "https://a.test/x?y".into(), ""),
            ("//x", "", "", "", Some(&base), "https://a.test//x".into(), ""),
            ("/x", "q=1", "b.test", "", Some(&base), "http://b.test/x?q=1".into(), ""),
            ("/x", "", "a.test", "", Some(&base), "https://a.test/x".into(), ""),
            ("/x", "", "A.Test", "", Some(&base), "https://A.Test/x".into(), ""),
            ("/x", "", "b.test", "443", None, "https://b.test:443/x".into(), ""),
            ("/x", "", "b.test:8080", "", None, "http://b.test:8080/x".into(), ""),
            ("/x", "", "b.test:8080", "8080", None, "http://b.test:8080/x".into(), ""),
            ("/x", "", "[::1]:443", "443", None, "https://[::1]:443/x".into(), ""),
            ("/x", "", "[::1]", "443", None, "https://[::1]:443/x".into(), ""),
            ("http://c.test/x", "", "b.test", "", None, "http://c.test/x".into(), ""),
            ("c.test/x", "", "", "", None, "c.test/x".into(), ""),
            ("c.test/x", "a", "", "", None, "c.test/x?a".into(), ""),
        ] {
            let found = Found {
                target: target.as_bytes(),
                query: query.as_bytes(),
                host: host.as_bytes(),
                port: port.as_bytes(),
                ..Found::default()
            };
            let (mut url, mut text) = (Vec::new(), Vec::new());
            let (spelling, full) = assemble(&found, base, b'\n', &mut url, &mut text).unwrap();
            assert_eq!(String::from_utf8_lossy(full), expected);
            let shown = if shown.is_empty() { &expected } else { shown };
            assert_eq!(String::from_utf8_lossy(spelling), shown);
            assert_eq!(without_no_host(full), spelling);
        }
        let (mut url, mut text) = (Vec::new(), Vec::new());
        for nothing in ["", "\n", "\n\n"] {
            let found = Found { target: nothing.as_bytes(), ..Found::default() };
            let found = assemble(&found, None, b'\n', &mut url, &mut text);
            assert_eq!(found, Err(Reject::NoUrl), "{nothing:?}");
        }
        assert_eq!(&*url_of(b"/a", true), [NO_HOST, b"/a"].concat());
        assert_eq!(&*url_of(b"/a", false), b"/a");
    }

    /// No part of a URL ends its line.
    #[test]
    fn line_breaks() {
        for (target, query, separator, expected) in [
            ("/a\nhttp://b.test/", "", b'\n', "/ahttp://b.test/"),
            ("http://a.test\r\n/b", "", b'\n', "http://a.test/b"),
            ("/a\rb\r\n\n\r", "", b'\n', "/a\rb\r"),
            ("/a", "b\nc\0", b'\n', "/a?bc\0"),
            ("http://a.test\0/b\n", "", b'\0', "http://a.test/b\n"),
        ] {
            let (target, query) = (target.as_bytes(), query.as_bytes());
            let found = Found { target, query, ..Found::default() };
            let (mut url, mut text) = (Vec::new(), Vec::new());
            let (spelling, full) = assemble(&found, None, separator, &mut url, &mut text).unwrap();
            assert_eq!(String::from_utf8_lossy(spelling), expected);
            assert!(full.ends_with(spelling));
        }
    }

    #[test]
    fn bases() {
        let base = BaseUrl::parse("HTTPS://a.test").unwrap();
        for (text, expected) in [
            ("/b?c", Some("HTTPS://a.test/b?c")),
            (" /b ", Some("HTTPS://a.test/b")),
            ("//b.test/c", Some("https://b.test/c")),
            ("http://b.test/", None),
            ("b/c", None),
        ] {
            let expected = expected.map(|url| url.as_bytes().to_vec());
            assert_eq!(base.resolve(text.as_bytes()), expected, "{text}");
        }
        for wrong in ["a.test", "ftp://a.test", "http://", "http://a.test/x", "http://u@a.test"] {
            let error = BaseUrl::parse(wrong).unwrap_err();
            assert!(
                error.is_config() && error.to_string().contains("; expected scheme"),
                "{error}"
            );
        }
    }
}
