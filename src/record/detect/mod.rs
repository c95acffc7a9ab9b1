//! Detects the format of a file by votes over its first lines. File names do not matter.

mod odd_fields;
mod seeming;

use std::sync::Arc;

use super::entries::{Entries, Entry, Workspace};
use super::field_map::FieldMap;
use super::first_lines::{FirstLines, FormatVotes};
use super::formats::{self, Unseen};
use super::layout::{Layout, ReadOptions};
use super::line_format::LineFormat;
use crate::bytes::{Lines, show, without_bom};
use crate::error::{Error, Result, Setting};
use crate::parts;
use crate::reject::Reject;
use odd_fields::odd_fields;
use seeming::seeming;

/// Most bytes of a sample. Reason: less than the smallest chunk of any job, so that the format of a
/// file does not depend on how it is cut into chunks.
///
/// Of a pipe the first chunk is what has arrived by then. So that the format does not depend on
/// when its lines are written, this many bytes are waited for, but not forever: see `sample_bytes`
/// of [`InputPlan`](crate::input::InputPlan).
pub const SAMPLE_BYTES: usize = 8 << 10;

/// Share of the lines that a format has to understand, in percent.
const SHARE_MIN_PERCENT: usize = 90;

/// Share from which on a format may be meant although it understands too few lines, in percent.
const LEAD_MIN_PERCENT: usize = 10;

/// How well a format fits a sample.
#[derive(Clone, Debug)]
pub struct FormatGuess {
    /// The layout with that format.
    pub layout: Layout,
    /// Lines that are records with a URL.
    pub records: usize,
    /// Lines that are neither records nor headers nor known to the format as lines without a URL;
    /// and as many of the rows without a URL as exceed the records.
    pub strangers: usize,
    /// The first of these: its number from 1, and its start.
    pub first_stranger: Option<(usize, String)>,
}

impl FormatGuess {
    /// Are all lines headers, or known to the format as lines without a URL?
    fn is_without_rows(&self) -> bool {
        self.layout.format.is_some() && self.records == 0 && self.strangers == 0
    }

    /// Share of the lines it understands, in percent, rounded down.
    pub fn percent(&self) -> usize {
        100 * self.records / (self.records + self.strangers).max(1)
    }
}

/// The sample of a file: the whole lines of `chunk` that end within [`SAMPLE_BYTES`], or else the
/// first one. Lines at the start that are too long are skipped.
fn sample(chunk: &[u8], options: ReadOptions) -> Vec<&[u8]> {
    let ReadOptions { separator, line_bytes_max, .. } = options;
    let mut chunk = without_bom(chunk);
    while let Some(line) =
        Lines::new(chunk, separator).next().filter(|one| one.len() > line_bytes_max)
    {
        chunk = chunk.get(line.len() + 1..).unwrap_or_default();
    }
    let whole = match memchr::memrchr(separator, &chunk[..chunk.len().min(SAMPLE_BYTES)]) {
        _ if chunk.len() <= SAMPLE_BYTES => chunk,
        Some(end) => &chunk[..=end],
        None => &chunk[..memchr::memchr(separator, chunk).unwrap_or(chunk.len())],
    };
    Lines::new(whole, separator)
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| line.iter().any(|byte| *byte > b' '))
        .collect()
}

/// The layout of a file that starts with `chunk`: the format that understands most of its lines,
/// and of equally good ones the most specific.
///
/// Failure: an input error with the best candidates, the first line that the best one did not
/// understand, and the flag to type.
pub fn detect(chunk: &[u8], options: ReadOptions) -> Result<Layout> {
    let lines = sample(chunk, options);
    if lines.is_empty() {
        return Ok(Layout::default());
    }
    // What follows a comma may be part of a URL; to cut it off would merge pages.
    if lines.iter().all(|line| is_url_alone(line)) {
        return Ok(Layout::default());
    }
    let mut candidates = candidates(&lines, options);
    leave_out_lists(&mut candidates, &lines);
    rank(&mut candidates);
    if !is_sure(&candidates) {
        // Formats that need more lines to be recognized may still understand some.
        candidates.extend(reserved(&candidates, &lines, options));
        rank(&mut candidates);
    }
    let best = &candidates[0];
    // A file in no known format is read as a list.
    let is_list = best.layout.format.is_none() || best.percent() < LEAD_MIN_PERCENT;
    let is_sure = is_sure(&candidates);
    if !is_sure && let Some(way_out) = way_out_of_array(&lines) {
        return Err(Error::input(format!(
            "expected a line for each record, found an array in JSON; write its members one on each line, as in \
             `{way_out} FILE | undust`",
        )));
    }
    let layout = match is_sure {
        true => best.layout.clone(),
        false if is_list => Layout::default(),
        false => return Err(unsure(&candidates)),
    };
    let shares = candidates.iter().map(|one| (one.layout.name(), one.percent())).collect();
    let votes = FormatVotes { lines: lines.len(), shares };
    Ok(Layout {
        first_lines: FirstLines { votes: Some(votes), ..FirstLines::default() }.into(),
        ..layout
    })
}

