//! Configuration and messages.

use super::*;

#[test]
fn configuration_by_flag_and_by_environment() {
    let dir = Dir::new();
    let given = b"http://www.a.test/?ref=1\nhttp://a.test/\nhttps://a.test/\n";
    dir.put("site.toml", "profile = 'aggressive'\nstrip-params = ['ref']\n");
    dir.feed("--config site.toml", given).gives("http://www.a.test/?ref=1\n");
    dir.feed("--config site.toml --disable www,scheme", given).gives(given);
    dir.feed("--config site.toml -p crawl", given).gives(given);
    dir.put("other.toml", "profile = 'lines'\n");
    let with_env = |args: &[&str]| {
        let mut command = dir.command(args);
        command.env("UNDUST_CONFIG", "site.toml");
        Run::of(command, given)
    };
    with_env(&["dedup"]).gives("http://www.a.test/?ref=1\n");
    with_env(&["--config", "other.toml"]).gives(given);
    with_env(&["--config", ""]).gives(given);
    dir.put("site.toml", "colour = 1\n");
    let wrong = with_env(&["dedup"]).exits(2).says("undust: UNDUST_CONFIG: site.toml: line 1: ");
    assert!(wrong.out.is_empty());
    let named = dir.feed("--config site.toml", given).exits(2);
    assert!(!named.words().contains("UNDUST_CONFIG"), "{}", named.words());
    // Nothing that merely lies here changes a result.
    for name in ["undust.toml", ".undust.toml"] {
        dir.put(name, "profile = 'aggressive'\n");
    }
    dir.feed("dedup", given).gives(given);
}

#[test]
fn mistakes_in_configuration_name_the_file() {
    let dir = Dir::with_list();
    for (text, why) in [
        ("colour = 1\n", "colour"),
        ("profile = 7\n", "string"),
        ("profile = 'nope'\n", "no such profile"),
        ("enable = ['wwww']\n", "no rule \"wwww\""),
        ("slash = 'maybe'\n", "keep, add or remove"),
        ("profile = 'lines'\nenable = ['www']\n", "lines"),
        ("[hosts]\n'a.test' = 'b.test'\n", "address"),
    ] {
        dir.put("bad.toml", text);
        dir.run("--config bad.toml in.txt").fails(why).says("bad.toml: ");
    }
    dir.run("--config missing.toml in.txt").fails("undust: missing.toml: cannot read");
    dir.run("--config . in.txt").fails("expected a file, found a folder\n");
    dir.run("-T missing in.txt").fails("--temp-dir missing: expected a folder, found nothing");
    dir.put("bad.hosts", "127.0.0.1\n");
    dir.run("--hosts bad.hosts in.txt").fails("bad.hosts: line 1: ");
    dir.put("bad.rules", "x");
    dir.run("--rules bad.rules in.txt").fails("bad.rules: ");
}

#[test]
fn values_that_are_missing_in_a_configuration_are_told() {
    let dir = Dir::with_list();
    dir.put("c.toml", "[[default-params]]\nname = \"x\"\n");
    dir.run("--config c.toml in.txt").fails("expected a value for x, found none");
    dir.put("c.toml", "[[default-params]]\nname = \"x\"\nvalue = \"\"\n");
    dir.feed("canon --config c.toml", b"http://a.test/?x=&y=1\n").gives("http://a.test/?y=1\n");
}

#[test]
fn flags_of_other_programs_are_told_what_is_meant() {
    let dir = Dir::with_list();
    for (args, tip) in [
        ("report --json in.txt", "'--to json'"),
        ("report --html in.txt", "'--to html'"),
        ("dedup --html in.txt", "'report --to html'"),
        ("--html in.txt", "'report --to html'"),
        ("--json in.txt", "'--to jsonl'"),
        ("--csv in.txt", "'--to csv'"),
        ("canon --jobs 2 in.txt", "'--threads'"),
        ("rules export --json in.rules", "'--to json'"),
    ] {
        dir.run(args).exits(2).says(&format!("a similar argument exists: {tip}"));
    }
    // No flag of the command is meant.
    for args in ["explain --json http://a.test/", "--jsons in.txt"] {
        let words = dir.run(args).exits(2).says("unexpected argument").words();
        assert!(!words.contains("--to"), "{words}");
    }
}

