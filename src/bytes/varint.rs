//! Numbers in few bytes (LEB128): seven bits in each, the lowest first; the highest bit is set if
//! another byte follows.
//!
//! HOT: some for each line that waits in a file. Price: a branch for each byte; no allocation.

/// Most bytes of a number.
pub const BYTES_MAX: usize = 10;

/// Appends `number` to `bytes`.
#[inline]
pub fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Bytes of `number`.
#[inline]
pub fn len(number: u64) -> usize {
    ((u64::BITS - (number | 1).leading_zeros()) as usize).div_ceil(7)
}

/// Returns the number at the front of `bytes`, and the rest; `None` if it is incomplete. Bits that
/// do not fit in 64 are dropped.
#[inline]
pub fn take(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().take(BYTES_MAX).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let edges = (0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, u64::MAX >> bit]);
        for number in edges {
            let mut bytes = b"before".to_vec();
            push(&mut bytes, number);
            assert_eq!(bytes.len(), 6 + len(number), "{number}");
            for end in 6..bytes.len() {
                assert_eq!(take(&bytes[6..end]), None, "{number}");
            }
            bytes.extend_from_slice(b"\xffbehind");
            assert_eq!(take(&bytes[6..]), Some((number, &b"\xffbehind"[..])), "{number}");
        }
    }

    #[test]
    fn known_numbers() {
        for (number, expected) in [
            (0, &[0][..]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (624_485, &[0xe5, 0x8e, 0x26]), // the example of DWARF 5, 7.6
            (u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        ] {
            let mut bytes = Vec::new();
            push(&mut bytes, number);
            assert_eq!(bytes, expected, "{number}");
        }
        assert_eq!(take(&[0xff; 11]), None, "it never ends");
    }
}
