//! What is known of a candidate before its site is looked at: names, values, and kinds of rules.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::candidates::Act;
use super::paths::PathAct;
use crate::canonical::{ParamNames, SessionNames};
use crate::mine::seen::maps::{Map, hash, map, mix};
use crate::mine::seen::segments::Shape;
use crate::mine::seen::table::{FIRST_VALUES, NO_VALUE, Table};
use crate::mine::stats::Belief;
use crate::mine::trials::BAR;

/// Parameters that decide, on most sites, which page it is. They are never dropped without somebody
/// looking; only their first value may be a default.
pub(crate) const GUARDED: [&[u8]; 13] = [
    b"q", b"query", b"search", b"id", b"p", b"page", b"offset", b"start", b"cursor", b"limit",
    b"token", b"key", b"user",
];

/// Parameters that count through a list, whose first value is what is shown without them.
pub(crate) const COUNTERS: [&[u8]; 10] =
    [b"page", b"p", b"start", b"offset", b"pg", b"paged", b"pagenum", b"pageno", b"from", b"first"];

/// What is believed of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prior {
    /// The weights of the sorts of rules.
    pub(crate) belief: Belief,
    /// Distinct contents that must have agreed before it is applied without asking.
    pub(crate) contents_min: u64,
    /// The least rate that it must have.
    pub(crate) bar: f64,
    /// Must it be reviewed, whatever the samples say?
    pub(crate) guarded: bool,
    /// Is it on a list of what never matters? Then it holds unless samples speak
    /// clearly against it.
    pub(crate) listed: bool,
}

impl Prior {
    /// Is more known about its kind than its site shows?
    pub(crate) fn is_known(&self) -> bool {
        self.belief != PLAIN
    }

    /// Is it of a kind that holds on most sites where anything speaks for it?
    pub(crate) fn is_usual(&self) -> bool {
        self.belief == USUAL
    }
}

/// The rate where a mistake would be likely and costly.
const STRICT_BAR: f64 = 0.99;

/// The rate for the case of paths: even if it matters on some pages, most groups agree.
const FOLD_BAR: f64 = 0.98;

/// A candidate about which nothing is known: as likely to hold as not.
pub(crate) const PLAIN: Belief = Belief { holds: 0.5, depends: 0.1, fails: 0.4 };

/// One of a kind that holds on most sites where anything speaks for it.
const USUAL: Belief = Belief { holds: 0.8, depends: 0.04, fails: 0.16 };

/// A name or value that says itself that it is no part of the page.
const KNOWN: Belief = Belief { holds: 0.93, depends: 0.02, fails: 0.05 };

/// Contents required if nothing is known, and if the kind is known.
pub(crate) const CONTENTS_MIN: u64 = 20;
const CONTENTS_MIN_KNOWN: u64 = 8;

/// What a parameter of a site is like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nature {
    /// Is it on the list of tracking parameters, or of session numbers?
    pub(crate) listed: bool,
    /// Do its values look like session numbers?
    pub(crate) session: bool,
    /// Is it a name that is guarded?
    pub(crate) guarded: bool,
    /// Does it count through a list?
    pub(crate) counts: bool,
    /// Are its values short numbers: page numbers, page sizes, versions?
    pub(crate) short: bool,
    /// Does it occur without `=`?
    pub(crate) bare: bool,
}

/// Most digits of a number that may be that of a page, of a version, or a number of lines. Such a
/// parameter matters on some pages only, and the pages on which it does are rarely seen twice.
const SHORT_DIGITS: usize = 4;

fn is_short(value: &[u8]) -> bool {
    (1..=SHORT_DIGITS).contains(&value.len()) && value.iter().all(u8::is_ascii_digit)
}

/// Are the values short numbers, nearly all of them?
pub(crate) fn are_short<'a>(values: impl Iterator<Item = &'a [u8]>) -> bool {
    let (mut all, mut short) = (0u64, 0u64);
    for value in values {
        all += 1;
        short += u64::from(is_short(value));
    }
    all > 0 && short * 10 >= all * 9
}

/// Values of a name that are looked at under each handler.
const VALUES: usize = 64;

