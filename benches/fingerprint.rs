//! How fast canonical URLs get their fingerprint, against the other hashes that were at hand.
//!
//! - `clnh-128`: ours: two rows of CLNH.
//! - `sip13-128`: what it was chosen over; no proof, but years of analysis.
//! - `sip24-128`: the same with the full number of rounds.
//! - `sip13-64`: what the standard library has. 64 bits are too few for an identity: 10¹⁰ URLs
//!   would collide for certain.
//! - `ahash-64`: the floor. Not secure, and not stable between versions.

mod corpus;

use std::hash::{BuildHasher as _, DefaultHasher, Hasher as _};
use std::hint::black_box;

use criterion::{Criterion, Throughput};
use siphasher::sip::SipHasher13;
use siphasher::sip128::{self, Hasher128 as _};
use undust::FingerprintKey;

/// Inputs per iteration. Reason: 200 KB at most, so that the hash is measured and not the memory.
const INPUTS: usize = 1024;

/// Lengths in bytes: a short URL, one of the usual length, one with a long query.
const LENGTHS: [usize; 3] = [20, 80, 200];

/// `INPUTS` different inputs of `length` printable bytes, one after the other.
fn inputs(length: usize) -> Vec<u8> {
    let mut random = corpus::SEED;
    let mut draw = || b'a' + (corpus::next(&mut random) % 26) as u8;
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
