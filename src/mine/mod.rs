//! Mines the rules of single sites from what was seen of their URLs.
//!
//! A site is a pure function of its observations: `table` takes them apart, `signal` measures what
//! equal contents are worth, `votes` and `screen` find candidates, `validation` applies all of them at
//! once, `select` takes out what fails, `emit` writes the rest down. No thread, no clock, no hash
//! order; what a site says is never used for another.

mod bounds;
mod candidates;
mod classes;
mod conditions;
mod constant;
mod decay;
mod emit;
mod forms;
mod groups;
mod handlers;
mod identity;
mod intake;
mod keep;
mod letters;
mod loose_path;
mod moves;
mod noise;
mod observation;
mod paths;
mod patterns;
mod priors;
mod propose;
mod rounds;
mod scopes;
mod screen;
mod select;
mod signal;
mod site;
mod spellings;
mod splits;
mod support;
mod table;
mod validation;
mod values;
mod versions;
mod votes;

pub use observation::Observation;
pub use site::site_of;
pub use table::Signal;

use std::collections::BTreeMap;

use crate::canonical::{Canonicalizer, DustRule, Guard, Profile, Trap};
use candidates::Act;
use handlers::Handlers;
use loose_path::{LoosePath, loosen};
use moves::Moves;
use screen::Screen;
use select::Validated;
use signal::Calibration;
use spellings::Spellings;
use support::Tally;
use table::Table;

/// Mines rules, site by site. Shared by all threads.
#[derive(Debug)]
pub struct Miner {
    normalizer: Canonicalizer,
}

/// What was found out about one site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteRules {
    /// The site.
    pub site: String,
    /// Rules, those that are in force and those to be looked at, in the order of their strata.
    pub rules: Vec<DustRule>,
    /// Parameters that matter.
    pub guards: Vec<Guard>,
    /// What looks like a trap.
    pub traps: Vec<Trap>,
    /// The figures behind it.
    pub summary: Summary,
}

impl SiteRules {
    /// Was nothing found?
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.guards.is_empty() && self.traps.is_empty()
    }
}

/// The figures of one site.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Observations that were used.
    pub observations: u64,
    /// Distinct URLs after normalization.
    pub urls: u64,
    /// URLs beyond the limit, which were left out.
    pub left_out: u64,
    /// What contents were told apart by.
    pub signal: Signal,
    /// How often a URL agrees with itself: share, and bounds at 95 %; `None` if no URL was seen
    /// twice.
    pub stability: Option<(f64, f64, f64)>,
    /// The same among captures that a third one confirms, where bodies are noisy.
    pub confirmed_stability: Option<(f64, f64, f64)>,
    /// Contents that so many pages share that they say nothing.
    pub hot_contents: u64,
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
        Miner { normalizer: Canonicalizer::new(profile) }
    }

    /// Does `canonicalizer` spell URLs as they are normalized here?
    pub fn spells_as(&self, canonicalizer: &Canonicalizer) -> bool {
        self.normalizer.profile().digest() == canonicalizer.profile().digest()
    }

    /// Mines the rules of `site` from its observations.
    ///
    /// - Shape: all observations belong to `site`, see [`site_of`].
    /// - Limits: those of `limits.rs`; a URL beyond them is left out, a site beyond them sampled.
    /// - Determinism: the result depends on the observations as a multiset.
    pub fn mine(&self, site: &str, observations: &[Observation<'_>]) -> SiteRules {
        let mut table = Table::build(observations, &self.normalizer);
        let loose_paths: Vec<LoosePath> = table.paths.iter().map(|path| loosen(path)).collect();
        let mut urls = vec![0; table.paths.len()];
        for url in &table.urls {
            urls[url.path as usize] += 1;
        }
        let plain: Vec<Vec<u8>> = loose_paths.iter().map(LoosePath::plain).collect();
        let handlers = Handlers::find(&plain, &urls);
        drop(plain);
        let mut calibration = Calibration::measure(&table);
        let (validated, screen) =
            rounds::run(&mut table, &loose_paths, &handlers, &mut calibration);
        let text_of = |name: u32, value: u64| {
            let param = table.params.iter().find(|p| p.name == name && p.value == value)?;
            Some(table.bytes(param.text).to_vec())
        };
        let reported = || validated.iter().filter(|one| is_reported(one));
        let in_force = reported().map(|one| (one, emit::is_in_force(&table, one)));
        let moves = Moves::of(&loose_paths, &handlers, in_force);
        let spellings = Spellings::find(&table, &loose_paths, &urls, &handlers, &moves);
        let mut rules: Vec<DustRule> = Vec::new();
        for one in reported() {
            rules.extend(emit::rules(site, &table, &handlers, &spellings, one, text_of));
        }
        rules.extend(constant::rules(site, &table, &handlers, &spellings, &calibration));
        rules.sort_by_key(|rule| (rule.kind.stratum(), rule.status.name(), rule.title()));
        let believed = calibration.believed();
        let share = |count: signal::Count| {
            let (lower, upper) = count.bounds();
            (count.pairs > 0).then_some((count.share(), lower, upper))
        };
        SiteRules {
            site: site.to_string(),
            rules,
            guards: guards(site, &table, &spellings, &screen, &validated),
            traps: traps(site, &table),
            summary: Summary {
                observations: table.observations,
                urls: table.urls.len() as u64,
                left_out: table.left_out,
                signal: table.signal,
                stability: share(calibration.raw),
                confirmed_stability: calibration.confirms.then(|| share(believed)).flatten(),
                hot_contents: calibration.hot.iter().filter(|hot| **hot).count() as u64,
            },
        }
    }
}

