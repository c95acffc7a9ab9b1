//! Sitemaps and indexes of sitemaps, with as much of XML as they need.
//!
//! ```text
//! depth 0   1          2        3
//!       <urlset>  <url>  <loc>http://a.test/?b=1&amp;c=2</loc>
//!                        <lastmod>2026-11-21</lastmod>
//! ```
//!
//! Only `loc` and `lastmod` of an entry count, so URLs of images and videos, which are deeper, do
//! not. Entities are the five of XML and numbers; a document type is skipped, and its declarations
//! have no effect. One pass, no recursion; names of end tags are not compared.
//!
//! Source: sitemaps.org protocol 0.9; XML 1.0, fifth edition.

use super::decoded::Decoded;
use super::doctype::DocumentType;
use super::rows::{Flaw, Parser, Row};
use super::{local_name, not_a_sitemap};
use crate::bytes::{BOM, show};
use crate::error::Error;

/// Longest name of an element in bytes that is compared.
const NAME_BYTES_MAX: usize = 256;

/// Longest XML declaration in bytes that is read.
const DECLARATION_BYTES_MAX: usize = 256;

/// The parser of sitemaps: a row for each `url` or `sitemap`. Several documents may follow each
/// other.
pub(super) struct Sitemap {
    /// Longest text in bytes, before entities are replaced, that is kept whole.
    text_bytes_max: usize,
    /// The encoding that the document declares, if that is not UTF-8. Many of these are UTF-8.
    encoding: Option<Vec<u8>>,
    depth: u64,
    /// Where the outermost element begins.
    root_at: u64,
    /// The name of `loc` and of `lastmod`, with the prefix of the root.
    loc: Vec<u8>,
    lastmod: Vec<u8>,
    /// Is it within an entry?
    in_entry: bool,
    /// Which field the text at depth 3 is for.
    wanted: Option<Wanted>,
    /// That text, with entities replaced.
    value: Vec<u8>,
    /// Does it have bytes that are not UTF-8?
    has_foreign_bytes: bool,
    /// The text between two pieces of markup.
    text: Vec<u8>,
    name: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Loc,
    Lastmod,
}

impl Sitemap {
    /// A text longer than `text_bytes_max` bytes is cut after `text_bytes_max + 1`, and its
    /// entities are not replaced.
    pub(super) fn new(text_bytes_max: usize) -> Self {
        Sitemap {
            text_bytes_max,
            encoding: None,
            depth: 0,
            root_at: 0,
            loc: Vec::new(),
            lastmod: Vec::new(),
            in_entry: false,
            wanted: None,
            value: Vec::new(),
            has_foreign_bytes: false,
            text: Vec::new(),
            name: Vec::new(),
        }
    }
}

impl Parser for Sitemap {
    fn next(&mut self, from: &mut Decoded, row: &mut Row) -> Result<bool, Flaw> {
        loop {
            let at = from.at();
            if !self.take_text(from)? {
                return if self.depth == 0 { Ok(false) } else { Err(Flaw::Cut(self.root_at)) };
            }
            let start = from.ahead(8);
            let cut = Flaw::Cut(if self.depth == 0 { at } else { self.root_at });
            let mut nothing = Vec::new();
            let mut skip = |from: &mut Decoded, bytes: usize, mark: &[u8]| {
                from.consume(bytes);
                from.take_until(mark, &mut nothing, 0)
            };
            let is_whole = match start {
                [b'?', ..] => {
                    from.consume(1);
                    self.text.clear();
                    let is_whole = from.take_until(b"?>", &mut self.text, DECLARATION_BYTES_MAX);
                    // And not `xml-stylesheet`.
                    if self.text.starts_with(b"xml") && !self.text.starts_with(b"xml-") {
                        self.encoding = encoding(&self.text).filter(|name| !is_utf8(name));
                    }
                    is_whole
                }
                [b'!', b'-', b'-', ..] => skip(from, 3, b"-->"),
                _ if start.starts_with(b"![CDATA[") => {
                    from.consume(8);
                    self.take_cdata(from)
                }
                [b'!', ..] => skip_document_type(from),
                [b'/', ..] => {
                    let is_whole = skip(from, 1, b">");
                    if is_whole && self.close(at, row)? {
                        return Ok(true);
                    }
                    is_whole
                }
                _ => match take_tag(from, &mut self.name) {
                    None => false,
                    Some(is_empty) => {
                        self.open(at, row)?;
                        if is_empty && self.close(at, row)? {
                            return Ok(true);
                        }
                        true
                    }
                },
            };
            if !is_whole {
                return Err(cut);
            }
        }
    }

