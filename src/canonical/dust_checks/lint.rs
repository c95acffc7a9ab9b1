//! What is suspicious in a rule file: rules that do nothing, what is never met, and texts that no
//! canonical URL holds.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::canonical::dust::DustRules;
use crate::canonical::dust::compile;
use crate::canonical::dust::compile::{Act, Compiled, Condition};
use crate::canonical::dust::patterns::glob::Glob;
use crate::canonical::dust::patterns::letters;
use crate::canonical::dust::patterns::wildcards::{Part, parts};
use crate::canonical::dust::rule::{DustCondition, DustRule, DustStatus, Guard, RuleFile};
use crate::canonical::dust_spelling::Spelling;
use crate::canonical::names::is_under;
use crate::canonical::profile::Profile;
use crate::limits::DUST_SITE_RULES_MAX;
use crate::parts::names_above;

impl DustRules {
    /// The rules in force of `file` that change nothing, whatever the URL: another rule or a guard
    /// is always there first, or the rule is kept away wherever it would hold. By number from 0,
    /// each with the reason.
    ///
    /// Limits: sites with more rules than [`DUST_SITE_RULES_MAX`] are not looked at.
    pub fn dead(file: &RuleFile) -> Vec<(usize, String)> {
        let by_site = rules_by_site(file);
        let (guards, aliased) = (guards_by_site(file), aliased(&by_site));
        let mut dead = Vec::new();
        for (site, rules) in &by_site {
            let above = rules_above(&by_site, site);
            if above.is_empty() {
                continue;
            }
            for rule in rules {
                let why = is_kept_away(rule)
                    .or_else(|| is_folded_before(rule, &above))
                    .or_else(|| has_no_host(rule, &aliased))
                    .or_else(|| is_guarded(rule, site, &guards))
                    .or_else(|| is_done_already(rule, &above));
                dead.extend(why.map(|why| (rule.rule as usize, why)));
            }
        }
        dead.sort();
        dead
    }

    /// What is to keep rules away, and is never met where they are applied: guards, and exceptions
    /// of rules by hand, whose paths another rule folds before, and guards on hosts that are
    /// others. Each as a message that names it.
    ///
    /// Limits: as of [`dead`](DustRules::dead).
    pub fn never_met(file: &RuleFile) -> Vec<String> {
        let by_site = rules_by_site(file);
        let aliased = aliased(&by_site);
        let mut found = BTreeMap::new();
        for (site, rules) in &by_site {
            let above = rules_above(&by_site, site);
            for rule in rules {
                let DustRule { scope, status, .. } = &file.rules[rule.rule as usize];
                // Learned ones are kept from what there is where fewer rules are in force, too.
                if *status != DustStatus::Manual {
                    continue;
                }
                for (text, pattern) in scope.except.iter().zip(&rule.condition.except) {
                    let fold = folds_all(&above, pattern).filter(|one| rule.stratum > one.stratum);
                    if let Some(fold) = fold
                        && !scope.except.contains(&folded(text))
                    {
                        let title = file.rules[rule.rule as usize].title();
                        let why = why_folded(fold, text);
                        found.entry(rule.rule).or_insert(format!(
                            "rule {} ({title}) is not kept from {text}: {why}",
                            rule.rule + 1
                        ));
                    }
                }
            }
        }
        let mut found: Vec<String> = found.into_values().collect();
        let known: HashSet<(&str, &str, &str)> = file
            .guards
            .iter()
            .map(|guard| (guard.site.as_str(), guard.param.as_str(), guard.path.as_str()))
            .collect();
        for (number, guard) in (1..).zip(&file.guards) {
            let (Ok(site), Ok(path)) =
                (compile::host("site", &guard.site), compile::path_pattern(&guard.path))
            else {
                continue;
            };
            let Guard { site: name, param, .. } = guard;
            let is_there = |path: &str| known.contains(&(name.as_str(), param.as_str(), path));
            let above = if path.has_upper() { rules_above(&by_site, &site) } else { Vec::new() };
            let why = match folds_all(&above, &path) {
                Some(fold) if !is_there(&folded(&guard.path)) => why_folded(fold, &guard.path),
                _ => match aliased.get(site.as_slice()).filter(|(to, _)| !is_under(to, &site)) {
                    Some((_, alias)) => format!(
                        "rule {} makes another host of {} itself, whose guards hold",
                        alias + 1,
                        guard.site
                    ),
                    None => continue,
                },
            };
            found.push(format!("guard {number} ({}) keeps nothing: {why}", guard_title(guard)));
        }
        found
    }

