//! Where the values of a parameter are names of pages, value by value.
//!
//! HOT: once per group; for those that disagree, once per capture.
//!
//! A candidate that drops a parameter holds or falls by its groups, and a group is one sample. A
//! script that shows another page for each value makes one group of all of them, and loses them all
//! by one disagreement. So the values of such groups speak for themselves: where hardly one shows
//! what another value of its group shows, as visits would, each of them is a page.

use std::collections::BTreeMap;

use super::{Group, Validation};
use crate::mine::acts::candidates::Act;
use crate::mine::seen::identity::Keyed;
use crate::mine::stats::binomial_tail;
use crate::mine::trials::{BAR, CONTRADICTION_OF_HANDLER, Trials};

/// At most this share of pages show what another one of their group shows. Reason: that of
/// `selected/names.rs`, for numbers of paths.
const FEW: f64 = 0.25;

/// Fewest values under one handler that are believed to be pages. Reason: what has fewer is small,
/// and speaks as a group.
const PAGES_MIN: u64 = 8;

/// The values that one candidate drops under one handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pages {
    /// Pages that would be lost: values that show nothing that another of their group shows, in
    /// groups of which hardly a value does; but for the first of each group.
    pub(crate) lost: u64,
    /// URLs that the candidate changes, but for the first of each group.
    pub(crate) urls: u64,
}

impl Pages {
    /// Are more of them lost than the bar for rules lets be?
    pub(crate) fn are_too_many(self) -> bool {
        self.lost >= PAGES_MIN && self.lost as f64 > (1.0 - BAR) * self.urls as f64
    }
}

/// What a URL of a group shows under a value, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shown {
    time: i64,
    /// What the candidate took away; 0 for a URL that it did not change.
    mark: u64,
    content: u32,
    handler: u32,
}

impl Validation<'_> {
    /// For each candidate that was validated last, what it would lose under each handler; nothing
    /// for those that drop no parameter.
    ///
    /// Linear in the URLs of groups, but for sorting what those show that disagree.
    pub(crate) fn pages(&self) -> Vec<BTreeMap<u32, Pages>> {
        let each = self.candidates.iter().zip(&self.active);
        let is_asked: Vec<bool> = each
            .map(|(one, active)| *active && !one.settled && matches!(one.act, Act::Drop(_)))
            .collect();
        let mut pages: Vec<BTreeMap<u32, Pages>> = vec![BTreeMap::new(); is_asked.len()];
        let mut shown: Vec<Shown> = Vec::new();
        for (group, keys) in self.groups_with_keys() {
            for candidate in self.disagreeing(group, keys, &is_asked) {
                shown.clear();
                shown.extend(keys.iter().flat_map(|one| self.shown(one.url, candidate)));
                for (handler, values) in values(&mut shown, |apart| self.calibration.again(apart)) {
                    if are_pages(&values) {
                        pages[candidate].entry(handler).or_default().lost += values.bad();
                    }
                }
            }
        }
        let are_lost: Vec<bool> = pages.iter().map(|here| !here.is_empty()).collect();
        if are_lost.contains(&true) {
            for keys in self.forms.groups() {
                self.count_changed(keys, &are_lost, &mut pages);
            }
        }
        let active = pages.into_iter().zip(&self.active).filter(|(_, active)| **active);
        active.map(|(pages, _)| pages).collect()
    }

    /// The candidates that a large group disagrees about.
    fn disagreeing(&self, group: &Group, keys: &[Keyed], is_asked: &[bool]) -> Vec<usize> {
        if keys.len() <= 2 {
            return Vec::new();
        }
        let samples = self.samples[group.samples.range()].iter().filter(|sample| !sample.agree);
        let mut out: Vec<usize> = samples.map(|sample| sample.candidate as usize).collect();
        out.retain(|candidate| is_asked[*candidate]);
        out.sort_unstable();
        out.dedup();
        out
    }

    /// What a URL shows under what a candidate took away from it.
    fn shown(&self, url: u32, candidate: usize) -> impl Iterator<Item = Shown> {
        let mut fired = self.forms.fired_on(url).iter();
        let mark = fired.find(|one| one.candidate as usize == candidate).map_or(0, |one| one.mark);
        let handler = self.handler_or_stem(url, candidate);
        let row = &self.table.urls[url as usize];
        let captures = self.table.captures_of(row).iter();
        let distinctive = captures.filter(|capture| self.calibration.is_distinctive(row, capture));
        distinctive.map(move |capture| Shown {
            time: capture.time,
            mark,
            content: capture.content,
            handler,
        })
    }

    /// Counts the URLs of one group that candidates changed, but for the first under each handler.
    fn count_changed(&self, keys: &[Keyed], is_asked: &[bool], pages: &mut [BTreeMap<u32, Pages>]) {
        let mut seen: Vec<(u16, u32)> = Vec::new();
        for Keyed { url, .. } in keys {
            for fired in self.forms.fired_on(*url) {
                let candidate = fired.candidate as usize;
                if !is_asked[candidate] {
                    continue;
                }
                let here = (fired.candidate, self.handler_or_stem(*url, candidate));
                if seen.contains(&here) {
                    pages[candidate].entry(here.1).or_default().urls += 1;
                } else {
                    seen.push(here);
                }
            }
        }
    }
}

