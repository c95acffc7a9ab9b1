//! Rules in the spelling of a profile.
//!
//! A rule file is learned or written once, and may be applied under any profile. So what a profile spells
//! in another way is spelled so in the rules as well before they are compiled: under `crawl` the name
//! `w[]` is `w%5B%5D`, under `aggressive` the path `/a/index.php` is `/a`.

use std::borrow::Cow;

use super::rule::{DustRule, Kind, RuleFile, RuleScope, When};
use crate::canonical::profile::{Options, Profile, Slash};
use crate::canonical::reference;
use crate::canonical::rules::{RuleId, RuleSet, encoding};

/// How a profile spells the texts of rules.
pub(super) struct Spelling<'a> {
    options: &'a Options,
    /// The profile with those of its rules that change the path of any URL.
    paths: Profile,
}

/// The rules that change paths wherever they are.
const PATH_RULES: [RuleId; 6] = [
    RuleId::Escapes,
    RuleId::Encoding,
    RuleId::DotSegments,
    RuleId::DuplicateSlashes,
    RuleId::DirectoryIndex,
    RuleId::TrailingSlash,
];

impl<'a> Spelling<'a> {
    /// The spelling of `profile`; `None` if that is the one of `rfc3986`, which rule files are in.
    pub(super) fn of(profile: &'a Profile) -> Option<Spelling<'a>> {
        let options = &profile.options;
        let has = |rule| profile.rules.contains(rule);
        let respells = has(RuleId::Encoding) && options.form_spelling
            || has(RuleId::DuplicateSlashes)
            || has(RuleId::DirectoryIndex)
            || has(RuleId::TrailingSlash) && options.slash != Slash::Keep;
        let rules: RuleSet = PATH_RULES.into_iter().filter(|rule| has(*rule)).collect();
        let paths = Profile { rules, ..profile.clone() };
        respells.then_some(Spelling { options, paths })
    }

    /// The rules and guards of `file`, in this spelling.
    pub(super) fn file(&self, file: &RuleFile) -> RuleFile {
        let mut spelled = file.clone();
        for rule in &mut spelled.rules {
            self.rule(rule);
        }
        for guard in &mut spelled.guards {
            guard.path = self.path(&guard.path, true);
            guard.param = self.name(&guard.param);
        }
        spelled
    }

    fn rule(&self, rule: &mut DustRule) {
        self.scope(&mut rule.scope);
        match &mut rule.kind {
            Kind::HostAlias { .. }
            | Kind::FoldCase { param: None }
            | Kind::ConstantPage
            | Kind::OrderFree
            | Kind::Substitute { .. } => {}
            Kind::DropPathParam { param } => *param = self.path_text(param),
            // Where an escaped `*` would become one that stands for other text, the rule stays as it is.
            Kind::DropSegment { segment } => {
                let spelled = self.path_text(segment);
                if stars(&spelled) == stars(segment) {
                    *segment = spelled;
                }
            }
            Kind::AliasPrefix { from, to }
            | Kind::AliasSegment { from, to }
            | Kind::AliasSuffix { from, to } => {
                *from = self.path_text(from);
                *to = self.path_text(to);
            }
            Kind::RewriteTemplate { from, to } => {
                *from = self.template(from);
                *to = self.template(to);
            }
            Kind::DropParam { param } => {
                let spelled = self.name(param);
                if spelled.ends_with('*') == param.ends_with('*') {
                    *param = spelled;
                }
            }
            Kind::FoldCase { param: Some(param) } => *param = self.name(param),
            Kind::KeepOnly { params } => {
                params.iter_mut().for_each(|param| *param = self.name(param));
            }
            Kind::DefaultParam { param, value } => {
                *param = self.name(param);
                *value = self.value(value);
            }
            Kind::AliasValue { param, from, to } => {
                *param = self.name(param);
                *from = self.value(from);
                *to = self.value(to);
            }
        }
    }

    fn scope(&self, scope: &mut RuleScope) {
        scope.path = self.path(&scope.path, false);
        scope.except.iter_mut().for_each(|path| *path = self.path(path, true));
        for when in &mut scope.when {
            match when {
                When::Has { param, value } => {
                    *param = self.name(param);
                    *value = self.value(value);
                }
                When::Lacks(param) => *param = self.name(param),
                When::Host(_) => {}
            }
        }
    }

    /// The name of a parameter, with a `*` at its end or without.
    fn name(&self, name: &str) -> String {
        string(encoding::name_spelled(name.as_bytes(), self.options), name)
    }

    fn value(&self, value: &str) -> String {
        string(encoding::value_spelled(value.as_bytes(), self.options), value)
    }

    /// Text of a path, with what stands for other text.
    fn path_text(&self, text: &str) -> String {
        around_wildcards(text, |text| {
            string(encoding::path_spelled(text.as_bytes(), self.options), text)
        })
    }

    /// A path with captures, and parameters.
    fn template(&self, text: &str) -> String {
        let Some((path, query)) = text.split_once('?') else { return self.path_text(text) };
        let pieces = query.split('&').map(|piece| match piece.split_once('=') {
            Some((name, value)) => {
                let value = around_wildcards(value, |text| self.value(text));
                format!("{}={value}", self.name(name))
            }
            None => self.name(piece),
        });
        let pieces: Vec<String> = pieces.collect();
        format!("{}?{}", self.path_text(path), pieces.join("&"))
    }

    /// The pattern of a path: what the profile makes of a path that has a word wherever the pattern has
    /// something that stands for other text. Where that matches paths that are quite others, it is taken only
    /// if it `may_widen`, as what keeps rules away may: otherwise the pattern stays, and the rule does less.
    fn path(&self, pattern: &str, may_widen: bool) -> String {
        if pattern.is_empty() {
            return String::new();
        }
        let word = word_unlike(pattern);
        let mut wildcards: Vec<&str> = Vec::new();
        let mut path = String::new();
        for part in parts(pattern) {
            match part {
                Part::Text(text) => path.push_str(text),
                Part::Wildcard(wildcard) => {
                    path.push_str(&word);
                    wildcards.push(wildcard);
                }
            }
        }
        // Nothing is known of what a path ends with where the pattern says that it may be anything.
        let mut profile = Cow::Borrowed(&self.paths);
        if path.rsplit('/').next().is_some_and(|last| last.contains(&word)) {
            let rules = &mut profile.to_mut().rules;
            rules.remove(RuleId::DirectoryIndex);
            rules.remove(RuleId::TrailingSlash);
        }
        let start = if path.starts_with('/') { "http://a.test" } else { "http://a.test/" };
        let mut out = Vec::new();
        let spelled = reference::canonical(format!("{start}{path}").as_bytes(), &profile, &mut out);
        let spelled = spelled.ok().and_then(|_| out.strip_prefix(start.as_bytes()));
        let Some(spelled) = spelled.and_then(|path| std::str::from_utf8(path).ok()) else {
            return pattern.to_string();
        };
        let mut pieces = spelled.split(word.as_str());
        let mut filled = pieces.next().unwrap_or("").to_string();
        let mut left = wildcards.iter();
        for (piece, wildcard) in pieces.zip(&mut left) {
            filled.push_str(wildcard);
            filled.push_str(piece);
        }
        let is_whole = left.next().is_none() && spelled.matches(&word).count() == wildcards.len();
        let is_wider =
            stars(&filled) != stars(pattern) || filled.ends_with('*') && !pattern.ends_with('*');
        if is_whole && (may_widen || !is_wider) { filled } else { pattern.to_string() }
    }
}

/// A part of a pattern.
enum Part<'a> {
    Text(&'a str),
    /// `*`, or a class or a capture in braces.
    Wildcard(&'a str),
}

fn parts(pattern: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = pattern;
    std::iter::from_fn(move || {
        let length = match rest.chars().next()? {
            '*' => 1,
            '{' => rest.find('}').map_or(rest.len(), |end| end + 1),
            _ => {
                let (text, after) = rest.split_at(rest.find(['*', '{']).unwrap_or(rest.len()));
                rest = after;
                return Some(Part::Text(text));
            }
        };
        let (wildcard, after) = rest.split_at(length);
        rest = after;
        Some(Part::Wildcard(wildcard))
    })
}

/// `pattern` with its text as `spell` spells it.
fn around_wildcards(pattern: &str, spell: impl Fn(&str) -> String) -> String {
    parts(pattern)
        .map(|part| match part {
            Part::Text(text) => spell(text),
            Part::Wildcard(wildcard) => wildcard.to_string(),
        })
        .collect()
}

fn stars(pattern: &str) -> usize {
    pattern.bytes().filter(|byte| *byte == b'*').count()
}

/// A word that is not in `pattern`, and that no profile changes or knows.
fn word_unlike(pattern: &str) -> String {
    let mut word = "zq".to_string();
    while pattern.contains(&word) {
        word.push_str("zq");
    }
    word
}

/// What was made of `before`, which is ASCII or not to be in a rule at all.
fn string(spelled: Vec<u8>, before: &str) -> String {
    String::from_utf8(spelled).unwrap_or_else(|_| before.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let rows: [(&str, &[(&str, &str)]); 2] = [
            (
                "crawl",
                &[
                    ("/a[b].php", "/a%5Bb%5D.php"),
                    ("/a[b]/{num:3}/*", "/a%5Bb%5D/{num:3}/*"),
                    ("/forum/", "/forum/"),
                    ("*", "*"),
                    ("", ""),
                    ("*.HTM", "*.HTM"),
                ],
            ),
            (
                "aggressive",
                &[
                    ("/", "/"),
                    ("/forum/", "/forum"),
                    ("/forum/index.php", "/forum"),
                    ("/forum/*", "/forum/*"),
                    ("/zq/{*}/", "/zq/{*}"),
                    ("/{num}/index.html", "/{num}"),
                    ("/a//b", "/a/b"),
                ],
            ),
        ];
        for (name, rows) in rows {
            let profile = Profile::named(name).unwrap();
            let spelling = Spelling::of(&profile).unwrap();
            for (given, expected) in rows {
                for may_widen in [false, true] {
                    assert_eq!(spelling.path(given, may_widen), *expected, "{name} {given}");
                    assert_eq!(spelling.path(expected, may_widen), *expected, "{name} {expected}");
                }
            }
        }
        assert!(Spelling::of(&Profile::named("rfc3986").unwrap()).is_none());
    }

    #[test]
    fn what_becomes_wider_keeps_rules_away_and_makes_none_hold() {
        for (name, given, wider) in
            [("aggressive", "*/index.html", "*"), ("crawl", "/C%2A/list", "/C*/list")]
        {
            let profile = Profile::named(name).unwrap();
            let spelling = Spelling::of(&profile).unwrap();
            assert_eq!(spelling.path(given, false), given);
            assert_eq!(spelling.path(given, true), wider);
        }
        let profile = Profile::named("crawl").unwrap();
        let spelling = Spelling::of(&profile).unwrap();
        for kind in [
            Kind::DropParam { param: "s%2A".to_string() },
            Kind::DropSegment { segment: "s%2A".to_string() },
        ] {
            let mut rule = DustRule::new("a.test", kind.clone());
            spelling.rule(&mut rule);
            assert_eq!(rule.kind, kind);
        }
    }

    #[test]
    fn names_values_and_templates() {
        let profile = Profile::named("crawl").unwrap();
        let spelling = Spelling::of(&profile).unwrap();
        assert_eq!(spelling.name("w[]"), "w%5B%5D");
        assert_eq!(spelling.name("a+b*"), "a%20b*");
        assert_eq!(spelling.value("a/b=%2C"), "a%2Fb=,");
        assert_eq!(spelling.path_text("(S({*}))[x]"), "(S({*}))%5Bx%5D");
        let template = spelling.template("/[s]/{1:num}?w[]=a/{2}&b");
        assert_eq!(template, "/%5Bs%5D/{1:num}?w%5B%5D=a%2F{2}&b");
    }
}
