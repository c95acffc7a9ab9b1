//! HOT: the query of a URL, piece by piece: what stays, what goes, what is spelled anew.

use super::classes::{Class, set};
use super::path::canonical_escape;
use super::{Fused, Marked};
use crate::bytes::hex;
use crate::canonical::draft::push_escape;

/// A piece of a query that stays, as positions in the line or among the spelled pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    is_spelled: bool,
    start: usize,
    name_end: usize,
    end: usize,
}

impl Piece {
    fn text<'a>(&self, line: &'a [u8], spelled: &'a [u8]) -> &'a [u8] {
        &(if self.is_spelled { spelled } else { line })[self.start..self.end]
    }

    fn name<'a>(&self, line: &'a [u8], spelled: &'a [u8]) -> &'a [u8] {
        &(if self.is_spelled { spelled } else { line })[self.start..self.name_end]
    }

    fn value<'a>(&self, line: &'a [u8], spelled: &'a [u8]) -> &'a [u8] {
        let source = if self.is_spelled { spelled } else { line };
        source[..self.end].get(self.name_end + 1..).unwrap_or(b"")
    }
}

/// What a query is canonically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Not there, its `?` included.
    Nothing,
    /// A `?` alone.
    Bare,
    /// A `?` and the pieces.
    Pieces,
}

/// A query, read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query {
    /// Where it ends: at the fragment, or with the line.
    pub(super) end: usize,
    /// Is it spelled canonically?
    pub(super) is_canonical: bool,
    form: Form,
    is_sorted: bool,
}

impl Query {
    /// No query, where a path ends.
    pub(super) fn none(path_end: usize) -> Query {
        Query { end: path_end, is_canonical: true, form: Form::Nothing, is_sorted: true }
    }

    /// Is nothing left of it, not even the `?`?
    pub(super) fn is_nothing(&self) -> bool {
        self.form == Form::Nothing
    }

    /// Writes it in its canonical form.
    pub(super) fn write(
        &self,
        line: &[u8],
        pieces: &mut [Piece],
        spelled: &[u8],
        out: &mut Vec<u8>,
    ) {
        match self.form {
            Form::Nothing => {}
            Form::Bare => out.push(b'?'),
            Form::Pieces => {
                if !self.is_sorted {
                    // Stable: pieces of one name keep their order.
                    pieces.sort_by(|a, b| a.name(line, spelled).cmp(b.name(line, spelled)));
                }
                for (number, piece) in pieces.iter().enumerate() {
                    out.push(if number == 0 { b'?' } else { b'&' });
                    out.extend_from_slice(piece.text(line, spelled));
                }
            }
        }
    }
}

impl Fused {
    /// Reads the query whose `?` is `line[mark_at]` and gathers what stays of it in `pieces`; `None`
    /// to refuse.
    #[inline]
    pub(super) fn read_query(
        &self,
        url: Marked,
        mark_at: usize,
        host: &[u8],
        pieces: &mut Vec<Piece>,
        spelled: &mut Vec<u8>,
    ) -> Option<Query> {
        let Marked { line, marks } = url;
        pieces.clear();
        spelled.clear();
        let (mut is_canonical, mut is_sorted) = (true, true);
        let (mut has_dropped, mut has_empty) = (false, false);
        let mut start = mark_at + 1;
        let needs_look = marks.has(set::QUERY_LOOK, start, line.len());
        let end = loop {
            let mut end = marks.next(set::PIECE, start);
            let mut name_end = None;
            while line.get(end) == Some(&b'=') {
                name_end.get_or_insert(end);
                end = marks.next(set::PIECE, end + 1);
            }
            let name_end = name_end.unwrap_or(end);
            let mut piece = Piece { is_spelled: false, start, name_end, end };
            if start == end {
                has_empty = true;
                is_canonical &= !self.sort;
                if !self.sort {
                    pieces.push(piece);
                }
            } else {
                if needs_look && !self.is_spelled_well(url, &piece) {
                    piece = self.spell_piece(url, &piece, spelled)?;
                }
                let drops_equals = self.form && self.empty_values && piece.start < piece.name_end;
                if drops_equals && piece.name_end + 1 == piece.end {
                    piece.end -= 1;
                    is_canonical = false;
                }
                let name = piece.name(line, spelled);
                if self.drops(host, name, piece.value(line, spelled)) {
                    has_dropped = true;
                    is_canonical = false;
                } else {
                    if self.sort
                        && let Some(last) = pieces.last()
                    {
                        is_sorted &= last.name(line, spelled) <= name;
                    }
                    is_canonical &= !piece.is_spelled;
                    pieces.push(piece);
                }
            }
            if line.get(end) != Some(&b'&') {
                break end;
            }
            start = end + 1;
        };
        let is_bare = match pieces.as_slice() {
            [] => true,
            [only] => only.start == only.end,
            _ => false,
        };
        let form = match is_bare {
            false => Form::Pieces,
            // Dropping the last parameter drops the `?`; an empty query that was there is a rule's.
            true if self.drop_empty_query || has_dropped && !has_empty => Form::Nothing,
            true => Form::Bare,
        };
        let is_canonical = match form {
            Form::Nothing => false,
            Form::Bare => end == mark_at + 1,
            Form::Pieces => is_canonical && is_sorted,
        };
        Some(Query { end, is_canonical, form, is_sorted })
    }

