//! HOT: names of parameters with conditions, looked up once per parameter.

use serde::Deserialize;

use super::is_under;

/// What the characters of a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Shape {
    /// `0` to `9`.
    Digits,
    /// Hexadecimal digits of either case.
    Hex,
    /// ASCII letters and digits.
    Alnum,
    /// ASCII letters, digits, and `_ . - !`.
    Token,
}

impl Shape {
    fn holds(self, byte: u8) -> bool {
        match self {
            Shape::Digits => byte.is_ascii_digit(),
            Shape::Hex => byte.is_ascii_hexdigit(),
            Shape::Alnum => byte.is_ascii_alphanumeric(),
            Shape::Token => byte.is_ascii_alphanumeric() || b"_.-!".contains(&byte),
        }
    }
}

/// Conditions on a parameter: a generic name counts only where one of them says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Condition {
    /// These hosts and their subdomains; empty: all hosts.
    pub(super) hosts: Vec<String>,
    pub(super) shape: Option<Shape>,
    /// Least and greatest length of the value in bytes.
    pub(super) length: Option<(usize, usize)>,
    pub(super) prefix: Option<String>,
    /// The value must hold a letter and a digit.
    pub(super) mixed: bool,
}

impl Condition {
    fn holds(&self, host: &[u8], value: &[u8]) -> bool {
        (self.hosts.is_empty() || self.hosts.iter().any(|name| is_under(host, name.as_bytes())))
            && self.shape.is_none_or(|shape| value.iter().all(|byte| shape.holds(*byte)))
            && self.length.is_none_or(|(least, most)| (least..=most).contains(&value.len()))
            && self.prefix.as_ref().is_none_or(|prefix| value.starts_with(prefix.as_bytes()))
            && (!self.mixed
                || (value.iter().any(u8::is_ascii_digit)
                    && value.iter().any(u8::is_ascii_alphabetic)))
    }
}

/// Names to conditions, looked up without regard to ASCII case; a name may end in `*`.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// By outline (see [`Outlines::of`]).
    exact: Buckets,
    /// Prefixes, by how they start (see [`Outlines::start_of`]).
    prefixes: Buckets,
    outlines: Outlines,
    /// For the digest: the entries in the order they were added.
    text: String,
}

/// Names in lower case with their conditions.
type Names = Vec<(Box<[u8]>, Vec<Condition>)>;

/// Names by a number that tells most of them apart.
#[derive(Clone, Debug, Default)]
struct Buckets {
    /// For each number, the place of its names, plus one; 0 where there are none.
    places: Vec<u16>,
    names: Vec<Names>,
}

impl Buckets {
    fn add(&mut self, number: usize, name: &[u8], condition: Condition) {
        if self.places.len() <= number {
            self.places.resize(number + 1, 0);
        }
        if self.places[number] == 0 {
            self.names.push(Names::new());
            // There are no more places than outlines.
            self.places[number] = self.names.len() as u16;
        }
        let names = &mut self.names[usize::from(self.places[number]) - 1];
        match names.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, conditions)) => conditions.push(condition),
            None => names.push((name.into(), vec![condition])),
        }
    }

    #[inline]
    fn get(&self, number: usize) -> &[(Box<[u8]>, Vec<Condition>)] {
        let place = self.places.get(number).copied().unwrap_or(0);
        place.checked_sub(1).map_or(&[], |place| &self.names[usize::from(place)])
    }
}

/// What the names of a table look like from afar. Most names of a list of URLs are told apart from
/// them here, before anything is hashed or compared.
#[derive(Clone, Debug)]
pub(in crate::canonical) struct Outlines {
    /// A bit for every outline (see [`Outlines::of`]) that an exact name has.
    exact: Box<[u64; 64]>,
    /// A bit for every two letters that a prefix starts with (see [`Outlines::start_of`]).
    starts: Box<[u64; 16]>,
}

