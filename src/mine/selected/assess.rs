//! Which of the candidates hold that nothing contradicts any more.
//!
//! In go candidates with their final support. Each comes back with a bound and a rate, from which
//! disagreements of pages with themselves are taken. A candidate holds in one of three ways:
//!
//! - It is sound, and passes the test of all candidates together ([`step_up`]).
//! - It is sound, and it is improbable by its prior that its rate is below the bar.
//! - It is on a list, and nothing speaks clearly against it.
//!
//! Guards are not asked here: a guarded candidate may hold, and is for review all the same.

use std::collections::BTreeSet;

use super::selector::{AGREEMENTS_MIN, PLAUSIBLE_MIN, Selector, Validated, speaks_against};
use crate::mine::acts::candidates::{Act, Candidate, Reach};
use crate::mine::acts::paths::PathAct;
use crate::mine::acts::priors::{Prior, prior};
use crate::mine::seen::table::Signal;
use crate::mine::stats::{BELIEF_ERROR, Channel, doubt, normal_tail, score, wilson_95};
use crate::mine::trials::{Trials, contradicts};
use crate::mine::validated::support::Support;
use crate::mine::validated::validation::{Compare, Validation};

/// How samples of a candidate show its rate: what pages agree with themselves in gives back some
/// disagreements.
#[derive(Clone, Copy, Debug)]
struct Channels {
    /// With the likeliest agreement of pages with themselves.
    likely: Channel,
    /// With the upper bound of that agreement, which corrects the least.
    strict: Channel,
}

impl Channels {
    /// The channels of some samples. Pages agree with themselves in no less than `least`.
    fn of(trials: &Trials, least: f64) -> Channels {
        let channel = |same: f64| Channel { same: same.max(least), other: 0.0 };
        Channels { likely: channel(trials.mean_same()), strict: channel(trials.mean_high()) }
    }

    /// By how much pages may agree with themselves more often than is likely.
    fn error(self) -> f64 {
        (self.strict.same - self.likely.same).max(0.0)
    }
}

impl Selector<'_> {
    /// Assesses what is left, all candidates at once: bounds and doubts, with the number of
    /// hypotheses taken into account. `kept` is what would be kept from each, if it can be; of the
    /// case of letters, nothing that speaks against it is left.
    pub(super) fn assess(
        &self,
        validation: &mut Validation<'_>,
        candidates: Vec<Candidate>,
        support: Vec<Support>,
        kept: &[Option<BTreeSet<u32>>],
    ) -> Vec<Validated> {
        let usual = usual_agreement(&candidates, &support);
        let each = candidates.into_iter().zip(support).zip(kept);
        let (mut validated, channels): (Vec<Validated>, Vec<Channels>) = each
            .map(|((one, support), kept)| self.measured(one, support, kept.as_ref(), usual))
            .unzip();
        let passing = step_up(&validated);
        for ((one, passes), channels) in validated.iter_mut().zip(passing).zip(channels) {
            one.holds = is_sound(one) && (passes || is_believed(one, channels))
                || self.holds_as_listed(one);
            one.plausible |= one.holds;
            if self.compare == Compare::Classes && one.holds && !one.candidate.settled {
                one.support.example = validation.example(&one.candidate);
            }
        }
        validated
    }

    /// A candidate with its figures, and the channels by which they were found. Whether it holds is
    /// not known yet.
    fn measured(
        &self,
        mut candidate: Candidate,
        support: Support,
        kept: Option<&BTreeSet<u32>>,
        usual: f64,
    ) -> (Validated, Channels) {
        let folds = candidate.act == Act::Path(PathAct::FoldCase);
        let by_sections = candidate.act.is_judged_by_sections();
        if let Some(against) = kept.filter(|_| folds) {
            candidate.reach = candidate.reach.without(against);
        }
        let prior = self.prior(&candidate);
        // Where the case of letters matters on some pages only, that is easily taken for pages that
        // change: it must agree as often as what else is proposed on the site. This only makes it
        // harder.
        let channels = Channels::of(&support.all, if folds { usual } else { 0.0 });
        let (good, all) = (support.all.good as f64, support.all.samples as f64);
        let (bound, _) = channels.strict.corrected(wilson_95(good, all));
        let mean = (good + 0.5) / (all + 1.0);
        let rate = channels.likely.corrected((mean, mean)).0.max(bound);
        let validated = Validated {
            candidate,
            support,
            prior,
            bound,
            rate,
            holds: false,
            plausible: bound >= PLAUSIBLE_MIN,
            // Of what was narrowed once, nothing more may speak against it.
            everywhere: kept.is_some_and(|kept| kept.is_empty() || !by_sections),
        };
        (validated, channels)
    }

    /// Is it on a list of what never matters, with some agreements, or without contents that could
    /// agree, and does nothing speak clearly against it?
    fn holds_as_listed(&self, one: &Validated) -> bool {
        let all = &one.support.all;
        let agrees = all.good >= AGREEMENTS_MIN || self.table.signal == Signal::None;
        one.prior.listed && !speaks_against(all) && agrees
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
}

