//! HOT: once per canonical URL. Carry-less products: the two rows of CLNH, and
//! the halves they make.
//!
//! ```text
//! a ⊗ b         polynomials over GF(2), a bit for each coefficient: 64 bits by 64 are 127
//! Aᵣ            (word₀ ⊕ key₀)⊗(word₁ ⊕ key₁) ⊕ (word₂ ⊕ key₂)⊗(word₃ ⊕ key₃) ⊕ …
//!               the second row has the keys of the first, one pair further on
//! halfᵣ         Aᵣ.low⊗k ⊕ Aᵣ.high⊗k ⊕ length⊗k ⊕ k (⊕ Y.low⊗k ⊕ Y.high⊗k)  mod x⁶⁴+x⁴+x³+x+1
//! ```
//!
//! Price: with AVX-512, eight products at once for 64 bytes, with AVX2 and VPCLMULQDQ four for 32,
//! and a branch only beyond 128; with PCLMULQDQ or PMULL, two products for 16 bytes; without, 25
//! multiplications for each product, some twelve times as long in all. Guard:
//! `benches/fingerprint.rs`. Twin: [`Products::Portable`]; the test below compares all that the
//! machine has, and that of `fingerprint.rs` the definition, bit by bit.
//!
//! Unsafe: calls of functions that are compiled for instructions that not every processor has,
//! where it was asked before; and the loads of `products/x86.rs`.

#[cfg(target_arch = "x86_64")]
mod x86;

use super::BLOCK;

/// The keys of the two rows, and of their halves.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Keys {
    /// For each row, one for each word of a block. The second row's are the first row's from the
    /// second pair on, and another pair.
    pub(super) rows: [[u64; BLOCK / 8]; 2],
    /// For each row, the factors of A low and A high.
    pub(super) sums: [[u64; 2]; 2],
    /// For each row, the factor of the length, and the constant.
    pub(super) length: [[u64; 2]; 2],
    /// For each row, the factors of Y low and Y high.
    pub(super) polynomial: [[u64; 2]; 2],
}

/// What multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Products {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Vpclmulqdq,
    #[cfg(target_arch = "x86_64")]
    Pclmulqdq,
    #[cfg(target_arch = "aarch64")]
    Pmull,
    Portable,
}

/// What ends a URL, or all of it: less than a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest<'a> {
    pub(super) text: &'a [u8],
    /// Bytes of the URL.
    pub(super) length: usize,
    /// Y low and high, if the URL has a block.
    pub(super) polynomial: Option<&'a [u64; 2]>,
}

impl Products {
    /// The fastest that the machine has.
    pub(super) fn fastest() -> Products {
        *Self::all().last().expect("there is always one")
    }

