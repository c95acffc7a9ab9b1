//! # What it does
//!
//! Writes the empty path as `/`. If asked, also adds a slash to a path whose last segment has no
//! dot, or removes the slash at the end, as the profile `aggressive` does.
//!
//! # When it is safe
//!
//! For the empty path always: preserves semantics. `add` and `remove` change them, though most
//! sites answer with one page for both.
//!
//! # Example
//!
//! `http://example.com` becomes `http://example.com/`; with `--slash add`, `http://example.com/foo`
//! becomes `http://example.com/foo/`.
//!
//! # Options
//!
//! `slash = "keep" | "add" | "remove"`, `--slash keep|add|remove`; `remove` in the profile
//! `aggressive`, `keep` in the others.
//!
//! # Source
//!
//! RFC 3986 6.2.3 for the empty path; "Adding or removing a trailing slash" in the list of URL
//! normalizations (Wikipedia, "URI normalization").

use super::replace;
use crate::canonical::draft::{Draft, Parts};
use crate::canonical::options::{Options, Slash};

pub(super) const NAME: &str = "trailing-slash";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let mut path = web.path.clone();
    set_ending(&mut path, 0, options.slash);
    replace(&mut web.path, path)
}

/// The length of `path` without the slashes that it ends with; a first one stays.
#[inline(always)]
pub(crate) fn length_without_slashes(path: &[u8]) -> usize {
    // Whether there is one cannot be predicted, so there is no branch on it; hardly
    // ever are there two.
    let mut length = path.len();
    length -= usize::from((length > 1) & (path.last() == Some(&b'/')));
    while length > 1 && path[length - 1] == b'/' {
        length -= 1;
    }
    length
}

/// Puts the path `url[path_start..]` into its canonical ending.
pub(crate) fn set_ending(url: &mut Vec<u8>, path_start: usize, slash: Slash) {
    if url.len() == path_start {
        url.push(b'/');
    }
    match slash {
        Slash::Keep => {}
        Slash::Remove => url.truncate(path_start + length_without_slashes(&url[path_start..])),
        Slash::Add => {
            let last = url[path_start..].rsplit(|byte| *byte == b'/').next().unwrap_or(b"");
            if !last.is_empty() && !last.contains(&b'.') {
                url.push(b'/');
            }
        }
    }
}
