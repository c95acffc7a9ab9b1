//! From what holds to what is written: rules with their evidence.

use std::collections::BTreeSet;

use super::candidates::{Act, Candidate, Reach};
use super::handlers::Handlers;
use super::letters::heads;
use super::paths::{PathAct, Shape};
use super::priors::{COUNTERS, GUARDED};
use super::select::Judged;
use super::spellings::Spellings;
use super::splits::{Cell, Condition};
use super::table::{Signal, Table};
use crate::canonical::{DustRule, Evidence, Kind, RuleScope, Status, When};

/// Most rules that one candidate becomes, one for each spelling of a handler.
const SCOPES_MAX: usize = 128;

/// Most patterns that one rule is kept from where its own holds for other handlers, too.
const EXCEPTIONS_MAX: usize = 256;

/// The rules of one judged candidate, for `site`. Text that is not UTF-8 makes no rule.
pub(super) fn rules(
    site: &str,
    table: &Table,
    handlers: &Handlers,
    spellings: &Spellings,
    judged: &Judged,
    values: impl Fn(u32, u64) -> Option<Vec<u8>>,
) -> Vec<DustRule> {
    let Some(kinds) = kinds(table, &judged.candidate.act, &values) else { return Vec::new() };
    let status = if is_in_force(table, judged) { Status::Auto } else { Status::Review };
    let Some(scopes) = scopes(table, handlers, spellings, &judged.candidate, &values) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for kind in kinds {
        for scope in &scopes {
            out.push(DustRule {
                site: site.to_string(),
                hosts: Vec::new(),
                scope: scope.clone(),
                kind: kind.clone(),
                status,
                evidence: Some(evidence(table, judged)),
                note: note(judged),
            });
        }
    }
    out
}

/// Is a judged candidate in force, or to be reviewed?
pub(super) fn is_in_force(table: &Table, judged: &Judged) -> bool {
    judged.holds && !judged.prior.guarded && (table.signal == Signal::Digest || judged.prior.listed)
}

/// Where a candidate is written to hold; `None` if that cannot be said.
fn scopes(
    table: &Table,
    handlers: &Handlers,
    spellings: &Spellings,
    candidate: &Candidate,
    values: impl Fn(u32, u64) -> Option<Vec<u8>>,
) -> Option<Vec<RuleScope>> {
    let splits = &table.splits;
    let cells_of =
        |path: u32| candidate.act.param().map_or(Vec::new(), |name| splits.cells_of(name, path));
    // The cells of a path that have to be told one by one; `whole` are paths that need not.
    let told = |path: u32, whole: &BTreeSet<u32>, out: &mut Vec<RuleScope>| {
        let here = BTreeSet::from([path]);
        for cell in cells_of(path).into_iter().filter(|cell| candidate.reach.has(*cell)) {
            let when = splits.cell(cell).and_then(|cell| when(table, cell, &values));
            let Some(when) = when else { continue };
            for pattern in spellings.met(path, &here).take(SCOPES_MAX.saturating_sub(out.len())) {
                let Some(except) = exceptions(spellings, pattern, path, whole) else { continue };
                out.push(RuleScope { path: pattern.to_string(), except, when: when.clone() });
            }
        }
    };
    let mut out = Vec::new();
    match &candidate.reach {
        Reach::All => out.push(RuleScope::default()),
        Reach::Except(except) if candidate.act == Act::Path(PathAct::FoldCase) => {
            let heads = heads(handlers, except).into_iter();
            let except: Option<Vec<String>> =
                heads.map(|head| Some(format!("{}*", literal(head)?))).collect();
            out.push(RuleScope { except: except?, ..RuleScope::default() });
        }
        Reach::Except(except) => {
            let paths: BTreeSet<u32> = except.iter().map(|one| splits.path_of(*one)).collect();
            let mut except = Vec::new();
            for path in &paths {
                except.extend(spellings.possible(*path)?.iter().cloned());
            }
            out.push(RuleScope { except, ..RuleScope::default() });
            let whole = (0..handlers.templates.len() as u32).filter(|one| !paths.contains(one));
            let whole = whole.collect();
            paths.iter().for_each(|path| told(*path, &whole, &mut out));
        }
        Reach::Only(only) => {
            let paths: BTreeSet<u32> = only.iter().map(|one| splits.path_of(*one)).collect();
            let is_whole = |path: &u32| cells_of(*path).iter().all(|cell| only.contains(cell));
            let whole: BTreeSet<u32> = paths.iter().copied().filter(is_whole).collect();
            for path in paths {
                if !whole.contains(&path) {
                    told(path, &whole, &mut out);
                    continue;
                }
                let left = SCOPES_MAX.saturating_sub(out.len());
                for pattern in spellings.met(path, &whole).take(left) {
                    let Some(except) = exceptions(spellings, pattern, path, &whole) else {
                        continue;
                    };
                    out.push(RuleScope {
                        path: pattern.to_string(),
                        except,
                        ..RuleScope::default()
                    });
                }
            }
            out.truncate(SCOPES_MAX);
        }
    }
    Some(out)
}

