//! Trials of all candidates at once, again and again while candidates fall out.
//!
//! HOT: once per URL for each candidate that falls out and changed it; once per group around it.
//!
//! What a candidate changed is shaped anew when it falls out, and the groups that these links leave
//! and join are judged anew. Every other group keeps its verdicts. The result is that of trials
//! from the start; a test compares the two.

mod count;

use super::candidates::{Candidate, Reach};
use super::classes::Classes;
use super::forms::{Fired, Forms, Shaper, forms, sort_keys};
use super::groups::{Bench, Measure, Verdict};
use super::identity::Keyed;
use super::signal::Calibration;
use super::table::{Rows, Table};
use super::trials::{Counter, Trials};

/// Links with one key, two of them or more.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The first of its links.
    first: u32,
    /// What it says: rows of the verdicts.
    verdicts: Rows,
}

/// Hears candidates on the links of a table.
#[derive(Debug)]
pub(super) struct Hearing<'a> {
    table: &'a Table,
    handlers: &'a [u32],
    calibration: &'a Calibration,
    shaper: Shaper<'a>,
    /// Those that were heard first, with their reaches now; their places are the numbers by which
    /// they are known here.
    candidates: Vec<Candidate>,
    /// Which of them are heard now.
    heard: Vec<bool>,
    forms: Forms,
    /// In the order of their keys.
    groups: Vec<Group>,
    /// Places of groups that share a draw with the one before them: somebody has made their URLs.
    tied: Vec<u32>,
    /// Some may belong to no group any more.
    verdicts: Vec<Verdict>,
    bench: Bench,
    /// Where classes of URLs are compared, and not two URLs of each group.
    classes: Option<Classes>,
    trials: Vec<Trials>,
    counter: Counter,
    /// Candidates whose trials have to be counted anew.
    stale: Vec<bool>,
    /// What becomes of the links under the candidates that will be heard first, if that is known.
    opening: Option<Forms>,
}

