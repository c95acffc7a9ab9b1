//! How often two visitors of one page see one content, measured on spellings that are known.
//!
//! A test of two designs, or a choice by place, shows a page in some versions. A visitor who
//! returns with the session in the URL sees the same version, so recaptures of one URL say that the
//! page is steady, while two spellings of it, seen by two visitors, differ. And recaptures are few:
//! how fast pages change is known from them with a large error.
//!
//! What two visitors see is measured on *controls*: spellings that are one page for reasons outside
//! of the site's contents (a name on the lists, a session number, `www`, the order of parameters).
//! URLs that are equal but for controls are two visits of one page. If they agree less often than
//! recaptures do, that is put down to the pages and not to the controls only where
//!
//! - at least two ways of spelling, with no control in common, disagree equally often, so that one
//!   control that does not hold here is no reason; the way that agrees most is the measure;
//! - the contents come back: a third URL of the page shows one of the two again.
//!
//! The chance that is found becomes part of what a page's agreement with itself is. The bar stays
//! where it is, and the error of the chance is part of the doubt.

use std::collections::BTreeMap;

use super::count::Count;
use super::signal::{Calibration, Versions};
use crate::mine::acts::candidates::Act;
use crate::mine::acts::forms::{Fired, Forms};
use crate::mine::acts::paths::PathAct;
use crate::mine::acts::priors::{Nature, prior};
use crate::mine::seen::maps::mix;
use crate::mine::seen::table::Table;
use crate::mine::stats::{binomial_tail, wilson};

/// Most members of a group that are looked at.
const MEMBERS_MAX: usize = 24;

/// Fewest pages that say something about one way of spelling.
const PAGES_MIN: u64 = 12;

/// How unlikely agreements must be, if recaptures are taken at their word.
const UNLIKELY: f64 = 1e-3;

/// How unlikely a way of spelling must be among the others before it counts as another sort.
const UNLIKE: f64 = 0.01;

/// Least chance that two visitors see one version. Reason: with less, most pages differ for each
/// visitor, which looks just like pages that print their own URL.
const CHANCE_MIN: f64 = 0.5;

/// Least share of disagreements after which one of the two contents is seen again.
const COMES_BACK_MIN: f64 = 0.5;

/// What was seen of one way of spelling: a set of controls.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    count: Count,
    same: f64,
    high: f64,
}

impl Way {
    /// Agreements by those that recaptures make expect.
    fn rate(&self) -> f64 {
        self.count.agree as f64 / self.same.max(1e-9)
    }
}

/// Is the candidate one that pages cannot know of, whatever the site says?
pub(crate) fn is_control(table: &Table, natures: &[Nature], act: &Act) -> bool {
    let prior = prior(table, natures, act);
    match act {
        Act::Drop(name) => prior.listed || natures[*name as usize].session && !prior.guarded,
        Act::Host(..) | Act::Scheme(_) | Act::Order => prior.is_usual(),
        Act::Path(PathAct::Parameter(_)) => prior.listed,
        Act::Path(PathAct::Segment(shape)) => shape.length == 0,
        Act::Path(PathAct::Slash | PathAct::DoubleSlash) => true,
        _ => false,
    }
}

/// Measures the chance by the URLs of a site under its controls; [`Versions::ONE`] where nothing,
/// or not enough, speaks for less.
pub(crate) fn measure(table: &Table, calibration: &Calibration, forms: &Forms) -> Versions {
    let mut ways: BTreeMap<Vec<u16>, Way> = BTreeMap::new();
    let mut back = Count::default();
    let mut members: Vec<u32> = Vec::new();
    for group in forms.groups() {
        members.clear();
        let urls = group.iter().map(|keyed| keyed.url);
        members.extend(urls.filter(|url| !table.urls[*url as usize].moved));
        members.sort_by_key(|url| mix(u64::from(*url)));
        members.truncate(MEMBERS_MAX);
        let Some(visits) = visits(table, calibration, &members) else { continue };
        let differing = differing(forms.fired_on(visits.a), forms.fired_on(visits.b));
        let way = ways.entry(differing).or_default();
        way.count.add(visits.agree);
        way.same += visits.same;
        way.high += visits.high;
        if let Some(seen) = visits.seen_again {
            back.add(seen);
        }
    }
    found(&ways, back)
}

/// Two visits of one page.
struct Visits {
    a: u32,
    b: u32,
    agree: bool,
    same: f64,
    high: f64,
    /// If they disagree, and there is a third: does it show one of their contents?
    seen_again: Option<bool>,
}