/// Is there as much to judge it by as its kind needs, and nothing against it?
fn is_sound(one: &Validated) -> bool {
    let contents = one.support.contents >= one.prior.contents_min;
    let values = one.support.unproven == 0 || !matches!(one.candidate.act, Act::Drop(_));
    contents && values && one.everywhere && !contradicts(&one.support.all)
}

/// Is it improbable that its rate is below the bar? This takes thousands of logarithms.
fn is_believed(one: &Validated, channels: Channels) -> bool {
    let Trials { good, samples, .. } = one.support.all;
    let (counts, Prior { bar, belief, .. }) = ((good as f64, samples as f64), one.prior);
    doubt(counts, bar, channels.likely, channels.error(), belief) <= BELIEF_ERROR
}

/// The median agreement of candidates with fifty samples or more, of other kinds than the case of
/// letters; 0 if there are none.
fn usual_agreement(candidates: &[Candidate], support: &[Support]) -> f64 {
    let mut shares: Vec<f64> = candidates
        .iter()
        .zip(support)
        .filter(|(one, _)| one.act != Act::Path(PathAct::FoldCase))
        .filter(|(_, support)| support.all.samples >= 50)
        .map(|(_, support)| support.all.good as f64 / support.all.samples as f64)
        .collect();
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied().unwrap_or(0.0)
}

