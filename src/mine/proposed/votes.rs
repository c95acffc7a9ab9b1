//! Contents first: whatever URLs of one content differ in is what rules may be about.
//!
//! A vote costs nothing and proves nothing; it makes a candidate. No substring is enumerated: the
//! members of a content are compared with their neighbors in byte order and with the first.

use std::collections::BTreeMap;

use crate::mine::acts::candidates::Act;
use crate::mine::acts::paths::{PathAct, Template};
use crate::mine::seen::loose_path::LoosePath;
use crate::mine::seen::maps::{Map, map};
use crate::mine::seen::table::{Param, Table, Url};
use crate::mine::worth::signal::Calibration;

/// Most URLs of a content that are compared.
const MEMBERS_MAX: usize = 64;

/// Most bytes on one side of a prefix or template.
const TEXT_MAX: usize = 64;

/// For each act, how many contents ask for it.
pub(crate) type Votes = BTreeMap<Act, u32>;

/// Collects the votes of all contents that are not hot, and of the URLs that redirects and
/// canonical links lead to. `few` says of which parameters values are paired, by number of the
/// name.
pub(crate) fn collect(
    table: &Table,
    loose_paths: &[LoosePath],
    calibration: &Calibration,
    few: &[bool],
) -> Votes {
    let mut by_content: Vec<(u32, u32)> = Vec::new();
    for (number, url) in (0..).zip(&table.urls) {
        if url.opaque {
            continue;
        }
        for capture in table.captures_of(url) {
            if !calibration.hot[capture.content as usize] {
                by_content.push((capture.content, number));
            }
        }
    }
    by_content.sort_unstable();
    by_content.dedup();
    let mut counter = VoteCounter::new(table.names.len());
    let mut acts: Vec<Act> = Vec::new();
    for group in by_content.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
        let members = &group[..group.len().min(MEMBERS_MAX)];
        let url = |at: usize| &table.urls[members[at].1 as usize];
        for at in 1..members.len() {
            differences(table, loose_paths, few, url(at - 1), url(at), &mut acts);
            if at > 1 {
                differences(table, loose_paths, few, url(0), url(at), &mut acts);
            }
        }
        counter.count(&mut acts);
    }
    let mut moves: Vec<(u32, u32)> = table.moves.iter().map(|(from, to)| (*to, *from)).collect();
    moves.sort_unstable();
    for arriving in moves.chunk_by(|a, b| a.0 == b.0) {
        let to = &table.urls[arriving[0].0 as usize];
        let from = arriving.iter().take(MEMBERS_MAX).map(|(_, from)| &table.urls[*from as usize]);
        for from in from.filter(|from| !from.opaque && !to.opaque) {
            differences(table, loose_paths, few, from, to, &mut acts);
        }
        counter.count(&mut acts);
    }
    counter.votes()
}

/// Counts votes; each content has one for an act. Parameters are by far the most, so they are
/// counted by number.
struct VoteCounter {
    /// By name of parameter: votes, and the number of the latest content.
    drops: Vec<(u32, u32)>,
    /// The same by name and value.
    defaults: Map<(u32, u64), (u32, u32)>,
    /// The same by name and two values.
    values: Map<(u32, u64, u64), (u32, u32)>,
    rest: Votes,
    content: u32,
}

impl VoteCounter {
    fn new(names: usize) -> VoteCounter {
        VoteCounter {
            drops: vec![(0, 0); names],
            defaults: map(),
            values: map(),
            rest: Votes::new(),
            content: 0,
        }
    }

    /// Counts the votes of one content, and takes them out of `acts`.
    fn count(&mut self, acts: &mut Vec<Act>) {
        self.content += 1;
        acts.retain(|act| {
            let count = match act {
                Act::Drop(name) => &mut self.drops[*name as usize],
                Act::Default(name, value) => self.defaults.entry((*name, *value)).or_default(),
                Act::Value(name, a, b) => self.values.entry((*name, *a, *b)).or_default(),
                _ => return true,
            };
            count.0 += u32::from(count.1 != self.content);
            count.1 = self.content;
            false
        });
        acts.sort_unstable();
        acts.dedup();
        for act in acts.drain(..) {
            *self.rest.entry(act).or_insert(0) += 1;
        }
    }

    fn votes(self) -> Votes {
        let mut votes = self.rest;
        let drops = (0..).zip(self.drops).filter(|(_, (count, _))| *count > 0);
        votes.extend(drops.map(|(name, (count, _))| (Act::Drop(name), count)));
        let mut defaults: Vec<((u32, u64), (u32, u32))> = self.defaults.into_iter().collect();
        defaults.sort_unstable();
        let act = |((name, value), (count, _))| (Act::Default(name, value), count);
        votes.append(&mut defaults.into_iter().map(act).collect());
        let values = self.values.into_iter();
        votes.extend(values.map(|((name, a, b), (count, _))| (Act::Value(name, a, b), count)));
        votes
    }
}

