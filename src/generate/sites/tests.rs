//! The truth of generated sites.

mod undone;

use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn plan(sites: u32, urls: u32, seed: u64) -> SitesPlan {
    SitesPlan { sites, urls_per_site: (urls, urls), seed, ..SitesPlan::default() }
}

/// Every feature of `features` on every site, and no other.
fn only(features: &[Feature], sites: u32, urls: u32, seed: u64) -> SitesPlan {
    let mut chances = Chances::none();
    for &feature in features {
        chances.set(feature, 100);
    }
    SitesPlan { chances, noise: Noise::fixed(0), ..plan(sites, urls, seed) }
}

fn sites(plan: &SitesPlan) -> Vec<GeneratedSite> {
    Sites::new(plan).unwrap().collect()
}

fn summary(plan: &SitesPlan) -> SitesSummary {
    let mut summary = SitesSummary::default();
    for site in Sites::new(plan).unwrap() {
        summary.add(&site);
    }
    summary
}

/// FNV-1a over everything that is written: the digest that must never change for a plan.
fn digest(plan: &SitesPlan) -> String {
    let (mut digest, mut row) = (0xCBF2_9CE4_8422_2325u64, Vec::new());
    for site in Sites::new(plan).unwrap() {
        for capture in &site.captures {
            row.clear();
            write_capture(&mut row, CrawlFormat::Tsv, capture).unwrap();
            write_site_truth(&mut row, capture).unwrap();
            for &byte in &row {
                digest = (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3);
            }
        }
    }
    format!("{digest:016x}")
}

/// The page of each URL; fails if a URL has two.
fn truth(site: &GeneratedSite) -> BTreeMap<&str, u64> {
    let mut truth = BTreeMap::new();
    for capture in &site.captures {
        let page = *truth.entry(&*capture.url).or_insert(capture.page);
        assert_eq!(page, capture.page, "{}: two pages", capture.url);
    }
    truth
}

/// The features of a kind.
fn of_kind(kind: FeatureKind) -> Vec<Feature> {
    Feature::all().filter(|feature| feature.kind() == kind).collect()
}

#[test]
fn sites_never_change() {
    // Published figures depend on these. A new number here is a breaking change.
    assert_eq!(digest(&plan(2, 500, 1)), "ffff388eb720a124");
    let noisy = SitesPreset::Noisy;
    let noisy = SitesPlan { sites: 2, seed: 7, ..SitesPlan::preset(noisy) };
    assert_eq!(digest(&noisy), "0ce806adcfce5d72");
}

#[test]
fn a_site_does_not_depend_on_the_others() {
    let (few, many) = (sites(&plan(2, 300, 3)), sites(&plan(5, 300, 3)));
    assert_eq!(few, many[..2]);
    let domains: BTreeSet<&str> = many.iter().map(|site| &*site.domain).collect();
    assert_eq!(domains.len(), 5);
    assert!(sites(&plan(2, 300, 4))[0].captures != few[0].captures);
}

#[test]
fn a_url_has_one_page() {
    let all: Vec<Feature> = Feature::all().collect();
    for plan in [plan(6, 2_500, 1), plan(6, 2_500, 2), only(&all, 6, 2_500, 5)] {
        for site in sites(&plan) {
            let truth = truth(&site);
            assert_eq!(truth.len(), 2_500);
            let mut before: Option<&Capture> = None;
            for capture in &site.captures {
                if let Some(to) = &capture.redirect {
                    assert!(truth.get(&**to).is_none_or(|&page| page == capture.page), "{to}");
                    assert!(capture.status == 301 && *to != capture.url);
                }
                if let Some(via) = &capture.via {
                    let before = before.unwrap();
                    assert_eq!((via, before.redirect.as_ref()), (&before.url, Some(&capture.url)));
                }
                before = Some(capture);
            }
        }
    }
}

#[test]
fn captures_keep_their_promises() {
    for site in sites(&SitesPlan { sites: 8, ..SitesPlan::preset(SitesPreset::Noisy) }) {
        let mut time = 0;
        for capture in &site.captures {
            let url = &capture.url;
            assert!(url.bytes().all(|byte| byte.is_ascii_graphic()), "{url}");
            assert!(!url.contains(['"', '\\', '#', '<', '>', '`']), "{url}");
            assert!(capture.host().ends_with(&site.domain) && capture.target().starts_with('/'));
            assert!(capture.time >= time, "{url}");
            time = capture.time;
            assert!([200, 206, 301, 304, 404, 503].contains(&capture.status));
            assert_eq!(capture.size == 0, capture.digest == Digest::EMPTY, "{url}");
            assert_eq!(capture.page >> 32, u64::from(site.number));
        }
    }
}

