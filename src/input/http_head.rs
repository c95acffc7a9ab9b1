//! What the head of an HTTP answer in a web archive says.

use super::decoded::Decoded;
use super::rows::Row;
use crate::limits::HTTP_HEAD_BYTES_MAX;

/// Puts status, media type, redirect and canonical link of the HTTP answer that begins with the
/// next byte into `row`, where it has none yet. Uses nothing up.
///
/// - Limits: of the `block_bytes` bytes of the answer only the first [`HTTP_HEAD_BYTES_MAX`] are
///   looked at; a header that goes beyond them is not seen.
/// - Failure: none. What is no HTTP says nothing.
pub(super) fn look_at(from: &mut Decoded, block_bytes: u64, row: &mut Row) {
    let wanted = usize::try_from(block_bytes).unwrap_or(usize::MAX).min(HTTP_HEAD_BYTES_MAX);
    let ahead = from.ahead(wanted);
    let is_whole = wanted as u64 == block_bytes;
    read(&ahead[..ahead.len().min(wanted)], is_whole, row);
}

/// The same for `head`; if it is not the `is_whole` answer, its last line may be cut short.
fn read(head: &[u8], is_whole: bool, row: &mut Row) {
    let mut lines = head.split_inclusive(|byte| *byte == b'\n');
    let Some(status) = lines.next().and_then(status_of) else { return };
    set(&mut row.status, status);
    for line in lines {
        if !line.ends_with(b"\n") && !is_whole {
            return;
        }
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return;
        }
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let value = line[colon + 1..].trim_ascii();
        match &line[..colon] {
            name if name.eq_ignore_ascii_case(b"content-type") => set(&mut row.mime, value),
            name if name.eq_ignore_ascii_case(b"location") => set(&mut row.redirect, value),
            name if name.eq_ignore_ascii_case(b"link") => {
                set(&mut row.canonical_link, canonical_of(value).unwrap_or_default());
            }
            _ => {}
        }
    }
}

/// The status in `HTTP/1.1 200 OK`.
fn status_of(line: &[u8]) -> Option<&[u8]> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next().filter(|word| word.starts_with(b"HTTP/"))?;
    words.next().filter(|word| word.len() == 3 && word.iter().all(u8::is_ascii_digit))
}

/// The target of the relation `canonical` among the links of a header `Link` (RFC 8288 section 3):
/// `<https://a.test/>; rel="canonical"`, several of them parted by commas.
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

/// Makes `field` say `value`, unless it says something already.
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
