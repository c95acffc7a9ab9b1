//! Other spellings of a page: which changes one gets, in an order in which none spoils another.

use memchr::{memchr, memrchr};

use super::edit;
use super::page::{Page, Pages};
use super::site::Site;
use super::truth::{Class, RuleNames};
use crate::bytes::decimal::push_number;
use crate::generate::random::Random;

/// One way in which a spelling differs from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutation {
    Case,
    DefaultPort,
    Escapes,
    DotSegments,
    EmptyPath,
    Fragment,
    QueryOrder,
    Params,
    SessionIds,
    EmptyQuery,
    Encoding,
    Www,
    Scheme,
    TrailingSlash,
    DirectoryIndex,
    DuplicateSlashes,
}

use Mutation::{
    Case, DefaultPort, DirectoryIndex, DotSegments, DuplicateSlashes, EmptyPath, EmptyQuery,
    Encoding, Escapes, Fragment, Params, QueryOrder, Scheme, SessionIds, TrailingSlash, Www,
};

/// The properties of a mutation.
struct Row {
    mutation: Mutation,
    /// The rule that takes it back.
    rule: RuleNames,
    /// How often it is chosen against the others that the page admits.
    weight: u64,
    /// Does only the profile `aggressive` take it back?
    heuristic: bool,
    /// Mutations that cannot be combined with it. Listed on both sides.
    foes: &'static [Mutation],
}

const fn row(
    mutation: Mutation,
    rule: &str,
    weight: u64,
    heuristic: bool,
    foes: &'static [Mutation],
) -> Row {
    Row { mutation, rule: RuleNames::only(rule), weight, heuristic, foes }
}

/// Every mutation, in the order of the enum. Few pages admit `EmptyPath`, hence its weight.
const TABLE: [Row; 16] = [
    row(Case, "case", 10, false, &[]),
    // `http://a:443/` is not `https://a/`: the port belongs to the scheme it is written with.
    row(DefaultPort, "default-port", 8, false, &[Scheme]),
    row(Escapes, "escapes", 6, false, &[]),
    row(DotSegments, "dot-segments", 6, false, &[EmptyPath]),
    // `http://a?b` has no path left that anything could be put into.
    row(
        EmptyPath,
        "trailing-slash",
        20,
        false,
        &[DotSegments, TrailingSlash, DirectoryIndex, DuplicateSlashes],
    ),
    row(Fragment, "fragment", 16, false, &[]),
    row(QueryOrder, "query-order", 14, false, &[]),
    row(Params, "params", 18, false, &[EmptyQuery]),
    row(SessionIds, "session-ids", 6, false, &[EmptyQuery]),
    row(EmptyQuery, "empty-query", 5, false, &[Params, SessionIds]),
    row(Encoding, "encoding", 16, false, &[]),
    row(Www, "www", 5, true, &[]),
    row(Scheme, "scheme", 6, true, &[DefaultPort]),
    // `/a` to `/aindex.html`, or `/a/index.html/`: other pages.
    row(TrailingSlash, "trailing-slash", 6, true, &[EmptyPath, DirectoryIndex]),
    row(DirectoryIndex, "directory-index", 6, true, &[EmptyPath, TrailingSlash]),
    row(DuplicateSlashes, "duplicate-slashes", 3, true, &[EmptyPath]),
];

/// The sum of the weights of each set of eight rows: the first eight, and the others.
static WEIGHTS: [[u64; 256]; 2] = {
    let (mut sums, mut set) = ([[0; 256]; 2], 0);
    while set < 512 {
        let (half, bits) = (set >> 8, set & 255);
        let mut row = 0;
        while row < 8 {
            sums[half][bits] += (bits as u64 >> row & 1) * TABLE[8 * half + row].weight;
            row += 1;
        }
        set += 1;
    }
    sums
};

/// A set of mutations; bit `n` is row `n` of [`TABLE`].
#[derive(Clone, Copy, Debug, Default)]
struct Mutations {
    bits: u16,
}

impl Mutations {
    fn of(mutations: &[Mutation]) -> Self {
        Mutations { bits: mutations.iter().fold(0, |bits, &mutation| bits | 1 << mutation as u16) }
    }

    #[inline]
    fn has(self, mutation: Mutation) -> bool {
        self.bits >> mutation as u16 & 1 == 1
    }

    fn insert_if(&mut self, mutation: Mutation, condition: bool) {
        self.bits |= u16::from(condition) << mutation as u16;
    }

    fn without(self, other: Self) -> Self {
        Mutations { bits: self.bits & !other.bits }
    }

