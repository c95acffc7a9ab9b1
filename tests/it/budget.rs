//! The law of memory: how little of it a job has shows in no result.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use proptest::prelude::*;
use undust::canonical::{Canonicalizer, Notation, Profile};
use undust::cluster::{Keep, Seen};
use undust::fingerprint::FingerprintKey;
use undust::input::InputPlan;
use undust::pipeline::{
    self, Checked, ClusterFilter, ClusterOutput, DedupPlan, Job, Memory, Outcome, Print,
    ProgressListener, SelectPlan,
};
use undust::report::{ClaimedPaths, Output, RowFormat, Shape};

/// A list in a folder, to be worked off with some memory.
struct Bench {
    folder: tempfile::TempDir,
    canonicalizer: Canonicalizer,
}

/// What must not show.
#[derive(Clone, Copy, Debug)]
struct How {
    memory_bytes: u64,
    threads: usize,
    chunk_bytes: usize,
    map: bool,
}

/// With this much nothing is ever spilled.
const AMPLE: How = How { memory_bytes: 1 << 30, threads: 1, chunk_bytes: 1 << 20, map: false };

impl Bench {
    fn new(profile: &str, list: &[u8]) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("in"), list).unwrap();
        fs::create_dir(folder.path().join("temp")).unwrap();
        Bench { folder, canonicalizer: Canonicalizer::new(Profile::named(profile).unwrap()) }
    }

    fn job(&self, how: How) -> Job<'_> {
        let input = InputPlan {
            paths: vec![self.folder.path().join("in")],
            chunk_bytes: how.chunk_bytes,
            map: how.map,
            map_bytes_min: 0,
            ..InputPlan::default()
        };
        let mut job = Job::new(input, &self.canonicalizer);
        job.key = FingerprintKey::from_bytes([1; 16]);
        job.threads = how.threads;
        job.memory = Memory { bytes: how.memory_bytes, temp_dir: self.folder.path().join("temp") };
        job
    }

    /// What a job writes, and what it says of itself.
    fn written(&self, run: impl FnOnce(&mut Output) -> Outcome) -> (Vec<u8>, Outcome) {
        let path = self.folder.path().join("out");
        let mut output = ClaimedPaths::new(&[]).open(Some(&path)).unwrap();
        let outcome = run(&mut output);
        output.publish().unwrap();
        let left = fs::read_dir(self.folder.path().join("temp")).unwrap().count();
        assert_eq!(left, 0, "temporary files have no name");
        (fs::read(path).unwrap(), outcome)
    }

    fn dedup(&self, how: How, print: Print, seen: &Seen) -> (Vec<u8>, Outcome) {
        let plan = DedupPlan { print, seen };
        self.written(|output| pipeline::dedup(&self.job(how), &plan, output).unwrap())
    }

    fn select(&self, how: How, plan: &SelectPlan) -> (Vec<u8>, Outcome) {
        self.written(|output| pipeline::select(&self.job(how), plan, output, None).unwrap())
    }

    /// Tells whole clusters, or what is kept, and the lines that were dropped.
    fn told(&self, how: How, plan: &SelectPlan) -> (Vec<u8>, Vec<u8>, Outcome) {
        let path = self.folder.path().join("dropped");
        let mut dropped = ClaimedPaths::new(&[]).open(Some(&path)).unwrap();
        let (out, outcome) = self.written(|output| {
            pipeline::select(&self.job(how), plan, output, Some(&mut dropped)).unwrap()
        });
        dropped.publish().unwrap();
        (out, fs::read(path).unwrap(), outcome)
    }

    /// Drops what the seen file has, and lets it grow.
    fn dedup_seen(&self, how: How, file: &Path) -> Vec<u8> {
        let job = self.job(how);
        let digest = self.canonicalizer.profile().digest();
        let seen = match fs::File::open(file) {
            Ok(file) => Seen::open(file, "seen", &digest, job.table_bytes()).unwrap(),
            Err(_) => Seen::new(job.key, &digest),
        };
        let (out, _) = self.dedup(how, Print::Original, &seen);
        let mut bytes = Vec::new();
        seen.write(|piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
        fs::write(file, bytes).unwrap();
        out
    }
}

