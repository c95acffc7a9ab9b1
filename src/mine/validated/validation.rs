//! Validation of all candidates at once, again and again while candidates fall out.
//!
//! HOT: once per URL for each candidate that falls out and changed it; once per group around it.
//!
//! What a candidate changed is shaped anew when it falls out, and the groups that these URLs leave
//! and join are sampled anew. Every other group keeps its samples. The result is that of a
//! validation from the start; a test compares the two.

mod count;
mod numbers;
mod pages;

pub(crate) use numbers::Numbers;

use super::classes::Classes;
use super::groups::{Measure, Sample, Sampler};
use super::support::{Counter, Support};
use crate::mine::acts::candidates::{Act, Candidate, Reach};
use crate::mine::acts::forms::{Fired, Forms, Shaper, forms};
use crate::mine::seen::identity::{Keyed, sort_keys};
use crate::mine::seen::stems::Place;
use crate::mine::seen::table::{Rows, Table};
use crate::mine::worth::signal::Calibration;

/// What is compared of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    /// Two of its URLs.
    Pairs,
    /// Classes of its URLs, for pages that have versions; see `classes.rs`.
    Classes,
}

/// URLs with one key, two of them or more.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The first of its URLs.
    first: u32,
    /// What it says: rows of the samples.
    samples: Rows,
}

/// Validates candidates on the URLs of a table.
#[derive(Debug)]
pub(crate) struct Validation<'a> {
    table: &'a Table,
    handlers: &'a [u32],
    calibration: &'a Calibration,
    shaper: Shaper<'a>,
    /// Those that were validated first, with their reaches now; they are known here by
    /// their indexes, the numbers.
    candidates: Vec<Candidate>,
    /// Which of them are validated now.
    active: Vec<bool>,
    forms: Forms,
    /// In the order of their keys.
    groups: Vec<Group>,
    /// Indexes of groups that share a draw with the one before them: their URLs were crafted.
    tied: Vec<u32>,
    /// Some may belong to no group any more.
    samples: Vec<Sample>,
    sampler: Sampler,
    /// Where classes of URLs are compared, and not two URLs of each group.
    classes: Option<Classes>,
    support: Vec<Support>,
    counter: Counter,
    /// Candidates whose support has to be counted anew.
    stale: Vec<bool>,
    /// What becomes of the URLs under the candidates that come first, if that is known.
    initial: Option<Forms>,
}

