//! The keys of URLs in the indexes of web archives (CDX, CDXJ): `urlkey`, or `massaged url`.
//!
//! They are made of a canonical form of their own, which takes more URLs for one page than any
//! profile: without scheme, user, `www`, fragment, slash at the end and session id, in lower case,
//! with escapes undone as often as there are any, and parameters in order.
//!
//! Source: `IAURLCanonicalizer` of IIPC's webarchive-commons. Where the Python library `surt`,
//! which makes most of today's indexes, does otherwise, its way: one `www` goes, IPv6 addresses
//! have no brackets, URLs without a host stay as they are, but for `dns:`.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::{Finder, FinderRev};

use super::draft::push_escape;
use super::host::{canonical_host, registered_name};
use crate::bytes::hex;
use crate::parts::{is_web_scheme, scheme_length};

/// Appends the key of `url` to `out`, which has a host; or else is written as it is.
///
/// ```text
/// http://www.Example.com:80/A//b/?Z=1&a=2#top     com,example)/a/b?a=2&z=1
/// https://user@example.com:8443/%7Ex/             com,example:8443)/~x
/// http://192.0.2.7/?                              7,2,0,192)/
/// http://[2001:db8::1]/                           2001:db8::1)/
/// dns:www.example.com                             com,example,www)
/// mailto:a@example.com                            mailto:a@example.com
/// ```
pub(super) fn push_urlkey(url: &[u8], has_host: bool, out: &mut Vec<u8>) {
    let url = without_line_breaks(url.trim_ascii());
    if let Some(name) = url.strip_prefix(b"dns:") {
        push_reversed(name.split(|byte| *byte == b'.'), out);
        return out.push(b')');
    }
    let parts = if has_host { Parts::split(&url) } else { None };
    let Some(parts) = parts else { return out.extend_from_slice(&url) };
    push_host(parts.host, out);
    if let Some(port) = parts.port {
        out.push(b':');
        out.extend_from_slice(port);
    }
    out.push(b')');
    push_path(parts.path, out);
    if let Some(query) = parts.query {
        push_query(query, out);
    }
}

fn without_line_breaks(text: &[u8]) -> Cow<'_, [u8]> {
    match memchr::memchr3(b'\t', b'\n', b'\r', text) {
        None => Cow::Borrowed(text),
        Some(_) => text.iter().copied().filter(|byte| !b"\t\n\r".contains(byte)).collect(),
    }
}

/// The parts of a URL that are in its key.
struct Parts<'a> {
    host: &'a [u8],
    /// The port, unless it is the default one of the scheme.
    port: Option<&'a [u8]>,
    path: &'a [u8],
    query: Option<&'a [u8]>,
}

impl<'a> Parts<'a> {
    /// Splits a URL that has a host, and a scheme unless that is http; `None` if it has no host.
    fn split(url: &'a [u8]) -> Option<Parts<'a>> {
        let is_one = |end: &usize| {
            // After these, parsers do without slashes.
            is_web_scheme(&url[..*end]) || url[*end + 1..].starts_with(b"/")
        };
        let (scheme, rest) = match scheme_length(url).filter(is_one) {
            Some(end) => (&url[..end], &url[end + 1..]),
            None => (&b"http"[..], url),
        };
        let slashes = rest.iter().take_while(|byte| matches!(byte, b'/' | b'\\')).count();
        let rest = &rest[slashes..];
        let rest = &rest[..memchr::memchr(b'#', rest).unwrap_or(rest.len())];
        let (rest, query) = match memchr::memchr(b'?', rest) {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        let (authority, path) = rest.split_at(memchr::memchr(b'/', rest).unwrap_or(rest.len()));
        let authority = &authority[memchr::memrchr(b'@', authority).map_or(0, |at| at + 1)..];
        let address_end = match authority.first() {
            Some(b'[') => memchr::memchr(b']', authority)? + 1,
            _ => 0,
        };
        let host_end = memchr::memchr(b':', &authority[address_end..])
            .map_or(authority.len(), |at| address_end + at);
        let (host, port) = authority.split_at(host_end);
        let digits = port.strip_prefix(b":").unwrap_or_default();
        let zeros = digits.iter().take_while(|byte| **byte == b'0').count();
        let port = &digits[zeros.min(digits.len().saturating_sub(1))..];
        let is_default = port.is_empty()
            || scheme.eq_ignore_ascii_case(b"http") && port == b"80"
            || scheme.eq_ignore_ascii_case(b"https") && port == b"443";
        let port = (!is_default).then_some(port);
        (!host.is_empty()).then_some(Parts { host, port, path, query })
    }
}

/// Appends the labels of `host` from the last to the first.
fn push_host(host: &[u8], out: &mut Vec<u8>) {
    if let Some(address) = host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]")) {
        return out.extend(address.iter().map(u8::to_ascii_lowercase));
    }
    let mut host = unescaped(host);
    let is_number = host.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    if is_number || !host.is_ascii() {
        let canonical = canonical_host(&host).ok().or_else(|| registered_name(&host));
        host = canonical.map_or(host, Cow::Owned);
    }
    let start = out.len();
    let labels = host.split(|byte| *byte == b'.').filter(|label| !label.is_empty());
    let mut behind = labels.clone();
    match behind.next() {
        Some(first) if is_www(first) && behind.clone().next().is_some() => {
            push_reversed(behind, out);
        }
        _ => push_reversed(labels, out),
    }
    escape(out, start);
}

