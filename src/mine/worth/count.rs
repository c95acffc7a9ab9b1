//! Counts of agreements.

use crate::mine::stats::wilson_95;

/// Least pairs of captures of one URL in a gap that say something about it.
pub(crate) const PAIRS_MIN: u64 = 12;

/// Agreements among comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) agree: u64,
    pub(crate) pairs: u64,
}

impl Count {
    pub(crate) fn add(&mut self, agree: bool) {
        self.agree += u64::from(agree);
        self.pairs += 1;
    }

    /// The share that agrees; 1 without pairs.
    pub(crate) fn share(self) -> f64 {
        if self.pairs == 0 { 1.0 } else { self.agree as f64 / self.pairs as f64 }
    }

    /// Wilson bounds at 95 %.
    pub(crate) fn bounds(self) -> (f64, f64) {
        wilson_95(self.agree as f64, self.pairs as f64)
    }
}