    fn rows(self) -> impl Iterator<Item = &'static Row> {
        let mut bits = self.bits;
        std::iter::from_fn(move || {
            let row = TABLE.get(bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(row)
        })
    }

    /// The sum of the weights.
    fn weights(self) -> u64 {
        let [low, high] = self.bits.to_le_bytes();
        WEIGHTS[0][usize::from(low)] + WEIGHTS[1][usize::from(high)]
    }

    /// The mutations that change this page.
    fn admitted(page: &Page, site: &Site) -> Self {
        let mut this = Self::of(&[Case, Escapes, Fragment, Params, SessionIds]);
        let path = page.path();
        let is_root = path == b"/";
        // The last segment that is not empty, or none: a slash is the last byte of some paths, and
        // never of two.
        let trimmed = path.strip_suffix(b"/").unwrap_or(path);
        let last = &trimmed[memrchr(b'/', trimmed).map_or(0, |slash| slash + 1)..];
        let is_name = memchr(b'.', last).is_some();
        let is_directory = path.ends_with(b"/") || path.ends_with(b"/index.php");
        this.insert_if(DefaultPort, site.port.is_none());
        this.insert_if(Scheme, site.port.is_none());
        this.insert_if(Www, site.bare);
        this.insert_if(EmptyPath, is_root);
        this.insert_if(DotSegments, true);
        this.insert_if(DuplicateSlashes, true);
        this.insert_if(TrailingSlash, !is_root && !is_name);
        this.insert_if(DirectoryIndex, is_directory);
        this.insert_if(QueryOrder, page.params() > 0);
        this.insert_if(EmptyQuery, page.params() == 0);
        this.insert_if(Encoding, edit::has_two_spellings(path, page.query()));
        this
    }

    /// One to three mutations that the page admits and that get along.
    fn choose(page: &Page, site: &Site, random: &mut Random) -> Self {
        let count = match random.below(100) {
            0..70 => 1,
            70..92 => 2,
            _ => 3,
        };
        let (mut free, mut chosen) = (Self::admitted(page, site), Self::default());
        for _ in 0..count {
            let mut rest = random.below(free.weights());
            for row in free.rows() {
                if rest < row.weight {
                    chosen.insert_if(row.mutation, true);
                    free = free.without(Self::of(row.foes)).without(Self::of(&[row.mutation]));
                    break;
                }
                rest -= row.weight;
            }
        }
        chosen
    }
}

/// Writes other spellings of pages. Keeps the buffers that this needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Speller {
    path: Vec<u8>,
    query: Vec<u8>,
    spare: Vec<u8>,
}

impl Speller {
    /// Appends another spelling of `page` to `line`, and returns how it differs.
    pub(super) fn spell(
        &mut self,
        (pages, page): (&Pages, &Page),
        random: &mut Random,
        line: &mut Vec<u8>,
    ) -> (Class, RuleNames) {
        let site = page.site(pages);
        let chosen = Mutations::choose(page, site, random);
        self.edit(page, chosen, random);
        self.write(site, chosen, random, line);
        let mut truth = (Class::Safe, RuleNames::default());
        for row in chosen.rows() {
            truth.1 = truth.1.union(row.rule);
            if row.heuristic {
                truth.0 = Class::Heuristic;
            }
        }
        truth
    }

    /// Fills `path` and `query` with those of `page` after the chosen edits.
    ///
    /// The order is what keeps an edit from hitting what another one wrote: characters first, then
    /// what stands at the end of the path, then what is put between segments, then what is
    /// appended.
    fn edit(&mut self, page: &Page, chosen: Mutations, random: &mut Random) {
        let Speller { path, query, spare } = self;
        path.clear();
        path.extend_from_slice(page.path());
        query.clear();
        if chosen.has(QueryOrder) && page.params() > 1 && random.percent(70) {
            rotate(page, random, query);
        } else {
            query.extend_from_slice(page.query());
            if chosen.has(QueryOrder) {
                edit::insert_empty_pair(query, random);
            }
        }
        if chosen.has(Encoding) {
            edit::respell(path, query, spare, random);
        }
        if chosen.has(DirectoryIndex) {
            // Before `Escapes` when a name goes, after it when one comes: the name itself stays
            // plain.
            let goes = path.ends_with(b"/index.php");
            if goes {
                edit::toggle_index(path, random);
            }
            if chosen.has(Escapes) {
                edit::escape_one(path, query, random);
            }
            if !goes {
                edit::toggle_index(path, random);
            }
        } else if chosen.has(Escapes) {
            edit::escape_one(path, query, random);
        }
        if chosen.has(TrailingSlash) {
            edit::toggle_slash(path);
        }
        if chosen.has(DuplicateSlashes) {
            edit::double_slash(path, random);
        }
        if chosen.has(DotSegments) {
            // After `DuplicateSlashes`: in `/tmp//../` the dots would take back the empty segment
            // only.
            edit::insert_dot_segment(path, random);
        }
        if chosen.has(SessionIds) {
            let path_allowed = !chosen.has(EmptyPath) && !chosen.has(DirectoryIndex);
            edit::append_session(path, query, path_allowed, random);
        }
        if chosen.has(Params) {
            edit::append_tracking(query, random);
        }
        if chosen.has(EmptyPath) {
            path.clear();
        }
    }

