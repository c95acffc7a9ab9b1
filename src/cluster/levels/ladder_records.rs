//! The entries of the files in which records wait whose forms do not fit in memory: steps.
//!
//! ```text
//! file    = page* other* ladder*      of one partition
//! page    = Page PageEnd
//! other   = Other
//! ladder  = Rung* Last
//!
//!           first word      second word   the others, from the lowest byte on
//! Page    = form, high      form, low     PAGE, lines
//! PageEnd = representative  first form    PAGE_END, levels
//! Other   = form, high      form, low     OTHER, levels
//! Rung    = form, high      form, low     RUNG + level
//! Last    = form, high      form, low     level or NO_LEVEL, line
//! ```

use super::Page;
use super::ladders::{LEVELS_MAX, Ladder};
use crate::cluster::census::Cluster;
use crate::cluster::on_disk::records::{Halves, Record};
use crate::fingerprint::Fingerprint;

/// What is spilled, in this order: what was known of pages and other forms, then the ladders of
/// records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// A page with this many lines, whose form at the last level is `last`. Its end follows.
    Page { last: Fingerprint, lines: u64 },
    /// The rest of what is known of the page.
    PageEnd { representative: u64, first: u64, levels: u32 },
    /// The levels at which a form was seen that is not the last one of its page.
    Other { form: Fingerprint, levels: u32 },
    /// A form of a record, and the level from which on it has it. More rungs or the last one
    /// follow.
    Rung { form: Fingerprint, from: u8 },
    /// The form of a record at the last level, the number of its line, and the level from which on
    /// it has this form, unless a rung has that.
    Last { form: Fingerprint, from: Option<u8>, line: u64 },
    /// Invalid: was not written by this code.
    Unknown,
}

impl Step {
    /// What is known of `page`, whose form at the last level is `last`.
    pub(super) fn of_page(last: Fingerprint, page: &Page) -> [Step; 2] {
        let Page { cluster: Cluster { lines, representative }, first, levels } = *page;
        [Step::Page { last, lines }, Step::PageEnd { representative, first, levels }]
    }

    /// The forms of a record.
    pub(super) fn of_ladder(Ladder { line, last, rungs }: Ladder) -> impl Iterator<Item = Step> {
        // Usually the last rung is the form at the last level.
        let (rungs, from) = match rungs {
            [] => (rungs, Some(0)),
            [before @ .., (from, form)] if *form == last => (before, Some(*from)),
            _ => (rungs, None),
        };
        let rungs = rungs.iter().map(|(from, form)| Step::Rung { form: *form, from: *from });
        rungs.chain([Step::Last { form: last, from, line }])
    }
}

impl Record for Step {
    type Words = [u64; 3];

    #[inline]
    fn to_words(self) -> [u64; 3] {
        let words = |form: Fingerprint, kind: u8, value: u64| {
            let Halves { high, low } = Halves::of(form);
            [high, low, value << 8 | u64::from(kind)]
        };
        match self {
            Step::Page { last, lines } => words(last, PAGE, lines),
            Step::PageEnd { representative, first, levels } => {
                [representative, first, u64::from(levels) << 8 | u64::from(PAGE_END)]
            }
            Step::Other { form, levels } => words(form, OTHER, levels.into()),
            Step::Rung { form, from } => words(form, RUNG + from, 0),
            Step::Last { form, from, line } => words(form, from.unwrap_or(NO_LEVEL), line),
            Step::Unknown => words(Fingerprint(0), UNKNOWN, 0),
        }
    }

    #[inline]
    fn from_words([high, low, word]: [u64; 3]) -> Self {
        let form = Halves { high, low }.fingerprint();
        let value = word >> 8;
        match word as u8 {
            from @ ..NO_LEVEL => Step::Last { form, from: Some(from), line: value },
            NO_LEVEL => Step::Last { form, from: None, line: value },
            kind @ RUNG..PAGE => Step::Rung { form, from: kind - RUNG },
            PAGE => Step::Page { last: form, lines: value },
            PAGE_END => Step::PageEnd { representative: high, first: low, levels: value as u32 },
            OTHER => Step::Other { form, levels: value as u32 },
            _ => Step::Unknown,
        }
    }
}

/// Kinds of steps; smaller numbers are levels.
const NO_LEVEL: u8 = LEVELS_MAX;
const RUNG: u8 = 2 * LEVELS_MAX;
const PAGE: u8 = RUNG + LEVELS_MAX;
const PAGE_END: u8 = PAGE + 1;
const OTHER: u8 = PAGE + 2;
const UNKNOWN: u8 = u8::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_as_they_were_written() {
        let form = Fingerprint(u128::MAX / 7);
        let line = (1 << 56) - 1;
        let all = [
            Step::Page { last: form, lines: line },
            Step::PageEnd { representative: u64::MAX, first: 3, levels: u32::MAX },
            Step::Other { form, levels: u32::MAX },
            Step::Rung { form, from: 0 },
            Step::Rung { form, from: 31 },
            Step::Last { form, from: Some(0), line },
            Step::Last { form, from: Some(31), line },
            Step::Last { form, from: None, line },
            Step::Unknown,
        ];
        for step in all {
            let mut bytes = Vec::new();
            step.push_to(&mut bytes);
            let read = Step::from_bytes(&bytes);
            assert_eq!(read, step);
        }
        for kind in (NO_LEVEL + 1..RUNG).chain(OTHER + 1..=u8::MAX) {
            assert_eq!(Step::from_words([1, 2, kind.into()]), Step::Unknown);
        }
    }
}
