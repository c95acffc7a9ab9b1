//! HOT: a query of a few short parameters that are spelled well: which of them stay, in which order.
//!
//! Most queries that are not canonical are such. How many parameters there are, which of them go and
//! how they are to be ordered cannot be foretold, so there is one branch on how many there are, and
//! next to none on the rest.

use super::classes::set;
use super::order::{is_unclear, number_of, numbered, sort};
use super::{Answer, Fused, Marked, Start, USUAL};
use crate::bytes::{first_bytes, push_short, push_up_to};

/// Where a query ends is a bit of a word, too.
const LENGTH_MAX: usize = u64::BITS as usize - 1;

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
    fn write<const N: usize>(&self, order: &Order<N>, out: &mut Vec<u8>) {
        let first = out.len();
        for (number, place) in order.order.iter().enumerate() {
            if number < order.kept {
                // A piece is written with what stands before it.
                let [from, _, end] = order.pieces[number_of(*place)].map(usize::from);
                let before = out.len();
                // The bits say once more, for the compiler, that it starts within the longest query.
                push_short(out, self.window, from & LENGTH_MAX, end + 1);
                out[before] = b'&';
            }
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
        if second == 0 {
            self.in_order::<1>(url, start, &short, out)
        } else if third == 0 {
            self.in_order::<2>(url, start, &short, out)
        } else if fourth == 0 {
            self.in_order::<3>(url, start, &short, out)
        } else if without_first(fourth) == 0 {
            self.in_order::<4>(url, start, &short, out)
        } else {
            None
        }
    }

    /// The same for a query of `N` pieces.
    #[inline(always)]
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

    /// Which pieces stay, in which order; `None` where the first bytes of their names do not tell.
    #[inline(always)]
    fn order<const N: usize>(&self, short: &Short, host: &[u8]) -> Option<Order<N>> {
        let Short { window, mut ends, mut name_ends, .. } = *short;
        // A query starts behind its mark.
        let key_at = |from: usize, name_end: usize| {
            let bytes = window[from + 1..].first_chunk();
            first_bytes(
                bytes.expect("a piece starts within the length of a query"),
                name_end - from,
            )
        };
        let mut pieces = [[0; 3]; N];
        let mut order = [0; N];
        let (mut suspects, mut is_canonical, mut unclear) = (0u32, true, false);
        let (mut from, mut last) = (0, 0);
        for number in 0..N {
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
            is_canonical &= place >= last;
            order[number] = place;
            pieces[number] = [from as u8, name_end as u8, end as u8];
            last = place;
            from = end + 1;
        }
        let mut kept = N;
        while suspects != 0 {
            let number = suspects.trailing_zeros() as usize;
            suspects &= suspects - 1;
            let [from, name_end, end] = pieces[number].map(usize::from);
            let name = &window[from + 1..name_end + 1];
            let value = window[..end + 1].get(name_end + 2..).unwrap_or(b"");
            if self.drops(key_at(from, name_end), host, name, value) {
                order[number] = u64::MAX;
                kept -= 1;
            }
        }
        is_canonical &= kept == N;
        if !is_canonical {
            sort(&mut order);
        }
        for at in 1..N {
            unclear |= is_unclear(&order[at - 1..=at]) & (at < kept);
        }
        (!unclear).then_some(Order { pieces, order, kept, is_canonical })
    }
}
