//! HOT: once per record. The set of all fingerprints seen so far, in partitions.
//!
//! Price: one probe of a table that is in the cache or nearly. Memory: 16 bytes a slot, at most
//! 23.8 bytes for each URL in it once a partition has grown (see [`Table`]). Guard:
//! `benches/cluster.rs`.

use std::sync::Mutex;

use super::scatter::{Flags, PARTITION_BITS, PARTITIONS, Scattered, partition_of};
use crate::fingerprint::Fingerprint;

/// The first occurrences of a job's clusters.
///
/// ```text
/// fingerprint: | partition (8 bits) | home slot and tag (120 bits) |
///
/// partition 0:  [ 03.. | ---- | 11.. | 12.. | ---- ]   one table each; a thread takes a partition,
/// partition 1:  [ ---- | 07.. | ---- | ---- | 2f.. ]   walks its records in chunk order, and marks
///    ...                                               those it has not seen
/// ```
#[derive(Debug)]
pub struct ClusterSet {
    /// A mutex each, so that threads can share the set; never contended, since a partition is one
    /// thread's at a time.
    partitions: Box<[Mutex<Table>]>,
}

impl Default for ClusterSet {
    fn default() -> Self {
        ClusterSet { partitions: (0..PARTITIONS).map(|_| Mutex::default()).collect() }
    }
}

impl ClusterSet {
    /// Bytes of memory that a fingerprint takes at most, in a set of many.
    pub const BYTES_PER_FINGERPRINT_MAX: u64 = 24;

    /// Marks the records of `partition` that are the first of their cluster, over the chunks of a
    /// batch in order. Batches have to come in order, too. `sorted` is memory to be used again.
    pub fn mark_first(
        &self,
        partition: usize,
        chunks: &[(Scattered, Flags)],
        sorted: &mut SortedRecords,
    ) {
        let mut table = self.partition(partition);
        sorted.sort(partition, chunks.iter().map(|(scattered, _)| scattered));
        table.expect(sorted.records.len());
        // Bet: the table is not in the cache. A group's homes are fetched side by side first; they
        // are near each other, so few pages are in use at a time.
        for group in sorted.records.chunks(GROUP) {
            let touched = group.iter().fold(0, |sum, one| sum ^ table.touch(one.fingerprint));
            std::hint::black_box(touched);
            for one in group {
                if table.insert(one.fingerprint) {
                    chunks[one.chunk as usize].1.set(one.place);
                }
            }
        }
    }

    /// Gives `each` the records of `partition` that are not in the set, in line order: their places
    /// in the order of `scattered`, and their fingerprints.
    pub fn absent(
        &self,
        partition: usize,
        scattered: &Scattered,
        mut each: impl FnMut(u32, Fingerprint),
    ) {
        let table = self.partition(partition);
        let mut places = scattered.places(partition);
        for group in scattered.fingerprints(partition).chunks(GROUP) {
            let touched = group.iter().fold(0, |sum, one| sum ^ table.touch(*one));
            std::hint::black_box(touched);
            for (place, fingerprint) in places.by_ref().take(group.len()) {
                if !table.contains(fingerprint) {
                    each(place, fingerprint);
                }
            }
        }
    }

    /// Could the tables take more than `bytes` after another batch?
    ///
    /// Bet: a batch is small beside a set that is nearly full, so every partition grows once at
    /// most, by three tenths.
    pub fn may_exceed(&self, bytes: u64) -> bool {
        let now = self.memory_bytes();
        now + now / 10 * 3 > bytes
    }

    /// Puts `fingerprint` in; says whether it is new.
    pub fn insert(&self, fingerprint: Fingerprint) -> bool {
        self.partition(partition_of(fingerprint)).insert(fingerprint)
    }

    /// How many different fingerprints.
    pub fn len(&self) -> u64 {
        (0..PARTITIONS).map(|partition| self.partition(partition).len as u64).sum()
    }

    /// No fingerprint?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that the tables take.
    pub fn memory_bytes(&self) -> u64 {
        let slots = |partition| self.partition(partition).slots.len() as u64;
        (0..PARTITIONS).map(|partition| slots(partition) * 16).sum()
    }

    /// The fingerprints of `partition`, sorted.
    pub fn sorted(&self, partition: usize) -> Vec<Fingerprint> {
        let table = self.partition(partition);
        let zero = table.holds_zero.then_some(Fingerprint(EMPTY));
        let taken = table.slots.iter().filter(|slot| **slot != EMPTY);
        zero.into_iter().chain(taken.map(|slot| Fingerprint(*slot))).collect()
    }

    fn partition(&self, partition: usize) -> std::sync::MutexGuard<'_, Table> {
        self.partitions[partition].lock().expect("no thread panics while it holds a partition")
    }
}

