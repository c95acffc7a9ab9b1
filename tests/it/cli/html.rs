//! The report as an HTML page: well-formed, the same each time, harmless whatever is in the input.

use super::*;

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    path.to_str().unwrap().to_string()
}

/// Elements without an end.
const VOID: [&str; 2] = ["meta", "br"];

/// What may be in a page.
const ELEMENTS: &str = "html head meta title style script body header nav main footer section h1 \
    h2 p dl div dt dd details summary table thead tbody tr th td a span small mark b i br ul li \
    figure figcaption svg g rect";

const ATTRIBUTES: &str = "lang charset http-equiv name content id class href rel scope data-unit \
    viewBox preserveAspectRatio aria-hidden aria-label aria-labelledby role tabindex x y width height";

/// The page as a list of elements with their attributes and the text before each of their tags.
/// Checks that every element ends where it should, that nothing but the known elements and
/// attributes is there, that all values are in double quotes, and that texts and values have no
/// character that means something.
struct Page {
    /// Names of elements with their attributes, in the order of their starts.
    elements: Vec<(String, Vec<(String, String)>)>,
    /// All text of the body.
    text: String,
}

impl Page {
    fn parse(page: &str) -> Page {
        let mut rest = page.strip_prefix("<!DOCTYPE html>\n").expect("a document type");
        let (mut elements, mut text, mut open) = (Vec::new(), String::new(), Vec::<String>::new());
        while let Some((before, behind)) = rest.split_once('<') {
            text += &unescaped(before);
            if let Some(end) = behind.strip_prefix('/') {
                let (name, behind) = end.split_once('>').unwrap();
                assert_eq!(open.pop().as_deref(), Some(name), "{before}");
                rest = behind;
                continue;
            }
            let (name, attributes, is_closed, behind) = start_tag(behind);
            assert!(ELEMENTS.split_whitespace().any(|one| one == name), "<{name}>");
            rest = behind;
            if name == "style" || name == "script" {
                assert!(attributes.is_empty());
                rest = rest.split_once(&format!("</{name}>")).expect("an end").1;
            } else if !is_closed && !VOID.contains(&&*name) {
                open.push(name.clone());
            }
            elements.push((name, attributes));
        }
        assert!(open.is_empty() && rest == "\n", "{open:?} {rest:?}");
        Page { elements, text }
    }

    fn count(&self, name: &str) -> usize {
        self.elements.iter().filter(|one| one.0 == name).count()
    }

    /// The values of an attribute of all elements.
    fn values(&self, attribute: &str) -> Vec<&str> {
        let all = self.elements.iter().flat_map(|one| &one.1);
        all.filter(|one| one.0 == attribute).map(|one| one.1.as_str()).collect()
    }
}

/// The rest of a tag that starts here: its name, its attributes, whether it ends itself.
fn start_tag(text: &str) -> (String, Vec<(String, String)>, bool, &str) {
    let name_end = text.find([' ', '>', '/']).unwrap();
    let (name, mut rest) = text.split_at(name_end);
    let mut attributes = Vec::new();
    loop {
        if let Some(behind) = rest.strip_prefix('>') {
            return (name.to_string(), attributes, false, behind);
        }
        if let Some(behind) = rest.strip_prefix("/>") {
            return (name.to_string(), attributes, true, behind);
        }
        let (key, behind) = rest.trim_start().split_once("=\"").expect("a value in quotes");
        assert!(ATTRIBUTES.split_whitespace().any(|one| one == key), "<{name} {key}>");
        let (value, behind) = behind.split_once('"').unwrap();
        attributes.push((key.to_string(), unescaped(value)));
        rest = behind;
    }
}

/// Text without its escapes; nothing that needs one is there without.
fn unescaped(text: &str) -> String {
    assert!(!text.contains(['<', '>', '"']), "{text}");
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap().to_string();
    for part in parts {
        let (name, rest) = part.split_once(';').expect("an escape");
        out.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            "#160" => '\u{a0}',
            _ => panic!("&{name};"),
        });
        out += rest;
    }
    out
}