/// Fewest values of a handler that make it one whose values are not like those on a list. Reason:
/// one may be a session number that was cut off.
const UNLIKE_MIN: u64 = 2;

/// What the parameters of a site are like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Natures {
    /// By number of the name.
    pub(crate) of_names: Vec<Nature>,
    /// Names that are listed, each with the handlers under which its values are not those that the
    /// list is about: `sid` may be the number of a session, and that of a story.
    unlike: BTreeMap<u32, BTreeSet<u32>>,
}

impl Natures {
    /// The handlers under which the values of a name, which is listed, are not those of the list.
    /// Handlers are those of paths, whatever they are split into.
    pub(crate) fn unlike(&self, name: u32) -> impl Iterator<Item = u32> {
        self.unlike.get(&name).into_iter().flatten().copied()
    }
}

/// Some values of a name under a handler, drawn from all of them.
#[derive(Default)]
struct Drawn(BinaryHeap<(u64, u32)>);

impl Drawn {
    /// Adds the parameter of this number; replaces another if there are enough.
    fn add(&mut self, param: u32) {
        let drawn = (mix(u64::from(param)), param);
        if self.0.len() < VALUES {
            self.0.push(drawn);
        } else if let Some(mut last) = self.0.peek_mut()
            && drawn < *last
        {
            *last = drawn;
        }
    }
}

/// How many values there are, and how many of them are of some kind.
#[derive(Clone, Copy, Default)]
struct Kinds {
    all: u64,
    listed: u64,
    session: u64,
    short: u64,
}

impl Kinds {
    fn is_most(self, some: u64) -> bool {
        self.all > 0 && some * 10 >= self.all * 9
    }
}

/// Looks at the names and values of a site; `handlers` has one for each path. As many values are
/// drawn under each handler, so that none of them decides for the whole site.
pub(crate) fn natures(table: &Table, handlers: &[u32]) -> Natures {
    let (params, sessions) = (ParamNames::built_in(), SessionNames::built_in());
    let mut drawn: Map<(u32, u32), Drawn> = map();
    let mut bare = vec![false; table.names.len()];
    for url in &table.urls {
        let handler = handlers[url.path as usize];
        for (number, param) in (url.params.start..).zip(table.params_of(url)) {
            drawn.entry((param.name, handler)).or_default().add(number);
            bare[param.name as usize] |= param.value == NO_VALUE;
        }
    }
    let mut drawn: Vec<((u32, u32), Drawn)> = drawn.into_iter().collect();
    drawn.sort_unstable_by_key(|(slot, _)| *slot);
    let mut of_names = vec![Kinds::default(); table.names.len()];
    let mut unlike: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for ((number, handler), Drawn(values)) in drawn {
        let name = &table.names[number as usize];
        let mut here = Kinds::default();
        for (_, param) in values {
            let value = table.bytes(table.params[param as usize].text);
            let listed = params.matches(b"", name, value) || sessions.matches_query(name, value);
            here.all += 1;
            here.listed += u64::from(listed);
            here.session += u64::from(Shape::of(value).is_some());
            here.short += u64::from(is_short(value));
        }
        if !here.is_most(here.listed) && here.all - here.listed >= UNLIKE_MIN {
            unlike.entry(number).or_default().insert(handler);
        }
        let sum = &mut of_names[number as usize];
        sum.all += here.all;
        sum.listed += here.listed;
        sum.session += here.session;
        sum.short += here.short;
    }
    let is_in = |list: &[&[u8]], name: &[u8]| list.iter().any(|one| name.eq_ignore_ascii_case(one));
    let nature = |((name, kinds), bare): ((&Vec<u8>, &Kinds), bool)| Nature {
        listed: kinds.is_most(kinds.listed),
        session: kinds.all >= 8 && kinds.is_most(kinds.session),
        guarded: is_in(&GUARDED, name),
        counts: is_in(&COUNTERS, name),
        short: kinds.is_most(kinds.short),
        bare,
    };
    let names = table.names.iter().zip(&of_names).zip(bare);
    let of_names: Vec<Nature> = names.map(nature).collect();
    unlike.retain(|name, _| of_names[*name as usize].listed);
    Natures { of_names, unlike }
}

