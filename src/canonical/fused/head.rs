//! HOT: the head of a URL, read: scheme, host and port.

use super::Fused;
use super::classes::Class;
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
        let mut label = host_start;
        let mut dots = 0;
        let host_end = loop {
            let class = line.get(at).map_or(Class::End, |byte| self.host[usize::from(*byte)]);
            match class {
                Class::Plain => {}
                Class::Upper => is_canonical = false,
                Class::Dot | Class::End => {
                    // An empty label, an encoded one, a dot at the end: rare, and the twin's work.
                    if at == label || line[label..at].len() >= 4 && is_encoded(&line[label..at]) {
                        return None;
                    }
                    if class == Class::End {
                        break at;
                    }
                    dots += 1;
                    label = at + 1;
                }
                _ => return None,
            }
            at += 1;
        };
        if line[label].is_ascii_digit() {
            // The host ends in a number, so it is an address or an error.
            let is_plain = dots == 3 && is_dotted_decimal(&line[host_start..host_end]);
            if !is_plain || self.maps_addresses {
                return None;
            }
        } else if self.drop_www && line[host_start..].first().is_some_and(|b| *b | 0x20 == b'w') {
            let host = &line[host_start..host_end];
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

/// Is `label` punycode?
#[inline]
fn is_encoded(label: &[u8]) -> bool {
    label[0] | 0x20 == b'x' && label[..4].eq_ignore_ascii_case(b"xn--")
}

/// Is `host` four decimal numbers up to 255 without leading zeros?
fn is_dotted_decimal(host: &[u8]) -> bool {
    host.split(|byte| *byte == b'.').all(|number| match number {
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
