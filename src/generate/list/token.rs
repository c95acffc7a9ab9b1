//! The mark that makes every page of a list unique.

use crate::generate::random::scramble;
use crate::generate::short::Short;

/// Bits of a page number. A list has at most `2^44` lines, so at most as many pages.
///
/// Reason: the longest token is a letter, seven base-36 digits, a decimal digit: `26 * 36^7 * 10 >
/// 2^44`.
pub(super) const PAGE_BITS: u32 = 44;

/// Pages that can have a decimal token of ten digits.
const DECIMAL_PAGES: u64 = 10_000_000_000;

const FACTOR: u64 = 7_046_029_253;

/// Ten times the digit `0`.
const ZEROS: u128 = 0x3030_3030_3030_3030_3030;

/// The token of one page in text: ten decimal digits, or nine lower-case letters and digits.
///
/// A promise the truth rests on: two pages of one seed never have the same token, and neither form
/// can be mistaken for the other or for anything else in a URL of this module. Ten digits stand
/// nowhere else; the other form starts with a letter and ends with a digit, which no word of the
/// vocabulary does. Folding case, or dropping any part of the URL without the token, cannot make
/// two pages equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Token(Short<16>);

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
        const HALF: u64 = 100_000;
        // A factor without 2 and 5 permutes the numbers below 10^10, and so does adding the key.
        // In two steps, since the product may have more than 64 bits.
        let (high, low) = (page / HALF, page % HALF);
        let shifted = high * FACTOR % DECIMAL_PAGES * HALF;
        let number = (shifted + low * FACTOR + key % DECIMAL_PAGES) % DECIMAL_PAGES;
        // Both halves at once.
        let (mut high, mut low, mut text) = (number / HALF, number % HALF, [0; 2]);
        for _ in 0..5 {
            text = [text[0] << 8 | (high % 10), text[1] << 8 | (low % 10)];
            (high, low) = (high / 10, low / 10);
        }
        let text = (u128::from(text[1]) << 40 | u128::from(text[0])) + ZEROS;
        Token(Short::of_word(text, 10))
    }

    fn mixed(key: u64, page: u64) -> Self {
        const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        const HALF: u64 = 36 * 36 * 36 * 36;
        let number = scramble(page, PAGE_BITS, key);
        let (first, number) = (number % 26, number / 26);
        let (last, number) = (number % 10, number / 10);
        // Both halves at once; the second has three digits.
        let (mut low, mut high) = (number % HALF, number / HALF);
        let mut text = u128::from(b'a') + u128::from(first);
        for place in 1..5 {
            text |= u128::from(DIGITS[(low % 36) as usize]) << (8 * place);
            text |= u128::from(DIGITS[(high % 36) as usize]) << (8 * (place + 4));
            (low, high) = (low / 36, high / 36);
        }
        // Where the fourth digit of the second half would be, the last one comes.
        text = text & u128::MAX >> 64 | u128::from(b'0' as u64 + last) << 64;
        Token(Short::of_word(text, 9))
    }

    /// The token as it stands in a URL.
    #[inline]
    pub(super) fn text(&self) -> &Short<16> {
        &self.0
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
            assert!(decimal.text().as_bytes().len() == 10);
            assert!(decimal.text().as_bytes().iter().all(u8::is_ascii_digit));
            let mixed = Token::new(9, page, false);
            let &[first, .., last] = mixed.text().as_bytes() else { panic!("nine bytes") };
            assert!(mixed.text().as_bytes().len() == 9);
            assert!(first.is_ascii_lowercase() && last.is_ascii_digit());
        }
    }
}
