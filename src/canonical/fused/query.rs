//! HOT: once per parameter. The query of a URL: what stays, what goes, what is spelled anew.

use std::cmp::Ordering;

use super::MarkedUrl;
use super::classes::{Class, Escaping, Table, query_table, raw_in_query, set};
use super::order::{FEW, is_unclear, number_of, numbered, sort};
use super::path::{canonical_escape, push_bare_percent, push_escapes, push_space};
use crate::bytes::{first_word, hex, push_short};
use crate::canonical::draft::push_escape;
use crate::canonical::names::{Suspects, Unwanted};
use crate::canonical::profile::Profile;
use crate::canonical::rules::RuleId;

/// What a profile asks for in queries.
#[derive(Debug)]
pub(super) struct QueryRules {
    pub(super) classes: Table,
    /// The bytes that are spelled without an escape, whichever way they came. In a value, `=` may
    /// be raw, too.
    pub(super) is_raw: [bool; 256],
    escaping: Escaping,
    /// Is `?a=` spelled `?a`?
    pub(super) drops_bare_equals: bool,
    /// The parameters that go.
    pub(super) unwanted: Unwanted,
    pub(super) sort: bool,
    /// Does anything depend on the parameters of a query?
    pub(super) takes_apart: bool,
    /// Does an empty query go with its `?`?
    drop_empty: bool,
}

/// A piece of a query that stays, as positions in the URL or among the spelled pieces.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The first eight bytes of the name, zeros after it: in the order of names as far as they go.
    key: u64,
    start: u32,
    name_end: u32,
    end: u32,
    is_spelled: bool,
}

impl Piece {
    /// A piece of the URL. Limits: the URL, and whatever is spelled, is shorter than four times
    /// [`URL_BYTES_MAX`](crate::limits::URL_BYTES_MAX).
    fn new(start: usize, name_end: usize, end: usize) -> Piece {
        let (start, name_end, end) = (start as u32, name_end as u32, end as u32);
        Piece { key: 0, start, name_end, end, is_spelled: false }
    }

    fn source<'a>(&self, given: &'a [u8], spelled: &'a [u8]) -> &'a [u8] {
        if self.is_spelled { spelled } else { given }
    }

    fn text<'a>(&self, given: &'a [u8], spelled: &'a [u8]) -> &'a [u8] {
        &self.source(given, spelled)[self.start as usize..self.end as usize]
    }

    fn name<'a>(&self, given: &'a [u8], spelled: &'a [u8]) -> &'a [u8] {
        &self.source(given, spelled)[self.start as usize..self.name_end as usize]
    }

    /// The order of two pieces by name. No name holds a zero byte.
    #[inline]
    fn order(&self, other: &Piece, given: &[u8], spelled: &[u8]) -> Ordering {
        self.key.cmp(&other.key).then_with(|| match self.key & 0xff {
            // Both names end within the key.
            0 => Ordering::Equal,
            _ => self.name(given, spelled).cmp(other.name(given, spelled)),
        })
    }
}

/// How far a value has been looked through for a `;`, after which some servers read another name.
struct ReadValue {
    /// Where its `=` is.
    start: usize,
    read: usize,
    has_semicolon: bool,
}

impl ReadValue {
    fn from(start: usize) -> ReadValue {
        ReadValue { start, read: start, has_semicolon: false }
    }

    /// Is `at` after the `=` of the value, and no `;` between them? Asked in ascending order, it
    /// looks at each byte once.
    fn takes_equals(&mut self, given: &[u8], at: usize) -> bool {
        if at <= self.start {
            return false;
        }
        self.has_semicolon |= memchr::memchr(b';', &given[self.read..at]).is_some();
        self.read = at;
        !self.has_semicolon
    }
}

