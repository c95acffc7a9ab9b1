//! Which candidates are selected: those that fail are taken out until the rest explain the site.
//!
//! ```text
//! candidates ──► validated at once ──► decisions ── all stay ──► kept from handlers ──► assessed
//!     ▲                                    │                              │
//!     ├──── without those that go or ◄─────┘                              │
//!     │     where they are not to reach                                   │
//!     └──── without these handlers, but only once ◄───────────────────────┘
//! ```
//!
//! The input is candidates with distinct acts, and a validation that counts what groups of URLs say
//! about them. The output is the candidates that are left, in the same order, each with its
//! evidence and whether it holds. Many of these do not hold: they are what nothing contradicts, and
//! some are so plausible that they should be reviewed.
//!
//! A round asks four questions. A later one is asked only if all earlier ones leave every candidate
//! unchanged, since what a wrong candidate does to URLs counts against others as well.
//!
//! 1. Does what was seen of a candidate alone contradict it? Of one on a list, does all that was
//!    seen speak clearly against it?
//! 2. Does what was seen of it beside others? Of those, the worst is named, and whatever shares no
//!    group with a worse one.
//! 3. Are numbers that it takes out of paths names of pages? This is asked as well if only such
//!    candidates would go.
//! 4. Are values that it drops names of pages?
//!
//! Whatever is named loses the handlers that speak against it; if what is left says too little, or
//! its kind cannot be narrowed, it goes.
//!
//! - Nothing is added and nothing reaches further than before, so a validation can go on where it
//!   was and need not start anew.
//! - What is settled does not change: it only rewrites URLs, so that others can be found in
//!   addition.
//! - The order of candidates stays, and ties are broken by it.
//!
//! Each round names a candidate, but for two: the one after which candidates are kept from
//! handlers, and the last. After [`ROUNDS_MAX`] rounds whatever is named goes, so no more rounds
//! come after these than there are candidates, and two.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::names;
use super::selector::{Decision, Selector, Validated, rest_of, speaks_against};
use crate::mine::acts::candidates::{Act, Candidate};
use crate::mine::acts::paths::PathAct;
use crate::mine::trials::{CONTRADICTION_OF_HANDLER, Trials, contradicts, is_below_bar};
use crate::mine::validated::support::Support;
use crate::mine::validated::validation::Validation;

/// Rounds in which candidates are narrowed; after them, they are dropped instead. Reason: sites of
/// people need a dozen.
const ROUNDS_MAX: usize = 60;

