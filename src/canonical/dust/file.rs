//! Rule files as TOML: reading and writing.

use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::rule::{
    DustCondition, DustKind, DustRule, DustStatus, Evidence, Guard, RuleFile, RuleScope, Trap,
};
use crate::canonical::toml_error::toml_error;
use crate::error::{Error, Result};
use crate::limits::DUST_RULES_MAX;

/// Bytes of a rule file that are made TOML at once, and what belongs to them. Reason: some hundreds
/// of rules, and little memory.
const PIECE_BYTES: usize = 256 << 10;

/// The file as TOML has it.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Text {
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    about: std::collections::BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rule: Vec<Row>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    guard: Vec<Guard>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    trap: Vec<Trap>,
}

/// A rule as TOML has it: the fields of all kinds.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct Row {
    site: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<String>,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    segment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    path: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    except: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    when: Vec<String>,
    status: DustStatus,
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Evidence>,
}

impl RuleFile {
    /// Reads a rule file. What its rules say is checked by the compiler, not here.
    ///
    /// Failure: a configuration error that names the line, or the rule by its number.
    pub fn parse(text: &str) -> Result<RuleFile> {
        let mut file = RuleFile::default();
        if !file.add_pieces(text)? {
            let whole = toml::from_str(text).map_err(|error| toml_error(text, &error))?;
            file = RuleFile::default();
            file.add(whole)?;
        }
        file.check_size().map(|()| file)
    }

    /// Adds what `other` says, whose rules are numbered on; of what is said about both, the first
    /// counts.
    ///
    /// Failure: an error of limits where they are too many together.
    pub fn append(&mut self, other: RuleFile) -> Result<()> {
        let RuleFile { about, rules, guards, traps } = other;
        for (name, value) in about {
            self.about.entry(name).or_insert(value);
        }
        self.rules.extend(rules);
        self.guards.extend(guards);
        self.traps.extend(traps);
        self.check_size()
    }

    fn check_size(&self) -> Result<()> {
        match self.rules.len().max(self.guards.len()).max(self.traps.len()) {
            0..=DUST_RULES_MAX => Ok(()),
            _ => Err(Error::limit(format!("more than {DUST_RULES_MAX} rules; split the file"))),
        }
    }

    /// Adds what `text` says piece by piece: what TOML makes of it takes some 25 times its bytes,
    /// as long as it is there. `false` where it is short, or where the pieces may not be what the
    /// whole is; a mistake is reported by its line in the whole, too.
    fn add_pieces(&mut self, text: &str) -> Result<bool> {
        if text.len() <= PIECE_BYTES || ["\"\"\"", "'''"].iter().any(|quotes| text.contains(quotes))
        {
            return Ok(false);
        }
        let mut rest = text;
        while !rest.is_empty() {
            // A line that starts so begins a table of its own, or is in the middle of an array:
            // then no piece is whole.
            let behind = rest.as_bytes().get(PIECE_BYTES..).unwrap_or_default();
            let (piece, others) = match memmem::find(behind, b"\n[[") {
                Some(at) => rest.split_at(PIECE_BYTES + at + 1),
                None => (rest, ""),
            };
            let Ok(said) = toml::from_str::<Text>(piece) else { return Ok(false) };
            if !said.about.is_empty() && rest.len() < text.len() {
                return Ok(false);
            }
            self.add(said)?;
            rest = others;
        }
        Ok(true)
    }

    fn add(&mut self, said: Text) -> Result<()> {
        let Text { about, rule, guard, trap } = said;
        self.about.extend(about);
        for row in rule {
            let number = self.rules.len() + 1;
            let rule = DustRule::try_from(row);
            self.rules.push(rule.map_err(|error| error.at(format!("rule {number}")))?);
        }
        self.guards.extend(guard);
        self.traps.extend(trap);
        Ok(())
    }

    /// The file as TOML, which [`RuleFile::parse`] reads as the same.
    pub fn to_toml(&self) -> String {
        self.toml_pieces().collect()
    }

    /// The same in pieces, one for each rule, guard and trap: a hundred thousand rules take many
    /// times the memory of their text while they are made TOML.
    pub fn toml_pieces(&self) -> impl Iterator<Item = String> {
        let about = (!self.about.is_empty())
            .then(|| toml_of(&Text { about: self.about.clone(), ..Text::default() }));
        let rules = self.rules.iter().map(DustRule::to_toml);
        let guards = self.guards.iter().map(Guard::to_toml);
        let traps = self.traps.iter();
        let traps =
            traps.map(|trap| toml_of(&Text { trap: vec![trap.clone()], ..Text::default() }));
        let pieces = about.into_iter().chain(rules).chain(guards).chain(traps);
        pieces.enumerate().map(|(at, piece)| if at == 0 { piece } else { format!("\n{piece}") })
    }
}

