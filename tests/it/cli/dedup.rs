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
fn counts_repeated_and_unique() {
    let dir = Dir::new();
    dir.put("in.txt", format!("{LIST}http://c.test/\nHTTP://a.test/\n"));
    let c = "http://c.test/\n";
    dir.run("-c in.txt").gives(
        "      3 http://a.test/\n      2 http://b.test/?x=1&utm_source=q\n      1 http://c.test/\n",
    );
    dir.run("-d in.txt").gives(KEPT);
    dir.run("-u in.txt").gives(c);
    dir.run("-dc in.txt")
        .gives("      3 http://a.test/\n      2 http://b.test/?x=1&utm_source=q\n");
    dir.run("-uc in.txt").gives("      1 http://c.test/\n");
    dir.run("-d -u in.txt").fails("cannot be used with");
}

#[test]
fn representatives() {
    let dir = Dir::new();
    dir.put("in.txt", "http://a.test/#x\nhttp://b.test/\nhttp://A.test\nHTTP://a.test/\n");
    for (args, expected) in [
        ("--keep first", "http://a.test/#x\nhttp://b.test/\n"),
        ("--keep last", "http://b.test/\nHTTP://a.test/\n"),
        ("--keep shortest", "http://b.test/\nhttp://A.test\n"),
        ("--print canonical", "http://a.test/\nhttp://b.test/\n"),
        ("--print canonical --keep last", "http://b.test/\nhttp://a.test/\n"),
        ("--keep last -d", "HTTP://a.test/\n"),
    ] {
        dir.run(&format!("{args} in.txt")).gives(expected);
    }
    // Of two that are equally short the first stays.
    dir.feed("--keep shortest", b"http://A.test\nhttp://a.test\n").gives("http://A.test\n");
}

#[test]
fn clusters_are_told_with_all_spellings() {
    let dir = Dir::new();
    let list = "http://a.test/\nHTTP://A.test\nhttp://b.test/\nhttp://a.test/\nhttp://a.test/\t\n";
    dir.put("in.txt", list);
    let a = "1\t2\thttp://a.test/\n1\t1\tHTTP://A.test\n1\t1\thttp://a.test/\t\n";
    let head = "cluster\tcount\turl\n";
    dir.run("--clusters in.txt").gives(format!("{head}{a}2\t1\thttp://b.test/\n"));
    dir.run("--clusters -d in.txt").gives(format!("{head}{a}"));
    dir.run("--clusters -u in.txt").gives(format!("{head}1\t1\thttp://b.test/\n"));
    let last = dir.run("--clusters -d --keep last in.txt").quiet().out();
    assert_eq!(last.lines().nth(1), Some("1\t1\thttp://a.test/\t"));
}

#[test]
fn dropped_lines_are_told_with_reasons() {
    let dir = Dir::with_list();
    dir.run("--dropped dropped.tsv in.txt").gives(KEPT);
    let head = "line\tkept_line\trules\tdropped\tkept\n";
    assert_eq!(
        dir.text("dropped.tsv"),
        format!(
            "{head}2\t1\tcase,trailing-slash\tHTTP://A.test\thttp://a.test/\n\
             4\t3\tparams\thttp://b.test/?x=1\thttp://b.test/?x=1&utm_source=q\n"
        )
    );
    dir.feed("--dropped dropped.tsv", b"http://a.test/\\\t\nhttp://a.test/\\\t\r\n").quiet();
    assert_eq!(
        dir.text("dropped.tsv"),
        format!("{head}2\t1\tidentical\thttp://a.test/\\\\\\t\thttp://a.test/\\\\\\t\n")
    );
    // What is kept and what is dropped is everything.
    dir.put("big.txt", generated(20_000, 3));
    let kept = dir.run("--dropped dropped.tsv big.txt").quiet().out();
    let table = dir.text("dropped.tsv");
    let dropped = table.lines().skip(1).map(|row| row.split('\t').nth(3).unwrap());
    let mut told: Vec<&str> = kept.lines().chain(dropped).collect();
    let all = dir.text("big.txt");
    let mut all: Vec<&str> = all.lines().collect();
    told.sort_unstable();
    all.sort_unstable();
    assert!(told == all);
    assert!(!table.contains("\t\t"), "every row has a reason");
}

