//! One slot at a time: URLs that are equal but for one parameter, or but for the host.
//!
//! HOT: once per parameter of a URL.
//!
//! ```text
//! masks    hash of the rest of the URL, slot, hash of the slot's value, link    fixed width, sorted
//! ```
//!
//! What disagrees here is alone to blame, so a parameter that matters is known before parameters
//! are judged together.

use std::collections::{BTreeMap, BTreeSet};

use super::forms::{sort_hashed, sort_keys};
use super::signal::{Calibration, Comparison};
use super::softly::Soft;
use super::table::{Link, Table, hash, mix};
use super::trials::Tally;

/// Most members of a group that are compared with the first.
const MEMBERS_MAX: usize = 5;

/// What was seen of slots alone.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// By name of parameter and handler.
    pub(super) params: BTreeMap<(u32, u32), Tally>,
    /// By pair of hosts, the smaller number first.
    pub(super) hosts: BTreeMap<(u32, u32), Tally>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mask {
    rest: u64,
    slot: u32,
    value: u64,
    link: u32,
}

/// The slot of hosts; no parameter has this number.
const HOST: u32 = u32::MAX;

/// What one group of URLs that are equal but for a parameter says about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    /// The number of the parameter.
    pub(super) name: u32,
    /// A link of the group.
    pub(super) link: u32,
    /// The handler of its path.
    pub(super) handler: u32,
    pub(super) agree: bool,
    /// The content of the link.
    pub(super) content: u32,
    pub(super) same: f64,
    pub(super) high: f64,
}

/// Compares the URLs of `table` slot by slot. Paths are taken as `softs` spells them, parameters as
/// a multiset. O(n log n) in the number of parameters.
pub(super) fn screen(
    table: &Table,
    softs: &[Soft],
    handlers: &[u32],
    calibration: &Calibration,
) -> Screen {
    let mut screen = Screen::default();
    let slots = Slots { table, softs, handlers, calibration };
    slots.compare(
        |_, _| true,
        |pairs| hosts(table, calibration, pairs, &mut screen.hosts),
        |seen| {
            let tally = screen.params.entry((seen.name, seen.handler)).or_default();
            tally.add(seen.agree, seen.same, seen.high);
        },
    );
    screen
}

/// What is compared slot by slot.
#[derive(Clone, Copy)]
pub(super) struct Slots<'a> {
    pub(super) table: &'a Table,
    pub(super) softs: &'a [Soft],
    pub(super) handlers: &'a [u32],
    pub(super) calibration: &'a Calibration,
}

impl Slots<'_> {
    /// What is seen of those parameters under handlers that are `asked` for, one group after the
    /// other: in an order that depends on the table only.
    pub(super) fn seen(self, asked: &BTreeSet<(u32, u32)>) -> Vec<Seen> {
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
    /// whether any slot of the handler is asked for. Hosts are told of as values with links.
    fn compare(
        self,
        asked: impl Fn(Option<u32>, u32) -> bool,
        mut hosts: impl FnMut(&[(u64, u32)]),
        mut told: impl FnMut(Seen),
    ) {
        let Slots { table, softs, handlers, calibration } = self;
        let paths: Vec<u64> = softs.iter().map(|soft| hash(&soft.lettered())).collect();
        let mut masks: Vec<Mask> = Vec::new();
        let mut whole: Vec<(u64, u32)> = Vec::new();
        for (number, link) in (0..).zip(&table.links) {
            let handler = handlers[link.path as usize];
            if link.opaque || link.captures.len() == 0 || !asked(None, handler) {
                continue;
            }
            let host = table.origins[link.origin as usize].host;
            let params = table.params_of(link);
            let each = |at: usize| mix(params[at].value ^ mix(u64::from(params[at].name)));
            let sum = (0..params.len()).fold(0u64, |sum, at| sum.wrapping_add(each(at)));
            let place = mix(paths[link.path as usize]);
            let key = |host: u64, sum: u64| mix(place ^ mix(host ^ mix(sum)));
            whole.push((key(u64::from(host), sum), number));
            if asked(Some(HOST), handler) {
                masks.push(Mask {
                    rest: key(u64::from(HOST), sum),
                    slot: HOST,
                    value: u64::from(host),
                    link: number,
                });
            }
            for (at, param) in params.iter().enumerate() {
                if asked(Some(param.name), handler) {
                    masks.push(Mask {
                        rest: key(u64::from(host), sum.wrapping_sub(each(at))),
                        slot: param.name,
                        value: param.value,
                        link: number,
                    });
                }
            }
        }
        sort_hashed(&mut masks, |mask| mask.rest);
        sort_keys(&mut whole);
        let mut members: Vec<(u64, u32)> = Vec::new();
        let mut from = 0;
        for group in masks.chunk_by(|a, b| (a.rest, a.slot) == (b.rest, b.slot)) {
            members.clear();
            let slot = group[0].slot;
            if slot != HOST {
                // Both lists are in order.
                from += whole[from..].iter().take_while(|(key, _)| *key < group[0].rest).count();
                if whole.get(from).is_some_and(|(key, _)| *key == group[0].rest) {
                    members.push((0, whole[from].1));
                }
            }
            for values in group.chunk_by(|a, b| a.value == b.value) {
                members.push((values[0].value, values[0].link));
            }
            if members.len() < 2 {
                continue;
            }
            if slot == HOST {
                hosts(&members);
                continue;
            }
            members.sort_unstable_by_key(|(value, link)| (mix(*value), *link));
            members.truncate(MEMBERS_MAX);
            let link = |at: usize| -> &Link { &table.links[members[at].1 as usize] };
            let mut verdict: Option<Comparison> = None;
            for at in 1..members.len() {
                if let Some(one) = calibration.compare(table, link(0), link(at)) {
                    verdict = match verdict {
                        None => Some(one),
                        Some(_) if one.same < 0.98 => break,
                        Some(all) => Some(Comparison {
                            agree: all.agree && one.agree,
                            same: all.same * one.same,
                            high: all.high * one.high,
                            ..all
                        }),
                    };
                }
            }
            if let Some(Comparison { agree, content, same, high, .. }) = verdict {
                let handler = handlers[link(0).path as usize];
                let link = members[0].1;
                told(Seen { name: slot, link, handler, agree, content, same, high });
            }
        }
    }
}

fn hosts(
    table: &Table,
    calibration: &Calibration,
    members: &[(u64, u32)],
    hosts: &mut BTreeMap<(u32, u32), Tally>,
) {
    let members = &members[..members.len().min(MEMBERS_MAX)];
    for (at, (a, one)) in members.iter().enumerate() {
        for (b, other) in &members[at + 1..] {
            let (one, other) = (&table.links[*one as usize], &table.links[*other as usize]);
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
    use crate::mine::softly::soften;
    use crate::mine::table::tests::table_of;

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
        let softs: Vec<Soft> = table.paths.iter().map(|path| soften(path)).collect();
        let found = screen(&table, &softs, &[0], &Calibration::measure(&table));
        let name = |text: &[u8]| table.names.iter().position(|name| name == text).unwrap() as u32;
        let tally = found.params[&(name(b"s"), 0)];
        assert_eq!((tally.good, tally.trials), (60, 60));
        let tally = found.params[&(name(b"id"), 0)];
        assert_eq!(tally.good, 0);
        assert!(tally.trials > 0);
        assert_eq!(found.hosts[&(0, 1)].good, 30);
    }
}
