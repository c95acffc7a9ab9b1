//! Settings of a user, from a TOML file and from flags, made into a profile.

mod hosts;
mod spelling;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::choice::choice;
use super::dust::DustRules;
use super::dust_spelling;
use super::names::{DefaultParams, IndexNames, KeepParams, ParamNames};
use super::options::{Slash, TrailingDot, WebScheme, Www};
use super::profile::Profile;
use super::rules::{RuleId, RuleSet};
use super::toml_error::toml_error;
use crate::error::{Error, Result, Setting};
use crate::parts::WEB_SCHEMES;
use hosts::host_entry;
pub use hosts::read_hosts;
use spelling::{Letters, Spelling};

/// What a user may set. A file gives some of it, flags give more; see [`Settings::overlay`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[allow(missing_docs)] // Each field is an option of the rule named in `docs/rules.md`.
pub struct Settings {
    pub profile: Option<String>,
    pub enable: Vec<String>,
    pub disable: Vec<String>,
    pub only: Option<Vec<String>>,
    pub default_scheme: Option<String>,
    #[serde(deserialize_with = "choice")]
    pub slash: Option<Slash>,
    #[serde(deserialize_with = "choice")]
    pub www: Option<Www>,
    #[serde(deserialize_with = "choice")]
    pub scheme: Option<WebScheme>,
    #[serde(deserialize_with = "choice")]
    pub trailing_dot: Option<TrailingDot>,
    pub form_spelling: Option<bool>,
    pub empty_values: Option<bool>,
    pub keep_routes: Option<bool>,
    pub latin1_hosts: Vec<String>,
    pub index_names: Option<Vec<String>>,
    pub strip_params: Vec<String>,
    pub keep_params: Vec<KeepRow>,
    pub default_params: Vec<DefaultRow>,
    /// Address to name.
    pub hosts: BTreeMap<String, String>,
    /// Rules of single sites; never in the file itself, but beside it.
    #[serde(skip)]
    pub dust: DustRules,
}

/// Expected parameters of a host and path.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table of host, path and names")]
#[allow(missing_docs)]
pub struct KeepRow {
    #[serde(deserialize_with = "host_of_row")]
    pub host: String,
    pub path: String,
    /// `[]` keeps none.
    pub names: Option<Vec<String>>,
}

/// A default value of a parameter of a host and path.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table of host, path, name and value")]
#[allow(missing_docs)]
pub struct DefaultRow {
    #[serde(deserialize_with = "host_of_row")]
    pub host: String,
    pub path: String,
    pub name: String,
    /// `""` is a value, too.
    pub value: Option<String>,
}

/// The host of a row that has one: an empty one would be all hosts, which is for rows without.
fn host_of_row<'de, D: serde::Deserializer<'de>>(row: D) -> std::result::Result<String, D::Error> {
    let host = String::deserialize(row)?;
    match host.trim() {
        "" => Err(serde::de::Error::custom(
            "expected the name of a host, found \"\"; leave `host` out for all hosts",
        )),
        _ => Ok(host),
    }
}

impl Settings {
    /// Reads a configuration file.
    pub fn parse(text: &str) -> Result<Settings> {
        toml::from_str(text).map_err(|error| toml_error(text, &error))
    }

    /// These settings with those of `over` on top: single values are replaced, and so are `only`
    /// and `index-names`, which are whole choices; other lists grow.
    #[must_use]
    pub fn overlay(self, over: Settings) -> Settings {
        fn joined<T, C: Extend<T> + IntoIterator<Item = T>>(mut under: C, over: C) -> C {
            under.extend(over);
            under
        }
        // The later list decides where both name a rule.
        let (mut enable, mut disable) = (self.enable, self.disable);
        enable.retain(|rule| !over.disable.contains(rule));
        disable.retain(|rule| !over.enable.contains(rule));
        // All by name, so that no setting is forgotten.
        Settings {
            profile: over.profile.or(self.profile),
            enable: joined(enable, over.enable),
            disable: joined(disable, over.disable),
            only: over.only.or(self.only),
            default_scheme: over.default_scheme.or(self.default_scheme),
            slash: over.slash.or(self.slash),
            www: over.www.or(self.www),
            scheme: over.scheme.or(self.scheme),
            trailing_dot: over.trailing_dot.or(self.trailing_dot),
            form_spelling: over.form_spelling.or(self.form_spelling),
            empty_values: over.empty_values.or(self.empty_values),
            keep_routes: over.keep_routes.or(self.keep_routes),
            latin1_hosts: joined(self.latin1_hosts, over.latin1_hosts),
            index_names: over.index_names.or(self.index_names),
            strip_params: joined(self.strip_params, over.strip_params),
            keep_params: joined(self.keep_params, over.keep_params),
            default_params: joined(self.default_params, over.default_params),
            hosts: joined(self.hosts, over.hosts),
            dust: if over.dust.is_empty() { self.dust } else { over.dust },
        }
    }

