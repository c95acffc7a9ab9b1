//! # What it does
//!
//! Sorts the parameters of the query by name. The order of one name's values stays, since it often
//! means something: `a=1&a=2` is not `a=2&a=1`. Drops empty pairs (`&&`).
//!
//! # When it is safe
//!
//! Usually: nearly every server reads parameters by name. A `;` does not end one here; a server for
//! which it does may see `a=1&b=1;a=2` in another order.
//!
//! # Example
//!
//! `http://example.com/display?lang=en&&article=fred` becomes
//! `http://example.com/display?article=fred&lang=en`.
//!
//! # Options
//!
//! None.
//!
//! # Source
//!
//! "Sorting query parameters" in the list of URL normalizations (Wikipedia, "URI normalization");
//! WHATWG URL standard 6.2 (`URLSearchParams.sort`, stable) and 5.1 (empty pairs).

use super::{replace, split_piece};
use crate::canonical::draft::{Draft, Parts};
use crate::canonical::options::Options;

pub(super) const NAME: &str = "query-order";

pub(super) fn apply(draft: &mut Draft, _: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let Some(query) = &mut web.query else { return false };
    let mut pieces: Vec<&[u8]> =
        query.split(|byte| *byte == b'&').filter(|piece| !piece.is_empty()).collect();
    pieces.sort_by(|a, b| split_piece(a).0.cmp(split_piece(b).0));
    let sorted = pieces.join(&b'&');
    replace(query, sorted)
}
