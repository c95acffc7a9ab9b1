//! Conditions: where a parameter says nothing under one action and chooses the page under another.
//!
//! Where what was seen of a parameter alone neither holds nor fails under a handler, the handler is
//! split for it by what another parameter says (`splits.rs`): by its values, or by whether it is
//! there. Which one is chosen by half of the contents; rules under the cells are then tried as under
//! any other handler, by the other half. So no rule is proved by what it was chosen for, and each
//! is paid for among all candidates.
//!
//! A parameter that may be dropped itself is no condition: a rule would read what another writes.

use std::collections::{BTreeMap, BTreeSet};

use super::bounds::binomial_tail;
use super::candidates::Act;
use super::priors::{BAR, Nature};
use super::screen::{Screen, Seen, Slots};
use super::select::{CONTRADICTION, CONTRADICTION_OF_HANDLER, is_below};
use super::splits::{Splits, is_for_choice};
use super::table::Table;
use super::trials::Tally;
use super::votes::Votes;

/// Fewest agreements of a slot that may be split, beside a disagreement. Reason: half of them choose.
const GOOD_MIN: u64 = 16;

/// Least share in percent of the groups that have a frequent value of a dispatcher. Under each value another program answers: one page that disagrees is enough to
/// leave a rare value out.
const DISPATCHER_MIN: usize = 90;
const CONTRADICTION_OF_RARE: f64 = 0.06;

/// Contents that must agree in a cell, among the half that chooses.
const CONTENTS_MIN: usize = 8;

/// Most parameters that are tried for one split, and most of their values.
const CANDIDATES_MAX: usize = 16;
const VALUES_MAX: usize = 16;

/// Fewest groups that a value must have to be a cell.
const VALUE_MIN: usize = 8;

/// How often a cell is split again.
const DEPTH_MAX: usize = 2;

/// Most slots that are split, those with the most groups first.
const SLOTS_MAX: usize = 64;

/// Finds the splits of a site, and puts what was seen under their cells in the place of what was
/// seen under the handlers that are split.
pub(super) fn find(
    slots: Slots<'_>,
    natures: &[Nature],
    votes: &Votes,
    screen: &mut Screen,
    handlers: usize,
) -> Splits {
    let table = slots.table;
    let mut splits = Splits::none(handlers, table.names.len());
    let asked = mixed(natures, votes, screen);
    if asked.is_empty() {
        return splits;
    }
    let mut seen = slots.seen(&asked);
    seen.sort_by_key(|one| (one.name, one.handler));
    let search = Search { table, natures, votes, screen };
    for group in seen.chunk_by(|a, b| (a.name, a.handler) == (b.name, b.handler)) {
        let all: Vec<&Seen> = group.iter().collect();
        search.split(&mut splits, (group[0].name, group[0].handler), &all, DEPTH_MAX);
    }
    for group in seen.chunk_by(|a, b| (a.name, a.handler) == (b.name, b.handler)) {
        let (name, handler) = (group[0].name, group[0].handler);
        if splits.cells_of(name, handler).is_empty() {
            continue;
        }
        screen.params.remove(&(name, handler));
        for one in group {
            let cell = splits.refine(table, &table.links[one.link as usize], name, handler);
            let tally = screen.params.entry((name, cell)).or_default();
            tally.add(one.agree, one.same, one.high);
        }
    }
    splits
}

/// The slots, by name and handler, that may be split: a rule is asked for, and some of what was seen
/// of it agrees, and some does not.
fn mixed(natures: &[Nature], votes: &Votes, screen: &Screen) -> BTreeSet<(u32, u32)> {
    let is_mixed = |tally: &Tally| tally.good >= GOOD_MIN && tally.bad() > 0;
    let is_open = |name: u32| {
        let nature = natures[name as usize];
        !(nature.listed || nature.guarded || nature.short) && votes.contains_key(&Act::Drop(name))
    };
    let mut all: Vec<(u64, (u32, u32))> = screen
        .params
        .iter()
        .filter(|((name, _), tally)| is_mixed(tally) && is_open(*name))
        .map(|(slot, tally)| (tally.trials, *slot))
        .collect();
    all.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    all.into_iter().take(SLOTS_MAX).map(|(_, slot)| slot).collect()
}

/// What a search for splits knows.
struct Search<'a> {
    table: &'a Table,
    natures: &'a [Nature],
    votes: &'a Votes,
    screen: &'a Screen,
}

/// A way to split: by this parameter, with these values as cells.
struct Way {
    by: u32,
    values: Vec<u64>,
}

