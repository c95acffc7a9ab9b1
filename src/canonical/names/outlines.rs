//! HOT: once per parameter. Outlines of names: a number for a whole name, and for its start.

use std::ops::Range;

use crate::bytes::bits::{BitSet, few_bits, folded};
use crate::bytes::first_word;

/// Rough signatures of some names. They rule out nearly all other names, before anything is hashed
/// or compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outlines {
    /// Every [`outline`] that a name has.
    all: Box<BitSet<{ OUTLINES / 64 }>>,
}

impl Outlines {
    /// Adds a name.
    pub(crate) fn add(&mut self, name: &[u8]) {
        outline_of(name).into_iter().for_each(|outline| self.all.insert(outline));
    }

    /// Could it be one of the names? Never says no where it is.
    #[inline]
    pub(crate) fn may_have(&self, name: &[u8]) -> bool {
        outline_of(name).is_some_and(|outline| self.all.has(outline))
    }
}

/// The bits of an outline.
const OUTLINE_BITS: u32 = 14;

/// How many outlines there are.
pub(super) const OUTLINES: usize = 1 << OUTLINE_BITS;

/// How many starts there are.
pub(super) const STARTS: usize = 1 << 10;

/// The first eight bytes of a name, its last one and its length as a number below [`OUTLINES`],
/// without regard to ASCII case. `word` is its [`first_word`].
#[inline(always)]
pub(super) fn outline(word: u64, last: u8, length: usize) -> usize {
    let rest = (length << 8 | usize::from(last | 0x20)) as u64;
    few_bits::<OUTLINE_BITS>(folded(word) ^ rest)
}

/// Returns the [`outline`] of a name; `None` for the empty one.
#[inline]
pub(super) fn outline_of(name: &[u8]) -> Option<usize> {
    Some(outline(first_word(name, 0, name.len()), *name.last()?, name.len()))
}

/// Returns the first two bytes of a name as a number below [`STARTS`], without regard to ASCII
/// case.
#[inline(always)]
pub(super) fn start(word: u64) -> usize {
    (word >> 51 & 0x3e0 | word >> 48 & 0x1f) as usize
}

/// Returns the [`start`]s of all names that start with `prefix`.
pub(super) fn starts_of(prefix: &[u8]) -> Range<usize> {
    let first = start(first_word(prefix, 0, prefix.len()));
    match prefix {
        [] => 0..STARTS,
        [_] => first..first + 32,
        _ => first..first + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_case() {
        let mut outlines = Outlines::default();
        let names = ["a.test", "WWW.example.org", "x", ""];
        names.iter().for_each(|name| outlines.add(name.as_bytes()));
        for name in &names[..3] {
            assert!(outlines.may_have(name.to_lowercase().as_bytes()), "{name}");
            assert!(outlines.may_have(name.to_uppercase().as_bytes()), "{name}");
        }
        for name in ["", "b.test", "a.tesu", "www.example.or"] {
            assert!(!outlines.may_have(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn prefixes_and_what_starts_with_them() {
        for (prefix, name, expected) in [
            (&b"utm_"[..], &b"UTM_source"[..], true),
            (b"utm_", b"utn", true),
            (b"utm_", b"uum_", false),
            (b"q", b"Query", true),
            (b"q", b"q", true),
            (b"q", b"r", false),
            (b"", b"anything", true),
        ] {
            let found = starts_of(prefix).contains(&start(first_word(name, 0, name.len())));
            assert_eq!(found, expected, "{prefix:?} {name:?}");
        }
    }
}
