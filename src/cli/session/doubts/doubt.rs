//! What may look wrong in a run, with the words for it.

use std::fmt;

use crate::bytes::decimal::with_commas;
use crate::bytes::show;
use crate::input::Compression;
use crate::record::{OddField, Seeming, Uneven};
use crate::reject::RejectCounts;

/// Something that looks wrong in a run. Its `Display` is the line that people are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli::session) enum Doubt<'a> {
    /// Filters have let none of so many records through.
    AllFiltered { filtered: u64, advice: FilterAdvice<'a> },
    /// Patterns of `--exclude` match nothing; one of the filter's may be meant for paths.
    NoneExcluded { patterns: &'a [String], for_hosts: Option<&'a str> },
    /// All of so many lines were rejected; flags may say how they are made, which none did.
    AllRejected { rejected: u64, may_be_told: bool },
    /// Something about the file of this name.
    OfFile(String, FileDoubt<'a>),
    /// Of so many records most are no URLs.
    NoUrls { unparsed: &'a RejectCounts, records: u64, may_be_paths: bool },
    /// A file of `--not-in` was read as another format than `--format` says.
    KnownAsOther { file: String, format: &'static str, told: &'a str },
    /// No record of `--not-in` names a host, those of the input do.
    KnownHostless { all: bool },
    /// Most records to be looked up, or all, name no host, and those of `--not-in` do.
    HostlessBesideKnown { all: bool },
    /// There is no file in what `--not-in` names.
    KnownNowhere,
    /// The files of `--not-in` have no URL, this one and perhaps more.
    KnownEmpty { first: String, has_more: bool },
    /// Some records name no host.
    Hostless { hostless: u64, records: u64, loss: HostLoss, has_json: bool },
}

/// Why filters let nothing through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::session) enum FilterAdvice<'a> {
    /// They ask for what lists do not have.
    ListsHaveNoFields,
    /// This pattern is for hosts, and perhaps is meant for paths.
    PatternForHosts(&'a str),
    /// Nobody knows.
    SeeFormats,
}

/// What is lost where records name no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::session) enum HostLoss {
    /// The rules of sites.
    Rules,
    /// The difference between paths of several hosts.
    Difference,
}

/// What looks wrong about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli::session) enum FileDoubt<'a> {
    /// It is named as packed files are, and is not packed.
    NotPacked(Compression),
    /// It was read as a table of this format, and may be a list.
    PerhapsAList { format: &'static str },
    /// It has NUL bytes.
    Nuls,
    /// Other columns have URLs, too.
    OtherUrls { read: &'a [u8], others: &'a [Vec<u8>] },
    /// No row has as many cells as the header; `described` is how it was read.
    Uneven { uneven: Uneven, described: String },
    /// Nobody understands the values of a field.
    OddField(&'a OddField),
    /// It was taken for a list, and may be this.
    Seeming(&'a Seeming),
    /// It was taken for a list, and so few of its first lines look like URLs.
    FewUrls { percent: usize, lines: usize },
}

impl fmt::Display for Doubt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::AllFiltered { filtered, advice } => write!(
                f,
                "nothing is left: all {} records were filtered out{advice}",
                with_commas(*filtered)
            ),
            Doubt::NoneExcluded { patterns, for_hosts } => {
                write!(f, "--exclude {}: no record matches", patterns.join(", "))?;
                for_hosts.map_or(Ok(()), |one| FilterAdvice::PatternForHosts(one).fmt(f))
            }
            Doubt::AllRejected { rejected, may_be_told } => write!(
                f,
                "nothing is left: all {} lines with anything in them were rejected{}",
                with_commas(*rejected),
                match may_be_told {
                    true => {
                        "; --field says where the URL is, --log-format how such lines are made"
                    }
                    false => "",
                }
            ),
            Doubt::OfFile(file, doubt) => write!(f, "{file}: {doubt}"),
            Doubt::NoUrls { unparsed, records, may_be_paths } => {
                let kinds: Vec<String> = unparsed
                    .seen()
                    .map(|(kind, count)| format!("{} {kind}", with_commas(count)))
                    .collect();
                write!(
                    f,
                    "{} of {} records are not URLs, and were compared byte for byte ({}){}",
                    with_commas(unparsed.total()),
                    with_commas(*records),
                    kinds.join(", "),
                    match may_be_paths {
                        true => "; if they are paths, --base-url says on which host",
                        false => "",
                    }
                )
            }
            Doubt::KnownAsOther { file, format, told } => write!(
                f,
                "--not-in: {file}: read as {format}, which it looks like, though --format says {told}"
            ),
            Doubt::KnownHostless { all } => write!(
                f,
                "--not-in: {}; --base-url says which host they are on",
                match all {
                    true => "its records name no host, so nothing is left out",
                    false => "most of its records name no host, so they leave nothing out",
                }
            ),
            Doubt::HostlessBesideKnown { all } => write!(
                f,
                "--not-in: its records name hosts, but {}; --base-url says which host they are on",
                match all {
                    true => "those of the input do not, so nothing is left out",
                    false => "most of those of the input do not, so these are not left out",
                }
            ),
            Doubt::KnownNowhere => f.write_str("--not-in: no file was found in what was named"),
            Doubt::KnownEmpty { first, has_more } => write!(
                f,
                "--not-in: no URL was found in {first}{}, so nothing is left out",
                if *has_more { " and the other files" } else { "" }
            ),
            Doubt::Hostless { hostless, records, loss, has_json } => write!(
                f,
                "{} of {} records name no host, so {}; --base-url says which host they are on{}",
                with_commas(*hostless),
                with_commas(*records),
                match loss {
                    HostLoss::Rules => "no rule of a site holds for them",
                    HostLoss::Difference => "paths of different hosts count as one page",
                },
                if *has_json { ", --field host=NAME where it is named" } else { "" }
            ),
        }
    }
}

