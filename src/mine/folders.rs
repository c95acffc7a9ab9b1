//! Folders of a site whose pages, taken together, speak against a candidate.
//!
//! In a folder with few pages each of them is a handler of its own, and seen too seldom to say
//! anything alone: `/club/anna?tab=a`, `/club/bert?tab=a`. What they say together counts. And where
//! several of them speak against a candidate the next page in their folder may do so, too.

use std::collections::{BTreeMap, BTreeSet};

use crate::mine::acts::candidates::Reach;
use crate::mine::seen::table::splits::Splits;
use crate::mine::trials::{BAR, CONTRADICTION_OF_HANDLER, Trials, is_below};

/// Folders deeper than this are parts of one so deep. Reason: few sites have more.
const DEPTH_MAX: usize = 8;

/// Fewest handlers that stand for their folder if all of them are the same. Reason: two scripts
/// side by side say little about a third.
const WHOLE_MIN: usize = 3;

/// The handlers of a site by folder: their templates, sorted, and how they are split.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Folders<'a> {
    pub(crate) templates: &'a [Vec<u8>],
    pub(crate) splits: &'a Splits,
}

/// What a path or template begins with up to the slash of this depth: `/a/` of `/a/b/c` for 1.
/// `None` if it has no such folder.
fn folder(template: &[u8], depth: usize) -> Option<&[u8]> {
    memchr::memchr_iter(b'/', template).nth(depth).map(|end| &template[..=end])
}

/// What was seen in a folder.
#[derive(Debug, Default)]
struct Seen<'a> {
    /// The trials that are not bad, together.
    sum: Trials,
    /// The names in the folder; is there a handler below that is not bad?
    good: BTreeMap<&'a [u8], bool>,
}

impl Seen<'_> {
    /// What is not bad together, and the names as samples.
    fn trials(&self) -> [Trials; 2] {
        [self.sum, as_samples(self.good.values())]
    }
}

/// The name under which a template stands in its folder.
fn name_in<'a>(folder: &[u8], template: &'a [u8]) -> &'a [u8] {
    let rest = template.get(folder.len()..).unwrap_or(b"");
    rest.split(|byte| *byte == b'/').next().unwrap_or(rest)
}

/// Names as samples, each good or bad.
fn as_samples<'a>(good: impl Iterator<Item = &'a bool>) -> Trials {
    let mut names = Trials::default();
    good.for_each(|good| names.add(*good, 1.0, 1.0));
    names
}