/// The conditions of a cell; `None` if they do not tell it from others, or cannot be written.
fn when(
    table: &Table,
    cell: &Cell,
    values: impl Fn(u32, u64) -> Option<Vec<u8>>,
) -> Option<Vec<When>> {
    let name = |number: u32| {
        let name = text(&table.names[number as usize])?;
        // A condition `host=…` asks for a host, `!…` for what is not there.
        let can_be_asked = name != "host" && !name.starts_with('!') && !name.contains('=');
        can_be_asked.then_some(name)
    };
    let condition = |one: &Condition| match one {
        Condition::Lacks(by) => Some(When::Lacks(name(*by)?)),
        Condition::Has(by, value) => {
            let value = text(&values(*by, *value)?)?;
            Some(When::Has { param: name(*by)?, value })
        }
    };
    if !cell.is_told {
        return None;
    }
    cell.when.iter().map(condition).collect()
}

/// The name of a signal in rule files.
pub(super) fn signal_name(signal: Signal) -> &'static str {
    match signal {
        Signal::Digest => "digest",
        Signal::Size => "size",
        Signal::None => "none",
    }
}

fn evidence(table: &Table, judged: &Judged) -> Evidence {
    let trials = &judged.trials;
    let million = 1e6 / table.links.len().max(1) as f64;
    let text = |link: u32| {
        String::from_utf8_lossy(table.bytes(table.links[link as usize].url)).into_owned()
    };
    let round = |x: f64| (x * 1e4).round() / 1e4;
    Evidence {
        ok: trials.all.good,
        groups: trials.all.trials,
        bound: round(judged.bound),
        signal: signal_name(table.signal).to_string(),
        gain_urls: trials.gain,
        loss_per_million: round((1.0 - judged.rate) * trials.gain as f64 * million),
        loss_bound_per_million: round((1.0 - judged.bound) * trials.gain as f64 * million),
        examples: trials.example.iter().map(|(a, b)| (text(*a), text(*b))).collect(),
    }
}

/// The patterns of handlers other than `handler` that may meet its pattern `wide` and are not in `only`; `None` if
/// they are too many, or cannot be written.
fn exceptions(
    spellings: &Spellings,
    wide: &str,
    handler: u32,
    only: &BTreeSet<u32>,
) -> Option<Vec<String>> {
    if !wide.contains('{') {
        return Some(Vec::new());
    }
    let mut out = BTreeSet::new();
    for other in spellings.meeting(wide).filter(|one| *one != handler && !only.contains(one)) {
        out.extend(spellings.possible(other)?.iter().cloned());
    }
    (out.len() <= EXCEPTIONS_MAX).then(|| out.into_iter().collect())
}

fn text(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}

/// Text in a pattern, which stands for itself.
fn literal(bytes: &[u8]) -> Option<String> {
    text(bytes).filter(|text| !text.contains(['*', '{']))
}

/// The name of a parameter, as a rule can say it.
pub(super) fn param(bytes: &[u8]) -> Option<String> {
    text(bytes).filter(|name| !name.is_empty() && !name.ends_with('*'))
}

