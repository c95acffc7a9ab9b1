//! What the library promises to those who call it, beyond what the program shows.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use undust::canonical::Comparer;
use undust::cluster::{Keep, Seen};
use undust::error::ErrorKind;
use undust::input::{InputPlan, Stop};
use undust::pipeline::{
    self, ClusterFilter, ClusterOutput, DedupPlan, FormatChoice, Job, Memory, Outcome, Print,
    ProgressListener, SelectPlan,
};
use undust::report::{ClaimedPaths, Output};
use undust::{Canonicalizer, Error, FingerprintKey, Profile, Result};

fn pages() -> Canonicalizer {
    Canonicalizer::new(Profile::named("crawl").unwrap())
}

fn plan(path: &Path) -> InputPlan {
    InputPlan { paths: vec![path.to_path_buf()], ..InputPlan::default() }
}

/// A list of so many pages, in `folder`.
fn list(folder: &Path, pages: usize) -> PathBuf {
    let path = folder.join("list");
    let lines: String = (0..pages).map(|page| format!("http://a.test/{page}\n")).collect();
    fs::write(&path, lines).unwrap();
    path
}

fn dedup(job: &Job, seen: &Seen) -> Result<Outcome> {
    let mut null = ClaimedPaths::new(&[]).open(Some(Path::new("/dev/null")))?;
    pipeline::dedup(job, &DedupPlan { print: Print::Original, seen }, &mut null)
}

/// Asks to stop once so many lines were processed.
struct StopAfter {
    stop: Stop,
    lines: u64,
    seen: AtomicU64,
}

impl ProgressListener for StopAfter {
    fn begin(&self, _: &str, _: Option<u64>) {}
    fn advance(&self, _: u64, lines: u64) {
        self.seen.store(lines, Ordering::SeqCst);
        if lines >= self.lines {
            self.stop.ask();
        }
    }
    fn end(&self) {}
}

#[test]
fn a_job_that_is_asked_to_stop_ends_and_publishes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, pages) = (list(folder.path(), 50_000), pages());
    let stop = Stop::default();
    let listener = StopAfter { stop: stop.clone(), lines: 1, seen: AtomicU64::new(0) };
    let input = InputPlan { chunk_bytes: 1 << 10, stop: stop.clone(), ..plan(&path) };
    let mut job = Job::new(input, &pages);
    job.memory.bytes = 1 << 20;
    job.progress = &listener;
    let out = folder.path().join("out");
    let mut output = ClaimedPaths::new(&[path]).open(Some(&out)).unwrap();
    let deduping = DedupPlan { print: Print::Original, seen: &Seen::default() };
    let error = pipeline::dedup(&job, &deduping, &mut output).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let seen = listener.seen.load(Ordering::SeqCst);
    assert!((1..50_000).contains(&seen), "{seen} lines");
    drop(output);
    assert!(!out.exists());
    // It was asked before it begins.
    assert_eq!(dedup(&job, &Seen::default()).unwrap_err().kind(), ErrorKind::Cancelled);
    job.input.stop = Stop::default();
    job.progress = &pipeline::NoProgress;
    assert_eq!(dedup(&job, &Seen::default()).unwrap().tally.unique, 50_000);
}

/// Asks to stop when the pass with this name begins, and says that it did.
struct StopAt {
    stop: Stop,
    pass: &'static str,
}

impl ProgressListener for StopAt {
    fn begin(&self, pass: &str, _: Option<u64>) {
        if pass == self.pass {
            self.stop.ask();
        }
    }
    fn advance(&self, _: u64, _: u64) {}
    fn end(&self) {}
}

#[test]
fn what_was_spilled_is_not_sorted_out_after_that() {
    let folder = tempfile::tempdir().unwrap();
    let (path, pages) = (list(folder.path(), 200_000), pages());
    let stop = Stop::default();
    let listener = StopAt { stop: stop.clone(), pass: "sorting out" };
    let mut job = Job::new(InputPlan { stop: stop.clone(), ..plan(&path) }, &pages);
    job.memory.bytes = 1 << 20;
    job.progress = &listener;
    let error = dedup(&job, &Seen::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(stop.is_asked(), "nothing was spilled");
}

#[test]
fn a_stream_that_is_silent_is_not_awaited_after_that() {
    let (reader, writer) = std::io::pipe().unwrap();
    let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
    let (pages, stop) = (pages(), Stop::default());
    let input = InputPlan { stop: stop.clone(), ..plan(Path::new(&path)) };
    let job = Job::new(input, &pages);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| dedup(&job, &Seen::default()).unwrap_err().kind());
        stop.ask();
        assert_eq!(running.join().unwrap(), ErrorKind::Cancelled);
    });
    drop(writer);
}

