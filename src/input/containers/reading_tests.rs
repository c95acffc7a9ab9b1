//! Tests of reading containers to chunks of rows.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use proptest::prelude::*;

use crate::error::Error;
use crate::input::tests::{Dir, bzip2, gzip, lz4, plan, xz, zstd};
use crate::input::{Container, Containers, FileSummary, Input, InputPlan};

/// A web archive of this many responses, and its rows.
fn warc(responses: usize) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut rows = Vec::new();
    let records = (0..responses).map(|number| {
        let body = "x".repeat(number * 37 % 5000);
        let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
        rows.extend(
            format!("http://a.test/{number}\t\t200\t\ttext/html\t{}\t\t\t\t\t\n", block.len())
                .into_bytes(),
        );
        let length = block.len();
        let uri = format!("WARC-Target-URI: http://a.test/{number}\r\n");
        format!("WARC/1.1\r\nWARC-Type: response\r\n{uri}Content-Length: {length}\r\n\r\n{block}\r\n\r\n")
            .into_bytes()
    });
    (records.collect(), rows)
}

/// What the chunks hold together, the error after them, and what is said of the file.
fn read(plan: &InputPlan) -> (Vec<u8>, Option<Error>, Option<FileSummary>) {
    let mut input = Input::open(plan).unwrap();
    let (mut bytes, mut error) = (Vec::new(), None);
    while let Some(chunk) = input.next() {
        match chunk {
            Ok(chunk) => {
                assert_eq!(chunk.at(), bytes.len() as u64);
                assert!(chunk.bytes().ends_with(&[plan.separator]) || chunk.overlong().is_some());
                // It is known what they are before the first of them is seen.
                assert!(input.summaries().last().is_some_and(|file| file.container.is_some()));
                bytes.extend_from_slice(chunk.bytes());
            }
            Err(found) => error = Some(found),
        }
    }
    (bytes, error, input.summaries().first().cloned())
}

#[test]
fn every_compression_gives_the_same_rows() {
    let dir = Dir::new();
    let (records, rows) = warc(300);
    let all = records.concat();
    let each = |compress: fn(&[u8]) -> Vec<u8>| -> Vec<u8> {
        records.iter().flat_map(|record| compress(record)).collect()
    };
    for (path, compression) in [
        (dir.file("plain", &all), "none"),
        (dir.file("gzip", each(gzip)), "gzip"),
        (dir.file("zstd", each(zstd)), "zstd"),
        (dir.file("bzip2", bzip2(&all)), "bzip2"),
        (dir.file("xz", xz(&all)), "xz"),
        (dir.file("lz4", each(lz4)), "lz4"),
    ] {
        for chunk_bytes in [1, 100, 5000, 1 << 20] {
            for map in [false, true] {
                let plan = InputPlan { chunk_bytes, map, ..plan(&[&path]) };
                let (found, error, summary) = read(&plan);
                assert!(error.is_none(), "{compression}: {error:?}");
                assert_eq!(found, rows, "{compression}, chunks of {chunk_bytes}");
                let summary = summary.unwrap();
                assert_eq!(summary.container, Some(Container::Warc));
                assert_eq!((summary.compression.name(), summary.mapped), (compression, false));
                assert_eq!(summary.disk_bytes, path.metadata().unwrap().len());
                assert_eq!(summary.bytes, rows.len() as u64);
            }
        }
    }
}

#[test]
fn archives_in_zstd_may_have_a_dictionary() {
    let dir = Dir::new();
    let (records, rows) = warc(300);
    let dictionary = zstd::dict::from_samples(&records, 4096).unwrap();
    let mut compressor = zstd::bulk::Compressor::with_dictionary(3, &dictionary).unwrap();
    let frames: Vec<u8> =
        records.iter().flat_map(|record| compressor.compress(record).unwrap()).collect();
    assert!(frames.len() < records.iter().flat_map(|record| zstd(record)).count());
    let first = |content: &[u8]| {
        let length = (content.len() as u32).to_le_bytes();
        [&b"\x5d\x2a\x4d\x18"[..], &length, content].concat()
    };
    for (name, dictionary) in [("plain", dictionary.clone()), ("compressed", zstd(&dictionary))] {
        let path = dir.file(name, [first(&dictionary), frames.clone()].concat());
        let (found, error, summary) = read(&plan(&[&path]));
        assert!(error.is_none(), "{error:?}");
        assert!(found == rows, "{name}");
        assert_eq!(summary.unwrap().disk_bytes, path.metadata().unwrap().len());
    }
    for (bytes, expected) in [
        (first(&dictionary)[..200].to_vec(), "); get the file again"),
        (b"\x5d\x2a\x4d\x18\xff\xff\xff\x7f\x37\xa4\x30\xec".to_vec(), "at most 16777216 bytes"),
        ([&first(b"no dictionary")[..], &frames].concat(), "expected zstd, found damaged data"),
    ] {
        let (found, error, _) = read(&plan(&[&dir.file("bad", bytes)]));
        let error = error.unwrap().to_string();
        assert!(found.is_empty() && error.contains(expected), "{error}");
    }
}

