//! Rules of single sites, from a rule file: what they say, whether they hold together, and their
//! application.
//!
//! ```text
//! TOML ── file.rs ──> RuleFile ── compile.rs ──> one rule checked ── order.rs ──> rules of a site
//!                     (rule.rs)                                    in order ── site.rs ──> applied
//! ```
//!
//! Rules are applied to URLs that are canonical otherwise. What cannot be proved to be idempotent is
//! refused; `docs/rules-format.md` says how.

mod compile;
mod file;
mod glob;
mod lint;
mod order;
mod rule;
mod site;
mod target;
mod template;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use rule::{DustRule, Evidence, Guard, Kind, RuleFile, RuleScope, Status, Trap, When};

use super::names::Outlines;
use super::profile::{Profile, Slash};
use super::reference;
use super::rules::RuleId;
use crate::error::{Error, Result};
use crate::limits::{DUST_SITE_RULES_MAX, DUST_SITE_RULES_TOTAL_MAX, HOST_BYTES_MAX};
use compile::{Act, Compiled};
use site::SiteRules;
pub(super) use target::Target;

/// The rules of a rule file that are in force, ready to be applied. Shared by all threads.
#[derive(Clone, Debug, Default)]
pub struct DustRules {
    sites: HashMap<Box<[u8]>, SiteRules, ahash::RandomState>,
    /// Hosts that are others: what stands for them, and the rule that says so.
    hosts: HashMap<Box<[u8]>, (Box<[u8]>, u32), ahash::RandomState>,
    /// What the hosts and sites look like. Most hosts are told from them here.
    outlines: Outlines,
    /// For digests: the rules in force as TOML.
    text: String,
    /// The rules of the file in one line each.
    titles: Vec<String>,
}

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
    pub status: Status,
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
    /// - Failure: none; what is wrong or cannot be proved to be idempotent is left out and told.
    ///   Where rules undo each other's work the weakest goes: learned before written by hand, then
    ///   by bound times gain.
    /// - Limits: [`DUST_SITE_RULES_MAX`] rules for each site.
    pub fn compile(file: &RuleFile) -> Compilation {
        let mut compilation = Compilation::default();
        let refuse = |number: usize, why: &str| {
            let rule = &file.rules[number];
            let why =
                format!("rule {} ({}): {why}", number + 1, crate::bytes::printable(&rule.title()));
            Refusal { rule: Some(number), status: rule.status, why }
        };
        let mut by_site: BTreeMap<Vec<u8>, Vec<Compiled>> = BTreeMap::new();
        for (number, rule) in file.rules.iter().enumerate() {
            match compile::compile(number, rule) {
                Err(error) => compilation.refused.push(refuse(number, &error.to_string())),
                Ok((site, compiled)) if rule.status.is_in_force() => {
                    by_site.entry(site).or_default().push(compiled);
                }
                Ok(_) => {}
            }
        }
        let mut guards: BTreeMap<Vec<u8>, Vec<(Box<[u8]>, glob::Glob)>> = BTreeMap::new();
        for (number, guard) in (1..).zip(&file.guards) {
            match compile::host("site", &guard.site)
                .and_then(|site| Ok((site, compile::path_pattern(&guard.path)?)))
            {
                Ok((site, path)) => {
                    let param = guard.param.as_bytes().into();
                    guards.entry(site).or_default().push((param, path));
                }
                Err(error) => compilation.refused.push(Refusal {
                    rule: None,
                    status: Status::Manual,
                    why: format!("guard {number}: {error}"),
                }),
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
        let in_force = |(number, rule): (usize, &DustRule)| {
            let is_in = rule.status.is_in_force() && !out.contains(&(number as u32));
            // What is measured or said of a rule does not change a URL.
            let bare = DustRule {
                evidence: None,
                note: String::new(),
                status: Status::Manual,
                ..rule.clone()
            };
            is_in.then_some(bare)
        };
        let said = RuleFile {
            rules: file.rules.iter().enumerate().filter_map(in_force).collect(),
            guards: file.guards.clone(),
            ..RuleFile::default()
        };
        rules.text = said.to_toml();
        for (name, site) in sites {
            rules.outlines.add_exact(&name);
            rules.sites.insert(name.into(), site);
        }
        for (from, (to, rule)) in hosts {
            rules.outlines.add_exact(&from);
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
        // Bet: no name that the host is under looks like one that has rules.
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

    /// Applies the rules to `target`; returns whether anything changed. `target.fired` tells which
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

    /// The same rules where `profile` is in force, which may not want what a rule writes: a host
    /// with `www`, a scheme, a slash. What stands for others is then what the profile makes of it;
    /// a rule against the profile goes.
    #[must_use]
    pub(super) fn under(mut self, profile: &Profile) -> DustRules {
        if self.is_empty() {
            return self;
        }
        let mut bare = profile.clone();
        bare.rules.remove(RuleId::Dust);
        let settled = |host: &[u8]| -> Option<Vec<u8>> {
            let url = [b"http://", host, b"/"].concat();
            let mut out = Vec::new();
            reference::canonical(&url, &bare, &mut out).ok()?;
            crate::parts::host_of(&out).map(<[u8]>::to_vec)
        };
        let mut names: Vec<Box<[u8]>> = self.hosts.keys().cloned().collect();
        names.sort_unstable();
        let mut hosts = HashMap::default();
        for from in names {
            let Some((mut to, rule)) = self.hosts.get(&from).cloned() else { continue };
            // Each step is another host; a circle means that the profile turns a rule around.
            let mut seen = BTreeSet::from([from.clone()]);
            loop {
                to = settled(&to).map_or(to, Box::from);
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
        let has_scheme = profile.rules.contains(RuleId::Scheme);
        let adds_slash = profile.options.slash == Slash::Add;
        for site in self.sites.values_mut() {
            if has_scheme {
                site.origins.retain(|rule| !matches!(rule.act, Act::Scheme { .. }));
            }
            if adds_slash {
                site.drop_suffix(b"/");
            }
        }
        self
    }
}

impl Compilation {
    /// The rules, or an error that names the first one by hand that was refused.
    pub fn strict(self) -> Result<DustRules> {
        match self.refused.into_iter().find(|refusal| refusal.status != Status::Auto) {
            Some(refusal) => Err(Error::config(refusal.why)),
            None => Ok(self.rules),
        }
    }
}

/// The rules of all sites, or those that must go first.
struct Assembled {
    sites: BTreeMap<Vec<u8>, SiteRules>,
    hosts: BTreeMap<Vec<u8>, (Vec<u8>, u32)>,
    refused: Vec<(u32, String)>,
}

type Guards = BTreeMap<Vec<u8>, Vec<(Box<[u8]>, glob::Glob)>>;

/// Puts the rules of every site together, those of the domains above it included, but for `out`.
fn assemble(
    file: &RuleFile,
    by_site: &BTreeMap<Vec<u8>, Vec<Compiled>>,
    guards: &Guards,
    out: &BTreeSet<u32>,
) -> Assembled {
    let mut found =
        Assembled { sites: BTreeMap::new(), hosts: BTreeMap::new(), refused: Vec::new() };
    let is_weaker = |a: u32, b: u32| strength(file, a) < strength(file, b);
    alias_hosts(by_site, out, &is_weaker, &mut found);
    let mut total = 0;
    for name in by_site.keys().chain(guards.keys()).collect::<BTreeSet<_>>() {
        let mut rules: Vec<Compiled> = Vec::new();
        let mut guarded = Vec::new();
        for above in names_above(name) {
            let held = by_site.get(above).into_iter().flatten();
            rules.extend(held.filter(|rule| !out.contains(&rule.rule)).cloned());
            guarded.extend(guards.get(above).into_iter().flatten().cloned());
        }
        rules.retain(|rule| !matches!(rule.act, Act::Host { .. }));
        total += rules.len();
        if rules.len() > DUST_SITE_RULES_MAX || total > DUST_SITE_RULES_TOTAL_MAX {
            rules.sort_by_key(|rule| rule.rule);
            let is_full = total > DUST_SITE_RULES_TOTAL_MAX;
            total -= rules.len();
            let last = rules.split_off(if is_full { 0 } else { DUST_SITE_RULES_MAX });
            let many = format!("more than {DUST_SITE_RULES_MAX} rules for one site");
            found.refused.extend(last.into_iter().map(|rule| (rule.rule, many.clone())));
            continue;
        }
        if rules.is_empty() {
            continue;
        }
        let origins = take(&mut rules, |act| matches!(act, Act::Scheme { .. } | Act::Port { .. }));
        let substitutions = take(&mut rules, |act| matches!(act, Act::Substitute { .. }));
        let origins = sort_origins(origins, &is_weaker, &mut found.refused);
        if let Some(by) = substitutions.first() {
            rules.retain(|rule| {
                let keeps = rule.act.shrinks();
                if !keeps {
                    let text = format!(
                        "may not stand beside a substitution (rule {}), unless what it writes is smaller \
                         than what it replaces",
                        by.rule + 1
                    );
                    found.refused.push((rule.rule, text));
                }
                keeps
            });
        }
        let guards_have_paths = guarded.iter().any(|(_, path)| !path.is_all());
        let sorted = order::sort(rules, guards_have_paths, is_weaker);
        found.refused.extend(sorted.refused.into_iter().map(|(rule, with)| {
            let text = match rule == with {
                true => "what it writes could be rewritten by it again; one of them must be narrower"
                    .to_string(),
                false => format!(
                    "it cannot be proved that it and rule {} do not undo each other's work; make one of \
                     them narrower, or leave one out",
                    with + 1
                ),
            };
            (rule, text)
        }));
        let site = SiteRules::new(origins, sorted.groups, substitutions, guarded);
        found.sites.insert(name.clone(), site);
    }
    found
}

/// `name` and the domains above it.
fn names_above(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(name);
    std::iter::from_fn(move || {
        let name = rest?;
        rest = memchr::memchr(b'.', name).map(|at| &name[at + 1..]);
        Some(name)
    })
}

fn take(rules: &mut Vec<Compiled>, wanted: impl Fn(&Act) -> bool) -> Vec<Compiled> {
    let (taken, rest) = std::mem::take(rules).into_iter().partition(|rule| wanted(&rule.act));
    *rules = rest;
    taken
}

/// How much speaks for a rule: by hand or not, then bound times gain, then being first.
fn strength(file: &RuleFile, rule: u32) -> (bool, u64, std::cmp::Reverse<u32>) {
    let found = &file.rules[rule as usize];
    let weight = found.evidence.as_ref().map_or(0.0, |one| one.bound * one.gain_urls as f64);
    (found.status == Status::Manual, weight.max(0.0).to_bits(), std::cmp::Reverse(rule))
}

/// Follows host aliases to their ends. A host that is two others, or itself in the end, is an error
/// of the weakest rule.
fn alias_hosts(
    by_site: &BTreeMap<Vec<u8>, Vec<Compiled>>,
    out: &BTreeSet<u32>,
    is_weaker: &impl Fn(u32, u32) -> bool,
    found: &mut Assembled,
) {
    let mut next: BTreeMap<&[u8], (&[u8], u32)> = BTreeMap::new();
    for rule in by_site.values().flatten().filter(|rule| !out.contains(&rule.rule)) {
        let Act::Host { from, to } = &rule.act else { continue };
        let new = (to.as_slice(), rule.rule);
        match next.get(from.as_slice()) {
            Some((known, _)) if *known == new.0 => {}
            Some((_, other)) => {
                let (weak, strong) =
                    if is_weaker(new.1, *other) { (new.1, *other) } else { (*other, new.1) };
                let text = format!("the host is another already, by rule {}", strong + 1);
                found.refused.push((weak, text));
                if weak != new.1 {
                    next.insert(from, new);
                }
            }
            None => {
                next.insert(from, new);
            }
        }
    }
    // Every host is followed once: `done` remembers where its way ends.
    let mut done: BTreeMap<&[u8], &[u8]> = BTreeMap::new();
    for start in next.keys().copied() {
        let (mut way, mut on_way, mut at) = (Vec::new(), BTreeSet::new(), start);
        let end = loop {
            if let Some(end) = done.get(at) {
                break *end;
            }
            let Some((to, _)) = next.get(at) else { break at };
            if !on_way.insert(at) {
                let circle = way.iter().skip_while(|name| **name != at);
                let weakest = circle.map(|name| next[name].1).min_by(|a, b| {
                    if is_weaker(*a, *b) {
                        std::cmp::Ordering::Less
                    } else {
                        std::cmp::Ordering::Greater
                    }
                });
                if let Some(rule) = weakest {
                    found.refused.push((rule, "its host is itself in the end".to_string()));
                }
                break at;
            }
            way.push(at);
            at = to;
        };
        for name in way {
            done.insert(name, end);
        }
    }
    for (from, (_, rule)) in &next {
        let end = done.get(from).copied().unwrap_or(from);
        found.hosts.insert(from.to_vec(), (end.to_vec(), *rule));
    }
}

/// Ports first, then schemes; none may lead to another.
fn sort_origins(
    mut origins: Vec<Compiled>,
    is_weaker: &impl Fn(u32, u32) -> bool,
    refused: &mut Vec<(u32, String)>,
) -> Vec<Compiled> {
    origins.sort_by_key(|rule| (matches!(rule.act, Act::Scheme { .. }), rule.rule));
    let mut kept: Vec<Compiled> = Vec::new();
    for rule in origins {
        let clash = kept.iter().position(|other| match (&rule.act, &other.act) {
            (Act::Port { from, to }, Act::Port { from: a, to: b })
            | (Act::Scheme { from, to }, Act::Scheme { from: a, to: b }) => {
                to == a || b == from || from == a && to != b
            }
            _ => false,
        });
        let Some(at) = clash else {
            kept.push(rule);
            continue;
        };
        let (weak, strong) = if is_weaker(rule.rule, kept[at].rule) {
            (rule.rule, kept[at].rule)
        } else {
            (std::mem::replace(&mut kept[at], rule).rule, kept[at].rule)
        };
        refused.push((weak, format!("it and rule {} undo each other's work", strong + 1)));
    }
    kept
}