/// The name of a host, as a rule can say it: without a user.
fn host(bytes: &[u8]) -> Option<String> {
    text(bytes).filter(|host| !host.contains('@'))
}

fn kinds(
    table: &Table,
    act: &Act,
    values: impl Fn(u32, u64) -> Option<Vec<u8>>,
) -> Option<Vec<Kind>> {
    let name = |number: &u32| param(&table.names[*number as usize]);
    let kind = match act {
        Act::Host(from, to) => Kind::HostAlias {
            from: host(&table.hosts[*from as usize])?,
            to: host(&table.hosts[*to as usize])?,
        },
        Act::Scheme(https) => {
            let (http, s) = ("http:".to_string(), "https:".to_string());
            let (from, to) = if *https { (http, s) } else { (s, http) };
            Kind::HostAlias { from, to }
        }
        Act::Port(port) => Kind::HostAlias { from: text(port)?, to: ":".to_string() },
        Act::Path(act) => match act {
            PathAct::Parameter(name) => Kind::DropPathParam { param: param(name)? },
            PathAct::Segment(shape) => Kind::DropSegment { segment: segment(shape)? },
            PathAct::FoldCase => Kind::FoldCase { param: None },
            PathAct::DoubleSlash => Kind::DropSegment { segment: String::new() },
            PathAct::Prefix(from, to) => Kind::AliasPrefix { from: text(from)?, to: text(to)? },
            PathAct::Index(name) => Kind::AliasSuffix { from: text(name)?, to: String::new() },
            PathAct::Slash => Kind::AliasSuffix { from: "/".to_string(), to: String::new() },
            PathAct::Extension(from, to) => Kind::AliasSuffix { from: text(from)?, to: text(to)? },
            PathAct::Template(template) => Kind::RewriteTemplate {
                from: format!(
                    "{}{{1{}}}{}",
                    text(&template.head)?,
                    if template.number { ":num" } else { "" },
                    text(&template.tail)?
                ),
                to: format!("{}?{}={{1}}", text(&template.path)?, text(&template.name)?),
            },
        },
        Act::Drop(number) => Kind::DropParam { param: name(number)? },
        Act::Default(number, value) => {
            Kind::DefaultParam { param: name(number)?, value: text(&values(*number, *value)?)? }
        }
        Act::Order => Kind::OrderFree,
        Act::Value(number, from, to) => Kind::AliasValue {
            param: name(number)?,
            from: text(&values(*number, *from)?)?,
            to: text(&values(*number, *to)?)?,
        },
        Act::Keep(_, kept) => Kind::KeepOnly {
            params: kept_names(kept.iter().map(name).collect::<Option<Vec<String>>>()?),
        },
    };
    Some(vec![kind])
}

/// Names that are kept, with those that matter on most sites; in byte order.
fn kept_names(mut names: Vec<String>) -> Vec<String> {
    let usual = GUARDED.iter().chain(&COUNTERS).map(|name| String::from_utf8_lossy(name));
    names.extend(usual.map(|name| name.into_owned()));
    names.sort();
    names.dedup();
    names
}

/// What is to be known of the figures of a rule.
fn note(judged: &Judged) -> String {
    match &judged.candidate.act {
        Act::Keep(..) => "the groups are names of parameters".to_string(),
        _ => String::new(),
    }
}

/// The pattern of a session segment.
fn segment(shape: &Shape) -> Option<String> {
    let class = match shape {
        Shape { length: 0, .. } => "*".to_string(),
        Shape { hex: true, length, .. } => format!("hex:{length}"),
        Shape { length, .. } => format!("base64:{length}"),
    };
    Some(format!("{}{{{class}}}{}", text(&shape.head)?, text(&shape.tail)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_segments() {
        let shape = Shape::of(b"sess-0123456789abcdef").unwrap();
        assert_eq!(segment(&shape).unwrap(), "sess-{hex:16}");
        assert_eq!(segment(&Shape::of(b"(S(abc123def456))").unwrap()).unwrap(), "(S({*}))");
    }
}
