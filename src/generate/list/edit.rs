//! The single changes to a spelling that leave the page the same.
//!
//! Each takes one part of a URL in the form that `page.rs` promises, maybe with other edits done;
//! the order in which they get along is that of `variant.rs`.

use memchr::{memchr, memchr_iter};

use super::site::Site;
use crate::bytes::decimal::push_number;
use crate::bytes::hex;
use crate::generate::random::Random;
use crate::generate::vocabulary::{FRAGMENTS, UTM_CAMPAIGNS, UTM_MEDIUMS, UTM_SOURCES};

/// Scheme and label of an origin, in which variants may differ from their page.
#[derive(Clone, Copy, Debug)]
pub(super) struct OriginParts {
    /// Is the scheme `https`, or else `http`?
    pub(super) https: bool,
    /// Does `www.` stand before the host?
    pub(super) www: bool,
}

/// Writes scheme, `://` and host in another case or notation; `parts` are those of the variant.
///
/// A host outside ASCII changes between Unicode and punycode; an address becomes hexadecimal, one
/// number, or short (WHATWG, "IPv4 parser"); any other gets capital letters, or its scheme does.
pub(super) fn push_origin(
    line: &mut Vec<u8>,
    parts: OriginParts,
    site: &Site,
    random: &mut Random,
) {
    let OriginParts { https, www } = parts;
    let start = line.len();
    line.extend_from_slice(if https { b"https://" } else { b"http://" });
    let host_start = line.len();
    if let Some(address) = site.address {
        push_address(line, address, random);
        return;
    }
    if www {
        line.extend_from_slice(b"www.");
    }
    if site.host_other.len() > 0 {
        site.host_other.push_to(line);
        return;
    }
    line.extend_from_slice(site.host());
    match random.below(5) {
        0 => line[start..host_start].make_ascii_uppercase(),
        1 => line[start..].make_ascii_uppercase(),
        2 => line[host_start..].make_ascii_uppercase(),
        3 => line[host_start].make_ascii_uppercase(),
        _ => line[host_start..].iter_mut().step_by(2).for_each(|byte| byte.make_ascii_uppercase()),
    }
}

fn push_address(line: &mut Vec<u8>, address: [u8; 4], random: &mut Random) {
    let [first, second, third, fourth] = address.map(u64::from);
    let number = first << 24 | second << 16 | third << 8 | fourth;
    match random.below(4) {
        0 => {
            line.extend_from_slice(b"0x");
            for octet in address {
                line.extend_from_slice(&hex::digits(octet).map(|digit| digit.to_ascii_lowercase()));
            }
        }
        1 => push_number(line, number),
        2 => {
            push_number(line, first);
            line.push(b'.');
            push_number(line, number & 0xFF_FFFF);
        }
        _ => {
            push_number(line, first);
            line.push(b'.');
            push_number(line, second);
            line.push(b'.');
            push_number(line, number & 0xFFFF);
        }
    }
}

/// Writes the port of the scheme itself, or the colon alone.
pub(super) fn push_default_port(line: &mut Vec<u8>, https: bool, random: &mut Random) {
    let port: &[u8] = if https { b":443" } else { b":80" };
    line.extend_from_slice(if random.percent(80) { port } else { b":" });
}

/// Writes `#` with the name of a place in a page.
pub(super) fn push_fragment(line: &mut Vec<u8>, random: &mut Random) {
    line.push(b'#');
    line.extend_from_slice(random.pick(&FRAGMENTS).as_bytes());
}

/// Escapes an unreserved byte of `path` other than a dot, or writes the digits of its escapes in
/// lower case.
///
/// Changes `query`, inside a value, when `path` has nothing to change. One of the two holds the
/// token, so that one change can always be made.
pub(super) fn escape_one(path: &mut Vec<u8>, query: &mut Vec<u8>, random: &mut Random) {
    if random.percent(50) && (lower_escapes(path) || lower_escapes(query)) {
        return;
    }
    let is_path = unreserved(path, true).next().is_some();
    let part = if is_path { path } else { query };
    let count = unreserved(part, is_path).count();
    let Some(at) = unreserved(part, is_path).nth(random.position(count)) else { return };
    let [high, low] = hex::digits(part[at]);
    part.splice(at..=at, [b'%', high, low]);
}

