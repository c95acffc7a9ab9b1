//! How fast a piece of memory becomes lines, and lines become records.

mod corpus;

use std::hint::black_box;

use corpus::Corpus;
use criterion::Criterion;
use undust::bytes::Lines;
use undust::limits::LINE_BYTES_MAX;
use undust::record::{Entries, Entry, Layout, ReadOptions, Workspace, detect};

/// Size of the list. Reason: sixteen chunks, more than the second-level cache.
const LIST_BYTES: usize = 16 << 20;

/// Number of lines, and their bytes without the ends of lines.
type Answer = (u64, u64);

/// The answer, counted byte by byte.
fn expected(bytes: &[u8]) -> Answer {
    let count = |wanted: u8| bytes.iter().filter(|byte| **byte == wanted).count() as u64;
    let (newlines, returns) = (count(b'\n'), count(b'\r'));
    (newlines, bytes.len() as u64 - newlines - returns)
}

fn lines(bytes: &[u8]) -> Answer {
    Lines::new(bytes, b'\n')
        .fold((0, 0), |(lines, bytes), line| (lines + 1, bytes + line.len() as u64))
}

fn records(bytes: &[u8]) -> Answer {
    let options = ReadOptions {
        separator: b'\n',
        line_bytes_max: LINE_BYTES_MAX,
        verbatim: false,
        fields: true,
    };
    let (layout, mut workspace) = (Layout::default(), Workspace::default());
    let mut entries = Entries::new(bytes, true, options, &layout, &mut workspace);
    let mut answer = (0, 0);
    while let Some(entry) = entries.next() {
        if let Entry::Record(record) = entry {
            answer = (answer.0 + 1, answer.1 + record.url.len() as u64);
        }
    }
    answer
}

/// The records of a combined log, their URLs without their host.
fn logs(bytes: &[u8]) -> Answer {
    let options = ReadOptions {
        separator: b'\n',
        line_bytes_max: LINE_BYTES_MAX,
        verbatim: false,
        fields: false,
    };
    let layout = detect::as_told("combined", bytes, options).expect("it needs no columns");
    let mut workspace = Workspace::default();
    let mut entries = Entries::new(bytes, true, options, &layout, &mut workspace);
    let mut answer = (0, 0);
    while let Some(entry) = entries.next() {
        if let Entry::Record(record) = entry {
            answer = (answer.0 + 1, answer.1 + record.spelling.len() as u64);
        }
    }
    answer
}

/// A combined log of requests for targets of up to 150 bytes, and what is in it.
fn log() -> (Corpus, Answer) {
    let (mut bytes, mut answer) = (Vec::new(), (0, 0));
    while bytes.len() < LIST_BYTES {
        let number = answer.0;
        let target = format!("/{}/{number}", "page".repeat(number as usize * 7 % 36));
        let line = format!(
            "192.0.2.{} - - [10/Oct/2000:13:55:36 -0700] \"GET {target} HTTP/1.1\" 200 {number} \
             \"https://www.example.com/{}\" \"Mozilla/5.0 (X11; Linux x86_64; rv:109.0) \
             Gecko/20100101 Firefox/115.0\"\n",
            number % 256,
            number * 31 % 1000,
        );
        bytes.extend_from_slice(line.as_bytes());
        answer = (number + 1, answer.1 + target.len() as u64);
    }
    (Corpus { name: "combined", bytes }, answer)
}

fn extract(c: &mut Criterion) {
    let list = Corpus::generated_bytes(LIST_BYTES);
    // The same lines as from a Windows machine: every one takes the way of lines with blanks.
    let mut returns = Vec::new();
    for line in list.lines() {
        returns.extend_from_slice(line);
        returns.extend_from_slice(b"\r\n");
    }
    let returns = Corpus { name: "crlf", bytes: returns };
    bench(c, "lines", &list, expected(&list.bytes), lines);
    bench(c, "records", &list, expected(&list.bytes), records);
    bench(c, "records", &returns, expected(&returns.bytes), records);
    let (log, expected) = log();
    bench(c, "logs", &log, expected, logs);
}

fn bench(
    c: &mut Criterion,
    group: &str,
    list: &Corpus,
    expected: Answer,
    way: impl Fn(&[u8]) -> Answer,
) {
    let mut group = c.benchmark_group(group);
    group.throughput(list.throughput());
    group.bench_function(list.name, |b| {
        b.iter(|| assert_eq!(way(black_box(&list.bytes)), expected));
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    extract(&mut criterion);
    criterion.final_summary();
}