    /// All that the machine has, the fastest last.
    fn all() -> Vec<Products> {
        let mut all = vec![Products::Portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("sse4.1") {
            all.push(Products::Pclmulqdq);
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("vpclmulqdq") {
                all.push(Products::Vpclmulqdq);
            }
            if is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("vpclmulqdq")
            {
                all.push(Products::Avx512);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("aes")
            && std::arch::is_aarch64_feature_detected!("pmull")
        {
            all.push(Products::Pmull);
        }
        all
    }

    /// Computes the two halves for the `rest` of a URL, in one number, the first the upper.
    // What the ways take and return has room in registers.
    #[inline(always)]
    pub(super) fn halves(self, keys: &Keys, rest: Rest) -> u128 {
        let Rest { text, length, polynomial } = rest;
        match self {
            // SAFETY: this variant is only made where the machine has these features.
            #[cfg(target_arch = "x86_64")]
            Products::Avx512 => unsafe { x86::halves_avx512(keys, text, length, polynomial) },
            // SAFETY: this variant is only made where the machine has these features.
            #[cfg(target_arch = "x86_64")]
            Products::Vpclmulqdq => unsafe {
                x86::halves_vpclmulqdq(keys, text, length, polynomial)
            },
            _ => self.halves_aside(keys, text, length, polynomial),
        }
    }

    /// Computes the two halves for the rest of a URL, as [`Products::halves`] does, by a call, so
    /// that the fastest paths do not reserve stack space for the others.
    #[inline(never)]
    fn halves_aside(
        self,
        keys: &Keys,
        text: &[u8],
        length: usize,
        polynomial: Option<&[u64; 2]>,
    ) -> u128 {
        let rest = Rest { text, length, polynomial };
        let [first, second] = match self {
            // SAFETY: this variant is only made where the machine has these features.
            #[cfg(target_arch = "x86_64")]
            Products::Pclmulqdq => unsafe { x86::halves_pclmulqdq(keys, rest) },
            // SAFETY: this variant is only made where the machine has these features.
            #[cfg(target_arch = "aarch64")]
            Products::Pmull => unsafe { arm::halves_pmull(keys, rest) },
            _ => halves(keys, sums(keys, text, multiply), rest, multiply),
        };
        joined(first, second)
    }

    /// Computes both rows of a block.
    pub(super) fn sums(self, keys: &Keys, block: &[u8; BLOCK]) -> [u128; 2] {
        match self {
            // SAFETY: this variant is only made where the machine has these features.
            #[cfg(target_arch = "x86_64")]
            Products::Avx512 => unsafe { x86::sums_avx512(keys, block) },
            // SAFETY: this variant is only made where the machine has these features.
            #[cfg(target_arch = "x86_64")]
            Products::Vpclmulqdq => unsafe { x86::sums_vpclmulqdq(keys, block) },
            // SAFETY: this variant is only made where the machine has these features.
            #[cfg(target_arch = "x86_64")]
            Products::Pclmulqdq => unsafe { x86::sums_pclmulqdq(keys, block) },
            // SAFETY: this variant is only made where the machine has these features.
            #[cfg(target_arch = "aarch64")]
            Products::Pmull => unsafe { arm::sums_pmull(keys, block) },
            Products::Portable => sums(keys, block, multiply),
        }
    }
}

/// Computes both rows of `text`, by this product of two words.
#[inline(always)]
fn sums(keys: &Keys, text: &[u8], multiply: impl Fn(u64, u64) -> u128) -> [u128; 2] {
    let (pairs, rest) = text.as_chunks::<16>();
    let mut sums = [0; 2];
    let mut add = |number: usize, pair: u128| {
        let (low, high) = (pair as u64, (pair >> 64) as u64);
        for (sum, row) in sums.iter_mut().zip(&keys.rows) {
            *sum ^= multiply(low ^ row[2 * number], high ^ row[2 * number + 1]);
        }
    };
    for (number, pair) in pairs.iter().enumerate() {
        add(number, u128::from_le_bytes(*pair));
    }
    if !rest.is_empty() {
        add(pairs.len(), last_pair(text, rest));
    }
    sums
}

/// The words of `rest`, less than 16 bytes, which `text` ends with; zeros after.
#[inline(always)]
fn last_pair(text: &[u8], rest: &[u8]) -> u128 {
    match text.last_chunk() {
        // The bytes before are shifted out.
        Some(last) => u128::from_le_bytes(*last) >> (8 * (16 - rest.len())),
        None => {
            let mut last = [0; 16];
            last[..rest.len()].copy_from_slice(rest);
            u128::from_le_bytes(last)
        }
    }
}

/// What is left of `text` after its words of 32 bits; zeros after.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn last_word(text: &[u8]) -> u32 {
    match text.last_chunk() {
        // By 32 bits, where nothing is left.
        Some(last) => (u64::from(u32::from_le_bytes(*last)) << (8 * (text.len() % 4)) >> 32) as u32,
        None => text.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)),
    }
}

/// Computes the two halves for the `rest` of a URL, whose rows are `sums`, by this product of two
/// words.
#[inline(always)]
fn halves(
    keys: &Keys,
    sums: [u128; 2],
    rest: Rest,
    multiply: impl Fn(u64, u64) -> u128,
) -> [u64; 2] {
    let dot =
        |words: [u64; 2], keys: [u64; 2]| multiply(words[0], keys[0]) ^ multiply(words[1], keys[1]);
    std::array::from_fn(|row| {
        let mut all =
            dot(words(sums[row]), keys.sums[row]) ^ dot([rest.length as u64, 1], keys.length[row]);
        if let Some(polynomial) = rest.polynomial {
            all ^= dot(*polynomial, keys.polynomial[row]);
        }
        reduce(all)
    })
}