    fn write(&self, site: &Site, chosen: Mutations, random: &mut Random, line: &mut Vec<u8>) {
        let https = site.https != chosen.has(Scheme);
        let www = site.www != chosen.has(Www);
        if chosen.has(Case) {
            edit::push_origin(line, edit::OriginParts { https, www }, site, random);
        } else {
            line.extend_from_slice(if https { b"https://" } else { b"http://" });
            if www {
                line.extend_from_slice(b"www.");
            }
            line.extend_from_slice(site.host());
        }
        if let Some(port) = site.port {
            line.push(b':');
            push_number(line, u64::from(port));
        } else if chosen.has(DefaultPort) {
            edit::push_default_port(line, https, random);
        }
        line.extend_from_slice(&self.path);
        if !self.query.is_empty() || chosen.has(EmptyQuery) {
            line.push(b'?');
            line.extend_from_slice(&self.query);
        }
        if chosen.has(Fragment) {
            edit::push_fragment(line, random);
        }
    }
}

/// Writes the parameters of `page`, of which there are two or more, from another one round to it.
fn rotate(page: &Page, random: &mut Random, query: &mut Vec<u8>) {
    let first = 1 + random.position(page.params() - 1);
    for place in 0..page.params() {
        if place > 0 {
            query.push(b'&');
        }
        query.extend_from_slice(page.param((first + place) % page.params()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_in_order() {
        for (place, row) in TABLE.iter().enumerate() {
            assert_eq!(row.mutation as usize, place);
            assert_eq!(Mutations::of(&[row.mutation]).weights(), row.weight);
            for &foe in row.foes {
                assert!(TABLE[foe as usize].foes.contains(&row.mutation), "{foe:?} {place}");
            }
        }
        let rules = TABLE.iter().fold(RuleNames::default(), |rules, row| rules.union(row.rule));
        assert_eq!(rules, RuleNames::ALL);
        let all = Mutations { bits: u16::MAX };
        assert_eq!(all.weights(), all.rows().map(|row| row.weight).sum::<u64>());
    }

    #[test]
    fn every_mutation_appears_alone_and_changes_the_spelling() {
        let (pages, mut page, mut speller) = (Pages::new(1), Page::default(), Speller::default());
        let (mut line, mut random) = (Vec::new(), Random::new(1));
        let mut times = [0; TABLE.len()];
        for number in 0..20_000 {
            page.text.clear();
            page.fill(&pages, number);
            let site = page.site(&pages);
            for row in Mutations::admitted(&page, site).rows() {
                let only = Mutations::of(&[row.mutation]);
                line.clear();
                speller.edit(&page, only, &mut random);
                speller.write(site, only, &mut random, &mut line);
                assert!(
                    line != page.spelling(),
                    "{:?}: {}",
                    row.mutation,
                    String::from_utf8_lossy(&line)
                );
                times[row.mutation as usize] += 1;
            }
        }
        assert!(times.iter().all(|&times| times > 100), "{times:?}");
    }

    #[test]
    fn choices_get_along() {
        let (pages, mut page, mut random) = (Pages::new(5), Page::default(), Random::new(2));
        let mut sizes = [0; 4];
        for number in 0..30_000 {
            page.fill(&pages, number);
            let site = page.site(&pages);
            let chosen = Mutations::choose(&page, site, &mut random);
            sizes[chosen.rows().count()] += 1;
            assert_eq!(chosen.without(Mutations::admitted(&page, site)).bits, 0);
            for row in chosen.rows() {
                assert!(!row.foes.iter().any(|&foe| chosen.has(foe)), "{:?}", row.mutation);
            }
        }
        assert!(sizes[0] == 0 && sizes[1..].iter().all(|&times| times > 1_000), "{sizes:?}");
    }
}
