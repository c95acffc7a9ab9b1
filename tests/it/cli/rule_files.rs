//! Rule files: `--rules`, and the commands that list, check, test and export them.

use super::*;

const RULES: &str = r#"
[about]
miner = "by hand"

[[rule]]
site = "x.org"
kind = "drop-param"
param = "sid"
status = "auto"
[rule.evidence]
ok = 1284
groups = 1284
bound = 0.997
signal = "digest"
gain-urls = 402118
loss-per-million = 129.9
loss-bound-per-million = 996.0
examples = [["http://x.org/a?sid=1", "http://x.org/a?sid=2"]]

[[rule]]
site = "x.org"
kind = "host-alias"
from = "m.x.org"
to = "x.org"

[[rule]]
site = "x.org"
kind = "default-param"
param = "page"
value = "1"
path = "/list*"
status = "review"
note = "looks fine"
[rule.evidence]
examples = [["http://x.org/list?page=1", "http://x.org/list"]]

[[guard]]
site = "x.org"
param = "user"

[[trap]]
site = "x.org"
kind = "path-repeat"
path = "/css/*/css/*"
urls = 18220
"#;

const URLS: &str = "http://x.org/a?sid=1\nhttp://m.x.org/a?sid=2\nhttp://x.org/a\n\
                    http://x.org/list?page=1\nhttp://x.org/list\nhttp://y.org/a?sid=1\n";

fn dir() -> Dir {
    let dir = Dir::new();
    dir.put("x.rules", RULES);
    dir.put("in.txt", URLS);
    dir
}

#[test]
fn every_command_takes_rules() {
    let dir = dir();
    dir.run("in.txt --rules x.rules").gives(
        "http://x.org/a?sid=1\nhttp://x.org/list?page=1\nhttp://x.org/list\nhttp://y.org/a?sid=1\n",
    );
    dir.run("canon in.txt --rules x.rules").gives(
        "http://x.org/a\nhttp://x.org/a\nhttp://x.org/a\nhttp://x.org/list?page=1\n\
         http://x.org/list\nhttp://y.org/a?sid=1\n",
    );
    let run = dir.run("explain http://M.x.org/a?sid=2 http://x.org/a --rules x.rules").quiet();
    for line in [
        "  case              http://m.x.org/a?sid=2",
        "  dust              http://x.org/a",
        "                    (rule 2, x.org: host-alias m.x.org = x.org)",
        "                    (rule 1, x.org: drop-param sid)",
        "equal, by case,dust:1,dust:2",
    ] {
        assert!(run.out().lines().any(|one| one == line), "{line}\n{}", run.told());
    }
}

#[test]
fn several_files_are_as_one() {
    let dir = dir();
    dir.put(
        "own.rules",
        "[about]\nminer = \"another\"\n[[guard]]\nsite = \"x.org\"\nparam = \"sid\"\n\
         [[rule]]\nsite = \"y.org\"\nkind = \"drop-param\"\nparam = \"sid\"\n",
    );
    // The guard of one holds for the rules of both.
    for order in ["--rules x.rules --rules own.rules", "--rules own.rules --rules x.rules"] {
        dir.run(&format!("canon in.txt {order}")).gives(
            "http://x.org/a?sid=1\nhttp://x.org/a?sid=2\nhttp://x.org/a\n\
             http://x.org/list?page=1\nhttp://x.org/list\nhttp://y.org/a\n",
        );
    }
    let list = dir.run("rules list x.rules own.rules").quiet().out();
    let names = "x.rules (rules 1 to 3), own.rules (rule 4)";
    assert!(list.starts_with(&format!("# {names}\n# miner: by hand\n")), "{list}");
    assert!(list.contains("\n   4  manual"), "{list}");
    let lint = dir.run("rules lint x.rules own.rules").out();
    let found =
        "rule 1 (x.org: drop-param sid) does nothing: a guard keeps sid\n4 rules, 3 in force";
    assert!(lint.starts_with(&format!("{names}\n{found}")), "{lint}");
    let joined = dir.run("rules export --to json x.rules own.rules").quiet().out();
    assert_eq!(json(joined.as_bytes())["rule"].as_array().unwrap().len(), 4);
    dir.put("none.rules", "");
    dir.run("in.txt --rules none.rules --rules none.rules")
        .says("none.rules, none.rules: no rule in them is in force, so they change nothing");
    dir.run("in.txt --rules x.rules --rules missing").fails("missing: cannot read");
    dir.run("rules lint").fails("required");
}