    /// The rules in force and the guards of `file` with texts that no canonical URL holds,
    /// such as the path `/%7Euser/*`, which is `/~user/*`: what each is taken for, as a
    /// message that names it.
    pub fn misspelled(file: &RuleFile) -> Vec<String> {
        let Ok(profile) = Profile::named("rfc3986") else { return Vec::new() };
        let spelling = Spelling::of(&profile);
        let mut found = Vec::new();
        let rules = file.rules.iter().enumerate().filter(|(number, rule)| {
            rule.status.is_in_force() && compile::compile(*number, rule).is_ok()
        });
        for (number, rule) in rules {
            let forms = spelling.rule(rule);
            if !forms.iter().any(|form| is_spelled_as(form, rule)) {
                let what = misspelling(forms.first().map(DustRule::title));
                found.push(format!("rule {} ({}): {what}", number + 1, rule.title()));
            }
        }
        for (number, guard) in (1..).zip(&file.guards) {
            let forms = spelling.guard(guard);
            let is_same = |form: &Guard| (&form.param, &form.path) == (&guard.param, &guard.path);
            if !forms.iter().any(is_same) {
                let what = misspelling(forms.first().map(guard_title));
                found.push(format!("guard {number} ({}): {what}", guard_title(guard)));
            }
        }
        found
    }
}

/// The rules in force of `file` that hold by themselves, by site.
fn rules_by_site(file: &RuleFile) -> BTreeMap<Vec<u8>, Vec<Compiled>> {
    let mut by_site: BTreeMap<Vec<u8>, Vec<Compiled>> = BTreeMap::new();
    for (number, rule) in file.rules.iter().enumerate() {
        if rule.status.is_in_force()
            && let Ok((site, compiled)) = compile::compile(number, rule)
        {
            by_site.entry(site).or_default().push(compiled);
        }
    }
    by_site
}

/// The guards of each site: their parameters, and where.
type Guards<'a> = BTreeMap<Vec<u8>, Vec<(&'a [u8], Glob)>>;

fn guards_by_site(file: &RuleFile) -> Guards<'_> {
    let mut guards = Guards::new();
    for guard in &file.guards {
        if let (Ok(site), Ok(path)) =
            (compile::host("site", &guard.site), compile::path_pattern(&guard.path))
        {
            guards.entry(site).or_default().push((guard.param.as_bytes(), path));
        }
    }
    guards
}

/// Why `rule` is dead, if its own conditions keep it away wherever it would hold.
fn is_kept_away(rule: &Compiled) -> Option<String> {
    let Condition { path, except, .. } = &rule.condition;
    if except.iter().any(|one| path.is_within(one)) {
        return Some("it is excepted wherever its path matches".to_string());
    }
    let name = asked_not_to_be(rule)?;
    Some(format!("it asks for URLs without {}", String::from_utf8_lossy(name)))
}

/// The same if another rule folds all its paths before.
fn is_folded_before(rule: &Compiled, above: &[&Compiled]) -> Option<String> {
    let fold = folds_all(above, &rule.condition.path).filter(|fold| rule.stratum > fold.stratum)?;
    Some(format!("rule {} folds the paths that it is for", fold.rule + 1))
}

/// The same if all its hosts are others by then.
fn has_no_host(rule: &Compiled, aliased: &Aliased) -> Option<String> {
    let hosts = rule.condition.hosts.iter();
    let taken: Vec<_> = hosts.map(|host| aliased.get(&**host)).collect::<Option<_>>()?;
    let (_, alias) = taken.first()?;
    Some(format!("its hosts are others, by rule {}", alias + 1))
}

/// The same if a guard keeps the parameter that it changes.
fn is_guarded(rule: &Compiled, site: &[u8], guards: &Guards) -> Option<String> {
    let mut guards = names_above(site).filter_map(|name| guards.get(name)).flatten();
    let (param, _) = guards.find(|(param, path)| {
        writes_only(&rule.act, param) && (path.is_all() || *path == rule.condition.path)
    })?;
    Some(format!("a guard keeps {}", String::from_utf8_lossy(param)))
}

