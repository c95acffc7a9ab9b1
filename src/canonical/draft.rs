//! A URL in parts, while rules work on it.

use std::borrow::Cow;

use url::Url;

use super::host::{parse_host, registered_name};
use super::options::Options;
use crate::bytes::hex;
use crate::parts::{self, UrlParts, is_web_scheme};
use crate::reject::Reject;

/// A URL that the reference lane rewrites, rule by rule.
///
/// What a URL *is* follows the WHATWG URL standard: surrounding whitespace goes, tabs and line
/// breaks go, a backslash is a slash, any number of slashes may follow `http:`. That much is
/// parsing and belongs to no rule; everything else that the standard's serializer changes is left
/// to the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draft {
    /// The parts.
    pub(super) parts: Parts,
    /// Was a scheme put in front?
    pub(super) scheme_added: bool,
}

/// The parts of a URL, by the kind of its scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parts {
    /// `http`, `https`, `ws`, `wss`, `ftp`: all rules apply.
    Web(Web),
    /// Every other scheme: the serialization of the `url` crate. Only rules that preserve semantics
    /// apply.
    Other(Vec<u8>),
}

/// The parts of a web URL, without their delimiters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Web {
    /// The scheme as it is spelled: letters only, in any case.
    pub(super) scheme: Vec<u8>,
    /// The user information before the last `@`; it is never empty, and never ends with the colon
    /// of an empty password.
    pub(super) userinfo: Option<Vec<u8>>,
    /// The host as it is spelled.
    pub(super) host: Vec<u8>,
    /// The port after the colon: digits, or nothing.
    pub(super) port: Option<Vec<u8>>,
    /// The path, which starts with `/`, or is empty.
    pub(super) path: Vec<u8>,
    /// The query after the `?`.
    pub(super) query: Option<Vec<u8>>,
    /// The fragment after the `#`.
    pub(super) fragment: Option<Vec<u8>>,
}

impl Web {
    /// Tells whether the scheme is `name`, in any case.
    pub(super) fn scheme_is(&self, name: &[u8]) -> bool {
        self.scheme.eq_ignore_ascii_case(name)
    }

    /// The default port of the scheme. Source: WHATWG URL standard 4.2, "special scheme".
    pub(super) fn default_port(&self) -> u16 {
        match self.scheme.to_ascii_lowercase().as_slice() {
            b"https" | b"wss" => 443,
            b"ftp" => 21,
            _ => 80,
        }
    }

    /// Is the port absent, empty, or the default one?
    pub(super) fn has_default_port(&self) -> bool {
        match &self.port {
            None => true,
            Some(digits) => match parts::port_number(digits) {
                Ok(None) => true,
                Ok(Some(number)) => number == self.default_port(),
                Err(_) => false,
            },
        }
    }
}

impl Draft {
    /// Parses `given`.
    ///
    /// - Shape: bytes, not text; a byte that is not UTF-8 counts as its own escape (`%FF`), except
    ///   in a host, where it is a reject.
    /// - Options: `default_scheme`, what a URL without a scheme gets if it starts with what looks
    ///   like a host; `registered_names`, see [`registered_name`].
    /// - Source: WHATWG URL standard 4.4, without a base.
    pub(super) fn parse(given: &[u8], options: &Options) -> Result<Draft, Reject> {
        let default_scheme = options.default_scheme.as_deref();
        // A copy, since parts of it are taken for UTF-8, and a mapped line may change meanwhile.
        let mut text: Cow<[u8]> = Cow::Owned(clean(given).into_owned());
        let mut scheme_added = false;
        let scheme_end = match scheme_of(&text, default_scheme.is_some()) {
            Some(length) => length,
            None if *text == *b"*" => return Err(Reject::Asterisk),
            None => {
                let scheme = default_scheme.ok_or(Reject::Relative)?;
                let slashes = if text.starts_with(b"//") { &b":"[..] } else { b"://" };
                if slashes.len() > 1 && !parts::starts_with_host(&text) {
                    return Err(Reject::Relative);
                }
                let joined = [scheme.as_bytes(), slashes, &text].concat();
                text = Cow::Owned(joined);
                scheme_added = true;
                scheme.len()
            }
        };
        let parts = if is_web_scheme(&text[..scheme_end]) {
            let parsed = parse_web(&text, scheme_end, options.registered_names);
            // If the guess fails, this is not a URL without its scheme, but something else.
            Parts::Web(if scheme_added { parsed.map_err(|_| Reject::Relative)? } else { parsed? })
        } else {
            Parts::Other(settle_other(&text)?)
        };
        Ok(Draft { parts, scheme_added })
    }

