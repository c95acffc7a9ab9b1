//! Logs on the command line: hosts, filters, lines that are kept, lines that are rejected.

use super::{Dir, gzip, json};

const LOG: &str = "\
h - - [10/Oct/2000:13:55:36 +0000] \"GET /a?x=1&y=2 HTTP/1.0\" 200 23\n\
h - - [10/Oct/2000:13:55:37 +0000] \"GET /a?y=2&x=1 HTTP/1.0\" 200 23\n\
h - - [11/Oct/2000:13:55:38 +0000] \"POST /b HTTP/1.0\" 404 9\n\
h - - [11/Oct/2000:13:55:39 +0000] \"OPTIONS * HTTP/1.0\" 200 0\n\
h - - [11/Oct/2000:13:55:40 +0000] \"-\" 408 0\n\
h - - [11/Oct/2000:13:55:41 +0000] \"CONNECT a.test:443 HTTP/1.1\" 400 0\n";

#[test]
fn pages_of_a_log() {
    let dir = Dir::new();
    dir.put("access.log", LOG);
    let first = LOG.lines().next().unwrap();
    for (flags, expected) in [
        ("", "/a?x=1&y=2\n/b\n*\n"),
        ("--base-url https://a.test", "https://a.test/a?x=1&y=2\nhttps://a.test/b\n*\n"),
        ("--status 2xx", "/a?x=1&y=2\n*\n"),
        ("--method post", "/b\n"),
        ("--since 2000-10-11", "/b\n*\n"),
        ("--until 2000-10-11T00:00:00Z", "/a?x=1&y=2\n"),
        ("--exclude /a*", "/b\n*\n"),
        ("--include /a", "/a?x=1&y=2\n"),
        ("--print line --include /a", &format!("{first}\n")),
        ("-d -c", "      2 /a?x=1&y=2\n"),
        ("--format clf --status 404", "/b\n"),
    ] {
        let run = dir.run(&format!("{flags} access.log")).exits(0);
        assert_eq!(run.out(), expected, "{flags}");
    }
    dir.run("--status 20 access.log").fails("undust: --status 20: expected a status, a class");
    dir.run("--format nothing access.log").fails("no such format");
    dir.run("--base-url a.test access.log").fails("undust: --base-url a.test: there is no scheme");
}

#[test]
fn rejected_lines_are_kept() {
    let dir = Dir::new();
    dir.put("access.log", LOG);
    let lines: Vec<&str> = LOG.lines().collect();
    let expected = format!("no-request\t{}\nno-page\t{}\n", lines[4], lines[5]);
    for command in ["dedup", "dedup -c", "canon", "report"] {
        dir.run(&format!("{command} --rejects rejects.txt access.log")).exits(0);
        assert_eq!(dir.text("rejects.txt"), expected, "{command}");
    }
    // A row over two lines is one line there.
    dir.put("in.csv", "url,n\nhttp://a.test/,1\n,\"x\ny\"\n");
    dir.run("-q -f csv --rejects rejects.txt in.csv").gives("http://a.test/\n");
    assert_eq!(dir.text("rejects.txt"), "no-url\t,\"x\\ny\"\n");
}

#[test]
fn lines_of_containers_are_a_table() {
    let dir = Dir::new();
    let entry = |page: &str| format!("<url><loc>http://a.test/{page}</loc></url>");
    let pages = ["x&amp;y", "b?utm_source=c", "b"].map(entry).concat();
    dir.put("in.xml", format!("<urlset>{pages}</urlset>"));
    let table = dir.run("--print line in.xml").quiet().out();
    let header = "url\ttime\tstatus\tmethod\tmime\tsize\tdigest\tredirect\treferrer\tagent\tcanonical_link\n";
    assert!(table.starts_with(header) && table.lines().count() == 3, "{table}");
    for args in ["dedup", "dedup --print line", "-c"] {
        let read = dir.run(&format!("{args} in.xml")).quiet().out();
        assert_eq!(dir.feed(args, table.as_bytes()).quiet().out(), read.replace("2 ", "1 "));
    }
}

