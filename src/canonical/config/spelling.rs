//! Settings in the spelling of a profile.
//!
//! Names, values and paths that a user gives are compared with those of URLs whose escapes and
//! characters are canonical by then. So they are spelled as the profile spells them: under `crawl`
//! the parameter `a[]` is `a%5B%5D`, and the path `/ü` is `/%C3%BC`.

use super::super::host::canonical_host;
use super::super::names::{Listed, Scope, is_below, is_under};
use super::super::profile::Profile;
use super::super::reference;
use super::super::rules::RuleId;
use crate::bytes::show;
use crate::error::{Error, Result};

/// Spells settings as a profile does, host by host.
pub(super) struct Spelling {
    /// The rules of the profile that put another host in the place of one.
    hosts: Profile,
    /// The letters where no escape is Latin-1.
    plain: Letters,
    /// The letters of hosts where escapes may be Latin-1, if there are such hosts.
    latin1: Option<Letters>,
    latin1_hosts: Vec<String>,
}

/// Spells texts in one way.
pub(super) struct Letters {
    /// The rules of the profile that decide how a text is spelled.
    texts: Profile,
    /// The rules of the profile that put another path in the place of one, and those that spell it.
    paths: Profile,
}

/// The host of the URLs that are spelled.
const HOST: &str = "a.test";
/// The start of the URLs that are spelled.
const START: &str = "http://a.test";

/// The rules that put another host in the place of one.
const HOST_RULES: [RuleId; 2] = [RuleId::Www, RuleId::IpHost];

/// The rules that put another path in the place of one. Some are applied after the rules that a
/// scope is for, which then see both.
const PATH_RULES: [RuleId; 3] = [RuleId::SessionIds, RuleId::DirectoryIndex, RuleId::TrailingSlash];

/// The rules that decide how a text is spelled, whatever it says.
const SPELLING_RULES: [RuleId; 4] =
    [RuleId::Escapes, RuleId::Encoding, RuleId::DotSegments, RuleId::DuplicateSlashes];

/// `profile` with those of its rules that are among `rules`.
fn only(profile: &Profile, rules: &[RuleId]) -> Profile {
    let has = |rule: &RuleId| profile.rules.contains(*rule);
    let rules = rules.iter().copied().filter(has).collect();
    Profile { rules, ..profile.clone() }
}

impl Spelling {
    /// Makes the spelling of `profile`.
    pub(super) fn of(profile: &Profile) -> Spelling {
        let latin1_hosts = profile.options.latin1_hosts.clone();
        Spelling {
            hosts: only(profile, &HOST_RULES),
            plain: Letters::of(profile, &[]),
            latin1: (!latin1_hosts.is_empty()).then(|| Letters::of(profile, &[HOST])),
            latin1_hosts,
        }
    }

    /// Returns what `spell` makes of a setting, each with the host where it is so. The first is the
    /// `host` that the setting is for, with its subdomains; it is empty for all hosts. Then come
    /// the hosts below it where letters are spelled in another way, if that is one for this
    /// setting.
    pub(super) fn on<T: Clone + PartialEq>(
        &self,
        key: &str,
        host: &str,
        spell: impl Fn(&Letters) -> Result<T>,
    ) -> Result<Vec<(String, T)>> {
        let host = if host.is_empty() { String::new() } else { self.host(key, host)? };
        let is_within =
            |site: &String| !host.is_empty() && is_under(host.as_bytes(), site.as_bytes());
        let Some(latin1) = &self.latin1 else { return Ok(vec![(host, spell(&self.plain)?)]) };
        if self.latin1_hosts.iter().any(is_within) {
            return Ok(vec![(host, spell(latin1)?)]);
        }
        let (text, other) = (spell(&self.plain)?, spell(latin1)?);
        let is_below = |one: &&String| host.is_empty() || is_under(one.as_bytes(), host.as_bytes());
        let below = self.latin1_hosts.iter().filter(|_| other != text).filter(is_below);
        let below: Vec<_> = below.map(|one| (one.clone(), other.clone())).collect();
        Ok([(host, text)].into_iter().chain(below).collect())
    }

    /// Returns what `spell` makes of a setting for a host and a path, each with the scope where it
    /// is so, as [`Self::on`] does for hosts alone. A path stands for what is below it, too, and
    /// may be empty.
    pub(super) fn scopes<T: Clone + PartialEq>(
        &self,
        key: &str,
        (host, path): (&str, &str),
        spell: impl Fn(&Letters) -> Result<T>,
    ) -> Result<Vec<(Scope, T)>> {
        let spelled = self.on(key, host, |letters| {
            let path = if path.is_empty() { String::new() } else { letters.path(key, path)? };
            Ok((path, spell(letters)?))
        })?;
        Ok(spelled.into_iter().map(|(host, (path, text))| (Scope { host, path }, text)).collect())
    }