impl<'a> Hearing<'a> {
    /// A hearing about `table`; `handlers` has one for each path.
    pub(super) fn new(
        table: &'a Table,
        handlers: &'a [u32],
        calibration: &'a Calibration,
    ) -> Hearing<'a> {
        let most = most(table, handlers);
        Hearing {
            table,
            handlers,
            calibration,
            shaper: Shaper::new(table, handlers),
            candidates: Vec::new(),
            heard: Vec::new(),
            forms: Forms::default(),
            groups: Vec::new(),
            tied: Vec::new(),
            verdicts: Vec::new(),
            bench: Bench::default(),
            classes: None,
            trials: Vec::new(),
            counter: Counter::new(table.contents, most as usize),
            stale: Vec::new(),
            opening: None,
        }
    }

    /// The same where classes of URLs are compared, or not.
    pub(super) fn by_classes(self, by_classes: bool) -> Hearing<'a> {
        Hearing { classes: by_classes.then(Classes::default), ..self }
    }

    /// The same where it is known what becomes of the links under the candidates that are heard
    /// first.
    pub(super) fn opened_by(self, forms: Option<Forms>) -> Hearing<'a> {
        Hearing { opening: forms, ..self }
    }

    /// What trials of `candidates`, all at once, say about each of them; what is known at the end
    /// only is missing.
    ///
    /// Depends on the table only, never on the order of input: groups count in the order of their
    /// keys. Fast if the candidates are those of the last call, but for some that are gone or reach
    /// less far.
    pub(super) fn hear(&mut self, candidates: &[Candidate]) -> Vec<Trials> {
        match self.changes(candidates) {
            Some((changed, left)) => {
                self.candidates = left;
                self.go_on(&changed);
            }
            None => self.start(candidates),
        }
        self.count(|_| Vec::new());
        self.trials_heard()
    }

    fn trials_heard(&self) -> Vec<Trials> {
        let heard = self.trials.iter().zip(&self.heard).filter(|(_, heard)| **heard);
        heard.map(|(trials, _)| trials.clone()).collect()
    }

    /// Which candidates are gone or reach less far than before, and all of them as they are now;
    /// `None` if there is more to it. Those that are gone are heard no more.
    fn changes(&mut self, candidates: &[Candidate]) -> Option<(Vec<bool>, Vec<Candidate>)> {
        let mut changed = vec![false; self.candidates.len()];
        let mut now = self.candidates.clone();
        let mut heard = self.heard.clone();
        let mut rest = candidates.iter().peekable();
        for (number, before) in self.candidates.iter().enumerate() {
            if !heard[number] {
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
                (changed[number], heard[number]) = (true, false);
            }
        }
        if rest.next().is_some() || self.candidates.is_empty() {
            return None;
        }
        self.heard = heard;
        Some((changed, now))
    }

    /// Does `reach` have no handler that `before` had not?
    fn reaches_less(&self, reach: &Reach, before: &Reach) -> bool {
        (0..most(self.table, self.handlers))
            .all(|handler| !reach.has(handler) || before.has(handler))
    }

    /// Hears candidates of which nothing is known.
    fn start(&mut self, candidates: &[Candidate]) {
        let all = candidates.len();
        self.candidates = candidates.to_vec();
        self.heard = vec![true; all];
        self.stale = vec![true; all];
        self.trials = vec![Trials::default(); all];
        self.bench = Bench::new(all);
        self.groups.clear();
        self.verdicts.clear();
        self.shaper = Shaper::new(self.table, self.handlers);
        self.shaper.apply(&self.candidates, &self.heard, &self.stale);
        let opening = self.opening.take();
        self.forms = opening.unwrap_or_else(|| forms(self.table, self.handlers, candidates));
        for fired in &self.forms.fired {
            self.trials[fired.candidate as usize].fired += 1;
        }
        let fresh = std::mem::take(&mut self.forms.keys);
        let moved = vec![false; self.table.links.len()];
        self.regroup(&fresh, &moved);
    }

    /// Goes on when some candidates have changed.
    fn go_on(&mut self, changed: &[bool]) {
        let keys = std::mem::take(&mut self.forms.keys);
        let mut moved = vec![false; self.table.links.len()];
        let mut links = Vec::new();
        for group in keys.chunk_by(|a, b| a.key() == b.key()) {
            let before = links.len();
            for Keyed { link, .. } in group {
                if self.is_moved(*link, changed) {
                    moved[*link as usize] = true;
                    links.push(*link);
                }
            }
            if links.len() > before && group.len() > 1 {
                for Keyed { link, .. } in group {
                    for fired in self.forms.fired_on(*link) {
                        self.trials[fired.candidate as usize].gain -= 1;
                        self.stale[fired.candidate as usize] = true;
                    }
                }
            }
        }
        self.forms.keys = keys;
        self.shaper.apply(&self.candidates, &self.heard, changed);
        let mut fresh: Vec<Keyed> = Vec::with_capacity(links.len());
        for link in links {
            for fired in self.forms.fired_on(link) {
                self.stale[fired.candidate as usize] = true;
                self.trials[fired.candidate as usize].fired -= 1;
            }
            let shown = &self.table.links[link as usize];
            let (key, fired) = self.shaper.shape(shown, link, &self.candidates);
            for fired in fired {
                self.stale[fired.candidate as usize] = true;
                self.trials[fired.candidate as usize].fired += 1;
            }
            self.forms.put(link, fired);
            fresh.push(key);
        }
        sort_keys(&mut fresh);
        self.regroup(&fresh, &moved);
    }

    /// Did a candidate change the link that is gone, or does not reach it any more?
    fn is_moved(&self, link: u32, changed: &[bool]) -> bool {
        self.forms.fired_on(link).iter().any(|Fired { candidate, .. }| {
            let number = *candidate as usize;
            changed[number]
                && !(self.heard[number]
                    && self.candidates[number].reach.has(self.handler_of(link, number)))
        })
    }

    /// The handler of a link as far as a candidate, by number, goes.
    fn handler_of(&self, link: u32, candidate: usize) -> u32 {
        let link = &self.table.links[link as usize];
        match self.candidates[candidate].act.param() {
            Some(name) => self.table.handler_for(link, name, self.handlers),
            None => self.handlers[link.path as usize],
        }
    }

    /// Judges the groups that links are in now, by `fresh` keys, or were in: there they are among
    /// the `moved`. Fresh keys are sorted.
    fn regroup(&mut self, fresh: &[Keyed], moved: &[bool]) {
        let keys = std::mem::take(&mut self.forms.keys);
        let mut merged: Vec<Keyed> = Vec::with_capacity(self.table.links.len());
        let mut groups = Vec::with_capacity(self.groups.len());
        let mut members: Vec<u32> = Vec::new();
        let (mut at, mut fresh_at, mut group_at) = (0, 0, 0);
        let mut draw_before = None;
        self.tied.clear();
        loop {
            let key = match (keys.get(at), fresh.get(fresh_at)) {
                (Some(one), Some(other)) => one.key().min(other.key()),
                (Some(one), None) | (None, Some(one)) => one.key(),
                (None, None) => break,
            };
            let (start, old) = (merged.len(), at);
            while let Some(one) = keys.get(at).filter(|one| one.key() == key) {
                if !moved[one.link as usize] {
                    merged.push(*one);
                }
                at += 1;
            }
            let (stayed, group_start) = (merged.len(), fresh_at);
            while let Some(one) = fresh.get(fresh_at).filter(|one| one.key() == key) {
                merged.push(*one);
                fresh_at += 1;
            }
            if at - old > 1 {
                group_at += 1;
            }
            if merged.len() - start < 2 {
                continue;
            }
            if draw_before.replace(key.0) == Some(key.0) {
                self.tied.push(groups.len() as u32);
            }
            if stayed == merged.len() && stayed - start == at - old {
                groups.push(self.groups[group_at - 1]);
                continue;
            }
            let is_fresh = |link: &u32| {
                let group = &fresh[group_start..fresh_at];
                group.binary_search_by_key(link, |keyed| keyed.link).is_ok()
            };
            if start < stayed && stayed < merged.len() {
                merged[start..].sort_unstable();
            }
            // A group that has lost nobody has counted already.
            let counted = at - old > 1 && stayed - start == at - old;
            members.clear();
            members.extend(merged[start..].iter().map(|keyed| keyed.link));
            for link in &members {
                for fired in self.forms.fired_on(*link) {
                    let number = fired.candidate as usize;
                    self.trials[number].gain += u64::from(!counted || is_fresh(link));
                    self.stale[number] = true;
                }
            }
            let verdicts_start = self.verdicts.len() as u32;
            let (table, calibration, forms) = (self.table, self.calibration, &self.forms);
            let by = Measure { table, calibration, forms };
            match &mut self.classes {
                None => self.bench.judge(by, &members, &mut self.verdicts),
                Some(classes) => classes.judge(by, &members, &mut self.verdicts),
            }
            let verdicts = Rows { start: verdicts_start, end: self.verdicts.len() as u32 };
            groups.push(Group { first: members[0], verdicts });
        }
        self.groups = groups;
        self.forms.keys = merged;
        self.drop_old_verdicts();
    }

    /// The groups in the order in which they count: in that of their draws, or of their first links
    /// where they share one.
    fn in_order(&self) -> Vec<Group> {
        let mut groups = self.groups.clone();
        for run in self.tied.chunk_by(|a, b| a + 1 == *b) {
            let (first, last) = (run[0] as usize - 1, run[run.len() - 1] as usize);
            groups[first..=last].sort_by_key(|group| group.first);
        }
        groups
    }

    /// Gives room back when most of the verdicts belong to no group any more.
    fn drop_old_verdicts(&mut self) {
        let used: usize = self.groups.iter().map(|group| group.verdicts.len()).sum();
        if self.verdicts.len() < 2 * used + 1024 {
            return;
        }
        let mut verdicts = Vec::with_capacity(used);
        for group in &mut self.groups {
            let start = verdicts.len() as u32;
            verdicts.extend_from_slice(&self.verdicts[group.verdicts.range()]);
            group.verdicts = Rows { start, end: verdicts.len() as u32 };
        }
        self.verdicts = verdicts;
    }
}