/// Memory for the pieces of one query after the other.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// The pieces of the query that are kept.
    kept: Vec<Piece>,
    /// The text of pieces that had to be spelled anew.
    spelled: Vec<u8>,
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
    /// Where it ends: at the fragment, or with the URL.
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

    /// Writes it in its canonical form; it is the query of `given`.
    pub(super) fn write(&self, given: &[u8], pieces: &mut Pieces, out: &mut Vec<u8>) {
        let Pieces { kept: pieces, spelled } = pieces;
        match self.form {
            Form::Nothing => {}
            Form::Bare => out.push(b'?'),
            Form::Pieces => {
                if !self.is_sorted && write_in_order(given, pieces, spelled, out) {
                    return;
                }
                if !self.is_sorted {
                    // Stable: pieces of one name keep their order.
                    pieces.sort_by(|a, b| a.order(b, given, spelled));
                }
                let mut pieces = pieces.iter().peekable();
                let mut separator = b'?';
                while let Some(piece) = pieces.next() {
                    out.push(separator);
                    separator = b'&';
                    // Pieces that are neighbors in the URL are copied together.
                    let mut end = piece.end;
                    if piece.is_spelled {
                        out.extend_from_slice(piece.text(given, spelled));
                        continue;
                    }
                    while let Some(next) =
                        pieces.next_if(|next| !next.is_spelled && next.start == end + 1)
                    {
                        end = next.end;
                    }
                    push_short(out, given, piece.start as usize, end as usize);
                }
            }
        }
    }
}

/// Where the query that starts at `start` ends, if it is not empty and no byte of it needs a look.
#[inline(always)]
fn end_of_plain_query(url: &MarkedUrl, start: usize) -> Option<usize> {
    let MarkedUrl { given, marks, .. } = *url;
    let mut end = marks.next(set::QUERY_LOOK, start);
    while given.get(end) == Some(&b'?') {
        end = marks.next(set::QUERY_LOOK, end + 1);
    }
    (start < end && matches!(given.get(end), None | Some(b'#'))).then_some(end)
}

/// Appends a query of the `pieces`, in order, where they are few and the first eight bytes of their
/// names are different. Says whether that was so.
#[inline]
fn write_in_order(given: &[u8], pieces: &[Piece], spelled: &[u8], out: &mut Vec<u8>) -> bool {
    if pieces.len() > FEW {
        return false;
    }
    let mut order = [u64::MAX; FEW];
    for (number, (place, piece)) in order.iter_mut().zip(pieces).enumerate() {
        *place = numbered(piece.key, number);
    }
    match order.first_chunk_mut() {
        Some(first) if pieces.len() <= 4 => sort::<4>(first),
        _ => sort(&mut order),
    }
    let order = &order[..pieces.len()];
    if order.windows(2).any(is_unclear) {
        return false;
    }
    let mut separator = b'?';
    for place in order {
        let piece = &pieces[number_of(*place)];
        out.push(separator);
        separator = b'&';
        push_short(out, piece.source(given, spelled), piece.start as usize, piece.end as usize);
    }
    true
}

/// Where the piece of a query that starts at `start` ends.
#[inline(always)]
fn end_of_piece(url: &MarkedUrl, start: usize) -> usize {
    let mut end = url.marks.next(set::CUT, start);
    // Bet: no `?` stands in it.
    while url.given.get(end) == Some(&b'?') {
        end = url.marks.next(set::CUT, end + 1);
    }
    end
}

/// Where the name of the piece from `start` to `end` ends.
#[inline(always)]
fn end_of_name(url: &MarkedUrl, start: usize, end: usize) -> usize {
    let mut name_end = url.marks.next_before(set::NAME_END, start, end);
    // Bet: no `-` stands in it.
    while name_end < end && url.given[name_end] == b'-' {
        name_end = url.marks.next_before(set::NAME_END, name_end + 1, end);
    }
    name_end
}

/// A part of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PiecePart {
    Name,
    Value,
}

impl QueryRules {
    /// What `profile`, which spells characters in this way, asks for. The fast lane can do it.
    pub(super) fn of(profile: &Profile, escaping: Escaping) -> QueryRules {
        let options = &profile.options;
        let on = |rule| profile.rules.contains(rule);
        let params = on(RuleId::Params).then_some(&*options.drop_params);
        let sessions = on(RuleId::SessionIds).then_some(&*options.sessions);
        let is_form = escaping == Escaping::Form;
        QueryRules {
            classes: query_table(escaping),
            is_raw: raw_in_query(escaping),
            escaping,
            drops_bare_equals: is_form && options.empty_values,
            unwanted: Unwanted::new(params, sessions),
            sort: on(RuleId::QueryOrder),
            takes_apart: on(RuleId::QueryOrder)
                || on(RuleId::Params)
                || on(RuleId::SessionIds)
                || is_form,
            drop_empty: on(RuleId::EmptyQuery),
        }
    }

