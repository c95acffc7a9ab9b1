//! What the first lines of a file show besides its format.

use std::fmt;

use memchr::memchr_iter;

use super::odd_fields::{OddField, odd_fields};
use super::seeming::Seeming;
use super::{SAMPLE_BYTES, sample};
use crate::record::entries::{Layout, ReadOptions};
use crate::record::formats;

/// What the first lines of a file show besides its format, for messages.
#[derive(Clone, Debug, Default)]
pub struct FirstLines {
    /// The votes by which the format was detected; `None` if it was given.
    pub votes: Option<FormatVotes>,
    /// Is it a list that begins with more NUL bytes than lines, although lines do not end with NUL?
    pub has_nuls: bool,
    /// What a list may be instead, unless the user has said that it is a list.
    pub seeming: Option<Seeming>,
    /// The columns of a table most of whose values cannot be parsed.
    pub odd_fields: Vec<OddField>,
}

impl FirstLines {
    /// The votes, and nothing else yet.
    pub(super) fn of_votes(votes: FormatVotes) -> FirstLines {
        FirstLines { votes: Some(votes), ..FirstLines::default() }
    }

    /// What `chunk` shows, the start of a file with this `layout`, which has no filter yet;
    /// `is_told` if the user has chosen the format.
    pub fn of(chunk: &[u8], layout: &Layout, is_told: bool, options: ReadOptions) -> FirstLines {
        let lines = sample(chunk, options);
        let is_list = layout.is_list();
        let start = &chunk[..chunk.len().min(SAMPLE_BYTES)];
        let count = |byte: u8| memchr_iter(byte, start).count();
        FirstLines {
            votes: layout.first_lines.votes.clone(),
            has_nuls: is_list && options.separator != 0 && count(0) > count(b'\n'),
            seeming: if is_list && !is_told { Seeming::of_list(&lines) } else { None },
            odd_fields: match formats::has_columns(layout.name()) {
                true => odd_fields(&lines, layout, options),
                false => Vec::new(),
            },
        }
    }
}

/// The votes over the first lines of a file: the share that each format understands of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatVotes {
    /// How many lines were voted on, without empty ones.
    pub lines: usize,
    /// The candidates, the best first, each with its share in percent.
    pub shares: Vec<(&'static str, usize)>,
}

impl FormatVotes {
    /// The share in percent that means half of the lines.
    pub const HALF_PERCENT: usize = 50;

    /// The share in percent of the format `name`, if it was a candidate.
    pub fn share_of(&self, name: &str) -> Option<usize> {
        self.shares.iter().find(|(other, _)| *other == name).map(|(_, percent)| *percent)
    }
}

impl fmt::Display for FormatVotes {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        for (at, (name, percent)) in self.shares.iter().enumerate() {
            write!(out, "{}{name} {percent} %", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
