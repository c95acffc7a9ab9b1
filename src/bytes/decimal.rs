//! Numbers as decimal digits.

/// Puts the digits of `number` behind `out`.
pub fn push_number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let (mut start, mut rest) = (digits.len(), number);
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
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
        }
    }
}
