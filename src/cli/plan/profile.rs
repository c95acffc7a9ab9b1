//! The profile that flags describe, with the files that they name.

use std::path::{Path, PathBuf};

use super::files::{names_of, read_text, rules_in_force};
use super::noted::{Note, Noted};
use crate::bytes::show_path;
use crate::canonical::{Canonicalizer, DefaultRow, KeepRow, Profile, Settings, read_hosts};
use crate::cli::args::{CONFIG_VARIABLE, ProfileArgs};
use crate::error::{Error, Result};

/// The settings in the file at `path`.
fn read_settings(path: &Path) -> Result<Settings> {
    Settings::parse(&read_text(path)?)
        // Built once by itself, so that its own mistakes are told with its name.
        .and_then(|settings| settings.build().map(|_| settings))
        .map_err(|error| error.at(show_path(path)))
}

impl ProfileArgs {
    /// The files that say more.
    pub(crate) fn files(&self) -> impl Iterator<Item = PathBuf> {
        [&self.hosts, &self.config].into_iter().flatten().chain(&self.rules).cloned()
    }

    /// The profile that file and flags describe. Rules that are left out are noted.
    pub(crate) fn profile(&self) -> Result<Noted<Profile>> {
        let Noted { plan: settings, notes } = self.all_settings()?;
        let profile = settings.build()?;
        // A file that was given may have nothing in it.
        if self.hosts.is_none() && self.rules.is_empty() {
            settings.check_given(self.enable.iter().chain(self.only.iter().flatten()))?;
        }
        Ok(Noted { plan: profile, notes })
    }

    /// What file and flags say together. Rules that are left out are noted.
    pub(crate) fn all_settings(&self) -> Result<Noted<Settings>> {
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
        let Noted { plan: flags, notes } = self.settings()?;
        Ok(Noted { plan: file.overlay(flags), notes })
    }

    /// A canonicalizer for it. A file of rules none of which is in force is noted, too.
    pub(crate) fn canonicalizer(&self) -> Result<Noted<Canonicalizer>> {
        let Noted { plan: profile, mut notes } = self.profile()?;
        if !self.rules.is_empty() && profile.options.dust.is_empty() {
            let (files, are_several) = (names_of(&self.rules), self.rules.len() > 1);
            notes.push(Note::NoneInForce { files, are_several });
        }
        Ok(Noted { plan: Canonicalizer::new(profile), notes })
    }

    /// What the flags say, with the files that they name but `--config`.
    fn settings(&self) -> Result<Noted<Settings>> {
        let mut settings = Settings {
            profile: self.profile.clone(),
            enable: self.enable.clone(),
            disable: self.disable.clone(),
            only: self.only.clone(),
            default_scheme: self.default_scheme.clone(),
            slash: self.slash,
            www: self.www,
            scheme: self.scheme,
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
                     \"{name}\"; after a host or a path it follows a colon, as in \
                     example.com/list:page=1"
                )));
            }
            let (name, value) = (name.to_string(), value.to_string());
            settings.default_params.push(DefaultRow { host, path, name, value: Some(value) });
        }
        if let Some(path) = &self.hosts {
            settings.hosts = read_hosts(&read_text(path)?).map_err(|e| e.at(show_path(path)))?;
        }
        let mut notes = Vec::new();
        if !self.rules.is_empty() {
            Noted { plan: settings.dust, notes } = rules_in_force(&self.rules)?;
        }
        Ok(Noted { plan: settings, notes })
    }
}

/// `HOST/PATH:REST` in parts; host and path are empty where they are not given. A colon in a value
/// is none; of those of a path the last one ends it, and those of an address in brackets do not
/// count. A path may have `=`, too: the value is after the first one that follows a colon.
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
