//! Which rules may take a path out of the exceptions of another.

use super::compile::Act;
use super::glob::{Glob, has_upper};

/// May `act` make a path that matches `pattern` one that does not match it, and that `then`, which
/// is kept from what matches, would change?
///
/// Told from the texts alone, and errs on the side of yes: all but patterns of one beginning
/// (`/v/*`) may be left.
pub(super) fn may_leave(act: &Act, pattern: &Glob, then: &Act) -> bool {
    let Some(prefix) = pattern.prefix() else { return true };
    // A path that is but a piece of the beginning, and has no letters to fold.
    let is_folded = *then == Act::FoldPath && !has_upper(prefix);
    match act {
        Act::Prefix { from, .. } => prefix.starts_with(from) || from.starts_with(prefix),
        // What is taken off reaches into the beginning; the rest of that is all that stays.
        Act::Suffix { from, to } => {
            let reaches = (1..=from.len()).any(|length| prefix.ends_with(&from[..length]));
            reaches && (!is_folded || has_upper(to))
        }
        Act::FoldPath => has_upper(prefix),
        // Whole segments; those behind the beginning leave all of it but its slash.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(act: &Act, pattern: &str) -> bool {
        may_leave(act, &Glob::parse(pattern, true).unwrap(), &Act::FoldPath)
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
            (suffix("index.html", ""), "/v/{slug}", true),
        ] {
            assert_eq!(leaves(&act, pattern), expected, "{act:?} {pattern}");
        }
    }
}
