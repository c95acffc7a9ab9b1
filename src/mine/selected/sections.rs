//! Sections of a site that are exceptions of its rules: `/x/` is `/x` but in `/forum/`.
//!
//! Rules for hosts, for the ends of paths and for the order of parameters hold for a site. What
//! speaks against one is seldom spread over all pages: it is a part of the site that another
//! program answers for.

use std::collections::{BTreeMap, BTreeSet};

use super::letters::{Spelled, head, heads};
use super::selector::{AGREEMENTS_MIN, Decision, Selector, rest_of};
use crate::mine::acts::candidates::Candidate;
use crate::mine::seen::handlers::Handlers;
use crate::mine::trials::{CONTRADICTION_OF_HANDLER, Trials, contradicts, is_below};
use crate::mine::validated::support::Support;

/// Fewest sections that speak for a contradicted candidate for each that speaks against it, so that
/// it holds but for these. Reason: what is not seen yet is like the most.
const SECTIONS_FOR_EACH: usize = 4;

/// Most sections that a rule is kept from. Reason: each takes up to two of the patterns that a rule
/// may be kept from.
const SECTIONS_MAX: usize = 128;

/// What was seen in a section.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    /// What its paths begin with, in lower case; `None` at the top of the site, where each template
    /// is a section.
    pub(crate) head: Option<&'a [u8]>,
    pub(crate) trials: Trials,
    /// Those of its handlers that were seen.
    pub(crate) handlers: BTreeSet<u32>,
}

impl Section<'_> {
    /// Does it speak against a candidate: does that fail here more often than not? Ten groups that
    /// all disagree are enough.
    pub(crate) fn is_against(&self) -> bool {
        is_below(&self.trials, 0.5, CONTRADICTION_OF_HANDLER)
    }
}

/// The `trials` of handlers by section.
pub(crate) fn sums<'a>(handlers: &'a Handlers, trials: &BTreeMap<u32, Trials>) -> Vec<Section<'a>> {
    let mut sections: BTreeMap<_, Section<'_>> = BTreeMap::new();
    for (handler, trials) in trials {
        let template: &[u8] = &handlers.templates[*handler as usize];
        let head = head(template);
        let new = || Section { head, trials: Trials::default(), handlers: BTreeSet::new() };
        let section =
            sections.entry((head, if head.is_none() { template } else { b"" })).or_insert_with(new);
        section.trials.join(trials);
        section.handlers.insert(*handler);
    }
    sections.into_values().collect()
}

