//! # What it does
//!
//! Replaces a host that is an address by the name that a map gives for it.
//!
//! # When it is safe
//!
//! Where the map is right: one address may serve many sites. Changes semantics.
//!
//! # Example
//!
//! With `208.80.152.2 example.com` in the map, `http://208.80.152.2/` becomes
//! `http://example.com/`.
//!
//! # Options
//!
//! `--hosts FILE`, lines of an address and a name as in `/etc/hosts`; or the table `[hosts]`. Of
//! several names on a line the first counts, and of several lines for one address. Lines whose
//! address has a zone (`fe80::1%lo0`) are skipped, since no URL has one.
//!
//! # Source
//!
//! "Replacing IP with domain name" in the list of URL normalizations (Wikipedia, "URI
//! normalization").

use crate::canonical::draft::{Draft, Parts};
use crate::canonical::host::canonical_host;
use crate::canonical::options::Options;

pub(super) const NAME: &str = "ip-host";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    if options.hosts.is_empty() {
        return false;
    }
    let name = canonical_host(&web.host)
        .ok()
        .and_then(|host| String::from_utf8(host).ok())
        .and_then(|host| options.hosts.get(&host));
    match name {
        Some(name) => {
            web.host = name.clone().into_bytes();
            true
        }
        None => false,
    }
}
