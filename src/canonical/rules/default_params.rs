//! # What it does
//!
//! Drops query parameters that have their default value, as you state it for a host and path.
//!
//! # When it is safe
//!
//! Where the defaults are right. Changes semantics.
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

use super::retain_pieces;
use crate::canonical::draft::{Draft, Parts};
use crate::canonical::profile::Options;

pub(super) const NAME: &str = "default-params";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let (host, path) = (&web.host, &web.path);
    retain_pieces(&mut web.query, |name, value| {
        !options.default_params.matches(host, path, name, value)
    })
}
