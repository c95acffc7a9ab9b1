//! `undust generate site`: formats, truth, switches, messages.

use undust::canonical::Scratch;
use undust::generate::sites::{
    Chances, CrawlFormat, Feature, Noise, Sites, SitesPlan, write_capture, write_site_truth,
};
use undust::report::{Judged, SiteScore};
use undust::{Canonicalizer, FingerprintKey, Profile};

use super::*;

/// What the library writes for `plan`: captures and truth, without headers.
fn library(plan: &SitesPlan, format: CrawlFormat) -> (Vec<u8>, Vec<u8>) {
    let (mut out, mut truth) = (Vec::new(), Vec::new());
    for site in Sites::new(plan).unwrap() {
        for capture in site.captures.iter().filter(|capture| format.holds(capture)) {
            write_capture(&mut out, format, capture).unwrap();
            write_site_truth(&mut truth, capture).unwrap();
        }
    }
    (out, truth)
}

/// The rows of a truth file: site, page, features.
fn rows(text: &str) -> Vec<[&str; 3]> {
    let mut rows = text.lines().map(|row| row.split('\t').collect::<Vec<_>>().try_into().unwrap());
    assert_eq!(rows.next(), Some(["site", "page", "features"]));
    rows.collect()
}

#[test]
fn every_format_is_that_of_the_library() {
    let dir = Dir::new();
    let plan = SitesPlan { sites: 3, urls_per_site: (200, 300), seed: 5, ..SitesPlan::default() };
    for (to, format) in [
        ("cdxj", CrawlFormat::Cdxj),
        ("crawllog", CrawlFormat::CrawlLog),
        ("combined", CrawlFormat::VhostCombined),
        ("tsv", CrawlFormat::Tsv),
    ] {
        let args = format!("generate site --sites 3 --urls 200-300 --seed 5 --to {to}");
        dir.run(&format!("{args} -o out --truth truth.tsv")).gives("");
        let (mut expected, truth) = library(&plan, format);
        if let Some(header) = format.header() {
            expected.splice(0..0, format!("{header}\n").into_bytes());
        }
        assert!(dir.get("out") == expected, "{to}");
        dir.run(&args).gives(&expected);
        let text = dir.text("truth.tsv");
        assert!(text.split_once('\n').unwrap().1.as_bytes() == truth, "{to}");
        let lines = expected.split(|&byte| byte == b'\n').count() - 1;
        assert_eq!(rows(&text).len() + usize::from(format.header().is_some()), lines, "{to}");
    }
    let cdxj = dir.run("generate site --sites 3 --urls 200-300 --seed 5").quiet().out();
    for line in cdxj.lines() {
        let (key, rest) = line.split_once(' ').unwrap();
        let (time, block) = rest.split_once(' ').unwrap();
        let block = json(block.as_bytes());
        assert!(key.contains(')') && time.len() == 14, "{line}");
        assert!(block["url"].as_str().unwrap().contains("://"), "{line}");
        assert_eq!(block["digest"].as_str().unwrap().len(), 32, "{line}");
    }
}

#[test]
fn logs_of_one_host_do_not_name_it() {
    let dir = Dir::new();
    let one = "generate site --sites 1 --urls 100 --to combined";
    let hosts = "mirror-host,www,mobile-host,scheme,sub-site";
    let plain = dir.run(&format!("{one} --without {hosts}")).quiet().out();
    assert!(plain.lines().all(|line| line.starts_with("192.0.2.")), "{plain}");
    let named = dir.run(one).quiet().out();
    assert!(named.lines().all(|line| line.contains(":80 192.0.2.") || line.contains(":443 192.")));
}

#[test]
fn features_are_switched() {
    let dir = Dir::new();
    let args = "generate site --sites 2 --urls 400 --seed 3 --truth truth.tsv";
    dir.run(&format!("{args} --only session-query,user-filter -o out")).quiet();
    let mut chances = Chances::none();
    chances.set(Feature::SessionQuery, 100);
    chances.set(Feature::UserFilter, 100);
    let urls_per_site = (400, 400);
    let plan = SitesPlan { sites: 2, urls_per_site, seed: 3, chances, ..SitesPlan::default() };
    assert!(dir.get("out") == library(&plan, CrawlFormat::Cdxj).0);
    let truth = dir.text("truth.tsv");
    let used: std::collections::BTreeSet<&str> = rows(&truth).iter().map(|row| row[2]).collect();
    let expected = ["-", "session-query", "session-query,user-filter", "user-filter"];
    assert_eq!(used.into_iter().collect::<Vec<_>>(), expected);

    dir.run(&format!("{args} --preset noisy --without utm,drift -o out")).quiet();
    assert!(!dir.text("truth.tsv").contains("utm"));

    dir.run(&format!("{args} --only utm --noise 0.25 -o out")).quiet();
    let mut chances = Chances::none();
    chances.set(Feature::Utm, 100);
    let noise = Noise::fixed(250);
    let plan = SitesPlan { sites: 2, urls_per_site, seed: 3, chances, noise };
    assert!(dir.get("out") == library(&plan, CrawlFormat::Cdxj).0);
}

