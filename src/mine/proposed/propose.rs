//! From votes to candidates: what is worth trying.

use std::collections::{BTreeMap, BTreeSet};

use super::screen::Screen;
use super::votes::Votes;
use crate::limits::MINE_CANDIDATES_MAX;
use crate::mine::acts::candidates::{Act, Candidate, Reach};
use crate::mine::acts::paths::{PathAct, Template};
use crate::mine::acts::priors::{Nature, Natures, is_first, is_told_as_default};
use crate::mine::folders::Folders;
use crate::mine::seen::handlers;
use crate::mine::seen::maps::{Map, map};
use crate::mine::seen::segments::last_start;
use crate::mine::seen::table::Table;
use crate::mine::trials::{CONTRADICTION, CONTRADICTION_OF_HANDLER, Trials, is_below};
use crate::mine::worth::versions;

/// Contents that must ask for a candidate before it is proposed.
pub(crate) const VOTES_MIN: u32 = 3;

/// Most prefixes, templates and session shapes that are proposed, each.
const TEXTS_MAX: usize = 6;

/// Most values of one parameter that are proposed as its default.
const DEFAULTS_MAX: usize = 4;

/// The site's own name stands for its hosts if it has one of this many URLs that the most used host
/// has. Reason: a domain that hardly anything is served under may not stay.
const OWN_NAME_SHARE: u64 = 10;

/// First labels of hosts that copy others, digits and what follows left out.
const COPIES: [&[u8]; 14] = [
    b"mirror", b"mirrors", b"m", b"mobile", b"wap", b"cdn", b"cache", b"backup", b"origin", b"old",
    b"archive", b"proxy", b"alias", b"copy",
];

