//! What one reading of the input finds out about the pages of its share.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::examples::{add_examples, find_examples};
use super::levels_of;
use super::look::Surveyed;
use crate::cluster::{Cluster, Levels, Placed};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::pipeline::Job;
use crate::pipeline::facets::{Sums, count};
use crate::pipeline::pool::{Pool, Stage};
use crate::pipeline::scan::BatchChunk;
use crate::report::{Counts, LevelRow, SiteRuleRow};

/// What was found out.
#[derive(Debug)]
pub(super) struct Findings {
    /// The steps, by level.
    pub(super) levels: Vec<LevelRow>,
    pub(super) counts: Counts,
    /// By rule: how many records it changed, and how many of them merge by rules of sites.
    site_rules: BTreeMap<usize, (u64, u64)>,
    /// How many clusters there are.
    pub(super) unique: u64,
    /// The largest of them.
    pub(super) largest: Vec<(Fingerprint, Cluster)>,
    /// Bytes of memory that the pages took at the end; of shares, those of the largest.
    pub(super) pages_bytes: u64,
}

impl Findings {
    /// Nothing yet.
    pub(super) fn none(job: &Job) -> Findings {
        let rules = &job.canonicalizer.profile().rules;
        let levels = ["identical", "parse"]
            .into_iter()
            .chain(rules.iter().map(|rule| rule.name()))
            .map(|name| LevelRow { name: name.to_string(), ..LevelRow::default() })
            .collect();
        Findings {
            levels,
            counts: Counts::default(),
            site_rules: BTreeMap::new(),
            unique: 0,
            largest: Vec::new(),
            pages_bytes: 0,
        }
    }

    /// Adds what was found out about other pages; the `top` largest clusters stay.
    pub(super) fn add(&mut self, more: Findings, top: usize) {
        for (level, more) in self.levels.iter_mut().zip(more.levels) {
            level.merged += more.merged;
            level.changed += more.changed;
            add_examples(level, more);
        }
        self.counts.add(&more.counts);
        for (rule, (changed, merged)) in more.site_rules {
            let sum = self.site_rules.entry(rule).or_default();
            *sum = (sum.0 + changed, sum.1 + merged);
        }
        self.unique += more.unique;
        self.pages_bytes = self.pages_bytes.max(more.pages_bytes);
        self.largest.extend(more.largest);
        self.largest.sort_unstable_by_key(|(_, one)| (Reverse(one.lines), one.representative));
        self.largest.truncate(top);
    }

    /// The rules of sites that merge the most, `top` of them.
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
        // Stable: of equal ones, the first in the file first.
        rows.sort_by_key(|row| std::cmp::Reverse((row.merged, row.changed)));
        rows.truncate(top);
        rows
    }
}

/// A reading of the input under way: what it knows of the pages of its share.
pub(super) struct Surveying<'a> {
    job: &'a Job<'a>,
    pool: &'a Pool,
    pages: Levels,
    found: Findings,
}

impl<'a> Surveying<'a> {
    /// No page yet.
    pub(super) fn new(job: &'a Job, pool: &'a Pool) -> Surveying<'a> {
        Surveying { job, pool, pages: Levels::new(levels_of(job)), found: Findings::none(job) }
    }

    /// Bytes of memory that the pages may take after another batch.
    pub(super) fn memory_bytes_ahead(&self) -> u64 {
        self.pages.memory_bytes_ahead()
    }

    /// Takes a batch in. Batches have to come in order.
    ///
    /// Failure: a mapped file was cut short.
    pub(super) fn take(&mut self, batch: &[BatchChunk<Surveyed>], sums: &mut Sums) -> Result<()> {
        let Surveying { job, pool, pages, found } = self;
        pool.each_partition(
            || (),
            |(), partition| {
                let chunks = batch.iter().map(|chunk| (&chunk.made.ladders, chunk.first_line));
                pages.place(partition, chunks);
            },
        );
        let placed = pool.map(
            Stage::Clustering,
            batch.len(),
            || (),
            |(), at| batch[at].made.ladders.placed(),
        );
        let facets: Vec<_> =
            batch.iter().zip(&placed).map(|(chunk, placed)| (&chunk.made.facets, placed)).collect();
        sums.add(pool, &facets)?;
        for (chunk, placed) in batch.iter().zip(&placed) {
            found.counts.add(&add_up(&chunk.made, placed, &mut found.levels));
            add_site_rules(&chunk.made, placed, found.levels.len() - 1, &mut found.site_rules);
            find_examples(job, chunk, placed, &mut found.levels)?;
        }
        Ok(())
    }

    /// All batches were taken in; the `top` largest clusters are told.
    pub(super) fn finish(self, top: usize) -> Findings {
        let (unique, largest) = (self.pages.len(), self.pages.largest(top));
        let pages_bytes = self.pages.memory_bytes();
        Findings { unique, largest, pages_bytes, ..self.found }
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
    for (record, rules) in &surveyed.fired {
        let is_merged = usize::from(placed.merged(*record)) == last;
        for rule in rules {
            let sum = sums.entry(*rule).or_default();
            sum.0 += 1;
            sum.1 += u64::from(is_merged);
        }
    }
}

/// Adds a chunk's records to the levels, and counts them.
fn add_up(surveyed: &Surveyed, placed: &Placed, levels: &mut [LevelRow]) -> Counts {
    let mut counts = Counts::default();
    for record in 0..placed.len() {
        if let Some(level) = levels.get_mut(usize::from(placed.merged(record))) {
            level.merged += 1;
        }
        count(&mut counts, placed, record);
    }
    for (level, changed) in levels.iter_mut().zip(&surveyed.changed) {
        level.changed += changed;
    }
    counts
}
