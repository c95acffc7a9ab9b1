//! What is dear to find out about hosts, remembered: a list has the same hosts again and again.
//!
//! IDNA processing takes microseconds, a look into the public suffix list some tens of nanoseconds.

use std::collections::HashMap;

use super::classes::Class;
use crate::canonical::draft::canonical_host;
use crate::canonical::rules::www;
use crate::limits::HOST_BYTES_MAX;

/// Hosts that are remembered. Reason: a crawl works through few sites at a time; some hundred
/// kilobytes for each worker.
const HOSTS_MAX: usize = 4096;

/// How many hosts have a place in [`Domains`]. Reason: 256 kilobytes for each worker, and 7 of 10
/// hosts of a shuffled list are found.
const DOMAINS: usize = 8192;

/// What is remembered of hosts.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    pub(super) names: Names,
    pub(super) domains: Domains,
}

/// Internationalized hosts, as they were spelled, and their canonical forms.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<Box<[u8]>, Option<Name>, ahash::RandomState>);

/// A host in its canonical form.
type Name = Box<[u8]>;

impl Names {
    /// The canonical form of `host`, which holds a byte from 0x80 on or an encoded label; `None` for
    /// one that is not simply a name.
    pub(super) fn canonical(&mut self, host: &[u8], classes: &[Class; 256]) -> Option<&[u8]> {
        if host.len() > HOST_BYTES_MAX {
            return None;
        }
        if !self.0.contains_key(host) {
            if self.0.len() == HOSTS_MAX {
                self.0.clear();
            }
            self.0.insert(host.into(), name_of(host, classes));
        }
        self.0.get(host)?.as_deref()
    }
}

/// Hosts, each at the one place that its bytes give it, and whether they have a registrable domain.
#[derive(Debug, Default)]
pub(super) struct Domains(Vec<Domain>);

/// A host of [`SHORT`] to [`LONG`] bytes.
#[derive(Clone, Debug, Default)]
struct Domain {
    /// Its first and its last bytes.
    ends: [u64; 2],
    /// What stands between them.
    middle: [u8; LONG - 2 * WORD],
    length: u8,
    is_registrable: bool,
}

const WORD: usize = size_of::<u64>();
const SHORT: usize = WORD / 2;
const LONG: usize = 30;

impl Domains {
    /// As [`www::has_registrable_domain`].
    pub(super) fn has_registrable_domain(&mut self, host: &[u8]) -> bool {
        let Some(ends) = ends_of(host) else { return www::has_registrable_domain(host) };
        if self.0.is_empty() {
            self.0 = vec![Domain::default(); DOMAINS];
        }
        let middle = host.get(WORD..host.len().saturating_sub(WORD)).unwrap_or(&[]);
        // Any place will do; that it is the same host is seen there.
        let mixed = ends[0].wrapping_add(ends[1].rotate_left(29));
        let place = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - DOMAINS.ilog2());
        let known = &mut self.0[place as usize];
        if known.ends == ends
            && usize::from(known.length) == host.len()
            && (middle.is_empty() || known.middle[..middle.len()] == *middle)
        {
            return known.is_registrable;
        }
        let is_registrable = www::has_registrable_domain(host);
        known.middle[..middle.len()].copy_from_slice(middle);
        *known = Domain { ends, length: host.len() as u8, is_registrable, ..known.clone() };
        is_registrable
    }
}

/// The first and the last bytes of `host`, all of them where it is no longer than two words; `None`
/// for one that is not remembered.
#[inline(always)]
fn ends_of(host: &[u8]) -> Option<[u64; 2]> {
    match host.len() {
        WORD..=LONG => {
            let (first, last) = (host.first_chunk()?, host.last_chunk()?);
            Some([u64::from_le_bytes(*first), u64::from_le_bytes(*last)])
        }
        SHORT..WORD => {
            let (first, last) = (host.first_chunk()?, host.last_chunk()?);
            Some([u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into()])
        }
        _ => None,
    }
}

/// The name that `host` is in the end, if every step to it is an ordinary one.
fn name_of(host: &[u8], classes: &[Class; 256]) -> Option<Name> {
    let is_letter = |byte: &u8| {
        *byte >= 0x80
            || matches!(
                classes[usize::from(*byte)],
                Class::Plain | Class::Upper | Class::Hyphen | Class::Dot
            )
    };
    if !host.iter().all(is_letter) {
        return None;
    }
    let name = canonical_host(host).ok()?;
    let is_plain = |byte: &u8| {
        matches!(classes[usize::from(*byte)], Class::Plain | Class::Hyphen | Class::Dot)
    };
    let last = name.rsplit(|byte| *byte == b'.').next()?;
    // No dot at either end or beside another, no number at the end; and it stays what it is.
    let is_name = name.iter().all(is_plain)
        && name.split(|byte| *byte == b'.').all(|label| !label.is_empty())
        && !last[0].is_ascii_digit()
        && canonical_host(&name).is_ok_and(|again| again == name);
    is_name.then(|| name.into())
}
