//! HOT: once per input byte. The fast lane: the canonical form in one pass, or a refusal.
//!
//! ```text
//! given   http://a.test/x/%41?b=1&a=2#top
//!  marks  one bit per byte and set: where the host ends, what needs a look in a path, …
//!  head   scheme, host, port                          canonical?  or written
//!  path   up to the first ? or #                      canonical?  or written
//!  query  pieces: kept as they are, spelled, dropped; canonical if all are kept, in order;
//!         in `short.rs` where they are few and none is to be spelled
//! ```
//!
//! Which function answers, each way rarer than the one above it:
//!
//! ```text
//! run, run_in ─ canonicalize ┬ plain_head, rare_head            where the path begins
//!                            └ behind_head ┬ plain_rest         nothing, one parameter, a fragment
//!                                          ├ with_short_query   few parameters, none to be spelled
//!                                          └ with_any_query     whatever else there is
//! answer_of_site ─ with_rules_of_site ─ site_rules_to_fixpoint    again, until nothing changes
//! ```
//!
//! Price: the marks (see `bytes/marks/mod.rs`), then a step for each mark, not for each byte. A URL
//! that is canonical, or is so up to its fragment, is returned as it is; of another one, what is
//! canonical is copied and only the rest is spelled. No allocation once the buffers have grown, no
//! lock, no formatting. Guard: `benches/canonical.rs`, group `fused`. Twin: `reference.rs` gives
//! the same answer slowly; `tests/it/lanes.rs` and the fuzz target `lanes` compare the two.
//!
//! It refuses whatever is rare and intricate (users, IDN, odd addresses, session ids as segments,
//! control characters, …): then the reference lane answers. It never differs from it.

mod classes;
mod fragment;
mod head;
mod hosts;
mod order;
mod path;
mod query;
mod short;
mod suffixes;

use std::ops::Range;
use std::sync::Arc;

use super::dust::{DustRules, Target};
use super::options::{WebScheme, Www};
use super::profile::Profile;
use super::rules::RuleId;
use crate::bytes::ahead::Ahead;
use crate::bytes::marks::{MarkRows, Marker, Marks, ends_amid_escape};
use crate::bytes::push_up_to;
use crate::limits::URL_BYTES_MAX;
use classes::{Escaping, SETS, marker, set};
use fragment::FragmentRules;
use head::{Head, HeadRules};
use hosts::KnownHosts;
use path::{Path, PathRules};
use query::{Pieces, Query, QueryRules};

/// Most rounds of a site's rules and those of the profile; then the reference lane counts steps.
const ROUNDS: usize = 4;

/// The shortest head: `http://a`.
const HEAD_BYTES_MIN: usize = 8;

/// The bytes of most parts of URLs that are copied at once.
const USUAL: usize = 128;

/// What the fast lane says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The canonical form is as much of what is given.
    Same(usize),
    /// The canonical form was written.
    Written,
    /// Ask the reference lane.
    Refused,
}

/// Buffers that one worker reuses.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The marks of a URL that stands alone.
    rows: MarkRows<SETS>,
    /// The marks of URLs that are parts of a text.
    ahead: Ahead<SETS>,
    kept: Kept,
}

impl Scratch {
    /// Discards the marks of the current text.
    pub(super) fn clear_marks(&mut self) {
        self.ahead.clear();
    }
}

/// What is kept from URL to URL, except their marks.
#[derive(Debug, Default)]
struct Kept {
    names: KnownHosts,
    query: Pieces,
    /// Are there rules for the site of the URL? Only with rules of sites.
    has_rules: bool,
    /// A URL that rules of its site work on, and what they make of it.
    target: Target,
    rewritten: Vec<u8>,
}

/// A line and its marks.
#[derive(Clone, Copy)]
struct MarkedUrl<'a> {
    given: &'a [u8],
    /// What starts with the URL, to copy from: a copy of a fixed length may reach past its end.
    text: &'a [u8],
    marks: Marks<'a, SETS>,
}

/// What is known of a URL up to its query.
struct Start<'a> {
    head: Head<'a>,
    path: Path,
    path_end: usize,
}

