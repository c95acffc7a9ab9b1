//! Which rules are applied, with which parameters: profiles, named and versioned.

use std::sync::Arc;

use super::digest_text::{optional, quoted, quoted_list, quoted_map};
use super::names::{IndexNames, ParamNames, SessionNames};
use super::options::{Options, Slash, TrailingDot, WebScheme, Www};
use super::rules::{RuleId, RuleSet};
use crate::error::{Error, Result};

/// The names of the built-in profiles, from the most careful to the most daring.
pub const PROFILES: [&str; 5] = ["lines", "whatwg", "rfc3986", "crawl", "aggressive"];

/// The only version of the built-in profiles so far. `NAME@1` never changes its meaning.
pub const PROFILE_VERSION: u32 = 1;

/// A set of rules with their parameters. Two URLs are equal under a profile if it gives them one
/// canonical form.
///
/// The rules are always applied in the order of the registry ([`RuleId::ALL`]), so that a profile
/// is idempotent by construction; a profile chooses which of them, not in which order.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The name, with `+` after it if anything was changed by hand.
    pub name: String,
    /// The version of the named profile.
    pub version: u32,
    /// Are lines parsed as URLs at all? Only `lines` takes them as they are.
    pub parses: bool,
    /// The rules that are on.
    pub rules: RuleSet,
    /// The rules' parameters.
    pub options: Options,
}

impl Profile {
    /// The built-in profile `name`, which may carry a version: `crawl` or `crawl@1`.
    pub fn named(name: &str) -> Result<Profile> {
        let (base, version) = match name.split_once('@') {
            None => (name, PROFILE_VERSION),
            Some((base, version)) => (base, version.parse().unwrap_or(0)),
        };
        if !PROFILES.contains(&base) {
            return Err(Error::config(format!(
                "profile \"{name}\": no such profile; use one of {}",
                PROFILES.join(", ")
            )));
        }
        if version != PROFILE_VERSION {
            return Err(Error::config(format!(
                "profile \"{name}\": {base} has version {PROFILE_VERSION} only; use \
                 {base}@{PROFILE_VERSION}"
            )));
        }
        let rules = RuleId::ALL.into_iter().filter(|rule| rule.info().profiles.contains(&base));
        let guesses = matches!(base, "crawl" | "aggressive");
        Ok(Profile {
            name: base.to_string(),
            version,
            parses: base != "lines",
            rules: rules.collect(),
            options: Options {
                default_scheme: guesses.then(|| "http".to_string()),
                registered_names: base != "whatwg",
                trailing_dot: if guesses { TrailingDot::Drop } else { TrailingDot::Keep },
                form_spelling: guesses,
                empty_values: guesses,
                latin1_hosts: Vec::new(),
                keep_routes: true,
                hosts: Arc::default(),
                www: Www::Remove,
                scheme: WebScheme::Http,
                sessions: SessionNames::built_in(),
                drop_params: ParamNames::built_in(),
                keep_params: Arc::default(),
                default_params: Arc::default(),
                index_names: IndexNames::built_in(),
                slash: if base == "aggressive" { Slash::Remove } else { Slash::Keep },
                dust: Arc::default(),
            },
        })
    }

    /// The profile that parses and applies just `rules`, with the parameters of `crawl`.
    pub fn only(rules: RuleSet) -> Profile {
        let crawl = Profile::named("crawl").expect("crawl is built in");
        Profile { name: "only".to_string(), rules, ..crawl }
    }