#[test]
fn damage_below_comes_after_the_rows_before_it() {
    let dir = Dir::new();
    let (records, rows) = warc(300);
    let gzipped: Vec<u8> = records.iter().flat_map(|record| gzip(record)).collect();
    for (name, compressed, expected) in [
        ("plain", records.concat(), "expected the end of the WARC record that begins at byte"),
        ("gzip", gzipped, "expected the end of a gzip member, found the end of the file"),
        ("zstd", zstd(&records.concat()), "expected the end of a zstd frame, found the end of"),
    ] {
        let path = dir.file(name, &compressed[..compressed.len() * 2 / 3]);
        let (found, error, _) = read(&plan(&[&path]));
        let error = error.unwrap();
        assert!(error.is_input() && error.to_string().contains(expected), "{error}");
        assert!(rows.starts_with(&found), "{name}");
        assert!(found.len() > rows.len() / 4 || name == "zstd", "{name}: {} bytes", found.len());
    }
    // Between two records, where their parser sees nothing wrong.
    let compressed = [gzip(&records[0]), b"junk junk junk".to_vec()].concat();
    let (found, error, _) = read(&plan(&[&dir.file("junk", compressed)]));
    assert!(rows.starts_with(&found) && !found.is_empty());
    assert!(error.unwrap().to_string().contains("damaged"));
}

#[test]
fn plans_decide_what_is_taken_apart() {
    let dir = Dir::new();
    let (records, rows) = warc(3);
    let path = dir.file("a.txt", records.concat());
    for (containers, expected) in [
        (Containers::Detect, &rows),
        (Containers::Only(Container::Warc), &rows),
        (Containers::Only(Container::Sitemap), &Vec::new()),
    ] {
        let (found, error, summary) = read(&InputPlan { containers, ..plan(&[&path]) });
        assert_eq!(&found, expected);
        assert_eq!(error.is_some(), expected.is_empty(), "{error:?}");
        assert!(summary.unwrap().container.is_some());
    }
    let lines = InputPlan { containers: Containers::None, ..plan(&[&path]) };
    let mut input = Input::open(&lines).unwrap();
    assert!(input.next().unwrap().unwrap().bytes().starts_with(b"WARC/1.1\r\n"));
    assert_eq!(input.summaries()[0].container, None);
}

#[test]
fn pipes_hold_containers_too() {
    let dir = Dir::new();
    let map = b"<?xml version='1.0'?>\n<urlset><url><loc>http://a.test/</loc></url></urlset>";
    let (records, rows) = warc(200);
    let row = b"http://a.test/\t\t\t\t\t\t\t\t\t\t\n";
    for (name, sent, expected) in
        [("1", map.to_vec(), &row[..]), ("2", gzip(map), row), ("3", records.concat(), &rows)]
    {
        let path = dir.pipe(name);
        let writer = std::thread::spawn({
            let path = path.clone();
            move || {
                let mut pipe = OpenOptions::new().write(true).open(path).unwrap();
                // The first bytes alone, as they may come over a network.
                pipe.write_all(&sent[..7]).unwrap();
                pipe.write_all(&sent[7..]).unwrap();
            }
        });
        let (found, error, _) = read(&plan(&[&path]));
        writer.join().unwrap();
        assert!(error.is_none(), "{error:?}");
        assert_eq!(found, expected);
    }
}

#[test]
fn rows_may_end_in_nul() {
    let dir = Dir::new();
    let path =
        dir.file("a", "<urlset><url><loc>a\nb\0c</loc></url><url><loc>d</loc></url></urlset>");
    let (found, error, _) = read(&InputPlan { separator: 0, ..plan(&[&path]) });
    assert!(error.is_none());
    assert_eq!(found, b"a\\nb\\x00c\t\t\t\t\t\t\t\t\t\t\0d\t\t\t\t\t\t\t\t\t\t\0");
}

