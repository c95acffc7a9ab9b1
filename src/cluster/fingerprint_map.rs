//! HOT: once per record. A map from the fingerprints of a partition to values, in the order in
//! which they came.
//!
//! Price: a look-up of a number, and one of what it stands for. Memory: 16 bytes and what is known,
//! up to a quarter more; and 6 to 12 for the number.

use hashbrown::HashTable;

use crate::fingerprint::Fingerprint;

/// A value for each fingerprint that came.
#[derive(Debug)]
pub(crate) struct FingerprintMap<V> {
    entries: Vec<Entry<V>>,
    /// The number of each fingerprint's entry.
    numbers: HashTable<u32>,
}

#[derive(Debug)]
struct Entry<V> {
    key: Key,
    value: V,
}

/// A fingerprint as four words, the lowest first: a `u128` has to be aligned to 16 bytes, which
/// would cost up to 12 bytes of padding for each entry.
type Key = [u32; 4];

impl<V> Default for FingerprintMap<V> {
    fn default() -> Self {
        FingerprintMap { entries: Vec::new(), numbers: HashTable::new() }
    }
}

impl<V> FingerprintMap<V> {
    /// How many fingerprints.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the value of `fingerprint`; that of `new` if it comes for the first time.
    #[inline]
    pub(crate) fn entry(&mut self, fingerprint: Fingerprint, new: impl FnOnce() -> V) -> &mut V {
        let number = match self.find(fingerprint) {
            Some(number) => number,
            None => self.push(fingerprint, new()),
        };
        &mut self.entries[number].value
    }

    /// Returns the value of `fingerprint`, if it came before.
    #[inline]
    pub(crate) fn get(&self, fingerprint: Fingerprint) -> Option<&V> {
        self.find(fingerprint).map(|number| &self.entries[number].value)
    }

    /// Returns the value of `fingerprint`, if it came before, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, fingerprint: Fingerprint) -> Option<&mut V> {
        self.find(fingerprint).map(|number| &mut self.entries[number].value)
    }

    /// Returns all values, in the order in which the fingerprints came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Fingerprint, &V)> {
        self.entries.iter().map(|entry| (fingerprint_of(entry.key), &entry.value))
    }

    /// Returns the bytes of memory that the map takes. With `ahead`, those that it will take with
    /// an eighth more entries.
    pub(crate) fn memory_bytes(&self, ahead: bool) -> u64 {
        let len = if ahead { self.len() + self.len() / 8 } else { self.len() };
        let mut entries = self.entries.capacity();
        if len > entries {
            entries += growth(entries);
        }
        // A hash table doubles when it is full.
        let numbers = self.numbers.allocation_size() << u32::from(len > self.numbers.capacity());
        (entries * size_of::<Entry<V>>() + numbers) as u64
    }

    #[inline]
    fn find(&self, fingerprint: Fingerprint) -> Option<usize> {
        let key = key_of(fingerprint);
        let is_its = |number: &u32| self.entries[*number as usize].key == key;
        self.numbers.find(hash_of(key), is_its).map(|number| *number as usize)
    }

    /// Inserts a fingerprint that has not come before; returns its number.
    fn push(&mut self, fingerprint: Fingerprint, value: V) -> usize {
        let FingerprintMap { entries, numbers } = self;
        let number = entries.len();
        if number == entries.capacity() {
            entries.reserve_exact(growth(number));
        }
        let key = key_of(fingerprint);
        entries.push(Entry { key, value });
        let short =
            u32::try_from(number).expect("10^12 fingerprints in all have no room in memory");
        numbers.insert_unique(hash_of(key), short, |number| hash_of(entries[*number as usize].key));
        number
    }
}

/// How many entries to make room for beyond this many: after doubling, often half of the room would
/// stay empty.
fn growth(entries: usize) -> usize {
    entries / 4 + 4
}

fn key_of(Fingerprint(value): Fingerprint) -> Key {
    [0, 32, 64, 96].map(|shift| (value >> shift) as u32)
}

fn fingerprint_of(key: Key) -> Fingerprint {
    Fingerprint(key.iter().rev().fold(0, |value, word| (value << 32) | u128::from(*word)))
}

/// A fingerprint is its own hash; its highest bits are those of the partition, the same for all.
fn hash_of(key: Key) -> u64 {
    (u64::from(key[1]) << 32) | u64::from(key[0])
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn agrees_with_a_hash_map() {
        let fingerprint = |number: u128| {
            Fingerprint(number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
        };
        let (mut known, mut twin) = (FingerprintMap::default(), HashMap::new());
        let mut order = Vec::new();
        for number in (0..30_000).map(|number| number * number % 9_973) {
            *known.entry(fingerprint(number), || 0u32) += 1;
            let count = twin.entry(fingerprint(number).0).or_insert(0);
            *count += 1;
            if *count == 1 {
                order.push(fingerprint(number));
            }
        }
        assert_eq!(known.len(), twin.len());
        assert!(known.iter().map(|(fingerprint, _)| fingerprint).eq(order.iter().copied()));
        assert!(known.iter().all(|(fingerprint, count)| twin[&fingerprint.0] == *count));
        for number in 9_000..11_000 {
            let expected = twin.get(&fingerprint(number).0);
            assert_eq!(known.get(fingerprint(number)), expected);
            assert_eq!(known.get_mut(fingerprint(number)).map(|count| &*count), expected);
        }
    }

    #[test]
    fn memory_is_told_ahead() {
        let mut known = FingerprintMap::default();
        let (mut told, mut told_at) = (0, 0);
        for number in 0..100_000u128 {
            known.entry(Fingerprint((number << 64) | (number * 77)), || [0u64; 3]);
            let bytes = known.memory_bytes(false);
            assert!(number < 100 || bytes <= told, "{number}: {bytes} of {told}");
            // A hundredth more is less than an eighth.
            if number >= told_at + told_at / 100 {
                (told, told_at) = (known.memory_bytes(true), number);
            }
        }
        assert!((40..62).contains(&(known.memory_bytes(false) / 100_000)), "{told}");
    }
}
