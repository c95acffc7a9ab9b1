//! Memory as the system has it, in pages. Large ones: fewer to be looked up by what reads all over them, and
//! one piece in place of hundreds for a disk that they go to. Many at once: one call in place of a fault for
//! each.
//!
//! Unsafe: calls of `madvise`, which leave what is in memory as it is.

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

/// Has the system make all pages behind `memory` at once, which is about to be written all over. `false` if
/// it does not, or not all: the others are made when they are first touched. It does not where pages are
/// larger than on x86-64, unless `memory` begins with one.
///
/// Source: `MADV_POPULATE_WRITE` of madvise(2), from Linux 5.14 on.
pub fn make_pages<T>(memory: &mut [T]) -> bool {
    if size_of_val(memory) == 0 {
        return true;
    }
    let start = memory.as_mut_ptr().cast::<u8>();
    // Whole pages, with what lies beside it in the first and the last one.
    let before = start.addr() % PAGE_BYTES;
    let length = (before + size_of_val(memory)).next_multiple_of(PAGE_BYTES);
    // SAFETY: pages in which some of this memory is, so the process has them; that they are made, or
    // could not be, changes nothing of what is in them.
    #[cfg(target_os = "linux")]
    let is_done = unsafe {
        libc::madvise(start.wrapping_sub(before).cast(), length, libc::MADV_POPULATE_WRITE) == 0
    };
    #[cfg(not(target_os = "linux"))]
    let is_done = length == 0;
    is_done
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
        make_pages(&mut memory[5..]);
        make_pages(&mut memory[..5]);
        assert!(make_pages::<u32>(&mut []));
        assert!(memory.iter().copied().eq(0..1 << 20));
    }
}
