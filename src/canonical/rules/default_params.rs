//! # What it does
//!
//! Drops query parameters that have their default value, as you state it for a host and path.
//!
//! # When it is safe
//!
//! Where the defaults are right. Changes semantics. A parameter that is there with another value as
//! well, default or not, stays, since the order of the two may matter: `?sort=name&sort=ascending`.
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

use std::collections::HashMap;

use super::{pieces, retain_pieces};
use crate::canonical::draft::{Draft, Parts};
use crate::canonical::options::Options;

pub(super) const NAME: &str = "default-params";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    if options.default_params.is_empty() {
        return false;
    }
    let defaults = options.default_params.at(&web.host, &web.path);
    let query = web.query.clone().unwrap_or_default();
    // The names that have defaults, each with its value; `None` if there are several.
    let mut values: HashMap<&[u8], Option<&[u8]>> = HashMap::new();
    for (_, name, value) in pieces(&query).filter(|(_, name, _)| defaults.know(name)) {
        values.entry(name).or_insert(Some(value)).take_if(|only| *only != value);
    }
    retain_pieces(&mut web.query, |name, value| {
        values.get(name).is_none_or(Option::is_none) || !defaults.matches(name, value)
    })
}