impl Start<'_> {
    fn is_canonical(&self) -> bool {
        self.head.is_canonical && self.path.is_canonical()
    }
}

/// A profile in the form that the loops need, apart for each part of a URL.
#[derive(Debug)]
pub(super) struct Fused {
    marker: Marker<SETS, true>,
    head: HeadRules,
    path: PathRules,
    query: QueryRules,
    fragment: FragmentRules,
    dust: Option<Arc<DustRules>>,
}

impl Fused {
    /// The fast lane for `profile`, or `None` if the profile asks for more than it can do.
    pub(super) fn compile(profile: &Profile) -> Option<Fused> {
        let options = &profile.options;
        let on = |rule| profile.rules.contains(rule);
        let base = [
            RuleId::Case,
            RuleId::DefaultPort,
            RuleId::DotSegments,
            RuleId::Encoding,
            RuleId::TrailingSlash,
        ];
        let escaping = Escaping::of(profile)?;
        let asks_for_more = !options.latin1_hosts.is_empty()
            || on(RuleId::Www) && options.www == Www::Add
            || on(RuleId::Scheme) && options.scheme != WebScheme::Http
            || on(RuleId::Params) && !options.keep_params.is_empty()
            || on(RuleId::DefaultParams) && !options.default_params.is_empty();
        if !profile.parses || !base.into_iter().all(on) || asks_for_more {
            return None;
        }
        let head = HeadRules::of(profile);
        let path = PathRules::of(profile, escaping);
        let query = QueryRules::of(profile, escaping);
        // A value may hold an `=` that is raw.
        let is_raw = |byte: u8| {
            byte == b'=' || path.is_raw[usize::from(byte)] || query.is_raw[usize::from(byte)]
        };
        Some(Fused {
            marker: marker(&head.classes, &path.classes, &query.classes, is_raw, path.one_slash),
            head,
            path,
            query,
            fragment: FragmentRules::of(profile, escaping),
            dust: (on(RuleId::Dust) && !options.dust.is_empty()).then(|| options.dust.clone()),
        })
    }

    /// Finds the canonical form of `given`: it is `given` itself, or written into `out`, or
    /// refused.
    #[inline(always)]
    pub(super) fn run(&self, given: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) -> Answer {
        if given.len() > URL_BYTES_MAX {
            return Answer::Refused;
        }
        let Scratch { rows, kept, .. } = scratch;
        let url = MarkedUrl { given, text: given, marks: self.marker.mark(given, rows) };
        let answer = self.canonicalize(&url, kept, out);
        self.answer_of_site(given, answer, scratch, out)
    }

    #[cold]
    #[inline(never)]
    fn run_alone(&self, given: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) -> Answer {
        self.run(given, scratch, out)
    }

