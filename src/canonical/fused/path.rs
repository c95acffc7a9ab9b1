//! HOT: the path of a URL: is it canonical? If not, it is written.

use super::classes::{Class, SETS, set};
use super::{Fused, Marked};
use crate::bytes::hex;
use crate::bytes::marks::Marks;
use crate::canonical::draft::push_escape;
use crate::canonical::profile::Slash;
use crate::canonical::rules::directory_index::length_without_index;
use crate::canonical::rules::trailing_slash;

/// What is known of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// It is spelled canonically.
    Canonical,
    /// It is, but for how it ends: an index file, a slash too many or missing.
    EndsOddly,
    /// No byte needs a look but those of escapes, not all of which are canonical.
    HasEscapes,
    /// There is more to do.
    Odd,
}

impl Path {
    pub(super) fn is_canonical(self) -> bool {
        self == Path::Canonical
    }
}

impl Fused {
    /// Is the path `line[start..end]` spelled canonically? May say no where yes were right.
    #[inline]
    pub(super) fn judge_path(&self, url: Marked, start: usize, end: usize) -> Path {
        let Marked { line, marks } = url;
        // The path starts with a slash or is empty.
        if start == end {
            return Path::EndsOddly;
        }
        if marks.has_pair(set::SLASH, set::DOT, start, end)
            && has_dot_segment(line, marks, start, end)
        {
            return Path::Odd;
        }
        // Bet: next to no byte needs a look.
        let mut at = marks.next(set::PATH_LOOK, start);
        while at < end {
            if line[at] != b'(' || line[at - 1] == b'/' {
                return Path::Odd;
            }
            at = marks.next(set::PATH_LOOK, at + 1);
        }
        if self.one_slash && marks.has_pair(set::SLASH, set::SLASH, start, end) {
            return Path::Odd;
        }
        let mut at = marks.next(set::PERCENT, start);
        while at < end {
            match canonical_escape(&line[at..]) {
                Some(byte) if !self.raw_in_path[usize::from(byte)] => {}
                _ => return Path::HasEscapes,
            }
            // Escapes come in rows.
            at += 3;
            if line.get(at) != Some(&b'%') {
                at = marks.next(set::PERCENT, at);
            }
        }
        let path = &line[start..end];
        if let Some(names) = &self.index_names
            && length_without_index(path, names, self.slash) != path.len()
        {
            return Path::EndsOddly;
        }
        let ends_well = match self.slash {
            Slash::Keep => true,
            Slash::Remove => path.len() == 1 || !path.ends_with(b"/"),
            Slash::Add => path.ends_with(b"/"),
        };
        if ends_well { Path::Canonical } else { Path::EndsOddly }
    }

    /// Writes the path `line[start..end]` in its canonical form; `None` to refuse.
    pub(super) fn write_path(
        &self,
        url: Marked,
        start: usize,
        end: usize,
        path: Path,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let path_start = out.len();
        match path {
            Path::Canonical | Path::EndsOddly => out.extend_from_slice(&url.line[start..end]),
            // Bet: in a text of another script, all escapes are of bytes from 0x80 on.
            Path::HasEscapes if hex::copy_upper(&url.line[start..end], out) => {}
            Path::HasEscapes | Path::Odd => {
                out.truncate(path_start);
                self.write_segments(url, start, end, out)?;
            }
        }
        if path == Path::Canonical {
            return Some(());
        }
        if let Some(names) = &self.index_names {
            let len = length_without_index(&out[path_start..], names, self.slash);
            out.truncate(path_start + len);
        }
        trailing_slash::settle(out, path_start, self.slash);
        Some(())
    }

    /// Writes the segments of `line[start..end]`, except that nothing is done about how they end.
    fn write_segments(
        &self,
        url: Marked,
        start: usize,
        end: usize,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let Marked { line, marks } = url;
        let path_start = out.len();
        let mut doubled = false;
        let mut at = start;
        while at < end {
            // Invariant: line[at] is the slash before a segment.
            out.push(b'/');
            at += 1;
            let segment = out.len();
            let segment_end = marks.next(set::SLASH, at).min(end);
            while at < segment_end {
                let look = marks.next(set::PATH_LOOK, at).min(marks.next(set::PERCENT, at));
                let look = look.min(segment_end);
                out.extend_from_slice(&line[at..look]);
                at = look;
                // Bet: bytes that need a look come in rows.
                while at < segment_end {
                    match self.path[usize::from(line[at])] {
                        Class::Escape => push_escape(out, line[at]),
                        Class::Percent => {
                            at += self.spell_escape(&line[at..], out)?;
                            continue;
                        }
                        Class::Parenthesis => out.push(b'('),
                        Class::Plain => break,
                        _ => return None,
                    }
                    at += 1;
                }
            }
            let is_last = at == end;
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
        Some(())
    }

    /// Spells the escape that `text` starts with; returns how long it was.
    #[inline]
    fn spell_escape(&self, text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        if let [_, high, low, ..] = *text
            && let Some(byte) = hex::pair(high, low)
        {
            if self.raw_in_path[usize::from(byte)] {
                out.push(byte);
            } else {
                push_escape(out, byte);
            }
            return Some(3);
        }
        self.write_bare_percent(&text[1..], out)?;
        Some(1)
    }

    /// Writes a percent sign that starts no escape; `rest` is what follows it.
    pub(super) fn write_bare_percent(&self, rest: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let may_be_unicode = matches!(rest.first(), Some(b'u' | b'U'));
        if !self.form || may_be_unicode || rest.iter().take(2).any(|byte| *byte <= b' ') {
            return None;
        }
        push_escape(out, b'%');
        Some(())
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

/// Is a segment of `line[start..end]`, a path, made of one or two dots?
#[inline(never)]
fn has_dot_segment(line: &[u8], marks: Marks<'_, SETS>, start: usize, end: usize) -> bool {
    let mut at = marks.next(set::DOT, start);
    while at < end {
        if line[at - 1] == b'/' && is_dot_segment(&line[at..]) {
            return true;
        }
        at = marks.next(set::DOT, at + 1);
    }
    false
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
pub(super) fn canonical_escape(text: &[u8]) -> Option<u8> {
    match *text {
        [b'%', high, low, ..] if !high.is_ascii_lowercase() && !low.is_ascii_lowercase() => {
            hex::pair(high, low)
        }
        _ => None,
    }
}
