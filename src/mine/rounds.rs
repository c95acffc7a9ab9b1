//! The rounds of a site: which candidates are proposed, in which validations they take part.

use std::collections::BTreeSet;

use super::folders::Folders;
use super::selected::keep;
use super::selected::letters::Sections;
use super::selected::selector::{Selector, Validated};
use crate::mine::acts::candidates::{Act, Candidate, Reach};
use crate::mine::acts::forms::{self, Forms};
use crate::mine::acts::paths::PathAct;
use crate::mine::acts::priors::{self, Natures};
use crate::mine::proposed::conditions;
use crate::mine::proposed::propose;
use crate::mine::proposed::screen::{self, Screen, Seen, Slots};
use crate::mine::proposed::votes::{self, Votes};
use crate::mine::seen::handlers::Handlers;
use crate::mine::seen::loose_path::LoosePath;
use crate::mine::seen::table::{Table, Url};
use crate::mine::selected::values;
use crate::mine::trials::{BAR, CONTRADICTION, VERSIONS_BAR, is_below};
use crate::mine::validated::validation::Validation;
use crate::mine::worth::signal::Calibration;
use crate::mine::worth::versions::{self, Versions};

/// Proposes what the URLs of a site ask for, and validates it. Handlers are split in `table` where
/// conditions are found; `calibration` becomes what equal contents turn out to be worth.
pub(crate) fn run(
    table: &mut Table,
    loose_paths: &[LoosePath],
    handlers: &Handlers,
    calibration: &mut Calibration,
) -> (Vec<Validated>, Screen) {
    let natures = priors::natures(table, &handlers.of_path);
    let votes =
        votes::collect(table, loose_paths, calibration, &values::few(table, &natures.of_names));
    let controls = propose::controls(table, &votes, &natures);
    let controls = forms::forms(table, &handlers.of_path, &controls);
    recalibrate(table, None, &controls, calibration);
    let mut screen = screen::screen(table, loose_paths, &handlers.of_path, calibration);
    let before = calibration.clone();
    let may_split = table.signal.is_strong();
    if may_split {
        let templates = handlers.templates.len();
        let slots = Slots { table, loose_paths, handlers: &handlers.of_path, calibration: &before };
        table.splits = conditions::find(slots, &natures.of_names, &votes, &mut screen, templates);
    }
    let rounds =
        Rounds { loose_paths, handlers, votes: &votes, natures: &natures, controls: &controls };
    let (mut validated, mut samples) = rounds.run(table, &screen, calibration);
    if may_split {
        // What holds but for one condition is validated again, with the condition.
        for _ in 0..conditions::DEPTH_MAX {
            let slots =
                Slots { table, loose_paths, handlers: &handlers.of_path, calibration: &before };
            let more =
                conditions::leave_out(slots, &natures.of_names, &votes, &mut screen, samples);
            let Some(splits) = more else { break };
            table.splits = splits;
            *calibration = before.clone();
            (validated, samples) = rounds.run(table, &screen, calibration);
        }
        rounds.run_beside(table, &screen, calibration, &mut validated);
    }
    (validated, screen)
}

/// What is known before anything is validated.
struct Rounds<'a> {
    loose_paths: &'a [LoosePath],
    handlers: &'a Handlers,
    votes: &'a Votes,
    natures: &'a Natures,
    controls: &'a Forms,
}

