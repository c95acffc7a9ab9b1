//! Whole clusters with all their lines, in files: any number of clusters, of any size.
//!
//! ```text
//! reading    chunks of lines --> Spill (fingerprint, member), by partition
//! at the end partition by partition: clusters --> Runs of the lines that stand for them
//!            \-> list of the other lines, cluster by cluster; Runs of them, by line
//!
//! list    = member*           the partitions in any order; a cluster's members follow each other
//! member  = records.rs
//! ```

use std::fs::File;
use std::io;

use super::census::{Keep, Line, line_length};
use super::on_disk::extents::{Extents, damaged};
use super::on_disk::records::{Fingerprinted, Halves, Keyed, Record};
use super::on_disk::resolve::groups;
use super::on_disk::runs::{Merged, Runs};
use super::on_disk::spill::{Spill, SpillFiles};
use super::scatter::Scattered;
use crate::bytes::prefetch::prefetch;
use crate::fingerprint::Fingerprint;

/// Bytes of a member in the list.
const MEMBER_BYTES: u64 = Member::BYTES as u64;

/// A line of a cluster. Members sort by line; lines are distinct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// Its number, from 0 over all inputs.
    pub line: u64,
    /// The place of its text, which only the job knows.
    pub place: u64,
    /// The length of its text in bytes.
    pub bytes: u64,
}

/// A cluster. Clusters sort by the line that stands for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WholeCluster {
    /// The line that stands for the others.
    pub standing: Member,
    /// Where the first of the others is, in members from the start of the list.
    first: u64,
    /// How many others there are.
    pub others: u64,
    /// The room that the texts of the others take together, by the `room` of [`Gathered::resolve`].
    pub others_room: u64,
}

/// A line that does not represent its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OtherLine {
    /// The line.
    pub member: Member,
    /// The line that represents the cluster.
    pub standing: Member,
}

/// A line that waits for the end of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    fingerprint: Halves,
    member: Member,
}

/// What is wanted of a cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// Is the cluster wanted with all its members?
    pub whole: bool,
    /// Are the members wanted that do not represent the cluster?
    pub others: bool,
}

/// Lines of a chunk.
#[derive(Debug)]
pub struct ChunkLines {
    scattered: Scattered,
    /// The members of the scattered records; their lines count from the first of the chunk.
    members: Vec<Member>,
}

impl ChunkLines {
    /// Takes the lines `members`, counted from the first of the chunk, of the clusters of
    /// `fingerprints`.
    pub fn new(fingerprints: &[Fingerprint], members: Vec<Member>) -> Self {
        ChunkLines { scattered: Scattered::new(fingerprints), members }
    }
}

/// The lines of a job's clusters.
#[derive(Debug)]
pub struct Gathered {
    spill: Spill<Waiting>,
    list: Extents,
    clusters: Runs<WholeCluster>,
    others: Runs<OtherLine>,
}

impl Gathered {
    /// Bytes of memory that a line takes in [`Gathered::resolve`]: a record, and a row of each run.
    pub const LINE_BYTES: usize =
        size_of::<Waiting>() + size_of::<WholeCluster>() + size_of::<OtherLine>();

    /// Bytes of memory of a row in the results of [`Gathered::merge`]: a cluster, or another line.
    pub const ROW_BYTES: usize = {
        let (cluster, other) = (size_of::<WholeCluster>(), size_of::<OtherLine>());
        if cluster > other { cluster } else { other }
    };

    /// Begins without lines. They go to `lines`; `files` are for the list, the clusters, and the
    /// other lines. All files are empty; buffers take `buffer_bytes`.
    pub fn new(lines: SpillFiles, files: [File; 3], buffer_bytes: usize) -> Self {
        let [list, clusters, others] = files;
        Gathered {
            spill: Spill::new(lines, buffer_bytes),
            list: Extents::new(list),
            clusters: Runs::new(clusters),
            others: Runs::new(others),
        }
    }

    /// Adds those lines of `chunks` that are in `partition`. Each chunk comes with the number of
    /// its first line; chunks come in order.
    pub fn add<'a>(
        &self,
        partition: usize,
        chunks: impl Iterator<Item = (u64, &'a ChunkLines)>,
    ) -> io::Result<()> {
        let mut spill = self.spill.appender(partition);
        for (first_line, ChunkLines { scattered, members }) in chunks {
            for (record, fingerprint) in scattered.pairs(partition) {
                let mut member = members[record as usize];
                member.line += first_line;
                spill.push(Waiting { fingerprint: Halves::of(fingerprint), member })?;
            }
        }
        Ok(())
    }

    /// To be called after the last line: writes what is still in the buffers.
    pub fn finish(&self) -> io::Result<()> {
        self.spill.finish()
    }

