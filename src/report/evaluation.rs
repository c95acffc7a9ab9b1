//! How good a set of canonical forms is, where the true pages are known.
//!
//! With `urls(p)` the URLs of page `p`, `c` the canonical form, `N` the number of URLs:
//!
//! ```text
//! redundancy coverage = Σ over pages (|urls(p)| - |c(urls(p))|) / Σ over pages (|urls(p)| - 1)
//! lost per million    = 10⁶ · Σ over canonical forms (pages merged into it - 1) / N
//! ```
//!
//! Coverage is the share of the redundant URLs that disappear; a page is lost when it shares its
//! canonical form with another. Errors come one wrong rule at a time, so URLs are not independent:
//! intervals are drawn over sites, never over URLs, and zero losses say little: with `n` rules and
//! no wrong one, up to a share of `3 / n` may be wrong (95 %).

use crate::bytes::split_mix;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// Resamples of sites for an interval. Reason: the 25th and the 975th of 1,000 are the bounds.
pub const RESAMPLES: usize = 1_000;

/// One URL: what it truly is, and what it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Judged {
    /// The URL as it was given.
    pub url: Fingerprint,
    /// The true page.
    pub page: u64,
    /// The canonical form of the URL.
    pub canonical: Fingerprint,
}

/// The counts of one site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteScore {
    /// Distinct URLs: `N`.
    pub urls: u64,
    /// Distinct true pages.
    pub pages: u64,
    /// Distinct canonical forms.
    pub canonicals: u64,
    /// Redundant URLs: those beyond the first of each page.
    pub redundant: u64,
    /// Redundant URLs that disappear.
    pub removed: u64,
    /// Pages that share a canonical form with an earlier one.
    pub lost: u64,
}

impl SiteScore {
    /// Judges one site. URLs of other sites must not share canonical forms with it, or the losses
    /// between them are not seen.
    ///
    /// - Shape: `rows` in any order; a URL that comes again is counted once. They are sorted.
    /// - Limits: sorts three times, in place.
    /// - Failure: `is_input` if a URL comes with two pages or two canonical forms.
    pub fn of(rows: &mut Vec<Judged>) -> Result<SiteScore> {
        rows.sort_unstable();
        rows.dedup();
        if rows.windows(2).any(|pair| pair[0].url == pair[1].url) {
            return Err(Error::input(
                "evaluation: expected one page and one canonical form for each URL, found a URL \
                 with two; is the truth that of this input?",
            ));
        }
        if rows.is_empty() {
            return Ok(SiteScore::default());
        }
        let mut score = SiteScore { urls: rows.len() as u64, ..SiteScore::default() };
        // By canonical form, then by page: pairs of both are neighbors.
        rows.sort_unstable_by_key(|row| (row.canonical, row.page));
        let pairs = 1 + count_changes(rows, |row| (row.canonical, row.page));
        score.canonicals = 1 + count_changes(rows, |row| row.canonical);
        rows.sort_unstable_by_key(|row| row.page);
        score.pages = 1 + count_changes(rows, |row| row.page);
        // The sums over pages and over canonical forms both count pairs of the two.
        score.redundant = score.urls - score.pages;
        score.removed = score.urls - pairs;
        score.lost = pairs - score.canonicals;
        Ok(score)
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &SiteScore) {
        let SiteScore { urls, pages, canonicals, redundant, removed, lost } = other;
        self.urls += urls;
        self.pages += pages;
        self.canonicals += canonicals;
        self.redundant += redundant;
        self.removed += removed;
        self.lost += lost;
    }

    /// Share of the redundant URLs that disappear, 0 to 1; 0 if none is redundant.
    pub fn coverage(&self) -> f64 {
        share(self.removed, self.redundant)
    }

    /// Lost pages for each million of URLs; 0 without URLs.
    pub fn lost_per_million(&self) -> f64 {
        1e6 * share(self.lost, self.urls)
    }
}

fn count_changes<K: PartialEq>(rows: &[Judged], key: impl Fn(&Judged) -> K) -> u64 {
    rows.windows(2).filter(|pair| key(&pair[0]) != key(&pair[1])).count() as u64
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A measured value with the bounds between which 95 % of the resamples fall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The value over all sites.
    pub value: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// The scores of many sites.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evaluation {
    sites: Vec<SiteScore>,
}

/// Every value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvaluationResult {
    /// Share of the redundant URLs that disappear.
    pub coverage: Interval,
    /// Lost pages for each million of URLs.
    pub lost_per_million: Interval,
}

impl Evaluation {
    /// Adds a site. The order of sites decides which of them a resample draws.
    pub fn add(&mut self, site: SiteScore) {
        self.sites.push(site);
    }

    /// The sites, in the order they were added.
    pub fn sites(&self) -> &[SiteScore] {
        &self.sites
    }

    /// The counts of all sites together.
    pub fn total(&self) -> SiteScore {
        total(&self.sites)
    }

    /// How many sites lose a page.
    pub fn sites_with_loss(&self) -> usize {
        self.sites.iter().filter(|site| site.lost > 0).count()
    }

