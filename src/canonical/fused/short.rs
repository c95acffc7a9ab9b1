//! HOT: once per query. Short queries that need no byte rewritten: which of their parameters stay,
//! and in which order.
//!
//! Most queries that are not canonical are such. How many parameters there are, which of them go
//! and their order cannot be predicted, so there is a branch where the parameters end, and next to
//! none on the rest. There are so few of them that the compiler writes the loop over them out, one
//! after the other, and all numbers of parameters share that.

use super::classes::set;
use super::order::{is_unclear, number_of, numbered, sort};
use super::query::QueryRules;
use super::{Answer, Fused, MarkedUrl, Start, USUAL};
use crate::bytes::{first_bytes, push_up_to};
use crate::canonical::names::Suspects;

/// Where a query ends is a bit of a word, too.
const LENGTH_MAX: usize = u64::BITS as usize - 1;

/// Most pieces of a short query.
const PIECES_MAX: usize = 4;

/// The place of a piece that goes, or of none: after all others, no name's, and clear beside
/// another such one (see [`is_unclear`]).
const GONE: u64 = !0xff;

/// How many bytes are copied of a piece, whatever its length: none has more.
const COPIED: usize = LENGTH_MAX + 1;

/// A short query with its `?`, and what is read or copied with its last piece.
const WINDOW: usize = 2 * COPIED;

/// A short query of a URL, and the marks of it, from its first byte on. No piece ends with an `=`
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

/// What stays of a short query, in order.
struct Order {
    /// For each piece, where in the window what stands before it is.
    starts: [u8; PIECES_MAX],
    /// Where it ends there.
    ends: [u8; PIECES_MAX],
    /// How many stay; those after them count for nothing.
    kept: usize,
    is_canonical: bool,
}