/// Is it the number where a list begins?
pub(crate) fn is_first(value: u64) -> bool {
    FIRST_VALUES.iter().any(|first| hash(first) == value)
}

/// Can a rule say that the parameter with this value is the same as none? It takes one without `=`
/// for an empty one, so it must not be seen in both ways.
pub(crate) fn is_told_as_default(nature: Nature, value: u64) -> bool {
    value != NO_VALUE && !(nature.bare && value == hash(b""))
}

/// What is believed of `act`.
pub(crate) fn prior(table: &Table, natures: &[Nature], act: &Act) -> Prior {
    let usual = Prior {
        belief: USUAL,
        contents_min: CONTENTS_MIN_KNOWN,
        bar: BAR,
        guarded: false,
        listed: false,
    };
    let plain = Prior {
        belief: PLAIN,
        contents_min: CONTENTS_MIN,
        bar: BAR,
        guarded: false,
        listed: false,
    };
    match act {
        Act::Host(a, b) => {
            let host = |number: &u32| table.hosts[*number as usize].as_slice();
            let bare = |host: &'_ [u8]| host.strip_prefix(b"www.").unwrap_or(host).to_vec();
            if bare(host(a)) == bare(host(b)) { usual } else { plain }
        }
        Act::Scheme(_) | Act::Order => usual,
        Act::Port(_) => plain,
        Act::Path(PathAct::Parameter(name)) => {
            let session = SessionNames::built_in();
            let listed = session.matches_path(name, b"0123456789ABCDEF0123456789ABCDEF");
            if listed { Prior { belief: KNOWN, listed, ..usual } } else { plain }
        }
        Act::Path(PathAct::Segment(_)) => plain,
        Act::Path(PathAct::Slash | PathAct::Index(_) | PathAct::DoubleSlash) => usual,
        Act::Path(PathAct::FoldCase) => Prior { bar: FOLD_BAR, ..plain },
        Act::Path(_) => plain,
        Act::Drop(name) => {
            let nature = natures[*name as usize];
            let base = match nature {
                Nature { listed: true, .. } => Prior { belief: KNOWN, listed: true, ..usual },
                Nature { session: true, guarded: false, .. } => usual,
                _ => plain,
            };
            Prior { guarded: (nature.guarded || nature.short) && !nature.listed, ..base }
        }
        Act::Default(name, value) => {
            let nature = natures[*name as usize];
            if nature.counts && is_first(*value) {
                usual
            } else if nature.guarded {
                Prior { bar: STRICT_BAR, ..plain }
            } else {
                plain
            }
        }
        Act::Value(..) | Act::Keep(..) => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::seen::observation::Observation;
    use crate::mine::seen::table::tests::canonicalizer;

    #[test]
    fn names_and_values() {
        let urls: Vec<String> = (0..20)
            .map(|n| {
                format!(
                    "http://a.test/x?id={n}&utm_source=s&sx=a{n}b9f8e7d6c5b4a3{}&page=1",
                    n * 7919 + 1_000_000
                )
            })
            .collect();
        let list: Vec<Observation<'_>> = urls
            .iter()
            .map(|url| Observation { url: url.as_bytes(), ..Observation::default() })
            .collect();
        let table = Table::build(&list, &canonicalizer());
        let natures = natures(&table, &vec![0; table.paths.len()]).of_names;
        let number = |text: &[u8]| table.names.iter().position(|name| name == text).unwrap();
        let of = |text: &[u8]| natures[number(text)];
        assert!(of(b"utm_source").listed && of(b"id").guarded && !of(b"id").listed);
        assert!(of(b"sx").session && !of(b"sx").listed);
        assert!(of(b"page").counts);
        let prior = |act| prior(&table, &natures, &act);
        assert!(prior(Act::Drop(number(b"id") as u32)).guarded);
        let first = Act::Default(number(b"page") as u32, crate::mine::seen::maps::hash(b"1"));
        assert_eq!(prior(first).bar, BAR);
        let other = Act::Default(number(b"page") as u32, crate::mine::seen::maps::hash(b"7"));
        assert_eq!(prior(other).bar, STRICT_BAR);
    }
}
