//! What every byte means in a host, a path and a query.

use crate::canonical::rules::encoding;

/// A class for every byte.
pub(super) type Table = [Class; 256];

/// What a byte means in a host, a path or a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    /// Stays as it is.
    Plain,
    /// A letter to be lower-cased.
    Upper,
    Dot,
    Slash,
    Percent,
    Ampersand,
    Equals,
    Plus,
    /// Has to be escaped.
    Escape,
    /// Ends the part.
    End,
    /// Makes the lane refuse.
    Refuse,
}

pub(super) fn host_table() -> Table {
    table(|byte| match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => Class::Plain,
        b'A'..=b'Z' => Class::Upper,
        b'.' => Class::Dot,
        b':' | b'/' | b'?' | b'#' => Class::End,
        _ => Class::Refuse,
    })
}

pub(super) fn path_table(form: bool, sessions: bool) -> Table {
    table(|byte| match byte {
        b'/' => Class::Slash,
        b'%' => Class::Percent,
        b'?' | b'#' => Class::End,
        b'\\' | 0x7f | 0..=b' ' => Class::Refuse,
        b';' if sessions => Class::Refuse,
        b'"' | b'<' | b'>' | b'^' | b'`' | b'{' | b'}' | 0x80.. => Class::Escape,
        byte if form && encoding::is_unwise(byte) => Class::Escape,
        _ => Class::Plain,
    })
}

pub(super) fn query_table(form: bool) -> Table {
    table(|byte| match byte {
        b'&' => Class::Ampersand,
        b'=' => Class::Equals,
        b'%' => Class::Percent,
        b'#' => Class::End,
        0x7f | 0..=b' ' => Class::Refuse,
        b'+' if form => Class::Plus,
        b';' => Class::Plain,
        byte if form && !encoding::is_raw_in_form(byte) => Class::Escape,
        b'"' | b'<' | b'>' | b'\'' | 0x80.. => Class::Escape,
        _ => Class::Plain,
    })
}

fn table(class: impl Fn(u8) -> Class) -> Table {
    std::array::from_fn(|byte| class(byte as u8))
}
