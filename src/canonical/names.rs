//! Lists of names that rules look up: parameters, session ids, index files, each with conditions.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;

/// Text of the built-in list of tracking parameters; every entry names its source.
const PARAMS: &str = include_str!("../../data/params.toml");
/// Text of the built-in list of session parameters.
const SESSIONS: &str = include_str!("../../data/session_ids.toml");
/// Text of the built-in list of directory index names.
const INDEX_NAMES: &str = include_str!("../../data/index_names.toml");

/// What the characters of a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Shape {
    /// `0` to `9`.
    Digits,
    /// Hexadecimal digits of either case.
    Hex,
    /// ASCII letters and digits.
    Alnum,
    /// ASCII letters, digits, and `_ . - !`.
    Token,
}

impl Shape {
    fn holds(self, byte: u8) -> bool {
        match self {
            Shape::Digits => byte.is_ascii_digit(),
            Shape::Hex => byte.is_ascii_hexdigit(),
            Shape::Alnum => byte.is_ascii_alphanumeric(),
            Shape::Token => byte.is_ascii_alphanumeric() || b"_.-!".contains(&byte),
        }
    }
}

/// Conditions on a parameter: a generic name counts only where one of them says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Condition {
    /// These hosts and their subdomains; empty: all hosts.
    hosts: Vec<String>,
    shape: Option<Shape>,
    /// Least and greatest length of the value in bytes.
    length: Option<(usize, usize)>,
    prefix: Option<String>,
    /// The value must hold a letter and a digit.
    mixed: bool,
}

impl Condition {
    fn holds(&self, host: &[u8], value: &[u8]) -> bool {
        (self.hosts.is_empty() || self.hosts.iter().any(|name| is_under(host, name.as_bytes())))
            && self.shape.is_none_or(|shape| value.iter().all(|byte| shape.holds(*byte)))
            && self.length.is_none_or(|(least, most)| (least..=most).contains(&value.len()))
            && self.prefix.as_ref().is_none_or(|prefix| value.starts_with(prefix.as_bytes()))
            && (!self.mixed
                || (value.iter().any(u8::is_ascii_digit)
                    && value.iter().any(u8::is_ascii_alphabetic)))
    }
}

/// Is `host` the host `name`, or below it? Case is ignored.
pub(super) fn is_under(host: &[u8], name: &[u8]) -> bool {
    let Some(before) = host.len().checked_sub(name.len()) else { return false };
    host[before..].eq_ignore_ascii_case(name) && (before == 0 || host[before - 1] == b'.')
}