/// Are the values of a group pages, as hardly one shows what another shows?
fn are_pages(values: &Trials) -> bool {
    values.good as f64 <= values.samples as f64 * FEW
        && binomial_tail(values.good, values.samples, BAR * values.mean_same())
            < CONTRADICTION_OF_HANDLER
}

/// The values of a group by handler, each a sample that is good if it shows what another value
/// shows, too; but for the first, which the others are compared with. `again` says how often a
/// page shows one content after this many seconds, with a bound, if that is known.
fn values(shown: &mut [Shown], again: impl Fn(u64) -> Option<(f64, f64)>) -> BTreeMap<u32, Trials> {
    shown.sort_unstable();
    let mut by_content: Vec<(u32, u64)> = shown.iter().map(|one| (one.content, one.mark)).collect();
    by_content.sort_unstable();
    by_content.dedup();
    let shared = by_content.chunk_by(|a, b| a.0 == b.0).filter(|marks| marks.len() > 1);
    let mut is_again: Vec<u64> = shared.flatten().map(|(_, mark)| *mark).collect();
    is_again.sort_unstable();
    // By value: its handler, and how far the nearest capture of another value is.
    let mut nearest: BTreeMap<u64, (u32, u64)> = BTreeMap::new();
    for (one, apart) in shown.iter().zip(apart(shown)) {
        let (_, least) = nearest.entry(one.mark).or_insert((one.handler, u64::MAX));
        *least = apart.min(*least);
    }
    let mut out: BTreeMap<u32, Trials> = BTreeMap::new();
    for (mark, (handler, apart)) in nearest.into_iter().skip(1) {
        if let Some((same, high)) = again(apart) {
            let is_good = is_again.binary_search(&mark).is_ok();
            out.entry(handler).or_default().add(is_good, same, high);
        }
    }
    out
}

/// For each capture of a group, which are in order of time, the seconds to the nearest one of
/// another value.
fn apart(shown: &[Shown]) -> Vec<u64> {
    let mut out = vec![u64::MAX; shown.len()];
    let seconds = |a: &Shown, b: &Shown| match i64::MIN {
        unknown if a.time == unknown || b.time == unknown => 0,
        _ => a.time.abs_diff(b.time),
    };
    let mut look = |order: &mut dyn Iterator<Item = usize>| {
        // The capture before, and the last one before that with another value.
        let (mut last, mut other): (Option<&Shown>, Option<&Shown>) = (None, None);
        for at in order {
            let one = &shown[at];
            if last.is_some_and(|last| last.mark != one.mark) {
                other = last;
            }
            if let Some(other) = other {
                out[at] = out[at].min(seconds(one, other));
            }
            last = Some(one);
        }
    };
    look(&mut (0..shown.len()));
    look(&mut (0..shown.len()).rev());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(time: i64, mark: u64, content: u32) -> Shown {
        Shown { time, mark, content, handler: 7 }
    }

    #[test]
    fn captures_of_other_values_are_near() {
        let of = |list: &[(i64, u64)]| {
            let list: Vec<Shown> = list.iter().map(|(time, mark)| shown(*time, *mark, 0)).collect();
            apart(&list)
        };
        assert_eq!(of(&[(0, 1), (5, 1), (9, 3)]), [9, 4, 4]);
        assert_eq!(of(&[(0, 1), (5, 3), (6, 3), (7, 3), (9, 1)]), [5, 4, 3, 2, 2]);
        assert_eq!(of(&[(0, 1), (5, 1)]), [u64::MAX; 2]);
        assert_eq!(of(&[(i64::MIN, 1), (5, 3)]), [0; 2]);
    }

    #[test]
    fn values_that_show_what_others_show_are_no_pages() {
        let of = |list: &[(u64, u32)]| {
            let mut list: Vec<Shown> =
                list.iter().map(|(mark, content)| shown(0, *mark, *content)).collect();
            let values = values(&mut list, |_| Some((1.0, 1.0)));
            let here = values.get(&7).copied().unwrap_or_default();
            (here.good, here.samples, are_pages(&here))
        };
        let own: Vec<(u64, u32)> = (0..9).map(|at| (2 * at + 1, at as u32)).collect();
        assert_eq!(of(&own), (0, 8, true));
        assert_eq!(of(&own[..3]), (0, 2, false));
        let visits: Vec<(u64, u32)> = (0..9).map(|at| (2 * at + 1, at as u32 / 3)).collect();
        assert_eq!(of(&visits), (8, 8, false));
        // The page without the parameter is no value.
        assert_eq!(of(&[(0, 5), (1, 5), (3, 5)]), (2, 2, false));
        // One value that changes.
        assert_eq!(of(&[(1, 5), (1, 6), (1, 7)]), (0, 0, false));
    }
}
