//! Names with numbers, in the order in which they came: their texts behind each other, so that a
//! new one takes no memory of its own.

use hashbrown::HashTable;

/// The names that were met, numbered from 0.
#[derive(Debug, Default)]
pub(super) struct Names {
    texts: Vec<u8>,
    /// Where the text of each name ends.
    ends: Vec<u32>,
    /// The numbers, by the hashes of the texts.
    numbers: HashTable<u32>,
    hasher: ahash::RandomState,
}

impl Names {
    /// The number of `name`, which may be a new one.
    pub(super) fn number(&mut self, name: &[u8]) -> u32 {
        let Names { texts, ends, numbers, hasher } = self;
        let hash = hasher.hash_one(name);
        if let Some(number) = numbers.find(hash, |number| is_same(text(texts, ends, *number), name))
        {
            return *number;
        }
        let number = ends.len() as u32;
        texts.extend_from_slice(name);
        // They are parts of the forms of a chunk's lines, which holds 1 GiB at most.
        ends.push(texts.len() as u32);
        numbers.insert_unique(hash, number, |number| hasher.hash_one(text(texts, ends, *number)));
        number
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All of them, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len() as u32).map(|number| text(&self.texts, &self.ends, number))
    }
}

/// The text of the name `number`.
fn text<'a>(texts: &'a [u8], ends: &[u32], number: u32) -> &'a [u8] {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &texts[start as usize..ends[number] as usize]
}

/// Are both the same? Nothing is not compared with nothing: where no text is in memory yet, to do
/// so by masked vectors takes a processor some hundred nanoseconds.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_first() {
        let mut names = Names::default();
        let name = |number: u32| if number == 0 { String::new() } else { format!("n{number}") };
        for round in 0..3 {
            for number in 0..1000 {
                assert_eq!(names.number(name(number).as_bytes()), number, "{round}");
            }
        }
        assert_eq!(names.len(), 1000);
        assert!(names.iter().zip(0..).all(|(text, number)| text == name(number).as_bytes()));
    }
}
