//! Suffixes of paths for Nutch, which applies every expression once, in the order of its file.
//!
//! undust takes the longest suffix that a path ends with, until there is none. Expressions do the
//! same if it is certain which suffix is next, so that
//!
//! - suffixes that are removed are one expression that repeats;
//! - each other suffix has an expression of its own, which also removes what follows it; the
//!   longest comes first, but after those whose replacement ends with it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::regex::{quoted, replacement, site_regex};
use crate::canonical::{DustKind, DustRule};
use crate::parts::names_above;

/// Most comparisons of two suffixes while those of a site are tried, about. Reason: each try
/// compares all pairs; this takes about a second.
const COMPARED_MAX: usize = 1 << 26;

/// Most repetitions of a suffix. Reason: Java takes a deeper stack for each where there is no limit
/// and overflows it; undust itself stops at
/// [`DUST_PASSES_MAX`](crate::limits::DUST_PASSES_MAX).
pub(super) const REPEATED_MAX: usize = 255;

/// Pattern and substitution.
type Expression = (String, String);

/// The suffixes of a list of rules that Nutch can express.
pub(super) struct Suffixes {
    /// The expressions of each site, by the place of its first suffix in the list.
    expressions: BTreeMap<usize, Vec<Expression>>,
    /// The places of the suffixes that it cannot express.
    pub(super) left_out: BTreeSet<usize>,
}

/// A rule for suffixes.
#[derive(Clone, Debug)]
struct Suffix {
    /// The place of the rule in the list.
    place: usize,
    /// What paths end with; a whole segment with the slash before it.
    from: String,
    to: String,
}

impl Suffixes {
    /// Finds the suffixes among `rules` that can be expressed; `rules` are in the order of
    /// application.
    pub(super) fn of(rules: &[&DustRule]) -> Suffixes {
        let mut sites: BTreeMap<&str, Vec<Suffix>> = BTreeMap::new();
        for (place, rule) in rules.iter().enumerate() {
            if let DustKind::AliasSuffix { from, to } = &rule.kind {
                sites.entry(&rule.site).or_default().push(Suffix::new(place, from, to));
            }
        }
        let mut left_out = BTreeSet::new();
        // Where sites are nested, the rules of both hold.
        for (site, own) in &sites {
            let above =
                names_above(site.as_bytes()).filter_map(|name| std::str::from_utf8(name).ok());
            for others in above.filter(|name| name != site).filter_map(|name| sites.get(name)) {
                for (a, b) in own.iter().flat_map(|a| others.iter().map(move |b| (a, b))) {
                    if a.touches(b) || b.touches(a) {
                        left_out.extend([a.place, b.place]);
                    }
                }
            }
        }
        let mut expressions = BTreeMap::new();
        for (site, mut suffixes) in sites {
            suffixes.retain(|suffix| !left_out.contains(&suffix.place));
            suffixes.sort_by_key(|suffix| (Reverse(suffix.from.len()), suffix.place));
            let said = sayable(site, &suffixes);
            let places: BTreeSet<usize> = said.iter().map(|suffix| suffix.place).collect();
            let all = suffixes.iter().map(|suffix| suffix.place);
            left_out.extend(all.filter(|place| !places.contains(place)));
            if let (Some(first), Some(found)) = (places.first(), expressions_of(site, &said)) {
                expressions.insert(*first, found);
            }
        }
        Suffixes { expressions, left_out }
    }

    /// The expressions at this place in the list.
    pub(super) fn at(&self, place: usize) -> &[Expression] {
        self.expressions.get(&place).map_or(&[], Vec::as_slice)
    }
}

/// What paths end with if a rule replaces `from`: a whole segment includes the slash before it.
pub(super) fn end_of(from: &str) -> String {
    format!("{}{from}", if is_whole(from) { "/" } else { "" })
}

fn is_whole(from: &str) -> bool {
    !from.starts_with(['/', '.'])
}

impl Suffix {
    fn new(place: usize, from: &str, to: &str) -> Suffix {
        let slash = if is_whole(from) { "/" } else { "" };
        Suffix { place, from: end_of(from), to: format!("{slash}{to}") }
    }

    /// May a path end with `next` once this one was replaced?
    fn leads_to(&self, next: &Suffix) -> bool {
        self.to.ends_with(&next.from) || next.from.ends_with(&self.to)
    }

    /// May it matter which of the two comes first?
    fn touches(&self, other: &Suffix) -> bool {
        self.leads_to(other) || self.from.ends_with(&other.from)
    }

    fn is_whole_segment(&self) -> bool {
        self.from.rfind('/') == Some(0)
    }

    fn has_slash(&self) -> bool {
        self.from.contains('/')
    }

    /// What paths end with; if the replacement is shorter, as `/` for `/x/`, repeated until it is
    /// gone.
    fn regex(&self) -> String {
        match self.from.strip_suffix(&self.to) {
            Some(more) if !self.to.is_empty() => {
                format!("(?:{}){{1,{REPEATED_MAX}}}{}", quoted(more), quoted(&self.to))
            }
            _ => quoted(&self.from),
        }
    }
}

