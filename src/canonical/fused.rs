//! HOT: once per input byte. The fast lane: the canonical form in one pass, or a refusal.
//!
//! Price: one pass over a URL that is already canonical, which is then returned as it is; a second
//! one, writing, over a URL that is not. No allocation once the buffers have grown, no lock, no
//! formatting. Guard: `benches/canonical.rs`, group `fused`. Twin: `reference.rs` gives the same
//! answer slowly; `tests/it/lanes.rs` and the fuzz target `lanes` compare the two.
//!
//! It refuses whatever is rare and intricate (users, IDN, odd addresses, session ids in paths,
//! control characters, …): then the reference lane answers. It never differs from it.

use std::sync::Arc;

use super::draft::push_escape;
use super::names::{IndexNames, ParamNames, SessionNames};
use super::profile::{Profile, Slash, Www};
use super::rules::directory_index::length_without_index;
use super::rules::{RuleId, encoding, escapes, split_piece, trailing_slash, www};
use crate::bytes::hex;
use crate::bytes::windows::{WINDOW, plain_prefix};
use crate::limits::URL_BYTES_MAX;

/// What the fast lane says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer<'a> {
    /// The line is its own canonical form.
    Same(&'a [u8]),
    /// The canonical form was written.
    Written,
    /// Ask the reference lane.
    Refused,
}

/// Buffers that one worker reuses.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The pieces of the query being written.
    pieces: Vec<Piece>,
    /// The query, sorted.
    sorted: Vec<u8>,
}

/// A piece of a query, as positions in the output.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: usize,
    name_end: usize,
    end: usize,
}

/// A profile in the form that the loops need.
#[derive(Debug)]
pub(super) struct Fused {
    host: Table,
    path: Table,
    query: Table,
    form: bool,
    empty_values: bool,
    drop_fragment: bool,
    keep_routes: bool,
    maps_addresses: bool,
    drop_www: bool,
    https_to_http: bool,
    one_slash: bool,
    sessions: Option<Arc<SessionNames>>,
    drop_params: Option<Arc<ParamNames>>,
    sort: bool,
    drop_empty_query: bool,
    index_names: Option<Arc<IndexNames>>,
    slash: Slash,
}

/// A class for every byte.
type Table = [Class; 256];

/// What a byte means in a host, a path or a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Class {
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

/// A URL's head, read.
struct Head {
    https: bool,
    /// Is every byte before the path spelled canonically?
    is_canonical: bool,
    host_start: usize,
    host_end: usize,
    /// Where the path, the query or the fragment starts.
    rest: usize,
    /// The port, if it is not the scheme's own.
    has_port: bool,
}

impl Fused {
    /// The fast lane for `profile`, or `None` if the profile asks for more than it can do.
    pub(super) fn compile(profile: &Profile) -> Option<Fused> {
        let options = &profile.options;
        let on = |rule| profile.rules.contains(rule);
        let base = [
            RuleId::Case,
            RuleId::DefaultPort,
            RuleId::Escapes,
            RuleId::DotSegments,
            RuleId::Encoding,
            RuleId::TrailingSlash,
        ];
        let asks_for_more = !options.latin1_hosts.is_empty()
            || on(RuleId::Www) && options.www == Www::Add
            || on(RuleId::Scheme) && !options.scheme_to_http
            || on(RuleId::Params) && !options.keep_params.is_empty()
            || on(RuleId::DefaultParams) && !options.default_params.is_empty()
            || on(RuleId::Dust) && !options.dust.is_empty();
        if !profile.parses || !base.into_iter().all(on) || asks_for_more {
            return None;
        }
        let sessions = on(RuleId::SessionIds).then(|| options.sessions.clone());
        Some(Fused {
            host: host_table(),
            path: path_table(options.form_spelling, sessions.is_some()),
            query: query_table(options.form_spelling),
            form: options.form_spelling,
            empty_values: options.empty_values,
            drop_fragment: on(RuleId::Fragment),
            keep_routes: options.keep_routes,
            maps_addresses: on(RuleId::IpHost) && !options.hosts.is_empty(),
            drop_www: on(RuleId::Www),
            https_to_http: on(RuleId::Scheme),
            one_slash: on(RuleId::DuplicateSlashes),
            sessions,
            drop_params: on(RuleId::Params).then(|| options.drop_params.clone()),
            sort: on(RuleId::QueryOrder),
            drop_empty_query: on(RuleId::EmptyQuery),
            index_names: on(RuleId::DirectoryIndex).then(|| options.index_names.clone()),
            slash: options.slash,
        })
    }

