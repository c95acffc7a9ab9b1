//! HOT: once per record. One partition of the set: a table of fingerprints in ascending order.
//!
//! Price: one probe. Memory: 16 bytes a slot, 18 to 24 for each fingerprint in it once it has
//! grown.
//! Guard: `benches/cluster.rs`.

use super::scatter::PARTITIONS;
use crate::bytes::pages::{give_back_pages, make_pages};
use crate::bytes::prefetch::prefetch;
use crate::fingerprint::Fingerprint;

/// What is still to come behind a batch.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    /// How many records, about.
    pub records: u64,
    /// Bytes of memory that all tables may take: they make room ahead of need only as far as
    /// [`may_exceed`](super::ClusterSet::may_exceed) allows afterwards.
    pub bytes_max: u64,
}

/// A slot without a fingerprint. The fingerprint with this value is kept beside the slots.
pub(super) const EMPTY: u128 = 0;

/// How many times as much room as is needed a table has at most ahead of need. Reason: a list
/// may turn to lines that it had before; but batches of a packed file are short, and what
/// they need says little.
const AHEAD_TIMES_MAX: usize = 16;

/// Slots that come from memory together.
const LINE_SLOTS: usize = 4;

/// Slots by which the tail behind the last home is longer each time it is full.
const SLACK: usize = 64;

/// Bytes of slots for which the system is asked to make all pages at once. Reason: a call takes as
/// long as some page faults.
const PAGES_BYTES_MIN: usize = 64 << 10;

/// One partition: open addressing, linear probing, everything in ascending order.
///
/// ```text
/// home(x) = x scaled to the number of homes, so homes are in the order of the values
/// slots:    [ 03 | 05 | -- | 11 | 12 | 13 | -- | ... | slack ]
///                  05 stands after its home, which 03 took; a later 04 would push it on
/// ```
///
/// - A search starts at the home and ends at an empty slot or a larger value, so it stays short
///   though the table is full: it grows once seven eighths of the homes are taken, by three tenths
///   or, if the size of the input is known, to what the rest of it is likely to bring.
/// - In the end between 67 and 87.5 % are taken: 18.3 to 23.8 bytes for each fingerprint,
///   21.3 if the input is as long as it seemed; more where room was made for a batch that
///   brought few new ones.
/// - Growing, and listing in order, are one pass from front to back.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The homes, and a tail for what is pushed past the last; or nothing at all.
    slots: Vec<u128>,
    homes: usize,
    len: usize,
    growth: Growth,
    holds_zero: bool,
}

