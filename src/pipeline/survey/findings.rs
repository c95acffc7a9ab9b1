//! The counts of records that were placed.

use std::collections::BTreeMap;

use super::examples::ExampleSearch;
use super::facets::{Sums, count};
use super::look::Surveyed;
use crate::canonical::RuleId;
use crate::cluster::Placed;
use crate::error::Result;
use crate::pipeline::Job;
use crate::pipeline::scan::BatchChunk;
use crate::pipeline::threads::pool::{Pool, Stage};
use crate::report::{Counts, LevelRow, SiteRuleRow};

/// What was found out.
#[derive(Debug)]
pub(super) struct Findings {
    /// The steps, by level.
    pub(super) levels: Vec<LevelRow>,
    /// The search for their examples.
    pub(super) examples: ExampleSearch,
    pub(super) counts: Counts,
    /// For each rule of a site: how many records it changed, and how many of them merge by rules of
    /// sites.
    site_rules: BTreeMap<usize, (u64, u64)>,
}

impl Findings {
    /// Begins without records.
    pub(super) fn none(job: &Job) -> Findings {
        let rules = &job.canonicalizer.profile().rules;
        let levels: Vec<_> = ["identical", "parse"]
            .into_iter()
            .chain(rules.iter().map(|rule| rule.name()))
            .map(|name| LevelRow { name: name.to_string(), ..LevelRow::default() })
            .collect();
        let examples = ExampleSearch::of_steps(levels.len());
        Findings { levels, examples, counts: Counts::default(), site_rules: BTreeMap::new() }
    }

    /// Adds what the levels changed in a batch.
    pub(super) fn add_changed(&mut self, batch: &[BatchChunk<Surveyed>]) {
        for chunk in batch {
            for (level, changed) in self.levels.iter_mut().zip(&chunk.made.changed) {
                level.changed += changed;
            }
        }
    }

    /// Adds a batch whose records were placed. Batches have to come in order.
    ///
    /// Failure: a mapped file was cut short.
    pub(super) fn add(
        &mut self,
        job: &Job,
        pool: &Pool,
        batch: &[BatchChunk<Surveyed>],
        sums: &mut Sums,
    ) -> Result<()> {
        let placed = pool.map(Stage::Clustering, batch.len(), |at| batch[at].made.ladders.placed());
        let facets: Vec<_> =
            batch.iter().zip(&placed).map(|(chunk, placed)| (&chunk.made.facets, placed)).collect();
        sums.add(pool, &facets)?;
        for (chunk, placed) in batch.iter().zip(&placed) {
            self.counts.add(&add_up(placed, &mut self.levels));
            add_site_rules(&chunk.made, placed, self.levels.len() - 1, &mut self.site_rules);
            self.examples.look_at(job, chunk, placed, &mut self.levels)?;
        }
        Ok(())
    }

    /// Returns the rules of sites that are in force and changed nothing, by number from 1, in
    /// order.
    pub(super) fn idle_site_rules(&self, job: &Job) -> Vec<usize> {
        let profile = job.canonicalizer.profile();
        if !profile.rules.contains(RuleId::Dust) {
            return Vec::new();
        }
        let mut idle = profile.options.dust.in_order();
        idle.retain(|rule| !self.site_rules.contains_key(rule));
        idle.sort_unstable();
        idle.into_iter().map(|rule| rule + 1).collect()
    }

    /// Returns the `top` rules of sites that merge the most.
    pub(super) fn top_site_rules(&self, job: &Job, top: usize) -> Vec<SiteRuleRow> {
        let dust = &job.canonicalizer.profile().options.dust;
        let mut rows: Vec<SiteRuleRow> = self
            .site_rules
            .iter()
            .map(|(rule, (changed, merged))| SiteRuleRow {
                rule: rule + 1,
                title: dust.title(*rule).unwrap_or_default().to_string(),
                changed: *changed,
                merged: *merged,
            })
            .collect();
        // A stable sort: equal ones stay in the order of the file.
        rows.sort_by_key(|row| std::cmp::Reverse((row.merged, row.changed)));
        rows.truncate(top);
        rows
    }
}

/// Adds what the rules of sites did to a chunk's records. `last` is the level of rule `dust`, the
/// last of all.
fn add_site_rules(
    surveyed: &Surveyed,
    placed: &Placed,
    last: usize,
    sums: &mut BTreeMap<usize, (u64, u64)>,
) {
    for (record, rules) in surveyed.fired.iter().filter(|(record, _)| !placed.is_earlier(*record)) {
        let is_merged = usize::from(placed.merged(*record)) == last;
        for rule in rules {
            let sum = sums.entry(*rule).or_default();
            sum.0 += 1;
            sum.1 += u64::from(is_merged);
        }
    }
}

/// Adds a chunk's records to the levels, and counts them.
fn add_up(placed: &Placed, levels: &mut [LevelRow]) -> Counts {
    let mut counts = Counts::default();
    for record in 0..placed.len() {
        if let Some(level) = levels.get_mut(usize::from(placed.merged(record))) {
            level.merged += 1;
        }
        count(&mut counts, placed, record);
    }
    counts
}
