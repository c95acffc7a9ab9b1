//! What keeps rules away from paths, in every form that a profile makes of them.
//!
//! A pattern may match paths that a profile spells in more than one way: `/shop/*` matches
//! `/shop/` and `/shop/index.php`, and both are `/shop` under `aggressive`. So it becomes as many
//! patterns as are needed to match what the profile makes of each path that it matches. They may
//! match more; they never match less. What stands for other text counts as standing for whole
//! escapes and whole session ids.

use crate::canonical::dust::compile::path_pattern;
use crate::canonical::dust::patterns::glob::Glob;
use crate::canonical::options::{Options, Slash};
use crate::canonical::profile::Profile;
use crate::canonical::rules::RuleId;

/// Most forms of one pattern; one that has more keeps rules away from every path. Reason: each is
/// tried for each URL, and each part of a pattern that may be missing doubles them.
const FORMS_MAX: usize = 256;

/// The pattern that keeps rules away everywhere.
const EVERYWHERE: &str = "*";

/// The forms that `profile` makes of `pattern`, whose letters are spelled already.
pub(super) fn forms_of(pattern: &str, profile: &Profile) -> Vec<String> {
    let mut forms: Vec<String> = Vec::new();
    let mut open = vec![without_lengths(pattern, profile)];
    while let Some(form) = open.pop() {
        let form = with_one_star(form);
        if forms.contains(&form) {
            continue;
        }
        let is_refused = path_pattern(&form).is_err();
        if form == EVERYWHERE || is_refused || forms.len() == FORMS_MAX {
            return vec![EVERYWHERE.to_string()];
        }
        open.extend(forms_next_to(&units(&form), profile));
        forms.push(form);
    }
    let is_part = |form: &str, wide: &str| {
        wide != form && wide.strip_suffix('*').is_some_and(|start| form.starts_with(start))
    };
    let is_needed = |form: &&String| !forms.iter().any(|wide| is_part(form, wide));
    forms.iter().filter(is_needed).cloned().collect()
}

/// One `*` for some beside each other, which match the same.
fn with_one_star(mut pattern: String) -> String {
    while pattern.contains("**") {
        pattern = pattern.replace("**", "*");
    }
    pattern
}

/// Does `profile` write other escapes than a rule file has?
pub(super) fn rewrites_escapes(profile: &Profile) -> bool {
    let Options { form_spelling, latin1_hosts, .. } = &profile.options;
    profile.rules.contains(RuleId::Encoding) && (*form_spelling || !latin1_hosts.is_empty())
}

/// The pattern with `{*}` for `{*:9}` where text of that length may get another one.
fn without_lengths(pattern: &str, profile: &Profile) -> String {
    if !rewrites_escapes(profile) && !profile.rules.contains(RuleId::SessionIds) {
        return pattern.to_string();
    }
    let whole = |unit| if is_any_segment(unit) { "{*}" } else { unit };
    units(pattern).into_iter().map(whole).collect()
}

/// The characters and the wildcards of a pattern.
fn units(pattern: &str) -> Vec<&str> {
    let mut units = Vec::new();
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            '{' => rest.find('}').map_or(rest.len(), |end| end + 1),
            _ => letter.len_utf8(),
        };
        units.push(&rest[..length]);
        rest = &rest[length..];
    }
    units
}

/// The forms that one step of `profile` makes of a pattern.
fn forms_next_to(units: &[&str], profile: &Profile) -> Vec<String> {
    let has = |rule| profile.rules.contains(rule);
    let mut forms = Vec::new();
    if has(RuleId::DuplicateSlashes) {
        with_one_slash(units, &mut forms);
    }
    if has(RuleId::SessionIds) {
        without_session_segment(units, &mut forms);
        without_session_param(units, profile, &mut forms);
    }
    if has(RuleId::DirectoryIndex) {
        without_index(units, profile, &mut forms);
    }
    if has(RuleId::TrailingSlash) {
        with_end(units, profile.options.slash, &mut forms);
    }
    forms
}

/// The pattern with `other` in the place of some of its units.
fn replaced(units: &[&str], range: std::ops::Range<usize>, other: &str) -> String {
    let text = units[..range.start].concat() + other + &units[range.end..].concat();
    if text.is_empty() { "/".to_string() } else { text }
}

