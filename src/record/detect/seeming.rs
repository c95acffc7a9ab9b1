//! What a file that is read as a list may be instead, judged by its first lines.

use std::collections::BTreeMap;

use memchr::{memchr, memchr_iter, memmem};
use serde_json::Value;

use crate::limits::COLUMNS_MAX;
use crate::record::first_lines::Seeming;
use crate::record::formats::json;
use crate::record::table::{cell, first_row};

/// Fewest lines for a judgement where the first is not a header.
const LINES_MIN: usize = 10;

/// Fewest lines for a judgement where the first is a header.
const LINES_WITH_HEADER_MIN: usize = 3;

/// Share of the lines that must have the same number of cells, in percent.
const SHARE_MIN_PERCENT: usize = 90;

/// Possible delimiters of tables.
const DELIMITERS: [u8; 5] = [b',', b';', b'\t', b'|', b' '];

/// The statuses that most answers have.
const EVERYDAY_STATUSES: [&str; 11] =
    ["200", "204", "206", "301", "302", "304", "307", "308", "403", "404", "500"];

/// Most places in JSON lines that are named.
const PLACES_MAX: usize = 3;

/// How deep URLs are looked for in JSON. Reason: the depth in HAR files (entries, requests, their
/// URL).
const LEVELS_MAX: usize = 6;

/// What a list that begins with `lines` may be instead; `None` if it is a list.
pub(super) fn seeming(lines: &[&[u8]]) -> Option<Seeming> {
    of_json(lines)
        .or_else(|| of_document(lines))
        .or_else(|| of_words(lines))
        .or_else(|| of_colors(lines))
        .or_else(|| of_table(lines))
}

fn of_table(lines: &[&[u8]]) -> Option<Seeming> {
    // Lines above a table often are comments.
    let is_part = |line: &&&[u8]| {
        !line.starts_with(b"#") || line.iter().any(|byte| DELIMITERS[..4].contains(byte))
    };
    let lines: &[&[u8]] = &lines.iter().filter(is_part).copied().collect::<Vec<&[u8]>>();
    let parted: Vec<u8> = lines.iter().filter_map(|line| parts_urls(line)).collect();
    let has_several_urls = 2 * parted.len() > lines.len();
    let delimiter = match has_several_urls {
        true => parted[0],
        false => {
            let known: Vec<u8> =
                DELIMITERS[..4].iter().copied().filter(|byte| parts_cells(lines, *byte)).collect();
            // The header has it as well; commas may be those of numbers.
            let count = |line: &[u8], byte: u8| memchr_iter(byte, line).count();
            let is_even = |byte: &&u8| {
                let last = lines.last().copied().unwrap_or_default();
                count(lines[0], **byte) == count(last, **byte)
            };
            let best = known.iter().find(is_even).or(known.first());
            best.copied().or_else(|| parts_values(lines))?
        }
    };
    let cells = |line: &[u8]| -> Vec<Vec<u8>> {
        line.split(|byte| *byte == delimiter).map(|cell| without_quotes(cell).to_vec()).collect()
    };
    if memchr_iter(delimiter, lines[0]).count() >= COLUMNS_MAX {
        return None;
    }
    let header = cells(lines[0]);
    let is_name = |cell: &Vec<u8>| !cell.is_empty() && !cell.contains(&b'/');
    let has_header = lines.len() > 1
        && header.len() == cells(lines[1]).len()
        && header.iter().all(is_name)
        && !lines[0].starts_with(b"#")
        && !cell::may_be_url(&header[0]);
    // `/art,12` and `/@48.1,11.5,15z` are ends of paths, and what begins with a bracket is JSON.
    let is_row = |line: &&&[u8]| match delimiter {
        b' ' | b'|' => true,
        _ if line.starts_with(b"[") => false,
        _ => ends_in_status(line, delimiter) || !ends_in_numbers(line, delimiter),
    };
    if !has_several_urls && !has_header && 2 * lines.iter().filter(is_row).count() <= lines.len() {
        return None;
    }
    let lines_min = if has_header { LINES_WITH_HEADER_MIN } else { LINES_MIN };
    let columns = if has_header { first_row::list(&header) } else { String::new() };
    (lines.len() >= lines_min).then_some(Seeming::Table { has_several_urls, delimiter, columns })
}

