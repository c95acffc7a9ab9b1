//! What looks wrong in a run: files that are not what they were taken for, and filters that match
//! nothing.

mod doubt;

use crate::bytes::decimal::with_commas;
use crate::bytes::show;
use crate::cli::args::FormatArgs;
use crate::error::{Error, Result};
use crate::input::Compression;
use crate::pipeline::{InputFile, Outcome, line_place};
use crate::record::FormatVotes;
use crate::record::Layout;
use crate::record::formats;
use crate::reject::Reject;
use crate::report::Tally;
pub(super) use doubt::{Doubt, FileDoubt, FilterAdvice, HostLoss};

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

/// What looks wrong, in the order in which it is told: filters that let nothing through or that
/// match nothing; fields that are not understood, if the job `needs_fields` or a filter asks for
/// them; files that were taken for lists for want of anything better, or that are not compressed
/// though their names say so; records of which most are no URLs; the same of what is known; and
/// records without a host.
///
/// `has_rules_of_sites`: are there any for this job?
pub(super) fn doubts<'a>(
    outcome: &'a Outcome,
    given: &'a FormatArgs,
    needs_fields: bool,
    has_rules_of_sites: bool,
) -> Vec<Doubt<'a>> {
    let mut doubts = of_filters(outcome, given);
    doubts.extend(of_fields(outcome, given, needs_fields));
    doubts.extend(of_files(outcome, given.format.as_deref(), given.base_url.is_some()));
    if let Some(known) = &outcome.known {
        doubts.extend(of_known(known, &outcome.tally, given));
    }
    doubts.extend(of_hosts(outcome, has_rules_of_sites));
    doubts
}

/// Filters that have let nothing through, or everything; lines all of which were rejected.
fn of_filters<'a>(outcome: &'a Outcome, given: &'a FormatArgs) -> Vec<Doubt<'a>> {
    let tally = &outcome.tally;
    let is_for_hosts = |pattern: &&String| !pattern.contains(['/', '?']);
    let for_hosts = given.include.iter().chain(&given.exclude).find(is_for_hosts);
    let for_hosts = for_hosts.map(String::as_str);
    let mut doubts = Vec::new();
    if tally.filtered > 0 && tally.records == 0 {
        let asks_for_fields = !(given.status.is_empty() && given.method.is_empty())
            || given.since.is_some()
            || given.until.is_some();
        let are_lists = outcome.files.iter().all(|file| file.layout.is_list());
        let advice = match for_hosts {
            Some(pattern) if !given.include.is_empty() => FilterAdvice::PatternForHosts(pattern),
            _ if asks_for_fields && are_lists => FilterAdvice::ListsHaveNoFields,
            _ => FilterAdvice::SeeFormats,
        };
        doubts.push(Doubt::AllFiltered { filtered: tally.filtered, advice });
    }
    if tally.filtered == 0 && tally.records > 0 && !given.exclude.is_empty() {
        doubts.push(Doubt::NoneExcluded { patterns: &given.exclude, for_hosts });
    }
    if tally.rejected.total() > 0 && tally.records + tally.filtered == 0 {
        let is_told = given.field.is_some() || given.log_format.is_some();
        let is_unknown = |kind| matches!(kind, Reject::Format | Reject::NoUrl | Reject::BadRequest);
        let may_be_told = !is_told && tally.rejected.seen().any(|(kind, _)| is_unknown(kind));
        doubts.push(Doubt::AllRejected { rejected: tally.rejected.total(), may_be_told });
    }
    doubts
}

/// Columns of tables with statuses or times that nobody understands, where somebody asks for them.
fn of_fields<'a>(
    outcome: &'a Outcome,
    given: &FormatArgs,
    needs_fields: bool,
) -> impl Iterator<Item = Doubt<'a>> {
    let needs_status = needs_fields || !given.status.is_empty();
    let needs_time = needs_fields || given.since.is_some() || given.until.is_some();
    let of_file = move |file: &'a InputFile| {
        let odd_fields = file.layout.first_lines.odd_fields.iter();
        let asked_for = odd_fields.filter(move |odd| match odd.field {
            "status" => needs_status,
            _ => needs_time,
        });
        asked_for.map(|odd| Doubt::OfFile(file.shown(), FileDoubt::OddField(odd)))
    };
    outcome.files.iter().flat_map(of_file)
}

