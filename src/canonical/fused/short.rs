//! HOT: a query of a few short parameters that are spelled well: which of them stay, in which order.
//!
//! Most queries that are not canonical are such. How many parameters there are, which of them go and
//! how they are to be ordered cannot be foretold, so there is a branch where the parameters end, and next
//! to none on the rest. All numbers of parameters share one code: it is called for every fourth line,
//! and four times as much of it would take the place of other code in the cache.

use super::classes::set;
use super::order::{is_unclear, number_of, numbered, sort};
use super::{Answer, Fused, Marked, Start, USUAL};
use crate::bytes::{first_bytes, push_short, push_up_to};

/// Where a query ends is a bit of a word, too.
const LENGTH_MAX: usize = u64::BITS as usize - 1;

/// Most pieces of a short query.
const PIECES_MAX: usize = 4;

/// A short query with its `?`, and what is read or copied with its last piece.
const WINDOW: usize = LENGTH_MAX + 1 + 32;

/// A short query of a line, and the marks of it, from its first byte on. No piece ends with an `=`
/// that would go.
struct Short<'a> {
    /// What starts with the `?`.
    window: &'a [u8; WINDOW],
    length: usize,
    /// Where its pieces end.
    ends: u64,
    /// Where an `=` or a `-` stands.
    name_ends: u64,
}

/// A piece of a short query: where it starts, and where its name and it end, from the query's first byte
/// on. A byte each, in one number, so that what was written is read in one step.
#[derive(Clone, Copy, Default)]
struct Piece(u32);

impl Piece {
    #[inline(always)]
    fn new(from: usize, name_end: usize, end: usize) -> Piece {
        Piece((from | name_end << 8 | end << 16) as u32)
    }

    #[inline(always)]
    fn parts(self) -> [usize; 3] {
        // The bits say once more, for the compiler, that all is within the longest query.
        [self.0, self.0 >> 8, self.0 >> 16].map(|place| place as usize & LENGTH_MAX)
    }
}

/// What stays of a short query.
struct Order {
    pieces: [Piece; PIECES_MAX],
    /// The places of the pieces that stay, in their order; then the highest there are.
    places: [u64; PIECES_MAX],
    /// How many stay.
    kept: usize,
    is_canonical: bool,
}

impl Order {
    /// That of `count` pieces, before they are read.
    #[inline(always)]
    fn of(count: usize) -> Order {
        let (pieces, places) = ([Piece::default(); PIECES_MAX], [u64::MAX; PIECES_MAX]);
        Order { pieces, places, kept: count, is_canonical: true }
    }
}

impl<'a> Short<'a> {
    /// The query whose `?` is `line[mark_at]`, where the `window` starts, if no byte of it needs a
    /// look, and no piece is empty or, with `drops_bare_equals`, ends with an `=`.
    #[inline(always)]
    fn at(
        url: &Marked,
        mark_at: usize,
        window: &'a [u8; WINDOW],
        drops_bare_equals: bool,
    ) -> Option<Short<'a>> {
        let Marked { line, marks, .. } = *url;
        let start = mark_at + 1;
        let cuts = marks.window_beyond(set::CUT, start);
        let looks = marks.window_beyond(set::QUERY_LOOK, start);
        // An `&` is no look.
        let length = line.len().wrapping_sub(start).min((cuts & looks).trailing_zeros() as usize);
        let is_query = (1..=LENGTH_MAX).contains(&length) && line[mark_at] == b'?';
        if !is_query || line.get(start + length) == Some(&b'?') {
            return None;
        }
        let end = 1 << length;
        let ends = cuts & (end - 1) | end;
        let looks = looks & (end - 1);
        let empty = ends & (ends << 1 | 1);
        let name_ends = marks.window_beyond(set::NAME_END, start) & (end - 1);
        // An `=` that nothing follows may go; a `-` there is taken for one.
        let bare = if drops_bare_equals { name_ends & ends >> 1 } else { 0 };
        (looks | empty | bare == 0).then_some(Short { window, length, ends, name_ends })
    }

    /// Writes what stays.
    #[inline(always)]
    fn write(&self, order: &Order, out: &mut Vec<u8>) {
        let first = out.len();
        for place in order.places.iter().take(order.kept) {
            // A piece is written with what stands before it.
            let number = number_of(*place) % PIECES_MAX;
            let [from, _, end] = order.pieces[number].parts();
            let before = out.len();
            push_short(out, self.window, from, end + 1);
            out[before] = b'&';
        }
        if order.kept > 0 {
            out[first] = b'?';
        }
    }
}

