//! What is told of an input that changes between its first and its second reading.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use undust::canonical::{Canonicalizer, Profile};
use undust::cluster::Keep;
use undust::fingerprint::FingerprintKey;
use undust::input::InputPlan;
use undust::pipeline::{self, Filter, FormatPlan, Job, Memory, Print, SelectPlan, Watch};
use undust::report::Claims;

/// What becomes of the input between the readings.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// Nothing.
    None,
    /// More is written behind it, and to a file that was empty.
    Append(&'static str),
    /// It is cut short to so many bytes.
    Cut(u64),
    /// Other bytes are written in its place.
    Write(&'static str),
    /// The same, so that the system does not tell: as many bytes, and the time is set back.
    Sneak(&'static str),
    /// Another file takes its place.
    Replace,
    /// It is gone.
    Remove,
}

impl Change {
    fn apply(self, path: &Path) {
        let open = || File::options().append(true).open(path).unwrap();
        match self {
            Change::None => {}
            Change::Append(text) => {
                open().write_all(text.as_bytes()).unwrap();
                fs::write(path.with_file_name("empty"), text).unwrap();
            }
            Change::Cut(bytes) => open().set_len(bytes).unwrap(),
            Change::Write(text) => {
                let later = fs::metadata(path).unwrap().modified().unwrap()
                    + std::time::Duration::from_secs(1);
                fs::write(path, text).unwrap();
                open().set_modified(later).unwrap();
            }
            Change::Sneak(text) => {
                let before = fs::metadata(path).unwrap();
                fs::write(path, text).unwrap();
                open().set_modified(before.modified().unwrap()).unwrap();
                assert_eq!(before.len(), text.len() as u64);
            }
            Change::Replace => {
                let other = path.with_extension("other");
                fs::copy(path, &other).unwrap();
                fs::rename(&other, path).unwrap();
            }
            Change::Remove => fs::remove_file(path).unwrap(),
        }
    }
}

/// Changes the input when the first pass is over.
struct Changing {
    path: PathBuf,
    change: Change,
    is_done: AtomicBool,
}

impl Watch for Changing {
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

/// Which lines are told, the representatives, those that were dropped, whole clusters; with much memory, and
/// with little; of a mapped file, and of one that is read.
fn all_ways() -> impl Iterator<Item = How> {
    (0..12).map(|number| {
        let (clusters, has_dropped) = [(false, false), (false, true), (true, false)][number % 3];
        How { clusters, has_dropped, has_little: number / 3 % 2 == 1, maps: number / 6 == 1 }
    })
}

/// Lines before those that are told, so that little memory is too little for their clusters.
const MANY: usize = 70_000;

/// The input: many lines that are alone, and [`END`].
fn text() -> String {
    let many: String = (0..MANY).map(|number| format!("http://a.test/{number}\n")).collect();
    many + END
}

const END: &str = "http://a.test/\nhttp://b.test/\nHTTP://a.test/\nHTTP://b.test/\n";

/// Runs the job over the input and another file behind it, of which the first is changed between the readings.
fn run(folder: &Path, change: Change, how: How) -> Result<(Vec<u8>, Vec<u8>), String> {
    let [path, empty, last] = ["in", "empty", "last"].map(|name| folder.join(name));
    fs::write(&empty, "").unwrap();
    fs::write(&path, text()).unwrap();
    fs::write(&last, "http://c.test/\nhttp://c.test/\n").unwrap();
    let canonicalizer = Canonicalizer::new(Profile::named("crawl").unwrap());
    let watch = Changing { path: path.clone(), change, is_done: AtomicBool::new(false) };
    let job = Job {
        input: InputPlan {
            paths: vec![path, empty, last],
            map: how.maps,
            map_bytes_min: 0,
            ..InputPlan::default()
        },
        canonicalizer: &canonicalizer,
        format: FormatPlan::default(),
        rejects: None,
        key: FingerprintKey::from_bytes([1; 16]),
        threads: 2,
        memory: Memory {
            bytes: if how.has_little { 1 << 20 } else { 1 << 30 },
            temp_dir: folder.to_path_buf(),
        },
        watch: &watch,
    };
    let plan = SelectPlan {
        keep: Keep::First,
        filter: Filter::Duplicated,
        counts: false,
        clusters: how.clusters,
        print: Print::Original,
        shape: None,
    };
    let mut claims = Claims::new(&[]);
    let mut output = claims.open(Some(&folder.join("out"))).unwrap();
    let mut dropped = claims.open(Some(&folder.join("dropped"))).unwrap();
    let has_dropped = how.has_dropped.then_some(&mut dropped);
    let outcome = pipeline::select(&job, &plan, &mut output, has_dropped)
        .map_err(|error| error.to_string())?;
    assert_eq!(outcome.memory.spilled_after_lines.is_some(), how.has_little);
    output.publish().unwrap();
    dropped.publish().unwrap();
    let read = |name| fs::read(folder.join(name)).unwrap();
    Ok((read("out"), read("dropped")))
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
        let change = Change::Append("http://b.test/\nhttp://d.test/\nhttp://d.test/\n");
        assert!(run(folder.path(), change, how).unwrap() == (told, dropped), "{how:?}");
    }
}

#[test]
fn an_input_that_changes_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let size = text().len() as u64;
    for how in all_ways() {
        for (change, why) in [
            (Change::Cut(0), "found 0"),
            (Change::Cut(size - 15), "expected"),
            (Change::Write(END), "expected"),
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
    let leak = |end: &str| -> &'static str { Box::leak(text().replace(END, end).into()) };
    for (end, why) in [
        (&END.replace(|letter| letter != '\n', " ")[..], "no records any more"),
        (&"\n".repeat(END.len()), "more lines"),
        (&END.replace('\n', "/"), "fewer lines"),
    ] {
        for how in all_ways() {
            let error = run(folder.path(), Change::Sneak(leak(end)), how).unwrap_err();
            assert!(error.contains("has changed between"), "{why}, {how:?}: {error}");
        }
    }
    // Other pages: the representatives stand where they stood.
    for how in all_ways().filter(|how| how.clusters || how.has_dropped) {
        let error =
            run(folder.path(), Change::Sneak(leak(&END.replace("HTTP://b", "HTTP://d"))), how)
                .unwrap_err();
        assert!(error.contains("has changed between"), "a new page, {how:?}: {error}");
    }
    let touched = Change::Write(leak(END));
    let how = all_ways().next().unwrap();
    let error = run(folder.path(), touched, how).unwrap_err();
    assert!(error.contains("it was written to"), "{error}");
}