/// The page of a run, checked.
fn page(dir: &Dir, args: &str) -> (Page, String) {
    let text = dir.run(&format!("report --to html -q {args}")).quiet().out();
    (Page::parse(&text), text)
}

#[test]
fn pages_are_well_formed_and_say_what_the_json_says() {
    let dir = Dir::new();
    for name in [
        "reddit.txt",
        "tiny.txt",
        "messy.txt",
        "combined.log",
        "clf.log",
        "captures.cdx",
        "captures.cdxj",
        "crawl.log",
        "pages.csv",
        "sitemap.xml",
        "kasztp.txt.zst",
        "w3c.log",
    ] {
        let args = format!("--top 4 {}", data(&format!("samples/{name}")));
        let (page, text) = page(&dir, &args);
        let report = json(&dir.run(&format!("report --to json -q {args}")).quiet().out);
        let number = |value: &Value| undust::bytes::decimal::with_commas(value.as_u64().unwrap());
        let unique =
            if text.contains("<th scope=\"row\">requests</th>") { "pages" } else { "unique" };
        for (total, row) in [("lines", "lines"), ("unique", unique), ("duplicate", "duplicate")] {
            let count = number(&report["totals"][total]);
            let row = format!("<tr><th scope=\"row\">{row}</th><td class=\"n\">{count}</td>");
            assert!(text.contains(&row), "{name}: {row}");
        }
        let input = &report["input"][0];
        for fact in [
            &report["profile"]["name"],
            &report["profile"]["digest"],
            &input["format"],
            &input["compression"],
            &input["path"],
        ] {
            assert!(page.text.contains(fact.as_str().unwrap()), "{name}: {fact}");
        }
        // What the tables for people have as well.
        let tables = dir.run(&format!("report -q {args}")).quiet().out();
        let ids = page.values("id");
        for (heading, id) in [
            ("Hosts", "host"),
            ("Sections", "section"),
            ("By status", "status"),
            ("Parameters", "parameter"),
            ("Over time", "time"),
            ("Agents", "agent"),
            ("What makes", "rules"),
            ("Largest", "clusters"),
        ] {
            let is_told = tables.contains(&format!("\n{heading} "))
                || tables.contains(&format!("\n{heading}\n"))
                || tables.contains(&format!("\n{heading},"));
            assert_eq!(is_told, ids.contains(&id), "{name}: {heading}");
        }
        for cluster in report["clusters"].as_array().unwrap() {
            let shown = show(cluster["canonical"].as_str().unwrap().as_bytes()).to_string();
            assert!(page.text.contains(&shown), "{name}: {shown}");
        }
        assert!(report["by"]["host"]["rows"].as_array().unwrap().len() <= 4);
        assert_eq!((page.count("style"), page.count("script"), page.count("h1")), (1, 1, 1));
        let links = page.values("href");
        assert!(links.iter().all(|to| to.starts_with('#') || is_web(to)), "{links:?}");
        for named in page.values("aria-labelledby") {
            assert!(ids.contains(&named), "{name}: {named}");
        }
        let targets = links.iter().filter_map(|to| to.strip_prefix('#'));
        assert!(targets.into_iter().all(|id| ids.contains(&id)), "{name}");
    }
}

fn is_web(link: &str) -> bool {
    let link = link.to_ascii_lowercase();
    link.starts_with("http://") || link.starts_with("https://")
}

