//! One slot at a time: URLs that are equal but for one parameter, or but for the host.
//!
//! HOT: once per parameter of a URL.
//!
//! ```text
//! masks    draw of the rest of the URL, slot, check of the rest, URL, place    fixed width, sorted
//! ```
//!
//! A disagreement here is due to the one parameter, so a parameter that matters is known before
//! parameters are validated together.

use std::collections::{BTreeMap, BTreeSet};

use crate::mine::seen::identity::{Keyed, groups, sort_hashed, sort_keys};
use crate::mine::seen::loose_path::LoosePath;
use crate::mine::seen::maps::{hash, mix};
use crate::mine::seen::table::{Param, Table, Url};
use crate::mine::trials::Trials;
use crate::mine::worth::signal::{Calibration, ContentComparison};

/// Most members of a group that are compared with the first.
const MEMBERS_MAX: usize = 5;

/// What was seen of slots alone.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    /// By name of parameter and handler.
    pub(crate) params: BTreeMap<(u32, u32), Trials>,
    /// By pair of hosts, the smaller number first.
    pub(crate) hosts: BTreeMap<(u32, u32), Trials>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mask {
    rest: u64,
    slot: u32,
    check: u32,
    url: u32,
    /// Which of the parameters of the URL.
    at: u16,
}

/// The slot of hosts; no parameter has this number.
const HOST: u32 = u32::MAX;

/// What one group of URLs that are equal but for a parameter says about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SlotSample {
    /// The number of the parameter.
    pub(crate) name: u32,
    /// A URL of the group.
    pub(crate) url: u32,
    /// The handler of its path.
    pub(crate) handler: u32,
    pub(crate) agree: bool,
    /// The content of the URL.
    pub(crate) content: u32,
    pub(crate) same: f64,
    pub(crate) high: f64,
}

/// Compares the URLs of `table` slot by slot. Paths are taken as `loose_paths` spells them,
/// parameters as a multiset. O(n log n) in the number of parameters.
pub(crate) fn screen(
    table: &Table,
    loose_paths: &[LoosePath],
    handlers: &[u32],
    calibration: &Calibration,
) -> Screen {
    let mut screen = Screen::default();
    let slots = Slots { table, loose_paths, handlers, calibration };
    slots.compare(
        |_, _| true,
        |pairs| hosts(table, calibration, pairs, &mut screen.hosts),
        |seen| {
            let trials = screen.params.entry((seen.name, seen.handler)).or_default();
            trials.add(seen.agree, seen.same, seen.high);
        },
    );
    screen
}

/// What is compared slot by slot.
#[derive(Clone, Copy)]
pub(crate) struct Slots<'a> {
    pub(crate) table: &'a Table,
    pub(crate) loose_paths: &'a [LoosePath],
    pub(crate) handlers: &'a [u32],
    pub(crate) calibration: &'a Calibration,
}

