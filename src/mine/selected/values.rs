//! Values of one parameter that are the same page, where others are other pages: `lang=en-US` and
//! `lang=en`.
//!
//! Contents ask for pairs of values (`votes.rs`). When it is known what else holds, URLs are
//! grouped that are equal but for the parameter, and each pair of values has a sample in each group
//! that has both. Pairs that agree are edges; what they join, without a pair that disagrees, is one
//! set. Its members are sent to one of them, and these candidates are validated as all others are.
//!
//! That two values agree says nothing where most do: the files of two users are equal if both have
//! none. So a set only speaks if the parameter is seen to matter: its members must disagree, more
//! often than not, with values that are not in the set. Where none does, the parameter says
//! nothing, and that is another rule.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::mine::acts::candidates::{Act, Candidate, Reach};
use crate::mine::acts::forms::Shaper;
use crate::mine::acts::priors::Nature;
use crate::mine::proposed::propose::reach;
use crate::mine::proposed::votes::Votes;
use crate::mine::seen::identity::{Keyed, groups_of, sort_keys};
use crate::mine::seen::maps::{map, mix};
use crate::mine::seen::table::{ABSENT, Param, Table, Url};
use crate::mine::selected::selector::Selector;
use crate::mine::stats::wilson_95;
use crate::mine::trials::{BAR, CONTRADICTION, Trials, is_below};

/// Fewest and most values of a parameter that are paired. Reason: people write few; what has more
/// is made by a program, and pairs are quadratic in it.
const VALUES: Range<usize> = 2..25;

/// Contents that must ask for a pair, and agreements that make it an edge.
const PAIR_MIN: u64 = 8;

/// Most parameters of a site whose values are paired. Reason: each takes a pass over its URLs.
const NAMES_MAX: usize = 8;

/// Most values of a group that are compared.
const MEMBERS_MAX: usize = 8;

/// Most values that are one.
const SET_MAX: usize = 6;

/// Fewest comparisons with values that are not in the set.
const OTHERS_MIN: u64 = 8;

/// Least share of these that must disagree, as a bound.
const OTHERS_AGREE_MAX: f64 = 0.5;

/// Two values, the smaller number first.
type Pair = (u64, u64);

/// What was seen of two values.
#[derive(Debug, Default)]
struct Seen {
    /// By handler; a content counts for two agreements at most.
    by_handler: BTreeMap<u32, Trials>,
    /// Every group.
    all: Trials,
    /// Where they are one; `None`: nowhere.
    reach: Option<Reach>,
}

/// The parameters whose values are paired, by number of the name: they have few values, and neither
/// names nor values that say what they are.
pub(crate) fn few(table: &Table, natures: &[Nature]) -> Vec<bool> {
    let is_asked = |nature: &Nature| {
        !nature.listed && !nature.session && !nature.guarded && !nature.short && !nature.counts
    };
    let mut asked: Vec<bool> = natures.iter().map(is_asked).collect();
    if !table.signal.is_strong() {
        asked.fill(false);
    }
    let mut values: Vec<Vec<u64>> = vec![Vec::new(); natures.len()];
    for param in &table.params {
        let seen = &mut values[param.name as usize];
        if asked[param.name as usize] && !seen.contains(&param.value) {
            seen.push(param.value);
            asked[param.name as usize] = seen.len() < VALUES.end;
        }
    }
    let is_few = |(asked, values): (bool, Vec<u64>)| asked && VALUES.contains(&values.len());
    asked.into_iter().zip(values).map(is_few).collect()
}

/// Proposes values that stand for others, beside the candidates that are `held`.
pub(crate) fn proposed(
    selector: &Selector<'_>,
    votes: &Votes,
    held: &[Candidate],
) -> Vec<Candidate> {
    let mut asked: BTreeMap<u32, (u32, Vec<Pair>)> = BTreeMap::new();
    for (act, count) in votes.iter().filter(|(_, count)| u64::from(**count) >= PAIR_MIN) {
        if let Act::Value(name, a, b) = act {
            let (most, pairs) = asked.entry(*name).or_default();
            *most = (*most).max(*count);
            pairs.push((*a, *b));
        }
    }
    let is_dropped = |name: u32| held.iter().any(|one| one.act == Act::Drop(name));
    let mut names: Vec<(u32, u32)> = asked.iter().map(|(name, (most, _))| (*most, *name)).collect();
    names.retain(|(_, name)| !is_dropped(*name));
    names.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    names.truncate(NAMES_MAX);
    names.sort_by_key(|(_, name)| *name);
    let of_name = |(_, name): &(u32, u32)| {
        let values = Values { selector, held, name: *name };
        values.proposed(&asked[name].1)
    };
    names.iter().flat_map(of_name).collect()
}

