//! Rules in force become steps: what a rule says is checked and put into the form that is applied.

use super::patterns::glob::Glob;
use super::patterns::template::Template;
use super::rule::{DustCondition, DustKind, DustRule, RuleScope, Stratum};
use super::texts::{check_text, too_long};
use crate::canonical::host::canonical_host;
use crate::error::{Error, Result};
use crate::limits::DUST_TEXT_BYTES_MAX;

/// Where a rule holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) hosts: Vec<Vec<u8>>,
    pub(crate) path: Glob,
    pub(crate) except: Vec<Glob>,
    pub(crate) has: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) lacks: Vec<Vec<u8>>,
}

/// A rule in the form that is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compiled {
    /// Its number in the file, from 0.
    pub(crate) rule: u32,
    pub(crate) condition: Condition,
    pub(crate) act: Act,
    pub(crate) stratum: Stratum,
}

/// What a rule does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Host { from: Vec<u8>, to: Vec<u8> },
    Scheme { from: Vec<u8>, to: Vec<u8> },
    Port { from: Vec<u8>, to: Vec<u8> },
    DropSegment(Glob),
    DropPathParam(Vec<u8>),
    Prefix { from: Vec<u8>, to: Vec<u8> },
    Segment { from: Vec<u8>, to: Vec<u8> },
    Suffix { from: Vec<u8>, to: Vec<u8> },
    FoldPath,
    Template(Template),
    DropParam(Name),
    KeepOnly(Vec<Vec<u8>>),
    DefaultParam { param: Vec<u8>, value: Vec<u8> },
    Value { param: Vec<u8>, from: Vec<u8>, to: Vec<u8> },
    FoldValue(Vec<u8>),
    Order,
    Substitute { from: Vec<u8>, to: Vec<u8> },
}

/// A parameter's name, or what it starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) text: Vec<u8>,
    pub(crate) is_prefix: bool,
}

impl Name {
    pub(crate) fn is(&self, name: &[u8]) -> bool {
        if self.is_prefix { name.starts_with(&self.text) } else { name == self.text }
    }
}

impl Act {
    /// Does every change make path and query smaller: shorter, or with fewer letters in upper case,
    /// or earlier in byte order?
    pub(crate) fn shrinks(&self) -> bool {
        match self {
            Act::Prefix { from, to } | Act::Segment { from, to } | Act::Suffix { from, to } => {
                is_smaller(to, from)
            }
            Act::Value { from, to, .. } => is_smaller(to, from),
            Act::Template(_) | Act::Order => false,
            _ => true,
        }
    }
}

/// Is `a` shorter than `b`, or has it fewer letters in upper case, or is it earlier?
pub(crate) fn is_smaller(a: &[u8], b: &[u8]) -> bool {
    let upper = |text: &[u8]| text.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    (a.len(), upper(a), a) < (b.len(), upper(b), b)
}

/// The canonical spelling of a host in a rule file.
pub(crate) fn host(field: &str, text: &str) -> Result<Vec<u8>> {
    let is_host = !text.contains(['/', '?', '#', '@', '*']);
    canonical_host(text.as_bytes()).ok().filter(|_| is_host).ok_or_else(|| {
        Error::config(format!(
            "{field} must be a host name, such as \"example.com\"; found \"{}\"",
            crate::bytes::show(text.as_bytes())
        ))
    })
}

/// The pattern of a path in a scope.
pub(crate) fn path_pattern(text: &str) -> Result<Glob> {
    if text.is_empty() {
        return Ok(Glob::all());
    }
    if !text.starts_with(['/', '*']) {
        return Err(Error::config(format!(
            "pattern \"{}\": a path starts with a slash",
            crate::bytes::show(text.as_bytes())
        )));
    }
    Glob::parse(text, true)
}

impl Condition {
    fn read(hosts: &[String], scope: &RuleScope) -> Result<Condition> {
        let mut condition = Condition {
            hosts: hosts.iter().map(|name| host("hosts", name)).collect::<Result<_>>()?,
            path: path_pattern(&scope.path)?,
            except: scope.except.iter().map(|text| path_pattern(text)).collect::<Result<_>>()?,
            has: Vec::new(),
            lacks: Vec::new(),
        };
        let mut host_asked = None;
        for when in &scope.when {
            match when {
                DustCondition::Has { param, value } => {
                    check_text("when", param, "&#=")?;
                    check_text("when", value, "&#")?;
                    condition.has.push((param.as_bytes().into(), value.as_bytes().into()));
                }
                DustCondition::Lacks(param) => {
                    check_text("when", param, "&#=")?;
                    condition.lacks.push(param.as_bytes().into());
                }
                DustCondition::Host(name) => {
                    let name = host("when", name)?;
                    if host_asked.replace(name).is_some() {
                        return Err(Error::config("when: one host= is enough; use hosts for more"));
                    }
                }
            }
        }
        if let Some(name) = host_asked {
            if !condition.hosts.is_empty() && !condition.hosts.contains(&name) {
                return Err(Error::config("when: host= is not among hosts"));
            }
            condition.hosts = vec![name];
        }
        Ok(condition)
    }

