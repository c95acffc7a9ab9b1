//! Synthetic web sites whose truth is known URL by URL: what learning of DUST rules is judged by.
//!
//! ```text
//! SitesPlan ─▶ Layout (one site: which features, which names)
//!                 ├─▶ Target   (a page: path, query, what it shows)     targets.rs
//!                 ├─▶ Spelling (a URL of the page)                      spelling.rs
//!                 └─▶ Capture  (URL, time, status, size, digest, page)  crawl.rs, body.rs
//! ```
//!
//! A site is a function of the plan and its number: the same captures on every machine. All of one
//! site is kept in memory while it is made; sites are made one after the other.
//!
//! `docs/generator.md` says what is true of each feature, and what the sites are not.

mod body;
mod capture;
mod catalog;
mod crawl;
mod feature;
mod format;
mod front;
mod layout;
mod spelling;
mod summary;
mod target;
mod targets;
#[cfg(test)]
mod tests;
mod words;

pub use capture::{Capture, Digest, Method};
pub use feature::{Chances, Feature, FeatureKind, Features};
pub use format::{CrawlFormat, SITE_TRUTH_HEADER, write_capture, write_site_truth};
pub use summary::SitesSummary;

use crate::error::{Error, Result};
use layout::Layout;

/// Most sites of a plan: as many as there are host names; see `layout.rs`.
pub const SITES_MAX: u32 = (1 << layout::NAME_BITS) - 1;

/// Most URLs of a site. Reason: a site is held in memory, about 700 bytes for each URL.
pub const URLS_PER_SITE_MAX: u32 = 2_000_000;

/// How often the body of a page differs although nothing has changed: the time of day, an
/// advertisement, a number of visitors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    /// Rates of which each site gets one, in fetches of 1,000.
    permille: [u16; 4],
}

impl Noise {
    /// No noise on three of four sites, 2 % on one.
    pub const CLEAN: Noise = Noise { permille: [0, 0, 0, 20] };
    /// Noise of 0, 2, 30 and 95 %, on a quarter of the sites each.
    pub const NOISY: Noise = Noise { permille: [0, 20, 300, 950] };

    /// Makes noise of one rate on every site: `permille` fetches of 1,000; above 1,000 is taken for
    /// 1,000.
    pub fn fixed(permille: u16) -> Noise {
        Noise { permille: [permille.min(1_000); 4] }
    }
}

/// Plans that have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitesPreset {
    /// 40 sites of 3,100 to 4,000 URLs, nearly without noise.
    Clean,
    /// 40 sites of 3,100 to 4,000 URLs, with body noise of up to 95 %, and pages that print their
    /// own URL on 10 % of the sites.
    Noisy,
    /// 8 sites of 15,000 to 19,000 URLs, nearly without noise.
    Large,
    /// 16 sites of 8,000 to 10,000 URLs, nearly without noise, with scripts that are told by
    /// parameters what to do.
    Cms,
}

/// Features that only the preset `cms` has, with their chances in percent.
const OF_CMS: [(Feature, u8); 5] = [
    (Feature::Dispatcher, 70),
    (Feature::Conditional, 60),
    (Feature::ValueAlias, 60),
    (Feature::Untranslated, 50),
    (Feature::ManyParams, 60),
];

/// Describes the sites to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SitesPlan {
    /// How many; 1 to [`SITES_MAX`].
    pub sites: u32,
    /// Fewest and most distinct URLs of a site; 10 to [`URLS_PER_SITE_MAX`].
    pub urls_per_site: (u32, u32),
    /// Which of the sets of this plan. Sites of different seeds are unrelated.
    pub seed: u64,
    /// How often bodies differ although nothing has changed.
    pub noise: Noise,
    /// In how many of 100 sites each feature occurs.
    pub chances: Chances,
}