    /// Does the parameter go?
    #[inline]
    fn drops(&self, host: &[u8], name: &[u8], value: &[u8]) -> bool {
        self.outlines.may_have(name) && self.drops_surely(host, name, value)
    }

    #[inline(never)]
    fn drops_surely(&self, host: &[u8], name: &[u8], value: &[u8]) -> bool {
        self.drop_params.as_ref().is_some_and(|names| names.matches(host, name, value))
            || self.sessions.as_ref().is_some_and(|names| names.matches_query(name, value))
    }

    /// Is every byte of `piece` that needs a look part of a canonical escape?
    fn is_spelled_well(&self, url: Marked, piece: &Piece) -> bool {
        let Marked { line, marks } = url;
        let mut at = marks.next(set::QUERY_LOOK, piece.start);
        while at < piece.end {
            match canonical_escape(&line[at..]) {
                Some(byte) if !self.is_raw_in_query(byte, at > piece.name_end) => {}
                _ => return false,
            }
            at = marks.next(set::QUERY_LOOK, at + 1);
        }
        true
    }

    /// Is `byte` spelled without an escape in a query, whichever way it came?
    #[inline]
    fn is_raw_in_query(&self, byte: u8, in_value: bool) -> bool {
        self.raw_in_query[usize::from(byte)] || byte == b'=' && in_value && self.form
    }

    /// Spells `piece` canonically, at the end of `spelled`.
    fn spell_piece(&self, url: Marked, piece: &Piece, spelled: &mut Vec<u8>) -> Option<Piece> {
        let start = spelled.len();
        self.spell(url, piece.start, piece.name_end, false, spelled)?;
        let name_end = spelled.len();
        if piece.name_end < piece.end {
            spelled.push(b'=');
            self.spell(url, piece.name_end + 1, piece.end, true, spelled)?;
        }
        Some(Piece { is_spelled: true, start, name_end, end: spelled.len() })
    }

    /// Spells `line[at..end]`, a name or a value.
    fn spell(
        &self,
        url: Marked,
        mut at: usize,
        end: usize,
        in_value: bool,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let Marked { line, marks } = url;
        loop {
            let look = marks.next(set::QUERY_LOOK, at).min(end);
            out.extend_from_slice(&line[at..look]);
            at = look;
            if at == end {
                return Some(());
            }
            // Bet: bytes that need a look come in rows.
            while at < end {
                match self.query[usize::from(line[at])] {
                    Class::Escape => push_escape(out, line[at]),
                    Class::Plus => out.extend_from_slice(b"%20"),
                    Class::Percent => {
                        if let [high, low, ..] = line[at + 1..]
                            && let Some(byte) = hex::pair(high, low)
                        {
                            if self.is_raw_in_query(byte, in_value) {
                                out.push(byte);
                            } else {
                                push_escape(out, byte);
                            }
                            at += 2;
                        } else {
                            self.write_bare_percent(&line[at + 1..], out)?;
                        }
                    }
                    Class::Plain | Class::Equals => break,
                    _ => return None,
                }
                at += 1;
            }
        }
    }
}
