//! HOT: once per record. One partition of the set: a table of fingerprints by cache lines.
//!
//! Price: one probe, which looks at one cache line as a rule. Memory: 16 bytes a slot, 18 to 24 for
//! each fingerprint in it once it has grown.
//! Guard: `benches/cluster.rs`.

use crate::bytes::pages::{give_back_pages, make_pages};
use crate::bytes::prefetch::prefetch;
use crate::cluster::scatter::PARTITIONS;
use crate::fingerprint::Fingerprint;

/// What is expected after a batch.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    /// About how many records.
    pub records: u64,
    /// Bytes of memory that all tables may take: they reserve room ahead only as far as
    /// [`may_exceed`](crate::cluster::ClusterSet::may_exceed) allows afterwards.
    pub bytes_max: u64,
}

/// A slot without a fingerprint. The fingerprint with this value is kept beside the slots.
pub(super) const EMPTY: u128 = 0;

/// Most room that a table reserves ahead, as a multiple of what it needs. Reason: a list may repeat
/// lines from some point on; but batches of a compressed file are short, and what they need says
/// little about the rest.
const AHEAD_TIMES_MAX: usize = 16;

/// Slots of a line, which are loaded together: a cache line of x86-64, and of most aarch64
/// processors.
pub(super) const LINE_SLOTS: usize = 4;

/// Least number of lines after the last home, for what does not fit there.
const TAIL_LINES: usize = 16;

/// From this many bytes of slots on, the system is asked to populate all pages at once. Reason: a
/// call takes as long as some page faults.
const PAGES_BYTES_MIN: usize = 64 << 10;

/// One partition: open addressing, by lines of four slots.
///
/// ```text
/// home(x) = x scaled to the number of homes, so homes are in the order of the values
/// lines:    [ 05 03 -- -- | 17 11 12 16 | 22 15 -- -- | ... | tail ]
///                           home of 15, which is full: so 15 is in the next
/// ```
///
/// - A search looks at all of a line at once, and ends at the first one that has an empty slot.
///   While it is filled up to three quarters, few go on to a second line.
/// - It grows once seven eighths of the slots are taken, by three tenths or, if the size of the
///   input is known, to what the rest of it is likely to bring.
/// - In the end between 67 and 87.5 % are taken: 18.3 to 23.8 bytes for each fingerprint,
///   21.3 if the input is as long as it seemed; more where room was made for a batch that
///   brought few new ones.
/// - Growing, and listing in order, are one pass from front to back: what is in a full line and
///   what comes after it may be out of order, and nothing else.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Three slots more than those of all lines, to align the lines: some are unused before the
    /// first cache line, the rest after the last. Or empty.
    slots: Vec<u128>,
    /// Where the first line begins.
    start: usize,
    /// How many lines are homes. What does not fit in the last of them is in the tail after them.
    homes: usize,
    len: usize,
    growth: Growth,
    holds_zero: bool,
}

/// Slots that are looked at together.
pub(super) type Line = [u128; LINE_SLOTS];

/// The share of recent records that was new: each older batch counts half as much as the next.
#[derive(Debug, Default)]
struct Growth {
    records: usize,
    new: usize,
    /// Fingerprints in the table before the last batch.
    len: usize,
}

