//! HOT: once per block with a percent sign. Escapes that need no attention, wherever they are.

use super::BLOCK;
use crate::bytes::hex;

/// The escapes that a marker leaves out.
#[derive(Clone, Debug)]
// Only vectors of x86-64 look at `values` and `by_halves`.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) struct Escapes {
    pub(super) are_left: bool,
    /// The value of each byte below 0x80 as a hexadecimal digit in upper case; [`NO_DIGIT`] for
    /// bytes that are none.
    pub(super) values: [u8; 128],
    /// For each byte below 0x80, 1 if its escape is left out.
    pub(super) low: [u8; 128],
    /// For each low half of a byte, a bit for every high half below 8 with which it makes a byte
    /// whose escape is left out; twice, for wide vectors.
    pub(super) by_halves: [u8; 32],
}

/// A value for bytes that are no digits; no digit has it.
const NO_DIGIT: u8 = 0x80;

impl Default for Escapes {
    /// Leaves out no escapes.
    fn default() -> Self {
        let values = [NO_DIGIT; 128];
        Escapes { are_left: false, values, low: [0; 128], by_halves: [0; 32] }
    }
}

impl Escapes {
    /// Leaves out the escapes of those bytes for which `is_left` returns true, which it must for
    /// all from 0x80 on.
    pub(super) fn new(is_left: impl Fn(u8) -> bool) -> Escapes {
        assert!((0x80..=255).all(&is_left), "escapes of bytes from 0x80 on are left out");
        let values = std::array::from_fn(|byte| match byte as u8 {
            byte @ (b'0'..=b'9' | b'A'..=b'F') => hex::VALUE[usize::from(byte)],
            _ => NO_DIGIT,
        });
        let low = std::array::from_fn(|byte| u8::from(is_left(byte as u8)));
        let by_halves = std::array::from_fn(|half| {
            (0..8).map(|high| u8::from(is_left((high << 4) | (half as u8 % 16))) << high).sum()
        });
        Escapes { are_left: true, values, low, by_halves }
    }

    /// Returns which of the `percents`, bits for the first bytes of `text`, start escapes that are
    /// left out.
    #[inline]
    pub(super) fn of(&self, text: &[u8], percents: u64) -> u64 {
        let (mut rest, mut found) = (percents, 0);
        while rest != 0 {
            let at = rest.trailing_zeros() as usize;
            if let Some(&[high, low]) = text.get(at + 1..at + 3)
                && !(high.is_ascii_lowercase() | low.is_ascii_lowercase())
                && let Some(byte) = hex::pair(high, low)
            {
                let is_left = self.low.get(usize::from(byte)).is_none_or(|left| *left != 0);
                found |= u64::from(is_left) << at;
            }
            rest &= rest - 1;
        }
        found
    }
}

/// Is there a percent sign among the last two bytes of `text`? Then what follows the text may make
/// it an escape.
#[inline(always)]
pub fn ends_amid_escape(text: &[u8]) -> bool {
    match text.last_chunk() {
        Some([one, other]) => (*one == b'%') | (*other == b'%'),
        None => text == b"%",
    }
}

/// A bit for every percent sign.
#[inline(always)]
pub fn percents(block: &[u8; BLOCK]) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let (words, _) = block.as_chunks();
    let mut found = 0;
    for (number, word) in words.iter().enumerate() {
        let other = u64::from_le_bytes(*word) ^ u64::from_le_bytes([b'%'; 8]);
        // The highest bit of every byte that is zero.
        let zeros = !(((other & LOW) + LOW) | other | LOW);
        found |= ((zeros >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * number);
    }
    found
}
