//! Scripts with a value in two spellings, and scripts with parameters that have no effect.
//!
//! ```text
//! /guide.php?place=12&edition=en-us    `en-us` is `en`, `de` is another page      (value-alias),
//!                                      with the text of `en` in some places       (untranslated)
//! /desk.php?item=k7&teaser=old&badge=side&part=two    `part` matters, the rest is noise
//!                                                                                 (many-params)
//! ```

use super::super::random::Random;
use super::feature::{Feature, Features};
use super::target::{Handler, Target};
use super::words::{
    DESK_PARAMS, DESK_SCRIPTS, EDITION_PARAMS, EDITIONS, GUIDE_PARAMS, GUIDE_SCRIPTS, PART_PARAMS,
    PARTS, SILENT_PARAMS, SILENT_VALUES,
};

/// Which sequence of a site's key its names are drawn from.
const NAMES: u64 = 82;

/// Percent of the places that have one text in all editions, where that occurs.
const UNTRANSLATED: [u64; 3] = [20, 50, 80];

/// Places of the guide, and cases on the desk. Reason: among few, the same one is seen in several
/// editions and parts, as on real sites.
const PLACES: u64 = 80;
const CASES: u64 = 120;

/// Parameters of a site that have no effect, and how many of them are used from the start.
const SILENT: usize = 26;
const SILENT_EARLY: usize = 18;

/// Percent of the crawl after which the first of the others is used, and until the next one is.
const LATE_FIRST: u64 = 36;
const LATE_STEP: u64 = 6;

/// The scripts of one site.
#[derive(Clone, Copy, Debug)]
pub(super) struct Catalog {
    pub(super) guide_script: &'static str,
    guide_param: &'static str,
    edition_param: &'static str,
    /// The first two are one.
    editions: [&'static str; 4],
    untranslated_percent: u64,
    pub(super) desk_script: &'static str,
    desk_param: &'static str,
    part_param: &'static str,
    /// Where the parameters without effect begin among all names.
    silent_start: usize,
}

impl Catalog {
    /// The scripts of the site with this key.
    pub(super) fn of(key: u64) -> Catalog {
        let mut random = Random::derived(key, NAMES, 0);
        Catalog {
            guide_script: random.pick(&GUIDE_SCRIPTS),
            guide_param: random.pick(&GUIDE_PARAMS),
            edition_param: random.pick(&EDITION_PARAMS),
            editions: random.pick(&EDITIONS),
            untranslated_percent: random.pick(&UNTRANSLATED),
            desk_script: random.pick(&DESK_SCRIPTS),
            desk_param: random.pick(&DESK_PARAMS),
            part_param: random.pick(&PART_PARAMS),
            silent_start: random.position(SILENT_PARAMS.len()),
        }
    }

    /// A page of the guide; with the words for what it shows if editions show one text.
    pub(super) fn guide(
        &self,
        number: u64,
        features: Features,
        random: &mut Random,
    ) -> (Target, Option<String>) {
        let number = number % PLACES;
        let edition = [0, 0, 2, 3][random.position(4)];
        let mut page = Target::new(Handler::Guide, format!("/{}", self.guide_script))
            .with(self.guide_param, format!("town-{number}"))
            .with(self.edition_param, self.editions[edition]);
        let is_untranslated =
            features.has(Feature::Untranslated) && number * 37 % 100 < self.untranslated_percent;
        if edition > 0 && features.has(Feature::ValueAlias) {
            page = page.trapped(Feature::ValueAlias);
        }
        if edition > 0 && is_untranslated {
            page = page.trapped(Feature::Untranslated);
        }
        (page, is_untranslated.then(|| format!("{} {number}", self.guide_script)))
    }

    /// The parameter that chooses the edition, with the other spelling of the first one, if that is
    /// asked for.
    pub(super) fn respelled(
        &self,
        query: &[(&str, String)],
    ) -> Option<(&'static str, &'static str)> {
        let is_first = |(name, value): &(&str, String)| {
            *name == self.edition_param && value == self.editions[0]
        };
        query.iter().any(is_first).then_some((self.edition_param, self.editions[1]))
    }

    /// The usual spelling of a value.
    #[cfg(test)]
    pub(super) fn usual<'a>(&self, name: &str, value: &'a str) -> &'a str {
        let is_other = name == self.edition_param && value == self.editions[1];
        if is_other { self.editions[0] } else { value }
    }

    /// A page of the script whose parameters have no effect.
    pub(super) fn desk(&self, number: u64, random: &mut Random) -> Target {
        let page = Target::new(Handler::Desk, format!("/{}", self.desk_script))
            .with(self.desk_param, format!("k{}", number % CASES));
        if random.percent(25) {
            return page.with(self.part_param, random.pick(&PARTS)).trapped(Feature::ManyParams);
        }
        page
    }

    /// Parameters without effect, with their values, after this share of the crawl in percent.
    pub(super) fn silent(
        &self,
        progress: u64,
        random: &mut Random,
    ) -> Vec<(&'static str, &'static str)> {
        let late = (progress + LATE_STEP).saturating_sub(LATE_FIRST) / LATE_STEP;
        let known = (SILENT_EARLY + late as usize).min(SILENT);
        let count = 1 + random.position(3);
        (0..count)
            .map(|_| (self.silent_name(random.position(known)), random.pick(&SILENT_VALUES)))
            .collect()
    }

    fn silent_name(&self, number: usize) -> &'static str {
        SILENT_PARAMS[(self.silent_start + number) % SILENT_PARAMS.len()]
    }

    /// Has the parameter no effect in the script with many of them?
    #[cfg(test)]
    pub(super) fn is_silent(&self, name: &str) -> bool {
        (0..SILENT).any(|number| self.silent_name(number) == name)
    }
}
