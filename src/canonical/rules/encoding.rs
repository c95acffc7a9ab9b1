//! # What it does
//!
//! Gives every character one spelling. The part that preserves semantics, in all profiles: what the
//! URL standard escapes (non-ASCII bytes, spaces, quotes, angle brackets, …) is escaped. The part
//! that usually does, in `crawl` and `aggressive`:
//!
//! - in query names and values, the spellings that every parser of forms reads alike become one:
//!   `+` is `%20`, `/` is `%2F`, `[` is `%5B`, `%2C` is `,`, `?a=` is `?a` (but
//!   `?=` stays);
//! - in paths, `%21 %27 %28 %29 %2A` are `! ' ( ) *`, and `[ ] |` are escaped;
//! - a percent sign that starts no escape is `%25`; `%uHHHH` becomes the UTF-8 it means.
//!
//! # When it is safe
//!
//! Never touched: `%2F` in a path is not `/`, `%26` is not `&`, `%2B` is not `+`, `%3B` is not `;`,
//! `%23` is not `#`, `%3D` in a name is not `=`, nor is it after a `;` of a value. Nothing is
//! decoded twice.
//!
//! # Example
//!
//! `http://example.com/display?category=foo/bar+baz` becomes
//! `http://example.com/display?category=foo%2Fbar%20baz`.
//!
//! # Options
//!
//! `form-spelling = true | false`, `empty-values = true | false` (is `?a=` the same as `?a`?),
//! `latin1-hosts = ["example.com"]` (on these hosts a name, a value or a segment of a path whose
//! escapes are not UTF-8 is Latin-1)
//!
//! # Source
//!
//! WHATWG URL standard 1.3 (percent-encode sets) and 5.1 (form parsing); RFC 2396 2.3 for the marks
//! `! ' ( ) *`; ECMA-262 B.2.1.1 (`escape`) for `%uHHHH`.

use super::{escapes, replace, split_piece};
use crate::bytes::hex;
use crate::canonical::draft::{Draft, Parts, push_escape};
use crate::canonical::names::is_under;
use crate::canonical::options::Options;
use crate::parts::is_unreserved;

pub(super) const NAME: &str = "encoding";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let mut changed = false;
    if let Some(userinfo) = &mut web.userinfo {
        let text = spell_userinfo(userinfo);
        changed |= replace(userinfo, text);
    }
    let latin1 = options.latin1_hosts.iter().any(|host| is_under(&web.host, host.as_bytes()));
    let mut spell = |part: &mut Vec<u8>, place: Place| {
        if !is_settled(part, place) {
            let text = spelled(part, place, latin1, options);
            changed |= replace(part, text);
        }
    };
    spell(&mut web.path, Place::Path);
    if let Some(query) = &mut web.query {
        spell(query, Place::Query);
    }
    if let Some(fragment) = &mut web.fragment {
        spell(fragment, Place::Fragment);
    }
    changed
}

/// The spelling of `part`.
fn spelled(part: &[u8], place: Place, latin1: bool, options: &Options) -> Vec<u8> {
    let mut text = part.to_vec();
    // Before `%uHHHH` becomes UTF-8, which is none of the text that is judged.
    if latin1 {
        text = latin1_to_utf8(&text, place);
    }
    if options.form_spelling {
        text = spell_u_escapes(&text);
    }
    match place {
        Place::Query if options.form_spelling => spell_query(&text, options.empty_values),
        _ => spell_part(&text, place, options.form_spelling),
    }
}

/// The parts that have a percent-encode set of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Path,
    Query,
    Fragment,
}

/// Must a raw `byte` be escaped in `place`? Source: WHATWG URL standard 1.3, for special schemes.
fn needs_escape(byte: u8, place: Place) -> bool {
    if !(0x21..=0x7e).contains(&byte) {
        return true;
    }
    match place {
        Place::Path => b"\"#<>?^`{}".contains(&byte),
        Place::Query => b"\"#<>'".contains(&byte),
        Place::Fragment => b"\"<>`".contains(&byte),
    }
}

/// The bytes that stay as they are, whatever stands around them: unreserved ones,
/// and some delimiters.
static STAY_IN_QUERY: [bool; 256] = unreserved_and(b"&=");
static STAY_ELSEWHERE: [bool; 256] = unreserved_and(b"/:@,;=&+$");

const fn unreserved_and(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = is_unreserved(byte as u8);
        byte += 1;
    }
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
}

/// Does `text` stay as it is for sure, whatever the options? Most parts of URLs do;
/// `false` says nothing.
fn is_settled(text: &[u8], place: Place) -> bool {
    let stays = if place == Place::Query { &STAY_IN_QUERY } else { &STAY_ELSEWHERE };
    let all_stay = text.iter().all(|byte| stays[usize::from(*byte)]);
    // `?a=` may be `?a`.
    let has_empty_value = || text.ends_with(b"=") || memchr::memmem::find(text, b"=&").is_some();
    all_stay && !(place == Place::Query && has_empty_value())
}

