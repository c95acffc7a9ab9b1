//! Maps that crafted texts cannot make slow, and hashes for drawing and sorting.

use std::collections::HashMap;

use crate::bytes::split_mix;

/// Hash map with a random key: crafted URLs cannot make it slow. Results never depend on the order
/// of a map.
pub(crate) type Map<K, V> = HashMap<K, V, ahash::RandomState>;

/// A map with a key of its own.
pub(crate) fn map<K, V>() -> Map<K, V> {
    HashMap::with_hasher(ahash::RandomState::new())
}

/// 64 bits of `bytes`; the same on every machine. Only for drawing and sorting: texts with the same
/// hash are easily crafted.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut state = 0x9E37_79B9_7F4A_7C15 ^ (bytes.len() as u64);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().expect("chunks of eight"));
        state = mix(state ^ word);
    }
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    mix(state ^ u64::from_le_bytes(last))
}

/// Mixes 64 bits.
#[inline]
pub(crate) fn mix(mut bits: u64) -> u64 {
    split_mix::next(&mut bits)
}
