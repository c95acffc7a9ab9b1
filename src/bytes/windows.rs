//! HOT: once per sixteen bytes. Finds the stretch of text that needs no look at its single bytes.
//!
//! Price: some vector comparisons for each window of sixteen bytes, by the compiler: the loops have
//! a fixed length and no branch, so every x86-64 and aarch64 target gets its own vectors without a
//! line of unsafe code. Guard: `benches/canonical.rs`. Twin: the test below, byte by byte.

/// Bytes that are looked at together.
pub const WINDOW: usize = 16;

/// The length of the longest prefix of `text`, in whole windows, in which `is_special(byte, next)`
/// holds for no byte. The byte after a window is read with it; the last bytes of `text`, which have
/// no whole window, are never part of the prefix.
#[inline]
pub fn plain_prefix(text: &[u8], is_special: impl Fn(u8, u8) -> bool) -> usize {
    let mut at = 0;
    while let Some(window) = text[at..].first_chunk::<{ WINDOW + 1 }>() {
        let mut special = false;
        for byte in 0..WINDOW {
            special |= is_special(window[byte], window[byte + 1]);
        }
        if special {
            break;
        }
        at += WINDOW;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_its_twin_at_every_alignment() {
        let is_special = |byte: u8, next: u8| byte == b'x' || byte == b'/' && next == b'.';
        for length in 0..100 {
            for special in 0..=length {
                let mut text = vec![b'a'; length];
                if special < length {
                    text[special] = if special % 2 == 0 { b'x' } else { b'/' };
                    if special % 2 == 1 && special + 1 < length {
                        text[special + 1] = b'.';
                    }
                }
                let first = (0..length.saturating_sub(1))
                    .find(|at| is_special(text[*at], text[at + 1]))
                    .unwrap_or(length.saturating_sub(1));
                let expected = first / WINDOW * WINDOW;
                assert_eq!(plain_prefix(&text, is_special), expected, "{length} {special}");
            }
        }
    }
}
