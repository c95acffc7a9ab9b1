//! Why two URLs are one page, or that they are not.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use ahash::RandomState;

use super::{Canonicalizer, Reached, RuleId, RuleSet, Scratch};
use crate::reject::Reject;

/// How two lines compare under a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They have no canonical form in common.
    Different,
    /// They are equal byte for byte.
    Identical,
    /// They are not the same bytes, but have the same canonical form.
    Equal(Reason),
}

/// Why two lines that are not the same bytes have the same canonical form.
///
/// As text: `parse` and the names of the rules. Rules of a rule file are named by their numbers:
/// `parse,query-order,dust:3,dust:12`. Where no rule was needed it is `parse` alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reason {
    /// Did parsing remove some of the differences before the first rule?
    pub parsed: bool,
    /// The rules that changed the parts that differ, until the two were equal.
    pub rules: RuleSet,
    /// If [`RuleId::Dust`] is one of them: which rules of the rule file changed the one or the
    /// other, by number from 1, in ascending order.
    pub site_rules: Vec<usize>,
}

impl Comparison {
    /// Why the two are equal, in one word or a list: `identical`, or the text of the [`Reason`];
    /// `None` if they are not.
    pub fn reason(&self) -> Option<String> {
        match self {
            Comparison::Different => None,
            Comparison::Identical => Some("identical".to_string()),
            Comparison::Equal(reason) => Some(reason.to_string()),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if self.parsed || self.rules.is_empty() {
            f.write_str("parse")?;
            separator = ",";
        }
        for rule in self.rules.iter() {
            if rule != RuleId::Dust || self.site_rules.is_empty() {
                write!(f, "{separator}{}", rule.name())?;
                separator = ",";
                continue;
            }
            for number in &self.site_rules {
                write!(f, "{separator}{}:{number}", rule.name())?;
                separator = ",";
            }
        }
        Ok(())
    }
}

/// Compares URLs, many of which are in more than one pair.
#[derive(Debug)]
pub struct Comparer<'a> {
    canonicalizer: &'a Canonicalizer,
    scratch: Scratch,
    /// A cache of the ladders of recent URLs, indexed by hash; a new ladder replaces the old one.
    ladders: Vec<Option<Arc<Ladder>>>,
    hasher: RandomState,
}

/// Slots for ladders, and most bytes of a URL that has one. Reason: most ladders take less than 1
/// KB, and all of them at most some MB.
const LADDERS: usize = 256;
const LADDER_URL_BYTES_MAX: usize = 1 << 10;

impl Canonicalizer {
    /// Compares URLs under the profile.
    pub fn comparer(&self) -> Comparer<'_> {
        let (scratch, hasher) = (Scratch::default(), RandomState::new());
        Comparer { canonicalizer: self, scratch, ladders: Vec::new(), hasher }
    }
}

impl Comparer<'_> {
    /// Says whether two lines are equal under the profile, and by which rules.
    pub fn compare(&mut self, a: &[u8], b: &[u8]) -> Comparison {
        if a == b {
            return Comparison::Identical;
        }
        let given = [a, b];
        let (Ok(a), Ok(b)) = (self.ladder(a), self.ladder(b)) else {
            return Comparison::Different;
        };
        if a.canonical() != b.canonical() {
            return Comparison::Different;
        }
        let mut rules = RuleSet::EMPTY;
        let mut site_rules: BTreeSet<usize> = BTreeSet::new();
        let (mut one, mut other) = (a.start(), b.start());
        let parsed = given != [one.form, other.form]
            && difference(given[0], given[1]) != difference(one.form, other.form);
        for level in 1..=self.canonicalizer.profile.rules.len() {
            if one.form == other.form {
                break;
            }
            let before = [one.form, other.form];
            // A rule may have made earlier ones apply again, without which the two might differ.
            let went = [one.climb(level), other.climb(level)];
            if difference(before[0], before[1]) != difference(one.form, other.form) {
                for rung in went.into_iter().flatten() {
                    rules = rules.union(rung.rules);
                    site_rules.extend(&rung.site_rules);
                }
            }
        }
        let site_rules = site_rules.into_iter().map(|rule| rule + 1).collect();
        Comparison::Equal(Reason { parsed, rules, site_rules })
    }

    /// Returns the ladder of `given`, perhaps from the cache.
    fn ladder(&mut self, given: &[u8]) -> Result<Arc<Ladder>, Reject> {
        if self.ladders.is_empty() {
            self.ladders.resize(LADDERS, None);
        }
        let place = &mut self.ladders[self.hasher.hash_one(given) as usize % LADDERS];
        if let Some(ladder) = place.as_ref().filter(|ladder| *ladder.given == *given) {
            return Ok(Arc::clone(ladder));
        }
        let ladder = Arc::new(Ladder::of(self.canonicalizer, given, &mut self.scratch)?);
        if given.len() <= LADDER_URL_BYTES_MAX {
            *place = Some(Arc::clone(&ladder));
        }
        Ok(ladder)
    }
}

/// `a` and `b` without their common beginning and end.
fn difference<'a>(a: &'a [u8], b: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    (&a[..a.len() - end], &b[..b.len() - end])
}

