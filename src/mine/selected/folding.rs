//! Where the letters of paths are not folded: sections around the handlers that speak against it.
//!
//! A rule can be kept from letters only where the name of a section is always spelled in lower case
//! (see `letters.rs`). So what is kept from folding is always whole sections, seen or not.

use std::collections::BTreeSet;

use super::letters::Spelled;
use super::sections::sums;
use super::selector::{Decision, Selector, rest_of};
use crate::mine::acts::candidates::{Candidate, Reach};
use crate::mine::trials::{CONTRADICTION_OF_HANDLER, Trials, is_below, is_below_bar};
use crate::mine::validated::support::Support;

impl Selector<'_> {
    /// What is left of a contradicted candidate for the case of paths: all but the sections around
    /// the handlers that contradict it.
    pub(super) fn without_letters(&self, candidate: &Candidate, support: &Support) -> Decision {
        let is_bad = |trials: &Trials| is_below_bar(trials, CONTRADICTION_OF_HANDLER);
        let bad = support.by_handler.iter().filter(|(_, trials)| is_bad(trials));
        let mut bad: BTreeSet<u32> = bad.map(|(handler, _)| *handler).collect();
        // What cannot be kept from it stays in, and counts at the end.
        bad.retain(|handler| self.has_small_letters(*handler));
        match self.sections.around(&bad, Spelled::InLowerCase) {
            Some(sections) if !sections.is_empty() && rest_of(support, &sections).is_some() => {
                Decision::Reaches(candidate.reach.clone().without(&sections))
            }
            _ => Decision::Goes,
        }
    }

    /// The handlers that letters are not folded under, with all of their sections: those that speak
    /// against it, by themselves or as a section, and, where letters matter under others, `unknown`
    /// ones that can be kept from it. `None` if one that speaks against it cannot be.
    pub(super) fn not_to_fold(
        &self,
        reach: &Reach,
        support: &Support,
        unknown: BTreeSet<u32>,
    ) -> Option<BTreeSet<u32>> {
        let mut all: BTreeSet<u32> = match reach {
            Reach::All => BTreeSet::new(),
            _ => unknown.into_iter().filter(|one| self.has_small_letters(*one)).collect(),
        };
        let by_handler =
            support.by_handler.iter().map(|(handler, trials)| (*trials, [*handler].into()));
        let sections = sums(self.sections.handlers, &support.by_handler).into_iter();
        let sections = sections.map(|one| (one.trials, one.handlers));
        for (trials, handlers) in by_handler.chain(sections) {
            if is_below(&trials, 0.75, 0.05) {
                all.extend(handlers);
            }
        }
        all.retain(|handler| reach.has(*handler));
        self.sections.around(&all, Spelled::InLowerCase)
    }

    /// Is the handler in a section whose name is always spelled in lower case?
    fn has_small_letters(&self, handler: u32) -> bool {
        self.sections.around(&[handler].into(), Spelled::InLowerCase).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::acts::candidates::Act;
    use crate::mine::acts::paths::PathAct;
    use crate::mine::tests_sites::{Rows, Site};

    /// Pages in any letters, and this many short links that differ only by them.
    fn rows(links: usize) -> Rows {
        let mut rows = Rows::new();
        for page in 0..120 {
            for url in [format!("/news/page-{page}.html"), format!("/News/Page-{page}.HTML")] {
                rows.push((format!("http://a.test{url}"), format!("page {page}")));
            }
        }
        for link in 0..links {
            let letter = |number: usize| char::from(b'a' + (number % 26) as u8);
            let name = format!("{}{}k", letter(link), letter(link / 26));
            for name in [name.to_ascii_uppercase(), name] {
                rows.push((format!("http://a.test/v/{name}"), format!("link {name}")));
            }
        }
        rows
    }

    fn folds(rows: &[(String, String)]) -> String {
        let site = Site::of(rows);
        match &site.select(vec![Candidate::new(Act::Path(PathAct::FoldCase))])[..] {
            [] => "gone".to_string(),
            [one] => format!("{}, {}", site.reach_as_text(&one.candidate.reach), one.everywhere),
            more => panic!("{more:?}"),
        }
    }

    #[test]
    fn sections_are_kept_from_folding() {
        assert_eq!(folds(&rows(0)), "all, true");
        assert_eq!(folds(&rows(100)), "all but /v/{slug}, true");
        // A section that is spelled in capitals, too, cannot be distinguished from the rest.
        let with = |links, more: &str| {
            let more = (format!("http://a.test{more}"), "more".to_string());
            folds(&[rows(links), vec![more]].concat())
        };
        assert_eq!(with(100, "/V/abcdef"), "gone");
        assert_eq!(with(100, "/w/abcdef"), "all but /v/{slug}, true");
    }
}
