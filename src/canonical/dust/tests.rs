//! Tables for every kind; the laws at random are in `tests/random.rs`.

mod profiles;
mod random;

use super::*;
use crate::canonical::{
    Canonical, Canonicalizer, Choice as _, PROFILES, Reached, Scratch, Settings, Slash, Step,
};

fn rule(text: &str) -> String {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    format!("[[rule]]\nsite = 'x.org'\nkind = '{kind}'\n{}\n", rest.replace("; ", "\n"))
}

fn compiled(rules: &[&str]) -> DustRules {
    let text: String = rules.iter().map(|one| rule(one)).collect();
    DustRules::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn applied(rules: &DustRules, url: &str) -> String {
    let mut target = Target::default();
    target.read(url.as_bytes()).unwrap();
    rules.apply(&mut target);
    let mut out = Vec::new();
    target.write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn every_kind() {
    for (rule, given, expected) in [
        ("host-alias from='m.x.org'; to='x.org'", "http://m.x.org/a", "http://x.org/a"),
        ("host-alias from='m.x.org'; to='x.org'", "http://n.m.x.org/a", "http://n.m.x.org/a"),
        ("host-alias from='10.0.0.1'; to='x.org'", "http://10.0.0.1:81/", "http://x.org:81/"),
        ("host-alias from='https:'; to='http:'", "https://x.org/", "http://x.org/"),
        ("host-alias from='https:'; to='http:'", "https://x.org:8/", "https://x.org:8/"),
        ("host-alias from=':8080'; to=':'", "http://x.org:8080/", "http://x.org/"),
        ("drop-segment segment='(S({*}))'", "http://x.org/(S(abc))/a", "http://x.org/a"),
        ("drop-segment segment='{hex:8}'", "http://x.org/a/01234567", "http://x.org/a/"),
        ("drop-segment segment='{hex:8}'", "http://x.org/012345678/a", "http://x.org/012345678/a"),
        ("drop-segment segment=''", "http://x.org//a///b//", "http://x.org/a/b/"),
        ("drop-segment param='sid'", "http://x.org/a;SID=1;v=2/b;sid=", "http://x.org/a;v=2/b"),
        ("drop-segment param='sid'", "http://x.org/a;sid", "http://x.org/a;sid"),
        ("alias-prefix from='/people/'; to='/~'", "http://x.org/people/bob", "http://x.org/~bob"),
        ("alias-segment from='en-us'; to='en'", "http://x.org/en-us/en-us", "http://x.org/en/en"),
        ("alias-segment from='en-us'; to=''", "http://x.org/en-us/a", "http://x.org/a"),
        ("alias-suffix from='index.html'; to=''", "http://x.org/a/index.html", "http://x.org/a/"),
        (
            "alias-suffix from='index.html'; to=''",
            "http://x.org/aindex.html",
            "http://x.org/aindex.html",
        ),
        ("alias-suffix from='.htm'; to='.html'", "http://x.org/a.htm", "http://x.org/a.html"),
        ("alias-suffix from='/'; to=''", "http://x.org/a//", "http://x.org/a"),
        ("alias-suffix from='/'; to=''", "http://x.org/", "http://x.org/"),
        ("fold-case", "http://x.org/A%C3%A9?B", "http://x.org/a%C3%A9?B"),
        ("fold-case param='b'", "http://x.org/A?B=C&b=C&b", "http://x.org/A?B=C&b=c&b"),
        (
            "rewrite-template from='/s?id={1}'; to='/s_{1}'",
            "http://x.org/s?a=1&id=2",
            "http://x.org/s_2?a=1",
        ),
        (
            "rewrite-template from='/s?id={1}'; to='/s_{1}'",
            "http://x.org/s?id=1&id=2",
            "http://x.org/s?id=1&id=2",
        ),
        (
            "rewrite-template from='/s_{1:num}'; to='/s?id={1}'",
            "http://x.org/s_2?a=1",
            "http://x.org/s?a=1&id=2",
        ),
        ("drop-param param='sid'", "http://x.org/?sid=1&a=2&sid", "http://x.org/?a=2"),
        ("drop-param param='sid'", "http://x.org/?sid=1", "http://x.org/"),
        ("drop-param param='sid'", "http://x.com/?sid=1", "http://x.com/?sid=1"),
        ("drop-param param='utm_*'", "http://a.x.org/?utm_a=1&utm=2", "http://a.x.org/?utm=2"),
        (
            "drop-param param='s'; path='/a/*'; except=['/a/b*']",
            "http://x.org/a/c?s=1",
            "http://x.org/a/c",
        ),
        (
            "drop-param param='s'; path='/a/*'; except=['/a/b*']",
            "http://x.org/a/b?s=1",
            "http://x.org/a/b?s=1",
        ),
        ("drop-param param='s'; when=['a=1', '!b']", "http://x.org/?s&a=1", "http://x.org/?a=1"),
        (
            "drop-param param='s'; when=['a=1', '!b']",
            "http://x.org/?s&a=1&b",
            "http://x.org/?s&a=1&b",
        ),
        ("drop-param param='s'; hosts=['a.x.org']", "http://x.org/?s=1", "http://x.org/?s=1"),
        ("drop-param param='s'; when=['host=a.x.org']", "http://a.x.org/?s=1", "http://a.x.org/"),
        ("keep-only params=['v']", "http://x.org/?a=1&v=2&&b", "http://x.org/?v=2&"),
        (
            "default-param param='page'; value='1'",
            "http://x.org/?page=1&a&page=1",
            "http://x.org/?a",
        ),
        (
            "default-param param='page'; value='1'",
            "http://x.org/?page=1&page=2",
            "http://x.org/?page=1&page=2",
        ),
        (
            "default-param param='page'; value='1'; when=['b=1']",
            "http://x.org/?page=1&page&b=1",
            "http://x.org/?page=1&page&b=1",
        ),
        (
            "default-param param='page'; value='1'; when=['b=1']",
            "http://x.org/?page=1&b=1",
            "http://x.org/?b=1",
        ),
        (
            "constant-page path='/i'; when=['t=login']",
            "http://x.org/i?a=1&t=login",
            "http://x.org/i?t=login",
        ),
        (
            "constant-page path='/i'; when=['t=login']",
            "http://x.org/i?a=1&t=x",
            "http://x.org/i?a=1&t=x",
        ),
        (
            "alias-value param='l'; from='en-US'; to='en'",
            "http://x.org/?l=en-US&k=en-US",
            "http://x.org/?l=en&k=en-US",
        ),
        ("order-free", "http://x.org/?b=1&a=2&b=0", "http://x.org/?a=2&b=1&b=0"),
        (
            "substitute from='story?id='; to='story_'",
            "http://x.org/story?id=1",
            "http://x.org/story_1",
        ),
        ("substitute from='ab'; to='b'", "http://x.org/aaab", "http://x.org/b"),
    ] {
        let rules = compiled(&[rule]);
        let found = applied(&rules, given);
        assert_eq!(found, expected, "{rule}: {given}");
        assert_eq!(applied(&rules, &found), found, "{rule}, twice: {given}");
        assert_eq!(rules.fired(given.as_bytes()).len(), usize::from(given != expected), "{rule}");
    }
}

#[test]
fn rules_work_together() {
    for (rules, given, expected) in [
        // The example of a rule that waits for the lack of what another drops.
        (&["drop-param param='x'; when=['!y']", "drop-param param='y'"][..], "?x=1&y=2", ""),
        (
            &["default-param param='l'; value='en'", "alias-value param='l'; from='EN'; to='en'"],
            "?l=EN",
            "",
        ),
        // Of two defaults neither is dropped beside the other: their order may matter.
        (
            &["default-param param='l'; value='en'", "default-param param='l'; value=''"],
            "?l=en&l=",
            "?l=en&l=",
        ),
        (
            &["default-param param='l'; value='en'", "default-param param='l'; value=''"],
            "?l=&a&l=",
            "?a",
        ),
        (&["default-param param='l'; value='en'", "drop-param param='l'"], "?l=en&l=", ""),
        (
            &[
                "alias-suffix from='/'; to=''",
                "alias-suffix from='index.html'; to=''",
                "drop-segment segment=''",
                "fold-case",
            ],
            "A//b//INDEX.html",
            "a/b",
        ),
        (
            &["alias-suffix from='.html'; to=''", "alias-suffix from='index.html'; to=''"],
            "a/index.html",
            "a/",
        ),
        (
            &["alias-suffix from='.htm'; to='.html'", "alias-suffix from='index.html'; to=''"],
            "a/index.htm",
            "a/",
        ),
        (
            &[
                "alias-suffix from='/'; to=''",
                "alias-suffix from='index.html'; to=''",
                "alias-prefix from='/people/'; to='/~'",
                "drop-segment segment='(S({*}))'",
                "fold-case except=['/v/*']",
            ],
            "PEOPLE/(S(x))/B/INDEX.html",
            "~b",
        ),
        (&["alias-suffix from='/'; to=''", "fold-case except=['/v/*']"], "v/aB/", "v/aB"),
        (&["alias-segment from='b'; to='c'", "alias-segment from='a'; to='b'"], "a/b", "c/c"),
        (
            &[
                "rewrite-template from='/s?id={1:num}'; to='/s/{1}'",
                "drop-param param='sid'",
                "drop-param param='t'; path='/s/*'",
            ],
            "s?t=1&id=5&sid=x",
            "s/5",
        ),
        // What a template writes holds no semicolon, so the number goes first.
        (
            &[
                "rewrite-template from='/s_{1:num}'; to='/s.php?id={1}'",
                "drop-segment param='jsessionid'",
            ],
            "s_5;jsessionid=0A",
            "s.php?id=5",
        ),
    ] {
        let rules = compiled(rules);
        let found = applied(&rules, &format!("http://x.org/{given}"));
        assert_eq!(found, format!("http://x.org/{expected}"), "{given}");
        assert_eq!(applied(&rules, &found), found, "{given}, twice");
    }
}

#[test]
fn guards_win() {
    let text = rule("drop-param param='u*'")
        + &rule("keep-only params=[]")
        + "[[guard]]\nsite = 'a.x.org'\npath = '/f/*'\nparam = 'user'\n";
    let rules = DustRules::parse(&text).unwrap();
    for (given, expected) in [
        ("http://a.x.org/f/?user=1&u=2&b", "http://a.x.org/f/?user=1"),
        ("http://a.x.org/?user=1", "http://a.x.org/"),
        ("http://x.org/f/?user=1", "http://x.org/f/"),
    ] {
        assert_eq!(applied(&rules, given), expected);
    }
}

#[test]
fn prefixes_that_get_shorter_go_until_none_is_left() {
    let rules = DustRules::parse(&rule("alias-prefix from='/en/'; to='/'")).unwrap();
    let except = "alias-prefix from='/en/'; to='/'; except=['/en/shop/*']";
    let but_for_the_shop = DustRules::parse(&rule(except)).unwrap();
    for (given, expected) in [
        ("http://x.org/en/a", "http://x.org/a"),
        ("http://x.org/en/", "http://x.org/"),
        ("http://x.org/en", "http://x.org/en"),
        ("http://x.org/english/en/", "http://x.org/english/en/"),
        ("http://x.org/en/en/en/a?b=1", "http://x.org/a?b=1"),
    ] {
        assert_eq!(applied(&rules, given), expected);
        assert_eq!(applied(&but_for_the_shop, given), expected);
    }
    assert_eq!(applied(&rules, "http://x.org/en/en/shop/a"), "http://x.org/shop/a");
    // The exception counts whenever it is there.
    let expected = "http://x.org/en/shop/a";
    assert_eq!(applied(&but_for_the_shop, "http://x.org/en/en/shop/a"), expected);
    // What is crafted to take long stays as it is.
    let long = format!("http://x.org{}/a", "/en".repeat(500));
    assert_eq!(applied(&rules, &long), long);
}

#[test]
fn texts_that_are_too_long_are_told_with_their_length() {
    let long = "a".repeat(5000);
    for text in [
        format!("drop-param param='{long}'"),
        format!("drop-param param='a'; path='/{long}'"),
        format!("rewrite-template from='/{long}/{{1}}'; to='/{{1}}'"),
    ] {
        let error = DustRules::parse(&rule(&text)).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("expected at most 4096 bytes, found 500"), "{error}");
    }
}

#[test]
fn refused() {
    for (rules, why) in [
        (&["substitute from='a'; to='a'"][..], "need not end"),
        (&["substitute from='a'; to='aa'"], "need not end"),
        (&["substitute from='/a'; to=''"], "slash"),
        (&["substitute from='abc'; to='#'"], "cannot hold '#'"),
        (&["drop-param param='a=b'"], "cannot hold '='"),
        (&["drop-param param=''"], "empty"),
        (&["drop-param param='é'"], "%C3%A9"),
        (&["drop-param param='a'; path='shop'"], "slash"),
        (&["drop-param param='a'; path='/{foo}'"], "no such class"),
        (&["drop-segment segment='*'"], "any segment"),
        (&["drop-segment segment='{slug}'"], "any segment"),
        (&["alias-suffix from=''; to='/'"], "turn the rule around"),
        (&["alias-suffix from='.htm'; to='.x.htm'"], "rewritten by it again"),
        (&["alias-prefix from='/a/'; to='/a/b/'"], "rewritten by it again"),
        (&["alias-prefix from='/a/'; to='/b'", "alias-prefix from='/b'; to='/a/'"], "undo"),
        (&["alias-segment from='a'; to='b'", "alias-segment from='b'; to='a'"], "undo"),
        (&["alias-suffix from='.html'; to=''", "drop-segment segment='{hex:8}'"], "undo"),
        (&["alias-segment from='a'; to='B'", "fold-case"], "rule 2 (x.org: fold-case"),
        (&["drop-param param='x'; when=['!y']", "drop-param param='y'; when=['!x']"], "undo"),
        (&["rewrite-template from='/s/{1}'; to='/s/a{1}'"], "rewritten by it again"),
        (
            &[
                "rewrite-template from='/a/{1}'; to='/b/{1}'",
                "rewrite-template from='/b/{1}'; to='/a/{1}'",
            ],
            "undo",
        ),
        (&["rewrite-template from='/s?id={1}'; to='/s'"], "differ in their captures"),
        (&["rewrite-template from='/s/{1}'; to='/s;a={1}'", "drop-segment param='a'"], "undo"),
        (&["constant-page"], "needs a path"),
        (
            &["host-alias from='a.x.org'; to='b.x.org'", "host-alias from='b.x.org'; to='a.x.org'"],
            "itself in the end",
        ),
        (
            &["host-alias from='a.x.org'; to='b.x.org'", "host-alias from='a.x.org'; to='x.org'"],
            "another already",
        ),
        (&["host-alias from='x.org'; to='y.org'"], "other sites"),
        (&["host-alias from='x.org'; to=':80'"], "both"),
        (&["drop-param param='a'; hosts=['y.org']"], "y.org is no host of x.org"),
        (&["host-alias from=':8080'; to=':80'"], "write \":\""),
        (&["host-alias from='http:'; to='https:'", "host-alias from='https:'; to='http:'"], "undo"),
        (&["host-alias from='http:'; to='https:'; path='/a'"], "whole hosts"),
        (&["substitute from='ab'; to='b'", "alias-suffix from='.htm'; to='.html'"], "beside"),
    ] {
        let text: String = rules.iter().map(|one| rule(one)).collect();
        let error = DustRules::parse(&text).map(|_| ()).unwrap_err();
        assert!(error.is_config() && error.to_string().contains(why), "{rules:?}: {error}");
        // Learned rules are left out and reported.
        let text = text.replace("[[rule]]\n", "[[rule]]\nstatus = 'auto'\n");
        let found = DustRules::compile(&RuleFile::parse(&text).unwrap());
        assert_eq!(found.refused.len(), 1, "{rules:?}: {:?}", found.refused);
        assert!(found.clone().strict().is_ok());
        assert_eq!(found.rules.is_empty(), rules.len() == 1, "{rules:?}");
    }
}

#[test]
fn the_weakest_goes() {
    let evidence = |gain| format!("[rule.evidence]\nbound = 0.9\ngain-urls = {gain}\n");
    let auto = "alias-segment from='a'; to='b'; status='auto'";
    let back = "alias-segment from='b'; to='a'; status='auto'";
    for (first, second, goes) in [(5, 9, 0), (9, 5, 1), (5, 5, 1)] {
        let text = rule(auto) + &evidence(first) + &rule(back) + &evidence(second);
        let found = DustRules::compile(&RuleFile::parse(&text).unwrap());
        assert_eq!(found.refused.len(), 1);
        assert_eq!(found.refused[0].rule, Some(goes));
    }
}

#[test]
fn crafted_urls_stay_as_they_were() {
    let rules = compiled(&["substitute from='ab'; to='b'"]);
    let crafted = format!("http://x.org/{}b", "a".repeat(100));
    assert_eq!(applied(&rules, &crafted), crafted);
    let rules = compiled(&["alias-suffix from='/'; to=''"]);
    let crafted = format!("http://x.org/a{}", "/".repeat(100));
    assert_eq!(applied(&rules, &crafted), crafted);
    let rules = compiled(&["drop-param param='a'"]);
    let many = format!("http://x.org/?{}", vec!["a=1"; 300].join("&"));
    assert_eq!(applied(&rules, &many), many);
}

/// Both lanes of `profile`, the name of one, perhaps with what it does with slashes after it.
fn lanes(profile: &str, dust: DustRules) -> [Canonicalizer; 2] {
    let (name, slash) = match profile.split_once(' ') {
        Some((name, slash)) => (name, Some(Slash::named(slash).unwrap())),
        None => (profile, None),
    };
    let settings = Settings { profile: Some(name.into()), slash, dust, ..Settings::default() };
    let profile = settings.build().unwrap();
    [Canonicalizer::new(profile.clone()), Canonicalizer::reference_only(profile)]
}

fn form(lane: &Canonicalizer, url: &str) -> String {
    let mut scratch = Scratch::default();
    let found = lane.canonical(url.as_bytes(), &mut scratch);
    assert_eq!(found.reject, None, "{url}");
    String::from_utf8_lossy(found.form).into_owned()
}

/// The steps of [`Canonicalizer::follow`], which knows the canonical form.
fn steps_to(canonical: &str, lane: &Canonicalizer, url: &str) -> Vec<Step> {
    let form = canonical.as_bytes();
    let canonical = Canonical { form, reject: None, scheme_added: false };
    let mut steps = Vec::new();
    lane.follow(url.as_bytes(), &canonical, |reached, form| {
        if let Reached::Step(rule) = reached {
            steps.push(Step { rule, after: form.to_vec() });
        }
    })
    .unwrap();
    steps
}

#[test]
fn folding_does_not_wait_for_the_digits_of_escapes() {
    let alias = |from: &str, to: &str| {
        DustRule::new(
            "a.test",
            DustKind::AliasPrefix { from: from.to_string(), to: to.to_string() },
        )
    };
    let fold = DustRule::new("a.test", DustKind::FoldCase { param: None });
    for (rule, url, expected) in [
        (alias("/x%5By/", "/z/"), "http://a.test/X%5By/p", "http://a.test/z/p"),
        (alias("/x/", "/a%5B/"), "http://a.test/X/P", "http://a.test/a%5B/p"),
    ] {
        let file = RuleFile { rules: vec![rule, fold.clone()], ..RuleFile::default() };
        let found = DustRules::compile(&file);
        assert_eq!(found.refused, []);
        assert_eq!(applied(&found.rules, url), expected);
    }
}
