//! Tables that list what the program has: formats, rules and profiles, settings.

use std::collections::BTreeSet;

use undust::canonical::{Profile, Settings, Slash};

use super::*;

#[test]
fn the_table_of_formats_has_all_names() {
    let page = page("docs/formats.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let formats = Dir::new().run("formats").quiet().out();
    for name in formats.lines().filter_map(|line| line.split(' ').next()) {
        let name = format!("`{name}`");
        let first = |row: &&str| row.split(" | ").next().unwrap().contains(&name);
        assert_eq!(rows.iter().filter(|row| first(row)).count(), 1, "docs/formats.md: {name}");
    }
}

/// Numbers, classes and profiles of rules are those that the code has; `rules list` tells the same.
#[test]
fn the_table_of_rules_is_that_of_the_program() {
    let page = page("README.md");
    let head = page.lines().find(|line| line.starts_with("| rule | no. |")).unwrap();
    let profiles: Vec<&str> = head.split('`').skip(1).step_by(2).collect();
    assert_eq!(profiles, PROFILES[1..], "the profiles that have rules");
    let rows = table(&page, "| rule | no. |");
    let told = Dir::new().run("rules list").quiet().out();
    let told: Vec<Vec<&str>> = told
        .lines()
        .map(|line| line.trim_start_matches([' ', '*']).split_whitespace().collect::<Vec<&str>>())
        .filter(|words| words.get(2).is_some_and(|class| class.len() == 1))
        .collect();
    assert_eq!((rows.len(), told.len()), (RuleId::ALL.len(), RuleId::ALL.len()));
    for ((rule, row), told) in RuleId::ALL.iter().zip(&rows).zip(&told) {
        let info = rule.info();
        let facts = [info.name, info.number, &info.class.letter().to_string()];
        assert_eq!([row[0].trim_matches('`'), row[1], row[2]], facts, "README.md");
        assert_eq!(told[..3], facts, "rules list");
        let first = profiles.iter().find(|profile| info.profiles.contains(profile));
        assert_eq!(told[3], *first.unwrap_or(&"(if"), "rules list: {}", info.name);
        // What configures it is in brackets.
        let summary = row[7].split(" (`--").next().unwrap().replace('`', "");
        assert_eq!(summary, info.summary, "README.md: {}", info.name);
        let marks: Vec<&str> = profiles.iter().map(|profile| mark(*rule, profile)).collect();
        assert_eq!(row[3..7], marks, "README.md: {} under {profiles:?}", info.name);
    }
}

/// How the table marks `rule` under a profile: P if only what preserves semantics is applied.
fn mark(rule: RuleId, profile: &str) -> &'static str {
    let profile = Profile::named(profile).unwrap();
    let is_in_part = match rule {
        RuleId::Encoding => !profile.options.form_spelling,
        RuleId::TrailingSlash => profile.options.slash == Slash::Keep,
        _ => false,
    };
    match (profile.rules.contains(rule), is_in_part) {
        (false, _) => "",
        (true, false) => "✓",
        (true, true) => "P",
    }
}

/// Keys are those that a file may have, and flags those of the program: every row names the flag
/// that sets its key, if there is one.
#[test]
fn the_table_of_settings_is_that_of_the_program() {
    let page = page("docs/config.md");
    let dir = Dir::with_list();
    dir.put("wrong.toml", "no-such-key = 1\n");
    let told = dir.run("--config wrong.toml in.txt").exits(2).words();
    let accepted: BTreeSet<&str> =
        told.split("expected one of").nth(1).unwrap().split('`').skip(1).step_by(2).collect();
    let help = dir.run("dedup --help").quiet().out();
    let (_, help) = help.split_once("\nRules:\n").unwrap();
    let help = help.lines().take_while(|line| line.is_empty() || line.starts_with(' '));
    let mut flags: BTreeSet<&str> = help
        .filter(|line| line.trim_start().starts_with('-'))
        .flat_map(|line| line.split([' ', ',']).filter(|word| word.starts_with("--")))
        .collect();
    // These name files, of which one has the keys and the other has rules of sites.
    assert!(flags.remove("--config") && flags.remove("--rules"), "{flags:?}");
    let (mut keys, mut given) = (BTreeSet::new(), BTreeSet::new());
    for row in table(&page, "| key | flag |") {
        let names: Vec<&str> = row[0].split('`').skip(1).step_by(2).collect();
        let long: Vec<&str> = row[1].split('`').filter(|flag| flag.starts_with("--")).collect();
        assert!(long.is_empty() || long.len() == names.len(), "{row:?}");
        for (at, name) in names.iter().enumerate() {
            let key = name.trim_matches(['[', ']']);
            assert!(keys.insert(key), "{key} has two rows");
            if *name != key {
                Settings::parse(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            let Some(flag) = long.get(at) else { continue };
            assert!(given.insert(*flag), "{flag} has two rows");
            // A flag gives one of a list at a time.
            let singular = |name: &str| name.trim_end_matches('s').to_string();
            assert_eq!(singular(flag), format!("--{}", singular(key)));
        }
    }
    assert_eq!(keys, accepted, "keys");
    assert_eq!(given, flags, "flags");
}
