//! The sites of a list: host, scheme, port, language, kind of pages.

use super::random::{Random, scramble};
use super::vocabulary::{
    ARABIC, CYRILLIC, HOST_WORDS, IDN_DOMAINS, JAPANESE, LATIN, NETWORKS, PORTS, SUBDOMAINS,
    SUFFIXES, Words,
};
use crate::bytes::decimal::push_number;

/// Bits of a site's rank. Ranks are 1 to `2^18 - 1`: three syllables of 64 tell that many apart.
pub(super) const RANK_BITS: u32 = 18;

/// Which sequence of a seed sites draw from; see [`Random::derived`].
const SEQUENCE: u64 = 1;

/// One site. Filled again and again, so that its buffers are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Site {
    /// Does the first spelling of its pages start with `https`?
    pub(super) https: bool,
    /// Does the first spelling of its pages have the label `www`? It is not part of `host`.
    pub(super) www: bool,
    /// Is `host` a registrable domain, so that `www` may be put before it?
    pub(super) bare: bool,
    /// The port if it is not the one of the scheme.
    pub(super) port: Option<u16>,
    /// The address if the host is one (IPv4).
    pub(super) address: Option<[u8; 4]>,
    /// The host as the first spelling has it: a name in lower case, Unicode, punycode, or an
    /// address.
    pub(super) host: Vec<u8>,
    /// The host the other way, Unicode or punycode; empty if it is ASCII.
    pub(super) host_other: Vec<u8>,
    /// What the site is about, which shapes its paths.
    pub(super) kind: Kind,
    /// Which of the four path shapes of its kind the site has.
    pub(super) shape: usize,
    /// The words of its language; `None` is English.
    pub(super) words: Option<&'static Words>,
    /// Does it escape bytes outside ASCII?
    pub(super) escaped: bool,
    /// Are its tokens decimal, as ids of a database?
    pub(super) decimal: bool,
}

/// What a site is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Articles with dates.
    #[default]
    News,
    /// Products.
    Shop,
    /// Threads.
    Forum,
    /// Entries with titles.
    Wiki,
    /// Index pages: paths that end in a slash.
    Portal,
    /// Scripts driven by the query.
    Script,
    /// Documents, images, downloads.
    Files,
}

/// Kinds of sites; a frequent one has several rows.
const KINDS: [Kind; 16] = [
    Kind::News,
    Kind::News,
    Kind::News,
    Kind::News,
    Kind::News,
    Kind::Shop,
    Kind::Shop,
    Kind::Shop,
    Kind::Forum,
    Kind::Forum,
    Kind::Wiki,
    Kind::Wiki,
    Kind::Portal,
    Kind::Script,
    Kind::Script,
    Kind::Files,
];

impl Site {
    /// A rank after a staircase of Zipf's law with exponent 1.
    ///
    /// Every range from a power of two to the next is equally likely, and every rank within it. So
    /// rank 1 gets one page of 18. A smooth curve would need a logarithm, see `random.rs`.
    #[inline]
    pub(super) fn popular_rank(random: &mut Random) -> u64 {
        let octave = 1u64 << random.below(u64::from(RANK_BITS));
        octave + random.below(octave)
    }

    /// Becomes the site of `rank`, which is below `2^RANK_BITS`: always the same one for a seed.
    ///
    /// No two ranks share a host, except the few with an address.
    pub(super) fn fill(&mut self, seed: u64, rank: u64) {
        let random = &mut Random::derived(seed, SEQUENCE, rank);
        self.https = random.percent(75);
        self.www = false;
        self.bare = false;
        self.port = None;
        self.address = None;
        self.kind = random.pick(&KINDS);
        self.shape = random.position(4);
        self.words = match random.below(100) {
            0..5 => Some(&ARABIC),
            5..10 => Some(&CYRILLIC),
            10..14 => Some(&JAPANESE),
            14..20 => Some(&LATIN),
            _ => None,
        };
        self.escaped = random.percent(50);
        self.decimal = random.percent(50);
        self.host.clear();
        self.host_other.clear();
        let name = scramble(rank, RANK_BITS, seed);
        match random.below(100) {
            0 => self.fill_address(random),
            1..4 => self.fill_idn(name, random),
            4..29 => {
                self.host.extend_from_slice(random.pick(&SUBDOMAINS).as_bytes());
                self.host.push(b'.');
                self.fill_domain(name, random);
            }
            _ => {
                self.fill_domain(name, random);
                self.bare = true;
                self.www = random.percent(40);
            }
        }
        if random.percent(2) {
            let port = random.pick(&PORTS);
            self.port = Some(port);
            self.https = port == 8443;
        }
    }