    /// The canonical form of `line`: itself, written into `out`, or refused.
    #[inline]
    pub(super) fn run<'a>(
        &self,
        line: &'a [u8],
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Answer<'a> {
        let Some(head) = self.head(line) else { return Answer::Refused };
        // Bet: most URLs of a list are canonical already (share per corpus: data/README.md).
        // Lost: `rewrite` starts over and never comes back.
        if head.is_canonical && self.is_canonical_from(line, &head) {
            return Answer::Same(line);
        }
        match self.rewrite(line, &head, scratch, out) {
            Some(()) => Answer::Written,
            None => Answer::Refused,
        }
    }

    /// Reads scheme, host and port; `None` to refuse.
    #[inline]
    fn head(&self, line: &[u8]) -> Option<Head> {
        if line.len() > URL_BYTES_MAX {
            return None;
        }
        let (https, host_start, lower) = read_scheme(line)?;
        let mut is_canonical = lower;
        let mut at = host_start;
        let mut label = host_start;
        let mut dots = 0;
        let host_end = loop {
            let class = line.get(at).map_or(Class::End, |byte| self.host[usize::from(*byte)]);
            match class {
                Class::Plain => {}
                Class::Upper => is_canonical = false,
                Class::Dot | Class::End => {
                    // An empty label, an encoded one, a dot at the end: rare, and the twin's work.
                    if at == label || line[label..at].len() >= 4 && is_encoded(&line[label..at]) {
                        return None;
                    }
                    if class == Class::End {
                        break at;
                    }
                    dots += 1;
                    label = at + 1;
                }
                _ => return None,
            }
            at += 1;
        };
        if line[label].is_ascii_digit() {
            // The host ends in a number, so it is an address or an error.
            let is_plain = dots == 3 && is_dotted_decimal(&line[host_start..host_end]);
            if !is_plain || self.maps_addresses {
                return None;
            }
        } else if self.drop_www && line[host_start..].first().is_some_and(|b| *b | 0x20 == b'w') {
            let host = &line[host_start..host_end];
            is_canonical &= www::without_www(host).len() == host.len();
        }
        let mut has_port = false;
        let mut rest = host_end;
        if line.get(host_end) == Some(&b':') {
            let digits =
                line[host_end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            rest = host_end + 1 + digits;
            let port = crate::parts::port_number(&line[host_end..rest]).ok()?;
            has_port = port.is_some_and(|port| port != if https { 443 } else { 80 });
            let has_zeros = line.get(host_end + 1) == Some(&b'0');
            if !matches!(line.get(rest), None | Some(b'/' | b'?' | b'#')) || has_port && has_zeros {
                return None;
            }
            is_canonical &= has_port;
        }
        is_canonical &= !(https && self.https_to_http && !has_port);
        Some(Head { https, is_canonical, host_start, host_end, rest, has_port })
    }

    /// Is everything from the path on spelled canonically? May say no where yes were right.
    #[inline]
    fn is_canonical_from(&self, line: &[u8], head: &Head) -> bool {
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
                Some(_) => false,
            }
    }

    /// Where the path that starts at `path_start` ends, if it is spelled canonically up to there.
    #[inline]
    fn canonical_path_end(&self, line: &[u8], path_start: usize) -> Option<usize> {
        let mut at = path_start;
        loop {
            // Invariant: everything in line[path_start..at] is canonical.
            // Bet: most windows hold nothing but letters, digits and lone slashes.
            // Lost: the bytes of the window are looked at one by one, then the bet is on again.
            at += plain_prefix(&line[at..], needs_look_in_path);
            let window_end = (at + WINDOW).min(line.len());
            while at < window_end {
                match self.path[usize::from(line[at])] {
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
            if at == line.len() {
                return Some(at);
            }
        }
    }

    #[inline]
    fn is_canonical_query(&self, query: &[u8], head: &Head, line: &[u8]) -> bool {
        if query.is_empty() {
            return !self.drop_empty_query;
        }
        let host = &line[head.host_start..head.host_end];
        let mut at = 0;
        let mut previous: &[u8] = b"";
        loop {
            let start = at;
            let mut name_end = None;
            while let Some(byte) = query.get(at) {
                match self.query[usize::from(*byte)] {
                    Class::Plain => at += 1,
                    Class::Equals => {
                        name_end.get_or_insert(at);
                        at += 1;
                    }
                    Class::Ampersand => break,
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
            if at == query.len() {
                return true;
            }
            at += 1;
        }
    }

    /// Does the parameter go?
    #[inline]
    fn drops(&self, host: &[u8], name: &[u8], value: &[u8]) -> bool {
        self.drop_params.as_ref().is_some_and(|names| names.matches(host, name, value))
            || self.sessions.as_ref().is_some_and(|names| names.matches_query(name, value))
    }

    /// Writes the canonical form; `None` to refuse.
    #[inline(never)]
    fn rewrite(
        &self,
        line: &[u8],
        head: &Head,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        out.clear();
        // Every byte may become an escape; one slash may be added.
        out.reserve(3 * line.len() + 1);
        let keeps_https = head.https && (head.has_port || !self.https_to_http);
        out.extend_from_slice(if keeps_https { b"https://" } else { b"http://" });
        let host_start = out.len();
        let host = &line[head.host_start..head.host_end];
        let host = if self.drop_www { www::without_www(host) } else { host };
        out.extend(host.iter().map(u8::to_ascii_lowercase));
        let host_end = out.len();
        if head.has_port {
            out.extend_from_slice(&line[head.host_end..head.rest]);
        }
        let path_start = out.len();
        let path_end = self.write_path(line, head.rest, out)?;
        if line.get(path_end) == Some(&b'?') {
            let host = host_start..host_end;
            self.write_query(&line[path_end + 1..], host, scratch, out)?;
        } else if line.get(path_end) == Some(&b'#') {
            self.end_at_fragment(&line[path_end + 1..])?;
        }
        debug_assert!(out.len() > path_start);
        Some(())
    }

    /// Says whether the rest of the line, a fragment, goes.
    fn end_at_fragment(&self, fragment: &[u8]) -> Option<()> {
        let is_route = self.keep_routes && matches!(fragment.first(), Some(b'!' | b'/'));
        // A tab or line break before the first character would hide a route.
        let is_clean = fragment.first().is_none_or(|byte| *byte > b' ');
        (self.drop_fragment && !is_route && is_clean).then_some(())
    }

    /// Writes the path that starts at `line[at]`; returns where it ends.
    fn write_path(&self, line: &[u8], mut at: usize, out: &mut Vec<u8>) -> Option<usize> {
        let path_start = out.len();
        let mut doubled = false;
        while line.get(at) == Some(&b'/') {
            out.push(b'/');
            at += 1;
            let segment = out.len();
            while let Some(byte) = line.get(at) {
                match self.path[usize::from(*byte)] {
                    Class::Plain => out.push(*byte),
                    Class::Percent => match line[at + 1..] {
                        [high, low, ..] if hex::pair(high, low).is_some() => {
                            let byte = hex::pair(high, low)?;
                            if escapes::is_unreserved(byte) || self.form && encoding::is_mark(byte)
                            {
                                out.push(byte);
                            } else {
                                push_escape(out, byte);
                            }
                            at += 2;
                        }
                        ref rest => self.write_bare_percent(rest, out)?,
                    },
                    Class::Escape => push_escape(out, *byte),
                    Class::Slash | Class::End => break,
                    _ => return None,
                }
                at += 1;
            }
            let is_last = line.get(at) != Some(&b'/');
            match &out[segment..] {
                b"." => out.truncate(segment - 1),
                b".." => {
                    let before = &out[path_start..segment - 1];
                    let parent = memchr::memrchr(b'/', before).unwrap_or(0);
                    out.truncate(path_start + parent);
                }
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
        if let Some(names) = &self.index_names {
            let len = length_without_index(&out[path_start..], names, self.slash);
            out.truncate(path_start + len);
        }
        trailing_slash::settle(out, path_start, self.slash);
        Some(at)
    }

    /// A percent sign that starts no escape, with what follows it.
    fn write_bare_percent(&self, rest: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let may_be_unicode = matches!(rest.first(), Some(b'u' | b'U'));
        if !self.form || may_be_unicode || rest.iter().take(2).any(|byte| *byte <= b' ') {
            return None;
        }
        push_escape(out, b'%');
        Some(())
    }

    /// Writes `query` with its `?`, up to the fragment; `host` is where the host stands in `out`.
    fn write_query(
        &self,
        query: &[u8],
        host: std::ops::Range<usize>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let mark = out.len();
        let pieces = &mut scratch.pieces;
        pieces.clear();
        let mut at = 0;
        let mut is_sorted = true;
        let mut dropped = 0;
        let mut empty = 0;
        loop {
            out.push(if pieces.is_empty() { b'?' } else { b'&' });
            let start = out.len();
            let (next, name_end) = self.write_piece(query, at, out)?;
            let is_empty = next == at;
            at = next;
            let (name, value) = split_piece(&out[start..]);
            empty += usize::from(is_empty);
            if is_empty && self.sort {
                out.truncate(start - 1);
            } else if !is_empty && self.drops(&out[host.clone()], name, value) {
                dropped += 1;
                out.truncate(start - 1);
            } else {
                if let Some(last) = pieces.last() {
                    is_sorted &= out[last.start..last.name_end] <= out[start..name_end];
                }
                pieces.push(Piece { start, name_end, end: out.len() });
            }
            if query.get(at) != Some(&b'&') {
                break;
            }
            at += 1;
        }
        if at < query.len() {
            self.end_at_fragment(&query[at + 1..])?;
        }
        let is_bare = match pieces.as_slice() {
            [] => true,
            [only] => only.start == only.end,
            _ => false,
        };
        if is_bare {
            out.truncate(mark);
            // Dropping the last parameter drops the `?`; an empty query that was there is a rule's.
            if !(self.drop_empty_query || dropped > 0 && empty == 0) {
                out.push(b'?');
            }
        } else if self.sort && !is_sorted {
            sort_pieces(pieces, &mut scratch.sorted, out, mark);
        }
        Some(())
    }

    /// Writes the piece of `query` that starts at `at`; returns where it ends, and where its name
    /// ends in `out`.
    #[inline]
    fn write_piece(
        &self,
        query: &[u8],
        mut at: usize,
        out: &mut Vec<u8>,
    ) -> Option<(usize, usize)> {
        let start = out.len();
        let mut name_end = None;
        while let Some(byte) = query.get(at) {
            match self.query[usize::from(*byte)] {
                Class::Plain => out.push(*byte),
                Class::Equals => {
                    name_end.get_or_insert(out.len());
                    out.push(b'=');
                }
                Class::Plus => out.extend_from_slice(b"%20"),
                Class::Percent => match query[at + 1..] {
                    [high, low, ..] if hex::pair(high, low).is_some() => {
                        let byte = hex::pair(high, low)?;
                        let is_raw = if self.form {
                            encoding::is_raw_in_form(byte) || byte == b'=' && name_end.is_some()
                        } else {
                            escapes::is_unreserved(byte)
                        };
                        if is_raw {
                            out.push(byte);
                        } else {
                            push_escape(out, byte);
                        }
                        at += 2;
                    }
                    ref rest => self.write_bare_percent(rest, out)?,
                },
                Class::Escape => push_escape(out, *byte),
                Class::Ampersand | Class::End => break,
                _ => return None,
            }
            at += 1;
        }
        if let Some(end) = name_end
            && end + 1 == out.len()
            && end > start
            && self.form
            && self.empty_values
        {
            out.pop();
        }
        Some((at, name_end.unwrap_or(out.len())))
    }
}

/// Could `byte`, with `next` behind it, be anything but canonical in a path, or end it? Says yes
/// for a few that are canonical under some profiles; never no for one that is not.
#[inline(always)]
fn needs_look_in_path(byte: u8, next: u8) -> bool {
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

/// Is it https, where does the host start, and is the scheme in lower case? `None` for other
/// schemes.
#[inline]
fn read_scheme(line: &[u8]) -> Option<(bool, usize, bool)> {
    let (https, length) = match line.get(..8)? {
        [b'h' | b'H', b't' | b'T', b't' | b'T', b'p' | b'P', b':', b'/', b'/', _] => (false, 7),
        [b'h' | b'H', b't' | b'T', b't' | b'T', b'p' | b'P', b's' | b'S', b':', b'/', b'/'] => {
            (true, 8)
        }
        _ => return None,
    };
    Some((https, length, !line[..5].iter().any(u8::is_ascii_uppercase)))
}

/// Is `label` punycode?
#[inline]
fn is_encoded(label: &[u8]) -> bool {
    label[0] | 0x20 == b'x' && label[..4].eq_ignore_ascii_case(b"xn--")
}

/// Is `host` four decimal numbers up to 255 without leading zeros?
fn is_dotted_decimal(host: &[u8]) -> bool {
    host.split(|byte| *byte == b'.').all(|number| match number {
        [digit] => digit.is_ascii_digit(),
        [b'1'..=b'9', rest @ ..] if rest.len() <= 2 => {
            let value = number.iter().try_fold(0u32, |value, digit| {
                digit.is_ascii_digit().then(|| value * 10 + u32::from(digit - b'0'))
            });
            value.is_some_and(|value| value <= 255)
        }
        _ => false,
    })
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

/// Sorts the pieces of the query `out[mark + 1..]` by name; pieces of one name keep their order.
fn sort_pieces(pieces: &mut [Piece], sorted: &mut Vec<u8>, out: &mut Vec<u8>, mark: usize) {
    pieces.sort_by(|a, b| out[a.start..a.name_end].cmp(&out[b.start..b.name_end]));
    sorted.clear();
    for (number, piece) in pieces.iter().enumerate() {
        sorted.push(if number == 0 { b'?' } else { b'&' });
        sorted.extend_from_slice(&out[piece.start..piece.end]);
    }
    out.truncate(mark);
    out.extend_from_slice(sorted);
}

fn host_table() -> Table {
    table(|byte| match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => Class::Plain,
        b'A'..=b'Z' => Class::Upper,
        b'.' => Class::Dot,
        b':' | b'/' | b'?' | b'#' => Class::End,
        _ => Class::Refuse,
    })
}

fn path_table(form: bool, sessions: bool) -> Table {
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

fn query_table(form: bool) -> Table {
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

#[cfg(test)]
mod tests {
    use super::*;

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
            }
        }
    }
}
