//! `--not-in`: what is in another list is left out.

use super::*;

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
    dir.run("new --not-in old").fails("--not-in: old: expected a file, found a folder");
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
    dir.run("seen").fails("seen: expected URLs, found a seen file");
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