#[test]
fn reports_tell_which_rules_changed_nothing() {
    let dir = dir();
    let mut rules = RULES.to_string();
    for _ in 0..12 {
        rules += "[[rule]]\nsite = \"y.orgg\"\nkind = \"drop-param\"\nparam = \"sid\"\n";
    }
    rules += "[[rule]]\nsite = \"y.org\"\nkind = \"drop-param\"\nparam = \"a\"\nstatus = \"off\"\n";
    dir.put("more.rules", rules);
    let report = json(&dir.run("report --to json --rules more.rules in.txt").exits(0).out);
    let site_rules = report["site_rules"].as_array().unwrap().len();
    let idle = report["idle_site_rules"].as_array().unwrap();
    // Not those that are off.
    assert_eq!((site_rules, idle.len()), (2, 12), "{idle:?}");
    let text = dir.run("report --rules more.rules in.txt").exits(0).out();
    let line = text.lines().find(|line| line.contains("changed nothing")).unwrap();
    assert!(line.starts_with("           12 of the rules in force changed nothing: "), "{line}");
    assert!(line.ends_with(", …") && line.matches(", ").count() == 10, "{line}");
    // All of them.
    dir.put("other.txt", "http://other.test/\n");
    let text = dir.run("report --rules x.rules other.txt").exits(0).out();
    assert!(text.contains("of the rules in force changed nothing: 1, 2"), "{text}");
    let text = dir.run("report --rules x.rules --disable dust other.txt").exits(0).out();
    assert!(!text.contains("changed nothing"), "{text}");
}

#[test]
fn reports_tell_what_rules_find_beyond_the_profile() {
    let dir = dir();
    let run = dir.run("report --to json --rules x.rules in.txt").quiet();
    let report = json(&run.out);
    let rules = report["rules"].as_array().unwrap();
    let dust = rules.iter().find(|rule| rule["rule"] == "dust").unwrap();
    assert_eq!((&dust["merged"], &dust["changed"]), (&2.into(), &2.into()));
    let row = |at: usize| {
        let row = &report["site_rules"][at];
        ["rule", "changed", "merged"].map(|name| row[name].as_u64().unwrap())
    };
    // The second line is changed by both rules; the third is what the first becomes.
    assert_eq!(report["site_rules"].as_array().unwrap().len(), 2);
    assert_eq!([row(0), row(1)], [[1, 2, 1], [2, 1, 1]]);
    assert_eq!(report["site_rules"][0]["title"], "x.org: drop-param sid");
    assert_eq!(report["idle_site_rules"], Value::Array(Vec::new()));
    let text = dir.run("report --rules x.rules in.txt").quiet().out();
    assert!(!text.contains("changed nothing"), "{text}");
    for line in [
        "            2            1     1  x.org: drop-param sid",
        "            1            1     2  x.org: host-alias m.x.org = x.org",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}\n{text}");
    }
    assert!(!dir.run("report in.txt").quiet().out().contains("Rules of sites"));
}

#[test]
fn rules_list() {
    let dir = dir();
    let text = dir.run("rules list x.rules").quiet().out();
    for line in [
        "# miner: by hand",
        "   1  auto         1,284/1,284  0.9970  digest     402,118    129.9    996.0  x.org: drop-param sid",
        "                                                                             # looks fine",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}\n{text}");
    }
    for part in [
        "x.org: default-param page=1 at /list*",
        "x.org: never-merge user at *",
        "18,220",
        "x.org: path-repeat at /css/*/css/*",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    dir.run("rules list missing").fails("missing: cannot read");
    assert!(dir.run("rules list").quiet().out().contains("dust"));
}

