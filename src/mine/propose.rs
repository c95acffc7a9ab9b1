//! From votes to candidates: what is worth trying.

use std::collections::{BTreeMap, BTreeSet};

use super::candidates::{Act, Candidate, Reach};
use super::paths::{PathAct, Template};
use super::priors::{Nature, first_values};
use super::screen::Screen;
use super::select::{CONTRADICTION_OF_HANDLER, contradicts, exceptions, is_below_bar};
use super::table::Table;
use super::trials::Tally;
use super::votes::Votes;
use crate::limits::MINE_CANDIDATES_MAX;

/// Contents that must ask for a candidate before it is tried.
const VOTES_MIN: u32 = 3;

/// Most prefixes, templates and session shapes that are tried, each.
const TEXTS_MAX: usize = 6;

/// Most values of one parameter that are tried as its default.
const DEFAULTS_MAX: usize = 4;

/// Proposes candidates for hosts, ports, scheme and paths.
pub(super) fn places(table: &Table, votes: &Votes, screen: &Screen) -> Vec<Candidate> {
    let mut out: Vec<Act> = Vec::new();
    hosts(table, votes, screen, &mut out);
    // Where letters are folded first, what is spelled in capitals never meets a rule.
    let folds = votes.get(&Act::Path(PathAct::FoldCase)).is_some_and(|count| *count >= VOTES_MIN);
    let meets = |act: &Act| !folds || !matches!(act, Act::Path(path) if path.has_capitals());
    let asked = || votes.iter().filter(|(act, count)| **count >= VOTES_MIN && meets(act));
    let mut texts: BTreeMap<u8, Vec<(u32, &PathAct)>> = BTreeMap::new();
    for (act, count) in asked() {
        match act {
            Act::Scheme(_) | Act::Port(_) | Act::Order => out.push(act.clone()),
            Act::Path(path) => match path {
                PathAct::Prefix(..) => texts.entry(0).or_default().push((*count, path)),
                PathAct::Template(_) => texts.entry(1).or_default().push((*count, path)),
                PathAct::Segment(_) => texts.entry(2).or_default().push((*count, path)),
                PathAct::Extension(a, b) => {
                    if let Some(act) = extension(table, a, b) {
                        out.push(Act::Path(act));
                    }
                }
                _ => out.push(act.clone()),
            },
            Act::Host(..) | Act::Drop(_) | Act::Default(..) => {}
        }
    }
    for list in texts.values_mut() {
        list.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        list.truncate(TEXTS_MAX);
        out.extend(list.iter().map(|(_, path)| Act::Path((*path).clone())));
    }
    keep_one_direction(&mut out);
    out.sort();
    out.dedup();
    out.truncate(MINE_CANDIDATES_MAX / 4);
    out.into_iter().map(Candidate::new).collect()
}

/// An extension becomes the one that more paths have.
fn extension(table: &Table, a: &[u8], b: &[u8]) -> Option<PathAct> {
    let ends = |ending: &[u8]| {
        let has = |path: &&Vec<u8>| {
            super::handlers::extension(&path[super::paths::last_start(path)..]) == ending
        };
        table.paths.iter().filter(has).count()
    };
    let (from, to) = if a.is_empty() {
        (b, a)
    } else if b.is_empty() || ends(a) > ends(b) {
        if b.is_empty() { (a, b) } else { (b, a) }
    } else {
        (a, b)
    };
    (!from.is_empty() && from != to).then(|| PathAct::Extension(from.to_vec(), to.to_vec()))
}

/// A text that one act writes must not be what another takes away: of templates and prefixes that
/// meet, the first stays.
fn keep_one_direction(acts: &mut Vec<Act>) {
    let mut from: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut to: BTreeSet<Vec<u8>> = BTreeSet::new();
    acts.retain(|act| {
        let (taken, written) = match act {
            Act::Path(PathAct::Prefix(from, to)) => (from, to),
            Act::Path(PathAct::Extension(from, to)) => (from, to),
            Act::Path(PathAct::Template(Template { head, path, .. })) => (head, path),
            _ => return true,
        };
        let fits = !to.contains(taken) && !from.contains(written) && !written.starts_with(taken);
        if fits {
            from.insert(taken.clone());
            to.insert(written.clone());
        }
        fits
    });
}

