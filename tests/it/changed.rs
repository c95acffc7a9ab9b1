//! What is told of an input that changes between its first and its second reading.

use std::fs::{self, File};
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use undust::canonical::{Canonicalizer, Profile};
use undust::cluster::Keep;
use undust::error::Result;
use undust::fingerprint::FingerprintKey;
use undust::input::InputPlan;
use undust::mine::Miner;
use undust::pipeline::{
    self, ClusterFilter, ClusterOutput, Job, Print, ProgressListener, SelectPlan,
};
use undust::report::{ClaimedPaths, Counts, Tally};

/// What becomes of the input between the readings.
#[derive(Clone, Copy, Debug)]
enum Change<'a> {
    /// Nothing.
    None,
    /// More is written behind the input, and to a file that was empty.
    Append(&'a [u8]),
    /// The input is cut short to so many bytes.
    Cut(u64),
    /// Other bytes are written in the place of the input.
    Write(&'a [u8]),
    /// Other bytes are written in the place of the input so that the system does not tell: as many
    /// bytes, and the time is set back.
    Sneak(&'a [u8]),
    /// Another file takes the place of the input.
    Replace,
    /// The input is gone.
    Remove,
    /// A folder has a file more.
    Add,
}

impl Change<'_> {
    fn apply(self, path: &Path) {
        let open = || File::options().append(true).open(path).unwrap();
        match self {
            Change::None => {}
            Change::Append(bytes) => {
                open().write_all(bytes).unwrap();
                fs::write(path.with_file_name("empty"), bytes).unwrap();
            }
            Change::Cut(bytes) => open().set_len(bytes).unwrap(),
            Change::Write(bytes) => {
                let later = fs::metadata(path).unwrap().modified().unwrap()
                    + std::time::Duration::from_secs(1);
                fs::write(path, bytes).unwrap();
                open().set_modified(later).unwrap();
            }
            Change::Sneak(bytes) => {
                let before = fs::metadata(path).unwrap();
                fs::write(path, bytes).unwrap();
                open().set_modified(before.modified().unwrap()).unwrap();
                assert_eq!(before.len(), bytes.len() as u64);
            }
            Change::Replace => {
                let other = path.with_extension("other");
                fs::copy(path, &other).unwrap();
                fs::rename(&other, path).unwrap();
            }
            Change::Remove => fs::remove_file(path).unwrap(),
            Change::Add => fs::write(path.with_file_name("more").join("in"), END).unwrap(),
        }
    }
}

/// Changes the input when the first pass is over.
struct Changing<'a> {
    path: PathBuf,
    change: Change<'a>,
    is_done: AtomicBool,
}

impl ProgressListener for Changing<'_> {
    fn begin(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64, _: u64) {}
    fn end(&self) {
        if !self.is_done.swap(true, Ordering::Relaxed) {
            self.change.apply(&self.path);
        }
    }
}

/// What is told, and where the second reading begins with what is known of the first.
#[derive(Clone, Copy, Debug)]
struct How {
    clusters: bool,
    has_dropped: bool,
    /// Is there room for few of the clusters?
    has_little: bool,
    maps: bool,
}

/// Which lines are told, the representatives, those that were dropped, whole clusters; with much
/// memory, and with little; of a mapped file, and of one that is read.
fn all_ways() -> impl Iterator<Item = How> {
    (0..12).map(|number| {
        let (clusters, has_dropped) = [(false, false), (false, true), (true, false)][number % 3];
        How { clusters, has_dropped, has_little: number / 3 % 2 == 1, maps: number / 6 == 1 }
    })
}

/// Lines before those that are told, so that little memory is too little for their clusters.
const MANY: usize = 70_000;

/// Makes the input: many lines that are alone, [`END`], and some more that are alone, since other
/// last bytes are told at once.
fn text() -> String {
    let alone = |lines: Range<usize>| -> String {
        lines.map(|number| format!("http://a.test/{number}\n")).collect()
    };
    alone(0..MANY) + END + &alone(MANY..MANY + 300)
}

/// Makes the input with another `end` in the place of [`END`].
fn text_with(end: &str) -> Vec<u8> {
    text().replace(END, end).into()
}

const END: &str = "http://a.test/\nhttp://b.test/\nHTTP://a.test/\nHTTP://b.test/\n";

