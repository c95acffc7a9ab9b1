//! The URLs of one site in flat tables: parts, parameters, captures.
//!
//! ```text
//! text      http://a.test/x?b=1&c=2http://a.test/y...        one arena
//! urls      text range, path range, origin, params range, captures range; sorted by text
//! params    name number, value, text range of the value
//! captures  time, content number; of one URL in order of time
//! ```

use std::collections::HashMap;

use super::identity::Secret;
use crate::bytes::split_mix;
use crate::mine::seen::splits::Splits;

/// Hash map with a random key: who writes a crawl cannot make it slow. Results never depend on the
/// order of a map.
pub(in crate::mine) type Map<K, V> = HashMap<K, V, ahash::RandomState>;

/// A map with a key of its own.
pub(in crate::mine) fn map<K, V>() -> Map<K, V> {
    HashMap::with_hasher(ahash::RandomState::new())
}

/// A range of bytes in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(in crate::mine) struct Span {
    pub(in crate::mine) start: u32,
    pub(in crate::mine) end: u32,
}

/// Where rows of another table begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(in crate::mine) struct Rows {
    pub(in crate::mine) start: u32,
    pub(in crate::mine) end: u32,
}

impl Rows {
    pub(in crate::mine) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(in crate::mine) fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// One distinct URL after normalization.
#[derive(Clone, Copy, Debug)]
pub(in crate::mine) struct Url {
    /// The whole URL.
    pub(in crate::mine) text: Span,
    /// Which of the site's distinct paths.
    pub(in crate::mine) path: u32,
    /// Which of the site's origins: scheme, host and port.
    pub(in crate::mine) origin: u32,
    /// Parameters in the order of the URL.
    pub(in crate::mine) params: Rows,
    /// Captures in order of time.
    pub(in crate::mine) captures: Rows,
    /// Is it a part of pages rather than a page?
    pub(in crate::mine) is_static: bool,
    /// Does it have more parameters or segments than are looked at? Then nothing is said of it.
    pub(in crate::mine) opaque: bool,
    /// Does it only send elsewhere? Then its captures are those of the page it sends to.
    pub(in crate::mine) moved: bool,
}

/// One parameter of a URL.
#[derive(Clone, Copy, Debug)]
pub(in crate::mine) struct Param {
    /// Number of the name.
    pub(in crate::mine) name: u32,
    /// What stands for the value, and for no other text (see `identity.rs`); a parameter without
    /// `=` has a value of its own.
    pub(in crate::mine) value: u64,
    /// The value; empty too where there is no `=`.
    pub(in crate::mine) text: Span,
}

/// The value of URLs without the parameter, and of those that are known to be the same.
pub(in crate::mine) const ABSENT: u64 = 0;

/// The value of a parameter without `=`. No rule tells it from an empty one.
pub(in crate::mine) const NO_VALUE: u64 = 0x6E6F_7661_6C75_6500;

/// The numbers where a list begins. Their hashes, and that of the empty value, stand for no other
/// value.
pub(in crate::mine) const FIRST_VALUES: [&[u8]; 2] = [b"0", b"1"];

/// One content of a URL at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::mine) struct Capture {
    /// Seconds since 1970; the least number there is where no time is known.
    pub(in crate::mine) time: i64,
    /// Number of the content.
    pub(in crate::mine) content: u32,
}

/// Scheme, host and port of URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mine) struct Origin {
    /// Is it `https`? Else it is `http`.
    pub(in crate::mine) https: bool,
    /// Number of the host.
    pub(in crate::mine) host: u32,
    /// As in `:81`; empty for the scheme's own.
    pub(in crate::mine) port: Vec<u8>,
}

/// What the contents are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Digests.
    Digest,
    /// Where the canonical links of pages lead to; digests for pages that have none.
    CanonicalLink,
    /// The same, but no digests confirm that the links can be trusted.
    CanonicalLinkAlone,
    /// Sizes in bytes.
    Size,
    /// Nothing was recorded.
    None,
}