    /// Does it ask for nothing but a host, perhaps?
    pub(crate) fn is_for_hosts_only(&self) -> bool {
        self.path.is_all() && self.except.is_empty() && !self.reads_params()
    }

    pub(crate) fn reads_params(&self) -> bool {
        !self.has.is_empty() || !self.lacks.is_empty()
    }
}

/// Checks one rule by itself. Returns the host it is for, and its compiled form.
pub(crate) fn compile(number: usize, rule: &DustRule) -> Result<(Vec<u8>, Compiled)> {
    let site = host("site", &rule.site)?;
    let condition = Condition::read(&rule.hosts, &rule.scope)?;
    let is_below = |name: &[u8]| crate::canonical::names::is_under(name, &site);
    if let Some(other) = condition.hosts.iter().find(|name| !is_below(name)) {
        return Err(Error::config(format!(
            "{} is no host of {}",
            crate::bytes::show(other),
            crate::bytes::show(rule.site.as_bytes())
        )));
    }
    let act = act_of(&rule.kind, &rule.scope)?;
    let is_host_rule = matches!(act, Act::Host { .. } | Act::Scheme { .. } | Act::Port { .. });
    if (is_host_rule || matches!(act, Act::Substitute { .. })) && !condition.is_for_hosts_only() {
        return Err(Error::config(format!(
            "{} holds for whole hosts; leave out path, except, and conditions on parameters",
            rule.kind.name()
        )));
    }
    if let Act::Host { from, to } = &act {
        let is_address = from.starts_with(b"[")
            || std::str::from_utf8(from).is_ok_and(|t| t.parse::<std::net::Ipv4Addr>().is_ok());
        let is_manual = rule.status == super::DustStatus::Manual;
        if !is_below(to) || !(is_below(from) || is_address || is_manual) {
            return Err(Error::config(format!(
                "host-alias: a rule of {} may not take hosts of other sites there",
                rule.site
            )));
        }
        if !condition.hosts.is_empty() {
            return Err(Error::config("host-alias of a host needs no hosts beside it"));
        }
    }
    if let Some(evidence) = &rule.evidence
        && !(0.0..=1.0).contains(&evidence.bound)
    {
        return Err(Error::config("evidence: bound is a share, from 0 to 1"));
    }
    let number = u32::try_from(number).map_err(|_| Error::limit("too many rules"))?;
    Ok((site, Compiled { rule: number, condition, act, stratum: rule.kind.stratum() }))
}

/// What a rule of this kind does, once its texts are checked.
fn act_of(kind: &DustKind, scope: &RuleScope) -> Result<Act> {
    Ok(match kind {
        DustKind::HostAlias { from, to } => origin(from, to)?,
        DustKind::DropSegment { segment } => drop_segment(segment)?,
        DustKind::DropPathParam { param } => {
            check_text("param", param, "/?#;")?;
            Act::DropPathParam(name("param", param)?.to_ascii_lowercase())
        }
        DustKind::AliasPrefix { from, to } => prefix(from, to)?,
        DustKind::AliasSegment { from, to } => segment(from, to)?,
        DustKind::AliasSuffix { from, to } => suffix(from, to)?,
        DustKind::FoldCase { param: None } => Act::FoldPath,
        DustKind::FoldCase { param: Some(param) } => Act::FoldValue(name("param", param)?),
        DustKind::RewriteTemplate { from, to } => {
            differ(from, to)?;
            let length = from.len().max(to.len());
            if length > DUST_TEXT_BYTES_MAX {
                return Err(too_long("template", length));
            }
            Act::Template(Template::parse(from, to)?)
        }
        DustKind::DropParam { param } => match param.strip_suffix('*') {
            Some(start) => {
                Act::DropParam(Name { text: name("param before *", start)?, is_prefix: true })
            }
            None => Act::DropParam(Name { text: name("param", param)?, is_prefix: false }),
        },
        DustKind::KeepOnly { params } => {
            Act::KeepOnly(params.iter().map(|one| name("params", one)).collect::<Result<_>>()?)
        }
        DustKind::DefaultParam { param, value } => {
            check_text("value", value, "&#")?;
            Act::DefaultParam { param: name("param", param)?, value: value.as_bytes().into() }
        }
        DustKind::ConstantPage => {
            if matches!(scope.path.as_str(), "" | "*") {
                return Err(Error::config(
                    "constant-page needs a path: never a whole site is one page",
                ));
            }
            let kept = scope.when.iter().filter_map(|when| match when {
                DustCondition::Has { param, .. } => Some(param.as_bytes().to_vec()),
                _ => None,
            });
            Act::KeepOnly(kept.collect())
        }
        DustKind::AliasValue { param, from, to } => {
            differ(from, to)?;
            check_text("from", from, "&#")?;
            check_text("to", to, "&#")?;
            Act::Value {
                param: name("param", param)?,
                from: from.as_bytes().into(),
                to: to.as_bytes().into(),
            }
        }
        DustKind::OrderFree => Act::Order,
        DustKind::Substitute { from, to } => substitute(from, to)?,
    })
}