    /// Finds the canonical form of a URL `given`, as [`Self::run`] does, in a `text` where it
    /// starts at `start`. Between two texts, the scratch [forgets](Scratch::clear_marks) the marks
    /// of the first.
    #[inline(always)]
    pub(super) fn run_in(
        &self,
        text: &[u8],
        start: usize,
        given: &[u8],
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Answer {
        if given.len() > URL_BYTES_MAX {
            return Answer::Refused;
        }
        // A hexadecimal digit after the URL would count as a part of it.
        if text.get(start + given.len()).is_some_and(|behind| *behind >= b'0')
            && ends_amid_escape(given)
        {
            return self.run_alone(given, scratch, out);
        }
        let Scratch { ahead, kept, .. } = scratch;
        let marks = ahead.marks(&self.marker, text, start, given.len());
        let url = MarkedUrl { given, text: &text[start..], marks };
        let answer = self.canonicalize(&url, kept, out);
        self.answer_of_site(given, answer, scratch, out)
    }

    /// Goes on from the `answer` where there are rules for the site of the URL.
    #[inline(always)]
    fn answer_of_site(
        &self,
        given: &[u8],
        answer: Answer,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Answer {
        match &self.dust {
            Some(dust) if scratch.kept.has_rules => {
                self.with_rules_of_site(dust, given, answer, scratch, out)
            }
            _ => answer,
        }
    }

    /// Goes on from the `answer` with the rules of its site: what they change is made canonical
    /// again, until they change nothing.
    #[inline(never)]
    fn with_rules_of_site(
        &self,
        dust: &DustRules,
        given: &[u8],
        answer: Answer,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Answer {
        match answer {
            Answer::Same(end) => replace(out, &given[..end]),
            Answer::Written => {}
            Answer::Refused => return answer,
        }
        match self.site_rules_to_fixpoint(dust, scratch, out) {
            Some(true) => Answer::Written,
            Some(false) => answer,
            None => Answer::Refused,
        }
    }

    /// Applies the rules of the site to the canonical URL in `out`. Says whether anything changed;
    /// `None` to refuse.
    fn site_rules_to_fixpoint(
        &self,
        dust: &DustRules,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Option<bool> {
        let Scratch { rows, kept, .. } = scratch;
        for round in 0..ROUNDS {
            let fragment = kept.target.read(out)?;
            if !dust.apply(&mut kept.target) {
                return Some(round > 0);
            }
            let mut given = std::mem::take(&mut kept.rewritten);
            kept.target.write(&mut given);
            given.extend_from_slice(&out[fragment..]);
            let again = if given.len() > URL_BYTES_MAX {
                Answer::Refused
            } else {
                let marks = self.marker.mark(&given, rows);
                let url = MarkedUrl { given: &given, text: &given, marks };
                self.canonicalize(&url, kept, out)
            };
            if let Answer::Same(end) = again {
                replace(out, &given[..end]);
            }
            kept.rewritten = given;
            if again == Answer::Refused {
                return None;
            }
        }
        None
    }

    /// The canonical form of `url`, without the rules of its site.
    #[inline(always)]
    fn canonicalize(&self, url: &MarkedUrl, kept: &mut Kept, out: &mut Vec<u8>) -> Answer {
        let Kept { names, query, has_rules, .. } = kept;
        // Bet: the head is one that most URLs have.
        let head = self.head.plain_head::<true>(url).or_else(|| self.rare_head(url, names));
        head.and_then(|head| self.behind_head(url, head, query, has_rules, out))
            .unwrap_or(Answer::Refused)
    }

    /// The head of a URL that is not a usual one; `None` to refuse.
    #[inline(never)]
    fn rare_head<'a>(&self, url: &MarkedUrl<'a>, names: &'a mut KnownHosts) -> Option<Head<'a>> {
        self.head.plain_head::<false>(url).or_else(|| self.head.any_head(url, names))
    }

    /// The canonical form of `url`, whose `head` is known; `None` to refuse.
    #[inline(always)]
    fn behind_head(
        &self,
        url: &MarkedUrl,
        head: Head,
        pieces: &mut Pieces,
        has_rules: &mut bool,
        out: &mut Vec<u8>,
    ) -> Option<Answer> {
        if let Some(dust) = &self.dust {
            *has_rules = dust.may_apply(head.name);
        }
        let given = url.given;
        let mut path_end = url.marks.next_soon(set::CUT, HEAD_BYTES_MIN);
        // An `&` in a path is rare.
        while given.get(path_end) == Some(&b'&') {
            path_end = url.marks.next(set::CUT, path_end + 1);
        }
        let path = self.path.judge_path(url, head.rest, path_end);
        // Bet: most URLs of a list are canonical already (share per corpus: data/README.md), but
        // for their head and how the path ends, if at all, and most have no query or one parameter.
        if let Some(end) = path.canonical_end(path_end)
            && let Some(rest) = self.plain_rest(url, path_end, head.name)
        {
            return Some(if head.is_canonical && end == path_end {
                Answer::Same(rest)
            } else if head.is_canonical && rest == path_end {
                Answer::Same(end)
            } else {
                // A copy, so that the head itself need not be in memory.
                self.write_around(url, &{ head }, end, path_end..rest, out)
            });
        }
        let start = Start { head, path, path_end };
        // Bet: a query is short, has few parameters, and none has to be respelled.
        if path_end < given.len()
            && let Some(answer) = self.with_short_query(url, &start, out)
        {
            return Some(answer);
        }
        self.with_any_query(url, start, pieces, out)
    }

    /// Up to where what follows a path that ends at `path_end` stays, if that is nothing, one
    /// parameter that is spelled canonically or goes, or a fragment that goes. May be `None` where
    /// it is one of these.
    #[inline(always)]
    fn plain_rest(&self, url: &MarkedUrl, path_end: usize, host: &[u8]) -> Option<usize> {
        let given = url.given;
        match given.get(path_end) {
            None => Some(path_end),
            Some(b'?') => self.query.plain_query_end(url, path_end, host),
            Some(_) => {
                let goes = self.fragment.drop
                    && self.fragment.keeps(&given[path_end + 1..]) == Some(false);
                goes.then_some(path_end)
            }
        }
    }

    /// The canonical form of `url`, whose head and path are known, with any query and fragment;
    /// `None` to refuse.
    #[inline(never)]
    fn with_any_query(
        &self,
        url: &MarkedUrl,
        start: Start,
        pieces: &mut Pieces,
        out: &mut Vec<u8>,
    ) -> Option<Answer> {
        let given = url.given;
        let path_end = start.path_end;
        let query = match given.get(path_end) {
            Some(b'?') => self.query.read_query(url, path_end, start.head.name, pieces)?,
            _ => Query::none(path_end),
        };
        let fragment = &given[query.end..];
        let keeps_fragment = !fragment.is_empty() && self.fragment.keeps(&fragment[1..])?;
        let end = if keeps_fragment { given.len() } else { query.end };
        // Bet: many URLs that are not canonical are so but for their fragment, or for parameters
        // that are removed. Any other URL is written part by part.
        if start.is_canonical() {
            if query.is_canonical {
                return Some(Answer::Same(end));
            }
            if query.is_nothing() && !keeps_fragment {
                return Some(Answer::Same(path_end));
            }
        }
        self.write(url, start, (query, pieces), end, out)
    }

    /// Writes the canonical form of a URL that is canonical up to the end of `query`, but for its
    /// `head` and for what stands between `cut` and the query, which goes.
    #[inline(never)]
    fn write_around(
        &self,
        url: &MarkedUrl,
        head: &Head,
        cut: usize,
        query: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Answer {
        let MarkedUrl { given, text, .. } = *url;
        out.clear();
        out.reserve(given.len() + 1);
        let from = self.head.write_head(head, text, out);
        push_up_to::<USUAL>(out, text, from, cut);
        if !query.is_empty() {
            push_up_to::<USUAL>(out, text, query.start, query.end);
        }
        Answer::Written
    }

    /// Writes the canonical form of a URL up to `end`, part by part.
    #[inline(never)]
    fn write(
        &self,
        url: &MarkedUrl,
        start: Start,
        (query, pieces): (Query, &mut Pieces),
        end: usize,
        out: &mut Vec<u8>,
    ) -> Option<Answer> {
        let given = url.given;
        let path_end = start.path_end;
        self.write_start(url, &start, out)?;
        if query.is_canonical {
            push_up_to::<USUAL>(out, url.text, path_end, query.end);
        } else {
            query.write(url.text, pieces, out);
        }
        out.extend_from_slice(&given[query.end..end]);
        Some(Answer::Written)
    }

    /// Makes `out` the canonical form of a URL up to its query.
    #[inline(never)]
    fn write_start(&self, url: &MarkedUrl, start: &Start, out: &mut Vec<u8>) -> Option<()> {
        let Start { head, path, path_end } = start;
        let MarkedUrl { given, text, .. } = *url;
        out.clear();
        // Every byte may become an escape; one slash may be added.
        out.reserve(3 * given.len() + 1);
        let from = self.head.write_head(head, text, out);
        match path.canonical_end(*path_end) {
            Some(end) => push_up_to::<USUAL>(out, text, from, end),
            None => {
                push_up_to::<USUAL>(out, text, from, head.rest);
                self.path.write_path(url, head.rest, *path_end, *path, out)?;
            }
        }
        Some(())
    }
}

/// Makes `out` the same as `bytes`.
fn replace(out: &mut Vec<u8>, bytes: &[u8]) {
    out.clear();
    out.extend_from_slice(bytes);
}