/// The records of one partition, over the chunks of a batch, roughly by fingerprint.
///
/// In the order of the chunks they would jump about in the table, and every one would wait for its
/// page. Equal fingerprints stay in the order of the chunks, which is all that counts for who is
/// first.
#[derive(Debug, Default)]
pub struct SortedRecords {
    records: Vec<SortedRecord>,
}

#[derive(Clone, Copy, Debug)]
struct SortedRecord {
    fingerprint: Fingerprint,
    chunk: u32,
    /// Where it stands in the chunk's [`Scattered`].
    place: u32,
}

/// Runs that a partition's records are sorted into, by the bits after the partition's. Reason: a
/// run of a table of a megabyte is four pages long.
const RUN_BITS: u32 = 6;

impl SortedRecords {
    /// Gathers the records of `partition`, in linear time.
    fn sort<'a>(&mut self, partition: usize, chunks: impl Iterator<Item = &'a Scattered> + Clone) {
        let run_of = |fingerprint: Fingerprint| {
            (fingerprint.0 >> (u128::BITS - PARTITION_BITS - RUN_BITS)) as usize % (1 << RUN_BITS)
        };
        let mut next = [0; 1 << RUN_BITS];
        for scattered in chunks.clone() {
            for fingerprint in scattered.fingerprints(partition) {
                next[run_of(*fingerprint)] += 1;
            }
        }
        let mut total = 0;
        for count in &mut next {
            total += std::mem::replace(count, total);
        }
        let nothing = SortedRecord { fingerprint: Fingerprint(EMPTY), chunk: 0, place: 0 };
        self.records.resize(total, nothing);
        for (chunk, scattered) in (0u32..).zip(chunks) {
            for (place, fingerprint) in scattered.places(partition) {
                let at = &mut next[run_of(fingerprint)];
                self.records[*at] = SortedRecord { fingerprint, chunk, place };
                *at += 1;
            }
        }
    }
}

/// A slot without a fingerprint. The fingerprint with this value is kept beside the slots.
const EMPTY: u128 = 0;

/// Slots by which the tail behind the last home is longer each time it is full.
const SLACK: usize = 64;

/// How many records are looked up at once.
const GROUP: usize = 16;

/// One partition: open addressing, linear probing, everything in ascending order.
///
/// ```text
/// home(x) = x scaled to the number of homes, so homes are in the order of the values
/// slots:    [ 03 | 05 | -- | 11 | 12 | 13 | -- | ... | slack ]
///                  05 stands after its home, which 03 took; a later 04 would push it on
/// ```
///
/// - A search starts at the home and ends at an empty slot or a larger value, so it stays short
///   though the table is full: it grows by three tenths once seven eighths of the homes are taken.
/// - Between 67 and 87.5 % are taken: 18.3 to 23.8 bytes for each fingerprint; more where room was
///   made for a batch that brought few new ones.
/// - Growing, and listing in order, are one pass from front to back.
#[derive(Debug, Default)]
struct Table {
    /// The homes, and a tail for what is pushed past the last; or nothing at all.
    slots: Vec<u128>,
    homes: usize,
    len: usize,
    /// How many fingerprints were told to come (see [`Table::expect`]), new or not.
    expected: usize,
    holds_zero: bool,
}

impl Table {
    /// Reads the home of `fingerprint`, so that a group of them is on its way from memory at once.
    #[inline]
    fn touch(&self, fingerprint: Fingerprint) -> u64 {
        match self.slots.get(home(fingerprint.0, self.homes)) {
            Some(slot) => *slot as u64,
            None => 0,
        }
    }

    /// Makes room for as many of `records` fingerprints as are likely to be new, so that they find
    /// it everywhere: they come sorted, and would crowd the front of a table that is nearly full.
    fn expect(&mut self, records: usize) {
        let new = match self.expected {
            0 => records,
            expected => records * self.len / expected,
        };
        self.expected += records;
        if (self.len + new) * 8 > self.homes * 7 {
            self.grow(self.len + new);
        }
    }