#[test]
fn seen_files_grow() {
    let dir = Dir::with_list();
    dir.run("--seen seen in.txt").gives(KEPT);
    dir.run("--seen seen in.txt").gives("");
    dir.feed("--seen seen", b"http://c.test/\nhttp://A.test/\nhttp://c.test\n")
        .gives("http://c.test/\n");
    let stats = dir.feed("--seen seen --stats=stats.json", b"http://c.test/\nhttp://d.test/\n");
    stats.gives("http://d.test/\n");
    assert_eq!(json(&dir.get("stats.json"))["totals"]["duplicate"], 1);
    let before = dir.get("seen");
    dir.run("--seen seen -p aggressive in.txt").fails("another profile");
    assert!(dir.get("seen") == before);
    for args in ["-c", "-d", "-u", "--clusters", "--dropped x", "--check", "--keep last"] {
        dir.run(&format!("--seen seen {args} in.txt")).fails("--seen");
    }
    assert_eq!(dir.names(), ["in.txt", "seen", "stats.json"]);
}

/// What a run remembers is not lost when another has begun before and ends behind it.
#[test]
fn a_seen_file_that_another_run_has_changed_is_an_error() {
    let dir = Dir::with_list();
    let slow = |meanwhile: &dyn Fn()| {
        let mut child = dir.command(&["--seen", "seen", "--stats=stats"]).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"http://slow.test/\n").unwrap();
        // Its first line is there: so it has read the seen file.
        let mut first = [0; 18];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        meanwhile();
        drop(stdin);
        Run::end("--seen seen".to_string(), child)
    };
    let fast = || drop(dir.run("--seen seen in.txt").gives(KEPT));
    let other = || drop(dir.feed("--seen seen", b"http://other.test/\n").quiet());
    let delete = || fs::remove_file(dir.path("seen")).unwrap();
    for (meanwhile, names) in [
        (&fast as &dyn Fn(), &["in.txt", "seen"][..]),
        (&other, &["in.txt", "seen"]),
        (&delete, &["in.txt"]),
    ] {
        slow(meanwhile).exits(2).says("another run has changed it");
        assert_eq!(dir.names(), names, "nothing else is published or left");
        if dir.path("seen").exists() {
            dir.run("--seen seen in.txt").gives("");
        }
    }
    // With nobody in between.
    slow(&|| ()).quiet();
    dir.feed("--seen seen", b"http://slow.test/\n").gives("");
}

#[test]
fn damaged_seen_files_are_refused() {
    let dir = Dir::with_list();
    dir.run("--seen seen in.txt").quiet();
    let good = dir.get("seen");
    let mut flipped = good.clone();
    flipped[20] ^= 1;
    for bad in [&good[..good.len() - 1], &good[..40], &flipped, b"", LIST.as_bytes()] {
        dir.put("bad", bad);
        dir.run("--seen bad in.txt").fails("bad: ");
        assert!(dir.get("bad") == bad, "a damaged file is left as it is");
    }
    dir.run("--seen in.txt in.txt").fails("in.txt: expected a seen file");
    // Not written once, to be refused ever after.
    dir.run("--seen seen.zst in.txt").fails("seen.zst: such a file is not compressed");
    assert!(!dir.path("seen.zst").exists());
}

#[test]
fn keys_for_sorting() {
    let dir = Dir::with_list();
    let keys = "test,a)/\ntest,b)/?x=1\n";
    dir.run("--print surt in.txt").gives(keys);
    dir.run("canon --print surt in.txt").gives("test,a)/\ntest,a)/\ntest,b)/?x=1\ntest,b)/?x=1\n");
    dir.run("-c --print surt in.txt").gives("      2 test,a)/\n      2 test,b)/?x=1\n");
    dir.feed("--print surt", b"http://[bad.x\n/a.b\n").gives("http://[bad.x\n/a.b\n");
}

#[test]
fn keys_of_indexes_of_web_archives() {
    let dir = Dir::new();
    for (index, format) in [("captures.cdx", "cdx"), ("captures.cdxj", "cdxj")] {
        let text =
            fs::read_to_string(format!("{}/data/samples/{index}", env!("CARGO_MANIFEST_DIR")))
                .unwrap();
        let lines = text.lines().filter(|line| !line.starts_with(" CDX") && !line.starts_with('!'));
        let expected: String =
            lines.map(|line| line.split(' ').next().unwrap().to_owned() + "\n").collect();
        dir.put(index, text);
        let keys = dir.run(&format!("canon -f {format} --print urlkey {index}")).quiet().out();
        let keys: String =
            keys.lines().filter(|key| !key.is_empty()).map(|key| key.to_owned() + "\n").collect();
        assert_eq!(keys, expected);
    }
    // Whatever the profile takes for one page.
    let list =
        b"https://www.A.test/X/?utm_source=1&b=2#c\nhttp://a.test/x?B=2\nmailto:A@b.test\n/x\n";
    let keys = "test,a)/x?b=2&utm_source=1\ntest,a)/x?b=2\nmailto:A@b.test\n/x\n";
    for profile in ["lines", "crawl", "aggressive"] {
        dir.feed(&format!("canon -p {profile} --print urlkey"), list).gives(keys);
    }
    dir.feed("-p aggressive --print urlkey", b"http://a.test/X?b\nhttps://www.a.test/X/?b\n")
        .gives("test,a)/x?b\n");
    dir.feed("canon --default-scheme http --print urlkey", b"www.a.test:8080/X\n")
        .gives("test,a:8080)/x\n");
}

