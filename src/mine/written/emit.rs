//! Candidates that hold become rules, with their evidence.

use super::moves::Moves;
use super::patterns::{session, text};
use super::scopes::Scoper;
use super::spellings::Spellings;
use crate::canonical::{DustKind, DustRule, DustStatus, Evidence, RuleScope};
use crate::mine::acts::candidates::Act;
use crate::mine::acts::paths::PathAct;
use crate::mine::acts::priors::{COUNTERS, GUARDED};
use crate::mine::seen::handlers::Handlers;
use crate::mine::seen::table::{Signal, Table};
use crate::mine::selected::sections::{Section, sums};
use crate::mine::selected::selector::Validated;
use crate::mine::trials::Trials;

/// Sections that the note of a rule names. Reason: a longer list would not be read.
const SECTIONS_SHOWN: usize = 3;

/// The rules of one validated candidate, for `site`. Text that is not UTF-8 makes no rule.
pub(super) fn rules(
    site: &str,
    table: &Table,
    handlers: &Handlers,
    spellings: &Spellings,
    moves: &Moves<'_>,
    validated: &Validated,
    values: impl Fn(u32, u64) -> Option<Vec<u8>>,
) -> Vec<DustRule> {
    let Some(kind) = kind(table, &validated.candidate.act, &values) else { return Vec::new() };
    let status = if is_in_force(table, validated) { DustStatus::Auto } else { DustStatus::Review };
    let scoper = Scoper { table, handlers, spellings, moves, values };
    let Some(scopes) = scoper.scopes(validated) else { return Vec::new() };
    let urls = scopes.urls().max(1) as f64;
    let rule = |(at, (scope, urls_here)): (usize, (RuleScope, u64))| DustRule {
        site: site.to_string(),
        hosts: Vec::new(),
        scope,
        kind: kind.clone(),
        status,
        evidence: Some(Evidence {
            // Rules in force are validated together, so one example says what all of them do.
            examples: match status {
                DustStatus::Auto if at > 0 => Vec::new(),
                _ => examples(table, validated),
            },
            ..evidence(table, validated, urls_here as f64 / urls)
        }),
        note: note(handlers, validated, scopes.left_out),
    };
    scopes.written.into_iter().enumerate().map(rule).collect()
}

/// Is a validated candidate in force, or to be reviewed?
pub(super) fn is_in_force(table: &Table, validated: &Validated) -> bool {
    validated.holds
        && !validated.prior.guarded
        && (table.signal.is_confirmed() || validated.prior.listed)
}

/// The name of a signal in rule files.
pub(super) fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::Digest => "digest",
        Signal::CanonicalLink | Signal::CanonicalLinkAlone => "canonical-link",
        Signal::Size => "size",
        Signal::None => Evidence::NO_SIGNAL,
    }
}

/// What speaks for a rule that has this share of the URLs of its candidate.
fn evidence(table: &Table, validated: &Validated, share: f64) -> Evidence {
    let support = &validated.support;
    let gain = support.gain as f64 * share;
    // Groups are samples of the rate, and the pages that are lost are in URLs: one group that
    // disagrees may have most of them.
    let sound = 1.0 - support.unsound as f64 / support.gain.max(1) as f64;
    let rate = validated.rate.min(sound / support.all.mean_same());
    let bound = validated.bound.min(sound / support.all.mean_high());
    let million = 1e6 / table.urls.len().max(1) as f64;
    let round = |x: f64| (x * 1e4).round() / 1e4;
    Evidence {
        ok: support.all.good,
        groups: support.all.samples,
        bound: round(validated.bound),
        signal: signal_name(table.signal).to_string(),
        gain_urls: gain.round() as u64,
        loss_per_million: round((1.0 - rate) * gain * million),
        loss_bound_per_million: round((1.0 - bound) * gain * million),
        examples: Vec::new(),
    }
}

