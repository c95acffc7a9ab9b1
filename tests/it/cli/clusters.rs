//! What dedup says of clusters: counts, representatives, all spellings, dropped lines.

use super::*;

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
        assert_eq!(report["totals"]["respelled"], 0, "{report}");
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
