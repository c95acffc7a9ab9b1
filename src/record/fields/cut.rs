//! HOT: once per field. Cuts fields off the front of a line of a log.
//!
//! Price: one search for the byte that ends the field. No allocation.
//! Guard: `tests::agrees_with_a_machine_by_bytes`.

use memchr::memchr;

/// The rest of a line whose fields are separated by blanks.
///
/// A field is bare (up to the next blank), `"quoted"` or `[bracketed]`. A quoted one ends at the
/// first quote that is not escaped by a backslash and is followed by a blank or the end of the
/// line: so a quote that a careless server did not escape mostly does no harm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut<'a> {
    rest: &'a [u8],
}

impl<'a> Cut<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Cut<'a> {
        Cut { rest: line }
    }

    /// What has not been cut off yet.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// The bytes up to the next blank, which is skipped, or to the end; `None` at the end. Empty
    /// between two blanks.
    #[inline]
    pub(crate) fn word(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr(b' ', self.rest).unwrap_or(self.rest.len());
        Some(self.take(0, end, end))
    }

    /// The next word after any number of blanks.
    #[inline]
    pub(crate) fn padded_word(&mut self) -> Option<&'a [u8]> {
        let blanks = self.rest.iter().position(|byte| *byte != b' ')?;
        self.rest = &self.rest[blanks..];
        self.word()
    }

    /// The digits of a bare field, or nothing for `-`; `None` for anything else.
    #[inline]
    pub(crate) fn number(&mut self) -> Option<&'a [u8]> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let dashes = usize::from(self.rest.starts_with(b"-"));
        let end = digits + dashes;
        let is_last = matches!(self.rest.get(end), None | Some(b' '));
        (end > 0 && is_last).then(|| self.take(dashes, end, end))
    }

    /// The text of a quoted field; `None` if its first or last quote is missing.
    #[inline]
    pub(crate) fn quoted(&mut self) -> Option<&'a [u8]> {
        self.quoted_before(|_| true)
    }

    /// The text of a quoted field whose last quote is followed by nothing, or by a blank and text
    /// for which `is_next` is true.
    #[inline]
    pub(crate) fn quoted_before(&mut self, is_next: impl Fn(&[u8]) -> bool) -> Option<&'a [u8]> {
        let rest = self.rest;
        if rest.first() != Some(&b'"') {
            return None;
        }
        let mut at = 1;
        loop {
            at += memchr(b'"', &rest[at..])?;
            let is_last = match rest.get(at + 1) {
                None => true,
                Some(b' ') => is_next(&rest[at + 2..]),
                Some(_) => false,
            };
            if is_last && !is_escaped(rest, at) {
                return Some(self.take(1, at, at + 1));
            }
            at += 1;
        }
    }

    /// The text of the next field, of whichever kind; `None` at the end, and for quotes or brackets
    /// without an end.
    #[inline]
    pub(crate) fn field(&mut self) -> Option<&'a [u8]> {
        match self.rest.first()? {
            b'"' => self.quoted(),
            b'[' => {
                let end = memchr(b']', self.rest)?;
                let is_last = matches!(self.rest.get(end + 1), None | Some(b' '));
                is_last.then(|| self.take(1, end, end + 1))
            }
            _ => self.word(),
        }
    }

    /// Returns `rest[start..end]` and continues one byte after `after`, where a blank is.
    #[inline]
    fn take(&mut self, start: usize, end: usize, after: usize) -> &'a [u8] {
        let text = &self.rest[start..end];
        self.rest = self.rest.get(after + 1..).unwrap_or_default();
        text
    }
}

