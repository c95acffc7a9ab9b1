//! Conditions: where a parameter says nothing under one action and chooses the page under another.
//!
//! If the evidence about a parameter alone is mixed under a handler, the handler is split for it by
//! what another parameter says (`splits.rs`): by its values, or by whether it is there. Which one
//! is chosen by half of the contents; rules under the cells are then validated as under any other
//! handler, by the other half. So no rule is proved by what it was chosen for, and each is paid for
//! among all candidates.
//!
//! A parameter that may be dropped itself is no condition: a rule would read what another writes.

use std::collections::{BTreeMap, BTreeSet};

use super::propose::VOTES_MIN;
use super::screen::{Screen, SlotSample, Slots};
use super::votes::Votes;
use crate::mine::acts::candidates::Act;
use crate::mine::acts::priors::Nature;
use crate::mine::seen::table::splits::{Splits, is_for_choice};
use crate::mine::seen::table::{Table, Url};
use crate::mine::stats::binomial_tail;
use crate::mine::trials::{
    BAR, CONTRADICTION, CONTRADICTION_OF_HANDLER, Trials, VERSIONS_BAR, is_below,
};

/// Fewest agreements of a slot that may be split. Reason: half of them choose.
const GOOD_MIN: u64 = 16;

/// How unlikely what was seen in a cell must be, if a rule that holds otherwise held there too.
/// Reason: one page that is lost is enough to leave out a cell in which nothing agrees.
const CONTRADICTION_OF_RARE: f64 = 0.06;

/// URLs of a cell that are not to be merged unless something is seen of them.
const UNPROVEN_MIN: u64 = 6;

/// Least share in percent of what agrees that must stay in cells that can be written.
const GOOD_SHARE_MIN: u64 = 75;

/// Contents that must agree in a cell, among the half that chooses.
const CONTENTS_MIN: usize = 8;

/// Most parameters that are looked at for one split, and most of their values.
const CANDIDATES_MAX: usize = 16;
const VALUES_MAX: usize = 16;

/// Fewest groups that a value must have to be a cell.
const VALUE_MIN: usize = 8;

/// How often a cell is split again.
pub(crate) const DEPTH_MAX: usize = 2;

/// Most slots that are split, those with the most groups first.
const SLOTS_MAX: usize = 64;

/// Finds the splits of a site by what was seen of parameters alone, where that speaks against a
/// rule for the whole of a handler.
pub(crate) fn find(
    slots: Slots<'_>,
    natures: &[Nature],
    votes: &Votes,
    screen: &mut Screen,
    handlers: usize,
) -> Splits {
    let mut splits = Splits::none(handlers, slots.table.names.len());
    let asked = mixed(natures, votes, screen);
    if asked.is_empty() {
        return splits;
    }
    let mut seen = slots.seen(&asked);
    seen.sort_by_key(|one| (one.name, one.handler));
    let search = Search { table: slots.table, natures, handlers: slots.handlers, votes, screen };
    for group in seen.chunk_by(|a, b| (a.name, a.handler) == (b.name, b.handler)) {
        let all: Vec<&SlotSample> = group.iter().collect();
        search.split(&mut splits, (group[0].name, group[0].handler), &all, DEPTH_MAX);
    }
    record(&splits, slots.table, &seen, screen);
    splits
}