/// URLs that the rules of a candidate make equal.
fn examples(table: &Table, validated: &Validated) -> Vec<(String, String)> {
    let text =
        |url: u32| String::from_utf8_lossy(table.bytes(table.urls[url as usize].text)).into_owned();
    validated.support.example.iter().map(|(a, b)| (text(*a), text(*b))).collect()
}

/// The name of a parameter, as a rule can say it.
pub(super) fn param(bytes: &[u8]) -> Option<String> {
    text(bytes).filter(|name| !name.is_empty() && !name.ends_with('*'))
}

/// The name of a host, as a rule can say it: without a user.
fn host(bytes: &[u8]) -> Option<String> {
    text(bytes).filter(|host| !host.contains('@'))
}

/// What the rules of a candidate do; `None` if that cannot be written.
fn kind(
    table: &Table,
    act: &Act,
    values: impl Fn(u32, u64) -> Option<Vec<u8>>,
) -> Option<DustKind> {
    let name = |number: &u32| param(&table.names[*number as usize]);
    Some(match act {
        Act::Host(from, to) => DustKind::HostAlias {
            from: host(&table.hosts[*from as usize])?,
            to: host(&table.hosts[*to as usize])?,
        },
        Act::Scheme(https) => {
            let (http, s) = ("http:".to_string(), "https:".to_string());
            let (from, to) = if *https { (http, s) } else { (s, http) };
            DustKind::HostAlias { from, to }
        }
        Act::Port(port) => DustKind::HostAlias { from: text(port)?, to: ":".to_string() },
        Act::Path(act) => path_kind(act)?,
        Act::Drop(number) => DustKind::DropParam { param: name(number)? },
        Act::Default(number, value) => {
            DustKind::DefaultParam { param: name(number)?, value: text(&values(*number, *value)?)? }
        }
        Act::Order => DustKind::OrderFree,
        Act::Value(number, from, to) => DustKind::AliasValue {
            param: name(number)?,
            from: text(&values(*number, *from)?)?,
            to: text(&values(*number, *to)?)?,
        },
        Act::Keep(_, kept) => DustKind::KeepOnly {
            params: kept_names(kept.iter().map(name).collect::<Option<Vec<String>>>()?),
        },
    })
}

/// What the rule of a change of paths does.
fn path_kind(act: &PathAct) -> Option<DustKind> {
    Some(match act {
        PathAct::Parameter(name) => DustKind::DropPathParam { param: param(name)? },
        PathAct::Segment(shape) => DustKind::DropSegment { segment: session(shape)? },
        PathAct::FoldCase => DustKind::FoldCase { param: None },
        PathAct::DoubleSlash => DustKind::DropSegment { segment: String::new() },
        PathAct::Prefix(from, to) => DustKind::AliasPrefix { from: text(from)?, to: text(to)? },
        PathAct::Index(name) => DustKind::AliasSuffix { from: text(name)?, to: String::new() },
        PathAct::Slash => DustKind::AliasSuffix { from: "/".to_string(), to: String::new() },
        PathAct::Extension(from, to) => DustKind::AliasSuffix { from: text(from)?, to: text(to)? },
        PathAct::Template(template) => DustKind::RewriteTemplate {
            from: format!(
                "{}{{1{}}}{}",
                text(&template.head)?,
                if template.number { ":num" } else { "" },
                text(&template.tail)?
            ),
            to: format!("{}?{}={{1}}", text(&template.path)?, text(&template.name)?),
        },
    })
}

/// Names that are kept, with those that matter on most sites; in byte order.
fn kept_names(mut names: Vec<String>) -> Vec<String> {
    let usual = GUARDED.iter().chain(&COUNTERS).map(|name| String::from_utf8_lossy(name));
    names.extend(usual.map(|name| name.into_owned()));
    names.sort();
    names.dedup();
    names
}

