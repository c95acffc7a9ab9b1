//! Public test vectors: the lists in `data/cases`, each against the profile it is meant for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;
use undust::canonical::{Canonicalizer, DustRules, Profile, Scratch, Settings};
use undust::reject::Reject;

fn case_file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("data/cases").join(name)).unwrap()
}

fn vectors(name: &str) -> Vec<Value> {
    case_file(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(vector: &'a Value, key: &str) -> &'a str {
    vector[key].as_str().unwrap_or_else(|| panic!("{key} of {vector}"))
}

fn canonical(profile: &Profile, url: &str) -> (String, Option<Reject>) {
    let lane = Canonicalizer::new(profile.clone());
    let mut scratch = Scratch::default();
    let answer = lane.canonical(url.as_bytes(), &mut scratch);
    (String::from_utf8(answer.form.to_vec()).unwrap(), answer.reject)
}

fn settings(toml: &str) -> Settings {
    Settings::parse(toml).unwrap()
}

/// The settings under which one rule of the field's list is shown, by the list's name for it.
fn settings_for(rule: &str) -> Settings {
    let mut settings = settings(match rule {
        "lowercase-scheme-host" => "only = ['case']",
        "uppercase-escapes" | "decode-unreserved" => "only = ['escapes']",
        "remove-dot-segments" => "only = ['dot-segments']",
        "remove-default-port" => "only = ['default-port']",
        "add-trailing-slash" => "only = ['trailing-slash']\nslash = 'add'",
        "empty-path-to-slash" => "only = ['trailing-slash']",
        "remove-directory-index" => "only = ['directory-index']",
        "remove-fragment" => "only = ['fragment']",
        "replace-ip-with-domain" => "only = ['ip-host']\n[hosts]\n'208.80.152.2' = 'example.com'",
        "limit-protocols" => "only = ['scheme']",
        "remove-duplicate-slashes" => "only = ['duplicate-slashes']",
        "remove-www" => "only = ['www']",
        "sort-query" => "only = ['query-order']",
        "remove-unused-params" => {
            "only = ['params']\n[[keep-params]]\nhost = 'example.com'\npath = '/display'\nnames = ['id']"
        }
        "remove-default-params" => {
            "only = ['default-params']\n[[default-params]]\nname = 'id'\nvalue = ''\n\
             [[default-params]]\nname = 'sort'\nvalue = 'ascending'"
        }
        "remove-empty-query" => "only = ['empty-query']",
        "standardise-encoding" => "only = ['encoding']",
        "lowercase-path" | "dust-rule" => "only = ['dust']",
        other => panic!("no settings for {other}"),
    });
    let rules = match rule {
        "lowercase-path" => "[[rule]]\nsite = 'example.com'\nkind = 'fold-case'",
        "dust-rule" => {
            "[[rule]]\nsite = 'foo.org'\nkind = 'substitute'\nfrom = 'story?id='\nto = 'story_'"
        }
        _ => "",
    };
    settings.dust = DustRules::parse(rules).unwrap();
    settings
}

#[test]
fn the_list_of_normalizations() {
    let vectors = vectors("wikipedia.jsonl");
    assert_eq!(vectors.len(), 27);
    for vector in vectors {
        let rule = text(&vector, "profile").strip_prefix("rule:").unwrap();
        let profile = settings_for(rule).build().unwrap();
        let (form, reject) = canonical(&profile, text(&vector, "input"));
        assert_eq!((form.as_str(), reject), (text(&vector, "expected"), None), "{rule}");
    }
}

/// What `data/README.md` says of a file: how many cases are asserted, and how many are left out for
/// each reason.
fn told(file: &str) -> (usize, Vec<usize>) {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("data/README.md"));
    let page = page.unwrap();
    let rows = page.lines().skip_while(|line| *line != "| file | asserted | left out | why |");
    let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_string()).collect();
    let rows: Vec<Vec<String>> =
        rows.skip(2).take_while(|line| line.starts_with('|')).map(cells).collect();
    let name = format!("`{file}`");
    let first = rows.iter().position(|row| row[1] == name).expect("the file has a row");
    let more = rows[first + 1..].iter().take_while(|row| row[1].is_empty());
    let left_out = [&rows[first]].into_iter().chain(more).map(|row| row[3].parse().unwrap());
    (rows[first][2].parse().unwrap(), left_out.collect())
}

/// The numbers of cases for each reason, largest first.
fn counts(left_out: &BTreeMap<&str, usize>) -> Vec<usize> {
    let mut counts: Vec<usize> = left_out.values().copied().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

#[test]
fn rfc3986() {
    let profile = Profile::named("rfc3986").unwrap();
    let (mut used, mut left_out) = (0, BTreeMap::new());
    for vector in vectors("rfc3986.jsonl") {
        let (input, expected) = (text(&vector, "input"), text(&vector, "expected"));
        let kind = text(&vector, "kind");
        let reason = match kind {
            "canon" => {
                assert_eq!(canonical(&profile, input).0, expected, "{input}");
                None
            }
            "pair-equal" | "pair-distinct" => {
                let equal = canonical(&profile, input) == canonical(&profile, expected);
                assert_eq!(equal, kind == "pair-equal", "{input} {expected}");
                None
            }
            "component" if input.starts_with('/') => {
                let mut path = input.as_bytes().to_vec();
                let len = undust::canonical::remove_dot_segments(&mut path);
                assert_eq!(std::str::from_utf8(&path[..len]).unwrap(), expected);
                None
            }
            "component" => Some("a path that no URL has"),
            "resolve" => Some("has a base"),
            _ => panic!("{vector}: nobody knows what to do with it"),
        };
        match reason {
            Some(reason) => *left_out.entry(reason).or_insert(0) += 1,
            None => used += 1,
        }
    }
    assert_eq!((used, counts(&left_out)), told("rfc3986.jsonl"), "{left_out:?}");
}

/// Why a case of `whatwg.jsonl` is not for us, if it is not.
fn why_not(vector: &Value) -> Option<&'static str> {
    let (input, kind) = (text(vector, "input"), text(vector, "kind"));
    if kind == "component" {
        return Some("part of a URL");
    }
    if vector["input_b64"] == "surrogate" {
        return Some("not UTF-8");
    }
    // For a fragment alone the standard has `about:blank` as the base.
    let base = match text(vector, "profile").split_once(" base=") {
        None if kind == "canon" && input.starts_with('#') => "about:blank",
        None => return None,
        Some((_, base)) => base,
    };
    let Ok(base) = url::Url::parse(base) else { return Some("the base fails") };
    // What fails beside a base fails alone, too; else the base must make no difference.
    let alone = url::Url::parse(input);
    let is_absolute =
        alone.is_ok() && url::Url::options().base_url(Some(&base)).parse(input) == alone;
    (kind == "canon" && !is_absolute).then_some("depends on a base")
}

/// Cases of the standard that are resolved without a base, and what became of them.
#[test]
fn whatwg() {
    let profile = Profile::named("whatwg").unwrap();
    let (mut used, mut left_out) = (0, BTreeMap::new());
    let mut gaps = BTreeSet::new();
    for vector in vectors("whatwg.jsonl") {
        if let Some(reason) = why_not(&vector) {
            *left_out.entry(reason).or_insert(0) += 1;
            continue;
        }
        used += 1;
        let (input, kind) = (text(&vector, "input"), text(&vector, "kind"));
        let (form, reject) = canonical(&profile, input);
        let holds = match kind {
            "fail" => reject.is_some(),
            "canon" => reject.is_none() && form == text(&vector, "expected"),
            _ => panic!("{vector}: nobody knows what to do with it"),
        };
        if !holds {
            gaps.insert(format!("{}\t{}", undust::bytes::show(input.as_bytes()), kind));
        }
        // Whatever the crate gets right of the web's schemes, we get right.
        let is_web = |text: &str| text.starts_with("http:") || text.starts_with("https:");
        let crate_is_right = match (url::Url::parse(input), kind) {
            (Ok(url), "canon") => is_web(url.as_str()) && url.as_str() == text(&vector, "expected"),
            (Err(_), "fail") => true,
            _ => false,
        };
        assert!(holds || !crate_is_right, "{input:?}: {form:?} {reject:?}");
    }
    assert_eq!((used, counts(&left_out)), told("whatwg.jsonl"), "{left_out:?}");
    let listed: BTreeSet<String> = case_file("known_gaps.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.rsplit_once('\t').unwrap().0.to_string())
        .collect();
    let opened: Vec<&String> = gaps.difference(&listed).collect();
    let closed: Vec<&String> = listed.difference(&gaps).collect();
    assert!(opened.is_empty() && closed.is_empty(), "new gaps {opened:#?}\nclosed {closed:#?}");
}

/// Every example of the article that the list of rules comes from, with its rule on.
#[test]
fn the_article() {
    let rules = [
        "case",
        "escapes",
        "dot-segments",
        "trailing-slash",
        "default-port",
        "directory-index",
        "fragment",
        "ip-host",
        "scheme",
        "duplicate-slashes",
        "www",
        "query-order",
        "params",
        "session-ids",
        "default-params",
        "empty-query",
        "encoding",
    ];
    let mut settings = settings(
        "only = []\nslash = 'remove'\n[hosts]\n'208.77.188.166' = 'www.example.com'\n\
         [[keep-params]]\nhost = 'example.com'\npath = '/display'\nnames = ['id', 'sort', 'lang', 'article', 'category']\n\
         [[default-params]]\nname = 'id'\nvalue = ''\n[[default-params]]\nname = 'sort'\nvalue = 'ascending'",
    );
    settings.only = Some(rules.map(String::from).to_vec());
    let profile = settings.build().unwrap();
    let rows: Vec<Vec<String>> = case_file("seed_article.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').map(String::from).collect())
        .collect();
    assert!(rows.len() > 50);
    for a in &rows {
        for b in &rows {
            let must = a[2] != "distinct" && a[0] == b[0];
            let must_not = a[2] == "distinct" && b[2] == "distinct" && a[0] != b[0];
            let equal = canonical(&profile, &a[3]).0 == canonical(&profile, &b[3]).0;
            assert!(!must || equal, "{}: {} and {} must merge", a[1], a[3], b[3]);
            assert!(!must_not || !equal, "{}: {} and {} must not merge", a[1], a[3], b[3]);
        }
    }
}