/// Finds more splits among `samples`, what groups said about rules that hold, for [`local`] names:
/// what speaks against one under a condition is left out. `None` if there is nothing to leave out.
pub(crate) fn leave_out(
    slots: Slots<'_>,
    natures: &[Nature],
    votes: &Votes,
    screen: &mut Screen,
    samples: Vec<SlotSample>,
) -> Option<Splits> {
    let table = slots.table;
    let mut splits = table.splits.clone();
    let mut samples: Vec<(u32, SlotSample)> = samples
        .into_iter()
        .map(|one| {
            let url = &table.urls[one.url as usize];
            (splits.refine(table, url, one.name, one.handler), one)
        })
        .collect();
    samples.sort_by_key(|(handler, one)| (one.name, *handler));
    let search = Search { table, natures, handlers: slots.handlers, votes, screen };
    let mut new = BTreeSet::new();
    for group in samples.chunk_by(|a, b| (a.0, a.1.name) == (b.0, b.1.name)) {
        let (handler, SlotSample { name, handler: path, .. }) = group[0];
        let all: Vec<&SlotSample> = group.iter().map(|(_, one)| one).collect();
        let depth = splits.cell(handler).map_or(0, |cell| cell.when.len());
        let Some((division, failing)) =
            search.worst((name, handler), &all).filter(|_| depth < DEPTH_MAX)
        else {
            continue;
        };
        let cells = splits.split((name, handler), division.by, &division.values, false);
        for (cell, fails) in cells.zip(failing) {
            if fails {
                splits.leave_out(cell);
            }
        }
        new.insert((name, path));
    }
    if new.is_empty() {
        return None;
    }
    let seen = slots.seen(&new);
    for one in &seen {
        let before = table.handler_for(&table.urls[one.url as usize], one.name, slots.handlers);
        screen.params.remove(&(one.name, before));
    }
    record(&splits, table, &seen, screen);
    Some(splits)
}

/// Those of `names` that stand under one handler on nearly all URLs that have them.
pub(crate) fn local(table: &Table, handlers: &[u32], names: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut row_of = vec![None; table.names.len()];
    names.iter().zip(0..).for_each(|(name, at)| row_of[*name as usize] = Some(at));
    let mut urls: Vec<(u64, BTreeMap<u32, u64>)> = vec![Default::default(); names.len()];
    for url in &table.urls {
        for param in table.params_of(url) {
            if let Some(at) = row_of[param.name as usize] {
                let (all, by_handler): &mut (u64, BTreeMap<u32, u64>) = &mut urls[at];
                *all += 1;
                *by_handler.entry(handlers[url.path as usize]).or_insert(0) += 1;
            }
        }
    }
    let is_local = |(all, by_handler): &(u64, BTreeMap<u32, u64>)| {
        by_handler.values().any(|here| here * 10 >= all * 9)
    };
    let local = names.iter().zip(&urls).filter(|(_, urls)| is_local(urls));
    local.map(|(name, _)| *name).collect()
}

/// Puts what was seen under cells instead of what was seen under the handlers that are split.
fn record(splits: &Splits, table: &Table, seen: &[SlotSample], screen: &mut Screen) {
    for one in seen {
        let url = &table.urls[one.url as usize];
        let cell = splits.refine(table, url, one.name, one.handler);
        if cell != one.handler {
            screen.params.remove(&(one.name, one.handler));
            let trials = screen.params.entry((one.name, cell)).or_default();
            trials.add(one.agree, one.same, one.high);
        }
    }
}

/// The slots, by name and handler, that may be split: a rule is asked for, and some of what was
/// seen of it agrees, but too little.
fn mixed(natures: &[Nature], votes: &Votes, screen: &Screen) -> BTreeSet<(u32, u32)> {
    let is_mixed =
        |trials: &Trials| trials.good >= GOOD_MIN && is_below(trials, BAR, CONTRADICTION);
    let is_open = |name: u32| {
        let nature = natures[name as usize];
        !(nature.listed || nature.guarded || nature.short) && votes.contains_key(&Act::Drop(name))
    };
    let mut all: Vec<(u64, (u32, u32))> = screen
        .params
        .iter()
        .filter(|((name, _), trials)| is_mixed(trials) && is_open(*name))
        .map(|(slot, trials)| (trials.samples, *slot))
        .collect();
    all.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    all.into_iter().take(SLOTS_MAX).map(|(_, slot)| slot).collect()
}

/// What a search for splits knows.
struct Search<'a> {
    table: &'a Table,
    natures: &'a [Nature],
    handlers: &'a [u32],
    votes: &'a Votes,
    screen: &'a Screen,
}

/// What a handler may be divided by: this parameter, with these values as cells.
struct Division {
    by: u32,
    values: Vec<u64>,
}

/// How much of what is bad is left out, what is good stays, and URLs are left out.
type Rank = (u64, u64, u64);

