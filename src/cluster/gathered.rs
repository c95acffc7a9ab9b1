//! Whole clusters with all their lines, in files, however many and however large they are.
//!
//! ```text
//! reading    lines --> Spill (fingerprint, member), by partition
//! at the end partition by partition: clusters --> Runs of the lines that stand for them
//!            \-> list of the other lines, cluster by cluster; Runs of them, by line
//!
//! list    = member*           the partitions in any order; a cluster's members follow each other
//! member  = line place bytes  u64 each, little-endian
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU64, Ordering};

use super::census::Keep;
use super::resolve::groups;
use super::runs::{Merged, Runs};
use super::scatter::partition_of;
use super::spill::{Spill, SpillFiles, damaged, halves, read_up_to, record_of};
use crate::fingerprint::Fingerprint;

/// Bytes of a member in the list.
const MEMBER_BYTES: u64 = 24;

/// Members written and read at once.
const BUFFER_MEMBERS: usize = 2 << 10;

/// A line of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its number, from 0 over all inputs.
    pub line: u64,
    /// Where the job has its text.
    pub place: u64,
    /// How long that is, in bytes.
    pub bytes: u64,
}

/// A cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The line that stands for the others.
    pub standing: Member,
    /// Where the first of the others is, in members from the start of the list.
    first: u64,
    /// How many others there are.
    pub others: u64,
}

/// What is wanted of a cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// The cluster with all its members.
    pub whole: bool,
    /// Those of its members that do not stand for it.
    pub others: bool,
}

/// The lines of a job's clusters.
#[derive(Debug)]
pub struct Gathered {
    /// Fingerprint; line, place, bytes.
    spill: Spill<5>,
    list: File,
    /// Where the next partition goes in the list, in members.
    end: AtomicU64,
    /// The member that stands for a cluster; where the others are in the list, and how many.
    clusters: Runs<5>,
    /// The member; the one that stands for it.
    others: Runs<6>,
}

impl Gathered {
    /// Bytes of memory that a line takes in [`Gathered::resolve`]: a record, and a row of each run.
    pub const LINE_BYTES: usize = 8 * (5 + 5 + 6);

    /// No lines yet. They go to `lines`; `files` are for the list, the clusters, and the others. All are
    /// empty; buffers take `buffer_bytes`.
    pub fn new(lines: SpillFiles, files: [File; 3], buffer_bytes: usize) -> Self {
        let [list, clusters, others] = files;
        Gathered {
            spill: Spill::new(lines, buffer_bytes),
            list,
            end: AtomicU64::new(0),
            clusters: Runs::new(clusters),
            others: Runs::new(others),
        }
    }

    /// Adds a line of the cluster of `fingerprint`. Lines in order.
    pub fn add(&self, fingerprint: Fingerprint, member: Member) -> io::Result<()> {
        let [high, low] = halves(fingerprint);
        let record = [high, low, member.line, member.place, member.bytes];
        self.spill.append(partition_of(fingerprint), std::iter::once(record))
    }

    /// No more will come: writes what is still in the buffers.
    pub fn finish(&self) -> io::Result<()> {
        self.spill.finish()
    }

    /// Puts the clusters of `partition` together, of whose number of lines `wanted` says so. `keep`
    /// says which line stands for the others. Holds at most `capacity` lines in memory.
    pub fn resolve(
        &self,
        partition: usize,
        capacity: usize,
        keep: Keep,
        wanted: impl Fn(u64) -> Wanted,
    ) -> io::Result<()> {
        let members = self.spill.records(partition);
        let first = self.end.fetch_add(members, Ordering::Relaxed);
        let mut list = ListWriter { file: &self.list, next: first, buffer: Vec::new() };
        let (mut clusters, mut others) = (Vec::new(), Vec::new());
        // A run is sorted when it is written, so any number of clusters may be gathered for one.
        let rows_max = capacity.max(2);
        groups(&self.spill, partition, capacity, |group| {
            let (mut count, mut least) = (0, [u64::MAX; 2]);
            let mut standing = [0; 5];
            group.read(|record| {
                count += 1;
                let rank = [keep.rank(record[2], record[4] as u32), record[2]];
                if rank < least {
                    (least, standing) = (rank, *record);
                }
                Ok(())
            })?;
            let wanted = wanted(count);
            if !wanted.whole && !wanted.others {
                return Ok(());
            }
            let [_, _, standing @ ..] = standing;
            if wanted.whole {
                let [line, place, bytes] = standing;
                clusters.push([line, place, bytes, list.next, count - 1]);
            }
            if clusters.len() >= rows_max {
                write_run(&self.clusters, &mut clusters)?;
            }
            group.read(|&[_, _, line, place, bytes]| {
                if line == standing[0] {
                    return Ok(());
                }
                if wanted.whole {
                    list.push([line, place, bytes])?;
                }
                if wanted.others {
                    others.push([line, place, bytes, standing[0], standing[1], standing[2]]);
                }
                if others.len() >= rows_max { write_run(&self.others, &mut others) } else { Ok(()) }
            })
        })?;
        write_run(&self.clusters, &mut clusters)?;
        write_run(&self.others, &mut others)?;
        list.flush()
    }

