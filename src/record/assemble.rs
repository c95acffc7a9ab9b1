//! From what was found in a line to a URL.

use super::found::{Escapes, Found};
use crate::error::{Error, Result};
use crate::reject::Reject;

/// What stands in front of a path whose host nobody knows. It is shown nowhere.
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
    /// Failure: a configuration error for anything but scheme, host and port.
    pub fn parse(text: &str) -> Result<BaseUrl> {
        let wrong = |why: &str| {
            Error::config(format!(
                "--base-url {text}: {why}; expected scheme and host, such as https://example.com"
            ))
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
}

/// Puts the URL together in `url`, and gives it as it is to be shown, and in full. `text` is memory
/// for texts that have escapes.
///
/// - A target that is a path gets the host of its line, of `base`, or [`NO_HOST`]; with the last it
///   is shown as a path.
/// - Any other target stays as it is.
pub(super) fn assemble<'a>(
    found: &Found<'a>,
    base: Option<&BaseUrl>,
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
        let target = escapes.undo(found.target, text);
        return Ok((target, target));
    }
    url.clear();
    let mut add = |part: &[u8], url: &mut Vec<u8>| {
        url.extend_from_slice(escapes.undo(part, text));
    };
    let mut shown_from = 0;
    if is_path {
        let has_host = !found.host.is_empty();
        let scheme = match (found.scheme, base) {
            (b"", Some(base)) if !has_host || base.host == found.host => &base.scheme[..],
            (b"", _) if found.port == b"443" || found.host.ends_with(b":443") => b"https",
            (b"", _) => b"http",
            (scheme, _) => scheme,
        };
        match base {
            None if !has_host => {
                url.extend_from_slice(NO_HOST);
                shown_from = NO_HOST.len();
            }
            Some(base) if !has_host => {
                url.extend_from_slice(scheme);
                url.extend_from_slice(b"://");
                url.extend_from_slice(&base.host);
            }
            _ => {
                url.extend_from_slice(scheme);
                url.extend_from_slice(b"://");
                add(found.host, url);
                if !found.port.is_empty() {
                    url.push(b':');
                    url.extend_from_slice(found.port);
                }
            }
        }
    }
    add(found.target, url);
    if !found.query.is_empty() {
        url.push(b'?');
        add(found.query, url);
    }
    Ok((&url[shown_from..], url))
}

/// Paths behind a host that is the same for all of a chunk.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// Scheme and host, the latest path, and what is left of earlier ones.
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

    /// The URL as it is to be shown, and in full, of `path`, which starts in `text` at `start` and
    /// has no escapes: what [`assemble`] says for it.
    #[inline(always)]
    pub(super) fn join<'a>(
        &'a mut self,
        text: &[u8],
        start: usize,
        path: &'a [u8],
    ) -> (&'a [u8], &'a [u8]) {
        let end = self.prefix + path.len();
        // Bet: the path is no longer than a block, which is copied whole, whatever comes behind it:
        // a copy of fixed length is faster than one of any length.
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

/// `canonical` without [`NO_HOST`], whatever rules have made of its scheme and host.
pub fn without_no_host(canonical: &[u8]) -> &[u8] {
    let rest = canonical.strip_prefix(b"http").unwrap_or(canonical);
    let rest = rest.strip_prefix(b"s").unwrap_or(rest);
    let Some(rest) = rest.strip_prefix(b"://") else { return canonical };
    let rest = rest.strip_prefix(b"www.").unwrap_or(rest);
    rest.strip_prefix(&NO_HOST[b"http://".len()..]).unwrap_or(canonical)
}

/// What [`Record::url`](super::Record::url) was for a spelling that is shown.
pub fn full_url(spelling: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    match spelling.first() {
        Some(b'/') => [NO_HOST, spelling].concat().into(),
        _ => spelling.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("/x", "", "b.test", "443", None, "https://b.test:443/x".into(), ""),
            ("/x", "", "b.test:8080", "", None, "http://b.test:8080/x".into(), ""),
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
            let (spelling, full) = assemble(&found, base, &mut url, &mut text).unwrap();
            assert_eq!(String::from_utf8_lossy(full), expected);
            let shown = if shown.is_empty() { &expected } else { shown };
            assert_eq!(String::from_utf8_lossy(spelling), shown);
            assert_eq!(without_no_host(full), spelling);
        }
        let (mut url, mut text) = (Vec::new(), Vec::new());
        assert_eq!(assemble(&Found::default(), None, &mut url, &mut text), Err(Reject::NoUrl));
        assert_eq!(&*full_url(b"/a"), [NO_HOST, b"/a"].concat());
        assert_eq!(&*full_url(b"a.test/a"), b"a.test/a");
    }

    #[test]
    fn bases() {
        for wrong in ["a.test", "ftp://a.test", "http://", "http://a.test/x", "http://u@a.test"] {
            assert!(BaseUrl::parse(wrong).unwrap_err().is_config(), "{wrong}");
        }
    }
}