/// Which share of the latest records was new: an older batch counts half as much as the next.
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

    /// What is in it, sorted.
    pub(super) fn sorted(&self) -> impl Iterator<Item = u128> + Clone + '_ {
        let zero = self.holds_zero.then_some(EMPTY);
        zero.into_iter().chain(self.slots.iter().copied().filter(|slot| *slot != EMPTY))
    }

    /// Asks for the home of `fingerprint` and what is behind it, so that those of some are on their
    /// way from memory at once.
    #[inline]
    pub(super) fn prefetch(&self, fingerprint: Fingerprint) {
        let at = home(fingerprint.0, self.homes);
        // Bet: what is pushed on goes past the end of the home's cache line, and not
        // past that of the next.
        [at, at + LINE_SLOTS].iter().filter_map(|at| self.slots.get(*at)).for_each(prefetch);
    }

    /// Makes room for as many of `records` fingerprints as are likely to be new, before the first
    /// of them comes: the homes of some are asked for ahead.
    ///
    /// With an `outlook` it makes room for the new ones among the rest of the input at once, and
    /// gives some back where there were fewer of them than it looked like.
    pub(super) fn expect(&mut self, records: usize, outlook: Option<Outlook>) {
        self.growth.new += self.len - self.growth.len;
        let Growth { records: told, new, .. } = self.growth;
        let likely = |of: usize| of.saturating_mul(new).checked_div(told).unwrap_or(of);
        self.growth = Growth { records: told / 2 + records, new: new / 2, len: self.len };
        let wanted = self.len + likely(records);
        let is_full = wanted * 8 > self.homes * 7;
        if let Some(Outlook { records: rest, bytes_max }) = outlook.filter(|_| told > 0) {
            let rest = usize::try_from(rest).unwrap_or(usize::MAX) / PARTITIONS;
            let all = wanted.saturating_add(likely(rest));
            // Three quarters full if it comes as it looks: the share of new ones is no constant.
            let homes = all.min(wanted * AHEAD_TIMES_MAX) / 3 * 4 + 16;
            let bytes = ((homes + SLACK) * 16 * PARTITIONS) as u64;
            let fits = bytes / 10 * 13 < bytes_max;
            if fits && (is_full || all < self.homes / 3 * 2) {
                return self.spread(homes);
            }
        }
        if is_full {
            self.grow(wanted);
        }
    }

    /// Puts what another run had into this table, which is empty: `sorted`, in ascending order,
    /// none of them twice.
    ///
    /// One by one they would be looked for where values stand crowded, each behind all before it.
    pub(super) fn load(&mut self, sorted: &[Fingerprint]) {
        assert_eq!(self.len, 0, "only an empty table is loaded");
        self.holds_zero = sorted.first() == Some(&Fingerprint(EMPTY));
        self.len = sorted.len();
        // It says nothing of the records of this run.
        self.growth.len = self.len;
        self.place(sorted.iter().map(|fingerprint| fingerprint.0), room_for(self.len, 0));
    }

    /// Forgets all, and gives the pages back.
    pub(super) fn forget(&mut self) {
        let mut slots = std::mem::take(&mut self.slots);
        slots.clear();
        if !give_back_pages(slots.spare_capacity_mut()) {
            slots = Vec::new();
        }
        *self = Table { slots, ..Table::default() };
    }

    /// Puts `fingerprint` in; says whether it is new.
    #[inline(always)]
    pub(super) fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        let value = fingerprint.0;
        if self.len * 8 >= self.homes * 7 {
            self.grow(self.len + 1);
        }
        if value == EMPTY {
            self.len += usize::from(!self.holds_zero);
            return !std::mem::replace(&mut self.holds_zero, true);
        }
        self.insert_from(value, home(value, self.homes))
    }

    /// Puts `value`, which is not [`EMPTY`], in where there is room for it; what stands from its
    /// home up to the slot `at` is less. Says whether it is new.
    #[inline(always)]
    fn insert_from(&mut self, value: u128, mut at: usize) -> bool {
        // One branch for each slot: an empty one is the largest by this count.
        let mut slots = &mut self.slots[..];
        let found = loop {
            let Some(slot) = slots.get(at) else {
                self.lengthen_tail();
                slots = &mut self.slots[..];
                continue;
            };
            if slot.wrapping_sub(1) >= value - 1 {
                break *slot;
            }
            at += 1;
        };
        if found == value {
            return false;
        }
        // What stands here is pushed on, up to the next empty slot.
        let mut pushed = value;
        loop {
            let Some(slot) = slots.get_mut(at) else {
                self.lengthen_tail();
                slots = &mut self.slots[..];
                continue;
            };
            pushed = std::mem::replace(slot, pushed);
            if pushed == EMPTY {
                break;
            }
            at += 1;
        }
        self.len += 1;
        true
    }

    /// Is `fingerprint` in it?
    #[inline]
    pub(super) fn contains(&self, fingerprint: Fingerprint) -> bool {
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

    /// Makes room for `wanted` fingerprints.
    #[cold]
    fn grow(&mut self, wanted: usize) {
        self.spread(room_for(wanted, self.homes));
    }

    /// Spreads what is there over `homes` homes.
    #[cold]
    fn spread(&mut self, homes: usize) {
        let slots = std::mem::take(&mut self.slots);
        self.place(slots.into_iter(), homes);
    }

    /// Places `values`, in ascending order but for empty ones, in `homes` homes, from front to
    /// back, in new memory: in the same, it would take two passes, and the allocator would copy
    /// tables of less than a mebibyte anyway.
    fn place(&mut self, values: impl Iterator<Item = u128>, homes: usize) {
        let mut slots = empty_slots(homes + SLACK);
        // No branches on whether a slot is taken, which cannot be foretold: an empty one is written
        // to the next free one, which is empty.
        let mut free = 0;
        for value in values {
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

/// For those who look at some slots at once.
#[cfg(target_arch = "x86_64")]
impl Table {
    /// The same as [`Table::insert`]. `at_once` may do it by looking at the slots from the home on,
    /// if there is room: it says whether the value is new; or, if that is not settled, up to which
    /// slot all is less, and has changed nothing then.
    #[inline(always)]
    pub(super) fn insert_with(
        &mut self,
        fingerprint: Fingerprint,
        at_once: impl FnOnce(&mut [u128], usize, u128) -> Result<bool, usize>,
    ) -> bool {
        let value = fingerprint.0;
        if value == EMPTY || self.len * 8 >= self.homes * 7 {
            return self.insert_aside(fingerprint);
        }
        match at_once(&mut self.slots, home(value, self.homes), value) {
            Ok(is_new) => {
                self.len += usize::from(is_new);
                is_new
            }
            Err(at) => self.insert_from_aside(value, at),
        }
    }

    /// [`Table::insert`] out of line, so that the usual way takes no room for it.
    #[cold]
    #[inline(never)]
    fn insert_aside(&mut self, fingerprint: Fingerprint) -> bool {
        self.insert(fingerprint)
    }

    /// [`Table::insert_from`] out of line.
    #[cold]
    #[inline(never)]
    fn insert_from_aside(&mut self, value: u128, at: usize) -> bool {
        self.insert_from(value, at)
    }
}

/// How many homes there are to be for `wanted` fingerprints where there are `homes`: by as many
/// steps of three tenths at once as that takes.
fn room_for(wanted: usize, mut homes: usize) -> usize {
    loop {
        homes = (homes + homes / 10 * 3).max(16);
        if wanted * 8 <= homes * 7 {
            return homes;
        }
    }
}

/// So many empty slots, whose pages are made, or else written here. Zeros from the system would
/// cost two page faults for a page that is read before it is written, the second of which stops
/// the other threads.
#[inline(never)]
fn empty_slots(count: usize) -> Vec<u128> {
    let mut slots = vec![EMPTY; count];
    let is_long = size_of_val(&slots[..]) >= PAGES_BYTES_MIN;
    if !is_long || !make_pages(&mut slots) {
        std::hint::black_box(&mut slots[..]).fill(EMPTY);
    }
    slots
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
        // With the second batch, for two of them so many times.
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
        // Batches of which nothing is new, with much behind them.
        let loaded = table.memory_bytes();
        for _ in 0..3 {
            let records = (40 * BATCH * PARTITIONS) as u64;
            table.expect(BATCH, Some(Outlook { records, bytes_max: u64::MAX }));
            for number in 0..BATCH {
                assert!(!table.insert(value(number)));
            }
        }
        assert!(table.memory_bytes() <= loaded / 10 * 13 + 16 * SLACK as u64);
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
    fn no_room_is_made_beyond_the_budget() {
        let fresh: Vec<usize> = (0..8).collect();
        let (alone, _) = memory(&fresh, None);
        let all = alone[7] * PARTITIONS as u64;
        // Less than what it would take to hold all: as if nothing were known.
        assert_eq!(memory(&fresh, Some(all)).0[..6], alone[..6]);
        assert!(memory(&fresh, Some(2 * all)).0[1] > alone[1]);
    }
}
