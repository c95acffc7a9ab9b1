//! # What it does
//!
//! Puts the scheme and the host in lower case. An internationalized host name becomes punycode (UTS
//! 46, non-transitional); an IPv4 address in any of its forms (`0x7f.1`, `2130706433`) becomes four
//! decimal numbers, an IPv6 address its compressed form. The host part of a `mailto:` address is
//! put in lower case, too.
//!
//! # When it is safe
//!
//! Always: preserves semantics. Dropping the one dot at the end of a host (`example.com.`), which
//! the profiles `crawl` and `aggressive` ask for, usually preserves them: the dot makes the name
//! absolute.
//!
//! # Example
//!
//! `HTTP://User@Example.COM/Foo` becomes `http://User@example.com/Foo`.
//!
//! # Options
//!
//! `trailing-dot = "drop" | "keep"`
//!
//! # Source
//!
//! RFC 3986 6.2.2.1; WHATWG URL standard 3.5 and 3.6; UTS 46; RFC 1034 3.1 for the dot.

use super::replace;
use crate::bytes::hex;
use crate::canonical::draft::{Draft, Parts};
use crate::canonical::host::{canonical_host, registered_name};
use crate::canonical::options::{Options, TrailingDot};

pub(super) const NAME: &str = "case";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    match &mut draft.parts {
        Parts::Web(web) => {
            let scheme = web.scheme.to_ascii_lowercase();
            // The host was checked when the URL was parsed: what is no host by the WHATWG standard
            // is a registered name.
            let mut host = canonical_host(&web.host)
                .ok()
                .or_else(|| registered_name(&web.host))
                .unwrap_or_else(|| web.host.to_ascii_lowercase());
            if options.trailing_dot == TrailingDot::Drop {
                drop_trailing_dot(&mut host);
            }
            replace(&mut web.scheme, scheme) | replace(&mut web.host, host)
        }
        Parts::Other(text) => lower_mail_hosts(text),
    }
}

/// Drops the dot at the end of `host`, if it is just one and something stands before it.
fn drop_trailing_dot(host: &mut Vec<u8>) {
    if let [.., before, b'.'] = host[..]
        && before != b'.'
    {
        host.pop();
    }
}

/// Lower-cases what follows the last `@` of each address of a `mailto:` URL. What stands before it
/// is a name that the host reads (RFC 5321 2.4); a comma parts addresses, or a semicolon, as some
/// programs have it. Escapes stay: those have a case of their own.
fn lower_mail_hosts(text: &mut [u8]) -> bool {
    if !text.starts_with(b"mailto:") {
        return false;
    }
    let end = text.iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(text.len());
    let mut changed = false;
    for address in text[7..end].split_mut(|byte| matches!(byte, b',' | b';')) {
        let host = memchr::memrchr(b'@', address).map_or(address.len(), |at| at + 1);
        let mut rest = &mut address[host..];
        while let Some((first, behind)) = rest.split_first_mut() {
            changed |= first.is_ascii_uppercase();
            first.make_ascii_lowercase();
            let is_escape = *first == b'%'
                && matches!(behind, [high, low, ..] if hex::pair(*high, *low).is_some());
            rest = &mut behind[if is_escape { 2 } else { 0 }..];
        }
    }
    changed
}
