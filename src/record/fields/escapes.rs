//! The escapes of fields, and how they are undone.

use crate::bytes::hex;

/// How text is escaped in the fields of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Escapes {
    /// No escapes.
    #[default]
    None,
    /// The escapes of Apache and nginx in quotes: `\"`, `\\`, `\xHH`, `\t` and other letters of C.
    Backslash,
    /// The escapes of JSON strings (RFC 8259 section 7).
    Json,
    /// The escapes of HAProxy: `#` and two hex digits.
    Hash,
    /// Two quotes for one, as in CSV (RFC 4180).
    Quotes,
    /// The escapes of CloudFront in user agents: a percent sign, maybe escaped once more, and two
    /// hex digits. Not used in URLs.
    PercentText,
    /// The escapes of CloudFront in URLs: `%25` for each percent sign, so `%2520` for `%20`. A
    /// `%25` that no two hex digits follow stays, since a URL has no bare percent sign.
    PercentSign,
}

impl Escapes {
    /// The bytes that `text` stands for.
    ///
    /// - Shape: `text` itself if nothing in it is escaped; otherwise `buffer`, which is emptied
    ///   first.
    /// - Limits: never longer than `text`. Linear; no allocation except for the buffer.
    /// - Failure: none. Anything that is not a valid escape stays as it is. A `\u` of JSON that is
    ///   half of a surrogate pair becomes U+FFFD.
    /// - Source: Apache `ap_escape_logitem` and nginx `log_format escape=default`; RFC 8259 section
    ///   7; RFC 4180 section 2; HAProxy `lf_encode_chunk`; see [`Escapes`].
    pub fn undo<'a>(self, text: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        let sign = match self {
            Escapes::None => return text,
            Escapes::Backslash | Escapes::Json => b'\\',
            Escapes::Hash => b'#',
            Escapes::Quotes => b'"',
            Escapes::PercentText | Escapes::PercentSign => b'%',
        };
        let Some(first) = memchr::memchr(sign, text) else { return text };
        buffer.clear();
        buffer.extend_from_slice(&text[..first]);
        let mut rest = &text[first..];
        while !rest.is_empty() {
            // Invariant: `rest` starts with the sign.
            let taken = match self {
                Escapes::None => 0,
                Escapes::Backslash => backslash(rest, buffer),
                Escapes::Json => json(rest, buffer),
                Escapes::Hash => hash(rest, buffer),
                Escapes::Quotes => quotes(rest, buffer),
                Escapes::PercentText => percent(rest, buffer),
                Escapes::PercentSign => percent_sign(rest, buffer),
            };
            let plain = &rest[taken..];
            let end = memchr::memchr(sign, plain).unwrap_or(plain.len());
            buffer.extend_from_slice(&plain[..end]);
            rest = &plain[end..];
        }
        buffer
    }
}

// Each of these undoes the escape at the start of `text`, and returns its length, at least 1.

fn backslash(text: &[u8], out: &mut Vec<u8>) -> usize {
    let byte = match text {
        [_, b'x', high, low, ..] => match hex::pair(*high, *low) {
            Some(byte) => {
                out.push(byte);
                return 4;
            }
            None => b'\\',
        },
        [_, byte @ (b'"' | b'\\'), ..] => *byte,
        [_, b't', ..] => b'\t',
        [_, b'n', ..] => b'\n',
        [_, b'r', ..] => b'\r',
        [_, b'v', ..] => 0x0b,
        [_, b'b', ..] => 0x08,
        [_, b'f', ..] => 0x0c,
        _ => b'\\',
    };
    out.push(byte);
    // A backslash that escapes nothing is kept.
    if byte == b'\\' && text.get(1) != Some(&b'\\') { 1 } else { 2 }
}

fn json(text: &[u8], out: &mut Vec<u8>) -> usize {
    let byte = match text.get(1) {
        Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
        Some(b't') => b'\t',
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b'b') => 0x08,
        Some(b'f') => 0x0c,
        Some(b'u') => return json_unit(text, out),
        _ => {
            out.push(b'\\');
            return 1;
        }
    };
    out.push(byte);
    2
}

/// `\uHHHH`, or two of them that are one character.
fn json_unit(text: &[u8], out: &mut Vec<u8>) -> usize {
    let Some(first) = unit(text) else {
        out.push(b'\\');
        return 1;
    };
    let second = if (0xd800..0xdc00).contains(&first) { unit(&text[6..]) } else { None };
    let (character, taken) = match second {
        Some(second @ 0xdc00..0xe000) => {
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            (char::from_u32(code), 12)
        }
        _ => (char::from_u32(first), 6),
    };
    let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    taken
}

/// The number of the `\uHHHH` that `text` starts with.
fn unit(text: &[u8]) -> Option<u32> {
    let [b'\\', b'u', a, b, c, d, ..] = text else { return None };
    Some(u32::from(hex::pair(*a, *b)?) << 8 | u32::from(hex::pair(*c, *d)?))
}

fn quotes(text: &[u8], out: &mut Vec<u8>) -> usize {
    out.push(b'"');
    if text.get(1) == Some(&b'"') { 2 } else { 1 }
}

/// `%20`, and `%2520`, which is the same escaped twice.
fn percent(text: &[u8], out: &mut Vec<u8>) -> usize {
    let byte = |at: usize| Some((hex::pair(*text.get(at)?, *text.get(at + 1)?)?, at + 2));
    let once = byte(1);
    let twice = if text.starts_with(b"%25") { byte(3) } else { None };
    let (byte, taken) = twice.or(once).unwrap_or((b'%', 1));
    out.push(byte);
    taken
}

