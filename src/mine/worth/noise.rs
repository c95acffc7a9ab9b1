//! What is shown once and never again, and what that does to classes of URLs that are compared.

use super::count::{Count, PAIRS_MIN};
use super::signal::{Calibration, ContentComparison, NEAR, gap, recaptures};
use crate::mine::seen::table::Table;
use crate::mine::stats::wilson;

/// Captures of a content after which its page is well known: a version that half of the visitors
/// see, or a third of them, has been seen too, then.
const WELL_KNOWN: u32 = 8;

impl Calibration {
    /// How many captures show what is never seen again: of two captures of one URL within a week,
    /// one of which shows a content that is well known, the other. Pages with versions do not
    /// count, since their contents come back.
    pub(crate) fn measure_noise(&self, table: &Table) -> (f64, f64) {
        let mut known = Count::default();
        for (a, b) in recaptures(table).filter(|(a, b)| gap(a.time, b.time) <= NEAR) {
            for (one, other) in [(a, b), (b, a)] {
                let content = one.content as usize;
                if self.captures_of_content[content] >= WELL_KNOWN && !self.hot[content] {
                    known.add(self.captures_of_content[other.content as usize] > 1);
                }
            }
        }
        if known.pairs < PAIRS_MIN {
            return (0.0, 0.0);
        }
        let (_, upper) = wilson(known.agree as f64, known.pairs as f64, 1.0);
        (1.0 - known.share(), 1.0 - upper)
    }

    /// The chance that two classes of URLs of one page meet, and its upper bound, where their
    /// captures agree as `one` says: after this many `looks` beyond the first two, each of which
    /// halves the chance that they have missed each other's versions; the class with the fewest has
    /// `fewest` captures, which all may be noise.
    pub(crate) fn of_classes(
        &self,
        one: &ContentComparison,
        looks: i32,
        fewest: i32,
    ) -> (f64, f64) {
        let chance = |same: f64, noise: f64| {
            let versions = (same / (1.0 - noise).powi(2)).min(1.0);
            (1.0 - noise.powi(fewest)) * (1.0 - (1.0 - versions) * 0.5f64.powi(looks))
        };
        (chance(one.same, self.noise.0), chance(one.high, self.noise.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::seen::maps::mix;
    use crate::mine::seen::table::tests::table_over_time;

    fn noise_of(rows: &[(String, i64, String)]) -> (f64, f64) {
        Calibration::measure(&table_over_time(rows)).noise
    }

    #[test]
    fn what_never_comes_back_is_noise() {
        let (mut versions, mut noise) = (Vec::new(), Vec::new());
        for page in 0..20i64 {
            for visit in 0..20 {
                let url = format!("http://a.test/{page}?s={}", visit % 10);
                let time = visit / 10;
                let version = mix((page * 20 + visit) as u64) % 2;
                versions.push((url.clone(), time, format!("page {page} {version}")));
                let body = if visit == page { format!("once {page}") } else { String::new() };
                noise.push((url, time, format!("page {page} {body}")));
            }
        }
        let (likely, _) = noise_of(&versions);
        assert!(likely < 1e-9, "versions come back: {likely}");
        let (likely, least) = noise_of(&noise);
        // 20 of 400 captures; of 380 looks from a content that is known.
        assert!((likely - 20.0 / 380.0).abs() < 1e-9 && least < likely && least > 0.03, "{likely}");
    }
}
