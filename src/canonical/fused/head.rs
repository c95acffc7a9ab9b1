//! HOT: the head of a URL: scheme, host and port.

use super::classes::{Class, set};
use super::hosts::Hosts;
use super::{Fused, Marked};
use crate::canonical::rules::www;

/// A URL's head, read.
pub(super) struct Head<'a> {
    pub(super) https: bool,
    /// Is every byte before the path spelled canonically?
    pub(super) is_canonical: bool,
    /// The host in its canonical form, but for letters in upper case.
    pub(super) name: &'a [u8],
    /// Are there such letters?
    has_upper: bool,
    host_end: usize,
    /// Where the path, the query or the fragment starts.
    pub(super) rest: usize,
    /// The port, if it is not the scheme's own.
    has_port: bool,
}

impl Fused {
    /// Reads scheme, host and port; `None` to refuse.
    #[inline(always)]
    pub(super) fn head<'a>(&self, url: Marked<'a>, hosts: &'a mut Hosts) -> Option<Head<'a>> {
        let Marked { line, marks } = url;
        let (https, host_start, is_lower) = read_scheme(line)?;
        let mut has_upper = false;
        let mut is_odd = false;
        let mut host_end = marks.next(set::HOST_STOP, host_start);
        while let Some(byte) = line.get(host_end) {
            match self.host[usize::from(*byte)] {
                Class::Upper => has_upper = true,
                // Perhaps a label is encoded.
                Class::Hyphen => is_odd |= line[host_end - 2..host_end].eq_ignore_ascii_case(b"xn"),
                Class::End => break,
                _ if *byte >= 0x80 => is_odd = true,
                _ => return None,
            }
            host_end = marks.next(set::HOST_STOP, host_end + 1);
        }
        let host = &line[host_start..host_end];
        let mut name = host;
        if is_odd {
            name = hosts.canonical(host, &self.host)?;
            has_upper = false;
        } else if !matches!(host, [a, .., z] | [a @ z] if *a != b'.' && *z != b'.')
            || marks.has_pair(set::DOT, set::DOT, host_start, host_end)
        {
            // No label at all, a dot at either end or beside another: the twin's work.
            return None;
        } else {
            let dot = marks.last(set::DOT, host_start, host_end);
            if line[dot.map_or(host_start, |dot| dot + 1)].is_ascii_digit() {
                // The host ends in a number, so it is an address or an error.
                if self.maps_addresses || !is_dotted_decimal(host) {
                    return None;
                }
            }
        }
        if self.drop_www && name[0] | 0x20 == b'w' {
            name = www::without_www(name);
        }
        let mut is_canonical =
            is_lower && !has_upper && name.len() == host.len() && (!is_odd || name == host);
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
        Some(Head { https, is_canonical, name, has_upper, host_end, rest, has_port })
    }

    /// Writes the head in its canonical form.
    pub(super) fn write_head(&self, line: &[u8], head: &Head, out: &mut Vec<u8>) {
        let keeps_https = head.https && (head.has_port || !self.https_to_http);
        out.extend_from_slice(if keeps_https { b"https://" } else { b"http://" });
        let host_start = out.len();
        out.extend_from_slice(head.name);
        if head.has_upper {
            out[host_start..].make_ascii_lowercase();
        }
        if head.has_port {
            out.extend_from_slice(&line[head.host_end..head.rest]);
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
