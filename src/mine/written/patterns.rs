//! Paths as patterns of rules, and what profiles may make of both.

use std::collections::BTreeSet;

use crate::canonical::PathPattern;
use crate::mine::acts::paths::collapse;
use crate::mine::seen::handlers::{extension, outline};
use crate::mine::seen::loose_path::is_index;
use crate::mine::seen::segments::{Shape, last_start};

/// Most bytes of a session number that are counted in a pattern.
///
/// Reason: each is a step, a pattern has 255 of them, and no session number that
/// is in use is longer.
const SESSION_BYTES_MAX: usize = 64;

/// Most bytes that [`around`] writes of a path. Reason: patterns have a limited length, and this
/// many bytes distinguish paths.
const AROUND_BYTES_MAX: usize = 255;

/// The pattern of `path`, whose handler has this `template`; `None` if there is none, such as for a
/// path with a `*` in a name.
///
/// A segment that may be a session number is written with its letters if `names_sessions` and that
/// fits, else as any segment.
pub(super) fn pattern(path: &[u8], template: &[u8], names_sessions: bool) -> Option<String> {
    let is_pattern = |pattern: &String| PathPattern::parse(pattern).is_some();
    let written = write(path, template, names_sessions).filter(is_pattern);
    match written {
        None if names_sessions => write(path, template, false).filter(is_pattern),
        written => written,
    }
}

fn write(path: &[u8], template: &[u8], names_sessions: bool) -> Option<String> {
    let mut out = Vec::with_capacity(template.len() + 8);
    let mut names = template[1..].split(|byte| *byte == b'/');
    let mut rest = path.strip_prefix(b"/").unwrap_or(path).split(|byte| *byte == b'/').peekable();
    while let Some(segment) = rest.next() {
        out.push(b'/');
        let name_end = memchr::memchr(b';', segment).unwrap_or(segment.len());
        let (name, parameters) = segment.split_at(name_end);
        if let Some(shape) = Shape::of(name) {
            let session = session(&shape).filter(|_| names_sessions && is_short(&shape));
            out.extend_from_slice(session.as_deref().unwrap_or("{*}").as_bytes());
        } else if !name.is_empty() {
            let is_index = rest.peek().is_none() && is_index(name);
            let template = if is_index { None } else { names.next() };
            write_name(name, template.unwrap_or(b""), &mut out)?;
        }
        match parameters {
            [] => {}
            [_] => out.push(b';'),
            _ => out.extend_from_slice(b";{*}"),
        }
    }
    String::from_utf8(out).ok()
}

/// Writes the pattern of one segment; `None` if there is none.
fn write_name(name: &[u8], template: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let slug_at = memchr::memmem::find(template, b"{slug}");
    if let Some(at) = slug_at.filter(|at| name.starts_with(&template[..*at])) {
        let (head, rest) = name.split_at(at);
        let ending = extension(rest);
        let word = &rest[..rest.len() - ending.len()];
        let is_slug = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let class: &[u8] = if word.iter().all(is_slug) { b"{slug}" } else { b"{*}" };
        outline(head, out);
        out.extend_from_slice(class);
        out.extend_from_slice(ending);
        return Some(());
    }
    if !is_plain(name) {
        return None;
    }
    outline(name, out);
    Some(())
}

/// Does text stand for itself in a pattern?
fn is_plain(text: &[u8]) -> bool {
    memchr::memchr3(b'*', b'{', b'}', text).is_none()
}

fn is_short(shape: &Shape) -> bool {
    shape.length <= SESSION_BYTES_MAX && is_plain(&shape.head) && is_plain(&shape.tail)
}

/// The pattern of segments of this shape; `None` if it is not UTF-8.
pub(super) fn session(shape: &Shape) -> Option<String> {
    let class = match shape {
        Shape { length: 0, .. } => "*".to_string(),
        Shape { hex: true, length, .. } => format!("hex:{length}"),
        Shape { length, .. } => format!("base64:{length}"),
    };
    Some(format!("{}{{{class}}}{}", text(&shape.head)?, text(&shape.tail)?))
}

/// Text of a rule; `None` if it is not UTF-8.
pub(super) fn text(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}

