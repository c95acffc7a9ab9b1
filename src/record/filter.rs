//! Which records count: by status, method, time, host and path.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::memmem;

use super::assemble::without_no_host;
use super::fields::time;
use super::found::Fields;
use crate::error::{Error, Result};
use crate::parts;

/// Conditions for records. A record that lacks a field fails every condition on that field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFilter {
    /// Accepted statuses, as `200` or `3xx`; any if empty.
    pub statuses: Vec<StatusRange>,
    /// Accepted methods, compared without case; any if empty.
    pub methods: Vec<Vec<u8>>,
    /// Not before, in Unix seconds.
    pub since: Option<i64>,
    /// Before, in Unix seconds.
    pub until: Option<i64>,
    /// Patterns of which one has to match; any URL if empty.
    pub include: UrlGlobs,
    /// Patterns of URLs that do not count.
    pub exclude: UrlGlobs,
}

/// Statuses from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusRange(u16, u16);

impl StatusRange {
    /// Reads `200`, `3xx` or `200-299`.
    ///
    /// Failure: a configuration error for anything else. It says what was expected; the caller adds
    /// where `text` was given.
    pub fn parse(text: &str) -> Result<StatusRange> {
        let wrong =
            || Error::config("expected a status, a class or a range, such as 200, 3xx or 200-299");
        let number = |text: &str| {
            text.parse().ok().filter(|status| (100..=999).contains(status)).ok_or_else(wrong)
        };
        if let Some(class) = text.strip_suffix("xx").filter(|class| class.len() == 1) {
            let first = number(&format!("{class}00"))?;
            return Ok(StatusRange(first, first + 99));
        }
        match text.split_once('-') {
            Some((first, last)) => match (number(first)?, number(last)?) {
                (first, last) if first <= last => Ok(StatusRange(first, last)),
                _ => Err(wrong()),
            },
            None => number(text).map(|status| StatusRange(status, status)),
        }
    }
}

/// A pattern for host and path, in which `*` matches any run of bytes. A pattern with a `?` also
/// concerns the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlGlob {
    /// In lower case; `None` matches any, and a URL without scheme.
    scheme: Option<Vec<u8>>,
    /// `None` matches any host, or the host is the key in [`UrlGlobs`].
    host: Option<Glob>,
    /// `None` matches any path.
    path: Option<Glob>,
    /// Is the query compared, too?
    with_query: bool,
}

impl UrlGlob {
    /// Reads `HOST`, `/PATH` or `HOST/PATH`: `*.example.com`, `/wp-admin/*`, `example.com/shop/*`,
    /// maybe followed by a query: `/search?q=*`, and maybe with a scheme:
    /// `https://*.example.com`.
    pub fn parse(text: &str) -> Result<UrlGlob> {
        let scheme = parts::scheme_length(text.as_bytes())
            .filter(|length| text[*length..].starts_with("://"));
        let (scheme, rest) = match scheme {
            Some(length) => (text[..length].to_ascii_lowercase(), &text[length + 3..]),
            None => (String::new(), text.strip_prefix("*://").unwrap_or(text)),
        };
        if rest.is_empty() {
            return Err(Error::config(
                "an empty pattern; expected a host, a path or both, such as *.example.com/shop/*",
            ));
        }
        let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if parts::host_length(host.as_bytes()) < host.len()
            || host.contains(|char| matches!(char, '@' | ',' | ';' | '\0'..=' '))
        {
            let shown = parts::without_userinfo(text.as_bytes());
            let shown = String::from_utf8_lossy(&shown);
            return Err(Error::config(format!(
                "pattern \"{shown}\": expected a host without user and port, a path or both, such as \
                 *.example.com/shop/*; more than one pattern by giving the flag more than once"
            )));
        }
        let host = host.trim_end_matches('.');
        let with_query = path.contains('?');
        // A query alone matches any path.
        let path = if path.starts_with('?') { format!("*{path}") } else { path.to_string() };
        let part = |text: &str| (!text.is_empty()).then(|| Glob::new(text.as_bytes()));
        Ok(UrlGlob {
            scheme: (!scheme.is_empty()).then(|| scheme.into_bytes()),
            host: part(&host.to_ascii_lowercase()),
            path: part(&path),
            with_query,
        })
    }

