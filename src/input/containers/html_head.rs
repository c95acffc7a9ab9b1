//! Finds the canonical link in the head of an HTML page of a web archive.

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::GzDecoder;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use memchr::memmem;
use url::Url;

use crate::limits::{HTML_HEAD_BYTES_MAX, HTTP_HEAD_BYTES_MAX};

/// The target of the first link of the relation `canonical` (RFC 6596) in the head of the page that
/// begins with `body`: the body of an HTTP response as it was sent, in chunks if it `is_chunked`
/// (RFC 9112 section 7.1), maybe compressed by gzip or zstd. A relative target is resolved if the
/// head has a `<base>`, `page` being the URL of the page; others stay as they are.
///
/// - `None` where there is no such link, or none in the first [`HTML_HEAD_BYTES_MAX`] bytes. The
///   head ends before the first text or element that belongs to the body, as in browsers (HTML,
///   13.2.6.4.4).
/// - Time: linear in the bytes of the page; if it is compressed, in at most [`EXPANSION_MAX`] times
///   as many.
pub(super) fn canonical_link(body: &[u8], is_chunked: bool, page: &[u8]) -> Option<Vec<u8>> {
    let sent = if is_chunked { without_chunk_sizes(body) } else { Cow::Borrowed(body) };
    let html = decompressed(&sent);
    // Most pages have none, and a search for the word takes a fraction of the time of parsing tags.
    let last = { [&b"anonical"[..], b"ANONICAL"] }
        .iter()
        .filter_map(|word| memmem::rfind(&html, word))
        .max()?;
    // The attribute may be before the target.
    let html = &html[..html.len().min(last + HTTP_HEAD_BYTES_MAX)];
    let mut head = Head::default();
    let mut tokens = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| head.read(event));
    // Otherwise `<` in scripts and titles would begin tags.
    tokens.naively_switch_states(true);
    let Ok(end) = Tokenizer::new_with_emitter(html, tokens).next()?;
    let End { target, base } = end;
    resolved(&target?, base.as_deref(), page).filter(|link| link.len() <= HTTP_HEAD_BYTES_MAX)
}

/// What was read of the head of a page.
#[derive(Default)]
struct Head {
    /// The name of the element that was begun last.
    element: Vec<u8>,
    /// The name of its attribute that was begun last.
    attribute: Vec<u8>,
    /// Does its first attribute `rel` name the relation `canonical`? `None` before that.
    is_canonical: Option<bool>,
    /// The target of the element.
    target: Option<Vec<u8>>,
    /// The target of the first `<base>` that has one.
    base: Option<Vec<u8>>,
    /// How many `template` and `noscript` elements are open: what is in them does not count.
    hidden: u32,
}

/// Why parsing stops: a link was found, with its target, or the head has ended.
struct End {
    target: Option<Vec<u8>>,
    base: Option<Vec<u8>>,
}

/// The elements of a head and those around it; any other ends the head.
const ELEMENTS: [&[u8]; 10] = [
    b"html",
    b"head",
    b"title",
    b"base",
    b"link",
    b"meta",
    b"style",
    b"script",
    b"noscript",
    b"template",
];

/// The elements of a head whose text is not text of the page.
const WITH_TEXT: [&[u8]; 3] = [b"title", b"style", b"script"];

impl Head {
    /// Takes the next event. Returns the end, if this is it.
    fn read(&mut self, event: CallbackEvent<'_>) -> Option<End> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                if !ELEMENTS.contains(&name) && self.hidden == 0 {
                    return self.end(None);
                }
                self.element = name.to_vec();
                (self.is_canonical, self.target) = (None, None);
            }
            CallbackEvent::AttributeName { name } => self.attribute = name.to_vec(),
            CallbackEvent::AttributeValue { value } => match &self.attribute[..] {
                // Of several attributes of one name, browsers take the first.
                b"rel" if self.is_canonical.is_none() => {
                    let mut relations = value.split(u8::is_ascii_whitespace);
                    let is_canonical =
                        relations.any(|relation| relation.eq_ignore_ascii_case(b"canonical"));
                    self.is_canonical = Some(is_canonical);
                }
                b"href" if self.target.is_none() => {
                    self.target = Some(value.trim_ascii().to_vec());
                }
                _ => {}
            },
            CallbackEvent::CloseStartTag { .. } => match &self.element[..] {
                b"template" | b"noscript" => self.hidden += 1,
                b"link" if self.is_canonical == Some(true) && self.hidden == 0 => {
                    let target = self.target.take().filter(|target| !target.is_empty());
                    return self.end(target);
                }
                b"base" if self.base.is_none() && self.hidden == 0 => {
                    self.base = self.target.take()
                }
                _ => {}
            },
            CallbackEvent::EndTag { name: b"head" | b"body" | b"html" } => return self.end(None),
            CallbackEvent::EndTag { name } => {
                let shows = matches!(name, b"template" | b"noscript");
                self.hidden = self.hidden.saturating_sub(u32::from(shows));
                self.element.clear();
            }
            CallbackEvent::String { value } => {
                let is_own = WITH_TEXT.contains(&&self.element[..]) || self.hidden > 0;
                if !is_own && !value.trim_ascii().is_empty() {
                    return self.end(None);
                }
            }
            _ => {}
        }
        None
    }

    fn end(&mut self, target: Option<Vec<u8>>) -> Option<End> {
        Some(End { target, base: self.base.take() })
    }
}

