//! The laws of formats: each is recognized, none loses a line, none depends on how files are cut.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use undust::canonical::{Canonicalizer, Notation, Profile};
use undust::cluster::Seen;
use undust::fingerprint::FingerprintKey;
use undust::input::{Containers, InputPlan};
use undust::pipeline::{self, DedupPlan, FormatChoice, Job, Print};
use undust::record::{
    Entries, Entry, Layout, ReadOptions, Workspace, detect, formats, url_of, without_no_host,
};
use undust::report::{ClaimedPaths, Tally};

/// Samples, and what they are. Every file in `data/samples` is here.
const SAMPLES: [(&str, &str); SAMPLE_COUNT] = [
    ("access.log", "access"),
    ("alb.log", "alb"),
    ("archive.arc", "arc"),
    ("archive.warc.gz", "warc"),
    ("caddy.jsonl", "caddy"),
    ("captures.cdx", "cdx"),
    ("captures.cdx.json", "cdx-json"),
    ("captures.cdxj", "cdxj"),
    ("clf.log", "clf"),
    ("cloudfront.tsv", "cloudfront"),
    ("combined.log", "combined"),
    ("crawl.log", "crawllog"),
    ("elb.log", "elb"),
    ("haproxy.log", "haproxy"),
    ("index.parquet", "parquet"),
    ("kasztp.txt.zst", "lines"),
    ("logfmt.log", "logfmt"),
    ("messy.txt", "lines"),
    ("nginx.jsonl", "nginx-json"),
    ("pages.csv", "csv"),
    ("pages.jsonl", "jsonl"),
    ("reddit.txt", "lines"),
    ("redirects.tsv", "tsv"),
    ("sitemap.xml", "sitemap"),
    ("squid.log", "squid"),
    ("tiny.txt", "lines"),
    ("tweetfeed.txt.gz", "lines"),
    ("vhost.log", "vhost"),
    ("w3c.log", "w3c"),
];
const SAMPLE_COUNT: usize = 29;

