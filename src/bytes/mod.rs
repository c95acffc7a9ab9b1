//! Work on bytes that knows nothing about URLs: lines, hexadecimal digits, safe display.

pub mod ahead;
pub mod bits;
pub mod decimal;
#[allow(unsafe_code)]
pub mod escape;
pub mod hex;
pub mod lines;
#[allow(unsafe_code)]
pub mod marks;
#[allow(unsafe_code)]
pub mod pages;
#[allow(unsafe_code)]
pub mod prefetch;
pub mod show;
pub mod split_mix;
pub mod varint;

pub use lines::{LineEnds, Lines};
pub use show::{printable, show, show_input, show_path};

/// The byte order mark of UTF-8.
pub const BOM: &[u8] = b"\xef\xbb\xbf";

/// `text` without the byte order mark that it may begin with.
pub fn without_bom(text: &[u8]) -> &[u8] {
    text.strip_prefix(BOM).unwrap_or(text)
}

/// Returns the first eight bytes of `source[start..end]` as a number, the first the highest; padded
/// with zeros if there are fewer.
#[inline(always)]
pub fn first_word(source: &[u8], start: usize, end: usize) -> u64 {
    // The last eight bytes of the source, moved up, where there are fewer.
    let at = start.min(source.len().saturating_sub(8));
    if let Some(bytes) = source[at..].first_chunk() {
        let moved = u64::from_be_bytes(*bytes).wrapping_shl(8 * (start - at) as u32);
        return moved & FIRST_BYTES[(end - start).min(8)];
    }
    short_word(&source[start..end])
}

/// Returns the first `length` of these bytes as a number, the first the highest; zeros stand after
/// them.
#[inline(always)]
pub fn first_bytes(bytes: &[u8; 8], length: usize) -> u64 {
    u64::from_be_bytes(*bytes) & FIRST_BYTES[length.min(8)]
}

/// A mask of the first bytes of a number, for each count of them up to eight; the first byte is the
/// highest.
const FIRST_BYTES: [u64; 9] = {
    let mut masks = [u64::MAX; 9];
    let mut count = 0;
    while count < 8 {
        masks[count] = !(u64::MAX >> (8 * count));
        count += 1;
    }
    masks
};

/// Returns the first eight bytes of `text` as [`first_word`] does, where its source has fewer than
/// eight.
#[cold]
fn short_word(text: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    text.iter().zip(&mut bytes).for_each(|(byte, to)| *to = *byte);
    u64::from_be_bytes(bytes)
}

/// Appends `source[start..end]` to `out`; fast where it is no longer than 32 bytes.
#[inline(always)]
pub fn push_short(out: &mut Vec<u8>, source: &[u8], start: usize, end: usize) {
    push_up_to::<32>(out, source, start, end);
}

/// Appends `source[start..end]` to `out`; fast where it is no longer than `MOST` bytes.
#[inline(always)]
pub fn push_up_to<const MOST: usize>(out: &mut Vec<u8>, source: &[u8], start: usize, end: usize) {
    // Bet: it is short, and not at the very end of the source. A copy of fixed length is a few
    // instructions; one of any length has branches that cannot be predicted.
    match source[start..].first_chunk::<MOST>() {
        Some(chunk) if end - start <= MOST => {
            let before = out.len();
            out.extend_from_slice(chunk);
            out.truncate(before + end - start);
        }
        _ => out.extend_from_slice(&source[start..end]),
    }
}

/// Appends `source[start..end]` to `out`, its ASCII letters in lower case; fast where it is no
/// longer than 64 bytes.
#[inline(always)]
pub fn push_lower(out: &mut Vec<u8>, source: &[u8], start: usize, end: usize) {
    let before = out.len();
    match source[start..].first_chunk::<64>() {
        Some(chunk) if end - start <= chunk.len() => {
            let mut chunk = *chunk;
            chunk.make_ascii_lowercase();
            out.extend_from_slice(&chunk);
            out.truncate(before + end - start);
        }
        _ => {
            out.extend_from_slice(&source[start..end]);
            out[before..].make_ascii_lowercase();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words() {
        let source = b"abcdefghijkl";
        for from in 0..source.len() {
            let source = &source[from..];
            for (start, end) in
                (0..source.len()).flat_map(|s| (s..=source.len()).map(move |e| (s, e)))
            {
                let mut expected = [0; 8];
                source[start..end].iter().zip(&mut expected).for_each(|(byte, to)| *to = *byte);
                let word = first_word(source, start, end);
                assert_eq!(word, u64::from_be_bytes(expected), "{source:?} {start} {end}");
                if let Some(bytes) = source[start..].first_chunk() {
                    assert_eq!(first_bytes(bytes, end - start), word, "{source:?} {start} {end}");
                }
            }
        }
    }

    #[test]
    fn short_pieces() {
        let source: Vec<u8> = (0..80).collect();
        let lower = source.to_ascii_lowercase();
        for (start, end) in (0..=80).flat_map(|start| (start..=80).map(move |end| (start, end))) {
            let mut out = b"before".to_vec();
            push_short(&mut out, &source, start, end);
            assert_eq!(out, [b"before", &source[start..end]].concat());
            push_lower(&mut out, &source, start, end);
            assert_eq!(out, [b"before", &source[start..end], &lower[start..end]].concat());
        }
    }
}
