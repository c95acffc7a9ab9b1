//! Rows for programs, the schema of the report, and what containers become.

use std::io::{BufRead as _, BufReader, Write as _};

use super::*;

/// The files of `data/samples` and the like.
fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    path.to_str().unwrap().to_string()
}

/// The objects of JSON lines; the first must be the one that tells what made the others.
fn rows(text: &str, table: &str) -> Vec<Value> {
    let mut lines = text.lines().map(|line| json(line.as_bytes()));
    let first = lines.next().unwrap();
    assert_eq!(first["undust"], env!("CARGO_PKG_VERSION"));
    assert_eq!(first["table"], table);
    assert_eq!(first["profile"], "crawl@1");
    assert_eq!(first["rules"].as_str().unwrap().len(), 16);
    let names: Vec<&str> =
        first["columns"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let rows: Vec<Value> = lines.collect();
    for row in &rows {
        let fields: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        let fields: Vec<&str> = fields.into_iter().filter(|name| !name.ends_with("_b64")).collect();
        assert_eq!(fields, names);
    }
    rows
}

#[test]
fn kept_lines_as_rows() {
    let dir = Dir::with_list();
    let text = dir.run("--to tsv in.txt").quiet().out();
    let (comment, rest) = text.split_once('\n').unwrap();
    assert!(
        comment.starts_with("# undust ") && comment.contains(" table=kept profile=crawl@1 rules=")
    );
    let expected = "line\turl\tcanonical\tcount\n1\thttp://a.test/\thttp://a.test/\t2\n\
                    3\thttp://b.test/?x=1&utm_source=q\thttp://b.test/?x=1\t2\n";
    assert_eq!(rest, expected);
    let csv = dir.run("--to csv in.txt").quiet().out();
    assert_eq!(
        csv.split_once("\r\n").unwrap().1,
        expected.replace('\t', ",").replace('\n', "\r\n")
    );
    let found = rows(&dir.run("--to jsonl in.txt").quiet().out(), "kept");
    assert_eq!(found[1]["url"], "http://b.test/?x=1&utm_source=q");
    assert_eq!(found[1]["count"], 2);
    // The line that is kept is chosen as always.
    let found = rows(&dir.run("--to jsonl --keep last -d in.txt").quiet().out(), "kept");
    assert_eq!((&found[0]["line"], &found[1]["line"]), (&2.into(), &4.into()));
    dir.run("--to csv --seen s in.txt").exits(2).says("--seen works with the first spelling only");
}

#[test]
fn canonical_forms_as_rows() {
    let dir = Dir::new();
    dir.put("in.txt", "HTTP://A.test:81/x?b&a\n\nhttp://[bad\t\nmailto:a@b.test\n");
    let text = dir.run("canon --to tsv in.txt").quiet().out();
    let (comment, rest) = text.split_once('\n').unwrap();
    assert!(comment.contains(" table=canonical profile=crawl@1 rules="), "{comment}");
    let [header, first, bad, last] = [
        "line\turl\tcanonical\tsurt\tunparsed\n",
        "1\tHTTP://A.test:81/x?b&a\thttp://a.test:81/x?a&b\ttest,a:81)/x?a&b\t\n",
        "3\thttp://[bad\\t\thttp://[bad\\t\t\tbad-host\n",
        "4\tmailto:a@b.test\tmailto:a@b.test\tmailto:a@b.test\t\n",
    ];
    assert_eq!(rest, [header, first, bad, last].concat());
    let empty = dir.run("canon --to tsv --on-bad empty in.txt").quiet().out();
    assert!(empty.ends_with(&["3\thttp://[bad\\t\t\t\tbad-host\n", last].concat()), "{empty}");
    let run = dir.run("canon --to tsv --on-bad fail in.txt").exits(2).says("line 3: ");
    assert!(run.out().ends_with(&[header, first].concat()));
    let found = rows(&dir.run("canon --to jsonl in.txt").quiet().out(), "canonical");
    assert_eq!((&found[1]["line"], &found[1]["surt"]), (&3.into(), &Value::Null));
    dir.run("canon --to csv --print surt in.txt").fails("--print: chooses");
    // Of CR LF, nothing is part of a value.
    dir.put("dos.txt", "http://a.test/\r\nhttp://A.test/\r\n");
    for command in ["canon --to tsv", "--to tsv", "--to tsv --clusters", "--dropped d --to tsv"] {
        let run = dir.run(&format!("{command} dos.txt")).quiet();
        assert!(!run.out().contains("\\r"), "{command}: {}", run.out());
    }
    assert!(dir.text("d").ends_with("\thttp://A.test/\thttp://a.test/\n"));
    // There is no row for what has no URL; lines that are too long are counted.
    let long = format!("http://a.test/\nhttp://b.test/{}\nhttp://c.test/\n", "x".repeat(2_000));
    dir.put("long.txt", long);
    let run = dir.run("canon --line-limit 1K --to csv long.txt").exits(0);
    assert_eq!(run.out().lines().skip(2).count(), 2);
    run.says("1 rejected (line-too-long)");
    let run = dir.run("canon --line-limit 1K --on-bad fail --to csv long.txt").exits(2);
    run.says("raise --line-limit, or leave it out with --on-bad keep");
    dir.put("some.csv", "id,url\n1,http://a.test/\n2,\n3,http://b.test/\n");
    let found = rows(&dir.run("canon --to jsonl some.csv").exits(0).out(), "canonical");
    assert_eq!(found.iter().map(|row| row["line"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 4]);
    dir.run("canon --on-bad fail --to jsonl some.csv").exits(2).says("--on-bad empty leave out");
    dir.put("cells.csv", "url,n\n\"http://a.test/\",\"1\n2\"\nhttp://b.test/,3\n");
    let found = rows(&dir.run("canon --to jsonl cells.csv").quiet().out(), "canonical");
    assert_eq!((&found[1]["line"], &found[1]["url"]), (&3.into(), &"http://b.test/".into()));
    let nul = dir.feed("canon -0 --to tsv", b"http://A.test\0http://b.test/\0").quiet().out();
    assert!(nul.ends_with("2\thttp://b.test/\thttp://b.test/\ttest,b)/\t\n"), "{nul:?}");
    // Lines of a log are counted as they are, with those that have no URL.
    let log = "# a\n1.2.3.4 - - [21/Nov/2026:09:00:00 +0000] \"GET /x#y HTTP/1.1\" 200 7\n";
    dir.put("access.log", log);
    let found = rows(&dir.run("canon -f clf --to jsonl access.log").exits(0).out(), "canonical");
    assert_eq!((&found[0]["line"], &found[0]["canonical"]), (&2.into(), &"/x".into()));
}

#[test]
fn rows_come_while_more_lines_are_awaited() {
    let dir = Dir::new();
    let mut child = dir.command(&["canon", "--to", "jsonl"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"http://A.test\n").unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let row = out.lines().nth(1).unwrap().unwrap();
    assert_eq!(json(row.as_bytes())["canonical"], "http://a.test/");
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn canonical_forms_are_the_same_by_lines_and_by_rows() {
    let dir = Dir::new();
    dir.put("in.txt", generated(40_000, 5));
    let lines = dir.run("canon in.txt").quiet().out();
    let surts = dir.run("canon --print surt in.txt").quiet().out();
    let expected = dir.run("canon --to tsv in.txt").quiet().out();
    for options in ["-j1 -S 8M", "-j3 --no-map"] {
        assert!(dir.run(&format!("canon --to tsv {options} in.txt")).quiet().out() == expected);
    }
    let text = dir.text("in.txt");
    let lines = text.lines().zip(lines.lines()).zip(surts.lines());
    let mut rows = expected.lines().skip(2).map(|row| row.split('\t').collect::<Vec<_>>());
    for (number, ((url, form), surt)) in (1..).zip(lines) {
        let row = rows.next().unwrap();
        assert_eq!(row[..3], [&number.to_string(), url, form]);
        assert!(row[3] == surt || row[3].is_empty() && !row[4].is_empty(), "{row:?}");
    }
    assert!(rows.next().is_none());
}

#[test]
fn clusters_and_dropped_lines_as_rows() {
    let dir = Dir::with_list();
    let text = dir.run("--clusters --dropped d.jsonl --to jsonl in.txt").quiet().out();
    let clusters = rows(&text, "clusters");
    assert_eq!(clusters.len(), 4);
    for row in &clusters {
        let number = row["cluster"].as_u64().unwrap();
        assert_eq!(row["representative"], KEPT.lines().nth(number as usize - 1).unwrap());
    }
    assert_eq!(clusters[1]["url"], "HTTP://A.test");
    assert_eq!(clusters[1]["canonical"], "http://a.test/");
    let dropped = rows(&dir.text("d.jsonl"), "dropped");
    assert_eq!((&dropped[0]["line"], &dropped[0]["kept_line"]), (&2.into(), &1.into()));
    assert_eq!(dropped[1]["dropped"], "http://b.test/?x=1");
    assert!(dropped.iter().all(|row| !row["rules"].as_str().unwrap().is_empty()));
    // For people, as before.
    let text = dir.run("--clusters in.txt").quiet().out();
    assert!(text.starts_with("cluster\tcount\turl\n1\t1\thttp://a.test/\n"), "{text}");
}

#[test]
fn spreadsheets_are_guarded() {
    let dir = Dir::new();
    dir.put("in.txt", "=cmd|' /C calc'!A0\n=cmd|' /C calc'!A0\n");
    let text = dir.run("--to csv --excel -p lines in.txt").quiet().out();
    assert!(text.contains("\r\n1,'=cmd|' /C calc'!A0,'=cmd|' /C calc'!A0,2\r\n"), "{text}");
    for to in ["text", "jsonl"] {
        dir.run(&format!("--to {to} --excel in.txt")).exits(2).says("--excel: guards");
    }
    dir.run("report --to json --excel in.txt").exits(2).says("--excel: guards");
    for print in ["canonical", "line"] {
        dir.run(&format!("--to tsv --print {print} in.txt")).fails("--print: chooses");
    }
}

#[test]
fn agents_are_told_alike_whatever_a_log_does_to_blanks() {
    let dir = Dir::new();
    let agents = [
        "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)",
        "Mozilla/5.0 (compatible; Embedly/0.2; +http://support.embed.ly/)",
        "Digg Feed Fetcher 1.0",
    ];
    let log = |fields: &str, of: &dyn Fn(&str) -> String| {
        let lines = agents.map(|agent| of(agent) + "\n");
        format!("#Version: 1.0\n#Fields: {fields}\n{}", lines.concat())
    };
    dir.put(
        "w3c.log",
        log("date time cs-method cs-uri-stem sc-status cs(User-Agent)", &|agent| {
            format!("2026-11-21 09:00:00 GET /x 200 {}", agent.replace(' ', "+"))
        }),
    );
    let fields = "date time cs-method cs(Host) cs-uri-stem sc-status cs(User-Agent) cs-uri-query";
    dir.put(
        "cloudfront.tsv",
        log(fields, &|agent| {
            let agent = agent.replace(' ', "%20");
            format!("2026-11-21\t09:00:00\tGET\ta.test\t/x\t200\t{agent}\t-")
        }),
    );
    for file in ["w3c.log", "cloudfront.tsv"] {
        let rows =
            dir.run(&format!("report --to csv --base-url http://a.test {file}")).exits(0).out();
        let agents = rows.lines().filter_map(|row| row.strip_prefix("agent,"));
        let mut names: Vec<&str> = agents.filter_map(|row| row.split(',').next()).collect();
        names.sort_unstable();
        assert_eq!(names, ["browsers", "digg", "embedly"], "{file}: {rows}");
    }
}

#[test]
fn report_as_rows() {
    let dir = Dir::new();
    dir.put("in.txt", generated(20_000, 3));
    let report = json(dir.run("report --to json in.txt").quiet().out().as_bytes());
    let found = rows(&dir.run("report --to jsonl in.txt").quiet().out(), "report");
    let totals = found.iter().filter(|row| row["part"] == "total");
    for row in totals {
        let name = row["name"].as_str().unwrap();
        assert_eq!(row["count"], report["totals"][name], "{name}");
    }
    let sum = |part: &str| -> u64 {
        let rows = found.iter().filter(|row| row["part"] == part);
        rows.map(|row| row["count"].as_u64().unwrap()).sum()
    };
    assert_eq!(sum("rule"), report["totals"]["duplicate"].as_u64().unwrap());
    let hosts = report["by"]["host"]["rows"].as_array().unwrap();
    let of_report: u64 = hosts.iter().map(|row| row["duplicate"].as_u64().unwrap()).sum();
    assert!(of_report > 0 && sum("host") == of_report);
}

/// Checks `value` against `schema`: as much of JSON Schema as the schema uses, and nothing that it
/// uses is left out.
fn check(value: &Value, schema: &Value, root: &Value, place: &str) {
    for (word, rule) in schema.as_object().unwrap() {
        match word.as_str() {
            "$schema" | "$defs" | "title" | "description" => {}
            "$ref" => {
                let path = rule.as_str().unwrap().strip_prefix('#').unwrap();
                check(value, root.pointer(path).unwrap(), root, place);
            }
            "type" => {
                let is_it = match rule.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "number" => value.is_number(),
                    "integer" => value.is_i64() || value.is_u64(),
                    other => panic!("the checker does not know the type {other}"),
                };
                assert!(is_it, "{place}: expected {rule}, found {value}");
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    assert!(value.get(name.as_str().unwrap()).is_some(), "{place} lacks {name}");
                }
            }
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        check(value, rule, root, &format!("{place}/{name}"));
                    }
                }
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (name, value) in value.as_object().unwrap() {
                    if known.is_some_and(|known| known.contains_key(name)) {
                        continue;
                    }
                    match rule {
                        Value::Bool(true) => {}
                        Value::Bool(false) => panic!("{place}: {name} is not in the schema"),
                        rule => check(value, rule, root, &format!("{place}/{name}")),
                    }
                }
            }
            "items" => {
                for (at, value) in value.as_array().unwrap().iter().enumerate() {
                    check(value, rule, root, &format!("{place}/{at}"));
                }
            }
            "minimum" => assert!(value.as_f64() >= rule.as_f64(), "{place}: {value} < {rule}"),
            "maximum" => assert!(value.as_f64() <= rule.as_f64(), "{place}: {value} > {rule}"),
            "enum" => assert!(rule.as_array().unwrap().contains(value), "{place}: {value}"),
            "pattern" => {
                assert_eq!(rule, "^[0-9a-f]{16}$", "the checker knows this pattern alone");
                let text = value.as_str().unwrap();
                let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
                assert!(text.len() == 16 && text.chars().all(is_hex), "{place}: {text}");
            }
            other => panic!("the checker does not know {other}"),
        }
    }
}

