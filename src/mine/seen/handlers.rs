//! Handlers: which program of a site answers, as far as the path shows; the scope of rules.

use super::identity::Secret;
use super::maps::{Map, map};

/// Children under one prefix beyond which a segment counts as a value, not as a name.
///
/// Reason: people keep some dozens of folders in one place; a program makes hundreds of names.
const CHILDREN_MAX: usize = 64;

/// The templates of the paths of a site.
#[derive(Debug)]
pub(crate) struct Handlers {
    /// The handler of each path, by number of the path.
    pub(crate) of_path: Vec<u32>,
    /// The template of each handler, a pattern as in rule files: `/people/{slug}/x{num}.html`.
    pub(crate) templates: Vec<Vec<u8>>,
}

/// Share of the URLs under a prefix that a name must have to stay a name among many: one of fifty.
const NAME_SHARE: u64 = 50;

/// A segment with its runs of digits replaced by `{num}`, but not those of escapes; a long segment
/// of letters and digits is `{slug}` as a whole.
pub(crate) fn outline(segment: &[u8], out: &mut Vec<u8>) {
    let digits = segment.iter().filter(|byte| byte.is_ascii_digit()).count();
    let word = segment.iter().all(|byte| byte.is_ascii_alphanumeric());
    if digits > 0 && word && segment.len() >= 16 {
        out.extend_from_slice(b"{slug}");
        return;
    }
    let mut rest = segment;
    while let Some((byte, more)) = rest.split_first() {
        rest = match byte {
            b'0'..=b'9' => {
                out.extend_from_slice(b"{num}");
                let run = more.iter().take_while(|byte| byte.is_ascii_digit()).count();
                &more[run..]
            }
            b'%' if more.len() >= 2 => {
                out.extend_from_slice(&rest[..3]);
                &more[2..]
            }
            _ => {
                out.push(*byte);
                more
            }
        };
    }
}

/// What is after the last dot of a segment, with the dot, if it looks like an extension.
pub(crate) fn extension(segment: &[u8]) -> &[u8] {
    match memchr::memrchr(b'.', segment) {
        Some(dot) if dot > 0 && (2..=6).contains(&(segment.len() - dot)) => {
            let ending = &segment[dot..];
            if ending[1..].iter().all(u8::is_ascii_alphanumeric) && ending[1].is_ascii_alphabetic()
            {
                ending
            } else {
                b""
            }
        }
        _ => b"",
    }
}

impl Handlers {
    /// Finds the templates of `paths`, which are in the spelling that scopes are matched against.
    ///
    /// From left to right: if more than [`CHILDREN_MAX`] names are under one prefix, they are
    /// values, except those with a large share of the URLs, which are scripts. `urls` is how many
    /// each path has. Linear in the bytes of the paths.
    pub(crate) fn find(paths: &[Vec<u8>], urls: &[u64]) -> Handlers {
        let mut prefixes = Prefixes::new(paths, urls);
        let mut rest: Vec<Rest> = (0..).zip(paths.iter().map(|_| 1)).collect();
        while !rest.is_empty() {
            let level = prefixes.look(&rest);
            rest = prefixes.descend(&rest, &level);
        }
        prefixes.into_handlers()
    }
}

/// A path, and where the segment begins that comes next.
type Rest = (u32, usize);

/// Prefixes of templates, level by level.
struct Prefixes<'a> {
    paths: &'a [Vec<u8>],
    /// How many each path has.
    urls: &'a [u64],
    secret: Secret,
    /// The prefix before, and the last segment. Number 0 has none.
    all: Vec<(u32, Vec<u8>)>,
    /// The first one of the latest level.
    level_start: usize,
    /// The one that each path is at.
    of_path: Vec<u32>,
}

/// What comes after the prefixes of a level.
#[derive(Default)]
struct Level {
    below: Vec<Below>,
    /// The URLs of each name: by prefix and hash.
    names: Map<(u32, u128), u64>,
    /// The hash of each path's name.
    hashes: Vec<u128>,
}

impl<'a> Prefixes<'a> {
    fn new(paths: &'a [Vec<u8>], urls: &'a [u64]) -> Self {
        Prefixes {
            paths,
            urls,
            secret: Secret::random(),
            all: vec![(0, Vec::new())],
            level_start: 0,
            of_path: vec![0; paths.len()],
        }
    }

