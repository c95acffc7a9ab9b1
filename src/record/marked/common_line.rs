//! HOT: once per line of an access log. Reads lines of the most common form by their marks.
//!
//! ```text
//! client - - [10/Oct/2000:13:55:36 -0700] "GET /target HTTP/1.1" 200 2326 ...
//!           ^                             ^                    ^
//!           first bracket                 29 bytes later       the next quote or backslash
//! ```
//!
//! Price: one look-up in the marks of brackets, one in those of quotes, and some words of eight
//! bytes. All other lines (a user name, a target with blanks at its ends or with escapes, a size of
//! 10 MB and more, …) are left to the parser of the format, which alone decides about rejects.
//! Guard: `benches/extract.rs`, group `logs`. Twin: `Access::find`; the tests compare.

use super::lines::{LineMarks, set};
use crate::record::fields::cut::{Cut, value};
use crate::record::fields::escapes::Escapes;
use crate::record::found::Fields;

/// The columns to read after the size: their numbers from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommonLine {
    pub(crate) referrer: Option<usize>,
    pub(crate) agent: Option<usize>,
}

/// The parts of a common line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundLine<'a> {
    /// A path, without escapes of the log.
    pub(crate) target: &'a [u8],
    /// Where it starts in the text.
    pub(crate) target_start: usize,
    method: &'a [u8],
    status: &'a [u8],
    size: &'a [u8],
    time: &'a [u8],
    /// What follows the size and a blank.
    rest: &'a [u8],
}

/// Bytes checked before a request, from the blank before the first hyphen on.
const HEAD: usize = 35;

/// Bytes checked after a request: a blank, a status, a blank, a size.
const TAIL: usize = 13;

impl CommonLine {
    /// The parts of the line `text[start..end]`; `marks` are those of `text`. `None` if it is not a
    /// common line. The line may end with a carriage return.
    #[inline(always)]
    pub(crate) fn find<'a>(
        self,
        text: &'a [u8],
        marks: &LineMarks,
        start: usize,
        end: usize,
    ) -> Option<FoundLine<'a>> {
        // Bet: the client's address is shorter than a word has bits, and there is no user name.
        let bracket = start + marks.window(set::BRACKET, start).trailing_zeros() as usize;
        let request_start = bracket + 30;
        if bracket < start + 6 || request_start >= end || text[start] <= b' ' {
            return None;
        }
        let around: &[u8; HEAD] = text.get(bracket - 5..)?.first_chunk()?;
        let [_, _, _, _, _, _, time @ .., _, _, _] = around;
        if around[..6] != *b" - - ["
            || around[HEAD - 3..] != *b"] \""
            || !time[0].is_ascii_digit()
            || time[2] != b'/'
        {
            return None;
        }
        // Bet: there is neither a quote nor a backslash in the request.
        let close = marks.next(set::QUOTE, request_start);
        let tail: &[u8; TAIL] = text.get(close + 1..)?.first_chunk()?;
        let size_length = number_behind_status(tail)?;
        let size_start = close + 6;
        let size_end = size_start + size_length;
        // The quote or the number may be beyond the end of the line.
        if text[close] != b'"' || size_end > end || size_end < end && text[size_end] != b' ' {
            return None;
        }
        let request = &text[request_start..close];
        let method_length = match request.first_chunk()? {
            b"GET /" => 3,
            b"POST " | b"HEAD " => 4,
            _ => return None,
        };
        let (target, protocol) = request[method_length + 1..].split_last_chunk::<9>()?;
        let ([b'/', ..], [.., last]) = (target, target) else { return None };
        if *last <= b' ' || protocol[..6] != *b" HTTP/" {
            return None;
        }
        let size = &text[size_start..size_end];
        Some(FoundLine {
            target,
            target_start: request_start + method_length + 1,
            method: &request[..method_length],
            status: &text[close + 2..close + 5],
            size: value(size),
            time,
            rest: text[size_end..end].get(1..).unwrap_or_default(),
        })
    }

    /// The fields of `line`, other than its target.
    pub(crate) fn fields<'a>(self, line: &FoundLine<'a>) -> Fields<'a> {
        let FoundLine { method, status, size, time, rest, .. } = *line;
        let escapes = Escapes::Backslash;
        let mut fields = Fields { method, status, size, time, escapes, ..Fields::NONE };
        let mut cut = Cut::new(rest.strip_suffix(b"\r").unwrap_or(rest));
        for column in 0..=self.referrer.max(self.agent).unwrap_or(0) {
            let Some(text) = cut.field().map(value) else { break };
            if self.referrer == Some(column) {
                fields.referrer = text;
            } else if self.agent == Some(column) {
                fields.agent = text;
            }
        }
        fields
    }
}