/// The values of one parameter.
struct Values<'a> {
    selector: &'a Selector<'a>,
    held: &'a [Candidate],
    name: u32,
}

impl Values<'_> {
    fn proposed(&self, asked: &[Pair]) -> Vec<Candidate> {
        let seen = self.compared();
        // Values that equal none are for another rule, unless some value is known to.
        let is_default = |one: &Candidate| matches!(one.act, Act::Default(n, _) if n == self.name);
        let has_default = self.held.iter().any(is_default);
        let is_asked = |pair: &Pair| match pair.0 {
            ABSENT => has_default,
            _ => asked.contains(pair),
        };
        let mut out = Vec::new();
        for set in sets(&seen, is_asked) {
            if !matters(&seen, &set) {
                continue;
            }
            let to = self.representative(&set);
            for from in set.iter().copied().filter(|value| *value != to) {
                let act = match to {
                    ABSENT => Act::Default(self.name, from),
                    _ => Act::Value(self.name, from, to),
                };
                let direct = seen.get(&(from.min(to), from.max(to)));
                let reach = direct.and_then(|seen| seen.reach.clone()).unwrap_or(Reach::All);
                out.push(Candidate::within(act, reach));
            }
        }
        out
    }

    /// What groups of URLs, equal but for the parameter, say about each two of its values.
    fn compared(&self) -> BTreeMap<Pair, Seen> {
        let Selector { table, handlers, calibration, .. } = *self.selector;
        let mut has_name = vec![false; handlers.iter().max().map_or(0, |most| *most as usize + 1)];
        for url in &table.urls {
            if self.params(url).next().is_some() {
                has_name[handlers[url.path as usize] as usize] = true;
            }
        }
        let mut candidates = self.held.to_vec();
        candidates.push(Candidate::new(Act::Drop(self.name)));
        let mut shaper = Shaper::new(table, handlers);
        let all = candidates.len();
        shaper.apply(&candidates, &vec![true; all], &vec![false; all]);
        let mut keys: Vec<Keyed> = Vec::new();
        for (number, url) in (0..).zip(&table.urls) {
            let is_here = has_name[handlers[url.path as usize] as usize];
            if is_here && !url.opaque && url.captures.len() > 0 {
                keys.push(shaper.shape(url, number, &candidates).0);
            }
        }
        sort_keys(&mut keys);
        let mut seen: BTreeMap<Pair, Seen> = BTreeMap::new();
        let mut used = map();
        let mut members: Vec<(u64, u32)> = Vec::new();
        for group in groups_of(&keys).filter(|group| group.len() > 1) {
            members.clear();
            let url = |number: u32| &table.urls[number as usize];
            let valued = group.iter().map(|row| (self.value(url(row.url)), row.url));
            members.extend(valued.filter_map(|(value, number)| Some((value?, number))));
            members.sort_unstable();
            members.dedup_by_key(|(value, _)| *value);
            if members.len() > MEMBERS_MAX {
                members.sort_by_key(|(value, _)| mix(value ^ group[0].draw));
                members.truncate(MEMBERS_MAX);
                members.sort_unstable();
            }
            for (at, (a, one)) in members.iter().enumerate() {
                for (b, other) in &members[at + 1..] {
                    let (one, other) = (url(*one), url(*other));
                    let Some(found) = calibration.compare(table, one, other) else { continue };
                    let pair = seen.entry((*a, *b)).or_default();
                    pair.all.add(found.agree, found.same, found.high);
                    let times: &mut u8 = used.entry((*a, *b, found.content)).or_default();
                    *times = times.saturating_add(u8::from(found.agree));
                    if !found.agree || *times <= 2 {
                        let handler = table.handler_for(one, self.name, handlers);
                        let trials = pair.by_handler.entry(handler).or_default();
                        trials.add(found.agree, found.same, found.high);
                    }
                }
            }
        }
        let folders = self.selector.folders();
        for pair in seen.values_mut() {
            pair.reach = reach(folders, self.name, &pair.by_handler, BAR);
        }
        seen
    }

    /// The parameters of a URL that have the name.
    fn params<'a>(&'a self, url: &Url) -> impl Iterator<Item = &'a Param> {
        self.selector.table.params_of(url).iter().filter(|param| param.name == self.name)
    }

    /// The value of a URL; `None` if it has several, or one that is not considered.
    fn value(&self, url: &Url) -> Option<u64> {
        let mut params = self.params(url);
        let Some(param) = params.next() else { return Some(ABSENT) };
        let handler = self.selector.table.handler_for(url, self.name, self.selector.handlers);
        let is_default = |one: &Candidate| {
            one.act == Act::Default(self.name, param.value) && one.reach.has(handler)
        };
        let value = if self.held.iter().any(is_default) { ABSENT } else { param.value };
        // A parameter without a text may be one without `=`, which no rule writes.
        let is_text = param.text.start < param.text.end;
        (is_text && params.next().is_none()).then_some(value)
    }

    /// What stands for a set: nothing, or else the value that most URLs have, then the shortest,
    /// then the first.
    fn representative(&self, set: &[u64]) -> u64 {
        let table = self.selector.table;
        let mut urls: BTreeMap<u64, (u64, &[u8])> = BTreeMap::new();
        for param in table.params.iter().filter(|param| param.name == self.name) {
            urls.entry(param.value).or_insert((0, table.bytes(param.text))).0 += 1;
        }
        let rank = |value: &&u64| {
            let (urls, text) = urls.get(value).copied().unwrap_or((u64::MAX, b""));
            (std::cmp::Reverse(urls), text.len(), text)
        };
        *set.iter().min_by_key(rank).expect("a set has members")
    }
}

