//! # What it does
//!
//! Writes one slash for several in the path. Not in the query, and not directly after a segment
//! that is a `scheme:`, where a URL is quoted whole: `/web/http://example.com//a` becomes
//! `/web/http://example.com/a`.
//!
//! # When it is safe
//!
//! Changes semantics: most servers ignore empty segments, some do not.
//!
//! # Example
//!
//! `http://example.com/foo//bar.html` becomes `http://example.com/foo/bar.html`.
//!
//! # Options
//!
//! None.
//!
//! # Source
//!
//! "Removing duplicate slashes" in the list of URL normalizations (Wikipedia, "URI normalization").

use super::replace;
use crate::canonical::draft::{Draft, Parts};
use crate::canonical::options::Options;

pub(super) const NAME: &str = "duplicate-slashes";

pub(super) fn apply(draft: &mut Draft, _: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let mut path: Vec<u8> = Vec::with_capacity(web.path.len());
    let mut at = 0;
    while at < web.path.len() {
        let run = web.path[at..].iter().take_while(|byte| **byte == b'/').count();
        if run > 1 && ends_in_scheme(&path) {
            path.extend_from_slice(&web.path[at..at + run]);
        } else {
            path.push(web.path[at]);
        }
        at += run.max(1);
    }
    replace(&mut web.path, path)
}

/// Does `path` end in a segment that is a scheme with its colon?
fn ends_in_scheme(path: &[u8]) -> bool {
    let segment = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    crate::parts::scheme_length(segment).is_some_and(|length| length + 1 == segment.len())
}
