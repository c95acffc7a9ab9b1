//! Mines the rules of single sites from what was seen of their URLs.
//!
//! A site is a pure function of its observations: `table` takes them apart, `signal` measures what
//! equal contents are worth, `votes` and `screen` find candidates, `trials` tries all of them at
//! once, `select` takes out what fails, `emit` writes the rest down. No thread, no clock, no hash
//! order; what a site says is never used for another.

mod bounds;
mod candidates;
mod decay;
mod emit;
mod forms;
mod handlers;
mod observation;
mod paths;
mod priors;
mod propose;
mod screen;
mod select;
mod signal;
mod site;
mod softly;
mod table;
mod trials;
mod votes;

pub use observation::Observation;
pub use site::site_of;
pub use table::Signal;

use crate::canonical::{Canonicalizer, DustRule, Guard, Profile, Trap};
use candidates::Candidate;
use handlers::Handlers;
use select::{Court, Judged};
use signal::Calibration;
use softly::{Soft, soften};
use table::Table;

/// Mines rules, site by site. Shared by all threads.
#[derive(Debug)]
pub struct Miner {
    stage0: Canonicalizer,
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

/// The figures of one site.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Observations that were used.
    pub observations: u64,
    /// Distinct URLs after stage 0.
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
        Miner { stage0: Canonicalizer::new(profile) }
    }

    /// Mines the rules of `site` from its observations.
    ///
    /// - Shape: all observations belong to `site`, see [`site_of`].
    /// - Limits: those of `limits.rs`; a URL beyond them is left out, a site beyond them sampled.
    /// - Determinism: the result depends on the observations as a multiset.
    pub fn mine(&self, site: &str, observations: &[Observation<'_>]) -> SiteRules {
        let table = Table::build(observations, &self.stage0);
        let softs: Vec<Soft> = table.paths.iter().map(|path| soften(path)).collect();
        let plain: Vec<Vec<u8>> = softs.iter().map(Soft::plain).collect();
        let handlers = Handlers::find(&plain);
        let calibration = Calibration::measure(&table);
        let judged = judge(&table, &softs, &handlers, &calibration);
        let text_of = |name: u32, value: u64| {
            let param = table.params.iter().find(|p| p.name == name && p.value == value)?;
            Some(table.bytes(param.text).to_vec())
        };
        let mut rules: Vec<DustRule> = Vec::new();
        for one in judged.iter().filter(|one| one.plausible && one.trials.all.good >= 4) {
            rules.extend(emit::rules(site, &table, &handlers, one, text_of));
        }
        rules.sort_by_key(|rule| (rule.kind.stratum(), rule.status.name(), rule.title()));
        let believed = calibration.believed();
        let share = |count: signal::Count| {
            let (lower, upper) = count.bounds();
            (count.pairs > 0).then_some((count.share(), lower, upper))
        };
        SiteRules {
            site: site.to_string(),
            rules,
            guards: Vec::new(),
            traps: Vec::new(),
            summary: Summary {
                observations: table.observations,
                urls: table.links.len() as u64,
                left_out: table.left_out,
                signal: table.signal,
                stability: share(calibration.raw),
                confirmed_stability: calibration.confirms.then(|| share(believed)).flatten(),
                hot_contents: calibration.hot.iter().filter(|hot| **hot).count() as u64,
            },
        }
    }
}

fn judge(
    table: &Table,
    softs: &[Soft],
    handlers: &Handlers,
    calibration: &Calibration,
) -> Vec<Judged> {
    if table.signal == Signal::None {
        return Vec::new();
    }
    let votes = votes::collect(table, softs, calibration);
    let screen = screen::screen(table, softs, &handlers.of_path, calibration);
    let natures = priors::natures(table);
    let mut candidates: Vec<Candidate> = propose::places(table, &votes, &screen);
    candidates.extend(propose::parameters(&votes, &screen, &natures));
    candidates.sort_by(|a, b| a.act.cmp(&b.act));
    let court =
        Court { table, handlers: &handlers.of_path, calibration, natures: &natures, sample: None };
    let judged = court.judge(candidates.clone());
    if std::env::var_os("MINE_DEBUG").is_some() {
        debug(table, &votes, &screen, &candidates, &judged, calibration.text());
    }
    judged
}

fn act_text(table: &Table, act: &candidates::Act) -> String {
    use candidates::Act;
    let n = |x: &u32| String::from_utf8_lossy(&table.names[*x as usize]).into_owned();
    match act {
        Act::Drop(x) => format!("drop {}", n(x)),
        Act::Default(x, v) => {
            let p = table.params.iter().find(|p| p.name == *x && p.value == *v).unwrap();
            format!("default {}={}", n(x), String::from_utf8_lossy(table.bytes(p.text)))
        }
        Act::Host(a, b) => format!(
            "host {} -> {}",
            String::from_utf8_lossy(&table.hosts[*a as usize]),
            String::from_utf8_lossy(&table.hosts[*b as usize])
        ),
        Act::Path(p) => {
            let t = |x: &Vec<u8>| String::from_utf8_lossy(x).into_owned();
            match p {
                paths::PathAct::Prefix(a, b) => format!("prefix {} -> {}", t(a), t(b)),
                paths::PathAct::Extension(a, b) => format!("ext {} -> {}", t(a), t(b)),
                paths::PathAct::Index(a) => format!("index {}", t(a)),
                paths::PathAct::Parameter(a) => format!("pathparam {}", t(a)),
                paths::PathAct::Segment(a) => {
                    format!("segment {}..{}..{}", t(&a.head), a.length, t(&a.tail))
                }
                paths::PathAct::Template(a) => format!(
                    "template {}<>{} -> {}?{}",
                    t(&a.head),
                    t(&a.tail),
                    t(&a.path),
                    t(&a.name)
                ),
                other => format!("{other:?}"),
            }
        }
        other => format!("{other:?}"),
    }
}

fn debug(
    table: &Table,
    votes: &votes::Votes,
    screen: &screen::Screen,
    candidates: &[Candidate],
    judged: &[Judged],
    calibration: String,
) {
    eprintln!(
        "  links {} contents {} captures {}",
        table.links.len(),
        table.contents,
        table.captures.len()
    );
    for (act, n) in votes.iter().filter(|v| *v.1 >= 3) {
        eprintln!("  vote {n} {}", act_text(table, act));
    }
    let mut sum: std::collections::BTreeMap<u32, trials::Tally> = Default::default();
    for ((name, _), tally) in &screen.params {
        sum.entry(*name).or_default().join(tally);
    }
    for (name, t) in sum {
        eprintln!(
            "  screen {} {}/{}",
            String::from_utf8_lossy(&table.names[name as usize]),
            t.good,
            t.trials
        );
    }
    eprintln!("  {calibration}");
    for c in candidates {
        eprintln!("  candidate {} {:?}", act_text(table, &c.act), c.reach);
    }
    for j in judged {
        eprintln!(
            "  judged {} {:?} all {}/{} same {:.3} alone {}/{} contents {} gain {} bound {:.3} doubt {:.4} holds {} guarded {}",
            act_text(table, &j.candidate.act),
            j.candidate.reach,
            j.trials.all.good,
            j.trials.all.trials,
            j.trials.all.mean_same(),
            j.trials.alone.good,
            j.trials.alone.trials,
            j.trials.contents,
            j.trials.gain,
            j.bound,
            j.doubt,
            j.holds,
            j.prior.guarded
        );
    }
}
