//! `rules` on a rule file: its table, its check, its examples, and other programs' formats.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use crate::bytes::decimal::{count_of, with_commas};
use crate::bytes::{printable, show};
use crate::canonical::{DustRules, DustStatus, Evidence, ExampleFailure, ExampleFault, RuleFile};
use crate::cli::Status;
use crate::cli::args::{ProfileArgs, RuleFormatArg};
use crate::cli::plan::rule_file;
use crate::cli::words::{print, say, told};
use crate::error::Result;
use crate::report::{RuleFormat, export_rules, left_out_in_words};

/// The rules of a file as a table for people.
pub(super) fn list(paths: &[PathBuf]) -> Result<Status> {
    let (file, names) = rule_file(paths)?;
    let mut text = String::new();
    if paths.len() > 1 {
        let _ = writeln!(text, "# {}", printable(&names));
    }
    for (name, value) in &file.about {
        let _ = writeln!(text, "# {}: {}", printable(name), printable(value));
    }
    text.push_str(
        " no.  status   agreeing groups   bound  signal         gain   loss/M  at most  rule\n",
    );
    for (rule, place) in file.rules.iter().zip(1..) {
        let _ = write!(text, "{place:>4}  {:<7}", rule.status.name());
        match &rule.evidence {
            None => text.push_str(&" ".repeat(62)),
            Some(evidence) => write_evidence(evidence, &mut text),
        }
        let _ = writeln!(text, "  {}", printable(&rule.title()));
        if !rule.note.is_empty() {
            let _ = writeln!(text, "{:77}# {}", "", printable(&rule.note));
        }
    }
    for guard in &file.guards {
        let path = if guard.path.is_empty() { "*" } else { &guard.path };
        let line = format!("{}: never-merge {} at {path}", guard.site, guard.param);
        let _ = writeln!(text, "   -  guard  {:62}  {}", "", printable(&line));
    }
    for trap in &file.traps {
        let line = format!("{}: {} at {}", trap.site, trap.kind, trap.path);
        let urls = format!("{:>45}", with_commas(trap.urls));
        let _ = writeln!(text, "   -  trap   {urls:62}  {}", printable(&line));
    }
    print(text.as_bytes())
}

fn write_evidence(evidence: &Evidence, text: &mut String) {
    if evidence.signal == Evidence::NO_SIGNAL {
        // Nothing told contents apart, so there is no group and no bound.
        let gain = with_commas(evidence.gain_urls);
        let none = "-";
        let signal = printable(&evidence.signal);
        let _ =
            write!(text, "  {none:>15}  {none:>6}  {signal:<8} {gain:>9}  {none:>7}  {none:>7}");
        return;
    }
    let groups = format!("{}/{}", with_commas(evidence.ok), with_commas(evidence.groups));
    let _ = write!(
        text,
        "  {groups:>15}  {:.4}  {:<8} {:>9}  {:>7.1}  {:>7.1}",
        evidence.bound,
        printable(&evidence.signal),
        with_commas(evidence.gain_urls),
        evidence.loss_per_million,
        evidence.loss_bound_per_million
    );
}

/// Everything that is wrong with a file, or suspicious.
pub(super) fn lint(paths: &[PathBuf]) -> Result<Status> {
    let (file, names) = rule_file(paths)?;
    let linted = DustRules::lint(&file);
    let messages: Vec<String> =
        linted.findings.into_iter().map(|finding| finding.message).collect();
    let rules = format!(
        "{}, {} in force",
        count_of(file.rules.len() as u64, "rule"),
        with_commas(linted.in_force as u64)
    );
    let verdict = match messages.len() {
        0 => "no findings".to_string(),
        many => count_of(many as u64, "finding"),
    };
    judge(paths, &names, &messages, &format!("{rules}: {verdict}"))
}