/// Appends `labels`, the last one first, with commas between them.
fn push_reversed<'a>(labels: impl DoubleEndedIterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    for (at, label) in labels.rev().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(label);
    }
}

/// Is it `www` in any case, perhaps with a number?
fn is_www(label: &[u8]) -> bool {
    let number = label.split_at_checked(3).filter(|(www, _)| www.eq_ignore_ascii_case(b"www"));
    number.is_some_and(|(_, number)| number.iter().all(u8::is_ascii_digit))
}

/// Appends the path, which begins with a slash or is empty.
fn push_path(path: &[u8], out: &mut Vec<u8>) {
    let path = unescaped(path);
    let start = out.len();
    // Bet: there are no dots to be resolved, and no empty segments but for the last one.
    let mut slashes = memchr::memchr_iter(b'/', &path);
    if slashes.any(|slash| matches!(path.get(slash + 1), Some(b'.' | b'/'))) {
        push_resolved(&path, out);
    } else {
        out.extend_from_slice(path.strip_suffix(b"/").unwrap_or(&path));
    }
    if out.len() == start {
        out.push(b'/');
    }
    escape(out, start);
    if ASPX.find(&out[start..]).is_some() {
        drop_session_segment(out, start, is_old_session);
        drop_session_segment(out, start, is_bare_session);
    }
}

/// Appends the segments of `path`, without those that are empty.
fn push_resolved(path: &[u8], out: &mut Vec<u8>) {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|byte| *byte == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    // Only now: what `..` takes away may be an empty one.
    for segment in kept.into_iter().filter(|segment| !segment.is_empty()) {
        out.push(b'/');
        out.extend_from_slice(segment);
    }
}

/// What a page of ASP.NET ends in, or may end in.
static ASPX: LazyLock<Finder> = LazyLock::new(|| Finder::new(".aspx"));
static ASPX_REV: LazyLock<FinderRev> = LazyLock::new(|| FinderRev::new(".aspx"));

/// Drops the last segment of the path from `path_start` on that is a session id of ASP.NET, if a
/// page of it follows.
///
/// Limits: linear in the path, however many slashes it has.
fn drop_session_segment(out: &mut Vec<u8>, path_start: usize, is_session: impl Fn(&[u8]) -> bool) {
    let path = &out[path_start..];
    // The last `.aspx` after `end`, before the first `?` there.
    let mut page = None;
    let mut end = path.len();
    while let Some(start) = memchr::memrchr(b'/', &path[..end]) {
        let segment = &path[start + 1..end];
        if page.is_some_and(|page| page > end + 1) && is_session(segment) {
            out.drain(path_start + start + 1..path_start + end + 1);
            return;
        }
        let question = memchr::memchr(b'?', segment);
        if page.is_none() || question.is_some() {
            let segment = &segment[..question.unwrap_or(segment.len())];
            page = ASPX_REV.rfind(segment).map(|at| start + 1 + at);
        }
        end = start;
    }
}

