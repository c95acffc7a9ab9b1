//! What candidates are selected by, which is the same in all rounds.

use std::collections::{BTreeMap, BTreeSet};

use super::letters::Sections;
use crate::mine::acts::candidates::{Candidate, Reach};
use crate::mine::acts::priors::{Natures, Prior, are_short, prior};
use crate::mine::folders::Folders;
use crate::mine::seen::table::{Param, Table};
use crate::mine::stats::binomial_tail;
use crate::mine::trials::{Trials, contradicts};
use crate::mine::validated::support::Support;
use crate::mine::validated::validation::{Compare, Validation};
use crate::mine::worth::signal::Calibration;

/// Lower bound of the share of agreeing groups from which on a candidate is plausible: it may be
/// written down for review.
pub(crate) const PLAUSIBLE_MIN: f64 = 0.8;

/// Fewest groups elsewhere with which a contradicted candidate is narrowed.
pub(crate) const GROUPS_MIN: u64 = 4;

/// Fewest agreements with which a handler that has a good part of the URLs is believed. Reason: one
/// or two may be empty lists of different things.
pub(crate) const AGREEMENTS_MIN: u64 = 4;

/// What candidates are selected by: everything that does not change from round to round.
pub(crate) struct Selector<'a> {
    pub(crate) table: &'a Table,
    pub(crate) sections: Sections<'a>,
    pub(crate) handlers: &'a [u32],
    pub(crate) calibration: &'a Calibration,
    pub(crate) natures: &'a Natures,
    /// What of a group is compared.
    pub(crate) compare: Compare,
}

/// A candidate with its support and what follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Validated {
    pub(crate) candidate: Candidate,
    pub(crate) support: Support,
    pub(crate) prior: Prior,
    /// Lower bound of the rate, noise given back, at 97.5 %.
    pub(crate) bound: f64,
    /// The rate, noise given back; no less than its bound.
    pub(crate) rate: f64,
    /// Good enough to be applied without asking, guards aside?
    pub(crate) holds: bool,
    /// Good enough to be shown?
    pub(crate) plausible: bool,
    /// Does nothing speak against it where it reaches? Asked of the case of paths, and of what is
    /// judged by sections.
    pub(crate) everywhere: bool,
}

impl Validated {
    /// Will it be applied without asking, as far as contents show?
    pub(crate) fn is_held(&self) -> bool {
        self.holds && !self.prior.guarded
    }
}

/// What becomes of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Stays,
    Goes,
    Reaches(Reach),
}

impl Selector<'_> {
    /// A validation of candidates.
    pub(crate) fn validation(&self) -> Validation<'_> {
        let validation = Validation::new(self.table, self.handlers, self.calibration);
        validation.comparing(self.compare)
    }

    /// The folders of the site.
    pub(crate) fn folders(&self) -> Folders<'_> {
        let templates = self.sections.handlers.templates.as_slice();
        Folders { templates, splits: &self.table.splits }
    }

    /// Is the candidate on a list of what never matters?
    pub(super) fn is_listed(&self, candidate: &Candidate) -> bool {
        prior(self.table, &self.natures.of_names, &candidate.act).listed
    }

    /// The parameters of this name, each with its handler.
    pub(super) fn params(&self, name: u32) -> impl Iterator<Item = (u32, &Param)> {
        let each = self.table.urls.iter().flat_map(move |url| {
            let handler = self.table.handler_for(url, name, self.handlers);
            self.table.params_of(url).iter().map(move |param| (handler, param))
        });
        each.filter(move |(_, param)| param.name == name)
    }

    /// The handlers under which the values of a parameter are short numbers.
    pub(super) fn short_under(&self, name: u32) -> BTreeSet<u32> {
        let mut values: BTreeMap<u32, Vec<&[u8]>> = BTreeMap::new();
        for (handler, param) in self.params(name) {
            values.entry(handler).or_default().push(self.table.bytes(param.text));
        }
        let short = values.into_iter().filter(|(_, values)| are_short(values.iter().copied()));
        short.map(|(handler, _)| handler).collect()
    }

    /// The handlers within reach whose trials say `is_against`, alone or together with others of
    /// their folder.
    pub(super) fn against(
        &self,
        candidate: &Candidate,
        support: &Support,
        is_against: impl Fn(&Trials) -> bool,
    ) -> BTreeSet<u32> {
        let Candidate { act, reach, .. } = candidate;
        let mut bad = self.folders().bad(act.param(), &support.by_handler, reach, is_against);
        bad.retain(|handler| reach.has(*handler));
        bad
    }
}

/// Do trials speak clearly against a candidate that is on a list: does it fail more often than not?
pub(super) fn speaks_against(trials: &Trials) -> bool {
    trials.bad() >= 2 && binomial_tail(trials.good, trials.samples, 0.5 * trials.mean_same()) < 0.05
}

/// The handlers that speak for a candidate beside `bad` ones; `None` if there are none, or if the
/// others do not hold without them.
pub(super) fn rest_of(support: &Support, bad: &BTreeSet<u32>) -> Option<BTreeSet<u32>> {
    let (mut rest, mut good) = (Trials::default(), BTreeSet::new());
    for (handler, trials) in support.by_handler.iter().filter(|(one, _)| !bad.contains(one)) {
        rest.join(trials);
        if trials.good > 0 {
            good.insert(*handler);
        }
    }
    let holds = !bad.is_empty() && rest.samples >= GROUPS_MIN && !contradicts(&rest);
    holds.then_some(good)
}
