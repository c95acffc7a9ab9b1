//! HOT: once per parameter that may go (see `suspects.rs`). Names of parameters, with conditions.

use serde::Deserialize;

use super::outlines::{outline, outline_of, start, starts_of};
use super::{Listed, is_under};
use crate::bytes::bits::{few_bits, folded};
use crate::bytes::first_word;
use crate::canonical::digest_text::{optional, quoted, quoted_list};

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

/// What a byte is: bits, one of them for each shape that it goes with.
const DIGIT: u8 = 1;
const HEX: u8 = 1 << 1;
const ALNUM: u8 = 1 << 2;
const TOKEN: u8 = 1 << 3;
const LETTER: u8 = 1 << 4;

/// The bits of each byte value.
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0u8;
    loop {
        let mut bits = 0;
        if byte.is_ascii_digit() {
            bits |= DIGIT;
        }
        if byte.is_ascii_hexdigit() {
            bits |= HEX;
        }
        if byte.is_ascii_alphabetic() {
            bits |= LETTER;
        }
        if byte.is_ascii_alphanumeric() {
            bits |= ALNUM | TOKEN;
        }
        if matches!(byte, b'_' | b'.' | b'-' | b'!') {
            bits |= TOKEN;
        }
        kinds[byte as usize] = bits;
        if byte == u8::MAX {
            break kinds;
        }
        byte += 1;
    }
};

impl Shape {
    fn kind(self) -> u8 {
        match self {
            Shape::Digits => DIGIT,
            Shape::Hex => HEX,
            Shape::Alnum => ALNUM,
            Shape::Token => TOKEN,
        }
    }

    /// As digests know it.
    fn describe(self) -> String {
        let name = match self {
            Shape::Digits => "Digits",
            Shape::Hex => "Hex",
            Shape::Alnum => "Alnum",
            Shape::Token => "Token",
        };
        name.to_string()
    }
}

/// Conditions on a parameter: a generic name counts only if one of them holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Condition {
    /// The hosts, with their subdomains, on which the parameter counts; none stand for all hosts.
    pub(super) hosts: Hosts,
    pub(super) shape: Option<Shape>,
    /// Least and greatest length of the value in bytes.
    pub(super) length: Option<(usize, usize)>,
    pub(super) prefix: Option<String>,
    /// The value must hold a letter and a digit.
    pub(super) mixed: bool,
}

impl Condition {
    /// The least length of a value for which it may hold.
    pub(super) fn length_min(&self) -> usize {
        self.length.map_or(0, |(least, _)| least)
    }

    /// As digests know it.
    fn describe(&self) -> String {
        let length = self.length.map(|(least, most)| format!("({least}, {most})"));
        format!(
            "Condition {{ hosts: {}, shape: {}, length: {}, prefix: {}, mixed: {} }}",
            quoted_list(self.hosts.names()),
            optional(self.shape.map(Shape::describe)),
            optional(length),
            optional(self.prefix.as_deref().map(quoted)),
            self.mixed
        )
    }

    #[inline(always)]
    fn holds(&self, host: &[u8], value: &[u8]) -> bool {
        // What costs least comes first.
        self.length.is_none_or(|(least, most)| (least..=most).contains(&value.len()))
            && self.hosts.hold(host)
            && self.prefix.as_ref().is_none_or(|prefix| value.starts_with(prefix.as_bytes()))
            && (self.shape.is_none() && !self.mixed || self.fits(value))
    }

    /// Are the bytes of the value what they must be? One look at all of them: where it could end
    /// early cannot be predicted.
    #[inline(never)]
    fn fits(&self, value: &[u8]) -> bool {
        let (mut all, mut any) = (u8::MAX, 0);
        for byte in value {
            let kind = KINDS[usize::from(*byte)];
            all &= kind;
            any |= kind;
        }
        let is_mixed = any & (DIGIT | LETTER) == DIGIT | LETTER;
        self.shape.is_none_or(|shape| all & shape.kind() != 0) & (is_mixed | !self.mixed)
    }
}

/// Some hosts and their subdomains, or all there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hosts {
    names: Vec<String>,
    /// The shortest length of a name, and a bit for what each ends in (see [`Hosts::end_of`]).
    length_min: usize,
    ends: u64,
}

impl Hosts {
    /// Makes a set of these hosts, or of all hosts if there are none.
    pub(super) fn new(names: Vec<String>) -> Hosts {
        let length_min = names.iter().map(String::len).min().unwrap_or(0);
        let end_of = |name: &String| 1 << Self::end_of(name.as_bytes(), length_min);
        let ends = names.iter().map(end_of).fold(0, |all, bit| all | bit);
        Hosts { names, length_min, ends }
    }

    /// The end of a host, of up to eight bytes, in six bits without regard to ASCII case. The host
    /// is no shorter than `length`.
    #[inline]
    fn end_of(host: &[u8], length: usize) -> usize {
        let start = host.len() - length.min(8);
        few_bits::<6>(folded(first_word(host, start, host.len())))
    }

    /// Returns the names of the hosts; none stand for all hosts.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns whether `host` is one of these hosts or below one.
    #[inline(always)]
    pub(super) fn hold(&self, host: &[u8]) -> bool {
        // Bet: it ends like none of them.
        self.names.is_empty()
            || host.len() >= self.length_min
                && self.ends >> Self::end_of(host, self.length_min) & 1 == 1
                && self.include(host)
    }

    /// Returns whether `host` is one of these hosts or below one, by a look at every name.
    #[inline(never)]
    fn include(&self, host: &[u8]) -> bool {
        self.names.iter().any(|name| is_under(host, name.as_bytes()))
    }
}