/// Is the byte at `at` escaped, by an odd number of backslashes in front of it?
///
/// Linear for all quotes of a line together: the backslashes before a quote are after the previous
/// one.
#[inline]
pub(crate) fn is_escaped(text: &[u8], at: usize) -> bool {
    let backslashes = text[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
    backslashes % 2 == 1
}

/// `text`, or nothing if it is `-`.
#[inline]
pub(crate) fn value(text: &[u8]) -> &[u8] {
    if text == b"-" { b"" } else { text }
}

/// The host `text`, or nothing for `-` and for `_`, which is nginx's name for a server that answers
/// to any name; with a port or without.
#[inline]
pub(crate) fn host_value(text: &[u8]) -> &[u8] {
    match text {
        [b'-' | b'_'] | [b'-' | b'_', b':', ..] => b"",
        _ => text,
    }
}

/// Is `text` the status of a response: three digits?
#[inline]
pub(crate) fn is_status(text: &[u8]) -> bool {
    text.len() == 3 && is_number(text)
}

/// Is `text` made of digits, at least one?
#[inline]
pub(crate) fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bytes::show;

    fn fields(line: &[u8]) -> Vec<String> {
        let mut cut = Cut::new(line);
        let fields = std::iter::from_fn(|| cut.field());
        fields.map(|field| show(field).to_string()).collect()
    }

    #[test]
    fn table() {
        for (given, expected, why) in [
            (&b"a b \"c d\" [e f] g"[..], &["a", "b", "c d", "e f", "g"][..], "each kind"),
            (b"a  b", &["a", "", "b"], "two blanks have an empty field between them"),
            (b"", &[], "nothing"),
            (b"\"\" \"-\"", &["", "-"], "empty"),
            (br#""a\" b" c"#, &[r#"a\\" b"#, "c"], "an escaped quote"),
            (br#""a\\" b"#, &[r"a\\\\", "b"], "an escaped backslash before the last quote"),
            (br#""a"b" c"#, &[r#"a"b"#, "c"], "a quote that was not escaped"),
            (b"a \"b c", &["a"], "quotes without an end"),
            (b"a [b c", &["a"], "brackets without an end"),
            (b"[a]b c", &[], "brackets that end inside a word"),
        ] {
            assert_eq!(fields(given), expected, "{}: {why}", show(given));
        }
    }

    /// The text of the quoted field in front of `line`, one byte after another.
    fn by_bytes(line: &[u8]) -> Option<&[u8]> {
        let mut is_escaped = false;
        for (at, byte) in line.iter().enumerate().skip(1) {
            let is_last = matches!(line.get(at + 1), None | Some(b' '));
            if *byte == b'"' && !is_escaped && is_last {
                return Some(&line[1..at]);
            }
            is_escaped = *byte == b'\\' && !is_escaped;
        }
        None
    }

    #[test]
    fn numbers() {
        for (given, expected, why) in [
            (&b"12 3"[..], Some(("12", "3")), "digits"),
            (b"12", Some(("12", "")), "digits at the end"),
            (b"- 3", Some(("", "3")), "the sign for nothing"),
            (b"-", Some(("", "")), "the same at the end"),
            (b"-1 3", None, "no number is negative"),
            (b"1.5 3", None, "a fraction"),
            (b" 3", None, "an empty field"),
            (b"", None, "nothing"),
        ] {
            let mut cut = Cut::new(given);
            let found = cut.number().map(|digits| (digits, cut.rest()));
            let expected = expected.map(|(digits, rest)| (digits.as_bytes(), rest.as_bytes()));
            assert_eq!(found, expected, "{}: {why}", show(given));
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_machine_by_bytes(text in r#""["\\a ]{0,24}"#) {
            let line = text.as_bytes();
            prop_assert_eq!(Cut::new(line).quoted(), by_bytes(line));
        }
    }

    #[test]
    fn a_megabyte_of_quotes_is_linear() {
        let start = std::time::Instant::now();
        for text in [&b"\""[..], b"\\\"", b"\\", b"\"\\", b"\" ", b"\\\\\"x"] {
            let line = [b"\"", text.repeat((1 << 20) / text.len()).as_slice(), b"x"].concat();
            let mut cut = Cut::new(&line);
            while cut.field().is_some() {}
        }
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }
}