/// Proposes candidates for hosts, ports, scheme and paths.
pub(crate) fn host_and_path_candidates(
    table: &Table,
    votes: &Votes,
    screen: &Screen,
    bar: f64,
) -> Vec<Candidate> {
    let mut out: Vec<Act> = Vec::new();
    hosts(table, votes, screen, bar, &mut out);
    // If letters are folded first, a rule never sees what is spelled in capitals.
    let folds = votes.get(&Act::Path(PathAct::FoldCase)).is_some_and(|count| *count >= VOTES_MIN);
    let meets = |act: &Act| !folds || !matches!(act, Act::Path(path) if path.has_capitals());
    let asked = || votes.iter().filter(|(act, count)| **count >= VOTES_MIN && meets(act));
    let mut texts: BTreeMap<u8, Vec<(u32, &PathAct)>> = BTreeMap::new();
    let mut by_extension = None;
    for (act, count) in asked() {
        match act {
            // Votes do not show the direction.
            Act::Scheme(_) => out.push(Act::Scheme(leads_to_https(table))),
            Act::Port(_) | Act::Order => out.push(act.clone()),
            Act::Path(path) => match path {
                PathAct::Prefix(..) => texts.entry(0).or_default().push((*count, path)),
                PathAct::Template(_) => texts.entry(1).or_default().push((*count, path)),
                PathAct::Segment(_) => texts.entry(2).or_default().push((*count, path)),
                PathAct::Extension(a, b) => {
                    if let Some(act) = extension(
                        by_extension.get_or_insert_with(|| paths_by_extension(table)),
                        a,
                        b,
                    ) {
                        out.push(Act::Path(act));
                    }
                }
                _ => out.push(act.clone()),
            },
            Act::Host(..) | Act::Drop(_) | Act::Default(..) | Act::Value(..) | Act::Keep(..) => {}
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

/// The candidates that pages cannot know of, as far as contents or redirects ask for them.
pub(crate) fn controls(table: &Table, votes: &Votes, natures: &Natures) -> Vec<Candidate> {
    let of_names = &natures.of_names;
    let asked = votes.iter().filter(|(_, count)| **count >= VOTES_MIN).map(|(act, _)| act);
    let listed = (0..of_names.len() as u32).filter(|name| of_names[*name as usize].listed);
    let mut out: Vec<Act> = asked.cloned().chain(listed.map(Act::Drop)).collect();
    out.retain(|act| versions::is_control(table, of_names, act));
    out.sort();
    out.dedup();
    out.truncate(MINE_CANDIDATES_MAX / 4);
    // Where the values of a listed name are others, pages may well know of it.
    let within = |act: Act| {
        let unlike = act.param().into_iter().flat_map(|name| natures.unlike(name)).collect();
        Candidate::within(act, Reach::All.without(&unlike))
    };
    out.into_iter().map(within).collect()
}

/// How many paths have each extension.
fn paths_by_extension(table: &Table) -> Map<&[u8], usize> {
    let mut paths = map();
    for path in &table.paths {
        *paths.entry(handlers::extension(&path[last_start(path)..])).or_insert(0) += 1;
    }
    paths
}

/// An extension becomes the one that more of the `paths` have.
fn extension(paths: &Map<&[u8], usize>, a: &[u8], b: &[u8]) -> Option<PathAct> {
    let ends = |ending: &[u8]| paths.get(ending).copied().unwrap_or(0);
    let (from, to) = if a.is_empty() {
        (b, a)
    } else if b.is_empty() || ends(a) > ends(b) {
        if b.is_empty() { (a, b) } else { (b, a) }
    } else {
        (a, b)
    };
    (!from.is_empty() && from != to).then(|| PathAct::Extension(from.to_vec(), to.to_vec()))
}

/// A text that one act writes must not be what another removes: of conflicting templates and
/// prefixes, the first is kept.
fn keep_one_direction(acts: &mut Vec<Act>) {
    let mut from: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut to: BTreeSet<Vec<u8>> = BTreeSet::new();
    acts.retain(|act| {
        let (taken, written, again) = match act {
            Act::Path(PathAct::Prefix(from, to)) => (from, to, to.starts_with(from)),
            // `.htm` is replaced at the end, where `.html` does not contain it.
            Act::Path(PathAct::Extension(from, to)) => (from, to, to.ends_with(from)),
            Act::Path(PathAct::Template(Template { head, path, .. })) => {
                (head, path, path.starts_with(head))
            }
            _ => return true,
        };
        let fits = !to.contains(taken) && !from.contains(written) && !again;
        if fits {
            from.insert(taken.clone());
            to.insert(written.clone());
        }
        fits
    });
}

/// Hosts that are one: joined where pairs agree, and each sent to the representative.
fn hosts(table: &Table, votes: &Votes, screen: &Screen, bar: f64, out: &mut Vec<Act>) {
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
        if *count < VOTES_MIN || is_below(&alone, bar, CONTRADICTION) {
            continue;
        }
        let (a, b) = (root(&mut parent, *a), root(&mut parent, *b));
        parent[a as usize] = b;
    }
    let mut urls = vec![0u64; table.hosts.len()];
    for url in &table.urls {
        urls[table.origins[url.origin as usize].host as usize] += 1;
    }
    // Redirects and canonical links that lead away from each host, less those that lead to it.
    let mut away = vec![0i64; table.hosts.len()];
    for (from, to) in &table.moves {
        let host = |url: u32| table.origins[table.urls[url as usize].origin as usize].host;
        let (from, to) = (host(*from), host(*to));
        if root(&mut parent, from) == root(&mut parent, to) {
            away[from as usize] += 1;
            away[to as usize] -= 1;
        }
    }
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for host in 0..table.hosts.len() as u32 {
        let root = root(&mut parent, host);
        groups.entry(root).or_default().push(host);
    }
    for group in groups.values().filter(|group| group.len() > 1) {
        // A name before an address, where redirects and canonical links lead to before what they
        // lead away from, the site's own name before that of a copy, then what is used most, then
        // the shortest.
        let most = group.iter().map(|host| urls[*host as usize]).max().unwrap_or(0);
        let rank = |host: &&u32| {
            let (name, used) = (&table.hosts[**host as usize], urls[**host as usize]);
            let address = crate::mine::seen::site::is_address(name);
            let own = is_own_name(name) && used * OWN_NAME_SHARE >= most;
            let used = std::cmp::Reverse(used);
            let copy = is_name_of_copy(name);
            (address, away[**host as usize], !own, copy, used, name.len(), name.clone())
        };
        let best = group.iter().min_by_key(rank).expect("a group has members");
        out.extend(group.iter().filter(|host| *host != best).map(|host| Act::Host(*host, *best)));
    }
}

/// Do redirects and canonical links lead from `http` to `https`, rather than the other way round?
fn leads_to_https(table: &Table) -> bool {
    let https = |url: u32| table.origins[table.urls[url as usize].origin as usize].https;
    let changes =
        table.moves.iter().map(|(from, to)| i64::from(https(*to)) - i64::from(https(*from)));
    changes.sum::<i64>() >= 0
}

/// Is the host the site's registrable domain, or that with `www`?
fn is_own_name(host: &[u8]) -> bool {
    let bare = host.strip_prefix(b"www.").unwrap_or(host);
    crate::mine::seen::site::site_of(bare) == bare
}

/// Does the first label of the host say that it is a copy of another?
fn is_name_of_copy(host: &[u8]) -> bool {
    let first = host.split(|byte| *byte == b'.').next().unwrap_or(host);
    let stem = first.iter().position(|byte| byte.is_ascii_digit() || *byte == b'-');
    let stem = &first[..stem.unwrap_or(first.len())];
    COPIES.contains(&stem) || stem == b"www" && first.len() > 3
}

/// The candidates that are in force with those that are proposed beside them: none twice, none that
/// writes what another takes away.
pub(crate) fn beside(settled: Vec<Candidate>, new: Vec<Candidate>) -> Vec<Candidate> {
    let meets = |one: &Act, other: &Act| match (one, other) {
        (Act::Host(a, b), Act::Host(from, to)) => from == a || from == b || to == a,
        (Act::Default(..) | Act::Value(..), Act::Default(..) | Act::Value(..)) => one == other,
        _ => one == other || one.param().is_some() && one.param() == other.param(),
    };
    let mut acts: Vec<Act> = settled.iter().map(|one| one.act.clone()).collect();
    let is_free = |one: &Candidate| !settled.iter().any(|before| meets(&before.act, &one.act));
    let new: Vec<Candidate> = new.into_iter().filter(is_free).collect();
    acts.extend(new.iter().map(|one| one.act.clone()));
    keep_one_direction(&mut acts);
    let mut out: Vec<Candidate> = settled.into_iter().chain(new).collect();
    out.retain(|one| one.settled || acts.contains(&one.act));
    out.sort_by(|a, b| a.act.cmp(&b.act));
    out
}

/// Proposes candidates for parameters: those that contents ask for, where nothing that was seen of
/// them alone speaks against a rate at `bar`.
pub(crate) fn parameters(
    votes: &Votes,
    screen: &Screen,
    natures: &[Nature],
    folders: Folders<'_>,
    bar: f64,
) -> Vec<Candidate> {
    let listed = |name: u32| natures[name as usize].listed;
    // What counts through a list is a default at its first value, if anything.
    let starting: BTreeSet<u32> = votes
        .iter()
        .filter(|(_, count)| **count >= VOTES_MIN)
        .filter_map(|(act, _)| match act {
            Act::Default(name, value) if is_first(*value) => Some(*name),
            _ => None,
        })
        .collect();
    let starts = |name: u32| natures[name as usize].counts && starting.contains(&name);
    let mut seen: BTreeMap<u32, BTreeMap<u32, Trials>> = BTreeMap::new();
    for ((name, handler), trials) in &screen.params {
        seen.entry(*name).or_default().insert(*handler, *trials);
    }
    let mut out = Vec::new();
    let mut defaults: BTreeMap<u32, Vec<(u32, u64)>> = BTreeMap::new();
    for (act, count) in votes.iter().filter(|(_, count)| **count >= VOTES_MIN) {
        match act {
            Act::Drop(name) if !listed(*name) && !starts(*name) => {
                let none = BTreeMap::new();
                let handlers = seen.get(name).unwrap_or(&none);
                if let Some(reach) = reach(folders, *name, handlers, bar) {
                    out.push(Candidate::within(act.clone(), reach));
                }
            }
            Act::Default(name, value) if is_told_as_default(natures[*name as usize], *value) => {
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

/// Where the parameter `name` may be dropped, by what was seen of it alone; `None`: nowhere.
pub(crate) fn reach(
    folders: Folders<'_>,
    name: u32,
    handlers: &BTreeMap<u32, Trials>,
    bar: f64,
) -> Option<Reach> {
    let is_bad = |trials: &Trials| is_below(trials, bar, CONTRADICTION_OF_HANDLER);
    let bad = folders.bad(Some(name), handlers, &Reach::All, is_bad);
    let mut all = Trials::default();
    let mut rest = Trials::default();
    for (handler, trials) in handlers {
        all.join(trials);
        if !bad.contains(handler) {
            rest.join(trials);
        }
    }
    if bad.is_empty() {
        return (!is_below(&all, bar, CONTRADICTION)).then_some(Reach::All);
    }
    if is_below(&rest, bar, CONTRADICTION) || rest.good < 2 {
        return None;
    }
    let good =
        handlers.iter().filter(|(handler, trials)| trials.good > 0 && !bad.contains(handler));
    let good = good.map(|(handler, _)| *handler).collect();
    Some(folders.exceptions(&Reach::All, good, bad))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::seen::table::splits::Splits;

    fn trials(good: u64, samples: u64) -> Trials {
        Trials { good, samples, same: samples as f64, high: samples as f64 }
    }

    #[test]
    fn where_a_parameter_may_go() {
        let templates = ["/", "/a", "/b"].map(|path| path.as_bytes().to_vec());
        let splits = Splits::none(templates.len(), 1);
        let folders = Folders { templates: &templates, splits: &splits };
        let reach = |handlers: &[(u32, Trials)]| {
            super::reach(folders, 0, &handlers.iter().copied().collect(), 0.95)
        };
        assert_eq!(reach(&[]), Some(Reach::All));
        assert_eq!(reach(&[(1, trials(5, 5)), (2, trials(9, 9))]), Some(Reach::All));
        assert_eq!(reach(&[(1, trials(0, 5)), (2, trials(0, 9))]), None);
        let only = Some(Reach::Only([2].into()));
        assert_eq!(reach(&[(1, trials(0, 5)), (2, trials(9, 9))]), only);
    }

    #[test]
    fn names_of_copies() {
        for (host, own, copy) in [
            ("a.org", true, false),
            ("www.a.org", true, false),
            ("shop.a.org", false, false),
            ("mirror.a.org", false, true),
            ("mirror2.a.org", false, true),
            ("www2.a.org", false, true),
            ("m.a.org", false, true),
            ("mail.a.org", false, false),
            ("www.shop.a.org", false, false),
        ] {
            let host = host.as_bytes();
            assert_eq!((is_own_name(host), is_name_of_copy(host)), (own, copy), "{host:?}");
        }
    }

    #[test]
    fn beside_what_is_in_force() {
        let settled = Candidate { settled: true, ..Candidate::new(Act::Drop(1)) };
        let new = [Act::Drop(1), Act::Default(1, 5), Act::Drop(2), Act::Default(3, 5)];
        let all = beside(vec![settled], new.into_iter().map(Candidate::new).collect());
        let acts: Vec<(Act, bool)> = all.into_iter().map(|one| (one.act, one.settled)).collect();
        let expected = [(Act::Drop(1), true), (Act::Drop(2), false), (Act::Default(3, 5), false)];
        assert_eq!(acts, expected);
    }

    #[test]
    fn directions_do_not_meet() {
        let prefix = |from: &str, to: &str| {
            Act::Path(PathAct::Prefix(from.as_bytes().to_vec(), to.as_bytes().to_vec()))
        };
        let mut acts = vec![prefix("/people/", "/~"), prefix("/~", "/x"), prefix("/a", "/ab")];
        keep_one_direction(&mut acts);
        assert_eq!(acts, [prefix("/people/", "/~")]);
        let extension = |from: &str, to: &str| {
            Act::Path(PathAct::Extension(from.as_bytes().to_vec(), to.as_bytes().to_vec()))
        };
        let mut acts = vec![extension(".htm", ".html"), extension(".html", ".htm")];
        keep_one_direction(&mut acts);
        assert_eq!(acts, [extension(".htm", ".html")]);
    }
}
