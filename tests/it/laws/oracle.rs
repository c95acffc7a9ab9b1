//! `dedup` against the simplest program that does the same.

use std::collections::BTreeSet;

use proptest::prelude::*;
use undust::bytes::{Lines, show};
use undust::canonical::{Canonicalizer, Scratch};

use super::bench::{Bench, Compression, How, PLAIN, canonicalizer};

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
        let kept = line.iter().rposition(|byte| *byte != b'\r').map_or(0, |at| at + 1);
        let url = &line[..kept];
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