#[test]
fn long_urls_become_long_lines() {
    let dir = Dir::new();
    let long = "x".repeat(5000);
    let text = format!("<urlset><url><loc>{long}</loc></url><url><loc>d</loc></url></urlset>");
    let plan = InputPlan { line_bytes_max: 100, chunk_bytes: 200, ..plan(&[&dir.file("a", text)]) };
    let chunks: Vec<_> = Input::open(&plan).unwrap().map(Result::unwrap).collect();
    assert_eq!(chunks.len(), 2);
    // Not as long as it was, which is nowhere known, but too long.
    assert_eq!(chunks[0].overlong(), Some(1025 + 10));
    assert_eq!(chunks[1].bytes(), b"d\t\t\t\t\t\t\t\t\t\t\n");
}

/// Small containers of each kind that needs no file to be read from its end.
fn seeds() -> [(Container, Vec<u8>); 3] {
    let arc = "filedesc://a 0 0 text/plain 4\n2 0 x\n\nhttp://a.test/ 1 2 3 200 - - 0 a 5\nHTTP/\n";
    let map = "<?xml?><!DOCTYPE x [<!ENTITY y '>'>]><urlset a='>'><url><loc>a&amp;&#65;<![CDATA[b]]>\
               </loc><lastmod>1</lastmod></url><!-- x --><url/></urlset>";
    [
        (Container::Warc, warc(3).0.concat()),
        (Container::Arc, arc.into()),
        (Container::Sitemap, map.into()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..<_>::default() })]

    #[test]
    fn any_damage_gives_whole_rows_and_an_end(
        seed in 0usize..3,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0u8..4, any::<u8>()), 0..8),
        line_bytes_max in 1usize..200,
        chunk_bytes in 1usize..200,
    ) {
        let (container, mut bytes) = seeds()[seed].clone();
        for (at, edit, byte) in edits {
            let at = at.index(bytes.len().max(1)).min(bytes.len());
            match edit {
                0 => bytes.insert(at, byte),
                1 => bytes.truncate(at),
                2 => drop(bytes.drain(at..bytes.len().min(at + usize::from(byte)))),
                _ => bytes.extend_from_within(at..),
            }
        }
        let dir = Dir::new();
        let path = dir.file("a", &bytes);
        let containers = Containers::Only(container);
        let plan = InputPlan { containers, line_bytes_max, chunk_bytes, ..plan(&[&path]) };
        let whole = InputPlan { line_bytes_max: 1 << 20, chunk_bytes: 1 << 20, ..plan.clone() };
        let (rows, error, _) = read(&whole);
        prop_assert!(error.is_none_or(|error| error.is_input()));
        for row in rows.split(|byte| *byte == b'\n').filter(|row| !row.is_empty()) {
            prop_assert_eq!(row.iter().filter(|byte| **byte == b'\t').count(), 10);
        }
        // However it is cut, there are as many rows; those that are too long are shown in part.
        let lines: u64 = Input::open(&plan)
            .unwrap()
            .filter_map(Result::ok)
            .map(|chunk| match chunk.overlong() {
                Some(_) => 1,
                None => chunk.bytes().iter().filter(|byte| **byte == b'\n').count() as u64,
            })
            .sum();
        let damaged_arc = container == Container::Arc;
        let expected = rows.iter().filter(|byte| **byte == b'\n').count() as u64;
        prop_assert!(lines == expected || damaged_arc && lines <= expected);
    }
}

#[test]
fn what_is_no_container_is_said() {
    let dir = Dir::new();
    for (bytes, expected) in [
        ("<?xml version='1.0'?><rss version='2.0'>", "found a feed (RSS or Atom)"),
        ("PAR1\x15\x04\x15", "cannot read Parquet"),
    ] {
        let path = dir.file("a", bytes);
        if expected.contains("Parquet") && cfg!(feature = "parquet") {
            continue;
        }
        let (found, error, _) = read(&plan(&[&path]));
        let error = error.unwrap().to_string();
        assert!(found.is_empty() && error.contains(expected), "{error}");
    }
    assert!(read(&plan(&[Path::new("/dev/null")])).1.is_none());
}