/// Facts about a rule beside its statistics.
fn note(handlers: &Handlers, validated: &Validated, left_out: usize) -> String {
    let mut notes = Vec::new();
    if matches!(validated.candidate.act, Act::Keep(..)) {
        notes.push("the groups are names of parameters".to_string());
    }
    if !validated.everywhere && validated.candidate.act.is_judged_by_sections() {
        let sections = sums(handlers, &validated.support.by_handler).into_iter();
        let against = sections.filter(Section::is_against).take(SECTIONS_SHOWN);
        notes.extend(against.map(
            |Section { head, trials: Trials { good, samples, .. }, .. }| match head {
                None => format!("only {good} of {samples} agree at the top of the site"),
                Some(head) => {
                    format!(
                        "only {good} of {samples} agree under {}",
                        String::from_utf8_lossy(head)
                    )
                }
            },
        ));
    }
    if left_out > 0 {
        notes.push(format!("not written for {left_out} more patterns of paths"));
    }
    notes.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::{Canonicalizer, DustRules, RuleFile, Scratch, Settings};
    use crate::mine::acts::paths::{self, Template};
    use crate::mine::seen::segments::Shape;

    fn acts() -> Vec<PathAct> {
        let text = |text: &str| text.as_bytes().to_vec();
        let template = |number| Template {
            head: text("/item_"),
            tail: text(".htm"),
            path: text("/item.php"),
            name: text("id"),
            number,
        };
        vec![
            PathAct::Parameter(text("sid")),
            PathAct::Segment(Shape::of(b"(S(abc123def456ghi789))").unwrap()),
            PathAct::Segment(Shape::of(b"x-0123456789abcdef").unwrap()),
            PathAct::FoldCase,
            PathAct::DoubleSlash,
            PathAct::Prefix(text("/people/"), text("/~")),
            PathAct::Index(text("index.html")),
            PathAct::Slash,
            PathAct::Extension(text(".htm"), text(".html")),
            PathAct::Template(template(true)),
            PathAct::Template(template(false)),
        ]
    }

    #[test]
    fn rules_do_what_was_found_to_hold() {
        let segments = [
            "",
            "a",
            "B%2Fb",
            "%C3%A9",
            "a;sid",
            "a;SID=1;v=2",
            ";sid=",
            "(S(000aaa111bbb222ccc))",
            "x-fedcba9876543210",
            "index.html",
            "people",
            "item_5.htm",
            "item_x.htm",
            "c.htm",
        ];
        let mut paths: Vec<String> = Vec::new();
        for one in segments {
            paths.push(format!("/{one}"));
            for other in segments {
                paths.extend([format!("/{one}/{other}"), format!("/{one}/{other}/")]);
            }
        }
        for act in acts() {
            let rule = DustRule {
                site: "x.test".to_string(),
                hosts: Vec::new(),
                scope: RuleScope::default(),
                kind: path_kind(&act).unwrap(),
                status: DustStatus::Auto,
                evidence: None,
                note: String::new(),
            };
            let dust = DustRules::compile(&RuleFile { rules: vec![rule], ..RuleFile::default() });
            assert!(dust.refused.is_empty(), "{act:?}");
            let profile = Some("rfc3986".to_string());
            let settings = Settings { profile, dust: dust.rules, ..Settings::default() };
            let canonicalizer = Canonicalizer::new(settings.build().unwrap());
            let (mut scratch, mut changed) = (Scratch::default(), 0);
            for path in &paths {
                let mut found = path.clone().into_bytes();
                let taken = paths::apply([(0, &act)].into_iter(), &mut found, |_, _| changed += 1);
                let found = String::from_utf8(found).unwrap();
                let query = taken.map(|taken| String::from_utf8(taken.value).unwrap());
                let query = query.map_or(String::new(), |value| format!("?id={value}"));
                let url = format!("http://x.test{path}");
                let form = canonicalizer.canonical(url.as_bytes(), &mut scratch).form;
                let form = String::from_utf8(form.to_vec()).unwrap();
                assert_eq!(form, format!("http://x.test{found}{query}"), "{act:?} {path}");
            }
            assert!(changed > 0, "{act:?}");
        }
    }
}
