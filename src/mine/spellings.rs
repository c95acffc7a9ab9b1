//! How the paths of a handler are spelled where its rules meet them.
//!
//! Handlers are found on paths in one soft spelling (`softly.rs`): letters in lower case, without the
//! name of an index page and the slash at the end. Rules are matched against paths as they are spelled,
//! after the rules for paths have done their work. So what is said of a handler is written for each
//! spelling that was seen of its paths, as a pattern: `/Forum/{slug}.php`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::candidates::{Act, Reach};
use super::handlers::{Handlers, extension, outline};
use super::paths::{self, PathAct, Shape};
use super::select::Judged;
use super::softly::{is_index, soften};
use super::table::Table;
use crate::canonical::PathPattern;

/// Most spellings of one handler that a rule is written for.
const SPELLINGS_MAX: usize = 16;

/// Most spellings of one handler that a rule is kept from.
const EXCEPTIONS_MAX: usize = 64;

/// The patterns of the paths of each handler.
#[derive(Debug, Default)]
pub(super) struct Spellings {
    /// By handler.
    of_handler: Vec<Spelled>,
    /// The handlers that have paths of a pattern, once the rules for paths in force have done their work.
    sharing: BTreeMap<String, BTreeSet<u32>>,
}

/// The patterns of the paths of one handler.
#[derive(Clone, Debug, Default)]
struct Spelled {
    /// The `possible` ones, whichever slashes and index names a profile drops; and the template, if there is a
    /// path that no pattern can be written for.
    soft: Vec<PathPattern>,
    /// Once the rules for paths in force have done their work.
    met: BTreeSet<String>,
    /// These, and what there is where fewer rules are in force, or those to be reviewed, too.
    possible: BTreeSet<String>,
    /// Is there a path that no pattern can be written for?
    has_others: bool,
}

impl Spellings {
    /// Spells the paths of `table`. Of `judged`, those that are `told` become rules, those with `true` in force.
    ///
    /// Linear in the paths for each rule for paths.
    pub(super) fn find<'a>(
        table: &Table,
        plain: &[Vec<u8>],
        handlers: &Handlers,
        told: impl Iterator<Item = (&'a Judged, bool)>,
    ) -> Spellings {
        let mut acts: Vec<(&PathAct, &Reach, bool)> = told
            .filter_map(|(one, in_force)| match &one.candidate.act {
                Act::Path(act) => Some((act, &one.candidate.reach, in_force)),
                _ => None,
            })
            .collect();
        acts.sort_by(|a, b| a.0.cmp(b.0));
        let mut spellings = Spellings {
            of_handler: vec![Spelled::default(); handlers.templates.len()],
            sharing: BTreeMap::new(),
        };
        let template_of = |handler: u32| handlers.templates[handler as usize].as_slice();
        let handler_of: HashMap<&[u8], u32> =
            plain.iter().map(Vec::as_slice).zip(handlers.of_path.iter().copied()).collect();
        for (path, handler) in table.paths.iter().zip(&handlers.of_path) {
            // What becomes of the path, and the template of the handler that it is another's then, or none's.
            let after = |with_review: bool| {
                let mut path = path.clone();
                let holding = acts.iter().enumerate().filter(|(_, (_, reach, in_force))| {
                    reach.has(*handler) && (*in_force || with_review)
                });
                let mut has_moved = false;
                let holding = holding.map(|(at, (act, ..))| (at, *act));
                let _taken = paths::apply(holding, &mut path, |at, _| {
                    has_moved |= matches!(acts[at].0, PathAct::Prefix(..) | PathAct::Template(_));
                });
                let template = match has_moved {
                    false => template_of(*handler),
                    true => handler_of
                        .get(soften(&path).plain().as_slice())
                        .map_or(&b"/"[..], |handler| template_of(*handler)),
                };
                (path, template)
            };
            let as_it_is = (path.clone(), template_of(*handler));
            let bare = (without_what_may_go(path), template_of(*handler));
            let all = [after(false), after(true), as_it_is, bare];
            let spelled = &mut spellings.of_handler[*handler as usize];
            for ((path, template), is_met) in all.into_iter().zip([true, false, false, false]) {
                let Some(pattern) = pattern(&path, template) else {
                    spelled.has_others = true;
                    continue;
                };
                if is_met {
                    spellings.sharing.entry(pattern.clone()).or_default().insert(*handler);
                    spelled.met.insert(pattern.clone());
                }
                spelled.possible.insert(pattern);
            }
        }
        for (spelled, template) in spellings.of_handler.iter_mut().zip(&handlers.templates) {
            let soft = |pattern: &String| PathPattern::parse(&softened(pattern));
            spelled.soft = spelled.possible.iter().filter_map(soft).collect();
            if spelled.has_others {
                let template = String::from_utf8_lossy(template);
                let any = PathPattern::parse("*");
                spelled.soft.extend(PathPattern::parse(&softened(&template)).or(any));
            }
        }
        spellings
    }

    /// The handlers with paths that `pattern` may match, too, under some profile.
    pub(super) fn meeting(&self, pattern: &str) -> impl Iterator<Item = u32> {
        let soft = PathPattern::parse(&softened(pattern));
        let meets = move |spelled: &Spelled| {
            soft.as_ref().is_none_or(|soft| spelled.soft.iter().any(|other| soft.meets(other)))
        };
        (0..).zip(&self.of_handler).filter(move |(_, one)| meets(one)).map(|(number, _)| number)
    }

