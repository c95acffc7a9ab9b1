//! Finds the ends of zstd frames without decoding them (RFC 8878 3.1).
//!
//! ```text
//! frame      magic 28 b5 2f fd | header, 2 to 14 bytes | blocks ... | checksum, 0 or 4 bytes
//! block      last, 1 bit | kind, 2 bits | size, 21 bits | content
//! skippable  magic 5x 2a 4d 18 | size, 4 bytes | content
//! ```
//!
//! The result is reliable for valid frames only: the decoder decides about each frame.

/// Largest content of a block. Source: RFC 8878 3.1.1.2.4.
pub(super) const BLOCK_BYTES_MAX: u64 = 128 << 10;

/// Limits for frames that are decoded as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameBounds {
    /// Largest window, in bytes.
    pub(super) window_bytes_max: u64,
    /// Largest content, and largest frame, in bytes.
    pub(crate) frame_bytes_max: u64,
}

/// What a [`Walk`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkResult {
    /// A whole frame: its length, and the most that it can decompress to.
    Frame {
        /// Bytes from the magic to the end.
        compressed_bytes: usize,
        /// The content size if the header has it, else what its blocks can hold.
        content_bytes_max: u64,
    },
    /// The frame is valid so far, and goes on after the bytes that were given.
    More,
    /// A frame beyond the bounds, or no frame at all.
    Other,
}

/// A walk over the blocks of one frame. It continues where it stopped, so that its cost is linear
/// in the length of the frame, however often it is called.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Where the next block begins, once the header was read.
    next: usize,
    header: Option<Header>,
    /// The most that the blocks so far can decompress to.
    content_bytes_max: u64,
    ended: bool,
}

/// What comes before the blocks of a frame.
#[derive(Debug)]
pub(crate) struct Header {
    bytes: usize,
    pub(super) window_bytes: u64,
    pub(super) content_bytes: Option<u64>,
    has_checksum: bool,
}

impl Walk {
    /// Continues. `compressed` begins with the frame; it is the same as last time, or longer.
    pub(crate) fn step(&mut self, compressed: &[u8], bounds: &FrameBounds) -> WalkResult {
        match compressed {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                self.blocks(compressed, bounds).unwrap_or(WalkResult::More)
            }
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, rest @ ..] => {
                let Some(size) = number(rest, 4) else { return WalkResult::More };
                let compressed_bytes = 8 + size;
                if compressed_bytes > bounds.frame_bytes_max {
                    return WalkResult::Other;
                }
                if compressed_bytes > compressed.len() as u64 {
                    return WalkResult::More;
                }
                WalkResult::Frame {
                    compressed_bytes: compressed_bytes as usize,
                    content_bytes_max: 0,
                }
            }
            _ if compressed.len() < 4 => WalkResult::More,
            _ => WalkResult::Other,
        }
    }

    /// Where the next block begins.
    #[cfg(test)]
    pub(super) fn next_block(&self) -> usize {
        self.next
    }

    /// `None` if more bytes are needed.
    fn blocks(&mut self, compressed: &[u8], bounds: &FrameBounds) -> Option<WalkResult> {
        if self.header.is_none() {
            let Some(header) = Header::parse(compressed)? else { return Some(WalkResult::Other) };
            let content_bytes = header.content_bytes.unwrap_or(0);
            if header.window_bytes > bounds.window_bytes_max
                || content_bytes > bounds.frame_bytes_max
            {
                return Some(WalkResult::Other);
            }
            self.next = header.bytes;
            self.header = Some(header);
        }
        let header = self.header.as_ref()?;
        let block_bytes_max = header.window_bytes.min(BLOCK_BYTES_MAX);
        while !self.ended {
            let block = number(compressed.get(self.next..)?, 3)?;
            let (kind, size) = (block >> 1 & 3, block >> 3);
            if size > block_bytes_max {
                return Some(WalkResult::Other);
            }
            let (stored, content) = match kind {
                0 => (size, size),            // as it is
                1 => (1, size),               // one byte, repeated
                2 => (size, block_bytes_max), // compressed
                _ => return Some(WalkResult::Other),
            };
            self.next += 3 + stored as usize;
            self.content_bytes_max += content;
            self.ended = block & 1 == 1;
            let content = header.content_bytes.unwrap_or(self.content_bytes_max);
            if content.max(self.next as u64) > bounds.frame_bytes_max {
                return Some(WalkResult::Other);
            }
        }
        let compressed_bytes = self.next + if header.has_checksum { 4 } else { 0 };
        let content_bytes_max = header.content_bytes.unwrap_or(self.content_bytes_max);
        (compressed_bytes <= compressed.len())
            .then_some(WalkResult::Frame { compressed_bytes, content_bytes_max })
    }
}

