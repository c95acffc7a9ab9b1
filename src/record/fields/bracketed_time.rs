//! HOT: once per line. Finds the time of a line, in brackets.
//!
//! Price: a search for each bracket. No allocation.

use memchr::memchr;

/// Longest text of a time in bytes. Reason: twice that of the longest spelling in use.
const TIME_BYTES_MAX: usize = 64;

/// The time of a line, and what is around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BracketedTime<'a> {
    /// What precedes the bracket, with a blank at its end.
    pub(crate) before: &'a [u8],
    /// What is in the brackets.
    pub(crate) text: &'a [u8],
    /// What follows the bracket and a blank.
    pub(crate) behind: &'a [u8],
}

impl BracketedTime<'_> {
    /// Finds the first brackets between blanks with something like a time in them. A user name
    /// before the time may have brackets, too.
    #[inline]
    pub(crate) fn find(line: &[u8]) -> Option<BracketedTime<'_>> {
        let mut start = 0;
        loop {
            start += memchr(b'[', &line[start..])? + 1;
            let rest = &line[start..];
            // The spelling of CLF has 26 bytes.
            let end = match rest.get(26) {
                Some(b']') if rest[2] == b'/' => 26,
                _ => memchr(b']', &rest[..rest.len().min(TIME_BYTES_MAX)]).unwrap_or(0),
            };
            let is_parted = start == 1 || line[start - 2] == b' ';
            let is_time = end >= 10 && rest[0].is_ascii_digit();
            if is_parted && is_time && rest.get(end + 1) == Some(&b' ') {
                let (before, text, behind) = (&line[..start - 1], &rest[..end], &rest[end + 2..]);
                return Some(BracketedTime { before, text, behind });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (line, expected) in [
            (
                "h - - [10/Oct/2000:13:55:36 -0700] \"GET\"",
                Some(("h - - ", "10/Oct/2000:13:55:36 -0700", "\"GET\"")),
            ),
            ("[2016-04-15T20:17:00.310Z] x", Some(("", "2016-04-15T20:17:00.310Z", "x"))),
            (
                "h - [a] [b [10/Oct/2000:13:55:36.123] x",
                Some(("h - [a] [b ", "10/Oct/2000:13:55:36.123", "x")),
            ),
            (
                "lb haproxy[1234567890]: [10/Oct/2000:13:55:36] ",
                Some(("lb haproxy[1234567890]: ", "10/Oct/2000:13:55:36", "")),
            ),
            ("h [10/Oct/2000:13:55:36 -0700]", None),
            ("h[10/Oct/2000:13:55:36 -0700] x", None),
            ("h [10/Oct] x", None),
            ("h [yesterday at noon] x", None),
            ("", None),
        ] {
            let found = BracketedTime::find(line.as_bytes());
            let expected =
                expected.map(|(before, text, behind)| [before, text, behind].map(str::as_bytes));
            assert_eq!(found.map(|time| [time.before, time.text, time.behind]), expected, "{line}");
        }
        let long = format!("h [1{}] x", "0".repeat(TIME_BYTES_MAX));
        assert!(BracketedTime::find(long.as_bytes()).is_none());
    }
}
