//! Rules that may hold: what each would do, and where.

use std::collections::BTreeSet;

use super::paths::PathAct;

/// What a candidate does to a URL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Act {
    /// Replaces the first host, by number, by the second.
    Host(u32, u32),
    /// Replaces `http` by `https`; the reverse if false.
    Scheme(bool),
    /// Replaces a port such as `:81` by the scheme's own.
    Port(Vec<u8>),
    /// A change of the path.
    Path(PathAct),
    /// Drops the parameter of this number.
    Drop(u32),
    /// Drops the parameter with this value (its hash), as the default.
    Default(u32, u64),
    /// Ignores the order of parameters.
    Order,
    /// Replaces the first value (its hash) of the parameter of this number by the second.
    Value(u32, u64, u64),
    /// Drops all parameters under this handler but those of these numbers.
    Keep(u32, Vec<u32>),
}

impl Act {
    /// The number of the parameter that it changes.
    pub(crate) fn param(&self) -> Option<u32> {
        match self {
            Act::Drop(name) | Act::Default(name, _) | Act::Value(name, ..) => Some(*name),
            _ => None,
        }
    }

    /// Does it take numbers out of paths, which may be those of sessions or names of pages? Then it
    /// reaches stems, not handlers.
    pub(crate) fn takes_numbers(&self) -> bool {
        matches!(self, Act::Path(act) if act.takes_numbers())
    }

    /// What speaks against it section by section: acts that are no more the business of one handler
    /// than of another, but of which a part of the site may be an exception. Not those that move
    /// pages from one section to another.
    pub(crate) fn is_judged_by_sections(&self) -> bool {
        match self {
            Act::Path(act) => act.keeps_section(),
            Act::Order => true,
            _ => self.is_of_origin(),
        }
    }

    /// Is it about hosts, schemes and ports? Such a rule holds for the whole site or not at all.
    pub(crate) fn is_of_origin(&self) -> bool {
        matches!(self, Act::Host(..) | Act::Scheme(_) | Act::Port(_))
    }

    /// May it be narrowed to handlers?
    pub(crate) fn is_scoped(&self) -> bool {
        matches!(
            self,
            Act::Drop(_) | Act::Default(..) | Act::Value(..) | Act::Path(PathAct::FoldCase)
        )
    }
}

/// Where a candidate holds: under which handlers, or stems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Everywhere.
    #[default]
    All,
    /// Everywhere but under these handlers.
    Except(BTreeSet<u32>),
    /// Only under these handlers.
    Only(BTreeSet<u32>),
}

impl Reach {
    /// Does it hold under `handler`?
    pub(crate) fn has(&self, handler: u32) -> bool {
        match self {
            Reach::All => true,
            Reach::Except(handlers) => !handlers.contains(&handler),
            Reach::Only(handlers) => handlers.contains(&handler),
        }
    }

    /// The same without these handlers.
    pub(crate) fn without(self, handlers: &BTreeSet<u32>) -> Reach {
        match self {
            _ if handlers.is_empty() => self,
            Reach::All => Reach::Except(handlers.clone()),
            Reach::Except(before) => Reach::Except(before.union(handlers).copied().collect()),
            Reach::Only(only) => Reach::Only(only.difference(handlers).copied().collect()),
        }
    }
}

/// A rule that may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) act: Act,
    pub(crate) reach: Reach,
    /// Is it in force already, so that it is not validated any more?
    pub(crate) settled: bool,
    /// Is it one that pages cannot know of (see `versions.rs`), so that its values stand in no
    /// blocks? Asked where classes of URLs are compared.
    pub(crate) control: bool,
}

impl Candidate {
    /// Makes the candidate that does `act` everywhere.
    pub(crate) fn new(act: Act) -> Candidate {
        Candidate::within(act, Reach::All)
    }

    /// The candidate that does `act` within `reach`.
    pub(crate) fn within(act: Act, reach: Reach) -> Candidate {
        Candidate { act, reach, settled: false, control: false }
    }

    /// The same, which is taken to hold.
    pub(crate) fn settled(&self) -> Candidate {
        Candidate { settled: true, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reach() {
        assert!(Reach::All.has(3));
        assert!(!Reach::Except([3].into()).has(3) && Reach::Except([3].into()).has(4));
        assert!(Reach::Only([3].into()).has(3) && !Reach::Only([3].into()).has(4));
    }
}
