//! Mines the rules of single sites from what was seen of their URLs.
//!
//! The road of a rule goes through the folders:
//!
//! 1. `seen`: URLs, parameters and contents in tables.
//! 2. `acts`: what rules may do to URLs.
//! 3. `worth`: what equal contents are worth on this site.
//! 4. `proposed`: whatever URLs of one content differ in becomes a candidate.
//! 5. `validated`: all candidates are applied at once, and URLs that become one are compared.
//! 6. `selected`: what fails is taken out until the rest holds.
//! 7. `written`: what holds is written for the spellings that paths have, beside guards and traps.
//!
//! No folder knows a later one. `rounds.rs` leads through 4 to 6. `trials.rs` has what all of them
//! count, `folders.rs` what counts together, and `stats.rs` the tests by which it is judged.
//!
//! A site is a pure function of its observations. No thread, no clock, no hash order; what a site
//! says is never used for another.

mod acts;
mod folders;
mod proposed;
mod rounds;
mod seen;
mod selected;
mod stats;
mod trials;
mod validated;
mod worth;
mod written;

pub use seen::{Observation, Signal, site_of};

use crate::canonical::{Canonicalizer, DustRule, Guard, Profile, Trap};
use seen::handlers::Handlers;
use seen::loose_path::{LoosePath, loosen};
use seen::table::Table;
use worth::count::Count;
use worth::signal::Calibration;

use written::{Findings, Written};

/// Mines rules, site by site. Shared by all threads.
#[derive(Debug)]
pub struct Miner {
    canonicalizer: Canonicalizer,
}

/// What was found out about one site.
#[derive(Clone, Debug, PartialEq)]
pub struct MinedSite {
    /// The name of the site: a registrable domain by the public suffix list, or a host without one.
    pub site: String,
    /// Rules, those that are in force and those to be reviewed, in the order of their strata.
    pub rules: Vec<DustRule>,
    /// Parameters that matter.
    pub guards: Vec<Guard>,
    /// What looks like a trap.
    pub traps: Vec<Trap>,
    /// The statistics of the site.
    pub summary: Summary,
}

impl MinedSite {
    /// Was nothing found?
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.guards.is_empty() && self.traps.is_empty()
    }
}

/// The statistics of one site.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Observations that were used.
    pub observations: u64,
    /// Distinct URLs after normalization.
    pub urls: u64,
    /// URLs beyond the limit, which were left out.
    pub left_out: u64,
    /// What contents were distinguished by.
    pub signal: Signal,
    /// How often a URL agrees with itself; `None` if no URL was seen twice.
    pub stability: Option<Share>,
    /// The same among captures that a third one confirms, where bodies are noisy.
    pub confirmed_stability: Option<Share>,
    /// Contents that are shared by too many pages to be evidence.
    pub hot_contents: u64,
}

/// A share that was seen, from 0 to 1, with its bounds at 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The share itself.
    pub value: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Default for Miner {
    fn default() -> Self {
        Miner::new()
    }
}

impl Miner {
    /// A miner with the thresholds that the documentation names.
    pub fn new() -> Miner {
        let profile = Profile::named("rfc3986").expect("rfc3986 is built in");
        Miner { canonicalizer: Canonicalizer::new(profile) }
    }

    /// Does `canonicalizer` spell URLs as they are normalized here?
    pub fn has_profile_of(&self, canonicalizer: &Canonicalizer) -> bool {
        self.canonicalizer.profile().digest() == canonicalizer.profile().digest()
    }