#[test]
fn the_report_is_as_its_schema_says() {
    let schema = json(&fs::read(data("schema/report.schema.json")).unwrap());
    let dir = Dir::new();
    let mut list = generated(20_000, 5);
    list.extend_from_slice(b"\nhttp://[bad\nhttp://b.test/\xff\nhttp://b.test/\xff#x\n");
    dir.put("list.gz", gzip(&list));
    dir.put("empty.txt", "");
    dir.put(
        "access.log",
        "192.0.2.1 - - [21/Nov/2026:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 5\n\
         192.0.2.1 - - [21/Nov/2026:10:00:01 +0000] \"GET /a#b HTTP/1.1\" 200 5\n\
         192.0.2.1 - - [21/Nov/2026:10:00:02 +0000] \"-\" 408 0\n",
    );
    let warc = data("samples/archive.warc.gz");
    for input in ["list.gz", "empty.txt", "access.log", &warc, &format!("list.gz {warc}")] {
        let run = dir.run(&format!("report --to json {input}")).exits(0);
        let report = json(&run.out);
        check(&report, &schema, &schema, input);
    }
    // The checker does find what is wrong.
    let mut report = json(&dir.run("report --to json list.gz").exits(0).out);
    report["totals"]["lines"] = "many".into();
    let wrong = std::panic::catch_unwind(|| check(&report, &schema, &schema, "wrong"));
    assert!(wrong.is_err());
}