    /// Writes the URL into `out`, which is cleared first.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.clear();
        let web = match &self.parts {
            Parts::Web(web) => web,
            Parts::Other(text) => return out.extend_from_slice(text),
        };
        out.extend_from_slice(&web.scheme);
        out.extend_from_slice(b"://");
        if let Some(userinfo) = &web.userinfo {
            out.extend_from_slice(userinfo);
            out.push(b'@');
        }
        out.extend_from_slice(&web.host);
        if let Some(port) = &web.port {
            out.push(b':');
            out.extend_from_slice(port);
        }
        out.extend_from_slice(&web.path);
        if let Some(query) = &web.query {
            out.push(b'?');
            out.extend_from_slice(query);
        }
        if let Some(fragment) = &web.fragment {
            out.push(b'#');
            out.extend_from_slice(fragment);
        }
    }
}

/// Removes what the WHATWG parser removes first: C0 controls and spaces at both ends, tabs and line
/// breaks anywhere.
pub(super) fn clean(given: &[u8]) -> Cow<'_, [u8]> {
    let outer = |byte: &u8| *byte > b' ';
    let start = given.iter().position(outer).unwrap_or(given.len());
    let end = given.iter().rposition(outer).map_or(start, |at| at + 1);
    let given = &given[start..end];
    let inner = |byte: &u8| !matches!(byte, b'\t' | b'\n' | b'\r');
    if given.iter().all(inner) {
        Cow::Borrowed(given)
    } else {
        Cow::Owned(given.iter().copied().filter(inner).collect())
    }
}

/// Length of the scheme of `text`. With `guess`, what looks like a host before a port is none, as
/// in `host.example:80/…` and `localhost:80`.
fn scheme_of(text: &[u8], guess: bool) -> Option<usize> {
    let length = parts::scheme_length(text)?;
    let (scheme, rest) = (&text[..length], &text[length + 1..]);
    let is_host = scheme.contains(&b'.') || scheme.eq_ignore_ascii_case(b"localhost");
    (!(guess && is_host && !rest.starts_with(b"//"))).then_some(length)
}

/// Parses a web URL whose scheme ends at `scheme_end`.
fn parse_web(text: &[u8], scheme_end: usize, registered_names: bool) -> Result<Web, Reject> {
    let query_at = text.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(text.len());
    let mut text = Cow::Borrowed(text);
    if text[..query_at].contains(&b'\\') {
        for byte in &mut text.to_mut()[..query_at] {
            if *byte == b'\\' {
                *byte = b'/';
            }
        }
    }
    let at = UrlParts::split(&text, scheme_end)?;
    let piece = |from: u32, to: u32| &text[from as usize..to as usize];
    let host = piece(at.host_start, at.host_end);
    if let Err(reject) = parse_host(host)
        && !(registered_names && registered_name(host).is_some())
    {
        return Err(reject);
    }
    let userinfo = (at.host_start > at.authority_start)
        .then(|| escape_blanks(piece(at.authority_start, at.host_start - 1)));
    let port = piece(at.host_end, at.path_start);
    let query = piece(at.query_start, at.fragment_start);
    let fragment = &text[at.fragment_start as usize..];
    Ok(Web {
        scheme: text[..scheme_end].to_vec(),
        userinfo: userinfo.and_then(without_empty_password),
        host: host.to_vec(),
        port: port.strip_prefix(b":").map(<[u8]>::to_vec),
        path: escape_blanks(piece(at.path_start, at.query_start)),
        query: query.strip_prefix(b"?").map(escape_blanks),
        fragment: fragment.strip_prefix(b"#").map(escape_blanks),
    })
}

/// `user:` is `user`, and nothing at all is no user. Source: WHATWG URL standard 4.5, serializing.
fn without_empty_password(mut userinfo: Vec<u8>) -> Option<Vec<u8>> {
    if memchr::memchr(b':', &userinfo) == Some(userinfo.len().wrapping_sub(1)) {
        userinfo.pop();
    }
    (!userinfo.is_empty()).then_some(userinfo)
}

/// Escapes control characters and spaces: left raw, they would not survive the next parse.
fn escape_blanks(text: &[u8]) -> Vec<u8> {
    if !text.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
        return text.to_vec();
    }
    let mut out = Vec::with_capacity(text.len() + 2);
    for &byte in text {
        if byte <= b' ' || byte == 0x7f {
            push_escape(&mut out, byte);
        } else {
            out.push(byte);
        }
    }
    out
}

/// Appends the escape of `byte`, upper-case.
pub(super) fn push_escape(out: &mut Vec<u8>, byte: u8) {
    out.extend_from_slice(&hex::ESCAPES[usize::from(byte)][..3]);
}

/// The spelling of a URL of another scheme by the `url` crate, repeated until it does not change.
///
/// A few `file:` URLs change once more when they are parsed again; they are parsed until they
/// settle.
fn settle_other(text: &[u8]) -> Result<Vec<u8>, Reject> {
    let mut text = String::from_utf8_lossy(&escape_non_utf8(text)).into_owned();
    for _ in 0..8 {
        let next = String::from(Url::parse(&text).map_err(reject_of)?);
        if next == text {
            return Ok(text.into_bytes());
        }
        text = next;
    }
    Err(Reject::Unstable)
}

/// Parses a rewritten URL of another scheme again.
pub(super) fn reparse_other(text: Vec<u8>) -> Vec<u8> {
    settle_other(&text).unwrap_or(text)
}

