//! Segments of paths: where they start, their letters, and which may be session numbers.

use super::maps::hash;
use crate::canonical::letters;

/// A shape of segments: literal head and tail around letters and digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    pub(crate) head: Vec<u8>,
    pub(crate) tail: Vec<u8>,
    /// Bytes between head and tail; hexadecimal digits only if `hex`. 0: any number, where head and
    /// tail are brackets.
    pub(crate) length: usize,
    pub(crate) hex: bool,
}

/// Least length of what varies in a segment that may be a session number.
const SESSION_BYTES_MIN: usize = 12;

impl Shape {
    /// The shape of a segment that may be a session number.
    pub(crate) fn of(segment: &[u8]) -> Option<Shape> {
        let is_core = |byte: &u8| byte.is_ascii_alphanumeric();
        let (mut best, mut at) = ((0, 0), 0);
        while at < segment.len() {
            let run = segment[at..].iter().take_while(|byte| is_core(byte)).count();
            if run > best.1 - best.0 {
                best = (at, at + run);
            }
            at += run + 1;
        }
        // `(S(…))`, as servers of ASP.NET write it: the brackets are sign enough.
        if let Some(core) = segment.strip_prefix(b"(S(").and_then(|rest| rest.strip_suffix(b"))"))
            && core.len() >= SESSION_BYTES_MIN
            && core.iter().all(is_core)
        {
            let (head, tail) = (b"(S(".to_vec(), b"))".to_vec());
            return Some(Shape { head, tail, length: 0, hex: false });
        }
        let core = &segment[best.0..best.1];
        let (head, tail) = (&segment[..best.0], &segment[best.1..]);
        let digits = core.iter().filter(|byte| byte.is_ascii_digit()).count();
        let letters = core.len() - digits;
        if core.len() < SESSION_BYTES_MIN
            || digits < 2
            || letters < 2
            || head.len() + tail.len() > 16
        {
            return None;
        }
        if head.iter().chain(tail).any(u8::is_ascii_digit) {
            return None;
        }
        Some(Shape {
            head: head.to_vec(),
            tail: tail.to_vec(),
            length: core.len(),
            hex: core.iter().all(u8::is_ascii_hexdigit),
        })
    }

    /// Has `segment` this shape?
    pub(crate) fn fits(&self, segment: &[u8]) -> bool {
        let Some(core) = segment
            .strip_prefix(self.head.as_slice())
            .and_then(|rest| rest.strip_suffix(self.tail.as_slice()))
        else {
            return false;
        };
        !core.is_empty()
            && (self.length == 0 || core.len() == self.length)
            && core.iter().all(if self.hex {
                u8::is_ascii_hexdigit
            } else {
                u8::is_ascii_alphanumeric
            })
    }
}

/// Where the last segment starts.
pub(crate) fn last_start(path: &[u8]) -> usize {
    memchr::memrchr(b'/', path).map_or(0, |at| at + 1)
}

/// Puts letters in lower case, but not those of escapes; returns a hash of what was
/// there, if any was not.
pub(crate) fn fold(path: &mut [u8]) -> Option<u64> {
    letters::has_upper(path).then(|| {
        let signature = hash(path);
        letters::fold(path);
        signature
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_shapes() {
        assert!(Shape::of(b"index.html").is_none());
        assert!(Shape::of(b"sess-0123456789abcdef").unwrap().hex);
        assert!(Shape::of(b"20200101123456").is_none(), "digits alone are numbers of items");
        assert!(Shape::of(b"averylongwordofletters").is_none());
    }
}