/// However many names a table has, all are told apart: those that come last, too, and where they
/// have no room in memory.
#[test]
fn all_names_of_tables_are_told_apart() {
    let dir = Dir::new();
    let mut list = String::new();
    for url in 0..11_000 {
        let names: String = (8 * url..8 * url + 8).map(|name| format!("p{name}=&")).collect();
        list += &format!("http://h{}.test/s{url}/?{names}\n", url % 100);
    }
    // The last ones are the only ones with duplicates.
    for round in 0..3 {
        list += &format!("http://h7.test/late/?late=1#{round}\n");
    }
    dir.put("in.txt", &list);
    let report = json(&dir.run("report --to json --top 2 in.txt").exits(0).out);
    let table = &report["by"]["parameter"];
    assert_eq!((&table["names"], &table["rows"][0]["name"]), (&88_001.into(), &"late".into()));
    assert_eq!((&table["rows"][0]["records"], &table["rows"][0]["unique"]), (&3.into(), &1.into()));
    let sections = &report["by"]["section"];
    assert_eq!(sections["names"], 11_001);
    assert_eq!(sections["rows"][0]["name"], "h7.test/late/");
    assert_eq!(report["by"]["host"]["names"], 100);
    let text = dir.run("report --top 2 in.txt").exits(0).out();
    assert!(text.contains("Parameters with the most duplicates, of 88,001\n"), "{text}");
    let run = dir.run("report --to json --top 2 -S 16M --stats=counts in.txt").exits(0);
    assert_eq!(json(&run.out)["by"], report["by"]);
    let counts = json(&dir.get("counts"));
    assert!(counts["memory"]["spilled_bytes"].as_u64() > Some(500_000), "{counts}");
}

