//! # What it does
//!
//! Applies rules that hold for one site only, from a rule file: hosts that are one, parameters and
//! segments that say nothing, aliases of paths and values, templates, and others. They are learned,
//! or written by hand.
//!
//! # When it is safe
//!
//! Where the rules were measured, or where you know the site.
//!
//! # Example
//!
//! With `kind = "rewrite-template"`, `from = "/story?id={1}"`, `to = "/story_{1}"` for `foo.org`,
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

use crate::canonical::draft::{Draft, Parts};
use crate::canonical::dust::Target;
use crate::canonical::options::Options;

pub(super) const NAME: &str = "dust";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let scheme = web.scheme.to_ascii_lowercase();
    let host = web.host.to_ascii_lowercase();
    if !matches!(scheme.as_slice(), b"http" | b"https") || !options.dust.may_apply(&host) {
        return false;
    }
    let has_default_port = web.has_default_port();
    let port = web.port.clone().filter(|_| !has_default_port).unwrap_or_default();
    let parts = [scheme, host, port, web.path.clone()];
    let mut target = Target::new(parts, web.query.clone());
    let before = (target.scheme.clone(), target.host.clone(), target.port.clone());
    if !options.dust.apply(&mut target) {
        return false;
    }
    // What no rule has changed stays as it is spelled.
    if target.scheme != before.0 {
        web.scheme = target.scheme;
    }
    if target.host != before.1 {
        web.host = target.host;
    }
    if target.port != before.2 {
        web.port = (!target.port.is_empty()).then_some(target.port);
    }
    (web.path, web.query) = (target.path, target.query);
    true
}
