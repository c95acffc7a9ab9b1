//! Reads the head of an HTTP response in a web archive.

use super::decoded::Decoded;
use super::html_head;
use super::rows::Row;
use crate::limits::{HTML_HEAD_BYTES_MAX, HTTP_HEAD_BYTES_MAX};

/// Puts status, media type, redirect and canonical link of the HTTP response that begins with the
/// next byte into those fields of `row` that are empty. If `reads_pages`, the link may be in the
/// page itself, if that is HTML. Consumes nothing.
///
/// - Limits: of the `block_bytes` bytes of the response only the first [`HTTP_HEAD_BYTES_MAX`] are
///   read, and of the page [`HTML_HEAD_BYTES_MAX`].
/// - Failure: none. A block that is not HTTP changes nothing.
pub(super) fn look_at(from: &mut Decoded, block_bytes: u64, row: &mut Row, reads_pages: bool) {
    let (head, is_whole) = start(from, block_bytes, HTTP_HEAD_BYTES_MAX);
    let Some(body) = read(head, is_whole, row) else { return };
    if reads_pages && row.canonical_link.is_empty() && row.status == b"200" && is_html(&row.mime) {
        let (answer, _) = start(from, block_bytes, body.at + HTML_HEAD_BYTES_MAX);
        let link = html_head::canonical_link(&answer[body.at..], body.is_chunked, &row.url);
        set(&mut row.canonical_link, &link.unwrap_or_default());
    }
}

/// The first `bytes_max` bytes of the block, or all of them; and whether that is the whole block.
fn start(from: &mut Decoded, block_bytes: u64, bytes_max: usize) -> (&[u8], bool) {
    let wanted = usize::try_from(block_bytes).unwrap_or(usize::MAX).min(bytes_max);
    let ahead = from.ahead(wanted);
    (&ahead[..ahead.len().min(wanted)], wanted as u64 == block_bytes)
}

/// Where the body of a response is, and how it was sent.
#[derive(Debug, Default, PartialEq)]
struct Body {
    /// Bytes of the head before it.
    at: usize,
    is_chunked: bool,
}

/// Fills `row` from `head`. Unless `is_whole`, `head` may end within a line. Returns the body, if
/// the head has an end.
fn read(head: &[u8], is_whole: bool, row: &mut Row) -> Option<Body> {
    let mut body = Body::default();
    let mut lines =
        head.split_inclusive(|byte| *byte == b'\n').inspect(|line| body.at += line.len());
    set(&mut row.status, lines.next().and_then(status_of)?);
    for line in lines {
        if !line.ends_with(b"\n") && !is_whole {
            return None;
        }
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return Some(body);
        }
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let value = line[colon + 1..].trim_ascii();
        match &line[..colon] {
            name if name.eq_ignore_ascii_case(b"content-type") => set(&mut row.mime, value),
            name if name.eq_ignore_ascii_case(b"location") => set(&mut row.redirect, value),
            name if name.eq_ignore_ascii_case(b"link") => {
                set(&mut row.canonical_link, canonical_of(value).unwrap_or_default());
            }
            name if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                body.is_chunked = value.to_ascii_lowercase().ends_with(b"chunked");
            }
            _ => {}
        }
    }
    None
}

/// Is it the media type of HTML? XHTML is close enough.
fn is_html(mime: &[u8]) -> bool {
    let essence = mime.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    { [&b"text/html"[..], b"application/xhtml+xml"] }
        .iter()
        .any(|html| essence.eq_ignore_ascii_case(html))
}

/// The status in `HTTP/1.1 200 OK`.
fn status_of(line: &[u8]) -> Option<&[u8]> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next().filter(|word| word.starts_with(b"HTTP/"))?;
    words.next().filter(|word| word.len() == 3 && word.iter().all(u8::is_ascii_digit))
}

