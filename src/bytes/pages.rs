//! Memory in large pages: fewer to be looked up by what reads all over it, and one piece in place of
//! hundreds for a disk that it goes to.
//!
//! Unsafe: one call of `madvise`.

/// Bytes of a large page. Reason: so it is on x86-64, and on aarch64 with pages of 4 KiB; elsewhere the
/// advice may not be taken.
pub const LARGE_PAGE_BYTES: usize = 2 << 20;

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// Asks for large pages behind `memory`, of which nothing has been touched yet. Only what fills one, from
/// where it begins, gets one, and only if the system has some.
pub fn prefer_large_pages<T>(memory: &mut [T]) {
    let start = memory.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(PAGE_BYTES);
    let length = size_of_val(memory).saturating_sub(skipped) / PAGE_BYTES * PAGE_BYTES;
    // SAFETY: pages of this memory, or of what lies beside it where pages are larger; how they are backed
    // changes nothing of what is in them. Advice that is not taken costs speed only.
    #[cfg(target_os = "linux")]
    let _ =
        unsafe { libc::madvise(start.wrapping_add(skipped).cast(), length, libc::MADV_HUGEPAGE) };
    #[cfg(not(target_os = "linux"))]
    let _ = length;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_memory_stays() {
        let mut memory: Vec<u32> = (0..1 << 20).collect();
        prefer_large_pages(&mut memory[3..]);
        prefer_large_pages(&mut memory[..3]);
        prefer_large_pages::<u32>(&mut []);
        assert!(memory.iter().copied().eq(0..1 << 20));
    }
}