    /// Spells a host, which stands for its subdomains, too. The dot of an absolute name goes: it is
    /// not compared.
    pub(super) fn host(&self, key: &str, host: &str) -> Result<String> {
        if host.len() > 1 && host.starts_with('.') {
            return Err(Error::config(format!(
                "{key}: expected the name of a host, found \"{}\"; leave out the dot before it: its \
                 subdomains are meant as well",
                show(host.as_bytes())
            )));
        }
        let canonical = canonical_host(host.as_bytes()).ok().map(String::from_utf8);
        let canonical = canonical.and_then(|host| host.ok()).filter(|host| !host.contains('*'));
        let mut canonical = canonical.ok_or_else(|| unexpected(key, "the name of a host", host))?;
        if canonical.ends_with('.') {
            canonical.pop();
        }
        if canonical.is_empty() {
            return Err(unexpected(key, "the name of a host", host));
        }
        let reached = self.host_reached(&canonical);
        if !is_under(reached.as_bytes(), canonical.as_bytes()) {
            return Err(no_url_has(key, "host", &canonical, &reached));
        }
        Ok(canonical)
    }

    /// Returns what becomes of `host` in a URL.
    fn host_reached(&self, host: &str) -> String {
        spelled_between(&self.hosts, "http://", host, "/").unwrap_or_else(|| host.to_string())
    }
}

impl Letters {
    /// Makes the letters of `profile`, where `latin1_hosts` are the hosts with Latin-1.
    fn of(profile: &Profile, latin1_hosts: &[&str]) -> Letters {
        let mut profile = profile.clone();
        profile.options.latin1_hosts = latin1_hosts.iter().map(|host| host.to_string()).collect();
        Letters {
            texts: only(&profile, &SPELLING_RULES),
            paths: only(&profile, &[&SPELLING_RULES[..], &PATH_RULES].concat()),
        }
    }

    /// Spells the name of a parameter, for the setting `key`.
    pub(super) fn name(&self, key: &str, name: &str) -> Result<String> {
        let name = name.trim();
        let is_name = !name.is_empty() && !name.contains(['*', '&', '=', '#']);
        let spelled = is_name.then(|| self.between("/?", name, "=1")).flatten();
        spelled.ok_or_else(|| unexpected(key, "the name of a parameter", name))
    }

    /// Spells the name of a parameter, or the first part of names, which has a `*` after it. A `*`
    /// that is escaped is a part of the name.
    pub(super) fn name_or_start(&self, key: &str, name: &str) -> Result<Listed> {
        match name.trim().strip_suffix('*') {
            Some("") => Ok(Listed::Start(String::new())),
            Some(start) => self.name(key, start).map(Listed::Start),
            None => self.name(key, name).map(Listed::Name),
        }
    }

    /// The value of a parameter.
    pub(super) fn value(&self, key: &str, value: &str) -> Result<String> {
        if value.is_empty() {
            return Ok(String::new());
        }
        let is_value = !value.contains(['&', '#']);
        let spelled = is_value.then(|| self.between("/?a=", value, "")).flatten();
        spelled.ok_or_else(|| unexpected(key, "the value of a parameter", value))
    }

    /// A path, with what is below it. One that the profile makes another is an error: what goes
    /// from its URLs would stay on those that have the other path, which are equal to them.
    fn path(&self, key: &str, path: &str) -> Result<String> {
        let is_path = path.starts_with('/') && !path.contains(['?', '#']);
        let spelled = is_path.then(|| self.between("", path, "")).flatten();
        let spelled =
            spelled.ok_or_else(|| unexpected(key, "a path that starts with a slash", path))?;
        // A slash at its end is not compared.
        let given = spelled.strip_suffix('/').unwrap_or(&spelled);
        match spelled_between(&self.paths, START, given, "") {
            Some(reached) if !is_below(reached.as_bytes(), spelled.as_bytes()) => {
                Err(no_url_has(key, "path", given, &reached))
            }
            _ => Ok(spelled),
        }
    }

    /// The name of a file, at the end of a path.
    pub(super) fn file_name(&self, key: &str, name: &str) -> Result<String> {
        let is_name = !name.contains(['/', '?', '#', '*']);
        let spelled = is_name.then(|| self.between("/", name, "")).flatten();
        spelled
            .filter(|name| !matches!(&**name, "" | "." | "..") && !name.contains('/'))
            .ok_or_else(|| unexpected(key, "the name of a file", name))
    }

    /// What becomes of `text` in a URL, between what stands `before` and `behind` it.
    fn between(&self, before: &str, text: &str, behind: &str) -> Option<String> {
        spelled_between(&self.texts, &format!("{START}{before}"), text, behind)
    }
}

fn unexpected(key: &str, expected: &str, found: &str) -> Error {
    Error::config(format!("{key}: expected {expected}, found \"{}\"", show(found.as_bytes())))
}

/// The profile has `reached` where the setting `key` has `given`, a host or a path, as `what` says.
fn no_url_has(key: &str, what: &str, given: &str, reached: &str) -> Error {
    Error::config(format!(
        "{key}: no URL has the {what} {given} under this profile, which makes it {reached}: name \
         that"
    ))
}