/// Is `pattern` the name of a host, with no stars in it?
fn is_name(pattern: &str) -> bool {
    pattern.contains('.') && !pattern.contains('*')
}

impl fmt::Display for FilterAdvice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilterAdvice::ListsHaveNoFields => {
                f.write_str("; they are lines of a list, which has no status, method or time")
            }
            FilterAdvice::PatternForHosts(pattern) if is_name(pattern) => write!(
                f,
                "; {pattern} is a pattern for this host alone, *.{pattern} one for those below it; one for \
                 paths begins with a slash: /{pattern}"
            ),
            FilterAdvice::PatternForHosts(pattern) => write!(
                f,
                "; {pattern} is a pattern for hosts, one for paths begins with a slash: /{pattern}"
            ),
            FilterAdvice::SeeFormats => f.write_str("; -v says how the files were read"),
        }
    }
}

impl fmt::Display for FileDoubt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileDoubt::NotPacked(packing) => write!(
                f,
                "named as {packing} files are, though it does not begin as they do: read as it is; \
                 get it again if it is cut short or damaged"
            ),
            FileDoubt::PerhapsAList { format } => write!(
                f,
                "read as {format}, with the URL in column 1; if it is a list, say so by --format lines"
            ),
            FileDoubt::Nuls => f.write_str(
                "has NUL bytes; if lines end with them, say so by -0; if it is UTF-16, convert it: \
                 iconv -f UTF-16LE -t UTF-8",
            ),
            FileDoubt::OtherUrls { read, others } => {
                let names: Vec<String> =
                    others.iter().map(|name| format!("\"{}\"", show(name))).collect();
                write!(
                    f,
                    "the URLs are those of the column \"{}\"; {} {}, too: --field chooses one, by its name \
                     or its number",
                    show(read),
                    names.join(", "),
                    if names.len() == 1 { "has some" } else { "have some" }
                )
            }
            FileDoubt::Uneven { uneven: Uneven { header_cells, row_cells }, described } => write!(
                f,
                "expected rows of {header_cells} cells, as the header has, found {row_cells} in the first row \
                 and {header_cells} in none: names may be those of other columns; read as {described}; \
                 --field says by number which column is which"
            ),
            FileDoubt::OddField(OddField { field, odd, values, first }) => write!(
                f,
                "column of {field}: expected {}, found something else in {} of its first {} values, as in \
                 \"{first}\": they count as unknown; --field names another column, as in --field \
                 {field}=COLUMN",
                match *field {
                    "status" => "three digits, such as 200",
                    _ => "dates such as 2026-11-20T10:00:00Z",
                },
                with_commas(*odd as u64),
                with_commas(*values as u64)
            ),
            FileDoubt::Seeming(seeming) => {
                f.write_str("taken for a list, though ")?;
                tell_seeming(seeming, f)
            }
            FileDoubt::FewUrls { percent, lines } => write!(
                f,
                "taken for a list, though {percent} % of its first {} lines look like URLs; --format or \
                 --log-format say what it is",
                with_commas(*lines as u64)
            ),
        }
    }
}