/// Is a candidate worth reporting?
fn is_reported(one: &Validated) -> bool {
    one.plausible && (one.support.all.good >= 4 || one.prior.listed && one.support.fired > 0)
}

/// Parameters that matter, and that no rule is about: what was seen of them alone disagrees more
/// often than not, or all others are dropped but them.
fn guards(
    site: &str,
    table: &Table,
    spellings: &Spellings,
    screen: &Screen,
    validated: &[Validated],
) -> Vec<Guard> {
    let mut seen: BTreeMap<u32, Tally> = BTreeMap::new();
    for ((name, _), tally) in &screen.params {
        seen.entry(*name).or_default().join(tally);
    }
    let is_ruled = |name: u32| {
        validated.iter().any(|one| one.plausible && one.candidate.act.param() == Some(name))
    };
    let mut out = Vec::new();
    let mut guarded: Vec<u32> = Vec::new();
    for (name, tally) in seen {
        let (_, upper) = bounds::wilson(tally.good as f64, tally.trials as f64, 1.96);
        let Some(param) = emit::param(&table.names[name as usize]) else { continue };
        if tally.trials >= 10 && upper < 0.5 && !is_ruled(name) {
            guarded.push(name);
            out.push(Guard {
                site: site.to_string(),
                path: String::new(),
                param,
                note: format!("{} of {} groups agree", tally.good, tally.trials),
            });
        }
    }
    for one in validated.iter().filter(|one| is_reported(one)) {
        let Act::Keep(handler, kept) = &one.candidate.act else { continue };
        for name in kept.iter().filter(|name| !is_ruled(**name) && !guarded.contains(name)) {
            let paths = spellings.possible(*handler);
            let (Some(paths), Some(param)) = (paths, emit::param(&table.names[*name as usize]))
            else {
                continue;
            };
            out.extend(paths.iter().map(|path| Guard {
                site: site.to_string(),
                path: path.clone(),
                param: param.clone(),
                note: "kept where all others are dropped".to_string(),
            }));
        }
    }
    out
}

