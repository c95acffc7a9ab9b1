//! Trials: groups of URLs that became one, as samples of a rule that is right or wrong about each.

use super::stats::binomial_tail;

/// The rate that rules must have: 95 of 100 pages.
pub(in crate::mine) const BAR: f64 = 0.95;

/// The least rate of agreement of single URLs at which pages with versions may still be one.
pub(in crate::mine) const VERSIONS_BAR: f64 = 0.6;

/// How unlikely failures must be under a rate at the bar before a candidate goes: for a candidate,
/// and for one of its many handlers.
pub(in crate::mine) const CONTRADICTION: f64 = 0.005;
pub(in crate::mine) const CONTRADICTION_OF_HANDLER: f64 = 0.001;

/// How many samples there were, and how many agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::mine) struct Trials {
    /// Groups whose comparisons all agreed.
    pub(in crate::mine) good: u64,
    /// All groups.
    pub(in crate::mine) trials: u64,
    /// Sum over groups of the chance that a page agrees with itself.
    pub(in crate::mine) same: f64,
    /// Sum over groups of the upper bound of that chance.
    pub(in crate::mine) high: f64,
}

impl Trials {
    /// Adds one group.
    pub(in crate::mine) fn add(&mut self, agree: bool, same: f64, high: f64) {
        self.good += u64::from(agree);
        self.trials += 1;
        self.same += same;
        self.high += high;
    }

    /// Adds the groups of another tally.
    pub(in crate::mine) fn join(&mut self, other: &Trials) {
        self.good += other.good;
        self.trials += other.trials;
        self.same += other.same;
        self.high += other.high;
    }

    /// Groups with a disagreement.
    pub(in crate::mine) fn bad(&self) -> u64 {
        self.trials - self.good
    }

    /// The mean chance that a page agrees with itself; 1 without samples.
    pub(in crate::mine) fn mean_same(&self) -> f64 {
        if self.trials == 0 { 1.0 } else { self.same / self.trials as f64 }
    }

    /// The mean upper bound of the chance that a page agrees with itself; 1 without samples.
    pub(in crate::mine) fn mean_high(&self) -> f64 {
        if self.trials == 0 { 1.0 } else { self.high / self.trials as f64 }
    }
}

/// Does the tally contradict a rate at the bar?
pub(in crate::mine) fn contradicts(tally: &Trials) -> bool {
    is_below_bar(tally, CONTRADICTION)
}

/// Are so few agreements less likely than `chance` if the rate is at the bar?
pub(in crate::mine) fn is_below_bar(tally: &Trials, chance: f64) -> bool {
    is_below(tally, BAR, chance)
}

/// Are so few agreements less likely than `chance` if the rate is `bar`?
pub(in crate::mine) fn is_below(tally: &Trials, bar: f64, chance: f64) -> bool {
    tally.bad() >= 2 && binomial_tail(tally.good, tally.trials, bar * tally.mean_same()) < chance
}
