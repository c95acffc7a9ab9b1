//! The tables of cases: every rule alone, through both lanes and twice; and pairs that profiles
//! must merge, or must not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use undust::bytes::show;
use undust::canonical::{Canonicalizer, Comparison, DustRules, Profile, RuleId, Scratch, Settings};

fn table(name: &str, columns: usize) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/cases").join(name);
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let row: Vec<String> = line.split('\t').map(String::from).collect();
            assert_eq!(row.len(), columns, "{name}: {line}");
            assert!(!row[columns - 1].is_empty(), "{name}: no reason: {line}");
            row
        })
        .collect()
}

fn form(lane: &Canonicalizer, url: &str) -> String {
    let mut scratch = Scratch::default();
    let answer = lane.canonical(url.as_bytes(), &mut scratch);
    assert_eq!(answer.reject, None, "{url}");
    show(answer.form).to_string()
}

/// Both lanes of `profile`.
fn lanes(profile: Profile) -> [Canonicalizer; 2] {
    [Canonicalizer::new(profile.clone()), Canonicalizer::reference_only(profile)]
}

#[test]
fn every_rule_has_its_table_and_does_what_it_says() {
    let mut rows_of: BTreeMap<String, usize> = BTreeMap::new();
    for row in table("rules.tsv", 5) {
        let [rule, options, given, expected, why] = &row[..] else { unreachable!() };
        let mut settings = if rule == "dust" {
            let dust = DustRules::parse(options).unwrap();
            Settings { dust, ..Settings::default() }
        } else {
            Settings::parse(options).unwrap()
        };
        settings.only = Some(vec![rule.clone()]);
        for lane in lanes(settings.build().unwrap()) {
            let once = form(&lane, given);
            assert_eq!(once, *expected, "{rule} {options}: {given}: {why}");
            assert_eq!(form(&lane, &once), once, "{rule} {options}, twice: {given}");
        }
        *rows_of.entry(rule.clone()).or_default() += 1;
    }
    for rule in RuleId::ALL {
        let rows = rows_of.remove(rule.name()).unwrap_or(0);
        assert!(rows >= 3, "{} has {rows} cases", rule.name());
    }
    assert!(rows_of.is_empty(), "no such rules: {rows_of:?}");
}

/// What is equal stays equal where a setting holds on a path: the rules of parameters see paths
/// before those of index files and slashes do.
#[test]
fn equal_paths_are_equal_under_settings_for_a_path() {
    let forms_of = |lane: &Canonicalizer, urls: &[&str]| -> BTreeSet<String> {
        urls.iter().map(|url| form(lane, url)).collect()
    };
    let urls = ["http://a.test/a/index.html?x=1", "http://a.test/a/?x=1", "http://a.test/a?x=1"];
    for options in [
        "profile = 'aggressive'",
        "profile = 'aggressive'\nslash = 'add'",
        "profile = 'aggressive'\ndisable = ['duplicate-slashes']",
        "enable = ['directory-index']\nslash = 'remove'",
        "only = ['params', 'default-params', 'directory-index', 'trailing-slash']\nslash = 'add'",
    ] {
        let mut fine = 0;
        for path in ["/a/index.html", "/a/index.html/", "/a/", "/a//", "/a", "/", "/b"] {
            for setting in [
                "[[keep-params]]\nhost = 'a.test'\nnames = ['id']",
                "[[default-params]]\nhost = 'a.test'\nname = 'x'\nvalue = '1'",
            ] {
                let text = format!("{options}\n{setting}\npath = '{path}'");
                match Settings::parse(&text).unwrap().build() {
                    Err(error) => {
                        let error = error.to_string();
                        assert!(error.contains("no URL has the path /a/"), "{text}: {error}");
                    }
                    Ok(profile) => {
                        fine += 1;
                        for lane in lanes(profile) {
                            let forms = forms_of(&lane, &urls);
                            assert_eq!(forms.len(), 1, "{text}: {forms:?}");
                        }
                    }
                }
            }
        }
        assert!(fine >= 8, "{options}");
    }
}