/// A parameter's name, which must not be empty.
fn name(field: &str, text: &str) -> Result<Vec<u8>> {
    check_text(field, text, "&#=")?;
    if text.is_empty() {
        return Err(Error::config(format!("{field} is empty")));
    }
    Ok(text.into())
}

/// An error if both sides of a rule are the same.
fn differ(from: &str, to: &str) -> Result<()> {
    match from == to {
        true => Err(Error::config(format!("\"{from}\" to itself; the two sides must differ"))),
        false => Ok(()),
    }
}

fn drop_segment(segment: &str) -> Result<Act> {
    check_text("segment", segment, "/?#;")?;
    let glob = Glob::parse(segment, false)?;
    if !segment.is_empty() && !glob.is_specific() {
        return Err(Error::config(format!(
            "\"{segment}\" could be any segment; give the class a length, as in {{hex:32}}, or text \
             around it"
        )));
    }
    Ok(Act::DropSegment(glob))
}

fn prefix(from: &str, to: &str) -> Result<Act> {
    differ(from, to)?;
    for text in [from, to] {
        check_text("alias-prefix", text, "?#;")?;
        if !text.starts_with('/') {
            return Err(Error::config(format!(
                "\"{text}\": a path starts with a slash, so both sides must"
            )));
        }
    }
    Ok(Act::Prefix { from: from.as_bytes().into(), to: to.as_bytes().into() })
}

fn segment(from: &str, to: &str) -> Result<Act> {
    differ(from, to)?;
    check_text("alias-segment", from, "/?#")?;
    check_text("alias-segment", to, "/?#;")?;
    if from.is_empty() {
        return Err(Error::config(
            "from is empty; for double slashes use drop-segment with segment = \"\"",
        ));
    }
    Ok(Act::Segment { from: from.as_bytes().into(), to: to.as_bytes().into() })
}

fn suffix(from: &str, to: &str) -> Result<Act> {
    differ(from, to)?;
    check_text("alias-suffix", from, "?#")?;
    check_text("alias-suffix", to, "?#;=")?;
    if from.starts_with('/') && !matches!(to.as_bytes(), [] | [b'/', ..]) {
        return Err(Error::config(format!(
            "\"{from}\" starts with a slash and \"{to}\" does not; a segment would grow"
        )));
    }
    match from.as_bytes() {
        [] => Err(Error::config("from is empty, so it would end every path; turn the rule around")),
        [b'/' | b'.', ..] => {
            Ok(Act::Suffix { from: from.as_bytes().into(), to: to.as_bytes().into() })
        }
        // A whole segment: what it stands after is part of the text.
        text => Ok(Act::Suffix { from: [b"/", text].concat(), to: [b"/", to.as_bytes()].concat() }),
    }
}

/// A host, a scheme or a port on both sides.
fn origin(from: &str, to: &str) -> Result<Act> {
    let port = |text: &str| -> Result<Vec<u8>> {
        match text.parse::<u16>() {
            _ if text.is_empty() => Ok(Vec::new()),
            Ok(number) if number.to_string() == text => Ok(text.into()),
            _ => Err(Error::config(format!("\":{text}\" is no port; expected :1 to :65535, or :"))),
        }
    };
    let act = match (from.strip_prefix(':'), to.strip_prefix(':')) {
        (Some(from), Some(to)) => {
            if matches!(to, "80" | "443") {
                return Err(Error::config("write \":\" for the port that is the scheme's own"));
            }
            Act::Port { from: port(from)?, to: port(to)? }
        }
        (None, None) => match (from, to) {
            ("http:" | "https:", "http:" | "https:") => Act::Scheme {
                from: from.trim_end_matches(':').into(),
                to: to.trim_end_matches(':').into(),
            },
            _ => Act::Host { from: host("from", from)?, to: host("to", to)? },
        },
        _ => return Err(Error::config("from and to must both be a host, a scheme or a port")),
    };
    let is_same = match &act {
        Act::Host { from, to } | Act::Scheme { from, to } | Act::Port { from, to } => from == to,
        _ => false,
    };
    if is_same {
        return Err(Error::config(format!("\"{from}\" to itself; the two sides must differ")));
    }
    Ok(act)
}

fn substitute(from: &str, to: &str) -> Result<Act> {
    if !is_smaller(to.as_bytes(), from.as_bytes()) {
        return Err(Error::config(format!(
            "\"{from}\" to \"{to}\" need not end; \"to\" must be shorter than \"from\", or of equal \
             length with fewer letters in upper case, or earlier in byte order: turn the rule around"
        )));
    }
    if from.starts_with('/') && !to.starts_with('/') {
        return Err(Error::config(format!(
            "\"{from}\" starts with a slash and \"{to}\" does not; a path must start with one"
        )));
    }
    check_text("from", from, "#")?;
    check_text("to", to, "#")?;
    Ok(Act::Substitute { from: from.as_bytes().into(), to: to.as_bytes().into() })
}
