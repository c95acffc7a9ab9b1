//! What a generated site can have: spellings, traps and signals, each with a name and a chance.

use crate::error::{Error, Result};

/// What a feature does to the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FeatureKind {
    /// Gives a page more than one URL: what a miner is to find.
    Spelling,
    /// Makes different pages look alike: what a miner must not merge.
    Trap,
    /// Changes what is seen of a page (bytes, status), not which page it is.
    Signal,
}

impl FeatureKind {
    /// The name in tables: lower case, ASCII.
    pub fn name(self) -> &'static str {
        match self {
            FeatureKind::Spelling => "spelling",
            FeatureKind::Trap => "trap",
            FeatureKind::Signal => "signal",
        }
    }
}

/// Defines the features once: variant, name, kind, chance in percent of sites, what is true of it.
macro_rules! features {
    ($($variant:ident $name:literal $kind:ident $percent:literal $truth:literal;)*) => {
        /// One thing that a generated site can have. `docs/generator.md` has a row for each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Feature { $(#[doc = $truth] $variant),* }

        const ROWS: &[Row] = &[$(Row {
            feature: Feature::$variant,
            name: $name,
            kind: FeatureKind::$kind,
            percent: $percent,
            truth: $truth,
        }),*];
    };
}

struct Row {
    feature: Feature,
    name: &'static str,
    kind: FeatureKind,
    percent: u8,
    truth: &'static str,
}

