//! HOT: once per byte. Marks where one byte stands in a text: a bit for every byte of it.
//!
//! Price: with AVX-512, a load, a comparison and a store for 64 bytes; with AVX2, four instructions
//! for 32; with SSE4.1, as many for 16; with NEON, some twenty for 64; without any, some twenty for
//! eight. Guard: `benches/extract.rs`, group `lines`. Twin: [`mark_byte_portable`]; `tests.rs`
//! compares all variants that the machine supports.
//!
//! Unsafe: calls of functions that are compiled for vectors that not every processor has, after
//! checking for them.

use super::Vectors;
#[cfg(target_arch = "aarch64")]
use super::neon;
use super::words::fill_words;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// Marks where `byte` stands in `text`: each word of `words` gets a bit for every byte of a block,
/// the first byte in the lowest bit. Words beyond the text are not changed.
///
/// Limits: there are words for all of `text`.
pub fn mark_byte(byte: u8, text: &[u8], words: &mut [u64]) {
    mark_byte_with(Vectors::widest(), byte, text, words);
}

/// Marks where `byte` stands in `text`, as [`mark_byte`] does, with these `vectors`, which the
/// machine has.
fn mark_byte_with(vectors: Vectors, byte: u8, text: &[u8], words: &mut [u64]) {
    match vectors {
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx512 => {
            // SAFETY: it is said that the machine has these features.
            unsafe { x86::mark_byte_avx512(byte, text, words) }
        }
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx2 => {
            // SAFETY: it is said that the machine has these features.
            unsafe { x86::mark_byte_avx2(byte, text, words) }
        }
        #[cfg(target_arch = "x86_64")]
        Vectors::Sse => {
            // SAFETY: it is said that the machine has these features.
            unsafe { x86::mark_byte_sse(byte, text, words) }
        }
        #[cfg(target_arch = "aarch64")]
        Vectors::Neon => {
            // SAFETY: it is said that the machine has these features.
            unsafe { neon::mark_byte(byte, text, words) }
        }
        Vectors::Portable => mark_byte_portable(byte, text, words),
    }
}

/// Marks where `byte` stands in `text`, as [`mark_byte`] does, without vectors that not every
/// machine has.
fn mark_byte_portable(byte: u8, text: &[u8], words: &mut [u64]) {
    fill_words(text, words, |block| {
        let (eights, _) = block.as_chunks::<8>();
        eights.iter().rev().fold(0, |marks, eight| {
            let found = u64::from_le_bytes(eight.map(|other| u8::from(other == byte)));
            // The lowest bit of each of eight bytes, gathered in the highest byte.
            marks << 8 | found.wrapping_mul(0x0102_0408_1020_4080) >> 56
        })
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_the_machine_has_agree() {
        let text: Vec<u8> = (0..700u32).map(|at| (at * at / 7 + at) as u8 & 0x8f).collect();
        for (byte, length) in
            [b'\n', 0, 0x8a].into_iter().flat_map(|b| (0..700).map(move |l| (b, l)))
        {
            let text = &text[700 - length..];
            let mut expected = vec![0u64; 11];
            for (at, _) in text.iter().enumerate().filter(|(_, other)| **other == byte) {
                expected[at / 64] |= 1 << (at % 64);
            }
            for vectors in Vectors::all() {
                let mut words = vec![0; 11];
                mark_byte_with(vectors, byte, text, &mut words);
                assert_eq!(words, expected, "{vectors:?}, {byte:#x}, {length} bytes");
            }
        }
    }
}
