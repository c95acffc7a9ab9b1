//! # What it does
//!
//! Applies rules that hold for one site only, from a rule file: a piece of the path and query that
//! can be spelled another way (`substitute`), or a path that ignores case (`fold-case`).
//!
//! # When it is safe
//!
//! Where the rules were measured, or where you know the site.
//!
//! # Example
//!
//! With `kind = "substitute"`, `from = "story?id="`, `to = "story_"` for `foo.org`,
//! `http://foo.org/story?id=123` becomes `http://foo.org/story_123`.
//!
//! # Options
//!
//! `--rules FILE`; the format is described in `docs/rules-format.md`.
//!
//! # Source
//!
//! Bar-Yossef, Keidar, Schonfeld: "Do not crawl in the DUST: different URLs with similar text", WWW
//! 2007 and ACM TWEB 3(1), 2009.

use super::replace;
use crate::canonical::draft::{Draft, Parts};
use crate::canonical::profile::Options;

pub(super) const NAME: &str = "dust";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    if options.dust.is_empty() {
        return false;
    }
    let mut target = web.path.clone();
    if let Some(query) = &web.query {
        target.push(b'?');
        target.extend_from_slice(query);
    }
    let target = options.dust.rewrite(&web.host, target);
    let (path, query) = match memchr::memchr(b'?', &target) {
        Some(at) => (target[..at].to_vec(), Some(target[at + 1..].to_vec())),
        None => (target, None),
    };
    replace(&mut web.path, path) | replace(&mut web.query, query)
}