impl DustRule {
    /// The rule as it stands in a file.
    pub(super) fn to_toml(&self) -> String {
        toml_of(&Text { rule: vec![Row::from(self)], ..Text::default() })
    }
}

impl Guard {
    /// The guard as it stands in a file.
    pub(super) fn to_toml(&self) -> String {
        toml_of(&Text { guard: vec![self.clone()], ..Text::default() })
    }
}

fn toml_of(text: &Text) -> String {
    toml::to_string(text).expect("text, numbers and tables of them are TOML")
}

impl TryFrom<Row> for DustRule {
    type Error = Error;

    fn try_from(mut row: Row) -> Result<DustRule> {
        let kind = kind_of(&mut row)?;
        let spare = [
            ("param", row.param.is_some()),
            ("params", row.params.is_some()),
            ("value", row.value.is_some()),
            ("segment", row.segment.is_some()),
            ("from", row.from.is_some()),
            ("to", row.to.is_some()),
        ];
        if let Some((field, _)) = spare.into_iter().find(|(_, is_there)| *is_there) {
            return Err(Error::config(format!("{} takes no {field}", row.kind)));
        }
        if row.site.is_empty() {
            return Err(Error::config("site is missing; a rule holds for one site only"));
        }
        let when = row.when.iter().map(|text| condition(text)).collect::<Result<_>>()?;
        Ok(DustRule {
            site: row.site,
            hosts: row.hosts,
            scope: RuleScope { path: row.path, except: row.except, when },
            kind,
            status: row.status,
            evidence: row.evidence,
            note: row.note,
        })
    }
}

/// The kind that `row` is of; takes its fields out.
fn kind_of(row: &mut Row) -> Result<DustKind> {
    let kind = row.kind.clone();
    let missing = |field: &str| Error::config(format!("{kind} needs {field}"));
    let pair = |row: &mut Row| match (row.from.take(), row.to.take()) {
        (Some(from), Some(to)) => Ok((from, to)),
        _ => Err(missing("both from and to")),
    };
    let param = |row: &mut Row| row.param.take().ok_or_else(|| missing("param"));
    Ok(match kind.as_str() {
        "host-alias" => {
            let (from, to) = pair(row)?;
            DustKind::HostAlias { from, to }
        }
        "drop-segment" => match (row.segment.take(), row.param.take()) {
            (Some(segment), None) => DustKind::DropSegment { segment },
            (None, Some(param)) => DustKind::DropPathParam { param },
            _ => return Err(missing("either segment or param")),
        },
        "alias-prefix" => {
            let (from, to) = pair(row)?;
            DustKind::AliasPrefix { from, to }
        }
        "alias-segment" => {
            let (from, to) = pair(row)?;
            DustKind::AliasSegment { from, to }
        }
        "alias-suffix" => {
            let (from, to) = pair(row)?;
            DustKind::AliasSuffix { from, to }
        }
        "fold-case" => DustKind::FoldCase { param: row.param.take() },
        "rewrite-template" => {
            let (from, to) = pair(row)?;
            DustKind::RewriteTemplate { from, to }
        }
        "drop-param" => DustKind::DropParam { param: param(row)? },
        "keep-only" => {
            DustKind::KeepOnly { params: row.params.take().ok_or_else(|| missing("params"))? }
        }
        "default-param" => DustKind::DefaultParam {
            param: param(row)?,
            value: row.value.take().ok_or_else(|| missing("value"))?,
        },
        "constant-page" => DustKind::ConstantPage,
        "alias-value" => {
            let (from, to) = pair(row)?;
            DustKind::AliasValue { param: param(row)?, from, to }
        }
        "order-free" => DustKind::OrderFree,
        "substitute" => {
            let (from, to) = pair(row)?;
            DustKind::Substitute { from, to }
        }
        other => {
            return Err(Error::config(format!(
                "unknown kind \"{}\"; expected host-alias, drop-segment, alias-prefix, alias-segment, \
                 alias-suffix, fold-case, rewrite-template, drop-param, keep-only, default-param, \
                 constant-page, alias-value, order-free or substitute",
                crate::bytes::show(other.as_bytes())
            )));
        }
    })
}