    /// All partitions are resolved: the clusters, by the line that stands for each, and the other
    /// lines, by number. Each holds at most `capacity` rows in memory.
    pub fn merge(self, capacity: usize) -> (Clusters, Others) {
        let clusters = Clusters { merged: self.clusters.merge(capacity), list: self.list };
        (clusters, Others(self.others.merge(capacity)))
    }

    /// Bytes of the files of lines.
    pub fn spilled_bytes(&self) -> u64 {
        self.spill.bytes()
    }
}

/// Writes members one behind the other.
struct ListWriter<'a> {
    file: &'a File,
    /// Where the next member goes.
    next: u64,
    buffer: Vec<u8>,
}

impl ListWriter<'_> {
    /// Puts a member behind the others.
    fn push(&mut self, member: [u64; 3]) -> io::Result<()> {
        member.iter().for_each(|word| self.buffer.extend_from_slice(&word.to_le_bytes()));
        self.next += 1;
        if self.buffer.len() >= BUFFER_MEMBERS * MEMBER_BYTES as usize {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let at = self.next * MEMBER_BYTES - self.buffer.len() as u64;
        self.file.write_all_at(&self.buffer, at)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Sorts `rows` and writes them as a run; leaves none of them.
fn write_run<const WORDS: usize>(
    runs: &Runs<WORDS>,
    rows: &mut Vec<[u64; WORDS]>,
) -> io::Result<()> {
    rows.sort_unstable();
    runs.add(rows.drain(..))
}

/// Clusters, by the number of the line that stands for each.
#[derive(Debug)]
pub struct Clusters {
    merged: Merged<5>,
    list: File,
}

impl Clusters {
    /// The next one.
    pub fn next_cluster(&mut self) -> io::Result<Option<Whole>> {
        let Some([line, place, bytes, first, others]) = self.merged.peek()? else {
            return Ok(None);
        };
        self.merged.next_if(line)?;
        Ok(Some(Whole { standing: Member { line, place, bytes }, first, others }))
    }

    /// Reads the other lines of `cluster`, in order.
    pub fn others(&self, cluster: Whole) -> MemberReader<'_> {
        let (next, end) = (cluster.first, cluster.first + cluster.others);
        MemberReader { list: &self.list, next, end, buffer: Vec::new(), used: 0 }
    }

    /// The line that stands for `cluster` if `number` is 0; from 1 on, one of the others.
    pub fn member(&self, cluster: Whole, number: u64) -> io::Result<Member> {
        let Some(number) = number.checked_sub(1) else { return Ok(cluster.standing) };
        let mut bytes = [0; MEMBER_BYTES as usize];
        let at = (cluster.first + number) * MEMBER_BYTES;
        if read_up_to(&self.list, &mut bytes, at)? < bytes.len() {
            return Err(damaged());
        }
        Ok(member_of(&bytes))
    }
}

/// Lines of which another stands for the cluster, by number.
#[derive(Debug)]
pub struct Others(Merged<6>);

impl Others {
    /// The next one, and the one that stands for it.
    pub fn next_line(&mut self) -> io::Result<Option<[Member; 2]>> {
        let Some(words) = self.0.peek()? else { return Ok(None) };
        self.0.next_if(words[0])?;
        let member =
            |at: usize| Member { line: words[at], place: words[at + 1], bytes: words[at + 2] };
        Ok(Some([member(0), member(3)]))
    }
}

/// Some members of the list, one after the other.
#[derive(Debug)]
pub struct MemberReader<'a> {
    list: &'a File,
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    /// How much of the buffer was used.
    used: usize,
}