impl<'a> Short<'a> {
    /// The query whose `?` is `given[query_at]`, where the `window` starts, if no byte of it needs
    /// a look, and no piece is empty or, with `drops_bare_equals`, ends with an `=`.
    #[inline(always)]
    fn at(
        url: &MarkedUrl,
        query_at: usize,
        window: &'a [u8; WINDOW],
        drops_bare_equals: bool,
    ) -> Option<Short<'a>> {
        let MarkedUrl { given, marks, .. } = *url;
        let start = query_at + 1;
        let cuts = marks.window_beyond(set::CUT, start);
        let looks = marks.window_beyond(set::QUERY_LOOK, start);
        // An `&` is no look.
        let length = given.len().wrapping_sub(start).min((cuts & looks).trailing_zeros() as usize);
        let is_query = (1..=LENGTH_MAX).contains(&length) && given[query_at] == b'?';
        if !is_query || given.get(start + length) == Some(&b'?') {
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

    /// The first bytes of the name of `length` after what is at `start` in the window.
    #[inline(always)]
    fn key(&self, start: usize, length: usize) -> u64 {
        let bytes = self.window[start + 1..].first_chunk();
        first_bytes(bytes.expect("a piece starts within the length of a query"), length)
    }

    /// Writes what stays.
    #[inline(always)]
    fn write(&self, order: &Order, out: &mut Vec<u8>) {
        let first = out.len();
        out.extend_from_slice(self.window);
        let room = out[first..].first_chunk_mut::<WINDOW>().expect("appended above");
        let mut length = 0;
        for (start, end) in order.starts.into_iter().zip(order.ends).take(order.kept) {
            // A piece is written with what stands before it.
            let start = usize::from(start) % COPIED;
            let piece = &self.window[start..start + COPIED];
            let at = length.min(COPIED);
            room[at..at + COPIED].copy_from_slice(piece);
            room[at] = b'&';
            length += usize::from(end) - start;
        }
        room[0] = b'?';
        out.truncate(first + length);
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
    /// Goes on from the `start` of a URL with a short query; what follows it goes. May say no where
    /// yes were right.
    #[inline(never)]
    pub(super) fn with_short_query(
        &self,
        url: &MarkedUrl,
        start: &Start,
        out: &mut Vec<u8>,
    ) -> Option<Answer> {
        if !self.query.takes_apart {
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
        let short = Short::at(url, start.path_end, window, self.query.drops_bare_equals)?;
        let fragment = url.given.get(start.path_end + 1 + short.length + 1..);
        if fragment.is_some_and(|fragment| self.fragment.keeps(fragment) != Some(false)) {
            return None;
        }
        let order = self.query.put_in_order(&short, start.head.name)?;
        if start.is_canonical() {
            if order.is_canonical {
                return Some(Answer::Same(start.path_end + 1 + short.length));
            }
            if order.kept == 0 {
                return Some(Answer::Same(start.path_end));
            }
            out.clear();
            out.reserve(url.given.len() + WINDOW);
            push_up_to::<USUAL>(out, url.text, 0, start.path_end);
        } else {
            self.write_start(url, start, out)?;
        }
        short.write(&order, out);
        Some(Answer::Written)
    }
}

impl QueryRules {
    /// Reads the pieces of a query, and finds out which of them stay, and in which order. `None` if
    /// it cannot: a name holds a `-`, or their first bytes are the same.
    #[inline(always)]
    fn put_in_order(&self, short: &Short, host: &[u8]) -> Option<Order> {
        let Short { window, mut ends, mut name_ends, .. } = *short;
        let suspects = self.unwanted.suspects(host);
        let mut places = [GONE; PIECES_MAX];
        // Where in the window they are; a query starts there after its mark.
        let (mut starts, mut stops) = ([0u8; PIECES_MAX], [0u8; PIECES_MAX]);
        let mut name_stops = [0u8; PIECES_MAX];
        let (mut looked_up, mut is_sorted, mut unclear) = (0u32, true, false);
        let (mut from, mut last) = (0, 0);
        let mut count = 0;
        while ends != 0 {
            if count == PIECES_MAX {
                return None;
            }
            let end = ends.trailing_zeros() as usize;
            let name_end = (name_ends | ends).trailing_zeros() as usize;
            name_ends &= !(ends ^ ends.wrapping_sub(1));
            ends &= ends.wrapping_sub(1);
            // A name may hold a `-`.
            unclear |= window[name_end + 1] == b'-';
            let key = short.key(from, name_end - from);
            let last_byte = window[name_end];
            let behind = Suspects::behind(end - name_end);
            let may_go = suspects.have(key, last_byte, name_end - from, behind);
            looked_up |= u32::from(may_go) << count;
            // Unsorted, a piece is in the order of its number alone.
            let place = numbered(if self.sort { key } else { 0 }, count);
            is_sorted &= place >= last;
            places[count] = place;
            starts[count] = from as u8;
            name_stops[count] = name_end as u8 + 1;
            stops[count] = end as u8 + 1;
            last = place;
            from = end + 1;
            count += 1;
        }
        let mut kept = count;
        while looked_up != 0 {
            let number = looked_up.trailing_zeros() as usize % PIECES_MAX;
            looked_up &= looked_up - 1;
            if self.goes(short, host, [starts, name_stops, stops].map(|places| places[number])) {
                places[number] = GONE;
                kept -= 1;
            }
        }
        let is_canonical = is_sorted & (kept == count);
        if !is_canonical {
            sort(&mut places);
        }
        for pair in places.windows(2) {
            unclear |= is_unclear(pair);
        }
        let numbers = places.map(|place| number_of(place) % PIECES_MAX);
        let order = Order {
            starts: numbers.map(|number| starts[number]),
            ends: numbers.map(|number| stops[number]),
            kept,
            is_canonical,
        };
        (!unclear).then_some(order)
    }

    /// Does a piece go? Its places in the window are where it starts, with what stands before it,
    /// and where its name and it end.
    #[inline(always)]
    fn goes(&self, short: &Short, host: &[u8], [start, name_stop, stop]: [u8; 3]) -> bool {
        let [name_stop, stop] = [name_stop, stop].map(|place| usize::from(place).min(COPIED));
        let start = usize::from(start) % COPIED;
        let name = short.window.get(start + 1..name_stop).unwrap_or(b"");
        let value = short.window[..stop].get(name_stop + 1..).unwrap_or(b"");
        self.drops(short.key(start, name.len()), host, name, value)
    }
}
