//! Rules of single sites, from a rule file: what they say, whether they hold together, and their
//! application.
//!
//! ```text
//! TOML ── file.rs ──> RuleFile ── compile.rs ──> one rule checked ── order/ ───> rules of a site
//!                     (rule.rs)                                    in order ── site.rs ──> applied
//! ```
//!
//! Rules are applied to URLs that are canonical otherwise. What cannot be proved to be idempotent
//! is refused; `docs/rules-format.md` says how.

mod assemble;
pub(super) mod compile;
mod file;
mod order;
pub(super) mod patterns;
pub(super) mod rule;
mod site;
mod spelled;
mod target;
#[cfg(test)]
mod tests;
mod texts;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

pub use rule::{
    DustCondition, DustKind, DustRule, DustStatus, Evidence, Guard, RuleFile, RuleScope, Stratum,
    Trap,
};

use super::names::Outlines;
use crate::error::{Error, Result};
use crate::limits::HOST_BYTES_MAX;
use assemble::{Assembled, Guards, assemble};
use compile::{Act, Compiled};
use patterns::glob::Glob;
use site::{SiteRules, push};
pub(super) use spelled::Spelled;
pub(super) use target::Target;

/// The rules of a rule file that are in force, ready to be applied. Shared by all threads.
#[derive(Clone, Debug, Default)]
pub struct DustRules {
    sites: HashMap<Box<[u8]>, SiteRules, ahash::RandomState>,
    /// Hosts that are others.
    hosts: HashMap<Box<[u8]>, Alias, ahash::RandomState>,
    /// What the hosts and sites look like. Most other hosts are ruled out by that alone.
    outlines: Outlines,
    /// What the rules were compiled from, without what is measured or said of them.
    source: Arc<RuleFile>,
    /// For digests: the rules in force as TOML.
    text: String,
    /// The rules of the file in one line each.
    titles: Vec<String>,
}

/// The host that replaces another, and the rule that does so.
type Alias = (Box<[u8]>, u32);

/// What became of a rule file.
#[derive(Clone, Debug, Default)]
pub struct Compilation {
    /// The rules that are in force and hold together.
    pub rules: DustRules,
    /// Those that were left out.
    pub refused: Vec<Refusal>,
}

/// A rule that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its place in [`RuleFile::rules`], from 0; `None`: a guard is at fault.
    pub rule: Option<usize>,
    /// Its status.
    pub status: DustStatus,
    /// What is wrong with it: a message that names it.
    pub why: String,
}

impl DustRules {
    /// Reads and compiles a rule file.
    ///
    /// Failure: a configuration error that names the first rule that was written by hand and is
    /// refused. Refused rules that were learned are left out.
    pub fn parse(text: &str) -> Result<DustRules> {
        DustRules::compile(&RuleFile::parse(text)?).strict()
    }

    /// Compiles the rules of `file` that are in force. Those of status `review` and `off` are
    /// checked, each by itself, and left out.
    ///
    /// - Failure: none; what is wrong or cannot be proved to be idempotent is left out and
    ///   reported.
    ///   Where rules undo each other's work the weakest goes: learned before written by hand, then
    ///   by bound times gain.
    /// - Limits: [`DUST_SITE_RULES_MAX`](crate::limits::DUST_SITE_RULES_MAX) rules for each site.
    pub fn compile(file: &RuleFile) -> Compilation {
        DustRules::compile_as(file, &Spelled::default())
    }

    /// Just this rule, as if it were in force and there were no guards; none if it is refused.
    pub fn alone(rule: &DustRule) -> DustRules {
        let rule = DustRule { status: DustStatus::Auto, ..rule.clone() };
        DustRules::compile(&RuleFile { rules: vec![rule], ..RuleFile::default() }).rules
    }

