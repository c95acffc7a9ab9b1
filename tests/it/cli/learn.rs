//! `learn`: rules from a crawl, the same whatever the threads and the order of the lines.

use super::Dir;

fn crawl(dir: &Dir) {
    dir.run(
        "generate site --sites 2 --urls 1500 --seed 7 --to crawllog -o crawl.log --truth truth.tsv",
    )
    .quiet();
}

#[test]
fn rules_depend_on_neither_threads_nor_order() {
    let dir = Dir::new();
    crawl(&dir);
    let rules = dir.run("learn -j1 crawl.log").quiet().out();
    assert!(rules.contains("[[rule]]") && rules.contains("status = \"auto\""), "{rules}");
    assert_eq!(dir.run("learn -j2 crawl.log").quiet().out(), rules);
    let text = dir.text("crawl.log");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.reverse();
    dir.put("back.log", lines.join("\n"));
    assert_eq!(dir.run("learn back.log").quiet().out(), rules);
}

/// Front controllers: rules with conditions, which lose no page.
#[test]
fn conditions_are_learned_and_judged() {
    let dir = Dir::new();
    dir.run(
        "generate site --preset cms --sites 2 --urls 4000 --seed 2 --only \
         dispatcher,conditional,session-query,param-order --noise 0 --to crawllog -o crawl.log \
         --truth truth.tsv",
    )
    .quiet();
    let run = dir.run("learn -j1 -o rules.toml --evaluate truth.tsv crawl.log").exits(0);
    let told = run.told();
    let rules = dir.text("rules.toml");
    assert!(rules.contains("when = ["), "{rules}");
    let learned = told.split("\\nlearned").nth(1).unwrap_or_default();
    assert!(learned.contains("  0 of 2"), "sites with loss: {told}");
    assert_eq!(dir.run("learn -j2 crawl.log").out(), rules);
    let text = dir.text("crawl.log");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.reverse();
    dir.put("back.log", lines.join("\n"));
    assert_eq!(dir.run("learn back.log").out(), rules);
    let forms = dir.run("canon -p rfc3986 --rules rules.toml crawl.log").quiet().out();
    dir.put("forms.txt", forms.clone());
    let again = dir.run("canon -p rfc3986 --rules rules.toml -f lines forms.txt").quiet().out();
    assert!(again == forms, "twice is the same as once");
}

#[test]
fn rules_do_not_depend_on_memory() {
    let dir = Dir::new();
    dir.run("generate site --sites 30 --urls 600-700 --seed 3 --to crawllog -o crawl.log").quiet();
    let rules = dir.run("learn -j1 crawl.log").quiet().out();
    let tight = dir.run("learn -j1 -S 8M --stats=stats.json crawl.log");
    assert_eq!(tight.out(), rules);
    let spilled = dir.text("stats.json");
    assert!(!spilled.contains("\"spilled_bytes\":0"), "{spilled}");
    assert!(spilled.contains("\"spilled_bytes\""), "{spilled}");
    // One site of more records than there is memory for.
    dir.run("generate site --sites 1 --urls 12000 --seed 3 --to crawllog -o large.log").quiet();
    let told = dir.run("learn -S 8M large.log").exits(2).told();
    assert!(told.contains("all records of a site") && told.contains("raise -S"), "{told}");
}

