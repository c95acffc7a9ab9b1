//! # What it does
//!
//! Drops a `?` with nothing after it.
//!
//! # When it is safe
//!
//! Usually. RFC 3986 calls `/x?` and `/x` different; hardly any server does.
//!
//! # Example
//!
//! `http://example.com/display?` becomes `http://example.com/display`.
//!
//! # Options
//!
//! None.
//!
//! # Source
//!
//! "Removing the ? when the query is empty" in the list of URL normalizations (Wikipedia, "URI
//! normalization").

use crate::canonical::draft::{Draft, Parts};
use crate::canonical::options::Options;

pub(super) const NAME: &str = "empty-query";

pub(super) fn apply(draft: &mut Draft, _: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let is_empty = web.query.as_ref().is_some_and(Vec::is_empty);
    if is_empty {
        web.query = None;
    }
    is_empty
}
