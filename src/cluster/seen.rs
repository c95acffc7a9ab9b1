//! Files of fingerprints: what earlier runs have had.
//!
//! ```text
//! file    = header record*
//! header  = magic version key digest count checksum
//! magic   = "undust-seen\n"                      12 bytes
//! version = u32                                   2
//! key     = 16 bytes                              the fingerprint key: keep the file to yourself
//! digest  = 16 bytes                              the profile's digest, as hexadecimal digits
//! count   = u64                                   number of records
//! check   = u64                                   SipHash-1-3 of the header before it, under the key
//! record  = u128                                  a fingerprint; in ascending order
//! ```
//!
//! All numbers are little-endian.

use std::hash::Hasher as _;
use std::io::{self, Read, Write};

use siphasher::sip::SipHasher13;

use super::scatter::PARTITIONS;
use super::set::ClusterSet;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, FingerprintKey};

const MAGIC: &[u8; 12] = b"undust-seen\n";
const VERSION: u32 = 2;
const HEADER_BYTES: usize = 12 + 4 + 16 + 16 + 8 + 8;

/// What a seen file says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenHeader {
    /// The key of its fingerprints.
    pub key: FingerprintKey,
    /// The digest of the profile that made the canonical forms.
    pub digest: String,
    /// How many fingerprints.
    pub count: u64,
}

impl SeenHeader {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.key.to_bytes());
        let mut digest = [b'0'; 16];
        let text = self.digest.as_bytes();
        let len = text.len().min(digest.len());
        digest[..len].copy_from_slice(&text[..len]);
        bytes.extend_from_slice(&digest);
        bytes.extend_from_slice(&self.count.to_le_bytes());
        let check = check_sum(&bytes, &self.key);
        bytes.extend_from_slice(&check.to_le_bytes());
        bytes
    }
}

fn check_sum(bytes: &[u8], key: &FingerprintKey) -> u64 {
    let mut hasher = SipHasher13::new_with_key(&key.to_bytes());
    hasher.write(bytes);
    hasher.finish()
}

/// Reads a seen file into `set`. `digest` is that of the profile in use: another one is an error,
/// since the fingerprints of different canonical forms have nothing in common.
pub fn read_seen(mut file: impl Read, digest: &str, set: &ClusterSet) -> Result<SeenHeader> {
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header).map_err(damaged)?;
    if &header[..12] != MAGIC {
        return Err(Error::input("expected a seen file of undust, found something else"));
    }
    let version = u32::from_le_bytes(array(&header[12..16]));
    if version != VERSION {
        return Err(Error::input(format!(
            "expected version {VERSION} of the seen file, found {version}; use the release that wrote it"
        )));
    }
    let found = String::from_utf8_lossy(&header[32..48]).into_owned();
    let parsed = SeenHeader {
        key: FingerprintKey::from_bytes(array(&header[16..32])),
        digest: found,
        count: u64::from_le_bytes(array(&header[48..56])),
    };
    if parsed.to_bytes() != header {
        return Err(Error::input("the header of the seen file is damaged"));
    }
    if parsed.digest != digest {
        return Err(Error::config(format!(
            "the seen file belongs to another profile (digest {}, this run has {digest}); use the same \
             options as the run that wrote it",
            parsed.digest
        )));
    }
    let mut record = [0; 16];
    let mut last = None;
    for _ in 0..parsed.count {
        file.read_exact(&mut record).map_err(damaged)?;
        let fingerprint = Fingerprint(u128::from_le_bytes(record));
        if last >= Some(fingerprint) {
            return Err(Error::input("the seen file is damaged: its records are not in order"));
        }
        last = Some(fingerprint);
        set.insert(fingerprint);
    }
    if file.read(&mut record).map_err(damaged)? > 0 {
        return Err(Error::input(
            "the seen file is damaged: there is more in it than its header says",
        ));
    }
    Ok(parsed)
}

/// Writes all of `set` as a seen file.
pub fn write_seen(
    mut file: impl Write,
    key: &FingerprintKey,
    digest: &str,
    set: &ClusterSet,
) -> io::Result<()> {
    let header = SeenHeader { key: key.clone(), digest: digest.to_string(), count: set.len() };
    file.write_all(&header.to_bytes())?;
    for partition in 0..PARTITIONS {
        for fingerprint in set.sorted(partition) {
            file.write_all(&fingerprint.0.to_le_bytes())?;
        }
    }
    file.flush()
}

fn damaged(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::input("the seen file ends too early"),
        _ => Error::input(format!("cannot read the seen file: {error}")),
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the caller cuts N bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (ClusterSet, Vec<u8>) {
        let key = FingerprintKey::from_bytes([3; 16]);
        let set = ClusterSet::default();
        for number in 0..5000u32 {
            set.insert(key.fingerprint(&number.to_le_bytes()));
        }
        let mut file = Vec::new();
        write_seen(&mut file, &key, "0123456789abcdef", &set).unwrap();
        (set, file)
    }

    #[test]
    fn round_trip() {
        let (set, file) = file();
        let copy = ClusterSet::default();
        let header = read_seen(&file[..], "0123456789abcdef", &copy).unwrap();
        assert_eq!(header.count, 5000);
        for partition in 0..PARTITIONS {
            assert_eq!(set.sorted(partition), copy.sorted(partition));
        }
    }

    #[test]
    fn damage_is_told() {
        let (_, file) = file();
        let read = |file: &[u8], digest| {
            read_seen(file, digest, &ClusterSet::default()).unwrap_err().to_string()
        };
        assert!(read(&file, "fedcba9876543210").contains("another profile"));
        assert!(read(&file[..file.len() - 1], "0123456789abcdef").contains("too early"));
        assert!(read(&[&file[..], b"x"].concat(), "0123456789abcdef").contains("more in it"));
        assert!(
            read(b"http://a.test/\nhttp://b.test/\nhttp://c.test/\nhttp://d.test/\nhttp://", "")
                .contains("something else")
        );
        for at in 12..HEADER_BYTES {
            let mut bad = file.clone();
            bad[at] ^= 1;
            read(&bad, "0123456789abcdef");
        }
        let mut swapped = file.clone();
        swapped.copy_within(HEADER_BYTES..HEADER_BYTES + 16, HEADER_BYTES + 16);
        assert!(read(&swapped, "0123456789abcdef").contains("order"));
    }
}
