//! The counts of a job, and the check that they add up.

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::parts;
use crate::reject::{Reject, RejectCounts};

/// Bytes of a rejected line that are kept for messages. Reason: two or three lines of a terminal
/// are enough to recognize it.
pub const SHOWN_BYTES: usize = 200;

/// What became of every line. `lines = unique + duplicate + empty + comments +
/// filtered + rejected`, always.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines read.
    pub lines: u64,
    /// Bytes of those lines, separators left out.
    pub bytes: u64,
    /// Lines with a URL: unique and duplicate.
    pub records: u64,
    /// Lines with nothing but blanks.
    pub empty: u64,
    /// Headers and comments of the format.
    pub comments: u64,
    /// Lines whose record the filter excluded.
    pub filtered: u64,
    /// Lines without a record, by kind.
    pub rejected: RejectCounts,
    /// The first rejected line of each kind: its number from 1, and how it starts.
    pub first_rejected: [Option<(u64, Box<[u8]>)>; Reject::ALL.len()],
    /// The rejected lines, in input order, if they are kept.
    pub kept_rejects: Vec<(Reject, Box<[u8]>)>,
    /// Records whose URL could not be parsed and stayed unchanged, by kind. Part of `records`.
    pub unparsed: RejectCounts,
    /// Records that were given a scheme. Part of `records`.
    pub scheme_added: u64,
    /// Records that are paths without a known host. Part of `records`.
    pub hostless: u64,
    /// First lines of their cluster.
    pub unique: u64,
    /// Lines of a cluster that was there before, in this run or in a seen file.
    pub duplicate: u64,
}

impl Tally {
    /// Adds all of `other`, whose lines come next; its kept lines stay there.
    pub fn merge(&mut self, other: &Tally) {
        // Destructured without `..`, so that no count is forgotten.
        let Tally {
            lines,
            bytes,
            records,
            empty,
            comments,
            filtered,
            rejected,
            first_rejected,
            kept_rejects: _,
            unparsed,
            scheme_added,
            hostless,
            unique,
            duplicate,
        } = other;
        for (mine, theirs) in self.first_rejected.iter_mut().zip(first_rejected) {
            if let (None, Some((line, text))) = (&mine, theirs) {
                *mine = Some((self.lines + line, text.clone()));
            }
        }
        self.lines += lines;
        self.bytes += bytes;
        self.records += records;
        self.empty += empty;
        self.comments += comments;
        self.filtered += filtered;
        self.rejected.merge(rejected);
        self.unparsed.merge(unparsed);
        self.scheme_added += scheme_added;
        self.hostless += hostless;
        self.unique += unique;
        self.duplicate += duplicate;
    }

    /// Counts a rejected line, the latest of `lines`.
    pub fn reject(&mut self, kind: Reject, line: &[u8], keeps: bool) {
        self.rejected.add(kind);
        let lines = self.lines;
        self.first_rejected[kind as usize].get_or_insert_with(|| {
            let text = parts::without_userinfo(line);
            (lines, Box::from(&text[..text.len().min(SHOWN_BYTES)]))
        });
        if keeps {
            self.kept_rejects.push((kind, Box::from(line)));
        }
    }

    /// Returns the first line of each kind that was rejected: its number, and how it starts,
    /// without user names and passwords.
    pub fn first_rejects(&self) -> impl Iterator<Item = (Reject, u64, &[u8])> {
        self.rejected.seen().filter_map(|(kind, _)| {
            let (line, text) = self.first_rejected[kind as usize].as_ref()?;
            Some((kind, *line, &**text))
        })
    }

    /// Returns the first line of each kind that was rejected as JSON: its number, and how it
    /// starts, without user names and passwords.
    pub fn first_rejects_json(&self) -> Value {
        let row = |(kind, line, text): (Reject, u64, &[u8])| {
            let starts = String::from_utf8_lossy(text);
            (kind.name().to_string(), json!({ "line": line, "starts": starts }))
        };
        self.first_rejects().map(row).collect()
    }

    /// Sets how many clusters there are, once all records are counted; the other records are
    /// duplicates.
    pub fn set_unique(&mut self, unique: u64) {
        self.unique = unique;
        self.duplicate = self.records.saturating_sub(unique);
    }

    /// Checks that no line was lost. Failure: an internal error; nothing may be published then.
    pub fn check(&self) -> Result<()> {
        let others = self.empty + self.comments + self.filtered + self.rejected.total();
        let told = self.unique + self.duplicate + others;
        if self.lines != told || self.records != self.unique + self.duplicate {
            return Err(Error::internal(format!(
                "{} lines were read, {told} are accounted for",
                self.lines
            )));
        }
        Ok(())
    }

    /// The share of the records that are duplicates, from 0 to 1.
    pub fn duplicate_ratio(&self) -> f64 {
        if self.records == 0 { 0.0 } else { self.duplicate as f64 / self.records as f64 }
    }
}