/// A window that starts with `text`, which is shorter.
#[cold]
fn window_of(text: &[u8]) -> [u8; WINDOW] {
    let mut window = [0; WINDOW];
    window[..text.len()].copy_from_slice(text);
    window
}

impl Fused {
    /// Goes on from the `start` of a line with a short query; what follows it goes. May say no where
    /// yes were right.
    #[inline(never)]
    pub(super) fn with_short_query(
        &self,
        url: &Marked,
        start: &Start,
        out: &mut Vec<u8>,
    ) -> Option<Answer> {
        if !self.takes_queries_apart {
            return None;
        }
        let text = &url.text[start.path_end..];
        let space;
        let window = match text.first_chunk() {
            Some(window) => window,
            None => {
                space = window_of(text);
                &space
            }
        };
        let short = Short::at(url, start.path_end, window, self.form && self.empty_values)?;
        let fragment = url.line.get(start.path_end + 1 + short.length + 1..);
        if fragment.is_some_and(|fragment| self.keeps_fragment(fragment) != Some(false)) {
            return None;
        }
        // How many pieces there are, told by their ends.
        let without_first = |ends: u64| ends & ends.wrapping_sub(1);
        let second = without_first(short.ends);
        let third = without_first(second);
        let fourth = without_first(third);
        if without_first(fourth) != 0 {
            return None;
        }
        let count =
            [second, third, fourth].into_iter().fold(1, |n, ends| n + usize::from(ends != 0));
        let mut order = Order::of(count);
        if !self.put_in_order(&short, start.head.name, &mut order) {
            return None;
        }
        if start.is_canonical() {
            if order.is_canonical {
                return Some(Answer::Same(start.path_end + 1 + short.length));
            }
            if order.kept == 0 {
                return Some(Answer::Same(start.path_end));
            }
            out.clear();
            out.reserve(url.line.len() + 32);
            push_up_to::<USUAL>(out, url.text, 0, start.path_end);
        } else {
            self.write_start(url, start, out)?;
        }
        short.write(&order, out);
        Some(Answer::Written)
    }

    /// Reads the pieces of a query, and tells which of them stay, and in which order. Says whether it could: no
    /// name holds a `-`, and their first bytes tell them apart.
    #[inline(always)]
    fn put_in_order(&self, short: &Short, host: &[u8], order: &mut Order) -> bool {
        let Short { window, mut ends, mut name_ends, .. } = *short;
        let Order { pieces, places, kept, is_canonical } = order;
        // A query starts behind its mark.
        let key_at = |from: usize, name_end: usize| {
            let bytes = window[from + 1..].first_chunk();
            first_bytes(
                bytes.expect("a piece starts within the length of a query"),
                name_end - from,
            )
        };
        let count = *kept;
        let (mut suspects, mut is_sorted, mut unclear) = (0u32, true, false);
        let (mut from, mut last) = (0, 0);
        for number in 0..count.min(PIECES_MAX) {
            let end = ends.trailing_zeros() as usize;
            let name_end = end.min(name_ends.trailing_zeros() as usize);
            name_ends &= !(ends ^ ends.wrapping_sub(1));
            ends &= ends.wrapping_sub(1);
            // A name may hold a `-`.
            unclear |= (name_end != end) & (window[name_end + 1] != b'=');
            let key = key_at(from, name_end);
            let last_byte = window[name_end];
            let may_go = self.unwanted.outlines().may_have(key, last_byte, name_end - from);
            suspects |= u32::from(may_go) << number;
            // Unsorted, a piece is in the order of its number alone.
            let place = numbered(if self.sort { key } else { 0 }, number);
            is_sorted &= place >= last;
            places[number] = place;
            pieces[number] = Piece::new(from, name_end, end);
            last = place;
            from = end + 1;
        }
        while suspects != 0 {
            let number = suspects.trailing_zeros() as usize % PIECES_MAX;
            suspects &= suspects - 1;
            let [from, name_end, end] = pieces[number].parts();
            let name = &window[from + 1..name_end + 1];
            let value = window[..end + 1].get(name_end + 2..).unwrap_or(b"");
            if self.drops(key_at(from, name_end), host, name, value) {
                places[number] = u64::MAX;
                *kept -= 1;
            }
        }
        *is_canonical = is_sorted & (*kept == count);
        if !*is_canonical {
            sort(places);
        }
        for at in 1..PIECES_MAX {
            unclear |= is_unclear(&places[at - 1..=at]) & (at < *kept);
        }
        !unclear
    }
}
