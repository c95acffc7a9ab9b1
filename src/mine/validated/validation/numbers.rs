//! What candidates take out of paths, number by number: session numbers, or names of pages.

use std::collections::{BTreeMap, BTreeSet};

use super::Validation;
use crate::mine::seen::identity::Keyed;
use crate::mine::seen::stems::Place;

/// The numbers that a candidate takes out of paths of one stem, but for the first of each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) place: Place,
    /// Those that show what another number of their group shows, or the page without a number.
    pub(crate) again: u64,
    /// All.
    pub(crate) all: u64,
}

impl Validation<'_> {
    /// The numbers that each candidate takes out of paths, of those that were validated last;
    /// by handler and stem.
    ///
    /// Linear in the URLs of groups, but for sorting what each group shows.
    pub(crate) fn numbers(&self) -> Vec<Vec<Numbers>> {
        let each = self.candidates.iter().zip(&self.active);
        let is_asked: Vec<bool> =
            each.map(|(one, active)| *active && one.act.takes_numbers()).collect();
        let mut counts: Vec<BTreeMap<Place, (u64, u64)>> = vec![BTreeMap::new(); is_asked.len()];
        if is_asked.contains(&true) {
            for group in self.forms.groups() {
                self.count_numbers(group, &is_asked, &mut counts);
            }
        }
        let rows = |counts: BTreeMap<Place, (u64, u64)>| {
            let row = |(place, (again, all))| Numbers { place, again, all };
            counts.into_iter().map(row).collect()
        };
        counts
            .into_iter()
            .zip(&self.active)
            .filter(|(_, active)| **active)
            .map(|(one, _)| rows(one))
            .collect()
    }

    /// Counts those of one group.
    fn count_numbers(
        &self,
        group: &[Keyed],
        is_asked: &[bool],
        counts: &mut [BTreeMap<Place, (u64, u64)>],
    ) {
        let taken = |url: u32| {
            let fired = self.forms.fired_on(url).iter();
            fired.filter(|fired| is_asked[fired.candidate as usize])
        };
        let candidates: BTreeSet<u16> =
            group.iter().flat_map(|keyed| taken(keyed.url)).map(|one| one.candidate).collect();
        for candidate in candidates {
            // What is shown without a number, and under the numbers of each place.
            let mut bare: Vec<u32> = Vec::new();
            let mut shown: Vec<(Place, u32, u64)> = Vec::new();
            for Keyed { url, .. } in group {
                let row = &self.table.urls[*url as usize];
                let path = row.path as usize;
                let place = Place { handler: self.handlers[path], stem: self.table.stems[path] };
                let contents = self.table.captures_of(row).iter().map(|capture| capture.content);
                let distinctive =
                    contents.filter(|content| !self.calibration.hot[*content as usize]);
                match taken(*url).find(|one| one.candidate == candidate) {
                    None => bare.extend(distinctive),
                    Some(one) => {
                        shown.extend(distinctive.map(|content| (place, content, one.mark)));
                    }
                }
            }
            bare.sort_unstable();
            shown.sort_unstable();
            shown.dedup();
            for here in shown.chunk_by(|a, b| a.0 == b.0) {
                let (good, all) = counts[candidate as usize].entry(here[0].0).or_default();
                let (again, others) = count(here, &bare);
                *good += again;
                *all += others;
            }
        }
    }
}

/// How many numbers of a place show something again, and how many there are but for the
/// first, which has no other to be like. The page without a number, which shows what is
/// `bare`, is like one more.
fn count(shown: &[(Place, u32, u64)], bare: &[u32]) -> (u64, u64) {
    let numbers: BTreeSet<u64> = shown.iter().map(|(.., mark)| *mark).collect();
    let mut again: BTreeSet<u64> = BTreeSet::new();
    let mut is_bare_again = false;
    for marks in shown.chunk_by(|a, b| a.1 == b.1) {
        let is_bare = bare.binary_search(&marks[0].1).is_ok();
        is_bare_again |= is_bare;
        if is_bare || marks.len() > 1 {
            again.extend(marks.iter().map(|(.., mark)| *mark));
        }
    }
    let others = numbers.len() + usize::from(!bare.is_empty()) - 1;
    let again = again.len() + usize::from(is_bare_again);
    (others.min(again) as u64, others as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted() {
        let count = |shown: &[(u32, u64)], bare: &[u32]| {
            let shown: Vec<_> = shown
                .iter()
                .map(|(content, mark)| (Place { handler: 0, stem: 0 }, *content, *mark))
                .collect();
            count(&shown, bare)
        };
        assert_eq!(count(&[(1, 10)], &[]), (0, 0));
        assert_eq!(count(&[(1, 10), (1, 11), (1, 12)], &[]), (2, 2));
        assert_eq!(count(&[(1, 10), (2, 11), (3, 12)], &[]), (0, 2));
        // One number shows two contents, one of which another shows, too.
        assert_eq!(count(&[(1, 10), (2, 10), (2, 11), (3, 12)], &[]), (2, 2));
        assert_eq!(count(&[(1, 10), (2, 11)], &[1]), (2, 2));
        assert_eq!(count(&[(1, 10), (2, 11)], &[3]), (0, 2));
    }
}
