//! An order in which no rule undoes another's work, or the rules that have none.
//!
//! Rule `a` *enables* rule `b` if there may be a URL that `b` leaves alone and that `b` changes
//! once `a` was applied. The rules of a site are put in an order in which none enables itself or an
//! earlier one. Then one pass is enough:
//!
//! 1. Each rule by itself is done after one application (it does not enable itself; suffixes are
//!    taken off until none is left, see [`super::site`]).
//! 2. What a rule has settled stays settled, as no later rule enables it.
//! 3. So after the pass no rule changes anything, and a second pass is the first one's result: the
//!    rules are idempotent, and they end because the pass is finite.
//!
//! Whether one enables another is told from their texts alone and errs on the side of yes. Rules on
//! a cycle have no such order: the weakest of them is refused.

use std::collections::HashMap;

use super::compile::{Act, Compiled, Condition};
use super::glob::{Bytes, Glob, Step, has_lower_only, has_upper};
use super::leave::may_leave;

/// Most rules of a site that are taken out one by one. Reason: each is a search for a circle; where
/// more get in each other's way, all of them go.
const SEARCHES_MAX: usize = 64;

/// A group of rules that are applied together; all but suffixes are groups of one.
pub(super) type Group = Vec<Compiled>;

/// What [`sort`] found: the groups in order, and the rules that were taken out, with one that they
/// do not get along with.
pub(super) struct Sorted {
    pub(super) groups: Vec<Group>,
    pub(super) refused: Vec<(u32, u32)>,
}

/// Puts `rules` in order. `is_weaker` says which of two rules is taken out rather than the other;
/// `guards_have_paths`, whether a parameter's protection depends on the path.
pub(super) fn sort(
    mut rules: Vec<Compiled>,
    guards_have_paths: bool,
    is_weaker: impl Fn(u32, u32) -> bool,
) -> Sorted {
    let mut refused = Vec::new();
    rules.retain(|rule| {
        let is_sound = !enables_itself(rule);
        if !is_sound {
            refused.push((rule.rule, rule.rule));
        }
        is_sound
    });
    rules.sort_by_key(|rule| (rule.stratum, !is_plain_drop(rule), rule.rule));
    let mut groups: Vec<Group> = Vec::new();
    let mut suffixes: Group = Vec::new();
    for rule in rules {
        if matches!(rule.act, Act::Suffix { .. }) {
            suffixes.push(rule);
        } else {
            groups.push(vec![rule]);
        }
    }
    take_out_growing_suffixes(&mut suffixes, &mut refused);
    if !suffixes.is_empty() {
        let length = |rule: &Compiled| match &rule.act {
            Act::Suffix { from, .. } => from.len(),
            _ => 0,
        };
        suffixes.sort_by_key(|rule| (std::cmp::Reverse(length(rule)), rule.rule));
        let at = groups.partition_point(|group| group[0].stratum <= 3);
        groups.insert(at, suffixes);
    }
    let edges = edges(&groups, guards_have_paths);
    let mut order = Vec::new();
    let mut state: Vec<State> = vec![State::Open; groups.len()];
    let mut before = vec![0usize; groups.len()];
    edges.iter().flatten().for_each(|to| before[*to] += 1);
    // The lowest that may come next; a heap, so that the order is that of strata and numbers.
    let mut ready: std::collections::BTreeSet<usize> =
        (0..groups.len()).filter(|at| before[*at] == 0).collect();
    loop {
        while let Some(at) = ready.pop_first() {
            if state[at] == State::Open {
                state[at] = State::Placed;
                order.push(at);
            }
            for to in &edges[at] {
                before[*to] -= 1;
                if before[*to] == 0 && state[*to] == State::Open {
                    ready.insert(*to);
                }
            }
        }
        let mut open: Vec<usize> =
            (0..groups.len()).filter(|at| state[*at] == State::Open).collect();
        if open.is_empty() {
            break;
        }
        // The weakest first; the first of them that is on a cycle goes.
        open.sort_by(|a, b| {
            let (a, b) = (groups[*a][0].rule, groups[*b][0].rule);
            if is_weaker(a, b) {
                std::cmp::Ordering::Less
            } else if is_weaker(b, a) {
                std::cmp::Ordering::Greater
            } else {
                b.cmp(&a)
            }
        });
        if refused.len() > SEARCHES_MAX {
            refused.extend(open.iter().flat_map(|at| &groups[*at]).map(|r| (r.rule, r.rule)));
            break;
        }
        let found = open.iter().find_map(|at| on_cycle(*at, &edges, &state).map(|to| (*at, to)));
        let (at, with) = found.expect("groups that all wait for others wait in a circle");
        refused.extend(groups[at].iter().map(|rule| (rule.rule, groups[with][0].rule)));
        state[at] = State::Refused;
        ready.insert(at);
    }
    let mut groups: Vec<Option<Group>> = groups.into_iter().map(Some).collect();
    let groups = order.into_iter().filter_map(|at| groups[at].take()).collect();
    Sorted { groups, refused }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Placed,
    Refused,
}

