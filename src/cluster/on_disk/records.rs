//! Records of named numbers, as they are in temporary files.
//!
//! ```text
//! record = u64*        its numbers, little-endian, in the order of its fields
//! ```

use crate::fingerprint::Fingerprint;

/// A record.
pub trait Record: Copy {
    /// The numbers of a record.
    type Words: AsRef<[u64]> + AsMut<[u64]> + Default;

    /// Bytes of a record.
    const BYTES: usize = size_of::<Self::Words>();

    /// Returns the numbers of the record, in the order of its fields.
    fn to_words(self) -> Self::Words;

    /// Makes the record of these numbers.
    fn from_words(words: Self::Words) -> Self;

    /// Appends the record to `bytes`.
    #[inline]
    fn push_to(self, bytes: &mut Vec<u8>) {
        for word in self.to_words().as_ref() {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads a record from `bytes`, which have the length of one.
    #[inline]
    fn from_bytes(bytes: &[u8]) -> Self {
        let mut words = Self::Words::default();
        for (word, value) in words.as_mut().iter_mut().zip(words_of(bytes)) {
            *word = value;
        }
        Self::from_words(words)
    }
}

/// A record with a unique key, by which records are sorted.
pub trait Keyed: Record {
    /// Returns the key.
    fn key(&self) -> u64;
}

/// A record with a fingerprint, by which records are sorted first.
pub(crate) trait Fingerprinted: Record + Ord {
    /// Returns the fingerprint as the record has it, in two halves.
    fn halves(&self) -> Halves;

    /// Returns the fingerprint as one number.
    #[inline]
    fn fingerprint(&self) -> Fingerprint {
        self.halves().fingerprint()
    }
}

/// A fingerprint in a record: a `u128` has to be aligned to 16 bytes, which not every record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Halves {
    /// The upper half.
    pub(crate) high: u64,
    /// The lower half.
    pub(crate) low: u64,
}

impl Halves {
    /// Splits `fingerprint` into its halves.
    #[inline]
    pub(crate) fn of(fingerprint: Fingerprint) -> Halves {
        Halves { high: (fingerprint.0 >> 64) as u64, low: fingerprint.0 as u64 }
    }

    /// Returns the fingerprint as a value.
    #[inline]
    pub(crate) fn fingerprint(self) -> Fingerprint {
        Fingerprint(u128::from(self.high) << 64 | u128::from(self.low))
    }
}

/// Returns the numbers that `bytes` holds.
pub(super) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
}