impl Selector<'_> {
    /// Takes out, or narrows, what contradicts, until nothing does; assesses the rest.
    pub(crate) fn select(
        &self,
        validation: &mut Validation<'_>,
        mut candidates: Vec<Candidate>,
    ) -> Vec<Validated> {
        let mut is_last = false;
        for round in 0.. {
            let support = validation.validate(&candidates);
            let decisions = self.decisions(validation, &candidates, &support);
            if !all_stay(&decisions) {
                candidates = carried_out(candidates, decisions, round < ROUNDS_MAX);
                continue;
            }
            let support = validation.finish();
            let each = candidates.iter().zip(&support);
            let kept: Vec<_> = each.map(|(one, said)| self.kept_from(one, said)).collect();
            if is_last || kept.iter().flatten().all(BTreeSet::is_empty) {
                return self.assess(validation, candidates, support, &kept);
            }
            // A candidate that is kept from some handlers in the end is assessed without them.
            for (one, kept) in candidates.iter_mut().zip(kept) {
                let reach = std::mem::take(&mut one.reach);
                one.reach = reach.without(&kept.unwrap_or_default());
            }
            is_last = true;
        }
        unreachable!("each round takes something out or narrows it, and in the end nothing is left")
    }

    /// What becomes of each candidate in one round; see the four questions above.
    fn decisions(
        &self,
        validation: &Validation<'_>,
        candidates: &[Candidate],
        support: &[Support],
    ) -> Vec<Decision> {
        let each = candidates.iter().zip(support);
        let mut decisions: Vec<Decision> =
            each.map(|(one, support)| self.by_itself(one, support)).collect();
        if all_stay(&decisions) {
            self.leave_worst(validation, candidates, support, &mut decisions);
        }
        self.leave_names(validation, candidates, support, &mut decisions);
        if all_stay(&decisions) {
            self.leave_pages(validation, candidates, support, &mut decisions);
        }
        decisions
    }

    /// What becomes of a candidate by what was seen of it alone.
    fn by_itself(&self, candidate: &Candidate, support: &Support) -> Decision {
        let fails = if candidate.settled {
            false
        } else if self.is_listed(candidate) {
            speaks_against(&support.all)
        } else {
            contradicts(&support.alone)
        };
        if fails { self.narrowed(candidate, support) } else { Decision::Stays }
    }

    /// Of the candidates that fail together with others, the worst is narrowed or goes; and so is
    /// the worst of those that share no group with it.
    fn leave_worst(
        &self,
        validation: &Validation<'_>,
        candidates: &[Candidate],
        support: &[Support],
        decisions: &mut [Decision],
    ) {
        let mut failing: Vec<usize> = (0..support.len())
            .filter(|at| !candidates[*at].settled && contradicts(&support[*at].all))
            .collect();
        let share = |at: &usize| share_of_agreements(&support[*at]);
        failing.sort_by(|a, b| share(a).total_cmp(&share(b)).then(a.cmp(b)));
        for at in validation.first_in_groups(failing) {
            decisions[at] = self.narrowed(&candidates[at], &support[at]);
        }
    }

    /// What is left of a contradicted candidate: the handlers that do not contradict it, if any
    /// does.
    fn narrowed(&self, candidate: &Candidate, support: &Support) -> Decision {
        if candidate.act.is_judged_by_sections() {
            return self.without_sections(candidate, support);
        }
        if candidate.act == Act::Path(PathAct::FoldCase) {
            return self.without_letters(candidate, support);
        }
        if !candidate.act.is_scoped() {
            return Decision::Goes;
        }
        let is_bad = |trials: &Trials| is_below_bar(trials, CONTRADICTION_OF_HANDLER);
        let bad = self.against(candidate, support, is_bad);
        match rest_of(support, &bad) {
            None => Decision::Goes,
            Some(good) => Decision::Reaches(self.folders().exceptions(&candidate.reach, good, bad)),
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

    /// Keeps candidates from the handlers under which the values that they drop are pages: the one
    /// that loses most, since what it does counts against others as well, and those that share no
    /// group with one that loses more.
    fn leave_pages(
        &self,
        validation: &Validation<'_>,
        candidates: &[Candidate],
        support: &[Support],
        decisions: &mut [Decision],
    ) {
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
}

/// Does every candidate stay as it is?
fn all_stay(decisions: &[Decision]) -> bool {
    decisions.iter().all(|decision| *decision == Decision::Stays)
}

/// The candidates that are left by the `decisions` about them; what would be narrowed goes where
/// nothing `may_be_narrowed` any more.
fn carried_out(
    candidates: Vec<Candidate>,
    decisions: Vec<Decision>,
    may_be_narrowed: bool,
) -> Vec<Candidate> {
    let left = |(candidate, decision)| match decision {
        Decision::Stays => Some(candidate),
        Decision::Reaches(reach) if may_be_narrowed => Some(Candidate { reach, ..candidate }),
        Decision::Goes | Decision::Reaches(_) => None,
    };
    candidates.into_iter().zip(decisions).filter_map(left).collect()
}

/// The share of agreements, where a disagreement counts for its share: low is bad.
fn share_of_agreements(support: &Support) -> f64 {
    let good = support.all.good as f64;
    good / (good + support.bad_shares).max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::acts::candidates::Reach;
    use crate::mine::seen::maps::mix;
    use crate::mine::seen::segments::Shape;
    use crate::mine::tests_sites::{Rows, Site, alone, spelled};

    /// What becomes of the candidate that drops `v`: where it reaches, and whether it holds; `gone`
    /// if it does not stay.
    fn becomes(rows: &[(String, String)]) -> String {
        let site = Site::of(rows);
        match &site.select(vec![site.drop("v")])[..] {
            [] => "gone".to_string(),
            [one] => {
                let holds = if one.holds { "holds" } else { "open" };
                format!("{}, {holds}", site.reach_as_text(&one.candidate.reach))
            }
            more => panic!("{more:?}"),
        }
    }

    #[test]
    fn a_candidate_stays_goes_or_is_narrowed() {
        let four = || ["/a", "/b", "/c", "/d"].map(|script| spelled(script, 30, 0)).concat();
        let one = |page: usize| ["one", "other"][page % 2].to_string();
        let visit = |page: usize| format!("visit-{page}");
        let table: [(Rows, &str, &str); 12] = [
            (spelled("/x", 30, 0), "all, holds", "all pages agree"),
            (spelled("/x", 30, 30), "gone", "all pages disagree"),
            (spelled("/x", 30, 8), "gone", "so many disagree that .95 is improbable"),
            (spelled("/x", 30, 2), "all, open", "some disagree, as they may at .95"),
            (spelled("/x", 10, 0), "all, open", "too few contents"),
            (
                [spelled("/x", 30, 0), spelled("/y", 30, 30)].concat(),
                "only /x, holds",
                "one of two handlers disagrees",
            ),
            (
                [four(), spelled("/y", 30, 30)].concat(),
                "all but /y, holds",
                "one of five does: others may be like the four",
            ),
            (
                [spelled("/x", 3, 0), spelled("/y", 30, 30)].concat(),
                "gone",
                "too few groups are left",
            ),
            (
                [four(), spelled("/y", 3, 3)].concat(),
                "all but /y, holds",
                "too few to contradict, but nothing speaks for it there",
            ),
            (
                [four(), alone("/y", 40, one)].concat(),
                "all but /y, holds",
                "nothing is known there",
            ),
            ([four(), alone("/y", 9, one)].concat(), "all, holds", "too few URLs to ask for more"),
            (
                [spelled("/x", 30, 0), spelled("/y", 2, 0), alone("/y", 40, visit)].concat(),
                "all, holds",
                "values are new at each visit",
            ),
        ];
        for (rows, expected, why) in table {
            assert_eq!(becomes(&rows), expected, "{why}");
        }
    }

    #[test]
    fn what_is_listed_is_asked_for_less() {
        let rows = |name: &str, pages, different| -> Rows {
            let rows = spelled("/x", pages, different).into_iter();
            rows.map(|(url, shown)| (url.replace("&v=", &format!("&{name}=")), shown)).collect()
        };
        let becomes = |name: &str, pages, different| {
            let site = Site::of(&rows(name, pages, different));
            let left = site.select(vec![site.drop(name)]);
            left.first().map(|one| one.holds)
        };
        let table = [
            ("v", 5, 0, Some(false), "too few contents"),
            ("utm_source", 5, 0, Some(true), "four agreements are enough"),
            ("utm_source", 3, 0, Some(false), "three are not"),
            ("v", 12, 3, Some(false), "at .95 that may be"),
            ("utm_source", 12, 3, Some(true), "the same of a name on a list"),
            ("utm_source", 20, 6, None, "at .95 that may not be"),
            ("utm_source", 12, 10, None, "it fails more often than not"),
        ];
        for (name, pages, different, expected, why) in table {
            assert_eq!(becomes(name, pages, different), expected, "{name}: {why}");
        }
    }

    /// Pages that two parameters choose together, and some on which the first alone says nothing.
    fn chosen_together(script: &str, [first, second]: [&str; 2]) -> Rows {
        let mut rows = Vec::new();
        for page in 0..20 {
            for value in ["one", "other"] {
                let url = format!("http://a.test{script}?doc=d{page}");
                let both = format!("{url}&{first}={value}&{second}={value}");
                rows.push((both, format!("{script} {page} {value}")));
                rows.push((format!("{url}x&{first}={value}"), format!("{script} {page}")));
            }
        }
        rows
    }

    #[test]
    fn of_those_that_fail_together_the_worst_goes() {
        let site = Site::of(&chosen_together("/x", ["a", "b"]));
        let left = site.select(vec![site.drop("a"), site.drop("b")]);
        let acts: Vec<&Act> = left.iter().map(|one| &one.candidate.act).collect();
        assert_eq!(acts, [&site.drop("a").act], "what fails beside `b` only is not wrong");
        assert!(left[0].holds && left[0].candidate.reach == Reach::All, "{left:?}");
    }

    #[test]
    fn the_worst_of_each_part_of_a_site_go_at_once() {
        let rows = [chosen_together("/x", ["a", "b"]), chosen_together("/y", ["c", "d"])].concat();
        let site = Site::of(&rows);
        let selector = site.selector();
        let mut validation = selector.validation();
        let candidates = ["a", "b", "c", "d"].map(|name| site.drop(name));
        let support = validation.validate(&candidates);
        let decisions = selector.decisions(&validation, &candidates, &support);
        use Decision::{Goes, Stays};
        assert_eq!(decisions, [Stays, Goes, Stays, Goes]);
    }

    #[test]
    fn what_is_settled_stays_whatever_speaks_against_it() {
        let site = Site::of(&spelled("/x", 30, 30));
        let settled = site.drop("v").settled();
        let left = site.select(vec![settled.clone()]);
        assert_eq!(left.iter().map(|one| &one.candidate).collect::<Vec<_>>(), [&settled]);
    }

    #[test]
    fn what_cannot_be_narrowed_goes_as_a_whole() {
        let mut rows = Rows::new();
        for page in 0..60 {
            for folder in ["old", "new"] {
                // Every third page is a different one in the new folder.
                let version = if page % 3 == 0 { folder } else { "" };
                let url = format!("http://a.test/{folder}/page-{page}");
                rows.push((url, format!("{page} {version}")));
            }
        }
        let site = Site::of(&rows);
        let prefix = PathAct::Prefix(b"/old/".to_vec(), b"/new/".to_vec());
        assert_eq!(site.select(vec![Candidate::new(Act::Path(prefix.clone()))]).len(), 0);
        rows.retain(|(_, shown)| shown.ends_with(' '));
        let site = Site::of(&rows);
        assert_eq!(site.select(vec![Candidate::new(Act::Path(prefix))]).len(), 1);
    }

    #[test]
    fn values_that_are_pages_are_kept_where_one_group_says_little() {
        let mut rows = ["/a", "/b", "/c", "/d"].map(|script| spelled(script, 30, 0)).concat();
        assert_eq!(becomes(&rows), "all, holds");
        // One group that disagrees is one sample, however many values it has.
        for value in 0..40 {
            let url = format!("http://a.test/tags?v=tag-{value}");
            rows.push((url, format!("tag {value}")));
        }
        // Under the same script it agrees as often as elsewhere.
        rows.extend(spelled("/tags", 30, 0));
        assert_eq!(becomes(&rows), "all but /tags, holds");
    }

    #[test]
    fn numbers_that_name_pages_are_kept_in_paths() {
        let number = |of: u64| format!("{:016x}{:016x}", mix(of) | 0xa << 60, mix(of + 999) | 1);
        let mut rows = Rows::new();
        for visit in 0..240 {
            let page = visit / 3;
            let url = format!("http://a.test/{}/topic/{page}", number(visit));
            rows.push((url, format!("topic {page}")));
        }
        let segment = PathAct::Segment(Shape::of(number(0).as_bytes()).unwrap());
        let candidate = Candidate::new(Act::Path(segment));
        let reach = |rows: &[(String, String)]| {
            let site = Site::of(rows);
            let left = site.select(vec![candidate.clone()]);
            left.into_iter().map(|one| (one.candidate.reach, one.holds)).collect::<Vec<_>>()
        };
        assert_eq!(reach(&rows), [(Reach::All, true)]);
        for page in 1000..1030 {
            let url = format!("http://a.test/share/{}", number(page));
            rows.push((url, format!("share {page}")));
        }
        let stem = Site::of(&rows).table.stems.last().copied().unwrap();
        assert_eq!(reach(&rows), [(Reach::Except([stem].into()), true)]);
    }

    #[test]
    fn what_would_be_narrowed_goes_in_the_end() {
        let candidates = || [1, 2, 3].map(|name| Candidate::new(Act::Drop(name))).to_vec();
        let reach = Reach::Except([7].into());
        let decisions = || vec![Decision::Reaches(reach.clone()), Decision::Goes, Decision::Stays];
        let [first, _, third] = [1, 2, 3].map(|name| Candidate::new(Act::Drop(name)));
        let narrowed = Candidate { reach: reach.clone(), ..first };
        assert_eq!(carried_out(candidates(), decisions(), true), [narrowed, third.clone()]);
        assert_eq!(carried_out(candidates(), decisions(), false), [third]);
    }

    #[test]
    fn a_shared_disagreement_counts_for_its_share() {
        let share = |good, bad_shares| {
            let mut support = Support { bad_shares, ..Support::default() };
            (0..good).for_each(|_| support.all.add(true, 1.0, 1.0));
            share_of_agreements(&support)
        };
        assert_eq!(
            (share(0, 4.0), share(4, 4.0), share(4, 0.0), share(0, 0.0)),
            (0.0, 0.5, 1.0, 0.0)
        );
    }
}
