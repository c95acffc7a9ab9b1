//! HOT: once per block. Marks made by vectors of aarch64 (NEON).
//!
//! Unsafe: loads of vectors, each from an array of its length.

use std::arch::aarch64::*;

use super::words::fill_words;
use super::{BLOCK, GATHERED, Marker, Row};

/// Bytes of a vector.
const QUARTER: usize = BLOCK / 4;

/// For each byte of a vector, a bit of the half that it is in.
const BITS: [u8; QUARTER] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// Vectors of one block.
type Quarters = [uint8x16_t; 4];

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8; QUARTER]) -> uint8x16_t {
    // SAFETY: the reference says that there are 16 bytes to read; they need no alignment.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn load_block(block: &[u8; BLOCK]) -> Quarters {
    let (quarters, _) = block.as_chunks();
    std::array::from_fn(|number| load(&quarters[number]))
}

/// A table of as many bytes as a block has. A look-up beyond its end gives zero.
#[inline]
#[target_feature(enable = "neon")]
fn table([a, b, c, d]: Quarters) -> uint8x16x4_t {
    uint8x16x4_t(a, b, c, d)
}

#[target_feature(enable = "neon")]
pub(super) fn mark_byte(byte: u8, text: &[u8], words: &mut [u64]) {
    fill_words(text, words, |block| byte_in_block(byte, block));
}

/// A bit for each of the bytes of `block` that is `byte`.
#[inline]
#[target_feature(enable = "neon")]
fn byte_in_block(byte: u8, block: &[u8; BLOCK]) -> u64 {
    let (byte, bits) = (vdupq_n_u8(byte), load(&BITS));
    let [a, b, c, d] = load_block(block).map(|bytes| vandq_u8(vceqq_u8(bytes, byte), bits));
    // Eight bytes with a bit each, added three times in pairs, are one byte.
    let quarters = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(quarters, quarters)))
}

impl<const N: usize, const NEIGHBORS: bool> Marker<N, NEIGHBORS> {
    #[target_feature(enable = "neon")]
    pub(super) fn mark_neon(&self, text: &[u8], rows: &mut [Row; N]) {
        let (halves, _) = self.classes.as_chunks();
        let (first, second) = (table(load_block(&halves[0])), table(load_block(&halves[1])));
        let beyond = vdupq_n_u8(self.classes[0x80]);
        let classes = |bytes: uint8x16_t| {
            let low = vqtbl4q_u8(first, bytes);
            let high = vqtbl4q_u8(second, veorq_u8(bytes, vdupq_n_u8(BLOCK as u8)));
            let is_beyond = vcltzq_s8(vreinterpretq_s8_u8(bytes));
            vorrq_u8(vorrq_u8(low, high), vandq_u8(is_beyond, beyond))
        };
        let marks_of = |block: &[u8; BLOCK]| {
            let transposed = table(load_block(block).map(|bytes| transposed(classes(bytes))));
            let pairs = load_block(&GATHERED).map(|from| {
                let pair = vreinterpretq_u64_u8(vqtbl4q_u8(transposed, from));
                [vgetq_lane_u64::<0>(pair), vgetq_lane_u64::<1>(pair)]
            });
            std::array::from_fn(|set| pairs[set / 2][set % 2])
        };
        self.mark_blocks(text, rows, marks_of, |block| byte_in_block(b'%', block));
    }
}

/// In each half, the bit `b` of all eight bytes as the byte `b`, the first byte the lowest bit.
#[inline]
#[target_feature(enable = "neon")]
fn transposed(bytes: uint8x16_t) -> uint8x16_t {
    let bits = vreinterpretq_u64_u8(bytes);
    // In each square of two by two bits, then of two by two such squares, and so on, the upper
    // right and the lower left change places (Warren, "Hacker's Delight", 7-3).
    let bits = swap::<7>(bits, 0x00aa_00aa_00aa_00aa);
    let bits = swap::<14>(bits, 0x0000_cccc_0000_cccc);
    vreinterpretq_u8_u64(swap::<28>(bits, 0x0000_0000_f0f0_f0f0))
}

/// Swaps `those` bits with the bits that are `BY` higher.
#[inline]
#[target_feature(enable = "neon")]
fn swap<const BY: i32>(bits: uint64x2_t, those: u64) -> uint64x2_t {
    let differ = vandq_u64(veorq_u64(bits, vshrq_n_u64::<BY>(bits)), vdupq_n_u64(those));
    veorq_u64(bits, veorq_u64(differ, vshlq_n_u64::<BY>(differ)))
}
