//! One line of a generated crawl: what was fetched, when, and which page it truly is.

use std::fmt;

use super::feature::Features;

/// How a page was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// With its body.
    #[default]
    Get,
    /// Without.
    Head,
}

impl Method {
    /// The word in a request line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
        }
    }
}

/// What stands for the bytes of a body: equal bytes, equal digest.
///
/// 160 bits that look like a SHA-1. They are none: the generator makes no bodies. The digest of an
/// empty body is the true one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 20]);

impl Digest {
    /// SHA-1 of no bytes: what real archives have for answers without a body.
    pub const EMPTY: Digest = Digest([
        0xDA, 0x39, 0xA3, 0xEE, 0x5E, 0x6B, 0x4B, 0x0D, 0x32, 0x55, 0xBF, 0xEF, 0x95, 0x60, 0x18,
        0x90, 0xAF, 0xD8, 0x07, 0x09,
    ]);
}

impl fmt::Display for Digest {
    /// Base 32 as in RFC 4648, 32 letters.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        for five in self.0.chunks(5) {
            let bits = five.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
            for shift in (0..40).step_by(5).rev() {
                write!(out, "{}", LETTERS[(bits >> shift & 31) as usize] as char)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Digest({self})")
    }
}

/// One answer of a generated site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// An absolute URL of `http` or `https`: ASCII, no blanks, no quotes, no fragment.
    pub url: String,
    /// Seconds since 1970-01-01T00:00:00Z; never falls within a site.
    pub time: u64,
    /// The status of HTTP: 200, 206, 301, 304, 404 or 503.
    pub status: u16,
    /// The type of the body.
    pub mime: &'static str,
    /// Bytes of the body; 0 if there is none.
    pub size: u64,
    /// What stands for the body.
    pub digest: Digest,
    /// Where the answer sends to. It is a URL of the same page.
    pub redirect: Option<String>,
    /// The URL that was captured just before and sent here.
    pub via: Option<String>,
    /// How it was asked for.
    pub method: Method,
    /// The true page: two URLs lead to the same page if and only if these are equal. The upper half
    /// is the number of the site, so that no two sites share any.
    pub page: u64,
    /// What made this line: spellings that its URL uses, traps that its page belongs to, signals
    /// that can be seen on it.
    pub features: Features,
}

impl Capture {
    /// The host of its URL.
    pub fn host(&self) -> &str {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        &rest[..rest.find(['/', '?']).unwrap_or(rest.len())]
    }

    /// Path and query of its URL; `/` if there is none.
    pub fn target(&self) -> &str {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        rest.find(['/', '?']).map_or("/", |at| &rest[at..])
    }

    /// Was the whole page answered, so that its digest can be compared?
    pub fn is_whole(&self) -> bool {
        self.status == 200 && self.method == Method::Get
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_in_base_32() {
        assert_eq!(Digest::EMPTY.to_string(), "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(Digest([0xFF; 20]).to_string(), "7".repeat(32));
        assert_eq!(Digest([0; 20]).to_string(), "A".repeat(32));
    }
}
