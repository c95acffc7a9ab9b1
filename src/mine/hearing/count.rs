//! What a hearing comes to: verdicts counted, what is known at the end only, keys, examples.
//!
//! HOT: once per verdict on a candidate whose trials are stale.

use std::collections::BTreeSet;

use super::super::candidates::{Act, Candidate};
use super::super::classes::in_blocks;
use super::super::forms::Shaper;
use super::super::groups::{Measure, Verdict, Weight};
use super::super::screen::Seen;
use super::super::trials::{Trials, large_values, unproven};
use super::Hearing;

impl Hearing<'_> {
    /// What was said about the candidates that were heard last, and what is known at the end only.
    pub(in crate::mine) fn conclude(&mut self) -> Vec<Trials> {
        let (starts, marks) = self.marks_of_scoped();
        self.stale.copy_from_slice(&self.heard);
        self.count(|number| {
            let marks = &marks[starts[number] as usize..starts[number + 1] as usize];
            large_values(marks.iter().map(|(mark, _)| *mark))
        });
        for (number, trials) in self.trials.iter_mut().enumerate() {
            for (_, handler) in &marks[starts[number] as usize..starts[number + 1] as usize] {
                *trials.fired_by_handler.entry(*handler).or_insert(0) += 1;
            }
        }
        let concluded = self.trials_heard();
        for trials in &mut self.trials {
            trials.fired_by_handler.clear();
            trials.unproven = 0;
        }
        concluded
    }

    /// The page of each link under `candidates`, as a number; the hearing stays as it is. `None` if they are not
    /// among those that were heard last, reaching as far or less. Opaque links have 0.
    pub(in crate::mine) fn keys(&mut self, candidates: &[Candidate]) -> Option<Vec<u64>> {
        let heard = self.heard.clone();
        let changes = self.changes(candidates);
        let still_heard = std::mem::replace(&mut self.heard, heard);
        let (changed, now) = changes?;
        let mut shaper = Shaper::new(self.table, self.handlers);
        shaper.apply(&now, &still_heard, &changed);
        let mut keys = vec![0; self.table.links.len()];
        for keyed in &self.forms.keys {
            let fired = self.forms.fired_on(keyed.link);
            let is_moved = fired.iter().any(|fired| changed[fired.candidate as usize]);
            let shown = &self.table.links[keyed.link as usize];
            let key = if is_moved { shaper.shape(shown, keyed.link, &now).0 } else { *keyed };
            keys[keyed.link as usize] = key.page();
        }
        Some(keys)
    }

    /// Two links that agree, in the first group that agrees about a candidate that was heard last.
    pub(in crate::mine) fn example(&mut self, candidate: &Candidate) -> Option<(u32, u32)> {
        let is_it = |(one, heard): (&Candidate, &bool)| *heard && one.act == candidate.act;
        let number = self.candidates.iter().zip(&self.heard).position(is_it)? as u16;
        let (table, calibration, forms) = (self.table, self.calibration, &self.forms);
        let by = Measure { table, calibration, forms };
        let mut members: Vec<u32> = Vec::new();
        for group in forms.groups() {
            members.clear();
            members.extend(group.iter().map(|keyed| keyed.link));
            let verdict = self.bench.judge_one(by, &members, number);
            if let Some(Verdict { agree: true, pair, .. }) = verdict {
                return Some(pair);
            }
        }
        None
    }

    /// What each group said about parameters of these names, with any value or with one.
    pub(in crate::mine) fn seen(&self, names: &BTreeSet<u32>) -> Vec<Seen> {
        let dropped = |number: usize| match self.candidates[number].act {
            Act::Drop(name) | Act::Default(name, _) => {
                (self.heard[number] && names.contains(&name)).then_some(name)
            }
            _ => None,
        };
        let groups = self.in_order();
        let each = groups.iter().flat_map(|group| &self.verdicts[group.verdicts.range()]);
        let trials = each.filter(|verdict| verdict.weight != Weight::Look);
        let seen = trials.filter_map(|verdict| {
            let Verdict { agree, content, same, high, pair: (link, _), .. } = *verdict;
            let name = dropped(verdict.candidate as usize)?;
            let handler = self.handlers[self.table.links[link as usize].path as usize];
            Some(Seen { name, link, handler, agree, content, same, high })
        });
        seen.collect()
    }

    /// Counts the verdicts on all candidates whose trials are stale, and the agreements about those
    /// values of each that `large` names.
    pub(super) fn count(&mut self, large: impl Fn(usize) -> Vec<u64>) {
        // The verdicts by candidate, in the order of the groups.
        let mut starts = vec![0u32; self.candidates.len() + 1];
        let groups = self.in_order();
        let verdicts = || groups.iter().flat_map(|group| group.verdicts.range());
        let number = |place: usize| self.verdicts[place].candidate as usize;
        for place in verdicts() {
            starts[number(place) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut places = vec![0u32; starts.last().map_or(0, |end| *end as usize)];
        for place in verdicts() {
            let next = &mut next[number(place)];
            places[*next as usize] = place as u32;
            *next += 1;
        }
        for (number, trials) in self.trials.iter_mut().enumerate() {
            if !self.stale[number] {
                continue;
            }
            trials.clear();
            let mut asked: Vec<(u64, u64)> = large(number).iter().map(|mark| (*mark, 0)).collect();
            let places = &places[starts[number] as usize..starts[number + 1] as usize];
            let said = |weight: Weight| {
                let all = places.iter().map(|place| &self.verdicts[*place as usize]);
                all.filter(move |verdict| verdict.weight == weight)
            };
            let (table, handlers) = (self.table, self.handlers);
            let (splits, param) = (&table.splits, self.candidates[number].act.param());
            let handler_of = |link: u32| {
                let link = &table.links[link as usize];
                match param {
                    Some(name) => table.handler_for(link, name, handlers),
                    None => handlers[link.path as usize],
                }
            };
            let mark = |link: u32| {
                let mut fired = self.forms.fired_on(link).iter();
                let of = fired.find(|fired| fired.candidate as usize == number);
                of.map_or(0, |fired| fired.mark)
            };
            let looks =
                said(Weight::Look).map(|look| ((mark(look.pair.0), mark(look.pair.1)), look.agree));
            let counts = self.candidates[number].control || !in_blocks(looks);
            let unless_in_blocks = counts.then(|| said(Weight::UnlessInBlocks));
            let trial = said(Weight::Trial).chain(unless_in_blocks.into_iter().flatten());
            let with_handlers = trial.filter_map(|verdict| {
                let handler = handler_of(verdict.pair.0);
                let is_spent = splits.is_spent(handler, verdict.content);
                (!is_spent).then_some((verdict, handler))
            });
            self.counter.count(trials, with_handlers, |verdict| {
                if asked.is_empty() {
                    return;
                }
                // All others together are no value.
                let is_pair = verdict.weight == Weight::Trial;
                let other = is_pair.then_some(verdict.pair.1);
                for link in [verdict.pair.0].into_iter().chain(other).chain(verdict.third) {
                    let mark = mark(link);
                    if let Some(value) = asked.iter_mut().find(|(value, _)| *value == mark) {
                        value.1 += 1;
                    }
                }
            });
            trials.unproven = unproven(&asked);
        }
        self.stale.fill(false);
    }

    /// For each candidate that is heard and may be narrowed to handlers, what it took away from
    /// links, with their handlers; and where the rows of each begin.
    fn marks_of_scoped(&self) -> (Vec<u32>, Vec<(u64, u32)>) {
        let is_scoped = |one: &Candidate| one.act.is_scoped();
        let each = self.candidates.iter().zip(&self.heard).zip(&self.trials);
        let mut starts = vec![0];
        for ((candidate, heard), trials) in each {
            let rows = if *heard && is_scoped(candidate) { trials.fired as u32 } else { 0 };
            starts.push(starts[starts.len() - 1] + rows);
        }
        let mut next = starts.clone();
        let mut marks = vec![(0, 0); starts.last().map_or(0, |end| *end as usize)];
        for link in 0..self.table.links.len() as u32 {
            for fired in self.forms.fired_on(link) {
                let number = fired.candidate as usize;
                if starts[number] < starts[number + 1] {
                    marks[next[number] as usize] = (fired.mark, self.handler_of(link, number));
                    next[number] += 1;
                }
            }
        }
        (starts, marks)
    }
}