#[test]
fn rules_lint() {
    let dir = dir();
    dir.run("rules lint x.rules").gives("3 rules, 2 in force: no findings\n");
    let loops = "[[rule]]\nsite='x.org'\nkind='alias-segment'\nfrom='a'\nto='b'\nstatus='auto'\n\
                 [[rule]]\nsite='x.org'\nkind='alias-segment'\nfrom='b'\nto='a'\nstatus='auto'\n\
                 [[rule]]\nsite='a.x.org'\nkind='drop-param'\nparam='sid'\npath='/s'\nstatus='auto'\n";
    dir.put("bad.rules", format!("{RULES}{loops}"));
    let out = dir.run("rules lint bad.rules").exits(1).out();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    assert!(
        lines[0].starts_with("rule 5 (x.org: alias-segment b = a): it cannot be proved"),
        "{out}"
    );
    assert!(
        lines[1].contains("rule 6 (a.x.org: drop-param sid at /s) does nothing: rule 1"),
        "{out}"
    );
    assert_eq!(lines[2], "6 rules, 4 in force: 2 findings");
    // A rule that is refused does nothing to others: no paths are folded here.
    dir.put(
        "refused.rules",
        "rule = [{site='x.org',kind='fold-case',status='auto'},\
         {site='x.org',kind='alias-prefix',from='/a/',to='/B/'},\
         {site='x.org',kind='drop-param',param='s',path='/B/*'}]\n\
         guard = [{site='x.org',param='t',path='/B/*'}]\n",
    );
    let out = dir.run("rules lint refused.rules").exits(1).out();
    assert!(out.starts_with("rule 1 (") && out.ends_with("2 in force: 1 finding\n"), "{out}");
    // One that cannot be compiled is in force nowhere.
    dir.put(
        "lost.rules",
        format!("{RULES}[[rule]]\nsite='x.org'\nkind='drop-param'\nparam='a'\npath='nothing'\n"),
    );
    let out = dir.run("rules lint lost.rules").exits(1).out();
    assert!(out.ends_with("4 rules, 2 in force: 1 finding\n"), "{out}");
    // Texts that no canonical URL holds, and a rule that is excepted wherever it would hold.
    dir.put(
        "odd.rules",
        "[[rule]]\nsite='x.org'\nkind='drop-param'\nparam='a'\npath='/%7Eu/*'\n\
         [[rule]]\nsite='x.org'\nkind='drop-param'\nparam='b'\npath='/i_{num}'\nexcept=['/{*}']\n\
         [[guard]]\nsite='x.org'\nparam='caf%c3%a9'\n",
    );
    assert_eq!(
        dir.run("rules lint odd.rules").exits(1).out(),
        "rule 2 (x.org: drop-param b at /i_{num} except /{*}) does nothing: it is excepted wherever its \
         path matches\n\
         rule 1 (x.org: drop-param a at /%7Eu/*): canonical URLs are spelled in another way; taken for \
         x.org: drop-param a at /~u/*\n\
         guard 1 (caf%c3%a9): canonical URLs are spelled in another way; taken for caf%C3%A9\n\
         2 rules, 2 in force: 3 findings\n"
    );
    // What holds for more or for less than it looks like.
    dir.put("doubts.rules", "rule=[{site='org',kind='drop-param',param='a*b',when=['b=1','!b']}]");
    let out = dir.run("rules lint doubts.rules").exits(1).out();
    for part in ["it asks for URLs without b", "hosts below org are", "the * in a*b", "3 findings"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
    // Learned rules that do not get along are left out where they are applied.
    dir.run("canon in.txt --rules bad.rules")
        .exits(0)
        .says("bad.rules: 1 learned rule is left out");
    dir.run("canon -q in.txt --rules bad.rules").quiet();
    // Those by hand are an error.
    dir.put("worse.rules", loops.replace("auto", "manual"));
    dir.run("canon in.txt --rules worse.rules").fails("worse.rules: rule 2 (x.org: alias-segment");
    dir.put("none.rules", "[[rule]]\nsite='x.org'\nkind='dance'\n");
    dir.run("rules lint none.rules").fails("none.rules: rule 1: unknown kind \"dance\"");
}

#[test]
fn rule_files_come_from_standard_input() {
    let dir = dir();
    let text = dir.get("x.rules");
    for command in ["list", "lint", "test", "export --to json"] {
        let expected = dir.run(&format!("rules {command} x.rules"));
        let given = dir.feed(&format!("rules {command} -"), &text);
        let told = (given.status, given.out(), given.words().replace("-:", "x.rules:"));
        assert_eq!(told, (expected.status, expected.out(), expected.words()), "{command}");
    }
}

#[test]
fn rules_test() {
    let dir = dir();
    dir.run("rules test x.rules").gives("3 rules, 2 examples: all pass\n");
    // Its rules are those that are tested.
    dir.run("rules test x.rules --enable dust").exits(0);
    dir.put("bad.rules", RULES.replace("a?sid=2\"]", "b?sid=2\"]"));
    let out = dir.run("rules test bad.rules").exits(1).out();
    assert!(
        out.starts_with(
            "rule 1 (x.org: drop-param sid): http://x.org/a?sid=1 and http://x.org/b?sid=2 are not \
             equal: http://x.org/a and http://x.org/b\n"
        ),
        "{out}"
    );
    assert!(out.ends_with("3 rules, 2 examples: 1 failure\n"), "{out}");
}

#[test]
fn rules_export() {
    let dir = dir();
    let run = dir.run("rules export x.rules --to robots").exits(0).says("1 of the rules in force");
    assert_eq!(run.out(), "# robots.txt of x.org\nUser-agent: *\nClean-param: sid\n\n");
    let run = dir.run("rules export x.rules --to nutch").exits(0).says("out: 1 review");
    assert!(run.out().contains("m\\.x\\.org"), "{}", run.told());
    let run = dir.run("rules export x.rules --to clearurls").exits(0).says("1 host-alias");
    assert_eq!(json(&run.out)["providers"]["x.org 1"]["rules"][0], "sid");
    let run = dir.run("rules export x.rules --to json").quiet();
    assert_eq!(json(&run.out)["guard"][0]["param"], "user");
    dir.run("rules export x.rules --to dance").fails("robots");
}

/// `learn -o` writes one if it is asked to.
#[test]
fn rule_files_may_be_packed() {
    let dir = Dir::with_list();
    dir.put("rules.toml", RULES);
    dir.put("rules.toml.gz", gzip(RULES.as_bytes()));
    dir.put("rules.toml.zst", zstd(RULES.as_bytes()));
    let expected = dir.run("rules list rules.toml").exits(0).out();
    for packed in ["rules.toml.gz", "rules.toml.zst"] {
        assert_eq!(dir.run(&format!("rules list {packed}")).exits(0).out(), expected);
        dir.run(&format!("--rules {packed} in.txt")).gives(KEPT);
    }
    dir.put("cut.gz", &gzip(RULES.as_bytes())[..40]);
    dir.run("--rules cut.gz in.txt").fails("cut.gz: expected the end of a gzip");
    dir.put("other", b"a = '\xff'");
    dir.run("--rules other in.txt").fails("other: expected text in UTF-8");
    dir.run("--rules - in.txt").fails("-: cannot read");
}

#[test]
fn parameters_are_given_in_any_spelling() {
    let dir = Dir::new();
    let canon = |flags: &[&str], url: &str| {
        dir.put("in.txt", url);
        dir.run_args(&[&["canon"], flags, &["in.txt"]].concat()).quiet().out()
    };
    for (flags, url, expected) in [
        (&["--keep-param", "a[]"][..], "http://a.test/?a[]=1&b=2", "?a%5B%5D=1"),
        (&["--keep-param", "größe"], "http://a.test/?gr%C3%B6%c3%9fe=1&b=2", "?gr%C3%B6%C3%9Fe=1"),
        (&["--keep-param", "id, lang"], "http://a.test/?lang=de&id=1&b=2", "?id=1&lang=de"),
        (&["--strip-param", "a[]"], "http://a.test/?a%5b%5d=1&b=2", "?b=2"),
        (&["--strip-param", "a%2A"], "http://a.test/?A*=1&ab=2", "?ab=2"),
        (&["--strip-param", "a%2A*"], "http://a.test/?a*b=1&ab=2", "?ab=2"),
        (&["--strip-param", "ä*"], "http://a.test/?%C3%A4b=1&b=2", "?b=2"),
        (&["--default-param", "q=a b"], "http://a.test/?q=a+b&b=2", "?b=2"),
        (&["--default-param", "u=http://x/"], "http://a.test/?u=http://x/&b=2", "?b=2"),
        (&["--default-param", "a.test:u=a:b"], "http://a.test/?u=a:b&b=2", "?b=2"),
        (&["--default-param", "a.test/d;v=1:z=2"], "http://a.test/d;v=1?b=2&z=2", "d;v=1?b=2"),
        (&["--keep-param", "a.test/d;v=1:z"], "http://a.test/d;v=1?b=2&z=2", "d;v=1?z=2"),
        // What is named stays, whatever it is known for.
        (&["--keep-param", "utm_source"], "http://a.test/?utm_source=1&b=2", "?utm_source=1"),
        (
            &["--keep-param", "PHPSESSID"],
            "http://a.test/?PHPSESSID=0123456789abcdef0123456789abcdef&b=2",
            "?PHPSESSID=0123456789abcdef0123456789abcdef",
        ),
    ] {
        assert_eq!(canon(flags, url), format!("http://a.test/{expected}\n"), "{flags:?}");
    }
    for wrong in ["id*", "a=b"] {
        dir.run_args(&["--keep-param", wrong, "in.txt"]).fails("keep-params: expected");
    }
    for (flag, wrong) in [("--keep-param", ":id"), ("--default-param", ":id=1")] {
        dir.run_args(&[flag, wrong, "in.txt"]).fails("leave the colon out for all hosts");
    }
    for wrong in ["http://a.test/:id", "a.test:8080:id"] {
        dir.run_args(&["--keep-param", wrong, "in.txt"]).fails("without scheme and port");
    }
}

#[test]
fn parameters_that_are_kept_are_named() {
    let dir = Dir::with_list();
    for flags in ["--keep-param a.test/display", "--keep-param a.test:"] {
        dir.run(&format!("{flags} in.txt")).fails("expected names of parameters");
    }
    dir.run_args(&["--keep-param", "", "in.txt"]).fails("expected names of parameters");
    dir.put("config.toml", "[[keep-params]]\nhost = 'b.test'\n");
    dir.run("--config config.toml in.txt").fails("expected `names`");
    dir.put("config.toml", "[[keep-params]]\nhost = 'b.test'\nnames = []\n");
    dir.run("canon --config config.toml in.txt")
        .gives("http://a.test/\nhttp://a.test/\nhttp://b.test/\nhttp://b.test/\n");
}

#[test]
fn rules_that_are_not_in_force_are_told() {
    let dir = dir();
    let rule = |status: &str| {
        format!(
            "[[rule]]\nsite = 'x.org'\nkind = 'drop-param'\nparam = 'sid'\nstatus = '{status}'\n"
        )
    };
    dir.put("idle", rule("review") + &rule("off") + &rule("review"));
    for to in ["robots", "nutch", "clearurls"] {
        let run = dir.run(&format!("rules export --to {to} idle")).exits(0);
        run.says("undust: 3 rules are not in force and left out: 1 off, 2 review");
    }
    dir.run("rules export --to json idle").quiet();
    dir.put("one", rule("review") + &rule("manual"));
    let run = dir.run("rules export --to robots one").exits(0);
    let run = run.says("undust: 1 rule is not in force and left out: 1 review");
    assert!(run.out().contains("Clean-param: sid\n"));
    dir.run("in.txt --rules one").quiet();
    for command in ["", "canon", "report", "explain"] {
        let input = if command == "explain" { "http://x.org/" } else { "in.txt" };
        let run = dir.run(&format!("{command} {input} --rules idle")).exits(0);
        run.says("undust: idle: no rule in it is in force, so it changes nothing");
    }
    assert_eq!(dir.run("-q in.txt --rules idle").quiet().out(), URLS);
}
