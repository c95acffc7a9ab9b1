//! Rules of sites in the spelling of a profile.
//!
//! A rule file is learned or written once, and may be applied under any profile. So what a profile
//! spells in another way is spelled so in the rules as well before they are compiled: under `crawl`
//! the name `w[]` is `w%5B%5D`, under `aggressive` the path `/a/index.php` is `/a` and the host
//! `www.foo.org` is `foo.org`. Where one text cannot say it, a rule becomes several; where its two
//! sides are the same under the profile, it becomes none. What rules do is in `sides.rs`, what
//! keeps them away in `forms.rs`.

mod forms;
mod sides;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use crate::canonical::dust::compile;
use crate::canonical::dust::patterns::wildcards::{Part, Placeholders, has_no_dot, parts, stars};
use crate::canonical::dust::rule::{DustCondition, DustKind, DustRule, Guard, RuleFile, RuleScope};
use crate::canonical::dust::{DustRules, Spelled, Target};
use crate::canonical::names::is_under;
use crate::canonical::options::Slash;
use crate::canonical::profile::Profile;
use crate::canonical::reference;
use crate::canonical::rules::{RuleId, RuleSet};
use forms::{forms_of, rewrites_escapes};

/// `rules` where `profile` is in force, in its spelling. It may not want what a rule writes: a host
/// with `www`, a scheme, a slash. What stands for others is then what the profile makes of it; a
/// rule against the profile goes.
pub(super) fn under(rules: DustRules, profile: &Profile) -> DustRules {
    if rules.is_empty() {
        return rules;
    }
    let spelling = Spelling::of(profile);
    let spelled = spelling.file(rules.source());
    let rules = rules.respelled(&spelled, |host| spelling.host(host));
    match profile.rules.contains(RuleId::Scheme) {
        true => rules.without_schemes(),
        false => rules,
    }
}

/// How a profile spells the texts of rules.
pub(super) struct Spelling {
    /// The profile, but for the rules of sites.
    pub(super) whole: Profile,
    /// Those of its rules that spell letters.
    letters: Profile,
    /// What was found for patterns that keep rules away, by site and pattern: many rules
    /// have the same ones.
    known: RefCell<HashMap<(String, String), Vec<String>>>,
}

/// The rules that spell letters. A pattern with the segments `.` and `..` is no path
/// before they are gone.
const LETTERS: [RuleId; 3] = [RuleId::Escapes, RuleId::Encoding, RuleId::DotSegments];

impl Spelling {
    /// The spelling of `profile`.
    pub(super) fn of(profile: &Profile) -> Spelling {
        let mut whole = profile.clone();
        whole.rules.remove(RuleId::Dust);
        whole.options.dust = std::sync::Arc::default();
        let rules: RuleSet =
            LETTERS.into_iter().filter(|rule| whole.rules.contains(*rule)).collect();
        let letters = Profile { rules, ..whole.clone() };
        Spelling { whole, letters, known: RefCell::default() }
    }

    /// The rules in force and the guards of `file`, in this spelling.
    pub(super) fn file(&self, file: &RuleFile) -> Spelled {
        let mut spelled = Spelled::default();
        for (number, rule) in file.rules.iter().enumerate() {
            let forms = rule.status.is_in_force().then(|| self.rule(rule));
            if let Some(forms) = forms.filter(|forms| forms != std::slice::from_ref(rule)) {
                spelled.rules.insert(number, forms);
            }
        }
        for (number, guard) in file.guards.iter().enumerate() {
            let forms = self.guard(guard);
            if forms != std::slice::from_ref(guard) {
                spelled.guards.insert(number, forms);
            }
        }
        spelled
    }

    /// The forms of a guard: where it keeps a parameter, one of them does.
    pub(super) fn guard(&self, guard: &Guard) -> Vec<Guard> {
        let mut sites = vec![guard.site.clone()];
        sites.extend(Some(self.host(&guard.site)).filter(|host| !is_at(host, &guard.site)));
        let hosts = self.hosts_with_letters(&guard.site);
        let params: BTreeSet<String> =
            hosts.iter().map(|host| self.name(host, &guard.param)).collect();
        let mut guards = Vec::new();
        for path in self.kept_away(&guard.site, &guard.path) {
            for param in &params {
                for site in &sites {
                    let (site, param, path) = (site.clone(), param.clone(), path.clone());
                    guards.push(Guard { site, param, path, note: guard.note.clone() });
                }
            }
        }
        guards
    }

