//! Random numbers whose sequence never changes, because the truth of every list depends on it.
//!
//! Integers only: `ln` and `pow` of the C library differ in the last bit between machines.

use crate::bytes::split_mix::{self, GOLDEN, mix};

/// One sequence of SplitMix64.
///
/// Stable forever: a change of any method here changes every list of every seed.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// The sequence of `seed`.
    pub(super) fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// The sequence that belongs to item `index` of `seed`: the same whenever it is asked for.
    ///
    /// `kind` keeps the sequences apart that one seed feeds: sites, pages, the list itself.
    pub(super) fn derived(seed: u64, kind: u64, index: u64) -> Self {
        let seed = mix(seed.wrapping_add(mix(kind.wrapping_add(GOLDEN))));
        Self::new(mix(seed ^ mix(index.wrapping_add(GOLDEN))))
    }

    /// The next 64 bits.
    #[inline]
    pub(super) fn bits(&mut self) -> u64 {
        split_mix::next(&mut self.state)
    }

    /// A number below `bound`; 0 if `bound` is 0.
    ///
    /// Multiplies instead of dividing. The bias is below `bound / 2^64`, which no list can show.
    #[inline]
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A position in something that holds `len` items; 0 if it holds none.
    #[inline]
    pub(super) fn position(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True in `percent` of 100 cases.
    #[inline]
    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which must hold at least one.
    #[inline]
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.position(items.len())]
    }

    /// A number with the exponential distribution of this mean, rounded down.
    ///
    /// - Limits: exact to 32 bits of fraction; about six draws.
    /// - Source: von Neumann, "Various techniques used in connection with random digits", 1951.
    ///
    /// A run of falling fractions ends after an odd number with the probability `exp(-first)`.
    pub(super) fn exponential(&mut self, mean: u32) -> u64 {
        let mut whole = 0u64;
        loop {
            let first = self.bits() >> 32;
            let (mut last, mut odd) = (first, true);
            loop {
                let next = self.bits() >> 32;
                if next >= last {
                    break;
                }
                last = next;
                odd = !odd;
            }
            if odd {
                let value = u128::from(whole) << 32 | u128::from(first);
                return ((value * u128::from(mean)) >> 32) as u64;
            }
            whole += 1;
        }
    }
}

/// Moves `value` to another number of as many bits, so that no two values meet.
///
/// - Shape: `value < 2^bits`, and so is what is returned; `bits` is 2 to 64. `key` chooses the
///   order.
/// - Limits: scatters well enough to look random in a URL, no more than that.
#[inline]
pub(super) fn scramble(value: u64, bits: u32, key: u64) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let mut value = (value ^ key) & mask;
    // Each step can be undone below 2^bits: a shift to the right mixed in, a product with an odd
    // number.
    for factor in [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB, GOLDEN] {
        value ^= value >> (bits / 2);
        value = value.wrapping_mul(factor) & mask;
    }
    value ^ value >> (bits / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_sequences_differ() {
        let mut firsts = Vec::new();
        for seed in 0..10 {
            for kind in 0..3 {
                firsts.extend((0..100).map(|index| Random::derived(seed, kind, index).bits()));
            }
        }
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 3_000);
    }

    #[test]
    fn bounds_hold() {
        let mut random = Random::new(7);
        let mut seen = [0; 5];
        for _ in 0..10_000 {
            seen[random.position(5)] += 1;
        }
        assert!(seen.iter().all(|&times| (1_800..2_200).contains(&times)), "{seen:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
        assert!(!random.percent(0) && random.percent(100));
    }

    #[test]
    fn exponential_has_its_mean_and_its_median() {
        let mut random = Random::new(3);
        let mut values: Vec<u64> = (0..50_000).map(|_| random.exponential(20_000)).collect();
        values.sort_unstable();
        let mean = values.iter().sum::<u64>() / values.len() as u64;
        assert!((19_600..20_400).contains(&mean), "{mean}");
        // The median is the mean times ln 2.
        let median = values[values.len() / 2];
        assert!((13_500..14_230).contains(&median), "{median}");
    }

    #[test]
    fn scramble_is_a_permutation() {
        for (bits, key) in [(2, 1), (9, 77), (16, 0), (16, u64::MAX)] {
            let mut seen = vec![false; 1 << bits];
            for value in 0..1 << bits {
                let place = &mut seen[scramble(value, bits, key) as usize];
                assert!(!*place, "{bits} bits, key {key}: two values meet");
                *place = true;
            }
        }
    }
}
