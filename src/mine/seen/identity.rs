//! Decides which things are the same, even if URLs were crafted.
//!
//! If the texts are available, two of them are the same if all their bytes are equal: [`Lookup`],
//! [`Numbering`], [`Values`]. If not, they are distinguished by fingerprints under a [`Secret`]
//! that each site has anew, so that two that were prepared to collide count as one only once in 2³²
//! times.
//!
//! Except for such a pair, no result depends on a secret. Drawing and sorting use `table::hash`,
//! which is the same in every run; of two things with the same hash, the order is that of the
//! table.

use std::collections::hash_map;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::maps::{Map, hash, map, mix};
use crate::fingerprint::FingerprintKey;

/// Finds things by hashes under a random key; things with the same hash are compared by the caller,
/// who keeps them.
///
/// ```text
/// table half of the hash, so that others are hardly ever compared; number 8 bytes ```
#[derive(Debug)]
pub(crate) struct Lookup {
    table: HashTable<(u32, u32)>,
    keys: ahash::RandomState,
}

impl Lookup {
    /// With room for this many things.
    pub(crate) fn with_room(things: usize) -> Lookup {
        Lookup { table: HashTable::with_capacity(things), keys: ahash::RandomState::new() }
    }

    /// The number of `text`, of which `next` is made if there is none; `text_of` gives the texts of
    /// numbers.
    pub(crate) fn number<'a>(
        &mut self,
        text: &[u8],
        next: u32,
        text_of: impl Fn(u32) -> &'a [u8],
    ) -> u32 {
        let keys = &self.keys;
        let hash = keys.hash_one(text);
        // The low bits say where in the table, and the highest seven are in there as well.
        let half = (hash >> 16) as u32;
        let is_it = |(known, number): &(u32, u32)| *known == half && text_of(*number) == text;
        let rehash = |(_, number): &(u32, u32)| keys.hash_one(text_of(*number));
        match self.table.entry(hash, is_it, rehash) {
            Entry::Occupied(known) => known.get().1,
            Entry::Vacant(free) => {
                free.insert((half, next));
                next
            }
        }
    }

    /// The number of `text`, if it has one.
    pub(crate) fn find<'a>(&self, text: &[u8], text_of: impl Fn(u32) -> &'a [u8]) -> Option<u32> {
        let is_it = |(_, number): &(u32, u32)| text_of(*number) == text;
        self.table.find(self.keys.hash_one(text), is_it).map(|(_, number)| *number)
    }
}

/// Numbers texts in the order in which they come.
pub(crate) struct Numbering {
    pub(crate) texts: Vec<Vec<u8>>,
    lookup: Lookup,
    last: u32,
}

impl Numbering {
    pub(crate) fn new() -> Numbering {
        Numbering { texts: Vec::new(), lookup: Lookup::with_room(0), last: 0 }
    }

    pub(crate) fn of(&mut self, text: &[u8]) -> u32 {
        // URLs that follow each other often share their origin and their path.
        if self.texts.get(self.last as usize).is_some_and(|last| last == text) {
            return self.last;
        }
        let next = self.texts.len() as u32;
        self.last = self.lookup.number(text, next, |number| &self.texts[number as usize]);
        if self.last == next {
            self.texts.push(text.to_vec());
        }
        self.last
    }
}

/// 64 bits for each value of a parameter: its hash, so that draws are the same in every run; others
/// if another value has that one already. Values come in the order of the table.
pub(crate) struct Values<'a> {
    /// Bits that stand for no value here have no text.
    by_bits: Map<u64, Option<&'a [u8]>>,
    /// Values whose bits differ from their hash.
    odd: Map<&'a [u8], u64>,
    drawn: u64,
}

impl<'a> Values<'a> {
    /// `reserved` bits stand for no value, those of `known` values for nothing else.
    pub(crate) fn new(reserved: &[u64], known: &[&'a [u8]]) -> Values<'a> {
        let mut by_bits = map();
        by_bits.extend(reserved.iter().map(|bits| (*bits, None)));
        by_bits.extend(known.iter().map(|text| (hash(text), Some(*text))));
        Values { by_bits, odd: map(), drawn: 0 }
    }

    /// The bits of a value.
    pub(crate) fn of(&mut self, value: &'a [u8]) -> u64 {
        let bits = hash(value);
        match self.by_bits.entry(bits).or_insert(Some(value)) {
            Some(known) if *known == value => bits,
            _ => self.other(value),
        }
    }

    #[cold]
    fn other(&mut self, value: &'a [u8]) -> u64 {
        if let Some(bits) = self.odd.get(value) {
            return *bits;
        }
        loop {
            self.drawn += 1;
            let bits = mix(mix(self.drawn));
            if let hash_map::Entry::Vacant(free) = self.by_bits.entry(bits) {
                free.insert(Some(value));
                self.odd.insert(value, bits);
                return bits;
            }
        }
    }
}

/// What fingerprints of one site are made under.
#[derive(Clone, Debug)]
pub(crate) struct Secret {
    key: FingerprintKey,
    words: [u64; 2],
}

impl Secret {
    /// A fresh one.
    pub(crate) fn random() -> Secret {
        let key = FingerprintKey::random();
        let word = |text: &[u8]| key.fingerprint(text).0 as u64;
        Secret { words: [word(b"first"), word(b"second")], key }
    }

    /// 128 bits of a text.
    pub(crate) fn fingerprint(&self, text: &[u8]) -> u128 {
        self.key.fingerprint(text).0
    }

    /// 64 bits of a text.
    pub(crate) fn of(&self, text: &[u8]) -> u64 {
        self.fingerprint(text) as u64
    }

    /// 64 bits of two numbers of 64 bits: the halves of a product, each factor with a secret.
    #[inline]
    pub(crate) fn join(&self, a: u64, b: u64) -> u64 {
        let [one, other] = self.words;
        let product = u128::from(a.wrapping_add(one)) * u128::from(b.wrapping_add(other));
        product as u64 ^ (product >> 64) as u64
    }
}

/// A URL with what it has in common with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Keyed {
    /// The same in every run: keys are sorted by this.
    pub(crate) draw: u64,
    /// Under the secret: different things with the same draw have the same check only once in 2³²
    /// times.
    pub(crate) check: u32,
    pub(crate) url: u32,
}

impl Keyed {
    /// The key: two URLs belong together if they have one.
    pub(crate) fn key(&self) -> (u64, u32) {
        (self.draw, self.check)
    }