    /// What [`DustRules::compile`] does, for rules and guards as they are `spelled`.
    fn compile_as(file: &RuleFile, spelled: &Spelled) -> Compilation {
        let mut compilation = Compilation::default();
        let refuse = |number: usize, why: &str| {
            let rule = &file.rules[number];
            let why =
                format!("rule {} ({}): {why}", number + 1, crate::bytes::printable(&rule.title()));
            Refusal { rule: Some(number), status: rule.status, why }
        };
        let mut by_site: BTreeMap<Vec<u8>, Vec<Compiled>> = BTreeMap::new();
        for (number, rule) in file.rules.iter().enumerate() {
            for form in spelled.of_rule(number, rule) {
                match compile::compile(number, form) {
                    Err(error) => compilation.refused.push(refuse(number, &error.to_string())),
                    Ok((site, compiled)) if rule.status.is_in_force() => {
                        push(by_site.entry(site).or_default(), compiled);
                    }
                    Ok(_) => {}
                }
            }
        }
        let mut guards = Guards::new();
        for (number, guard) in file.guards.iter().enumerate() {
            for form in spelled.of_guard(number, guard) {
                match compile::host("site", &form.site)
                    .and_then(|site| Ok((site, compile::path_pattern(&form.path)?)))
                {
                    Ok((site, path)) => {
                        let param = form.param.as_bytes().into();
                        guards.entry(site).or_default().push((param, path));
                    }
                    Err(error) => compilation.refused.push(Refusal {
                        rule: None,
                        status: DustStatus::Manual,
                        why: format!("guard {}: {error}", number + 1),
                    }),
                }
            }
        }
        // Rules that are refused on one site are refused on all, and then the rest is seen anew.
        let mut out: BTreeSet<u32> = BTreeSet::new();
        loop {
            let found = assemble(file, &by_site, &guards, &out);
            if found.refused.is_empty() {
                let Assembled { sites, hosts, .. } = found;
                compilation.rules = DustRules::new(file, sites, hosts, &out);
                break;
            }
            for (rule, why) in found.refused {
                if out.insert(rule) {
                    compilation.refused.push(refuse(rule as usize, &why));
                }
            }
        }
        compilation.refused.sort_by_key(|refusal| refusal.rule);
        compilation
    }

    fn new(
        file: &RuleFile,
        sites: BTreeMap<Vec<u8>, SiteRules>,
        hosts: BTreeMap<Vec<u8>, (Vec<u8>, u32)>,
        out: &BTreeSet<u32>,
    ) -> DustRules {
        let mut rules = DustRules {
            titles: file.rules.iter().map(DustRule::title).collect(),
            ..DustRules::default()
        };
        if sites.is_empty() && hosts.is_empty() {
            return rules;
        }
        let is_in_force = |number: usize, rule: &DustRule| {
            rule.status.is_in_force() && !out.contains(&(number as u32))
        };
        // Evidence and notes of a rule do not change a URL.
        let bare =
            |rule: &DustRule| DustRule { status: DustStatus::Manual, ..rule.with_evidence(None) };
        let said =
            file.rules.iter().enumerate().filter(|(number, rule)| is_in_force(*number, rule));
        let said = said.map(|(_, rule)| bare(rule).to_toml());
        for (at, piece) in said.chain(file.guards.iter().map(Guard::to_toml)).enumerate() {
            rules.text.push_str(if at == 0 { "" } else { "\n" });
            rules.text.push_str(&piece);
        }
        let source = file.rules.iter().enumerate().map(|(number, rule)| {
            // What one rule weighs against another stays.
            let evidence = rule.evidence.as_ref().map(Evidence::without_examples);
            let status = if out.contains(&(number as u32)) { DustStatus::Off } else { rule.status };
            DustRule { status, ..rule.with_evidence(evidence) }
        });
        rules.source = Arc::new(RuleFile {
            rules: source.collect(),
            guards: file.guards.clone(),
            ..RuleFile::default()
        });
        for (name, site) in sites {
            rules.outlines.add(&name);
            rules.sites.insert(name.into(), site);
        }
        for (from, (to, rule)) in hosts {
            rules.outlines.add(&from);
            rules.hosts.insert(from.into(), (to.into(), rule));
        }
        rules
    }

