//! Scripts under which hardly a parameter says anything, so that those that are not known yet are
//! dropped too.
//!
//! New names keep arriving: campaigns, tests, buttons. Each has to be seen many times before it has
//! a rule of its own. If one script was requested with many names, and each of them says nothing,
//! the next one is likely to say nothing either. The evidence for that is over names, not over
//! URLs: every name is one sample, good if a rule of its own drops it, bad if it matters.
//!
//! - Names that stand on more than a tenth of the script's URLs are no samples, whether they matter
//!   or not: what arrives next is rare. Names on the lists are none either: they say nothing about
//!   others.
//! - The share of names that say nothing has the prior and the bar of the rates of other rules.
//!   Twenty names must be good, and of those that arrived late none may matter: what arrives next
//!   is late as well.
//! - What was seen and is not settled is kept, unless it agreed as often as pages agree with
//!   themselves. What such names say together is a sample of the candidate like any other, and may
//!   contradict it.
//! - Names that decide on most sites which page it is are kept, seen or not (`priors.rs`).

use std::collections::{BTreeMap, BTreeSet};

use super::selector::{AGREEMENTS_MIN, PLAUSIBLE_MIN, Selector, Validated};
use crate::mine::acts::candidates::{Act, Candidate, Reach};
use crate::mine::acts::priors::{CONTENTS_MIN, prior};
use crate::mine::proposed::screen::Screen;
use crate::mine::seen::table::Url;
use crate::mine::stats::{BELIEF_ERROR, Channel, doubt, wilson_95};
use crate::mine::trials::{BAR, CONTRADICTION, Trials, contradicts, is_below};
use crate::mine::validated::support::Support;

/// Fewest names of a script that say nothing or matter, and the share in percent that must say
/// nothing.
const NAMES_MIN: usize = 10;
const SILENT_MIN: usize = 80;

/// Most names that matter, and most that are kept.
const RELEVANT_MAX: usize = 3;
const KEPT_MAX: usize = 8;

/// How unlikely what was seen of a name must be, if it says nothing, before the name is kept.
const UNWILLING: f64 = 0.05;

/// Fewest names that arrived late. Reason: where none arrives there is nothing to gain.
const LATE_MIN: usize = 3;

/// A name is usual if one of this many URLs of its script has it. Reason: what arrives next is rare
/// at first, and what is seen on many URLs has samples enough of its own.
const USUAL_SHARE: usize = 10;

/// A name is late if it was first seen after the first one of this many URLs of its script.
const EARLY_SHARE: usize = 3;

/// What is known of a name under one script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// A rule of its own drops it.
    Silent,
    /// It is on a list of what never matters.
    Listed,
    /// It matters, or may be taken to.
    Relevant,
    /// Neither is known; nothing that was seen speaks against dropping it.
    Willing,
    /// Neither is known.
    Unknown,
}

/// A name under one script.
#[derive(Clone, Copy, Debug)]
struct Use {
    urls: usize,
    /// When it was first seen; the least number there is if that is not known.
    first: i64,
}

/// One script with the names that it was asked with.
struct Script {
    urls: usize,
    /// When its URLs were first seen.
    times: Vec<i64>,
    names: BTreeMap<u32, Use>,
}

/// The names of a script, counted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Names {
    /// To be kept.
    kept: Vec<u32>,
    /// Names that are not usual: those that say nothing, and all that are settled.
    silent: usize,
    tried: usize,
    /// Those among them that say nothing and arrived late.
    late: usize,
    /// Did a name that matters arrive late?
    late_matters: bool,
}

/// Says for each script whether unknown parameters should be dropped, beside what was `validated`
/// before.
pub(crate) fn validated(
    selector: &Selector<'_>,
    screen: &Screen,
    validated: &[Validated],
) -> Vec<Validated> {
    let held: Vec<&Validated> = validated.iter().filter(|one| one.is_held()).collect();
    let scripts = scripts(selector, screen, &held);
    let mut names: Vec<Names> = Vec::new();
    let mut candidates: Vec<Candidate> =
        held.iter().map(|one| Candidate { settled: true, ..one.candidate.clone() }).collect();
    let settled = candidates.len();
    for (handler, script) in &scripts {
        let standing = |name: u32| standing(selector, screen, validated, *handler, name);
        if let Some(found) = script.count(standing) {
            let act = Act::Keep(*handler, found.kept.clone());
            candidates.push(Candidate::within(act, Reach::Only([*handler].into())));
            names.push(found);
        }
    }
    if names.is_empty() {
        return Vec::new();
    }
    let mut validation = selector.validation();
    validation.validate(&candidates);
    let support = validation.finish();
    let proposed = candidates.into_iter().zip(support).skip(settled).zip(names);
    let example = held.iter().find_map(|one| one.support.example);
    proposed
        .filter(|((_, support), _)| !contradicts(&support.all))
        .map(|((candidate, support), names)| assess(selector, candidate, support, &names, example))
        .collect()
}