/// Text in a pattern, which stands for itself.
pub(super) fn literal(bytes: &[u8]) -> Option<String> {
    text(bytes).filter(|text| !text.contains(['*', '{']))
}

/// A pattern that `path` matches, where [`pattern`] has none.
pub(super) fn around(path: &[u8]) -> String {
    let start = &path[..path.len().min(AROUND_BYTES_MAX)];
    let widened = |bytes: &[u8]| text(bytes).map(|text| text.replace(['{', '}'], "*"));
    let is_pattern = |pattern: &String| PathPattern::parse(pattern).is_some();
    let whole = widened(path).filter(is_pattern);
    whole
        .or_else(|| Some(widened(start)? + "*").filter(is_pattern))
        .unwrap_or_else(|| "*".to_string())
}

/// `pattern` without repeated slashes and slashes at the end, and without the name of an index
/// page: what is left of it under a profile that drops them.
pub(super) fn pruned(pattern: &str) -> String {
    let mut names: Vec<&str> = pattern.split('/').filter(|name| !name.is_empty()).collect();
    if names.last().is_some_and(|name| is_index(name.as_bytes())) {
        names.pop();
    }
    format!("/{}", names.join("/"))
}

/// `path`, and what profiles that drop sessions may make of it: without parameters, without
/// segments such as `(S(…))`, without both. In byte order.
pub(super) fn without_sessions(path: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut out = BTreeSet::from([path.to_vec()]);
    if memchr::memchr2(b';', b'(', path).is_none() {
        return out;
    }
    for (parameters, sessions) in [(false, true), (true, false), (false, false)] {
        let mut bare = Vec::with_capacity(path.len());
        for segment in path.strip_prefix(b"/").unwrap_or(path).split(|byte| *byte == b'/') {
            let name = &segment[..memchr::memchr(b';', segment).unwrap_or(segment.len())];
            if sessions || !is_session(name) {
                bare.push(b'/');
                bare.extend_from_slice(if parameters { segment } else { name });
            }
        }
        if bare.is_empty() {
            bare.push(b'/');
        }
        out.insert(bare);
    }
    out
}

/// Is it such a segment, `(S(…))` or `(A(…)F(…))`?
fn is_session(segment: &[u8]) -> bool {
    matches!(segment, [b'(', b'A' | b'F' | b'S' | b'a' | b'f' | b's', b'(', .., b')', b')'])
}