/// `target`, resolved against `base`, which itself may be relative to `page`.
fn resolved(target: &[u8], base: Option<&[u8]>, page: &[u8]) -> Option<Vec<u8>> {
    let Some(base) = base else { return Some(target.to_vec()) };
    let [target, base, page] = [target, base, page].map(std::str::from_utf8);
    let url = Url::parse(page.ok()?).ok()?.join(base.ok()?).ok()?.join(target.ok()?).ok()?;
    Some(String::from(url).into_bytes())
}

/// The data of chunks: `4\r\n<a>\n\r\n0\r\n`. From the first line on that does not have the shape
/// of a chunk, the rest is left out; if that is the very first line, `body` is returned as it is.
fn without_chunk_sizes(body: &[u8]) -> Cow<'_, [u8]> {
    let mut data = Vec::new();
    let mut rest = body;
    while let Some(newline) = memchr::memchr(b'\n', rest) {
        let size = rest[..newline].split(|byte| *byte == b';').next().unwrap_or_default();
        let size = std::str::from_utf8(size.trim_ascii()).unwrap_or_default();
        let Ok(size) = usize::from_str_radix(size, 16) else { break };
        let chunk = &rest[newline + 1..];
        let size = size.min(chunk.len());
        data.extend_from_slice(&chunk[..size]);
        rest = chunk[size..].strip_prefix(b"\r").unwrap_or(&chunk[size..]);
        rest = rest.strip_prefix(b"\n").unwrap_or(rest);
    }
    if rest.len() == body.len() { Cow::Borrowed(body) } else { Cow::Owned(data) }
}

/// How many times larger than as sent a page may be when decompressed; the rest is not read.
/// Reason: pages shrink to a fifth or a tenth; those that shrink more are made to waste time.
const EXPANSION_MAX: usize = 50;