/// Runs the job over `input`, two other files behind it, of which the first is empty, and an empty
/// folder. The `change` is made between the readings.
fn read_twice<T>(
    folder: &Path,
    input: &[u8],
    change: Change,
    has_little: bool,
    maps: bool,
    run: impl FnOnce(&Job) -> Result<T>,
) -> Result<T, String> {
    let [path, empty, last, more] = ["in", "empty", "last", "more"].map(|name| folder.join(name));
    if more.exists() {
        fs::remove_dir_all(&more).unwrap();
    }
    fs::create_dir(&more).unwrap();
    fs::write(&empty, "").unwrap();
    fs::write(&path, input).unwrap();
    fs::write(&last, "http://c.test/\nhttp://c.test/\n").unwrap();
    let canonicalizer = Canonicalizer::new(Profile::named("crawl").unwrap());
    let watch = Changing { path: path.clone(), change, is_done: AtomicBool::new(false) };
    let input = InputPlan {
        paths: vec![path, empty, last, more],
        recursive: true,
        map: maps,
        map_bytes_min: 0,
        ..InputPlan::default()
    };
    let mut job = Job::new(input, &canonicalizer);
    job.key = FingerprintKey::from_bytes([1; 16]);
    job.threads = 2;
    job.memory.bytes = if has_little { 1 << 20 } else { 1 << 30 };
    job.memory.temp_dir = folder.to_path_buf();
    job.progress = &watch;
    run(&job).map_err(|error| error.to_string())
}

/// What is told of [`text`], and of the lines that were dropped.
fn run(folder: &Path, change: Change, how: How) -> Result<(Vec<u8>, Vec<u8>), String> {
    let plan = SelectPlan {
        keep: Keep::First,
        filter: ClusterFilter::Duplicated,
        written: match how.clusters {
            true => ClusterOutput::Spellings(None),
            false => ClusterOutput::Lines { print: Print::Original, counts: false },
        },
    };
    let input = text().into_bytes();
    read_twice(folder, &input, change, how.has_little, how.maps, |job| {
        let mut claims = ClaimedPaths::new(&[]);
        let mut output = claims.open(Some(&folder.join("out")))?;
        let mut dropped = claims.open(Some(&folder.join("dropped")))?;
        let has_dropped = how.has_dropped.then_some(&mut dropped);
        let outcome = pipeline::select(job, &plan, &mut output, has_dropped)?;
        assert_eq!(outcome.memory.spilled_after_lines.is_some(), how.has_little);
        output.publish()?;
        dropped.publish()?;
        let read = |name| fs::read(folder.join(name)).unwrap();
        Ok((read("out"), read("dropped")))
    })
}

#[test]
fn an_input_that_only_grows_is_told_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for how in all_ways() {
        let (told, dropped) = run(folder.path(), Change::None, how).unwrap();
        let expected: &[u8] = match how.clusters {
            true => {
                b"cluster\tcount\turl\n\
                  1\t1\thttp://a.test/\n1\t1\tHTTP://a.test/\n\
                  2\t1\thttp://b.test/\n2\t1\tHTTP://b.test/\n\
                  3\t2\thttp://c.test/\n"
            }
            false => b"http://a.test/\nhttp://b.test/\nhttp://c.test/\n",
        };
        assert!(told == expected, "{how:?}: {}", String::from_utf8_lossy(&told));
        let rows = dropped.split(|byte| *byte == b'\n').filter(|row| !row.is_empty()).count();
        assert_eq!(rows, if how.has_dropped { 1 + 3 } else { 0 }, "{how:?}");
        let change = Change::Append(b"http://b.test/\nhttp://d.test/\nhttp://d.test/\n");
        assert!(run(folder.path(), change, how).unwrap() == (told, dropped), "{how:?}");
    }
}

#[test]
fn an_input_that_changes_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let size = text().len() as u64;
    let rotated = text_with("http://e.test/").repeat(2);
    for how in all_ways() {
        for (change, why) in [
            (Change::Cut(0), "found 0"),
            (Change::Cut(size - 15), "expected"),
            (Change::Write(END.as_bytes()), "expected"),
            (Change::Write(&rotated), "other bytes"),
            (Change::Sneak(&rotated[..size as usize]), "other bytes"),
            (Change::Replace, "another file has taken its place"),
        ] {
            let error = run(folder.path(), change, how).unwrap_err();
            let is_told =
                error.contains("in: the input has changed between") && error.contains(why);
            assert!(is_told, "{change:?}, {how:?}: {error}");
        }
        let error = run(folder.path(), Change::Remove, how).unwrap_err();
        assert!(error.contains("in: cannot read: No such file"), "{how:?}: {error}");
    }
}