impl<'a> Validation<'a> {
    /// A validation on `table`; `handlers` has one for each path.
    pub(crate) fn new(
        table: &'a Table,
        handlers: &'a [u32],
        calibration: &'a Calibration,
    ) -> Validation<'a> {
        let most = most(table, handlers);
        Validation {
            table,
            handlers,
            calibration,
            shaper: Shaper::new(table, handlers),
            candidates: Vec::new(),
            active: Vec::new(),
            forms: Forms::default(),
            groups: Vec::new(),
            tied: Vec::new(),
            samples: Vec::new(),
            sampler: Sampler::default(),
            classes: None,
            support: Vec::new(),
            counter: Counter::new(table.contents, most as usize),
            stale: Vec::new(),
            initial: None,
        }
    }

    /// The same where this is compared of each group.
    pub(crate) fn comparing(self, compare: Compare) -> Validation<'a> {
        let classes = match compare {
            Compare::Pairs => None,
            Compare::Classes => Some(Classes::default()),
        };
        Validation { classes, ..self }
    }

    /// The same where it is known what becomes of the URLs under the candidates that come
    /// first.
    pub(crate) fn starting_from(self, forms: Option<Forms>) -> Validation<'a> {
        Validation { initial: forms, ..self }
    }

    /// The support of each of `candidates`, all applied at once; what is known at the end
    /// only is missing.
    ///
    /// Depends on the table only, never on the order of input: groups count in the order of their
    /// keys. Fast if the candidates are those of the last call, but for some that are gone or reach
    /// less far.
    pub(crate) fn validate(&mut self, candidates: &[Candidate]) -> Vec<Support> {
        match self.changes(candidates) {
            Some((changed, left)) => {
                self.candidates = left;
                self.go_on(&changed);
            }
            None => self.start(candidates),
        }
        self.count(|_| Vec::new());
        self.support_of_active()
    }

    fn support_of_active(&self) -> Vec<Support> {
        let active = self.support.iter().zip(&self.active).filter(|(_, active)| **active);
        active.map(|(support, _)| support.clone()).collect()
    }

    /// Which candidates are gone or reach less far than before, and all of them as they are now;
    /// `None` if there is more to it. Those that are gone are not active any more.
    fn changes(&mut self, candidates: &[Candidate]) -> Option<(Vec<bool>, Vec<Candidate>)> {
        let mut changed = vec![false; self.candidates.len()];
        let mut now = self.candidates.clone();
        let mut active = self.active.clone();
        let mut rest = candidates.iter().peekable();
        for (number, before) in self.candidates.iter().enumerate() {
            if !active[number] {
                continue;
            }
            if let Some(one) = rest.next_if(|one| one.act == before.act) {
                if one.reach != before.reach {
                    if !self.reaches_less(&one.reach, &before.reach) {
                        return None;
                    }
                    changed[number] = true;
                    now[number].reach = one.reach.clone();
                }
            } else {
                (changed[number], active[number]) = (true, false);
            }
        }
        if rest.next().is_some() || self.candidates.is_empty() {
            return None;
        }
        self.active = active;
        Some((changed, now))
    }

    /// Does `reach` have no handler that `before` had not?
    fn reaches_less(&self, reach: &Reach, before: &Reach) -> bool {
        (0..most(self.table, self.handlers))
            .all(|handler| !reach.has(handler) || before.has(handler))
    }

    /// Validates candidates of which nothing is known.
    fn start(&mut self, candidates: &[Candidate]) {
        let all = candidates.len();
        self.candidates = candidates.to_vec();
        self.active = vec![true; all];
        self.stale = vec![true; all];
        self.support = vec![Support::default(); all];
        self.sampler = Sampler::new(all);
        self.groups.clear();
        self.samples.clear();
        self.shaper = Shaper::new(self.table, self.handlers);
        self.shaper.apply(&self.candidates, &self.active, &self.stale);
        let initial = self.initial.take();
        self.forms = initial.unwrap_or_else(|| forms(self.table, self.handlers, candidates));
        for fired in &self.forms.fired {
            self.support[fired.candidate as usize].fired += 1;
        }
        let fresh = std::mem::take(&mut self.forms.keys);
        let moved = vec![false; self.table.urls.len()];
        self.regroup(&fresh, &moved);
    }

    /// Goes on when some candidates have changed.
    fn go_on(&mut self, changed: &[bool]) {
        let keys = std::mem::take(&mut self.forms.keys);
        let mut moved = vec![false; self.table.urls.len()];
        let mut urls = Vec::new();
        for group in keys.chunk_by(|a, b| a.key() == b.key()) {
            let before = urls.len();
            for Keyed { url, .. } in group {
                if self.is_moved(*url, changed) {
                    moved[*url as usize] = true;
                    urls.push(*url);
                }
            }
            if urls.len() > before && group.len() > 1 {
                for Keyed { url, .. } in group {
                    for fired in self.forms.fired_on(*url) {
                        self.support[fired.candidate as usize].gain -= 1;
                        self.stale[fired.candidate as usize] = true;
                    }
                }
            }
        }
        self.forms.keys = keys;
        self.shaper.apply(&self.candidates, &self.active, changed);
        let mut fresh: Vec<Keyed> = Vec::with_capacity(urls.len());
        for url in urls {
            for fired in self.forms.fired_on(url) {
                self.stale[fired.candidate as usize] = true;
                self.support[fired.candidate as usize].fired -= 1;
            }
            let shown = &self.table.urls[url as usize];
            let (key, fired) = self.shaper.shape(shown, url, &self.candidates);
            for fired in fired {
                self.stale[fired.candidate as usize] = true;
                self.support[fired.candidate as usize].fired += 1;
            }
            self.forms.put(url, fired);
            fresh.push(key);
        }
        sort_keys(&mut fresh);
        self.regroup(&fresh, &moved);
    }

    /// Did a candidate change the URL that is gone, or does not reach it any more?
    fn is_moved(&self, url: u32, changed: &[bool]) -> bool {
        self.forms.fired_on(url).iter().any(|Fired { candidate, .. }| {
            let number = *candidate as usize;
            changed[number]
                && !(self.active[number]
                    && self.candidates[number].reach.has(self.handler_or_stem(url, number)))
        })
    }

    /// What the reach of a candidate, by number, consists of for a URL: its handler, or its stem.
    fn handler_or_stem(&self, url: u32, candidate: usize) -> u32 {
        let url = &self.table.urls[url as usize];
        let act = &self.candidates[candidate].act;
        let path = url.path as usize;
        match (act, act.param()) {
            (_, Some(name)) => self.table.handler_for(url, name, self.handlers),
            (Act::Path(act), None) => {
                let (handler, stem) = (self.handlers[path], self.table.stems[path]);
                act.reached_at(Place { handler, stem })
            }
            _ => self.handlers[path],
        }
    }

    /// Samples the groups that URLs are in now, by `fresh` keys, or were in: there they are among
    /// the `moved`. Fresh keys are sorted.
    ///
    /// Old and fresh keys are merged, key by key. A group without members that left or joined is
    /// the same as before, with its samples.
    fn regroup(&mut self, fresh: &[Keyed], moved: &[bool]) {
        let keys = std::mem::take(&mut self.forms.keys);
        let mut merged: Vec<Keyed> = Vec::with_capacity(self.table.urls.len());
        let mut groups = Vec::with_capacity(self.groups.len());
        let mut members: Vec<u32> = Vec::new();
        let (mut old, mut fresh) = (keys.as_slice(), fresh);
        let mut old_groups = 0;
        let mut draw_before = None;
        self.tied.clear();
        while let Some(key) = least_key(old, fresh) {
            let start = merged.len();
            let (members_before, joining);
            (members_before, old) = split_at_key(old, key);
            (joining, fresh) = split_at_key(fresh, key);
            merged.extend(members_before.iter().filter(|one| !moved[one.url as usize]));
            let stayed = merged.len() - start;
            merged.extend_from_slice(joining);
            let was_group = members_before.len() > 1;
            old_groups += usize::from(was_group);
            let all = merged.len() - start;
            if all < 2 {
                continue;
            }
            if draw_before.replace(key.0) == Some(key.0) {
                self.tied.push(groups.len() as u32);
            }
            let has_lost_nobody = stayed == members_before.len();
            if has_lost_nobody && joining.is_empty() {
                groups.push(self.groups[old_groups - 1]);
                continue;
            }
            if stayed > 0 && !joining.is_empty() {
                merged[start..].sort_unstable();
            }
            members.clear();
            members.extend(merged[start..].iter().map(|keyed| keyed.url));
            // A group that has lost no member was counted already.
            let gained = (was_group && has_lost_nobody).then_some(joining);
            groups.push(self.sampled(&members, gained));
        }
        self.groups = groups;
        self.forms.keys = merged;
        self.drop_old_samples();
    }

    /// Samples one group. What its `members` gain is counted: that of those it has `gained`, sorted
    /// by their URLs, or of all.
    fn sampled(&mut self, members: &[u32], gained: Option<&[Keyed]>) -> Group {
        let counts = |url: &u32| {
            gained.is_none_or(|new| new.binary_search_by_key(url, |keyed| keyed.url).is_ok())
        };
        for url in members {
            for fired in self.forms.fired_on(*url) {
                let number = fired.candidate as usize;
                self.support[number].gain += u64::from(counts(url));
                self.stale[number] = true;
            }
        }
        let start = self.samples.len() as u32;
        let (table, calibration, forms) = (self.table, self.calibration, &self.forms);
        let by = Measure { table, calibration, forms };
        match &mut self.classes {
            None => self.sampler.sample(by, members, &mut self.samples),
            Some(classes) => classes.sample(by, members, &mut self.samples),
        }
        Group { first: members[0], samples: Rows { start, end: self.samples.len() as u32 } }
    }

    /// The groups in the order in which they count: in that of their draws, or of their first URLs
    /// where they share one.
    fn in_order(&self) -> Vec<Group> {
        let mut groups = self.groups.clone();
        for run in self.tied.chunk_by(|a, b| a + 1 == *b) {
            let (first, last) = (run[0] as usize - 1, run[run.len() - 1] as usize);
            groups[first..=last].sort_by_key(|group| group.first);
        }
        groups
    }

    /// The groups, each with its URLs.
    fn groups_with_keys(&self) -> impl Iterator<Item = (&Group, &[Keyed])> {
        let keys = self.forms.keys.chunk_by(|a, b| a.key() == b.key());
        self.groups.iter().zip(keys.filter(|group| group.len() > 1))
    }

    /// Those of some candidates that share no group with one before them. They are given by their
    /// indexes among those that were validated last.
    pub(crate) fn first_in_groups(&self, mut some: Vec<usize>) -> Vec<usize> {
        if some.len() <= 1 {
            return some;
        }
        let numbers: Vec<usize> =
            (0..self.candidates.len()).filter(|number| self.active[*number]).collect();
        let mut ranks = vec![usize::MAX; self.candidates.len()];
        for (rank, at) in some.iter().enumerate() {
            ranks[numbers[*at]] = rank;
        }
        let mut is_first = vec![true; some.len()];
        let mut here: Vec<usize> = Vec::new();
        for group in self.forms.groups() {
            here.clear();
            let fired = group.iter().flat_map(|keyed| self.forms.fired_on(keyed.url));
            let ranks = fired.map(|fired| ranks[fired.candidate as usize]);
            here.extend(ranks.filter(|rank| *rank != usize::MAX));
            let first = here.iter().copied().min();
            for rank in here.iter().filter(|rank| Some(**rank) != first) {
                is_first[*rank] = false;
            }
        }
        let mut ranks = 0..;
        some.retain(|_| ranks.next().is_some_and(|rank: usize| is_first[rank]));
        some
    }

    /// Gives room back when most of the samples belong to no group any more.
    fn drop_old_samples(&mut self) {
        let used: usize = self.groups.iter().map(|group| group.samples.len()).sum();
        if self.samples.len() < 2 * used + 1024 {
            return;
        }
        let mut samples = Vec::with_capacity(used);
        for group in &mut self.groups {
            let start = samples.len() as u32;
            samples.extend_from_slice(&self.samples[group.samples.range()]);
            group.samples = Rows { start, end: samples.len() as u32 };
        }
        self.samples = samples;
    }
}

