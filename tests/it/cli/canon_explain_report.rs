//! The commands canon, explain and report.

use super::*;

#[test]
fn canon_keeps_lines_in_place() {
    let dir = Dir::new();
    let given = b"HTTP://A.test\r\n\r\nhttp://[bad\n  \nb.test/#x\nhttp://c.test/\xff\nmailto:x";
    let start = "http://a.test/\n\n";
    let end = "\n\nhttp://b.test/\nhttp://c.test/%FF\nmailto:x\n";
    dir.feed("canon", given).gives(format!("{start}http://[bad{end}"));
    dir.feed("canon --on-bad empty", given).gives(format!("{start}{end}"));
    dir.feed("canon --on-bad fail", given).exits(2).says("line 3: ").says("--on-bad keep");
    dir.feed("canon -p lines", given).gives([given, &b"\n"[..]].concat());
    let all = generated(30_000, 6);
    let forms = dir.feed("canon -j2", &all).quiet().out();
    assert_eq!(forms.lines().count(), 30_000);
    // What is canonical stays.
    dir.feed("canon", forms.as_bytes()).gives(&forms);
    // The canonical forms are what dedup prints.
    let mut seen = std::collections::HashSet::new();
    let first: String =
        forms.lines().filter(|l| seen.insert(*l)).map(|l| format!("{l}\n")).collect();
    dir.feed("--print canonical", &all).gives(first);
}

#[test]
fn canon_writes_what_comes_before_a_bad_line() {
    let dir = Dir::new();
    let run = dir.feed("canon --on-bad fail", b"http://a.test\nhttp://b.test\nhttp://[bad\n");
    let run = run.exits(2).says("line 3: ");
    assert_eq!(run.out(), "http://a.test/\nhttp://b.test/\n");
    // However long a password is.
    let secret = format!("http://me:{}@a b:99999999/x\n", "S".repeat(240));
    let run = dir.feed("canon --on-bad fail", secret.as_bytes()).exits(2).says("line 1: ");
    assert!(!run.words().contains("SSS"), "{}", run.words());
    // In a later batch of chunks, behind which there are more, with more bad lines.
    let lines = |count| generated(count, 3);
    let (before, after) = (lines(40_000), [b"http://[x\n", &lines(20_000)[..]].concat().repeat(2));
    let forms = dir.feed("canon", &before).quiet().out;
    dir.put("in.txt", [&before[..], &after].concat());
    for options in ["", "-S 8M -j1", "-S 8M -j2 --no-map"] {
        let run = dir.run(&format!("canon --on-bad fail {options} in.txt"));
        let run = run.exits(2).says("line 40001: ");
        assert!(run.out == forms, "{options}: {} bytes", run.out.len());
    }
    // Nobody takes what is written.
    dir.run("canon in.txt -o /dev/full").fails("/dev/full: cannot write");
}

#[test]
fn explain_one() {
    let dir = Dir::new();
    let run = dir.run("explain HTTP://A.test:80/b/../c?z=1&a=2#top").gives(
        "profile crawl@1\n\
         \x20 given             HTTP://A.test:80/b/../c?z=1&a=2#top\n\
         \x20 case              http://a.test:80/b/../c?z=1&a=2#top\n\
         \x20 default-port      http://a.test/b/../c?z=1&a=2#top\n\
         \x20 dot-segments      http://a.test/c?z=1&a=2#top\n\
         \x20 fragment          http://a.test/c?z=1&a=2\n\
         \x20 query-order       http://a.test/c?a=2&z=1\n\
         \x20 canonical         http://a.test/c?a=2&z=1\n",
    );
    drop(run);
    let run = dir.run("explain a.test").quiet();
    assert!(run.out().contains("scheme added"), "{}", run.told());
    let run = dir.run("explain http://[bad").exits(1);
    assert!(run.out().contains("taken as it is"), "{}", run.told());
    dir.run("explain -p nope http://a.test").fails("no such profile");
}

