//! Where the numbers that a candidate takes out of paths are names of pages.
//!
//! A candidate for session numbers holds or falls by its groups. A folder that names its pages as
//! the rest of the site names sessions is one group, though it has as many pages as it has numbers.
//! So the numbers of each place speak for themselves, and the candidate is kept from those where
//! hardly one shows what another shows.

use std::collections::{BTreeMap, BTreeSet};

use super::selector::GROUPS_MIN;
use crate::mine::acts::candidates::Reach;
use crate::mine::stats::binomial_tail;
use crate::mine::trials::{BAR, CONTRADICTION, CONTRADICTION_OF_HANDLER, Trials};
use crate::mine::validated::support::Support;
use crate::mine::validated::validation::Numbers;

/// Where numbers are names of pages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PageNames {
    pub(super) stems: BTreeSet<u32>,
    /// Handlers all of whose stems are among them.
    handlers: BTreeSet<u32>,
}

impl PageNames {
    /// What a candidate is left with, if there are groups elsewhere from which
    /// something may follow.
    pub(super) fn left_of(&self, reach: &Reach, support: &Support) -> Option<Reach> {
        let rest =
            support.by_handler.iter().filter(|(handler, _)| !self.handlers.contains(handler));
        let groups: u64 = rest.map(|(_, trials)| trials.samples).sum();
        (groups >= GROUPS_MIN).then(|| reach.clone().without(&self.stems))
    }
}

/// Finds the stems under which `numbers` are names of pages: whole handlers, and stems of other
/// handlers by themselves.
pub(super) fn find(support: &Support, numbers: &[Numbers]) -> PageNames {
    let every = sums(numbers);
    let mut by_handler: BTreeMap<u32, Vec<Numbers>> = BTreeMap::new();
    for one in numbers {
        by_handler.entry(one.place.handler).or_default().push(*one);
    }
    let mut found = PageNames::default();
    for (handler, numbers) in by_handler {
        let trials = support.by_handler.get(&handler).copied().unwrap_or_default();
        let rates = Rates { bar: BAR * trials.mean_same(), all: every };
        let (again, all) = sums(&numbers);
        if !agrees(&trials) && rates.are_names(again, all, CONTRADICTION) {
            found.handlers.insert(handler);
            found.stems.extend(numbers.iter().map(|one| one.place.stem));
            continue;
        }
        let stems = numbers.len();
        let (mut names, sessions): (Vec<Numbers>, Vec<Numbers>) = numbers
            .into_iter()
            .partition(|one| rates.are_names(one.again, one.all, CONTRADICTION_OF_HANDLER));
        if names.len() > 1 + stems / STEMS_SHARE {
            let usual = sessions.iter().map(|one| one.all).max().unwrap_or(0);
            names.retain(|one| one.all > usual * 2);
        }
        found.stems.extend(names.iter().map(|one| one.place.stem));
    }
    found
}

/// How many show something again, of how many.
fn sums(numbers: &[Numbers]) -> (u64, u64) {
    numbers.iter().fold((0, 0), |(again, all), one| (again + one.again, all + one.all))
}

/// Under a handler that agrees, one of this many stems may be a folder of names, beside one.
/// Reason: where more of them show something new each time, they are pages that change, unless they
/// have far more numbers than any page.
const STEMS_SHARE: usize = 20;

/// Do the groups of a handler agree, half of them at least?
fn agrees(trials: &Trials) -> bool {
    trials.samples > 0 && 2.0 * trials.good as f64 >= trials.samples as f64 * trials.mean_same()
}

/// What numbers are compared with.
struct Rates {
    /// How many of those of sessions show something again, if the candidate is to hold.
    bar: f64,
    /// How many of all show something again, of how many.
    all: (u64, u64),
}

impl Rates {
    /// Are numbers those of pages? If few of `all` show something `again`, and fewer than the bar
    /// asks for, or than all others do; or far fewer than usual. It must be less likely than
    /// `chance` for those of sessions.
    fn are_names(&self, again: u64, all: u64, chance: f64) -> bool {
        let is_below = |share: f64, rate: f64| {
            again as f64 <= all as f64 * share && binomial_tail(again, all, rate) < chance
        };
        let (every_again, every) = self.all;
        let usual = (every_again as f64 / (every as f64).max(1.0)).min(self.bar);
        let others = ((every_again - again) as f64 + 0.5) / ((every - all) as f64 + 1.0);
        all > 0
            && (is_below(FEW, self.bar)
                || is_below(FEW, others)
                || is_below(usual * FAR_FEWER, usual))
    }
}

