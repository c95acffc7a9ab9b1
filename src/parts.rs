//! Where the parts of a web URL begin: offsets into the bytes, nothing copied.

use std::borrow::Cow;

use crate::reject::Reject;

/// The web's hierarchical schemes, behind which slashes and backslashes are one. Source: WHATWG URL
/// standard 4.2, "special scheme", but for `file`.
pub const WEB_SCHEMES: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];

/// Is `scheme` one of the web's hierarchical schemes, in any case?
pub fn is_web_scheme(scheme: &[u8]) -> bool {
    WEB_SCHEMES.iter().any(|name| scheme.eq_ignore_ascii_case(name.as_bytes()))
}

/// Is `byte` unreserved? Source: RFC 3986 2.3.
pub const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// `host` and the domains above it.
pub fn names_above(host: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(host), |name| memchr::memchr(b'.', name).map(|at| &name[at + 1..]))
}

/// The parts of a URL of one of the web schemes, as offsets into its bytes.
///
/// ```text
/// https://user:pw@example.com:8080/a/b?x=1#top
///      |  |       |          |    |   |   |
///      |  |       |          |    |   |   fragment_start: at the '#', or the end
///      |  |       |          |    |   query_start: at the '?', or fragment_start
///      |  |       |          |    path_start: at the '/', or query_start
///      |  |       |          host_end: at the ':', or path_start
///      |  |       host_start: after the '@', if there is one
///      |  authority_start: after the slashes
///      scheme_end: at the ':'
/// ```
///
/// Source: RFC 3986 section 3; the boundaries are those of the WHATWG URL standard, section 4.4,
/// for special schemes, so any number of slashes may stand before the authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrlParts {
    /// At the colon after the scheme.
    pub scheme_end: u32,
    /// After the slashes that follow the colon.
    pub authority_start: u32,
    /// After the last `@` of the authority, or at its start.
    pub host_start: u32,
    /// At the colon before the port, or where the path starts.
    pub host_end: u32,
    /// At the first `/` after the authority, or where the query starts.
    pub path_start: u32,
    /// At the `?`, or where the fragment starts.
    pub query_start: u32,
    /// At the `#`, or the end.
    pub fragment_start: u32,
}

impl UrlParts {
    /// Marks the parts of `url`, whose scheme ends at `scheme_end`.
    ///
    /// - Shape: `url[scheme_end]` is the colon; backslashes count as slashes before the query only
    ///   if the caller has replaced them.
    /// - Failure: [`Reject::NoHost`] if the host is empty, [`Reject::Port`] if something other than
    ///   digits follows the host, or a number above 65,535.
    /// - Limits: `url` is at most 4 GiB long; longer ones are [`Reject::UrlTooLong`].
    pub fn split(url: &[u8], scheme_end: usize) -> Result<UrlParts, Reject> {
        if u32::try_from(url.len()).is_err() {
            return Err(Reject::UrlTooLong);
        }
        let slashes = url[scheme_end + 1..].iter().take_while(|&&byte| byte == b'/').count();
        let authority_start = scheme_end + 1 + slashes;
        let path_start = memchr::memchr3(b'/', b'?', b'#', &url[authority_start..])
            .map_or(url.len(), |n| authority_start + n);
        let fragment_start =
            memchr::memchr(b'#', &url[path_start..]).map_or(url.len(), |n| path_start + n);
        let query_start = memchr::memchr(b'?', &url[path_start..fragment_start])
            .map_or(fragment_start, |n| path_start + n);
        let authority = &url[authority_start..path_start];
        let host_start = authority_start + memchr::memrchr(b'@', authority).map_or(0, |n| n + 1);
        let host_end = host_start + host_length(&url[host_start..path_start]);
        if host_end == host_start {
            return Err(Reject::NoHost);
        }
        port_number(&url[host_end..path_start])?;
        let narrow = |at: usize| u32::try_from(at).expect("the length was checked above");
        Ok(UrlParts {
            scheme_end: narrow(scheme_end),
            authority_start: narrow(authority_start),
            host_start: narrow(host_start),
            host_end: narrow(host_end),
            path_start: narrow(path_start),
            query_start: narrow(query_start),
            fragment_start: narrow(fragment_start),
        })
    }

