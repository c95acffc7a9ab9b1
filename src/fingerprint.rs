//! 128 bits that stand for a canonical URL.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher13};

/// The secret under which one job computes its fingerprints.
///
/// Two jobs that share fingerprints (a seen file, the workers of a distributed job) share the key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FingerprintKey([u64; 2]);

impl FingerprintKey {
    /// A fresh key from the operating system's randomness.
    pub fn random() -> Self {
        use std::hash::{BuildHasher as _, RandomState};
        // `RandomState` is seeded by the system once per thread and then counts; hashing through
        // two states with different inputs gives 128 bits that an outsider cannot guess.
        let state = RandomState::new();
        FingerprintKey([state.hash_one(1u64), RandomState::new().hash_one(2u64)])
    }

    /// The key that 16 bytes spell, little-endian.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let number = u128::from_le_bytes(bytes);
        FingerprintKey([number as u64, (number >> 64) as u64])
    }

    /// The 16 bytes of [`FingerprintKey::from_bytes`].
    pub fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.0[0]) | u128::from(self.0[1]) << 64).to_le_bytes()
    }

    /// The fingerprint of `bytes` under this key.
    #[inline]
    pub fn fingerprint(self, bytes: &[u8]) -> Fingerprint {
        let mut hasher = SipHasher13::new_with_keys(self.0[0], self.0[1]);
        hasher.write(bytes);
        let hash = hasher.finish128();
        Fingerprint(u128::from(hash.h1) << 64 | u128::from(hash.h2))
    }
}

impl std::fmt::Debug for FingerprintKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FingerprintKey(secret)")
    }
}

/// The identity of a canonical URL: SipHash-1-3 with 128 bits of output, keyed per job.
///
/// - It stands for the URL: two URLs with one fingerprint would count as one. For `n` different
///   URLs the chance that any two collide is about `n² / 2¹²⁹`: 1.5e-19 for 10¹⁰ URLs, if
///   SipHash-1-3 is the pseudo-random function it is believed to be (Aumasson and Bernstein, 2012).
/// - The lists are written by strangers, so the key is secret: without it nobody can prepare two
///   URLs that collide. Fast unkeyed or weakly keyed hashes have published collisions for every
///   seed.
/// - Not for tables in the process, where a cheaper hash does.
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

    #[test]
    fn seen_files_depend_on_these_bits() {
        let key = FingerprintKey::from_bytes(*b"0123456789abcdef");
        assert_eq!(key.fingerprint(b"http://a.test/").0, {
            let mut hasher = SipHasher13::new_with_key(b"0123456789abcdef");
            hasher.write(b"http://a.test/");
            let hash = hasher.finish128();
            u128::from(hash.h1) << 64 | u128::from(hash.h2)
        });
    }
}
