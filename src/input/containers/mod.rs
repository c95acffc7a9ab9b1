//! Files whose records are not lines, recognized by their first bytes.

mod arc;
mod archive;
pub(super) mod decoded;
mod doctype;
mod html_head;
mod http_head;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(test)]
mod reading_tests;
pub(super) mod rows;
mod sitemap;
mod warc;

use std::fmt;

use super::InputPlan;
use super::disk::mapped::Origin;
use crate::bytes::without_bom;
use crate::error::{Error, Result, Setting};
use arc::ArcFile;
use archive::Archive;
use doctype::DocumentType;
#[cfg(feature = "parquet")]
use parquet::Columns;
use rows::Parser;
use sitemap::Sitemap;
use warc::Warc;

/// Least limit for the bytes of a field. Reason: lengths and types of records are fields, too.
const FIELD_BYTES_MIN: usize = 1024;

/// A kind of file whose records are not lines. They are turned into rows: see `rows.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Container {
    /// Records of a web archive (ISO 28500): WARC 1.0 and 1.1, and what came before them.
    Warc,
    /// Records of a web archive in the format before WARC (Internet Archive, 1996): versions 1, 2.
    Arc,
    /// A sitemap, or an index of sitemaps (sitemaps.org protocol 0.9).
    Sitemap,
    /// A table in columns (Apache Parquet).
    Parquet,
}

impl Container {
    /// Every kind.
    pub const ALL: [Container; 4] =
        [Container::Warc, Container::Arc, Container::Sitemap, Container::Parquet];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Container::Warc => "warc",
            Container::Arc => "arc",
            Container::Sitemap => "sitemap",
            Container::Parquet => "parquet",
        }
    }

    /// A description of a few words.
    pub fn about(self) -> &'static str {
        match self {
            Container::Warc => "web archive, a record for each response",
            Container::Arc => "web archive, the older kind",
            Container::Sitemap => "sitemap or index of sitemaps, XML",
            Container::Parquet => "table of columns, with the feature parquet",
        }
    }

    /// Recognizes the container by `head`, the first KiB of the decompressed bytes, or all of them.
    /// `None` for files of lines.
    ///
    /// Failure: an input error for files that are known to be neither: feeds, UTF-16, encrypted
    /// Parquet, files of `--seen`.
    pub(super) fn sniff(head: &[u8]) -> Result<Option<Self>> {
        // Some tools put these before the first record; the reader skips empty lines, and reports a
        // byte order mark.
        let text = without_bom(head).trim_ascii_start();
        if let [b'W', b'A', b'R', b'C', b'/', b'0'..=b'9', b'.', ..] = text {
            return Ok(Some(Container::Warc));
        }
        match head {
            // The magic, and the header of a page: a struct in Thrift's compact protocol.
            [b'P', b'A', b'R', b'1', 0..=0x1f, ..] => Ok(Some(Container::Parquet)),
            // The length of an encrypted header: the reader will report it.
            [b'P', b'A', b'R', b'1', _, _, 0, 0, ..] => Ok(Some(Container::Parquet)),
            [b'P', b'A', b'R', b'E', _, _, 0, 0, ..] => Err(Error::input(
                "expected Parquet that can be read without a key, found an encrypted file (50 41 52 45); decrypt \
                 it first",
            )),
            _ if head.starts_with(b"undust-seen\n") => Err(Error::input(format!(
                "expected URLs, found a seen file, which holds only their fingerprints; name other files, and keep \
                 it outside of folders that are read ({} takes one such file, alone and not compressed)",
                Setting::NotIn
            ))),
            _ if head.starts_with(b"filedesc://") => Ok(Some(Container::Arc)),
            [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Err(not_utf8("UTF-32")),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(not_utf8("UTF-16")),
            _ => match root_of(head) {
                Some(b"urlset" | b"sitemapindex") => Ok(Some(Container::Sitemap)),
                Some(b"rss" | b"feed" | b"RDF") => Err(not_a_sitemap("a feed (RSS or Atom)")),
                None if has_old_line_ends(head) => Err(Error::input(
                    "expected lines that end with a newline (0a), found carriage returns alone (0d), as old \
                     spreadsheets for Macs write them; convert them first, as in `tr '\\r' '\\n' < FILE | undust`",
                )),
                _ => Ok(None),
            },
        }
    }
}