/// Files that are not what they were taken for, or seem so: `format` says what they are, if the
/// user has named one, and paths may have a host, if it `has_base`.
fn of_files<'a>(outcome: &'a Outcome, format: Option<&str>, has_base: bool) -> Vec<Doubt<'a>> {
    let has_urls = outcome.tally.unparsed.total() < outcome.tally.records;
    let no_list = |file: &'a InputFile| perhaps_no_list(file, has_urls);
    // One kind after the other: what many files have in common is read at one glance.
    let kinds: [&dyn Fn(&'a InputFile) -> Option<FileDoubt<'a>>; 6] =
        [&not_packed, &perhaps_a_list, &nuls, &other_urls, &uneven, &no_list];
    let mut doubts = Vec::new();
    for kind in kinds {
        let of_file = |file| Some(Doubt::OfFile(InputFile::shown(file), kind(file)?));
        doubts.extend(outcome.files.iter().filter_map(of_file));
    }
    // Of a list nobody says that it has URLs; of other formats, some kind of their lines has.
    let is_told_list = format.is_some_and(|name| name.eq_ignore_ascii_case(Layout::LINES));
    let has_no_list = outcome.files.iter().any(|file| no_list(file).is_some());
    if !is_told_list && !has_no_list {
        doubts.extend(no_urls(outcome, has_base));
    }
    doubts
}

fn not_packed(file: &InputFile) -> Option<FileDoubt<'_>> {
    let packing = Compression::of_name(&file.summary.path);
    let is_packed = file.summary.compression != Compression::None;
    let is_doubted =
        packing != Compression::None && !is_packed && !is_like_its_format(&file.layout);
    is_doubted.then_some(FileDoubt::NotPacked(packing))
}

/// Have most of the first lines the shape that all were taken for? Where nobody had to vote, they
/// have.
fn is_like_its_format(layout: &Layout) -> bool {
    let Some(votes) = &layout.first_lines.votes else { return true };
    votes.share_of(layout.name()).is_some_and(|share| share >= FormatVotes::HALF_PERCENT)
}

/// A table without a header, with the URL in front, whose lines are URLs as well.
fn perhaps_a_list(file: &InputFile) -> Option<FileDoubt<'_>> {
    let layout = &file.layout;
    let share = layout.first_lines.votes.as_ref()?.share_of(Layout::LINES)?;
    let is_doubted = share >= LIST_SHARE_MIN_WITH_RIVAL_PERCENT
        && layout.headerless().is_some_and(|table| table.url_column == 1);
    is_doubted.then(|| FileDoubt::PerhapsAList { format: layout.name() })
}

fn nuls(file: &InputFile) -> Option<FileDoubt<'_>> {
    file.layout.first_lines.has_nuls.then_some(FileDoubt::Nuls)
}

fn other_urls(file: &InputFile) -> Option<FileDoubt<'_>> {
    match file.layout.format.as_ref()?.url_names() {
        [read, others @ ..] if !others.is_empty() => Some(FileDoubt::OtherUrls { read, others }),
        _ => None,
    }
}

fn uneven(file: &InputFile) -> Option<FileDoubt<'_>> {
    let format = file.layout.format.as_ref()?;
    Some(FileDoubt::Uneven { uneven: format.uneven()?, described: format.describe() })
}

/// A file that was taken for a list, for want of anything better, and perhaps is none. `has_urls`:
/// are there URLs at all?
fn perhaps_no_list(file: &InputFile, has_urls: bool) -> Option<FileDoubt<'_>> {
    let layout = &file.layout;
    if let Some(seeming) = &layout.first_lines.seeming {
        return Some(FileDoubt::Seeming(seeming));
    }
    let votes = layout.first_lines.votes.as_ref().filter(|_| layout.is_list())?;
    let has_rival = votes
        .shares
        .iter()
        .any(|(name, share)| *name != layout.name() && *share >= RIVAL_SHARE_MIN_PERCENT);
    let share_min = match has_rival {
        true => LIST_SHARE_MIN_WITH_RIVAL_PERCENT,
        false => FormatVotes::HALF_PERCENT,
    };
    let percent = votes.share_of(layout.name())?;
    let says_enough = votes.lines >= LIST_LINES_MIN || !has_urls;
    let is_doubted = percent < share_min && says_enough;
    is_doubted.then_some(FileDoubt::FewUrls { percent, lines: votes.lines })
}

