//! # What it does
//!
//! Drops a first label `www`, or as many as there are, where a registrable domain remains. With
//! `--www add` the reverse: a host that is a registrable domain below a suffix of the list gets the
//! label; of `b.intranet` nobody knows whether it is a domain or one machine.
//!
//! # When it is safe
//!
//! Changes semantics: `www.example.com` and `example.com` are two hosts, though most sites serve
//! one under both. `www.com` and `www.github.io` are left alone.
//!
//! # Example
//!
//! `http://www.example.com/` becomes `http://example.com/`.
//!
//! # Options
//!
//! `www = "remove" | "add"`, `--www remove|add`
//!
//! # Source
//!
//! "Removing or adding www" in the list of URL normalizations (Wikipedia, "URI normalization"); the
//! Mozilla public suffix list, private suffixes included.

use super::replace;
use crate::canonical::draft::{Draft, Parts};
use crate::canonical::options::{Options, Www};
use crate::limits::HOST_BYTES_MAX;

pub(super) const NAME: &str = "www";

pub(super) fn apply(draft: &mut Draft, options: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let host = match options.www {
        Www::Remove => without_www(&web.host).to_vec(),
        Www::Add => with_www(&web.host),
    };
    replace(&mut web.host, host)
}

/// `host` without its first labels `www`, as far as a registrable domain remains.
#[inline(never)]
pub(crate) fn without_www(mut host: &[u8]) -> &[u8] {
    if host.len() > HOST_BYTES_MAX {
        return host;
    }
    while let Some((label, rest)) = host.split_at_checked(4) {
        if !label.eq_ignore_ascii_case(b"www.") || !has_registrable_domain(rest) {
            break;
        }
        host = rest;
    }
    host
}

fn with_www(host: &[u8]) -> Vec<u8> {
    if host.len() > HOST_BYTES_MAX {
        return host.to_vec();
    }
    let lower = host.to_ascii_lowercase();
    match psl::domain(&lower) {
        Some(domain) if domain.as_bytes().len() == host.len() && domain.suffix().is_known() => {
            [b"www.", host].concat()
        }
        _ => host.to_vec(),
    }
}

/// Are all labels of `host` numbers, decimal, octal or hexadecimal? Then it is an address, or no
/// host at all. Source: WHATWG URL standard 3.5, IPv4 number parser.
fn is_numbers(host: &[u8]) -> bool {
    let host = host.strip_suffix(b".").unwrap_or(host);
    host.split(|byte| *byte == b'.').all(|label| match label {
        [b'0', b'x' | b'X', digits @ ..] => digits.iter().all(u8::is_ascii_hexdigit),
        digits => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
    })
}

/// Is there a name that can be registered in `host`: a public suffix with a label before it?
pub(crate) fn has_registrable_domain(host: &[u8]) -> bool {
    if host.is_empty() {
        return false;
    }
    if host[0] == b'.' || !host.iter().any(u8::is_ascii_alphabetic) || is_numbers(host) {
        return false;
    }
    // The list is in lower case.
    if host.iter().any(u8::is_ascii_uppercase) {
        psl::domain(&host.to_ascii_lowercase()).is_some()
    } else {
        psl::domain(host).is_some()
    }
}