    /// The profile that these settings describe.
    ///
    /// Giving a rule something to work with (a host map, default values, a rule file, `--slash`, …)
    /// also turns the rule on, unless `disable` names it.
    pub fn build(&self) -> Result<Profile> {
        let mut profile = Profile::named(self.profile.as_deref().unwrap_or("crawl"))?;
        let plain = (profile.digest(), profile.title());
        if let Some(only) = &self.only {
            let base = profile.clone();
            profile = Profile::only(rule_set("only", only)?);
            if self.profile.is_some() {
                profile.options = base.options;
            }
        }
        let given = self.given();
        let asks_for_scheme = self.default_scheme.as_ref().is_some_and(|scheme| scheme != "none");
        let asks_for_rules = !given.is_empty() || !self.enable.is_empty() || asks_for_scheme;
        if !profile.parses && asks_for_rules {
            return Err(Error::config(
                "profile lines takes lines as they are and has no rules; choose another profile",
            ));
        }
        for rule in rule_set("enable", &self.enable)?.union(given).iter() {
            profile.rules.insert(rule);
        }
        for rule in rule_set("disable", &self.disable)?.iter() {
            profile.rules.remove(rule);
        }
        self.set_options(&mut profile)?;
        if self.only.is_none() && profile.digest() != plain.0 {
            profile.name.push('+');
        }
        Ok(profile)
    }

