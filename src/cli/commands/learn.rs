//! `learn`: mines the rules of sites, and judges them where the truth is known.

use std::fmt::Write as _;
use std::path::Path;

use crate::bytes::decimal::{count_of, with_commas};
use crate::bytes::show;
use crate::canonical::{Canonicalizer, DustStatus, Profile, RuleFile};
use crate::cli::args::LearnArgs;
use crate::cli::session::progress::Progress;
use crate::cli::session::{Session, Wanted};
use crate::cli::words::{is_watched, say};
use crate::cli::{Status, memory};
use crate::error::Result;
use crate::limits::{CONFIG_BYTES_MAX, DUST_RULES_MAX};
use crate::mine::{Miner, Share, Signal};
use crate::pipeline::{self, BASE_PROFILE, Job, Learned, LearnedRules, Outcome, Spooled, Truth};
use crate::report::ClaimedPaths;

/// The profile with lists that hold for every site, for comparison.
const DICTIONARY: &str = "aggressive";

/// Which resamples an interval is drawn from.
const RESAMPLING_SEED: u64 = 1;

pub(crate) fn run(args: &LearnArgs, claims: &mut ClaimedPaths) -> Result<Status> {
    let progress = Progress::new(args.run.quiet);
    memory::give_back_large_blocks();
    let base = built_in(BASE_PROFILE)?;
    let mut session =
        Session::begin(&args.input, &base, &args.run, &progress, Wanted::Fields, claims)?;
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
    let LearnedRules { file, in_force } = learned.take_rules()?;
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
    Ok(Status::Done)
}

/// Why no command takes a rule file of so many bytes with so many rules; `None` if they do.
fn why_unreadable(bytes: u64, rules: usize) -> Option<String> {
    match () {
        () if bytes > CONFIG_BYTES_MAX => Some(format!(
            "the rules take {} bytes, and --rules reads {} at most",
            with_commas(bytes),
            with_commas(CONFIG_BYTES_MAX)
        )),
        () if rules > DUST_RULES_MAX => Some(format!(
            "these are {} rules, and --rules reads {} at most",
            with_commas(rules as u64),
            with_commas(DUST_RULES_MAX as u64)
        )),
        () => None,
    }
}

fn built_in(profile: &str) -> Result<Canonicalizer> {
    Ok(Canonicalizer::new(Profile::named(profile)?))
}

/// What was found, in words.
fn tell(learned: &Learned, file: &RuleFile) {
    let count = |status| file.rules.iter().filter(|rule| rule.status == status).count() as u64;
    say(format_args!(
        "{}: {} in force, {} to be reviewed, {}, {}",
        count_of(learned.sites_seen, "site"),
        count_of(count(DustStatus::Auto), "rule"),
        with_commas(count(DustStatus::Review)),
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
                Signal::CanonicalLink | Signal::CanonicalLinkAlone => "canonical link",
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
        ("stage 0", built_in(BASE_PROFILE)?),
        ("dictionary", built_in(DICTIONARY)?),
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
