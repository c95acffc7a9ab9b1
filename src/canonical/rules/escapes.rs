//! # What it does
//!
//! Writes the hexadecimal digits of escapes in upper case and decodes the escapes of unreserved
//! characters (letters, digits, `-`, `.`, `_`, `~`). It decodes once: `%2541` stays `%2541`.
//!
//! # When it is safe
//!
//! Always: preserves semantics. An escape stays where decoding it would complete another one after
//! a bare percent sign (`%%34%31` does not become `%41`, nor `%%750041` `%u0041`).
//!
//! # Example
//!
//! `http://example.com/%7euser/%c3%a9` becomes `http://example.com/~user/%C3%A9`.
//!
//! # Options
//!
//! None.
//!
//! # Source
//!
//! RFC 3986 2.3, 6.2.2.1 and 6.2.2.2.

use super::replace;
use crate::bytes::hex;
use crate::canonical::draft::{Draft, Parts, push_escape, reparse_other};
use crate::canonical::options::Options;
use crate::parts::is_unreserved;

pub(super) const NAME: &str = "escapes";

pub(super) fn apply(draft: &mut Draft, _: &Options) -> bool {
    match &mut draft.parts {
        Parts::Web(web) => {
            let others = [&mut web.userinfo, &mut web.query, &mut web.fragment];
            let mut changed = false;
            for part in [&mut web.path].into_iter().chain(others.into_iter().flatten()) {
                if part.contains(&b'%') {
                    let text = normalize_escapes(part);
                    changed |= replace(part, text);
                }
            }
            changed
        }
        Parts::Other(text) => {
            let scheme_end = text.iter().position(|byte| *byte == b':').map_or(0, |at| at + 1);
            let rest = normalize_escapes(&text[scheme_end..]);
            let joined = [&text[..scheme_end], &rest].concat();
            replace(text, reparse_other(joined))
        }
    }
}

/// `text` with its escapes in their canonical spelling.
fn normalize_escapes(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    // Where the last bare percent sign stands in `out`.
    let mut bare_at = None;
    let mut at = 0;
    while at < text.len() {
        let escaped = match text[at..] {
            [b'%', high, low, ..] => hex::pair(high, low),
            _ => None,
        };
        match escaped {
            Some(byte) if is_unreserved(byte) && !completes(&out, bare_at, byte) => {
                out.push(byte);
                at += 3;
            }
            Some(byte) => {
                push_escape(&mut out, byte);
                at += 3;
            }
            None => {
                if text[at] == b'%' {
                    bare_at = Some(out.len());
                }
                out.push(text[at]);
                at += 1;
            }
        }
    }
    out
}

/// Would `byte`, put at the end of `out`, be a part of an escape, `%HH` or `%uHHHH`, that starts at
/// `bare_at`?
pub(super) fn completes(out: &[u8], bare_at: Option<usize>, byte: u8) -> bool {
    let Some(bare_at) = bare_at else { return false };
    let (digits, length) = match &out[bare_at + 1..] {
        [] if matches!(byte, b'u' | b'U') => return true,
        [b'u' | b'U', digits @ ..] => (digits, 4),
        digits => (digits, 2),
    };
    digits.len() < length && digits.iter().all(|digit| hex::is_digit(*digit)) && hex::is_digit(byte)
}