    /// Checks that rules which are `asked_for` by name, and change nothing by themselves, have
    /// something to work with. Names that are no rules are left to [`Settings::build`].
    pub fn check_given<'a>(&self, asked_for: impl IntoIterator<Item = &'a String>) -> Result<()> {
        let asked_for: RuleSet =
            asked_for.into_iter().filter_map(|name| RuleId::named(name)).collect();
        let (given, disabled) = (self.given(), rule_set("disable", &self.disable)?);
        let needs = [
            (RuleId::IpHost, "addresses and names", Setting::Hosts, " FILE or the table [hosts]"),
            (
                RuleId::DefaultParams,
                "values",
                Setting::DefaultParams,
                " NAME=VALUE or [[default-params]]",
            ),
            (RuleId::Dust, "rules of sites", Setting::Rules, " FILE"),
        ];
        for (rule, what, setting, how) in needs {
            let has_none = !given.contains(rule) && !disabled.contains(rule);
            if asked_for.contains(rule) && has_none {
                return Err(Error::config(format!(
                    "{}: expected {what} for this rule to work with, found none; give them by \
                     {setting}{how}, or do not ask for it",
                    rule.name()
                )));
            }
        }
        Ok(())
    }

    /// The rules that the settings give something to work with.
    fn given(&self) -> RuleSet {
        let rules = [
            (RuleId::TrailingSlash, self.slash.is_some()),
            (RuleId::Www, self.www.is_some()),
            (RuleId::Scheme, self.scheme.is_some()),
            (RuleId::Case, self.trailing_dot.is_some()),
            (RuleId::Encoding, !self.latin1_hosts.is_empty() || self.form_spelling.is_some()),
            (RuleId::DirectoryIndex, self.index_names.is_some()),
            (RuleId::Fragment, self.keep_routes.is_some()),
            (RuleId::Params, !self.strip_params.is_empty() || !self.keep_params.is_empty()),
            (RuleId::DefaultParams, !self.default_params.is_empty()),
            (RuleId::IpHost, !self.hosts.is_empty()),
            (RuleId::Dust, !self.dust.is_empty()),
        ];
        rules.into_iter().filter(|(_, is_given)| *is_given).map(|(rule, _)| rule).collect()
    }

    fn set_options(&self, profile: &mut Profile) -> Result<()> {
        let options = &mut profile.options;
        if let Some(scheme) = &self.default_scheme {
            options.default_scheme = match scheme.as_str() {
                "none" => None,
                name if WEB_SCHEMES.contains(&name) => Some(scheme.clone()),
                other => {
                    let expected = WEB_SCHEMES.join(", ");
                    return Err(Error::config(format!(
                        "default-scheme: expected {expected} or none, found \"{other}\""
                    )));
                }
            };
        }
        options.slash = self.slash.unwrap_or(options.slash);
        if !profile.rules.contains(RuleId::TrailingSlash) {
            // A rule that is off has no parameters, not even `directory-index`.
            options.slash = Slash::Keep;
        }
        options.www = self.www.unwrap_or(options.www);
        options.scheme = self.scheme.unwrap_or(options.scheme);
        options.trailing_dot = self.trailing_dot.unwrap_or(options.trailing_dot);
        options.form_spelling = self.form_spelling.unwrap_or(options.form_spelling);
        options.empty_values = self.empty_values.unwrap_or(options.empty_values);
        options.keep_routes = self.keep_routes.unwrap_or(options.keep_routes);
        if !self.hosts.is_empty() {
            let mut hosts = BTreeMap::new();
            for (address, name) in &self.hosts {
                let (address, name) = host_entry(address, name)?;
                hosts.insert(address, name);
            }
            options.hosts = Arc::new(hosts);
        }
        let spelling = Spelling::of(profile);
        for host in &self.latin1_hosts {
            profile.options.latin1_hosts.push(spelling.host("latin1-hosts", host)?);
        }
        self.set_names(profile)?;
        let dust = dust_spelling::under(self.dust.clone(), profile);
        profile.options.dust = Arc::new(dust);
        Ok(())
    }

    /// Sets which parameters and file names are dropped and which are kept, in the spelling of
    /// `profile`.
    fn set_names(&self, profile: &mut Profile) -> Result<()> {
        if let Some(names) = &self.index_names {
            let spelling = Spelling::of(profile);
            // A flag says that there are none by `--index-names ''`.
            let is_none = |names: &[String]| matches!(names, [only] if only.is_empty());
            let mut spelled: Vec<String> = Vec::new();
            for name in if is_none(names) { &[][..] } else { names } {
                let names =
                    spelling.on("", "", |letters| letters.file_name("index-names", name))?;
                for (_, name) in names {
                    if !spelled.contains(&name) {
                        spelled.push(name);
                    }
                }
            }
            profile.options.index_names = Arc::new(IndexNames::new(&spelled));
        }
        let spelling = Spelling::of(profile);
        let options = &mut profile.options;
        if !self.strip_params.is_empty() {
            let mut names = ParamNames::clone(&options.drop_params);
            for name in &self.strip_params {
                let spell = |letters: &Letters| letters.name_or_start("strip-params", name);
                for (host, name) in spelling.on("", "", spell)? {
                    names.add_on(&host, &name);
                }
            }
            options.drop_params = Arc::new(names);
        }
        if profile.rules.contains(RuleId::Params) && !self.keep_params.is_empty() {
            let mut keep = KeepParams::default();
            for row in &self.keep_params {
                let names = row.names.as_ref().ok_or_else(|| {
                    Error::config(
                        "keep-params: expected `names`, as in names = [\"id\"], found none",
                    )
                })?;
                let spell = |letters: &Letters| -> Result<Vec<String>> {
                    names.iter().map(|name| letters.name("keep-params", name)).collect()
                };
                for (scope, names) in
                    spelling.scopes("keep-params", (&row.host, &row.path), spell)?
                {
                    keep.add(scope, names);
                }
            }
            options.keep_params = Arc::new(keep);
        }
        if !self.default_params.is_empty() {
            let mut defaults = DefaultParams::default();
            for row in &self.default_params {
                let value = row.value.as_ref();
                let spell = |letters: &Letters| {
                    let name = letters.name("default-params", &row.name)?;
                    let value = value.ok_or_else(|| {
                        Error::config(format!(
                            "default-params: expected a value for {}, found none; say value = \"\" \
                             for the empty one",
                            row.name
                        ))
                    })?;
                    Ok((name, letters.value("default-params", value)?))
                };
                for (scope, (name, value)) in
                    spelling.scopes("default-params", (&row.host, &row.path), spell)?
                {
                    defaults.add(scope, name, value);
                }
            }
            options.default_params = Arc::new(defaults);
        }
        Ok(())
    }
}