impl Search<'_> {
    /// Splits a slot, and its cells once more, as long as that explains what was seen.
    fn split(&self, splits: &mut Splits, slot: (u32, u32), all: &[&Seen], depth: usize) {
        let mut whole = Tally::default();
        all.iter().for_each(|one| whole.add(one.agree, one.same, one.high));
        if depth == 0 || whole.good < GOOD_MIN || whole.bad() == 0 {
            return;
        }
        // What is believed as a whole only loses cells: nothing is proved by the choice.
        let is_chosen = is_below(&whole, BAR, CONTRADICTION);
        let Some(way) = self.best(slot, all, is_chosen) else { return };
        let cells = splits.split(slot, way.by, &way.values, is_chosen);
        for cell in cells {
            let number = |one: &Seen| {
                let link = &self.table.links[one.link as usize];
                splits.refine(self.table, link, slot.0, splits.path_of(cell))
            };
            let inside: Vec<&Seen> =
                all.iter().copied().filter(|one| number(one) == cell).collect();
            self.split(splits, (slot.0, cell), &inside, depth - 1);
        }
    }

    /// The way that keeps the most agreements in cells that hold, where others clearly fail.
    fn best(&self, slot: (u32, u32), all: &[&Seen], is_chosen: bool) -> Option<Way> {
        let half: Vec<&Seen> =
            all.iter().copied().filter(|one| !is_chosen || is_for_choice(one.content)).collect();
        // By parameter: groups that have it, and those with each value.
        let mut present: BTreeMap<u32, BTreeMap<u64, usize>> = BTreeMap::new();
        for one in &half {
            for param in self.table.params_of(&self.table.links[one.link as usize]) {
                *present.entry(param.name).or_default().entry(param.value).or_insert(0) += 1;
            }
        }
        let handler = all.first()?.handler;
        present.retain(|by, _| *by != slot.0 && self.may_decide(*by, handler));
        let mut names: Vec<(usize, u32)> =
            present.iter().map(|(by, values)| (values.values().sum(), *by)).collect();
        names.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut best: Option<(u64, Way)> = None;
        for (_, by) in names.into_iter().take(CANDIDATES_MAX) {
            let mut values: Vec<(usize, u64)> =
                present[&by].iter().map(|(value, groups)| (*groups, *value)).collect();
            values.retain(|(groups, _)| *groups >= VALUE_MIN);
            values.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
            values.truncate(VALUES_MAX);
            let frequent: usize = values.iter().map(|(groups, _)| groups).sum();
            let is_dispatcher = frequent * 100 >= half.len() * DISPATCHER_MIN;
            let mut values: Vec<u64> = values.into_iter().map(|(_, value)| value).collect();
            values.sort_unstable();
            // Where the whole is believed, a rare value can only leave it: nothing is proved by that.
            let rare_may_fail = is_dispatcher && !is_chosen;
            // Without values there is less to choose from, so it comes first.
            for values in [Vec::new(), values] {
                let gain = self.gain(&half, by, &values, rare_may_fail);
                if gain > best.as_ref().map_or(0, |(gain, _)| *gain) {
                    best = Some((gain, Way { by, values }));
                }
            }
        }
        best.map(|(_, way)| way)
    }

    /// May a parameter decide what others say? Not one that may be dropped itself, or has a value
    /// that is the same as none.
    fn may_decide(&self, by: u32, handler: u32) -> bool {
        let nature = self.natures[by as usize];
        if nature.listed || nature.session || self.table.names[by as usize].is_empty() {
            return false;
        }
        let tally = self.screen.params.get(&(by, handler)).copied().unwrap_or_default();
        let asked = self.votes.contains_key(&Act::Drop(by));
        let fails = is_below(&tally, BAR, CONTRADICTION_OF_HANDLER);
        let defaults = (Act::Default(by, 0), Act::Default(by, u64::MAX));
        let has_default = self.votes.range(defaults.0..=defaults.1).next().is_some();
        (!asked || fails) && !has_default
    }

    /// How many agreements are in cells that hold; 0 where no cell clearly fails.
    fn gain(&self, half: &[&Seen], by: u32, values: &[u64], rare_may_fail: bool) -> u64 {
        let mut cells: BTreeMap<Option<Option<u64>>, (Tally, BTreeSet<u32>)> = BTreeMap::new();
        for one in half {
            let params = self.table.params_of(&self.table.links[one.link as usize]);
            let cell = match params.iter().find(|param| param.name == by) {
                None => Some(None),
                Some(param) if values.contains(&param.value) => Some(Some(param.value)),
                Some(_) => None,
            };
            let (tally, contents) = cells.entry(cell).or_default();
            tally.add(one.agree, one.same, one.high);
            if one.agree {
                contents.insert(one.content);
            }
        }
        let fails = |tally: &Tally| {
            let rate = BAR * tally.mean_same();
            is_below(tally, BAR, CONTRADICTION_OF_HANDLER)
                || rare_may_fail
                    && tally.bad() > 0
                    && binomial_tail(tally.good, tally.trials, rate) < CONTRADICTION_OF_RARE
        };
        if !cells.values().any(|(tally, _)| fails(tally)) {
            return 0;
        }
        let holds = |(tally, contents): &(Tally, BTreeSet<u32>)| {
            contents.len() >= CONTENTS_MIN && !is_below(tally, BAR, 0.05)
        };
        let told = cells.iter().filter(|(cell, _)| cell.is_some()).map(|(_, seen)| seen);
        told.filter(|seen| holds(seen)).map(|(tally, _)| tally.good).sum()
    }
}
