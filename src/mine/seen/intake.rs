//! From observations to the tables of a site.
//!
//! HOT: once per observation, then once per distinct URL and per parameter.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::canonical_links;
use super::contents::{Contents, NO_CONTENT};
use super::identity::{Numbers, Secret, Values};
use super::interner::Interner;
use super::observation::Observation;
use super::stems;
use super::table::{
    ABSENT, Capture, FIRST_VALUES, NO_VALUE, Origin, Param, Rows, Signal, Span, Table, Url, hash,
    mix,
};
use crate::canonical::Canonicalizer;
use crate::limits::{MINE_CAPTURES_MAX, MINE_PARAMS_MAX, MINE_SEGMENTS_MAX, MINE_URLS_MAX};
use crate::mine::seen::splits::Splits;
use crate::parts::{UrlParts, scheme_length};

/// The number of no URL that a page says is its own.
pub(super) const NO_LINK: u32 = u32::MAX;

/// The number of a URL that is not kept.
const NOT_KEPT: u32 = u32::MAX;

/// One usable observation.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    /// The URL, in the order in which they came.
    pub(super) url: u32,
    time: i64,
    /// The number of the content, in the order in which they came, or [`NO_CONTENT`].
    pub(super) content: u32,
    /// The number of the URL that the page says is its own, or [`NO_LINK`].
    pub(super) link: u32,
    /// Is it the answer to a plain request, rather than a redirect?
    pub(super) shows_a_page: bool,
    is_static: bool,
}

impl Table {
    /// Takes in the observations of one site. The `canonicalizer` must preserve semantics.
    ///
    /// The tables depend on the observations as a multiset, not on their order.
    pub(crate) fn build(observations: &[Observation<'_>], canonicalizer: &Canonicalizer) -> Table {
        let intake = Intake::of(observations, canonicalizer);
        let Intake { mut urls, mut contents, mut seen, mut moves, signal, .. } = intake;
        urls.forget();
        let signal = canonical_links::follow(&mut seen, &mut contents, &urls, &mut moves, signal);
        finish(urls, &seen, &contents, &moves, signal)
    }
}

/// What is known of a site while its observations are taken in.
struct Intake<'a> {
    canonicalizer: &'a Canonicalizer,
    signal: Signal,
    urls: Interner,
    contents: Contents<'a>,
    seen: Vec<Seen>,
    /// From where permanent redirects lead, and where to.
    moves: Vec<(u32, u32)>,
    /// The same of all redirects, where what is behind them says where it came from.
    hops: Vec<(u32, u32)>,
    /// Permanent redirects that do not say where they lead to.
    moved: Vec<Seen>,
}

impl<'a> Intake<'a> {
    fn of(observations: &'a [Observation<'_>], canonicalizer: &'a Canonicalizer) -> Intake<'a> {
        let mut intake = Intake {
            canonicalizer,
            signal: signal_of(observations),
            urls: Interner::with_room(observations),
            contents: Contents::new(),
            seen: Vec::with_capacity(observations.len()),
            moves: Vec::new(),
            hops: Vec::new(),
            moved: Vec::new(),
        };
        for observation in observations {
            intake.take(observation);
        }
        intake.follow_hops();
        intake
    }

    fn take(&mut self, observation: &'a Observation<'_>) {
        let Intake { canonicalizer, urls, contents, .. } = self;
        let known = if observation.is_canonical {
            urls.number(observation.url)
        } else {
            urls.intern(observation.url, canonicalizer)
        };
        let Some(url) = known else { return };
        let linked = |urls: &mut Interner, to| urls.intern_from(observation.url, to, canonicalizer);
        let moved_to = observation.moved_to();
        if let Some(to) = moved_to.and_then(|to| linked(urls, to)) {
            self.moves.push((url, to));
        }
        if let Some(from) = observation.redirected_from
            && let Some(from) = urls.intern(from, canonicalizer)
        {
            self.hops.push((from, url));
        }
        let mut seen = Seen {
            url,
            time: observation.time.unwrap_or(i64::MIN),
            content: NO_CONTENT,
            link: NO_LINK,
            shows_a_page: observation.shows_a_page(),
            is_static: observation.is_static(),
        };
        if seen.shows_a_page {
            let content = match self.signal {
                Signal::Digest => observation.telling_digest().map(|text| contents.of(text)),
                Signal::Size => observation.size.map(|size| contents.of_size(size)),
                Signal::CanonicalLink | Signal::CanonicalLinkAlone | Signal::None => None,
            };
            seen.content = content.unwrap_or(NO_CONTENT);
            let link = observation.canonical_link.and_then(|to| linked(urls, to));
            seen.link = link.unwrap_or(NO_LINK);
            self.seen.push(seen);
        } else if moved_to.is_some() {
            self.seen.push(seen);
        } else if observation.has_moved() {
            self.moved.push(seen);
        }
    }