/// Letters and digits of a session id of ASP.NET.
const SESSION_BYTES: usize = 24;

/// `(S(lit3py55t21z5v55vlm25s55))`, one or several of them in the outer parentheses.
fn is_old_session(segment: &[u8]) -> bool {
    let inner = segment.strip_prefix(b"(").and_then(|segment| segment.strip_suffix(b")"));
    inner.is_some_and(|inner| {
        let each = inner.chunks(1 + 1 + SESSION_BYTES + 1);
        !inner.is_empty()
            && each.into_iter().all(|one| {
                one.first().is_some_and(u8::is_ascii_alphabetic) && is_bare_session(&one[1..])
            })
    })
}

/// `(lit3py55t21z5v55vlm25s55)`.
fn is_bare_session(segment: &[u8]) -> bool {
    let id = segment.strip_prefix(b"(").and_then(|segment| segment.strip_suffix(b")"));
    id.is_some_and(|id| id.len() == SESSION_BYTES && id.iter().all(u8::is_ascii_alphanumeric))
}

/// What all that begins a session id of a query holds.
static ID: LazyLock<Finder> = LazyLock::new(|| Finder::new("id"));

/// How many bytes of a session id follow its name, if it is one.
type SessionLength = fn(&[u8]) -> Option<usize>;

/// Session ids of a query: what they begin with, and how they go on.
static SESSIONS: LazyLock<[(FinderRev, SessionLength); 5]> = LazyLock::new(|| {
    let hex_length: SessionLength = |rest| {
        let (id, _) = rest.split_at_checked(32)?;
        id.iter().all(u8::is_ascii_alphanumeric).then_some(32)
    };
    let asp_length: SessionLength = |rest| {
        let (name, id) = rest.split_at_checked(9)?;
        let (letters, id) = (&name[..8], id.split_at_checked(24)?.0);
        let is_one = name[8] == b'=' && letters.iter().chain(id).all(u8::is_ascii_alphabetic);
        is_one.then_some(9 + 24)
    };
    let cold_fusion_length: SessionLength = |rest| {
        let id = memchr::memchr(b'&', rest).filter(|id| *id > 0)?;
        let token = rest[id..].strip_prefix(b"&cftoken=")?;
        let bytes = memchr::memchr(b'&', token).unwrap_or(token.len());
        (bytes > 0).then_some(id + 9 + bytes)
    };
    [
        ("jsessionid=", hex_length),
        ("phpsessid=", hex_length),
        ("sid=", hex_length),
        ("aspsessionid", asp_length),
        ("cfid=", cold_fusion_length),
    ]
    .map(|(name, length)| (FinderRev::new(name), length))
});

/// Appends the query with its question mark, unless nothing is left of it.
fn push_query(query: &[u8], out: &mut Vec<u8>) {
    out.push(b'?');
    let start = out.len();
    out.extend_from_slice(&unescaped(query));
    escape(out, start);
    if ID.find(&out[start..]).is_some() {
        for (name, length) in &*SESSIONS {
            drop_last(out, start, name, *length);
        }
    }
    if out.len() == start {
        out.pop();
        return;
    }
    if memchr::memchr(b'&', &out[start..]).is_none() {
        return;
    }
    let query = out.split_off(start);
    let mut pairs: Vec<&[u8]> = query.split(|byte| *byte == b'&').collect();
    // One without a value comes before one with an empty value.
    pairs.sort_by_key(|pair| {
        let name = memchr::memchr(b'=', pair);
        (&pair[..name.unwrap_or(pair.len())], name.map(|at| &pair[at + 1..]))
    });
    for (number, pair) in pairs.into_iter().enumerate() {
        if number > 0 {
            out.push(b'&');
        }
        out.extend_from_slice(pair);
    }
}

