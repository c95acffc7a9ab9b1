//! Where a rule is written to hold: paths, what it is kept from, conditions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::moves::Moves;
use super::patterns::{around, literal, pattern, text, without_sessions};
use super::spellings::{SPELLINGS_MAX, Spellings};
use crate::canonical::{DustCondition, RuleScope};
use crate::mine::acts::candidates::{Act, Reach};
use crate::mine::acts::paths::PathAct;
use crate::mine::folders::Folders;
use crate::mine::seen::handlers::Handlers;
use crate::mine::seen::stems::Place;
use crate::mine::seen::table::Table;
use crate::mine::seen::table::splits::{Cell, Condition};
use crate::mine::selected::letters::heads;
use crate::mine::selected::selector::Validated;

/// Most rules that one candidate becomes, one for each pattern of a handler.
///
/// Reason: a URL tries all rules of its site, of which there may be 4,096, and a site has some
/// dozens of candidates.
const SCOPES_MAX: usize = 128;

/// Most patterns that one rule is kept from.
///
/// Reason: a URL tries all of them, and with this many a site of 200,000 URLs takes
/// twice the time at most.
const EXCEPTIONS_MAX: usize = 256;

/// Most stems of a handler whose words stand for themselves in exceptions. Reason: what has more
/// was made by a program.
const WORDS_MAX: usize = 16;

/// Most folders of a path by which exceptions are distinguished, if there are too many. Reason: few
/// sites have more.
const DEPTH_MAX: usize = 8;

/// Where a candidate is written to hold.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    /// Each with the URLs of its paths.
    pub(super) written: Vec<(RuleScope, u64)>,
    /// Patterns of its handlers that it is not written for.
    pub(super) left_out: usize,
}

impl Scopes {
    fn everywhere(except: Vec<String>, urls: u64) -> Scopes {
        let scope = RuleScope { except, ..RuleScope::default() };
        Scopes { written: vec![(scope, urls)], left_out: 0 }
    }

    /// The URLs of all of them.
    pub(super) fn urls(&self) -> u64 {
        self.written.iter().map(|(_, urls)| urls).sum()
    }
}

/// What is needed to write where a candidate holds. `values` gives the text of a parameter's value.
pub(super) struct Scoper<'a, F> {
    pub(super) table: &'a Table,
    pub(super) handlers: &'a Handlers,
    pub(super) spellings: &'a Spellings,
    pub(super) moves: &'a Moves<'a>,
    pub(super) values: F,
}

/// A pattern that a rule is written for, if it can be kept from others.
struct Target {
    handler: u32,
    urls: u64,
    when: Vec<DustCondition>,
}

