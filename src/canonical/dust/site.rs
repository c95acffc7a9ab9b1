//! The rules of one site, applied: one pass in the order that `order/` found.

use std::collections::{BTreeSet, HashMap};

use super::compile::{Act, Compiled, Condition, Name};
use super::order::is_plain_drop;
use super::patterns::glob::Glob;
use super::patterns::letters::fold;
use super::patterns::template::{Captured, Template};
use super::rule::Stratum;
use super::target::Target;
use crate::limits::{DUST_PARAMS_MAX, DUST_PASSES_MAX};

/// What is done to the URLs of one site.
#[derive(Clone, Debug, Default)]
pub(super) struct SiteRules {
    /// Schemes and ports that are others.
    pub(super) origins: Vec<Compiled>,
    steps: Vec<Step>,
    substitutions: Vec<Compiled>,
    guards: HashMap<Box<[u8]>, Vec<Glob>, ahash::RandomState>,
}

#[derive(Clone, Debug)]
enum Step {
    One(Box<Compiled>),
    /// The longest that fits, until none does.
    Suffixes(Vec<Compiled>),
    Drops(Drops),
}

/// Parameters that are dropped, by name.
#[derive(Clone, Debug, Default)]
struct Drops {
    names: HashMap<Box<[u8]>, Vec<Drop>, ahash::RandomState>,
    prefixes: Vec<(Name, Drop)>,
    /// Do some of them go with one value only?
    has_defaults: bool,
}

#[derive(Clone, Debug)]
struct Drop {
    rule: u32,
    condition: Condition,
    /// Only with this value.
    value: Option<Vec<u8>>,
}

/// Appends `item` to `items`, which mostly stay alone: the first takes no room for more, of which
/// there are hundreds of thousands in large files.
pub(super) fn push<T>(items: &mut Vec<T>, item: T) {
    if items.is_empty() {
        items.reserve_exact(1);
    }
    items.push(item);
}

impl SiteRules {
    /// Puts ordered groups together.
    pub(super) fn new(
        origins: Vec<Compiled>,
        groups: Vec<Vec<Compiled>>,
        substitutions: Vec<Compiled>,
        guards: impl IntoIterator<Item = (Box<[u8]>, Glob)>,
    ) -> SiteRules {
        let mut site = SiteRules { origins, substitutions, ..SiteRules::default() };
        for (name, path) in guards {
            site.guards.entry(name).or_default().push(path);
        }
        for mut group in groups {
            if matches!(group[0].act, Act::Suffix { .. }) {
                site.steps.push(Step::Suffixes(group));
                continue;
            }
            for rule in group.drain(..) {
                if !is_plain_drop(&rule) {
                    site.steps.push(Step::One(Box::new(rule)));
                    continue;
                }
                if !matches!(site.steps.last(), Some(Step::Drops(_))) {
                    site.steps.push(Step::Drops(Drops::default()));
                }
                if let Some(Step::Drops(drops)) = site.steps.last_mut() {
                    drops.add(rule);
                }
            }
        }
        site
    }

    /// The numbers of its rules, in the order in which they are applied.
    pub(super) fn in_order(&self) -> Vec<u32> {
        let mut out: Vec<u32> = self.origins.iter().map(|rule| rule.rule).collect();
        for step in &self.steps {
            match step {
                Step::One(rule) => out.push(rule.rule),
                Step::Suffixes(rules) => out.extend(rules.iter().map(|rule| rule.rule)),
                Step::Drops(drops) => out.extend(drops.rules()),
            }
        }
        out.extend(self.substitutions.iter().map(|rule| rule.rule));
        let mut seen = BTreeSet::new();
        out.retain(|rule| seen.insert(*rule));
        out
    }

    /// Applies all rules but those of hosts; returns whether anything changed.
    pub(super) fn apply(&self, target: &mut Target) -> bool {
        let moved = self.apply_origins(target);
        if self.substitutions.is_empty() {
            return self.pass(target) | moved;
        }
        let mut changed = moved;
        // Every change makes path and query smaller, so this ends; it is cut short where a URL is
        // crafted to take long, and then nothing has been done.
        let before = (target.path.clone(), target.query.clone(), target.fired.len());
        for _ in 0..DUST_PASSES_MAX {
            if !(self.pass(target) | self.substitute(target)) {
                return changed;
            }
            changed = true;
        }
        (target.path, target.query) = (before.0, before.1);
        target.fired.truncate(before.2);
        moved
    }