/// Does it stand for any text within a segment?
fn is_any_segment(unit: &str) -> bool {
    unit.starts_with("{*")
}

fn is_wildcard(unit: &str) -> bool {
    unit == "*" || unit.starts_with('{')
}

/// Where the segment or parameter that starts at `start` ends: before a unit that is one of `ends`.
fn end_of(units: &[&str], start: usize, ends: &[&str]) -> usize {
    let length = units[start..].iter().position(|unit| ends.contains(unit));
    length.map_or(units.len(), |length| start + length)
}

/// One slash for two; what stands between two may be nothing.
fn with_one_slash(units: &[&str], forms: &mut Vec<String>) {
    for at in 0..units.len() {
        match units[at..] {
            ["/", "/", ..] => forms.push(replaced(units, at..at + 1, "")),
            ["/", "*", "/", ..] => forms.push(replaced(units, at + 1..at + 3, "")),
            _ => {}
        }
    }
}

/// Segments such as `(S({*}))` go, with the slash before them, which may be part of what is any
/// text. A whole segment that may be anything may be such a one.
fn without_session_segment(units: &[&str], forms: &mut Vec<String>) {
    for at in (0..units.len()).filter(|at| matches!(units[*at], "/" | "*")) {
        let end = end_of(units, at + 1, &["/"]);
        let segment = &units[at + 1..end];
        let may_be_one = match segment {
            [] => false,
            _ if segment.iter().all(|unit| *unit == "*" || is_any_segment(unit)) => true,
            ["(", kind, "(", ..] => "AFSafs".contains(kind) || is_wildcard(kind),
            ["(", rest @ ..] => rest.iter().any(|unit| is_wildcard(unit)),
            _ => false,
        };
        // What is any text may be more segments.
        let is_more = units[at] == "*" || segment.len() > 1 && segment.contains(&"*");
        match (may_be_one, is_more) {
            (false, _) => {}
            (true, false) => forms.push(replaced(units, at..end, "")),
            (true, true) => forms.push(replaced(units, at + 1..end, "*")),
        }
    }
}

/// Parameters such as `;jsessionid={hex:32}` go; one that may be anything may be such a one, and so
/// may what is any text of a segment.
fn without_session_param(units: &[&str], profile: &Profile, forms: &mut Vec<String>) {
    for at in 0..units.len() {
        let ends_behind = || match units.get(at + 1) {
            None => true,
            Some(next) => matches!(*next, ";" | "/" | "*") || is_any_segment(next),
        };
        if is_any_segment(units[at]) && ends_behind() {
            forms.push(replaced(units, at..at + 1, ""));
        }
        if units[at] != ";" {
            continue;
        }
        let end = end_of(units, at + 1, &[";", "/"]);
        let param = &units[at + 1..end];
        if param.contains(&"*") {
            forms.push(replaced(units, at..end, "*"));
            continue;
        }
        let text = param.concat();
        let (name, value) = text.split_once('=').unwrap_or((&text, ""));
        let is_session = profile.options.sessions.matches_path(name.as_bytes(), value.as_bytes());
        if is_session || param.iter().any(|unit| is_wildcard(unit)) {
            forms.push(replaced(units, at..end, ""));
        }
    }
}

/// The folder, where the pattern may end with the name of an index file.
fn without_index(units: &[&str], profile: &Profile, forms: &mut Vec<String>) {
    for at in (0..units.len()).rev() {
        let rest = units[at + 1..].concat();
        match units[at] {
            "/" => {
                if may_be_index(&rest, profile) {
                    forms.push(replaced(units, at + 1..units.len(), ""));
                }
                return;
            }
            // The name may start in what is any text.
            "*" if may_be_index(&format!("*{rest}"), profile) => {
                forms.push(replaced(units, at + 1..units.len(), "/"));
            }
            _ => {}
        }
    }
}

fn may_be_index(pattern: &str, profile: &Profile) -> bool {
    let Ok(glob) = Glob::parse(&pattern.to_ascii_lowercase(), false) else { return true };
    profile.options.index_names.iter().any(|name| glob.matches(name))
}