impl Table {
    /// How many fingerprints.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.slots.len() as u64 * 16
    }

    /// Returns all fingerprints, sorted.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = u128> + Clone + '_ {
        let zero = self.holds_zero.then_some(EMPTY);
        // What is not in its home is in the lines after it, up to the first that is not full.
        let groups = self.lines().chunk_by(|line, _| !line.contains(&EMPTY));
        let sorted = groups.flat_map(|lines| {
            let mut group: Vec<u128> = lines.as_flattened().to_vec();
            group.sort_unstable();
            group.into_iter().skip_while(|slot| *slot == EMPTY)
        });
        zero.into_iter().chain(sorted)
    }

    /// Prefetches the home of `fingerprint`, so that cache misses overlap; returns its number.
    #[inline]
    pub(crate) fn prefetch(&self, fingerprint: Fingerprint) -> usize {
        let home = home(fingerprint.0, self.homes);
        self.lines().get(home).into_iter().for_each(prefetch);
        home
    }

    /// Prefetches the line after `home`, too, if that is full. Reads `home`, so it should have been
    /// prefetched some time before.
    #[inline]
    pub(super) fn prefetch_behind_full(&self, home: usize) {
        let lines = self.lines();
        // Slots are filled from the first on. No branch, since it cannot be predicted.
        let is_full = lines.get(home).is_some_and(|line| line[LINE_SLOTS - 1] != EMPTY);
        lines.get(home + usize::from(is_full)).into_iter().for_each(prefetch);
    }

    #[inline(always)]
    fn lines(&self) -> &[Line] {
        self.slots[self.start..].as_chunks().0
    }

    #[inline(always)]
    fn lines_mut(&mut self) -> &mut [Line] {
        self.slots[self.start..].as_chunks_mut().0
    }

    /// Makes room for as many of `records` fingerprints as are likely to be new, before the first
    /// of them is inserted, since homes are prefetched ahead.
    ///
    /// With an `outlook` it makes room at once for the new ones that are expected in the rest of
    /// the input, and shrinks when there were fewer than expected.
    pub(super) fn expect(&mut self, records: usize, outlook: Option<Outlook>) {
        self.growth.new += self.len - self.growth.len;
        let Growth { records: recent, new, .. } = self.growth;
        let likely = |of: usize| of.saturating_mul(new).checked_div(recent).unwrap_or(of);
        self.growth = Growth { records: recent / 2 + records, new: new / 2, len: self.len };
        let wanted = self.len + likely(records);
        let slots = self.homes * LINE_SLOTS;
        let is_full = wanted * 8 > slots * 7;
        if let Some(Outlook { records: rest, bytes_max }) = outlook.filter(|_| recent > 0) {
            let rest = usize::try_from(rest).unwrap_or(usize::MAX) / PARTITIONS;
            let all = wanted.saturating_add(likely(rest));
            // Three quarters full if the estimate is right: the share of new ones is not constant.
            let homes = (all.min(wanted * AHEAD_TIMES_MAX) / 3 * 4 + 16).div_ceil(LINE_SLOTS);
            let bytes = ((homes + TAIL_LINES) * size_of::<Line>() * PARTITIONS) as u64;
            let fits = bytes / 10 * 13 < bytes_max;
            if fits && (is_full || all < slots / 3 * 2) {
                return self.spread(homes);
            }
        }
        if is_full {
            self.grow(wanted);
        }
    }

    /// Fills this table, which is empty, with the fingerprints of another run: `sorted`, in
    /// ascending order, without duplicates.
    ///
    /// Inserted one by one, each would be searched for past all those before it, where values are
    /// crowded.
    pub(super) fn load(&mut self, sorted: &[Fingerprint]) {
        assert_eq!(self.len, 0, "only an empty table is loaded");
        self.holds_zero = sorted.first() == Some(&Fingerprint(EMPTY));
        self.len = sorted.len();
        // This share does not apply to the records of this run.
        self.growth.len = self.len;
        let values = sorted.iter().map(|fingerprint| fingerprint.0);
        self.place(values, room_for(self.len, 0));
    }

    /// Removes everything, and frees the pages.
    pub(super) fn forget(&mut self) {
        let mut slots = std::mem::take(&mut self.slots);
        slots.clear();
        if !give_back_pages(slots.spare_capacity_mut()) {
            slots = Vec::new();
        }
        *self = Table { slots, ..Table::default() };
    }

    /// Inserts `fingerprint`, and returns whether it is new.
    #[inline(always)]
    pub(super) fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        self.insert_with(fingerprint, |line, value| {
            let found = line.iter().position(|slot| *slot == value);
            let place = found.or_else(|| line.iter().position(|slot| *slot == EMPTY))?;
            line[place] = value;
            Some(found.is_none())
        })
    }

    /// Inserts `fingerprint`, and returns whether it is new. `at_once` inserts into a line, and
    /// returns whether the value is new; `None` if the line is full of others.
    #[inline(always)]
    pub(super) fn insert_with(
        &mut self,
        fingerprint: Fingerprint,
        at_once: impl Fn(&mut Line, u128) -> Option<bool>,
    ) -> bool {
        let value = fingerprint.0;
        if value == EMPTY {
            self.len += usize::from(!self.holds_zero);
            return !std::mem::replace(&mut self.holds_zero, true);
        }
        if self.len * 8 >= self.homes * LINE_SLOTS * 7 {
            self.grow(self.len + 1);
        }
        let is_new = self.put(value, at_once);
        self.len += usize::from(is_new);
        is_new
    }

    /// Tells whether `fingerprint` is in the table.
    #[inline]
    pub(crate) fn contains(&self, fingerprint: Fingerprint) -> bool {
        let value = fingerprint.0;
        if value == EMPTY {
            return self.holds_zero;
        }
        let lines = self.lines();
        let mut from_home = lines[home(value, self.homes).min(lines.len())..].iter();
        let last = from_home.find(|line| line.contains(&value) || line.contains(&EMPTY));
        last.is_some_and(|line| line.contains(&value))
    }

    /// Bet: this hardly ever happens, so the lines need not stay aligned to cache lines.
    #[cold]
    fn lengthen_tail(&mut self) {
        self.slots.resize(self.slots.len() + TAIL_LINES * LINE_SLOTS, EMPTY);
    }

    /// Makes room for `wanted` fingerprints.
    #[cold]
    fn grow(&mut self, wanted: usize) {
        self.spread(room_for(wanted, self.homes));
    }

    /// Redistributes the fingerprints over `homes` homes.
    #[cold]
    fn spread(&mut self, homes: usize) {
        let start = std::mem::take(&mut self.start);
        let slots = std::mem::take(&mut self.slots);
        self.place(slots[start.min(slots.len())..].iter().copied(), homes);
    }

    /// Places `values`, nearly in ascending order and some of them empty, in `homes` homes, from
    /// front to back, in new memory: in the same, it would take two passes, and the allocator would
    /// copy tables of less than a mebibyte anyway.
    fn place(&mut self, values: impl Iterator<Item = u128>, homes: usize) {
        // The first cache line begins at most this far after the start of the allocation.
        let before = LINE_SLOTS - 1;
        self.slots = empty_slots((homes + TAIL_LINES) * LINE_SLOTS + before);
        self.start = self.slots.as_ptr().align_offset(size_of::<Line>()).min(before);
        self.homes = homes;
        let mut taken = vec![0u8; homes + TAIL_LINES];
        let (mut last_home, mut at) = (0, 0);
        for value in values {
            // No branches on whether a slot is taken, which cannot be predicted: an empty one is
            // written to the next free one, which is empty.
            let is_taken = value != EMPTY;
            let its_home = if is_taken { home(value, homes) } else { last_home };
            // The lines from a home to where its value went are full, so the next homes need not
            // search there again: a crafted file may crowd all of its values.
            at = if its_home < last_home { its_home } else { at.max(its_home) };
            last_home = its_home;
            while usize::from(taken[at]) == LINE_SLOTS {
                at += 1;
                if at == taken.len() {
                    self.lengthen_tail();
                    taken.resize(self.lines().len(), 0);
                }
            }
            self.lines_mut()[at][usize::from(taken[at])] = value;
            taken[at] += u8::from(is_taken);
        }
    }

    /// Inserts `value`, which is not [`EMPTY`], into the first line from its home on for which
    /// `at_once` returns an answer.
    #[inline(always)]
    fn put(&mut self, value: u128, at_once: impl Fn(&mut Line, u128) -> Option<bool>) -> bool {
        let mut at = home(value, self.homes);
        loop {
            let Some(line) = self.lines_mut().get_mut(at) else {
                self.lengthen_tail();
                continue;
            };
            if let Some(is_new) = at_once(line, value) {
                return is_new;
            }
            at += 1;
        }
    }
}

