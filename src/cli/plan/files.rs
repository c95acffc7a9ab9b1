//! Reads the small files that arguments name, rule files among them.

use std::path::{Path, PathBuf};

use super::noted::{Note, Noted};
use crate::bytes::show_path;
use crate::canonical::{DustRules, RuleFile};
use crate::error::{Error, Result};
use crate::input::{Containers, Input, InputPlan};
use crate::limits::CONFIG_BYTES_MAX;

/// The rules of some rule files, which are as one. Learned rules that do not get along are left
/// out, which is noted.
pub(super) fn rules_in_force(paths: &[PathBuf]) -> Result<Noted<DustRules>> {
    let (file, names) = joined(paths, read_text)?;
    let compilation = DustRules::compile(&file);
    let refused = compilation.refused.len();
    let rules = compilation.strict().map_err(|error| error.at(&names))?;
    let left_out = (refused > 0).then_some(Note::LeftOut { files: names, rules: refused });
    Ok(Noted { plan: rules, notes: left_out.into_iter().collect() })
}

/// Reads some rule files as one, for a command that reads nothing else, and returns their names in
/// messages as well; `-` is standard input.
pub(crate) fn rule_file(paths: &[PathBuf]) -> Result<(RuleFile, String)> {
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
pub(super) fn names_of(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| show_path(path).to_string()).collect();
    names.join(", ")
}

fn parse_rules(text: &str, path: &Path) -> Result<RuleFile> {
    RuleFile::parse(text).map_err(|error| error.at(show_path(path)))
}

/// Reads the text of a small file of the user's, packed or not. `-` is a file of that name, and not
/// the lines that are to be read.
pub(super) fn read_text(path: &Path) -> Result<String> {
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
        return Err(Error::input(format!("{name}: expected a file, found a folder")));
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