/// Drops the last place of the query from `query_start` on that begins with `name`, goes on for as
/// many bytes as `length` says, and ends with the query or a `&`, which goes, too.
fn drop_last(out: &mut Vec<u8>, query_start: usize, name: &FinderRev, length: SessionLength) {
    let query = &out[query_start..];
    let ends = name.rfind_iter(query).find_map(|start| {
        let behind = start + name.needle().len();
        let end = behind + length(&query[behind..])?;
        match query.get(end) {
            None => Some((start, end)),
            Some(b'&') => Some((start, end + 1)),
            Some(_) => None,
        }
    });
    if let Some((start, end)) = ends {
        out.drain(query_start + start..query_start + end);
    }
}

/// `text` with its escapes undone, those that come to light thereby, too.
fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'%', text) else { return Cow::Borrowed(text) };
    let mut out = Vec::with_capacity(text.len());
    out.extend_from_slice(&text[..first]);
    for byte in &text[first..] {
        out.push(*byte);
        // What was undone may be the last digit of another one.
        while let [.., b'%', high, low] = out[..]
            && let Some(byte) = hex::pair(high, low)
        {
            out.truncate(out.len() - 3);
            out.push(byte);
        }
    }
    Cow::Owned(out)
}

/// Puts what begins at `start`, which has no escapes, in lower case, with those that it needs.
fn escape(out: &mut Vec<u8>, start: usize) {
    let is_escaped = |byte: u8| matches!(byte, 0..=b' ' | b'#' | b'%' | 0x7f..);
    // Bet: none. All bytes are looked at, which takes fewer steps than to stop at one.
    if out[start..].iter().fold(false, |any, byte| any | is_escaped(*byte)) {
        for byte in out.split_off(start) {
            if is_escaped(byte) { push_escape(out, byte) } else { out.push(byte) }
        }
    }
    out[start..].make_ascii_lowercase();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urlkey(url: &str) -> String {
        let mut out = b"# ".to_vec();
        let has_host = !["urn:", "dns:", "mailto:"].iter().any(|scheme| url.starts_with(scheme));
        push_urlkey(url.as_bytes(), has_host, &mut out);
        String::from_utf8(out.split_off(2)).unwrap()
    }

    #[test]
    fn keys_are_those_of_indexes() {
        let hex = "0123456789ABCDEF0123456789ABCDEF";
        let asp = "(4hqa0555fwsecu455xqckv45)";
        // Checked against the Python library surt 0.3.1.
        for (url, expected) in [
            ("http://www.Example.com/", "com,example)/"),
            ("http://example.com", "com,example)/"),
            ("http://www2.example.com:80/A/b/?Z=1&a=2&", "com,example)/a/b?&a=2&z=1"),
            ("https://u:pw@example.com:8443/x//y/../z?q=%7Ea+b", "com,example:8443)/x/z?q=~a+b"),
            ("https://example.com:443/?", "com,example)/"),
            ("http://example.com:443/", "com,example:443)/"),
            ("http://example.com:0080/", "com,example)/"),
            ("ftp://example.com:21/x", "com,example:21)/x"),
            ("http:///example.com/x", "com,example)/x"),
            ("http://192.168.1.1/", "1,1,168,192)/"),
            ("http://017.0.0.1/", "1,0,0,15)/"),
            ("http://0x7f.1/", "1,0x7f)/"),
            ("http://1.2.3/", "3,0,2,1)/"),
            ("http://[2001:DB8::1]:8080/x", "2001:db8::1:8080)/x"),
            ("http://a..b.com./", "com,b,a)/"),
            ("http://www.com/", "com)/"),
            ("http://www.www2.foo.com/", "com,foo,www2)/"),
            ("http://www1a.foo.com/", "com,foo,www1a)/"),
            ("http://BÜCHER.example/Ä?x=É", "example,xn--bcher-kva)/%c3%84?x=%c3%89"),
            ("http://fo o.com/a b", "com,fo%20o)/a%20b"),
            ("http://foo.com/a%2Fb%3Fc?d%26c%23", "com,foo)/a/b?c?c%23&d"),
            ("http://foo.com/x?a=%E9", "com,foo)/x?a=%e9"),
            ("http://foo.com/a%7Fb", "com,foo)/a%7fb"),
            ("http://foo.com/%%34%31/%252541", "com,foo)/a/a"),
            ("http://foo.com/a/../../x/./", "com,foo)/../x"),
            ("http://foo.com/a//", "com,foo)/a"),
            ("http://foo.com?x=1#y?z", "com,foo)/?x=1"),
            ("http://foo.com/x?b&a=&a&a=1", "com,foo)/x?a&a=&a=1&b"),
            ("http://foo.com/x?=&", "com,foo)/x?&="),
            ("http://u@p@foo.com/a\\b", "com,foo)/a\\b"),
            (&format!("http://foo.com/?a=1&jsessionid={hex}"), "com,foo)/?&a=1"),
            (&format!("http://foo.com/?PHPSESSID={hex}&b=1"), "com,foo)/?b=1"),
            (&format!("http://foo.com/?mysid={hex}&b=1"), "com,foo)/?myb=1"),
            (
                &format!("http://foo.com/?sid={hex}0&b=1"),
                "com,foo)/?b=1&sid=0123456789abcdef0123456789abcdef0",
            ),
            ("http://foo.com/?ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&z=1", "com,foo)/?z=1"),
            ("http://foo.com/x?a=1&cfid=12&cftoken=34&b=2", "com,foo)/x?a=1&b=2"),
            ("http://foo.com/x?cfid=&cftoken=34", "com,foo)/x?cfid=&cftoken=34"),
            (&format!("http://foo.com/{asp}/F.aspx"), "com,foo)/f.aspx"),
            (&format!("http://foo.com/(a{asp}S{asp})/f.aspx?x"), "com,foo)/f.aspx?x"),
            (&format!("http://foo.com/{asp}/f.html"), &format!("com,foo)/{asp}/f.html")),
            (&format!("http://foo.com/{asp}/.aspx"), &format!("com,foo)/{asp}/.aspx")),
            (&format!("http://foo.com/{asp}/.aspx/x"), &format!("com,foo)/{asp}/.aspx/x")),
            (&format!("http://foo.com/{asp}/.aspx.aspx"), "com,foo)/.aspx.aspx"),
            (&format!("http://foo.com/{asp}/{asp}/f.aspx/x"), &format!("com,foo)/{asp}/f.aspx/x")),
            (&format!("http://foo.com/{asp}/x%3Ff.aspx"), &format!("com,foo)/{asp}/x?f.aspx")),
            (&format!("http://foo.com/{asp}/x%3F/f.aspx"), &format!("com,foo)/{asp}/x?/f.aspx")),
            (&format!("http://foo.com/x%3F/{asp}/f.aspx"), "com,foo)/x?/f.aspx"),
            (&format!("http://foo.com/{asp}/f.aspx%3F/x"), "com,foo)/f.aspx?/x"),
            ("urn:isbn:1", "urn:isbn:1"),
            ("dns:www.foo.com", "com,foo,www)"),
            ("mailto:A@b.c", "mailto:A@b.c"),
            // As the url crate has them.
            ("https:foo.com", "com,foo)/"),
            ("foo.com:80/x", "com,foo)/x"),
            ("foo.com:8080", "com,foo:8080)/"),
            ("http://", "http://"),
        ] {
            assert_eq!(urlkey(url), expected, "{url}");
        }
        assert_eq!(urlkey(" http://a\r\n.test/\t "), "test,a)/");
    }

    #[test]
    fn many_escapes_take_no_longer_than_they_are() {
        // Each of them comes to light when the one before is undone.
        let url = format!("http://a.test/%{}41", "25".repeat(300_000));
        assert_eq!(urlkey(&url), "test,a)/a");
    }

    #[test]
    fn many_segments_take_no_longer_than_they_are() {
        let start = std::time::Instant::now();
        for segments in ["/a".repeat(1_000_000), "/(4hqa0555fwsecu455xqckv45)".repeat(100_000)] {
            // A page that follows none of them.
            let url = format!("http://a.test/x.aspx{segments}");
            assert!(urlkey(&url) == format!("test,a)/x.aspx{segments}"));
        }
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
