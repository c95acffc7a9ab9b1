//! From observations to the tables of a site.
//!
//! HOT: once per observation, then once per distinct URL and per parameter.

use super::canonical_links;
use super::contents::{Contents, NO_CONTENT};
use super::identity::{Numbering, Secret, Values};
use super::interner::Interner;
use super::kept::{KeptUrl, PartStarts, kept};
use super::observation::Observation;
use super::stems;
use super::table::{
    ABSENT, Capture, FIRST_VALUES, NO_VALUE, Origin, Param, Rows, Signal, Span, Table, Url,
};
use super::usable::{NO_LINK, UsableObservation};
use crate::canonical::Canonicalizer;
use crate::limits::{MINE_CAPTURES_MAX, MINE_PARAMS_MAX, MINE_SEGMENTS_MAX, MINE_URLS_MAX};
use crate::mine::seen::table::splits::Splits;

/// The number of a URL that is not kept.
const NOT_KEPT: u32 = u32::MAX;

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
    seen: Vec<UsableObservation>,
    /// From where permanent redirects lead, and where to.
    moves: Vec<(u32, u32)>,
    /// The same of all redirects, where what is after them says where it came from.
    hops: Vec<(u32, u32)>,
    /// Permanent redirects that do not say where they lead to.
    moved: Vec<UsableObservation>,
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
        let mut seen = UsableObservation {
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
            let onward = &self.hops[from_here..];
            let onward = &onward[..onward.partition_point(|(from, _)| *from == answers[0].url)];
            if !onward.is_empty() {
                self.moves.extend_from_slice(onward);
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

/// The tables of what was taken in: URLs and their parts, then captures, then redirects.
fn finish(
    Interner { text, spans, .. }: Interner,
    seen: &[UsableObservation],
    contents: &Contents<'_>,
    moves: &[(u32, u32)],
    signal: Signal,
) -> Table {
    let mut is_seen = vec![false; spans.len()];
    for one in seen {
        is_seen[one.url as usize] = true;
    }
    let (kept, left_out) = kept(&text, &spans, &is_seen, MINE_URLS_MAX);
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
    take_apart(&mut table, &text, &kept);
    let order = |content| contents.order(content, &text);
    captures(&mut table, seen, order, contents.len(), &number_of);
    table.moves = moves_of_kept(moves, &number_of);
    table.text = text;
    table.follow_moves();
    table
}

/// Takes all URLs that are kept apart: parameters, names, paths, origins, hosts.
fn take_apart(table: &mut Table, text: &[u8], kept: &[KeptUrl]) {
    let mut numbers = [Numbering::new(), Numbering::new(), Numbering::new()];
    let mut values = Values::new(&[ABSENT, NO_VALUE], &[FIRST_VALUES.as_slice(), &[b""]].concat());
    for row in kept {
        let url = split(text, row, &mut numbers, &mut values, &mut table.params);
        table.urls.push(url);
    }
    drop(values);
    let [names, origins, paths] = numbers;
    (table.names, table.paths) = (names.texts, paths.texts);
    table.stems = stems::find(&table.paths);
    let mut hosts = Numbering::new();
    table.origins = origins.texts.iter().map(|text| origin(text, &mut hosts)).collect();
    table.hosts = hosts.texts;
}

/// Redirects between two URLs that are kept, each once, by their numbers in the table.
fn moves_of_kept(moves: &[(u32, u32)], number_of: &[u32]) -> Vec<(u32, u32)> {
    let number = |url: u32| Some(number_of[url as usize]).filter(|number| *number != NOT_KEPT);
    let mut moved: Vec<(u32, u32)> = moves
        .iter()
        .filter_map(|(from, to)| Some((number(*from)?, number(*to)?)))
        .filter(|(from, to)| from != to)
        .collect();
    moved.sort_unstable();
    moved.dedup();
    moved
}

/// The captures of all URLs. Contents are numbered in the order of their first use by sorted
/// URLs, so that numbers do not depend on the order of input.
fn captures<'a>(
    table: &mut Table,
    seen: &[UsableObservation],
    order: impl Fn(u32) -> (u64, &'a [u8]),
    known: usize,
    number_of: &[u32],
) {
    let mut starts = vec![0u32; table.urls.len() + 1];
    let number = |one: &UsableObservation| number_of[one.url as usize];
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
    let mut shown: Vec<(i64, u32)> = Vec::new();
    for (at, url) in table.urls.iter_mut().enumerate() {
        let own = &mut sorted[starts[at] as usize..starts[at + 1] as usize];
        own.sort_unstable_by(|(time, content), (than, other)| {
            time.cmp(than).then_with(|| order(*content).cmp(&order(*other)))
        });
        shown.clear();
        shown.extend(own.iter().filter(|(_, content)| *content != NO_CONTENT));
        shown.dedup();
        let start = table.captures.len() as u32;
        // The first is kept, and evenly spread ones after it.
        let step = shown.len().div_ceil(MINE_CAPTURES_MAX).max(1);
        for (time, content) in shown.iter().step_by(step) {
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
fn origin(text: &[u8], hosts: &mut Numbering) -> Origin {
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
    row: &KeptUrl,
    [names, origins, paths]: &mut [Numbering; 3],
    values: &mut Values<'a>,
    params: &mut Vec<Param>,
) -> Url {
    let span = row.span;
    let url = &text[span.start as usize..span.end as usize];
    let PartStarts { path, query: query_start, fragment } = row.parts;
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
}