/// Is `start` on a cycle of open groups? Returns the one behind it.
fn on_cycle(start: usize, edges: &[Vec<usize>], state: &[State]) -> Option<usize> {
    edges[start].iter().copied().find(|first| {
        let mut seen = vec![false; edges.len()];
        let mut open = vec![*first];
        while let Some(at) = open.pop() {
            if at == start {
                return true;
            }
            if state[at] == State::Open && !std::mem::replace(&mut seen[at], true) {
                open.extend(&edges[at]);
            }
        }
        false
    })
}

fn edges(groups: &[Group], guards_have_paths: bool) -> Vec<Vec<usize>> {
    let rules = || groups.iter().flatten();
    // Bet: nobody asks for the lack of a parameter; then dropping one enables nothing, but for
    // templates, which want it once.
    let asks_for_lack = rules().any(|rule| !rule.condition.lacks.is_empty());
    let has_template = rules().any(|rule| matches!(rule.act, Act::Template(_)));
    let enables_nothing = |rule: &Compiled| match rule.act {
        Act::DropParam(_) | Act::KeepOnly(_) => !asks_for_lack,
        Act::DefaultParam { .. } => !asks_for_lack && !has_template,
        _ => false,
    };
    let exceptions = Exceptions::of(groups);
    (0..groups.len())
        .map(|a| {
            if groups[a].iter().all(enables_nothing) {
                return Vec::new();
            }
            let mut enabled = vec![false; groups.len()];
            for rule in &groups[a] {
                let left = exceptions.left_by(&rule.act);
                for (b, group) in groups.iter().enumerate().filter(|(b, _)| *b != a) {
                    enabled[b] = enabled[b]
                        || group.iter().zip(&exceptions.lists[b]).any(|(other, list)| {
                            let is_left = left[*list][usize::from(other.act == Act::FoldPath)];
                            enables(rule, other, guards_have_paths, is_left)
                        });
                }
            }
            (0..groups.len()).filter(|b| enabled[*b]).collect()
        })
        .collect()
}

/// The exceptions of all rules, each pattern and each list of them once: many rules have the same ones.
struct Exceptions<'a> {
    patterns: Vec<&'a Glob>,
    /// Of patterns, by number.
    different: Vec<Vec<usize>>,
    /// The list of each rule of each group, by number.
    lists: Vec<Vec<usize>>,
}