impl Header {
    /// Reads the header of the frame that `compressed` begins with. `None` if there is none, or not
    /// all of it, or if it refers to a dictionary.
    pub(crate) fn of(compressed: &[u8]) -> Option<Header> {
        let is_frame = compressed.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
        is_frame.then(|| Header::parse(compressed))??
    }

    /// Reads the header of the frame that `compressed` begins with, even if it refers to a
    /// dictionary. `None` if more bytes are needed; `Some(None)` if there is no such frame.
    pub(super) fn of_any(compressed: &[u8]) -> Option<Option<Header>> {
        let magic = [0x28, 0xb5, 0x2f, 0xfd];
        let seen = compressed.len().min(magic.len());
        match compressed[..seen] == magic[..seen] {
            true => Header::read(compressed),
            false => Some(None),
        }
    }

    /// Reads the header of a frame without checking its magic number. `None` if more bytes are
    /// needed; `Some(None)` if it refers to a dictionary, or is invalid.
    fn parse(compressed: &[u8]) -> Option<Option<Header>> {
        let (descriptor, _) = compressed.get(4..)?.split_first()?;
        // A dictionary is needed, however long the header is.
        if descriptor & 0x03 != 0 { Some(None) } else { Header::read(compressed) }
    }

    /// Reads the header of a frame without checking its magic number. `None` if more bytes are
    /// needed; `Some(None)` if it is invalid.
    fn read(compressed: &[u8]) -> Option<Option<Header>> {
        let (descriptor, mut rest) = compressed.get(4..)?.split_first()?;
        let is_single = descriptor & 0x20 != 0;
        let is_reserved = descriptor & 0x08 != 0;
        if is_reserved {
            return Some(None);
        }
        let mut window_bytes = 0;
        if !is_single {
            let (window, behind) = rest.split_first()?;
            let base = 1u64 << (10 + (window >> 3));
            window_bytes = base + base / 8 * u64::from(window & 7);
            rest = behind;
        }
        let dictionary_width = [0, 1, 2, 4][usize::from(descriptor & 0x03)];
        rest = rest.get(dictionary_width..)?;
        let content_width = match descriptor >> 6 {
            0 => usize::from(is_single),
            1 => 2,
            2 => 4,
            _ => 8,
        };
        let mut content_bytes = None;
        if content_width > 0 {
            let base = if content_width == 2 { 256 } else { 0 };
            content_bytes = Some(number(rest, content_width)?.saturating_add(base));
        }
        if is_single {
            window_bytes = content_bytes.unwrap_or(0);
        }
        Some(Some(Header {
            bytes: compressed.len() - rest.len() + content_width,
            window_bytes,
            content_bytes,
            has_checksum: descriptor & 0x04 != 0,
        }))
    }
}