/// `value` modulo x⁶⁴ + x⁴ + x³ + x + 1.
#[inline(always)]
fn reduce(value: u128) -> u64 {
    // What is above folds down to at most four bits above, and those once more.
    let fold = |value: u128| {
        let above = value >> 64;
        above << 4 ^ above << 3 ^ above << 1 ^ above
    };
    let once = fold(value);
    (value ^ once ^ fold(once)) as u64
}

/// The words of `value`, the lower first.
#[inline(always)]
pub(super) fn words(value: u128) -> [u64; 2] {
    [value as u64, (value >> 64) as u64]
}

/// The number of these words.
#[inline(always)]
fn joined(upper: u64, lower: u64) -> u128 {
    u128::from(upper) << 64 | u128::from(lower)
}

/// `a ⊗ b` on any machine, in the same time for all words.
fn multiply(a: u64, b: u64) -> u128 {
    /// Every fifth bit. As numbers, words of such bits have sums of at most 13 bits at
    /// each place of their product, which the four zeros above hold; the lowest of the
    /// five is the sum in GF(2).
    const FIFTHS: u128 = {
        let (mut bits, mut at) = (0, 0);
        while at < 128 {
            bits |= 1 << at;
            at += 5;
        }
        bits
    };
    let part = |word: u64, from: usize| u128::from(word) & FIFTHS << from;
    let mut product = 0;
    for from in 0..5 {
        let product_of = |first: usize| part(a, first) * part(b, (from + 5 - first) % 5);
        let sum = (0..5).fold(0, |sum, first| sum ^ product_of(first));
        product |= sum & FIFTHS << from;
    }
    product
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::vmull_p64;

    use super::{BLOCK, Keys, Rest, halves, sums};

    #[target_feature(enable = "neon,aes")]
    pub(super) fn sums_pmull(keys: &Keys, block: &[u8; BLOCK]) -> [u128; 2] {
        sums(keys, block, |a, b| vmull_p64(a, b))
    }

    #[target_feature(enable = "neon,aes")]
    pub(super) fn halves_pmull(keys: &Keys, rest: Rest) -> [u64; 2] {
        halves(keys, sums(keys, rest.text, |a, b| vmull_p64(a, b)), rest, |a, b| vmull_p64(a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplies_as_by_hand() {
        let by_hand = |a: u64, b: u64| {
            (0..64).filter(|bit| b >> bit & 1 == 1).fold(0, |sum, bit| sum ^ u128::from(a) << bit)
        };
        let mut word = 1u64;
        for _ in 0..1000 {
            let a = word;
            word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ 0xff51;
            assert_eq!(multiply(a, word), by_hand(a, word), "{a:x} {word:x}");
        }
        for (a, b) in [(0, 0), (1, u64::MAX), (u64::MAX, u64::MAX), (1 << 63, 1 << 63)] {
            assert_eq!(multiply(a, b), by_hand(a, b), "{a:x} {b:x}");
        }
    }

    #[test]
    fn all_that_the_machine_has_agree() {
        let mut word = 7u64;
        let mut next = || {
            word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ 0x1234_5678;
            word
        };
        let mut pairs = || std::array::from_fn(|_| std::array::from_fn(|_| next()));
        let (sums, length, polynomial) = (pairs(), pairs(), pairs());
        let rows = std::array::from_fn(|_| std::array::from_fn(|_| next()));
        let keys = Keys { rows, sums, length, polynomial };
        let block: [u8; BLOCK] = std::array::from_fn(|_| (next() >> 32) as u8);
        for products in Products::all() {
            assert_eq!(products.sums(&keys, &block), Products::Portable.sums(&keys, &block));
            for length in 0..BLOCK {
                for polynomial in [None, Some(&[next(), next()])] {
                    let text = &block[BLOCK - length..];
                    let rest = Rest { text, length: next() as usize, polynomial };
                    let expected = Products::Portable.halves(&keys, rest);
                    assert_eq!(products.halves(&keys, rest), expected, "{products:?}, {rest:?}");
                }
            }
        }
    }
}
