//! The laws of jobs: what their result may depend on, and that it is true.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use undust::bytes::{Lines, show};
use undust::canonical::{Canonicalizer, PROFILES, Profile, Scratch};
use undust::cluster::{Keep, Seen};
use undust::fingerprint::FingerprintKey;
use undust::generate::{Class, List, ListPlan};
use undust::input::InputPlan;
use undust::pipeline::{
    self, DedupPlan, Filter, FormatPlan, Job, Memory, NoWatch, OnBad, Print, SelectPlan,
};
use undust::report::{Claims, Output, Tally};

fn canonicalizer(profile: &str) -> Canonicalizer {
    Canonicalizer::new(Profile::named(profile).unwrap())
}

/// How a job is run: all that must not show in its results.
#[derive(Clone, Copy, Debug)]
struct How {
    threads: usize,
    chunk_bytes: usize,
    map: bool,
    compression: Compression,
    /// Into how many files the list is split.
    files: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Zstd,
    Gzip,
}

const PLAIN: How =
    How { threads: 1, chunk_bytes: 1 << 20, map: false, compression: Compression::None, files: 1 };

/// The results of every job over one list.
#[derive(PartialEq, Eq)]
struct Results {
    /// Results by name.
    bytes: BTreeMap<&'static str, Vec<u8>>,
    tallies: BTreeMap<&'static str, Tally>,
}

impl Results {
    /// Checks that `other`, which came about as `how` says, is the same.
    fn check(&self, other: &Results, how: &dyn std::fmt::Debug) {
        for (name, bytes) in &self.bytes {
            let found = &other.bytes[name];
            if found != bytes {
                let at = bytes.iter().zip(found).take_while(|(a, b)| a == b).count();
                let near = |bytes: &[u8]| {
                    let end = bytes.len().min(at + 100);
                    show(&bytes[at.saturating_sub(100).min(end)..end]).to_string()
                };
                let (expected, found) = (near(bytes), near(found));
                panic!("{name} differs at {at} by {how:?}\n  {expected}\n  {found}");
            }
        }
        for (name, tally) in &self.tallies {
            assert_eq!(&other.tallies[name], tally, "counts of {name} differ by {how:?}");
        }
    }
}

/// A list in a folder, to be run in many ways.
struct Bench {
    folder: tempfile::TempDir,
    list: Vec<u8>,
    line_bytes_max: usize,
}