/// The pattern with its end as `slash` has it. What is any text at the end may be nothing.
fn with_end(units: &[&str], slash: Slash, forms: &mut Vec<String>) {
    let Some((last, before)) = units.split_last() else { return };
    let start = units.iter().rposition(|unit| matches!(*unit, "/" | "*")).map_or(0, |at| at + 1);
    match slash {
        Slash::Remove if matches!(*last, "/" | "*") && !before.is_empty() => {
            forms.push(before.concat());
        }
        Slash::Add if start < units.len() && !units[start..].contains(&".") => {
            forms.push(replaced(units, units.len()..units.len(), "/"));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(profile: &str, slash: Option<Slash>, pattern: &str) -> Vec<String> {
        let mut profile = Profile::named(profile).unwrap();
        profile.options.slash = slash.unwrap_or(profile.options.slash);
        let mut forms = forms_of(pattern, &profile);
        forms.sort();
        forms
    }

    #[test]
    fn what_a_profile_can_make_of_a_path() {
        for (profile, slash, pattern, expected) in [
            ("rfc3986", None, "/shop/*", &["/shop/*"][..]),
            ("rfc3986", None, "/(S({*}))//*/x", &["/(S({*}))//*/x"]),
            ("crawl", None, "/shop/x*", &["/shop/x*"]),
            // A session id may be all that stands there.
            ("crawl", None, "/shop/*", &["/shop", "/shop/*"]),
            ("crawl", None, "/{*}/list.php", &["//list.php", "/list.php", "/{*}/list.php"]),
            ("crawl", None, "/a/{*:40}", &["/a", "/a/", "/a/{*}"]),
            ("crawl", None, "/a/{*}*", &["/a", "/a/*"]),
            ("crawl", None, "*(S({*}))/a", &["*(S({*}))/a", "*/a"]),
            ("rfc3986", None, "/a/{*:40}", &["/a/{*:40}"]),
            ("crawl", None, "/(S({*}))/a", &["/(S({*}))/a", "/a"]),
            ("crawl", None, "/(S(*))/a", &["/(S(*))/a", "/*/a", "/a"]),
            ("crawl", None, "/v.jsp;{*}", &["/v.jsp", "/v.jsp;", "/v.jsp;{*}"]),
            ("crawl", None, "/v;a=*", &["/v*"]),
            ("crawl", None, "/v*;*", &["/v*"]),
            ("crawl", None, "/v;a=1/{num}", &["/v;a=1/{num}"]),
            ("crawl", Some(Slash::Add), "/people/{slug}", &["/people/{slug}", "/people/{slug}/"]),
            ("crawl", Some(Slash::Add), "/a*b", &["/a*b", "/a*b/"]),
            ("crawl", Some(Slash::Add), "/a*b.php", &["/a*b.php"]),
            (
                "crawl",
                Some(Slash::Remove),
                "/people/{slug}/",
                &["/people/{slug}", "/people/{slug}/"],
            ),
            ("aggressive", None, "/shop/*", &["/shop", "/shop/*"]),
            ("aggressive", None, "/shop/{*}", &["/shop", "/shop/", "/shop/{*}"]),
            ("aggressive", None, "/shop/{slug}", &["/shop/{slug}"]),
            ("aggressive", None, "/shop/ind*.PHP", &["/shop", "/shop/", "/shop/ind*"]),
            ("aggressive", None, "/a/*/b", &["/a/*/b", "/a/b"]),
            ("aggressive", None, "/a//{num}", &["/a//{num}", "/a/{num}"]),
            ("aggressive", None, "/c/*.php", &["/c", "/c/*"]),
            ("aggressive", None, "*.php", &["*"]),
            ("aggressive", None, "/*", &["/*"]),
        ] {
            assert_eq!(forms(profile, slash, pattern), expected, "{profile} {slash:?} {pattern}");
        }
    }

    #[test]
    fn what_has_too_many_forms_is_everywhere() {
        let many = |count: u8| -> String {
            (b'a'..)
                .take(usize::from(count))
                .map(|letter| format!("/{}/{{*}}", char::from(letter)))
                .collect()
        };
        assert_eq!(forms("crawl", None, &many(3)).len(), 27);
        assert_eq!(forms("crawl", None, &many(6)), ["*"]);
        let long = format!("/*{}", "[".repeat(300));
        assert_eq!(forms("crawl", None, &long), ["*"]);
    }
}
