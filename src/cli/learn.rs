//! `learn`: mines the rules of sites, and judges them where the truth is known.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::args::LearnArgs;
use super::progress::Progress;
use super::session::Session;
use super::words::{count_of, is_watched, say};
use super::{DONE, memory};
use crate::bytes::show;
use crate::canonical::{
    Canonicalizer, DustRules, DustStatus, Profile, RuleFile, Scratch, Settings,
};
use crate::error::Result;
use crate::limits::{CONFIG_BYTES_MAX, DUST_RULES_MAX};
use crate::mine::{Miner, Share, Signal};
use crate::pipeline::{self, Job, Learned, Outcome, Spooled, Truth};
use crate::report::number;

/// The profile before rules of sites: what preserves semantics, and nothing else.
const BASE_PROFILE: &str = "rfc3986";

/// The profile with lists that hold for every site, for comparison.
const DICTIONARY: &str = "aggressive";

/// Which resamples an interval is drawn from.
const RESAMPLING_SEED: u64 = 1;

pub(super) fn run(args: &LearnArgs) -> Result<u8> {
    let progress = Progress::new(args.run.quiet);
    memory::give_back_large_blocks();
    let base = Canonicalizer::new(Profile::named(BASE_PROFILE)?);
    let mut session = Session::begin(&args.input, &base, &args.run, &progress)?;
    session.protect(args.evaluate.clone());
    let mut output = session.open_output(None)?;
    let job = &mut session.job;
    let _spooled = match &args.evaluate {
        Some(truth) => {
            // What is wrong with it is told before anything is mined.
            Truth::open(truth)?;
            Some(Spooled::replace(&mut job.input, &job.memory.temp_dir)?)
        }
        None => None,
    };
    let mut learned = pipeline::learn(job, &Miner::new())?;
    let rules_of_sites: Vec<usize> = learned.sites.iter().map(|site| site.rules.len()).collect();
    let (file, in_force) = rule_file(&mut learned)?;
    let mut bytes = 0;
    for piece in file.toml_pieces() {
        output.write(piece.as_bytes())?;
        bytes += piece.len() as u64;
    }
    session.results.finish(output)?;
    if let Some(why) = why_unreadable(bytes, file.rules.len()) {
        say(format_args!("undust: {why}; learn from fewer sites at a time"));
    }
    let is_told = args.run.verbose || is_watched() || file.rules.is_empty();
    if !args.run.quiet && is_told {
        tell(&learned, &file);
        if args.run.verbose {
            tell_sites(&learned, &rules_of_sites);
        }
    }
    if let Some(truth) = &args.evaluate {
        evaluate(&session.job, &learned.outcome, in_force, truth)?;
    }
    session.close(&learned.outcome)?;
    Ok(DONE)
}

/// The rules of all sites, which they do not keep, as one file, and what applies those of them that
/// are in force. A rule that the compiler refuses is left to be looked at.
fn rule_file(learned: &mut Learned) -> Result<(RuleFile, Canonicalizer)> {
    let mut file = RuleFile {
        about: BTreeMap::from([
            ("miner".to_string(), format!("undust {}", env!("CARGO_PKG_VERSION"))),
            ("records".to_string(), learned.outcome.tally.records.to_string()),
            ("sites".to_string(), learned.sites_seen.to_string()),
            ("stage-0".to_string(), format!("{BASE_PROFILE}@1")),
        ]),
        ..RuleFile::default()
    };
    for site in &mut learned.sites {
        file.rules.append(&mut site.rules);
        file.guards.append(&mut site.guards);
        file.traps.append(&mut site.traps);
    }
    let compilation = DustRules::compile(&file);
    for refusal in &compilation.refused {
        if let Some(rule) = refusal.rule.and_then(|rule| file.rules.get_mut(rule)) {
            rule.status = DustStatus::Review;
            rule.note = refusal.why.clone();
        }
    }
    let in_force = built(BASE_PROFILE, compilation.rules)?;
    keep_equal_examples(&mut file, &in_force)?;
    Ok((file, in_force))
}

/// Why no command takes a rule file of so many bytes with so many rules; `None` if they do.
fn why_unreadable(bytes: u64, rules: usize) -> Option<String> {
    match () {
        () if bytes > CONFIG_BYTES_MAX => Some(format!(
            "the rules take {} bytes, and --rules reads {} at most",
            number(bytes),
            number(CONFIG_BYTES_MAX)
        )),
        () if rules > DUST_RULES_MAX => Some(format!(
            "these are {} rules, and --rules reads {} at most",
            number(rules as u64),
            number(DUST_RULES_MAX as u64)
        )),
        () => None,
    }
}