/// Where `part` holds an unreserved byte (RFC 3986 2.3), no dot, that no escape covers.
///
/// In a query only values count.
fn unreserved(part: &[u8], is_path: bool) -> impl Iterator<Item = usize> {
    let (mut is_value, mut covered) = (is_path, 0);
    part.iter().enumerate().filter_map(move |(at, &byte)| {
        match byte {
            b'%' => covered = 3,
            b'=' if !is_path => is_value = true,
            b'&' if !is_path => is_value = false,
            _ => {}
        }
        let free = covered == 0;
        covered = covered.max(1) - 1;
        let plain = byte.is_ascii_alphanumeric() || b"-_~".contains(&byte);
        (free && is_value && plain).then_some(at)
    })
}

/// Writes the escapes of `part` in lower case and says whether a byte changed.
fn lower_escapes(part: &mut [u8]) -> bool {
    let (mut at, mut changed) = (0, false);
    while at + 2 < part.len() {
        if part[at] == b'%' {
            for digit in &mut part[at + 1..at + 3] {
                changed |= digit.is_ascii_uppercase();
                digit.make_ascii_lowercase();
            }
            at += 2;
        }
        at += 1;
    }
    changed
}

/// Inserts a segment before one of the slashes of `path` that RFC 3986 5.2.4 takes out again.
pub(super) fn insert_dot_segment(path: &mut Vec<u8>, random: &mut Random) {
    const SEGMENTS: [&[u8]; 6] = [b"/.", b"/tmp/..", b"/.", b"/a/b/../..", b"/%2e", b"/old/%2E%2e"];
    if let Some(at) = some_slash(path, random) {
        let segment: &[u8] = random.pick(&SEGMENTS);
        path.splice(at..at, segment.iter().copied());
    }
}

/// Doubles one of the slashes of `path`.
pub(super) fn double_slash(path: &mut Vec<u8>, random: &mut Random) {
    if let Some(at) = some_slash(path, random) {
        path.insert(at, b'/');
    }
}

fn some_slash(path: &[u8], random: &mut Random) -> Option<usize> {
    let slashes = || (0..path.len()).filter(|&at| path[at] == b'/');
    slashes().nth(random.position(slashes().count()))
}

/// Adds the slash at the end of `path`, or takes it away.
pub(super) fn toggle_slash(path: &mut Vec<u8>) {
    if path.last() == Some(&b'/') {
        path.pop();
    } else {
        path.push(b'/');
    }
}

/// Adds the name of an index page to `path`, or takes `index.php` away.
pub(super) fn toggle_index(path: &mut Vec<u8>, random: &mut Random) {
    if path.ends_with(b"/index.php") {
        path.truncate(path.len() - b"index.php".len());
    } else {
        let name: &[u8] = if random.percent(60) { b"index.html" } else { b"index.php" };
        path.extend_from_slice(name);
    }
}

/// Inserts an empty pair between two parameters of `query`, or after the last.
pub(super) fn insert_empty_pair(query: &mut Vec<u8>, random: &mut Random) {
    let joints = || (0..query.len()).filter(|&at| query[at] == b'&');
    let at = joints().nth(random.position(joints().count() + 1)).unwrap_or(query.len());
    query.insert(at, b'&');
}

/// Appends tracking parameters: one to three of Google's, or a click id.
pub(super) fn append_tracking(query: &mut Vec<u8>, random: &mut Random) {
    match random.below(10) {
        0 => {
            append_name(query, b"fbclid=IwAR");
            push_letters(query, 57, random);
        }
        1 => {
            append_name(query, b"gclid=Cj0KCQ");
            push_letters(query, 80, random);
            query.extend_from_slice(b"BwE");
        }
        _ => {
            let last = random.below(3);
            append_name(query, b"utm_source=");
            query.extend_from_slice(random.pick(&UTM_SOURCES).as_bytes());
            if last >= 1 {
                append_name(query, b"utm_medium=");
                query.extend_from_slice(random.pick(&UTM_MEDIUMS).as_bytes());
            }
            if last >= 2 {
                append_name(query, b"utm_campaign=");
                query.extend_from_slice(random.pick(&UTM_CAMPAIGNS).as_bytes());
            }
        }
    }
}