#[test]
fn what_was_made_is_told_when_asked() {
    let dir = Dir::new();
    let args = "generate site --sites 2 --urls 400 --only session-query,calendar -o out.zst";
    dir.run(args).gives("");
    let told = dir.run(&format!("{args} -v")).exits(0).words();
    for words in [
        "seed 1: ",
        "captures of 800 URLs of ",
        "redundant 7",
        "digests can show ",
        "equal digests on different pages: ",
        "spelling session-query    100 % of sites:    2 sites",
        "trap     calendar         100 % of sites:    2 sites",
    ] {
        assert!(told.contains(words), "{told}\n  expected {words}");
    }
    assert!(!told.contains("utm"), "{told}");
    let log = "generate site --sites 1 --urls 200 --only partial --to crawllog -o crawl.log -v";
    let told = dir.run(log).exits(0).words();
    assert!(told.contains("requests by HEAD have no row in this format"), "{told}");
    let packed = zstd::decode_all(&dir.get("out.zst")[..]).unwrap();
    assert!(packed == dir.run(&args.replace(" -o out.zst", "")).quiet().out);
}

#[test]
fn plans_that_make_no_sites() {
    let dir = Dir::new();
    for (args, words) in [
        ("--sites 0", "0 sites: expected at least 1"),
        ("--sites 300000", "300000 sites: there are at most 262143; ask for fewer"),
        ("--urls 9", "9 to 9 URLs for each site: expected a range of 10 or more"),
        ("--urls 30-20", "'--urls <N|N-M>': 30 is more than 20; fewest come first"),
        ("--urls 3000000", "at most 2000000 are possible; ask for more sites"),
        ("--urls many", "expected a number or a range as 3000-4000, found \"many\""),
        ("--noise 1.5", "'--noise <SHARE>': expected a share from 0 to 1"),
        ("--noise 0.0004", "expected whole thousandths, as in 0.003"),
        ("--seed abc", "'--seed <S>': expected a whole number from 0 to"),
        ("--sites abc", "\"abc\" is not a number"),
        ("--noise NaN", "expected a share from 0 to 1"),
        ("--without sids", "no feature \"sids\"; the features are session-query, "),
        ("--only utm,sids", "no feature \"sids\""),
        ("--without=", "no feature \"\""),
        ("--only utm --without ref", "cannot be used with"),
        ("--preset dirty", "dirty"),
        ("--to warc", "warc"),
        ("-o x --truth x", "x"),
    ] {
        dir.run(&format!("generate site {args}")).fails(words);
        assert!(dir.names().is_empty(), "{args}");
    }
}

#[test]
fn the_page_of_the_generator_is_fresh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/generator.md")).unwrap();
    let mut headings = Vec::new();
    for feature in Feature::all() {
        let row = format!(
            "| `{}` | {} | {} | ",
            feature.name(),
            feature.percent(),
            feature.truth().replace('|', "\\|")
        );
        let at = page.find(&row).unwrap_or_else(|| panic!("docs/generator.md: no row {row}"));
        let heading = page[..at].lines().rev().find(|line| line.starts_with("### ")).unwrap();
        let kind = heading[4..].split(':').next().unwrap().to_lowercase();
        assert_eq!(kind, format!("{}s", feature.kind().name()), "{row}");
        headings.push(kind);
    }
    let rows = page.lines().filter(|line| line.starts_with("| `") && line.ends_with(" |"));
    let rows = rows.filter(|line| Feature::named(line.split('`').nth(1).unwrap()).is_ok());
    assert_eq!(rows.count(), headings.len(), "a row for each feature, and no other");
}

#[test]
fn built_in_rules_lose_no_page() {
    let canonicalizer = Canonicalizer::new(Profile::named("aggressive").unwrap());
    let mut scratch = Scratch::default();
    let key = FingerprintKey::from_bytes([7; 16]);
    let mut total = SiteScore::default();
    let plan = SitesPlan { sites: 12, urls_per_site: (1_500, 1_500), ..SitesPlan::default() };
    for site in Sites::new(&plan).unwrap() {
        let mut rows = Vec::new();
        for capture in &site.captures {
            let url = capture.url.as_bytes();
            let canonical = canonicalizer.canonical(url, &mut scratch).form;
            rows.push(Judged {
                url: key.fingerprint(url),
                page: capture.page,
                canonical: key.fingerprint(canonical),
            });
        }
        total.merge(&SiteScore::of(&mut rows).unwrap());
    }
    assert_eq!((total.urls, total.lost), (18_000, 0));
    assert!((0.3..0.7).contains(&total.coverage()), "{}", total.coverage());
}
