//! Which candidates are selected: those that fail are taken out until the rest explain the site.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::letters::{Sections, Spelled};
use super::names;
use super::sections::sums;
use crate::mine::acts::candidates::{Act, Candidate, Reach};
use crate::mine::acts::paths::PathAct;
use crate::mine::acts::priors::{Natures, Prior, are_short, prior};
use crate::mine::folders::Folders;
use crate::mine::seen::table::{Param, Signal, Table};
use crate::mine::stats::{
    BELIEF_ERROR, Channel, binomial_tail, doubt, normal_tail, score, wilson_95,
};
use crate::mine::trials::{
    CONTRADICTION, CONTRADICTION_OF_HANDLER, Trials, contradicts, is_below, is_below_bar,
};
use crate::mine::validated::support::Support;
use crate::mine::validated::validation::Validation;
use crate::mine::worth::signal::Calibration;

/// Rounds in which candidates are narrowed; after them, what would be goes. So it comes to an end
/// within as many more rounds as there are candidates. Reason: sites of people need a dozen.
const ROUNDS_MAX: usize = 60;

/// Fewest URLs that tell whether a parameter has a new value each time.
const NEW_MIN: usize = 20;

/// Agreement of pages with themselves from which on a group that disagrees says that these are
/// different pages.
const SAME_MIN: f64 = 0.9;

/// Lower bound of the share of agreeing groups from which on a candidate is plausible: it may be
/// written down for review.
pub(crate) const PLAUSIBLE_MIN: f64 = 0.8;

/// A candidate with its support and what follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Validated {
    pub(crate) candidate: Candidate,
    pub(crate) support: Support,
    pub(crate) prior: Prior,
    /// Lower bound of the rate, noise given back, at 97.5 %.
    pub(crate) bound: f64,
    /// The rate, noise given back; no less than its bound.
    pub(crate) rate: f64,
    /// Good enough to be applied without asking, guards aside?
    pub(crate) holds: bool,
    /// Good enough to be shown?
    pub(crate) plausible: bool,
    /// Does nothing speak against it where it reaches? Asked of the case of paths, and of what is
    /// told by sections.
    pub(crate) everywhere: bool,
}

impl Validated {
    /// Will it be applied without asking, as far as contents tell?
    pub(crate) fn is_held(&self) -> bool {
        self.holds && !self.prior.guarded
    }
}

/// What candidates are selected by: everything that does not change from round to round.
pub(crate) struct Selector<'a> {
    pub(crate) table: &'a Table,
    pub(crate) sections: Sections<'a>,
    pub(crate) handlers: &'a [u32],
    pub(crate) calibration: &'a Calibration,
    pub(crate) natures: &'a Natures,
    /// Are classes of URLs compared, for pages that have versions?
    pub(crate) by_classes: bool,
}

/// The channel through which the samples of a tally were seen.
fn channel(tally: &Trials) -> Channel {
    Channel { same: tally.mean_high(), other: 0.0 }
}

/// Fewest groups elsewhere with which a contradicted candidate is narrowed.
pub(crate) const GROUPS_MIN: u64 = 4;

