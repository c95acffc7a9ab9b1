//! The mark that makes every page of a list one of a kind.

use super::random::scramble;

/// Bits of a page number. A list has at most `2^44` lines, so at most as many pages.
///
/// Reason: the longest token is a letter, seven base-36 digits, a decimal digit: `26 * 36^7 * 10 >
/// 2^44`.
pub(super) const PAGE_BITS: u32 = 44;

/// Pages that can have a decimal token of ten digits.
const DECIMAL_PAGES: u64 = 10_000_000_000;

/// The token of one page in text: ten decimal digits, or nine lower-case letters and digits.
///
/// A promise the truth rests on: two pages of one seed never have the same token, and neither form
/// can be mistaken for the other or for anything else in a URL of this module. Ten digits stand
/// nowhere else; the other form starts with a letter and ends with a digit, which no word of the
/// vocabulary does. Folding case, or dropping any part of the URL without the token, cannot make
/// two pages equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Token {
    text: [u8; 10],
    len: u8,
}

impl Token {
    /// The token of `page`, which is below `2^PAGE_BITS`.
    ///
    /// With `decimal` it has ten digits, as ids of a database have, while ten digits are enough.
    pub(super) fn new(key: u64, page: u64, decimal: bool) -> Self {
        if decimal && page < DECIMAL_PAGES {
            Self::decimal(key, page)
        } else {
            Self::mixed(key, page)
        }
    }

    fn decimal(key: u64, page: u64) -> Self {
        // A factor without 2 and 5 permutes the numbers below 10^10, and so does adding the key.
        let product = u128::from(page) * 7_046_029_253 + u128::from(key);
        let mut rest = (product % u128::from(DECIMAL_PAGES)) as u64;
        let mut text = [0; 10];
        for digit in text.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        Token { text, len: 10 }
    }

    fn mixed(key: u64, page: u64) -> Self {
        const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let mut rest = scramble(page, PAGE_BITS, key);
        let mut text = [0; 10];
        text[0] = b'a' + (rest % 26) as u8;
        rest /= 26;
        text[8] = b'0' + (rest % 10) as u8;
        rest /= 10;
        for digit in &mut text[1..8] {
            *digit = DIGITS[(rest % 36) as usize];
            rest /= 36;
        }
        debug_assert!(rest == 0, "a page number has at most PAGE_BITS bits");
        Token { text, len: 9 }
    }

    /// The token as it stands in a URL.
    #[inline]
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.text[..usize::from(self.len)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn tokens_are_unique() {
        let far = [DECIMAL_PAGES - 1, DECIMAL_PAGES, DECIMAL_PAGES + 1, (1 << PAGE_BITS) - 1];
        for key in [0, 1, u64::MAX] {
            let mut seen = HashSet::new();
            for page in (0..50_000).chain(far) {
                assert!(seen.insert(Token::new(key, page, page % 2 == 0)), "{key} {page}");
            }
        }
    }

    #[test]
    fn the_two_forms_differ() {
        for page in 0..1_000 {
            let decimal = Token::new(9, page, true);
            assert!(decimal.as_bytes().len() == 10);
            assert!(decimal.as_bytes().iter().all(u8::is_ascii_digit));
            let mixed = Token::new(9, page, false);
            let &[first, .., last] = mixed.as_bytes() else { panic!("nine bytes") };
            assert!(mixed.as_bytes().len() == 9);
            assert!(first.is_ascii_lowercase() && last.is_ascii_digit());
        }
    }
}