/// Which candidates pass the test "the rate is at the bar at least", when as many are tested: the
/// step-up procedure, which keeps the share of wrong ones among those that pass at 2.5 %. Without a
/// sample nothing is tested, and nothing passes.
///
/// Source: Benjamini, Hochberg, "Controlling the false discovery rate", JRSS B 57 (1995).
fn step_up(validated: &[Validated]) -> Vec<bool> {
    let chance = |one: &Validated| {
        let all = &one.support.all;
        let channel = Channels::of(all, 0.0).strict;
        let z = score(all.good as f64, all.samples as f64, one.prior.bar, channel);
        if z > 0.0 { normal_tail(z) } else { 1.0 }
    };
    let tested = validated.iter().enumerate().filter(|(_, one)| one.support.all.samples > 0);
    let mut order: Vec<(f64, usize)> = tested.map(|(at, one)| (chance(one), at)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let tests = order.len() as f64;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::acts::priors::PLAIN;
    use crate::mine::tests_sites::{Site, alone, spelled};

    /// A candidate of which this many of some groups agree, each with a content of its own; nothing
    /// else speaks against it.
    fn seen(good: u64, samples: u64) -> Validated {
        let mut support = Support { contents: good, ..Support::default() };
        (0..samples).for_each(|number| support.all.add(number < good, 1.0, 1.0));
        let prior =
            Prior { belief: PLAIN, contents_min: 20, bar: 0.95, guarded: false, listed: false };
        let candidate = Candidate::new(Act::Drop(0));
        let (bound, rate) = (0.0, 0.0);
        let (holds, plausible, everywhere) = (false, false, true);
        Validated { candidate, support, prior, bound, rate, holds, plausible, everywhere }
    }

    #[test]
    fn what_has_no_sample_lets_nothing_pass() {
        let (fine, doubtful, untested) = (seen(400, 400), seen(28, 30), seen(0, 0));
        let some = [fine.clone(), doubtful.clone()];
        assert_eq!(step_up(&some), [true, false]);
        let many = [&some[..], &vec![untested; 500][..]].concat();
        let passes = step_up(&many);
        assert_eq!(passes[..2], [true, false]);
        assert!(passes[2..].iter().all(|passes| !passes));
    }

    #[test]
    fn the_more_are_tested_the_more_each_must_show() {
        let passes = |others: usize| {
            let mut all = vec![seen(100, 100)];
            all.extend((0..others).map(|_| seen(1, 2)));
            step_up(&all)[0]
        };
        assert!(passes(0) && !passes(50));
        // Those that pass make it easier for others.
        let both = [vec![seen(100, 100); 20], vec![seen(1, 2); 20]].concat();
        let passing = step_up(&both);
        assert_eq!(passing, [vec![true; 20], vec![false; 20]].concat());
        // Without a sample nothing is tested, and nothing passes.
        assert_eq!(step_up(&[seen(100, 100), seen(0, 0), seen(0, 0)]), [true, false, false]);
        assert_eq!(step_up(&[]), [false; 0]);
    }

    #[test]
    fn what_is_sound_has_all_that_it_needs() {
        assert!(is_sound(&seen(20, 20)));
        let few = seen(19, 19);
        let contradicted = seen(20, 30);
        let cannot_be_kept = Validated { everywhere: false, ..seen(20, 20) };
        let mut unproven = seen(20, 20);
        unproven.support.unproven = 1;
        for (one, why) in [
            (&few, "too few contents"),
            (&contradicted, "too many disagree"),
            (&cannot_be_kept, "something speaks against it where it reaches"),
            (&unproven, "a large value is in no agreement"),
        ] {
            assert!(!is_sound(one), "{why}");
        }
        // Only of a parameter that is dropped all values must be proven.
        unproven.candidate.act = Act::Order;
        assert!(is_sound(&unproven));
    }

    #[test]
    fn letters_must_agree_as_often_as_others() {
        let of = |act: Act, good, samples| (Candidate::new(act), seen(good, samples).support);
        let fold = || Act::Path(PathAct::FoldCase);
        let usual = |rows: &[(Candidate, Support)]| {
            let (candidates, support): (Vec<_>, Vec<_>) = rows.iter().cloned().unzip();
            usual_agreement(&candidates, &support)
        };
        assert_eq!(usual(&[]), 0.0);
        assert_eq!(usual(&[of(fold(), 60, 100), of(Act::Order, 49, 49)]), 0.0, "too few samples");
        let rows = [of(Act::Drop(0), 50, 100), of(Act::Order, 90, 100), of(Act::Drop(1), 80, 100)];
        assert_eq!(usual(&rows), 0.8, "the median");
        // If pages agree with themselves more often, less is corrected.
        let trials = Trials { good: 80, samples: 100, same: 70.0, high: 75.0 };
        let (without, with) = (Channels::of(&trials, 0.0), Channels::of(&trials, 0.8));
        assert_eq!((without.likely.same, without.strict.same), (0.7, 0.75));
        assert_eq!((with.likely.same, with.strict.same, with.error()), (0.8, 0.8, 0.0));
    }

    #[test]
    fn short_values_guard_where_a_candidate_reaches() {
        let long = |page: usize| format!("visit-{page}");
        let short = |page: usize| format!("{}", page % 9);
        let mut rows = [alone("/x", 30, long), alone("/y", 3, short)].concat();
        rows.extend(spelled("/z", 9, 0));
        let site = Site::of(&rows);
        let guarded =
            |reach: Reach| site.selector().prior(&Candidate { reach, ..site.drop("v") }).guarded;
        assert!(!guarded(Reach::All), "most values are long");
        assert!(!guarded(Reach::Only(site.handlers(&["/x", "/z"]))));
        assert!(guarded(Reach::Only(site.handlers(&["/x", "/y"]))));
    }
}