/// What was seen in a cell: samples, and the contents that agreed.
type InCell = (Trials, BTreeSet<u32>);

impl Search<'_> {
    /// Splits a slot, and its cells once more, as long as that explains what was seen.
    fn split(&self, splits: &mut Splits, slot: (u32, u32), all: &[&SlotSample], depth: usize) {
        let whole = sum(all);
        if depth == 0 || whole.good < GOOD_MIN || !is_below(&whole, BAR, CONTRADICTION) {
            return;
        }
        let Some(division) = self.best(slot.0, all) else { return };
        for cell in splits.split(slot, division.by, &division.values, true) {
            let is_inside = |one: &&SlotSample| {
                let url = &self.table.urls[one.url as usize];
                splits.refine(self.table, url, slot.0, one.handler) == cell
            };
            let inside: Vec<&SlotSample> = all.iter().copied().filter(is_inside).collect();
            // Not even pages with versions would explain that.
            if is_below(&sum(&inside), VERSIONS_BAR, 0.05) {
                splits.leave_out(cell);
            }
            self.split(splits, (slot.0, cell), &inside, depth - 1);
        }
    }

    /// The division that keeps the most agreements in cells that hold, where others clearly fail,
    /// by the half of the contents that chooses.
    fn best(&self, name: u32, all: &[&SlotSample]) -> Option<Division> {
        let half: Vec<&SlotSample> =
            all.iter().copied().filter(|one| is_for_choice(one.content)).collect();
        let fails = |seen: &InCell| is_below(&seen.0, BAR, CONTRADICTION_OF_HANDLER);
        let holds = |(trials, contents): &InCell| {
            contents.len() >= CONTENTS_MIN && !is_below(trials, BAR, 0.05)
        };
        let mut best: Option<(u64, Division)> = None;
        let urls: Vec<u32> = half.iter().map(|one| one.url).collect();
        for division in self.divisions(name, all[0].handler, &urls, VALUE_MIN) {
            let cells = self.cells(&half, &division);
            let (_, reported) = cells.split_last()?;
            let good = reported.iter().filter(|seen| holds(seen)).map(|(trials, _)| trials.good);
            let gain: u64 = if cells.iter().any(fails) { good.sum() } else { 0 };
            if gain > best.as_ref().map_or(0, |(gain, _)| *gain) {
                best = Some((gain, division));
            }
        }
        best.map(|(_, division)| division)
    }

    /// The division that has the most of what is bad in cells that fail, with which of its cells
    /// do. A rule only leaves these: nothing is proved by the choice, so all that was seen chooses.
    ///
    /// Only of parameters that stand under one handler: these are there to do something, so they
    /// must be seen to say nothing in every cell. What says nothing stands all over a site, more
    /// often than not, and every page of it that changes would be taken for a condition.
    fn worst(&self, slot: (u32, u32), all: &[&SlotSample]) -> Option<(Division, Vec<bool>)> {
        let whole = sum(all);
        let urls = self.urls(slot, all[0].handler);
        if whole.good == 0 {
            return None;
        }
        let fails = |trials: &Trials, urls: u64| {
            let rate = BAR * trials.mean_same();
            let is_rare = binomial_tail(trials.good, trials.samples, rate) < CONTRADICTION_OF_RARE;
            match trials.good {
                0 => trials.bad() > 0 || urls >= UNPROVEN_MIN,
                _ => trials.bad() > 0 && is_rare,
            }
        };
        let mut worst: Option<(Rank, (Division, Vec<bool>))> = None;
        for division in self.divisions(slot.0, all[0].handler, &urls, 1) {
            let cells = self.cells(all, &division);
            let mut urls_of = vec![0; cells.len()];
            for url in &urls {
                urls_of[self.cell(*url, &division)] += 1;
            }
            let each = || cells.iter().zip(&urls_of);
            let failing: Vec<bool> =
                each().map(|((trials, _), urls)| fails(trials, *urls)).collect();
            let out = || each().zip(&failing).filter(|(_, fails)| **fails);
            let bad: u64 = out().map(|(((trials, _), _), _)| trials.bad()).sum();
            let unproven: u64 = out().map(|((_, urls), _)| *urls).sum();
            let reported = each().zip(&failing).take(cells.len() - 1).filter(|(_, fails)| !**fails);
            let good: u64 = reported.map(|(((trials, _), _), _)| trials.good).sum();
            let rank = (bad, good, unproven);
            let is_worse = worst.as_ref().is_none_or(|(before, _)| rank > *before);
            if failing.contains(&true) && good * 100 >= whole.good * GOOD_SHARE_MIN && is_worse {
                worst = Some((rank, (division, failing)));
            }
        }
        worst.map(|(_, found)| found)
    }

    /// The URLs of a slot that have its parameter; `handler` is that of their path.
    fn urls(&self, (name, slot): (u32, u32), handler: u32) -> Vec<u32> {
        let has = |url: &Url| self.table.params_of(url).iter().any(|param| param.name == name);
        let is_here = |url: &Url| {
            self.handlers[url.path as usize] == handler
                && self.table.splits.refine(self.table, url, name, handler) == slot
        };
        let urls = (0..).zip(&self.table.urls);
        urls.filter(|(_, url)| is_here(url) && has(url)).map(|(number, _)| number).collect()
    }

    /// The divisions that are looked at: by the parameters that most groups have, first by whether
    /// they are there, then by their frequent values too.
    fn divisions(&self, name: u32, handler: u32, urls: &[u32], value_min: usize) -> Vec<Division> {
        let mut present: BTreeMap<u32, BTreeMap<u64, usize>> = BTreeMap::new();
        for url in urls {
            for param in self.table.params_of(&self.table.urls[*url as usize]) {
                *present.entry(param.name).or_default().entry(param.value).or_insert(0) += 1;
            }
        }
        present.retain(|by, _| *by != name && self.may_decide(*by, handler));
        let mut names: Vec<(usize, u32)> =
            present.iter().map(|(by, values)| (values.values().sum(), *by)).collect();
        names.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut divisions = Vec::new();
        for (_, by) in names.into_iter().take(CANDIDATES_MAX) {
            divisions.push(Division { by, values: Vec::new() });
            let mut values: Vec<(usize, u64)> =
                present[&by].iter().map(|(value, groups)| (*groups, *value)).collect();
            let few = values.len() <= VALUES_MAX;
            values.retain(|(groups, _)| *groups >= if few { value_min } else { VALUE_MIN });
            values.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
            values.truncate(VALUES_MAX);
            if !values.is_empty() {
                divisions.push(Division {
                    by,
                    values: values.into_iter().map(|(_, value)| value).collect(),
                });
            }
        }
        divisions
    }

    /// May a parameter decide what others say? Not one that may be dropped itself, or has a value
    /// that is the same as none.
    fn may_decide(&self, by: u32, handler: u32) -> bool {
        let nature = self.natures[by as usize];
        if nature.listed || nature.session || self.table.names[by as usize].is_empty() {
            return false;
        }
        let trials = self.screen.params.get(&(by, handler)).copied().unwrap_or_default();
        let asked = self.votes.get(&Act::Drop(by)).is_some_and(|count| *count >= VOTES_MIN);
        let fails = is_below(&trials, BAR, CONTRADICTION_OF_HANDLER);
        let (first, last) = (Act::Default(by, 0), Act::Default(by, u64::MAX));
        let has_default = self.votes.range(first..=last).any(|(_, count)| *count >= VOTES_MIN);
        (!asked || fails) && !has_default
    }

    /// What was seen in the cells of a division, in the order in which [`Splits::split`] numbers
    /// them.
    fn cells(&self, all: &[&SlotSample], division: &Division) -> Vec<InCell> {
        let mut cells = vec![InCell::default(); division.values.len() + 2];
        for one in all {
            let (trials, contents) = &mut cells[self.cell(one.url, division)];
            trials.add(one.agree, one.same, one.high);
            if one.agree {
                contents.insert(one.content);
            }
        }
        cells
    }

    /// The index of the cell of a URL in a division.
    fn cell(&self, url: u32, division: &Division) -> usize {
        let mut params = self.table.params_of(&self.table.urls[url as usize]).iter();
        match params.find(|param| param.name == division.by) {
            None => division.values.len(),
            Some(param) => {
                let value = division.values.iter().position(|value| *value == param.value);
                value.unwrap_or(division.values.len() + 1)
            }
        }
    }
}

