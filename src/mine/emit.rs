//! From what holds to what is written: rules with their evidence.

use super::candidates::{Act, Reach};
use super::handlers::Handlers;
use super::paths::{PathAct, Shape};
use super::select::Judged;
use super::table::{Signal, Table};
use crate::canonical::{DustRule, Evidence, Kind, RuleScope, Status};

/// Most rules that one candidate becomes, one for each handler.
const HANDLERS_MAX: usize = 64;

/// The rules of one judged candidate, for `site`. Text that is not UTF-8 makes no rule.
pub(super) fn rules(
    site: &str,
    table: &Table,
    handlers: &Handlers,
    judged: &Judged,
    values: impl Fn(u32, u64) -> Option<Vec<u8>>,
) -> Vec<DustRule> {
    let Some(kinds) = kinds(table, &judged.candidate.act, values) else { return Vec::new() };
    let auto = judged.holds && !judged.prior.guarded && table.signal == Signal::Digest;
    let status = if auto { Status::Auto } else { Status::Review };
    let mut scopes = Vec::new();
    match &judged.candidate.reach {
        Reach::All => scopes.push(RuleScope::default()),
        Reach::Except(except) => {
            let patterns = except.iter().filter_map(|handler| pattern(handlers, *handler));
            scopes.push(RuleScope { except: patterns.collect(), ..RuleScope::default() });
        }
        Reach::Only(only) => {
            for handler in only.iter().take(HANDLERS_MAX) {
                if let Some(path) = pattern(handlers, *handler) {
                    scopes.push(RuleScope { path, ..RuleScope::default() });
                }
            }
        }
    }
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
                note: String::new(),
            });
        }
    }
    out
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
    let mean = (trials.all.bad() as f64 + 0.5) / (trials.all.trials as f64 + 1.0);
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
        loss_per_million: round(mean * trials.gain as f64 * million),
        loss_bound_per_million: round((1.0 - judged.bound) * trials.gain as f64 * million),
        examples: trials.example.iter().map(|(a, b)| (text(*a), text(*b))).collect(),
    }
}

/// The pattern of paths of a handler.
fn pattern(handlers: &Handlers, handler: u32) -> Option<String> {
    let template = text(&handlers.templates[handler as usize])?;
    Some(template.replace("{}", "{*}"))
}

fn text(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}

fn kinds(
    table: &Table,
    act: &Act,
    values: impl Fn(u32, u64) -> Option<Vec<u8>>,
) -> Option<Vec<Kind>> {
    let name = |number: &u32| text(&table.names[*number as usize]);
    let kind = match act {
        Act::Host(from, to) => Kind::HostAlias {
            from: text(&table.hosts[*from as usize])?,
            to: text(&table.hosts[*to as usize])?,
        },
        Act::Scheme(https) => {
            let (http, s) = ("http:".to_string(), "https:".to_string());
            let (from, to) = if *https { (http, s) } else { (s, http) };
            Kind::HostAlias { from, to }
        }
        Act::Port(port) => Kind::HostAlias { from: text(port)?, to: ":".to_string() },
        Act::Path(act) => match act {
            PathAct::Parameter(name) => Kind::DropPathParam { param: text(name)? },
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
    };
    Some(vec![kind])
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