#[test]
fn learned_rules_are_applied_and_judged() {
    let dir = Dir::new();
    crawl(&dir);
    let run = dir.run("learn -o rules.toml --evaluate truth.tsv crawl.log").exits(0);
    let told = run.told();
    for row in ["stage 0", "dictionary", "learned"] {
        assert!(told.contains(row), "{told}");
    }
    dir.run("rules test rules.toml").exits(0);
    let unique = |flags: &str| {
        let run = dir.run(&format!("canon -p rfc3986 {flags} crawl.log")).quiet();
        dir.put("forms.txt", run.out());
        run.out().lines().collect::<std::collections::BTreeSet<_>>().len()
    };
    let before = unique("");
    let after = unique("--rules rules.toml");
    assert!(after < before, "{after} forms with the rules, {before} without");
    // canonical(canonical(x)) = canonical(x), learned rules and all.
    let forms = dir.text("forms.txt");
    let again = dir.run("canon -p rfc3986 --rules rules.toml -f lines forms.txt").quiet().out();
    assert!(again == forms);
    dir.put("short.tsv", "site\tpage\n0\t1\n");
    // The rules are there all the same.
    let run = dir.run("learn --evaluate short.tsv crawl.log").exits(2);
    assert!(run.says("record 2: has no row").out().contains("[[rule]]"));
    dir.put("bad.tsv", "a\tb\n");
    dir.run("learn --evaluate bad.tsv crawl.log").exits(2).says("\"site\" and \"page\"");
    dir.put("bad.tsv", "site\tpage\n0\t1\nx\ty\n");
    dir.run("learn --evaluate bad.tsv crawl.log")
        .exits(2)
        .says("bad.tsv: line 3: expected numbers for site and page, found \"x\\ty\"");
    // It is read several times.
    for truth in ["/dev/stdin", "-"] {
        let run = dir.run(&format!("learn --evaluate {truth} crawl.log")).exits(2);
        run.says("it has to be a file");
    }
    let run = dir.run("learn --evaluate truth.tsv --until 1980-01-01 crawl.log").exits(2);
    run.says("record 1: has a row, but the input has no record; the truth is that of all records");
}

#[test]
fn rules_want_hosts() {
    let dir = Dir::new();
    let line = "1.1.1.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a?b HTTP/1.0\" 200 23\n";
    dir.put("access.log", line.repeat(3));
    dir.run("learn access.log").fails("undust: line 1: names no host").says("--base-url");
    let host = "a.test ".to_string() + line;
    dir.put("vhost.log", host.repeat(5));
    dir.put("mixed.log", host.repeat(8) + "- " + line);
    dir.run("learn vhost.log access.log").fails("undust: access.log, line 1: names no host");
    dir.run("learn vhost.log mixed.log").fails("undust: mixed.log, line 9: names no host");
    let learned = dir.run("learn --base-url http://a.test access.log").exits(0);
    let rules = learned.says("1 site: 0 rules in force, 0 to be reviewed, 0 guards, 0 traps").out();
    assert!(rules.contains("sites = \"1\""), "{rules}");
}

/// Bodies are noisy, so that digests hardly say anything, but pages say what their URL is.
#[test]
fn canonical_links_of_archived_pages_are_read() {
    let dir = Dir::new();
    let mut archive = String::new();
    for number in 0..300 {
        // Each page at three URLs, with another text each time.
        let (page, visit) = (number / 3, number % 3);
        let view = if visit == 0 { String::new() } else { format!("&view={}", 7919 * number) };
        let html = format!("<link rel=canonical href='/item?id={page}'><p>{number}");
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{html}");
        archive += &format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/item?id={page}{view}\r\n\
             WARC-Date: 2026-11-21T10:00:00Z\r\nWARC-Payload-Digest: sha1:{number}\r\n\
             Content-Type: application/http;msgtype=response\r\n\
             Content-Length: {}\r\n\r\n{answer}\r\n\r\n",
            answer.len()
        );
    }
    dir.put("site.warc", archive);
    let rules = dir.run("learn site.warc").exits(0).out();
    assert!(
        rules.contains("signal = \"canonical-link\"") && rules.contains("param = \"view\""),
        "{rules}"
    );
    // Others have no use for them, and do not take the time.
    let rows = dir.run("--print line site.warc").exits(0).out();
    assert!(!rows.contains("/item?id=0\n") && rows.contains("http://a.test/item?id=0\t"), "{rows}");
}