    #[inline]
    fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        let value = fingerprint.0;
        if self.len * 8 >= self.homes * 7 {
            self.grow(self.len + 1);
        }
        if value == EMPTY {
            self.len += usize::from(!self.holds_zero);
            return !std::mem::replace(&mut self.holds_zero, true);
        }
        let mut at = home(value, self.homes);
        // One branch for each slot: an empty one is the largest by this count.
        while self.slots[at].wrapping_sub(1) < value - 1 {
            at += 1;
            if at == self.slots.len() {
                self.lengthen_tail();
            }
        }
        if self.slots[at] == value {
            return false;
        }
        // What stands here is pushed on, up to the next empty slot.
        let mut pushed = value;
        loop {
            pushed = std::mem::replace(&mut self.slots[at], pushed);
            if pushed == EMPTY {
                break;
            }
            at += 1;
            if at == self.slots.len() {
                self.lengthen_tail();
            }
        }
        self.len += 1;
        true
    }

    #[inline]
    fn contains(&self, fingerprint: Fingerprint) -> bool {
        let value = fingerprint.0;
        if value == EMPTY {
            return self.holds_zero;
        }
        let from = home(value, self.homes).min(self.slots.len());
        let end = self.slots[from..].iter().find(|slot| **slot == EMPTY || **slot >= value);
        end == Some(&value)
    }

    #[cold]
    fn lengthen_tail(&mut self) {
        self.slots.resize(self.slots.len() + SLACK, EMPTY);
    }

    /// Makes room for `wanted` fingerprints, by as many steps of three tenths at once as that takes.
    #[cold]
    fn grow(&mut self, wanted: usize) {
        let mut homes = self.homes;
        loop {
            homes = (homes + homes / 10 * 3).max(16);
            if wanted * 8 <= homes * 7 {
                break;
            }
        }
        self.spread(homes);
    }

    /// Spreads what is there over `homes` homes, from front to back, in new memory.
    #[cold]
    fn spread(&mut self, homes: usize) {
        let mut slots = vec![EMPTY; homes + SLACK];
        // No branches on whether a slot is taken, which cannot be foretold: an empty one is written
        // to the next free one, which is empty.
        let mut free = 0;
        for value in std::mem::take(&mut self.slots) {
            let at = home(value, homes).max(free);
            if at >= slots.len() {
                slots.resize(at + SLACK, EMPTY);
            }
            slots[at] = value;
            free = at + usize::from(value != EMPTY);
        }
        self.slots = slots;
        self.homes = homes;
    }
}

/// The slot of `homes` where `fingerprint` is looked for first. The partition's bits are the same
/// for all.
#[inline]
fn home(fingerprint: u128, homes: usize) -> usize {
    let bits = (fingerprint >> 56) as u64;
    ((u128::from(bits) * homes as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::FingerprintKey;
    use std::collections::HashSet;

    #[test]
    fn agrees_with_a_hash_set() {
        let key = FingerprintKey::from_bytes([7; 16]);
        let set = ClusterSet::default();
        let mut twin = HashSet::new();
        for number in 0..200_000u32 {
            let fingerprint = key.fingerprint(&(number % 150_000).to_le_bytes());
            assert_eq!(set.insert(fingerprint), twin.insert(fingerprint.0));
        }
        let all: Vec<Fingerprint> =
            (100_000..250_000u32).map(|number| key.fingerprint(&number.to_le_bytes())).collect();
        let scattered = Scattered::new(&all);
        let mut absent = 0;
        for partition in 0..PARTITIONS {
            set.absent(partition, &scattered, |place, fingerprint| {
                let record = scattered.record(place);
                assert!(record >= 50_000 && fingerprint == all[record as usize]);
                absent += 1;
            });
        }
        assert_eq!(absent, 100_000);
        assert_eq!(set.len(), 150_000);
        let all: Vec<Fingerprint> = (0..PARTITIONS).flat_map(|p| set.sorted(p)).collect();
        assert_eq!(all.len(), 150_000);
        assert!(all.is_sorted());
    }

    #[test]
    fn memory_stays_within_its_bound() {
        let key = FingerprintKey::from_bytes([1; 16]);
        let set = ClusterSet::default();
        for number in 0..1_000_000u32 {
            set.insert(key.fingerprint(&number.to_le_bytes()));
        }
        let each = set.memory_bytes() as f64 / set.len() as f64;
        assert!(each <= 24.0, "{each} bytes for each fingerprint");
    }

    #[test]
    fn the_empty_value_is_a_fingerprint_like_any_other() {
        let set = ClusterSet::default();
        assert!(set.insert(Fingerprint(EMPTY)));
        assert!(!set.insert(Fingerprint(EMPTY)));
        assert_eq!((set.len(), set.sorted(0)), (1, vec![Fingerprint(EMPTY)]));
    }

    #[test]
    fn crowded_home_slots() {
        let set = ClusterSet::default();
        for low in 1..1000u128 {
            assert!(set.insert(Fingerprint(low)));
            assert!(set.insert(Fingerprint(u128::MAX - low)));
        }
        assert!(!set.insert(Fingerprint(500)) && !set.insert(Fingerprint(u128::MAX - 500)));
        assert_eq!(set.len(), 1998);
    }
}
