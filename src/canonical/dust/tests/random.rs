//! The laws of rules, for rules and URLs at random.

use super::*;

/// Random choices, the same for every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % most
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn path(&mut self) -> String {
        const SEGMENTS: &[&str] = &[
            "a",
            "b",
            "A",
            "ab",
            "index.html",
            "a.htm",
            "b.html",
            "01234567",
            "0a;s=1",
            "s_1",
            "s",
            "",
            "~a",
            "B.HTM",
            "a.",
        ];
        let segments: Vec<&str> = (0..1 + self.below(4)).map(|_| self.of(SEGMENTS)).collect();
        format!("/{}", segments.join("/"))
    }

    fn url(&mut self) -> String {
        let pieces: Vec<String> = (0..self.below(5))
            .map(|_| {
                let name = self.of(&["a", "b", "id", "sid", "A", "u_a", ""]);
                format!("{name}{}", self.of(&["=1", "=2", "=a", "=A", "=", "", "=x1"]))
            })
            .collect();
        let start = self.of(&[
            "http://x.org",
            "https://x.org",
            "http://m.x.org",
            "http://x.org:8080",
            "http://www.x.org",
            "http://a.m.x.org",
        ]);
        let query =
            if pieces.is_empty() { String::new() } else { format!("?{}", pieces.join("&")) };
        format!("{start}{}{query}", self.path())
    }

    fn rule(&mut self) -> DustRule {
        const TEXTS: &[&str] = &[
            "/",
            "/a",
            "/a/",
            "/b/",
            "/~",
            "a",
            "b",
            "ab",
            "A",
            ".htm",
            ".html",
            "index.html",
            "",
            "/ab/",
            "/a.",
            ".",
        ];
        const PARAMS: &[&str] = &["a", "b", "id", "sid", "A", "u_*", "u_a"];
        const VALUES: &[&str] = &["1", "2", "a", "A", ""];
        const FORMS: &[&str] = &[
            "/s?id={1}",
            "/s_{1}",
            "/s/{1}",
            "/s/{1:num}",
            "/a/{1}",
            "/{1}/s",
            "/s?a={1}",
            "/a?id={1}&b=1",
            "/{1}.html",
            "/b/{1}/a",
            "/s?id={1:num}&sid=x",
        ];
        const HOSTS: &[&str] = &["x.org", "m.x.org", "www.x.org", "http:", "https:", ":8080", ":"];
        let mut text = |from: &[&str]| self.of(from).to_string();
        let (from, to) = (text(TEXTS), text(TEXTS));
        let (param, value, other) = (text(PARAMS), text(VALUES), text(VALUES));
        let (one, two) = (text(FORMS), text(FORMS));
        let (here, there) = (text(HOSTS), text(HOSTS));
        let segment = text(&["{hex:8}", "", "a", "{num:2}", "0{*}", "A*"]);
        let kind = match self.below(18) {
            0 => DustKind::HostAlias { from: here, to: there },
            1 => DustKind::DropSegment { segment },
            2 => DustKind::DropPathParam { param: "S".into() },
            3 => DustKind::AliasPrefix { from, to },
            4 | 5 => DustKind::AliasSegment { from, to },
            6 | 7 => DustKind::AliasSuffix { from, to },
            8 => DustKind::FoldCase { param: None },
            9 => DustKind::FoldCase { param: Some(param) },
            10 | 11 => DustKind::RewriteTemplate { from: one, to: two },
            12 => DustKind::KeepOnly { params: vec![param] },
            13 => DustKind::DefaultParam { param, value },
            14 => DustKind::AliasValue { param, from: value, to: other },
            15 => self.of(&["", "order"]).parse_kind(from, to),
            _ => DustKind::DropParam { param },
        };
        let mut rule = DustRule::new(self.of(&["x.org", "x.org", "m.x.org"]), kind);
        rule.status = if self.below(2) == 0 { DustStatus::Auto } else { DustStatus::Manual };
        if self.below(3) == 0 {
            rule.scope.path =
                self.of(&["/a/*", "/a*", "*.html", "/b/{num}", "*/s/*", "/s", "/A*"]).into();
        }
        if self.below(3) == 0 {
            const EXCEPT: &[&str] = &[
                "/a/b*",
                "*a",
                "/s_*",
                "/{slug}/b",
                "/a/{hex:8}",
                "/{hex:8}/a",
                "/A/{*}",
                "/{*}/a.htm",
                "/{slug}.html",
                "/{num}/",
                "/a/{hex:8};{*}",
                "/{slug}",
            ];
            rule.scope.except =
                (0..1 + self.below(2)).map(|_| self.of(EXCEPT).to_string()).collect();
        }
        if self.below(4) == 0 {
            let (param, value) = (self.of(PARAMS).to_string(), self.of(VALUES).to_string());
            let when = match self.below(2) {
                0 => DustCondition::Has { param, value },
                _ => DustCondition::Lacks(param),
            };
            rule.scope.when = vec![when];
        }
        rule
    }
}