/// Adds the acts in which `a` and `b` differ to `acts`.
fn differences(
    table: &Table,
    loose_paths: &[LoosePath],
    few: &[bool],
    a: &Url,
    b: &Url,
    acts: &mut Vec<Act>,
) {
    if a.origin != b.origin {
        let (one, other) = (&table.origins[a.origin as usize], &table.origins[b.origin as usize]);
        if one.host != other.host {
            acts.push(Act::Host(one.host.min(other.host), one.host.max(other.host)));
        }
        if one.https != other.https {
            acts.push(Act::Scheme(true));
        }
        for (port, without) in [(&one.port, &other.port), (&other.port, &one.port)] {
            if !port.is_empty() && without.is_empty() {
                acts.push(Act::Port(port.clone()));
            }
        }
    }
    if a.path == b.path
        || same_path(&loose_paths[a.path as usize], &loose_paths[b.path as usize], acts)
    {
        params(table, few, a, b, acts);
    } else {
        templates(table, loose_paths, a, b, acts);
        templates(table, loose_paths, b, a, acts);
        prefixes(&loose_paths[a.path as usize], &loose_paths[b.path as usize], acts);
    }
}

fn params(table: &Table, few: &[bool], a: &Url, b: &Url, acts: &mut Vec<Act>) {
    let (one, other) = (table.params_of(a), table.params_of(b));
    let mut equal = one.len() == other.len();
    for (mine, theirs) in [(one, other), (other, one)] {
        for param in mine {
            let there = theirs.iter().any(|p| p.name == param.name && p.value == param.value);
            if !there {
                equal = false;
                acts.push(Act::Drop(param.name));
                if theirs.iter().all(|p| p.name != param.name) {
                    acts.push(Act::Default(param.name, param.value));
                }
            }
        }
    }
    for param in one.iter().filter(|param| few[param.name as usize]) {
        let theirs = other.iter().filter(|p| p.name == param.name && p.value != param.value);
        let pair = |p: &Param| (param.value.min(p.value), param.value.max(p.value));
        acts.extend(theirs.map(pair).map(|(a, b)| Act::Value(param.name, a, b)));
    }
    let order = |list: &[Param]| list.iter().map(|p| p.name).collect::<Vec<u32>>();
    if equal && order(one) != order(other) {
        acts.push(Act::Order);
    }
}

/// Are the two paths spellings of one? Then votes for what they differ in.
fn same_path(a: &LoosePath, b: &LoosePath, acts: &mut Vec<Act>) -> bool {
    if a.base != b.base {
        return false;
    }
    let mut push = |act| acts.push(Act::Path(act));
    if a.cased != b.cased {
        push(PathAct::FoldCase);
    }
    for (one, other) in [(a, b), (b, a)] {
        for parameter in &one.parameters {
            if !other.parameters.contains(parameter) {
                push(PathAct::Parameter(parameter.0.clone()));
            }
        }
        for session in &one.sessions {
            if !other.sessions.contains(session) {
                push(PathAct::Segment(session.0.clone()));
            }
        }
        if !one.index.is_empty() && other.index.is_empty() && other.extension.is_empty() {
            push(PathAct::Index(one.index.clone()));
        }
    }
    if a.leaves_slash() != b.leaves_slash() {
        push(PathAct::Slash);
    }
    if a.doubled != b.doubled {
        push(PathAct::DoubleSlash);
    }
    if a.extension != b.extension && !a.slash && !b.slash {
        let (one, other) = (&a.extension, &b.extension);
        if one.is_empty() || other.is_empty() || !one.eq_ignore_ascii_case(other) {
            push(PathAct::Extension(one.min(other).clone(), one.max(other).clone()));
        } else {
            push(PathAct::FoldCase);
        }
    }
    true
}

/// Votes for the parts before the common end of two paths.
fn prefixes(a: &LoosePath, b: &LoosePath, acts: &mut Vec<Act>) {
    if a.extension != b.extension && !a.extension.eq_ignore_ascii_case(&b.extension) {
        return;
    }
    let (one, other) = (&a.cased, &b.cased);
    let mut common = one.iter().rev().zip(other.iter().rev()).take_while(|(x, y)| x == y).count();
    // The common end starts with a word, so that no word is cut.
    let cuts = |text: &[u8], common: usize| {
        let at = text.len() - common;
        at > 0
            && text[at - 1].is_ascii_alphanumeric()
            && text.get(at).is_some_and(u8::is_ascii_alphanumeric)
    };
    while common > 0 && (cuts(one, common) || cuts(other, common)) {
        common -= 1;
    }
    while common > 0 && one[one.len() - common] == b'/' {
        common -= 1;
    }
    let (from, to) = (&one[..one.len() - common], &other[..other.len() - common]);
    if common == 0 || from.len().max(to.len()) > TEXT_MAX || from.is_empty() || to.is_empty() {
        return;
    }
    if !from.starts_with(b"/") || !to.starts_with(b"/") {
        return;
    }
    let (short, long) = if (from.len(), from) <= (to.len(), to) { (from, to) } else { (to, from) };
    acts.push(Act::Path(PathAct::Prefix(long.to_vec(), short.to_vec())));
}

