//! Words of marks: a bit for every byte of a text.

use super::{BLOCK, copy_short};

/// Stores what `mark` returns for each block of `text` in `words`; of the last one, for as many
/// bytes as there are.
#[inline(always)]
pub(super) fn fill_words(text: &[u8], words: &mut [u64], mark: impl Fn(&[u8; BLOCK]) -> u64) {
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    assert!(words.len() >= text.len().div_ceil(BLOCK), "a word for every block");
    for (word, block) in words.iter_mut().zip(blocks) {
        *word = mark(block);
    }
    if !rest.is_empty() {
        let mut block = [0; BLOCK];
        copy_short(rest, &mut block);
        words[blocks.len()] = mark(&block) & u64::MAX >> (BLOCK - rest.len());
    }
}
