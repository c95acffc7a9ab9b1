//! A file of fingerprints on the disk: the clusters of earlier runs.
//!
//! ```text
//! file    = header record* sum
//! header  = magic version key digest count check
//! magic   = "undust-seen\n"                      12 bytes
//! version = u32                                   4
//! key     = 16 bytes                              the fingerprint key: keep the file to yourself
//! digest  = 16 bytes                              the profile's digest, as hexadecimal digits
//! count   = u64                                   number of records
//! check   = u64                                   SipHash-1-3 of the header before it, by the key
//! record  = u128                                  a fingerprint; in ascending order
//! sum     = u128                                  the key, as a number, and all records, mixed,
//!                                                 added modulo 2^128
//! mixed   = f(f(record))                          f(x) = (x ^ x >> 64) * MIXER modulo 2^128
//! ```
//!
//! All numbers are little-endian.

use std::fs::File;
use std::hash::Hasher as _;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::Mutex;

use siphasher::sip::SipHasher13;

use crate::cluster::on_disk::extents::Extent;
use crate::cluster::on_disk::resolve::FingerprintRange;
use crate::cluster::on_disk::sorted::{Ascending, RECORD_BYTES};
use crate::cluster::scatter::{bounds_of, partition_of};
use crate::cluster::set::ClusterSet;
use crate::error::{Error, Result, Setting};
use crate::fingerprint::{Fingerprint, FingerprintKey};

pub(super) const MAGIC: &[u8; 12] = b"undust-seen\n";
const VERSION: u32 = 5;
/// Digits of a profile's digest.
pub(super) const DIGEST_BYTES: usize = 16;
pub(super) const HEADER_BYTES: usize = 12 + 4 + 16 + DIGEST_BYTES + 8 + 8;
const SUM_BYTES: u64 = 16;

/// The header of a seen file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SeenHeader {
    /// The key of its fingerprints.
    pub(super) key: FingerprintKey,
    /// The digest of the profile that made the canonical forms.
    pub(super) digest: String,
    /// How many fingerprints.
    pub(super) count: u64,
}

impl SeenHeader {
    /// Reads the header from the start of `file`. A different `digest` is an error.
    pub(super) fn read(mut file: impl Read, digest: &str) -> Result<SeenHeader> {
        let mut header = [0; HEADER_BYTES];
        let (magic, rest) = header.split_at_mut(MAGIC.len());
        file.read_exact(magic).map_err(damaged)?;
        if magic != MAGIC {
            return Err(Error::input(
                "expected a seen file of undust, found something else; name another file, which is \
                 made if it is not there",
            ));
        }
        file.read_exact(rest).map_err(damaged)?;
        let version = u32::from_le_bytes(array(&header[12..16]));
        if version != VERSION {
            return Err(Error::input(format!(
                "expected version {VERSION} of the seen file, found {version}; use the release that wrote it, or \
                 remove the file and begin anew"
            )));
        }
        let found = String::from_utf8_lossy(&header[32..48]).into_owned();
        let parsed = SeenHeader {
            key: FingerprintKey::from_bytes(array(&header[16..32])),
            digest: found,
            count: u64::from_le_bytes(array(&header[48..56])),
        };
        if parsed.to_bytes() != header {
            return Err(is_damaged("its header is not as it was written"));
        }
        if parsed.digest != digest {
            return Err(Error::config(format!(
                "the seen file belongs to another profile (digest {}, this run has {digest}); use the same \
                 options, and files of rules that say the same, as the run that wrote it",
                parsed.digest
            )));
        }
        Ok(parsed)
    }

