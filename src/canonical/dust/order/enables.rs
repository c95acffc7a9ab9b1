//! Whether one rule enables another: gives it something to do that it left alone before.
//!
//! Told from the texts of both alone, and errs on the side of yes. What takes a path out of the
//! exceptions of another rule is in `leave.rs`.

use crate::canonical::dust::compile::{Act, Compiled, Condition};
use crate::canonical::dust::patterns::glob::Glob;
use crate::canonical::dust::patterns::letters::{has_lower_only, has_upper};
use crate::canonical::dust::patterns::steps::{Bytes, Step};
use crate::canonical::dust::rule::Stratum;

/// May a rule have something to do again once it was applied?
pub(super) fn enables_itself(rule: &Compiled) -> bool {
    match &rule.act {
        // One that gets shorter is replaced until it is not there any more.
        Act::Prefix { from, to } => to.starts_with(from),
        Act::Template(template) => {
            template.to.path.glob().meets(template.from.path.glob())
                && !template.from.params.iter().any(|(name, _)| template.consumes(name))
        }
        _ => false,
    }
}

/// May applying `a` make `b` change what it left alone before? `is_left` says whether `a` may make
/// a path leave the exceptions of `b`.
pub(super) fn enables(a: &Compiled, b: &Compiled, guards_have_paths: bool, is_left: bool) -> bool {
    let is_elsewhere = match &a.act {
        Act::Template(template) => !template.to.path.glob().meets(&b.condition.path),
        act => !is_path_writer(act),
    };
    if !is_elsewhere {
        let path = &b.condition.path;
        let is_scoped = !path.is_all() && may_enter(&a.act, path) || is_left;
        let is_guarded = guards_have_paths && b.stratum >= Stratum::Parameters;
        if is_scoped || is_guarded || changes_path_for(&a.act, &b.act) {
            return true;
        }
    }
    changes_params_for(&a.act, b)
}

/// Does it change paths?
pub(super) fn is_path_writer(act: &Act) -> bool {
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
            segment.framed(&before, &[]).meets(text) || segment.framed(&before, &behind).meets(text)
        }
        _ => true,
    }
}

/// Does `a`, which writes paths, make one that `b` reads?
fn changes_path_for(a: &Act, b: &Act) -> bool {
    match b {
        Act::Prefix { from, .. } => may_create_prefix(a, from),
        Act::Suffix { from, .. } => may_create_suffix(a, from),
        Act::Segment { from, .. } => match a {
            Act::Segment { to, .. } => !to.is_empty() && to == from,
            _ => may_create_segment(a, &Glob::of(Step::text(from))) && !is_upper_folded(a, from),
        },
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
            !is_blocked && may_enter(a, template.from.path.glob())
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
                        || !template.to.path.glob().meets(other.from.path.glob())
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