#[test]
fn sizes_and_shares_of_the_presets() {
    for (preset, sites, fewest, most, ceiling) in [
        (SitesPreset::Clean, 40, 3_100, 4_000, 0.83..0.93),
        (SitesPreset::Noisy, 40, 3_100, 4_000, 0.35..0.60),
        (SitesPreset::Large, 8, 15_000, 19_000, 0.75..0.95),
        (SitesPreset::Cms, 16, 8_000, 10_000, 0.75..0.95),
    ] {
        let plan = SitesPlan::preset(preset);
        let mut all = SitesSummary::default();
        for site in Sites::new(&plan).unwrap() {
            let mut one = SitesSummary::default();
            one.add(&site);
            assert!((fewest..=most).contains(&one.urls), "{preset:?}: {}", one.urls);
            let share = one.redundancy_share();
            assert!((0.745..=0.801).contains(&share), "{preset:?} {}: {share}", site.number);
            all.add(&site);
        }
        assert_eq!(all.sites, sites);
        assert!(all.captures > all.urls * 21 / 20, "some URLs come again");
        let seen = all.digest_ceiling();
        assert!(ceiling.contains(&seen), "{preset:?}: {seen}");
        assert!(all.redirect_ceiling() > seen && all.coincidences > 1_000);
        for feature in Feature::all().filter(|&feature| plan.chances.get(feature) == 0) {
            assert_eq!(all.sites_with(feature) + all.urls_with(feature), 0, "{feature:?}");
        }
    }
}

#[test]
fn without_features_a_page_has_one_url() {
    let plan = only(&[], 3, 800, 9);
    let summary = summary(&plan);
    assert_eq!((summary.urls, summary.pages, summary.coincidences), (2_400, 2_400, 0));
    // One visit in twelve goes to a URL that was met before, as on any site.
    assert!((2_520..2_700).contains(&summary.captures), "{}", summary.captures);
    for site in sites(&plan) {
        for capture in &site.captures {
            assert!(capture.features.is_empty() && capture.status == 200, "{capture:?}");
        }
    }
}

#[test]
fn a_feature_that_is_off_does_not_occur() {
    for off in Feature::all() {
        let mut plan = plan(3, 250, 6);
        for feature in Feature::all() {
            plan.chances.set(feature, 100);
        }
        plan.chances.set(off, 0);
        for site in sites(&plan) {
            assert!(!site.features.has(off));
            for capture in &site.captures {
                assert!(!capture.features.has(off), "{off:?}: {}", capture.url);
            }
        }
    }
}

#[test]
fn every_spelling_makes_redundancy_and_nothing_else() {
    for feature in of_kind(FeatureKind::Spelling) {
        let summary = summary(&only(&[feature], 4, 600, 11));
        // The form that every page could lead to needs pages, the order needs two parameters.
        assert!(summary.urls_with(feature) > 3, "{feature:?}");
        assert!(summary.redundant() > 0, "{feature:?}");
        assert_eq!(summary.coincidences, 0, "{feature:?}");
    }
}

#[test]
fn traps_are_different_pages() {
    let equal_bytes = [
        Feature::UserFilter,
        Feature::Calendar,
        Feature::SoftNotFound,
        Feature::EqualPages,
        Feature::LoginWall,
        Feature::Revisions,
        Feature::SharedAssets,
        Feature::HexNames,
        Feature::Untranslated,
    ];
    for feature in of_kind(FeatureKind::Trap) {
        let summary = summary(&only(&[feature], 6, 600, 12));
        assert!(summary.urls_with(feature) > 20, "{feature:?}");
        // A list of one entry is the same in any order.
        assert_eq!(summary.redundant() > 0, feature == Feature::Sort, "{feature:?}");
        assert_eq!(summary.coincidences > 0, equal_bytes.contains(&feature), "{feature:?}");
    }
}

#[test]
fn equal_bytes_are_the_same_page_or_a_trap() {
    let mut features = of_kind(FeatureKind::Spelling);
    features.extend(of_kind(FeatureKind::Trap));
    let views = [Feature::PrintView, Feature::Highlight, Feature::MobileHost];
    features.retain(|feature| !views.contains(feature));
    for site in sites(&only(&features, 4, 3_000, 13)) {
        let (mut digests, mut pages) = (BTreeMap::new(), BTreeMap::new());
        for capture in site.captures.iter().filter(|capture| capture.is_whole()) {
            let body = (capture.digest, capture.size);
            assert_eq!(*digests.entry(capture.page).or_insert(body), body, "{}", capture.url);
            let first = *pages.entry(capture.digest).or_insert(capture);
            let traps = [first, capture].map(|capture| {
                capture.features.iter().any(|feature| feature.kind() == FeatureKind::Trap)
            });
            assert!(first.page == capture.page || traps != [false; 2], "{}", capture.url);
        }
    }
}