impl Selector<'_> {
    /// A validation of candidates.
    pub(crate) fn validation(&self) -> Validation<'_> {
        let validation = Validation::new(self.table, self.handlers, self.calibration);
        validation.by_classes(self.by_classes)
    }

    /// Takes out, or narrows, what contradicts, until nothing does; assesses the rest.
    pub(crate) fn select(
        &self,
        validation: &mut Validation<'_>,
        mut candidates: Vec<Candidate>,
    ) -> Vec<Validated> {
        let mut is_last = false;
        for round in 0.. {
            let support = validation.validate(&candidates);
            let mut decisions: Vec<Decision> = candidates
                .iter()
                .zip(&support)
                .map(|(one, support)| self.decision(one, support))
                .collect();
            if decisions.iter().all(|decision| *decision == Decision::Stays) {
                // Nothing fails alone. If something fails together with others, the
                // worst of them goes; and the worst of those that share no group with it.
                let mut failing: Vec<usize> = (0..support.len())
                    .filter(|at| !candidates[*at].settled && contradicts(&support[*at].all))
                    .collect();
                failing.sort_by(|a, b| {
                    standing(&support[*a]).total_cmp(&standing(&support[*b])).then(a.cmp(b))
                });
                for at in validation.first_in_groups(failing) {
                    decisions[at] = self.narrowed(&candidates[at], &support[at]);
                }
            }
            self.leave_names(validation, &candidates, &support, &mut decisions);
            self.leave_pages(validation, &candidates, &support, &mut decisions);
            if decisions.iter().all(|decision| *decision == Decision::Stays) {
                let support = validation.finish();
                let each = candidates.iter().zip(&support);
                let kept: Vec<_> = each.map(|(one, said)| self.kept_from(one, said)).collect();
                if is_last || kept.iter().flatten().all(BTreeSet::is_empty) {
                    return self.assess(validation, candidates, support, &kept);
                }
                // What is kept from some handlers in the end is judged without them.
                for (one, kept) in candidates.iter_mut().zip(kept) {
                    let reach = std::mem::take(&mut one.reach);
                    one.reach = reach.without(&kept.unwrap_or_default());
                }
                is_last = true;
                continue;
            }
            let mut next = Vec::with_capacity(candidates.len());
            for (mut candidate, decision) in candidates.into_iter().zip(decisions) {
                match decision {
                    Decision::Stays => next.push(candidate),
                    Decision::Reaches(reach) if round < ROUNDS_MAX => {
                        candidate.reach = reach;
                        next.push(candidate);
                    }
                    Decision::Goes | Decision::Reaches(_) => {}
                }
            }
            candidates = next;
        }
        unreachable!("each round takes something out or narrows it, and in the end nothing is left")
    }

    /// Has a parameter under `handler` a value of its own on nearly every URL? Then it is made up
    /// for each visit. The number of a page comes back with every other spelling of the page; that
    /// of a file may not, but then each value has its own content, and nothing agrees. Where all
    /// show one content or none, so that nothing is compared, either may be.
    fn is_new_each_time(&self, act: &Act, handler: u32, support: &Support) -> bool {
        let Act::Drop(name) = act else { return false };
        let Some(here) = support.by_handler.get(&handler) else { return false };
        if here.good == 0 && here.mean_same() >= SAME_MIN {
            return false;
        }
        let here: Vec<&Param> =
            self.params(*name).filter(|(one, _)| *one == handler).map(|(_, param)| param).collect();
        let texts = here.iter().map(|param| self.table.bytes(param.text));
        if self.natures.of_names[*name as usize].guarded || are_short(texts) {
            return false;
        }
        let mut values: Vec<u64> = here.iter().map(|param| param.value).collect();
        let urls = values.len();
        values.sort_unstable();
        values.dedup();
        urls >= NEW_MIN && values.len() * 10 >= urls * 9
    }

    /// The parameters of this name, each with its handler.
    fn params(&self, name: u32) -> impl Iterator<Item = (u32, &Param)> {
        let each = self.table.urls.iter().flat_map(move |url| {
            let handler = self.table.handler_for(url, name, self.handlers);
            self.table.params_of(url).iter().map(move |param| (handler, param))
        });
        each.filter(move |(_, param)| param.name == name)
    }

    /// The handlers under which the values of a parameter are short numbers.
    fn short_under(&self, name: u32) -> BTreeSet<u32> {
        let mut values: BTreeMap<u32, Vec<&[u8]>> = BTreeMap::new();
        for (handler, param) in self.params(name) {
            values.entry(handler).or_default().push(self.table.bytes(param.text));
        }
        let short = values.into_iter().filter(|(_, values)| are_short(values.iter().copied()));
        short.map(|(handler, _)| handler).collect()
    }

    /// What is believed of a candidate where it reaches: one name may be the number of a page under
    /// one handler, and something else under another.
    fn prior(&self, candidate: &Candidate) -> Prior {
        let prior = prior(self.table, &self.natures.of_names, &candidate.act);
        match (&candidate.act, &candidate.reach) {
            (Act::Drop(name), Reach::Only(only)) if !prior.listed => {
                let is_named = self.natures.of_names[*name as usize].guarded;
                let guarded = is_named || !self.short_under(*name).is_disjoint(only);
                Prior { guarded, ..prior }
            }
            _ => prior,
        }
    }

    /// Is the candidate on a list of what never matters?
    fn is_listed(&self, candidate: &Candidate) -> bool {
        prior(self.table, &self.natures.of_names, &candidate.act).listed
    }

    /// What becomes of a candidate by what was seen of it alone.
    fn decision(&self, candidate: &Candidate, support: &Support) -> Decision {
        let goes = if candidate.settled {
            false
        } else if self.is_listed(candidate) {
            speaks_against(&support.all)
        } else {
            contradicts(&support.alone)
        };
        if goes { self.narrowed(candidate, support) } else { Decision::Stays }
    }

    /// What is left of a contradicted candidate: the handlers that do not contradict it, if any
    /// does.
    fn narrowed(&self, candidate: &Candidate, support: &Support) -> Decision {
        if candidate.act.is_told_by_sections() {
            return self.without_sections(candidate, support);
        }
        if !candidate.act.is_scoped() {
            return Decision::Goes;
        }
        let is_bad = |tally: &Trials| is_below_bar(tally, CONTRADICTION_OF_HANDLER);
        let folds = candidate.act == Act::Path(PathAct::FoldCase);
        let mut bad: BTreeSet<u32> = match folds {
            true => {
                let bad = support.by_handler.iter().filter(|(_, tally)| is_bad(tally));
                bad.map(|(handler, _)| *handler).collect()
            }
            false => self.against(candidate, support, is_bad),
        };
        if folds {
            // What cannot be kept from it stays in, and counts at the end.
            bad.retain(|one| self.sections.around(&[*one].into(), Spelled::InLowerCase).is_some());
            let Some(sections) =
                self.sections.around(&bad, Spelled::InLowerCase).filter(|all| !all.is_empty())
            else {
                return Decision::Goes;
            };
            bad = sections;
        }
        match rest_of(support, &bad) {
            None => Decision::Goes,
            Some(_) if folds => Decision::Reaches(candidate.reach.clone().without(&bad)),
            Some(good) => Decision::Reaches(self.folders().exceptions(&candidate.reach, good, bad)),
        }
    }

    /// Keeps candidates from the handlers under which the values that they drop are pages: the one
    /// that loses most, since what it does counts against others as well, and those that share no
    /// group with one that loses more. That comes after all else.
    fn leave_pages(
        &self,
        validation: &Validation<'_>,
        candidates: &[Candidate],
        support: &[Support],
        decisions: &mut [Decision],
    ) {
        if decisions.iter().any(|decision| *decision != Decision::Stays) {
            return;
        }
        let pages = validation.pages();
        let lost = |at: &usize| -> u64 {
            let here = pages[*at].values().filter(|here| here.are_too_many());
            here.map(|here| here.lost).sum()
        };
        let asked = (0..candidates.len()).filter(|at| !self.is_listed(&candidates[*at]));
        let mut losing: Vec<usize> = asked.filter(|at| lost(at) > 0).collect();
        losing.sort_by_key(|at| (Reverse(lost(at)), *at));
        for at in validation.first_in_groups(losing) {
            let bad = pages[at].iter().filter(|(_, here)| here.are_too_many());
            let bad: BTreeSet<u32> = bad.map(|(handler, _)| *handler).collect();
            let reach = |good| self.folders().but(&candidates[at].reach, good, &bad);
            let left = rest_of(&support[at], &bad).map(reach);
            decisions[at] = left.map_or(Decision::Goes, Decision::Reaches);
        }
    }

    /// Keeps those that take numbers out of paths from names of pages, also if they were to go.
    /// That comes after others, as what others do to URLs counts against them.
    fn leave_names(
        &self,
        validation: &Validation<'_>,
        candidates: &[Candidate],
        support: &[Support],
        decisions: &mut [Decision],
    ) {
        let is_asked =
            |one: &Candidate| one.act.takes_numbers() && !one.settled && !self.is_listed(one);
        let asked: Vec<usize> =
            (0..candidates.len()).filter(|at| is_asked(&candidates[*at])).collect();
        let is_waiting = |(at, decision): (usize, &Decision)| {
            *decision == Decision::Stays || asked.contains(&at)
        };
        if asked.is_empty() {
            return;
        }
        if !decisions.iter().enumerate().all(is_waiting) {
            asked.iter().for_each(|at| decisions[*at] = Decision::Stays);
            return;
        }
        let numbers = validation.numbers();
        for at in asked {
            let names = names::find(&support[at], &numbers[at]);
            if !names.stems.is_empty() {
                let left = names.left_of(&candidates[at].reach, &support[at]);
                decisions[at] = left.map_or(Decision::Goes, Decision::Reaches);
            }
        }
    }

    /// The handlers that letters are not folded under, with all of their sections: those that speak
    /// against it, by themselves or as a section, and, where letters matter under others, `unknown`
    /// ones that can be kept from it. `None` if one that speaks against it cannot be.
    fn not_to_fold(
        &self,
        reach: &Reach,
        support: &Support,
        unknown: BTreeSet<u32>,
    ) -> Option<BTreeSet<u32>> {
        let can_be_kept =
            |one: &u32| self.sections.around(&[*one].into(), Spelled::InLowerCase).is_some();
        let mut all: BTreeSet<u32> = match reach {
            Reach::All => BTreeSet::new(),
            _ => unknown.into_iter().filter(can_be_kept).collect(),
        };
        let by_handler =
            support.by_handler.iter().map(|(handler, tally)| (*tally, [*handler].into()));
        let sections = sums(self.sections.handlers, &support.by_handler).into_iter();
        let sections = sections.map(|one| (one.tally, one.handlers));
        for (tally, handlers) in by_handler.chain(sections) {
            if is_below(&tally, 0.75, 0.05) {
                all.extend(handlers);
            }
        }
        all.retain(|handler| reach.has(*handler));
        self.sections.around(&all, Spelled::InLowerCase)
    }

    /// The handlers that a candidate is kept from at the end, though it stays: those that nothing
    /// is known of, and those that speak against it. `None` if it cannot be kept from one.
    fn kept_from(&self, candidate: &Candidate, support: &Support) -> Option<BTreeSet<u32>> {
        if candidate.settled {
            return Some(BTreeSet::new());
        }
        if candidate.act.is_told_by_sections() {
            return self.sections_against(candidate, support);
        }
        if !candidate.act.is_scoped() {
            return Some(BTreeSet::new());
        }
        let against = |one: &Trials| one.good == 0 && is_below_bar(one, CONTRADICTION);
        if self.is_listed(candidate) {
            // What is on a list goes on, but not where all that was seen speaks against it.
            let all = support.by_handler.iter().filter(|(_, tally)| against(tally));
            let all = all.map(|(handler, _)| *handler);
            return Some(all.chain(self.unlisted(candidate, support)).collect());
        }
        let mut unknown = unknown(support);
        unknown.retain(|handler| !self.is_new_each_time(&candidate.act, *handler, support));
        if candidate.act == Act::Path(PathAct::FoldCase) {
            return self.not_to_fold(&candidate.reach, support, unknown);
        }
        unknown.extend(self.against(candidate, support, against));
        Some(unknown)
    }

    /// The handlers under which the values of a listed parameter are not those of the list, so that
    /// what is seen there has to speak for dropping it.
    fn unlisted(&self, candidate: &Candidate, support: &Support) -> BTreeSet<u32> {
        let Act::Drop(name) = candidate.act else { return BTreeSet::new() };
        let unlike: Vec<u32> = self.natures.unlike(name).collect();
        if unlike.is_empty() {
            return BTreeSet::new();
        }
        let short = self.short_under(name);
        let agrees = |handler: &u32| {
            let here = support.by_handler.get(handler);
            here.is_some_and(|here| here.good >= AGREEMENTS_MIN && !contradicts(here))
        };
        let is_silent = |handler: &u32| {
            self.table.signal.is_strong() && !short.contains(handler) && agrees(handler)
        };
        let splits = &self.table.splits;
        let cells = unlike.iter().flat_map(|path| splits.cells_of(name, *path));
        let handlers = unlike.iter().copied().chain(cells);
        handlers.filter(|one| candidate.reach.has(*one) && !is_silent(one)).collect()
    }

    /// The folders of the site.
    pub(crate) fn folders(&self) -> Folders<'_> {
        let templates = self.sections.handlers.templates.as_slice();
        Folders { templates, splits: &self.table.splits }
    }

    /// The handlers within reach whose tallies say `is_against`, alone or together with others of
    /// their folder.
    fn against(
        &self,
        candidate: &Candidate,
        support: &Support,
        is_against: impl Fn(&Trials) -> bool,
    ) -> BTreeSet<u32> {
        let Candidate { act, reach, .. } = candidate;
        let mut bad = self.folders().bad(act.param(), &support.by_handler, reach, is_against);
        bad.retain(|handler| reach.has(*handler));
        bad
    }

    /// Assesses what is left, all candidates at once: bounds and doubts, with the number of
    /// hypotheses taken into account. `kept` is what would be kept from each, if it can be; of the
    /// case of letters, nothing that speaks against it is left.
    fn assess(
        &self,
        validation: &mut Validation<'_>,
        candidates: Vec<Candidate>,
        support: Vec<Support>,
        kept: &[Option<BTreeSet<u32>>],
    ) -> Vec<Validated> {
        // Where the case of letters matters on some pages only, that is easily taken for pages that
        // change: it must agree as often as what else is proposed on the site. This only makes it
        // harder.
        let usual = usual_agreement(&candidates, &support);
        let mut seen: Vec<(Channel, f64)> = Vec::with_capacity(candidates.len());
        let mut validated: Vec<Validated> = candidates
            .into_iter()
            .zip(support)
            .zip(kept)
            .map(|((mut candidate, support), kept)| {
                let folds = candidate.act == Act::Path(PathAct::FoldCase);
                let by_sections = candidate.act.is_told_by_sections();
                if let Some(against) = kept.as_ref().filter(|_| folds) {
                    candidate.reach = candidate.reach.without(against);
                }
                let prior = self.prior(&candidate);
                let (good, all) = (support.all.good as f64, support.all.trials as f64);
                let mut channel = channel(&support.all);
                let mut likely = Channel { same: support.all.mean_same(), ..channel };
                if folds {
                    likely.same = likely.same.max(usual);
                    channel.same = channel.same.max(usual);
                }
                let (bound, _) = channel.corrected(wilson_95(good, all));
                let mean = (good + 0.5) / (all + 1.0);
                let rate = likely.corrected((mean, mean)).0.max(bound);
                let error = (channel.same - likely.same).max(0.0);
                seen.push((likely, error));
                let plausible = bound >= PLAUSIBLE_MIN;
                Validated {
                    candidate,
                    support,
                    prior,
                    bound,
                    rate,
                    holds: false,
                    plausible,
                    // Of what was narrowed once, nothing more may speak against it.
                    everywhere: kept.as_ref().is_some_and(|kept| kept.is_empty() || !by_sections),
                }
            })
            .collect();
        let passing = step_up(&validated);
        for ((one, passes), (likely, error)) in validated.iter_mut().zip(passing).zip(seen) {
            let contents = one.support.contents >= one.prior.contents_min;
            let Trials { good, trials, .. } = one.support.all;
            let counts = (good as f64, trials as f64);
            // The probability that the rate is below the bar; it takes thousands of logarithms.
            let believed =
                || doubt(counts, one.prior.bar, likely, error, one.prior.belief) <= BELIEF_ERROR;
            let values = one.support.unproven == 0 || !matches!(one.candidate.act, Act::Drop(_));
            let sound = contents && values && one.everywhere && !contradicts(&one.support.all);
            one.holds = sound && (passes || believed())
                || one.prior.listed
                    && !speaks_against(&one.support.all)
                    && (one.support.all.good >= AGREEMENTS_MIN
                        || self.table.signal == Signal::None);
            one.plausible |= one.holds;
            if self.by_classes && one.holds && !one.candidate.settled {
                one.support.example = validation.example(&one.candidate);
            }
        }
        validated
    }
}