/// The forms of one URL at the levels of a profile; see `reference.rs`.
#[derive(Debug)]
struct Ladder {
    given: Box<[u8]>,
    /// One form after the other.
    forms: Vec<u8>,
    rungs: Vec<Rung>,
}

/// A level at which the form changes.
#[derive(Debug)]
struct Rung {
    /// From 0.
    level: usize,
    /// Where its form ends.
    end: usize,
    /// The rules that applied between the previous rung and this one.
    rules: RuleSet,
    /// Those of the rule file among them, by number from 0.
    site_rules: Vec<usize>,
}

impl Ladder {
    fn of(
        canonicalizer: &Canonicalizer,
        given: &[u8],
        scratch: &mut Scratch,
    ) -> Result<Ladder, Reject> {
        let canonical = canonicalizer.canonical(given, scratch);
        if let Some(reject) = canonical.reject {
            return Err(reject);
        }
        if canonical.form == given {
            let rules = RuleSet::EMPTY;
            let rung = Rung { level: 0, end: given.len(), rules, site_rules: Vec::new() };
            return Ok(Ladder { given: given.into(), forms: given.to_vec(), rungs: vec![rung] });
        }
        let (mut forms, mut rungs) = (Vec::with_capacity(4 * given.len()), Vec::with_capacity(8));
        let (mut rules, mut site_rules) = (RuleSet::EMPTY, Vec::new());
        // The form at the step before, where it says which rules of a site take the next one.
        let mut before = Vec::new();
        let has_site_rules = canonicalizer.profile.rules.contains(RuleId::Dust);
        canonicalizer.follow(given, &canonical, |reached, form| {
            match reached {
                Reached::Step(rule) => {
                    rules.insert(rule);
                    if rule == RuleId::Dust {
                        site_rules.extend(canonicalizer.profile.options.dust.fired(&before));
                    }
                }
                Reached::Level(level) => {
                    forms.extend_from_slice(form);
                    let rules = std::mem::take(&mut rules);
                    let site_rules = std::mem::take(&mut site_rules);
                    rungs.push(Rung { level, end: forms.len(), rules, site_rules });
                }
            }
            if has_site_rules {
                before.clear();
                before.extend_from_slice(form);
            }
        })?;
        Ok(Ladder { given: given.into(), forms, rungs })
    }

    /// At level 0.
    fn start(&self) -> Climb<'_> {
        let end = self.rungs.first().map_or(0, |rung| rung.end);
        Climb { ladder: self, next: 1, form: &self.forms[..end], end }
    }

    fn canonical(&self) -> &[u8] {
        let before = self.rungs.len().checked_sub(2).map_or(0, |at| self.rungs[at].end);
        &self.forms[before..]
    }
}

/// A level that was reached on a ladder.
struct Climb<'a> {
    ladder: &'a Ladder,
    /// The rung above.
    next: usize,
    /// The form at this level.
    form: &'a [u8],
    /// Where it ends in the forms.
    end: usize,
}

impl<'a> Climb<'a> {
    /// Goes on to `level`, the next one. Returns its rung, or `None` if the form is the same there.
    fn climb(&mut self, level: usize) -> Option<&'a Rung> {
        let rung = self.ladder.rungs.get(self.next).filter(|rung| rung.level == level)?;
        self.form = &self.ladder.forms[self.end..rung.end];
        self.end = rung.end;
        self.next += 1;
        Some(rung)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::canonical::{DustRules, PROFILES, Profile, RuleFile, RuleId, Settings, Trace};

    /// The rules that went on the way to each level.
    fn went(trace: &Trace) -> BTreeMap<usize, Vec<RuleId>> {
        let mut steps = trace.steps.iter();
        let rules_until = |form: &Vec<u8>| {
            let mut rules = Vec::new();
            for step in steps.by_ref() {
                rules.push(step.rule);
                if step.after == *form {
                    break;
                }
            }
            rules
        };
        let forms = trace.levels.iter().map(|(_, form)| form);
        let numbers = trace.levels.iter().map(|(level, _)| *level);
        numbers.zip(forms.map(rules_until)).collect()
    }

    /// Compares `a` and `b` by two traces, by definition. The slow twin of [`Comparer::compare`].
    fn compare_slowly(canonicalizer: &Canonicalizer, a: &[u8], b: &[u8]) -> Comparison {
        if a == b {
            return Comparison::Identical;
        }
        let given = difference(a, b);
        let (Ok(a), Ok(b)) = (canonicalizer.trace(a), canonicalizer.trace(b)) else {
            return Comparison::Different;
        };
        let parsed = given != difference(a.at(0), b.at(0));
        let mut rules = RuleSet::EMPTY;
        let mut went = [went(&a), went(&b)];
        for level in 1..=canonicalizer.profile.rules.len() {
            let before = difference(a.at(level - 1), b.at(level - 1));
            let after = difference(a.at(level), b.at(level));
            let all = went.iter_mut().filter_map(|went| went.remove(&level)).flatten();
            if a.at(level - 1) != b.at(level - 1) && before != after {
                all.for_each(|rule| rules.insert(rule));
            }
        }
        if a.canonical() != b.canonical() {
            return Comparison::Different;
        }
        Comparison::Equal(Reason { parsed, rules, site_rules: Vec::new() })
    }

