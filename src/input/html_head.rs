//! What the head of an HTML page in a web archive says.

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::GzDecoder;
use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use memchr::memmem;
use url::Url;

use crate::limits::{HTML_HEAD_BYTES_MAX, HTTP_HEAD_BYTES_MAX};

/// The target of the first link of the relation `canonical` (RFC 6596) in the head of the page
/// that `body` begins: the body of an HTTP answer as it was sent, in chunks if it `is_chunked`
/// (RFC 9112 section 7.1), packed by gzip or zstd or not. A relative one that a `<base>` of the
/// head concerns is resolved, `page` being the URL of the page; others stay as they are.
///
/// `None` where there is no such link, or none in the first [`HTML_HEAD_BYTES_MAX`] bytes.
pub(super) fn canonical_link(body: &[u8], is_chunked: bool, page: &[u8]) -> Option<Vec<u8>> {
    let sent = if is_chunked { without_chunk_sizes(body) } else { Cow::Borrowed(body) };
    let html = unpacked(&sent);
    // Most pages have none, and to look for the word takes a fraction of the time of reading tags.
    { [&b"anonical"[..], b"ANONICAL"] }.iter().find_map(|word| memmem::find(&html, word))?;
    let mut tokens = DefaultEmitter::default();
    // Else what is in scripts and titles would be tags.
    tokens.naively_switch_states(true);
    let mut base = None;
    for Ok(token) in Tokenizer::new_with_emitter(&*html, tokens) {
        match token {
            Token::StartTag(tag) if *tag.name == b"link" && is_canonical(&tag) => {
                let target = value_of(&tag, b"href").filter(|target| !target.is_empty())?;
                return resolved(target, base.as_deref(), page)
                    .filter(|target| target.len() <= HTTP_HEAD_BYTES_MAX);
            }
            Token::StartTag(tag) if *tag.name == b"base" && base.is_none() => {
                base = value_of(&tag, b"href").map(<[u8]>::to_vec);
            }
            Token::StartTag(tag) if *tag.name == b"body" => return None,
            Token::EndTag(tag) if *tag.name == b"head" => return None,
            _ => {}
        }
    }
    None
}

/// Has a `<link>` the relation `canonical`, by itself or among others?
fn is_canonical(link: &StartTag<()>) -> bool {
    let relations = value_of(link, b"rel").unwrap_or_default();
    { relations.split(u8::is_ascii_whitespace) }
        .any(|relation| relation.eq_ignore_ascii_case(b"canonical"))
}

/// The value of an attribute, without blanks around it.
fn value_of<'a>(tag: &'a StartTag<()>, name: &[u8]) -> Option<&'a [u8]> {
    let value = tag.attributes.get(name)?;
    Some(value.trim_ascii())
}

/// `target`, or where it leads from `base`, which itself may be relative to `page`.
fn resolved(target: &[u8], base: Option<&[u8]>, page: &[u8]) -> Option<Vec<u8>> {
    let Some(base) = base else { return Some(target.to_vec()) };
    let [target, base, page] = [target, base, page].map(std::str::from_utf8);
    let url = Url::parse(page.ok()?).ok()?.join(base.ok()?).ok()?.join(target.ok()?).ok()?;
    Some(String::from(url).into_bytes())
}

/// The data of chunks: `4\r\n<a>\n\r\n0\r\n`. What has not the shape of a chunk any more is left
/// out; what has not from its first line on is no chunks, and stays as it is.
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

/// The start of what `sent` holds packed, told by its first bytes: archives keep bodies as they
/// were sent, or unpack them and leave the header in place that says they are packed.
fn unpacked(sent: &[u8]) -> Cow<'_, [u8]> {
    let mut html = Vec::new();
    let limit = HTML_HEAD_BYTES_MAX as u64;
    // The end is missing where the body is longer; what came before the error counts.
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
            ("<link rel=canonical>", None, "no target"),
            ("<link rel=alternate-canonical href=/b>", None, "another relation"),
            ("<link rel=next title=canonical href=/b>", None, "only its title"),
            ("<a rel=canonical href=/b>", None, "no link"),
            ("<!-- <link rel=canonical href=/b> -->", None, "in a comment"),
            ("<script>'<link rel=canonical href=/b>'</script>", None, "in a script"),
            ("<title><link rel=canonical href=/b></title>", None, "in a title"),
            ("<head></head><link rel=canonical href=/b>", None, "behind the head"),
            ("<body><link rel=canonical href=/b>", None, "in the body"),
            ("<p title='<body>'><link rel=canonical href=/b>", Some("/b"), "no body"),
            ("<link rel=canonical href=/b", None, "cut short"),
            ("<base href=/c/><link rel=canonical href=b>", Some("http://a.test/c/b"), "a base"),
            (
                "<base href=//b.test/c><base href=/d/><link rel=canonical href=e>",
                Some("http://b.test/e"),
                "two bases",
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
        let html = format!("<p>{}<link rel=canonical href=/b>", "<i>x</i>".repeat(100));
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
    fn damaged_bodies_say_nothing() {
        let word = b"canonical";
        for start in
            [&b"\x1f\x8b"[..], b"\x28\xb5\x2f\xfd", b"ffffffffffffffff\r\n", b"5\n", b"\xff"]
        {
            for is_chunked in [false, true] {
                assert_eq!(canonical_link(&[start, word].concat(), is_chunked, PAGE), None);
            }
        }
    }
}