/// The median agreement of candidates with fifty samples or more, of other kinds than the case of
/// letters; 0 if there are none.
fn usual_agreement(candidates: &[Candidate], support: &[Support]) -> f64 {
    let mut shares: Vec<f64> = candidates
        .iter()
        .zip(support)
        .filter(|(one, _)| one.act != Act::Path(PathAct::FoldCase))
        .filter(|(_, support)| support.all.trials >= 50)
        .map(|(_, support)| support.all.good as f64 / support.all.trials as f64)
        .collect();
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied().unwrap_or(0.0)
}

/// Does a tally speak clearly against a candidate that is on a list: does it fail more often than
/// not?
fn speaks_against(tally: &Trials) -> bool {
    tally.bad() >= 2 && binomial_tail(tally.good, tally.trials, 0.5 * tally.mean_same()) < 0.05
}

/// Fewest agreements with which a handler that has a good part of the URLs is believed. Reason: one
/// or two may be empty lists of different things.
pub(crate) const AGREEMENTS_MIN: u64 = 4;

/// The handlers that have a good part of what a candidate changes, and hardly an agreement: nothing
/// is known of them.
fn unknown(support: &Support) -> BTreeSet<u32> {
    let part = (support.fired / 20).max(10);
    let agrees = |handler: &u32| {
        support.by_handler.get(handler).is_some_and(|tally| tally.good >= AGREEMENTS_MIN)
    };
    let large = support.fired_by_handler.iter().filter(|(_, fired)| **fired >= part);
    large.map(|(handler, _)| *handler).filter(|handler| !agrees(handler)).collect()
}