    fn fill_address(&mut self, random: &mut Random) {
        let [first, second, third] = random.pick(&NETWORKS);
        let address = [first, second, third, random.below(256) as u8];
        for (place, octet) in address.into_iter().enumerate() {
            if place > 0 {
                self.host.push(b'.');
            }
            push_number(&mut self.host, u64::from(octet));
        }
        self.address = Some(address);
    }

    fn fill_idn(&mut self, name: u64, random: &mut Random) {
        let (unicode, punycode) = random.pick(&IDN_DOMAINS);
        let (first, other) = if self.escaped { (punycode, unicode) } else { (unicode, punycode) };
        for (host, domain) in [(&mut self.host, first), (&mut self.host_other, other)] {
            push_syllables(host, name);
            host.push(b'.');
            host.extend_from_slice(domain.as_bytes());
        }
    }

    fn fill_domain(&mut self, name: u64, random: &mut Random) {
        push_syllables(&mut self.host, name);
        if random.percent(25) {
            self.host.push(b'-');
        }
        self.host.extend_from_slice(random.pick(&HOST_WORDS).as_bytes());
        self.host.push(b'.');
        self.host.extend_from_slice(random.pick(&SUFFIXES).as_bytes());
    }
}

/// Writes three syllables of two letters that spell the 18 bits of `name`: `badofi`.
pub(super) fn push_syllables(out: &mut Vec<u8>, name: u64) {
    const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
    const VOWELS: &[u8; 4] = b"aeio";
    for shift in [12, 6, 0] {
        let syllable = (name >> shift & 63) as usize;
        out.extend_from_slice(&[CONSONANTS[syllable >> 2], VOWELS[syllable & 3]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn hosts_are_unique() {
        let (mut site, mut seen, mut addresses) = (Site::default(), HashSet::new(), 0);
        for rank in 1..1 << RANK_BITS {
            site.fill(11, rank);
            if site.address.is_some() {
                addresses += 1;
                continue;
            }
            assert!(seen.insert(site.host.clone()), "{}", String::from_utf8_lossy(&site.host));
        }
        assert!((2_000..3_500).contains(&addresses), "{addresses}");
    }

    #[test]
    fn hosts_keep_their_promises() {
        let mut site = Site::default();
        for rank in 1..20_000 {
            site.fill(1, rank);
            let host = String::from_utf8(site.host.clone()).unwrap();
            assert!(site.bare || !site.www, "{host}");
            assert!(!host.starts_with("www.") && !host.contains(char::is_uppercase), "{host}");
            assert_eq!(site.host_other.is_empty(), host.is_ascii() && !host.contains("xn--"));
            assert!(site.address.is_none() || host.split('.').count() == 4, "{host}");
            assert!(!matches!(site.port, Some(80 | 443)), "{host}");
        }
    }

    #[test]
    fn ranks_follow_zipf() {
        let mut random = Random::new(5);
        let mut counts = [0; 4];
        for _ in 0..180_000 {
            let rank = Site::popular_rank(&mut random);
            assert!((1..1 << RANK_BITS).contains(&rank));
            if rank < 4 {
                counts[rank as usize] += 1;
            }
        }
        assert!((9_500..10_500).contains(&counts[1]), "{counts:?}");
        assert!((4_700..5_300).contains(&counts[2]), "{counts:?}");
    }

    #[test]
    fn numbers() {
        for number in [0, 9, 10, 1_234_567_890, u64::MAX] {
            let mut out = Vec::new();
            push_number(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }
}