    proptest! {
        #[test]
        fn agrees_with_two_traces(
            name in prop::sample::select(PROFILES.to_vec()),
            urls in prop::array::uniform2(
                "(http|HTTPS)://(www[.])?a[.]test(:80|:443)?(/|/b/[.][.]|//c|/index[.]html|/%7e|/;jsessionid=0A1B2C3D4E5F60718293A4B5C6D7E8F9){0,3}\
                 ([?](utm_source=x|b=1|a=%32|&){0,3})?(#x)?",
            ),
        ) {
            let canonicalizer = Canonicalizer::new(Profile::named(name).unwrap());
            let [a, b] = urls.each_ref().map(String::as_bytes);
            let mut comparer = canonicalizer.comparer();
            for (a, b) in [(a, b), (b, a), (a, b)] {
                prop_assert_eq!(comparer.compare(a, b), compare_slowly(&canonicalizer, a, b));
            }
        }
    }

    #[test]
    fn a_url_in_many_pairs_is_followed_once() {
        let canonicalizer = Canonicalizer::new(Profile::named("crawl").unwrap());
        let mut comparer = canonicalizer.comparer();
        for (bytes, is_kept) in [(0, true), (LADDER_URL_BYTES_MAX, false)] {
            let url = format!("HTTP://a.test/{}", "b".repeat(bytes));
            let mut ladder = || comparer.ladder(url.as_bytes()).unwrap();
            assert_eq!(Arc::ptr_eq(&ladder(), &ladder()), is_kept, "{bytes} bytes");
        }
    }

    #[test]
    fn rules_that_go_again_are_named() {
        let canonicalizer = Canonicalizer::new(Profile::named("aggressive").unwrap());
        let session = "http://e.test/a/;jsessionid=0A1B2C3D4E5F60718293A4B5C6D7E8F9/b";
        let mut comparer = canonicalizer.comparer();
        for (a, b, reason) in [
            ("http://e.test/a/b", session, "session-ids,duplicate-slashes"),
            (session, "http://e.test/a/b", "session-ids,duplicate-slashes"),
            ("http://e.test/a//b", "http://e.test/a/b", "duplicate-slashes"),
        ] {
            let Comparison::Equal(found) = comparer.compare(a.as_bytes(), b.as_bytes()) else {
                panic!("{a} {b}: not equal");
            };
            let names: BTreeSet<_> = found.rules.iter().map(RuleId::name).collect();
            assert_eq!(names, reason.split(',').collect(), "{a} {b}");
        }
    }

    #[test]
    fn rules_of_sites_are_named_by_number() {
        let file = RuleFile::parse(
            "[[rule]]\nsite = 'a.test'\nkind = 'drop-param'\nparam = 'x'\n\
             [[rule]]\nsite = 'a.test'\nkind = 'host-alias'\nfrom = 'm.a.test'\nto = 'a.test'\n\
             [[rule]]\nsite = 'a.test'\nkind = 'fold-case'\n",
        );
        let dust = DustRules::compile(&file.unwrap()).rules;
        let profile = Settings { dust, ..Settings::default() }.build().unwrap();
        let canonicalizer = Canonicalizer::new(profile);
        let mut comparer = canonicalizer.comparer();
        for (a, b, reason) in [
            ("http://a.test/", "http://a.test/?x=1", "dust:1"),
            ("http://m.a.test/", "http://a.test/?x=1", "dust:1,dust:2"),
            ("http://m.a.test/B#c", "http://a.test:80/b", "default-port,fragment,dust:2,dust:3"),
            ("http://a.test/b#c", "http://a.test/b", "fragment"),
            ("http://a.test/B#c", "http://a.test/B", "fragment"),
        ] {
            let found = comparer.compare(a.as_bytes(), b.as_bytes());
            assert_eq!(found.reason().as_deref(), Some(reason), "{a} {b}");
        }
    }

    #[test]
    fn reasons() {
        let canonicalizer = Canonicalizer::new(Profile::named("crawl").unwrap());
        for (a, b, reason) in [
            ("http://a.test/", "http://a.test/", Some("identical")),
            ("http://a.test/", "http://a.test:80/#x", Some("default-port,fragment")),
            ("http://a.test/", " http://a.test/", Some("parse")),
            ("http:\\\\a.test/?", "http://a.test/", Some("parse,empty-query")),
            ("a.test/", "http://a.test/#x", Some("parse,fragment")),
            ("http:\\\\a.test/?", "http:\\\\a.test/", Some("empty-query")),
            ("http://a.test/b", "http://a.test/c", None),
            ("http://a.test/", "http://[", None),
        ] {
            let found = canonicalizer.comparer().compare(a.as_bytes(), b.as_bytes());
            assert_eq!(found.reason().as_deref(), reason, "{a} {b}");
        }
    }
}