// The order of the rows is part of the truth: a row put anywhere but at the end changes every site
// of every seed.
features! {
    SessionQuery "session-query" Spelling 35
        "A session number in the query, as in `sid=9f…`: the same page with any or none.";
    SessionPath "session-path" Spelling 20
        "A session number as a path parameter, `;jsessionid=…`: the same page with any or none.";
    SessionSegment "session-segment" Spelling 10
        "A session number as the first segment, `/(S(…))/`: the same page with any or none.";
    Utm "utm" Spelling 40
        "Three campaign parameters that come together: the same page with any or none.";
    Ref "ref" Spelling 35
        "A parameter that says where the visitor came from: the same page with any or none.";
    CacheBuster "cache-buster" Spelling 25
        "A parameter that is new at each visit: the same page with any or none.";
    DefaultPage "default-page" Spelling 40
        "`page=1` of a list is the list without `page`; other values are other pages.";
    StartZero "start-zero" Spelling 25
        "`start=0` of a list is the list without `start`; other values are other pages.";
    DefaultLang "default-lang" Spelling 30
        "`lang=en` is the page without `lang`.";
    Context "context" Spelling 30
        "The parameter that chooses the list is carried along to items, where it means nothing.";
    ClickId "click-id" Spelling 20
        "The parameter that is the item's number on one path counts clicks on another.";
    PrintView "print-view" Spelling 30
        "The same page laid out for printing: other bytes.";
    Highlight "highlight" Spelling 20
        "The same page with a word marked: other bytes for each word.";
    LoginReturn "login-return" Spelling 20
        "One login form, whatever page it is to return to.";
    ParamOrder "param-order" Spelling 40
        "The same parameters in another order: the same page.";
    MirrorHost "mirror-host" Spelling 20
        "A second host with the same pages under the same paths.";
    Www "www" Spelling 50
        "The host with and without `www`: the same pages.";
    MobileHost "mobile-host" Spelling 20
        "The host `m.` with the same pages; on half of the sites in other bytes.";
    Scheme "scheme" Spelling 30
        "`http` and `https`: the same pages.";
    IndexPage "index-page" Spelling 35
        "A folder by the name of its index page: the same page.";
    TrailingSlash "trailing-slash" Spelling 40
        "A folder without its slash: the same page.";
    Suffix "suffix" Spelling 20
        "`.htm` for `.html`: the same page.";
    PrefixAlias "prefix-alias" Spelling 25
        "`/~name/` for `/people/name/`: the same page.";
    TemplateAlias "template-alias" Spelling 30
        "`/item_5` for `/item.php?id=5`: the same page.";
    CaseInsensitive "case-insensitive" Spelling 20
        "The path in other letters: the same page. Values of parameters keep their case.";
    PageOverrun "page-overrun" Spelling 20
        "Page numbers past the end of a list show its last page.";
    PathLoop "path-loop" Spelling 10
        "The last segment three times or more, as links that go in circles make it: the same page.";
    Limit "limit" Spelling 30
        "A limit on lines: the same page where nothing is cut off, another page where something is.";
    RelevantLang "relevant-lang" Trap 40
        "`lang=de` is another page than the page without `lang`.";
    Sort "sort" Trap 35
        "A list in another order is another page, unless it has one entry or none.";
    UserFilter "user-filter" Trap 30
        "The files of one user: another page for each user, mostly empty and then equal in bytes.";
    Calendar "calendar" Trap 25
        "A page for each day without end: another page for each, mostly without events.";
    SoftNotFound "soft-404" Trap 30
        "Numbers and names that do not exist, answered with 200 and one text: all different.";
    EqualPages "equal-pages" Trap 50
        "Empty lists of different categories: different pages, equal in bytes.";
    LoginWall "login-wall" Trap 15
        "Pages for members, answered with the login form: different pages, equal in bytes.";
    Revisions "revisions" Trap 25
        "Earlier revisions of an item are other pages; one in five has the bytes of the one before.";
    SharedAssets "shared-assets" Trap 30
        "Pictures that lie in many folders in equal bytes: each its own page.";
    HexNames "hex-names" Trap 20
        "Pages named by 32 hex digits, as a session would be: all different, two of five expired.";
    CaseMatters "case-matters" Trap 20
        "Short names in mixed case: another page for each case.";
    SubSite "sub-site" Trap 20
        "A host below the same domain with the same paths and other pages.";
    Drift "drift" Signal 40
        "Pages change while the crawl goes on.";
    AbTest "ab-test" Signal 10
        "Three of ten pages come in two versions, chosen by the session or by chance.";
    Geo "geo" Signal 10
        "Three of ten pages come in three versions, by where the crawler stands.";
    Echo "echo" Signal 0
        "Pages print their own URL: no two URLs are equal in bytes.";
    BlockPage "block-page" Signal 15
        "For three percent of the crawl, everything is answered with 200 and one refusal.";
    Redirects "redirects" Signal 30
        "Some of the aliases of host, folder, suffix, template answer with 301.";
    Partial "partial" Signal 30
        "Requests by HEAD, answers 304 and 206: no body, or a part of it.";
    Errors "errors" Signal 30
        "Pages that fail for a while (503), and dead links (404).";
    Dispatcher "dispatcher" Spelling 0
        "A script with `action=…`: a parameter says nothing under some actions, and chooses the page \
         under another.";
    Conditional "conditional" Spelling 0
        "A parameter that says nothing, unless another one is there: then it chooses the page.";
    ValueAlias "value-alias" Spelling 0
        "Two spellings of one value, as `en` and `en-us`; other values are other pages.";
    Untranslated "untranslated" Trap 0
        "Editions of a place that all have one text: different pages, equal in bytes.";
    ManyParams "many-params" Spelling 0
        "A script with 26 parameters that say nothing, a third of them late; another matters.";
}

/// How many features there are.
pub(super) const FEATURES: usize = ROWS.len();

// A set of features has 64 bits.
const _: () = assert!(FEATURES <= 64);

impl Feature {
    /// All features, in the order of their declaration.
    pub fn all() -> impl ExactSizeIterator<Item = Feature> {
        ROWS.iter().map(|row| row.feature)
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The name on the command line and in truth files: lower case, ASCII.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// What it does to the truth.
    pub fn kind(self) -> FeatureKind {
        self.row().kind
    }

    /// In how many of 100 sites of the preset `clean` it occurs.
    pub fn percent(self) -> u8 {
        self.row().percent
    }

    /// What is true of it, in one sentence.
    pub fn truth(self) -> &'static str {
        self.row().truth
    }