    fn matches(&self, places: &Places) -> bool {
        let target = &*places.target;
        let path = if self.with_query { target } else { &target[..places.path_end] };
        let fits = |pattern: &Option<Glob>, text| {
            pattern.as_ref().is_none_or(|pattern| pattern.matches(text))
        };
        self.scheme.as_ref().is_none_or(|scheme| scheme.eq_ignore_ascii_case(places.scheme))
            && fits(&self.host, &places.host)
            && fits(&self.path, path)
    }
}

/// Patterns of which one has to match. There may be many, for many hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UrlGlobs {
    /// The patterns for one host, by its name.
    of_hosts: HashMap<Vec<u8>, Vec<UrlGlob>, ahash::RandomState>,
    /// The patterns for all hosts below a domain, by its name.
    below: HashMap<Vec<u8>, Vec<UrlGlob>, ahash::RandomState>,
    /// Bytes of the longest of these names.
    below_bytes_max: usize,
    /// The patterns for any host, and for all whose names match.
    others: Vec<UrlGlob>,
}

impl FromIterator<UrlGlob> for UrlGlobs {
    fn from_iter<I: IntoIterator<Item = UrlGlob>>(all: I) -> UrlGlobs {
        let mut globs = UrlGlobs::default();
        for mut one in all {
            let same_place = match one.host.take() {
                Some(Glob { start, end: None, .. }) => globs.of_hosts.entry(start).or_default(),
                Some(Glob { start, inner, end: Some(end) })
                    if start.is_empty() && inner.is_empty() && end.starts_with(b".") =>
                {
                    let above = end[1..].to_vec();
                    globs.below_bytes_max = globs.below_bytes_max.max(above.len());
                    globs.below.entry(above).or_default()
                }
                host => {
                    one.host = host;
                    &mut globs.others
                }
            };
            same_place.push(one);
        }
        globs
    }
}

impl UrlGlobs {
    fn is_empty(&self) -> bool {
        self.of_hosts.is_empty() && self.below.is_empty() && self.others.is_empty()
    }

    fn match_any(&self, places: &Places) -> bool {
        let host = &places.host;
        let of_host = self.of_hosts.get(host).into_iter().flatten();
        // Names longer than any in the table are not looked up, which bounds the number of
        // look-ups.
        let labels = &host[host.len().saturating_sub(self.below_bytes_max + 1)..];
        let above = memchr::memchr_iter(b'.', labels).map(|dot| &labels[dot + 1..]);
        let below = above.filter_map(|host| self.below.get(host)).flatten();
        of_host.chain(below).chain(&self.others).any(|one| one.matches(places))
    }
}

/// A pattern in which `*` matches any run of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Glob {
    /// The text before the first star, or all of it if there is none.
    start: Vec<u8>,
    /// The texts between stars.
    inner: Vec<Vec<u8>>,
    /// The text after the last star.
    end: Option<Vec<u8>>,
}

impl Glob {
    fn new(pattern: &[u8]) -> Glob {
        let mut pieces = pattern.split(|byte| *byte == b'*').map(<[u8]>::to_vec);
        let start = pieces.next().unwrap_or_default();
        let mut inner: Vec<Vec<u8>> = pieces.collect();
        let end = inner.pop();
        Glob { start, inner, end }
    }

    /// Does it match all of `text`? Linear in both.
    fn matches(&self, text: &[u8]) -> bool {
        // Bet: most texts begin in another way.
        let Some(rest) = text.strip_prefix(&self.start[..]) else { return false };
        let Some(end) = &self.end else { return rest.is_empty() };
        let Some(mut rest) = rest.strip_suffix(&end[..]) else { return false };
        // Each text between stars matches where it occurs first.
        self.inner.iter().all(|piece| {
            let found = memmem::find(rest, piece);
            rest = found.map_or(b"", |at| &rest[at + piece.len()..]);
            found.is_some()
        })
    }
}

impl RecordFilter {
    /// Does every record count?
    pub fn is_empty(&self) -> bool {
        *self == RecordFilter::default()
    }

    /// Does the record with this URL and these fields count?
    pub fn admits(&self, url: &[u8], fields: &Fields) -> bool {
        self.admits_status(fields.status)
            && self.admits_method(fields.method)
            && self.admits_time(fields)
            && self.admits_url(url)
    }

