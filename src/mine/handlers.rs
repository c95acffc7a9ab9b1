//! Handlers: which program of a site answers, as far as the path tells; the scope of rules.

use super::table::{Map, map};

/// Children under one prefix beyond which a segment counts as a value, not as a name.
///
/// Reason: people keep some dozens of folders side by side; a program makes hundreds of names.
const CHILDREN_MAX: usize = 64;

/// The templates of the paths of a site.
#[derive(Debug)]
pub(super) struct Handlers {
    /// The handler of each path, by number of the path.
    pub(super) of_path: Vec<u32>,
    /// The template of each handler, a pattern as in rule files: `/people/{slug}/x{num}.html`.
    pub(super) templates: Vec<Vec<u8>>,
}

/// Share of the URLs under a prefix that a name must have to stay a name among many: one of fifty.
const NAME_SHARE: u64 = 50;

/// A segment with its runs of digits replaced by `{num}`; a long segment of letters and digits is
/// `{slug}` as a whole.
fn outline(segment: &[u8], out: &mut Vec<u8>) {
    let digits = segment.iter().filter(|byte| byte.is_ascii_digit()).count();
    let word = segment.iter().all(|byte| byte.is_ascii_alphanumeric());
    if digits > 0 && word && segment.len() >= 16 {
        out.extend_from_slice(b"{slug}");
        return;
    }
    let mut in_digits = false;
    for byte in segment {
        if byte.is_ascii_digit() {
            if !in_digits {
                out.extend_from_slice(b"{num}");
            }
            in_digits = true;
        } else {
            in_digits = false;
            out.push(*byte);
        }
    }
}

/// What is after the last dot of a segment, with the dot, if it looks like an extension.
pub(super) fn extension(segment: &[u8]) -> &[u8] {
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
    /// Left to right: where more than [`CHILDREN_MAX`] names are under one prefix, they are values, but
    /// for those that have a large share of the URLs: scripts. `urls` is how many each path has.
    /// Linear in the bytes of the paths, times the depth of sorting one level.
    pub(super) fn find(paths: &[Vec<u8>], urls: &[u64]) -> Handlers {
        let mut templates: Vec<Vec<u8>> = vec![Vec::new(); paths.len()];
        let mut prefix = vec![0u32; paths.len()];
        let mut rest: Vec<(u32, usize)> = (0..).zip(paths.iter().map(|_| 1)).collect();
        let mut prefixes = 1u32;
        let mut token = Vec::new();
        while !rest.is_empty() {
            let mut children: Map<u32, (u64, Map<Vec<u8>, u64>)> = map();
            let segment_of = |path: &[u8], at: usize| -> usize {
                memchr::memchr(b'/', &path[at.min(path.len())..]).map_or(path.len(), |n| at + n)
            };
            for (path, at) in &rest {
                let text = &paths[*path as usize];
                token.clear();
                outline(&text[(*at).min(text.len())..segment_of(text, *at)], &mut token);
                let below = children.entry(prefix[*path as usize]).or_insert_with(|| (0, map()));
                below.0 += urls[*path as usize];
                match below.1.get_mut(&token) {
                    Some(count) => *count += urls[*path as usize],
                    None => {
                        below.1.insert(token.clone(), urls[*path as usize]);
                    }
                }
            }
            let mut numbers: Map<(u32, Vec<u8>), u32> = map();
            let mut next = Vec::with_capacity(rest.len());
            for (path, at) in &rest {
                let text = &paths[*path as usize];
                let end = segment_of(text, *at);
                let segment = &text[(*at).min(text.len())..end];
                token.clear();
                outline(segment, &mut token);
                let before = prefix[*path as usize];
                let (all, names) = &children[&before];
                let is_name = names[&token] * NAME_SHARE >= *all;
                if names.len() > CHILDREN_MAX && !is_name && !segment.is_empty() {
                    token.clear();
                    token.extend_from_slice(b"{slug}");
                    token.extend_from_slice(extension(segment));
                }
                let template = &mut templates[*path as usize];
                template.push(b'/');
                template.extend_from_slice(&token);
                prefix[*path as usize] =
                    *numbers.entry((before, token.clone())).or_insert_with(|| {
                        prefixes += 1;
                        prefixes - 1
                    });
                if end < text.len() {
                    next.push((*path, end + 1));
                }
            }
            rest = next;
        }
        let mut sorted = templates.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let of_path = templates
            .iter()
            .map(|one| sorted.binary_search(one).expect("every template is in the list") as u32)
            .collect();
        Handlers { of_path, templates: sorted }
    }
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
