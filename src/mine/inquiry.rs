//! The judgment of a site: which candidates are proposed, in which hearings they are tried.

use std::collections::BTreeSet;

use super::candidates::{Act, Candidate, Reach};
use super::conditions;
use super::forms::{self, Forms};
use super::handlers::Handlers;
use super::hearing::Hearing;
use super::keep;
use super::letters::Sections;
use super::paths::PathAct;
use super::priors::{self, BAR, Nature};
use super::propose;
use super::screen::{self, Screen, Seen, Slots};
use super::select::{self, Court, Judged, without};
use super::signal::Calibration;
use super::softly::Soft;
use super::table::{Link, Signal, Table};
use super::values;
use super::versions::{self, Versions};
use super::votes::{self, Votes};

/// Judges what the URLs of a site ask for. Handlers are split in `table` where conditions are
/// found; `calibration` becomes what equal contents turn out to be worth.
pub(super) fn judge(
    table: &mut Table,
    softs: &[Soft],
    handlers: &Handlers,
    calibration: &mut Calibration,
) -> (Vec<Judged>, Screen) {
    let natures = priors::natures(table);
    let votes = votes::collect(table, softs, calibration, &values::few(table, &natures));
    let controls = propose::controls(table, &votes, &natures);
    let controls = forms::forms(table, &handlers.of_path, &controls);
    recalibrate(table, None, &controls, calibration);
    let mut screen = screen::screen(table, softs, &handlers.of_path, calibration);
    let before = calibration.clone();
    let may_split = table.signal == Signal::Digest;
    if may_split {
        let templates = handlers.templates.len();
        let slots = Slots { table, softs, handlers: &handlers.of_path, calibration: &before };
        table.splits = conditions::find(slots, &natures, &votes, &mut screen, templates);
    }
    let asks = Inquiry { softs, handlers, votes: &votes, natures: &natures, controls: &controls };
    let (mut judged, mut heard) = asks.judge(table, &screen, calibration);
    if may_split {
        // What holds but for one condition is judged again, with the condition.
        for _ in 0..conditions::DEPTH_MAX {
            let slots = Slots { table, softs, handlers: &handlers.of_path, calibration: &before };
            let more = conditions::leave_out(slots, &natures, &votes, &mut screen, heard);
            let Some(splits) = more else { break };
            table.splits = splits;
            *calibration = before.clone();
            (judged, heard) = asks.judge(table, &screen, calibration);
        }
        asks.judge_beside(table, &screen, calibration, &mut judged);
    }
    (judged, screen)
}

/// What is known before anything is tried.
struct Inquiry<'a> {
    softs: &'a [Soft],
    handlers: &'a Handlers,
    votes: &'a Votes,
    natures: &'a [Nature],
    controls: &'a Forms,
}