/// Is `path` the path `prefix`, or below it?
fn is_below(path: &[u8], prefix: &[u8]) -> bool {
    let prefix = prefix.strip_suffix(b"/").unwrap_or(prefix);
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// Names to conditions, looked up without regard to ASCII case; a name may end in `*`.
#[derive(Clone, Debug, Default)]
struct Table {
    exact: HashMap<Box<[u8]>, Vec<Condition>, ahash::RandomState>,
    /// Lower-case prefixes with their conditions.
    prefixes: Vec<(Box<[u8]>, Vec<Condition>)>,
    outlines: Outlines,
    /// For the digest: the entries in the order they were added.
    text: String,
}

/// What the names of a table look like from afar. Most names of a list of URLs are told apart from
/// them here, before anything is hashed or compared.
#[derive(Clone, Debug)]
pub(super) struct Outlines {
    /// A bit for every outline (see [`Outlines::of`]) that an exact name has.
    exact: Box<[u64; 64]>,
    /// A bit for every two letters that a prefix starts with (see [`Outlines::start_of`]).
    starts: Box<[u64; 16]>,
}

impl Default for Outlines {
    fn default() -> Self {
        Outlines { exact: Box::new([0; 64]), starts: Box::new([0; 16]) }
    }
}

impl Outlines {
    /// Length, first and last byte of a name in twelve bits, without regard to ASCII case.
    #[inline]
    fn of(name: &[u8], first: u8) -> usize {
        let last = name[name.len() - 1] | 0x20;
        (usize::from(first | 0x20) * 61 + usize::from(last) * 1021 + name.len() * 127) % 4096
    }

    /// The first two bytes of a name in ten bits, without regard to ASCII case.
    #[inline]
    fn start_of(first: u8, second: u8) -> usize {
        usize::from(first & 31) << 5 | usize::from(second & 31)
    }

    pub(super) fn add_exact(&mut self, name: &[u8]) {
        let Some(&first) = name.first() else { return };
        let bit = Self::of(name, first);
        self.exact[bit / 64] |= 1 << (bit % 64);
    }

    fn add_prefix(&mut self, prefix: &[u8]) {
        match *prefix {
            [] => self.starts.fill(u64::MAX),
            [first] => (0..32).for_each(|second| self.add_start(first, second)),
            [first, second, ..] => self.add_start(first, second),
        }
    }

    fn add_start(&mut self, first: u8, second: u8) {
        let bit = Self::start_of(first, second);
        self.starts[bit / 64] |= 1 << (bit % 64);
    }

    fn merge(&mut self, other: &Outlines) {
        self.exact.iter_mut().zip(&*other.exact).for_each(|(word, more)| *word |= more);
        self.starts.iter_mut().zip(&*other.starts).for_each(|(word, more)| *word |= more);
    }

    /// Could `name` be in the table? Never says no where it is.
    #[inline]
    pub(super) fn may_have(&self, name: &[u8]) -> bool {
        let Some(&first) = name.first() else { return false };
        let bit = Self::of(name, first);
        let start = Self::start_of(first, name.get(1).copied().unwrap_or(0));
        (self.exact[bit / 64] >> (bit % 64) | self.starts[start / 64] >> (start % 64)) & 1 == 1
    }
}

impl Table {
    fn add(&mut self, name: &str, condition: Condition) {
        self.text.push_str(&format!("{name} {condition:?};"));
        let lower = name.to_ascii_lowercase();
        match lower.strip_suffix('*').map(str::as_bytes) {
            Some(stem) => {
                self.outlines.add_prefix(stem);
                match self.prefixes.iter_mut().find(|(known, _)| **known == *stem) {
                    Some((_, conditions)) => conditions.push(condition),
                    None => self.prefixes.push((stem.into(), vec![condition])),
                }
            }
            None if lower.is_empty() => {}
            None => {
                self.outlines.add_exact(lower.as_bytes());
                self.exact.entry(lower.as_bytes().into()).or_default().push(condition);
            }
        }
    }

    /// Does an entry for `name` hold for `value` on `host`?
    #[inline]
    fn matches(&self, host: &[u8], name: &[u8], value: &[u8]) -> bool {
        self.outlines.may_have(name)
            && (self.has_exact(host, name, value) || self.has_prefix(host, name, value))
    }

    #[inline(never)]
    fn has_exact(&self, host: &[u8], name: &[u8], value: &[u8]) -> bool {
        let mut buffer = [0; 64];
        let Some(lower) = buffer.get_mut(..name.len()) else { return false };
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        let conditions = self.exact.get(&*lower);
        conditions.is_some_and(|all| all.iter().any(|one| one.holds(host, value)))
    }

    #[inline(never)]
    fn has_prefix(&self, host: &[u8], name: &[u8], value: &[u8]) -> bool {
        self.prefixes.iter().any(|(prefix, conditions)| {
            name.len() >= prefix.len()
                && name[..prefix.len()].eq_ignore_ascii_case(prefix)
                && conditions.iter().any(|one| one.holds(host, value))
        })
    }
}

/// One entry of the lists in `data/`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), expect(dead_code, reason = "source and note are for people and tests"))]
struct Entry {
    name: String,
    /// Where the name is documented; for people.
    source: String,
    #[serde(default)]
    note: String,
    /// Session lists: `query` or `path`.
    #[serde(default, rename = "where")]
    place: Option<Place>,
    #[serde(default)]
    hosts: Vec<String>,
    shape: Option<Shape>,
    length: Option<(usize, usize)>,
    prefix: Option<String>,
    #[serde(default)]
    mixed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Place {
    Query,
    Path,
}

impl Entry {
    fn condition(self) -> Condition {
        Condition {
            hosts: self.hosts,
            shape: self.shape,
            length: self.length,
            prefix: self.prefix,
            mixed: self.mixed,
        }
    }
}

#[derive(Deserialize)]
struct ParamFile {
    param: Vec<Entry>,
}

#[derive(Deserialize)]
struct SessionFile {
    session: Vec<Entry>,
}

#[derive(Deserialize)]
struct IndexFile {
    names: Vec<String>,
}

/// Parameters that do not matter: the deny-list of rule `params`.
#[derive(Clone, Debug, Default)]
pub struct ParamNames(Table);

impl ParamNames {
    /// The list of tracking parameters in `data/params.toml`.
    pub fn built_in() -> Arc<ParamNames> {
        static LIST: LazyLock<Arc<ParamNames>> = LazyLock::new(|| {
            let file: ParamFile = toml::from_str(PARAMS).expect("tested: the list parses");
            let mut names = ParamNames::default();
            for entry in file.param {
                names.0.add(&entry.name.clone(), entry.condition());
            }
            Arc::new(names)
        });
        LIST.clone()
    }

    /// Adds `name` for every host; it may end in `*`.
    pub fn add(&mut self, name: &str) {
        self.0.add(name, Condition::default());
    }

    /// What its names look like.
    pub(super) fn add_outlines(&self, outlines: &mut Outlines) {
        outlines.merge(&self.0.outlines);
    }

    /// Is the parameter `name=value` on `host` one that does not matter?
    #[inline]
    pub fn matches(&self, host: &[u8], name: &[u8], value: &[u8]) -> bool {
        self.0.matches(host, name, value)
    }

    pub(super) fn describe(&self) -> String {
        self.0.text.clone()
    }
}

/// Session ids, by name and shape of their value.
#[derive(Clone, Debug, Default)]
pub struct SessionNames {
    query: Table,
    path: Table,
}

impl SessionNames {
    /// The list in `data/session_ids.toml`.
    pub fn built_in() -> Arc<SessionNames> {
        static LIST: LazyLock<Arc<SessionNames>> = LazyLock::new(|| {
            let file: SessionFile = toml::from_str(SESSIONS).expect("tested: the list parses");
            let mut names = SessionNames::default();
            for entry in file.session {
                let table = match entry.place {
                    Some(Place::Path) => &mut names.path,
                    _ => &mut names.query,
                };
                table.add(&entry.name.clone(), entry.condition());
            }
            Arc::new(names)
        });
        LIST.clone()
    }

    /// What the names of its query parameters look like.
    pub(super) fn add_outlines(&self, outlines: &mut Outlines) {
        outlines.merge(&self.query.outlines);
    }

    /// Is the query parameter `name=value` a session id?
    #[inline]
    pub fn matches_query(&self, name: &[u8], value: &[u8]) -> bool {
        self.query.matches(b"", name, value)
    }

    /// Is the path parameter `;name=value` a session id?
    pub fn matches_path(&self, name: &[u8], value: &[u8]) -> bool {
        self.path.matches(b"", name, value)
    }

    pub(super) fn describe(&self) -> String {
        format!("{} / {}", self.query.text, self.path.text)
    }
}

/// Names of files that a server shows for their directory, lower-case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexNames(Vec<Box<[u8]>>);

impl IndexNames {
    /// The list in `data/index_names.toml`.
    pub fn built_in() -> Arc<IndexNames> {
        static LIST: LazyLock<Arc<IndexNames>> = LazyLock::new(|| {
            let file: IndexFile = toml::from_str(INDEX_NAMES).expect("tested: the list parses");
            Arc::new(IndexNames::new(&file.names))
        });
        LIST.clone()
    }

    /// Just these names.
    pub fn new(names: &[String]) -> IndexNames {
        IndexNames(
            names
                .iter()
                .filter(|name| !name.is_empty())
                .map(|name| name.to_ascii_lowercase().into_bytes().into())
                .collect(),
        )
    }

    /// Is `segment` one of the names, in any case?
    #[inline]
    pub(super) fn contains(&self, segment: &[u8]) -> bool {
        // Bet: nearly no last segment starts like one of the names.
        matches!(segment.first(), Some(byte) if self.0.iter().any(|name| {
            name[0] == byte.to_ascii_lowercase() && segment.eq_ignore_ascii_case(name)
        }))
    }
}

/// Where an entry of the user's applies: everywhere, on a host and below, under a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// This host and its subdomains; empty: every host.
    pub host: String,
    /// This path and everything below it; empty: every path.
    pub path: String,
}

impl Scope {
    fn holds(&self, host: &[u8], path: &[u8]) -> bool {
        (self.host.is_empty() || is_under(host, self.host.as_bytes()))
            && (self.path.is_empty() || is_below(path, self.path.as_bytes()))
    }
}

/// Expected parameters: where an entry's scope holds, everything else goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeepParams(Vec<(Scope, Vec<String>)>);

impl KeepParams {
    /// Adds expected `names` for `scope`.
    pub fn add(&mut self, scope: Scope, names: Vec<String>) {
        self.0.push((scope, names));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does `name` go on this host and path? Where no scope holds, everything stays.
    pub(super) fn drops(&self, host: &[u8], path: &[u8], name: &[u8]) -> bool {
        let mut scopes = self.0.iter().filter(|(scope, _)| scope.holds(host, path)).peekable();
        scopes.peek().is_some()
            && !scopes.any(|(_, names)| names.iter().any(|keep| keep.as_bytes() == name))
    }
}

/// Default values of parameters: where an entry's scope holds, `name=value` says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultParams(Vec<(Scope, String, String)>);

impl DefaultParams {
    /// Adds: in `scope`, the parameter `name` has the default `value`.
    pub fn add(&mut self, scope: Scope, name: String, value: String) {
        self.0.push((scope, name, value));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn matches(&self, host: &[u8], path: &[u8], name: &[u8], value: &[u8]) -> bool {
        self.0.iter().any(|(scope, known, default)| {
            known.as_bytes() == name && default.as_bytes() == value && scope.holds(host, path)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_names_its_source() {
        let params: ParamFile = toml::from_str(PARAMS).unwrap();
        let sessions: SessionFile = toml::from_str(SESSIONS).unwrap();
        assert!(params.param.len() > 50 && sessions.session.len() > 5);
        for entry in params.param.iter().chain(&sessions.session) {
            assert!(entry.source.starts_with("http"), "{entry:?}");
            assert!(!entry.note.is_empty(), "{entry:?}");
            assert!(entry.name.trim_end_matches('*').len() < 64, "{entry:?}");
        }
        for entry in &sessions.session {
            assert!(entry.shape.is_some() && entry.length.is_some(), "needs a shape: {entry:?}");
            assert!(entry.place.is_some(), "{entry:?}");
        }
        assert!(IndexNames::built_in().contains(b"Index.HTML"));
    }

    #[test]
    fn short_generic_names_have_conditions() {
        let params: ParamFile = toml::from_str(PARAMS).unwrap();
        for entry in params.param {
            let name = entry.name.clone();
            let condition = entry.condition();
            if name.trim_end_matches('*').len() <= 2 {
                assert_ne!(condition, Condition::default(), "{name} is too generic");
            }
        }
    }

    #[test]
    fn look_up() {
        let mut names = ParamNames::default();
        names.add("utm_*");
        names.add("GCLID");
        for (name, expected) in [
            (&b"utm_source"[..], true),
            (b"UTM_SOURCE", true),
            (b"utm_", true),
            (b"utm", false),
            (b"gclid", true),
            (b"gclid2", false),
            (b"", false),
        ] {
            assert_eq!(names.matches(b"a.test", name, b"x"), expected);
        }
        let long = [b'u'; 100];
        assert!(!names.matches(b"a.test", &long, b""));
    }

    #[test]
    fn scopes() {
        let mut keep = KeepParams::default();
        let scope = |host: &str, path: &str| Scope { host: host.into(), path: path.into() };
        keep.add(scope("a.test", "/display"), vec!["id".into()]);
        assert!(keep.drops(b"a.test", b"/display", b"x"));
        assert!(keep.drops(b"www.a.test", b"/display/b", b"x"));
        assert!(!keep.drops(b"a.test", b"/display", b"id"));
        assert!(!keep.drops(b"a.test", b"/displays", b"x"));
        assert!(!keep.drops(b"ba.test", b"/display", b"x"));
    }

    #[test]
    fn session_shapes() {
        let names = SessionNames::built_in();
        for (name, value, expected) in [
            ("PHPSESSID", "0123456789abcdef0123456789abcdef", true),
            ("phpsessid", "0123456789abcdef0123456789abcdef", true),
            ("sid", "fedcba98", true),
            ("sid", "12345678", false),
            ("s", "news", false),
            ("session", "morning", false),
            ("PHPSESSID", "", false),
        ] {
            assert_eq!(names.matches_query(name.as_bytes(), value.as_bytes()), expected, "{name}");
        }
        assert!(names.matches_path(b"jsessionid", b"ABC123"));
        assert!(!names.matches_path(b"v", b"1.1"));
    }
}
