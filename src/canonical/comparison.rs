//! Why two URLs are one page, or that they are not.

use super::{Canonicalizer, Reached, RuleSet, Scratch};
use crate::reject::Reject;

/// Why two lines are equal, or that they are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Have both the same canonical form?
    pub equal: bool,
    /// Are they equal byte for byte?
    pub identical: bool,
    /// Was some of what is different between the two read away before the first rule?
    pub parsed: bool,
    /// The rules that changed what is different between the two, until nothing was left.
    pub rules: RuleSet,
}

impl Comparison {
    /// The reason in one word or a list: `identical`, or `parse` and the rules' names.
    pub fn reason(&self) -> String {
        match self {
            Comparison { identical: true, .. } => "identical".to_string(),
            Comparison { rules, .. } if rules.is_empty() => "parse".to_string(),
            Comparison { parsed: true, rules, .. } => format!("parse,{}", rules.names()),
            Comparison { rules, .. } => rules.names(),
        }
    }
}

impl Canonicalizer {
    /// Says whether two lines are equal under the profile, and by which rules.
    pub fn compare(&self, a: &[u8], b: &[u8], scratch: &mut Scratch) -> Comparison {
        let different = Comparison::default();
        if a == b {
            return Comparison { equal: true, identical: true, ..different };
        }
        let given = [a, b];
        let mut ladder = |given| Ladder::of(self, given, scratch);
        let (Ok(a), Ok(b)) = (ladder(a), ladder(b)) else { return different };
        let mut rules = RuleSet::EMPTY;
        let (mut one, mut other) = (a.start(), b.start());
        let parsed = given != [one.form, other.form]
            && difference(given[0], given[1]) != difference(one.form, other.form);
        for (level, rule) in (1..).zip(self.profile.rules.iter()) {
            if one.form == other.form {
                break;
            }
            let before = [one.form, other.form];
            if one.climb(level) | other.climb(level)
                && difference(before[0], before[1]) != difference(one.form, other.form)
            {
                rules.insert(rule);
            }
        }
        Comparison { equal: a.canonical() == b.canonical(), parsed, rules, ..different }
    }
}

/// `a` and `b` without what they begin and end with in common.
fn difference<'a>(a: &'a [u8], b: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    (&a[..a.len() - end], &b[..b.len() - end])
}

/// The forms of one URL at the levels of a profile; see `reference.rs`.
struct Ladder {
    /// One form behind the other.
    forms: Vec<u8>,
    /// The levels at which the form is another than before, from 0, and where each form ends.
    rungs: Vec<(usize, usize)>,
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
            return Ok(Ladder { forms: given.to_vec(), rungs: vec![(0, given.len())] });
        }
        let (mut forms, mut rungs) = (Vec::with_capacity(4 * given.len()), Vec::with_capacity(8));
        canonicalizer.follow(given, &canonical, |reached, form| {
            if let Reached::Level(level) = reached {
                forms.extend_from_slice(form);
                rungs.push((level, forms.len()));
            }
        })?;
        Ok(Ladder { forms, rungs })
    }

    /// At level 0.
    fn start(&self) -> Climb<'_> {
        let end = self.rungs.first().map_or(0, |(_, end)| *end);
        Climb { ladder: self, next: 1, form: &self.forms[..end], end }
    }

    fn canonical(&self) -> &[u8] {
        let before = self.rungs.len().checked_sub(2).map_or(0, |at| self.rungs[at].1);
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

impl Climb<'_> {
    /// Goes on to `level`, the next one. Is the form another there?
    fn climb(&mut self, level: usize) -> bool {
        match self.ladder.rungs.get(self.next) {
            Some(&(reached, end)) if reached == level => {
                self.form = &self.ladder.forms[self.end..end];
                self.end = end;
                self.next += 1;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canonical::{PROFILES, Profile};

    /// The same by two traces, as the definition has it.
    fn compare_slowly(canonicalizer: &Canonicalizer, a: &[u8], b: &[u8]) -> Comparison {
        let identical = a == b;
        let different = Comparison { equal: identical, identical, ..Comparison::default() };
        let given = difference(a, b);
        let (Ok(a), Ok(b)) = (canonicalizer.trace(a), canonicalizer.trace(b)) else {
            return different;
        };
        let parsed = given != difference(a.at(0), b.at(0));
        let mut rules = RuleSet::EMPTY;
        for (level, rule) in (1..).zip(canonicalizer.profile.rules.iter()) {
            let before = difference(a.at(level - 1), b.at(level - 1));
            let after = difference(a.at(level), b.at(level));
            if !identical && a.at(level - 1) != b.at(level - 1) && before != after {
                rules.insert(rule);
            }
        }
        Comparison { equal: a.canonical() == b.canonical(), parsed, rules, ..different }
    }

    proptest! {
        #[test]
        fn agrees_with_two_traces(
            name in prop::sample::select(PROFILES.to_vec()),
            urls in prop::array::uniform2(
                "(http|HTTPS)://(www[.])?a[.]test(:80|:443)?(/|/b/[.][.]|//c|/index[.]html|/%7e){0,2}\
                 ([?](utm_source=x|b=1|a=%32|&){0,3})?(#x)?",
            ),
        ) {
            let canonicalizer = Canonicalizer::new(Profile::named(name).unwrap());
            let [a, b] = urls.each_ref().map(String::as_bytes);
            let found = canonicalizer.compare(a, b, &mut Scratch::default());
            prop_assert_eq!(found, compare_slowly(&canonicalizer, a, b));
        }
    }

    #[test]
    fn reasons() {
        let canonicalizer = Canonicalizer::new(Profile::named("crawl").unwrap());
        for (a, b, equal, reason) in [
            ("http://a.test/", "http://a.test/", true, "identical"),
            ("http://a.test/", "http://a.test:80/#x", true, "default-port,fragment"),
            ("http://a.test/", " http://a.test/", true, "parse"),
            ("http:\\\\a.test/?", "http://a.test/", true, "parse,empty-query"),
            ("a.test/", "http://a.test/#x", true, "parse,fragment"),
            ("http:\\\\a.test/?", "http:\\\\a.test/", true, "empty-query"),
            ("http://a.test/b", "http://a.test/c", false, "parse"),
            ("http://a.test/", "http://[", false, "parse"),
        ] {
            let found = {
                let mut scratch = Scratch::default();
                canonicalizer.compare(a.as_bytes(), b.as_bytes(), &mut scratch)
            };
            assert_eq!((found.equal, &*found.reason()), (equal, reason), "{a} {b}");
        }
    }
}
