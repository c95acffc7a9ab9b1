//! What is written of a site: rules for the spellings that its paths have, guards, and what
//! looks like a trap.

mod constant;
mod emit;
mod guards;
mod moves;
mod patterns;
mod scopes;
mod spellings;

use std::cell::LazyCell;

use super::proposed::screen::Screen;
use super::seen::handlers::Handlers;
use super::seen::loose_path::LoosePath;
use super::seen::site::is_one_host;
use super::seen::table::Table;
use super::selected::selector::Validated;
use super::worth::signal::Calibration;
use crate::canonical::{DustRule, Guard, Trap};
use moves::Moves;
use spellings::{LazySpellings, Spellings};

/// What was found out about a site.
pub(super) struct Findings<'a> {
    pub(super) site: &'a str,
    pub(super) table: &'a Table,
    pub(super) loose_paths: &'a [LoosePath],
    /// How many URLs each path has.
    pub(super) urls: &'a [u64],
    pub(super) handlers: &'a Handlers,
    pub(super) calibration: &'a Calibration,
    pub(super) screen: &'a Screen,
    pub(super) validated: &'a [Validated],
}

/// What rule files say about it.
pub(super) struct Written {
    pub(super) rules: Vec<DustRule>,
    pub(super) guards: Vec<Guard>,
    pub(super) traps: Vec<Trap>,
}

impl Findings<'_> {
    /// Writes the rules, guards and traps of the site.
    pub(super) fn write(&self) -> Written {
        let Findings { site, table, handlers, validated, .. } = *self;
        let text_of = |name: u32, value: u64| {
            let param = table.params.iter().find(|p| p.name == name && p.value == value)?;
            Some(table.bytes(param.text).to_vec())
        };
        let reported = || validated.iter().filter(|one| is_reported(one));
        let in_force = reported().map(|one| (one, emit::is_in_force(table, one)));
        let moves = Moves::of(self.loose_paths, handlers, in_force);
        let spellings: LazySpellings<'_> = LazyCell::new(Box::new(|| {
            Spellings::find(table, self.loose_paths, self.urls, handlers, &moves)
        }));
        let mut rules: Vec<DustRule> = Vec::new();
        for one in reported() {
            rules.extend(emit::rules(site, table, handlers, &spellings, &moves, one, text_of));
        }
        rules.extend(constant::rules(site, table, handlers, &spellings, self.calibration));
        if is_one_host(site.as_bytes()) {
            rules.iter_mut().for_each(|rule| rule.hosts = vec![site.to_string()]);
        }
        rules.sort_by_key(|rule| (rule.kind.stratum(), rule.status.name(), rule.title()));
        let guards = guards::guards(site, table, &spellings, self.screen, validated);
        Written { rules, guards, traps: guards::traps(site, table) }
    }
}

/// Is a candidate worth reporting?
fn is_reported(one: &Validated) -> bool {
    one.plausible && (one.support.all.good >= 4 || one.prior.listed && one.support.fired > 0)
}