/// The length of the number after ` 200 `, or of its `-`; `None` if that is not a status, or if the
/// number has more than seven digits. What follows the number is not checked.
#[inline(always)]
fn number_behind_status(tail: &[u8; TAIL]) -> Option<usize> {
    const ZEROS: u64 = u64::from_le_bytes(*b"00000000");
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const BLANKS: u64 = u64::from_le_bytes(*b" \0\0\0 \0\0\0");
    let word = |at: usize| tail[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    // The digits are bytes below ten then; any other byte has a bit of 0x80 in the sum, or in
    // itself. A sum may carry, but only beyond the first of those.
    let others = |word: u64| {
        let digits = word ^ ZEROS;
        (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & HIGH
    };
    let status = word(0);
    let is_status = status & 0xff_0000_00ff == BLANKS && others(status >> 8) & 0xff_ffff == 0;
    let length = others(word(5)).trailing_zeros() as usize / 8;
    match length {
        _ if !is_status => None,
        0 => (tail[5] == b'-').then_some(1),
        8 => None,
        _ => Some(length),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::MarkedLines;
    use super::*;
    use crate::bytes::show;
    use crate::record::formats::access::Access;
    use crate::record::formats::samples::sample;
    use crate::record::{
        BaseUrl, Entries, Found, Layout, LineFormat, Parsed, ReadOptions, RecordFilter,
        StatusRange, Workspace,
    };

    /// An access log that is read without marks.
    #[derive(Debug, PartialEq)]
    struct Slowly(Access);

    impl LineFormat for Slowly {
        fn name(&self) -> &'static str {
            self.0.name()
        }

        fn parse<'a>(&self, line: &'a [u8], found: &mut Found<'a>) -> Parsed {
            self.0.parse(line, found)
        }
    }

    /// Reads all entries of `text`, in words; without what is said beside URLs if `fields` are not
    /// asked for.
    fn entries(
        text: &[u8],
        format: Arc<dyn LineFormat>,
        how: u8,
        line_bytes_max: usize,
    ) -> Vec<String> {
        let fields = how & 1 == 0;
        let options = ReadOptions { separator: b'\n', line_bytes_max, verbatim: false, fields };
        let base = BaseUrl::parse("https://a.test:8443").unwrap();
        let statuses = vec![StatusRange::parse("2xx").unwrap()];
        let filter =
            RecordFilter { statuses, methods: vec![b"GET".to_vec()], ..RecordFilter::default() };
        let layout = Layout {
            format: Some(format),
            base: (how & 2 != 0).then(|| Arc::new(base)),
            filter: (how & 4 != 0).then(|| Arc::new(filter)),
            ..Layout::default()
        };
        let mut workspace = Workspace::default();
        let mut entries = Entries::new(text, how & 8 != 0, options, &layout, &mut workspace);
        let mut all = Vec::new();
        while let Some(entry) = entries.next() {
            all.push(match entry {
                crate::record::Entry::Record(record) if !fields => {
                    let [line, spelling, url] = [record.line, record.spelling, record.url]
                        .map(|text| show(text).to_string());
                    format!("{line} {spelling} {url}")
                }
                entry => format!("{entry:?}"),
            });
        }
        all
    }

    /// Compares both ways to read `text`, in each of the ways `how`. How many lines were common
    /// ones?
    fn compare(text: &[u8], how: impl IntoIterator<Item = u8>) -> usize {
        for how in how {
            for access in [Access::clf(), Access::combined()] {
                let slowly = Arc::new(Slowly(access.clone()));
                for line_bytes_max in [80, 1 << 20] {
                    let expected = entries(text, slowly.clone(), how, line_bytes_max);
                    let found = entries(text, Arc::new(access.clone()), how, line_bytes_max);
                    assert_eq!(found, expected, "{how}: {}", show(text));
                }
            }
        }
        let (mut marked, mut start) = (MarkedLines::default(), 0);
        let Some(stretch) = marked.mark(text) else { return 0 };
        let mut common = 0;
        while let Some(end) = marked.next_end() {
            let found = CommonLine::default().find(stretch, &marked.marks(), start, end);
            common += usize::from(found.is_some());
            start = end + 1;
        }
        common
    }

    /// Lines beside those of the samples: each just within what is common, or just beyond.
    fn lines() -> Vec<u8> {
        let mut lines = String::new();
        let line = |head: &str, request: &str, tail: &str| {
            format!("{head}[10/Oct/2000:13:55:36 -0700] \"{request}\" {tail}\n")
        };
        for head in
            ["h - - ", "- - ", " - - ", "  - - ", "h  - - ", "h - u ", "h - - [", "h [ - - "]
        {
            lines += &line(head, "GET / HTTP/1.1", "200 1 \"-\" \"-\"");
        }
        lines += &line(&format!("{} - - ", "h".repeat(60)), "GET / HTTP/1.1", "200 1");
        for request in [
            "GET /",
            "GET / HTTP/1.1",
            "GET  / HTTP/1.1",
            "GET /  HTTP/1.1",
            "HEAD /a HTTP/1.0",
            "POST /a?b HTTP/2.0",
            "POST HTTP/1.1",
            "PUT /a HTTP/1.1",
            "GET /\\\" HTTP/1.1",
            "GET /\" 200 1 HTTP/1.1",
            "GET /a HTTP/1.10",
            "GET /\t HTTP/1.1",
            "GET x HTTP/1.1",
            "GET http://b.test/ HTTP/1.1",
            "GET /a HTTP/1.1\\",
            "-",
            "",
        ] {
            lines += &line("h - - ", request, "200 1 \"http://r.test/\" \"A/1\"");
        }
        lines += &line("h - - ", &format!("GET /{} HTTP/1.1", "a".repeat(300)), "200 1");
        for tail in [
            "200 1",
            "200 -",
            "200 12345678",
            "200 1234567",
            "200 1\r",
            "200 -\r",
            "- 1",
            "20 1",
            "2000 1",
            "200 1x",
            "200  1",
            "200 -1 ",
            "200",
            "200 ",
            "200 1 ",
            "200 1 \"r\" \"a\"\r",
            "200 1 \"r",
            "200 1 r [a] \"b\"",
            "2:0 1",
            "200 1:",
        ] {
            lines += &line("h - - ", "GET /a HTTP/1.1", tail);
        }
        lines.into_bytes()
    }

    #[test]
    fn agrees_with_the_parser() {
        let all = [lines(), sample("combined.log"), sample("access.log")].concat();
        let common = compare(&all, 0..16);
        assert!(common > 20, "{common} common lines");
        // The last line without its separator, cut at every place.
        let line = &all[..all.iter().position(|byte| *byte == b'\n').unwrap()];
        for end in 0..line.len() {
            compare(&[line, b"\n", &line[..end]].concat(), [0, 1]);
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_parser_on_mutations(
            changes in prop::collection::vec(
                (any::<prop::sample::Index>(), 0..4u8, prop_oneof![
                    4 => prop::sample::select(b"\"\\[] -\n\r\t\0/059:GH".to_vec()),
                    1 => any::<u8>(),
                ]),
                1..12,
            ),
            start in any::<prop::sample::Index>(),
            how in 0..16u8,
        ) {
            let all = [lines(), sample("combined.log")].concat();
            let start = start.index(all.len());
            let mut text = all[start..all.len().min(start + 1500)].to_vec();
            for (place, kind, byte) in changes {
                let place = place.index(text.len().max(1)).min(text.len());
                match kind {
                    0 => text.insert(place, byte),
                    1 if place < text.len() => { text.remove(place); }
                    2 => text.truncate(place.max(text.len() / 2)),
                    _ if place < text.len() => text[place] = byte,
                    _ => {}
                }
            }
            compare(&text, [how]);
        }
    }
}
