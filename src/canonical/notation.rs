//! URLs in another notation: the keys by which web archives sort them.

use super::urlkey::push_urlkey;
use crate::parts::{UrlParts, host_of, scheme_length};

/// What is written for a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notation {
    /// Its canonical form, as a URL.
    #[default]
    Url,
    /// Its canonical form, as a key of the Sort-friendly URI Reordering Transform (SURT): the
    /// labels of the host from the last to the first, a parenthesis, the rest. Sorted by bytes, the
    /// pages of one origin are adjacent, and domains come before their subdomains.
    ///
    /// ```text
    /// http://www.example.com:8080/a?b   com,example,www:8080)/a?b
    /// http://user:pw@example.com/       com,example@user:pw)/
    /// http://192.0.2.7/                 7,2,0,192)/
    /// http://[2001:db8::1]/             [2001:db8::1])/
    /// mailto:a@example.com              mailto:a@example.com
    /// ```
    ///
    /// Two pages that differ by their scheme alone have one key. Source: `org.archive.util.SURT` of
    /// Heritrix; without the scheme and the comma after the last label, and with addresses
    /// reversed, as in the keys of CDX files. These are made of another canonical form:
    /// [`Notation::Urlkey`].
    Surt,
    /// The key that it has in the indexes of web archives (CDX, CDXJ), whatever the profile.
    ///
    /// ```text
    /// http://www.Example.com:80/A/?Z=1&a=2   com,example)/a?a=2&z=1
    /// ```
    Urlkey,
}

impl Notation {
    /// Appends to `out` what is written for `url`, whose canonical form is `form`. What has no host
    /// is written as it is.
    #[inline]
    pub fn push(self, url: &[u8], form: &[u8], out: &mut Vec<u8>) {
        match self {
            Notation::Url => out.extend_from_slice(form),
            Notation::Surt => push_surt(form, out),
            Notation::Urlkey => push_urlkey(url, host_of(form).is_some(), out),
        }
    }
}

#[inline(never)]
fn push_surt(form: &[u8], out: &mut Vec<u8>) {
    let scheme_end = host_of(form).and_then(|_| scheme_length(form));
    let parts = scheme_end.and_then(|scheme_end| UrlParts::split(form, scheme_end).ok());
    let Some(parts) = parts else { return out.extend_from_slice(form) };
    let host = parts.host(form);
    if host.starts_with(b"[") {
        out.extend_from_slice(host);
    } else {
        for (at, label) in host.rsplit(|byte| *byte == b'.').enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(label);
        }
    }
    let [authority, host_start, host_end, path_start] =
        [parts.authority_start, parts.host_start, parts.host_end, parts.path_start]
            .map(|at| at as usize);
    out.extend_from_slice(&form[host_end..path_start]);
    if let Some(userinfo) = form[authority..host_start].strip_suffix(b"@") {
        out.push(b'@');
        out.extend_from_slice(userinfo);
    }
    out.push(b')');
    out.extend_from_slice(&form[path_start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surt(form: &str) -> String {
        let mut out = b"# ".to_vec();
        Notation::Surt.push(b"", form.as_bytes(), &mut out);
        String::from_utf8(out.split_off(2)).unwrap()
    }

    #[test]
    fn surts() {
        for (form, expected) in [
            ("http://www.example.com:8080/a?b", "com,example,www:8080)/a?b"),
            ("https://example.com/", "com,example)/"),
            ("http://user:pw@example.com/", "com,example@user:pw)/"),
            ("http://user@a.test:81/x", "test,a:81@user)/x"),
            ("http://192.0.2.7/", "7,2,0,192)/"),
            ("http://[2001:db8::1]:81/", "[2001:db8::1]:81)/"),
            ("http://localhost/a.b?c.d=e#!f.g", "localhost)/a.b?c.d=e#!f.g"),
            ("http://a.test./x", ",test,a)/x"),
            ("ftp://a.test/x)y", "test,a)/x)y"),
            // Without a host.
            ("file:///a.b/c", "file:///a.b/c"),
            ("mailto:a@example.com", "mailto:a@example.com"),
            ("urn:isbn:1.2", "urn:isbn:1.2"),
            ("/a.b", "/a.b"),
            ("no URL.", "no URL."),
            ("", ""),
        ] {
            assert_eq!(surt(form), expected, "{form}");
        }
    }

    #[test]
    fn domains_sort_side_by_side() {
        let urls = ["http://a.example.com/", "http://example.org/", "http://example.com/z"];
        let mut keys = urls.map(surt);
        keys.sort_unstable();
        assert_eq!(keys, ["com,example)/z", "com,example,a)/", "org,example)/"]);
    }
}
