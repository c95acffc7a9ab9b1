//! How fast URLs get their canonical form, by lane, profile and list.
//!
//! The group `fused` is the canonicalizer as everybody uses it: the lines that the fast lane
//! refuses go through the reference lane and are in its figures. The group `reference` is the slow
//! lane alone. The group `rules` is the profile crawl without rules of sites (`none`), with such of
//! 10,000 other sites (`elsewhere`), and with five for every host of the list (`here`).

mod corpus;

use std::hint::black_box;

use corpus::Corpus;
use criterion::{Criterion, SamplingMode};
use undust::canonical::{
    Canonicalizer, DustRule, DustRules, Kind, Profile, RuleFile, Scratch, Settings,
};

/// Profiles that parse and that users choose between.
const PROFILES: [&str; 3] = ["rfc3986", "crawl", "aggressive"];

/// Lines of the generated list. Reason: 8 MB, so that it fits no second-level cache.
const LINES: u64 = 100_000;

/// What both lanes have to agree on for a whole list.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    /// Lines whose form is not the line.
    changed: u64,
    /// Lines that are no URL.
    rejected: u64,
    /// Bytes of all forms.
    form_bytes: u64,
}

fn answer(lane: &Canonicalizer, corpus: &Corpus, scratch: &mut Scratch) -> Answer {
    let mut answer = Answer::default();
    for line in corpus.lines() {
        let canonical = lane.canonical(line, scratch);
        answer.changed += u64::from(canonical.form != line);
        answer.rejected += u64::from(canonical.reject.is_some());
        answer.form_bytes += canonical.form.len() as u64;
    }
    answer
}

fn lanes(c: &mut Criterion) {
    for corpus in [Corpus::generated(LINES), Corpus::reddit()] {
        for name in PROFILES {
            let profile = Profile::named(name).expect("the profile is built in");
            let slow = Canonicalizer::reference_only(profile.clone());
            let fast = Canonicalizer::new(profile);
            let mut scratch = Scratch::default();
            let expected = answer(&slow, &corpus, &mut scratch);
            assert!(expected.changed > 0, "a list that tests nothing");
            for (group, lane) in [("fused", &fast), ("reference", &slow)] {
                let mut group = c.benchmark_group(group);
                group.throughput(corpus.throughput());
                group.sampling_mode(SamplingMode::Flat).sample_size(20);
                group.bench_function(format!("{name}/{}", corpus.name), |b| {
                    b.iter(|| assert_eq!(answer(lane, black_box(&corpus), &mut scratch), expected));
                });
                group.finish();
            }
        }
    }
}

/// Five rules for each of `sites`.
fn rules(sites: impl Iterator<Item = String>) -> DustRules {
    let text = String::from;
    let rules = sites.flat_map(|site| {
        [
            Kind::DropParam { param: text("sid") },
            Kind::DropParam { param: text("ref*") },
            Kind::DefaultParam { param: text("page"), value: text("1") },
            Kind::AliasSuffix { from: text("index.html"), to: text("") },
            Kind::DropSegment { segment: text("(S({*}))") },
        ]
        .map(|kind| DustRule::new(&site, kind))
    });
    let file = RuleFile { rules: rules.collect(), ..RuleFile::default() };
    DustRules::compile(&file).strict().expect("the rules hold together")
}

fn rules_of_sites(c: &mut Criterion) {
    for corpus in [Corpus::generated(LINES), Corpus::reddit()] {
        let lane = Canonicalizer::new(Profile::named("crawl").expect("the profile is built in"));
        let mut scratch = Scratch::default();
        let mut hosts = std::collections::BTreeSet::new();
        for line in corpus.lines() {
            let form = lane.canonical(line, &mut scratch).form;
            let host = undust::parts::host_of(form).and_then(|host| std::str::from_utf8(host).ok());
            hosts.extend(host.filter(|host| !host.is_empty()).map(String::from));
        }
        let elsewhere = (0..10_000).map(|number| format!("site-{number}.test"));
        for (name, dust) in [
            ("none", DustRules::default()),
            ("elsewhere", rules(elsewhere)),
            ("here", rules(hosts.into_iter())),
        ] {
            let settings = Settings { dust, ..Settings::default() };
            let profile = settings.build().expect("rules go with the profile");
            let slow = Canonicalizer::reference_only(profile.clone());
            let fast = Canonicalizer::new(profile);
            let expected = answer(&slow, &corpus, &mut scratch);
            let mut group = c.benchmark_group("rules");
            group.throughput(corpus.throughput());
            group.sampling_mode(SamplingMode::Flat).sample_size(20);
            group.bench_function(format!("{name}/{}", corpus.name), |b| {
                b.iter(|| assert_eq!(answer(&fast, black_box(&corpus), &mut scratch), expected));
            });
            group.finish();
        }
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    lanes(&mut criterion);
    rules_of_sites(&mut criterion);
    criterion.final_summary();
}