/// The first `width` bytes as a number, the lowest byte first.
fn number(bytes: &[u8], width: usize) -> Option<u64> {
    let bytes = bytes.get(..width)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const BOUNDS: FrameBounds = FrameBounds { window_bytes_max: 1 << 31, frame_bytes_max: 1 << 20 };

    fn one_step(compressed: &[u8]) -> WalkResult {
        Walk::default().step(compressed, &BOUNDS)
    }

    fn frame(content: &[u8], has_size: bool, checksum: bool) -> Vec<u8> {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(checksum).unwrap();
        encoder.include_contentsize(has_size).unwrap();
        if has_size {
            encoder.set_pledged_src_size(Some(content.len() as u64)).unwrap();
        }
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn ends_of_frames() {
        let text: Vec<u8> = (0..90_000u32).flat_map(|i| i.wrapping_mul(i).to_le_bytes()).collect();
        let zeros = vec![0; 300_000];
        let contents = [&b""[..], b"a", &[7; 255], &[7; 256], &[7; 70_000], &zeros, &text];
        for content in contents {
            for (has_size, checksum) in [(true, true), (true, false), (false, true), (false, false)]
            {
                let mut compressed = frame(content, has_size, checksum);
                let whole = compressed.len();
                compressed.extend_from_slice(b"behind");
                let mut walk = Walk::default();
                for end in (0..whole).step_by(1 + whole / 1000) {
                    assert_eq!(
                        walk.step(&compressed[..end], &BOUNDS),
                        WalkResult::More,
                        "{end} of {whole}"
                    );
                    assert_eq!(one_step(&compressed[..end]), WalkResult::More, "{end} of {whole}");
                }
                let found = walk.step(&compressed, &BOUNDS);
                assert_eq!(found, one_step(&compressed));
                let WalkResult::Frame { compressed_bytes, content_bytes_max } = found else {
                    panic!("{found:?}: {} bytes, {has_size}", content.len())
                };
                assert_eq!(compressed_bytes, whole);
                let exact = content.len() as u64;
                if has_size {
                    assert_eq!(content_bytes_max, exact);
                }
                assert!((exact..=exact + (128 << 10)).contains(&content_bytes_max));
            }
        }
    }

    #[test]
    fn skippable_frames() {
        let compressed = [&b"\x53\x2a\x4d\x18"[..], &3u32.to_le_bytes(), b"xyz"].concat();
        for end in 0..compressed.len() {
            assert_eq!(one_step(&compressed[..end]), WalkResult::More, "{end}");
        }
        assert_eq!(
            one_step(&compressed),
            WalkResult::Frame { compressed_bytes: 11, content_bytes_max: 0 }
        );
        let huge = [&b"\x53\x2a\x4d\x18"[..], &u32::MAX.to_le_bytes()].concat();
        assert_eq!(one_step(&huge), WalkResult::Other);
    }

    #[test]
    fn others() {
        let small = frame(b"a line\n", false, false);
        let tight = FrameBounds { window_bytes_max: 1 << 10, ..BOUNDS };
        assert_eq!(Walk::default().step(&small, &tight), WalkResult::Other, "window");
        for (given, why) in [
            (&b"junk"[..], "no magic"),
            (b"\x27\xb5\x2f\xfd\x20\x01", "a format of old"),
            (b"\x28\xb5\x2f\xfd\x28\x01", "a reserved bit"),
            (b"\x28\xb5\x2f\xfd\x21\x07\x01", "a dictionary"),
            (b"\x28\xb5\x2f\xfd\xa0\x01\0\x10\0", "a content size of one byte too many"),
            (b"\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\xff", "the largest content size"),
            (b"\x28\xb5\x2f\xfd\x20\x05\x07\0\0", "a reserved kind of block"),
            (b"\x28\xb5\x2f\xfd\x20\x05\x31\0\0", "a block of more than the window"),
        ] {
            assert_eq!(one_step(given), WalkResult::Other, "{why}");
        }
        // Frames without a size end when the blocks are too many, also if these hold nothing.
        let mut compressed = b"\x28\xb5\x2f\xfd\0\x58".to_vec();
        compressed.resize(6 + (1 << 20) + 3, 0);
        assert_eq!(one_step(&compressed), WalkResult::Other, "empty blocks without end");
        let mut compressed = b"\x28\xb5\x2f\xfd\0\x58".to_vec();
        compressed.extend([2, 0, 16, b'x'].repeat(9));
        assert_eq!(one_step(&compressed), WalkResult::Other, "repeated bytes");
    }
}
