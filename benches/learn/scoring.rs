//! Scores of canonical forms by the truth, kept by method.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use undust::FingerprintKey;
use undust::report::{Evaluation, Judged, SiteScore};

use crate::Row;

/// What makes a canonical form of a URL.
pub(crate) type Form<'a> = dyn Fn(&str) -> Vec<u8> + 'a;

/// The scores of one method on all sites of a set.
#[derive(Default)]
struct Scores {
    evaluation: Evaluation,
    rules: u64,
    unstable: u64,
    refused: u64,
}

/// The table of one set of sites: a row for each method.
#[derive(Default)]
pub(crate) struct Table {
    methods: BTreeMap<&'static str, Scores>,
    /// Seconds of mining.
    pub(crate) seconds: f64,
}

/// Judges `form` on the distinct URLs of `rows` whose page is known.
pub(crate) fn score<'a>(rows: impl Iterator<Item = &'a Row>, form: &Form<'_>) -> (SiteScore, u64) {
    let key = FingerprintKey::from_bytes(*b"learning is seen");
    let mut urls: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        if let Some(page) = row.page {
            urls.entry(&row.url).or_insert(page);
        }
    }
    let mut unstable = 0;
    let mut judged: Vec<Judged> = Vec::with_capacity(urls.len());
    for (url, page) in urls {
        let canonical = form(url);
        let again = std::str::from_utf8(&canonical).map(form).unwrap_or_default();
        unstable += u64::from(again != canonical);
        judged.push(Judged {
            url: key.fingerprint(url.as_bytes()),
            page,
            canonical: key.fingerprint(&canonical),
        });
    }
    (SiteScore::of(&mut judged).expect("each URL has one page"), unstable)
}

impl Table {
    /// Adds what `form` makes of one site with so many rules; the score is given back.
    pub(crate) fn add<'a>(
        &mut self,
        method: &'static str,
        rules: usize,
        rows: impl Iterator<Item = &'a Row>,
        form: &Form<'_>,
    ) -> SiteScore {
        let (site, unstable) = score(rows, form);
        let scores = self.methods.entry(method).or_default();
        scores.evaluation.add(site);
        scores.rules += rules as u64;
        scores.unstable += unstable;
        site
    }

    /// Counts rules that the compiler refused.
    pub(crate) fn refused(&mut self, method: &'static str, rules: usize) {
        self.methods.entry(method).or_default().refused += rules as u64;
    }

    /// The table as Markdown, with 95 % intervals from resampled sites.
    pub(crate) fn text(&self, title: &str) -> String {
        let mut text = format!(
            "\n{title}; mined in {:.2} s\n\n\
             | | coverage (95 %) | lost/M | sites with loss | rules/site | refused | unstable \
             | URLs | sites |\n|---|---|---|---|---|---|---|---|---|\n",
            self.seconds
        );
        for (name, scores) in &self.methods {
            let (result, total) = (scores.evaluation.result(1), scores.evaluation.total());
            let sites = scores.evaluation.sites().len();
            let coverage = result.coverage;
            let _ = writeln!(
                text,
                "| {name} | {:.1} % ({:.1}–{:.1}) | {:.1} | {} | {:.1} | {} | {} | {} | {sites} |",
                100.0 * coverage.value,
                100.0 * coverage.low,
                100.0 * coverage.high,
                result.lost_per_million.value,
                scores.evaluation.sites_with_loss(),
                scores.rules as f64 / sites.max(1) as f64,
                scores.refused,
                scores.unstable,
                total.urls,
            );
        }
        text
    }
}
