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

use super::forms::{Fired, Forms};
use super::signal::Calibration;
use super::table::{Map, Table, map, mix};

/// Most members of a group that are compared. Reason: pairs are quadratic in it; a page in more
/// spellings says nothing more.
const MEMBERS_MAX: usize = 24;

/// Most comparisons of a group that count for one candidate: all of them must agree.
const PAIRS_MAX: usize = 3;

/// A value is large if so many links have it, and one of so many of those with any value. It must
/// then be in some agreements. Reason: `lang=en` may be the page without `lang` where `lang=de` is
/// another, and pages that are hardly seen twice do not tell.
const VALUE_LINKS_MIN: u64 = 10;
const VALUE_SHARE: u64 = 25;
const VALUE_AGREEMENTS_MIN: u64 = 2;

/// Most agreements that one content may stand for, for one candidate. Reason: an empty list that is
/// shown for a hundred categories is one observation, not a hundred.
const AGREEMENTS_PER_CONTENT: u8 = 2;

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
#[derive(Clone, Debug, Default)]
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

/// Tries the candidates that made `forms`; the result has one entry for each.
///
/// Depends on the table only, never on the order of input: groups come in the order of their keys.
pub(super) fn try_all(
    table: &Table,
    handlers: &[u32],
    calibration: &Calibration,
    forms: &Forms,
    candidates: usize,
) -> Vec<Trials> {
    let mut out = vec![Trials::default(); candidates];
    let mut used: Map<(u16, u32), u8> = map();
    // Links with each value that a candidate takes away, and agreements about it.
    let mut values: Map<(u16, u64), (u64, u64)> = map();
    for fired in &forms.fired {
        values.entry((fired.candidate, fired.mark)).or_insert((0, 0)).0 += 1;
    }
    for (_, link) in &forms.keys {
        let handler = handlers[table.links[*link as usize].path as usize];
        for fired in forms.fired_on(*link) {
            let trials = &mut out[fired.candidate as usize];
            trials.fired += 1;
            *trials.fired_by_handler.entry(handler).or_insert(0) += 1;
        }
    }
    let mut members: Vec<u32> = Vec::new();
    let mut pairs = Pairs::default();
    for group in forms.groups() {
        members.clear();
        members.extend(group.iter().map(|(_, link)| *link));
        for link in &members {
            for fired in forms.fired_on(*link) {
                out[fired.candidate as usize].gain += 1;
            }
        }
        if members.len() > MEMBERS_MAX {
            members.sort_by_key(|link| mix(u64::from(*link)));
            members.truncate(MEMBERS_MAX);
        }
        pairs.collect(table, calibration, forms, &members);
        for (candidate, tried) in &mut pairs.by_candidate {
            let Some(verdict) = verdict(table, calibration, tried) else { continue };
            let trials = &mut out[*candidate as usize];
            if verdict.agree {
                let count = used.entry((*candidate, verdict.content)).or_insert(0);
                if *count == AGREEMENTS_PER_CONTENT {
                    continue;
                }
                trials.contents += u64::from(*count == 0);
                *count += 1;
                trials.example.get_or_insert((verdict.pair.0, verdict.pair.1));
                for link in [verdict.pair.0, verdict.pair.1] {
                    let of = forms.fired_on(link).iter().find(|one| one.candidate == *candidate);
                    if let Some(value) = of.and_then(|one| values.get_mut(&(*candidate, one.mark)))
                    {
                        value.1 += 1;
                    }
                }
            } else {
                trials.blame += 1.0 / verdict.differences as f64;
            }
            trials.all.add(verdict.agree, verdict.same, verdict.high);
            if verdict.differences == 1 {
                trials.alone.add(verdict.agree, verdict.same, verdict.high);
            }
            let handler = handlers[table.links[verdict.pair.0 as usize].path as usize];
            trials.by_handler.entry(handler).or_default().add(
                verdict.agree,
                verdict.same,
                verdict.high,
            );
        }
    }
    #[expect(clippy::iter_over_hash_type, reason = "numbers are added up; their order is nothing")]
    for ((candidate, _), (links, agreements)) in &values {
        let trials = &mut out[*candidate as usize];
        let is_large = *links >= VALUE_LINKS_MIN && links * VALUE_SHARE >= trials.fired;
        trials.unproven += u64::from(is_large && *agreements < VALUE_AGREEMENTS_MIN);
    }
    out
}

