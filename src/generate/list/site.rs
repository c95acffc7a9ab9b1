//! The sites of a list: host, scheme, port, language, kind of pages.

use crate::generate::random::{Random, scramble};
use crate::generate::short::Short;
use crate::generate::vocabulary::{
    ARABIC, CYRILLIC, HOST_WORDS, IDN_DOMAINS, JAPANESE, LATIN, NETWORKS, PORTS, SUBDOMAINS,
    SUFFIXES, Words, syllables,
};

/// Bits of a site's rank. Ranks are 1 to `2^18 - 1`: three syllables of 64 give that many names.
pub(super) const RANK_BITS: u32 = 18;

/// Which sequence of a seed sites draw from; see [`Random::derived`].
const SEQUENCE: u64 = 1;

/// One site.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Site {
    /// What the first spelling of its pages starts with: scheme, host, and port.
    pub(super) origin: Short<64>,
    /// Where in `origin` the host is, without `www.`.
    host: (u8, u8),
    /// Does the first spelling of its pages start with `https`?
    pub(super) https: bool,
    /// Does the first spelling of its pages have the label `www`? It is not part of the host.
    pub(super) www: bool,
    /// Is the host a registrable domain, so that `www` may be put before it?
    pub(super) bare: bool,
    /// The port if it is not the one of the scheme.
    pub(super) port: Option<u16>,
    /// The address if the host is one (IPv4).
    pub(super) address: Option<[u8; 4]>,
    /// The host the other way, Unicode or punycode; empty if it is ASCII.
    pub(super) host_other: Short<48>,
    /// What the site is about, which shapes its paths.
    pub(super) kind: SiteKind,
    /// Which of the four path shapes of its kind the site has.
    pub(super) shape: usize,
    /// The words of its language, as it spells them; `None` is English.
    pub(super) words: Option<&'static Spelled>,
    /// Are its tokens decimal, as ids of a database?
    pub(super) decimal: bool,
}

/// Words of a language as they are spelled in URLs.
type Spelled = [Short<48>; 16];

/// The words of a language as they are, and with all bytes outside ASCII escaped.
struct Language([Spelled; 2]);

impl Language {
    const fn new(words: &Words) -> Language {
        Language([Short::all(words), Short::all_escaped(words)])
    }
}

static LANGUAGES: [Language; 4] = [
    Language::new(&ARABIC),
    Language::new(&CYRILLIC),
    Language::new(&JAPANESE),
    Language::new(&LATIN),
];

/// What a site is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SiteKind {
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
const KINDS: [SiteKind; 16] = [
    SiteKind::News,
    SiteKind::News,
    SiteKind::News,
    SiteKind::News,
    SiteKind::News,
    SiteKind::Shop,
    SiteKind::Shop,
    SiteKind::Shop,
    SiteKind::Forum,
    SiteKind::Forum,
    SiteKind::Wiki,
    SiteKind::Wiki,
    SiteKind::Portal,
    SiteKind::Script,
    SiteKind::Script,
    SiteKind::Files,
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

    /// The site of `rank`, which is below `2^RANK_BITS`: always the same one for a seed.
    ///
    /// No two ranks share a host, except the few with an address.
    pub(super) fn new(seed: u64, rank: u64) -> Site {
        let random = &mut Random::derived(seed, SEQUENCE, rank);
        let mut site = Site { https: random.percent(75), ..Site::default() };
        site.kind = random.pick(&KINDS);
        site.shape = random.position(4);
        let language = match random.below(100) {
            0..5 => Some(0),
            5..10 => Some(1),
            10..14 => Some(2),
            14..20 => Some(3),
            _ => None,
        };
        let escaped = random.percent(50);
        site.words = language.map(|language| &LANGUAGES[language].0[usize::from(escaped)]);
        site.decimal = random.percent(50);
        let name = scramble(rank, RANK_BITS, seed);
        let mut host = Short::default();
        match random.below(100) {
            0 => {
                let address = draw_address(random);
                site.address = Some(address);
                host = dotted(address);
            }
            1..4 => {
                let (unicode, punycode) = random.pick(&IDN_DOMAINS);
                (host, site.host_other) = (under(name, unicode), under(name, punycode));
                if escaped {
                    std::mem::swap(&mut host, &mut site.host_other);
                }
            }
            4..29 => {
                host.push(&SUBDOMAINS_SHORT[random.position(SUBDOMAINS.len())]);
                host.put(b'.');
                push_domain(&mut host, name, random);
            }
            _ => {
                push_domain(&mut host, name, random);
                site.bare = true;
                site.www = random.percent(40);
            }
        }
        if random.percent(2) {
            let port = random.pick(&PORTS);
            site.port = Some(port);
            site.https = port == 8443;
        }
        site.fill_origin(&host);
        site
    }

    /// A site of this host, English and of news.
    #[cfg(test)]
    pub(super) fn of_host(host: &str) -> Site {
        let mut site = Site::default();
        site.fill_origin(&Short::new(host));
        site
    }

    fn fill_origin(&mut self, host: &Short<48>) {
        const SCHEMES: [Short<8>; 2] = [Short::new("http://"), Short::new("https://")];
        const WWW: Short<4> = Short::new("www.");
        let origin = &mut self.origin;
        origin.push(&SCHEMES[usize::from(self.https)]);
        if self.www {
            origin.push(&WWW);
        }
        let start = origin.len();
        origin.push(host);
        self.host = (start as u8, origin.len() as u8);
        if let Some(port) = self.port {
            origin.put(b':');
            port.to_string().bytes().for_each(|digit| origin.put(digit));
        }
    }

    /// The host as the first spelling has it: a name in lower case, Unicode, punycode, or an
    /// address.
    pub(super) fn host(&self) -> &[u8] {
        let (start, end) = self.host;
        &self.origin.as_bytes()[usize::from(start)..usize::from(end)]
    }
}

