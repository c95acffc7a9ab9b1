//! Trials: groups of URLs that became one, as samples of a rule that is right or wrong about each.

use super::stats::binomial_tail;

/// The rate that rules must have: 95 of 100 pages.
pub(crate) const BAR: f64 = 0.95;

/// The least rate of agreement of single URLs at which pages with versions may still be one.
pub(crate) const VERSIONS_BAR: f64 = 0.6;

/// How unlikely failures must be under a rate at the bar before a candidate goes: for a candidate,
/// and for one of its many handlers.
pub(crate) const CONTRADICTION: f64 = 0.005;
pub(crate) const CONTRADICTION_OF_HANDLER: f64 = 0.001;

/// How many samples there were, and how many agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Trials {
    /// Groups whose comparisons all agreed.
    pub(crate) good: u64,
    /// All groups.
    pub(crate) samples: u64,
    /// Sum over groups of the chance that a page agrees with itself.
    pub(crate) same: f64,
    /// Sum over groups of the upper bound of that chance.
    pub(crate) high: f64,
}

impl Trials {
    /// Adds one group.
    pub(crate) fn add(&mut self, agree: bool, same: f64, high: f64) {
        self.good += u64::from(agree);
        self.samples += 1;
        self.same += same;
        self.high += high;
    }

    /// Adds the groups of others.
    pub(crate) fn join(&mut self, other: &Trials) {
        self.good += other.good;
        self.samples += other.samples;
        self.same += other.same;
        self.high += other.high;
    }

    /// Groups with a disagreement.
    pub(crate) fn bad(&self) -> u64 {
        self.samples - self.good
    }

    /// The mean chance that a page agrees with itself; 1 without samples.
    pub(crate) fn mean_same(&self) -> f64 {
        if self.samples == 0 { 1.0 } else { self.same / self.samples as f64 }
    }

    /// The mean upper bound of the chance that a page agrees with itself; 1 without samples.
    pub(crate) fn mean_high(&self) -> f64 {
        if self.samples == 0 { 1.0 } else { self.high / self.samples as f64 }
    }
}

/// Do they contradict a rate at the bar?
pub(crate) fn contradicts(trials: &Trials) -> bool {
    is_below_bar(trials, CONTRADICTION)
}

/// Are so few agreements less likely than `chance` if the rate is at the bar?
pub(crate) fn is_below_bar(trials: &Trials, chance: f64) -> bool {
    is_below(trials, BAR, chance)
}

/// Are so few agreements less likely than `chance` if the rate is `bar`?
pub(crate) fn is_below(trials: &Trials, bar: f64, chance: f64) -> bool {
    trials.bad() >= 2
        && binomial_tail(trials.good, trials.samples, bar * trials.mean_same()) < chance
}
