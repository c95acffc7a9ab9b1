//! Rules of single sites, read from a rule file.

mod file;
mod rule;

pub use rule::{DustRule, Evidence, Guard, Kind, RuleFile, RuleScope, Status, Trap, When};

use serde::Deserialize;

use crate::canonical::config::toml_error;
use crate::canonical::names::is_under;
use crate::error::{Error, Result};
use crate::limits::DUST_PASSES_MAX;

/// The rules of a rule file that are in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DustRules(Vec<OldRule>);

/// One rule: on this host and below, rewrite path and query so.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OldRule {
    /// The host, canonical; its subdomains are included.
    site: String,
    kind: OldKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum OldKind {
    /// Replaces `from` by `to`, which is smaller: shorter, or of equal length and earlier in order.
    Substitute { from: Vec<u8>, to: Vec<u8> },
    /// ASCII letters of the path in lower case.
    FoldCase,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rule: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    site: String,
    kind: String,
    #[serde(default)]
    status: OldStatus,
    from: Option<String>,
    to: Option<String>,
    /// For people.
    #[serde(default, rename = "note")]
    _note: String,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OldStatus {
    Auto,
    #[default]
    Manual,
    Review,
    Off,
}

impl DustRules {
    /// Reads a rule file. Rules of status `review` and `off` are checked and left out.
    ///
    /// Failure: a configuration error that names the rule by its number and says what is wrong with
    /// it.
    pub fn parse(text: &str) -> Result<DustRules> {
        let file: File = toml::from_str(text).map_err(|error| toml_error(text, &error))?;
        let mut rules = Vec::new();
        for (number, row) in file.rule.into_iter().enumerate() {
            let status = row.status;
            let rule = compile(row).map_err(|error| error.at(format!("rule {}", number + 1)))?;
            if matches!(status, OldStatus::Auto | OldStatus::Manual) {
                rules.push(rule);
            }
        }
        Ok(DustRules(rules))
    }

    /// No rule in force?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Rewrites `target` (path and query, as in a request line) on `host` until no rule applies.
    ///
    /// It ends: every step makes `target` smaller in the order "shorter first, then by bytes". A
    /// target that has not settled after [`DUST_PASSES_MAX`] passes is crafted, and stays as it
    /// was.
    pub(super) fn rewrite(&self, host: &[u8], target: Vec<u8>) -> Vec<u8> {
        let rules: Vec<&OldRule> =
            self.0.iter().filter(|rule| is_under(host, rule.site.as_bytes())).collect();
        let mut rewritten = target.clone();
        for _ in 0..DUST_PASSES_MAX {
            let mut settled = true;
            for rule in &rules {
                settled &= !rule.kind.apply(&mut rewritten);
            }
            if settled {
                return rewritten;
            }
        }
        target
    }
}

impl OldKind {
    /// Applies the rule everywhere in `target`, in one pass; returns whether anything changed.
    fn apply(&self, target: &mut Vec<u8>) -> bool {
        match self {
            OldKind::FoldCase => {
                let path_end = memchr::memchr(b'?', target).unwrap_or(target.len());
                let path = &mut target[..path_end];
                let changed = path.iter().any(u8::is_ascii_uppercase);
                path.make_ascii_lowercase();
                changed
            }
            OldKind::Substitute { from, to } => {
                let mut out = Vec::new();
                let mut rest = target.as_slice();
                while let Some(at) = memchr::memmem::find(rest, from) {
                    out.extend_from_slice(&rest[..at]);
                    out.extend_from_slice(to);
                    rest = &rest[at + from.len()..];
                }
                if rest.len() == target.len() {
                    return false;
                }
                out.extend_from_slice(rest);
                *target = out;
                true
            }
        }
    }
}

fn compile(row: Row) -> Result<OldRule> {
    if row.site.is_empty() || row.site.contains('/') {
        return Err(Error::config("site must be a host name, such as \"example.com\""));
    }
    let kind = match (row.kind.as_str(), row.from, row.to) {
        ("fold-case", None, None) => OldKind::FoldCase,
        ("substitute", Some(from), Some(to)) => {
            if (from.len(), from.as_bytes()) <= (to.len(), to.as_bytes()) {
                return Err(Error::config(format!(
                    "\"{from}\" to \"{to}\" need not end; \"to\" must be shorter than \"from\", or of \
                     equal length and earlier in byte order: turn the rule around"
                )));
            }
            if from.starts_with('/') && !to.starts_with('/') {
                return Err(Error::config(format!(
                    "\"{from}\" starts with a slash and \"{to}\" does not; a path must start with one"
                )));
            }
            if to.contains(['#', ' ']) || to.chars().any(char::is_control) {
                return Err(Error::config(format!(
                    "\"{to}\" holds what no path or query can hold"
                )));
            }
            OldKind::Substitute { from: from.into_bytes(), to: to.into_bytes() }
        }
        ("fold-case", ..) => return Err(Error::config("fold-case takes neither from nor to")),
        ("substitute", ..) => return Err(Error::config("substitute needs both from and to")),
        (other, ..) => {
            return Err(Error::config(format!(
                "unknown kind \"{other}\"; expected substitute or fold-case"
            )));
        }
    };
    Ok(OldRule { site: row.site.to_ascii_lowercase(), kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(rules: &str, host: &str, target: &str) -> String {
        let rules = DustRules::parse(rules).unwrap();
        String::from_utf8(rules.rewrite(host.as_bytes(), target.into())).unwrap()
    }

    #[test]
    fn kinds() {
        let story = "[[rule]]\nsite='foo.org'\nkind='substitute'\nfrom='story?id='\nto='story_'";
        assert_eq!(rewritten(story, "foo.org", "/story?id=123"), "/story_123");
        assert_eq!(rewritten(story, "www.foo.org", "/story?id=123"), "/story_123");
        assert_eq!(rewritten(story, "foo.com", "/story?id=123"), "/story?id=123");
        let fold = "[[rule]]\nsite='foo.org'\nkind='fold-case'";
        assert_eq!(rewritten(fold, "foo.org", "/A/b?C"), "/a/b?C");
        let off = format!("{fold}\nstatus='off'");
        assert_eq!(rewritten(&off, "foo.org", "/A"), "/A");
        let nested = "[[rule]]\nsite='a'\nkind='substitute'\nfrom='ab'\nto='b'";
        assert_eq!(rewritten(nested, "a", "/aaab"), "/b");
        let crafted = format!("/{}b", "a".repeat(100));
        assert_eq!(rewritten(nested, "a", &crafted), crafted);
    }

    #[test]
    fn refused() {
        for (text, why) in [
            ("[[rule]]\nsite='a'\nkind='substitute'\nfrom='a'\nto='a'", "need not end"),
            ("[[rule]]\nsite='a'\nkind='substitute'\nfrom='a'\nto='aa'", "need not end"),
            ("[[rule]]\nsite='a'\nkind='substitute'\nfrom='/a'\nto=''", "slash"),
            ("[[rule]]\nsite='a'\nkind='substitute'\nfrom='abc'\nto='#'", "no path"),
            ("[[rule]]\nsite='a'\nkind='substitute'", "both"),
            ("[[rule]]\nsite='a'\nkind='sort'", "unknown kind"),
            ("[[rule]]\nsite='a/b'\nkind='fold-case'", "host name"),
            ("[[rule]]\nsite='a'\nkind='fold-case'\nfoo=1", "foo"),
        ] {
            let message = DustRules::parse(text).unwrap_err().to_string();
            assert!(message.contains(why), "{text}: {message}");
        }
    }
}