/// The same if another rule does it, too.
fn is_done_already(rule: &Compiled, above: &[&Compiled]) -> Option<String> {
    let does = |one: &Compiled, other: &Compiled| {
        is_done_by(&other.act, &one.act) && is_within(&other.condition, &one.condition)
    };
    let other = above.iter().find(|other| {
        other.rule != rule.rule
            && does(other, rule)
            // Of two that are the same, the later one is dead.
            && (other.rule < rule.rule || !does(rule, other))
    })?;
    Some(format!("rule {} does the same already", other.rule + 1))
}

/// The rule among `rules` that folds every path that `pattern` matches, none of
/// which matches it then.
fn folds_all<'a>(rules: &[&'a Compiled], pattern: &Glob) -> Option<&'a Compiled> {
    let folds = |rule: &&&Compiled| {
        let Condition { hosts, path, except, .. } = &rule.condition;
        let is_for_all = path.is_all() && hosts.is_empty() && !rule.condition.reads_params();
        rule.act == Act::FoldPath && is_for_all && !except.iter().any(|one| one.meets(pattern))
    };
    // A template may be applied before the fold, and what depends on it, too.
    let has_template = rules.iter().any(|rule| matches!(rule.act, Act::Template(_)));
    let has_upper = pattern.has_upper() && !has_template;
    rules.iter().filter(|_| has_upper).find(folds).copied()
}

/// The hosts that are replaced, each with its replacement and the number of the rule.
type Aliased<'a> = HashMap<&'a [u8], (&'a [u8], u32)>;

fn aliased<'a>(by_site: &'a BTreeMap<Vec<u8>, Vec<Compiled>>) -> Aliased<'a> {
    let alias = |rule: &'a Compiled| match &rule.act {
        Act::Host { from, to } => Some((from.as_slice(), (to.as_slice(), rule.rule))),
        _ => None,
    };
    by_site.values().flatten().filter_map(alias).collect()
}

/// The rules for `site` and the domains above it; none if they are too many to be looked at.
fn rules_above<'a>(
    by_site: &'a BTreeMap<Vec<u8>, Vec<Compiled>>,
    site: &[u8],
) -> Vec<&'a Compiled> {
    let above = names_above(site).filter_map(|name| by_site.get(name)).flatten();
    let above: Vec<&Compiled> = above.take(DUST_SITE_RULES_MAX + 1).collect();
    if above.len() > DUST_SITE_RULES_MAX { Vec::new() } else { above }
}