impl Inquiry<'_> {
    fn proposed(&self, table: &Table, screen: &Screen, bar: f64) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = propose::places(table, self.votes, screen, bar);
        candidates.extend(propose::parameters(self.votes, screen, self.natures, bar));
        for one in &mut candidates {
            let Some(name) = one.act.param() else { continue };
            let left_out = table.splits.left_out(name);
            if !left_out.is_empty() {
                let reach = std::mem::take(&mut one.reach);
                one.reach = without(self.seen_only(table, name, &reach), &left_out);
            }
        }
        candidates.sort_by(|a, b| a.act.cmp(&b.act));
        candidates
    }

    /// The handlers under which a parameter stands, as far as `reach` has them.
    fn seen_only(&self, table: &Table, name: u32, reach: &Reach) -> Reach {
        let has = |link: &&Link| table.params_of(link).iter().any(|param| param.name == name);
        let links = table.links.iter().filter(has);
        let handlers = links.map(|link| table.handler_for(link, name, &self.handlers.of_path));
        Reach::Only(handlers.filter(|handler| reach.has(*handler)).collect())
    }

    /// What groups said about parameters that are to be dropped, are on no list and stand under one
    /// handler.
    fn seen(&self, table: &Table, hearing: &Hearing<'_>, judged: &[Judged]) -> Vec<Seen> {
        let is_held = |one: &&Judged| one.holds && !one.prior.guarded && !one.prior.is_known();
        let held = judged.iter().filter(is_held);
        let names: BTreeSet<u32> = held.filter_map(|one| one.candidate.act.param()).collect();
        let local = conditions::local(table, &self.handlers.of_path, &names);
        if local.is_empty() { Vec::new() } else { hearing.seen(&local) }
    }

    /// Judges all that is proposed; also returns what groups said about the parameters that may be
    /// dropped.
    fn judge(
        &self,
        table: &Table,
        screen: &Screen,
        calibration: &mut Calibration,
    ) -> (Vec<Judged>, Vec<Seen>) {
        let sections = Sections { handlers: self.handlers, softs: self.softs };
        let (handlers, natures) = (self.handlers.of_path.as_slice(), self.natures);
        let court = |calibration, by_classes| Court {
            table,
            sections,
            handlers,
            calibration,
            natures,
            by_classes,
        };
        let candidates = self.proposed(table, screen, BAR);
        let opening = forms::forms(table, handlers, &candidates);
        // Where pages do not agree with themselves, there is a second hearing.
        let again = (!calibration.is_steady()).then(|| opening.clone());
        let before = calibration.clone();
        let first = court(&before, false);
        let mut hearing = first.hearing().opened_by(Some(opening));
        let mut judged = first.judge(&mut hearing, candidates.clone());
        let mut heard = self.seen(table, &hearing, &judged);
        if !calibration.is_steady() {
            // How far they do not is measured anew, page by page, now that it is known which URLs
            // are likely to be one.
            let likely: Vec<Candidate> = judged.into_iter().map(|one| one.candidate).collect();
            let pages = hearing.keys(&likely).unwrap_or_else(|| keys(table, handlers, &likely));
            recalibrate(table, Some(&pages), self.controls, calibration);
            let second = court(calibration, false);
            let mut hearing = second.hearing().opened_by(again);
            judged = second.judge(&mut hearing, candidates);
            heard = self.seen(table, &hearing, &judged);
        }
        if calibration.confirms || table.signal != Signal::Digest {
            return (judged, heard);
        }
        // What pages with versions hide from a look at two URLs is tried once more, beside what
        // holds.
        let (held, failed): (Vec<Judged>, Vec<Judged>) =
            judged.into_iter().partition(Judged::is_held);
        let settled = |one: &Judged| Candidate { settled: true, ..one.candidate.clone() };
        let mut new = self.proposed(table, screen, VERSIONS_BAR);
        // Letters come with the sections that single looks keep from folding.
        new.retain(|one| one.act != Act::Path(PathAct::FoldCase));
        new.extend(failed.iter().filter(|one| may_fold(one)).map(|one| one.candidate.clone()));
        for one in &mut new {
            one.control = versions::is_control(table, natures, &one.act);
        }
        let candidates = propose::beside(held.iter().map(settled).collect(), new);
        let mut judged = held;
        if candidates.iter().any(|one| !one.settled) {
            let third = court(calibration, true);
            let mut hearing = third.hearing();
            let mut again = third.judge(&mut hearing, candidates);
            again.retain(|one| !one.candidate.settled && one.holds);
            heard.extend(self.seen(table, &hearing, &again));
            judged.extend(again);
        }
        let is_new =
            |one: &Judged| judged.iter().all(|other| other.candidate.act != one.candidate.act);
        let failed: Vec<Judged> = failed.into_iter().filter(is_new).collect();
        judged.extend(failed);
        judged.sort_by(|a, b| a.candidate.act.cmp(&b.candidate.act));
        (judged, heard)
    }

    /// Judges what can only be seen beside what holds: values that are one, and scripts under which
    /// names that are not known say nothing either.
    fn judge_beside(
        &self,
        table: &Table,
        screen: &Screen,
        calibration: &Calibration,
        judged: &mut Vec<Judged>,
    ) {
        let court = Court {
            table,
            sections: Sections { handlers: self.handlers, softs: self.softs },
            handlers: &self.handlers.of_path,
            calibration,
            natures: self.natures,
            by_classes: false,
        };
        let held = judged.iter().filter(|one| one.is_held());
        let settled = |one: &Judged| Candidate { settled: true, ..one.candidate.clone() };
        let held: Vec<Candidate> = held.map(settled).collect();
        let new = values::proposed(&court, self.votes, &held);
        let candidates = propose::beside(held, new);
        if candidates.iter().any(|one| !one.settled) {
            let again = court.judge(&mut court.hearing(), candidates);
            judged.extend(again.into_iter().filter(|one| !one.candidate.settled));
        }
        let kept = keep::judged(&court, screen, judged);
        judged.extend(kept);
        judged.sort_by(|a, b| a.candidate.act.cmp(&b.candidate.act));
    }
}

/// Measures what equal contents are worth: by recaptures, page by page if it is known which `pages`
/// the links are likely to be, and by the URLs under the `controls`.
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

/// The keys of all links under `candidates`.
fn keys(table: &Table, handlers: &[u32], candidates: &[Candidate]) -> Vec<u64> {
    let mut keys = vec![0; table.links.len()];
    for keyed in &forms::forms(table, handlers, candidates).keys {
        keys[keyed.link as usize] = keyed.page();
    }
    keys
}

/// Is it the case of paths, with nothing against it that could not be left out?
fn may_fold(one: &Judged) -> bool {
    one.candidate.act == Act::Path(PathAct::FoldCase)
        && one.everywhere
        && !select::is_below(&one.trials.all, VERSIONS_BAR, select::CONTRADICTION)
}

/// The least rate of agreement of single URLs at which pages with versions may still be one.
pub(super) const VERSIONS_BAR: f64 = 0.6;