/// The least key of two sorted lists; `None` if both are empty.
fn least_key(one: &[Keyed], other: &[Keyed]) -> Option<(u64, u32)> {
    let keys = [one.first(), other.first()];
    keys.into_iter().flatten().map(|keyed| keyed.key()).min()
}

/// Those of a sorted list that have this key, which is its least one or is not in it; and the rest.
fn split_at_key(sorted: &[Keyed], key: (u64, u32)) -> (&[Keyed], &[Keyed]) {
    sorted.split_at(sorted.iter().take_while(|one| one.key() == key).count())
}

/// How many handlers there are, by path or by conditions; and no fewer than stems.
fn most(table: &Table, handlers: &[u32]) -> u32 {
    let paths = handlers.iter().chain(&table.stems).max().map_or(0, |most| most + 1);
    paths.max(table.splits.handlers())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::acts::paths::PathAct;
    use crate::mine::seen::maps::mix;
    use crate::mine::seen::table::tests::table_over_time;

    /// Pages in many spellings; some contents depend on what is about to be dropped.
    fn rows() -> Vec<(String, i64, String)> {
        let mut rows = Vec::new();
        for page in 0..90u64 {
            for visit in 0..7u64 {
                let random = mix(page * 64 + visit);
                let mut url =
                    format!("http://a.test/{}?id={page}", ["x", "y", "z"][page as usize % 3]);
                for (bit, name) in [(1, "s"), (2, "t"), (4, "lang")] {
                    if random & bit != 0 {
                        url += &format!("&{name}={}", (random >> 8) % 5);
                    }
                }
                if random & 8 != 0 {
                    url = url.replace('?', "/?");
                }
                let body = if page % 3 == 2 { random & 4 } else { random >> 62 };
                rows.push((url, (random % 900) as i64 * 86_400, format!("page {page} {body}")));
            }
        }
        // Where `/m/` is not sent to `/n/`, pages join a group of others that nothing else changes.
        for page in 0..40 {
            for url in ["m/a{}", "n/a{}", "k/a{}?s=1", "k/a{}?s=2"] {
                let url = format!("http://a.test/{}", url.replace("{}", &page.to_string()));
                rows.push((url, 0, format!("a {page}")));
            }
        }
        rows
    }

    #[test]
    fn going_on_is_starting_anew() {
        let table = table_over_time(&rows());
        let calibration = Calibration::measure(&table);
        let handlers: Vec<u32> = (0..table.paths.len() as u32).map(|path| path % 3).collect();
        let name = |text: &[u8]| table.names.iter().position(|name| name == text).unwrap() as u32;
        let [s, t, lang] = [b"s".as_slice(), b"t", b"lang"].map(name);
        let value = table.params.iter().find(|param| param.name == lang).unwrap().value;
        let prefix = |from: &str, to: &str| {
            Act::Path(PathAct::Prefix(from.as_bytes().to_vec(), to.as_bytes().to_vec()))
        };
        let acts = [
            Act::Path(PathAct::Slash),
            Act::Drop(s),
            Act::Drop(t),
            Act::Drop(lang),
            Act::Default(lang, value),
            Act::Order,
            prefix("/m/", "/n/"),
            prefix("/m/a", "/k/a"),
        ];
        let candidates = acts.map(Candidate::new).to_vec();
        for compared in [Compare::Pairs, Compare::Classes] {
            let mut candidates = candidates.clone();
            compare(&mut candidates, || {
                Validation::new(&table, &handlers, &calibration).comparing(compared)
            });
        }
    }

    #[test]
    fn candidates_without_a_common_group_are_found() {
        let table = table_over_time(&rows());
        let calibration = Calibration::measure(&table);
        let handlers = vec![0; table.paths.len()];
        let name = |text: &[u8]| table.names.iter().position(|name| name == text).unwrap() as u32;
        let path = PathAct::Prefix(b"/m/".to_vec(), b"/n/".to_vec());
        let drops = [b"t".as_slice(), b"lang"].map(|text| Act::Drop(name(text)));
        let acts = [vec![Act::Path(path)], drops.to_vec()].concat();
        let candidates: Vec<Candidate> = acts.into_iter().map(Candidate::new).collect();
        let mut validation = Validation::new(&table, &handlers, &calibration);
        validation.validate(&candidates);
        assert_eq!(validation.first_in_groups(vec![2, 1, 0]), [2, 0]);
        assert_eq!(validation.first_in_groups(vec![0, 1, 2]), [0, 1]);
        // The numbers of those that are left are others.
        validation.validate(&candidates[1..]);
        assert_eq!(validation.first_in_groups(vec![1, 0]), [1]);
        assert_eq!(validation.first_in_groups(Vec::new()), [0; 0]);
    }

    /// Validates candidates while they change, and each time as if nothing were known of them.
    fn compare<'a>(candidates: &mut Vec<Candidate>, validation: impl Fn() -> Validation<'a>) {
        let new = validation;
        let mut validation = new();
        let mut counted = 0;
        let changes: [fn(&mut Vec<Candidate>); 7] = [
            |_| {},
            |all| drop(all.remove(6)),
            |all| all[1].reach = Reach::Except([1].into()),
            |all| drop(all.remove(3)),
            |all| all[1].reach = Reach::Only([0].into()),
            |all| drop(all.remove(0)),
            // Further than before: from the start.
            |all| all[0].reach = Reach::All,
        ];
        for change in changes {
            change(candidates);
            let mut anew = new();
            assert_eq!(validation.validate(candidates), anew.validate(candidates));
            let active = validation.finish();
            assert_eq!(active, anew.finish());
            let keys = |validation: &mut Validation<'_>| validation.keys(&candidates[1..]);
            assert_eq!(keys(&mut validation), keys(&mut anew));
            counted +=
                active.iter().map(|support| support.all.samples + support.unproven).sum::<u64>();
        }
        assert!(counted > 300, "{counted}");
    }
}