    /// Redirects that do not say where they lead to lead to what says that it came from there.
    fn follow_hops(&mut self) {
        self.hops.sort_unstable();
        self.hops.dedup();
        self.moved.sort_by_key(|one| one.url);
        // Each URL once, however often it was asked for.
        for answers in self.moved.chunk_by(|one, other| one.url == other.url) {
            let from_here = self.hops.partition_point(|(from, _)| *from < answers[0].url);
            let ways = &self.hops[from_here..];
            let ways = &ways[..ways.partition_point(|(from, _)| *from == answers[0].url)];
            if !ways.is_empty() {
                self.moves.extend_from_slice(ways);
                self.seen.extend_from_slice(answers);
            }
        }
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

fn finish(
    Interner { text, spans, .. }: Interner,
    seen: &[Seen],
    contents: &Contents<'_>,
    moves: &[(u32, u32)],
    signal: Signal,
) -> Table {
    let (kept, left_out) = kept(&text, &spans, seen, MINE_URLS_MAX);
    let mut number_of = vec![NOT_KEPT; spans.len()];
    for (number, row) in (0..).zip(&kept) {
        number_of[row.url as usize] = number;
    }
    let mut table = Table {
        text: Vec::new(),
        urls: Vec::with_capacity(kept.len()),
        params: Vec::with_capacity(2 * kept.len()),
        captures: Vec::with_capacity(seen.len()),
        names: Vec::new(),
        origins: Vec::new(),
        hosts: Vec::new(),
        paths: Vec::new(),
        stems: Vec::new(),
        contents: 0,
        moves: Vec::new(),
        signal,
        splits: Splits::default(),
        observations: seen.len() as u64,
        left_out,
        secret: Secret::random(),
    };
    let mut numbers = [Numbers::new(), Numbers::new(), Numbers::new()];
    let mut values = Values::new(&[ABSENT, NO_VALUE], &[FIRST_VALUES.as_slice(), &[b""]].concat());
    for row in &kept {
        let url = split(&text, row, &mut numbers, &mut values, &mut table.params);
        table.urls.push(url);
    }
    drop(values);
    let [names, origins, paths] = numbers;
    (table.names, table.paths) = (names.texts, paths.texts);
    table.stems = stems::find(&table.paths);
    let mut hosts = Numbers::new();
    table.origins = origins.texts.iter().map(|text| origin(text, &mut hosts)).collect();
    table.hosts = hosts.texts;
    captures(
        &mut table,
        seen,
        |content| contents.order(content, &text),
        contents.len(),
        &number_of,
    );
    let number = |url: u32| Some(number_of[url as usize]).filter(|number| *number != NOT_KEPT);
    let mut moved: Vec<(u32, u32)> = moves
        .iter()
        .filter_map(|(from, to)| Some((number(*from)?, number(*to)?)))
        .filter(|(from, to)| from != to)
        .collect();
    moved.sort_unstable();
    moved.dedup();
    table.moves = moved;
    table.text = text;
    table.follow_moves();
    table
}

/// A URL that is kept, with what it is sorted by.
struct Row {
    url: u32,
    span: Span,
    /// Where the path, the query and the fragment begin.
    parts: Parts,
    /// The place of its origin among those of the site, in byte order.
    rank: u32,
    /// The first bytes after that.
    start: u128,
}

#[derive(Clone, Copy)]
pub(super) struct Parts {
    path: u32,
    query: u32,
    fragment: u32,
}

impl Parts {
    pub(super) fn of(url: &[u8]) -> Parts {
        match UrlParts::split(url, scheme_length(url).unwrap_or(0)) {
            Ok(parts) => Parts {
                path: parts.path_start,
                query: parts.query_start,
                fragment: parts.fragment_start,
            },
            Err(_) => {
                let end = url.len() as u32;
                Parts { path: end, query: end, fragment: end }
            }
        }
    }

    pub(super) fn has_query(self) -> bool {
        self.query < self.fragment
    }

    pub(super) fn path(self, url: &[u8]) -> &[u8] {
        &url[self.path as usize..self.query as usize]
    }

    /// The origin with the byte that follows it. Of two such texts of different origins none is the
    /// beginning of the other, but for one that is the whole URL: so they are ordered as the URLs.
    fn origin_end(self, url: &[u8]) -> usize {
        (self.path as usize + 1).min(url.len())
    }
}

/// The URLs that were seen, in byte order, and how many were left out. A site of more URLs than
/// `urls_max` is sampled by hash: by path, so that whole groups stay. Of the one path that has room
/// in part its URLs are sampled, whatever they show: so as many groups are torn that agree as
/// others.
fn kept(text: &[u8], spans: &[Span], seen: &[Seen], urls_max: usize) -> (Vec<Row>, u64) {
    let mut is_seen = vec![false; spans.len()];
    for one in seen {
        is_seen[one.url as usize] = true;
    }
    let bytes = |span: Span| &text[span.start as usize..span.end as usize];
    let mut origins = Numbers::new();
    let mut rows: Vec<Row> = (0..)
        .zip(spans)
        .filter(|(number, _)| is_seen[*number as usize])
        .map(|(url, span)| {
            let text = bytes(*span);
            let parts = Parts::of(text);
            let (origin, rest) = text.split_at(parts.origin_end(text));
            let mut start = [0; 16];
            let known = rest.len().min(16);
            start[..known].copy_from_slice(&rest[..known]);
            Row {
                url,
                span: *span,
                parts,
                rank: origins.of(origin),
                start: u128::from_be_bytes(start),
            }
        })
        .collect();
    let before = rows.len();
    if rows.len() > urls_max {
        let key = |row: &Row| mix(hash(row.parts.path(bytes(row.span))));
        let mut keys: Vec<u64> = rows.iter().map(key).collect();
        let (_, limit, _) = keys.select_nth_unstable(urls_max);
        let limit = *limit;
        let mut torn: Vec<(u64, Span)> = Vec::new();
        rows.retain(|row| match key(row).cmp(&limit) {
            Ordering::Equal => {
                torn.push((mix(hash(bytes(row.span))), row.span));
                true
            }
            order => order == Ordering::Less,
        });
        // Texts with one hash, which somebody has made, are in byte order.
        torn.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| bytes(a.1).cmp(bytes(b.1))));
        let room = urls_max + torn.len() - rows.len();
        let out: HashSet<u32> = torn.split_off(room).iter().map(|(_, span)| span.start).collect();
        rows.retain(|row| !out.contains(&row.span.start));
    }
    let left_out = (before - rows.len()) as u64;
    let mut order: Vec<u32> = (0..origins.texts.len() as u32).collect();
    order.sort_unstable_by(|a, b| origins.texts[*a as usize].cmp(&origins.texts[*b as usize]));
    let mut ranks = vec![0; order.len()];
    for (rank, number) in (0..).zip(&order) {
        ranks[*number as usize] = rank;
    }
    for row in &mut rows {
        row.rank = ranks[row.rank as usize];
    }
    // Stable, since indexes are in the order of their URLs but for the hosts: so runs are merged.
    rows.sort_by_key(|row| row.rank);
    rows.sort_by(|a, b| {
        let whole = || bytes(a.span).cmp(bytes(b.span));
        (a.rank, a.start).cmp(&(b.rank, b.start)).then_with(whole)
    });
    (rows, left_out)
}