/// The byte before a URL of `line` other than the first, or before its quote, if that byte is a
/// delimiter of tables.
fn parts_urls(line: &[u8]) -> Option<u8> {
    memmem::find_iter(line, b"://").skip(1).find_map(|at| {
        let before = line[..at].strip_suffix(b"http").or(line[..at].strip_suffix(b"https"))?;
        let before = before.strip_suffix(b"\"").unwrap_or(before);
        before.last().copied().filter(|byte| DELIMITERS.contains(byte))
    })
}

/// Do nearly all of `lines` have the same number of `delimiter`, not all of them in a query, and
/// after the last something that is hardly the end of a URL?
fn parts_cells(lines: &[&[u8]], delimiter: u8) -> bool {
    let count = |line: &[u8]| memchr_iter(delimiter, line).count();
    let cells = lines.last().map_or(0, |line| count(line));
    let ends_as_row = |line: &[u8]| {
        let last = line.rsplit(|byte| *byte == delimiter).next().unwrap_or_default();
        cell::is_figure(without_quotes(last)) || !last.iter().any(|byte| b"/.?=&%#".contains(byte))
    };
    let rows = lines.iter().filter(|line| count(line) == cells && ends_as_row(line)).count();
    let is_outside = |line: &&[u8]| {
        let path = line.split(|byte| *byte == b'?').next().unwrap_or_default();
        path.contains(&delimiter)
    };
    // The first line may be a header.
    cells > 0
        && 100 * rows >= SHARE_MIN_PERCENT * lines.len()
        && lines.iter().skip(1).any(is_outside)
}

/// The delimiter between URLs and numbers or bracketed words after them in nearly all of `lines`:
/// one blank or one bar. A blank by itself may be a part of a URL.
fn parts_values(lines: &[&[u8]]) -> Option<u8> {
    let has_value = |line: &[u8], delimiter: u8| {
        let mut cells = line.split(|byte| *byte == delimiter);
        let (Some(url), Some(value), None) = (cells.next(), cells.next(), cells.next()) else {
            return false;
        };
        let is_number = value.first().is_some_and(u8::is_ascii_digit)
            && value.iter().all(|byte| byte.is_ascii_digit() || b".,%".contains(byte));
        let is_bracketed = value.starts_with(b"[") && value.ends_with(b"]");
        cell::is_url(url) && (is_number || is_bracketed)
    };
    [b' ', b'|'].into_iter().find(|delimiter| {
        let rows = lines.iter().filter(|line| has_value(line, *delimiter)).count();
        rows > 0 && 100 * rows >= SHARE_MIN_PERCENT * lines.len()
    })
}

/// Does all that follows the first `delimiter` of `line` start with digits, or with a sign and
/// digits?
fn ends_in_numbers(line: &[u8], delimiter: u8) -> bool {
    let is_number = |cell: &[u8]| {
        let digits = cell.strip_prefix(b"-").unwrap_or(cell);
        digits.first().is_some_and(u8::is_ascii_digit) && !cell.contains(&b' ')
    };
    line.split(|byte| *byte == delimiter).skip(1).all(is_number)
}

/// Is what follows the last `delimiter` of `line` a frequent status? The end of a path may be any
/// number.
fn ends_in_status(line: &[u8], delimiter: u8) -> bool {
    let last = line.rsplit(|byte| *byte == delimiter).next().unwrap_or_default();
    EVERYDAY_STATUSES.iter().any(|status| status.as_bytes() == last)
}

fn without_quotes(cell: &[u8]) -> &[u8] {
    let cell = cell.trim_ascii();
    cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\"")).unwrap_or(cell)
}

