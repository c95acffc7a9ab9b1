//! HOT: once per canonical URL. 128 bits that stand for it.
//!
//! ```text
//! URL     | block of 256 bytes | block | … | rest, 0 to 255 bytes, zeros up to a pair |
//!            NH, two rows        NH          NH, two rows: A₀ and A₁, 128 bits each
//!              \___ polynomial ___/           |
//!                  Y (none in URLs of up to 255 bytes)
//! halfᵣ   = top 64 bits of  k + k·Aᵣ.low + k·Aᵣ.high + k·length (+ k·Y.low + k·Y.high)  mod 2¹²⁸
//! result  = half₀ and half₁, mixed
//! NH      = Σ (word₂ᵢ + key₂ᵢ)(word₂ᵢ₊₁ + key₂ᵢ₊₁) mod 2¹²⁸, a pair of 64-bit words at a time;
//!           the second row has the keys of the first, one pair further on
//! ```
//!
//! Price: two multiplications for 16 bytes, fifteen at the end; no dependency between the pairs.
//! Guard: `benches/fingerprint.rs`, where it is measured beside SipHash, which it was chosen over,
//! and others. Twin: the definition above, word by word, in the test below.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher13};

/// Bytes that one NH takes; what is left over is treated as a last, shorter block.
const BLOCK: usize = 256;

/// Words of key for NH: one for each word of a block, and a pair for the second row.
const NH_WORDS: usize = BLOCK / 8 + 2;

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
    nh: [u64; NH_WORDS],
    /// For each row: the constant, and the factors of A low, A high, the length, Y low, Y high.
    last: [[u128; 6]; 2],
    /// Where the polynomial is evaluated: below [`PRIME`].
    point: u128,
    /// Odd.
    mixer: u128,
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
        Schedule {
            nh: std::array::from_fn(|_| next() as u64),
            last: std::array::from_fn(|_| std::array::from_fn(|_| next())),
            point: next() % PRIME,
            mixer: next() | 1,
        }
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

    /// The key that these bytes are.
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
        let schedule = &*self.schedule;
        let (rest, polynomial) = if bytes.len() < BLOCK {
            (bytes, 0)
        } else {
            let (blocks, rest) = bytes.as_chunks::<BLOCK>();
            (rest, schedule.polynomial(blocks))
        };
        let sums = schedule.nh(rest);
        let mut halves = [0u64; 2];
        for (row, half) in halves.iter_mut().enumerate() {
            let [constant, low, high, length, y_low, y_high] = schedule.last[row];
            let mut sum = constant
                .wrapping_add(low.wrapping_mul(u128::from(sums[row] as u64)))
                .wrapping_add(high.wrapping_mul(sums[row] >> 64))
                .wrapping_add(length.wrapping_mul(bytes.len() as u128));
            if bytes.len() >= BLOCK {
                sum = sum
                    .wrapping_add(y_low.wrapping_mul(u128::from(polynomial as u64)))
                    .wrapping_add(y_high.wrapping_mul(polynomial >> 64));
            }
            *half = (sum >> 64) as u64;
        }
        Fingerprint(mix(u128::from(halves[0]) << 64 | u128::from(halves[1]), schedule.mixer))
    }
}

impl Schedule {
    /// Both rows of NH over `text`, of at most [`BLOCK`] bytes.
    #[inline(always)]
    fn nh(&self, text: &[u8]) -> [u128; 2] {
        let (pairs, rest) = text.as_chunks::<16>();
        let mut sums = [0u128; 2];
        let mut add = |pair: u128, keys: &[u64; 4]| {
            let (low, high) = (pair as u64, (pair >> 64) as u64);
            for (row, sum) in sums.iter_mut().enumerate() {
                let a = u128::from(low.wrapping_add(keys[2 * row]));
                let b = u128::from(high.wrapping_add(keys[2 * row + 1]));
                *sum = sum.wrapping_add(a * b);
            }
        };
        let mut keys = &self.nh[..];
        for pair in pairs {
            let (now, _) = keys.split_first_chunk::<4>().expect("a block has no more pairs");
            add(u128::from_le_bytes(*pair), now);
            keys = &keys[2..];
        }
        if !rest.is_empty() {
            let last = match text.last_chunk::<16>() {
                // The bytes before were taken already, and are shifted out.
                Some(last) => u128::from_le_bytes(*last) >> (8 * (16 - rest.len())),
                None => {
                    let mut last = [0; 16];
                    last[..rest.len()].copy_from_slice(rest);
                    u128::from_le_bytes(last)
                }
            };
            let (now, _) = keys.split_first_chunk::<4>().expect("a block has no more pairs");
            add(last, now);
        }
        sums
    }

