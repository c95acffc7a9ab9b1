//! HOT: once per URL. Checks whether a path is canonical, and rewrites it if it is not.

use std::sync::Arc;

use super::classes::{Class, Escaping, Table, path_table, raw_in_path, set};
use super::{HEAD_BYTES_MIN, MarkedUrl, USUAL};
use crate::bytes::marks::{BLOCK, NEAR, percents};
use crate::bytes::{escape, hex, push_short, push_up_to};
use crate::canonical::draft::push_escape;
use crate::canonical::names::{IndexNames, SessionNames};
use crate::canonical::options::Slash;
use crate::canonical::profile::Profile;
use crate::canonical::rules::directory_index::length_without_index;
use crate::canonical::rules::{RuleId, split_piece, trailing_slash};

/// What a profile asks for in paths.
#[derive(Debug)]
pub(super) struct PathRules {
    pub(super) classes: Table,
    /// The bytes that are spelled without an escape, whichever way they came.
    pub(super) is_raw: [bool; 256],
    escaping: Escaping,
    /// Do runs of slashes become one?
    pub(super) one_slash: bool,
    sessions: Option<Arc<SessionNames>>,
    index_names: Option<Arc<IndexNames>>,
    slash: Slash,
    /// Does anything depend on how a path ends?
    settles_ends: bool,
}

/// What is known of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// The path is spelled canonically.
    Canonical,
    /// The path is spelled canonically up to this place in the URL; what follows goes: an index
    /// file, slashes.
    Until(usize),
    /// The path is spelled canonically, but a slash is missing at its end.
    EndsOddly,
    /// No byte of the path needs a look but those of escapes, not all of which are canonical.
    HasEscapes,
    /// There is more to do about the path.
    Odd,
}

impl Path {
    pub(super) fn is_canonical(self) -> bool {
        self == Path::Canonical
    }

    /// Where in the URL its canonical form ends, if the path, which ends at `end`, starts with it.
    #[inline(always)]
    pub(super) fn canonical_end(self, end: usize) -> Option<usize> {
        match self {
            Path::Canonical => Some(end),
            Path::Until(end) => Some(end),
            _ => None,
        }
    }
}

impl PathRules {
    /// What `profile`, which spells characters in this way, asks for.
    pub(super) fn of(profile: &Profile, escaping: Escaping) -> PathRules {
        let options = &profile.options;
        let on = |rule| profile.rules.contains(rule);
        let sessions = on(RuleId::SessionIds).then(|| options.sessions.clone());
        PathRules {
            classes: path_table(escaping, sessions.is_some()),
            is_raw: raw_in_path(escaping),
            escaping,
            one_slash: on(RuleId::DuplicateSlashes),
            sessions,
            index_names: on(RuleId::DirectoryIndex).then(|| options.index_names.clone()),
            slash: options.slash,
            settles_ends: on(RuleId::DirectoryIndex) || options.slash != Slash::Keep,
        }
    }

    /// Is the path `given[start..end]` spelled canonically? Never says yes where it is not.
    #[inline(always)]
    pub(super) fn judge_path(&self, url: &MarkedUrl, start: usize, end: usize) -> Path {
        // The path starts with a slash or is empty.
        if start == end {
            return Path::EndsOddly;
        }
        // Bet: next to no byte needs a look.
        if url.marks.next_soon(set::PATH_LOOK, HEAD_BYTES_MIN) < end
            && let Some(path) = self.judge_closely(url, start, end)
        {
            return path;
        }
        if !self.settles_ends {
            return Path::Canonical;
        }
        let path = &url.given[start..end];
        let mut length = path.len();
        if self.slash == Slash::Remove {
            length = trailing_slash::length_without_slashes(path);
        }
        if let Some(names) = &self.index_names
            && names.may_end(&path[..length])
        {
            length = self.length_without_index(path, names);
        }
        if self.slash == Slash::Add && path[length - 1] != b'/' {
            return Path::EndsOddly;
        }
        if length == path.len() { Path::Canonical } else { Path::Until(start + length) }
    }

    /// The length of a path without an index file, and without slashes where those go.
    #[inline(never)]
    fn length_without_index(&self, path: &[u8], names: &IndexNames) -> usize {
        let length = length_without_index(path, names, self.slash);
        match self.slash {
            Slash::Remove => trailing_slash::length_without_slashes(&path[..length]),
            Slash::Keep | Slash::Add => length,
        }
    }

