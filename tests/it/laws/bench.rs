//! A list that is run in many ways, and the results of every job over it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use undust::bytes::{Lines, show};
use undust::canonical::{Canonicalizer, Notation, Profile};
use undust::cluster::{Keep, Seen};
use undust::generate::{List, ListPlan};
use undust::input::InputPlan;
use undust::pipeline::{
    self, CanonPlan, ClusterFilter, ClusterOutput, DedupPlan, FormatChoice, FormatPlan, Job, OnBad,
    Print, SelectPlan,
};
use undust::report::{ClaimedPaths, Output, Tally};

pub(super) fn canonicalizer(profile: &str) -> Canonicalizer {
    Canonicalizer::new(Profile::named(profile).unwrap())
}

/// How a job is run: all that must not show in its results.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    pub(super) threads: usize,
    pub(super) chunk_bytes: usize,
    pub(super) map: bool,
    pub(super) compression: Compression,
    /// Into how many files the list is split.
    pub(super) files: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Zstd,
    Gzip,
}

pub(super) const PLAIN: How =
    How { threads: 1, chunk_bytes: 1 << 20, map: false, compression: Compression::None, files: 1 };

/// The results of every job over one list.
#[derive(PartialEq, Eq)]
pub(super) struct Results {
    /// Results by name.
    pub(super) bytes: BTreeMap<&'static str, Vec<u8>>,
    pub(super) tallies: BTreeMap<&'static str, Tally>,
}

impl Results {
    /// Checks that `other`, which came about as `how` says, is the same.
    pub(super) fn check(&self, other: &Results, how: &dyn std::fmt::Debug) {
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
pub(super) struct Bench {
    pub(super) folder: tempfile::TempDir,
    pub(super) list: Vec<u8>,
    pub(super) line_bytes_max: usize,
}

/// Takes every input for a list: random lines may look like a table by chance.
fn a_list() -> FormatPlan {
    FormatPlan { format: Some(FormatChoice::Named("lines".to_string())), ..FormatPlan::default() }
}

impl Bench {
    pub(super) fn new(list: Vec<u8>) -> Bench {
        Bench { folder: tempfile::tempdir().unwrap(), list, line_bytes_max: 1 << 20 }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the list as `how` says.
    pub(super) fn input(&self, how: How) -> InputPlan {
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
            map_bytes_min: 0,
            line_bytes_max: self.line_bytes_max,
            ..InputPlan::default()
        }
    }

    fn job<'a>(&self, canonicalizer: &'a Canonicalizer, how: How) -> Job<'a> {
        let mut job = Job::new(self.input(how), canonicalizer);
        job.format = a_list();
        job.threads = how.threads;
        job
    }

    /// The result of one job that writes.
    pub(super) fn written(&self, run: impl FnOnce(&mut Output) -> Tally) -> (Vec<u8>, Tally) {
        let path = self.path("out");
        let mut output = ClaimedPaths::new(&[]).open(Some(&path)).unwrap();
        let tally = run(&mut output);
        output.publish().unwrap();
        (fs::read(path).unwrap(), tally)
    }

    pub(super) fn select(&self, job: &Job, plan: &SelectPlan) -> (Vec<u8>, Vec<u8>, Tally) {
        let mut dropped = ClaimedPaths::new(&[]).open(Some(&self.path("dropped"))).unwrap();
        let (out, tally) = self.written(|output| {
            pipeline::select(job, plan, output, Some(&mut dropped)).unwrap().tally
        });
        dropped.publish().unwrap();
        (out, fs::read(self.path("dropped")).unwrap(), tally)
    }

    /// Runs every job.
    pub(super) fn run(&self, canonicalizer: &Canonicalizer, how: How) -> Results {
        let job = self.job(canonicalizer, how);
        let (mut bytes, mut tallies) = (BTreeMap::new(), BTreeMap::new());
        for (name, print) in
            [("dedup", Print::Original), ("dedup canonical", Print::Canonical(Notation::Url))]
        {
            let plan = DedupPlan { print, seen: &Seen::default() };
            let (out, tally) =
                self.written(|output| pipeline::dedup(&job, &plan, output).unwrap().tally);
            bytes.insert(name, out);
            tallies.insert(name, tally);
        }
        let plan = CanonPlan { on_bad: OnBad::Empty, notation: Notation::Url, shape: None };
        let (out, tally) =
            self.written(|output| pipeline::canon(&job, &plan, output).unwrap().tally);
        bytes.insert("canon", out);
        tallies.insert("canon", tally);
        for (name, dropped_name, keep, clusters) in [
            ("select", "dropped", Keep::First, false),
            ("clusters", "dropped for clusters", Keep::First, true),
            ("clusters by shortest", "dropped for shortest", Keep::Shortest, true),
            ("select last", "dropped for last", Keep::Last, false),
        ] {
            let all = if clusters { self.all_spellings() } else { self.all() };
            let plan = SelectPlan { keep, ..all };
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
    pub(super) fn all(&self) -> SelectPlan {
        SelectPlan {
            keep: Keep::First,
            filter: ClusterFilter::All,
            written: ClusterOutput::Lines { print: Print::Original, counts: false },
        }
    }

    /// Every line, by cluster.
    fn all_spellings(&self) -> SelectPlan {
        SelectPlan { written: ClusterOutput::Spellings(None), ..self.all() }
    }

    /// The clusters as sets of spellings with their counts.
    pub(super) fn clusters(
        &self,
        canonicalizer: &Canonicalizer,
    ) -> BTreeSet<BTreeSet<(Vec<u8>, u64)>> {
        let job = self.job(canonicalizer, How { threads: 2, ..PLAIN });
        let (table, _, _) = self.select(&job, &self.all_spellings());
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

pub(super) fn packed(bytes: &[u8], compression: Compression) -> Vec<u8> {
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

pub(super) fn generated(lines: u64, seed: u64) -> Vec<u8> {
    let mut list = List::new(&ListPlan { lines, seed, ..ListPlan::default() }).unwrap();
    let (mut all, mut line) = (Vec::new(), Vec::new());
    while list.next_line(&mut line).is_some() {
        all.extend_from_slice(&line);
        all.push(b'\n');
    }
    all
}

pub(super) fn data(file: &str) -> Vec<u8> {
    let bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(file)).unwrap();
    if file.ends_with(".zst") { zstd::decode_all(&bytes[..]).unwrap() } else { bytes }
}

/// Real and hostile lines, twice, then made-up ones; no newline at the end.
pub(super) fn messy() -> Vec<u8> {
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