fn sum(all: &[&SlotSample]) -> Trials {
    let mut sum = Trials::default();
    all.iter().for_each(|one| sum.add(one.agree, one.same, one.high));
    sum
}

#[cfg(test)]
mod tests {
    use crate::canonical::{DustRule, DustStatus};
    use crate::mine::seen::maps::mix;
    use crate::mine::tests::mined;

    const TABS: [&str; 4] = ["info", "notes", "photos", "urls"];

    /// One of four tabs for each of some pages, and none; `of` says whether tabs are pages.
    fn tabs(rows: &mut Vec<(String, String)>, start: &str, pages: u64, of: bool) {
        for page in 0..pages {
            for tab in ["", TABS[mix(page) as usize % 4]] {
                let url = format!("http://a.test{start}&nid={page}");
                let url = if tab.is_empty() { url } else { format!("{url}&tab={tab}") };
                let shown = if of { tab } else { "" };
                rows.push((url, format!("{start} {page} {shown}")));
            }
        }
    }

    fn about_tabs(rows: &[(String, String)]) -> Vec<String> {
        let rules = mined(rows).rules;
        let is_it = |rule: &&DustRule| {
            rule.status == DustStatus::Auto && rule.kind.title() == "drop-param tab"
        };
        let text = |rule: &DustRule| {
            let when: Vec<String> = rule.scope.when.iter().map(ToString::to_string).collect();
            let (path, except) = (&rule.scope.path, rule.scope.except.join(" "));
            format!("at {path} except {except} when {}", when.join(" and "))
        };
        let mut all: Vec<String> = rules.iter().filter(is_it).map(text).collect();
        all.sort();
        all
    }