impl Seen {
    /// Distinct agreements, or nearly.
    fn good(&self) -> u64 {
        self.by_handler.values().map(|trials| trials.good).sum()
    }

    /// Do the two values agree wherever they are seen, but for handlers that can be left out?
    fn is_edge(&self) -> bool {
        self.good() >= PAIR_MIN && self.reach.is_some()
    }

    fn is_contradicted(&self) -> bool {
        is_below(&self.all, BAR, CONTRADICTION) && !self.is_edge()
    }
}

/// The sets of two values or more that edges join, the likeliest edges first, where no two members
/// of a set disagree.
fn sets(seen: &BTreeMap<Pair, Seen>, is_asked: impl Fn(&Pair) -> bool) -> Vec<Vec<u64>> {
    let mut edges: Vec<(u64, Pair)> = seen
        .iter()
        .filter(|(pair, seen)| is_asked(pair) && seen.is_edge())
        .map(|(pair, seen)| (seen.good(), *pair))
        .collect();
    edges.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut sets: Vec<Vec<u64>> = Vec::new();
    for (_, (a, b)) in edges {
        let of = |sets: &mut Vec<Vec<u64>>, value: u64| {
            let at = sets.iter().position(|set| set.contains(&value));
            at.map_or(vec![value], |at| sets.swap_remove(at))
        };
        if sets.iter().any(|set| set.contains(&a) && set.contains(&b)) {
            continue;
        }
        let (one, other) = (of(&mut sets, a), of(&mut sets, b));
        let disagrees =
            |(a, b): (u64, u64)| seen.get(&(a.min(b), a.max(b))).is_some_and(Seen::is_contradicted);
        let mut across = one.iter().flat_map(|a| other.iter().map(move |b| (*a, *b)));
        if one.len() + other.len() > SET_MAX || across.any(disagrees) {
            sets.extend([one, other]);
        } else {
            sets.push([one, other].concat());
        }
    }
    sets.retain(|set| set.len() > 1);
    sets.iter_mut().for_each(|set| set.sort_unstable());
    sets.sort_unstable();
    sets
}

/// Do the members of a set disagree with other values, more often than not?
fn matters(seen: &BTreeMap<Pair, Seen>, set: &[u64]) -> bool {
    let mut others = Trials::default();
    for ((a, b), seen) in seen {
        if set.contains(a) != set.contains(b) {
            others.join(&seen.all);
        }
    }
    let (_, most) = wilson_95(others.good as f64, others.samples as f64);
    others.samples >= OTHERS_MIN && most < OTHERS_AGREE_MAX * others.mean_same()
}

#[cfg(test)]
mod tests {
    use crate::canonical::DustStatus;
    use crate::mine::tests::mined;