/// Records of which most are no URLs.
fn no_urls(outcome: &Outcome, has_base: bool) -> Option<Doubt<'_>> {
    let Tally { unparsed, records, .. } = &outcome.tally;
    let are_all = *records >= RECORDS_MIN_OF_NONE && unparsed.total() == *records;
    let are_most = *records >= LIST_LINES_MIN as u64 && unparsed.total() * 2 > *records;
    let are_relative =
        unparsed.seen().any(|(kind, count)| kind == Reject::Relative && count * 2 > *records);
    let is_list = outcome.files.iter().any(|file| file.layout.is_list());
    let may_be_paths = are_relative && is_list && !has_base;
    (are_all || are_most).then_some(Doubt::NoUrls { unparsed, records: *records, may_be_paths })
}

/// What looks wrong in the files of `--not-in`: all or most of what is to be left out may not be
/// known then, and passes for new.
///
/// `tally` counts the input.
fn of_known<'a>(known: &'a Outcome, tally: &Tally, given: &'a FormatArgs) -> Vec<Doubt<'a>> {
    // Their formats are detected, whatever `--format` says.
    let mut doubts = of_files(known, None, given.base_url.is_some());
    let is_other = |file: &&InputFile, told: &str| !told.eq_ignore_ascii_case(file.layout.name());
    if let Some(told) = given.format.as_deref()
        && let Some(file) = known.files.iter().find(|file| is_other(file, told))
    {
        let format = file.layout.name();
        doubts.push(Doubt::KnownAsOther { file: file.shown(), format, told });
    }
    match known.files.as_slice() {
        _ if known.tally.records > 0 => {
            // Some rows of most exports, and requests of strangers in most logs, are others.
            let are_hostless = |tally: &Tally| 2 * tally.hostless > tally.records;
            let all = |tally: &Tally| tally.hostless == tally.records;
            match (are_hostless(&known.tally), are_hostless(tally)) {
                (true, false) => doubts.push(Doubt::KnownHostless { all: all(&known.tally) }),
                (false, true) => doubts.push(Doubt::HostlessBesideKnown { all: all(tally) }),
                _ => {}
            }
        }
        [] => doubts.push(Doubt::KnownNowhere),
        [first, more @ ..] => {
            let (first, has_more) = (first.shown(), !more.is_empty());
            doubts.push(Doubt::KnownEmpty { first, has_more });
        }
    }
    doubts
}

