//! What is known about a generated line: its page, its class, the rules its spelling differs by.

use std::io::{self, Write};

/// What is true of one line of a [`List`](super::List).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    /// The page of the line. Pages are numbered from 0 in the order of their first lines.
    pub page: u64,
    /// How hard it is to see that the page was there before.
    pub class: Class,
    /// The rules by which the line differs from the first spelling of its page; empty if it does
    /// not.
    pub rules: RuleNames,
}

impl Truth {
    /// Is the line the first spelling of its page, byte for byte?
    pub(super) fn is_first_spelling(&self) -> bool {
        matches!(self.class, Class::First | Class::Exact)
    }
}

/// How a line relates to the first line of its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// It is the first line of its page.
    First,
    /// It is byte for byte the first line.
    Exact,
    /// It differs by rules that preserve semantics or usually do: the profile `crawl` must merge
    /// it.
    Safe,
    /// It differs by a rule that may change semantics: only the profile `aggressive` merges it.
    Heuristic,
}

impl Class {
    /// All classes, in the order of their declaration.
    pub const ALL: [Class; 4] = [Class::First, Class::Exact, Class::Safe, Class::Heuristic];

    /// The name in the truth table: lower case, ASCII.
    pub fn name(self) -> &'static str {
        match self {
            Class::First => "first",
            Class::Exact => "exact",
            Class::Safe => "safe",
            Class::Heuristic => "heuristic",
        }
    }
}

/// Names of the rules that a generated spelling may need, as on the command line; bit `n` is row
/// `n`.
const NAMES: [&str; 15] = [
    "case",
    "trailing-slash",
    "directory-index",
    "escapes",
    "fragment",
    "scheme",
    "default-port",
    "duplicate-slashes",
    "dot-segments",
    "www",
    "query-order",
    "params",
    "session-ids",
    "empty-query",
    "encoding",
];

/// A set of rules, each known by its name on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RuleNames {
    bits: u16,
}

impl RuleNames {
    /// Every rule that a generated spelling may need.
    pub const ALL: RuleNames = RuleNames { bits: (1 << NAMES.len()) - 1 };

    /// The set of this one rule. For tables in this module: a name that is no rule stops the build.
    pub(super) const fn only(name: &str) -> Self {
        let mut row = 0;
        while row < NAMES.len() {
            if is_same(NAMES[row].as_bytes(), name.as_bytes()) {
                return RuleNames { bits: 1 << row };
            }
            row += 1;
        }
        panic!("no generated spelling needs a rule of this name")
    }

    /// The rules of both sets.
    #[must_use]
    pub(super) const fn union(self, other: Self) -> Self {
        RuleNames { bits: self.bits | other.bits }
    }

    /// Is there no rule in the set?
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// How many rules are in the set.
    pub fn len(self) -> usize {
        self.bits.count_ones() as usize
    }

    /// Is the rule of this name in the set? `false` if there is no such rule.
    pub fn contains(self, name: &str) -> bool {
        self.iter().any(|member| member == name)
    }

    /// The names in the set, in the order of the rules' table.
    pub fn iter(self) -> impl Iterator<Item = &'static str> {
        NAMES
            .iter()
            .enumerate()
            .filter(move |(row, _)| self.bits >> row & 1 == 1)
            .map(|(_, name)| *name)
    }
}

const fn is_same(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// First line of a truth table, without its newline.
pub const TRUTH_HEADER: &str = "page\tclass\trules";

/// Writes one row of the truth table with its newline.
///
/// - Shape: page number, class, rules joined by commas. No rules are written as `-`, so that no
///   column is empty. Row `n` below the header is about line `n` of the list.
/// - Failure: that of `out`. Buffer it; this function makes several small writes.
pub fn write_truth(out: &mut impl Write, truth: &Truth) -> io::Result<()> {
    write!(out, "{}\t{}\t", truth.page, truth.class.name())?;
    if truth.rules.is_empty() {
        out.write_all(b"-")?;
    }
    for (place, name) in truth.rules.iter().enumerate() {
        if place > 0 {
            out.write_all(b",")?;
        }
        out.write_all(name.as_bytes())?;
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(truth: &Truth) -> String {
        let mut out = Vec::new();
        write_truth(&mut out, truth).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows() {
        let mut truth = Truth { page: 0, class: Class::First, rules: RuleNames::default() };
        assert_eq!(row(&truth), "0\tfirst\t-\n");
        truth.page = u64::MAX;
        truth.class = Class::Heuristic;
        truth.rules = RuleNames::only("www").union(RuleNames::only("case"));
        assert_eq!(row(&truth), "18446744073709551615\theuristic\tcase,www\n");
        assert_eq!(TRUTH_HEADER.split('\t').count(), row(&truth).split('\t').count());
    }

    #[test]
    fn sets() {
        assert_eq!(RuleNames::ALL.len(), NAMES.len());
        assert!(RuleNames::default().is_empty());
        for (row, name) in NAMES.into_iter().enumerate() {
            let set = RuleNames::only(name);
            assert_eq!(set.iter().collect::<Vec<_>>(), [name]);
            assert!(set.contains(name) && !set.contains("dust"));
            assert!(!NAMES[..row].contains(&name), "{name}: a name has one row");
        }
    }

    #[test]
    fn class_names_differ() {
        let mut names = Class::ALL.map(Class::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Class::ALL.len());
    }
}
