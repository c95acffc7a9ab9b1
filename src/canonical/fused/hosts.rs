//! Internationalized hosts, remembered: IDNA processing takes microseconds, and a list has the same
//! hosts again and again.

use std::collections::HashMap;

use super::classes::Class;
use crate::canonical::host::canonical_host;
use crate::limits::HOST_BYTES_MAX;

/// Hosts that are remembered. Reason: a crawl works through few sites at a time; some hundred
/// kilobytes for each worker.
const HOSTS_MAX: usize = 4096;

/// Internationalized hosts, as they were spelled, and their canonical forms.
#[derive(Debug, Default)]
pub(super) struct KnownHosts(HashMap<Box<[u8]>, Option<Name>, ahash::RandomState>);

/// A host in its canonical form.
type Name = Box<[u8]>;

impl KnownHosts {
    /// The canonical form of `host`, which holds a byte from 0x80 on or an encoded label; `None`
    /// for one that is not simply a name.
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