    /// The feature of this name. Failure: a configuration error that lists the names.
    pub fn named(name: &str) -> Result<Feature> {
        let found = ROWS.iter().find(|row| row.name == name);
        found.map(|row| row.feature).ok_or_else(|| {
            let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
            Error::config(format!("no feature {name:?}; the features are {}", names.join(", ")))
        })
    }
}

/// A set of features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features {
    bits: u64,
}

impl Features {
    /// The set of these.
    pub fn of(features: &[Feature]) -> Self {
        Features { bits: features.iter().fold(0, |bits, &feature| bits | 1 << feature as u8) }
    }

    /// Is `feature` in the set?
    #[inline]
    pub fn has(self, feature: Feature) -> bool {
        self.bits >> feature as u8 & 1 == 1
    }

    /// Puts `feature` into the set.
    #[inline]
    pub fn insert(&mut self, feature: Feature) {
        self.bits |= 1 << feature as u8;
    }

    /// The features of both sets.
    #[must_use]
    pub fn union(self, other: Features) -> Features {
        Features { bits: self.bits | other.bits }
    }

    /// The features that are not in `other`.
    #[must_use]
    pub fn without(self, other: Features) -> Features {
        Features { bits: self.bits & !other.bits }
    }

    /// The features that are in both sets.
    #[must_use]
    pub fn common(self, other: Features) -> Features {
        Features { bits: self.bits & other.bits }
    }

    /// Is there none?
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.bits.count_ones() as usize
    }

    /// Returns the features of the set, in the order of their declaration.
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::all().filter(move |&feature| self.has(feature))
    }
}

/// In how many of 100 sites each feature occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chances {
    percent: [u8; FEATURES],
}

impl Default for Chances {
    /// Makes the chances of the preset `clean`: [`Feature::percent`] of each feature.
    fn default() -> Self {
        Chances { percent: std::array::from_fn(|row| ROWS[row].percent) }
    }
}

impl Chances {
    /// Makes chances of no feature anywhere: one URL for each page.
    pub fn none() -> Self {
        Chances { percent: [0; FEATURES] }
    }

    /// Returns the chance of `feature`, in percent.
    pub fn get(&self, feature: Feature) -> u8 {
        self.percent[feature as usize]
    }

    /// Sets the chance of `feature`; above 100 is taken for 100.
    pub fn set(&mut self, feature: Feature, percent: u8) {
        self.percent[feature as usize] = percent.min(100);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn features_have_names_of_their_own() {
        let names: BTreeSet<&str> = Feature::all().map(Feature::name).collect();
        assert_eq!(names.len(), FEATURES);
        for feature in Feature::all() {
            assert_eq!(Feature::named(feature.name()).unwrap(), feature);
            assert!(feature.percent() <= 100 && feature.truth().ends_with('.'));
        }
        let error = Feature::named("sids").unwrap_err();
        assert!(error.is_config() && error.to_string().contains("session-query, "), "{error}");
    }

    #[test]
    fn sets() {
        let (mut set, utm) = (Features::default(), Features::of(&[Feature::Utm]));
        assert!(set.is_empty() && !set.has(Feature::Errors));
        set.insert(Feature::Errors);
        assert_eq!(set.union(utm).iter().collect::<Vec<_>>(), [Feature::Utm, Feature::Errors]);
        assert_eq!((set.union(utm).common(utm), set.union(utm).len()), (utm, 2));
    }

    #[test]
    fn chances() {
        let mut chances = Chances::default();
        assert_eq!(chances.get(Feature::Utm), 40);
        chances.set(Feature::Utm, 101);
        assert_eq!(chances.get(Feature::Utm), 100);
        assert!(Feature::all().all(|feature| Chances::none().get(feature) == 0));
    }
}