/// Returns the samples that this build can read.
fn readable() -> impl Iterator<Item = (&'static str, &'static str)> {
    SAMPLES.into_iter().filter(|(_, format)| *format != "parquet" || cfg!(feature = "parquet"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/samples")
}

const READING: ReadOptions =
    ReadOptions { separator: b'\n', line_bytes_max: 1 << 20, verbatim: false, fields: true };

/// What `dedup` writes for a file, its counts, and the format it had.
fn dedup(
    path: &Path,
    format: Option<&str>,
    print: Print,
    chunk_bytes: usize,
) -> (Vec<u8>, Tally, String) {
    let canonicalizer = Canonicalizer::new(Profile::named("crawl").unwrap());
    let choice = format.map(|name| FormatChoice::Named(name.to_string()));
    let containers = if format.is_some() { Containers::None } else { Containers::Detect };
    let input = InputPlan {
        paths: vec![path.to_path_buf()],
        chunk_bytes,
        containers,
        sample_silence: Duration::from_secs(60),
        ..InputPlan::default()
    };
    let mut job = Job::new(input, &canonicalizer);
    job.format.format = choice;
    job.key = FingerprintKey::from_bytes([1; 16]);
    job.threads = 2;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut output = ClaimedPaths::new(&[]).open(Some(&out)).unwrap();
    let plan = DedupPlan { print, seen: &Seen::default() };
    let outcome = pipeline::dedup(&job, &plan, &mut output).unwrap();
    output.publish().unwrap();
    let name = outcome.files[0].layout.name().to_string();
    (fs::read(out).unwrap(), outcome.tally, name)
}

#[test]
fn every_sample_is_recognized() {
    let mut found: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, SAMPLES.map(|(name, _)| name.to_string()));
    for (sample, expected) in readable() {
        let (text, tally, format) = dedup(&folder().join(sample), None, Print::Original, 1 << 20);
        assert_eq!(format, expected, "{sample}");
        assert!(tally.records > 0 && !text.is_empty(), "{sample}");
    }
}

#[test]
fn how_a_file_is_cut_does_not_show() {
    let scratch = tempfile::tempdir().unwrap();
    // Rows over several lines, quotes that open nothing, a header in the middle.
    let quoted = scratch.path().join("quoted");
    let rows = "\"http://a.test/\n1\",\"two\nlines, \"\"quoted\"\"\"\nhttp://a.test/2,5\" disk\n";
    fs::write(&quoted, format!("url,title\n{}", rows.repeat(2_000))).unwrap();
    let columns = scratch.path().join("columns");
    let logs = "#Fields: date time cs-method cs-uri-stem sc-status\n\
                2026-01-01 00:00:00 GET /a 200\n\
                2026-01-01 00:00:00 GET /c 200\n\
                #Fields: sc-status cs-uri-stem cs-method\n200 /b GET\n200 /a GET\n";
    fs::write(&columns, logs.repeat(1_000)).unwrap();
    let samples: Vec<PathBuf> = readable().map(|(sample, _)| folder().join(sample)).collect();
    for path in samples.iter().chain([&quoted, &columns]) {
        for print in [Print::Original, Print::Canonical(Notation::Url), Print::Line] {
            let (text, tally, format) = dedup(path, None, print, 1 << 20);
            for chunk_bytes in [16 << 10, 40_009] {
                let cut = dedup(path, None, print, chunk_bytes);
                assert!(cut == (text.clone(), tally.clone(), format.clone()), "{path:?} {print:?}");
            }
        }
    }
    let (text, tally, _) = dedup(&quoted, None, Print::Original, 1 << 20);
    let text = String::from_utf8(text).unwrap();
    assert_eq!((tally.unique, tally.comments, tally.rejected.total()), (2, 1, 0), "{text}");
    let (text, tally, _) = dedup(&columns, None, Print::Original, 1 << 20);
    assert_eq!(String::from_utf8(text).unwrap(), "/a\n/c\n/b\n");
    assert_eq!((tally.records, tally.comments), (4_000, 2_000));
}

#[test]
fn when_the_lines_of_a_pipe_come_does_not_show() {
    use std::io::Write as _;
    let scratch = tempfile::tempdir().unwrap();
    let [file, pipe] = ["file", "pipe"].map(|name| scratch.path().join(name));
    // By its first line it would be a list.
    let line = "h - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.0\" 200 23\n";
    let text = format!("http://a.test/\n{}", line.repeat(300));
    fs::write(&file, &text).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut pipe = fs::OpenOptions::new().write(true).open(pipe).unwrap();
            for line in text.split_inclusive('\n') {
                pipe.write_all(line.as_bytes()).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let expected = dedup(&file, None, Print::Original, 1 << 20);
    let found = dedup(&pipe, None, Print::Original, 1 << 20);
    writer.join().unwrap();
    assert_eq!(expected.2, "clf");
    assert!(found == expected, "{}: {}", found.2, String::from_utf8_lossy(&found.0));
}

/// Every format, told by its own sample or by lines of its own, on every file: no panic, and every
/// byte is in some entry.
#[test]
fn any_format_on_any_file_loses_no_line() {
    let own = [
        ("clf", "h - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.0\" 200 23"),
        (
            "squid",
            "1438854186.000      0 10.0.0.1 TCP_MISS/304 124 GET http://a.test/ - HIER_DIRECT/10.9.9.9 text/html",
        ),
        ("jsonl", "{\"url\": \"http://a.test/\"}"),
        ("csv", "url,status\nhttp://a.test/,200"),
        ("tsv", "url\tstatus\nhttp://a.test/\t200"),
        (
            "cdx",
            " CDX N b a m s k r M S V g\ncom,a)/ 20140126200624 http://a.test/ text/html 200 X - - 1 2 f",
        ),
        ("cdxj", "com,a)/ 20140126200624 {\"url\": \"http://a.test/\"}"),
        ("cdx-json", "[[\"timestamp\",\"original\"],\n[\"20140126200624\",\"http://a.test/\"],"),
        (
            "w3c",
            "#Fields: date time cs-method cs-uri-stem sc-status\n2026-01-01 00:00:00 GET /a 200",
        ),
        (
            "crawllog",
            "2006-02-23T10:52:43.207Z     1         55 dns:www.kb.dk P http://www.kb.dk/ text/dns #049 20060223095242629+10 - - -",
        ),
    ];
    let mut layouts: Vec<Layout> = vec![Layout::default()];
    for (name, text) in own {
        layouts.push(detect::as_told(name, text.as_bytes(), READING).unwrap());
    }
    for (sample, name) in SAMPLES {
        let text = fs::read(folder().join(sample)).unwrap();
        if formats::find(name).is_some() {
            layouts.push(detect::as_told(name, &text, READING).unwrap());
        }
    }
    for format in formats::ALL {
        let has = layouts.iter().any(|layout| layout.name() == format.name);
        assert!(has, "{}: no sample", format.name);
    }
    let mut files: Vec<Vec<u8>> =
        SAMPLES.iter().map(|(sample, _)| fs::read(folder().join(sample)).unwrap()).collect();
    let hostile = folder().join("../hostile/nasty.bin.zst");
    files.push(zstd::decode_all(fs::File::open(hostile).unwrap()).unwrap());
    files.extend(own.map(|(_, text)| text.as_bytes().to_vec()));
    // Bytes as they come.
    let mut random = Random(1);
    files.push((0..100_000).map(|_| random.below(256) as u8).collect());
    for layout in &layouts {
        for file in &files {
            walk(file, layout);
        }
    }
}

/// A generator of the simplest kind (Knuth's MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}

/// Reads `file` as `layout` says; every byte has to be in some entry, in order, and what a record
/// shows has to say what its URL is.
fn walk(file: &[u8], layout: &Layout) {
    let mut workspace = Workspace::default();
    let mut entries = Entries::new(file, false, READING, layout, &mut workspace);
    let mut bytes = 0;
    while let Some(entry) = entries.next() {
        let line = match entry {
            Entry::Record(record) => {
                assert!(!record.url.is_empty(), "{}", layout.name());
                if record.spelling != record.url {
                    assert_eq!(without_no_host(record.url), record.spelling, "{}", layout.name());
                }
                let url = url_of(record.spelling, record.is_path_alone());
                assert_eq!(*url, *record.url, "{}", layout.name());
                // One line is written for it.
                assert!(!record.spelling.contains(&b'\n'), "{}", layout.name());
                record.line
            }
            Entry::Empty(line)
            | Entry::Comment(line)
            | Entry::Filtered(line)
            | Entry::Reject(_, line) => line,
        };
        assert!(file[bytes..].starts_with(line), "{}: another line", layout.name());
        bytes += 1 + line.len();
    }
    let is_whole = file.last() == Some(&b'\n');
    let expected = file.len() + usize::from(!is_whole && !file.is_empty());
    assert_eq!(bytes, expected, "{}", layout.name());
}

/// Samples with bytes changed, added, left out and swapped, as every format that they might be.
#[test]
fn damaged_samples_lose_no_line() {
    let signs = b"\"'\\%[]{}:,;#-? \t\r\n\0\x7f\xff0GH";
    let mut random = Random(2);
    let (mut walks, mut errors) = (0, 0);
    for (sample, _) in SAMPLES {
        let mut start = fs::read(folder().join(sample)).unwrap();
        start.truncate(1500);
        for format in formats::ALL {
            for _ in 0..24 {
                let mut text = start.clone();
                for _ in 0..1 + random.below(8) {
                    let at = random.below(text.len());
                    let sign = signs[random.below(signs.len())];
                    match random.below(4) {
                        0 => text[at] = sign,
                        1 => text.insert(at, sign),
                        2 => drop(text.drain(at..(at + random.below(9)).min(text.len() - 1))),
                        _ => text[at..].reverse(),
                    }
                }
                match detect::as_told(format.name, &text, READING) {
                    Ok(layout) => walk(&text, &layout),
                    Err(_) => errors += 1,
                }
                walks += 1;
            }
        }
    }
    // Only formats whose columns the file tells can refuse it.
    assert!(errors > 0 && errors < walks / 2, "{errors} of {walks}");
}