/// Names to conditions, looked up without regard to ASCII case; a name may end in `*`.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// By their [`outline`].
    exact: Buckets,
    /// Prefixes, by their [`start`].
    prefixes: Buckets,
    /// For the digest: the entries in the order they were added.
    text: String,
}

/// A name in lower case, or a prefix of names, with its conditions.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// Its [`first_word`], and the bits of it that are not beyond its end.
    word: u64,
    there: u64,
    text: Box<[u8]>,
    /// Does one of the conditions ask for nothing?
    always: bool,
    pub(super) conditions: Vec<Condition>,
}

impl Name {
    fn new(text: &[u8]) -> Name {
        let there = !u64::MAX.checked_shr(8 * text.len() as u32).unwrap_or(0);
        let word = first_word(text, 0, text.len());
        Name { word, there, text: text.into(), always: false, conditions: Vec::new() }
    }

    /// Does `name` start with it, but for case? `word` is its [`first_word`].
    #[inline(always)]
    fn starts(&self, word: u64, name: &[u8]) -> bool {
        // Bet: the name is in lower case.
        let same_word = word & self.there == self.word;
        match (self.text.get(8..), name.get(8..self.text.len())) {
            (None | Some([]), _) if same_word => true,
            (Some(tail), Some(rest)) if same_word && tail == rest => true,
            _ => name.get(..self.text.len()).is_some_and(|s| s.eq_ignore_ascii_case(&self.text)),
        }
    }

    /// Does one of its conditions hold? None does for a value that [`has_semicolon`].
    #[inline(always)]
    fn holds(&self, host: &[u8], value: &[u8]) -> bool {
        if has_semicolon(value) {
            return false;
        }
        if self.always {
            return true;
        }
        // A loop in place: names that get here have few conditions, most of which fail at once.
        for condition in &self.conditions {
            if condition.holds(host, value) {
                return true;
            }
        }
        false
    }
}

/// Is a raw `;` in a name or a value? Some servers read what follows it as another parameter
/// (HTML 4.01 B.2.2), which may matter.
#[inline(always)]
pub(super) fn has_semicolon(text: &[u8]) -> bool {
    memchr::memchr(b';', text).is_some()
}

/// Names by a number, which few of them share.
#[derive(Clone, Debug, Default)]
struct Buckets {
    /// For each number, the place of its names, plus one; 0 where there are none.
    places: Vec<u16>,
    names: Vec<Vec<Name>>,
}

impl Buckets {
    fn add(&mut self, number: usize, name: &[u8], conditions: &[Condition]) {
        if self.places.len() <= number {
            self.places.resize(number + 1, 0);
        }
        if self.places[number] == 0 {
            self.names.push(Vec::new());
            // There are no more places than outlines.
            self.places[number] = self.names.len() as u16;
        }
        let names = &mut self.names[usize::from(self.places[number]) - 1];
        let at = names.iter().position(|known| *known.text == *name).unwrap_or_else(|| {
            names.push(Name::new(name));
            names.len() - 1
        });
        names[at].always |= conditions.contains(&Condition::default());
        names[at].conditions.extend_from_slice(conditions);
    }

    /// Adds all `others`.
    fn merge(&mut self, others: &Buckets) {
        others.all().for_each(|(number, name)| self.add(number, &name.text, &name.conditions));
    }

    /// All names and their numbers.
    fn all(&self) -> impl Iterator<Item = (usize, &Name)> {
        (0..self.places.len())
            .flat_map(|number| self.get(number).iter().map(move |name| (number, name)))
    }

    #[inline]
    fn get(&self, number: usize) -> &[Name] {
        let place = self.places.get(number).copied().unwrap_or(0);
        place.checked_sub(1).map_or(&[], |place| &self.names[usize::from(place)])
    }
}

impl Table {
    /// Adds a name; it may end in `*`.
    pub(super) fn add(&mut self, name: &str, condition: Condition) {
        self.add_listed(&Listed::read(name), condition);
    }

    /// Adds a name, or all names with this start.
    pub(super) fn add_listed(&mut self, listed: &Listed, condition: Condition) {
        self.text.push_str(&format!("{} {};", listed.describe(), condition.describe()));
        let conditions = std::slice::from_ref(&condition);
        match listed {
            Listed::Start(start) => {
                let stem = start.to_ascii_lowercase();
                let stem = stem.as_bytes();
                starts_of(stem).for_each(|start| self.prefixes.add(start, stem, conditions));
            }
            Listed::Name(name) => {
                let name = name.to_ascii_lowercase();
                let numbers = outline_of(name.as_bytes());
                numbers.iter().for_each(|at| self.exact.add(*at, name.as_bytes(), conditions));
            }
        }
    }

    /// Adds all entries of another table.
    pub(super) fn merge(&mut self, other: &Table) {
        let Table { exact, prefixes, text } = other;
        self.exact.merge(exact);
        self.prefixes.merge(prefixes);
        self.text.push_str(text);
    }

    /// All names that are no prefixes, and their outlines.
    pub(super) fn exact(&self) -> impl Iterator<Item = (usize, &Name)> {
        self.exact.all()
    }

    /// All prefixes of names, and their starts; one may have several.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = (usize, &Name)> {
        self.prefixes.all()
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Does an entry for `name` hold for `value` on `host`? `word` is the
    /// [`first_word`] of the name.
    #[inline(always)]
    pub(super) fn matches(&self, word: u64, host: &[u8], name: &[u8], value: &[u8]) -> bool {
        let Some(last) = name.last() else { return false };
        for known in self.exact.get(outline(word, *last, name.len())) {
            let is_it = known.text.len() == name.len() && known.starts(word, name);
            if is_it && known.holds(host, value) {
                return true;
            }
        }
        for known in self.prefixes.get(start(word)) {
            if known.starts(word, name) && !has_semicolon(name) && known.holds(host, value) {
                return true;
            }
        }
        false
    }
}
