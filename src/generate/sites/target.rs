//! A page of a site: what it is asked for by, and what it shows.

use super::feature::{Feature, Features};

/// Entries on one page of a list.
pub(super) const ENTRIES: u32 = 20;

/// What answers for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handler {
    Front,
    Login,
    Folder,
    Article,
    Item,
    List,
    Person,
    History,
    Files,
    Calendar,
    Go,
    Asset,
    Shared,
    Short,
    Members,
    Dead,
    Dispatched,
    Chart,
    Guide,
    Desk,
}

/// One page, in its plainest spelling: no host, no alias, no parameter that is not needed.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) handler: Handler,
    /// Is it a page of the sub-site, which has a host of its own?
    pub(super) sub: bool,
    pub(super) path: String,
    pub(super) query: Vec<(&'static str, String)>,
    /// What is shown: equal for pages that are equal in bytes by coincidence.
    pub(super) shown: u64,
    /// The traps that it belongs to.
    pub(super) traps: Features,
    /// Entries of a list, or lines of a history.
    pub(super) entries: u32,
}

impl Target {
    pub(super) fn new(handler: Handler, path: String) -> Target {
        Target {
            handler,
            sub: false,
            path,
            query: Vec::new(),
            shown: 0,
            traps: Features::default(),
            entries: 0,
        }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl ToString) -> Target {
        self.query.push((name, value.to_string()));
        self
    }

    pub(super) fn trapped(mut self, trap: Feature) -> Target {
        self.traps.insert(trap);
        self
    }

    /// Host, path and query as one text: no two pages of a site share it.
    pub(super) fn identity(&self) -> String {
        let mut text = format!("{} {}", if self.sub { "sub" } else { "main" }, self.path);
        for (name, value) in &self.query {
            text.push_str(&format!(" {name}={value}"));
        }
        text
    }

    /// How many pages a list with this number of entries has.
    pub(super) fn list_pages(&self) -> u32 {
        self.entries.div_ceil(ENTRIES).max(1)
    }

    /// How many of the given number of lines of a history are shown with `limit`.
    pub(super) fn lines_shown(&self, limit: u32) -> u32 {
        self.entries.min(limit)
    }
}