impl Signal {
    /// Is that two pages have one content as good as certain, rather than a coincidence?
    pub(in crate::mine) fn is_strong(self) -> bool {
        matches!(self, Signal::Digest | Signal::CanonicalLink | Signal::CanonicalLinkAlone)
    }

    /// Is it enough for a rule to be in force?
    pub(in crate::mine) fn is_confirmed(self) -> bool {
        matches!(self, Signal::Digest | Signal::CanonicalLink)
    }
}

/// The tables of one site.
#[derive(Debug)]
pub(in crate::mine) struct Table {
    pub(in crate::mine) text: Vec<u8>,
    pub(in crate::mine) urls: Vec<Url>,
    pub(in crate::mine) params: Vec<Param>,
    pub(in crate::mine) captures: Vec<Capture>,
    /// Names of parameters, by number; numbers are in byte order.
    pub(in crate::mine) names: Vec<Vec<u8>>,
    /// Origins by number.
    pub(in crate::mine) origins: Vec<Origin>,
    /// Hosts by number.
    pub(in crate::mine) hosts: Vec<Vec<u8>>,
    /// Distinct paths, by number, in byte order.
    pub(in crate::mine) paths: Vec<Vec<u8>>,
    /// The stem of each path (see `stems.rs`).
    pub(in crate::mine) stems: Vec<u32>,
    /// How many contents there are; they are numbered from 0.
    pub(in crate::mine) contents: usize,
    /// From which URLs of the site permanent redirects and canonical links lead to which others.
    pub(in crate::mine) moves: Vec<(u32, u32)>,
    pub(in crate::mine) signal: Signal,
    /// Handlers that are split by conditions; none at first.
    pub(in crate::mine) splits: Splits,
    /// Observations that were taken in.
    pub(in crate::mine) observations: u64,
    /// URLs beyond the limit, left out by hash.
    pub(in crate::mine) left_out: u64,
    /// What is told apart by a fingerprint is told apart under this.
    pub(in crate::mine) secret: Secret,
}

