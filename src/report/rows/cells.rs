//! The cells of a row as bytes: between tabs, between commas, as a JSON object.

use std::borrow::Cow;

use super::tables::{ColumnKind, Table};
use super::{RowFormat, Shape};
use crate::bytes::decimal::push_number;
use crate::bytes::hex;

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// Text: bytes, UTF-8 or not.
    Text(&'a [u8]),
    /// A count, or the number of a line.
    Number(u64),
    /// Not known. An empty field in TSV and CSV.
    Null,
}

/// Appends a row of `table` with its line end. Of a format of lines.
pub(super) fn push_row(out: &mut Vec<u8>, shape: Shape, table: &Table, cells: &[Cell]) {
    for (at, (cell, column)) in cells.iter().zip(table.columns).enumerate() {
        debug_assert!(fits(*cell, column.kind), "{}: {cell:?}", column.name);
        match shape.format {
            RowFormat::Tsv | RowFormat::Csv => {
                let is_csv = shape.format == RowFormat::Csv;
                if at > 0 {
                    out.push(if is_csv { b',' } else { b'\t' });
                }
                match *cell {
                    Cell::Text(text) => {
                        let guard = shape.guards_formulas && looks_like_formula(text);
                        if is_csv {
                            push_csv(out, text, guard);
                        } else {
                            out.extend_from_slice(if guard { b"'" } else { b"" });
                            push_tsv(out, text);
                        }
                    }
                    Cell::Number(number) => push_number(out, number),
                    Cell::Null => {}
                }
            }
            RowFormat::Jsonl | RowFormat::Parquet => {
                out.push(if at == 0 { b'{' } else { b',' });
                push_json_field(out, column.name, *cell);
            }
        }
    }
    if shape.format == RowFormat::Jsonl {
        out.push(b'}');
    }
    out.extend_from_slice(shape.format.line_end());
}

/// Is `cell` of this kind, or nothing?
fn fits(cell: Cell, kind: ColumnKind) -> bool {
    match cell {
        Cell::Text(_) => kind != ColumnKind::Number,
        Cell::Number(_) => kind == ColumnKind::Number,
        Cell::Null => true,
    }
}