/// Removes those of `candidates` that would cut off parts of URLs: tables without a header, with
/// the URL in the first column, whose `lines` could as well be URLs.
fn leave_out_lists(candidates: &mut Vec<FormatGuess>, lines: &[&[u8]]) {
    let is_list = |one: &FormatGuess| one.layout.format.is_none();
    if !candidates.iter().any(|one| is_list(one) && one.percent() >= SHARE_MIN_PERCENT) {
        return;
    }
    let alone = lines.iter().filter(|line| is_url_alone(line)).count();
    let are_alone = 100 * alone >= SHARE_MIN_PERCENT * lines.len();
    candidates.retain(|one| {
        one.layout
            .headerless()
            .is_none_or(|table| table.url_column > 1 || table.has_evidence && !are_alone)
    });
}

/// Sorts the best first; of equals the one that is first in the registry, which is more specific.
/// Keeps each format once, with the best of its candidates.
fn rank(candidates: &mut Vec<FormatGuess>) {
    let rank = |one: &FormatGuess| (one.percent(), one.records > 0, one.is_without_rows());
    candidates.sort_by_key(|one| std::cmp::Reverse(rank(one)));
    let mut seen = Vec::new();
    candidates.retain(|one| {
        let name = one.layout.name();
        let is_new = !seen.contains(&name);
        seen.push(name);
        is_new
    });
}

/// Does the first of `candidates` understand enough lines?
fn is_sure(candidates: &[FormatGuess]) -> bool {
    candidates.first().is_some_and(|best| {
        best.is_without_rows() || best.percent() >= SHARE_MIN_PERCENT && best.records > 0
    })
}

/// The formats that are not among `candidates` but understand some of the lines.
fn reserved(candidates: &[FormatGuess], lines: &[&[u8]], options: ReadOptions) -> Vec<FormatGuess> {
    let is_new = |name: &str| candidates.iter().all(|one| one.layout.name() != name);
    formats::ALL
        .iter()
        .filter(|format| is_new(format.name))
        .filter_map(|format| format.unseen().map(of_format))
        .map(|layout| vote(layout, lines, options))
        .filter(|one| one.records > 0 && one.percent() >= LEAD_MIN_PERCENT)
        .collect()
}

/// The layout of a file of the format `name` that starts with `chunk`: with the columns that its
/// first lines show, or else the format's default columns. Lines that do not fit will be rejects.
///
/// Failure: an input error that shows the first line, if the format has no default columns and they
/// do not show; a configuration error if there is no such format of lines.
pub fn as_told(name: &str, chunk: &[u8], options: ReadOptions) -> Result<Layout> {
    if name == Layout::LINES {
        return Ok(Layout::default());
    }
    let lines = sample(chunk, options);
    let known = formats::named(name)?;
    if lines.is_empty() {
        return Ok(known.unseen().map(of_format).unwrap_or_default());
    }
    match ((known.recognize)(&lines), &known.unseen) {
        (Some(format), _) => Ok(of_format(format)),
        (None, Unseen::Has(format)) => Ok(of_format(format())),
        (None, Unseen::Unreadable(advice)) => Err(Error::input(format!(
            "no line looks like {name}, which has to tell its columns; the first is \"{}\"; {advice}",
            start_of(lines[0]),
        ))),
    }
}