/// `#23`.
fn hash(text: &[u8], out: &mut Vec<u8>) -> usize {
    let byte = match text {
        [_, high, low, ..] => hex::pair(*high, *low),
        _ => None,
    };
    out.push(byte.unwrap_or(b'#'));
    if byte.is_some() { 3 } else { 1 }
}

/// `%25` before two hex digits, which then are an escape of the URL itself.
fn percent_sign(text: &[u8], out: &mut Vec<u8>) -> usize {
    let taken = match text {
        [_, b'2', b'5', high, low, ..] if hex::pair(*high, *low).is_some() => 3,
        _ => 1,
    };
    out.push(b'%');
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::show;

    fn check(escapes: Escapes, rows: &[(&[u8], &[u8])]) {
        for (given, expected) in rows {
            let mut buffer = b"before".to_vec();
            let found = escapes.undo(given, &mut buffer);
            assert_eq!(show(found).to_string(), show(expected).to_string(), "{}", show(given));
            assert!(found.len() <= given.len(), "{}", show(given));
        }
    }

    #[test]
    fn nothing() {
        check(Escapes::None, &[(b"\\\"%20\"\"", b"\\\"%20\"\""), (b"", b"")]);
    }

    #[test]
    fn backslashes() {
        check(
            Escapes::Backslash,
            &[
                (b"plain", b"plain"),
                (br#"a\"b\\c"#, br#"a"b\c"#),
                (br"\x16\x03\xc3\xA9", b"\x16\x03\xc3\xa9"),
                (br"\t\n\r\v\b\f", b"\t\n\r\x0b\x08\x0c"),
                (br"\x1", br"\x1"),
                (br"\xzz\q\", br"\xzz\q\"),
                (br"\\x41", br"\x41"),
                (br"\q\\\", br"\q\\"),
            ],
        );
    }

    #[test]
    fn json_strings() {
        check(
            Escapes::Json,
            &[
                (b"plain", b"plain"),
                (br#"\"\\\/\b\f\n\r\t"#, b"\"\\/\x08\x0c\n\r\t"),
                (br"http:\/\/a.test\/?a=1\u0026b", b"http://a.test/?a=1&b"),
                (br"\u00e9\u4E2D", "\u{e9}\u{4e2d}".as_bytes()),
                (br"\ud83d\ude00.", "\u{1f600}.".as_bytes()),
                (br"\ud83d", "\u{fffd}".as_bytes()),
                (br"\ude00\ud83d", "\u{fffd}\u{fffd}".as_bytes()),
                (br"\ud83d\u0041", "\u{fffd}A".as_bytes()),
                (br"\ud83dx", "\u{fffd}x".as_bytes()),
                (br"\u12\u12g4\x\", br"\u12\u12g4\x\"),
            ],
        );
    }

    #[test]
    fn doubled_quotes() {
        check(
            Escapes::Quotes,
            &[(b"a", b"a"), (b"a\"\"b", b"a\"b"), (b"\"\"\"\"", b"\"\""), (b"\"\"\"", b"\"\"")],
        );
    }

    #[test]
    fn hashes() {
        check(
            Escapes::Hash,
            &[
                (b"/a?q=#22b#22", b"/a?q=\"b\""),
                (b"/#C3#A9#23top", b"/\xc3\xa9#top"),
                (b"/#2323", b"/#23"),
                (b"/a#zz#2", b"/a#zz#2"),
                (b"#", b"#"),
            ],
        );
    }

    #[test]
    fn percent_signs() {
        check(
            Escapes::PercentText,
            &[
                (b"Mozilla/5.0%20(X11)", b"Mozilla/5.0 (X11)"),
                (b"Mozilla/5.0%2520(X11)", b"Mozilla/5.0 (X11)"),
                (b"100%25", b"100%"),
                (b"100%25x%2", b"100%x%2"),
                (b"%zz%", b"%zz%"),
            ],
        );
    }

    #[test]
    fn percent_signs_of_urls() {
        check(
            Escapes::PercentSign,
            &[
                (b"/a%2520b", b"/a%20b"),
                (b"/a%20b", b"/a%20b"),
                (b"/100%2525", b"/100%25"),
                (b"/%252525", b"/%2525"),
                (b"/100%25", b"/100%25"),
                (b"/%25zz%2", b"/%25zz%2"),
                (b"%25%2541%", b"%25%41%"),
            ],
        );
    }

    /// Every way of escaping.
    const ALL: [Escapes; 6] = [
        Escapes::Backslash,
        Escapes::Json,
        Escapes::Hash,
        Escapes::Quotes,
        Escapes::PercentText,
        Escapes::PercentSign,
    ];

    #[test]
    fn what_is_not_escaped_is_borrowed() {
        let text = b"http://a.test/";
        for escapes in ALL {
            let mut buffer = Vec::new();
            assert!(std::ptr::eq(escapes.undo(text, &mut buffer), text));
        }
    }

    #[test]
    fn any_bytes_are_answered() {
        for escapes in ALL {
            let signs = br##"\"%#ux2d8c0"##;
            for number in 0..signs.len().pow(5) {
                let text: Vec<u8> =
                    (0..5).map(|at| signs[number / signs.len().pow(at) % signs.len()]).collect();
                assert!(escapes.undo(&text, &mut Vec::new()).len() <= text.len());
            }
        }
    }
}