/// Whatever a log or a table says: one line is written for each page, or for each line.
#[test]
fn what_is_written_stays_in_its_line() {
    let dir = Dir::new();
    let request = |target: &str| {
        format!("h - - [10/Oct/2000:13:55:36 +0000] \"GET {target} HTTP/1.1\" 200 1\n")
    };
    dir.put(
        "log",
        [request("/a\\x0ahttp://b.test/"), request("http://[::1\\x0ahttp://b.test/")].concat(),
    );
    dir.put("in.json", "{\"url\":\"http://a.test/\\nhttp://b.test/\"}\n");
    dir.put("in.csv", "url,n\n\"http://a.test/\nhttp://b.test/\",1\n");
    for (command, expected) in [
        ("dedup --format clf log", "/ahttp://b.test/\nhttp://[::1http://b.test/\n"),
        ("canon --format clf log", "/ahttp://b.test/\nhttp://[::1http://b.test/\n"),
        ("dedup in.json", "http://a.test/http://b.test/\n"),
        ("dedup --format csv in.csv", "http://a.test/http://b.test/\n"),
    ] {
        let told = dir.run(command).exits(0).out();
        assert_eq!(told, expected, "{command}");
    }
}

#[test]
fn lines_without_a_scheme_are_filtered_by_their_host() {
    let dir = Dir::new();
    dir.put("in.txt", "a.test/x/1\na.test/y\n//a.test/x/2\nhttp://b.test/x/3\n/x/4\n");
    for (flags, expected) in [
        ("--exclude /x/*", "a.test/y\n"),
        ("--include a.test", "a.test/x/1\na.test/y\n//a.test/x/2\n"),
        ("--include /x/*", "a.test/x/1\n//a.test/x/2\nhttp://b.test/x/3\n/x/4\n"),
    ] {
        let run = dir.run(&format!("{flags} -v in.txt")).exits(0);
        assert_eq!(run.out(), expected, "{flags}");
        let filtered = 5 - expected.lines().count();
        assert!(run.words().contains(&format!("{filtered} filtered")), "{}", run.words());
    }
    // A list has no status.
    let run = dir.run("--status 200 in.txt").exits(0).says("all 5 records were filtered out");
    assert_eq!(run.out(), "");
}

#[test]
fn statuses_that_are_none_of_http_are_told_as_they_are() {
    let dir = Dir::new();
    let line = |status: &str| {
        format!("2006-02-23T10:52:43.207Z {status} - http://a.test/{status} P - - #1\n")
    };
    dir.put("crawl.log", ["200", "204", "-5003", "-6", "1", "10000", "000"].map(line).concat());
    let report = json(&dir.run("report --to json crawl.log").exits(0).out);
    let rows = report["by"]["status"]["rows"].as_array().unwrap();
    let told: Vec<(&str, u64)> = rows
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["records"].as_u64().unwrap()))
        .collect();
    let expected = [("-5003", 1), ("-6", 1), ("000", 1), ("1", 1), ("10000", 1), ("2xx", 2)];
    assert_eq!(told, expected);
}

#[test]
fn a_port_is_told_once() {
    let dir = Dir::new();
    dir.put(
        "iis.log",
        "#Fields: cs-method cs-uri-stem cs-host s-port sc-status\n\
         GET /a h.test:8080 8080 200\nGET /a h.test 8080 200\nGET /b [::1]:8443 8443 200\n",
    );
    dir.run("canon iis.log")
        .gives("\nhttp://h.test:8080/a\nhttp://h.test:8080/a\nhttp://[::1]:8443/b\n");
}

#[test]
fn how_a_format_was_told_is_said() {
    let dir = Dir::new();
    dir.put("access.log", LOG);
    let run = dir.run("-v access.log").exits(0);
    assert!(
        run.words().contains("  detected from 6 lines: clf 100 %, lines 0 %\n"),
        "{}",
        run.words()
    );
    // A format that nobody knows: the lines pass, but not in silence.
    dir.put("in.json", "{\"site\":\"http://a.test/\"}\n".repeat(12));
    let run = dir.run("in.json").exits(0);
    assert!(run.words().contains("in.json: taken for a list, though its first lines are JSON"));
    dir.put("utf-16.txt", b"\xff\xfeh\0t\0t\0p\0");
    dir.run("utf-16.txt").fails("iconv -f UTF-16");
    dir.put("log.txt", "ts: 1 method: GET status: 200 in 5 ms\n".repeat(12));
    let run = dir.run("log.txt").exits(0);
    assert!(run.words().contains("log.txt: taken for a list, though 0 % of its first 12 lines"));
    for quiet in ["-p lines log.txt", "-q log.txt", "--format lines log.txt"] {
        dir.run(quiet).quiet();
    }
}