    /// The polynomial whose coefficients are the halves of the sums of `blocks`.
    #[inline(never)]
    fn polynomial(&self, blocks: &[[u8; BLOCK]]) -> u128 {
        let mut value = 1;
        for block in blocks {
            for sum in self.nh(block) {
                for half in [sum as u64, (sum >> 64) as u64] {
                    value = reduce(multiply(value, self.point) + u128::from(half));
                }
            }
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

/// `value` modulo 2¹²⁷ - 1, but for one round of the reduction: below 2¹²⁷.
#[inline]
fn reduce(value: u128) -> u128 {
    let value = (value & PRIME) + (value >> 127);
    if value >= PRIME { value - PRIME } else { value }
}

/// `a · b` modulo 2¹²⁷ - 1, both below it; the result is, too.
#[inline]
fn multiply(a: u128, b: u128) -> u128 {
    let half = |value: u128| (u128::from(value as u64), value >> 64);
    let ((a_low, a_high), (b_low, b_high)) = (half(a), half(b));
    let middle = a_low * b_high + a_high * b_low;
    // 2¹²⁸ is 2 modulo the prime.
    let parts = [a_low * b_low, (middle >> 64) * 2, middle << 64, a_high * b_high * 2];
    parts.into_iter().fold(0, |sum, part| reduce(sum + reduce(part)))
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

/// The identity of a canonical URL: two rows of NH, each hashed to 64 bits, keyed per job.
///
/// - It stands for the URL: two URLs with one fingerprint would count as one. For two different
///   URLs that do not depend on the key the chance is at most 2⁻¹²⁶ (2⁻¹²⁶ + 2⁻¹¹³ if one is longer
///   than 255 bytes and none than 1 MiB). Any two of 10¹⁰ URLs collide with a chance of at most
///   5·10¹⁹ · 2⁻¹²⁶ = 6e-19; if all were long, 5e-15.
/// - Why: NH with two rows that share their key shifted by a pair gives two different texts of one
///   length the same sums with a chance of at most 2⁻¹²⁸ (Black, Halevi, Krawczyk, Krovetz and
///   Rogaway: *UMAC: Fast and Secure Message Authentication*, CRYPTO 1999, theorems 2 and 3); the
///   last step is the multilinear hash of Lemire and Kaser (*Strongly Universal String Hashing is
///   Fast*, 2014), 2⁻⁶⁴ for each row; a polynomial of degree `n` over a prime field of 2¹²⁷ - 1
///   elements has at most `n` zeros, four for each block. All are theorems; the only assumption is
///   that SipHash-1-3, which makes the key's numbers from 16 bytes, is a pseudo-random function.
/// - The lists are written by strangers, so the key is secret: without it, and without seeing
///   fingerprints, nobody can prepare two URLs that collide. Fast hashes without a proof have
///   published collisions for every seed.
/// - Not a message authentication code: whoever sees fingerprints may learn the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

    /// The definition at the top of this file.
    fn twin(secret: &[u8; 16], text: &[u8]) -> u128 {
        let draw = |number: u64| {
            let mut hasher = SipHasher13::new_with_key(secret);
            hasher.write(&number.to_le_bytes());
            hasher.finish128().as_u128()
        };
        let nh = |row: usize, block: &[u8]| {
            let mut padded = block.to_vec();
            padded.resize(block.len().next_multiple_of(16), 0);
            padded.chunks(8).enumerate().fold((0u128, 0u128), |(sum, left), (number, word)| {
                let word = u64::from_le_bytes(word.try_into().unwrap());
                let keyed = word.wrapping_add(draw((number + 2 * row) as u64) as u64);
                match number % 2 {
                    0 => (sum, u128::from(keyed)),
                    _ => (sum.wrapping_add(left * u128::from(keyed)), 0),
                }
            })
        };
        let whole = text.len() / BLOCK * BLOCK;
        let point = draw(34 + 12) % PRIME;
        let mut y = 1;
        for block in text[..whole].chunks(BLOCK) {
            for row in 0..2 {
                let (sum, _) = nh(row, block);
                y = multiply_slowly(y, point, u128::from(sum as u64));
                y = multiply_slowly(y, point, sum >> 64);
            }
        }
        let half = |row: usize| {
            let (sum, _) = nh(row, &text[whole..]);
            let factors = [1, u128::from(sum as u64), sum >> 64, text.len() as u128];
            let more = if whole > 0 { [u128::from(y as u64), y >> 64] } else { [0; 2] };
            let all = factors.into_iter().chain(more).enumerate();
            let sum = all.fold(0u128, |all, (number, factor)| {
                let key = draw((34 + 6 * row + number) as u64);
                all.wrapping_add(key.wrapping_mul(factor))
            });
            sum >> 64
        };
        let value = half(0) << 64 | half(1);
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
