//! # What it does
//!
//! Drops a last path segment that is the name of a directory's index file, in any case.
//!
//! # When it is safe
//!
//! Changes semantics: which name a directory shows is the server's configuration.
//!
//! # Example
//!
//! `http://example.com/a/index.html` becomes `http://example.com/a/`; in the profile `aggressive`,
//! which removes slashes at the end, `http://example.com/a`. What has a slash after it
//! (`/a/index.html/`) goes only where that slash goes, too.
//!
//! # Options
//!
//! `index-names = ["index.html", …]`; the built-in list is `data/index_names.toml`.
//!
//! # Source
//!
//! "Removing directory index" in the list of URL normalizations (Wikipedia, "URI normalization");
//! Apache `DirectoryIndex`, IIS "default document".

use crate::canonical::draft::{Draft, Parts};
use crate::canonical::names::IndexNames;
use crate::canonical::options::{Options, Slash};
use crate::canonical::rules::trailing_slash::length_without_slashes;

pub(super) const NAME: &str = "directory-index";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let len = length_without_index(&web.path, &options.index_names, options.slash);
    let changed = len < web.path.len();
    web.path.truncate(len);
    changed
}

/// The length of `path` up to its index file, or its whole length if it ends otherwise.
///
/// Where trailing slashes are removed, too, `/index.html/` would become an index file only then: so
/// they are looked past, as often as need be, and one pass settles what would take many.
#[inline]
pub(crate) fn length_without_index(path: &[u8], names: &IndexNames, slash: Slash) -> usize {
    let mut len = path.len();
    loop {
        let end = match slash {
            Slash::Remove => length_without_slashes(&path[..len]),
            Slash::Keep | Slash::Add => len,
        };
        match names.at_end_of(&path[..end]) {
            Some(name) => len = end - name,
            None => return len,
        }
    }
}
