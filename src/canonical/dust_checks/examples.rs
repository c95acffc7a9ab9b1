//! Tries the examples of a rule file: do its rules make the two URLs of each equal?

use crate::canonical::config::Settings;
use crate::canonical::dust::rule::{DustRule, DustStatus, RuleFile};
use crate::canonical::dust::{DustRules, Refusal};
use crate::canonical::{Canonicalizer, Scratch};
use crate::error::Result;

/// What came of the examples of a rule file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestedRules {
    /// The rules that are left out, whatever their status, as [`DustRules::compile`] returns them.
    pub refused: Vec<Refusal>,
    /// The examples that were tried: pairs of URLs.
    pub examples: usize,
    /// What is wrong with them, in the order of the file. An example may fail in two ways.
    pub failures: Vec<ExampleFailure>,
}

/// An example that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExampleFailure {
    /// The place of its rule in [`RuleFile::rules`], from 0.
    pub rule: usize,
    /// The two URLs, as they stand in [`Evidence::examples`](crate::canonical::Evidence::examples).
    pub example: (String, String),
    /// What was found instead.
    pub found: ExampleFault,
}

/// What is wrong with an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExampleFault {
    /// The two URLs do not become equal: their canonical forms, in bytes.
    Unequal([Vec<u8>; 2]),
    /// What a URL becomes is not canonical: it changes when it is made canonical again.
    Unsettled,
}

impl DustRules {
    /// Tries the examples of `file`: are the two URLs of each equal, and is what they become
    /// canonical?
    ///
    /// - Shape: `settings` are those under which the rules are applied. Rules of sites that they
    ///   hold themselves are set aside: those of `file` take their place.
    /// - What is applied: all rules in force. A rule of status `review` is applied by itself, and
    ///   one that is `off` is not tried.
    /// - Failure: a configuration error where `settings` describe no profile. What is wrong with
    ///   the file is in the answer.
    ///
    /// ```
    /// use undust::canonical::{DustRules, ExampleFault, RuleFile, Settings};
    ///
    /// let file = RuleFile::parse(
    ///     r#"
    ///     [[rule]]
    ///     site = "x.org"
    ///     kind = "drop-param"
    ///     param = "sid"
    ///     [rule.evidence]
    ///     examples = [["http://x.org/a?sid=1", "http://x.org/b?sid=2"]]
    ///     "#,
    /// )?;
    /// let tested = DustRules::test(&file, &Settings::default())?;
    /// assert_eq!((tested.examples, tested.refused.len()), (1, 0));
    /// let forms = ["http://x.org/a", "http://x.org/b"].map(|form| form.as_bytes().to_vec());
    /// assert_eq!(tested.failures[0].found, ExampleFault::Unequal(forms));
    /// # Ok::<(), undust::Error>(())
    /// ```
    pub fn test(file: &RuleFile, settings: &Settings) -> Result<TestedRules> {
        let compilation = DustRules::compile(file);
        let in_force = with_rules(settings, compilation.rules)?;
        Ok(TestedRules {
            refused: compilation.refused,
            examples: tried(file).map(|(_, _, examples)| examples.len()).sum(),
            failures: DustRules::failed_examples(file, settings, &in_force)?,
        })
    }

    /// The part of [`DustRules::test`] that tries, where what applies the rules of `file` that are
    /// `in_force` under `settings` is there already.
    pub(crate) fn failed_examples(
        file: &RuleFile,
        settings: &Settings,
        in_force: &Canonicalizer,
    ) -> Result<Vec<ExampleFailure>> {
        let mut failures = Vec::new();
        let mut scratch = Scratch::default();
        for (number, rule, examples) in tried(file) {
            let alone;
            let canonicalizer = if rule.status == DustStatus::Review {
                alone = with_rules(settings, DustRules::alone(rule))?;
                &alone
            } else {
                in_force
            };
            let mut form = |url: &[u8]| canonicalizer.canonical(url, &mut scratch).form.to_vec();
            for example in examples {
                let forms = [form(example.0.as_bytes()), form(example.1.as_bytes())];
                let again = [form(&forms[0]), form(&forms[1])];
                failures.extend(faults(forms, &again).map(|found| ExampleFailure {
                    rule: number,
                    example: example.clone(),
                    found,
                }));
            }
        }
        Ok(failures)
    }
}

/// The rules whose examples are tried, by number from 0, each with its examples.
fn tried(file: &RuleFile) -> impl Iterator<Item = (usize, &DustRule, &[(String, String)])> {
    let rules = file.rules.iter().enumerate().filter(|(_, rule)| rule.status != DustStatus::Off);
    rules.filter_map(|(number, rule)| Some((number, rule, &*rule.evidence.as_ref()?.examples)))
}

/// What applies the rules `dust` under `settings`.
fn with_rules(settings: &Settings, dust: DustRules) -> Result<Canonicalizer> {
    let settings = Settings { dust, ..settings.clone() };
    Ok(Canonicalizer::new(settings.build()?))
}