    fn apply_origins(&self, target: &mut Target) -> bool {
        let before = target.fired.len();
        for rule in &self.origins {
            let holds =
                rule.condition.hosts.is_empty() || rule.condition.hosts.contains(&target.host);
            let (part, from, to) = match &rule.act {
                Act::Port { from, to } => (&mut target.port, from, to),
                // Another port belongs to the scheme it is written with.
                Act::Scheme { from, to } if target.port.is_empty() => {
                    (&mut target.scheme, from, to)
                }
                _ => continue,
            };
            if holds && part == from {
                part.clone_from(to);
                target.fired.push(rule.rule);
            }
        }
        target.fired.len() > before
    }

    /// One pass over all steps.
    fn pass(&self, target: &mut Target) -> bool {
        let before = target.fired.len();
        target.cut();
        let is_opaque = target.params() > DUST_PARAMS_MAX;
        for step in &self.steps {
            match step {
                Step::One(rule) if is_opaque && rule.reads_query() => {}
                Step::One(rule) => self.apply_one(rule, target),
                Step::Suffixes(rules) => take_suffixes(rules, is_opaque, target),
                Step::Drops(drops) if !is_opaque => self.drop_params(drops, target),
                Step::Drops(_) => {}
            }
        }
        target.join();
        target.fired.len() > before
    }

    fn is_guarded(&self, name: &[u8], path: &[u8]) -> bool {
        !self.guards.is_empty()
            && self.guards.get(name).is_some_and(|paths| paths.iter().any(|one| one.matches(path)))
    }

    fn apply_one(&self, rule: &Compiled, target: &mut Target) {
        if !rule.condition.holds(target) {
            return;
        }
        let changed = match &rule.act {
            Act::DropSegment(segment) => drop_segments(target, |text| segment.matches(text)),
            Act::Segment { from, to } if to.is_empty() => {
                drop_segments(target, |text| text == from)
            }
            Act::Segment { from, to } => rename_segments(target, from, to),
            Act::DropPathParam(name) => drop_path_params(target, name),
            Act::Prefix { from, to } => replace_prefix(&rule.condition, from, to, target),
            Act::FoldPath => fold(&mut target.path),
            Act::Template(template) => rewrite(template, target),
            Act::DropParam(dropped) => self.drop_where(target, |name, _| dropped.is(name)),
            Act::DefaultParam { param, value: default } => {
                let is_other = |(name, value): (&[u8], &[u8])| name == param && value != default;
                !target.named().any(is_other) && self.drop_where(target, |name, _| name == param)
            }
            Act::KeepOnly(kept) => {
                self.drop_where(target, |name, _| !kept.iter().any(|one| one == name))
            }
            Act::Value { param, from, to } => {
                !self.is_guarded(param, &target.path)
                    && target.rewrite_values(param, |value, out| {
                        out.extend_from_slice(to);
                        value == from
                    })
            }
            Act::FoldValue(param) => {
                !self.is_guarded(param, &target.path)
                    && target.rewrite_values(param, |value, out| {
                        let start = out.len();
                        out.extend_from_slice(value);
                        fold(&mut out[start..])
                    })
            }
            Act::Order => target.sort_pieces(),
            _ => false,
        };
        if changed {
            target.fired.push(rule.rule);
        }
    }

    /// Drops the parameters that are not guarded and for which `drops` returns true.
    fn drop_where(&self, target: &mut Target, drops: impl Fn(&[u8], &[u8]) -> bool) -> bool {
        let path = std::mem::take(&mut target.path);
        let any =
            target.drop_pieces(|name, value| drops(name, value) && !self.is_guarded(name, &path));
        target.path = path;
        any
    }

    fn drop_params(&self, drops: &Drops, target: &mut Target) {
        if target.params() == 0 {
            return;
        }
        let path = std::mem::take(&mut target.path);
        let host = std::mem::take(&mut target.host);
        let mut fired = std::mem::take(&mut target.fired);
        // What goes with its default stays where it is there with another value as well: their
        // order may matter.
        let mut values: HashMap<Vec<u8>, Option<Vec<u8>>> = HashMap::new();
        if drops.has_defaults {
            for (name, value) in target.named().filter(|(name, _)| drops.names.contains_key(*name))
            {
                let only = values.entry(name.to_vec()).or_insert_with(|| Some(value.to_vec()));
                only.take_if(|only| only != value);
            }
        }
        target.drop_pieces(|name, value| {
            let Some(drop) = drops.drop_for(&host, &path, name, value) else { return false };
            let has_others = drop.value.is_some() && values.get(name).is_some_and(Option::is_none);
            let (rule, drops) = (drop.rule, !has_others && !self.is_guarded(name, &path));
            if drops && fired.last() != Some(&rule) {
                fired.push(rule);
            }
            drops
        });
        (target.path, target.host, target.fired) = (path, host, fired);
    }