    fn unit(&self) -> &'static str {
        "XML element"
    }
}

impl Sitemap {
    /// Consumes the text before the next markup, and its `<`; keeps the text if it is wanted.
    /// `false` at the end of the file.
    fn take_text(&mut self, from: &mut Decoded) -> Result<bool, Flaw> {
        let at = from.at();
        self.text.clear();
        let bytes_max = if self.depth == 0 {
            80
        } else if self.depth == 3 && self.wanted.is_some() {
            self.text_bytes_max
        } else {
            0
        };
        let has_markup = from.take_until(b"<", &mut self.text, bytes_max);
        if self.depth == 0 {
            // Byte order marks and blanks may be between two documents.
            let text = self.text.trim_ascii();
            if !text.is_empty() && text != BOM {
                return Err(Flaw::Shape(not_a_sitemap(&format!(
                    "\"{}\" at byte {at}",
                    show(text)
                ))));
            }
        } else if bytes_max > 0 {
            if self.text.len() > bytes_max {
                self.push(None);
            } else {
                let text = std::mem::take(&mut self.text);
                self.has_foreign_bytes |= std::str::from_utf8(&text).is_err();
                let undone = undo_entities(&text);
                self.push(Some(&undone));
                self.text = text;
            }
        }
        Ok(has_markup)
    }

    /// Consumes the rest of a CDATA section; keeps it if it is wanted.
    fn take_cdata(&mut self, from: &mut Decoded) -> bool {
        self.text.clear();
        let is_wanted = self.depth == 3 && self.wanted.is_some();
        let bytes_max = if is_wanted { self.text_bytes_max } else { 0 };
        let is_whole = from.take_until(b"]]>", &mut self.text, bytes_max);
        if is_wanted {
            let text = std::mem::take(&mut self.text);
            self.has_foreign_bytes |= std::str::from_utf8(&text).is_err();
            self.push(Some(&text));
            self.text = text;
        }
        is_whole
    }

    /// Appends `text`, or else `self.text`, to the value, up to one byte more than allowed.
    fn push(&mut self, text: Option<&[u8]>) {
        let text = text.unwrap_or(&self.text);
        let room = self.text_bytes_max.saturating_add(1).saturating_sub(self.value.len());
        self.value.extend_from_slice(&text[..text.len().min(room)]);
    }

    /// The element `self.name` begins at byte `at`.
    fn open(&mut self, at: u64, row: &mut Row) -> Result<(), Flaw> {
        let local = local_name(&self.name);
        match self.depth {
            0 => {
                if local != b"urlset" && local != b"sitemapindex" {
                    let found = format!("<{}> at byte {at}", show(&self.name));
                    return Err(Flaw::Shape(not_a_sitemap(&found)));
                }
                let prefix = &self.name[..self.name.len() - local.len()];
                self.loc = [prefix, b"loc"].concat();
                self.lastmod = [prefix, b"lastmod"].concat();
                self.root_at = at;
            }
            1 => {
                self.in_entry = local == b"url" || local == b"sitemap";
                row.clear();
            }
            2 if self.in_entry => {
                self.wanted = if self.name == self.loc {
                    Some(Wanted::Loc)
                } else if self.name == self.lastmod {
                    Some(Wanted::Lastmod)
                } else {
                    None
                };
                self.value.clear();
                self.has_foreign_bytes = false;
            }
            _ => {}
        }
        self.depth += 1;
        Ok(())
    }