/// Would a spreadsheet evaluate it as a formula? Source: OWASP, "CSV Injection".
fn looks_like_formula(text: &[u8]) -> bool {
    matches!(text.first(), Some(b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r'))
}

/// Appends `field` with tabs, line breaks and backslashes escaped.
pub(crate) fn push_tsv(out: &mut Vec<u8>, field: &[u8]) {
    // Bet: there are none of them.
    let has_none = memchr::memchr3(b'\t', b'\n', b'\r', field).is_none()
        && memchr::memchr(b'\\', field).is_none();
    if has_none {
        return out.extend_from_slice(field);
    }
    let is_special = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b'\\');
    let mut rest = field;
    while let Some(at) = rest.iter().position(is_special) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(match rest[at] {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            _ => b"\\\\",
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Appends `field`, in quotes if it contains special characters, or a `#`: readers that support
/// comments cut lines at a `#` anywhere.
fn push_csv(out: &mut Vec<u8>, field: &[u8], guard: bool) {
    let guard: &[u8] = if guard { b"'" } else { b"" };
    let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\r' | b'\n' | b'#');
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
    if !field.iter().any(is_special) && !is_edge(field.first()) && !is_edge(field.last()) {
        out.extend_from_slice(guard);
        out.extend_from_slice(field);
        return;
    }
    out.push(b'"');
    out.extend_from_slice(guard);
    for byte in field {
        if *byte == b'"' {
            out.push(b'"');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

/// For a longer text, exactly the room that it takes is reserved.
const LONG_BYTES: usize = 16 << 10;

/// Room for the rest of its row.
const ROOM_BESIDE: usize = 256;

fn push_json_field(out: &mut Vec<u8>, name: &str, cell: Cell) {
    // Names of columns need no escapes.
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    match cell {
        Cell::Null => out.extend_from_slice(b"null"),
        Cell::Number(number) => push_number(out, number),
        Cell::Text(text) => {
            let readable = readable(text);
            if text.len() > LONG_BYTES {
                // Doubling the buffer may take more memory than there is.
                let again = if matches!(readable, Cow::Owned(_)) { base64_bytes(text) } else { 0 };
                out.reserve_exact(json_bytes(&readable) + again + ROOM_BESIDE);
            }
            serde_json::to_writer(&mut *out, &readable).expect("memory takes any string");
            let is_other = matches!(readable, Cow::Owned(_));
            drop(readable);
            if is_other {
                out.extend_from_slice(b",\"");
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b"_b64\":\"");
                push_base64(out, text);
                out.push(b'"');
            }
        }
    }
}

/// `text` as UTF-8: bytes that are not are percent-escaped, which in a URL means the same.
pub(crate) fn readable(text: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(text) {
        return text.into();
    }
    let others: usize = text.utf8_chunks().map(|part| part.invalid().len()).sum();
    let mut out = String::with_capacity(text.len() + 2 * others);
    for part in text.utf8_chunks() {
        out.push_str(part.valid());
        for byte in part.invalid() {
            let escape = &hex::ESCAPES[usize::from(*byte)][..3];
            out.extend(escape.iter().map(|byte| char::from(*byte)));
        }
    }
    out.into()
}

/// Bytes that `text` takes as a JSON string.
fn json_bytes(text: &str) -> usize {
    // Without branches, in sums that a byte has room for: many at once.
    let escapes = text.as_bytes().chunks(32).map(|some| {
        let more = some.iter().map(|byte| {
            let is_control = u8::from(*byte < b' ');
            let has_letter = matches!(byte, b'\x08' | b'\t' | b'\n' | b'\x0c' | b'\r');
            let is_marked = matches!(byte, b'"' | b'\\');
            5 * is_control - 4 * u8::from(has_letter) + u8::from(is_marked)
        });
        usize::from(more.sum::<u8>())
    });
    text.len() + escapes.sum::<usize>() + 2
}

fn base64_bytes(bytes: &[u8]) -> usize {
    bytes.len().div_ceil(3) * 4
}

/// Appends `bytes` in Base64, with padding (RFC 4648 section 4).
pub(crate) fn push_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) & 63;
            out.push(if digit <= three.len() { DIGITS[index as usize] } else { b'=' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_take_no_more_than_they_need() {
        let long = |text: &[u8]| text.repeat(LONG_BYTES);
        for text in [&b"abc"[..], b"\x01\"\\", b"\xff\xfe", "\u{e9}\n\u{1f}".as_bytes()].map(long) {
            let mut out = b"{".to_vec();
            push_json_field(&mut out, "url", Cell::Text(&text));
            assert!(out.capacity() <= out.len() + 2 * ROOM_BESIDE);
            out.push(b'}');
            let found: serde_json::Value = serde_json::from_slice(&out).unwrap();
            assert_eq!(found["url"], *readable(&text));
            assert_eq!(found.get("url_b64").is_some(), std::str::from_utf8(&text).is_err());
        }
    }

    #[test]
    fn csv_that_may_be_cut_at_comments() {
        for (field, expected) in [
            ("http://a.test/#b", "\"http://a.test/#b\""),
            ("#b", "\"#b\""),
            ("a,\"b\"", "\"a,\"\"b\"\"\""),
            (" a", "\" a\""),
            ("http://a.test/", "http://a.test/"),
        ] {
            let mut out = Vec::new();
            push_csv(&mut out, field.as_bytes(), false);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn base64_vectors() {
        // RFC 4648 section 10.
        for (given, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = Vec::new();
            push_base64(&mut out, given.as_bytes());
            assert_eq!(out, expected.as_bytes());
            assert_eq!(out.len(), base64_bytes(given.as_bytes()));
        }
    }
}