/// Paths whose host nobody knows, where that is a loss: no rule of a site holds for them, if there
/// are any; and those of several hosts look alike. Of that nothing is said where no record names a
/// host, as in most access logs, which are of one; but for JSON, where the host may have a name
/// that nobody knows here.
fn of_hosts(outcome: &Outcome, has_rules_of_sites: bool) -> Option<Doubt<'_>> {
    let Tally { hostless, records, ref unparsed, .. } = outcome.tally;
    if hostless == 0 {
        return None;
    }
    let named = records.saturating_sub(hostless + unparsed.total());
    let has_json = outcome.files.iter().any(|file| formats::is_json(file.layout.name()));
    let has_hosts = named > 0
        && named * HOSTS_NAMED_MIN_ONE_IN >= records
        && (named >= HOSTS_NAMED_MIN || 2 * named >= records);
    let loss = match has_rules_of_sites {
        true => HostLoss::Rules,
        false if has_json || has_hosts => HostLoss::Difference,
        false => return None,
    };
    Some(Doubt::Hostless { hostless, records, loss, has_json })
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
    let speaks_of_it =
        |(kind, _)| matches!(kind, Reject::Format | Reject::NoUrl | Reject::LineTooLong);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LINE_BYTES_MAX;
    use crate::record::{ReadOptions, Seeming, detect};
    use clap::Parser as _;
    use std::sync::Arc;

    /// A file that begins with `text`.
    fn file(name: &str, text: &str) -> InputFile {
        let options = ReadOptions {
            separator: b'\n',
            line_bytes_max: LINE_BYTES_MAX,
            verbatim: false,
            fields: true,
        };
        let layout = detect::detect(text.as_bytes(), options).unwrap();
        let mut file = InputFile { layout, ..InputFile::default() };
        file.summary.path = name.into();
        file
    }

    fn outcome(files: &[InputFile], tally: Tally) -> Outcome {
        Outcome { files: files.to_vec(), tally, ..Outcome::default() }
    }

    /// The format and the filter that these flags say.
    fn given(flags: &[&str]) -> FormatArgs {
        #[derive(clap::Parser)]
        struct Given {
            #[command(flatten)]
            format: FormatArgs,
        }
        Given::parse_from([&["undust"], flags].concat()).format
    }

    fn records(records: u64) -> Tally {
        Tally { records, ..Tally::default() }
    }

    fn unparsed(of: u64, kind: Reject, count: u64) -> Tally {
        let mut tally = records(of);
        (0..count).for_each(|_| tally.unparsed.add(kind));
        tally
    }

    /// All that is told of a job that asks for no fields and has no rules of sites.
    fn told(outcome: &Outcome, flags: &[&str]) -> Vec<String> {
        let given = given(flags);
        doubts(outcome, &given, false, false).iter().map(Doubt::to_string).collect()
    }

    #[test]
    fn nothing_is_doubted_of_a_list() {
        let list = file("list.txt", &"http://a.test/\n".repeat(20));
        let outcome = outcome(&[list], records(20));
        assert_eq!(doubts(&outcome, &given(&[]), true, true), []);
    }

    #[test]
    fn files_that_share_a_doubt_stand_together() {
        let seeming = Seeming::Json(Vec::new());
        let json = |name: &str| {
            let mut file = file(name, &"{\"x\":1}\n".repeat(3));
            let first_lines = Arc::make_mut(&mut file.layout.first_lines);
            first_lines.seeming = Some(seeming.clone());
            file
        };
        let table = "http://a.test/,200,no html\nhttp://a.test/b,200,no html\n";
        let mut nuls = file("3", "http://a.test/\n");
        Arc::make_mut(&mut nuls.layout.first_lines).has_nuls = true;
        let files = [json("1.gz"), file("2", table), nuls, json("4.zst")];
        let expected = [
            ("1.gz", FileDoubt::NotPacked(Compression::Gzip)),
            ("4.zst", FileDoubt::NotPacked(Compression::Zstd)),
            ("2", FileDoubt::PerhapsAList { format: "csv" }),
            ("3", FileDoubt::Nuls),
            ("1.gz", FileDoubt::Seeming(&seeming)),
            ("4.zst", FileDoubt::Seeming(&seeming)),
        ];
        let expected = expected.map(|(name, doubt)| Doubt::OfFile(name.to_string(), doubt));
        let outcome = outcome(&files, records(10));
        assert_eq!(doubts(&outcome, &given(&[]), false, false), expected);
    }

    #[test]
    fn few_lines_that_are_no_urls_say_enough_where_none_is_one() {
        let list = |lines: usize| file("x", &"some words\n".repeat(lines));
        for (lines, unparsed_records, is_doubted, why) in [
            (9, 2, true, "no URL at all"),
            (9, 1, false, "few lines"),
            (10, 1, true, "enough lines"),
        ] {
            let found = outcome(&[list(lines)], unparsed(2, Reject::Relative, unparsed_records));
            let doubt = FileDoubt::FewUrls { percent: 0, lines };
            let expected = is_doubted.then(|| Doubt::OfFile("x".to_string(), doubt));
            let expected: Vec<Doubt> = expected.into_iter().collect();
            assert_eq!(doubts(&found, &given(&[]), false, false), expected, "{why}");
        }
    }

    #[test]
    fn records_that_are_no_urls() {
        let list = file("x", "http://a.test/\n");
        let advice = "; if they are paths, --base-url says on which host";
        for (of, kind, count, flags, expected) in [
            (4, Reject::Relative, 4, &[][..], None),
            (5, Reject::Relative, 5, &[], Some(advice)),
            (5, Reject::Relative, 5, &["--base-url", "http://a.test"], Some("")),
            (5, Reject::Relative, 5, &["-f", "Lines"], None),
            (9, Reject::Host, 8, &[], None),
            (10, Reject::Host, 5, &[], None),
            (10, Reject::Host, 6, &[], Some("")),
        ] {
            let found = outcome(std::slice::from_ref(&list), unparsed(of, kind, count));
            let words = |advice| {
                format!(
                    "{count} of {of} records are not URLs, and were compared byte for byte ({count} \
                     {kind}){advice}"
                )
            };
            let expected: Vec<String> = expected.map(words).into_iter().collect();
            assert_eq!(told(&found, flags), expected, "{of} {count} {flags:?}");
        }
    }

    #[test]
    fn filters_that_leave_nothing_or_everything() {
        let files = [file("x", "http://a.test/\n")];
        let filtered = Tally { filtered: 3, ..Tally::default() };
        for (tally, flags, expected) in [
            (
                &filtered,
                &["--status", "200"][..],
                "; they are lines of a list, which has no status",
            ),
            (&filtered, &["--exclude", "/x"], "filtered out; -v says how the files were read"),
            (&filtered, &["--include", "shop"], "; shop is a pattern for hosts, one for paths"),
            (&records(3), &["--exclude", "/x"], "--exclude /x: no record matches"),
        ] {
            let told = told(&outcome(&files, tally.clone()), flags);
            assert!(told.len() == 1 && told[0].contains(expected), "{flags:?}: {told:?}");
        }
        let mut rejected = Tally::default();
        rejected.reject(Reject::Format, b"x", false);
        for (flags, may_be_told) in [(&[][..], true), (&["--field", "1"], false)] {
            let (outcome, given) = (outcome(&files, rejected.clone()), given(flags));
            let expected = Doubt::AllRejected { rejected: 1, may_be_told };
            assert_eq!(doubts(&outcome, &given, false, false), [expected]);
        }
    }

    #[test]
    fn hosts_that_nobody_knows() {
        let log =
            file("x", &"h - - [10/Oct/2026:13:55:36 -0700] \"GET /b HTTP/1.0\" 200 1\n".repeat(3));
        let json = file("x", "{\"url\":\"/a\"}\n");
        assert_eq!((log.layout.name(), json.layout.name()), ("clf", "jsonl"));
        for (file, hostless, has_rules, expected, why) in [
            (&log, 0, true, None, "all have hosts"),
            (&log, 1000, false, None, "a log of one host"),
            (&log, 1000, true, Some(HostLoss::Rules), "rules of sites"),
            (&log, 995, false, None, "hosts that clients made up"),
            (&log, 990, false, Some(HostLoss::Difference), "a log of several hosts"),
            (&json, 1000, false, Some(HostLoss::Difference), "hosts may have another name"),
        ] {
            let tally = Tally { hostless, ..records(1000) };
            let outcome = outcome(std::slice::from_ref(file), tally);
            let has_json = file.layout.name() == "jsonl";
            let expected =
                expected.map(|loss| Doubt::Hostless { hostless, records: 1000, loss, has_json });
            let expected: Vec<Doubt> = expected.into_iter().collect();
            assert_eq!(doubts(&outcome, &given(&[]), false, has_rules), expected, "{why}");
        }
    }

    #[test]
    fn what_is_known_may_be_nothing() {
        let list = file("known", "http://a.test/\n");
        let hostless = Tally { hostless: 2, ..records(2) };
        for (files, tally, flags, expected) in [
            (vec![], records(0), &[][..], Some("no file was found in what was named")),
            (vec![list.clone()], records(0), &[], Some("no URL was found in known, so nothing")),
            (vec![list.clone()], records(2), &[], None),
            (vec![list.clone()], hostless, &[], Some("its records name no host, so nothing is")),
            (vec![list.clone()], records(2), &["-f", "CDX"], Some("known: read as lines, which")),
            (vec![list], records(2), &["-f", "LINES"], None),
        ] {
            let known = Some(Box::new(outcome(&files, tally)));
            let told = told(&Outcome { known, ..outcome(&[], records(1)) }, flags);
            let is_told = |words| matches!(&told[..], [one] if one.contains(words));
            assert!(expected.map_or(told.is_empty(), is_told), "{flags:?}: {told:?}");
        }
    }

    #[test]
    fn either_side_may_name_no_hosts() {
        let files = [file("x", "http://a.test/\n")];
        for (known, input, expected) in [
            (10, 0, Some("--not-in: its records name no host, so")),
            (6, 1, Some("--not-in: most of its records name no host, so")),
            (0, 10, Some("its records name hosts, but those of the input do not, so")),
            (1, 6, Some("its records name hosts, but most of those of the input do not, so")),
            (5, 5, None),
            (10, 10, None),
            (0, 0, None),
        ] {
            let [known, input] = [known, input].map(|hostless| Tally { hostless, ..records(10) });
            let known = Some(Box::new(outcome(&files, known)));
            let told = told(&Outcome { known, ..outcome(&[], input) }, &[]);
            let found = told.iter().find(|told| told.contains("--not-in")).map_or("", |one| one);
            assert!(expected.map_or(found.is_empty(), |words| found.contains(words)), "{found}");
        }
    }
}
