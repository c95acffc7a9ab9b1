//! The clusters of earlier runs, and those of this run, for later ones.

mod file;

use std::fs::File;
use std::io::{self, BufReader};
use std::sync::OnceLock;

use super::firsts::Numbered;
use super::on_disk::records::Fingerprinted as _;
use super::on_disk::resolve::FingerprintRange;
use super::on_disk::sorted::{Ascending, Sorted};
use super::scatter::PARTITIONS;
use super::set::ClusterSet;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, FingerprintKey};
use file::{DIGEST_BYTES, MAGIC, SeenFile, SeenHeader, Total, damaged, remains_in};

/// The clusters of earlier runs, and those of this run, for later ones.
///
/// Every fingerprint is in one of three places: in the set in memory; in the seen file, if that
/// does not fit in memory; or, once the set is full, in a temporary file of this run.
#[derive(Debug, Default)]
pub struct Seen {
    set: ClusterSet,
    old: Option<SeenFile>,
    fresh: OnceLock<Sorted>,
    /// The key of all fingerprints, and the digest of the profile that their canonical forms are
    /// by; nothing if it was made for one run alone.
    origin: Option<(FingerprintKey, String)>,
    is_read_only: bool,
}

impl Seen {
    /// Begins with no clusters, to be written with this key, and with the digest of the profile in
    /// use. (The default is for one run, and not to be written.)
    ///
    /// # Panics
    ///
    /// If the digest has not 16 digits, as [`Profile::digest`](crate::Profile::digest) has.
    pub fn new(key: FingerprintKey, digest: &str) -> Seen {
        assert_eq!(digest.len(), DIGEST_BYTES, "the digest has its place in the header");
        Seen { origin: Some((key, digest.to_string())), ..Seen::default() }
    }

    /// Reads the fingerprints of a seen file. They are read into memory if they take no more than
    /// `memory_bytes`.
    ///
    /// `digest` is that of the profile in use: another one is an error, since the fingerprints of
    /// different canonical forms have nothing in common. Errors, later ones too, begin with `name`.
    pub fn open(file: File, name: &str, digest: &str, memory_bytes: u64) -> Result<Seen> {
        Seen::open_unnamed(file, name, digest, memory_bytes).map_err(|error| error.at(name))
    }

    fn open_unnamed(file: File, name: &str, digest: &str, memory_bytes: u64) -> Result<Seen> {
        let header = SeenHeader::read(&file, digest)?;
        let mut seen = Seen::new(header.key.clone(), digest);
        let is_small = header.count <= memory_bytes / ClusterSet::BYTES_PER_FINGERPRINT_MAX;
        if is_small {
            header.read_records(BufReader::with_capacity(256 << 10, file), &seen.set)?;
        } else {
            seen.old = Some(SeenFile::new(file, name, header)?);
        }
        Ok(seen)
    }

    /// Makes the clusters read-only: the run leaves them out, and does not write them.
    pub fn read_only(self) -> Seen {
        Seen { is_read_only: true, ..self }
    }