    /// Up to where a query of one parameter, whose path ends at `path_end`, stays: to the end of
    /// the URL if it is spelled canonically and nothing follows it, to that of the path if it goes.
    /// May be `None` where it is one of these.
    #[inline(always)]
    pub(super) fn plain_query_end(
        &self,
        url: &MarkedUrl,
        path_end: usize,
        host: &[u8],
    ) -> Option<usize> {
        let MarkedUrl { given, marks, .. } = *url;
        let (start, end) = (path_end + 1, given.len());
        if start >= end
            || !marks.is_clear(set::QUERY_LOOK, start, end)
            || !marks.is_clear(set::CUT, start, end)
        {
            return None;
        }
        if !self.takes_apart {
            return Some(end);
        }
        let name_end = end_of_name(url, start, end);
        if self.without_equals(start, name_end, end) < end {
            return None;
        }
        let suspects = self.unwanted.suspects(host);
        Some(if self.piece(suspects, host, given, start, name_end, end).is_some() {
            end
        } else {
            path_end
        })
    }

    /// Reads the query whose `?` is `given[query_at]` and gathers what stays of it in
    /// `pieces`; `None` to refuse.
    #[inline]
    pub(super) fn read_query(
        &self,
        url: &MarkedUrl,
        query_at: usize,
        host: &[u8],
        pieces: &mut Pieces,
    ) -> Option<Query> {
        let MarkedUrl { given, marks, .. } = *url;
        let Pieces { kept: pieces, spelled } = pieces;
        if !self.takes_apart
            && let Some(end) = end_of_plain_query(url, query_at + 1)
        {
            return Some(Query { end, is_canonical: true, form: Form::Pieces, is_sorted: true });
        }
        pieces.clear();
        spelled.clear();
        let (mut is_canonical, mut is_sorted) = (true, true);
        let (mut has_dropped, mut has_empty) = (false, false);
        let mut last_key = 0;
        let mut start = query_at + 1;
        let suspects = self.unwanted.suspects(host);
        let needs_look = !marks.is_clear(set::QUERY_LOOK, start, given.len());
        let end = loop {
            let end = end_of_piece(url, start);
            let name_end = end_of_name(url, start, end);
            if start == end {
                has_empty = true;
                is_canonical &= !self.sort;
                if !self.sort {
                    pieces.push(Piece::new(start, end, end));
                }
            } else {
                let piece = if !needs_look || self.is_spelled_well(url, start, name_end, end) {
                    let kept = self.without_equals(start, name_end, end);
                    is_canonical &= kept == end;
                    self.piece(suspects, host, given, start, name_end, kept)
                } else {
                    let at = spelled.len();
                    let name_end = self.spell_piece(url, start, name_end, end, spelled)?;
                    let kept = self.without_equals(at, name_end, spelled.len());
                    is_canonical = false;
                    let piece = self.piece(suspects, host, spelled, at, name_end, kept);
                    piece.map(|piece| Piece { is_spelled: true, ..piece })
                };
                if let Some(piece) = piece {
                    if self.sort && piece.key <= last_key {
                        let is_next = |last: &Piece| last.order(&piece, given, spelled).is_le();
                        is_sorted &= pieces.last().is_none_or(is_next);
                    }
                    last_key = piece.key;
                    pieces.push(piece);
                } else {
                    has_dropped = true;
                    is_canonical = false;
                }
            }
            if given.get(end) != Some(&b'&') {
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
            true if self.drop_empty || has_dropped && !has_empty => Form::Nothing,
            true => Form::Bare,
        };
        let is_canonical = match form {
            Form::Nothing => false,
            Form::Bare => end == query_at + 1,
            Form::Pieces => is_canonical && is_sorted,
        };
        Some(Query { end, is_canonical, form, is_sorted })
    }

    /// The piece `source[start..end]`, as one of the URL; `None` if it goes, as only one of the
    /// `suspects` on the host does.
    #[inline(always)]
    fn piece(
        &self,
        suspects: &Suspects,
        host: &[u8],
        source: &[u8],
        start: usize,
        name_end: usize,
        end: usize,
    ) -> Option<Piece> {
        let name = &source[start..name_end];
        let key = first_word(source, start, name_end);
        let last = name.last().copied().unwrap_or(0);
        if suspects.have(key, last, name.len(), Suspects::behind(end - name_end)) {
            let value = source[..end].get(name_end + 1..).unwrap_or(b"");
            if self.drops(key, host, name, value) {
                return None;
            }
        }
        Some(Piece { key, ..Piece::new(start, name_end, end) })
    }

    /// Where the piece from `start` to `end` ends without an `=` that nothing follows.
    #[inline(always)]
    fn without_equals(&self, start: usize, name_end: usize, end: usize) -> usize {
        let drops = self.drops_bare_equals && start < name_end && name_end + 1 == end;
        end - usize::from(drops)
    }

    /// Does the parameter go? It is one of the suspects. The `key` is its
    /// [`first_word`].
    #[inline(never)]
    pub(super) fn drops(&self, key: u64, host: &[u8], name: &[u8], value: &[u8]) -> bool {
        self.unwanted.matches(key, host, name, value)
    }

    /// Is every byte of the piece `given[start..end]` that needs a look part of a canonical escape?
    #[inline(never)]
    fn is_spelled_well(&self, url: &MarkedUrl, start: usize, name_end: usize, end: usize) -> bool {
        let MarkedUrl { given, marks, .. } = *url;
        let mut value = ReadValue::from(name_end);
        let mut at = marks.next_before(set::QUERY_LOOK, start, end);
        while at < end {
            match canonical_escape(&given[at..]) {
                Some(byte) if !self.stays_raw(byte, given, at, &mut value) => at += 3,
                None if self.classes[usize::from(given[at])] == Class::Question => at += 1,
                _ => return false,
            }
            at = marks.next_before(set::QUERY_LOOK, at, end);
        }
        true
    }

    /// Is `byte`, whose escape is at `at`, spelled without one in a query, whichever way it came?
    #[inline]
    fn stays_raw(&self, byte: u8, given: &[u8], at: usize, value: &mut ReadValue) -> bool {
        self.is_raw[usize::from(byte)]
            || byte == b'=' && self.escaping == Escaping::Form && value.takes_equals(given, at)
    }

    /// Spells the piece `given[start..end]` canonically, at the end of `spelled`. Returns where its
    /// name ends there.
    #[inline(never)]
    fn spell_piece(
        &self,
        url: &MarkedUrl,
        start: usize,
        name_end: usize,
        end: usize,
        spelled: &mut Vec<u8>,
    ) -> Option<usize> {
        self.spell(url, start, name_end, PiecePart::Name, spelled)?;
        let spelled_name_end = spelled.len();
        if name_end < end {
            spelled.push(b'=');
            self.spell(url, name_end + 1, end, PiecePart::Value, spelled)?;
        }
        Some(spelled_name_end)
    }

    /// Spells `given[at..end]`, which is this part of a parameter.
    fn spell(
        &self,
        url: &MarkedUrl,
        mut at: usize,
        end: usize,
        part: PiecePart,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let MarkedUrl { given, text, marks } = *url;
        let mut value = ReadValue::from(match part {
            PiecePart::Name => end,
            // With its `=`.
            PiecePart::Value => at - 1,
        });
        loop {
            let look = marks.next_before(set::QUERY_LOOK, at, end);
            push_short(out, text, at, look);
            at = look;
            if at == end {
                return Some(());
            }
            // Bet: bytes that need a look come in rows.
            while at < end {
                match self.classes[usize::from(given[at])] {
                    Class::Escape => {
                        at += push_escapes(out, url, set::QUERY_LOOK, at, end);
                        continue;
                    }
                    Class::Plus => out.extend_from_slice(b"%20"),
                    Class::Space => push_space(given, out)?,
                    Class::Percent => {
                        if let [high, low, ..] = given[at + 1..]
                            && let Some(byte) = hex::pair(high, low)
                        {
                            if self.stays_raw(byte, given, at, &mut value) {
                                out.push(byte);
                            } else {
                                push_escape(out, byte);
                            }
                            at += 2;
                        } else {
                            push_bare_percent(self.escaping, &given[at + 1..], out)?;
                        }
                    }
                    Class::Question => out.push(b'?'),
                    Class::Plain | Class::Equals => break,
                    _ => return None,
                }
                at += 1;
            }
        }
    }
}
