//! What every byte means in a host, a path and a query, and which bytes are marked.

use crate::bytes::marks::Marker;
use crate::canonical::profile::Profile;
use crate::canonical::rules::{RuleId, encoding};
use crate::parts::is_unreserved;

/// How characters are spelled, with an escape or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escaping {
    /// What the standard wants escaped is; escapes stay as they are.
    Kept,
    /// What the standard wants escaped is; escapes of what needs none go.
    Plain,
    /// One spelling for what parsers of forms and paths read alike.
    Form,
}

impl Escaping {
    /// How `profile` spells characters; `None` if the fast lane cannot.
    pub(super) fn of(profile: &Profile) -> Option<Escaping> {
        match (profile.rules.contains(RuleId::Escapes), profile.options.form_spelling) {
            (true, true) => Some(Escaping::Form),
            (true, false) => Some(Escaping::Plain),
            (false, false) => Some(Escaping::Kept),
            (false, true) => None,
        }
    }
}

/// A class for every byte.
pub(super) type Table = [Class; 256];

/// How many sets of bytes are marked.
pub(super) const SETS: usize = 8;

/// The sets of bytes that are marked. The first six are those of neighbors
/// (see [`Marker`]).
pub(super) mod set {
    /// `/`
    pub(crate) const SLASH: usize = 0;
    /// `.`
    pub(crate) const DOT: usize = 1;
    /// What may make a path not canonical: `%` and others, and a dot after a slash. With the rule
    /// against duplicate slashes, a slash after a slash, too. The `%` of an escape that is
    /// canonical wherever it stands is left out.
    pub(crate) const PATH_LOOK: usize = 2;
    /// What may make a query not canonical, `%` included, but for that of such escapes; a `?` in
    /// it; and `#`, which ends it.
    pub(crate) const QUERY_LOOK: usize = 3;
    /// What needs a look in a host: letters in upper case, whatever is not ASCII, and a hyphen
    /// after a hyphen, as in an encoded label.
    pub(crate) const HOST_LOOK: usize = 4;
    /// `=`, which no host holds, and `-`, which few names of parameters hold: that is for the set
    /// before.
    pub(crate) const NAME_END: usize = 5;
    /// What ends a host or may not be in one.
    pub(crate) const HOST_STOP: usize = 6;
    /// `?` and `#`, which end a path or a query, and `&`, which ends a piece of a query.
    pub(crate) const CUT: usize = 7;
}

/// Marks the sets of [`set`] as these tables ask for. `is_raw` says which bytes are spelled without
/// an escape in a path or a query.
pub(super) fn marker(
    host: &Table,
    path: &Table,
    query: &Table,
    is_raw: impl Fn(u8) -> bool,
    one_slash: bool,
) -> Marker<SETS, true> {
    let in_path =
        |byte: u8| !matches!(path[usize::from(byte)], Class::Plain | Class::Slash | Class::End);
    let in_query = |byte: u8| {
        !matches!(query[usize::from(byte)], Class::Plain | Class::Equals | Class::Ampersand)
    };
    let stops_host =
        |byte: u8| byte < 0x80 && matches!(host[usize::from(byte)], Class::End | Class::Refuse);
    let looked_at_in_host =
        |byte: u8| byte >= 0x80 || matches!(host[usize::from(byte)], Class::Upper);
    let marker = Marker::new([
        &|byte| byte == b'/',
        &|byte| byte == b'.',
        &in_path,
        &in_query,
        &looked_at_in_host,
        &|byte| matches!(byte, b'-' | b'='),
        &stops_host,
        &|byte| matches!(byte, b'?' | b'#' | b'&'),
    ])
    .without_escapes(|byte| !is_raw(byte));
    if one_slash { marker.with_doubles() } else { marker }
}

/// What a byte means in a host, a path or a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    /// Stays as it is.
    Plain,
    /// A letter to be lower-cased.
    Upper,
    Dot,
    Hyphen,
    /// May start a session id where it starts a segment.
    Parenthesis,
    /// Starts a parameter of a segment, which may be a session id.
    Semicolon,
    Slash,
    Percent,
    Ampersand,
    Equals,
    Plus,
    /// A `?` that stays as it is.
    Question,
    /// Has to be escaped, but is no part of the URL at the end of what is given.
    Space,
    /// Has to be escaped.
    Escape,
    /// Ends the part.
    End,
    /// Makes the lane refuse.
    Refuse,
}

/// The classes in hosts.
pub(super) fn host_table() -> Table {
    table(|byte| match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'_' => Class::Plain,
        b'-' => Class::Hyphen,
        b'A'..=b'Z' => Class::Upper,
        b'.' => Class::Dot,
        b':' | b'/' | b'?' | b'#' => Class::End,
        _ => Class::Refuse,
    })
}

/// The classes in paths. With `drops_sessions`, what may start a session id has one of its own.
pub(super) fn path_table(escaping: Escaping, drops_sessions: bool) -> Table {
    let form = escaping == Escaping::Form;
    table(|byte| match byte {
        b'/' => Class::Slash,
        b'%' => Class::Percent,
        b'?' | b'#' => Class::End,
        b' ' => Class::Space,
        b'\\' | 0x7f | 0..b' ' => Class::Refuse,
        b';' if drops_sessions => Class::Semicolon,
        b'(' if drops_sessions => Class::Parenthesis,
        b'"' | b'<' | b'>' | b'^' | b'`' | b'{' | b'}' | 0x80.. => Class::Escape,
        byte if form && encoding::is_unwise(byte) => Class::Escape,
        _ => Class::Plain,
    })
}

/// The classes in queries.
pub(super) fn query_table(escaping: Escaping) -> Table {
    let form = escaping == Escaping::Form;
    table(|byte| match byte {
        b'&' => Class::Ampersand,
        b'=' => Class::Equals,
        b'%' if escaping == Escaping::Kept => Class::Plain,
        b'%' => Class::Percent,
        b'#' => Class::End,
        b'?' if !form => Class::Question,
        b' ' => Class::Space,
        0x7f | 0..b' ' => Class::Refuse,
        b'+' if form => Class::Plus,
        b';' => Class::Plain,
        byte if form && !encoding::is_raw_in_form(byte) => Class::Escape,
        b'"' | b'<' | b'>' | b'\'' | 0x80.. => Class::Escape,
        _ => Class::Plain,
    })
}

/// The bytes that are spelled without an escape in a path, whichever way they came.
pub(super) fn raw_in_path(escaping: Escaping) -> [bool; 256] {
    let form = escaping == Escaping::Form;
    std::array::from_fn(|byte| {
        let byte = byte as u8;
        is_unreserved(byte) || form && encoding::is_mark(byte)
    })
}

/// The bytes that are spelled without an escape in a query, whichever way they came. In a value,
/// `=` may be raw, too.
pub(super) fn raw_in_query(escaping: Escaping) -> [bool; 256] {
    let form = escaping == Escaping::Form;
    std::array::from_fn(|byte| {
        let byte = byte as u8;
        if form { encoding::is_raw_in_form(byte) } else { is_unreserved(byte) }
    })
}

fn table(class: impl Fn(u8) -> Class) -> Table {
    std::array::from_fn(|byte| class(byte as u8))
}