    /// The patterns that a rule for `handler` is written for: those that no handlers but those in
    /// `only` have paths of.
    pub(super) fn met<'a>(
        &'a self,
        handler: u32,
        only: &'a BTreeSet<u32>,
    ) -> impl Iterator<Item = &'a str> {
        let spelled = &self.of_handler[handler as usize];
        let is_own = |pattern: &&String| self.sharing[*pattern].is_subset(only);
        spelled.met.iter().filter(is_own).take(SPELLINGS_MAX).map(String::as_str)
    }

    /// All patterns of the paths of `handler`; `None` if one cannot be written, or they are too many.
    pub(super) fn possible(&self, handler: u32) -> Option<&BTreeSet<String>> {
        let Spelled { possible, has_others, .. } = &self.of_handler[handler as usize];
        (!has_others && possible.len() <= EXCEPTIONS_MAX).then_some(possible)
    }
}

/// `path` without parameters and session numbers, which profiles drop as well.
fn without_what_may_go(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    for segment in path.strip_prefix(b"/").unwrap_or(path).split(|byte| *byte == b'/') {
        let name = &segment[..memchr::memchr(b';', segment).unwrap_or(segment.len())];
        if Shape::of(name).is_none() {
            out.push(b'/');
            out.extend_from_slice(name);
        }
    }
    if out.is_empty() {
        out.push(b'/');
    }
    out
}

/// `pattern` without slashes side by side and at the end, and without the name of an index page.
fn softened(pattern: &str) -> String {
    let mut names: Vec<&str> = pattern.split('/').filter(|name| !name.is_empty()).collect();
    if names.last().is_some_and(|name| is_index(name.as_bytes())) {
        names.pop();
    }
    format!("/{}", names.join("/"))
}

/// The pattern of `path`, whose handler has this `template`; `None` if there is none, such as for a path
/// with a `*` in a name.
fn pattern(path: &[u8], template: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(template.len() + 8);
    let mut names = template[1..].split(|byte| *byte == b'/');
    let mut rest = path.strip_prefix(b"/").unwrap_or(path).split(|byte| *byte == b'/').peekable();
    while let Some(segment) = rest.next() {
        out.push(b'/');
        let name_end = memchr::memchr(b';', segment).unwrap_or(segment.len());
        let (name, parameters) = segment.split_at(name_end);
        if Shape::of(name).is_some() {
            out.extend_from_slice(b"{*}");
        } else if !name.is_empty() {
            let is_index = rest.peek().is_none() && is_index(name);
            let template = if is_index { None } else { names.next() };
            let ending = extension(name);
            let word = &name[..name.len() - ending.len()];
            if template.is_some_and(|name| name.starts_with(b"{slug}")) {
                let is_slug =
                    |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
                let class: &[u8] = if word.iter().all(is_slug) { b"{slug}" } else { b"{*}" };
                out.extend_from_slice(class);
                out.extend_from_slice(ending);
            } else if memchr::memchr3(b'*', b'{', b'}', name).is_some() {
                return None;
            } else {
                outline(name, &mut out);
            }
        }
        match parameters {
            [] => {}
            [_] => out.push(b';'),
            _ => out.extend_from_slice(b";{*}"),
        }
    }
    String::from_utf8(out).ok().filter(|pattern| PathPattern::parse(pattern).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_profiles_may_make_of_patterns() {
        for (pattern, soft) in [
            ("/{slug}/", "/{slug}"),
            ("//a//{num}/index.php", "/a/{num}"),
            ("/index.html", "/"),
            ("/{slug}.html", "/{slug}.html"),
        ] {
            assert_eq!(softened(pattern), soft);
        }
        for (path, bare) in [
            ("/a.php;jsessionid=5", "/a.php"),
            ("/(S(abc123def456ghi789))/x;a/", "/x/"),
            ("/(S(abc123def456ghi789))", "/"),
        ] {
            assert_eq!(without_what_may_go(path.as_bytes()), bare.as_bytes());
        }
    }

    #[test]
    fn patterns() {
        for (path, template, expected) in [
            ("/", "/", "/"),
            ("/Forum/", "/forum", "/Forum/"),
            ("/forum/index.php", "/forum", "/forum/index.php"),
            ("/View.PHP", "/view.php", "/View.PHP"),
            ("/caf%C3%A91.php", "/caf%C3%A9{num}.php", "/caf%C3%A9{num}.php"),
            ("/Shop/a-b.html", "/shop/{slug}.html", "/Shop/{slug}.html"),
            ("/shop/a.b.html", "/shop/{slug}.html", "/shop/{*}.html"),
            ("/shop/a*b", "/shop/{slug}", "/shop/{*}"),
            ("/(S(abc123def456ghi789))/x", "/x", "/{*}/x"),
            ("/a;jsessionid=5/b;", "/a/b", "/a;{*}/b;"),
            ("//a/Item_5/", "/a/item_{num}", "//a/Item_{num}/"),
        ] {
            let found = pattern(path.as_bytes(), template.as_bytes());
            assert_eq!(found.as_deref(), Some(expected), "{path}");
        }
        let many = "/a1".repeat(40);
        for path in ["/a*b", many.as_str()] {
            assert_eq!(pattern(path.as_bytes(), path.as_bytes()), None, "{path}");
        }
    }
}
