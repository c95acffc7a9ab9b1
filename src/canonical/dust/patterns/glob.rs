//! Patterns of paths and segments: matched in one pass, without going back.
//!
//! A pattern is text with `*` (any characters) and classes such as `{num}`. It becomes a row of
//! steps; matching keeps the set of steps that are possible, so its cost is bounded by the length
//! of the text times that of the pattern, whatever both are.

use std::collections::HashSet;

use memchr::memmem;

use super::letters::{has_lower_only, has_upper};
use super::steps::{Bytes, STEPS_MAX, Step, push_class};
use crate::canonical::dust::texts::too_long;
use crate::error::{Error, Result};
use crate::limits::{DUST_TEXT_BYTES_MAX, DUST_WILDCARDS_MAX};

/// Most pairs of steps that are looked at to find out whether two patterns have a text in common.
const PAIRS_MAX: usize = 1 << 18;
/// Most sets of steps that are looked at to find out whether one pattern matches all that another
/// does. Reason: there may be as many as 2 to the number of steps.
const SETS_MAX: usize = 1 << 12;

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Glob {
    /// What it starts with.
    literal: Vec<u8>,
    /// What follows.
    rest: Vec<Step>,
    /// Does any text match the rest?
    is_open: bool,
    /// The longest text in that, which all that it matches holds; empty if that was not asked.
    needle: Vec<u8>,
}

impl Glob {
    /// Everything.
    pub(crate) fn all() -> Glob {
        Glob::of([Step::Many(Bytes::ANY)])
    }

    /// A pattern made of steps, to compare what rules can write with what others read.
    pub(crate) fn of(steps: impl IntoIterator<Item = Step>) -> Glob {
        let mut steps = steps.into_iter().peekable();
        let literal = std::iter::from_fn(|| steps.next_if(|step| step.only().is_some()));
        let literal = literal.filter_map(Step::only).collect();
        Glob::new(literal, steps.collect())
    }

    fn new(literal: Vec<u8>, rest: Vec<Step>) -> Glob {
        let is_open = rest == [Step::Many(Bytes::ANY)];
        Glob { literal, rest, is_open, needle: Vec::new() }
    }

    /// The same without a literal start.
    fn in_steps(&self) -> Glob {
        Glob::new(Vec::new(), self.steps())
    }

