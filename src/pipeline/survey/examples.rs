//! Examples of what merges at each step.

use std::convert::Infallible;

use super::look::Surveyed;
use super::unchanged_examples::{LOOKS, UnchangedExample, forms_around};
use crate::canonical::Scratch;
use crate::cluster::Placed;
use crate::error::Result;
use crate::pipeline::Job;
use crate::pipeline::scan::BatchChunk;
use crate::pipeline::scan::walk::each_entry_again;
use crate::record::{Entry, Workspace};
use crate::report::{Example, LevelRow};

/// Records shown for each step.
const EXAMPLES: usize = 3;

/// The search for the examples of all steps, which are kept with the steps.
#[derive(Debug)]
pub(super) struct ExampleSearch {
    /// How many records were looked at for the examples of each step.
    looks: Vec<u32>,
    /// The records that their step left unchanged: those among the examples, and perhaps more.
    unchanged: Vec<UnchangedExample>,
}

/// Keeps the first examples that the step changed, and fills up with the first of the others.
fn keep_first(examples: &mut Vec<Example>) {
    examples.sort_by_key(|one| (one.before == one.after, one.line));
    examples.truncate(EXAMPLES);
}

impl ExampleSearch {
    /// Begins the search for this many steps.
    pub(super) fn of_steps(steps: usize) -> ExampleSearch {
        ExampleSearch { looks: vec![0; steps], unchanged: Vec::new() }
    }

    /// Keeps the first records of a chunk that merge at a step of `levels`. Those that the step
    /// changed show more than those that an earlier record was changed to, so they go first; after
    /// `LOOKS` records the search ends.
    ///
    /// Failure: a mapped file was cut short.
    pub(super) fn look_at(
        &mut self,
        job: &Job,
        chunk: &BatchChunk<Surveyed>,
        placed: &Placed,
        levels: &mut [LevelRow],
    ) -> Result<()> {
        let ExampleSearch { looks, unchanged } = self;
        let wanted = |levels: &[LevelRow], looks: &[u32], record: u32| {
            let level = usize::from(placed.merged(record));
            let row = levels.get(level)?;
            let changed = row.examples.iter().filter(|one| one.before != one.after).count();
            let enough = if level == 0 { row.examples.len() } else { changed };
            (enough < EXAMPLES && looks[level] < LOOKS).then_some(level)
        };
        if !(0..placed.len()).any(|record| wanted(levels, looks, record).is_some()) {
            return Ok(());
        }
        let BatchChunk { parcel, first_line, .. } = chunk;
        let (mut record, mut line) = (0, *first_line);
        let (mut workspace, mut scratch) = (Workspace::default(), Scratch::default());
        let all: std::result::Result<(), Infallible> =
            each_entry_again(parcel, job, &mut workspace, |entry| {
                line += 1;
                let Entry::Record(found) = entry else { return Ok(()) };
                if let Some(level) = wanted(levels, looks, record) {
                    let (before, after) =
                        forms_around(job.canonicalizer, found.spelling, found.url, level);
                    let row = &mut levels[level];
                    looks[level] += 1;
                    let example = Example { line, before, after };
                    if level > 0 {
                        let canonical = job.canonicalizer.canonical(found.url, &mut scratch);
                        let canonical = job.key.fingerprint(canonical.form);
                        unchanged.extend(UnchangedExample::of(level, &example, canonical));
                    }
                    row.examples.push(example);
                    keep_first(&mut row.examples);
                }
                record += 1;
                Ok(())
            })?;
        let Ok(()) = all;
        Ok(())
    }

    /// Takes the examples that are shown in `levels` and that their step left unchanged.
    pub(super) fn take_unchanged(&mut self, levels: &[LevelRow]) -> Vec<UnchangedExample> {
        let mut unchanged = std::mem::take(&mut self.unchanged);
        unchanged.retain(|one| one.is_among(levels));
        unchanged
    }
}
