//! HOT: is a URL canonical from its path on? One pass, nothing is copied.

use super::Fused;
use super::classes::Class;
use super::head::Head;
use crate::bytes::hex;
use crate::bytes::windows::plain_prefix;
use crate::canonical::profile::Slash;
use crate::canonical::rules::directory_index::length_without_index;
use crate::canonical::rules::{encoding, escapes};

impl Fused {
    /// Is everything from the path on spelled canonically? May say no where yes were right.
    #[inline]
    pub(super) fn is_canonical_from(&self, line: &[u8], head: &Head) -> bool {
        let path_start = head.rest;
        if line.get(path_start) != Some(&b'/') {
            return false;
        }
        let Some(path_end) = self.canonical_path_end(line, path_start) else { return false };
        let path = &line[path_start..path_end];
        if let Some(names) = &self.index_names
            && length_without_index(path, names, self.slash) != path.len()
        {
            return false;
        }
        let ending = match self.slash {
            Slash::Keep => true,
            Slash::Remove => path.len() == 1 || !path.ends_with(b"/"),
            Slash::Add => path.ends_with(b"/"),
        };
        ending
            && match line.get(path_end) {
                None => true,
                Some(b'?') => self.is_canonical_query(&line[path_end + 1..], head, line),
                Some(_) => self.keeps_fragment(&line[path_end + 1..]) == Some(true),
            }
    }

    /// Does `fragment` stay, as it is? `None` to refuse: it would have to be rewritten.
    pub(super) fn keeps_fragment(&self, fragment: &[u8]) -> Option<bool> {
        let is_route = self.keep_routes && matches!(fragment.first(), Some(b'!' | b'/'));
        if self.drop_fragment && !is_route {
            // A tab or line break before the first character would hide a route.
            return fragment.first().is_none_or(|byte| *byte > b' ').then_some(false);
        }
        let is_plain = |byte: &u8| (0x21..0x7f).contains(byte) && !b"\"%<>`".contains(byte);
        fragment.iter().all(is_plain).then_some(true)
    }

    /// Where the path that starts at `path_start` ends, if it is spelled canonically up to there.
    #[inline]
    fn canonical_path_end(&self, line: &[u8], path_start: usize) -> Option<usize> {
        let mut at = path_start;
        loop {
            // Invariant: everything in line[path_start..at] is canonical.
            // Bet: next to nothing needs a look but the end.
            at += plain_prefix(&line[at..], needs_look_in_path);
            let Some(byte) = line.get(at) else { return Some(at) };
            match self.path[usize::from(*byte)] {
                Class::Plain => at += 1,
                Class::Slash => {
                    match line.get(at + 1) {
                        Some(b'.') if is_dot_segment(&line[at + 1..]) => return None,
                        Some(b'/') if self.one_slash => return None,
                        Some(b'(') if self.sessions.is_some() => return None,
                        _ => {}
                    }
                    at += 1;
                }
                Class::Percent => {
                    let byte = canonical_escape(&line[at..])?;
                    if escapes::is_unreserved(byte) || self.form && encoding::is_mark(byte) {
                        return None;
                    }
                    at += 3;
                }
                Class::End => return Some(at),
                _ => return None,
            }
        }
    }