#[test]
fn what_strangers_write_stays_text() {
    let dir = Dir::new();
    let lines: [&[u8]; 9] = [
        b"javascript:alert(1)",
        b"JAVASCRIPT://a.test/%0aalert(1)",
        b"data:text/html,<script>alert(1)</script>",
        b"http://a.test/\"><script>alert(1)</script>",
        b"http://a.test/' onmouseover='alert(1)",
        b"http://a.test/</title></style></script><img src=x onerror=alert(1)>",
        b"http://a.test/\x1b[31m\x07\x00\x7f",
        "http://a.test/\u{202e}gpj.exe\u{200b}\u{feff}".as_bytes(),
        b"http://a.test/\xff\xfe?<b>=1&amp;&#x3c;",
    ];
    let all: Vec<u8> =
        lines.iter().flat_map(|line| [line, &b"\n"[..]].concat().repeat(2)).collect();
    let name = "<img src=x onerror=alert(1)>.txt";
    dir.put(name, &all);
    for profile in ["lines", "whatwg", "crawl"] {
        let args = ["report", "--to", "html", "-q", "-p", profile, "--top", "99", name];
        let text = dir.run_args(&args).quiet().out();
        let page = Page::parse(&text);
        assert!(page.values("href").iter().all(|to| to.starts_with('#') || is_web(to)));
        let is_hidden =
            |one: char| one.is_control() && one != '\n' || "\u{202e}\u{200b}\u{feff}".contains(one);
        assert!(!text.contains(is_hidden), "{profile}");
        let shown = ["javascript:alert(1)", "Duplicates in <img src=x onerror=alert(1)>.txt"];
        assert!(shown.iter().all(|one| page.text.contains(one)), "{}", page.text);
    }
    // Names of hosts, of parameters, of agents.
    let agents = "a.test - - [10/Oct/2000:13:55:36 +0000] \"GET /<u>/?<i>\"'=1 HTTP/1.1\" 200 1 \"-\" \
                  \"<script>alert(1)</script>Bot/1.0\"\n";
    dir.put("a.log", agents.repeat(2));
    assert!(page(&dir, "--top 99 a.log").0.text.contains("<u>/"));
    for name in ["hostile/nasty.bin.zst", "hostile/wpt_inputs.txt"] {
        for flags in ["", "-p lines", "-0 --base-url http://a.test"] {
            let (page, text) = page(&dir, &format!("--top 500 {flags} {}", data(name)));
            assert!(page.count("tr") > 5 && text.len() < 2 << 20, "{name}: {} bytes", text.len());
        }
    }
}

#[test]
fn pages_are_the_same_with_any_threads_and_memory() {
    let dir = Dir::new();
    dir.put("in.txt", generated(60_000, 8));
    for file in ["in.txt".to_string(), data("samples/combined.log"), data("samples/reddit.txt")] {
        let expected = page(&dir, &format!("-j1 {file}")).1;
        for flags in ["-j2", "-j2 -S 8M", "-j1 -S 8M --no-map"] {
            let found = page(&dir, &format!("{flags} {file}")).1;
            assert!(found == expected, "{file}: {flags}");
        }
    }
}

#[test]
fn pages_go_where_other_outputs_go() {
    let dir = Dir::with_list();
    let expected = page(&dir, "in.txt").1;
    dir.run("report --to html -o report.html in.txt").gives("");
    assert_eq!(dir.text("report.html"), expected);
    dir.run("report --to html -o report.html.zst in.txt").gives("");
    assert_eq!(zstd::decode_all(&*dir.get("report.html.zst")).unwrap(), expected.as_bytes());
    dir.run("report --to html -o report.html.gz in.txt").gives("");
    let mut unpacked = String::new();
    flate2::read::GzDecoder::new(&*dir.get("report.html.gz"))
        .read_to_string(&mut unpacked)
        .unwrap();
    assert_eq!(unpacked, expected);
    // What was there stays where a run fails.
    dir.run("report --to html -o report.html nothing.txt").exits(2);
    assert_eq!(dir.text("report.html"), expected);
    dir.run("report --to html --excel in.txt").fails("--excel: guards");
    for command in ["dedup", "canon"] {
        let run = dir.run(&format!("{command} --to html in.txt")).fails("invalid value 'html'");
        run.says("[possible values: text, tsv, csv, jsonl, parquet]");
    }
    let help = dir.run("report --help").quiet().out();
    assert!(help.contains("possible values: text, html, json"), "{help}");
}

#[test]
fn a_long_list_of_files_is_folded() {
    let dir = Dir::new();
    let names: Vec<String> = (0..9).map(|number| format!("{number}.txt")).collect();
    names.iter().for_each(|name| dir.put(name, LIST));
    let (page, _) = page(&dir, &names.join(" "));
    assert!(page.text.contains("Duplicates in 9 files") && page.text.contains("The 9 files"));
    assert!(names.iter().all(|name| page.text.contains(name)));
}