    /// An element ends. Returns whether that is the end of an entry, which is in `row` then.
    fn close(&mut self, at: u64, row: &mut Row) -> Result<bool, Flaw> {
        let Some(depth) = self.depth.checked_sub(1) else {
            return Err(Flaw::Shape(not_a_sitemap(&format!(
                "an end tag without a start at byte {at}"
            ))));
        };
        self.depth = depth;
        if depth == 2 {
            let value = self.value.trim_ascii();
            if let (Some(encoding), true) = (&self.encoding, self.has_foreign_bytes) {
                let encoding = show(encoding).to_string();
                return Err(Flaw::Shape(Error::input(format!(
                    "expected UTF-8, found bytes of the declared encoding {encoding} in the element \
                     that ends at byte {at}; convert it: iconv -f {encoding} -t UTF-8"
                ))));
            }
            match self.wanted.take() {
                Some(Wanted::Loc) if row.url.is_empty() => row.url.extend_from_slice(value),
                Some(Wanted::Lastmod) if row.time.is_empty() => row.time.extend_from_slice(value),
                _ => {}
            }
        }
        Ok(depth == 1 && std::mem::take(&mut self.in_entry))
    }
}

/// The encoding that an XML declaration names.
fn encoding(declaration: &[u8]) -> Option<Vec<u8>> {
    let at = memchr::memmem::find(declaration, b"encoding")? + b"encoding".len();
    let value = declaration[at..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, text) = value.split_first()?;
    let end = memchr::memchr(*quote, text)?;
    matches!(quote, b'"' | b'\'').then(|| text[..end].to_vec())
}

/// Is every text in this encoding the same in UTF-8?
fn is_utf8(encoding: &[u8]) -> bool {
    ["utf-8", "utf8", "us-ascii", "ascii"]
        .iter()
        .any(|name| name.as_bytes().eq_ignore_ascii_case(encoding))
}

/// Consumes a start tag after its `<` and puts the name into `name`. Returns whether the element is
/// empty (`<loc/>`); `None` if the tag has no end.
fn take_tag(from: &mut Decoded, name: &mut Vec<u8>) -> Option<bool> {
    name.clear();
    let (mut in_name, mut quote, mut before) = (true, None, 0);
    loop {
        let ahead = from.ahead(1);
        if ahead.is_empty() {
            return None;
        }
        for (at, &byte) in ahead.iter().enumerate() {
            match (quote, byte) {
                (Some(open), _) if byte == open => quote = None,
                (Some(_), _) => {}
                (None, b'>') => {
                    from.consume(at + 1);
                    return Some(before == b'/');
                }
                (None, b'"' | b'\'') if !in_name => quote = Some(byte),
                (None, _) => in_name &= byte != b'/' && !byte.is_ascii_whitespace(),
            }
            if in_name && name.len() < NAME_BYTES_MAX {
                name.push(byte);
            }
            before = byte;
        }
        let used = ahead.len();
        from.consume(used);
    }
}

/// Consumes a document type after its `<`, with its declarations. `false` if it has no end.
fn skip_document_type(from: &mut Decoded) -> bool {
    let mut document_type = DocumentType::default();
    loop {
        let ahead = from.ahead(1);
        if ahead.is_empty() {
            return false;
        }
        let end = document_type.end(ahead);
        let used = end.unwrap_or(ahead.len());
        from.consume(used);
        if end.is_some() {
            return true;
        }
    }
}

/// `text` with the five entities of XML and numeric ones replaced. Anything else stays: bare
/// ampersands are common in sitemaps.
fn undo_entities(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let known: [(&[u8], u8); 5] = [
            (b"&amp;", b'&'),
            (b"&lt;", b'<'),
            (b"&gt;", b'>'),
            (b"&quot;", b'"'),
            (b"&apos;", b'\''),
        ];
        let used = if let Some((name, byte)) = known.iter().find(|(name, _)| rest.starts_with(name))
        {
            out.push(*byte);
            name.len()
        } else if let Some((character, used)) = number(rest) {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            used
        } else {
            out.push(b'&');
            1
        };
        rest = &rest[used..];
    }
    out.extend_from_slice(rest);
    out
}