#[test]
fn what_is_in_another_list_is_left_out() {
    let dir = Dir::with_list();
    let new = "http://c.test/\nhttp://A.test/\nhttp://c.test\nhttp://B.test:80/x?utm_source=1\n";
    dir.put("new", new);
    dir.put("known", "http://a.test\nhttp://b.test/x\nhttp://b.test/x#y\n");
    dir.run("new --not-in known").gives("http://c.test/\n");
    dir.run("--print canonical new --not-in known").gives("http://c.test/\n");
    dir.run("-p lines new --not-in known").gives(new);
    dir.run("new --not-in new").gives("");
    dir.run("-q new --not-in /dev/null")
        .gives("http://c.test/\nhttp://A.test/\nhttp://B.test:80/x?utm_source=1\n");
    // Other formats, packed, several, and as a stream; filters are for the input.
    dir.put("table.csv", "id,url\n7,http://a.test/\n8,http://b.test/x\n");
    dir.run("-q known -o known.zst").quiet();
    dir.put("c", "http://c.test/\n");
    for known in ["table.csv", "known.zst", "-"] {
        let args = format!("--include c.test new --not-in {known}");
        dir.feed(&args, b"http://a.test\nhttp://b.test/x\n").gives("http://c.test/\n");
    }
    dir.run("new --not-in c --not-in table.csv").gives("");
    dir.feed("--not-in table.csv", new.as_bytes()).gives("http://c.test/\n");
    dir.put("paths", "{\"path\":\"/x\"}\n{\"path\":\"/y\"}\n");
    dir.put("log.jsonl", "{\"path\":\"/x\"}\n{\"path\":\"/z\"}\n");
    dir.run("--field path --base-url http://b.test log.jsonl --not-in paths")
        .gives("http://b.test/z\n");
    // A folder.
    fs::create_dir(dir.path("old")).unwrap();
    dir.put("old/c", "http://c.test/\n");
    dir.run("new --not-in old").fails("--not-in: old: expected a file, found a directory");
    let left = "http://A.test/\nhttp://B.test:80/x?utm_source=1\n";
    dir.run("-r new --not-in old").gives(left);
    dir.run("-r new --not-in old -o old/c").fails("old/c: is an input as well");
    dir.run("-r new --not-in old --rejects old/c").fails("old/c: is an input as well");
    assert_eq!(dir.text("old/c"), "http://c.test/\n");
    dir.put("nul", "http://a.test/\0http://b.test/x\0");
    dir.feed("-0 --not-in nul", b"http://b.test/x#y\0http://d.test/\0").gives("http://d.test/\0");
    dir.put("names", "new\n");
    dir.run("--files-from names --not-in table.csv").gives("http://c.test/\n");
}

