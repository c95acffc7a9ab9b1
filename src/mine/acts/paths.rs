//! What rules do to paths: one pass in the order of their strata.

use crate::limits::DUST_PASSES_MAX;
use crate::mine::seen::handlers::extension;
use crate::mine::seen::maps::hash;
use crate::mine::seen::segments::{Shape, fold, last_start};
use crate::mine::seen::stems::Place;

/// A change of a path that a rule may make.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathAct {
    /// Drops the path parameter of this name (lower case) from every segment: `;jsessionid=…`.
    Parameter(Vec<u8>),
    /// Drops segments of this shape.
    Segment(Shape),
    /// Letters in lower case.
    FoldCase,
    /// Several slashes in a row become one.
    DoubleSlash,
    /// A path that starts with the first starts with the second instead.
    Prefix(Vec<u8>, Vec<u8>),
    /// A last segment of this name is left out.
    Index(Vec<u8>),
    /// Slashes at the end are left out.
    Slash,
    /// A last segment that ends in the first ends in the second instead.
    Extension(Vec<u8>, Vec<u8>),
    /// A path `head`, value, `tail` is the path `path` with the value as parameter `name`.
    Template(Template),
}

impl PathAct {
    /// What its reach consists of at `place`: the stem, or the handler.
    pub(crate) fn reached_at(&self, place: Place) -> u32 {
        if self.takes_numbers() { place.stem } else { place.handler }
    }

    /// Does it take away numbers, which may be those of sessions or names of pages?
    pub(crate) fn takes_numbers(&self) -> bool {
        match self {
            PathAct::Parameter(_) => true,
            // Brackets such as `(S(…))` are never names.
            PathAct::Segment(shape) => shape.length > 0,
            _ => false,
        }
    }

    /// Does it change the last segment only, so that pages stay in their section?
    pub(crate) fn keeps_section(&self) -> bool {
        matches!(self, PathAct::Index(_) | PathAct::Slash | PathAct::Extension(..))
    }

    /// Does it change `path`?
    pub(crate) fn changes(&self, path: &[u8]) -> bool {
        let mut changes = false;
        let _taken = apply([(0, self)].into_iter(), &mut path.to_vec(), |_, _| changes = true);
        changes
    }

    /// Does the text that it replaces or writes contain a capital letter?
    pub(crate) fn has_capitals(&self) -> bool {
        let capital = |text: &Vec<u8>| text.iter().any(u8::is_ascii_uppercase);
        match self {
            PathAct::Prefix(from, to) | PathAct::Extension(from, to) => {
                capital(from) || capital(to)
            }
            PathAct::Index(name) => capital(name),
            PathAct::Template(one) => {
                capital(&one.head) || capital(&one.tail) || capital(&one.path)
            }
            _ => false,
        }
    }
}

/// A value in the path on one side, in a parameter on the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Template {
    /// What the path starts with.
    pub(crate) head: Vec<u8>,
    /// What it ends with.
    pub(crate) tail: Vec<u8>,
    /// The path of the other side.
    pub(crate) path: Vec<u8>,
    /// The name of its parameter.
    pub(crate) name: Vec<u8>,
    /// Are values numbers only?
    pub(crate) number: bool,
}

/// A parameter that a template takes out of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) name: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// Applies `acts`, which are sorted, to `path`. Calls `fired` with the index of each act that
/// changed something and a hash of what it took away. Returns what a template took.
///
/// Linear in the path for each act.
pub(crate) fn apply<'a>(
    acts: impl Iterator<Item = (usize, &'a PathAct)>,
    path: &mut Vec<u8>,
    mut fired: impl FnMut(usize, u64),
) -> Option<Taken> {
    let mut taken = None;
    for (at, act) in acts {
        let signature = match act {
            PathAct::Parameter(name) => drop_parameter(path, name),
            PathAct::Segment(shape) => drop_segments(path, shape),
            PathAct::FoldCase => fold(path),
            PathAct::DoubleSlash => collapse(path),
            PathAct::Prefix(from, to) => replace_prefix(path, from, to),
            PathAct::Index(name) => {
                let start = last_start(path);
                (&path[start..] == name.as_slice()).then(|| {
                    path.truncate(start);
                    1
                })
            }
            PathAct::Slash => drop_slashes(path),
            PathAct::Extension(from, to) => {
                let start = last_start(path);
                (extension(&path[start..]) == from.as_slice()).then(|| {
                    path.truncate(path.len() - from.len());
                    path.extend_from_slice(to);
                    1
                })
            }
            PathAct::Template(template) => take(path, template).map(|found| {
                taken = Some(found);
                1
            }),
        };
        if let Some(signature) = signature {
            fired(at, signature | 1);
        }
    }
    taken
}

