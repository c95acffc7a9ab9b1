//! How pages change with time: agreement of a page with itself as a curve, fitted to recaptures.
//!
//! `same(gap) = start · exp(-rate · gap)`: `start` is what is lost at once (advertisements, A/B
//! tests), `rate` what is lost with time. Two numbers for all gaps, so that some hundred recaptures
//! say enough about gaps that hardly any of them has.

use super::signal::Count;

/// Steps of `start`: 1, 0.99, … 0.3.
const STARTS: usize = 71;

/// Steps of `rate`, each 1.3 times the one before; the first is none.
const RATES: usize = 44;

/// Slowest and fastest change: half of the pages in 19 years, and in an hour and a half.
const RATE_MIN: f64 = 1e-4;

/// How much less likely than the best a curve may be to count, as a logarithm: one standard
/// deviation for one number.
///
/// The error of the curve and that of a rule's own trials are independent. Taking one at one
/// standard deviation and the other at two makes about two together.
const LESS_LIKELY: f64 = 0.5;

/// Curves that explain the recaptures of a site about as well as the best.
#[derive(Clone, Debug, Default)]
pub(super) struct Decay {
    /// Start and rate by day of the best; `None` if nothing is known.
    best: Option<(f64, f64)>,
    /// Those that are near it.
    curves: Vec<(f64, f64)>,
}

impl Decay {
    /// Fits curves to counts of recaptures at gaps in days.
    pub(super) fn fit(points: &[(f64, Count)]) -> Decay {
        if points.iter().map(|(_, count)| count.pairs).sum::<u64>() == 0 {
            return Decay::default();
        }
        let mut curves = Vec::with_capacity(STARTS * RATES);
        let mut best = f64::NEG_INFINITY;
        for start in (0..STARTS).map(|step| 1.0 - step as f64 / 100.0) {
            let mut rate = 0.0;
            for _ in 0..RATES {
                let likely: f64 = points
                    .iter()
                    .map(|(days, count)| {
                        let same = (start * (-rate * days).exp()).clamp(1e-4, 1.0 - 1e-4);
                        count.agree as f64 * same.ln()
                            + (count.pairs - count.agree) as f64 * (1.0 - same).ln()
                    })
                    .sum();
                best = best.max(likely);
                curves.push((likely, (start, rate)));
                rate = if rate == 0.0 { RATE_MIN } else { rate * 1.3 };
            }
        }
        let top = curves.iter().find(|(likely, _)| *likely >= best).map(|(_, curve)| *curve);
        let near = curves.into_iter().filter(|(likely, _)| *likely >= best - LESS_LIKELY);
        Decay { best: top, curves: near.map(|(_, curve)| curve).collect() }
    }

    /// The agreement of a page with itself after so many days by the best curve; 1 if nothing is
    /// known.
    pub(super) fn likely(&self, days: f64) -> f64 {
        self.best.map_or(1.0, |(start, rate)| start * (-rate * days).exp())
    }

    /// The agreement of a page with itself after so many days: at most so much. 1 if nothing is
    /// known, so that rules are lost and not invented.
    pub(super) fn same(&self, days: f64) -> f64 {
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
        assert!((0.5..0.58).contains(&noisy.same(0.0)), "{}", noisy.same(0.0));
        assert_eq!(Decay::fit(&[]).same(5.0), 1.0);
        assert!(Decay::fit(&[(0.0, count(2, 3))]).same(0.0) > 0.85);
    }
}
