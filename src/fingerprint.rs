//! HOT: once per canonical URL. The 128-bit fingerprint of a canonical URL.
//!
//! ```text
//! URL     | block of 256 bytes | block | … | rest, 0 to 255 bytes, zeros up to a pair of words |
//!            CLNH, two rows      CLNH        CLNH, two rows: A₀ and A₁, 128 bits each
//!              \___ polynomial ___/             |
//!                  Y (none in URLs of up to 255 bytes)
//! halfᵣ   = Aᵣ, the length and Y, multiplied by keys in GF(2⁶⁴), 64 bits
//! result  = half₀ and half₁, mixed
//! ```
//!
//! Rows and halves: `products.rs`. Price: there, and three multiplications. Guard:
//! `benches/fingerprint.rs`, where it is measured beside SipHash, which it was chosen over, and
//! others. Twin: the definition above, bit by bit, in the test below.

#[allow(unsafe_code)]
mod products;

use std::hash::Hasher as _;

use products::{Keys, Products, Rest, words};
use siphasher::sip128::{Hasher128 as _, SipHasher13};

/// Bytes that one CLNH takes; what is left over is treated as a last, shorter block.
const BLOCK: usize = 256;

/// The prime 2¹²⁷ - 1.
const PRIME: u128 = u128::MAX >> 1;

/// The secret under which one job computes its fingerprints.
///
/// Two jobs that share fingerprints (a seen file, the workers of a distributed job) share the key.
#[derive(Clone)]
pub struct FingerprintKey {
    secret: [u8; 16],
    /// What is computed from the secret.
    schedule: Box<Schedule>,
}

/// The numbers that a fingerprint is computed with, all from the secret by SipHash-1-3-128.
#[derive(Clone)]
struct Schedule {
    keys: Keys,
    /// The powers of where the polynomial is evaluated, from the fourth to the
    /// first, modulo [`PRIME`].
    powers: [u128; 4],
    /// Odd.
    mixer: u128,
    products: Products,
}

impl Schedule {
    fn new(secret: &[u8; 16]) -> Schedule {
        let mut number = 0u64;
        let mut next = || {
            let mut hasher = SipHasher13::new_with_key(secret);
            hasher.write_u64(number.to_le());
            number += 1;
            hasher.finish128().as_u128()
        };
        let words: [u64; BLOCK / 8 + 2] = std::array::from_fn(|_| next() as u64);
        let rows = std::array::from_fn(|row| std::array::from_fn(|at| words[at + 2 * row]));
        let mut pairs = || std::array::from_fn(|_| std::array::from_fn(|_| next() as u64));
        let keys = Keys { rows, sums: pairs(), length: pairs(), polynomial: pairs() };
        let (point, mixer) = (next() % PRIME, next() | 1);
        let square = multiply(point, point);
        let powers = [multiply(square, square), multiply(square, point), square, point];
        Schedule { keys, powers, mixer, products: Products::fastest() }
    }
}

impl FingerprintKey {
    /// A fresh key from the operating system's randomness.
    pub fn random() -> Self {
        use std::hash::{BuildHasher as _, RandomState};
        // `RandomState` is seeded by the system once per thread and then counts; hashing through
        // two states with different inputs gives 128 bits that an outsider cannot guess.
        let (low, high) = (RandomState::new().hash_one(1u64), RandomState::new().hash_one(2u64));
        let mut secret = [0; 16];
        secret[..8].copy_from_slice(&low.to_le_bytes());
        secret[8..].copy_from_slice(&high.to_le_bytes());
        Self::from_bytes(secret)
    }

    /// Makes the key from these bytes.
    pub fn from_bytes(secret: [u8; 16]) -> Self {
        FingerprintKey { secret, schedule: Box::new(Schedule::new(&secret)) }
    }

    /// The 16 bytes of [`FingerprintKey::from_bytes`].
    pub fn to_bytes(&self) -> [u8; 16] {
        self.secret
    }

    /// The fingerprint of `bytes` under this key.
    #[inline]
    pub fn fingerprint(&self, bytes: &[u8]) -> Fingerprint {
        let Schedule { keys, mixer, products, .. } = &*self.schedule;
        let length = bytes.len();
        // Bet: a URL is shorter than a block.
        let halves = if length < BLOCK {
            products.halves(keys, Rest { text: bytes, length, polynomial: None })
        } else {
            self.schedule.halves_of_long(bytes)
        };
        Fingerprint(mix(halves, *mixer))
    }
}

impl Schedule {
    /// The two halves of a URL that has whole blocks, in one number.
    #[inline(never)]
    fn halves_of_long(&self, bytes: &[u8]) -> u128 {
        let (blocks, text) = bytes.as_chunks::<BLOCK>();
        let polynomial = words(self.polynomial(blocks));
        let rest = Rest { text, length: bytes.len(), polynomial: Some(&polynomial) };
        self.products.halves(&self.keys, rest)
    }