/// The pattern of the same paths once they are folded.
fn folded(pattern: &str) -> String {
    let fold = |part: Part| match part {
        Part::Wildcard(wildcard) => wildcard.to_string(),
        Part::Text(text) => {
            let mut bytes = text.as_bytes().to_vec();
            letters::fold(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    parts(pattern).map(fold).collect()
}

fn why_folded(fold: &Compiled, pattern: &str) -> String {
    format!("rule {} folds such paths before; write {}", fold.rule + 1, folded(pattern))
}

fn guard_title(guard: &Guard) -> String {
    match guard.path.as_str() {
        "" => guard.param.clone(),
        path => format!("{} at {path}", guard.param),
    }
}

/// What a message says of a text that no canonical URL holds; it is taken for `spelled`.
fn misspelling(spelled: Option<String>) -> String {
    match spelled {
        Some(spelled) => format!("canonical URLs are spelled in another way; taken for {spelled}"),
        None => "in canonical URLs both sides are the same, so it does nothing".to_string(),
    }
}

/// Is all but the hosts of `form` as it is in `rule`?
fn is_spelled_as(form: &DustRule, rule: &DustRule) -> bool {
    let is_host = |when: &&DustCondition| matches!(when, DustCondition::Host(_));
    form.kind == rule.kind
        && (&form.scope.path, &form.scope.except) == (&rule.scope.path, &rule.scope.except)
        && (form.scope.when.iter().zip(&rule.scope.when))
            .all(|(form, rule)| form == rule || is_host(&rule))
}

/// The parameter that a rule asks for, or changes, and that its conditions ask not to be there.
fn asked_not_to_be(rule: &Compiled) -> Option<&[u8]> {
    let Condition { has, lacks, .. } = &rule.condition;
    let is_needed =
        |name: &[u8]| has.iter().any(|(one, _)| one == name) || writes_only(&rule.act, name);
    lacks.iter().map(Vec::as_slice).find(|name| is_needed(name))
}

/// Does `act` change the parameter `name` alone?
fn writes_only(act: &Act, name: &[u8]) -> bool {
    match act {
        Act::DropParam(dropped) => !dropped.is_prefix && dropped.text == name,
        Act::DefaultParam { param, .. } | Act::Value { param, .. } | Act::FoldValue(param) => {
            param == name
        }
        _ => false,
    }
}

/// Is all that `act` does done where `other` was applied?
fn is_done_by(act: &Act, other: &Act) -> bool {
    if act == other {
        return true;
    }
    let drops = |name: &[u8]| match other {
        Act::DropParam(dropped) => dropped.is(name),
        Act::KeepOnly(kept) => !kept.iter().any(|one| one == name),
        _ => false,
    };
    match (act, other) {
        (Act::DropParam(name), Act::DropParam(wide)) if name.is_prefix => {
            wide.is_prefix && name.text.starts_with(&wide.text)
        }
        (Act::DropParam(name), Act::KeepOnly(kept)) if name.is_prefix => {
            !kept.iter().any(|one| name.is(one))
        }
        (Act::DropParam(name), _) => drops(&name.text),
        (Act::KeepOnly(kept), Act::KeepOnly(fewer)) => fewer.iter().all(|one| kept.contains(one)),
        (Act::DefaultParam { param, .. } | Act::Value { param, .. } | Act::FoldValue(param), _) => {
            drops(param)
        }
        _ => false,
    }
}

/// Does `wide` hold wherever `narrow` does?
fn is_within(narrow: &Condition, wide: &Condition) -> bool {
    let path = match (wide.path.prefix(), narrow.path.prefix().or(narrow.path.exact())) {
        (Some(wide), Some(narrow)) => narrow.starts_with(wide),
        (Some(wide), None) => wide.is_empty(),
        _ => wide.path == narrow.path,
    };
    path && (wide.hosts.is_empty()
        || !narrow.hosts.is_empty() && narrow.hosts.iter().all(|host| wide.hosts.contains(host)))
        && wide.except.iter().all(|one| narrow.except.contains(one))
        && wide.has.iter().all(|one| narrow.has.contains(one))
        && wide.lacks.iter().all(|one| narrow.lacks.contains(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_not_canonical() {
        for (rule, expected) in [
            ("kind='drop-param',param='a[]',path='/~u/*',except=['/a//*','/*/b']", None),
            ("kind='alias-suffix',from='about',to='about/'", None),
            ("kind='drop-param',param='a',hosts=['WWW.x.org']", None),
            ("kind='drop-param',param='a',path='/%7Eu/*'", Some("drop-param a at /~u/*")),
            ("kind='drop-param',param='caf%c3%a9'", Some("drop-param caf%C3%A9")),
            ("kind='drop-param',param='a',except=['/./a/*']", Some("drop-param a except /a/*")),
            ("kind='drop-param',param='a',when=['b=%41']", Some("drop-param a when b=A")),
            ("kind='alias-prefix',from='/x',to='/./x'", Some("both sides are the same")),
            ("kind='alias-value',param='l',from='a',to='%61'", Some("both sides are the same")),
            ("kind='rewrite-template',from='/%61?b={1}',to='/c{1}'", Some("/a?b={1} = /c{1}")),
        ] {
            let text = format!("rule=[{{site='x.org',{rule}}}]");
            let found = DustRules::misspelled(&RuleFile::parse(&text).unwrap());
            match expected {
                None => assert_eq!(found, [""; 0], "{rule}"),
                Some(why) => {
                    assert!(found.len() == 1 && found[0].contains(why), "{rule}: {found:?}");
                }
            }
        }
        let guards = "guard=[{site='x.org',path='/%7Eu',param='a'},{site='x.org',param='b'}]";
        let found = DustRules::misspelled(&RuleFile::parse(guards).unwrap());
        assert!(found.len() == 1 && found[0].contains("taken for a at /~u"), "{found:?}");
    }

    #[test]
    fn dead_rules() {
        for (rules, expected) in [
            ("param='a'; param='a'", &[1][..]),
            ("param='a'; param='b'", &[]),
            ("param='u_a'; param='u_*'", &[0]),
            ("param='a', path='/x/*'; param='a'", &[0]),
            ("param='a', path='/x/*'; param='a', path='/x/y/*'", &[1]),
            ("param='a'; param='a', hosts=['a.x.org']", &[1]),
            ("param='a', when=['b=1']; param='a', when=['b=1','!c']", &[1]),
            ("param='a', except=['/x']; param='a'", &[0]),
            ("param='a'; param='kept'", &[1]),
            ("param='a', except=['/x', '/*']", &[0]),
            ("param='a', when=['!a']", &[0]),
            ("param='a', when=['b=1', '!b']", &[0]),
            ("param='a', when=['b=1', 'b=2', '!c']", &[]),
            ("param='a*', when=['!a']", &[]),
            ("kind='default-param', param='a', value='1', when=['!a']", &[0]),
            ("param='a', path='/item_{num}', except=['/', '/{*}']", &[0]),
            ("param='a', path='/item_{slug}', except=['/', '/{num}']", &[]),
            ("param='a', path='/V/*'; param='a', path='/v/%C3*'; kind='fold-case'", &[0]),
            ("param='a', path='/V/*'; kind='fold-case', except=['/V/a*']", &[]),
            ("param='a', path='/V/*'; kind='fold-case', path='/x/*'", &[]),
            ("kind='fold-case', path='/V/*'; kind='fold-case', except=['/a']", &[]),
            ("param='a', hosts=['m.x.org']; kind='host-alias', from='m.x.org', to='x.org'", &[0]),
            (
                "param='a', hosts=['m.x.org', 'x.org']; kind='host-alias', from='m.x.org', to='x.org'",
                &[],
            ),
        ] {
            let rows: Vec<String> = rules
                .split("; ")
                .map(|row| match row.starts_with("kind=") {
                    true => format!("{{site='x.org',{row}}}"),
                    false => format!("{{site='x.org',kind='drop-param',{row}}}"),
                })
                .collect();
            let text = format!("rule=[{}]\nguard=[{{site='org',param='kept'}}]", rows.join(","));
            let file = RuleFile::parse(&text).unwrap();
            let dead: Vec<usize> = DustRules::dead(&file).into_iter().map(|(at, _)| at).collect();
            assert_eq!(dead, expected, "{rules}");
        }
    }

    #[test]
    fn what_keeps_rules_away_and_is_never_met() {
        let fold = "{site='x.org',kind='fold-case',except=['/v/*']}";
        let alias = "{site='x.org',kind='host-alias',from='m.x.org',to='www.x.org'},\
                     {site='x.org',kind='host-alias',from='x.org',to='www.x.org'}";
        let drop = |except: &str| {
            format!("{{site='a.x.org',kind='drop-param',param='a',except=[{except}]}}")
        };
        for (except, guards, expected) in [
            (
                "'/F/{num}%C3%A9'",
                "",
                Some("rule 4 (a.x.org: drop-param a except /F/{num}%C3%A9) is not"),
            ),
            ("'/F/*'", "", Some("folds such paths before; write /f/*")),
            ("'/F/*', '/f/*'", "", None),
            ("'/F/*'],status='auto',when=['!b'", "", None),
            ("'/v/F', '/f', '*F'", "", None),
            ("'/f'", "{site='x.org',param='a',path='/F'}", Some("guard 1 (a at /F) keeps nothing")),
            ("'/f'", "{site='x.org',param='a',path='/F'},{site='x.org',param='a',path='/f'}", None),
            ("'/f'", "{site='m.x.org',param='a'}", Some("rule 2 makes another host of m.x.org")),
            ("'/f'", "{site='x.org',param='a'}", None),
        ] {
            let text = format!("rule=[{fold},{alias},{}]\nguard=[{guards}]", drop(except));
            let found = DustRules::never_met(&RuleFile::parse(&text).unwrap());
            match expected {
                None => assert_eq!(found, [""; 0], "{except} {guards}"),
                Some(why) => {
                    assert!(found.len() == 1 && found[0].contains(why), "{except}: {found:?}");
                }
            }
        }
        // A template is applied before the fold, and so is what enables it.
        let template = "{site='x.org',kind='rewrite-template',from='/Story?id={1}',to='/s_{1}'}";
        for text in [
            format!("rule=[{fold},{template},{}]", drop("'/F/*'")),
            format!("rule=[{fold},{template},{}]", drop("'/f'],path='/F/*',when=['!b'")),
        ] {
            let file = RuleFile::parse(&text).unwrap();
            assert_eq!(DustRules::never_met(&file), [""; 0], "{text}");
            assert_eq!(DustRules::dead(&file), [], "{text}");
        }
    }
}
