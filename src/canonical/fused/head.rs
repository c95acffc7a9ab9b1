//! HOT: once per URL. The head of a URL: scheme, host and port.

use super::MarkedUrl;
use super::classes::{Table, host_table, set};
use super::hosts::KnownHosts;
use super::suffixes::may_be_suffix;
use crate::bytes::push_lower;
use crate::canonical::profile::Profile;
use crate::canonical::rules::RuleId;
use crate::canonical::rules::www::without_www;

/// What a profile asks for in heads.
#[derive(Debug)]
pub(super) struct HeadRules {
    /// The bytes of hosts.
    pub(super) classes: Table,
    maps_addresses: bool,
    drop_www: bool,
    https_to_http: bool,
}

/// A URL's head, read.
#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    pub(super) https: bool,
    /// Is every byte before the path spelled canonically?
    pub(super) is_canonical: bool,
    /// The host in its canonical form, but for letters in upper case.
    pub(super) name: &'a [u8],
    /// Are there such letters?
    has_upper: bool,
    /// Does the head end with the name, in its canonical form?
    ends_well: bool,
    host_end: usize,
    /// Where the path, the query or the fragment starts.
    pub(super) rest: usize,
    /// The port, if it is not the scheme's own.
    has_port: bool,
}

impl HeadRules {
    /// What `profile` asks for, which the fast lane can do.
    pub(super) fn of(profile: &Profile) -> HeadRules {
        let on = |rule| profile.rules.contains(rule);
        HeadRules {
            classes: host_table(),
            maps_addresses: on(RuleId::IpHost) && !profile.options.hosts.is_empty(),
            drop_www: on(RuleId::Www),
            https_to_http: on(RuleId::Scheme),
        }
    }

