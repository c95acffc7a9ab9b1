//! # What it does
//!
//! Writes the empty path as `/`. If asked, also adds a slash to a path whose last segment has no
//! dot, or removes the slash at the end.
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
//! `slash = "keep" | "add" | "remove"`, `--slash keep|add|remove`
//!
//! # Source
//!
//! RFC 3986 6.2.3 for the empty path; "Adding or removing a trailing slash" in the list of URL
//! normalizations (Wikipedia, "URI normalization").

use super::replace;
use crate::canonical::draft::{Draft, Parts};
use crate::canonical::profile::{Options, Slash};

pub(super) const NAME: &str = "trailing-slash";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let mut path = web.path.clone();
    settle(&mut path, 0, options.slash);
    replace(&mut web.path, path)
}

/// Puts the path `url[path_start..]` into its canonical ending.
pub(in crate::canonical) fn settle(url: &mut Vec<u8>, path_start: usize, slash: Slash) {
    if url.len() == path_start {
        url.push(b'/');
    }
    match slash {
        Slash::Keep => {}
        Slash::Remove => {
            while url.len() > path_start + 1 && url.ends_with(b"/") {
                url.pop();
            }
        }
        Slash::Add => {
            let last = url[path_start..].rsplit(|byte| *byte == b'/').next().unwrap_or(b"");
            if !last.is_empty() && !last.contains(&b'.') {
                url.push(b'/');
            }
        }
    }
}