/// A pair of links and in how many candidates they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    /// How far apart in time, where pages change.
    distance: u8,
    differences: u16,
    a: u32,
    b: u32,
}

/// The pairs of a group by candidate, reused from group to group.
#[derive(Default)]
struct Pairs {
    by_candidate: BTreeMap<u16, Vec<Pair>>,
    differing: Vec<u16>,
}

impl Pairs {
    fn collect(
        &mut self,
        table: &Table,
        calibration: &Calibration,
        forms: &Forms,
        members: &[u32],
    ) {
        self.by_candidate.clear();
        for (at, a) in members.iter().enumerate() {
            for b in &members[at + 1..] {
                differences(forms.fired_on(*a), forms.fired_on(*b), &mut self.differing);
                if self.differing.is_empty() {
                    continue;
                }
                let (one, other) = (&table.links[*a as usize], &table.links[*b as usize]);
                let pair = Pair {
                    distance: calibration.distance(table, one, other),
                    differences: self.differing.len() as u16,
                    a: *a,
                    b: *b,
                };
                for candidate in &self.differing {
                    self.by_candidate.entry(*candidate).or_default().push(pair);
                }
            }
        }
    }
}

/// The candidates in which two links differ.
fn differences(a: &[Fired], b: &[Fired], out: &mut Vec<u16>) {
    out.clear();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) if x.candidate == y.candidate => {
                if x.mark != y.mark {
                    out.push(x.candidate);
                }
                (i, j) = (i + 1, j + 1);
            }
            (Some(x), Some(y)) if x.candidate < y.candidate => {
                out.push(x.candidate);
                i += 1;
            }
            (Some(x), None) => {
                out.push(x.candidate);
                i += 1;
            }
            (_, Some(y)) => {
                out.push(y.candidate);
                j += 1;
            }
            (None, None) => break,
        }
    }
}

struct Verdict {
    agree: bool,
    same: f64,
    high: f64,
    content: u32,
    differences: u16,
    distance: u8,
    pair: (u32, u32),
}

/// Compares the pairs of one candidate in one group: the closest in time first where pages change,
/// then those with the fewest differences.
fn verdict(table: &Table, calibration: &Calibration, pairs: &mut [Pair]) -> Option<Verdict> {
    pairs.sort_unstable();
    let mut found: Option<Verdict> = None;
    let mut compared = 0;
    for pair in pairs {
        let worse = |found: &Verdict| {
            pair.differences > found.differences || pair.distance > found.distance
        };
        if found.as_ref().is_some_and(worse) {
            break;
        }
        let links = &table.links;
        let (a, b) = (&links[pair.a as usize], &links[pair.b as usize]);
        let Some(one) = calibration.compare(table, a, b) else { continue };
        match &mut found {
            None => {
                found = Some(Verdict {
                    agree: one.agree,
                    same: one.same,
                    high: one.high,
                    content: one.content,
                    differences: pair.differences,
                    distance: pair.distance,
                    pair: (pair.a, pair.b),
                });
            }
            // Where a page does not agree with itself, one comparison is all a group can give.
            Some(_) if one.same < 0.98 => break,
            Some(found) => {
                found.agree &= one.agree;
                found.same *= one.same;
                found.high *= one.high;
            }
        }
        compared += 1;
        if compared == PAIRS_MAX {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::candidates::{Act, Candidate};
    use crate::mine::forms::forms;
    use crate::mine::observation::Observation;
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
        let forms = forms(&table, &handlers, &candidates);
        let trials = try_all(&table, &handlers, &calibration, &forms, 2);
        for tried in &trials {
            assert_eq!((tried.all.good, tried.all.trials, tried.alone.trials), (60, 60, 0));
            assert_eq!((tried.contents, tried.gain, tried.fired), (60, 180, 180));
        }
        let with_id: Vec<Candidate> = [b"sid".as_slice(), b"cb", b"id"]
            .map(|text| Candidate::new(Act::Drop(name(text))))
            .to_vec();
        let forms = super::super::forms::forms(&table, &handlers, &with_id);
        let trials = try_all(&table, &handlers, &calibration, &forms, 3);
        assert_eq!(trials[2].all.good, 0);
    }
}
