//! How fast canonical URLs get their fingerprint, against the other hashes that were at hand.
//!
//! - `clnh-128`: ours: two rows of CLNH.
//! - `sip13-128`: what it was chosen over; no proof, but years of analysis.
//! - `sip24-128`: the same with the full number of rounds.
//! - `sip13-64`: what the standard library has. 64 bits are too few for an identity: 10¹⁰ URLs
//!   would collide for certain.
//! - `polymur-128`: two PolymurHashes of 64 bits, each under a key of its own. It has a proof: two
//!   texts of at most `n` bytes collide in one of them with a chance of at most
//!   (14 + n/7) · 2⁻⁵⁷·⁴ (`extras/universality-proof.md` of its author's repository, which drops
//!   the 14 in the last step). For 80 bytes and both keys that is 2⁻¹⁰⁵.
//! - `highway-128`: HighwayHash (Alakuijala, Cox and Wassenberg, 2016). No proof.
//! - `polyval-128`: POLYVAL (RFC 8452), a polynomial over GF(2¹²⁸) that is evaluated at the key.
//!   Zeros fill up the last block of 16 bytes, so without the length `a` and `a\0` would be one.
//!   The length has a block of its own, so no two texts have the same polynomial. The difference
//!   of two has at most as many zeros as there are blocks: a chance of at most
//!   (⌈n/16⌉ + 1) · 2⁻¹²⁸, for 80 bytes 2⁻¹²⁵·⁴ (McGrew and Viega, 2004, for GHASH; POLYVAL is the
//!   same but for the order of the bits: RFC 8452, appendix A).
//! - `ahash-64`: the floor. Not secure, and not stable between versions.

mod corpus;

use std::hash::{BuildHasher as _, DefaultHasher, Hasher as _};
use std::hint::black_box;

use criterion::{Criterion, Throughput};
use highway::{HighwayHash as _, HighwayHasher, PortableHash};
use polymur_hash::PolymurHash;
use polyval::Polyval;
use polyval::universal_hash::UniversalHash as _;
use siphasher::sip::SipHasher13;
use siphasher::sip128::{self, Hasher128 as _};
use undust::FingerprintKey;
use undust::bytes::split_mix;

/// Inputs per iteration. Reason: 200 KB at most, so that the hash is measured and not the memory.
const INPUTS: usize = 1024;

/// Lengths in bytes: a short URL, one of the usual length, one with a long query.
const LENGTHS: [usize; 3] = [20, 80, 200];

/// `INPUTS` different inputs of `length` printable bytes, one after the other.
fn inputs(length: usize) -> Vec<u8> {
    let mut random = corpus::SEED;
    let mut draw = || b'a' + (split_mix::next(&mut random) % 26) as u8;
    (0..INPUTS * length).map(|_| draw()).collect()
}

/// All hashes of `inputs`, folded into one.
#[inline]
fn fold(inputs: &[u8], length: usize, hash: impl Fn(&[u8]) -> u128) -> u128 {
    inputs.chunks_exact(length).fold(0, |all, input| all.rotate_left(1) ^ hash(input))
}

fn bench(
    c: &mut Criterion,
    name: &str,
    hash: impl Fn(&[u8]) -> u128 + Copy,
    twin: impl Fn(&[u8]) -> u128,
) {
    let mut group = c.benchmark_group("fingerprint");
    for length in LENGTHS {
        let inputs = inputs(length);
        let expected = fold(&inputs, length, &twin);
        group.throughput(Throughput::ElementsAndBytes {
            elements: INPUTS as u64,
            bytes: inputs.len() as u64,
        });
        group.bench_function(format!("{name}/{length}"), |b| {
            b.iter(|| assert_eq!(fold(black_box(&inputs), length, hash), expected));
        });
    }
    group.finish();
}

/// 128 bits of a hasher that is given `input` byte by byte: the slow way to the same number.
fn bytewise(mut hasher: impl sip128::Hasher128 + std::hash::Hasher, input: &[u8]) -> u128 {
    input.iter().for_each(|byte| hasher.write(&[*byte]));
    let hash = hasher.finish128();
    u128::from(hash.h1) << 64 | u128::from(hash.h2)
}

/// What [`fold`] makes of the inputs of each of [`LENGTHS`] by [`polymur`], computed once in C with
/// the functions of `polymur-hash.h`, by the author of PolymurHash.
const POLYMUR_FOLDS: [u128; 3] = [
    0x76e9_60d3_7186_d112_a7a0_8b15_9c52_f641,
    0x994d_95e0_2c52_b038_077b_99ab_ab4c_0076,
    0xe643_43ba_8e34_4c92_891b_1271_eb92_4bf1,
];

/// Two hashes of 64 bits under keys of their own, side by side.
#[inline]
fn polymur(keys: &[PolymurHash; 2], input: &[u8]) -> u128 {
    let [low, high] = keys.each_ref().map(|key| u128::from(key.hash(input)));
    high << 64 | low
}

