//! Lists of names that rules look up: parameters, session ids, index files, each with conditions.

mod outlines;
mod scoped;
mod suspects;
mod table;

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use crate::bytes::bits::{BitSet, few_bits, folded};
use crate::bytes::first_word;

pub(super) use outlines::Outlines;
pub use scoped::{DefaultParams, KeepParams, Scope};
use suspects::Lookout;
pub(super) use suspects::Suspects;
use table::{Condition, Hosts, Shape, Table};

/// Text of the built-in list of tracking parameters; every entry names its source.
const PARAMS: &str = include_str!("../../data/params.toml");
/// Text of the built-in list of session parameters.
const SESSIONS: &str = include_str!("../../data/session_ids.toml");
/// Text of the built-in list of directory index names.
const INDEX_NAMES: &str = include_str!("../../data/index_names.toml");

/// Is `host` the host `name`, or below it? Case is ignored, and the dot of an absolute name.
pub(super) fn is_under(host: &[u8], name: &[u8]) -> bool {
    let host = host.strip_suffix(b".").unwrap_or(host);
    let Some(before) = host.len().checked_sub(name.len()) else { return false };
    (before == 0 || host[before - 1] == b'.') && host[before..].eq_ignore_ascii_case(name)
}

/// Is `path` the path `prefix`, or below it?
pub(super) fn is_below(path: &[u8], prefix: &[u8]) -> bool {
    let prefix = prefix.strip_suffix(b"/").unwrap_or(prefix);
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
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
            hosts: Hosts::new(self.hosts),
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

/// What a list has: a name, or what names start with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    Name(String),
    Start(String),
}

impl Listed {
    /// Reads an entry of a list, where a `*` at the end stands for the rest of the name.
    fn read(text: &str) -> Listed {
        match text.strip_suffix('*') {
            Some(start) => Listed::Start(start.to_string()),
            None => Listed::Name(text.to_string()),
        }
    }

    /// Returns the entry as digests know it: a `*` that is a part of the name is escaped.
    fn describe(&self) -> String {
        match self {
            Listed::Start(start) => format!("{start}*"),
            Listed::Name(name) => match name.strip_suffix('*') {
                Some(start) => format!("{start}%2A"),
                None => name.clone(),
            },
        }
    }
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

    /// Adds `listed` for `host` and its subdomains, or for every host if that is empty.
    pub(super) fn add_on(&mut self, host: &str, listed: &Listed) {
        let hosts = [host].into_iter().filter(|host| !host.is_empty()).map(String::from);
        let hosts = Hosts::new(hosts.collect());
        self.0.add_listed(listed, Condition { hosts, ..Condition::default() });
    }

    /// Is the parameter `name=value` on `host` one that does not matter?
    pub fn matches(&self, host: &[u8], name: &[u8], value: &[u8]) -> bool {
        self.0.matches(first_word(name, 0, name.len()), host, name, value)
    }

    pub(super) fn describe(&self) -> String {
        self.0.text().to_owned()
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

    /// Is the query parameter `name=value` a session id?
    pub fn matches_query(&self, name: &[u8], value: &[u8]) -> bool {
        self.query.matches(first_word(name, 0, name.len()), b"", name, value)
    }

    /// Is the path parameter `;name=value` a session id?
    pub fn matches_path(&self, name: &[u8], value: &[u8]) -> bool {
        self.path.matches(first_word(name, 0, name.len()), b"", name, value)
    }

    pub(super) fn describe(&self) -> String {
        format!("{} / {}", self.query.text(), self.path.text())
    }
}

/// Parameters of queries that are dropped, by whichever rule.
#[derive(Clone, Debug)]
pub(super) struct Unwanted {
    table: Table,
    lookout: Lookout,
}

impl Unwanted {
    pub(super) fn new(params: Option<&ParamNames>, sessions: Option<&SessionNames>) -> Unwanted {
        let mut table = Table::default();
        for names in params.map(|names| &names.0).into_iter().chain(sessions.map(|s| &s.query)) {
            table.merge(names);
        }
        let lookout = Lookout::new(&table);
        Unwanted { table, lookout }
    }