/// Appends a session id to `path` as servlets do, or to `query` as PHP does.
///
/// The path is left alone unless `path_allowed`.
pub(super) fn append_session(
    path: &mut Vec<u8>,
    query: &mut Vec<u8>,
    path_allowed: bool,
    random: &mut Random,
) {
    if path_allowed && random.percent(50) {
        path.extend_from_slice(b";jsessionid=");
        push_session(path, 32, b"0123456789ABCDEF", random);
    } else {
        append_name(query, b"PHPSESSID=");
        let len = if random.percent(50) { 26 } else { 32 };
        push_session(query, len, b"0123456789abcdef", random);
    }
}

fn append_name(query: &mut Vec<u8>, name: &[u8]) {
    if !query.is_empty() {
        query.push(b'&');
    }
    query.extend_from_slice(name);
}

fn push_hex(out: &mut Vec<u8>, len: usize, digits: &[u8; 16], random: &mut Random) {
    let mut bits = 0;
    for place in 0..len {
        if place % 16 == 0 {
            bits = random.bits();
        }
        out.push(digits[(bits & 15) as usize]);
        bits >>= 4;
    }
}

/// Appends `len` random `digits`, with a letter among them at least: a number alone is taken for no
/// session.
fn push_session(out: &mut Vec<u8>, len: usize, digits: &[u8; 16], random: &mut Random) {
    let start = out.len();
    push_hex(out, len, digits, random);
    if let [id @ .., last] = &mut out[start..]
        && id.iter().all(u8::is_ascii_digit)
        && last.is_ascii_digit()
    {
        *last = digits[10];
    }
}

/// Appends `len` digits of base64url without `-`.
fn push_letters(out: &mut Vec<u8>, len: usize, random: &mut Random) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_x";
    let mut bits = 0;
    for place in 0..len {
        if place % 10 == 0 {
            bits = random.bits();
        }
        out.push(DIGITS[(bits & 63) as usize]);
        bits >>= 6;
    }
}

/// A part of a URL that has two spellings of the same characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelled {
    /// Bytes outside ASCII in the path, raw or escaped.
    Path,
    /// Bytes outside ASCII in the query, raw or escaped.
    Query,
    /// Spaces in query values, `+` or `%20`.
    Space,
    /// Slashes in query values, `/` or `%2F`.
    Slash,
}

/// Does anything in the URL have two spellings, so that [`respell`] will change it?
pub(super) fn has_two_spellings(path: &[u8], query: &[u8]) -> bool {
    Choices::new(path, query).len > 0
}

/// Changes one of the parts that have two spellings to the other one. `spare` is any buffer.
pub(super) fn respell(
    path: &mut Vec<u8>,
    query: &mut Vec<u8>,
    spare: &mut Vec<u8>,
    random: &mut Random,
) {
    let choices = Choices::new(path, query);
    if choices.len == 0 {
        return;
    }
    match choices.items[random.position(choices.len)] {
        Spelled::Path => toggle_escapes(path, spare),
        Spelled::Query => toggle_escapes(query, spare),
        Spelled::Space => toggle_text(query, b'+', b"%20", spare),
        Spelled::Slash => toggle_text(query, b'/', b"%2F", spare),
    }
}

struct Choices {
    items: [Spelled; 4],
    len: usize,
}

impl Choices {
    fn new(path: &[u8], query: &[u8]) -> Self {
        let mut this = Choices { items: [Spelled::Path; 4], len: 0 };
        let holds = |raw: u8, escaped: &[u8]| {
            let is_escaped = |at: usize| query[at..].starts_with(escaped);
            memchr(raw, query).is_some() || memchr_iter(b'%', query).any(is_escaped)
        };
        for (spelled, found) in [
            (Spelled::Path, has_foreign(path)),
            (Spelled::Query, has_foreign(query)),
            (Spelled::Space, holds(b'+', b"%20")),
            (Spelled::Slash, holds(b'/', b"%2F")),
        ] {
            if found {
                this.items[this.len] = spelled;
                this.len += 1;
            }
        }
        this
    }
}