impl Slots<'_> {
    /// What is seen of those parameters under handlers that are `asked` for, one group after the
    /// other: in an order that depends on the table only.
    pub(crate) fn seen(self, asked: &BTreeSet<(u32, u32)>) -> Vec<SlotSample> {
        let handlers: BTreeSet<u32> = asked.iter().map(|(_, handler)| *handler).collect();
        let is_asked = |name: Option<u32>, handler| match name {
            Some(name) => asked.contains(&(name, handler)),
            None => handlers.contains(&handler),
        };
        let mut out = Vec::new();
        self.compare(is_asked, |_| {}, |seen| out.push(seen));
        out
    }

    /// Compares the slots for which `asked` says yes, by name and handler; without a name it says
    /// whether any slot of the handler is asked for. Hosts are handed over as values with URLs.
    fn compare(
        self,
        asked: impl Fn(Option<u32>, u32) -> bool,
        mut hosts: impl FnMut(&[(u64, u32)]),
        mut found: impl FnMut(SlotSample),
    ) {
        let (masks, whole) = self.masks(asked);
        let mut members: Vec<(u64, u32)> = Vec::new();
        let mut from = 0;
        let groups = groups(&masks, |mask| (mask.rest, mask.slot), |mask| (mask.check, mask.url));
        for group in groups {
            let Mask { rest, slot, check, .. } = group[0];
            members.clear();
            if slot != HOST {
                // Both lists are in order.
                from += whole[from..].iter().take_while(|keyed| keyed.draw < rest).count();
                let is_it = |keyed: &&Keyed| keyed.key() == (rest, check);
                let first = whole.get(from).filter(|keyed| keyed.draw == rest);
                // A different rest with the same draw is very unlikely: then many were crafted.
                let found = first.filter(is_it).or_else(|| {
                    first?;
                    let at = whole[from..].partition_point(|keyed| keyed.key() < (rest, check));
                    whole.get(from + at).filter(is_it)
                });
                members.extend(found.map(|one| (0, one.url)));
            }
            if members.len() + group.len() < 2 {
                continue;
            }
            let without = members.len();
            members.extend(group.iter().map(|mask| (self.value(mask), mask.url)));
            members[without..].sort_unstable();
            // The first URL of each value.
            let mut before = None;
            let mut number = 0;
            members.retain(|(value, _)| {
                number += 1;
                number <= without || before.replace(*value) != Some(*value)
            });
            if members.len() < 2 {
                continue;
            }
            if slot == HOST {
                hosts(&members);
            } else {
                members.sort_unstable_by_key(|(value, url)| (mix(*value), *url));
                members.truncate(MEMBERS_MAX);
                if let Some(comparison) = self.compared(&members) {
                    let ContentComparison { agree, content, same, high, .. } = comparison;
                    let url = members[0].1;
                    let handler = self.handlers[self.table.urls[url as usize].path as usize];
                    found(SlotSample { name: slot, url, handler, agree, content, same, high });
                }
            }
        }
    }

    /// The masks of the slots that are asked for, and the whole URLs under their handlers, sorted.
    fn masks(self, asked: impl Fn(Option<u32>, u32) -> bool) -> (Vec<Mask>, Vec<Keyed>) {
        let Slots { table, loose_paths, handlers, .. } = self;
        let secret = &table.secret;
        let paths: Vec<(u64, u64)> = loose_paths
            .iter()
            .map(|loose| loose.lettered())
            .map(|path| (mix(hash(&path)), secret.of(&path)))
            .collect();
        let mut masks: Vec<Mask> = Vec::new();
        let mut whole: Vec<Keyed> = Vec::new();
        for (number, url) in (0..).zip(&table.urls) {
            let handler = handlers[url.path as usize];
            if url.opaque || url.captures.len() == 0 || !asked(None, handler) {
                continue;
            }
            let host = u64::from(table.origins[url.origin as usize].host);
            let params = table.params_of(url);
            // Sums, so that the order of parameters does not matter.
            let draw = |param: &Param| mix(param.value ^ mix(u64::from(param.name)));
            let check = |param: &Param| {
                secret.join(secret.join(param.value, u64::from(param.name)), u64::from(param.name))
            };
            let sum = params.iter().fold((0u64, 0u64), |(draws, checks), param| {
                (draws.wrapping_add(draw(param)), checks.wrapping_add(check(param)))
            });
            let path = paths[url.path as usize];
            let key = |host: u64, sum: (u64, u64)| {
                let draw = mix(path.0 ^ mix(host ^ mix(sum.0)));
                let check = secret.join(secret.join(path.1, host), sum.1);
                Keyed { draw, check: (check >> 32) as u32, url: number }
            };
            let mask = |slot: u32, at: usize, Keyed { draw: rest, check, url }: Keyed| Mask {
                rest,
                slot,
                check,
                url,
                at: at as u16,
            };
            whole.push(key(host, sum));
            if asked(Some(HOST), handler) {
                masks.push(mask(HOST, 0, key(u64::from(HOST), sum)));
            }
            for (at, param) in params.iter().enumerate() {
                if asked(Some(param.name), handler) {
                    let rest = sum.0.wrapping_sub(draw(param));
                    let rest = (rest, sum.1.wrapping_sub(check(param)));
                    masks.push(mask(param.name, at, key(host, rest)));
                }
            }
        }
        sort_hashed(&mut masks, |mask| mask.rest);
        sort_keys(&mut whole);
        (masks, whole)
    }

    /// The content of the slot of a mask: the number of a host, or the bits of a value.
    fn value(self, mask: &Mask) -> u64 {
        let url = &self.table.urls[mask.url as usize];
        match mask.slot {
            HOST => u64::from(self.table.origins[url.origin as usize].host),
            _ => self.table.params_of(url)[usize::from(mask.at)].value,
        }
    }

    /// Compares the first of some URLs with each of the others.
    fn compared(self, members: &[(u64, u32)]) -> Option<ContentComparison> {
        let Slots { table, calibration, .. } = self;
        let url = |at: usize| -> &Url { &table.urls[members[at].1 as usize] };
        let mut comparison: Option<ContentComparison> = None;
        for at in 1..members.len() {
            if let Some(one) = calibration.compare(table, url(0), url(at)) {
                comparison = match comparison {
                    None => Some(one),
                    Some(_) if one.same < 0.98 => break,
                    Some(all) => Some(ContentComparison {
                        agree: all.agree && one.agree,
                        same: all.same * one.same,
                        high: all.high * one.high,
                        ..all
                    }),
                };
            }
        }
        comparison
    }
}

