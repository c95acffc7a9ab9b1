//! Lines to records: what is a URL, what is empty, what is a reject.

mod escapes;
pub mod formats;
mod found;
mod line_format;
pub mod time;

pub use found::{Escapes, Fields, Found, Parsed};
pub use line_format::{LineFormat, Recognize};

use crate::bytes::Lines;
use crate::reject::Reject;

/// The format of an input: how its lines hold URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One URL on each line.
    Lines,
}

impl Format {
    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Format::Lines => "lines",
        }
    }
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A line with a URL.
    Record(Record<'a>),
    /// A line with nothing but blanks.
    Empty(&'a [u8]),
    /// A line without a record: why, and how it starts.
    Reject(Reject, &'a [u8]),
}

/// A URL and the line it stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The line as it was read, without its separator.
    pub line: &'a [u8],
    /// The URL's bytes in it.
    pub url: &'a [u8],
}

/// How to read lines.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// What ends a line: a newline, or NUL.
    pub separator: u8,
    /// Longest line in bytes.
    pub line_bytes_max: usize,
    /// Takes every byte of a line as part of the URL: no byte order mark, no carriage return, no
    /// empty line is told apart.
    pub verbatim: bool,
}

impl Reading {
    /// The entries of `chunk`, which holds whole lines; `starts_file` if it is the first of its
    /// file.
    pub fn entries<'a>(
        self,
        chunk: &'a [u8],
        starts_file: bool,
    ) -> impl Iterator<Item = Entry<'a>> + use<'a> {
        let mut lines = Lines::new(chunk, self.separator);
        // The mark counts towards the line limit, as it does where lines are cut.
        let first = match lines.clone().next() {
            Some(line) if starts_file && !self.verbatim && line.len() <= self.line_bytes_max => {
                line.strip_prefix(b"\xef\xbb\xbf").inspect(|_| {
                    lines.next();
                })
            }
            _ => None,
        };
        // A mark with nothing behind it is no line.
        let first = first.filter(|_| chunk.len() > 3);
        first.into_iter().chain(lines).map(move |line| self.entry(line))
    }

    #[inline]
    fn entry(self, line: &[u8]) -> Entry<'_> {
        if line.len() > self.line_bytes_max {
            return Entry::Reject(Reject::LineTooLong, line);
        }
        if self.verbatim {
            return Entry::Record(Record { line, url: line });
        }
        match line.last() {
            Some(byte) if *byte > b' ' => Entry::Record(Record { line, url: line }),
            _ => entry_with_blanks(line),
        }
    }
}

/// A line that ends in a blank, such as the carriage return before a newline.
#[inline(never)]
fn entry_with_blanks(line: &[u8]) -> Entry<'_> {
    if line.iter().all(|byte| *byte <= b' ') {
        return Entry::Empty(line);
    }
    Entry::Record(Record { line, url: line.strip_suffix(b"\r").unwrap_or(line) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(chunk: &[u8], verbatim: bool) -> Vec<String> {
        let reading = Reading { separator: b'\n', line_bytes_max: 8, verbatim };
        let show = |bytes: &[u8]| crate::bytes::show(bytes).to_string();
        reading
            .entries(chunk, true)
            .map(|entry| match entry {
                Entry::Record(record) => show(record.url),
                Entry::Empty(_) => "empty".to_string(),
                Entry::Reject(kind, _) => kind.to_string(),
            })
            .collect()
    }

    #[test]
    fn entries() {
        for (given, verbatim, expected) in [
            (&b"a\nb"[..], false, &["a", "b"][..]),
            (b"a\r\n\r\n \t\n", false, &["a", "empty", "empty"]),
            (b"\xef\xbb\xbfa\n", false, &["a"]),
            (b"\xef\xbb\xbfa\n", true, &["\\u{feff}a"]),
            (b"a\r\n\n", true, &["a\\r", ""]),
            (b"123456789\n12345678", false, &["line-too-long", "12345678"]),
        ] {
            assert_eq!(read(given, verbatim), expected);
        }
    }
}
