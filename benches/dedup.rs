//! How fast the main job is, from a file to a device that keeps nothing: reading, canonical
//! forms, clusters, writing, on one thread and on two; and under the default profile the jobs
//! that take a second look.
//!
//! Files of output, other sizes and other programs are compared by `make peers`.

mod corpus;

use std::collections::HashSet;
use std::path::Path;

use corpus::Corpus;
use criterion::{Criterion, SamplingMode};
use undust::FingerprintKey;
use undust::canonical::{Canonicalizer, Profile, Scratch};
use undust::cluster::{Keep, Seen};
use undust::input::InputPlan;
use undust::pipeline::{self, ClusterFilter, ClusterOutput, DedupPlan, Job, Print, SelectPlan};
use undust::report::ClaimedPaths;

/// Lines of the list. Reason: some batches of chunks, so that they overlap.
const LINES: u64 = 500_000;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let corpus = Corpus::generated(LINES);
    let file = tempfile::NamedTempFile::new().expect("there is a folder for temporary files");
    std::fs::write(file.path(), &corpus.bytes).expect("there is room for a list");
    for name in ["lines", "rfc3986", "crawl", "aggressive"] {
        let profile = Profile::named(name).expect("the profile is built in");
        let canonicalizer = Canonicalizer::new(profile);
        let expected = distinct(&corpus, &canonicalizer);
        for threads in [1, 2] {
            let mut group = criterion.benchmark_group("dedup");
            group.throughput(corpus.throughput());
            group.sampling_mode(SamplingMode::Flat).sample_size(10);
            group.bench_function(format!("{name}/{threads}"), |b| {
                b.iter(|| {
                    assert_eq!(dedup(file.path(), &canonicalizer, threads), expected);
                });
            });
            group.finish();
        }
    }
    let canonicalizer = Canonicalizer::new(Profile::named("crawl").expect("it is built in"));
    let expected = distinct(&corpus, &canonicalizer);
    for look in [Look::Counts, Look::Clusters, Look::Dropped, Look::Report] {
        for threads in [1, 2] {
            let mut group = criterion.benchmark_group("second look");
            group.throughput(corpus.throughput());
            group.sampling_mode(SamplingMode::Flat).sample_size(10);
            group.bench_function(format!("{look:?}/{threads}").to_lowercase(), |b| {
                b.iter(|| {
                    let found = look_again(file.path(), &canonicalizer, threads, look);
                    assert_eq!(found, expected);
                });
            });
            group.finish();
        }
    }
    criterion.final_summary();
}

/// How many canonical forms the lines have: one after the other, in a set of whole texts.
fn distinct(corpus: &Corpus, canonicalizer: &Canonicalizer) -> u64 {
    let mut scratch = Scratch::default();
    let lines = corpus.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let form = |line: &[u8]| canonicalizer.canonical(line, &mut scratch).form.to_vec();
    lines.map(form).collect::<HashSet<Vec<u8>>>().len() as u64
}

/// What a second look is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Counts,
    Clusters,
    Dropped,
    Report,
}

fn job<'a>(list: &Path, canonicalizer: &'a Canonicalizer, threads: usize) -> Job<'a> {
    // Mapped, as by the program.
    let plan = InputPlan { paths: vec![list.to_path_buf()], map: true, ..InputPlan::default() };
    let mut job = Job::new(plan, canonicalizer);
    job.key = FingerprintKey::from_bytes(corpus::KEY);
    job.threads = threads;
    job
}

/// Does the job with a second look; returns how many pages there are.
fn look_again(list: &Path, canonicalizer: &Canonicalizer, threads: usize, look: Look) -> u64 {
    let job = job(list, canonicalizer, threads);
    if look == Look::Report {
        let (survey, _) = pipeline::survey(&job, 10).expect("the list can be read");
        return survey.tally.unique;
    }
    let mut claims = ClaimedPaths::new(&job.input.paths);
    let mut null = || claims.open(Some(Path::new("/dev/null"))).expect("a device is there");
    let (mut output, mut dropped) = (null(), null());
    let plan = SelectPlan {
        keep: Keep::First,
        filter: ClusterFilter::All,
        written: match look {
            Look::Clusters => ClusterOutput::Spellings(None),
            _ => ClusterOutput::Lines { print: Print::Original, counts: look == Look::Counts },
        },
    };
    let dropped = (look == Look::Dropped).then_some(&mut dropped);
    let outcome = pipeline::select(&job, &plan, &mut output, dropped);
    outcome.expect("the list can be read").tally.unique
}

/// Writes the list without its duplicates to where nothing is kept; returns how many lines stay.
fn dedup(list: &Path, canonicalizer: &Canonicalizer, threads: usize) -> u64 {
    let job = job(list, canonicalizer, threads);
    let mut claims = ClaimedPaths::new(&job.input.paths);
    let mut output = claims.open(Some(Path::new("/dev/null"))).expect("a device is there");
    let seen = Seen::default();
    let plan = DedupPlan { print: Print::Original, seen: &seen };
    let outcome = pipeline::dedup(&job, &plan, &mut output).expect("the list can be read");
    output.publish().expect("a device takes everything");
    outcome.tally.unique
}
