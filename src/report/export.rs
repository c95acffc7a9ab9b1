//! Rules of sites in the formats of other programs, as far as those can express them.

mod clear_urls;
mod guarded;
mod nutch;
mod regex;
mod robots;
mod suffixes;
mod unsaid;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::canonical::{DustKind, DustRule, DustRules, RuleFile, canonical_host};
use crate::error::{Error, Result};
use clear_urls::{clear_urls, clear_urls_rule};
use guarded::Guarded;
use nutch::{nutch, nutch_can_say};
use robots::{robots, robots_line};
use suffixes::Suffixes;
use unsaid::{Placed, Unsaid};

/// A format of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleFormat {
    /// `Clean-param` lines of robots.txt: parameters that a site says do not matter.
    Robots,
    /// The file of Apache Nutch's `urlnormalizer-regex`.
    Nutch,
    /// The data of the ClearURLs add-on.
    ClearUrls,
    /// All of a rule file, as JSON.
    Json,
}

/// What was exported.
#[derive(Clone, Debug, Default)]
pub struct Exported {
    /// The text of the file.
    pub text: String,
    /// How many rules are in it.
    pub rules: usize,
    /// How many rules in force the format cannot express, by kind.
    pub left_out: BTreeMap<&'static str, usize>,
}

/// Writes the rules in force of `file` in the format `to`. What the format cannot express is left
/// out, so that the rest is right; the rules that are left out are counted. No format but JSON has
/// guards: rules for parameters that a guard names are left out as well. JSON is the unchanged
/// file; in other formats hosts are canonical, like those in the URLs that they are compared with.
pub fn export_rules(file: &RuleFile, to: RuleFormat) -> Result<Exported> {
    let mut exported = Exported::default();
    let mut said: Vec<Placed> = Vec::new();
    let mut unsaid: Vec<Placed> = Vec::new();
    let guarded = Guarded::new(&file.guards);
    // Nutch applies one after the other, in the order of its file.
    let in_order: Option<Vec<usize>> =
        (to == RuleFormat::Nutch).then(|| DustRules::compile(file).rules.in_order());
    let places: Option<BTreeMap<usize, usize>> =
        in_order.map(|order| order.into_iter().zip(0..).collect());
    // All of the file is JSON, in force or not.
    let rules: &[DustRule] = if to == RuleFormat::Json { &[] } else { &file.rules };
    for (number, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.status.is_in_force()) {
        // Rules that have no place in the order are left out.
        let place = places.as_ref().map_or(Some(number), |places| places.get(&number).copied());
        let canonical = with_canonical_hosts(rule);
        let is_sayable = |rule: &DustRule| match to {
            _ if guarded.has_params_of(rule) => false,
            RuleFormat::Robots => robots_line(rule).is_some(),
            RuleFormat::Nutch => nutch_can_say(rule),
            RuleFormat::ClearUrls => clear_urls_rule(rule).is_some(),
            RuleFormat::Json => false,
        };
        match (place, canonical) {
            (Some(place), Some(rule)) if is_sayable(&rule) => said.push((place, rule)),
            (place, canonical) => {
                *exported.left_out.entry(rule.kind.name()).or_default() += 1;
                unsaid.extend(place.zip(canonical));
            }
        }
    }
    said.sort_by_key(|(place, _)| *place);
    if to == RuleFormat::Nutch {
        for rule in without_what_needs_others(&mut said, unsaid) {
            *exported.left_out.entry(rule.kind.name()).or_default() += 1;
        }
    }
    exported.rules = said.len();
    let said: Vec<&DustRule> = said.iter().map(|(_, rule)| rule).collect();
    exported.text = match to {
        RuleFormat::Robots => robots(&said),
        RuleFormat::Nutch => nutch(&said, &Suffixes::of(&said)),
        RuleFormat::ClearUrls => clear_urls(&said),
        RuleFormat::Json => {
            exported.rules = file.rules.len();
            let value: Value = toml::from_str(&file.to_toml())
                .map_err(|error| Error::internal(format!("rules as JSON: {error}")))?;
            format!("{value:#}\n")
        }
    };
    Ok(exported)
}