#[test]
fn explain_two() {
    let dir = Dir::new();
    for (args, status, last) in [
        ("http://a.test HTTP://A.test/#x", 0, "equal, by case,fragment,trailing-slash"),
        ("http://a.test http://a.test", 0, "equal: identical"),
        ("http://[bad http://[bad", 0, "equal: identical"),
        ("http://a.test https://a.test", 1, "not equal"),
        ("-p aggressive http://a.test https://a.test/", 0, "equal, by scheme"),
        ("http://[bad http://[BAD", 1, "not equal"),
        ("-p lines http://a.test HTTP://a.test", 1, "not equal"),
    ] {
        let run = dir.run(&format!("explain {args}")).exits(status);
        assert!(
            run.out().trim_end().lines().next_back().unwrap().starts_with(last),
            "{}",
            run.told()
        );
    }
    // A line is read without carriage returns at its end, but where bytes are compared.
    for (profile, status, last) in [("crawl", 0, "equal: identical"), ("lines", 1, "not equal")] {
        let run = dir.run_args(&["explain", "-p", profile, "/x\r", "/x"]).exits(status);
        assert!(run.out().trim_end().ends_with(last), "{}", run.told());
    }
    // Its lines are those of `canon`, and can be given again.
    let run = dir.run_args(&["explain", "-p", "whatwg", r"http://a.test/?a=\b"]).quiet();
    assert!(run.out().ends_with("canonical         http://a.test/?a=\\b\n"), "{}", run.told());
    let run = dir.run_args(&["explain", "http://a.test/\x1b[31m\u{202e}"]).quiet();
    assert!(run.out().contains("\\x1b[31m\\u{202e}") && !run.out().contains('\x1b'));
}

#[test]
fn report_as_tables() {
    let dir = Dir::with_list();
    let text = dir.run("report in.txt").quiet().out();
    for row in [
        "Duplicates in in.txt, by profile crawl@1",
        "  lines                    4",
        "  duplicate                2   50.0 %",
        "  params                          1   50.0 %",
        "  trailing-slash                  1   50.0 %",
        "           2           2           1     50.0 %     50.0 %  a.test",
        "           2  http://a.test/",
        "           1    HTTP://A.test",
    ] {
        assert!(text.lines().any(|line| line == row), "{row:?} is not in\n{text}");
    }
    dir.run("report -o report.txt in.txt").gives("");
    assert_eq!(dir.text("report.txt"), text);
    dir.put("nasty.txt", "http://a.test/\x1b[31m\u{202e}\nhttp://a.test/\x1b[31m\u{202e}#\n");
    let text = dir.run("report -p lines nasty.txt").quiet().out();
    let text = format!("{text}{}", dir.run("report nasty.txt").quiet().out());
    assert!(!text.contains(['\x1b', '\u{202e}']), "{text}");
    assert!(text.contains("\\x1b[31m\\u{202e}"), "{text}");
    for empty in ["", "\n\n"] {
        assert!(dir.feed("report", empty.as_bytes()).quiet().out().contains("unique"));
    }
}

#[test]
fn report_as_json() {
    let dir = Dir::new();
    let mut given = generated(20_000, 8);
    given.extend_from_slice(b"\nhttp://[bad\nhttp://[bad \n \xff\n");
    dir.put("in.gz", gzip(&given));
    dir.put("more.txt", LIST);
    for profile in PROFILES {
        let args = format!("report --to json --top 3 --stats=own.json -p {profile} in.gz more.txt");
        let report = json(&dir.run(&args).quiet().out);
        let total = |name: &str| report["totals"][name].as_u64().unwrap();
        assert_eq!(total("lines"), 20_008, "{profile}");
        assert_eq!(total("records"), total("unique") + total("duplicate"), "{profile}");
        assert_eq!(
            total("lines"),
            total("unique") + total("duplicate") + total("empty") + total("rejected"),
            "{profile}"
        );
        let rules = report["rules"].as_array().unwrap();
        let merged: u64 = rules.iter().map(|rule| rule["merged"].as_u64().unwrap()).sum();
        assert_eq!(merged, total("duplicate"), "{profile}: the waterfall sums up");
        assert_eq!(rules[0]["rule"], "identical", "{profile}");
        let inputs = report["input"].as_array().unwrap();
        assert_eq!(inputs.len(), 2, "{profile}");
        let input = |at: usize, name: &str| inputs[at][name].as_str().unwrap().to_string();
        assert_eq!(
            ["path", "format", "compression"].map(|name| input(0, name)),
            ["in.gz", "lines", "gzip"]
        );
        assert_eq!(
            ["path", "format", "compression"].map(|name| input(1, name)),
            ["more.txt", "lines", "none"]
        );
        let hosts = &report["by"]["host"];
        assert!(hosts["rows"].as_array().unwrap().len() <= 3, "{profile}");
        assert!(hosts["names"].as_u64().unwrap() > 3, "{profile}");
        assert!(report["clusters"].as_array().unwrap().len() <= 3, "{profile}");
        assert_eq!(report["profile"]["name"], format!("{profile}@1"));
        let own = json(&dir.get("own.json"));
        let table_bytes = own["memory"]["table_bytes"].as_u64().unwrap();
        assert!(table_bytes >= 40 * total("unique"), "{profile}: {table_bytes}");
        // dedup agrees.
        dir.run(&format!("-p {profile} --stats=stats.json in.gz more.txt")).quiet();
        let stats = json(&dir.get("stats.json"));
        for name in ["lines", "records", "unique", "duplicate", "empty", "unparsed"] {
            assert_eq!(stats["totals"][name], report["totals"][name], "{profile}: {name}");
        }
    }
}

