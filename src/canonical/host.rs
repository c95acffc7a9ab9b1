//! The host of a web URL: its canonical spelling.

use crate::limits::IDNA_HOST_BYTES_MAX;
use crate::parts::is_unreserved;
use crate::reject::Reject;

/// The canonical spelling of a web URL's `host`.
///
/// - What: percent-decoding, UTS 46 non-transitional processing to punycode, IPv4 numbers of every
///   form to four decimal numbers, IPv6 compressed.
/// - Failure: [`Reject::Host`].
/// - Source: WHATWG URL standard 3.5 (host parsing), by the `url` crate.
pub(crate) fn canonical_host(host: &[u8]) -> Result<Vec<u8>, Reject> {
    match parse_host(host)? {
        url::Host::Domain(name) => Ok(name.into_bytes()),
        address => Ok(address.to_string().into_bytes()),
    }
}

/// What `host` is: a name or an address.
pub(super) fn parse_host(host: &[u8]) -> Result<url::Host, Reject> {
    let text = std::str::from_utf8(host).map_err(|_| Reject::Host)?;
    if is_plain_name(host) {
        return Ok(url::Host::Domain(text.to_ascii_lowercase()));
    }
    let needs_idna = !host.iter().all(u8::is_ascii)
        || host.contains(&b'%')
        || host.windows(4).any(|window| window.eq_ignore_ascii_case(b"xn--"));
    if needs_idna && host.len() > IDNA_HOST_BYTES_MAX {
        return Err(Reject::Host);
    }
    url::Host::parse(text).map_err(|error| match error {
        url::ParseError::EmptyHost => Reject::NoHost,
        _ => Reject::Host,
    })
}

/// Is `host` a domain name for sure, that needs lower case at most? Most are; `false` means
/// unknown.
///
/// Nothing in it is escaped, or to be mapped (all of it is ASCII), or punycode to be checked (no
/// two hyphens follow each other), and it is no address (its last label begins with a letter).
fn is_plain_name(host: &[u8]) -> bool {
    let host = host.strip_suffix(b".").unwrap_or(host);
    let last = memchr::memrchr(b'.', host).map_or(0, |dot| dot + 1);
    let mut before = b'.';
    host.get(last).is_some_and(u8::is_ascii_alphabetic)
        && host.iter().all(|byte| {
            let is_second_hyphen = (before, *byte) == (b'-', b'-');
            before = *byte;
            PLAIN_IN_NAMES[usize::from(*byte)] && !is_second_hyphen
        })
}

/// Letters, digits, and `-`, `.` and `_`.
static PLAIN_IN_NAMES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = is_unreserved(byte as u8) && byte as u8 != b'~';
        byte += 1;
    }
    table
};

/// The canonical spelling of `host` if it is a registered name that ends in a number, such as
/// `node7.10.0.0.5`.
///
/// The WHATWG standard takes every host that ends in a number for an IPv4 address, and refuses this
/// one. RFC 3986 3.2.2 allows it, resolvers look it up, and lists hold such hosts: it counts as a
/// name if a label before the last has a letter.
pub(super) fn registered_name(host: &[u8]) -> Option<Vec<u8>> {
    // With one more label it is a name for the standard as well.
    let label: &[u8] = if host.ends_with(b".") { b"x" } else { b".x" };
    let name = match canonical_host(&[host, label].concat()) {
        Ok(name) => name.strip_suffix(label)?.to_vec(),
        Err(_) => host.to_ascii_lowercase(),
    };
    is_registered_name(&name).then_some(name)
}

/// Is `host`, whose escapes are resolved, such a name?
fn is_registered_name(host: &[u8]) -> bool {
    let host = host.strip_suffix(b".").unwrap_or(host);
    let Some(dot) = memchr::memrchr(b'.', host) else { return false };
    let (before, last) = (&host[..dot], &host[dot + 1..]);
    let is_label = |label: &[u8]| {
        !label.is_empty()
            && label.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    host.split(|byte| *byte == b'.').all(is_label)
        && last[0].is_ascii_digit()
        && before.iter().any(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn plain_names_are_what_the_url_crate_says(
            host in "([xX][nN]|[0-9A-Fa-fxX]|[A-Za-z_-]|--|[.]){1,12}",
        ) {
            if is_plain_name(host.as_bytes()) {
                let expected = url::Host::parse(&host).map_err(|_| Reject::Host);
                prop_assert_eq!(parse_host(host.as_bytes()), expected);
            }
        }
    }

    #[test]
    fn plain_names() {
        for (host, expected) in [
            ("www.Example.com", true),
            ("a_b.c-d.test.", true),
            ("a..b", true),
            ("1.2.3.a", true),
            ("", false),
            (".", false),
            ("a..", false),
            ("1.2.3.4", false),
            ("a.0x7f", false),
            ("a.7z", false),
            ("xn--bcher-kva.test", false),
            ("a.test:80", false),
            ("a%2etest", false),
            ("b\u{fc}cher.test", false),
            ("a~.test", false),
        ] {
            assert_eq!(is_plain_name(host.as_bytes()), expected, "{host}");
        }
    }
}
