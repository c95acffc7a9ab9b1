//! Hexadecimal digits to numbers, and back to upper-case digits.

/// Value of each byte as a hexadecimal digit; 255 for bytes that are none.
pub const VALUE: [u8; 256] = {
    let mut table = [255; 256];
    let mut digit = 0;
    while digit < 10 {
        table[b'0' as usize + digit] = digit as u8;
        digit += 1;
    }
    let mut letter = 0;
    while letter < 6 {
        table[b'a' as usize + letter] = 10 + letter as u8;
        table[b'A' as usize + letter] = 10 + letter as u8;
        letter += 1;
    }
    table
};

const UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// The byte that two hexadecimal digits spell, or `None` if one of them is no digit.
#[inline]
pub fn pair(high: u8, low: u8) -> Option<u8> {
    let (high, low) = (VALUE[high as usize], VALUE[low as usize]);
    if high | low < 16 { Some(high << 4 | low) } else { None }
}

/// The two upper-case digits of `byte`.
#[inline]
pub fn digits(byte: u8) -> [u8; 2] {
    [UPPER[(byte >> 4) as usize], UPPER[(byte & 15) as usize]]
}

/// Is `byte` a hexadecimal digit?
#[inline]
pub fn is_digit(byte: u8) -> bool {
    VALUE[byte as usize] < 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_round_trips() {
        for byte in 0..=255u8 {
            let [high, low] = digits(byte);
            assert_eq!(pair(high, low), Some(byte));
            assert_eq!(pair(high.to_ascii_lowercase(), low.to_ascii_lowercase()), Some(byte));
            assert_eq!(is_digit(byte), byte.is_ascii_hexdigit());
        }
        assert_eq!(pair(b'g', b'0'), None);
        assert_eq!(pair(b'0', b'G'), None);
    }
}