    /// Puts together the clusters of `partition` whose number of lines is `wanted`. `keep` selects
    /// the line that represents a cluster, `room` is the room that a text of this many bytes takes.
    /// Holds at most `capacity` lines in memory. Returns how many clusters there are, wanted or
    /// not.
    pub fn resolve(
        &self,
        partition: usize,
        capacity: usize,
        keep: Keep,
        room: impl Fn(u64) -> u64,
        wanted: impl Fn(u64) -> Wanted,
    ) -> io::Result<u64> {
        let mut list = self.list.set_aside(self.spill.records(partition) * MEMBER_BYTES);
        let (mut clusters, mut others, mut found) = (Vec::new(), Vec::new(), 0);
        // A run is sorted when it is written, so any number of clusters may be gathered for one.
        let rows_max = capacity.max(2);
        groups(&self.spill, partition, capacity, |group| {
            found += 1;
            let (mut count, mut room_of_all, mut least) = (0, 0, None);
            group.read(|&Waiting { member, .. }| {
                count += 1;
                room_of_all += room(member.bytes);
                let line = Line { number: member.line, bytes: line_length(member.bytes) };
                let ranked = (keep.rank(line), member);
                if least.is_none_or(|least| ranked < least) {
                    least = Some(ranked);
                }
                Ok(())
            })?;
            let (_, standing) = least.ok_or_else(damaged)?;
            let wanted = wanted(count);
            if !wanted.whole && !wanted.others {
                return Ok(());
            }
            if wanted.whole {
                let first = list.next_at() / MEMBER_BYTES;
                let others_room = room_of_all - room(standing.bytes);
                clusters.push(WholeCluster { standing, first, others: count - 1, others_room });
            }
            if clusters.len() >= rows_max {
                write_run(&self.clusters, &mut clusters)?;
            }
            group.read(|&Waiting { member, .. }| {
                if member.line == standing.line {
                    return Ok(());
                }
                if wanted.whole {
                    member.push_to(list.room_for(Member::BYTES)?);
                }
                if wanted.others {
                    others.push(OtherLine { member, standing });
                }
                if others.len() >= rows_max { write_run(&self.others, &mut others) } else { Ok(()) }
            })
        })?;
        write_run(&self.clusters, &mut clusters)?;
        write_run(&self.others, &mut others)?;
        list.finish()?;
        Ok(found)
    }

    /// To be called when all partitions are resolved: returns the clusters, by the line that
    /// represents each; the other lines, by number; and the list. The first two hold at most
    /// `capacity` rows in memory each.
    pub fn merge(self, capacity: usize) -> (Clusters, OtherLines, File) {
        let clusters = Clusters(self.clusters.merge(capacity));
        (clusters, OtherLines(self.others.merge(capacity)), self.list.into_file())
    }

    /// Bytes of the files.
    pub fn spilled_bytes(&self) -> u64 {
        self.spill.bytes() + self.list.bytes() + self.clusters.bytes() + self.others.bytes()
    }
}

/// Sorts `rows`, writes them as a run, and clears them.
fn write_run<R: Keyed + Ord>(runs: &Runs<R>, rows: &mut Vec<R>) -> io::Result<()> {
    rows.sort_unstable();
    runs.add(rows.drain(..))
}

/// Clusters, by the number of the line that stands for each.
#[derive(Debug)]
pub struct Clusters(Merged<WholeCluster>);

impl Clusters {
    /// Returns the next cluster.
    pub fn next_cluster(&mut self) -> io::Result<Option<WholeCluster>> {
        self.0.next_record()
    }
}

impl WholeCluster {
    /// Returns the other lines of the cluster, in order; `list` is what the list holds.
    pub fn others<'a>(&self, list: &'a [u8]) -> io::Result<impl Iterator<Item = Member> + use<'a>> {
        // The list has nothing for a cluster of one line, and may end before `first`.
        let bytes = match self.others {
            0 => &[],
            count => members(list, self.first, count)?,
        };
        Ok(bytes.chunks_exact(Member::BYTES).map(Member::from_bytes))
    }

    /// Prefetches the first of the other lines in `list`.
    #[inline]
    pub fn prefetch_others(&self, list: &[u8]) {
        let first = self.first.checked_mul(MEMBER_BYTES).and_then(|at| usize::try_from(at).ok());
        first.and_then(|at| list.get(at)).into_iter().for_each(prefetch);
    }

    /// The line that represents it if `number` is 0; from 1 on, one of the others.
    pub fn member(&self, list: &[u8], number: u64) -> io::Result<Member> {
        let Some(number) = number.checked_sub(1) else { return Ok(self.standing) };
        Ok(Member::from_bytes(members(list, self.first.saturating_add(number), 1)?))
    }
}

/// `count` members of `list`.
fn members(list: &[u8], first: u64, count: u64) -> io::Result<&[u8]> {
    let at = |members: u64| usize::try_from(members.checked_mul(MEMBER_BYTES)?).ok();
    let range = at(first).zip(first.checked_add(count).and_then(at));
    range.and_then(|(start, end)| list.get(start..end)).ok_or_else(damaged)
}

/// Lines of which another stands for the cluster, by number.
#[derive(Debug)]
pub struct OtherLines(Merged<OtherLine>);

impl OtherLines {
    /// Returns the next line.
    pub fn next_line(&mut self) -> io::Result<Option<OtherLine>> {
        self.0.next_record()
    }
}

impl Record for Member {
    type Words = [u64; 3];