trait ParseKind {
    fn parse_kind(self, from: String, to: String) -> DustKind;
}

impl ParseKind for &str {
    fn parse_kind(self, from: String, to: String) -> DustKind {
        if self.is_empty() { DustKind::Substitute { from, to } } else { DustKind::OrderFree }
    }
}

fn random_rules(dice: &mut Dice) -> RuleFile {
    let rules = (0..1 + dice.below(9)).map(|_| dice.rule()).collect();
    let guards = (0..dice.below(3))
        .map(|_| Guard {
            site: dice.of(&["x.org", "m.x.org"]).into(),
            path: dice.of(&["", "/a/*", "*.html"]).into(),
            param: dice.of(&["a", "id"]).into(),
            note: String::new(),
        })
        .collect();
    RuleFile { rules, guards, ..RuleFile::default() }
}

#[test]
fn one_pass_is_enough() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut kept, mut refused, mut changed) = (0, 0, 0);
    for _ in 0..8_000 {
        let file = random_rules(&mut dice);
        let found = DustRules::compile(&file);
        refused += found.refused.len();
        kept += file.rules.len() - found.refused.len();
        for _ in 0..30 {
            let url = dice.url();
            let once = applied(&found.rules, &url);
            changed += usize::from(once != url);
            let twice = applied(&found.rules, &once);
            assert_eq!(twice, once, "{url}\n{}\nrefused {:?}", file.to_toml(), found.refused);
        }
    }
    assert!(kept > 10_000 && refused > 3_000 && changed > 30_000, "{kept} {refused} {changed}");
}

#[test]
fn both_lanes_agree_and_are_idempotent_with_rules() {
    let mut dice = Dice(0xd1b5_4a32_d192_ed03);
    let (mut changed, mut fused) = (0, 0);
    let slashes = ["rfc3986 remove", "crawl add", "crawl remove", "aggressive add"];
    let profiles: Vec<&str> = PROFILES[1..].iter().copied().chain(slashes).collect();
    for round in 0..3_000 {
        let file = random_rules(&mut dice);
        let rules = DustRules::compile(&file).rules;
        let profile = profiles[round % profiles.len()];
        let [fast, slow] = lanes(profile, rules);
        let mut scratch = Scratch::default();
        for _ in 0..15 {
            let url = dice.url();
            let once = form(&slow, &url);
            let told = || format!("{profile}: {url}\n{}", file.to_toml());
            assert_eq!(form(&fast, &url), once, "{}", told());
            assert_eq!(form(&slow, &once), once, "{}", told());
            assert_eq!(form(&fast, &once), once, "{}", told());
            assert_eq!(steps_to(&once, &fast, &url), slow.trace(url.as_bytes()).unwrap().steps);
            changed += usize::from(once != url);
            fused += usize::from(fast.is_fused(url.as_bytes(), &mut scratch));
        }
    }
    assert!(changed > 10_000 && fused > 16_000, "{changed} {fused}");
}