    /// The host's bytes in `url`, the same bytes that were split.
    pub fn host<'a>(&self, url: &'a [u8]) -> &'a [u8] {
        &url[self.host_start as usize..self.host_end as usize]
    }
}

/// Length of the host at the start of `text`: up to the first colon outside brackets.
pub fn host_length(text: &[u8]) -> usize {
    // Most have neither.
    if memchr::memchr2(b':', b'[', text).is_none() {
        return text.len();
    }
    let mut in_brackets = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'[' => in_brackets = true,
            b']' => in_brackets = false,
            b':' if !in_brackets => return at,
            _ => {}
        }
    }
    text.len()
}

/// The number in `text`, a port with its colon; `None` if `text` is empty or a colon alone.
pub fn port_number(text: &[u8]) -> Result<Option<u16>, Reject> {
    let digits = text.strip_prefix(b":").unwrap_or(text);
    let mut number = 0u32;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Err(Reject::Port);
        }
        number = number * 10 + u32::from(digit - b'0');
        if number > u32::from(u16::MAX) {
            return Err(Reject::Port);
        }
    }
    Ok(if digits.is_empty() { None } else { u16::try_from(number).ok() })
}

/// The length of the scheme at the start of `text`, if a colon follows it.
///
/// Source: RFC 3986 3.1: a letter, then letters, digits, `+`, `-` and `.`.
pub fn scheme_length(text: &[u8]) -> Option<usize> {
    if !text.first()?.is_ascii_alphabetic() {
        return None;
    }
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let length = text.iter().take_while(|byte| is_scheme(byte)).count();
    (text.get(length) == Some(&b':')).then_some(length)
}

/// Does `text` start with something that is most likely a host: a name with a dot inside,
/// `localhost`, or an address in brackets?
pub fn starts_with_host(text: &[u8]) -> bool {
    let end = text.iter().position(|byte| b"/?#\\".contains(byte)).unwrap_or(text.len());
    let authority = &text[..end];
    if authority.contains(&b'@') || authority.iter().any(|byte| *byte <= b' ') {
        return false;
    }
    let host = match memchr::memrchr(b':', authority) {
        Some(colon) if !authority.ends_with(b"]") => &authority[..colon],
        _ => authority,
    };
    let dot_inside = memchr::memchr(b'.', host).is_some_and(|at| at > 0 && at + 1 < host.len());
    (dot_inside && !host.contains(&b':'))
        || host.eq_ignore_ascii_case(b"localhost")
        || (host.starts_with(b"[") && host.ends_with(b"]"))
}

/// The host of a canonical URL, for grouping; `None` for schemes without one.
pub fn host_of(url: &[u8]) -> Option<&[u8]> {
    let scheme_end = scheme_length(url)?;
    // `file:///a` has none.
    if url[scheme_end..].strip_prefix(b"://")?.starts_with(b"/") {
        return None;
    }
    UrlParts::split(url, scheme_end).ok().map(|parts| parts.host(url))
}

/// `text`, a URL or a line with URLs in it, without users and passwords, for messages: `…` stands
/// in their place. What is cut from it is cut afterwards: the start of a password shows no end.
pub fn without_userinfo(text: &[u8]) -> Cow<'_, [u8]> {
    let mut shown = Vec::new();
    // What of `text` is not in `shown`, and where an authority begins: at the start, where a
    // URL may lack its scheme, and behind any two slashes.
    let (mut rest_start, mut start) = (0, 0);
    loop {
        let authority = &text[start..];
        let length = authority.iter().position(|byte| b"/?#\\".contains(byte));
        let end = length.map_or(text.len(), |length| start + length);
        if let Some(at) = memchr::memrchr(b'@', &text[start..end]) {
            shown.extend_from_slice(&text[rest_start..start]);
            shown.extend_from_slice("\u{2026}".as_bytes());
            rest_start = start + at;
        }
        match behind_slashes(text, end) {
            Some(next) => start = next,
            None if shown.is_empty() => return Cow::Borrowed(text),
            None => break,
        }
    }
    shown.extend_from_slice(&text[rest_start..]);
    Cow::Owned(shown)
}

