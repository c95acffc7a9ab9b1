//! # What it does
//!
//! Drops the fragment: `#` and what follows. A fragment that starts with `!` or `/` is a route of a
//! page that builds itself in the browser, and stays.
//!
//! # When it is safe
//!
//! Usually: a server never sees the fragment. Turn it off where pages route by other fragments.
//!
//! # Example
//!
//! `http://example.com/bar.html#section1` becomes `http://example.com/bar.html`;
//! `http://example.com/#!/inbox` stays.
//!
//! # Options
//!
//! `keep-routes = true | false`
//!
//! # Source
//!
//! RFC 3986 3.5; "Making AJAX applications crawlable" (Google, 2009) for `#!`.

use crate::canonical::draft::{Draft, Parts};
use crate::canonical::options::Options;

pub(super) const NAME: &str = "fragment";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    match &web.fragment {
        Some(text) if options.keep_routes && matches!(text.first(), Some(b'!' | b'/')) => false,
        Some(_) => {
            web.fragment = None;
            true
        }
        None => false,
    }
}