#[test]
fn the_first_line_of_another_shape_is_told() {
    let dir = Dir::new();
    dir.put("access.log", format!("{LOG}what is this\n"));
    let run = dir.run("--format clf access.log").exits(0);
    assert!(run.words().contains("first not-format: line 7: \"what is this\""), "{}", run.words());
    assert!(!run.words().contains("first no-request"), "usual in logs: {}", run.words());
    let report = dir.run("report --format clf access.log").exits(0).out();
    assert!(report.contains("line 5: h - - [11/Oct/2000:13:55:40 +0000]"), "{report}");
    assert!(report.contains("line 7: what is this"), "{report}");
    assert!(report.contains("new URLs   new pages  redundant  respelled  status"), "{report}");
}

#[test]
fn lines_are_told_by_their_place_in_their_file() {
    let dir = Dir::new();
    dir.put("1.log", LOG);
    dir.put("2.log", format!("{LOG}what is this\n").repeat(2_000));
    dir.put("empty.log", "");
    let files = "--format clf 1.log empty.log 2.log";
    for how in ["", "--no-map", "-S 8M --threads 1"] {
        dir.run(&format!("{how} {files} -o out")).exits(0).says("first not-format: 2.log, line 7:");
    }
    let report = dir.run(&format!("report {files}")).exits(0).out();
    assert!(report.contains("1.log, line 5: h - - [11/Oct/2000:13:55:40 +0000]"), "{report}");
    assert!(report.contains("2.log, line 7: what is this"), "{report}");
    dir.run(&format!("canon --on-bad fail {files}")).exits(2).says("1.log, line 4: ");
    // Where the second file is not even opened any more.
    dir.put("long.txt", "http://a.test/\n".repeat(400_000));
    for how in ["-S 16M --threads 1 --check", "--check"] {
        dir.run(&format!("{how} long.txt empty.log")).exits(1).says("long.txt, line 2 is");
    }
    let report = json(dir.run(&format!("report --to json {files}")).exits(0).out().as_bytes());
    let lines = [0, 1, 2].map(|file| report["input"][file]["lines"].as_u64().unwrap());
    let per_file = LOG.lines().count() as u64;
    assert_eq!(lines, [per_file, 0, 2_000 * (per_file + 1)]);
    assert_eq!(report["first_rejected"]["not-format"]["line"], per_file + 7);
    dir.run(&format!("{files} --stats=stats.json -o out")).exits(0);
    assert_eq!(json(&dir.get("stats.json"))["input"][2]["lines"], lines[2]);
}

#[test]
fn a_whole_directive_is_a_log_format() {
    let dir = Dir::new();
    dir.put("access.log", LOG);
    for directive in [
        "log_format main '$remote_addr - $remote_user [$time_local] '\n    '\"$request\" $status $body_bytes_sent';",
        r#"LogFormat "%h %l %u %t \"%r\" %>s %b" common"#,
    ] {
        let run = dir.run_args(&["--log-format", directive, "-q", "access.log"]).exits(0);
        assert_eq!(run.out(), "/a?x=1&y=2\n/b\n*\n", "{directive}");
    }
}

