//! # What it does
//!
//! Drops query parameters that have their default value, as you state it for a host and path.
//!
//! # When it is safe
//!
//! Where the defaults are right. Changes semantics. A parameter that is there with another value as
//! well stays, since the order of the two may matter: `?sort=name&sort=ascending`.
//!
//! # Example
//!
//! With `--default-param id= --default-param sort=ascending`,
//! `http://example.com/display?id=&sort=ascending` becomes `http://example.com/display`.
//!
//! # Options
//!
//! `--default-param [HOST[/PATH]:]NAME=VALUE`; `[[default-params]]`
//!
//! # Source
//!
//! "Removing default query parameters" in the list of URL normalizations (Wikipedia, "URI
//! normalization").

use super::{pieces, retain_pieces};
use crate::canonical::draft::{Draft, Parts};
use crate::canonical::profile::Options;

pub(super) const NAME: &str = "default-params";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let defaults = &options.default_params;
    if defaults.is_empty() {
        return false;
    }
    let (host, path) = (&web.host, &web.path);
    let query = web.query.clone().unwrap_or_default();
    // The names that have another value than their default.
    let mut others: Vec<&[u8]> = Vec::new();
    for (_, name, value) in pieces(&query) {
        let has_other = defaults.know(host, path, name)
            && !defaults.matches(host, path, name, value)
            && !others.contains(&name);
        if has_other {
            others.push(name);
        }
    }
    retain_pieces(&mut web.query, |name, value| {
        others.contains(&name) || !defaults.matches(host, path, name, value)
    })
}