/// Removes from `said` what Nutch cannot express together, and what would change URLs that rules
/// which are left out, at first `unsaid`, would have changed before. Returns what was removed.
fn without_what_needs_others(said: &mut Vec<Placed>, mut unsaid: Vec<Placed>) -> Vec<DustRule> {
    let mut gone = Vec::new();
    loop {
        let (stay, mut next): (Vec<Placed>, Vec<Placed>) = {
            let unsaid = Unsaid::new(&unsaid);
            said.drain(..).partition(|placed| !unsaid.go_before(placed))
        };
        *said = stay;
        if next.is_empty() {
            let rules: Vec<&DustRule> = said.iter().map(|(_, rule)| rule).collect();
            let left_out = Suffixes::of(&rules).left_out;
            if left_out.is_empty() {
                return gone;
            }
            let all = std::mem::take(said).into_iter().enumerate();
            for (at, placed) in all {
                if left_out.contains(&at) { &mut next } else { &mut *said }.push(placed);
            }
        }
        gone.extend(next.iter().map(|(_, rule)| rule.clone()));
        // The others were compared with all that stays.
        unsaid = next;
    }
}

/// The canonical spelling of a site, or the site unchanged if it is not valid.
fn site_of(text: &str) -> String {
    host_of(text).unwrap_or_else(|| text.to_string())
}

/// The canonical spelling of a host, without the dot of an absolute name; `None` if it is none.
fn host_of(text: &str) -> Option<String> {
    let mut host = String::from_utf8(canonical_host(text.as_bytes()).ok()?).ok()?;
    if host.ends_with('.') {
        host.pop();
    }
    (!host.is_empty() && !host.contains('*')).then_some(host)
}

/// `rule` with its site in canonical spelling, and the hosts that it replaces; `None` if one of
/// them is no host.
fn with_canonical_hosts(rule: &DustRule) -> Option<DustRule> {
    let mut rule = DustRule { site: host_of(&rule.site)?, ..rule.with_evidence(None) };
    if let DustKind::HostAlias { from, to } = &mut rule.kind
        && !is_scheme_or_port(from)
    {
        (*from, *to) = (host_of(from)?, host_of(to)?);
    }
    Some(rule)
}

/// Is it a scheme or a port, and not a host, that `host-alias` replaces?
fn is_scheme_or_port(text: &str) -> bool {
    text.starts_with(':') || matches!(text, "http:" | "https:")
}

/// Is the rule for all hosts of its site, whatever the query?
fn is_plain(rule: &DustRule) -> bool {
    rule.hosts.is_empty() && rule.scope.except.is_empty() && rule.scope.when.is_empty()
}