fn assess(
    selector: &Selector<'_>,
    candidate: Candidate,
    found: Support,
    names: &Names,
    example: Option<(u32, u32)>,
) -> Validated {
    let (good, tried) = (names.silent as f64, names.tried as f64);
    let prior = prior(selector.table, &selector.natures.of_names, &candidate.act);
    let clear = Channel { same: 1.0, other: 0.0 };
    let holds = names.silent as u64 >= CONTENTS_MIN
        && names.late >= LATE_MIN
        && !names.late_matters
        && doubt((good, tried), prior.bar, clear, 0.0, prior.belief) <= BELIEF_ERROR;
    let (bound, _) = wilson_95(good, tried);
    let support = Support {
        all: Trials {
            good: names.silent as u64,
            samples: names.tried as u64,
            same: tried,
            high: tried,
        },
        contents: names.silent as u64,
        example: found.example.or(example),
        ..found
    };
    let plausible = holds || bound >= PLAUSIBLE_MIN;
    let rate = ((good + 0.5) / (tried + 1.0)).max(bound);
    Validated { candidate, support, prior, bound, rate, holds, plausible, everywhere: true }
}

/// The scripts under which names enough were validated.
fn scripts(selector: &Selector<'_>, screen: &Screen, held: &[&Validated]) -> BTreeMap<u32, Script> {
    let mut tried: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let path_of = |handler: &u32| selector.table.splits.path_of(*handler);
    for (name, handler) in screen.params.keys() {
        tried.entry(path_of(handler)).or_default().insert(*name);
    }
    for one in held {
        let Act::Drop(name) = one.candidate.act else { continue };
        for handler in one.support.by_handler.keys() {
            tried.entry(path_of(handler)).or_default().insert(name);
        }
    }
    tried.retain(|_, names| {
        names.retain(|name| !selector.natures.of_names[*name as usize].listed);
        names.len() >= NAMES_MIN
    });
    let mut scripts: BTreeMap<u32, Script> = BTreeMap::new();
    if tried.is_empty() {
        return scripts;
    }
    for url in selector.table.urls.iter().filter(|url| !url.opaque) {
        let handler = selector.handlers[url.path as usize];
        if !tried.contains_key(&handler) {
            continue;
        }
        let new = || Script { urls: 0, times: Vec::new(), names: BTreeMap::new() };
        scripts.entry(handler).or_insert_with(new).add(selector, url);
    }
    for script in scripts.values_mut() {
        script.times.sort_unstable();
    }
    scripts
}

impl Script {
    fn add(&mut self, selector: &Selector<'_>, url: &Url) {
        let first = selector.table.captures_of(url).first().map_or(i64::MIN, |one| one.time);
        self.urls += 1;
        self.times.push(first);
        let mut names: Vec<u32> =
            selector.table.params_of(url).iter().map(|param| param.name).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let uses = self.names.entry(name).or_insert(Use { urls: 0, first: i64::MAX });
            uses.urls += 1;
            // What was seen at an unknown time was not seen late.
            uses.first = uses.first.min(first);
        }
    }

    /// Counts the names by their `standing`; `None` if they are not such that others are dropped.
    fn count(&self, standing: impl Fn(u32) -> Standing) -> Option<Names> {
        let early = self.times[self.urls / EARLY_SHARE];
        let mut out = Names { kept: Vec::new(), silent: 0, tried: 0, late: 0, late_matters: false };
        let (mut silent, mut relevant) = (0, 0);
        for (name, uses) in &self.names {
            let standing = standing(*name);
            let is_usual = uses.urls * USUAL_SHARE > self.urls;
            let is_late = early != i64::MIN && uses.first > early;
            match standing {
                Standing::Listed => continue,
                Standing::Silent => silent += 1,
                Standing::Relevant => relevant += 1,
                Standing::Willing | Standing::Unknown => {}
            }
            let is_kept = match standing {
                Standing::Relevant | Standing::Unknown => true,
                Standing::Willing => is_usual,
                Standing::Silent | Standing::Listed => false,
            };
            if is_kept {
                out.kept.push(*name);
            }
            let is_settled = matches!(standing, Standing::Silent | Standing::Relevant);
            if is_settled && !is_usual {
                out.tried += 1;
                out.silent += usize::from(standing == Standing::Silent);
                out.late += usize::from(is_late && standing == Standing::Silent);
                out.late_matters |= is_late && standing == Standing::Relevant;
            }
        }
        let settled = silent + relevant;
        let is_such = settled >= NAMES_MIN
            && silent * 100 >= settled * SILENT_MIN
            && relevant <= RELEVANT_MAX
            && out.kept.len() <= KEPT_MAX;
        is_such.then_some(out)
    }
}