impl Selector<'_> {
    /// What is left of a contradicted candidate that is judged by sections: all but those that
    /// speak against it, if it can be kept from them, and they are few beside those that speak for
    /// it.
    pub(super) fn without_sections(&self, candidate: &Candidate, support: &Support) -> Decision {
        let sections = sums(self.sections.handlers, &support.by_handler);
        let agrees =
            |one: &&Section| one.trials.good >= AGREEMENTS_MIN && !contradicts(&one.trials);
        let against = sections.iter().filter(|one| one.is_against()).count();
        let are_few = against * SECTIONS_FOR_EACH <= sections.iter().filter(agrees).count();
        match self.sections_against(candidate, support) {
            Some(bad) if are_few && rest_of(support, &bad).is_some() => {
                Decision::Reaches(candidate.reach.clone().without(&bad))
            }
            _ => Decision::Goes,
        }
    }

    /// The handlers of the sections within reach that speak against a candidate: all of each,
    /// whether seen or not. `None` if it cannot be kept from one.
    pub(super) fn sections_against(
        &self,
        candidate: &Candidate,
        support: &Support,
    ) -> Option<BTreeSet<u32>> {
        let sections = sums(self.sections.handlers, &support.by_handler).into_iter();
        let against = sections.filter(Section::is_against);
        let bad: BTreeSet<u32> = against.flat_map(|one| one.handlers).collect();
        let can_be_kept = bad.is_empty() || !candidate.act.is_of_origin();
        let around = || self.sections.around(&bad, Spelled::InOneWay);
        let all = can_be_kept.then(around).flatten()?;
        (heads(self.sections.handlers, &all).len() <= SECTIONS_MAX).then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use crate::canonical::{DustKind, DustRule, DustStatus};
    use crate::mine::tests::mined;

    /// The rules of a site whose `folders` have this many pages each, in two spellings of one
    /// content; those in `/forum/` have two contents.
    fn rules(
        folders: &[(&str, usize)],
        spelled: impl Fn(&str, usize) -> [String; 2],
    ) -> Vec<DustRule> {
        let mut rows = Vec::new();
        for (folder, pages) in folders {
            for page in 0..*pages {
                for (at, url) in spelled(folder, page).into_iter().enumerate() {
                    let version = if *folder == "forum" { at } else { 0 };
                    rows.push((url, format!("{folder} {page} {version}")));
                }
            }
        }
        mined(&rows).rules
    }

    const FOLDERS: [(&str, usize); 5] =
        [("t", 300), ("u", 300), ("w", 300), ("z", 300), ("forum", 60)];

    /// The rules of the kind that `is_it` says.
    fn only(rules: Vec<DustRule>, is_it: impl Fn(&DustKind) -> bool) -> Vec<DustRule> {
        rules.into_iter().filter(|rule| is_it(&rule.kind)).collect()
    }

    #[test]
    fn a_section_that_disagrees_is_an_exception_of_what_is_judged_by_sections() {
        let suffix = |kind: &DustKind| matches!(kind, DustKind::AliasSuffix { .. });
        let slash = |folder: &str, page| {
            let url = format!("http://a.test/{folder}/page-{page}");
            [format!("{url}/"), url]
        };
        let html = |folder: &str, page| {
            let url = format!("http://a.test/{folder}/page-{page}");
            [format!("{url}.html"), url]
        };
        let order = |folder: &str, page| {
            let url = format!("http://a.test/{folder}/page-{page}?");
            [format!("{url}size=9x9&by=date"), format!("{url}by=date&size=9x9")]
        };
        // There are enough of them to contradict the rule as a whole.
        let many: Vec<_> = FOLDERS.map(|(folder, pages)| (folder, pages.max(200))).into();
        for folders in [&FOLDERS[..], &many] {
            for found in [
                only(rules(folders, slash), suffix),
                only(rules(folders, html), suffix),
                only(rules(folders, order), |kind| *kind == DustKind::OrderFree),
            ] {
                assert_eq!(found.len(), 1, "{found:?}");
                assert_eq!(found[0].status, DustStatus::Auto, "{found:?}");
                assert_eq!(found[0].scope.except, ["/forum/*"], "{found:?}");
                let evidence = found[0].evidence.as_ref().unwrap();
                assert_eq!(evidence.ok, evidence.groups, "{found:?}");
            }
        }
    }

    #[test]
    fn a_section_in_capitals_is_an_exception_in_its_letters_and_in_small_ones() {
        let suffix = |kind: &DustKind| matches!(kind, DustKind::AliasSuffix { .. });
        let slash = |folder: &str, page| {
            let folder = folder.replace("forum", "Forum");
            let url = format!("http://a.test/{folder}/page-{page}");
            [format!("{url}/"), url]
        };
        let found = only(rules(&FOLDERS, slash), suffix);
        assert_eq!((found.len(), found[0].status), (1, DustStatus::Auto), "{found:?}");
        assert_eq!(found[0].scope.except, ["/Forum/*", "/forum/*"], "{found:?}");
    }

    #[test]
    fn a_section_that_cannot_be_said_is_for_review() {
        let suffix = |kind: &DustKind| matches!(kind, DustKind::AliasSuffix { .. });
        let slash = |folder: &str, page| {
            let folder = folder.replace("forum", "fo*um");
            let url = format!("http://a.test/{folder}/page-{page}");
            [format!("{url}/"), url]
        };
        let found = only(rules(&FOLDERS, slash), suffix);
        assert_eq!((found.len(), found[0].status), (1, DustStatus::Review), "{found:?}");
        assert!(found[0].note.starts_with("only 0 of 60 agree under /fo*um/"), "{found:?}");
    }

    #[test]
    fn rules_of_origins_that_a_section_contradicts_are_for_review() {
        for [from, to] in
            [["http://a.test", "https://a.test"], ["http://m.a.test", "http://a.test"]]
        {
            let spelled = |folder: &str, page| {
                [from, to].map(|origin| format!("{origin}/{folder}/page-{page}"))
            };
            let alias = |kind: &DustKind| matches!(kind, DustKind::HostAlias { .. });
            let found = only(rules(&FOLDERS, spelled), alias);
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].status, DustStatus::Review, "{found:?}");
            assert!(found[0].note.starts_with("only 0 of 60 agree under /forum/"), "{found:?}");
            let without = only(rules(&FOLDERS[..4], spelled), alias);
            assert_eq!((without.len(), without[0].status), (1, DustStatus::Auto), "{without:?}");
        }
    }
}
