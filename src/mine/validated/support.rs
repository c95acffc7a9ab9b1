//! Support: what groups of URLs, equal but for what candidates take away, say about each candidate.
//!
//! HOT: once per group.
//!
//! The candidates are applied all at once, so that a group holds all spellings of a page that
//! they explain together. For each candidate that made a difference inside a group, the two
//! members are compared that differ in it and in as little else as possible. If they agree, every
//! candidate that they differ in is right about them: were one of them wrong, these would be
//! two pages. If they do not agree, at least one is wrong, and it counts against each of them. So
//! agreement is evidence for stacked parameters that never occur alone, and disagreement is only
//! ever counted too much.

use std::collections::BTreeMap;

use super::groups::Sample;
use crate::mine::trials::Trials;

/// A value is large if this many URLs have it, and one of this many of those with any value. It
/// must then be in some agreements. Reason: `lang=en` may be the page without `lang` where
/// `lang=de` is another, and pages that are hardly seen twice do not show it.
const VALUE_URLS_MIN: u64 = 10;
const VALUE_SHARE: u64 = 25;
const VALUE_AGREEMENTS_MIN: u64 = 2;

/// Most agreements that one content may stand for, for one candidate. Reason: an empty list that is
/// shown for a hundred categories is one observation, not a hundred.
const AGREEMENTS_PER_CONTENT: u8 = 2;

/// The evidence for and against one candidate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Support {
    /// All groups.
    pub(crate) all: Trials,
    /// Groups whose pair differed in nothing but this candidate.
    pub(crate) alone: Trials,
    /// Disagreements, each shared among the candidates that it counts against.
    pub(crate) bad_shares: f64,
    /// By handler.
    pub(crate) by_handler: BTreeMap<u32, Trials>,
    /// Distinct contents among agreements.
    pub(crate) contents: u64,
    /// URLs that the candidate changed, in groups of two keys or more.
    pub(crate) gain: u64,
    /// Those of them in groups that disagree; known at the end.
    pub(crate) unsound: u64,
    /// URLs that the candidate changed.
    pub(crate) fired: u64,
    /// The same by handler, for parameters; known at the end.
    pub(crate) fired_by_handler: BTreeMap<u32, u64>,
    /// Values that many of the URLs have, and that hardly an agreement is about, for parameters;
    /// known at the end.
    pub(crate) unproven: u64,
    /// URLs of the first group that agreed.
    pub(crate) example: Option<(u32, u32)>,
}

impl Support {
    /// Forgets what groups said; what fired stays.
    pub(crate) fn clear(&mut self) {
        *self = Support { gain: self.gain, fired: self.fired, ..Support::default() };
    }

    /// Counts what a group said, but for the handler.
    fn add(&mut self, sample: &Sample) {
        let Sample { agree, same, high, differences, .. } = *sample;
        if !agree {
            self.bad_shares += 1.0 / f64::from(differences);
        }
        self.all.add(agree, same, high);
        if differences == 1 {
            self.alone.add(agree, same, high);
        }
    }
}

/// Counts samples, one candidate after the other; its buffers are used again.
///
/// ```text
/// used       for each content, the candidate's number here and how often the content has counted
/// slots      for each handler, the candidate's number here and its row of `rows`
/// ```
#[derive(Debug, Default)]
pub(crate) struct Counter {
    used: Vec<(u32, u8)>,
    slots: Vec<(u32, u32)>,
    rows: Vec<(u32, Trials)>,
    candidates: u32,
}

impl Counter {
    /// A counter for this many contents and handlers.
    pub(crate) fn new(contents: usize, handlers: usize) -> Counter {
        let (used, slots) = (vec![(0, 0); contents], vec![(0, 0); handlers]);
        Counter { used, slots, ..Counter::default() }
    }

    /// Counts the `samples` of one candidate, with their handlers, in the order of their groups.
    /// `agreed` is called with those that agree and count.
    pub(crate) fn count<'a>(
        &mut self,
        support: &mut Support,
        samples: impl Iterator<Item = (&'a Sample, u32)>,
        mut agreed: impl FnMut(&Sample),
    ) {
        self.candidates += 1;
        self.rows.clear();
        for (sample, handler) in samples {
            if sample.agree {
                let used = &mut self.used[sample.content as usize];
                if used.0 != self.candidates {
                    *used = (self.candidates, 0);
                }
                if used.1 == AGREEMENTS_PER_CONTENT {
                    continue;
                }
                support.contents += u64::from(used.1 == 0);
                used.1 += 1;
                support.example.get_or_insert(sample.pair);
                agreed(sample);
            }
            support.add(sample);
            let slot = &mut self.slots[handler as usize];
            if slot.0 != self.candidates {
                *slot = (self.candidates, self.rows.len() as u32);
                self.rows.push((handler, Trials::default()));
            }
            let (agree, same, high) = (sample.agree, sample.same, sample.high);
            self.rows[slot.1 as usize].1.add(agree, same, high);
        }
        support.by_handler = self.rows.drain(..).collect();
    }
}

/// Buckets that marks are counted in before each is counted by itself.
const BUCKETS: usize = 4096;

/// The large values among the marks of what one candidate changed.
pub(crate) fn large_values(marks: impl Iterator<Item = u64> + Clone) -> Vec<u64> {
    let fired = marks.clone().count() as u64;
    let is_large = |urls: u64| urls >= VALUE_URLS_MIN && urls * VALUE_SHARE >= fired;
    // A value is large only where its bucket is. Marks are hashes but for their last bit, or small.
    let bucket = |mark: u64| (mark >> 1) as usize % BUCKETS;
    let mut buckets = vec![0u32; BUCKETS];
    for mark in marks.clone() {
        buckets[bucket(mark)] += 1;
    }
    let mut rest: Vec<u64> =
        marks.filter(|mark| is_large(u64::from(buckets[bucket(*mark)]))).collect();
    rest.sort_unstable();
    let values = rest.chunk_by(|a, b| a == b);
    values.filter(|urls| is_large(urls.len() as u64)).map(|urls| urls[0]).collect()
}

/// How many of the large values hardly an agreement is about; each has its agreements.
pub(crate) fn unproven(asked: &[(u64, u64)]) -> u64 {
    asked.iter().filter(|(_, agreed)| *agreed < VALUE_AGREEMENTS_MIN).count() as u64
}

#[cfg(test)]
mod tests {
    use crate::mine::acts::candidates::{Act, Candidate};
    use crate::mine::seen::table::tests::table_of;
    use crate::mine::validated::validation::Validation;
    use crate::mine::worth::signal::Calibration;

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
        let table = table_of(&rows);
        let name = |text: &[u8]| table.names.iter().position(|name| name == text).unwrap() as u32;
        let candidates: Vec<Candidate> =
            [b"sid".as_slice(), b"cb"].map(|text| Candidate::new(Act::Drop(name(text)))).to_vec();
        let handlers = vec![0; table.paths.len()];
        let calibration = Calibration::measure(&table);
        let mut validation = Validation::new(&table, &handlers, &calibration);
        validation.validate(&candidates);
        let support = validation.finish();
        for tried in &support {
            assert_eq!((tried.all.good, tried.all.samples, tried.alone.samples), (60, 60, 0));
            assert_eq!((tried.contents, tried.gain, tried.fired), (60, 180, 180));
        }
        let with_id: Vec<Candidate> = [b"sid".as_slice(), b"cb", b"id"]
            .map(|text| Candidate::new(Act::Drop(name(text))))
            .to_vec();
        let support = validation.validate(&with_id);
        assert_eq!(support[2].all.good, 0);
    }
}
