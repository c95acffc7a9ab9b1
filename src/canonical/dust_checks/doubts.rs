//! What a rule file says and its author hardly meant: rules for a public suffix, stars that stand
//! for themselves.

use crate::canonical::dust::DustRules;
use crate::canonical::dust::compile;
use crate::canonical::dust::rule::{DustCondition, DustKind, DustRule, RuleFile};

impl DustRules {
    /// The rules in force and the guards of `file` that hold for more or for less than they look
    /// like, each as a message that names it.
    ///
    /// - A site that is a public suffix (`org`, `github.io`): on `a.github.io` the rules of
    ///   `github.io` hold as well. Source: the Mozilla public suffix list, by the `psl` crate.
    /// - A star within the name of a parameter, or in one that is no prefix, is a star.
    pub fn doubtful(file: &RuleFile) -> Vec<String> {
        let mut found = Vec::new();
        let rules = (1..).zip(&file.rules).filter(|(_, rule)| rule.status.is_in_force());
        for (number, rule) in rules {
            let mut say = |what: String| {
                found.push(format!("rule {number} ({}): {what}", rule.title()));
            };
            // On hosts it is a rule for these.
            let is_for_all = rule.hosts.is_empty()
                && !matches!(rule.kind, DustKind::HostAlias { .. })
                && !rule.scope.when.iter().any(|when| matches!(when, DustCondition::Host(_)));
            if is_for_all && is_suffix(&rule.site) {
                say(below(&rule.site));
            }
            for name in names(rule).into_iter().filter(|name| name.contains('*')) {
                say(star(name));
            }
        }
        for (number, guard) in
            (1..).zip(&file.guards).filter(|(_, guard)| guard.param.contains('*'))
        {
            found.push(format!("guard {number}: {}", star(&guard.param)));
        }
        found
    }
}

/// Is a site a public suffix that is on the list, so that others have hosts below it?
fn is_suffix(site: &str) -> bool {
    let Ok(host) = compile::host("site", site) else { return false };
    psl::suffix(&host).is_some_and(|suffix| suffix.is_known() && suffix == host.as_slice())
}

fn below(site: &str) -> String {
    format!(
        "hosts below {site} are sites of others, and it holds on all of them; for {site} itself \
         write hosts = [\"{site}\"]"
    )
}

fn star(name: &str) -> String {
    format!("the * in {name} stands for itself; only at the end of drop-param is it any text")
}

/// The names of parameters in which a star stands for itself.
fn names(rule: &DustRule) -> Vec<&str> {
    let of_kind: Vec<&str> = match &rule.kind {
        DustKind::DropParam { param } => vec![param.strip_suffix('*').unwrap_or(param)],
        DustKind::DefaultParam { param, .. }
        | DustKind::AliasValue { param, .. }
        | DustKind::FoldCase { param: Some(param) }
        | DustKind::DropPathParam { param } => vec![param],
        DustKind::KeepOnly { params } => params.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let of_when = rule.scope.when.iter().filter_map(|when| match when {
        DustCondition::Has { param, .. } | DustCondition::Lacks(param) => Some(param.as_str()),
        DustCondition::Host(_) => None,
    });
    of_kind.into_iter().chain(of_when).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hardly_meant() {
        for (rule, expected) in [
            ("site='a.github.io',kind='drop-param',param='utm_*'", None),
            ("site='github.io',kind='drop-param',param='a'", Some("hosts below github.io are")),
            ("site='co.uk',kind='order-free'", Some("write hosts = [\"co.uk\"]")),
            ("site='github.io',hosts=['github.io'],kind='drop-param',param='a'", None),
            ("site='github.io',kind='drop-param',param='a',when=['host=github.io']", None),
            ("site='org',kind='drop-param',param='a',status='off'", None),
            ("site='localhost',kind='drop-param',param='a'", None),
            ("site='x.org',kind='drop-param',param='u*m'", Some("the * in u*m stands for itself")),
            ("site='x.org',kind='drop-param',param='u*_*'", Some("the * in u*_ stands")),
            ("site='x.org',kind='keep-only',params=['a','b*']", Some("the * in b* stands")),
            ("site='x.org',kind='default-param',param='p*',value='*'", Some("the * in p* stands")),
            ("site='x.org',kind='drop-param',param='a',when=['!b*']", Some("the * in b* stands")),
        ] {
            let file = RuleFile::parse(&format!("rule=[{{{rule}}}]")).unwrap();
            let found = DustRules::doubtful(&file);
            match expected {
                None => assert_eq!(found, [""; 0], "{rule}"),
                Some(part) => {
                    assert!(found.len() == 1 && found[0].contains(part), "{rule}: {found:?}");
                }
            }
        }
        let file = RuleFile::parse("guard=[{site='x.org',param='a*'},{site='x.org',param='a'}]");
        let found = DustRules::doubtful(&file.unwrap());
        assert!(found.len() == 1 && found[0].starts_with("guard 1: the * in a*"), "{found:?}");
    }
}