#[test]
fn clusters_that_were_seen_are_those_of_one_key_and_one_profile() {
    let folder = tempfile::tempdir().unwrap();
    let (path, pages) = (list(folder.path(), 100), pages());
    let digest = pages.profile().digest();
    let mut job = Job::new(plan(&path), &pages);
    let seen = Seen::new(FingerprintKey::random(), &digest);
    let told = |job: &Job, seen: &Seen| -> Error { dedup(job, seen).unwrap_err() };
    let error = told(&job, &seen);
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("key"), "{error}");
    job.key = seen.key().unwrap();
    for unique in [100, 0] {
        assert_eq!(dedup(&job, &seen).unwrap().tally.unique, unique);
    }
    let other = Canonicalizer::new(Profile::named("rfc3986").unwrap());
    let mut of_other = Job::new(plan(&path), &other);
    of_other.key = job.key.clone();
    assert!(told(&of_other, &seen).to_string().contains(&digest));
    // By hand, one URL after the other.
    let known = job.key.fingerprint(b"http://a.test/7");
    assert_eq!(
        [known, job.key.fingerprint(b"http://b.test/")].map(|one| seen.insert(one).unwrap()),
        [false, true]
    );
}

#[test]
fn a_second_run_on_clusters_that_had_no_room_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, pages) = (list(folder.path(), 20_000), pages());
    let mut job = Job::new(plan(&path), &pages);
    job.memory = Memory { bytes: 100_000, temp_dir: folder.path().to_path_buf() };
    let seen = Seen::new(job.key.clone(), &pages.profile().digest());
    assert_eq!(dedup(&job, &seen).unwrap().tally.unique, 20_000);
    let error = dedup(&job, &seen).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Config && error.to_string().contains("open what"),
        "{error}"
    );
    let mut bytes = Vec::new();
    seen.write(|piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })
    .unwrap();
    let file = folder.path().join("seen");
    fs::write(&file, bytes).unwrap();
    let opened = fs::File::open(&file).unwrap();
    let seen = Seen::open(opened, "seen", &pages.profile().digest(), 1 << 30).unwrap();
    assert_eq!(dedup(&job, &seen).unwrap().tally.unique, 0);
}

#[test]
fn a_stream_is_not_read_twice() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, b"http://a.test/\n").unwrap();
    drop(writer);
    let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
    let pages = pages();
    let counted = SelectPlan {
        keep: Keep::First,
        filter: ClusterFilter::All,
        written: ClusterOutput::Lines { print: Print::Original, counts: true },
    };
    let mut null: Output = ClaimedPaths::new(&[]).open(Some(Path::new("/dev/null"))).unwrap();
    let job = Job::new(plan(Path::new(&path)), &pages);
    let error = pipeline::select(&job, &counted, &mut null, None).unwrap_err();
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("stream"), "{error}");
}

#[test]
fn tables_with_one_header_share_what_is_known_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let texts = ["url,id\n/a,1\n/b,2\n", "url,id\n/a,3\n/c,4\n", "id,url\n1,/a\n2,/b\n"];
    let paths: Vec<PathBuf> =
        (0..texts.len()).map(|at| folder.path().join(at.to_string())).collect();
    for (path, text) in paths.iter().zip(texts) {
        fs::write(path, text).unwrap();
    }
    let pages = pages();
    let job = Job::new(InputPlan { paths, ..InputPlan::default() }, &pages);
    let files = dedup(&job, &Seen::default()).unwrap().files;
    let formats = [0, 1, 2].map(|at: usize| files[at].layout.format.clone().unwrap());
    assert!(Arc::ptr_eq(&formats[0], &formats[1]) && *formats[1] != *formats[2]);
}

#[test]
fn a_format_that_there_is_not_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (path, pages) = (list(folder.path(), 1), pages());
    let mut job = Job::new(plan(&path), &pages);
    job.format.format = Some(FormatChoice::Named("xyz".to_string()));
    let error = dedup(&job, &Seen::default()).unwrap_err();
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("cdxj"), "{error}");
}

#[test]
fn threads_may_share_or_take_what_they_need() {
    fn is_shared<T: Send + Sync>() {}
    fn is_taken<T: Send>() {}
    is_shared::<(Canonicalizer, Profile, Seen, Stop, Error)>();
    is_shared::<Job>();
    is_taken::<(Comparer, Output)>();
}