    /// What is wrong with the path `given[start..end]`, but for how it ends.
    #[inline(never)]
    fn judge_closely(&self, url: &MarkedUrl, start: usize, end: usize) -> Option<Path> {
        let MarkedUrl { given, marks, .. } = *url;
        let mut at = marks.next_before(set::PATH_LOOK, start, end);
        let (mut has_escapes, mut has_parameters) = (false, false);
        let keeps_escapes = self.escaping == Escaping::Kept;
        while at < end {
            match given[at] {
                b'%' if keeps_escapes && !is_dot_escape(&given[at..]) => at += 1,
                b'%' if keeps_escapes => return Some(Path::Odd),
                // Bet: escapes come in rows, and are all well or all odd.
                b'%' if has_escapes => at = next_but_percents(url, at + 1, end),
                b'%' => match canonical_escape(&given[at..]) {
                    Some(byte) if !self.is_raw[usize::from(byte)] => at += 3,
                    _ => has_escapes = true,
                },
                b'.' if !is_dot_segment(&given[at..]) => at += 1,
                b'(' if given[at - 1] != b'/' => at += 1,
                b';' if !self.is_session(parameter_of(&given[at + 1..end])) => {
                    has_parameters = true;
                    at += 1;
                }
                _ => return Some(Path::Odd),
            }
            at = marks.next_before(set::PATH_LOOK, at, end);
        }
        let path = if has_parameters { Path::Odd } else { Path::HasEscapes };
        has_escapes.then_some(path)
    }

    /// Writes the path `given[start..end]`, which is not canonical, in its canonical
    /// form; `None` to refuse.
    pub(super) fn write_path(
        &self,
        url: &MarkedUrl,
        start: usize,
        end: usize,
        path: Path,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let path_start = out.len();
        match path {
            Path::Canonical | Path::Until(_) | Path::EndsOddly => {
                push_up_to::<USUAL>(out, url.text, start, end);
            }
            Path::HasEscapes if self.write_escapes(url, start, end, out) => {}
            Path::HasEscapes | Path::Odd => {
                out.truncate(path_start);
                self.write_segments(url, start, end, out)?;
            }
        }
        if let Some(names) = &self.index_names {
            let len = length_without_index(&out[path_start..], names, self.slash);
            out.truncate(path_start + len);
        }
        trailing_slash::set_ending(out, path_start, self.slash);
        Some(())
    }

    /// Writes the path `given[start..end]`, in which no byte needs a look but those of escapes.
    /// Says whether it could: what comes out is no segment that goes, or may be a session id.
    fn write_escapes(&self, url: &MarkedUrl, start: usize, end: usize, out: &mut Vec<u8>) -> bool {
        let MarkedUrl { given, text, marks } = *url;
        let mut at = start;
        let mut look = marks.next_before(set::PATH_LOOK, at, end);
        // Bet: in a text of another script, all escapes are of bytes from 0x80 on.
        if matches!(given[look..end], [b'%', b'8'..=b'9' | b'A'..=b'F' | b'a'..=b'f', ..]) {
            return hex::copy_upper(&given[start..end], out);
        }
        while look < end {
            push_short(out, text, at, look);
            at = look;
            look = marks.next_before(set::PATH_LOOK, at + 1, end);
            if given[at] != b'%' {
                out.push(given[at]);
                at += 1;
                continue;
            }
            let Some(byte) = escaped(&given[at..end]) else { return false };
            if !self.is_raw[usize::from(byte)] {
                push_escape(out, byte);
            } else if matches!(byte, b'.' | b'(') {
                return false;
            } else {
                out.push(byte);
            }
            at += 3;
        }
        push_up_to::<USUAL>(out, text, at, end);
        true
    }