/// Does `part` hold a byte outside ASCII, raw or escaped in upper case?
fn has_foreign(part: &[u8]) -> bool {
    !part.is_ascii()
        || memchr_iter(b'%', part).any(|at| part.get(at + 1).copied().is_some_and(is_high))
}

/// Is `digit` the first of an escaped byte outside ASCII?
fn is_high(digit: u8) -> bool {
    matches!(digit, b'8' | b'9' | b'A'..=b'F')
}

fn toggle_escapes(part: &mut Vec<u8>, spare: &mut Vec<u8>) {
    spare.clear();
    if !part.is_ascii() {
        push_escaped(spare, part);
    } else {
        let mut at = 0;
        while at < part.len() {
            let escape = match part[at..] {
                [b'%', high, low, ..] if is_high(high) => hex::pair(high, low),
                _ => None,
            };
            spare.push(escape.unwrap_or(part[at]));
            at += if escape.is_some() { 3 } else { 1 };
        }
    }
    std::mem::swap(part, spare);
}

/// Writes `text` with every byte outside ASCII escaped in upper-case hexadecimal digits.
fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for &byte in text {
        if byte.is_ascii() {
            out.push(byte);
        } else {
            let [high, low] = hex::digits(byte);
            out.extend_from_slice(&[b'%', high, low]);
        }
    }
}

