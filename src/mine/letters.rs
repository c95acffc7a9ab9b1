//! Where the case of letters matters: the sections of a site that folding is kept from.
//!
//! A site may answer to paths in any letters and yet have a section whose names are told apart by
//! them, as short links are: `/v/aBc` is not `/v/abc`. Rules are matched against paths as they are
//! spelled, so a section can be kept from folding only where its own name is always spelled in one
//! way. A section is what a handler's template begins with, up to the last slash before what varies.

use std::collections::{BTreeMap, BTreeSet};

use super::handlers::Handlers;
use super::softly::Soft;
use super::trials::Tally;

/// The handlers of a site with the letters of its paths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sections<'a> {
    pub(super) handlers: &'a Handlers,
    pub(super) softs: &'a [Soft],
}

/// What the paths of a template begin with; `None` if that is all of the site, or if nothing varies.
fn head(template: &[u8]) -> Option<&[u8]> {
    let varies = memchr::memchr(b'{', template)?;
    let end = memchr::memrchr(b'/', &template[..varies])? + 1;
    (end > 1).then(|| &template[..end])
}

/// What the sections of these handlers begin with, as [`Sections::around`] gives them: each once.
pub(super) fn heads<'a>(handlers: &'a Handlers, all: &BTreeSet<u32>) -> BTreeSet<&'a [u8]> {
    all.iter().filter_map(|handler| head(&handlers.templates[*handler as usize])).collect()
}

impl Sections<'_> {
    /// The `tallies` of handlers, summed up by section; each with its handlers.
    pub(super) fn sums(&self, tallies: &BTreeMap<u32, Tally>) -> Vec<(Tally, BTreeSet<u32>)> {
        let mut sums: BTreeMap<&[u8], (Tally, BTreeSet<u32>)> = BTreeMap::new();
        for (handler, tally) in tallies {
            let template = &self.handlers.templates[*handler as usize];
            let sum = sums.entry(head(template).unwrap_or(template)).or_default();
            sum.0.join(tally);
            sum.1.insert(*handler);
        }
        sums.into_values().collect()
    }


    /// The `bad` handlers with all others of their sections; `None` if one of them has no section
    /// of its own, or one whose name is spelled in several ways.
    ///
    /// Linear in the paths for each handler.
    pub(super) fn around(&self, bad: &BTreeSet<u32>) -> Option<BTreeSet<u32>> {
        let templates = &self.handlers.templates;
        let mut all = BTreeSet::new();
        for handler in bad {
            if all.contains(handler) {
                continue;
            }
            let head = head(&templates[*handler as usize])?;
            let is_spelled =
                |soft: &Soft| !soft.base.starts_with(head) || soft.cased.starts_with(head);
            if !self.softs.iter().all(is_spelled) {
                return None;
            }
            let inside = (0..).zip(templates).filter(|(_, template)| template.starts_with(head));
            all.extend(inside.map(|(number, _)| number));
        }
        Some(all)
    }
}
