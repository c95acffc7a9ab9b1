//! From arguments to plans: what the flags and files mean together.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::{CONFIG_VARIABLE, FormatArgs, InputArgs, ProfileArgs, RunArgs, SyncArgs};
use super::memory::{self, Amount};
use crate::bytes::show_path;
use crate::canonical::{
    Canonicalizer, DefaultRow, DustRules, KeepRow, Profile, RuleFile, Settings, read_hosts,
};
use crate::error::{Error, Result};
use crate::input::{Containers, Input, InputPlan};
use crate::limits::{CONFIG_BYTES_MAX, LINE_BYTES_CEILING};
use crate::pipeline::{FormatChoice, FormatPlan, Memory, NamedFormat};
use crate::record::fields::time;
use crate::record::formats;
use crate::record::{BaseUrl, RecordFilter, StatusRange, UrlGlob, UrlGlobs};
use crate::report::{OutputThreads, Syncing};

impl InputArgs {
    /// What to read: all the files, by name.
    pub(super) fn plan(&self) -> Result<InputPlan> {
        let mut paths = self.files.clone();
        if paths.is_empty() && self.files_from.is_none() {
            if std::io::stdin().is_terminal() {
                return Err(Error::config(
                    "nothing to read; name a FILE, or `-` for standard input (see --help)",
                ));
            }
            paths.push(PathBuf::from("-"));
        }
        let ceiling = LINE_BYTES_CEILING as u64;
        if self.line_limit == 0 || self.line_limit > ceiling {
            return Err(Error::config(format!(
                "--line-limit: expected 1 to {ceiling} bytes, found {}",
                self.line_limit
            )));
        }
        let separator = if self.null { 0 } else { b'\n' };
        let NamedFormat { containers, columns, .. } = self.format.named()?;
        let mut plan = InputPlan {
            paths,
            recursive: self.recursive,
            files_from: self.files_from.clone(),
            files_from_separator: separator,
            separator,
            line_bytes_max: self.line_limit as usize,
            map: !self.no_map,
            containers,
            columns,
            ..InputPlan::default()
        };
        plan.resolve()?;
        Ok(plan)
    }
}

impl FormatArgs {
    /// How records are found, and which of them count.
    pub(super) fn plan(&self) -> Result<FormatPlan> {
        let base = self.base_url.as_deref().map(BaseUrl::parse).transpose()?;
        let filter = self.filter()?;
        Ok(FormatPlan {
            format: self.named()?.choice,
            base: base.map(Arc::new),
            filter: (!filter.is_empty()).then(|| Arc::new(filter)),
            content_first: false,
        })
    }

    /// The format and its columns; that of `--log-format` goes before a name.
    fn named(&self) -> Result<NamedFormat> {
        let named = NamedFormat::parse(self.format.as_deref(), self.field.as_deref())?;
        Ok(match &self.log_format {
            None => named,
            Some(text) => NamedFormat {
                choice: Some(FormatChoice::Given(formats::log_format(text)?)),
                containers: Containers::None,
                ..named
            },
        })
    }

    fn filter(&self) -> Result<RecordFilter> {
        let time = |flag: &str, text: &Option<String>| match text {
            None => Ok(None),
            // A year alone would be a second of 1970.
            Some(text) => time::parse(text.as_bytes(), b"")
                .filter(|_| text.trim().len() > "2026".len())
                .map(Some)
                .ok_or_else(|| {
                    Error::config(format!(
                        "{flag} {text}: expected a date or a time, such as 2026-11-21 or \
                     2026-11-21T09:30:00+01:00"
                    ))
                }),
        };
        let globs = |flag: &str, texts: &[String]| -> Result<UrlGlobs> {
            texts.iter().map(|text| UrlGlob::parse(text).map_err(|error| error.at(flag))).collect()
        };
        let method = |text: &str| match text.trim().as_bytes() {
            method if !method.is_empty() && method.iter().all(u8::is_ascii_alphabetic) => {
                Ok(method.to_vec())
            }
            _ => Err(Error::config(format!("--method {text}: expected a method, such as GET"))),
        };
        let (since, until) = (time("--since", &self.since)?, time("--until", &self.until)?);
        if let (Some(since), Some(until)) = (since, until)
            && since >= until
        {
            return Err(Error::config(
                "--until is not after --since: no record can be in between; expected a later time",
            ));
        }
        Ok(RecordFilter {
            statuses: self
                .status
                .iter()
                .map(|one| StatusRange::parse(one))
                .collect::<Result<_>>()?,
            methods: self.method.iter().map(|one| method(one)).collect::<Result<_>>()?,
            since,
            until,
            include: globs("--include", &self.include)?,
            exclude: globs("--exclude", &self.exclude)?,
        })
    }
}

