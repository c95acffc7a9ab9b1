//! What pages show: digests, sizes, or what they say is their URL.

use super::identity::Lookup;
use super::interner::Interner;
use super::maps::{Map, hash, map, mix};
use super::table::Span;

/// The number of no content.
pub(super) const NO_CONTENT: u32 = u32::MAX;

/// The distinct contents, with numbers in the order in which they came.
pub(super) struct Contents<'a> {
    /// The sort key of each: a hash, then the text.
    known: Vec<(u64, Text<'a>)>,
    lookup: Lookup,
    by_size: Map<u64, u32>,
    by_url: Map<u32, u32>,
}

/// What identifies a content.
#[derive(Clone, Copy)]
enum Text<'a> {
    Digest(&'a [u8]),
    /// A size; it has no text, and no two sizes have the same hash.
    Size,
    /// The canonical link of its pages, by the number of the URL.
    Url(Span),
}

impl<'a> Text<'a> {
    /// Its bytes; `urls` are the texts of URLs.
    fn bytes(self, urls: &'a [u8]) -> &'a [u8] {
        match self {
            Text::Digest(digest) => digest,
            Text::Size => b"",
            Text::Url(Span { start, end }) => &urls[start as usize..end as usize],
        }
    }
}

impl<'a> Contents<'a> {
    pub(super) fn new() -> Contents<'a> {
        Contents { known: Vec::new(), lookup: Lookup::with_room(0), by_size: map(), by_url: map() }
    }

    pub(super) fn of(&mut self, digest: &'a [u8]) -> u32 {
        let next = self.known.len() as u32;
        let number =
            self.lookup.number(digest, next, |number| self.known[number as usize].1.bytes(b""));
        if number == next {
            self.known.push((hash(digest), Text::Digest(digest)));
        }
        number
    }

    pub(super) fn of_size(&mut self, size: u64) -> u32 {
        let next = self.known.len() as u32;
        let number = *self.by_size.entry(size).or_insert(next);
        if number == next {
            self.known.push((mix(size), Text::Size));
        }
        number
    }

    /// The content of all pages whose canonical link is `url`, one of `urls`.
    pub(super) fn of_url(&mut self, url: u32, urls: &Interner) -> u32 {
        let next = self.known.len() as u32;
        let number = *self.by_url.entry(url).or_insert(next);
        if number == next {
            // Differs from a digest with the same bytes.
            let order = mix(hash(urls.text(url)));
            self.known.push((order, Text::Url(urls.spans[url as usize])));
        }
        number
    }

    /// The number of contents.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// The sort key of a content; `urls` are the texts of URLs.
    pub(super) fn order<'b>(&'b self, number: u32, urls: &'b [u8]) -> (u64, &'b [u8]) {
        let known = self.known.get(number as usize);
        known.map_or((0, b""), |(order, text)| (*order, text.bytes(urls)))
    }
}