/// The layout of a file that starts with `chunk`, with the columns of `fields`.
///
/// Failure: an error if the file has no such columns.
pub fn with_fields(
    name: Option<&str>,
    fields: &FieldMap,
    chunk: &[u8],
    options: ReadOptions,
) -> Result<Layout> {
    let lines = sample(chunk, options);
    if lines.is_empty() {
        return Ok(Layout::default());
    }
    formats::with_fields(name, &lines, fields).map(of_format).map_err(|error| {
        let other = || detect(chunk, options).ok()?.format.map(|format| format.name());
        match name.map_or_else(other, |_| None).filter(|other| !formats::has_columns(other)) {
            Some(other) => error.at(format_args!(
                "looks like {other}, whose columns are known (leave out {}); as a table",
                Setting::Fields
            )),
            None => error,
        }
    })
}

/// What `chunk` shows besides its format, the start of a file with this `layout`, which has no
/// filter yet; `is_told` if the user has chosen the format.
pub fn first_lines(
    chunk: &[u8],
    layout: &Layout,
    is_told: bool,
    options: ReadOptions,
) -> FirstLines {
    let lines = sample(chunk, options);
    let is_list = layout.is_list();
    let start = &chunk[..chunk.len().min(SAMPLE_BYTES)];
    let count = |byte: u8| memchr::memchr_iter(byte, start).count();
    FirstLines {
        votes: layout.first_lines.votes.clone(),
        has_nuls: is_list && options.separator != 0 && count(0) > count(b'\n'),
        seeming: if is_list && !is_told { seeming(&lines) } else { None },
        odd_fields: match formats::has_columns(layout.name()) {
            true => odd_fields(&lines, layout, options),
            false => Vec::new(),
        },
    }
}

/// Does `layout` find more records than other lines in a file that starts with `chunk`?
pub fn understands(layout: &Layout, chunk: &[u8], options: ReadOptions) -> bool {
    let guess = vote(layout.clone(), &sample(chunk, options), options);
    guess.records > guess.strangers
}

fn of_format(format: Arc<dyn LineFormat>) -> Layout {
    Layout { format: Some(format), ..Layout::default() }
}

/// All candidates, in the order of the registry, lists last.
pub fn candidates(lines: &[&[u8]], options: ReadOptions) -> Vec<FormatGuess> {
    let known = formats::ALL.iter().filter_map(|format| (format.recognize)(lines));
    known
        .map(of_format)
        .chain([Layout::default()])
        .map(|layout| vote(layout, lines, options))
        .collect()
}

fn vote(layout: Layout, lines: &[&[u8]], options: ReadOptions) -> FormatGuess {
    let mut workspace = Workspace::default();
    let text = lines.join(&options.separator);
    let options = ReadOptions { verbatim: false, ..options };
    let is_list = layout.format.is_none();
    let mut candidate =
        FormatGuess { layout: layout.clone(), records: 0, strangers: 0, first_stranger: None };
    let mut entries = Entries::new(&text, false, options, &layout, &mut workspace);
    let mut number = 0;
    let (mut without_url, mut first_without_url) = (0, None);
    while let Some(entry) = entries.next() {
        number += 1;
        let line = match entry {
            Entry::Record(record) if is_url(record.url, is_list) => {
                candidate.records += 1;
                continue;
            }
            // The format knows such lines.
            Entry::Record(record) if record.url == b"*" && !is_list => continue,
            Entry::Record(record) => record.line,
            Entry::Empty(_) | Entry::Comment(_) | Entry::Filtered(_) => continue,
            Entry::Reject(Reject::Format, line) => line,
            Entry::Reject(Reject::NoUrl, line) => {
                without_url += 1;
                first_without_url.get_or_insert_with(|| (number, start_of(line)));
                continue;
            }
            Entry::Reject(..) => continue,
        };
        candidate.strangers += 1;
        candidate.first_stranger.get_or_insert_with(|| (number, start_of(line)));
    }
    // A table may lack some URLs. If it lacks more than it has, the column is hardly that of URLs.
    if without_url > candidate.records {
        candidate.strangers += without_url - candidate.records;
        let firsts = [candidate.first_stranger.take(), first_without_url];
        candidate.first_stranger = firsts.into_iter().flatten().min();
    }
    candidate
}

