//! What looks wrong in a run: files that are not what they were taken for, and filters that match
//! nothing.

use crate::bytes::decimal::with_commas;
use crate::bytes::show;
use crate::cli::args::FormatArgs;
use crate::cli::words::say;
use crate::error::{Error, Result};
use crate::input::Compression;
use crate::pipeline::{InputFile, Outcome, line_place};
use crate::record::detect::FormatVotes;
use crate::record::{Layout, OddField, Seeming, Uneven};
use crate::reject::Reject;
use crate::report::Tally;

/// Share of the first lines, in percent, below which a list may be something else where another
/// format understands [a part of them](RIVAL_SHARE_MIN_PERCENT).
const LIST_SHARE_MIN_WITH_RIVAL_PERCENT: usize = 90;
const RIVAL_SHARE_MIN_PERCENT: usize = 10;

/// Fewest lines that say anything of that where there are URLs.
const LIST_LINES_MIN: usize = 10;

/// Fewest records that say something where none of them is a URL.
const RECORDS_MIN_OF_NONE: u64 = 5;

/// In a log with paths, one record in so many that names a host may be what a client has made up
/// (`GET http://other.test/`); more are not.
const HOSTS_NAMED_MIN_ONE_IN: u64 = 100;

/// So few records that name a host are that, too, unless they are half of all.
const HOSTS_NAMED_MIN: u64 = 10;

/// Says what looks wrong: filters that let nothing through or that match nothing; records of which
/// most are no URLs; files that were taken for lists for want of anything better; and files that
/// are not compressed though their names say so.
///
/// And fields that are not understood, if the job `needs_fields` or a filter asks for them.
pub(super) fn doubt(outcome: &Outcome, given: &FormatArgs, needs_fields: bool) {
    doubt_filters(outcome, given);
    doubt_fields(outcome, given, needs_fields);
    doubt_files(outcome, given);
    if let Some(known) = &outcome.known {
        doubt_known(known, outcome.tally.hostless, given);
    }
}

/// Says which columns of tables have statuses or times that nobody understands.
fn doubt_fields(outcome: &Outcome, given: &FormatArgs, needs_fields: bool) {
    for file in &outcome.files {
        for OddField { field, odd, values, first } in &file.layout.odd_fields {
            let (is_asked_for, expected) = match *field {
                "status" => (!given.status.is_empty(), "three digits, such as 200"),
                _ => (
                    given.since.is_some() || given.until.is_some(),
                    "dates such as 2026-11-20T10:00:00Z",
                ),
            };
            if needs_fields || is_asked_for {
                say(format_args!(
                    "{}: column of {field}: expected {expected}, found something else in {} of its first {} \
                     values, as in \"{first}\": they count as unknown; --field names another column, as in \
                     --field {field}=COLUMN",
                    file.shown(),
                    with_commas(*odd as u64),
                    with_commas(*values as u64),
                ));
            }
        }
    }
}

/// Says where paths whose host nobody knows are a loss: no rule of a site holds for them, if there
/// are any; and those of several hosts look alike. Of that nothing is said where no record names a
/// host, as in most access logs, which are of one; but for JSON, where the host may have a name
/// that nobody knows here.
pub(super) fn doubt_hosts(outcome: &Outcome, has_rules_of_sites: bool) {
    let Tally { hostless, records, ref unparsed, .. } = outcome.tally;
    if hostless == 0 {
        return;
    }
    let named = records.saturating_sub(hostless + unparsed.total());
    let are_json =
        |file: &InputFile| matches!(file.layout.name(), "caddy" | "jsonl" | "nginx-json");
    let has_json = outcome.files.iter().any(are_json);
    let has_hosts = named > 0
        && named * HOSTS_NAMED_MIN_ONE_IN >= records
        && (named >= HOSTS_NAMED_MIN || 2 * named >= records);
    let loss = match has_rules_of_sites {
        true => "no rule of a site holds for them",
        false if has_json || has_hosts => "paths of different hosts count as one page",
        false => return,
    };
    let advice = if has_json { ", --field host=NAME where it is named" } else { "" };
    say(format_args!(
        "{} of {} records name no host, so {loss}; --base-url says which host they are of{advice}",
        with_commas(hostless),
        with_commas(records)
    ));
}

