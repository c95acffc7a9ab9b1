//! Short texts that are copied whole, as if they filled their room: without a call, a loop, or a
//! branch that depends on their length.

use std::fmt;

use crate::bytes::hex;

/// A text of at most `ROOM` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Short<const ROOM: usize> {
    /// The text, followed by zeros.
    bytes: [u8; ROOM],
    len: u8,
}

impl<const ROOM: usize> Default for Short<ROOM> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const ROOM: usize> Short<ROOM> {
    pub(super) const EMPTY: Self = Short { bytes: [0; ROOM], len: 0 };

    /// Makes a text, for tables: one that is too long stops the build.
    pub(super) const fn new(text: &str) -> Self {
        let (text, mut this) = (text.as_bytes(), Self::EMPTY);
        while (this.len as usize) < text.len() {
            this.put(text[this.len as usize]);
        }
        this
    }

    /// Makes a text, for tables, with every byte outside ASCII escaped in upper-case hexadecimal
    /// digits: one that is too long stops the build.
    pub(super) const fn escaped(text: &str) -> Self {
        let (text, mut at, mut this) = (text.as_bytes(), 0, Self::EMPTY);
        while at < text.len() {
            if text[at].is_ascii() {
                this.put(text[at]);
            } else {
                let [high, low] = hex::digits(text[at]);
                this.put(b'%');
                this.put(high);
                this.put(low);
            }
            at += 1;
        }
        this
    }

    /// Makes a table of `texts`.
    pub(super) const fn all<const TEXTS: usize>(texts: &[&str; TEXTS]) -> [Self; TEXTS] {
        Self::table(texts, false)
    }

    /// Makes a table of `texts`, [escaped](Self::escaped).
    pub(super) const fn all_escaped<const TEXTS: usize>(texts: &[&str; TEXTS]) -> [Self; TEXTS] {
        Self::table(texts, true)
    }

    const fn table<const TEXTS: usize>(texts: &[&str; TEXTS], escapes: bool) -> [Self; TEXTS] {
        let (mut table, mut at) = ([Self::EMPTY; TEXTS], 0);
        while at < TEXTS {
            table[at] = if escapes { Self::escaped(texts[at]) } else { Self::new(texts[at]) };
            at += 1;
        }
        table
    }

    /// Appends `byte`, for which there must be room.
    pub(super) const fn put(&mut self, byte: u8) {
        self.bytes[self.len as usize] = byte;
        self.len += 1;
    }

    /// Appends `text`. There must be room for all of its own room.
    #[inline]
    pub(super) fn push<const MOST: usize>(&mut self, text: &Short<MOST>) {
        let end = self.len();
        self.bytes[end..][..MOST].copy_from_slice(&text.bytes);
        self.len += text.len;
    }

    /// Appends the text to `out`.
    #[inline]
    pub(super) fn push_to(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.len();
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// The text.
    #[inline]
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }
}

impl Short<16> {
    /// The first `len` bytes of a word, the lowest first; the others are zero.
    #[inline]
    pub(super) fn of_word(word: u128, len: u8) -> Self {
        debug_assert!(len <= 16 && (len == 16 || word >> (8 * len) == 0));
        Short { bytes: word.to_le_bytes(), len }
    }
}

impl<const ROOM: usize> fmt::Display for Short<ROOM> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_put_together() {
        let mut text = Short::<40>::new("été-");
        text.push(&Short::<16>::escaped("été."));
        text.put(b'!');
        let expected = "été-%C3%A9t%C3%A9.!".as_bytes();
        assert_eq!((text.as_bytes(), text.len()), (expected, expected.len()));
        assert_eq!(text.to_string().as_bytes(), expected);
        let mut out = b"> ".to_vec();
        text.push_to(&mut out);
        Short::<3>::EMPTY.push_to(&mut out);
        Short::<3>::new("end").push_to(&mut out);
        assert_eq!(out, [b"> ", expected, b"end"].concat());
    }

    #[test]
    fn tables_are_their_texts() {
        let texts = ["a", "größe", ""];
        let plain = Short::<8>::all(&texts);
        assert!(plain.iter().zip(texts).all(|(short, text)| short.as_bytes() == text.as_bytes()));
        let escaped = Short::<16>::all_escaped(&texts);
        assert_eq!(escaped[1].as_bytes(), b"gr%C3%B6%C3%9Fe");
    }
}
