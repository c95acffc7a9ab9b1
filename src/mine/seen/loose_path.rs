//! A path taken apart: what may be spelling, and what is left.

use super::handlers::extension;
use super::segments::{Shape, fold, last_start};
use crate::limits::MINE_PARAMS_MAX;

/// A path without everything that rules are known to take away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoosePath {
    /// What is left: lower case but for escapes, no extension, no slash at the end.
    pub(crate) base: Vec<u8>,
    /// The same in the letters of the URL.
    pub(crate) cased: Vec<u8>,
    /// Path parameters: names in lower case, and values.
    pub(crate) parameters: Vec<(Vec<u8>, Vec<u8>)>,
    /// Segments that may be session numbers.
    pub(crate) sessions: Vec<(Shape, Vec<u8>)>,
    /// The last segment, if it is the name of an index page.
    pub(crate) index: Vec<u8>,
    /// The extension with its dot, or nothing.
    pub(crate) extension: Vec<u8>,
    /// Does it end with a slash?
    pub(crate) slash: bool,
    /// Does it end with a session number? Then it ends with a slash without it.
    pub(crate) ends_in_session: bool,
    /// Were there several slashes in a row?
    pub(crate) doubled: bool,
}

/// First words of index pages.
const INDEX_WORDS: [&[u8]; 5] = [b"index", b"default", b"home", b"main", b"iisstart"];

/// Is this the name of an index page?
pub(crate) fn is_index(segment: &[u8]) -> bool {
    let ending = extension(segment);
    let word = &segment[..segment.len() - ending.len()];
    !ending.is_empty() && INDEX_WORDS.iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// Takes `path` apart. Linear.
pub(crate) fn loosen(path: &[u8]) -> LoosePath {
    let mut loose = LoosePath::default();
    let mut rest = path.strip_prefix(b"/").unwrap_or(path).split(|byte| *byte == b'/').peekable();
    while let Some(segment) = rest.next() {
        let mut pieces = segment.split(|byte| *byte == b';');
        let name = pieces.next().unwrap_or(b"");
        // A URL with more of them is left out, so not all are ever needed.
        for piece in pieces.take(MINE_PARAMS_MAX.saturating_sub(loose.parameters.len())) {
            let equals = memchr::memchr(b'=', piece).unwrap_or(piece.len());
            let value = piece.get(equals + 1..).unwrap_or(b"").to_vec();
            loose.parameters.push((piece[..equals].to_ascii_lowercase(), value));
        }
        if name.is_empty() {
            loose.slash = rest.peek().is_none() && !loose.cased.is_empty();
            loose.doubled |= rest.peek().is_some();
            continue;
        }
        if let Some(shape) = Shape::of(name) {
            loose.sessions.push((shape, name.to_vec()));
            loose.ends_in_session = rest.peek().is_none() && !loose.cased.is_empty();
            continue;
        }
        loose.cased.push(b'/');
        loose.cased.extend_from_slice(name);
    }
    let start = last_start(&loose.cased);
    if is_index(&loose.cased[start..]) {
        loose.index = loose.cased[start..].to_vec();
        loose.cased.truncate(start.saturating_sub(1));
        loose.slash = !loose.cased.is_empty();
    } else if !loose.slash {
        loose.extension = extension(&loose.cased[start..]).to_vec();
        loose.cased.truncate(loose.cased.len() - loose.extension.len());
    }
    loose.base.clone_from(&loose.cased);
    fold(&mut loose.base);
    loose
}

impl LoosePath {
    /// Does it end with a slash where session numbers are dropped?
    pub(crate) fn leaves_slash(&self) -> bool {
        self.slash || self.ends_in_session
    }

    /// The path in the letters of the URL, without all else that rules are known to take away.
    pub(crate) fn lettered(&self) -> Vec<u8> {
        [self.cased.as_slice(), &self.extension].concat()
    }

    /// The path that scopes are first found for: base and extension.
    pub(crate) fn plain(&self) -> Vec<u8> {
        let mut path = self.base.clone();
        path.extend_from_slice(&self.extension.to_ascii_lowercase());
        if path.is_empty() {
            path.push(b'/');
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let loose = loosen(b"//A/(S(abc123def456ghi789))/b;jsessionid=9;v/Index.HTML");
        assert_eq!(loose.base, b"/a/b");
        assert_eq!(loose.cased, b"/A/b");
        assert_eq!(loose.index, b"Index.HTML");
        assert_eq!(loose.parameters[0], (b"jsessionid".to_vec(), b"9".to_vec()));
        assert!(loose.doubled && loose.slash && loose.sessions.len() == 1);
    }

    #[test]
    fn plain_paths() {
        for (path, plain) in [
            ("/", "/"),
            ("", "/"),
            ("/a/", "/a"),
            ("/A.htm", "/a.htm"),
            ("/index.html", "/"),
            ("/a/index.html", "/a"),
            ("/a;x=1", "/a"),
            ("/Caf%C3%A9.HTM", "/caf%C3%A9.htm"),
        ] {
            assert_eq!(loosen(path.as_bytes()).plain(), plain.as_bytes(), "{path}");
        }
    }
}
