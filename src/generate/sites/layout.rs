//! One site: which features it has, how often it uses them, what it calls things.

use super::super::random::{Random, scramble};
use super::super::vocabulary::{HOST_WORDS, SUFFIXES, syllables};
use super::SitesPlan;
use super::catalog::Catalog;
use super::feature::{Feature, Features};
use super::front::Front;
use super::words::{
    BUSTER_PARAMS, CALENDAR_SCRIPTS, DATE_PARAMS, FILES_PARAMS, FILES_SCRIPTS, GO_PARAMS,
    GO_SCRIPTS, HIGHLIGHT_PARAMS, HISTORY_PARAMS, HISTORY_SCRIPTS, INDEX_NAMES, ITEM_PARAMS,
    ITEM_SCRIPTS, LANG_PARAMS, LIMIT_PARAMS, LIST_PARAMS, LIST_SCRIPTS, LOGIN_SCRIPTS,
    MEMBERS_PARAMS, MEMBERS_SCRIPTS, MIRRORS, PAGE_PARAMS, PRINT_PARAMS, REF_PARAMS, RETURN_PARAMS,
    REVISION_PARAMS, SESSION_PARAMS, SORT_PARAMS, START_PARAMS, SUB_SITES, USER_PARAMS,
};

/// Bits of a host's name: three syllables of 64.
pub(super) const NAME_BITS: u32 = 18;

/// Which sequence of a seed sites draw from; see [`Random::derived`]. 0 to 2 are those of lists.
const SEQUENCE: u64 = 16;

/// Features from here on came later. They draw from sequences of their own, kind
/// [`LATER_SEQUENCE`] of a site's key, so that sites without them are what they were.
const LATER: Feature = Feature::Dispatcher;
const LATER_SEQUENCE: u64 = 80;

/// Features that give a page any number of URLs. A site that has none of them cannot reach
/// the redundancy that is asked for, so one is added if the plan has any.
const ENDLESS: [Feature; 6] = [
    Feature::SessionQuery,
    Feature::SessionPath,
    Feature::SessionSegment,
    Feature::Utm,
    Feature::Ref,
    Feature::CacheBuster,
];

/// Aliases that a server may answer with a redirect.
const REDIRECTING: [Feature; 7] = [
    Feature::Www,
    Feature::Scheme,
    Feature::IndexPage,
    Feature::TrailingSlash,
    Feature::Suffix,
    Feature::PrefixAlias,
    Feature::TemplateAlias,
];

/// The names of one site.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names {
    pub(super) item: &'static str,
    pub(super) item_param: &'static str,
    pub(super) list: &'static str,
    pub(super) list_param: &'static str,
    pub(super) history: &'static str,
    pub(super) history_param: &'static str,
    pub(super) limit_param: &'static str,
    pub(super) files: &'static str,
    pub(super) files_param: &'static str,
    pub(super) user_param: &'static str,
    pub(super) calendar: &'static str,
    pub(super) date_param: &'static str,
    pub(super) go: &'static str,
    pub(super) go_param: &'static str,
    pub(super) login: &'static str,
    pub(super) return_param: &'static str,
    pub(super) members: &'static str,
    pub(super) members_param: &'static str,
    pub(super) lang_param: &'static str,
    pub(super) sort_param: &'static str,
    pub(super) page_param: &'static str,
    pub(super) start_param: &'static str,
    pub(super) session_param: &'static str,
    pub(super) ref_param: &'static str,
    pub(super) buster_param: &'static str,
    pub(super) print_param: (&'static str, &'static str),
    pub(super) highlight_param: &'static str,
    pub(super) revision_param: &'static str,
    pub(super) index: &'static str,
    pub(super) mirror: &'static str,
    pub(super) sub_site: &'static str,
}

/// One site, before any page of it is made.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Its number in the plan.
    pub(super) number: u32,
    /// What everything of the site is derived from.
    pub(super) key: u64,
    /// The registrable domain.
    pub(super) domain: String,
    pub(super) features: Features,
    /// In how many of 100 visits a feature is used where it can be.
    percent: [u8; super::feature::FEATURES],
    /// Aliases that are answered with 301.
    pub(super) redirecting: Features,
    pub(super) noise_permille: u16,
    /// How many distinct URLs the site is to have.
    pub(super) urls: usize,
    /// How many pages it starts with.
    pub(super) pages: usize,
    /// Does the usual spelling start with `https`?
    pub(super) https: bool,
    /// Does the usual spelling have `www`?
    pub(super) www: bool,
    /// Are lists paged by the number of the first entry, not by that of the page?
    pub(super) by_start: bool,
    /// Do days without events print their date, so that they differ in bytes?
    pub(super) dated: bool,
    /// Do pages on the mobile host have other bytes?
    pub(super) mobile_differs: bool,
    pub(super) names: Names,
    /// The front controllers.
    pub(super) front: Front,
    /// The scripts with many parameters, and with values in two spellings.
    pub(super) catalog: Catalog,
}

