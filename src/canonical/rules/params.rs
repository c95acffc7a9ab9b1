//! # What it does
//!
//! Drops query parameters that do not matter for the page: known tracking parameters
//! (`utm_source`, `gclid`, …) and those that you name. Or the other way round: with a list of
//! *expected* parameters for a host and path, everything else goes, and these stay, even those
//! that are to be stripped or known for tracking or sessions. But an expected parameter goes where
//! it has a default value (`default-params`), or where a rule of its site drops it (`dust`). With
//! the last parameter its `?` goes, too, if nothing else is left of the query.
//!
//! # When it is safe
//!
//! Usually, for the tracking list: every entry has its source, and generic names count only on the
//! hosts, or with the values, for which they are known. A parameter stays where its value has a
//! `;`, or its name after the known beginning: some servers read `?utm_source=x;id=9` as two. So
//! does one with a `;` that is not expected. An allow-list changes semantics where it is wrong.
//!
//! # Example
//!
//! `http://example.com/n?utm_source=x&id=9` becomes `http://example.com/n?id=9`. With `--keep-param
//! example.com/display:id`, `http://example.com/display?id=123&fakefoo=fakebar` becomes
//! `http://example.com/display?id=123`.
//!
//! # Options
//!
//! `--strip-param NAME`, `--keep-param [HOST[/PATH]:]NAME,…`; `strip-params = […]`,
//! `[[keep-params]]`; the tracking list is `data/params.toml`. A host means its subdomains, too,
//! and a path what is below it. Of several lists that fit one URL, what any expects stays. Names
//! to strip are without regard to ASCII case, and may end in `*`; names to keep mind it. All are
//! put into the spelling of the profile first: `a[]` is the parameter `a%5B%5D` as well, and `a%2A`
//! is the one parameter `a*`.
//!
//! # Source
//!
//! "Removing unused query variables" in the list of URL normalizations (Wikipedia, "URI
//! normalization"); the vendors' documentation in `data/params.toml`.

use super::retain_pieces;
use crate::canonical::draft::{Draft, Parts};
use crate::canonical::options::Options;

pub(super) const NAME: &str = "params";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let (host, kept) = (&web.host, options.keep_params.at(&web.host, &web.path));
    retain_pieces(&mut web.query, |name, value| {
        let is_dropped =
            || options.drop_params.matches(host, name, value) || kept.drops(name, value);
        kept.keeps(name) || !is_dropped()
    })
}
