//! The other commands.

use super::*;

#[test]
fn every_rule_has_a_page() {
    let dir = Dir::new();
    let list = dir.run("rules list").quiet().out();
    let none = dir.run("rules list -p whatwg --disable case").quiet().out();
    for rule in RuleId::ALL {
        let name = rule.name();
        assert!(
            list.lines()
                .any(|line| line.get(4..).is_some_and(|row| row.starts_with(&format!("{name} ")))),
            "{name}"
        );
        let page = dir.run(&format!("rules show {name}")).quiet().out();
        assert!(page.starts_with(&format!("# {name}\n")), "{page}");
        for heading in ["What it does", "When it is safe", "Example", "Options", "Source"] {
            assert!(page.contains(&format!("\n## {heading}\n\n")), "{name}: {heading}");
        }
    }
    assert!(list.contains("  * case ") && none.contains("    case "), "{none}");
    dir.run("rules show nope").fails("no rule \"nope\"; the rules are case, ");
}

#[test]
fn completions_for_every_shell() {
    let dir = Dir::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = dir.run(&format!("completions {shell}")).quiet().out();
        for word in ["undust", "dedup", "canon", "report", "profile"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
        // The hidden command.
        assert!(!text.contains("Print the pages of all rules"), "{shell}");
        assert!(!text.contains("rules__subcmd__pages"), "{shell}");
    }
    dir.run("completions csh").fails("csh");
}

#[test]
fn completions_of_the_bare_form() {
    let dir = Dir::new();
    let text = dir.run("completions bash").quiet().out();
    let root = text.split("\n        undust)\n").nth(1).unwrap();
    let root = root.split("\n            return 0\n").next().unwrap();
    for part in [
        "--clusters",
        "--profile",
        " canon ",
        "-W \"lines whatwg rfc3986 crawl aggressive\"",
        "--only)",
        "session-ids",
        "cdx-json",
        "-W \"keep add remove\"",
        "-W \"remove add\"",
        "-W \"http https\"",
    ] {
        assert!(root.contains(part), "{part}\n{root}");
    }
    // Features of sites, which are no rules.
    let site = text.split("undust__subcmd__generate__subcmd__site)\n").nth(1).unwrap();
    let site = site.split("\n            return 0\n").next().unwrap();
    assert!(site.contains("--only)") && !site.contains("session-ids"), "{site}");
}

#[test]
fn manual_pages() {
    let dir = Dir::new();
    let page = dir.run("man").quiet().out();
    assert!(page.contains(".TH undust 1"));
    fs::create_dir(dir.path("man")).unwrap();
    dir.run("man man").gives("");
    for page in [
        "undust.1",
        "undust-dedup.1",
        "undust-canon.1",
        "undust-generate-list.1",
        "undust-generate-site.1",
    ] {
        assert!(dir.text(&format!("man/{page}")).contains(".SH NAME"), "{page}");
    }
    assert!(dir.text("man/undust.1") == page);
    dir.run("man missing")
        .fails("missing: cannot write: there is no folder missing; make it first");
}

#[test]
fn generated_lists_are_known_line_by_line() {
    let dir = Dir::new();
    dir.run("generate list -n 5000 --seed 11 -o list.txt --truth truth.tsv").gives("");
    let list = dir.get("list.txt");
    assert!(list == generated(5000, 11), "the command makes the list of the library");
    dir.run("generate list -n 5K --seed 11").gives(&list);
    let other = dir.run("generate list -n 5000 --seed 12").quiet();
    assert!(other.out != list);
    let truth = dir.text("truth.tsv");
    let mut rows = truth.lines().map(|row| row.split('\t').collect::<Vec<_>>());
    assert_eq!(rows.next().unwrap(), ["page", "class", "rules"]);
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), 5000);
    let pages = rows.iter().filter(|row| row[1] == "first").count();
    let unique =
        |profile: &str| dir.run(&format!("-p {profile} list.txt")).quiet().out().lines().count();
    assert_eq!(unique("aggressive"), pages, "aggressive finds every page, and no page twice");
    let pairs: std::collections::HashSet<(&str, bool)> =
        rows.iter().map(|row| (row[0], row[1] == "heuristic")).collect();
    assert!(unique("crawl") >= pages && unique("crawl") <= pairs.len() + pages);
    dir.run("generate list -n 10 --exact 0 --variants 0 --truth truth.tsv").quiet();
    assert!(dir.text("truth.tsv").lines().skip(1).all(|row| row.ends_with("\tfirst\t-")));
    dir.run("generate list -n 10 --exact 0.9 --variants 0.9").fails("share");
    for wrong in ["1.1", "abc"] {
        let words = "'--exact <SHARE>': expected a share from 0 to 1";
        dir.run(&format!("generate list --exact {wrong}")).fails(words);
    }
    dir.run("generate list -n abc").fails("\"abc\" is not a number");
    dir.run("generate list -n 10 -o list.zst").quiet();
    assert_eq!(zstd::decode_all(&dir.get("list.zst")[..]).unwrap().len(), generated(10, 1).len());
}