fn spelled_between(profile: &Profile, before: &str, text: &str, behind: &str) -> Option<String> {
    let mut out = Vec::new();
    let url = format!("{before}{text}{behind}");
    reference::canonical(url.as_bytes(), profile, &mut out).ok()?;
    let spelled = String::from_utf8(out).ok()?;
    let spelled = spelled.strip_prefix(before)?;
    Some(spelled.strip_suffix(behind)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelling(profile: &str) -> Spelling {
        Spelling::of(&Profile::named(profile).unwrap())
    }

    fn letters(profile: &str) -> Letters {
        spelling(profile).plain
    }

    fn scope(spelling: &Spelling, host: &str, path: &str) -> Result<Scope> {
        spelling.scopes("k", (host, path), |_| Ok(())).map(|mut scopes| scopes.remove(0).0)
    }

    #[test]
    fn as_the_profile_spells_them() {
        let crawl = letters("crawl");
        for (given, expected) in [
            ("a[]", "a%5B%5D"),
            ("größe", "gr%C3%B6%C3%9Fe"),
            ("gr%c3%b6%C3%9Fe", "gr%C3%B6%C3%9Fe"),
            (" id", "id"),
            ("a b", "a%20b"),
            ("%69d", "id"),
        ] {
            assert_eq!(crawl.name("k", given).unwrap(), expected, "{given}");
            assert_eq!(crawl.name("k", expected).unwrap(), expected, "{given}");
        }
        for (given, expected) in [
            ("a[*", Listed::Start("a%5B".to_string())),
            ("*", Listed::Start(String::new())),
            ("a%2A*", Listed::Start("a*".to_string())),
            ("a%2A", Listed::Name("a*".to_string())),
        ] {
            assert_eq!(crawl.name_or_start("k", given).unwrap(), expected, "{given}");
        }
        assert_eq!(crawl.value("k", "1/2 3").unwrap(), "1%2F2%203");
        assert_eq!(crawl.value("k", "").unwrap(), "");
        let found = scope(&spelling("crawl"), "A.test.", "/%7ebob/ü b").unwrap();
        assert_eq!((&*found.host, &*found.path), ("a.test", "/~bob/%C3%BC%20b"));
        for host in ["www.test", "www.co.uk", "[::1]", "1.2.3.4", "x.www.a.test"] {
            assert_eq!(scope(&spelling("aggressive"), host, "").unwrap().host, host);
        }
        assert_eq!(crawl.file_name("k", "índex %7e.html").unwrap(), "%C3%ADndex%20~.html");
        assert_eq!(letters("rfc3986").name("k", "%69d").unwrap(), "id");
        assert_eq!(letters("rfc3986").value("k", "a/b").unwrap(), "a/b");
    }

    #[test]
    fn what_can_never_match_is_an_error() {
        let crawl = letters("crawl");
        for name in ["", " ", "id*", "a=b", "a&b", "a#b"] {
            assert!(crawl.name("k", name).unwrap_err().is_config(), "{name}");
        }
        for name in ["a*b", "a**", ""] {
            assert!(crawl.name_or_start("k", name).unwrap_err().is_config(), "{name}");
        }
        for value in ["a&b", "a#b"] {
            assert!(crawl.value("k", value).unwrap_err().is_config(), "{value}");
        }
        for (host, path) in [("*.a.test", ""), ("a b", ""), ("", "x"), ("", "/a?b"), ("http:", "/")]
        {
            assert!(
                scope(&spelling("crawl"), host, path).unwrap_err().is_config(),
                "{host} {path}"
            );
        }
        let error = scope(&spelling("crawl"), ".a.test", "").unwrap_err().to_string();
        assert!(error.contains("leave out the dot"), "{error}");
        let aggressive = spelling("aggressive");
        let error = scope(&aggressive, "WWW.a.test", "").unwrap_err().to_string();
        assert!(
            error.contains("no URL has the host www.a.test") && error.contains(" a.test: name")
        );
        for (path, reached) in [
            ("/a/index.html", "/a"),
            ("/a/Index.HTML/", "/a"),
            ("/index.php", "/"),
            ("/a;jsessionid=0123456789ABCDEF0123456789ABCDEF/b", "/a/b"),
        ] {
            let error = scope(&aggressive, "", path).unwrap_err().to_string();
            assert!(
                error.contains("no URL has the path /")
                    && error.contains(&format!(" {reached}: name")),
                "{path}: {error}"
            );
        }
        for path in ["/", "/a", "/a/", "/a//", "/a/b.html", "/a/index.html/b", "/index.htmlx"] {
            scope(&aggressive, "", path).unwrap();
        }
        scope(&spelling("crawl"), "", "/a/index.html").unwrap();
        for name in ["a/b", "a\\b", "a?b", "a#b", "", " ", ".", "..", "%2e", "index.*", "*"] {
            assert!(crawl.file_name("k", name).unwrap_err().is_config(), "{name}");
        }
    }
}
