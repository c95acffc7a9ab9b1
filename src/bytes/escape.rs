//! HOT: once per URL with non-ASCII bytes. Copies text and percent-escapes the bytes from 0x80 on.
//!
//! ```text
//! text     a    ل (D9 84)   -        16 bytes
//! tripled  a a a D9 D9 D9 84 84 84 - - -
//! spelled  a ? ? %  D  9  %  8  4  - ? ?
//! pressed  a %D9%84-
//! ```
//!
//! Price: with AVX-512 VBMI2, some twenty instructions for any 16 bytes; without, two branches for
//! each run of such bytes. Guard: `benches/canonical.rs`, group `fused`. Twin:
//! `push_high_portable`; the test below compares the two.
//!
//! Unsafe: a call of a function that is compiled for wider vectors than every x86-64 has, after
//! checking for them; and loads and a store of vectors, each of an array of its length or under a
//! mask that ends with the text.

use super::hex;

/// The most bytes that [`push_high`] takes at once.
pub const STRETCH: usize = 64;

/// Appends the first bytes of `text` to `out`, up to the first one below 0x80 that has a bit in
/// `look`, and at most [`STRETCH`] of them; those from 0x80 on as escapes in upper case. Returns
/// how many bytes of `text` were taken.
#[inline]
pub fn push_high(out: &mut Vec<u8>, text: &[u8], look: u64) -> usize {
    #[cfg(target_arch = "x86_64")]
    if x86::is_there() {
        // SAFETY: these features were found on this machine.
        return unsafe { x86::push_high(out, text, look) };
    }
    push_high_portable(out, text, look)
}

