//! Trials: what groups of URLs, equal but for what candidates take away, say about each candidate.
//!
//! HOT: once per group.
//!
//! The candidates are applied all at once, so that a group holds all spellings of a page that they
//! explain together. For each candidate that made a difference inside a group, the two members are
//! compared that differ in it and in as little else as possible. If they agree, every candidate
//! that tells them apart is right about them: were one of them wrong, these would be two pages. If
//! they do not agree, at least one is wrong, and each of them is charged. So agreement is evidence
//! for stacked parameters that never occur alone, and disagreement is only ever counted too much.

use std::collections::BTreeMap;

use super::forms::Fired;
use super::groups::Verdict;
use super::table::{Map, map};

/// A value is large if so many links have it, and one of so many of those with any value. It must
/// then be in some agreements. Reason: `lang=en` may be the page without `lang` where `lang=de` is
/// another, and pages that are hardly seen twice do not tell.
const VALUE_LINKS_MIN: u64 = 10;
const VALUE_SHARE: u64 = 25;
const VALUE_AGREEMENTS_MIN: u64 = 2;

/// Most agreements that one content may stand for, for one candidate. Reason: an empty list that is
/// shown for a hundred categories is one observation, not a hundred.
pub(super) const AGREEMENTS_PER_CONTENT: u8 = 2;

/// What trials said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Groups whose comparisons all agreed.
    pub(super) good: u64,
    /// All groups.
    pub(super) trials: u64,
    /// Sum over groups of the chance that a page agrees with itself.
    pub(super) same: f64,
    /// Sum over groups of the upper bound of that chance.
    pub(super) high: f64,
}

impl Tally {
    /// Adds one group.
    pub(super) fn add(&mut self, agree: bool, same: f64, high: f64) {
        self.good += u64::from(agree);
        self.trials += 1;
        self.same += same;
        self.high += high;
    }

    /// Adds the groups of another tally.
    pub(super) fn join(&mut self, other: &Tally) {
        self.good += other.good;
        self.trials += other.trials;
        self.same += other.same;
        self.high += other.high;
    }

    /// Groups with a disagreement.
    pub(super) fn bad(&self) -> u64 {
        self.trials - self.good
    }

    /// The mean chance that a page agrees with itself; 1 without trials.
    pub(super) fn mean_same(&self) -> f64 {
        if self.trials == 0 { 1.0 } else { self.same / self.trials as f64 }
    }
}

impl Tally {
    /// The mean upper bound of the chance that a page agrees with itself; 1 without trials.
    pub(super) fn mean_high(&self) -> f64 {
        if self.trials == 0 { 1.0 } else { self.high / self.trials as f64 }
    }
}

/// The trials of one candidate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Trials {
    /// All groups.
    pub(super) all: Tally,
    /// Groups whose pair differed in nothing but this candidate.
    pub(super) alone: Tally,
    /// Disagreements, each shared among the candidates that were charged with it.
    pub(super) blame: f64,
    /// By handler.
    pub(super) by_handler: BTreeMap<u32, Tally>,
    /// Distinct contents among agreements.
    pub(super) contents: u64,
    /// Links that the candidate changed, in groups of two keys or more.
    pub(super) gain: u64,
    /// Links that the candidate changed.
    pub(super) fired: u64,
    /// The same by handler.
    pub(super) fired_by_handler: BTreeMap<u32, u64>,
    /// Values that many of the links have, and that hardly an agreement is about.
    pub(super) unproven: u64,
    /// Links of the first group that agreed.
    pub(super) example: Option<(u32, u32)>,
}

impl Trials {
    /// Forgets what groups said; what fired stays.
    pub(super) fn clear(&mut self) {
        *self = Trials {
            gain: self.gain,
            fired: self.fired,
            fired_by_handler: std::mem::take(&mut self.fired_by_handler),
            ..Trials::default()
        };
    }

    /// Counts a link under `handler` that the candidate changed.
    pub(super) fn note(&mut self, handler: u32) {
        self.fired += 1;
        *self.fired_by_handler.entry(handler).or_insert(0) += 1;
    }

    /// Takes back what [`Trials::note`] counted.
    pub(super) fn forget(&mut self, handler: u32) {
        self.fired -= 1;
        if let Some(fired) = self.fired_by_handler.get_mut(&handler) {
            *fired -= 1;
            if *fired == 0 {
                self.fired_by_handler.remove(&handler);
            }
        }
    }

    /// Counts what a group under `handler` said.
    pub(super) fn add(&mut self, verdict: &Verdict, handler: u32) {
        let Verdict { agree, same, high, differences, .. } = *verdict;
        if !agree {
            self.blame += 1.0 / f64::from(differences);
        }
        self.all.add(agree, same, high);
        if differences == 1 {
            self.alone.add(agree, same, high);
        }
        self.by_handler.entry(handler).or_default().add(agree, same, high);
    }
}

