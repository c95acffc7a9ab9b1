//! HOT: the head of a URL, read: scheme, host and port.

use super::Fused;
use super::classes::Class;
use crate::bytes::windows::plain_prefix;
use crate::canonical::rules::www;
use crate::limits::URL_BYTES_MAX;

/// A URL's head, read.
pub(super) struct Head {
    pub(super) https: bool,
    /// Is every byte before the path spelled canonically?
    pub(super) is_canonical: bool,
    pub(super) host_start: usize,
    pub(super) host_end: usize,
    /// Where the path, the query or the fragment starts.
    pub(super) rest: usize,
    /// The port, if it is not the scheme's own.
    pub(super) has_port: bool,
}

impl Fused {
    /// Reads scheme, host and port; `None` to refuse.
    #[inline]
    pub(super) fn head(&self, line: &[u8]) -> Option<Head> {
        if line.len() > URL_BYTES_MAX {
            return None;
        }
        let (https, host_start, lower) = read_scheme(line)?;
        let mut is_canonical = lower;
        let mut at = host_start;
        let host_end = loop {
            at += plain_prefix(&line[at..], needs_look_in_host);
            let class = line.get(at).map_or(Class::End, |byte| self.host[usize::from(*byte)]);
            match class {
                Class::Plain => {}
                Class::Upper => is_canonical = false,
                // An empty label or an encoded one: rare, and the twin's work.
                Class::Dot if line.get(at + 1) == Some(&b'.') || is_encoded(&line[at + 1..]) => {
                    return None;
                }
                Class::Dot => {}
                Class::End => break at,
                _ => return None,
            }
            at += 1;
        };
        let host = &line[host_start..host_end];
        // So are no label at all, a dot at either end, and an encoded first label.
        if !matches!(host, [first, .., last] | [first @ last] if *first != b'.' && *last != b'.')
            || is_encoded(host)
        {
            return None;
        }
        let label = host_start + memchr::memrchr(b'.', host).map_or(0, |dot| dot + 1);
        if line[label].is_ascii_digit() {
            // The host ends in a number, so it is an address or an error.
            let is_plain = is_dotted_decimal(host);
            if !is_plain || self.maps_addresses {
                return None;
            }
        } else if self.drop_www && line[host_start..].first().is_some_and(|b| *b | 0x20 == b'w') {
            is_canonical &= www::without_www(host).len() == host.len();
        }
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
        Some(Head { https, is_canonical, host_start, host_end, rest, has_port })
    }
}

/// Is it https, where does the host start, and is the scheme in lower case? `None` for other
/// schemes.
#[inline]
fn read_scheme(line: &[u8]) -> Option<(bool, usize, bool)> {
    let (https, length) = match line.get(..8)? {
        [b'h' | b'H', b't' | b'T', b't' | b'T', b'p' | b'P', b':', b'/', b'/', _] => (false, 7),
        [b'h' | b'H', b't' | b'T', b't' | b'T', b'p' | b'P', b's' | b'S', b':', b'/', b'/'] => {
            (true, 8)
        }
        _ => return None,
    };
    Some((https, length, !line[..5].iter().any(u8::is_ascii_uppercase)))
}

/// Could `byte`, with `next` behind it, be anything but canonical in a host, or end it? A dot is
/// looked at if the label behind it is empty or may be encoded.
#[inline(always)]
fn needs_look_in_host(byte: u8, next: u8) -> bool {
    // No short circuits, so that the compiler can do a window at once.
    let is_plain = (byte.wrapping_sub(b'a') < 26)
        | (byte.wrapping_sub(b'0') < 10)
        | (byte.wrapping_sub(b'-') <= b'.' - b'-')
        | (byte == b'_');
    let dot = (byte == b'.') & ((next == b'.') | ((next | 0x20) == b'x'));
    !is_plain | dot
}

/// Does `label` start as punycode does?
#[inline]
fn is_encoded(label: &[u8]) -> bool {
    label.len() >= 4 && label[0] | 0x20 == b'x' && label[..4].eq_ignore_ascii_case(b"xn--")
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