    /// Is a file that starts with `bytes` a seen file?
    pub fn is_announced_by(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Checks by `head`, the first bytes of a file (as many as a header has, or all it has), that
    /// it is not a damaged seen file, which a run would read as a list of unknown lines. Lines of
    /// lists end with `separator`.
    ///
    /// Failure: an input error. A seen file with an intact start passes.
    pub fn check_list(head: &[u8], separator: u8) -> Result<()> {
        remains_in(head, separator).map_or(Ok(()), |found| {
            Err(Error::input(format!(
                "expected URLs, or a seen file, found {found}: the file was damaged; put a copy of it in its \
                 place, or leave it out"
            )))
        })
    }

    /// The key that all fingerprints are made with; of the default, which takes any, there is none.
    pub fn key(&self) -> Option<FingerprintKey> {
        self.origin.as_ref().map(|(key, _)| key.clone())
    }

    /// Is this to be written? If not, a run may give the fingerprints back before it ends.
    pub(crate) fn is_to_be_written(&self) -> bool {
        self.origin.is_some() && !self.is_read_only
    }

    /// Adds a fingerprint, made with its [key](Seen::key), and says whether it is new. For those
    /// who have their URLs one by one; a job adds what it reads.
    ///
    /// Failure: a configuration error if the file of earlier runs had no room in the memory that it
    /// was opened with: on the disk fingerprints are looked up by jobs alone, many at a time.
    pub fn insert(&self, fingerprint: Fingerprint) -> Result<bool> {
        match &self.old {
            None => Ok(self.set.insert(fingerprint)),
            Some(old) => Err(Error::config(format!(
                "{} fingerprints of a seen file are not in memory, where single ones are looked up; open it with {} \
                 bytes of memory",
                old.records(),
                old.records().saturating_mul(ClusterSet::BYTES_PER_FINGERPRINT_MAX)
            ))),
        }
    }

    /// Checks that a run whose fingerprints are made with `key`, of canonical forms by the profile
    /// with this `digest`, can look them up here.
    ///
    /// Failure: a configuration error.
    pub(crate) fn check_fits(&self, key: &FingerprintKey, digest: &str) -> Result<()> {
        if self.fresh.get().is_some() {
            return Err(Error::config(
                "these clusters have taken those of a run for which memory was too small, and cannot take more: \
                 write them, and open what was written for the next run",
            ));
        }
        match &self.origin {
            Some((own, _)) if own != key => Err(Error::config(
                "the key of the job is another one than that of the clusters that were seen; take theirs",
            )),
            Some((_, own)) if own != digest => Err(Error::config(format!(
                "the profile of the job has the digest {digest}, that of the clusters that were seen {own}; take the \
                 same profile",
            ))),
            _ => Ok(()),
        }
    }

    /// The fingerprints in memory, to which those of this run are added.
    pub(crate) fn set(&self) -> &ClusterSet {
        &self.set
    }

    /// Does the set have all fingerprints of earlier runs?
    pub fn is_in_memory(&self) -> bool {
        self.old.is_none()
    }

    /// Adds the fingerprints of this run that are neither in the set nor in the seen file.
    pub fn remember(&self, fresh: Sorted) {
        self.fresh.set(fresh).expect("a run takes one such file");
    }

    /// Removes those of `records` that are in the seen file on disk. They are sorted, and are all
    /// those of `partition` in `range`.
    pub(super) fn retain_new(
        &self,
        partition: usize,
        range: FingerprintRange,
        records: &mut Vec<Numbered>,
    ) -> io::Result<()> {
        let Some(old) = &self.old else { return Ok(()) };
        let mut ascending =
            old.between(partition, range).map_err(|error| io::Error::other(old.damaged(error)))?;
        let mut met = Total::default();
        let mut next = || -> io::Result<Option<Fingerprint>> {
            // Our own error inside an `io::Error`: a plain one would be reported as a failure of a
            // temporary file.
            let known = ascending.next().map_err(|error| io::Error::other(old.damaged(error)))?;
            known.into_iter().for_each(|record| met.add(record));
            Ok(known)
        };
        let mut known = next()?;
        let mut failure = Ok(());
        records.retain(|record| {
            let fingerprint = record.fingerprint();
            while failure.is_ok() && known.is_some_and(|known| known < fingerprint) {
                match next() {
                    Ok(after) => known = after,
                    Err(error) => failure = Err(error),
                }
            }
            known != Some(fingerprint)
        });
        failure?;
        // Reads to the end, so that damage is noticed before anything is written.
        while next()?.is_some() {}
        old.add_met(met);
        Ok(())
    }

    /// Checks that all of the seen file was read, and is what was written: its records are in
    /// order, and their sum is right.
    pub fn check(&self) -> Result<()> {
        let Some(old) = &self.old else { return Ok(()) };
        old.check_met()
    }

    /// Gives `each` the bytes of a seen file with all fingerprints, old and new, piece by piece;
    /// nothing if this is [read only](Seen::read_only), or for one run.
    ///
    /// Memory: one partition of the set.
    ///
    /// Failure: the first error of `each`, and one if the old file is damaged.
    pub fn write(&self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Some((key, digest)) = self.origin.as_ref().filter(|_| !self.is_read_only) else {
            return Ok(());
        };
        let damaged = |error| match &self.old {
            Some(old) => old.damaged(error),
            None => damaged(error),
        };
        let old = self.old.as_ref().map_or(0, |old| old.records());
        let fresh = self.fresh.get().map_or(0, Sorted::len);
        let count = self.set.len() + old + fresh;
        each(&SeenHeader { key: key.clone(), digest: digest.clone(), count }.to_bytes())?;
        let reading = |error| Error::reading("temporary file", error);
        let mut written = Total::of_none(key);
        let mut copied = written;
        for partition in 0..PARTITIONS {
            let mut set = self.set.sorted(partition).into_iter();
            let mut old = match &self.old {
                Some(old) => Some(old.between(partition, WHOLE).map_err(damaged)?),
                None => None,
            };
            let mut fresh = self.fresh.get().map(|fresh| fresh.of(partition));
            let mut heads = [
                set.next(),
                next_of(&mut old).map_err(damaged)?,
                next_of(&mut fresh).map_err(reading)?,
            ];
            while let Some(least) = heads.iter().flatten().min().copied() {
                each(&least.0.to_le_bytes())?;
                written.add(least);
                if heads[0] == Some(least) {
                    heads[0] = set.next();
                } else if heads[1] == Some(least) {
                    copied.add(least);
                    heads[1] = next_of(&mut old).map_err(damaged)?;
                } else {
                    heads[2] = next_of(&mut fresh).map_err(reading)?;
                }
            }
        }
        if let Some(old) = &self.old {
            old.check(&copied)?;
        }
        if written.records() != count {
            return Err(Error::internal("fingerprints were lost"));
        }
        each(&written.to_bytes())
    }
}

/// All fingerprints.
const WHOLE: FingerprintRange = (Fingerprint(0), None);

fn next_of(ascending: &mut Option<Ascending>) -> io::Result<Option<Fingerprint>> {
    ascending.as_mut().map_or(Ok(None), Ascending::next)
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use super::file::HEADER_BYTES;
    use super::*;
    use crate::cluster::on_disk::records::Halves;

    const DIGEST: &str = "0123456789abcdef";

    fn fingerprints() -> Vec<Fingerprint> {
        let key = FingerprintKey::from_bytes([3; 16]);
        (0..5000u32).map(|number| key.fingerprint(&number.to_le_bytes())).collect()
    }

    fn bytes_of(seen: &Seen) -> Vec<u8> {
        let mut bytes = Vec::new();
        seen.write(|piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
        bytes
    }

    fn bytes() -> Vec<u8> {
        let seen = Seen::new(FingerprintKey::from_bytes([3; 16]), DIGEST);
        for fingerprint in fingerprints() {
            seen.set.insert(fingerprint);
        }
        bytes_of(&seen)
    }

    fn open(bytes: &[u8], digest: &str, memory_bytes: u64) -> Result<Seen> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        Seen::open(file, "seen", digest, memory_bytes)
    }

    #[test]
    fn round_trip() {
        let bytes = bytes();
        for memory_bytes in [0, 1 << 30] {
            let seen = open(&bytes, DIGEST, memory_bytes).unwrap();
            assert_eq!(seen.is_in_memory(), memory_bytes > 0);
            assert_eq!(seen.set.is_empty(), memory_bytes == 0);
            assert!(bytes_of(&seen) == bytes);
        }
        assert_eq!(bytes_of(&Seen::default()), b"");
    }

    #[test]
    fn single_fingerprints_are_looked_up_in_memory() {
        let bytes = bytes();
        let seen = open(&bytes, DIGEST, 1 << 30).unwrap();
        let [known, new] = [fingerprints()[7], Fingerprint(7)];
        assert_eq!([known, new, new].map(|one| seen.insert(one).unwrap()), [false, true, false]);
        let error = open(&bytes, DIGEST, 1000).unwrap().insert(new).unwrap_err();
        assert!(error.is_config() && error.to_string().contains("5000 fingerprints"), "{error}");
    }

    #[test]
    fn runs_have_to_fit() {
        let [key, other] = [3, 4].map(|byte| FingerprintKey::from_bytes([byte; 16]));
        let seen = Seen::new(key.clone(), DIGEST);
        seen.check_fits(&key, DIGEST).unwrap();
        Seen::default().check_fits(&other, DIGEST).unwrap();
        let told = |key, digest| seen.check_fits(key, digest).unwrap_err().to_string();
        assert!(told(&other, DIGEST).starts_with("the key of the job"));
        assert!(told(&key, "fedcba9876543210").contains("digest fedcba9876543210"));
        seen.remember(Sorted::new(tempfile::tempfile().unwrap()));
        assert!(told(&key, DIGEST).contains("open what was written"));
    }

    #[test]
    fn what_is_new_is_written_beside_what_is_not() {
        let all = fingerprints();
        let expected = bytes();
        let half = Seen::new(FingerprintKey::from_bytes([3; 16]), DIGEST);
        for one in all.iter().step_by(2) {
            half.set.insert(*one);
        }
        for memory_bytes in [0, 1 << 30] {
            let seen = open(&bytes_of(&half), DIGEST, memory_bytes).unwrap();
            let fresh = Sorted::new(tempfile::tempfile().unwrap());
            for partition in 0..PARTITIONS {
                let of = |one: &&Fingerprint| super::super::partition_of(**one) == partition;
                let mut records: Vec<Numbered> = all
                    .iter()
                    .filter(of)
                    .filter(|one| !seen.set.sorted(partition).contains(one))
                    .map(|one| Numbered { fingerprint: Halves::of(*one), number: 0 })
                    .collect();
                records.sort_unstable();
                // In two passes.
                let middle = records.get(records.len() / 2).map(|one| one.fingerprint());
                let (mut low, mut high) = (records.clone(), Vec::new());
                if let Some(middle) = middle {
                    (low, high) = records.iter().partition(|one| one.fingerprint() < middle);
                }
                seen.retain_new(partition, (Fingerprint(0), middle), &mut low).unwrap();
                if let Some(middle) = middle {
                    seen.retain_new(partition, (middle, None), &mut high).unwrap();
                }
                low.append(&mut high);
                let fingerprints: Vec<_> = low.iter().map(|one| one.fingerprint()).collect();
                fresh.append(partition, fingerprints.into_iter()).unwrap();
            }
            seen.check().unwrap();
            assert_eq!(fresh.len(), 2500);
            seen.remember(fresh);
            assert!(bytes_of(&seen) == expected);
        }
    }

    #[test]
    fn damage_is_told() {
        let file = bytes();
        for memory_bytes in [0, 1 << 30] {
            let read = |file: &[u8], digest| {
                let seen = match open(file, digest, memory_bytes) {
                    Ok(seen) => seen,
                    Err(error) => return error.to_string(),
                };
                // What stays on the disk is looked at later.
                for partition in 0..PARTITIONS {
                    if let Err(error) = seen.retain_new(partition, WHOLE, &mut Vec::new()) {
                        return error.to_string();
                    }
                }
                seen.check().map_or_else(|error| error.to_string(), |()| "fine".to_string())
            };
            assert_eq!(read(&file, DIGEST), "fine");
            assert!(read(&file, "fedcba9876543210").contains("another profile"));
            assert!(read(&file[..file.len() - 1], DIGEST).contains("too early"));
            assert!(read(&[&file[..], b"x"].concat(), DIGEST).contains("more in it"));
            assert!(
                read(
                    b"http://a.test/\nhttp://b.test/\nhttp://c.test/\nhttp://d.test/\nhttp://",
                    ""
                )
                .contains("something else")
            );
            for at in 0..HEADER_BYTES {
                let mut bad = file.clone();
                bad[at] ^= 1;
                assert_ne!(read(&bad, DIGEST), "fine", "byte {at}");
            }
            for at in (HEADER_BYTES..file.len() - 32).step_by(16) {
                let mut swapped = file.clone();
                swapped[at..at + 32].rotate_left(16);
                assert!(read(&swapped, DIGEST).contains("order"), "byte {at}");
            }
            // A record that is another, and still in order; the last of these is the sum.
            for at in (HEADER_BYTES..file.len()).step_by(16 * 8).chain([file.len() - 16]) {
                let mut flipped = file.clone();
                flipped[at] ^= 1;
                assert!(read(&flipped, DIGEST).contains("not those that"), "byte {at}");
            }
            // The lowest bit of two records, one of which has it and the other not.
            let records = || (HEADER_BYTES..file.len() - 16).step_by(16);
            let with = records().find(|at| file[*at] & 1 == 1).unwrap();
            let without = records().find(|at| file[*at] & 1 == 0).unwrap();
            let mut paired = file.clone();
            for at in [with, without] {
                paired[at] ^= 1;
            }
            assert!(read(&paired, DIGEST).contains("not those that"));
            // The header of one file with the records of another.
            let other = Seen::new(FingerprintKey::from_bytes([4; 16]), DIGEST);
            fingerprints().into_iter().for_each(|one| assert!(other.set.insert(one)));
            let other = bytes_of(&other);
            let mixed = [&other[..HEADER_BYTES], &file[HEADER_BYTES..]].concat();
            assert_eq!((read(&other, DIGEST).as_str(), mixed.len()), ("fine", file.len()));
            assert!(read(&mixed, DIGEST).contains("not those that"));
        }
    }

    #[test]
    fn damage_is_told_when_it_is_copied() {
        let mut file = bytes();
        file[HEADER_BYTES + 16 * 77] ^= 1;
        let seen = open(&file, DIGEST, 0).unwrap();
        let error = seen.write(|_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("not those that"), "{error}");
    }
}
