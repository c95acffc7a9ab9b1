//! All findings about a rule file: errors first, then what is suspicious.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::canonical::dust::DustRules;
use crate::canonical::dust::rule::{DustStatus, RuleFile};

/// The findings about a rule file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LintedRules {
    /// The rules that are in force and hold together.
    pub in_force: usize,
    /// What is wrong with the others and with guards, then what is suspicious: by kind, as
    /// [`FindingKind`] has them, and within a kind in the order of the file.
    pub findings: Vec<Finding>,
}

/// A finding about a rule or a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it is wrong, or in which way it is suspicious.
    pub kind: FindingKind,
    /// A message that names the rule or guard by its number, from 1, and says why. Not escaped.
    pub message: String,
}

/// In which way a rule or a guard is wrong or suspicious.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// It does not hold together, by itself or with others, and is left out: see
    /// [`DustRules::compile`].
    Refused,
    /// It changes nothing: see [`DustRules::dead`].
    Dead,
    /// It should keep rules away, and never does: see [`DustRules::never_met`].
    NeverMet,
    /// No canonical URL is spelled as it is: see [`DustRules::misspelled`].
    Misspelled,
    /// It holds for more or for less than it looks like: see [`DustRules::doubtful`].
    Doubtful,
}

impl DustRules {
    /// Everything that is wrong with `file`, or suspicious.
    ///
    /// - Shape: all rules and guards. What is refused does nothing to others: no rule is dead
    ///   because of it.
    /// - Limits: as of [`dead`](DustRules::dead).
    /// - Failure: none; what is wrong is in the answer.
    ///
    /// ```
    /// use undust::canonical::{DustRules, FindingKind, RuleFile};
    ///
    /// let rule = "[[rule]]\nsite = 'x.org'\nkind = 'drop-param'\nparam = 'sid'\n";
    /// let linted = DustRules::lint(&RuleFile::parse(&rule.repeat(2))?);
    /// assert_eq!((linted.in_force, linted.findings.len()), (2, 1));
    /// assert_eq!(linted.findings[0].kind, FindingKind::Dead);
    /// assert!(linted.findings[0].message.contains("rule 1 does the same already"));
    /// # Ok::<(), undust::Error>(())
    /// ```
    pub fn lint(file: &RuleFile) -> LintedRules {
        let refused = DustRules::compile(file).refused;
        let out: BTreeSet<usize> = refused.iter().filter_map(|refusal| refusal.rule).collect();
        let mut applied = Cow::Borrowed(file);
        for at in &out {
            applied.to_mut().rules[*at].status = DustStatus::Off;
        }
        let dead = DustRules::dead(&applied).into_iter().map(|(at, why)| {
            let title = file.rules[at].title();
            format!("rule {} ({title}) does nothing: {why}", at + 1)
        });
        let mut findings = Vec::new();
        let mut add = |kind: FindingKind, messages: Vec<String>| {
            findings.extend(messages.into_iter().map(|message| Finding { kind, message }));
        };
        add(FindingKind::Refused, refused.into_iter().map(|refusal| refusal.why).collect());
        add(FindingKind::Dead, dead.collect());
        add(FindingKind::NeverMet, DustRules::never_met(&applied));
        add(FindingKind::Misspelled, DustRules::misspelled(file));
        add(FindingKind::Doubtful, DustRules::doubtful(file));
        let in_force = applied.rules.iter().filter(|rule| rule.status.is_in_force()).count();
        LintedRules { in_force, findings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_in_their_order() {
        use FindingKind::{Dead, Doubtful, Misspelled, NeverMet, Refused};
        let drop = "kind='drop-param',param";
        for (rules, guards, in_force, expected) in [
            (vec![format!("{drop}='a'")], "", 1, &[][..]),
            (vec![format!("{drop}='a',status='review'")], "", 0, &[]),
            (vec![format!("{drop}='a',path='nothing'")], "", 0, &[(Refused, "rule 1 (")]),
            // What is checked by itself was not in force before, either.
            (
                vec![format!("{drop}='a',path='nothing',status='off'")],
                "",
                0,
                &[(Refused, "rule 1 (")],
            ),
            (vec![], "site='x.org',path='nothing',param='a'", 0, &[(Refused, "guard 1: ")]),
            // A rule that is refused does nothing to others: no paths are folded here.
            (
                vec![
                    "kind='fold-case',status='auto'".to_string(),
                    "kind='alias-prefix',from='/a/',to='/B/'".to_string(),
                    format!("{drop}='s',path='/B/*'"),
                ],
                "site='x.org',param='t',path='/B/*'",
                2,
                &[(Refused, "rule 1 (x.org: fold-case of the path)")],
            ),
            (
                vec![
                    "kind='fold-case'".to_string(),
                    format!("{drop}='s',path='/F/*'"),
                    format!("{drop}='a*b'"),
                    format!("{drop}='c',path='c'"),
                    format!("{drop}='d',path='/%7Eu/*'"),
                ],
                "site='x.org',param='t',path='/G/*'",
                4,
                &[
                    (Refused, "rule 4 ("),
                    (Dead, "rule 2 (x.org: drop-param s at /F/*) does nothing: rule 1"),
                    (NeverMet, "guard 1 (t at /G/*) keeps nothing"),
                    (Misspelled, "rule 5 ("),
                    (Doubtful, "rule 3 ("),
                ],
            ),
        ] {
            let rows: Vec<_> = rules.iter().map(|row| format!("{{site='x.org',{row}}}")).collect();
            let guards = if guards.is_empty() { String::new() } else { format!("{{{guards}}}") };
            let text = format!("rule=[{}]\nguard=[{guards}]", rows.join(","));
            let linted = DustRules::lint(&RuleFile::parse(&text).unwrap());
            let found = &linted.findings;
            assert_eq!(
                (linted.in_force, found.len()),
                (in_force, expected.len()),
                "{text}: {found:?}"
            );
            for (found, (kind, start)) in found.iter().zip(expected) {
                assert!(
                    found.kind == *kind && found.message.starts_with(start),
                    "{text}: {found:?}"
                );
            }
        }
    }
}
