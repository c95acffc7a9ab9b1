//! Forms that are one page wherever they lead back to: `/login.php?return=/item.php%3Fid%3D5`.
//!
//! Samples say nothing about them: their one content is met everywhere, as that of a wall is,
//! so it is hot. Three things together speak for them: the name of the parameter says that it
//! leads back, its values are addresses, and the script shows one content whatever the address.
//! A rate is validated as for other rules, each address being one sample. What else such a
//! script is asked for is dropped too (`constant-page`), if one content is all that it shows
//! under every other parameter.

use std::collections::{BTreeMap, BTreeSet};

use super::emit::{param, signal_name};
use super::spellings::{LazySpellings, SPELLINGS_MAX};
use crate::canonical::{DustKind, DustRule, DustStatus, Evidence, RuleScope};
use crate::mine::acts::priors::{CONTENTS_MIN, PLAIN};
use crate::mine::seen::handlers::Handlers;
use crate::mine::seen::table::{Table, Url};
use crate::mine::stats::{BELIEF_ERROR, Channel, doubt, wilson_95};
use crate::mine::trials::BAR;
use crate::mine::worth::signal::Calibration;

/// Names that say where a form leads back to.
const RETURNS: [&[u8]; 20] = [
    b"return",
    b"returnto",
    b"return_to",
    b"returnurl",
    b"return_url",
    b"next",
    b"back",
    b"backurl",
    b"back_url",
    b"redirect",
    b"redirect_to",
    b"redirect_uri",
    b"redirecturl",
    b"redirect_url",
    b"continue",
    b"destination",
    b"goto",
    b"target",
    b"referer",
    b"service",
];

/// How addresses begin, as values of canonical URLs have them.
const ADDRESSES: [&[u8]; 6] = [b"/", b"%2F", b"http://", b"https://", b"http%3A", b"https%3A"];

/// Least share of the values, in percent, that must be addresses.
const ADDRESSES_MIN: u64 = 90;

/// Fewest URLs with another parameter, and the share of them in percent that must show the one
/// content, before it is dropped with the rest.
const URLS_MIN: u64 = 4;
const SHOWN_MIN: u64 = 90;

/// URLs of one script, by number, with their one parameter that leads back.
type Script = BTreeMap<(u32, u32), Vec<u32>>;

/// The rules for forms of `site` that lead back to wherever they were called from.
pub(super) fn rules(
    site: &str,
    table: &Table,
    handlers: &Handlers,
    spellings: &LazySpellings<'_>,
    calibration: &Calibration,
) -> Vec<DustRule> {
    if !table.signal.is_confirmed() || calibration.needs_confirmation {
        return Vec::new();
    }
    let leads: Vec<bool> = table
        .names
        .iter()
        .map(|name| RETURNS.iter().any(|one| name.eq_ignore_ascii_case(one)))
        .collect();
    let mut scripts = Script::new();
    for (number, url) in (0..).zip(&table.urls) {
        if url.opaque || url.moved || url.captures.len() == 0 {
            continue;
        }
        let handler = handlers.of_path[url.path as usize];
        let params = table.params_of(url).iter();
        if let Some(param) = params.clone().find(|param| leads[param.name as usize]) {
            scripts.entry((handler, param.name)).or_default().push(number);
        }
    }
    let mut rules = Vec::new();
    for ((handler, name), urls) in &scripts {
        let here = BTreeSet::from([*handler]);
        let paths = spellings.targets(*handler, &here).map(|(path, _)| path);
        let is_one = |path: &&str| !path.contains(['{', '*']);
        let mut paths = paths.filter(is_one).take(SPELLINGS_MAX).peekable();
        if paths.peek().is_none() {
            continue;
        }
        let form = Form { table, handlers, handler: *handler, name: *name };
        let Some(rule) = form.rule(site, urls, calibration) else { continue };
        rules.extend(paths.map(|path| {
            let scope = RuleScope { path: path.to_string(), ..RuleScope::default() };
            DustRule { scope, ..rule.clone() }
        }));
    }
    rules
}

/// A script with the parameter that leads back.
struct Form<'a> {
    table: &'a Table,
    handlers: &'a Handlers,
    handler: u32,
    name: u32,
}

