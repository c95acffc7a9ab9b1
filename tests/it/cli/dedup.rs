//! What dedup writes.

use super::*;

#[test]
fn dedup_writes_first_spellings_byte_for_byte() {
    let dir = Dir::new();
    for (given, expected, why) in [
        (&b""[..], &b""[..], "nothing"),
        (LIST.as_bytes(), KEPT.as_bytes(), "input order"),
        (b"http://a.test/\r\nHTTP://A.test\r\n", b"http://a.test/\r\n", "CRLF is kept"),
        (b"http://a.test/\r\nhttp://a.test/\n", b"http://a.test/\r\n", "CRLF is not compared"),
        (b"\xef\xbb\xbfhttp://a.test/\nhttp://a.test\n", b"http://a.test/\n", "a mark is no URL"),
        (b"http://a.test/", b"http://a.test/\n", "a last line without newline gets one"),
        (b"http://a.test/\nhttp://a.test/", b"http://a.test/\n", "and is compared like others"),
        (b"\nhttp://a.test/\n\r\n \t\n\n", b"http://a.test/\n", "empty lines go"),
        (b"  http://a.test/ \nhttp://a.test/\n", b"  http://a.test/ \n", "blanks around"),
        (b"http://a.test/\xff\nhttp://a.test/%FF\n", b"http://a.test/\xff\n", "not UTF-8"),
        (
            b"http://a.test/\xfe\nhttp://a.test/\xff\n",
            b"http://a.test/\xfe\nhttp://a.test/\xff\n",
            "bytes that are not UTF-8 differ",
        ),
        (
            b"http://[bad\nhttp://[bad\nhttp://[BAD\n",
            b"http://[bad\nhttp://[BAD\n",
            "what does not parse is compared as it is",
        ),
        (b"http://a.test/\0\nhttp://a.test/\0\n", b"http://a.test/\0\n", "NUL is a byte"),
    ] {
        let run = dir.feed("dedup", given).quiet();
        assert!(run.out == expected, "{why}: {}", run.told());
        dir.put("given", given);
        // Shorter files are not mapped.
        dir.put("long", [given, &b"\n".repeat(256 << 10)].concat());
        for args in ["given", "long", "--no-map long", "-j1 given"] {
            let run = dir.run(args).quiet();
            assert!(run.out == expected, "{why}: {}", run.told());
        }
    }
}

#[test]
fn many_workers_put_the_same_together() {
    let dir = Dir::new();
    // Enough for batches that are not left to one thread; the last lines lack their newlines.
    let line =
        |n: usize| format!("http://{}.test/a{}?b={}&utm_source=c", n / 3 % 7, n / 3, n % 6 / 5);
    let list = |lines: std::ops::Range<usize>| lines.map(line).collect::<Vec<_>>().join("\n");
    dir.put("one", list(0..100_000));
    dir.put("two", list(60_000..400_000).replace("?b=", "?c=1&b="));
    for args in
        ["one two", "one two --print canonical", "--no-map two one", "-u one", "-S 13M one two"]
    {
        let few = dir.run(&format!("-j1 {args}")).exits(0);
        assert!(few.out.ends_with(b"\n") && few.out.len() > 1 << 19);
        for threads in [9, 10, 12] {
            let run = dir.run(&format!("-j{threads} {args}")).exits(0);
            assert!(run.out == few.out, "{args} -j{threads}");
            dir.run(&format!("-q -j{threads} {args} -o out.txt")).quiet();
            assert!(dir.get("out.txt") == few.out, "{args} -j{threads} -o");
        }
    }
}

#[test]
fn lines_may_end_with_nul() {
    let dir = Dir::new();
    let given = b"http://a.test/\0HTTP://a.test\0http://b.test/x\ny\0\0http://c.test/";
    let kept = b"http://a.test/\0http://b.test/x\ny\0http://c.test/\0";
    dir.feed("-0", given).gives(kept);
    dir.feed("-0 -c", given)
        .gives(b"      2 http://a.test/\0      1 http://b.test/x\ny\0      1 http://c.test/\0");
    // To the URL standard a newline inside a URL is nothing.
    dir.feed("canon -0", given)
        .gives(b"http://a.test/\0http://a.test/\0http://b.test/xy\0\0http://c.test/\0");
}

