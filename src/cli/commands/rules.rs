//! `rules`: the list of rules, and their pages.

use std::fmt::Write as _;

use super::rule_files;
use crate::canonical::{PROFILES, RuleId};
use crate::cli::Status;
use crate::cli::args::{ProfileArgs, RulesArgs, RulesCommand};
use crate::cli::words::{print, told};
use crate::error::{Error, Result};

pub(crate) fn run(args: &RulesArgs) -> Result<Status> {
    match &args.command {
        RulesCommand::List(args) => match args.files.as_slice() {
            [] => print(list(&args.profile)?.as_bytes()),
            files => rule_files::list(files),
        },
        RulesCommand::Lint { files } => rule_files::lint(files),
        RulesCommand::Test(args) => rule_files::test(&args.files, &args.profile),
        RulesCommand::Export { files, to } => rule_files::export(files, *to),
        RulesCommand::Show { rule } => match RuleId::named(rule) {
            Some(rule) => print(page(rule, "").as_bytes()),
            None => Err(Error::config(format!(
                "no rule \"{rule}\"; the rules are {}",
                RuleId::ALL.map(RuleId::name).join(", ")
            ))),
        },
        RulesCommand::Pages => print(pages().as_bytes()),
    }
}

/// What is no rule, for the document of all pages. Source: WHATWG URL standard 4.4.
const PARSE: &str = "
## parse

What a URL is follows the WHATWG URL standard. These differences are read away before the first rule, in every
profile but `lines`, and nothing turns that off. Where two URLs differ by that alone, the reason that
`explain` and `--dropped` give is `parse`:

- blanks and controls around a URL, and tabs and line breaks anywhere in it, go
- before the query, a backslash is a slash: `http:\\\\example.com\\a` is `http://example.com/a`
- any number of slashes may follow the scheme: `http:example.com` and `http:////example.com` are
  `http://example.com`
- an empty password and an empty user go: `user:@` is `user@`, and `@` alone is nothing
- other blanks and controls become escapes
- a host that ends in a number and is no address (`foo.0`, `node7.10.0.0.5`) is an error of the standard, and so it is
  in `whatwg`; in the other profiles it is a name if a label before the last has a letter
- with `default-scheme`, which `crawl` and `aggressive` have, a line that begins with a host gets that scheme

This holds for `http`, `https`, `ws`, `wss` and `ftp`. URLs of other schemes are written as the standard has it.
A line that does not parse is kept as it is.
";

/// All rules in the order of application; those of the profile in force are marked.
fn list(args: &ProfileArgs) -> Result<String> {
    let profile = told(args.profile()?, false);
    let mut text = format!(
        "Profile {} (digest {}); its rules are marked. Class: P preserves semantics, U usually does,\n\
         C changes them, M is measured per site.\n\n    rule               no.  class  from profile  what it does\n",
        profile.title(),
        profile.digest()
    );
    for rule in RuleId::ALL {
        let info = rule.info();
        let mark = if profile.rules.contains(rule) { '*' } else { ' ' };
        let from = PROFILES.iter().find(|name| info.profiles.contains(name));
        let _ = writeln!(
            text,
            "  {mark} {:<18} {:>3}    {}    {:<15}  {}",
            info.name,
            info.number,
            info.class.letter(),
            from.unwrap_or(&"(if configured)"),
            info.summary
        );
    }
    Ok(text)
}

/// The page of one rule; `deeper` goes before its headings.
fn page(rule: RuleId, deeper: &str) -> String {
    let info = rule.info();
    let mut text = format!("{deeper}# {}\n\n{}. ", info.name, capital(info.summary));
    let _ = writeln!(
        text,
        "Number {} in Wikipedia's list; {}. {}",
        info.number,
        info.class.explain(),
        match info.profiles {
            [] => "In no profile: it works on what it is given.".to_string(),
            [profile] => format!("Profile: {profile}."),
            profiles => format!("Profiles: {}.", profiles.join(", ")),
        }
    );
    text.push('\n');
    for line in info.page().lines() {
        match line.strip_prefix("# ") {
            Some(heading) => {
                let _ = writeln!(text, "{deeper}## {heading}");
            }
            None => {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    text
}

/// The pages of all rules as one document.
fn pages() -> String {
    let mut text =
        "# The rules\n\nPrinted by `undust rules pages` from the rules' source files, in the \
                    order of application; a test fails when\nthis file is stale. \
                    Their numbers are those of the list in Wikipedia, \"URI normalization\".\n"
            .to_string();
    text.push_str(PARSE);
    for rule in RuleId::ALL {
        text.push('\n');
        text.push_str(&page(rule, "#"));
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
