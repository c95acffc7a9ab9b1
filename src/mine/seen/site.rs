//! Which site a URL belongs to: rules never cross this border.

use crate::limits::HOST_BYTES_MAX;

/// The site of `host`: its registrable domain by the public suffix list, private suffixes included,
/// so that `a.github.io` and `b.github.io` are two sites. An address, a host that is a public
/// suffix itself, and one longer than a name can be, are sites of their own.
///
/// - Shape: `host` is canonical: lower case, punycode, no port.
/// - Source: the Mozilla public suffix list, by the `psl` crate.
pub fn site_of(host: &[u8]) -> &[u8] {
    if host.len() > HOST_BYTES_MAX || host.starts_with(b"[") || is_address(host) {
        return host;
    }
    psl::domain(host).map_or(host, |domain| domain.as_bytes())
}

/// Are there other sites whose hosts end in `.site`? Then the site is one host, whose rules are not
/// those of the hosts below it: `github.io`, `s3.amazonaws.com`, `localhost`.
///
/// - Shape: `site` is what [`site_of`] gives.
pub(crate) fn is_one_host(site: &[u8]) -> bool {
    !is_address(site) && site.len() <= HOST_BYTES_MAX && psl::domain(site).is_none()
}

/// Is `host` an IPv4 address in its canonical spelling?
pub(crate) fn is_address(host: &[u8]) -> bool {
    host.starts_with(b"[")
        || host.len() <= 15
            && std::str::from_utf8(host)
                .is_ok_and(|text| text.parse::<std::net::Ipv4Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites() {
        for (host, site) in [
            ("www.example.com", "example.com"),
            ("example.com", "example.com"),
            ("a.b.example.co.uk", "example.co.uk"),
            ("a.github.io", "a.github.io"),
            ("x.a.github.io", "a.github.io"),
            ("github.io", "github.io"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]", "[::1]"),
            ("localhost", "localhost"),
            ("site-1.test", "site-1.test"),
            ("www.site-1.test", "site-1.test"),
        ] {
            assert_eq!(site_of(host.as_bytes()), site.as_bytes(), "{host}");
            let is_one_host = ["github.io", "localhost"].contains(&site);
            assert_eq!(super::is_one_host(site.as_bytes()), is_one_host, "{site}");
        }
        let long = vec![b'a'; 300];
        assert_eq!(site_of(&long), &long[..]);
    }
}