impl SitesPlan {
    /// The plan of this name, with seed 1.
    pub fn preset(preset: SitesPreset) -> SitesPlan {
        let clean = SitesPlan {
            sites: 40,
            urls_per_site: (3_100, 4_000),
            seed: 1,
            noise: Noise::CLEAN,
            chances: Chances::default(),
        };
        match preset {
            SitesPreset::Clean => clean,
            SitesPreset::Noisy => {
                let mut chances = clean.chances;
                chances.set(Feature::Echo, 10);
                SitesPlan { noise: Noise::NOISY, chances, ..clean }
            }
            SitesPreset::Large => SitesPlan { sites: 8, urls_per_site: (15_000, 19_000), ..clean },
            SitesPreset::Cms => {
                let mut chances = clean.chances;
                for (feature, percent) in OF_CMS {
                    chances.set(feature, percent);
                }
                SitesPlan { sites: 16, urls_per_site: (8_000, 10_000), chances, ..clean }
            }
        }
    }

    /// Can the plan be carried out? Failure: `is_limit` for too much, `is_config` for nothing.
    pub fn check(&self) -> Result<()> {
        let (fewest, most) = self.urls_per_site;
        if self.sites == 0 {
            return Err(Error::config("0 sites: expected at least 1"));
        }
        if self.sites > SITES_MAX {
            return Err(Error::limit(format!(
                "{} sites: there are at most {SITES_MAX}; ask for fewer",
                self.sites
            )));
        }
        if fewest < URLS_PER_SITE_MIN || fewest > most {
            return Err(Error::config(format!(
                "{fewest} to {most} URLs for each site: expected a range of {URLS_PER_SITE_MIN} or \
                 more"
            )));
        }
        if most > URLS_PER_SITE_MAX {
            return Err(Error::limit(format!(
                "{most} URLs for each site: at most {URLS_PER_SITE_MAX} are possible; ask for more \
                 sites instead"
            )));
        }
        Ok(())
    }
}

impl Default for SitesPlan {
    /// [`SitesPreset::Clean`].
    fn default() -> Self {
        SitesPlan::preset(SitesPreset::Clean)
    }
}

/// Fewest URLs of a site. Reason: fewer make no site.
const URLS_PER_SITE_MIN: u32 = 10;

/// A site and all its captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedSite {
    /// Its number in the plan, from 0.
    pub number: u32,
    /// The registrable domain of all its hosts.
    pub domain: String,
    /// The features it was given. A feature may be given and never be seen on a small site.
    pub features: Features,
    /// How many fetches of 1,000 give other bytes although nothing has changed.
    pub noise_permille: u16,
    /// What was captured, in the order of time.
    pub captures: Vec<Capture>,
}

/// The sites of a plan, one after the other.
///
/// ```
/// use undust::generate::sites::{Sites, SitesPlan};
///
/// let plan = SitesPlan { sites: 2, urls_per_site: (300, 300), ..SitesPlan::default() };
/// for site in Sites::new(&plan)? {
///     let first = &site.captures[0];
///     assert!(first.host().ends_with(&site.domain));
///     assert_eq!(first.page >> 32, u64::from(site.number));
/// }
/// # Ok::<(), undust::error::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sites {
    plan: SitesPlan,
    next: u32,
}

impl Sites {
    /// Starts the sites of `plan`. Failure: that of [`SitesPlan::check`].
    pub fn new(plan: &SitesPlan) -> Result<Sites> {
        plan.check()?;
        Ok(Sites { plan: *plan, next: 0 })
    }
}

impl Iterator for Sites {
    type Item = GeneratedSite;

    fn next(&mut self) -> Option<GeneratedSite> {
        if self.next == self.plan.sites {
            return None;
        }
        let number = self.next;
        self.next += 1;
        let layout = Layout::new(&self.plan, number);
        let captures = crawl::crawl(&layout);
        Some(GeneratedSite {
            number,
            domain: layout.domain,
            features: layout.features,
            noise_permille: layout.noise_permille,
            captures,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.plan.sites - self.next) as usize;
        (left, Some(left))
    }
}