/// What no file system tells is found where it makes what is told wrong.
#[test]
fn lines_that_are_not_what_they_were_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for (end, why) in [
        (&END.replace(|letter| letter != '\n', " ")[..], "no records any more"),
        (&"\n".repeat(END.len()), "more lines"),
        (&END.replace('\n', "/"), "fewer lines"),
    ] {
        for how in all_ways() {
            let error = run(folder.path(), Change::Sneak(&text_with(end)), how).unwrap_err();
            assert!(error.contains("has changed between"), "{why}, {how:?}: {error}");
        }
    }
    // Other pages: the representatives stand where they stood.
    for how in all_ways().filter(|how| how.clusters || how.has_dropped) {
        let other = text_with(&END.replace("HTTP://b", "HTTP://d"));
        let error = run(folder.path(), Change::Sneak(&other), how).unwrap_err();
        assert!(error.contains("has changed between"), "a new page, {how:?}: {error}");
    }
    let touched = text_with(END);
    let how = all_ways().next().unwrap();
    let error = run(folder.path(), Change::Write(&touched), how).unwrap_err();
    assert!(error.contains("it was written to"), "{error}");
    let error = run(folder.path(), Change::Add, how).unwrap_err();
    assert!(error.contains("expected 3 files, found 4"), "{error}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What is counted of `input`, and its clusters.
type Surveyed = (Tally, Counts, Vec<(Vec<u8>, u64)>);

fn survey(
    folder: &Path,
    input: &[u8],
    change: Change,
    has_little: bool,
    maps: bool,
) -> Result<Surveyed, String> {
    read_twice(folder, input, change, has_little, maps, |job| {
        let (survey, outcome) = pipeline::survey(job, 5)?;
        assert_eq!(outcome.memory.spilled_after_lines.is_some(), has_little);
        let clusters = survey.clusters.into_iter().map(|row| (row.canonical, row.lines));
        Ok((survey.tally, survey.counts, clusters.collect()))
    })
}

/// By records that wait in files, too, and from a packed file, to which another member is added.
#[test]
fn a_report_reads_again_what_it_has_read() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, more) = (text().into_bytes(), b"http://b.test/\n");
    let expected = survey(folder.path(), &plain, Change::None, false, true).unwrap();
    assert_eq!((expected.0.duplicate, expected.2.len()), (3, 3));
    let (packed, more_packed) = (gzip(&plain), gzip(more));
    let fewer = text_with(&END.replace('\n', "/"));
    for (has_little, maps) in [(false, true), (true, true), (true, false)] {
        for (input, more) in [(&plain, &more[..]), (&packed, &more_packed)] {
            let survey = |change| survey(folder.path(), input, change, has_little, maps);
            assert_eq!(survey(Change::None).unwrap(), expected);
            assert_eq!(survey(Change::Append(more)).unwrap(), expected);
            let other = &input.repeat(2)[1..];
            for (change, why) in [
                (Change::Cut(input.len() as u64 - 15), "expected"),
                (Change::Write(other), "other bytes"),
                (Change::Add, "expected 3 files, found 4"),
            ] {
                let error = survey(change).unwrap_err();
                let is_told =
                    error.contains("the input has changed between") && error.contains(why);
                assert!(is_told, "{why}: {error}");
            }
        }
        let error = survey(folder.path(), &plain, Change::Sneak(&fewer), has_little, maps);
        assert!(error.unwrap_err().contains("has changed between"));
    }
}

/// Rules are learned by one reading, and judged by another one.
#[test]
fn rules_are_judged_by_what_they_were_learned_from() {
    let folder = tempfile::tempdir().unwrap();
    let input = text();
    let lines = input.lines().count() + 2;
    let truth_path = folder.path().join("truth.gz");
    let truth = String::from("site\tpage\n") + &"1\t1\n".repeat(lines);
    fs::write(&truth_path, gzip(truth.as_bytes())).unwrap();
    let judged = |change| {
        read_twice(folder.path(), input.as_bytes(), change, false, true, |job| {
            let learned = pipeline::learn(job, &Miner::new())?.outcome;
            let truth = pipeline::Truth::open(&truth_path)?;
            Ok(pipeline::evaluate(job, &learned, truth)?.sites().len())
        })
    };
    assert_eq!(judged(Change::None), Ok(1));
    assert_eq!(judged(Change::Append(b"http://b.test/\n")), Ok(1));
    let other = input.repeat(2).into_bytes();
    for change in [Change::Write(&other[1..]), Change::Sneak(&other[1..=input.len()])] {
        let error = judged(change).unwrap_err();
        assert!(error.contains("in: the input has changed between"), "{error}");
    }
}

/// Its directory is at its end.
#[cfg(feature = "parquet")]
#[test]
fn a_parquet_file_may_not_grow() {
    let folder = tempfile::tempdir().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/samples/index.parquet");
    let input = fs::read(path).unwrap();
    let run = |change| {
        read_twice(folder.path(), &input, change, false, true, |job| {
            pipeline::survey(job, 5).map(|(survey, _)| survey.tally.records)
        })
    };
    assert!(run(Change::None).unwrap() > 2);
    let error = run(Change::Append(&input)).unwrap_err();
    assert!(error.contains("in: the input has changed between"), "{error}");
}