    fn substitute(&self, target: &mut Target) -> bool {
        let mut any = false;
        for rule in &self.substitutions {
            let Act::Substitute { from, to } = &rule.act else { continue };
            if !rule.condition.holds(target) {
                continue;
            }
            let mut text = target.path.clone();
            if let Some(query) = &target.query {
                text.push(b'?');
                text.extend_from_slice(query);
            }
            let mut out = Vec::with_capacity(text.len());
            let mut rest = text.as_slice();
            while let Some(at) = memchr::memmem::find(rest, from) {
                out.extend_from_slice(&rest[..at]);
                out.extend_from_slice(to);
                rest = &rest[at + from.len()..];
            }
            if rest.len() == text.len() {
                continue;
            }
            out.extend_from_slice(rest);
            target.query = memchr::memchr(b'?', &out).map(|at| {
                let query = out[at + 1..].to_vec();
                out.truncate(at);
                query
            });
            target.path = out;
            target.fired.push(rule.rule);
            any = true;
        }
        any
    }
}

impl Compiled {
    /// Does it read or write parameters?
    fn reads_query(&self) -> bool {
        self.stratum >= Stratum::Templates || self.condition.reads_params()
    }
}

impl Condition {
    /// Does it hold for the URL as it is now?
    pub(super) fn holds(&self, target: &Target) -> bool {
        self.holds_at(&target.host, &target.path)
            && self.lacks.iter().all(|name| target.named().all(|(other, _)| other != name))
            && self
                .has
                .iter()
                .all(|(name, value)| target.named().any(|(n, v)| n == name && v == value))
    }

    fn holds_at(&self, host: &[u8], path: &[u8]) -> bool {
        (self.hosts.is_empty() || self.hosts.iter().any(|one| one == host))
            && self.path.matches(path)
            && !self.except.iter().any(|one| one.matches(path))
    }
}

impl Drops {
    /// The numbers of its rules; none of them enables another.
    fn rules(&self) -> BTreeSet<u32> {
        let prefixes = self.prefixes.iter().map(|(_, drop)| drop.rule);
        self.names.values().flatten().map(|drop| drop.rule).chain(prefixes).collect()
    }

    fn add(&mut self, rule: Compiled) {
        let Compiled { rule: number, condition, act, .. } = rule;
        let (name, value) = match act {
            Act::DropParam(name) => (name, None),
            Act::DefaultParam { param, value } => {
                (Name { text: param, is_prefix: false }, Some(value))
            }
            _ => return,
        };
        self.has_defaults |= value.is_some();
        let drop = Drop { rule: number, condition, value };
        if name.is_prefix {
            self.prefixes.push((name, drop));
        } else {
            push(self.names.entry(name.text.into()).or_default(), drop);
        }
    }

    /// What drops the parameter `name=value`.
    fn drop_for(&self, host: &[u8], path: &[u8], name: &[u8], value: &[u8]) -> Option<&Drop> {
        let holds = |drop: &&Drop| {
            drop.value.as_ref().is_none_or(|default| default == value)
                && drop.condition.holds_at(host, path)
        };
        let exact = self.names.get(name).into_iter().flatten();
        let fitting = self.prefixes.iter().filter(|(prefix, _)| prefix.is(name));
        let all = || exact.clone().chain(fitting.clone().map(|(_, drop)| drop)).filter(holds);
        // One that drops it whatever its value, if there is one.
        all().find(|drop| drop.value.is_none()).or_else(|| all().next())
    }
}

/// Replaces what a path starts with, as long as it does: if `/en/` is `/`, so is `/en/en/`.
/// A path that is crafted to take long stays as it was.
fn replace_prefix(condition: &Condition, from: &[u8], to: &[u8], target: &mut Target) -> bool {
    let mut before = None;
    for _ in 0..=DUST_PASSES_MAX {
        // Asked for the first time before.
        let holds = before.is_none() || condition.holds(target);
        let Some(rest) = target.path.strip_prefix(from).filter(|_| holds) else {
            return before.is_some();
        };
        target.spare.clear();
        target.spare.extend_from_slice(to);
        target.spare.extend_from_slice(rest);
        std::mem::swap(&mut target.path, &mut target.spare);
        before.get_or_insert_with(|| target.spare.clone());
    }
    target.path = before.unwrap_or_default();
    false
}

