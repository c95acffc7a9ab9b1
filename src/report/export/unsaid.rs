//! Which rules have to be left out because of rules that a format cannot express.
//!
//! A rule that is left out does not change URLs before later rules see them: where undust makes
//! `/p/a` of `/p/amp/`, since `/amp/` is removed before `/`, a file that has only the rule for `/`
//! makes it `/p/amp`. Such rules are left out together with the one that they depend on.

use std::collections::BTreeMap;

use super::suffixes::end_of;
use crate::canonical::letters::has_upper;
use crate::canonical::{DustCondition, DustKind, DustRule};
use crate::parts::names_above;

/// A rule with its place in the order of application.
pub(super) type Placed = (usize, DustRule);

/// Rules that a format cannot express, by site.
pub(super) struct Unsaid<'a> {
    own: BTreeMap<&'a str, Vec<&'a Placed>>,
    /// The rules that a format cannot express, by the domains above their sites.
    below: BTreeMap<&'a str, Vec<&'a Placed>>,
}

impl<'a> Unsaid<'a> {
    pub(super) fn new(rules: &'a [Placed]) -> Unsaid<'a> {
        let mut unsaid = Unsaid { own: BTreeMap::new(), below: BTreeMap::new() };
        for placed in rules {
            for (at, name) in names(&placed.1.site).enumerate() {
                let sites = if at == 0 { &mut unsaid.own } else { &mut unsaid.below };
                sites.entry(name).or_default().push(placed);
            }
        }
        unsaid
    }

    /// May `said` change URLs that one of these rules would have changed before?
    pub(super) fn go_before(&self, said: &Placed) -> bool {
        let same_and_above = names(&said.1.site).filter_map(|name| self.own.get(name));
        let below = self.below.get(said.1.site.as_str());
        same_and_above.chain(below).flatten().any(|unsaid| goes_before(unsaid, said))
    }
}

/// Returns `site` and the domains above it.
fn names(site: &str) -> impl Iterator<Item = &str> {
    names_above(site.as_bytes()).filter_map(|name| std::str::from_utf8(name).ok())
}

/// What a rule requires of paths.
enum Asked<'a> {
    Start(&'a str),
    End(String),
    Other,
}

fn goes_before((first, unsaid): &Placed, (second, said): &Placed) -> bool {
    if let [DustKind::AliasSuffix { from, .. }, DustKind::AliasSuffix { from: other, .. }] =
        [&unsaid.kind, &said.kind]
    {
        // The longest is applied first, wherever it is in the list.
        let (from, other) = (end_of(from), end_of(other));
        return from.ends_with(&other) && (from != other || first < second);
    }
    // On nested sites the order may be different.
    if unsaid.site == said.site && first > second {
        return false;
    }
    asked_of_paths(said).is_some_and(|asked| may_take(&unsaid.kind, &asked))
        || takes_params(unsaid, &said.kind)
}

fn asked_of_paths(rule: &DustRule) -> Option<Asked<'_>> {
    match (&rule.kind, rule.scope.path.as_str()) {
        (DustKind::AliasPrefix { from, .. }, _) => Some(Asked::Start(from)),
        (DustKind::AliasSuffix { from, .. }, _) => Some(Asked::End(end_of(from))),
        (_, "" | "*") => None,
        (_, path) => Some(match path.strip_suffix('*') {
            Some(start) if !start.contains(['*', '{']) => Asked::Start(start),
            _ => Asked::Other,
        }),
    }
}