impl MemberReader<'_> {
    /// The next one.
    pub fn next_member(&mut self) -> io::Result<Option<Member>> {
        if self.used == self.buffer.len() {
            let count = (self.end - self.next).min(BUFFER_MEMBERS as u64);
            self.buffer.resize((count * MEMBER_BYTES) as usize, 0);
            self.used = 0;
            if read_up_to(self.list, &mut self.buffer, self.next * MEMBER_BYTES)?
                < self.buffer.len()
            {
                return Err(damaged());
            }
            self.next += count;
        }
        let Some(bytes) = self.buffer.get(self.used..).filter(|rest| !rest.is_empty()) else {
            return Ok(None);
        };
        self.used += MEMBER_BYTES as usize;
        Ok(Some(member_of(&bytes[..MEMBER_BYTES as usize])))
    }
}

fn member_of(bytes: &[u8]) -> Member {
    let [line, place, bytes] = record_of(bytes);
    Member { line, place, bytes }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cluster::PARTITIONS;
    use crate::cluster::spill::temporary;
    use crate::fingerprint::FingerprintKey;

    #[test]
    fn agrees_with_a_map_however_little_fits() {
        let key = FingerprintKey::from_bytes([6; 16]);
        let name = |line: u64| if line.is_multiple_of(3) { 0 } else { line * 7919 % 1201 };
        let member = |line| Member { line, place: 5 * line, bytes: line % 11 };
        let files = || std::array::from_fn(|_| tempfile::tempfile().unwrap());
        for keep in [Keep::First, Keep::Last, Keep::Shortest] {
            let mut twin: BTreeMap<u64, Vec<Member>> = BTreeMap::new();
            (0..4000).for_each(|line| twin.entry(name(line)).or_default().push(member(line)));
            let (mut clusters, mut others) = (BTreeMap::new(), BTreeMap::new());
            for members in twin.values_mut() {
                let rank = |one: &Member| (keep.rank(one.line, one.bytes as u32), one.line);
                let at = (0..members.len()).min_by_key(|at| rank(&members[*at])).unwrap();
                let standing = members.remove(at);
                members.insert(0, standing);
                let count = members.len();
                if count > 2 {
                    clusters.insert(standing.line, members.clone());
                }
                if count % 2 == 0 {
                    others.extend(members[1..].iter().map(|one| (one.line, [*one, standing])));
                }
            }
            for capacity in [0, 2, 7, 500, 100_000] {
                let gathered = Gathered::new(temporary(), files(), 0);
                for line in 0..4000 {
                    gathered.add(key.fingerprint(&name(line).to_le_bytes()), member(line)).unwrap();
                }
                gathered.finish().unwrap();
                let wanted = |count| Wanted { whole: count > 2, others: count % 2 == 0 };
                for partition in 0..PARTITIONS {
                    gathered.resolve(partition, capacity, keep, wanted).unwrap();
                }
                let (mut found, mut found_others) = gathered.merge(100);
                for (standing, expected) in &clusters {
                    let cluster = found.next_cluster().unwrap().unwrap();
                    assert_eq!(cluster.standing, expected[0], "{keep:?} {standing}");
                    let mut reader = found.others(cluster);
                    for member in &expected[1..] {
                        assert_eq!(reader.next_member().unwrap(), Some(*member), "{keep:?}");
                    }
                    for (number, member) in (0u64..).zip(expected) {
                        assert_eq!(found.member(cluster, number).unwrap(), *member);
                    }
                    assert_eq!(reader.next_member().unwrap(), None);
                }
                assert_eq!(found.next_cluster().unwrap(), None);
                for expected in others.values() {
                    assert_eq!(found_others.next_line().unwrap().as_ref(), Some(expected));
                }
                assert_eq!(found_others.next_line().unwrap(), None);
            }
        }
    }
}