/// The values that candidates take away: how many links have each, and agreements about large ones.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// Links, by candidate and mark.
    links: Map<(u16, u64), u32>,
    /// By candidate: the marks that so many links had at some time that they may be large.
    frequent: Vec<Vec<u64>>,
    /// Agreements about those that are large now, by candidate.
    asked: Vec<Vec<(u64, u64)>>,
}

impl Values {
    /// No values of `candidates` candidates.
    pub(super) fn new(candidates: usize) -> Values {
        let empty = vec![Vec::new(); candidates];
        Values { links: map(), frequent: empty, asked: vec![Vec::new(); candidates] }
    }

    /// Counts a link.
    pub(super) fn add(&mut self, fired: Fired) {
        let links = self.links.entry((fired.candidate, fired.mark)).or_insert(0);
        *links += 1;
        if u64::from(*links) == VALUE_LINKS_MIN {
            self.frequent[fired.candidate as usize].push(fired.mark);
        }
    }

    /// Takes a link back.
    pub(super) fn remove(&mut self, fired: Fired) {
        if let Some(links) = self.links.get_mut(&(fired.candidate, fired.mark)) {
            *links -= 1;
        }
    }

    /// Looks which values of the `stale` candidates are large; nothing agrees about them yet.
    pub(super) fn ask(&mut self, stale: &[bool], trials: &[Trials]) {
        for (number, asked) in self.asked.iter_mut().enumerate() {
            asked.clear();
            if !stale[number] {
                continue;
            }
            // One that has come down and up again is there twice.
            self.frequent[number].sort_unstable();
            self.frequent[number].dedup();
            for mark in &self.frequent[number] {
                let links = self.links.get(&(number as u16, *mark)).copied().unwrap_or(0);
                let links = u64::from(links);
                if links >= VALUE_LINKS_MIN && links * VALUE_SHARE >= trials[number].fired {
                    asked.push((*mark, 0));
                }
            }
        }
    }

    /// Counts an agreement about a link that `candidate` changed, with what fired on it.
    pub(super) fn agree(&mut self, candidate: u16, fired: &[Fired]) {
        let asked = &mut self.asked[candidate as usize];
        if asked.is_empty() {
            return;
        }
        let of = fired.iter().find(|one| one.candidate == candidate);
        if let Some(of) = of
            && let Some(value) = asked.iter_mut().find(|(mark, _)| *mark == of.mark)
        {
            value.1 += 1;
        }
    }

    /// Writes down how many of the large values are unproven.
    pub(super) fn settle(&mut self, trials: &mut [Trials]) {
        for (trials, asked) in trials.iter_mut().zip(&self.asked) {
            let unproven = asked.iter().filter(|(_, agreed)| *agreed < VALUE_AGREEMENTS_MIN);
            trials.unproven += unproven.count() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::mine::candidates::{Act, Candidate};
    use crate::mine::hearing::Hearing;
    use crate::mine::observation::Observation;
    use crate::mine::signal::Calibration;
    use crate::mine::table::Table;
    use crate::mine::table::tests::stage0;

    #[test]
    fn stacked_parameters_are_judged_together() {
        let rows: Vec<(String, String)> = (0..60)
            .flat_map(|page| {
                (0..3).map(move |visit| {
                    let url = format!(
                        "http://a.test/x?id={page}&sid={}&cb={}",
                        page * 10 + visit,
                        page * 100 + visit
                    );
                    (url, format!("page {page}"))
                })
            })
            .collect();
        let list: Vec<Observation<'_>> = rows
            .iter()
            .map(|(url, digest)| Observation {
                url: url.as_bytes(),
                digest: Some(digest.as_bytes()),
                ..Observation::default()
            })
            .collect();
        let table = Table::build(&list, &stage0());
        let name = |text: &[u8]| table.names.iter().position(|name| name == text).unwrap() as u32;
        let candidates: Vec<Candidate> =
            [b"sid".as_slice(), b"cb"].map(|text| Candidate::new(Act::Drop(name(text)))).to_vec();
        let handlers = vec![0; table.paths.len()];
        let calibration = Calibration::measure(&table, None);
        let mut hearing = Hearing::new(&table, &handlers, &calibration);
        let trials = hearing.hear(&candidates);
        for tried in &trials {
            assert_eq!((tried.all.good, tried.all.trials, tried.alone.trials), (60, 60, 0));
            assert_eq!((tried.contents, tried.gain, tried.fired), (60, 180, 180));
        }
        let with_id: Vec<Candidate> = [b"sid".as_slice(), b"cb", b"id"]
            .map(|text| Candidate::new(Act::Drop(name(text))))
            .to_vec();
        let trials = hearing.hear(&with_id);
        assert_eq!(trials[2].all.good, 0);
    }
}