/// Settings know the letters of hosts whose escapes are Latin-1, and of others.
#[test]
fn settings_match_in_latin1_and_beside_it() {
    let latin1 = "latin1-hosts = ['l.test', 'l.b.test']\n";
    for (setting, given, expected) in [
        ("strip-params = ['caf%E9']", "l.test/x?caf%e9=1&b", "l.test/x?b"),
        ("strip-params = ['caf%E9']", "l.test/x?caf%C3%A9=1&b", "l.test/x?b"),
        ("strip-params = ['caf%E9']", "b.test/x?caf%e9=1&b", "b.test/x?b"),
        ("strip-params = ['caf%E9']", "b.test/x?b&caf%C3%A9=1", "b.test/x?b&caf%C3%A9=1"),
        ("strip-params = ['%E9*']", "www.l.test/x?%e9b=1&b", "www.l.test/x?b"),
        ("index-names = ['caf%E9.html']", "l.test/x/caf%e9.html", "l.test/x/"),
        ("index-names = ['caf%E9.html']", "b.test/x/caf%e9.html", "b.test/x/"),
        ("[[keep-params]]\nnames = ['caf%E9']", "l.test/x?caf%e9=1&b", "l.test/x?caf%C3%A9=1"),
        ("[[keep-params]]\nnames = ['caf%E9']", "b.test/x?caf%e9=1&b", "b.test/x?caf%E9=1"),
        ("[[keep-params]]\nnames = ['a']\npath = '/%E9'", "l.test/%e9?a&b", "l.test/%C3%A9?a"),
        ("[[keep-params]]\nnames = ['a']\npath = '/%E9'", "b.test/%e9?a&b", "b.test/%E9?a"),
        (
            "[[keep-params]]\nnames = ['a']\nhost = 'b.test'\npath = '/%E9'",
            "l.b.test/%e9?a&b",
            "l.b.test/%C3%A9?a",
        ),
        (
            "[[keep-params]]\nnames = ['a']\nhost = 'x.l.test'\npath = '/%E9'",
            "x.l.test/%e9?a&b",
            "x.l.test/%C3%A9?a",
        ),
        (
            "[[keep-params]]\nnames = ['a']\nhost = 'b.test'\npath = '/%E9'",
            "b.test/%C3%A9?a&b",
            "b.test/%C3%A9?a&b",
        ),
        ("[[default-params]]\nname = '%E9'\nvalue = '%E8'", "l.test/?%e9=%e8&b", "l.test/?b"),
        ("[[default-params]]\nname = '%E9'\nvalue = '%E8'", "b.test/?%e9=%e8&b", "b.test/?b"),
    ] {
        let profile = Settings::parse(&format!("{latin1}{setting}")).unwrap().build().unwrap();
        for lane in lanes(profile) {
            let found = form(&lane, &format!("http://{given}"));
            assert_eq!(found, format!("http://{expected}"), "{setting}: {given}");
        }
    }
    // Where letters are plain, one row is enough.
    let plain = "[[keep-params]]\nnames = ['a']\npath = '/b'";
    let profile = Settings::parse(&format!("{latin1}{plain}")).unwrap().build().unwrap();
    let keep = format!("{:?}", profile.options.keep_params);
    assert_eq!(keep.matches("Scope {").count(), 1, "{keep}");
}

#[test]
fn profiles_merge_what_they_promise_and_nothing_else() {
    for row in table("pairs.tsv", 5) {
        let [profile, verdict, a, b, why] = &row[..] else { unreachable!() };
        for lane in lanes(Profile::named(profile).unwrap()) {
            let equal = form(&lane, a) == form(&lane, b);
            let expected = match verdict.as_str() {
                "equal" => true,
                "distinct" => false,
                other => panic!("{other}: expected equal or distinct"),
            };
            assert_eq!(equal, expected, "{profile}: {a} and {b}: {why}");
            let compared = lane.comparer().compare(a.as_bytes(), b.as_bytes());
            assert_eq!(compared != Comparison::Different, expected);
        }
    }
}
