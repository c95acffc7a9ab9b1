//! # What it does
//!
//! Writes `https` as `http` (and `wss` as `ws`), or the reverse, so that both are one page. Only
//! where the port is the scheme's own: with another port, the two schemes are two services.
//!
//! # When it is safe
//!
//! Changes semantics: usually the same site, not always, and not to be fetched as written.
//!
//! # Example
//!
//! `https://example.com/` becomes `http://example.com/`; `https://example.com:8443/` stays.
//!
//! # Options
//!
//! `scheme = "http" | "https"`
//!
//! # Source
//!
//! "Limiting protocols" in the list of URL normalizations (Wikipedia, "URI normalization").

use crate::canonical::draft::{Draft, Parts};
use crate::canonical::options::{Options, WebScheme};

pub(super) const NAME: &str = "scheme";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let pairs = [(&b"https"[..], &b"http"[..]), (b"wss", b"ws")];
    for (secure, plain) in pairs {
        let (from, to) = match options.scheme {
            WebScheme::Http => (secure, plain),
            WebScheme::Https => (plain, secure),
        };
        if web.scheme_is(from) && web.has_default_port() {
            web.scheme = to.to_vec();
            web.port = None;
            return true;
        }
    }
    false
}
