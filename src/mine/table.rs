//! The URLs of one site in flat tables: parts, parameters, captures.
//!
//! HOT: once per observation.
//!
//! ```text
//! text      http://a.test/x?b=1&c=2http://a.test/y...        one arena
//! links     text range, path range, origin, params range, captures range; sorted by text
//! params    name number, hash of the value, text range of the value
//! captures  time, content number; of one link in order of time
//! ```

use std::collections::HashMap;

use super::observation::Observation;
use crate::canonical::{Canonicalizer, Scratch};
use crate::limits::{
    MINE_CAPTURES_MAX, MINE_LINKS_MAX, MINE_PARAMS_MAX, MINE_SEGMENTS_MAX, URL_BYTES_MAX,
};
use crate::parts::{UrlParts, scheme_length};

/// Hash map with fixed keys. Inside one site only the site's own URLs can collide, results never
/// depend on the order of a map, and the fingerprints that decide are 64 bits of `mix`.
pub(super) type Map<K, V> = HashMap<K, V, ahash::RandomState>;

/// A map with fixed keys.
pub(super) fn map<K, V>() -> Map<K, V> {
    HashMap::with_hasher(ahash::RandomState::with_seeds(1, 2, 3, 4))
}

/// A range of bytes in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// Where rows of another table begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Rows {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Rows {
    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(super) fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// One distinct URL after stage 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// The whole URL.
    pub(super) url: Span,
    /// Which of the site's distinct paths.
    pub(super) path: u32,
    /// Which of the site's origins: scheme, host and port.
    pub(super) origin: u32,
    /// Parameters in the order of the URL.
    pub(super) params: Rows,
    /// Captures in order of time.
    pub(super) captures: Rows,
    /// Is it a part of pages rather than a page?
    pub(super) is_static: bool,
    /// Does it have more parameters or segments than are looked at? Then nothing is said of it.
    pub(super) opaque: bool,
    /// Does it only send elsewhere? Then its captures are those of the page it sends to.
    pub(super) moved: bool,
}

/// One parameter of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Param {
    /// Number of the name.
    pub(super) name: u32,
    /// Hash of the value; a parameter without `=` has a value of its own.
    pub(super) value: u64,
    /// The value; empty too where there is no `=`.
    pub(super) text: Span,
}

/// One content of a link at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Capture {
    /// Seconds since 1970; the least number there is where no time is known.
    pub(super) time: i64,
    /// Number of the content.
    pub(super) content: u32,
}

/// Scheme, host and port of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// Is it `https`? Else it is `http`.
    pub(super) https: bool,
    /// Number of the host.
    pub(super) host: u32,
    /// As in `:81`; empty for the scheme's own.
    pub(super) port: Vec<u8>,
}

/// What the contents are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Digests.
    Digest,
    /// Sizes in bytes.
    Size,
    /// Nothing was recorded.
    None,
}

/// The tables of one site.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) text: Vec<u8>,
    pub(super) links: Vec<Link>,
    pub(super) params: Vec<Param>,
    pub(super) captures: Vec<Capture>,
    /// Names of parameters, by number; numbers are in byte order.
    pub(super) names: Vec<Vec<u8>>,
    /// Origins by number.
    pub(super) origins: Vec<Origin>,
    /// Hosts by number.
    pub(super) hosts: Vec<Vec<u8>>,
    /// Distinct paths, by number, in byte order.
    pub(super) paths: Vec<Vec<u8>>,
    /// How many contents there are; they are numbered from 0.
    pub(super) contents: usize,
    /// Permanent redirects between links of the site.
    pub(super) moves: Vec<(u32, u32)>,
    pub(super) signal: Signal,
    /// Observations that were taken in.
    pub(super) observations: u64,
    /// Links beyond the limit, left out by hash.
    pub(super) left_out: u64,
}