/// Lists of few and of many pages, some of them in several spellings, and empty lines.
fn list() -> impl Strategy<Value = Vec<u8>> {
    let line = (0..3000u32, 0..6u8).prop_map(|(page, spelling)| match spelling {
        0 => format!("HTTP://A.test/{page}"),
        1 => format!("http://a.test/{page}#top"),
        2 => format!("http://a.test/{page}?utm_source=x{page}"),
        3 if page % 10 == 0 => String::new(),
        3 => "http://hot.test/".to_string(),
        _ => format!("http://a.test/{page}"),
    });
    prop::collection::vec(line, 0..4000).prop_map(|lines| (lines.join("\n") + "\n").into_bytes())
}

fn how() -> impl Strategy<Value = How> {
    // From nothing at all to a part of the clusters.
    let memory_bytes = prop::sample::select(vec![1u64, 10_000, 400_000, 900_000]);
    let chunk_bytes = prop::sample::select(vec![1usize, 500, 10_000]);
    (memory_bytes, 1..4usize, chunk_bytes, any::<bool>()).prop_map(
        |(memory_bytes, threads, chunk_bytes, map)| How { memory_bytes, threads, chunk_bytes, map },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn dedup_writes_the_same(
        list in list(),
        how in how(),
        profile in prop::sample::select(vec!["lines", "crawl"]),
        print in prop::sample::select(vec![Print::Original, Print::Canonical(Notation::Url)]),
    ) {
        let bench = Bench::new(profile, &list);
        let (expected, ample) = bench.dedup(AMPLE, print, &Seen::default());
        prop_assert_eq!(ample.memory.spilled_after_lines, None);
        let (found, outcome) = bench.dedup(how, print, &Seen::default());
        prop_assert!(found == expected);
        prop_assert_eq!(outcome.tally, ample.tally);
        if how.memory_bytes == 1 && list.len() > 20_000 {
            prop_assert!(outcome.memory.spilled_after_lines.is_some());
        }
    }

    #[test]
    fn selections_are_the_same(
        list in list(),
        how in how(),
        profile in prop::sample::select(vec!["lines", "crawl"]),
        keep in prop::sample::select(vec![Keep::First, Keep::Last, Keep::Shortest]),
        filter in prop::sample::select(vec![ClusterFilter::All, ClusterFilter::Duplicated, ClusterFilter::Single]),
        print in prop::sample::select(vec![Print::Original, Print::Canonical(Notation::Url)]),
        counts in any::<bool>(),
    ) {
        let bench = Bench::new(profile, &list);
        let plan = SelectPlan { keep, filter, written: ClusterOutput::Lines { print, counts } };
        let (expected, ample) = bench.select(AMPLE, &plan);
        let (found, outcome) = bench.select(how, &plan);
        prop_assert!(found == expected);
        prop_assert_eq!(outcome.tally, ample.tally);
        prop_assert_eq!(ample.memory.spilled_after_lines, None);
        if how.memory_bytes == 1 && list.len() > 20_000 {
            prop_assert!(outcome.memory.spilled_after_lines.is_some());
        }
    }

    #[test]
    fn clusters_and_dropped_lines_are_the_same(
        list in list(),
        how in how(),
        profile in prop::sample::select(vec!["lines", "crawl"]),
        keep in prop::sample::select(vec![Keep::First, Keep::Last, Keep::Shortest]),
        filter in prop::sample::select(vec![ClusterFilter::All, ClusterFilter::Duplicated, ClusterFilter::Single]),
        clusters in any::<bool>(),
        for_programs in any::<bool>(),
    ) {
        let bench = Bench::new(profile, &list);
        let shape = for_programs
            .then_some(Shape { format: RowFormat::Tsv, guards_formulas: false });
        let written = match shape {
            _ if clusters => ClusterOutput::Spellings(shape),
            Some(shape) => ClusterOutput::Rows(shape),
            None => ClusterOutput::Lines { print: Print::Original, counts: false },
        };
        let plan = SelectPlan { keep, filter, written };
        let (expected, expected_dropped, ample) = bench.told(AMPLE, &plan);
        let (found, dropped, outcome) = bench.told(how, &plan);
        prop_assert!(found == expected);
        prop_assert!(dropped == expected_dropped);
        prop_assert_eq!(&outcome.tally, &ample.tally);
        if shape.is_none() {
            // A header, and a row for each line that was dropped.
            let rows = dropped.iter().filter(|byte| **byte == b'\n').count() as u64 - 1;
            prop_assert_eq!(rows, ample.tally.duplicate);
        }
        if how.memory_bytes == 1 && list.len() > 20_000 && !plan.reads_once() {
            prop_assert!(outcome.memory.spilled_after_lines.is_some());
        }
    }

    #[test]
    fn the_first_duplicate_is_the_same(
        list in list(),
        how in how(),
        profile in prop::sample::select(vec!["lines", "crawl"]),
        different in 0..3000usize,
    ) {
        // Different pages before them, so that the first duplicate comes late.
        let mut lines: Vec<u8> = Vec::new();
        (0..different).for_each(|page| lines.extend(format!("http://b.test/{page}\n").bytes()));
        lines.extend_from_slice(&list);
        let bench = Bench::new(profile, &lines);
        let check = |how| match pipeline::check(&bench.job(how)).unwrap() {
            Checked::Duplicate(duplicate) => Ok(duplicate),
            Checked::Unique(outcome) => Err(Box::new(outcome.tally)),
        };
        let found = check(how);
        prop_assert_eq!(&found, &check(AMPLE));
        if let Err(tally) = &found {
            prop_assert!(tally.check().is_ok() && tally.duplicate == 0, "{:?}", tally);
        }
        // A set of canonical forms says the same. Empty lines are lines where all are texts.
        let mut known = std::collections::HashSet::new();
        let mut scratch = undust::canonical::Scratch::default();
        let all = lines.strip_suffix(b"\n").unwrap_or(&lines).split(|byte| *byte == b'\n');
        let expected = all.zip(1u64..).find(|(line, _)| {
            let form = bench.canonicalizer.canonical(line, &mut scratch).form.to_vec();
            (profile == "lines" || !line.is_empty()) && !known.insert(form)
        });
        let found = found.ok().map(|duplicate| (duplicate.line, duplicate.url));
        prop_assert_eq!(found, expected.map(|(line, number)| (number, line.to_vec())));
    }

    #[test]
    fn seen_files_are_the_same(lists in prop::collection::vec((list(), how()), 1..4)) {
        let bench = Bench::new("crawl", b"");
        let (ample, small) = (bench.folder.path().join("a"), bench.folder.path().join("b"));
        for (list, how) in lists {
            fs::write(bench.folder.path().join("in"), list).unwrap();
            let expected = bench.dedup_seen(AMPLE, &ample);
            prop_assert!(bench.dedup_seen(how, &small) == expected);
            prop_assert!(fs::read(&small).unwrap() == fs::read(&ample).unwrap());
        }
    }
}

proptest! {
    // Each reads its list up to 32 times.
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn reports_are_the_same(
        list in list(),
        memory_bytes in prop::sample::select(vec![150_000u64, 400_000, 900_000]),
        threads in 1..4usize,
        chunk_bytes in prop::sample::select(vec![500usize, 10_000]),
        top in prop::sample::select(vec![0usize, 3, 20]),
    ) {
        let bench = Bench::new("crawl", &list);
        let (expected, ample) = pipeline::survey(&bench.job(AMPLE), top).unwrap();
        prop_assert_eq!(ample.memory.spilled_after_lines, None);
        let how = How { memory_bytes, threads, chunk_bytes, map: false };
        let (found, outcome) = pipeline::survey(&bench.job(how), top).unwrap();
        prop_assert_eq!(found.to_json(), expected.to_json());
        prop_assert_eq!(found.to_text(), expected.to_text());
        prop_assert_eq!(outcome.tally, ample.tally);
        if memory_bytes == 150_000 && list.len() > 40_000 {
            prop_assert!(outcome.memory.spilled_after_lines.is_some());
        }
    }
}

/// How far each batch says that the job is: bytes and lines.
#[derive(Default)]
struct Steps(Mutex<Vec<(u64, u64)>>);

impl ProgressListener for Steps {
    fn begin(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, bytes: u64, lines: u64) {
        self.0.lock().unwrap().push((bytes, lines));
    }
    fn end(&self) {}
}

/// However much is read ahead.
#[test]
fn progress_is_what_has_been_worked_off() {
    let line = b"http://a.test/\n";
    let bench = Bench::new("crawl", &line.repeat(2000));
    for map in [false, true] {
        let steps = Steps::default();
        let how = How { chunk_bytes: 1, map, ..AMPLE };
        let seen = Seen::default();
        let plan = DedupPlan { print: Print::Original, seen: &seen };
        let mut job = bench.job(how);
        job.progress = &steps;
        bench.written(|output| pipeline::dedup(&job, &plan, output).unwrap());
        drop(job);
        let steps = steps.0.into_inner().unwrap();
        assert!(steps.len() > 5, "{}", steps.len());
        for (bytes, lines) in &steps {
            // A share of the input, which is rounded.
            assert!(bytes.abs_diff(lines * line.len() as u64) <= 1, "{map}: {bytes}, {lines}");
        }
    }
}