/// Takes suffixes off, the longest first, until none is left. A path that is crafted to take long
/// stays as it was.
fn take_suffixes(rules: &[Compiled], is_opaque: bool, target: &mut Target) {
    let mut before = None;
    let fired = target.fired.len();
    for _ in 0..=DUST_PASSES_MAX {
        let fits = |rule: &&Compiled| {
            let Act::Suffix { from, .. } = &rule.act else { return false };
            target.path.len() > 1
                && target.path.ends_with(from)
                && !(is_opaque && rule.condition.reads_params())
                && rule.condition.holds(target)
        };
        let Some(rule) = rules.iter().find(fits) else { return };
        let Act::Suffix { from, to } = &rule.act else { return };
        before.get_or_insert_with(|| target.path.clone());
        let end = target.path.len() - from.len();
        target.path.truncate(end);
        target.path.extend_from_slice(to);
        if target.path.is_empty() {
            target.path.push(b'/');
        }
        target.fired.push(rule.rule);
    }
    if let Some(path) = before {
        target.path = path;
        target.fired.truncate(fired);
    }
}

/// Drops the segments for which `drops` returns true, each with the slash after it; an empty one
/// only between two slashes.
fn drop_segments(target: &mut Target, drops: impl Fn(&[u8]) -> bool) -> bool {
    let Target { path, spare, .. } = target;
    spare.clear();
    spare.push(b'/');
    let mut any = false;
    let mut start = 1;
    for end in memchr::memchr_iter(b'/', path).skip(1).chain([path.len()]) {
        let segment = &path[start.min(end)..end];
        let is_last = end == path.len();
        start = end + 1;
        if drops(segment) && !(segment.is_empty() && is_last) {
            any = true;
            continue;
        }
        spare.extend_from_slice(segment);
        if !is_last {
            spare.push(b'/');
        }
    }
    if any {
        std::mem::swap(path, spare);
    }
    any
}

fn rename_segments(target: &mut Target, from: &[u8], to: &[u8]) -> bool {
    let Target { path, spare, .. } = target;
    if !path.split(|byte| *byte == b'/').any(|segment| segment == from) {
        return false;
    }
    spare.clear();
    for (number, segment) in path.split(|byte| *byte == b'/').enumerate() {
        if number > 0 {
            spare.push(b'/');
        }
        spare.extend_from_slice(if segment == from { to } else { segment });
    }
    std::mem::swap(path, spare);
    true
}

/// Drops the path parameters `;name=…`.
fn drop_path_params(target: &mut Target, name: &[u8]) -> bool {
    let Target { path, spare, .. } = target;
    let is_it = |piece: &[u8]| {
        piece.len() > name.len()
            && piece[name.len()] == b'='
            && piece[..name.len()].eq_ignore_ascii_case(name)
    };
    spare.clear();
    for (number, segment) in path.split(|byte| *byte == b'/').enumerate() {
        if number > 0 {
            spare.push(b'/');
        }
        for (number, piece) in segment.split(|byte| *byte == b';').enumerate() {
            if number > 0 && is_it(piece) {
                continue;
            }
            if number > 0 {
                spare.push(b';');
            }
            spare.extend_from_slice(piece);
        }
    }
    let any = spare.len() < path.len();
    if any {
        std::mem::swap(path, spare);
    }
    any
}

/// Rewrites a URL of the form `template.from`, whose parameters are each there once.
fn rewrite(template: &Template, target: &mut Target) -> bool {
    let mut captured = Captured::default();
    let path = target.path.clone();
    if !template.from.path.captures(&path, &mut captured) {
        return false;
    }
    let mut values: Vec<Vec<u8>> = Vec::new();
    for (name, _) in &template.from.params {
        let mut found = target.named().filter(|(other, _)| other == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => values.push(value.to_vec()),
            _ => return false,
        }
    }
    for ((_, pattern), value) in template.from.params.iter().zip(&values) {
        if !pattern.captures(value, &mut captured) {
            return false;
        }
    }
    target.drop_pieces(|name, _| template.from.has_param(name));
    for (name, pattern) in &template.to.params {
        target.push_piece(name, |out| pattern.write(&captured, out));
    }
    target.path.clear();
    template.to.path.write(&captured, &mut target.path);
    true
}