    /// Mines the rules of `site` from its observations.
    ///
    /// - Shape: all observations belong to `site`, see [`site_of`].
    /// - Limits: those of `limits.rs`; a URL beyond them is left out, a site beyond them sampled.
    /// - Determinism: the result depends on the observations as a multiset.
    pub fn mine(&self, site: &str, observations: &[Observation<'_>]) -> MinedSite {
        let mut table = Table::build(observations, &self.canonicalizer);
        let loose_paths: Vec<LoosePath> = table.paths.iter().map(|path| loosen(path)).collect();
        let mut urls = vec![0; table.paths.len()];
        for url in &table.urls {
            urls[url.path as usize] += 1;
        }
        let plain: Vec<Vec<u8>> = loose_paths.iter().map(LoosePath::plain).collect();
        let handlers = Handlers::find(&plain, &urls);
        drop(plain);
        let mut calibration = Calibration::measure(&table).by_handlers(&table, &handlers.of_path);
        let (validated, screen) =
            rounds::run(&mut table, &loose_paths, &handlers, &mut calibration);
        let found = Findings {
            site,
            table: &table,
            loose_paths: &loose_paths,
            urls: &urls,
            handlers: &handlers,
            calibration: &calibration,
            screen: &screen,
            validated: &validated,
        };
        let Written { rules, guards, traps } = found.write();
        let believed = calibration.believed();
        let share = |count: Count| {
            let (low, high) = count.bounds();
            (count.pairs > 0).then_some(Share { value: count.share(), low, high })
        };
        MinedSite {
            site: site.to_string(),
            rules,
            guards,
            traps,
            summary: Summary {
                observations: table.observations,
                urls: table.urls.len() as u64,
                left_out: table.left_out,
                signal: table.signal,
                stability: share(calibration.raw),
                confirmed_stability: calibration
                    .needs_confirmation
                    .then(|| share(believed))
                    .flatten(),
                hot_contents: calibration.hot.iter().filter(|hot| **hot).count() as u64,
            },
        }
    }
}

#[cfg(test)]
mod tests_false_rules;
#[cfg(test)]
mod tests_sites;

#[cfg(test)]
mod tests {
    use super::seen::{maps, table};
    use super::*;
    use crate::canonical::DustStatus;

    /// 120 pages of a site in several spellings, with their bodies.
    fn site() -> Vec<(String, String)> {
        let mut rows = Vec::new();
        for page in 0..120u64 {
            for visit in 0..3u64 {
                let sid = maps::mix(page * 7 + visit);
                let host = if visit == 1 { "www.a.test" } else { "a.test" };
                let order = if page % 2 == 0 { "b=2&c=3" } else { "c=3&b=2" };
                rows.push((
                    format!("http://{host}/x.php?id={page}&{order}&sid={sid:016x}"),
                    format!("page {page}"),
                ));
            }
            rows.push((format!("http://a.test/list?page=1&n={page}x"), format!("list {page}")));
            rows.push((format!("http://a.test/list?n={page}x"), format!("list {page}")));
            rows.push((format!("http://a.test/y{}?id={page}", page % 12), format!("y {page}")));
        }
        rows
    }

    /// The rules of a site whose URLs showed these contents.
    pub(super) fn mined(rows: &[(String, String)]) -> MinedSite {
        of(rows.iter().map(|(url, digest)| (url, None, digest)))
    }

    /// The same at these times, in seconds.
    pub(super) fn mined_over_time(rows: &[(String, i64, String)]) -> MinedSite {
        of(rows.iter().map(|(url, time, digest)| (url, Some(*time), digest)))
    }

    fn of<'a>(rows: impl Iterator<Item = (&'a String, Option<i64>, &'a String)>) -> MinedSite {
        let seen = rows.map(|(url, time, digest)| Observation {
            url: url.as_bytes(),
            time,
            status: Some(200),
            digest: Some(digest.as_bytes()),
            ..Observation::default()
        });
        Miner::new().mine("a.test", &seen.collect::<Vec<_>>())
    }

    #[test]
    fn a_site_is_understood() {
        let found = mined(&site());
        let auto: Vec<String> = found
            .rules
            .iter()
            .filter(|rule| rule.status == DustStatus::Auto)
            .map(|rule| rule.kind.title())
            .collect();
        for title in ["host-alias www.a.test = a.test", "default-param page=1", "drop-param sid"] {
            assert!(auto.iter().any(|rule| rule == title), "{title}: {auto:?}");
        }
        assert!(!auto.iter().any(|rule| rule.contains(" id") || rule.contains(" n")), "{auto:?}");
        assert!(found.guards.iter().any(|guard| guard.param == "id"), "{:?}", found.guards);
    }

    #[test]
    fn a_name_is_guarded_where_its_values_are_short() {
        let mut rows = Vec::new();
        for page in 0..80u64 {
            let item = format!("http://a.test/item?c={}&t={page}", page % 20);
            rows.push((item, format!("item {page}")));
            for visit in 0..3 {
                let click = 100_000 + maps::mix(page * 7 + visit) % 900_000;
                rows.push((format!("http://a.test/go?doc={page}&t={click}"), format!("d {page}")));
                rows.push((format!("http://a.test/to?doc={page}&t={visit}"), format!("e {page}")));
            }
        }
        let found = mined(&rows);
        let is_it = |rule: &&DustRule| rule.kind.title() == "drop-param t";
        let rules: Vec<(DustStatus, &str)> =
            found.rules.iter().filter(is_it).map(|rule| (rule.status, &*rule.scope.path)).collect();
        // Short numbers under one of the handlers alone are reason enough to look.
        assert_eq!(rules, [(DustStatus::Review, "/go"), (DustStatus::Review, "/to")]);
        rows.retain(|(url, _)| !url.contains("/to?"));
        let found = mined(&rows);
        let rules: Vec<(DustStatus, &str)> =
            found.rules.iter().filter(is_it).map(|rule| (rule.status, &*rule.scope.path)).collect();
        assert_eq!(rules, [(DustStatus::Auto, "/go")]);
    }