/// Replaces every `raw` by `escaped`, or the other way if there is no `raw`.
fn toggle_text(part: &mut Vec<u8>, raw: u8, escaped: &[u8], spare: &mut Vec<u8>) {
    spare.clear();
    let to_escaped = part.contains(&raw);
    let mut at = 0;
    while at < part.len() {
        if to_escaped && part[at] == raw {
            spare.extend_from_slice(escaped);
            at += 1;
        } else if !to_escaped && part[at..].starts_with(escaped) {
            spare.push(raw);
            at += escaped.len();
        } else {
            spare.push(part[at]);
            at += 1;
        }
    }
    std::mem::swap(part, spare);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::short::Short;

    /// What `edit` makes of `given` with a few hundred different draws: sorted, each once.
    fn all(given: &str, mut edit: impl FnMut(&mut Vec<u8>, &mut Random)) -> Vec<String> {
        let mut found: Vec<String> = (0..300)
            .map(|seed| {
                let mut part = given.as_bytes().to_vec();
                edit(&mut part, &mut Random::new(seed));
                String::from_utf8(part).unwrap()
            })
            .collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn path_edits() {
        assert_eq!(all("/a/b", double_slash), ["//a/b", "/a//b"]);
        assert_eq!(all("/", double_slash), ["//"]);
        assert_eq!(all("/a/", |path, _| toggle_slash(path)), ["/a"]);
        assert_eq!(all("/a", |path, _| toggle_slash(path)), ["/a/"]);
        assert_eq!(all("/a/", toggle_index), ["/a/index.html", "/a/index.php"]);
        assert_eq!(all("/w/index.php", toggle_index), ["/w/"]);
        assert_eq!(
            all("/", insert_dot_segment),
            ["/%2e/", "/./", "/a/b/../../", "/old/%2E%2e/", "/tmp/../"]
        );
        assert_eq!(all("/x/y", insert_dot_segment).len(), 10);
    }

    #[test]
    fn query_edits() {
        assert_eq!(all("a=1", insert_empty_pair), ["a=1&"]);
        assert_eq!(all("a=1&b=2", insert_empty_pair), ["a=1&&b=2", "a=1&b=2&"]);
        for query in all("", append_tracking) {
            assert!(["utm_", "fbcl", "gcli"].contains(&&query[..4]), "{query}");
        }
        assert!(all("a=1", append_tracking).iter().all(|query| query.starts_with("a=1&")));
    }

    #[test]
    fn escapes() {
        let escape =
            |path: &mut Vec<u8>, random: &mut Random| escape_one(path, &mut vec![], random);
        assert_eq!(all("/a~", escape), ["/%61~", "/a%7E"]);
        assert_eq!(all("/%2C", escape), ["/%2C", "/%2c"], "no digit of an escape is escaped");
        assert_eq!(all("/%20b", escape), ["/%20%62"], "digits without a case");
        let in_query =
            |query: &mut Vec<u8>, random: &mut Random| escape_one(&mut vec![b'/'], query, random);
        assert_eq!(all("a=1&b=%2B", in_query), ["a=%31&b=%2B", "a=1&b=%2b"]);
    }

    #[test]
    fn spellings() {
        let in_path = |path: &mut Vec<u8>, random: &mut Random| {
            respell(path, &mut vec![], &mut vec![], random);
        };
        assert_eq!(all("/é-%20", in_path), ["/%C3%A9-%20"]);
        assert_eq!(all("/%C3%A9-%20", in_path), ["/é-%20"]);
        assert_eq!(all("/a%20+", in_path), ["/a%20+"], "a space in a path has one spelling");
        let in_query = |query: &mut Vec<u8>, random: &mut Random| {
            respell(&mut vec![b'/'], query, &mut vec![], random);
        };
        assert_eq!(all("q=a+b", in_query), ["q=a%20b"]);
        assert_eq!(all("q=a%20b%20c", in_query), ["q=a+b+c"]);
        assert_eq!(all("d=a/b", in_query), ["d=a%2Fb"]);
        assert_eq!(all("d=a%2Fb&q=%C3%A9", in_query), ["d=a%2Fb&q=é", "d=a/b&q=%C3%A9"]);
        assert!(!has_two_spellings(b"/a%2C", b"q=a"));
    }

    #[test]
    fn sessions() {
        for (path_allowed, shapes) in [(true, 3), (false, 2)] {
            let mut seen = std::collections::BTreeSet::new();
            for seed in 0..100 {
                let (mut path, mut query) = (b"/a".to_vec(), b"b=1".to_vec());
                append_session(&mut path, &mut query, path_allowed, &mut Random::new(seed));
                seen.insert((path.len(), query.len()));
            }
            assert_eq!(seen.len(), shapes, "{seen:?}");
        }
    }

    #[test]
    fn a_session_has_a_letter() {
        let mut numbers = 0;
        for seed in 0..5_000 {
            let (mut hex, mut session) = (Vec::new(), Vec::new());
            push_hex(&mut hex, 6, b"0123456789abcdef", &mut Random::new(seed));
            push_session(&mut session, 6, b"0123456789abcdef", &mut Random::new(seed));
            let is_number = hex.iter().all(u8::is_ascii_digit);
            numbers += u32::from(is_number);
            assert_eq!(is_number, hex != session);
            assert!(session.iter().any(u8::is_ascii_alphabetic) && session[..5] == hex[..5]);
        }
        assert!(numbers > 100, "{numbers}");
    }

    #[test]
    fn origins() {
        let mut site = Site::of_host("ab.test");
        let spell = |site: &Site| {
            let parts = OriginParts { https: false, www: site.bare };
            all("", |line, random| push_origin(line, parts, site, random))
        };
        assert_eq!(
            spell(&site),
            [
                "HTTP://AB.TEST",
                "HTTP://ab.test",
                "http://AB.TEST",
                "http://Ab.tEsT",
                "http://Ab.test"
            ]
        );
        site.bare = true;
        assert!(spell(&site).contains(&"http://WWW.AB.TEST".to_owned()));
        site.address = Some([192, 0, 2, 7]);
        assert_eq!(
            spell(&site),
            ["http://0xc0000207", "http://192.0.519", "http://192.519", "http://3221225991"]
        );
        site = Site::of_host("é.test");
        site.host_other = Short::new("xn--9ca.test");
        assert_eq!(spell(&site), ["http://xn--9ca.test"]);
    }
}
