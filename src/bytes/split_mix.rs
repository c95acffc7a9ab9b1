//! SplitMix64: numbers that look random, from a seed, the same on every machine and for ever.
//!
//! Not for secrets, and not for hash keys.
//!
//! Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

/// The odd constant of Weyl's sequence: 2^64 divided by the golden ratio.
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The next 64 bits of the sequence that has come to `state`; the period is 2^64.
#[inline]
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN);
    mix(*state)
}

/// Spreads every bit of `bits` over all 64. No two inputs give the same.
#[inline]
pub fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_sequence() {
        // The first numbers of seed 1234567, as other implementations of SplitMix64 print them.
        let mut state = 1_234_567;
        for expected in [6_457_827_717_110_365_317, 3_203_168_211_198_807_973] {
            assert_eq!(next(&mut state), expected);
        }
    }
}