    /// Reads the fingerprints after the header into `set`, and checks them.
    pub(super) fn read_records(&self, mut file: impl Read, set: &ClusterSet) -> Result<()> {
        let mut record = [0; RECORD_BYTES as usize];
        let mut last = None;
        let mut total = Total::of_none(&self.key);
        // The fingerprints read so far of the partition that is being read.
        let mut sorted: Vec<Fingerprint> = Vec::new();
        for _ in 0..self.count {
            file.read_exact(&mut record).map_err(damaged)?;
            let fingerprint = Fingerprint(u128::from_le_bytes(record));
            if last >= Some(fingerprint) {
                return Err(out_of_order());
            }
            let before = last.replace(fingerprint).map(partition_of);
            if let Some(before) = before.filter(|before| *before != partition_of(fingerprint)) {
                set.load(before, &sorted);
                sorted.clear();
            }
            sorted.push(fingerprint);
            total.add(fingerprint);
        }
        if let Some(last) = last {
            set.load(partition_of(last), &sorted);
        }
        let mut sum = [0; SUM_BYTES as usize];
        file.read_exact(&mut sum).map_err(damaged)?;
        match file.read_exact(&mut record[..1]) {
            Ok(()) => return Err(too_long()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(error) => return Err(damaged(error)),
        }
        total.check(&Total { records: self.count, sum: u128::from_le_bytes(sum) })
    }

    /// Returns the bytes of the header.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.key.to_bytes());
        // A digest from a damaged header may have another length.
        let mut digest = [b'0'; DIGEST_BYTES];
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

/// Why a file is a damaged seen file and not a list, by its `head`: its first bytes, as many as a
/// header has, or all of them. Its lines would not show that, since they are all different. `None`
/// for any other file, also an empty one or an intact seen file.
///
/// Seen files lose their magic when the machine crashes (the file keeps its length, and its first
/// block is zeros), when they are cut, and when something overwrites it. NULs at the start of a
/// list whose `separator` is NUL are empty lines, if they are fewer than the magic has bytes.
pub(super) fn remains_in(head: &[u8], separator: u8) -> Option<&'static str> {
    let start = &head[..head.len().min(MAGIC.len())];
    let is_short = start.len() < MAGIC.len();
    if start.is_empty() {
        None
    } else if start.iter().all(|byte| *byte == 0) && !(is_short && separator == 0) {
        Some("NUL bytes at the start, as a crash of the machine leaves them")
    } else if is_short && MAGIC.starts_with(start) {
        Some(
            "the first bytes of a seen file, and no more (a list of this one word needs a line end)",
        )
    } else if start != MAGIC && has_fields_of_header(head) {
        Some("a seen file whose first bytes are damaged")
    } else {
        None
    }
}

/// Are version and digest, or as much as there is of them, at their place in a header?
fn has_fields_of_header(head: &[u8]) -> bool {
    // Versions of all releases so far, and some to come.
    let has_version = matches!(head.get(MAGIC.len()..), Some([1..=8, 0, 0, 0, ..]));
    let mut digest = head.iter().skip(32).take(DIGEST_BYTES);
    has_version && digest.all(u8::is_ascii_hexdigit)
}

fn check_sum(bytes: &[u8], key: &FingerprintKey) -> u64 {
    let mut hasher = SipHasher13::new_with_key(&key.to_bytes());
    hasher.write(bytes);
    hasher.finish()
}

/// An odd number whose bits look random: the fraction of the golden ratio.
const MIXER: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;

/// A record as it is added to the sum. Reason: the sum of plain records would not change if one
/// grows by what another loses, as when the same bit of both flips.
fn mixed(record: u128) -> u128 {
    let mix = |x: u128| (x ^ x >> 64).wrapping_mul(MIXER);
    mix(mix(record))
}

/// The number and the checksum of records, to verify that they are those that were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Total {
    records: u64,
    sum: u128,
}

impl Total {
    /// No record; the sum begins with `key`, so that records belong to their header.
    pub(super) fn of_none(key: &FingerprintKey) -> Total {
        Total { records: 0, sum: u128::from_le_bytes(key.to_bytes()) }
    }

    pub(super) fn add(&mut self, record: Fingerprint) {
        self.add_all(Total { records: 1, sum: mixed(record.0) });
    }

    fn add_all(&mut self, others: Total) {
        let Total { records, sum } = others;
        self.records += records;
        self.sum = self.sum.wrapping_add(sum);
    }

    /// How many records.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// The bytes of the sum in the file.
    pub(super) fn to_bytes(self) -> [u8; SUM_BYTES as usize] {
        self.sum.to_le_bytes()
    }

    /// Checks that these are all records of a file that has the total `expected`.
    fn check(&self, expected: &Total) -> Result<()> {
        match self {
            // The count matches the header, but records that are out of order are not found, or
            // found twice.
            _ if self.records != expected.records => Err(out_of_order()),
            _ if self.sum != expected.sum => Err(altered()),
            _ => Ok(()),
        }
    }
}

/// A seen file that stays on the disk.
#[derive(Debug)]
pub(super) struct SeenFile {
    file: File,
    name: String,
    /// The total that the file should have.
    total: Total,
    /// The total of the records read so far.
    met: Mutex<Total>,
}

/// Why the lock can be taken.
const NO_PANIC: &str = "no thread panics while it holds the total";

impl SeenFile {
    /// Opens the file with this `header`; errors call it `name`.
    pub(super) fn new(file: File, name: &str, header: SeenHeader) -> Result<SeenFile> {
        let meta = file.metadata().map_err(damaged)?;
        if !meta.is_file() {
            return Err(Error::limit(format!(
                "a seen file that is not a regular file has to fit in memory; raise {}",
                Setting::Memory
            )));
        }
        let rest = meta.len().checked_sub(HEADER_BYTES as u64 + SUM_BYTES);
        match (header.count.checked_mul(RECORD_BYTES), rest) {
            (Some(expected), Some(records)) if expected == records => {}
            (Some(expected), Some(records)) if expected < records => return Err(too_long()),
            _ => return Err(damaged(io::ErrorKind::UnexpectedEof.into())),
        }
        let mut sum = [0; SUM_BYTES as usize];
        file.read_exact_at(&mut sum, meta.len() - SUM_BYTES).map_err(damaged)?;
        let total = Total { records: header.count, sum: u128::from_le_bytes(sum) };
        let met = Mutex::new(Total::of_none(&header.key));
        Ok(SeenFile { file, name: name.to_string(), total, met })
    }