    /// The head, if it is one that most URLs have: a short name, and a slash. Unless
    /// `WELL`, letters may be in upper case, and there may be the scheme's own port: rarer,
    /// and so compiled apart.
    #[inline(always)]
    pub(super) fn plain_head<'a, const WELL: bool>(&self, url: &MarkedUrl<'a>) -> Option<Head<'a>> {
        let MarkedUrl { given, marks, .. } = *url;
        let (https, host_start, is_lower) = scheme::<WELL>(given)?;
        let stops = marks.near(set::HOST_STOP, host_start);
        let below = stops.wrapping_sub(1) & !stops;
        let dots = marks.near(set::DOT, host_start) & below;
        // A dot at either end or beside another; no host; or none that ends nearby.
        let ends = 1 | below ^ below >> 1;
        if dots & (ends | dots << 1) != 0 || below == 0 || stops == 0 {
            return None;
        }
        let host_end = host_start + stops.trailing_zeros() as usize;
        let last_label = host_start + (u64::BITS - dots.leading_zeros()) as usize;
        if given.get(last_label)?.is_ascii_digit() {
            return None;
        }
        let host = given.get(host_start..host_end)?;
        let has_upper = marks.near(set::HOST_LOOK, host_start) & below != 0;
        if has_upper && (WELL || !is_in_letters(url, host_start, below)) {
            return None;
        }
        let rest = match given.get(host_end) {
            Some(b'/') => host_end,
            Some(b':') if !WELL => after_default_port(given, host_end, https)?,
            _ => return None,
        };
        let ends_well = !has_upper & (rest == host_end);
        let mut is_canonical = is_lower & ends_well & !(https & self.https_to_http);
        let mut name = host;
        if self.drop_www && has_www(host) {
            name = &host[WWW.len()..];
            if has_www(name) | may_be_suffix(host, dots) {
                name = without_www(host);
            }
            is_canonical &= name.len() == host.len();
        }
        let has_port = false;
        Some(Head { https, is_canonical, name, has_upper, ends_well, host_end, rest, has_port })
    }

    /// Reads scheme, host and port, whatever they are; `None` to refuse.
    #[inline(always)]
    pub(super) fn any_head<'a>(
        &self,
        url: &MarkedUrl<'a>,
        names: &'a mut KnownHosts,
    ) -> Option<Head<'a>> {
        let MarkedUrl { given, marks, .. } = *url;
        let (https, host_start, is_lower) = scheme::<false>(given)?;
        let host_end = marks.next(set::HOST_STOP, host_start);
        if !matches!(given.get(host_end), None | Some(b':' | b'/' | b'?' | b'#')) {
            return None;
        }
        let host = &given[host_start..host_end];
        let look = match host.len() {
            0 => return None,
            // Bet: a host is shorter than a word has bits.
            length @ 1..64 => Look::at(
                host,
                marks.window(set::HOST_LOOK, host_start) & !(u64::MAX << length),
                marks.window(set::DOT, host_start) & !(u64::MAX << length),
            ),
            _ => Look::closely(host),
        };
        let has_upper = look.has_upper && !look.is_odd;
        let mut name = host;
        if look.is_odd {
            name = names.canonical(host, &self.classes)?;
        } else if look.has_odd_dots {
            // A dot at either end or beside another: the twin's work.
            return None;
        } else if host[look.last_label].is_ascii_digit() {
            // The host ends in a number, so it is an address or an error.
            if self.maps_addresses || !is_dotted_decimal(host) {
                return None;
            }
        }
        if self.drop_www && has_www(name) {
            name = without_www(name);
        }
        let mut is_canonical =
            is_lower && !has_upper && name.len() == host.len() && (!look.is_odd || name == host);
        let mut has_port = false;
        let mut rest = host_end;
        if given.get(host_end) == Some(&b':') {
            let digits =
                given[host_end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            rest = host_end + 1 + digits;
            let port = crate::parts::port_number(&given[host_end..rest]).ok()?;
            has_port = port.is_some_and(|port| port != if https { 443 } else { 80 });
            let has_zeros = given.get(host_end + 1) == Some(&b'0');
            if !matches!(given.get(rest), None | Some(b'/' | b'?' | b'#')) || has_port && has_zeros
            {
                return None;
            }
            is_canonical &= has_port;
        }
        is_canonical &= !(https && self.https_to_http && !has_port);
        let ends_well = false;
        Some(Head { https, is_canonical, name, has_upper, ends_well, host_end, rest, has_port })
    }

    /// Writes the head of the URL that `text` starts with in its canonical form, except for what of
    /// it stands there just so, up to its path. Returns where that starts.
    #[inline(always)]
    pub(super) fn write_head(&self, head: &Head, text: &[u8], out: &mut Vec<u8>) -> usize {
        if head.is_canonical {
            return 0;
        }
        let keeps_https = head.https && (head.has_port || !self.https_to_http);
        out.extend_from_slice(if keeps_https { b"https://" } else { b"http://\0" });
        out.truncate(out.len() - usize::from(!keeps_https));
        if head.ends_well {
            return head.rest - head.name.len();
        }
        if head.has_upper {
            // Such a name is how the host ends.
            push_lower(out, text, head.host_end - head.name.len(), head.host_end);
        } else {
            out.extend_from_slice(head.name);
        }
        if head.has_port { head.host_end } else { head.rest }
    }
}

/// Is what needs a look in a host just its letters in upper case? The host starts at `start`, and
/// `below` has a bit for each of its bytes. Never says yes where it is not.
#[inline(always)]
fn is_in_letters(url: &MarkedUrl, start: usize, below: u64) -> bool {
    // Bytes from 0x80 on and two adjacent hyphens need one, too. 64 bytes are looked at, whatever
    // follows the host among them.
    let text = &url.text[start..];
    let is_ascii = match text.first_chunk::<{ u64::BITS as usize }>() {
        Some(near) => near.is_ascii(),
        None => text.is_ascii(),
    };
    let hyphens = url.marks.near(set::NAME_END, start) & below;
    is_ascii && hyphens & hyphens << 1 == 0
}

const WWW: &[u8; 4] = b"www.";

/// Is the first label of `host` `www`, in any case?
#[inline(always)]
fn has_www(host: &[u8]) -> bool {
    host.first_chunk::<{ WWW.len() }>().is_some_and(|label| label.eq_ignore_ascii_case(WWW))
}