#[test]
fn canonical_links_count_more_than_noisy_digests() {
    let dir = Dir::new();
    dir.run(
        "generate site --preset noisy --sites 3 --urls 2500 --seed 7 --to tsv -o crawl.tsv \
         --truth truth.tsv",
    )
    .quiet();
    let (crawl, truth) = (dir.text("crawl.tsv"), dir.text("truth.tsv"));
    let page_of = |row: &str| row.rsplit_once('\t').unwrap().0.to_string();
    let pages: Vec<String> = truth.lines().skip(1).map(page_of).collect();
    let rows: Vec<&str> = crawl.lines().skip(1).collect();
    let url_of = |row: &str| row.split('\t').next().unwrap().to_string();
    // Of each page the first URL, or every URL itself.
    let mut firsts = std::collections::HashMap::new();
    for (row, page) in rows.iter().zip(&pages) {
        firsts.entry(page).or_insert_with(|| url_of(row));
    }
    let with_links = |link: &dyn Fn(&str, &String) -> String| {
        let mut table = crawl.lines().next().unwrap().to_string() + "\tcanonical_link\n";
        for (row, page) in rows.iter().zip(&pages) {
            table += &format!("{row}\t{}\n", link(row, page));
        }
        table
    };
    dir.put("linked.tsv", with_links(&|_, page| firsts[page].clone()));
    dir.put("echo.tsv", with_links(&|row, _| url_of(row)));
    let learned = |crawl: &str| {
        let run = dir.run(&format!("learn -v -o rules.toml --evaluate truth.tsv {crawl}")).exits(0);
        let told = run.told();
        let (_, learned) = told.split_once("\\nlearned").unwrap();
        let coverage: f64 = learned.split_whitespace().next().unwrap().parse().unwrap();
        assert!(learned.contains("  0 of 3"), "no site loses pages: {told}");
        (coverage, told.contains("distinguished by canonical link"), dir.text("rules.toml"))
    };
    let (by_digest, linked, rules) = learned("crawl.tsv");
    assert!(!linked && rules.contains("signal = \"digest\""));
    let (by_link, linked, rules) = learned("linked.tsv");
    assert!(linked && rules.contains("signal = \"canonical-link\""), "{rules}");
    assert!(by_link > 95.0 && by_link > by_digest + 3.0, "{by_link} by links, {by_digest} without");
    // Links that only repeat the URL are not believed.
    assert!((learned("echo.tsv").0 - by_digest).abs() < 0.01);
}

/// Rules lead to where the site's redirects lead.
#[test]
fn redirects_choose_the_host_and_the_scheme() {
    let dir = Dir::new();
    for (from, to) in [
        ("https://www.a.test", "https://a.test"),
        ("https://a.test", "https://www.a.test"),
        ("http://a.test", "https://a.test"),
        ("https://a.test", "http://a.test"),
        // Over another host, which only redirects.
        ("https://old.a.test", "https://www.a.test"),
    ] {
        let mut table = "url\tstatus\tdigest\tredirect\n".to_string();
        for page in 0..60 {
            table += &format!("{to}/p{page}\t200\td{page}\t\n");
            let next = from.replace("old.", "");
            let next = if next == from { to } else { &next };
            table += &format!("{from}/p{page}\t301\t\t{next}/p{page}\n");
            if next != to {
                table += &format!("{next}/p{page}\t301\t\t{to}/p{page}\n");
            }
            // More of the URLs are on the side that is left.
            table += &format!("{from}/p{page}?utm_source=x\t301\t\t{to}/p{page}\n");
        }
        dir.put("crawl.tsv", table);
        dir.run("learn -o rules.toml crawl.tsv").exits(0);
        let text = dir.text("rules.toml");
        dir.put("one.txt", format!("{from}/p1\n"));
        let form = dir.run("canon --rules rules.toml one.txt").quiet().out();
        assert_eq!(form, format!("{to}/p1\n"), "{text}");
    }
}

