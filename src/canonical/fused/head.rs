//! HOT: the head of a URL: scheme, host and port.

use super::classes::{Class, set};
use super::{Fused, Marked};
use crate::canonical::rules::www;

/// A URL's head, read.
pub(super) struct Head {
    pub(super) https: bool,
    /// Is every byte before the path spelled canonically?
    pub(super) is_canonical: bool,
    /// Are there letters in upper case in the host?
    has_upper: bool,
    /// Where the host starts, a `www` that goes left out.
    pub(super) name_start: usize,
    pub(super) host_end: usize,
    /// Where the path, the query or the fragment starts.
    pub(super) rest: usize,
    /// The port, if it is not the scheme's own.
    has_port: bool,
}

impl Fused {
    /// Reads scheme, host and port; `None` to refuse.
    #[inline]
    pub(super) fn head(&self, url: Marked) -> Option<Head> {
        let Marked { line, marks } = url;
        let (https, host_start, is_lower) = read_scheme(line)?;
        let mut has_upper = false;
        let mut host_end = marks.next(set::HOST_STOP, host_start);
        while let Some(byte) = line.get(host_end) {
            match self.host[usize::from(*byte)] {
                Class::Upper => has_upper = true,
                // An encoded label is the twin's work.
                Class::Hyphen if line[host_end - 2..host_end].eq_ignore_ascii_case(b"xn") => {
                    return None;
                }
                Class::Hyphen => {}
                Class::End => break,
                _ => return None,
            }
            host_end = marks.next(set::HOST_STOP, host_end + 1);
        }
        let host = &line[host_start..host_end];
        // So are no label at all, and a dot at either end or beside another.
        if !matches!(host, [first, .., last] | [first @ last] if *first != b'.' && *last != b'.')
            || marks.has_pair(set::DOT, set::DOT, host_start, host_end)
        {
            return None;
        }
        let label = marks.last(set::DOT, host_start, host_end).map_or(host_start, |dot| dot + 1);
        let mut name_start = host_start;
        if line[label].is_ascii_digit() {
            // The host ends in a number, so it is an address or an error.
            if self.maps_addresses || !is_dotted_decimal(host) {
                return None;
            }
        } else if self.drop_www && line[host_start] | 0x20 == b'w' {
            name_start = host_end - www::without_www(host).len();
        }
        let mut is_canonical = is_lower && !has_upper && name_start == host_start;
        let mut has_port = false;
        let mut rest = host_end;
        if line.get(host_end) == Some(&b':') {
            let digits =
                line[host_end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            rest = host_end + 1 + digits;
            let port = crate::parts::port_number(&line[host_end..rest]).ok()?;
            has_port = port.is_some_and(|port| port != if https { 443 } else { 80 });
            let has_zeros = line.get(host_end + 1) == Some(&b'0');
            if !matches!(line.get(rest), None | Some(b'/' | b'?' | b'#')) || has_port && has_zeros {
                return None;
            }
            is_canonical &= has_port;
        }
        is_canonical &= !(https && self.https_to_http && !has_port);
        Some(Head { https, is_canonical, has_upper, name_start, host_end, rest, has_port })
    }

    /// Writes the head in its canonical form.
    pub(super) fn write_head(&self, line: &[u8], head: &Head, out: &mut Vec<u8>) {
        let keeps_https = head.https && (head.has_port || !self.https_to_http);
        out.extend_from_slice(if keeps_https { b"https://" } else { b"http://" });
        let host_start = out.len();
        let end = if head.has_port { head.rest } else { head.host_end };
        out.extend_from_slice(&line[head.name_start..end]);
        if head.has_upper {
            out[host_start..].make_ascii_lowercase();
        }
    }
}

/// Is it https, where does the host start, and is the scheme in lower case? `None` for other
/// schemes.
#[inline]
fn read_scheme(line: &[u8]) -> Option<(bool, usize, bool)> {
    const HTTP: u64 = u64::from_le_bytes(*b"http://\0");
    const HTTPS: u64 = u64::from_le_bytes(*b"https://");
    const SEVEN: u64 = u64::MAX >> 8;
    let start = u64::from_le_bytes(*line.first_chunk()?);
    // No branch between the two: which of them it is cannot be foretold.
    let is_https = start == HTTPS;
    if is_https | (start & SEVEN == HTTP) {
        return Some((is_https, 7 + usize::from(is_https), true));
    }
    // Colon and slashes have the bit of lower case set.
    match start | 0x2020_2020_2020_2020 {
        HTTPS if line[5..8] == *b"://" => Some((true, 8, false)),
        lower if lower & SEVEN == HTTP && line[4..7] == *b"://" => Some((false, 7, false)),
        _ => None,
    }
}

/// Is `host` four decimal numbers up to 255 without leading zeros?
fn is_dotted_decimal(host: &[u8]) -> bool {
    let dots = host.iter().filter(|byte| **byte == b'.').count();
    dots == 3
        && host.split(|byte| *byte == b'.').all(|number| match number {
            [digit] => digit.is_ascii_digit(),
            [b'1'..=b'9', rest @ ..] if rest.len() <= 2 => {
                let value = number.iter().try_fold(0u32, |value, digit| {
                    digit.is_ascii_digit().then(|| value * 10 + u32::from(digit - b'0'))
                });
                value.is_some_and(|value| value <= 255)
            }
            _ => false,
        })
}