    /// The polynomial whose coefficients are 1 and the words of the rows of `blocks`.
    fn polynomial(&self, blocks: &[[u8; BLOCK]]) -> u128 {
        let [fourth, lower @ ..] = self.powers;
        let mut value = 1;
        for block in blocks {
            let [first, second] = self.products.sums(&self.keys, block).map(words);
            // The four steps of a block at once: their products do not wait for each other.
            // Bet: it is the only one.
            let raised = if value == 1 { fourth } else { multiply(value, fourth) };
            let products = [first[0], first[1], second[0]].into_iter().zip(lower);
            value = products.fold(reduce(raised + u128::from(second[1])), |sum, (word, power)| {
                reduce(sum + times(word, power))
            });
        }
        value
    }
}

/// Spreads every bit of `value` over all others; one to one, so that nothing is lost.
#[inline(always)]
fn mix(value: u128, mixer: u128) -> u128 {
    // `mixer` is odd, so it has an inverse; so has the shift.
    let value = (value ^ value >> 67).wrapping_mul(mixer);
    value ^ value >> 71
}

/// `value` modulo 2¹²⁷ - 1, whatever it is; the result is below that.
#[inline]
fn reduce(value: u128) -> u128 {
    let value = (value & PRIME) + (value >> 127);
    if value >= PRIME { value - PRIME } else { value }
}

/// `word · factor` modulo 2¹²⁷ - 1; the `factor` is below it, and so is the result.
#[inline]
fn times(word: u64, factor: u128) -> u128 {
    let [low, high] = words(factor).map(|half| u128::from(word) * u128::from(half));
    reduce(reduce(low) + times_word(high))
}

/// `value · 2⁶⁴` modulo 2¹²⁷ - 1; the `value` is below it, and so is the result.
#[inline]
fn times_word(value: u128) -> u128 {
    // 2¹²⁷ is 1 modulo the prime.
    (value << 64 & PRIME) | value >> 63
}

/// `a · b` modulo 2¹²⁷ - 1, both below it; the result is, too.
#[inline]
fn multiply(a: u128, b: u128) -> u128 {
    let [low, high] = words(a).map(|half| times(half, b));
    reduce(low + times_word(high))
}

impl PartialEq for FingerprintKey {
    fn eq(&self, other: &Self) -> bool {
        self.secret == other.secret
    }
}

impl Eq for FingerprintKey {}

impl std::fmt::Debug for FingerprintKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FingerprintKey(secret)")
    }
}

