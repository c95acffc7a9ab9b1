//! The bare form: `undust FILE…` is `undust dedup FILE…`, with guards against slips.

use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory as _;

use super::{Args, InputArgs};
use crate::bytes::show;
use crate::error::{Error, Result};

/// Puts `dedup` in front if the first argument is no command and asks for neither help nor version.
/// Says whether it did.
pub(crate) fn with_command(mut given: Vec<OsString>) -> (Vec<OsString>, bool) {
    let first = given.get(1).and_then(|word| word.to_str()).unwrap_or("");
    let is_known = is_command(first) || matches!(first, "-h" | "--help" | "-V" | "--version");
    let has_nothing = given.len() < 2 && std::io::IsTerminal::is_terminal(&std::io::stdin());
    if is_known || has_nothing {
        return (given, false);
    }
    let at = given.len().min(1);
    given.insert(at, OsString::from("dedup"));
    (given, true)
}

/// The command that stands after flags, if one does.
pub(crate) fn late_command(given: &[OsString]) -> Option<&str> {
    // The first two are the program and the `dedup` put in.
    let mut words = given.iter().skip(2).filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        if is_command(word) {
            return Some(word);
        }
        if takes_next(word) {
            words.next();
        }
    }
    None
}

/// Is `word` a flag of `dedup` whose value is the next word?
fn takes_next(word: &str) -> bool {
    let command = Args::command();
    let dedup = command.find_subcommand("dedup");
    let mut flags = dedup.into_iter().flat_map(|dedup| dedup.get_arguments());
    let is_it = |flag: &&clap::Arg| match word.strip_prefix("--") {
        Some(long) => flag.get_long() == Some(long),
        None => flag.get_short().is_some_and(|short| *word == format!("-{short}")),
    };
    flags
        .find(is_it)
        .is_some_and(|flag| flag.get_action().takes_values() && !flag.is_require_equals_set())
}

fn is_command(word: &str) -> bool {
    word == "help" || Args::command().get_subcommands().any(|command| command.get_name() == word)
}

/// Refuses what in the bare form is most likely a slip: a mistyped command, a command after a flag.
pub(crate) fn check(is_bare: bool, input: &InputArgs) -> Result<()> {
    if !is_bare {
        return Ok(());
    }
    for file in &input.files {
        let Some(word) = file.to_str() else { continue };
        if is_command(word) {
            return Err(Error::config(format!(
                "{word} is a command and comes first: undust {word} …; for a file of this name, write ./{word}"
            )));
        }
    }
    match input.files.first() {
        Some(first) if !first.exists() && is_word(first) => {
            let word = show(first.as_os_str().as_encoded_bytes()).to_string();
            let near = Args::command()
                .get_subcommands()
                .map(|command| command.get_name().to_string())
                .filter(|name| distance(name, &word) <= 2)
                .min_by_key(|name| distance(name, &word));
            let hint = near.map_or(String::new(), |name| format!("; did you mean undust {name}?"));
            Err(Error::config(format!("\"{word}\" is neither a command nor a file here{hint}")))
        }
        _ => Ok(()),
    }
}

/// Could `path` be meant as a command: letters only?
fn is_word(path: &Path) -> bool {
    path.to_str().is_some_and(|text| {
        text.len() > 1
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            && !text.starts_with('-')
    })
}

/// How many letters must be changed, added, left out or swapped with a neighbor to get from `a` to
/// `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = usize::from(a[i - 1] != b[j - 1]);
                let mut least =
                    (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_files() {
        for (given, bare) in [
            (&["undust", "report", "x"][..], false),
            (&["undust", "--help"], false),
            (&["undust", "x.txt"], true),
            (&["undust", "-j2", "report"], true),
        ] {
            let given = given.iter().map(OsString::from).collect();
            assert_eq!(with_command(given).1, bare);
        }
    }

    #[test]
    fn values_of_flags_are_no_late_commands() {
        for (given, expected) in [
            (&["--top", "5", "report", "x"][..], Some("report")),
            (&["-j2", "report"], Some("report")),
            (&["--bogus", "learn"], Some("learn")),
            (&["-q", "canon", "x"], Some("canon")),
            (&["--stats", "report", "x"], Some("report")),
            (&["-S", "1X", "-o", "report", "x"], None),
            (&["--profile", "canon", "x"], None),
            (&["x", "y"], None),
        ] {
            let given = ["undust", "dedup"].iter().chain(given).map(OsString::from);
            assert_eq!(late_command(&given.collect::<Vec<_>>()), expected);
        }
    }

    #[test]
    fn distances() {
        for (a, b, expected) in
            [("report", "reprot", 1), ("canon", "cannon", 1), ("rules", "man", 5)]
        {
            assert_eq!(distance(a, b), expected);
        }
    }
}