    /// The segment that comes next.
    fn segment(&self, (path, at): Rest) -> &'a [u8] {
        let text = &self.paths[path as usize];
        let rest = &text[at.min(text.len())..];
        &rest[..memchr::memchr(b'/', rest).unwrap_or(rest.len())]
    }

    /// Looks at the segments that come next.
    fn look(&self, rest: &[Rest]) -> Level {
        let below = vec![Below::default(); self.all.len() - self.level_start];
        let mut level = Level { below, ..Level::default() };
        let mut token = Vec::new();
        for one in rest {
            token.clear();
            outline(self.segment(*one), &mut token);
            let path = one.0 as usize;
            let (before, hash) = (self.of_path[path], self.secret.fingerprint(&token));
            level.hashes.push(hash);
            let below = &mut level.below[before as usize - self.level_start];
            below.urls += self.urls[path];
            let name = level.names.entry((before, hash)).or_insert_with(|| {
                below.names += 1;
                0
            });
            *name += self.urls[path];
        }
        level
    }

    /// Advances each path to the prefix with its next segment, or a placeholder for all segments.
    /// Returns the paths that have more segments.
    fn descend(&mut self, rest: &[Rest], level: &Level) -> Vec<Rest> {
        let next_level = self.all.len();
        let mut numbers: Map<(u32, u128), u32> = map();
        let mut next = Vec::with_capacity(rest.len());
        let mut token = Vec::new();
        for (one @ (path, at), hash) in rest.iter().zip(&level.hashes) {
            let segment = self.segment(*one);
            let before = self.of_path[*path as usize];
            let Below { urls, names } = level.below[before as usize - self.level_start];
            let is_name = level.names[&(before, *hash)] * NAME_SHARE >= urls;
            token.clear();
            if names > CHILDREN_MAX && !is_name && !segment.is_empty() {
                token.extend_from_slice(b"{slug}");
                token.extend_from_slice(extension(segment));
            } else {
                outline(segment, &mut token);
            }
            let number = numbers.entry((before, self.secret.fingerprint(&token)));
            self.of_path[*path as usize] = *number.or_insert_with(|| {
                self.all.push((before, token.clone()));
                self.all.len() as u32 - 1
            });
            let end = at + segment.len();
            if end < self.paths[*path as usize].len() {
                next.push((*path, end + 1));
            }
        }
        self.level_start = next_level;
        next
    }

    /// A template is where a path ends; no two prefixes have one text.
    fn into_handlers(self) -> Handlers {
        let mut ends = self.of_path.clone();
        ends.sort_unstable();
        ends.dedup();
        let mut templates: Vec<(Vec<u8>, u32)> =
            ends.iter().map(|end| (self.text_of(*end), *end)).collect();
        templates.sort_unstable();
        let mut ranks = vec![0; self.all.len()];
        for (rank, (_, end)) in (0..).zip(&templates) {
            ranks[*end as usize] = rank;
        }
        Handlers {
            of_path: self.of_path.iter().map(|end| ranks[*end as usize]).collect(),
            templates: templates.into_iter().map(|(text, _)| text).collect(),
        }
    }

    /// The text of a prefix: its segments, each after a slash.
    fn text_of(&self, number: u32) -> Vec<u8> {
        let mut segments: Vec<&[u8]> = Vec::new();
        let mut at = number;
        while at != 0 {
            let (before, segment) = &self.all[at as usize];
            segments.push(segment);
            at = *before;
        }
        segments.iter().rev().flat_map(|segment| [b"/", *segment].concat()).collect()
    }
}

/// What is below a prefix: URLs, and distinct names.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    urls: u64,
    names: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values() {
        let mut paths: Vec<Vec<u8>> = (0..100)
            .map(|n| format!("/people/{}/a.html", (b'a' + n % 26) as char).repeat(1).into_bytes())
            .chain((0..100).map(|n| format!("/shop/word{}x", "y".repeat(n)).into_bytes()))
            .chain((0..9).map(|n| format!("/item_{n}").into_bytes()))
            .collect();
        paths.push(b"/".to_vec());
        paths.push(b"/list.php".to_vec());
        paths.push(b"/9f8e7d6c5b4a39281706/x".to_vec());
        paths.push(b"/caf%C3%A972/x".to_vec());
        let urls = vec![1; paths.len()];
        let found = Handlers::find(&paths, &urls);
        let template = |at: usize| {
            String::from_utf8(found.templates[found.of_path[at] as usize].clone()).unwrap()
        };
        assert_eq!(template(0), "/people/a/a.html");
        assert_eq!(template(150), "/shop/{slug}");
        assert_eq!(template(205), "/item_{num}");
        assert_eq!(template(209), "/");
        assert_eq!(template(210), "/list.php");
        assert_eq!(template(211), "/{slug}/x");
        assert_eq!(template(212), "/caf%C3%A9{num}/x");
    }

    #[test]
    fn extensions() {
        for (segment, ending) in
            [("a.html", ".html"), ("a", ""), (".htm", ""), ("v1.2", ""), ("a.", ""), ("a.b-c", "")]
        {
            assert_eq!(extension(segment.as_bytes()), ending.as_bytes(), "{segment}");
        }
    }
}