    /// Pages in editions; `shown` is what an edition shows of a page.
    fn rows(editions: &[&str], shown: impl Fn(u64, &str) -> String) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        for page in 0..60 {
            for edition in editions {
                let url = format!("http://a.test/x?doc=d{page}&edition={edition}");
                rows.push((url, shown(page, edition)));
            }
        }
        rows
    }

    fn found(rows: &[(String, String)]) -> Vec<(DustStatus, String)> {
        let rules = mined(rows).rules;
        rules.iter().map(|rule| (rule.status, rule.kind.title())).collect()
    }

    fn edition(page: u64, edition: &str) -> String {
        format!("page {page} in {}", edition.split('-').next().unwrap_or(edition))
    }

    #[test]
    fn two_spellings_of_a_value() {
        let mut seen = rows(&["en", "en-us", "de"], edition);
        seen.push(("http://a.test/y?edition=en-us".into(), "y".into()));
        // More URLs have `en-us`.
        let expected = (DustStatus::Auto, "alias-value edition: en = en-us".to_string());
        assert_eq!(found(&seen), std::slice::from_ref(&expected));
        seen.reverse();
        assert_eq!(found(&seen), [expected]);
        // As many: the shorter one.
        seen.retain(|(url, _)| !url.contains("/y?"));
        assert_eq!(
            found(&seen),
            [(DustStatus::Auto, "alias-value edition: en-us = en".to_string())]
        );
    }

    #[test]
    fn chance_makes_no_rule() {
        let none = |values: &[&str], shown: fn(u64, &str) -> String| {
            let found = found(&rows(values, shown));
            assert!(found.iter().all(|(_, title)| !title.contains("alias-value")), "{found:?}");
        };
        let values = ["anna", "bert", "carl", "dora"];
        // No user has files: all show the same text.
        none(&values, |page, _| format!("no files {page}"));
        // Hardly any user has: what two share is no evidence if most are shared.
        none(&values, |page, user| match (page % 6, user) {
            (0, "carl" | "dora") => format!("{page} of {user}"),
            _ => format!("no files {page}"),
        });
        // One text for all that is empty.
        none(&values, |page, user| match user {
            "anna" | "bert" => "nothing".to_string(),
            _ => format!("{page} of {user}"),
        });
        // Equal on one page of ten.
        none(&values, |page, user| match (page % 10, user) {
            (0, "anna" | "bert") => format!("{page} of both"),
            _ => format!("{page} of {user}"),
        });
        // Equal, but for one page of eight.
        none(&values, |page, user| match (page % 8, user) {
            (1.., "anna" | "bert") => format!("{page} of both"),
            _ => format!("{page} of {user}"),
        });
    }

    #[test]
    fn chains_end_where_values_disagree() {
        // `b` is `a` on half of the pages and `c` on the others, as far as it is seen at all.
        let shown = |page: u64, value: &str| match (value, page % 2) {
            ("b", 0) => format!("{page} a"),
            ("b", _) => format!("{page} c"),
            _ => format!("{page} {value}"),
        };
        let mut seen = rows(&["a", "b", "c", "d"], shown);
        seen.retain(|(url, _)| {
            let page: u64 =
                url[url.find("=d").unwrap() + 2..url.find('&').unwrap()].parse().unwrap();
            !url.ends_with(if page.is_multiple_of(2) { "=c" } else { "=a" })
        });
        let found = found(&seen);
        // Nothing contradicts either, but none is sent through the other to a third.
        assert!(found.len() <= 2, "{found:?}");
        let targets: Vec<&str> =
            found.iter().filter_map(|(_, title)| title.rsplit(" = ").next()).collect();
        assert!(targets.windows(2).all(|pair| pair[0] == pair[1]), "{found:?}");
    }

    #[test]
    fn a_spelling_of_the_default_is_a_default() {
        let mut seen = rows(&["en", "en-us", "de"], edition);
        for page in 0..60 {
            seen.push((format!("http://a.test/x?doc=d{page}"), edition(page, "en")));
        }
        // `en-us` is never seen on the pages that are seen without.
        for (url, shown) in rows(&["en", "en-us", "de"], edition) {
            seen.push((url.replace("=d", "=e"), shown.replace("page", "other")));
        }
        seen.retain(|(url, _)| !(url.contains("=d") && url.ends_with("en-us")));
        let titles: Vec<String> = found(&seen).into_iter().map(|(_, title)| title).collect();
        assert_eq!(titles, ["default-param edition=en", "default-param edition=en-us"]);
    }

    #[test]
    fn short_numbers_and_guarded_names_are_left_alone() {
        let mut seen = rows(&["10", "20", "30"], |page, value| match value {
            "30" => format!("{page} at length"),
            _ => format!("{page}"),
        });
        assert_eq!(found(&seen), []);
        for (url, _) in &mut seen {
            *url = url.replace("edition=", "user=x");
        }
        assert_eq!(found(&seen), []);
    }
}
