//! HOT: once per host. Names that may be public suffixes, recognized by two bits.
//!
//! `www` goes where a registrable domain remains, and one remains unless the rest is itself a
//! public suffix. The list of these is asked in some tens of nanoseconds, most of them for bets
//! lost in its branches; so it is asked only about names whose bits are set in
//! `data/public_suffixes.bits`: a Bloom filter (Bloom, CACM 13(7), 1970) in blocks of a word, of
//! all rules of the list.

use crate::bytes::bits::folded;

/// The filter: [`WORDS`] words of 64 bits, little-endian.
static FILTER: &[u8; 8 * WORDS] = include_bytes!("../../../data/public_suffixes.bits");

/// Reason: 32 kilobytes stay in the caches, and with the two bits of each of ten thousand names one
/// other name in a hundred is asked about for nothing.
const WORDS: usize = 4096;

/// Could what follows the first label of `host` be a public suffix, after the list that undust is
/// built with? Never says no where it is.
///
/// `dots` has a bit for each dot of `host`, of which none is at an end or beside another. The first
/// label is `www`; letters may be in either case.
#[inline(always)]
pub(super) fn may_be_suffix(host: &[u8], dots: u64) -> bool {
    let dots = dots >> LABEL;
    let (Some(last), Some(first)) = (host.last_chunk(), host.first_chunk()) else { return true };
    let (last, first) = (u64::from_le_bytes(*last), u64::from_le_bytes(*first));
    let length = host.len() - LABEL;
    // One label alone: the list's work.
    if dots == 0 {
        return true;
    }
    let parent = length - 1 - dots.trailing_zeros() as usize;
    let name = Bits::of_name(last, (first >> (8 * LABEL)) as u32, length);
    name.are_set() | Bits::below(last, parent).are_set()
}

/// The length of `www.`.
const LABEL: usize = 4;

/// A word of the filter, and bits in it.
#[derive(Clone, Copy)]
struct Bits {
    word: usize,
    bits: u64,
}

impl Bits {
    /// For a name of `length` bytes, four at least: what `last` ends with; its `first` ones.
    #[inline(always)]
    fn of_name(last: u64, first: u32, length: usize) -> Bits {
        Bits::of(ending(last, length) ^ u64::from(first | 0x2020_2020) << 29, length)
    }

    /// For all names of one label more than the one of `length` bytes that `last` ends with.
    #[inline(always)]
    fn below(last: u64, length: usize) -> Bits {
        Bits::of(!ending(last, length), length)
    }

    #[inline(always)]
    fn of(text: u64, length: usize) -> Bits {
        // The golden ratio; the upper bits are mixed best.
        let mixed = (text ^ text >> 32 ^ length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = 1 << (mixed >> 46 & 63) | 1 << (mixed >> 40 & 63);
        Bits { word: (mixed >> 52) as usize, bits }
    }

    #[inline(always)]
    fn are_set(self) -> bool {
        let (words, _) = FILTER.as_chunks();
        u64::from_le_bytes(words[self.word]) & self.bits == self.bits
    }
}

/// The last bytes of `last`, eight or `length` of them, without regard to ASCII case.
#[inline(always)]
fn ending(last: u64, length: usize) -> u64 {
    let others = 8usize.saturating_sub(length);
    folded(last) >> (8 * others as u32)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::canonical::host::canonical_host;
    use crate::canonical::rules::www::has_registrable_domain;

    /// What is said of `name` in `www.name`.
    fn may_be(name: &str) -> bool {
        let host = format!("www.{name}");
        let dots = host.match_indices('.').map(|(at, _)| at).filter(|at| *at < 64);
        may_be_suffix(host.as_bytes(), dots.fold(0, |dots, at| dots | 1 << at))
    }

    /// The rules of the list that this is built with, in ASCII.
    fn rules() -> Vec<String> {
        let asked = Command::new(env!("CARGO"))
            .args(["metadata", "--locked", "--format-version=1", "--filter-platform"])
            .arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
        let known: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
        let list = known["packages"].as_array().unwrap().iter().find(|it| it["name"] == "psl");
        let manifest = list.unwrap()["manifest_path"].as_str().unwrap();
        let file = Path::new(manifest).with_file_name("data").join("rules.txt");
        let rules = std::fs::read_to_string(file).unwrap();
        let in_ascii = |label: &str| match label {
            "*" => label.to_owned(),
            label => String::from_utf8(canonical_host(label.as_bytes()).unwrap()).unwrap(),
        };
        let spelled = |rule: &str| rule.split('.').map(in_ascii).collect::<Vec<_>>().join(".");
        rules.lines().map(|rule| spelled(rule.trim_start_matches('!'))).collect()
    }

    fn filter_of(rules: &[String]) -> Vec<u8> {
        let mut words = [0u64; WORDS];
        let mut add = |it: Bits| words[it.word] |= it.bits;
        for rule in rules {
            let name = rule.strip_prefix("*.").unwrap_or(rule);
            assert!(!name.contains('*'), "a wildcard that is not the first label: {rule}");
            // Before short ones, as in a host, stand other bytes.
            let padded = format!("www.....{name}");
            let last = u64::from_le_bytes(*padded.as_bytes().last_chunk().unwrap());
            if name.len() < rule.len() {
                add(Bits::below(last, name.len()));
            }
            if let Some(first) = name.as_bytes().first_chunk() {
                add(Bits::of_name(last, u32::from_le_bytes(*first), name.len()));
            }
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn the_filter_is_that_of_the_list() {
        let rules = rules();
        assert!(rules.len() > 10_000, "{}", rules.len());
        let filter = filter_of(&rules);
        if filter != *FILTER {
            let made = std::env::temp_dir().join("public_suffixes.bits");
            std::fs::write(&made, filter).unwrap();
            panic!("the list has changed: copy {} into data/", crate::bytes::show_path(&made));
        }
    }

    #[test]
    fn every_suffix_is_asked_about() {
        for rule in rules() {
            let name = rule.replace('*', "Label-7");
            for name in [name.to_ascii_uppercase(), format!("one.{name}"), name] {
                assert!(may_be(&name) || has_registrable_domain(name.as_bytes()), "{name}");
            }
        }
    }

    #[test]
    fn few_others_are_asked_about() {
        let others = (0..10_000).filter(|at| may_be(&format!("name-{}.example.com", at * 7919)));
        assert!(others.count() < 300);
        assert!(!may_be("example.com") && !may_be("example.co.uk"));
        assert!(may_be("co.uk") && may_be("com") && may_be("any.ck"));
    }
}