/// A site whose scripts have values in two spellings and parameters without end.
#[test]
fn values_and_names_of_scripts() {
    let dir = Dir::new();
    dir.run(
        "generate site --preset cms --sites 1 --urls 7000 --seed 3 --noise 0 --to crawllog \
         --only value-alias,many-params,ref -o crawl.log --truth truth.tsv",
    )
    .quiet();
    let rules = dir.run("learn -j1 -o rules.toml --evaluate truth.tsv crawl.log").exits(0);
    let told = rules.told();
    assert!(told.contains("learned"), "{told}");
    let rules = dir.text("rules.toml");
    for kind in ["alias-value", "keep-only"] {
        let at = rules.find(&format!("kind = \"{kind}\"")).expect(kind);
        let rule = rules[at..].split("\n[[").next().unwrap();
        assert!(rule.contains("status = \"auto\""), "{rule}");
    }
    let mut lines: Vec<String> = dir.text("crawl.log").lines().map(str::to_string).collect();
    lines.reverse();
    dir.put("back.log", lines.join("\n"));
    let again = dir.run("learn -j2 back.log").quiet().out();
    assert!(again == dir.run("learn -j1 crawl.log").quiet().out());
    let forms = dir.run("canon -p rfc3986 --rules rules.toml crawl.log").quiet().out();
    dir.put("forms.txt", &forms);
    let again = dir.run("canon -p rfc3986 --rules rules.toml -f lines forms.txt").quiet().out();
    assert!(again == forms);
}

/// A crawl: `pages` pages under each of the `paths`, three URLs of each with another `sx`, which
/// says nothing, or, where the path has a `!` in front, chooses the page. A `?` and what follows
/// stand before `item`.
fn visits(paths: &[&str], pages: usize) -> String {
    let mut state = 1u64;
    let mut word = || -> String {
        let letter = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'a' + (state >> 33) as u8 % 26)
        };
        (0..8).map(letter).collect()
    };
    let mut rows = String::from("url\ttime\tstatus\tsize\tdigest\n");
    let mut time = 1_700_000_000;
    for path in paths {
        let (path, chooses) = path.strip_prefix('!').map_or((*path, false), |path| (path, true));
        for page in 0..pages {
            let item = word();
            for _ in 0..3 {
                let sx = word();
                time += 60;
                let digest =
                    if chooses { format!("{path}{item}{sx}") } else { format!("{path}{item}") };
                rows += &format!(
                    "http://s1.test{path}item={item}&sx={sx}\t{time}\t200\t{}\t{digest}\n",
                    page % 97 + 100
                );
            }
        }
    }
    rows
}

/// How many canonical forms the URLs of `rows` that hold `part` have under the learned rules.
fn forms(dir: &Dir, rows: &str, part: &str, profile: &str) -> usize {
    let urls = rows.lines().skip(1).filter_map(|row| row.split('\t').next());
    let urls: Vec<&str> = urls.filter(|url| url.contains(part)).collect();
    dir.put("urls.txt", urls.join("\n"));
    let run = dir.run(&format!("-p {profile} --rules rules.toml -f lines urls.txt")).exits(0);
    run.out().lines().count()
}

/// What contradicts a rule is kept from it however its path is spelled, and under every profile.
#[test]
fn pages_that_contradict_a_rule_are_kept_from_it() {
    let dir = Dir::new();
    let letters = 'a'..='t';
    let good: Vec<String> = letters.map(|letter| format!("/{letter}.php?")).collect();
    for path in [
        "/forum/?",
        "/index.php?",
        "/View.php?",
        "/Zoo?",
        "/forum/index.html?",
        "/caf%C3%A9.php?",
        "/x[y].php?",
    ] {
        let bad = format!("!{path}");
        let mut paths: Vec<&str> = good.iter().map(String::as_str).collect();
        paths.push(&bad);
        let rows = visits(&paths, 25);
        dir.put("crawl.tsv", &rows);
        dir.run("learn -o rules.toml crawl.tsv").quiet();
        let rules = dir.text("rules.toml");
        assert!(rules.contains("except = ["), "{path}: {rules}");
        for profile in ["rfc3986", "crawl", "aggressive"] {
            assert_eq!(forms(&dir, &rows, path, profile), 75, "{path} under {profile}: {rules}");
            assert_eq!(forms(&dir, &rows, "/a.php", profile), 25, "{path} under {profile}");
        }
    }
}