/// What is known of a name under `handler`.
fn standing(
    selector: &Selector<'_>,
    screen: &Screen,
    validated: &[Validated],
    handler: u32,
    name: u32,
) -> Standing {
    let nature = selector.natures.of_names[name as usize];
    let drop = validated.iter().find(|one| one.candidate.act == Act::Drop(name));
    // What says nothing under some conditions only, matters.
    let cells = selector.table.splits.cells_of(name, handler);
    let has = |reach: &Reach| match cells.is_empty() {
        true => reach.has(handler),
        false => cells.iter().all(|cell| reach.has(*cell)),
    };
    let all = || cells.iter().chain([&handler]);
    // What was seen of the name beside all others, or else alone.
    let mut here = Trials::default();
    for handler in all() {
        let of_drop = drop.and_then(|one| one.support.by_handler.get(handler));
        here.join(&of_drop.copied().unwrap_or_default());
    }
    if drop.is_some_and(|one| one.is_held() && has(&one.candidate.reach)) {
        return match () {
            () if nature.listed => Standing::Listed,
            () if here.good >= AGREEMENTS_MIN => Standing::Silent,
            () => Standing::Willing,
        };
    }
    let mut alone = Trials::default();
    for handler in all() {
        alone.join(&screen.params.get(&(name, *handler)).copied().unwrap_or_default());
    }
    let is_ruled =
        validated.iter().any(|one| one.is_held() && one.candidate.act.param() == Some(name));
    let is_guarded = nature.guarded || nature.counts || nature.short;
    if is_ruled || is_guarded || is_below(&alone, BAR, CONTRADICTION) {
        return Standing::Relevant;
    }
    let is_willing = |trials: &Trials| !is_below(trials, BAR, UNWILLING);
    let agrees = here.good.max(alone.good) > here.bad().max(alone.bad());
    match agrees && is_willing(&here) && is_willing(&alone) {
        true => Standing::Willing,
        false => Standing::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use crate::canonical::{DustKind, DustRule, DustStatus};
    use crate::mine::seen::maps::mix;
    use crate::mine::tests::{mined, mined_over_time};

    fn word(name: u64) -> String {
        let letter = |n: u64| (b'a' + (n % 26) as u8) as char;
        format!("p{}{}", letter(name), letter(name / 26 + 7))
    }

    /// A script with `names` that say nothing, the last quarter of which arrive late, and a
    /// parameter `part` that matters; with the times at which its URLs were seen.
    fn rows(names: u64, matters: impl Fn(u64) -> bool) -> Vec<(String, i64, String)> {
        let mut rows = Vec::new();
        for visit in 0..names * 90 {
            let page = visit % 83;
            let known = if visit * 2 < names * 90 { names * 3 / 4 } else { names };
            let name = mix(visit) % known;
            let part = if visit % 5 == 0 { "&part=two" } else { "" };
            let shown = if matters(name) {
                format!("{page}{part} {name}")
            } else {
                format!("{page}{part}")
            };
            rows.push((
                format!("http://a.test/x?doc=d{page}{part}&{}=v{}", word(name), visit % 4),
                visit as i64 * 1000,
                shown.clone(),
            ));
            let plain = format!("http://a.test/x?doc=d{page}{part}");
            rows.push((plain, visit as i64 * 1000, format!("{page}{part}")));
        }
        rows
    }

    fn keeps(rules: &[DustRule]) -> Vec<(DustStatus, Vec<String>)> {
        let keep = |rule: &DustRule| match &rule.kind {
            DustKind::KeepOnly { params } if rule.scope.path == "/x" => {
                Some((rule.status, params.clone()))
            }
            _ => None,
        };
        rules.iter().filter_map(keep).collect()
    }

    #[test]
    fn names_enough() {
        let found = mined_over_time(&rows(28, |_| false));
        let keep = keeps(&found.rules);
        let [(DustStatus::Auto, kept)] = &keep[..] else { panic!("{keep:?} {:#?}", found.rules) };
        for name in ["doc", "part", "id", "page"] {
            assert!(kept.iter().any(|one| one == name), "{name}: {kept:?}");
        }
        assert!(!kept.contains(&word(3)), "{kept:?}");
        let is_guarded = |name: &str| found.guards.iter().any(|guard| guard.param == name);
        assert!(is_guarded("doc") && is_guarded("part"), "{:?}", found.guards);
    }

    #[test]
    fn too_few_names_are_to_be_looked_at() {
        let keep = keeps(&mined_over_time(&rows(17, |_| false)).rules);
        assert!(keep.len() == 1 && keep[0].0 == DustStatus::Review, "{keep:?}");
        assert!(keeps(&mined_over_time(&rows(8, |_| false)).rules).is_empty());
    }

    #[test]
    fn one_late_name_that_matters_is_enough() {
        let found = mined_over_time(&rows(28, |name| name == 27));
        let keep = keeps(&found.rules);
        assert!(keep.iter().all(|(status, _)| *status == DustStatus::Review), "{keep:?}");
        assert!(keep.iter().all(|(_, kept)| kept.contains(&word(27))), "{keep:?}");
        let found = mined_over_time(&rows(28, |name| name % 4 == 0));
        assert!(keeps(&found.rules).is_empty(), "one of four matters");
    }

    #[test]
    fn without_times_nothing_is_known_of_what_arrives() {
        let rows = rows(28, |_| false);
        let untimed: Vec<(String, String)> =
            rows.into_iter().map(|(url, _, shown)| (url, shown)).collect();
        let found = mined(&untimed);
        let keep = keeps(&found.rules);
        assert!(keep.len() == 1 && keep[0].0 == DustStatus::Review, "{keep:?}");
    }
}
