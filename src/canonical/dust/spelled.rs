//! Rules in another spelling than that of their file.

use std::collections::HashMap;

use super::rule::{DustRule, Guard};

/// The rules and guards of a file, each in the forms that a profile makes of it, by number; those
/// that stay as they are, which nearly all do, are not there.
#[derive(Debug, Default)]
pub(crate) struct Spelled {
    pub(crate) rules: HashMap<usize, Vec<DustRule>>,
    pub(crate) guards: HashMap<usize, Vec<Guard>>,
}

impl Spelled {
    /// Is the whole file as it was?
    pub(crate) fn is_same(&self) -> bool {
        self.rules.is_empty() && self.guards.is_empty()
    }

    /// The forms of `rule`, which has this number.
    pub(super) fn of_rule<'a>(&'a self, number: usize, rule: &'a DustRule) -> &'a [DustRule] {
        self.rules.get(&number).map_or(std::slice::from_ref(rule), Vec::as_slice)
    }

    /// The forms of `guard`, which has this number.
    pub(super) fn of_guard<'a>(&'a self, number: usize, guard: &'a Guard) -> &'a [Guard] {
        self.guards.get(&number).map_or(std::slice::from_ref(guard), Vec::as_slice)
    }
}
