//! How fast the main job is, from a file to a device that keeps nothing: reading, canonical forms,
//! clusters, writing, on one thread and on two.
//!
//! Files of output, other sizes and other programs are compared by `make peers`.

mod corpus;

use std::path::Path;

use corpus::Corpus;
use criterion::{Criterion, SamplingMode};
use undust::FingerprintKey;
use undust::canonical::{Canonicalizer, Profile};
use undust::cluster::Seen;
use undust::input::InputPlan;
use undust::pipeline::{self, DedupPlan, FormatPlan, Job, Memory, NoWatch, Print};
use undust::report::Claims;

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
        let mut unique = None;
        for threads in [1, 2] {
            let mut group = criterion.benchmark_group("dedup");
            group.throughput(corpus.throughput());
            group.sampling_mode(SamplingMode::Flat).sample_size(10);
            group.bench_function(format!("{name}/{threads}"), |b| {
                b.iter(|| {
                    let found = dedup(file.path(), &canonicalizer, threads);
                    // The same answer every time, for any number of threads.
                    assert_eq!(*unique.get_or_insert(found), found);
                });
            });
            group.finish();
        }
    }
    criterion.final_summary();
}

/// Writes the list without its duplicates to where nothing is kept; returns how many lines stay.
fn dedup(list: &Path, canonicalizer: &Canonicalizer, threads: usize) -> u64 {
    let paths = vec![list.to_path_buf()];
    let job = Job {
        input: InputPlan { paths: paths.clone(), ..InputPlan::default() },
        canonicalizer,
        format: FormatPlan::default(),
        rejects: None,
        key: FingerprintKey::from_bytes(corpus::KEY),
        threads,
        memory: Memory::default(),
        watch: &NoWatch,
    };
    let mut claims = Claims::new(&paths);
    let mut output = claims.open(Some(Path::new("/dev/null"))).expect("a device is there");
    let seen = Seen::default();
    let plan = DedupPlan { print: Print::Original, seen: &seen };
    let outcome = pipeline::dedup(&job, &plan, &mut output).expect("the list can be read");
    output.publish().expect("a device takes everything");
    outcome.tally.unique
}
