//! The rounds of a site: which candidates are proposed, in which validations they take part.
//!
//! ```text
//! votes, natures ──► controls ──► worth of contents ──► slots alone ──► cells of conditions
//!                                                                              │
//!     ┌────────────────────────────────────────────────────────────────────────┘
//!     ▼
//! by pairs ──► by pairs, pages known ──► by classes ──► is a condition missing? ── no ─┐
//!     ▲                                                       │                        ▼
//!     └──────────────────────────────────────────────── yes ──┘               beside what holds
//! ```
//!
//! In goes what was seen of a site. Out come all candidates that nothing contradicts, in the order
//! of their acts, of which some hold; and what was seen of slots alone. On the way handlers are
//! split in the table, and the calibration becomes that by which the last validation compared.
//!
//! - Each validation starts from what is proposed, not from what the one before has left, but for
//!   what is settled. So a candidate that an earlier one took out may come back.
//! - No two candidates of a validation have one act.
//! - What holds by pairs stays. Classes, and further tests, only add to it.
//! - Where sizes are all that is known, or nothing is, pairs are compared and that is all: a rule
//!   is only for review there, and says nothing about conditions.
//!
//! Only one step comes back. It needs a condition that was not known before, and comes back
//! [`conditions::DEPTH_MAX`] times at most.

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
use crate::mine::proposed::screen::{self, Screen, SlotSample, Slots};
use crate::mine::proposed::votes::{self, Votes};
use crate::mine::seen::handlers::Handlers;
use crate::mine::seen::loose_path::LoosePath;
use crate::mine::seen::table::{Table, Url};
use crate::mine::selected::values;
use crate::mine::trials::{BAR, CONTRADICTION, VERSIONS_BAR, is_below};
use crate::mine::validated::validation::{Compare, Validation};
use crate::mine::worth::signal::Calibration;
use crate::mine::worth::signal::Versions;
use crate::mine::worth::versions;

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
    let rounds =
        Rounds { loose_paths, handlers, votes: &votes, natures: &natures, controls: &controls };
    let validated = if table.signal.is_strong() {
        rounds.run_with_conditions(table, &mut screen, calibration)
    } else {
        rounds.run(table, &screen, calibration).0
    };
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
    /// Splits handlers by conditions and validates what is proposed; again, as long as something
    /// holds except for an unknown condition; and then what else can be found.
    fn run_with_conditions(
        &self,
        table: &mut Table,
        screen: &mut Screen,
        calibration: &mut Calibration,
    ) -> Vec<Validated> {
        let before = calibration.clone();
        let templates = self.handlers.templates.len();
        let names = &self.natures.of_names;
        let slots = self.slots(table, &before);
        table.splits = conditions::find(slots, names, self.votes, screen, templates);
        let (mut validated, mut samples) = self.run(table, screen, calibration);
        for _ in 0..conditions::DEPTH_MAX {
            let slots = self.slots(table, &before);
            let more = conditions::leave_out(slots, names, self.votes, screen, samples);
            let Some(splits) = more else { break };
            table.splits = splits;
            *calibration = before.clone();
            (validated, samples) = self.run(table, screen, calibration);
        }
        self.run_beside(table, screen, calibration, &mut validated);
        validated
    }

    /// The slots of URLs, as pages are known by `calibration`.
    fn slots<'b>(&'b self, table: &'b Table, calibration: &'b Calibration) -> Slots<'b> {
        let handlers = self.handlers.of_path.as_slice();
        Slots { table, loose_paths: self.loose_paths, handlers, calibration }
    }

    fn folders<'a>(&'a self, table: &'a Table) -> Folders<'a> {
        Folders { templates: &self.handlers.templates, splits: &table.splits }
    }

    /// What votes and slots alone ask for, at this bar, but not in cells that are left out.
    fn proposed(&self, table: &Table, screen: &Screen, bar: f64) -> Vec<Candidate> {
        let names = &self.natures.of_names;
        let mut candidates = propose::host_and_path_candidates(table, self.votes, screen, bar);
        let folders = self.folders(table);
        candidates.extend(propose::parameters(self.votes, screen, names, folders, bar));
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

    /// What groups said about parameters that would be dropped, are on no list and occur under one
    /// handler.
    fn seen(
        &self,
        table: &Table,
        validation: &Validation<'_>,
        validated: &[Validated],
    ) -> Vec<SlotSample> {
        let is_held = |one: &&Validated| one.is_held() && !one.prior.is_known();
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
        compare: Compare,
    ) -> Selector<'b> {
        Selector {
            table,
            sections: Sections { handlers: self.handlers, loose_paths: self.loose_paths },
            handlers: &self.handlers.of_path,
            calibration,
            natures: self.natures,
            compare,
        }
    }

    /// Validates all that is proposed; also returns what groups said about the parameters
    /// that may be dropped.
    fn run(
        &self,
        table: &Table,
        screen: &Screen,
        calibration: &mut Calibration,
    ) -> (Vec<Validated>, Vec<SlotSample>) {
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
    ) -> (Vec<Validated>, Vec<SlotSample>) {
        let handlers = self.handlers.of_path.as_slice();
        let candidates = self.proposed(table, screen, BAR);
        let initial = forms::forms(table, handlers, &candidates);
        let again = (!calibration.is_steady()).then(|| initial.clone());
        let before = calibration.clone();
        let first = self.selector(table, &before, Compare::Pairs);
        let mut validation = first.validation().starting_from(Some(initial));
        let validated = first.select(&mut validation, candidates.clone());
        if again.is_none() {
            let samples = self.seen(table, &validation, &validated);
            return (validated, samples);
        }
        // That is measured again, page by page, now that it is known which URLs are likely to be
        // one page.
        let likely: Vec<Candidate> = validated.into_iter().map(|one| one.candidate).collect();
        let pages = validation.keys(&likely).unwrap_or_else(|| keys(table, handlers, &likely));
        recalibrate(table, Some(&pages), self.controls, calibration);
        let second = self.selector(table, calibration, Compare::Pairs);
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
        mut samples: Vec<SlotSample>,
    ) -> (Vec<Validated>, Vec<SlotSample>) {
        let (held, failed): (Vec<Validated>, Vec<Validated>) =
            validated.into_iter().partition(Validated::is_held);
        let new = self.hidden_by_versions(table, screen, &failed);
        let candidates = propose::beside(settled(&held), new);
        let mut validated = held;
        if candidates.iter().any(|one| !one.settled) {
            let selector = self.selector(table, calibration, Compare::Classes);
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

    /// What is proposed where pages may have versions. Letters come with the sections that single
    /// looks keep from folding, so that they are among the `failed` ones.
    fn hidden_by_versions(
        &self,
        table: &Table,
        screen: &Screen,
        failed: &[Validated],
    ) -> Vec<Candidate> {
        let mut new = self.proposed(table, screen, VERSIONS_BAR);
        new.retain(|one| one.act != Act::Path(PathAct::FoldCase));
        new.extend(failed.iter().filter(|one| may_fold(one)).map(|one| one.candidate.clone()));
        for one in &mut new {
            one.control = versions::is_control(table, &self.natures.of_names, &one.act);
        }
        new
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
        let selector = self.selector(table, calibration, Compare::Pairs);
        let held = settled(validated.iter().filter(|one| one.is_held()));
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

/// The candidates of what holds, as settled ones.
fn settled<'a>(held: impl IntoIterator<Item = &'a Validated>) -> Vec<Candidate> {
    held.into_iter().map(|one| one.candidate.settled()).collect()
}

/// Is it the case of paths, with nothing against it that could not be left out?
fn may_fold(one: &Validated) -> bool {
    one.candidate.act == Act::Path(PathAct::FoldCase)
        && one.everywhere
        && !is_below(&one.support.all, VERSIONS_BAR, CONTRADICTION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::seen::Observation;
    use crate::mine::seen::maps::mix;
    use crate::mine::seen::table::splits::Splits;
    use crate::mine::tests_sites::{Rows, Site, spelled};

    /// What the rounds of a site find: acts with their reaches and whether they hold.
    fn found(site: &mut Site) -> Vec<String> {
        let validated = site.run();
        let acts: Vec<&Act> = validated.iter().map(|one| &one.candidate.act).collect();
        assert!(acts.is_sorted() && acts.windows(2).all(|two| two[0] != two[1]), "{acts:?}");
        let as_text = |one: &Validated| {
            let act = match &one.candidate.act {
                Act::Drop(name) => format!("drop {}", site.text_of(*name)),
                Act::Default(name, _) => format!("default {}", site.text_of(*name)),
                Act::Value(name, ..) => format!("value {}", site.text_of(*name)),
                other => format!("{other:?}"),
            };
            let holds = if one.holds { "holds" } else { "open" };
            format!("{act}: {}, {holds}", site.reach_as_text(&one.candidate.reach))
        };
        validated.iter().map(as_text).collect()
    }

    #[test]
    fn what_is_proposed_is_validated() {
        let mut rows = spelled("/x", 40, 0);
        assert_eq!(found(&mut Site::of(&rows)), ["drop v: all, holds"]);
        rows.extend(spelled("/y", 40, 40));
        assert_eq!(found(&mut Site::of(&rows)), ["drop v: only /x, holds"]);
        assert_eq!(found(&mut Site::of(&spelled("/x", 40, 40))), [""; 0]);
        assert_eq!(found(&mut Site::of(&[])), [""; 0]);
    }

    /// A tab for each of some pages of a front controller, and none; under some actions tabs are
    /// pages.
    fn tabs(action: &str, pages: u64, are_pages: bool) -> Rows {
        let mut rows = Rows::new();
        for page in 0..pages {
            let tab = ["info", "notes", "photos"][mix(page) as usize % 3];
            for (query, shown) in [(String::new(), ""), (format!("&tab={tab}"), tab)] {
                let url = format!("http://a.test/portal?action={action}&nid={page}{query}");
                let shown = if are_pages { shown } else { "" };
                rows.push((url, format!("{action} {page} {shown}")));
            }
        }
        rows
    }

    #[test]
    fn handlers_are_split_by_conditions_where_contents_are_certain() {
        let rows = [tabs("view", 90, false), tabs("faq", 90, true)].concat();
        let mut site = Site::of(&rows);
        let first_cell = site.handlers.templates.len() as u32;
        let validated = site.run();
        assert!(site.table.splits.handlers() > first_cell);
        let tab = site.drop("tab").act;
        let of_tab = validated.iter().find(|one| one.candidate.act == tab).expect("it is proposed");
        let Reach::Only(cells) = &of_tab.candidate.reach else { panic!("{of_tab:?}") };
        assert!(of_tab.holds && cells.iter().all(|cell| *cell >= first_cell), "{of_tab:?}");
        // The same by sizes.
        let mut sizes: Vec<&str> = rows.iter().map(|(_, shown)| shown.as_str()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let size = |shown: &str| sizes.binary_search(&shown).ok().map(|at| at as u64 * 7 + 1000);
        let seen = rows.iter().map(|(url, shown)| Observation {
            url: url.as_bytes(),
            size: size(shown),
            ..Observation::default()
        });
        let mut site = Site::seen(&seen.collect::<Vec<_>>());
        let validated = site.run();
        assert_eq!(site.table.splits, Splits::default());
        assert!(
            validated.iter().all(|one| !one.holds || one.candidate.act != tab),
            "{validated:?}"
        );
    }

    #[test]
    fn a_condition_that_is_missing_is_found_in_a_round_of_its_own() {
        // One group of 161 speaks against the rule, under an action of its own.
        let mut site = Site::of(&[tabs("view", 160, false), tabs("faq", 1, true)].concat());
        let found_here = found(&mut site);
        let first = &found_here[0];
        assert!(first.starts_with("drop tab: only ") && first.ends_with("holds"), "{first}");
        let cells = site.table.splits.left_out(site.name("tab"));
        assert!(!cells.is_empty(), "{:?}", site.table.splits);
        // Without that group there is nothing to leave out.
        let mut site = Site::of(&tabs("view", 160, false));
        assert_eq!(found(&mut site)[0], "drop tab: all, holds");
    }

    #[test]
    fn values_that_are_one_are_seen_beside_what_holds() {
        let mut rows = Rows::new();
        for page in 0..60u64 {
            for (edition, shown) in [("en", "en"), ("en-us", "en"), ("de", "de")] {
                let url = format!("http://a.test/x?doc=d{page}&edition={edition}");
                // Each visit has a name of its own.
                let visit = format!("{url}&v={:016x}", mix(rows.len() as u64));
                rows.extend([url, visit].map(|url| (url, format!("{page} {shown}"))));
            }
        }
        let found = found(&mut Site::of(&rows));
        assert_eq!(found, ["drop v: all, holds", "value edition: all, holds"]);
    }

    /// Pages in versions, each visit with a name of its own.
    fn in_versions(of: impl Fn(u64, u64) -> u64) -> Rows {
        let mut rows = Rows::new();
        for page in 0..60u64 {
            for visit in 0..8u64 {
                let version = of(page, visit);
                let url = format!("http://a.test/x?doc=d{page}&v={:016x}", mix(page * 8 + visit));
                rows.push((url, format!("{page} {version}")));
            }
        }
        rows
    }

    #[test]
    fn pages_in_versions_are_compared_by_classes() {
        // One visit in eight of every fifth page shows something else.
        let other = |page, visit| page % 5 == 0 && visit == page / 5 % 8;
        let drawn = in_versions(|page, visit| u64::from(other(page, visit)));
        let site = Site::of(&drawn);
        let by_pairs = site.select(vec![site.drop("v")]);
        assert!(by_pairs.iter().all(|one| !one.holds), "{by_pairs:?}");
        assert_eq!(found(&mut Site::of(&drawn)), ["drop v: all, holds"]);
        let pages = in_versions(|_, visit| visit);
        assert_eq!(found(&mut Site::of(&pages)), [""; 0]);
    }

    #[test]
    fn keys_are_those_of_pages() {
        let site = Site::of(&spelled("/x", 3, 0));
        let keys = keys(&site.table, &site.handlers.of_path, &[site.drop("v")]);
        assert_eq!(keys.len(), 6);
        for (number, key) in keys.iter().enumerate() {
            let same = keys.iter().filter(|other| *other == key).count();
            assert_eq!((same, keys[number ^ 1]), (2, *key), "{keys:?}");
        }
    }

    #[test]
    fn letters_are_folded_beside_versions_if_nothing_speaks_against_them() {
        let site = Site::of(&spelled("/x", 40, 0));
        let mut one = site.select(vec![site.drop("v")]).remove(0);
        assert!(!may_fold(&one), "it drops a parameter");
        one.candidate.act = Act::Path(PathAct::FoldCase);
        assert!(may_fold(&one));
        assert!(!may_fold(&Validated { everywhere: false, ..one.clone() }));
        (0..60).for_each(|_| one.support.all.add(false, 1.0, 1.0));
        assert!(!may_fold(&one), "less than .6 agree");
    }
}
