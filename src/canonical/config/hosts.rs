//! Maps of addresses to host names, as `/etc/hosts` has them.

use std::collections::BTreeMap;

use super::super::host::canonical_host;
use crate::error::{Error, Result};

/// Reads a map of addresses to names: an address and a name on each line, as in `/etc/hosts`.
///
/// Further names are ignored, and so are further lines for one address; `#` starts a comment. A
/// line whose address has a zone (`fe80::1%lo0`) counts for nothing: no URL has one.
pub fn read_hosts(text: &str) -> Result<BTreeMap<String, String>> {
    let mut hosts = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let mut words = line.split_whitespace();
        let (Some(address), Some(name)) = (words.next(), words.next()) else {
            return Err(Error::config(format!(
                "line {}: expected an address and a host name, found \"{}\"",
                number + 1,
                crate::bytes::show(line.as_bytes())
            )));
        };
        if has_zone(address) {
            continue;
        }
        let (address, name) =
            host_entry(address, name).map_err(|error| error.at(format!("line {}", number + 1)))?;
        hosts.entry(address).or_insert(name);
    }
    Ok(hosts)
}

/// Is it an IPv6 address with a zone? Source: RFC 4007 11.
fn has_zone(address: &str) -> bool {
    let parts = address.split_once('%');
    parts.is_some_and(|(address, _)| address.parse::<std::net::Ipv6Addr>().is_ok())
}

/// Address and name of a host map in canonical form.
pub(super) fn host_entry(address: &str, name: &str) -> Result<(String, String)> {
    let host = |text: &str| {
        let text = if text.contains(':') && !text.starts_with('[') {
            format!("[{text}]")
        } else {
            text.to_string()
        };
        canonical_host(text.as_bytes()).ok().and_then(|host| String::from_utf8(host).ok())
    };
    let is_address =
        |host: &str| host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
    match (host(address), host(name)) {
        (Some(address), Some(name)) if is_address(&address) && !is_address(&name) => {
            Ok((address, name))
        }
        _ => Err(Error::config(format!(
            "expected an address and a host name, found \"{}\" and \"{}\"",
            crate::bytes::show(address.as_bytes()),
            crate::bytes::show(name.as_bytes())
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_map() {
        assert!(read_hosts("1.2.3.4").unwrap_err().to_string().contains("line 1"));
        assert!(read_hosts("1%lo0 a.test").is_err());
        let stock = "127.0.0.1 localhost\n::1 localhost\nfe80::1%lo0 localhost\n127.1 b.test\n";
        let map = read_hosts(stock).unwrap();
        assert_eq!((map.len(), &*map["127.0.0.1"]), (2, "localhost"));
        assert_eq!(read_hosts("# x\n::1 a.test b.test # y\n").unwrap()["[::1]"], "a.test");
    }
}
