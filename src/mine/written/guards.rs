//! What no rule may touch, and what looks like a trap.

use std::collections::BTreeMap;

use super::emit::param;
use super::is_reported;
use super::spellings::LazySpellings;
use crate::canonical::{Guard, Trap};
use crate::mine::acts::candidates::Act;
use crate::mine::proposed::screen::Screen;
use crate::mine::seen::table::Table;
use crate::mine::selected::selector::Validated;
use crate::mine::stats::wilson_95;
use crate::mine::trials::Trials;

/// Parameters that matter, and that no rule is about: what was seen of them alone disagrees more
/// often than not, or all others are dropped but them.
pub(super) fn guards(
    site: &str,
    table: &Table,
    spellings: &LazySpellings<'_>,
    screen: &Screen,
    validated: &[Validated],
) -> Vec<Guard> {
    let mut seen: BTreeMap<u32, Trials> = BTreeMap::new();
    for ((name, _), trials) in &screen.params {
        seen.entry(*name).or_default().join(trials);
    }
    let is_ruled = |name: u32| {
        validated.iter().any(|one| one.plausible && one.candidate.act.param() == Some(name))
    };
    let mut out = Vec::new();
    let mut guarded: Vec<u32> = Vec::new();
    for (name, trials) in seen {
        let (_, upper) = wilson_95(trials.good as f64, trials.samples as f64);
        let Some(param) = param(&table.names[name as usize]) else { continue };
        if trials.samples >= 10 && upper < 0.5 && !is_ruled(name) {
            guarded.push(name);
            out.push(Guard {
                site: site.to_string(),
                path: String::new(),
                param,
                note: format!("{} of {} groups agree", trials.good, trials.samples),
            });
        }
    }
    for one in validated.iter().filter(|one| is_reported(one)) {
        let Act::Keep(handler, kept) = &one.candidate.act else { continue };
        for name in kept.iter().filter(|name| !is_ruled(**name) && !guarded.contains(name)) {
            let paths = spellings.possible(*handler);
            let (Some(paths), Some(param)) = (paths, param(&table.names[*name as usize])) else {
                continue;
            };
            out.extend(paths.iter().map(|path| Guard {
                site: site.to_string(),
                path: path.to_string(),
                param: param.clone(),
                note: "kept where all others are dropped".to_string(),
            }));
        }
    }
    out
}

/// Paths in which one segment stands three times in a row: what relative links on
/// a wrong base make.
pub(super) fn traps(site: &str, table: &Table) -> Vec<Trap> {
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

/// Fewest URLs that make a trap, and most traps of a site that are reported.
const TRAP_URLS_MIN: u64 = 3;
const TRAPS_MAX: usize = 32;