    #[test]
    fn under_some_actions() {
        let mut rows = Vec::new();
        tabs(&mut rows, "/portal.php?action=view", 120, false);
        tabs(&mut rows, "/portal.php?action=show", 90, false);
        tabs(&mut rows, "/portal.php?action=faq", 90, true);
        let at = "at /portal.php except  when action=";
        assert_eq!(about_tabs(&rows), [format!("{at}show"), format!("{at}view")]);
        rows.reverse();
        assert_eq!(about_tabs(&rows).len(), 2, "in any order");
        rows.retain(|(url, _)| !url.contains("action=faq"));
        assert_eq!(about_tabs(&rows), ["at  except  when "], "nothing speaks against it");
    }

    #[test]
    fn where_another_is_not_there() {
        let mut rows = Vec::new();
        tabs(&mut rows, "/chart.php?kind=x", 150, false);
        for against in ["year", "mean", "plan"] {
            tabs(&mut rows, &format!("/chart.php?kind=x&against={against}"), 20, true);
        }
        assert_eq!(about_tabs(&rows), ["at /chart.php except  when !against"]);
    }

    #[test]
    fn a_rare_action_is_left_out() {
        // One of 160 groups contradicts the rule, which would hold without a condition.
        let mut rows = Vec::new();
        tabs(&mut rows, "/portal.php?action=view", 160, false);
        tabs(&mut rows, "/portal.php?action=faq", 1, true);
        assert_eq!(about_tabs(&rows), ["at /portal.php except  when action=view"]);
    }

    #[test]
    fn no_condition_explains_chance() {
        let mut rows = Vec::new();
        tabs(&mut rows, "/portal.php?action=view", 200, false);
        for (at, (url, digest)) in rows.iter_mut().enumerate() {
            if mix(at as u64).is_multiple_of(4) {
                digest.push_str(url);
            }
        }
        assert_eq!(about_tabs(&rows), Vec::<String>::new());
    }
}