    #[inline]
    fn to_words(self) -> [u64; 3] {
        let Member { line, place, bytes } = self;
        [line, place, bytes]
    }

    #[inline]
    fn from_words([line, place, bytes]: [u64; 3]) -> Self {
        Member { line, place, bytes }
    }
}

impl Record for Waiting {
    type Words = [u64; 5];

    #[inline]
    fn to_words(self) -> [u64; 5] {
        let (Halves { high, low }, [line, place, bytes]) =
            (self.fingerprint, self.member.to_words());
        [high, low, line, place, bytes]
    }

    #[inline]
    fn from_words([high, low, member @ ..]: [u64; 5]) -> Self {
        Waiting { fingerprint: Halves { high, low }, member: Member::from_words(member) }
    }
}

impl Fingerprinted for Waiting {
    #[inline]
    fn halves(&self) -> Halves {
        self.fingerprint
    }
}

impl Record for WholeCluster {
    type Words = [u64; 6];

    #[inline]
    fn to_words(self) -> [u64; 6] {
        let [line, place, bytes] = self.standing.to_words();
        [line, place, bytes, self.first, self.others, self.others_room]
    }

    #[inline]
    fn from_words([line, place, bytes, first, others, others_room]: [u64; 6]) -> Self {
        WholeCluster { standing: Member { line, place, bytes }, first, others, others_room }
    }
}

impl Keyed for WholeCluster {
    #[inline]
    fn key(&self) -> u64 {
        self.standing.line
    }
}

impl Record for OtherLine {
    type Words = [u64; 6];

    #[inline]
    fn to_words(self) -> [u64; 6] {
        let [line, place, bytes] = self.member.to_words();
        let standing = self.standing;
        [line, place, bytes, standing.line, standing.place, standing.bytes]
    }

    #[inline]
    fn from_words([line, place, bytes, standing @ ..]: [u64; 6]) -> Self {
        let member = Member { line, place, bytes };
        OtherLine { member, standing: Member::from_words(standing) }
    }
}

impl Keyed for OtherLine {
    #[inline]
    fn key(&self) -> u64 {
        self.member.line
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Read as _;

    use super::*;
    use crate::cluster::PARTITIONS;
    use crate::cluster::on_disk::spill::temporary;
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
                let rank = |one: &Member| {
                    (keep.rank(Line { number: one.line, bytes: one.bytes as u32 }), one.line)
                };
                let at = (0..members.len()).min_by_key(|at| rank(&members[*at])).unwrap();
                let standing = members.remove(at);
                members.insert(0, standing);
                let count = members.len();
                if count != 2 {
                    clusters.insert(standing.line, members.clone());
                }
                if count % 2 == 0 {
                    others.extend(
                        members[1..]
                            .iter()
                            .map(|one| (one.line, OtherLine { member: *one, standing })),
                    );
                }
            }
            for capacity in [0, 2, 7, 500, 100_000] {
                let gathered = Gathered::new(temporary(), files(), 0);
                let chunks: Vec<(u64, ChunkLines)> = [0, 1000, 1001, 4000]
                    .windows(2)
                    .map(|lines| {
                        let first = lines[0];
                        let forms: Vec<Fingerprint> = (first..lines[1])
                            .map(|line| key.fingerprint(&name(line).to_le_bytes()))
                            .collect();
                        let counted = |line| Member { line: line - first, ..member(line) };
                        let members = (first..lines[1]).map(counted).collect();
                        (first, ChunkLines::new(&forms, members))
                    })
                    .collect();
                for partition in 0..PARTITIONS {
                    let (first, others) = chunks.split_at(1);
                    for batch in [first, others] {
                        let chunks = batch.iter().map(|(line, chunk)| (*line, chunk));
                        gathered.add(partition, chunks).unwrap();
                    }
                }
                gathered.finish().unwrap();
                let room = |bytes| if bytes > 20 { 3 * bytes } else { bytes };
                let wanted = |count| Wanted { whole: count != 2, others: count % 2 == 0 };
                let count: u64 = (0..PARTITIONS)
                    .map(|partition| {
                        gathered.resolve(partition, capacity, keep, room, wanted).unwrap()
                    })
                    .sum();
                assert_eq!(count, twin.len() as u64);
                let (mut found, mut found_others, mut file) = gathered.merge(100);
                let mut list = Vec::new();
                file.read_to_end(&mut list).unwrap();
                for (standing, expected) in &clusters {
                    let cluster = found.next_cluster().unwrap().unwrap();
                    assert_eq!(cluster.standing, expected[0], "{keep:?} {standing}");
                    assert!(cluster.others(&list).unwrap().eq(expected[1..].iter().copied()));
                    let others = expected[1..].iter().map(|member| room(member.bytes));
                    assert_eq!(cluster.others_room, others.sum::<u64>());
                    for (number, member) in (0u64..).zip(expected) {
                        assert_eq!(cluster.member(&list, number).unwrap(), *member);
                    }
                    assert_eq!(cluster.others(&[]).is_err(), expected.len() > 1);
                    assert!(cluster.member(&[], 1).is_err());
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
