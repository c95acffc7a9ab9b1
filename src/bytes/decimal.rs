//! Numbers as decimal digits.

/// Puts the digits of `number` behind `out`.
pub fn push_number(out: &mut Vec<u8>, number: u64) {
    push_number_to(out, number, 0);
}

/// Puts the digits of `number` behind `out`, after as many blanks as make `width` bytes
/// of them, 20 at most.
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

#[cfg(test)]
mod tests {
    use super::*;

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
