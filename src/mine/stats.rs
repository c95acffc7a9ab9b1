//! Rates after some trials: Wilson bounds, and the posterior of a mixture of beta distributions.
//!
//! Everything is computed from integer counts in one order, so that the same counts give the same
//! bits on every machine with IEEE arithmetic; only `exp` and `ln` may differ in the last place,
//! and no threshold is compared more finely than to twelve digits ([`round_for_comparison`]).

/// The lower and upper bound of a rate of which `good` of `trials` were seen, at `z` standard
/// deviations.
///
/// - Shape: `0 ≤ lower ≤ upper ≤ 1`; without trials `(0, 1)`.
/// - Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
///   JASA 22 (1927).
pub(crate) fn wilson(good: f64, trials: f64, z: f64) -> (f64, f64) {
    if trials <= 0.0 {
        return (0.0, 1.0);
    }
    let rate = good / trials;
    let square = z * z;
    let middle = rate + square / (2.0 * trials);
    let spread = z * (rate * (1.0 - rate) / trials + square / (4.0 * trials * trials)).sqrt();
    let scale = 1.0 + square / trials;
    (((middle - spread) / scale).max(0.0), ((middle + spread) / scale).min(1.0))
}

/// The same at 95 %: 1.96 standard deviations.
pub(crate) fn wilson_95(good: f64, trials: f64) -> (f64, f64) {
    wilson(good, trials, 1.96)
}

/// The probability that a normal variable exceeds `z`, for `z ≥ 0`.
///
/// Source: Numerical Recipes, `erfcc`, fractional error below `1.2e-7`.
pub(crate) fn normal_tail(z: f64) -> f64 {
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    let coefficients = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let series = coefficients.iter().rev().fold(0.0, |sum, c| sum * t + c);
    let tail = 0.5 * t * (-x * x + series).exp();
    if z >= 0.0 { tail } else { 1.0 - tail }
}

/// How the signal of a site distorts a rate: two URLs of one page agree with probability `same`,
/// two of different pages with probability `other`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Channel {
    /// Agreement of one page with itself.
    pub(crate) same: f64,
    /// Agreement of different pages.
    pub(crate) other: f64,
}

impl Channel {
    /// The bounds of the true rate for an observed one, corrected for the channel.
    pub(crate) fn corrected(self, (lower, upper): (f64, f64)) -> (f64, f64) {
        let width = (self.same - self.other).max(1e-6);
        let back = |rate: f64| ((rate - self.other) / width).clamp(0.0, 1.0);
        (back(lower), back(upper))
    }

    /// The observed rate when the true one is `rate`.
    fn seen(self, rate: f64) -> f64 {
        (self.other + (self.same - self.other) * rate).clamp(1e-9, 1.0 - 1e-9)
    }
}

/// What is believed of a rule before its samples: one of three sorts of rule, with these odds.
///
/// - `holds`: the rate is near 1, `Beta(100, 1)`: the slot does not matter, but for accidents.
/// - `depends`: `Beta(8, 2)`, mean .8: true as long as a list is short, and the like.
/// - `fails`: `Beta(0.4, 1.6)`, mean .2: the slot decides which page it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Belief {
    /// Weight of rules that hold.
    pub(crate) holds: f64,
    /// Weight of rules that hold now and then.
    pub(crate) depends: f64,
    /// Weight of rules that do not hold.
    pub(crate) fails: f64,
}

/// Points at which the posterior is summed up: midpoints, denser towards 1, where it matters.
const POINTS: usize = 512;

/// Standard deviations at which the chance that a page agrees with itself is taken, with weights of
/// the normal curve.
const ERRORS: [(f64, f64); 5] =
    [(-2.0, 0.054), (-1.0, 0.242), (0.0, 0.399), (1.0, 0.242), (2.0, 0.054)];

/// The probability that the rate of a rule is below `bar`, given `good` of `trials` agreements seen
/// through `channel`, of which `error` is one standard deviation of `same`.
///
/// Costs some thousand logarithms. Shape: between 0 and 1.
pub(crate) fn doubt(
    (good, trials): (f64, f64),
    bar: f64,
    channel: Channel,
    error: f64,
    belief: Belief,
) -> f64 {
    let point = |at: usize| {
        // 1 - x² sends half of the points above .75 and a seventh above .98.
        let x = 1.0 - (at as f64 + 0.5) / POINTS as f64;
        (1.0 - x * x, 2.0 * x / POINTS as f64)
    };
    let errors = if error > 1e-6 { &ERRORS[..] } else { &ERRORS[2..3] };
    let mut rows: Vec<(f64, f64)> = Vec::with_capacity(POINTS * errors.len());
    for at in 0..POINTS {
        let (rate, width) = point(at);
        let miss = (1.0 - rate).max(1e-12);
        let holds = belief.holds * 100.0 * rate.powf(99.0);
        let depends = belief.depends * 72.0 * rate.powf(7.0) * miss;
        let fails = belief.fails * FAILS_SCALE * rate.max(1e-6).powf(-0.6) * miss.powf(0.6);
        let before = ((holds + depends + fails) * width).max(1e-300).ln();
        for (deviations, weight) in errors {
            let same = (channel.same + deviations * error).min(1.0);
            let seen = Channel { same, ..channel }.seen(rate);
            let log = good * seen.ln() + (trials - good) * (1.0 - seen).ln();
            rows.push((rate, log + before + weight.ln()));
        }
    }
    let best = rows.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
    let (mut below, mut total) = (0.0, 0.0);
    // All that is left out is less than what twelve digits show.
    for (rate, log) in rows.into_iter().filter(|(_, log)| *log > best - 60.0) {
        let mass = (log - best).exp();
        total += mass;
        below += if rate < bar { mass } else { 0.0 };
    }
    round_for_comparison(below / total)
}