/// The two members that are closest in time, where pages change; else as if drawn.
fn visits(table: &Table, calibration: &Calibration, members: &[u32]) -> Option<Visits> {
    let url = |number: u32| &table.urls[number as usize];
    let mut best: Option<(u8, u64, u32, u32)> = None;
    for (at, a) in members.iter().enumerate() {
        for b in &members[at + 1..] {
            let distance = calibration.distance(table, url(*a), url(*b));
            let pair = (distance, mix(u64::from(*a) << 32 ^ u64::from(*b)), *a, *b);
            if best.is_none_or(|best| pair < best) {
                best = Some(pair);
            }
        }
    }
    let (_, _, a, b) = best?;
    let one = calibration.compare(table, url(a), url(b))?;
    let contents = |number: u32| table.captures_of(url(number)).iter().map(|one| one.content);
    let shows = |number: u32, of: u32| {
        contents(number).any(|content| contents(of).any(|other| other == content))
    };
    let others = || members.iter().copied().filter(|other| *other != a && *other != b);
    let has_third = !one.agree && others().next().is_some();
    let seen_again = has_third.then(|| others().any(|third| shows(third, a) || shows(third, b)));
    Some(Visits { a, b, agree: one.agree, same: one.same, high: one.high, seen_again })
}

/// The candidates in which two URLs differ.
fn differing(a: &[Fired], b: &[Fired]) -> Vec<u16> {
    let ours = a.iter().filter(|one| !b.contains(one));
    let theirs = b.iter().filter(|one| !a.contains(one));
    let mut out: Vec<u16> = ours.chain(theirs).map(|one| one.candidate).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// What the ways of spelling say together.
fn found(ways: &BTreeMap<Vec<u16>, Way>, back: Count) -> Versions {
    let mut known: Vec<(&Vec<u16>, &Way)> = ways.iter().collect();
    known.retain(|(_, way)| way.count.pairs >= PAGES_MIN);
    known.sort_by(|a, b| b.1.rate().total_cmp(&a.1.rate()).then(a.0.cmp(b.0)));
    let mut pool = Way::default();
    let mut pooled: Vec<&[u16]> = Vec::new();
    for (controls, way) in known {
        if !pooled.is_empty() {
            // The ways so far agree more often than this one: more often than by chance?
            let expected = pool.rate() * way.same / way.count.pairs as f64;
            if binomial_tail(way.count.agree, way.count.pairs, expected) < UNLIKE {
                break;
            }
        }
        pool.count.agree += way.count.agree;
        pool.count.pairs += way.count.pairs;
        pool.same += way.same;
        pool.high += way.high;
        pooled.push(controls);
    }
    let apart = |a: &[u16], b: &[u16]| a.iter().all(|one| !b.contains(one));
    let independent = pooled
        .iter()
        .enumerate()
        .any(|(at, one)| pooled[at + 1..].iter().any(|other| apart(one, other)));
    if !independent || back.pairs == 0 || back.share() < COMES_BACK_MIN {
        return Versions::ONE;
    }
    let (agree, pairs) = (pool.count.agree, pool.count.pairs);
    let likely = pool.rate().min(1.0);
    let unlikely = binomial_tail(agree, pairs, pool.high / pairs as f64);
    if unlikely >= UNLIKELY || likely < CHANCE_MIN {
        return Versions::ONE;
    }
    let (_, upper) = wilson(agree as f64, pairs as f64, 1.0);
    Versions { likely, high: (upper * pairs as f64 / pool.same).clamp(likely, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(agree: u64, pairs: u64) -> Way {
        let same = pairs as f64;
        Way { count: Count { agree, pairs }, same, high: same }
    }

    #[test]
    fn two_ways_must_say_the_same() {
        let back = Count { agree: 30, pairs: 40 };
        let versions = |ways: &[(&[u16], Way)], back| {
            let ways = ways.iter().map(|(controls, way)| (controls.to_vec(), *way)).collect();
            found(&ways, back)
        };
        let both = versions(&[(&[0], way(170, 200)), (&[1], way(166, 200))], back);
        assert!((both.likely - 0.84).abs() < 1e-9 && both.high > 0.84 && both.high < 0.87);
        let one = versions(&[(&[0], way(170, 200))], back);
        assert_eq!(one, Versions::ONE, "one control may be wrong");
        let bundle = versions(&[(&[0, 1], way(170, 200)), (&[0], way(170, 200))], back);
        assert_eq!(bundle, Versions::ONE, "both ways have a control in common");
        let unlike = versions(&[(&[0], way(200, 200)), (&[1], way(166, 200))], back);
        assert_eq!(unlike, Versions::ONE, "the second control does not hold here");
        let noise = Count { agree: 1, pairs: 40 };
        let noisy = versions(&[(&[0], way(170, 200)), (&[1], way(166, 200))], noise);
        assert_eq!(noisy, Versions::ONE, "contents that never come back are no versions");
        let echo = versions(&[(&[0], way(20, 200)), (&[1], way(16, 200))], back);
        assert_eq!(echo, Versions::ONE, "pages that print their URL");
    }
}