    /// The name with its version, as `--profile` takes it.
    pub fn title(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// A digest of everything that decides a canonical form: version of the profile, rules,
    /// parameters.
    ///
    /// Shape: 16 hexadecimal digits, the same on every machine. Not a secret and no proof against
    /// tampering: it distinguishes one configuration from another.
    pub fn digest(&self) -> String {
        use std::hash::Hasher as _;
        let mut hasher = siphasher::sip::SipHasher13::new_with_keys(0, u64::from(self.version));
        hasher.write(self.describe().as_bytes());
        format!("{:016x}", hasher.finish())
    }

    /// Every rule and parameter that counts, as text.
    fn describe(&self) -> String {
        if !self.parses {
            return "lines".to_string();
        }
        let options = &self.options;
        let mut text = format!(
            "parse default-scheme={} registered-names={}\n",
            optional(options.default_scheme.as_deref().map(quoted)),
            options.registered_names
        );
        for rule in self.rules.iter() {
            let parameters = match rule {
                RuleId::Case => {
                    format!("drop-trailing-dot={}", options.trailing_dot == TrailingDot::Drop)
                }
                RuleId::Encoding => format!(
                    "form-spelling={} empty-values={} latin1={}",
                    options.form_spelling,
                    options.empty_values,
                    quoted_list(&options.latin1_hosts)
                ),
                RuleId::Fragment => format!("keep-routes={}", options.keep_routes),
                RuleId::IpHost => quoted_map(&*options.hosts),
                RuleId::Www => options.www.describe().to_string(),
                RuleId::Scheme => format!("http={}", options.scheme == WebScheme::Http),
                RuleId::SessionIds => options.sessions.describe(),
                RuleId::Params => {
                    format!("{} {}", options.drop_params.describe(), options.keep_params.describe())
                }
                RuleId::DefaultParams => options.default_params.describe(),
                // Without that rule a slash after the name makes another path of it.
                RuleId::DirectoryIndex if !self.rules.contains(RuleId::TrailingSlash) => {
                    format!("{} slash=keep", options.index_names.describe())
                }
                RuleId::DirectoryIndex => options.index_names.describe().to_string(),
                RuleId::TrailingSlash => options.slash.describe().to_string(),
                RuleId::Dust => options.dust.describe().to_string(),
                RuleId::DefaultPort
                | RuleId::Escapes
                | RuleId::DotSegments
                | RuleId::DuplicateSlashes
                | RuleId::QueryOrder
                | RuleId::EmptyQuery => String::new(),
            };
            text.push_str(&format!("{} {parameters}\n", rule.name()));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::names::{Listed, Scope};
    use super::*;
    use crate::canonical::{DefaultParams, DustRules, KeepParams};

    fn scope(host: &str, path: &str) -> Scope {
        Scope { host: host.into(), path: path.into() }
    }

    #[test]
    fn names_and_versions() {
        for name in PROFILES {
            let profile = Profile::named(name).unwrap();
            assert_eq!(profile.title(), format!("{name}@1"));
            assert_eq!(Profile::named(&profile.title()).unwrap().digest(), profile.digest());
        }
        for name in ["crowl", "crawl@2", "crawl@", "@1", ""] {
            assert!(Profile::named(name).unwrap_err().is_config(), "{name}");
        }
    }

    #[test]
    fn digests_distinguish_configurations() {
        let digests: Vec<String> =
            PROFILES.iter().map(|name| Profile::named(name).unwrap().digest()).collect();
        for (at, digest) in digests.iter().enumerate() {
            assert!(!digests[..at].contains(digest), "{}", PROFILES[at]);
        }
        let mut changed = Profile::named("crawl").unwrap();
        changed.options.keep_routes = false;
        assert!(!digests.contains(&changed.digest()));
    }

    // Files of `--seen` and of rules carry digests: one changes with what a profile says (its lists
    // of names in `data/`, too), and with nothing else.
    #[test]
    fn digests_stay() {
        let digests = PROFILES.map(|name| Profile::named(name).unwrap().digest());
        let expected = [
            "6f780ec2e6757b23",
            "c98b39bb4d6ea5a7",
            "274fcae4c744976e",
            "3c0e41fe56895b7a",
            "65fb703f49699035",
        ];
        assert_eq!(digests, expected);
    }

    // Every option on its own, so that none can be forgotten, and with whatever has to be escaped.
    #[test]
    fn digests_of_options_stay() {
        type Set = fn(&mut Options);
        let changes: [(&str, Set, &str); 21] = [
            ("no default scheme", |o| o.default_scheme = None, "1454de13cd090008"),
            ("default scheme", |o| o.default_scheme = Some("https".into()), "b0d3db68640718ea"),
            ("registered names", |o| o.registered_names = false, "2408b1259220ed8d"),
            ("trailing dot", |o| o.trailing_dot = TrailingDot::Keep, "5fe43f19a9f61a7b"),
            ("form spelling", |o| o.form_spelling = false, "3cf2be96b84cb962"),
            ("empty values", |o| o.empty_values = false, "a772ec986fce1e93"),
            (
                "Latin-1",
                |o| o.latin1_hosts = vec!["a.test".into(), "b.test".into()],
                "14614078a54cf85f",
            ),
            ("routes", |o| o.keep_routes = false, "5464aca342d9cade"),
            (
                "hosts",
                |o| {
                    let hosts = [("192.0.2.1", "b.test"), ("[2001:db8::1]", "a.test")];
                    let hosts = hosts.map(|(from, to)| (from.to_string(), to.to_string()));
                    o.hosts = Arc::new(BTreeMap::from(hosts));
                },
                "420a0da33b069c00",
            ),
            ("www", |o| o.www = Www::Add, "98d631b5dfd931b6"),
            ("scheme", |o| o.scheme = WebScheme::Https, "b96245b44d6051da"),
            ("sessions", |o| o.sessions = Arc::default(), "24b508514fd4bac6"),
            ("no names", |o| o.drop_params = Arc::default(), "e8f7dd4d363fa721"),
            (
                "names",
                |o| {
                    let mut names = ParamNames::default();
                    names.add("utm_*");
                    names.add_on("b.test", &Listed::Name("a*".into()));
                    names.add_on("B\"\\.test", &Listed::Start("C".into()));
                    o.drop_params = Arc::new(names);
                },
                "6665d9276db40daf",
            ),
            (
                "expected",
                |o| {
                    let mut keep = KeepParams::default();
                    keep.add(scope("b.test", "/x"), vec!["id".into(), "page".into()]);
                    keep.add(scope("", ""), Vec::new());
                    o.keep_params = Arc::new(keep);
                },
                "9c132d1d9d2246b4",
            ),
            (
                "escaped",
                |o| {
                    let text = "'\"\\\t\r\n\0\u{1}\u{7f}\u{e9}\u{301}\u{200b}\u{1f600}{}";
                    let mut keep = KeepParams::default();
                    keep.add(scope("b.test", text), vec![text.into()]);
                    o.keep_params = Arc::new(keep);
                },
                "8237c6f013805cc0",
            ),
            (
                "defaults",
                |o| {
                    let mut defaults = DefaultParams::default();
                    defaults.add(scope("b.test", "/x"), "page".into(), "1".into());
                    defaults.add(scope("", ""), "sort".into(), "".into());
                    o.default_params = Arc::new(defaults);
                },
                "51c2055e1933a749",
            ),
            (
                "index",
                |o| o.index_names = Arc::new(IndexNames::new(&["Home.HTM".into()])),
                "9543382b659a0dfc",
            ),
            ("nothing", |_| {}, "cb7a2f4a4b5a8e89"),
            ("slash added", |o| o.slash = Slash::Add, "399c34ac27c87542"),
            (
                "rules of sites",
                |o| {
                    let text = "[[rule]]\nsite = 'a.test'\nkind = 'drop-param'\nparam = 'x'\n";
                    o.dust = Arc::new(DustRules::parse(text).unwrap());
                },
                "54578e1a834160d4",
            ),
        ];
        let all = Profile::only(RuleId::ALL.into_iter().collect());
        for (what, set, expected) in changes {
            let mut profile = all.clone();
            set(&mut profile.options);
            assert_eq!(profile.digest(), expected, "{what}");
        }
    }

    #[test]
    fn digests_without_a_rule_stay() {
        let without = |rule| {
            let rules = RuleId::ALL.into_iter().filter(|one| *one != rule);
            Profile::only(rules.collect()).digest()
        };
        let expected = [
            "c8aef9bda53157ea",
            "7c80886096464543",
            "0c827eb8f288b317",
            "7a89e13fac234a15",
            "d8c2c5d1229384fe",
            "82df2f3037e977c5",
            "054e84ce905298c7",
            "6971cc6aab7561d3",
            "d40de49839f87047",
            "596a4d30c89b7e7e",
            "f6009883694d19b0",
            "54849ae8405ed7a9",
            "28a8a0069b2ab34e",
            "c13a9c49794b32f4",
            "0c419534553d2bc6",
            "56e67f381a51f928",
            "aae2747da93575b0",
            "e181d386be8f863f",
        ];
        assert_eq!(RuleId::ALL.map(without), expected);
    }

    #[test]
    fn profiles_grow() {
        let rules = |name| Profile::named(name).unwrap().rules;
        for pair in PROFILES.windows(2) {
            let (less, more) = (rules(pair[0]), rules(pair[1]));
            assert!(less.iter().all(|rule| more.contains(rule)), "{pair:?}");
        }
    }
}