/// Says what looks wrong in the files of `--not-in`: all or most of what is to be left out may not
/// be known then, and passes for new.
///
/// So many records of the input, `hostless`, name no host.
fn doubt_known(known: &Outcome, hostless: u64, given: &FormatArgs) {
    doubt_files(known, &FormatArgs { format: None, ..given.clone() });
    let is_other = |file: &&InputFile| {
        let name = given.format.as_ref().map(|name| name.to_ascii_lowercase());
        name.is_some_and(|name| name != file.layout.name())
    };
    if let (Some(format), Some(file)) = (&given.format, known.files.iter().find(is_other)) {
        say(format_args!(
            "--not-in: {}: read as {}, which it looks like, though --format says {format}",
            file.shown(),
            file.layout.name()
        ));
    }
    if known.tally.records > 0 {
        if known.tally.hostless == known.tally.records && hostless == 0 {
            say(format_args!(
                "--not-in: its records name no host, so nothing is left out; --base-url says which host they \
                 are of"
            ));
        }
        return;
    }
    match known.files.as_slice() {
        [] => say(format_args!("--not-in: no file was found in what was named")),
        [first, more @ ..] => say(format_args!(
            "--not-in: no URL was found in {}{}, so nothing is left out",
            first.shown(),
            if more.is_empty() { "" } else { " and the other files" }
        )),
    }
}

/// Says what looks wrong about the files of `outcome`.
fn doubt_files(outcome: &Outcome, given: &FormatArgs) {
    let tally = &outcome.tally;
    for file in &outcome.files {
        let InputFile { summary, layout, .. } = file;
        let packing = Compression::of_name(&summary.path);
        let is_packed = summary.compression != Compression::None;
        if packing != Compression::None && !is_packed && !is_like_its_format(layout) {
            say(format_args!(
                "{}: named as {packing} files are, though it does not begin as they do: read as it is; \
                 get it again if it is cut short or damaged",
                file.shown()
            ));
        }
    }
    for file in outcome.files.iter().filter(|file| may_be_list(&file.layout)) {
        say(format_args!(
            "{}: read as {}, with the URL in column 1; if it is a list, say so by --format lines",
            file.shown(),
            file.layout.name()
        ));
    }
    for file in outcome.files.iter().filter(|file| file.layout.has_nuls) {
        say(format_args!(
            "{}: has NUL bytes; if lines end with them, say so by -0; if it is UTF-16, convert it: \
             iconv -f UTF-16LE -t UTF-8",
            file.shown()
        ));
    }
    for file in &outcome.files {
        let names = file.layout.format.as_ref().map_or(&[][..], |format| format.url_names());
        if let [read, others @ ..] = names
            && !others.is_empty()
        {
            let others: Vec<String> =
                others.iter().map(|name| format!("\"{}\"", show(name))).collect();
            say(format_args!(
                "{}: the URLs are those of the column \"{}\"; {} {}, too: --field chooses one, by its name \
                 or its number",
                file.shown(),
                show(read),
                others.join(", "),
                if others.len() == 1 { "has some" } else { "have some" },
            ));
        }
    }
    for file in &outcome.files {
        let Some(format) = &file.layout.format else { continue };
        if let Some(Uneven { header_cells, row_cells }) = format.uneven() {
            say(format_args!(
                "{}: expected rows of {header_cells} cells, as the header has, found {row_cells} in the first row \
                 and {header_cells} in none: names may be those of other columns; read as {}; --field says by \
                 number which column is which",
                file.shown(),
                format.describe(),
            ));
        }
    }
    let has_urls = tally.unparsed.total() < tally.records;
    let doubt = |file: &&InputFile| match &file.layout.seeming {
        Some(seeming) => doubt_seeming(file, seeming),
        None => doubt_list(file, has_urls),
    };
    let doubted = outcome.files.iter().filter(doubt).count();
    // Of a list nobody says that it has URLs; of other formats, some kind of their lines has.
    let is_list =
        given.format.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(Layout::LINES));
    if doubted == 0 && !is_list {
        doubt_urls(outcome, given);
    }
}