/// What is wrong with two URLs that have these `forms`, which become these when they are made
/// canonical `again`.
fn faults(forms: [Vec<u8>; 2], again: &[Vec<u8>; 2]) -> impl Iterator<Item = ExampleFault> {
    let is_settled = forms == *again;
    let unequal = (forms[0] != forms[1]).then_some(ExampleFault::Unequal(forms));
    unequal.into_iter().chain((!is_settled).then_some(ExampleFault::Unsettled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unequal(a: &str, b: &str) -> ExampleFault {
        ExampleFault::Unequal([a.into(), b.into()])
    }

    #[test]
    fn what_is_wrong_with_two_urls() {
        let pair = |a: &str, b: &str| [a.into(), b.into()];
        for (forms, again, expected) in [
            (pair("a", "a"), pair("a", "a"), vec![]),
            (pair("a", "b"), pair("a", "b"), vec![unequal("a", "b")]),
            (pair("a", "a"), pair("a", "c"), vec![ExampleFault::Unsettled]),
            // That later rules make them equal does not count.
            (pair("a", "b"), pair("a", "a"), vec![unequal("a", "b"), ExampleFault::Unsettled]),
        ] {
            let found: Vec<_> = faults(forms.clone(), &again).collect();
            assert_eq!(found, expected, "{forms:?} {again:?}");
        }
    }

    /// The rules `drop-param` with these fields, each with an example: `?sid=1` and `?sid=2` at
    /// these paths.
    fn file(rules: &[(&str, [&str; 2])]) -> RuleFile {
        let rows = rules.iter().map(|(rule, [a, b])| {
            format!(
                "{{site='x.org',kind='drop-param',{rule},\
                 evidence={{examples=[['http://x.org{a}?sid=1','http://x.org{b}?sid=2']]}}}}"
            )
        });
        RuleFile::parse(&format!("rule=[{}]", rows.collect::<Vec<_>>().join(","))).unwrap()
    }

    #[test]
    fn what_examples_are_tried_with() {
        let (a, ab) = (["/a", "/a"], ["/a", "/b"]);
        let a_b = || unequal("http://x.org/a", "http://x.org/b");
        let as_given = || unequal("http://x.org/a?sid=1", "http://x.org/a?sid=2");
        for (rules, examples, expected) in [
            (&[("param='sid'", a)][..], 1, vec![]),
            (&[("param='sid'", ab)], 1, vec![(0, a_b())]),
            // One rule in force does what another is said to do.
            (&[("param='sid'", a), ("param='t'", a)], 2, vec![]),
            // A rule under review does not change the examples of others ...
            (&[("param='t'", a), ("param='sid',status='review'", a)], 2, vec![(0, as_given())]),
            // ... and others do nothing to its own.
            (&[("param='sid'", a), ("param='t',status='review'", a)], 2, vec![(1, as_given())]),
            (&[("param='sid',status='off'", a)], 0, vec![]),
            (&[("param='sid',status='off'", a), ("param='sid'", ab)], 1, vec![(1, a_b())]),
        ] {
            let file = file(rules);
            let tested = DustRules::test(&file, &Settings::default()).unwrap();
            let failed = |(rule, found): (usize, ExampleFault)| {
                let evidence = file.rules[rule].evidence.as_ref().unwrap();
                ExampleFailure { rule, example: evidence.examples[0].clone(), found }
            };
            let expected: Vec<_> = expected.into_iter().map(failed).collect();
            assert_eq!(tested.failures, expected, "{rules:?}");
            assert_eq!((tested.examples, tested.refused.len()), (examples, 0), "{rules:?}");
        }
    }

    #[test]
    fn settings_and_refused_rules() {
        let refused = file(&[("param='sid',path='a'", ["/a", "/a"])]);
        let tested = DustRules::test(&refused, &Settings::default()).unwrap();
        assert_eq!((tested.refused[0].rule, tested.failures.len()), (Some(0), 1));
        // Rules that the settings hold are not those that are tried.
        let dust = DustRules::parse("rule=[{site='x.org',kind='drop-param',param='sid'}]").unwrap();
        let settings = Settings { dust, ..Settings::default() };
        let idle = file(&[("param='t'", ["/a", "/a"])]);
        assert_eq!(DustRules::test(&idle, &settings).unwrap().failures.len(), 1);
        for (profile, failures) in [("crawl", 1), ("aggressive", 0)] {
            let settings = Settings { profile: Some(profile.into()), ..Settings::default() };
            let file = file(&[("param='sid'", ["/a", "/a/"])]);
            let tested = DustRules::test(&file, &settings).unwrap();
            assert_eq!(tested.failures.len(), failures, "{profile}");
        }
        let settings = Settings { profile: Some("none".into()), ..Settings::default() };
        assert!(DustRules::test(&idle, &settings).unwrap_err().is_config());
    }
}