impl Layout {
    /// Site `number` of `plan`, which has been checked.
    pub(super) fn new(plan: &SitesPlan, number: u32) -> Layout {
        let mut random = Random::derived(plan.seed, SEQUENCE, u64::from(number));
        let key = random.bits();
        // Names first, switches last, each by one draw: then a plan that only switches a feature
        // off leaves hosts and names as they were.
        let domain = domain(plan.seed, number, &mut random);
        let names = names(&mut random);
        let (fewest, most) = plan.urls_per_site;
        let urls = u64::from(fewest) + random.below(u64::from(most - fewest) + 1);
        let redundant_permille = 750 + random.below(51);
        let pages = (urls * (1_000 - redundant_permille)).div_ceil(1_000);
        let noise_permille = random.pick(&plan.noise.permille);
        let [https, www, by_start, dated, mobile_differs] =
            std::array::from_fn(|_| random.percent(50));
        let mut features = Features::default();
        let mut percent = [0; super::feature::FEATURES];
        let mut redirecting = Features::default();
        for feature in Feature::all() {
            let mut later = Random::derived(key, LATER_SEQUENCE, feature as u64);
            let random = if feature < LATER { &mut random } else { &mut later };
            if random.percent(u64::from(plan.chances.get(feature))) {
                features.insert(feature);
            }
            percent[feature as usize] = 15 + random.below(31) as u8;
            if random.percent(50) && REDIRECTING.contains(&feature) {
                redirecting.insert(feature);
            }
        }
        if features.common(Features::of(&ENDLESS)).is_empty() {
            let possible: Vec<Feature> =
                ENDLESS.into_iter().filter(|&feature| plan.chances.get(feature) > 0).collect();
            if !possible.is_empty() {
                features.insert(random.pick(&possible));
            }
        }
        if !features.has(Feature::Redirects) {
            redirecting = Features::default();
        }
        // A list is paged in one way.
        let by_start = match (features.has(Feature::DefaultPage), features.has(Feature::StartZero))
        {
            (true, false) => false,
            (false, true) => true,
            _ => by_start,
        };
        Layout {
            number,
            key,
            domain,
            features,
            percent,
            redirecting: redirecting.common(features),
            noise_permille,
            urls: urls as usize,
            pages: pages as usize,
            https,
            www,
            by_start,
            dated,
            mobile_differs,
            names,
            front: Front::of(key),
            catalog: Catalog::of(key),
        }
    }

    /// Does the site have `feature`, and does this visit use it?
    pub(super) fn uses(&self, feature: Feature, random: &mut Random) -> bool {
        self.features.has(feature) && random.percent(u64::from(self.percent[feature as usize]))
    }

    /// A number that belongs to `item` of `kind` on this site: the same whenever it is asked for.
    pub(super) fn derive(&self, kind: u64, item: u64) -> u64 {
        Random::derived(self.key, kind, item).bits()
    }
}

fn domain(seed: u64, number: u32, random: &mut Random) -> String {
    let name = syllables(scramble(u64::from(number) + 1, NAME_BITS, seed));
    format!("{name}-{}.{}", random.pick(&HOST_WORDS), random.pick(&SUFFIXES))
}

fn names(random: &mut Random) -> Names {
    Names {
        item: random.pick(&ITEM_SCRIPTS),
        item_param: random.pick(&ITEM_PARAMS),
        list: random.pick(&LIST_SCRIPTS),
        list_param: random.pick(&LIST_PARAMS),
        history: random.pick(&HISTORY_SCRIPTS),
        history_param: random.pick(&HISTORY_PARAMS),
        limit_param: random.pick(&LIMIT_PARAMS),
        files: random.pick(&FILES_SCRIPTS),
        files_param: random.pick(&FILES_PARAMS),
        user_param: random.pick(&USER_PARAMS),
        calendar: random.pick(&CALENDAR_SCRIPTS),
        date_param: random.pick(&DATE_PARAMS),
        go: random.pick(&GO_SCRIPTS),
        go_param: random.pick(&GO_PARAMS),
        login: random.pick(&LOGIN_SCRIPTS),
        return_param: random.pick(&RETURN_PARAMS),
        members: random.pick(&MEMBERS_SCRIPTS),
        members_param: random.pick(&MEMBERS_PARAMS),
        lang_param: random.pick(&LANG_PARAMS),
        sort_param: random.pick(&SORT_PARAMS),
        page_param: random.pick(&PAGE_PARAMS),
        start_param: random.pick(&START_PARAMS),
        session_param: random.pick(&SESSION_PARAMS),
        ref_param: random.pick(&REF_PARAMS),
        buster_param: random.pick(&BUSTER_PARAMS),
        print_param: random.pick(&PRINT_PARAMS),
        highlight_param: random.pick(&HIGHLIGHT_PARAMS),
        revision_param: random.pick(&REVISION_PARAMS),
        index: random.pick(&INDEX_NAMES),
        mirror: random.pick(&MIRRORS),
        sub_site: random.pick(&SUB_SITES),
    }
}