/// The target of the relation `canonical` among the links of a header `Link` (RFC 8288 section 3):
/// `<https://a.test/>; rel="canonical"`, several of them separated by commas.
fn canonical_of(mut links: &[u8]) -> Option<&[u8]> {
    loop {
        let start = memchr::memchr(b'<', links)? + 1;
        let end = start + memchr::memchr(b'>', &links[start..])?;
        let target = &links[start..end];
        links = &links[end + 1..];
        let params = &links[..memchr::memchr(b'<', links).unwrap_or(links.len())];
        if params.split(|byte| *byte == b';').any(is_canonical) {
            return Some(target);
        }
    }
}

/// Is a parameter of a link the relation `canonical`, by itself or among others?
fn is_canonical(param: &[u8]) -> bool {
    let Some(equals) = memchr::memchr(b'=', param) else { return false };
    let relations =
        param[equals + 1..].split(|byte| matches!(byte, b' ' | b'"' | b'\'' | b',' | b'\t'));
    param[..equals].trim_ascii().eq_ignore_ascii_case(b"rel") && { relations }
        .any(|relation| relation.eq_ignore_ascii_case(b"canonical"))
}

/// Sets `field` to `value` if it is empty.
pub(super) fn set(field: &mut Vec<u8>, value: &[u8]) {
    if field.is_empty() {
        field.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let told = |head: &str, is_whole| {
            let mut row = Row::default();
            read(head.as_bytes(), is_whole, &mut row);
            [row.status, row.mime, row.redirect].map(|field| String::from_utf8(field).unwrap())
        };
        for (given, is_whole, expected, why) in [
            (
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
                true,
                ["200", "text/html", ""],
                "all",
            ),
            (
                "HTTP/1.1 200\nCONTENT-TYPE:a/b ;c=d\n\n",
                true,
                ["200", "a/b ;c=d", ""],
                "newlines alone",
            ),
            (
                "HTTP/1.0 301 Moved\r\nLocation: /b\r\nLocation: /c\r\n\r\n",
                true,
                ["301", "", "/b"],
                "two",
            ),
            ("HTTP/1.1 200 OK\r\n\r\nContent-Type: a/b\r\n", true, ["200", "", ""], "in the body"),
            (
                "HTTP/1.1 200 OK\r\nContent-Type: text/ht",
                false,
                ["200", "", ""],
                "a head cut short",
            ),
            ("HTTP/1.1 200 OK\r\nContent-Type: text/ht", true, ["200", "text/ht", ""], "no body"),
            ("HTTP/1.1 2000 OK\r\nContent-Type: a/b\r\n\r\n", true, ["", "", ""], "no status"),
            ("<html>", true, ["", "", ""], "no HTTP"),
            ("", true, ["", "", ""], "nothing"),
        ] {
            assert_eq!(told(given, is_whole), expected, "{why}");
        }
    }

    #[test]
    fn canonical_links() {
        for (given, expected) in [
            (r#"<https://a.test/b>; rel="canonical""#, Some("https://a.test/b")),
            (r#"</c.css>; rel=preload; as=style, </b?x=1,2>;REL=Canonical"#, Some("/b?x=1,2")),
            (r#"</b>; title="x"; rel="shortlink canonical", </c>"#, Some("/b")),
            (r#"</a>; rel="canonical", </b>; rel="canonical""#, Some("/a")),
            (r#"</b>; rel="next""#, None),
            (r#"</b>; title="canonical""#, None),
            ("</b; rel=canonical", None),
            ("rel=canonical", None),
            ("", None),
        ] {
            let target = canonical_of(given.as_bytes());
            assert_eq!(target, expected.map(str::as_bytes), "{given}");
        }
        let mut row = Row::default();
        read(
            b"HTTP/1.1 200 OK\r\nLink: </a>; rel=next\r\nlink: </b>; rel=canonical\r\n\r\n",
            true,
            &mut row,
        );
        assert_eq!(row.canonical_link, b"/b");
    }
}
