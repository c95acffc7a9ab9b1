//! The rules of every site put together: hosts, origins, and what `order/` makes of the rest.

use std::collections::{BTreeMap, BTreeSet};

use super::compile::{Act, Compiled};
use super::order;
use super::patterns::glob::Glob;
use super::rule::{DustStatus, RuleFile};
use super::site::SiteRules;
use crate::bytes::show;
use crate::limits::{DUST_SITE_RULES_MAX, DUST_SITE_RULES_TOTAL_MAX};
use crate::parts::names_above;

/// The rules of all sites, or those that must go first.
pub(super) struct Assembled {
    pub(super) sites: BTreeMap<Vec<u8>, SiteRules>,
    pub(super) hosts: BTreeMap<Vec<u8>, (Vec<u8>, u32)>,
    pub(super) refused: Vec<(u32, String)>,
}

/// Guarded parameters by site.
pub(super) type Guards = BTreeMap<Vec<u8>, SiteGuards>;

/// The guarded parameters of one site, each with the pattern of the path.
type SiteGuards = Vec<(Box<[u8]>, Glob)>;

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
    found.refused = over_limits(by_site, guards, out, &Limits::DEFAULT);
    if !found.refused.is_empty() {
        // Checked before anything is copied for them.
        return found;
    }
    alias_hosts(by_site, out, &is_weaker, &mut found);
    for name in sites(by_site, guards, out) {
        let (rules, guarded) = rules_at(name, by_site, guards, out);
        if rules.is_empty() {
            continue;
        }
        let site = site_of(rules, guarded, &is_weaker, &mut found.refused);
        found.sites.insert(name.clone(), site);
    }
    found
}

/// The rules and guards of the site `name` and of the domains above it; no rules that make one host
/// of two.
fn rules_at(
    name: &[u8],
    by_site: &BTreeMap<Vec<u8>, Vec<Compiled>>,
    guards: &Guards,
    out: &BTreeSet<u32>,
) -> (Vec<Compiled>, SiteGuards) {
    let (mut rules, mut guarded) = (Vec::new(), Vec::new());
    for above in names_above(name) {
        let own = by_site.get(above).into_iter().flatten();
        rules.extend(own.filter(|rule| is_held(rule, out)).cloned());
        guarded.extend(guards.get(above).into_iter().flatten().cloned());
    }
    (rules, guarded)
}

/// Puts the `rules` of one site in order, or into `refused`.
fn site_of(
    mut rules: Vec<Compiled>,
    guarded: SiteGuards,
    is_weaker: &impl Fn(u32, u32) -> bool,
    refused: &mut Vec<(u32, String)>,
) -> SiteRules {
    let origins = take(&mut rules, |act| matches!(act, Act::Scheme { .. } | Act::Port { .. }));
    let substitutions = take(&mut rules, |act| matches!(act, Act::Substitute { .. }));
    let origins = sort_origins(origins, is_weaker, refused);
    if let Some(substitution) = substitutions.first() {
        refuse_beside(substitution, &mut rules, refused);
    }
    let guards_have_paths = guarded.iter().any(|(_, path)| !path.is_all());
    let sorted = order::sort(rules, guards_have_paths, is_weaker);
    let why = |(rule, with)| (rule, why_unordered(rule, with));
    refused.extend(sorted.refused.into_iter().map(why));
    SiteRules::new(origins, sorted.groups, substitutions, guarded)
}

/// Takes those of the `rules` out that may not stand beside a `substitution`: what they write might
/// be replaced again.
fn refuse_beside(
    substitution: &Compiled,
    rules: &mut Vec<Compiled>,
    refused: &mut Vec<(u32, String)>,
) {
    for rule in rules.extract_if(.., |rule| !rule.act.shrinks()) {
        let text = format!(
            "may not stand beside a substitution (rule {}), unless what it writes is smaller than \
             what it replaces",
            substitution.rule + 1
        );
        refused.push((rule.rule, text));
    }
}

/// Why `rule` has no place in an order of the site's rules, because of the rule `with`, which may
/// be the same.
fn why_unordered(rule: u32, with: u32) -> String {
    if rule == with {
        return "what it writes could be rewritten by it again; one of them must be narrower"
            .to_string();
    }
    format!(
        "it cannot be proved that it and rule {} do not undo each other's work; make one of them \
         narrower, or leave one out",
        with + 1
    )
}

/// How many rules there may be.
struct Limits {
    /// For one site.
    site: usize,
    /// For all sites, counted for each that they hold for.
    total: usize,
}

impl Limits {
    const DEFAULT: Limits = Limits { site: DUST_SITE_RULES_MAX, total: DUST_SITE_RULES_TOTAL_MAX };
}

/// The sites that have rules or guards of their own. All others have those of the domain above.
fn sites<'a>(
    by_site: &'a BTreeMap<Vec<u8>, Vec<Compiled>>,
    guards: &'a Guards,
    out: &BTreeSet<u32>,
) -> BTreeSet<&'a Vec<u8>> {
    let with_rules =
        by_site.iter().filter(|(_, rules)| rules.iter().any(|rule| is_held(rule, out)));
    with_rules.map(|(name, _)| name).chain(guards.keys()).collect()
}

/// Is `rule`, unless it is `out`, one of those that are put together for each site?
fn is_held(rule: &Compiled, out: &BTreeSet<u32>) -> bool {
    !out.contains(&rule.rule) && !matches!(rule.act, Act::Host { .. })
}

