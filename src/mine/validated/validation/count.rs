//! The results of a validation: counted samples, what is known at its end only, keys, examples.
//!
//! HOT: once per sample of a candidate whose support is stale.

use std::collections::BTreeSet;

use super::super::classes::in_blocks;
use super::super::groups::{Measure, Sample, Weight};
use super::super::support::{Support, large_values, unproven};
use super::Validation;
use crate::mine::acts::candidates::{Act, Candidate};
use crate::mine::acts::forms::Shaper;
use crate::mine::proposed::screen::SlotSample;
use crate::mine::seen::identity::Keyed;

impl Validation<'_> {
    /// The support of the candidates that were validated last, with what is known at the end only.
    pub(crate) fn finish(&mut self) -> Vec<Support> {
        let (starts, marks) = self.marks_of_scoped();
        self.stale.copy_from_slice(&self.active);
        self.count(|number| {
            let marks = &marks[starts[number] as usize..starts[number + 1] as usize];
            large_values(marks.iter().map(|(mark, _)| *mark))
        });
        for (number, support) in self.support.iter_mut().enumerate() {
            for (_, handler) in &marks[starts[number] as usize..starts[number + 1] as usize] {
                *support.fired_by_handler.entry(*handler).or_insert(0) += 1;
            }
        }
        for (number, urls) in self.unsound() {
            self.support[number].unsound += urls;
        }
        let finished = self.support_of_active();
        for support in &mut self.support {
            support.fired_by_handler.clear();
            (support.unproven, support.unsound) = (0, 0);
        }
        finished
    }

    /// The page of each URL under `candidates`, as a number; the validation stays as it is.
    /// `None` if they are not among those that were validated last, reaching as far or less.
    /// Opaque URLs have 0.
    pub(crate) fn keys(&mut self, candidates: &[Candidate]) -> Option<Vec<u64>> {
        let active = self.active.clone();
        let changes = self.changes(candidates);
        let still_active = std::mem::replace(&mut self.active, active);
        let (changed, now) = changes?;
        let mut shaper = Shaper::new(self.table, self.handlers);
        shaper.apply(&now, &still_active, &changed);
        let mut keys = vec![0; self.table.urls.len()];
        for keyed in &self.forms.keys {
            let fired = self.forms.fired_on(keyed.url);
            let is_moved = fired.iter().any(|fired| changed[fired.candidate as usize]);
            let shown = &self.table.urls[keyed.url as usize];
            let key = if is_moved { shaper.shape(shown, keyed.url, &now).0 } else { *keyed };
            keys[keyed.url as usize] = key.page();
        }
        Some(keys)
    }

    /// Two URLs that agree, in the first group that agrees about a candidate that
    /// was validated last.
    pub(crate) fn example(&mut self, candidate: &Candidate) -> Option<(u32, u32)> {
        let is_it = |(one, active): (&Candidate, &bool)| *active && one.act == candidate.act;
        let number = self.candidates.iter().zip(&self.active).position(is_it)? as u16;
        let (table, calibration, forms) = (self.table, self.calibration, &self.forms);
        let by = Measure { table, calibration, forms };
        let mut members: Vec<u32> = Vec::new();
        for group in forms.groups() {
            members.clear();
            members.extend(group.iter().map(|keyed| keyed.url));
            let sample = self.sampler.sample_one(by, &members, number);
            if let Some(Sample { agree: true, pair, .. }) = sample {
                return Some(pair);
            }
        }
        None
    }

    /// What each group said about parameters of these names, with any value or with one.
    pub(crate) fn seen(&self, names: &BTreeSet<u32>) -> Vec<SlotSample> {
        let dropped = |number: usize| match self.candidates[number].act {
            Act::Drop(name) | Act::Default(name, _) => {
                (self.active[number] && names.contains(&name)).then_some(name)
            }
            _ => None,
        };
        let groups = self.in_order();
        let each = groups.iter().flat_map(|group| &self.samples[group.samples.range()]);
        let counted = each.filter(|sample| sample.weight != Weight::Look);
        let seen = counted.filter_map(|sample| {
            let Sample { agree, content, same, high, pair: (url, _), .. } = *sample;
            let name = dropped(sample.candidate as usize)?;
            let handler = self.handlers[self.table.urls[url as usize].path as usize];
            Some(SlotSample { name, url, handler, agree, content, same, high })
        });
        seen.collect()
    }

    /// Counts the samples of all candidates whose support is stale, and the agreements about those
    /// values of each that `large` names.
    pub(super) fn count(&mut self, large: impl Fn(usize) -> Vec<u64>) {
        let (starts, rows) = self.samples_by_candidate();
        for number in 0..self.candidates.len() {
            if self.stale[number] {
                let rows = &rows[starts[number] as usize..starts[number + 1] as usize];
                self.count_one(number, rows, &large(number));
            }
        }
        self.stale.fill(false);
    }

    /// The rows of all samples by candidate, in the order of the groups; and where those of each
    /// begin.
    fn samples_by_candidate(&self) -> (Vec<u32>, Vec<u32>) {
        let mut starts = vec![0u32; self.candidates.len() + 1];
        let groups = self.in_order();
        let samples = || groups.iter().flat_map(|group| group.samples.range());
        let number = |row: usize| self.samples[row].candidate as usize;
        for row in samples() {
            starts[number(row) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut rows = vec![0u32; starts.last().map_or(0, |end| *end as usize)];
        for row in samples() {
            let next = &mut next[number(row)];
            rows[*next as usize] = row as u32;
            *next += 1;
        }
        (starts, rows)
    }

    /// Counts the samples of the candidate `number`, which are in these `rows`, and the agreements
    /// about its `large` values.
    fn count_one(&mut self, number: usize, rows: &[u32], large: &[u64]) {
        let said = |weight: Weight| {
            let all = rows.iter().map(|row| &self.samples[*row as usize]);
            all.filter(move |sample| sample.weight == weight)
        };
        let (table, handlers) = (self.table, self.handlers);
        let (splits, param) = (&table.splits, self.candidates[number].act.param());
        let handler_of = |url: u32| {
            let url = &table.urls[url as usize];
            match param {
                Some(name) => table.handler_for(url, name, handlers),
                None => handlers[url.path as usize],
            }
        };
        let mark = |url: u32| {
            let mut fired = self.forms.fired_on(url).iter();
            let of = fired.find(|fired| fired.candidate as usize == number);
            of.map_or(0, |fired| fired.mark)
        };
        let looks =
            said(Weight::Look).map(|look| ((mark(look.pair.0), mark(look.pair.1)), look.agree));
        let counts = self.candidates[number].control || !in_blocks(looks);
        let unless_in_blocks = counts.then(|| said(Weight::UnlessInBlocks));
        let full = said(Weight::Full).chain(unless_in_blocks.into_iter().flatten());
        let with_handlers = full.filter_map(|sample| {
            let handler = handler_of(sample.pair.0);
            let is_spent = splits.is_spent(handler, sample.content);
            (!is_spent).then_some((sample, handler))
        });
        let mut asked: Vec<(u64, u64)> = large.iter().map(|mark| (*mark, 0)).collect();
        let support = &mut self.support[number];
        support.clear();
        self.counter.count(support, with_handlers, |sample| {
            if asked.is_empty() {
                return;
            }
            // All others together are no value.
            let is_pair = sample.weight == Weight::Full;
            let other = is_pair.then_some(sample.pair.1);
            for url in [sample.pair.0].into_iter().chain(other).chain(sample.third) {
                let mark = mark(url);
                if let Some(value) = asked.iter_mut().find(|(value, _)| *value == mark) {
                    value.1 += 1;
                }
            }
        });
        support.unproven = unproven(&asked);
    }

    /// Candidates that groups disagree about, with the URLs there that they changed.
    fn unsound(&self) -> Vec<(usize, u64)> {
        let mut out = Vec::new();
        for (group, keys) in self.groups_with_keys() {
            let samples = self.samples[group.samples.range()].iter();
            let disagree = samples.filter(|one| !one.agree && one.weight != Weight::Look);
            // A group may say more than once that it disagrees.
            for candidate in disagree.map(|one| one.candidate).collect::<BTreeSet<_>>() {
                let fires = |one: &&Keyed| {
                    let mut fired = self.forms.fired_on(one.url).iter();
                    fired.any(|fired| fired.candidate == candidate)
                };
                out.push((candidate as usize, keys.iter().filter(fires).count() as u64));
            }
        }
        out
    }

    /// For each candidate that is active and may be narrowed to handlers, what it took away from
    /// URLs, with their handlers; and where the rows of each begin.
    fn marks_of_scoped(&self) -> (Vec<u32>, Vec<(u64, u32)>) {
        let is_scoped = |one: &Candidate| one.act.is_scoped();
        let each = self.candidates.iter().zip(&self.active).zip(&self.support);
        let mut starts = vec![0];
        for ((candidate, active), support) in each {
            let rows = if *active && is_scoped(candidate) { support.fired as u32 } else { 0 };
            starts.push(starts[starts.len() - 1] + rows);
        }
        let mut next = starts.clone();
        let mut marks = vec![(0, 0); starts.last().map_or(0, |end| *end as usize)];
        for url in 0..self.table.urls.len() as u32 {
            for fired in self.forms.fired_on(url) {
                let number = fired.candidate as usize;
                if starts[number] < starts[number + 1] {
                    marks[next[number] as usize] = (fired.mark, self.handler_or_stem(url, number));
                    next[number] += 1;
                }
            }
        }
        (starts, marks)
    }
}
