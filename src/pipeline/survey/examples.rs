//! Examples of what merges at each step.

use std::convert::Infallible;

use super::look::{LEVELS_BEFORE_RULES, Surveyed};
use crate::canonical::Canonicalizer;
use crate::cluster::Placed;
use crate::error::Result;
use crate::pipeline::Job;
use crate::pipeline::scan::BatchChunk;
use crate::pipeline::walk::each_entry_again;
use crate::record::{Entry, Workspace, without_no_host};
use crate::report::{Example, LevelRow};

/// Records shown for each step.
const EXAMPLES: usize = 3;
/// Records that are looked at for each step before its examples are good enough.
const LOOKS: usize = 1000;

/// Adds the examples of `more` to those of `row`, where both were found among records of their own:
/// as if all of these had been looked at in order.
pub(super) fn add_examples(row: &mut LevelRow, more: LevelRow) {
    row.looks.extend(more.looks);
    row.looks.sort_unstable();
    row.looks.truncate(LOOKS);
    let last = if row.looks.len() == LOOKS { row.looks[LOOKS - 1] } else { u64::MAX };
    row.examples.extend(more.examples);
    row.examples.retain(|one| one.line <= last);
    keep_first(&mut row.examples);
}

/// Keeps the first examples of those that the step changed, then of the others: as many
/// of both, since examples of other records may come and show that the look at some of
/// these was one too many.
fn keep_first(examples: &mut Vec<Example>) {
    examples.sort_by_key(|one| (one.before == one.after, one.line));
    let mut rooms = [EXAMPLES; 2];
    examples.retain(|one| {
        let room = &mut rooms[usize::from(one.before == one.after)];
        let is_kept = *room > 0;
        *room -= usize::from(is_kept);
        is_kept
    });
}

/// All records were looked at: no more examples stay than are shown.
pub(super) fn settle_examples(levels: &mut [LevelRow]) {
    levels.iter_mut().for_each(|row| row.examples.truncate(EXAMPLES));
}

/// Keeps the first records that merge at a step. Those that the step changed show more than those
/// that an earlier record was changed to, so they go first; after `LOOKS` records nothing better is
/// looked for.
///
/// Failure: a mapped file was cut short.
pub(super) fn find_examples(
    job: &Job,
    chunk: &BatchChunk<Surveyed>,
    placed: &Placed,
    levels: &mut [LevelRow],
) -> Result<()> {
    let wanted = |levels: &[LevelRow], record: u32| {
        let level = usize::from(placed.merged(record));
        let row = levels.get(level)?;
        let changed = row.examples.iter().filter(|one| one.before != one.after).count();
        let enough = if level == 0 { row.examples.len() } else { changed };
        (enough < EXAMPLES && row.looks.len() < LOOKS).then_some(level)
    };
    if !(0..placed.len()).any(|record| wanted(levels, record).is_some()) {
        return Ok(());
    }
    let BatchChunk { parcel, first_line, made: Surveyed { ladders, .. }, .. } = chunk;
    let (mut record, mut line) = (0, *first_line);
    let mut workspace = Workspace::default();
    let all: std::result::Result<(), Infallible> =
        each_entry_again(parcel, job, &mut workspace, |entry| {
            line += 1;
            let is_in_share = ladders.line(record).map(u64::from);
            let Entry::Record(found) = entry else { return Ok(()) };
            if is_in_share != Some(line - 1 - first_line) {
                return Ok(());
            }
            if let Some(level) = wanted(levels, record) {
                let (before, after) =
                    forms_around(job.canonicalizer, found.spelling, found.url, level);
                let row = &mut levels[level];
                row.looks.push(line);
                row.examples.push(Example { line, before, after });
                keep_first(&mut row.examples);
            }
            record += 1;
            Ok(())
        })?;
    let Ok(()) = all;
    Ok(())
}

/// The forms of a line before and after `level`.
fn forms_around(
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A row that has looked at `lines`, of which those divisible by seven were changed.
    fn row(lines: impl Iterator<Item = u64>) -> LevelRow {
        let mut row = LevelRow::default();
        for line in lines {
            let changed = row.examples.iter().filter(|one| one.before != one.after).count();
            if changed == EXAMPLES || row.looks.len() == LOOKS {
                break;
            }
            let after = if line % 7 == 0 { b"changed".to_vec() } else { b"same".to_vec() };
            row.looks.push(line);
            row.examples.push(Example { line, before: b"same".to_vec(), after });
            keep_first(&mut row.examples);
        }
        row
    }

    fn shown(mut row: LevelRow) -> Vec<(u64, bool)> {
        settle_examples(std::slice::from_mut(&mut row));
        row.examples.iter().map(|one| (one.line, one.before == one.after)).collect()
    }

    #[test]
    fn shares_show_what_all_records_show() {
        // Changed ones at once, in between, and hardly any among the first thousand.
        let lists: [Vec<u64>; 4] = [
            (1..100).collect(),
            (1..9000).filter(|line| line % 7 > 0 || line % 490 == 0).collect(),
            (1..9000).filter(|line| line % 7 > 0 || [497, 994, 8001].contains(line)).collect(),
            vec![],
        ];
        for (list, count) in lists.iter().flat_map(|list| [2, 3, 8].map(|count| (list, count))) {
            let mut sum = LevelRow::default();
            for number in 0..count {
                let part = list.iter().copied().filter(|line| line / 3 % count == number);
                add_examples(&mut sum, row(part));
            }
            assert_eq!(shown(sum), shown(row(list.iter().copied())), "{count}");
        }
    }
}