/// The most popular sites of a seed, which are made once.
#[derive(Debug)]
pub(super) struct Sites {
    seed: u64,
    /// By rank. The first has no pages.
    popular: Vec<Site>,
}

/// Ranks below this are made once. Reason: two thirds of all pages are theirs, and they are half a
/// megabyte.
const POPULAR: u64 = 1 << 12;

impl Sites {
    pub(super) fn new(seed: u64) -> Sites {
        Sites { seed, popular: (0..POPULAR).map(|rank| Site::new(seed, rank)).collect() }
    }

    /// The site of `rank`; one that is not popular is put into `rare`.
    #[inline]
    pub(super) fn site<'a>(&'a self, rank: u64, rare: &'a mut Site) -> &'a Site {
        if let Some(site) = self.popular(rank) {
            return site;
        }
        *rare = Site::new(self.seed, rank);
        rare
    }

    /// The site of `rank`, if it is popular.
    #[inline]
    pub(super) fn popular(&self, rank: u64) -> Option<&Site> {
        self.popular.get(rank as usize)
    }
}

static SUBDOMAINS_SHORT: [Short<16>; SUBDOMAINS.len()] = Short::all(&SUBDOMAINS);
static HOST_WORDS_SHORT: [Short<8>; HOST_WORDS.len()] = Short::all(&HOST_WORDS);
static SUFFIXES_SHORT: [Short<8>; SUFFIXES.len()] = Short::all(&SUFFIXES);

fn draw_address(random: &mut Random) -> [u8; 4] {
    let [first, second, third] = random.pick(&NETWORKS);
    [first, second, third, random.below(256) as u8]
}

fn dotted(address: [u8; 4]) -> Short<48> {
    Short::new(&std::net::Ipv4Addr::from(address).to_string())
}

/// The host of the site `name` below `domain`.
fn under(name: u64, domain: &str) -> Short<48> {
    let mut host = Short::default();
    host.push(&syllables(name));
    host.put(b'.');
    domain.bytes().for_each(|byte| host.put(byte));
    host
}

fn push_domain(host: &mut Short<48>, name: u64, random: &mut Random) {
    host.push(&syllables(name));
    if random.percent(25) {
        host.put(b'-');
    }
    host.push(&HOST_WORDS_SHORT[random.position(HOST_WORDS.len())]);
    host.put(b'.');
    host.push(&SUFFIXES_SHORT[random.position(SUFFIXES.len())]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn hosts_are_unique() {
        let (mut seen, mut addresses) = (HashSet::new(), 0);
        for rank in 1..1 << RANK_BITS {
            let site = Site::new(11, rank);
            if site.address.is_some() {
                addresses += 1;
                continue;
            }
            let host = String::from_utf8(site.host().to_vec()).unwrap();
            assert!(seen.insert(host.clone()), "{host}");
        }
        assert!((2_000..3_500).contains(&addresses), "{addresses}");
    }

    #[test]
    fn hosts_keep_their_promises() {
        for rank in 1..20_000 {
            let site = Site::new(1, rank);
            let host = String::from_utf8(site.host().to_vec()).unwrap();
            assert!(site.bare || !site.www, "{host}");
            assert!(!host.starts_with("www.") && !host.contains(char::is_uppercase), "{host}");
            let is_plain = host.is_ascii() && !host.contains("xn--");
            assert_eq!(site.host_other.len() == 0, is_plain);
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
    fn origins_are_scheme_host_and_port() {
        let (mut www, mut ports) = (0, 0);
        for rank in 1..20_000 {
            let site = Site::new(3, rank);
            let host = std::str::from_utf8(site.host()).unwrap();
            let scheme = if site.https { "https" } else { "http" };
            let port = site.port.map_or(String::new(), |port| format!(":{port}"));
            let expected = format!("{scheme}://{}{host}{port}", if site.www { "www." } else { "" });
            assert_eq!(std::str::from_utf8(site.origin.as_bytes()).unwrap(), expected);
            www += u32::from(site.www);
            ports += u32::from(site.port.is_some());
        }
        assert!(www > 1_000 && ports > 100, "{www} {ports}");
    }

    #[test]
    fn sites_are_the_same_however_they_are_made() {
        let sites = Sites::new(7);
        for rank in [1, 2, POPULAR - 1, POPULAR, POPULAR + 1, (1 << RANK_BITS) - 1] {
            let (mut rare, other) = (Site::default(), Site::new(7, rank));
            let one = sites.site(rank, &mut rare);
            assert_eq!((one.origin, one.shape), (other.origin, other.shape));
        }
    }
}
