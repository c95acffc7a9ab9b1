//! Numbers as decimal digits.

/// Appends the digits of `number` to `out`.
pub fn push_number(out: &mut Vec<u8>, number: u64) {
    push_number_to(out, number, 0);
}

/// Appends the digits of `number` to `out`, padded with blanks on the left to `width` bytes, at
/// most 20.
pub fn push_number_to(out: &mut Vec<u8>, number: u64, width: usize) {
    let mut text = [b' '; 20];
    let (mut start, mut rest) = (text.len(), number);
    loop {
        start -= 1;
        text[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let start = start.min(text.len().saturating_sub(width));
    out.extend_from_slice(&text[start..]);
}

/// `number` for readers, with commas between the thousands: `1,234,567`.
pub fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `count` and `noun` in the right number: `1 line`, `2,000 lines`.
pub fn count_of(count: u64, noun: &str) -> String {
    format!("{} {}", with_commas(count), plural(count, noun))
}

/// `noun` for `count` of them: `line`, `lines`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_readers() {
        for (given, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")] {
            assert_eq!(with_commas(given), expected);
        }
        assert_eq!(count_of(1, "line") + " " + &count_of(2000, "page"), "1 line 2,000 pages");
        assert_eq!(count_of(0, "page"), "0 pages");
    }

    #[test]
    fn digits() {
        for number in [0, 9, 10, 99, 100, 1_234_567_890, u64::MAX] {
            let mut out = b"x".to_vec();
            push_number(&mut out, number);
            assert_eq!(out, format!("x{number}").into_bytes());
            for width in [1, 7, 20] {
                out.clear();
                push_number_to(&mut out, number, width);
                assert_eq!(out, format!("{number:width$}").into_bytes());
            }
        }
    }
}
