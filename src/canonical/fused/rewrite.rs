//! HOT: the canonical form of a URL, written.

use super::accept::{needs_look_in_path, needs_look_in_query};
use super::classes::Class;
use super::head::Head;
use super::{Fused, Scratch};
use crate::bytes::hex;
use crate::bytes::windows::plain_prefix;
use crate::canonical::draft::push_escape;
use crate::canonical::rules::directory_index::length_without_index;
use crate::canonical::rules::{encoding, escapes, split_piece, trailing_slash, www};

/// A piece of a query, as positions in the output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    start: usize,
    name_end: usize,
    end: usize,
}

impl Fused {
    /// Writes the canonical form; `None` to refuse.
    #[inline(never)]
    pub(super) fn rewrite(
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
            self.end_at_fragment(&line[path_end + 1..], out)?;
        }
        debug_assert!(out.len() > path_start);
        Some(())
    }

    /// Ends the URL with its `fragment`, or without it.
    fn end_at_fragment(&self, fragment: &[u8], out: &mut Vec<u8>) -> Option<()> {
        if self.keeps_fragment(fragment)? {
            out.push(b'#');
            out.extend_from_slice(fragment);
        }
        Some(())
    }

    /// Writes the path that starts at `line[at]`; returns where it ends.
    fn write_path(&self, line: &[u8], mut at: usize, out: &mut Vec<u8>) -> Option<usize> {
        let path_start = out.len();
        let mut doubled = false;
        while line.get(at) == Some(&b'/') {
            out.push(b'/');
            at += 1;
            let mut segment = out.len();
            // Bet: a window or more is copied as it is; only the first segment could be dots.
            if !matches!(line.get(at), Some(b'.' | b'/' | b'(')) {
                let plain = &line[at..at + plain_prefix(&line[at..], needs_look_in_path)];
                out.extend_from_slice(plain);
                at += plain.len();
                segment += memchr::memrchr(b'/', plain).map_or(0, |slash| slash + 1);
            }
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
        if at < query.len() {
            self.end_at_fragment(&query[at + 1..], out)?;
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
        loop {
            let plain = &query[at..at + plain_prefix(&query[at..], needs_look_in_query)];
            out.extend_from_slice(plain);
            at += plain.len();
            let Some(byte) = query.get(at) else { break };
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