/// Says of a file that was taken for a list what it may be instead.
fn doubt_seeming(file: &InputFile, seeming: &Seeming) -> bool {
    let taken = format!("{}: taken for a list, though", file.shown());
    match seeming {
        Seeming::Json(places) => match places.as_slice() {
            [] => say(format_args!(
                "{taken} its first lines are JSON; --field says where the URL is, as in --field /page/url"
            )),
            [best, ..] => say(format_args!(
                "{taken} its first lines are JSON; the URL may be in {}: --field {}",
                places.join(", "),
                match best.contains(['=', ' ', '"', '\'', '$']) {
                    true => format!("'url={}'", best.replace('\'', "'\\''")),
                    false => best.clone(),
                }
            )),
        },
        Seeming::JsonAroundLog { place, is_request } => {
            let path = jq_path(place);
            let format = if *is_request { " --log-format '$request'" } else { "" };
            say(format_args!(
                "{taken} its first lines are JSON around lines of a log; take these out: jq -r '{path}' FILE \
                 | undust{format}"
            ));
        }
        Seeming::JsonBehindWords => say(format_args!(
            "{taken} its first lines are JSON behind other words; take those away: sed 's/^[^{{]*//' FILE | \
             undust"
        )),
        Seeming::JsonOverLines => say(format_args!(
            "{taken} it has JSON over several lines; put each object on a line: jq -c . FILE | undust"
        )),
        Seeming::Colored => say(format_args!(
            "{taken} its lines have codes for colors; have them written without, or take them away: sed \
             's/\\x1b\\[[0-9;]*m//g' FILE | undust"
        )),
        Seeming::JsonDocument => say(format_args!(
            "{taken} it is a JSON document with URLs in it; take these out: jq -r '.. | strings | \
             select(test(\"^https?://\"))' FILE | undust"
        )),
        Seeming::Table { has_several_urls, delimiter, columns } => {
            let (name, advice) = match delimiter {
                b',' => ("commas", "--field says in which column they are, as in --field 1"),
                b';' => ("semicolons", "--field says in which column they are, as in --field 1"),
                b'\t' => ("tabs", "--field says in which column they are, as in --field 1"),
                b'|' => ("bars", "--log-format says where they are, as in --log-format '$uri|$x'"),
                _ => ("blanks", "--log-format says where they are, as in --log-format '$uri $x'"),
            };
            let signs = match has_several_urls {
                true => "have several URLs".to_string(),
                false => format!("have as many {name}"),
            };
            let gap = if columns.is_empty() { "" } else { "; its columns are " };
            say(format_args!(
                "{taken} most of its first lines {signs}; if it is a table, {advice}{gap}{columns}"
            ));
        }
    }
    true
}

/// The path of jq to what is at `pointer`: `.message`, or `."@message".line` for names that are no
/// words.
fn jq_path(pointer: &str) -> String {
    let is_word = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.starts_with(|first: char| first.is_ascii_digit())
    };
    let names = pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"));
    let path = names.map(|name| match is_word(&name) {
        true => format!(".{name}"),
        false => format!(".{}", serde_json::Value::from(name)),
    });
    path.collect::<String>().replace('\'', "'\\''")
}

/// Are the lines of a table without a header, with the URL in front, URLs as well?
fn may_be_list(layout: &Layout) -> bool {
    let share = layout.votes.as_ref().and_then(|votes| votes.share_of(Layout::LINES));
    layout.headerless().is_some_and(|table| table.url_column == 1)
        && share.is_some_and(|share| share >= LIST_SHARE_MIN_WITH_RIVAL_PERCENT)
}

/// Says of a file that was taken for a list, for want of anything better, that it was. Did it?
/// `has_urls`: are there URLs at all?
fn doubt_list(file: &InputFile, has_urls: bool) -> bool {
    let Some(votes) = file.layout.votes.as_ref().filter(|_| file.layout.is_list()) else {
        return false;
    };
    let is_list = |name: &str| name == file.layout.name();
    let has_rival = votes
        .shares
        .iter()
        .any(|(name, share)| !is_list(name) && *share >= RIVAL_SHARE_MIN_PERCENT);
    let share_min = match has_rival {
        true => LIST_SHARE_MIN_WITH_RIVAL_PERCENT,
        false => FormatVotes::HALF_PERCENT,
    };
    let share = votes.share_of(file.layout.name());
    let Some(share) = share.filter(|share| *share < share_min) else { return false };
    if votes.lines < LIST_LINES_MIN && has_urls {
        return false;
    }
    say(format_args!(
        "{}: taken for a list, though {share} % of its first {} lines look like URLs; --format or \
         --log-format say what it is",
        file.shown(),
        with_commas(votes.lines as u64)
    ));
    true
}