    /// The forms of a rule.
    pub(super) fn rule(&self, rule: &DustRule) -> Vec<DustRule> {
        let mut forms = Vec::new();
        for (site, hosts) in self.places(rule) {
            let host = hosts.first().unwrap_or(&site).clone();
            let except = rule.scope.except.iter().flat_map(|path| self.kept_away(&site, path));
            let except = except.collect::<Vec<_>>();
            let when = rule.scope.when.iter().map(|when| self.when(&host, when));
            let when = when.collect::<Vec<_>>();
            let paths = self.paths(&host, &rule.scope.path);
            for kind in self.kinds(&host, &rule.kind) {
                for path in &paths {
                    let scope = RuleScope {
                        path: path.clone(),
                        except: except.clone(),
                        when: when.clone(),
                    };
                    let (site, hosts, kind) = (site.clone(), hosts.clone(), kind.clone());
                    forms.push(DustRule { site, hosts, scope, kind, ..rule.clone() });
                }
            }
        }
        forms
    }

    /// The site and the hosts that a rule is for. A site that is another host becomes that one
    /// host; what is below it stays.
    fn places(&self, rule: &DustRule) -> Vec<(String, Vec<String>)> {
        if matches!(&rule.kind, DustKind::HostAlias { from, .. } if !from.contains(':')) {
            return vec![(rule.site.clone(), rule.hosts.clone())];
        }
        let site = self.host(&rule.site);
        let mut hosts: Vec<String> = Vec::new();
        for host in rule.hosts.iter().map(|host| self.host(host)) {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        let asked = rule.scope.when.iter().find_map(|when| match when {
            DustCondition::Host(host) => Some(self.host(host)),
            _ => None,
        });
        let is_outside = |host: &String| !is_at(host, &rule.site);
        if !hosts.is_empty() || asked.is_some() {
            let moves = hosts.iter().chain(&asked).any(is_outside);
            return vec![(if moves { site } else { rule.site.clone() }, hosts)];
        }
        let mut places = vec![(rule.site.clone(), Vec::new())];
        if is_outside(&site) {
            places.push((site.clone(), vec![site]));
        }
        places
    }

    fn when(&self, host: &str, when: &DustCondition) -> DustCondition {
        match when {
            DustCondition::Has { param, value } => {
                DustCondition::Has { param: self.name(host, param), value: self.value(host, value) }
            }
            DustCondition::Lacks(param) => DustCondition::Lacks(self.name(host, param)),
            DustCondition::Host(name) => DustCondition::Host(self.host(name)),
        }
    }

    /// The host that stands for `host`.
    pub(super) fn host(&self, host: &str) -> String {
        let mut out = Vec::new();
        let url = format!("http://{host}/");
        if reference::canonical(url.as_bytes(), &self.whole, &mut out).is_err() {
            return host.to_string();
        }
        let found = crate::parts::host_of(&out).map(|host| String::from_utf8_lossy(host));
        found.map_or(host.to_string(), Cow::into_owned)
    }

    /// The name of a parameter.
    pub(super) fn name(&self, host: &str, name: &str) -> String {
        if is_plain(name) {
            return name.to_string();
        }
        let is_name = !name.contains(['&', '=']);
        let spelled = self.canonical(&self.letters, host, &format!("/?{name}"));
        let found = spelled.as_deref().and_then(|url| url.strip_prefix("/?"));
        found.filter(|_| is_name).unwrap_or(name).to_string()
    }

    /// The value of a parameter.
    pub(super) fn value(&self, host: &str, value: &str) -> String {
        if is_plain(value) {
            return value.to_string();
        }
        let spelled = self.canonical(&self.letters, host, &format!("/?x={value}"));
        let found = spelled.as_deref().and_then(|url| url.strip_prefix("/?x"));
        let found = found.map(|value| value.strip_prefix('=').unwrap_or(value));
        found.filter(|_| !value.contains('&')).unwrap_or(value).to_string()
    }

    /// A segment of a path, or a part of one, with what stands for other text.
    pub(super) fn segment(&self, host: &str, segment: &str) -> String {
        let spelled = self.around(&self.letters, host, &format!("/{segment}/"));
        let found = spelled.as_deref().and_then(|path| path.strip_prefix('/')?.strip_suffix('/'));
        found.unwrap_or(segment).to_string()
    }

    /// The pattern of the paths where a rule holds: what the profile makes of a path that has a
    /// word wherever the pattern has something that stands for other text. Where that matches paths
    /// that are quite others, the pattern stays, and the rule does less.
    fn paths(&self, host: &str, pattern: &str) -> Vec<String> {
        if pattern.is_empty() {
            return vec![String::new()];
        }
        let spelled = self.around(&self.at_end_of(pattern), host, pattern);
        let is_wider = |spelled: &str| {
            stars(spelled) != stars(pattern) || spelled.ends_with('*') && !pattern.ends_with('*')
        };
        let spelled = spelled.filter(|spelled| !is_wider(spelled));
        self.with_both_ends(spelled.unwrap_or_else(|| pattern.to_string()))
    }

    /// The patterns that match what the profile makes of each path that `pattern` matches. On hosts
    /// with other letters than the rest of their site, they may be spelled in two ways.
    fn kept_away(&self, site: &str, pattern: &str) -> Vec<String> {
        let key = (site.to_string(), pattern.to_string());
        let mut known = self.known.borrow_mut();
        known.entry(key).or_insert_with(|| self.kept_away_anew(site, pattern)).clone()
    }

    fn kept_away_anew(&self, site: &str, pattern: &str) -> Vec<String> {
        if pattern.is_empty() || compile::path_pattern(pattern).is_err() {
            return vec![pattern.to_string()];
        }
        // What goes on in an escape may be any letter in the end.
        let joins = rewrites_escapes(&self.whole);
        let text: String = parts(pattern)
            .map(|part| match part {
                Part::Wildcard(wildcard) if joins && wildcard.starts_with('%') => "*",
                Part::Text(text) | Part::Wildcard(text) => text,
            })
            .collect();
        let is_literal = parts(&text).all(|part| matches!(part, Part::Text(_)));
        let profile = if is_literal { &self.whole } else { &self.letters };
        let mut forms = BTreeSet::new();
        for host in self.hosts_with_letters(site) {
            let spelled = self.around(profile, &host, &text).unwrap_or_else(|| text.clone());
            forms.extend(forms_of(&spelled, &self.whole));
        }
        forms.into_iter().collect()
    }

    /// A host of the site, and those below it whose letters are spelled in another way.
    fn hosts_with_letters(&self, site: &str) -> Vec<String> {
        let others = self.whole.options.latin1_hosts.iter();
        let below = others.filter(|host| is_at(host, site)).cloned();
        [site.to_string()].into_iter().chain(below).collect()
    }

    /// The profile for `form`, a path, perhaps with parameters. Nothing is known of how paths end
    /// where it may be anything.
    pub(super) fn at_end_of(&self, form: &str) -> Cow<'_, Profile> {
        let mut profile = Cow::Borrowed(&self.whole);
        if has_open_end(form) {
            profile.to_mut().rules.remove(RuleId::TrailingSlash);
        }
        profile
    }

