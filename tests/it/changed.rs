//! What is told of an input that changes between its first and its second reading.

use std::fs;
use std::path::{Path, PathBuf};

use undust::canonical::{Canonicalizer, Profile};
use undust::cluster::Keep;
use undust::fingerprint::FingerprintKey;
use undust::input::InputPlan;
use undust::pipeline::{self, Filter, FormatPlan, Job, Memory, Print, SelectPlan, Watch};
use undust::report::Claims;

/// Writes another text to the input when the first pass is over.
struct Rewrite {
    path: PathBuf,
    text: &'static str,
}

impl Watch for Rewrite {
    fn begin(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64, _: u64) {}
    fn end(&self) {
        fs::write(&self.path, self.text).unwrap();
    }
}

/// Which lines are told: the representatives, those that were dropped, whole clusters.
const HOW: [(bool, bool); 3] = [(false, false), (false, true), (true, false)];

/// Runs the job over `before`, of which `after` is left for the second reading.
fn run(
    folder: &Path,
    before: &str,
    after: &'static str,
    (clusters, has_dropped): (bool, bool),
) -> Result<Vec<u8>, String> {
    let path = folder.join("in");
    fs::write(&path, before).unwrap();
    let canonicalizer = Canonicalizer::new(Profile::named("crawl").unwrap());
    let watch = Rewrite { path: path.clone(), text: after };
    let job = Job {
        input: InputPlan { paths: vec![path], map: false, ..InputPlan::default() },
        canonicalizer: &canonicalizer,
        format: FormatPlan::default(),
        rejects: None,
        key: FingerprintKey::from_bytes([1; 16]),
        threads: 2,
        memory: Memory { bytes: 1 << 30, temp_dir: folder.to_path_buf() },
        watch: &watch,
    };
    let plan = SelectPlan {
        keep: Keep::First,
        filter: Filter::Duplicated,
        counts: false,
        clusters,
        print: Print::Original,
        shape: None,
    };
    let mut claims = Claims::new(&[]);
    let mut output = claims.open(Some(&folder.join("out"))).unwrap();
    let mut dropped = claims.open(Some(&folder.join("dropped"))).unwrap();
    let dropped = has_dropped.then_some(&mut dropped);
    pipeline::select(&job, &plan, &mut output, dropped).map_err(|error| error.to_string())?;
    output.publish().unwrap();
    Ok(fs::read(folder.join("out")).unwrap())
}

const BEFORE: &str = "http://a.test/\nhttp://b.test/\nHTTP://a.test/\nHTTP://b.test/\n";

#[test]
fn an_input_that_stays_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for how in HOW {
        let told = run(folder.path(), BEFORE, BEFORE, how).unwrap();
        let expected: &[u8] = match how {
            (true, _) => {
                b"cluster\tcount\turl\n1\t1\thttp://a.test/\n1\t1\tHTTP://a.test/\n\
                           2\t1\thttp://b.test/\n2\t1\tHTTP://b.test/\n"
            }
            (false, _) => b"http://a.test/\nhttp://b.test/\n",
        };
        assert!(told == expected, "{how:?}: {}", String::from_utf8_lossy(&told));
    }
}

#[test]
fn an_input_that_changes_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for (after, why) in [
        ("", "all lines are gone"),
        ("http://a.test/\n", "a representative is gone"),
        ("http://a.test/\n\nHTTP://a.test/\nHTTP://b.test/\n", "one is no record any more"),
    ] {
        let error = run(folder.path(), BEFORE, after, (false, false)).unwrap_err();
        assert!(error.contains("the input has changed between"), "{why}: {error}");
    }
    let after = "http://a.test/\nhttp://b.test/\nHTTP://a.test/\nHTTP://c.test/\n";
    for how in [(false, true), (true, false)] {
        let error = run(folder.path(), BEFORE, after, how).unwrap_err();
        assert!(error.contains("the input has changed between"), "a new page, {how:?}: {error}");
    }
}