fn rule_set(key: &str, names: &[String]) -> Result<RuleSet> {
    names
        .iter()
        .map(|name| {
            RuleId::named(name).ok_or_else(|| {
                Error::config(format!(
                    "{key}: no rule \"{name}\"; the rules are {}",
                    RuleId::ALL.map(RuleId::name).join(", ")
                ))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::{Canonicalizer, Scratch};

    #[test]
    fn rows_of_another_shape_are_told_what_they_are() {
        for (text, expected) in [
            (
                "keep-params = ['id']",
                "line 1: invalid type: string \"id\", expected a table of host, path and names",
            ),
            (
                "\ndefault-params = [1]",
                "line 2: invalid type: integer `1`, expected a table of host, path, name and value",
            ),
        ] {
            assert_eq!(Settings::parse(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn rules_need_something_to_work_with() {
        let check = |asked_for: &[&str], text: &str| {
            let names: Vec<String> = asked_for.iter().map(|name| name.to_string()).collect();
            Settings::parse(text).unwrap().check_given(&names)
        };
        for (asked_for, expected) in [
            (&["ip-host"][..], "ip-host: expected addresses and names"),
            (&["case", "dust"], "dust: expected rules of sites"),
            (&["www", "default-params"], "default_params NAME=VALUE"),
        ] {
            let error = check(asked_for, "").unwrap_err();
            assert!(error.is_config() && error.to_string().contains(expected), "{error}");
        }
        for (asked_for, text) in [
            (&["www", "params"][..], ""),
            (&["ip-host"], "[hosts]\n'127.1' = 'b.test'"),
            (&["ip-host"], "disable = ['ip-host']"),
            // Shared settings may ask for what some runs have nothing for.
            (&[], "enable = ['dust']"),
        ] {
            check(asked_for, text).unwrap();
        }
    }

    #[test]
    fn files_and_flags() {
        let file = Settings::parse(
            "profile = 'rfc3986'\nenable = ['www']\nslash = 'add'\nstrip-params = ['ref']\n\
             [[keep-params]]\nhost = 'A.test'\npath = '/d'\nnames = ['id']\n[hosts]\n'127.1' = 'B.test'",
        )
        .unwrap();
        let flags = Settings {
            disable: vec!["www".into()],
            slash: Some(Slash::Remove),
            ..Settings::default()
        };
        let profile = file.overlay(flags).build().unwrap();
        assert_eq!(profile.title(), "rfc3986+@1");
        assert!(!profile.rules.contains(RuleId::Www));
        assert!(profile.rules.contains(RuleId::Params) && profile.rules.contains(RuleId::IpHost));
        assert_eq!(profile.options.slash, Slash::Remove);
        assert_eq!(profile.options.hosts["127.0.0.1"], "b.test");
    }

    #[test]
    fn slashes_stay_where_their_rule_is_off() {
        for (text, expected) in [
            ("profile='aggressive'", ["/a", "/"]),
            ("profile='aggressive'\ndisable=['trailing-slash']", ["/a/index.php/", "/index.html/"]),
            ("profile='aggressive'\nonly=['directory-index']", ["/a/index.php/", "/index.html/"]),
            (
                "profile='crawl'\nenable=['directory-index']\nslash='remove'\n\
                 disable=['trailing-slash']",
                ["/a/index.php/", "/index.html/"],
            ),
        ] {
            let profile = Settings::parse(text).unwrap().build().unwrap();
            let mut scratch = Scratch::default();
            for (path, expected) in ["/a/index.php/", "/index.html/index.html"].iter().zip(expected)
            {
                let (url, expected) =
                    (format!("http://e.com{path}"), format!("http://e.com{expected}"));
                for lane in [Canonicalizer::new, Canonicalizer::reference_only] {
                    let canonicalizer = lane(profile.clone());
                    let form = canonicalizer.canonical(url.as_bytes(), &mut scratch).form;
                    assert_eq!(String::from_utf8_lossy(form), expected, "{text}: {url}");
                }
            }
        }
    }

    #[test]
    fn schemes_for_lines_that_have_none() {
        for (given, expected) in
            [("http", Some("http")), ("wss", Some("wss")), ("ftp", Some("ftp")), ("none", None)]
        {
            let scheme = Some(given.to_string());
            let settings = Settings { default_scheme: scheme, ..Settings::default() };
            let profile = settings.build().unwrap();
            assert_eq!(profile.options.default_scheme.as_deref(), expected, "{given}");
        }
    }

    #[test]
    fn settings_turn_their_rules_on() {
        let routes = Settings { keep_routes: Some(false), ..Settings::default() };
        let whatwg = Settings { profile: Some("whatwg".into()), ..routes.clone() };
        assert!(whatwg.build().unwrap().rules.contains(RuleId::Fragment));
        let only = Settings { only: Some(vec!["case".into()]), ..routes };
        assert!(only.build().unwrap().rules.contains(RuleId::Fragment));
        let profile = Some("lines".to_string());
        for (scheme, is_fine) in [("https", false), ("none", true)] {
            let default_scheme = Some(scheme.to_string());
            let settings =
                Settings { profile: profile.clone(), default_scheme, ..Settings::default() };
            assert_eq!(settings.build().is_ok(), is_fine, "{scheme}");
        }
    }

    #[test]
    fn hosts_with_latin1_are_canonical() {
        for (profile, host, expected) in [
            ("crawl", "bücher.example", Ok("xn--bcher-kva.example")),
            ("crawl", "A.example.", Ok("a.example")),
            // Where the dot is kept it is not compared either.
            ("rfc3986", "A.example.", Ok("a.example")),
            ("crawl", "[0::1]", Ok("[::1]")),
            ("crawl", "www.a.example", Ok("www.a.example")),
            ("aggressive", "www.a.example", Err("no URL has the host www.a.example")),
            ("crawl", "*.example", Err("expected the name of a host, found \"*.example\"")),
            ("crawl", "", Err("expected the name of a host, found \"\"")),
            ("crawl", ".", Err("expected the name of a host")),
            ("crawl", "a b", Err("expected the name of a host")),
            ("crawl", "a.example/x", Err("expected the name of a host")),
            ("crawl", "http://a.example", Err("expected the name of a host")),
            ("crawl", "a.example:80", Err("expected the name of a host")),
        ] {
            let text = format!("profile = '{profile}'\nlatin1-hosts = ['{host}']");
            match (Settings::parse(&text).unwrap().build(), expected) {
                (Ok(profile), Ok(expected)) => {
                    assert_eq!(profile.options.latin1_hosts, [expected], "{text}");
                }
                (Err(error), Err(why)) => {
                    let error = error.to_string();
                    assert!(error.contains("latin1-hosts: ") && error.contains(why), "{error}");
                }
                (found, _) => panic!("{text}: {:?}", found.map(|profile| profile.title())),
            }
        }
    }

    #[test]
    fn names_of_index_files_may_be_none() {
        for text in ["index-names = []", "index-names = ['']"] {
            let profile = Settings::parse(text).unwrap().build().unwrap();
            assert_eq!(profile.options.index_names.describe(), "", "{text}");
        }
    }

    #[test]
    fn paths_are_checked_with_the_names_of_index_files_that_are_given() {
        for (path, is_refused) in [("/a/index.html", false), ("/a/foo.htm", true)] {
            let text = format!(
                "profile = 'aggressive'\nindex-names = ['foo.htm']\n\
                 [[keep-params]]\nnames = ['id']\npath = '{path}'"
            );
            let built = Settings::parse(&text).unwrap().build();
            let told = built.map_or_else(|error| error.to_string(), |_| String::new());
            assert_eq!(told.contains("no URL has the path /a/foo.htm"), is_refused, "{told}");
        }
    }

    #[test]
    fn only_means_only() {
        let settings = Settings { only: Some(vec!["www".into()]), ..Settings::default() };
        let profile = settings.build().unwrap();
        assert_eq!(profile.rules.names(), "www");
        assert_eq!(profile.title(), "only@1");
    }

    #[test]
    fn mistakes() {
        for (text, why) in [
            ("profile = 'x'", "no such profile"),
            ("enable = ['wwww']", "no rule \"wwww\""),
            ("\nslash = 'maybe'", "line 2: slash: expected keep, add or remove, found \"maybe\""),
            ("www = 'keep'", "line 1: www: expected remove or add, found \"keep\""),
            ("scheme = 'ftp'", "scheme: expected http or https, found \"ftp\""),
            ("trailing-dot = ''", "trailing-dot: expected drop or keep, found \"\""),
            ("slash = true", "line 1: invalid type: boolean `true`, expected a string"),
            ("default-scheme = 'gopher'", "expected http, https, ws, wss, ftp or none, found"),
            ("colour = 1", "colour"),
            ("profile = 'lines'\nslash = 'add'", "lines"),
            ("[hosts]\n'a.test' = 'b.test'", "address"),
            ("[[keep-params]]\nnames = []\npath = 'x'", "slash"),
            ("index-names = ['a.htm', '']", "index-names: expected the name of a file, found \"\""),
            ("index-names = ['index.*']", "index-names: expected the name of a file"),
            ("[[keep-params]]\npath = '/x'", "expected `names`"),
            ("[[keep-params]]\nhost = ''\nnames = ['a']", "line 2: expected the name of a host"),
            ("[[default-params]]\nhost = ' '\nname = 'a'\nvalue = ''", "leave `host` out"),
        ] {
            let error = Settings::parse(text).and_then(|settings| settings.build()).unwrap_err();
            assert!(error.is_config() && error.to_string().contains(why), "{text}: {error}");
        }
    }
}