    #[inline]
    fn is_canonical_query(&self, query: &[u8], head: &Head, line: &[u8]) -> bool {
        if query.is_empty() || query[0] == b'#' {
            return !self.drop_empty_query && self.ends_canonically(query);
        }
        let host = &line[head.host_start..head.host_end];
        let mut at = 0;
        let mut previous: &[u8] = b"";
        loop {
            let start = at;
            let mut name_end = None;
            loop {
                at += plain_prefix(&query[at..], needs_look_in_query);
                let Some(byte) = query.get(at) else { break };
                match self.query[usize::from(*byte)] {
                    Class::Plain => at += 1,
                    Class::Equals => {
                        name_end.get_or_insert(at);
                        at += 1;
                    }
                    Class::Ampersand | Class::End => break,
                    Class::Percent => {
                        let Some(byte) = canonical_escape(&query[at..]) else { return false };
                        let is_raw = if self.form {
                            encoding::is_raw_in_form(byte) || byte == b'=' && name_end.is_some()
                        } else {
                            escapes::is_unreserved(byte)
                        };
                        if is_raw {
                            return false;
                        }
                        at += 3;
                    }
                    _ => return false,
                }
            }
            let name = &query[start..name_end.unwrap_or(at)];
            let value = name_end.map_or(&b""[..], |end| &query[end + 1..at]);
            let is_empty = at == start;
            let drops_equals = self.form && self.empty_values && !name.is_empty();
            if is_empty && self.sort
                || name_end.is_some() && value.is_empty() && drops_equals
                || self.sort && start > 0 && previous > name
                || self.drops(host, name, value)
            {
                return false;
            }
            previous = name;
            if query.get(at) != Some(&b'&') {
                return self.ends_canonically(&query[at..]);
            }
            at += 1;
        }
    }

    /// Is `rest` nothing, or a fragment that stays as it is?
    #[inline]
    fn ends_canonically(&self, rest: &[u8]) -> bool {
        rest.is_empty() || self.keeps_fragment(&rest[1..]) == Some(true)
    }
}

/// Could `byte`, with `next` behind it, be anything but canonical in a path, or end it? Says yes
/// for a few that are canonical under some profiles; never no for one that is not.
#[inline(always)]
pub(super) fn needs_look_in_path(byte: u8, next: u8) -> bool {
    // No short circuits, so that the compiler can do a window at once.
    let slash = (byte == b'/') & (((next | 1) == b'/') | (next == b'('));
    (byte.wrapping_sub(0x21) > b'z' - 0x21)
        | ((byte | 1) == b'#')
        | (byte == b'%')
        | (byte.wrapping_sub(b';') <= b'?' - b';')
        | (byte.wrapping_sub(b'[') <= b'^' - b'[')
        | (byte == b'`')
        | slash
}

/// The same for a query.
#[inline(always)]
pub(super) fn needs_look_in_query(byte: u8, _: u8) -> bool {
    let is_plain = ((byte | 0x20).wrapping_sub(b'a') < 26)
        | (byte.wrapping_sub(b'(') <= b'*' - b'(')
        | (byte.wrapping_sub(b',') <= b'.' - b',')
        | (byte.wrapping_sub(b'0') <= b';' - b'0')
        | (byte == b'_')
        | (byte == b'@')
        | (byte == b'~')
        | (byte == b'!')
        | (byte == b'$');
    !is_plain
}

/// Does `text`, which follows a slash, start with a segment of one or two dots?
#[inline]
fn is_dot_segment(text: &[u8]) -> bool {
    let dots = text.iter().take(3).take_while(|byte| **byte == b'.').count();
    // An escaped dot is not canonical itself and is found where it stands.
    dots < 3 && matches!(text.get(dots), None | Some(b'/' | b'?' | b'#'))
}

/// The byte that `text` starts with as an escape in upper case.
#[inline]
fn canonical_escape(text: &[u8]) -> Option<u8> {
    match *text {
        [b'%', high, low, ..] if !high.is_ascii_lowercase() && !low.is_ascii_lowercase() => {
            hex::pair(high, low)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::fused::classes::{path_table, query_table};

    #[test]
    fn what_needs_no_look_is_plain_in_every_profile() {
        for (form, sessions) in [(false, false), (false, true), (true, false), (true, true)] {
            let table = path_table(form, sessions);
            for byte in 0..=255u8 {
                for next in 0..=255u8 {
                    if needs_look_in_path(byte, next) {
                        continue;
                    }
                    let class = table[usize::from(byte)];
                    let lone_slash = class == Class::Slash && !b"./(".contains(&next);
                    assert!(class == Class::Plain || lone_slash, "{byte:02x} {next:02x}");
                }
                let class = query_table(form)[usize::from(byte)];
                assert!(needs_look_in_query(byte, 0) || class == Class::Plain, "{byte:02x}");
            }
        }
    }
}