    /// The key as one number, which does not say in which order anything is.
    pub(crate) fn page(&self) -> u64 {
        self.draw ^ u64::from(self.check) << 32
    }
}

/// Rows that are sorted by draw, check and URL, in groups with one draw and one check. In the order
/// of the draws; those that share one, which were crafted, in the order of their first URLs.
pub(crate) fn groups<T, D: PartialEq>(
    rows: &[T],
    draw: impl Fn(&T) -> D,
    check_and_url: impl Fn(&T) -> (u32, u32),
) -> impl Iterator<Item = &[T]> {
    rows.chunk_by(move |a, b| draw(a) == draw(b)).flat_map(move |run| {
        let is_one = check_and_url(&run[0]).0 == check_and_url(&run[run.len() - 1]).0;
        let mut parts: Vec<&[T]> = Vec::new();
        if !is_one {
            parts.extend(run.chunk_by(|a, b| check_and_url(a).0 == check_and_url(b).0));
            parts.sort_by_key(|part| check_and_url(&part[0]).1);
        }
        is_one.then_some(run).into_iter().chain(parts)
    })
}

/// Sorts keys of URLs.
pub(crate) fn sort_keys(keys: &mut Vec<Keyed>) {
    sort_hashed(keys, |keyed| keyed.draw);
}

/// Sorted keys by what they have in common.
pub(crate) fn groups_of(keys: &[Keyed]) -> impl Iterator<Item = &[Keyed]> {
    groups(keys, |keyed| keyed.draw, |keyed| (keyed.check, keyed.url))
}

/// Sorts rows that begin with a hash, whose first bits say about where each belongs.
pub(crate) fn sort_hashed<T: Copy + Ord>(rows: &mut Vec<T>, hash: impl Fn(&T) -> u64) {
    let bits = (rows.len() as u64 / ROWS_A_BUCKET).max(1).ilog2();
    if bits < 4 {
        rows.sort_unstable();
        return;
    }
    let bucket = |row: &T| (hash(row) >> (u64::BITS - bits)) as usize;
    let mut ends = vec![0u32; 1 << bits];
    for row in rows.iter() {
        ends[bucket(row)] += 1;
    }
    let mut sum = 0;
    for end in &mut ends {
        (*end, sum) = (sum, sum + *end);
    }
    let mut sorted = rows.clone();
    for row in rows.iter() {
        let end = &mut ends[bucket(row)];
        sorted[*end as usize] = *row;
        *end += 1;
    }
    let mut start = 0;
    for end in ends {
        sorted[start..end as usize].sort_unstable();
        start = end as usize;
    }
    *rows = sorted;
}

/// Rows in one bucket: few enough for sorting by insertion.
const ROWS_A_BUCKET: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine::acts::forms::forms;
    use crate::mine::seen::table::tests::{table_of, twins};

    #[test]
    fn values_with_one_hash_have_two_numbers() {
        let [one, other] = twins("");
        let mut values = Values::new(&[7], &[b"0"]);
        let first = values.of(one.as_bytes());
        let second = values.of(other.as_bytes());
        assert_eq!(first, hash(one.as_bytes()));
        assert_ne!(first, second);
        assert_eq!((values.of(one.as_bytes()), values.of(other.as_bytes())), (first, second));
        let mut again = Values::new(&[hash(one.as_bytes())], &[b"0"]);
        assert_ne!(again.of(one.as_bytes()), first, "that one stands for something else");
        assert_eq!(again.of(b"0"), hash(b"0"));
    }

    #[test]
    fn paths_with_one_draw_are_no_group() {
        let rows = twins("/a/path/").map(|path| (format!("http://a.test{path}?id=1"), path));
        let forms = forms(&table_of(&rows), &[0, 0], &[]);
        assert_eq!(forms.keys[0].draw, forms.keys[1].draw);
        assert_eq!(forms.groups().count(), 0);
    }

    #[test]
    fn groups_with_one_draw_are_in_the_order_of_their_urls() {
        let row = |draw, check, url| Keyed { draw, check, url };
        let groups = |a, b| {
            let mut rows = vec![row(5, a, 1), row(5, b, 2), row(5, a, 3), row(9, a, 0)];
            rows.sort_unstable();
            let groups = super::groups(&rows, |row| row.draw, |row| (row.check, row.url));
            groups.map(|group| group.iter().map(|row| row.url).collect()).collect()
        };
        let expected: Vec<Vec<u32>> = vec![vec![1, 3], vec![2], vec![0]];
        assert_eq!((groups(7, 8), groups(8, 7)), (expected.clone(), expected));
    }
}
