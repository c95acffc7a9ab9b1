//! The file of Apache Nutch's `urlnormalizer-regex`.

use std::fmt::Write as _;

use super::is_plain;
use super::regex::{path_regex, quoted, replacement, site_regex};
use super::suffixes::{REPEATED_MAX, Suffixes};
use crate::canonical::{DustKind, DustRule};

/// Patterns and substitutions for Nutch: Java's regular expressions over the whole URL, one after
/// the other.
fn nutch_rule(rule: &DustRule) -> Option<Vec<(String, String)>> {
    if !is_plain(rule) {
        return None;
    }
    let site = site_regex(&rule.site);
    let anywhere = is_anywhere(rule);
    let path = if anywhere { "[^?#]*".to_string() } else { path_regex(&rule.scope.path)? };
    // Where a parameter may start. Nutch replaces all matches, each after the previous one.
    let query =
        |condition: &str| format!("((?:^{condition}{site}{path}\\?|\\G(?!^))(?:[^#]*?&)??)");
    // A parameter before another one is removed with the `&` between the two; the last one with the
    // sign before it.
    let dropped = |condition: &str, param: &str| {
        let last =
            format!("^({condition}{site}{path}(?=\\?)(?:\\?[^#]*?(?=&))?)[?&]{param}(?=#|$)");
        [format!("{}{param}&", query(condition)), last].map(|one| (one, "$1".to_string())).to_vec()
    };
    Some(match &rule.kind {
        DustKind::DropParam { param } => {
            let name = match param.strip_suffix('*') {
                Some(start) => format!("{}[^=&#]*", quoted(start)),
                None => quoted(param),
            };
            dropped("", &format!("{name}(?:=[^&#]*)?"))
        }
        DustKind::DefaultParam { param, value } => {
            let name = quoted(param);
            let other = match value.is_empty() {
                true => "=(?![&#]|$)".to_string(),
                false => format!("(?:[&#]|$|=(?!{}(?:[&#]|$)))", quoted(value)),
            };
            // Not if the parameter also occurs with another value.
            let has_other = format!("(?![^?#]*\\?(?:[^#]*&)?{name}{other})");
            dropped(&has_other, &format!("{name}{}", equal_to(value)))
        }
        DustKind::AliasValue { param, from, to } => vec![(
            format!("{}{}{}(?=[&#]|$)", query(""), quoted(param), equal_to(from)),
            format!("$1{}={}", replacement(param), replacement(to)),
        )],
        DustKind::HostAlias { from, to } if !from.contains(':') && !to.contains(':') => {
            let user = "(?:[^/?#]*@)?";
            let end = "(?=(?::[0-9]*)?(?:[/?#]|$))";
            let pattern = format!("^(https?://{user}){}{end}", quoted(from));
            vec![(pattern, format!("$1{}", replacement(to)))]
        }
        DustKind::AliasPrefix { from, to } if anywhere => {
            // A text with a shorter replacement is replaced until it is gone.
            let from = match from.strip_prefix(to.as_str()) {
                Some(more) => format!("{}(?:{}){{1,{REPEATED_MAX}}}", quoted(to), quoted(more)),
                None => quoted(from),
            };
            vec![(format!("^({site}){from}"), format!("$1{}", replacement(to)))]
        }
        DustKind::DropPathParam { param } if anywhere => {
            let start = format!("((?:^{site}|\\G(?!^))[^?#]*?)");
            let pattern = format!("{start};(?i:{})=[^;/?#]*", quoted(param));
            vec![(pattern, "$1".to_string())]
        }
        _ => return None,
    })
}

/// Can Nutch express `rule`? For suffixes that also depends on the others: see [`Suffixes`].
pub(super) fn nutch_can_say(rule: &DustRule) -> bool {
    match &rule.kind {
        DustKind::AliasSuffix { .. } => is_plain(rule) && is_anywhere(rule),
        _ => nutch_rule(rule).is_some(),
    }
}

fn is_anywhere(rule: &DustRule) -> bool {
    matches!(rule.scope.path.as_str(), "" | "*")
}

/// The value of a parameter with its `=`, which may be missing before the empty one.
fn equal_to(value: &str) -> String {
    if value.is_empty() { "=?".to_string() } else { format!("={}", quoted(value)) }
}

pub(super) fn nutch(rules: &[&DustRule], suffixes: &Suffixes) -> String {
    let mut text =
        "<?xml version=\"1.0\"?>\n<!-- Written by undust. -->\n<regex-normalize>\n".to_string();
    let mut put = |pattern: &str, substitution: &str| {
        let _ = writeln!(
            text,
            "  <regex>\n    <pattern>{}</pattern>\n    <substitution>{}</substitution>\n  </regex>",
            xml(pattern),
            xml(substitution)
        );
    };
    for (place, rule) in rules.iter().enumerate() {
        for (pattern, substitution) in nutch_rule(rule).iter().flatten().chain(suffixes.at(place)) {
            put(pattern, substitution);
        }
    }
    text.push_str("</regex-normalize>\n");
    text
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
