//! HOT: once per name. Eight bytes of a text as a number of few bits, and sets of such numbers.
//!
//! They show that most texts are not in a list, without searching the list.
//!
//! Price: a product, a load, and a shift. Guard: `benches/canonical.rs`, group `fused`.

/// A set of numbers below `64 * WORDS`, a bit for each.
#[derive(Clone, Debug)]
pub struct BitSet<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Default for BitSet<WORDS> {
    fn default() -> Self {
        BitSet([0; WORDS])
    }
}

impl<const WORDS: usize> BitSet<WORDS> {
    /// All of them.
    pub fn all() -> Self {
        BitSet([u64::MAX; WORDS])
    }

    /// Inserts `number`.
    pub fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Is `number` in it?
    #[inline(always)]
    pub fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }
}

/// Eight bytes without regard to ASCII case. Some other characters become equal as well.
#[inline(always)]
pub fn folded(word: u64) -> u64 {
    word | 0x2020_2020_2020_2020
}

/// A hash of `BITS` bits, at most 64, for a word: the upper bits of its product with the golden
/// ratio, which depend on all of its bits (Knuth 1973, 6.4).
#[inline(always)]
pub fn few_bits<const BITS: u32>(word: u64) -> usize {
    const { assert!(0 < BITS && BITS <= u64::BITS) };
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let mut set = BitSet::<4>::default();
        assert!((0..256).all(|number| !set.has(number)));
        for number in [0, 63, 64, 255] {
            set.insert(number);
        }
        let numbers: Vec<usize> = (0..256).filter(|number| set.has(*number)).collect();
        assert_eq!(numbers, [0, 63, 64, 255]);
        assert!((0..256).all(|number| BitSet::<4>::all().has(number)));
    }

    #[test]
    fn words_in_few_bits() {
        let word = |text: &[u8; 8]| folded(u64::from_le_bytes(*text));
        assert_eq!(word(b"Session="), word(b"sESSION="));
        assert_ne!(word(b"sessions"), word(b"session="));
        // Words of one bit each have different numbers, most of them.
        let mut numbers: Vec<usize> = (0..64).map(|bit| few_bits::<11>(1 << bit)).collect();
        assert!(numbers.iter().all(|number| *number < 1 << 11));
        numbers.sort_unstable();
        numbers.dedup();
        assert!(numbers.len() > 50, "{}", numbers.len());
        assert_eq!(few_bits::<16>(1), 0x9e37);
    }
}
