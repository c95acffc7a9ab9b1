//! `explain`: how a URL gets its canonical form, or why two URLs are equal.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::bytes::lines::without_carriage_returns;
use crate::bytes::show;
use crate::canonical::{Canonicalizer, Comparison, RuleId};
use crate::cli::Status;
use crate::cli::args::ExplainArgs;
use crate::cli::plan::base_url;
use crate::cli::words::{print, told};
use crate::error::Result;

pub(crate) fn run(args: &ExplainArgs) -> Result<Status> {
    let canonicalizer = told(args.profile.canonicalizer()?, false);
    let base = args.base_url.as_deref().map(base_url).transpose()?;
    let in_full = |text| base.as_ref().and_then(|base| base.resolve(text)).map(Cow::Owned);
    // As a line of a list is read.
    let is_verbatim = !canonicalizer.profile().parses;
    let read = |text| if is_verbatim { text } else { without_carriage_returns(text) };
    let given: Vec<Cow<[u8]>> = args
        .urls
        .iter()
        .map(|url| read(url.as_encoded_bytes()))
        .map(|url| in_full(url).unwrap_or(Cow::Borrowed(url)))
        .collect();
    let urls: Vec<&[u8]> = given.iter().map(|url| &url[..]).collect();
    let mut text = format!("profile {}\n", canonicalizer.profile().title());
    let mut status = Status::Done;
    match urls.as_slice() {
        [url] => {
            if !tell_steps(&canonicalizer, url, &mut text) {
                status = Status::No;
            }
        }
        [a, b, ..] => {
            tell_steps(&canonicalizer, a, &mut text);
            tell_steps(&canonicalizer, b, &mut text);
            let _ = match canonicalizer.comparer().compare(a, b) {
                Comparison::Identical => writeln!(text, "\nequal: identical"),
                Comparison::Equal(reason) => writeln!(text, "\nequal, by {reason}"),
                Comparison::Different => {
                    status = Status::No;
                    writeln!(text, "\nnot equal")
                }
            };
        }
        [] => {}
    }
    print(text.as_bytes())?;
    Ok(status)
}

/// Tells every step of `url`; says whether it parses.
fn tell_steps(canonicalizer: &Canonicalizer, url: &[u8], text: &mut String) -> bool {
    let mut row = |name: &str, form: &[u8]| {
        let _ = writeln!(text, "  {name:<18}{}", show(form).for_copying());
    };
    row("given", url);
    match canonicalizer.trace(url) {
        Err(reject) => {
            let _ = writeln!(text, "  {:<18}taken as it is: {}", "", reject.explain());
            if url.starts_with(b"/") {
                let _ = writeln!(text, "  {:<18}a path: --base-url says which host it is on", "");
            }
            false
        }
        Ok(trace) => {
            if trace.parsed != url {
                let what = if trace.scheme_added { "scheme added" } else { "parsed" };
                row(what, &trace.parsed);
            }
            let dust = &canonicalizer.profile().options.dust;
            let mut before = &trace.parsed;
            for step in &trace.steps {
                row(step.rule.name(), &step.after);
                if step.rule == RuleId::Dust {
                    for rule in dust.fired(before) {
                        let title = dust.title(rule).unwrap_or_default();
                        row("", format!("(rule {}, {title})", rule + 1).as_bytes());
                    }
                }
                before = &step.after;
            }
            row("canonical", trace.canonical());
            true
        }
    }
}