/// The handlers that speak for a candidate beside `bad` ones; `None` if there are none, or if the
/// others do not hold without them.
pub(super) fn rest_of(support: &Support, bad: &BTreeSet<u32>) -> Option<BTreeSet<u32>> {
    let (mut rest, mut good) = (Trials::default(), BTreeSet::new());
    for (handler, tally) in support.by_handler.iter().filter(|(one, _)| !bad.contains(one)) {
        rest.join(tally);
        if tally.good > 0 {
            good.insert(*handler);
        }
    }
    let holds = !bad.is_empty() && rest.trials >= GROUPS_MIN && !contradicts(&rest);
    holds.then_some(good)
}

/// The share of agreements, where a disagreement counts for its share: low is bad.
fn standing(support: &Support) -> f64 {
    let good = support.all.good as f64;
    good / (good + support.bad_shares).max(1e-9)
}

/// Which candidates pass the test "the rate is at the bar at least", when as many are tested: the
/// step-up procedure, which keeps the share of wrong ones among those that pass at 2.5 %.
///
/// Source: Benjamini, Hochberg, "Controlling the false discovery rate", JRSS B 57 (1995).
fn step_up(validated: &[Validated]) -> Vec<bool> {
    let chance = |one: &Validated| {
        let all = &one.support.all;
        let z = score(all.good as f64, all.trials as f64, one.prior.bar, channel(all));
        if z > 0.0 { normal_tail(z) } else { 1.0 }
    };
    let mut order: Vec<(f64, usize)> = validated.iter().map(chance).zip(0..).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let tests = validated.iter().filter(|one| one.support.all.trials > 0).count().max(1) as f64;
    let limit = (0..order.len())
        .rev()
        .find(|at| order[*at].0 <= 0.025 * (*at as f64 + 1.0) / tests)
        .map_or(0, |at| at + 1);
    let mut passes = vec![false; validated.len()];
    for (_, at) in &order[..limit] {
        passes[*at] = true;
    }
    passes
}

/// What becomes of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Stays,
    Goes,
    Reaches(Reach),
}
