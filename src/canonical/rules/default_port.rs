//! # What it does
//!
//! Drops a port that is the scheme's own, and the colon of an empty port. Writes other ports
//! without leading zeros.
//!
//! # When it is safe
//!
//! Always: preserves semantics. Port 443 under `http` is not the scheme's own and stays.
//!
//! # Example
//!
//! `http://example.com:80/` becomes `http://example.com/`; `https://example.com:0443/` becomes
//! `https://example.com/`.
//!
//! # Options
//!
//! None.
//!
//! # Source
//!
//! RFC 3986 3.2.3 and 6.2.3; WHATWG URL standard 4.2 for the schemes' ports.

use super::replace;
use crate::canonical::draft::{Draft, Parts};
use crate::canonical::options::Options;
use crate::parts;

pub(super) const NAME: &str = "default-port";

pub(super) fn apply(draft: &mut Draft, _: &Options) -> bool {
    let Parts::Web(web) = &mut draft.parts else { return false };
    let number = web.port.as_deref().map(parts::port_number).and_then(Result::ok).flatten();
    let port = number.filter(|number| *number != web.default_port());
    let port = port.map(|number| number.to_string().into_bytes());
    replace(&mut web.port, port)
}
