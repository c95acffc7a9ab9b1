//! HOT: once per input byte. The fast lane: the canonical form in one pass, or a refusal.
//!
//! Price: one pass over a URL that is already canonical, which is then returned as it is; a second
//! one, writing, over a URL that is not. No allocation once the buffers have grown, no lock, no
//! formatting. Guard: `benches/canonical.rs`, group `fused`. Twin: `reference.rs` gives the same
//! answer slowly; `tests/it/lanes.rs` and the fuzz target `lanes` compare the two.
//!
//! `head.rs` reads scheme, host and port; `accept.rs` decides whether the rest is canonical; if
//! not, `rewrite.rs` writes all of it; `classes.rs` has the tables they go by.
//!
//! It refuses whatever is rare and intricate (users, IDN, odd addresses, session ids in paths,
//! control characters, …): then the reference lane answers. It never differs from it.

mod accept;
mod classes;
mod head;
mod rewrite;

use std::sync::Arc;

use super::names::{IndexNames, ParamNames, SessionNames};
use super::profile::{Profile, Slash, Www};
use super::rules::RuleId;
use classes::{Table, host_table, path_table, query_table};
use rewrite::Piece;

/// What the fast lane says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer<'a> {
    /// The line is its own canonical form.
    Same(&'a [u8]),
    /// The canonical form was written.
    Written,
    /// Ask the reference lane.
    Refused,
}

/// Buffers that one worker reuses.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The pieces of the query being written.
    pieces: Vec<Piece>,
    /// The query, sorted.
    sorted: Vec<u8>,
}

/// A profile in the form that the loops need.
#[derive(Debug)]
pub(super) struct Fused {
    host: Table,
    path: Table,
    query: Table,
    form: bool,
    empty_values: bool,
    drop_fragment: bool,
    keep_routes: bool,
    maps_addresses: bool,
    drop_www: bool,
    https_to_http: bool,
    one_slash: bool,
    sessions: Option<Arc<SessionNames>>,
    drop_params: Option<Arc<ParamNames>>,
    sort: bool,
    drop_empty_query: bool,
    index_names: Option<Arc<IndexNames>>,
    slash: Slash,
}

impl Fused {
    /// The fast lane for `profile`, or `None` if the profile asks for more than it can do.
    pub(super) fn compile(profile: &Profile) -> Option<Fused> {
        let options = &profile.options;
        let on = |rule| profile.rules.contains(rule);
        let base = [
            RuleId::Case,
            RuleId::DefaultPort,
            RuleId::Escapes,
            RuleId::DotSegments,
            RuleId::Encoding,
            RuleId::TrailingSlash,
        ];
        let asks_for_more = !options.latin1_hosts.is_empty()
            || on(RuleId::Www) && options.www == Www::Add
            || on(RuleId::Scheme) && !options.scheme_to_http
            || on(RuleId::Params) && !options.keep_params.is_empty()
            || on(RuleId::DefaultParams) && !options.default_params.is_empty()
            || on(RuleId::Dust) && !options.dust.is_empty();
        if !profile.parses || !base.into_iter().all(on) || asks_for_more {
            return None;
        }
        let sessions = on(RuleId::SessionIds).then(|| options.sessions.clone());
        Some(Fused {
            host: host_table(),
            path: path_table(options.form_spelling, sessions.is_some()),
            query: query_table(options.form_spelling),
            form: options.form_spelling,
            empty_values: options.empty_values,
            drop_fragment: on(RuleId::Fragment),
            keep_routes: options.keep_routes,
            maps_addresses: on(RuleId::IpHost) && !options.hosts.is_empty(),
            drop_www: on(RuleId::Www),
            https_to_http: on(RuleId::Scheme),
            one_slash: on(RuleId::DuplicateSlashes),
            sessions,
            drop_params: on(RuleId::Params).then(|| options.drop_params.clone()),
            sort: on(RuleId::QueryOrder),
            drop_empty_query: on(RuleId::EmptyQuery),
            index_names: on(RuleId::DirectoryIndex).then(|| options.index_names.clone()),
            slash: options.slash,
        })
    }

    /// The canonical form of `line`: itself, written into `out`, or refused.
    #[inline]
    pub(super) fn run<'a>(
        &self,
        line: &'a [u8],
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Answer<'a> {
        let Some(head) = self.head(line) else { return Answer::Refused };
        // Bet: most URLs of a list are canonical already (share per corpus: data/README.md).
        // Lost: `rewrite` starts over and never comes back.
        if head.is_canonical && self.is_canonical_from(line, &head) {
            return Answer::Same(line);
        }
        match self.rewrite(line, &head, scratch, out) {
            Some(()) => Answer::Written,
            None => Answer::Refused,
        }
    }

    /// Does the parameter go?
    #[inline]
    fn drops(&self, host: &[u8], name: &[u8], value: &[u8]) -> bool {
        self.drop_params.as_ref().is_some_and(|names| names.matches(host, name, value))
            || self.sessions.as_ref().is_some_and(|names| names.matches_query(name, value))
    }
}