/// May a rule of this kind change a path that meets the requirement to one that does not?
fn may_take(kind: &DustKind, asked: &Asked) -> bool {
    let text = match asked {
        Asked::Start(text) => text,
        Asked::End(text) => text.as_str(),
        Asked::Other => "",
    };
    let is_start = matches!(asked, Asked::Start(_));
    let is_other = matches!(asked, Asked::Other);
    match kind {
        DustKind::AliasPrefix { from, .. } => {
            is_other || if is_start { start_alike(from, text) } else { overlap(from, text) }
        }
        DustKind::AliasSuffix { from, .. } => is_other || overlap(text, &end_of(from)),
        DustKind::FoldCase { param: None } => is_other || has_upper(text.as_bytes()),
        DustKind::DropPathParam { .. } => {
            is_other || text.contains(';') || is_start && !text.ends_with('/')
        }
        DustKind::RewriteTemplate { from, .. } => {
            let path = from.split('?').next().unwrap_or_default();
            let pattern = Pattern::of(path);
            is_other
                || if is_start {
                    start_alike(pattern.start, text)
                } else {
                    end_alike(pattern.end, text)
                }
        }
        DustKind::AliasSegment { from: segment, .. } | DustKind::DropSegment { segment } => {
            let pattern = Pattern::of(segment);
            let count = text.split('/').count();
            let mut pieces = text.split('/').enumerate().filter(|(_, piece)| !piece.is_empty());
            is_other
                || pieces.any(|(at, piece)| {
                    // The piece may be only the end of a segment, or its start.
                    let is_cut_before = !is_start && at == 0;
                    let is_cut_behind = is_start && at + 1 == count;
                    (is_cut_before || start_alike(pattern.start, piece))
                        && (is_cut_behind || end_alike(pattern.end, piece))
                        && piece.chars().all(|letter| pattern.may_hold(letter))
                })
        }
        _ => false,
    }
}

/// Does `unsaid` read or replace what `said` does something to?
fn takes_params(unsaid: &DustRule, said: &DustKind) -> bool {
    let is_said = |name: &str| match said {
        DustKind::DropParam { param } => match param.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == param,
        },
        DustKind::DefaultParam { param, .. } | DustKind::AliasValue { param, .. } => name == param,
        _ => false,
    };
    if unsaid.kind == DustKind::OrderFree {
        return false;
    }
    let mut conditions = unsaid.scope.when.iter();
    let is_asked = conditions.any(|condition| match condition {
        DustCondition::Has { param, .. } | DustCondition::Lacks(param) => is_said(param),
        DustCondition::Host(_) => false,
    });
    let value = match said {
        DustKind::DefaultParam { value, .. } => Some(value),
        DustKind::AliasValue { from, .. } => Some(from),
        _ => None,
    };
    is_asked
        || match &unsaid.kind {
            DustKind::RewriteTemplate { from, .. } => {
                let params = from.split_once('?').map_or("", |(_, params)| params).split('&');
                params.filter_map(|param| param.split('=').next()).any(is_said)
            }
            DustKind::AliasValue { param, from, .. } => is_said(param) && value == Some(from),
            DustKind::DefaultParam { param, value: default } => {
                is_said(param)
                    && value == Some(default)
                    && matches!(said, DustKind::AliasValue { .. })
            }
            DustKind::FoldCase { param: Some(param) } => {
                is_said(param) && value.is_some_and(|value| has_upper(value.as_bytes()))
            }
            _ => false,
        }
}

/// What is known of the texts that a pattern matches.
struct Pattern<'a> {
    text: &'a str,
    /// Its text up to the first wildcard, and after the last one.
    start: &'a str,
    end: &'a str,
}

impl Pattern<'_> {
    fn of(text: &str) -> Pattern<'_> {
        let start = text.find(['*', '{']).map_or(text, |at| &text[..at]);
        let end = text.rfind(['*', '}']).map_or(text, |at| &text[at + 1..]);
        Pattern { text, start, end }
    }

    fn may_hold(&self, letter: char) -> bool {
        // What classes match; their names count as text.
        let is_of_class = match ["{slug", "{base64"].iter().any(|class| self.text.contains(class)) {
            true => letter.is_ascii_alphanumeric() || "-_+=".contains(letter),
            false => letter.is_ascii_hexdigit() || letter == '-',
        };
        self.text.contains(letter)
            || self.text.contains('*')
            || self.text.contains('{') && is_of_class
    }
}

fn start_alike(a: &str, b: &str) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

fn end_alike(a: &str, b: &str) -> bool {
    a.ends_with(b) || b.ends_with(a)
}

/// May a path that starts with `start` end with `end`, the two having letters in common?
fn overlap(start: &str, end: &str) -> bool {
    let ends = end.char_indices().map(|(at, letter)| &end[..at + letter.len_utf8()]);
    ends.into_iter().any(|piece| start.ends_with(piece))
}

#[cfg(test)]
mod tests {
    use crate::canonical::RuleFile;
    use crate::report::export::{RuleFormat, export_rules, left_out_in_words};