/// PHP writes `\/` for each slash.
#[test]
fn escapes_of_json_are_undone_before_values_are_judged() {
    let dir = Dir::new();
    dir.put(
        "a.jsonl",
        concat!(
            r#"{"host":"a.test","uri":"\/x","method":"\u0047ET","time":"01\/Jun\/2020:10:00:00 +0000"}"#,
            "\n",
            r#"{"host":"b.test","request":"GET \/x HTTP\/1.1","time":"2020-06-01T10:00:00Z"}"#,
            "\n",
            r#"{"host":"b.test","request":""}"#,
            "\n",
        ),
    );
    let both = "http://a.test/x\nhttp://b.test/x\n";
    assert_eq!(dir.run("-q a.jsonl").exits(0).out(), both);
    assert_eq!(dir.run("-q --method GET --since 2020-01-01 a.jsonl").exits(0).out(), both);
    // A line is shown as it was written.
    let lines = dir.run("-q --print line a.jsonl").exits(0).out();
    assert!(lines.contains(r#""uri":"\/x""#), "{lines}");
}

#[test]
fn a_first_line_that_is_too_long_hides_no_format() {
    let dir = Dir::new();
    let long = "x".repeat(9000);
    let rows = "{\"url\":\"http://a.test/\",\"n\":1}\n".repeat(3);
    dir.put("long.jsonl", format!("{{\"url\":\"http://a.test/\",\"text\":\"{long}\"}}\n{rows}"));
    dir.put("overlong.jsonl", format!("{long}\n{rows}"));
    for args in ["-q long.jsonl", "-q --line-limit 1K overlong.jsonl"] {
        for map in ["", "--no-map"] {
            let out = dir.run(&format!("{args} {map}")).exits(0).out();
            assert_eq!(out, "http://a.test/\n", "{args} {map}");
        }
    }
}

#[test]
fn paths_of_a_list_get_the_host() {
    let dir = Dir::new();
    let paths = "/a?b=1&a=2\n/a?a=2&b=1\n/c\n//c.test/x\nhttp://s.test/a?b=1&a=2\n";
    dir.put("paths", paths.repeat(3));
    let with_base = dir.run("--base-url http://s.test paths").quiet();
    assert_eq!(with_base.out(), "http://s.test/a?b=1&a=2\nhttp://s.test/c\nhttp://c.test/x\n");
    let without = dir.run("paths").exits(0).says(
        "9 of 15 records are not URLs, and were compared byte for byte (9 relative); if \
         they are paths, --base-url says on which host\n",
    );
    assert_eq!(without.out(), paths);
    dir.put("urls", "http://a.test/\n/b\n".repeat(10));
    dir.run("urls").quiet();
    let equal = dir.run("explain --base-url http://s.test /a?b=1&a=2 http://s.test/a?a=2&b=1");
    assert!(equal.exits(0).out().ends_with("\nequal, by query-order\n"));
    let path = dir.run("explain /a").exits(1).out();
    assert!(path.contains("a path: --base-url says which host it is on"), "{path}");
}

#[test]
fn a_table_of_kept_lines_has_its_header() {
    let dir = Dir::new();
    dir.put("a.csv", "url,status\nhttp://a.test/,200\nhttp://A.test/,404\nhttp://b.test/,200\n");
    dir.put("b.csv", "url,status\nhttp://c.test/,200\n");
    dir.put("other.csv", "status,url\n200,http://d.test/\n");
    let kept = "url,status\nhttp://a.test/,200\nhttp://b.test/,200\nhttp://c.test/,200\n";
    for flags in ["", "-S 12M", "--no-map", "--keep shortest"] {
        let run = dir.run(&format!("{flags} --print line a.csv b.csv")).quiet();
        assert_eq!(run.out(), kept, "{flags}");
    }
    // With a byte order mark, and with quotes or without.
    let marked = "\u{feff}url,status\nhttp://a.test/,200\nhttp://A.test/,404\n";
    for text in [marked.to_string(), marked.replace("url", "\"url\"")] {
        dir.put("mark.csv", &text);
        let kept: String =
            text.trim_start_matches('\u{feff}').split_inclusive('\n').take(2).collect();
        for flags in ["", "--no-map", "--keep shortest"] {
            dir.run(&format!("{flags} --print line mark.csv")).gives(&kept);
            dir.feed(&format!("{flags} --print line"), &gzip(text.as_bytes())).gives(&kept);
        }
    }
    let counted = dir.run("-d -c --print line a.csv").quiet();
    assert_eq!(counted.out(), "      2 http://a.test/,200\n");
    let mixed = dir.run("--print line a.csv other.csv").exits(0);
    mixed.says("other.csv: not the columns of a.csv, whose header is written before all lines");
    let one = "#Fields: cs-uri-stem cs-uri-query sc-status\n/a x=1 200\n";
    let other = "#Fields: cs-uri-query cs-uri-stem sc-status\ny=2 /b 200\n";
    dir.put("moved.log", format!("{one}{other}{one}"));
    let moved = dir.run("--print line moved.log").exits(0);
    moved.says("moved.log: the columns change; the header that is written before all lines");
    dir.put("same.log", format!("{one}{one}"));
    dir.run("--print line same.log").quiet();
    let log = "#Version: 1.0\n#Fields: date time cs-uri-stem\n2026-11-28 00:00:00 /a\n";
    dir.put("w3c.log", format!("{log}#Date: x\n2026-11-28 00:00:01 /a\n"));
    assert_eq!(dir.run("--print line w3c.log").quiet().out(), log);
}

#[test]
fn paths_that_may_be_of_several_hosts_are_told() {
    let dir = Dir::new();
    let words = |count: &str| {
        format!("{count} records name no host, so paths of different hosts count as one page")
    };
    let json = "{\"path\":\"/a\",\"site\":\"x.test\"}\n{\"path\":\"/a\",\"site\":\"y.test\"}\n";
    for command in ["dedup", "canon"] {
        dir.feed(command, json.as_bytes()).exits(0).says(&words("2 of 2"));
        dir.feed(&format!("{command} --base-url http://a.test"), json.as_bytes()).quiet();
        dir.feed(&format!("{command} --field host=site"), json.as_bytes()).quiet();
    }
    // Hosts of some.
    let vhost = "x.test 192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] \"GET /a HTTP/1.0\" 200 23\n";
    let mixed = [vhost, &vhost.replace("x.test", "-")].concat();
    dir.feed("-f vhost", mixed.as_bytes()).exits(0).says(&words("1 of 2"));
    // A log of one host: what one client asks of a proxy is no host of its own.
    let log = format!("{}{}", LOG.lines().next().unwrap(), "\n").repeat(200);
    dir.feed("dedup", log.as_bytes()).quiet();
    dir.feed("dedup", log.replacen("/a", "http://b.test/", 1).as_bytes()).quiet();
}

#[test]
fn filters_that_match_nothing_are_told() {
    let dir = Dir::new();
    dir.put("list", "http://a.test/x.jpg\nhttp://a.test/y\n");
    dir.run("--exclude *.jpg list").exits(0).says(
        "--exclude *.jpg: no record matches; *.jpg is a pattern for hosts, one for paths begins \
         with a slash: /*.jpg\n",
    );
    dir.run("--exclude /*.jpg list").quiet();
    dir.run("--include *.jpg list").exits(0).says(
        "nothing is left: all 2 records were filtered out; *.jpg is a pattern for hosts, one for \
         paths begins with a slash: /*.jpg\n",
    );
    dir.run("--status 200 list").exits(0).says("lines of a list, which has no status, method or");
    let empty = b"h - - [1/Oct/2000:01:02:03 +0000] \"-\" 408 0\n";
    dir.feed("-f clf", empty).exits(0).says("nothing is left: all 1 lines with anything in them");
    assert!(!dir.feed("-f clf", empty).words().contains("--field"));
    let lines = b"{\"request\":\"/a b\"}\n";
    dir.feed("dedup", lines).exits(0).says("; --field says where the URL is, --log-format how ");
}

#[test]
fn lists_with_nul_bytes_are_told() {
    let dir = Dir::new();
    let urls = "http://a.test/\0http://b.test/\0";
    dir.feed("dedup", urls.as_bytes())
        .exits(0)
        .says("standard input: has NUL bytes; if lines end with them, ");
    dir.feed("dedup -0", urls.as_bytes()).gives(urls);
    let wide: Vec<u8> = "http://a.test/\n".bytes().flat_map(|byte| [byte, 0]).collect();
    dir.feed("dedup", &wide).exits(0).says("iconv -f UTF-16LE -t UTF-8\n");
}
