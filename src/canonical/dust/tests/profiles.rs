//! Rules under profiles that spell URLs in another way than rule files.

use super::*;
use crate::canonical::RuleId;

#[test]
fn profiles_decide_what_stands_for_others() {
    let rules = "host-alias from='x.org'; to='www.x.org'";
    let more = "host-alias from='m.x.org'; to='x.org'";
    let secure = "host-alias from='http:'; to='https:'";
    for (profile, given, expected) in [
        ("crawl", "http://m.x.org", "https://www.x.org/"),
        ("crawl", "http://x.org", "https://www.x.org/"),
        ("aggressive", "https://m.x.org", "http://x.org/"),
        ("aggressive", "https://www.x.org", "http://x.org/"),
    ] {
        let lanes = lanes(profile, compiled(&[rules, more, secure]));
        for lane in lanes {
            assert_eq!(form(&lane, given), expected, "{profile}: {given}");
        }
    }
}

/// What keeps a rule away keeps it away however a profile spells the path.
#[test]
fn exceptions_and_guards_hold_under_every_profile() {
    let slashes = ["aggressive", "crawl remove", "crawl add", "aggressive add", "rfc3986 add"];
    for (kept, urls) in [
        (
            "/shop/*",
            &["/shop/?sid=1", "/shop/index.html?sid=1", "/shop/a?sid=1", "/shop/a/?sid=1"][..],
        ),
        ("/shop/", &["/shop/?sid=1"]),
        ("/shop/index.php", &["/shop/index.php?sid=1"]),
        ("*.php", &["/c/index.php?sid=1", "/c/d.php?sid=1", "/index.php?sid=1"]),
        ("/a/*/b", &["/a//b?sid=1", "/a/x/b?sid=1"]),
        ("/a//{num}", &["/a//5?sid=1"]),
        ("/{*}://x", &["/http://x?sid=1", "/%://x?sid=1"]),
        ("/people/{slug}", &["/people/ball?sid=1"]),
        ("/people/{*}", &["/people/ball?sid=1", "/people/b.c?sid=1", "/people/index.php?sid=1"]),
        ("/%*", &["/%C3%A9?sid=1", "/%zz?sid=1", "/%21?sid=1"]),
        ("/zq{num}", &["/zq5?sid=1"]),
        ("/{*}/list.php", &["/(S(abcdefghijklmnopqrstuvwx))/list.php?sid=1"]),
        ("/{*}/b", &["/;jsessionid=0A1B2C3D4E5F60718293A4B5C6D7E8F9/b?sid=1"]),
        ("/*;*", &["/v;a?sid=1", "/v;jsessionid=0A1B2C3D4E5F60718293A4B5C6D7E8F9?sid=1"]),
        ("*(S({*}))/a", &["/b/(S(abcdefghijklmnopqrstuvwx))/a?sid=1"]),
        ("/[x]/%21*", &["/[x]/%21y?sid=1"]),
        // Too long once it is spelled: then it holds everywhere.
        (&format!("/*{}/x", "[".repeat(100)), &[&format!("/{}/x?sid=1", "[".repeat(100))]),
    ] {
        let drop = "drop-param param='sid'";
        let except = rule(&format!("{drop}; except=['{kept}']"));
        let guard = format!("[[guard]]\nsite = 'x.org'\npath = '{kept}'\nparam = 'sid'\n");
        for text in [except, rule(drop) + &guard] {
            let rules = DustRules::parse(&text).unwrap();
            for profile in PROFILES[1..].iter().chain(&slashes) {
                for lane in lanes(profile, rules.clone()) {
                    for url in urls {
                        let found = form(&lane, &format!("http://x.org{url}"));
                        assert!(found.ends_with("?sid=1"), "{profile}: {url}: {found}\n{text}");
                    }
                }
            }
        }
    }
}

