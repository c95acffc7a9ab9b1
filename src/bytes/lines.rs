//! HOT: the lines of a piece of memory.
//!
//! Price: one `memchr` per line. No allocation. Guard: `benches/extract.rs`, group `lines`.

/// Iterates over the pieces of `bytes` that end at `separator`; the last one may lack it.
///
/// Shape: the separator is not part of a piece. `b"a\n\nb"` gives `a`, the empty piece, `b`;
/// `b"a\n"` gives only `a`.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    rest: &'a [u8],
    separator: u8,
}

impl<'a> Lines<'a> {
    /// The lines of `bytes`, ended by `separator`: a newline, or NUL.
    pub fn new(bytes: &'a [u8], separator: u8) -> Self {
        Lines { rest: bytes, separator }
    }

    /// What has not been handed out yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Hands out the first `bytes` of the rest, which may hold separators, and leaves out the
    /// separator behind them.
    #[inline]
    pub fn take_bytes(&mut self, bytes: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest.get(1..).unwrap_or_default();
        taken
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        match memchr::memchr(self.separator, self.rest) {
            Some(end) => {
                let (line, rest) = self.rest.split_at(end);
                self.rest = &rest[1..];
                Some(line)
            }
            None => Some(std::mem::take(&mut self.rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables() {
        for (given, expected) in [
            (&b""[..], &[][..]),
            (b"\n", &[&b""[..]][..]),
            (b"a", &[b"a"]),
            (b"a\n", &[b"a"]),
            (b"a\n\nb", &[b"a", b"", b"b"]),
            (b"a\r\nb\r\n", &[b"a\r", b"b\r"]),
        ] {
            assert_eq!(Lines::new(given, b'\n').collect::<Vec<_>>(), expected);
        }
        let mut lines = Lines::new(b"a\nb\nc", b'\n');
        assert_eq!((lines.take_bytes(3), lines.rest()), (&b"a\nb"[..], &b"c"[..]));
        assert_eq!((lines.take_bytes(1), lines.rest()), (&b"c"[..], &b""[..]));
        assert_eq!(Lines::new(b"a\nb\0c", 0).collect::<Vec<_>>(), [&b"a\nb"[..], b"c"]);
    }
}