/// How many handlers there are, by path or by conditions.
fn most(table: &Table, handlers: &[u32]) -> u32 {
    handlers.iter().max().map_or(0, |most| most + 1).max(table.splits.handlers())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::candidates::Act;
    use crate::mine::paths::PathAct;
    use crate::mine::table::mix;
    use crate::mine::table::tests::table_over_time;

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
        for by_classes in [false, true] {
            let mut candidates = candidates.clone();
            compare(&mut candidates, || {
                Hearing::new(&table, &handlers, &calibration).by_classes(by_classes)
            });
        }
    }

    /// Hears candidates while they change, and each time as if nothing were known of them.
    fn compare<'a>(candidates: &mut Vec<Candidate>, hearing: impl Fn() -> Hearing<'a>) {
        let new = hearing;
        let mut hearing = new();
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
            assert_eq!(hearing.hear(candidates), anew.hear(candidates));
            let heard = hearing.conclude();
            assert_eq!(heard, anew.conclude());
            let keys = |hearing: &mut Hearing<'_>| hearing.keys(&candidates[1..]);
            assert_eq!(keys(&mut hearing), keys(&mut anew));
            counted += heard.iter().map(|trials| trials.all.trials + trials.unproven).sum::<u64>();
        }
        assert!(counted > 300, "{counted}");
    }
}