/// Do the lines of `head` end in carriage returns alone? Then text follows one of them.
fn has_old_line_ends(head: &[u8]) -> bool {
    let is_other = |byte: &u8| matches!(byte, b'\n' | 0);
    let (without_last, _) = head.split_at(head.len().saturating_sub(1));
    memchr::memchr(b'\r', without_last).is_some() && !head.iter().any(is_other)
}

fn not_utf8(encoding: &str) -> Error {
    Error::input(format!(
        "expected UTF-8, found the mark of {encoding}; convert it first, as in `iconv -f {encoding} -t \
         UTF-8 FILE | undust`"
    ))
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which files are read as containers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Containers {
    /// Those that are recognized by their first bytes.
    #[default]
    Detect,
    /// None: every file is read as lines.
    None,
    /// All, as this kind. A file of another kind is an error.
    Only(Container),
}

/// The error for XML whose root is `found`.
pub(super) fn not_a_sitemap(found: &str) -> Error {
    Error::input(format!(
        "expected a sitemap (<urlset> or <sitemapindex>), found {found}; extract the URLs first, one \
         on each line"
    ))
}

/// The part of an XML name after its prefix.
pub(super) fn local_name(name: &[u8]) -> &[u8] {
    memchr::memchr(b':', name).map_or(name, |colon| &name[colon + 1..])
}

/// The local name of the root of an XML document, if `head` begins one and shows its root.
fn root_of(head: &[u8]) -> Option<&[u8]> {
    let after = |rest: &'static [u8], text: &[u8]| -> Option<usize> {
        memchr::memmem::find(text, rest).map(|at| at + rest.len())
    };
    let mut rest = without_bom(head);
    loop {
        rest = rest.trim_ascii_start().strip_prefix(b"<")?;
        let skipped = match rest {
            [b'?', ..] => after(b"?>", rest)?,
            [b'!', b'-', b'-', ..] => after(b"-->", rest)?,
            [b'!', ..] => DocumentType::default().end(rest)?,
            _ => break,
        };
        rest = &rest[skipped..];
    }
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/');
    let end = rest.iter().position(is_end)?;
    Some(local_name(&rest[..end]))
}

