//! Front controllers: scripts in which one parameter decides what others mean.
//!
//! ```text
//! /portal.php?action=view&nid=5&tab=…      `tab` has no effect under `view`    (dispatcher)
//! /portal.php?action=faq&nid=5&tab=links   and chooses the page under `faq`
//! /chart.php?series=7&scale=…              `scale` has no effect by itself     (conditional)
//! /chart.php?series=7&against=mean&scale=log
//! ```

use super::super::random::Random;
use super::feature::Feature;
use super::target::{Handler, Target};
use super::words::{
    ACTION_PARAMS, ACTIONS, AGAINST, AGAINST_PARAMS, CHART_PARAMS, CHART_SCRIPTS, FRONT_SCRIPTS,
    NUMBER_PARAMS, PANE_PARAMS, PANES, SCALE_PARAMS, SCALES,
};

/// Which sequence of a site's key its names are drawn from.
const NAMES: u64 = 81;

/// Percent of the pages that go to the last action of a site. Reason: where it is rare, a rule
/// without a condition looks right.
const SPEAKING: [u64; 4] = [4, 12, 25, 50];

/// Percent of the figures that are compared with something, in the same way.
const COMPARED: [u64; 4] = [4, 12, 25, 50];

/// How many numbers the pages have on which the last parameter matters. Reason: only where two
/// pages differ in nothing else would a wrong rule merge them.
const SPEAKING_NUMBERS: u64 = 24;
const COMPARED_NUMBERS: u64 = 12;

/// The front controllers of one site.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front {
    pub(super) script: &'static str,
    action_param: &'static str,
    /// What there is to do; the pane matters under the last one only.
    actions: [&'static str; 4],
    speaking_percent: u64,
    number_param: &'static str,
    pane_param: &'static str,
    pub(super) chart_script: &'static str,
    chart_param: &'static str,
    against_param: &'static str,
    compared_percent: u64,
    scale_param: &'static str,
}

impl Front {
    /// The scripts of the site with this key.
    pub(super) fn of(key: u64) -> Front {
        let mut random = Random::derived(key, NAMES, 0);
        let first = random.position(ACTIONS.len());
        // Odd steps go round all eight.
        let step = 1 + 2 * random.position(ACTIONS.len() / 2);
        Front {
            script: random.pick(&FRONT_SCRIPTS),
            action_param: random.pick(&ACTION_PARAMS),
            actions: std::array::from_fn(|at| ACTIONS[(first + at * step) % ACTIONS.len()]),
            speaking_percent: random.pick(&SPEAKING),
            number_param: random.pick(&NUMBER_PARAMS),
            pane_param: random.pick(&PANE_PARAMS),
            chart_script: random.pick(&CHART_SCRIPTS),
            chart_param: random.pick(&CHART_PARAMS),
            against_param: random.pick(&AGAINST_PARAMS),
            compared_percent: random.pick(&COMPARED),
            scale_param: random.pick(&SCALE_PARAMS),
        }
    }

    /// A page of a front controller.
    pub(super) fn dispatched(&self, number: u64, random: &mut Random) -> Target {
        let speaks = random.percent(self.speaking_percent);
        let action = if speaks { 3 } else { [0, 0, 0, 1, 1, 2][random.position(6)] };
        let number = if speaks { number % SPEAKING_NUMBERS } else { number };
        let page = Target::new(Handler::Dispatched, format!("/{}", self.script))
            .with(self.action_param, self.actions[action])
            .with(self.number_param, 1 + number);
        if speaks && random.percent(80) {
            return page.with(self.pane_param, random.pick(&PANES)).trapped(Feature::Dispatcher);
        }
        page
    }

    /// A page of figures.
    pub(super) fn chart(&self, number: u64, random: &mut Random) -> Target {
        let compared = random.percent(self.compared_percent);
        let number = if compared { number % COMPARED_NUMBERS } else { number };
        let page = Target::new(Handler::Chart, format!("/{}", self.chart_script))
            .with(self.chart_param, 1 + number);
        if !compared {
            return page;
        }
        let page = page.with(self.against_param, random.pick(&AGAINST));
        if random.percent(80) {
            return page.with(self.scale_param, random.pick(&SCALES)).trapped(Feature::Conditional);
        }
        page
    }

    /// The parameter that says nothing on a page that is asked for with these, and by which
    /// feature.
    pub(super) fn silent(&self, query: &[(&str, String)]) -> Option<(Feature, &'static str)> {
        let value = |wanted: &str| query.iter().find(|(name, _)| *name == wanted);
        if let Some((_, action)) = value(self.action_param) {
            return (action != self.actions[3]).then_some((Feature::Dispatcher, self.pane_param));
        }
        let is_chart = value(self.chart_param).is_some() && value(self.against_param).is_none();
        is_chart.then_some((Feature::Conditional, self.scale_param))
    }

    /// A value of the parameter of `feature`.
    pub(super) fn any_value(&self, feature: Feature, random: &mut Random) -> &'static str {
        random.pick(if feature == Feature::Dispatcher { &PANES } else { &SCALES })
    }
}