impl Rounds<'_> {
    fn folders<'a>(&'a self, table: &'a Table) -> Folders<'a> {
        Folders { templates: &self.handlers.templates, splits: &table.splits }
    }

    fn proposed(&self, table: &Table, screen: &Screen, bar: f64) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> =
            propose::host_and_path_candidates(table, self.votes, screen, bar);
        candidates.extend(propose::parameters(
            self.votes,
            screen,
            &self.natures.of_names,
            self.folders(table),
            bar,
        ));
        for one in &mut candidates {
            let Some(name) = one.act.param() else { continue };
            let left_out = table.splits.left_out(name);
            if !left_out.is_empty() {
                let reach = std::mem::take(&mut one.reach);
                one.reach = self.seen_only(table, name, &reach).without(&left_out);
            }
        }
        candidates.sort_by(|a, b| a.act.cmp(&b.act));
        candidates
    }

    /// The handlers under which a parameter stands, as far as `reach` has them.
    fn seen_only(&self, table: &Table, name: u32, reach: &Reach) -> Reach {
        let has = |url: &&Url| table.params_of(url).iter().any(|param| param.name == name);
        let urls = table.urls.iter().filter(has);
        let handlers = urls.map(|url| table.handler_for(url, name, &self.handlers.of_path));
        Reach::Only(handlers.filter(|handler| reach.has(*handler)).collect())
    }

    /// What groups said about parameters that are to be dropped, are on no list and stand under one
    /// handler.
    fn seen(
        &self,
        table: &Table,
        validation: &Validation<'_>,
        validated: &[Validated],
    ) -> Vec<Seen> {
        let is_held = |one: &&Validated| one.holds && !one.prior.guarded && !one.prior.is_known();
        let held = validated.iter().filter(is_held);
        let names: BTreeSet<u32> = held.filter_map(|one| one.candidate.act.param()).collect();
        let local = conditions::local(table, &self.handlers.of_path, &names);
        if local.is_empty() { Vec::new() } else { validation.seen(&local) }
    }

    /// What candidates are selected by, as pages are known by `calibration`.
    fn selector<'b>(
        &'b self,
        table: &'b Table,
        calibration: &'b Calibration,
        by_classes: bool,
    ) -> Selector<'b> {
        Selector {
            table,
            sections: Sections { handlers: self.handlers, loose_paths: self.loose_paths },
            handlers: &self.handlers.of_path,
            calibration,
            natures: self.natures,
            by_classes,
        }
    }

    /// Validates all that is proposed; also returns what groups said about the parameters
    /// that may be dropped.
    fn run(
        &self,
        table: &Table,
        screen: &Screen,
        calibration: &mut Calibration,
    ) -> (Vec<Validated>, Vec<Seen>) {
        let (validated, samples) = self.validate_by_pairs(table, screen, calibration);
        if calibration.needs_confirmation || !table.signal.is_strong() {
            return (validated, samples);
        }
        self.validate_by_classes(table, screen, calibration, validated, samples)
    }

    /// Validates what is proposed by pairs of URLs; a second time where pages do not agree with
    /// themselves.
    fn validate_by_pairs(
        &self,
        table: &Table,
        screen: &Screen,
        calibration: &mut Calibration,
    ) -> (Vec<Validated>, Vec<Seen>) {
        let handlers = self.handlers.of_path.as_slice();
        let candidates = self.proposed(table, screen, BAR);
        let initial = forms::forms(table, handlers, &candidates);
        let again = (!calibration.is_steady()).then(|| initial.clone());
        let before = calibration.clone();
        let first = self.selector(table, &before, false);
        let mut validation = first.validation().starting_from(Some(initial));
        let validated = first.select(&mut validation, candidates.clone());
        if again.is_none() {
            let samples = self.seen(table, &validation, &validated);
            return (validated, samples);
        }
        // How far they do not is measured anew, page by page, now that it is known which URLs
        // are likely to be one.
        let likely: Vec<Candidate> = validated.into_iter().map(|one| one.candidate).collect();
        let pages = validation.keys(&likely).unwrap_or_else(|| keys(table, handlers, &likely));
        recalibrate(table, Some(&pages), self.controls, calibration);
        let second = self.selector(table, calibration, false);
        let mut validation = second.validation().starting_from(again);
        let validated = second.select(&mut validation, candidates);
        let samples = self.seen(table, &validation, &validated);
        (validated, samples)
    }

    /// Validates once more, by classes of URLs and beside what holds, what pages with versions hide
    /// from a look at two URLs. Adds to what is `validated`, and to its `samples`.
    fn validate_by_classes(
        &self,
        table: &Table,
        screen: &Screen,
        calibration: &Calibration,
        validated: Vec<Validated>,
        mut samples: Vec<Seen>,
    ) -> (Vec<Validated>, Vec<Seen>) {
        let (held, failed): (Vec<Validated>, Vec<Validated>) =
            validated.into_iter().partition(Validated::is_held);
        let mut new = self.proposed(table, screen, VERSIONS_BAR);
        // Letters come with the sections that single looks keep from folding.
        new.retain(|one| one.act != Act::Path(PathAct::FoldCase));
        new.extend(failed.iter().filter(|one| may_fold(one)).map(|one| one.candidate.clone()));
        for one in &mut new {
            one.control = versions::is_control(table, &self.natures.of_names, &one.act);
        }
        let candidates =
            propose::beside(held.iter().map(|one| one.candidate.settled()).collect(), new);
        let mut validated = held;
        if candidates.iter().any(|one| !one.settled) {
            let selector = self.selector(table, calibration, true);
            let mut validation = selector.validation();
            let mut again = selector.select(&mut validation, candidates);
            again.retain(|one| !one.candidate.settled && one.holds);
            samples.extend(self.seen(table, &validation, &again));
            validated.extend(again);
        }
        let is_new = |one: &Validated| {
            validated.iter().all(|other| other.candidate.act != one.candidate.act)
        };
        let failed: Vec<Validated> = failed.into_iter().filter(is_new).collect();
        validated.extend(failed);
        validated.sort_by(|a, b| a.candidate.act.cmp(&b.candidate.act));
        (validated, samples)
    }

    /// Validates what can only be seen beside what holds: values that are one, and scripts under
    /// which names that are not known say nothing either.
    fn run_beside(
        &self,
        table: &Table,
        screen: &Screen,
        calibration: &Calibration,
        validated: &mut Vec<Validated>,
    ) {
        let selector = self.selector(table, calibration, false);
        let held = validated.iter().filter(|one| one.is_held());
        let held: Vec<Candidate> = held.map(|one| one.candidate.settled()).collect();
        let new = values::proposed(&selector, self.votes, &held);
        let candidates = propose::beside(held, new);
        if candidates.iter().any(|one| !one.settled) {
            let again = selector.select(&mut selector.validation(), candidates);
            validated.extend(again.into_iter().filter(|one| !one.candidate.settled));
        }
        let kept = keep::validated(&selector, screen, validated);
        validated.extend(kept);
        validated.sort_by(|a, b| a.candidate.act.cmp(&b.candidate.act));
    }
}

/// Measures what equal contents are worth: by recaptures, page by page if it is known which `pages`
/// the URLs are likely to be, and by the URLs under the `controls`.
fn recalibrate(
    table: &Table,
    pages: Option<&[u64]>,
    controls: &Forms,
    calibration: &mut Calibration,
) {
    let before = calibration.clone().with(Versions::ONE);
    let measured = match pages {
        Some(pages) => before.by_pages(table, pages),
        None => before,
    };
    let versions = versions::measure(table, &measured, controls);
    *calibration = measured.with(versions);
}

/// The keys of all URLs under `candidates`.
fn keys(table: &Table, handlers: &[u32], candidates: &[Candidate]) -> Vec<u64> {
    let mut keys = vec![0; table.urls.len()];
    for keyed in &forms::forms(table, handlers, candidates).keys {
        keys[keyed.url as usize] = keyed.page();
    }
    keys
}

/// Is it the case of paths, with nothing against it that could not be left out?
fn may_fold(one: &Validated) -> bool {
    one.candidate.act == Act::Path(PathAct::FoldCase)
        && one.everywhere
        && !is_below(&one.support.all, VERSIONS_BAR, CONTRADICTION)
}