/// Votes for a value in the path of `a` that `b` has as a parameter.
fn templates(table: &Table, loose_paths: &[LoosePath], a: &Url, b: &Url, acts: &mut Vec<Act>) {
    let path = &table.paths[a.path as usize];
    let other = &table.paths[b.path as usize];
    let loose = &loose_paths[a.path as usize];
    if !loose.parameters.is_empty() || !loose.sessions.is_empty() || path.len() > 4 * TEXT_MAX {
        return;
    }
    let plain = &loose_paths[b.path as usize];
    if !plain.parameters.is_empty() || !plain.sessions.is_empty() || other.len() > TEXT_MAX {
        return;
    }
    for param in table.params_of(b) {
        let value = table.bytes(param.text);
        let carried = table.params_of(a).iter().any(|p| p.name == param.name);
        if value.is_empty() || value.len() > TEXT_MAX || carried {
            continue;
        }
        let Some(at) = memchr::memmem::rfind(path, value) else { continue };
        let (head, tail) = (&path[..at], &path[at + value.len()..]);
        let joins = |x: Option<&u8>, y: Option<&u8>| match (x, y) {
            (Some(x), Some(y)) => {
                x.is_ascii_digit() && y.is_ascii_digit()
                    || x.is_ascii_alphabetic() && y.is_ascii_alphabetic()
            }
            _ => false,
        };
        if joins(head.last(), value.first())
            || joins(value.last(), tail.first())
            || head.len() + tail.len() > TEXT_MAX
            || head.is_empty()
        {
            continue;
        }
        acts.push(Act::Path(PathAct::Template(Template {
            head: head.to_vec(),
            tail: tail.to_vec(),
            path: other.clone(),
            name: table.names[param.name as usize].clone(),
            number: value.iter().all(u8::is_ascii_digit),
        })));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::seen::loose_path::loosen;
    use crate::mine::seen::segments::Shape;
    use crate::mine::seen::table::tests::table_of;

    fn voted(pairs: &[(&'static str, &'static str)]) -> Vec<Act> {
        let table = table_of(pairs);
        let loose_paths: Vec<LoosePath> = table.paths.iter().map(|path| loosen(path)).collect();
        let few = vec![true; table.names.len()];
        collect(&table, &loose_paths, &Calibration::measure(&table), &few).into_keys().collect()
    }

    fn session() -> Shape {
        Shape::of(b"0123456789abcdef").unwrap()
    }

    #[test]
    fn spellings_of_paths() {
        let path = |act| vec![Act::Path(act)];
        for (a, b, acts) in [
            ("http://a.test/x/", "http://a.test/x", path(PathAct::Slash)),
            (
                "http://a.test/x/0123456789abcdef",
                "http://a.test/x",
                vec![Act::Path(PathAct::Segment(session())), Act::Path(PathAct::Slash)],
            ),
            (
                "http://a.test/x/0123456789abcdef",
                "http://a.test/x/",
                path(PathAct::Segment(session())),
            ),
            ("http://a.test/X", "http://a.test/x", path(PathAct::FoldCase)),
            ("http://a.test/x//y", "http://a.test/x/y", path(PathAct::DoubleSlash)),
            (
                "http://a.test/x/index.html",
                "http://a.test/x/",
                path(PathAct::Index(b"index.html".to_vec())),
            ),
            (
                "http://a.test/x.htm",
                "http://a.test/x.html",
                path(PathAct::Extension(b".htm".to_vec(), b".html".to_vec())),
            ),
            (
                "http://a.test/people/anna/x",
                "http://a.test/~anna/x",
                path(PathAct::Prefix(b"/people/".to_vec(), b"/~".to_vec())),
            ),
            (
                "http://a.test/item_5",
                "http://a.test/item.php?id=5",
                path(PathAct::Template(Template {
                    head: b"/item_".to_vec(),
                    tail: vec![],
                    path: b"/item.php".to_vec(),
                    name: b"id".to_vec(),
                    number: true,
                })),
            ),
            ("http://a.test/x", "https://a.test/x", vec![Act::Scheme(true)]),
            ("http://a.test/x?a=1&b=1", "http://a.test/x?b=1&a=1", vec![Act::Order]),
        ] {
            assert_eq!(voted(&[(a, "one"), (b, "one")]), acts, "{a} {b}");
            assert_eq!(voted(&[(a, "one"), (b, "two")]), [], "{a} {b}");
        }
    }

    #[test]
    fn parameters_and_defaults() {
        let acts = voted(&[("http://a.test/x?a=1&s=2", "one"), ("http://a.test/x?a=1", "one")]);
        assert!(matches!(acts[..], [Act::Drop(_), Act::Default(..)]), "{acts:?}");
    }
}
