//! Where bytes in memory are cut into chunks.

use super::chunk::Chunk;
use super::disk::Sample;

/// The sizes of a plan that decide where chunks end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// What ends a line.
    pub(super) separator: u8,
    /// How far a chunk looks for its last line; at least 1.
    pub(super) chunk_bytes: usize,
    /// Longest line, without separator, that is delivered whole; at least `chunk_bytes`.
    pub(super) inline_bytes_max: usize,
    /// How much of a stream to wait for before its first chunk.
    pub(super) sample: Sample,
}

impl Sizes {
    pub(super) fn new(separator: u8, chunk_bytes: usize, line_bytes_max: usize) -> Self {
        let chunk_bytes = chunk_bytes.max(1);
        let inline_bytes_max = chunk_bytes.max(line_bytes_max);
        Sizes { separator, chunk_bytes, inline_bytes_max, sample: Sample::default() }
    }
}

/// The first chunk of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// This many bytes are whole lines.
    Lines(usize),
    /// An overlong line of this many bytes, without its separator.
    Overlong(usize),
}

impl Cut {
    /// How many of `rest` bytes the chunk uses up, the separator of an overlong line included.
    pub(super) fn consumed(self, rest: usize) -> usize {
        match self {
            Cut::Lines(bytes) => bytes,
            // The line is either followed by its separator or by nothing.
            Cut::Overlong(bytes) => (bytes + 1).min(rest),
        }
    }

    /// The length of the line in bytes, if it is an overlong one.
    pub(super) fn overlong(self) -> Option<u64> {
        match self {
            Cut::Lines(_) => None,
            Cut::Overlong(bytes) => Some(bytes as u64),
        }
    }

    /// How many bytes [`Chunk::bytes`](super::Chunk::bytes) has.
    pub(super) fn shown(self) -> usize {
        match self {
            Cut::Lines(bytes) => bytes,
            Cut::Overlong(bytes) => bytes.min(Chunk::OVERLONG_BYTES_SHOWN),
        }
    }
}

/// Cuts the first chunk off `rest`, which begins at a line and goes on to the end of the file.
///
/// Looks at few bytes: backward from `chunk_bytes` for the end of a line; if there is none, forward
/// to the end of the only line. `rest` must not be empty.
pub(super) fn cut(rest: &[u8], sizes: &Sizes) -> Cut {
    if rest.len() <= sizes.chunk_bytes {
        return Cut::Lines(rest.len());
    }
    let (window, beyond) = rest.split_at(sizes.chunk_bytes);
    if let Some(last) = memchr::memrchr(sizes.separator, window) {
        return Cut::Lines(last + 1);
    }
    let found = memchr::memchr(sizes.separator, beyond);
    let line = found.map_or(rest.len(), |found| window.len() + found);
    if line > sizes.inline_bytes_max {
        Cut::Overlong(line)
    } else {
        Cut::Lines(line + usize::from(found.is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables() {
        for (given, chunk, line, expected, why) in [
            ("a", 4, 4, Cut::Lines(1), "all fits"),
            ("a\nb\n", 4, 4, Cut::Lines(4), "all fits exactly"),
            ("a\nb\nc", 4, 4, Cut::Lines(4), "up to the last separator"),
            ("a\nbcdef\n", 4, 4, Cut::Lines(2), "the long line begins the next chunk"),
            ("abcd\ne", 4, 4, Cut::Lines(5), "a line that fits but for its separator"),
            ("abcde\nf", 4, 4, Cut::Overlong(5), "one byte too long"),
            ("abcde\nf", 4, 5, Cut::Lines(6), "longer than a chunk, but not than a line may be"),
            ("abcdefg", 4, 6, Cut::Overlong(7), "overlong at the end of the file"),
            ("abcdef", 4, 6, Cut::Lines(6), "whole at the end of the file"),
            ("abc\nd", 4, 1, Cut::Lines(4), "longer than a line may be, but not than a chunk"),
        ] {
            let sizes = Sizes::new(b'\n', chunk, line);
            assert_eq!(cut(given.as_bytes(), &sizes), expected, "{given:?} {chunk} {line}: {why}");
        }
    }

    #[test]
    fn consumed_and_shown() {
        assert_eq!(Cut::Overlong(5).consumed(6), 6);
        assert_eq!(Cut::Overlong(5).consumed(5), 5);
        assert_eq!(Cut::Overlong(5000).shown(), 1024);
        assert_eq!(Cut::Lines(5000).shown(), 5000);
    }
}