/// What else profiles may make of `path`: with one slash for several, without the name of an index
/// page, with a slash at the end and without.
pub(super) fn other_slashes(path: &[u8]) -> Vec<Vec<u8>> {
    let mut single = path.to_vec();
    collapse(&mut single);
    let mut out = Vec::new();
    for path in [path, &single] {
        let name_start = last_start(path);
        let folder = is_index(&path[name_start..]).then(|| &path[..name_start]);
        for path in [Some(path), folder].into_iter().flatten() {
            let file = path.strip_suffix(b"/").unwrap_or(path);
            out.push([file, b"/"].concat());
            out.extend((!file.is_empty()).then(|| file.to_vec()));
        }
    }
    out.sort();
    out.dedup();
    out.retain(|one| one != path);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::seen::stems;

    #[test]
    fn paths_of_one_stem_have_one_pattern() {
        let [a, b] = ["0123456789abcdef01234567", "abcdef0123456789abcdef01"];
        let paths: Vec<Vec<u8>> = [a, b]
            .iter()
            .flat_map(|one| {
                [
                    format!("/share/{one}"),
                    format!("/share/{one}/"),
                    format!("/{one}/b{}/x", &one[..1]),
                    format!("/sess-{one}/b%C3%A9"),
                    format!("/(S({one}))/a;v={one}/item_{}.php", one.len()),
                    format!("/a;sid={one}"),
                    format!("/index.html;{one}"),
                ]
            })
            .map(String::into_bytes)
            .collect();
        let stems = stems::find(&paths);
        let patterns: Vec<String> =
            paths.iter().map(|path| pattern(path, b"/", true).unwrap()).collect();
        for (one, of_one) in stems.iter().zip(&patterns) {
            for (other, of_other) in stems.iter().zip(&patterns) {
                assert_eq!(one == other, of_one == of_other, "{of_one} {of_other}");
            }
        }
        assert_eq!(patterns[0], "/share/{hex:24}");
    }

    #[test]
    fn what_profiles_may_make_of_patterns() {
        for (pattern, expected) in [
            ("/{slug}/", "/{slug}"),
            ("//a//{num}/index.php", "/a/{num}"),
            ("/index.html", "/"),
            ("/{slug}.html", "/{slug}.html"),
        ] {
            assert_eq!(pruned(pattern), expected);
        }
    }

    #[test]
    fn what_profiles_may_make_of_paths() {
        let texts = |paths: &[Vec<u8>]| {
            let text = |path: &Vec<u8>| String::from_utf8(path.clone()).unwrap();
            paths.iter().map(text).collect::<Vec<String>>()
        };
        for (path, expected) in [
            ("/0123456789abcdef/x", &["/0123456789abcdef/x"][..]),
            ("/a.php;jsessionid=5", &["/a.php", "/a.php;jsessionid=5"]),
            ("/(S(abc123def456))", &["/", "/(S(abc123def456))"]),
            ("/(A(a-b)F(c-d))/x", &["/(A(a-b)F(c-d))/x", "/x"]),
            ("/(x)", &["/(x)"]),
            (
                "/(S(abc123def456))/x;a/",
                &["/(S(abc123def456))/x/", "/(S(abc123def456))/x;a/", "/x/", "/x;a/"],
            ),
        ] {
            let found: Vec<Vec<u8>> = without_sessions(path.as_bytes()).into_iter().collect();
            assert_eq!(texts(&found), expected);
        }
        for (path, others) in [
            ("/", &[][..]),
            ("/a", &["/a/"]),
            ("/a/", &["/a"]),
            ("//a", &["//a/", "/a", "/a/"]),
            ("/a/index.php", &["/a", "/a/", "/a/index.php/"]),
        ] {
            assert_eq!(texts(&other_slashes(path.as_bytes())), others, "{path}");
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
            ("/~ball.html", "/~{slug}.html", "/~{slug}.html"),
            ("/ball", "/~{slug}", "/ball"),
            ("/(S(abc123def456ghi789))/x", "/x", "/(S({*}))/x"),
            ("/sess-0123456789abcdef/x", "/x", "/sess-{hex:16}/x"),
            ("/{0123456789abcdef}/x", "/x", "/{*}/x"),
            ("/a;jsessionid=5/b;", "/a/b", "/a;{*}/b;"),
            ("//a/Item_5/", "/a/item_{num}", "//a/Item_{num}/"),
        ] {
            let found = pattern(path.as_bytes(), template.as_bytes(), true);
            assert_eq!(found.as_deref(), Some(expected), "{path}");
        }
        let many = "/a1".repeat(40);
        for (path, wider) in [
            ("/a*b", "/a*b".to_string()),
            ("/x{y}.php", "/x*y*.php".to_string()),
            (many.as_str(), many.clone()),
        ] {
            assert_eq!(pattern(path.as_bytes(), path.as_bytes(), true), None, "{path}");
            assert_eq!(around(path.as_bytes()), wider);
        }
        let sessions = "/0123456789abcdef".repeat(20);
        let found = pattern(sessions.as_bytes(), b"/", true);
        assert_eq!(found, Some("/{*}".repeat(20)), "too many steps");
        let session = b"/0123456789abcdef";
        assert_eq!(pattern(session, b"/", false).as_deref(), Some("/{*}"));
        assert_eq!(around(&[b"/", [b'*'; 300].as_slice()].concat()), "*");
        assert_eq!(around("/\u{e9}".as_bytes()), "*");
    }

    #[test]
    fn sessions() {
        let shape = Shape::of(b"sess-0123456789abcdef").unwrap();
        assert_eq!(session(&shape).unwrap(), "sess-{hex:16}");
        assert_eq!(session(&Shape::of(b"(S(abc123def456))").unwrap()).unwrap(), "(S({*}))");
    }
}
