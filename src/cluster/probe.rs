//! HOT: once per record. Records put into a table, the homes of those to come asked for ahead.
//!
//! ```text
//! two cache lines        | 03 05 -- 11 | 13 15 -- 16 |  of four slots each, first that of the home
//! 12, at home where 11 is:               ^^             its place: the first slot from the home on
//!                                                       that is not less; if 12 is there, it is
//!                                                       not new
//!                                        ^^ ^^ ^^       to the first empty one all moves on by one
//! ```
//!
//! With AVX-512 or AVX2 both lines are compared at once, and written again as they are to be. No
//! branch depends on where the search ends, on whether the record is new, or on how much moves on,
//! none of which can be foretold. New records for which there is no empty slot in these lines (one
//! of sixteen in a table that is half full, one of three in one that is full by three quarters) go
//! the way of other processors, from their place on.
//!
//! Price: some 60 instructions, or 100 with AVX2, and what is waited for. Guard:
//! `benches/cluster.rs`. Twin: [`Table::insert`].
//!
//! Unsafe: a call of a function that is compiled for instructions that not every processor has,
//! where it was asked before; and loads and stores of vectors, each of an array of its length.

use std::sync::atomic::{AtomicU8, Ordering};

use super::table::Table;
use crate::bytes::prefetch::prefetch_all;
use crate::fingerprint::Fingerprint;

/// How a table is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

/// Fingerprints one behind the other in memory, and for each of them whether it is new.
pub(super) type Run<'a> = (&'a [Fingerprint], &'a [AtomicU8]);

/// How many records ahead the home of one is asked for.
const AHEAD: usize = 48;

/// How many runs ahead their fingerprints are asked for. Reason: a chunk of a list has some 40 of a
/// partition, so the homes of the next run or two are being asked for.
const RUNS_AHEAD: usize = 3;

impl Probe {
    /// The fastest that the machine has.
    pub(super) fn fastest() -> Probe {
        *Self::all().last().expect("there is always one")
    }

    /// All that the machine has, the fastest last.
    fn all() -> Vec<Probe> {
        #[cfg(target_arch = "x86_64")]
        let vectors = {
            let has_bmi1 = is_x86_feature_detected!("bmi1");
            let has_512 =
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq");
            [
                (Probe::Avx2, has_bmi1 && is_x86_feature_detected!("avx2")),
                (Probe::Avx512, has_bmi1 && has_512),
            ]
        };
        #[cfg(not(target_arch = "x86_64"))]
        let vectors = [];
        let there = vectors.into_iter().filter(|(_, is_there)| *is_there).map(|(probe, _)| probe);
        [Probe::Portable].into_iter().chain(there).collect()
    }

    /// Puts the fingerprints of all `runs` into `table`, in their order, and says
    /// which of them are new.
    #[inline]
    pub(super) fn insert_all<'a>(
        self,
        table: &mut Table,
        runs: impl Iterator<Item = Run<'a>> + Clone,
    ) {
        match self {
            // SAFETY: this variant is only made where the machine has these features.
            #[cfg(target_arch = "x86_64")]
            Probe::Avx512 => unsafe { x86::insert_all_avx512(table, runs) },
            // SAFETY: this variant is only made where the machine has these features.
            #[cfg(target_arch = "x86_64")]
            Probe::Avx2 => unsafe { x86::insert_all_avx2(table, runs) },
            Probe::Portable => insert_all(table, runs, Table::insert),
        }
    }
}