/// The marks of RFC 2396 2.3 that RFC 3986 counts as reserved: escaped or raw, they mean the same.
pub(crate) const fn is_mark(byte: u8) -> bool {
    matches!(byte, b'!' | b'\'' | b'(' | b')' | b'*')
}

/// Characters that RFC 3986 allows in no path and the WHATWG standard leaves raw.
pub(crate) const fn is_unwise(byte: u8) -> bool {
    matches!(byte, b'[' | b']' | b'|')
}

fn spell_part(text: &[u8], place: Place, form_spelling: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        if byte == b'%' && form_spelling {
            match text[at..] {
                [_, high, low, ..] if hex::pair(high, low).is_some() => {
                    match hex::pair(high, low) {
                        Some(mark) if place == Place::Path && is_mark(mark) => out.push(mark),
                        _ => out.extend_from_slice(&text[at..at + 3]),
                    }
                    at += 3;
                    continue;
                }
                _ => push_escape(&mut out, b'%'),
            }
        } else if needs_escape(byte, place)
            || (form_spelling && place == Place::Path && is_unwise(byte))
        {
            push_escape(&mut out, byte);
        } else {
            out.push(byte);
        }
        at += 1;
    }
    out
}

/// Is `byte` spelled raw in a query, whether it came raw or escaped?
pub(crate) const fn is_raw_in_form(byte: u8) -> bool {
    is_unreserved(byte) || matches!(byte, b'!' | b'(' | b')' | b'*' | b',' | b':' | b'@' | b'$')
}

/// The pieces of `query` in the form spelling.
fn spell_query(query: &[u8], empty_values: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(query.len());
    for (number, piece) in query.split(|byte| *byte == b'&').enumerate() {
        if number > 0 {
            out.push(b'&');
        }
        let (name, value) = split_piece(piece);
        spell_form(name, false, &mut out);
        if name.len() < piece.len() && !(empty_values && value.is_empty() && !name.is_empty()) {
            out.push(b'=');
            spell_form(value, true, &mut out);
        }
    }
    out
}

/// Appends the form spelling of `text`, the name or the value of a parameter. Behind a raw `;` of a
/// value some servers read another name.
fn spell_form(text: &[u8], is_value: bool, out: &mut Vec<u8>) {
    let mut may_be_name = !is_value;
    let mut at = 0;
    while at < text.len() {
        let (byte, raw) = match text[at..] {
            [b'%', high, low, ..] if hex::pair(high, low).is_some() => {
                at += 3;
                (hex::pair(high, low).unwrap_or(b'%'), false)
            }
            [byte, ..] => {
                at += 1;
                (byte, true)
            }
            [] => break,
        };
        match byte {
            b'+' if raw => out.extend_from_slice(b"%20"),
            b';' if raw => {
                may_be_name = true;
                out.push(b';');
            }
            b'=' if is_value && (raw || !may_be_name) => out.push(b'='),
            byte if is_raw_in_form(byte) => out.push(byte),
            byte => push_escape(out, byte),
        }
    }
}

/// Every `%uHHHH` of `text` as escaped UTF-8; surrogates count in pairs only. What it means is not
/// read again: nothing becomes a part of an escape after a bare percent sign.
fn spell_u_escapes(text: &[u8]) -> Vec<u8> {
    if memchr::memmem::find(text, b"%u").is_none() && memchr::memmem::find(text, b"%U").is_none() {
        return text.to_vec();
    }
    let mut out = Vec::with_capacity(text.len());
    // Where the last percent sign stands in `out` that may be a bare one.
    let mut bare_at = None;
    let mut at = 0;
    while at < text.len() {
        let Some(unit) = u_escape(&text[at..]) else {
            if text[at] == b'%' {
                bare_at = Some(out.len());
            }
            out.push(text[at]);
            at += 1;
            continue;
        };
        let next = u_escape(&text[at + 6..]);
        let decoded = char::decode_utf16([unit].into_iter().chain(next)).next();
        match decoded {
            Some(Ok(character)) => {
                let mut buffer = [0; 4];
                for byte in character.encode_utf8(&mut buffer).bytes() {
                    let is_raw = is_unreserved(byte) && !escapes::completes(&out, bare_at, byte);
                    if is_raw {
                        out.push(byte);
                    } else {
                        push_escape(&mut out, byte);
                    }
                }
                at += 6 * character.len_utf16();
            }
            _ => {
                // Half a surrogate pair means nothing: its percent sign is a bare one.
                out.extend_from_slice(&text[at..at + 6]);
                at += 6;
            }
        }
    }
    out
}

/// The UTF-16 unit that `text` starts with as `%uHHHH`.
fn u_escape(text: &[u8]) -> Option<u16> {
    match *text {
        [b'%', b'u' | b'U', a, b, c, d, ..] => {
            Some(u16::from(hex::pair(a, b)?) << 8 | u16::from(hex::pair(c, d)?))
        }
        _ => None,
    }
}

