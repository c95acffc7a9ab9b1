//! HOT: once per record. Inserts records into a table, and prefetches the homes of later ones.
//!
//! ```text
//! record             0 ........ 32 ........ 64
//!         is put in ^           ^            ^ its home is asked for: a cache line of four slots
//!                               its home is there: if it is full, the line after is asked for
//! ```
//!
//! All of a line is compared at once, with AVX-512 or AVX2 if the machine has it. No branch depends
//! on whether the record is new, which cannot be predicted: if it is there, it is written again.
//! Only if its home is full of others does the search go on, to the next line.
//!
//! Price: some 60 instructions, and waiting for memory. Guard: `benches/cluster.rs`. Twin:
//! [`Table::insert`].
//!
//! Unsafe: a call of a function that is compiled for instructions that not every processor has,
//! where it was asked before; and loads of vectors, each of an array of its length.

use std::sync::atomic::{AtomicU8, Ordering};

use super::table::{EMPTY, Line, Table};
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

/// Fingerprints that are contiguous in memory, and for each whether it is new.
pub(super) type Run<'a> = (&'a [Fingerprint], &'a [AtomicU8]);

/// How many records ahead a home is prefetched.
const AHEAD: usize = 64;

/// How many records ahead a home has arrived, so that whether it is full can be checked.
const THERE: usize = 32;

/// How many runs ahead fingerprints are prefetched. Reason: a chunk of a list has some 40
/// fingerprints of a partition, so the homes of the next run or two are already being prefetched.
const RUNS_AHEAD: usize = 3;

impl Probe {
    /// Returns the fastest that the machine supports.
    pub(super) fn fastest() -> Probe {
        *Self::all().last().expect("there is always one")
    }

    /// Returns all that the machine supports, the fastest last.
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

    /// Inserts the fingerprints of all `runs` into `table`, in order, and reports which of them are
    /// new.
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
            Probe::Portable => insert_all(table, runs, insert_portable),
        }
    }
}

#[inline(always)]
fn insert_all<'a>(
    table: &mut Table,
    runs: impl Iterator<Item = Run<'a>> + Clone,
    at_once: impl Fn(&mut Line, u128) -> Option<bool>,
) {
    // Bet: another thread has written the fingerprints, and the table is not in the cache either.
    // So both are prefetched, the fingerprints first.
    let mut runs_ahead = runs.clone();
    runs_ahead.by_ref().take(RUNS_AHEAD).for_each(|(fingerprints, _)| prefetch_all(fingerprints));
    let mut ahead = runs.clone().flat_map(|(fingerprints, _)| fingerprints);
    // The homes of the records to come, by their numbers.
    let mut homes = [0; AHEAD];
    for (home, fingerprint) in homes.iter_mut().zip(ahead.by_ref().take(AHEAD)) {
        *home = table.prefetch(*fingerprint);
    }
    let mut number = 0;
    for (fingerprints, are_new) in runs {
        runs_ahead.next().into_iter().for_each(|(fingerprints, _)| prefetch_all(fingerprints));
        for (fingerprint, is_new) in fingerprints.iter().zip(are_new) {
            if let Some(fingerprint) = ahead.next() {
                homes[number % AHEAD] = table.prefetch(*fingerprint);
            }
            number += 1;
            table.prefetch_behind_full(homes[(number + THERE) % AHEAD]);
            is_new.store(u8::from(table.insert_with(*fingerprint, &at_once)), Ordering::Relaxed);
        }
    }
}

/// Inserts `value` into the `line`, unless it is there; returns whether it is new. `None` if it is
/// not there, and there is no room. `equal` and `empty` have two bits for each slot: whether it is
/// equal to the value, and whether it is empty.
#[inline(always)]
fn put(line: &mut Line, value: u128, equal: u32, empty: u32) -> Option<bool> {
    let is_new = equal == 0;
    // Written again if it is already there, to avoid a branch.
    let place = if is_new { empty } else { equal }.trailing_zeros() / 2;
    *line.get_mut(place as usize)? = value;
    Some(is_new)
}

#[inline(always)]
fn insert_portable(line: &mut Line, value: u128) -> Option<bool> {
    let bits = |is: &dyn Fn(u128) -> bool| {
        line.iter().rev().fold(0, |bits, slot| bits << 2 | u32::from(is(*slot)))
    };
    let (equal, empty) = (bits(&|slot| slot == value), bits(&|slot| slot == EMPTY));
    put(line, value, equal, empty)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Line, Run, Table, put};

    /// Of two bits for each slot, one for each word, the first.
    const FIRST: u32 = 0x55;

    #[target_feature(enable = "avx512f,avx512dq,bmi1")]
    pub(super) fn insert_all_avx512<'a>(
        table: &mut Table,
        runs: impl Iterator<Item = Run<'a>> + Clone,
    ) {
        super::insert_all(table, runs, |line, value| insert_avx512(line, value));
    }

    #[target_feature(enable = "avx2,bmi1")]
    pub(super) fn insert_all_avx2<'a>(
        table: &mut Table,
        runs: impl Iterator<Item = Run<'a>> + Clone,
    ) {
        super::insert_all(table, runs, |line, value| insert_avx2(line, value));
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,bmi1")]
    fn insert_avx512(line: &mut Line, value: u128) -> Option<bool> {
        // SAFETY: the reference says that there are 64 bytes to read; they need no alignment.
        let words = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
        let wanted = _mm512_broadcast_i64x2(_mm_set_epi64x((value >> 64) as i64, value as i64));
        let equal = u32::from(_mm512_cmpeq_epi64_mask(words, wanted));
        let empty = u32::from(_mm512_testn_epi64_mask(words, words));
        put(line, value, equal & equal >> 1 & FIRST, empty & empty >> 1 & FIRST)
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1")]
    fn insert_avx2(line: &mut Line, value: u128) -> Option<bool> {
        let (pairs, _) = line.as_chunks::<2>();
        let pairs: [__m256i; 2] = std::array::from_fn(|at| {
            // SAFETY: the reference says that there are 32 bytes to read; they need no alignment.
            unsafe { _mm256_loadu_si256(pairs[at].as_ptr().cast()) }
        });
        let bits = |wanted: __m256i| {
            let [low, high] = pairs.map(|pair| {
                let equal = _mm256_castsi256_pd(_mm256_cmpeq_epi64(pair, wanted));
                _mm256_movemask_pd(equal) as u32
            });
            let words = low | high << 4;
            words & words >> 1 & FIRST
        };
        let wanted =
            _mm256_broadcastsi128_si256(_mm_set_epi64x((value >> 64) as i64, value as i64));
        let (equal, empty) = (bits(wanted), bits(_mm256_setzero_si256()));
        put(line, value, equal, empty)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Inserts `values` by `probe`, and returns which are new, and what is in the table then.
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
