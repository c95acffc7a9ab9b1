//! Tells whether cells of tables look like URLs, data or names of columns.

use memchr::memmem;

use crate::record::fields::time;

/// A column's name in lower case, without a leading `#`, with `_` for blanks and hyphens.
pub(super) fn plain_name(cell: &[u8]) -> String {
    let cell = cell.trim_ascii();
    let cell = cell.strip_prefix(b"#").unwrap_or(cell).trim_ascii();
    let text = String::from_utf8_lossy(cell).to_lowercase();
    text.replace([' ', '-'], "_")
}

/// Is `cell` a status, a time, a number, or empty?
pub(super) fn is_datum(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    matches!(cell, b"" | b"-")
        || cell.iter().all(u8::is_ascii_digit)
        // Not seconds with a fraction: these may be coordinates.
        || cell.iter().any(|byte| b"-/:".contains(byte)) && time::parse(cell, b"").is_some()
}

/// Is `cell` a number, maybe with a fraction, a sign or a percent sign, or empty?
pub(crate) fn is_figure(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    matches!(cell, b"" | b"-")
        || cell.iter().any(u8::is_ascii_digit)
            && cell.iter().all(|byte| byte.is_ascii_digit() || b".,%- ".contains(byte))
            && !is_short_url(cell)
}

/// Does `cell` look like an absolute URL?
pub(crate) fn is_url(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    memmem::find(&cell[..cell.len().min(24)], b"://").is_some_and(|end| {
        end > 0 && cell[..end].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'+')
    })
}

/// Could `cell` be a URL though it does not look like an absolute one: a path, a host, another
/// scheme? Names of columns such as `og:url`, `item.link` and `Landing/page` are not.
pub(crate) fn is_short_url(cell: &[u8]) -> bool {
    /// Schemes that are not followed by slashes.
    const SCHEMES: [&[u8]; 6] = [b"dns", b"mailto", b"tel", b"urn", b"whois", b"data"];
    /// Suffixes that end the names of columns as well.
    const NAMES: [&str; 5] = ["link", "page", "name", "info", "site"];
    let cell = cell.trim_ascii();
    if cell.starts_with(b"/") {
        return true;
    }
    let end = cell.iter().position(|byte| b"/?#:".contains(byte)).unwrap_or(cell.len());
    let (start, rest) = cell.split_at(end);
    let start = start.to_ascii_lowercase();
    if rest.starts_with(b":") && SCHEMES.contains(&&start[..]) {
        return true;
    }
    let is_name = |suffix: &[u8]| NAMES.iter().any(|name| name.as_bytes() == suffix);
    let is_host = psl::suffix(&start).is_some_and(|suffix| {
        suffix.is_known() && suffix != &start[..] && !is_name(suffix.as_bytes())
    });
    let is_address = std::str::from_utf8(cell).is_ok_and(|cell| {
        let address = cell.trim_matches(['[', ']']);
        address.parse::<std::net::IpAddr>().is_ok() || cell.parse::<std::net::SocketAddr>().is_ok()
    });
    !start.iter().any(u8::is_ascii_whitespace) && is_host || is_address
}

/// Could `cell`, in a column with a usual name for URLs, be a URL or a path, such as `index.html`?
/// Numbers and words are not.
pub(crate) fn may_be_url(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    let has_letters = cell.iter().any(|byte| byte.is_ascii_alphabetic());
    let is_path = cell.iter().any(|byte| b"./".contains(byte)) && !cell.contains(&b' ');
    is_url(cell) || is_short_url(cell) || has_letters && is_path
}