    /// Which of them there may be on `host`.
    #[inline(always)]
    pub(super) fn suspects(&self, host: &[u8]) -> &Suspects {
        self.lookout.on(host)
    }

    /// Is the parameter `name=value` on `host` one of them? `word` is the
    /// [`first_word`] of its name.
    #[inline(always)]
    pub(super) fn matches(&self, word: u64, host: &[u8], name: &[u8], value: &[u8]) -> bool {
        self.table.matches(word, host, name, value)
    }
}

/// Names of files that a server shows for their directory, lower-case.
#[derive(Clone, Debug, Default)]
pub struct IndexNames {
    /// What a path with one of the names ends in, by [`Self::end_of`]; all ends if there are short
    /// names.
    ends: BitSet<32>,
    /// The names of eight bytes and more, each with its last eight, [folded]; sorted by these.
    long: Vec<(u64, Box<[u8]>)>,
    /// The names of fewer than eight bytes.
    short: Vec<Box<[u8]>>,
    /// For the digest: the names in the order they were given.
    text: String,
}

impl IndexNames {
    /// The list in `data/index_names.toml`.
    pub fn built_in() -> Arc<IndexNames> {
        static LIST: LazyLock<Arc<IndexNames>> = LazyLock::new(|| {
            let file: IndexFile = toml::from_str(INDEX_NAMES).expect("tested: the list parses");
            Arc::new(IndexNames::new(&file.names))
        });
        LIST.clone()
    }

    /// Just these names. One that is empty or holds a slash is no file's.
    pub fn new(names: &[String]) -> IndexNames {
        let mut list = IndexNames::default();
        let is_file = |name: &&String| !name.is_empty() && !name.contains('/');
        for name in names.iter().filter(is_file).map(|name| name.to_ascii_lowercase()) {
            list.text.push_str(&format!("{name};"));
            match name.as_bytes().last_chunk() {
                Some(end) => {
                    list.ends.insert(Self::end_of(end));
                    list.long.push((Self::folded_end(end), name.into_bytes().into()));
                }
                None => {
                    list.ends = BitSet::all();
                    list.short.push(name.into_bytes().into());
                }
            }
        }
        list.long.sort_unstable();
        list
    }

    /// Returns the last eight bytes of a path as a number, without regard to ASCII case.
    #[inline(always)]
    fn folded_end(end: &[u8; 8]) -> u64 {
        folded(u64::from_le_bytes(*end))
    }

    /// Returns a number of eleven bits for the last eight bytes of a path, without regard to ASCII
    /// case.
    #[inline(always)]
    fn end_of(end: &[u8; 8]) -> usize {
        few_bits::<11>(Self::folded_end(end))
    }

    /// Could what stands after the last slash of `path` be one of the names? Never
    /// says no where it is.
    #[inline(always)]
    pub(super) fn may_end(&self, path: &[u8]) -> bool {
        match path.last_chunk().map(Self::end_of) {
            Some(end) => self.ends.has(end),
            None => !self.short.is_empty(),
        }
    }

    /// Is what stands after the last slash of `path` one of the names, in any case? Its length, or
    /// `None`.
    pub(super) fn at_end_of(&self, path: &[u8]) -> Option<usize> {
        if !self.may_end(path) {
            return None;
        }
        let is_at_end = |name: &[u8]| match path.len().checked_sub(name.len()) {
            Some(0) => path.eq_ignore_ascii_case(name),
            Some(start) => path[start - 1] == b'/' && path[start..].eq_ignore_ascii_case(name),
            None => false,
        };
        if let Some(end) = path.last_chunk().map(Self::folded_end) {
            let first = self.long.partition_point(|(other, _)| *other < end);
            let mut same_end = self.long[first..].iter().take_while(|(other, _)| *other == end);
            if let Some((_, name)) = same_end.find(|(_, name)| is_at_end(name)) {
                return Some(name.len());
            }
        }
        self.short.iter().find(|name| is_at_end(name)).map(|name| name.len())
    }