impl Form<'_> {
    /// The rule, for every path.
    fn rule(&self, site: &str, urls: &[u32], calibration: &Calibration) -> Option<DustRule> {
        let table = self.table;
        let shown = self.shown(urls);
        // Of each address the first URL.
        let mut values: BTreeMap<&[u8], &Url> = BTreeMap::new();
        for number in urls {
            let url = &table.urls[*number as usize];
            let param = table.params_of(url).iter().find(|param| param.name == self.name)?;
            values.entry(table.bytes(param.text)).or_insert(url);
        }
        let is_address = |value: &[u8]| {
            ADDRESSES.iter().any(|one| {
                value.get(..one.len()).is_some_and(|start| start.eq_ignore_ascii_case(one))
            })
        };
        let groups = values.len() as u64;
        let addresses = values.keys().filter(|value| is_address(value)).count() as u64;
        let ok = values.values().filter(|url| self.shows(url, &shown)).count() as u64;
        let (likely, least) = calibration.noise;
        let channel = Channel { same: 1.0 - likely, other: 0.0 };
        let doubt = doubt((ok as f64, groups as f64), BAR, channel, likely - least, PLAIN);
        if addresses * 100 < groups * ADDRESSES_MIN || ok < CONTENTS_MIN || doubt > BELIEF_ERROR {
            return None;
        }
        let (lower, upper) = wilson_95(ok as f64, groups as f64);
        let (bound, _) = Channel { same: 1.0 - least, other: 0.0 }.corrected((lower, upper));
        let mean = (ok as f64 + 0.5) / (groups as f64 + 1.0);
        let rate = channel.corrected((mean, mean)).0.max(bound);
        let kind = if self.is_constant(&shown) {
            DustKind::ConstantPage
        } else {
            DustKind::DropParam { param: param(&table.names[self.name as usize])? }
        };
        let round = |x: f64| (x * 1e4).round() / 1e4;
        let million = 1e6 / table.urls.len().max(1) as f64;
        let lost = |share: f64| round(share * urls.len() as f64 * million);
        let text = |url: &Url| String::from_utf8_lossy(table.bytes(url.text)).into_owned();
        let mut both = values.values().filter(|url| self.shows(url, &shown));
        let example = both.next().zip(both.next()).map(|(a, b)| (text(a), text(b)));
        Some(DustRule {
            site: site.to_string(),
            hosts: Vec::new(),
            scope: RuleScope::default(),
            kind,
            status: DustStatus::Auto,
            evidence: Some(Evidence {
                ok,
                groups,
                bound: round(bound),
                signal: signal_name(self.table.signal).to_string(),
                gain_urls: urls.len() as u64,
                loss_per_million: lost(1.0 - rate),
                loss_bound_per_million: lost(1.0 - bound),
                examples: example.into_iter().collect(),
            }),
            note: "a form that leads back".to_string(),
        })
    }

    fn host(&self, url: &Url) -> u32 {
        self.table.origins[url.origin as usize].host
    }

    /// The content that most of `urls` show first, by host: hosts may have forms of their own.
    fn shown(&self, urls: &[u32]) -> BTreeMap<u32, u32> {
        let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for number in urls {
            let url = &self.table.urls[*number as usize];
            let content = self.table.captures_of(url)[0].content;
            *counts.entry((self.host(url), content)).or_insert(0) += 1;
        }
        let mut most: BTreeMap<u32, (u64, u32)> = BTreeMap::new();
        for ((host, content), count) in counts {
            let best = most.entry(host).or_insert((count, content));
            if count > best.0 {
                *best = (count, content);
            }
        }
        most.into_iter().map(|(host, (_, content))| (host, content)).collect()
    }

    /// Does the URL show the one content of its host first?
    fn shows(&self, url: &Url, shown: &BTreeMap<u32, u32>) -> bool {
        let first = self.table.captures_of(url)[0].content;
        shown.get(&self.host(url)) == Some(&first)
    }

    /// Does the script show the one content under each of its other parameters, and without any?
    fn is_constant(&self, shown: &BTreeMap<u32, u32>) -> bool {
        // By name of parameter, and without: URLs, and those that show it.
        let mut counts: BTreeMap<Option<u32>, (u64, u64)> = BTreeMap::new();
        for url in &self.table.urls {
            let here = self.handlers.of_path[url.path as usize] == self.handler;
            if !here || url.opaque || url.moved || url.captures.len() == 0 {
                continue;
            }
            let shows = u64::from(self.shows(url, shown));
            let params = self.table.params_of(url);
            let names = params.iter().map(|param| Some(param.name));
            for name in names.chain(params.is_empty().then_some(None)) {
                let count = counts.entry(name).or_default();
                (count.0, count.1) = (count.0 + 1, count.1 + shows);
            }
        }
        counts.iter().all(|(name, (urls, shows))| {
            (name.is_none() || *urls >= URLS_MIN) && shows * 100 >= urls * SHOWN_MIN
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::canonical::DustStatus;
    use crate::mine::tests::mined;

    fn found(rows: &[(String, String)]) -> Vec<String> {
        let rules = mined(rows).rules;
        let auto = rules.iter().filter(|rule| rule.status == DustStatus::Auto);
        auto.map(|rule| format!("{} at {}", rule.kind.title(), rule.scope.path)).collect()
    }

    /// A form that is called from everywhere, with pages around it.
    fn rows(parameter: &str, value: impl Fn(u64) -> String) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        for page in 0..150 {
            let form = format!("http://a.test/login.php?{parameter}={}", value(page));
            rows.push((form, "form".to_string()));
            rows.push((format!("http://a.test/x?id={page}"), format!("page {page}")));
        }
        rows
    }

    #[test]
    fn forms_that_lead_back() {
        let back = |page| format!("%2Fx%3Fid%3D{page}");
        assert_eq!(found(&rows("return", back)), ["constant-page at /login.php"]);
        assert_eq!(found(&rows("m", back)).len(), 0, "no name that leads back");
        assert_eq!(found(&rows("return", |page| page.to_string())).len(), 0, "no addresses");
        let mut other = rows("return", back);
        for (url, digest) in other.iter_mut().step_by(2).step_by(8) {
            *digest = format!("shows {url}");
        }
        assert_eq!(found(&other).len(), 0, "one of eight addresses shows something else");
    }

    #[test]
    fn what_else_matters_stays() {
        let mut rows = rows("next", |page| format!("/x{page}"));
        for page in 0..20 {
            let url = format!("http://a.test/login.php?lang=de&next=/y{page}");
            rows.push((url, "Formular".to_string()));
        }
        // Twenty of 170 addresses show another text: nothing is said.
        assert_eq!(found(&rows).len(), 0);
        rows.truncate(300 + 1);
        assert_eq!(found(&rows), ["drop-param next at /login.php"]);
    }
}
