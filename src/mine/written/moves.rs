//! What the rules for paths make of a path, and of the template of its handler.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::mine::acts::candidates::{Act, Reach};
use crate::mine::acts::paths::{self, PathAct};
use crate::mine::seen::handlers::{Handlers, outline};
use crate::mine::seen::loose_path::{LoosePath, loosen};
use crate::mine::seen::segments::last_start;
use crate::mine::seen::stems::Place;
use crate::mine::selected::selector::Validated;

/// The rules for paths of a site.
pub(super) struct Moves<'a> {
    /// In the order in which they are applied; with `true` those in force, with `false`
    /// those to be reviewed.
    acts: Vec<(&'a PathAct, &'a Reach, bool)>,
    handlers: &'a Handlers,
    /// The handler of each path in its loose spelling; empty if no rule gives a path
    /// another beginning.
    handler_of: HashMap<Vec<u8>, u32>,
}

/// A path, and the template that says what varies in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Moved<'a> {
    pub(super) path: Vec<u8>,
    pub(super) template: Cow<'a, [u8]>,
    /// Has a rule looked at what the path begins or ends with? Then it may do something else where
    /// a profile has dropped or added something there before.
    pub(super) is_anchored: bool,
}

impl<'a> Moves<'a> {
    /// The rules for paths among `validated`, each with whether it is in force.
    pub(super) fn of(
        loose_paths: &[LoosePath],
        handlers: &'a Handlers,
        validated: impl Iterator<Item = (&'a Validated, bool)>,
    ) -> Moves<'a> {
        let mut acts: Vec<(&PathAct, &Reach, bool)> = validated
            .filter_map(|(one, in_force)| match &one.candidate.act {
                Act::Path(act) => Some((act, &one.candidate.reach, in_force)),
                _ => None,
            })
            .collect();
        acts.sort_by(|a, b| a.0.cmp(b.0));
        let handler_of = match acts.iter().any(|(act, ..)| is_elsewhere(act)) {
            true => loose_paths
                .iter()
                .map(LoosePath::plain)
                .zip(handlers.of_path.iter().copied())
                .collect(),
            false => HashMap::new(),
        };
        Moves { acts, handlers, handler_of }
    }

    /// Do any rules look at what a path begins or ends with?
    pub(super) fn are_anchored(&self) -> bool {
        self.acts.iter().any(|(act, ..)| is_anchored(act))
    }

    /// Are any rules to be reviewed?
    pub(super) fn have_review(&self) -> bool {
        self.acts.iter().any(|(.., in_force)| !in_force)
    }

    /// The rules that hold at a place, with their numbers: those in force alone, or `with_review`.
    fn holding(
        &self,
        place: Place,
        with_review: bool,
    ) -> impl Iterator<Item = (usize, &'a PathAct)> {
        let holding = self.acts.iter().enumerate().filter(move |(_, (act, reach, in_force))| {
            reach.has(act.reached_at(place)) && (*in_force || with_review)
        });
        holding.map(|(at, (act, ..))| (at, *act))
    }

    /// What becomes of a path of this place by the rules of segments and their parameters, which
    /// come first: by those in force alone, or `with_review`.
    pub(super) fn by_segments(&self, path: &[u8], place: Place, with_review: bool) -> Vec<u8> {
        let mut moved = path.to_vec();
        let is_first = |act: &PathAct| {
            let is_segment = matches!(act, PathAct::Segment(_) | PathAct::DoubleSlash);
            is_segment || matches!(act, PathAct::Parameter(_))
        };
        let holding = self.holding(place, with_review).filter(|(_, act)| is_first(act));
        let _none_taken = paths::apply(holding, &mut moved, |_, _| {});
        moved
    }

    /// `path` as it is, which is one of this `place`.
    pub(super) fn before(&self, path: &[u8], place: Place) -> Moved<'a> {
        let template = Cow::Borrowed(self.handlers.templates[place.handler as usize].as_slice());
        Moved { path: path.to_vec(), template, is_anchored: false }
    }

    /// What becomes of it: by the rules in force alone, or `with_review`.
    ///
    /// Linear in the path for each rule.
    pub(super) fn after(&self, path: &[u8], place: Place, with_review: bool) -> Moved<'a> {
        let mut moved = self.before(path, place);
        let holding = self.holding(place, with_review);
        let mut is_moved = false;
        let (template, is_at_end) = (&mut moved.template, &mut moved.is_anchored);
        let _taken = paths::apply(holding, &mut moved.path, |at, _| {
            let act = self.acts[at].0;
            is_moved |= is_elsewhere(act);
            *is_at_end |= is_anchored(act);
            match act {
                PathAct::Prefix(from, to) => *template = carried(template, from, to).into(),
                PathAct::Template(_) => *template = Cow::Borrowed(b"/"),
                _ => {}
            }
        });
        // A path without anything that varies may be one of another handler.
        let is_one = memchr::memchr(b'{', template).is_none();
        if is_moved
            && is_one
            && let Some(other) = self.handler_of.get(&loosen(&moved.path).plain())
        {
            *template = Cow::Borrowed(self.handlers.templates[*other as usize].as_slice());
        }
        moved
    }
}

/// Does a rule give a path another beginning?
fn is_elsewhere(act: &PathAct) -> bool {
    matches!(act, PathAct::Prefix(..) | PathAct::Template(_))
}

fn is_anchored(act: &PathAct) -> bool {
    is_elsewhere(act) || matches!(act, PathAct::Extension(..))
}

/// `template` where paths begin with `to` instead of `from`, both of which begin with a slash.
fn carried(template: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let names_of = |text: &[u8]| text.iter().filter(|byte| **byte == b'/').count();
    // `/people/` is a whole name, and `/~` begins one.
    let (whole, begun) = from.split_at(last_start(from));
    let mut names = template[1..].split(|byte| *byte == b'/').skip(names_of(whole) - 1);
    let mut out = to.to_vec();
    if let Some(name) = names.next() {
        let mut head = Vec::new();
        outline(begun, &mut head);
        out.extend_from_slice(name.strip_prefix(head.as_slice()).unwrap_or(name));
    }
    for name in names {
        out.push(b'/');
        out.extend_from_slice(name);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_elsewhere() {
        for (template, from, to, expected) in [
            ("/people/{slug}", "/people/", "/~", "/~{slug}"),
            ("/people/{slug}/x{num}", "/people/", "/p/", "/p/{slug}/x{num}"),
            ("/{slug}/x", "/people/", "/p/", "/p/x"),
            ("/{slug}.html", "/~", "/people/", "/people/{slug}.html"),
            ("/~ball/{num}", "/~", "/people/", "/people/ball/{num}"),
            ("/people", "/people/", "/~", "/~"),
            ("/a/b{num}", "/a/b", "/", "/{num}"),
            ("/", "/", "/new/", "/new/"),
        ] {
            let found = carried(template.as_bytes(), from.as_bytes(), to.as_bytes());
            assert_eq!(str::from_utf8(&found), Ok(expected), "{template} {from} {to}");
        }
    }
}