impl<F: Fn(u32, u64) -> Option<Vec<u8>>> Scoper<'_, F> {
    /// Where a candidate is written to hold; `None` if that cannot be said.
    pub(super) fn scopes(&self, validated: &Validated) -> Option<Scopes> {
        let (act, reach) = (&validated.candidate.act, &validated.candidate.reach);
        match reach {
            Reach::All => Some(Scopes::everywhere(Vec::new(), self.table.urls.len() as u64)),
            Reach::Except(except)
                if *act == Act::Path(PathAct::FoldCase) || act.is_judged_by_sections() =>
            {
                let heads = heads(self.handlers, except).into_iter();
                // As it is spelled, and in lower case, which is what other rules may make of it.
                let spelled = heads.flat_map(|head| [Some(head), self.in_capitals(head)]);
                let except = spelled.flatten().map(|head| Some(format!("{}*", literal(head)?)));
                let mut except = except.collect::<Option<Vec<String>>>()?;
                except.sort();
                let is_short = except.len() <= EXCEPTIONS_MAX;
                is_short.then(|| Scopes::everywhere(except, self.table.urls.len() as u64))
            }
            Reach::Except(except) => match act {
                Act::Path(act) if act.takes_numbers() => {
                    let except = self.names_of_pages(act, except)?;
                    Some(Scopes::everywhere(except, self.table.urls.len() as u64))
                }
                _ => Some(self.but(validated, except)),
            },
            Reach::Only(only) => Some(self.only(act, only)),
        }
    }

    /// What paths of the section `head` begin with, if that has other letters.
    fn in_capitals(&self, head: &[u8]) -> Option<&[u8]> {
        let starts = self.table.paths.iter().filter_map(|path| path.get(..head.len()));
        let mut spelled = starts.filter(|start| start.eq_ignore_ascii_case(head));
        spelled.find(|start| *start != head)
    }

    /// The patterns of the paths of these stems that `act` would take a number from; `None` if
    /// they are too many.
    ///
    /// Words stand for themselves, as an exception for any word would be one for most of the site;
    /// where a handler has many of them, they are what its template says.
    fn names_of_pages(&self, act: &PathAct, stems: &BTreeSet<u32>) -> Option<Vec<String>> {
        let mut by_handler: BTreeMap<u32, BTreeMap<u32, &[u8]>> = BTreeMap::new();
        let places = self.handlers.of_path.iter().zip(&self.table.stems);
        for (path, (handler, stem)) in self.table.paths.iter().zip(places) {
            if stems.contains(stem) && act.changes(path) {
                by_handler.entry(*handler).or_default().entry(*stem).or_insert(path);
            }
        }
        let mut out: BTreeSet<String> = BTreeSet::new();
        for (handler, paths) in by_handler {
            let template: &[u8] = match paths.len() <= WORDS_MAX {
                true => b"/",
                false => &self.handlers.templates[handler as usize],
            };
            for (stem, path) in paths {
                let forms = self.before_segments(path, Place { handler, stem });
                let patterns = forms.iter().map(|path| pattern(path, template, true));
                let any = |(pattern, path): (Option<String>, &Vec<u8>)| {
                    pattern.unwrap_or_else(|| around(path))
                };
                out.extend(patterns.zip(&forms).map(any));
            }
        }
        let out: Vec<String> = out.into_iter().collect();
        if out.len() <= EXCEPTIONS_MAX { Some(out) } else { in_short(&out) }
    }

    /// What a path may be when the rule for one of its segments has its turn.
    fn before_segments(&self, path: &[u8], place: Place) -> BTreeSet<Vec<u8>> {
        let mut out = without_sessions(path);
        for path in out.clone() {
            out.extend([false, true].map(|review| self.moves.by_segments(&path, place, review)));
        }
        out
    }

    /// The scopes of what holds everywhere but under these handlers and cells; where it cannot be
    /// kept from them, of what was seen to hold.
    fn but(&self, validated: &Validated, except: &BTreeSet<u32>) -> Scopes {
        let (act, reach) = (&validated.candidate.act, &validated.candidate.reach);
        let paths: BTreeSet<u32> =
            except.iter().map(|one| self.table.splits.path_of(*one)).collect();
        let everywhere = |except: Vec<String>, under: &BTreeSet<u32>| {
            let all = 0..self.handlers.templates.len() as u32;
            let whole: BTreeSet<u32> = all.filter(|one| !paths.contains(one)).collect();
            let urls = whole.difference(under).map(|one| self.spellings.urls(*one)).sum();
            let mut scopes = Scopes::everywhere(except, urls);
            let rest = self.written(act, reach, &paths, &whole);
            scopes.written.extend(rest.written);
            scopes.left_out += rest.left_out;
            scopes
        };
        let patterns = self.all_patterns(paths.iter().copied(), usize::MAX);
        let patterns = match patterns.map(|all| self.by_folders(all, &paths)) {
            Some(all) if all.len() <= EXCEPTIONS_MAX => return everywhere(all, &BTreeSet::new()),
            patterns => patterns,
        };
        let trials = validated.support.by_handler.iter();
        let holds = trials.filter(|(handler, trials)| trials.good > 0 && reach.has(**handler));
        let seen = self.only(act, &holds.map(|(handler, _)| *handler).collect());
        let Some(patterns) = patterns.and_then(|patterns| in_short(&patterns)) else { return seen };
        let under = patterns.iter().flat_map(|pattern| self.spellings.under(pattern)).collect();
        let rest = everywhere(patterns, &under);
        if rest.urls() > seen.urls() { rest } else { seen }
    }

    /// The patterns of these handlers, where whole folders of them are one: the next page in them
    /// is likely to be like all others.
    fn by_folders(&self, patterns: Vec<String>, handlers: &BTreeSet<u32>) -> Vec<String> {
        let folders = Folders { templates: &self.handlers.templates, splits: &self.table.splits };
        let whole = folders.whole(handlers);
        let whole: Vec<String> = whole.into_iter().filter_map(literal).collect();
        let is_outside = |one: &String| !whole.iter().any(|folder| one.starts_with(folder));
        let mut out: Vec<String> = patterns.into_iter().filter(is_outside).collect();
        out.extend(whole.iter().map(|folder| format!("{folder}*")));
        out.sort();
        out
    }

    /// The scopes of what holds under these handlers and cells.
    fn only(&self, act: &Act, only: &BTreeSet<u32>) -> Scopes {
        let splits = &self.table.splits;
        let paths: BTreeSet<u32> = only.iter().map(|one| splits.path_of(*one)).collect();
        let is_whole = |path: &u32| self.cells(act, *path).iter().all(|cell| only.contains(cell));
        let whole = paths.iter().copied().filter(is_whole).collect();
        self.written(act, &Reach::Only(only.clone()), &paths, &whole)
    }

    /// The scopes for the patterns of these handlers: without conditions if all of a
    /// handler is `whole`, else one for each cell that can be written. They are kept from the
    /// handlers that are not.
    fn written(
        &self,
        act: &Act,
        reach: &Reach,
        paths: &BTreeSet<u32>,
        whole: &BTreeSet<u32>,
    ) -> Scopes {
        let mut scopes = Scopes::default();
        // By pattern and cell; handlers that are whole may share a pattern.
        let mut targets: BTreeMap<(&str, Option<u32>), Target> = BTreeMap::new();
        for path in paths {
            let is_whole = whole.contains(path);
            let here = BTreeSet::from([*path]);
            let own = if is_whole { whole } else { &here };
            let parts = match is_whole {
                true => vec![(None, Vec::new())],
                false => self.written_cells(act, reach, *path),
            };
            for (cell, when) in parts {
                for (at, (pattern, urls)) in self.spellings.targets(*path, own).enumerate() {
                    if at >= SPELLINGS_MAX {
                        scopes.left_out += 1;
                        continue;
                    }
                    let new = || Target { handler: *path, urls: 0, when: when.clone() };
                    targets.entry((pattern, cell)).or_insert_with(new).urls += urls;
                }
            }
        }
        let mut targets: Vec<((&str, _), Target)> = targets.into_iter().collect();
        targets.sort_by_key(|(_, target)| Reverse(target.urls));
        scopes.left_out += targets.len().saturating_sub(SCOPES_MAX);
        targets.truncate(SCOPES_MAX);
        for ((pattern, _), Target { handler, urls, when }) in targets {
            match self.exceptions(pattern, handler, whole) {
                Some(except) => {
                    let scope = RuleScope { path: pattern.to_string(), except, when };
                    scopes.written.push((scope, urls));
                }
                None => scopes.left_out += 1,
            }
        }
        scopes
    }

    fn cells(&self, act: &Act, path: u32) -> Vec<u32> {
        act.param().map_or(Vec::new(), |name| self.table.splits.cells_of(name, path))
    }

    /// The cells of a path within `reach` that can be written, with their conditions.
    fn written_cells(
        &self,
        act: &Act,
        reach: &Reach,
        path: u32,
    ) -> Vec<(Option<u32>, Vec<DustCondition>)> {
        let cells = self.cells(act, path).into_iter().filter(|cell| reach.has(*cell));
        let written = cells.filter_map(|cell| {
            let when = self.when(self.table.splits.cell(cell)?)?;
            Some((Some(cell), when))
        });
        written.collect()
    }

    /// The conditions of a cell; `None` if they do not separate it from others, or cannot be
    /// written.
    fn when(&self, cell: &Cell) -> Option<Vec<DustCondition>> {
        let name = |number: u32| {
            let name = text(&self.table.names[number as usize])?;
            // A condition `host=…` asks for a host, `!…` for what is not there.
            let can_be_asked = name != "host" && !name.starts_with('!') && !name.contains('=');
            can_be_asked.then_some(name)
        };
        let condition = |one: &Condition| match one {
            Condition::Lacks(by) => Some(DustCondition::Lacks(name(*by)?)),
            Condition::Has(by, value) => {
                let value = text(&(self.values)(*by, *value)?)?;
                Some(DustCondition::Has { param: name(*by)?, value })
            }
        };
        if !cell.is_reported {
            return None;
        }
        cell.when.iter().map(condition).collect()
    }

    /// What a rule for the pattern `wide` of `handler` is kept from: the patterns of other handlers
    /// that have paths under it, but for those in `only`; `None` if it cannot be kept from them.
    fn exceptions(&self, wide: &str, handler: u32, only: &BTreeSet<u32>) -> Option<Vec<String>> {
        if !wide.contains('{') {
            return Some(Vec::new());
        }
        let others = self.spellings.under(wide);
        let others = others.filter(|one| *one != handler && !only.contains(one));
        self.all_patterns(others, EXCEPTIONS_MAX)
    }

    /// All patterns of the paths of some handlers; `None` if they are more than `most`, or
    /// cannot be written.
    fn all_patterns(
        &self,
        handlers: impl Iterator<Item = u32>,
        most: usize,
    ) -> Option<Vec<String>> {
        let mut out: BTreeSet<&str> = BTreeSet::new();
        for handler in handlers {
            out.extend(self.spellings.possible(handler)?.iter().map(|pattern| &**pattern));
            if out.len() > most {
                return None;
            }
        }
        Some(out.into_iter().map(str::to_string).collect())
    }
}

