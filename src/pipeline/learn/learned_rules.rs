//! The learned rules of all sites, as one rule file.

use std::collections::BTreeMap;

use crate::canonical::{Canonicalizer, DustRules, DustStatus, ExampleFault, RuleFile, Settings};
use crate::error::Result;
use crate::pipeline::Learned;

/// The profile that is applied before rules of sites: only rules that preserve semantics.
pub const BASE_PROFILE: &str = "rfc3986";

/// The rules of all sites.
#[derive(Debug)]
pub struct LearnedRules {
    /// The rules as a file for `--rules`.
    pub file: RuleFile,
    /// A canonicalizer that applies those of the rules that are in force.
    pub in_force: Canonicalizer,
}

impl Learned {
    /// Moves the rules of all sites into one file. A rule that the compiler refuses is kept for
    /// review.
    pub fn take_rules(&mut self) -> Result<LearnedRules> {
        let mut file = RuleFile {
            about: BTreeMap::from([
                ("miner".to_string(), format!("undust {}", env!("CARGO_PKG_VERSION"))),
                ("records".to_string(), self.outcome.tally.records.to_string()),
                ("sites".to_string(), self.sites_seen.to_string()),
                ("stage-0".to_string(), format!("{BASE_PROFILE}@1")),
            ]),
            ..RuleFile::default()
        };
        for site in &mut self.sites {
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
        let base = Settings { profile: Some(BASE_PROFILE.to_string()), ..Settings::default() };
        let profile = Settings { dust: compilation.rules, ..base.clone() }.build()?;
        let in_force = Canonicalizer::new(profile);
        leave_out_unequal(&mut file, &base, &in_force)?;
        Ok(LearnedRules { file, in_force })
    }
}

/// Drops examples that still differ after the rules of `file`: such pairs are evidence for a rule,
/// but `rules test` would find them unequal.
fn leave_out_unequal(file: &mut RuleFile, base: &Settings, in_force: &Canonicalizer) -> Result<()> {
    for failure in DustRules::failed_examples(file, base, in_force)? {
        if let (ExampleFault::Unequal(_), Some(evidence)) =
            (failure.found, &mut file.rules[failure.rule].evidence)
        {
            evidence.examples.retain(|example| *example != failure.example);
        }
    }
    Ok(())
}