/// JSON lines, if most of `lines` are objects. Members whose names contain commas, which `--field`
/// cannot name, are left out, and so is what is in arrays.
fn of_json(lines: &[&[u8]]) -> Option<Seeming> {
    let is_object = |line: &&&[u8]| line.trim_ascii_start().first() == Some(&b'{');
    let objects: Vec<Value> = lines
        .iter()
        .filter(is_object)
        // Copied: another process may write to the mapped file.
        .map(|line| line.to_vec())
        .filter_map(|line| serde_json::from_slice(&line).ok())
        .collect();
    if 2 * objects.len() <= lines.len() {
        return None;
    }
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let (mut requests, mut in_arrays) = (BTreeMap::new(), 0);
    for object in &objects {
        let mut open = vec![(String::new(), object)];
        while let Some((place, value)) = open.pop() {
            match value {
                Value::Object(members) => open.extend(members.iter().map(|(name, value)| {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    (format!("{place}/{name}"), value)
                })),
                Value::String(text) if may_be_url(&place, text) => {
                    *places.entry(place).or_default() += 1;
                }
                Value::String(text) if has_request(text) => {
                    let (count, alone) = requests.entry(place).or_insert((0, 0));
                    *count += 1;
                    *alone += usize::from(text.split(' ').count() == 3);
                }
                Value::Array(values) => in_arrays += usize::from(values.iter().any(has_url)),
                _ => {}
            }
        }
    }
    let most = requests.into_iter().max_by_key(|(_, (count, _))| *count);
    if let Some((place, (count, alone))) = most.filter(|(_, (count, _))| 2 * count > objects.len())
    {
        return Some(Seeming::JsonAroundLog { place, is_request: 2 * alone > count });
    }
    let mut places: Vec<(String, usize)> = places.into_iter().collect();
    places.retain(|(place, count)| 2 * count > objects.len() && !place.contains(','));
    places.sort_by_key(|(place, count)| (!is_named_as_url(place), std::cmp::Reverse(*count)));
    // In a single object the URLs in its arrays are the records, not those of its settings.
    if in_arrays > 0 && (places.is_empty() || lines.len() == 1) {
        return Some(Seeming::JsonDocument);
    }
    Some(Seeming::Json(places.into_iter().take(PLACES_MAX).map(|(place, _)| place).collect()))
}

/// A JSON document, if the first of `lines` begins one that goes on, and there are URLs in quotes.
fn of_document(lines: &[&[u8]]) -> Option<Seeming> {
    let first = lines.first()?.trim_ascii();
    let has_urls = || lines.iter().any(|line| memmem::find(line, b"\"http").is_some());
    let opens = matches!(first.first(), Some(b'[' | b'{'))
        && matches!(first.last(), Some(b'[' | b'{' | b'}' | b']' | b','));
    if !opens {
        return None;
    }
    // Copied: another process may write to the mapped file.
    let text = lines.join(&b'\n');
    let first = serde_json::Deserializer::from_slice(&text).into_iter::<Value>().next();
    if let Some(Ok(object @ Value::Object(_))) = first
        && json::recognize(&[object.to_string().as_bytes()]).is_some()
    {
        return Some(Seeming::JsonOverLines);
    }
    has_urls().then_some(Seeming::JsonDocument)
}

/// A list with colors, if most of `lines` begin with codes for them.
fn of_colors(lines: &[&[u8]]) -> Option<Seeming> {
    let count = lines.iter().filter(|line| line.starts_with(b"\x1b[")).count();
    (2 * count > lines.len()).then_some(Seeming::Colored)
}

/// JSON lines with text before the objects, if most of `lines` are that.
fn of_words(lines: &[&[u8]]) -> Option<Seeming> {
    let is_behind_words = |line: &&&[u8]| {
        let line = line.trim_ascii_end();
        let start = memchr(b'{', line).filter(|start| *start > 0 && line[start - 1] == b' ');
        start.is_some_and(|start| serde_json::from_slice::<Value>(&line[start..]).is_ok())
    };
    let count = lines.iter().filter(is_behind_words).count();
    (2 * count > lines.len()).then_some(Seeming::JsonBehindWords)
}

/// Does `text` contain a request line, such as `GET /a HTTP/1.1`?
fn has_request(text: &str) -> bool {
    let before = text.split_once(" HTTP/").map(|(before, _)| before);
    before
        .and_then(|before| before.rsplit_once(' '))
        .is_some_and(|(method, _)| method.as_bytes().last().is_some_and(u8::is_ascii_uppercase))
}

/// Is `value` a URL, or does it contain one within [`LEVELS_MAX`] levels?
fn has_url(value: &Value) -> bool {
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        match value {
            Value::String(text) if cell::is_url(text.as_bytes()) => return true,
            Value::Object(members) if depth < LEVELS_MAX => {
                open.extend(members.values().map(|value| (value, depth + 1)));
            }
            Value::Array(values) if depth < LEVELS_MAX => {
                open.extend(values.iter().map(|value| (value, depth + 1)));
            }
            _ => {}
        }
    }
    false
}

/// Could the `text` at `place` be the URL of a record, or its path?
fn may_be_url(place: &str, text: &str) -> bool {
    let is_like_one = cell::is_url(text.as_bytes())
        || text.starts_with('/')
        || is_named_as_url(place) && text.contains(['/', '.']);
    is_like_one && !text.contains(' ') && !last_name(place).contains("refer")
}