#[inline(always)]
fn insert_all<'a>(
    table: &mut Table,
    runs: impl Iterator<Item = Run<'a>> + Clone,
    insert: impl Fn(&mut Table, Fingerprint) -> bool,
) {
    // Bet: another thread has written the fingerprints, and the table is not in the cache either.
    // So both are asked for before it is their turn, the fingerprints first.
    let mut runs_ahead = runs.clone();
    runs_ahead.by_ref().take(RUNS_AHEAD).for_each(|(fingerprints, _)| prefetch_all(fingerprints));
    let mut ahead = runs.clone().flat_map(|(fingerprints, _)| fingerprints);
    ahead.by_ref().take(AHEAD).for_each(|fingerprint| table.prefetch(*fingerprint));
    for (fingerprints, are_new) in runs {
        runs_ahead.next().into_iter().for_each(|(fingerprints, _)| prefetch_all(fingerprints));
        for (fingerprint, is_new) in fingerprints.iter().zip(are_new) {
            ahead.next().into_iter().for_each(|fingerprint| table.prefetch(*fingerprint));
            is_new.store(u8::from(insert(table, *fingerprint)), Ordering::Relaxed);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Run, Table};

    /// Slots in a cache line, and in a vector. Two words each, the low one first.
    const LINE: usize = 4;

    /// Cache lines that are looked at at once. Reason: as many as are asked for ahead; a
    /// third is waited for.
    const LINES: usize = 2;

    /// Of two bits for each slot, that of its high word.
    const HIGH: u32 = 0xaaaa;

    #[target_feature(enable = "avx512f,avx512dq,bmi1")]
    pub(super) fn insert_all_avx512<'a>(
        table: &mut Table,
        runs: impl Iterator<Item = Run<'a>> + Clone,
    ) {
        super::insert_all(table, runs, |table, fingerprint| {
            table.insert_with(fingerprint, |slots, home, value| insert_avx512(slots, home, value))
        });
    }

    #[target_feature(enable = "avx2,bmi1")]
    pub(super) fn insert_all_avx2<'a>(
        table: &mut Table,
        runs: impl Iterator<Item = Run<'a>> + Clone,
    ) {
        super::insert_all(table, runs, |table, fingerprint| {
            table.insert_with(fingerprint, |slots, home, value| insert_avx2(slots, home, value))
        });
    }

    /// The two cache lines, and how many slots stand before the `home` in the first.
    #[inline(always)]
    fn window(slots: &mut [u128], home: usize) -> Option<(&mut [u128; LINE * LINES], usize)> {
        // From where the cache line begins.
        let before = slots.as_ptr().wrapping_add(home).addr() / size_of::<u128>() % LINE;
        Some((slots.get_mut(home.checked_sub(before)?..)?.first_chunk_mut()?, before))
    }

    /// Puts `value` into the `slots`, from its `home` on; says whether it is new. If the slots that
    /// are looked at do not settle it, nothing has changed, and up to the slot that is told all is
    /// less.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,bmi1")]
    fn insert_avx512(slots: &mut [u128], home: usize, value: u128) -> Result<bool, usize> {
        let (window, before) = window(slots, home).ok_or(home)?;
        let (window, _) = window.as_chunks_mut::<LINE>();
        let lines: [__m512i; LINES] = std::array::from_fn(|at| load(&window[at]));
        let marks = |mark: &dyn Fn(__m512i) -> u8| {
            (0..LINES).map(|at| u32::from(mark(lines[at])) << (2 * LINE * at)).sum::<u32>()
        };
        let value = _mm512_broadcast_i64x2(_mm_set_epi64x((value >> 64) as i64, value as i64));
        // Words first, then slots, by the bit of their high word.
        let taken = marks(&|line| _mm512_test_epi64_mask(line, line));
        let less = marks(&|line| _mm512_cmplt_epu64_mask(line, value));
        let equal = marks(&|line| _mm512_cmpeq_epi64_mask(line, value));
        let taken = taken | taken << 1;
        let less = (less | equal & less << 1) & taken;
        let is_new = equal & equal << 1 & HIGH == 0;
        let from_home = HIGH & HIGH << (2 * before);
        let empty = from_home & !taken;
        if is_new & (empty == 0) {
            let place = (from_home & !less | 1 << (2 * LINE * LINES)).trailing_zeros() / 2;
            return Err(home - before + place as usize);
        }
        // Both words of its place; and of all from there to the first empty one, if it is new.
        let place = _blsi_u32(from_home & !less) >> 1;
        let moving = _blsmsk_u32(empty) & place.wrapping_neg();
        let moving = if is_new { moving } else { 0 };
        let place = (3 * place) & moving;
        let mut last = value;
        for (at, line) in lines.into_iter().enumerate() {
            let of_line = |marks: u32| (marks >> (2 * LINE * at)) as u8;
            let moved = _mm512_mask_alignr_epi64::<6>(line, of_line(moving), line, last);
            let put = _mm512_mask_mov_epi64(moved, of_line(place), value);
            store(&mut window[at], put);
            last = line;
        }
        Ok(is_new)
    }

    /// The same with vectors of two slots: one of the first line, and that of the second line with
    /// the same place.
    #[inline]
    #[target_feature(enable = "avx2,bmi1")]
    fn insert_avx2(slots: &mut [u128], home: usize, value: u128) -> Result<bool, usize> {
        /// Of four bits for each slot, two for each word, one of its high word.
        const HIGH: u32 = 0x8888_8888;
        let (window, before) = window(slots, home).ok_or(home)?;
        let pairs: [__m256i; LINE] =
            std::array::from_fn(|at| load_pair(&window[at], &window[at + LINE]));
        let marks = |mark: &dyn Fn(__m256i) -> __m256i| {
            let [a, b, c, d] = pairs.map(mark);
            let halves = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
            _mm256_movemask_epi8(halves) as u32
        };
        let value = _mm256_broadcastsi128_si256(_mm_set_epi64x((value >> 64) as i64, value as i64));
        // As if words had signs.
        let signed = |words: __m256i| _mm256_xor_si256(words, _mm256_set1_epi64x(i64::MIN));
        let signed_value = signed(value);
        // Words first, then slots, by a bit of their high word.
        let zero = marks(&|pair| _mm256_cmpeq_epi64(pair, _mm256_setzero_si256()));
        let less = marks(&|pair| _mm256_cmpgt_epi64(signed_value, signed(pair)));
        let equal = marks(&|pair| _mm256_cmpeq_epi64(pair, value));
        let empty = zero & zero << 2;
        let less = (less | equal & less << 2) & !empty;
        let is_new = equal & equal << 2 & HIGH == 0;
        let from_home = HIGH & HIGH << (4 * before);
        let empty = from_home & empty;
        let place = (from_home & !less).trailing_zeros() / 4;
        if is_new & (empty == 0) {
            return Err(home - before + place as usize);
        }
        // All from its place to the first empty slot, if it is new.
        let place = _mm256_set1_epi64x(if is_new { place.into() } else { i64::MAX });
        let end = _mm256_set1_epi64x((empty.trailing_zeros() / 4 + 1).into());
        let mut last = _mm256_permute2x128_si256::<0x08>(pairs[LINE - 1], pairs[LINE - 1]);
        for (at, pair) in pairs.into_iter().enumerate() {
            let (first, second) = (at as i64, (at + LINE) as i64);
            let places = _mm256_setr_epi64x(first, first, second, second);
            let moving = _mm256_and_si256(
                _mm256_cmpgt_epi64(places, place),
                _mm256_cmpgt_epi64(end, places),
            );
            let moved = _mm256_blendv_epi8(pair, last, moving);
            let put = _mm256_blendv_epi8(moved, value, _mm256_cmpeq_epi64(places, place));
            let (line, other) = window.split_at_mut(LINE);
            store_half(&mut line[at], _mm256_castsi256_si128(put));
            store_half(&mut other[at], _mm256_extracti128_si256::<1>(put));
            last = pair;
        }
        Ok(is_new)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load_pair(first: &u128, second: &u128) -> __m256i {
        let [first, second] = [first, second].map(|slot| {
            // SAFETY: the reference says that there are 16 bytes to read; they need no alignment.
            unsafe { _mm_loadu_si128(std::ptr::from_ref(slot).cast()) }
        });
        _mm256_set_m128i(second, first)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store_half(slot: &mut u128, value: __m128i) {
        // SAFETY: the reference says that there are 16 bytes to write; they need no alignment.
        unsafe { _mm_storeu_si128(std::ptr::from_mut(slot).cast(), value) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(slots: &[u128; LINE]) -> __m512i {
        // SAFETY: the reference says that there are 64 bytes to read; they need no alignment.
        unsafe { _mm512_loadu_si512(slots.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(slots: &mut [u128; LINE], value: __m512i) {
        // SAFETY: the reference says that there are 64 bytes to write; they need no alignment.
        unsafe { _mm512_storeu_si512(slots.as_mut_ptr().cast(), value) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Puts `values` in by `probe`, and says which are new, and what is in the table then.
    fn inserted(probe: Probe, values: &[u128]) -> (Vec<bool>, Vec<u128>) {
        let mut table = Table::default();
        let fingerprints: Vec<Fingerprint> = values.iter().copied().map(Fingerprint).collect();
        let are_new: Vec<AtomicU8> = values.iter().map(|_| AtomicU8::new(9)).collect();
        // By batches, as they come, of runs that are longer and shorter than what is looked ahead.
        for (number, (values, are_new)) in
            fingerprints.chunks(1000).zip(are_new.chunks(1000)).enumerate()
        {
            table.expect(values.len(), None);
            let run = [1, 7, AHEAD, 333][number % 4];
            probe.insert_all(&mut table, values.chunks(run).zip(are_new.chunks(run)));
        }
        assert_eq!(table.len(), table.sorted().count());
        let are_new = are_new.iter().map(|is_new| match is_new.load(Ordering::Relaxed) {
            0 => false,
            1 => true,
            other => panic!("{other}: was not looked at"),
        });
        (are_new.collect(), table.sorted().collect())
    }

    #[test]
    fn all_ways_agree_with_a_hash_set() {
        let factor = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
        let spread = |number: u128| number.wrapping_mul(factor) >> 8;
        let crowd = |number: u128| spread(number % 40) + number * number % 7;
        let ends = |number: u128| {
            [0, 1, u128::MAX, u128::MAX >> 8][number as usize % 4] ^ (number / 4 % 50)
        };
        let halves = |number: u128| ((number % 90) << 64) + number % 70;
        type Kind<'a> = &'a dyn Fn(u128) -> u128;
        let kinds: [(&str, Kind); 5] = [
            ("spread", &|number| spread(number * number % 30_011)),
            ("crowded", &crowd),
            ("at both ends", &ends),
            ("equal in one word", &halves),
            ("falling", &|number| spread(1) - number / 2 % 1000),
        ];
        for (kind, value) in kinds {
            let values: Vec<u128> = (0..60_000).map(value).collect();
            let mut twin = HashSet::new();
            let expected: Vec<bool> = values.iter().map(|value| twin.insert(*value)).collect();
            let mut all: Vec<u128> = twin.into_iter().collect();
            all.sort_unstable();
            for probe in Probe::all() {
                let (are_new, sorted) = inserted(probe, &values);
                assert!(are_new == expected, "{kind}, {probe:?}");
                assert!(sorted == all, "{kind}, {probe:?}");
            }
        }
    }
}
