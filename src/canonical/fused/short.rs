//! HOT: a query of a few short parameters that are spelled well: which of them stay, in which order.
//!
//! Most queries that are not canonical are such. How many parameters there are, which of them go and
//! how they are to be ordered cannot be foretold, so there is one branch on how many there are, and
//! next to none on the rest.

use super::classes::set;
use super::order::{is_unclear, number_of, numbered, sort};
use super::{Answer, Fused, Marked, Start, USUAL};
use crate::bytes::{first_word, push_short, push_up_to};

/// Where a query ends is a bit of a word, too.
const LENGTH_MAX: usize = u64::BITS as usize - 1;

/// A short query of a line, and the marks of it, from its first byte on.
struct Short<'a> {
    line: &'a [u8],
    /// What starts with the line.
    text: &'a [u8],
    start: usize,
    length: usize,
    /// Where its pieces end.
    ends: u64,
    equals: u64,
}

/// What stays of a query of `N` pieces.
struct Order<const N: usize> {
    /// Where the pieces start, and where their names and they end, from the query's first byte on.
    pieces: [[u8; 3]; N],
    /// The pieces, those that stay before all others, in their order.
    order: [u64; N],
    /// How many stay.
    kept: usize,
    is_canonical: bool,
}

impl<'a> Short<'a> {
    /// The query whose `?` is `line[mark_at]`, if no byte of it needs a look and no piece is empty.
    #[inline(always)]
    fn at(url: &Marked<'a>, mark_at: usize) -> Option<Short<'a>> {
        let Marked { line, text, marks } = *url;
        let start = mark_at + 1;
        let ends = marks.window_beyond(set::PIECE_END, start);
        let fragments = ends & marks.window_beyond(set::END, start);
        let length = line.len().wrapping_sub(start).min(fragments.trailing_zeros() as usize);
        if !(1..=LENGTH_MAX).contains(&length) || line[mark_at] != b'?' {
            return None;
        }
        let end = 1 << length;
        let ends = ends & (end - 1) | end;
        let looks = marks.window_beyond(set::QUERY_LOOK, start) & (end - 1);
        let empty = ends & (ends << 1 | 1);
        let equals = marks.window_beyond(set::EQUALS, start) & (end - 1);
        (looks | empty == 0).then_some(Short { line, text, start, length, ends, equals })
    }

    /// Writes what stays.
    #[inline(always)]
    fn write<const N: usize>(&self, order: &Order<N>, out: &mut Vec<u8>) {
        let first = out.len();
        for (at, place) in order.order.iter().enumerate() {
            if at < order.kept {
                // A piece is written with what stands before it.
                let [from, _, to] = order.pieces[number_of(*place)].map(usize::from);
                let before = out.len();
                push_short(out, self.text, self.start + from - 1, self.start + to);
                out[before] = b'&';
            }
        }
        if order.kept > 0 {
            out[first] = b'?';
        }
    }
}

impl Fused {
    /// Goes on from the `start` of a line with a short query; what follows it goes. May say no where
    /// yes were right.
    #[inline(always)]
    pub(super) fn with_short_query(
        &self,
        url: &Marked,
        start: &Start,
        out: &mut Vec<u8>,
    ) -> Option<Answer> {
        if !self.takes_queries_apart {
            return None;
        }
        let short = Short::at(url, start.path_end)?;
        let fragment = url.line.get(short.start + short.length + 1..);
        if fragment.is_some_and(|fragment| self.keeps_fragment(fragment) != Some(false)) {
            return None;
        }
        match short.ends.count_ones() {
            1 => self.in_order::<1>(url, start, &short, out),
            2 => self.in_order::<2>(url, start, &short, out),
            3 => self.in_order::<3>(url, start, &short, out),
            4 => self.in_order::<4>(url, start, &short, out),
            _ => None,
        }
    }

    /// The same for a query of `N` pieces.
    #[inline(never)]
    fn in_order<const N: usize>(
        &self,
        url: &Marked,
        start: &Start,
        short: &Short,
        out: &mut Vec<u8>,
    ) -> Option<Answer> {
        let order = self.order::<N>(short, start.head.name)?;
        if start.is_canonical() {
            if order.is_canonical {
                return Some(Answer::Same(short.start + short.length));
            }
            if order.kept == 0 {
                return Some(Answer::Same(start.path_end));
            }
        }
        if start.is_canonical() {
            out.clear();
            out.reserve(url.line.len() + 32);
            push_up_to::<USUAL>(out, url.text, 0, start.path_end);
        } else {
            self.write_start(url, start, out)?;
        }
        short.write(&order, out);
        Some(Answer::Written)
    }

    /// Which pieces stay, in which order; `None` where the first bytes of their names do not tell.
    #[inline(always)]
    fn order<const N: usize>(&self, short: &Short, host: &[u8]) -> Option<Order<N>> {
        let Short { line, start, mut ends, mut equals, .. } = *short;
        let mut pieces = [[0; 3]; N];
        let mut order = [0; N];
        let (mut suspects, mut is_canonical) = (0u32, true);
        let (mut from, mut last) = (0, 0);
        for number in 0..N {
            let end = ends.trailing_zeros() as usize;
            let name_end = end.min(equals.trailing_zeros() as usize);
            equals &= !(ends ^ ends.wrapping_sub(1));
            ends &= ends.wrapping_sub(1);
            let to = self.without_equals(from, name_end, end);
            let key = first_word(line, start + from, start + name_end);
            let last_byte = line[start + name_end - 1];
            let may_go = self.unwanted.outlines().may_have(key, last_byte, name_end - from);
            suspects |= u32::from(may_go) << number;
            // Unsorted, a piece is in the order of its number alone.
            let place = numbered(if self.sort { key } else { 0 }, number);
            is_canonical &= (to == end) & (place >= last);
            order[number] = place;
            pieces[number] = [from as u8, name_end as u8, to as u8];
            last = place;
            from = end + 1;
        }
        let mut kept = N;
        while suspects != 0 {
            let number = suspects.trailing_zeros() as usize;
            suspects &= suspects - 1;
            let [name, name_end, end] = pieces[number].map(|at| start + usize::from(at));
            let value = line[..end].get(name_end + 1..).unwrap_or(b"");
            let key = first_word(line, name, name_end);
            if self.drops(key, host, &line[name..name_end], value) {
                order[number] = u64::MAX;
                kept -= 1;
            }
        }
        is_canonical &= kept == N;
        if !is_canonical {
            sort(&mut order);
        }
        let mut unclear = false;
        for at in 1..N {
            unclear |= is_unclear(&order[at - 1..=at]) & (at < kept);
        }
        (!unclear).then_some(Order { pieces, order, kept, is_canonical })
    }
}