    /// No rule in force?
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty() && self.hosts.is_empty()
    }

    /// The rule with the number `rule`, from 0, in one line.
    pub fn title(&self, rule: usize) -> Option<&str> {
        self.titles.get(rule).map(String::as_str)
    }

    /// Everything that decides a canonical form, as text.
    pub(super) fn describe(&self) -> &str {
        &self.text
    }

    /// Is there a rule for `host`, which is canonical but for the case of letters?
    #[inline]
    pub(super) fn may_apply(&self, host: &[u8]) -> bool {
        // Bet: neither the host nor a domain above it looks like one that has rules.
        let has_rules = |name| self.outlines.may_have(name) && self.knows(name);
        has_rules(host) || memchr::memchr_iter(b'.', host).any(|dot| has_rules(&host[dot + 1..]))
    }

    #[inline(never)]
    fn knows(&self, name: &[u8]) -> bool {
        let mut buffer = [0; HOST_BYTES_MAX];
        let Some(lower) = buffer.get_mut(..name.len()) else { return false };
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        self.sites.contains_key(&*lower) || self.hosts.contains_key(&*lower)
    }

    /// The rules for `host`: those of the longest name it is under.
    #[inline]
    fn site(&self, host: &[u8]) -> Option<&SiteRules> {
        if host.len() > HOST_BYTES_MAX {
            return None;
        }
        let mut name = host;
        loop {
            if self.outlines.may_have(name)
                && let Some(site) = self.sites.get(name)
            {
                return Some(site);
            }
            name = &name[memchr::memchr(b'.', name)? + 1..];
        }
    }

    /// Applies the rules to `target`; returns whether anything changed. `target.fired` says which
    /// rules changed something.
    pub(super) fn apply(&self, target: &mut Target) -> bool {
        target.fired.clear();
        let mut changed = false;
        if self.outlines.may_have(&target.host)
            && let Some((to, rule)) = self.hosts.get(target.host.as_slice())
        {
            target.host.clear();
            target.host.extend_from_slice(to);
            target.fired.push(*rule);
            changed = true;
        }
        match self.site(&target.host) {
            Some(site) => site.apply(target) | changed,
            None => changed,
        }
    }

    /// The rules of the file that hold together and are in force, by number from 0, in an order in
    /// which each may be applied to all URLs before the next: hosts first, then what each site asks
    /// for. Where a site and one below it ask for different orders, that of the first is taken.
    pub fn in_order(&self) -> Vec<usize> {
        let mut sites: Vec<(&[u8], &SiteRules)> =
            self.sites.iter().map(|(name, site)| (&**name, site)).collect();
        sites.sort_unstable_by_key(|(name, _)| *name);
        let mut after: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        let mut waits: BTreeMap<u32, usize> = BTreeMap::new();
        for (_, site) in sites {
            let rules = site.in_order();
            for rule in &rules {
                waits.entry(*rule).or_insert(0);
            }
            for pair in rules.windows(2).filter(|pair| pair[0] != pair[1]) {
                if after.entry(pair[0]).or_default().insert(pair[1]) {
                    *waits.entry(pair[1]).or_insert(0) += 1;
                }
            }
        }
        let mut out: Vec<usize> = self.aliases_in_order();
        let mut ready: BTreeSet<u32> = BTreeSet::new();
        ready.extend(waits.iter().filter(|(_, before)| **before == 0).map(|(rule, _)| *rule));
        while let Some(rule) = ready.pop_first().or_else(|| waits.keys().next().copied()) {
            if waits.remove(&rule).is_none() {
                continue;
            }
            out.push(rule as usize);
            for next in after.remove(&rule).unwrap_or_default() {
                if let Some(before) = waits.get_mut(&next) {
                    *before -= 1;
                    if *before == 0 {
                        ready.insert(next);
                    }
                }
            }
        }
        out
    }

    /// The rules for hosts, each before those for the host that it leads to.
    fn aliases_in_order(&self) -> Vec<usize> {
        let mut next: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
        let mut rules: BTreeSet<usize> = BTreeSet::new();
        #[allow(clippy::iter_over_hash_type)] // Into a set, so the order does not matter.
        for (_, rule) in self.hosts.values() {
            rules.insert(*rule as usize);
        }
        for rule in &rules {
            if let DustKind::HostAlias { from, to } = &self.source.rules[*rule].kind {
                next.insert(from, (to, *rule));
            }
        }
        let steps = |rule: &usize| match &self.source.rules[*rule].kind {
            DustKind::HostAlias { to, .. } => {
                let way = std::iter::successors(next.get(to.as_str()), |(to, _)| next.get(to));
                way.take(next.len()).count()
            }
            _ => 0,
        };
        let mut out: Vec<usize> = rules.iter().copied().collect();
        out.sort_by_key(|rule| (std::cmp::Reverse(steps(rule)), *rule));
        out
    }

    /// The rules that change `url`, a URL that is canonical but for them, by number from 0, in the
    /// order in which they do.
    pub fn fired(&self, url: &[u8]) -> Vec<usize> {
        let mut target = Target::default();
        if target.read(url).is_none() {
            return Vec::new();
        }
        self.apply(&mut target);
        let mut rules: Vec<usize> = target.fired.iter().map(|rule| *rule as usize).collect();
        rules.dedup();
        rules
    }

    /// The same rules as they are `spelled` elsewhere, where `spell` spells hosts.
    pub(crate) fn respelled(
        mut self,
        spelled: &Spelled,
        spell: impl Fn(&str) -> String,
    ) -> DustRules {
        if !spelled.is_same() {
            // Large files should not be in memory twice: what is not taken is dropped here.
            let DustRules { titles, source, .. } = std::mem::take(&mut self);
            let rules = DustRules::compile_as(&source, spelled).rules;
            self = DustRules { titles, source, ..rules };
        }
        let settled = |host: &[u8]| Box::from(spell(&String::from_utf8_lossy(host)).into_bytes());
        let mut names: Vec<Box<[u8]>> = self.hosts.keys().cloned().collect();
        names.sort_unstable();
        let mut hosts = HashMap::default();
        for from in names {
            let Some((mut to, rule)) = self.hosts.get(&from).cloned() else { continue };
            // Each step is a different host; a cycle means that the spelling reverses a rule.
            let mut seen = BTreeSet::from([from.clone()]);
            loop {
                to = settled(&to);
                match self.hosts.get(&to) {
                    Some((next, _)) if seen.insert(to.clone()) => to = next.clone(),
                    _ => break,
                }
            }
            if to != from {
                hosts.insert(from, (to, rule));
            }
        }
        self.hosts = hosts;
        self
    }

    /// The same rules without those that choose a scheme.
    pub(crate) fn without_schemes(mut self) -> DustRules {
        #[allow(clippy::iter_over_hash_type)] // Each by itself, so the order does not matter.
        for site in self.sites.values_mut() {
            site.origins.retain(|rule| !matches!(rule.act, Act::Scheme { .. }));
        }
        self
    }

    /// What the rules were compiled from.
    pub(crate) fn source(&self) -> &RuleFile {
        &self.source
    }
}

/// The pattern of a path, as rules and guards have it.
#[derive(Clone, Debug)]
pub struct PathPattern(Glob);

impl PathPattern {
    /// Reads a pattern; `None` if `text` is none.
    pub fn parse(text: &str) -> Option<PathPattern> {
        compile::path_pattern(text).ok().map(PathPattern)
    }

    /// Is there a path that both match? May wrongly return true.
    pub fn meets(&self, other: &PathPattern) -> bool {
        self.0.meets(&other.0)
    }
}

impl Compilation {
    /// The rules, or an error that names the first one by hand that was refused.
    pub fn strict(self) -> Result<DustRules> {
        match self.refused.into_iter().find(|refusal| refusal.status == DustStatus::Manual) {
            Some(refusal) => Err(Error::config(refusal.why)),
            None => Ok(self.rules),
        }
    }
}