/// The identity of a canonical URL: two rows of CLNH, each hashed to 64 bits, keyed per job.
///
/// - It stands for the URL: two URLs with one fingerprint would count as one. For two different
///   URLs that do not depend on the key the chance is at most 2⁻¹²⁶ (2⁻¹²⁶ + 2⁻¹¹³ if one is longer
///   than 255 bytes and none than 1 MiB). Any two of 10¹⁰ URLs collide with a chance of at most
///   5·10¹⁹ · 2⁻¹²⁶ = 6e-19; if all were long, 5e-15.
/// - Why: CLNH gives two different texts of one length the same sum with a chance of at most 2⁻⁶⁴
///   (Lemire and Kaser: *Faster 64-bit universal hashing using carry-less multiplications*, 2016).
///   Two rows do so with at most 2⁻¹²⁸, by the argument of Black, Halevi, Krawczyk, Krovetz and
///   Rogaway (*UMAC: Fast and Secure Message Authentication*, CRYPTO 1999, theorem 3): after the
///   last pair in which the texts differ all cancels out, so no key that the second row has for
///   that pair, one pair further on, matters to the first. The last step is a multilinear hash over
///   a field of 2⁶⁴ elements, 2⁻⁶⁴ for each row; a polynomial of degree `n` over a prime field of
///   2¹²⁷ - 1 elements has at most `n` zeros, four for each block. All are theorems; the only
///   assumption is that SipHash-1-3, which makes the key's numbers from 16 bytes, is a
///   pseudo-random function.
/// - The lists are written by strangers, so the key is secret: without it, and without seeing
///   fingerprints, nobody can prepare two URLs that collide. Fast hashes without a proof have
///   published collisions for every seed.
/// - Not a message authentication code: whoever sees fingerprints may learn the key.
/// - Not a format: another version of this crate may compute other fingerprints. What is kept for
///   longer is a canonical form, or a seen file, which says in its header how it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u128);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_round_trip_and_differ() {
        let key = FingerprintKey::random();
        assert_eq!(FingerprintKey::from_bytes(key.to_bytes()), key);
        assert_ne!(FingerprintKey::random(), key);
        assert_ne!(key.fingerprint(b"a"), key.fingerprint(b"b"));
        assert_eq!(format!("{key:?}"), "FingerprintKey(secret)");
    }

    /// `a · b + c` modulo the prime, bit by bit.
    fn multiply_slowly(a: u128, b: u128, c: u128) -> u128 {
        let add = |a: u128, b: u128| (a + b) % PRIME;
        let product = (0..127).rev().fold(0, |product, bit| {
            let doubled = add(product, product);
            if b >> bit & 1 == 1 { add(doubled, a) } else { doubled }
        });
        add(product, c % PRIME)
    }

    /// `a · b` as polynomials over GF(2), bit by bit.
    fn carry_less(a: u64, b: u64) -> u128 {
        (0..64).filter(|bit| b >> bit & 1 == 1).fold(0, |sum, bit| sum ^ u128::from(a) << bit)
    }

    /// `value` modulo x⁶⁴ + x⁴ + x³ + x + 1, bit by bit.
    fn in_field(value: u128) -> u64 {
        let folded = (64..128).rev().fold(value, |value, bit| match value >> bit & 1 {
            0 => value,
            _ => value ^ (1 << 64 | 0b11011) << (bit - 64),
        });
        folded as u64
    }

    /// The definition at the top of this file.
    fn twin(secret: &[u8; 16], text: &[u8]) -> u128 {
        let draw = |number: usize| {
            let mut hasher = SipHasher13::new_with_key(secret);
            hasher.write(&(number as u64).to_le_bytes());
            hasher.finish128().as_u128()
        };
        let key = |number: usize| draw(number) as u64;
        let clnh = |row: usize, block: &[u8]| {
            let mut padded = block.to_vec();
            padded.resize(block.len().next_multiple_of(16), 0);
            padded.chunks(16).enumerate().fold(0, |sum, (pair, bytes)| {
                let word = |half: usize| {
                    let word = bytes[8 * half..8 * half + 8].try_into().unwrap();
                    u64::from_le_bytes(word) ^ key(2 * pair + half + 2 * row)
                };
                sum ^ carry_less(word(0), word(1))
            })
        };
        let whole = text.len() / BLOCK * BLOCK;
        let point = draw(34 + 12) % PRIME;
        let mut y = 1;
        for block in text[..whole].chunks(BLOCK) {
            for row in 0..2 {
                for word in words(clnh(row, block)) {
                    y = multiply_slowly(y, point, u128::from(word));
                }
            }
        }
        let half = |row: usize| {
            let first = 34 + 2 * row;
            let [low, high] = words(clnh(row, &text[whole..]));
            let mut terms = vec![(low, first), (high, first + 1)];
            terms.extend([(text.len() as u64, first + 4), (1, first + 5)]);
            if whole > 0 {
                let [low, high] = words(y);
                terms.extend([(low, first + 8), (high, first + 9)]);
            }
            terms.into_iter().fold(0, |sum, (word, at)| sum ^ in_field(carry_less(word, key(at))))
        };
        let value = u128::from(half(0)) << 64 | u128::from(half(1));
        let value = (value ^ value >> 67).wrapping_mul(draw(34 + 12 + 1) | 1);
        value ^ value >> 71
    }

    #[test]
    fn is_what_its_definition_says() {
        let secret = *b"0123456789abcdef";
        let key = FingerprintKey::from_bytes(secret);
        let text: Vec<u8> = (0..1100u32).map(|at| (at * at % 251) as u8).collect();
        for length in (0..600).chain([767, 768, 769, 1023, 1024, 1025, 1100]) {
            let text = &text[..length];
            assert_eq!(key.fingerprint(text).0, twin(&secret, text), "{length} bytes");
        }
        let ones = [0xff; 1100];
        assert_eq!(key.fingerprint(&ones).0, twin(&secret, &ones));
    }

    #[test]
    fn texts_that_differ_little_differ_in_every_bit() {
        let key = FingerprintKey::from_bytes([9; 16]);
        let text = b"http://example.com/a/path/that/is/long/enough/for/some/pairs?id=1000".to_vec();
        let first = key.fingerprint(&text).0;
        let mut flips = [0u32; 128];
        let mut variants = 0;
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut other = text.clone();
                other[at] ^= 1 << bit;
                let difference = first ^ key.fingerprint(&other).0;
                assert_ne!(difference, 0);
                (0..128).for_each(|bit| flips[bit] += (difference >> bit) as u32 & 1);
                variants += 1;
            }
        }
        for (bit, flips) in flips.into_iter().enumerate() {
            let share = f64::from(flips) / f64::from(variants);
            assert!((0.35..0.65).contains(&share), "bit {bit} flips in {share:.2} of the cases");
        }
        // Zeros at the end are not padding.
        let lengths: Vec<Fingerprint> = (0..600).map(|n| key.fingerprint(&vec![0; n])).collect();
        for (at, one) in lengths.iter().enumerate() {
            assert!(!lengths[..at].contains(one), "{at} zeros");
        }
    }

    #[test]
    fn numbered_pages_spread_evenly() {
        let key = FingerprintKey::from_bytes([4; 16]);
        let mut partitions = [0u32; 256];
        for number in 0..256_000 {
            let url = format!("http://example.com/item?id={number:08}");
            partitions[(key.fingerprint(url.as_bytes()).0 >> 120) as usize] += 1;
        }
        for (partition, count) in partitions.into_iter().enumerate() {
            assert!((800..1200).contains(&count), "{count} in partition {partition}");
        }
    }
}