#[test]
fn columns_of_what_is_no_table_are_told_as_such() {
    let dir = Dir::new();
    let line =
        r#"test,a)/ 20140126200624 {"url": "http://a.test/", "digest": "X", "status": "200"}"#;
    dir.put("in.cdxj", format!("{line}\n{line}\n"));
    let run =
        dir.run("--field digest in.cdxj").fails("--field url=digest: there is no such column");
    run.says("looks like cdxj, whose columns are known (leave out --field); as a table: ");
    dir.put("in.csv", "page,n\nhttp://a.test/,1\n");
    let words = dir.run("--field url in.csv").fails("there is no such column").words();
    assert!(!words.contains("looks like"), "{words}");
}

/// What was there before is worth more than results of a mistake.
#[test]
fn files_that_are_not_what_flags_say_give_no_results() {
    let dir = Dir::with_list();
    dir.put("in.jsonl", "{\"url\":\"http://a.test/\"}\n");
    dir.put("out", "old");
    for (args, flag) in [
        ("-f combined in.txt", "--format combined"),
        ("--field /nope in.jsonl", "--field /nope"),
        ("--log-format $uri|$status in.txt", "--log-format $uri|$status"),
    ] {
        for command in ["", "canon", "report", "-c"] {
            let run = dir.run(&format!("{command} {args} -o out")).fails(flag);
            assert!(run.words().contains("; the first: "), "{}", run.told());
        }
    }
    assert_eq!(dir.text("out"), "old");
    dir.run("canon -q --on-bad empty -f combined in.txt").gives("\n\n\n\n");
    // Filters are no mistake, nor are lines that the format knows to be no pages.
    dir.put("in.log", "h - - [1/Oct/2000:01:02:03 +0000] \"-\" 408 0\n");
    dir.run("-f clf in.log").exits(0).says("nothing is left");
    dir.run("--field url --include b.test in.jsonl").exits(0).says("nothing is left");
}

#[test]
fn lists_without_a_url_are_doubted() {
    let dir = Dir::new();
    let words = "taken for a list, though 0 % of its first";
    dir.feed("dedup", b"date,clicks\n2026-01-01,3\n").exits(0).says(words);
    dir.feed("dedup -p lines", b"date,clicks\n2026-01-01,3\n").quiet();
    dir.feed("dedup", b"x\nhttp://a.test/\n").quiet();
    // A table whose columns nobody can choose from.
    let links: String =
        (0..40).map(|n| format!("http://a.test/{n},http://b.test/{},200\n", n % 7)).collect();
    dir.feed("dedup", links.as_bytes()).exits(0).says("most of its first lines have several URLs");
    dir.feed("dedup -f lines", links.as_bytes()).quiet();
    dir.feed("dedup --field 2", links.as_bytes()).quiet();
}

