//! Removes unnecessary escapes from JSON: `\/` and `\u0041`, as some writers have them.
//!
//! ```text
//! {"host":"a.test","uri":"\/b\u003fc=\"d\""}    becomes
//! {"host":"a.test","uri":"/b?c=\"d\""}
//! ```
//!
//! The parts of a record are slices of its line, and their bytes decide whether one is a path, a
//! method or a scheme. So a chunk with such escapes is parsed in this spelling.
//!
//! HOT: once per chunk. Price: a search for backslashes; a copy of chunks with such escapes.
//! Guard: `tests::says_the_same`.

use memchr::{memchr_iter, memchr2};

use crate::bytes::{Lines, hex};

/// Writes the lines of `chunk` to `out` without such escapes, one for one. `false`, and nothing is
/// written, if there are none.
///
/// - Shape: only the contents of strings change, so a line is JSON if it was. Text before the first
///   object or array of a line, such as the key of an index, stays.
/// - Source: RFC 8259 section 7.
pub(crate) fn unescaped_lines(chunk: &[u8], separator: u8, out: &mut Vec<u8>) -> bool {
    if !memchr_iter(b'\\', chunk).any(|at| is_needless(&chunk[at..])) {
        return false;
    }
    out.reserve(chunk.len());
    for line in Lines::new(chunk, separator) {
        let start = memchr2(b'{', b'[', line).unwrap_or(line.len());
        out.extend_from_slice(&line[..start]);
        write_line(&line[start..], out);
        out.push(separator);
    }
    true
}

/// May `text` start with such an escape?
fn is_needless(text: &[u8]) -> bool {
    matches!(text, [_, b'/', ..] | [_, b'u', b'0', b'0', b'2'..=b'7', ..])
}

/// The byte of the escape at the start of `text`, and the length of the escape, if the byte needs
/// none.
#[inline]
fn needless_escape(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'\\', b'/', ..] => Some((b'/', 2)),
        [b'\\', b'u', b'0', b'0', high, low, ..] => match hex::pair(*high, *low)? {
            b'"' | b'\\' => None,
            byte @ b' '..=b'~' => Some((byte, 6)),
            _ => None,
        },
        _ => None,
    }
}

fn write_line(mut rest: &[u8], out: &mut Vec<u8>) {
    let mut is_inside = false;
    while let Some(at) = memchr2(b'"', b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let needless = if is_inside { needless_escape(rest) } else { None };
        let taken = match (rest, needless) {
            ([b'"', ..], _) => {
                is_inside = !is_inside;
                out.push(b'"');
                1
            }
            (_, Some((byte, length))) => {
                out.push(byte);
                length
            }
            // Perhaps an escaped quote, or an escaped backslash.
            _ => {
                let taken = rest.len().min(2);
                out.extend_from_slice(&rest[..taken]);
                taken
            }
        };
        rest = &rest[taken..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bytes::show;

    fn plain(chunk: &str) -> Option<String> {
        let mut out = Vec::new();
        unescaped_lines(chunk.as_bytes(), b'\n', &mut out).then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn table() {
        for (given, expected, why) in [
            (r#"{"a":"\/b"}"#, r#"{"a":"/b"}"#, "a slash"),
            (r#"{"a":"\u002Fb\u0048"}"#, r#"{"a":"/bH"}"#, "numbers"),
            (r#"{"\u0061":1}"#, r#"{"a":1}"#, "a name"),
            (r#"{"a":"\\/\\u0041\/"}"#, r#"{"a":"\\/\\u0041/"}"#, "backslashes that are escaped"),
            (r#"{"a":"\"\/\""}"#, r#"{"a":"\"/\""}"#, "quotes that are escaped"),
            (
                r#"{"a":"\u0022\u005c\u000a\u007f\/"}"#,
                r#"{"a":"\u0022\u005c\u000a\u007f/"}"#,
                "needed",
            ),
            (r#"{"a":\u0031,"b":"\/"}"#, r#"{"a":\u0031,"b":"/"}"#, "no JSON"),
            (r#"com,a)/" 2020 {"a":"\/"}"#, r#"com,a)/" 2020 {"a":"/"}"#, "an index"),
            ("{\"a\":\"\\/\"}\n\n{\"b\":\"\\", "{\"a\":\"/\"}\n\n{\"b\":\"\\", "line for line"),
        ] {
            assert_eq!(plain(given), Some(format!("{expected}\n")), "{why}");
        }
        assert_eq!(plain(r#"{"a":"\n\"\\ /"}"#), None, "nothing to do");
    }

    proptest! {
        #[test]
        fn says_the_same(text in r#"(\{"a":"|"|\}|\\u00[0-7][0-9a-f]|\\/|\\"|\\\\|\\u00e9|[a-z/]|1|,|\n){0,20}"#) {
            let Some(plain) = plain(&text) else { return Ok(()) };
            let given: Vec<&[u8]> = Lines::new(text.as_bytes(), b'\n').collect();
            let found: Vec<&[u8]> = Lines::new(plain.as_bytes(), b'\n').collect();
            prop_assert_eq!(given.len(), found.len());
            for (given, found) in given.iter().zip(&found) {
                let value = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).ok();
                prop_assert_eq!(value(given), value(found), "{}", show(given));
            }
        }
    }
}