/// Leaves out examples that differ by more than the rules take away: such pairs speak for
/// a rule, but `rules test` would find them unequal. A rule that is not in force is judged
/// by itself, as there.
fn keep_equal_examples(file: &mut RuleFile, in_force: &Canonicalizer) -> Result<()> {
    let mut scratch = Scratch::default();
    for rule in &mut file.rules {
        let alone;
        let canonicalizer = if rule.status == DustStatus::Review {
            alone = built(BASE_PROFILE, DustRules::alone(rule))?;
            &alone
        } else {
            in_force
        };
        let mut form =
            |url: &str| canonicalizer.canonical(url.as_bytes(), &mut scratch).form.to_vec();
        if let Some(evidence) = &mut rule.evidence {
            evidence.examples.retain(|(a, b)| form(a) == form(b));
        }
    }
    Ok(())
}

/// A built-in profile with rules of sites.
fn built(profile: &str, rules: DustRules) -> Result<Canonicalizer> {
    let settings =
        Settings { profile: Some(profile.to_string()), dust: rules, ..Settings::default() };
    Ok(Canonicalizer::new(settings.build()?))
}

/// What was found, in words.
fn tell(learned: &Learned, file: &RuleFile) {
    let count = |status| file.rules.iter().filter(|rule| rule.status == status).count() as u64;
    say(format_args!(
        "{}: {} in force, {} to be reviewed, {}, {}",
        count_of(learned.sites_seen, "site"),
        count_of(count(DustStatus::Auto), "rule"),
        number(count(DustStatus::Review)),
        count_of(file.guards.len() as u64, "guard"),
        count_of(file.traps.len() as u64, "trap")
    ));
}

/// How the URLs of each site are distinguished, and how many rules it has.
fn tell_sites(learned: &Learned, rules_of_sites: &[usize]) {
    for (site, rules) in learned.sites.iter().zip(rules_of_sites) {
        let summary = &site.summary;
        let shown = |Share { value, low, high }| format!("{value:.3} ({low:.3} to {high:.3})");
        let mut stability = summary
            .stability
            .map_or(String::new(), |share| format!(", a URL agrees with itself {}", shown(share)));
        if let Some(share) = summary.confirmed_stability {
            let _ = write!(stability, ", or {} by contents that come back", shown(share));
        }
        say(format_args!(
            "{}: {}, distinguished by {}{stability}; {}",
            show(site.site.as_bytes()),
            count_of(summary.urls, "URL"),
            match summary.signal {
                Signal::Digest => "digest",
                Signal::Size => "size",
                Signal::None => "nothing",
            },
            count_of(*rules as u64, "rule")
        ));
    }
}

/// Prints how much of the redundancy is found, and how many pages are lost, by the base profile, by
/// lists that hold for every site, and by the rules in force.
fn evaluate(job: &Job, learned: &Outcome, in_force: Canonicalizer, truth: &Path) -> Result<()> {
    say(format_args!(
        "\n                        coverage [95 % over sites]      lost pages per million     sites with loss"
    ));
    for (what, canonicalizer) in [
        ("stage 0", built(BASE_PROFILE, DustRules::default())?),
        ("dictionary", built(DICTIONARY, DustRules::default())?),
        ("learned", in_force),
    ] {
        let judged = job.with_canonicalizer(&canonicalizer);
        let evaluation = pipeline::evaluate(&judged, learned, Truth::open(truth)?)?;
        let result = evaluation.result(RESAMPLING_SEED);
        let (coverage, lost) = (result.coverage, result.lost_per_million);
        say(format_args!(
            "{what:<22} {:7.1} % [{:.1} .. {:.1}] {:18.1} [{:.1} .. {:.1}] {:10} of {}",
            100.0 * coverage.value,
            100.0 * coverage.low,
            100.0 * coverage.high,
            lost.value,
            lost.low,
            lost.high,
            evaluation.sites_with_loss(),
            evaluation.sites().len()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_nothing_reads() {
        assert_eq!(why_unreadable(CONFIG_BYTES_MAX, DUST_RULES_MAX), None);
        for (bytes, rules, expected) in [
            (CONFIG_BYTES_MAX + 1, 1, "the rules take 67,108,865 bytes"),
            (1, DUST_RULES_MAX + 1, "these are 1,048,577 rules"),
        ] {
            assert!(why_unreadable(bytes, rules).unwrap().starts_with(expected));
        }
    }
}