impl Folders<'_> {
    /// The handlers in a folder, by path.
    fn within(&self, folder: &[u8]) -> std::ops::Range<u32> {
        let start = self.templates.partition_point(|one| one.as_slice() < folder);
        let inside = self.templates[start..].partition_point(|one| one.starts_with(folder));
        start as u32..(start + inside) as u32
    }

    /// The highest folders that have [`WHOLE_MIN`] handlers or more, all of them among `handlers`,
    /// cells aside.
    pub(crate) fn whole(&self, handlers: &BTreeSet<u32>) -> BTreeSet<&[u8]> {
        let paths = ..self.templates.len() as u32;
        let sorted: Vec<u32> = handlers.range(paths).copied().collect();
        let is_whole = |folder: &&[u8]| {
            let within = self.within(folder);
            let before = |end: u32| sorted.partition_point(|handler| *handler < end);
            within.len() >= WHOLE_MIN && before(within.end) - before(within.start) == within.len()
        };
        let highest = |handler: &u32| {
            let template = self.templates[*handler as usize].as_slice();
            (1..=DEPTH_MAX).map_while(|depth| folder(template, depth)).find(is_whole)
        };
        sorted.iter().filter_map(highest).collect()
    }

    /// A reach without `bad` handlers. Where only few are, those that were not seen stay in: a
    /// whole folder counts as one, and the names at the top of the site are no worse than samples
    /// of a rule may be.
    pub(crate) fn exceptions(
        &self,
        reach: &Reach,
        good: BTreeSet<u32>,
        bad: BTreeSet<u32>,
    ) -> Reach {
        let bad = match reach {
            Reach::All => bad,
            Reach::Except(before) => before.union(&bad).copied().collect(),
            Reach::Only(_) => return Reach::Only(good),
        };
        let whole = self.whole(&bad);
        let within: usize = whole.iter().map(|folder| self.within(folder).len()).sum();
        let few = good.len() >= 4 * (bad.len() + whole.len()).saturating_sub(within);
        match few && self.may_others_stay(&good, &bad) {
            true => Reach::Except(bad),
            false => Reach::Only(good),
        }
    }

    /// A reach without `bad` handlers. Those that were not seen stay in, unless names at the top of
    /// the site are worse than samples of a rule may be.
    pub(crate) fn but(&self, reach: &Reach, good: BTreeSet<u32>, bad: &BTreeSet<u32>) -> Reach {
        match reach.clone().without(bad) {
            Reach::Except(all) if !self.may_others_stay(&good, &all) => Reach::Only(good),
            left => left,
        }
    }

    /// May handlers that were not seen be like the good ones, as far as the names at the top of the
    /// site show?
    fn may_others_stay(&self, good: &BTreeSet<u32>, bad: &BTreeSet<u32>) -> bool {
        let mut top: BTreeMap<&[u8], bool> = BTreeMap::new();
        for (handler, is_good) in
            bad.iter().map(|one| (one, false)).chain(good.iter().map(|one| (one, true)))
        {
            *top.entry(name_in(b"/", self.template(*handler))).or_default() |= is_good;
        }
        !is_below(&as_samples(top.values()), BAR, CONTRADICTION_OF_HANDLER)
    }

    /// The template of a handler, which may be a cell.
    fn template(&self, handler: u32) -> &[u8] {
        &self.templates[self.splits.path_of(handler) as usize]
    }

    /// The handlers whose trials are bad, and all of a folder, seen or not: if the sum of those
    /// that are not bad themselves is, or if so many of what stands in it are bad that they would
    /// be if each were one sample. What `reach` leaves out is bad already. Cells are those of the
    /// parameter `name`.
    ///
    /// From the deepest folders up, so that as little as possible is taken for bad.
    pub(crate) fn bad(
        &self,
        name: Option<u32>,
        trials: &BTreeMap<u32, Trials>,
        reach: &Reach,
        is_bad: impl Fn(&Trials) -> bool,
    ) -> BTreeSet<u32> {
        let alone = trials.iter().filter(|(_, trials)| is_bad(trials));
        let mut bad: BTreeSet<u32> = alone.map(|(handler, _)| *handler).collect();
        if let Reach::Except(except) = reach {
            bad.extend(except);
        }
        let seen: BTreeSet<u32> = trials.keys().chain(&bad).copied().collect();
        for depth in (1..=DEPTH_MAX).rev() {
            let mut folders: BTreeMap<&[u8], Seen<'_>> = BTreeMap::new();
            for handler in &seen {
                let template = self.template(*handler);
                let Some(folder) = folder(template, depth) else { continue };
                let Seen { sum, good } = folders.entry(folder).or_default();
                let is_good = !bad.contains(handler);
                *good.entry(name_in(folder, template)).or_default() |= is_good;
                if let Some(trials) = trials.get(handler).filter(|_| is_good) {
                    sum.join(trials);
                }
            }
            let is_bad = |seen: &Seen| seen.trials().iter().any(&is_bad);
            let folders = folders.into_iter().filter(|(_, seen)| is_bad(seen));
            for handler in folders.flat_map(|(folder, _)| self.within(folder)) {
                bad.insert(handler);
                bad.extend(name.iter().flat_map(|name| self.splits.cells_of(*name, handler)));
            }
        }
        bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The handlers that are bad by these templates with their agreements and groups: three or more
    /// disagree, and most do.
    fn bad<'a>(seen: &[(&'a str, u64, u64)]) -> Vec<&'a str> {
        bad_within(&Reach::All, seen)
    }

    fn bad_within<'a>(reach: &Reach, seen: &[(&'a str, u64, u64)]) -> Vec<&'a str> {
        let templates: Vec<Vec<u8>> =
            seen.iter().map(|(path, ..)| path.as_bytes().to_vec()).collect();
        let splits = Splits::none(seen.len(), 1);
        let trials = |(_, good, samples): &(_, u64, u64)| Trials {
            good: *good,
            samples: *samples,
            ..Trials::default()
        };
        let trials = (0..).zip(seen.iter().map(trials)).filter(|(_, trials)| trials.samples > 0);
        let folders = Folders { templates: &templates, splits: &splits };
        let is_bad = |trials: &Trials| trials.bad() >= 3 && trials.good < trials.bad();
        let bad = folders.bad(Some(0), &trials.collect(), reach, is_bad);
        bad.into_iter().map(|handler| seen[handler as usize].0).collect()
    }

    #[test]
    fn pages_of_a_folder_are_bad_together() {
        let none: [&str; 0] = [];
        assert_eq!(bad(&[("/a", 0, 2), ("/b", 0, 2)]), none);
        assert_eq!(bad(&[("/a/b", 0, 2), ("/a/c", 0, 1), ("/d", 0, 2)]), ["/a/b", "/a/c"]);
        assert_eq!(bad(&[("/a/b", 3, 3), ("/a/c", 0, 2), ("/a/d", 0, 1)]), none);
        let unseen = [("/a/b/c", 0, 1), ("/a/b/d", 0, 0), ("/a/e", 0, 2), ("/a/f", 2, 2)];
        assert_eq!(bad(&unseen), ["/a/b/c", "/a/b/d", "/a/e", "/a/f"]);
    }

    #[test]
    fn as_little_as_possible_is_bad() {
        assert_eq!(bad(&[("/a/b", 0, 4), ("/a/c", 2, 2), ("/a/d", 0, 1)]), ["/a/b"]);
        let inner = [("/a/b/c", 0, 2), ("/a/b/d", 0, 2), ("/a/e", 3, 3), ("/a/f", 0, 1)];
        assert_eq!(bad(&inner), ["/a/b/c", "/a/b/d"]);
    }

    #[test]
    fn where_many_names_are_bad_the_next_may_be() {
        let mut seen = vec![("/a/b", 0, 3), ("/a/c", 0, 3), ("/a/d", 0, 3), ("/a/e", 9, 9)];
        assert_eq!(bad(&seen), ["/a/b", "/a/c", "/a/d", "/a/e"]);
        seen.extend([("/a/f", 1, 1), ("/a/g", 2, 2)]);
        assert_eq!(bad(&seen), ["/a/b", "/a/c", "/a/d"]);
        // What was left out before is counted as well.
        let seen = [("/a/b", 0, 0), ("/a/c", 0, 0), ("/a/d", 0, 3), ("/a/e", 1, 1)];
        assert_eq!(bad_within(&Reach::Except([0, 1].into()), &seen).len(), 4);
        // All of a folder that is bad are one name.
        let inner = [("/a/b/c", 0, 3), ("/a/b/d", 0, 3), ("/a/b/e", 0, 3), ("/a/f", 5, 5)];
        assert_eq!(bad(&inner), ["/a/b/c", "/a/b/d", "/a/b/e"]);
    }

    #[test]
    fn whole_folders() {
        let paths = ["/a/b/c", "/a/b/d", "/a/b/e", "/a/f", "/g/h", "/g/i", "/j"];
        let templates = paths.map(|path| path.as_bytes().to_vec());
        let splits = Splits::none(paths.len(), 1);
        let folders = Folders { templates: &templates, splits: &splits };
        let whole = |handlers: std::ops::Range<u32>| -> Vec<&str> {
            let whole = folders.whole(&handlers.collect()).into_iter();
            whole.map(|folder| std::str::from_utf8(folder).unwrap()).collect()
        };
        assert_eq!((whole(0..3), whole(0..4)), (vec!["/a/b/"], vec!["/a/"]));
        assert_eq!((whole(0..2), whole(4..7)), (vec![], vec![]));
    }
}