fn condition(text: &str) -> Result<DustCondition> {
    if let Some(param) = text.strip_prefix('!') {
        return Ok(DustCondition::Lacks(param.to_string()));
    }
    match text.split_once('=') {
        Some(("host", host)) => Ok(DustCondition::Host(host.to_string())),
        Some((param, value)) if !param.is_empty() => {
            Ok(DustCondition::Has { param: param.to_string(), value: value.to_string() })
        }
        _ => Err(Error::config(format!(
            "when: expected \"param=value\", \"!param\" or \"host=name\", found \"{}\"",
            crate::bytes::show(text.as_bytes())
        ))),
    }
}

impl From<&DustRule> for Row {
    fn from(rule: &DustRule) -> Row {
        let mut row = Row {
            site: rule.site.clone(),
            hosts: rule.hosts.clone(),
            kind: rule.kind.name().to_string(),
            path: rule.scope.path.clone(),
            except: rule.scope.except.clone(),
            when: rule.scope.when.iter().map(DustCondition::to_string).collect(),
            status: rule.status,
            note: rule.note.clone(),
            evidence: rule.evidence.clone(),
            ..Row::default()
        };
        match rule.kind.clone() {
            DustKind::HostAlias { from, to }
            | DustKind::AliasPrefix { from, to }
            | DustKind::AliasSegment { from, to }
            | DustKind::AliasSuffix { from, to }
            | DustKind::RewriteTemplate { from, to }
            | DustKind::Substitute { from, to } => (row.from, row.to) = (Some(from), Some(to)),
            DustKind::DropSegment { segment } => row.segment = Some(segment),
            DustKind::DropPathParam { param } | DustKind::DropParam { param } => {
                row.param = Some(param)
            }
            DustKind::FoldCase { param } => row.param = param,
            DustKind::KeepOnly { params } => row.params = Some(params),
            DustKind::DefaultParam { param, value } => {
                (row.param, row.value) = (Some(param), Some(value));
            }
            DustKind::AliasValue { param, from, to } => {
                (row.param, row.from, row.to) = (Some(param), Some(from), Some(to));
            }
            DustKind::ConstantPage | DustKind::OrderFree => {}
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same() {
        let s = String::from;
        let pair = || (s("/a\"\\"), s("ü\n"));
        let (from, to) = pair();
        let kinds = [
            DustKind::HostAlias { from: s("m.x.org"), to: s("x.org") },
            DustKind::DropSegment { segment: s("(S({*}))") },
            DustKind::DropPathParam { param: s("jsessionid") },
            DustKind::AliasPrefix { from: from.clone(), to: to.clone() },
            DustKind::AliasSegment { from: s("en-us"), to: s("") },
            DustKind::AliasSuffix { from: s("index.html"), to: s("") },
            DustKind::FoldCase { param: None },
            DustKind::FoldCase { param: Some(s("lang")) },
            DustKind::RewriteTemplate { from: s("/story?id={1}"), to: s("/story_{1}") },
            DustKind::DropParam { param: s("sid") },
            DustKind::KeepOnly { params: vec![] },
            DustKind::KeepOnly { params: vec![s("v"), s("list")] },
            DustKind::DefaultParam { param: s("page"), value: s("1") },
            DustKind::ConstantPage,
            DustKind::AliasValue { param: s("lang"), from: s("en-US"), to: s("en") },
            DustKind::OrderFree,
            DustKind::Substitute { from, to },
        ];
        let statuses = [DustStatus::Auto, DustStatus::Review, DustStatus::Off, DustStatus::Manual];
        let rules = kinds.into_iter().zip(statuses.into_iter().cycle()).map(|(kind, status)| {
            let plain = status == DustStatus::Manual;
            DustRule {
                hosts: if plain { vec![] } else { vec![s("www.x.org"), s("x.org")] },
                scope: if plain {
                    RuleScope::default()
                } else {
                    RuleScope {
                        path: s("/shop/*"),
                        except: vec![s("/shop/{num}")],
                        when: vec![
                            DustCondition::Has { param: s("a"), value: s("b=c") },
                            DustCondition::Lacks(s("d")),
                            DustCondition::Host(s("x.org")),
                        ],
                    }
                },
                status,
                evidence: (!plain).then(|| Evidence {
                    ok: 1284,
                    groups: u64::from(u32::MAX),
                    bound: 0.997_012_345_678_901_2,
                    signal: s("digest"),
                    gain_urls: 402_118,
                    loss_per_million: 129.9,
                    loss_bound_per_million: 1e-300,
                    examples: vec![pair(), pair()],
                }),
                note: if plain { s("") } else { s("'''\u{202e}") },
                ..DustRule::new("x.org", kind)
            }
        });
        let file = RuleFile {
            about: [(s("miner"), s("0.1")), (s("odd key"), s(""))].into(),
            rules: rules.collect(),
            guards: vec![
                Guard { site: s("x.org"), param: s("user"), ..Guard::default() },
                Guard { site: s("x.org"), path: s("/f"), param: s("id"), note: s("1/29") },
            ],
            traps: vec![Trap {
                site: s("x.org"),
                kind: s("path-repeat"),
                path: s("/css/*/css/*"),
                urls: 18_220,
                note: s(""),
            }],
        };
        let text = file.to_toml();
        let again = RuleFile::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again, file, "{text}");
        assert_eq!(again.to_toml(), text);
        // Digests depend on each byte of the pieces.
        let (rule, guard) = (file.rules.iter().map(Row::from).collect(), file.guards.clone());
        let whole = Text { about: file.about.clone(), rule, guard, trap: file.traps.clone() };
        assert_eq!(toml::to_string(&whole).unwrap(), text);
        assert_eq!(RuleFile::parse(&RuleFile::default().to_toml()).unwrap(), RuleFile::default());
    }

    #[test]
    fn long_files_are_read_as_short_ones() {
        let rule = |number: usize| {
            let mut rule =
                DustRule::new("x.org", DustKind::DropParam { param: format!("p{number}") });
            let examples = vec![("a".to_string(), "[[b".to_string())];
            rule.evidence = Some(Evidence { examples, ..Evidence::default() });
            rule
        };
        let guard = Guard { site: "x.org".to_string(), param: "q".to_string(), ..Guard::default() };
        let file = RuleFile {
            about: [("miner".to_string(), "0.1".to_string())].into(),
            rules: (0..6_000).map(rule).collect(),
            guards: vec![guard; 4_000],
            ..RuleFile::default()
        };
        let text = file.to_toml();
        assert!(text.len() > 4 * PIECE_BYTES);
        let read = |text: &str| {
            let mut read = RuleFile::default();
            (read.add_pieces(text).unwrap(), read)
        };
        assert!(read(&text) == (true, file.clone()) && RuleFile::parse(&text).unwrap() == file);
        let lines = text.replace("examples = [", "examples = [\n");
        assert!(read(&lines) == (true, file.clone()));
        // What cannot be read in pieces, and what pieces would take that the whole does not.
        let quotes = text.replacen("\"0.1\"", "\"\"\"0.1\"\"\"", 1);
        assert!(!read(&quotes).0 && RuleFile::parse(&quotes).unwrap() == file);
        let late = format!("{text}[about]\nminer = \"0.2\"\n");
        let error = RuleFile::parse(&late).unwrap_err().to_string();
        assert!(error.contains(&format!("line {}", late.lines().count() - 1)), "{error}");
        let wrong = format!("{text}[[rule]]\nsite = \"x.org\"\nkind = \"sort\"\n");
        let error = RuleFile::parse(&wrong).unwrap_err().to_string();
        assert!(error.contains("rule 6001: unknown kind"), "{error}");
        let wrong = format!("{text}[[rule]]\nsight = \"x.org\"\n");
        let error = RuleFile::parse(&wrong).unwrap_err().to_string();
        assert!(error.contains(&format!("line {}", wrong.lines().count())), "{error}");
    }

    #[test]
    fn mistakes_are_named() {
        for (row, why) in [
            ("kind='drop-param'\nparam='a'", "site"),
            ("site='a'\nkind='sort'", "unknown kind \"sort\""),
            ("site='a'\nkind='drop-param'", "needs param"),
            ("site='a'\nkind='drop-param'\nparam='a'\nvalue='b'", "takes no value"),
            ("site='a'\nkind='substitute'\nfrom='a'", "both from and to"),
            ("site='a'\nkind='drop-segment'\nparam='a'\nsegment='b'", "either"),
            ("site='a'\nkind='order-free'\nwhen=['x']", "\"param=value\""),
            ("site='a'\nkind='order-free'\nfoo=1", "foo"),
            ("site='a'\nkind='order-free'\nstatus='yes'", "yes"),
        ] {
            let text = format!("[[rule]]\n{row}");
            let error = RuleFile::parse(&text).unwrap_err();
            assert!(error.is_config() && error.to_string().contains(why), "{row}: {error}");
        }
    }
}