    /// Which of the rules are left out, as text.
    fn left_out(rules: &[&str]) -> String {
        let rows: Vec<String> = rules
            .iter()
            .map(|rule| match rule.starts_with("site=") {
                true => format!("{{{rule}}}"),
                false => format!("{{site='x.org',{rule}}}"),
            })
            .collect();
        let file = RuleFile::parse(&format!("rule=[{}]", rows.join(","))).unwrap();
        let found = export_rules(&file, RuleFormat::Nutch).unwrap();
        let count: usize = found.left_out.values().sum();
        assert_eq!(found.rules + count, rules.len());
        left_out_in_words(&found)
    }

    #[test]
    fn what_goes_with_rules_that_cannot_be_said() {
        let slash = "kind='alias-suffix',from='/',to=''";
        let amp = "kind='alias-suffix',from='/amp/',to=''";
        let index = "kind='alias-suffix',from='index.html',to=''";
        let html = "kind='alias-suffix',from='.html',to=''";
        let old = "kind='alias-prefix',from='/old/',to='/new/',path='/old/v1*'";
        let www = "hosts=['www.x.org']";
        for (rules, expected, why) in [
            (&[slash, amp, index][..], "2 alias-suffix", "`/` would take the paths of `/amp/`"),
            (&[html, &format!("{index},path='/shop/*'")], "2 alias-suffix", "restricted to a path"),
            (
                &[html, &format!("kind='alias-suffix',from='a.html',to='b',{www}")],
                "2 alias-suffix",
                "restricted to hosts",
            ),
            (
                &[html, "kind='alias-suffix',from='.php',to='',path='/shop/*'"],
                "1 alias-suffix",
                "another end",
            ),
            (
                &[html, &format!("site='a.x.org',{index},when=['a=1']")],
                "2 alias-suffix",
                "on a site below",
            ),
            (
                &[&format!("site='a.x.org',{html}"), &format!("{index},path='/shop/*'")],
                "2 alias-suffix",
                "on a site above",
            ),
            (
                &[&format!("site='b.org',{html}"), &format!("{index},path='/shop/*'")],
                "1 alias-suffix",
                "on another site",
            ),
            (
                &[old, "kind='drop-param',param='id',path='/old/*'"],
                "1 alias-prefix, 1 drop-param",
                "the path of a parameter",
            ),
            (&[old, "kind='drop-param',param='id'"], "1 alias-prefix", "any path"),
            (&[old, "kind='drop-param',param='id',path='/b/*'"], "1 alias-prefix", "another path"),
            (
                &[old, "kind='drop-param',param='id',path='*/v1/*'"],
                "1 alias-prefix, 1 drop-param",
                "a path of which little is known",
            ),
            (
                &[old, "kind='alias-prefix',from='/old/v',to='/v'"],
                "2 alias-prefix",
                "the start of a path",
            ),
            (
                &["kind='fold-case'", "kind='drop-param',param='id',path='/F/*'"],
                "1 drop-param, 1 fold-case",
                "letters",
            ),
            (
                &["kind='fold-case'", "kind='drop-param',param='id',path='/f/*'", html],
                "1 fold-case",
                "small letters",
            ),
            (
                &["kind='drop-segment',segment='x{num}.html'", html],
                "1 alias-suffix, 1 drop-segment",
                "segments",
            ),
            (
                &[
                    "kind='drop-segment',segment='{hex:32}'",
                    "kind='drop-param',param='s',path='/so/*'",
                ],
                "1 drop-segment",
                "other segments",
            ),
            (
                &["kind='drop-segment',segment='{hex:32}'", "kind='drop-param',param='s',path='/'"],
                "1 drop-param, 1 drop-segment",
                "a single path",
            ),
            (
                &[
                    "kind='rewrite-template',from='/story?id={1}',to='/story_{1}'",
                    "kind='drop-param',param='id'",
                    "kind='drop-param',param='sid'",
                ],
                "1 drop-param, 1 rewrite-template",
                "a parameter that a template reads",
            ),
            (
                &[
                    "kind='alias-prefix',from='/a/',to='/b/',when=['x=1']",
                    "kind='drop-param',param='x'",
                    "kind='drop-param',param='y'",
                ],
                "1 alias-prefix, 1 drop-param",
                "a parameter of a condition",
            ),
            (
                &[
                    "kind='fold-case',param='v'",
                    "kind='alias-value',param='v',from='A',to='b'",
                    "kind='alias-value',param='v',from='1',to='2'",
                ],
                "1 alias-value, 1 fold-case",
                "values",
            ),
        ] {
            assert_eq!(left_out(rules), expected, "{why}");
        }
    }
}
