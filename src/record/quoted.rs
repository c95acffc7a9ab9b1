//! Finds the ends of rows that may span several lines: a separator within quotes does not end a
//! row.
//!
//! HOT: once per row of a table with quotes. Price: one pass over the row. No allocation.
//! Twin: `row_bytes` in the tests.
//!
//! A quote that is never closed hides all lines after it. A row that has not ended within the
//! longest line is therefore cut after its first line, and the next row begins there. If each line
//! opened such a quote, each would be scanned as far as that; so the state of the last scan is
//! kept:
//!
//! ```text
//! text    "a","b \n "a","b \n "a","b \n "a","b \n
//! row 1   ^----------------------------|             within quotes at the end of every line; too
//!                                                    long
//! row 2             ^--------|. . . . .|---------|   within quotes at the end of its first, and so
//!                                                    at those row 1 was: it goes on where that has
//!                                                    stopped
//! ```

use memchr::{memchr, memchr2};

/// Finds the rows of a text, one by one.
///
/// - Shape: a quote opens only at the start of a field, and a doubled one does not close it (RFC
///   4180 section 2); anywhere else a quote is text.
/// - Cost: linear in the text, whatever is in it.
#[derive(Clone, Copy, Debug)]
pub struct QuotedRows {
    delimiter: u8,
    separator: u8,
    bytes_max: usize,
    ahead: Option<Ahead>,
}

/// How the row at the start of a text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// After this many bytes, not counting the separator that ends it.
    Whole(usize),
    /// Not in the text; more text may end it within the limit.
    Open,
    /// Not within the limit.
    TooLong,
}

/// How far a row was scanned that has not ended. At the end of every line up to there it was within
/// quotes.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// Bytes of the text after that place.
    bytes_left: usize,
    is_inside: bool,
}

/// Where a scan has stopped, and whether within quotes.
#[derive(Clone, Copy, Debug)]
struct Stop {
    at: usize,
    is_inside: bool,
}

impl QuotedRows {
    /// For rows of up to `bytes_max` bytes that end with `separator` and whose fields are separated
    /// by `delimiter`.
    pub fn new(delimiter: u8, separator: u8, bytes_max: usize) -> QuotedRows {
        QuotedRows { delimiter, separator, bytes_max, ahead: None }
    }

    /// The row at the start of `text`. From call to call `text` must be the rest of one text:
    /// without the last [`Row::Whole`], or without the first line of any other row.
    #[inline]
    pub fn row(&mut self, text: &[u8]) -> Row {
        let limit = text.len().min(self.bytes_max.saturating_add(1));
        let found = match self.ahead.take() {
            None => self.scan(text, Stop { at: 0, is_inside: false }, limit),
            Some(ahead) => self.scan_from(text, ahead, limit),
        };
        match found {
            Ok(end) => Row::Whole(end),
            Err(stop) if text.len() <= self.bytes_max && !stop.is_inside => Row::Whole(text.len()),
            Err(Stop { at, is_inside }) => {
                self.ahead = Some(Ahead { bytes_left: text.len() - at, is_inside });
                if text.len() <= self.bytes_max { Row::Open } else { Row::TooLong }
            }
        }
    }

    /// How many bytes of `text` are rows that have ended, each with its separator; rows that are
    /// too long end with their lines. The row after them, if there is one, is open.
    pub fn closed_bytes(mut self, text: &[u8]) -> usize {
        let mut rest = text;
        while !rest.is_empty() {
            let bytes = match self.row(rest) {
                Row::Whole(bytes) => bytes,
                Row::TooLong => memchr(self.separator, rest).unwrap_or(rest.len()),
                Row::Open => break,
            };
            rest = rest.get(bytes + 1..).unwrap_or_default();
        }
        text.len() - rest.len()
    }

    /// Bytes of the first line of `text`, with its separator; and whether the row that begins there
    /// is within quotes at the end of the line.
    pub fn line(&self, text: &[u8]) -> (usize, bool) {
        let bytes = memchr(self.separator, text).map_or(text.len(), |at| at + 1);
        let stop = self.scan(text, Stop { at: 0, is_inside: false }, bytes);
        (bytes, stop.is_err_and(|stop| stop.is_inside))
    }

    /// Bytes of `text` up to the separator that ends a row which is within quotes at its start, or
    /// up to the end of the text if they are closed by then. However long the row is.
    pub fn end_of_open(&self, text: &[u8]) -> Option<usize> {
        match self.scan(text, Stop { at: 0, is_inside: true }, text.len()) {
            Ok(end) => Some(end),
            Err(stop) => (!stop.is_inside).then_some(text.len()),
        }
    }

    /// Where the row at the start of `text` ends within its first `limit` bytes, if an earlier row
    /// was scanned as far as `ahead` says.
    #[cold]
    fn scan_from(&mut self, text: &[u8], ahead: Ahead, limit: usize) -> Result<usize, Stop> {
        let line = memchr(self.separator, &text[..limit]).map_or(limit, |at| at + 1);
        match self.scan(text, Stop { at: 0, is_inside: false }, line) {
            Ok(end) => {
                self.ahead = Some(ahead);
                Ok(end)
            }
            Err(stop) if line == limit => Err(stop),
            // Both rows are within quotes at the end of the line, so both continue in the same way.
            Err(stop) => {
                let seen = text.len().saturating_sub(ahead.bytes_left);
                let seen = Stop { at: seen, is_inside: ahead.is_inside };
                self.scan(text, if seen.at > stop.at { seen } else { stop }, limit)
            }
        }
    }

