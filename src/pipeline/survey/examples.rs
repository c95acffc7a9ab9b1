//! Examples of what merges at each step.

use std::convert::Infallible;

use super::findings::Findings;
use super::look::{LEVELS_BEFORE_RULES, Surveyed};
use super::unchanged_examples::UnchangedExample;
use crate::canonical::{Canonicalizer, Scratch};
use crate::cluster::Placed;
use crate::error::Result;
use crate::pipeline::Job;
use crate::pipeline::scan::BatchChunk;
use crate::pipeline::scan::walk::each_entry_again;
use crate::record::{Entry, Workspace, without_no_host};
use crate::report::{Example, LevelRow};

/// Records shown for each step.
const EXAMPLES: usize = 3;
/// Records that are looked at for each step before its examples are good enough.
pub(super) const LOOKS: u32 = 1000;

/// Keeps the first examples that the step changed, and fills up with the first of the others.
fn keep_first(examples: &mut Vec<Example>) {
    examples.sort_by_key(|one| (one.before == one.after, one.line));
    examples.truncate(EXAMPLES);
}

/// Keeps the first records that merge at a step. Those that the step changed show more than those
/// that an earlier record was changed to, so they go first; after `LOOKS` records the search ends.
///
/// Failure: a mapped file was cut short.
pub(super) fn find_examples(
    job: &Job,
    chunk: &BatchChunk<Surveyed>,
    placed: &Placed,
    Findings { levels, looks, unchanged, .. }: &mut Findings,
) -> Result<()> {
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

/// The forms of a line before and after `level`.
pub(super) fn forms_around(
    canonicalizer: &Canonicalizer,
    line: &[u8],
    url: &[u8],
    level: usize,
) -> (Vec<u8>, Vec<u8>) {
    match (canonicalizer.trace(url), level) {
        (_, 0) => (line.to_vec(), line.to_vec()),
        (Ok(trace), 1) => (line.to_vec(), without_no_host(&trace.parsed).to_vec()),
        (Ok(trace), level) => {
            let rule = level + 1 - LEVELS_BEFORE_RULES;
            let shown = |at: usize| without_no_host(trace.at(at)).to_vec();
            (shown(rule - 1), shown(rule))
        }
        (Err(_), _) => (line.to_vec(), url.to_vec()),
    }
}
