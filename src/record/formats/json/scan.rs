//! Finds some values in a JSON text, in one pass.
//!
//! HOT: once per line. Price: each byte is read once, within strings eight at a time; a table
//! look-up for each name in an object with wanted values. No recursion; no allocation, except for
//! names with escapes. Guard: `tests::agrees_with_serde`.

use crate::bytes::hex;
use crate::limits::JSON_DEPTH_MAX;
use crate::record::Escapes;

/// Deepest level on which values are looked for. Reason: no known format has a URL deeper.
pub(super) const PATH_TOKENS_MAX: usize = 16;

/// Where no wanted value can be.
const NOWHERE: u16 = u16::MAX;

/// The whole text.
const ROOT: u16 = 0;

const BUCKETS: usize = 256;

/// Places in JSON texts, as a tree of names; the numbers of array elements are names too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    edges: Vec<Edge>,
    /// The first edge of each bucket, by parent and name.
    buckets: Vec<u16>,
    /// For each node the number of its place, or [`NOWHERE`].
    numbers: Vec<u16>,
    /// For each node whether it has children.
    has_children: Vec<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Edge {
    parent: u16,
    name: Box<[u8]>,
    child: u16,
    next: u16,
}

/// A value at a wanted place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A string without its quotes, and whether there are escapes in it.
    Text(&'a [u8], bool),
    Number(&'a [u8]),
    Object,
}

impl Places {
    /// The places at these paths of names, numbered from 0 in this order. Of equal paths the first
    /// counts.
    pub(super) fn new<'n>(paths: impl IntoIterator<Item = Vec<&'n [u8]>>) -> Places {
        let mut places = Places {
            edges: Vec::new(),
            buckets: vec![NOWHERE; BUCKETS],
            numbers: vec![NOWHERE],
            has_children: vec![false],
        };
        for (number, path) in paths.into_iter().enumerate() {
            let mut node = ROOT;
            for name in path {
                node = match places.child(node, name) {
                    NOWHERE => places.add(node, name),
                    child => child,
                };
            }
            let slot = &mut places.numbers[usize::from(node)];
            if *slot == NOWHERE {
                *slot = number as u16;
            }
        }
        places
    }

    fn add(&mut self, parent: u16, name: &[u8]) -> u16 {
        let child = self.numbers.len() as u16;
        self.numbers.push(NOWHERE);
        self.has_children.push(false);
        self.has_children[usize::from(parent)] = true;
        let bucket = &mut self.buckets[bucket(parent, name)];
        let edge = Edge { parent, name: name.into(), child, next: *bucket };
        *bucket = self.edges.len() as u16;
        self.edges.push(edge);
        child
    }

    /// The node `name` below `parent`, or [`NOWHERE`].
    #[inline]
    fn child(&self, parent: u16, name: &[u8]) -> u16 {
        if parent == NOWHERE {
            return NOWHERE;
        }
        let mut at = self.buckets[bucket(parent, name)];
        while let Some(edge) = self.edges.get(usize::from(at)) {
            if edge.parent == parent && *edge.name == *name {
                return edge.child;
            }
            at = edge.next;
        }
        NOWHERE
    }

    /// The number of the place of the member `name` of the outermost object.
    #[inline]
    pub(super) fn member(&self, name: &[u8]) -> Option<u16> {
        self.number(self.child(ROOT, name))
    }

    /// The node of element `index` of the array `parent`.
    fn element(&self, parent: u16, index: u32) -> u16 {
        if parent == NOWHERE || !self.has_children[usize::from(parent)] {
            return NOWHERE;
        }
        let mut digits = [0; 10];
        let mut start = digits.len();
        let mut rest = index;
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                return self.child(parent, &digits[start..]);
            }
        }
    }

    /// The number of the place of `node`.
    #[inline]
    fn number(&self, node: u16) -> Option<u16> {
        self.numbers.get(usize::from(node)).copied().filter(|number| *number != NOWHERE)
    }
}

/// Hashes wanted names. Crafted input cannot fill a bucket, since only our names are in the table.
#[inline]
fn bucket(parent: u16, name: &[u8]) -> usize {
    let first = usize::from(name.first().copied().unwrap_or_default());
    let last = usize::from(name.last().copied().unwrap_or_default());
    (first * 7 + last * 31 + name.len() * 3 + usize::from(parent) * 13) % BUCKETS
}

