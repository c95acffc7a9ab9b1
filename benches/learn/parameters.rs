//! Baselines that know parameters only: a naive pairwise test, and the hypotheses of MaybeDont.
//!
//! MaybeDont (github.com/TeamHG-Memex/MaybeDont, MIT) predicts while it crawls whether a URL will
//! be a duplicate, from six hypotheses, each with the lower edge of a 95 % interval (Wald, one
//! added on both sides). Here the same counts are made from the whole list at once, and what a
//! hypothesis at 95 % says is left out of the URL is left out. Its similarity of texts is
//! equality of digests here.

use std::collections::{BTreeMap, BTreeSet};

use crate::seen::{Parted, Query, Seen};

/// Most members of a group that are compared pair by pair.
const MEMBERS_MAX: usize = 64;

/// Pairs that are asked for in the naive test.
const PAIRS_MIN: u64 = 10;

/// The bar, as for rules that are learned.
const BAR: f64 = 0.95;

#[derive(Clone, Copy, Debug, Default)]
struct Stat {
    same: u64,
    other: u64,
}

impl Stat {
    fn add(&mut self, one: Stat) {
        self.same += one.same;
        self.other += one.other;
    }

    /// `DupStat.get_prob` of MaybeDont.
    fn probability(self) -> f64 {
        if self.same + self.other < 5 {
            return 0.0;
        }
        let (a, b) = (self.same as f64 + 1.0, self.other as f64 + 1.0);
        let (p, n) = (a / (a + b), a + b);
        p - 1.96 * (p * (1.0 - p) / n).sqrt()
    }
}

/// The groups of URLs that are equal but for one parameter: place, name, rest, and members with
/// their value; `None` is the URL without the parameter.
type Groups<'a> = BTreeMap<(String, String, Query), Vec<(Option<String>, &'a Seen)>>;

fn groups(seen: &[Seen]) -> Groups<'_> {
    let whole: BTreeMap<Parted, &Seen> =
        seen.iter().map(|one| (Parted::of(&one.url), one)).collect();
    let mut groups = Groups::new();
    for (parted, one) in &whole {
        for (at, (name, value)) in parted.params.iter().enumerate() {
            let rest = parted.without(at);
            let key = (rest.place.clone(), name.clone(), rest.params.clone());
            let members = groups.entry(key).or_default();
            if members.is_empty()
                && let Some(bare) = whole.get(&rest)
            {
                members.push((None, bare));
            }
            if members.len() < MEMBERS_MAX {
                members.push((Some(value.clone()), one));
            }
        }
    }
    groups
}

fn pairs(members: &[(Option<String>, &Seen)]) -> Stat {
    let mut stat = Stat::default();
    for (at, (_, a)) in members.iter().enumerate() {
        for (_, b) in &members[at + 1..] {
            match a.agrees(b) {
                Some(true) => stat.same += 1,
                Some(false) => stat.other += 1,
                None => {}
            }
        }
    }
    stat
}

/// Parameters that are dropped because 95 % of at least ten pairs that differ in them agree.
pub(crate) fn naive(seen: &[Seen]) -> BTreeSet<String> {
    let mut stats: BTreeMap<String, Stat> = BTreeMap::new();
    for ((_, name, _), members) in groups(seen) {
        stats.entry(name).or_default().add(pairs(&members));
    }
    let holds = |stat: &Stat| {
        let all = stat.same + stat.other;
        all >= PAIRS_MIN && stat.same as f64 >= BAR * all as f64
    };
    stats.into_iter().filter(|(_, stat)| holds(stat)).map(|(name, _)| name).collect()
}

/// What the naive test makes of a URL.
pub(crate) fn without(dropped: &BTreeSet<String>, url: &str) -> Vec<u8> {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let name = |pair: &str| pair.split_once('=').map_or(pair, |(name, _)| name).to_string();
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !dropped.contains(&name(pair)))
        .collect();
    let mark = if kept.is_empty() { "" } else { "?" };
    format!("{place}{mark}{}", kept.join("&")).into_bytes()
}