    fn admits_status(&self, status: &[u8]) -> bool {
        self.statuses.is_empty()
            || fields_number(status).is_some_and(|status| {
                self.statuses.iter().any(|range| (range.0..=range.1).contains(&status))
            })
    }

    fn admits_method(&self, method: &[u8]) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|one| one.eq_ignore_ascii_case(method))
    }

    fn admits_time(&self, fields: &Fields) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        time::parse(fields.time, fields.clock).is_some_and(|time| {
            self.since.is_none_or(|since| time >= since)
                && self.until.is_none_or(|until| time < until)
        })
    }

    fn admits_url(&self, url: &[u8]) -> bool {
        if self.include.is_empty() && self.exclude.is_empty() {
            return true;
        }
        let places = Places::of(url);
        (self.include.is_empty() || self.include.match_any(&places))
            && !self.exclude.match_any(&places)
    }
}

fn fields_number(text: &[u8]) -> Option<u16> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The parts of a URL that patterns are compared with.
struct Places<'a> {
    /// The scheme; empty if there is none.
    scheme: &'a [u8],
    /// The host, in lower case.
    host: Vec<u8>,
    /// The path and the query, without the fragment.
    target: Cow<'a, [u8]>,
    /// Where the path ends in `target`.
    path_end: usize,
}

impl Places<'_> {
    /// Finds the parts of `url`. In a line without a scheme, the host is what looks like one, as in
    /// profiles that accept such lines. After `http:` and the like, any number of slashes counts as
    /// two, a backslash as a slash, and an empty path as `/`, as in browsers and profiles. A path
    /// without a known host has neither host nor scheme.
    fn of(url: &[u8]) -> Places<'_> {
        let url = url.trim_ascii_start();
        let path = without_no_host(url);
        if path.len() < url.len() {
            return Places::without_host(path);
        }
        let (scheme, behind) = match parts::scheme_length(url) {
            Some(length) => (&url[..length], &url[length + 1..]),
            None => (&url[..0], url),
        };
        let is_web = parts::is_web_scheme(scheme);
        let slashes = behind.iter().take_while(|byte| b"/\\".contains(byte)).count();
        let (authority, rest) = match behind.strip_prefix(b"//") {
            _ if is_web => authority_of(&behind[slashes..]),
            Some(rest) => authority_of(rest),
            None if parts::starts_with_host(url) => authority_of(url),
            None => (&url[..0], url),
        };
        let host = &authority[memchr::memrchr(b'@', authority).map_or(0, |at| at + 1)..];
        let host = &host[..parts::host_length(host)];
        let host = host.strip_suffix(b".").unwrap_or(host).to_ascii_lowercase();
        let target = &rest[..memchr::memchr(b'#', rest).unwrap_or(rest.len())];
        let target = match target {
            [] | [b'?', ..] if !host.is_empty() => Cow::Owned([b"/", target].concat()),
            _ if is_web || scheme.is_empty() => with_slashes(target),
            _ => Cow::Borrowed(target),
        };
        let path_end = end_of_path(&target);
        Places { scheme, host, target, path_end }
    }

    /// Finds the parts of a path without a host, even if it begins like a host (`//a`).
    fn without_host(path: &[u8]) -> Places<'_> {
        let target = &path[..memchr::memchr(b'#', path).unwrap_or(path.len())];
        let target = with_slashes(target);
        let path_end = end_of_path(&target);
        Places { scheme: b"", host: Vec::new(), target, path_end }
    }
}

/// Returns `target` with slashes in its path where it has backslashes.
fn with_slashes(target: &[u8]) -> Cow<'_, [u8]> {
    let path = &target[..end_of_path(target)];
    if memchr::memchr(b'\\', path).is_none() {
        return Cow::Borrowed(target);
    }
    let mut target = target.to_vec();
    target[..path.len()].iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
    Cow::Owned(target)
}

/// Returns where the path ends in `target`, a path and perhaps a query.
fn end_of_path(target: &[u8]) -> usize {
    memchr::memchr(b'?', target).unwrap_or(target.len())
}

