//! Rules of sites in the formats of other programs, as far as those can say them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::bytes::hex;
use crate::canonical::{DustKind, DustRule, DustRules, Guard, RuleFile, canonical_host};
use crate::error::{Error, Result};

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
    /// How many rules in force it cannot say, by kind.
    pub left_out: BTreeMap<&'static str, usize>,
}

/// Writes the rules in force of `file` in the format `to`. What the format cannot say is left out,
/// so that what is there is right; rules that need another spelling of it are counted. No format
/// but JSON has guards: rules for parameters that a guard names are left out as well. JSON is the
/// file as it is; elsewhere hosts are canonical, as they are in the URLs that they are compared
/// with.
pub fn export_rules(file: &RuleFile, to: RuleFormat) -> Result<Exported> {
    let mut exported = Exported::default();
    let mut said: Vec<(usize, DustRule)> = Vec::new();
    let guarded = Guarded::new(&file.guards);
    // Nutch applies one after the other, in the order of its file.
    let in_order: Option<Vec<usize>> =
        (to == RuleFormat::Nutch).then(|| DustRules::compile(file).rules.in_order());
    let places: Option<BTreeMap<usize, usize>> =
        in_order.map(|order| order.into_iter().zip(0..).collect());
    // All of the file is JSON, in force or not.
    let rules: &[DustRule] = if to == RuleFormat::Json { &[] } else { &file.rules };
    for (number, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.status.is_in_force()) {
        // What does not hold together has no place.
        let place = places.as_ref().map_or(Some(number), |places| places.get(&number).copied());
        let sayable = with_canonical_hosts(rule).filter(|rule| match to {
            _ if guarded.has_params_of(rule) => false,
            RuleFormat::Robots => robots_line(rule).is_some(),
            RuleFormat::Nutch => nutch_rule(rule).is_some(),
            RuleFormat::ClearUrls => clear_urls_rule(rule).is_some(),
            RuleFormat::Json => false,
        });
        match (place, sayable) {
            (Some(place), Some(rule)) => said.push((place, rule)),
            _ => *exported.left_out.entry(rule.kind.name()).or_default() += 1,
        }
    }
    exported.rules = said.len();
    said.sort_by_key(|(place, _)| *place);
    let said: Vec<&DustRule> = said.iter().map(|(_, rule)| rule).collect();
    exported.text = match to {
        RuleFormat::Robots => robots(&said),
        RuleFormat::Nutch => nutch(&said),
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

/// The parameters that guards name, each with a site.
struct Guarded<'a> {
    /// The site of the guard.
    sites: BTreeSet<(String, &'a str)>,
    /// The same, and all domains above it.
    above: BTreeSet<(String, &'a str)>,
}

impl<'a> Guarded<'a> {
    fn new(guards: &'a [Guard]) -> Guarded<'a> {
        let (mut sites, mut above) = (BTreeSet::new(), BTreeSet::new());
        for guard in guards {
            let site = site_of(&guard.site);
            above.extend(names_above(&site).map(|name| (name.to_string(), guard.param.as_str())));
            sites.insert((site, guard.param.as_str()));
        }
        Guarded { sites, above }
    }

    /// Is there a guard for a parameter that `rule` is about, on its site, above or below it?
    /// Wherever on the site: what the two have in common is not asked.
    fn has_params_of(&self, rule: &DustRule) -> bool {
        let (param, is_prefix) = match &rule.kind {
            DustKind::DropParam { param } => match param.strip_suffix('*') {
                Some(start) => (start, true),
                None => (param.as_str(), false),
            },
            DustKind::DefaultParam { param, .. } | DustKind::AliasValue { param, .. } => {
                (param.as_str(), false)
            }
            _ => return false,
        };
        let has = |guards: &BTreeSet<(String, &str)>, site: &str| {
            let next = guards.range((site.to_string(), param)..).next();
            next.is_some_and(|(name, guarded)| {
                name == site && (*guarded == param || is_prefix && guarded.starts_with(param))
            })
        };
        let site = site_of(&rule.site);
        has(&self.above, &site) || names_above(&site).any(|name| has(&self.sites, name))
    }
}

/// The canonical spelling of a site, or the site as it is if it is none.
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

/// Is it a scheme or a port that `host-alias` replaces, and no host?
fn is_scheme_or_port(text: &str) -> bool {
    text.starts_with(':') || matches!(text, "http:" | "https:")
}

/// `site` and the domains above it.
fn names_above(site: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(site), |name| name.split_once('.').map(|(_, rest)| rest))
}

/// Is the rule for all hosts of its site, whatever the query?
fn is_plain(rule: &DustRule) -> bool {
    rule.hosts.is_empty() && rule.scope.except.is_empty() && rule.scope.when.is_empty()
}

/// Path and parameter of a `Clean-param` line. Its path is a prefix, in which `*` is any text;
/// other patterns would be taken for more than they are.
fn robots_line(rule: &DustRule) -> Option<(&str, &str)> {
    let DustKind::DropParam { param } = &rule.kind else { return None };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_path = |byte: u8| is_name(byte) || b"/*".contains(&byte);
    let path = match rule.scope.path.as_str() {
        "" | "*" => "",
        path => path.strip_suffix('*')?,
    };
    let is_fine = is_plain(rule) && param.bytes().all(is_name) && path.bytes().all(is_path);
    is_fine.then_some((path, param))
}

fn robots(rules: &[&DustRule]) -> String {
    /// Longest line that its readers take, in characters. Source: Yandex, "Clean-param".
    const LINE: usize = 500;
    let mut sites: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for rule in rules {
        if let Some((path, param)) = robots_line(rule) {
            sites.entry(&rule.site).or_default().entry(path).or_default().push(param);
        }
    }
    let mut text = String::new();
    for (site, paths) in sites {
        let _ = writeln!(text, "# robots.txt of {site}\nUser-agent: *");
        for (path, mut params) in paths {
            params.sort_unstable();
            params.dedup();
            let mut line = String::new();
            for param in params {
                if !line.is_empty() && line.len() + param.len() + path.len() + 2 > LINE {
                    let _ = writeln!(text, "{}", clean_param(&line, path));
                    line.clear();
                }
                if line.is_empty() {
                    line.push_str("Clean-param: ");
                } else {
                    line.push('&');
                }
                line.push_str(param);
            }
            let _ = writeln!(text, "{}", clean_param(&line, path));
        }
        text.push('\n');
    }
    text
}

fn clean_param(line: &str, path: &str) -> String {
    format!("{line} {path}").trim_end().to_string()
}

/// `text` as a regular expression that matches just it. Only ASCII has characters that mean more.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        if letter.is_ascii() && !letter.is_ascii_alphanumeric() && !"-_~/=&%".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// The pattern of a path as a regular expression; `None` if it is no pattern, or holds what no
/// canonical URL does.
fn path_regex(path: &str) -> Option<String> {
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let mut out = String::new();
    let mut rest = path;
    while let Some(at) = rest.find(['*', '{']) {
        out.push_str(&quoted(&rest[..at]));
        if rest[at..].starts_with('*') {
            out.push_str("[^?#]*");
            rest = &rest[at + 1..];
            continue;
        }
        let end = at + rest[at..].find('}')?;
        let (name, length) = match rest[at + 1..end].split_once(':') {
            Some((name, length)) => (name, format!("{{{length}}}")),
            None => (&rest[at + 1..end], "+".to_string()),
        };
        out.push_str(&match name {
            "num" => format!("[0-9]{length}"),
            "hex" if length == "+" => "[0-9A-Fa-f]{8,}".to_string(),
            "hex" => format!("[0-9A-Fa-f]{length}"),
            "slug" => format!("[0-9A-Za-z_-]{length}"),
            "base64" => format!("[0-9A-Za-z+_=-]{length}"),
            "date" => "[0-9]{4}-[0-9]{2}-[0-9]{2}".to_string(),
            "uuid" => "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}".to_string(),
            "*" => format!("[^/?#]{length}"),
            _ => return None,
        });
        rest = &rest[end + 1..];
    }
    out.push_str(&quoted(rest));
    Some(out)
}

/// The start of a URL of the rule's site, up to its path, as a regular expression.
fn site_regex(site: &str) -> String {
    format!("https?://(?:[^/?#]*\\.)?{}(?::[0-9]*)?(?=[/?#]|$)", quoted(site))
}

/// Pattern and substitution for Nutch: Java's regular expressions over the whole URL.
fn nutch_rule(rule: &DustRule) -> Option<(String, String)> {
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
            (format!("^({site}){}", quoted(from)), format!("$1{}", put(to)))
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

fn nutch(rules: &[&DustRule]) -> String {
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

/// Is it a parameter, or a raw pattern, and which? ClearURLs knows providers, which are sites with
/// paths, and what to drop there.
fn clear_urls_rule(rule: &DustRule) -> Option<(bool, String)> {
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

fn clear_urls(rules: &[&DustRule]) -> String {
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

/// Words for rules that were left out: `3 drop-param, 1 fold-case`. Empty if there are none.
pub fn left_out_in_words(exported: &Exported) -> String {
    let words: Vec<String> =
        exported.left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
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
            "<pattern>^(https?://(?:[^/?#]*\\.)?x\\.org(?::[0-9]*)?(?=[/?#]|$)[^?#]*\\?\
             (?:[^#]*&amp;)?)\
             sid(?:=[^&amp;#]*)?(?:&amp;|(?=#)|$)</pattern>\n    <substitution>$1</substitution>",
            "/shop/[^?#]*\\?",
            "utm_[^=&amp;#]*",
            "^(?![^#]*[?&amp;]p(?:[&amp;#]|$|=(?!\\$1(?:[&amp;#]|$))))(https",
            "p=\\$1(?:",
            "^(https?://)m\\.x\\.org(?=[:/?#]|$)",
            "(?i:jsessionid)",
        ] {
            assert!(found.text.contains(part), "{part}\n{}", found.text);
        }
        assert_eq!(found.rules, 6);
        assert_eq!(left_out_in_words(&found), "2 drop-param, 1 order-free");
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
        let part = "^(https?://)m\\.xn--bcher-kva\\.example(?=[:/?#]|$)</pattern>\n    \
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
        assert!(found.text.contains(")%C3%A9(?:=[^&amp;#]*)?"), "{}", found.text);
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
        assert!(at(")w\\.x\\.org") < at(")m\\.x\\.org"), "{}", found.text);
        assert!(at(")/a/<") < at(")/b/<"), "{}", found.text);
        assert!(at("=)1(") < at("=)2("), "{}", found.text);
        assert_eq!((found.rules, found.left_out["alias-prefix"]), (7, 1));
    }

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
