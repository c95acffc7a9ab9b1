//! What was learned of all sites, as one rule file.

use std::collections::BTreeMap;

use crate::canonical::{
    Canonicalizer, DustRule, DustRules, DustStatus, RuleFile, Scratch, Settings,
};
use crate::error::Result;
use crate::pipeline::Learned;

/// The profile before rules of sites: what preserves semantics, and nothing else.
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
    /// Takes the rules of all sites, which do not keep them, as one file. A rule that the compiler
    /// refuses is left to be looked at.
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
        let in_force = with_rules(compilation.rules)?;
        keep_equal_examples(&mut file.rules, &in_force)?;
        Ok(LearnedRules { file, in_force })
    }
}

/// Leaves out examples that differ by more than the rules take away: such pairs speak for a rule,
/// but `rules test` would find them unequal. A rule that is not in force is judged by itself, as
/// there.
fn keep_equal_examples(rules: &mut [DustRule], in_force: &Canonicalizer) -> Result<()> {
    let mut scratch = Scratch::default();
    for rule in rules {
        let alone;
        let canonicalizer = if rule.status == DustStatus::Review {
            alone = with_rules(DustRules::alone(rule))?;
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

/// The base profile with rules of sites.
fn with_rules(dust: DustRules) -> Result<Canonicalizer> {
    let profile = Some(BASE_PROFILE.to_string());
    Ok(Canonicalizer::new(Settings { profile, dust, ..Settings::default() }.build()?))
}