/// Patterns that match whatever `patterns` do, and are few: those that begin with the same folders
/// are one. `None` if there is none such.
fn in_short(patterns: &[String]) -> Option<Vec<String>> {
    let begin = |pattern: &String, depth: usize| match pattern.match_indices('/').nth(depth) {
        // Without the slash, so that the page of the folder itself is matched, too.
        Some((end, _)) => format!("{}*", &pattern[..end]),
        None => pattern.clone(),
    };
    let at = |depth| patterns.iter().map(|one| begin(one, depth)).collect::<BTreeSet<String>>();
    let short = (1..=DEPTH_MAX).rev().map(at).find(|short| short.len() <= EXCEPTIONS_MAX)?;
    Some(short.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_patterns_in_short() {
        let mut patterns: Vec<String> = (0..200)
            .flat_map(|n| ["x/", "y/{num}"].map(|end| format!("/a/b{n}/{end}")))
            .chain(["/a/c".to_string()])
            .collect();
        let short = in_short(&patterns).unwrap();
        assert_eq!((short.len(), short[0].as_str(), &*short[200]), (201, "/a/b0*", "/a/c"));
        patterns.extend((0..200).map(|n| format!("/a/d{n}/z")));
        assert_eq!(in_short(&patterns).unwrap(), ["/a*"]);
        patterns.extend((0..300).map(|n| format!("/e{n}/z")));
        assert_eq!(in_short(&patterns), None);
    }
}
