//! Entries of the user's about parameters, looked up by the hosts and paths that they are for.

use std::collections::HashMap;

use super::table::has_semicolon;
use crate::canonical::digest_text::{list, quoted, quoted_list};

/// Where an entry of the user's applies: everywhere, on a host and below, under a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// This host and its subdomains; empty: every host.
    pub host: String,
    /// This path and everything below it; empty: every path.
    pub path: String,
}

impl Scope {
    /// As digests know it.
    fn describe(&self) -> String {
        format!("Scope {{ host: {}, path: {} }}", quoted(&self.host), quoted(&self.path))
    }
}

/// Expected parameters: where an entry's scope holds, everything else goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeepParams(Scoped<(Scope, Vec<String>)>);

impl KeepParams {
    /// Adds expected `names` for `scope`.
    pub fn add(&mut self, scope: Scope, names: Vec<String>) {
        self.0.add(&scope.clone(), (scope, names));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    /// The entries in the order in which they were added, as digests know them.
    pub(crate) fn describe(&self) -> String {
        let entries = self.0.entries.iter();
        let entries =
            entries.map(|(scope, names)| format!("({}, {})", scope.describe(), quoted_list(names)));
        format!("KeepParams({})", list(entries))
    }

    /// Returns the expected parameters of URLs with this host and path.
    pub(crate) fn at(&self, host: &[u8], path: &[u8]) -> KeptHere<'_> {
        KeptHere(self.0.holding(host, path))
    }
}

/// The expected parameters of a URL.
#[derive(Debug)]
pub(crate) struct KeptHere<'a>(Vec<&'a (Scope, Vec<String>)>);

impl KeptHere<'_> {
    /// Is `name` expected?
    pub(crate) fn keeps(&self, name: &[u8]) -> bool {
        self.0.iter().any(|(_, names)| names.iter().any(|keep| keep.as_bytes() == name))
    }

    /// Does `name=value` go? Where no scope holds, everything stays; and so does what
    /// [`has_semicolon`], after which an expected parameter may stand.
    pub(crate) fn drops(&self, name: &[u8], value: &[u8]) -> bool {
        !self.0.is_empty() && !has_semicolon(name) && !has_semicolon(value) && !self.keeps(name)
    }
}

/// Default values of parameters: where an entry's scope holds, `name=value` says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultParams(Scoped<(Scope, String, String)>);

impl DefaultParams {
    /// Adds: in `scope`, the parameter `name` has the default `value`.
    pub fn add(&mut self, scope: Scope, name: String, value: String) {
        self.0.add(&scope.clone(), (scope, name, value));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    /// The entries in the order in which they were added, as digests know them.
    pub(crate) fn describe(&self) -> String {
        let entries = self.0.entries.iter().map(|(scope, name, value)| {
            format!("({}, {}, {})", scope.describe(), quoted(name), quoted(value))
        });
        format!("DefaultParams({})", list(entries))
    }

    /// Returns the default values of parameters of URLs with this host and path.
    pub(crate) fn at(&self, host: &[u8], path: &[u8]) -> DefaultsHere<'_> {
        DefaultsHere(self.0.holding(host, path))
    }
}

/// The default values of a URL's parameters.
#[derive(Debug)]
pub(crate) struct DefaultsHere<'a>(Vec<&'a (Scope, String, String)>);

impl DefaultsHere<'_> {
    /// Has the parameter `name` a default value?
    pub(crate) fn know(&self, name: &[u8]) -> bool {
        self.0.iter().any(|(_, known, _)| known.as_bytes() == name)
    }

    /// Is `value` one of those?
    pub(crate) fn matches(&self, name: &[u8], value: &[u8]) -> bool {
        let is_it =
            |known: &str, default: &str| known.as_bytes() == name && default.as_bytes() == value;
        self.0.iter().any(|(_, known, default)| is_it(known, default))
    }
}

/// Entries, each with its scope. There may be one for each of many sites, so they are looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Scoped<T> {
    /// The entries, in the order in which they were added.
    entries: Vec<T>,
    /// The entries of each host, by its name in lower case; an empty name stands for every host.
    hosts: HashMap<Vec<u8>, OfHost, ahash::RandomState>,
    host_bytes_max: usize,
}

/// Entries of one host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfHost {
    /// The numbers of the entries of each path, which has no slash at its end; an empty one stands
    /// for every path.
    paths: HashMap<Vec<u8>, Vec<usize>, ahash::RandomState>,
    path_bytes_max: usize,
}

impl<T> Default for Scoped<T> {
    fn default() -> Self {
        Scoped { entries: vec![], hosts: HashMap::default(), host_bytes_max: 0 }
    }
}

impl<T> Scoped<T> {
    fn add(&mut self, scope: &Scope, entry: T) {
        let host = scope.host.to_ascii_lowercase().into_bytes();
        let path = scope.path.strip_suffix('/').unwrap_or(&scope.path).as_bytes().to_vec();
        self.host_bytes_max = self.host_bytes_max.max(host.len());
        let of_host = self.hosts.entry(host).or_default();
        of_host.path_bytes_max = of_host.path_bytes_max.max(path.len());
        of_host.paths.entry(path).or_default().push(self.entries.len());
        self.entries.push(entry);
    }