/// Rules of one handler, of names with brackets: learned in one spelling, applied in any.
#[test]
fn a_rule_holds_where_it_was_learned() {
    let dir = Dir::new();
    for (path, other) in [
        ("/index.php?", "!/view.php?"),
        ("/forum/index.php?", "!/view.php?"),
        ("/Shop/View.aspx?", "!/view.php?"),
        ("/caf%C3%A9.php?", "!/view.php?"),
        ("/index.php?action=view&", "!/index.php?action=list&"),
    ] {
        let rows = visits(&[path, other], 60);
        dir.put("crawl.tsv", &rows);
        dir.run("learn -o rules.toml crawl.tsv").quiet();
        let rules = dir.text("rules.toml");
        for profile in ["rfc3986", "crawl", "aggressive"] {
            assert_eq!(forms(&dir, &rows, path, profile), 60, "{path} under {profile}: {rules}");
            let other = forms(&dir, &rows, &other[1..], profile);
            assert_eq!(other, 180, "{path} under {profile}: {rules}");
        }
    }
    for name in ["sx[]", "s+x", "s{x}"] {
        let rows = visits(&["/v?"], 60).replace("&sx=", &format!("&{name}="));
        dir.put("crawl.tsv", &rows);
        dir.run("learn -o rules.toml crawl.tsv").quiet();
        dir.run("rules test rules.toml").exits(0);
        for profile in ["rfc3986", "crawl", "aggressive"] {
            assert_eq!(forms(&dir, &rows, "/v", profile), 60, "{name} under {profile}");
        }
    }
}

/// What a rule file cannot say makes no rule, and no file that cannot be read.
#[test]
fn what_no_rule_can_say_is_left_out() {
    let dir = Dir::new();
    let rows = visits(&["/a*?", "!/abc?"], 60);
    dir.put("crawl.tsv", &rows);
    dir.run("learn -o rules.toml crawl.tsv").exits(0).says("1 site: 0 rules");
    assert_eq!(forms(&dir, &rows, "/abc", "crawl"), 180, "{}", dir.text("rules.toml"));
    for name in ["", "s*", "*", "s%2A"] {
        let rows = visits(&["/v?", "/w?"], 60).replace("&sx=", &format!("&{name}="));
        let rows = rows.replace("/w?", "/w?seen=1&");
        dir.put("crawl.tsv", &rows);
        dir.run("learn -o rules.toml crawl.tsv").exits(0);
        assert_eq!(forms(&dir, &rows, "/v", "crawl"), 180, "{name}: {}", dir.text("rules.toml"));
        dir.run("rules lint rules.toml").exits(0);
    }
    let hosts = visits(&["/v?"], 60).replace("http://s1", "http://user:secret@m.s1");
    dir.put("crawl.tsv", visits(&["/v?"], 60) + hosts.split_once('\n').unwrap().1);
    let rules = dir.run("learn crawl.tsv").quiet().out();
    assert!(rules.contains("drop-param") && !rules.contains("secret"), "{rules}");
}

/// A pattern for many folders does not reach a page beside them, though a profile drops the slash
/// that tells them apart.
#[test]
fn a_pattern_of_many_folders_is_kept_from_pages() {
    let dir = Dir::new();
    let letters = 'a'..='i';
    let folders: Vec<String> = letters
        .clone()
        .flat_map(|first| letters.clone().map(move |second| format!("/{first}{second}/?")))
        .collect();
    let mut paths: Vec<&str> = folders.iter().map(String::as_str).collect();
    let mut rows = visits(&paths, 4);
    paths = vec!["!/list?"];
    rows += visits(&paths, 60).split_once('\n').unwrap().1;
    dir.put("crawl.tsv", &rows);
    dir.run("learn -o rules.toml crawl.tsv").quiet();
    let rules = dir.text("rules.toml");
    assert!(rules.contains("path = \"/{slug}/\""), "{rules}");
    for profile in ["rfc3986", "crawl", "aggressive"] {
        assert_eq!(forms(&dir, &rows, "/list", profile), 180, "{profile}: {rules}");
        assert_eq!(forms(&dir, &rows, "/ab/", profile), 4, "{profile}: {rules}");
    }
}