/// Parses `text` and calls `found` for every value at one of `places`, with its number. Returns
/// whether `text` is one JSON value; otherwise the values are to be discarded.
///
/// - Limits: nesting up to [`JSON_DEPTH_MAX`]. Linear. In strings, bytes that are not UTF-8
///   are accepted, and in escapes halves of surrogate pairs.
/// - Source: RFC 8259.
#[inline]
pub(super) fn scan<'a>(
    text: &'a [u8],
    places: &Places,
    mut found: impl FnMut(u16, Value<'a>),
) -> bool {
    Reader::new(text, places).read(&mut found).is_some()
}

/// The state of a parse: `at` is the next byte.
struct Reader<'a, 'p> {
    text: &'a [u8],
    places: &'p Places,
    at: usize,
    /// The node of the next value.
    node: u16,
    depth: usize,
    /// One bit for each open bracket: is it an object's?
    is_object: u128,
    /// The node of each open bracket; for an array also the number of elements so far.
    nodes: [u16; PATH_TOKENS_MAX],
    indexes: [u32; PATH_TOKENS_MAX],
    name_buffer: Vec<u8>,
}

impl<'a, 'p> Reader<'a, 'p> {
    #[inline]
    fn new(text: &'a [u8], places: &'p Places) -> Self {
        Reader {
            text,
            places,
            at: 0,
            node: ROOT,
            depth: 0,
            is_object: 0,
            nodes: [NOWHERE; PATH_TOKENS_MAX],
            indexes: [0; PATH_TOKENS_MAX],
            name_buffer: Vec::new(),
        }
    }