/// The start of `sent`, decompressed if its first bytes show a compression. The header does not
/// tell: some archives store bodies decompressed and keep the header that says otherwise.
fn decompressed(sent: &[u8]) -> Cow<'_, [u8]> {
    let mut html = Vec::new();
    let limit = HTML_HEAD_BYTES_MAX.min(EXPANSION_MAX * sent.len()) as u64;
    // The end is missing where the body was cut off; what came before the error counts.
    let _ = match sent {
        [0x1f, 0x8b, ..] => GzDecoder::new(sent).take(limit).read_to_end(&mut html),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => match zstd::Decoder::with_buffer(sent) {
            Ok(decoder) => decoder.take(limit).read_to_end(&mut html),
            Err(error) => Err(error),
        },
        _ => return Cow::Borrowed(sent),
    };
    Cow::Owned(html)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const PAGE: &[u8] = b"http://a.test/dir/page?x=1";

    fn link_of(html: &str) -> Option<String> {
        canonical_link(html.as_bytes(), false, PAGE).map(|link| String::from_utf8(link).unwrap())
    }

    #[test]
    fn links() {
        for (html, expected, why) in [
            (r#"<link rel="canonical" href="/b">"#, Some("/b"), "plain"),
            ("<LINK HREF=/b?a=1&amp;b=2 REL='x CANONICAL' />", Some("/b?a=1&b=2"), "all of HTML"),
            ("<link rel=canonical href=' /b '>", Some("/b"), "blanks around it"),
            ("<link rel=canonical href=/a><link rel=canonical href=/b>", Some("/a"), "two"),
            ("<link rel=canonical href=''>", None, "nothing"),
            ("<link rel=canonical href=/a href=/b>", Some("/a"), "two targets"),
            ("<link rel=next rel=canonical href=/b>", None, "two relations"),
            ("<link rel=canonical>", None, "no target"),
            ("<link rel=alternate-canonical href=/b>", None, "another relation"),
            ("<link rel=next title=canonical href=/b>", None, "only its title"),
            ("<a rel=canonical href=/b>", None, "no link"),
            ("<!-- <link rel=canonical href=/b> -->", None, "in a comment"),
            ("<script>'<link rel=canonical href=/b>'</script>", None, "in a script"),
            ("<title><link rel=canonical href=/b></title>", None, "in a title"),
            ("<head></head><link rel=canonical href=/b>", None, "behind the head"),
            ("<body><link rel=canonical href=/b>", None, "in the body"),
            ("<p><link rel=canonical href=/b>", None, "behind an element of the body"),
            ("<html> x <link rel=canonical href=/b>", None, "behind text"),
            ("<frameset><link rel=canonical href=/b>", None, "behind frames"),
            ("<template><p>x<link rel=canonical href=/b></template>", None, "in a template"),
            (
                "<template><p>x</template><link rel=canonical href=/b>",
                Some("/b"),
                "behind a template",
            ),
            (
                "<!doctype html>\n<title>x</title>\n<script src=y>x</script><meta content='<body>'>\n\
                 <noscript><img src=x> x</noscript>\n<link rel=canonical href=/b>",
                Some("/b"),
                "behind all that a head has",
            ),
            ("<link rel=canonical href=/b", None, "cut short"),
            ("<base href=/c/><link rel=canonical href=b>", Some("http://a.test/c/b"), "a base"),
            (
                "<base href=//b.test/c><base href=/d/><link rel=canonical href=e>",
                Some("http://b.test/e"),
                "two bases",
            ),
            (
                "<template><base href=/c/></template><link rel=canonical href=b>",
                Some("b"),
                "a base in a template",
            ),
            (
                "<base target=x><link rel=canonical href=//b.test/>",
                Some("//b.test/"),
                "a base that leads nowhere",
            ),
            (
                "<base href=/c/><link rel=canonical href=http://b.test/>",
                Some("http://b.test/"),
                "absolute",
            ),
            ("", None, "nothing"),
        ] {
            assert_eq!(link_of(html).as_deref(), expected, "{why}: {html}");
        }
        let long = format!("<link rel=canonical href=/{}>", "x".repeat(HTTP_HEAD_BYTES_MAX));
        assert_eq!(link_of(&long), None);
    }

    #[test]
    fn bodies_as_they_were_sent() {
        let html = format!("{}<link rel=canonical href=/b>", "<meta name=x>".repeat(50));
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(html.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        let zstd = zstd::encode_all(html.as_bytes(), 3).unwrap();
        for (body, is_cut_found) in [(html.as_bytes(), false), (&gzip, true), (&zstd, false)] {
            let chunks: Vec<u8> = { body.chunks(7) }
                .flat_map(|data| {
                    [format!("{:X};x=y\r\n", data.len()).as_bytes(), data, b"\r\n"].concat()
                })
                .chain(*b"0\r\n\r\n")
                .collect();
            let link = |body: &[u8], is_chunked| canonical_link(body, is_chunked, PAGE);
            assert_eq!(link(body, false).as_deref(), Some(&b"/b"[..]));
            assert_eq!(link(&chunks, true).as_deref(), Some(&b"/b"[..]));
            // A header that says chunks where the archive has taken them away.
            assert_eq!(link(body, true).as_deref(), Some(&b"/b"[..]));
            // Of gzip a byte of the checksum is missing, not of the link.
            assert_eq!(link(&body[..body.len() - 1], false).is_some(), is_cut_found);
        }
    }

    #[test]
    fn damaged_bodies() {
        let html = b"<link rel=canonical href=/b>";
        let none: Option<&[u8]> = None;
        for (start, as_sent, in_chunks, why) in [
            (&b"\x1f\x8b"[..], none, none, "not gzip"),
            (b"\x28\xb5\x2f\xfd", none, none, "not zstd"),
            (b"ffffffffffffffff\r\n", none, Some(&b"/b"[..]), "more than there is"),
            (b"fffffffffffffffff\r\n", none, none, "no number"),
            (b"5\n", none, none, "a chunk that is too short"),
            (b"\xff", none, none, "text"),
            (b"", Some(b"/b"), Some(b"/b"), "no chunks"),
        ] {
            let body = [start, html].concat();
            for (is_chunked, expected) in [(false, as_sent), (true, in_chunks)] {
                let found = canonical_link(&body, is_chunked, PAGE);
                assert_eq!(found.as_deref(), expected, "{why}");
            }
        }
    }

    #[test]
    fn what_shrinks_too_much_is_not_read() {
        for (filling, expected) in [(1000, Some(&b"/b"[..])), (100_000, None)] {
            let html = format!("{}<link rel=canonical href=/b>", " ".repeat(filling));
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            gzip.write_all(html.as_bytes()).unwrap();
            let found = canonical_link(&gzip.finish().unwrap(), false, PAGE);
            assert_eq!(found.as_deref(), expected);
        }
    }
}