    /// Reads a pattern. `*` is any characters; slashes are among them if `crosses`.
    pub(crate) fn parse(text: &str, crosses: bool) -> Result<Glob> {
        if text.len() > DUST_TEXT_BYTES_MAX {
            return Err(too_long("pattern", text.len()));
        }
        let mut glob = Glob::new(Vec::new(), Vec::new());
        let mut wildcards = 0;
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            match letter {
                '*' => {
                    glob.rest.push(Step::Many(if crosses {
                        Bytes::ANY
                    } else {
                        Bytes::in_segment()
                    }));
                    wildcards += 1;
                    rest = &rest[1..];
                }
                '{' => {
                    let Some(end) = rest.find('}') else {
                        return Err(Error::config(format!("pattern \"{text}\": a {{ has no }}")));
                    };
                    push_class(&rest[1..end], &mut glob.rest)
                        .map_err(|error| error.at(format!("pattern \"{text}\"")))?;
                    wildcards += 1;
                    rest = &rest[end + 1..];
                }
                '!'..='~' => {
                    if glob.rest.is_empty() {
                        glob.literal.push(letter as u8);
                    } else {
                        glob.rest.push(Step::byte(letter as u8));
                    }
                    rest = &rest[1..];
                }
                _ => {
                    return Err(Error::config(format!(
                        "pattern \"{}\": no URL holds such a character; write its escape, as in %C3%A9",
                        crate::bytes::show(text.as_bytes())
                    )));
                }
            }
        }
        if wildcards > DUST_WILDCARDS_MAX || glob.rest.len() > STEPS_MAX {
            return Err(Error::limit(format!(
                "pattern \"{text}\": more than {DUST_WILDCARDS_MAX} wildcards or {STEPS_MAX} steps"
            )));
        }
        let glob = Glob::new(glob.literal, glob.rest);
        let texts = glob.rest.chunk_by(|a, b| a.only().is_some() && b.only().is_some());
        let texts = texts.map(|text| text.iter().copied().filter_map(Step::only).collect());
        let needle = texts.max_by_key(Vec::len).unwrap_or_default();
        Ok(Glob { needle, ..glob })
    }

    /// Does it match everything?
    pub(crate) fn is_all(&self) -> bool {
        self.is_open && self.literal.is_empty()
    }

    /// The text that it matches at the start, if nothing else counts.
    pub(crate) fn prefix(&self) -> Option<&[u8]> {
        self.is_open.then_some(&self.literal)
    }

    /// The only text that it matches.
    pub(crate) fn exact(&self) -> Option<&[u8]> {
        self.rest.is_empty().then_some(&self.literal)
    }

    /// Does it match texts of one length only, or must they hold a certain letter?
    pub(crate) fn is_specific(&self) -> bool {
        self.letters().next().is_some() || self.rest.iter().all(|step| matches!(step, Step::One(_)))
    }

    /// The bytes that every text it matches must hold.
    fn letters(&self) -> impl Iterator<Item = u8> {
        self.literal.iter().copied().chain(self.rest.iter().copied().filter_map(Step::only))
    }

    /// The same pattern, with steps before and after.
    pub(crate) fn framed(&self, before: &[Step], behind: &[Step]) -> Glob {
        Glob::of(before.iter().copied().chain(self.steps()).chain(behind.iter().copied()))
    }

    /// Does it match `text`, all of it?
    #[inline]
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        match text.strip_prefix(self.literal.as_slice()) {
            None => false,
            Some(_) if self.is_open => true,
            Some(rest) if self.rest.is_empty() => rest.is_empty(),
            // Bet: it is another text.
            Some(rest) => memmem::find(rest, &self.needle).is_some() && self.walks(rest),
        }
    }

    fn walks(&self, text: &[u8]) -> bool {
        let mut states = [0u64; 4];
        self.enter(&mut states, 0);
        for byte in text {
            states = self.after(&states, *byte);
            if states == [0; 4] {
                return false;
            }
        }
        has(&states, self.rest.len())
    }

    /// The steps that are possible after `byte`.
    #[inline]
    fn after(&self, states: &[u64; 4], byte: u8) -> [u64; 4] {
        let mut next = [0u64; 4];
        for at in members(states) {
            match self.rest.get(at) {
                Some(Step::One(set)) if set.has(byte) => self.enter(&mut next, at + 1),
                Some(Step::Many(set)) if set.has(byte) => self.enter(&mut next, at),
                _ => {}
            }
        }
        next
    }

    /// Does `wide` match every path that this matches? Never wrongly returns true.
    pub(crate) fn is_within(&self, wide: &Glob) -> bool {
        let (narrow, wide) = (self.in_steps(), wide.in_steps());
        if narrow.rest.len().max(wide.rest.len()) > STEPS_MAX {
            return false;
        }
        let start = |glob: &Glob| {
            let mut states = [0; 4];
            glob.enter(&mut states, 0);
            glob.after(&states, b'/')
        };
        let wide_start = start(&wide);
        let mut open: Vec<(usize, [u64; 4])> =
            members(&start(&narrow)).map(|at| (at, wide_start)).collect();
        let mut seen = HashSet::new();
        while let Some((at, states)) = open.pop() {
            if at == narrow.rest.len() && !has(&states, wide.rest.len()) || seen.len() > SETS_MAX {
                return false;
            }
            let Some(Step::One(set) | Step::Many(set)) = narrow.rest.get(at) else { continue };
            if !seen.insert((at, states)) {
                continue;
            }
            let mut here = [0; 4];
            here[at / 64] = 1 << (at % 64);
            for byte in (b'!'..=b'~').filter(|byte| set.has(*byte) && !b"?#".contains(byte)) {
                let next = wide.after(&states, byte);
                open.extend(members(&narrow.after(&here, byte)).map(|at| (at, next)));
            }
        }
        true
    }

    /// Adds the step `at` to `states`, and those after it that may be left out.
    fn enter(&self, states: &mut [u64; 4], mut at: usize) {
        loop {
            if has(states, at) {
                return;
            }
            states[at / 64] |= 1 << (at % 64);
            match self.rest.get(at) {
                Some(Step::Many(_)) => at += 1,
                _ => return,
            }
        }
    }

    fn steps(&self) -> Vec<Step> {
        Step::text(&self.literal).chain(self.rest.iter().copied()).collect()
    }

    /// Is there a text that both match? May say yes where no were right.
    pub(crate) fn meets(&self, other: &Glob) -> bool {
        if self.is_all() || other.is_all() {
            return true;
        }
        let common = self.literal.len().min(other.literal.len());
        if self.literal[..common] != other.literal[..common] {
            return false;
        }
        let ends = self.end().zip(other.end());
        if ends.into_iter().any(|(a, b)| !a.meets(b)) {
            return false;
        }
        let (a, b) = (self.steps(), other.steps());
        let width = b.len() + 1;
        if (a.len() + 1).saturating_mul(width) > PAIRS_MAX {
            return true;
        }
        let mut seen = vec![false; (a.len() + 1) * width];
        let mut open = vec![(0, 0)];
        while let Some((i, j)) = open.pop() {
            if std::mem::replace(&mut seen[i * width + j], true) {
                continue;
            }
            if i == a.len() && j == b.len() {
                return true;
            }
            let (x, y) = (a.get(i).copied(), b.get(j).copied());
            if matches!(x, Some(Step::Many(_))) {
                open.push((i + 1, j));
            }
            if matches!(y, Some(Step::Many(_))) {
                open.push((i, j + 1));
            }
            let (Some(x), Some(y)) = (x, y) else { continue };
            let (Step::One(p) | Step::Many(p)) = x;
            let (Step::One(q) | Step::Many(q)) = y;
            if p.meets(q) {
                let next = |step, at| if matches!(step, Step::One(_)) { at + 1 } else { at };
                open.push((next(x, i), next(y, j)));
            }
        }
        false
    }

    /// The sets of the last bytes, from the last one on, as far as each is one step.
    fn end(&self) -> impl Iterator<Item = Bytes> {
        self.rest.iter().rev().map_while(|step| match step {
            Step::One(set) => Some(*set),
            Step::Many(_) => None,
        })
    }

    /// Does it match what becomes of every text that it matches when that is folded? May say no
    /// where yes were right.
    pub(crate) fn holds_folded(&self) -> bool {
        let is_held = |set: Bytes| {
            (b'A'..=b'Z').all(|letter| !set.has(letter) || set.has(letter.to_ascii_lowercase()))
        };
        self.steps().iter().all(|step| match step {
            Step::One(set) | Step::Many(set) => is_held(*set),
        })
    }

    /// Must there be a letter in upper case, so that no folded text matches?
    pub(crate) fn has_upper(&self) -> bool {
        has_upper(&self.letters().collect::<Vec<u8>>())
    }

    /// Must there be a letter in lower case, and none in upper case, so that folding may help?
    pub(crate) fn has_lower(&self) -> bool {
        has_lower_only(&self.letters().collect::<Vec<u8>>())
    }
}