    /// Reads the whole text; `None` if it is not JSON.
    #[inline]
    fn read(mut self, found: &mut impl FnMut(u16, Value<'a>)) -> Option<()> {
        self.skip_blanks();
        loop {
            let has_opened = self.read_value(found)?;
            if !self.go_on(has_opened)? {
                return (self.at == self.text.len()).then_some(());
            }
        }
    }

    /// Reads a value, or its opening bracket. Returns whether it was a bracket.
    #[inline(always)]
    fn read_value(&mut self, found: &mut impl FnMut(u16, Value<'a>)) -> Option<bool> {
        let (text, at) = (self.text, self.at);
        let place = self.places.number(self.node);
        match *text.get(at)? {
            b'{' => {
                if let Some(number) = place {
                    found(number, Value::Object);
                }
                self.open(true)?;
                return Some(true);
            }
            b'[' => {
                self.open(false)?;
                return Some(true);
            }
            b'"' => {
                let (end, is_escaped) = string_end(text, at + 1)?;
                if let Some(number) = place {
                    found(number, Value::Text(&text[at + 1..end], is_escaped));
                }
                self.at = end + 1;
            }
            b'-' | b'0'..=b'9' => {
                self.at = number_end(text, at)?;
                if let Some(number) = place {
                    found(number, Value::Number(&text[at..self.at]));
                }
            }
            _ => {
                let words = [&b"true"[..], b"false", b"null"];
                self.at += words.into_iter().find(|word| text[at..].starts_with(word))?.len();
            }
        }
        Some(false)
    }

    /// Reads a bracket that opens.
    #[inline(always)]
    fn open(&mut self, is_object: bool) -> Option<()> {
        if self.depth == JSON_DEPTH_MAX {
            return None;
        }
        if self.depth < PATH_TOKENS_MAX {
            self.nodes[self.depth] = self.node;
            self.indexes[self.depth] = 0;
        }
        self.is_object = self.is_object << 1 | u128::from(is_object);
        self.depth += 1;
        self.at += 1;
        Some(())
    }

    /// Reads closing brackets, and then up to the next member or element. Returns whether there is
    /// one, or the text has ended. Directly after an opening bracket there is no comma.
    #[inline(always)]
    fn go_on(&mut self, mut has_opened: bool) -> Option<bool> {
        loop {
            self.skip_blanks();
            if self.depth == 0 {
                return Some(false);
            }
            let in_object = self.is_object & 1 == 1;
            let byte = *self.text.get(self.at)?;
            if byte != if in_object { b'}' } else { b']' } {
                if !has_opened {
                    self.expect(b',')?;
                }
                if in_object {
                    self.read_name()?;
                } else {
                    self.node = self.next_element();
                }
                return Some(true);
            }
            self.is_object >>= 1;
            self.depth -= 1;
            self.at += 1;
            has_opened = false;
        }
    }

    /// The node of the innermost bracket that is open.
    #[inline(always)]
    fn parent(&self) -> u16 {
        if self.depth <= PATH_TOKENS_MAX { self.nodes[self.depth - 1] } else { NOWHERE }
    }

    /// Reads the name of a member and its colon.
    #[inline(always)]
    fn read_name(&mut self) -> Option<()> {
        let (text, parent) = (self.text, self.parent());
        let start = self.at + 1;
        if text.get(self.at) != Some(&b'"') {
            return None;
        }
        let (end, is_escaped) = string_end(text, start)?;
        let name = &text[start..end];
        self.node = if is_escaped && parent != NOWHERE {
            self.places.child(parent, Escapes::Json.undo(name, &mut self.name_buffer))
        } else {
            self.places.child(parent, name)
        };
        self.at = end + 1;
        self.skip_blanks();
        self.expect(b':')
    }

    /// The node of the next element.
    #[inline(always)]
    fn next_element(&mut self) -> u16 {
        let parent = self.parent();
        if parent == NOWHERE {
            return NOWHERE;
        }
        let index = &mut self.indexes[self.depth - 1];
        let node = self.places.element(parent, *index);
        *index = index.saturating_add(1);
        node
    }

    /// Reads `byte` and the blanks after it.
    #[inline(always)]
    fn expect(&mut self, byte: u8) -> Option<()> {
        if self.text.get(self.at) != Some(&byte) {
            return None;
        }
        self.at += 1;
        self.skip_blanks();
        Some(())
    }

    #[inline(always)]
    fn skip_blanks(&mut self) {
        self.at = skip_blanks(self.text, self.at);
    }
}

#[inline]
fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

/// The position of the quote that ends the string whose text begins at `at`, and whether there are
/// escapes before it.
#[inline]
fn string_end(text: &[u8], mut at: usize) -> Option<(usize, bool)> {
    const ONES: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGHS: u64 = ONES << 7;
    let mut is_escaped = false;
    loop {
        // Eight bytes at a time: the lowest high bit that is set is right; those above it may be
        // wrong because of a borrow.
        while let Some(bytes) = text.get(at..).and_then(|rest| rest.first_chunk()) {
            let word = u64::from_le_bytes(*bytes);
            let below =
                |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word & HIGHS;
            let quotes = below(word ^ (ONES * u64::from(b'"')), 1);
            let backslashes = below(word ^ (ONES * u64::from(b'\\')), 1);
            let special = quotes | backslashes | below(word, 0x20);
            if special != 0 {
                at += special.trailing_zeros() as usize / 8;
                break;
            }
            at += 8;
        }
        match *text.get(at)? {
            b'"' => return Some((at, is_escaped)),
            b'\\' => {
                is_escaped = true;
                match text.get(at + 1)? {
                    b'u' => {
                        let digits = text.get(at + 2..at + 6)?;
                        if !digits.iter().all(|digit| hex::is_digit(*digit)) {
                            return None;
                        }
                        at += 6;
                    }
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                    _ => return None,
                }
            }
            0..0x20 => return None,
            _ => at += 1,
        }
    }
}

/// Where the number ends that begins at `at`.
#[inline]
fn number_end(text: &[u8], mut at: usize) -> Option<usize> {
    let digits = |at: usize| {
        let count = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then_some(at + count)
    };
    at += usize::from(text[at] == b'-');
    at = if text.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if text.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
        at = digits(at)?;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;
    use crate::bytes::show;
    use crate::record::formats::samples;

    fn places() -> Places {
        Places::new([
            vec![&b"url"[..]],
            vec![b"request", b"uri"],
            vec![b"request"],
            vec![b"h", b"0"],
            vec![b"h", b"12", b"x"],
            vec![],
        ])
    }

    fn found(text: &str) -> Option<String> {
        let mut told = Vec::new();
        let is_json = scan(text.as_bytes(), &places(), |number, value| {
            told.push(match value {
                Value::Text(text, is_escaped) => {
                    format!("{number}:{}{}", show(text), if is_escaped { "!" } else { "" })
                }
                Value::Number(text) => format!("{number}={}", show(text)),
                Value::Object => format!("{number}{{}}"),
            });
        });
        is_json.then(|| told.join(" "))
    }

    #[test]
    fn values() {
        let long = format!(r#"{{"h":[{}{{"x":1}}]}}"#, "0,".repeat(12));
        for (text, expected) in [
            (r#"{"url":"http://a.test/"}"#, Some("5{} 0:http://a.test/")),
            (r#" { "url" : "a" , "x" : { "url" : "b" } } "#, Some("5{} 0:a")),
            (r#"{"request":{"uri":"/a","url":"b"},"url":1}"#, Some("5{} 2{} 1:/a 0=1")),
            (r#"{"request":"GET / HTTP/1.1"}"#, Some("5{} 2:GET / HTTP/1.1")),
            (r#"{"h":["a","b"],"h":[["c"]]}"#, Some("5{} 3:a")),
            (r#"{"\u0075rl":"a\/b\\"}"#, Some("5{} 0:a\\\\/b\\\\\\\\!")),
            (r#"{"url":null,"url":true,"url":[1]}"#, Some("5{}")),
            (r#"[{"url":"a"}]"#, Some("")),
            (r#""text""#, Some("5:text")),
            ("-1.5e+3", Some("5=-1.5e+3")),
            (&long, Some("5{} 3=0 4=1")),
            ("", None),
            (r#"{"url":"a"}{"#, None),
            (r#"{"url":"a",}"#, None),
            (r#"{"url" "a"}"#, None),
            (r#"{"url":"a""#, None),
            ("[1}", None),
            ("{]", None),
            ("01", None),
        ] {
            assert_eq!(found(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn deep_ones() {
        for (depth, expected) in [(JSON_DEPTH_MAX, true), (JSON_DEPTH_MAX + 1, false)] {
            let text = "[".repeat(depth) + &"]".repeat(depth);
            assert_eq!(found(&text).is_some(), expected, "{depth}");
            let text = "{\"url\":".repeat(depth) + "1" + &"}".repeat(depth);
            assert_eq!(found(&text).is_some(), expected, "{depth}");
        }
    }

    #[test]
    fn hostile_texts_are_linear() {
        let units = ["[", "{\"a\":", "[[],", "\"\\\\", "1", "{\"\\u0075rl\":1,", " ", "\"a\","];
        samples::check_hostile(&["", "[\"", "{\"h\":["], &units, |text| {
            let text = std::str::from_utf8(text).unwrap();
            assert!(found(text).is_none() || text.starts_with('1'), "{}", &text[..20]);
        });
    }

    fn check(text: &str) {
        // It refuses no depth, no half of a surrogate pair, and no bytes that are not UTF-8.
        let expected = serde_json::from_str::<IgnoredAny>(text).is_ok();
        assert_eq!(found(text).is_some(), expected, "{}", show(text.as_bytes()));
    }

    #[test]
    fn agrees_with_serde_on_pieces() {
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"", "\\", "\\u00e9", "1", "-", "0", ".", "e",
            "+", "true", "null", " ", "\t", "\u{7f}", "\u{1}", "\u{e9}",
        ];
        let count = pieces.len();
        for number in 0..count.pow(4) {
            let pick = |power: u32| pieces[number / count.pow(power) % count];
            let text = [pick(0), pick(1), pick(2), pick(3)].concat();
            check(&text);
            check(&format!("[{text}]"));
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            ".{0,20}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            let name = prop_oneof![Just("url".to_string()), Just("h".to_string()), ".{0,9}"];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                prop::collection::vec((name, inner), 0..5)
                    .prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn agrees_with_serde(value in json(), cut in 0usize..400, other in any::<char>()) {
            let text = value.to_string();
            prop_assert!(found(&text).is_some(), "{}", text);
            if let Some(url) = value.get("url").and_then(|url| url.as_str()) {
                let mut told = None;
                scan(text.as_bytes(), &places(), |number, value| {
                    if let (0, Value::Text(text, _)) = (number, value) {
                        told = Some(Escapes::Json.undo(text, &mut Vec::new()).to_vec());
                    }
                });
                prop_assert_eq!(told.as_deref(), Some(url.as_bytes()));
            }
            // Damaged, it is judged alike.
            if let Some((at, old)) = text.char_indices().nth(cut % text.len()) {
                check(&text[..at]);
                check(&format!("{}{other}{}", &text[..at], &text[at + old.len_utf8()..]));
            }
        }
    }
}