/// At most this share of names show what another shows. Reason: where three of four pages change,
/// one of four sessions still shows what another shows.
const FEW: f64 = 0.25;

/// The share of the usual rate that numbers come to among which there are names. Reason: half of
/// them are names where home pages and pages by name have one stem; and pages that change lower the
/// rate of each handler somewhat.
const FAR_FEWER: f64 = 2.0 / 3.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::DustStatus;
    use crate::mine::seen::maps::mix;
    use crate::mine::seen::stems::Place;
    use crate::mine::tests::mined;

    /// A number of 32 digits.
    fn number(of: u64) -> String {
        format!("{:016x}{:016x}", mix(of) | 0xa << 60, mix(of + (1 << 32)) | 0xb << 60)
    }

    /// Pages whose URLs hold a session number in front, each seen under three of them.
    fn sessions(rows: &mut Vec<(String, String)>, pages: impl Iterator<Item = String>) {
        for page in pages {
            for _ in 0..3 {
                let session = number(rows.len() as u64);
                rows.push((format!("http://a.test/{session}{page}"), page.clone()));
            }
        }
    }

    /// Pages that have a number for a name, where `{}` is in `path`.
    fn names(rows: &mut Vec<(String, String)>, path: &str, pages: usize) {
        for _ in 0..pages {
            let name = number(rows.len() as u64);
            rows.push((format!("http://a.test{}", path.replace("{}", &name)), name));
        }
    }

    /// What the rule in force that drops numbers of 32 digits is kept from; `None` if
    /// there is no such rule.
    fn kept_from(rows: &[(String, String)]) -> Option<Vec<String>> {
        let rules = mined(rows).rules;
        let is_it = |rule: &&crate::canonical::DustRule| {
            rule.status == DustStatus::Auto && rule.kind.title() == "drop-segment {hex:32}"
        };
        rules.iter().find(is_it).map(|rule| rule.scope.except.clone())
    }

    #[test]
    fn folders_of_names_are_kept() {
        let mut rows = Vec::new();
        sessions(&mut rows, (0..120).map(|page| format!("/topic/{page}")));
        assert_eq!(kept_from(&rows), Some(Vec::new()));
        names(&mut rows, "/share/{}", 4);
        assert_eq!(kept_from(&rows).unwrap(), ["/share/{hex:32}"]);
        names(&mut rows, "/{}", 30);
        (0..9).for_each(|board| names(&mut rows, &format!("/{{}}/board/{board}"), 3));
        let expected = ["/share/{hex:32}", "/{hex:32}", "/{hex:32}/board/{num}"];
        assert_eq!(kept_from(&rows).unwrap(), expected);
        // Names of people are not words that rules can list.
        (0..99).for_each(|one| names(&mut rows, &format!("/of/{}/{{}}", letters(one)), 3));
        assert_eq!(kept_from(&rows).unwrap()[0], "/of/{slug}/{hex:32}");
    }

    /// A word for each number, without digits.
    fn letters(number: usize) -> String {
        number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'k')).collect()
    }

    #[test]
    fn a_folder_among_many_names_is_kept_by_itself() {
        let mut rows = Vec::new();
        sessions(&mut rows, (0..200).map(|page| format!("/{}", letters(page))));
        names(&mut rows, "/share/{}", 5);
        names(&mut rows, "/{}/share", 5);
        assert_eq!(kept_from(&rows).unwrap(), ["/share/{hex:32}", "/{hex:32}/share"]);
    }

    #[test]
    fn pages_that_change_are_no_names() {
        let mut support = Support::default();
        let place = |stem| Place { handler: 7, stem };
        let numbers = |stem, again, all| Numbers { place: place(stem), again, all };
        let mut some: Vec<Numbers> = (0..20).map(|stem| numbers(stem, 4, 4)).collect();
        some.extend((20..30).map(|stem| numbers(stem, 0, 4)));
        let trials =
            |good, samples| Trials { good, samples, same: samples as f64, high: samples as f64 };
        support.by_handler.insert(7, trials(20, 30));
        assert_eq!(find(&support, &some).stems, BTreeSet::new());
        // Except one that has more numbers than others.
        some.push(numbers(30, 0, 40));
        assert_eq!(find(&support, &some).stems, [30].into());
        // One or two may be.
        some.drain(21..30);
        assert_eq!(find(&support, &some).stems, [20, 30].into());
        // If the handler does not agree, all of it is.
        some.iter_mut().take(19).for_each(|one| one.again = 0);
        support.by_handler.insert(7, trials(1, 30));
        assert_eq!(find(&support, &some).stems.len(), some.len());
    }
}