impl Default for Outlines {
    fn default() -> Self {
        Outlines { exact: Box::new([0; 64]), starts: Box::new([0; 16]) }
    }
}

impl Outlines {
    /// Length, first and last byte of a name in twelve bits, without regard to ASCII case.
    #[inline]
    fn of(name: &[u8], first: u8) -> usize {
        let last = name[name.len() - 1] | 0x20;
        (usize::from(first | 0x20) * 61 + usize::from(last) * 1021 + name.len() * 127) % 4096
    }

    /// The first two bytes of a name in ten bits, without regard to ASCII case.
    #[inline]
    fn start_of(first: u8, second: u8) -> usize {
        usize::from(first & 31) << 5 | usize::from(second & 31)
    }

    /// Both numbers of a name; `None` for the empty one.
    #[inline]
    fn of_name(name: &[u8]) -> Option<(usize, usize)> {
        let first = *name.first()?;
        let second = name.get(1).copied().unwrap_or(0);
        Some((Self::of(name, first), Self::start_of(first, second)))
    }

    /// Adds a name. Returns its number.
    pub(in crate::canonical) fn add_exact(&mut self, name: &[u8]) -> usize {
        let bit = name.first().map_or(0, |first| Self::of(name, *first));
        self.exact[bit / 64] |= 1 << (bit % 64);
        bit
    }

    /// Adds all names that start with `prefix`. Returns the numbers of their starts.
    fn add_prefix(&mut self, prefix: &[u8]) -> Vec<usize> {
        let starts: Vec<usize> = match *prefix {
            [] => (0..1024).collect(),
            [first] => (0..32).map(|second| Self::start_of(first, second)).collect(),
            [first, second, ..] => vec![Self::start_of(first, second)],
        };
        for bit in &starts {
            self.starts[bit / 64] |= 1 << (bit % 64);
        }
        starts
    }

    pub(in crate::canonical) fn merge(&mut self, other: &Outlines) {
        self.exact.iter_mut().zip(&*other.exact).for_each(|(word, more)| *word |= more);
        self.starts.iter_mut().zip(&*other.starts).for_each(|(word, more)| *word |= more);
    }

    /// Could `name` be in the table? Never says no where it is.
    #[inline]
    pub(in crate::canonical) fn may_have(&self, name: &[u8]) -> bool {
        let Some((bit, start)) = Self::of_name(name) else { return false };
        (self.exact[bit / 64] >> (bit % 64) | self.starts[start / 64] >> (start % 64)) & 1 == 1
    }
}

impl Table {
    pub(super) fn add(&mut self, name: &str, condition: Condition) {
        self.text.push_str(&format!("{name} {condition:?};"));
        let lower = name.to_ascii_lowercase();
        match lower.strip_suffix('*').map(str::as_bytes) {
            Some(stem) => {
                for start in self.outlines.add_prefix(stem) {
                    self.prefixes.add(start, stem, condition.clone());
                }
            }
            None if lower.is_empty() => {}
            None => {
                let outline = self.outlines.add_exact(lower.as_bytes());
                self.exact.add(outline, lower.as_bytes(), condition);
            }
        }
    }

    pub(super) fn outlines(&self) -> &Outlines {
        &self.outlines
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Does an entry for `name` hold for `value` on `host`?
    #[inline]
    pub(super) fn matches(&self, host: &[u8], name: &[u8], value: &[u8]) -> bool {
        let Some((outline, start)) = Outlines::of_name(name) else { return false };
        let holds = |conditions: &[Condition]| conditions.iter().any(|one| one.holds(host, value));
        self.exact
            .get(outline)
            .iter()
            .any(|(known, conditions)| name.eq_ignore_ascii_case(known) && holds(conditions))
            || self.prefixes.get(start).iter().any(|(prefix, conditions)| {
                name.get(..prefix.len()).is_some_and(|stem| stem.eq_ignore_ascii_case(prefix))
                    && holds(conditions)
            })
    }
}