#[test]
fn lists_that_may_be_something_else_are_doubted() {
    let dir = Dir::new();
    let rows = |row: &str, count: usize| format!("{row}\n").repeat(count);
    let links = "https://s.test/p;https://s.test/q;0";
    for (text, words) in [
        (
            format!("von;nach;x\n{}", rows(links, 2)),
            "lines have several URLs; if it is a table, --field says in which column they are, as in --field 1; \
             its columns are 1 \"von\", 2 \"nach\", 3 \"x\"\n",
        ),
        (
            rows(&links.replace(';', "|"), 40),
            "--log-format says where they are, as in --log-format '$uri|$x'\n",
        ),
        (rows(&links.replace(';', " "), 40), "several URLs; if it is a table, --log-format"),
        (
            rows("\"https://s.test/\",\"https://s.test/\"", 40),
            "several URLs; if it is a table, --field",
        ),
        (
            format!("Seite,Aufrufe\n{}", rows("www.a.test/p,20", 12)),
            "lines have as many commas; if it is a table, --field says in which column they are, as in --field 1; \
             its columns are 1 \"Seite\", 2 \"Aufrufe\"\n",
        ),
        (
            rows("{\"call\":{\"url\":\"/a\"}}", 2),
            "JSON; the URL may be in /call/url: --field /call/url\n",
        ),
        (rows("{\"x\":1}", 2), "JSON; --field says where the URL is, as in --field /page/url\n"),
        (
            rows("{\"log\":{\"a b\":\"192.0.2.1 - - [x] \\\"GET /a HTTP/1.1\\\" 200 5\"}}", 2),
            "JSON around lines of a log; take these out: jq -r '.log.\"a b\"' FILE | undust\n",
        ),
        (
            rows("{\"message\":\"GET /a HTTP/1.1\",\"path\":\"/var/log/a.log\"}", 2),
            "take these out: jq -r '.message' FILE | undust --log-format '$request'\n",
        ),
        (
            "{\n  \"list\": [\n    \"http://a.test/\",\n    \"http://b.test/\"\n  ]\n}\n"
                .to_string(),
            "jq -r '.. | strings | select(test(\"^https?://\"))' FILE | undust\n",
        ),
        (
            rows(
                "Nov 26 10:00:01 web1 caddy[9]: {\"request\":{\"host\":\"a.test\",\"uri\":\"/\"}}",
                2,
            ),
            "JSON after other words; take those away: sed 's/^[^{]*//' FILE | undust\n",
        ),
        (rows("https://a.test/x 200", 10), "have as many blanks; if it is a table, --log-format"),
    ] {
        let run = dir.feed("dedup", text.as_bytes()).exits(0).says("taken for a list, though ");
        run.says(words);
        dir.feed("dedup -f lines", text.as_bytes()).exits(0);
    }
    dir.feed("canon --log-format $request", b"GET /a HTTP/1.1\n").gives("/a\n");
    let link = b"https://s.test/p|https://s.test/q\n";
    dir.feed("canon --log-format $uri|$x", link).gives("https://s.test/p\n");
    let one_line = b"[[\"timestamp\",\"original\"],[\"20140126200624\",\"http://a.test/\"]]\n";
    dir.feed("dedup", one_line).fails("jq -r '.[] | @tsv'");
}

/// What is above the header of a report is no row.
#[test]
fn reports_with_lines_above_their_header() {
    let dir = Dir::new();
    let above =
        "# ----\n# Pages\n# Account: A\n# Property: B\n#\n# Start: 1\n# End: 2\n# ----\n# x\n\n";
    let header = "Full page URL,Views,Active users\n";
    let rows =
        "www.shop.test/p,20,1\nwww.shop.test/p?gclid=1,98,12\nwww.shop.test/p?fbclid=2,7,1\n";
    let given = format!("{above}{header}{rows}");
    dir.feed("dedup", given.as_bytes()).gives("www.shop.test/p\n");
    let kept = format!("{}{header}www.shop.test/p,20,1\n", above.replace("\n\n", "\n"));
    dir.feed("dedup --print line", given.as_bytes()).gives(&kept);
    dir.feed("dedup", kept.as_bytes()).gives("www.shop.test/p\n");
    let seven =
        "Report\nSite: shop\nFrom\nTo\nBy\nNo filter\nAll\nURL,Clicks\n/p?gclid=1,2\n/p,1\n";
    dir.feed("dedup", seven.as_bytes()).gives("/p?gclid=1\n");
}