/// What a file says itself comes first, then what the flags say of the input.
#[test]
fn formats_of_what_is_left_out() {
    let dir = Dir::with_list();
    dir.put("list", "http://a.test/\nhttp://b.test/\nhttp://c.test/\n");
    dir.put("rows.csv", "seed,via\nhttp://a.test/,http://b.test/\nhttp://c.test/,http://d.test/\n");
    dir.put("url.csv", "n,url\n1,http://a.test/\n2,http://b.test/\n");
    for (args, left) in [
        ("--field seed rows.csv --not-in url.csv", "http://c.test/\n"),
        ("--field via rows.csv --not-in list", "http://d.test/\n"),
        // The same columns there.
        ("--field via rows.csv --not-in rows.csv", ""),
    ] {
        dir.run(args).gives(left);
    }
    dir.put("rows.jsonl", "{\"x\":\"http://a.test/\"}\n{\"x\":\"http://d.test/\"}\n");
    for (args, left, as_what) in [
        ("-f lines list --not-in url.csv", "http://c.test/\n", "url.csv: read as csv"),
        ("-f csv url.csv --not-in list", "", "list: read as lines"),
        ("-f jsonl --field x rows.jsonl --not-in list", "http://d.test/\n", "list: read as lines"),
    ] {
        let run = dir.run(args).exits(0);
        assert_eq!(run.out(), left, "{args}");
        run.says(&format!("--not-in: {as_what}, which it looks like, though --format says "));
        dir.run(&format!("-q {args}")).gives(left);
    }
    // Rows without a header may as well be what the flag says.
    dir.put("commas", "http://a.test/,1,b c\n");
    dir.put("tabs", "http://a.test/,1\tx\n");
    let new = "http://a.test/\nhttp://a.test/,1,b c\nhttp://a.test/,1\n";
    dir.put("new", new);
    for (args, left) in [
        ("-f lines new --not-in commas", "http://a.test/\nhttp://a.test/,1\n"),
        ("new --not-in commas", "http://a.test/,1,b c\nhttp://a.test/,1\n"),
        ("-f lines new --not-in tabs", "http://a.test/\nhttp://a.test/,1,b c\n"),
    ] {
        assert_eq!(dir.run(args).exits(0).out(), left, "{args}");
    }
    // Where the content does not tell.
    dir.put("odd", "GET http://a.test/ 1\nGET http://b.test/ 2\n");
    let mut odd =
        dir.command(&["--log-format", "$request_method $request_uri $n", "odd", "--not-in", "odd"]);
    let out = odd.output().unwrap();
    assert!(out.status.success() && out.stdout.is_empty(), "{out:?}");
}

#[test]
fn what_is_not_understood_is_not_known_and_told() {
    let dir = Dir::with_list();
    dir.put("junk", "some words of no use here\n".repeat(30));
    let run = dir.run("in.txt --not-in junk").exits(0);
    assert_eq!(run.out(), KEPT);
    run.says("junk: taken for a list, though 0 % of its first 30 lines look like URLs");
    dir.run("-q in.txt --not-in junk").gives(KEPT);
    dir.put("empty", "\n");
    fs::create_dir(dir.path("folder")).unwrap();
    for (args, told) in [
        ("in.txt --not-in empty", "--not-in: no URL was found in empty, so nothing is left out"),
        ("-r in.txt --not-in folder", "--not-in: no file was found in what was named"),
    ] {
        let run = dir.run(args).exits(0);
        assert_eq!(run.out(), KEPT);
        run.says(told);
    }
    dir.put("paths", "/a\n".repeat(20) + "/b\n");
    dir.run("in.txt --not-in paths").exits(0).says("are not URLs, and were compared byte for byte");
}

