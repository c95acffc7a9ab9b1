//! Which rules may take a path out of the exceptions of another.

use crate::canonical::dust::compile::Act;
use crate::canonical::dust::patterns::glob::Glob;
use crate::canonical::dust::patterns::letters::has_upper;
use crate::canonical::dust::patterns::steps::{Bytes, Step};

/// May `act` make a path that matches `pattern` one that does not match it, and that the rule which
/// is kept from what matches would change? `folds` says whether that one folds paths.
///
/// Decided from the texts, in doubt with yes: of patterns other than single paths (`/v`) and those
/// of one beginning (`/v/*`) it is only asked whether `act` does something to a path that matches.
pub(super) fn may_leave(act: &Act, pattern: &Glob, folds: bool) -> bool {
    if let Some(path) = pattern.exact() {
        return may_change(act, path);
    }
    let Some(prefix) = pattern.prefix() else { return may_change_any(act, pattern) };
    // A path that is but a piece of the beginning, and has no letters to fold.
    let is_folded = folds && !has_upper(prefix);
    match act {
        Act::Prefix { from, .. } => prefix.starts_with(from) || from.starts_with(prefix),
        // What is taken off reaches into the beginning; the rest of that is all that stays.
        Act::Suffix { from, to } => {
            let reaches = (1..=from.len()).any(|length| prefix.ends_with(&from[..length]));
            reaches && (!is_folded || has_upper(to))
        }
        Act::FoldPath => has_upper(prefix),
        // Whole segments; those after the beginning leave all of it but its slash.
        Act::DropSegment(segment) => {
            let is_whole = prefix.ends_with(b"/") && !segment.matches(b"");
            let is_before = || prefix.split(|byte| *byte == b'/').any(|one| segment.matches(one));
            !is_folded || !is_whole || is_before()
        }
        Act::DropPathParam(_) => prefix.contains(&b';') || !prefix.ends_with(b"/"),
        Act::Template(template) => template.from.path.glob().meets(pattern),
        _ => true,
    }
}

/// May `act` change `path`?
fn may_change(act: &Act, path: &[u8]) -> bool {
    let any_segment = |is_it: &dyn Fn(&[u8]) -> bool| path.split(|byte| *byte == b'/').any(is_it);
    match act {
        Act::Prefix { from, .. } => path.starts_with(from),
        Act::Suffix { from, .. } => path.ends_with(from),
        Act::Segment { from, .. } => any_segment(&|segment| segment == from),
        Act::DropSegment(dropped) => any_segment(&|segment| dropped.matches(segment)),
        Act::DropPathParam(_) => path.contains(&b';'),
        Act::FoldPath => has_upper(path),
        Act::Template(template) => template.from.path.glob().matches(path),
        _ => true,
    }
}

/// May `act` change a path that matches `pattern`, so that it does not match any more?
fn may_change_any(act: &Act, pattern: &Glob) -> bool {
    let any = || [Step::Many(Bytes::ANY)];
    let holds = |text: &[u8]| Glob::of(any().into_iter().chain(Step::text(text)).chain(any()));
    match act {
        Act::Prefix { from, .. } => Glob::of(Step::text(from).chain(any())).meets(pattern),
        Act::Segment { from, .. } => holds(&[b"/", from.as_slice()].concat()).meets(pattern),
        Act::Suffix { from, .. } => {
            Glob::of(any().into_iter().chain(Step::text(from))).meets(pattern)
        }
        Act::DropPathParam(_) => holds(b";").meets(pattern),
        Act::FoldPath => !pattern.holds_folded(),
        Act::Template(template) => template.from.path.glob().meets(pattern),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(act: &Act, pattern: &str) -> bool {
        may_leave(act, &Glob::parse(pattern, true).unwrap(), true)
    }

    #[test]
    fn what_lies_behind_the_beginning_stays() {
        let text = |text: &str| text.as_bytes().to_vec();
        let suffix = |from: &str, to: &str| Act::Suffix { from: text(from), to: text(to) };
        let prefix = |from: &str, to: &str| Act::Prefix { from: text(from), to: text(to) };
        let segment = |pattern: &str| Act::DropSegment(Glob::parse(pattern, false).unwrap());
        for (act, pattern, expected) in [
            (suffix("index.html", ""), "/v/*", false),
            // `/v/` becomes `/v`, in which there is nothing to fold; `/V` has something.
            (suffix("/", ""), "/v/*", false),
            (suffix("/", ""), "/V/*", true),
            (suffix("/", "/X"), "/v/*", true),
            (prefix("/people/", "/~"), "/v/*", false),
            (prefix("/v/a/", "/~"), "/v/*", true),
            (prefix("/", "/x/"), "/v/*", true),
            (Act::FoldPath, "/v/*", false),
            (Act::FoldPath, "/V/*", true),
            (segment("(S({*}))"), "/v/*", false),
            (segment("{hex:1}x"), "/v/*", false),
            (segment("v"), "/v/*", true),
            (segment(""), "/v/*", true),
            (segment("(S({*}))"), "/v*", true),
            (segment("(S({*}))"), "/V/*", true),
            (suffix("index.html", ""), "/v/{slug}", false),
            (suffix("index", ""), "/v/{slug}", true),
            (suffix("/", ""), "/v/{hex:8}", false),
            (suffix("/", ""), "/v/{*}/", true),
            (suffix(".htm", ".html"), "/{hex:8}/*", true),
            (prefix("/people/", "/~"), "/v/{num}", false),
            (prefix("/people/", "/~"), "/{slug}/{num}", true),
            (Act::FoldPath, "/v/{hex:8}", false),
            (Act::FoldPath, "/{slug}/V", true),
            (Act::DropPathParam(text("s")), "/v/{hex:8}", false),
            (Act::DropPathParam(text("s")), "/v/{*}", true),
            (segment("{hex:8}"), "/v/{hex:8}", true),
            (suffix("/", ""), "/v", false),
            (suffix("/v", "/w"), "/v", true),
            (prefix("/v/", "/w/"), "/v", false),
            (prefix("/v", "/w"), "/v", true),
            (Act::FoldPath, "/v", false),
            (Act::FoldPath, "/V", true),
            (segment("(S({*}))"), "/v", false),
            (segment("{hex:1}"), "/a/b", true),
            (Act::DropPathParam(text("s")), "/v", false),
            (Act::DropPathParam(text("s")), "/v;s=1", true),
        ] {
            assert_eq!(leaves(&act, pattern), expected, "{act:?} {pattern}");
        }
    }
}
