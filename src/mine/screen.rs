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

use std::collections::BTreeMap;

use super::forms::{sort_hashed, sort_keys};
use super::signal::Calibration;
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

/// Compares the URLs of `table` slot by slot. Paths are taken as `softs` spells them, parameters as
/// a multiset. O(n log n) in the number of parameters.
pub(super) fn screen(
    table: &Table,
    softs: &[Soft],
    handlers: &[u32],
    calibration: &Calibration,
) -> Screen {
    let paths: Vec<u64> = softs.iter().map(|soft| hash(&soft.lettered())).collect();
    let mut masks: Vec<Mask> = Vec::new();
    let mut whole: Vec<(u64, u32)> = Vec::new();
    for (number, link) in (0..).zip(&table.links) {
        if link.opaque || link.captures.len() == 0 {
            continue;
        }
        let host = table.origins[link.origin as usize].host;
        let params = table.params_of(link);
        let each = |at: usize| mix(params[at].value ^ mix(u64::from(params[at].name)));
        let sum = (0..params.len()).fold(0u64, |sum, at| sum.wrapping_add(each(at)));
        let place = mix(paths[link.path as usize]);
        let key = |host: u64, sum: u64| mix(place ^ mix(host ^ mix(sum)));
        whole.push((key(u64::from(host), sum), number));
        masks.push(Mask {
            rest: key(u64::from(HOST), sum),
            slot: HOST,
            value: u64::from(host),
            link: number,
        });
        for (at, param) in params.iter().enumerate() {
            masks.push(Mask {
                rest: key(u64::from(host), sum.wrapping_sub(each(at))),
                slot: param.name,
                value: param.value,
                link: number,
            });
        }
    }
    sort_hashed(&mut masks, |mask| mask.rest);
    sort_keys(&mut whole);
    let mut screen = Screen::default();
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
            hosts(table, calibration, &members, &mut screen);
            continue;
        }
        members.sort_unstable_by_key(|(value, link)| (mix(*value), *link));
        members.truncate(MEMBERS_MAX);
        let link = |at: usize| -> &Link { &table.links[members[at].1 as usize] };
        let mut verdict: Option<(bool, f64, f64)> = None;
        for at in 1..members.len() {
            if let Some(one) = calibration.compare(table, link(0), link(at)) {
                let (agree, same, high) = verdict.unwrap_or((true, 1.0, 1.0));
                if verdict.is_some() && one.same < 0.98 {
                    break;
                }
                verdict = Some((agree && one.agree, same * one.same, high * one.high));
            }
        }
        if let Some((agree, same, high)) = verdict {
            let handler = handlers[link(0).path as usize];
            screen.params.entry((slot, handler)).or_default().add(agree, same, high);
        }
    }
    screen
}

fn hosts(table: &Table, calibration: &Calibration, members: &[(u64, u32)], screen: &mut Screen) {
    let members = &members[..members.len().min(MEMBERS_MAX)];
    for (at, (a, one)) in members.iter().enumerate() {
        for (b, other) in &members[at + 1..] {
            let (one, other) = (&table.links[*one as usize], &table.links[*other as usize]);
            if let Some(found) = calibration.compare(table, one, other) {
                let pair = ((*a).min(*b) as u32, (*a).max(*b) as u32);
                screen.hosts.entry(pair).or_default().add(found.agree, found.same, found.high);
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
