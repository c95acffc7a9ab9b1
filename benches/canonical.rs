//! How fast URLs get their canonical form, by lane, profile and list.
//!
//! The group `fused` is the canonicalizer as everybody uses it: the lines that the fast lane
//! refuses go through the reference lane and are in its figures. The group `reference` is the slow
//! lane alone.

mod corpus;

use std::hint::black_box;

use corpus::Corpus;
use criterion::{Criterion, SamplingMode};
use undust::canonical::{Canonicalizer, Profile, Scratch};

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

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    lanes(&mut criterion);
    criterion.final_summary();
}
