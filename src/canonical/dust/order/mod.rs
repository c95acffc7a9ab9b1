//! An order in which no rule undoes another's work, or the rules that have none.
//!
//! Rule `a` *enables* rule `b` if there may be a URL that `b` leaves alone and that `b` changes
//! once `a` was applied. The rules of a site are put in an order in which none enables itself or an
//! earlier one. Then one pass is enough:
//!
//! 1. Each rule by itself is done after one application (it does not enable itself; prefixes and
//!    suffixes are taken off until none is left, see [`super::site`]).
//! 2. What a rule has settled stays settled, as no later rule enables it.
//! 3. So after the pass no rule changes anything, and a second pass is the first one's result: the
//!    rules are idempotent, and they end because the pass is finite.
//!
//! `enables.rs` finds out whether one enables another. Rules on a cycle have no such order: the
//! weakest of them is refused.

mod enables;
mod leave;

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, HashMap};

use super::compile::{Act, Compiled};
use super::patterns::glob::Glob;
use super::rule::Stratum;
use enables::{enables, enables_itself, is_path_writer};
use leave::may_leave;

/// Most rules of a site that are taken out one by one. Reason: each is a search for a cycle; if
/// more rules conflict, all of them are refused.
const SEARCHES_MAX: usize = 64;

/// A group of rules that are applied together; all but suffixes are groups of one.
pub(super) type Group = Vec<Compiled>;

/// What [`sort`] found: the groups in order, and the rules that were taken out, each with a rule
/// that it conflicts with.
pub(super) struct Sorted {
    pub(super) groups: Vec<Group>,
    pub(super) refused: Vec<(u32, u32)>,
}

/// Puts `rules` in order. `is_weaker` says which of two rules is taken out rather than the other;
/// `guards_have_paths`, whether a parameter's protection depends on the path.
pub(super) fn sort(
    rules: Vec<Compiled>,
    guards_have_paths: bool,
    is_weaker: impl Fn(u32, u32) -> bool,
) -> Sorted {
    let mut refused = Vec::new();
    let groups = grouped(rules, &mut refused);
    let edges = edges(&groups, guards_have_paths);
    let order = topological(&groups, &edges, is_weaker, &mut refused);
    let mut groups: Vec<Option<Group>> = groups.into_iter().map(Some).collect();
    let groups = order.into_iter().filter_map(|at| groups[at].take()).collect();
    Sorted { groups, refused }
}

/// The groups of `rules`, by stratum and number, without rules that no order helps.
fn grouped(mut rules: Vec<Compiled>, refused: &mut Vec<(u32, u32)>) -> Vec<Group> {
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
    take_out_growing_suffixes(&mut suffixes, refused);
    if !suffixes.is_empty() {
        let length = |rule: &Compiled| match &rule.act {
            Act::Suffix { from, .. } => from.len(),
            _ => 0,
        };
        suffixes.sort_by_key(|rule| (Reverse(length(rule)), rule.rule));
        let at = groups.partition_point(|group| group[0].stratum <= Stratum::Paths);
        groups.insert(at, suffixes);
    }
    groups
}

/// A topological order of `groups` (Kahn's algorithm): each after those with an edge to it, and
/// else by number. Where all that are left wait for others, the weakest on a cycle is refused, and
/// those that waited for it go on.
fn topological(
    groups: &[Group],
    edges: &[Vec<usize>],
    is_weaker: impl Fn(u32, u32) -> bool,
    refused: &mut Vec<(u32, u32)>,
) -> Vec<usize> {
    let mut order = Vec::new();
    let mut state: Vec<State> = vec![State::Open; groups.len()];
    let mut before = vec![0usize; groups.len()];
    edges.iter().flatten().for_each(|to| before[*to] += 1);
    // The lowest comes next, so that the order is that of strata and numbers.
    let mut ready: BTreeSet<usize> = (0..groups.len()).filter(|at| before[*at] == 0).collect();
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
            return order;
        }
        // The weakest first; the first of them that is on a cycle goes.
        open.sort_by(|a, b| {
            let (a, b) = (groups[*a][0].rule, groups[*b][0].rule);
            match (is_weaker(a, b), is_weaker(b, a)) {
                (true, _) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (false, false) => b.cmp(&a),
            }
        });
        if refused.len() > SEARCHES_MAX {
            refused.extend(open.iter().flat_map(|at| &groups[*at]).map(|r| (r.rule, r.rule)));
            return order;
        }
        let found = open.iter().find_map(|at| on_cycle(*at, edges, &state).map(|to| (*at, to)));
        let (at, with) = found.expect("groups that all wait for others wait in a circle");
        refused.extend(groups[at].iter().map(|rule| (rule.rule, groups[with][0].rule)));
        state[at] = State::Refused;
        ready.insert(at);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Placed,
    Refused,
}

/// Is `start` on a cycle of open groups? Returns the one after it.
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

/// For each group those that it enables, which come after it.
fn edges(groups: &[Group], guards_have_paths: bool) -> Vec<Vec<usize>> {
    let rules = || groups.iter().flatten();
    // Bet: no rule requires the absence of a parameter; then dropping one enables nothing, but for
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

/// The exceptions of all rules, each pattern and each list of them once: many rules
/// have the same ones.
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

    /// For each list, whether `act` may make a path leave one of its patterns, for a rule that does
    /// not fold paths and for one that does.
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