fn reject_of(error: url::ParseError) -> Reject {
    match error {
        url::ParseError::EmptyHost => Reject::NoHost,
        url::ParseError::InvalidPort => Reject::Port,
        url::ParseError::RelativeUrlWithoutBase => Reject::Relative,
        url::ParseError::Overflow => Reject::UrlTooLong,
        _ => Reject::Host,
    }
}

/// Escapes the bytes of `text` that are not UTF-8.
fn escape_non_utf8(text: &[u8]) -> Cow<'_, [u8]> {
    if std::str::from_utf8(text).is_ok() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    for part in text.utf8_chunks() {
        out.extend_from_slice(part.valid().as_bytes());
        for byte in part.invalid() {
            push_escape(&mut out, *byte);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::Profile;

    fn options(profile: &str) -> Options {
        Profile::named(profile).unwrap().options
    }

    fn parsed(given: &str) -> Result<String, Reject> {
        Draft::parse(given.as_bytes(), &options("crawl"))
            .map(|draft| String::from_utf8(written(&draft)).unwrap())
    }

    fn written(draft: &Draft) -> Vec<u8> {
        let mut out = Vec::new();
        draft.write(&mut out);
        out
    }

    #[test]
    fn parsing_changes_only_what_a_client_would_not_see() {
        for (given, expected) in [
            ("  http://A.test/ \r\n", Ok("http://A.test/")),
            ("ht\ntp://a.test/x\ty", Ok("http://a.test/xy")),
            ("http:\\\\a.test\\b?c\\d", Ok("http://a.test/b?c\\d")),
            ("HTTP:a.test", Ok("HTTP://a.test")),
            ("http:////a.test/b", Ok("http://a.test/b")),
            ("http://user:@a.test/", Ok("http://user@a.test/")),
            ("http://@a.test/", Ok("http://a.test/")),
            ("http://:pw@a.test/", Ok("http://:pw@a.test/")),
            ("http://a.test/b c", Ok("http://a.test/b%20c")),
            ("a.test/b", Ok("http://a.test/b")),
            ("//a.test/b", Ok("http://a.test/b")),
            ("a.test:8080/b", Ok("http://a.test:8080/b")),
            ("localhost:80", Ok("http://localhost:80")),
            ("[::1]/b", Ok("http://[::1]/b")),
            ("127.0.0.1:80", Ok("http://127.0.0.1:80")),
            ("mailto:A@B.test", Ok("mailto:A@B.test")),
            ("/b", Err(Reject::Relative)),
            ("word", Err(Reject::Relative)),
            ("two words.", Err(Reject::Relative)),
            ("someone@a.test", Err(Reject::Relative)),
            ("*", Err(Reject::Asterisk)),
            ("**", Err(Reject::Relative)),
            ("a..%00.b/", Err(Reject::Relative)),
            ("http://", Err(Reject::NoHost)),
            ("http://a b/", Err(Reject::Host)),
            ("http://Node7.10.0.0.5/", Ok("http://Node7.10.0.0.5/")),
            ("http://Node%37.10.0.0.5/", Ok("http://Node%37.10.0.0.5/")),
            ("http://b\u{fc}cher.12%33/", Ok("http://b\u{fc}cher.12%33/")),
            ("http://xn--a.123/", Ok("http://xn--a.123/")),
            ("http://1.2.3.4.5/", Err(Reject::Host)),
            ("http://%31.2.3.4.5/", Err(Reject::Host)),
            ("http://a%2Fb.1/", Err(Reject::Host)),
            ("http://a%20b.1/", Err(Reject::Host)),
            ("http://a..1/", Err(Reject::Host)),
            ("http://[::1/", Err(Reject::Host)),
            ("http://256.1.1.1/", Err(Reject::Host)),
            ("http://a:x/", Err(Reject::Port)),
        ] {
            assert_eq!(parsed(given), expected.map(str::to_string), "{given}");
        }
    }

    #[test]
    fn without_a_default_scheme_nothing_is_guessed() {
        assert_eq!(Draft::parse(b"a.test/b", &options("whatwg")), Err(Reject::Relative));
        assert_eq!(Draft::parse(b"//a.test/b", &options("whatwg")), Err(Reject::Relative));
        let draft = Draft::parse(b"a.test:80/b", &options("whatwg")).unwrap();
        assert_eq!(written(&draft), b"a.test:80/b");
    }

    #[test]
    fn bytes_that_are_not_text() {
        let draft = Draft::parse(b"http://a.test/\xff", &options("whatwg")).unwrap();
        assert_eq!(written(&draft), b"http://a.test/\xff");
        assert_eq!(Draft::parse(b"http://a.1/", &options("whatwg")), Err(Reject::Host));
        assert_eq!(Draft::parse(b"http://\xff.test/", &options("whatwg")), Err(Reject::Host));
        let draft = Draft::parse(b"data:\xff", &options("whatwg")).unwrap();
        assert_eq!(written(&draft), b"data:%FF");
    }
}