    /// How many fingerprints it has.
    pub(super) fn records(&self) -> u64 {
        self.total.records
    }

    /// Adds records that were read to the total.
    pub(super) fn add_met(&self, met: Total) {
        self.met.lock().expect(NO_PANIC).add_all(met);
    }

    /// Checks that all records were read, and are those that were written.
    pub(super) fn check_met(&self) -> Result<()> {
        self.check(&self.met.lock().expect(NO_PANIC))
    }

    /// Checks that `read` is the total of the whole file.
    pub(super) fn check(&self, read: &Total) -> Result<()> {
        read.check(&self.total).map_err(|error| error.at(&self.name))
    }

    /// The fingerprints of `partition` in `range`.
    pub(super) fn between(
        &self,
        partition: usize,
        (from, end): FingerprintRange,
    ) -> io::Result<Ascending<'_>> {
        let (first, last) = bounds_of(partition);
        let from = self.position(from.max(first))?;
        let end = match end {
            Some(end) if end <= last => self.position(end)?,
            _ => match last.0.checked_add(1) {
                Some(next) => self.position(Fingerprint(next))?,
                None => self.total.records,
            },
        };
        let at = |position| HEADER_BYTES as u64 + position * RECORD_BYTES;
        let piece = Extent { at: at(from), end: at(end.max(from)) };
        Ok(Ascending::new(&self.file, vec![piece]))
    }

    #[cold]
    pub(super) fn damaged(&self, error: io::Error) -> Error {
        damaged(error).at(&self.name)
    }

    /// How many fingerprints are smaller.
    fn position(&self, fingerprint: Fingerprint) -> io::Result<u64> {
        let (mut from, mut end) = (0, self.total.records);
        while from < end {
            let middle = from + (end - from) / 2;
            let mut record = [0; RECORD_BYTES as usize];
            self.file.read_exact_at(&mut record, HEADER_BYTES as u64 + middle * RECORD_BYTES)?;
            if Fingerprint(u128::from_le_bytes(record)) < fingerprint {
                from = middle + 1;
            } else {
                end = middle;
            }
        }
        Ok(from)
    }
}

#[cold]
pub(super) fn damaged(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::input(
            "the seen file ends too early; put a copy of it in its place, or remove it to begin a new one",
        ),
        io::ErrorKind::InvalidData => out_of_order(),
        _ => Error::input(format!("cannot read the seen file: {error}")),
    }
}

#[cold]
fn out_of_order() -> Error {
    is_damaged("its records are not in order")
}

#[cold]
fn altered() -> Error {
    is_damaged("its records are not those that were written")
}

#[cold]
fn too_long() -> Error {
    is_damaged("there is more in it than its header says")
}

#[cold]
fn is_damaged(how: &str) -> Error {
    Error::input(format!(
        "the seen file is damaged: {how}; put a copy of it in its place, or remove it to begin a new one"
    ))
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the caller cuts N bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remains_of_seen_files_are_told_from_lists() {
        let key = FingerprintKey::from_bytes([b'k'; 16]);
        let whole = SeenHeader { key, digest: "0123456789abcdef".into(), count: 7 }.to_bytes();
        let is_told =
            |head: &[u8]| [b'\n', 0].map(|separator| remains_in(head, separator).is_some());
        for (damage, why) in [(0..1, "a byte"), (11..12, "the last"), (0..12, "all of the magic")] {
            let mut bad = whole.clone();
            bad[damage].iter_mut().for_each(|byte| *byte ^= 0x15);
            for end in [16, 40, bad.len()] {
                assert_eq!(is_told(&bad[..end]), [true; 2], "{why}, {end} bytes");
            }
        }
        for end in 1..MAGIC.len() {
            assert_eq!(is_told(&whole[..end]), [true; 2], "the first {end}");
            assert_eq!(is_told(&vec![0; end]), [true, false], "{end} NULs");
        }
        assert_eq!(is_told(&[0; 1024]), [true; 2]);
        for (list, why) in [
            (&whole[..], "it says what it is"),
            (b"", "nothing"),
            (b"undust", "a word, whole: told all the same"),
            (b"undust\n", "a line"),
            (b"undust-seen.test\n", "a host"),
            (b"undust-see\nhttp://a.test/\n", "a line and more"),
            (b"http://a.test/\0http://b.test/\0", "lines that end with NUL"),
            (b"\0\0http://a.test/\0", "empty ones before them"),
            (b"http://a.te\n\0\0\0\0\n", "NULs in a line"),
            (b"http://a.tes\t\0\0\0\n", "a tab before them"),
        ] {
            assert_eq!(is_told(list), [list == b"undust"; 2], "{why}");
        }
    }
}