impl<'a> Exceptions<'a> {
    fn of(groups: &'a [Group]) -> Exceptions<'a> {
        let mut known_patterns: HashMap<&Glob, usize> = HashMap::new();
        let mut known_lists: HashMap<&[Glob], usize> = HashMap::new();
        let mut found = Exceptions { patterns: vec![], different: vec![], lists: vec![] };
        for group in groups {
            let mut lists = Vec::new();
            for rule in group {
                let except = rule.condition.except.as_slice();
                lists.push(*known_lists.entry(except).or_insert_with(|| {
                    let numbers = except.iter().map(|pattern| {
                        *known_patterns.entry(pattern).or_insert_with(|| {
                            found.patterns.push(pattern);
                            found.patterns.len() - 1
                        })
                    });
                    found.different.push(numbers.collect());
                    found.different.len() - 1
                }));
            }
            found.lists.push(lists);
        }
        found
    }

    /// For each list, whether `act` may make a path leave one of its patterns, for a rule that does not fold
    /// paths and for one that does.
    fn left_by(&self, act: &Act) -> Vec<[bool; 2]> {
        if !is_path_writer(act) {
            return vec![[false; 2]; self.different.len()];
        }
        let left = |pattern: &&Glob| [false, true].map(|folds| may_leave(act, pattern, folds));
        let left: Vec<[bool; 2]> = self.patterns.iter().map(left).collect();
        let any = |list: &Vec<usize>| [0, 1].map(|folds| list.iter().any(|at| left[*at][folds]));
        self.different.iter().map(any).collect()
    }
}

/// Does it drop a parameter whatever else the query holds? Such rules are looked up together.
pub(super) fn is_plain_drop(rule: &Compiled) -> bool {
    matches!(&rule.act, Act::DropParam(_) | Act::DefaultParam { .. })
        && !rule.condition.reads_params()
}

/// Suffixes are taken off in a loop, which must end: one that grows must not lead to another,
/// unless the two together shrink the path (`.htm` to `.html`, where `index.html` is dropped).
fn take_out_growing_suffixes(suffixes: &mut Group, refused: &mut Vec<(u32, u32)>) {
    let texts: Vec<(u32, Vec<u8>, Vec<u8>)> = suffixes
        .iter()
        .filter_map(|rule| match &rule.act {
            Act::Suffix { from, to } => Some((rule.rule, from.clone(), to.clone())),
            _ => None,
        })
        .collect();
    suffixes.retain(|rule| {
        let Act::Suffix { from: grown, to } = &rule.act else { return true };
        if rule.act.shrinks() {
            return true;
        }
        let next = texts.iter().find(|(_, from, result)| {
            // All of what was written goes, and what was before it: what stays is shorter than
            // what there was before either.
            let rest = from.strip_suffix(to.as_slice());
            let shrinks = rest.is_some_and(|rest| result.len() < rest.len() + grown.len());
            (to.ends_with(from) || from.ends_with(to)) && !shrinks
        });
        if let Some((other, ..)) = next {
            refused.push((rule.rule, *other));
        }
        next.is_none()
    });
}

fn enables_itself(rule: &Compiled) -> bool {
    match &rule.act {
        Act::Prefix { from, to } => to.starts_with(from) || from.starts_with(to),
        Act::Template(template) => {
            template.to.path.glob().meets(&template.from.path.glob())
                && !template.from.params.iter().any(|(name, _)| template.consumes(name))
        }
        _ => false,
    }
}

/// May applying `a` make `b` change what it left alone before? `is_left` says whether `a` may make a path leave
/// the exceptions of `b`.
fn enables(a: &Compiled, b: &Compiled, guards_have_paths: bool, is_left: bool) -> bool {
    let is_elsewhere = match &a.act {
        Act::Template(template) => !template.to.path.glob().meets(&b.condition.path),
        act => !is_path_writer(act),
    };
    if !is_elsewhere {
        let path = &b.condition.path;
        let is_scoped = !path.is_all() && may_enter(&a.act, path) || is_left;
        let is_guarded = guards_have_paths && b.stratum >= 5;
        if is_scoped || is_guarded || changes_path_for(&a.act, &b.act) {
            return true;
        }
    }
    changes_params_for(&a.act, b)
}

fn is_path_writer(act: &Act) -> bool {
    matches!(
        act,
        Act::DropSegment(_)
            | Act::DropPathParam(_)
            | Act::Prefix { .. }
            | Act::Segment { .. }
            | Act::Suffix { .. }
            | Act::FoldPath
            | Act::Template(_)
    )
}

/// May a path that does not match `pattern` match it once `act` was applied?
fn may_enter(act: &Act, pattern: &Glob) -> bool {
    if let Some(prefix) = pattern.prefix() {
        return may_create_prefix(act, prefix);
    }
    let any = || Step::Many(Bytes::ANY);
    let around = |text: &[u8], before: bool, behind: bool| {
        let steps = before.then(any).into_iter().chain(Step::text(text));
        Glob::of(steps.chain(behind.then(any)))
    };
    match act {
        Act::Prefix { to, .. } => around(to, false, true).meets(pattern),
        Act::Segment { to, .. } if to.is_empty() => true,
        Act::Segment { to, .. } => {
            let segment = [b"/", to.as_slice()].concat();
            around(&segment, true, false).meets(pattern)
                || around(&[&segment, &b"/"[..]].concat(), true, true).meets(pattern)
        }
        Act::Suffix { to, .. } => around(to, true, false).meets(pattern),
        Act::FoldPath => !pattern.has_upper(),
        Act::Template(template) => template.to.path.glob().meets(pattern),
        _ => true,
    }
}

/// May a path that does not start with `prefix` start with it once `act` was applied?
fn may_create_prefix(act: &Act, prefix: &[u8]) -> bool {
    match act {
        Act::Prefix { to, .. } => prefix.starts_with(to) || to.starts_with(prefix),
        Act::Segment { to, .. } => {
            let mut segments: Vec<&[u8]> = prefix.split(|byte| *byte == b'/').collect();
            let last = segments.pop().unwrap_or(b"");
            to.is_empty()
                || segments.contains(&to.as_slice())
                || !last.is_empty() && to.starts_with(last)
        }
        // What is new at the end must reach into the prefix.
        Act::Suffix { from, to } => {
            let same = from.iter().zip(to).take_while(|(a, b)| a == b).count();
            (0..prefix.len()).any(|at| to[same..].starts_with(&prefix[at..]))
        }
        Act::FoldPath => has_lower_only(prefix),
        Act::Template(template) => {
            let steps = Step::text(prefix).chain([Step::Many(Bytes::ANY)]);
            template.to.path.glob().meets(&Glob::of(steps))
        }
        _ => true,
    }
}

/// May a path that does not end with `suffix` end with it once `act` was applied?
fn may_create_suffix(act: &Act, suffix: &[u8]) -> bool {
    match act {
        Act::Prefix { to, .. } => {
            to.ends_with(suffix) || (0..to.len()).any(|at| suffix.starts_with(&to[at..]))
        }
        Act::Segment { to, .. } => {
            let mut segments: Vec<&[u8]> = suffix.split(|byte| *byte == b'/').collect();
            let first = segments.remove(0);
            to.is_empty()
                || segments.contains(&to.as_slice())
                || !first.is_empty() && to.ends_with(first)
        }
        Act::Suffix { to, .. } => to.ends_with(suffix) || suffix.ends_with(to),
        Act::FoldPath => has_lower_only(suffix),
        Act::Template(template) => {
            let steps = [Step::Many(Bytes::ANY)].into_iter().chain(Step::text(suffix));
            template.to.path.glob().meets(&Glob::of(steps))
        }
        _ => true,
    }
}

/// May a segment that `segment` matches be made by `act`?
fn may_create_segment(act: &Act, segment: &Glob) -> bool {
    let any = || Step::Many(Bytes::in_segment());
    let meets = |before: bool, text: &[u8], behind: bool| {
        let steps = before.then(any).into_iter().chain(Step::text(text));
        Glob::of(steps.chain(behind.then(any))).meets(segment)
    };
    match act {
        Act::Segment { to, .. } => !to.is_empty() && meets(false, to, false),
        Act::Prefix { from, to } => {
            let mut pieces: Vec<&[u8]> = to.split(|byte| *byte == b'/').skip(1).collect();
            let last = pieces.pop().unwrap_or(b"");
            let is_apart = from.ends_with(b"/") && last.is_empty();
            pieces.into_iter().any(|piece| meets(false, piece, false))
                || !is_apart && meets(false, last, true)
        }
        Act::Suffix { from, to } => {
            let mut pieces: Vec<&[u8]> = to.split(|byte| *byte == b'/').collect();
            if segment.exact() == Some(b"") {
                // Only what is between two slashes.
                pieces.pop();
            }
            let first = pieces.first().copied();
            let is_apart = from.starts_with(b"/") && first == Some(b"");
            !is_apart && first.is_some_and(|first| meets(true, first, false))
                || pieces.iter().skip(1).any(|piece| meets(false, piece, false))
        }
        // Segments go as a whole; the next ones stay what they are.
        Act::DropSegment(_) => false,
        Act::Template(template) => {
            let text = template.to.path.glob();
            let before = [Step::Many(Bytes::ANY), Step::byte(b'/')];
            let behind = [Step::byte(b'/'), Step::Many(Bytes::ANY)];
            segment.framed(&before, &[]).meets(&text)
                || segment.framed(&before, &behind).meets(&text)
        }
        _ => true,
    }
}

/// Does `a`, which writes paths, make one that `b` reads?
fn changes_path_for(a: &Act, b: &Act) -> bool {
    match b {
        Act::Prefix { from, .. } => may_create_prefix(a, from),
        Act::Suffix { from, .. } => may_create_suffix(a, from),
        Act::Segment { from, .. } => {
            may_create_segment(a, &Glob::of(Step::text(from))) && !is_upper_folded(a, from)
        }
        Act::DropSegment(segment) => {
            // Classes hold both cases of a letter, so folding makes nothing that they match.
            may_create_segment(a, segment) && (*a != Act::FoldPath || segment.has_lower())
        }
        // A name, without regard to case, between a semicolon and `=`: aliases do not write both,
        // and templates write all of the path, captures without a semicolon.
        Act::DropPathParam(_) => matches!(a, Act::Template(one) if one.to.path.may_hold(b';')),
        Act::FoldPath => match a {
            Act::Prefix { to, .. } | Act::Segment { to, .. } | Act::Suffix { to, .. } => {
                has_upper(to)
            }
            Act::Template(template) => template.to.path.may_have_upper(),
            _ => false,
        },
        Act::Template(template) => {
            let is_blocked = matches!(a, Act::Template(other)
                if template.from.params.iter().any(|(name, _)| other.consumes(name)));
            !is_blocked && may_enter(a, &template.from.path.glob())
        }
        _ => false,
    }
}

fn is_upper_folded(a: &Act, text: &[u8]) -> bool {
    *a == Act::FoldPath && has_upper(text)
}

/// Does `a` make parameters, or the lack of them, that `b` reads?
fn changes_params_for(a: &Act, b: &Compiled) -> bool {
    let Condition { has, lacks, .. } = &b.condition;
    let lower = |value: &[u8]| !has_upper(value);
    let reads = |name: &[u8]| match &b.act {
        Act::DropParam(dropped) => dropped.is(name),
        Act::KeepOnly(kept) => !kept.iter().any(|one| one == name),
        Act::DefaultParam { param, .. } | Act::Value { param, .. } | Act::FoldValue(param) => {
            param == name
        }
        Act::Template(template) => template.from.has_param(name),
        _ => false,
    };
    match a {
        Act::DropParam(dropped) => lacks.iter().any(|name| dropped.is(name)),
        Act::KeepOnly(kept) => lacks.iter().any(|name| !kept.contains(name)),
        Act::DefaultParam { param, .. } => {
            lacks.contains(param) || matches!(b.act, Act::Template(_)) && reads(param)
        }
        Act::Value { param, to, .. } => {
            has.iter().any(|(name, value)| name == param && value == to)
                || match &b.act {
                    Act::DefaultParam { param: name, value } => name == param && value == to,
                    Act::Value { param: name, from, .. } => name == param && from == to,
                    Act::FoldValue(name) => name == param && !lower(to),
                    Act::Template(_) => reads(param),
                    _ => false,
                }
        }
        Act::FoldValue(param) => {
            has.iter().any(|(name, value)| name == param && lower(value))
                || match &b.act {
                    Act::DefaultParam { param: name, value } => name == param && lower(value),
                    Act::Value { param: name, from, .. } => name == param && lower(from),
                    Act::Template(_) => reads(param),
                    _ => false,
                }
        }
        Act::Template(template) => {
            let makes = |name: &[u8]| template.to.has_param(name);
            let is_blocked = match &b.act {
                Act::Template(other) => {
                    other.from.params.iter().any(|(name, _)| template.consumes(name))
                        || !template.to.path.glob().meets(&other.from.path.glob())
                }
                _ => false,
            };
            lacks.iter().any(|name| template.consumes(name))
                || has.iter().any(|(name, _)| makes(name))
                || b.act == Act::Order
                || !is_blocked && template.to.params.iter().any(|(name, _)| reads(name))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::compile::compile;
    use super::super::rule::RuleFile;
    use super::*;

    #[test]
    fn exceptions_that_many_rules_have_are_looked_at_once() {
        let row = |param: &str, except: &str| {
            format!("{{site='x.org',kind='drop-param',param='{param}',except=[{except}]}}")
        };
        let mut rows: Vec<String> =
            (0..50).map(|number| row(&format!("p{number}"), "'/v/*','/w'")).collect();
        rows.push(row("q", "'/w'"));
        let file = RuleFile::parse(&format!("rule=[{}]", rows.join(","))).unwrap();
        let rules = file.rules.iter().enumerate();
        let groups: Vec<Group> =
            rules.map(|(number, rule)| vec![compile(number, rule).unwrap().1]).collect();
        let found = Exceptions::of(&groups);
        assert_eq!((found.patterns.len(), found.different.len()), (2, 2));
        assert_eq!((&found.lists[49], &found.lists[50]), (&vec![0], &vec![1]));
        let prefix = |from: &[u8]| Act::Prefix { from: from.to_vec(), to: b"/z".to_vec() };
        assert_eq!(found.left_by(&prefix(b"/v/a")), [[true; 2], [false; 2]]);
        assert_eq!(found.left_by(&prefix(b"/w")), [[true; 2], [true; 2]]);
        assert_eq!(found.left_by(&Act::Order), [[false; 2]; 2]);
    }
}