    /// The entries whose scopes hold at `host` and `path`, perhaps some of them twice. The case of
    /// the host is ignored, and the dot of an absolute name.
    fn holding(&self, host: &[u8], path: &[u8]) -> Vec<&T> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let host = host.strip_suffix(b".").unwrap_or(host).to_ascii_lowercase();
        // No look-ups of what is longer than all that there is: their number is bounded thereby.
        let labels = &host[host.len().saturating_sub(self.host_bytes_max + 1)..];
        let above = memchr::memchr_iter(b'.', labels).map(|dot| &labels[dot + 1..]);
        let hosts = [&host[..], b""].into_iter().chain(above);
        let of_hosts = hosts.filter_map(|host| self.hosts.get(host));
        let numbers = of_hosts.flat_map(|OfHost { paths, path_bytes_max }| {
            let segments = &path[..path.len().min(path_bytes_max + 1)];
            let above = memchr::memchr_iter(b'/', segments).map(|slash| &segments[..slash]);
            let all = [path, b""].into_iter().chain(above);
            all.filter_map(|path| paths.get(path)).flatten()
        });
        numbers.map(|number| &self.entries[*number]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{is_below, is_under};
    use super::*;

    fn scope(host: &str, path: &str) -> Scope {
        Scope { host: host.into(), path: path.into() }
    }

    #[test]
    fn scopes() {
        let mut keep = KeepParams::default();
        keep.add(scope("a.test", "/display"), vec!["id".into()]);
        let drops = |host: &[u8], path: &[u8], name: &[u8], value: &[u8]| {
            keep.at(host, path).drops(name, value)
        };
        assert!(drops(b"a.test", b"/display", b"x", b"1"));
        assert!(drops(b"www.a.test", b"/display/b", b"x", b"1"));
        assert!(!drops(b"a.test", b"/display", b"id", b""));
        assert!(!drops(b"a.test", b"/displays", b"x", b"1"));
        assert!(!drops(b"a.test", b"/display", b"x", b"1;id=2"));
        assert!(!drops(b"a.test", b"/display", b"x;id", b"2"));
        assert!(!drops(b"ba.test", b"/display", b"x", b"1"));
    }

    #[test]
    fn all_scopes_that_hold_are_found() {
        let hosts = ["", "a.test", "www.A.test", "test", "b.www.a.test"];
        let paths = ["", "/", "/x", "/x/", "/x/y", "/x//", "/xy"];
        let scopes: Vec<Scope> =
            hosts.iter().flat_map(|host| paths.map(|path| scope(host, path))).collect();
        let mut all = Scoped::default();
        scopes.iter().for_each(|one| all.add(one, one.clone()));
        for host in ["a.test", "A.TEST.", "www.a.test", "xa.test", "a.b.www.a.test", "test", ""] {
            for path in ["/", "/x", "/x/", "/x//", "/x//y", "/x/y/z", "/xyz", "/y/x", ""] {
                let holds = |one: &&Scope| {
                    let is_here =
                        one.host.is_empty() || is_under(host.as_bytes(), one.host.as_bytes());
                    is_here
                        && (one.path.is_empty() || is_below(path.as_bytes(), one.path.as_bytes()))
                };
                let found = all.holding(host.as_bytes(), path.as_bytes());
                let found: Vec<&Scope> = scopes.iter().filter(|one| found.contains(one)).collect();
                let expected: Vec<&Scope> = scopes.iter().filter(holds).collect();
                assert_eq!(found, expected, "{host} {path}");
            }
        }
    }

    #[test]
    fn many_entries_take_no_longer_than_few() {
        let mut keep = KeepParams::default();
        for number in 0..100_000 {
            keep.add(scope(&format!("w{number}.test"), ""), vec!["id".into()]);
            keep.add(scope("a.test", &format!("/q{number}")), vec!["id".into()]);
        }
        let start = std::time::Instant::now();
        for number in 0..100_000 {
            let path = format!("/q{number}/x");
            assert!(keep.at(b"www.a.test", path.as_bytes()).keeps(b"id"));
        }
        // As many dots and slashes.
        let (host, path) = ("a.".repeat(1_000_000), "/a".repeat(1_000_000));
        assert!(keep.at(host.as_bytes(), path.as_bytes()).0.is_empty());
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    #[test]
    fn digests_know_entries_as_a_list() {
        let (mut keep, mut defaults) = (KeepParams::default(), DefaultParams::default());
        keep.add(scope("b.test", "/x"), vec!["id".into()]);
        keep.add(scope("a.test", ""), vec![]);
        defaults.add(scope("", ""), "a".into(), "1".into());
        let in_b = "Scope { host: \"b.test\", path: \"/x\" }, [\"id\"]";
        let in_a = "Scope { host: \"a.test\", path: \"\" }, []";
        assert_eq!(keep.describe(), format!("KeepParams([({in_b}), ({in_a})])"));
        let everywhere = "Scope { host: \"\", path: \"\" }, \"a\", \"1\"";
        assert_eq!(defaults.describe(), format!("DefaultParams([({everywhere})])"));
    }
}