/// Does the member at `place` have a usual name for URLs?
fn is_named_as_url(place: &str) -> bool {
    let name = last_name(place);
    ["url", "uri", "path", "page", "link", "href"].iter().any(|word| name.contains(word))
}

fn last_name(place: &str) -> String {
    place.rsplit('/').next().unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a list of `first` and `count` times `line` may be: what parts its cells, whether it has
    /// several URLs, and its columns.
    fn table(first: &str, line: &str, count: usize) -> Option<(char, bool, String)> {
        let mut lines = vec![line.as_bytes(); count];
        if !first.is_empty() {
            lines.insert(0, first.as_bytes());
        }
        match seeming(&lines)? {
            Seeming::Table { has_several_urls, delimiter, columns } => {
                Some((char::from(delimiter), has_several_urls, columns))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn several_urls() {
        for (line, delimiter) in [
            ("https://a.test/1,https://b.test/2,200", ','),
            ("a\thttps://a.test/1\thttp://b.test/2", '\t'),
            ("https://a.test/1;https://b.test/2;200", ';'),
            ("https://a.test/1|https://b.test/2", '|'),
            ("https://a.test/1 https://b.test/2", ' '),
            ("\"https://a.test/1\",\"https://b.test/2\"", ','),
            ("\"https://a.test/1\";\"https://b.test/2\"", ';'),
        ] {
            assert_eq!(table("", line, 20), Some((delimiter, true, String::new())), "{line}");
            assert_eq!(table("", line, 9), None, "too few say nothing");
            let header = line.replace("https://a.test/1", "from").replace("https://b.test/2", "to");
            let header = header.replace("http://b.test/2", "to");
            let (_, _, columns) = table(&header, line, 2).expect("a header says that it is one");
            assert!(columns.contains("\"from\", ") && columns.contains("\"to\""), "{columns}");
        }
        assert_eq!(table("", "https://a.test/?u=http://b.test/", 20), None);
        let few = [vec![&b"https://a.test/,https://b.test/"[..]; 10], vec![b"http://c.test/"; 10]];
        assert_eq!(seeming(&few.concat()), None);
    }

    #[test]
    fn comments_and_fractions() {
        let columns = "1 \"Website\", 2 \"Visits\", 3 \"CTR\"";
        for (first, line, delimiter) in [
            ("Website;Visits;CTR", "https://e.test/p;1;1,5", ';'),
            ("Website|Visits|CTR", "https://e.test/p|1|1.5", '|'),
            ("Website,Visits,CTR", "https://e.test/p,1,1.5 %", ','),
        ] {
            let expected = Some((delimiter, false, columns.to_string()));
            assert_eq!(table(first, line, 12), expected, "{line}");
            let lines = [&[&b"# made by hand"[..], first.as_bytes()][..], &[line.as_bytes(); 12]];
            let found = seeming(&lines.concat());
            assert!(matches!(found, Some(Seeming::Table { .. })), "{line}: {found:?}");
        }
    }

    #[test]
    fn colors() {
        assert_eq!(seeming(&[b"\x1b[96mhttps://e.test/\x1b[0m"]), Some(Seeming::Colored));
        assert_eq!(seeming(&[b"https://e.test/\x1b[0m"]), None, "within a URL");
        assert_eq!(seeming(&[b"\x1b[0m", b"https://e.test/"]), None);
    }

    #[test]
    fn as_many_cells() {
        let columns = "1 \"Seite\", 2 \"Aufrufe\"";
        for (first, line, count, expected) in [
            ("", "https://a.test/1,200,Title", 20, Some((',', ""))),
            ("", "https://a.test/1;Title", 20, Some((';', ""))),
            ("", "https://a.test/x,200", 20, Some((',', ""))),
            ("", "https://a.test/x;404", 20, Some((';', ""))),
            ("", "https://a.test/x,201", 20, None),
            ("", "www.a.test/p,Start", 20, Some((',', ""))),
            ("", "www.a.test/p,Start", 9, None),
            ("Seite,Aufrufe", "www.a.test/p,20", 2, Some((',', columns))),
            ("Seite,Aufrufe", "www.a.test/p,20", 1, None),
            ("www.a.com/p,20", "www.a.com/q,20", 2, None),
            // Ends of URLs, and queries.
            ("", "https://a.test/a,1.html", 20, None),
            ("", "https://a.test/index.php/topic,12", 20, None),
            ("", "https://a.test/@48.1,11.5,15z", 20, None),
            ("# a list, of today", "https://a.test/x,Title", 20, Some((',', ""))),
            ("", "https://a.test/a;s=1", 20, None),
            ("", "https://a.test/@48.1,11.5,15z/x", 20, None),
            ("", "https://a.test/?x=1,2", 20, None),
            ("", "https://a.test/a b", 20, None),
            ("", "https://a.test/a 200", 20, Some((' ', ""))),
            ("", "https://a.test/a [200]", 20, Some((' ', ""))),
            ("", "https://a.test/a|0.8", 20, Some(('|', ""))),
            ("", "https://a.test/a 200", 9, None),
            ("", "https://a.test/a b 200", 20, None),
            ("", "a 200", 20, None),
            ("", "https://a.test/", 20, None),
        ] {
            let expected = expected.map(|(byte, columns)| (byte, false, columns.to_string()));
            assert_eq!(table(first, line, count), expected, "{line}");
        }
    }

    #[test]
    fn json_that_jq_makes_lines_of() {
        let log =
            |place: &str, is_request| Seeming::JsonAroundLog { place: place.into(), is_request };
        for (lines, expected) in [
            (&[r#"{"log":"1.2.3.4 - - [x] \"GET /a HTTP/1.1\" 200 5"}"#][..], log("/log", false)),
            (&[r#"{"n":{"request":"GET / HTTP/1.1"}}"#], log("/n/request", true)),
            (
                &[r#"{"message":"\"GET /a HTTP/1.1\" 200 5","log":{"file":{"path":"/a.log"}}}"#],
                log("/message", false),
            ),
            (&["[", "  \"https://a.test/\",", "]"], Seeming::JsonDocument),
            (&["[\"https://a.test/\"]"], Seeming::JsonDocument),
            (
                &[
                    "{\"results\":[{\"url\":\"https://a.test/\"}],\"config\":{\"url\":\"https://a.test/FUZZ\"}}",
                ],
                Seeming::JsonDocument,
            ),
            (
                &["{", "  \"host\": \"a.test\",", "  \"path\": \"/b\"", "}", "{"],
                Seeming::JsonOverLines,
            ),
            (&["{", "  \"Service\": \"http://a.test/\"", "}"], Seeming::JsonDocument),
            (&["[\"https://a.test/\",\"x\"]"; 20], Seeming::JsonDocument),
            (
                &[r#"{"log":{"entries":[{"request":{"url":"https://a.test/"}}]}}"#],
                Seeming::JsonDocument,
            ),
            (
                &[r#"Nov 26 10:00:00 web caddy[9]: {"level":"info","x":{"y":1}}"#],
                Seeming::JsonBehindWords,
            ),
        ] {
            let bytes: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
            assert_eq!(seeming(&bytes), Some(expected), "{lines:?}");
        }
        assert_eq!(seeming(&[]), None);
        for line in ["https://a.test/{x}", "see {\"a\": 1", "[x] https://a.test/"] {
            assert_eq!(seeming(&[line.as_bytes()]), None, "{line}");
        }
    }

    #[test]
    fn places_in_json() {
        for (line, expected) in [
            (
                r#"{"properties":{"requestUri":"https://a.test/","x":"/"}}"#,
                "/properties/requestUri",
            ),
            (r#"{"to":"http://a.test/","details":{"page":"http://a.test/"}}"#, "/details/page"),
            (r#"{"req":{"headers":{"referer":"http://b.test/"},"url":"/a"}}"#, "/req/url"),
            (r#"{"reqPath":"a/b.html","type":"text/html"}"#, "/reqPath"),
            (r#"{"a/b~c":"http://a.test/"}"#, "/a~1b~0c"),
            (r#"{"x,y":"http://a.test/","z":"/ b"}"#, ""),
        ] {
            let found = seeming(&[line.as_bytes(), line.as_bytes(), b"x"]);
            let Some(Seeming::Json(places)) = found else { panic!("{line}: {found:?}") };
            assert_eq!(places.first().map_or("", |place| place), expected, "{line}");
        }
        let several = br#"{"d":"/","c":"/","b":"/","a":"/"}"#;
        let places = ["/a", "/b", "/c"].map(str::to_string).to_vec();
        assert_eq!(seeming(&[several]), Some(Seeming::Json(places)));
        for lines in [&[&b"{\"a\":1}"[..], b"x"][..], &[b"[1]"], &[b"{"]] {
            assert_eq!(seeming(lines), None);
        }
    }
}