/// The rules that are too many, and why: the last of a site that has more than it may, and all of a
/// site with which there are more in total. Those of the domains above it stay, unless it has none
/// of its own.
fn over_limits(
    by_site: &BTreeMap<Vec<u8>, Vec<Compiled>>,
    guards: &Guards,
    out: &BTreeSet<u32>,
    limits: &Limits,
) -> Vec<(u32, String)> {
    let held = |name: &[u8]| -> Vec<u32> {
        let rules = by_site.get(name).into_iter().flatten();
        rules.filter(|rule| is_held(rule, out)).map(|rule| rule.rule).collect()
    };
    let counts: BTreeMap<&[u8], usize> =
        by_site.keys().map(|name| (&name[..], held(name).len())).collect();
    let mut names: Vec<_> = sites(by_site, guards, out).into_iter().collect();
    // Domains before those below them.
    names.sort_by_key(|name| memchr::memchr_iter(b'.', name).count());
    let mut refused = Vec::new();
    let mut total = 0;
    for name in names {
        let above = names_above(name).skip(1);
        let inherited: usize = above.filter_map(|name| counts.get(name)).sum();
        if inherited > limits.site {
            // That is reported for a domain above it, and then all is seen anew.
            continue;
        }
        let count = inherited + counts.get(&name[..]).copied().unwrap_or(0);
        if count > limits.site {
            let mut own = held(name);
            own.sort_unstable();
            let text = format!(
                "expected at most {} rules for one site and the domains above it, found {count}; leave some \
                 out",
                limits.site
            );
            let last = own.split_off(limits.site - inherited);
            refused.extend(last.into_iter().map(|rule| (rule, text.clone())));
        } else if total + count > limits.total {
            let own = match held(name) {
                own if own.is_empty() => names_above(name).flat_map(held).collect(),
                own => own,
            };
            let text = format!(
                "expected at most {} rules in total, counted for each site with rules of its own below their \
                 domain, too, found more with those of {}; leave some out, or put rules of many sites below \
                 one domain on that domain, with hosts",
                limits.total,
                show(name)
            );
            refused.extend(own.into_iter().map(|rule| (rule, text.clone())));
        } else {
            total += count;
        }
    }
    refused
}

fn take(rules: &mut Vec<Compiled>, wanted: impl Fn(&Act) -> bool) -> Vec<Compiled> {
    let (taken, rest) = std::mem::take(rules).into_iter().partition(|rule| wanted(&rule.act));
    *rules = rest;
    taken
}

/// The rank of a rule: written by hand or not, then bound times gain, then being first.
fn strength(file: &RuleFile, rule: u32) -> (bool, u64, std::cmp::Reverse<u32>) {
    let found = &file.rules[rule as usize];
    let weight = found.evidence.as_ref().map_or(0.0, |one| one.bound * one.gain_urls as f64);
    (found.status == DustStatus::Manual, weight.max(0.0).to_bits(), std::cmp::Reverse(rule))
}

/// Follows host aliases to their ends. A host with two replacements, or a cycle, is an error of the
/// weakest rule.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::dust::compile::{compile, path_pattern};

    /// The rules that are refused, by number from 0, each with how its message begins.
    fn refused(sites: &[&str], guards: &[&str], limits: &Limits) -> Vec<(u32, String)> {
        let rule =
            |site: &&str| format!("[[rule]]\nsite = '{site}'\nkind = 'drop-param'\nparam = 'a'\n");
        let file = RuleFile::parse(&sites.iter().map(rule).collect::<String>()).unwrap();
        let mut by_site: BTreeMap<Vec<u8>, Vec<Compiled>> = BTreeMap::new();
        for (number, rule) in file.rules.iter().enumerate() {
            let (site, rule) = compile(number, rule).unwrap();
            by_site.entry(site).or_default().push(rule);
        }
        let guard = |site: &&str| {
            (site.as_bytes().to_vec(), vec![(Box::from(&b"a"[..]), path_pattern("").unwrap())])
        };
        let guards: Guards = guards.iter().map(guard).collect();
        let mut out = BTreeSet::new();
        let mut all = Vec::new();
        loop {
            let found = over_limits(&by_site, &guards, &out, limits);
            if found.is_empty() {
                return all;
            }
            out.extend(found.iter().map(|(rule, _)| *rule));
            all.extend(found.into_iter().map(|(rule, text)| (rule, text[..28].to_string())));
        }
    }

    #[test]
    fn too_many_rules() {
        let of_site = |rules: &[u32]| -> Vec<(u32, String)> {
            rules.iter().map(|rule| (*rule, "expected at most 3 rules for".to_string())).collect()
        };
        let in_total = |rules: &[u32]| -> Vec<(u32, String)> {
            rules.iter().map(|rule| (*rule, "expected at most 6 rules in ".to_string())).collect()
        };
        let limits = Limits { site: 3, total: 6 };
        for (sites, guards, expected, why) in [
            (&["x.test"; 3][..], &[][..], of_site(&[]), "as many as there may be"),
            (&["x.test"; 5], &[], of_site(&[3, 4]), "the last of a site go"),
            (
                &["a.x.test", "a.x.test", "x.test", "x.test"],
                &[],
                of_site(&[1]),
                "those of the domain above stay",
            ),
            (
                &["a.x.test", "x.test", "x.test", "x.test", "x.test"],
                &[],
                of_site(&[4, 0]),
                "first those that the domain has too many",
            ),
            (
                &["x.test", "x.test", "a.x.test", "b.x.test", "y.test"],
                &[],
                in_total(&[3]),
                "the last in total, domains before those below them",
            ),
            (
                &["x.test", "x.test", "a.x.test", "b.x.test"],
                &["c.x.test"],
                in_total(&[3, 0, 1]),
                "where a site has guards alone, those above it go",
            ),
        ] {
            assert_eq!(refused(sites, guards, &limits), expected, "{why}");
        }
    }
}