/// The parser of a kind of container.
pub(super) fn parser_of(
    container: Container,
    plan: &InputPlan,
    #[cfg_attr(not(feature = "parquet"), allow(unused_variables))] (origin, is_packed): (
        &Origin,
        bool,
    ),
) -> Result<Box<dyn Parser>> {
    // A longer field makes its row too long, as it would make a line of its own.
    let field_bytes_max = plan.chunk_bytes.max(plan.line_bytes_max).max(FIELD_BYTES_MIN);
    if container != Container::Parquet && !plan.columns.is_empty() {
        return Err(Error::input(format!(
            "expected a file with columns, since {fields} names some, found {}; leave {fields} out",
            container.about(),
            fields = Setting::Fields
        )));
    }
    match container {
        Container::Warc => Ok(Box::new(Archive(Warc::new(field_bytes_max, plan.reads_pages)))),
        Container::Arc => Ok(Box::new(Archive(ArcFile::new(field_bytes_max, plan.reads_pages)))),
        Container::Sitemap => Ok(Box::new(Sitemap::new(field_bytes_max))),
        #[cfg(feature = "parquet")]
        Container::Parquet if is_packed || origin.size.is_none() => Err(Error::input(
            "expected a file that can be read from its end, as Parquet must be, found a stream; give \
             the unpacked file itself",
        )),
        #[cfg(feature = "parquet")]
        Container::Parquet => {
            let file = origin.file.try_clone().map_err(|error| Error::reading("Parquet", error))?;
            Ok(Box::new(Columns::new(file, &plan.columns, field_bytes_max)?))
        }
        #[cfg(not(feature = "parquet"))]
        Container::Parquet => Err(Error::input(
            "this build cannot read Parquet; build it with `--features parquet`, or write the column of URLs \
             as CSV",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sniffs_what_is_inside() {
        let bom = "\u{feff}<?xml version='1.0'?>\n<urlset>";
        for (given, expected, why) in [
            ("", None, "nothing"),
            ("WARC/1.0\r\n", Some(Container::Warc), "a version"),
            ("\r\n\r\nWARC/1.1\r\n", Some(Container::Warc), "empty lines in front"),
            ("\u{feff}WARC/1.0\r\n", Some(Container::Warc), "a mark in front"),
            ("WARC/.test", None, "a line that begins like one"),
            ("filedesc://a.arc 0.0.0.0 ", Some(Container::Arc), "the first record"),
            ("PAR1\x15\x04", Some(Container::Parquet), "magic and page"),
            ("PAR1.example.com", None, "a line that begins like one"),
            ("<urlset>", Some(Container::Sitemap), "no declaration"),
            (bom, Some(Container::Sitemap), "a mark, a declaration"),
            (
                "<?xml?><!-- <rss> --><!DOCTYPE x><s:sitemapindex x='y'>",
                Some(Container::Sitemap),
                "all",
            ),
            (
                "<!DOCTYPE urlset [<!ENTITY foo \"]>\"><!-- it's ]> -->] ><urlset>",
                Some(Container::Sitemap),
                "a document type that declares",
            ),
            (
                "<!DOCTYPE urlset PUBLIC '-//a>b//' 'x'><urlset>",
                Some(Container::Sitemap),
                "an identifier with an angle bracket",
            ),
            ("<!DOCTYPE urlset [<urlset>", None, "a document type without end"),
            ("<?xml version='1.0'?><!-- a comment without", None, "no root in the head"),
            ("<urlset", None, "no end of the name"),
            ("<html><body>", None, "another document"),
            ("http://a.test/", None, "a line"),
        ] {
            assert_eq!(Container::sniff(given.as_bytes()).unwrap(), expected, "{why}");
        }
    }

    #[test]
    fn feeds_are_no_sitemaps() {
        for given in ["<?xml?><rss version='2.0'>", "<feed xmlns='x'>", "<rdf:RDF a='b'>"] {
            let error = Container::sniff(given.as_bytes()).unwrap_err();
            assert!(error.is_input() && error.to_string().contains("found a feed"), "{error}");
        }
        for given in [&b"\xff\xfe<\0?\0"[..], b"\xfe\xff\0h\0t"] {
            let error = Container::sniff(given).unwrap_err().to_string();
            assert!(error.contains("iconv -f UTF-16"), "{error}");
        }
        for given in [&b"\xff\xfe\0\0h\0\0\0"[..], b"\0\0\xfe\xff\0\0\0h"] {
            let error = Container::sniff(given).unwrap_err().to_string();
            assert!(error.contains("iconv -f UTF-32"), "{error}");
        }
    }

    #[test]
    fn carriage_returns_alone_end_no_lines() {
        for given in ["http://a.test/\rhttp://b.test/", "url,x\r/a,1\r/b,2\r"] {
            let error = Container::sniff(given.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("found carriage returns alone"), "{given:?}: {error}");
        }
        for given in ["http://a.test/\r", "a\r\nb", "a\rb\n", "a\rb\0", "\r", "a"] {
            assert_eq!(Container::sniff(given.as_bytes()).unwrap(), None, "{given:?}");
        }
    }

    #[test]
    fn names() {
        assert_eq!(Container::ALL.map(Container::name), ["warc", "arc", "sitemap", "parquet"]);
    }
}