    /// `pattern`, and it with a slash if paths that it matches have one or none.
    pub(super) fn with_both_ends(&self, pattern: String) -> Vec<String> {
        let adds = self.whole.rules.contains(RuleId::TrailingSlash)
            && self.whole.options.slash == Slash::Add;
        if adds && has_open_end(&pattern) && !pattern.ends_with('*') {
            return vec![format!("{pattern}/"), pattern];
        }
        vec![pattern]
    }

    /// What `profile` makes of a path, perhaps with parameters, that has words where `pattern` has
    /// something that stands for other text; with that put back. `None` if some of it is lost.
    pub(super) fn around(&self, profile: &Profile, host: &str, pattern: &str) -> Option<String> {
        let words = Placeholders::unlike(pattern);
        let mut wildcards: Vec<&str> = Vec::new();
        let mut path = String::new();
        for part in parts(pattern) {
            match part {
                Part::Text(text) => path.push_str(text),
                Part::Wildcard(wildcard) => {
                    path.push_str(&words.word(wildcards.len()));
                    wildcards.push(wildcard);
                }
            }
        }
        words.replaced(self.canonical(profile, host, &path)?, &wildcards)
    }

    /// Path and query as `profile` spells them on `host`; `None` for what cannot be in a rule.
    pub(super) fn canonical(&self, profile: &Profile, host: &str, path: &str) -> Option<String> {
        if !path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
            return None;
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        let (mut out, mut target) = (Vec::new(), Target::default());
        let url = format!("http://{host}{slash}{path}");
        reference::canonical(url.as_bytes(), profile, &mut out).ok()?;
        target.read(&out)?;
        let mut found = target.path.strip_prefix(slash.as_bytes())?.to_vec();
        if let Some(query) = target.query {
            found.push(b'?');
            found.extend(query);
        }
        String::from_utf8(found).ok()
    }
}

