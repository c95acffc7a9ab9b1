//! The data of the ClearURLs add-on.

use std::collections::BTreeMap;

use serde_json::json;

use super::regex::{path_regex, quoted, site_regex};
use crate::bytes::hex;
use crate::canonical::{DustKind, DustRule};

/// Is it a parameter, or a raw pattern, and which? ClearURLs knows providers, which are sites with
/// paths, and what to drop there.
pub(super) fn clear_urls_rule(rule: &DustRule) -> Option<(bool, String)> {
    let is_plain = rule.hosts.is_empty() && rule.scope.when.is_empty();
    let has_regex = |path: &str| matches!(path, "" | "*") || path_regex(path).is_some();
    if !is_plain
        || !has_regex(&rule.scope.path)
        || !rule.scope.except.iter().all(|one| has_regex(one))
    {
        return None;
    }
    Some(match &rule.kind {
        // Names are compared without their escapes.
        DustKind::DropParam { param } => match param.strip_suffix('*') {
            Some(start) => (false, format!("{}.*", quoted(&decoded(start)?))),
            None => (false, quoted(&decoded(param)?)),
        },
        // Raw rules see the whole URL.
        DustKind::DropPathParam { param } => {
            (true, format!("(?<=^[^?#]*);{}=[^;/?#]*", quoted(param)))
        }
        _ => return None,
    })
}

/// The name of a parameter without its escapes, as a form has it; `None` if that is no text.
fn decoded(name: &str) -> Option<String> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [byte, behind @ ..] = rest {
        let escaped = match (byte, behind) {
            (b'%', [high, low, ..]) => hex::pair(*high, *low),
            _ => None,
        };
        out.push(escaped.unwrap_or(if *byte == b'+' { b' ' } else { *byte }));
        rest = if escaped.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(out).ok()
}

pub(super) fn clear_urls(rules: &[&DustRule]) -> String {
    type Provider<'a> = (&'a str, &'a str, &'a [String]);
    let mut providers: BTreeMap<Provider, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for rule in rules {
        let Some((is_raw, pattern)) = clear_urls_rule(rule) else { continue };
        let path = if rule.scope.path == "*" { "" } else { rule.scope.path.as_str() };
        let key = (rule.site.as_str(), path, rule.scope.except.as_slice());
        let (params, raw) = providers.entry(key).or_default();
        if is_raw { raw } else { params }.push(pattern);
    }
    let mut found = serde_json::Map::new();
    for (number, ((site, path, except), (params, raw))) in (1..).zip(providers) {
        let url = |path: &str| match path {
            "" => format!("^{}", site_regex(site)),
            path => {
                format!("^{}{}(?:[?#]|$)", site_regex(site), path_regex(path).unwrap_or_default())
            }
        };
        let exceptions: Vec<String> = except.iter().map(|path| url(path)).collect();
        found.insert(
            format!("{site} {number}"),
            json!({
                "urlPattern": url(path),
                "completeProvider": false,
                "rules": params,
                "referralMarketing": [],
                "rawRules": raw,
                "exceptions": exceptions,
                "redirections": [],
                "forceRedirection": false,
            }),
        );
    }
    format!("{:#}\n", json!({ "providers": found }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::RuleFile;
    use crate::report::{RuleFormat, export_rules};

    #[test]
    fn clear_urls_compares_names_without_escapes() {
        for (name, expected) in [
            ("w%5B%5D", Some("w[]")),
            ("a+b", Some("a b")),
            ("50%", Some("50%")),
            ("%C3%A9", Some("\u{e9}")),
            ("%E9", None),
        ] {
            assert_eq!(decoded(name).as_deref(), expected, "{name}");
        }
        let file = "rule=[{site='x.org',kind='drop-param',param='w%5B%5D'}]";
        let found = export_rules(&RuleFile::parse(file).unwrap(), RuleFormat::ClearUrls).unwrap();
        assert!(found.text.contains(r#""w\\[\\]""#), "{}", found.text);
    }
}
