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

/// The escape of every byte: a percent sign and two upper-case digits, padded to four bytes.
pub static ESCAPES: [[u8; 4]; 256] = {
    let mut table = [[b'%'; 4]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte][1] = UPPER[byte >> 4];
        table[byte][2] = UPPER[byte & 15];
        byte += 1;
    }
    table
};

/// The value of two hexadecimal digits, or `None` if one of them is not a digit.
#[inline]
pub fn pair(high: u8, low: u8) -> Option<u8> {
    let (high, low) = (VALUE[high as usize], VALUE[low as usize]);
    if high | low < 16 { Some(high << 4 | low) } else { None }
}

/// The two upper-case digits of `byte`.
#[inline]
pub const fn digits(byte: u8) -> [u8; 2] {
    [UPPER[(byte >> 4) as usize], UPPER[(byte & 15) as usize]]
}

/// Is `byte` a hexadecimal digit?
#[inline]
pub fn is_digit(byte: u8) -> bool {
    VALUE[byte as usize] < 16
}

/// Bytes that [`copy_upper`] looks at together.
const WINDOW: usize = 32;

/// Appends `text` to `out`, with the two hexadecimal digits after each percent sign in upper case,
/// if every escape is one of a byte from 0x80 on. Returns whether that is so; if not, what was
/// appended is meaningless.
///
/// The compiler vectorizes this: a window has a fixed length and no branch.
pub fn copy_upper(text: &[u8], out: &mut Vec<u8>) -> bool {
    let mut window = [0; WINDOW + 2];
    let mut is_odd = false;
    for piece in text.chunks(WINDOW) {
        // The first two bytes of a window are the last two of the one before.
        window.copy_within(WINDOW.., 0);
        window[2..2 + piece.len()].copy_from_slice(piece);
        window[2 + piece.len()..].fill(0);
        let mut upper = [0; WINDOW];
        let mut odd = 0u8;
        for (at, upper) in upper.iter_mut().enumerate() {
            let byte = window[at + 2];
            let is_high = u8::from(window[at + 1] == b'%');
            let is_low = u8::from(window[at] == b'%');
            let is_small = u8::from(byte.wrapping_sub(b'a') < 6);
            let is_capital = u8::from(byte.wrapping_sub(b'A') < 6);
            let is_digit = u8::from(byte.wrapping_sub(b'0') < 10);
            let is_large = u8::from(byte.wrapping_sub(b'8') < 2) | is_small | is_capital;
            odd |= is_high & !is_large | is_low & !(is_digit | is_small | is_capital);
            *upper = byte - ((is_small & (is_high | is_low)) << 5);
        }
        is_odd |= odd & 1 != 0;
        out.extend_from_slice(&upper[..piece.len()]);
    }
    // A percent sign among the last two bytes starts no escape.
    let ends_early = text[text.len().saturating_sub(2)..].contains(&b'%');
    !is_odd && !ends_early
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

    #[test]
    fn copies_in_upper_case_what_its_twin_does() {
        let twin = |text: &[u8]| {
            let mut out = text.to_vec();
            for at in (0..text.len()).filter(|at| text[*at] == b'%') {
                let [high, low] = *text.get(at + 1..at + 3)? else { return None };
                pair(high, low).filter(|byte| *byte >= 0x80)?;
                out[at + 1..at + 3].make_ascii_uppercase();
            }
            Some(out)
        };
        let pieces: [&[u8]; 9] =
            [b"%d9", b"%AF", b"a", b"/xyz", b"%4a", b"%", b"%8g", b"%e", b"abcdef%fa%8B"];
        for number in 0..pieces.len().pow(4) {
            let pick = |power: u32| pieces[number / pieces.len().pow(power) % pieces.len()];
            for filler in [0, 27, 30] {
                let text = [&b"-".repeat(filler)[..], pick(0), pick(1), pick(2), pick(3)].concat();
                let mut out = b"before".to_vec();
                let found = copy_upper(&text, &mut out).then(|| out[6..].to_vec());
                assert_eq!(found, twin(&text), "{}", text.escape_ascii());
            }
        }
    }
}