/// Splits `text` into the authority at its start and what follows it.
fn authority_of(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| b"/?#\\".contains(byte));
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abbcd", false),
            ("*b*", "abc", true),
            ("a**c", "ac", true),
            ("abc", "ab", false),
            ("a*a", "a", false),
            ("ab*bc", "abc", false),
            ("a*b*b*c", "abc", false),
            ("a*b*b*c", "abbc", true),
            ("*a*ab*", "aab", true),
            ("*aab*", "aaab", true),
            ("*b*a*", "ab", false),
            ("**", "", true),
        ] {
            let glob = Glob::new(pattern.as_bytes());
            assert_eq!(glob.matches(text.as_bytes()), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn long_texts_take_no_longer_than_they_are() {
        let start = std::time::Instant::now();
        let (text, piece) = ("a".repeat(1_000_000), "a".repeat(500_000));
        assert!(!Glob::new(format!("*{piece}b*").as_bytes()).matches(text.as_bytes()));
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    #[test]
    fn many_patterns() {
        let of_hosts = (0..100_000).flat_map(|n| [format!("w{n}.test"), format!("*.v{n}.test")]);
        let all = of_hosts.chain(["*.b.test/x", "a.test/x/*", "a.test/y", "/z"].map(String::from));
        let exclude = all.map(|text| UrlGlob::parse(&text).unwrap()).collect();
        let filter = RecordFilter { exclude, ..RecordFilter::default() };
        let start = std::time::Instant::now();
        for _ in 0..20_000 {
            for (url, expected) in [
                ("http://w77777.test/", false),
                ("http://w100000.test/", true),
                ("http://W7.test./x", false),
                ("http://a.v77777.test/", false),
                ("http://a.b.v7.test/", false),
                ("http://v7.test/", true),
                ("http://www.b.test/x", false),
                ("http://www.b.test/y", true),
                ("http://b.test/x", true),
                ("http://a.test/x/y", false),
                ("http://a.test/y", false),
                ("http://a.test/x", true),
                ("http://c.test/z?q", false),
            ] {
                assert_eq!(filter.admits(url.as_bytes(), &Fields::default()), expected, "{url}");
            }
        }
        let url = format!("http://{}/", "a.".repeat(1_000_000));
        assert!(filter.admits(url.as_bytes(), &Fields::default()));
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    #[test]
    fn urls() {
        for (pattern, url, expected) in [
            ("*.a.test", "http://www.A.test/x", true),
            ("*.a.test", "http://a.test/x", false),
            ("/x/*", "http://a.test/x/y?z", true),
            ("/x/*", "http://a.test/y?z=/x/", false),
            ("a.test/x*", "https://a.test:8080/xy", true),
            ("https://a.test/x*", "HTTPS://a.test/xy", true),
            ("HTTPS://a.test/x*", "http://a.test/xy", false),
            ("https://*", "https://a.test", true),
            ("https://*", "http://a.test", false),
            ("http://a.test", "a.test/x", false),
            ("*://a.test", "a.test/x", true),
            // What looks like a scheme further on is none.
            ("/login?next=http://*", "http://a.test/login?next=http://b.test/", true),
            ("/login?next=http://*", "http://a.test/item", false),
            ("/web/*/http://b.test/*", "http://a.test/web/2020/http://b.test/c", true),
            ("/web/*/http://b.test/*", "http://b.test/c", false),
            ("a.test/r/http://b.test", "http://a.test/r/http://b.test", true),
            // An empty path is the root.
            ("a.test/*", "http://a.test", true),
            ("a.test/", "http://a.test?q", true),
            ("/?q", "http://a.test?q#f", true),
            ("/", "//a.test", true),
            ("/", "a.test", true),
            ("/*", "mailto:x@a.test", false),
            ("/", "http://a.test/?q", true),
            ("/search?q=*", "http://a.test/search?q=x#f", true),
            ("/search?q=*", "http://a.test/search", false),
            ("a.test?*id=*", "http://a.test/x/y?a=1&id=2", true),
            ("/*?*", "http://a.test/x", false),
            ("/*?*", "http://a.test/x?", true),
            ("A.test", "http://u:p@a.test:80/x", true),
            ("[::1]", "http://[::1]:80/x", true),
            // Without a scheme.
            ("a.test/x*", "a.test/xy?z", true),
            ("a.test", "a.test:8080/x", true),
            ("/x/*", "www.a.test/x/y", true),
            ("a.test/x", "//a.test/x#f", true),
            ("/x", "//a.test/x", true),
            ("/x", "/x?q", true),
            ("a.test", "/a.test", false),
            ("a*", "a/b", false),
            ("a.test", "a.test/r?u=http://b.test/", true),
            ("/r", "/r?u=http://b.test/", true),
            // One host, whatever hides it.
            ("a.test", "http://a.test\\@b.test/x", true),
            ("b.test", "http://a.test\\@b.test/x", false),
            ("a.test", "http:/a.test/x", true),
            ("a.test", "https:a.test/x", true),
            ("a.test", "http:\\\\a.test/x", true),
            ("a.test", "http://a.test./x", true),
            ("a.test.", "http://a.test/x", true),
            ("a.test", "http://u:p@b.test@a.test/x", true),
            ("a.test", "mailto:x@a.test", false),
            ("/wp-admin/*", "http:\\\\a.test\\wp-admin\\x", true),
            ("/a?b\\c", "http://a.test\\a?b\\c", true),
            ("/x/y", "/x\\y", true),
            ("/x/y", "other:/x\\y", false),
        ] {
            let glob = UrlGlob::parse(pattern).unwrap();
            let include = RecordFilter {
                include: [glob.clone()].into_iter().collect(),
                ..RecordFilter::default()
            };
            let exclude =
                RecordFilter { exclude: [glob].into_iter().collect(), ..RecordFilter::default() };
            let fields = Fields::default();
            assert_eq!(include.admits(url.as_bytes(), &fields), expected, "{pattern} {url}");
            assert_eq!(exclude.admits(url.as_bytes(), &fields), !expected, "{pattern} {url}");
        }
        for wrong in ["", "a.test:80", "u@a.test", "a.test,b.test", "a.test b.test"] {
            assert!(UrlGlob::parse(wrong).unwrap_err().is_config(), "{wrong}");
        }
        // Of some letters the last byte of the number is that of a mark.
        for right in ["[::1]/a,b:c@d", "\u{13b}iepaja.lv", "https://\u{140}.lv", "\u{12c}.test"] {
            assert!(UrlGlob::parse(right).is_ok(), "{right}");
        }
        for (wrong, shown) in [
            ("https://a,b/c", "pattern \"https://a,b/c\": "),
            ("https://u:pw@a.test", "pattern \"https://\u{2026}@a.test\": "),
        ] {
            let told = UrlGlob::parse(wrong).unwrap_err().to_string();
            assert!(told.contains(shown), "{told}");
        }
    }

    #[test]
    fn paths_without_a_host_have_no_scheme() {
        for (pattern, path, expected) in [
            ("http://*", "/a", false),
            ("http:///a", "/a", false),
            ("*.invalid", "/a", false),
            ("*://*", "/a", true),
            ("*", "/a", true),
            ("/a", "/a?q", true),
            ("/a/*", "/a\\b", true),
            ("//b/*", "//b/c", true),
            ("b", "//b/c", false),
        ] {
            let include = [UrlGlob::parse(pattern).unwrap()].into_iter().collect();
            let filter = RecordFilter { include, ..RecordFilter::default() };
            let url = [crate::record::NO_HOST, path.as_bytes()].concat();
            assert_eq!(filter.admits(&url, &Fields::default()), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn fields() {
        let filter = RecordFilter {
            statuses: vec![StatusRange::parse("2xx").unwrap(), StatusRange::parse("301").unwrap()],
            methods: vec![b"get".to_vec()],
            since: Some(1_000),
            until: Some(2_000),
            ..RecordFilter::default()
        };
        for (status, method, time, expected) in [
            ("200", "GET", "1000", true),
            ("301", "GET", "1999", true),
            ("302", "GET", "1999", false),
            ("200", "POST", "1999", false),
            ("200", "GET", "2000", false),
            ("200", "GET", "", false),
            ("", "GET", "1000", false),
        ] {
            let (status, method, time) = (status.as_bytes(), method.as_bytes(), time.as_bytes());
            let fields = Fields { status, method, time, ..Fields::default() };
            assert_eq!(filter.admits(b"", &fields), expected);
        }
        assert_eq!(StatusRange::parse("200-204").unwrap(), StatusRange(200, 204));
        for wrong in ["", "x", "20", "6", "200-", "2x", "300-200"] {
            let error = StatusRange::parse(wrong).unwrap_err();
            assert!(error.is_config() && error.to_string().starts_with("expected"), "{wrong}");
        }
    }
}
