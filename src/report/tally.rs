//! The counts of a job, and the law that they sum up.

use crate::error::{Error, Result};
use crate::reject::RejectCounts;

/// What became of every line. `lines = unique + duplicate + empty + rejected`, always.
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
    /// Lines without a record, by kind.
    pub rejected: RejectCounts,
    /// Records whose URL could not be parsed and stayed as it is, by kind. Part of `records`.
    pub unparsed: RejectCounts,
    /// Records that were given a scheme. Part of `records`.
    pub scheme_added: u64,
    /// First lines of their cluster.
    pub unique: u64,
    /// Lines of a cluster that was there before, in this run or in a seen file.
    pub duplicate: u64,
}

impl Tally {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Tally) {
        self.lines += other.lines;
        self.bytes += other.bytes;
        self.records += other.records;
        self.empty += other.empty;
        self.rejected.merge(&other.rejected);
        self.unparsed.merge(&other.unparsed);
        self.scheme_added += other.scheme_added;
        self.unique += other.unique;
        self.duplicate += other.duplicate;
    }

    /// Checks that no line was lost. Failure: an internal error; nothing may be published then.
    pub fn check(&self) -> Result<()> {
        let told = self.unique + self.duplicate + self.empty + self.rejected.total();
        if self.lines != told || self.records != self.unique + self.duplicate {
            return Err(Error::internal(format!(
                "{} lines were read, {told} are told of",
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