#[test]
fn containers_become_records() {
    let dir = Dir::new();
    let warc = data("samples/archive.warc.gz");
    let expected = "http://www.example.com/\nhttp://www.example.com/index.html\n\
                    http://www.example.com/old\nhttp://www.example.com/list?page=1\n\
                    http://www.example.com/none\nftp://ftp.example.com/readme.txt\n";
    dir.run(&warc).quiet().gives(expected);
    // Over standard input, and read twice, it is the same.
    let bytes = fs::read(&warc).unwrap();
    dir.feed("dedup -", &bytes).quiet().gives(expected);
    let counted = dir.feed("dedup -c -", &bytes).quiet().out();
    let counted: Vec<&str> = counted.lines().map(|line| line.trim_start()).collect();
    assert_eq!(counted[3], "3 http://www.example.com/list?page=1");
    dir.run(&format!("--status 404 {warc}")).quiet().gives("http://www.example.com/none\n");
    let map = data("samples/sitemap.xml");
    dir.run(&map).quiet().gives(
        "https://www.example.com/\nhttps://www.example.com/index.html\n\
         https://www.example.com/list?sort=name&page=2\nhttps://www.example.com/caf\u{e9}\n",
    );
    dir.put("feed.xml", "<?xml version='1.0'?>\n<rss version='2.0'></rss>\n");
    dir.run("feed.xml").exits(2).says("found a feed (RSS or Atom)");
    // What could be read before the damage is written.
    dir.put("cut.warc.gz", &bytes[..bytes.len() * 2 / 3]);
    let cut = dir.run("cut.warc.gz").exits(2).says("expected the end of a gzip member");
    assert!(cut.out.starts_with(b"http://www.example.com/\n"));
}
