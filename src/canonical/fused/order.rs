//! HOT: once per query that is not in order. A few numbers sorted without a branch.
//!
//! Which of two is the lower one cannot be predicted, so each branch of another sort would be a bet
//! that is lost every other time.

/// Most numbers that [`sort`] takes.
pub(super) const FEW: usize = 8;

/// The last bits of a place in an order: the number of the piece that has it.
const NUMBER: u64 = FEW as u64 - 1;

/// The place of a piece by the `key` of its name; pieces of one name keep their order.
#[inline(always)]
pub(super) fn numbered(key: u64, number: usize) -> u64 {
    key & !NUMBER | number as u64
}

/// The number of the piece that has this place.
#[inline(always)]
pub(super) fn number_of(place: u64) -> usize {
    (place & NUMBER) as usize
}

/// Do two places not say which of two pieces is first? Both names are longer than seven bytes, and
/// differ after them, if at all.
#[inline(always)]
pub(super) fn is_unclear(pair: &[u64]) -> bool {
    (pair[0] ^ pair[1]) <= NUMBER && pair[0] & 0xff > NUMBER
}

/// Sorts `order`, of four or [`FEW`] numbers.
#[inline(always)]
pub(super) fn sort<const N: usize>(order: &mut [u64; N]) {
    const { assert!(N == 4 || N == FEW) };
    apply(order, if N == 4 { &FOUR } else { &EIGHT });
}

/// Puts each pair of places of `network` in order.
#[inline(always)]
fn apply(order: &mut [u64], network: &[(usize, usize)]) {
    for (low, high) in network {
        let (a, b) = (order[*low], order[*high]);
        order[*low] = a.min(b);
        order[*high] = a.max(b);
    }
}

/// A network for four.
const FOUR: [(usize, usize); 5] = [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)];

/// A network for eight: two fours, merged (Batcher 1968, odd-even merge).
#[rustfmt::skip]
const EIGHT: [(usize, usize); 19] = [
    (0, 1), (2, 3), (0, 2), (1, 3), (1, 2),
    (4, 5), (6, 7), (4, 6), (5, 7), (5, 6),
    (0, 4), (1, 5), (2, 6), (3, 7), (2, 4), (3, 5), (1, 2), (3, 4), (5, 6),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_sort() {
        // A network that sorts all sequences of zeros and ones sorts everything
        // (Knuth 1973, 5.3.4).
        for bits in 0..1u32 << FEW {
            let given: [u64; FEW] = std::array::from_fn(|at| u64::from(bits >> at & 1));
            let mut all = given;
            apply(&mut all, &EIGHT);
            assert!(all.is_sorted(), "{given:?}");
            let mut first = given;
            apply(&mut first, &FOUR);
            assert!(first[..4].is_sorted() && first[4..] == given[4..], "{given:?}");
        }
    }
}