/// How many homes a table of `homes` grows to for `wanted` fingerprints: by as many steps of three
/// tenths as that takes.
fn room_for(wanted: usize, mut homes: usize) -> usize {
    loop {
        homes = (homes + homes * 3 / 10).max(4);
        if wanted * 8 <= homes * LINE_SLOTS * 7 {
            return homes;
        }
    }
}

/// Allocates this many empty slots, with their pages populated by the system, or else by writing
/// them. Lazily zeroed pages would cost two page faults for a page that is read before it is
/// written, the second of which stops the other threads.
#[inline(never)]
fn empty_slots(count: usize) -> Vec<u128> {
    let mut slots = vec![EMPTY; count];
    let is_long = size_of_val(&slots[..]) >= PAGES_BYTES_MIN;
    if !is_long || !make_pages(&mut slots) {
        std::hint::black_box(&mut slots[..]).fill(EMPTY);
    }
    slots
}

/// The home of `fingerprint`, of `homes`. The partition's bits are the same for all fingerprints.
#[inline]
fn home(fingerprint: u128, homes: usize) -> usize {
    let bits = (fingerprint >> 56) as u64;
    ((u128::from(bits) * homes as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: usize = 2000;

    /// The memory of a table after each of the batches `numbers`, of [`BATCH`] records each; and
    /// how many fingerprints it has in the end.
    fn memory(numbers: &[usize], bytes_max: Option<u64>) -> (Vec<u64>, usize) {
        let mut table = Table::default();
        let mut after = Vec::new();
        for (at, number) in numbers.iter().enumerate() {
            let records = (BATCH * (numbers.len() - at - 1) * PARTITIONS) as u64;
            table.expect(BATCH, bytes_max.map(|bytes_max| Outlook { records, bytes_max }));
            for value in number * BATCH..(number + 1) * BATCH {
                let spread =
                    (value as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
                table.insert(Fingerprint(spread >> 8));
            }
            after.push(table.memory_bytes());
        }
        assert!(table.sorted().is_sorted());
        (after, table.len())
    }

    #[test]
    fn room_is_made_for_what_is_to_come() {
        let fresh: Vec<usize> = (0..8).collect();
        let (after, len) = memory(&fresh, Some(u64::MAX));
        assert!(after[1..].iter().all(|bytes| *bytes == after[1]), "{after:?}");
        assert!(after[7] <= 24 * len as u64, "{after:?}");
        // Where the size of the input is not known, step by step.
        let (after, len) = memory(&fresh, None);
        assert!(after[1] < after[7] && after[7] <= 24 * len as u64, "{after:?}");
    }

    #[test]
    fn homes_begin_where_cache_lines_do() {
        let mut table = Table::default();
        for value in 1..20_000u128 {
            table.insert(Fingerprint(value << 104));
            assert_eq!(table.lines().as_ptr().addr() % size_of::<Line>(), 0, "{value}");
        }
    }

    #[test]
    fn room_that_is_not_needed_is_given_back() {
        let (after, len) = memory(&[0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], Some(u64::MAX));
        assert_eq!(len, 4 * BATCH);
        assert!(after[3] > after[11] && after[11] <= 24 * len as u64, "{after:?}");
    }

    #[test]
    fn room_is_made_for_so_many_times_as_are_needed() {
        let fresh: Vec<usize> = (0..3 * AHEAD_TIMES_MAX).collect();
        let (after, len) = memory(&fresh, Some(u64::MAX));
        let of = |batches: usize| (BATCH * batches * 4 / 3 * 16) as u64;
        // With the second batch, for two of them this many times.
        assert!(
            (of(2 * AHEAD_TIMES_MAX - 2)..of(2 * AHEAD_TIMES_MAX + 2)).contains(&after[1]),
            "{after:?}"
        );
        let last = after[fresh.len() - 1];
        assert!(after[1] < last && last <= 24 * len as u64, "{after:?}");
    }

    #[test]
    fn what_was_loaded_says_nothing_of_what_comes() {
        let value = |number: usize| {
            Fingerprint(
                (number as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 8,
            )
        };
        let mut sorted: Vec<Fingerprint> = (0..20 * BATCH).map(value).collect();
        sorted.sort_unstable();
        let mut table = Table::default();
        table.load(&sorted);
        assert!(table.sorted().eq(sorted.iter().map(|one| one.0)));
        // Batches of which nothing is new, with much after them.
        let loaded = table.memory_bytes();
        for _ in 0..3 {
            let records = (40 * BATCH * PARTITIONS) as u64;
            table.expect(BATCH, Some(Outlook { records, bytes_max: u64::MAX }));
            for number in 0..BATCH {
                assert!(!table.insert(value(number)));
            }
        }
        assert!(table.memory_bytes() <= loaded / 10 * 13 + (16 * TAIL_LINES * LINE_SLOTS) as u64);
    }

    #[test]
    fn what_is_loaded_is_found() {
        let crowded = (0..3000).map(|low| (u128::from(low % 3 == 0) << 100) | low);
        let ends = [0, 1, u128::MAX - 1, u128::MAX];
        for mut values in [crowded.collect(), ends.to_vec(), vec![0], vec![]] {
            values.sort_unstable();
            let all: Vec<Fingerprint> = values.iter().copied().map(Fingerprint).collect();
            let mut table = Table::default();
            table.load(&all);
            assert_eq!(table.len(), values.len());
            assert!(table.sorted().eq(values.iter().copied()));
            for one in &all {
                assert!(table.contains(*one) && !table.insert(*one));
                let next = Fingerprint(one.0 ^ (1 << 64));
                assert!(!table.contains(next) && table.insert(next) && !table.insert(next));
            }
            assert_eq!(table.sorted().count(), 2 * values.len());
            assert!(table.sorted().is_sorted());
        }
    }

    #[test]
    fn crowded_values_are_loaded() {
        const CROWD: u128 = 400_000;
        // Half of them have the first home, and the others homes after it that those have filled.
        // If each were looked for from its home on, it would take minutes.
        let first = (0..CROWD).map(|low| low + 1);
        let others = (1..CROWD).map(|high| high * ((1 << 118) / CROWD));
        let sorted: Vec<Fingerprint> = first.chain(others).map(Fingerprint).collect();
        assert!(sorted.is_sorted());
        let mut table = Table::default();
        table.load(&sorted);
        assert!(table.sorted().eq(sorted.iter().map(|one| one.0)));
    }

    #[test]
    fn no_room_is_made_beyond_the_budget() {
        let fresh: Vec<usize> = (0..8).collect();
        let (alone, _) = memory(&fresh, None);
        let all = alone[7] * PARTITIONS as u64;
        // Less than what it would take to hold all: as if nothing were known.
        assert_eq!(memory(&fresh, Some(all)).0[..6], alone[..6]);
        assert!(memory(&fresh, Some(2 * all)).0[1] > alone[1]);
    }
}
