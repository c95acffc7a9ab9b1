//! Generates a list: one thread draws its lines in order, all processors format them.

use std::collections::VecDeque;

use super::threads::crew::{BusyThreads, crew};
use crate::error::{Error, Result};
use crate::generate::{List, SpelledLines};
use crate::report::Output;

/// Lines that one task formats. Reason: some hundred kilobytes, so that the cost of a task is
/// negligible.
const BLOCK_LINES: usize = 4096;

/// Blocks that wait beside those that are processed. Reason: workers need not wait while the first
/// block is written.
const SPARE_BLOCKS: usize = 4;

/// Writes all of `list` to `output`, and the truth about each line to `truth`, if given. Does not
/// publish them.
///
/// - Shape: the same bytes as [`List::next_line`] gives, whatever the number of processors.
/// - Cost: a third is drawn on one thread; memory for some blocks on each of the others.
pub fn generate_list(
    mut list: List,
    output: &mut Output,
    mut truth: Option<&mut Output>,
) -> Result<()> {
    let (crew, with_truth) = (crew(0, &BusyThreads::default()), truth.is_some());
    let mut ahead = VecDeque::new();
    loop {
        let block = list.next_block(BLOCK_LINES);
        let is_over = block.is_none();
        if let Some(block) = block {
            ahead.push_back(crew.spawn(move || block.spell(with_truth)));
        }
        let room = if is_over { 0 } else { crew.threads() + SPARE_BLOCKS };
        while ahead.len() > room {
            let promise = ahead.pop_front().and_then(crate::crew::Promise::wait);
            let spelled = promise.ok_or_else(|| Error::internal("a thread has panicked"))?;
            let SpelledLines { lines, truth: rows } = spelled;
            output.write(&lines)?;
            if let Some(truth) = &mut truth {
                truth.write(&rows)?;
            }
        }
        if is_over {
            return Ok(());
        }
    }
}
