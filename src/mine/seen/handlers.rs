//! Handlers: which program of a site answers, as far as the path tells; the scope of rules.

use super::identity::Secret;
use super::table::{Map, map};

/// Children under one prefix beyond which a segment counts as a value, not as a name.
///
/// Reason: people keep some dozens of folders side by side; a program makes hundreds of names.
const CHILDREN_MAX: usize = 64;

/// The templates of the paths of a site.
#[derive(Debug)]
pub(in crate::mine) struct Handlers {
    /// The handler of each path, by number of the path.
    pub(in crate::mine) of_path: Vec<u32>,
    /// The template of each handler, a pattern as in rule files: `/people/{slug}/x{num}.html`.
    pub(in crate::mine) templates: Vec<Vec<u8>>,
}

/// Share of the URLs under a prefix that a name must have to stay a name among many: one of fifty.
const NAME_SHARE: u64 = 50;

/// A segment with its runs of digits replaced by `{num}`, but not those of escapes; a long segment
/// of letters and digits is `{slug}` as a whole.
pub(in crate::mine) fn outline(segment: &[u8], out: &mut Vec<u8>) {
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
pub(in crate::mine) fn extension(segment: &[u8]) -> &[u8] {
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
    /// Left to right: where more than [`CHILDREN_MAX`] names are under one prefix, they are values,
    /// but for those that have a large share of the URLs: scripts. `urls` is how many each path
    /// has. Linear in the bytes of the paths.
    pub(in crate::mine) fn find(paths: &[Vec<u8>], urls: &[u64]) -> Handlers {
        let secret = Secret::random();
        // Prefixes of templates: the prefix before, and the last segment. Each path is at one of
        // them, and some bytes into itself.
        let mut prefixes: Vec<(u32, Vec<u8>)> = vec![(0, Vec::new())];
        let mut level_start = 0;
        let mut prefix = vec![0u32; paths.len()];
        let mut rest: Vec<(u32, usize)> = (0..).zip(paths.iter().map(|_| 1)).collect();
        let mut token = Vec::new();
        let mut hashes: Vec<u128> = Vec::new();
        while !rest.is_empty() {
            let mut below = vec![Below::default(); prefixes.len() - level_start];
            let mut names: Map<(u32, u128), u64> = map();
            let segment_of = |path: &[u8], at: usize| -> usize {
                memchr::memchr(b'/', &path[at.min(path.len())..]).map_or(path.len(), |n| at + n)
            };
            hashes.clear();
            for (path, at) in &rest {
                let text = &paths[*path as usize];
                token.clear();
                outline(&text[(*at).min(text.len())..segment_of(text, *at)], &mut token);
                let (before, hash) = (prefix[*path as usize], secret.fingerprint(&token));
                hashes.push(hash);
                let below = &mut below[before as usize - level_start];
                below.urls += urls[*path as usize];
                let name = names.entry((before, hash)).or_insert_with(|| {
                    below.names += 1;
                    0
                });
                *name += urls[*path as usize];
            }
            let level_end = prefixes.len();
            let mut numbers: Map<(u32, u128), u32> = map();
            let mut next = Vec::with_capacity(rest.len());
            for ((path, at), hash_of_name) in rest.iter().zip(&hashes) {
                let text = &paths[*path as usize];
                let end = segment_of(text, *at);
                let segment = &text[(*at).min(text.len())..end];
                token.clear();
                let before = prefix[*path as usize];
                let Below { urls, names: many } = below[before as usize - level_start];
                let is_name = names[&(before, *hash_of_name)] * NAME_SHARE >= urls;
                if many > CHILDREN_MAX && !is_name && !segment.is_empty() {
                    token.extend_from_slice(b"{slug}");
                    token.extend_from_slice(extension(segment));
                } else {
                    outline(segment, &mut token);
                }
                prefix[*path as usize] =
                    *numbers.entry((before, secret.fingerprint(&token))).or_insert_with(|| {
                        prefixes.push((before, token.clone()));
                        prefixes.len() as u32 - 1
                    });
                if end < text.len() {
                    next.push((*path, end + 1));
                }
            }
            (rest, level_start) = (next, level_end);
        }
        // A template is where a path ends; no two prefixes have one text.
        let mut ends = prefix.clone();
        ends.sort_unstable();
        ends.dedup();
        let mut templates: Vec<(Vec<u8>, u32)> =
            ends.iter().map(|end| (text_of(&prefixes, *end), *end)).collect();
        templates.sort_unstable();
        let mut ranks = vec![0; prefixes.len()];
        for (rank, (_, end)) in (0..).zip(&templates) {
            ranks[*end as usize] = rank;
        }
        Handlers {
            of_path: prefix.iter().map(|end| ranks[*end as usize]).collect(),
            templates: templates.into_iter().map(|(text, _)| text).collect(),
        }
    }
}

/// The text of a prefix: its segments, each after a slash. Number 0 has none.
fn text_of(prefixes: &[(u32, Vec<u8>)], number: u32) -> Vec<u8> {
    let mut segments: Vec<&[u8]> = Vec::new();
    let mut at = number;
    while at != 0 {
        let (before, segment) = &prefixes[at as usize];
        segments.push(segment);
        at = *before;
    }
    segments.iter().rev().flat_map(|segment| [b"/", *segment].concat()).collect()
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