/// The settings in the file at `path`.
fn read_settings(path: &Path) -> Result<Settings> {
    Settings::parse(&read_text(path)?)
        // Built once by itself, so that its own mistakes are told with its name.
        .and_then(|settings| settings.build().map(|_| settings))
        .map_err(|error| error.at(show_path(path)))
}

impl ProfileArgs {
    /// The files that say more.
    pub(super) fn files(&self) -> impl Iterator<Item = PathBuf> {
        [&self.hosts, &self.config].into_iter().flatten().chain(&self.rules).cloned()
    }

    /// The profile that file and flags describe. Rules that are left out are told unless it
    /// `is_quiet`.
    pub(super) fn profile(&self, is_quiet: bool) -> Result<Profile> {
        let settings = self.all_settings(is_quiet)?;
        let profile = settings.build()?;
        // A file that was given may have nothing in it.
        if self.hosts.is_none() && self.rules.is_empty() {
            settings.check_given(self.enable.iter().chain(self.only.iter().flatten()))?;
        }
        Ok(profile)
    }

    /// What file and flags say together. Rules that are left out are told unless it `is_quiet`.
    pub(super) fn all_settings(&self, is_quiet: bool) -> Result<Settings> {
        // An empty variable of the environment is one that is not set, by custom.
        let file = match self.config.as_deref().filter(|path| !path.as_os_str().is_empty()) {
            None => Settings::default(),
            Some(path) => {
                // Or `--config` names the same file, which is as good an answer.
                let is_of_environment =
                    std::env::var_os(CONFIG_VARIABLE).is_some_and(|it| it == path);
                let settings = read_settings(path);
                settings
                    .map_err(|it| if is_of_environment { it.at(CONFIG_VARIABLE) } else { it })?
            }
        };
        Ok(file.overlay(self.settings(is_quiet)?))
    }

    /// A canonicalizer for it. Unless it `is_quiet`, a file of rules none of which is in force is
    /// told.
    pub(super) fn canonicalizer(&self, is_quiet: bool) -> Result<Canonicalizer> {
        let profile = self.profile(is_quiet)?;
        if !is_quiet && !self.rules.is_empty() && profile.options.dust.is_empty() {
            super::words::say(format_args!(
                "undust: {}: no rule in {} is in force, so {} nothing",
                names_of(&self.rules),
                if self.rules.len() == 1 { "it" } else { "them" },
                if self.rules.len() == 1 { "it changes" } else { "they change" }
            ));
        }
        Ok(Canonicalizer::new(profile))
    }

    fn settings(&self, is_quiet: bool) -> Result<Settings> {
        let mut settings = Settings {
            profile: self.profile.clone(),
            enable: self.enable.clone(),
            disable: self.disable.clone(),
            only: self.only.clone(),
            default_scheme: self.default_scheme.clone(),
            slash: self.slash.clone(),
            www: self.www.clone(),
            scheme: self.scheme.clone(),
            index_names: self.index_names.clone(),
            strip_params: self.strip_param.clone(),
            ..Settings::default()
        };
        for text in &self.keep_param {
            let (host, path, names) = scoped("--keep-param", text, false)?;
            if names.is_empty() || !text.contains(':') && names.contains('/') {
                return Err(Error::config(format!(
                    "--keep-param {text}: expected names of parameters, as in id,page or \
                     example.com/display:id, found none"
                )));
            }
            let names = names.split(',').map(|name| name.trim().to_string()).collect();
            settings.keep_params.push(KeepRow { host, path, names: Some(names) });
        }
        for text in &self.default_param {
            let (host, path, pair) = scoped("--default-param", text, true)?;
            let Some((name, value)) = pair.split_once('=') else {
                return Err(Error::config(format!(
                    "--default-param {text}: expected NAME=VALUE, found no `=`"
                )));
            };
            if name.contains('/') {
                return Err(Error::config(format!(
                    "--default-param {text}: expected the name of a parameter before `=`, found \
                     \"{name}\"; behind a host or a path it follows a colon, as in \
                     example.com/list:page=1"
                )));
            }
            let (name, value) = (name.to_string(), value.to_string());
            settings.default_params.push(DefaultRow { host, path, name, value: Some(value) });
        }
        if let Some(path) = &self.hosts {
            settings.hosts = read_hosts(&read_text(path)?).map_err(|e| e.at(show_path(path)))?;
        }
        if !self.rules.is_empty() {
            settings.dust = rules_in_force(&self.rules, is_quiet)?;
        }
        Ok(settings)
    }
}