    /// The values over all sites, with 95 % intervals from [`RESAMPLES`] resamples of the sites
    /// (Efron's percentile bootstrap, 1979). The same `seed` gives the same bounds.
    ///
    /// With one site there is nothing to resample: the bounds are the value. Few sites give narrow
    /// intervals that should not be believed.
    pub fn result(&self, seed: u64) -> EvaluationResult {
        let mut state = seed;
        let mut resamples = Vec::with_capacity(RESAMPLES);
        for _ in 0..RESAMPLES {
            let drawn = self.sites.iter().map(|_| {
                let place = u128::from(split_mix::next(&mut state)) * self.sites.len() as u128;
                &self.sites[(place >> 64) as usize]
            });
            resamples.push(total(drawn));
        }
        let interval = |value: fn(&SiteScore) -> f64| {
            let mut values: Vec<f64> = resamples.iter().map(value).collect();
            values.sort_unstable_by(f64::total_cmp);
            let bound = |permille: usize| values[RESAMPLES * permille / 1_000];
            Interval { value: value(&self.total()), low: bound(25), high: bound(975) }
        };
        EvaluationResult {
            coverage: interval(SiteScore::coverage),
            lost_per_million: interval(SiteScore::lost_per_million),
        }
    }
}

fn total<'a>(sites: impl IntoIterator<Item = &'a SiteScore>) -> SiteScore {
    let mut total = SiteScore::default();
    for site in sites {
        total.merge(site);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    /// URLs are numbered by their place.
    fn score(rows: &[(u64, u128)]) -> SiteScore {
        let row = |(place, &(page, canonical)): (usize, &(u64, u128))| Judged {
            url: Fingerprint(place as u128),
            page,
            canonical: Fingerprint(canonical),
        };
        SiteScore::of(&mut rows.iter().enumerate().map(row).collect()).unwrap()
    }

    fn counts(score: SiteScore) -> [u64; 6] {
        let SiteScore { urls, pages, canonicals, redundant, removed, lost } = score;
        [urls, pages, canonicals, redundant, removed, lost]
    }

    #[test]
    fn hand_made_cases() {
        for (rows, expected, why) in [
            (&[][..], [0, 0, 0, 0, 0, 0], "nothing"),
            (&[(1, 1)][..], [1, 1, 1, 0, 0, 0], "one URL"),
            (&[(1, 1), (1, 2), (1, 3)][..], [3, 1, 3, 2, 0, 0], "nothing found"),
            (&[(1, 1), (1, 1), (1, 1)][..], [3, 1, 1, 2, 2, 0], "all found"),
            (&[(1, 1), (1, 1), (1, 2), (2, 3)][..], [4, 2, 3, 2, 1, 0], "half found"),
            (&[(1, 1), (2, 1), (3, 1)][..], [3, 3, 1, 0, 0, 2], "three pages in one: two lost"),
            (&[(1, 1), (1, 1), (2, 1), (2, 2)][..], [4, 2, 2, 2, 1, 1], "right and wrong"),
            (&[(1, 1), (1, 2), (2, 2), (2, 1)][..], [4, 2, 2, 2, 0, 2], "crosswise: both lost"),
        ] {
            assert_eq!(counts(score(rows)), expected, "{why}");
        }
    }

    #[test]
    fn values() {
        let score = score(&[(1, 1), (1, 1), (2, 1), (2, 2)]);
        assert_eq!(score.coverage(), 0.5);
        assert_eq!(score.lost_per_million(), 250_000.0);
        let none = SiteScore::default();
        assert_eq!([none.coverage(), none.lost_per_million()], [0.0; 2]);
    }

    #[test]
    fn a_url_counts_once() {
        let row = |url, page, canonical| Judged {
            url: Fingerprint(url),
            page,
            canonical: Fingerprint(canonical),
        };
        let mut rows = vec![row(1, 1, 1), row(2, 1, 1), row(1, 1, 1)];
        assert_eq!(counts(SiteScore::of(&mut rows).unwrap()), [2, 1, 1, 1, 1, 0]);
        for odd in [row(1, 2, 1), row(1, 1, 2)] {
            let error = SiteScore::of(&mut vec![row(1, 1, 1), odd]).unwrap_err();
            assert!(error.is_input(), "{error}");
        }
    }

    #[test]
    fn intervals_are_over_sites() {
        let (found, missed) = (score(&[(1, 1), (1, 1)]), score(&[(1, 1), (1, 2)]));
        let mut same = Evaluation::default();
        (0..40).for_each(|_| same.add(found));
        let coverage = same.result(1).coverage;
        assert_eq!(coverage, Interval { value: 1.0, low: 1.0, high: 1.0 });
        let mut mixed = Evaluation::default();
        (0..40).for_each(|place| mixed.add(if place % 2 == 0 { found } else { missed }));
        let result = mixed.result(1);
        assert_eq!((result, mixed.total().urls), (mixed.result(1), 80));
        // Forty coins: standard deviation 0.079, so the bounds lie near 0.5 ± 0.155.
        let Interval { value, low, high } = result.coverage;
        assert_eq!(value, 0.5);
        assert!((0.3..0.4).contains(&low) && (0.6..0.7).contains(&high), "{low} {high}");
        assert!(result.lost_per_million.high == 0.0 && mixed.sites_with_loss() == 0);
        let lost = score(&[(1, 1), (2, 1)]);
        mixed.add(lost);
        assert!(mixed.result(2).lost_per_million.high > 0.0 && mixed.sites_with_loss() == 1);
        let nothing = Evaluation::default().result(3);
        assert_eq!(nothing.coverage, Interval { value: 0.0, low: 0.0, high: 0.0 });
    }
}
