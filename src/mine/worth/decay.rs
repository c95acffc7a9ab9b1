//! How pages change with time: agreement of a page with itself as a curve, fitted to recaptures.
//!
//! `same(gap) = start · exp(-rate · gap)`: `start` is what is lost at once (advertisements, A/B
//! tests), `rate` what is lost with time. Two numbers for all gaps, so that some hundred recaptures
//! say enough about gaps that hardly any of them has.

use super::count::{Count, PAIRS_MIN};

/// Steps of `start`: 1, 0.99, … 0.3.
const STARTS: usize = 71;

/// Steps of `rate`, each 1.3 times the one before; the first is none.
const RATES: usize = 44;

/// Slowest and fastest change: half of the pages in 19 years, and in an hour and a half.
const RATE_MIN: f64 = 1e-4;

/// This many additional pairs are assumed to agree, over the same gaps. Reason: one page that was
/// seen twice, and has changed, says little about the others; what it says must not excuse what
/// speaks against rules.
const TRUST: f64 = PAIRS_MIN as f64;

/// How much less likely than the best a curve may be to count, as a logarithm: one standard
/// deviation for one number.
///
/// The error of the curve and that of a rule's own samples are independent. Taking one at one
/// standard deviation and the other at two makes about two together.
const LESS_LIKELY: f64 = 0.5;

/// Starts that are looked at together.
const BLOCK: usize = 8;

/// More than what rounding does to a likelihood.
const ROUNDING: f64 = 1e-6;

/// A step of `start`.
fn start(step: usize) -> f64 {
    1.0 - step as f64 / 100.0
}

/// Curves that explain the recaptures of a site about as well as the best.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decay {
    /// Start and rate by day of the best; `None` if nothing is known.
    best: Option<(f64, f64)>,
    /// Those that are near it, but for such as are below another one everywhere.
    curves: Vec<(f64, f64)>,
}

/// A curve: the logarithm of how likely it makes the recaptures, its steps of `start` and `rate`.
type Fitted = (f64, usize, usize);

/// Recaptures at some gaps, by which curves are fitted.
struct Recaptured<'a> {
    points: Vec<&'a (f64, Count)>,
    rates: [f64; RATES],
    /// What is left of agreement by each rate after each gap, rate by rate.
    lasts: Vec<f64>,
    /// How many pairs are assumed to agree, for each that was seen.
    trust: f64,
}