    /// Writes the segments of `given[start..end]`, except that nothing is done about how they end.
    fn write_segments(
        &self,
        url: &MarkedUrl,
        start: usize,
        end: usize,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let MarkedUrl { given, text, marks } = *url;
        let path_start = out.len();
        let mut doubled = false;
        let mut at = start;
        while at < end {
            // Invariant: given[at] is the slash before a segment. Bet: most segments need no look.
            let look = marks.next_before(set::PATH_LOOK, at + 1, end);
            if look == end {
                push_up_to::<USUAL>(out, text, at, end);
                break;
            }
            // Bet: what needs a look starts the segment, as dots and slashes do.
            let slash = match given[look - 1] {
                b'/' => look - 1,
                _ => at + memchr::memrchr(b'/', &given[at..look]).unwrap_or(0),
            };
            push_up_to::<USUAL>(out, text, at, slash + 1);
            at = slash + 1;
            let segment = out.len();
            // Bet: a segment that goes is not spelled with escapes.
            match given[at..end] {
                [b'.', b'/', ..] => {
                    out.truncate(segment - 1);
                    at += 1;
                    continue;
                }
                [b'.', b'.', b'/', ..] => {
                    drop_parent(out, path_start, segment);
                    at += 2;
                    continue;
                }
                _ => {}
            }
            let segment_end = marks.next_before(set::SLASH, at, end);
            let has_parameters = self.write_segment(url, at, segment_end, out)?;
            at = segment_end;
            let is_last = at == end;
            if has_parameters && self.drop_sessions(out, segment) {
                match out[segment..] {
                    // Whatever stood before a session id may be a segment that goes.
                    [b'.'] | [b'.', b'.'] => return None,
                    [] if !is_last => return None,
                    _ => {}
                }
            }
            match &out[segment..] {
                b"." => out.truncate(segment - 1),
                b".." => drop_parent(out, path_start, segment),
                b"" => {
                    doubled |= !is_last;
                    continue;
                }
                [b'(', ..] if self.sessions.is_some() => return None,
                _ => continue,
            }
            if is_last {
                out.push(b'/');
            }
        }
        if doubled && self.one_slash {
            collapse_slashes(out, path_start)?;
        }
        Some(())
    }

    /// Writes the segment `given[start..end]`, whatever it is. Says whether it has parameters.
    #[inline(always)]
    fn write_segment(
        &self,
        url: &MarkedUrl,
        start: usize,
        end: usize,
        out: &mut Vec<u8>,
    ) -> Option<bool> {
        let MarkedUrl { given, text, marks } = *url;
        let mut has_parameters = false;
        let mut at = start;
        while at < end {
            let look = marks.next_before(set::PATH_LOOK, at, end);
            push_short(out, text, at, look);
            at = look;
            // Bet: bytes that need a look come in rows.
            while at < end {
                at += match self.classes[usize::from(given[at])] {
                    Class::Escape => push_escapes(out, url, set::PATH_LOOK, at, end),
                    Class::Percent => self.spell_escape(&given[at..], out)?,
                    Class::Space => push_space(given, out).map(|()| 1)?,
                    Class::Parenthesis | Class::Semicolon => {
                        has_parameters |= given[at] == b';';
                        out.push(given[at]);
                        1
                    }
                    Class::Plain => {
                        // A dot after a slash is marked, or the row is over.
                        out.push(given[at]);
                        at += 1;
                        break;
                    }
                    _ => return None,
                }
            }
        }
        Some(has_parameters)
    }

    /// Takes session ids among the parameters of the segment `out[segment..]` away. Says whether
    /// there were any.
    fn drop_sessions(&self, out: &mut Vec<u8>, segment: usize) -> bool {
        let Some(first) = memchr::memchr(b';', &out[segment..]) else { return false };
        let (mut read, mut written) = (segment + first, segment + first);
        while read < out.len() {
            // Invariant: out[read] is the semicolon before a parameter.
            let parameter = parameter_of(&out[read + 1..]);
            let end = read + 1 + parameter.len();
            if !self.is_session(parameter) {
                out.copy_within(read..end, written);
                written += end - read;
            }
            read = end;
        }
        out.truncate(written);
        written < read
    }

    /// Is the parameter `name=value` of a segment a session id?
    fn is_session(&self, parameter: &[u8]) -> bool {
        let (name, value) = split_piece(parameter);
        self.sessions.as_ref().is_some_and(|names| names.matches_path(name, value))
    }

    /// Spells the escape that `text` starts with; returns how long it was.
    #[inline]
    fn spell_escape(&self, text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        if self.escaping == Escaping::Kept {
            out.push(b'%');
            return (!is_dot_escape(text)).then_some(1);
        }
        if let Some(byte) = escaped(text) {
            if self.is_raw[usize::from(byte)] {
                out.push(byte);
            } else {
                push_escape(out, byte);
            }
            return Some(3);
        }
        push_bare_percent(self.escaping, &text[1..], out)?;
        Some(1)
    }
}

