//! The handlers that candidates are kept from in the end, though they stay.

use std::collections::BTreeSet;

use super::selector::{AGREEMENTS_MIN, Selector};
use crate::mine::acts::candidates::{Act, Candidate};
use crate::mine::acts::paths::PathAct;
use crate::mine::acts::priors::are_short;
use crate::mine::seen::table::Param;
use crate::mine::trials::{CONTRADICTION, Trials, contradicts, is_below_bar};
use crate::mine::validated::support::Support;

/// Fewest URLs that show whether a parameter has a new value each time.
const NEW_MIN: usize = 20;

/// Agreement of pages with themselves from which on a group that disagrees says that these are
/// different pages.
const SAME_MIN: f64 = 0.9;

impl Selector<'_> {
    /// The handlers that a candidate is kept from at the end, though it stays: those that nothing
    /// is known of, and those that speak against it. `None` if it cannot be kept from one.
    pub(super) fn kept_from(
        &self,
        candidate: &Candidate,
        support: &Support,
    ) -> Option<BTreeSet<u32>> {
        if candidate.settled {
            return Some(BTreeSet::new());
        }
        if candidate.act.is_judged_by_sections() {
            return self.sections_against(candidate, support);
        }
        if !candidate.act.is_scoped() {
            return Some(BTreeSet::new());
        }
        let against = |one: &Trials| one.good == 0 && is_below_bar(one, CONTRADICTION);
        if self.is_listed(candidate) {
            // A listed parameter is still dropped, except where all evidence contradicts it.
            let all = support.by_handler.iter().filter(|(_, trials)| against(trials));
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
}

/// The handlers that have a good part of what a candidate changes, and hardly an agreement: nothing
/// is known of them. They are no part of what it changes then, so that a large one does not let a
/// smaller one pass.
fn unknown(support: &Support) -> BTreeSet<u32> {
    let agrees = |handler: &u32| {
        support.by_handler.get(handler).is_some_and(|trials| trials.good >= AGREEMENTS_MIN)
    };
    let silent = support.fired_by_handler.iter().filter(|(handler, _)| !agrees(handler));
    let mut silent: Vec<(u64, u32)> = silent.map(|(handler, fired)| (*fired, *handler)).collect();
    silent.sort_unstable();
    let (mut unknown, mut fired) = (BTreeSet::new(), support.fired);
    while let Some((here, handler)) = silent.pop().filter(|(here, _)| *here >= (fired / 20).max(10))
    {
        unknown.insert(handler);
        fired = fired.saturating_sub(here);
    }
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::acts::candidates::Reach;
    use crate::mine::tests_sites::{Rows, Site, alone, spelled};

    #[test]
    fn nothing_is_known_of_many_urls_with_few_agreements() {
        let seen = |handlers: &[(u64, u64)]| {
            let mut support = Support::default();
            for (handler, (fired, good)) in (0..).zip(handlers) {
                support.fired += fired;
                support.fired_by_handler.insert(handler, *fired);
                let here = support.by_handler.entry(handler).or_default();
                (0..*good).for_each(|_| here.add(true, 1.0, 1.0));
            }
            unknown(&support).into_iter().collect::<Vec<u32>>()
        };
        assert_eq!(seen(&[(100, 50), (10, 3), (10, 4)]), [1]);
        assert_eq!(seen(&[(100, 50), (9, 0)]), [0; 0], "fewer than ten URLs");
        assert_eq!(seen(&[(9000, 50), (400, 0), (500, 0)]), [2], "less than a twentieth");
        assert_eq!(seen(&[(200, 50), (20, 0)]), [1]);
        assert_eq!(seen(&[(200, 50), (20, 0), (400, 0)]), [1, 2], "a large one beside it");
    }

    /// What the candidate that drops `name` is kept from, after one validation.
    fn kept_from(site: &Site, name: &str, reach: Reach) -> String {
        let selector = site.selector();
        let candidate = Candidate { reach, ..site.drop(name) };
        let mut validation = selector.validation();
        validation.validate(std::slice::from_ref(&candidate));
        let support = validation.finish();
        let kept = selector.kept_from(&candidate, &support[0]).expect("it can be kept from all");
        site.reach_as_text(&Reach::Only(kept))
    }

    #[test]
    fn values_are_new_each_time_or_not() {
        let with = |more: Rows| Site::of(&[spelled("/x", 60, 0), more].concat());
        let own = |page: usize| format!("visit-{page}");
        let shared = |page: usize| format!("visit-{}", page / 2);
        let short = |page: usize| format!("{page}");
        for (more, expected, why) in [
            ([spelled("/y", 1, 0), alone("/y", 40, own)].concat(), "only ", "new each time"),
            ([spelled("/y", 1, 0), alone("/y", 40, shared)].concat(), "only /y", "two of each"),
            ([spelled("/y", 1, 0), alone("/y", 40, short)].concat(), "only /y", "short numbers"),
            ([spelled("/y", 1, 0), alone("/y", 15, own)].concat(), "only /y", "too few to tell"),
            ([spelled("/y", 1, 1), alone("/y", 40, own)].concat(), "only /y", "all disagree"),
            (alone("/y", 40, own), "only /y", "nothing is compared"),
        ] {
            assert_eq!(kept_from(&with(more), "v", Reach::All), expected, "{why}");
        }
    }

    #[test]
    fn a_listed_name_with_other_values_has_to_be_seen_to_say_nothing() {
        let session = |number: usize| {
            format!("{:016x}{:016x}", 0xa5a5_0000_1234_0000_u64 + number as u64, 0xb1u64 << 56)
        };
        let mut rows = Rows::new();
        for (page, visit) in (0..80).flat_map(|page| [(page, 0), (page, 1)]) {
            let (script, sid) = (["x", "w"][page % 2], session(page * 2 + visit));
            rows.push((format!("http://a.test/{script}?doc={page}&sid={sid}"), format!("{page}")));
        }
        let story = |sid: &str, shown: String| (format!("http://a.test/story?sid={sid}"), shown);
        rows.extend((0..8).map(|page| story(&format!("{page}"), format!("story {page}"))));
        let site = Site::of(&rows);
        assert!(site.natures.of_names[site.name("sid") as usize].listed);
        assert_eq!(kept_from(&site, "sid", Reach::All), "only /story", "short numbers");
        let out = Reach::Except(site.handlers(&["/story"]));
        assert_eq!(kept_from(&site, "sid", out), "only ", "it does not reach there");
        // Words, one of them seen in two spellings of each page.
        for (pages, expected) in [(3, "only /go"), (4, "only ")] {
            let mut rows = rows.clone();
            rows.retain(|(url, _)| !url.contains("/story"));
            for page in 0..pages {
                for word in ["from-mail", "from-list"] {
                    let url = format!("http://a.test/go?doc={page}&sid={word}");
                    rows.push((url, format!("go {page}")));
                }
            }
            assert_eq!(kept_from(&Site::of(&rows), "sid", Reach::All), expected, "{pages}");
        }
    }
}