    /// The names, in lower case, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.long.iter().map(|(_, name)| name).chain(&self.short).map(|name| &**name)
    }

    pub(super) fn describe(&self) -> &str {
        &self.text
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
            assert!(entry.hosts.is_empty(), "nobody asks for the host: {entry:?}");
        }
    }

    #[test]
    fn index_names() {
        let names =
            ["index.html", "Start.htm", "the-index.html", "x.html", "home.pl", "a/b.html", ""];
        let names = IndexNames::new(&names.map(String::from));
        for (path, expected) in [
            (&b"/a/Index.HTML"[..], Some(10)),
            (b"/a/aindex.html", None),
            (b"/a/The-Index.html", Some(14)),
            (b"/a/another-index.html", None),
            (b"index.html", Some(10)),
            (b"ndex.html", None),
            (b"/start.htm", Some(9)),
            (b"/astart.htm", None),
            (b"/x.html", Some(6)),
            (b"/y/X.html", Some(6)),
            (b"/xx.html", None),
            (b"x.html", Some(6)),
            (b"/home.pl", Some(7)),
            (b"home.pl", Some(7)),
            (b"/a/b.html", None),
            (b"/a/", None),
            (b"/", None),
            (b"", None),
        ] {
            assert_eq!(names.at_end_of(path), expected, "{}", path.escape_ascii());
        }
        for name in toml::from_str::<IndexFile>(INDEX_NAMES).unwrap().names {
            let path = format!("/a/{name}").to_ascii_uppercase();
            assert_eq!(IndexNames::built_in().at_end_of(path.as_bytes()), Some(name.len()));
        }
        assert_eq!(IndexNames::new(&[]).at_end_of(b"/a/index.html"), None);
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
            (b"utm_source;id", false),
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
    fn a_star_may_be_a_part_of_a_name() {
        let listed = |listed: Listed| {
            let mut names = ParamNames::default();
            names.add_on("a.test", &listed);
            names
        };
        let name = listed(Listed::Name("A*".to_string()));
        let start = listed(Listed::Start("a".to_string()));
        for (given, is_name) in [(&b"a*"[..], true), (b"A*", true), (b"ab", false), (b"a", false)] {
            assert_eq!(name.matches(b"www.a.test", given, b""), is_name, "{given:?}");
            assert!(start.matches(b"a.test", given, b""), "{given:?}");
            assert!(!start.matches(b"b.test", given, b""), "{given:?}");
        }
        assert_ne!(name.describe(), start.describe());
    }

    #[test]
    fn long_names_in_any_case() {
        let mut names = ParamNames::default();
        names.add("aspsessionid*");
        names.add("yclid_source");
        for (name, expected) in [
            (&b"aspsessionidabc"[..], true),
            (b"ASPSESSIONIDabc", true),
            (b"aspsessionID", true),
            (b"aspsessioni", false),
            (b"aspsession1dabc", false),
            (b"yclid_source", true),
            (b"yclid_SOURCE", true),
            (b"Yclid_source", true),
            (b"yclid_sourcf", false),
            (b"yclid_sourc", false),
            (b"yclid\x7fsource", false),
        ] {
            assert_eq!(names.matches(b"a.test", name, b"x"), expected, "{name:?}");
        }
    }

    #[test]
    fn hosts_in_conditions() {
        let hosts = Hosts::new(vec!["x.com".into(), "amazon.co.jp".into()]);
        for (host, expected) in [
            ("x.com", true),
            ("X.COM", true),
            ("m.x.com", true),
            ("ax.com", false),
            (".com", false),
            ("", false),
            ("www.Amazon.co.jp", true),
            ("xamazon.co.jp", false),
            ("amazon.co.jp.x.co", false),
        ] {
            assert_eq!(hosts.hold(host.as_bytes()), expected, "{host}");
        }
        assert!(Hosts::default().hold(b"a.test") && Hosts::default().hold(b""));
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