/// Paths in which one segment stands three times in a row: what relative links on a wrong base make.
fn traps(site: &str, table: &Table) -> Vec<Trap> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for url in &table.urls {
        let path = &table.paths[url.path as usize];
        let segments: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let repeated = segments
            .windows(3)
            .find(|three| !three[0].is_empty() && three[0] == three[1] && three[1] == three[2]);
        if let Some(three) = repeated {
            *found.entry(String::from_utf8_lossy(three[0]).into_owned()).or_insert(0) += 1;
        }
    }
    found.retain(|_, urls| *urls >= TRAP_URLS_MIN);
    let mut found: Vec<(String, u64)> = found.into_iter().collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(TRAPS_MAX);
    let trap = |(segment, urls)| Trap {
        site: site.to_string(),
        kind: "path-repeat".to_string(),
        path: format!("*/{segment}/{segment}/{segment}*"),
        urls,
        note: String::new(),
    };
    found.into_iter().map(trap).collect()
}

/// Fewest URLs that make a trap, and most traps of a site that are told.
const TRAP_URLS_MIN: u64 = 3;
const TRAPS_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::Status;

    /// 120 pages of a site in several spellings, with their bodies.
    fn site() -> Vec<(String, String)> {
        let mut rows = Vec::new();
        for page in 0..120u64 {
            for visit in 0..3u64 {
                let sid = table::mix(page * 7 + visit);
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
    pub(super) fn mined(rows: &[(String, String)]) -> SiteRules {
        of(rows.iter().map(|(url, digest)| (url, None, digest)))
    }

    /// The same at these times, in seconds.
    pub(super) fn mined_over_time(rows: &[(String, i64, String)]) -> SiteRules {
        of(rows.iter().map(|(url, time, digest)| (url, Some(*time), digest)))
    }

    fn of<'a>(rows: impl Iterator<Item = (&'a String, Option<i64>, &'a String)>) -> SiteRules {
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
            .filter(|rule| rule.status == Status::Auto)
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
                let click = 100_000 + table::mix(page * 7 + visit) % 900_000;
                rows.push((format!("http://a.test/go?doc={page}&t={click}"), format!("d {page}")));
                rows.push((format!("http://a.test/to?doc={page}&t={visit}"), format!("e {page}")));
            }
        }
        let found = mined(&rows);
        let is_it = |rule: &&DustRule| rule.kind.title() == "drop-param t";
        let told: Vec<(Status, &str)> =
            found.rules.iter().filter(is_it).map(|rule| (rule.status, &*rule.scope.path)).collect();
        // Short numbers under one of the handlers alone are reason enough to look.
        assert_eq!(told, [(Status::Review, "/go"), (Status::Review, "/to")]);
        rows.retain(|(url, _)| !url.contains("/to?"));
        let found = mined(&rows);
        let told: Vec<(Status, &str)> =
            found.rules.iter().filter(is_it).map(|rule| (rule.status, &*rule.scope.path)).collect();
        assert_eq!(told, [(Status::Auto, "/go")]);
    }

    #[test]
    fn neither_order_of_input_nor_keys_matter() {
        let mut rows = site();
        // Pages that somebody has made, so that they come at one place in every order.
        for path in table::tests::twins("/a/path/") {
            for visit in 0..90 {
                let url = format!("http://a.test{path}?n={}x&sid=a{visit:07}", visit % 30);
                rows.push((url, format!("list {}", visit % 30)));
            }
        }
        let first = mined(&rows);
        rows.reverse();
        assert_eq!(mined(&rows), first);
        rows.sort_by_key(|(url, _)| table::hash(url.as_bytes()));
        assert_eq!(mined(&rows), first);
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert!(mined(&[]).rules.is_empty());
        let one_page: Vec<(String, String)> =
            (0..2000).map(|n| (format!("http://a.test/?x={n}"), "same".to_string())).collect();
        let found = mined(&one_page);
        assert!(found.rules.iter().all(|rule| rule.status != Status::Auto), "{:?}", found.rules);
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