/// Appends the first bytes of `text` to `out`, those from 0x80 on escaped, as [`push_high`] does,
/// on any machine.
fn push_high_portable(out: &mut Vec<u8>, text: &[u8], look: u64) -> usize {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let text = &text[..text.len().min(STRETCH)];
    let mut at = 0;
    while at < text.len() {
        if text[at] < 0x80 {
            if look >> at & 1 == 1 {
                break;
            }
            out.push(text[at]);
            at += 1;
            continue;
        }
        // Bet: the text is in another script, where such bytes come in runs. Eight are written at
        // once, and surplus ones are removed.
        let Some(row) = text[at..].first_chunk::<8>() else {
            out.extend_from_slice(&hex::ESCAPES[usize::from(text[at])][..3]);
            at += 1;
            continue;
        };
        // Each escape is written over the last byte of the word before.
        let mut escapes = [0; 3 * 8 + 1];
        for (at, byte) in row.iter().enumerate() {
            escapes[3 * at..3 * at + 4].copy_from_slice(&hex::ESCAPES[usize::from(*byte)]);
        }
        let count = (!u64::from_le_bytes(*row) & HIGH).trailing_zeros() as usize / 8;
        let before = out.len();
        out.extend_from_slice(&escapes[..3 * 8]);
        out.truncate(before + 3 * count);
        at += count;
    }
    at
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::STRETCH;

    /// Bytes that are escaped at once: three times as many fit in a vector.
    const GROUP: usize = 16;

    /// The first of every three of the bytes that a group becomes.
    const FIRSTS: u64 = 0x0000_2492_4924_9249;

    /// For each byte that a group becomes, the one that it comes from.
    const TRIPLED: [u8; 64] = {
        let mut from = [0; 64];
        let mut at = 0;
        while at < 3 * GROUP {
            from[at] = (at / 3) as u8;
            at += 1;
        }
        from
    };

    const DIGITS: [u8; 64] = {
        let mut digits = [0; 64];
        let mut at = 0;
        while at < 64 {
            digits[at] = b"0123456789ABCDEF"[at % 16];
            at += 1;
        }
        digits
    };

    /// Does the machine support what [`push_high`] needs?
    #[inline]
    pub(super) fn is_there() -> bool {
        is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
    }

    #[target_feature(enable = "bmi1,bmi2,popcnt,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
    pub(super) fn push_high(out: &mut Vec<u8>, text: &[u8], look: u64) -> usize {
        let there = _bzhi_u64(u64::MAX, text.len().min(STRETCH) as u32);
        // SAFETY: the mask has bits only for bytes of the text; no others are read.
        let bytes = unsafe { _mm512_maskz_loadu_epi8(there, text.as_ptr().cast()) };
        let high = _mm512_movepi8_mask(bytes);
        let count = (look & !high | !there).trailing_zeros() as usize;
        let mut at = 0;
        while at < count {
            let group = _bzhi_u32(u32::from(u16::MAX), (count - at) as u32);
            let rest = &text[at..];
            // SAFETY: the mask has bits only for bytes of the text before `count`.
            let bytes = unsafe { _mm_maskz_loadu_epi8(group as __mmask16, rest.as_ptr().cast()) };
            let (spelled, kept) = spelled(bytes, u64::from(group), high >> at);
            let pressed = _mm512_maskz_compress_epi8(kept, spelled);
            let mut room = [0u8; 64];
            // SAFETY: the array has 64 bytes to write; they need no alignment.
            unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), pressed) };
            let end = out.len() + kept.count_ones() as usize;
            out.extend_from_slice(&room[..3 * GROUP]);
            out.truncate(end);
            at += GROUP.min(count - at);
        }
        count
    }

    /// Three bytes for each of the `group`, and which of them are kept: all of those in `high`, of
    /// others the first.
    #[inline]
    #[target_feature(enable = "bmi2,avx512bw,avx512vl,avx512vbmi")]
    fn spelled(bytes: __m128i, group: u64, high: u64) -> (__m512i, u64) {
        let escaped = _pdep_u64(high, FIRSTS);
        let tripled = _mm512_permutexvar_epi8(load(&TRIPLED), _mm512_castsi128_si512(bytes));
        let (above, low) = (_mm512_srli_epi16::<4>(tripled), _mm512_set1_epi8(15));
        // The table has the digits four times, so the two bits above a half do not matter.
        let halves = _mm512_mask_mov_epi8(tripled, FIRSTS << 1, above);
        let digits = _mm512_permutexvar_epi8(_mm512_and_si512(halves, low), load(&DIGITS));
        let firsts = _mm512_mask_mov_epi8(tripled, escaped, _mm512_set1_epi8(b'%' as i8));
        let spelled = _mm512_mask_mov_epi8(digits, FIRSTS, firsts);
        let group = _pdep_u64(group, FIRSTS);
        // They are three bits apart, so that no product reaches the next.
        (spelled, group | ((escaped & group) * 7))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(bytes: &[u8; 64]) -> __m512i {
        // SAFETY: the reference says that there are 64 bytes to read; they need no alignment.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Push = fn(&mut Vec<u8>, &[u8], u64) -> usize;

    #[test]
    fn escapes_what_is_high_and_stops_where_it_is_to() {
        for push in [push_high as Push, push_high_portable] {
            let text = "a-لل/ä b".as_bytes();
            let mut out = b"before ".to_vec();
            let look = 1 << text.iter().position(|byte| *byte == b' ').unwrap() | 1 << 2;
            assert_eq!(push(&mut out, text, look), text.len() - 2);
            assert_eq!(out, b"before a-%D9%84%D9%84/%C3%A4");
            assert_eq!(push(&mut out, b"", u64::MAX), 0);
            assert_eq!(push(&mut out, b"x", u64::MAX), 0);
            assert_eq!(out, b"before a-%D9%84%D9%84/%C3%A4");
        }
    }

    #[test]
    fn agrees_with_a_loop_at_every_length() {
        let mut word = 1u64;
        for length in (0..200).chain(60..70) {
            word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) ^ length as u64;
            let text: Vec<u8> = (0..length).map(|at| (word >> (at % 57)) as u8).collect();
            for look in [0, word & word.rotate_left(9), 1 << (length % 64), word, u64::MAX] {
                let is_over = |at: &usize| {
                    *at == STRETCH.min(length) || text[*at] < 0x80 && look >> at & 1 == 1
                };
                let count = (0..).find(is_over).unwrap();
                let mut expected = Vec::new();
                for byte in &text[..count] {
                    match byte {
                        0x80.. => expected.extend_from_slice(format!("%{byte:02X}").as_bytes()),
                        _ => expected.push(*byte),
                    }
                }
                for push in [push_high as Push, push_high_portable] {
                    let mut out = Vec::new();
                    assert_eq!(push(&mut out, &text, look), count, "{text:x?} {look:x}");
                    assert_eq!(out, expected, "{text:x?} {look:x}");
                }
            }
        }
    }
}