#[test]
fn tables_of_lines_that_end_with_nul() {
    let dir = Dir::new();
    // A newline may be part of a line then, so it cannot end a row.
    dir.feed("-0 --clusters", b"http://a.test/\nx\0HTTP://a.test/x\0")
        .gives(b"cluster\tcount\turl\x001\t1\thttp://a.test/\nx\x001\t1\tHTTP://a.test/x\0");
}

#[test]
fn the_profile_lines_is_awk() {
    let dir = Dir::new();
    let mut given = generated(5_000, 9);
    given.extend_from_slice(b"\n\n \r\n\xff\xfe\n\xff\xfe\nx\nx\r\nlast without newline");
    given.extend_from_within(..10_000);
    dir.put("in.txt", &given);
    // awk '!seen[$0]++'
    let mut seen = std::collections::HashSet::new();
    let lines: Vec<&[u8]> = given.split(|byte| *byte == b'\n').collect();
    let mut expected = Vec::new();
    for line in &lines[..lines.len() - usize::from(given.ends_with(b"\n"))] {
        if seen.insert(*line) {
            expected.extend_from_slice(line);
            expected.push(b'\n');
        }
    }
    dir.run("--profile lines in.txt").gives(&expected);
    dir.run("--profile lines --keep first -c in.txt").quiet();
}

#[test]
fn counts_add_up() {
    let dir = Dir::new();
    let mut given = generated(10_000, 4);
    given.extend_from_slice(b"\n \r\nhttp://[bad\nexample.com\n");
    given.extend_from_slice(&[b'x'; 3000]);
    dir.put("in.txt", &given);
    for args in
        ["dedup", "dedup -c", "dedup --clusters", "dedup --keep last", "canon --on-bad empty"]
    {
        dir.run(&format!("{args} -q --line-limit 2K --stats=stats.json in.txt")).quiet();
        let stats = json(&dir.get("stats.json"));
        let total = |name: &str| stats["totals"][name].as_u64().unwrap();
        assert_eq!(total("lines"), 10_005, "{args}");
        assert_eq!((total("empty"), total("rejected"), total("unparsed")), (2, 1, 1), "{args}");
        assert_eq!(total("scheme_added"), 1, "{args}");
        let told = total("unique") + total("duplicate") + total("empty") + total("rejected");
        assert_eq!(total("lines"), told, "{args}");
        assert_eq!(total("records"), total("unique") + total("duplicate"), "{args}");
        assert_eq!(stats["rejected_by_kind"]["line-too-long"], 1, "{args}");
        assert_eq!(stats["unparsed_by_kind"]["bad-host"], 1, "{args}");
        let seconds = |stage: &str| stats["stages"][stage]["seconds"].as_f64().unwrap();
        assert!(seconds("reading") > 0.0 && seconds("canonicalizing") > 0.0, "{args}");
        let clusters = if args.starts_with("canon") { 0 } else { 1 };
        assert_eq!(i32::from(seconds("clustering") > 0.0), clusters, "{args}");
        let threads = stats["stages"]["canonicalizing"]["by_thread"].as_array().unwrap();
        assert_eq!(threads.len() as u64, stats["threads"].as_u64().unwrap(), "{args}");
        assert!(stats["lines_per_second"].as_f64().unwrap() > 0.0, "{args}");
        assert_eq!(stats["input"][0]["path"], "in.txt", "{args}");
        assert_eq!(stats["profile"]["name"], "crawl@1", "{args}");
        assert_eq!(stats["profile"]["digest"].as_str().map(str::len), Some(16), "{args}");
    }
    let told = dir.run("--stats -q in.txt").exits(0);
    assert_eq!(json(&told.err)["totals"]["lines"], 10_005);
}