/// Where what follows two slashes or more begins, or one behind a colon, the first such place in
/// `text` from `at` on. A slash may be a backslash, as browsers read it, or have one before it, as
/// in JSON.
fn behind_slashes(text: &[u8], mut at: usize) -> Option<usize> {
    let mut slashes = 0;
    while at < text.len() {
        if slashes == 0 && at > 0 && text[at - 1] == b':' {
            // `https:/a.test/`, too, has a host.
            slashes = 1;
        }
        let bytes = match text[at..] {
            [b'\\', b'/', ..] => 2,
            [b'/' | b'\\', ..] => 1,
            _ if slashes >= 2 => return Some(at),
            _ => 0,
        };
        slashes = if bytes > 0 { slashes + 1 } else { 0 };
        at += bytes.max(1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries() {
        let url = b"https://user:pw@example.com:8080/a/b?x=1#top";
        let parts = UrlParts::split(url, 5).unwrap();
        let piece =
            |from: u32, to: u32| std::str::from_utf8(&url[from as usize..to as usize]).unwrap();
        assert_eq!(piece(parts.authority_start, parts.host_start), "user:pw@");
        assert_eq!(parts.host(url), b"example.com");
        assert_eq!(piece(parts.host_end, parts.path_start), ":8080");
        assert_eq!(piece(parts.path_start, parts.query_start), "/a/b");
        assert_eq!(piece(parts.query_start, parts.fragment_start), "?x=1");
    }

    #[test]
    fn rejects() {
        for (given, expected) in [
            ("http://", Err(Reject::NoHost)),
            ("http:///", Err(Reject::NoHost)),
            ("http://user@/", Err(Reject::NoHost)),
            ("http://:80/", Err(Reject::NoHost)),
            ("http://a:65536/", Err(Reject::Port)),
            ("http://a:-1/", Err(Reject::Port)),
            ("http://a:99999999999999999999/", Err(Reject::Port)),
            ("http://a:00080/", Ok(())),
            ("http://[::1]:80/", Ok(())),
            ("http:a", Ok(())),
        ] {
            assert_eq!(UrlParts::split(given.as_bytes(), 4).map(|_| ()), expected, "{given}");
        }
    }

    #[test]
    fn users_and_passwords_are_hidden() {
        for (given, expected) in [
            ("http://u:p@a.test/x@y", "http://\u{2026}@a.test/x@y"),
            ("u:p@a.test/x", "\u{2026}@a.test/x"),
            ("http://a.test/x@y", "http://a.test/x@y"),
            ("u:p@a.test//x", "\u{2026}@a.test//x"),
            ("http:\\\\u:p@a.test\\x", "http:\\\\\u{2026}@a.test\\x"),
            (
                "x https://a.test/x@y https://u:p@b.test/",
                "x https://a.test/x@y https://\u{2026}@b.test/",
            ),
            ("http://u@a.test/?x=//v:p@b.test", "http://\u{2026}@a.test/?x=//\u{2026}@b.test"),
            (
                r#"{"u":"https:\/\/u:p@c.test\/y@z"}"#,
                "{\"u\":\"https:\\/\\/\u{2026}@c.test\\/y@z\"}",
            ),
        ] {
            assert_eq!(without_userinfo(given.as_bytes()), expected.as_bytes());
        }
    }

    #[test]
    fn schemes() {
        assert_eq!(scheme_length(b"http://a"), Some(4));
        assert_eq!(scheme_length(b"a.b:80"), Some(3));
        assert_eq!(scheme_length(b"1a:b"), None);
        assert_eq!(scheme_length(b"nothing"), None);
        assert_eq!(host_of(b"http://u@a.test:1/x"), Some(&b"a.test"[..]));
        assert_eq!(host_of(b"mailto:a@b.test"), None);
        assert_eq!(host_of(b"file:///a/b"), None);
    }
}