/// Writes one slash for several in a row; returns a hash of what was there, if there were any.
pub(crate) fn collapse(path: &mut Vec<u8>) -> Option<u64> {
    let before = path.len();
    let mut last = 0;
    path.retain(|byte| {
        let keep = *byte != b'/' || last != b'/';
        last = *byte;
        keep
    });
    (path.len() < before).then_some((before - path.len()) as u64)
}

fn drop_slashes(path: &mut Vec<u8>) -> Option<u64> {
    let before = path.len();
    while path.len() > 1 && path.ends_with(b"/") {
        path.pop();
    }
    (path.len() < before).then_some(1)
}

/// Replaces what a path starts with; where that gets shorter, until it is not there any more, as
/// rules do, and no more often than they do.
fn replace_prefix(path: &mut Vec<u8>, from: &[u8], to: &[u8]) -> Option<u64> {
    let mut rest = path.strip_prefix(from)?;
    // The rest, when a prefix gets shorter, may start with the prefix again.
    let more = from.strip_prefix(to).filter(|more| !more.is_empty());
    for passes in 1.. {
        match more.and_then(|more| rest.strip_prefix(more)) {
            Some(_) if passes >= DUST_PASSES_MAX => return None,
            Some(shorter) => rest = shorter,
            None => break,
        }
    }
    let start = path.len() - rest.len();
    path.splice(..start, to.iter().copied());
    Some(1)
}

fn drop_parameter(path: &mut Vec<u8>, name: &[u8]) -> Option<u64> {
    memchr::memchr(b';', path)?;
    let mut out = Vec::with_capacity(path.len());
    let mut signature = 0;
    for segment in path[1..].split(|byte| *byte == b'/') {
        out.push(b'/');
        for (at, piece) in segment.split(|byte| *byte == b';').enumerate() {
            // A parameter without a value is dropped, as rules do.
            let length = memchr::memchr(b'=', piece);
            if at > 0 && length.is_some_and(|length| piece[..length].eq_ignore_ascii_case(name)) {
                signature ^= hash(piece);
                continue;
            }
            if at > 0 {
                out.push(b';');
            }
            out.extend_from_slice(piece);
        }
    }
    let changed = out.len() < path.len();
    *path = out;
    changed.then_some(signature)
}

fn drop_segments(path: &mut Vec<u8>, shape: &Shape) -> Option<u64> {
    if !path[1..].split(|byte| *byte == b'/').any(|segment| shape.fits(segment)) {
        return None;
    }
    let mut out = Vec::with_capacity(path.len());
    let (mut signature, mut is_last_dropped) = (0, false);
    for segment in path[1..].split(|byte| *byte == b'/') {
        is_last_dropped = shape.fits(segment);
        if is_last_dropped {
            signature ^= hash(segment);
        } else {
            out.push(b'/');
            out.extend_from_slice(segment);
        }
    }
    // The slash before the last segment stays, as rules do.
    if is_last_dropped {
        out.push(b'/');
    }
    *path = out;
    Some(signature)
}