/// What a look at the bytes of a host shows.
struct Look {
    /// Are there letters in upper case?
    has_upper: bool,
    /// Is there a byte from 0x80 on, or perhaps an encoded label?
    is_odd: bool,
    /// Is there a dot at either end, or two in a row?
    has_odd_dots: bool,
    /// Where the last label starts.
    last_label: usize,
}

impl Look {
    /// Looks at a `host` of at most 63 bytes, where `marked` are its bytes that need one.
    #[inline(always)]
    fn at(host: &[u8], mut marked: u64, dots: u64) -> Look {
        let ends = 1 | 1 << (host.len() - 1);
        let mut look = Look {
            has_upper: false,
            is_odd: false,
            has_odd_dots: dots & (ends | dots << 1) != 0,
            last_label: (u64::BITS - dots.leading_zeros()) as usize,
        };
        while marked != 0 {
            look.add(host, marked.trailing_zeros() as usize);
            marked &= marked - 1;
        }
        look
    }

    /// Looks at a `host` of any length, at each of its bytes.
    #[cold]
    fn closely(host: &[u8]) -> Look {
        let mut look = Look {
            has_upper: false,
            is_odd: false,
            has_odd_dots: host.split(|byte| *byte == b'.').any(<[u8]>::is_empty),
            last_label: memchr::memrchr(b'.', host).map_or(0, |dot| dot + 1),
        };
        (0..host.len()).for_each(|at| look.add(host, at));
        look
    }

    #[inline(always)]
    fn add(&mut self, host: &[u8], at: usize) {
        match host[at] {
            b'-' => self.is_odd |= at >= 3 && host[at - 3..at].eq_ignore_ascii_case(b"xn-"),
            0x80.. => self.is_odd = true,
            byte => self.has_upper |= byte.is_ascii_uppercase(),
        }
    }
}

/// Is it https, where does the host start, and is the scheme in lower case? `None` for other
/// schemes; with `LOWER`, also for http and https in upper case.
#[inline(always)]
fn scheme<const LOWER: bool>(given: &[u8]) -> Option<(bool, usize, bool)> {
    const SCHEMES: [u64; 2] =
        [u64::from_le_bytes(*b"http://\0") << 8, u64::from_le_bytes(*b"https://")];
    // The case of their letters.
    const CASE: [u64; 2] = [0x2020_2020 << 8, 0x20_2020_2020];
    let start = u64::from_le_bytes(*given.first_chunk()?);
    // No branch between the two: which of them it is cannot be predicted.
    let fifth = (start >> 32) as u8;
    let is_https = if LOWER { fifth == b's' } else { fifth | 0x20 == b's' };
    let number = usize::from(is_https);
    let read = start << (8 - 8 * number);
    let is_lower = read == SCHEMES[number];
    let is_one = if LOWER { is_lower } else { read | CASE[number] == SCHEMES[number] };
    is_one.then_some((is_https, 7 + number, is_lower))
}

/// Where the port at `given[at..]` ends, if it is the scheme's own and a slash follows.
#[inline(always)]
fn after_default_port(given: &[u8], at: usize, https: bool) -> Option<usize> {
    let rest = given.get(at..)?;
    // Of known lengths, so that they are compared in place.
    let is_default = if https { rest.starts_with(b":443/") } else { rest.starts_with(b":80/") };
    is_default.then_some(at + if https { 4 } else { 3 })
}

/// Is `host` four decimal numbers up to 255 without leading zeros?
fn is_dotted_decimal(host: &[u8]) -> bool {
    let dots = host.iter().filter(|byte| **byte == b'.').count();
    dots == 3
        && host.split(|byte| *byte == b'.').all(|number| match number {
            [digit] => digit.is_ascii_digit(),
            [b'1'..=b'9', rest @ ..] if rest.len() <= 2 => {
                let value = number.iter().try_fold(0u32, |value, digit| {
                    digit.is_ascii_digit().then(|| value * 10 + u32::from(digit - b'0'))
                });
                value.is_some_and(|value| value <= 255)
            }
            _ => false,
        })
}