/// Most doubt with which a rule is applied without asking.
pub(crate) const BELIEF_ERROR: f64 = 0.025;

/// `1 / B(0.4, 1.6)`: Γ(2) / (Γ(0.4) Γ(1.6)).
const FAILS_SCALE: f64 = 0.504_55;

/// Twelve digits of `x`: what two machines agree on.
pub(crate) fn round_for_comparison(x: f64) -> f64 {
    (x * 1e12).round() / 1e12
}

/// The probability of at most `good` successes in `trials` at `rate`.
///
/// Linear in `trials` up to a thousand, then by the normal curve.
pub(crate) fn binomial_tail(good: u64, trials: u64, rate: f64) -> f64 {
    let (n, rate) = (trials as f64, rate.clamp(1e-9, 1.0 - 1e-9));
    if trials > 1000 {
        let z = (good as f64 + 0.5 - n * rate) / (n * rate * (1.0 - rate)).sqrt();
        return if z < 0.0 { normal_tail(-z) } else { 1.0 - normal_tail(z) };
    }
    // From no success on, each term from the one before, in logarithms.
    let mut log = n * (1.0 - rate).ln();
    let mut sum = 0.0;
    for k in 0..=good {
        sum += log.exp();
        let k = k as f64;
        log += ((n - k) / (k + 1.0)).ln() + (rate / (1.0 - rate)).ln();
    }
    round_for_comparison(sum.min(1.0))
}

/// The largest number of standard deviations at which the corrected Wilson bound is still at `bar`;
/// negative if the rate seen is below it.
pub(crate) fn score(good: f64, trials: f64, bar: f64, channel: Channel) -> f64 {
    if trials <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let expected = channel.seen(bar);
    round_for_comparison((good / trials - expected) / (expected * (1.0 - expected) / trials).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAR: Channel = Channel { same: 1.0, other: 0.0 };
    const BELIEF: Belief = Belief { holds: 0.5, depends: 0.1, fails: 0.4 };

    #[test]
    fn wilson_is_as_in_tables() {
        for (good, trials, z, lower) in [
            (35.0, 35.0, 1.96, 0.9011),
            (73.0, 73.0, 1.96, 0.9500),
            (381.0, 381.0, 1.96, 0.9900),
            (109.0, 110.0, 1.96, 0.9503),
            (0.0, 10.0, 1.96, 0.0),
        ] {
            let (found, upper) = wilson(good, trials, z);
            assert!((found - lower).abs() < 5e-4, "{good}/{trials}: {found}");
            assert!(found <= good / trials + 1e-12 && upper + 1e-12 >= good / trials);
        }
        assert_eq!(wilson(0.0, 0.0, 1.96), (0.0, 1.0));
    }

    #[test]
    fn the_score_turns_the_bound_around() {
        let z = score(90.0, 91.0, 0.9, CLEAR);
        let (lower, _) = wilson(90.0, 91.0, z);
        assert!((lower - 0.9).abs() < 1e-6, "{lower}");
    }

    #[test]
    fn tails_of_the_normal_curve() {
        for (tail, z) in [(0.025, 1.959_964), (0.05, 1.644_854), (0.005, 2.575_829), (0.5, 0.0)] {
            assert!((normal_tail(z) - tail).abs() < 1e-6, "{z}");
        }
    }

    #[test]
    fn doubt_falls_with_evidence_and_rises_with_failures() {
        let flawless: Vec<f64> = [5.0, 20.0, 60.0, 200.0]
            .iter()
            .map(|n| doubt((*n, *n), 0.95, CLEAR, 0.0, BELIEF))
            .collect();
        assert!(flawless.windows(2).all(|pair| pair[0] > pair[1]), "{flawless:?}");
        assert!(flawless[0] > 0.025 && flawless[1] < 0.025, "{flawless:?}");
        assert!(doubt((18.0, 20.0), 0.95, CLEAR, 0.0, BELIEF) > 0.25);
        assert!(doubt((719.0, 748.0), 0.95, CLEAR, 0.0, BELIEF) > 0.025);
        assert!(doubt((0.0, 3.0), 0.95, CLEAR, 0.0, BELIEF) > 0.9);
    }

    #[test]
    fn tails_of_the_binomial() {
        for (good, trials, rate, tail) in
            [(0, 2, 0.95, 0.0025), (8, 10, 0.95, 0.0861), (10, 10, 0.95, 1.0), (5, 10, 0.5, 0.623)]
        {
            let found = binomial_tail(good, trials, rate);
            assert!((found - tail).abs() < 1e-4, "{good}/{trials}: {found}");
        }
        assert!(binomial_tail(1900, 2000, 0.95) > 0.4 && binomial_tail(1800, 2000, 0.95) < 1e-9);
    }

    #[test]
    fn noise_is_given_back() {
        let noisy = Channel { same: 0.6, other: 0.0 };
        let unsure = doubt((110.0, 200.0), 0.95, noisy, 0.03, BELIEF);
        assert!(unsure < doubt((110.0, 200.0), 0.95, noisy, 0.0, BELIEF));
        let (lower, upper) = noisy.corrected((0.57, 0.63));
        assert!((lower - 0.95).abs() < 1e-9 && upper == 1.0);
        assert!(
            doubt((120.0, 200.0), 0.95, noisy, 0.0, BELIEF)
                < doubt((90.0, 200.0), 0.95, noisy, 0.0, BELIEF)
        );
    }
}