/// Takes the value out of a path that fits `template`.
fn take(path: &mut Vec<u8>, template: &Template) -> Option<Taken> {
    let value = path
        .strip_prefix(template.head.as_slice())?
        .strip_suffix(template.tail.as_slice())?
        .to_vec();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let fits = |byte: &u8| if template.number { byte.is_ascii_digit() } else { plain(byte) };
    if value.is_empty() || !value.iter().all(fits) {
        return None;
    }
    path.clear();
    path.extend_from_slice(&template.path);
    Some(Taken { name: template.name.clone(), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(act: PathAct, path: &str) -> String {
        let mut path = path.as_bytes().to_vec();
        let _taken = apply([(0, &act)].into_iter(), &mut path, |_, _| {});
        String::from_utf8(path).unwrap()
    }

    #[test]
    fn prefixes_go_as_often_as_rules_take_them_off() {
        let english = || PathAct::Prefix(b"/en/".to_vec(), b"/".to_vec());
        let often = |times: usize| format!("/{}x", "en/".repeat(times));
        assert_eq!(after(english(), &often(DUST_PASSES_MAX)), "/x");
        for more in [DUST_PASSES_MAX + 1, 20_000] {
            assert_eq!(after(english(), &often(more)), often(more));
        }
    }

    #[test]
    fn each_act() {
        let session = Shape::of(b"(S(abc123def456ghi789))").unwrap();
        assert_eq!(session.head, b"(S(");
        for (act, given, expected) in [
            (PathAct::Parameter(b"jsessionid".to_vec()), "/a;JSESSIONID=1;v=2/b;x", "/a;v=2/b;x"),
            (PathAct::Segment(session.clone()), "/(S(000aaa111bbb222ccc))/b", "/b"),
            (PathAct::Segment(session.clone()), "/(S(000aaa111bbb222ccc))", "/"),
            (PathAct::Segment(session.clone()), "/b/(S(000aaa111bbb222ccc))", "/b/"),
            (PathAct::Segment(session.clone()), "/b/(S(000aaa111bbb222ccc))/", "/b/"),
            (PathAct::Segment(session), "/(S())/b", "/(S())/b"),
            (PathAct::FoldCase, "/A%2Fb/C", "/a%2Fb/c"),
            (PathAct::DoubleSlash, "//a///b/", "/a/b/"),
            (PathAct::Prefix(b"/~".to_vec(), b"/people/".to_vec()), "/~x/y", "/people/x/y"),
            (PathAct::Prefix(b"/en/".to_vec(), b"/".to_vec()), "/en/en/x/en/", "/x/en/"),
            (PathAct::Prefix(b"/en/".to_vec(), b"/en/u/".to_vec()), "/en/x", "/en/u/x"),
            (PathAct::Index(b"index.html".to_vec()), "/a/index.html", "/a/"),
            (PathAct::Index(b"index.html".to_vec()), "/a/xindex.html", "/a/xindex.html"),
            (PathAct::Slash, "/a/", "/a"),
            (PathAct::Slash, "/a//", "/a"),
            (PathAct::Slash, "/", "/"),
            (PathAct::Extension(b".htm".to_vec(), b".html".to_vec()), "/a.htm", "/a.html"),
            (PathAct::Extension(b".htm".to_vec(), b".html".to_vec()), "/a.html", "/a.html"),
        ] {
            assert_eq!(after(act, given), expected, "{given}");
        }
    }

    #[test]
    fn templates_take_values() {
        let act = PathAct::Template(Template {
            head: b"/item_".to_vec(),
            tail: b"".to_vec(),
            path: b"/item.php".to_vec(),
            name: b"id".to_vec(),
            number: true,
        });
        let mut path = b"/item_5".to_vec();
        let taken = apply([(0, &act)].into_iter(), &mut path, |_, _| {}).unwrap();
        assert_eq!((path.as_slice(), taken.value.as_slice()), (&b"/item.php"[..], &b"5"[..]));
        assert_eq!(after(act, "/item_5/x"), "/item_5/x");
    }

    #[test]
    fn every_act_is_idempotent() {
        let acts = [
            PathAct::Parameter(b"s".to_vec()),
            PathAct::FoldCase,
            PathAct::DoubleSlash,
            PathAct::Slash,
            PathAct::Index(b"index.html".to_vec()),
        ];
        for path in
            ["/", "//", "/A;s=1/;s/b/", "/a/index.html/", "/;s;s", "/%2F%", "/%", "/caf%C3%A9"]
        {
            for act in &acts {
                let once = after(act.clone(), path);
                let twice = after(act.clone(), &once);
                assert_eq!(once, twice, "{act:?} {path}");
                assert_eq!(act.changes(path.as_bytes()), once != path, "{act:?} {path}");
            }
        }
    }
}