/// Hosts that are one: joined where pairs agree, and each sent to the representative.
fn hosts(table: &Table, votes: &Votes, screen: &Screen, out: &mut Vec<Act>) {
    let mut parent: Vec<u32> = (0..table.hosts.len() as u32).collect();
    fn root(parent: &mut [u32], mut host: u32) -> u32 {
        while parent[host as usize] != host {
            parent[host as usize] = parent[parent[host as usize] as usize];
            host = parent[host as usize];
        }
        host
    }
    for (act, count) in votes {
        let Act::Host(a, b) = act else { continue };
        let alone = screen.hosts.get(&(*a, *b)).copied().unwrap_or_default();
        if *count < VOTES_MIN || contradicts(&alone) {
            continue;
        }
        let (a, b) = (root(&mut parent, *a), root(&mut parent, *b));
        parent[a as usize] = b;
    }
    let mut links = vec![0u64; table.hosts.len()];
    for link in &table.links {
        links[table.origins[link.origin as usize].host as usize] += 1;
    }
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for host in 0..table.hosts.len() as u32 {
        let root = root(&mut parent, host);
        groups.entry(root).or_default().push(host);
    }
    for group in groups.values().filter(|group| group.len() > 1) {
        // A name before an address, then what is used most, then the shortest.
        let rank = |host: &&u32| {
            let name = &table.hosts[**host as usize];
            let address = super::site::is_address(name);
            (address, std::cmp::Reverse(links[**host as usize]), name.len(), name.clone())
        };
        let best = group.iter().min_by_key(rank).expect("a group has members");
        out.extend(group.iter().filter(|host| *host != best).map(|host| Act::Host(*host, *best)));
    }
}

/// Proposes candidates for parameters: those that contents ask for, where nothing that was seen of
/// them alone speaks against it.
pub(super) fn parameters(votes: &Votes, screen: &Screen, natures: &[Nature]) -> Vec<Candidate> {
    let listed = |name: u32| natures[name as usize].listed;
    // What counts through a list is a default at its first value, if anything.
    let first = first_values();
    let starting: BTreeSet<u32> = votes
        .iter()
        .filter(|(_, count)| **count >= VOTES_MIN)
        .filter_map(|(act, _)| match act {
            Act::Default(name, value) if first.contains_key(value) => Some(*name),
            _ => None,
        })
        .collect();
    let starts = |name: u32| natures[name as usize].counts && starting.contains(&name);
    let mut seen: BTreeMap<u32, Vec<(u32, Tally)>> = BTreeMap::new();
    for ((name, handler), tally) in &screen.params {
        seen.entry(*name).or_default().push((*handler, *tally));
    }
    let mut out = Vec::new();
    let mut defaults: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
    for (act, count) in votes.iter().filter(|(_, count)| **count >= VOTES_MIN) {
        match act {
            Act::Drop(name) if !listed(*name) && !starts(*name) => {
                let none = Vec::new();
                let handlers = seen.get(name).unwrap_or(&none);
                if let Some(reach) = reach(handlers) {
                    out.push(Candidate { act: act.clone(), reach });
                }
            }
            Act::Default(name, value) => {
                defaults.entry(*name).or_default().push((*count, *value));
            }
            _ => {}
        }
    }
    let all = (0..natures.len() as u32).filter(|name| listed(*name));
    out.extend(all.map(|name| Candidate::new(Act::Drop(name))));
    defaults.retain(|name, _| !listed(*name));
    for (name, mut values) in defaults {
        values.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        values.truncate(DEFAULTS_MAX);
        out.extend(values.iter().map(|(_, value)| Candidate::new(Act::Default(name, *value))));
    }
    out.truncate(MINE_CANDIDATES_MAX / 2);
    out
}

/// Where a parameter may be dropped, by what was seen of it alone; `None`: nowhere.
fn reach(handlers: &[(u32, Tally)]) -> Option<Reach> {
    let bad: BTreeSet<u32> = handlers
        .iter()
        .filter(|(_, tally)| is_below_bar(tally, CONTRADICTION_OF_HANDLER))
        .map(|(handler, _)| *handler)
        .collect();
    let mut all = Tally::default();
    let mut rest = Tally::default();
    for (handler, tally) in handlers {
        all.join(tally);
        if !bad.contains(handler) {
            rest.join(tally);
        }
    }
    if bad.is_empty() {
        return (!contradicts(&all)).then_some(Reach::All);
    }
    if contradicts(&rest) || rest.good < 2 {
        return None;
    }
    let good = handlers.iter().filter(|(handler, tally)| tally.good > 0 && !bad.contains(handler));
    Some(exceptions(&Reach::All, good.map(|(handler, _)| *handler).collect(), bad.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(good: u64, trials: u64) -> Tally {
        Tally { good, trials, same: trials as f64, high: trials as f64 }
    }

    #[test]
    fn where_a_parameter_may_go() {
        assert_eq!(reach(&[]), Some(Reach::All));
        assert_eq!(reach(&[(1, tally(5, 5)), (2, tally(9, 9))]), Some(Reach::All));
        assert_eq!(reach(&[(1, tally(0, 5)), (2, tally(0, 9))]), None);
        assert_eq!(reach(&[(1, tally(0, 5)), (2, tally(9, 9))]), Some(Reach::Only([2].into())));
    }

    #[test]
    fn directions_do_not_meet() {
        let prefix = |from: &str, to: &str| {
            Act::Path(PathAct::Prefix(from.as_bytes().to_vec(), to.as_bytes().to_vec()))
        };
        let mut acts = vec![prefix("/people/", "/~"), prefix("/~", "/x"), prefix("/a", "/ab")];
        keep_one_direction(&mut acts);
        assert_eq!(acts, [prefix("/people/", "/~")]);
    }
}
