//! What is known of a candidate before its site is looked at: names, values, and kinds of rules.

use super::candidates::Act;
use super::paths::{PathAct, Shape};
use crate::canonical::{ParamNames, SessionNames};
use crate::mine::seen::table::{FIRST_VALUES, Table, hash};
use crate::mine::stats::Belief;
use crate::mine::trials::BAR;

/// Parameters that decide, on most sites, which page it is. They are never dropped without somebody
/// looking; only their first value may be a default.
pub(in crate::mine) const GUARDED: [&[u8]; 13] = [
    b"q", b"query", b"search", b"id", b"p", b"page", b"offset", b"start", b"cursor", b"limit",
    b"token", b"key", b"user",
];

/// Parameters that count through a list, whose first value is what is shown without them.
pub(in crate::mine) const COUNTERS: [&[u8]; 10] =
    [b"page", b"p", b"start", b"offset", b"pg", b"paged", b"pagenum", b"pageno", b"from", b"first"];

/// What is believed of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::mine) struct Prior {
    /// The weights of the sorts of rules.
    pub(in crate::mine) belief: Belief,
    /// Distinct contents that must have agreed before it is applied without asking.
    pub(in crate::mine) contents_min: u64,
    /// The least rate that it must have.
    pub(in crate::mine) bar: f64,
    /// Must somebody look at it, whatever the samples say?
    pub(in crate::mine) guarded: bool,
    /// Is it on a list of what never matters? Then it holds unless samples speak
    /// clearly against it.
    pub(in crate::mine) listed: bool,
}

impl Prior {
    /// Is it of a kind of which more is known than what its site shows?
    pub(in crate::mine) fn is_known(&self) -> bool {
        self.belief != PLAIN
    }

    /// Is it of a kind that holds on most sites where anything speaks for it?
    pub(in crate::mine) fn is_usual(&self) -> bool {
        self.belief == USUAL
    }
}

/// The rate where a mistake would be likely and costly.
const STRICT_BAR: f64 = 0.99;

/// The rate for the case of paths: where it matters on some pages only, most groups agree all the
/// same.
const FOLD_BAR: f64 = 0.98;

/// A candidate of which nothing is known: as likely to hold as not.
pub(in crate::mine) const PLAIN: Belief = Belief { holds: 0.5, depends: 0.1, fails: 0.4 };

/// One of a kind that holds on most sites where anything speaks for it.
const USUAL: Belief = Belief { holds: 0.8, depends: 0.04, fails: 0.16 };

/// A name or value that says itself that it is no part of the page.
const KNOWN: Belief = Belief { holds: 0.93, depends: 0.02, fails: 0.05 };

/// Contents asked for where nothing is known, and where the kind is known.
pub(in crate::mine) const CONTENTS_MIN: u64 = 20;
const CONTENTS_MIN_KNOWN: u64 = 8;

/// What the parameters of a site are like, by number of the name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::mine) struct Nature {
    /// Is it on the list of tracking parameters, or of session numbers?
    pub(in crate::mine) listed: bool,
    /// Do its values look like session numbers?
    pub(in crate::mine) session: bool,
    /// Is it a name that is guarded?
    pub(in crate::mine) guarded: bool,
    /// Does it count through a list?
    pub(in crate::mine) counts: bool,
    /// Are its values short numbers: page numbers, page sizes, versions?
    pub(in crate::mine) short: bool,
}

/// Most digits of a number that may be that of a page, of a version, or a number of lines. Such a
/// parameter matters on some pages only, and the pages on which it does are rarely seen twice.
const SHORT_DIGITS: usize = 4;

fn is_short(value: &[u8]) -> bool {
    (1..=SHORT_DIGITS).contains(&value.len()) && value.iter().all(u8::is_ascii_digit)
}

/// Are the values short numbers, nearly all of them?
pub(in crate::mine) fn are_short<'a>(values: impl Iterator<Item = &'a [u8]>) -> bool {
    let (mut all, mut short) = (0u64, 0u64);
    for value in values {
        all += 1;
        short += u64::from(is_short(value));
    }
    all > 0 && short * 10 >= all * 9
}

/// Values of a name that are looked at.
const VALUES: u32 = 64;

/// Looks at the names and values of a site.
pub(in crate::mine) fn natures(table: &Table) -> Vec<Nature> {
    let (params, sessions) = (ParamNames::built_in(), SessionNames::built_in());
    let mut seen = vec![[0u32; 4]; table.names.len()];
    for url in &table.urls {
        for param in table.params_of(url) {
            let counts = &mut seen[param.name as usize];
            if counts[0] == VALUES {
                continue;
            }
            let (name, value) = (&table.names[param.name as usize], table.bytes(param.text));
            let listed = params.matches(b"", name, value) || sessions.matches_query(name, value);
            counts[0] += 1;
            counts[1] += u32::from(listed);
            counts[2] += u32::from(Shape::of(value).is_some());
            counts[3] += u32::from(is_short(value));
        }
    }
    let is_in = |list: &[&[u8]], name: &[u8]| list.iter().any(|one| name.eq_ignore_ascii_case(one));
    let nature = |(name, [all, listed, session, short]): (&Vec<u8>, &[u32; 4])| Nature {
        listed: *all > 0 && listed * 10 >= all * 9,
        session: *all >= 8 && session * 10 >= all * 9,
        guarded: is_in(&GUARDED, name),
        counts: is_in(&COUNTERS, name),
        short: *all > 0 && short * 10 >= all * 9,
    };
    table.names.iter().zip(&seen).map(nature).collect()
}

/// Is it the number where a list begins?
pub(in crate::mine) fn is_first(value: u64) -> bool {
    FIRST_VALUES.iter().any(|first| hash(first) == value)
}

/// What is believed of `act`.
pub(in crate::mine) fn prior(table: &Table, natures: &[Nature], act: &Act) -> Prior {
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
        let natures = natures(&table);
        let number = |text: &[u8]| table.names.iter().position(|name| name == text).unwrap();
        let of = |text: &[u8]| natures[number(text)];
        assert!(of(b"utm_source").listed && of(b"id").guarded && !of(b"id").listed);
        assert!(of(b"sx").session && !of(b"sx").listed);
        assert!(of(b"page").counts);
        let prior = |act| prior(&table, &natures, &act);
        assert!(prior(Act::Drop(number(b"id") as u32)).guarded);
        let first = Act::Default(number(b"page") as u32, crate::mine::seen::table::hash(b"1"));
        assert_eq!(prior(first).bar, BAR);
        let other = Act::Default(number(b"page") as u32, crate::mine::seen::table::hash(b"7"));
        assert_eq!(prior(other).bar, STRICT_BAR);
    }
}