/// Computes POLYVAL of `input`, filled up with zeros, and of a block that holds its length in
/// bytes. `key` has taken no block yet.
#[inline]
fn polyval(key: &Polyval, input: &[u8]) -> u128 {
    let mut hasher = key.clone();
    hasher.update_padded(input);
    hasher.update(&[(input.len() as u128).to_le_bytes().into()]);
    u128::from_le_bytes(hasher.finalize().into())
}

/// Computes POLYVAL of `input` and of its length, as [`polyval()`] does, by the definition, bit by
/// bit; `point` is the key.
fn polyval_slowly(point: u128, input: &[u8]) -> u128 {
    // a · b · x⁻¹²⁸ modulo x¹²⁸ + x¹²⁷ + x¹²⁶ + x¹²¹ + 1 (RFC 8452, section 3), lowest bit first.
    // Each step divides by x; where x does not divide the sum, the modulus is added before.
    let dot = |a: u128, b: u128| {
        (0..128).fold(0, |sum, bit| {
            let sum = if a >> bit & 1 == 1 { sum ^ b } else { sum };
            if sum & 1 == 1 { sum >> 1 ^ 0b1110_0001 << 120 } else { sum >> 1 }
        })
    };
    let words = input.chunks(16).map(|chunk| {
        let mut block = [0; 16];
        block[..chunk.len()].copy_from_slice(chunk);
        u128::from_le_bytes(block)
    });
    words.chain([input.len() as u128]).fold(0, |sum, word| dot(sum ^ word, point))
}

fn hashes(c: &mut Criterion) {
    let key = FingerprintKey::from_bytes(corpus::KEY);
    // Its definition, bit by bit, is checked against it in `src/fingerprint.rs`.
    let again = FingerprintKey::from_bytes(key.to_bytes());
    bench(c, "clnh-128", |input| key.fingerprint(input).0, |input| again.fingerprint(input).0);
    let sip13 = |input: &[u8]| {
        let mut hasher = sip128::SipHasher13::new_with_key(&corpus::KEY);
        hasher.write(input);
        let hash = hasher.finish128();
        u128::from(hash.h1) << 64 | u128::from(hash.h2)
    };
    bench(c, "sip13-128", sip13, |input| {
        bytewise(sip128::SipHasher13::new_with_key(&corpus::KEY), input)
    });
    bench(
        c,
        "sip24-128",
        |input| {
            let mut hasher = sip128::SipHasher24::new_with_key(&corpus::KEY);
            hasher.write(input);
            let hash = hasher.finish128();
            u128::from(hash.h1) << 64 | u128::from(hash.h2)
        },
        |input| bytewise(sip128::SipHasher24::new_with_key(&corpus::KEY), input),
    );
    bench(
        c,
        "sip13-64",
        |input| {
            // The standard library's hasher, under the key zero: the price is the same for any.
            let mut hasher = DefaultHasher::new();
            hasher.write(input);
            u128::from(hasher.finish())
        },
        |input| {
            let mut hasher = SipHasher13::new_with_keys(0, 0);
            input.iter().for_each(|byte| hasher.write(&[*byte]));
            u128::from(hasher.finish())
        },
    );
    let keys = [PolymurHash::from_u64x2_seed(1, 2), PolymurHash::from_u64x2_seed(3, 4)];
    let hash = |input: &[u8]| polymur(&keys, input);
    // The crate has no second way to the same number, so another program is its twin.
    for (length, expected) in LENGTHS.into_iter().zip(POLYMUR_FOLDS) {
        assert_eq!(fold(&inputs(length), length, hash), expected, "PolymurHash, {length} bytes");
    }
    bench(c, "polymur-128", hash, hash);
    let key = highway::Key([1, 2, 3, 4]);
    // What depends on the key alone is computed once, as for the others.
    let keyed = HighwayHasher::new(key);
    let join = |[low, high]: [u64; 2]| u128::from(high) << 64 | u128::from(low);
    bench(
        c,
        "highway-128",
        |input| join(keyed.clone().hash128(input)),
        |input| {
            let mut hasher = PortableHash::new(key);
            input.iter().for_each(|byte| hasher.append(&[*byte]));
            join(hasher.finalize128())
        },
    );
    let point = Polyval::new(&corpus::KEY.into());
    bench(
        c,
        "polyval-128",
        |input| polyval(&point, input),
        |input| polyval_slowly(u128::from_le_bytes(corpus::KEY), input),
    );
    let state = ahash::RandomState::with_seeds(1, 2, 3, 4);
    let hash = |input: &[u8]| {
        let mut hasher = state.build_hasher();
        hasher.write(input);
        u128::from(hasher.finish())
    };
    // ahash has no second implementation to check against: this only holds that it repeats itself.
    bench(c, "ahash-64", hash, hash);
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    hashes(&mut criterion);
    criterion.final_summary();
}
