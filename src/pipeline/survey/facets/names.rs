//! Numbers names in the order in which they come. Their texts are in one buffer, so that a new name
//! needs no allocation.

use std::sync::LazyLock;

use hashbrown::HashTable;

/// One hash for all names of a run: the same hash finds a name in its chunk and in the sums.
static HASHER: LazyLock<ahash::RandomState> = LazyLock::new(ahash::RandomState::new);

/// Returns the hash by which `name` is found.
pub(super) fn hash_of(name: &[u8]) -> u64 {
    HASHER.hash_one(name)
}

/// The names so far, numbered from 0.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    texts: Vec<u8>,
    /// Where the text of each name ends.
    ends: Vec<u32>,
    hashes: Vec<u64>,
    /// The numbers, by the hashes of the texts.
    numbers: HashTable<u32>,
}

impl NameTable {
    /// Returns the number of `name`, which may be new.
    pub(crate) fn number(&mut self, name: &[u8]) -> u32 {
        let NameTable { texts, ends, hashes, numbers } = self;
        let hash = hash_of(name);
        if let Some(number) = numbers.find(hash, |number| is_same(text(texts, ends, *number), name))
        {
            return *number;
        }
        let number = ends.len() as u32;
        texts.extend_from_slice(name);
        // Fits in 32 bits: names are parts of the forms of a chunk's lines, which has at most 1
        // GiB.
        ends.push(texts.len() as u32);
        hashes.push(hash);
        numbers.insert_unique(hash, number, |number| hashes[*number as usize]);
        number
    }

    /// Returns how many names there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns all names, by number, with their hashes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let texts = (0..self.ends.len() as u32).map(|number| text(&self.texts, &self.ends, number));
        self.hashes.iter().copied().zip(texts)
    }
}

/// The text of the name `number`.
fn text<'a>(texts: &'a [u8], ends: &[u32], number: u32) -> &'a [u8] {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &texts[start as usize..ends[number] as usize]
}

/// Are both the same? Empty texts are not compared: masked vector loads of memory that is not
/// mapped yet take a processor some hundred nanoseconds.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_first() {
        let mut names = NameTable::default();
        let name = |number: u32| if number == 0 { String::new() } else { format!("n{number}") };
        for round in 0..3 {
            for number in 0..1000 {
                assert_eq!(names.number(name(number).as_bytes()), number, "{round}");
            }
        }
        assert_eq!(names.len(), 1000);
        let is_same = |((hash, text), number): ((u64, &[u8]), u32)| {
            text == name(number).as_bytes() && hash == hash_of(text)
        };
        assert!(names.iter().zip(0..).all(is_same));
    }
}
