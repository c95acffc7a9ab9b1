//! The URLs of one site in flat tables: parts, parameters, captures.
//!
//! ```text
//! text      http://a.test/x?b=1&c=2http://a.test/y...        one arena
//! urls      text range, path range, origin, params range, captures range; sorted by text
//! params    name number, value, text range of the value
//! captures  time, content number; of one URL in order of time
//! ```

pub(crate) mod splits;

use super::identity::Secret;
use splits::Splits;

/// A range of bytes in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// Where rows of another table begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Rows {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Rows {
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(crate) fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// One distinct URL after normalization.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Url {
    /// The whole URL.
    pub(crate) text: Span,
    /// Which of the site's distinct paths.
    pub(crate) path: u32,
    /// Which of the site's origins: scheme, host and port.
    pub(crate) origin: u32,
    /// Parameters in the order of the URL.
    pub(crate) params: Rows,
    /// Captures in order of time.
    pub(crate) captures: Rows,
    /// Is it a part of pages rather than a page?
    pub(crate) is_static: bool,
    /// Does it have more parameters or segments than are looked at? Then nothing is said of it.
    pub(crate) opaque: bool,
    /// Does it only send elsewhere? Then its captures are those of the page it sends to.
    pub(crate) moved: bool,
}

/// One parameter of a URL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    /// Number of the name.
    pub(crate) name: u32,
    /// What stands for the value, and for no other text (see `identity.rs`); a parameter without
    /// `=` has a value of its own.
    pub(crate) value: u64,
    /// The value; also empty if there is no `=`.
    pub(crate) text: Span,
}

/// The value of URLs without the parameter, and of those that are known to be the same.
pub(crate) const ABSENT: u64 = 0;

/// The value of a parameter without `=`. No rule distinguishes it from an empty one.
pub(crate) const NO_VALUE: u64 = 0x6E6F_7661_6C75_6500;

/// The numbers where a list begins. Their hashes, and that of the empty value, stand for no other
/// value.
pub(crate) const FIRST_VALUES: [&[u8]; 2] = [b"0", b"1"];

/// One content of a URL at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Capture {
    /// Seconds since 1970; the least number there is where no time is known.
    pub(crate) time: i64,
    /// Number of the content.
    pub(crate) content: u32,
}

/// Scheme, host and port of URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Is it `https`? Else it is `http`.
    pub(crate) https: bool,
    /// Number of the host.
    pub(crate) host: u32,
    /// As in `:81`; empty for the scheme's own.
    pub(crate) port: Vec<u8>,
}

/// What the contents are distinguished by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Are two equal contents almost certainly the same, and not a coincidence?
    pub(crate) fn is_strong(self) -> bool {
        matches!(self, Signal::Digest | Signal::CanonicalLink | Signal::CanonicalLinkAlone)
    }

    /// Is it enough for a rule to be in force?
    pub(crate) fn is_confirmed(self) -> bool {
        matches!(self, Signal::Digest | Signal::CanonicalLink)
    }
}

/// The tables of one site.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) text: Vec<u8>,
    pub(crate) urls: Vec<Url>,
    pub(crate) params: Vec<Param>,
    pub(crate) captures: Vec<Capture>,
    /// Names of parameters, by number; numbers are in byte order.
    pub(crate) names: Vec<Vec<u8>>,
    /// Origins by number.
    pub(crate) origins: Vec<Origin>,
    /// Hosts by number.
    pub(crate) hosts: Vec<Vec<u8>>,
    /// Distinct paths, by number, in byte order.
    pub(crate) paths: Vec<Vec<u8>>,
    /// The stem of each path (see `stems.rs`).
    pub(crate) stems: Vec<u32>,
    /// How many contents there are; they are numbered from 0.
    pub(crate) contents: usize,
    /// From which URLs of the site permanent redirects and canonical links lead to which others.
    pub(crate) moves: Vec<(u32, u32)>,
    pub(crate) signal: Signal,
    /// Handlers that are split by conditions; none at first.
    pub(crate) splits: Splits,
    /// Observations that were taken in.
    pub(crate) observations: u64,
    /// URLs beyond the limit, left out by hash.
    pub(crate) left_out: u64,
    /// The key of the fingerprints that distinguish things.
    pub(crate) secret: Secret,
}

impl Table {
    /// Gives URLs that only send elsewhere the captures of where they send to: a permanent redirect
    /// says that both are one page.
    pub(crate) fn follow_moves(&mut self) {
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
    pub(crate) fn bytes(&self, span: Span) -> &[u8] {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The parameters of a URL.
    pub(crate) fn params_of(&self, url: &Url) -> &[Param] {
        &self.params[url.params.range()]
    }

    /// The handler of a URL as far as the parameter `name` goes: that of its path, or one of the
    /// cells that it is split into. `handlers` has one for each path.
    #[inline]
    pub(crate) fn handler_for(&self, url: &Url, name: u32, handlers: &[u32]) -> u32 {
        self.splits.refine(self, url, name, handlers[url.path as usize])
    }

    /// The captures of a URL.
    pub(crate) fn captures_of(&self, url: &Url) -> &[Capture] {
        &self.captures[url.captures.range()]
    }
}

/// Most redirects in a row that are followed.
pub(crate) const MOVES_IN_A_ROW: usize = 4;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::canonical::{Canonicalizer, Profile};
    use crate::limits::MINE_PARAMS_MAX;
    use crate::mine::seen::maps::{hash, mix};
    use crate::mine::seen::observation::Observation;

    pub(crate) fn canonicalizer() -> Canonicalizer {
        Canonicalizer::new(Profile::named("rfc3986").unwrap())
    }

    /// A site whose URLs were seen with these digests.
    pub(crate) fn table_of<T: AsRef<str>>(rows: &[(T, T)]) -> Table {
        let seen = rows.iter().map(|(url, digest)| Observation {
            url: url.as_ref().as_bytes(),
            digest: Some(digest.as_ref().as_bytes()),
            ..Observation::default()
        });
        Table::build(&seen.collect::<Vec<_>>(), &canonicalizer())
    }

    /// The same at these times, in seconds.
    pub(crate) fn table_over_time(rows: &[(String, i64, String)]) -> Table {
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
    pub(crate) fn twins(start: &str) -> [String; 2] {
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
                    let hosts = [text(*from), text(*to)];
                    assert_eq!(hosts, [&b"http://a.test/"[..], b"http://www.a.test/"]);
                }
            }
        }
        // No record says where it led to.
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