    #[test]
    fn an_empty_value_is_no_default_where_the_bare_name_is_another_page() {
        let mut rows = Vec::new();
        for page in 0..80 {
            for (query, shown) in [("", "read"), ("&edit=", "read"), ("&edit", "edited")] {
                let url = format!("http://a.test/x?doc=d{page}{query}");
                rows.push((url, format!("{page} {shown}")));
            }
        }
        let titles = |rows: &[(String, String)]| -> Vec<String> {
            mined(rows).rules.iter().map(|rule| rule.kind.title()).collect()
        };
        assert_eq!(titles(&rows), [""; 0]);
        rows.retain(|(url, _)| !url.ends_with("&edit"));
        assert_eq!(titles(&rows).len(), 1, "{:?}", titles(&rows));
        // What stands without `=` gets no rule of its own.
        rows.iter_mut().for_each(|(url, _)| *url = url.replace("edit=", "edit"));
        rows.push(("http://a.test/x?doc=d0&edit=".into(), "0 edited".into()));
        assert!(!titles(&rows).contains(&"default-param edit=".to_string()));
    }

    #[test]
    fn neither_order_of_input_nor_keys_matter() {
        let mut rows = site();
        // Crafted pages, which come at one place in every order.
        for path in table::tests::twins("/a/path/") {
            for visit in 0..90 {
                let url = format!("http://a.test{path}?n={}x&sid=a{visit:07}", visit % 30);
                rows.push((url, format!("list {}", visit % 30)));
            }
        }
        let first = mined(&rows);
        rows.reverse();
        assert_eq!(mined(&rows), first);
        rows.sort_by_key(|(url, _)| maps::hash(url.as_bytes()));
        assert_eq!(mined(&rows), first);
    }

    #[test]
    fn rules_of_a_public_suffix_are_for_that_host() {
        let mut rows = site();
        for (url, _) in &mut rows {
            *url = url.replace("www.a.test", "a.test").replace("a.test", "github.io");
        }
        let seen: Vec<Observation<'_>> = rows
            .iter()
            .map(|(url, digest)| Observation {
                url: url.as_bytes(),
                status: Some(200),
                digest: Some(digest.as_bytes()),
                ..Observation::default()
            })
            .collect();
        let found = Miner::new().mine("github.io", &seen);
        assert!(found.rules.iter().any(|rule| rule.kind.title() == "drop-param sid"));
        assert!(found.rules.iter().all(|rule| rule.hosts == ["github.io"]), "{:?}", found.rules);
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert!(mined(&[]).rules.is_empty());
        let one_page: Vec<(String, String)> =
            (0..2000).map(|n| (format!("http://a.test/?x={n}"), "same".to_string())).collect();
        let found = mined(&one_page);
        assert!(
            found.rules.iter().all(|rule| rule.status != DustStatus::Auto),
            "{:?}",
            found.rules
        );
        let no_digests = [Observation { url: b"http://a.test/?a=1", ..Observation::default() }];
        let found = Miner::new().mine("a.test", &no_digests);
        assert_eq!((found.summary.signal, found.rules.len()), (Signal::None, 0));
    }

    #[test]
    fn hostile_input_is_survived() {
        let mut rows: Vec<(String, String)> =
            (0..3000).map(|n| (format!("http://a.test/?p{n}={n}"), format!("{}", n % 7))).collect();
        rows.push((format!("http://a.test/{}", "a/".repeat(20_000)), "x".into()));
        rows.push((format!("http://a.test/?{}", "a=1&".repeat(10_000)), "x".into()));
        rows.push((format!("http://a.test/{}", "a".repeat(60_000)), "x".into()));
        rows.push(("http://a.test/%ff%00;;=;jsessionid=/(S())/;".into(), "x".into()));
        rows.push(("not a url".into(), "x".into()));
        rows.push(("http://a.test/a/a/a/a".into(), "y".into()));
        rows.push(("http://a.test/a/a/a/b".into(), "y".into()));
        rows.push(("http://a.test/a/a/a/c".into(), "z".into()));
        let start = std::time::Instant::now();
        let found = mined(&rows);
        assert!(start.elapsed().as_secs() < 60);
        assert_eq!(found.traps.len(), 1);
    }
}