/// The command that writes the elements of an array as lines, if `lines` are the start of an array
/// of objects, or of rows with a header.
fn way_out_of_array(lines: &[&[u8]]) -> Option<&'static str> {
    let mut text = lines.iter().flat_map(|line| line.iter()).filter(|byte| **byte > b' ');
    match [text.next()?, text.next()?, text.next()?] {
        [b'[', b'{', _] => Some("jq -c '.[]'"),
        [b'[', b'[', b'"'] => Some("jq -r '.[] | @tsv'"),
        _ => None,
    }
}

/// Is the whole line a URL, with a scheme, and without blanks except at its ends?
fn is_url_alone(line: &[u8]) -> bool {
    let line = without_blanks(line);
    parts::scheme_length(line).is_some_and(|end| line[end..].starts_with(b"://"))
        && line.iter().all(|byte| *byte > b' ')
}

/// The text without blanks and control characters at its ends.
fn without_blanks(text: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| *byte > b' ';
    let start = text.iter().position(is_text).unwrap_or(text.len());
    let end = text.iter().rposition(is_text).map_or(start, |last| last + 1);
    &text[start..end]
}

/// Could this be meant as a URL? In a list, a line of a log or of a table is not.
fn is_url(url: &[u8], is_list: bool) -> bool {
    let has_scheme = parts::scheme_length(url).is_some();
    if !is_list {
        return has_scheme || url.contains(&b'.') || url.contains(&b'/');
    }
    // Lines of logs have blanks, and URLs inside; but URLs of a list may have blanks, too.
    let url = without_blanks(url);
    let first = url.split(|byte| *byte == b' ').next().unwrap_or_default();
    let blanks = url.iter().filter(|byte| **byte == b' ').count();
    // Dumps have lines such as `Status: 1`, and `URL:: http://a.test/`.
    let is_name = first.ends_with(b":") && blanks > 0;
    (has_scheme || first.contains(&b'.') || first.contains(&b'/'))
        // An object, a tag, a field in quotes, an array.
        && !matches!(first, [b'{' | b'<' | b'"', ..] | [b'[', b'{' | b'[' | b'"', ..])
        && blanks < 3
        && !is_name
        && !url.contains(&b'\t')
}

fn start_of(line: &[u8]) -> String {
    let line = parts::without_userinfo(line);
    // Copied: another process may write to the mapped file.
    let copy = line[..line.len().min(200)].to_vec();
    show(&copy).to_string()
}

