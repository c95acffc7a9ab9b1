//! The file of Apache Nutch's `urlnormalizer-regex`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::is_plain;
use super::regex::{path_regex, quoted, site_regex};
use crate::canonical::{DustKind, DustRule};

/// Pattern and substitution for Nutch: Java's regular expressions over the whole URL.
pub(super) fn nutch_rule(rule: &DustRule) -> Option<(String, String)> {
    if !is_plain(rule) {
        return None;
    }
    let site = site_regex(&rule.site);
    let anywhere = matches!(rule.scope.path.as_str(), "" | "*");
    let path = if anywhere { "[^?#]*".to_string() } else { path_regex(&rule.scope.path)? };
    let query = format!("^({site}{path}\\?(?:[^#]*&)?)");
    let put = |text: &str| text.replace('\\', "\\\\").replace('$', "\\$");
    Some(match &rule.kind {
        DustKind::DropParam { param } => {
            let name = match param.strip_suffix('*') {
                Some(start) => format!("{}[^=&#]*", quoted(start)),
                None => quoted(param),
            };
            (format!("{query}{name}(?:=[^&#]*)?(?:&|(?=#)|$)"), "$1".to_string())
        }
        DustKind::DefaultParam { param, value } => {
            let (name, value) = (quoted(param), quoted(value));
            // Not where it is there with another value as well, or without one.
            let has_other = format!("[^#]*[?&]{name}(?:[&#]|$|=(?!{value}(?:[&#]|$)))");
            let query = query.replacen('^', &format!("^(?!{has_other})"), 1);
            (format!("{query}{name}={value}(?:&|(?=#)|$)"), "$1".to_string())
        }
        DustKind::AliasValue { param, from, to } => (
            format!("{query}({}=){}(?=[&#]|$)", quoted(param), quoted(from)),
            format!("$1$2{}", put(to)),
        ),
        DustKind::HostAlias { from, to } if !from.contains(':') && !to.contains(':') => {
            (format!("^(https?://){}(?=[:/?#]|$)", quoted(from)), format!("$1{}", put(to)))
        }
        DustKind::AliasPrefix { from, to } if anywhere => {
            // What gets shorter is replaced until it is not there any more.
            let from = match from.strip_prefix(to.as_str()) {
                Some(more) => format!("{}(?:{})+", quoted(to), quoted(more)),
                None => quoted(from),
            };
            (format!("^({site}){from}"), format!("$1{}", put(to)))
        }
        DustKind::AliasSuffix { from, to } if anywhere && from != "/" => {
            let slash = if from.starts_with(['/', '.']) { "" } else { "/" };
            (
                format!("^({site}/?[^?#]*{slash}){}(?=[?#]|$)", quoted(from)),
                format!("$1{}", put(to)),
            )
        }
        DustKind::DropPathParam { param } if anywhere => {
            (format!("^({site}[^?#]*);(?i:{})=[^;/?#]*", quoted(param)), "$1".to_string())
        }
        _ => return None,
    })
}

pub(super) fn nutch(rules: &[&DustRule]) -> String {
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
    let mut sites: BTreeSet<&str> = BTreeSet::new();
    for rule in rules {
        if let Some((pattern, substitution)) = nutch_rule(rule) {
            put(&pattern, &substitution);
        }
        if matches!(rule.kind, DustKind::DropParam { .. } | DustKind::DefaultParam { .. }) {
            sites.insert(&rule.site);
        }
    }
    // What is left behind a parameter that was the last.
    for site in sites {
        put(&format!("^({}[^#]*?)[?&](?=#|$)", site_regex(site)), "$1");
    }
    text.push_str("</regex-normalize>\n");
    text
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