/// Words for rules that were left out: `3 drop-param, 1 fold-case`. Empty if there are none.
pub fn left_out_in_words(exported: &Exported) -> String {
    let words: Vec<String> =
        exported.left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::regex::{path_regex, quoted};
    use super::*;

    fn file() -> RuleFile {
        let row = |rest: &str| format!("{{site='x.org',{rest}}}");
        let rows = [
            row("kind='drop-param',param='sid',status='auto'"),
            row("kind='drop-param',param='ref',path='/shop/*'"),
            row("kind='drop-param',param='utm_*'"),
            row("kind='drop-param',param='a',when=['b=1']"),
            row("kind='drop-param',param='no',status='review'"),
            row("kind='drop-param',param='e',except=['/e/*']"),
            row("kind='default-param',param='p',value='$1'"),
            row("kind='host-alias',from='m.x.org',to='x.org'"),
            row("kind='drop-segment',param='jsessionid'"),
            row("kind='order-free'"),
        ];
        RuleFile::parse(&format!("rule=[{}]", rows.join(","))).unwrap()
    }

    #[test]
    fn for_robots() {
        let found = export_rules(&file(), RuleFormat::Robots).unwrap();
        assert_eq!(
            found.text,
            "# robots.txt of x.org\nUser-agent: *\nClean-param: sid\nClean-param: ref /shop/\n\n"
        );
        assert_eq!((found.rules, found.left_out["drop-param"]), (2, 3));
        assert_eq!(
            left_out_in_words(&found),
            "1 default-param, 3 drop-param, 1 drop-segment, 1 host-alias, 1 order-free"
        );
    }

    #[test]
    fn for_nutch() {
        let found = export_rules(&file(), RuleFormat::Nutch).unwrap();
        for part in [
            "<pattern>((?:^https?://(?:[^/?#]*[.@])?x\\.org(?::[0-9]*)?(?=[/?#]|$)[^?#]*\\?\
             |\\G(?!^))(?:[^#]*?&amp;)??)\
             sid(?:=[^&amp;#]*)?&amp;</pattern>\n    <substitution>$1</substitution>",
            "<pattern>^(https?://(?:[^/?#]*[.@])?x\\.org(?::[0-9]*)?(?=[/?#]|$)[^?#]*(?=\\?)\
             (?:\\?[^#]*?(?=&amp;))?)[?&amp;]sid(?:=[^&amp;#]*)?(?=#|$)</pattern>\n    \
             <substitution>$1</substitution>",
            "/shop/[^?#]*\\?",
            "utm_[^=&amp;#]*(?:=",
            "^(?![^?#]*\\?(?:[^#]*&amp;)?p(?:[&amp;#]|$|=(?!\\$1(?:[&amp;#]|$))))https",
            "p=\\$1&amp;<",
            "[?&amp;]p=\\$1(?=#|$)<",
            "^(https?://(?:[^/?#]*@)?)m\\.x\\.org(?=(?::[0-9]*)?(?:[/?#]|$))<",
            "|\\G(?!^))[^?#]*?);(?i:jsessionid)",
        ] {
            assert!(found.text.contains(part), "{part}\n{}", found.text);
        }
        // A sign is only removed with a parameter.
        assert!(!found.text.contains("[?&amp;](?=#|$)"), "{}", found.text);
        assert_eq!(found.rules, 6);
        assert_eq!(left_out_in_words(&found), "2 drop-param, 1 order-free");
    }

    #[test]
    fn nutch_takes_a_missing_value_for_the_empty_one() {
        let rows = [
            "kind='default-param',param='a',value=''",
            "kind='alias-value',param='v',from='',to='EN'",
        ];
        let rows = rows.map(|row| format!("{{site='x.org',{row}}}"));
        let file = RuleFile::parse(&format!("rule=[{}]", rows.join(","))).unwrap();
        let found = export_rules(&file, RuleFormat::Nutch).unwrap();
        for part in [
            "(?:[^#]*&amp;)?a=(?![&amp;#]|$))https",
            "(?:[^#]*?&amp;)??)a=?&amp;</pattern>",
            "[?&amp;]a=?(?=#|$)</pattern>",
            "(?:[^#]*?&amp;)??)v=?(?=[&amp;#]|$)</pattern>\n    <substitution>$1v=EN</",
        ] {
            assert!(found.text.contains(part), "{part}\n{}", found.text);
        }
    }

    #[test]
    fn for_clear_urls_and_as_json() {
        let found = export_rules(&file(), RuleFormat::ClearUrls).unwrap();
        let value: Value = serde_json::from_str(&found.text).unwrap();
        let first = &value["providers"]["x.org 1"];
        assert_eq!(first["rules"], json!(["sid", "utm_.*"]));
        assert_eq!(first["rawRules"], json!(["(?<=^[^?#]*);jsessionid=[^;/?#]*"]));
        assert_eq!(value["providers"].as_object().unwrap().len(), 3);
        assert_eq!(found.rules, 5);
        let found = export_rules(&file(), RuleFormat::Json).unwrap();
        let value: Value = serde_json::from_str(&found.text).unwrap();
        assert_eq!(value["rule"].as_array().unwrap().len(), 10);
        assert_eq!(value["rule"][3]["when"], json!(["b=1"]));
    }

    #[test]
    fn hosts_are_canonical() {
        let export = |rows: &[&str], to| {
            let rows: Vec<String> = rows.iter().map(|row| format!("{{{row}}}")).collect();
            let file = RuleFile::parse(&format!("rule=[{}]", rows.join(","))).unwrap();
            export_rules(&file, to).unwrap()
        };
        for (site, expected) in [
            ("FOO.org", "foo.org"),
            ("foo.org.", "foo.org"),
            ("b\u{fc}cher.example", "xn--bcher-kva.example"),
            ("0x7f.1", "127.0.0.1"),
        ] {
            let rows = |site: &str| {
                ["kind='drop-param',param='sid'", "kind='drop-segment',param='x'"]
                    .map(|row| format!("site='{site}',{row}"))
            };
            let [given, canonical] = [rows(site), rows(expected)];
            let given = [given[0].as_str(), &given[1]];
            let canonical = [canonical[0].as_str(), &canonical[1]];
            for to in [RuleFormat::Robots, RuleFormat::Nutch, RuleFormat::ClearUrls] {
                let found = export(&given, to);
                assert_eq!(found.text, export(&canonical, to).text, "{site}, {to:?}");
            }
            let text = export(&given, RuleFormat::Json).text;
            assert!(text.contains(&format!("\"{site}\"")), "{text}");
        }
        let row = |from: &str, to: &str| {
            format!("site='Foo.org',kind='host-alias',from='{from}',to='{to}',status='manual'")
        };
        let found = export(&[&row("M.b\u{fc}cher.example", "FOO.org.")], RuleFormat::Nutch).text;
        let part = "m\\.xn--bcher-kva\\.example(?=(?::[0-9]*)?(?:[/?#]|$))</pattern>\n    \
                    <substitution>$1foo.org</substitution>";
        assert!(found.contains(part), "{found}");
        // Spellings of one site are one, and what is no host is left out.
        let drop = |site: &str| format!("site='{site}',kind='drop-param',param='s'");
        let rows = [drop("Foo.org"), drop("foo.org"), drop("a b")];
        let rows = [rows[0].as_str(), &rows[1], &rows[2]];
        let found = export(&rows, RuleFormat::Robots);
        assert_eq!(found.text, "# robots.txt of foo.org\nUser-agent: *\nClean-param: s\n\n");
        assert_eq!((found.rules, found.left_out["drop-param"]), (2, 1));
        assert_eq!(export(&rows, RuleFormat::Json).rules, 3);
    }

    #[test]
    fn letters_beyond_ascii() {
        assert_eq!(quoted("\u{e9}.a"), "\u{e9}\\.a");
        // Canonical URLs have escapes there.
        assert_eq!(path_regex("/\u{fc}/*"), None);
        assert_eq!(path_regex("/a b/*"), None);
        let file = "rule=[{site='x.org',kind='drop-param',param='%C3%A9',path='/%C3%BC/*'}]";
        let file = RuleFile::parse(file).unwrap();
        let found = export_rules(&file, RuleFormat::ClearUrls).unwrap();
        assert!(found.text.contains("/%C3%BC/[^?#]*") && found.text.contains("\"\u{e9}\""));
        let found = export_rules(&file, RuleFormat::Nutch).unwrap();
        assert!(found.text.contains(")??)%C3%A9(?:=[^&amp;#]*)?"), "{}", found.text);
    }

    #[test]
    fn nutch_has_the_order_in_which_rules_are_applied() {
        let rows = [
            "kind='alias-prefix',from='/b/',to='/c/'",
            "kind='alias-prefix',from='/a/',to='/b/'",
            "kind='host-alias',from='m.x.org',to='x.org'",
            "kind='host-alias',from='w.x.org',to='m.x.org'",
            "kind='alias-value',param='v',from='2',to='3'",
            "kind='alias-value',param='v',from='1',to='2'",
            // They undo each other's work, so the weaker one holds nowhere.
            "kind='alias-prefix',from='/y/',to='/z/'",
            "kind='alias-prefix',from='/z/',to='/y/'",
        ];
        let rows = rows.map(|row| format!("{{site='x.org',{row}}}"));
        let file = RuleFile::parse(&format!("rule=[{}]", rows.join(","))).unwrap();
        let found = export_rules(&file, RuleFormat::Nutch).unwrap();
        let at = |part: &str| found.text.find(part).unwrap_or_else(|| panic!("{part}"));
        assert!(at("@)?)w\\.x\\.org") < at("@)?)m\\.x\\.org"), "{}", found.text);
        assert!(at(")/a/<") < at(")/b/<"), "{}", found.text);
        assert!(at(")v=1(") < at(")v=2("), "{}", found.text);
        assert_eq!((found.rules, found.left_out["alias-prefix"]), (7, 1));
        // What gets shorter is replaced until it is not there any more.
        let file = "rule=[{site='x.org',kind='alias-prefix',from='/en/',to='/'}]";
        let found = export_rules(&RuleFile::parse(file).unwrap(), RuleFormat::Nutch).unwrap();
        assert!(found.text.contains(")/(?:en/){1,255}</pattern>"), "{}", found.text);
    }

    #[test]
    fn what_is_guarded_is_left_out() {
        let guarded = |site: &str, param: &str, rule: &str| {
            let text = format!(
                "rule=[{{site='a.x.org',{rule}}},{{site='a.x.org',kind='drop-param',param='z'}}]\n\
                 guard=[{{site='{site}',param='{param}',path='/keep/*'}}]"
            );
            RuleFile::parse(&text).unwrap()
        };
        let drop = "kind='drop-param',param='sid'";
        for (site, param, rule, is_said, why) in [
            ("a.x.org", "sid", drop, false, "of the site"),
            ("x.org", "sid", drop, false, "of a domain above"),
            ("b.a.x.org", "sid", drop, false, "of a domain below"),
            ("b.x.org", "sid", drop, true, "of a domain beside"),
            ("ba.x.org", "sid", drop, true, "of another name"),
            ("a.x.org", "sid2", drop, true, "of another parameter"),
            ("a.x.org", "utm_x", "kind='drop-param',param='utm_*'", false, "one of several names"),
            ("b.a.x.org", "utm_x", "kind='drop-param',param='utm_*'", false, "the same below"),
            ("a.x.org", "utm", "kind='drop-param',param='utm_*'", true, "none of several names"),
            ("a.x.org", "p", "kind='default-param',param='p',value='1'", false, "a default"),
            ("a.x.org", "p", "kind='alias-value',param='p',from='1',to='2'", false, "an alias"),
            ("a.x.org", "p", "kind='drop-segment',param='p'", true, "a parameter of the path"),
        ] {
            let file = guarded(site, param, rule);
            let free = RuleFile { guards: Vec::new(), ..file.clone() };
            for to in [RuleFormat::Robots, RuleFormat::Nutch, RuleFormat::ClearUrls] {
                let [found, free] = [&file, &free].map(|file| export_rules(file, to).unwrap());
                let kind = file.rules[0].kind.name();
                if !is_said && free.rules == 2 {
                    assert_eq!((found.rules, found.left_out[kind]), (1, 1), "{why}, {to:?}");
                } else {
                    assert_eq!(found.text, free.text, "{why}, {to:?}");
                }
            }
            assert_eq!(export_rules(&file, RuleFormat::Json).unwrap().rules, 2, "{why}");
        }
    }
}
