//! Tells whether a column of a log has hosts.

use super::cut::{host_value, is_number};

/// What share of the texts in a column are hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostShare {
    /// At least half of them are not empty, and of these nine tenths may be hosts, with or without
    /// a port; at least one certainly is.
    pub(crate) is_host: bool,
    /// At least one is a name with a dot, not an address.
    pub(crate) has_names: bool,
    /// At least one is such a name, or any word with a port.
    pub(crate) has_labels: bool,
    /// Nine tenths have a port.
    pub(crate) has_port: bool,
}

/// What one text may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The sign for no host. Scanners send none, and may be frequent.
    Nothing,
    /// A name with a dot, the last label of which starts with a letter, or `localhost`.
    Name,
    /// An address.
    Address,
    /// Another word with a port: `intranet:8080`, `WWW.A.TEST:80`.
    Word,
    /// A name only if others are: one that ends with a dot or an empty port, or is in capitals. S3
    /// writes `REST.GET.OBJECT`, programs write `nginx.service:` before their messages.
    Odd,
    /// Anything else.
    Other,
}

impl HostShare {
    pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a [u8]>) -> HostShare {
        let (mut all, mut said, mut hosts, mut ports) = (0, 0, 0, 0);
        let (mut has_names, mut has_addresses, mut has_words) = (false, false, false);
        for text in texts {
            let kind = Kind::of(text);
            let is_host = !matches!(kind, Kind::Nothing | Kind::Other);
            all += 1;
            said += usize::from(kind != Kind::Nothing);
            hosts += usize::from(is_host);
            ports += usize::from(is_host && port(text).is_some_and(is_number));
            has_names |= kind == Kind::Name;
            has_addresses |= kind == Kind::Address;
            has_words |= kind == Kind::Word;
        }
        let is_most = |count: usize| count > 0 && count * 100 >= said * 90;
        let has_labels = has_names || has_words;
        HostShare {
            is_host: 2 * said >= all && is_most(hosts) && (has_labels || has_addresses),
            has_names,
            has_labels,
            has_port: is_most(ports),
        }
    }
}

impl Kind {
    fn of(text: &[u8]) -> Kind {
        if host_value(text).is_empty() {
            return Kind::Nothing;
        }
        let port = port(text);
        let host = port.map_or(text, |port| &text[..text.len() - port.len() - 1]);
        if is_address(host) {
            return Kind::Address;
        }
        let name = host.strip_suffix(b".").unwrap_or(host);
        if !name.split(|byte| *byte == b'.').all(is_label) {
            return Kind::Other;
        }
        let is_name = has_domain(name) || name == b"localhost";
        let is_usual = name.len() == host.len() && port != Some(b"") && !is_in_capitals(name);
        let is_word = |byte: &u8| byte.is_ascii_alphabetic() || *byte >= 0x80;
        if is_name && is_usual {
            Kind::Name
        } else if port.is_some_and(is_number) && name.iter().any(is_word) {
            Kind::Word
        } else if is_name {
            Kind::Odd
        } else {
            Kind::Other
        }
    }
}

/// What follows the last colon, if it is a port or nothing.
fn port(text: &[u8]) -> Option<&[u8]> {
    let colon = text.iter().rposition(|byte| *byte == b':')?;
    let port = &text[colon + 1..];
    let is_port = port.is_empty() || is_number(port) && port.len() <= 5;
    // The last group of an IPv6 address is not a port.
    (is_port && !is_address(text)).then_some(port)
}

/// Is `text` an address without a port?
fn is_address(text: &[u8]) -> bool {
    let within = text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]"));
    let parses = |text: &str| text.parse::<std::net::IpAddr>().is_ok();
    std::str::from_utf8(within.unwrap_or(text)).is_ok_and(parses)
}

fn is_label(label: &[u8]) -> bool {
    let is_of_label =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || *byte >= 0x80;
    !label.is_empty() && label.iter().all(is_of_label)
}

/// Is there a dot in `name` that is followed by a possible top-level domain?
fn has_domain(name: &[u8]) -> bool {
    let last = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    (2..name.len()).contains(&last.len())
        && (last.starts_with(b"xn--") || !last.iter().any(u8::is_ascii_digit))
}

fn is_in_capitals(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_uppercase) && !name.iter().any(u8::is_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::show;

    #[test]
    fn kinds() {
        for (kind, texts) in [
            (Kind::Nothing, &["", "-", "_", "-:80", "_:80", "_:"][..]),
            (Kind::Name, &["www.a.test", "a.test:80", "localhost", "localhost:80", "a_b.xn--p1ai"]),
            (Kind::Name, &["bücher.example", "Www.A.Test"]),
            (Kind::Address, &["192.0.2.1", "192.0.2.1:80", "::1", "2001:db8::1", "[::1]:80"]),
            (Kind::Word, &["intranet:8080", "WWW.A.TEST:80", "a.test.:443", "srv-1:80", "a.b1:80"]),
            (Kind::Odd, &["a.test.", "a.test:", "WWW.A.TEST", "REST.GET.OBJECT", "localhost:"]),
            (Kind::Other, &["intranet", "nginx:", "miss", "12:80", "08:00:01", "a.b1", "1.2.3:80"]),
            (
                Kind::Other,
                &["a..test", ".", ":80", "a:123456", "a/b.test", "http://a.test:80", ".:8"],
            ),
        ] {
            for text in texts {
                assert_eq!(Kind::of(text.as_bytes()), kind, "{text}");
            }
        }
    }

    #[test]
    fn ports() {
        for (text, expected) in [
            ("a.test:80", Some("80")),
            ("a.test:", Some("")),
            ("[::1]:80", Some("80")),
            ("::1", None),
            ("[::1]", None),
            ("a.test", None),
            ("a.test:x", None),
        ] {
            assert_eq!(
                port(text.as_bytes()).map(|port| show(port).to_string()).as_deref(),
                expected
            );
        }
    }
}