/// Escapes and raw bytes beyond ASCII from Latin-1 to UTF-8, unless they are UTF-8 already: each
/// name, value and segment of a path is judged by itself.
fn latin1_to_utf8(text: &[u8], place: Place) -> Vec<u8> {
    let is_end = |byte: &u8| match place {
        Place::Path => *byte == b'/',
        Place::Query => matches!(byte, b'&' | b'='),
        Place::Fragment => false,
    };
    let mut out = Vec::with_capacity(text.len());
    for part in text.split_inclusive(is_end) {
        push_utf8(part, &mut out);
    }
    out
}

/// Appends `text`, as it is if it is UTF-8, or else as the UTF-8 of what it is in Latin-1.
fn push_utf8(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let (byte, length) = match text[at..] {
            [b'%', high, low, ..] => hex::pair(high, low).map_or((b'%', 1), |byte| (byte, 3)),
            _ => (text[at], 1),
        };
        decoded.push(byte);
        if byte < 0x80 {
            out.extend_from_slice(&text[at..at + length]);
        } else {
            let mut buffer = [0; 2];
            for byte in char::from(byte).encode_utf8(&mut buffer).bytes() {
                push_escape(out, byte);
            }
        }
        at += length;
    }
    if std::str::from_utf8(&decoded).is_ok() {
        out.truncate(start);
        out.extend_from_slice(text);
    }
}

/// User and password with what the URL standard escapes there. Source: WHATWG URL standard 1.3.
fn spell_userinfo(userinfo: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(userinfo.len());
    let mut colons = 0;
    for byte in userinfo {
        let is_separator = *byte == b':' && colons == 0;
        colons += usize::from(*byte == b':');
        if !is_separator && (needs_escape(*byte, Place::Path) || b"/:;=@[\\]|".contains(byte)) {
            push_escape(&mut out, *byte);
        } else {
            out.push(*byte);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::Profile;

    #[test]
    fn what_is_settled_stays() {
        let mut settled = 0;
        for byte in 0..=u8::MAX {
            for (before, after) in [("", ""), ("a=", ""), ("ab=", "&c"), ("a", "="), ("a&", "=b")] {
                let text = [before.as_bytes(), &[byte], after.as_bytes()].concat();
                for place in [Place::Path, Place::Query, Place::Fragment] {
                    if !is_settled(&text, place) {
                        continue;
                    }
                    settled += 1;
                    for bits in 0..8 {
                        let options = Options {
                            form_spelling: bits & 1 > 0,
                            empty_values: bits & 2 > 0,
                            ..Profile::named("crawl").unwrap().options
                        };
                        assert!(
                            spelled(&text, place, bits & 4 > 0, &options) == text,
                            "{} in {place:?}",
                            text.escape_ascii()
                        );
                    }
                }
            }
        }
        assert!(settled > 500, "{settled}");
    }

    #[test]
    fn u_escapes() {
        for (given, expected) in [
            ("%u00e9", "%C3%A9"),
            ("%U00E9x", "%C3%A9x"),
            ("%u0041", "A"),
            ("%u002f", "%2F"),
            ("%ud83d%ude00", "%F0%9F%98%80"),
            ("%ud83d", "%ud83d"),
            ("%ud83d%u0041", "%ud83dA"),
            ("%u12", "%u12"),
            ("%25u0041", "%25u0041"),
        ] {
            let spelled = spell_u_escapes(given.as_bytes());
            assert_eq!(std::str::from_utf8(&spelled).unwrap(), expected, "{given}");
        }
    }

    #[test]
    fn latin1() {
        for (place, given, expected) in [
            (Place::Path, "/caf%E9", "/caf%C3%A9"),
            (Place::Path, "/caf%C3%A9", "/caf%C3%A9"),
            (Place::Path, "/%zz%e9", "/%zz%C3%A9"),
            (Place::Path, "/%e9/%c3%a9/", "/%C3%A9/%c3%a9/"),
            (Place::Path, "/%c3%a9-%e9", "/%C3%83%C2%A9-%C3%A9"),
            (Place::Path, "//%e9", "//%C3%A9"),
            (Place::Query, "q=%e9&r=%c3%a9", "q=%C3%A9&r=%c3%a9"),
            (Place::Query, "%c3%a9=%e9&", "%c3%a9=%C3%A9&"),
            (Place::Fragment, "%c3%a9&%e9", "%C3%83%C2%A9&%C3%A9"),
            (Place::Query, "", ""),
        ] {
            let spelled = latin1_to_utf8(given.as_bytes(), place);
            assert_eq!(std::str::from_utf8(&spelled).unwrap(), expected, "{given}");
            assert_eq!(latin1_to_utf8(&spelled, place), spelled, "{given}");
        }
    }
}