/// Are the two URLs of every example equal, and is what they become canonical?
pub(super) fn test(paths: &[PathBuf], profile: &ProfileArgs) -> Result<Status> {
    let (file, names) = rule_file(paths)?;
    let settings = told(profile.all_settings()?, false);
    let tested = DustRules::test(&file, &settings)?;
    let mut messages: Vec<String> = tested.refused.into_iter().map(|refusal| refusal.why).collect();
    messages.extend(tested.failures.iter().map(|failure| in_words(failure, &file)));
    let rules = format!(
        "{}, {}",
        count_of(file.rules.len() as u64, "rule"),
        count_of(tested.examples as u64, "example")
    );
    let verdict = match messages.len() {
        0 => "all pass".to_string(),
        many => count_of(many as u64, "failure"),
    };
    judge(paths, &names, &messages, &format!("{rules}: {verdict}"))
}

/// What is wrong with an example of `file`.
fn in_words(failure: &ExampleFailure, file: &RuleFile) -> String {
    let ExampleFailure { rule, example: (a, b), found } = failure;
    let title = file.rules[*rule].title();
    let found = match found {
        ExampleFault::Unequal([first, second]) => {
            format!("{a} and {b} are not equal: {} and {}", show(first), show(second))
        }
        ExampleFault::Unsettled => {
            format!("{a} or {b} changes when it is made canonical again")
        }
    };
    format!("rule {} ({title}): {found}", rule + 1)
}

/// Prints what there is to say against the files, and how it comes out in `summary`.
fn judge(paths: &[PathBuf], names: &str, messages: &[String], summary: &str) -> Result<Status> {
    let mut text = String::new();
    if paths.len() > 1 {
        let _ = writeln!(text, "{}", printable(names));
    }
    for message in messages {
        let _ = writeln!(text, "{}", printable(message));
    }
    let _ = writeln!(text, "{summary}");
    print(text.as_bytes())?;
    Ok(if messages.is_empty() { Status::Done } else { Status::No })
}

/// The rules in another program's format; what that cannot say is counted on standard error.
pub(super) fn export(paths: &[PathBuf], to: RuleFormatArg) -> Result<Status> {
    let (mut file, names) = rule_file(paths)?;
    // What does not hold together is not passed on.
    let compilation = DustRules::compile(&file);
    let refused: Vec<usize> = compilation.refused.iter().filter_map(|one| one.rule).collect();
    compilation.strict().map_err(|error| error.at(&names))?;
    let idle = not_in_force(&file, &refused);
    for rule in refused {
        file.rules[rule].status = DustStatus::Off;
    }
    let exported = export_rules(
        &file,
        match to {
            RuleFormatArg::Robots => RuleFormat::Robots,
            RuleFormatArg::Nutch => RuleFormat::Nutch,
            RuleFormatArg::Clearurls => RuleFormat::ClearUrls,
            RuleFormatArg::Json => RuleFormat::Json,
        },
    )?;
    if to != RuleFormatArg::Json && !idle.is_empty() {
        let many = idle.values().sum::<u64>();
        let kinds: Vec<String> =
            idle.iter().map(|(kind, count)| format!("{} {kind}", with_commas(*count))).collect();
        say(format_args!(
            "undust: {} {} not in force and left out: {}",
            count_of(many, "rule"),
            if many == 1 { "is" } else { "are" },
            kinds.join(", ")
        ));
    }
    if !exported.left_out.is_empty() {
        say(format_args!(
            "undust: {} of the rules in force cannot be said in this format and are left out: {}",
            exported.left_out.values().sum::<usize>(),
            left_out_in_words(&exported)
        ));
    }
    print(exported.text.as_bytes())
}

/// How many rules of `file` are not in force, by status; and those of which that is so because they
/// are `refused`.
fn not_in_force(file: &RuleFile, refused: &[usize]) -> BTreeMap<&'static str, u64> {
    let mut idle = BTreeMap::new();
    for (at, rule) in file.rules.iter().enumerate() {
        let kind = match rule.status {
            status if !status.is_in_force() => status.name(),
            _ if refused.contains(&at) => "refused by undust rules lint",
            _ => continue,
        };
        *idle.entry(kind).or_default() += 1;
    }
    idle
}