/// The captures of all URLs. Contents are numbered in the order of their first use by sorted
/// URLs, so that numbers do not depend on the order of input.
fn captures<'a>(
    table: &mut Table,
    seen: &[Seen],
    order: impl Fn(u32) -> (u64, &'a [u8]),
    known: usize,
    number_of: &[u32],
) {
    let mut starts = vec![0u32; table.urls.len() + 1];
    let number = |one: &Seen| number_of[one.url as usize];
    for one in seen.iter().filter(|one| number(one) != NOT_KEPT) {
        starts[number(one) as usize + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut next = starts.clone();
    let mut sorted: Vec<(i64, u32)> = vec![(0, 0); starts.last().map_or(0, |end| *end as usize)];
    for url in &mut table.urls {
        url.is_static = true;
    }
    for one in seen.iter().filter(|one| number(one) != NOT_KEPT) {
        let url = number(one) as usize;
        sorted[next[url] as usize] = (one.time, one.content);
        next[url] += 1;
        table.urls[url].is_static &= one.is_static;
    }
    let mut contents = 0;
    let mut numbers = vec![NO_CONTENT; known];
    let mut telling: Vec<(i64, u32)> = Vec::new();
    for (at, url) in table.urls.iter_mut().enumerate() {
        let own = &mut sorted[starts[at] as usize..starts[at + 1] as usize];
        own.sort_unstable_by(|(time, content), (than, other)| {
            time.cmp(than).then_with(|| order(*content).cmp(&order(*other)))
        });
        telling.clear();
        telling.extend(own.iter().filter(|(_, content)| *content != NO_CONTENT));
        telling.dedup();
        let start = table.captures.len() as u32;
        // The first is kept, and evenly spread ones after it.
        let step = telling.len().div_ceil(MINE_CAPTURES_MAX).max(1);
        for (time, content) in telling.iter().step_by(step) {
            let number = &mut numbers[*content as usize];
            if *number == NO_CONTENT {
                *number = contents;
                contents += 1;
            }
            table.captures.push(Capture { time: *time, content: *number });
        }
        url.captures = Rows { start, end: table.captures.len() as u32 };
    }
    table.contents = contents as usize;
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

/// Takes a URL apart; `numbers` are those of names, origins and paths.
fn split<'a>(
    text: &'a [u8],
    row: &Row,
    [names, origins, paths]: &mut [Numbers; 3],
    values: &mut Values<'a>,
    params: &mut Vec<Param>,
) -> Url {
    let span = row.span;
    let url = &text[span.start as usize..span.end as usize];
    let Parts { path, query: query_start, fragment } = row.parts;
    let (origin, query_start, fragment) =
        (&url[..path as usize], query_start as usize, fragment as usize);
    let path = row.parts.path(url);
    let start = params.len();
    let count = |byte: u8| memchr::memchr_iter(byte, path).count();
    let mut opaque = fragment < url.len()
        || count(b'/') > MINE_SEGMENTS_MAX
        // Parameters of a path are pieces, too.
        || count(b';') > MINE_PARAMS_MAX;
    let query = &url[query_start..fragment];
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
                value: if equals.is_some() { values.of(value) } else { NO_VALUE },
                text: Span { start: end - value.len() as u32, end },
            });
            at += piece.len() + 1;
        }
    }
    if opaque {
        params.truncate(start);
    }
    Url {
        text: span,
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
mod tests {
    use super::*;
    use crate::mine::seen::table::tests::canonicalizer;

    /// The URLs that are kept of these, if there is room for so many.
    fn kept_of(urls: &[String], urls_max: usize) -> Vec<String> {
        let mut interner = Interner::with_room(&[]);
        let seen: Vec<Seen> = urls
            .iter()
            .filter_map(|url| interner.intern(url.as_bytes(), &canonicalizer()))
            .map(|url| Seen {
                url,
                time: 0,
                content: NO_CONTENT,
                link: NO_LINK,
                shows_a_page: true,
                is_static: false,
            })
            .collect();
        let (rows, left_out) = kept(&interner.text, &interner.spans, &seen, urls_max);
        assert_eq!(rows.len() + left_out as usize, interner.spans.len());
        let text = |row: &Row| {
            let bytes = &interner.text[row.span.start as usize..row.span.end as usize];
            String::from_utf8(bytes.to_vec()).unwrap()
        };
        rows.iter().map(text).collect()
    }

    /// A start page that sends everybody elsewhere, in the log of many days.
    #[test]
    fn a_redirect_that_is_asked_for_often_counts_once() {
        let often =
            Observation { url: b"http://a.test/go", status: Some(301), ..Observation::default() };
        let pages: Vec<String> = (0..50).map(|page| format!("http://a.test/{page}")).collect();
        let mut seen = vec![often; 1000];
        for url in pages.iter().chain(&pages).map(|url| url.as_bytes()) {
            let redirected_from = Some(often.url);
            seen.push(Observation { url, redirected_from, ..Observation::default() });
        }
        let canonicalizer = canonicalizer();
        let intake = Intake::of(&seen, &canonicalizer);
        assert_eq!((intake.moves.len(), intake.seen.len()), (50, 1100));
    }

    #[test]
    fn a_site_of_one_script_is_sampled_by_url() {
        let mut urls: Vec<String> =
            (0..100).map(|page| format!("http://a.test/index.php?id={page}")).collect();
        let first = kept_of(&urls, 60);
        assert_eq!(first.len(), 60);
        urls.reverse();
        assert_eq!(kept_of(&urls, 60), first, "whatever the order of input");
        assert_eq!(kept_of(&urls, 100).len(), 100);
    }

    #[test]
    fn whole_paths_stay_but_for_one() {
        let urls: Vec<String> =
            (0..300).map(|number| format!("http://a.test/{}?id={number}", number % 20)).collect();
        let kept = kept_of(&urls, 100);
        assert_eq!(kept.len(), 100);
        let mut of_path = [0; 20];
        for url in &kept {
            let path = url["http://a.test/".len()..].split('?').next().unwrap();
            of_path[path.parse::<usize>().unwrap()] += 1;
        }
        let torn = of_path.iter().filter(|urls| ![0, 15].contains(*urls)).count();
        assert_eq!(torn, 1, "{of_path:?}");
    }
}