#[test]
fn tables_that_may_be_lists_are_doubted() {
    let dir = Dir::new();
    let rows = b"http://a.test/,200,no html\nhttp://a.test/b,200,no html\n";
    let words = "read as csv, with the URL in column 1; if it is a list, say so by --format lines";
    let run = dir.feed("dedup", rows).exits(0).says(words);
    assert_eq!(run.out(), "http://a.test/\nhttp://a.test/b\n");
    for args in ["-f csv", "-f lines", "-q"] {
        dir.feed(args, rows).quiet();
    }
    dir.feed("dedup", b"url,status,type\nhttp://a.test/,200,no html\n").quiet();
    dir.feed("dedup", b"7,http://a.test/\n8,http://a.test/b\n").quiet();
}

#[test]
fn rules_that_cannot_hold_are_doubted() {
    let dir = Dir::new();
    dir.put("x.rules", "[[rule]]\nsite = \"x.org\"\nkind = \"drop-param\"\nparam = \"sid\"\n");
    let log: String = (0..20)
        .map(|n| {
            let time = "[10/Oct/2000:13:55:36 -0700]";
            format!("192.0.2.1 - - {time} \"GET /a?sid={n} HTTP/1.0\" 200 7\n")
        })
        .collect();
    let words = "20 of 20 records name no host, so no rule of a site holds for them; --base-url";
    for command in ["dedup", "canon", "report"] {
        let args = format!("{command} --rules x.rules");
        dir.feed(&args, log.as_bytes()).exits(0).says(words);
        dir.feed(command, log.as_bytes()).quiet();
        dir.feed(&format!("{args} --base-url http://x.org"), log.as_bytes()).quiet();
    }
}

#[test]
fn nothing_is_said_when_nobody_watches() {
    let dir = Dir::with_list();
    for args in ["in.txt", "-c in.txt", "--seen seen in.txt", "canon in.txt", "report in.txt"] {
        dir.run(args).quiet();
    }
    // Where nothing is compared, nothing is said of duplicates.
    dir.run("canon -v in.txt").exits(0).says("4 lines: 4 records; ");
    let run = dir.run("-v in.txt").exits(0).says("4 lines: 2 unique, 2 duplicate (50.0 %)");
    assert_eq!(run.out(), KEPT);
    dir.run("-q -v in.txt").fails("cannot be used with");
}

#[test]
fn control_characters_are_escaped_in_messages() {
    let dir = Dir::with_list();
    let evil = "\x1b[31m\u{202e}x";
    dir.put("bad.toml", "colour = 1\n");
    fs::copy(dir.path("bad.toml"), dir.path(evil)).unwrap();
    for args in [
        &["missing\x1b[31m\nundust: done"][..],
        &["-r", "missing\x1b[31m\nundust: done"],
        &["--files-from", "missing\x1b[31m\nundust: done"],
        &["in.txt", "-o", "missing\x1b[31m\nundust: done/x"],
        &["in.txt", "--dropped", "missing\x1b[31m\nundust: done/x"],
        &["in.txt", "--seen", "missing\x1b[31m\nundust: done/x"],
        &["in.txt", "--stats=missing\x1b[31m\nundust: done/x"],
        &["in.txt", "--config", evil],
        &["in.txt", "--config", "missing\x1b[31m\nundust: done"],
        &["in.txt", "--hosts", "missing\x1b[31m\nundust: done"],
        &["in.txt", "--rules", "missing\x1b[31m\nundust: done"],
        &["in.txt", "--profile", evil],
        &["in.txt", "--enable", evil],
        &["in.txt", "--www", evil],
        &["in.txt", "--keep", evil],
        &["in.txt", "--scheme", "\nundust: done"],
        &["in.txt", "--\u{202e}\nundust: done"],
        &["in.txt", "--default-param", evil],
        &["in.txt", "-c", "-T", "missing\x1b[31m\nundust: done", "-"],
        &["rules", "show", evil],
        &["man", "missing\x1b[31m\nundust: done"],
        &["generate", "list", "-o", "missing\x1b[31m\nundust: done/x"],
    ] {
        let run = dir.run_args(args);
        assert_eq!(run.status, Some(2), "{}", run.told());
        assert!(!run.words().contains(['\x1b', '\u{202e}']), "{}", run.told());
        let has_forged_line = run.words().lines().any(|line| line.starts_with("undust: done"));
        assert!(!has_forged_line, "{}", run.told());
    }
    let run = dir.feed("canon --on-bad fail", b"http://[\x1b[31m\n").exits(2);
    assert!(run.words().contains("\\x1b[31m") && !run.words().contains('\x1b'), "{}", run.told());
    let run = dir.feed("--check", b"http://a.test/\x1b\nhttp://a.test/\x1b\n").exits(1);
    assert!(!run.words().contains('\x1b'), "{}", run.told());
}