/// Is `text` spelled the same everywhere?
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Is `host` the host `site`, or below it?
fn is_at(host: &str, site: &str) -> bool {
    is_under(host.as_bytes(), site.as_bytes())
}

/// May the last segment of the path in `form` hold dots or not?
fn has_open_end(form: &str) -> bool {
    let path = form.split('?').next().unwrap_or("");
    let last = path.rsplit('/').next().unwrap_or("");
    parts(last).any(|part| matches!(part, Part::Wildcard(wildcard) if !has_no_dot(wildcard)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelling(profile: &str) -> Spelling {
        Spelling::of(&Profile::named(profile).unwrap())
    }

    #[test]
    fn paths_where_rules_hold() {
        for (profile, given, expected) in [
            ("rfc3986", "/%7Eu/{num}", "/~u/{num}"),
            ("crawl", "/a[b].php", "/a%5Bb%5D.php"),
            ("crawl", "/a[b]/{num:3}/*", "/a%5Bb%5D/{num:3}/*"),
            ("crawl", "/forum/", "/forum/"),
            ("crawl", "*", "*"),
            ("crawl", "", ""),
            ("crawl", "*.HTM", "*.HTM"),
            ("crawl", "/zq{num}", "/zq{num}"),
            ("crawl", "/%*", "/%*"),
            // What becomes wider stays as it is.
            ("crawl", "/C%2A/list", "/C%2A/list"),
            ("aggressive", "*/index.html", "*/index.html"),
            ("aggressive", "/", "/"),
            ("aggressive", "/forum/", "/forum"),
            ("aggressive", "/forum/index.php", "/forum"),
            ("aggressive", "/forum/*", "/forum/*"),
            ("aggressive", "/zq/{*}/", "/zq/{*}"),
            ("aggressive", "/zq/{slug}/", "/zq/{slug}"),
            ("aggressive", "/{num}/index.html", "/{num}"),
            ("aggressive", "/a//b", "/a/b"),
        ] {
            let spelling = spelling(profile);
            assert_eq!(spelling.paths("a.test", given), [expected], "{profile} {given}");
            assert_eq!(spelling.paths("a.test", expected), [expected], "{profile} {expected}");
        }
    }

    #[test]
    fn what_keeps_rules_away_may_become_wider() {
        for (profile, given, wider) in [
            ("rfc3986", "/%*", &["/%*"][..]),
            ("rfc3986", "/a//b/", &["/a//b/"]),
            ("crawl", "/C%2A/list", &["/C*/list"]),
            ("crawl", "/%*", &["/*"]),
            ("crawl", "/a%2{num:1}/b", &["/a*/b"]),
            ("crawl", "/(S(abcdefghijklmnopqrstuvwx))/a", &["/a"]),
            ("aggressive", "*/index.html", &["*"]),
            ("aggressive", "/shop/index.html", &["/shop"]),
        ] {
            let spelling = spelling(profile);
            assert_eq!(spelling.kept_away("a.test", given), wider, "{profile} {given}");
        }
        for kind in [
            DustKind::DropParam { param: "s%2A".to_string() },
            DustKind::DropSegment { segment: "s%2A".to_string() },
        ] {
            let rule = DustRule::new("a.test", kind.clone());
            assert_eq!(spelling("crawl").rule(&rule), [rule]);
        }
    }

    #[test]
    fn names_values_and_templates() {
        let spelling = spelling("crawl");
        for (given, expected) in
            [("w[]", "w%5B%5D"), ("a+b*", "a%20b*"), ("caf%c3*", "caf%C3*"), ("caf%c*", "caf%c*")]
        {
            let kind = DustKind::DropParam { param: given.to_string() };
            let spelled = DustKind::DropParam { param: expected.to_string() };
            assert_eq!(spelling.kinds("a.test", &kind), [spelled], "{given}");
        }
        assert_eq!(spelling.value("a.test", "a/b=%2C"), "a%2Fb=,");
        assert_eq!(spelling.segment("a.test", "(S({*}))[x]"), "(S({*}))%5Bx%5D");
        let found = spelling.templates("a.test", "/[s]/{1:num}?w[]=a/{2}&b", "/{1}.{2}");
        let from = "/%5Bs%5D/{1:num}?b&w%5B%5D=a%2F{2}".to_string();
        assert_eq!(found, [DustKind::RewriteTemplate { from, to: "/{1}.{2}".to_string() }]);
    }
}