/// Returns those of `suffixes`, the longest first, that can be expressed together.
fn sayable<'a>(site: &str, suffixes: &'a [Suffix]) -> Vec<&'a Suffix> {
    let all: Vec<&Suffix> = suffixes.iter().collect();
    if expressions_of(site, &all).is_some() {
        return all;
    }
    // Halves that cannot be expressed with what precedes them are halved again.
    let mut said: Vec<&Suffix> = Vec::new();
    let mut compared = 0;
    let (before, behind) = all.split_at(all.len() / 2);
    let mut next = vec![behind, before];
    while let Some(some) = next.pop() {
        compared += (said.len() + some.len()).pow(2);
        if compared > COMPARED_MAX {
            break;
        }
        let count = said.len();
        said.extend(some);
        if expressions_of(site, &said).is_none() {
            said.truncate(count);
            if some.len() > 1 {
                let (before, behind) = some.split_at(some.len() / 2);
                next.extend([behind, before]);
            }
        }
    }
    said
}

/// Returns the expressions for `suffixes`, the longest first, all of one site; `None` if there are
/// none that do the same.
fn expressions_of(site: &str, suffixes: &[&Suffix]) -> Option<Vec<Expression>> {
    let (mut gone, others): (Vec<&Suffix>, Vec<&Suffix>) =
        suffixes.iter().partition(|suffix| suffix.to.is_empty());
    // A suffix whose replacement ends with a suffix that is removed, and no longer one, is removed
    // as well.
    let is_longer = |one: &Suffix, to: &str| one.from.len() > to.len() && one.from.ends_with(to);
    let (steps, others): (Vec<&Suffix>, Vec<&Suffix>) = others.into_iter().partition(|suffix| {
        gone.iter().any(|next| next.from == suffix.to)
            && !suffixes.iter().any(|one| is_longer(one, &suffix.to))
    });
    gone.extend(steps);
    let order = in_order(&others)?;
    let gone_twice =
        gone.iter().enumerate().any(|(at, a)| gone[..at].iter().any(|b| ends_alike(a, b)));
    let leads = others.iter().any(|one| gone.iter().any(|next| one.leads_to(next)));
    let is_end = gone.iter().any(|one| others.iter().any(|end| one.from.ends_with(&end.from)));
    if gone_twice || leads || is_end {
        return None;
    }
    let ends: Vec<&&Suffix> =
        others.iter().filter(|one| gone.iter().any(|end| one.from.ends_with(&end.from))).collect();
    // Of `/index.html` and `.html` the longer one counts. It is the first one for expressions as
    // well if nothing else brings the start of its segment.
    let is_clear = ends.iter().all(|one| one.is_whole_segment())
        && gone.iter().all(|one| !one.has_slash())
        && others.iter().all(|one| !one.has_slash() || one.is_whole_segment())
        && order.is_sorted_by_key(|one| Reverse(one.from.len()));
    if !ends.is_empty() && !is_clear {
        return None;
    }
    let site = site_regex(site);
    let end = "(?=[?#]|$)";
    let all_gone = gone.iter().map(|one| quoted(&one.from)).collect::<Vec<_>>().join("|");
    let behind =
        if gone.is_empty() { String::new() } else { format!("(?:{all_gone}){{0,{REPEATED_MAX}}}") };
    let mut out: Vec<Expression> = Vec::new();
    for one in order {
        // The slash that is a whole path stays.
        let start = if one.from == "/" { "[^?#]+?" } else { "[^?#]*?" };
        let pattern = format!("^({site}{start}){}{behind}{end}", one.regex());
        out.push((pattern, format!("$1{}", replacement(&one.to))));
    }
    if !gone.is_empty() {
        out.push((
            format!("^({site}[^?#]*?)(?:{all_gone}){{1,{REPEATED_MAX}}}{end}"),
            "$1".to_string(),
        ));
    }
    if gone.iter().any(|one| one.from.starts_with('/')) {
        // No path is empty.
        out.push((format!("^({site}){end}"), "$1/".to_string()));
    }
    Some(out)
}

fn ends_alike(a: &Suffix, b: &Suffix) -> bool {
    a.from.ends_with(&b.from) || b.from.ends_with(&a.from)
}

/// Orders `suffixes` so that one pass is enough: none leads to an earlier one, and of two that a
/// path may both end with, the longer one is first. `None` if there is no such order.
fn in_order<'a>(suffixes: &[&'a Suffix]) -> Option<Vec<&'a Suffix>> {
    let mut order: Vec<&Suffix> = Vec::new();
    for one in suffixes {
        let at = order.iter().position(|next| one.leads_to(next)).unwrap_or(order.len());
        order.insert(at, one);
    }
    let is_right = order.iter().enumerate().all(|(at, one)| {
        let before = &order[..at];
        !before.iter().any(|first| one.leads_to(first) || one.from.ends_with(&first.from))
    });
    is_right.then_some(order)
}

#[cfg(test)]
mod tests {
    use crate::canonical::RuleFile;
    use crate::report::export::{RuleFormat, export_rules};