#[test]
fn sides_are_spelled_as_the_profile_spells_them() {
    for (given, profile, rows) in [
        // The profile's spelling stands for both.
        ("alias-suffix from='about'; to='about/'", "aggressive", &[("/about/", "/about")][..]),
        ("alias-suffix from='about/'; to='about'", "crawl add", &[("/about", "/about/")]),
        (
            "rewrite-template from='/s/{1}'; to='/s/{1}/'",
            "aggressive",
            &[("/s/5/", "/s/5"), ("/s/5", "/s/5")],
        ),
        ("alias-prefix from='/x'; to='/./x'", "rfc3986", &[("/x/y", "/x/y")]),
        ("alias-value param='a'; from='a'; to='%61'", "crawl", &[("/?a=a", "/?a=a")]),
        ("alias-suffix from='index.html'; to=''", "aggressive", &[("/a/index.html", "/a")]),
        ("alias-suffix from='/'; to=''", "crawl add", &[("/a/", "/a/")]),
        // Each side is written as it is found.
        (
            "rewrite-template from='/index.php?id={1}'; to='/item/{1}'",
            "aggressive",
            &[("/index.php?id=7&b=1", "/item/7?b=1"), ("/?id=7", "/item/7")],
        ),
        (
            "rewrite-template from='/story/?id={1}'; to='/story_{1}'",
            "aggressive",
            &[("/story/?id=7", "/story_7")],
        ),
        (
            "rewrite-template from='/story?id={1}'; to='/story_{1}'",
            "crawl add",
            &[
                ("/story?id=7", "/story_7/"),
                ("/story_7", "/story_7/"),
                ("/story?id=a.b", "/story_a.b"),
            ],
        ),
        (
            "rewrite-template from='/story_{1}'; to='/story?id={1}'",
            "crawl add",
            &[("/story_7", "/story/?id=7"), ("/story_a.b", "/story/?id=a.b")],
        ),
        ("alias-suffix from='about'; to='info'", "crawl add", &[("/x/about", "/x/info/")]),
        (
            "alias-prefix from='/old/'; to='/new/'",
            "aggressive",
            &[("/old/", "/new"), ("/old/a", "/new/a"), ("/older", "/older")],
        ),
        (
            "alias-suffix from='start/index.html'; to='home'",
            "aggressive",
            &[("/a/start/index.html", "/a/home"), ("/a/restart", "/a/restart")],
        ),
        (
            "alias-prefix from='/x/index.php'; to='/y'",
            "aggressive",
            &[("/x/index.php", "/y"), ("/x/index.php/a", "/y/a"), ("/x/a", "/x/a")],
        ),
        (
            "drop-param param='s'; path='/p/{*}'",
            "crawl add",
            &[("/p/a?s=1", "/p/a/"), ("/p/a.b?s=1", "/p/a.b"), ("/q/a?s=1", "/q/a/?s=1")],
        ),
        ("drop-param param='s'; path='/p/{num}'", "crawl add", &[("/p/5?s=1", "/p/5/")]),
        // So is what is not canonical.
        ("drop-param param='s'; path='/%7Eu/*'", "rfc3986", &[("/~u/a?s=1", "/~u/a")]),
        ("drop-param param='caf%c3%a9'", "rfc3986", &[("/?caf%C3%A9=1", "/")]),
        // Text that looks like a word of ours, and a percent sign that a wildcard cuts off.
        ("drop-param param='s'; path='/z0q{num}'", "crawl", &[("/z0q5?s=1", "/z0q5")]),
        (
            "drop-param param='s'; path='/zq{num}'",
            "crawl",
            &[("/zq5?s=1", "/zq5"), ("/5zq?s=1", "/5zq?s=1")],
        ),
        ("drop-param param='s'; path='/%{hex:2}'", "crawl", &[("/%C3?s=1", "/%C3")]),
    ] {
        let rules = compiled(&[given]);
        for lane in lanes(profile, rules) {
            for (url, expected) in rows {
                let found = form(&lane, &format!("http://x.org{url}"));
                assert_eq!(found, format!("http://x.org{expected}"), "{given}, {profile}: {url}");
            }
        }
    }
}

