//! Lists of URLs and paths, with the host of the paths given by `--base-url`.

use crate::bytes::lines::without_carriage_returns;
use crate::record::{Found, LineFormat, Parsed};

/// A list some of whose lines are relative references: `/a?b=1`, `//b.test/c`.
///
/// - Shape: a line that begins with one slash is a path on the host of the base URL; one that
///   begins with two slashes has a host, and lacks only the scheme. All other lines are read as in
///   any list.
/// - Source: RFC 3986 section 4.2, "relative reference": those with an absolute path, or a network
///   path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RelativeLines {
    /// The scheme of the base URL.
    pub(crate) scheme: &'static [u8],
}

impl LineFormat for RelativeLines {
    fn name(&self) -> &'static str {
        crate::record::Layout::LINES
    }

    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        let line = without_carriage_returns(line);
        let text = line.trim_ascii();
        found.target = if text.starts_with(b"/") { text } else { line };
        if let Some(behind) = text.strip_prefix(b"//") {
            let is_end = |byte: &u8| b"/?#".contains(byte);
            let (host, rest) =
                behind.split_at(behind.iter().position(is_end).unwrap_or(behind.len()));
            (found.scheme, found.host) = (self.scheme, host);
            (found.target, found.query) = match rest {
                [b'/', ..] => (rest, &b""[..]),
                [b'?', query @ ..] => (&b"/"[..], query),
                _ => (&b"/"[..], &b""[..]),
            };
        }
        Parsed::Record
    }
}

#[cfg(test)]
mod tests {
    use crate::record::{BaseUrl, Entries, Entry, Layout, ReadOptions, Workspace, formats};

    #[test]
    fn paths_get_a_host() {
        let base = BaseUrl::parse("https://a.test").unwrap();
        let layout = Layout {
            format: Some(formats::relative_lines(&base)),
            base: Some(base.into()),
            ..Layout::default()
        };
        for (line, expected) in [
            ("/b?c#d", "https://a.test/b?c#d"),
            (" /b ", "https://a.test/b"),
            ("/", "https://a.test/"),
            ("//b.test/c?d", "https://b.test/c?d"),
            ("//b.test", "https://b.test/"),
            ("//b.test:80?c", "https://b.test:80/?c"),
            ("//b.test#c", "https://b.test/"),
            ("http://b.test/c", "http://b.test/c"),
            ("b.test/c ", "b.test/c "),
            ("b.test/c\r\r", "b.test/c"),
            ("c", "c"),
        ] {
            let options = ReadOptions {
                separator: b'\n',
                line_bytes_max: 99,
                verbatim: false,
                fields: false,
            };
            let mut workspace = Workspace::default();
            let mut entries = Entries::new(line.as_bytes(), true, options, &layout, &mut workspace);
            let Some(Entry::Record(record)) = entries.next() else { panic!("{line}") };
            assert_eq!(std::str::from_utf8(record.url), Ok(expected), "{line}");
        }
    }
}