/// 64 bits of `bytes`; the same on every machine. Only to draw and to order by: two texts that have
/// one are easily made.
pub(in crate::mine) fn hash(bytes: &[u8]) -> u64 {
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
pub(in crate::mine) fn mix(mut bits: u64) -> u64 {
    split_mix::next(&mut bits)
}

impl Table {
    /// Gives URLs that only send elsewhere the captures of where they send to: a permanent redirect
    /// says that both are one page.
    pub(in crate::mine) fn follow_moves(&mut self) {
        for _ in 0..MOVES_IN_A_ROW {
            for (from, to) in &self.moves {
                let captures = self.urls[*to as usize].captures;
                let url = &mut self.urls[*from as usize];
                if url.captures.len() == 0 && captures.len() > 0 {
                    (url.captures, url.moved) = (captures, true);
                }
            }
        }
    }

    /// The bytes of a span.
    pub(in crate::mine) fn bytes(&self, span: Span) -> &[u8] {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The parameters of a URL.
    pub(in crate::mine) fn params_of(&self, url: &Url) -> &[Param] {
        &self.params[url.params.range()]
    }

    /// The handler of a URL as far as the parameter `name` goes: that of its path, or one of the
    /// cells that it is split into. `handlers` has one for each path.
    #[inline]
    pub(in crate::mine) fn handler_for(&self, url: &Url, name: u32, handlers: &[u32]) -> u32 {
        self.splits.refine(self, url, name, handlers[url.path as usize])
    }

    /// The captures of a URL.
    pub(in crate::mine) fn captures_of(&self, url: &Url) -> &[Capture] {
        &self.captures[url.captures.range()]
    }
}

/// Most redirects in a row that are followed.
pub(in crate::mine) const MOVES_IN_A_ROW: usize = 4;

#[cfg(test)]
pub(in crate::mine) mod tests {
    use super::*;
    use crate::canonical::{Canonicalizer, Profile};
    use crate::limits::MINE_PARAMS_MAX;
    use crate::mine::seen::observation::Observation;

    pub(in crate::mine) fn canonicalizer() -> Canonicalizer {
        Canonicalizer::new(Profile::named("rfc3986").unwrap())
    }

    /// A site whose URLs were seen with these digests.
    pub(in crate::mine) fn table_of<T: AsRef<str>>(rows: &[(T, T)]) -> Table {
        let seen = rows.iter().map(|(url, digest)| Observation {
            url: url.as_ref().as_bytes(),
            digest: Some(digest.as_ref().as_bytes()),
            ..Observation::default()
        });
        Table::build(&seen.collect::<Vec<_>>(), &canonicalizer())
    }

    /// The same at these times, in seconds.
    pub(in crate::mine) fn table_over_time(rows: &[(String, i64, String)]) -> Table {
        let seen = rows.iter().map(|(url, time, digest)| Observation {
            url: url.as_bytes(),
            time: Some(*time),
            digest: Some(digest.as_bytes()),
            ..Observation::default()
        });
        Table::build(&seen.collect::<Vec<_>>(), &canonicalizer())
    }

    fn seen(url: &'static str, time: i64, digest: &'static str) -> Observation<'static> {
        Observation {
            url: url.as_bytes(),
            time: Some(time),
            digest: Some(digest.as_bytes()),
            ..Observation::default()
        }
    }

    #[test]
    fn parts_and_captures() {
        let list = [
            seen("http://A.test/x?b=1&c", 5, "one"),
            seen("http://a.test/x?b=1&c", 3, "two"),
            seen("http://a.test/", 3, "one"),
            seen("mailto:x@a.test", 3, "one"),
            seen("http://a.test/", 3, "one"),
        ];
        let table = Table::build(&list, &canonicalizer());
        assert_eq!(table.signal, Signal::Digest);
        assert_eq!((table.urls.len(), table.contents), (2, 2));
        let url = &table.urls[1];
        assert_eq!(table.bytes(url.text), b"http://a.test/x?b=1&c");
        let names: Vec<&[u8]> = table
            .params_of(url)
            .iter()
            .map(|param| table.names[param.name as usize].as_slice())
            .collect();
        assert_eq!(names, [b"b", b"c"]);
        assert_eq!(table.bytes(table.params_of(url)[0].text), b"1");
        let times: Vec<i64> = table.captures_of(url).iter().map(|one| one.time).collect();
        assert_eq!(times, [3, 5]);
        assert_eq!(table.captures_of(&table.urls[0]).len(), 1);
        assert_eq!(table.origins, [Origin { https: false, host: 0, port: vec![] }]);
        assert_eq!(table.hosts, [b"a.test".to_vec()]);
    }

    #[test]
    fn order_of_input_does_not_matter() {
        let list: Vec<Observation<'_>> =
            [("http://a.test/1", 1, "x"), ("http://a.test/2", 2, "y"), ("http://a.test/1", 0, "z")]
                .map(|(url, time, digest)| seen(url, time, digest))
                .to_vec();
        let mut turned = list.clone();
        turned.reverse();
        let (a, b) =
            (Table::build(&list, &canonicalizer()), Table::build(&turned, &canonicalizer()));
        assert_eq!(a.captures, b.captures);
        assert_eq!(a.paths, b.paths);
    }

    /// Two texts of `start`, which has a multiple of eight bytes, and sixteen letters, with one
    /// [`hash`].
    pub(in crate::mine) fn twins(start: &str) -> [String; 2] {
        let word = |text: &[u8]| u64::from_le_bytes(text.try_into().unwrap());
        let length = start.len() as u64 + 16;
        let first = start
            .as_bytes()
            .chunks(8)
            .fold(0x9E37_79B9_7F4A_7C15 ^ length, |state, text| mix(state ^ word(text)));
        let (one, end) = (b"abcdefgh", b"ijklmnop");
        let state = mix(first ^ word(one)) ^ word(end);
        let letters = |number: u64| {
            [0, 5, 10, 15, 20, 25, 30, 35].map(|bit| b'a' + (number >> bit & 15) as u8)
        };
        for number in 0.. {
            let other = letters(number);
            let rest = (state ^ mix(first ^ word(&other))).to_le_bytes();
            if rest.iter().all(u8::is_ascii_alphabetic) {
                let text = |a: &[u8; 8], b: &[u8; 8]| [start.as_bytes(), a, b].concat();
                let twins = [text(one, end), text(&other, &rest)];
                assert_eq!(hash(&twins[0]), hash(&twins[1]));
                return twins.map(|text| String::from_utf8(text).unwrap());
            }
        }
        unreachable!("some number makes letters")
    }

    #[test]
    fn texts_with_one_hash_are_two() {
        let [digest, other] = twins("");
        for urls in [
            twins("http://a.test/xy"),
            twins("/a/path/").map(|path| format!("http://a.test{path}?x=1")),
            twins("").map(|name| format!("http://a.test/?{name}=1")),
            twins("").map(|value| format!("http://a.test/?x={value}")),
            twins("host.of.").map(|host| format!("http://{}.a.test/?x=1", host.to_lowercase())),
        ] {
            let [a, b] = &urls;
            let rows = [(a, &digest), (b, &other), (a, &digest), (b, &other)];
            let table = table_of(&rows.map(|(url, digest)| (url.as_str(), digest.as_str())));
            assert_eq!((table.urls.len(), table.contents), (2, 2), "{urls:?}");
            let parts = |url: &Url| {
                let params = table.params_of(url).iter();
                let params: Vec<_> = params.map(|param| (param.name, param.value)).collect();
                (url.origin, url.path, params)
            };
            assert_ne!(parts(&table.urls[0]), parts(&table.urls[1]), "{urls:?}");
        }
    }

    #[test]
    fn contents_at_one_time_are_in_one_order() {
        let [one, other] = twins("");
        let table = |digests: [&str; 2]| {
            let seen = digests.map(|digest| ("http://a.test/", digest));
            table_of(&[seen, [("http://a.test/x", one.as_str()); 2]].concat())
        };
        let (first, again) = (table([&one, &other]), table([&other, &one]));
        assert_eq!((first.contents, &first.captures), (2, &again.captures));
    }

    #[test]
    fn too_many_parameters() {
        let url = format!("http://a.test/?{}", "a=1&".repeat(MINE_PARAMS_MAX + 1));
        let list = [Observation { url: url.as_bytes(), ..Observation::default() }];
        let table = Table::build(&list, &canonicalizer());
        assert!(table.urls[0].opaque && table.params.is_empty());
        assert_eq!(table.signal, Signal::None);
    }

    #[test]
    fn a_redirect_is_told_by_where_it_led_to_as_well() {
        let page = seen("http://www.a.test/", 0, "one");
        let moved = |status| Observation {
            url: b"http://a.test/",
            status: Some(status),
            ..Observation::default()
        };
        let from = Observation { redirected_from: Some(b"http://a.test/"), ..page };
        for (status, expected) in [(301, 1), (308, 1), (302, 0), (200, 0)] {
            for rows in [[from, moved(status)], [moved(status), from]] {
                let table = Table::build(&rows, &canonicalizer());
                assert_eq!(table.moves.len(), expected, "{status}");
                let text = |url: u32| table.bytes(table.urls[url as usize].text);
                for (from, to) in &table.moves {
                    let told = [text(*from), text(*to)];
                    assert_eq!(told, [&b"http://a.test/"[..], b"http://www.a.test/"]);
                }
            }
        }
        // Nobody has said where it led to.
        assert_eq!(Table::build(&[page, moved(301)], &canonicalizer()).moves, []);
    }

    #[test]
    fn redirects_between_urls() {
        let moved = Observation {
            url: b"http://a.test/old",
            status: Some(301),
            redirect: Some(b"http://a.test/new"),
            ..Observation::default()
        };
        let table = Table::build(&[moved, seen("http://a.test/new", 1, "x")], &canonicalizer());
        assert_eq!(table.moves, [(1, 0)]);
        let gone = Observation { status: Some(404), ..moved };
        assert_eq!(Table::build(&[gone], &canonicalizer()).urls.len(), 0);
    }
}