    /// Scans on from the place and state `from`: where the row ends within the first `limit` bytes
    /// of `text`, or where the scan has stopped.
    #[inline]
    fn scan(&self, text: &[u8], from: Stop, limit: usize) -> Result<usize, Stop> {
        let Stop { mut at, mut is_inside } = from;
        loop {
            if is_inside {
                // To the closing quote, which is not doubled.
                loop {
                    let within = text.get(at..limit).unwrap_or_default();
                    let Some(step) = memchr(b'"', within) else {
                        return Err(Stop { at: at.max(limit), is_inside });
                    };
                    at += step + 1;
                    if text.get(at) != Some(&b'"') {
                        break;
                    }
                    at += 1;
                }
            }
            let within = text.get(at..limit).unwrap_or_default();
            let Some(step) = memchr2(b'"', self.separator, within) else {
                return Err(Stop { at: at.max(limit), is_inside: false });
            };
            let place = at + step;
            if text[place] == self.separator {
                return Ok(place);
            }
            is_inside = place == 0 || text[place - 1] == self.delimiter;
            at = place + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes of the row at the start of `text`; `None` if a quote is open at its end, or if the row
    /// is longer than `bytes_max`. Byte by byte.
    fn row_bytes(text: &[u8], bytes_max: usize) -> Option<usize> {
        let (mut is_inside, mut is_start, mut at) = (false, true, 0);
        while at < text.len() {
            match (text[at], is_inside) {
                (b'\n', false) => return (at <= bytes_max).then_some(at),
                (b'"', true) if text.get(at + 1) == Some(&b'"') => at += 1,
                (b'"', true) => is_inside = false,
                (b'"', false) => is_inside = is_start,
                _ => {}
            }
            is_start = !is_inside && text[at] == b',';
            at += 1;
        }
        (!is_inside && text.len() <= bytes_max).then_some(text.len())
    }

    #[test]
    fn rows() {
        for (given, bytes_max, expected, why) in [
            ("a,b\nc", 100, Row::Whole(3), "no quotes"),
            ("a,b", 100, Row::Whole(3), "the last one"),
            ("a,\"b\nc\"\nd", 100, Row::Whole(7), "a line break"),
            ("\"a\"\"\n\",b\nd", 100, Row::Whole(8), "doubled quotes"),
            ("5\" disk,b\nc", 100, Row::Whole(9), "a quote that is text"),
            ("\"a\nb", 100, Row::Open, "a quote that stays open"),
            ("a,\"b\"c\"\nd", 100, Row::Whole(7), "text behind a quote"),
            ("\"\"\nd", 100, Row::Whole(2), "nothing in quotes"),
            ("\"a\n\"\n", 4, Row::Whole(4), "as long as a line may be"),
            ("\"ab\n\"\n", 4, Row::TooLong, "longer"),
            ("\"abc\n\"", 4, Row::TooLong, "longer, at the end"),
            ("aaaaa\n", 4, Row::TooLong, "a long line"),
            ("\"a\nb", 4, Row::Open, "in time, perhaps"),
        ] {
            let mut rows = QuotedRows::new(b',', b'\n', bytes_max);
            assert_eq!(rows.row(given.as_bytes()), expected, "{why}: {given:?}");
        }
    }

    #[test]
    fn lines_and_ends() {
        let rows = QuotedRows::new(b',', b'\n', 4);
        for (given, expected) in [
            ("a,\"b\nc\"\n", (5, true)),
            ("a,b\nc", (4, false)),
            ("a,\"b\"", (5, false)),
            ("\"a", (2, true)),
        ] {
            assert_eq!(rows.line(given.as_bytes()), expected, "{given:?}");
        }
        for (given, expected) in [
            ("a\nb\",\"\n\"\nc\n", Some(8)),
            ("a\nbcdefg\"", Some(9)),
            ("a\"\"b\n", None),
            ("\n", None),
        ] {
            assert_eq!(rows.end_of_open(given.as_bytes()), expected, "{given:?}");
        }
    }

    /// Less than a second; hours if each line were looked at to the longest line.
    #[test]
    fn quotes_that_stay_open_take_linear_time() {
        for line in ["\"ab\",\"c\n", "\"ab\"\n,\"\"\"c\n"] {
            let text = line.repeat((8 << 20) / line.len());
            for bytes_max in [1 << 10, 1 << 20] {
                let mut rows = QuotedRows::new(b',', b'\n', bytes_max);
                let closed = rows.closed_bytes(text.as_bytes());
                assert!(text.len() - closed <= bytes_max, "{line:?}");
                let mut rest = &text.as_bytes()[closed..];
                while !rest.is_empty() && rows.row(rest) == Row::Open {
                    rest = &rest[rows.line(rest).0..];
                }
                assert!(rest.is_empty(), "{line:?}");
            }
        }
    }

    proptest! {
        /// Each row is as its twin says, whatever was seen of those before.
        #[test]
        fn rows_are_those_of_the_twin(text in "[a,\"\"\n]{0,60}", bytes_max in 0usize..40) {
            let mut rows = QuotedRows::new(b',', b'\n', bytes_max);
            let mut rest = text.as_bytes();
            while !rest.is_empty() {
                let line = memchr(b'\n', rest).unwrap_or(rest.len());
                let bytes = match rows.row(rest) {
                    Row::Whole(bytes) => {
                        prop_assert_eq!(Some(bytes), row_bytes(rest, bytes_max), "{:?}", rest);
                        bytes
                    }
                    other => {
                        prop_assert_eq!(None, row_bytes(rest, bytes_max), "{:?}", rest);
                        prop_assert_eq!(other == Row::Open, rest.len() <= bytes_max);
                        line
                    }
                };
                rest = rest.get(bytes + 1..).unwrap_or_default();
            }
        }
    }
}