#[test]
fn passwords_are_not_told() {
    let dir = Dir::new();
    let run = dir.feed("--check", b"http://u:secret@a.test/\nhttp://u:secret@a.test/\n").exits(1);
    assert!(!run.words().contains("secret"), "{}", run.told());
    let run = dir.feed("canon --on-bad fail", b"http://u:secret@[bad/\n").exits(2);
    assert!(!run.words().contains("secret"), "{}", run.told());
    let line =
        "h - - [1/Oct/2000:01:02:03 +0000] \"GET /a HTTP/1.1\" 200 1 \"-\" \"c\"\n".repeat(3);
    let long = "secret".repeat(50);
    for (flags, bad) in [
        ("", "x https://a.test/x https://u:secret@c.test/y"),
        ("-f combined", "x https://a.test/x https://u:secret@c.test/y"),
        ("-f combined", r#"{"x":"https:\/\/u:secret@c.test\/y"}"#),
        ("", &format!("x https://u:{long}@c.test/y")),
        ("-f combined", &format!("x https://u:{long}@c.test/y")),
    ] {
        let run = dir.feed(flags, format!("{line}{bad}\n").as_bytes());
        let words = run.words();
        assert!(words.contains("line 4") && words.contains("\u{2026}@c.test"), "{}", run.told());
        assert!(!words.contains("secret"), "{}", run.told());
    }
}

#[test]
fn file_names_need_not_be_text() {
    let dir = Dir::new();
    let name = std::ffi::OsStr::from_bytes(b"\xff.txt");
    fs::write(dir.0.path().join(name), LIST).unwrap();
    let mut command = dir.command(&["-v"]);
    command.arg(name);
    let run = Run::of(command, b"").exits(0).says("\\xff.txt: lines, not compressed");
    assert_eq!(run.out(), KEPT);
}

#[test]
fn want_of_open_files_or_threads_says_what_to_allow() {
    let dir = Dir::with_list();
    // One beside the three that it begins with, as the loader of the system needs.
    let run = dir.run_under("-n 4", "-o out.txt in.txt").fails("Too many open files");
    run.says("; allow the process more of them (ulimit -n)");
    for (args, threads) in [("-j1 in.txt", "a thread"), ("canon -j3 in.txt", "3 threads")] {
        let args: Vec<&str> = args.split(' ').collect();
        let mut command = dir.command(&args);
        // Stacks of which no memory has room.
        command.env("RUST_MIN_STACK", (1_u64 << 60).to_string());
        Run::of(command, b"").fails(&format!("cannot start {threads}: ")).says("ulimit -u");
    }
    assert_eq!(dir.names(), ["in.txt"]);
}

/// Of the threads of a run each is refused once, by a limit on its address space that has room for
/// the stacks of those before it: the workers, of which the pool tells, and those beside them.
#[test]
fn whichever_thread_is_refused_the_run_says_so_and_writes_nothing() {
    const STACK: u64 = 1 << 30;
    for args in [
        "-j2 -o out in.txt",
        "-j2 --stats -o out in.txt",
        "-j2 --clusters -o out.zst in.txt",
        "report -j2 -o out in.txt",
    ] {
        let dir = Dir::with_list();
        let mut refused = [false; 2];
        let enough = (0..16).find(|threads| {
            let kib = (STACK * threads + STACK / 4) >> 10;
            let mut command = dir.command_under(&format!("-v {kib}"), args);
            command.env("RUST_MIN_STACK", STACK.to_string());
            let run = Run::of(command, b"");
            if run.status == Some(0) {
                return true;
            }
            let run = run.fails("cannot start ").says("; lower -j, or raise ulimit -u");
            refused[usize::from(run.words().contains("another thread"))] = true;
            assert_eq!(dir.names(), ["in.txt"]);
            false
        });
        assert!(enough.is_some() && refused == [true; 2], "{args}: {enough:?}, {refused:?}");
    }
}

#[test]
fn counts_go_to_a_file_behind_an_equals_sign() {
    let dir = Dir::with_list();
    dir.run("--stats counts.json in.txt").fails(
        "counts.json: expected a file to be read, found none of this name; if the counts are to go \
         there, write --stats=counts.json",
    );
    dir.run("--stats=counts.json in.txt").quiet().gives(KEPT);
    dir.run("--stats counts.json in.txt").fails("found the counts of another run");
    dir.put("list.json", LIST);
    dir.run("--stats list.json in.txt").exits(0).says("\"lines\":8");
    dir.run("counts.json").exits(0);
}

#[test]
fn values_in_a_list_may_have_blanks_around_them() {
    let dir = Dir::with_list();
    for flag in ["--only", "--enable", "--disable"] {
        let plain = dir.run(&format!("{flag} www,scheme in.txt")).quiet();
        dir.run_args(&[flag, "www, scheme ", "in.txt"]).gives(&plain.out);
    }
    dir.put(
        "m.log",
        "1.1.1.1 - - [02/Mar/2026:08:00:01 +0000] \"GET /a HTTP/1.1\" 404 5 \"-\" \"c\"\n",
    );
    dir.run_args(&["canon", "--status", "200, 404", "m.log"]).gives("/a\n");
    dir.run_args(&["--only", "www, shceme", "in.txt"]).fails("no rule \"shceme\"");
}

/// What would go wrong in silence, or in the next run alone.
#[test]
fn slips_are_told_at_once() {
    let dir = Dir::new();
    dir.put("list", "http://a.test/b\n");
    std::fs::create_dir(dir.path("all")).unwrap();
    dir.put("all/list", "http://a.test/b\n");
    // The next run would read what the first has written.
    let words = "all/x.seen: expected a file outside of the folders that are read, found it in all";
    dir.run("-r all --seen all/x.seen -o out").fails(words);
    dir.run("-q -r all --seen x.seen").gives("http://a.test/b\n");
    dir.run("-q all/list --seen all/x.seen").gives("http://a.test/b\n");
    // Paths are no URLs of a host.
    dir.put("log", "h - - [10/Oct/2026:13:55:36 -0700] \"GET /b HTTP/1.0\" 200 1\n".repeat(3));
    let words = "--not-in: its records name no host, so nothing is left out; --base-url";
    dir.run("list --not-in log").says(words);
    let run = dir.run("list --not-in log --base-url http://a.test");
    assert!(!run.words().contains("nothing is left out"), "{}", run.told());
    // Editors of Windows write a mark.
    dir.put("files", "\u{feff}list\r\n");
    dir.run("-q --files-from files").gives("http://a.test/b\n");
    dir.run("report list -o out.HTML").says("out.HTML: written as text; --to html writes");
    for named in ["-o out.html --to html", "-o out.txt", "-o out.html -q"] {
        let run = dir.run(&format!("report list {named}")).exits(0);
        assert!(!run.words().contains("what its name says"), "{named}");
    }
    // A format that is told says nothing of URLs, and few records may say enough.
    let none = |count: usize| "{\"url\":\"x y\"}\n".repeat(count);
    dir.feed("-f jsonl", none(5).as_bytes()).says("5 of 5 records are not URLs");
    dir.feed("-f jsonl", none(4).as_bytes()).quiet();
    dir.run("-j abc list").fails("expected a whole number, such as 8");
}