/// Writes a percent sign that starts no escape; `rest` is what follows it. `None` to refuse.
pub(super) fn push_bare_percent(escaping: Escaping, rest: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let may_be_unicode = matches!(rest.first(), Some(b'u' | b'U'));
    let is_form = escaping == Escaping::Form;
    if !is_form || may_be_unicode || rest.iter().take(2).any(|byte| *byte <= b' ') {
        return None;
    }
    push_escape(out, b'%');
    Some(())
}

/// The first position from `from` to `end` that needs a look in a path, or `end`. Percent signs are
/// left out, but perhaps not all of them near the end of a text.
fn next_but_percents(url: &MarkedUrl, mut from: usize, end: usize) -> usize {
    let MarkedUrl { text, marks, .. } = *url;
    while from < end {
        let percents = text[from..].first_chunk::<BLOCK>().map_or(0, percents);
        let others = marks.near(set::PATH_LOOK, from) & !percents;
        if others != 0 {
            return end.min(from + others.trailing_zeros() as usize);
        }
        from += NEAR;
    }
    end
}

/// The parameter that `text`, which follows a semicolon, starts with.
fn parameter_of(text: &[u8]) -> &[u8] {
    &text[..memchr::memchr2(b';', b'/', text).unwrap_or(text.len())]
}

/// Writes a space of `given` as an escape; `None` if one may stand at its end, and be
/// no part of the URL.
pub(super) fn push_space(given: &[u8], out: &mut Vec<u8>) -> Option<()> {
    out.extend_from_slice(b"%20");
    given.last().is_some_and(|last| *last > b' ').then_some(())
}

/// Takes the segment at the end of the path `out[path_start..]`, which starts at `segment`, away
/// with its slash and the segment before.
fn drop_parent(out: &mut Vec<u8>, path_start: usize, segment: usize) {
    let before = &out[path_start..segment - 1];
    let parent = memchr::memrchr(b'/', before).unwrap_or(0);
    out.truncate(path_start + parent);
}

/// Writes runs of slashes in the path `out[path_start..]` as one; `None` where one follows a colon.
fn collapse_slashes(out: &mut Vec<u8>, path_start: usize) -> Option<()> {
    let mut written = path_start;
    for read in path_start..out.len() {
        let byte = out[read];
        if byte == b'/' && written > path_start && out[written - 1] == b'/' {
            if written > path_start + 1 && out[written - 2] == b':' {
                return None;
            }
            continue;
        }
        out[written] = byte;
        written += 1;
    }
    out.truncate(written);
    Some(())
}

/// Does `text` start with the escape of a dot? Perhaps it makes a segment that goes.
#[inline]
fn is_dot_escape(text: &[u8]) -> bool {
    matches!(text, [b'%', b'2', b'e' | b'E', ..])
}

/// Does `text`, which follows a slash, start with a segment of one or two dots?
#[inline]
fn is_dot_segment(text: &[u8]) -> bool {
    let dots = text.iter().take(3).take_while(|byte| **byte == b'.').count();
    // An escaped dot is not canonical itself and is found where it stands.
    dots < 3 && matches!(text.get(dots), None | Some(b'/' | b'?' | b'#'))
}

/// Writes the byte at `at`, which has to be escaped; where it is one from 0x80 on, what follows it
/// up to `end` or to another byte marked in `look` as well. Returns how many bytes they were.
#[inline]
pub(super) fn push_escapes(
    out: &mut Vec<u8>,
    url: &MarkedUrl,
    look: usize,
    at: usize,
    end: usize,
) -> usize {
    if url.given[at] < 0x80 {
        push_escape(out, url.given[at]);
        return 1;
    }
    // Bet: a text of another script, in which such bytes come in rows, with few others in between.
    escape::push_high(out, &url.given[at..end], url.marks.window(look, at))
}

/// The byte that `text`, which starts with a percent sign, starts with as an escape.
#[inline]
fn escaped(text: &[u8]) -> Option<u8> {
    match *text {
        [_, high, low, ..] => hex::pair(high, low),
        _ => None,
    }
}

/// The byte that `text` starts with as an escape in upper case.
#[inline]
pub(super) fn canonical_escape(text: &[u8]) -> Option<u8> {
    match *text {
        [b'%', high, low, ..] if !high.is_ascii_lowercase() && !low.is_ascii_lowercase() => {
            hex::pair(high, low)
        }
        _ => None,
    }
}