/// The character of `&#38;` or `&#x26;` at the start of `text`, and the length of that entity.
fn number(text: &[u8]) -> Option<(char, usize)> {
    // Longer ones have leading zeros, which nobody writes; the bound keeps it linear.
    let text = &text[..text.len().min(12)];
    let end = memchr::memchr(b';', text)?;
    let digits = std::str::from_utf8(text[..end].strip_prefix(b"&#")?).ok()?;
    if !digits.ends_with(|last: char| last.is_ascii_hexdigit()) || digits.contains('+') {
        return None;
    }
    let number = match digits.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    let character = char::from_u32(number.ok()?).filter(|character| *character != '\0')?;
    Some((character, end + 1))
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::rows;
    use super::*;

    #[track_caller]
    fn check(bytes: &str, expected: &[&str], error: Option<&str>) {
        let (found, told) = rows(Box::new(Sitemap::new(100)), bytes.as_bytes());
        assert_eq!(found, expected, "{bytes}");
        match (&told, error) {
            (None, None) => {}
            (Some(told), Some(part)) if told.contains(part) => {}
            _ => panic!("expected {error:?}, found {told:?}"),
        }
    }

    #[test]
    fn documents() {
        let entry = "<url>\n <loc>http://a.test/</loc>\n <lastmod>2026-11-21</lastmod>\n</url>";
        let row = "http://a.test/|2026-11-21";
        check(
            &format!("<?xml version=\"1.0\"?>\n<urlset>{entry}{entry}</urlset>\n"),
            &[row, row],
            None,
        );
        check(
            "\u{feff}<!DOCTYPE x [<!ENTITY y '>]'>]><s:sitemapindex xmlns:s=\"a>b\"><s:sitemap>\
             <s:loc>http://a.test/</s:loc></s:sitemap></s:sitemapindex><!-- <url> -->",
            &["http://a.test/"],
            None,
        );
        for declared in ["<!-- it's -->", "<!-- \" ]> -->", "<?x it's ]>?>", "<!ENTITY y \"<!--\">"]
        {
            check(&format!("<!DOCTYPE urlset [{declared}]><urlset>{entry}</urlset>"), &[row], None);
        }
        let one = format!("<urlset>{entry}</urlset>\n");
        check(&format!("{one}\u{feff}<?xml?>{one}"), &[row, row], None);
        check("<urlset></urlset>", &[], None);
        check("<urlset/>", &[], None);
        check("<urlset><url/><url><loc/></url></urlset>", &["", ""], None);
    }

    #[test]
    fn encodings() {
        let of = |declaration: &str, loc: &str| {
            format!(
                "<?xml version='1.0' {declaration}?><urlset><url><loc>{loc}</loc></url></urlset>"
            )
        };
        for declaration in ["", "encoding=\"UTF-8\"", "encoding = 'utf-8'", "encoding=us-ascii"] {
            check(&of(declaration, "/\u{e9}"), &["/\u{e9}"], None);
        }
        let latin = "encoding='ISO-8859-1' standalone='yes'";
        for loc in ["/a\u{e9}", "/a&#233;", "<![CDATA[/a\u{e9}]]>"] {
            check(&of(latin, loc), &["/a\u{e9}"], None);
        }
        for style in ["", "<?xml-stylesheet href='a.xsl'?>"] {
            for loc in ["/a#", "<![CDATA[/a#]]>"] {
                let text = of(latin, loc).replace("<urlset>", &format!("{style}<urlset>"));
                let bytes: Vec<u8> =
                    text.bytes().map(|byte| if byte == b'#' { 0xe9 } else { byte }).collect();
                let (found, told) = rows(Box::new(Sitemap::new(100)), &bytes);
                assert!(found.is_empty() && told.unwrap().contains("declared encoding ISO-8859-1"));
            }
        }
        // A document says it for itself.
        let both = format!("{}{}", of(latin, "/a"), of("encoding='utf-8'", "/\u{e9}"));
        check(&both, &["/a", "/\u{e9}"], None);
    }

    #[test]
    fn entries() {
        for (given, expected, why) in [
            ("<loc> \n http://a.test/\n</loc>", "http://a.test/", "blanks around"),
            ("<loc>a?b=1&amp;c=2&lt;&gt;&quot;&apos;</loc>", "a?b=1&c=2<>\"'", "the five"),
            ("<loc>a&#x26;&#38;&#233;&#x1F600;</loc>", "a&&\u{e9}\u{1f600}", "numbers"),
            (
                "<loc>a&b&;&#;&#x;&#xD800;&#0;&nbsp;&#+5;</loc>",
                "a&b&;&#;&#x;&#xD800;&#0;&nbsp;&#+5;",
                "no entities",
            ),
            ("<loc>&amp;amp;</loc>", "&amp;", "undone once"),
            (
                "<loc><![CDATA[a?b&amp;c]]]]><![CDATA[>]]>&amp;d</loc>",
                "a?b&amp;c]]>&d",
                "character data",
            ),
            ("<loc>a<!-- b -->c<?d e?>f<g>h</g>i</loc>", "acfi", "markup inside"),
            ("<loc>a</loc><loc>b</loc>", "a", "the first counts"),
            (
                "<loc>a</loc><image:image><image:loc>b</image:loc><loc>c</loc></image:image>",
                "a",
                "images",
            ),
            ("<image:loc>b</image:loc><loc>a</loc>", "a", "of another name space"),
            ("<loc a='>' b=\"'>\">a</loc >", "a", "attributes"),
            ("<lastmod>2026</lastmod><loc>a</loc><priority>1</priority>", "a|2026", "any order"),
            ("<lastmod/><loc>a\tb</loc>", "a\\\\tb", "a tab"),
        ] {
            let (found, error) = rows(
                Box::new(Sitemap::new(1000)),
                format!("<urlset><url>{given}</url></urlset>").as_bytes(),
            );
            assert_eq!((found, error), (vec![expected.to_string()], None), "{why}");
        }
    }

    #[test]
    fn damage_comes_after_the_rows_before_it() {
        let entry = "<url><loc>http://a.test/</loc></url>";
        let one = format!("<urlset>{entry}{entry}</urlset>");
        for end in 8..one.len() {
            let rows: &[&str] = &["http://a.test/"; 2][..(end - 8) / entry.len()];
            check(
                &one[..end],
                rows,
                Some("expected the end of the XML element that begins at byte 0"),
            );
        }
        check(&format!("{one}junk"), &["http://a.test/"; 2], Some("found \"junk\" at byte 89"));
        check(&format!("{one}</x>"), &["http://a.test/"; 2], Some("an end tag without a start"));
        check("<rss><item></item></rss>", &[], Some("found <rss> at byte 0"));
        check("<urlset></urlset><x>", &[], Some("found <x> at byte 17"));
    }

    #[test]
    fn hostile() {
        // As deep as it is long, and text without end: neither stack nor memory.
        let deep = "<a>".repeat(200_000);
        check(&format!("<urlset>{deep}"), &[], Some("cut short"));
        let many = "&amp;".repeat(50_000);
        let long = format!("<urlset><url><loc>{many}</loc></url></urlset>");
        let (found, error) = rows(Box::new(Sitemap::new(100)), long.as_bytes());
        // One byte more than is allowed, so that the line is rejected as too long.
        assert_eq!((found[0].len(), error), (101, None));
        let name = "x".repeat(100_000);
        check(&format!("<urlset><{name}></{name}></urlset>"), &[], None);
    }
}