/// Says where most of the records are not URLs.
fn doubt_urls(outcome: &Outcome, given: &FormatArgs) {
    let Tally { unparsed, records, .. } = &outcome.tally;
    let are_all = *records >= RECORDS_MIN_OF_NONE && unparsed.total() == *records;
    if !are_all && (*records < LIST_LINES_MIN as u64 || unparsed.total() * 2 <= *records) {
        return;
    }
    let kinds: Vec<String> =
        unparsed.seen().map(|(kind, count)| format!("{} {kind}", with_commas(count))).collect();
    let are_relative =
        unparsed.seen().any(|(kind, count)| kind == Reject::Relative && count * 2 > *records);
    let is_list = outcome.files.iter().any(|file| file.layout.is_list());
    let advice = match are_relative && is_list && given.base_url.is_none() {
        true => "; if they are paths, --base-url says on which host",
        false => "",
    };
    say(format_args!(
        "{} of {} records are not URLs, and were compared byte for byte ({}){advice}",
        with_commas(unparsed.total()),
        with_commas(*records),
        kinds.join(", ")
    ));
}

/// Says where filters have let nothing through, or everything.
fn doubt_filters(outcome: &Outcome, given: &FormatArgs) {
    let tally = &outcome.tally;
    let is_for_hosts = |pattern: &&String| !pattern.contains(['/', '?']);
    let host_pattern = given.include.iter().chain(&given.exclude).find(is_for_hosts);
    let advice = host_pattern.map_or(String::new(), |pattern| {
        format!("; {pattern} is a pattern for hosts, one for paths begins with a slash: /{pattern}")
    });
    let asks_for_fields = !(given.status.is_empty() && given.method.is_empty())
        || given.since.is_some()
        || given.until.is_some();
    let are_lists = outcome.files.iter().all(|file| file.layout.is_list());
    if tally.filtered > 0 && tally.records == 0 {
        say(format_args!(
            "nothing is left: all {} records were filtered out{}",
            with_commas(tally.filtered),
            match advice.is_empty() || given.include.is_empty() {
                true if asks_for_fields && are_lists => {
                    "; they are lines of a list, which has no status, method or time"
                }
                true => "; -v says how the files were read",
                false => &advice,
            }
        ));
    }
    if tally.filtered == 0 && tally.records > 0 && !given.exclude.is_empty() {
        say(format_args!("--exclude {}: no record matches{advice}", given.exclude.join(", ")));
    }
    if tally.rejected.total() > 0 && tally.records + tally.filtered == 0 {
        let is_told = given.field.is_some() || given.log_format.is_some();
        let is_unknown = |kind| matches!(kind, Reject::Format | Reject::NoUrl | Reject::BadRequest);
        let advice = match tally.rejected.seen().any(|(kind, _)| is_unknown(kind)) {
            true if !is_told => {
                "; --field says where the URL is, --log-format how such lines are made"
            }
            _ => "",
        };
        say(format_args!(
            "nothing is left: all {} lines with anything in them were rejected{advice}",
            with_commas(tally.rejected.total())
        ));
    }
}

/// Fails where no line at all is what the flags say the files are: the results are not those that
/// were asked for, and must not replace others.
pub(super) fn refuse_format(outcome: &Outcome, given: &FormatArgs) -> Result<()> {
    let Tally { records, filtered, rejected, .. } = &outcome.tally;
    let flags = [
        ("--format", &given.format),
        ("--field", &given.field),
        ("--log-format", &given.log_format),
    ];
    let flag = flags.iter().find_map(|(flag, value)| Some((flag, value.as_ref()?)));
    let speaks_of_it = |(kind, _)| matches!(kind, Reject::Format | Reject::NoUrl);
    let (Some((flag, value)), 0) = (flag, *records + *filtered) else { return Ok(()) };
    if rejected.total() == 0 || !rejected.seen().all(speaks_of_it) {
        return Ok(());
    }
    let first = outcome.tally.first_rejects().next();
    let first = first.map_or(String::new(), |(kind, line, text)| {
        let place = line_place(&outcome.files, outcome.files.len(), line);
        format!("; the first: {place}: {}: \"{}\"", kind.explain(), show(text))
    });
    Err(Error::input(format!(
        "{flag} {value}: expected records of that kind, found none in {} lines; no file is \
         written{first}",
        with_commas(rejected.total())
    )))
}

/// Have most of the first lines the shape that all were taken for? Where nobody had to vote, they
/// have.
fn is_like_its_format(layout: &Layout) -> bool {
    let Some(votes) = &layout.votes else { return true };
    votes.share_of(layout.name()).is_some_and(|share| share >= FormatVotes::HALF_PERCENT)
}
