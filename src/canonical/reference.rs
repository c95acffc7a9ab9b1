//! The reference lane: rule by rule, obviously right, slow. Twin of `fused/`.
//!
//! A profile's rules are levels, in the order of application. Level 0 is the parsed URL; the form
//! at level `n` is what the form at level `n - 1` becomes once the first `n` rules have nothing
//! more to change. So by construction:
//!
//! - the form at the last level is idempotent: none of the rules changes it (rules of a site that
//!   never have nothing more to change are left out, and would be again);
//! - two URLs that are equal at one level are equal at every later one, which is what lets a report
//!   say, exactly, how many URLs merge only because of a rule and those before it.

use std::ops::ControlFlow;

use super::draft::{Draft, Parts, reparse_other};
use super::options::Options;
use super::profile::Profile;
use super::rules::{RuleId, RuleSet};
use crate::limits::RULE_STEPS_MAX;
use crate::reject::Reject;

/// One change that a rule made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The rule that made the change.
    pub rule: RuleId,
    /// The URL after the change.
    pub after: Vec<u8>,
}

/// How the rules of a profile change one URL, step by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The URL as parsed, before any rule: level 0.
    pub parsed: Vec<u8>,
    /// Every change, in order. Empty if the parsed form is the canonical one.
    pub steps: Vec<Step>,
    /// The form at each level whose rule changed something: the number of rules that were applied,
    /// from 1, and the form after them. A level that is not listed has the form of the
    /// previous level.
    pub levels: Vec<(usize, Vec<u8>)>,
    /// Was a scheme put in front of the URL?
    pub scheme_added: bool,
}

impl Trace {
    /// The canonical form.
    pub fn canonical(&self) -> &[u8] {
        self.levels.last().map_or(&self.parsed, |(_, form)| form)
    }

    /// The form at `level`: after the profile's first `level` rules.
    pub fn at(&self, level: usize) -> &[u8] {
        let reached = self.levels.iter().take_while(|(number, _)| *number <= level);
        reached.last().map_or(&self.parsed, |(_, form)| form)
    }

    /// The rules that changed something.
    pub fn rules(&self) -> RuleSet {
        self.steps.iter().map(|step| step.rule).collect()
    }
}

/// The state of a URL while rules are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// A change that a rule made.
    Step(RuleId),
    /// A level whose rules have nothing more to change: 0, and each that changed something.
    Level(usize),
}

/// Runs `given` through the rules of `profile`, one by one, and returns every step.
pub(super) fn trace(given: &[u8], profile: &Profile) -> Result<Trace, Reject> {
    let (mut parsed, mut steps, mut levels) = (Vec::new(), Vec::new(), Vec::new());
    let scheme_added = follow(given, None, profile, |reached, form| match reached {
        Reached::Step(rule) => steps.push(Step { rule, after: form.to_vec() }),
        Reached::Level(0) => parsed = form.to_vec(),
        Reached::Level(level) => levels.push((level, form.to_vec())),
    })?;
    Ok(Trace { parsed, steps, levels, scheme_added })
}

/// Runs `given` through the rules of `profile`, as [`trace`] does, for callers that do not keep the
/// steps: calls `on` with what is reached, in order, and the URL as it is then. Returns whether a
/// scheme was added.
///
/// Where its `canonical` form is known, nothing is asked once that is reached: none of the rules
/// changes it.
pub(super) fn follow(
    given: &[u8],
    canonical: Option<&[u8]>,
    profile: &Profile,
    mut on: impl FnMut(Reached, &[u8]),
) -> Result<bool, Reject> {
    let draft = Draft::parse(given, &profile.options)?;
    let scheme_added = draft.scheme_added;
    let mut form = Vec::with_capacity(given.len() + 8);
    draft.write(&mut form);
    let is_canonical = |form: &[u8]| canonical.is_some_and(|canonical| canonical == form);
    on(Reached::Level(0), &form);
    if is_canonical(&form) {
        return Ok(scheme_added);
    }
    run_all_levels(draft, profile, |reached, draft| {
        // A level has the form of its last step.
        if matches!(reached, Reached::Step(_)) {
            draft.write(&mut form);
        }
        on(reached, &form);
        if is_canonical(&form) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(scheme_added)
}

/// Writes the canonical form of `given` into `out` and says whether a scheme was added.
pub(super) fn canonical(
    given: &[u8],
    profile: &Profile,
    out: &mut Vec<u8>,
) -> Result<bool, Reject> {
    let draft = Draft::parse(given, &profile.options)?;
    let scheme_added = draft.scheme_added;
    run_all_levels(draft, profile, |_, _| ControlFlow::Continue(()))?.write(out);
    Ok(scheme_added)
}

/// Runs `draft` through all levels, and calls `on` with what it reaches. After a step at which `on`
/// breaks, it is called with the level of that step only.
fn run_all_levels(
    mut draft: Draft,
    profile: &Profile,
    mut on: impl FnMut(Reached, &Draft) -> ControlFlow<()>,
) -> Result<Draft, Reject> {
    let mut steps = 0;
    let go_on = |_, _: &_| ControlFlow::Continue(());
    let rules: Vec<RuleId> = profile.rules.iter().collect();
    for level in 1..=rules.len() {
        let until = &rules[..level];
        if until.ends_with(&[RuleId::Dust]) {
            // Rules of a site may redo without end what the profile undoes: then they are not
            // applied. So that this depends on the form at the level before alone, their steps are
            // counted anew.
            steps = 0;
            let mut tried = draft.clone();
            if run_to_fixpoint(&mut tried, until, &profile.options, &mut 0, go_on).is_err() {
                continue;
            }
        }
        let on_step = |rule, draft: &Draft| on(Reached::Step(rule), draft);
        if run_to_fixpoint(&mut draft, until, &profile.options, &mut steps, on_step)?
            && on(Reached::Level(level), &draft).is_break()
        {
            break;
        }
    }
    Ok(draft)
}

/// Applies `rules`, of which all but the last have settled, until none has anything more to change;
/// or `on`, which is called after each change, breaks. Returns whether there was any.
fn run_to_fixpoint(
    draft: &mut Draft,
    rules: &[RuleId],
    options: &Options,
    steps: &mut usize,
    mut on: impl FnMut(RuleId, &Draft) -> ControlFlow<()>,
) -> Result<bool, Reject> {
    let mut changed = false;
    let mut next = rules.len() - 1;
    while let Some(rule) = rules.get(next).copied() {
        if !(rule.info().apply)(draft, options) {
            next += 1;
            continue;
        }
        if let Parts::Other(text) = &mut draft.parts {
            *text = reparse_other(std::mem::take(text));
        }
        changed = true;
        if on(rule, draft).is_break() {
            break;
        }
        *steps += 1;
        if *steps > RULE_STEPS_MAX {
            return Err(Reject::Unstable);
        }
        // If the last rule makes earlier ones apply again, they are repeated.
        next = 0;
    }
    Ok(changed)
}