/// The steps in `states`.
#[inline]
fn members(states: &[u64; 4]) -> impl Iterator<Item = usize> {
    states.iter().enumerate().flat_map(|(word, bits)| {
        let mut bits = *bits;
        std::iter::from_fn(move || {
            let at = (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(at)
        })
    })
}

fn has(states: &[u64; 4], at: usize) -> bool {
    states[at / 64] >> (at % 64) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("*", "/a/b", true),
            ("/shop/*", "/shop/", true),
            ("/shop/*", "/shop", false),
            ("/shop/*", "/shop/a/b", true),
            ("/a", "/a", true),
            ("/a", "/ab", false),
            ("/item/{num}", "/item/12", true),
            ("/item/{num}", "/item/", false),
            ("/item/{num}", "/item/1a", false),
            ("/{num:3}.html", "/123.html", true),
            ("/{num:3}.html", "/1234.html", false),
            ("/{*}/x", "/a.b/x", true),
            ("/{*}/x", "/a/b/x", false),
            ("*/css/*/css/*", "/a/css/b/css/", true),
            ("*/css/*/css/*", "/a/css/css/", false),
            ("/{hex}", "/abcdef0", false),
            ("/{hex}", "/abcdef01", true),
            ("/{hex}", "/ABCDEF0123", true),
            ("/{uuid}", "/123e4567-e89b-12d3-a456-426614174000", true),
            ("/{date}/*", "/2026-11-21/x", true),
            ("/{date}/*", "/2026-1-21/x", false),
            ("*a*a*a*b", &"a".repeat(5000), false),
        ] {
            let glob = Glob::parse(pattern, true).unwrap();
            assert_eq!(glob.matches(text.as_bytes()), expected, "{pattern} on {text}");
        }
        assert!(!Glob::parse("*", false).unwrap().matches(b"a/b"));
    }

    #[test]
    fn what_every_text_holds() {
        for (pattern, literal, needle) in [
            ("*/dn/*x*", "", "/dn/"),
            ("/a*x*/dn/", "/a", "/dn/"),
            ("/a{num}-{num}", "/a", "-"),
            ("/a*", "/a", ""),
            ("/a", "/a", ""),
        ] {
            let glob = Glob::parse(pattern, true).unwrap();
            let found = [&glob.literal, &glob.needle].map(|text| &text[..]);
            assert_eq!(found, [literal.as_bytes(), needle.as_bytes()], "{pattern}");
            assert_eq!(Glob::of(glob.steps()).literal, literal.as_bytes(), "{pattern}");
        }
    }

    #[test]
    fn escapes_are_not_folded() {
        for (text, upper, lower) in [
            ("/x%5By/", false, true),
            ("/X%5By/", true, false),
            ("/%C3%A9/", false, false),
            ("/%C3%A9%C/", true, false),
        ] {
            let glob = Glob::parse(text, true).unwrap();
            let found = (has_upper(text.as_bytes()), has_lower_only(text.as_bytes()));
            assert_eq!(found, (upper, lower), "{text}");
            assert_eq!((glob.has_upper(), glob.has_lower()), (upper, lower), "{text}");
        }
    }

    #[test]
    fn what_two_patterns_have_in_common() {
        for (a, b, expected) in [
            ("/a/*", "/b/*", false),
            ("/a/*", "*", true),
            ("*.html", "/a/*", true),
            ("*.html", "*.htm", false),
            ("/{num}", "/{hex:4}", true),
            ("/{num}", "/x", false),
            ("/story_{num}", "/story", false),
            ("*/a.html", "*b.html", false),
            ("*.html", "/{slug}.html", true),
            ("/a", "*/a", true),
            ("/{num}", "/{num}a", false),
        ] {
            let [a, b] = [a, b].map(|text| Glob::parse(text, true).unwrap());
            assert_eq!(a.meets(&b), expected, "{a:?} {b:?}");
            assert_eq!(b.meets(&a), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn what_lies_within_another() {
        for (narrow, wide, expected) in [
            ("*", "*", true),
            ("*", "/*", true),
            ("/*", "*", true),
            ("/a", "/a", true),
            ("/a/*", "/*", true),
            ("/*", "/a/*", false),
            ("/item_{num}", "/{*}", true),
            ("/item_{num}", "/item_{slug}", true),
            ("/item_{slug}", "/item_{num}", false),
            ("/{num:4}", "/{num}", true),
            ("/{num}", "/{num:4}", false),
            ("/{*}", "/*", true),
            ("/*", "/{*}", false),
            ("/a/b.php", "*.php", true),
            ("/a/b.php", "/*/*.php", true),
            ("/{*}/b.php", "/*/{*}.php", true),
            ("/{date}", "/{slug}", true),
            ("*a", "*b", false),
        ] {
            let [a, b] = [narrow, wide].map(|text| Glob::parse(text, true).unwrap());
            assert_eq!(a.is_within(&b), expected, "{narrow} {wide}");
        }
    }

    #[test]
    fn refused() {
        for (pattern, why) in [
            ("/{num", "no }"),
            ("/{foo}", "no such class"),
            ("/{num:0}", "length"),
            ("/{num:x}", "length"),
            ("/ä", "escape"),
            ("/a b", "escape"),
            (&"*a".repeat(33), "wildcards"),
            (&"{hex:200}".repeat(2), "steps"),
        ] {
            let message = Glob::parse(pattern, true).unwrap_err().to_string();
            assert!(message.contains(why), "{pattern}: {message}");
        }
    }
}