/// Says what a list may be instead, and how to have it read as that.
fn tell_seeming(seeming: &Seeming, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match seeming {
        Seeming::Json(places) => match places.as_slice() {
            [] => f.write_str(
                "its first lines are JSON; --field says where the URL is, as in --field /page/url",
            ),
            [best, ..] => write!(
                f,
                "its first lines are JSON; the URL may be in {}: --field {}",
                places.join(", "),
                match best.contains(['=', ' ', '"', '\'', '$']) {
                    true => format!("'url={}'", best.replace('\'', "'\\''")),
                    false => best.clone(),
                }
            ),
        },
        Seeming::JsonAroundLog { place, is_request } => write!(
            f,
            "its first lines are JSON around lines of a log; take these out: jq -r '{}' FILE | undust{}",
            jq_path(place),
            if *is_request { " --log-format '$request'" } else { "" }
        ),
        Seeming::JsonBehindWords => f.write_str(
            "its first lines are JSON after other words; take those away: sed 's/^[^{]*//' FILE | undust",
        ),
        Seeming::JsonOverLines => f.write_str(
            "it has JSON over several lines; put each object on a line: jq -c . FILE | undust",
        ),
        Seeming::Colored => f.write_str(
            "its lines have codes for colors; have them written without, or take them away: sed \
             's/\\x1b\\[[0-9;]*m//g' FILE | undust",
        ),
        Seeming::JsonDocument => f.write_str(
            "it is a JSON document with URLs in it; take these out: jq -r '.. | strings | \
             select(test(\"^https?://\"))' FILE | undust",
        ),
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
            write!(f, "most of its first lines {signs}; if it is a table, {advice}{gap}{columns}")
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_jq() {
        for (pointer, expected) in [
            ("/message", ".message"),
            ("/log/a b", ".log.\"a b\""),
            ("/@m/2x/a~1b~0", ".\"@m\".\"2x\".\"a/b~\""),
            ("/it's", ".\"it'\\''s\""),
        ] {
            assert_eq!(jq_path(pointer), expected, "{pointer}");
        }
    }

    #[test]
    fn advice_can_be_copied_to_a_shell() {
        let told = |place: &str| {
            let seeming = Seeming::Json(vec![place.to_string(), "/b".to_string()]);
            FileDoubt::Seeming(&seeming).to_string()
        };
        let words = "taken for a list, though its first lines are JSON; the URL may be in ";
        for (place, shown) in [("/a", "/a"), ("/a b", "'url=/a b'"), ("/$it's", "'url=/$it'\\''s'")]
        {
            assert_eq!(told(place), format!("{words}{place}, /b: --field {shown}"));
        }
    }

    #[test]
    fn one_and_many() {
        let others = [b"b".to_vec(), b"c\n".to_vec()];
        let told = |others| {
            let doubt = FileDoubt::OtherUrls { read: b"a", others };
            Doubt::OfFile("x.csv".to_string(), doubt).to_string()
        };
        let (start, end) =
            ("x.csv: the URLs are those of the column \"a\"; ", "too: --field chooses");
        assert!(told(&others[..1]).starts_with(&format!("{start}\"b\" has some, {end}")));
        assert!(told(&others).starts_with(&format!("{start}\"b\", \"c\\n\" have some, {end}")));
        let known = |has_more| Doubt::KnownEmpty { first: "k".to_string(), has_more }.to_string();
        assert!(known(false).contains("found in k, so nothing"));
        assert!(known(true).contains("found in k and the other files, so nothing"));
    }

    #[test]
    fn patterns_for_hosts_are_told_as_such() {
        let patterns = ["shop".to_string(), "/x".to_string()];
        let doubt = Doubt::NoneExcluded { patterns: &patterns, for_hosts: Some("shop") };
        assert_eq!(
            doubt.to_string(),
            "--exclude shop, /x: no record matches; shop is a pattern for hosts, one for paths begins \
             with a slash: /shop"
        );
        let doubt = Doubt::NoneExcluded { patterns: &patterns, for_hosts: Some("a.test") };
        assert!(doubt.to_string().contains("this host alone, *.a.test one for those below it"));
    }
}