#[test]
fn hosts_are_spelled_as_the_profile_spells_them() {
    for (rule, given, expected) in [
        ("hosts = ['www.x.org']", "http://www.x.org/?s=1", "http://x.org/"),
        ("hosts = ['a.x.org', 'www.x.org']", "http://www.x.org/?s=1", "http://x.org/"),
        ("when = ['host=www.x.org']", "http://www.x.org/?s=1", "http://x.org/"),
        ("hosts = ['www.x.org']", "http://a.x.org/?s=1", "http://a.x.org/?s=1"),
    ] {
        for site in ["x.org", "www.x.org"] {
            let has_other_host = site == "www.x.org" && rule.contains("a.x.org");
            if has_other_host {
                continue;
            }
            let text = format!("[[rule]]\nsite='{site}'\nkind='drop-param'\nparam='s'\n{rule}\n");
            for lane in lanes("aggressive", DustRules::parse(&text).unwrap()) {
                assert_eq!(form(&lane, given), expected, "{text}");
            }
        }
    }
    // A site that is another host is that host alone, and what is below it;
    // guards may hold on more.
    let text = "[[rule]]\nsite='www.x.org'\nkind='drop-param'\nparam='s'\n\
                [[rule]]\nsite='x.org'\nkind='drop-param'\nparam='g'\n\
                [[guard]]\nsite='www.x.org'\nparam='g'\n";
    for lane in lanes("aggressive", DustRules::parse(text).unwrap()) {
        for (given, expected) in [
            ("http://www.x.org/?s=1", "http://x.org/"),
            ("http://a.www.x.org/?s=1", "http://a.www.x.org/"),
            ("http://a.x.org/?s=1", "http://a.x.org/?s=1"),
            ("http://www.x.org/?g=1", "http://x.org/?g=1"),
        ] {
            assert_eq!(form(&lane, given), expected);
        }
    }
}

#[test]
fn latin_letters_are_spelled_as_the_profile_spells_them() {
    let text = rule("drop-param param='s'; path='/caf%E9'")
        + &rule("drop-param param='t'; except=['/caf%E9/*']");
    for (latin1_hosts, host) in [(vec![], "x.org"), (vec!["x.org".to_string()], "x.org")] {
        let settings = Settings {
            dust: DustRules::parse(&text).unwrap(),
            latin1_hosts: latin1_hosts.clone(),
            ..Settings::default()
        };
        let lane = Canonicalizer::new(settings.build().unwrap());
        let e = if latin1_hosts.is_empty() { "%E9" } else { "%C3%A9" };
        for (given, expected) in
            [("/caf%E9?s=1", format!("/caf{e}")), ("/caf%E9/a?t=1", format!("/caf{e}/a?t=1"))]
        {
            let found = form(&lane, &format!("http://{host}{given}"));
            assert_eq!(found, format!("http://{host}{expected}"), "{latin1_hosts:?}");
        }
    }
    // Where only a part of the site has such letters, what keeps rules away is
    // spelled in both ways.
    let settings = Settings {
        dust: DustRules::parse(&text).unwrap(),
        latin1_hosts: vec!["a.x.org".to_string()],
        ..Settings::default()
    };
    let lane = Canonicalizer::new(settings.build().unwrap());
    for (given, expected) in [
        ("http://a.x.org/caf%E9/a?t=1", "http://a.x.org/caf%C3%A9/a?t=1"),
        ("http://x.org/caf%E9/a?t=1", "http://x.org/caf%E9/a?t=1"),
    ] {
        assert_eq!(form(&lane, given), expected);
    }
}

#[test]
fn what_has_no_end_is_left_as_the_profile_has_it() {
    let rules = compiled(&["substitute from='/x/'; to='/x'", "drop-param param='s'"]);
    for lane in lanes("crawl add", rules) {
        for (given, expected) in
            [("/x/", "/x/"), ("/x", "/x/"), ("/x?s=1", "/x/?s=1"), ("/?s=1", "/")]
        {
            assert_eq!(
                form(&lane, &format!("http://x.org{given}")),
                format!("http://x.org{expected}")
            );
        }
        let trace = lane.trace(b"http://x.org/x").unwrap();
        assert!(!trace.rules().contains(RuleId::Dust), "{trace:?}");
    }
}
