//! What candidates take out of paths, number by number: session numbers, or names of pages.

use std::collections::{BTreeMap, BTreeSet};

use super::Validation;
use crate::mine::seen::identity::Keyed;

/// The numbers that a candidate takes out of paths of one stem, but for the first of each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mine) struct Numbers {
    pub(in crate::mine) handler: u32,
    pub(in crate::mine) stem: u32,
    /// Those that show what another number of their group shows, or the page without a number.
    pub(in crate::mine) again: u64,
    /// All.
    pub(in crate::mine) all: u64,
}

/// A handler, a stem.
type Place = (u32, u32);

impl Validation<'_> {
    /// The numbers that each candidate takes out of paths, of those that were validated last; by handler and stem.
    ///
    /// Linear in the URLs of groups, but for sorting what each group shows.
    pub(in crate::mine) fn numbers(&self) -> Vec<Vec<Numbers>> {
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
            let row = |((handler, stem), (again, all))| Numbers { handler, stem, again, all };
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
        let place = |url: u32| {
            let path = self.table.urls[url as usize].path as usize;
            (self.handlers[path], self.table.stems[path])
        };
        let taken = |url: u32| {
            let fired = self.forms.fired_on(url).iter();
            fired.filter(|fired| is_asked[fired.candidate as usize])
        };
        let places: BTreeSet<(u16, Place)> = group
            .iter()
            .flat_map(|keyed| taken(keyed.url).map(|one| (one.candidate, place(keyed.url))))
            .collect();
        for (candidate, here) in places {
            // Contents with the numbers that they come with; 0 is none.
            let mut shown: Vec<(u32, u64)> = Vec::new();
            for Keyed { url, .. } in group {
                let mark = taken(*url).find(|one| one.candidate == candidate).map(|one| one.mark);
                if mark.is_some() && place(*url) != here {
                    continue;
                }
                let captures = self.table.captures_of(&self.table.urls[*url as usize]);
                let contents = captures.iter().map(|capture| capture.content);
                let telling = contents.filter(|content| !self.calibration.hot[*content as usize]);
                shown.extend(telling.map(|content| (content, mark.unwrap_or(0))));
            }
            shown.sort_unstable();
            shown.dedup();
            let numbers: BTreeSet<u64> = shown.iter().map(|(_, mark)| *mark).collect();
            let together = shown.chunk_by(|a, b| a.0 == b.0).filter(|marks| marks.len() > 1);
            let again: BTreeSet<u64> = together.flatten().map(|(_, mark)| *mark).collect();
            // The first has no other to be like.
            let others = (numbers.len() as u64).saturating_sub(1);
            let (good, all) = counts[candidate as usize].entry(here).or_default();
            *good += others.min(again.len() as u64);
            *all += others;
        }
    }
}