#[cold]
fn unsure(candidates: &[FormatGuess]) -> Error {
    let told: Vec<String> = candidates
        .iter()
        .take(3)
        .map(|one| format!("{} ({} % of the lines)", one.layout.name(), one.percent()))
        .collect();
    let stranger = candidates.first().and_then(|best| {
        let (number, text) = best.first_stranger.as_ref()?;
        Some(format!("; line {number} is not {}: \"{text}\"", best.layout.name()))
    });
    let name = candidates.first().map_or(Layout::LINES, |best| best.layout.name());
    Error::input(format!(
        "cannot tell the format; the best guesses are {}{}; say which it is, as in {} {name}",
        told.join(", "),
        stranger.unwrap_or_default(),
        Setting::Format
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const READING: ReadOptions =
        ReadOptions { separator: b'\n', line_bytes_max: 1 << 20, verbatim: false, fields: true };

    #[test]
    fn formats() {
        let line = |request| format!("h - - [10/Oct/2000:13:55:36 -0700] \"{request}\" 200 23\n");
        let asterisks = line("OPTIONS * HTTP/1.0").repeat(9) + &line("GET /a HTTP/1.0");
        for (text, expected) in [
            ("http://a.test/x,1\nhttp://a.test/y,2\n", "lines"),
            ("url,n\nhttp://a.test/x,1\nhttp://a.test/y,2\n", "csv"),
            ("http://a.test/x\t\nhttp://a.test/y\t\n", "lines"),
            ("http://a.test/x\t1\nhttp://a.test/y\t2\n", "tsv"),
            ("a\nb\nc d e f\n", "lines"),
            ("{\"url\": \"http://a.test/\"}\n", "jsonl"),
            ("\n\n", "lines"),
            (&asterisks, "clf"),
            // Headers alone: of an empty day, or of a log whose first request is yet to come.
            ("#Version: 1.0\r\n#Fields: date time cs-method cs-uri-stem\r\n", "w3c"),
            (" CDX N b a m s k r M S V g\n", "cdx"),
            ("!OpenWayback-CDXJ 1.0\n", "cdxj"),
            ("[[\"urlkey\",\"timestamp\",\"original\"]]\n", "cdx-json"),
            ("[]\n", "cdx-json"),
            ("url,status\n", "csv"),
            ("url\tstatus\n", "tsv"),
            (&line("OPTIONS * HTTP/1.0"), "clf"),
            ("# a list\n# of nothing yet\n", "lines"),
            // One line, as good as any other.
            ("links\n", "lines"),
        ] {
            assert_eq!(detect(text.as_bytes(), READING).unwrap().name(), expected, "{text:?}");
        }
    }

    #[test]
    fn urls_of_lists_may_have_delimiters() {
        let many = "http://e.test/art,1.html\n".repeat(12);
        let table = |row: &str| format!("{row}\n").repeat(12);
        let with = |line: &str| format!("{many}{line}\n");
        for (text, expected, why) in [
            ("http://e.test/a,1\nhttp://e.test/a,2 \n", "lines", "a blank at an end"),
            (&table("http://e.test/a,1.html   "), "lines", "blanks at all ends"),
            (&with("e.test/art,13.html"), "lines", "a line without a scheme"),
            (&with("# those, of today"), "lines", "a comment with a comma"),
            (&table("http://e.test/a,1").replacen("http://", "", 1), "lines", "numbers, all alone"),
            ("https://e.test/@48.1,11.5 z\n", "lines", "a blank"),
            ("https://e.test/@48.1,11.5,z\nhttps://e.test/@8.1,11.5,z y\n", "lines", "fractions"),
            ("http://e.test/?x=1&amp;y=2\nhttp://e.test/?x=1&amp;y=a b\n", "lines", "semicolons"),
            (&table("http://e.test/,A title"), "lines", "may be text of a URL"),
            (&table("http://e.test/,200,text html"), "csv", "a status"),
            (&table("http://e.test/,2026-01-02 03:04:05,x"), "csv", "a time"),
            (&table("http://e.test/,,a b"), "csv", "nothing"),
            (&table("http://e.test/,\"A title\""), "csv", "quotes"),
            (&table("http://e.test/,A title of some words"), "csv", "no list"),
            (&format!("Adresse,Titel\n{many}"), "csv", "names of columns"),
            (&table("7,http://e.test/"), "csv", "not in front"),
            (&table("http://e.test/\tA title"), "tsv", "no URL has tabs"),
        ] {
            let found = detect(text.as_bytes(), READING).unwrap();
            assert_eq!(found.name(), expected, "{why}: {text:?}");
        }
    }

    #[test]
    fn rows_may_lack_their_url() {
        let rows = |with: usize, without: usize, is_json: bool| {
            let row = |url: &str| match is_json {
                true => format!("{{\"id\": 7, \"url\": {url:?}}}\n"),
                false => format!("7,{url}\n"),
            };
            let header = if is_json { "" } else { "id,url\n" };
            format!("{header}{}{}", row("").repeat(without), row("http://a.test/").repeat(with))
        };
        for (is_json, name) in [(false, "csv"), (true, "jsonl")] {
            let detect = |with, without| detect(rows(with, without, is_json).as_bytes(), READING);
            for (with, without) in [(10, 0), (10, 3), (10, 10)] {
                assert_eq!(detect(with, without).unwrap().name(), name, "{with} and {without}");
            }
            let told = detect(10, 20).unwrap_err().to_string();
            assert!(told.contains(if is_json { "line 1 " } else { "line 2 " }), "{told}");
        }
    }

    #[test]
    fn long_lines_are_looked_at_as_a_whole() {
        let text = "x".repeat(2 * SAMPLE_BYTES);
        let line = format!("{{\"url\": \"http://a.test/\", \"text\": \"{text}\"}}\n");
        let log = format!("h - - [10/Oct/2000:13:55:36 -0700] \"GET /{text} HTTP/1.0\" 200 23\n");
        for (first, expected) in [(&line, "jsonl"), (&log, "clf")] {
            for text in [first.clone(), first.repeat(3), format!("\u{feff}{first}{first}")] {
                assert_eq!(detect(text.as_bytes(), READING).unwrap().name(), expected);
            }
        }
    }

    #[test]
    fn arrays_are_told() {
        let rows = "[[\"timestamp\", \"original\"], [\"20140126200624\", \"http://a.test/\"]]\n";
        for (text, way_out) in [
            ("[{\"url\": \"http://a.test/\"}, {\"url\": \"http://b.test/\"}]\n", "jq -c '.[]'"),
            ("[\n  {\n    \"url\": \"http://a.test/\"\n  }\n]\n", "jq -c '.[]'"),
            (rows, "jq -r '.[] | @tsv'"),
            (&rows.replace(' ', ""), "jq -r '.[] | @tsv'"),
            (&rows.replace(", ", ",\n  "), "jq -r '.[] | @tsv'"),
        ] {
            let told = detect(text.as_bytes(), READING).unwrap_err().to_string();
            assert!(told.contains(way_out), "{text:?}: {told}");
        }
        let list = format!("[{{{{cite web}}}}]\n{}", "http://a.test/ x\n".repeat(20));
        assert_eq!(detect(list.as_bytes(), READING).unwrap().name(), "lines");
    }

    #[test]
    fn what_is_not_sure_is_told() {
        let log = "h - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.0\" 200 23\n";
        let text = format!("{}{}", log.repeat(3), "something else is this\n".repeat(3));
        let error = detect(text.as_bytes(), READING).unwrap_err();
        let told = error.to_string();
        assert!(
            error.is_input() && told.contains("line 4") && told.contains("FormatPlan::format clf"),
            "{told}"
        );
        // Each format once, however many ways there are to read it.
        assert_eq!(told.matches("clf (50 %").count(), 1, "{told}");
        // Too few of their lines for any format to speak up by itself.
        let text =
            format!("one two three\n{log}four\n{{\"url\": \"http://a.test/\"}}\nfive\n{log}");
        let told = detect(text.as_bytes(), READING).unwrap_err().to_string();
        let guesses =
            "combined (33 % of the lines), clf (33 % of the lines), jsonl (16 % of the lines)";
        assert!(told.contains(guesses) && told.contains("line 1"), "{told}");
    }

    #[test]
    fn votes_are_told() {
        let layout =
            detect(b"{\"request\": \"GET /a HTTP/1.0\", \"host\": \"a.test\"}\n\n", READING);
        let votes = layout.unwrap().first_lines.votes.clone().unwrap();
        assert_eq!(votes.lines, 1);
        assert_eq!(votes.to_string(), "nginx-json 100 %, jsonl 100 %, lines 0 %");
        assert!(
            detect(b"http://a.test/\n", READING).unwrap().first_lines.votes.is_none(),
            "nobody had to vote"
        );
        assert!(as_told("clf", b"x\n", READING).unwrap().first_lines.votes.is_none());
    }

    #[test]
    fn a_format_that_is_told_is_taken() {
        for format in formats::ALL {
            let told = as_told(format.name, b"something else is this\n", READING);
            match (format.unseen(), told) {
                (Some(unseen), Ok(layout)) => {
                    assert_eq!((layout.name(), unseen.name()), (format.name, format.name));
                }
                (None, Err(error)) => assert!(error.is_input(), "{error}"),
                (_, told) => panic!("{}: {told:?}", format.name),
            }
        }
        // A part of a W3C log is recognized by no other flag either.
        let row = b"2024-03-05 09:00:03 GET /cart.aspx - 200\n";
        for (name, expected) in [
            ("w3c", "put the #Fields: line"),
            ("cloudfront", "name its columns by"),
            ("cdx", "leave out"),
        ] {
            let told = as_told(name, row, READING).unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        }
        assert_eq!(as_told("clf", b"\n\n", READING).unwrap().name(), "clf");
        assert_eq!(as_told("csv", b"\n\n", READING).unwrap().name(), "lines");
    }
}