    /// The part between the site and the end of the expressions for `rules`, with their
    /// replacements; and how many rules are left out.
    fn said(rules: &[(&str, &str, &str)]) -> (Vec<String>, usize) {
        let rows = rules.iter().map(|(site, from, to)| {
            format!("{{site='{site}',kind='alias-suffix',from='{from}',to='{to}'}}")
        });
        let rows: Vec<String> = rows.collect();
        let file = RuleFile::parse(&format!("rule=[{}]", rows.join(","))).unwrap();
        let found = export_rules(&file, RuleFormat::Nutch).unwrap();
        let left_out = found.left_out.values().sum();
        assert_eq!(found.rules + left_out, rules.len(), "{}", found.text);
        let between = |text: &str, start: &str, end: &str| -> Vec<String> {
            let parts = text.split(start).skip(1).map(|part| part.split(end).next().unwrap());
            parts.map(str::to_string).collect()
        };
        let patterns = between(&found.text, "(?=[/?#]|$)", "(?=[?#]|$)</pattern>");
        let puts = between(&found.text, "<substitution>$1", "</substitution>");
        let said = patterns.iter().zip(puts).map(|(pattern, put)| {
            let pattern = pattern.strip_prefix("[^?#]*?)").unwrap_or(pattern);
            format!("{pattern} -> {put}")
        });
        (said.collect(), left_out)
    }

    #[test]
    fn suffixes_for_nutch() {
        for (rules, expected, left_out, why) in [
            (
                &[(".htm", ".html"), (".html", "")][..],
                &["(?:\\.html|\\.htm){1,255} -> "][..],
                0,
                "what becomes one that goes",
            ),
            (
                &[("x.html", "y"), (".htm", ".html")],
                &["\\.htm -> .html", "/x\\.html -> /y"],
                0,
                "one that leads to a longer one",
            ),
            (&[(".html", "")], &["(?:\\.html){1,255} -> "], 0, "as often as it is there"),
            (&[("/a", "")], &["(?:/a){1,255} -> ", ") -> /"], 0, "no path is empty"),
            (&[("/", "")], &["(?:/){1,255} -> ", ") -> /"], 0, "slashes"),
            (&[(".html", ""), (".php", "")], &["(?:\\.html|\\.php){1,255} -> "], 0, "in turns"),
            (
                &[("index.html", ""), (".html", ""), ("index.php", "home")],
                &[
                    "/index\\.html(?:\\.html){0,255} -> /",
                    "/index\\.php(?:\\.html){0,255} -> /home",
                    "(?:\\.html){1,255} -> ",
                ],
                0,
                "what goes behind another",
            ),
            (
                &[("/", ""), ("index.html", "")],
                &["(?:/|/index\\.html){1,255} -> ", ") -> /"],
                0,
                "a step",
            ),
            (&[("/x/", "/")], &["(?:/x){1,255}/ -> /"], 0, "what gets shorter"),
            (&[("/", "/y")], &["[^?#]+?)/ -> /y"], 0, "the path `/` stays"),
            (&[("a.b", "$1\\")], &["/a\\.b -> /\\$1\\\\"], 0, "signs that mean something"),
            (
                &[(".b", ""), (".a.b", "")],
                &["(?:\\.a\\.b){1,255} -> "],
                1,
                "the other may leave `.a`",
            ),
            (
                &[(".htm", ".html"), (".html", ""), ("index.html", "")],
                &["/index\\.html(?:\\.html){0,255} -> /", "(?:\\.html){1,255} -> "],
                1,
                "`.htm` becomes either of them",
            ),
            (&[("/x.html", "/y"), ("x.html", "z")], &["/x\\.html -> /y"], 1, "the first counts"),
            (
                &[(".a", ".bb"), (".bb", ".ccc"), (".ccc", "")],
                &["(?:\\.ccc|\\.bb){1,255} -> "],
                1,
                "a step to a step",
            ),
        ] {
            let rules: Vec<_> = rules.iter().map(|(from, to)| ("x.org", *from, *to)).collect();
            assert_eq!(
                said(&rules),
                (expected.iter().map(|s| s.to_string()).collect(), left_out),
                "{why}"
            );
        }
    }

    #[test]
    fn suffixes_of_nested_sites() {
        let rules =
            [("x.org", ".htm", ".html"), ("a.x.org", ".php", ".asp"), ("b.org", ".html", "")];
        assert_eq!(said(&rules).1, 0);
        let rules = [("x.org", ".htm", ".html"), ("a.x.org", ".html", ""), ("b.org", ".html", "")];
        assert_eq!(said(&rules), (vec!["(?:\\.html){1,255} -> ".to_string()], 2));
    }

    #[test]
    fn many_suffixes() {
        let names: Vec<String> = (0..1000).map(|number| format!("i{number}.html")).collect();
        let mut rules: Vec<_> = names.iter().map(|name| ("x.org", name.as_str(), "")).collect();
        assert_eq!(said(&rules).1, 0);
        // Of two that cannot be expressed together, one is left out.
        rules.extend([("x.org", ".b", ""), ("x.org", ".a.b", "")]);
        assert_eq!(said(&rules).1, 1);
    }
}