impl Bench {
    fn new(list: Vec<u8>) -> Bench {
        Bench { folder: tempfile::tempdir().unwrap(), list, line_bytes_max: 1 << 20 }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the list as `how` says.
    fn input(&self, how: How) -> InputPlan {
        let mut rest = &self.list[..];
        let mut paths = Vec::new();
        for number in 0..how.files {
            let share = rest.len() / (how.files - number);
            // At the end of a line, and where no file would begin with a byte order mark.
            let mut end = share;
            while end < rest.len() && (rest[end - 1] != b'\n' || rest[end..].starts_with(b"\xef")) {
                end += 1;
            }
            if number + 1 == how.files {
                end = rest.len();
            }
            let (part, after) = rest.split_at(end);
            rest = after;
            let path = self.path(&format!("list-{number}"));
            fs::write(&path, packed(part, how.compression)).unwrap();
            paths.push(path);
        }
        InputPlan {
            paths,
            chunk_bytes: how.chunk_bytes,
            map: how.map,
            line_bytes_max: self.line_bytes_max,
            ..InputPlan::default()
        }
    }

    /// The result of one job that writes.
    fn written(&self, run: impl FnOnce(&mut Output) -> Tally) -> (Vec<u8>, Tally) {
        let path = self.path("out");
        let mut output = Claims::new(&[]).open(Some(&path)).unwrap();
        let tally = run(&mut output);
        output.publish().unwrap();
        (fs::read(path).unwrap(), tally)
    }

    fn select(&self, job: &Job, plan: &SelectPlan) -> (Vec<u8>, Vec<u8>, Tally) {
        let mut dropped = Claims::new(&[]).open(Some(&self.path("dropped"))).unwrap();
        let (out, tally) = self.written(|output| {
            pipeline::select(job, plan, output, Some(&mut dropped)).unwrap().tally
        });
        dropped.publish().unwrap();
        (out, fs::read(self.path("dropped")).unwrap(), tally)
    }

    /// Runs every job.
    fn run(&self, canonicalizer: &Canonicalizer, how: How) -> Results {
        let job = Job {
            input: self.input(how),
            canonicalizer,
            format: FormatPlan::default(),
            rejects: None,
            key: FingerprintKey::random(),
            threads: how.threads,
            memory: Memory::default(),
            watch: &NoWatch,
        };
        let (mut bytes, mut tallies) = (BTreeMap::new(), BTreeMap::new());
        for (name, print) in [("dedup", Print::Original), ("dedup canonical", Print::Canonical)] {
            let plan = DedupPlan { print, seen: &Seen::default() };
            let (out, tally) =
                self.written(|output| pipeline::dedup(&job, &plan, output).unwrap().tally);
            bytes.insert(name, out);
            tallies.insert(name, tally);
        }
        let (out, tally) =
            self.written(|output| pipeline::canon(&job, OnBad::Empty, output).unwrap().tally);
        bytes.insert("canon", out);
        tallies.insert("canon", tally);
        for (name, dropped_name, keep, clusters) in [
            ("select", "dropped", Keep::First, false),
            ("clusters", "dropped for clusters", Keep::First, true),
            ("clusters by shortest", "dropped for shortest", Keep::Shortest, true),
            ("select last", "dropped for last", Keep::Last, false),
        ] {
            let plan = SelectPlan { keep, clusters, ..self.all() };
            let (out, dropped, tally) = self.select(&job, &plan);
            bytes.insert(name, out);
            bytes.insert(dropped_name, dropped);
            tallies.insert(name, tally);
        }
        let (survey, _) = pipeline::survey(&job, 20).unwrap();
        let mut told = survey.to_json();
        // How the list lay on the disk is told, and differs.
        told.as_object_mut().unwrap().remove("input");
        bytes.insert("report", told.to_string().into_bytes());
        tallies.insert("report", survey.tally);
        Results { bytes, tallies }
    }

    /// Every line but the duplicates, as dedup does.
    fn all(&self) -> SelectPlan {
        SelectPlan {
            keep: Keep::First,
            filter: Filter::All,
            counts: false,
            clusters: false,
            print: Print::Original,
            shape: None,
        }
    }

    /// The clusters as sets of spellings with their counts.
    fn clusters(&self, canonicalizer: &Canonicalizer) -> BTreeSet<BTreeSet<(Vec<u8>, u64)>> {
        let job = Job {
            input: self.input(PLAIN),
            canonicalizer,
            format: FormatPlan::default(),
            rejects: None,
            key: FingerprintKey::random(),
            threads: 2,
            memory: Memory::default(),
            watch: &NoWatch,
        };
        let (table, _, _) = self.select(&job, &SelectPlan { clusters: true, ..self.all() });
        let mut clusters: BTreeMap<Vec<u8>, BTreeSet<(Vec<u8>, u64)>> = BTreeMap::new();
        for row in Lines::new(&table, b'\n').skip(1) {
            let mut fields = row.splitn(3, |byte| *byte == b'\t').map(<[u8]>::to_vec);
            let mut field = || fields.next().unwrap();
            let (number, count, url) = (field(), String::from_utf8(field()).unwrap(), field());
            clusters.entry(number).or_default().insert((url, count.parse().unwrap()));
        }
        clusters.into_values().collect()
    }
}

fn packed(bytes: &[u8], compression: Compression) -> Vec<u8> {
    match compression {
        Compression::None => bytes.to_vec(),
        // Two frames, cut in the middle of a line.
        Compression::Zstd => {
            let (head, tail) = bytes.split_at(bytes.len() / 2);
            let frame = |bytes| zstd::encode_all(bytes, 1).unwrap();
            [frame(head), frame(tail)].concat()
        }
        Compression::Gzip => {
            let level = flate2::Compression::fast();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
    }
}

fn generated(lines: u64, seed: u64) -> Vec<u8> {
    let mut list = List::new(&ListPlan { lines, seed, ..ListPlan::default() }).unwrap();
    let (mut all, mut line) = (Vec::new(), Vec::new());
    while list.next_line(&mut line).is_some() {
        all.extend_from_slice(&line);
        all.push(b'\n');
    }
    all
}

fn data(file: &str) -> Vec<u8> {
    let bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(file)).unwrap();
    if file.ends_with(".zst") { zstd::decode_all(&bytes[..]).unwrap() } else { bytes }
}

/// Real and hostile lines, twice, then made-up ones; no newline at the end.
fn messy() -> Vec<u8> {
    let mut all = Vec::new();
    for part in ["samples/messy.txt", "hostile/wpt_inputs.txt"] {
        all.extend_from_slice(&data(part));
        all.push(b'\n');
    }
    let half = all.len();
    all.extend_from_within(..half);
    all.extend_from_slice(&generated(3_000, 21));
    all.extend_from_slice(&[b'x'; 100_000]);
    all.extend_from_slice(b"\r\nHTTP://EXAMPLE.com/\r\n\r\n\nhttp://example.com");
    all
}

#[test]
fn results_do_not_depend_on_threads_chunks_mapping_compression_or_files() {
    let mut bench = Bench::new(messy());
    bench.line_bytes_max = 50_000;
    let canonicalizer = canonicalizer("crawl");
    let expected = bench.run(&canonicalizer, PLAIN);
    assert_eq!(expected.bytes["dedup"], expected.bytes["select"], "two ways to the same lines");
    let mut runs = 0;
    for threads in [1, 2, 5] {
        for chunk_bytes in [1 << 10, 5_000, 1 << 16, 1 << 20] {
            for (map, compression) in [
                (false, Compression::None),
                (true, Compression::None),
                (true, Compression::Zstd),
                (true, Compression::Gzip),
            ] {
                let files = 1 + runs % 4;
                let how = How { threads, chunk_bytes, map, compression, files };
                expected.check(&bench.run(&canonicalizer, how), &how);
                runs += 1;
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_how_hostile_lines_are_read() {
    let bench = Bench::new(data("hostile/nasty.bin.zst"));
    for profile in ["lines", "crawl"] {
        let canonicalizer = canonicalizer(profile);
        let expected = bench.run(&canonicalizer, PLAIN);
        assert_eq!(expected.bytes["dedup"], expected.bytes["select"], "{profile}");
        for how in [
            How { threads: 5, chunk_bytes: 1 << 10, map: true, ..PLAIN },
            How { threads: 2, chunk_bytes: 1 << 16, compression: Compression::Zstd, ..PLAIN },
            How { threads: 2, compression: Compression::Gzip, files: 3, ..PLAIN },
        ] {
            expected.check(&bench.run(&canonicalizer, how), &(profile, how));
        }
    }
}

#[test]
fn results_are_the_same_for_every_profile_and_more_than_one_batch() {
    // 2 MiB in chunks of 1 KiB: 60 batches and more.
    let bench = Bench::new(generated(30_000, 22));
    for profile in PROFILES {
        let canonicalizer = canonicalizer(profile);
        let expected = bench.run(&canonicalizer, PLAIN);
        assert_eq!(expected.bytes["dedup"], expected.bytes["select"], "{profile}");
        let how = How { threads: 3, chunk_bytes: 1 << 10, map: true, files: 2, ..PLAIN };
        expected.check(&bench.run(&canonicalizer, how), &(profile, how));
    }
}

#[test]
fn the_representative_of_each_cluster_is_the_one_asked_for() {
    let bench = Bench::new(generated(5_000, 23));
    let canonicalizer = canonicalizer("aggressive");
    let results = bench.run(&canonicalizer, PLAIN);
    let mut scratch = Scratch::default();
    let mut shortest: HashMap<Vec<u8>, &[u8]> = HashMap::new();
    let mut last: HashMap<Vec<u8>, usize> = HashMap::new();
    let lines: Vec<&[u8]> = Lines::new(&bench.list, b'\n').collect();
    for (number, line) in lines.iter().enumerate() {
        let form = canonicalizer.canonical(line, &mut scratch).form.to_vec();
        let best = shortest.entry(form.clone()).or_insert(line);
        if line.len() < best.len() {
            *best = line;
        }
        last.insert(form, number);
    }
    let mut numbers: Vec<usize> = last.values().copied().collect();
    numbers.sort_unstable();
    let expected: Vec<&[u8]> = numbers.iter().map(|number| lines[*number]).collect();
    let found: Vec<&[u8]> = Lines::new(&results.bytes["select last"], b'\n').collect();
    assert!(found == expected);
    let mut first_of = BTreeMap::new();
    for row in Lines::new(&results.bytes["clusters by shortest"], b'\n').skip(1) {
        let fields: Vec<&[u8]> = row.splitn(3, |byte| *byte == b'\t').collect();
        first_of.entry(fields[0]).or_insert(fields[2]);
    }
    let mut found: Vec<&[u8]> = first_of.into_values().collect();
    let mut expected: Vec<&[u8]> = shortest.into_values().collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert!(found == expected);
}

/// The lines of `list` in an order that `seed` decides.
fn shuffled(list: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut random = move || {
        // Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014: SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut lines: Vec<&[u8]> = Lines::new(list, b'\n').collect();
    for last in (1..lines.len()).rev() {
        lines.swap(last, (random() % (last as u64 + 1)) as usize);
    }
    lines.iter().flat_map(|line| [line, &b"\n"[..]]).flatten().copied().collect()
}

#[test]
fn clusters_do_not_depend_on_the_order_of_lines() {
    // Without byte order marks: they are told apart at the beginning of a file only.
    let list: Vec<u8> = messy().into_iter().filter(|byte| *byte != 0xef).collect();
    for profile in PROFILES {
        let canonicalizer = canonicalizer(profile);
        let expected = Bench::new(list.clone()).clusters(&canonicalizer);
        assert!(expected.len() > 500, "{profile}");
        for seed in 1..4 {
            let found = Bench::new(shuffled(&list, seed)).clusters(&canonicalizer);
            let mut wrong = expected.symmetric_difference(&found);
            assert!(wrong.next().is_none(), "{profile}, seed {seed}");
        }
    }
}

/// What a profile makes of a generated list.
#[derive(Debug, Default)]
struct Verdict {
    /// Pairs of lines of different pages with one canonical form.
    wrong: Vec<String>,
    /// Lines that should have been merged with the first of their page, with their rules.
    missed: Vec<String>,
    /// How many lines of each class were merged with the first of their page.
    merged: BTreeMap<Class, u64>,
    lines: BTreeMap<Class, u64>,
    pages: u64,
}

fn judge(profile: &str, plan: &ListPlan, must_merge: &[Class]) -> Verdict {
    let canonicalizer = canonicalizer(profile);
    let mut scratch = Scratch::default();
    let mut verdict = Verdict::default();
    let mut page_of: HashMap<Vec<u8>, (u64, Vec<u8>)> = HashMap::new();
    let mut first: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let (mut list, mut line) = (List::new(plan).unwrap(), Vec::new());
    while let Some(truth) = list.next_line(&mut line) {
        let form = canonicalizer.canonical(&line, &mut scratch).form.to_vec();
        let (page, other) =
            page_of.entry(form.clone()).or_insert_with(|| (truth.page, line.clone()));
        if *page != truth.page {
            verdict.wrong.push(format!("{} and {} are {}", show(other), show(&line), show(&form)));
        }
        *verdict.lines.entry(truth.class).or_default() += 1;
        if truth.class == Class::First {
            first.push((line.clone(), form));
            continue;
        }
        let (first_line, first_form) = &first[truth.page as usize];
        if form == *first_form {
            *verdict.merged.entry(truth.class).or_default() += 1;
        } else if must_merge.contains(&truth.class) {
            verdict.missed.push(format!(
                "{:?}: {} is {}, {} is {}",
                truth.rules.iter().collect::<Vec<_>>(),
                show(first_line),
                show(first_form),
                show(&line),
                show(&form)
            ));
        }
    }
    verdict.pages = list.pages();
    verdict
}

fn report(profile: &str, verdict: &Verdict) -> String {
    let some =
        |all: &[String]| all.iter().take(5).map(|one| format!("\n  {one}")).collect::<String>();
    format!(
        "{profile}: lines {:?}, merged {:?}\n{} wrong merges{}\n{} missed{}",
        verdict.lines,
        verdict.merged,
        verdict.wrong.len(),
        some(&verdict.wrong),
        verdict.missed.len(),
        some(&verdict.missed)
    )
}

#[test]
fn the_truth_is_found() {
    let plan = ListPlan { lines: 200_000, seed: 7, ..ListPlan::default() };
    for (profile, must_merge) in [
        ("lines", &[Class::Exact][..]),
        ("crawl", &[Class::Exact, Class::Safe]),
        ("aggressive", &[Class::Exact, Class::Safe, Class::Heuristic]),
    ] {
        let verdict = judge(profile, &plan, must_merge);
        assert!(verdict.wrong.is_empty(), "{}", report(profile, &verdict));
        assert!(verdict.missed.is_empty(), "{}", report(profile, &verdict));
        for class in must_merge {
            assert!(verdict.lines[class] > 1_000, "{}", report(profile, &verdict));
        }
        // A profile that merges what it need not is another one than it says.
        let count = |class| verdict.merged.get(&class).copied().unwrap_or(0);
        if profile == "crawl" {
            assert_eq!(count(Class::Heuristic), 0, "{}", report(profile, &verdict));
        }
    }
}

#[test]
fn the_whole_pipeline_finds_every_page() {
    let bench = Bench::new(generated(200_000, 7));
    let canonicalizer = canonicalizer("aggressive");
    let mut list = List::new(&ListPlan { lines: 200_000, seed: 7, ..ListPlan::default() }).unwrap();
    let (mut expected, mut line) = (Vec::new(), Vec::new());
    while let Some(truth) = list.next_line(&mut line) {
        if truth.class == Class::First {
            expected.extend_from_slice(&line);
            expected.push(b'\n');
        }
    }
    let job = Job {
        input: bench.input(How { compression: Compression::Zstd, files: 3, ..PLAIN }),
        canonicalizer: &canonicalizer,
        format: FormatPlan::default(),
        rejects: None,
        key: FingerprintKey::random(),
        threads: 0,
        memory: Memory::default(),
        watch: &NoWatch,
    };
    let plan = DedupPlan { print: Print::Original, seen: &Seen::default() };
    let (out, tally) = bench.written(|output| pipeline::dedup(&job, &plan, output).unwrap().tally);
    assert_eq!((tally.lines, tally.unique), (200_000, list.pages()));
    assert!(out == expected, "the first line of every page, and no other");
}

/// What dedup has to write, said in the simplest way: for one file.
fn oracle(list: &[u8], canonicalizer: &Canonicalizer, line_bytes_max: usize) -> Vec<u8> {
    let mut seen = BTreeSet::new();
    let (mut out, mut scratch) = (Vec::new(), Scratch::default());
    let mark = if list.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut lines: Vec<&[u8]> = list.split(|byte| *byte == b'\n').collect();
    // What follows the last newline is a line only if it is something.
    lines.pop_if(|last| last.is_empty());
    for (number, line) in lines.into_iter().enumerate() {
        if line.len() > line_bytes_max {
            continue;
        }
        let line = if number == 0 { &line[mark..] } else { line };
        if line.iter().all(|byte| *byte <= b' ') {
            continue;
        }
        let url = line.strip_suffix(b"\r").unwrap_or(line);
        if seen.insert(canonicalizer.canonical(url, &mut scratch).form.to_vec()) {
            out.extend_from_slice(line);
            out.push(b'\n');
        }
    }
    out
}

/// Short lists of few URLs in many spellings, blanks, marks, and lines around the limit of 40
/// bytes.
fn short_list() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(vec![
        &b"http://a.test/"[..],
        b"HTTP://A.test",
        b"http://a.test:80/#x",
        b"a.test",
        b"http://b.test/?a=1&b=2",
        b"http://b.test/?b=2&a=1",
        b"http://b.test/?b=2&a=1&utm_source=x",
        b"http://c.test/\xff",
        b"http://c.test/%ff",
        b"http://[bad",
        b"http://[BAD",
        b"http://d.test/12345678901234567890123456",
        b"http://d.test/1234567890123456789012345",
        b"http://d.test/123456789012345678901234567890",
        b"\xef\xbb\xbfhttp://a.test/",
        b"",
        b"",
        b" \t",
        b"\0",
        b"x",
    ]);
    let end = prop::sample::select(vec![&b"\n"[..], b"\n", b"\n", b"\r\n", b" \n", b""]);
    let parts = prop::collection::vec((line, end), 0..40);
    (parts, prop::bool::weighted(0.2)).prop_map(|(parts, mark)| {
        let mut list = if mark { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
        list.extend(parts.into_iter().flat_map(|(line, end)| [line, end]).flatten());
        list
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dedup_is_its_oracle(
        list in short_list(),
        threads in 1usize..4,
        chunk_bytes in 1usize..200,
        map in any::<bool>(),
        packing in 0..3,
    ) {
        let compression =
            [Compression::None, Compression::Zstd, Compression::Gzip][packing as usize];
        let canonicalizer = canonicalizer("crawl");
        // A mark at the beginning may or may not count towards the limit; not here.
        let has_mark = list.starts_with(b"\xef\xbb\xbf");
        let line_bytes_max = if has_mark { 100 } else { 40 };
        let mut bench = Bench::new(list);
        bench.line_bytes_max = line_bytes_max;
        let how = How { threads, chunk_bytes, map, compression, files: 1 };
        let expected = oracle(&bench.list, &canonicalizer, line_bytes_max);
        let results = bench.run(&canonicalizer, how);
        for name in ["dedup", "select"] {
            prop_assert!(
                results.bytes[name] == expected,
                "{name} of {}\n  expected {}\n  found    {}",
                show(&bench.list),
                show(&expected),
                show(&results.bytes[name])
            );
        }
        let unmarked = bench.list.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bench.list);
        let lines = Lines::new(unmarked, b'\n').count();
        prop_assert_eq!(Lines::new(&results.bytes["canon"], b'\n').count(), lines);
        for (name, tally) in &results.tallies {
            prop_assert_eq!(tally.lines, lines as u64, "{}", name);
            prop_assert!(tally.check().is_ok(), "{}", name);
        }
        for name in ["select", "clusters", "report"] {
            prop_assert_eq!(&results.tallies[name], &results.tallies["dedup"], "{}", name);
        }
    }
}

#[test]
fn a_byte_order_mark_counts_towards_the_limit() {
    let canonicalizer = canonicalizer("crawl");
    let url = format!("http://a.test/{}", "x".repeat(86));
    for (line_bytes_max, kept) in [(102, ""), (103, url.as_str())] {
        let mut bench = Bench::new(format!("\u{feff}{url}\nhttp://b.test/\n").into_bytes());
        bench.line_bytes_max = line_bytes_max;
        for chunk_bytes in [1 << 20, 10] {
            let results = bench.run(&canonicalizer, How { chunk_bytes, ..PLAIN });
            let out = String::from_utf8(results.bytes["dedup"].clone()).unwrap();
            let expected = format!("{kept}\nhttp://b.test/\n").trim_start().to_string();
            assert_eq!(out, expected, "chunks of {chunk_bytes} bytes");
        }
    }
}