impl<'a> Recaptured<'a> {
    /// There is at least one point, and each has pairs.
    fn new(points: Vec<&'a (f64, Count)>) -> Recaptured<'a> {
        let mut rates = [0.0; RATES];
        for step in 1..RATES {
            rates[step] = if step == 1 { RATE_MIN } else { rates[step - 1] * 1.3 };
        }
        let lasts: Vec<f64> = rates
            .iter()
            .flat_map(|rate| points.iter().map(move |(days, _)| (-rate * days).exp()))
            .collect();
        let trust = TRUST / points.iter().map(|(_, count)| count.pairs as f64).sum::<f64>();
        Recaptured { points, rates, lasts, trust }
    }

    /// How likely the recaptures are, as a logarithm, where agreements are as with one start,
    /// disagreements as with another.
    fn likely(&self, [for_agree, for_rest]: [usize; 2], rate: usize) -> f64 {
        let lasts = &self.lasts[rate * self.points.len()..][..self.points.len()];
        let each = self.points.iter().zip(lasts).map(|((_, count), last)| {
            let same = |step| (start(step) * last).clamp(1e-4, 1.0 - 1e-4);
            (count.agree as f64 + self.trust * count.pairs as f64) * same(for_agree).ln()
                + (count.pairs - count.agree) as f64 * (1.0 - same(for_rest)).ln()
        });
        each.sum()
    }

    /// Blocks of neighboring starts, each with how likely a curve in it may be at most, the most
    /// promising first.
    fn blocks(&self) -> Vec<Fitted> {
        let mut blocks: Vec<Fitted> = Vec::with_capacity(RATES * STARTS.div_ceil(BLOCK));
        for rate in 0..RATES {
            for first in (0..STARTS).step_by(BLOCK) {
                let last = (first + BLOCK).min(STARTS) - 1;
                blocks.push((self.likely([first, last], rate), first, rate));
            }
        }
        blocks.sort_by(|a, b| b.0.total_cmp(&a.0));
        blocks
    }

    /// How likely the best curve is, and those that are near it.
    fn near_best(&self) -> (f64, Vec<Fitted>) {
        let mut best = f64::NEG_INFINITY;
        let mut curves: Vec<Fitted> = Vec::new();
        for (at_most, first, rate) in self.blocks() {
            if at_most < best - LESS_LIKELY - ROUNDING {
                break;
            }
            for step in first..(first + BLOCK).min(STARTS) {
                let likely = self.likely([step, step], rate);
                best = best.max(likely);
                curves.push((likely, step, rate));
            }
        }
        curves.retain(|(likely, ..)| *likely >= best - LESS_LIKELY);
        (best, curves)
    }
}

impl Decay {
    /// Fits curves to counts of recaptures at gaps in days.
    ///
    /// Curves are looked at in blocks of neighboring starts, the most promising block first, until
    /// no block is left that could hold one near the best. All of them would give the same.
    pub(crate) fn fit(points: &[(f64, Count)]) -> Decay {
        let points: Vec<&(f64, Count)> = points.iter().filter(|(_, one)| one.pairs > 0).collect();
        if points.is_empty() {
            return Decay::default();
        }
        let recaptured = Recaptured::new(points);
        let (best, mut curves) = recaptured.near_best();
        let curve = |(_, step, rate): &Fitted| (start(*step), recaptured.rates[*rate]);
        // Of equally likely curves the best is that which loses least at once, then with time.
        curves.sort_by_key(|(_, step, rate)| (*step, *rate));
        let top = curves.iter().find(|(likely, ..)| *likely >= best).map(curve);
        // What is below another curve everywhere is never the upper bound.
        curves.sort_by_key(|(_, step, rate)| (*rate, *step));
        let mut highest = STARTS;
        curves.retain(|(_, step, _)| {
            let above = *step < highest;
            highest = highest.min(*step);
            above
        });
        Decay { best: top, curves: curves.iter().map(curve).collect() }
    }

    /// The agreement of a page with itself after this many days by the best curve; 1 if nothing is
    /// known.
    pub(crate) fn likely(&self, days: f64) -> f64 {
        self.best.map_or(1.0, |(start, rate)| start * (-rate * days).exp())
    }

    /// The agreement of a page with itself after this many days, as an upper bound. 1 if nothing is
    /// known, so that rules are lost and not invented.
    pub(crate) fn same(&self, days: f64) -> f64 {
        let at = |(start, rate): &(f64, f64)| start * (-rate * days).exp();
        self.curves.iter().map(at).reduce(f64::max).unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_follow_recaptures() {
        let count = |agree, pairs| Count { agree, pairs };
        let still = Decay::fit(&[(1.0, count(20, 20)), (30.0, count(200, 200))]);
        assert_eq!(still.same(10.0), 1.0);
        let drifting =
            Decay::fit(&[(1.0, count(4, 4)), (10.0, count(90, 100)), (40.0, count(66, 100))]);
        let (near, far) = (drifting.same(1.0), drifting.same(40.0));
        assert!(near > 0.97 && (0.64..0.75).contains(&far), "{near} {far}");
        let noisy = Decay::fit(&[(1.0, count(30, 60)), (30.0, count(100, 200))]);
        assert!((0.5..0.59).contains(&noisy.same(0.0)), "{}", noisy.same(0.0));
        assert_eq!(Decay::fit(&[]).same(5.0), 1.0);
        assert!(Decay::fit(&[(0.0, count(2, 3))]).same(0.0) > 0.95);
        // Few pairs say little, over whatever time.
        for (days, pairs, least) in [(0.0, 1, 0.96), (1.0, 1, 0.96), (9.0, 4, 0.8)] {
            let few = Decay::fit(&[(days, count(0, pairs))]);
            assert!(few.same(days) > least, "{days} {pairs}: {}", few.same(days));
        }
    }
}