fn hosts(
    table: &Table,
    calibration: &Calibration,
    members: &[(u64, u32)],
    hosts: &mut BTreeMap<(u32, u32), Trials>,
) {
    let members = &members[..members.len().min(MEMBERS_MAX)];
    for (at, (a, one)) in members.iter().enumerate() {
        for (b, other) in &members[at + 1..] {
            let (one, other) = (&table.urls[*one as usize], &table.urls[*other as usize]);
            if let Some(found) = calibration.compare(table, one, other) {
                let pair = ((*a).min(*b) as u32, (*a).max(*b) as u32);
                hosts.entry(pair).or_default().add(found.agree, found.same, found.high);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::seen::loose_path::loosen;
    use crate::mine::seen::table::tests::{table_of, twins};

    #[test]
    fn slots_alone() {
        let mut rows = Vec::new();
        for page in 0..30 {
            for (host, sid) in [("a.test", ""), ("a.test", "&s=1"), ("b.a.test", "&s=2")] {
                rows.push((format!("http://{host}/x?id={page}{sid}"), format!("page {page}")));
            }
            rows.push((format!("http://b.a.test/x?id={page}&s=1"), format!("page {page}")));
        }
        let table = table_of(&rows);
        let loose_paths: Vec<LoosePath> = table.paths.iter().map(|path| loosen(path)).collect();
        let found = screen(&table, &loose_paths, &[0], &Calibration::measure(&table));
        let name = |text: &[u8]| table.names.iter().position(|name| name == text).unwrap() as u32;
        let trials = found.params[&(name(b"s"), 0)];
        assert_eq!((trials.good, trials.samples), (60, 60));
        let trials = found.params[&(name(b"id"), 0)];
        assert_eq!(trials.good, 0);
        assert!(trials.samples > 0);
        assert_eq!(found.hosts[&(0, 1)].good, 30);
    }

    #[test]
    fn paths_with_one_draw_are_two() {
        let [path, other] = twins("/a/path/");
        let mut rows = Vec::new();
        for page in 0..30 {
            rows.push((format!("http://a.test{path}?id={page}&s=1"), format!("page {page}")));
            rows.push((format!("http://a.test{other}?id={page}&s=2"), format!("other {page}")));
        }
        let table = table_of(&rows);
        let loose_paths: Vec<LoosePath> = table.paths.iter().map(|path| loosen(path)).collect();
        let found = screen(&table, &loose_paths, &[0, 0], &Calibration::measure(&table));
        let s = table.names.iter().position(|name| name == b"s").unwrap() as u32;
        assert_eq!(found.params.get(&(s, 0)), None);
        assert_eq!(found.params.len(), 1, "what is seen of `id` is seen under one path");
    }
}