#[test]
fn what_is_left_out_is_counted_apart() {
    let dir = Dir::new();
    dir.put("new.csv", "id,url\n1,http://c.test/\n2,http://A.test/\n");
    dir.put("known.csv", "id,url\n7,http://a.test/\n8,http://A.test\n9,http://A.test:80\n10\n");
    let run = dir.run("-f csv new.csv --not-in known.csv --stats=stats.json").exits(0);
    assert_eq!(run.out(), "http://c.test/\n");
    run.says(
        "known: first not-format: line 5: \"10\"\nknown: 5 lines: 1 unique, 2 duplicate (66.7 %)",
    );
    let stats = json(&dir.get("stats.json"));
    assert_eq!(stats["totals"]["lines"], 3);
    assert_eq!(stats["totals"]["duplicate"], 1);
    assert_eq!(stats["known"]["totals"]["unique"], 1);
    assert_eq!(stats["known"]["totals"]["rejected"], 1);
    assert_eq!(stats["known"]["rejected_by_kind"]["not-format"], 1);
    assert_eq!(stats["known"]["input"][0]["format"], "csv");
    assert!(stats["known"]["stages"]["clustering"]["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(stats["known"]["memory"]["spilled_bytes"], 0);
    dir.run("new.csv --stats=stats.json").quiet();
    assert!(json(&dir.get("stats.json"))["known"].is_null());
}

#[test]
fn a_seen_file_may_be_left_out_as_it_is() {
    let dir = Dir::with_list();
    dir.run("--seen seen in.txt").gives(KEPT);
    let seen = dir.get("seen");
    dir.put("new", [KEPT, "http://new.test/\n"].concat());
    dir.run("new --not-in seen").gives("http://new.test/\n");
    assert!(dir.get("seen") == seen);
    dir.run("new -p aggressive --not-in seen").fails("seen: ").says("another profile");
    dir.run("new --not-in seen --not-in in.txt").fails("takes one such file, alone");
    dir.feed("new --not-in -", &seen).fails("takes one such file, alone");
    // Its first bytes stand in the code of inputs as well.
    dir.run("seen").fails("seen: expected URLs, found a file that --seen keeps");
    dir.put("seen", &seen[..seen.len() - 1]);
    dir.run("new --not-in seen").fails("seen: the seen file ends too early");
}

#[test]
fn what_is_known_is_read_whole_or_the_run_fails() {
    let dir = Dir::with_list();
    dir.put("out", "before");
    dir.run("-q in.txt -o known.zst").quiet();
    let whole = dir.get("known.zst");
    dir.put("known.zst", &whole[..whole.len() - 9]);
    dir.run("in.txt -o out --not-in known.zst").fails("--not-in: known.zst: ").says("zstd");
    dir.run("in.txt -o out --not-in missing").fails("--not-in: missing: cannot read");
    dir.run("--not-in - -o out").fails("--not-in -: standard input is to be read already");
    dir.run("--files-from - --not-in - -o out").fails("standard input is to be read already");
    dir.run("in.txt -o known.zst --not-in known.zst").fails("known.zst: is an input as well");
    for args in [
        "-c",
        "-d",
        "-u",
        "--clusters",
        "--dropped x",
        "--check",
        "--keep last",
        "--to tsv",
        "--seen s",
    ] {
        dir.run(&format!("--not-in in.txt {args} in.txt")).fails("--not-in");
    }
    assert_eq!(dir.text("out"), "before");
    assert_eq!(dir.names(), ["in.txt", "known.zst", "out"]);
}

/// In a list a path is what it is, and two slashes begin a host; in a log both are paths of a host
/// that nobody knows.
#[test]
fn what_begins_with_slashes_is_told_as_it_was_read() {
    let dir = Dir::new();
    dir.put("in.txt", "//www.a.test/x\nhttp://a.test/x\n/a/ /c\n/a/ /c\r\n");
    let run = dir.run("-p aggressive --dropped dropped.tsv in.txt").exits(0);
    assert_eq!(run.out(), "//www.a.test/x\n/a/ /c\n");
    let head = "line\tkept_line\trules\tdropped\tkept\n";
    let expected =
        "2\t1\tparse,www\thttp://a.test/x\t//www.a.test/x\n4\t3\tidentical\t/a/ /c\t/a/ /c\n";
    assert_eq!(dir.text("dropped.tsv"), format!("{head}{expected}"));
    let rows = dir.run("-p aggressive --clusters --to tsv in.txt").exits(0).out();
    let canonical: Vec<&str> =
        rows.lines().skip(2).map(|row| row.split('\t').next_back().unwrap()).collect();
    assert_eq!(canonical, ["http://a.test/x", "http://a.test/x", "/a/ /c"]);
    let forms = "http://a.test/x\nhttp://a.test/x\n/a/ /c\n/a/ /c\n";
    dir.run("canon -p aggressive in.txt").gives(forms);
    let request = |target: &str| {
        format!("h - - [10/Oct/2000:13:55:36 +0000] \"GET {target} HTTP/1.1\" 200 1\n")
    };
    dir.put("log", [request("//www.a.test/x"), request("/www.a.test/x")].concat());
    let rows = dir.run("-p aggressive --format clf --clusters --to tsv log").exits(0).out();
    let ends = rows.lines().skip(2).filter(|row| row.ends_with("\t/www.a.test/x"));
    assert_eq!((rows.lines().count(), ends.count()), (4, 2), "{rows}");
}

/// They are in what is kept, and in nothing that is told.
#[test]
fn carriage_returns_are_no_part_of_a_spelling() {
    let dir = Dir::new();
    dir.put("lf", "http://a.test/\nhttp://[\n");
    dir.put("crlf", "http://a.test/\r\nhttp://[\r\r\n");
    let head = "line\tkept_line\trules\tdropped\tkept\n";
    let rows = format!(
        "{head}3\t1\tidentical\thttp://a.test/\thttp://a.test/\n4\t2\tidentical\thttp://[\thttp://[\n"
    );
    for (files, kept) in
        [("crlf lf", "http://a.test/\r\nhttp://[\r\r\n"), ("lf crlf", "http://a.test/\nhttp://[\n")]
    {
        for how in ["", "--keep shortest", "-S 8M --threads 1"] {
            assert_eq!(dir.run(&format!("{how} {files}")).exits(0).out(), kept);
        }
        assert_eq!(dir.run(&format!("--dropped d {files}")).exits(0).out(), kept);
        assert_eq!(dir.text("d"), rows);
        let clusters = "cluster\tcount\turl\n1\t2\thttp://a.test/\n2\t2\thttp://[\n";
        assert_eq!(dir.run(&format!("--clusters {files}")).exits(0).out(), clusters);
        let report = dir.run(&format!("report --to json {files}")).exits(0).out();
        let report = json(report.as_bytes());
        assert_eq!(report["totals"]["other_spelling"], 0, "{report}");
        let rules = ["identical", "parse"].map(|name| {
            let rules = report["rules"].as_array().unwrap();
            rules.iter().find(|rule| rule["rule"] == name).unwrap()["merged"].as_u64()
        });
        assert_eq!(rules, [Some(2), Some(0)]);
        assert_eq!(report["clusters"][0]["spellings_total"], 1);
    }
    // The same with a base URL, and in rows of every kind.
    for how in ["canon", "", "--clusters", "canon --base-url http://a.test"] {
        let out = dir.run(&format!("{how} --to tsv crlf")).exits(0).out();
        assert!(!out.contains("\\r"), "{out}");
    }
    // Where bytes are compared, they differ.
    let out = dir.run("-p lines --clusters --to tsv lf crlf").exits(0).out();
    assert!(out.contains("3\t1\thttp://a.test/\\r\thttp://a.test/\\r\t"), "{out}");
}

#[test]
fn check_answers_by_exit_status() {
    let dir = Dir::with_list();
    let run = dir.run("--check in.txt").exits(1).says("line 2 is a duplicate");
    assert!(run.out.is_empty());
    let run = dir.run("--check -q in.txt").exits(1);
    assert!(run.out.is_empty() && run.err.is_empty(), "{}", run.told());
    dir.feed("--check", b"http://a.test/\n\n\nhttp://b.test/\n").gives("");
    // Nothing was compared, which nobody should take for "no duplicate".
    let twice = b"http://a.test/\nhttp://a.test/\n";
    dir.feed("--check -f combined", twice)
        .fails("--format combined: expected records of that kind");
    dir.feed("--check --include b.test", twice).exits(0).says("nothing is left");
    dir.feed("--check -v --disable fragment", b"http://a.test/\n").exits(0).says("1 unique, 0 dup");
    dir.feed("--check", b"http://a.test/\n\n\nhttp://a.test/\n").exits(1).says("line 4");
    // Of a row, the URL alone.
    dir.put("rows.csv", "url,name\r\nhttp://a.test/,x\r\nhttp://a.test/,y\r\n");
    for memory in ["", "-S 8M --threads 1"] {
        let run = dir.run(&format!("--check {memory} rows.csv")).exits(1);
        assert!(run.words().ends_with("line 3 is a duplicate: http://a.test/\n"), "{}", run.told());
    }
    // It stands before the damage; with little memory it waits for the end of what can be read.
    let unique: String = (0..250_000).map(|n| format!("http://a.test/{n}\n")).collect();
    let rest: String = (0..60_000).map(|n| format!("http://b.test/{n}\n")).collect();
    let packed = zstd(format!("{unique}http://a.test/7\n{rest}").as_bytes());
    dir.put("cut.zst", &packed[..packed.len() - packed.len() / 10]);
    for options in ["", "-S 8M -j1"] {
        dir.run(&format!("--check {options} cut.zst")).exits(1).says("line 250001 is a duplicate");
    }
    let packed = zstd(unique.as_bytes());
    dir.put("cut.zst", &packed[..packed.len() / 2]);
    dir.run("--check cut.zst").exits(2).says("cut.zst");
    dir.run("--check -p lines in.txt").gives("");
    for flags in ["--rejects x", "--to tsv", "--excel", "--to csv --excel"] {
        dir.run(&format!("--check {flags} in.txt")).fails("cannot be used with");
        assert!(!dir.path("x").exists(), "{flags}");
    }
    dir.run("--check missing.txt").fails("missing.txt");
    dir.put("more.txt", "http://c.test/\nhttp://A.test/\n");
    dir.run("dedup -p lines --check in.txt more.txt").gives("");
    dir.feed("--check - more.txt", b"http://a.test/\n").exits(1).says("more.txt, line 2 is");
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