#[test]
fn signals_change_bytes_and_not_pages() {
    let ceiling = |features: &[Feature], noise| {
        let plan = SitesPlan { noise: Noise::fixed(noise), ..only(features, 3, 1_000, 14) };
        let summary = summary(&plan);
        assert!(summary.redundant() > 2_000, "{features:?}");
        summary.digest_ceiling()
    };
    let spelling = Feature::SessionQuery;
    assert_eq!(ceiling(&[spelling], 0), 1.0);
    assert_eq!(ceiling(&[spelling], 1_000), 0.0);
    assert_eq!(ceiling(&[spelling, Feature::Echo], 0), 0.0);
    for (feature, range) in [
        (Feature::Drift, 0.7..0.99),
        (Feature::AbTest, 0.8..0.99),
        (Feature::Geo, 0.7..0.99),
        (Feature::BlockPage, 0.9..0.999),
        (Feature::Partial, 1.0..1.1),
    ] {
        let ceiling = ceiling(&[spelling, feature], 0);
        assert!(range.contains(&ceiling), "{feature:?}: {ceiling}");
    }
    let noisy = ceiling(&[spelling], 300);
    assert!((0.3..0.9).contains(&noisy), "{noisy}");
}

#[test]
fn noise_has_its_rate() {
    let plan = SitesPlan { noise: Noise::fixed(300), ..only(&[Feature::Utm], 2, 3_000, 15) };
    for site in sites(&plan) {
        let mut times = BTreeMap::new();
        for capture in &site.captures {
            *times.entry(capture.digest).or_insert(0) += 1;
        }
        // What comes once is noise, but for pages that came once.
        let once = times.values().filter(|&&times| times == 1).count() as f64;
        let share = once / site.captures.len() as f64;
        assert!((0.28..0.42).contains(&share), "{share}");
    }
}

#[test]
fn some_pages_are_popular() {
    for site in sites(&only(&[Feature::SessionQuery], 2, 3_000, 16)) {
        let mut urls = BTreeMap::new();
        for page in truth(&site).values() {
            *urls.entry(*page).or_insert(0u64) += 1;
        }
        let mut urls: Vec<u64> = urls.into_values().collect();
        urls.sort_unstable_by(|left, right| right.cmp(left));
        let top: u64 = urls[..urls.len() / 10].iter().sum();
        assert!((900..2_000).contains(&top), "{top} of 3,000 URLs for a tenth of the pages");
        assert!(urls.iter().filter(|&&urls| urls == 1).count() > urls.len() / 20);
    }
}

#[test]
fn switches_move_no_more_than_they_must() {
    let with = plan(4, 400, 18);
    let urls = |site: &GeneratedSite| -> Vec<(u64, String)> {
        site.captures.iter().map(|capture| (capture.time, capture.url.clone())).collect()
    };
    for off in Feature::all() {
        let mut without = SitesPlan { noise: Noise::fixed(500), ..with };
        without.chances.set(off, 0);
        for (left, right) in sites(&with).iter().zip(&sites(&without)) {
            assert_eq!(left.domain, right.domain, "{off:?}");
            if [Feature::Drift, Feature::AbTest, Feature::Geo, Feature::Echo].contains(&off) {
                assert_eq!(urls(left), urls(right), "{off:?}");
            }
        }
    }
}

#[test]
fn plans_that_make_no_sites() {
    let good = plan(1, 10, 1);
    assert_eq!(sites(&good).len(), 1);
    for (bad, is_limit) in [
        (SitesPlan { sites: 0, ..good }, false),
        (SitesPlan { sites: SITES_MAX + 1, ..good }, true),
        (SitesPlan { urls_per_site: (9, 20), ..good }, false),
        (SitesPlan { urls_per_site: (20, 19), ..good }, false),
        (SitesPlan { urls_per_site: (20, URLS_PER_SITE_MAX + 1), ..good }, true),
    ] {
        let error = Sites::new(&bad).unwrap_err();
        assert!(error.is_limit() == is_limit && error.is_config() != is_limit, "{error}");
    }
}