/// `HOST/PATH:REST` in parts; host and path are empty where they are not given. A colon in a value
/// is none; of those of a path the last one ends it, and those of an address in brackets do not
/// count. A path may have `=`, too: the value is behind the first one that follows a colon.
fn scoped<'a>(flag: &str, text: &'a str, has_value: bool) -> Result<(String, String, &'a str)> {
    let value_from = |start: usize| match text[start..].find('=') {
        Some(at) if has_value => start + at,
        _ => text.len(),
    };
    let host_end = match text[..value_from(0)].find(']') {
        Some(end) if text.starts_with('[') => end,
        _ => 0,
    };
    let end = text[host_end..].find([':', '/', '=']).map(|at| host_end + at);
    let (value_at, colon) = match end.map(|end| (end, text.as_bytes()[end])) {
        Some((end, b':')) => (value_from(end), Some(end)),
        Some((path_at, b'/')) => {
            let colon = text[path_at..].find(':').map(|at| path_at + at);
            let colon = colon.filter(|at| text[*at..].contains('='));
            let value_at = value_from(colon.unwrap_or(path_at));
            (value_at, text[path_at..value_at].rfind(':').map(|at| path_at + at))
        }
        _ => (text.len(), None),
    };
    let Some(at) = colon else {
        return Ok((String::new(), String::new(), text));
    };
    if at == 0 {
        return Err(Error::config(format!(
            "{flag} {text}: expected a host or a path before the colon, found none; leave the colon \
             out for all hosts, or write one of a name as %3A"
        )));
    }
    let (scope, rest) = (&text[..at], &text[at + 1..]);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if rest.starts_with("//") || digits > 0 && text[at + 1..value_at][digits..].contains(':') {
        return Err(Error::config(format!(
            "{flag} {text}: expected a host without scheme and port in front, as in example.com/display:id"
        )));
    }
    Ok(match scope.split_once('/') {
        None => (scope.to_string(), String::new(), rest),
        Some((host, path)) => (host.to_string(), format!("/{path}"), rest),
    })
}

impl SyncArgs {
    /// The `threads` that make results durable as asked for.
    pub(super) fn threads(&self, threads: OutputThreads) -> OutputThreads {
        if self.no_sync {
            OutputThreads { syncing: Syncing::LeftToSystem, ..threads }
        } else {
            threads
        }
    }
}

impl RunArgs {
    /// The memory budget, and the folder for what exceeds it.
    pub(super) fn memory(&self) -> Memory {
        Memory {
            bytes: self.memory.map_or_else(memory::default_bytes, Amount::bytes),
            temp_dir: self.temp_dir.clone().unwrap_or_else(std::env::temp_dir),
        }
    }
}

/// The rules of some rule files, which are as one. Learned rules that do not get along are left
/// out, which is told unless it `is_quiet`.
fn rules_in_force(paths: &[PathBuf], is_quiet: bool) -> Result<DustRules> {
    let (file, names) = joined(paths, read_text)?;
    let compilation = DustRules::compile(&file);
    let refused = compilation.refused.len();
    let rules = compilation.strict().map_err(|error| error.at(&names))?;
    if refused > 0 && !is_quiet {
        let are = if refused == 1 { "is" } else { "are" };
        super::words::say(format_args!(
            "undust: {names}: {} {are} left out; undust rules lint says why",
            crate::bytes::decimal::count_of(refused as u64, "learned rule")
        ));
    }
    Ok(rules)
}