/// Each line counts, though its spelling is followed once.
#[test]
fn report_counts_all_lines_of_a_spelling() {
    let dir = Dir::new();
    dir.put(
        "rules.toml",
        "[[rule]]\nsite='a.test'\nkind='drop-param'\nparam='n'\nstatus='manual'\n",
    );
    let given = "http://a.test/?n=1&utm_source=x\n".repeat(5) + "http://a.test/\n";
    let run = dir.feed("report --rules rules.toml --to json", given.as_bytes());
    let report = json(&run.quiet().out);
    let changed = |rules: &str, name: &str, rule: &str| {
        let rules = report[rules].as_array().unwrap().iter();
        rules
            .filter(|one| one[name] == rule)
            .map(|one| one["changed"].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(changed("rules", "rule", "params"), 5);
    assert_eq!(changed("rules", "rule", "dust"), 5);
    assert_eq!(changed("site_rules", "title", "a.test: drop-param n"), 5);
}

/// Where a duplicate is spelled as it should be, the earlier line is the example.
#[test]
fn examples_show_what_the_rule_changes() {
    let dir = Dir::new();
    let (given, canonical) = ("http://a.test/?utm_source=q", "http://a.test/");
    dir.put(
        "in.txt",
        format!("http://b.test/\n{given}\n{canonical}\n www.c.test/d\nhttp://www.c.test/d\n"),
    );
    dir.put("many.txt", [given, "\n", canonical, "\n"].concat().repeat(500));
    for (how, file, rule, line, before, after) in [
        ("", "in.txt", "params", 2, given, canonical),
        ("-S 8M --threads 1", "in.txt", "params", 2, given, canonical),
        ("", "in.txt", "parse", 4, " www.c.test/d", "http://www.c.test/d"),
        ("", "many.txt", "params", 1, given, canonical),
        ("--top 0", "in.txt", "params", 3, canonical, canonical),
    ] {
        let report = json(&dir.run(&format!("report --to json {how} {file}")).exits(0).out);
        let rules = report["rules"].as_array().unwrap();
        let row = rules.iter().find(|row| row["rule"] == rule).unwrap();
        let expected = serde_json::json!([{ "line": line, "before": before, "after": after }]);
        assert_eq!((&row["merged"], &row["examples"]), (&1.into(), &expected), "{how} {file}");
    }
    let text = dir.run("report in.txt").exits(0).out();
    assert!(text.contains(&format!("      {given}\n   => {canonical}\n")), "{text}");
    let page = dir.run("report --to html in.txt").exits(0).out();
    assert!(page.contains("in.txt") && page.contains("utm_source=q</mark>"), "{page}");
}

/// How many rows are shown does not change what the totals are.
#[test]
fn report_of_a_log_is_one_without_rows() {
    let dir = Dir::new();
    let line = "h - - [10/Oct/2000:13:55:36 +0000] \"GET /a HTTP/1.1\" 200 1\n";
    dir.put("a.log", line.repeat(3));
    let totals = |top: u32| {
        let text = dir.run(&format!("report --top {top} a.log")).exits(0).out();
        text.split("What makes them equal").next().unwrap().to_string()
    };
    assert!(totals(1).contains("requests                 3"), "{}", totals(1));
    assert_eq!(totals(0), totals(1));
}

#[test]
fn report_of_a_folder_without_files() {
    let dir = Dir::new();
    fs::create_dir(dir.path("empty")).unwrap();
    let run = dir.run("report -r empty").exits(0);
    assert!(run.out().starts_with("Duplicates in 0 files, by profile crawl@1\n"), "{}", run.out());
}

#[test]
fn report_knows_the_flags_it_takes() {
    let dir = Dir::with_list();
    dir.run("report --stats=stats.json in.txt").quiet();
    assert_eq!(json(&dir.get("stats.json"))["totals"]["lines"], 4);
    for command in ["dedup", "canon", "report"] {
        dir.run(&format!("{command} -v in.txt")).exits(0).says("in.txt: lines, not compressed");
    }
}
