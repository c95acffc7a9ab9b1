//! HOT: once per sixteen bytes. Finds the first byte of a text that needs a look.
//!
//! Price: some vector comparisons for each window of sixteen bytes, by the compiler: the loop over
//! a window has a fixed length and no branch, so every x86-64 and aarch64 target gets its own
//! vectors without a line of unsafe code. Guard: `benches/canonical.rs`. Twin: the test below, byte
//! by byte.

/// Bytes that are looked at together.
const WINDOW: usize = 16;

/// What stands behind the end of a text: a byte that is never special.
const PAD: u8 = b'a';

/// The length of the longest prefix of `text` in which `is_special(byte, next)` holds for no byte.
/// The `next` of the last byte is the letter `a`, which must not be special itself.
#[inline(always)]
pub fn plain_prefix(text: &[u8], is_special: impl Fn(u8, u8) -> bool) -> usize {
    let mut at = 0;
    while let Some(window) = text[at..].first_chunk::<{ WINDOW + 1 }>() {
        if let Some(special) = first_special(window, &is_special) {
            return at + special;
        }
        at += WINDOW;
    }
    let rest = &text[at..];
    if rest.is_empty() {
        return at;
    }
    let mut window = [PAD; WINDOW + 1];
    window[..rest.len()].copy_from_slice(rest);
    first_special(&window, &is_special).map_or(text.len(), |special| at + special)
}

/// The first special byte of a window; the last byte is only there as the one after.
#[inline(always)]
fn first_special(window: &[u8; WINDOW + 1], is_special: &impl Fn(u8, u8) -> bool) -> Option<usize> {
    let mut flags = [0; WINDOW];
    for (byte, flag) in flags.iter_mut().enumerate() {
        *flag = u8::from(is_special(window[byte], window[byte + 1]));
    }
    let flags = u128::from_le_bytes(flags);
    (flags != 0).then(|| flags.trailing_zeros() as usize / 8)
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
                let next = |at: usize| text.get(at + 1).copied().unwrap_or(PAD);
                let expected = (0..length).find(|at| is_special(text[*at], next(*at)));
                assert_eq!(plain_prefix(&text, is_special), expected.unwrap_or(length));
            }
        }
    }
}