/// The hypotheses of MaybeDont that have a probability of 95 % or more, by their number there.
#[derive(Default)]
pub(crate) struct MaybeDont {
    /// (1) all URLs of a place.
    places: BTreeSet<String>,
    /// (2) a parameter.
    params: BTreeSet<String>,
    /// (3) a parameter of a place.
    place_params: BTreeSet<(String, String)>,
    /// (4) a parameter of a place with the rest of the query.
    queries: BTreeSet<(String, String, Query)>,
    /// (5) a parameter with one value.
    values: BTreeSet<(String, String)>,
    /// (6) the same at a place.
    place_values: BTreeSet<(String, String, String)>,
}

fn likely<K: Ord>(stats: BTreeMap<K, Stat>) -> BTreeSet<K> {
    stats.into_iter().filter(|(_, stat)| stat.probability() >= BAR).map(|(key, _)| key).collect()
}

impl MaybeDont {
    pub(crate) fn learn(seen: &[Seen]) -> MaybeDont {
        let mut places: BTreeMap<String, Vec<&Seen>> = BTreeMap::new();
        for one in seen {
            places.entry(Parted::of(&one.url).place).or_default().push(one);
        }
        let places = places.into_iter().map(|(place, urls)| (place, all_pairs(&urls))).collect();
        let (mut params, mut place_params) = (BTreeMap::new(), BTreeMap::new());
        let (mut values, mut place_values) = (BTreeMap::new(), BTreeMap::new());
        let mut queries = BTreeMap::new();
        for (key, members) in groups(seen) {
            let stat = pairs(&members);
            let (place, name, _) = &key;
            params.entry(name.clone()).or_insert(Stat::default()).add(stat);
            let at_place = (place.clone(), name.clone());
            place_params.entry(at_place).or_insert(Stat::default()).add(stat);
            if let Some((None, bare)) = members.first() {
                for (value, one) in &members[1..] {
                    let value = value.clone().unwrap_or_default();
                    let stat = pairs(&[(None, bare), (None, one)]);
                    let with_value = (name.clone(), value.clone());
                    values.entry(with_value).or_insert(Stat::default()).add(stat);
                    let at_place = (place.clone(), name.clone(), value);
                    place_values.entry(at_place).or_insert(Stat::default()).add(stat);
                }
            }
            queries.insert(key, stat);
        }
        MaybeDont {
            places: likely(places),
            params: likely(params),
            place_params: likely(place_params),
            queries: likely(queries),
            values: likely(values),
            place_values: likely(place_values),
        }
    }

    /// Hypotheses that are in force.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
            + self.params.len()
            + self.place_params.len()
            + self.queries.len()
            + self.values.len()
            + self.place_values.len()
    }

    pub(crate) fn form(&self, url: &str) -> Vec<u8> {
        let mut parted = Parted::of(url);
        if self.places.contains(&parted.place) {
            return parted.place.into_bytes();
        }
        let mut at = 0;
        while at < parted.params.len() {
            let (name, value) = parted.params[at].clone();
            let (rest, place) = (parted.without(at), parted.place.clone());
            let goes = self.params.contains(&name)
                || self.place_params.contains(&(place.clone(), name.clone()))
                || self.values.contains(&(name.clone(), value.clone()))
                || self.place_values.contains(&(place.clone(), name.clone(), value))
                || self.queries.contains(&(place, name, rest.params.clone()));
            if goes {
                parted = rest;
            } else {
                at += 1;
            }
        }
        parted.text().into_bytes()
    }
}

/// All pairs of the URLs of a place, counted by content.
fn all_pairs(urls: &[&Seen]) -> Stat {
    let mut contents: BTreeMap<&str, u64> = BTreeMap::new();
    for first in urls.iter().filter_map(|one| one.contents.first()) {
        *contents.entry(first).or_default() += 1;
    }
    let pairs = |urls: u64| urls * urls.saturating_sub(1) / 2;
    let same = contents.values().map(|urls| pairs(*urls)).sum();
    Stat { same, other: pairs(contents.values().sum()) - same }
}
