//! Rows: lines that `input` makes of the records of containers (WARC, sitemaps, Parquet).
//!
//! ```text
//! url \t time \t status \t method \t mime \t size \t digest \t redirect \t referrer \t agent \t
//!     canonical link
//! ```
//!
//! - Always eleven fields; those that are not known are empty.
//! - Escapes: a tab, a newline, a carriage return and a backslash inside a field are `\t`, `\n`,
//!   `\r` and `\\`; NUL is `\x00`. [`Escapes::Backslash`] undoes them all. So within a field
//!   there is neither a tab nor a separator.
//! - Not a format of files: only `input/containers/rows.rs` writes it, and it is never detected.
//!   With its header it is a TSV table, and `--print line` writes it so.

use crate::record::{Escapes, Found, LineFormat, Parsed};
use crate::reject::Reject;

/// How many fields a row has.
const FIELDS: usize = 11;

/// The names of the fields, as tables have them.
const HEADER: &[u8] =
    b"url\ttime\tstatus\tmethod\tmime\tsize\tdigest\tredirect\treferrer\tagent\tcanonical_link";

/// The rows of one container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContainerRows {
    container: &'static str,
}

impl ContainerRows {
    /// The rows of a container of the kind `container`; reports use that name.
    pub(crate) fn new(container: &'static str) -> Self {
        ContainerRows { container }
    }
}

impl LineFormat for ContainerRows {
    fn name(&self) -> &'static str {
        self.container
    }

    fn header_of_its_own(&self) -> Option<&'static [u8]> {
        Some(HEADER)
    }

    // A line of tabs is a record of which nothing is known.
    fn has_empty_lines(&self) -> bool {
        false
    }

    fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
        let mut rest = Some(line);
        let mut fields: [&[u8]; FIELDS] = [b""; FIELDS];
        for field in &mut fields {
            let Some(text) = rest else { return Parsed::Reject(Reject::Format) };
            let tab = memchr::memchr(b'\t', text);
            *field = &text[..tab.unwrap_or(text.len())];
            rest = tab.map(|tab| &text[tab + 1..]);
        }
        if rest.is_some() {
            return Parsed::Reject(Reject::Format);
        }
        let [url, time, status, method, mime, size, digest, redirect, referrer, agent, link] =
            fields;
        if url.is_empty() {
            return Parsed::Reject(Reject::NoUrl);
        }
        // Bet: most rows have no escapes.
        let has_escapes = memchr::memchr(b'\\', line).is_some();
        let escapes = if has_escapes { Escapes::Backslash } else { Escapes::None };
        found.target = url;
        found.escapes = escapes;
        let known = &mut found.fields;
        (known.time, known.status, known.method, known.mime) = (time, status, method, mime);
        (known.size, known.digest, known.redirect) = (size, digest, redirect);
        (known.referrer, known.agent, known.canonical_link) = (referrer, agent, link);
        known.escapes = escapes;
        Parsed::Record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        let line =
            b"http://a.test/\t2026\t200\tGET\ta/b\t5\tsha1:A\t/c\thttp://r.test/\tagent \\\\\t/d";
        let mut found = Found::default();
        let rows = ContainerRows::new("warc");
        assert_eq!((rows.name(), rows.parse(line, &mut found)), ("warc", Parsed::Record));
        let fields = found.fields;
        let texts = [
            found.target,
            fields.time,
            fields.status,
            fields.method,
            fields.mime,
            fields.size,
            fields.digest,
            fields.redirect,
            fields.referrer,
            fields.agent,
            fields.canonical_link,
        ];
        assert_eq!(texts.join(&b'\t'), line);
        assert_eq!((found.escapes, fields.escapes), (Escapes::Backslash, Escapes::Backslash));
    }

    #[test]
    fn rejects() {
        for (given, expected) in [
            ("a\t\t\t\t\t\t\t\t\t\t", Parsed::Record),
            ("\t\t\t\t\t\t\t\t\t\t", Parsed::Reject(Reject::NoUrl)),
            ("a\t\t\t\t\t\t\t\t\t", Parsed::Reject(Reject::Format)),
            ("a\t\t\t\t\t\t\t\t\t\t\t", Parsed::Reject(Reject::Format)),
            ("http://a.test/", Parsed::Reject(Reject::Format)),
        ] {
            let mut found = Found::default();
            assert_eq!(
                ContainerRows::new("warc").parse(given.as_bytes(), &mut found),
                expected,
                "{given:?}"
            );
            assert_eq!(found.escapes, Escapes::None);
        }
    }
}