/// 64 bits of `bytes`; the same on every machine.
pub(super) fn hash(bytes: &[u8]) -> u64 {
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

/// Mixes 64 bits. Source: SplitMix64's finalizer (Steele, Lea, Flood, OOPSLA 2014).
#[inline]
pub(super) fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The value of a parameter without `=`.
const NO_VALUE: u64 = 0x6E6F_7661_6C75_6500;

/// One usable observation, before links are numbered.
struct Seen {
    url: u64,
    text: Span,
    time: i64,
    content: u64,
    is_static: bool,
}

impl Table {
    /// Takes in the observations of one site. `stage0` must preserve semantics.
    ///
    /// The tables depend on the observations as a multiset, not on their order.
    pub(super) fn build(observations: &[Observation<'_>], stage0: &Canonicalizer) -> Table {
        let signal = signal_of(observations);
        let mut builder = Builder { text: Vec::new(), known: map(), scratch: Scratch::default() };
        let mut seen = Vec::with_capacity(observations.len());
        let mut moves = Vec::new();
        for observation in observations {
            let Some((url, text)) = builder.intern(observation.url, stage0) else { continue };
            if let Some(target) = observation.moved_to()
                && let Some((target, _)) = builder.intern(target, stage0)
            {
                moves.push((url, target));
            }
            let content = if observation.shows_a_page() {
                match signal {
                    Signal::Digest => observation.telling_digest().map(hash),
                    Signal::Size => observation.size.map(mix),
                    Signal::None => None,
                }
            } else if observation.moved_to().is_some() {
                None
            } else {
                continue;
            };
            seen.push(Seen {
                url,
                text,
                time: observation.time.unwrap_or(i64::MIN),
                content: content.unwrap_or(0),
                is_static: observation.is_static(),
            });
        }
        builder.finish(seen, moves, signal)
    }

    /// Gives links that only send elsewhere the captures of where they send to: a permanent redirect
    /// says that both are one page.
    fn follow_moves(&mut self) {
        for _ in 0..MOVES_IN_A_ROW {
            for (from, to) in &self.moves {
                let captures = self.links[*to as usize].captures;
                let link = &mut self.links[*from as usize];
                if link.captures.len() == 0 && captures.len() > 0 {
                    (link.captures, link.moved) = (captures, true);
                }
            }
        }
    }

    /// The bytes of a span.
    pub(super) fn bytes(&self, span: Span) -> &[u8] {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The parameters of a link.
    pub(super) fn params_of(&self, link: &Link) -> &[Param] {
        &self.params[link.params.range()]
    }

    /// The captures of a link.
    pub(super) fn captures_of(&self, link: &Link) -> &[Capture] {
        &self.captures[link.captures.range()]
    }
}

/// Digests if most pages have one, else sizes, else nothing.
fn signal_of(observations: &[Observation<'_>]) -> Signal {
    let pages = observations.iter().filter(|seen| seen.shows_a_page());
    let (mut all, mut digests, mut sizes) = (0u64, 0u64, 0u64);
    for page in pages {
        all += 1;
        digests += u64::from(page.telling_digest().is_some());
        sizes += u64::from(page.size.is_some());
    }
    if digests * 4 >= all && digests > 0 {
        Signal::Digest
    } else if sizes * 2 >= all && sizes > 0 {
        Signal::Size
    } else {
        Signal::None
    }
}

struct Builder {
    text: Vec<u8>,
    known: Map<u64, Span>,
    scratch: Scratch,
}

impl Builder {
    /// The number and the text of a URL after stage 0; `None` for what is no web URL.
    fn intern(&mut self, url: &[u8], stage0: &Canonicalizer) -> Option<(u64, Span)> {
        if url.len() > URL_BYTES_MAX {
            return None;
        }
        let canonical = stage0.canonical(url, &mut self.scratch);
        let form = canonical.form;
        if canonical.reject.is_some()
            || !(form.starts_with(b"http://") || form.starts_with(b"https://"))
        {
            return None;
        }
        let number = hash(form);
        if let Some(span) = self.known.get(&number) {
            return Some((number, *span));
        }
        let start = u32::try_from(self.text.len()).ok()?;
        let end = u32::try_from(self.text.len() + form.len()).ok()?;
        self.text.extend_from_slice(form);
        let span = Span { start, end };
        self.known.insert(number, span);
        Some((number, span))
    }

    fn finish(self, mut seen: Vec<Seen>, moves: Vec<(u64, u64)>, signal: Signal) -> Table {
        let text = self.text;
        let observations = seen.len() as u64;
        let bytes = |span: Span| &text[span.start as usize..span.end as usize];
        // A site of more links than fit is sampled by hash: by path, so that whole groups stay.
        let mut kept: Vec<(u64, Span)> = seen.iter().map(|one| (one.url, one.text)).collect();
        kept.sort_unstable_by_key(|(url, _)| *url);
        kept.dedup_by_key(|(url, _)| *url);
        let before = kept.len();
        if kept.len() > MINE_LINKS_MAX {
            let key = |span: Span| mix(hash(target(bytes(span)).0));
            let mut keys: Vec<u64> = kept.iter().map(|(_, span)| key(*span)).collect();
            keys.sort_unstable();
            let limit = keys[MINE_LINKS_MAX];
            kept.retain(|(_, span)| key(*span) < limit);
        }
        let left_out = (before - kept.len()) as u64;
        kept.sort_unstable_by(|a, b| bytes(a.1).cmp(bytes(b.1)));
        let mut number_of: Map<u64, u32> = map();
        for (number, (url, _)) in (0..).zip(&kept) {
            number_of.insert(*url, number);
        }
        let mut table = Table {
            text: Vec::new(),
            links: Vec::with_capacity(kept.len()),
            params: Vec::new(),
            captures: Vec::new(),
            names: Vec::new(),
            origins: Vec::new(),
            hosts: Vec::new(),
            paths: Vec::new(),
            contents: 0,
            moves: Vec::new(),
            signal,
            observations,
            left_out,
        };
        let mut names = Numbers::default();
        let mut origins = Numbers::default();
        let mut paths = Numbers::default();
        for (_, span) in &kept {
            let link = split(&text, *span, &mut names, &mut origins, &mut paths, &mut table.params);
            table.links.push(link);
        }
        (table.names, table.paths) = (names.texts, paths.texts);
        let mut hosts = Numbers::default();
        table.origins = origins.texts.iter().map(|text| origin(text, &mut hosts)).collect();
        table.hosts = hosts.texts;
        // Contents in order of first use by sorted links, so that numbers do not depend on input.
        seen.retain(|one| number_of.contains_key(&one.url));
        seen.sort_unstable_by_key(|one| (number_of[&one.url], one.time, one.content));
        seen.dedup_by_key(|one| (one.url, one.time, one.content));
        let mut contents: Map<u64, u32> = map();
        let mut at = 0;
        while at < seen.len() {
            let url = seen[at].url;
            let end = at + seen[at..].iter().take_while(|one| one.url == url).count();
            let link = &mut table.links[number_of[&url] as usize];
            let start = table.captures.len();
            link.is_static = seen[at..end].iter().all(|one| one.is_static);
            let telling: Vec<&Seen> = seen[at..end].iter().filter(|one| one.content != 0).collect();
            // The first and the last are kept, and evenly spread ones between.
            let step = telling.len().div_ceil(MINE_CAPTURES_MAX).max(1);
            for one in telling.iter().step_by(step) {
                let next = contents.len() as u32;
                let content = *contents.entry(one.content).or_insert(next);
                table.captures.push(Capture { time: one.time, content });
            }
            link.captures = Rows { start: start as u32, end: table.captures.len() as u32 };
            at = end;
        }
        table.contents = contents.len();
        let mut moved: Vec<(u32, u32)> = moves
            .iter()
            .filter_map(|(from, to)| Some((*number_of.get(from)?, *number_of.get(to)?)))
            .filter(|(from, to)| from != to)
            .collect();
        moved.sort_unstable();
        moved.dedup();
        table.moves = moved;
        table.text = text;
        table.follow_moves();
        table
    }
}

/// Most redirects in a row that are followed.
const MOVES_IN_A_ROW: usize = 4;

/// Numbers for texts, in the order in which they come.
#[derive(Default)]
struct Numbers {
    texts: Vec<Vec<u8>>,
    by_text: HashMap<Vec<u8>, u32, ahash::RandomState>,
}

impl Numbers {
    fn of(&mut self, text: &[u8]) -> u32 {
        if let Some(number) = self.by_text.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_vec());
        self.by_text.insert(text.to_vec(), number);
        number
    }
}

/// Path, and where query and fragment begin.
fn target(url: &[u8]) -> (&[u8], usize, usize) {
    let scheme_end = scheme_length(url).unwrap_or(0);
    match UrlParts::split(url, scheme_end) {
        Ok(parts) => (
            &url[parts.path_start as usize..parts.query_start as usize],
            parts.query_start as usize,
            parts.fragment_start as usize,
        ),
        Err(_) => (b"", url.len(), url.len()),
    }
}

/// Takes an origin such as `http://a.test:81` apart. A user name is part of the host here.
fn origin(text: &[u8], hosts: &mut Numbers) -> Origin {
    let https = text.starts_with(b"https");
    let authority = &text[if https { 8 } else { 7 }.min(text.len())..];
    let digits = authority.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let colon = authority.len().checked_sub(digits + 1).filter(|at| authority[*at] == b':');
    let (host, port) = authority.split_at(colon.unwrap_or(authority.len()));
    Origin { https, host: hosts.of(host), port: port.to_vec() }
}

fn split(
    text: &[u8],
    span: Span,
    names: &mut Numbers,
    origins: &mut Numbers,
    paths: &mut Numbers,
    params: &mut Vec<Param>,
) -> Link {
    let url = &text[span.start as usize..span.end as usize];
    let (path, query_start, fragment_start) = target(url);
    let origin = &url[..query_start - path.len()];
    let start = params.len();
    let mut opaque = fragment_start < url.len()
        || path.iter().filter(|byte| **byte == b'/').count() > MINE_SEGMENTS_MAX;
    let query = &url[query_start..fragment_start];
    if query.len() > 1 {
        let mut at = query_start + 1;
        for piece in query[1..].split(|byte| *byte == b'&') {
            if params.len() - start == MINE_PARAMS_MAX {
                opaque = true;
                break;
            }
            let equals = memchr::memchr(b'=', piece);
            let name = &piece[..equals.unwrap_or(piece.len())];
            let value = equals.map_or(&piece[piece.len()..], |equals| &piece[equals + 1..]);
            let end = span.start + (at + piece.len()) as u32;
            params.push(Param {
                name: names.of(name),
                value: if equals.is_some() { hash(value) } else { NO_VALUE },
                text: Span { start: end - value.len() as u32, end },
            });
            at += piece.len() + 1;
        }
    }
    if opaque {
        params.truncate(start);
    }
    Link {
        url: span,
        path: paths.of(path),
        origin: origins.of(origin),
        params: Rows { start: start as u32, end: params.len() as u32 },
        captures: Rows::default(),
        is_static: false,
        opaque,
        moved: false,
    }
}

#[cfg(test)]
pub(in crate::mine) mod tests {
    use super::*;
    use crate::canonical::Profile;

    pub(in crate::mine) fn stage0() -> Canonicalizer {
        Canonicalizer::new(Profile::named("rfc3986").unwrap())
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
        let table = Table::build(&list, &stage0());
        assert_eq!(table.signal, Signal::Digest);
        assert_eq!((table.links.len(), table.contents), (2, 2));
        let link = &table.links[1];
        assert_eq!(table.bytes(link.url), b"http://a.test/x?b=1&c");
        let names: Vec<&[u8]> = table
            .params_of(link)
            .iter()
            .map(|param| table.names[param.name as usize].as_slice())
            .collect();
        assert_eq!(names, [b"b", b"c"]);
        assert_eq!(table.bytes(table.params_of(link)[0].text), b"1");
        let times: Vec<i64> = table.captures_of(link).iter().map(|one| one.time).collect();
        assert_eq!(times, [3, 5]);
        assert_eq!(table.captures_of(&table.links[0]).len(), 1);
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
        let (a, b) = (Table::build(&list, &stage0()), Table::build(&turned, &stage0()));
        assert_eq!(a.captures, b.captures);
        assert_eq!(a.paths, b.paths);
    }

    #[test]
    fn too_many_parameters() {
        let url = format!("http://a.test/?{}", "a=1&".repeat(MINE_PARAMS_MAX + 1));
        let list = [Observation { url: url.as_bytes(), ..Observation::default() }];
        let table = Table::build(&list, &stage0());
        assert!(table.links[0].opaque && table.params.is_empty());
        assert_eq!(table.signal, Signal::None);
    }

    #[test]
    fn redirects_between_links() {
        let moved = Observation {
            url: b"http://a.test/old",
            status: Some(301),
            redirect: Some(b"http://a.test/new"),
            ..Observation::default()
        };
        let table = Table::build(&[moved, seen("http://a.test/new", 1, "x")], &stage0());
        assert_eq!(table.moves, [(1, 0)]);
        let gone = Observation { status: Some(404), ..moved };
        assert_eq!(Table::build(&[gone], &stage0()).links.len(), 0);
    }
}