/// Reads some rule files as one, for a command that reads nothing else, and returns their names in
/// messages as well; `-` is standard input.
pub(super) fn rule_file(paths: &[PathBuf]) -> Result<(RuleFile, String)> {
    joined(paths, |path| match path.as_os_str() == "-" {
        true => read_text_at(path.to_path_buf(), path),
        false => read_text(path),
    })
}

/// Joins the rule files whose texts `read` gives, and returns their names in messages as well.
/// Where there are several, their names come with the numbers of their rules.
fn joined(paths: &[PathBuf], read: impl Fn(&Path) -> Result<String>) -> Result<(RuleFile, String)> {
    let mut all = RuleFile::default();
    let mut names = Vec::new();
    for path in paths {
        let file = parse_rules(&read(path)?, path)?;
        let (first, rules) = (all.rules.len() + 1, file.rules.len());
        names.push(match (paths.len(), rules) {
            (1, _) | (_, 0) => show_path(path).to_string(),
            (_, 1) => format!("{} (rule {first})", show_path(path)),
            _ => format!("{} (rules {first} to {})", show_path(path), first + rules - 1),
        });
        all.append(file).map_err(|error| error.at(show_path(path)))?;
    }
    Ok((all, names.join(", ")))
}

/// Returns the names of some files in messages.
fn names_of(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| show_path(path).to_string()).collect();
    names.join(", ")
}

fn parse_rules(text: &str, path: &Path) -> Result<RuleFile> {
    RuleFile::parse(text).map_err(|error| error.at(show_path(path)))
}

/// Reads the text of a small file of the user's, packed or not. `-` is a file of that name, and not
/// the lines that are to be read.
fn read_text(path: &Path) -> Result<String> {
    read_text_at(Path::new(".").join(path), path)
}

/// Reads the text of a small file of the user's that is at `place` and called `path`, packed or
/// not.
fn read_text_at(place: PathBuf, path: &Path) -> Result<String> {
    let too_long = || {
        Error::limit(format!(
            "{}: longer than {CONFIG_BYTES_MAX} bytes, which is too much for such a file",
            show_path(path)
        ))
    };
    if path.is_dir() {
        let name = show_path(path);
        return Err(Error::input(format!("{name}: expected a file, found a directory")));
    }
    let bytes_max = CONFIG_BYTES_MAX as usize;
    let plan = InputPlan {
        paths: vec![place.clone()],
        names: vec![(place, path.to_path_buf())],
        containers: Containers::None,
        line_bytes_max: bytes_max,
        map: false,
        ..InputPlan::default()
    };
    let mut bytes = Vec::new();
    for chunk in Input::open(&plan)? {
        let chunk = chunk?;
        bytes.extend_from_slice(chunk.bytes());
        if chunk.overlong().is_some() || bytes.len() > bytes_max {
            return Err(too_long());
        }
    }
    String::from_utf8(bytes).map_err(|error| {
        Error::input(format!("{}: expected text in UTF-8: {error}", show_path(path)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes() {
        for (given, host, path, rest) in [
            ("id", "", "", "id"),
            ("a.test:id", "a.test", "", "id"),
            ("a.test/x/y:id,b", "a.test", "/x/y", "id,b"),
            ("a.test/Talk:X:id", "a.test", "/Talk:X", "id"),
            ("a.test:b:id", "a.test", "", "b:id"),
            ("[::1]:id", "[::1]", "", "id"),
            ("[::1]/x:id", "[::1]", "/x", "id"),
            ("a[]", "", "", "a[]"),
            ("a.test:a[]", "a.test", "", "a[]"),
            ("/x/y:id", "", "/x/y", "id"),
            ("a.test/d;v=1:id", "a.test", "/d;v=1", "id"),
            ("/d;v=1:x:id", "", "/d;v=1:x", "id"),
        ] {
            let expected = (host.to_string(), path.to_string(), rest);
            assert_eq!(scoped("--keep-param", given, false).unwrap(), expected, "{given}");
            let (given, rest) = (format!("{given}=a:b/=]"), format!("{rest}=a:b/=]"));
            let expected = (host.to_string(), path.to_string(), &*rest);
            assert_eq!(scoped("--default-param", &given, true).unwrap(), expected, "{given}");
        }
        let no_scope = (String::new(), String::new(), "a/b=1:c");
        assert_eq!(scoped("--default-param", "a/b=1:c", true).unwrap(), no_scope);
    }
}
