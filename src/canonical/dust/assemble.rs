//! The rules of every site put together: hosts, origins, and what `order.rs` makes of the rest.

use std::collections::{BTreeMap, BTreeSet};

use super::compile::{Act, Compiled};
use super::glob::Glob;
use super::order;
use super::rule::{DustStatus, RuleFile};
use super::site::SiteRules;
use crate::limits::{DUST_SITE_RULES_MAX, DUST_SITE_RULES_TOTAL_MAX};

/// The rules of all sites, or those that must go first.
pub(super) struct Assembled {
    pub(super) sites: BTreeMap<Vec<u8>, SiteRules>,
    pub(super) hosts: BTreeMap<Vec<u8>, (Vec<u8>, u32)>,
    pub(super) refused: Vec<(u32, String)>,
}

/// Guarded parameters, with the pattern of the path, by site.
pub(super) type Guards = BTreeMap<Vec<u8>, Vec<(Box<[u8]>, Glob)>>;

/// Puts the rules of every site together, those of the domains above it included, but for `out`.
pub(super) fn assemble(
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
pub(super) fn names_above(name: &[u8]) -> impl Iterator<Item = &[u8]> {
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
    (found.status == DustStatus::Manual, weight.max(0.0).to_bits(), std::cmp::Reverse(rule))
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
